#include "serve/cross/peers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/skew.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/threads.h"
#include "serve/rank/cache.h"

/* --- making --------------------------------------------------------------------------------------------------- */

static ps_peer_end peer_end_of(const ps_peer_rank *ranks, uint32_t rank, uint32_t op) {
    return (ps_peer_end){rank, ranks[rank].list->ops[op].slice};
}

static const char *keep_peer(ps_peers *p, const char *text) {
    return ps_arena_strndup(&p->arena, text, strlen(text));
}

/* Texts of communicators and operators, each once. */
static bool keep_texts(ps_peers *p, const ps_skew *skew) {
    const char **kept = ps_calloc(skew->strings.n + 1, sizeof *kept);
    bool ok = kept != NULL;
    for (size_t i = 0; ok && i < p->n_collectives; i++) {
        const ps_str of[2] = {skew->collectives[i].group, skew->collectives[i].name};
        for (size_t k = 0; ok && k < 2; k++) {
            if (kept[of[k].id] == NULL) {
                kept[of[k].id] = keep_peer(p, ps_strpool_get(&skew->strings, of[k]));
            }
            ok = kept[of[k].id] != NULL;
        }
        p->collectives[i].group = ok ? kept[of[0].id] : "";
        p->collectives[i].name = ok ? kept[of[1].id] : "";
    }
    ps_free(kept);
    return ok;
}

static bool copy_late(ps_peers *p, const ps_peer_rank *ranks, const ps_skew *skew) {
    p->n_pairs = skew->n_receives;
    p->n_collectives = skew->n_collectives;
    p->n_parts = skew->n_parts;
    p->n_unmatched = skew->n_unmatched;
    p->pairs = ps_calloc(p->n_pairs + 1, sizeof *p->pairs);
    p->collectives = ps_calloc(p->n_collectives + 1, sizeof *p->collectives);
    p->parts = ps_calloc(p->n_parts + 1, sizeof *p->parts);
    if (p->pairs == NULL || p->collectives == NULL || p->parts == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->n_pairs; i++) {
        const ps_skew_receive *r = &skew->receives[i];
        p->pairs[i] = (ps_peer_pair){peer_end_of(ranks, r->sender, r->send_op),
                                     peer_end_of(ranks, r->receiver, r->receive_op), r->waited_ns,
                                     r->is_known};
    }
    for (size_t i = 0; i < p->n_parts; i++) {
        const ps_collective_part *part = &skew->parts[i];
        p->parts[i] = (ps_peer_part){peer_end_of(ranks, part->rank, part->op), part->late_ns};
    }
    for (size_t i = 0; i < p->n_collectives; i++) {
        const ps_matched_collective *m = &skew->collectives[i];
        const ps_collective_part *part = &skew->parts[m->first];
        p->collectives[i] = (ps_peer_collective){
            .late_ns = m->late_ns,
            .waited_ns = m->waited_ns,
            .first = m->first,
            .n = m->n,
            .group_size = ranks[part->rank].list->ops[part->op].look->group_size,
            .last = m->last};
    }
    return keep_texts(p, skew);
}

PS_COMPARE(compare_peer_entries, ps_peer_entry, PS_BY(slice) PS_BY(row))

static void add_entry(ps_peers *p, size_t *next, ps_peer_end end, size_t row, bool is_pair) {
    p->entries[next[end.rank]++] = (ps_peer_entry){end.slice, (uint32_t)row, is_pair};
}

static bool index_entries(ps_peers *p) {
    p->first_entry = ps_calloc(p->n_ranks + 1, sizeof *p->first_entry);
    p->entries = ps_calloc(2 * p->n_pairs + p->n_parts + 1, sizeof *p->entries);
    size_t *next = ps_calloc(p->n_ranks + 1, sizeof *next);
    if (p->first_entry == NULL || p->entries == NULL || next == NULL) {
        ps_free(next);
        return false;
    }
    for (size_t i = 0; i < p->n_pairs; i++) {
        p->first_entry[p->pairs[i].send.rank + 1]++;
        p->first_entry[p->pairs[i].receive.rank + 1]++;
    }
    for (size_t i = 0; i < p->n_parts; i++) {
        p->first_entry[p->parts[i].end.rank + 1]++;
    }
    for (size_t r = 0; r < p->n_ranks; r++) {
        p->first_entry[r + 1] += p->first_entry[r];
        next[r] = p->first_entry[r];
    }
    for (size_t i = 0; i < p->n_pairs; i++) {
        add_entry(p, next, p->pairs[i].send, i, true);
        add_entry(p, next, p->pairs[i].receive, i, true);
    }
    for (size_t i = 0; i < p->n_collectives; i++) {
        for (uint32_t k = 0; k < p->collectives[i].n; k++) {
            add_entry(p, next, p->parts[p->collectives[i].first + k].end, i, false);
        }
    }
    for (size_t r = 0; r < p->n_ranks; r++) {
        size_t n = p->first_entry[r + 1] - p->first_entry[r];
        ps_sort(p->entries + p->first_entry[r], n, sizeof *p->entries, compare_peer_entries);
    }
    ps_free(next);
    return true;
}

/* `skew` is filled, also after a failure. */
static ps_code measure_peer(const ps_peer_rank *ranks, size_t n, ps_skew *skew, ps_err *err) {
    const ps_comm_list **lists = ps_calloc(n + 1, sizeof(const ps_comm_list *));
    ps_rank_info *infos = ps_calloc(n + 1, sizeof *infos);
    ps_code code = lists != NULL && infos != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        lists[i] = ranks[i].list;
        infos[i] = ranks[i].info;
    }
    if (code == PS_OK) {
        ps_skew_input in = {.lists = lists, .ranks = infos, .n_ranks = n, .step = -1};
        code = ps_skew_measure(&in, skew, err);
    }
    ps_free(lists);
    ps_free(infos);
    return code;
}

ps_peers *ps_peers_new(const ps_peer_rank *ranks, size_t n, ps_err *err) {
    ps_peers *p = ps_calloc(1, sizeof *p);
    ps_skew skew = {0};
    if (p == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    p->keys = ps_calloc(n + 1, sizeof *p->keys);
    bool ok = p->keys != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        p->keys[p->n_ranks++] = keep_peer(p, ranks[i].key);
        ok = p->keys[i] != NULL;
    }
    ok = ok && measure_peer(ranks, n, &skew, err) == PS_OK && copy_late(p, ranks, &skew) &&
         index_entries(p);
    ps_skew_fini(&skew);
    if (!ok) {
        ps_peers_free(p);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return p;
}

void ps_peers_free(void *peers) {
    ps_peers *p = peers;
    if (p != NULL) {
        ps_free(p->keys);
        ps_free(p->pairs);
        ps_free(p->collectives);
        ps_free(p->parts);
        ps_free(p->entries);
        ps_free(p->first_entry);
        ps_arena_fini(&p->arena);
        ps_free(p);
    }
}

size_t ps_peers_bytes(const ps_peers *p) {
    return sizeof *p + p->n_pairs * sizeof *p->pairs + p->n_collectives * sizeof *p->collectives +
           p->n_parts * sizeof *p->parts + (2 * p->n_pairs + p->n_parts) * sizeof *p->entries +
           p->arena.size_bytes;
}

/* --- asking --------------------------------------------------------------------------------------------------- */

uint32_t ps_peers_rank(const ps_peers *p, const char *key) {
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        if (strcmp(p->keys[r], key) == 0) {
            return r;
        }
    }
    return PS_NONE;
}

const ps_peer_entry *ps_peers_of(const ps_peers *p, uint32_t rank, uint32_t slice) {
    size_t end = p->first_entry[rank + 1];
    PS_PLACE(size_t, low, p->first_entry[rank], end, i, p->entries[i].slice < slice);
    return low < end && p->entries[low].slice == slice ? &p->entries[low] : NULL;
}

/* --- ranks of the store --------------------------------------------------------------------------------------- */

static void free_list(void *list) {
    ps_comm_list_fini(list);
    ps_free(list);
}

static ps_code make_list(void *context, ps_cached *out, ps_err *err) {
    const ps_loaded *l = context;
    const ps_links *links = ps_loaded_links(l, err);
    ps_comm_list *list = links != NULL ? ps_calloc(1, sizeof *list) : NULL;
    if (list == NULL) {
        return ps_fail_nomem(err);
    }
    ps_diag diag = {0};
    ps_code code = ps_comm_list_collect(ps_loaded_layer(l, PS_LAYER_PROFILE)->trace, links, NULL,
                                        list, &diag, err);
    if (code != PS_OK) {
        free_list(list);
        return code;
    }
    *out = (ps_cached){.value = list,
                       .bytes = sizeof *list + list->n * sizeof *list->ops +
                                list->strings.text.size_bytes,
                       .free_value = free_list};
    return PS_OK;
}

ps_code ps_peers_list(const ps_request *q, const char *key, const ps_loaded *l,
                      const ps_comm_list **list, ps_err *err) {
    ps_buf name = {0};
    ps_buf_addf(&name, "comm\x1f%s", key);
    void *value = NULL;
    ps_code code = ps_buf_ok(&name) ? ps_cache_get(q->cache, ps_buf_str(&name), make_list,
                                                   (void *)(uintptr_t)l, q->watch, &value, err)
                                    : ps_fail_nomem(err);
    ps_buf_fini(&name);
    *list = value;
    return code;
}

const ps_comm_op *ps_peers_op(const ps_comm_list *list, uint32_t slice) {
    PS_PLACE(size_t, low, 0, list->n, i, list->ops[i].slice < slice)
    return low < list->n && list->ops[low].slice == slice ? &list->ops[low] : NULL;
}

/* Ready ranks at the place of one. */
typedef struct company {
    const ps_request *q;
    size_t *ranks; /* of the store */
    size_t n;
} company;

/* At the same place, and ready; the rank itself in any state. */
static bool is_of_company(const ps_request *q, size_t own, size_t i) {
    bool is_near = ps_store_rank(q->store, i)->cluster == ps_store_rank(q->store, own)->cluster;
    return is_near && (i == own || ps_store_status(q->store, i).state == PS_STATE_READY);
}

static bool find_company(const ps_request *q, const char *key, company *c) {
    *c = (company){.q = q};
    size_t n = ps_store_n_ranks(q->store);
    size_t own = ps_store_find(q->store, key, strlen(key));
    c->ranks = ps_calloc(n + 1, sizeof *c->ranks);
    if (c->ranks == NULL || own == SIZE_MAX) {
        return c->ranks != NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_of_company(q, own, i)) {
            c->ranks[c->n++] = i;
        }
    }
    return true;
}

size_t ps_peers_n_others(const ps_request *q, const char *key) {
    size_t own = ps_store_find(q->store, key, strlen(key));
    size_t n = 0;
    for (size_t i = 0; own != SIZE_MAX && i < ps_store_n_ranks(q->store); i++) {
        n += i != own && is_of_company(q, own, i);
    }
    return n;
}

/* Lists of ranks being made, one rank each, on several threads. */
typedef struct gathering {
    const company *c;
    ps_peer_rank *ranks; /* [c->n] list NULL: the rank has gone meanwhile */
    ps_err *errors;      /* [c->n] */
} gathering;

static void gather_peer_rank(void *context, size_t i) {
    const gathering *g = context;
    const ps_request *q = g->c->q;
    const ps_rank_entry *entry = ps_store_rank(q->store, g->c->ranks[i]);
    ps_loaded *l = NULL;
    ps_err gone = PS_ERR_INIT;
    ps_code code = ps_store_get(q->store, g->c->ranks[i], &l, &gone);
    if (code != PS_OK) {
        g->errors[i] = code == PS_NOMEM ? gone : g->errors[i];
        return;
    }
    ps_peer_rank *rank = &g->ranks[i];
    *rank = (ps_peer_rank){.key = entry->key, .info = {.rank = -1, .machine = -1, .profiler = ""}};
    if (entry->rank != NULL) {
        rank->info = (ps_rank_info){.rank = entry->rank->rank,
                                    .machine = entry->rank->machine,
                                    .profiler = ps_cluster_profiler(entry->rank)};
    }
    g->errors[i].code = ps_peers_list(q, entry->key, l, &rank->list, &g->errors[i]);
    ps_loaded_release(l);
}

/* Those that are there, moved to the front. */
static size_t keep_gathered(const gathering *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->c->n; i++) {
        if (g->ranks[i].list != NULL) {
            g->ranks[n++] = g->ranks[i];
        }
    }
    return n;
}

static ps_code make_peers(void *context, ps_cached *out, ps_err *err) {
    const company *c = context;
    gathering g = {c, ps_calloc(c->n + 1, sizeof *g.ranks), ps_calloc(c->n + 1, sizeof *g.errors)};
    ps_peers *peers = NULL;
    ps_code code = g.ranks != NULL && g.errors != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        ps_parallel(c->n, 0, gather_peer_rank, &g);
        for (size_t i = 0; code == PS_OK && i < c->n; i++) {
            code = g.errors[i].code != PS_OK ? ps_fail(err, g.errors[i].code, "%s", g.errors[i].msg)
                                             : PS_OK;
        }
        size_t n = keep_gathered(&g);
        if (code == PS_OK && n < c->n) { /* what is kept under the names of all must be of all */
            code =
                ps_fail_said(err, PS_NOTHING,
                             "a rank has left the memory meanwhile, for others that were asked for",
                             "有 rank 已被移出内存，为其他请求的 rank 让位");
        }
        peers = code == PS_OK ? ps_peers_new(g.ranks, n, err) : NULL;
        for (size_t i = 0; i < n; i++) {
            ps_cache_release(c->q->cache, (void *)(uintptr_t)g.ranks[i].list);
        }
    }
    ps_free(g.ranks);
    ps_free(g.errors);
    if (peers == NULL) {
        return code == PS_OK ? ps_fail_nomem(err) : code;
    }
    *out = (ps_cached){.value = peers, .bytes = ps_peers_bytes(peers), .free_value = ps_peers_free};
    return PS_OK;
}

static ps_code get_now(const ps_request *q, const char *key, ps_peers **peers, ps_err *err) {
    company c;
    ps_buf name = {0};
    ps_buf_add_str(&name, "peers");
    bool ok = find_company(q, key, &c);
    for (size_t i = 0; ok && i < c.n; i++) {
        ps_buf_addf(&name, "\x1f%s", ps_store_rank(q->store, c.ranks[i])->key);
    }
    void *value = NULL;
    ps_code code = ok && ps_buf_ok(&name) ? ps_cache_get(q->cache, ps_buf_str(&name), make_peers,
                                                         &c, q->watch, &value, err)
                                          : ps_fail_nomem(err);
    ps_buf_fini(&name);
    ps_free(c.ranks);
    *peers = value;
    return code;
}

ps_code ps_peers_get(const ps_request *q, const char *key, ps_peers **peers, ps_err *err) {
    enum { MOST_TURNS = 3 }; /* with those that are still there */
    ps_err own = PS_ERR_INIT;
    err = err != NULL ? err : &own;
    ps_code code = PS_NOTHING;
    for (int turn = 0; turn < MOST_TURNS && code == PS_NOTHING; turn++) {
        *err = PS_ERR_INIT;
        code = get_now(q, key, peers, err);
    }
    return code;
}
