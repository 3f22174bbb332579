/* Views of all ranks of a job (views of one: view.h): tables of modes, and a few that are made of those. Listed in
 * job_view.c. */
#ifndef PS_ANALYZE_JOB_VIEW_H
#define PS_ANALYZE_JOB_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/views/view.h"
#include "base/err.h"
#include "model/layout.h"
#include "model/table.h"

/* Analyses that are run in one read. */
typedef enum ps_view_set {
    PS_SET_STEPS,         /* time of steps, sizes of the job */
    PS_SET_COMMUNICATION, /* operators, links, groups */
    PS_SET_LATE,          /* links and ranks slower than others */
    PS_SET_LAYOUT,        /* sizes of the job */
    PS_SET_REPORT,        /* whatever `pipescope report` runs */
    PS_N_SETS
} ps_view_set;

#define PS_VIEW_SET_MOST 4
/* Names of the analyses, NULL-terminated; none for PS_SET_REPORT. */
const char *const *ps_view_set_names(ps_view_set set);

/* What is known of the files without an analysis. */
typedef struct ps_job_capture {
    const char *path, *format; /* "several" */
    size_t n_ranks, n_loaded, n_failed;
    size_t n_unsized; /* of which the files could not be looked at: `bytes` is not known then */
    int64_t bytes;
    int64_t start_ns, end_ns; /* epoch, of the ranks that are loaded; both 0: of none */
} ps_job_capture;

/* Where views take what they show. */
typedef struct ps_job_source {
    const ps_table *(*table)(const void *context, const char *name); /* of the modes; NULL: none */
    /* How whoever asks calls the rank of that number; "": not at all. */
    const char *(*key)(const void *context, int64_t rank);
    void (*capture)(const void *context, ps_job_capture *out);
    const void *context;
} ps_job_source;

typedef struct ps_job_view_input {
    const ps_job_source *from;
    const char *step; /* its id, "all" */
    int64_t stage;    /* only ranks of this one; -1: all */
    ps_lang lang;     /* of sentences */
} ps_job_view_input;

typedef struct ps_job_view {
    const char *name, *title;
    ps_view_tab tab;
    ps_view_set set;
    const char *table;     /* of the set, shown as it is; or NULL */
    const char *params[2]; /* "step", "stage", "lang", or NULL */
    /* A table that the caller frees. NULL: PS_NOTHING with a sentence, PS_USAGE for a parameter, or PS_NOMEM. */
    ps_table *(*make)(const ps_job_view_input *in, ps_err *err);
} ps_job_view;

/* All, ended by one without a name. */
extern const ps_job_view ps_job_views[];
const ps_job_view *ps_job_view_find(const char *name); /* NULL: none of that name */

/* The job as the set says it; all unknown where nothing does. */
typedef struct ps_job_sizes {
    ps_layout layout;
    ps_layout_dims dims; /* 0: not said */
    int64_t world_size;  /* 0: not said */
    const char *problem; /* of the table: what contradicts them; NULL */
} ps_job_sizes;
ps_job_sizes ps_job_sizes_of(const ps_job_source *from);

/* --- for those who make views ---------------------------------------------------------------------------------- */

/* The cell of a column by name; NULL: no such column, or nothing in it. */
static inline const ps_value *ps_job_view_cell(const ps_table *t, size_t row, const char *column) {
    size_t at = ps_table_column(t, column);
    const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
    return v != NULL && !v->is_null ? v : NULL;
}
static inline const char *ps_job_view_text(const ps_table *t, size_t row, const char *column) {
    const ps_value *v = ps_job_view_cell(t, row, column);
    return v != NULL ? v->u.text : "";
}

ps_table *ps_job_view_base_info(const ps_job_view_input *in, ps_err *err);
ps_table *ps_job_view_overview(const ps_job_view_input *in, ps_err *err);
ps_table *ps_job_view_spread(const ps_job_view_input *in, ps_err *err);
ps_table *ps_job_view_communication_advice(const ps_job_view_input *in, ps_err *err);
ps_table *ps_job_view_evidence(const ps_job_view_input *in, ps_err *err);

#endif
