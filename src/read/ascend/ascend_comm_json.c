/* {"step50": {"p2p": {}, "collective": {"hcom_allReduce__586_0_1@1752...": {
 *      "Communication Time Info": {"Start Timestamp(us)": 1736408883732241.5, "Elapse Time(ms)": 79.08, ...},
 *      "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 28.6, ..., "Size Distribution":
 *          {"2.064384": [12, 1.578]}}}}}}}
 * {"step50": {"p2p": {}, "collective": {"allreduce-top1@1752...": {"0-1": {"Transport Type": "HCCS", ...}}}}}
 *
 * The files of long runs hold millions of values, so the three outer levels are walked by hand, and only one operator
 * at a time is parsed into a tree. */
#include "read/ascend/ascend_comm_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/literal.h"
#include "base/num.h"

#define MAX_DEPTH 64
#define MAX_KEY_BYTES ((size_t)4096)

/* A table, and the texts that many of its rows share: each is in its arena once, NULL until a row needs it. */
typedef struct shared {
    ps_table *table;
    const char *step, *type, *name, *group, *transport;
} shared;

typedef struct walk {
    const char *file, *json;
    size_t n, at;
    bool is_matrix;
    ps_builder *builder;
    ps_diag *diag;
    shared ops, bandwidth, matrix;
    const char *step, *type; /* of the level that is being walked */
} walk;

/* --- tables ------------------------------------------------------------------------------------------------ */

enum { T_OP, T_GROUP, T_START, T_ELAPSE, T_TRANSIT, T_WAIT, T_SYNC, T_IDLE, T_STEP, T_TYPE, N_T };

static const ps_column OP_COLUMNS[N_T] = {
    [T_OP] = {.name = "hccl_op_name", .type = PS_COL_TEXT},
    [T_GROUP] = {.name = "group_name", .type = PS_COL_TEXT},
    [T_START] = {.name = "start_timestamp", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [T_ELAPSE] = {.name = "elapse_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [T_TRANSIT] = {.name = "transit_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [T_WAIT] = {.name = "wait_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [T_SYNC] = {.name = "synchronization_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [T_IDLE] = {.name = "idle_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [T_STEP] = {.name = "step", .type = PS_COL_TEXT},
    [T_TYPE] = {.name = "type", .type = PS_COL_TEXT},
};

enum {
    B_OP,
    B_GROUP,
    B_TRANSPORT,
    B_SIZE,
    B_TIME,
    B_BANDWIDTH,
    B_LARGE,
    B_PACKAGE,
    B_COUNT,
    B_TOTAL,
    B_STEP,
    B_TYPE,
    N_B
};

static const ps_column BANDWIDTH_COLUMNS[N_B] = {
    [B_OP] = {.name = "hccl_op_name", .type = PS_COL_TEXT},
    [B_GROUP] = {.name = "group_name", .type = PS_COL_TEXT},
    [B_TRANSPORT] = {.name = "transport_type", .type = PS_COL_TEXT},
    [B_SIZE] = {.name = "transit_size(MB)", .type = PS_COL_REAL},
    [B_TIME] = {.name = "transit_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [B_BANDWIDTH] = {.name = "bandwidth(GB/s)", .type = PS_COL_REAL},
    [B_LARGE] = {.name = "large_packet_ratio", .type = PS_COL_REAL},
    [B_PACKAGE] = {.name = "package_size(MB)", .type = PS_COL_REAL},
    [B_COUNT] = {.name = "count", .type = PS_COL_INT},
    [B_TOTAL] = {.name = "total_duration", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [B_STEP] = {.name = "step", .type = PS_COL_TEXT},
    [B_TYPE] = {.name = "type", .type = PS_COL_TEXT},
};

enum {
    M_OP,
    M_GROUP,
    M_SRC,
    M_DST,
    M_TRANSPORT,
    M_SIZE,
    M_TIME,
    M_BANDWIDTH,
    M_STEP,
    M_TYPE,
    M_OP_NAME,
    N_M
};

static const ps_column MATRIX_COLUMNS[N_M] = {
    [M_OP] = {.name = "hccl_op_name", .type = PS_COL_TEXT},
    [M_GROUP] = {.name = "group_name", .type = PS_COL_TEXT},
    [M_SRC] = {.name = "src_rank", .type = PS_COL_INT},
    [M_DST] = {.name = "dst_rank", .type = PS_COL_INT},
    [M_TRANSPORT] = {.name = "transport_type", .type = PS_COL_TEXT},
    [M_SIZE] = {.name = "transit_size(MB)", .type = PS_COL_REAL},
    [M_TIME] = {.name = "transit_time", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    [M_BANDWIDTH] = {.name = "bandwidth(GB/s)", .type = PS_COL_REAL},
    [M_STEP] = {.name = "step", .type = PS_COL_TEXT},
    [M_TYPE] = {.name = "type", .type = PS_COL_TEXT},
    [M_OP_NAME] = {.name = "op_name", .type = PS_COL_TEXT},
};

/* --- cells -------------------------------------------------------------------------------------------------- */

static void set_comm_json_real(ps_table *t, size_t column, const ps_literal *v) {
    if (v != NULL && v->kind == PS_LITERAL_INT) {
        ps_table_set_real(t, column, (double)v->integer);
    } else if (v != NULL && v->kind == PS_LITERAL_NUMBER) {
        ps_table_set_real(t, column, strtod(v->text, NULL));
    }
}

/* Microseconds since the epoch, printed from a double, with exponent or without. */
static void set_start(walk *w, const ps_literal *v) {
    int64_t ns = 0;
    if (v == NULL || (v->kind != PS_LITERAL_INT && v->kind != PS_LITERAL_NUMBER)) {
        return;
    }
    if (ps_parse_scaled(v->begin, v->source_len, 1000, &ns)) {
        ps_table_set_int(w->ops.table, T_START, ns);
    } else {
        ps_diag_add(w->diag, PS_ODD_TIME, "%s byte %zu", w->file, (size_t)(v->begin - w->json));
    }
}

/* Puts a text into the last row; *copy is the one copy of it. False when memory is out. */
static bool set_shared(ps_table *t, size_t column, const char **copy, const char *text, size_t n) {
    if (*copy == NULL) {
        *copy = ps_arena_strndup(&t->arena, text, n);
    }
    if (*copy != NULL) {
        ps_table_share_text(t, column, *copy);
    }
    return *copy != NULL;
}

/* "name@group": the group is what follows the last '@'. */
static bool set_key(shared *s, const char *key) {
    const char *at = strrchr(key, '@');
    size_t n = at != NULL ? (size_t)(at - key) : strlen(key);
    const char *group = at != NULL ? at + 1 : "";
    return set_shared(s->table, 0, &s->name, key, n) &&
           set_shared(s->table, 1, &s->group, group, strlen(group));
}

static bool begin_row(const walk *w, shared *s, const char *key, size_t step, size_t type) {
    return ps_table_add_row(s->table) && set_key(s, key) &&
           set_shared(s->table, step, &s->step, w->step, strlen(w->step)) &&
           set_shared(s->table, type, &s->type, w->type, strlen(w->type));
}

/* The copies are those of the step (0), type (1) or operator (2) before. */
static void forget_texts(shared *s, int level) {
    s->step = level == 0 ? NULL : s->step;
    s->type = level == 1 ? NULL : s->type;
    s->name = NULL;
    s->group = NULL;
}

/* --- one operator ------------------------------------------------------------------------------------------- */

static const struct {
    size_t column;
    const char *key;
} TIMES[] = {{T_ELAPSE, "Elapse Time(ms)"},
             {T_TRANSIT, "Transit Time(ms)"},
             {T_WAIT, "Wait Time(ms)"},
             {T_SYNC, "Synchronization Time(ms)"},
             {T_IDLE, "Idle Time(ms)"}};

static bool add_comm_json_time(walk *w, const char *key, const ps_literal *op) {
    const ps_literal *info = ps_literal_get(op, "Communication Time Info");
    if (info == NULL) {
        return true;
    }
    if (!begin_row(w, &w->ops, key, T_STEP, T_TYPE)) {
        return false;
    }
    set_start(w, ps_literal_get(info, "Start Timestamp(us)"));
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        set_comm_json_real(w->ops.table, TIMES[i].column, ps_literal_get(info, TIMES[i].key));
    }
    return true;
}

/* `part`: one entry of the size distribution, or NULL for a transport without one. */
static bool add_packets(walk *w, const char *key, const ps_literal *transport,
                        const ps_literal *part) {
    shared *s = &w->bandwidth;
    ps_table *t = s->table;
    if (!begin_row(w, s, key, B_STEP, B_TYPE) ||
        !set_shared(t, B_TRANSPORT, &s->transport, transport->key, strlen(transport->key))) {
        return false;
    }
    set_comm_json_real(t, B_SIZE, ps_literal_get(transport, "Transit Size(MB)"));
    set_comm_json_real(t, B_TIME, ps_literal_get(transport, "Transit Time(ms)"));
    set_comm_json_real(t, B_BANDWIDTH, ps_literal_get(transport, "Bandwidth(GB/s)"));
    set_comm_json_real(t, B_LARGE, ps_literal_get(transport, "Large Packet Ratio"));
    const ps_literal *count = part != NULL ? part->child : NULL;
    ps_table_set_real(t, B_PACKAGE,
                      part != NULL && part->key != NULL ? strtod(part->key, NULL) : 0);
    ps_table_set_int(t, B_COUNT,
                     count != NULL && count->kind == PS_LITERAL_INT ? count->integer : 0);
    ps_table_set_real(t, B_TOTAL, 0);
    set_comm_json_real(t, B_TOTAL, count != NULL ? count->next : NULL);
    return true;
}

static bool is_nothing(const ps_literal *transport) {
    const ps_literal *size = ps_literal_get(transport, "Transit Size(MB)");
    return size == NULL || (size->kind == PS_LITERAL_INT && size->integer == 0) ||
           (size->kind == PS_LITERAL_NUMBER && strtod(size->text, NULL) == 0);
}

static bool add_bandwidth(walk *w, const char *key, const ps_literal *op) {
    const ps_literal *info = ps_literal_get(op, "Communication Bandwidth Info");
    bool ok = true;
    for (const ps_literal *t = info != NULL && info->kind == PS_LITERAL_OBJECT ? info->child : NULL;
         ok && t != NULL; t = t->next) {
        const ps_literal *sizes = ps_literal_get(t, "Size Distribution");
        w->bandwidth.transport = NULL;
        const ps_literal *part =
            sizes != NULL && sizes->kind == PS_LITERAL_OBJECT ? sizes->child : NULL;
        ok = part != NULL || is_nothing(t) || add_packets(w, key, t, NULL);
        for (; ok && part != NULL; part = part->next) {
            ok = add_packets(w, key, t, part);
        }
    }
    return ok;
}

/* "0-7" */
static void set_comm_json_ranks(ps_table *t, const char *link) {
    const char *dash = link != NULL ? strchr(link, '-') : NULL;
    int64_t src = 0;
    int64_t dst = 0;
    if (dash != NULL && ps_parse_i64(link, (size_t)(dash - link), &src) &&
        ps_parse_i64(dash + 1, strlen(dash + 1), &dst)) {
        ps_table_set_int(t, M_SRC, src);
        ps_table_set_int(t, M_DST, dst);
    }
}

static bool add_links(walk *w, const char *key, const ps_literal *op) {
    ps_table *t = w->matrix.table;
    bool ok = true;
    for (const ps_literal *link = op->child; ok && link != NULL; link = link->next) {
        ok = begin_row(w, &w->matrix, key, M_STEP, M_TYPE) &&
             ps_table_set_text(t, M_TRANSPORT,
                               ps_literal_str(ps_literal_get(link, "Transport Type"))) &&
             ps_table_set_text(t, M_OP_NAME, ps_literal_str(ps_literal_get(link, "Op Name")));
        if (ok) {
            set_comm_json_ranks(t, link->key);
            set_comm_json_real(t, M_SIZE, ps_literal_get(link, "Transit Size(MB)"));
            set_comm_json_real(t, M_TIME, ps_literal_get(link, "Transit Time(ms)"));
            set_comm_json_real(t, M_BANDWIDTH, ps_literal_get(link, "Bandwidth(GB/s)"));
        }
    }
    return ok;
}

static ps_code add_comm_json_op(walk *w, const char *key, const char *value, size_t n,
                                ps_err *err) {
    ps_arena arena = {0};
    ps_err odd = PS_ERR_INIT;
    const ps_literal *op = ps_literal_parse(&arena, value, n, &odd);
    ps_code code = odd.code == PS_NOMEM ? ps_fail_nomem(err) : PS_OK;
    if (code == PS_OK && (op == NULL || op->kind != PS_LITERAL_OBJECT)) {
        ps_diag_add(w->diag, PS_ODD_JSON, "%s byte %zu: %s", w->file, (size_t)(value - w->json),
                    odd.msg[0] != '\0' ? odd.msg : "not an object");
    } else if (code == PS_OK) {
        bool ok = w->is_matrix ? add_links(w, key, op)
                               : add_comm_json_time(w, key, op) && add_bandwidth(w, key, op);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_arena_fini(&arena);
    return code;
}

/* --- the outer levels --------------------------------------------------------------------------------------- */

static void skip_blank(walk *w) {
    while (w->at < w->n && strchr(" \t\r\n", w->json[w->at]) != NULL && w->json[w->at] != '\0') {
        w->at++;
    }
}

static bool take_comm_json(walk *w, char c) {
    skip_blank(w);
    bool is_there = w->at < w->n && w->json[w->at] == c;
    w->at += is_there;
    return is_there;
}

static bool skip_string(walk *w) {
    if (!take_comm_json(w, '"')) {
        return false;
    }
    while (w->at < w->n && w->json[w->at] != '"') {
        w->at += w->json[w->at] == '\\' ? 2 : 1;
    }
    return w->at < w->n && take_comm_json(w, '"');
}

/* Over a value of any kind; what is inside is looked at by whoever parses it. */
static bool skip_value(walk *w) {
    size_t depth = 0;
    do {
        skip_blank(w);
        if (w->at >= w->n) {
            return false;
        }
        char c = w->json[w->at];
        if (c == '"') {
            if (!skip_string(w)) {
                return false;
            }
        } else if (c == '{' || c == '[') {
            depth++;
            w->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return false;
            }
            depth--;
            w->at++;
        } else if (depth > 0 && (c == ',' || c == ':')) {
            w->at++;
        } else {
            size_t n = 0;
            while (w->at + n < w->n && w->json[w->at + n] != '\0' &&
                   strchr(",:{}[]\" \t\r\n", w->json[w->at + n]) == NULL) {
                n++;
            }
            if (n == 0) {
                return false;
            }
            w->at += n;
        }
    } while (depth > 0 && depth <= MAX_DEPTH);
    return depth == 0;
}

typedef enum member { MEMBER_THERE, MEMBER_END, MEMBER_BAD } member;

/* The next key of an object; w->at is then at its value. The key is unescaped into the arena, NULL when memory is out. */
static member next_member(walk *w, ps_arena *arena, bool is_first, const char **key) {
    if (take_comm_json(w, '}')) {
        return MEMBER_END;
    }
    if (!is_first && !take_comm_json(w, ',')) {
        return MEMBER_BAD;
    }
    skip_blank(w);
    size_t begin = w->at;
    if (!skip_string(w)) {
        return MEMBER_BAD;
    }
    ps_err odd = PS_ERR_INIT;
    const ps_literal *text = ps_literal_parse(arena, w->json + begin, w->at - begin, &odd);
    *key = text != NULL ? ps_literal_str(text) : NULL;
    if (text == NULL && odd.code != PS_NOMEM) {
        return MEMBER_BAD;
    }
    return take_comm_json(w, ':') ? MEMBER_THERE : MEMBER_BAD;
}

static ps_code walk_object(walk *w, int level, bool *is_bad, ps_err *err);

/* The value of a member: an object of the next level, or an operator on the last one. */
static ps_code walk_value(walk *w, int level, const char *key, bool *is_bad, ps_err *err) {
    bool is_short = strlen(key) <= MAX_KEY_BYTES;
    if (level == 0) {
        w->step = key;
    } else if (level == 1) {
        w->type = key;
    }
    forget_texts(&w->ops, level);
    forget_texts(&w->bandwidth, level);
    forget_texts(&w->matrix, level);
    if (!is_short) {
        ps_diag_add(w->diag, PS_ODD_TEXT, "%s byte %zu: a key of %zu bytes", w->file, w->at,
                    strlen(key));
    } else if (level < 2) {
        return walk_object(w, level + 1, is_bad, err);
    }
    skip_blank(w);
    size_t begin = w->at;
    if (!skip_value(w)) {
        *is_bad = true;
        return PS_OK;
    }
    return is_short ? add_comm_json_op(w, key, w->json + begin, w->at - begin, err) : PS_OK;
}

/* Levels: 0 steps, 1 types, 2 operators. */
static ps_code walk_object(walk *w, int level, bool *is_bad, ps_err *err) {
    if (!take_comm_json(w, '{')) {
        *is_bad = true;
        return PS_OK;
    }
    ps_code code = PS_OK;
    for (bool is_first = true; code == PS_OK && !*is_bad; is_first = false) {
        ps_arena arena = {0};
        const char *key = NULL;
        member m = next_member(w, &arena, is_first, &key);
        if (m == MEMBER_THERE) {
            code = key != NULL ? walk_value(w, level, key, is_bad, err) : ps_fail_nomem(err);
        }
        ps_arena_fini(&arena);
        *is_bad = *is_bad || m == MEMBER_BAD;
        if (m != MEMBER_THERE) {
            break;
        }
    }
    return code;
}

static void give_comm_json(walk *w, ps_table *t) {
    if (t != NULL) {
        ps_builder_side_table(w->builder, t);
    }
}

ps_code ps_ascend_comm_json(const char *file, const char *json, size_t n, bool is_matrix,
                            ps_builder *b, ps_err *err) {
    walk w = {.file = file,
              .json = json,
              .n = n,
              .is_matrix = is_matrix,
              .builder = b,
              .diag = ps_builder_diag(b)};
    if (is_matrix) {
        w.matrix.table = ps_table_new("communication_matrix", file, MATRIX_COLUMNS, N_M);
    } else {
        w.ops.table = ps_table_new("communication", file, OP_COLUMNS, N_T);
        w.bandwidth.table = ps_table_new("communication_bandwidth", file, BANDWIDTH_COLUMNS, N_B);
    }
    bool is_bad = false;
    bool ok = is_matrix ? w.matrix.table != NULL : w.ops.table != NULL && w.bandwidth.table != NULL;
    ps_code code = ok ? walk_object(&w, 0, &is_bad, err) : ps_fail_nomem(err);
    if (is_bad) {
        bool is_cut = w.at >= w.n;
        ps_diag_add(w.diag, is_cut ? PS_ODD_TRUNCATED : PS_ODD_JSON, "%s byte %zu", file,
                    w.at < w.n ? w.at : w.n);
    }
    if (code != PS_OK) {
        ps_table_free(w.ops.table);
        ps_table_free(w.bandwidth.table);
        ps_table_free(w.matrix.table);
        return code;
    }
    give_comm_json(&w, w.ops.table);
    give_comm_json(&w, w.bandwidth.table);
    give_comm_json(&w, w.matrix.table);
    return PS_OK;
}
