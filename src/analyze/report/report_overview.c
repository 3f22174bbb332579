/* Where a step of each stage goes: the mean of its ranks, and which of them has most to do itself. For jobs with more ranks than
 * a screen has lines. */
#include "analyze/report/report.h"
#include "analyze/report/report_gains.h"
#include "base/alloc.h"

enum {
    S_STAGE,
    S_RANKS,
    S_STEP,
    S_BEFORE,
    S_COMPUTING,
    S_EXPOSED,
    S_COPIES,
    S_FREE,
    S_AFTER,
    S_BUSIEST,
    S_OWN,
    N_S
};

static const ps_column STAGES[N_S] = {
    [S_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [S_RANKS] = {.name = "ranks", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [S_STEP] = {.name = "step", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_BEFORE] = {.name = "before", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_COMPUTING] = {.name = "computing", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_EXPOSED] = {.name = "exposed", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_COPIES] = {.name = "copies", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_FREE] = {.name = "free", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_AFTER] = {.name = "after", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_BUSIEST] = {.name = "busiest rank", .type = PS_COL_INT},
    [S_OWN] = {.name = "its own", .type = PS_COL_INT, .unit = PS_UNIT_NS},
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
    for (size_t c = S_BEFORE; c <= S_AFTER; c++) {
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
static bool add_stage_row(ps_table *t, int32_t stage, const stage_sums *s) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    int64_t sum_ns = 0;
    int64_t step_ns = 0;
    for (size_t c = S_BEFORE; c <= S_AFTER; c++) {
        sum_ns = ps_i64_plus(sum_ns, s->parts_ns[c]);
        if (s->n_unknown[c] < s->n || s->parts_ns[c] != 0) {
            ps_table_set_int(t, c, sum_ns / s->n - step_ns);
        }
        step_ns = sum_ns / s->n;
    }
    if (stage >= 0) {
        ps_table_set_int(t, S_STAGE, stage);
    }
    ps_table_set_int(t, S_RANKS, s->n);
    ps_table_set_int(t, S_STEP, step_ns);
    ps_table_set_int(t, S_BUSIEST, s->busiest->rank);
    ps_table_set_int(t, S_OWN, ps_report_own_ns(s->busiest));
    return true;
}

ps_code ps_report_add_stages(const ps_report *report, ps_err *err) {
    int32_t n_stages = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        int32_t stage = report->members[i].stage;
        n_stages = stage >= n_stages ? stage + 1 : n_stages;
    }
    /* Row 0 is of the ranks whose stage is not known. */
    stage_sums *sums = ps_calloc((size_t)n_stages + 1, sizeof *sums);
    const char *title =
        report->findings.is_of_part
            ? "where a step goes by the events that are left, mean of the ranks of a stage"
            : "where a step goes, mean of the ranks of a stage";
    ps_table *t = ps_table_new("overview_stages", title, STAGES, N_S);
    bool ok = sums != NULL && t != NULL;
    for (size_t i = 0; ok && i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        if (m->computing_ns > 0) {
            add_overview_member(&sums[m->stage + 1], m);
        }
    }
    for (int32_t stage = -1; ok && stage < n_stages; stage++) {
        ok = sums[stage + 1].n == 0 || add_stage_row(t, stage, &sums[stage + 1]);
    }
    ps_free(sums);
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    return ps_result_add(report->in->result, t, err);
}
