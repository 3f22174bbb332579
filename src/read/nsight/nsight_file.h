/* What all parts of the reader of Nsight Systems exports share: the open database and the trace being built, texts by
 * their id, processes and threads by their packed ids, devices, and slices with what is odd about them counted.
 *
 * Ids: a globalTid is 8 bits of machine, 8 of virtual machine, 24 of pid and 24 of tid, a globalPid the same with tid 0;
 * both are signed in SQLite and may be negative.
 *
 * Memory: the functions that give an index give PS_NONE when memory is out, which every other function takes; callbacks
 * end with ps_nsight_check(). */
#ifndef PS_READ_NSIGHT_FILE_H
#define PS_READ_NSIGHT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/idmap.h"
#include "model/trace.h"
#include "read/reader.h"
#include "read/sqlite/db.h"
#include "read/sqlite/scan.h"

/* --- ids ------------------------------------------------------------------------------------------------- */

static inline int64_t ps_nsight_process_key(int64_t global_tid) {
    return (int64_t)((uint64_t)global_tid & ~UINT64_C(0xFFFFFF));
}

static inline int64_t ps_nsight_os_pid(int64_t global_id) {
    return (int64_t)((uint64_t)global_id >> 24 & 0xFFFFFF);
}

static inline int64_t ps_nsight_os_tid(int64_t global_tid) {
    return (int64_t)((uint64_t)global_tid & 0xFFFFFF);
}

/* --- the reading ----------------------------------------------------------------------------------------- */

typedef struct ps_nsight_text {
    const char *bytes;
    size_t n;
    ps_str str; /* interned on first use */
} ps_nsight_text;

typedef struct ps_nsight_process {
    int64_t key; /* globalPid */
    int64_t pid; /* as shown: the system's, with a number above it for a second one of that pid */
    bool has_tracks;
} ps_nsight_process;

typedef struct ps_nsight_thread {
    int64_t id; /* globalTid */
    uint32_t process, track;
} ps_nsight_thread;

/* One row of TARGET_INFO_CUDA_DEVICE. */
typedef struct ps_nsight_device {
    int64_t pid, cuda_id, gpu_id;
    size_t order;
} ps_nsight_device;

#define PS_NSIGHT_REST INT64_C(1) /* no process has this key */

typedef struct ps_nsight {
    ps_db *db;
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    int64_t part; /* key of the process that is wanted, 0: all, PS_NSIGHT_REST: all but own_parts */
    const ps_idmap *own_parts; /* keys; borrowed */
    bool out_of_memory;
    int64_t last_ns; /* latest end of a slice so far, INT64_MIN */

    ps_arena arena; /* bytes of texts */
    ps_nsight_text *texts;
    size_t n_texts, cap_texts;
    ps_idmap text_rows; /* id in StringIds -> row */

    ps_nsight_process *processes; /* in the order in which they were met */
    size_t n_processes, cap_processes;
    ps_idmap process_rows, pids; /* key -> row; shown pid -> row */

    ps_nsight_thread *threads;
    size_t n_threads, cap_threads;
    ps_idmap thread_rows;

    ps_nsight_device *devices; /* sorted by pid, cuda_id, order */
    size_t n_devices, cap_devices;
} ps_nsight;

/* Opens the file; the rest is set by the caller. ps_nsight_close() is harmless after a failure. */
PS_MUST_USE ps_code ps_nsight_open(ps_nsight *n, const char *path, ps_err *err);
void ps_nsight_close(ps_nsight *n);

/* PS_NOMEM when memory ran out in an earlier call. */
PS_MUST_USE ps_code ps_nsight_check(const ps_nsight *n, ps_err *err);

/* ps_scan with `n` as context; a table that is not there has no rows. */
PS_MUST_USE ps_code ps_nsight_scan(ps_nsight *n, const char *table, const char *const *columns,
                                   size_t n_columns, ps_scan_fn *fn, void *context, ps_err *err);

/* --- texts ----------------------------------------------------------------------------------------------- */

/* Reads StringIds. Before that no id has a text. */
PS_MUST_USE ps_code ps_nsight_load_texts(ps_nsight *n, ps_err *err);

/* The text of an id of StringIds, none when it is not there. */
ps_str ps_nsight_text_of(ps_nsight *n, int64_t id);

/* The same for a cell that must name one: a stand-in and a counted oddity when it does not. */
ps_str ps_nsight_name(ps_nsight *n, const ps_scan_batch *b, size_t column, size_t row,
                      const char *table);

ps_str ps_nsight_str(ps_nsight *n, const char *text);

/* --- processes, threads, devices ------------------------------------------------------------------------- */

/* Row in n->processes, added when new. */
uint32_t ps_nsight_process_row(ps_nsight *n, int64_t key);

/* The process of a device's row: `key`, or the only process there is when the export does not say (0); else one that
 * is known as 0. */
uint32_t ps_nsight_device_process(ps_nsight *n, int64_t key);

/* Whether rows of this process are asked for. */
bool ps_nsight_wants(const ps_nsight *n, uint32_t process);

/* Row in n->threads, added with its track when new. */
uint32_t ps_nsight_thread_row(ps_nsight *n, int64_t global_tid);

/* Reads TARGET_INFO_CUDA_DEVICE. */
PS_MUST_USE ps_code ps_nsight_load_devices(ps_nsight *n, ps_err *err);

/* The physical GPU behind the number that the process calls it by; the number itself where the file does not say. */
int64_t ps_nsight_gpu(const ps_nsight *n, int64_t process_key, int64_t cuda_id);

/* --- enumerations ---------------------------------------------------------------------------------------- */

#define PS_NSIGHT_ABSENT INT64_MIN

typedef struct ps_nsight_symbol {
    const char *name; /* in the export's ENUM_ table */
    int64_t id;       /* what it is where that table does not say */
    const char *text; /* for people */
} ps_nsight_symbol;

/* The ids of n symbols: as ENUM_ table `table` names them, else the known ones, unless the table gives that id to
 * something else (PS_NSIGHT_ABSENT). */
PS_MUST_USE ps_code ps_nsight_symbols(ps_nsight *n, const char *table,
                                      const ps_nsight_symbol *symbols, size_t n_symbols,
                                      int64_t *ids, ps_err *err);

/* Index of the symbol with this id, n_symbols for none. */
size_t ps_nsight_symbol_of(const int64_t *ids, size_t n_symbols, int64_t id);

/* --- slices ---------------------------------------------------------------------------------------------- */

typedef struct ps_nsight_span {
    ps_slice_kind kind;
    uint32_t track;
    ps_str name, category;
    int64_t start_ns, end_ns, row;
} ps_nsight_span;

/* The slice, or PS_NONE with a counted oddity that names the table when its times are none. */
uint32_t ps_nsight_add(ps_nsight *n, const ps_nsight_span *span, const char *table);

/* Arguments of a slice; nothing happens for PS_NONE, for an empty or missing text, and for a number that is
 * `missing`. */
void ps_nsight_arg_int(ps_nsight *n, uint32_t slice, const char *key, int64_t value,
                       int64_t missing);
void ps_nsight_arg_str(ps_nsight *n, uint32_t slice, const char *key, ps_str value);

/* A cell as an integer. */
static inline int64_t ps_nsight_int(const ps_scan_batch *b, size_t column, size_t row,
                                    int64_t otherwise) {
    return ps_cell_int(&b->columns[column], row, otherwise);
}

#endif
