/* GET /api/flows/of, /api/flows/kinds, /api/flows/window: arrows between slices, within a rank and across ranks. */
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "base/alloc.h"
#include "serve/cross/peers.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"
#include "serve/rank/flows.h"
#include "serve/rank/lane_memo.h"

#define MAX_OF 400        /* flows of one slice */
#define MAX_PARTS 2048    /* of a collective */
#define MAX_WINDOW 100000 /* of a window */

/* --- slices of other ranks ------------------------------------------------------------------------------------ */

/* Ranks that a reply tells slices of, held until it is done. */
typedef struct company {
    const ps_request *q;
    const ps_peers *peers;
    ps_loaded **held; /* [n_ranks of the peers] NULL: not asked for yet, or gone */
    bool *is_gone;
} company;

static bool open_company(company *c, const ps_request *q, const ps_peers *peers) {
    *c = (company){.q = q,
                   .peers = peers,
                   .held = ps_calloc(peers->n_ranks + 1, sizeof(ps_loaded *)),
                   .is_gone = ps_calloc(peers->n_ranks + 1, sizeof(bool))};
    return c->held != NULL && c->is_gone != NULL;
}

static void close_company(company *c) {
    for (size_t i = 0; c->held != NULL && i < c->peers->n_ranks; i++) {
        ps_loaded_release(c->held[i]);
    }
    ps_free(c->held);
    ps_free(c->is_gone);
}

/* NULL: no longer in memory. */
static const ps_loaded *loaded_of(company *c, uint32_t rank) {
    if (c->held[rank] == NULL && !c->is_gone[rank]) {
        ps_err err = PS_ERR_INIT;
        const char *key = c->peers->keys[rank];
        size_t i = ps_store_find(c->q->store, key, strlen(key));
        if (i == SIZE_MAX || ps_store_get(c->q->store, i, &c->held[rank], &err) != PS_OK) {
            c->held[rank] = NULL;
            c->is_gone[rank] = true;
        }
    }
    return c->held[rank];
}

static ps_code put_flow_reply_end(company *c, ps_json *j, ps_peer_end end, ps_err *err) {
    return ps_put_ref(j, c->peers->keys[end.rank], loaded_of(c, end.rank), end.slice, err);
}

/* --- of one slice --------------------------------------------------------------------------------------------- */

typedef struct asked {
    const ps_request *q;
    ps_json j;
    const char *key;
    ps_loaded *l;
    uint32_t slice;
    size_t n_left_out;
} asked;

/* Without a value behind the last key where something failed: the reply is thrown away then. */
static ps_code end_flow(asked *a, ps_code code) {
    if (code == PS_OK) {
        ps_json_close(&a->j);
    }
    return code;
}

static ps_code put_flow(asked *a, const ps_flow_index *x, uint32_t row, ps_err *err) {
    const ps_flow *flow = &x->flows[row];
    ps_json_object(&a->j);
    ps_json_key_str(&a->j, "kind", ps_flow_kind_name(x->trace, flow->kind));
    ps_json_key(&a->j, "from");
    ps_code code = ps_put_ref(&a->j, a->key, a->l, flow->from, err);
    ps_json_key(&a->j, "to");
    code = code == PS_OK ? ps_put_ref(&a->j, a->key, a->l, flow->to, err) : code;
    return end_flow(a, code);
}

static ps_code put_chain(asked *a, bool *is_cut, ps_err *err) {
    const ps_flow_index *x = ps_loaded_flows(a->l, err);
    const ps_links *links = x != NULL ? ps_loaded_links(a->l, err) : NULL;
    if (links == NULL) {
        return ps_fail_nomem(err);
    }
    ps_flow_list list = {0};
    ps_code code = ps_flow_chain(x, links, a->slice, MAX_OF, &list, err);
    for (size_t i = 0; code == PS_OK && i < list.n; i++) {
        code = put_flow(a, x, list.rows[i], err);
    }
    *is_cut = list.is_cut;
    ps_flow_list_fini(&list);
    return code;
}

#define WAIT_UNKNOWN (-1) /* then it is left out */

static ps_code put_across(asked *a, company *c, const char *kind, ps_peer_end from, ps_peer_end to,
                          int64_t waited_ns, ps_err *err) {
    if (loaded_of(c, from.rank) == NULL || loaded_of(c, to.rank) == NULL) {
        a->n_left_out++;
        return PS_OK;
    }
    ps_json_object(&a->j);
    ps_json_key_str(&a->j, "kind", kind);
    if (waited_ns != WAIT_UNKNOWN) {
        ps_json_key_int(&a->j, "waited_ns", waited_ns);
    }
    ps_json_key(&a->j, "from");
    ps_code code = put_flow_reply_end(c, &a->j, from, err);
    ps_json_key(&a->j, "to");
    code = code == PS_OK ? put_flow_reply_end(c, &a->j, to, err) : code;
    return end_flow(a, code);
}

/* Every other one with the one that came last. */
static ps_code put_flow_reply_parts(asked *a, company *c, const ps_peer_collective *m,
                                    ps_err *err) {
    const ps_peer_part *parts = c->peers->parts;
    ps_code code = PS_OK;
    for (uint32_t i = m->first; code == PS_OK && i < m->first + m->n; i++) {
        if (i - m->first >= MAX_PARTS) {
            a->n_left_out += m->first + m->n - i;
            break;
        }
        if (i != m->last) {
            int64_t waited = parts[m->last].late_ns - parts[i].late_ns;
            code =
                put_across(a, c, PS_FLOW_COLLECTIVE, parts[m->last].end, parts[i].end, waited, err);
        }
    }
    return code;
}

/* null where it is not known. */
static void put_flow_number(ps_json *j, int64_t number) {
    if (number >= 0) {
        ps_json_int(j, number);
    } else {
        ps_json_null(j);
    }
}

/* {"group","name","n","group_size","spread_ns","late_ns","waited_ns","last":ref} */
static ps_code put_collective(asked *a, company *c, const ps_peer_collective *m, ps_err *err) {
    const ps_peer_part *last = &c->peers->parts[m->last];
    ps_json_object(&a->j);
    ps_json_key_str(&a->j, "group", m->group);
    ps_json_key_str(&a->j, "name", m->name);
    ps_json_key_uint(&a->j, "n", m->n);
    ps_json_key(&a->j, "group_size");
    put_flow_number(&a->j, m->group_size);
    ps_json_key_int(&a->j, "spread_ns", last->late_ns);
    ps_json_key_int(&a->j, "late_ns", m->late_ns);
    ps_json_key_int(&a->j, "waited_ns", m->waited_ns);
    ps_json_key(&a->j, "last");
    ps_code code = PS_OK;
    if (loaded_of(c, last->end.rank) != NULL) {
        code = put_flow_reply_end(c, &a->j, last->end, err);
    } else {
        ps_json_null(&a->j);
    }
    ps_json_close(&a->j);
    return code;
}

static ps_code put_entry(asked *a, company *c, const ps_peer_entry *e,
                         const ps_peer_collective **met, ps_err *err) {
    if (!e->is_pair) {
        *met = &c->peers->collectives[e->row];
        return put_flow_reply_parts(a, c, *met, err);
    }
    const ps_peer_pair *p = &c->peers->pairs[e->row];
    return put_across(a, c, PS_FLOW_SEND_RECV, p->send, p->receive,
                      p->is_known ? p->waited_ns : WAIT_UNKNOWN, err);
}

static bool is_flow_communication(const asked *a) {
    const ps_layer *profile = ps_loaded_layer(a->l, PS_LAYER_PROFILE);
    uint8_t kind = ps_trace_slices(profile->trace)->kind[a->slice];
    return kind == PS_SLICE_COMM_OP || kind == PS_SLICE_COMM_KERNEL;
}

static int64_t flow_rank_number(const asked *a) {
    size_t i = ps_store_find(a->q->store, a->key, strlen(a->key));
    const ps_rank_entry *entry = i != SIZE_MAX ? ps_store_rank(a->q->store, i) : NULL;
    return entry != NULL && entry->rank != NULL ? entry->rank->rank : -1;
}

/* What the rank itself says of whom it communicates with, whether they are read or not: {"group","sends","peer","group_size"}. */
static ps_code put_flow_own(asked *a, ps_err *err) {
    const ps_comm_list *list = NULL;
    ps_code code = PS_OK;
    ps_json_key(&a->j, "own");
    if (is_flow_communication(a)) {
        code = ps_peers_list(a->q, a->key, a->l, &list, err);
    }
    const ps_comm_op *op = code == PS_OK && list != NULL ? ps_peers_op(list, a->slice) : NULL;
    if (op != NULL) {
        ps_json_object(&a->j);
        ps_json_key_str(&a->j, "group", ps_comm_text(list, op->look->group));
        ps_json_key(&a->j, "group_size");
        put_flow_number(&a->j, op->look->group_size);
        ps_json_key(&a->j, "sends");
        if (op->look->is_p2p && !op->look->is_group) {
            ps_json_bool(&a->j, op->look->is_send);
        } else {
            ps_json_null(&a->j);
        }
        ps_json_key(&a->j, "peer");
        put_flow_number(&a->j, ps_comm_peer_rank(op->look, flow_rank_number(a)));
        ps_json_close(&a->j);
    } else if (code == PS_OK) {
        ps_json_null(&a->j);
    }
    ps_cache_release(a->q->cache, (void *)(uintptr_t)list);
    return code;
}

/* The flows across ranks, then the end of the list and what is known of the collective. */
static ps_code put_peers(asked *a, ps_err *err) {
    ps_peers *peers = NULL;
    ps_code code = PS_OK;
    if (is_flow_communication(a) && ps_peers_n_others(a->q, a->key) > 0) {
        code = ps_peers_get(a->q, a->key, &peers, err);
    }
    uint32_t rank = peers != NULL ? ps_peers_rank(peers, a->key) : PS_NONE;
    const ps_peer_entry *e = rank != PS_NONE ? ps_peers_of(peers, rank, a->slice) : NULL;
    company c = {.peers = peers};
    const ps_peer_collective *met = NULL;
    if (e != NULL) {
        code = open_company(&c, a->q, peers) ? put_entry(a, &c, e, &met, err) : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        ps_json_close(&a->j);
        ps_json_key(&a->j, "collective");
    }
    if (code == PS_OK && met != NULL) {
        code = put_collective(a, &c, met, err);
    } else if (code == PS_OK) {
        ps_json_null(&a->j);
    }
    close_company(&c);
    ps_cache_release(a->q->cache, peers);
    return code;
}

static ps_code put_of(asked *a, ps_err *err) {
    bool is_cut = false;
    ps_code code = PS_OK;
    bool is_profile = a->slice < ps_trace_slices(ps_loaded_layer(a->l, PS_LAYER_PROFILE)->trace)->n;
    ps_json_object(&a->j);
    ps_json_key_array(&a->j, "flows");
    if (is_profile) {
        code = put_chain(a, &is_cut, err);
        code = code == PS_OK ? put_peers(a, err) : code;
        code = code == PS_OK ? put_flow_own(a, err) : code;
    } else {
        ps_json_close(&a->j);
        ps_json_key_null(&a->j, "collective");
        ps_json_key_null(&a->j, "own");
    }
    if (code == PS_OK) {
        ps_json_key_bool(&a->j, "more", is_cut);
        ps_json_key_uint(&a->j, "left_out", a->n_left_out);
        ps_json_close(&a->j);
    }
    return code;
}

static void answer_of(const ps_request *q, ps_reply *r) {
    asked a = {.q = q, .j = ps_json_to(&r->body), .key = ps_param_text(q, "rank")};
    if (ps_ask_rank(q, r, &a.l) && ps_ask_slice(q, r, a.l, &a.slice)) {
        ps_err err = PS_ERR_INIT;
        if (put_of(&a, &err) != PS_OK) {
            ps_reply_err(r, &err);
        }
    }
    ps_loaded_release(a.l);
}

/* --- kinds ---------------------------------------------------------------------------------------------------- */

static void put_kind(ps_json *j, const char *name, size_t count) {
    ps_json_array(j);
    ps_json_str(j, name);
    ps_json_uint(j, count);
    ps_json_close(j);
}

/* What may have counterparts in other ranks: receives and collectives of this one. */
static ps_code put_kinds_across(const ps_request *q, const ps_loaded *l, ps_json *j, ps_err *err) {
    const char *key = ps_param_text(q, "rank");
    if (ps_peers_n_others(q, key) == 0) {
        return PS_OK;
    }
    const ps_comm_list *list = NULL;
    ps_code code = ps_peers_list(q, key, l, &list, err);
    if (code != PS_OK) {
        return code;
    }
    size_t n_receives = 0;
    size_t n_collectives = 0;
    for (size_t i = 0; i < list->n; i++) {
        n_receives += list->ops[i].look->is_p2p && !list->ops[i].look->is_send;
        n_collectives += !list->ops[i].look->is_p2p;
    }
    if (n_receives > 0) {
        put_kind(j, PS_FLOW_SEND_RECV, n_receives);
    }
    if (n_collectives > 0) {
        put_kind(j, PS_FLOW_COLLECTIVE, n_collectives);
    }
    ps_cache_release(q->cache, (void *)(uintptr_t)list);
    return PS_OK;
}

static ps_code put_kinds(const ps_request *q, const ps_loaded *l, ps_buf *out, ps_err *err) {
    const ps_flow_index *x = ps_loaded_flows(l, err);
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key_array(&j, "kinds");
    for (size_t k = 0; k < x->n_kinds; k++) {
        put_kind(&j, x->kinds[k].name, x->kinds[k].n);
    }
    ps_code code = put_kinds_across(q, l, &j, err);
    ps_json_close(&j);
    ps_json_close(&j);
    return code;
}

static void answer_kinds(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    if (ps_ask_rank(q, r, &l)) {
        ps_err err = PS_ERR_INIT;
        if (put_kinds(q, l, &r->body, &err) != PS_OK) {
            ps_reply_err(r, &err);
        }
    }
    ps_loaded_release(l);
}

/* --- a window ------------------------------------------------------------------------------------------------- */

typedef struct window {
    const ps_request *q;
    ps_reply *r;
    ps_loaded *l;
    const char *kind;
    int64_t from_ns, to_ns;
    size_t limit;
    uint32_t *lanes; /* of the rank */
    size_t n_lanes;
    uint8_t *is_lane;  /* [lanes of the rank] bytes; NULL: all */
    ps_lane_memo memo; /* of the profile */
} window;

static bool is_wanted_slice(window *w, uint32_t slice) {
    if (w->is_lane == NULL) {
        return true;
    }
    uint32_t lane = ps_lane_memo_of(&w->memo, slice);
    return lane != PS_NONE && w->is_lane[lane] != 0;
}

static bool is_flow_reply_wanted(void *context, const ps_flow *flow) {
    return is_wanted_slice(context, flow->from) && is_wanted_slice(context, flow->to);
}

static bool ask_window(window *w) {
    const ps_request *q = w->q;
    int64_t limit = 0;
    w->kind = ps_param_text(q, "kind");
    if (w->kind == NULL) {
        ps_reply_fail(w->r, 400, "parameter 'kind' is missing");
        return false;
    }
    uint32_t n_lanes = ps_loaded_n_lanes(w->l);
    if (!ps_ask_span(q, w->r, &w->from_ns, &w->to_ns) ||
        !ps_ask_int(q, w->r, "limit", 1, MAX_WINDOW, 2000, &limit) ||
        !ps_ask_list(q, w->r, "lanes", n_lanes, 65536, &w->lanes, &w->n_lanes)) {
        return false;
    }
    w->limit = (size_t)limit;
    const char *lanes = ps_param_text(q, "lanes");
    if (lanes != NULL && lanes[0] != '\0') {
        w->is_lane = ps_arena_alloc(&w->r->arena, (size_t)n_lanes + 1);
        if (w->is_lane == NULL) {
            ps_reply_fail(w->r, 507, "out of memory");
            return false;
        }
        (void)ps_lane_memo_init(&w->memo, ps_loaded_layer(w->l, PS_LAYER_PROFILE));
        memset(w->is_lane, 0, (size_t)n_lanes + 1);
        for (size_t i = 0; i < w->n_lanes; i++) {
            w->is_lane[w->lanes[i]] = 1;
        }
    }
    return true;
}

/* lane,row,start of a slice. */
static ps_code put_spot(ps_json *j, const ps_loaded *l, uint32_t slice, ps_err *err) {
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    ps_code code = ps_loaded_place(l, slice, &lane, &row, err);
    ps_ref ref = {0};
    if (code == PS_OK && ps_loaded_ref(l, slice, &ref)) {
        ps_json_int(j, lane == PS_NONE ? -1 : (int64_t)lane);
        ps_json_uint(j, row);
        ps_json_int(j, ps_trace_slices(ref.layer->trace)->start_ns[ref.slice]);
    }
    return code;
}

/* Into the array that is open. */
static ps_code put_window_flow(ps_json *j, const ps_loaded *from, uint32_t from_slice,
                               const ps_loaded *to, uint32_t to_slice, ps_err *err) {
    ps_json_uint(j, from_slice);
    ps_json_uint(j, to_slice);
    ps_code code = put_spot(j, from, from_slice, err);
    return code == PS_OK ? put_spot(j, to, to_slice, err) : code;
}

/* {"total":N,"flows":[ */
static void begin_window(ps_json *j, uint64_t total) {
    ps_json_object(j);
    ps_json_key_uint(j, "total", total);
    ps_json_key_array(j, "flows");
}

static ps_code put_window(window *w, ps_err *err) {
    const ps_flow_index *x = ps_loaded_flows(w->l, err);
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    ps_json j = ps_json_to(&w->r->body);
    ps_flow_window span = {.kind = ps_flow_kind_find(x, w->kind),
                           .from_ns = w->from_ns,
                           .to_ns = w->to_ns,
                           .limit = w->limit,
                           .wanted = w->is_lane != NULL ? is_flow_reply_wanted : NULL,
                           .context = w};
    ps_flow_list list = {0};
    ps_code code = span.kind != NULL ? ps_flow_window_list(x, &span, &list, err) : PS_OK;
    begin_window(&j, list.total);
    for (size_t i = 0; code == PS_OK && i < list.n; i++) {
        const ps_flow *flow = &x->flows[list.rows[i]];
        ps_json_array(&j);
        code = put_window_flow(&j, w->l, flow->from, w->l, flow->to, err);
        ps_json_close(&j);
    }
    ps_json_close(&j);
    ps_json_close(&j);
    ps_flow_list_fini(&list);
    return code;
}

/* --- a window across ranks ------------------------------------------------------------------------------------ */

/* The entries of this rank in which flows end, in the window. */
typedef struct endings {
    const ps_slices *s;
    const ps_peer_entry **at;
    size_t n;
} endings;

static int64_t time_of_ending(const void *things, size_t i) {
    const endings *e = things;
    return e->s->start_ns[e->at[i]->slice];
}

/* Whether the flow of this entry ends here, and not in the other rank. */
static bool ends_here(const window *w, const ps_peers *p, uint32_t rank, const ps_peer_entry *e) {
    bool wants_pairs = strcmp(w->kind, PS_FLOW_SEND_RECV) == 0;
    if (e->is_pair != wants_pairs) {
        return false;
    }
    ps_peer_end other =
        e->is_pair ? p->pairs[e->row].send : p->parts[p->collectives[e->row].last].end;
    return other.rank != rank || other.slice != e->slice;
}

static bool find_endings(window *w, const ps_peers *p, uint32_t rank, endings *out) {
    size_t first = p->first_entry[rank];
    size_t end = p->first_entry[rank + 1];
    out->at = ps_calloc(end - first + 1, sizeof(const ps_peer_entry *));
    for (size_t i = first; out->at != NULL && i < end; i++) {
        const ps_peer_entry *e = &p->entries[i];
        int64_t start = out->s->start_ns[e->slice];
        if (start >= w->from_ns && start <= w->to_ns && ends_here(w, p, rank, e) &&
            is_wanted_slice(w, e->slice)) {
            out->at[out->n++] = e;
        }
    }
    return out->at != NULL;
}

static ps_code put_ending(window *w, company *c, const ps_peer_entry *e, ps_json *j, ps_err *err) {
    const ps_peers *p = c->peers;
    ps_peer_end from =
        e->is_pair ? p->pairs[e->row].send : p->parts[p->collectives[e->row].last].end;
    const ps_loaded *other = loaded_of(c, from.rank);
    if (other == NULL) {
        return PS_OK;
    }
    ps_json_array(j);
    ps_code code = put_window_flow(j, other, from.slice, w->l, e->slice, err);
    ps_json_str(j, p->keys[from.rank]);
    ps_json_close(j);
    return code;
}

static ps_code put_endings(window *w, const ps_peers *p, const endings *all, ps_err *err) {
    company c;
    bool ok = open_company(&c, w->q, p);
    size_t *picks = ps_calloc(w->limit + 1, sizeof *picks);
    size_t n_picks = 0;
    if (ok && picks != NULL) {
        n_picks = ps_thin_evenly(all->n, w->limit, time_of_ending, all, picks, &ok);
    }
    ps_code code = ok && picks != NULL ? PS_OK : ps_fail_nomem(err);
    ps_json j = ps_json_to(&w->r->body);
    begin_window(&j, all->n);
    for (size_t i = 0; code == PS_OK && i < n_picks; i++) {
        code = put_ending(w, &c, all->at[picks[i]], &j, err);
    }
    ps_json_close(&j);
    ps_json_key_uint(&j, "unmatched", p->n_unmatched);
    ps_json_close(&j);
    ps_free(picks);
    close_company(&c);
    return code;
}

static ps_code put_window_across(window *w, ps_err *err) {
    const char *key = ps_param_text(w->q, "rank");
    ps_peers *p = NULL;
    ps_code code = ps_peers_get(w->q, key, &p, err);
    uint32_t rank = code == PS_OK ? ps_peers_rank(p, key) : PS_NONE;
    endings all = {.s = ps_trace_slices(ps_loaded_layer(w->l, PS_LAYER_PROFILE)->trace)};
    if (code == PS_OK && rank == PS_NONE) {
        ps_json j = ps_json_to(&w->r->body);
        begin_window(&j, 0);
        ps_json_close(&j);
        ps_json_close(&j);
    } else if (code == PS_OK) {
        code = find_endings(w, p, rank, &all) ? put_endings(w, p, &all, err) : ps_fail_nomem(err);
    }
    ps_free(all.at);
    ps_cache_release(w->q->cache, p);
    return code;
}

static void answer_window(const ps_request *q, ps_reply *r) {
    window w = {.q = q, .r = r};
    if (ps_ask_rank(q, r, &w.l) && ask_window(&w)) {
        ps_err err = PS_ERR_INIT;
        bool is_across =
            strcmp(w.kind, PS_FLOW_SEND_RECV) == 0 || strcmp(w.kind, PS_FLOW_COLLECTIVE) == 0;
        ps_code code = is_across ? put_window_across(&w, &err) : put_window(&w, &err);
        if (code != PS_OK) {
            ps_reply_err(r, &err);
        }
    }
    ps_lane_memo_fini(&w.memo);
    ps_loaded_release(w.l);
}

const ps_route ps_route_flows_of = {
    .path = "/api/flows/of", .method = "GET", .is_slow = true, .answer = answer_of};
const ps_route ps_route_flows_kinds = {
    .path = "/api/flows/kinds", .method = "GET", .is_slow = true, .answer = answer_kinds};
const ps_route ps_route_flows_window = {
    .path = "/api/flows/window", .method = "GET", .is_slow = true, .answer = answer_window};
