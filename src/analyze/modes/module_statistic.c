/* module_statistic: the model as a tree of modules, the operators that each module ran in order, the kernels that each
 * operator launched, how long they took, and what share of the chip's peak they reached. */
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "analyze/mfu/mfu.h"
#include "analyze/modes/module_partial.h"
#include "analyze/rank/links.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"

/* What one map makes on the way to its partial. */
typedef struct work {
    const ps_map_input *in;
    const ps_links *links;
    const ps_module_tree *tree;
    ps_module_rows rows;
    ps_module_measures measures;
    const ps_mfu *mfu;
    uint8_t *wanted; /* [n_calls] */
    ps_module_scope scope;
} work;

static bool is_call_in_step(const work *w, const ps_module_call *call) {
    int64_t step = w->in->opts->step_id;
    return step < 0 || ps_step_of(&w->links->steps, call->start_ns, call->start_ns) == step;
}

/* Whether the call ran on the host in the span, or one of its own kernels did. */
static bool call_ran_in_span(const work *w, const ps_module_call *call) {
    const ps_module_tree *t = w->tree;
    int64_t start = call->start_ns;
    int64_t end = call->end_ns;
    bool ran = ps_asked_span_cut(&w->scope.span, &start, &end);
    for (uint32_t i = 0; !ran && i < call->n_ops; i++) {
        ran = ps_module_op_ran(t, &w->scope, ps_trace_slices(w->in->trace),
                               t->ops[call->first_op + i]);
    }
    return ran;
}

/* A call whose inner one ran its kernels in the span ran there, too: those inside come later. */
static ps_code choose_calls(work *w, ps_err *err) {
    const ps_module_tree *t = w->tree;
    bool is_span = ps_is_span_asked(w->in->opts);
    w->wanted = ps_calloc(t->n_calls + 1, 1);
    if (w->wanted == NULL) {
        return ps_fail_nomem(err);
    }
    w->scope = (ps_module_scope){w->wanted, w->in->opts->step_id,
                                 ps_asked_span_of(w->in->opts, w->in->trace)};
    for (size_t c = t->n_calls; c > 0; c--) {
        const ps_module_call *call = &t->calls[c - 1];
        bool ran = !is_span || w->wanted[c - 1] != 0 || call_ran_in_span(w, call);
        w->wanted[c - 1] = ran && is_call_in_step(w, call);
        if (is_span && w->wanted[c - 1] != 0 && c <= t->n_marked && call->parent != PS_NONE &&
            call->pass == PS_MODULE_FORWARD) {
            w->wanted[call->parent] = 1;
        }
    }
    return PS_OK;
}

static bool is_any_wanted(const work *w) {
    size_t c = 0;
    while (c < w->tree->n_calls && w->wanted[c] == 0) {
        c++;
    }
    return c < w->tree->n_calls;
}

static ps_code check_coverage(const work *w, ps_err *err) {
    const ps_module_measures *m = &w->measures;
    if (m->inside.n_kernels > 0) {
        return PS_OK;
    }
    if (ps_is_span_asked(w->in->opts)) {
        return is_any_wanted(w)
                   ? PS_OK
                   : ps_fail_said(err, PS_NOTHING,
                                  "none of the %zu modules (%s%.0s) ran in this span",
                                  "该时段内没有运行 %zu 个模块中的任何一个（%.0s%s）",
                                  w->tree->n_marked, ps_module_source_text(PS_ENGLISH, w->tree),
                                  ps_module_source_text(PS_CHINESE, w->tree));
    }
    int64_t all_ns = ps_i64_plus(m->outside.kernel_ns, m->unlinked.kernel_ns);
    return ps_fail_said(
        err, PS_NOTHING,
        "none of the %lld operators that launched kernels%s%.0s lies in one of the %zu modules (%s%.0s): "
        "%.0f %% of the kernel time is outside, of the rest the launch is not known",
        "%lld 个下发核函数的算子%.0s%s没有一个位于 %zu 个模块之内（%.0s%s）：%.0f %% 的核函数时间在模块之外，其余的下发关系未知",
        (long long)m->outside.n_ops, PS_IN_THIS_STEP(w->in->opts->step_id), w->tree->n_marked,
        ps_module_source_text(PS_ENGLISH, w->tree), ps_module_source_text(PS_CHINESE, w->tree),
        all_ns > 0 ? 100.0 * (double)m->outside.kernel_ns / (double)all_ns : 0);
}

static ps_code module_statistic_analyse(work *w, ps_module_partial **out, ps_err *err) {
    const ps_map_input *in = w->in;
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    w->links = code == PS_OK ? ps_derived_links(in->derived, err) : NULL;
    code = code == PS_OK && w->links == NULL ? PS_NOMEM : code;
    code = code == PS_OK ? ps_derived_modules(in->derived, true, &w->tree, err) : code;
    code = code == PS_OK ? choose_calls(w, err) : code;
    if (code == PS_OK) {
        w->mfu = ps_derived_mfu(in->derived, err);
        code = w->mfu != NULL ? PS_OK : PS_NOMEM;
    }
    code = code == PS_OK ? ps_module_measure(w->tree, &w->scope, w->mfu, &w->measures, err) : code;
    code = code == PS_OK ? check_coverage(w, err) : code;
    code = code == PS_OK ? ps_module_rows_collect(w->tree, &w->scope, w->mfu, &w->rows, err) : code;
    const ps_module_found found = {w->tree, &w->rows, &w->measures, &w->scope, in->opts};
    return code == PS_OK ? ps_module_partial_make(&found, out, err) : code;
}

static ps_code map_module_statistic(const ps_map_input *in, void **partial, ps_err *err) {
    work w = {.in = in};
    ps_module_partial *out = NULL;
    ps_code code = module_statistic_analyse(&w, &out, err);
    ps_free(w.wanted);
    ps_module_measures_fini(&w.measures);
    ps_module_rows_fini(&w.rows);
    *partial = out;
    return code;
}

static ps_code reduce_module_statistic(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    return ps_module_tables(in, err);
}

static void free_module_statistic_partial(void *p) {
    ps_module_partial_free(p);
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS |
                                            PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS,
                                   .map = map_module_statistic,
                                   .reduce = reduce_module_statistic}};

const ps_analysis ps_analysis_module_statistic = {
    .name = "module_statistic",
    .folder = "ModuleStatistic",
    .summary = "the model as a tree: operators, kernels, times and MFU of each module",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_module_statistic_partial,
    .archive = ps_module_partial_archive,
};
