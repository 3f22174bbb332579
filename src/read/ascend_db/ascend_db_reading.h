/* What the pieces of the reader of Ascend databases share: the open database, the texts of STRING_IDS, the ENUM_ tables,
 * and rows of one table waiting to be joined to those of another. Internal to src/read/ascend_db*.c.
 *
 * Every function that returns a ps_code fails with PS_NOMEM or with what the scan of the table said. */
#ifndef PS_READ_ASCEND_DB_READING_H
#define PS_READ_ASCEND_DB_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/idmap.h"
#include "model/trace.h"
#include "read/reader.h"
#include "read/sqlite/db.h"
#include "read/sqlite/scan.h"

#define PS_ASCEND_NO_ID INT64_C(4294967295)      /* "none" in ids and ranks */
#define PS_ASCEND_EARLIEST_NS (INT64_C(1) << 56) /* 1972: later times count from 1970 */
#define PS_ASCEND_NULL INT64_MIN                 /* a cell that is empty */

/* --- texts and enumerations --------------------------------------------------------------------------- */

typedef struct ps_ascend_string {
    const char *text; /* NULL until it was met in the file */
    uint32_t n;
    ps_str str; /* none until it was asked for */
} ps_ascend_string;

typedef struct ps_ascend_strings {
    ps_idmap rows; /* id in STRING_IDS -> row */
    ps_ascend_string *strings;
    size_t n, cap;
    ps_arena raw;
    bool all;              /* not only those that were wanted before */
    int64_t notify_ids[2]; /* ids of Notify_Record and Notify_Wait, -1 when absent */
} ps_ascend_strings;

typedef enum ps_ascend_enum {
    PS_ASCEND_API_TYPE,
    PS_ASCEND_DATA_TYPE,
    PS_ASCEND_LINK_TYPE,
    PS_ASCEND_TRANSPORT_TYPE,
    PS_ASCEND_RDMA_TYPE,
    PS_ASCEND_MSTX_TYPE,
    PS_ASCEND_MEMCPY_TYPE,
    PS_ASCEND_MODULE,
    PS_ASCEND_OVERLAP_TYPE,
    PS_ASCEND_N_ENUMS
} ps_ascend_enum;

typedef struct ps_ascend_names {
    ps_idmap rows; /* id -> row */
    int64_t *ids;
    ps_str *names;
    size_t n, cap_ids, cap_names;
    bool loaded;
} ps_ascend_names;

/* --- the reading -------------------------------------------------------------------------------------- */

/* A row of PYTORCH_API, for flows. */
typedef struct ps_ascend_torch {
    int64_t connection; /* id in CONNECTION_IDS */
    int64_t sequence;   /* -1 none */
    int64_t start_ns;
    uint32_t slice;
    uint8_t is_queue, is_enqueue;
} ps_ascend_torch;

/* A slice of the device that a call can have launched. */
typedef struct ps_ascend_end {
    int64_t connection;
    uint32_t slice;
} ps_ascend_end;

typedef struct ps_ascend {
    const ps_src *src;
    ps_db *db;
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    bool spans_only; /* PS_NEED_DEVICE_SPANS: `needs` has slices and flows then */
    ps_ascend_strings strings;
    ps_ascend_names enums[PS_ASCEND_N_ENUMS];
    bool is_epoch; /* times count from 1970, as far as was seen: a time of 0 is none */
    /* for flows, with PS_NEED_FLOWS */
    ps_ascend_torch *torch;
    size_t n_torch, cap_torch;
    ps_ascend_end *ends;
    size_t n_ends, cap_ends;
    ps_idmap call_of_connection; /* connectionId of CANN_API -> slice */
} ps_ascend;

void ps_ascend_init(ps_ascend *a);
/* All but the database. */
void ps_ascend_fini(ps_ascend *a);

static inline bool ps_ascend_wants(const ps_ascend *a, uint32_t needs) {
    return (a->needs & needs) != 0;
}

/* Scans columns named in a list: PS_ASCEND_SCAN(db, "TASK", fn, context, err, "startNs", "endNs"). */
#define PS_ASCEND_SCAN(db, table, fn, context, err, ...)                                           \
    ps_scan(db, table, (const char *const[]){__VA_ARGS__},                                         \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), fn, context, err)

/* --- texts -------------------------------------------------------------------------------------------- */

/* Asks for one text before ps_ascend_strings_read. False when memory is out; ids below 0 are nobody's. */
bool ps_ascend_want_string(ps_ascend *a, int64_t id);
/* Reads those that were wanted, or, with `all`, every one. */
PS_MUST_USE ps_code ps_ascend_strings_read(ps_ascend *a, bool all, ps_err *err);
/* None when STRING_IDS does not have it (or memory is out: see ps_builder_failed). */
ps_str ps_ascend_text(ps_ascend *a, int64_t id);
/* The bytes without interning them; NULL when STRING_IDS does not have it. */
const ps_ascend_string *ps_ascend_raw_text(const ps_ascend *a, int64_t id);
/* "<id 123>" for an id that STRING_IDS does not have; *missing is then set, else left alone. */
ps_str ps_ascend_name(ps_ascend *a, int64_t id, bool *missing);
/* A cell that is an id of STRING_IDS or, in old files, the text itself. None for an empty cell. */
ps_str ps_ascend_cell_name(ps_ascend *a, const ps_scan_column *column, size_t row, bool *missing);

/* Call before the two below. A file without the table gets the documented numbers. */
PS_MUST_USE ps_code ps_ascend_enum_read(ps_ascend *a, ps_ascend_enum which, ps_err *err);
/* The name of a number, else its digits. */
ps_str ps_ascend_enum_name(ps_ascend *a, ps_ascend_enum which, int64_t id);
/* The number of a name; -1 when there is none. */
int64_t ps_ascend_enum_id(const ps_ascend *a, ps_ascend_enum which, const char *name);

/* --- cells -------------------------------------------------------------------------------------------- */

/* An integer, or decimal text as PYTORCH_API has it; PS_ASCEND_NULL for anything else. */
int64_t ps_ascend_cell_time(const ps_scan_column *column, size_t row);

/* A column that becomes an argument of a slice. */
typedef enum ps_ascend_cell {
    PS_ASCEND_INT, /* left out when empty, 4294967295 or, for notify ids, the largest integer */
    PS_ASCEND_REAL,
    PS_ASCEND_TEXT, /* an id of STRING_IDS, or text */
    PS_ASCEND_ENUM
} ps_ascend_cell;

typedef struct ps_ascend_field {
    const char *column, *key;
    ps_ascend_cell cell;
    ps_ascend_enum names; /* of PS_ASCEND_ENUM */
} ps_ascend_field;

#define PS_DB_FIELD_AS(c, k, type)                                                                 \
    { .column = (c), .key = (k), .cell = PS_ASCEND_##type }
#define PS_DB_FIELD(name, type) PS_DB_FIELD_AS(name, name, type)
#define PS_ENUM_FIELD(name, n)                                                                     \
    { .column = (name), .key = (name), .cell = PS_ASCEND_ENUM, .names = PS_ASCEND_##n }

#define PS_ASCEND_MAX_FIELDS 20

typedef struct ps_ascend_fields {
    const ps_ascend_field *fields;
    size_t n;
    ps_str keys[PS_ASCEND_MAX_FIELDS];
} ps_ascend_fields;

/* Interns the keys and reads the enumerations. */
PS_MUST_USE ps_code ps_ascend_fields_init(ps_ascend *a, ps_ascend_fields *f,
                                          const ps_ascend_field *fields, size_t n, ps_err *err);
/* The value of a cell as the argument will hold it, PS_ASCEND_NULL when there is none. */
int64_t ps_ascend_field_value(ps_ascend *a, const ps_ascend_field *field,
                              const ps_scan_column *column, size_t row, bool *missing);
void ps_ascend_add_field(ps_ascend *a, uint32_t slice, const ps_ascend_fields *f, size_t field,
                         int64_t value);

/* A scan of some columns and then those of `f` (may be NULL). */
PS_MUST_USE ps_code ps_ascend_scan(ps_ascend *a, const char *table, const char *const *columns,
                                   size_t n, const ps_ascend_fields *f, ps_scan_fn *fn,
                                   void *context, ps_err *err);

/* Counts a row that names a text which is not there. */
void ps_ascend_count_missing(ps_ascend *a, bool missing, const char *table, int64_t row);

/* --- joins -------------------------------------------------------------------------------------------- */

/* Rows of a table by an id, until the slices that they describe are met. */
typedef struct ps_ascend_join {
    ps_idmap rows;
    int64_t *cells; /* row-major: how often it was used, then the values of the fields */
    size_t n, cap;
    ps_ascend_fields fields;
    const char *table;
} ps_ascend_join;

void ps_ascend_join_fini(ps_ascend_join *j);
/* A missing table is an empty one. */
PS_MUST_USE ps_code ps_ascend_join_read(ps_ascend *a, ps_ascend_join *j, const char *table,
                                        const char *id_column, const ps_ascend_field *fields,
                                        size_t n, ps_err *err);
/* The values of the fields, or NULL. Counts as used. */
const int64_t *ps_ascend_join_find(ps_ascend_join *j, int64_t id);
/* Adds the arguments of a row from field `first` on. */
void ps_ascend_join_args(ps_ascend *a, const ps_ascend_join *j, const int64_t *values,
                         uint32_t slice, size_t first);
/* Counts the rows that nobody asked for. */
void ps_ascend_join_count(ps_ascend *a, const ps_ascend_join *j);

/* --- slices ------------------------------------------------------------------------------------------- */

/* The track of a host thread; globalTid is pid << 32 | tid. */
uint32_t ps_ascend_thread_track(ps_ascend *a, int64_t global_tid);

/* ps_builder_slice_in that counts what is odd with the times. PS_NONE: left out, or memory is out. */
uint32_t ps_ascend_slice(ps_ascend *a, ps_slice_kind kind, uint32_t track, ps_str name,
                         ps_str category, int64_t start_ns, int64_t end_ns, const char *table,
                         int64_t row);

/* Remembers a slice of the device for flows. False when memory is out. */
bool ps_ascend_add_end(ps_ascend *a, int64_t connection, uint32_t slice);

#endif
