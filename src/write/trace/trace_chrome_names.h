/* The numbers and names under which the processes, threads, counters, categories and flows of one rank stand in a
 * trace-event file. A rank alone keeps its own numbers and texts; several ranks get processes numbered through. Where
 * two would be called the same, the later one gets another name. */
#ifndef PS_WRITE_TRACE_CHROME_NAMES_H
#define PS_WRITE_TRACE_CHROME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "model/trace.h"
#include "write/trace/trace_layout.h"

/* A piece of JSON, in the arena of the names; text NULL: there is none. */
typedef struct ps_json_piece {
    const char *text;
    size_t n;
} ps_json_piece;

/* What a slice shows as its category: that of the file, or the name of the kind where there is none. Several kinds may
 * share a text: the first has it for all slices, the others for slices of the names listed. Only where slices of one
 * text and one name are of several kinds does the later kind stand behind a comma. */
typedef struct ps_chrome_category {
    ps_str name; /* in the trace; may be none */
    ps_slice_kind kind;
    uint32_t first;      /* row of the first category of the same text */
    bool is_shared;      /* there are others of the same text */
    bool is_apart;       /* has a text of its own */
    ps_json_piece shown; /* a JSON string */
} ps_chrome_category;

/* Slices of this name are of this category, though the text says another one. */
typedef struct ps_chrome_named {
    uint32_t category; /* not one that is_apart */
    ps_str name;
} ps_chrome_named;

typedef struct ps_chrome_names {
    const ps_trace *t;
    const ps_trace_layout *layout;
    ps_json_piece *pids;     /* [n_groups] "pid":1 */
    ps_json_piece *lanes;    /* [n_lanes] "pid":1,"tid":2; none for counters */
    ps_json_piece *counters; /* [n_tracks] a JSON string; none for others */
    ps_chrome_category *categories;
    size_t n_categories, cap_categories;
    ps_chrome_named *named;
    size_t n_named, cap_named;
    const char *no_kind; /* "cat" of flows that have no kind */
    int64_t *next_pid;   /* of several ranks; NULL: one alone */
    ps_arena arena;
    ps_buf scratch;
    ps_idmap category_rows; /* (category, kind) -> row */
    ps_idmap first_rows;    /* hash of a text -> first row that shows it */
    ps_idmap used;          /* numbers and names taken so far, as hashes */
} ps_chrome_names;

/* `next_pid`: the next number for a process where a file holds several ranks, counted on; NULL for one rank. Trace and
 * layout must outlive the names. False when memory is out; call fini in any case. */
bool ps_chrome_names_init(ps_chrome_names *names, const ps_trace *t, const ps_trace_layout *layout,
                          int64_t *next_pid);
void ps_chrome_names_fini(ps_chrome_names *names);

/* The category of slices of this kind; there is one for each that the trace holds. */
const ps_chrome_category *ps_chrome_names_category(const ps_chrome_names *names, ps_str category,
                                                   uint8_t kind);

#endif
