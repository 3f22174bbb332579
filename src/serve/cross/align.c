#include "serve/cross/align.h"

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

static const ps_trace *trace_of(const ps_align_rank *r) {
    return ps_loaded_layer(r->loaded, PS_LAYER_PROFILE)->trace;
}

static void set_known(ps_align_rank *r, int64_t offset_ns, int64_t uncertainty_ns) {
    r->offset_ns = offset_ns;
    r->uncertainty_ns = uncertainty_ns;
    r->is_known = true;
}

static void set_unknown(ps_align_rank *r) {
    r->offset_ns = 0;
    r->uncertainty_ns = PS_NO_UNCERTAINTY;
    r->is_known = false;
}

/* --- by what was recorded --------------------------------------------------------------------------------------------- */

static int64_t first_ns(const ps_align_rank *r) {
    return ps_trace_origin_ns(trace_of(r)) + ps_loaded_facts_of(r->loaded)->start_ns;
}

void ps_align_starts(ps_align_rank *ranks, size_t n) {
    for (size_t i = 0; i < n; i++) {
        set_known(&ranks[i], ps_i64_minus(first_ns(&ranks[0]), first_ns(&ranks[i])),
                  PS_NO_UNCERTAINTY);
    }
}

/* Id of a step -> its row; of several of one id the first. */
static bool index_steps(const ps_trace *t, ps_idmap *rows) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    bool ok = true;
    for (size_t i = n; ok && i > 0; i--) {
        ok = ps_idmap_put(rows, (uint64_t)steps[i - 1].id, (uint32_t)(i - 1));
    }
    return ok;
}

ps_code ps_align_steps(ps_align_rank *ranks, size_t n, ps_err *err) {
    ps_idmap rows = {0};
    const ps_trace *first = n > 0 ? trace_of(&ranks[0]) : NULL;
    bool ok = n == 0 || index_steps(first, &rows);
    for (size_t i = 0; ok && i < n; i++) {
        const ps_trace *t = trace_of(&ranks[i]);
        size_t n_steps = 0;
        const ps_step *steps = ps_trace_steps(t, &n_steps);
        const ps_step *others = ps_trace_steps(first, &(size_t){0});
        set_unknown(&ranks[i]);
        for (size_t k = 0; k < n_steps && !ranks[i].is_known; k++) {
            uint32_t row = ps_idmap_get(&rows, (uint64_t)steps[k].id);
            if (row != PS_IDMAP_NONE) {
                set_known(&ranks[i],
                          ps_i64_minus(ps_trace_origin_ns(first) + others[row].start_ns,
                                       ps_trace_origin_ns(t) + steps[k].start_ns),
                          PS_NO_UNCERTAINTY);
            }
        }
    }
    ps_idmap_fini(&rows);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- by communication and recordings -------------------------------------------------------------------------------- */

static void span_of_all(const ps_align_rank *ranks, size_t n, ps_skew_input *in) {
    for (size_t i = 0; i < n; i++) {
        const ps_loaded_facts *facts = ps_loaded_facts_of(ranks[i].loaded);
        int64_t origin_ns = ps_trace_origin_ns(trace_of(&ranks[i]));
        int64_t start_ns = ps_i64_plus(origin_ns, facts->start_ns);
        int64_t end_ns = ps_i64_plus(origin_ns, facts->end_ns);
        in->start_ns = i == 0 || start_ns < in->start_ns ? start_ns : in->start_ns;
        in->end_ns = i == 0 || end_ns > in->end_ns ? end_ns : in->end_ns;
    }
}

static void place_align(ps_align_rank *r, const ps_rank_clock *own, const ps_rank_clock *first) {
    set_unknown(r);
    if (own->reference == first->reference) {
        bool is_bounded = own->uncertainty_ns != PS_CLOCK_UNBOUNDED;
        set_known(r, ps_i64_minus(first->offset_ns, own->offset_ns),
                  is_bounded ? own->uncertainty_ns : PS_NO_UNCERTAINTY);
    }
}

static ps_code measure_align(ps_align_rank *ranks, size_t n, ps_skew *skew, ps_err *err) {
    const ps_comm_list **lists = ps_calloc(n + 1, sizeof(ps_comm_list *));
    ps_rank_info *infos = ps_calloc(n + 1, sizeof *infos);
    ps_skew_input in = {.lists = lists, .ranks = infos, .n_ranks = n, .step = -1};
    ps_code code = lists != NULL && infos != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        lists[i] = ranks[i].list;
        infos[i] = ranks[i].info;
    }
    if (code == PS_OK) {
        span_of_all(ranks, n, &in);
        code = ps_skew_measure(&in, skew, err);
    }
    ps_free(lists);
    ps_free(infos);
    return code;
}

ps_code ps_align_clocks(ps_align_rank *ranks, size_t n, ps_skew_evidence *evidence, ps_err *err) {
    *evidence = (ps_skew_evidence){0};
    if (n == 0) {
        return PS_OK;
    }
    ps_skew skew = {0};
    ps_code code = measure_align(ranks, n, &skew, err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        place_align(&ranks[i], &skew.clocks[i], &skew.clocks[0]);
    }
    *evidence = skew.evidence;
    ps_skew_fini(&skew);
    return code;
}
