#include "run/paddle_stage.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rank/executor_jobs.h"
#include "base/alloc.h"
#include "base/order.h"

/* What the first jobs of a step say about a worker's place. */
typedef struct opening {
    size_t worker;
    int64_t n_warmup;         /* forwards before the first backward */
    int64_t start_ns, end_ns; /* of the first forward of the first chunk and microbatch */
    bool has_chunks;
    bool is_known;
    int32_t by_warmup, by_time; /* -1: does not tell */
} opening;

/* The first forward is the one of the lowest chunk and microbatch. */
typedef struct first_forward {
    int64_t chunk, microbatch;
} first_forward;

static bool is_before(first_forward a, first_forward b) {
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.microbatch < b.microbatch;
}

static uint32_t first_slice_from(const ps_slices *s, int64_t start_ns) {
    PS_PLACE(uint32_t, low, 0, s->n, i, s->start_ns[i] < start_ns);
    return low;
}

/* Reads the jobs of one step; `number` is how the worker itself calls it. */
static opening read_opening(const ps_paddle_worker *w, size_t worker, const ps_paddle_span *span,
                            int64_t number) {
    const ps_slices *s = ps_trace_slices(w->trace);
    int64_t origin = ps_trace_origin_ns(w->trace);
    opening o = {.worker = worker, .by_warmup = -1, .by_time = -1};
    first_forward first = {INT64_MAX, INT64_MAX};
    bool backward = false;
    for (uint32_t i = first_slice_from(s, span->true_start_ns - origin);
         i < s->n && s->start_ns[i] + origin <= span->true_end_ns; i++) {
        int64_t step = -1;
        int64_t microbatch = -1;
        ps_op_kind kind = PS_OP_OTHER;
        int chunk = -1;
        if (!ps_trace_arg_int(w->trace, i, "step", &step) || step != number) {
            continue;
        }
        (void)ps_trace_arg_int(w->trace, i, "microbatch", &microbatch);
        (void)ps_job_kind(ps_trace_text(w->trace, s->name[i]), &kind, &chunk);
        backward = backward || kind == PS_OP_B || kind == PS_OP_BI;
        if (kind != PS_OP_F) {
            continue;
        }
        o.n_warmup += !backward;
        o.has_chunks = o.has_chunks || chunk >= 0;
        first_forward f = {chunk, microbatch};
        if (is_before(f, first)) {
            first = f;
            o.start_ns = s->start_ns[i] + origin;
            o.end_ns = o.start_ns + s->dur_ns[i];
            o.is_known = true;
        }
    }
    return o;
}

PS_COMPARE(compare_warmup, opening, PS_BY_DOWN(n_warmup) PS_BY(worker))

PS_COMPARE(compare_stage_span_starts, opening, PS_BY(start_ns) PS_BY(worker))

/* More than half of the shorter one at the same time. */
static bool stage_span_overlap(const opening *a, const opening *b) {
    int64_t start = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
    int64_t end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    int64_t x = a->end_ns - a->start_ns;
    int64_t y = b->end_ns - b->start_ns;
    return (end - start) * 2 > (x < y ? x : y);
}

/* Numbers groups of neighbours; false unless there are several of equal size. */
static bool number_groups(opening *o, size_t n, bool by_time) {
    int32_t group = 0;
    size_t size = 0;
    size_t first_size = 0;
    bool equal = true;
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && (by_time ? stage_span_overlap(&o[i - 1], &o[i])
                                      : o[i - 1].n_warmup == o[i].n_warmup);
        if (i > 0 && !same) {
            first_size = group == 0 ? size : first_size;
            equal = equal && size == first_size;
            group++;
            size = 0;
        }
        size++;
        *(by_time ? &o[i].by_time : &o[i].by_warmup) = group;
    }
    return group > 0 && equal && size == first_size;
}

/* The worker's part of a step; unknown when it has none. */
static opening opening_of(const ps_paddle_worker *w, size_t worker, int64_t step) {
    for (size_t i = 0; i < w->n_spans; i++) {
        for (size_t k = 0; w->spans[i].step == step && k < w->n_steps; k++) {
            if (w->steps[k].to == step) {
                return read_opening(w, worker, &w->spans[i], w->steps[k].from);
            }
        }
    }
    return (opening){.worker = worker};
}

/* The stages as one step shows them; false when it does not. */
static bool stages_of_step(const ps_paddle_timeline *t, int64_t step, opening *o, int32_t *stages) {
    for (size_t i = 0; i < t->n_workers; i++) {
        o[i] = opening_of(&t->workers[i], i, step);
        if (!o[i].is_known) {
            return false;
        }
    }
    qsort(o, t->n_workers, sizeof *o, compare_warmup);
    bool by_warmup = number_groups(o, t->n_workers, false);
    qsort(o, t->n_workers, sizeof *o, compare_stage_span_starts);
    bool by_time = number_groups(o, t->n_workers, true);
    for (size_t i = 0; i < t->n_workers; i++) {
        /* With several chunks a stage the warm-up need not fall from stage to stage. */
        bool use_time = by_time && (o[i].has_chunks || !by_warmup);
        stages[o[i].worker] = use_time ? o[i].by_time : o[i].by_warmup;
    }
    return by_warmup || by_time;
}

bool ps_paddle_find_stages(ps_paddle_timeline *t) {
    enum { TRIES = 3 }; /* steps that must say the same */
    opening *o = ps_calloc(t->n_workers + 1, sizeof *o);
    int32_t *stages = ps_calloc(t->n_workers + 1, sizeof *stages);
    bool ok = o != NULL && stages != NULL;
    size_t n_agreed = 0;
    bool agreed = true;
    for (size_t i = 0; ok && i < t->n_steps && n_agreed < TRIES && agreed && i < 4 * TRIES; i++) {
        if (!stages_of_step(t, t->steps[i].step, o, stages)) {
            continue;
        }
        for (size_t w = 0; w < t->n_workers; w++) {
            agreed = agreed && (n_agreed == 0 || t->workers[w].stage == stages[w]);
            t->workers[w].stage = stages[w];
        }
        n_agreed++;
    }
    for (size_t w = 0; w < t->n_workers; w++) {
        t->workers[w].stage = agreed && n_agreed > 0 ? t->workers[w].stage : -1;
    }
    ps_free(o);
    ps_free(stages);
    return ok;
}
