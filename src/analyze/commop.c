#include "analyze/commop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/group_hash.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/lit.h"
#include "base/num.h"

/* One communication mark with a device side. Text lives in the string pool of the collection, or is static. */
typedef struct comm_mark {
    int64_t start_ns, end_ns; /* device, epoch */
    int64_t connection_id;
    const char *type; /* "hcom_send_", "HcclBroadcast_" */
    const char *group, *data_type, *count;
    int64_t sender, receiver; /* as named by the message, -1 when it does not */
    bool is_send, is_receive;
} comm_mark;

typedef enum parse_result { PARSE_OTHER, PARSE_BAD, PARSE_NOMEM, PARSE_OK } parse_result;

/* What a message says: the mark without times and connection. */
typedef struct message {
    comm_mark mark;
    parse_result result;
} message;

typedef struct collection {
    const ps_trace *trace;
    const ps_analysis_opts *opts;
    ps_diag *diag;
    ps_strpool texts;
    ps_arena scratch; /* of the message being read */
    ps_idmap by_name; /* string id -> row in messages: they repeat */
    message *messages;
    size_t n_messages, cap_messages;
    ps_step *wanted; /* steps of the id asked for, in start order; end_ns is the latest so far */
    size_t n_wanted;
    comm_mark *marks;
    size_t n, cap;
} collection;

/* NULL when memory is out. */
static const char *keep(collection *c, const char *text) {
    ps_str id = ps_strpool_add(&c->texts, text, strlen(text));
    return ps_str_is_none(id) ? NULL : ps_strpool_get(&c->texts, id);
}

/* Ids of ENUM_HCCL_DATA_TYPE; what is not in it is "not available". */
static int64_t data_type_id(const char *name) {
    static const struct {
        const char *name;
        int64_t id;
    } TYPES[] = {{"int8", 0},  {"int16", 1},  {"int32", 2},  {"fp16", 3},   {"fp32", 4},
                 {"int64", 5}, {"uint64", 6}, {"uint8", 7},  {"uint16", 8}, {"uint32", 9},
                 {"fp64", 10}, {"bfp16", 11}, {"int128", 12}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strcasecmp(TYPES[i].name, name) == 0) {
            return TYPES[i].id;
        }
    }
    return 65534;
}

/* Point-to-point operators get the profiler's own names, which pairing and MindStudio Insight look for; the
 * others keep the name of the call. */
static const char *op_type(collection *c, comm_mark *m, const char *call, const char *prefix) {
    const char *plain = strncasecmp(call, "Hccl", 4) == 0 ? call + 4 : call;
    m->is_send = strcasecmp(plain, "Send") == 0;
    m->is_receive = strcasecmp(plain, "Recv") == 0 || strcasecmp(plain, "Receive") == 0;
    if (m->is_send || m->is_receive) {
        return m->is_send ? "hcom_send_" : "hcom_receive_";
    }
    char text[160];
    (void)snprintf(text, sizeof text, "%s%s_", prefix, prefix[0] != '\0' ? plain : call);
    return keep(c, text);
}

static bool set_texts(collection *c, comm_mark *m, const char *group, const char *type,
                      const char *count) {
    m->group = keep(c, group);
    m->data_type = keep(c, type);
    m->count = keep(c, count);
    return m->type != NULL && m->group != NULL && m->data_type != NULL && m->count != NULL;
}

/* A member as text: strings as they are, integers as their digits, NULL otherwise. */
static const char *member(const ps_lit *dict, const char *key) {
    const ps_lit *v = ps_lit_get(dict, key);
    return v != NULL && (v->kind == PS_LIT_STRING || v->kind == PS_LIT_INT) ? v->text : NULL;
}

static parse_result parse_json(collection *c, const char *text, comm_mark *m) {
    if (strstr(text, "opName") == NULL || strstr(text, "groupName") == NULL) {
        return PARSE_OTHER;
    }
    size_t n = strlen(text);
    char *plain = ps_arena_alloc(&c->scratch, n + 1);
    if (plain == NULL) {
        return PARSE_NOMEM;
    }
    size_t len = 0;
    for (size_t i = 0; i < n; i++) { /* some writers store the quotes escaped */
        if (text[i] != '\\' || text[i + 1] != '"') {
            plain[len++] = text[i];
        }
    }
    plain[len] = '\0';
    ps_err odd = PS_ERR_INIT;
    const ps_lit *dict = ps_lit_parse(&c->scratch, plain, len, &odd);
    if (odd.code == PS_NOMEM) {
        return PARSE_NOMEM;
    }
    const char *call = member(dict, "opName");
    const char *group = member(dict, "groupName");
    const char *type = member(dict, "dataType");
    const char *count = member(dict, "count");
    if (call == NULL || group == NULL || type == NULL || count == NULL) {
        return PARSE_BAD;
    }
    m->type = op_type(c, m, call, "");
    const ps_lit *receiver =
        ps_lit_get(dict, "dstRank"); /* or as the library's argument is called */
    (void)ps_lit_int(ps_lit_get(dict, "srcRank"), &m->sender);
    (void)ps_lit_int(receiver != NULL ? receiver : ps_lit_get(dict, "destRank"), &m->receiver);
    return set_texts(c, m, group, type, count) ? PARSE_OK : PARSE_NOMEM;
}

/* comm:HcclAllReduce,<group>,<dtype>,<count> */
static parse_result parse_commas(collection *c, const char *text, comm_mark *m) {
    static const char HEAD[] = "comm:";
    if (strncmp(text, HEAD, sizeof HEAD - 1) != 0) {
        return PARSE_OTHER;
    }
    char *copy = ps_arena_strndup(&c->scratch, text, strlen(text));
    if (copy == NULL) {
        return PARSE_NOMEM;
    }
    char *fields[4] = {copy + sizeof HEAD - 1};
    size_t n = 1;
    for (char *p = copy; *p != '\0'; p++) {
        if (*p == ',') {
            *p = '\0';
            if (n == 4) {
                return PARSE_BAD;
            }
            fields[n++] = p + 1;
        }
    }
    if (n != 4) {
        return PARSE_BAD;
    }
    m->type = op_type(c, m, fields[0], "hcom_");
    return set_texts(c, m, fields[1], fields[2], fields[3]) ? PARSE_OK : PARSE_NOMEM;
}

static parse_result parse_message(collection *c, const char *text, comm_mark *m) {
    const char *start = text + strspn(text, " \t");
    return *start == '{' ? parse_json(c, start, m) : parse_commas(c, start, m);
}

/* The row of the message, read when it is new; PS_IDMAP_NONE when memory is out. */
static uint32_t find_message(collection *c, ps_str name) {
    uint32_t row = ps_idmap_get(&c->by_name, name.id);
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    message said = {.mark = {.sender = -1, .receiver = -1}};
    ps_arena_init(&c->scratch);
    said.result = parse_message(c, ps_trace_text(c->trace, name), &said.mark);
    ps_arena_fini(&c->scratch);
    if (said.result == PARSE_NOMEM ||
        !ps_grow(&c->messages, &c->cap_messages, c->n_messages + 1, UINT32_MAX - 1,
                 sizeof *c->messages) ||
        !ps_idmap_put(&c->by_name, name.id, (uint32_t)c->n_messages)) {
        return PS_IDMAP_NONE;
    }
    c->messages[c->n_messages] = said;
    return (uint32_t)c->n_messages++;
}

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
    size_t low = 0; /* wanted[0..low) start at or before host_start */
    size_t high = c->n_wanted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->wanted[middle].start_ns <= host_start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return c->opts->step_id < 0 || (low > 0 && host_start < c->wanted[low - 1].end_ns);
}

static bool collect_mark(collection *c, uint32_t host, uint32_t device) {
    const ps_slices *s = ps_trace_slices(c->trace);
    uint32_t row = find_message(c, s->name[host]);
    if (row == PS_IDMAP_NONE) {
        return false;
    }
    parse_result parsed = c->messages[row].result;
    if (parsed == PARSE_BAD) {
        ps_diag_add(c->diag, PS_ODD_COMM_MARK, "MSTX_EVENTS rowid %lld",
                    (long long)s->source_row[host]);
    }
    if (parsed != PARSE_OK || !in_wanted_step(c, s->start_ns[host])) {
        return true;
    }
    comm_mark m = c->messages[row].mark;
    m.start_ns = ps_trace_origin_ns(c->trace) + s->start_ns[device];
    m.end_ns = m.start_ns + s->dur_ns[device];
    (void)ps_trace_arg_int(c->trace, device, "connectionId", &m.connection_id);
    if (!ps_grow(&c->marks, &c->cap, c->n + 1, UINT32_MAX, sizeof *c->marks)) {
        return false;
    }
    c->marks[c->n++] = m;
    return true;
}

static int compare_marks(const void *a, const void *b) {
    const comm_mark *x = a;
    const comm_mark *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return x->connection_id < y->connection_id ? -1 : x->connection_id > y->connection_id;
}

static bool collect(collection *c) {
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(c->trace, &n_flows);
    const uint8_t *kinds = ps_trace_slices(c->trace)->kind;
    for (size_t i = 0; i < n_flows; i++) {
        bool is_mark = kinds[flows[i].to] == PS_SLICE_MARK_DEVICE;
        if (is_mark && !collect_mark(c, flows[i].from, flows[i].to)) {
            return false;
        }
    }
    if (c->n > 1) {
        qsort(c->marks, c->n, sizeof *c->marks, compare_marks);
    }
    return true;
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

/* Operators of one (group, type) are numbered 0, 1, 2 ... in start order. */
static bool next_sequence(ps_idmap *counters, const comm_mark *m, uint32_t *sequence) {
    uint64_t key = ps_hash64(m->group, strlen(m->group)) * 31 + ps_hash64(m->type, strlen(m->type));
    uint32_t next = ps_idmap_get(counters, key);
    *sequence = next == PS_IDMAP_NONE ? 0 : next;
    return ps_idmap_put(counters, key, *sequence + 1);
}

static const ps_group_fact *find_group(const ps_rank_facts *facts, const char *comm_name) {
    for (size_t i = 0; facts != NULL && i < facts->n_groups; i++) {
        if (strcmp(facts->groups[i].comm_name, comm_name) == 0) {
            return &facts->groups[i];
        }
    }
    return NULL;
}

/* Sender and receiver in the group. Messages name both, or only the peer; srcRank of a receive may be its own
 * rank (as the profiler's tables have it) or the sender's: the group tells. */
static bool complete_peers(comm_mark *m, const ps_rank_facts *facts) {
    const ps_group_fact *group = find_group(facts, m->group);
    int64_t own = group != NULL ? group->group_rank : -1;
    if (m->is_receive && own >= 0 && m->sender == own && m->receiver >= 0) {
        m->sender = m->receiver;
        m->receiver = own;
    }
    if (m->is_send && m->sender < 0) {
        m->sender = own;
    }
    if (m->is_receive && m->receiver < 0) {
        m->receiver = own;
    }
    return m->sender >= 0 && m->receiver >= 0 && m->sender < 1 << 20 && m->receiver < 1 << 20;
}

static bool add_p2p(comm_mark *m, const ps_rank_facts *facts, int64_t op_id, uint32_t sequence,
                    const char *tag, ps_p2p_list *p2p, ps_diag *diag) {
    if (!complete_peers(m, facts)) {
        ps_diag_add(diag, PS_ODD_P2P_PEER, "%s of group %.60s", m->type, m->group);
        return true;
    }
    return ps_p2p_add(
        p2p, (ps_p2p_op){.start_ns = m->start_ns,
                         .end_ns = m->end_ns,
                         .source_row = op_id,
                         .sequence = sequence,
                         .iteration = 1,
                         .sender = (int32_t)m->sender,
                         .receiver = (int32_t)m->receiver,
                         .group = ps_strpool_add(&p2p->strings, m->group, strlen(m->group)),
                         .tag = ps_strpool_add(&p2p->strings, tag, strlen(tag)),
                         .is_send = m->is_send});
}

static bool add_row(ps_table *t, const comm_mark *m, int64_t op_id, const char *name) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, START, m->start_ns);
    ps_table_set_int(t, END, m->end_ns);
    ps_table_set_int(t, CONNECTION, m->connection_id);
    ps_table_set_int(t, OP_ID, op_id);
    ps_table_set_int(t, DATA_TYPE, data_type_id(m->data_type));
    return ps_table_set_text(t, OP_NAME, name) && ps_table_set_text(t, GROUP, m->group) &&
           ps_table_set_text(t, COUNT, m->count) && ps_table_set_text(t, OP_TYPE, m->type);
}

static bool fill_table(collection *c, const ps_rank_facts *facts, ps_table *t, ps_p2p_list *p2p) {
    ps_idmap counters;
    ps_idmap_init(&counters);
    bool ok = true;
    for (size_t i = 0; ok && i < c->n; i++) {
        comm_mark *m = &c->marks[i];
        uint32_t sequence = 0;
        char hash[24];
        char name[256];
        ok = next_sequence(&counters, m, &sequence);
        ps_group_hash_text(m->group, hash);
        const char *tag = strlen(hash) > 3 ? hash + strlen(hash) - 3 : hash;
        (void)snprintf(name, sizeof name, "%s_%s_%u_1", m->type, tag, sequence);
        ok = ok && add_row(t, m, (int64_t)i, name);
        if (ok && p2p != NULL && (m->is_send || m->is_receive)) {
            ok = add_p2p(m, facts, (int64_t)i, sequence, tag, p2p, c->diag);
        }
    }
    if (p2p != NULL) {
        p2p->n_operators = c->n;
    }
    ps_idmap_fini(&counters);
    return ok;
}

ps_code ps_commop_from_marks(const ps_trace *trace, const ps_rank_facts *facts,
                             const ps_analysis_opts *opts, ps_table **out, ps_p2p_list *p2p,
                             ps_diag *diag, ps_err *err) {
    *out = NULL;
    collection c = {.trace = trace, .opts = opts, .diag = diag};
    ps_idmap_init(&c.by_name);
    bool ok = ps_strpool_init(&c.texts) && find_wanted_steps(&c) && collect(&c);
    if (ok && c.n > 0) {
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
    ps_free(c.marks);
    ps_free(c.wanted);
    ps_free(c.messages);
    ps_idmap_fini(&c.by_name);
    ps_strpool_fini(&c.texts);
    return ok ? PS_OK : ps_fail_nomem(err);
}
