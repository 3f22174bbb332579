/* The reader of Kineto traces (PyTorch profiler), in pieces: kineto.c (members of the file, the reading), kineto_kinds.c
 * (categories to kinds and tracks), kineto_link.c (calls and what they launched), kineto_numbers.c (whether events were taken out), kineto_rank.c (rank and host). */
#ifndef PS_READ_KINETO_H
#define PS_READ_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"
#include "read/events/trace_model.h"
#include "read/reader.h"

/* Reads an open input. `path`: whose name may tell the rank. `n_threads` as for ps_trace_events_read(). */
PS_MUST_USE ps_code ps_kineto_read_input(ps_input *in, const char *path, uint32_t needs,
                                         size_t n_threads, ps_builder *b, ps_err *err);

/* --- kinds ------------------------------------------------------------------------------------------------- */

typedef enum ps_kineto_place {
    PS_KINETO_HOST,   /* on its thread */
    PS_KINETO_STREAM, /* on a stream of a device */
    PS_KINETO_LANE    /* on a lane of its own, beside the stream or thread */
} ps_kineto_place;

typedef struct ps_kineto_category {
    const char *name; /* compared without case; a trailing '*' stands for any rest */
    ps_slice_kind kind;
    ps_kineto_place place;
} ps_kineto_category;

extern const ps_kineto_category ps_kineto_categories[];
/* Its row there, -1 when it is unknown. */
int ps_kineto_category_of(const char *name);
/* A kernel that communicates, by its name. */
bool ps_kineto_is_comm(const char *name);
/* N of "ProfilerStep#N". */
bool ps_kineto_step(const char *name, int64_t *step);
/* A flow from a call to what it launched, by its category. */
bool ps_kineto_is_launch(const char *category);

/* --- links ------------------------------------------------------------------------------------------------- */

/* Slices with a correlation id, in input order. */
typedef struct ps_kineto_ids {
    int64_t *ids;
    uint32_t *slices;
    size_t n, cap_ids, cap_slices;
} ps_kineto_ids;

/* Calls and device slices, joined by their correlation ids. */
typedef struct ps_kineto_links {
    ps_kineto_ids calls, launched;
    uint8_t *is_linked; /* a bit a slice, after joining */
    int64_t *joined;    /* ids of which something was joined, rising */
    size_t n_joined, cursor;
    uint32_t n_slices;
    ps_str kind; /* "ac2g" */
    bool failed;
} ps_kineto_links;

void ps_kineto_links_fini(ps_kineto_links *l);
void ps_kineto_links_add(ps_kineto_links *l, const ps_builder *b, uint32_t slice,
                         int64_t correlation);
/* Adds the flows; counts device slices whose call is not there. */
void ps_kineto_links_join(ps_kineto_links *l, ps_builder *b);
/* After joining: whether the flows of this id are there. Cheapest when asked in rising order. */
bool ps_kineto_links_knows(ps_kineto_links *l, uint64_t id);
bool ps_kineto_links_has(const ps_kineto_links *l, uint32_t slice);

/* --- numbers ----------------------------------------------------------------------------------------------- */

#define PS_KINETO_FEW_NUMBERS 32 /* of fewer most may be missing by chance */
#define PS_KINETO_MOST_NUMBERS ((int64_t)1 << 40)

/* The numbers of a process lie between these. */
typedef struct ps_kineto_process {
    int64_t pid, first, last;
} ps_kineto_process;

/* The numbers of a thread: of Python, of instants, of all else; where `last` is INT64_MIN there are none. */
typedef struct ps_kineto_runs {
    struct {
        int64_t last; /* in the order of the file */
        int64_t least, most;
    } of[3];
} ps_kineto_runs;

/* Zero it to begin. */
typedef struct ps_kineto_numbers {
    ps_kineto_process *processes;
    ps_kineto_runs *rows; /* by thread */
    size_t n_processes, cap_processes, n_rows, cap_rows;
    uint64_t n, n_neighbours;
    bool failed;
} ps_kineto_numbers;

void ps_kineto_numbers_fini(ps_kineto_numbers *k);
/* In file order. */
void ps_kineto_numbers_add(ps_kineto_numbers *k, int64_t pid, uint32_t thread, ps_slice_kind kind,
                           int64_t number);
typedef enum ps_kineto_loss {
    PS_KINETO_WHOLE, /* or nothing is numbered */
    PS_KINETO_THINNED,
    PS_KINETO_TOO_FEW /* to tell */
} ps_kineto_loss;

/* Whether events were taken out here and there: *n are there of *of numbers, those between the first and the last of each
 * thread and kind: what lies between these is of other steps and kinds, which nobody took out. */
ps_kineto_loss ps_kineto_numbers_loss(const ps_kineto_numbers *k, uint64_t *n, uint64_t *of);

/* --- rank -------------------------------------------------------------------------------------------------- */

/* The number behind the last "rank-", "rank_" or "rank" of a file's name, -1 without one. */
int64_t ps_kineto_rank_of_name(const char *path);
/* ps_reader.parts */
ps_code ps_kineto_parts(const char *path, ps_arena *arena, ps_part **parts, size_t *n, ps_err *err);

#endif
