/* What a profile holds, in numbers: counts per kind, spans, tables, metadata. Small, so that a thousand ranks can be
 * looked at without keeping a thousand traces. */
#ifndef PS_RUN_INVENTORY_H
#define PS_RUN_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "model/trace.h"
#include "run/cluster.h"
#include "run/run_engine.h"
#include "run/run_memory.h"

/* Everything that has a name and a number or a text. */
typedef struct ps_named {
    const char *name;
    int64_t count;
    const char *text; /* NULL when it is a count */
} ps_named;

typedef struct ps_named_list {
    ps_named *items;
    size_t n, cap;
} ps_named_list;

typedef struct ps_span {
    int64_t start_ns, end_ns; /* epoch, or what the trace counts from */
    bool known;
} ps_span;

typedef struct ps_inventory {
    ps_err err; /* code PS_OK: the profile was read */
    uint64_t n_slices[PS_N_SLICE_KINDS];
    uint64_t n_counter_values, n_flow_ends;
    ps_named_list flows;       /* by kind, in the order of names */
    ps_named_list tables;      /* of a database: rows */
    ps_named_list side_tables; /* memory, statistics ...: rows */
    ps_named_list facts;       /* "device", "profiler level" */
    ps_named_list metas;       /* each key once */
    int64_t *steps;            /* ids, in start order */
    size_t n_steps, n_tracks, n_counter_tracks;
    uint64_t n_host_comm; /* ps_host_comm_count: among the annotations */
    ps_span host, device;
    const char *comm_from_marks; /* ps_trace_comm_from_marks */
    uint32_t
        lacks; /* bits of ps_part_of_capture: the profiler could have recorded it, the capture has none */
    ps_diag diag;
    ps_arena arena;
} ps_inventory;

/* What of a profile is read for it (ps_needs). */
#define PS_INVENTORY_NEEDS                                                                         \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_INVENTORY | PS_NEED_SLICES | PS_NEED_FLOWS |           \
     PS_NEED_COUNTERS | PS_NEED_TABLES)

/* Reads the profile and counts. Never NULL but when memory is out; a profile that could not be read is in `err`. The
 * caller frees it with ps_inventory_free(). */
ps_inventory *ps_inventory_read(const ps_cluster_rank *rank, size_t n_threads);
void ps_inventory_free(ps_inventory *inv); /* NULL is fine */
/* Of each rank of the cluster, into out[n_ranks]. `engine` NULL: on `n_threads` threads (0: one per processor), as many ranks at once as
 * `memory` allows by what each takes, `rank_bytes` [n_ranks]. Calls `read` for each, from any thread. */
PS_MUST_USE ps_code ps_inventories_read(const ps_cluster *cluster, ps_engine *engine,
                                        size_t n_threads, ps_budget *memory,
                                        const int64_t *rank_bytes, ps_inventory **out,
                                        void (*read)(void *context), void *context, ps_err *err);
/* Its ps_archive_visit. */
void ps_inventory_archive(ps_archive *a, void *inventory);

/* The entry of that name, or NULL. */
const ps_named *ps_named_find(const ps_named_list *list, const char *name);

#endif
