/* report: the tuning flow that people follow by hand, as findings with evidence. Runs after the analyses that make the
 * chart, whose results it finds in `before`. */
#include "analyze/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report_gains.h"
#include "analyze/report/report_gather.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

#define MAX_STEPS_NAMED 1000

/* --- tables of others ------------------------------------------------------------------------------------------------ */

const ps_table *ps_report_chart_table(const ps_report *report, const char *name) {
    return ps_result_table(report->chart_tables, name);
}

int64_t ps_report_own_time(const ps_chart *chart, uint32_t row, int64_t chart_ns) {
    const ps_chart_rank *rank = &chart->ranks[row];
    int64_t taken_ns = rank->clock_is_taken_off ? rank->clock_offset_ns : 0;
    return ps_i64_plus(ps_i64_plus(chart->origin_ns, chart_ns), taken_ns);
}

static const ps_value *report_cell(const ps_table *t, size_t row, const char *column,
                                   ps_col_type *type) {
    size_t c = ps_table_column(t, column);
    const ps_value *v = c != SIZE_MAX ? ps_table_cell(t, row, c) : NULL;
    *type = v != NULL ? t->columns[c].type : PS_COL_TEXT;
    return v != NULL && !v->is_null ? v : NULL;
}

int64_t ps_column_int(const ps_table *t, size_t row, const char *column, int64_t fallback) {
    ps_col_type type;
    const ps_value *v = report_cell(t, row, column, &type);
    return v != NULL && type == PS_COL_INT ? v->u.i : fallback;
}

double ps_column_real(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    const ps_value *v = report_cell(t, row, column, &type);
    return v == NULL ? 0 : type == PS_COL_REAL ? v->u.r : type == PS_COL_INT ? (double)v->u.i : 0;
}

bool ps_column_is_known(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    return report_cell(t, row, column, &type) != NULL;
}

const char *ps_column_text(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    const ps_value *v = report_cell(t, row, column, &type);
    return v != NULL && (type == PS_COL_TEXT || type == PS_COL_STRING_ID) ? v->u.text : "";
}

/* --- the members ------------------------------------------------------------------------------------------------------- */

static int64_t copies_ns(const ps_overlap *o) {
    return ps_overlap_copies_ns(o);
}
static int64_t before_ns(const ps_overlap *o) {
    return o->before_ns - o->copies_ns[PS_SHARE_BEFORE];
}
static int64_t after_ns(const ps_overlap *o) {
    return o->after_ns - o->copies_ns[PS_SHARE_AFTER];
}
static int64_t report_per_step(const ps_report_rank *r, int64_t sum_ns) {
    return r->n_steps > 0 ? sum_ns / (int64_t)r->n_steps : 0;
}
static int64_t computing_ns(const ps_overlap *o) {
    return o->computing_ns;
}
static int64_t report_exposed_ns(const ps_overlap *o) {
    return o->not_overlapped_ns;
}
static int64_t free_ns(const ps_overlap *o) {
    return o->free_ns - o->copies_ns[PS_SHARE_FREE];
}
static int64_t receive_ns(const ps_overlap *o) {
    return o->not_overlapped_ns - o->exclude_receive_ns;
}

/* The parts of a step, each time of which belongs to one. Means are whole nanoseconds: each ends where the mean of all up
 * to it ends, so that their sum is the mean step. */
static void add_report_parts(ps_report_member *m) {
    const struct {
        int64_t (*of)(const ps_overlap *);
        int64_t *mean_ns;
    } parts[] = {{before_ns, &m->before_ns},
                 {computing_ns, &m->computing_ns},
                 {report_exposed_ns, &m->exposed_ns},
                 {copies_ns, &m->copies_ns},
                 {free_ns, &m->free_ns},
                 {after_ns, &m->after_ns}};
    int64_t sum_ns = 0;
    m->step_ns = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sum_ns = ps_i64_plus(sum_ns, ps_report_sum_ns(m->facts, parts[i].of));
        *parts[i].mean_ns = report_per_step(m->facts, sum_ns) - m->step_ns;
        m->step_ns = report_per_step(m->facts, sum_ns);
    }
    /* Receives are a part of what is exposed, also where that was rounded down. */
    int64_t receive = report_per_step(m->facts, ps_report_sum_ns(m->facts, receive_ns));
    m->receive_ns = receive < m->exposed_ns ? receive : m->exposed_ns;
}

/* The first chart that an analysis before this one made. */
static void take_chart(ps_report *report) {
    report->chart_tables = ps_result_charted(report->in);
    report->chart = report->chart_tables != NULL ? report->chart_tables->chart : NULL;
}

/* The rows of the chart and their bubbles, whatever their order. */
typedef struct by_rank {
    ps_idmap row_of; /* of each rank its first row */
    size_t *first;   /* [n_ranks + 1]: those of row r are rows[first[r]] to rows[first[r + 1]] */
    uint32_t *rows;
} by_rank;

static bool put_first(ps_idmap *map, int64_t rank, size_t at) {
    return ps_idmap_get(map, (uint64_t)rank) != PS_IDMAP_NONE ||
           ps_idmap_put(map, (uint64_t)rank, (uint32_t)at);
}

static bool sort_bubbles(const ps_chart *chart, by_rank *out) {
    *out = (by_rank){.first = NULL};
    ps_idmap_init(&out->row_of);
    if (chart == NULL) {
        return true;
    }
    out->first = ps_calloc(chart->n_ranks + 2, sizeof *out->first);
    out->rows = ps_calloc(chart->n_bubbles + 1, sizeof *out->rows);
    bool ok = out->first != NULL && out->rows != NULL;
    for (size_t r = 0; ok && r < chart->n_ranks; r++) {
        ok = put_first(&out->row_of, chart->ranks[r].rank, r);
    }
    if (!ok) {
        return false;
    }
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        out->first[chart->bubbles[i].rank + 2]++;
    }
    for (size_t r = 2; r < chart->n_ranks + 2; r++) {
        out->first[r] += out->first[r - 1];
    }
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        out->rows[out->first[chart->bubbles[i].rank + 1]++] = (uint32_t)i;
    }
    return true;
}

static void free_by_rank(by_rank *x) {
    ps_idmap_fini(&x->row_of);
    ps_free(x->first);
    ps_free(x->rows);
}

static bool length_within(const ps_report_gap *gaps, size_t n, const ps_intervals *spans,
                          int64_t *out_ns) {
    ps_intervals all = {0};
    ps_intervals both = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = ps_intervals_add(&all, gaps[i].start_ns, gaps[i].end_ns);
    }
    ps_intervals_unite(&all);
    ok = ok && ps_intervals_both(&all, spans, &both);
    *out_ns = ps_intervals_length_ns(&both);
    ps_intervals_fini(&all);
    ps_intervals_fini(&both);
    return ok;
}

/* What of the rank's free time, of what of it is the host's, and of the ends of its steps lies in the bubble of the chart. */
static bool measure_bubble(ps_report *report, ps_report_member *m, const by_rank *bubbles,
                           uint32_t row, int64_t *of_host_ns) {
    const ps_chart *chart = report->chart;
    const ps_report_rank *r = m->facts;
    int64_t warmup_ns = 0;
    bool ok = true;
    for (size_t i = bubbles->first[row]; ok && i < bubbles->first[row + 1]; i++) {
        const ps_bubble *b = &chart->bubbles[bubbles->rows[i]];
        warmup_ns += b->cause == PS_BUBBLE_WARMUP ? b->end_ns - b->start_ns : 0;
        ok = ps_intervals_add(&m->bubbles, ps_report_own_time(chart, row, b->start_ns),
                              ps_report_own_time(chart, row, b->end_ns));
    }
    ps_intervals_unite(&m->bubbles);
    int64_t free_ns = 0;
    int64_t edges_ns = 0;
    ok = ok && length_within(r->gaps, r->n_gaps, &m->bubbles, &free_ns) &&
         length_within(r->edges, r->n_edges, &m->bubbles, &edges_ns) &&
         length_within(r->host_gaps, r->n_host_gaps, &m->bubbles, of_host_ns);
    m->bubble_ns = report_per_step(r, free_ns);
    m->edge_bubble_ns = report_per_step(r, edges_ns);
    m->warmup_ns = report_per_step(r, warmup_ns);
    return ok;
}

static const ps_overlap *report_step_of(const ps_report_rank *r, int64_t step) {
    for (size_t i = 0; i < r->n_steps; i++) {
        if (r->steps[i].has_step && r->steps[i].step == step) {
            return &r->steps[i];
        }
    }
    return NULL;
}

/* The steps of a rank that only knows its own work are as long as that. Of one in the chart the step is its pipeline's: before
 * and after its work lie its warm-up and its cool-down. */
static void widen_steps(const ps_report *report, ps_report_member *m, const by_rank *bubbles,
                        uint32_t row) {
    const ps_chart *chart = report->chart;
    const ps_report_rank *r = m->facts;
    int64_t before_ns = 0;
    int64_t after_ns = 0;
    bool any = false;
    if (!r->has_no_starts || !r->has_no_ends) {
        return;
    }
    for (size_t i = 0; i < chart->n_figures; i++) {
        any = any || (chart->figures[i].rank == row && chart->figures[i].is_judged);
    }
    for (size_t i = bubbles->first[row]; any && i < bubbles->first[row + 1]; i++) {
        const ps_bubble *b = &chart->bubbles[bubbles->rows[i]];
        const ps_overlap *step = report_step_of(r, b->step);
        int64_t start_ns = ps_report_own_time(chart, row, b->start_ns) - r->origin_ns;
        int64_t end_ns = ps_report_own_time(chart, row, b->end_ns) - r->origin_ns;
        if (step != NULL && b->cause == PS_BUBBLE_WARMUP) {
            end_ns = end_ns < step->step_start_ns ? end_ns : step->step_start_ns;
            before_ns = ps_i64_plus(before_ns, end_ns > start_ns ? end_ns - start_ns : 0);
        } else if (step != NULL && b->cause == PS_BUBBLE_COOLDOWN) {
            start_ns = start_ns > step->step_end_ns ? start_ns : step->step_end_ns;
            after_ns = ps_i64_plus(after_ns, end_ns > start_ns ? end_ns - start_ns : 0);
        }
    }
    before_ns = report_per_step(r, before_ns);
    after_ns = report_per_step(r, after_ns);
    m->before_ns = ps_i64_plus(m->before_ns, before_ns);
    m->after_ns = ps_i64_plus(m->after_ns, after_ns);
    m->edge_bubble_ns = ps_i64_plus(m->edge_bubble_ns, ps_i64_plus(before_ns, after_ns));
    m->step_ns = ps_i64_plus(m->step_ns, ps_i64_plus(before_ns, after_ns));
    m->has_no_starts = m->has_no_starts && !any;
    m->has_no_ends = m->has_no_ends && !any;
}

/* Of a rank without a device, which no chart has either, as its steps stand in the capture. */
static int64_t host_step_ns(const ps_report_rank *r) {
    int64_t sum_ns = 0;
    for (size_t i = 0; r->any_host_comm && i < r->n_steps; i++) {
        sum_ns = ps_i64_plus(sum_ns, r->steps[i].step_end_ns - r->steps[i].step_start_ns);
    }
    return report_per_step(r, sum_ns);
}

static bool add_report_member(ps_report *report, size_t r, const ps_job *job,
                              const by_rank *bubbles) {
    const ps_report_rank *facts = report->in->partials[r];
    ps_report_member *m = &report->members[report->n_members++];
    uint32_t row = ps_idmap_get(&bubbles->row_of, (uint64_t)report->in->ranks[r].rank);
    *m = (ps_report_member){.lang = report->findings.lang,
                            .facts = facts,
                            .rank = report->in->ranks[r].rank,
                            .index = r,
                            .has_no_starts = facts->has_no_starts,
                            .has_no_ends = facts->has_no_ends};
    add_report_parts(m);
    const ps_chart_rank *in_chart = row != PS_IDMAP_NONE ? &report->chart->ranks[row] : NULL;
    m->step_ns = in_chart == NULL && m->step_ns == 0 ? host_step_ns(facts) : m->step_ns;
    ps_place place = in_chart != NULL ? (ps_place){in_chart->stage, in_chart->pipeline}
                                      : ps_job_place(job, m->rank, &facts->facts);
    m->stage = place.stage;
    m->pipeline = place.pipeline;
    report->has_host_times = report->has_host_times || facts->has_host_times;
    report->comm_from_marks =
        report->comm_from_marks != NULL ? report->comm_from_marks : facts->comm_from_marks;
    report->vendor = report->vendor == PS_VENDOR_OTHER ? facts->vendor : report->vendor;
    bool first = report->n_members == 1 || facts->first_ns < report->start_ns;
    report->start_ns = first ? facts->first_ns : report->start_ns;
    bool any_step = facts->n_steps > 0 && facts->steps[0].has_step;
    int64_t n_steps = any_step ? (int64_t)facts->n_rank_steps : 0;
    report->n_steps = n_steps > report->n_steps ? n_steps : report->n_steps;
    int64_t in_bubble_ns = 0;
    bool ok = put_first(&report->member_at, m->rank, report->n_members - 1);
    if (in_chart != NULL) {
        ok = ok && measure_bubble(report, m, bubbles, row, &in_bubble_ns);
        widen_steps(report, m, bubbles, row);
    } else {
        const int64_t *waits = facts->idle_ns[PS_ACTIVITY_RECEIVE];
        m->bubble_ns = report_per_step(facts, waits[PS_SHARE_FREE]);
        m->edge_bubble_ns =
            report_per_step(facts, ps_i64_plus(waits[PS_SHARE_BEFORE], waits[PS_SHARE_AFTER]));
    }
    report->step_ns = m->step_ns > report->step_ns ? m->step_ns : report->step_ns;
    int64_t host_ns = 0;
    int64_t late_comm_ns = 0;
    for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
        bool is_hosts = ps_idle_is_hosts(cause);
        host_ns = ps_i64_plus(host_ns, is_hosts ? ps_report_idle_ns(facts, cause) : 0);
        late_comm_ns = ps_i64_plus(late_comm_ns, is_hosts ? facts->late_comm_ns[cause] : 0);
    }
    late_comm_ns = report_per_step(facts, late_comm_ns);
    m->late_comm_ns = late_comm_ns < m->exposed_ns ? late_comm_ns : m->exposed_ns;
    m->host_ns = host_ns > in_bubble_ns ? report_per_step(facts, host_ns - in_bubble_ns) : 0;
    m->host_ns = m->computing_ns > 0 ? m->host_ns : 0; /* else nobody knows when it was idle */
    return ok;
}

/* Some profiles say of every rank that it is the first of its pipeline: then the sizes of the job decide. */
static void mend_stages(ps_report *report, const ps_job *job) {
    bool equal = report->n_members > 1 && job->n_stages > 1;
    for (size_t i = 0; equal && i < report->n_members; i++) {
        equal = report->members[i].stage == report->members[0].stage;
    }
    for (size_t i = 0; equal && i < report->n_members; i++) {
        ps_report_member *m = &report->members[i];
        ps_rank_facts sizes = m->facts->facts;
        sizes.n_groups = 0;
        ps_place place = ps_job_place(job, m->rank, &sizes);
        m->stage = place.stage;
        m->pipeline = place.pipeline;
    }
}

static void note_stages(ps_report *report, const ps_job *job, const ps_rank_facts *const *facts) {
    bool any_size = report->in->opts->pp > 0;
    for (size_t r = 0; r < report->in->n_ranks; r++) {
        any_size = any_size || (facts[r] != NULL && facts[r]->sizes.pp > 0);
    }
    report->n_stages = job->n_stages;
    report->stages_by_group = !any_size;
}

static ps_code gather_members(ps_report *report, ps_err *err) {
    const ps_reduce_input *in = report->in;
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    report->members = ps_calloc(in->n_ranks + 1, sizeof *report->members);
    by_rank bubbles;
    bool ok = sort_bubbles(report->chart, &bubbles) && facts != NULL && report->members != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_report_rank *part = in->partials[r];
        facts[r] = part != NULL ? &part->facts : NULL;
    }
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (ok) {
        ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        code = ps_job_check(&job, err);
        note_stages(report, &job, facts);
        for (size_t r = 0; ok && r < in->n_ranks; r++) {
            const ps_report_rank *part = in->partials[r];
            bool is_judged = part != NULL && (part->any_device || part->any_host_comm);
            report->any_device = report->any_device || (is_judged && part->any_device);
            ok = !is_judged || add_report_member(report, r, &job, &bubbles);
        }
        if (report->chart == NULL) {
            mend_stages(report, &job);
        }
    }
    free_by_rank(&bubbles);
    ps_free(facts);
    return code != PS_OK || ok ? code : ps_fail_nomem(err);
}

/* Steps of its first device whose numbers follow one another. */
static int64_t period_of(const ps_report_member *m) {
    const ps_report_rank *r = m->facts;
    int64_t sum_ns = 0;
    int64_t n = 0;
    for (size_t i = 1;
         !r->has_no_period && i < r->n_steps && r->steps[i].device == r->steps[0].device; i++) {
        const ps_overlap *a = &r->steps[i - 1];
        const ps_overlap *b = &r->steps[i];
        if (a->has_step && b->has_step && b->step == ps_i64_plus(a->step, 1)) {
            sum_ns = ps_i64_plus(sum_ns, b->step_start_ns - a->step_start_ns);
            n++;
        }
    }
    return n > 0 ? sum_ns / n : 0;
}

/* Of the first rank that tells: all ranks run the same steps. */
static void find_period(ps_report *report) {
    for (size_t i = 0; i < report->n_members && report->period_ns == 0; i++) {
        report->period_ns = period_of(&report->members[i]);
    }
}

/* The step of a pipeline may be longer than what its ranks do in it; a chart of host times has no members at all. */
static void look_at_chart(ps_report *report) {
    const ps_table *steps = ps_report_chart_table(report, "PipelineStep");
    int64_t sum = 0;
    int64_t n = 0;
    int64_t n_steps = 0;
    int64_t last = PS_STEP_OUTSIDE;
    int64_t last_cut = PS_STEP_OUTSIDE;
    bool has_fewer = steps != NULL && ps_table_column(steps, "fewer ops") != SIZE_MAX;
    for (size_t r = 0; steps != NULL && r < steps->n_rows; r++) {
        int64_t step = ps_column_int(steps, r, "step", PS_STEP_OUTSIDE);
        if (step == PS_STEP_OUTSIDE) {
            continue;
        }
        n_steps += step != last; /* each pipeline has a row in it */
        if (has_fewer && ps_column_int(steps, r, "fewer ops", 0) > 0 && step != last_cut) {
            report->n_cut_steps++;
            last_cut = step;
        }
        last = step;
        if (!has_fewer || ps_column_int(steps, r, "fewer ops", 0) == 0) {
            sum = ps_i64_plus(sum, ps_column_int(steps, r, "time", 0));
            n++;
        }
    }
    report->n_steps = n_steps > report->n_steps ? n_steps : report->n_steps;
    report->chart_step_ns = n > 0 ? sum / n : 0;
    report->n_chart_steps = n_steps;
    bool any_step = false; /* a window, or work that a window may be taken from */
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        any_step = any_step || m->computing_ns > 0 ||
                   (m->facts->n_steps > 0 && m->facts->steps[0].has_step);
    }
    if (n > 0 && (!any_step || report->chart_step_ns > report->step_ns)) {
        report->step_ns = report->chart_step_ns;
    }
    if (report->n_members == 0 && report->chart != NULL) {
        report->start_ns = report->chart->origin_ns;
    }
}

/* --- the overview -------------------------------------------------------------------------------------------------------- */

typedef struct overview_row {
    ps_report_member of;
    int64_t stage, n_steps, before_ns, copies_ns, after_ns, bubble_ns;
    double computing_share, exposed_share, free_share;
} overview_row;

#define NS(text, row, member)                                                                      \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS }
#define SHARE(text, member)                                                                        \
    { .name = (text), PS_FIELD(overview_row, member), .unit = PS_UNIT_PERCENT }
static const ps_column OVERVIEW[] = {
    {.name = "rank", PS_FIELD(overview_row, of.rank)},
    {.name = "stage", PS_FIELD(overview_row, stage), .unknown_below_zero = true},
    {.name = "steps", PS_FIELD(overview_row, n_steps), .unit = PS_UNIT_COUNT},
    NS("step", overview_row, of.step_ns),
    NS("before", overview_row, before_ns),
    NS("computing", overview_row, of.computing_ns),
    NS("exposed", overview_row, of.exposed_ns),
    NS("receives", overview_row, of.receive_ns),
    NS("copies", overview_row, copies_ns),
    NS("free", overview_row, of.free_ns),
    NS("after", overview_row, after_ns),
    NS("bubble", overview_row, bubble_ns),
    SHARE("computing", computing_share),
    SHARE("exposed", exposed_share),
    SHARE("free", free_share),
};

/* What nobody tells is 0 in sums, and nothing in a table. */
static int64_t known_ns(int64_t ns, bool is_unknown) {
    return is_unknown && ns == 0 ? PS_UNKNOWN_INT : ns;
}

enum { OVERVIEW_TITLE = 256 };

/* With what lies in what, where there is any of it. */
static void write_overview_title(const ps_report *report, char title[OVERVIEW_TITLE]) {
    const ps_lang lang = report->findings.lang;
    char cut[64] = "";
    int64_t receive_ns = 0;
    int64_t bubble_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        receive_ns = m->receive_ns > receive_ns ? m->receive_ns : receive_ns;
        bubble_ns = m->bubble_ns > bubble_ns ? m->bubble_ns : bubble_ns;
        bubble_ns = m->edge_bubble_ns > bubble_ns ? m->edge_bubble_ns : bubble_ns;
    }
    if (report->n_cut_steps > 0) {
        (void)snprintf(cut, sizeof cut, PS_SAY(lang, ", %lld cut", "，%lld 个不完整"),
                       (long long)report->n_cut_steps);
    }
    (void)snprintf(
        title, OVERVIEW_TITLE,
        PS_SAY(lang, "where a step of each rank goes%s, mean of its steps%s%s%s%s%s",
               "各 rank 的 step 时间去向%s，各 step 的平均%s%s%s%s%s"),
        report->findings.is_of_part ? PS_SAY(lang, " by the events that are left", "（按剩余事件）")
                                    : "",
        cut, receive_ns > 0 || bubble_ns > 0 ? PS_SAY(lang, "; ", "；") : "",
        receive_ns > 0 ? PS_SAY(lang, "receives lie in exposed", "接收计入 exposed") : "",
        receive_ns > 0 && bubble_ns > 0 ? PS_SAY(lang, ", ", "，") : "",
        bubble_ns > 0
            ? PS_SAY(lang, "the bubble in before, free and after", "空泡计入 before、free 与 after")
            : "");
}

static void give_overview(const ps_report *report) {
    char title[OVERVIEW_TITLE];
    write_overview_title(report, title);
    ps_table *t = ps_table_new("overview", title, PS_COLUMNS(OVERVIEW));
    bool has_stages = report->n_stages > 1;
    for (size_t i = 0; i < report->n_members; i++) {
        has_stages = has_stages || report->members[i].stage > 0;
    }
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        if (m->computing_ns == 0) {
            continue; /* nobody knows when the device was idle */
        }
        ps_table_put(t,
                     &(overview_row){.of = *m,
                                     .stage = has_stages ? m->stage : -1,
                                     .n_steps = (int64_t)m->facts->n_rank_steps,
                                     .before_ns = known_ns(m->before_ns, m->has_no_starts),
                                     .copies_ns = known_ns(m->copies_ns, m->facts->has_no_copies),
                                     .after_ns = known_ns(m->after_ns, m->has_no_ends),
                                     .bubble_ns = ps_i64_plus(m->bubble_ns, m->edge_bubble_ns),
                                     .computing_share = ps_percent(m->computing_ns, m->step_ns),
                                     .exposed_share = ps_percent(m->exposed_ns, m->step_ns),
                                     .free_share = ps_percent(m->free_ns, m->step_ns)});
    }
    ps_result_give(report->in->result, t);
}

typedef struct job_row {
    int64_t step_ns, start_ns, n_steps, n_without, n_ranks, period_ns, n_cut_steps;
    const char *device_times, *comm_from_marks, *files, *ranks_are;
} job_row;

static const ps_column JOB[] = {
    NS("step", job_row, step_ns),
    NS("start", job_row, start_ns),
    {.name = "steps", PS_FIELD(job_row, n_steps), .unit = PS_UNIT_COUNT},
    {.name = "device_times", PS_FIELD(job_row, device_times)},
    {.name = "comm_from_marks", PS_FIELD(job_row, comm_from_marks)},
    {.name = "missing_timeline", PS_FIELD(job_row, files)},
    {.name = "ranks_without_timeline", PS_FIELD(job_row, n_without)},
    {.name = "job_ranks", PS_FIELD(job_row, n_ranks), .unit = PS_UNIT_COUNT},
    {.name = "job_ranks_are", PS_FIELD(job_row, ranks_are)},
    NS("period", job_row, period_ns),
    {.name = "cut_steps", PS_FIELD(job_row, n_cut_steps), .unit = PS_UNIT_COUNT}};

static void give_report_job(const ps_report *report) {
    bool has_ranks = report->job.n_ranks > 0;
    job_row row = {.step_ns = report->step_ns,
                   .start_ns = report->start_ns,
                   .n_steps = report->n_steps,
                   .device_times = report->has_host_times ? "host"
                                   : report->any_device   ? "device"
                                                          : "none",
                   .comm_from_marks = report->comm_from_marks,
                   .n_ranks = has_ranks ? report->job.n_ranks : PS_UNKNOWN_INT,
                   .ranks_are = !has_ranks             ? NULL
                                : report->job.is_least ? "at least"
                                                       : "known",
                   .period_ns = report->period_ns,
                   .n_cut_steps = report->n_cut_steps};
    for (size_t i = 0; i < report->n_members; i++) {
        const char *of_rank = report->members[i].facts->no_timeline;
        row.n_without += of_rank != NULL;
        row.files = row.files != NULL ? row.files : of_rank; /* of the first rank without one */
    }
    ps_table *t = ps_table_new("job", "what shares and times are counted from", PS_COLUMNS(JOB));
    ps_table_put(t, &row);
    ps_result_give(report->in->result, t);
}

typedef struct step_row {
    int64_t step;
} step_row;

static const ps_column STEPS[] = {{.name = "step", PS_FIELD(step_row, step)}};

static void put_report_step(ps_table *t, int64_t step) {
    bool is_named = t == NULL || step == PS_STEP_OUTSIDE || t->n_rows == MAX_STEPS_NAMED;
    for (size_t r = t != NULL ? t->n_rows : 0; !is_named && r > 0; r--) {
        is_named = ps_table_cell(t, r - 1, 0)->u.i == step;
    }
    if (!is_named) {
        ps_table_put(t, &(step_row){step});
    }
}

/* Those of the chart, which the picture shows, else those of the ranks. */
static void give_report_steps(const ps_report *report) {
    ps_table *t = ps_table_new("steps", "steps that were looked at", PS_COLUMNS(STEPS));
    const ps_table *charted = ps_report_chart_table(report, "PipelineStep");
    for (size_t r = 0; charted != NULL && r < charted->n_rows; r++) {
        put_report_step(t, ps_column_int(charted, r, "step", PS_STEP_OUTSIDE));
    }
    for (size_t i = 0; charted == NULL && i < report->n_members; i++) {
        const ps_report_rank *r = report->members[i].facts;
        for (size_t k = 0; k < r->n_steps; k++) {
            put_report_step(t, r->steps[k].has_step ? r->steps[k].step : PS_STEP_OUTSIDE);
        }
    }
    ps_result_give(report->in->result, t);
}

/* --- reduce -------------------------------------------------------------------------------------------------------------- */

static ps_code look_and_tell(ps_report *report, ps_err *err) {
    report->findings.n_ranks = report->n_members;
    ps_report_thinned(report);
    ps_report_find_peers(report);
    ps_report_measure_skew(report);
    ps_report_replay_make(report, &report->replay, &report->findings.failed);
    ps_report_dispatch(report);
    ps_code code = ps_report_compute(report, err);
    ps_report_units(report);
    ps_report_fusions(report);
    ps_report_optimiser_launches(report);
    ps_report_comm(report);
    ps_report_pipeline(report);
    ps_report_bound_gains(report);
    code = code == PS_OK ? ps_report_add_sections(report, err) : code;
    if (code == PS_OK) {
        code = ps_report_add_verdict(report, err);
    }
    if (code == PS_OK) {
        code = ps_findings_tables(&report->findings, report->vendor, report->step_ns,
                                  report->start_ns, report->in->result, err);
    }
    if (code != PS_OK) {
        return code;
    }
    give_report_job(report);
    give_report_steps(report);
    if (report->n_members > 0) {
        give_overview(report);
        ps_report_give_stages(report);
    }
    return ps_result_code(report->in->result, err);
}

static ps_code fail_without_work(ps_lang lang, ps_err *err) {
    return ps_fail(
        err, PS_NOTHING, "%s",
        PS_SAY(
            lang,
            "nothing ran on a device, and the host tells neither of a pipeline nor of communication: on "
            "a run with devices collect their activities (PyTorch: ProfilerActivity.CUDA or NPU; "
            "pipescope record: --backend cupti); of a run on CPUs the query and chart commands show the "
            "operators (recorded with pipescope.record_ops() or ProfilerActivity.CPU)",
            "设备上没有任何执行，主机也没有说明流水线或通信：有设备时请采集设备活动（PyTorch："
            "ProfilerActivity.CUDA 或 NPU；pipescope record：--backend cupti）；仅在 CPU 上运行时，可用 query 与 "
            "chart 命令查看算子（用 pipescope.record_ops() 或 ProfilerActivity.CPU 录制）"));
}

static ps_code reduce_report(const ps_reduce_input *in, void **shared, ps_err *err) {
    double defaults[PS_N_RULES];
    ps_report report = {.in = in, .findings.lang = in->opts->lang};
    *shared = NULL;
    ps_thresholds_default(defaults);
    ps_idmap_init(&report.member_at);
    ps_arena_init(&report.findings.arena);
    report.findings.thresholds = in->opts->thresholds != NULL ? in->opts->thresholds : defaults;
    take_chart(&report);
    ps_code code = gather_members(&report, err);
    if (code == PS_OK && report.n_members == 0 && report.chart == NULL) {
        code = fail_without_work(in->opts->lang, err);
    }
    if (code == PS_OK) {
        look_at_chart(&report);
        find_period(&report);
        code = look_and_tell(&report, err);
    }
    for (size_t i = 0; i < report.n_members; i++) {
        ps_intervals_fini(&report.members[i].bubbles);
        ps_intervals_fini(&report.members[i].absent);
        ps_intervals_fini(&report.members[i].absorbed);
    }
    ps_skew_fini(&report.skew);
    ps_report_replay_fini(&report.replay);
    ps_free(report.waited);
    ps_idmap_fini(&report.member_at);
    ps_free(report.members);
    ps_findings_fini(&report.findings);
    return code;
}

static void free_report_partial(void *partial) {
    ps_report_rank_free(partial);
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |
              PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS |
              PS_NEED_STATISTICS | PS_NEED_UNIT_RATIOS | PS_NEED_WORKER_OPS,
     .map = ps_report_map},
    /* the chart of pp_chart is there after its second round */
    {.map = ps_map_nothing, .reduce = reduce_report}};

const ps_analysis ps_analysis_report = {
    .name = "report",
    .folder = "Report",
    .summary = "findings with evidence: dispatch, compute, communication, pipeline",
    .hidden = true,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_report_partial,
    .archive = ps_report_rank_archive,
};
