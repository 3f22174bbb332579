/* free_analysis: the longest gaps of every rank with what each of them waited for, and how much of a step is free.
 *
 * The sentences are those of the public tool where its rules hold; gaps that it would blame on the host although the device
 * waited for a receive, or for work that had been launched, say so (dispatch.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/derived.h"
#include "analyze/rank/dispatch.h"
#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

enum { DEFAULT_TOP = 10, MAX_TYPES = 64 };

/* A gap with what the table says of it; outlives the trace. */
typedef struct told_gap {
    int64_t start_ns, end_ns; /* epoch */
    int64_t framework_idle_ns, call_idle_ns;
    const char *reason; /* in the arena */
} told_gap;

typedef struct partial {
    ps_arena arena;
    ps_dispatch dispatch; /* of its gaps only sums are used: they point into the trace */
    told_gap *gaps;
    size_t n_gaps;
} partial;

static void free_free_time_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_arena_fini(&part->arena);
        ps_dispatch_fini(&part->dispatch);
        ps_free(part->gaps);
        ps_free(part);
    }
}

/* --- sentences -------------------------------------------------------------------------------------------------- */

typedef struct teller {
    const ps_links *links;
    const ps_slices *s;
    ps_work work;
    bool is_torch; /* as far as a profiler's name tells */
    ps_lang lang;
    ps_buf *out;
} teller;

static void add_free_time(ps_buf *out, int64_t ns) {
    ps_buf_add_str(out, ps_ns_text_of(ns).text);
}

/* Microseconds with as many digits as there are, at least one: 2400.0, 508.599. */
static void add_us(ps_buf *out, int64_t ns) {
    char digits[8];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    (void)snprintf(digits, sizeof digits, "%03u", (unsigned)(size % 1000));
    size_t n = 3;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    ps_buf_addf(out, "%s%llu.%.*s", ns < 0 ? "-" : "", (unsigned long long)(size / 1000), (int)n,
                digits);
}

static int64_t free_time_end_of(const teller *t, uint32_t slice) {
    return t->s->start_ns[slice] + t->s->dur_ns[slice];
}

typedef struct type_count {
    const char *name;
    size_t n;
} type_count;

static void count_type(type_count *types, size_t *n, const char *name) {
    size_t k = 0;
    while (k < *n && strcmp(types[k].name, name) != 0) {
        k++;
    }
    if (k < MAX_TYPES) {
        types[k].name = name;
        types[k].n++;
        *n += k == *n;
    }
}

static uint32_t free_time_first_from(const ps_slices *s, int64_t start_ns) {
    PS_PLACE(uint32_t, low, 0, s->n, middle, s->start_ns[middle] < start_ns)
    return low;
}

/* The tasks that lie in the gap, and the longest stretch without any. */
static void tell_tasks(const teller *t, const ps_gap *g) {
    static const ps_sort_key KEYS[] = {PS_DOWN(type_count, n), PS_UP(type_count, name)};
    type_count types[MAX_TYPES] = {0};
    size_t n = 0;
    int64_t reach = g->start_ns;
    int64_t longest = 0;
    for (uint32_t i = free_time_first_from(t->s, g->start_ns);
         i < t->s->n && t->s->start_ns[i] < g->end_ns; i++) {
        uint8_t kind = t->s->kind[i];
        bool is_task = kind == PS_SLICE_COPY || kind == PS_SLICE_TASK || kind == PS_SLICE_COMM_TASK;
        if (!is_task || ps_work_device(&t->work, i) != g->device ||
            free_time_end_of(t, i) > g->end_ns) {
            continue;
        }
        count_type(types, &n, ps_trace_text(t->links->trace, t->s->name[i]));
        int64_t pause = t->s->start_ns[i] - reach;
        longest = pause > longest ? pause : longest;
        reach = free_time_end_of(t, i) > reach ? free_time_end_of(t, i) : reach;
    }
    longest = g->end_ns - reach > longest ? g->end_ns - reach : longest;
    ps_sort_by(types, n, sizeof *types, PS_KEYS(KEYS));
    ps_buf_add_str(t->out, PS_SAY(t->lang, "Device task running: ", "设备任务运行中："));
    for (size_t k = 0; k < n; k++) {
        ps_buf_addf(t->out, PS_SAY(t->lang, "%zu %.80s tasks, ", "%zu 个 %.80s 任务，"), types[k].n,
                    types[k].name);
    }
    ps_buf_add_str(t->out, PS_SAY(t->lang, "max remaining free ", "剩余最长空闲 "));
    add_free_time(t->out, longest);
}

static void tell_framework(const teller *t, const ps_gap *g) {
    if (g->framework_idle_ns != PS_GAP_NO_IDLE) {
        ps_buf_add_str(t->out, t->is_torch
                                   ? PS_SAY(t->lang, "Idle Pytorch layer: ", "Pytorch 层空闲：")
                                   : PS_SAY(t->lang, "Idle framework layer: ", "框架层空闲："));
        add_free_time(t->out, g->framework_idle_ns);
        ps_buf_add_str(
            t->out, PS_SAY(t->lang, " between the operators that launched the work around the gap",
                           "，位于下发该间隙前后工作的两个算子之间"));
    } else if (g->call_idle_ns != PS_GAP_NO_IDLE) {
        ps_buf_add_str(t->out, PS_SAY(t->lang, "Idle host: ", "主机空闲："));
        add_free_time(t->out, g->call_idle_ns);
        ps_buf_add_str(t->out,
                       PS_SAY(t->lang, " between the calls that launched the work around the gap",
                              "，位于下发该间隙前后工作的两次调用之间"));
    } else {
        uint32_t call = t->links->call[g->next];
        uint32_t launch = call != PS_NONE ? call : t->links->op[g->next];
        ps_buf_add_str(t->out, PS_SAY(t->lang, "Idle host: the next task was launched after ",
                                      "主机空闲：下一任务的下发晚了 "));
        add_free_time(t->out, free_time_end_of(t, launch) - g->start_ns);
    }
}

/* The longest of three: the pause between the calls, and each of them. */
static void tell_launch(const teller *t, const ps_gap *g) {
    uint32_t prev = t->links->call[g->prev];
    uint32_t next = t->links->call[g->next];
    const char *name = ps_trace_text(t->links->trace, t->s->name[next]);
    bool is_gpu = strncmp(name, "cu", 2) == 0 || strncmp(name, "hip", 3) == 0;
    const char *layer = is_gpu ? "driver" : "CANN";
    const char *what = is_gpu ? "launch" : "node@launch";
    int64_t pause = t->s->start_ns[next] - free_time_end_of(t, prev);
    int64_t call =
        t->s->dur_ns[prev] > t->s->dur_ns[next] ? t->s->dur_ns[prev] : t->s->dur_ns[next];
    if (pause >= call) {
        ps_buf_addf(t->out,
                    PS_SAY(t->lang, "Abnormal %s layer: long time between two %s ",
                           "%s 层异常：两次 %s 间隔过长 "),
                    layer, what);
    } else {
        ps_buf_addf(t->out, PS_SAY(t->lang, "Abnormal %s layer: long %s ", "%s 层异常：%s 过长 "),
                    layer, what);
    }
    add_free_time(t->out, pause >= call ? pause : call);
}

static void tell_queued(const teller *t, const ps_gap *g) {
    uint32_t call = t->links->call[g->next];
    uint32_t launch = call != PS_NONE ? call : t->links->op[g->next];
    int64_t before = g->start_ns - free_time_end_of(t, launch);
    ps_buf_add_str(t->out,
                   PS_SAY(t->lang, "Device waits for other work: the next task was launched ",
                          "设备等待其他工作：下一任务的下发时刻为 "));
    add_free_time(t->out, before >= 0 ? before : g->first_ns);
    if (before >= 0) {
        ps_buf_add_str(t->out, PS_SAY(t->lang, " before the gap", "（间隙之前）"));
        return;
    }
    ps_buf_add_str(
        t->out, PS_SAY(t->lang, " into the gap and then waited for ", "（间隙之内），此后又等待 "));
    add_free_time(t->out, g->end_ns - g->start_ns - g->first_ns);
}

/* The call that the host stood in for most of the gap. */
static void tell_blocking(const teller *t, const ps_gap *g) {
    if (g->blocking == PS_NONE || !ps_gap_is_host_bound(g->cause)) {
        return;
    }
    int64_t start = t->s->start_ns[g->blocking];
    int64_t end = free_time_end_of(t, g->blocking);
    int64_t inside =
        (end < g->end_ns ? end : g->end_ns) - (start > g->start_ns ? start : g->start_ns);
    ps_buf_addf(t->out, PS_SAY(t->lang, "; host inside %.80s for ", "；其间主机在 %.80s 内 "),
                ps_trace_text(t->links->trace, t->s->name[g->blocking]));
    add_free_time(t->out, inside);
    ps_buf_add_str(t->out, PS_SAY(t->lang, " of them", ""));
}

static void tell_free_time(const teller *t, const ps_gap *g) {
    ps_buf_clear(t->out);
    switch (g->cause) {
    case PS_GAP_FRAMEWORK:
        tell_framework(t, g);
        break;
    case PS_GAP_LAUNCH:
        tell_launch(t, g);
        break;
    case PS_GAP_TASKS:
        tell_tasks(t, g);
        break;
    case PS_GAP_RECEIVE:
        ps_buf_add_str(t->out,
                       PS_SAY(t->lang, "Pipeline bubble: waiting for a receive, not for the host",
                              "流水线空泡：等待接收，而非等待主机"));
        break;
    case PS_GAP_QUEUED:
        tell_queued(t, g);
        break;
    case PS_GAP_EDGE:
        ps_buf_add_str(
            t->out,
            g->prev == PS_NONE
                ? PS_SAY(t->lang, "Before the first task of the step", "step 的第一个任务之前")
                : PS_SAY(t->lang, "After the last task of the step", "step 的最后一个任务之后"));
        break;
    default:
        ps_buf_add_str(t->out,
                       PS_SAY(t->lang, "Skip free analysis due to no pytorch dispatch time.",
                              "没有 pytorch 下发时间，跳过空闲分析。"));
    }
    tell_blocking(t, g);
}

/* --- one rank --------------------------------------------------------------------------------------------------- */

static bool is_torch(const char *profiler) {
    static const char *const NAMES[] = {"PyTorch", "Ascend", "MindSpore", "msMonitor"};
    bool any = false;
    for (size_t i = 0; profiler != NULL && i < sizeof NAMES / sizeof *NAMES; i++) {
        any = any || strcmp(profiler, NAMES[i]) == 0;
    }
    return any;
}

static ps_code tell_all(const ps_map_input *in, const ps_links *links, partial *part, ps_err *err) {
    ps_buf text;
    ps_buf_init(&text, 0);
    teller t = {.links = links,
                .s = ps_trace_slices(in->trace),
                .work = ps_work_of(links),
                .is_torch = is_torch(in->rank->profiler),
                .lang = in->opts->lang,
                .out = &text};
    int64_t origin = ps_trace_origin_ns(in->trace);
    part->gaps = ps_calloc(part->dispatch.n_worst + 1, sizeof *part->gaps);
    bool ok = part->gaps != NULL;
    for (size_t i = 0; ok && i < part->dispatch.n_worst; i++) {
        const ps_gap *g = &part->dispatch.worst[i];
        tell_free_time(&t, g);
        told_gap *told = &part->gaps[part->n_gaps++];
        *told = (told_gap){
            .start_ns = origin + g->start_ns,
            .end_ns = origin + g->end_ns,
            .framework_idle_ns = g->framework_idle_ns,
            .call_idle_ns = g->call_idle_ns,
            .reason = ps_buf_ok(&text) ? ps_arena_strndup(&part->arena, ps_buf_str(&text), text.len)
                                       : NULL};
        ok = told->reason != NULL;
    }
    ps_buf_fini(&text);
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code read_free_time_rank(const ps_map_input *in, partial *part, ps_err *err) {
    size_t top = in->opts->top_num > 0 ? (size_t)in->opts->top_num : DEFAULT_TOP;
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    const ps_links *links = code == PS_OK ? ps_derived_links(in->derived, err) : NULL;
    const ps_overlaps *overlaps = links != NULL ? ps_derived_overlaps(in->derived, err) : NULL;
    code = code == PS_OK && overlaps == NULL ? PS_NOMEM : code;
    if (code == PS_OK && overlaps->n == 0) {
        code = ps_fail(err, PS_NOTHING, "%s", PS_OVERLAP_NO_WORK(in->opts->lang));
    } else if (code == PS_OK && !overlaps->knows_computing) {
        code = ps_fail(err, PS_NOTHING, "%s", PS_OVERLAP_NO_COMPUTING(in->opts->lang));
    }
    if (code == PS_OK) {
        code = ps_dispatch_measure(links, overlaps, in->opts->step_id, top, &part->dispatch, err);
    }
    return code == PS_OK ? tell_all(in, links, part, err) : code;
}

static ps_code map_free_time(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = read_free_time_rank(in, part, err);
    if (code != PS_OK) {
        free_free_time_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

typedef struct gap_row {
    int64_t rank;
    char start_us[32], end_us[32];
    double us, framework_idle_us, call_idle_us;
    const char *reason;
} gap_row;

static const ps_column GAP_COLUMNS[] = {
    {.name = "rankId", PS_FIELD(gap_row, rank), .header = "Rank ID"},
    {.name = "startTime(us)", PS_FIELD(gap_row, start_us), .header = "Start Time(us)"},
    {.name = "endTime(us)", PS_FIELD(gap_row, end_us), .header = "End Time(us)"},
    {.name = "duration(us)", PS_FIELD(gap_row, us), .header = "Duration(us)"},
    {.name = "pytorchIdleTime(us)",
     PS_FIELD(gap_row, framework_idle_us),
     .header = "Pytorch Idle Time(us)"},
    {.name = "cannIdleTime(us)", PS_FIELD(gap_row, call_idle_us), .header = "Cann Idle Time(us)"},
    {.name = "reason", PS_FIELD(gap_row, reason), .header = "Reason"}};

/* Exact, and without digits after the point where there are none to show. */
static bool print_us(char *out, size_t size, int64_t ns) {
    ps_buf text;
    ps_buf_init(&text, 0);
    add_us(&text, ns);
    bool ok = ps_buf_ok(&text);
    size_t n = text.len;
    if (ok && n > 2 && memcmp(ps_buf_str(&text) + n - 2, ".0", 2) == 0) {
        n -= 2;
    }
    (void)snprintf(out, size, "%.*s", (int)n, ok ? ps_buf_str(&text) : "");
    ps_buf_fini(&text);
    return ok;
}

static double idle_us(int64_t ns) {
    return ns != PS_GAP_NO_IDLE ? (double)ns / 1000 : NAN;
}

static void put_gap(ps_table *t, int64_t rank, const told_gap *g) {
    gap_row row = {.rank = rank,
                   .us = (double)(g->end_ns - g->start_ns) / 1000,
                   .framework_idle_us = idle_us(g->framework_idle_ns),
                   .call_idle_us = idle_us(g->call_idle_ns),
                   .reason = g->reason};
    if (!print_us(row.start_us, sizeof row.start_us, g->start_ns) ||
        !print_us(row.end_us, sizeof row.end_us, g->end_ns)) {
        ps_table_fail(t);
    }
    ps_table_put(t, &row);
}

/* Of a step, or of all of a rank, which has the launch delays. */
typedef struct free_row {
    int64_t rank, step, busy_ns, free_ns, preparing_ns, step_ns, host_bound_ns, short_ns;
    double free_share, idle_share, delay_median_ns, delay_p95_ns;
} free_row;

#define US_COLUMN(column, row, member)                                                             \
    { .name = (column), PS_FIELD_AS(PS_COL_REAL, row, member), .divisor = 1000, .unit = PS_UNIT_US }
#define SHARE_COLUMN(column, member)                                                               \
    { .name = (column), PS_FIELD(free_row, member), .unit = PS_UNIT_PERCENT }
static const ps_column SUM_COLUMNS[] = {{.name = "rankId", PS_FIELD(free_row, rank)},
                                        {.name = "step", PS_FIELD(free_row, step)},
                                        US_COLUMN("busy", free_row, busy_ns),
                                        US_COLUMN("free", free_row, free_ns),
                                        US_COLUMN("preparing", free_row, preparing_ns),
                                        SHARE_COLUMN("freeShare", free_share),
                                        SHARE_COLUMN("freeAndPreparingShare", idle_share),
                                        US_COLUMN("hostBound", free_row, host_bound_ns),
                                        US_COLUMN("gapsUnder20us", free_row, short_ns),
                                        US_COLUMN("launchDelayMedian", free_row, delay_median_ns),
                                        US_COLUMN("launchDelayP95", free_row, delay_p95_ns)};

static double free_time_percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static free_row free_row_of(const ps_dispatch_step *s, int64_t rank) {
    free_row row = {.rank = rank,
                    .step = s->step,
                    .busy_ns = s->busy_ns,
                    .free_ns = s->free_ns,
                    .preparing_ns = s->preparing_ns,
                    .step_ns = s->step_ns,
                    .delay_median_ns = NAN,
                    .delay_p95_ns = NAN};
    for (int c = 0; c < PS_N_GAP_CAUSES; c++) {
        int64_t of_cause = ps_gap_sum_of(s->sums[c]).total_ns;
        bool is_host_bound = ps_gap_is_host_bound((ps_gap_cause)c);
        row.host_bound_ns = ps_i64_plus(row.host_bound_ns, is_host_bound ? of_cause : 0);
        row.short_ns = ps_i64_plus(row.short_ns, s->sums[c][0].total_ns);
    }
    return row;
}

static void add_free_row(free_row *all, const free_row *row) {
    all->busy_ns = ps_i64_plus(all->busy_ns, row->busy_ns);
    all->free_ns = ps_i64_plus(all->free_ns, row->free_ns);
    all->preparing_ns = ps_i64_plus(all->preparing_ns, row->preparing_ns);
    all->step_ns = ps_i64_plus(all->step_ns, row->step_ns);
    all->host_bound_ns = ps_i64_plus(all->host_bound_ns, row->host_bound_ns);
    all->short_ns = ps_i64_plus(all->short_ns, row->short_ns);
}

static void put_free_row(ps_table *t, free_row row) {
    row.free_share = free_time_percent(row.free_ns, ps_i64_plus(row.busy_ns, row.free_ns));
    row.idle_share = free_time_percent(ps_i64_plus(row.free_ns, row.preparing_ns), row.step_ns);
    ps_table_put(t, &row);
}

/* A row for each step, and one without a step for all of the rank. */
static void put_free_time_summary(ps_table *t, int64_t rank, const ps_dispatch *d) {
    bool has_delays = d->after_call.n > 0;
    free_row all = {.rank = rank,
                    .step = PS_UNKNOWN_INT,
                    .delay_median_ns = has_delays ? d->after_call.median_ns : NAN,
                    .delay_p95_ns = has_delays ? d->after_call.p95_ns : NAN};
    for (size_t i = 0; i < d->n_steps; i++) {
        free_row row = free_row_of(&d->steps[i], rank);
        add_free_row(&all, &row);
        if (d->steps[i].has_step) {
            put_free_row(t, row);
        }
    }
    put_free_row(t, all);
}

typedef struct size_row {
    int64_t rank;
    const char *cause, *length;
    ps_gap_sum sum;
} size_row;

static const ps_column SIZE_COLUMNS[] = {
    {.name = "rankId", PS_FIELD(size_row, rank)},
    {.name = "cause", PS_FIELD(size_row, cause)},
    {.name = "gapLength", PS_FIELD(size_row, length)},
    {.name = "count", PS_FIELD(size_row, sum.n), .unit = PS_UNIT_COUNT},
    US_COLUMN("total", size_row, sum.total_ns),
};

static void put_histogram(ps_table *t, int64_t rank, const ps_dispatch *d) {
    static const char *const SIZES[PS_N_GAP_SIZES] = {"< 20 us",    "20 - 50 us", "50 - 100 us",
                                                      "0.1 - 1 ms", "1 - 10 ms",  ">= 10 ms"};
    for (int c = 0; c < PS_N_GAP_CAUSES; c++) {
        for (int s = 0; s < PS_N_GAP_SIZES; s++) {
            const ps_gap_sum *sum = &d->sums[c][s];
            if (sum->n != 0 || sum->total_ns != 0) {
                ps_table_put(t,
                             &(size_row){rank, ps_gap_cause_name((ps_gap_cause)c), SIZES[s], *sum});
            }
        }
    }
}

static ps_code reduce_free_time(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_table *gaps = ps_table_new("FreeAnalysis", "longest gaps", PS_COLUMNS(GAP_COLUMNS));
    ps_table *sums = ps_table_new("FreeSummary", "free time", PS_COLUMNS(SUM_COLUMNS));
    ps_table *sizes =
        ps_table_new("FreeGaps", "gaps by cause and length", PS_COLUMNS(SIZE_COLUMNS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        int64_t rank = in->ranks[r].rank;
        for (size_t i = 0; part != NULL && i < part->n_gaps; i++) {
            put_gap(gaps, rank, &part->gaps[i]);
        }
        if (part != NULL) {
            put_free_time_summary(sums, rank, &part->dispatch);
            put_histogram(sizes, rank, &part->dispatch);
        }
    }
    ps_result_finish_table(in->result, gaps, "free_analysis", PS_TO_ALL);
    ps_result_finish_table(in->result, sums, "free_summary", PS_TO_ALL);
    ps_result_finish_table(in->result, sizes, "free_gaps", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static void told_gap_archive(ps_archive *a, void *gap) {
    told_gap *x = gap;
    PS_ARCHIVE(a, x, start_ns, end_ns, framework_idle_ns, call_idle_ns, reason);
}

static void archive_free_time_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_dispatch_archive(a, &x->dispatch);
        PS_ARCHIVE_ARRAY(a, x, gaps, n_gaps, told_gap_archive);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS,
     .map = map_free_time,
     .reduce = reduce_free_time}};

const ps_analysis ps_analysis_free_analysis = {
    .name = "free_analysis",
    .folder = "FreeAnalysis",
    .summary = "longest gaps of the device and what they waited for; free share, launch delay",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_free_time_partial,
    .archive = archive_free_time_partial,
};
