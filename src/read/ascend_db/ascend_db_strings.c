/* STRING_IDS(id, value) and the ENUM_ tables (id, name). Ids of strings are not dense: each writer of a part of the file
 * has a range of its own (0, 2^28, 2^29). The numbers of enumerations differ between versions, so they are joined by
 * the file's own tables; a run that crashed before it wrote them gets the documented numbers. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "read/ascend_db/ascend_db_reading.h"

/* --- STRING_IDS --------------------------------------------------------------------------------------- */

static bool add_string(ps_ascend_strings *s, int64_t id, uint32_t *row) {
    *row = ps_idmap_get(&s->rows, (uint64_t)id);
    if (*row != PS_IDMAP_NONE) {
        return true;
    }
    if (!ps_grow(&s->strings, &s->cap, s->n + 1, UINT32_MAX - 1, sizeof *s->strings)) {
        return false;
    }
    *row = (uint32_t)s->n;
    s->strings[s->n] = (ps_ascend_string){.str = PS_STR_NONE};
    return ps_idmap_put(&s->rows, (uint64_t)id, (uint32_t)s->n++);
}

bool ps_ascend_want_string(ps_ascend *a, int64_t id) {
    uint32_t row = 0;
    return a->strings.all || id < 0 || add_string(&a->strings, id, &row);
}

static void note_notify(ps_ascend_strings *s, int64_t id, ps_scan_bytes text) {
    static const char *const NOTIFY[] = {"Notify_Record", "Notify_Wait"};
    for (size_t k = 0; k < 2; k++) {
        if (text.size_bytes == strlen(NOTIFY[k]) &&
            memcmp(text.data, NOTIFY[k], text.size_bytes) == 0) {
            s->notify_ids[k] = id;
        }
    }
}

static ps_code take_strings(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend *a = context;
    ps_ascend_strings *s = &a->strings;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        ps_scan_bytes text = ps_cell_text(&b->columns[1], i);
        note_notify(s, id, text);
        uint32_t row = id >= 0 ? ps_idmap_get(&s->rows, (uint64_t)id) : PS_IDMAP_NONE;
        if (id < 0 || (row == PS_IDMAP_NONE && !s->all)) {
            continue;
        }
        char *copy = text.size_bytes < UINT32_MAX
                         ? ps_arena_strndup(&s->raw, text.data, text.size_bytes)
                         : NULL;
        if (copy == NULL || !add_string(s, id, &row)) {
            return ps_fail_nomem(err);
        }
        s->strings[row].text = copy;
        s->strings[row].n = (uint32_t)text.size_bytes;
    }
    return PS_OK;
}

ps_code ps_ascend_strings_read(ps_ascend *a, bool all, ps_err *err) {
    a->strings.all = a->strings.all || all;
    if ((!all && a->strings.n == 0) || !ps_db_has_table(a->db, "STRING_IDS")) {
        return PS_OK;
    }
    return PS_ASCEND_SCAN(a->db, "STRING_IDS", take_strings, a, err, "id", "value");
}

const ps_ascend_string *ps_ascend_raw_text(const ps_ascend *a, int64_t id) {
    uint32_t row = id >= 0 ? ps_idmap_get(&a->strings.rows, (uint64_t)id) : PS_IDMAP_NONE;
    const ps_ascend_string *s = row != PS_IDMAP_NONE ? &a->strings.strings[row] : NULL;
    return s != NULL && s->text != NULL ? s : NULL;
}

ps_str ps_ascend_text(ps_ascend *a, int64_t id) {
    uint32_t row = id >= 0 ? ps_idmap_get(&a->strings.rows, (uint64_t)id) : PS_IDMAP_NONE;
    if (row == PS_IDMAP_NONE) {
        return PS_STR_NONE;
    }
    ps_ascend_string *s = &a->strings.strings[row];
    if (ps_str_is_none(s->str) && s->text != NULL) {
        s->str = ps_builder_str(a->builder, s->text, s->n);
    }
    return s->str;
}

ps_str ps_ascend_name(ps_ascend *a, int64_t id, bool *missing) {
    ps_str str = ps_ascend_text(a, id);
    if (ps_str_is_none(str)) {
        char text[32];
        int n = snprintf(text, sizeof text, "<id %lld>", (long long)id);
        *missing = true;
        str = ps_builder_str(a->builder, text, (size_t)n);
    }
    return str;
}

ps_str ps_ascend_cell_name(ps_ascend *a, const ps_scan_column *column, size_t row, bool *missing) {
    if (column->types[row] == PS_CELL_TEXT) {
        ps_scan_bytes text = column->bytes[row];
        return ps_builder_str(a->builder, text.data, text.size_bytes);
    }
    int64_t id = ps_cell_int(column, row, PS_ASCEND_NULL);
    return id != PS_ASCEND_NULL ? ps_ascend_name(a, id, missing) : PS_STR_NONE;
}

void ps_ascend_count_missing(ps_ascend *a, bool missing, const char *table, int64_t row) {
    if (missing) {
        ps_diag_add(a->diag, PS_ODD_STRING_ID, "%s rowid %lld", table, (long long)row);
    }
}

/* --- ENUM_ tables ------------------------------------------------------------------------------------- */

typedef struct known {
    int64_t id;
    const char *name;
} known;

static const known API_TYPES[] = {{5000, "runtime"}, {5500, "hccl"},   {10000, "node"},
                                  {15000, "model"},  {20000, "acl"},   {50001, "op"},
                                  {50002, "queue"},  {50003, "trace"}, {50004, "mstx"}};
static const known DATA_TYPES[] = {
    {0, "INT8"},  {1, "INT16"},  {2, "INT32"},   {3, "FP16"},    {4, "FP32"},
    {5, "INT64"}, {6, "UINT64"}, {7, "UINT8"},   {8, "UINT16"},  {9, "UINT32"},
    {10, "FP64"}, {11, "BFP16"}, {12, "INT128"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
static const known LINK_TYPES[] = {{0, "ON_CHIP"},       {1, "HCCS"},    {2, "PCIE"},
                                   {3, "ROCE"},          {4, "SIO"},     {5, "HCCS_SW"},
                                   {6, "STANDARD_ROCE"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
static const known TRANSPORT_TYPES[] = {
    {0, "SDMA"}, {1, "RDMA"}, {2, "LOCAL"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
static const known RDMA_TYPES[] = {
    {0, "RDMA_SEND_NOTIFY"}, {1, "RDMA_SEND_PAYLOAD"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
static const known MSTX_TYPES[] = {
    {0, "marker"}, {1, "push/pop"}, {2, "start/end"}, {3, "marker_ex"}};
static const known MEMCPY_TYPES[] = {
    {0, "host to host"},      {1, "host to device"},    {2, "device to host"},
    {3, "device to device"},  {4, "managed"},           {5, "addr device to device"},
    {6, "host to device ex"}, {7, "device to host ex"}, {65535, "other"}};
static const known OVERLAP_TYPES[] = {
    {0, "Computing"}, {1, "Communication"}, {2, "Communication(Not Overlapped)"}, {3, "Free"}};

static const struct {
    const char *table;
    const known *known;
    size_t n_known;
} ENUMS[PS_ASCEND_N_ENUMS] = {
#define KNOWN(list) list, sizeof(list) / sizeof *(list)
    [PS_ASCEND_API_TYPE] = {"ENUM_API_TYPE", KNOWN(API_TYPES)},
    [PS_ASCEND_DATA_TYPE] = {"ENUM_HCCL_DATA_TYPE", KNOWN(DATA_TYPES)},
    [PS_ASCEND_LINK_TYPE] = {"ENUM_HCCL_LINK_TYPE", KNOWN(LINK_TYPES)},
    [PS_ASCEND_TRANSPORT_TYPE] = {"ENUM_HCCL_TRANSPORT_TYPE", KNOWN(TRANSPORT_TYPES)},
    [PS_ASCEND_RDMA_TYPE] = {"ENUM_HCCL_RDMA_TYPE", KNOWN(RDMA_TYPES)},
    [PS_ASCEND_MSTX_TYPE] = {"ENUM_MSTX_EVENT_TYPE", KNOWN(MSTX_TYPES)},
    [PS_ASCEND_MEMCPY_TYPE] = {"ENUM_MEMCPY_OPERATION", KNOWN(MEMCPY_TYPES)},
    [PS_ASCEND_MODULE] = {"ENUM_MODULE", NULL, 0}, /* names differ between versions */
    [PS_ASCEND_OVERLAP_TYPE] = {"ENUM_OVERLAP_ANALYSIS_TYPE", KNOWN(OVERLAP_TYPES)},
#undef KNOWN
};

typedef struct enum_scan {
    ps_ascend *a;
    ps_ascend_names *names;
} enum_scan;

static bool add_string_name(ps_ascend *a, ps_ascend_names *e, int64_t id, const char *name,
                            size_t n) {
    ps_str str = ps_builder_str(a->builder, name, n);
    if (ps_str_is_none(str) ||
        !ps_grow(&e->ids, &e->cap_ids, e->n + 1, UINT32_MAX - 1, sizeof *e->ids) ||
        !ps_grow(&e->names, &e->cap_names, e->n + 1, UINT32_MAX - 1, sizeof *e->names) ||
        !ps_idmap_put(&e->rows, (uint64_t)id, (uint32_t)e->n)) {
        return false;
    }
    e->ids[e->n] = id;
    e->names[e->n++] = str;
    return true;
}

static ps_code take_string_names(void *context, const ps_scan_batch *b, ps_err *err) {
    enum_scan *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_scan_bytes name = ps_cell_text(&b->columns[1], i);
        int64_t id = ps_cell_int(&b->columns[0], i, PS_ASCEND_NULL);
        if (id != PS_ASCEND_NULL &&
            !add_string_name(s->a, s->names, id, name.data, name.size_bytes)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

ps_code ps_ascend_enum_read(ps_ascend *a, ps_ascend_enum which, ps_err *err) {
    ps_ascend_names *e = &a->enums[which];
    if (e->loaded) {
        return PS_OK;
    }
    e->loaded = true;
    if (ps_db_has_table(a->db, ENUMS[which].table)) {
        return PS_ASCEND_SCAN(a->db, ENUMS[which].table, take_string_names, (&(enum_scan){a, e}),
                              err, "id", "name");
    }
    for (size_t i = 0; i < ENUMS[which].n_known; i++) {
        const known *k = &ENUMS[which].known[i];
        if (!add_string_name(a, e, k->id, k->name, strlen(k->name))) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

ps_str ps_ascend_enum_name(ps_ascend *a, ps_ascend_enum which, int64_t id) {
    const ps_ascend_names *e = &a->enums[which];
    uint32_t row = ps_idmap_get(&e->rows, (uint64_t)id);
    if (row != PS_IDMAP_NONE) {
        return e->names[row];
    }
    char text[32];
    int n = snprintf(text, sizeof text, "%lld", (long long)id);
    return ps_builder_str(a->builder, text, (size_t)n);
}

int64_t ps_ascend_enum_id(const ps_ascend *a, ps_ascend_enum which, const char *name) {
    const ps_ascend_names *e = &a->enums[which];
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp(ps_builder_text(a->builder, e->names[i]), name) == 0) {
            return e->ids[i];
        }
    }
    return -1;
}
