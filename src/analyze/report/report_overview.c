/* Where a step of each stage goes: the mean of its ranks, and which of them has most to do itself. For jobs with more ranks than
 * a screen has lines. */
#include "analyze/report/report.h"
#include "analyze/report/report_gains.h"
#include "base/alloc.h"

/* The parts of a step, in their order. */
enum { S_BEFORE, S_COMPUTING, S_EXPOSED, S_COPIES, S_FREE, S_AFTER, N_S };

typedef struct stage_row {
    int64_t stage, n, step_ns, parts_ns[N_S], busiest_rank, own_ns;
} stage_row;

#define PART(text, part)                                                                           \
    { .name = (text), PS_FIELD(stage_row, parts_ns[part]), .unit = PS_UNIT_NS }
static const ps_column STAGES[] = {
    {.name = "stage", PS_FIELD(stage_row, stage), .unknown_below_zero = true},
    {.name = "ranks", PS_FIELD(stage_row, n), .unit = PS_UNIT_COUNT},
    {.name = "step", PS_FIELD(stage_row, step_ns), .unit = PS_UNIT_NS},
    PART("before", S_BEFORE),
    PART("computing", S_COMPUTING),
    PART("exposed", S_EXPOSED),
    PART("copies", S_COPIES),
    PART("free", S_FREE),
    PART("after", S_AFTER),
    {.name = "busiest rank", PS_FIELD(stage_row, busiest_rank)},
    {.name = "its own", PS_FIELD(stage_row, own_ns), .unit = PS_UNIT_NS},
};

/* The sums of one stage. */
typedef struct stage_sums {
    int64_t n, parts_ns[N_S];
    int64_t n_unknown[N_S]; /* ranks of which nobody tells the part */
    const ps_report_member *busiest;
} stage_sums;

static void add_overview_member(stage_sums *s, const ps_report_member *m) {
    const int64_t parts[N_S] = {
        [S_BEFORE] = m->before_ns, [S_COMPUTING] = m->computing_ns, [S_EXPOSED] = m->exposed_ns,
        [S_COPIES] = m->copies_ns, [S_FREE] = m->free_ns,           [S_AFTER] = m->after_ns};
    for (size_t c = 0; c < N_S; c++) {
        s->parts_ns[c] = ps_i64_plus(s->parts_ns[c], parts[c]);
    }
    s->n_unknown[S_BEFORE] += m->has_no_starts;
    s->n_unknown[S_COPIES] += m->facts->has_no_copies;
    s->n_unknown[S_AFTER] += m->has_no_ends;
    bool is_busiest = s->busiest == NULL || ps_report_own_ns(m) > ps_report_own_ns(s->busiest);
    s->busiest = is_busiest ? m : s->busiest;
    s->n++;
}

/* The parts of a row add up to its step, the mean of the steps of the ranks: each part ends where the mean of all up to it
 * does. */
static void put_stage_row(ps_table *t, int32_t stage, const stage_sums *s) {
    int64_t sum_ns = 0;
    stage_row row = {.stage = stage,
                     .n = s->n,
                     .busiest_rank = s->busiest->rank,
                     .own_ns = ps_report_own_ns(s->busiest)};
    for (size_t c = 0; c < N_S; c++) {
        bool is_known = s->n_unknown[c] < s->n || s->parts_ns[c] != 0;
        sum_ns = ps_i64_plus(sum_ns, s->parts_ns[c]);
        row.parts_ns[c] = is_known ? sum_ns / s->n - row.step_ns : PS_UNKNOWN_INT;
        row.step_ns = sum_ns / s->n;
    }
    ps_table_put(t, &row);
}

void ps_report_give_stages(const ps_report *report) {
    int32_t n_stages = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        int32_t stage = report->members[i].stage;
        n_stages = stage >= n_stages ? stage + 1 : n_stages;
    }
    /* Row 0 is of the ranks whose stage is not known. */
    stage_sums *sums = ps_calloc((size_t)n_stages + 1, sizeof *sums);
    const char *title =
        report->findings.is_of_part
            ? PS_SAY(report->findings.lang,
                     "where a step goes by the events that are left, mean of the ranks of a stage",
                     "按剩余事件统计的 step 时间去向，各阶段 rank 的平均")
            : PS_SAY(report->findings.lang, "where a step goes, mean of the ranks of a stage",
                     "step 的时间去向，各阶段 rank 的平均");
    ps_table *t = sums != NULL ? ps_table_new("overview_stages", title, PS_COLUMNS(STAGES)) : NULL;
    for (size_t i = 0; sums != NULL && i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        if (m->computing_ns > 0) {
            add_overview_member(&sums[m->stage + 1], m);
        }
    }
    for (int32_t stage = -1; sums != NULL && stage < n_stages; stage++) {
        if (sums[stage + 1].n > 0) {
            put_stage_row(t, stage, &sums[stage + 1]);
        }
    }
    ps_free(sums);
    ps_result_give(report->in->result, t);
}
