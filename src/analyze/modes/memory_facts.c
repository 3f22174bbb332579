/* memory_facts: what the ranks of a job held at most and at least in their steps, by the allocator of the framework. For `plan
 * --memory`, which then need not ask. */
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/rank/memory_points.h"
#include "base/alloc.h"
#include "base/num.h"

typedef enum memory_source {
    OF_NOTHING,
    OF_RECORD,
    OF_EVENTS,
    OF_OPERATORS,
    N_MEMORY_SOURCES
} memory_source;

static const char *const SOURCES[N_MEMORY_SOURCES] = {[OF_RECORD] = "memory_record",
                                                      [OF_EVENTS] = "[memory] events of PyTorch",
                                                      [OF_OPERATORS] = "operator_memory"};

typedef struct partial {
    bool is_known;
    double peak_bytes, low_bytes;
    memory_source from;
} partial;

/* The first step of several sets up what the others have. Without steps all that was captured. */
static ps_step window_of(const ps_trace *trace) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    ps_step window = {.start_ns = INT64_MIN, .end_ns = INT64_MAX};
    for (size_t i = n > 1 ? 1 : 0; i < n; i++) {
        bool first = window.start_ns == INT64_MIN;
        window.start_ns =
            first || steps[i].start_ns < window.start_ns ? steps[i].start_ns : window.start_ns;
        window.end_ns = first || steps[i].end_ns > window.end_ns ? steps[i].end_ns : window.end_ns;
    }
    return window;
}

static void take_bytes(partial *p, double bytes) {
    p->peak_bytes = !p->is_known || bytes > p->peak_bytes ? bytes : p->peak_bytes;
    p->low_bytes = !p->is_known || bytes < p->low_bytes ? bytes : p->low_bytes;
    p->is_known = true;
}

static bool is_allocated(const ps_memory_series *s) {
    return s->n > 0 && strcmp(s->what, "allocated") == 0 && strcmp(s->owner, "CPU") != 0;
}

/* What is held when the window begins counts as well. Of several devices of a rank the first alone: a stage runs on one. */
static void take_points(const ps_memory_points *m, const ps_step *window, partial *p) {
    const ps_memory_series *s = NULL;
    for (size_t k = 0; k < m->n_series && s == NULL; k++) {
        s = is_allocated(&m->series[k]) ? &m->series[k] : NULL;
    }
    const ps_memory_point *before = NULL;
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        const ps_memory_point *at = &m->points[s->first + i];
        if (at->time_ns > window->end_ns) {
            break;
        }
        if (at->time_ns < window->start_ns) {
            before = at;
            continue;
        }
        if (before != NULL) {
            take_bytes(p, before->bytes);
            before = NULL;
        }
        take_bytes(p, at->bytes);
    }
    if (p->is_known) {
        p->from = strcmp(s->owner, "operators") == 0 ? OF_RECORD : OF_EVENTS;
    }
}

/* Where only what operators allocated is there: what was held with it, and without. */
static void take_operators(const ps_trace *trace, const ps_step *window, partial *p) {
    const ps_table *t = ps_trace_side_table(trace, "OP_MEMORY");
    t = t != NULL ? t : ps_trace_side_table(trace, "operator_memory");
    if (t == NULL || p->is_known) {
        return;
    }
    ps_memory_column time =
        ps_memory_find(t, (const char *const[]){"allocationTime", "Allocation Time", NULL});
    ps_memory_column size = ps_memory_find(t, (const char *const[]){"size", "Size(KB)", NULL});
    ps_memory_column all =
        ps_memory_find(t, (const char *const[]){"allocationTotalAllocated",
                                                "Allocation Total Allocated(MB)", NULL});
    for (size_t row = 0; row < t->n_rows; row++) {
        int64_t at = 0;
        double bytes = 0;
        double with = 0;
        bool is_there = ps_memory_int(t, row, &time, &at) && ps_memory_real(t, row, &all, &with);
        at = ps_i64_minus(at, ps_trace_origin_ns(trace));
        if (is_there && at >= window->start_ns && at <= window->end_ns) {
            take_bytes(p, with);
            if (ps_memory_real(t, row, &size, &bytes) && bytes > 0 && bytes <= with) {
                take_bytes(p, with - bytes);
            }
        }
    }
    p->from = p->is_known ? OF_OPERATORS : OF_NOTHING;
}

static ps_code map_memory_facts(const ps_map_input *in, void **out, ps_err *err) {
    partial *p = ps_calloc(1, sizeof *p);
    ps_memory_points points = {0};
    if (p == NULL) {
        return ps_fail_nomem(err);
    }
    ps_step window = window_of(in->trace);
    ps_code code = ps_memory_points_read(in->trace, PS_MEMORY_OVERALL, &points, err);
    if (code == PS_OK) {
        take_points(&points, &window, p);
        take_operators(in->trace, &window, p);
    }
    ps_memory_points_fini(&points);
    if (code != PS_OK) {
        ps_free(p);
        return code;
    }
    *out = p;
    return PS_OK;
}

typedef struct facts_row {
    int64_t rank, peak_bytes, low_bytes;
    const char *from;
} facts_row;

static const ps_column FACTS[] = {
    {.name = "rank", PS_FIELD(facts_row, rank), .is_member = true},
    {.name = "peak", PS_FIELD(facts_row, peak_bytes), .unit = PS_UNIT_BYTES},
    {.name = "lowest", PS_FIELD(facts_row, low_bytes), .unit = PS_UNIT_BYTES},
    {.name = "from", PS_FIELD(facts_row, from)},
};

static ps_code reduce_memory_facts(const ps_reduce_input *in, void **shared, ps_err *err) {
    ps_table *t = ps_table_new("MemoryFacts", "what ranks held in their steps", PS_COLUMNS(FACTS));
    *shared = NULL;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *p = in->partials[r];
        if (p != NULL && p->is_known) {
            ps_table_put(t, &(facts_row){in->ranks[r].rank, (int64_t)p->peak_bytes,
                                         (int64_t)p->low_bytes, SOURCES[p->from]});
        }
    }
    return ps_result_add(in->result, t, err);
}

static void archive_memory_facts(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        PS_ARCHIVE(a, x, is_known, peak_bytes, low_bytes);
        PS_ARCHIVE_BELOW(a, x, from, N_MEMORY_SOURCES);
    }
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES |
                                            PS_NEED_COUNTERS | PS_NEED_TABLES | PS_NEED_ARGS,
                                   .map = map_memory_facts,
                                   .reduce = reduce_memory_facts}};

const ps_analysis ps_analysis_memory_facts = {
    .name = "memory_facts",
    .folder = "MemoryFacts",
    .summary = "what ranks held at most and at least in their steps",
    .hidden = true,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_free,
    .archive = archive_memory_facts,
};
