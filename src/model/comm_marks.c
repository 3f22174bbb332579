#include "model/comm_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/literal.h"
#include "base/order.h"
#include "model/group_hash.h"

/* What a message says: the mark without times and slices. */
struct ps_comm_message {
    ps_comm_mark mark;
    ps_comm_said said;
};

/* A message being read. */
typedef struct parsing {
    ps_comm_marks *m;
    ps_arena scratch;
    ps_comm_mark *out;
} parsing;

bool ps_comm_marks_init(ps_comm_marks *m) {
    *m = (ps_comm_marks){0};
    ps_idmap_init(&m->by_name);
    return ps_strpool_init(&m->texts);
}

void ps_comm_marks_fini(ps_comm_marks *m) {
    ps_free(m->marks);
    ps_free(m->messages);
    ps_idmap_fini(&m->by_name);
    ps_strpool_fini(&m->texts);
    *m = (ps_comm_marks){0};
}

/* --- data types ------------------------------------------------------------------------------------------- */

static const struct data_type {
    const char *name;
    int64_t id;
} TYPES[] = {{"INT8", 0},  {"INT16", 1},  {"INT32", 2},  {"FP16", 3},   {"FP32", 4},
             {"INT64", 5}, {"UINT64", 6}, {"UINT8", 7},  {"UINT16", 8}, {"UINT32", 9},
             {"FP64", 10}, {"BFP16", 11}, {"INT128", 12}};

static const struct data_type *find_type(const char *name) {
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strcasecmp(TYPES[i].name, name) == 0) {
            return &TYPES[i];
        }
    }
    return NULL;
}

int64_t ps_comm_data_type_id(const char *name) {
    const struct data_type *type = find_type(name);
    return type != NULL ? type->id : 65534;
}

const char *ps_comm_data_type_name(const char *name) {
    const struct data_type *type = find_type(name);
    return type != NULL ? type->name : name;
}

/* --- messages --------------------------------------------------------------------------------------------- */

/* NULL when memory is out. */
static const char *keep_mark_text(const parsing *p, const char *text) {
    ps_str id = ps_strpool_add(&p->m->texts, text, strlen(text));
    return ps_str_is_none(id) ? NULL : ps_strpool_get(&p->m->texts, id);
}

/* Point-to-point operators get the profiler's own names, which pairing and MindStudio Insight look for; the
 * others keep the name of the call. */
static const char *op_type(const parsing *p, const char *call, const char *prefix) {
    ps_comm_mark *m = p->out;
    const char *plain = strncasecmp(call, "Hccl", 4) == 0 ? call + 4 : call;
    m->is_send = strcasecmp(plain, "Send") == 0;
    m->is_receive = strcasecmp(plain, "Recv") == 0 || strcasecmp(plain, "Receive") == 0;
    if (m->is_send || m->is_receive) {
        return m->is_send ? "hcom_send_" : "hcom_receive_";
    }
    char text[160];
    (void)snprintf(text, sizeof text, "%s%s_", prefix, prefix[0] != '\0' ? plain : call);
    return keep_mark_text(p, text);
}

static ps_comm_said set_texts(const parsing *p, const char *call, const char *prefix,
                              const char *const fields[3]) {
    ps_comm_mark *m = p->out;
    m->call = keep_mark_text(p, call);
    m->type = op_type(p, call, prefix);
    m->group = keep_mark_text(p, fields[0]);
    m->data_type = keep_mark_text(p, fields[1]);
    m->count = keep_mark_text(p, fields[2]);
    bool ok = m->call != NULL && m->type != NULL && m->group != NULL && m->data_type != NULL &&
              m->count != NULL;
    return ok ? PS_COMM_OK : PS_COMM_NOMEM;
}

/* A member as text: strings as they are, integers as their digits, NULL otherwise. */
static const char *mark_text_member(const ps_literal *dict, const char *key) {
    const ps_literal *v = ps_literal_get(dict, key);
    return v != NULL && (v->kind == PS_LITERAL_STRING || v->kind == PS_LITERAL_INT) ? v->text
                                                                                    : NULL;
}

const char *ps_comm_marks_plain(ps_arena *arena, const char *text, size_t *n) {
    size_t length = strlen(text);
    char *plain = ps_arena_alloc(arena, length + 1);
    *n = 0;
    if (plain == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\\' || text[i + 1] != '"') {
            plain[(*n)++] = text[i];
        }
    }
    plain[*n] = '\0';
    return plain;
}

static ps_comm_said parse_json(parsing *p, const char *text) {
    if (strstr(text, "opName") == NULL || strstr(text, "groupName") == NULL) {
        return PS_COMM_OTHER;
    }
    size_t len = 0;
    const char *plain = ps_comm_marks_plain(&p->scratch, text, &len);
    if (plain == NULL) {
        return PS_COMM_NOMEM;
    }
    ps_err odd = PS_ERR_INIT;
    const ps_literal *dict = ps_literal_parse(&p->scratch, plain, len, &odd);
    if (odd.code == PS_NOMEM) {
        return PS_COMM_NOMEM;
    }
    const char *call = mark_text_member(dict, "opName");
    const char *fields[3] = {mark_text_member(dict, "groupName"),
                             mark_text_member(dict, "dataType"), mark_text_member(dict, "count")};
    if (call == NULL || fields[0] == NULL || fields[1] == NULL || fields[2] == NULL) {
        return PS_COMM_BAD;
    }
    const ps_literal *receiver =
        ps_literal_get(dict, "dstRank"); /* or as the library's argument is called */
    (void)ps_literal_int(ps_literal_get(dict, "srcRank"), &p->out->sender);
    (void)ps_literal_int(receiver != NULL ? receiver : ps_literal_get(dict, "destRank"),
                         &p->out->receiver);
    return set_texts(p, call, "", fields);
}

/* comm:HcclAllReduce,<group>,<dtype>,<count> */
static const char HEAD[] = "comm:";

static ps_comm_said parse_commas(parsing *p, const char *text) {
    if (strncmp(text, HEAD, sizeof HEAD - 1) != 0) {
        return PS_COMM_OTHER;
    }
    char *copy = ps_arena_strndup(&p->scratch, text, strlen(text));
    if (copy == NULL) {
        return PS_COMM_NOMEM;
    }
    char *fields[4] = {copy + sizeof HEAD - 1};
    size_t n = 1;
    for (char *c = copy; *c != '\0'; c++) {
        if (*c == ',') {
            *c = '\0';
            if (n == 4) {
                return PS_COMM_BAD;
            }
            fields[n++] = c + 1;
        }
    }
    return n == 4 ? set_texts(p, fields[0], "hcom_",
                              (const char *const[3]){fields[1], fields[2], fields[3]})
                  : PS_COMM_BAD;
}

static const char *begin_of(const char *text) {
    return text + strspn(text, " \t");
}

bool ps_comm_marks_may_be(const char *text) {
    const char *start = begin_of(text);
    return *start == '{' ? strstr(start, "opName") != NULL && strstr(start, "groupName") != NULL
                         : strncmp(start, HEAD, sizeof HEAD - 1) == 0;
}

ps_comm_said ps_comm_marks_read(ps_comm_marks *m, ps_str name, const char *text,
                                ps_comm_mark *out) {
    uint32_t row = ps_idmap_get(&m->by_name, name.id);
    if (row == PS_IDMAP_NONE) {
        ps_comm_message read = {.mark = {.sender = -1, .receiver = -1}};
        parsing p = {.m = m, .out = &read.mark};
        ps_arena_init(&p.scratch);
        const char *start = begin_of(text);
        read.said = *start == '{' ? parse_json(&p, start) : parse_commas(&p, start);
        ps_arena_fini(&p.scratch);
        if (read.said == PS_COMM_NOMEM ||
            !ps_grow(&m->messages, &m->cap_messages, m->n_messages + 1, UINT32_MAX - 1,
                     sizeof *m->messages) ||
            !ps_idmap_put(&m->by_name, name.id, (uint32_t)m->n_messages)) {
            return PS_COMM_NOMEM;
        }
        row = (uint32_t)m->n_messages;
        m->messages[m->n_messages++] = read;
    }
    *out = m->messages[row].mark;
    return m->messages[row].said;
}

/* --- marks -------------------------------------------------------------------------------------------------- */

bool ps_comm_marks_add(ps_comm_marks *m, const ps_comm_mark *mark) {
    if (!ps_grow(&m->marks, &m->cap, m->n + 1, UINT32_MAX, sizeof *m->marks)) {
        return false;
    }
    m->marks[m->n++] = *mark;
    return true;
}

PS_COMPARE(compare_mark_text_marks, ps_comm_mark, PS_BY(start_ns) PS_BY(end_ns) PS_BY(tie))

bool ps_comm_marks_number(ps_comm_marks *m) {
    if (m->n > 1) {
        qsort(m->marks, m->n, sizeof *m->marks, compare_mark_text_marks);
    }
    ps_idmap counters; /* (group, type) -> how many there were */
    ps_idmap_init(&counters);
    bool ok = true;
    for (size_t i = 0; ok && i < m->n; i++) {
        ps_comm_mark *mark = &m->marks[i];
        uint64_t key = ps_hash64(mark->group, strlen(mark->group)) * 31 +
                       ps_hash64(mark->type, strlen(mark->type));
        uint32_t next = ps_idmap_get(&counters, key);
        mark->sequence = next == PS_IDMAP_NONE ? 0 : next;
        ok = ps_idmap_put(&counters, key, mark->sequence + 1);
    }
    ps_idmap_fini(&counters);
    return ok;
}

void ps_comm_mark_name(const ps_comm_mark *mark, char tag[PS_COMM_TAG_SIZE],
                       char name[PS_COMM_NAME_SIZE]) {
    char hash[24];
    ps_group_hash_text(mark->group, hash);
    size_t n = strlen(hash);
    (void)snprintf(tag, PS_COMM_TAG_SIZE, "%.3s", n > 3 ? hash + n - 3 : hash);
    (void)snprintf(name, PS_COMM_NAME_SIZE, "%s_%s_%u_1", mark->type, tag, mark->sequence);
}

bool ps_comm_mark_peers(ps_comm_mark *m, int64_t own) {
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
