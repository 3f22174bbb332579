#include "analyze/pipeline/device_work.h"

#include "analyze/comm/comm_list.h"
#include "analyze/rank/work.h"
#include "base/alloc.h"

static bool add_computing(const ps_trace *trace, ps_intervals *out) {
    const ps_slices *s = ps_trace_slices(trace);
    int64_t origin = ps_trace_origin_ns(trace);
    ps_work work = ps_work_of_trace(trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (ps_work_busy(&work, i) == PS_PART_COMPUTING) {
            int64_t start_ns = origin + s->start_ns[i];
            ok = ps_intervals_add(out, start_ns, start_ns + s->dur_ns[i]);
        }
    }
    return ok;
}

ps_code ps_device_work_collect(const ps_trace *trace, ps_intervals *out, ps_err *err) {
    ps_comm_list list;
    ps_diag *ignored =
        ps_calloc(1, sizeof *ignored); /* who shows communication counts its oddities */
    if (ignored == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_comm_list_collect(trace, NULL, NULL, &list, ignored, err);
    bool ok = code == PS_OK && add_computing(trace, out);
    bool computes = out->n > 0; /* communication alone is not what a device does */
    for (size_t i = 0; ok && computes && i < list.n; i++) {
        const ps_comm_op *op = &list.ops[i];
        ok = op->look->is_p2p || ps_intervals_add(out, op->start_ns, op->end_ns);
    }
    ps_comm_list_fini(&list);
    ps_free(ignored);
    ps_intervals_unite(out);
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

void ps_explaining_init(ps_explaining *e, const ps_intervals *work) {
    *e = (ps_explaining){.work = work, .until_ns = INT64_MIN};
}

bool ps_explain_op(ps_explaining *e, int64_t start_ns, int64_t end_ns, int64_t *work_ns) {
    int64_t from_ns = start_ns > e->until_ns ? start_ns : e->until_ns;
    *work_ns = 0;
    while (e->at < e->work->n && e->work->at[e->at].end_ns <= from_ns) {
        e->at++;
    }
    for (size_t i = e->at; i < e->work->n && e->work->at[i].start_ns < end_ns; i++) {
        const ps_interval *w = &e->work->at[i];
        int64_t first_ns = w->start_ns > from_ns ? w->start_ns : from_ns;
        int64_t last_ns = w->end_ns < end_ns ? w->end_ns : end_ns;
        *work_ns += last_ns > first_ns ? last_ns - first_ns : 0;
    }
    e->until_ns = end_ns > e->until_ns ? end_ns : e->until_ns;
    return ps_intervals_add(&e->ops, start_ns, end_ns);
}

bool ps_explaining_rest(ps_explaining *e, ps_intervals *rest) {
    ps_intervals_unite(&e->ops);
    bool ok = ps_intervals_minus(e->work, &e->ops, rest);
    ps_intervals_fini(&e->ops);
    return ok;
}
