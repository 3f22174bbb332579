#include "analyze/comm/commop.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "model/comm_marks.h"

typedef struct collection {
    const ps_trace *trace;
    const ps_analysis_opts *opts;
    ps_diag *diag;
    ps_comm_marks marks;
    ps_step *wanted; /* steps of the id asked for, in start order; end_ns is the latest so far */
    size_t n_wanted;
} collection;

/* --- collection -------------------------------------------------------------------------------------- */

static bool find_wanted_steps(collection *c) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(c->trace, &n);
    c->wanted = ps_calloc(n, sizeof *c->wanted);
    if (c->wanted == NULL) {
        return false;
    }
    int64_t latest_ns = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].id == c->opts->step_id) {
            latest_ns = steps[i].end_ns > latest_ns ? steps[i].end_ns : latest_ns;
            c->wanted[c->n_wanted] = steps[i];
            c->wanted[c->n_wanted++].end_ns = latest_ns;
        }
    }
    return true;
}

static bool in_wanted_step(const collection *c, int64_t host_start) {
    /* wanted[0..low) start at or before host_start */
    PS_PLACE(size_t, low, 0, c->n_wanted, middle, c->wanted[middle].start_ns <= host_start)
    return c->opts->step_id < 0 || (low > 0 && host_start < c->wanted[low - 1].end_ns);
}

static bool collect_mark(collection *c, uint32_t host, uint32_t device) {
    const ps_slices *s = ps_trace_slices(c->trace);
    ps_comm_mark m;
    ps_comm_said said =
        ps_comm_marks_read(&c->marks, s->name[host], ps_trace_text(c->trace, s->name[host]), &m);
    if (said == PS_COMM_BAD) {
        ps_diag_add(c->diag, PS_ODD_COMM_MARK, "MSTX_EVENTS rowid %lld",
                    (long long)s->source_row[host]);
    }
    if (said != PS_COMM_OK || !in_wanted_step(c, s->start_ns[host])) {
        return said != PS_COMM_NOMEM;
    }
    m.start_ns = ps_trace_origin_ns(c->trace) + s->start_ns[device];
    m.end_ns = m.start_ns + s->dur_ns[device];
    (void)ps_trace_arg_int(c->trace, device, "connectionId", &m.tie);
    return ps_comm_marks_add(&c->marks, &m);
}

static bool collect_commop(collection *c) {
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(c->trace, &n_flows);
    const uint8_t *kinds = ps_trace_slices(c->trace)->kind;
    for (size_t i = 0; i < n_flows; i++) {
        bool is_mark = kinds[flows[i].to] == PS_SLICE_MARK_DEVICE;
        if (is_mark && !collect_mark(c, flows[i].from, flows[i].to)) {
            return false;
        }
    }
    return ps_comm_marks_number(&c->marks);
}

/* --- the table --------------------------------------------------------------------------------------- */

enum {
    OP_NAME,
    START,
    END,
    CONNECTION,
    GROUP,
    OP_ID,
    RELAY,
    RETRY,
    DATA_TYPE,
    ALG_TYPE,
    COUNT,
    OP_TYPE,
    N_COLUMNS
};

static const ps_column COLUMNS[N_COLUMNS] = {
    [OP_NAME] = {.name = "opName", .type = PS_COL_STRING_ID},
    [START] = {.name = "startNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [END] = {.name = "endNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [CONNECTION] = {.name = "connectionId", .type = PS_COL_INT},
    [GROUP] = {.name = "groupName", .type = PS_COL_STRING_ID},
    [OP_ID] = {.name = "opId", .type = PS_COL_INT, .sql_type = "INTEGER PRIMARY KEY"},
    [RELAY] = {.name = "relay", .type = PS_COL_INT},
    [RETRY] = {.name = "retry", .type = PS_COL_INT},
    [DATA_TYPE] = {.name = "dataType", .type = PS_COL_INT},
    [ALG_TYPE] = {.name = "algType", .type = PS_COL_STRING_ID},
    [COUNT] = {.name = "count", .type = PS_COL_TEXT, .sql_type = "NUMERIC"},
    [OP_TYPE] = {.name = "opType", .type = PS_COL_STRING_ID},
};

/* -1: the metadata does not say. */
static int64_t place_in_group(const ps_rank_facts *facts, const char *comm_name) {
    for (size_t i = 0; facts != NULL && i < facts->n_groups; i++) {
        if (strcmp(facts->groups[i].comm_name, comm_name) == 0) {
            return facts->groups[i].group_rank;
        }
    }
    return -1;
}

static bool add_commop_p2p(ps_comm_mark *m, const ps_rank_facts *facts, int64_t op_id,
                           const char *tag, ps_p2p_list *p2p, ps_diag *diag) {
    if (!ps_comm_mark_peers(m, place_in_group(facts, m->group))) {
        ps_diag_add(diag, PS_ODD_P2P_PEER, "%s of group %.60s", m->type, m->group);
        return true;
    }
    return ps_p2p_add(
        p2p, (ps_p2p_op){.start_ns = m->start_ns,
                         .end_ns = m->end_ns,
                         .source_row = op_id,
                         .sequence = m->sequence,
                         .iteration = 1,
                         .sender = (int32_t)m->sender,
                         .receiver = (int32_t)m->receiver,
                         .group = ps_strpool_add(&p2p->strings, m->group, strlen(m->group)),
                         .tag = ps_strpool_add(&p2p->strings, tag, strlen(tag)),
                         .is_send = m->is_send});
}

static bool add_commop_row(ps_table *t, const ps_comm_mark *m, int64_t op_id, const char *name) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, START, m->start_ns);
    ps_table_set_int(t, END, m->end_ns);
    ps_table_set_int(t, CONNECTION, m->tie);
    ps_table_set_int(t, OP_ID, op_id);
    ps_table_set_int(t, DATA_TYPE, ps_comm_data_type_id(m->data_type));
    return ps_table_set_text(t, OP_NAME, name) && ps_table_set_text(t, GROUP, m->group) &&
           ps_table_set_text(t, COUNT, m->count) && ps_table_set_text(t, OP_TYPE, m->type);
}

static bool fill_table(collection *c, const ps_rank_facts *facts, ps_table *t, ps_p2p_list *p2p) {
    bool ok = true;
    for (size_t i = 0; ok && i < c->marks.n; i++) {
        ps_comm_mark *m = &c->marks.marks[i];
        char tag[PS_COMM_TAG_SIZE];
        char name[PS_COMM_NAME_SIZE];
        ps_comm_mark_name(m, tag, name);
        ok = add_commop_row(t, m, (int64_t)i, name);
        if (ok && p2p != NULL && (m->is_send || m->is_receive)) {
            ok = add_commop_p2p(m, facts, (int64_t)i, tag, p2p, c->diag);
        }
    }
    if (p2p != NULL) {
        p2p->n_operators = c->marks.n;
    }
    return ok;
}

ps_code ps_commop_from_marks(const ps_trace *trace, const ps_rank_facts *facts,
                             const ps_analysis_opts *opts, ps_table **out, ps_p2p_list *p2p,
                             ps_diag *diag, ps_err *err) {
    *out = NULL;
    collection c = {.trace = trace, .opts = opts, .diag = diag};
    bool ok = ps_comm_marks_init(&c.marks) && find_wanted_steps(&c) && collect_commop(&c);
    if (ok && c.marks.n > 0) {
        *out = ps_table_new("COMMUNICATION_OP", "", COLUMNS, N_COLUMNS);
        ok = *out != NULL && fill_table(&c, facts, *out, p2p);
        if (ok) {
            (*out)->home = PS_HOME_RANK;
            (*out)->mode = PS_TABLE_CREATE;
        } else {
            ps_table_free(*out);
            *out = NULL;
        }
    }
    ps_comm_marks_fini(&c.marks);
    ps_free(c.wanted);
    return ok ? PS_OK : ps_fail_nomem(err);
}
