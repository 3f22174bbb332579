#include "analyze/rank/step_index.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/runs.h"

bool ps_step_index_init(ps_step_index *x, const ps_trace *trace) {
    *x = (ps_step_index){.n_leaves = 1};
    x->steps = ps_trace_steps(trace, &x->n);
    while (x->n_leaves <= x->n) {
        x->n_leaves *= 2;
    }
    x->latest_end = ps_calloc(2 * x->n_leaves, sizeof *x->latest_end);
    if (x->latest_end == NULL) {
        return false;
    }
    for (size_t i = 0; i < x->n_leaves; i++) {
        x->latest_end[x->n_leaves + i] = i < x->n ? x->steps[i].end_ns : INT64_MIN;
    }
    for (size_t k = x->n_leaves - 1; k > 0; k--) {
        int64_t left = x->latest_end[2 * k];
        int64_t right = x->latest_end[2 * k + 1];
        x->latest_end[k] = left > right ? left : right;
    }
    return true;
}

/* The last of the first `n` steps that ends at `end_ns` or later; SIZE_MAX when none does. */
static size_t last_reaching(const ps_step_index *x, size_t n, int64_t end_ns) {
    size_t k = x->n_leaves + n;
    while (k > 1 && (k % 2 == 0 || x->latest_end[k - 1] < end_ns)) {
        k /= 2;
    }
    if (k <= 1) {
        return SIZE_MAX;
    }
    k--; /* the nearest subtree to the left with such a step: down to its last one */
    while (k < x->n_leaves) {
        k = x->latest_end[2 * k + 1] >= end_ns ? 2 * k + 1 : 2 * k;
    }
    return k - x->n_leaves;
}

int64_t ps_step_of(const ps_step_index *x, int64_t host_start, int64_t host_end) {
    if (x->n == 0) {
        return 0;
    }
    /* steps[0..low) start at or before host_start */
    PS_PLACE(size_t, low, 0, x->n, middle, x->steps[middle].start_ns <= host_start)
    size_t step = last_reaching(x, low, host_end > host_start ? host_end : host_start + 1);
    return step != SIZE_MAX ? x->steps[step].id : PS_STEP_OUTSIDE;
}

void ps_step_index_fini(ps_step_index *x) {
    ps_free(x->latest_end);
    *x = (ps_step_index){.n_leaves = 1};
}

ps_code ps_check_step(const ps_trace *trace, int64_t wanted, ps_err *err) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    if (wanted < 0) {
        return PS_OK;
    }
    if (n == 0) {
        return ps_fail_said(err, PS_NOTHING,
                            "no steps recorded (STEP_TIME is empty): leave out --step_id",
                            "没有记录 step（STEP_TIME 为空）：请去掉 --step_id");
    }
    int64_t *there = ps_calloc(n, sizeof *there);
    bool found = false;
    for (size_t i = 0; there != NULL && i < n; i++) {
        there[i] = steps[i].id;
        found = found || steps[i].id == wanted;
    }
    ps_code code = there == NULL ? ps_fail_nomem(err)
                   : found       ? PS_OK
                                 : ps_fail_no_such(err, PS_NOTHING, "step", wanted, there, n);
    ps_free(there);
    return code;
}
