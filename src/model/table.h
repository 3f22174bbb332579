/* ps_table: every result that is not a trace or a chart. Named columns with a type and a unit; text, CSV,
 * JSON and SQLite come from that for free. A table knows where it belongs.
 *
 * Built row by row: ps_table_add_row, then one ps_table_set_* per cell that is not NULL. Tables of a row a kernel would
 * be large that way: such a table makes its rows when somebody reads them (ps_table_new_made). */
#ifndef PS_MODEL_TABLE_H
#define PS_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

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
    bool is_key;        /* SQLite: part of the index ix_<table>_<key>[_<key>...] */
    double width;       /* xlsx, in characters; 0: by its content */
    const char *shown;  /* the name on the terminal, where the own one is long; NULL: the own one */
    bool
        merged; /* xlsx: runs of equal values are one cell, inside runs of the merged column before it */
} ps_column;

/* Which outputs a cluster-homed table goes to. */
typedef enum ps_table_to {
    PS_TO_DB = 1u << 0,     /* cluster_analysis.db */
    PS_TO_FILES = 1u << 1,  /* csv, json, xlsx */
    PS_TO_SCREEN = 1u << 2, /* the first rows, on the terminal */
    PS_TO_ALL = 7,
    PS_TO_BESIDE_DB = 1u << 3 /* with FILES: a csv file also where the database is written */
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

/* Rows on demand. */
#define PS_ROW_ROOM 256
typedef struct ps_row_maker {
    /* Sets the cells of a row, all NULL before. `room` is for texts that belong to this row alone; other texts live as
     * long as the context. */
    void (*make)(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]);
    void *context;
    void (*free_context)(void *context);
} ps_row_maker;

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
    ps_value *cells; /* row-major: n_rows * n_columns; NULL with `made` */
    size_t n_rows, cap_cells;
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
void ps_table_free(ps_table *t); /* NULL is fine */
/* What it holds in memory, about. */
size_t ps_table_bytes(const ps_table *t);

/* Appends a row of NULLs. False when memory is out. */
bool ps_table_add_row(ps_table *t);

/* Sets a cell of the last row. The text is copied; NULL text leaves the cell NULL. */
void ps_table_set_int(ps_table *t, size_t column, int64_t value);
void ps_table_set_real(ps_table *t, size_t column, double value);
bool ps_table_set_text(ps_table *t, size_t column, const char *text);
/* The same for a text that is in the table's arena already, and may stand in many cells. */
void ps_table_share_text(ps_table *t, size_t column, const char *text);

/* Of a table with rows on demand it is good until a row other than its neighbours is read. */
const ps_value *ps_table_cell(const ps_table *t, size_t row, size_t column);

/* The column of that name, SIZE_MAX when there is none. */
size_t ps_table_column(const ps_table *t, const char *name);

/* The name of a column in files: with its unit ("busy_ns", "idle_percent"), but for tables of a rank database, whose
 * names are fixed. */
void ps_table_file_name(const ps_table *t, size_t column, char *out, size_t size);

/* What stands above a column in csv and xlsx files: its header, or the name above. */
void ps_table_header(const ps_table *t, size_t column, char *out, size_t size);

/* "ns", "%", "" ... */
const char *ps_unit_name(ps_unit unit);

#endif
