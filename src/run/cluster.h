/* Finds the ranks of a cluster under a path.
 *
 * PATH may be a directory of rank directories (any depth up to PS_CLUSTER_MAX_DEPTH), one rank directory,
 * or one file. A rank directory holds ASCEND_PROFILER_OUTPUT/ with ascend_pytorch_profiler[_R].db or
 * ascend_mindspore_profiler[_R].db, or trace_view.json and CSV files where databases were not exported; msMonitor
 * writes msmonitor_{pid}_{timestamp}_{rank}.db anywhere. Files of all other formats are recognised by content.
 * What cannot be read is counted and named, and the rest goes on. */
#ifndef PS_RUN_CLUSTER_H
#define PS_RUN_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/pattern.h"
#include "read/readers.h"

#define PS_CLUSTER_MAX_DEPTH 10
#define PS_N_STRANGERS 13 /* kinds of cluster_strangers.c */

typedef enum ps_profiler {
    PS_PROFILER_PYTORCH,
    PS_PROFILER_MINDSPORE,
    PS_PROFILER_MSMONITOR,
    PS_PROFILER_OTHER /* whoever the reader names */
} ps_profiler;

typedef struct ps_cluster_rank {
    int64_t rank; /* global rank, -1 unknown */
    ps_profiler profiler;
    const char *path; /* the file that is read: a database, trace_view.json, a log */
    const char *
        rank_dir; /* directory with profiler_info and profiler_metadata, NULL for a lone database */
    const char *rel_path; /* path below the cluster's root, for mirrored copies */
    int64_t timestamp;    /* from the directory's or file's name, -1 unknown */
    int64_t mtime_ns;
    bool is_copy; /* made by an earlier run with -o */
    const ps_reader *
        reader; /* that claims the file; NULL: a database found by name, looked at when it is read */
    int64_t part;              /* of a file that holds several ranks (ps_src.part) */
    const void *noted;         /* by the reader, of the part (ps_src.noted) */
    int32_t machine;           /* number of the machine in a job of several, -1 unknown */
    const char *host;          /* its name where the list of parts has it; NULL unknown */
    const char *told_profiler; /* who wrote it, where the list of parts has it; NULL */
    const char *told_title;    /* what its file calls it, where that is said there; NULL */
} ps_cluster_rank;

/* What ps_read() takes. */
static inline ps_src ps_cluster_src(const ps_cluster_rank *rank) {
    return (ps_src){.path = rank->path,
                    .rank_dir = rank->rank_dir,
                    .reader = rank->reader,
                    .part = rank->part,
                    .noted = rank->noted};
}

typedef struct ps_cluster {
    const char *root;       /* directory that paths are shown below */
    const char *path;       /* as the user gave it */
    ps_cluster_rank *ranks; /* by rank, then profiler */
    size_t n_ranks, cap_ranks;
    ps_said
        left_out; /* which of several profiles of a rank are read; none: each rank is there once */
    ps_err no_profile;  /* why a file that the user named is none; PS_OK otherwise */
    size_t n_text_dirs; /* rank directories that hold only text and were not taken */
    ps_said
        instead; /* where no rank is: what was found there, and what to do with it; none: nothing known */
    size_t n_strangers[PS_N_STRANGERS]; /* of it, by kind, with the first one's path */
    const char *strangers[PS_N_STRANGERS];
    ps_said *notes; /* sentences for people: duplicates, several profilers side by side */
    size_t n_notes, cap_notes;
    ps_diag diag;
    ps_pattern *
        rank_from; /* while files are looked at: what in the names of processes is the rank, or NULL */
    const char *rank_from_text; /* the expression, NULL for none */
    const ps_reader *as;        /* whom the user named, NULL: by content */
    bool databases_only;        /* found by ps_cluster_find_databases() */
    ps_arena arena;
} ps_cluster;

/* NULL on failure: PS_NOT_FOUND when the path does not exist, PS_NOMEM. No rank is not a failure here. The
 * caller frees the result with ps_cluster_free(). */
ps_cluster *ps_cluster_find(const char *path, ps_err *err);
/* The same with the format named by the user (NULL: by content): a file is read as that whatever it looks like, below a
 * directory only files that it claims are taken. `rank_from`, or NULL: a regular expression over the names of processes whose first group
 * is the rank (ps_reader.parts_by_name); PS_USAGE when it is none. */
ps_cluster *ps_cluster_find_as(const char *path, const ps_reader *reader, const char *rank_from,
                               ps_err *err);
/* The same for databases of Ascend profilers only, by their names and places: what the cluster modes read and write. */
ps_cluster *ps_cluster_find_databases(const char *path, ps_err *err);
void ps_cluster_free(ps_cluster *c); /* NULL is fine */

/* The name of the file or folder that the user gave, for titles; "" where it is no name ("."). */
const char *ps_cluster_name(const ps_cluster *c);

/* Who recorded it, for a file that is written from it; NULL: a converted file that does not tell. */
const char *ps_cluster_recorder(const ps_cluster_rank *rank);

/* Whether the capture, or the one that it was converted from, names every op of a step (model/worker_ops.h). */
bool ps_cluster_names_ops(const ps_cluster_rank *rank);

/* "PyTorch", "MindSpore", "msMonitor", or what the reader says. */
const char *ps_cluster_profiler(const ps_cluster_rank *rank);
/* Name of the format, "unknown" when no reader claims the file. */
const char *ps_cluster_format(const ps_cluster_rank *rank);

/* Value of application_id in the header of copies that pipescope writes ("pscp"). */
#define PS_COPY_APPLICATION_ID 0x70736370

#endif
