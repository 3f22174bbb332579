/* export_summary: two lists of each rank as csv files, <rank>/api_statistic and <rank>/kernel_details.
 *
 * Every kernel and communication operator is a row, so the tables are made while the trace is at hand and handed on as they
 * are. Start times are decimal text: microseconds since 1970 with their nanoseconds do not fit a double. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/call_sums.h"
#include "analyze/derived.h"
#include "analyze/links.h"
#include "analyze/marks.h"
#include "base/alloc.h"
#include "base/idmap.h"

static const char MISSING[] = "N/A";

typedef struct partial {
    ps_table *kernels, *calls; /* NULL: nothing of it */
} partial;

static void free_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_table_free(part->kernels);
        ps_table_free(part->calls);
        ps_free(part);
    }
}

/* --- calls ---------------------------------------------------------------------------------------------- */

enum { A_NAME, A_TOTAL, A_COUNT, A_MEAN, A_MIN, A_MAX };

static const ps_column CALLS[] = {
    {.name = "API Name", .type = PS_COL_TEXT},    {.name = "Total Time(ns)", .type = PS_COL_INT},
    {.name = "Count", .type = PS_COL_INT},        {.name = "Avg Time(ns)", .type = PS_COL_REAL},
    {.name = "Min Time(ns)", .type = PS_COL_INT}, {.name = "Max Time(ns)", .type = PS_COL_INT},
};

static bool put_calls(ps_table *t, const ps_sum_rows *rows) {
    for (size_t i = 0; i < rows->n; i++) {
        const ps_stats *s = &rows->rows[i].stats;
        if (!ps_table_add_row(t) || !ps_table_set_text(t, A_NAME, rows->rows[i].keys[0])) {
            return false;
        }
        ps_table_set_int(t, A_TOTAL, s->sum);
        ps_table_set_int(t, A_COUNT, (int64_t)s->n);
        ps_table_set_real(t, A_MEAN, s->mean);
        ps_table_set_int(t, A_MIN, s->min);
        ps_table_set_int(t, A_MAX, s->max);
    }
    return true;
}

static ps_code make_calls(const ps_map_input *in, ps_table **out, ps_err *err) {
    ps_value_adder adder = {.trace = in->trace};
    ps_value_sums sums = {0};
    ps_sum_rows rows = {0};
    const ps_value_sums *all[] = {&sums};
    ps_code code = ps_call_sums_collect(in, &adder, err);
    code = code == PS_OK ? ps_value_adder_finish(&adder, &sums, err) : code;
    code = code == PS_OK ? ps_value_sums_join(all, 1, 1, false, &rows, err) : code;
    if (code == PS_OK && rows.n > 0) {
        ps_sum_rows_by_sum(&rows);
        *out = ps_table_new("api_statistic", "calls of the driver and runtime", CALLS,
                            sizeof CALLS / sizeof *CALLS);
        code = *out != NULL && put_calls(*out, &rows) ? PS_OK : ps_fail_nomem(err);
    }
    ps_value_adder_fini(&adder);
    ps_value_sums_fini(&sums);
    ps_sum_rows_fini(&rows);
    return code;
}

/* --- kernels -------------------------------------------------------------------------------------------- */

enum {
    K_NAME,
    K_BLOCK,
    K_MIX_BLOCK,
    K_TYPE,
    K_TASK_TYPE,
    K_IN_FORMATS,
    K_OUT_FORMATS,
    K_IN_SHAPES,
    K_OUT_SHAPES,
    K_IN_TYPES,
    K_OUT_TYPES,
    K_STATE,
    K_START,
    K_DURATION,
    K_DEVICE,
    K_MODEL,
    K_STREAM,
    K_CONTEXT,
    K_TASK,
    K_WAIT,
    N_KERNEL_COLUMNS
};

#define TEXT(text)                                                                                 \
    { .name = (text), .type = PS_COL_TEXT }
#define US(text)                                                                                   \
    { .name = (text), .type = PS_COL_REAL, .unit = PS_UNIT_US }
#define BEFORE_STATE                                                                               \
    TEXT("op_name"), TEXT("block_dim"), TEXT("mix_block_dim"), TEXT("op_type"), TEXT("task_type"), \
        TEXT("input_formats"), TEXT("output_formats"), TEXT("input_shapes"),                       \
        TEXT("output_shapes"), TEXT("input_data_types"), TEXT("output_data_types")
#define BEHIND_STATE                                                                               \
    TEXT("task_start_time"), US("task_duration"), TEXT("device_id"), TEXT("model_id"),             \
        TEXT("stream_id"), TEXT("context_id"), TEXT("task_id"), US("task_wait_time")

static const ps_column KERNELS[N_KERNEL_COLUMNS] = {BEFORE_STATE, TEXT("op_state"), BEHIND_STATE};
static const ps_column STATELESS[N_KERNEL_COLUMNS - 1] = {BEFORE_STATE, BEHIND_STATE};

/* Arguments of kernels, by the name that each format gives them; the better one first. */
static const struct {
    const char *arg;
    int column;
} WANTED[] = {
    {"blockNum", K_BLOCK},
    {"Block Dim", K_BLOCK},
    {"Block Num", K_BLOCK},
    {"mixBlockNum", K_MIX_BLOCK},
    {"Mix Block Dim", K_MIX_BLOCK},
    {"Mix Block Num", K_MIX_BLOCK},
    {"opType", K_TYPE},
    {"Type", K_TYPE},
    {"OP Type", K_TYPE},
    {"taskType", K_TASK_TYPE},
    {"Accelerator Core", K_TASK_TYPE},
    {"Task Type", K_TASK_TYPE},
    {"inputFormats", K_IN_FORMATS},
    {"Input Formats", K_IN_FORMATS},
    {"outputFormats", K_OUT_FORMATS},
    {"Output Formats", K_OUT_FORMATS},
    {"inputShapes", K_IN_SHAPES},
    {"Input Shapes", K_IN_SHAPES},
    {"outputShapes", K_OUT_SHAPES},
    {"Output Shapes", K_OUT_SHAPES},
    {"inputDataTypes", K_IN_TYPES},
    {"Input Data Types", K_IN_TYPES},
    {"outputDataTypes", K_OUT_TYPES},
    {"Output Data Types", K_OUT_TYPES},
    {"opState", K_STATE},
    {"OP State", K_STATE},
    {"modelId", K_MODEL},
    {"Model Id", K_MODEL},
    {"contextId", K_CONTEXT},
    {"Context ID", K_CONTEXT},
    {"Context Id", K_CONTEXT},
    {"taskId", K_TASK},
    {"Task Id", K_TASK},
    {"task id", K_TASK},
};
enum { N_WANTED = sizeof WANTED / sizeof *WANTED };

typedef struct lister {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    ps_table *table;
    struct {
        ps_str key;
        int column, rank; /* lower rank is better */
    } wanted[N_WANTED];
    size_t n_wanted; /* those that any slice may have */
    ps_idmap copied; /* text of the trace -> row in copies; numbers above 2^32 -> the same */
    const char **copies;
    size_t n_copies, cap_copies;
    ps_derived *derived;
    const ps_links *links; /* NULL: not needed yet */
    int64_t step;
    int64_t previous_end_ns;
    bool has_previous;
} lister;

/* A text in the table's arena, once however often it is used. NULL when memory is out. */
static const char *shared_text(lister *l, uint64_t key, const char *text, size_t n) {
    uint32_t row = ps_idmap_get(&l->copied, key);
    if (row != PS_IDMAP_NONE) {
        return l->copies[row];
    }
    const char *copy = ps_arena_strndup(&l->table->arena, text, n);
    if (copy == NULL ||
        !ps_grow(&l->copies, &l->cap_copies, l->n_copies + 1, UINT32_MAX - 1, sizeof *l->copies) ||
        !ps_idmap_put(&l->copied, key, (uint32_t)l->n_copies)) {
        return NULL;
    }
    l->copies[l->n_copies++] = copy;
    return copy;
}

static bool set_text(lister *l, size_t column, ps_str text) {
    const char *copy =
        shared_text(l, text.id, ps_trace_text(l->trace, text), ps_trace_text_len(l->trace, text));
    if (copy != NULL) {
        ps_table_share_text(l->table, column, copy);
    }
    return copy != NULL;
}

static bool set_number(lister *l, size_t column, int64_t number) {
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)number);
    bool is_small = number >= 0 && number < UINT32_MAX;
    const char *copy = is_small
                           ? shared_text(l, ((uint64_t)1 << 32) + (uint64_t)number, text, (size_t)n)
                           : ps_arena_strndup(&l->table->arena, text, (size_t)n);
    if (copy != NULL) {
        ps_table_share_text(l->table, column, copy);
    }
    return copy != NULL;
}

static bool set_args(lister *l, uint32_t slice) {
    int best[N_KERNEL_COLUMNS];
    for (size_t c = 0; c < N_KERNEL_COLUMNS; c++) {
        best[c] = N_WANTED;
    }
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(l->trace, slice); ps_arg_next(&it, &arg);) {
        for (size_t w = 0; w < l->n_wanted; w++) {
            int column = l->wanted[w].column;
            bool is_text = arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER;
            if (!ps_str_eq(arg.key, l->wanted[w].key) || l->wanted[w].rank >= best[column] ||
                (!is_text && arg.type != PS_ARG_INT)) {
                continue;
            }
            best[column] = l->wanted[w].rank;
            if (is_text ? !set_text(l, (size_t)column, arg.u.s)
                        : !set_number(l, (size_t)column, arg.u.i)) {
                return false;
            }
        }
    }
    return true;
}

/* The operator that launched a kernel stands for its type where the profile knows none. */
static bool set_missing_type(lister *l, uint32_t slice) {
    const ps_value *type = ps_table_cell(l->table, l->table->n_rows - 1, K_TYPE);
    if (type->u.text != MISSING) {
        return true;
    }
    if (l->links == NULL && (l->links = ps_derived_links(l->derived, NULL)) == NULL) {
        return false;
    }
    uint32_t op = l->links->op[slice];
    return op == PS_NONE || set_text(l, K_TYPE, l->s->name[op]);
}

static bool set_times(lister *l, uint32_t slice) {
    int64_t start = l->s->start_ns[slice] + ps_trace_origin_ns(l->trace);
    uint64_t size = start < 0 ? 0 - (uint64_t)start : (uint64_t)start;
    char text[32];
    int n = snprintf(text, sizeof text, "%s%llu.%03llu", start < 0 ? "-" : "",
                     (unsigned long long)(size / 1000), (unsigned long long)(size % 1000));
    const char *copy = ps_arena_strndup(&l->table->arena, text, (size_t)n);
    if (copy == NULL) {
        return false;
    }
    int64_t wait = l->has_previous ? l->s->start_ns[slice] - l->previous_end_ns : 0;
    l->previous_end_ns = l->s->start_ns[slice] + l->s->dur_ns[slice];
    l->has_previous = true;
    ps_table_share_text(l->table, K_START, copy);
    ps_table_set_real(l->table, K_DURATION, (double)l->s->dur_ns[slice] / 1000);
    ps_table_set_real(l->table, K_WAIT, wait > 0 ? (double)wait / 1000 : 0);
    return true;
}

static bool add_row(lister *l, uint32_t slice, bool is_kernel) {
    if (!ps_table_add_row(l->table)) {
        return false;
    }
    for (size_t c = 0; c < N_KERNEL_COLUMNS; c++) {
        if (KERNELS[c].type == PS_COL_TEXT) {
            ps_table_share_text(l->table, c, MISSING);
        }
    }
    const ps_track *track = &l->tracks[l->s->track[slice]];
    bool ok =
        set_text(l, K_NAME, l->s->name[slice]) && set_times(l, slice) &&
        (track->device < 0 || set_number(l, K_DEVICE, track->device)) &&
        (track->kind != PS_TRACK_STREAM || track->tid < 0 || set_number(l, K_STREAM, track->tid));
    if (!is_kernel) {
        const char *type = ps_trace_arg_text(l->trace, slice, "opType");
        ps_table_share_text(l->table, K_TYPE, "COMMUNICATION");
        ps_table_share_text(l->table, K_TASK_TYPE, "COMMUNICATION");
        return ok && ps_table_set_text(l->table, K_TYPE, type);
    }
    ok = ok &&
         (ps_str_is_none(l->s->category[slice]) || set_text(l, K_TASK_TYPE, l->s->category[slice]));
    return ok && set_args(l, slice) && set_missing_type(l, slice);
}

/* Communication as operators; as kernels where there are none. */
static ps_slice_kind kind_of_communication(const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_COMM_OP) {
            return PS_SLICE_COMM_OP;
        }
    }
    return PS_SLICE_COMM_KERNEL;
}

static bool list_kernels(lister *l) {
    ps_slice_kind communication = kind_of_communication(l->s);
    for (int w = 0; w < N_WANTED; w++) {
        ps_str key = ps_trace_find_text(l->trace, WANTED[w].arg);
        if (!ps_str_is_none(key)) {
            l->wanted[l->n_wanted].key = key;
            l->wanted[l->n_wanted].column = WANTED[w].column;
            l->wanted[l->n_wanted++].rank = w;
        }
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < l->s->n; i++) {
        bool is_kernel = l->s->kind[i] == PS_SLICE_KERNEL;
        if ((is_kernel || l->s->kind[i] == communication) &&
            (l->step < 0 || ps_links_step(l->links, i) == l->step)) {
            ok = add_row(l, i, is_kernel);
        }
    }
    return ok;
}

/* Older profiles do not know whether shapes are static: then there is no such column. */
static void drop_empty_state(ps_table *t) {
    for (size_t r = 0; r < t->n_rows; r++) {
        if (ps_table_cell(t, r, K_STATE)->u.text != MISSING) {
            return;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows * N_KERNEL_COLUMNS; i++) {
        if (i % N_KERNEL_COLUMNS != K_STATE) {
            t->cells[n++] = t->cells[i];
        }
    }
    t->columns = STATELESS;
    t->n_columns = N_KERNEL_COLUMNS - 1;
}

static ps_code make_kernels(const ps_map_input *in, ps_table **out, ps_err *err) {
    size_t n_tracks = 0;
    lister l = {.trace = in->trace,
                .s = ps_trace_slices(in->trace),
                .tracks = ps_trace_tracks(in->trace, &n_tracks),
                .derived = in->derived,
                .step = in->opts->step_id};
    l.table = ps_table_new("kernel_details", "kernels and communication operators", KERNELS,
                           N_KERNEL_COLUMNS);
    *out = l.table;
    if (l.table == NULL) {
        return ps_fail_nomem(err);
    }
    ps_idmap_init(&l.copied);
    ps_code code = PS_OK;
    if (l.step >= 0) {
        l.links = ps_derived_links(in->derived, err);
        code = l.links != NULL ? PS_OK : PS_NOMEM;
    }
    if (code == PS_OK && !list_kernels(&l)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        drop_empty_state(l.table);
    }
    ps_idmap_fini(&l.copied);
    ps_free(l.copies);
    return code;
}

/* --- all together --------------------------------------------------------------------------------------- */

static ps_code fill(partial *part, const ps_map_input *in, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    code = code == PS_OK ? make_calls(in, &part->calls, err) : code;
    code = code == PS_OK ? make_kernels(in, &part->kernels, err) : code;
    if (code == PS_OK && part->kernels->n_rows == 0) {
        ps_table_free(part->kernels);
        part->kernels = NULL;
    }
    if (code == PS_OK && part->kernels == NULL && part->calls == NULL) {
        code = ps_fail(err, PS_NOTHING,
                       "no kernels and no calls of the driver or runtime%s: neither was recorded",
                       in->opts->step_id >= 0 ? " in this step" : "");
    }
    return code;
}

static ps_code map(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    ps_code code = part != NULL ? fill(part, in, err) : ps_fail_nomem(err);
    if (code != PS_OK) {
        free_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* "3/kernel_details"; ranks that share a number are told apart by their place in the run. */
static bool name_file(ps_table *t, const ps_reduce_input *in, size_t r) {
    size_t n_same = 0;
    for (size_t i = 0; i < in->n_ranks; i++) {
        n_same += in->ranks[i].rank == in->ranks[r].rank;
    }
    char file[96];
    int n =
        n_same > 1
            ? snprintf(file, sizeof file, "%lld_%zu/%s", (long long)in->ranks[r].rank, r, t->name)
            : snprintf(file, sizeof file, "%lld/%s", (long long)in->ranks[r].rank, t->name);
    t->file = ps_arena_strndup(&t->arena, file, (size_t)n);
    t->names_fixed = true;
    t->to = PS_TO_FILES | PS_TO_BESIDE_DB;
    return t->file != NULL;
}

static ps_code reduce(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        ps_table **tables[] = {part != NULL ? &part->calls : NULL,
                               part != NULL ? &part->kernels : NULL};
        for (size_t i = 0; code == PS_OK && part != NULL && i < 2; i++) {
            ps_table *t = *tables[i];
            *tables[i] = NULL;
            if (t == NULL) {
                continue;
            }
            if (name_file(t, in, r)) {
                code = ps_result_add(in->result, t, err);
            } else {
                ps_table_free(t);
                code = ps_fail_nomem(err);
            }
        }
    }
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS | PS_NEED_COMM_OPS,
     .map = map,
     .reduce = reduce}};

const ps_analysis ps_analysis_export_summary = {
    .name = "export_summary",
    .folder = "ExportSummary",
    .summary = "api_statistic.csv and kernel_details.csv of each rank",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_partial,
};
