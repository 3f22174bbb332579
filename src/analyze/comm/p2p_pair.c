/* Operators are gathered by link (group, sender, receiver), each link is matched (transfer_pairs.h), and an index is given to every
 * transfer in order, matched or not, so that a lone operator never takes the id of another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/p2p.h"
#include "analyze/comm/transfer_pairs.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "model/group_hash.h"

#define MAX_LINKS ((size_t)1 << 24) /* group ids must fit the link key */
#define NO_RANK UINT32_MAX

/* One operator somewhere, and the index its transfer gets. */
typedef struct end_ref {
    ps_p2p_op *op;
    uint32_t *index;
    uint32_t rank, number; /* whose list, and where in it */
} end_ref;

typedef struct link {
    const char *group; /* name of the communicator */
    const char *tag;
    int32_t sender, receiver;
    int32_t pipeline; /* -1 unless groups of this name stand on several pipelines */
    uint32_t send_rank, recv_rank;
    bool
        tag_shared; /* another link shows the same tag and ranks: the whole hash of the group is used */
    size_t n_sends, n_recvs;
    end_ref *sends, *recvs;
} link;

typedef struct pairing {
    ps_p2p_list *const *lists;
    const int32_t *pipelines;
    const ps_reduce_input *in;
    ps_strpool names; /* groups and tags over all ranks */
    ps_idmap by_key;  /* link key -> row in links */
    link *links;
    size_t n_links, cap_links;
    uint32_t **link_of_op;  /* [rank][op] */
    uint32_t **index_of_op; /* [rank][op] */
    end_ref *refs;
    uint8_t *split; /* [group id]: the name stands for several communicators */
    size_t n_split;
} pairing;

/* --- links ------------------------------------------------------------------------------------------- */

/* The id of "profiler/name" over all ranks, with the pipeline when the name alone is ambiguous. */
static ps_str group_id(pairing *p, size_t rank, const char *name) {
    char text[512];
    int n = snprintf(text, sizeof text, "%s/%s", p->in->ranks[rank].profiler, name);
    ps_str id = ps_strpool_add(&p->names, text, strlen(text));
    if (id.id < p->n_split && p->split[id.id] != 0 && n > 0 && (size_t)n < sizeof text) {
        (void)snprintf(text + n, sizeof text - (size_t)n, "\x1f%d", p->pipelines[rank]);
        id = ps_strpool_add(&p->names, text, strlen(text));
    }
    return id;
}

static link *link_for(pairing *p, size_t rank, const ps_p2p_op *op, ps_str group, bool is_split) {
    uint64_t key =
        (uint64_t)group.id << 40 | (uint64_t)(uint32_t)op->sender << 20 | (uint32_t)op->receiver;
    uint32_t row = ps_idmap_get(&p->by_key, key);
    if (row == PS_IDMAP_NONE) {
        const ps_strpool *own = &p->lists[rank]->strings;
        ps_str tag =
            ps_strpool_add(&p->names, ps_strpool_get(own, op->tag), ps_strpool_len(own, op->tag));
        if (group.id >= MAX_LINKS || ps_str_is_none(group) || ps_str_is_none(tag) ||
            !ps_grow(&p->links, &p->cap_links, p->n_links + 1, MAX_LINKS, sizeof *p->links) ||
            !ps_idmap_put(&p->by_key, key, (uint32_t)p->n_links)) {
            return NULL;
        }
        row = (uint32_t)p->n_links++;
        p->links[row] = (link){.group = ps_strpool_get(own, op->group),
                               .tag = ps_strpool_get(&p->names, tag),
                               .sender = op->sender,
                               .receiver = op->receiver,
                               .pipeline = is_split ? p->pipelines[rank] : -1,
                               .send_rank = NO_RANK,
                               .recv_rank = NO_RANK};
    }
    return &p->links[row];
}

/* Puts every operator of a rank onto its link. Sets *ambiguous for a group on which a second rank plays the
 * same part. */
static bool link_rank(pairing *p, size_t rank, bool *ambiguous) {
    const ps_p2p_list *list = p->lists[rank];
    ps_str last_local = PS_STR_NONE; /* operators of one group come in long runs */
    ps_str group = PS_STR_NONE;
    for (size_t i = 0; i < list->n; i++) {
        const ps_p2p_op *op = &list->ops[i];
        if (!ps_str_eq(op->group, last_local) || i == 0) {
            last_local = op->group;
            group = group_id(p, rank, ps_strpool_get(&list->strings, op->group));
        }
        bool is_split = strchr(ps_strpool_get(&p->names, group), '\x1f') != NULL;
        link *l = link_for(p, rank, op, group, is_split);
        if (l == NULL) {
            return false;
        }
        uint32_t *part = op->is_send ? &l->send_rank : &l->recv_rank;
        if (*part != NO_RANK && *part != rank && group.id < p->n_split && p->pipelines != NULL) {
            p->split[group.id] = 1;
            *ambiguous = true;
        }
        *part = (uint32_t)rank;
        *(op->is_send ? &l->n_sends : &l->n_recvs) += 1;
        p->link_of_op[rank][i] = (uint32_t)(l - p->links);
    }
    return true;
}

static bool link_all(pairing *p, bool *ambiguous) {
    for (size_t r = 0; r < p->in->n_ranks; r++) {
        if (p->lists[r] != NULL && !link_rank(p, r, ambiguous)) {
            return false;
        }
    }
    return true;
}

/* Once by group name; again with pipelines where a name proves to stand for several communicators. */
static bool make_links(pairing *p) {
    bool ambiguous = false;
    p->n_split = 1 << 16;
    p->split = ps_calloc(p->n_split, 1);
    if (p->split == NULL || !link_all(p, &ambiguous)) {
        return false;
    }
    if (ambiguous) {
        ps_idmap_fini(&p->by_key);
        p->n_links = 0;
        bool again = false;
        return link_all(p, &again);
    }
    return true;
}

static bool find_shared_tags(pairing *p) {
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t i = 0; ok && i < p->n_links; i++) {
        link *l = &p->links[i];
        ps_str tag = ps_strpool_find(&p->names, l->tag, strlen(l->tag));
        uint64_t key =
            (uint64_t)tag.id << 40 | (uint64_t)(uint32_t)l->sender << 20 | (uint32_t)l->receiver;
        uint32_t other = ps_idmap_get(&seen, key);
        if (other == PS_IDMAP_NONE) {
            ok = ps_idmap_put(&seen, key, (uint32_t)i);
        } else {
            l->tag_shared = true;
            p->links[other].tag_shared = true;
        }
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* Gives each link its sends and receives, in rank order and start order. */
static bool fill_links(pairing *p) {
    size_t total = 0;
    for (size_t r = 0; r < p->in->n_ranks; r++) {
        total += p->lists[r] != NULL ? p->lists[r]->n : 0;
    }
    p->refs = ps_calloc(total, sizeof *p->refs);
    if (p->refs == NULL) {
        return false;
    }
    end_ref *next = p->refs;
    for (size_t i = 0; i < p->n_links; i++) {
        link *l = &p->links[i];
        l->sends = next;
        l->recvs = next + l->n_sends;
        next += l->n_sends + l->n_recvs;
        l->n_sends = 0;
        l->n_recvs = 0;
    }
    for (size_t r = 0; r < p->in->n_ranks; r++) {
        for (size_t i = 0; p->lists[r] != NULL && i < p->lists[r]->n; i++) {
            ps_p2p_op *op = &p->lists[r]->ops[i];
            link *l = &p->links[p->link_of_op[r][i]];
            end_ref ref = {op, &p->index_of_op[r][i], (uint32_t)r, (uint32_t)i};
            if (op->is_send) {
                l->sends[l->n_sends++] = ref;
            } else {
                l->recvs[l->n_recvs++] = ref;
            }
        }
    }
    return true;
}

/* --- matching ------------------------------------------------------------------------------------------ */

/* Lone operators are counted on the rank that has them. */
static void count_lone(const pairing *p, const link *l, uint64_t n_lone) {
    uint32_t rank = l->n_sends > l->n_recvs ? l->send_rank : l->recv_rank;
    if (n_lone > 0 && rank != NO_RANK) {
        ps_diag_add(p->in->diags[rank], PS_ODD_P2P_UNPAIRED, "group %.60s, rank %d to %d", l->group,
                    l->sender, l->receiver);
        ps_diag_count(p->in->diags[rank], PS_ODD_P2P_UNPAIRED, n_lone - 1);
    }
}

static void note_peers(const end_ref *send, const end_ref *recv) {
    send->op->peer_rank = recv->rank;
    send->op->peer_op = recv->number & PS_MAX_P2P_OPS;
    recv->op->peer_rank = send->rank;
    recv->op->peer_op = send->number & PS_MAX_P2P_OPS;
}

static void fill_ends(const end_ref *refs, size_t n, ps_transfer_end *ends) {
    for (size_t i = 0; i < n; i++) {
        const ps_p2p_op *op = refs[i].op;
        ends[i] = (ps_transfer_end){op->end_ns, op->iteration, op->sequence, 0};
    }
}

/* Matches one link and returns how many operators found no counterpart. `ends` has room for all of its operators. */
static uint64_t match_link(const link *l, ps_transfer_end *ends) {
    ps_transfer_end *recvs = ends + l->n_sends;
    fill_ends(l->sends, l->n_sends, ends);
    fill_ends(l->recvs, l->n_recvs, recvs);
    uint64_t n_lone = ps_transfer_pairs(ends, l->n_sends, recvs, l->n_recvs);
    size_t j = 0;
    for (size_t i = 0; i < l->n_sends; i++) {
        *l->sends[i].index = ends[i].index;
        while (j < l->n_recvs && recvs[j].index < ends[i].index) {
            j++;
        }
        if (j < l->n_recvs && recvs[j].index == ends[i].index) {
            note_peers(&l->sends[i], &l->recvs[j]);
        }
    }
    for (size_t k = 0; k < l->n_recvs; k++) {
        *l->recvs[k].index = recvs[k].index;
    }
    return n_lone;
}

static bool match_links(pairing *p) {
    size_t most = 0;
    for (size_t i = 0; i < p->n_links; i++) {
        size_t n = p->links[i].n_sends + p->links[i].n_recvs;
        most = n > most ? n : most;
    }
    ps_transfer_end *ends = ps_calloc(most + 1, sizeof *ends);
    for (size_t i = 0; ends != NULL && i < p->n_links; i++) {
        count_lone(p, &p->links[i], match_link(&p->links[i], ends));
    }
    ps_free(ends);
    return ends != NULL;
}

/* --- result ------------------------------------------------------------------------------------------ */

static const ps_column COLUMNS[] = {{.name = "rowid", .type = PS_COL_INT},
                                    {.name = "opConnectionId", .type = PS_COL_TEXT}};

static void format_id(const link *l, uint32_t index, char *out, size_t size) {
    if (!l->tag_shared) {
        (void)snprintf(out, size, "%s_%d_%d_%u", l->tag, l->sender, l->receiver, index);
        return;
    }
    char hash[24];
    ps_group_hash_text(l->group, hash);
    if (l->pipeline >= 0) {
        (void)snprintf(out, size, "%s.%d_%d_%d_%u", hash, l->pipeline, l->sender, l->receiver,
                       index);
    } else {
        (void)snprintf(out, size, "%s_%d_%d_%u", hash, l->sender, l->receiver, index);
    }
}

static ps_code add_rank_table(const pairing *p, size_t rank, ps_err *err) {
    const ps_p2p_list *list = p->lists[rank];
    ps_table *t = ps_table_new("COMMUNICATION_OP", "", PS_COLUMNS(COLUMNS));
    if (t == NULL) {
        return ps_fail_nomem(err);
    }
    t->home = PS_HOME_RANK;
    t->mode = PS_TABLE_ADD_COLUMN;
    t->rank_index = rank;
    uint64_t n_shared = 0;
    for (size_t i = 0; i < list->n; i++) {
        const link *l = &p->links[p->link_of_op[rank][i]];
        char id[128];
        format_id(l, p->index_of_op[rank][i], id, sizeof id);
        n_shared += l->tag_shared;
        if (!ps_table_add_row(t)) {
            ps_table_free(t);
            return ps_fail_nomem(err);
        }
        ps_table_set_int(t, 0, list->ops[i].source_row);
        if (!ps_table_set_text(t, 1, id)) {
            ps_table_free(t);
            return ps_fail_nomem(err);
        }
    }
    ps_diag_count(p->in->diags[rank], PS_ODD_P2P_COLLISION, n_shared);
    return ps_result_add(p->in->result, t, err);
}

static bool make_arrays(pairing *p) {
    size_t n = p->in->n_ranks;
    p->link_of_op = ps_calloc(n, sizeof *p->link_of_op);
    p->index_of_op = ps_calloc(n, sizeof *p->index_of_op);
    bool ok = ps_strpool_init(&p->names) && p->link_of_op != NULL && p->index_of_op != NULL;
    for (size_t r = 0; ok && r < n; r++) {
        if (p->lists[r] != NULL) {
            p->link_of_op[r] = ps_calloc(p->lists[r]->n, sizeof **p->link_of_op);
            p->index_of_op[r] = ps_calloc(p->lists[r]->n, sizeof **p->index_of_op);
            ok = p->link_of_op[r] != NULL && p->index_of_op[r] != NULL;
        }
    }
    return ok;
}

static void pairing_fini(pairing *p) {
    for (size_t r = 0; r < p->in->n_ranks; r++) {
        ps_free(p->link_of_op != NULL ? p->link_of_op[r] : NULL);
        ps_free(p->index_of_op != NULL ? p->index_of_op[r] : NULL);
    }
    ps_free(p->link_of_op);
    ps_free(p->index_of_op);
    ps_free(p->links);
    ps_free(p->refs);
    ps_free(p->split);
    ps_idmap_fini(&p->by_key);
    ps_strpool_fini(&p->names);
}

ps_code ps_p2p_pair(ps_p2p_list *const *lists, const int32_t *pipelines, const ps_reduce_input *in,
                    ps_err *err) {
    pairing p = {.lists = lists, .pipelines = pipelines, .in = in};
    ps_idmap_init(&p.by_key);
    bool ok = make_arrays(&p) && make_links(&p) && find_shared_tags(&p) && fill_links(&p) &&
              match_links(&p);
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        if (lists[r] != NULL && lists[r]->n_operators > 0) {
            code = add_rank_table(&p, r, err);
        }
    }
    pairing_fini(&p);
    return code;
}
