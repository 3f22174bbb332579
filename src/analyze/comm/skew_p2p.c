/* Which send of one rank another's receive belongs to: by link (communicator, sender, receiver) as all transfers are matched
 * (transfer_pairs.h). The other end is a global rank (PyTorch), or a place in the communicator whose owner is known by its own operators; in
 * a communicator of two ranks it is the other one. */
#include "analyze/comm/skew_match.h"

#include <stdlib.h>

#include "analyze/comm/p2p.h"
#include "analyze/comm/transfer_pairs.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"

/* One end of a transfer. */
typedef struct transfer {
    int64_t start_ns, step;
    uint32_t group, sender, receiver;
    uint32_t op;
    bool is_send;
} transfer;

typedef struct matching {
    ps_skew_work *w;
    ps_idmap by_rank;  /* global rank -> index */
    ps_idmap by_place; /* group << 32 | place -> index */
    transfer *all;
    size_t n;
} matching;

#define NOBODY UINT32_MAX

/* Inside of a group. */
PS_COMPARE(by_ends, transfer,
           PS_BY(sender) PS_BY(receiver) PS_BY(is_send) PS_BY(start_ns) PS_BY(op))

/* --- ends ----------------------------------------------------------------------------------------------------- */

static bool index_ranks(matching *m) {
    const ps_skew_input *in = m->w->in;
    bool ok = true;
    for (uint32_t r = 0; ok && r < in->n_ranks; r++) {
        ok = in->lists[r] == NULL || in->ranks[r].rank < 0 ||
             ps_idmap_put(&m->by_rank, (uint64_t)in->ranks[r].rank, r);
    }
    return ok;
}

static bool index_places(matching *m, const ps_skew_entry *e, size_t n) {
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        int32_t own = ps_skew_op(m->w->in, e[i].rank, e[i].op)->look->own;
        ok = own < 0 ||
             ps_idmap_put(&m->by_place, (uint64_t)e[i].group << 32 | (uint32_t)own, e[i].rank);
    }
    return ok;
}

/* `two`: the ranks of the communicator when it has only two, else NOBODY. */
static uint32_t peer_of(const matching *m, const ps_skew_entry *e, const uint32_t two[2]) {
    const ps_comm_op *op = ps_skew_op(m->w->in, e->rank, e->op);
    uint32_t peer = NOBODY;
    if (op->look->own >= 0 && op->look->peer >= 0) {
        peer = ps_idmap_get(&m->by_place, (uint64_t)e->group << 32 | (uint32_t)op->look->peer);
    } else if (op->look->peer >= 0) {
        peer = ps_idmap_get(&m->by_rank, (uint64_t)op->look->peer);
    } else if (two[1] != NOBODY) {
        peer = e->rank == two[0] ? two[1] : two[0];
    }
    return peer != e->rank ? peer : NOBODY;
}

/* The entries of one communicator, by rank. */
static void add_transfers(matching *m, const ps_skew_entry *e, size_t n) {
    uint32_t two[2] = {e[0].rank, NOBODY};
    size_t n_ranks = 1;
    for (size_t i = 1; i < n; i++) {
        if (e[i].rank != e[i - 1].rank) {
            two[1] = n_ranks++ == 1 ? e[i].rank : NOBODY;
        }
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t peer = peer_of(m, &e[i], two);
        bool is_send = ps_skew_op(m->w->in, e[i].rank, e[i].op)->look->is_send;
        if (peer != NOBODY) {
            m->all[m->n++] = (transfer){.start_ns = e[i].start_ns,
                                        .step = e[i].step,
                                        .group = e[i].group,
                                        .sender = is_send ? e[i].rank : peer,
                                        .receiver = is_send ? peer : e[i].rank,
                                        .op = e[i].op,
                                        .is_send = is_send};
        }
    }
}

static bool find_transfers(matching *m) {
    ps_skew_entry *e = m->w->entries + m->w->n_collective_entries;
    size_t n = m->w->n - m->w->n_collective_entries;
    m->all = ps_calloc(n + 1, sizeof *m->all);
    bool ok = m->all != NULL && index_ranks(m) && index_places(m, e, n);
    for (size_t i = 0, k = 0; ok && i < n; i = k) {
        k = ps_skew_group_end(e, n, i);
        size_t before = m->n;
        add_transfers(m, e + i, k - i);
        ps_sort(m->all + before, m->n - before, sizeof *m->all, by_ends);
    }
    return ok;
}

/* --- pairs ---------------------------------------------------------------------------------------------------- */

/* Numbers of the operator's name (HCCL) or, where it has none, of the profile. */
static ps_transfer_end transfer_end_of(const ps_skew_work *w, const transfer *t) {
    uint32_t rank = t->is_send ? t->sender : t->receiver;
    const ps_comm_op *op = ps_skew_op(w->in, rank, t->op);
    ps_transfer_end end = {.end_ns = op->end_ns, .sequence = op->sequence};
    const char *tag = NULL;
    size_t n_tag = 0;
    bool is_send = false;
    (void)ps_p2p_parse_name(ps_comm_text(w->in->lists[rank], op->name), &is_send, &tag, &n_tag,
                            &end.sequence, &end.iteration);
    return end;
}

/* The transfers of one link: receives first. `ends` has room for them. */
static void pair_transfers(ps_skew_work *w, const transfer *t, size_t n, ps_transfer_end *ends) {
    size_t n_receives = 0;
    for (size_t i = 0; i < n; i++) {
        n_receives += !t[i].is_send;
        ends[i] = transfer_end_of(w, &t[i]);
    }
    const ps_transfer_end *sends = ends + n_receives;
    size_t n_sends = n - n_receives;
    w->out->n_unmatched += ps_transfer_pairs(ends + n_receives, n_sends, ends, n_receives);
    size_t k = 0;
    for (size_t i = 0; i < n_receives; i++) {
        while (k < n_sends && sends[k].index < ends[i].index) {
            k++;
        }
        if (k < n_sends && sends[k].index == ends[i].index) {
            const transfer *send = &t[n_receives + k];
            w->out->receives[w->out->n_receives++] =
                (ps_skew_receive){.sender = send->sender,
                                  .receiver = t[i].receiver,
                                  .send_op = send->op,
                                  .receive_op = t[i].op,
                                  .start_ns = t[i].start_ns,
                                  .group = w->plain[t[i].group].name,
                                  .step = t[i].step};
        }
    }
}

bool ps_skew_receives(ps_skew_work *w) {
    matching m = {.w = w};
    ps_idmap_init(&m.by_rank);
    ps_idmap_init(&m.by_place);
    bool ok = find_transfers(&m);
    w->out->receives = ok ? ps_calloc(m.n / 2 + 1, sizeof *w->out->receives) : NULL;
    ps_transfer_end *ends = ok ? ps_calloc(m.n + 1, sizeof *ends) : NULL;
    ok = w->out->receives != NULL && ends != NULL;
    for (size_t i = 0; ok && i < m.n;) {
        size_t k = i;
        while (k < m.n && m.all[k].group == m.all[i].group && m.all[k].sender == m.all[i].sender &&
               m.all[k].receiver == m.all[i].receiver) {
            k++;
        }
        pair_transfers(w, m.all + i, k - i, ends);
        i = k;
    }
    ps_free(ends);
    ps_free(m.all);
    ps_idmap_fini(&m.by_rank);
    ps_idmap_fini(&m.by_place);
    return ok;
}

/* --- waits ---------------------------------------------------------------------------------------------------- */

/* How far two spans may seem apart on clocks of such uncertainty, and touch all the same. */
static int64_t clock_slack(const ps_rank_clock *x, const ps_rank_clock *y) {
    int64_t slack = ps_skew_plus(x->uncertainty_ns, y->uncertainty_ns);
    return slack < PS_SKEW_TOLERANCE_NS ? slack : PS_SKEW_TOLERANCE_NS;
}

/* A send and its receive are at work together; what seems apart on one clock is no pair that waited for one another: data that lay
 * in a buffer, or a mistaken match. */
static bool is_apart(const ps_skew_work *w, const ps_skew_receive *receive) {
    const ps_rank_clock *sender = &w->out->clocks[receive->sender];
    const ps_rank_clock *receiver = &w->out->clocks[receive->receiver];
    const ps_comm_op *r = ps_skew_op(w->in, receive->receiver, receive->receive_op);
    const ps_comm_op *s = ps_skew_op(w->in, receive->sender, receive->send_op);
    int64_t r_start = ps_skew_time(w->out, receive->receiver, r->start_ns);
    int64_t r_end = ps_skew_time(w->out, receive->receiver, r->end_ns);
    int64_t s_start = ps_skew_time(w->out, receive->sender, s->start_ns);
    int64_t s_end = ps_skew_time(w->out, receive->sender, s->end_ns);
    int64_t later = r_start > s_start ? r_start : s_start;
    int64_t earlier = r_end < s_end ? r_end : s_end;
    return sender->reference == receiver->reference &&
           ps_skew_minus(later, earlier) > clock_slack(sender, receiver);
}

static int64_t wait_of(const ps_skew_work *w, const ps_skew_receive *receive) {
    const ps_rank_clock *clocks = w->out->clocks;
    const ps_comm_op *r = ps_skew_op(w->in, receive->receiver, receive->receive_op);
    const ps_comm_op *s = ps_skew_op(w->in, receive->sender, receive->send_op);
    int64_t duration = ps_skew_minus(r->end_ns, r->start_ns);
    int64_t wait = ps_skew_minus(duration, ps_skew_minus(s->end_ns, s->start_ns));
    if (clocks[receive->sender].reference == clocks[receive->receiver].reference) {
        wait = ps_skew_minus(ps_skew_time(w->out, receive->sender, s->start_ns),
                             ps_skew_time(w->out, receive->receiver, r->start_ns));
    }
    return wait < 0 ? 0 : wait > duration ? duration : wait;
}

void ps_skew_wait(ps_skew_work *w) {
    for (size_t i = 0; i < w->out->n_receives; i++) {
        ps_skew_receive *r = &w->out->receives[i];
        r->is_known = !is_apart(w, r);
        r->waited_ns = r->is_known ? wait_of(w, r) : 0;
    }
}
