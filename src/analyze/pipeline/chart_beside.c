#include "analyze/pipeline/chart_beside.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

typedef struct step_list {
    int64_t *at; /* rising */
    size_t n, cap;
} step_list;

static int compare_steps_beside(const void *a, const void *b) {
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static bool list_steps_beside(const ps_chart *chart, step_list *out) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        int64_t step = chart->ops[i].step;
        bool is_new = step != PS_FIRST_STEP && (out->n == 0 || out->at[out->n - 1] != step);
        if (is_new && !PS_ADD(out->at, out->n, out->cap, SIZE_MAX / sizeof *out->at, step)) {
            return false;
        }
    }
    ps_sort(out->at, out->n, sizeof *out->at, compare_steps_beside);
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (kept == 0 || out->at[kept - 1] != out->at[i]) {
            out->at[kept++] = out->at[i];
        }
    }
    out->n = kept;
    return true;
}

static bool copy_ops_beside(ps_chart *out, const ps_chart *base, const step_list *own,
                            const step_list *wanted) {
    bool ok = true;
    for (size_t i = 0; ok && i < base->n_ranks; i++) {
        ok = ps_chart_add_rank(out, base->ranks[i]);
    }
    for (size_t i = 0; ok && i < base->n_ops; i++) {
        ps_op op = base->ops[i];
        PS_PLACE(size_t, place, 0, own->n, k, own->at[k] < op.step)
        bool has_one = place < own->n && own->at[place] == op.step && place < wanted->n;
        if (has_one) {
            op.step = wanted->at[place];
            ok = ps_chart_add_op(out, op);
        }
    }
    return ok;
}

ps_chart *ps_chart_beside(const ps_chart *chart, const ps_chart *base, ps_err *err) {
    step_list own = {0};
    step_list wanted = {0};
    ps_chart *out = ps_chart_new();
    bool ok = out != NULL && list_steps_beside(base, &own) && list_steps_beside(chart, &wanted) &&
              ps_chart_set_text(out, base->title, base->schedule) &&
              copy_ops_beside(out, base, &own, &wanted);
    ps_free(own.at);
    ps_free(wanted.at);
    if (ok && out->n_ops > 0) {
        out->origin_ns = base->origin_ns;
        out->n_stages = base->n_stages;
        return out;
    }
    ps_chart_free(out);
    if (ok) {
        (void)ps_fail_said(err, PS_NOTHING,
                           "the baseline has no step of its pipelines to lay beside",
                           "基线的流水线没有可并列的 step");
    } else {
        (void)ps_fail_nomem(err);
    }
    return NULL;
}
