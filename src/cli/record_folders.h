/* The output folders of recorded processes, and what each holds. */
#ifndef PS_CLI_RECORD_FOLDERS_H
#define PS_CLI_RECORD_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/export/recover.h"

typedef enum ps_recorded_state {
    PS_RECORDED_EXPORTED,  /* by the process itself */
    PS_RECORDED_RECOVERED, /* by us, now */
    PS_RECORDED_RUNNING,   /* the process lives and goes on recording */
    PS_RECORDED_EMPTY,     /* the process ended before its first event; the folder is gone */
    PS_RECORDED_FAILED     /* it could not be recovered, or its database cannot be read: `err` */
} ps_recorded_state;

/* Whether what PyTorch's operators cost the program where record_ops looks at them is in overhead_ps. */
typedef enum ps_ops_cost {
    PS_OPS_COST_NONE, /* nobody looked at them */
    PS_OPS_COST_COUNTED,
    PS_OPS_COST_UNKNOWN /* a dispatch mode in Python, which does not measure itself */
} ps_ops_cost;

/* One recording of one process. Texts live in the arena. */
typedef struct ps_recorded_folder {
    const char *path;
    const char *launch; /* "" unknown */
    ps_recorded_state state;
    ps_err err;
    bool has_raw;
    ps_raw_folder raw; /* with has_raw */
    /* What it holds; nothing of RUNNING, EMPTY and FAILED. */
    int64_t rank, pid; /* -1 unknown */
    int64_t n_ranges, n_marks, n_ops, n_steps, n_device, n_open;
    int64_t n_modules; /* of the ranges: calls of modules */
    int64_t n_placed;  /* of the others: with times on a device */
    int64_t drops[PS_N_DROPS];
    int64_t
        damaged_bytes; /* of the raw files, which could not be understood: the rest is there, and they are kept */
    const char *damaged_at; /* the first place, "" unknown */
    int64_t overhead_ps;    /* of the program's threads, by the recorder's own test; 0 unknown */
    ps_ops_cost ops_cost;
    bool has_stages; /* its metadata say how many pipeline stages there are */
} ps_recorded_folder;

/* Folders of one place. */
typedef struct ps_recorded {
    ps_arena *arena;
    const char *dir;
    const char **before; /* names that were there before the launch, sorted */
    size_t n_before;
    const char **places; /* folders that recordings said they lie in, also outside of `dir` */
    size_t n_places;
    const char **lost; /* recordings of which nothing is on a disk: "<pid>: <why>" */
    size_t n_lost;
    bool any_fork;               /* children of a process that recorded did not record */
    ps_recorded_folder *folders; /* in the order of rank, then name */
    size_t n;
} ps_recorded;

/* Remembers what lies in `dir` now. `r->arena` is set by the caller. */
PS_MUST_USE ps_code ps_recorded_before(ps_recorded *r, const char *dir, ps_err *err);

/* Finds the folders that came since, and those of r->places, that belong to `launch`, and reads those that are exported. Those with raw files
 * only come as RUNNING or FAILED (not recovered yet). */
PS_MUST_USE ps_code ps_recorded_find(ps_recorded *r, const char *launch, ps_err *err);

/* All folders with raw files at or below r->dir, whoever recorded them; those whose database is there too (the raw files
 * were to be kept) come as EXPORTED. */
PS_MUST_USE ps_code ps_recorded_find_raw(ps_recorded *r, ps_err *err);

/* How many recordings at or below `dir` have raw files and no database: `n_left` of processes that have ended, `n_running` of
 * processes that go on. 0 and 0 where `dir` is no folder or cannot be read. */
void ps_recorded_count_raw(const char *dir, size_t *n_left, size_t *n_running);

/* Exports the raw files of a folder and reads what came of it; sets the state. */
void ps_recorded_recover(ps_recorded *r, ps_recorded_folder *folder,
                         const ps_export_options *options);

#endif
