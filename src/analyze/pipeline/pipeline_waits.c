#include "analyze/pipeline/pipeline_waits.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "model/chart_groups.h"

/* The last pass of each pipeline in each step: ends [n_steps * n_pipelines], INT64_MIN where it has none. */
static void find_pass_ends(const ps_chart *chart, const ps_chart_groups *groups, size_t n_pipelines,
                           int64_t *ends) {
    for (size_t i = 0; i < groups->n_steps * n_pipelines; i++) {
        ends[i] = INT64_MIN;
    }
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t pipeline = chart->ranks[op->rank].pipeline;
        if (groups->step_of_op[i] != PS_NO_INDEX && ps_op_is_pass(op) && pipeline >= 0) {
            int64_t *end = &ends[groups->step_of_op[i] * n_pipelines + (size_t)pipeline];
            *end = op->end_ns > *end ? op->end_ns : *end;
        }
    }
}

/* The rows of a step, and which pipeline ends last in it. Counts it in `n_last` [n_pipelines] where several ran. */
static void add_step_rows(ps_pipeline_waits *w, int64_t step, const int64_t *ends,
                          size_t n_pipelines, size_t *n_last) {
    size_t n = 0;
    size_t last = 0;
    for (size_t p = 0; p < n_pipelines; p++) {
        if (ends[p] != INT64_MIN) {
            w->at[w->n++] = (ps_pipeline_wait){step, (int32_t)p, ends[p], 0};
            last = ends[p] > ends[last] ? p : last;
            n++;
        }
    }
    bool counts = n > 1 && step != PS_FIRST_STEP; /* what lies outside of all steps is none */
    n_last[last] += counts;
    w->n_steps += counts;
}

static ps_pipeline_wait *find_pipeline_wait(ps_pipeline_waits *w, int64_t step, int32_t pipeline) {
    const ps_pipeline_wait *at = w->at;
    PS_PLACE(size_t, low, 0, w->n, i,
             at[i].step != step ? at[i].step < step : at[i].pipeline < pipeline)
    bool is_it = low < w->n && w->at[low].step == step && w->at[low].pipeline == pipeline;
    return is_it ? &w->at[low] : NULL;
}

static int64_t last_end_of_step(const ps_pipeline_waits *w, const ps_pipeline_wait *of) {
    int64_t end_ns = of->end_ns;
    for (const ps_pipeline_wait *at = of; at >= w->at && at->step == of->step; at--) {
        end_ns = at->end_ns > end_ns ? at->end_ns : end_ns;
    }
    for (const ps_pipeline_wait *at = of; at < w->at + w->n && at->step == of->step; at++) {
        end_ns = at->end_ns > end_ns ? at->end_ns : end_ns;
    }
    return end_ns;
}

static void add_cooldowns(const ps_chart *chart, ps_pipeline_waits *w) {
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        const ps_bubble *b = &chart->bubbles[i];
        ps_pipeline_wait *own = b->cause == PS_BUBBLE_COOLDOWN
                                    ? find_pipeline_wait(w, b->step, chart->ranks[b->rank].pipeline)
                                    : NULL;
        if (own != NULL) {
            int64_t last_ns = last_end_of_step(w, own);
            int64_t from_ns = b->start_ns > own->end_ns ? b->start_ns : own->end_ns;
            int64_t to_ns = b->end_ns < last_ns ? b->end_ns : last_ns;
            own->idle_ns = ps_i64_plus(own->idle_ns, to_ns > from_ns ? to_ns - from_ns : 0);
        }
    }
}

bool ps_pipeline_waits_find(const ps_chart *chart, ps_pipeline_waits *out) {
    *out = (ps_pipeline_waits){.last_pipeline = -1};
    size_t n_pipelines = 1;
    for (size_t r = 0; r < chart->n_ranks; r++) {
        size_t n = (size_t)(chart->ranks[r].pipeline + 1);
        n_pipelines = chart->ranks[r].pipeline >= 0 && n > n_pipelines ? n : n_pipelines;
    }
    ps_chart_groups groups;
    bool ok = ps_chart_groups_init(&groups, chart);
    int64_t *ends = ok ? ps_calloc(groups.n_steps * n_pipelines + 1, sizeof *ends) : NULL;
    size_t *n_last = ps_calloc(n_pipelines, sizeof *n_last);
    out->at = ok ? ps_calloc(groups.n_steps * n_pipelines + 1, sizeof *out->at) : NULL;
    ok = ok && ends != NULL && n_last != NULL && out->at != NULL;
    if (ok) {
        find_pass_ends(chart, &groups, n_pipelines, ends);
        for (size_t s = 0; s < groups.n_steps; s++) {
            add_step_rows(out, groups.steps[s], ends + s * n_pipelines, n_pipelines, n_last);
        }
        for (size_t p = 0; p < n_pipelines; p++) {
            if (n_last[p] > out->n_last) {
                out->n_last = n_last[p];
                out->last_pipeline = (int32_t)p;
            }
        }
        add_cooldowns(chart, out);
    }
    ps_free(ends);
    ps_free(n_last);
    ps_chart_groups_fini(&groups);
    return ok;
}

void ps_pipeline_waits_fini(ps_pipeline_waits *w) {
    ps_free(w->at);
    *w = (ps_pipeline_waits){.last_pipeline = -1};
}
