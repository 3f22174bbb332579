/* The database of one rank. Tables are filled one after the other, each in the order of its keys or times, so that
 * every insertion goes to the end of its b-tree and the pages of a table lie together, as the profiler's do. The file
 * is new, so there is no journal and no sync; it gets its name when it is complete. */
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/publish.h"
#include "write/simulated/ascend_profile_rank.h"

#define NO_NUMBER 4294967295 /* how the profiler writes "none" in 32-bit fields */
#define FIRST_MARK_CONNECTION 4000000001
#define FIRST_COMM_CONNECTION 100000001
#define COMPUTE_STREAM 2
#define API_TYPE_HCCL 5500
#define DATA_TYPE_BFP16 11
#define RDMA_TYPE_INVALID 65535
#define MSTX_START_END 2
#define HOST_LEAD_NS 50000 /* the host is ahead of the device */
#define HOST_CALL_NS 5000
#define STEP_MARGIN_NS 1000000 /* the host's step begins before and ends after the device's work */
#define MESSAGE_ELEMENTS 29360128 /* of one transfer: 4096 x 7168 */

/* --- strings ------------------------------------------------------------------------------------------------------ */

#define FIXED_STRINGS(X)                                                                           \
    X(S_NOT_KNOWN, "N/A")                                                                          \
    X(S_AICORE, "KERNEL_AICORE")                                                                   \
    X(S_AIVEC, "KERNEL_AIVEC")                                                                     \
    X(S_MIX_AIC, "KERNEL_MIX_AIC")                                                                 \
    X(S_MARK, "MsTx")                                                                              \
    X(S_DEFAULT, "default")                                                                        \
    X(S_NOTIFY_WAIT, "Notify_Wait")                                                                \
    X(S_MEMCPY, "Memcpy")                                                                          \
    X(S_NOTIFY_RECORD, "Notify_Record")                                                            \
    X(S_SEND, "hcom_send_")                                                                        \
    X(S_RECEIVE, "hcom_receive_")                                                                  \
    X(S_MATMUL_NAME, "aclnnMatmul_MatMulCommon_MatMulV2")                                          \
    X(S_MATMUL, "MatMulV2")                                                                        \
    X(S_ATTENTION_NAME, "aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore")        \
    X(S_ATTENTION, "FlashAttentionScore")                                                          \
    X(S_ATTENTION_GRAD_NAME,                                                                       \
      "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad")              \
    X(S_ATTENTION_GRAD, "FlashAttentionScoreGrad")                                                 \
    X(S_NORM_NAME, "aclnnLayerNorm_LayerNormV3WithImplMode_LayerNormV3")                           \
    X(S_NORM, "LayerNormV3")                                                                       \
    X(S_NORM_GRAD_NAME, "aclnnLayerNormBackward_LayerNormGradV3_LayerNormGradV3")                  \
    X(S_NORM_GRAD, "LayerNormGradV3")                                                              \
    X(S_GELU_NAME, "aclnnGelu_GeluAiCore_Gelu")                                                    \
    X(S_GELU, "Gelu")                                                                              \
    X(S_GELU_GRAD_NAME, "aclnnGeluBackward_GeluGrad_GeluGrad")                                     \
    X(S_GELU_GRAD, "GeluGrad")                                                                     \
    X(S_ADD_NAME, "aclnnAdd_AddAiCore_Add")                                                        \
    X(S_ADD, "Add")                                                                                \
    X(S_ND, "ND")                                                                                  \
    X(S_ND2, "ND;ND")                                                                              \
    X(S_BF16, "DT_BF16")                                                                           \
    X(S_BF16_2, "DT_BF16;DT_BF16")                                                                 \
    X(S_HIDDEN, "\"4096,7168\"")                                                                   \
    X(S_HIDDEN_2, "\"4096,7168;4096,7168\"")                                                       \
    X(S_WEIGHTS, "\"4096,7168;7168,7168\"")

enum {
#define X(id, text) id,
    FIXED_STRINGS(X)
#undef X
        N_FIXED_STRINGS,
    S_GROUP =
        N_FIXED_STRINGS, /* name of the pp communicator, then the messages, then names of operators */
    S_FIRST_MESSAGE
};

static const char *const STRINGS[] = {
#define X(id, text) text,
    FIXED_STRINGS(X)
#undef X
};

typedef struct kernel_kind {
    int name, type, core, inputs, shapes; /* string ids; inputs: one or two */
    int block_dim;
} kernel_kind;

static const kernel_kind FORWARD_KERNELS[] = {
    {S_MATMUL_NAME, S_MATMUL, S_AICORE, S_BF16_2, S_WEIGHTS, 24},
    {S_ATTENTION_NAME, S_ATTENTION, S_MIX_AIC, S_BF16_2, S_HIDDEN_2, 24},
    {S_NORM_NAME, S_NORM, S_AIVEC, S_BF16, S_HIDDEN, 48},
    {S_GELU_NAME, S_GELU, S_AIVEC, S_BF16, S_HIDDEN, 48},
    {S_ADD_NAME, S_ADD, S_AIVEC, S_BF16_2, S_HIDDEN_2, 48},
};
static const kernel_kind BACKWARD_KERNELS[] = {
    {S_MATMUL_NAME, S_MATMUL, S_AICORE, S_BF16_2, S_WEIGHTS, 24},
    {S_ATTENTION_GRAD_NAME, S_ATTENTION_GRAD, S_MIX_AIC, S_BF16_2, S_HIDDEN_2, 24},
    {S_NORM_GRAD_NAME, S_NORM_GRAD, S_AIVEC, S_BF16_2, S_HIDDEN_2, 48},
    {S_GELU_GRAD_NAME, S_GELU_GRAD, S_AIVEC, S_BF16_2, S_HIDDEN_2, 48},
    {S_ADD_NAME, S_ADD, S_AIVEC, S_BF16_2, S_HIDDEN_2, 48},
};

static const kernel_kind *profile_db_kind_of(const ps_kernel *k) {
    return k->backward ? &BACKWARD_KERNELS[k->random % 5] : &FORWARD_KERNELS[k->random % 5];
}

/* --- schema and statements ---------------------------------------------------------------------------------------- */

typedef struct column {
    const char *table, *name, *type;
} column;

static const column COLUMNS[] = {
#define PS_COLUMN(table, name, type) {#table, #name, type},
#include "base/ascend_schema.def"
};
#define N_COLUMNS (sizeof COLUMNS / sizeof COLUMNS[0])

static const char ENUM_ROWS[] =
#define PS_ENUM_ROW(table, id, name) "INSERT INTO " #table " VALUES (" #id ",'" name "');"
#include "base/ascend_schema.def"
    ;

static const char INDEXES[] =
#define PS_INDEX(index, table, columns) "CREATE INDEX " #index " ON " #table " (" columns ");"
#include "base/ascend_schema.def"
    ;

typedef struct db {
    sqlite3 *handle;
    const char *path;
    sqlite3_stmt *insert; /* into the table being filled */
    int n_columns;
} db;

static ps_code db_fail(const db *d, ps_err *err) {
    int code = sqlite3_errcode(d->handle);
    return code == SQLITE_NOMEM ? ps_fail_nomem(err)
                                : ps_fail_file(err, PS_IO, d->path, "cannot write the database: %s",
                                               sqlite3_errmsg(d->handle));
}

static ps_code execute_profile_db(const db *d, const char *sql, ps_err *err) {
    return sqlite3_exec(d->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? PS_OK : db_fail(d, err);
}

static ps_code create_tables(const db *d, ps_err *err) {
    ps_buf sql = {0};
    for (size_t i = 0; i < N_COLUMNS; i++) {
        bool first = i == 0 || strcmp(COLUMNS[i].table, COLUMNS[i - 1].table) != 0;
        bool last = i + 1 == N_COLUMNS || strcmp(COLUMNS[i].table, COLUMNS[i + 1].table) != 0;
        if (first) {
            ps_buf_addf(&sql, "CREATE TABLE %s (", COLUMNS[i].table);
        }
        ps_buf_addf(&sql, "%s%s %s%s", first ? "" : ",", COLUMNS[i].name, COLUMNS[i].type,
                    last ? ");" : "");
    }
    ps_code code =
        ps_buf_ok(&sql) ? execute_profile_db(d, ps_buf_str(&sql), err) : ps_fail_nomem(err);
    ps_buf_fini(&sql);
    return code;
}

/* Rows follow for `table`; values go in the order of the schema's columns. */
static ps_code begin_table(db *d, const char *table, ps_err *err) {
    ps_buf sql = {0};
    ps_buf_addf(&sql, "INSERT INTO %s VALUES (", table);
    d->n_columns = 0;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (strcmp(COLUMNS[i].table, table) == 0) {
            ps_buf_add_str(&sql, d->n_columns++ == 0 ? "?" : ",?");
        }
    }
    ps_buf_add_char(&sql, ')');
    (void)sqlite3_finalize(d->insert);
    d->insert = NULL;
    ps_code code = PS_OK;
    if (!ps_buf_ok(&sql)) {
        code = ps_fail_nomem(err);
    } else if (sqlite3_prepare_v2(d->handle, ps_buf_str(&sql), -1, &d->insert, NULL) != SQLITE_OK) {
        code = db_fail(d, err);
    }
    ps_buf_fini(&sql);
    return code;
}

static void bind_int(const db *d, int i, int64_t value) {
    (void)sqlite3_bind_int64(d->insert, i + 1, value);
}

static void bind_text(const db *d, int i, const char *text) {
    /* The caller's text lives until the row is stepped, which is at once. */
    (void)sqlite3_bind_text(d->insert, i + 1, text, -1, SQLITE_STATIC);
}

static ps_code put_profile_db(const db *d, ps_err *err) {
    bool ok = sqlite3_step(d->insert) == SQLITE_DONE;
    return sqlite3_reset(d->insert) == SQLITE_OK && ok ? PS_OK : db_fail(d, err);
}

static ps_code put_ints(const db *d, const int64_t *values, size_t n, ps_err *err) {
    if (n != (size_t)d->n_columns) {
        return ps_fail(err, PS_INTERNAL, "%zu values for %d columns", n, d->n_columns);
    }
    for (int i = 0; i < d->n_columns; i++) {
        bind_int(d, i, values[i]);
    }
    return put_profile_db(d, err);
}

#define PUT(d, err, ...)                                                                           \
    put_ints(d, (const int64_t[]){__VA_ARGS__},                                                    \
             sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), err)

static ps_code put_profile_db_text(const db *d, int64_t id, const char *text, ps_err *err) {
    bind_int(d, 0, id);
    bind_text(d, 1, text);
    return put_profile_db(d, err);
}

static ps_code put_pair(const db *d, const char *name, const char *value, ps_err *err) {
    bind_text(d, 0, name);
    bind_text(d, 1, value);
    return put_profile_db(d, err);
}

/* --- what the file is --------------------------------------------------------------------------------------------- */

static ps_code put_profile_db_meta(const db *d, const char *name, ps_buf *value, ps_err *err) {
    ps_code code =
        ps_buf_ok(value) ? put_pair(d, name, ps_buf_str(value), err) : ps_fail_nomem(err);
    ps_buf_clear(value);
    return code;
}

static ps_code fill_metadata(db *d, const ps_rank_events *e, ps_err *err) {
    static const char *const VERSION[][2] = {{"SCHEMA_VERSION_MAJOR", "1"},
                                             {"SCHEMA_VERSION_MINOR", "0"},
                                             {"SCHEMA_VERSION_MICRO", "0"},
                                             {"SCHEMA_VERSION", "1.0.0"}};
    ps_code code = begin_table(d, "META_DATA", err);
    for (size_t i = 0; i < sizeof VERSION / sizeof VERSION[0] && code == PS_OK; i++) {
        code = put_pair(d, VERSION[i][0], VERSION[i][1], err);
    }
    ps_buf text = {0};
    if (code == PS_OK) {
        ps_json j = ps_json_spaced_to(&text);
        ps_put_distributed_args(e->job->opts, e->id, &j);
        code = put_profile_db_meta(d, "distributed_args", &text, err);
    }
    if (code == PS_OK) {
        ps_json j = ps_json_spaced_to(&text);
        ps_put_group_info(e->job->opts, e->id, &j);
        code = put_profile_db_meta(d, "parallel_group_info", &text, err);
    }
    if (code == PS_OK) {
        ps_json j = ps_json_spaced_to(&text);
        ps_put_pp_info(e->job->opts, &j);
        code = put_profile_db_meta(d, "pp_info", &text, err);
    }
    ps_buf_fini(&text);
    return code;
}

static ps_code fill_header(db *d, const ps_rank_events *e, ps_err *err) {
    const ps_step_window *steps = e->job->steps;
    int64_t n_steps = e->job->opts->n_steps;
    char text[32];
    ps_code code = begin_table(d, "RANK_DEVICE_MAP", err);
    if (code == PS_OK) {
        code = PUT(d, err, e->id.rank, e->id.device);
    }
    if (code == PS_OK && (code = begin_table(d, "NPU_INFO", err)) == PS_OK) {
        code = put_profile_db_text(d, e->id.device, "Ascend910B", err);
    }
    if (code == PS_OK && (code = begin_table(d, "HOST_INFO", err)) == PS_OK) {
        char uid[32];
        (void)snprintf(uid, sizeof uid, "%lld", 3538958389648580000LL + e->id.host);
        (void)snprintf(text, sizeof text, "node%d", (int)e->id.host);
        code = put_pair(d, uid, text, err);
    }
    if (code == PS_OK && (code = begin_table(d, "SESSION_TIME_INFO", err)) == PS_OK) {
        code = PUT(d, err, steps[0].start_ns - 100 * STEP_MARGIN_NS,
                   steps[n_steps - 1].end_ns + 100 * STEP_MARGIN_NS);
    }
    if (code == PS_OK) {
        code = begin_table(d, "STEP_TIME", err);
    }
    for (int64_t i = 0; i < n_steps && code == PS_OK; i++) {
        code = PUT(d, err, i + 1, steps[i].start_ns - STEP_MARGIN_NS,
                   steps[i].end_ns + STEP_MARGIN_NS);
    }
    return code == PS_OK ? fill_metadata(d, e, err) : code;
}

/* --- strings ------------------------------------------------------------------------------------------------------ */

/* The tag in the names of operators: last three decimal digits of two 32-bit hashes of the group's name. */
static unsigned group_tag(const char *group) {
    uint32_t a = 0;
    uint32_t b = 0;
    for (const char *s = group; *s != '\0'; s++) {
        a = a * 29 + (uint32_t)(unsigned char)*s;
        b = b * 131 + (uint32_t)(unsigned char)*s;
    }
    return (unsigned)((((uint64_t)a << 32) | b) % 1000);
}

static int64_t comm_name_id(const ps_rank_events *e, size_t comm) {
    return (int64_t)S_FIRST_MESSAGE + ps_message_count(e->job) + (int64_t)comm;
}

static ps_code fill_strings(db *d, const ps_rank_events *e, const ps_rank_group *pp, ps_err *err) {
    char text[160];
    ps_code code = begin_table(d, "STRING_IDS", err);
    for (int i = 0; i < N_FIXED_STRINGS && code == PS_OK; i++) {
        code = put_profile_db_text(d, i, STRINGS[i], err);
    }
    if (code == PS_OK) {
        code = put_profile_db_text(d, S_GROUP, pp->name, err);
    }
    for (uint32_t i = 0; i < ps_message_count(e->job) && code == PS_OK; i++) {
        ps_message_text(e->job, i, text, sizeof text);
        code = put_profile_db_text(d, S_FIRST_MESSAGE + (int64_t)i, text, err);
    }
    for (size_t i = 0; i < e->n_comms && code == PS_OK; i++) {
        (void)snprintf(text, sizeof text, "%s_%03u_%zu_1",
                       STRINGS[e->comms[i].is_send ? S_SEND : S_RECEIVE], group_tag(pp->name), i);
        code = put_profile_db_text(d, comm_name_id(e, i), text, err);
    }
    return code;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static ps_code fill_marks(db *d, const ps_rank_events *e, ps_err *err) {
    int64_t tid = e->id.pid << 32 | e->id.pid;
    ps_code code = begin_table(d, "MSTX_EVENTS", err);
    for (size_t i = 0; i < e->n_marks && code == PS_OK; i++) {
        const ps_mark_row *m = &e->marks[i];
        code = PUT(d, err, m->start_ns - HOST_LEAD_NS, m->end_ns - HOST_LEAD_NS, MSTX_START_END,
                   NO_NUMBER, NO_NUMBER, S_FIRST_MESSAGE + (int64_t)m->message, tid, tid, S_DEFAULT,
                   FIRST_MARK_CONNECTION + m->number);
    }
    return code;
}

/* Calls of one thread: one behind the other. */
static ps_code fill_comm_calls(db *d, const ps_rank_events *e, ps_err *err) {
    int64_t tid = e->id.pid << 32 | (e->id.pid + 1);
    int64_t free_ns = INT64_MIN; /* the call before has ended */
    ps_code code = begin_table(d, "CANN_API", err);
    for (size_t i = 0; i < e->n_comms && code == PS_OK; i++) {
        const ps_comm_row *c = &e->comms[i];
        int64_t due_ns = c->start_ns - HOST_LEAD_NS;
        int64_t start_ns = due_ns > free_ns ? due_ns : free_ns;
        free_ns = start_ns + HOST_CALL_NS;
        code = PUT(d, err, start_ns, free_ns, API_TYPE_HCCL, tid,
                   FIRST_COMM_CONNECTION + (int64_t)i, c->is_send ? S_SEND : S_RECEIVE);
    }
    return code;
}

static ps_code fill_comms(db *d, const ps_rank_events *e, ps_err *err) {
    ps_code code = fill_comm_calls(d, e, err);
    if (code == PS_OK) {
        code = begin_table(d, "COMMUNICATION_OP", err);
    }
    for (size_t i = 0; i < e->n_comms && code == PS_OK; i++) {
        const ps_comm_row *c = &e->comms[i];
        code = PUT(d, err, comm_name_id(e, i), c->start_ns, c->end_ns,
                   FIRST_COMM_CONNECTION + (int64_t)i, S_GROUP, (int64_t)i + 1, 0, 0,
                   DATA_TYPE_BFP16, S_NOT_KNOWN, MESSAGE_ELEMENTS, c->is_send ? S_SEND : S_RECEIVE);
    }
    return code;
}

/* All device tasks of the rank by start time, numbered from 1: marks, small tasks of communication, kernels. The walk
 * is repeated for each table that needs some of them. */
typedef enum task_kind { TASK_MARK, TASK_COMM, TASK_KERNEL } task_kind;

typedef struct task_walk {
    const ps_rank_events *e;
    size_t next_mark, next_comm;
    ps_kernel_cursor kernels;
    ps_kernel next_kernel;
    bool has_kernel;
    uint64_t n_kernels; /* given out */
    int64_t id;         /* of the current task */
    task_kind kind;
    size_t index;     /* mark or comm task */
    ps_kernel kernel; /* current kernel */
} task_walk;

static task_walk walk_begin(const ps_rank_events *e) {
    task_walk w = {.e = e, .kernels = ps_kernels_begin(e)};
    w.has_kernel = ps_kernels_next(&w.kernels, &w.next_kernel);
    return w;
}

static bool walk_next(task_walk *w) {
    const ps_rank_events *e = w->e;
    int64_t mark_ns = w->next_mark < e->n_marks ? e->marks[w->next_mark].start_ns : INT64_MAX;
    int64_t comm_ns = w->next_comm < PS_TASKS_PER_COMM * e->n_comms
                          ? e->comm_tasks[w->next_comm].start_ns
                          : INT64_MAX;
    int64_t kernel_ns = w->has_kernel ? w->next_kernel.start_ns : INT64_MAX;
    w->id++;
    if (mark_ns != INT64_MAX && mark_ns <= comm_ns && mark_ns <= kernel_ns) {
        w->kind = TASK_MARK;
        w->index = w->next_mark++;
    } else if (comm_ns != INT64_MAX && comm_ns <= kernel_ns) {
        w->kind = TASK_COMM;
        w->index = w->next_comm++;
    } else if (w->has_kernel) {
        w->kind = TASK_KERNEL;
        w->kernel = w->next_kernel;
        w->n_kernels++;
        w->has_kernel = ps_kernels_next(&w->kernels, &w->next_kernel);
    } else {
        return false;
    }
    return true;
}

static const int COMM_TASK_TYPES[PS_TASKS_PER_COMM] = {S_NOTIFY_WAIT, S_MEMCPY, S_NOTIFY_RECORD};

static ps_code put_task(const db *d, const task_walk *w, ps_err *err) {
    const ps_rank_events *e = w->e;
    int64_t start_ns, end_ns, connection, type, stream;
    switch (w->kind) {
    case TASK_MARK:
        start_ns = e->marks[w->index].start_ns;
        end_ns = e->marks[w->index].end_ns;
        connection = FIRST_MARK_CONNECTION + e->marks[w->index].number;
        type = S_MARK;
        stream = COMPUTE_STREAM;
        break;
    case TASK_COMM: {
        const ps_comm_task *t = &e->comm_tasks[w->index];
        start_ns = t->start_ns;
        end_ns = t->end_ns;
        connection = FIRST_COMM_CONNECTION + t->comm;
        type = COMM_TASK_TYPES[t->part];
        stream = e->comms[t->comm].stream;
        break;
    }
    default:
        start_ns = w->kernel.start_ns;
        end_ns = w->kernel.end_ns;
        /* One call of the framework often launches two kernels. */
        connection = (int64_t)((w->n_kernels - 1) / 2) + 1;
        type = profile_db_kind_of(&w->kernel)->core;
        stream = COMPUTE_STREAM;
        break;
    }
    return PUT(d, err, start_ns, end_ns, e->id.device, connection, w->id, e->id.pid, type,
               NO_NUMBER, stream, w->id, NO_NUMBER);
}

static ps_code put_compute(const db *d, const task_walk *w, ps_err *err) {
    const kernel_kind *k = profile_db_kind_of(&w->kernel);
    bool two = k->inputs == S_BF16_2;
    return PUT(d, err, k->name, w->id, k->block_dim, 0, k->core, k->type, two ? S_ND2 : S_ND,
               k->inputs, k->shapes, S_ND, S_BF16, S_HIDDEN, S_NOT_KNOWN);
}

static ps_code put_comm_task(const db *d, const task_walk *w, const ps_rank_group *pp,
                             ps_err *err) {
    enum { TRANSPORT_SDMA = 0, TRANSPORT_RDMA = 1, LINK_HCCS = 1, LINK_ROCE = 3 };
    const ps_rank_events *e = w->e;
    const ps_comm_task *t = &e->comm_tasks[w->index];
    const ps_comm_row *c = &e->comms[t->comm];
    bool copy = COMM_TASK_TYPES[t->part] == S_MEMCPY;
    bool same_host = ps_rank_host(pp->base + c->peer * pp->stride) == e->id.host;
    /* The copy is between the rank's own buffers, so that only the notifications name the peer. */
    return PUT(d, err, comm_name_id(e, t->comm), w->id, COMM_TASK_TYPES[t->part], 0, S_GROUP,
               copy ? INT64_MAX : c->stream, RDMA_TYPE_INVALID, pp->own, copy ? NO_NUMBER : c->peer,
               same_host ? TRANSPORT_SDMA : TRANSPORT_RDMA, copy ? 2 * MESSAGE_ELEMENTS : 0,
               DATA_TYPE_BFP16, same_host ? LINK_HCCS : LINK_ROCE, (int64_t)t->comm + 1);
}

static ps_code fill_tasks(db *d, const ps_rank_events *e, const ps_rank_group *pp, ps_err *err) {
    ps_code code = begin_table(d, "TASK", err);
    for (task_walk w = walk_begin(e); code == PS_OK && walk_next(&w);) {
        code = put_task(d, &w, err);
    }
    if (code == PS_OK) {
        code = begin_table(d, "COMPUTE_TASK_INFO", err);
    }
    for (task_walk w = walk_begin(e); code == PS_OK && walk_next(&w);) {
        code = w.kind == TASK_KERNEL ? put_compute(d, &w, err) : PS_OK;
    }
    if (code == PS_OK) {
        code = begin_table(d, "COMMUNICATION_TASK_INFO", err);
    }
    for (task_walk w = walk_begin(e); code == PS_OK && walk_next(&w);) {
        code = w.kind == TASK_COMM ? put_comm_task(d, &w, pp, err) : PS_OK;
    }
    return code;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static ps_code fill_profile_db(db *d, const ps_rank_events *e, ps_err *err) {
    ps_rank_group groups[PS_MAX_GROUPS];
    (void)ps_rank_groups(e->job->opts, e->id, groups);
    const ps_rank_group *pp = &groups[0];
    ps_code code =
        execute_profile_db(d,
                           "PRAGMA page_size=4096;PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                           "PRAGMA locking_mode=EXCLUSIVE;PRAGMA cache_size=-16384;BEGIN",
                           err);
    if (code == PS_OK) {
        code = create_tables(d, err);
    }
    if (code == PS_OK) {
        code = execute_profile_db(d, ENUM_ROWS, err);
    }
    if (code == PS_OK) {
        code = fill_header(d, e, err);
    }
    if (code == PS_OK) {
        code = fill_strings(d, e, pp, err);
    }
    if (code == PS_OK) {
        code = fill_marks(d, e, err);
    }
    if (code == PS_OK) {
        code = fill_comms(d, e, err);
    }
    if (code == PS_OK) {
        code = fill_tasks(d, e, pp, err);
    }
    if (code == PS_OK) {
        code = execute_profile_db(d, INDEXES, err);
    }
    return code == PS_OK ? execute_profile_db(d, "COMMIT", err) : code;
}

ps_code ps_rank_db_write(const char *path, const ps_rank_events *e,
                         ps_ascend_profile_counts *counts, ps_err *err) {
    db d = {.path = path};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    ps_publish p;
    ps_code code = ps_publish_begin(&p, path, err);
    if (code == PS_OK && sqlite3_open_v2(p.tmp, &d.handle, flags, NULL) != SQLITE_OK) {
        code = d.handle == NULL ? ps_fail_nomem(err) : db_fail(&d, err);
    }
    if (code == PS_OK) {
        code = fill_profile_db(&d, e, err);
    }
    (void)sqlite3_finalize(d.insert);
    if (sqlite3_close(d.handle) != SQLITE_OK && code == PS_OK) {
        code = ps_fail_file(err, PS_IO, path, "cannot close the database");
    }
    code = code == PS_OK ? ps_publish_commit(&p, PS_UNFLUSHED, err) : code;
    ps_publish_abort(&p);
    if (code != PS_OK) {
        return code;
    }
    counts->n_ranks = 1;
    counts->n_marks = (int64_t)e->n_marks;
    counts->n_comm_ops = (int64_t)e->n_comms;
    counts->n_tasks =
        counts->n_marks + PS_TASKS_PER_COMM * counts->n_comm_ops + e->job->opts->n_filler;
    return PS_OK;
}
