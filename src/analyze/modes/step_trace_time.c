/* step_trace_time: what the steps of every rank and stage are made of, as ClusterStepTraceTime of the public tool.
 *
 * Computed from the work itself (overlap.h); only where a profile has none the profiler's own table is taken. Names,
 * columns and units (us) are those that MindStudio Insight reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/modes/step_facts.h"
#include "analyze/pipeline/stage_groups.h"
#include "analyze/rank/overlap.h"
#include "analyze/rank/overlap_lanes.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/recording.h"

enum {
    COMPUTING,
    NOT_OVERLAPPED,
    OVERLAPPED,
    COMMUNICATION,
    FREE,
    STAGE,
    BUBBLE,
    EXCLUDE_RECEIVE,
    PREPARING,
    N_TIMES
};

#define MAX_ROWS ((size_t)1 << 24)

/* One rank, device and step. */
typedef struct step_row {
    int64_t step;
    bool has_step;
    bool has_no_start;     /* of the step: Preparing is unknown */
    bool has_no_computing; /* nor what depends on it */
    int64_t ns[N_TIMES];
} step_row;

typedef struct partial {
    ps_arena arena;
    ps_rank_facts facts;
    ps_step_facts own;
    step_row *rows;
    size_t n, cap;
} partial;

static void free_step_trace_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_arena_fini(&part->arena);
        ps_free(part->rows);
        ps_free(part);
    }
}

static bool add_step_trace_row(partial *part, const step_row *row) {
    if (!ps_grow(&part->rows, &part->cap, part->n + 1, MAX_ROWS, sizeof *part->rows)) {
        return false;
    }
    part->rows[part->n++] = *row;
    return true;
}

/* --- by the work ---------------------------------------------------------------------------------------- */

static step_row step_trace_row_of(const ps_overlap *o) {
    return (step_row){.step = o->step,
                      .has_step = o->has_step,
                      .ns = {[COMPUTING] = o->computing_ns,
                             [NOT_OVERLAPPED] = o->not_overlapped_ns,
                             [OVERLAPPED] = ps_overlap_overlapped_ns(o),
                             [COMMUNICATION] = o->communication_ns,
                             [FREE] = o->free_ns,
                             [STAGE] = ps_overlap_stage_ns(o),
                             [BUBBLE] = o->bubble_ns,
                             [EXCLUDE_RECEIVE] = o->exclude_receive_ns,
                             [PREPARING] = ps_overlap_preparing_ns(o)}};
}

static ps_code measure_step_trace(const ps_map_input *in, partial *part, ps_err *err) {
    const ps_overlaps *overlaps = ps_derived_overlaps(in->derived, err);
    ps_code code = overlaps != NULL ? PS_OK : PS_NOMEM;
    bool has_no_start = ps_trace_meta(in->trace, PS_STEP_STARTS_KEY) != NULL;
    for (size_t i = 0; code == PS_OK && i < overlaps->n; i++) {
        step_row row = step_trace_row_of(&overlaps->at[i]);
        row.has_no_start = has_no_start;
        row.has_no_computing = !overlaps->knows_computing;
        code = add_step_trace_row(part, &row) ? PS_OK : ps_fail_nomem(err);
        part->own.device = part->own.device < 0 ? overlaps->at[i].device : part->own.device;
    }
    return code;
}

/* --- by the profiler's table ------------------------------------------------------------------------------ */

static const char *const TABLE_NAMES[N_TIMES][2] = {
    {"computing", "Computing"},
    {"communication_not_overlapped", "Communication(Not Overlapped)"},
    {"overlapped", "Overlapped"},
    {"communication", "Communication"},
    {"free", "Free"},
    {"stage", "Stage"},
    {"bubble", "Bubble"},
    {"communication_not_overlapped_and_exclude_receive",
     "Communication(Not Overlapped and Exclude Receive)"},
    {"preparing", "Preparing"},
};

static size_t find_column(const ps_table *t, const char *name, const char *other) {
    size_t c = 0;
    while (c < t->n_columns && strcmp(t->columns[c].name, name) != 0 &&
           strcmp(t->columns[c].name, other) != 0) {
        c++;
    }
    return c;
}

/* 0 when there is no such cell. */
static int64_t cell_ns(const ps_table *t, size_t row, size_t column) {
    const ps_value *v = column < t->n_columns ? ps_table_cell(t, row, column) : NULL;
    if (v == NULL || v->is_null) {
        return 0;
    }
    double us = t->columns[column].type == PS_COL_REAL  ? v->u.r
                : t->columns[column].type == PS_COL_INT ? (double)v->u.i
                                                        : 0;
    return us > -9e15 && us < 9e15 ? (int64_t)llround(us * 1000) : 0;
}

static ps_code take_step_trace_table(const ps_map_input *in, partial *part, ps_err *err) {
    const ps_table *t = ps_trace_side_table(in->trace, "StepTraceTime");
    t = t != NULL ? t : ps_trace_side_table(in->trace, "step_trace_time");
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        step_row row = {0};
        row.has_step = ps_step_in_cell(t, r, find_column(t, "step", "Step"), &row.step);
        for (size_t c = 0; c < N_TIMES; c++) {
            row.ns[c] = cell_ns(t, r, find_column(t, TABLE_NAMES[c][0], TABLE_NAMES[c][1]));
        }
        bool wanted = in->opts->step_id < 0 || (row.has_step && row.step == in->opts->step_id);
        if (wanted && !add_step_trace_row(part, &row)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static ps_code read_step_trace_rank(const ps_map_input *in, partial *part, ps_err *err) {
    ps_code code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    code = code == PS_OK ? ps_step_facts_read(in->trace, &part->arena, &part->own, err) : code;
    code = code == PS_OK ? measure_step_trace(in, part, err) : code;
    if (code == PS_OK && part->n == 0) {
        code = take_step_trace_table(in, part, err);
    }
    if (code == PS_OK && part->n == 0) {
        code = ps_check_step(in->trace, in->opts->step_id, err);
        code = code == PS_OK ? ps_fail(err, PS_NOTHING, "%s", PS_OVERLAP_NO_WORK(in->opts->lang))
                             : code;
    }
    return code;
}

static ps_code map_step_trace(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = read_step_trace_rank(in, part, err);
    if (code != PS_OK) {
        free_step_trace_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- rows of ranks and stages ------------------------------------------------------------------------------ */

typedef struct line_row {
    const char *step, *type, *index;
    char step_text[24];
    double us[N_TIMES];
    int64_t dp, pp, tp;
} line_row;

#define TIME_COLUMN(column, time, head)                                                            \
    {                                                                                              \
        .name = (column), PS_FIELD(line_row, us[time]), .unit = PS_UNIT_US, .sql_type = "NUMERIC", \
        .header = (head)                                                                           \
    }
#define INDEX_COLUMN(column, member, head)                                                         \
    { .name = (column), PS_FIELD(line_row, member), .header = (head), .unknown_below_zero = true }
static const ps_column STEP_COLUMNS[] = {
    {.name = "step", PS_FIELD(line_row, step), .header = "Step"},
    {.name = "type", PS_FIELD(line_row, type), .header = "Type"},
    {.name = "index", PS_FIELD(line_row, index), .header = "Index"},
    TIME_COLUMN("computing", COMPUTING, "Computing"),
    TIME_COLUMN("communication_not_overlapped", NOT_OVERLAPPED, "Communication(Not Overlapped)"),
    TIME_COLUMN("overlapped", OVERLAPPED, "Overlapped"),
    TIME_COLUMN("communication", COMMUNICATION, "Communication"),
    TIME_COLUMN("free", FREE, "Free"),
    TIME_COLUMN("stage", STAGE, "Stage"),
    TIME_COLUMN("bubble", BUBBLE, "Bubble"),
    TIME_COLUMN("communication_not_overlapped_and_exclude_receive", EXCLUDE_RECEIVE,
                "Communication(Not Overlapped and Exclude Receive)"),
    TIME_COLUMN("preparing", PREPARING, "Preparing"),
    INDEX_COLUMN("dp_index", dp, "DP Index"),
    INDEX_COLUMN("pp_index", pp, "PP Index"),
    INDEX_COLUMN("tp_index", tp, "TP Index"),
};

/* A line of the table: of rank `who`, or of stage `who` behind the ranks. */
typedef struct line {
    const step_row *row; /* of a stage: the first one of its ranks */
    step_row largest;    /* of a stage */
    bool is_stage;
    size_t who, order;
} line;

PS_COMPARE(by_step_and_who, line,
           PS_BY(row->has_step) PS_BY(row->step) PS_BY(is_stage) PS_BY(who) PS_BY(order))

typedef struct lines {
    line *at;
    size_t n, n_ranks; /* of these the first belong to ranks */
} lines;

static void sort_lines(lines *l) {
    ps_sort(l->at, l->n, sizeof *l->at, by_step_and_who);
}

/* The largest of each column, which therefore need not add up. Lines of ranks come by step: each stage has one open line,
 * that of the step at hand. */
static bool add_stages(lines *l, const int32_t *stage, size_t n_stages) {
    size_t *open = ps_calloc(n_stages + 1, sizeof *open);
    for (size_t i = 0; open != NULL && i < l->n_ranks; i++) {
        int32_t s = stage[l->at[i].who];
        if (s < 0) {
            continue;
        }
        const step_row *row = l->at[i].row;
        line *of = open[s] > 0 ? &l->at[open[s]] : NULL;
        if (of == NULL || of->row->step != row->step || of->row->has_step != row->has_step) {
            open[s] = l->n;
            l->at[l->n] = (line){.row = row, .is_stage = true, .who = (size_t)s, .order = l->n};
            l->at[l->n++].largest = *row;
            continue;
        }
        for (size_t c = 0; c < N_TIMES; c++) {
            of->largest.ns[c] = row->ns[c] > of->largest.ns[c] ? row->ns[c] : of->largest.ns[c];
        }
    }
    ps_free(open);
    return open != NULL;
}

static bool gather_step_trace(const ps_reduce_input *in, const int32_t *stage, size_t n_stages,
                              lines *l) {
    size_t total = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        total += part != NULL ? part->n : 0;
    }
    l->at = ps_calloc(2 * total + 1, sizeof *l->at);
    for (size_t r = 0; l->at != NULL && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->n; i++) {
            l->at[l->n++] = (line){.row = &part->rows[i], .who = r, .order = i};
        }
    }
    l->n_ranks = l->n;
    if (l->at == NULL) {
        return false;
    }
    sort_lines(l);
    bool ok = n_stages == 0 || add_stages(l, stage, n_stages);
    sort_lines(l);
    return ok;
}

/* "(0,1,2)" */
static void name_stage(const ps_reduce_input *in, const int32_t *stage, size_t s, ps_buf *out) {
    bool first = true;
    ps_buf_clear(out);
    for (size_t r = 0; r < in->n_ranks; r++) {
        if (in->partials[r] != NULL && stage[r] == (int32_t)s) {
            ps_buf_addf(out, "%s%lld", first ? "(" : ",", (long long)in->ranks[r].rank);
            first = false;
        }
    }
    ps_buf_add_str(out, ")");
}

static bool is_time_known(const step_row *row, size_t column) {
    bool is_of_communication = column == COMMUNICATION || column == BUBBLE;
    return (is_of_communication || !row->has_no_computing) &&
           (column != PREPARING || !row->has_no_start);
}

static void put_step_trace_line(ps_table *t, const ps_reduce_input *in, const line *at,
                                const ps_indices *indices, const int32_t *stage, ps_buf *text) {
    const step_row *row = at->is_stage ? &at->largest : at->row;
    ps_buf_clear(text);
    if (at->is_stage) {
        name_stage(in, stage, at->who, text);
    } else {
        ps_buf_addf(text, "%lld", (long long)in->ranks[at->who].rank);
    }
    if (!ps_buf_ok(text)) {
        ps_table_fail(t);
        return;
    }
    line_row out = {.type = at->is_stage ? "stage" : "rank",
                    .index = ps_buf_str(text),
                    .dp = at->is_stage ? -1 : indices[at->who].dp,
                    .pp = at->is_stage ? -1 : indices[at->who].pp,
                    .tp = at->is_stage ? -1 : indices[at->who].tp};
    (void)snprintf(out.step_text, sizeof out.step_text, "%lld", (long long)row->step);
    out.step = row->has_step ? out.step_text : NULL;
    for (size_t c = 0; c < N_TIMES; c++) {
        out.us[c] = is_time_known(row, c) ? (double)row->ns[c] / 1000 : NAN;
    }
    ps_table_put(t, &out);
}

static ps_code put_step_trace_steps(const ps_reduce_input *in, const ps_indices *indices,
                                    const int32_t *stage, size_t n_stages, ps_err *err) {
    lines l = {0};
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_table *t = ps_table_new("ClusterStepTraceTime", "time of steps by rank and stage",
                               PS_COLUMNS(STEP_COLUMNS));
    if (!gather_step_trace(in, stage, n_stages, &l)) {
        ps_table_fail(t);
    }
    for (size_t i = 0; i < l.n; i++) {
        put_step_trace_line(t, in, &l.at[i], indices, stage, &text);
    }
    ps_free(l.at);
    ps_buf_fini(&text);
    ps_result_finish_table(in->result, t, "cluster_step_trace_time", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static ps_code reduce_step_trace(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_rank_facts **facts = ps_calloc(in->n_ranks, sizeof *facts);
    const ps_step_facts **own = ps_calloc(in->n_ranks, sizeof *own);
    ps_indices *indices = ps_calloc(in->n_ranks, sizeof *indices);
    int32_t *stage = ps_calloc(in->n_ranks, sizeof *stage);
    size_t n_stages = 0;
    bool ok = facts != NULL && own != NULL && indices != NULL && stage != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        for (size_t r = 0; r < in->n_ranks; r++) {
            const partial *part = in->partials[r];
            facts[r] = part != NULL ? &part->facts : NULL;
            own[r] = part != NULL ? &part->own : NULL;
        }
        ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        for (size_t r = 0; r < in->n_ranks; r++) {
            indices[r] = ps_indices_of(&job, in->ranks[r].rank, facts[r]);
        }
        code = ps_job_check(&job, err);
        code = code == PS_OK
                   ? ps_stage_groups(in->ranks, facts, &job, in->n_ranks, stage, &n_stages, err)
                   : code;
        code = code == PS_OK ? put_step_trace_steps(in, indices, stage, n_stages, err) : code;
        code = code == PS_OK ? ps_step_facts_put(in, own, err) : code;
    }
    ps_free(facts);
    ps_free(own);
    ps_free(indices);
    ps_free(stage);
    return code;
}

static void step_row_archive(ps_archive *a, void *row) {
    step_row *x = row;
    PS_ARCHIVE(a, x, step, has_step, has_no_start, has_no_computing);
    PS_ARCHIVE_EACH(a, x, ns);
}

static void archive_step_trace_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_rank_facts_archive(a, &x->facts);
        PS_ARCHIVE(a, x, own.distributed_args, own.host_uid, own.host_name, own.device);
        PS_ARCHIVE_ARRAY(a, x, rows, n, step_row_archive);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_DEVICE_SPANS | PS_NEED_STATISTICS,
     .map = map_step_trace,
     .reduce = reduce_step_trace}};

const ps_analysis ps_analysis_step_trace_time = {
    .name = "step_trace_time",
    .folder = "StepTraceTime",
    .summary = "computing, communication, free time and bubble of each step, by rank and stage",
    .sets = PS_IN_ALL | PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_step_trace_partial,
    .archive = archive_step_trace_partial,
};
