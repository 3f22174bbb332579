/* PyTorch writes what a kernel of NCCL carries into its arguments ("Collective name", "Process Group Name", "Seq", "Src
 * Rank" or "Dst Rank" as a global rank); Ascend names its operators hcom_allReduce__795_0_1 and its tracks after the
 * communicator. */
#include "analyze/comm/transfers.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "model/comm_kernels.h"

#define MAX_RANK (1 << 20)

enum { GROUP_SIZE = 256, KEY_SIZE = 384 }; /* texts are cut to fit */

bool ps_is_symmetric(const char *name) {
    return ps_comm_is_symmetric(ps_comm_of_name(name));
}

/* Who takes part, as far as it is said: several groups of a job may carry one name. */
static void describe_group(const ps_rank_facts *facts, const char *group, const char *ranks,
                           char *out, size_t size) {
    (void)snprintf(out, size, "%.80s%.160s", group, ranks != NULL ? ranks : "");
    for (size_t i = 0; ranks == NULL && facts != NULL && i < facts->n_groups; i++) {
        const ps_group_fact *fact = &facts->groups[i];
        if (fact->first_rank >= 0 && strcmp(fact->comm_name, group) == 0) {
            (void)snprintf(out, size, "%.80s[%lld, %lld in all]", group,
                           (long long)fact->first_rank, (long long)fact->n_ranks);
            return;
        }
    }
}

static bool add_rank_transfer_collective(ps_collective_list *list, const ps_trace *trace,
                                         uint32_t slice, const char *group, const char *name,
                                         size_t name_len, int64_t sequence) {
    const ps_slices *s = ps_trace_slices(trace);
    char key[KEY_SIZE];
    int64_t start = ps_trace_origin_ns(trace) + s->start_ns[slice];
    if (list->n >= PS_MAX_COLLECTIVES) {
        list->n_cut++;
        return true;
    }
    int len =
        snprintf(key, sizeof key, "%s/%.*s", group, (int)(name_len < 100 ? name_len : 100), name);
    ps_str id = ps_strpool_add(&list->strings, key, len > 0 ? (size_t)len : 0);
    if (ps_str_is_none(id) ||
        !ps_grow(&list->all, &list->cap, list->n + 1, PS_MAX_COLLECTIVES, sizeof *list->all)) {
        return false;
    }
    list->all[list->n++] = (ps_collective){start, start + s->dur_ns[slice], sequence, id};
    return true;
}

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
                                     int64_t rank, const ps_rank_facts *facts, ps_diag *diag) {
    const char *name = ps_trace_arg_text(trace, slice, "Collective name");
    const char *group = ps_trace_arg_text(trace, slice, "Process Group Name");
    int64_t sequence = -1;
    int64_t peer = -1;
    if (name == NULL) {
        return true;
    }
    group = group != NULL ? group : "";
    (void)ps_trace_arg_int(trace, slice, "Seq", &sequence);
    bool is_send = strcmp(name, "send") == 0;
    if (is_send || strcmp(name, "recv") == 0) {
        bool named = ps_trace_arg_int(trace, slice, is_send ? "Dst Rank" : "Src Rank", &peer) &&
                     peer >= 0 && peer < MAX_RANK && rank >= 0 && rank < MAX_RANK;
        if (!named) {
            ps_diag_add(diag, PS_ODD_P2P_PEER, "%s, event %lld", name,
                        (long long)ps_trace_slices(trace)->source_row[slice]);
            return true;
        }
        return add_rank_transfer_p2p(t, trace, slice, group, rank, peer, is_send,
                                     sequence < 0 ? 0 : sequence);
    }
    if (!ps_is_symmetric(name)) {
        return true;
    }
    char who[GROUP_SIZE];
    describe_group(facts, group, ps_trace_arg_text(trace, slice, "Process Group Ranks"), who,
                   sizeof who);
    return add_rank_transfer_collective(&t->collectives, trace, slice, who, name, strlen(name),
                                        sequence);
}

/* "hcom_allReduce__795_0_1": numbers behind "__" are not equal on all ranks. Nor is the number of a group that stands
 * for its name in texts: such a lane tells nothing across ranks. */
static bool add_operator(ps_transfers *t, const ps_trace *trace, uint32_t slice,
                         const ps_rank_facts *facts) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_tracks = 0;
    const ps_track *track = &ps_trace_tracks(trace, &n_tracks)[s->track[slice]];
    const char *name = ps_trace_text(trace, s->name[slice]);
    const char *group = ps_trace_text(trace, track->name);
    const char *end = strstr(name, "__");
    if (!ps_is_symmetric(name) || track->kind != PS_TRACK_COMM_GROUP ||
        strspn(group, "0123456789") == strlen(group)) {
        return true;
    }
    char who[GROUP_SIZE];
    describe_group(facts, group, NULL, who, sizeof who);
    return add_rank_transfer_collective(&t->collectives, trace, slice, who, name,
                                        end != NULL ? (size_t)(end - name) : strlen(name), -1);
}

/* What carries no number is counted per key; such keys then say how many there are, so that only ranks that saw equally
 * many are compared. */
static bool number_collectives(ps_collective_list *list) {
    ps_idmap counts;
    ps_idmap_init(&counts);
    bool ok = true;
    for (size_t i = 0; ok && i < list->n; i++) {
        ps_collective *c = &list->all[i];
        if (c->sequence < 0) {
            uint32_t n = ps_idmap_get(&counts, c->key.id);
            n = n == PS_IDMAP_NONE ? 0 : n;
            c->sequence = -1 - (int64_t)n; /* still known as one that was counted */
            ok = ps_idmap_put(&counts, c->key.id, n + 1);
        }
    }
    for (size_t i = 0; ok && i < list->n; i++) {
        ps_collective *c = &list->all[i];
        if (c->sequence < 0) {
            char key[KEY_SIZE + 16];
            int len = snprintf(key, sizeof key, "%s#%u", ps_strpool_get(&list->strings, c->key),
                               ps_idmap_get(&counts, c->key.id));
            c->key = ps_strpool_add(&list->strings, key, len > 0 ? (size_t)len : 0);
            c->sequence = -1 - c->sequence;
            ok = !ps_str_is_none(c->key);
        }
    }
    ps_idmap_fini(&counts);
    return ok;
}

ps_code ps_transfers_collect(const ps_trace *trace, const ps_analysis_opts *opts, int64_t rank,
                             const ps_rank_facts *facts, ps_transfers *out, ps_diag *diag,
                             ps_err *err) {
    ps_analysis_opts all = *opts;
    *out = (ps_transfers){.p2p_is_global = false};
    all.step_id = -1;
    ps_code code = ps_p2p_collect(trace, &all, &out->p2p, diag, err);
    bool ok = code == PS_OK && ps_strpool_init(&out->collectives.strings);
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_COMM_KERNEL) {
            ok = add_rank_transfer_kernel(out, trace, i, rank, facts, diag);
        } else if (s->kind[i] == PS_SLICE_COMM_OP) {
            ok = add_operator(out, trace, i, facts);
        }
    }
    ok = ok && number_collectives(&out->collectives);
    ps_diag_count(diag, PS_ODD_COLLECTIVES, out->collectives.n_cut);
    return code != PS_OK ? code : ok ? PS_OK : ps_fail_nomem(err);
}

void ps_transfers_fini(ps_transfers *t) {
    ps_p2p_list_fini(&t->p2p);
    ps_free(t->collectives.all);
    ps_strpool_fini(&t->collectives.strings);
    *t = (ps_transfers){.p2p_is_global = false};
}
