#include "analyze/comm/comm_waits.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

#define MAX_BACK 64 /* operators of a communicator that may run at once */

enum { OWN, OWN_OF_TEXT, PEER, PEER_OF_TEXT, OP_ID, N_KEYS };
#define SEVERAL_OPS (PS_NONE - 1) /* in place of an operator */

/* One task of an operator. */
typedef struct comm_task {
    uint32_t op;
    uint32_t peer; /* row of the peers; PS_NO_PEER: it transfers */
    int64_t start_ns, end_ns;
} comm_task;

/* Something begins or ends in an operator. */
typedef struct change {
    int64_t at_ns;
    uint32_t peer;
    int32_t by; /* 1 or -1 */
} change;

/* An operator in its communicator on its device. */
typedef struct placed_op {
    uint32_t place, op;
} placed_op;

typedef struct measuring {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    size_t n_tracks;
    const ps_comm_list *list;
    const ps_intervals *exposed;
    ps_comm_waits *out;
    ps_str keys[N_KEYS];
    ps_idmap places; /* communicator and device -> its number */
    ps_idmap named;  /* place, opId -> operator, SEVERAL_OPS */
    size_t n_places;
    placed_op *ops; /* by place, then as in the list: by start */
    size_t n_ops;
    size_t *first,
        *at; /* [n_places + 1] where its operators begin; [n_places] the last one that began */
    ps_comm_lane *lanes; /* [n_tracks] */
    ps_idmap peers;      /* group, peer -> row */
    ps_idmap own_places; /* group -> row */
    comm_task *tasks;
    size_t n_tasks, cap_tasks;
    change *changes;
    size_t cap_changes;
    /* of each peer: lanes that wait for it, and what had been waited, exposed or not, when it began */
    uint32_t *n_waiting;
    int64_t *began_ns, *began_exposed_ns;
} measuring;

/* --- what a task is ---------------------------------------------------------------------------------------------------- */

static bool is_wait(const char *name) {
    return strncasecmp(name, "Notify_Wait", 11) == 0 || strncasecmp(name, "Notify Wait", 11) == 0 ||
           strncasecmp(name, "NotifyWait", 10) == 0;
}

bool ps_comm_task_waits(ps_comm_lane *lane, const char *name) {
    if (strncasecmp(name, "RDMASend", 8) == 0) {
        lane->n_sends = lane->n_waits > 0 ? 1 : lane->n_sends + 1;
        lane->n_waits = 0;
        return false;
    }
    if (!is_wait(name)) {
        *lane = (ps_comm_lane){0};
        return false;
    }
    lane->n_waits++;
    return lane->n_sends < 2 || lane->n_waits > 2;
}

/* What the arguments of a task or an operator say; -1 nothing. */
typedef struct told_args {
    int32_t own, peer; /* places in the communicator; what stands for "no rank" is none */
    int64_t op_id;     /* the operator in its communicator */
} told_args;

static told_args read_told_args(const measuring *m, uint32_t slice) {
    told_args told = {-1, -1, -1};
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(m->trace, slice); ps_arg_next(&it, &arg);) {
        for (size_t k = 0; k < N_KEYS; k++) {
            bool is_it = !ps_str_is_none(m->keys[k]) && ps_str_eq(m->keys[k], arg.key);
            if (!is_it || arg.type != PS_ARG_INT || arg.u.i < 0 || arg.u.i >= INT32_MAX) {
                continue;
            }
            if (k == OP_ID) {
                told.op_id = arg.u.i;
            } else {
                *(k == OWN || k == OWN_OF_TEXT ? &told.own : &told.peer) = (int32_t)arg.u.i;
            }
        }
    }
    return told;
}

static bool note_own(measuring *m, ps_str group, int32_t own) {
    ps_comm_waits *out = m->out;
    uint32_t row = own >= 0 ? ps_idmap_get(&m->own_places, group.id) : 0;
    if (own < 0 || row != PS_IDMAP_NONE) {
        ps_own_place *known = own >= 0 ? &out->places[row] : NULL;
        if (known != NULL && known->place != own) {
            known->place = -1;
        }
        return true;
    }
    if (!ps_grow(&out->places, &out->cap_own_places, out->n_own_places + 1, UINT32_MAX - 1,
                 sizeof *out->places) ||
        !ps_idmap_put(&m->own_places, group.id, (uint32_t)out->n_own_places)) {
        return false;
    }
    out->places[out->n_own_places++] = (ps_own_place){group, own};
    return true;
}

/* The row of whom the operator waits for. */
static bool find_peer(measuring *m, ps_str group, int32_t own, int32_t peer, uint32_t *row) {
    ps_comm_waits *out = m->out;
    peer = peer == own ? -1 : peer;
    uint64_t key = (uint64_t)group.id << 32 | (uint32_t)peer;
    *row = ps_idmap_get(&m->peers, key);
    if (*row != PS_IDMAP_NONE) {
        return true;
    }
    *row = (uint32_t)out->n_peers;
    if (!ps_grow(&out->peers, &out->cap_peers, out->n_peers + 1, PS_NO_PEER - 1,
                 sizeof *out->peers) ||
        !ps_idmap_put(&m->peers, key, *row)) {
        return false;
    }
    out->peers[out->n_peers++] = (ps_peer_wait){.group = group, .peer = peer};
    return true;
}

/* --- whose it is --------------------------------------------------------------------------------------------------------- */

static uint64_t place_key(const ps_track *t) {
    return (uint64_t)t->name.id << 32 | (uint32_t)(t->device + 1);
}

PS_COMPARE(by_place, placed_op, PS_BY(place) PS_BY(op))

/* By its number in the communicator, where it has one that no other one has. */
static bool name_op(measuring *m, uint32_t place, uint32_t op) {
    int64_t id = read_told_args(m, m->list->ops[op].slice).op_id;
    uint64_t key = (uint64_t)place << 32 | (uint32_t)id;
    bool is_known = id >= 0 && ps_idmap_get(&m->named, key) != PS_IDMAP_NONE;
    return id < 0 || ps_idmap_put(&m->named, key, is_known ? SEVERAL_OPS : op);
}

static bool place_ops(measuring *m) {
    m->ops = ps_calloc(m->list->n + 1, sizeof *m->ops);
    bool ok = m->ops != NULL;
    for (size_t i = 0; ok && i < m->list->n; i++) {
        uint32_t slice = m->list->ops[i].slice;
        const ps_track *t = &m->tracks[m->s->track[slice]];
        if (m->s->kind[slice] != PS_SLICE_COMM_OP || t->kind != PS_TRACK_COMM_GROUP) {
            continue;
        }
        uint32_t place = ps_idmap_get(&m->places, place_key(t));
        if (place == PS_IDMAP_NONE) {
            place = (uint32_t)m->n_places++;
            ok = ps_idmap_put(&m->places, place_key(t), place);
        }
        ok = ok && name_op(m, place, (uint32_t)i);
        m->ops[m->n_ops++] = (placed_op){place, (uint32_t)i};
    }
    ps_sort(m->ops, m->n_ops, sizeof *m->ops, by_place);
    m->first = ps_calloc(m->n_places + 1, sizeof *m->first);
    m->at = ps_calloc(m->n_places + 1, sizeof *m->at);
    ok = ok && m->first != NULL && m->at != NULL;
    for (size_t i = 0; ok && i < m->n_ops; i++) {
        m->first[m->ops[i].place + 1] = i + 1;
    }
    for (size_t p = 0; ok && p < m->n_places; p++) {
        m->at[p] = m->first[p];
    }
    return ok;
}

/* The one that the task names. Else, as tasks come by start, and so do the operators of a place: of several that run the one that began last. */
static uint32_t op_of_task(measuring *m, uint32_t place, int64_t op_id, int64_t start_ns) {
    uint32_t named = op_id >= 0 ? ps_idmap_get(&m->named, (uint64_t)place << 32 | (uint32_t)op_id)
                                : PS_IDMAP_NONE;
    if (named != PS_IDMAP_NONE && named != SEVERAL_OPS) {
        return named;
    }
    size_t *at = &m->at[place];
    int64_t epoch_ns = ps_trace_origin_ns(m->trace) + start_ns;
    while (*at < m->first[place + 1] && m->list->ops[m->ops[*at].op].start_ns <= epoch_ns) {
        (*at)++;
    }
    for (size_t i = *at; i > m->first[place] && *at - i < MAX_BACK; i--) {
        if (m->list->ops[m->ops[i - 1].op].end_ns > epoch_ns) {
            return m->ops[i - 1].op;
        }
    }
    return PS_NONE;
}

static bool take_wait_task(measuring *m, uint32_t slice) {
    const ps_track *t = &m->tracks[m->s->track[slice]];
    bool waits = ps_comm_task_waits(&m->lanes[m->s->track[slice]],
                                    ps_trace_text(m->trace, m->s->name[slice]));
    uint32_t place =
        t->kind == PS_TRACK_COMM_PLANE ? ps_idmap_get(&m->places, place_key(t)) : PS_IDMAP_NONE;
    if (place == PS_IDMAP_NONE) {
        return true;
    }
    told_args told = read_told_args(m, slice);
    uint32_t op = op_of_task(m, place, told.op_id, m->s->start_ns[slice]);
    if (op == PS_NONE) {
        return true;
    }
    int32_t own = told.own;
    int32_t peer = told.peer;
    uint32_t row = PS_NO_PEER;
    int64_t n_places = (own > peer ? (int64_t)own : (int64_t)peer) + 1;
    m->out->n_places = n_places > m->out->n_places ? n_places : m->out->n_places;
    m->out->ops[op].has_tasks = true;
    m->out->ops[op].names_ranks = m->out->ops[op].names_ranks || own >= 0 || peer >= 0;
    m->out->has_tasks = m->out->has_tasks || !m->list->ops[op].look->is_p2p;
    if (!note_own(m, m->list->ops[op].look->group, own)) {
        return false;
    }
    if (m->s->dur_ns[slice] == 0) {
        return true;
    }
    if ((waits && !find_peer(m, m->list->ops[op].look->group, own, peer, &row)) ||
        !ps_grow(&m->tasks, &m->cap_tasks, m->n_tasks + 1, UINT32_MAX, sizeof *m->tasks)) {
        return false;
    }
    int64_t start_ns = m->s->start_ns[slice];
    m->tasks[m->n_tasks++] = (comm_task){op, row, start_ns, start_ns + m->s->dur_ns[slice]};
    return true;
}

static bool take_wait_tasks(measuring *m) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->s->n; i++) {
        ok = m->s->kind[i] != PS_SLICE_COMM_TASK || take_wait_task(m, i);
    }
    return ok;
}

/* --- sums ------------------------------------------------------------------------------------------------------------------ */

PS_COMPARE(by_op, comm_task, PS_BY(op) PS_BY(start_ns))

/* What begins first: a wait behind a wait is one. */
PS_COMPARE(by_wait_time, change, PS_BY(at_ns) PS_BY_DOWN(by))

/* What goes on in an operator at a moment of the walk over its changes. */
typedef struct moment {
    ps_comm_op_waits *op;
    bool counts;      /* of a collective */
    bool is_nameless; /* that names nobody */
    uint32_t n_transfers;
    uint32_t n_peers;   /* that are waited for */
    uint64_t peers;     /* the sum of their rows: of one alone its row */
    int64_t exposed_ns; /* waited so far, where nothing hides it */
} moment;

/* A wait right behind one of the same operator goes on. */
static bool note_nameless(measuring *m, const moment *now, int64_t from_ns, int64_t to_ns) {
    ps_comm_waits *out = m->out;
    int64_t origin_ns = ps_trace_origin_ns(m->trace);
    ps_wait_span x = {(uint32_t)(now->op - out->ops), origin_ns + from_ns, origin_ns + to_ns};
    ps_wait_span *last = out->n_nameless > 0 ? &out->nameless[out->n_nameless - 1] : NULL;
    if (last != NULL && last->op == x.op && last->end_ns == x.start_ns) {
        last->end_ns = x.end_ns;
        return true;
    }
    if (last != NULL && last->end_ns - last->start_ns < PS_SIGNAL_NS) {
        *last = x;
        return true;
    }
    if (!ps_grow(&out->nameless, &out->cap_nameless, out->n_nameless + 1, UINT32_MAX,
                 sizeof *out->nameless)) {
        return false;
    }
    out->nameless[out->n_nameless++] = x;
    return true;
}

static bool pass(measuring *m, moment *now, int64_t from_ns, int64_t to_ns) {
    if (to_ns <= from_ns || (now->n_transfers == 0 && now->n_peers == 0)) {
        return true;
    }
    int64_t exposed_ns = now->counts ? ps_intervals_within_ns(m->exposed, from_ns, to_ns) : 0;
    if (now->n_transfers > 0) {
        now->op->transfer_ns = ps_i64_plus(now->op->transfer_ns, to_ns - from_ns);
        m->out->transfer_ns = ps_i64_plus(m->out->transfer_ns, exposed_ns);
        return !now->counts || ps_intervals_add(&m->out->transfers, from_ns, to_ns);
    }
    now->op->wait_ns = ps_i64_plus(now->op->wait_ns, to_ns - from_ns);
    m->out->wait_ns = ps_i64_plus(m->out->wait_ns, exposed_ns);
    now->exposed_ns = ps_i64_plus(now->exposed_ns, exposed_ns);
    if (now->n_peers == 1) {
        ps_peer_wait *p = &m->out->peers[now->peers];
        p->alone_ns = ps_i64_plus(p->alone_ns, exposed_ns);
    }
    if (!now->counts) {
        return true;
    }
    return ps_intervals_add(&m->out->waits, from_ns, to_ns) &&
           (!now->is_nameless || note_nameless(m, now, from_ns, to_ns));
}

static void take_change(measuring *m, moment *now, const change *c) {
    if (c->peer == PS_NO_PEER) {
        now->n_transfers += (uint32_t)c->by;
        return;
    }
    uint32_t *n = &m->n_waiting[c->peer];
    *n += (uint32_t)c->by;
    if (now->counts && now->is_nameless && *n > m->out->n_at_once) {
        m->out->n_at_once = *n;
    }
    if (c->by > 0 && *n == 1) {
        now->n_peers++;
        now->peers += c->peer;
        m->began_ns[c->peer] = now->op->wait_ns;
        m->began_exposed_ns[c->peer] = now->exposed_ns;
    } else if (c->by < 0 && *n == 0) {
        ps_peer_wait *p = &m->out->peers[c->peer];
        int64_t ns = now->op->wait_ns - m->began_ns[c->peer];
        now->n_peers--;
        now->peers -= c->peer;
        p->waited_ns = ps_i64_plus(p->waited_ns, now->exposed_ns - m->began_exposed_ns[c->peer]);
        if (p->peer >= 0 && ns > now->op->most_ns) {
            now->op->most_ns = ns;
            now->op->most_exposed_ns = now->exposed_ns - m->began_exposed_ns[c->peer];
            now->op->most = c->peer;
        }
    }
}

static bool sum_op(measuring *m, const comm_task *tasks, size_t n) {
    if (!ps_grow(&m->changes, &m->cap_changes, 2 * n, SIZE_MAX / 64, sizeof *m->changes)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        m->changes[2 * i] = (change){tasks[i].start_ns, tasks[i].peer, 1};
        m->changes[2 * i + 1] = (change){tasks[i].end_ns, tasks[i].peer, -1};
    }
    qsort(m->changes, 2 * n, sizeof *m->changes, by_wait_time);
    moment now = {.op = &m->out->ops[tasks[0].op],
                  .counts = !m->list->ops[tasks[0].op].look->is_p2p,
                  .is_nameless = !m->out->ops[tasks[0].op].names_ranks};
    bool ok = true;
    for (size_t i = 0; ok && i < 2 * n; i++) {
        ok = pass(m, &now, i > 0 ? m->changes[i - 1].at_ns : m->changes[i].at_ns,
                  m->changes[i].at_ns);
        take_change(m, &now, &m->changes[i]);
    }
    return ok;
}

/* What of the waits for nobody knows whom nothing hides. */
static bool sum_nameless(measuring *m) {
    ps_comm_waits *out = m->out;
    int64_t origin_ns = ps_trace_origin_ns(m->trace);
    ps_intervals waits = {0};
    ps_wait_span *last = out->n_nameless > 0 ? &out->nameless[out->n_nameless - 1] : NULL;
    out->n_nameless -= last != NULL && last->end_ns - last->start_ns < PS_SIGNAL_NS;
    bool ok = true;
    for (size_t i = 0; ok && i < out->n_nameless; i++) {
        ok = ps_intervals_add(&waits, out->nameless[i].start_ns - origin_ns,
                              out->nameless[i].end_ns - origin_ns);
    }
    ps_intervals_unite(&waits);
    ok = ok && ps_intervals_both(&waits, m->exposed, &out->nameless_exposed);
    for (size_t i = 0; i < out->nameless_exposed.n; i++) {
        out->nameless_exposed.at[i].start_ns += origin_ns;
        out->nameless_exposed.at[i].end_ns += origin_ns;
    }
    ps_intervals_fini(&waits);
    return ok;
}

static bool sum_all(measuring *m) {
    size_t n_peers = m->out->n_peers + 1;
    m->n_waiting = ps_calloc(n_peers, sizeof *m->n_waiting);
    m->began_ns = ps_calloc(n_peers, sizeof *m->began_ns);
    m->began_exposed_ns = ps_calloc(n_peers, sizeof *m->began_exposed_ns);
    bool ok = m->n_waiting != NULL && m->began_ns != NULL && m->began_exposed_ns != NULL;
    ps_sort(m->tasks, m->n_tasks, sizeof *m->tasks, by_op);
    for (size_t i = 0, end = 0; ok && i < m->n_tasks; i = end) {
        for (end = i + 1; end < m->n_tasks && m->tasks[end].op == m->tasks[i].op;) {
            end++;
        }
        ok = sum_op(m, &m->tasks[i], end - i);
    }
    ps_intervals_unite(&m->out->transfers);
    ps_intervals_unite(&m->out->waits);
    return ok && sum_nameless(m);
}

static bool begin_wait(measuring *m) {
    static const char *const KEYS[N_KEYS] = {[OWN] = "srcRank",
                                             [OWN_OF_TEXT] = "src rank",
                                             [PEER] = "dstRank",
                                             [PEER_OF_TEXT] = "dst rank",
                                             [OP_ID] = "opId"};
    m->s = ps_trace_slices(m->trace);
    m->tracks = ps_trace_tracks(m->trace, &m->n_tracks);
    ps_idmap_init(&m->places);
    ps_idmap_init(&m->named);
    ps_idmap_init(&m->peers);
    ps_idmap_init(&m->own_places);
    for (size_t k = 0; k < N_KEYS; k++) {
        m->keys[k] = ps_trace_find_text(m->trace, KEYS[k]);
    }
    m->lanes = ps_calloc(m->n_tracks + 1, sizeof *m->lanes);
    m->out->ops = ps_calloc(m->list->n + 1, sizeof *m->out->ops);
    for (size_t i = 0; m->out->ops != NULL && i < m->list->n; i++) {
        m->out->ops[i].most = PS_NO_PEER;
    }
    return m->lanes != NULL && m->out->ops != NULL;
}

ps_code ps_comm_waits_measure(const ps_trace *trace, const ps_comm_list *list,
                              const ps_intervals *exposed, ps_comm_waits *out, ps_err *err) {
    *out = (ps_comm_waits){0};
    measuring m = {.trace = trace, .list = list, .exposed = exposed, .out = out};
    bool ok = begin_wait(&m) && place_ops(&m) && take_wait_tasks(&m) && sum_all(&m);
    ps_idmap_fini(&m.places);
    ps_idmap_fini(&m.named);
    ps_idmap_fini(&m.peers);
    ps_idmap_fini(&m.own_places);
    ps_free(m.ops);
    ps_free(m.first);
    ps_free(m.at);
    ps_free(m.lanes);
    ps_free(m.tasks);
    ps_free(m.changes);
    ps_free(m.n_waiting);
    ps_free(m.began_ns);
    ps_free(m.began_exposed_ns);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_comm_waits_fini(ps_comm_waits *w) {
    ps_free(w->ops);
    ps_free(w->peers);
    ps_free(w->places);
    ps_free(w->nameless);
    ps_intervals_fini(&w->nameless_exposed);
    ps_intervals_fini(&w->transfers);
    ps_intervals_fini(&w->waits);
    *w = (ps_comm_waits){0};
}

static void peer_wait_archive(ps_archive *a, void *wait) {
    ps_peer_wait *x = wait;
    PS_ARCHIVE(a, x, group, peer, waited_ns, alone_ns);
}

static void own_place_archive(ps_archive *a, void *place) {
    ps_own_place *x = place;
    PS_ARCHIVE(a, x, group, place);
}

static void wait_span_archive(ps_archive *a, void *span) {
    ps_wait_span *x = span;
    PS_ARCHIVE(a, x, op, start_ns, end_ns);
}

static void comm_op_waits_archive(ps_archive *a, void *waits) {
    ps_comm_op_waits *x = waits;
    PS_ARCHIVE(a, x, transfer_ns, wait_ns, most, most_ns, most_exposed_ns, has_tasks, names_ranks);
}

void ps_comm_waits_archive(ps_archive *a, ps_comm_waits *x, ps_comm_list *list) {
    ps_strpool *before = ps_archive_use_known_pool(a, &list->strings);
    PS_ARCHIVE_ARRAY_OF(a, x, ops, list->n, comm_op_waits_archive);
    PS_ARCHIVE_ARRAY(a, x, peers, n_peers, peer_wait_archive);
    PS_ARCHIVE_ARRAY(a, x, places, n_own_places, own_place_archive);
    PS_ARCHIVE_ARRAY(a, x, nameless, n_nameless, wait_span_archive);
    (void)ps_archive_use_pool(a, before);
    ps_intervals_archive(a, &x->nameless_exposed);
    ps_intervals_archive(a, &x->transfers);
    ps_intervals_archive(a, &x->waits);
    PS_ARCHIVE(a, x, n_at_once, wait_ns, transfer_ns, n_places, has_tasks);
}
