#include "query/schema.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define X(id, name, type, hidden, text) {name, PS_SQL_##type, hidden, text},
static const ps_sql_column RANK[] = {PS_SQL_RANK_COLUMNS(X)};
static const ps_sql_column STEP[] = {PS_SQL_STEP_COLUMNS(X)};
static const ps_sql_column TRACK[] = {PS_SQL_TRACK_COLUMNS(X)};
static const ps_sql_column SLICE[] = {PS_SQL_SLICE_COLUMNS(X)};
static const ps_sql_column COUNTER[] = {PS_SQL_COUNTER_COLUMNS(X)};
static const ps_sql_column FLOW[] = {PS_SQL_FLOW_COLUMNS(X)};
static const ps_sql_column ARG[] = {PS_SQL_ARG_COLUMNS(X)};
static const ps_sql_column META[] = {PS_SQL_META_COLUMNS(X)};
static const ps_sql_column KERNEL[] = {PS_SQL_KERNEL_COLUMNS(X)};
static const ps_sql_column COMM[] = {PS_SQL_COMM_COLUMNS(X)};
static const ps_sql_column WAIT[] = {PS_SQL_WAIT_COLUMNS(X)};
static const ps_sql_column OP[] = {PS_SQL_OP_COLUMNS(X)};
static const ps_sql_column BUBBLE[] = {PS_SQL_BUBBLE_COLUMNS(X)};
#undef X

#define X(id, name, text, example)                                                                 \
    _Static_assert(sizeof id / sizeof *id <= PS_SQL_MOST_COLUMNS, "columns of " name);
PS_SQL_TABLES(X)
#undef X

const ps_sql_table ps_sql_tables[PS_N_SQL_TABLES] = {
#define X(id, name, text, example) {name, text, example, id, sizeof id / sizeof *id},
    PS_SQL_TABLES(X)
#undef X
};

/* SQLite makes the affinity of the words: INT, REAL, CHAR; of a name without any of its words a number where it can. */
typedef struct declaration {
    const char *text;
    ps_sql_unit unit;
} declaration;

static const declaration OF_TYPE[] = {
    [PS_SQL_INTEGER] = {"INTEGER", {PS_UNIT_NONE, false, false}},
    [PS_SQL_REAL] = {"REAL", {PS_UNIT_NONE, false, false}},
    [PS_SQL_TEXT] = {"TEXT", {PS_UNIT_NONE, false, false}},
    [PS_SQL_ANY] = {"BLOB",
                    {PS_UNIT_NONE, false, false}}, /* no affinity: values stay what they are */
    [PS_SQL_BYTES] = {"INTEGER bytes", {PS_UNIT_BYTES, false, false}},
    [PS_SQL_PERCENT] = {"REAL percent", {PS_UNIT_PERCENT, false, false}},
    [PS_SQL_DURATION] = {"INTEGER ns", {PS_UNIT_NS, false, false}},
    [PS_SQL_SLICE_ID] = {"INTEGER slice", {PS_UNIT_NONE, false, true}},
    [PS_SQL_MOMENT] = {"INTEGER ns since epoch", {PS_UNIT_NS, true, false}},
};

static const char *const OF_UNIT[][2] = {
    [PS_UNIT_NONE] = {"INTEGER", "REAL"},
    [PS_UNIT_NS] = {"INTEGER ns", "REAL ns"},
    [PS_UNIT_US] = {"INTEGER us", "REAL us"},
    [PS_UNIT_MS] = {"INTEGER ms", "REAL ms"},
    [PS_UNIT_BYTES] = {"INTEGER bytes", "REAL bytes"},
    [PS_UNIT_PERCENT] = {"INTEGER percent", "REAL percent"},
    [PS_UNIT_COUNT] = {"INTEGER count", "REAL count"},
    [PS_UNIT_MB] = {"INTEGER MB", "REAL MB"},
    [PS_UNIT_GB_PER_S] = {"INTEGER GB_per_s", "REAL GB_per_s"},
    [PS_UNIT_TFLOPS] = {"INTEGER TFLOPS", "REAL TFLOPS"},
    [PS_UNIT_MHZ] = {"INTEGER MHz", "REAL MHz"},
};

const char *ps_sql_type_name(ps_sql_type type) {
    return OF_TYPE[type].text;
}

const char *ps_sql_column_type(const ps_column *column) {
    bool is_moment = column->exact && column->type == PS_COL_INT && column->unit == PS_UNIT_NS;
    return is_moment                   ? OF_TYPE[PS_SQL_MOMENT].text
           : ps_column_is_text(column) ? OF_TYPE[PS_SQL_TEXT].text
                                       : OF_UNIT[column->unit][column->type == PS_COL_REAL];
}

ps_col_type ps_sql_col_type_of(const char *declared) {
    bool is_text = declared != NULL && strncasecmp(declared, "TEXT", strlen("TEXT")) == 0;
    bool is_real = declared != NULL && strncasecmp(declared, "REAL", strlen("REAL")) == 0;
    return is_text ? PS_COL_TEXT : is_real ? PS_COL_REAL : PS_COL_INT;
}

ps_sql_unit ps_sql_unit_of(const char *declared) {
    static const ps_sql_unit NONE = {PS_UNIT_NONE, false, false};
    if (declared == NULL) {
        return NONE;
    }
    for (size_t i = 0; i < sizeof OF_TYPE / sizeof *OF_TYPE; i++) {
        if (strcasecmp(declared, OF_TYPE[i].text) == 0) {
            return OF_TYPE[i].unit;
        }
    }
    for (size_t i = 0; i < sizeof OF_UNIT / sizeof *OF_UNIT; i++) {
        if (strcasecmp(declared, OF_UNIT[i][0]) == 0 || strcasecmp(declared, OF_UNIT[i][1]) == 0) {
            return (ps_sql_unit){(ps_unit)i, false, false};
        }
    }
    return NONE;
}
