#include "query/comm_tables.h"

#include "analyze/derived/comm_part.h"
#include "base/alloc.h"
#include "query/schema.h"

typedef struct comm_row {
    int64_t rank, step, start_ns, dur_ns, end_ns, host_start_ns, bytes, elements, sequence, match,
        peer, ranks, group_size, late_ns, waited_ns, profile;
    uint32_t slice;
    const char *kind, *name, *type, *communicator, *data_type;
} comm_row;

typedef struct wait_row {
    int64_t rank, for_rank, step, start_ns, waited_ns, match, ranks, group_size;
    uint32_t slice, for_slice;
    const char *kind, *communicator, *name;
} wait_row;

enum {
    INTEGER = PS_UNIT_NONE,
    SLICE_ID = PS_UNIT_NONE,
    TEXT = PS_UNIT_NONE,
    BYTES = PS_UNIT_BYTES,
    DURATION = PS_UNIT_NS,
    MOMENT = PS_UNIT_NS
};
#define X(id, its_name, its_unit, hidden, text)                                                    \
    {.name = its_name, PS_FIELD(comm_row, id), .unit = (ps_unit)its_unit},
static const ps_column COMM[] = {PS_SQL_COMM_COLUMNS(X)};
#undef X
#define X(id, its_name, its_unit, hidden, text)                                                    \
    {.name = its_name, PS_FIELD(wait_row, id), .unit = (ps_unit)its_unit},
static const ps_column WAIT[] = {PS_SQL_WAIT_COLUMNS(X)};
#undef X

/* --- what was matched -------------------------------------------------------------------------------------------- */

static int64_t known_or_unknown(int64_t number) {
    return number >= 0 ? number : PS_UNKNOWN_INT;
}

/* Of one operator of one rank. */
typedef struct match {
    int64_t number, late_ns, waited_ns, ranks;
} match;

typedef struct matching {
    const ps_reduce_input *in;
    const ps_comm_list **lists;
    ps_skew skew;
    match **of; /* [rank][op] */
    ps_table *comm, *wait;
} matching;

static const ps_comm_op *op_at(const matching *m, uint32_t rank, uint32_t op) {
    return &m->lists[rank]->ops[op];
}

static bool begin_matches(matching *m) {
    m->of = ps_calloc(m->in->n_ranks + 1, sizeof *m->of);
    bool ok = m->of != NULL;
    for (size_t r = 0; r < m->in->n_ranks && ok; r++) {
        size_t n = m->lists[r] != NULL ? m->lists[r]->n : 0;
        m->of[r] = ps_calloc(n + 1, sizeof **m->of);
        ok = m->of[r] != NULL;
        for (size_t i = 0; i < n && ok; i++) {
            m->of[r][i] = (match){PS_UNKNOWN_INT, PS_UNKNOWN_INT, PS_UNKNOWN_INT, PS_UNKNOWN_INT};
        }
    }
    return ok;
}

/* Who waited, for whom. */
typedef struct meeting {
    uint32_t rank, op, for_rank, for_op;
    const char *kind;
    ps_str group;
    match match;
} meeting;

static void put_wait(matching *m, const meeting *who) {
    const ps_comm_op *op = op_at(m, who->rank, who->op);
    if (who->match.waited_ns > 0) {
        ps_table_put(m->wait,
                     &(wait_row){.rank = m->in->ranks[who->rank].rank,
                                 .for_rank = m->in->ranks[who->for_rank].rank,
                                 .kind = who->kind,
                                 .communicator =
                                     ps_text_or_null(ps_strpool_get(&m->skew.strings, who->group)),
                                 .name = ps_comm_text(m->lists[who->rank], op->name),
                                 .step = op->step == PS_STEP_OUTSIDE ? PS_UNKNOWN_INT : op->step,
                                 .start_ns = op->start_ns,
                                 .waited_ns = who->match.waited_ns,
                                 .ranks = who->match.ranks,
                                 .group_size = known_or_unknown(op->look->group_size),
                                 .slice = op->slice,
                                 .for_slice = op_at(m, who->for_rank, who->for_op)->slice,
                                 .match = who->match.number});
    }
}

static void take_collective(matching *m, size_t number) {
    const ps_matched_collective *c = &m->skew.collectives[number];
    const ps_collective_part *last = &m->skew.parts[c->last];
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const ps_collective_part *p = &m->skew.parts[i];
        match of = {(int64_t)number, p->late_ns, p->waited_ns, c->n};
        m->of[p->rank][p->op] = of;
        put_wait(m, &(meeting){p->rank, p->op, last->rank, last->op, "collective", c->group, of});
    }
}

static void take_receive(matching *m, size_t number) {
    const ps_skew_receive *r = &m->skew.receives[number];
    int64_t of_both = (int64_t)(m->skew.n_collectives + number);
    match of = {of_both, PS_UNKNOWN_INT, r->is_known ? r->waited_ns : PS_UNKNOWN_INT, 2};
    m->of[r->sender][r->send_op] = (match){of_both, PS_UNKNOWN_INT, PS_UNKNOWN_INT, 2};
    m->of[r->receiver][r->receive_op] = of;
    put_wait(
        m, &(meeting){r->receiver, r->receive_op, r->sender, r->send_op, "receive", r->group, of});
}

/* --- the tables -------------------------------------------------------------------------------------------------- */

static void put_op(matching *m, size_t rank, size_t i) {
    const ps_comm_list *list = m->lists[rank];
    const ps_comm_op *op = &list->ops[i];
    const match *of = &m->of[rank][i];
    ps_table_put(
        m->comm,
        &(comm_row){.rank = m->in->ranks[rank].rank,
                    .slice = op->slice,
                    .kind = !op->look->is_p2p   ? "collective"
                            : op->look->is_send ? "send"
                                                : "receive",
                    .name = ps_comm_text(list, op->name),
                    .type = ps_text_or_null(ps_comm_text(list, op->look->type)),
                    .communicator = ps_text_or_null(ps_comm_text(list, op->look->group)),
                    .step = op->step == PS_STEP_OUTSIDE ? PS_UNKNOWN_INT : op->step,
                    .start_ns = op->start_ns,
                    .dur_ns = ps_comm_op_ns(op),
                    .end_ns = op->end_ns,
                    .host_start_ns =
                        op->host_start_ns != PS_NO_TIME ? op->host_start_ns : PS_UNKNOWN_INT,
                    .bytes = known_or_unknown(op->look->size_bytes),
                    .elements = known_or_unknown(op->look->n_elements),
                    .data_type = ps_text_or_null(ps_comm_text(list, op->look->data_type)),
                    .sequence = known_or_unknown(op->sequence),
                    .peer = known_or_unknown(ps_comm_peer_rank(op->look, m->in->ranks[rank].rank)),
                    .match = of->number,
                    .ranks = of->ranks,
                    .group_size = known_or_unknown(op->look->group_size),
                    .late_ns = of->late_ns,
                    .waited_ns = of->waited_ns,
                    .profile = (int64_t)rank});
}

static void put_all(matching *m) {
    m->comm = ps_table_new("comm", "", PS_COLUMNS(COMM));
    m->wait = ps_table_new("wait", "", PS_COLUMNS(WAIT));
    for (size_t i = 0; i < m->skew.n_collectives; i++) {
        take_collective(m, i);
    }
    for (size_t i = 0; i < m->skew.n_receives; i++) {
        take_receive(m, i);
    }
    for (size_t rank = 0; rank < m->in->n_ranks; rank++) {
        for (size_t i = 0; m->lists[rank] != NULL && i < m->lists[rank]->n; i++) {
            put_op(m, rank, i);
        }
    }
    ps_result_give(m->in->result, m->comm);
    ps_result_give(m->in->result, m->wait);
}

/* --- the analysis ------------------------------------------------------------------------------------------------ */

static ps_code map_comm(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, 0, out, err);
}

static ps_code reduce_comm(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    matching m = {.in = in, .lists = ps_comm_lists(in)};
    ps_skew_input input = {
        .lists = m.lists, .ranks = in->ranks, .n_ranks = in->n_ranks, .step = -1};
    ps_code code = m.lists != NULL ? ps_skew_measure(&input, &m.skew, err) : ps_fail_nomem(err);
    if (code == PS_OK && !begin_matches(&m)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        put_all(&m);
        code = ps_result_code(in->result, err);
    }
    for (size_t r = 0; m.of != NULL && r < in->n_ranks; r++) {
        ps_free(m.of[r]);
    }
    ps_free(m.of);
    ps_skew_fini(&m.skew);
    ps_free(m.lists);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_comm, .reduce = reduce_comm}};

const ps_analysis ps_sql_comm_analysis = {
    .name = "comm",
    .hidden = true,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
};
