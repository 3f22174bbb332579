/* call_tree: who called what and what it launched, over all ranks, from the top, from the bottom, and by modules. */
#include "analyze/modules/call_tree.h"

#include "analyze/core/result_table.h"
#include "analyze/derived/derived.h"
#include "base/alloc.h"

typedef struct calls_partial {
    ps_call_tree callers, modules;
    bool has_modules;
} calls_partial;

static void free_calls_partial(void *partial) {
    calls_partial *p = partial;
    if (p != NULL) {
        ps_call_tree_fini(&p->callers);
        ps_call_tree_fini(&p->modules);
        ps_free(p);
    }
}

/* A rank without modules has its calls all the same. */
static ps_code map_both(const ps_map_input *in, const ps_links *links, calls_partial *p,
                        ps_err *err) {
    ps_call_ask ask = {.links = links,
                       .span = ps_asked_span_of(in->opts, in->trace),
                       .step = in->opts->step_id,
                       .rank = in->rank->rank,
                       .watch = in->opts->watch};
    ps_err none = PS_ERR_INIT;
    ps_code code = ps_call_tree_build(&p->callers, &ask, err);
    if (code != PS_OK) {
        return code;
    }
    if (p->callers.n < 2) {
        return ps_fail_said(err, PS_NOTHING,
                            "no slices of the host, and nothing that it launched%s%.0s",
                            "%.0s%s没有主机切片，也没有其下发的工作", PS_IN_THIS_PART(in->opts));
    }
    ps_code modules = ps_derived_modules(in->derived, false, &ask.modules, &none);
    if (modules == PS_NOTHING) {
        return PS_OK;
    }
    p->has_modules = true;
    return modules == PS_OK ? ps_call_tree_build(&p->modules, &ask, err) : ps_fail_nomem(err);
}

static ps_code map_calls(const ps_map_input *in, void **out, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    const ps_links *links = code == PS_OK ? ps_derived_links(in->derived, err) : NULL;
    calls_partial *p = links != NULL ? ps_calloc(1, sizeof *p) : NULL;
    if (p == NULL) {
        return code == PS_OK ? ps_fail_nomem(err) : code;
    }
    code = map_both(in, links, p, err);
    if (code != PS_OK) {
        free_calls_partial(p);
        return code;
    }
    *out = p;
    return PS_OK;
}

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(ps_call_row, member), .unit = PS_UNIT_NS }
static const ps_column COLUMNS[] = {
    {.name = "node", PS_FIELD(ps_call_row, node), .is_key = true},
    {.name = "parent", PS_FIELD(ps_call_row, parent)},
    {.name = "level", PS_FIELD(ps_call_row, depth)},
    {.name = "name", PS_FIELD(ps_call_row, name)},
    {.name = "kind", PS_FIELD(ps_call_row, kind), .is_shared = true},
    NS("hostTotalNs", host_ns),
    NS("hostSelfNs", host_self_ns),
    NS("deviceTotalNs", device_ns),
    NS("deviceSelfNs", device_self_ns),
    {.name = "number", PS_FIELD(ps_call_row, n), .unit = PS_UNIT_COUNT},
    NS("longestNs", longest_ns),
    {.name = "longestStartNs", PS_FIELD(ps_call_row, longest_start_ns), .exact = true},
    {.name = "longestRank", PS_FIELD(ps_call_row, longest_rank)},
};

static void give_tree_calls(const ps_reduce_input *in, const ps_call_tree *tree, const char *name,
                            const char *title, const char *file) {
    ps_table *t = ps_table_new(name, title, PS_COLUMNS(COLUMNS));
    ps_call_tree_put(tree, t);
    ps_result_finish_table(in->result, t, file, PS_TO_DB | PS_TO_FILES);
}

static ps_code reduce_calls(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_call_tree callers = {0};
    ps_call_tree callees = {0};
    ps_call_tree modules = {0};
    bool ok = true;
    bool any = false;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const calls_partial *p = in->partials[r];
        ok = p == NULL || (ps_call_tree_add(&callers, &p->callers) &&
                           (!p->has_modules || ps_call_tree_add(&modules, &p->modules)));
        any = any || (p != NULL && p->has_modules);
    }
    ok = ok && ps_call_tree_turned(&callees, &callers, NULL);
    if (ok) {
        give_tree_calls(in, &callers, "CallTree", "who called what, and what it launched",
                        "callers");
        give_tree_calls(in, &callees, "CallTreeCallees", "what ran, and below it who called it",
                        "callees");
    }
    if (ok && any) {
        give_tree_calls(in, &modules, "CallTreeModules", "modules, their operators and kernels",
                        "modules");
    }
    ps_call_tree_fini(&callers);
    ps_call_tree_fini(&callees);
    ps_call_tree_fini(&modules);
    return ok ? ps_result_code(in->result, err) : ps_fail_nomem(err);
}

static void archive_calls_partial(ps_archive *a, void **partial) {
    calls_partial *x = ps_archive_object(a, partial, sizeof *x);
    if (x != NULL) {
        PS_ARCHIVE(a, x, has_modules);
        ps_call_tree_archive(a, &x->callers);
        ps_call_tree_archive(a, &x->modules);
    }
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS |
                                            PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS,
                                   .map = map_calls,
                                   .reduce = reduce_calls}};

const ps_analysis ps_analysis_call_tree = {
    .name = "call_tree",
    .folder = "CallTree",
    .summary =
        "who called what and which kernels it launched, from the top, the bottom, by modules",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_calls_partial,
    .archive = archive_calls_partial,
};
