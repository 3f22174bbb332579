#include "support/trace_lines.h"

#include <string.h>

void line_of_track(const ps_trace *t, uint32_t track, ps_buf *out) {
    size_t n = 0;
    const ps_track *k = &ps_trace_tracks(t, &n)[track];
    const char *name = ps_trace_text(t, k->name);
    switch (k->kind) {
    case PS_TRACK_HOST_THREAD:
        ps_buf_addf(out, "%lld/%lld", (long long)k->pid, (long long)k->tid);
        break;
    case PS_TRACK_STREAM:
        ps_buf_addf(out, "stream %lld/%lld", (long long)k->device, (long long)k->tid);
        break;
    case PS_TRACK_COUNTER:
        ps_buf_addf(out, "counter %lld", (long long)k->pid);
        break;
    case PS_TRACK_DERIVED:
        ps_buf_addf(out, "lane %lld/%lld", (long long)k->pid, (long long)k->tid);
        break;
    case PS_TRACK_COMM_GROUP:
    case PS_TRACK_COMM_PLANE:
        ps_buf_addf(out, "group %lld", (long long)k->tid);
        break;
    }
    if (!ps_str_is_none(k->name)) {
        ps_buf_addf(out, " (%s)", name);
    }
}

static void dump_arg(const ps_trace *t, const ps_arg *arg, ps_buf *out) {
    ps_buf_addf(out, "%s=", ps_trace_text(t, arg->key));
    switch (arg->type) {
    case PS_ARG_INT:
    case PS_ARG_TIME:
        ps_buf_addf(out, "%lld", (long long)arg->u.i);
        break;
    case PS_ARG_BOOL:
        ps_buf_add_str(out, arg->u.i != 0 ? "true" : "false");
        break;
    case PS_ARG_REAL:
        ps_buf_addf(out, "%g", arg->u.r);
        break;
    case PS_ARG_STR:
        ps_buf_addf(out, "'%s'", ps_trace_text(t, arg->u.s));
        break;
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        ps_buf_add_str(out, ps_trace_text(t, arg->u.s));
        break;
    case PS_ARG_NULL:
        ps_buf_add_str(out, "null");
        break;
    }
}

static void dump_args(const ps_trace *t, uint32_t slice, ps_buf *out) {
    ps_arg_iter iter = ps_trace_args(t, slice);
    bool any = false;
    for (ps_arg arg; ps_arg_next(&iter, &arg); any = true) {
        ps_buf_add_str(out, any ? ", " : " {");
        dump_arg(t, &arg, out);
    }
    ps_buf_add_str(out, any ? "}" : "");
}

void lines_of_slices(const ps_trace *t, ps_buf *out) {
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t i = 0; i < s->n; i++) {
        ps_buf_addf(out, "%s ", ps_slice_kind_name((ps_slice_kind)s->kind[i]));
        line_of_track(t, s->track[i], out);
        ps_buf_addf(out, " %s %lld+%lld", ps_trace_text(t, s->name[i]), (long long)s->start_ns[i],
                    (long long)s->dur_ns[i]);
        dump_args(t, i, out);
        ps_buf_add_char(out, '\n');
    }
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "flow %s %s -> %s\n", ps_trace_text(t, flows[i].kind),
                    ps_trace_text(t, s->name[flows[i].from]),
                    ps_trace_text(t, s->name[flows[i].to]));
    }
}

static void dump_counters(const ps_trace *t, ps_buf *out) {
    const ps_counters *c = ps_trace_counters(t);
    for (uint32_t i = 0; i < c->n; i++) {
        line_of_track(t, c->track[i], out);
        ps_buf_addf(out, " %lld %g\n", (long long)c->time_ns[i], c->value[i]);
    }
}

static void dump_order(int64_t order, ps_buf *out) {
    if (order != PS_NO_ORDER) {
        ps_buf_addf(out, " order %lld", (long long)order);
    }
    ps_buf_add_char(out, '\n');
}

void lines_of_oddities(const ps_trace *t, ps_buf *out) {
    const ps_diag *d = ps_trace_diag(t);
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] > 0) {
            ps_buf_addf(out, "odd %s %llu\n", ps_oddity_name((ps_oddity)k),
                        (unsigned long long)d->counts[k]);
        }
    }
}

void lines_of_trace(const ps_trace *t, ps_buf *out) {
    lines_of_slices(t, out);
    dump_counters(t, out);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "step %lld %lld..%lld\n", (long long)steps[i].id,
                    (long long)steps[i].start_ns, (long long)steps[i].end_ns);
    }
    const ps_process *processes = ps_trace_processes(t, &n);
    for (size_t i = 0; i < n; i++) {
        const ps_process *p = &processes[i];
        ps_buf_addf(out, "process %lld%s %s %s", (long long)p->pid, p->pid_is_text ? " text" : "",
                    ps_trace_text(t, p->name), ps_trace_text(t, p->labels));
        dump_order(p->order, out);
    }
    const ps_meta *metas = ps_trace_metas(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "meta %s %s\n", metas[i].key, metas[i].value);
    }
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t i = 0; i < n; i++) {
        if (!ps_str_is_none(tracks[i].label) || tracks[i].order != PS_NO_ORDER) {
            ps_buf_add_str(out, "track ");
            line_of_track(t, (uint32_t)i, out);
            ps_buf_addf(out, ": %s", ps_trace_text(t, tracks[i].label));
            dump_order(tracks[i].order, out);
        }
    }
    lines_of_oddities(t, out);
}
