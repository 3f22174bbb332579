/* PyTorch writes what a kernel of NCCL carries into its arguments ("Collective name", "Process Group Name", "Seq", "Src
 * Rank" or "Dst Rank" as a global rank). */
#include "analyze/comm/transfers.h"

#include <string.h>

#define MAX_RANK (1 << 20)

static bool add_rank_transfer_p2p(ps_transfers *t, const ps_trace *trace, uint32_t slice,
                                  const char *group, int64_t rank, int64_t peer, bool is_send,
                                  int64_t sequence) {
    const ps_slices *s = ps_trace_slices(trace);
    ps_p2p_op op = {.start_ns = ps_trace_origin_ns(trace) + s->start_ns[slice],
                    .source_row = s->source_row[slice],
                    .sequence = sequence,
                    .sender = (int32_t)(is_send ? rank : peer),
                    .receiver = (int32_t)(is_send ? peer : rank),
                    .is_send = is_send};
    op.end_ns = op.start_ns + s->dur_ns[slice];
    op.group = ps_strpool_add(&t->p2p.strings, group, strlen(group));
    op.tag = op.group;
    t->p2p_is_global = true;
    t->p2p.n_operators++;
    return ps_p2p_add(&t->p2p, op);
}

/* False when memory is out. */
static bool add_rank_transfer_kernel(ps_transfers *t, const ps_trace *trace, uint32_t slice,
                                     int64_t rank, ps_diag *diag) {
    const char *name = ps_trace_arg_text(trace, slice, "Collective name");
    const char *group = ps_trace_arg_text(trace, slice, "Process Group Name");
    int64_t sequence = -1;
    int64_t peer = -1;
    bool is_send = name != NULL && strcmp(name, "send") == 0;
    if (name == NULL || (!is_send && strcmp(name, "recv") != 0)) {
        return true;
    }
    (void)ps_trace_arg_int(trace, slice, "Seq", &sequence);
    bool named = ps_trace_arg_int(trace, slice, is_send ? "Dst Rank" : "Src Rank", &peer) &&
                 peer >= 0 && peer < MAX_RANK && rank >= 0 && rank < MAX_RANK;
    if (!named) {
        ps_diag_add(diag, PS_ODD_P2P_PEER, "%s, event %lld", name,
                    (long long)ps_trace_slices(trace)->source_row[slice]);
        return true;
    }
    return add_rank_transfer_p2p(t, trace, slice, group != NULL ? group : "", rank, peer, is_send,
                                 sequence < 0 ? 0 : sequence);
}

ps_code ps_transfers_collect(const ps_trace *trace, const ps_analysis_opts *opts, int64_t rank,
                             ps_transfers *out, ps_diag *diag, ps_err *err) {
    ps_analysis_opts all = *opts;
    *out = (ps_transfers){.p2p_is_global = false};
    all.step_id = -1;
    ps_code code = ps_p2p_collect(trace, &all, &out->p2p, diag, err);
    bool ok = code == PS_OK;
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ok = s->kind[i] != PS_SLICE_COMM_KERNEL ||
             add_rank_transfer_kernel(out, trace, i, rank, diag);
    }
    return code != PS_OK ? code : ok ? PS_OK : ps_fail_nomem(err);
}

void ps_transfers_fini(ps_transfers *t) {
    ps_p2p_list_fini(&t->p2p);
    *t = (ps_transfers){.p2p_is_global = false};
}

void ps_transfers_archive(ps_archive *a, void *transfers) {
    ps_transfers *x = transfers;
    ps_p2p_list_archive(a, &x->p2p);
    PS_ARCHIVE(a, x, p2p_is_global);
}
