#include "analyze/pipeline/receives.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_kernels.h"

/* Of an op's input: its stage and microbatch, forward or backward. Not 0. */
static uint64_t receive_key_of(int32_t stage, int32_t microbatch, bool is_backward) {
    return (uint64_t)(uint32_t)stage << 33 | (uint64_t)(uint32_t)microbatch << 2 |
           (is_backward ? 3U : 1U);
}

/* The label "PP:3RECV_F7" of the thread that is open, while receives are looked at in start order. */
typedef struct posting {
    int64_t until_ns;
    uint32_t track;
    uint64_t key;
} posting;

static void take_posting(const ps_trace *trace, uint32_t slice, posting *p) {
    const ps_slices *s = ps_trace_slices(trace);
    ps_host_label label;
    const char *name = ps_trace_text(trace, s->name[slice]);
    if (strncmp(name, "PP:", 3) == 0 && ps_host_label_parse(name, &label) &&
        label.kind == PS_OP_RECV && label.stage >= 0 && label.microbatch >= 0) {
        bool is_backward = label.action == PS_ACTION_RECV_B;
        *p = (posting){ps_slice_end(s, slice), s->track[slice],
                       receive_key_of(label.stage, label.microbatch, is_backward)};
    }
}

static bool add_receive(ps_receives *out, const ps_slices *s, uint32_t slice, const posting *p) {
    bool is_posted = s->start_ns[slice] <= p->until_ns && s->track[slice] == p->track;
    ps_receive receive = {s->start_ns[slice], ps_slice_end(s, slice), is_posted ? p->key : 0,
                          PS_NONE};
    if (!ps_grow(&out->at, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->at)) {
        return false;
    }
    if (receive.key != 0) {
        uint32_t before = ps_idmap_get(&out->last, receive.key);
        receive.before = before == PS_IDMAP_NONE ? PS_NONE : before;
        out->are_labelled = true;
    }
    out->at[out->n++] = receive;
    return receive.key == 0 || ps_idmap_put(&out->last, receive.key, (uint32_t)out->n - 1);
}

bool ps_receives_collect(const ps_trace *trace, ps_receives *out) {
    const ps_slices *s = ps_trace_slices(trace);
    posting p = {.until_ns = INT64_MIN, .track = PS_NONE};
    bool ok = true;
    *out = (ps_receives){0};
    ps_idmap_init(&out->last);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        const char *name = ps_trace_text(trace, s->name[i]);
        if (s->kind[i] != PS_SLICE_ANNOTATION) {
            continue;
        }
        take_posting(trace, i, &p);
        if (ps_comm_is_library_call(name) && ps_comm_of_call(name) == PS_COMM_RECEIVE) {
            ok = add_receive(out, s, i, &p);
        }
    }
    out->ends = ok ? ps_calloc(out->n, sizeof *out->ends) : NULL;
    for (size_t i = 0; out->ends != NULL && i < out->n; i++) {
        out->ends[i] = out->at[i].end_ns;
    }
    if (out->ends != NULL) {
        ps_sort(out->ends, out->n, sizeof *out->ends, ps_compare_i64);
    }
    return out->ends != NULL;
}

void ps_receives_fini(ps_receives *r) {
    ps_idmap_fini(&r->last);
    ps_free(r->at);
    ps_free(r->ends);
    *r = (ps_receives){0};
}

int64_t ps_receives_until(const ps_receives *r, int64_t at_ns) {
    PS_PLACE(size_t, low, 0, r->n, i, r->ends[i] <= at_ns)
    return low > 0 ? r->ends[low - 1] : INT64_MIN;
}

int64_t ps_receives_for(const ps_receives *r, const ps_host_range *op, int64_t at_ns) {
    const ps_host_label *label = &op->label;
    if (label->family != PS_FAMILY_ACTION || !r->are_labelled) {
        return ps_receives_until(r, at_ns);
    }
    if (label->kind == PS_OP_BW) {
        return INT64_MIN;
    }
    bool is_backward = label->kind == PS_OP_B || label->kind == PS_OP_BI;
    uint32_t i =
        ps_idmap_get(&r->last, receive_key_of(label->stage, label->microbatch, is_backward));
    i = i == PS_IDMAP_NONE ? PS_NONE : i;
    while (i != PS_NONE && r->at[i].end_ns > at_ns) { /* of a later step */
        i = r->at[i].before;
    }
    return i != PS_NONE ? r->at[i].end_ns : INT64_MIN;
}

static size_t n_leads_up_to(const int64_t *leads, size_t n, int64_t most_ns) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += leads[i] > 0 && leads[i] <= most_ns;
    }
    return found;
}

void ps_leads_of_ops(int64_t *leads, size_t n, size_t one_of) {
    static const int64_t MOST_NS = 1000000; /* some hundred lines of Python under a profiler */
    size_t n_known = n_leads_up_to(leads, n, INT64_MAX);
    size_t n_short = n_known / one_of + (n_known % one_of > 0);
    if (n_short == 0 || n_leads_up_to(leads, n, MOST_NS) < n_short) {
        return;
    }
    PS_PLACE(int64_t, own_ns, 0, MOST_NS, ns, n_leads_up_to(leads, n, ns) < n_short)
    for (size_t i = 0; i < n; i++) {
        leads[i] -= leads[i] > own_ns ? own_ns : leads[i];
    }
}
