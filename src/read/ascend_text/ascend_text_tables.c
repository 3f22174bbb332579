/* A rank whose timeline was not written, not copied or deleted: what its tables tell of it.
 *
 *   kernel_details.csv   Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us) ...     a row a kernel
 *   op_summary_*.csv     Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us) ...    msprof's form of it
 *   task_time_*.csv      kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us) ...
 *   communication.json   an operator with its communicator, start (to 0.25 us) and duration (exact)
 *   step_trace_time.csv  Step,...,Preparing: from the start of a step to its first work
 *   step_trace_*.csv     Iteration ID,Iteration End(us),Iteration Time(us)
 *
 * Of two tables that say the same the more exact one counts: starts are those of kernel_details, durations of
 * communication operators those of communication.json. A step is the ids of its rows: it begins with its first work less
 * what the profiler calls Preparing, and ends with its last work, for nobody says more. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/recording.h"
#include "read/ascend/ascend_tables.h"
#include "read/ascend_text/ascend_text.h"

/* Processes of our own, beside those of ascend_csv.c: tables name none. The numbers never come out. */
#define HARDWARE_PID (-1000000003)
#define COMM_PID (-1000000004)

#define MAX_TABLE_STEPS ((size_t)1 << 24)
/* communication.json has starts as doubles, and one decimal of them. */
#define COMM_START_SLACK_NS 1000
#define COMM_DURATION_SLACK_NS 10
#define MAX_CANDIDATES 1024 /* operators that start together; more are no recording */

/* --- what a file is --------------------------------------------------------------------------------------- */

enum { MAX_TOLD_BY = 4 };

/* By the cells of its header; in the order in which one stands for the rest. */
static const struct {
    const char *table;
    const char *cells[MAX_TOLD_BY];
    const char *without; /* a cell that makes it another table */
} TABLES[] = {
    {"kernel_details", {"Name", "Accelerator Core", "Start Time(us)", "Duration(us)"}, NULL},
    {"op_summary", {"Op Name", "Task Start Time(us)", "Task Duration(us)"}, NULL},
    {"task_time", {"kernel_name", "kernel_type", "task_start(us)", "task_time(us)"}, NULL},
    {"communication", {NULL}, NULL},
    {"step_trace_time", {"Step", "Computing", "Communication(Not Overlapped)", "Free"}, "Index"},
    {"step_trace", {"Iteration ID", "Iteration End(us)", "Iteration Time(us)"}, NULL},
    {"communication_matrix", {NULL}, NULL},
    {"op_statistic", {"OP Type", "Core Type", "Count"}, NULL},
    {"communication_statistic", {"OP Type", "Count", "Total Time(us)", "Ratio(%)"}, NULL},
    {"api_statistic", {"API Name", "Time(us)", "Count"}, NULL},
    {"operator_details", {"Name", "Host Self Duration(us)"}, NULL},
    {"operator_memory", {"Name", "Size(KB)", "Allocation Time(us)"}, NULL},
    {"npu_module_mem", {"Component", "Timestamp(us)", "Total Reserved(MB)", "Device"}, NULL},
    {"memory_record", {"Component", "Timestamp(us)", "Total Reserved(MB)"}, NULL},
    {"l2_cache", {"Stream Id", "Task Id", "Hit Rate"}, NULL},
    {"dataset", {"Operation", "Stage", "Occurrences", "Avg. time (us)"}, NULL},
};
enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

static bool has_cell(const char *line, size_t n, const char *cell) {
    size_t size = strlen(cell);
    for (size_t at = 0; at <= n;) {
        const char *comma = memchr(line + at, ',', n - at);
        size_t end = comma != NULL ? (size_t)(comma - line) : n;
        size_t from = at;
        while (from < end && line[from] == ' ') {
            from++;
        }
        if (end - from == size && memcmp(line + from, cell, size) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

static bool is_header_of(const char *line, size_t n, size_t table) {
    bool is_it = TABLES[table].cells[0] != NULL &&
                 (TABLES[table].without == NULL || !has_cell(line, n, TABLES[table].without));
    for (size_t i = 0; is_it && i < MAX_TOLD_BY && TABLES[table].cells[i] != NULL; i++) {
        is_it = has_cell(line, n, TABLES[table].cells[i]);
    }
    return is_it;
}

static const char *json_table_of(const char *text, size_t n) {
    static const char *const TIMES[] = {"\"Communication Time Info\"",
                                        "\"Communication Bandwidth Info\""};
    if (memmem(text, n, "\"p2p\"", 5) == NULL && memmem(text, n, "\"collective\"", 12) == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        if (memmem(text, n, TIMES[i], strlen(TIMES[i])) != NULL) {
            return "communication";
        }
    }
    return memmem(text, n, "\"Transport Type\"", 16) != NULL ? "communication_matrix" : NULL;
}

const char *ps_ascend_table_of(const unsigned char *head, size_t n) {
    const char *text = (const char *)head;
    if (n >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        n -= 3;
    }
    if (n > 0 && text[0] == '{') {
        return json_table_of(text, n);
    }
    const char *end = memchr(text, '\n', n);
    size_t line = end != NULL ? (size_t)(end - text) : n;
    line -= line > 0 && text[line - 1] == '\r';
    for (size_t i = 0; i < N_TABLES; i++) {
        if (is_header_of(text, line, i)) {
            return TABLES[i].table;
        }
    }
    return NULL;
}

/* "kernel_details" of kernel_details.csv and of kernel_details_3.csv. */
static bool is_named(const char *file, const char *table) {
    char name[208];
    bool is_json =
        strncmp(table, "communication", 13) == 0 && strcmp(table, "communication_statistic") != 0;
    if (is_json) {
        size_t n = strlen(table);
        return strncmp(file, table, n) == 0 && strcmp(file + n, ".json") == 0;
    }
    ps_ascend_csv_table_name(file, name, sizeof name);
    return ps_ends_with(file, ".csv") && strcmp(name, table) == 0;
}

const char *ps_ascend_tables_main(const char *const *names, size_t n) {
    for (size_t t = 0; t < N_TABLES; t++) {
        for (size_t i = 0; i < n; i++) {
            if (is_named(names[i], TABLES[t].table)) {
                return names[i];
            }
        }
    }
    return NULL;
}

/* --- what is being made ----------------------------------------------------------------------------------- */

/* An operator of communication.json. */
typedef struct told_op {
    int64_t start_ns, dur_ns, step; /* step: -1 none */
    const char *name, *group;
    bool is_taken;
} told_op;

/* A step as its rows show it. */
typedef struct table_step {
    int64_t id, first_ns, last_ns; /* of its work */
    int64_t preparing_ns;          /* -1 unknown */
} table_step;

typedef struct table_reading {
    ps_ascend_text *r;
    ps_builder *b;
    const ps_ascend_tables *tables;
    told_op *ops; /* by start */
    size_t n_ops, cap_ops;
    table_step *steps; /* in the order of their first rows */
    size_t n_steps, cap_steps;
    ps_idmap step_rows; /* id -> row of steps */
    ps_str hardware, comm, core_key, task_key, stream_key, model_key;
    bool has_kernels;
} table_reading;

static const ps_value *lone_table_cell_of(const ps_table *t, size_t row, size_t column,
                                          ps_col_type type) {
    if (column == PS_NO_COLUMN || t->columns[column].type != type) {
        return NULL;
    }
    const ps_value *v = ps_table_cell(t, row, column);
    return v->is_null ? NULL : v;
}

static const char *lone_table_text_of(const ps_table *t, size_t row, size_t column) {
    const ps_value *v = lone_table_cell_of(t, row, column, PS_COL_TEXT);
    return v != NULL ? v->u.text : NULL;
}

/* "50", "step50"; -1 for none. */
static int64_t lone_table_step_of(const ps_table *t, size_t row, size_t column) {
    const ps_value *v = lone_table_cell_of(t, row, column, PS_COL_INT);
    if (v != NULL) {
        return v->u.i >= 0 ? v->u.i : -1;
    }
    const char *text = lone_table_text_of(t, row, column);
    int64_t id = -1;
    if (text == NULL) {
        return -1;
    }
    text += strncmp(text, "step", 4) == 0 ? 4 : 0;
    return ps_parse_i64(text, strlen(text), &id) && id >= 0 ? id : -1;
}

/* A measure in units of so many nanoseconds. False when it is missing or no duration. */
static bool lone_table_duration_of(const ps_table *t, size_t row, size_t column, double unit_ns,
                                   int64_t *out) {
    const ps_value *v = lone_table_cell_of(t, row, column, PS_COL_REAL);
    if (v == NULL || !(v->u.r >= 0 && v->u.r * unit_ns < 9e17)) {
        return false;
    }
    *out = llround(v->u.r * unit_ns);
    return true;
}

static void count_odd(const table_reading *t, const ps_table *table, size_t row) {
    ps_diag_add(t->r->diag, PS_ODD_TIME, "%s row %zu", table->title, row + 1);
}

/* --- steps ------------------------------------------------------------------------------------------------- */

/* Of the slice that was just added. Its own step is said of it: nothing links it to a call that lies in one. */
static bool note_step(table_reading *t, uint32_t slice, int64_t step) {
    int64_t start = ps_builder_slice_start_ns(t->b, slice);
    int64_t end = ps_builder_slice_end_ns(t->b, slice);
    if (step < 0) {
        return true;
    }
    ps_builder_arg_int(t->b, slice, PS_STEP_ARG, step);
    uint32_t row = ps_idmap_get(&t->step_rows, (uint64_t)step);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)t->n_steps;
        if (!ps_grow(&t->steps, &t->cap_steps, t->n_steps + 1, MAX_TABLE_STEPS, sizeof *t->steps) ||
            !ps_idmap_put(&t->step_rows, (uint64_t)step, row)) {
            return false;
        }
        t->steps[t->n_steps++] = (table_step){step, INT64_MAX, INT64_MIN, -1};
    }
    ps_slice_kind kind = ps_builder_slice_kind(t->b, slice);
    bool is_work = kind == PS_SLICE_KERNEL || kind == PS_SLICE_COMM_OP;
    table_step *s = &t->steps[row];
    if (is_work && end > start) {
        s->first_ns = start < s->first_ns ? start : s->first_ns;
        s->last_ns = end > s->last_ns ? end : s->last_ns;
    }
    return true;
}

/* How long before its first work each step began, by the profiler's table; of several devices the one that began last. */
static void take_preparing(table_reading *t) {
    const ps_table *table =
        t->has_kernels ? t->tables->steps : NULL; /* else the first work is not known */
    size_t id = table != NULL ? ps_ascend_csv_column(table, "Step") : PS_NO_COLUMN;
    size_t preparing = table != NULL ? ps_ascend_csv_column(table, "Preparing") : PS_NO_COLUMN;
    for (size_t row = 0; id != PS_NO_COLUMN && row < table->n_rows; row++) {
        int64_t step = lone_table_step_of(table, row, id);
        uint32_t of = step >= 0 ? ps_idmap_get(&t->step_rows, (uint64_t)step) : PS_IDMAP_NONE;
        int64_t ns = 0;
        if (of != PS_IDMAP_NONE && lone_table_duration_of(table, row, preparing, 1000, &ns)) {
            table_step *s = &t->steps[of];
            s->preparing_ns = s->preparing_ns < 0 || ns < s->preparing_ns ? ns : s->preparing_ns;
        }
    }
}

static void add_row_steps(table_reading *t, size_t *n_unknown) {
    take_preparing(t);
    for (size_t i = 0; i < t->n_steps; i++) {
        const table_step *s = &t->steps[i];
        bool is_known = s->preparing_ns >= 0;
        if (s->first_ns <= s->last_ns) { /* else nothing of it ran */
            *n_unknown += !is_known;
            ps_builder_step(t->b, s->id,
                            is_known ? ps_i64_minus(s->first_ns, s->preparing_ns) : s->first_ns,
                            s->last_ns);
        }
    }
}

/* Iterations of msprof's step_trace: end and length. */
static void add_iterations(const table_reading *t) {
    const ps_table *table = t->tables->steps;
    size_t id = ps_ascend_csv_column(table, "Iteration ID");
    size_t end = ps_ascend_csv_column(table, "Iteration End");
    size_t time = ps_ascend_csv_column(table, "Iteration Time");
    for (size_t row = 0; row < table->n_rows; row++) {
        int64_t step = lone_table_step_of(table, row, id);
        const ps_value *at = lone_table_cell_of(table, row, end, PS_COL_INT);
        int64_t dur = 0;
        if (step < 0 || at == NULL || !lone_table_duration_of(table, row, time, 1000, &dur)) {
            count_odd(t, table, row);
            continue;
        }
        ps_builder_step(t->b, step, ps_i64_minus(at->u.i, dur), at->u.i);
    }
}

static void add_lone_table_steps(table_reading *t) {
    const ps_table *table = t->tables->steps;
    size_t n_unknown = 0;
    if ((t->r->needs & PS_NEED_STEPS) == 0) {
        return;
    }
    if (t->n_steps > 0) {
        add_row_steps(t, &n_unknown);
        ps_builder_meta(t->b, PS_STEP_ENDS_KEY, "last work");
    } else if (table != NULL && ps_ascend_csv_column(table, "Iteration ID") != PS_NO_COLUMN) {
        add_iterations(t);
    }
    if (n_unknown > 0) {
        ps_diag_add(t->r->diag, PS_ODD_TABLE_MISSING,
                    "step_trace_time.csv (%zu of the steps begin with their first work)",
                    n_unknown);
        ps_builder_meta(t->b, PS_STEP_STARTS_KEY, "first work");
    }
}

/* --- operators of communication.json ----------------------------------------------------------------------- */

PS_COMPARE(compare_told_ops, told_op, PS_BY(start_ns) PS_BY_TEXT(name))

static bool collect_told_ops(table_reading *t) {
    const ps_table *table = t->tables->comm;
    size_t name = table != NULL ? ps_ascend_csv_column(table, "hccl_op_name") : PS_NO_COLUMN;
    if (name == PS_NO_COLUMN) {
        return true;
    }
    size_t group = ps_ascend_csv_column(table, "group_name");
    size_t start = ps_ascend_csv_column(table, "start_timestamp");
    size_t elapse = ps_ascend_csv_column(table, "elapse_time");
    size_t step = ps_ascend_csv_column(table, "step");
    for (size_t row = 0; row < table->n_rows; row++) {
        const char *text = lone_table_text_of(table, row, name);
        const char *hash = lone_table_text_of(table, row, group);
        const ps_value *at = lone_table_cell_of(table, row, start, PS_COL_INT);
        int64_t dur = 0;
        if (text == NULL || strcmp(text, "Total Op Info") == 0) {
            continue;
        }
        if (at == NULL || !lone_table_duration_of(table, row, elapse, 1e6, &dur)) {
            count_odd(t, table, row);
            continue;
        }
        if (!PS_ADD(t->ops, t->n_ops, t->cap_ops, PS_NONE - 2,
                    (told_op){.start_ns = at->u.i,
                              .dur_ns = dur,
                              .step = lone_table_step_of(table, row, step),
                              .name = text,
                              .group = hash != NULL ? hash : ""})) {
            return false;
        }
    }
    ps_sort(t->ops, t->n_ops, sizeof *t->ops, compare_told_ops);
    return true;
}

/* The operator of this name that began then, NULL when communication.json has none. */
static told_op *find_told_op(const table_reading *t, const char *name, int64_t start_ns) {
    PS_PLACE(size_t, low, 0, t->n_ops, middle,
             t->ops[middle].start_ns < ps_i64_minus(start_ns, COMM_START_SLACK_NS));
    told_op *best = NULL;
    int64_t least = INT64_MAX;
    int64_t latest = ps_i64_plus(start_ns, COMM_START_SLACK_NS);
    for (size_t i = low; i < t->n_ops && i - low < MAX_CANDIDATES && t->ops[i].start_ns <= latest;
         i++) {
        int64_t off = llabs(t->ops[i].start_ns - start_ns);
        if (!t->ops[i].is_taken && off < least && strcmp(t->ops[i].name, name) == 0) {
            best = &t->ops[i];
            least = off;
        }
    }
    return best;
}

/* The digits of "hcom_allReduce__586_0_1" that tell its communicator, as HCCL names operators: type, two underscores, three
 * numbers. 0 for any other name. */
static size_t tag_of(const char *name, const char **tag) {
    const char *at = strncmp(name, "hcom_", 5) == 0 ? strstr(name, "__") : NULL;
    if (at == NULL) {
        return 0;
    }
    *tag = at + 2;
    size_t n = strspn(*tag, "0123456789");
    at = *tag + n;
    for (int number = 0; number < 2; number++) {
        size_t digits = at[0] == '_' ? strspn(at + 1, "0123456789") : 0;
        if (digits == 0) {
            return 0;
        }
        at += 1 + digits;
    }
    return at[0] == '\0' ? n : 0;
}

static uint32_t comm_track(table_reading *t, const char *group, size_t n, int64_t device) {
    ps_track track = {.kind = PS_TRACK_COMM_GROUP,
                      .pid = COMM_PID,
                      .tid = -1,
                      .device = device,
                      .name = n > 0 ? ps_builder_str(t->b, group, n) : PS_STR_NONE};
    ps_builder_process(
        t->b,
        (ps_process){.pid = COMM_PID, .name = t->comm, .order = PS_NO_ORDER, .pid_is_text = true});
    uint32_t row = ps_builder_track(t->b, track);
    if (n > 0 && row != PS_NONE) {
        char label[128];
        int size = snprintf(label, sizeof label, "Group %.*s Communication", n < 100 ? (int)n : 100,
                            group);
        ps_builder_track_label(t->b, row, ps_builder_str(t->b, label, (size_t)size), PS_NO_ORDER);
    }
    return row;
}

/* Those that no row of kernel_details is; where that has operators at all, they are the profiler's own contradiction. */
static bool add_told_ops(table_reading *t) {
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_ops && !ps_builder_failed(t->b); i++) {
        const told_op *op = &t->ops[i];
        if (op->is_taken) {
            continue;
        }
        if (t->r->has_comm_rows) {
            ps_diag_add(t->r->diag, PS_ODD_UNJOINED, "communication.json: %.80s", op->name);
            continue;
        }
        uint32_t track = comm_track(t, op->group, strlen(op->group), t->tables->device);
        uint32_t slice = ps_builder_slice(
            t->b, PS_SLICE_COMM_OP, track, ps_builder_str(t->b, op->name, strlen(op->name)),
            op->start_ns, ps_i64_plus(op->start_ns, op->dur_ns), (int64_t)i);
        ps_builder_has(t->b, PS_HAS_COMM_OPS);
        if (slice == PS_NONE) {
            ps_diag_add(t->r->diag, PS_ODD_TIME, "communication.json: %.80s", op->name);
        } else {
            ok = note_step(t, slice, op->step);
        }
    }
    return ok;
}

/* --- rows of kernels ---------------------------------------------------------------------------------------- */

/* What a row is, before it is a slice. */
typedef struct kernel {
    const char *name, *core; /* core: NULL where the table does not say */
    int64_t start_ns, dur_ns, device, stream;
    told_op *op; /* of communication.json */
    ps_slice_kind kind;
} kernel;

static bool is_comm_core(const char *core) {
    return core != NULL &&
           (strcasecmp(core, "HCCL") == 0 || strcasecmp(core, "COMMUNICATION") == 0);
}

static bool read_kernel(const table_reading *t, const ps_ascend_kernels *k, uint32_t row,
                        kernel *out) {
    const ps_value *device = lone_table_cell_of(k->table, row, k->device, PS_COL_INT);
    const ps_value *stream = lone_table_cell_of(k->table, row, k->stream, PS_COL_INT);
    const char *core = lone_table_text_of(k->table, row, k->core);
    const char *tag = NULL;
    *out = (kernel){.name = lone_table_text_of(k->table, row, k->name),
                    .core = core,
                    .start_ns = ps_table_cell(k->table, row, k->start)->u.i,
                    .device = device != NULL && device->u.i >= 0 ? device->u.i : t->tables->device,
                    .stream = stream != NULL && stream->u.i >= 0 ? stream->u.i : -1};
    out->name = out->name != NULL ? out->name : core; /* of task_time, where it is no kernel */
    if (out->name == NULL ||
        !lone_table_duration_of(k->table, row, k->duration, 1000, &out->dur_ns)) {
        return false;
    }
    out->op = find_told_op(t, out->name, out->start_ns);
    bool is_comm = is_comm_core(core) || out->op != NULL ||
                   (core == NULL && tag_of(out->name, &tag) > 0); /* level 0 gives no cores */
    out->kind = is_comm ? PS_SLICE_COMM_OP : ps_ascend_task_kind(core, out->name);
    if (out->op != NULL && llabs(out->op->dur_ns - out->dur_ns) <= COMM_DURATION_SLACK_NS) {
        out->dur_ns = out->op->dur_ns;
    }
    return true;
}

static uint32_t lone_table_track_of(table_reading *t, const kernel *k) {
    if (k->kind == PS_SLICE_COMM_OP) {
        const char *tag = "";
        size_t n = k->op == NULL ? tag_of(k->name, &tag) : 0;
        return k->op != NULL ? comm_track(t, k->op->group, strlen(k->op->group), k->device)
                             : comm_track(t, tag, n, k->device);
    }
    ps_builder_process(t->b, (ps_process){.pid = HARDWARE_PID,
                                          .name = t->hardware,
                                          .order = PS_NO_ORDER,
                                          .pid_is_text = true});
    static const char UNKNOWN[] = "streams unknown";
    ps_track track = {.kind = PS_TRACK_STREAM,
                      .pid = HARDWARE_PID,
                      .tid = k->stream,
                      .device = k->device,
                      .name = k->stream < 0 ? ps_builder_str(t->b, UNKNOWN, sizeof UNKNOWN - 1)
                                            : PS_STR_NONE};
    return ps_builder_track(t->b, track);
}

/* What the trace says of its slices, under its names. */
static void add_task_args(const table_reading *t, const ps_ascend_kernels *k, uint32_t slice,
                          uint32_t row, const kernel *from) {
    const ps_value *task = lone_table_cell_of(k->table, row, k->task, PS_COL_INT);
    const ps_value *model = lone_table_cell_of(k->table, row, k->model, PS_COL_INT);
    if (from->kind == PS_SLICE_COMM_OP) {
        return;
    }
    if (from->core != NULL) {
        ps_str core = ps_builder_str(t->b, from->core, strlen(from->core));
        ps_builder_arg(t->b, slice, (ps_arg){.key = t->core_key, .type = PS_ARG_STR, .u.s = core});
    }
    if (from->stream >= 0) {
        ps_builder_arg(t->b, slice,
                       (ps_arg){.key = t->stream_key, .type = PS_ARG_INT, .u.i = from->stream});
    }
    if (task != NULL) {
        ps_builder_arg(t->b, slice,
                       (ps_arg){.key = t->task_key, .type = PS_ARG_INT, .u.i = task->u.i});
    }
    if (model != NULL) {
        ps_builder_arg(t->b, slice,
                       (ps_arg){.key = t->model_key, .type = PS_ARG_INT, .u.i = model->u.i});
    }
}

/* `rest`: only what kernel_details does not list, that is what neither computes nor communicates as an operator. */
static bool add_kernel_rows(table_reading *t, ps_ascend_kernels *k, bool rest) {
    bool ok = true;
    for (size_t i = 0; ok && i < k->n_rows && !ps_builder_failed(t->b); i++) {
        uint32_t row = k->rows[i].row;
        kernel from;
        if (!read_kernel(t, k, row, &from)) {
            count_odd(t, k->table, row);
            continue;
        }
        if (rest && (from.kind == PS_SLICE_KERNEL || from.kind == PS_SLICE_COMM_OP)) {
            continue;
        }
        uint32_t slice =
            ps_builder_slice(t->b, from.kind, lone_table_track_of(t, &from),
                             ps_builder_str(t->b, from.name, strlen(from.name)), from.start_ns,
                             ps_i64_plus(from.start_ns, from.dur_ns), (int64_t)row);
        if (slice == PS_NONE) {
            count_odd(t, k->table, row);
            continue;
        }
        if (from.op != NULL) {
            from.op->is_taken = true;
        }
        t->has_kernels = t->has_kernels || from.kind == PS_SLICE_KERNEL;
        if (from.kind == PS_SLICE_COMM_OP) {
            t->r->has_comm_rows = true;
            ps_builder_has(t->b, PS_HAS_COMM_OPS);
        }
        add_task_args(t, k, slice, row, &from);
        if ((t->r->needs & PS_NEED_ARGS) != 0) {
            ps_ascend_kernels_add_args(k, t->b, slice, row);
        }
        int64_t step = lone_table_step_of(k->table, row, k->step);
        ok = note_step(t, slice, step < 0 && from.op != NULL ? from.op->step : step);
    }
    return ok;
}

static bool add_kernel_table(table_reading *t, const ps_ascend_csv *csv, bool rest) {
    if (csv == NULL || csv->table == NULL) {
        return true;
    }
    bool is_useless = false;
    ps_ascend_kernels *k = ps_ascend_kernels_new(csv, t->b, &is_useless);
    if (k == NULL) {
        if (is_useless && csv->table->n_rows > 0) {
            ps_diag_add(t->r->diag, PS_ODD_TABLE_ROW, "%s.csv lacks names or times",
                        csv->table->name);
        }
        return is_useless;
    }
    size_t n_odd = csv->table->n_rows - k->n_rows;
    ps_diag_count(t->r->diag, PS_ODD_TIME, n_odd);
    bool ok = add_kernel_rows(t, k, rest);
    ps_ascend_kernels_free(k);
    return ok;
}

/* --- all of it ----------------------------------------------------------------------------------------------- */

static ps_str lone_table_word(ps_builder *b, const char *text) {
    return ps_builder_str(b, text, strlen(text));
}

ps_code ps_ascend_tables_slices(ps_ascend_text *r, const ps_ascend_tables *tables, ps_err *err) {
    ps_builder *b = r->builder;
    table_reading t = {.r = r,
                       .b = b,
                       .tables = tables,
                       .hardware = lone_table_word(b, "Ascend Hardware"),
                       .comm = lone_table_word(b, "Communication"),
                       .core_key = r->words.task_type,
                       .task_key = r->words.hardware_task_id,
                       .stream_key = r->words.physic_stream_id,
                       .model_key = lone_table_word(b, "Model Id")};
    bool has_kernels = tables->kernels != NULL && tables->kernels->table != NULL;
    bool ok = collect_told_ops(&t) && add_kernel_table(&t, tables->kernels, false) &&
              add_kernel_table(&t, tables->tasks, has_kernels) && add_told_ops(&t);
    if (ok) {
        add_lone_table_steps(&t);
    }
    ps_free(t.ops);
    ps_free(t.steps);
    ps_idmap_fini(&t.step_rows);
    return ok && !ps_builder_failed(b) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_ascend_tables_timeline(ps_ascend_text *r, ps_ascend_files *files, ps_err *err) {
    ps_ascend_tables tables = {.device = -1};
    ps_code code = ps_ascend_files_tables(files, r->builder, &tables, err);
    return code == PS_OK ? ps_ascend_tables_slices(r, &tables, err) : code;
}
