/* The pipeline in findings: from the tables that the chart came with (docs/bubble.md), as means over its steps. Of a stage
 * that several pipelines have, one speaks for all: that of the median; where one is far off, the worst is named with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/pipeline_waits.h"
#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_gains.h"
#include "analyze/report/report_schedules.h"
#include "analyze/report/report_stages.h"
#include "base/alloc.h"
#include "base/num.h"

typedef ps_report_stage stage;
typedef ps_report_pipes pipes;

static int64_t busy_time(const stage *s) {
    return s->busy_ns;
}
static int64_t bubble_time(const stage *s) {
    return s->bubble_ns;
}

/* --- the longest bubbles --------------------------------------------------------------------------------------------- */

/* What of a stall was spent after the other stage's result had come. */
static int64_t after_result(const ps_chart *chart, const ps_bubble *b) {
    if (b->waits_for == PS_NO_INDEX) {
        return 0;
    }
    int64_t there = chart->ops[b->waits_for].end_ns;
    return there >= b->end_ns ? 0 : b->end_ns - (there > b->start_ns ? there : b->start_ns);
}

static int64_t before_result(const ps_chart *chart, const ps_bubble *b) {
    return b->waits_for == PS_NO_INDEX ? 0 : b->end_ns - b->start_ns - after_result(chart, b);
}

static int64_t without_result(const ps_chart *chart, const ps_bubble *b) {
    (void)chart;
    return b->waits_for == PS_NO_INDEX ? b->end_ns - b->start_ns : 0;
}

static int64_t pipeline_finding_whole(const ps_chart *chart, const ps_bubble *b) {
    (void)chart;
    return b->end_ns - b->start_ns;
}

typedef int64_t measure_fn(const ps_chart *chart, const ps_bubble *b);

typedef struct wanted {
    measure_fn *of;
    bool stalls_only;
    int32_t rank; /* -1: any */
} wanted;

static bool is_pipeline_finding_wanted(const pipes *p, const ps_bubble *b, const wanted *w) {
    const ps_chart *chart = p->report->chart;
    return b->step != PS_STEP_OUTSIDE &&
           !ps_stages_is_part(p, b->step, chart->ranks[b->rank].pipeline) &&
           (!w->stalls_only || b->cause == PS_BUBBLE_STALL) &&
           (w->rank < 0 || chart->ranks[b->rank].rank == w->rank) && w->of(chart, b) > 0;
}

/* A stage of some pipeline is not in the chart, or the links of some step are not known: what waits for no stage may wait for one. */
static bool is_part_known(const ps_report *report) {
    const ps_table *waits = ps_report_chart_table(report, "PipelineWaits");
    return waits != NULL && ps_table_column(waits, "not known") != SIZE_MAX;
}

static void add_bubble(ps_report *report, const ps_bubble *b, int64_t dur_ns) {
    const ps_lang lang = report->findings.lang;
    const ps_chart *chart = report->chart;
    const ps_chart_rank *rank = &chart->ranks[b->rank];
    char note[160];
    char counts_on[48] = "";
    if (b->waits_for != PS_NO_INDEX) {
        const ps_op *op = &chart->ops[b->waits_for];
        if (ps_op_counts_on(op)) {
            (void)snprintf(
                counts_on, sizeof counts_on,
                PS_SAY(lang, " (microbatch %d of chunk %d)", "（microbatch %d，chunk %d）"),
                (int)op->microbatch, (int)op->chunk);
        }
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "waits for %.60s%s of stage %d", "等待 %.60s%s（阶段 %d）"),
                       op->name, counts_on, (int)chart->ranks[op->rank].stage);
    } else {
        (void)snprintf(
            note, sizeof note, "%s",
            b->cause == PS_BUBBLE_WARMUP
                ? PS_SAY(lang, "before its first pass of the step", "该 step 的首个前向/反向之前")
            : b->cause == PS_BUBBLE_COOLDOWN
                ? PS_SAY(lang, "after its last pass of the step", "该 step 的最后一个前向/反向之后")
            : is_part_known(report) ? PS_SAY(lang, "waits for nobody known", "在等谁不得而知")
                                    : PS_SAY(lang, "waits for no other stage", "没有在等其他阶段"));
    }
    ps_findings_evidence(
        &report->findings,
        (ps_evidence){.rank = rank->rank,
                      .step = b->step,
                      /* by the rank's own clock, as all evidence */
                      .start_ns = ps_report_own_time(chart, b->rank, b->start_ns),
                      .dur_ns = dur_ns,
                      .name = ps_bubble_cause_word(lang, (ps_bubble_cause)b->cause),
                      .note = note});
}

/* The longest ones, the earliest of equals. */
static void show_bubbles(const pipes *p, wanted w, size_t n) {
    ps_report *report = p->report;
    const ps_chart *chart = report->chart;
    const ps_bubble *shown[PS_EVIDENCE_MAX];
    size_t n_shown = 0;
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        const ps_bubble *b = &chart->bubbles[i];
        if (!is_pipeline_finding_wanted(p, b, &w)) {
            continue;
        }
        size_t at = n_shown;
        while (at > 0 && w.of(chart, shown[at - 1]) < w.of(chart, b)) {
            at--;
        }
        if (at >= n) {
            continue;
        }
        n_shown += n_shown < n;
        for (size_t k = n_shown - 1; k > at; k--) {
            shown[k] = shown[k - 1];
        }
        shown[at] = b;
    }
    for (size_t i = 0; i < n_shown; i++) {
        add_bubble(report, shown[i], w.of(chart, shown[i]));
    }
}

/* --- the rules ------------------------------------------------------------------------------------------------------- */

/* The stage in the pipeline of the median, and how far the worst is from it. */
static void show_stage(const pipes *p, int32_t number, ps_stage_time_fn *of) {
    const ps_lang lang = p->report->findings.lang;
    ps_stage_over o = ps_stages_over(p, number, of);
    const stage *s = o.median;
    char note[256];
    int n = snprintf(note, sizeof note,
                     PS_SAY(lang, "mean of steps: busy %s, warm-up %s, stall %s, cool-down %s",
                            "各 step 平均：忙 %s，预热 %s，停顿 %s，收尾 %s"),
                     ps_ns_text_of(ps_stages_mean(s->busy_ns, s->n_steps)).text,
                     ps_ns_text_of(ps_stages_mean(s->warmup_ns, s->n_steps)).text,
                     ps_ns_text_of(ps_stages_mean(s->stall_ns, s->n_steps)).text,
                     ps_ns_text_of(ps_stages_mean(s->cooldown_ns, s->n_steps)).text);
    if (o.n > 1 && n > 0) {
        (void)snprintf(
            note + n, sizeof note - (size_t)n,
            PS_SAY(lang,
                   "; the lower median of %zu pipelines, %s in the worst (pipeline %d, rank %s)",
                   "；%zu 条流水线的下中位数，最差 %s（流水线 %d，rank %s）"),
            o.n, ps_ns_text_of(ps_stages_mean(of(o.worst), o.worst->n_steps)).text,
            (int)o.worst->pipeline, PS_RANK(o.worst->rank));
    }
    ps_findings_evidence(&p->report->findings,
                         (ps_evidence){.rank = s->rank,
                                       .step = PS_STEP_OUTSIDE, /* a mean */
                                       .start_ns = PS_NO_START,
                                       .dur_ns = ps_stages_mean(of(s), s->n_steps),
                                       .name = ps_stage_name(p, s, false).text,
                                       .note = note});
}

typedef struct bubble_text {
    char whole[64], ideal[192], unequal[256], others[224], parts[192], busiest[192];
    int64_t
        unequal_ns; /* what the schedule would take less with equal stages; 0: nothing, or not known */
    bool is_most_others; /* most of the bubble is for another pipeline, which is this one: */
    int32_t last_pipeline;
} bubble_text;

/* Idle time of stages whose own pipeline has ended its last pass while another pipeline of the job has not: it is no bubble of the
 * schedule, the replicas wait for the slowest one. */
static void say_other_pipelines(const pipes *p, int64_t bubble_ns, bubble_text *out) {
    const ps_lang lang = p->report->findings.lang;
    ps_pipeline_waits waits;
    if (p->n_pipelines < 2 || !ps_pipeline_waits_find(p->report->chart, &waits)) {
        p->report->findings.failed = p->report->findings.failed || p->n_pipelines > 1;
        return;
    }
    int64_t ns = 0;
    int64_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        n = ps_i64_plus(n, p->stages[i].n_steps);
    }
    for (size_t i = 0; i < waits.n; i++) {
        bool counts = waits.at[i].step != PS_STEP_OUTSIDE &&
                      !ps_stages_is_part(p, waits.at[i].step, waits.at[i].pipeline);
        ns = counts ? ps_i64_plus(ns, waits.at[i].idle_ns) : ns;
    }
    if (n > 0 && ns / n > p->step_ns / 100) {
        out->is_most_others = ns / n > bubble_ns / 2;
        out->last_pipeline = waits.last_pipeline;
        (void)snprintf(
            out->others, sizeof out->others,
            PS_SAY(
                lang,
                " Of the cool-down, %s pass while the own pipeline has ended its last pass and another "
                "one of the job has not: most often that is pipeline %d, in %zu of %zu steps.",
                "收尾中有 %s 是本流水线已结束而作业的其他流水线尚未结束：最常见的是流水线 %d，占 %zu 个（共 %zu 个）step。"),
            ps_ns_text_of(ns / n).text, (int)waits.last_pipeline, waits.n_last, waits.n_steps);
    }
    ps_pipeline_waits_fini(&waits);
}

/* What the figures of the bubble stand beside: the step in full, the schedule's own bubble, the part of unequal stages. */
static void say_beside(const pipes *p, int64_t bubble_ns, bubble_text *out) {
    const ps_lang lang = p->report->findings.lang;
    *out = (bubble_text){.whole = ""};
    if (p->report->step_ns > p->step_ns) {
        (void)snprintf(out->whole, sizeof out->whole,
                       PS_SAY(lang, " (which takes %s in all)", "（整个 step 为 %s）"),
                       ps_ns_text_of(p->report->step_ns).text);
    }
    if (p->ideal >= 0) {
        (void)snprintf(
            out->ideal, sizeof out->ideal,
            PS_SAY(
                lang,
                " %s itself has %.1f %% with this number of microbatches, were all stages equally fast and nothing "
                "lost between them.",
                "%s 自身在该 microbatch 数下有 %.1f %%（若各阶段同样快且其间没有损失）。"),
            p->report->chart->schedule[0] != '\0' ? p->report->chart->schedule
                                                  : PS_SAY(lang, "The schedule", "该调度"),
            p->ideal);
    }
    if (p->n_part_steps == 1) {
        (void)snprintf(
            out->parts, sizeof out->parts,
            PS_SAY(
                lang,
                " Step %lld has fewer ops than others (lost records, or the capture cuts it): it is in none of "
                "these figures.",
                "step %lld 的算子少于其他 step（记录丢失或被采集截断）：不计入这些数值。"),
            (long long)p->a_part_step);
    } else if (p->n_part_steps > 1) {
        (void)snprintf(
            out->parts, sizeof out->parts,
            PS_SAY(
                lang,
                " %zu steps%s have fewer ops than others (lost records, or the capture cuts them): they are in "
                "none of these figures.",
                "有 %zu 个 step%s 的算子少于其他 step（记录丢失或被采集截断）：不计入这些数值。"),
            p->n_part_steps,
            p->n_pipelines > 1 ? PS_SAY(lang, " of pipelines", "（各流水线合计）") : "");
    }
    out->unequal_ns =
        ps_report_replay_is_like(p->report) ? ps_report_balanced_gain_ns(p->report) : 0;
    say_other_pipelines(p, bubble_ns, out);
}

/* The schedule's own part of the bubble is what more microbatches lessen. */
static bool is_the_schedules(const pipes *p) {
    return p->ideal < 0 || p->ideal > p->bubble / 2;
}

/* What most of the stalls are, where the schedule is not it. */
static const char *most_of_stalls(const pipes *p, const bubble_text *beside, int64_t bubble_ns) {
    const ps_lang lang = p->report->findings.lang;
    int64_t for_stages_ns = 0;
    int64_t transfer_ns = 0;
    int64_t other_ns = 0;
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        for_stages_ns = ps_i64_plus(for_stages_ns, ps_stages_mean(s->for_stages_ns, s->n_steps));
        transfer_ns = ps_i64_plus(transfer_ns, ps_stages_mean(s->transfer_ns, s->n_steps));
        other_ns = ps_i64_plus(other_ns, ps_stages_mean(s->other_ns, s->n_steps));
    }
    return beside->unequal_ns > bubble_ns / 4
               ? PS_SAY(lang, "the stages, which are not equally fast", "各阶段（它们并非同样快）")
           : transfer_ns >= for_stages_ns && transfer_ns >= other_ns
               ? PS_SAY(
                     lang,
                     "why stages do not start though the results of others are there (transfer, launch, host)",
                     "为何其他阶段的结果已到而阶段没有开始（传输、下发、主机）")
           : other_ns > for_stages_ns
               ? PS_SAY(lang, "why stages stand still that wait for no other (host, data)",
                        "为何阶段没有在等其他阶段却停着（主机、数据）")
               : PS_SAY(lang, "the stages that others wait for", "其他阶段所等待的阶段");
}

/* Only what would help here. */
static void advise_on_bubble(pipes *p, const bubble_text *beside, int64_t bubble_ns) {
    const ps_lang lang = p->report->findings.lang;
    char text[640];
    char schedule[192] = "";
    const ps_table *replay = ps_report_chart_table(p->report, "PipelineReplay");
    size_t best = ps_report_replay_is_like(p->report) ? ps_report_best_schedule(replay) : SIZE_MAX;
    if (best != SIZE_MAX) {
        (void)snprintf(
            schedule, sizeof schedule,
            PS_SAY(lang,
                   "%s (of those replayed with this number of microbatches %.64s gains most, %s)",
                   "%s（在该 microbatch 数下重放过的调度中 %.64s 收益最大，%s）"),
            is_the_schedules(p) ? PS_SAY(lang, "; another schedule", "；换一种调度")
                                : PS_SAY(lang, " Another schedule", "也可换一种调度"),
            ps_column_text(replay, best, "schedule"),
            ps_ns_text_of(ps_column_int(replay, best, "gain", 0)).text);
    }
    if (beside->is_most_others) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "Find what makes pipeline %d later than the others: most of the bubble is for it, and no "
                "schedule shortens that.",
                "找出流水线 %d 为何比其他的晚：空泡大部分因它而起，换调度无济于事。"),
            (int)beside->last_pipeline);
    } else if (is_the_schedules(p)) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(lang, "More microbatches in a step%s%s.",
                   "增加每个 step 的 microbatch 数%s%s。"),
            p->ideal < 0
                ? PS_SAY(lang,
                         ", if the bubble is the schedule's own (how much of it is, is not known)",
                         "，若空泡属于调度自身（其中多少属于它不得而知）")
                : "",
            schedule);
    } else {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "Look at %s: the schedule's own bubble is %.1f %% of a step, this one %.1f %%, and more "
                "microbatches shorten no more than the former.%s%s",
                "看%s：调度自身的空泡为 step 的 %.1f %%，当前为 %.1f %%，增加 microbatch 只能缩短前者。%s%s"),
            most_of_stalls(p, beside, bubble_ns), p->ideal, p->bubble, schedule,
            schedule[0] != '\0' ? PS_SAY(lang, ".", "。") : "");
    }
    size_t n = strlen(text);
    (void)snprintf(
        text + n, sizeof text - n,
        PS_SAY(lang, " docs/bubble.md explains the figures.", "数值说明见 docs/bubble.md。"));
    ps_findings_remedy(&p->report->findings, text);
}

static const stage *busiest_stage(const pipes *p) {
    const stage *most = &p->stages[0];
    for (size_t i = 1; i < p->n; i++) {
        const stage *s = &p->stages[i];
        most = ps_stages_mean(s->busy_ns, s->n_steps) > ps_stages_mean(most->busy_ns, most->n_steps)
                   ? s
                   : most;
    }
    return most;
}

/* What of the bubble can go: the stage that works longest still does so. Says which, where that takes off more than a tenth. */
static int64_t say_busiest(const pipes *p, int64_t bubble_ns, bubble_text *out) {
    const ps_lang lang = p->report->findings.lang;
    const stage *most = busiest_stage(p);
    int64_t busy_ns = ps_stages_mean(most->busy_ns, most->n_steps);
    int64_t gain_ns = p->step_ns > busy_ns ? p->step_ns - busy_ns : 0;
    if (gain_ns >= bubble_ns) {
        return bubble_ns;
    }
    if (bubble_ns - gain_ns > bubble_ns / 10 || out->unequal_ns > gain_ns) {
        (void)snprintf(out->busiest, sizeof out->busiest,
                       PS_SAY(lang,
                              " With the work as it is %s still works for %s without the bubble.",
                              "在工作不变时，没有空泡时 %s 仍需工作 %s。"),
                       ps_stage_name(p, most, false).text, ps_ns_text_of(busy_ns).text);
    }
    return gain_ns;
}

/* The gain leaves the work where it is; with equal stages some of it moves, which may win more than that. A worker that is slow in its stage
 * stays so where the whole job is replayed; the chart's row of the same name is of one pipeline, whose stages it makes equal. */
static void say_unequal(const pipes *p, int64_t gain_ns, bubble_text *out) {
    const ps_lang lang = p->report->findings.lang;
    bool is_of_all = p->report->replay.explains && p->n_pipelines > 1;
    if (out->unequal_ns > 0) {
        (void)snprintf(
            out->unequal, sizeof out->unequal,
            PS_SAY(
                lang,
                " Moving work is another way, and may win %s: were all stages equally fast%s, the same "
                "schedule would take %s less (replayed).",
                "移动工作是另一条途径，可能赢得%s：若各阶段%s同样快，同样的调度可少用 %s（重放）。"),
            out->unequal_ns > gain_ns ? PS_SAY(lang, "more", "更多")
                                      : PS_SAY(lang, "a part of it", "其中一部分"),
            is_of_all
                ? PS_SAY(lang, ", each in the mean of all pipelines", "（各取全部流水线的平均）")
                : "",
            ps_ns_text_of(out->unequal_ns).text);
    }
}

/* The bubble of the mean stage is warm-up + stall + cool-down. */
static void find_bubble(pipes *p) {
    const ps_lang lang = p->report->findings.lang;
    stage sum = {0};
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        sum.busy_ns = ps_i64_plus(sum.busy_ns, ps_stages_mean(s->busy_ns, s->n_steps));
        sum.bubble_ns = ps_i64_plus(sum.bubble_ns, ps_stages_mean(s->bubble_ns, s->n_steps));
        sum.warmup_ns = ps_i64_plus(sum.warmup_ns, ps_stages_mean(s->warmup_ns, s->n_steps));
        sum.stall_ns = ps_i64_plus(sum.stall_ns, ps_stages_mean(s->stall_ns, s->n_steps));
        sum.cooldown_ns = ps_i64_plus(sum.cooldown_ns, ps_stages_mean(s->cooldown_ns, s->n_steps));
    }
    int64_t n = (int64_t)p->n;
    int64_t bubble_ns = ps_stages_mean(sum.bubble_ns, n);
    double share = ps_percent(bubble_ns, p->step_ns);
    p->bubble = share;
    ps_findings *f = &p->report->findings;
    if (!ps_rule_fires(f, PS_RULE_BUBBLE, share)) {
        return;
    }
    bubble_text beside;
    say_beside(p, bubble_ns, &beside);
    int64_t gain_ns = say_busiest(p, bubble_ns, &beside);
    say_unequal(p, gain_ns, &beside);
    ps_findings_add(
        f,
        (ps_finding){
            .rule = PS_RULE_BUBBLE, .rank = -1, .stage = -1, .gain_ns = gain_ns, .value = share},
        PS_SAY(
            lang,
            "Of the %s from the first to the last op of a step%s %s are bubble (%.1f %%, mean of %s): "
            "warm-up %s, stalls %s, cool-down %s.%s%s%s%s%s",
            "从 step 的首个到最后一个算子的 %s%s中，空泡为 %s（%.1f %%，%s的平均）：预热 %s，停顿 %s，收尾 %s。%s%s%s%s%s"),
        ps_ns_text_of(p->step_ns).text, beside.whole, ps_ns_text_of(bubble_ns).text, share,
        ps_stages_count(p).text, ps_ns_text_of(ps_stages_mean(sum.warmup_ns, n)).text,
        ps_ns_text_of(ps_stages_mean(sum.stall_ns, n)).text,
        ps_ns_text_of(ps_stages_mean(sum.cooldown_ns, n)).text, beside.others, beside.ideal,
        beside.busiest, beside.unequal, beside.parts);
    advise_on_bubble(p, &beside, bubble_ns);
    for (size_t i = 0; i < p->n_numbers && i < 2; i++) {
        show_stage(p, p->numbers[i], bubble_time);
    }
    show_bubbles(p, (wanted){.of = pipeline_finding_whole, .rank = -1}, 3);
}

static int more_busy(const void *a, const void *b) {
    const stage *x = *(const stage *const *)a;
    const stage *y = *(const stage *const *)b;
    int64_t bx = ps_stages_mean(x->busy_ns, x->n_steps);
    int64_t by = ps_stages_mean(y->busy_ns, y->n_steps);
    return bx != by ? (bx > by ? -1 : 1) : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Each stage as its median over the pipelines, the most busy first. NULL when memory is out. */
static const stage **stages_by_busy(const pipes *p, int64_t *mean_ns) {
    const stage **order = ps_calloc(p->n_numbers, sizeof *order);
    int64_t sum_ns = 0;
    for (size_t i = 0; order != NULL && i < p->n_numbers; i++) {
        order[i] = ps_stages_over(p, p->numbers[i], busy_time).median;
        sum_ns = ps_i64_plus(sum_ns, ps_stages_mean(order[i]->busy_ns, order[i]->n_steps));
    }
    if (order != NULL) {
        qsort(order, p->n_numbers, sizeof *order, more_busy);
    }
    *mean_ns = ps_stages_mean(sum_ns, (int64_t)p->n_numbers);
    return order;
}

static void find_imbalance(pipes *p) {
    const ps_lang lang = p->report->findings.lang;
    int64_t mean_ns = 0;
    const stage **order = stages_by_busy(p, &mean_ns);
    if (order == NULL) {
        p->report->findings.failed = true;
        return;
    }
    int64_t most_ns = ps_stages_mean(order[0]->busy_ns, order[0]->n_steps);
    double share = ps_percent(most_ns - mean_ns, mean_ns);
    const ps_table *replay = ps_report_chart_table(p->report, "PipelineReplay");
    bool replayed =
        p->report->replay.explains || (ps_report_replay_row(replay, PS_BALANCED_ROW) != SIZE_MAX &&
                                       ps_report_replay_is_like(p->report));
    int64_t gain_ns = replayed ? ps_report_balanced_gain_ns(p->report) : most_ns - mean_ns;
    ps_findings *f = &p->report->findings;
    if (p->n_numbers > 1 && ps_rule_fires(f, PS_RULE_STAGE_IMBALANCE, share)) {
        char over[64] = "";
        if (p->n_pipelines > 1) {
            (void)snprintf(
                over, sizeof over,
                PS_SAY(lang, " (the lower median of %zu pipelines)", "（%zu 条流水线的下中位数）"),
                p->n_pipelines);
        }
        ps_findings_add(
            f,
            (ps_finding){.rule = PS_RULE_STAGE_IMBALANCE,
                         .rank = order[0]->rank,
                         .stage = order[0]->stage,
                         .gain_ns = gain_ns > 0 ? gain_ns : 0,
                         .value = share},
            PS_SAY(
                lang,
                "Stage %d is busy %s in a step, %.1f %% more than the mean of %s%s. With all stages "
                "equally fast the same schedule would take %s less%s.",
                "阶段 %d 每个 step 忙 %s，比平均多 %.1f %%（平均 %s）%s。若各阶段同样快，同样的调度可少用 %s%s。"),
            (int)order[0]->stage, ps_ns_text_of(most_ns).text, share, ps_ns_text_of(mean_ns).text,
            over, ps_ns_text_of(gain_ns > 0 ? gain_ns : 0).text,
            replayed
                ? PS_SAY(
                      lang,
                      " (replayed with the measured durations); an unequal split may win more (pipescope "
                      "plan)",
                      "（按实测时长重放）；不均等的划分可能赢得更多（pipescope plan）")
                : PS_SAY(lang, ", if nothing else held it up", "，若没有其他因素拖慢它"));
        for (size_t i = 0; i < p->n_numbers && i < 4; i++) {
            show_stage(p, order[i]->stage, busy_time);
        }
    }
    ps_free(order);
}

typedef struct stall_rule {
    ps_rule_id rule;
    ps_stage_time_fn *of;
    measure_fn *in_bubble;
    const char *what[PS_N_LANGS];
} stall_rule;

static int64_t for_stages(const stage *s) {
    return s->for_stages_ns;
}
static int64_t for_transfer(const stage *s) {
    return s->transfer_ns;
}
static int64_t for_other(const stage *s) {
    return s->other_ns;
}

/* Which stage the stalls of a rank were most for; -1 none, or memory is out. */
static int32_t most_awaited(const pipes *p, int32_t rank) {
    const ps_chart *chart = p->report->chart;
    int32_t n_stages = 0;
    for (size_t r = 0; r < chart->n_ranks; r++) {
        n_stages = chart->ranks[r].stage >= n_stages ? chart->ranks[r].stage + 1 : n_stages;
    }
    int64_t *sums = ps_calloc((size_t)n_stages + 1, sizeof *sums);
    wanted w = {before_result, true, rank};
    int32_t best = -1;
    for (size_t i = 0; sums != NULL && i < chart->n_bubbles; i++) {
        const ps_bubble *b = &chart->bubbles[i];
        if (is_pipeline_finding_wanted(p, b, &w)) {
            int32_t stage_of = chart->ranks[chart->ops[b->waits_for].rank].stage;
            if (stage_of >= 0) {
                sums[stage_of] = ps_i64_plus(sums[stage_of], before_result(chart, b));
            }
        }
    }
    for (int32_t s = 0; sums != NULL && s < n_stages; s++) {
        best = sums[s] > 0 && (best < 0 || sums[s] > sums[best]) ? s : best;
    }
    p->report->findings.failed = p->report->findings.failed || sums == NULL;
    ps_free(sums);
    return best;
}

/* Whether the stage stands on another machine than one next to it. */
static bool is_at_a_border(const pipes *p, const stage *s) {
    const ps_chart *c = p->report->chart;
    int32_t machine = -1;
    bool any = false;
    for (size_t r = 0; r < c->n_ranks; r++) {
        machine = c->ranks[r].rank == s->rank ? c->ranks[r].machine : machine;
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_chart_rank *x = &c->ranks[r];
        any = any || (x->pipeline == s->pipeline && x->machine != machine &&
                      (x->stage == s->stage - 1 || x->stage == s->stage + 1));
    }
    return any;
}

/* What stage `number` of the pipeline is busier than the mean of its stages, and that mean. */
static int64_t beyond_mean(const pipes *p, int32_t pipeline, int32_t number, int64_t *mean_ns) {
    int64_t sum_ns = 0;
    int64_t busy_ns = 0;
    int64_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        if (s->pipeline == pipeline) {
            int64_t ns = ps_stages_mean(s->busy_ns, s->n_steps);
            sum_ns = ps_i64_plus(sum_ns, ns);
            busy_ns = s->stage == number ? ns : busy_ns;
            n++;
        }
    }
    *mean_ns = ps_stages_mean(sum_ns, n);
    return busy_ns - *mean_ns;
}

/* By more than what counts as balanced. */
static bool is_slow(const pipes *p, int32_t pipeline, int32_t number) {
    int64_t mean_ns = 0;
    int64_t beyond_ns = beyond_mean(p, pipeline, number, &mean_ns);
    return ps_percent(beyond_ns, mean_ns) > p->report->findings.thresholds[PS_RULE_STAGE_IMBALANCE];
}

/* The rank of a stage of the pipeline, -1 when none of it is known. */
static int32_t rank_of_stage(const pipes *p, int32_t pipeline, int32_t number) {
    int32_t rank = -1;
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        rank = s->pipeline == pipeline && s->stage == number ? s->rank : rank;
    }
    return rank;
}

/* From the stage that is waited for to the one that it waits for itself, and so on, until one is slower than the others. -1: none
 * of them is. */
static int32_t slow_behind(const pipes *p, int32_t pipeline, int32_t awaited) {
    for (size_t n = 0; awaited >= 0 && n <= p->n_numbers; n++) {
        if (is_slow(p, pipeline, awaited)) {
            return awaited;
        }
        int32_t rank = rank_of_stage(p, pipeline, awaited);
        awaited = rank >= 0 ? most_awaited(p, rank) : -1;
    }
    return -1;
}

/* The stage in that pipeline, where most of what makes it slow is there alone: it is slower than in the pipeline of the median, by more than
 * it is slower there than the others. NULL: it is not, and no rank is to blame. */
static const stage *slow_alone(const pipes *p, int32_t pipeline, int32_t number,
                               int64_t *usual_ns) {
    ps_stage_over o = ps_stages_over(p, number, busy_time);
    const stage *own = NULL;
    for (size_t i = 0; i < o.n; i++) {
        own = p->of_number[i]->pipeline == pipeline ? p->of_number[i] : own;
    }
    *usual_ns = ps_stages_mean(o.median->busy_ns, o.median->n_steps);
    int64_t more_ns = own != NULL ? ps_stages_mean(own->busy_ns, own->n_steps) - *usual_ns : 0;
    bool is_slower =
        ps_percent(more_ns, *usual_ns) > p->report->findings.thresholds[PS_RULE_STAGE_IMBALANCE];
    int64_t mean_ns = 0;
    int64_t usual_beyond_ns = beyond_mean(p, o.median->pipeline, number, &mean_ns);
    return is_slower && more_ns > usual_beyond_ns ? own : NULL;
}

/* No schedule and no split of layers is a remedy for a rank that is slow. */
static void advise_to_mend(const pipes *p, const stage *slow, int64_t usual_ns, const char *chain) {
    const ps_lang lang = p->report->findings.lang;
    char text[320];
    int at = snprintf(text, sizeof text, PS_SAY(lang, "Mend rank %s", "修复 rank %s"),
                      PS_RANK(slow->rank));
    (void)snprintf(
        text + at, sizeof text - (size_t)at,
        PS_SAY(lang,
               ": stage %d is busy %s in a step there, the lower median of the pipelines is %s%s.",
               "：阶段 %d 在那里每个 step 忙 %s，各流水线的下中位数为 %s%s。"),
        (int)slow->stage, ps_ns_text_of(ps_stages_mean(slow->busy_ns, slow->n_steps)).text,
        ps_ns_text_of(usual_ns).text, chain);
    ps_findings_mend(&p->report->findings, text, (size_t)at, slow->rank);
}

/* Only what would help here. */
static void advise_on_stall(const pipes *p, ps_rule_id rule, const stage *worst, int32_t awaited) {
    const ps_lang lang = p->report->findings.lang;
    char text[320];
    bool has_host = ps_report_has_launches(p->report, worst->rank);
    int32_t slow = rule == PS_RULE_STAGE_WAIT ? slow_behind(p, worst->pipeline, awaited) : -1;
    if (slow >= 0) {
        char chain[96] = "";
        int64_t usual_ns = 0;
        const stage *alone = slow_alone(p, worst->pipeline, slow, &usual_ns);
        if (slow != awaited) {
            (void)snprintf(
                chain, sizeof chain,
                PS_SAY(lang, " (stage %d is no slower than the others and waits for it in turn)",
                       "（阶段 %d 并不比其他阶段慢，它自己也在等它）"),
                (int)awaited);
        }
        if (alone != NULL) {
            advise_to_mend(p, alone, usual_ns, chain);
            return;
        }
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "Speed stage %d up%s, or take a schedule that gives its neighbours other work in "
                "between.",
                "加快阶段 %d%s，或采用让相邻阶段其间有其他工作可做的调度。"),
            (int)slow, chain);
    } else if (rule == PS_RULE_STAGE_WAIT && is_the_schedules(p)) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "More microbatches, or a schedule that gives the stages other work in between: the stage that is "
                "waited for is no slower than the others.",
                "增加 microbatch，或采用让各阶段其间有其他工作可做的调度：被等待的阶段并不比其他阶段慢。"));
    } else if (rule == PS_RULE_STAGE_WAIT) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "Look at what holds stage %d up between its ops: it is no slower than the others, and the schedule's "
                "own bubble is %.1f %% of a step, this one %.1f %%.",
                "看是什么让阶段 %d 在算子之间停住：它并不比其他阶段慢，而调度自身的空泡为 step 的 %.1f %%，当前为 %.1f %%。"),
            (int)awaited, p->ideal, p->bubble);
    } else if (rule == PS_RULE_TRANSFER_WAIT) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(lang, "Start receives early, overlap sends (overlap-p2p-communication)%s%s.",
                   "提早开始接收、掩盖发送（overlap-p2p-communication）%s%s。"),
            is_at_a_border(p, worst) ? PS_SAY(lang, ", keep neighbouring stages on one machine",
                                              "，让相邻阶段位于同一台机器")
                                     : "",
            has_host ? PS_SAY(lang, "; look at the dispatch section for that rank",
                              "；并看该 rank 的下发部分")
                     : "");
    } else {
        (void)snprintf(text, sizeof text,
                       PS_SAY(lang, "Usually the host or the data: %s.", "通常是主机或数据：%s。"),
                       has_host ? PS_SAY(lang, "see the dispatch section for that rank",
                                         "见该 rank 的下发部分")
                                : PS_SAY(lang, "the profile holds no launches that would tell",
                                         "采集数据中没有能说明问题的下发记录"));
    }
    ps_findings_remedy(&p->report->findings, text);
}

static void find_stall(pipes *p, const stall_rule *rule) {
    const ps_lang lang = p->report->findings.lang;
    ps_stage_over most = {.n = 0};
    size_t n_over = 0;
    ps_findings *f = &p->report->findings;
    for (size_t i = 0; i < p->n_numbers; i++) {
        ps_stage_over o = ps_stages_over(p, p->numbers[i], rule->of);
        int64_t ns = ps_stages_mean(rule->of(o.worst), o.worst->n_steps);
        n_over += ps_rule_fires(f, rule->rule, ps_percent(ns, p->report->step_ns));
        if (most.n == 0 || ns > ps_stages_mean(rule->of(most.worst), most.worst->n_steps)) {
            most = o;
        }
    }
    if (n_over == 0) {
        return;
    }
    const stage *worst = most.worst;
    int64_t ns = ps_stages_mean(rule->of(worst), worst->n_steps);
    char for_whom[64] = "";
    int32_t awaited = rule->rule == PS_RULE_STAGE_WAIT ? most_awaited(p, worst->rank) : -1;
    if (awaited >= 0) {
        (void)snprintf(for_whom, sizeof for_whom,
                       PS_SAY(lang, ", most of it for stage %d", "，主要是等阶段 %d"),
                       (int)awaited);
    }
    char median[128] = "";
    if (p->n_pipelines > 1) {
        (void)snprintf(
            median, sizeof median,
            PS_SAY(lang, " The lower median of this stage over %zu pipelines is %s.",
                   "该阶段在 %zu 条流水线中的下中位数为 %s。"),
            most.n,
            ps_ns_text_of(ps_stages_mean(rule->of(most.median), most.median->n_steps)).text);
    }
    ps_findings_add(
        f,
        (ps_finding){.rule = rule->rule,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = ns,
                     .value = ps_percent(ns, p->report->step_ns)},
        PS_SAY(lang,
               "%s (rank %s) %s %s in each step%s.%s %zu of %zu stages %s over the threshold%s.",
               "%s（rank %s）%s每个 step %s%s。%s有 %zu 个（共 %zu 个）阶段%.0s超过阈值%s。"),
        ps_stage_name(p, worst, true).text, PS_RANK(worst->rank), rule->what[lang],
        ps_ns_text_of(ns).text, for_whom, median, n_over, p->n_numbers, n_over == 1 ? "is" : "are",
        p->n_pipelines > 1 ? PS_SAY(lang, " in some pipeline", "（在某条流水线中）") : "");
    advise_on_stall(p, rule->rule, worst, awaited);
    show_bubbles(p, (wanted){rule->in_bubble, true, worst->rank}, PS_EVIDENCE_MAX);
}

void ps_report_pipeline(ps_report *report) {
    static const stall_rule STALLS[] = {
        {PS_RULE_STAGE_WAIT,
         for_stages,
         before_result,
         {"waits in the middle of the step for other stages for", "在 step 中途等待其他阶段，"}},
        {PS_RULE_TRANSFER_WAIT,
         for_transfer,
         after_result,
         {"has what it needs and does not start for", "所需的已到却没有开始，"}},
        {PS_RULE_OTHER_STALL,
         for_other,
         without_result,
         {"stands still without waiting for another stage for", "没有在等其他阶段却停着，"}},
    };
    pipes p = {.report = report, .made = report->chart_tables};
    if (report->chart == NULL) {
        return;
    }
    ps_idmap_init(&p.part_steps);
    ps_idmap_init(&p.stage_at);
    if (!ps_stages_find_parts(&p) || !ps_stages_sum(&p)) {
        report->findings.failed = true;
    }
    p.step_ns = ps_report_told_step_ns(report);
    p.ideal = ps_report_ideal_bubble(report);
    ps_report_find_unexplained(report);
    report->findings.failed = report->findings.failed || !ps_stages_number(&p);
    if (!report->findings.failed && p.n > 0 && report->n_chart_steps > 0) {
        find_bubble(&p);
        find_imbalance(&p);
        for (size_t i = 0; i < sizeof STALLS / sizeof *STALLS; i++) {
            find_stall(&p, &STALLS[i]);
        }
        ps_report_find_schedule(report);
    }
    ps_idmap_fini(&p.part_steps);
    ps_idmap_fini(&p.stage_at);
    ps_free(p.stages);
    ps_free(p.numbers);
    ps_free(p.of_number);
}
