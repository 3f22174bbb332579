/* ps_table: every result that is not a trace or a chart. Named columns with a type and a unit; text, CSV,
 * JSON and SQLite come from that for free. A table knows where it belongs.
 *
 * Its rows are structs, and each column says which member it shows:
 *
 *     typedef struct late_row {
 *         int64_t rank;
 *         const char *group;
 *         double late_us;
 *     } late_row;
 *
 *     static const ps_column LATE[] = {{.name = "rank", PS_FIELD(late_row, rank)},
 *                                      {.name = "group", PS_FIELD(late_row, group)},
 *                                      {.name = "late", PS_FIELD(late_row, late_us), .unit = PS_UNIT_US}};
 *
 *     ps_table *t = ps_table_new("Late", "who came last", PS_COLUMNS(LATE));
 *     ps_table_put(t, &(late_row){.rank = 3, .group = "dp", .late_us = NAN});
 *
 * What is not known is NULL in the table: a real that is NaN, an int64_t that is PS_UNKNOWN_INT, a uint32_t that is
 * UINT32_MAX (PS_NONE of a trace), a number below zero where the column says so, a text that is NULL ("" is a text:
 * ps_text_or_null). A member that a row does not name is zero, as ever in C.
 *
 * Memory that runs out is remembered: a table that is NULL or failed takes further rows and cells without a word, and
 * whoever asks at the end (ps_table_end, ps_result_add) is told once.
 *
 * Where columns are not known before the program runs: ps_table_add_row, then one ps_table_set_* per cell that is not
 * NULL. Tables of a row a kernel would be large: such a table makes its rows when somebody reads them
 * (ps_table_new_made). */
#ifndef PS_MODEL_TABLE_H
#define PS_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/member.h"

typedef enum ps_col_type {
    PS_COL_INT,
    PS_COL_REAL,
    PS_COL_TEXT,
    PS_COL_STRING_ID /* text that a rank database stores as an id of its STRING_IDS */
} ps_col_type;

typedef enum ps_unit {
    PS_UNIT_NONE,
    PS_UNIT_NS,
    PS_UNIT_US,
    PS_UNIT_MS,
    PS_UNIT_BYTES,
    PS_UNIT_PERCENT,
    PS_UNIT_COUNT,
    PS_UNIT_MB, /* 10^6 bytes */
    PS_UNIT_GB_PER_S,
    PS_UNIT_TFLOPS,
    PS_UNIT_MHZ
} ps_unit;

/* Where a table is written. */
typedef enum ps_table_home {
    PS_HOME_CLUSTER, /* the output folder */
    PS_HOME_RANK     /* the database of rank `rank_index` (of the run), or its copy */
} ps_table_home;

typedef enum ps_table_mode {
    PS_TABLE_REPLACE, /* drop and create; an empty table only drops an old one */
    PS_TABLE_CREATE,  /* create; leave an existing table alone */
    PS_TABLE_IF_ROWS, /* as REPLACE, but an empty one is never made, also where others are */
    PS_TABLE_ADD_COLUMN /* first column: rowid of the existing table `name`; the others are added to it
                            when missing, set for these rows and NULL for all other rows */
} ps_table_mode;

typedef struct ps_column {
    const char *name; /* static, or owned by the table's arena */
    ps_col_type type;
    ps_unit unit;
    const char *
        sql_type; /* type in SQLite when it is not the natural one ("INTEGER PRIMARY KEY"), or NULL */
    bool exact;   /* text output: digits as they are, no scaling of the unit */
    const char *header; /* in csv and xlsx files, when not the name of the column in files */
    bool is_member;    /* names one of many that may be alike (a rank, a pipeline): ps_table_fold */
    bool is_beside;    /* people read it against the column before it: both have as many decimals */
    bool is_key;       /* SQLite: part of the index ix_<table>_<key>[_<key>...] */
    double width;      /* xlsx, in characters; 0: by its content */
    const char *shown; /* the name on the terminal, where the own one is long; NULL: the own one */
    bool
        merged; /* xlsx: runs of equal values are one cell, inside runs of the merged column before it */
    ps_member
        member; /* of the row's struct (PS_FIELD); NONE: the cell stays NULL, or is set by hand */
    double divisor;          /* a real that is shown in a larger unit than the member has; 0: 1 */
    bool unknown_below_zero; /* a negative number is NULL */
    bool is_shared; /* the text outlives the table: static, or of its arena; others are copied */
    bool is_slice;  /* of queries: numbers of slices of the row's rank; others call it `slice` */
} ps_column;

static inline bool ps_column_is_text(const ps_column *column) {
    return column->type == PS_COL_TEXT || column->type == PS_COL_STRING_ID;
}

/* An int64_t that is not known. */
#define PS_UNKNOWN_INT INT64_MIN
/* A text that is known when it has any letters. */
static inline const char *ps_text_or_null(const char *text) {
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* In the braces of a ps_column: the member that it shows, and so its type. FIELD_AS names a type that is not the natural
 * one: a real of whole nanoseconds, an id of a text. */
#define PS_FIELD(row_type, name) PS_FIELD_AS(PS_COL_TYPE(row_type, name), row_type, name)
#define PS_FIELD_AS(col_type, row_type, name)                                                      \
    .type = (col_type), .member = PS_MEMBER(row_type, name)
#define PS_COL_TYPE(row_type, name)                                                                \
    _Generic(((row_type *)0)->name,                                                                \
        double: PS_COL_REAL,                                                                       \
        const char *: PS_COL_TEXT,                                                                 \
        char *: PS_COL_TEXT,                                                                       \
        default: PS_COL_INT)

/* The last two arguments of ps_table_new. */
#define PS_COLUMNS(array) (array), sizeof(array) / sizeof *(array)

/* Which outputs a cluster-homed table goes to. */
typedef enum ps_table_to {
    PS_TO_DB = 1u << 0,     /* cluster_analysis.db */
    PS_TO_FILES = 1u << 1,  /* csv, json, xlsx */
    PS_TO_SCREEN = 1u << 2, /* the first rows, on the terminal */
    PS_TO_ALL = 7,
    PS_TO_BESIDE_DB = 1u << 3, /* with FILES: a csv file also where the database is written */
    PS_TO_PROGRAM = 1u << 4    /* none: for those who ask for it by name */
} ps_table_to;

/* One cell; NULL is `is_null`. */
typedef struct ps_value {
    union {
        int64_t i;
        double r;
        const char *text; /* owned by the table's arena */
    } u;
    bool is_null;
} ps_value;

/* Cells of a row on demand. NULL and "" leave it NULL. */
static inline void ps_cell_int_set(ps_value *cell, int64_t value) {
    *cell = (ps_value){.u.i = value};
}
static inline void ps_cell_real_set(ps_value *cell, double value) {
    *cell = (ps_value){.u.r = value};
}
static inline void ps_cell_text_set(ps_value *cell, const char *text) {
    if (text != NULL && text[0] != '\0') {
        *cell = (ps_value){.u.text = text};
    }
}

/* Rows on demand: either of the first two. */
#define PS_ROW_ROOM 256
typedef struct ps_row_maker {
    /* Fills the row's struct, all zero before, of `row_size` bytes. Texts of its own lie in it as char[]; others live as long
     * as the context. */
    void (*fill)(const void *context, size_t row, void *out);
    /* Sets the cells of a row, all NULL before. `room` is for texts that belong to this row alone; other texts live as
     * long as the context. */
    void (*make)(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]);
    void *context;
    void (*free_context)(void *context);
    size_t row_size; /* with `fill` */
} ps_row_maker;

/* A column that a table does without, as all its rows have one value: for those who ask for it by name. */
typedef struct ps_same_column {
    const char *name;
    int64_t value;
} ps_same_column;

typedef struct ps_table {
    const char *name;  /* of the SQL table or file; owned by the table */
    const char *title; /* one line for people, "" for none */
    ps_table_home home;
    ps_table_mode mode;
    size_t rank_index; /* with PS_HOME_RANK */
    uint32_t to;       /* ps_table_to bits; 0: FILES and SCREEN, for what only people read */
    const char *
        file; /* base name in files, may begin with a folder ("3/kernel_details"); NULL: the name. In the arena
                          or static */
    bool is_sheet; /* --export_type text writes xlsx instead of csv */
    bool
        names_fixed; /* column names as they are, whatever the unit: a table that other programs read */
    const ps_column *columns;
    size_t n_columns;
    const ps_same_column *same; /* in the arena or static */
    size_t n_same;
    ps_value *cells; /* row-major: n_rows * n_columns; NULL with `made` */
    size_t n_rows, cap_cells;
    bool failed;               /* memory ran out: what it holds is not all */
    struct ps_made_rows *made; /* rows on demand, else NULL */
    ps_arena arena;
} ps_table;

/* `columns` must outlive the table (they are usually static). NULL when memory is out. The caller frees
 * the result with ps_table_free(). */
ps_table *ps_table_new(const char *name, const char *title, const ps_column *columns,
                       size_t n_columns);
/* The same with `n_rows` rows that are made one at a time, mostly in order; no rows can be added. Owns the context, also
 * after a failure. Such a table is read by one thread at a time. */
ps_table *ps_table_new_made(const char *name, const char *title, const ps_column *columns,
                            size_t n_columns, size_t n_rows, ps_row_maker maker);
/* What its rows are made from. */
void *ps_table_maker_context(const ps_table *t);
void ps_table_free(ps_table *t); /* NULL is fine */
/* What it holds in memory, about. */
size_t ps_table_bytes(const ps_table *t);

/* Appends a row by its struct. `t` may be NULL. */
void ps_table_put(ps_table *t, const void *row);
/* The same for an array of `n` structs of `row_size` bytes. NULL rows: there was no memory for them, the table fails. */
void ps_table_put_all(ps_table *t, const void *rows, size_t n, size_t row_size);
/* What failed is not the table itself, but something its rows needed. */
void ps_table_fail(ps_table *t);
/* The table when all rows are in it; frees it and returns NULL when memory ran out. */
ps_table *ps_table_end(ps_table *t);

/* Appends a row of NULLs. False when memory is out. */
bool ps_table_add_row(ps_table *t);

/* Sets a cell of the last row; nothing happens to a table that is NULL or failed. The text is copied; NULL text leaves the cell NULL. */
void ps_table_set_int(ps_table *t, size_t column, int64_t value);
void ps_table_set_real(ps_table *t, size_t column, double value);
bool ps_table_set_text(ps_table *t, size_t column, const char *text);
/* The same for a text that is in the table's arena already, and may stand in many cells. */
void ps_table_share_text(ps_table *t, size_t column, const char *text);

/* Of a table with rows on demand it is good until a row other than its neighbours is read. */
const ps_value *ps_table_cell(const ps_table *t, size_t row, size_t column);

/* Whether two cells of a column hold the same, reals bit for bit. */
bool ps_column_same_cell(const ps_column *column, const ps_value *a, const ps_value *b);

/* The column of that name, SIZE_MAX when there is none. */
size_t ps_table_column(const ps_table *t, const char *name);

/* The name of a column in files: with its unit ("busy_ns", "idle_percent"), but for tables of a rank database, whose
 * names are fixed. */
void ps_table_file_name(const ps_table *t, size_t column, char *out, size_t size);

/* What stands above a column in csv and xlsx files: its header, or the name above. */
void ps_table_header(const ps_table *t, size_t column, char *out, size_t size);

/* "ns", "%", "" ... */
const char *ps_unit_name(ps_unit unit);

/* A table whose cells are held, with its columns. */
void ps_table_archive(ps_archive *a, ps_table **table);

#endif
