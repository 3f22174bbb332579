/* Replayed schedules in findings: which of them gains most, and what it asks of the memory (docs/bubble.md, PipelineReplay). */
#include "analyze/report/report_schedules.h"

#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/replay.h"
#include "analyze/rank/step_index.h"
#include "analyze/report/report_gains.h"
#include "base/num.h"

/* Percent of the replayed step below which a gain is noise. */
#define LEAST_GAIN_PERCENT 1

/* The row of PipelineReplay whose name ends so, SIZE_MAX for none. */
size_t ps_report_replay_row(const ps_table *replay, const char *end) {
    size_t n_end = strlen(end);
    for (size_t r = 0; replay != NULL && r < replay->n_rows; r++) {
        const char *name = ps_column_text(replay, r, "schedule");
        size_t n = strlen(name);
        if (n >= n_end && strcmp(name + n - n_end, end) == 0) {
            return r;
        }
    }
    return SIZE_MAX;
}

/* The row with the most gain after row `last` in the order of gains (0: the first one); those without gain do not count. */
static size_t next_best(const ps_table *replay, size_t last, size_t balanced) {
    int64_t limit = last > 0 ? ps_column_int(replay, last, "gain", 0) : INT64_MAX;
    size_t best = SIZE_MAX;
    int64_t most = 0;
    for (size_t r = 1; r < replay->n_rows; r++) {
        int64_t gain = ps_column_int(replay, r, "gain", 0);
        bool after = gain < limit || (gain == limit && r > last);
        if (r != balanced && after && gain > most) {
            best = r;
            most = gain;
        }
    }
    return best;
}

/* Of the same gain as it is shown, the one that asks for less memory: copies of the weights, then activations. */
static bool is_cheaper(const ps_table *replay, size_t row, size_t than) {
    int64_t weights = ps_column_int(replay, row, "weights", 1);
    int64_t other_weights = ps_column_int(replay, than, "weights", 1);
    double held = ps_column_real(replay, row, "activations");
    double other_held = ps_column_real(replay, than, "activations");
    const ps_ns_text gain = ps_ns_text_of(ps_column_int(replay, row, "gain", 0));
    const ps_ns_text other_gain = ps_ns_text_of(ps_column_int(replay, than, "gain", 0));
    bool takes_less = weights < other_weights || (weights == other_weights && held < other_held);
    return takes_less && strcmp(gain.text, other_gain.text) == 0;
}

size_t ps_report_best_schedule(const ps_table *replay) {
    if (replay == NULL) {
        return SIZE_MAX;
    }
    size_t balanced = ps_report_replay_row(replay, PS_BALANCED_ROW);
    size_t most = next_best(replay, 0, balanced);
    if (most == SIZE_MAX || ps_column_real(replay, most, "gain share") < LEAST_GAIN_PERCENT) {
        return SIZE_MAX;
    }
    size_t best = most;
    for (size_t r = 1; r < replay->n_rows; r++) {
        best = r != balanced && is_cheaper(replay, r, best) ? r : best;
    }
    return best;
}

double ps_report_ideal_bubble(const ps_report *report) {
    const ps_table *steps = ps_report_chart_table(report, "PipelineStep");
    for (size_t r = 0; steps != NULL && r < steps->n_rows; r++) {
        if (ps_column_is_known(steps, r, "ideal")) {
            return ps_column_real(steps, r, "ideal"); /* one schedule: of all pipelines the same */
        }
    }
    return -1;
}

int64_t ps_report_told_step_ns(const ps_report *report) {
    const ps_table *steps = ps_report_chart_table(report, "PipelineStep");
    int64_t sum_ns = 0;
    int64_t n = 0;
    for (size_t r = 0; steps != NULL && r < steps->n_rows; r++) {
        bool counts = ps_column_int(steps, r, "step", PS_STEP_OUTSIDE) != PS_STEP_OUTSIDE &&
                      ps_column_int(steps, r, "fewer ops", 0) == 0 &&
                      ps_column_is_known(steps, r, "bubble");
        sum_ns = counts ? ps_i64_plus(sum_ns, ps_column_int(steps, r, "time", 0)) : sum_ns;
        n += counts;
    }
    return n > 0 ? sum_ns / n : report->chart_step_ns;
}

int64_t ps_report_balanced_gain_ns(const ps_report *report) {
    if (report->replay.explains) { /* with the durations of each step, not their medians */
        return ps_report_replay_even_ns(report);
    }
    const ps_table *replay = ps_report_chart_table(report, "PipelineReplay");
    size_t row = ps_report_replay_row(replay, PS_BALANCED_ROW);
    int64_t gain_ns = row != SIZE_MAX ? ps_column_int(replay, row, "gain", 0) : 0;
    return gain_ns > 0 ? gain_ns : 0;
}

static void show_schedule(ps_report *report, const ps_table *replay, size_t row) {
    const ps_lang lang = report->findings.lang;
    char note[96];
    char copies[48] = "";
    int64_t weights = ps_column_int(replay, row, "weights", 1);
    if (weights > 1) {
        (void)snprintf(copies, sizeof copies, PS_SAY(lang, ", %lld x weights", "，权重 %lld 份"),
                       (long long)weights);
    }
    (void)snprintf(note, sizeof note,
                   PS_SAY(lang, "bubble %.1f %%, activations %.3g%s", "空泡 %.1f %%，激活 %.3g%s"),
                   ps_column_real(replay, row, "bubble"),
                   ps_column_real(replay, row, "activations"), copies);
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = -1,
                                       .step = PS_STEP_OUTSIDE,
                                       .start_ns = PS_NO_START,
                                       .dur_ns = ps_column_int(replay, row, "step time", 0),
                                       .name = ps_column_text(replay, row, "schedule"),
                                       .note = note});
}

/* What the schedule of row `best` asks of the memory that the one of row 0, which ran, does not. */
static void advise_on_memory(ps_findings *f, const ps_table *replay, size_t best) {
    const ps_lang lang = f->lang;
    char text[256];
    const char *name = ps_column_text(replay, best, "schedule");
    bool holds_more =
        ps_column_real(replay, best, "activations") > ps_column_real(replay, 0, "activations");
    int64_t weights = ps_column_int(replay, best, "weights", 1);
    if (weights > ps_column_int(replay, 0, "weights", 1)) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "Mind the memory: %.64s keeps %lld copies of a stage's weights on each device%s.",
                "注意内存：%.64s 在每个设备上保存 %lld 份阶段权重%s。"),
            name, (long long)weights,
            holds_more ? PS_SAY(lang, ", and more activations", "，激活也更多") : "");
    } else if (!holds_more) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(lang, "Run %.64s: no stage holds more activations than the fullest one did.",
                   "采用 %.64s：没有阶段保存的激活多于原来最满的阶段。"),
            name);
    } else {
        return; /* the rule's own advice */
    }
    ps_findings_remedy(f, text);
}

static bool has_several_pipelines(const ps_chart *chart) {
    bool several = false;
    for (size_t i = 1; i < chart->n_ranks; i++) {
        several = several || chart->ranks[i].pipeline != chart->ranks[0].pipeline;
    }
    return several;
}

/* Schedules are replayed with one duration for each kind of op, so that the one that ran may take another time than its steps did; where there are several pipelines it is
 * said whose durations they are. A sentence; "" where there is nothing to say. */
static void say_usual(const ps_report *report, int64_t replayed_ns, char out[256]) {
    const ps_lang lang = report->findings.lang;
    int64_t step_ns = report->chart->replayed_step_ns;
    int64_t differs_ns = replayed_ns - step_ns;
    differs_ns = differs_ns < 0 ? -differs_ns : differs_ns;
    out[0] = '\0';
    if (has_several_pipelines(report->chart)) {
        (void)snprintf(
            out, 256,
            PS_SAY(
                lang,
                " Both replays take each pass and transfer of pipeline %d, whose steps are the longest, "
                "with its median duration: its steps take %s on average.",
                "两次重放都按流水线 %d（其 step 最长）的各前向、反向与传输的中位时长：其 step 实际平均为 %s。"),
            (int)report->chart->replayed_pipeline, ps_ns_text_of(step_ns).text);
    } else if (differs_ns > step_ns / 100) {
        (void)snprintf(
            out, 256,
            PS_SAY(
                lang,
                " Both replays take each pass and transfer with its median duration: a step takes %s on "
                "average.",
                "两次重放都按各前向、反向与传输的中位时长：step 实际平均为 %s。"),
            ps_ns_text_of(step_ns).text);
    }
}

/* "4 microbatches of activations instead of 5", or that they are as many. */
static void say_held(ps_lang lang, double held, double before, char out[96]) {
    char now_text[16];
    char before_text[16];
    (void)snprintf(now_text, sizeof now_text, "%.3g", held);
    (void)snprintf(before_text, sizeof before_text, "%.3g", before);
    if (strcmp(now_text, before_text) == 0) {
        (void)snprintf(out, 96,
                       PS_SAY(lang, "as many activations (%s microbatches)",
                              "同样多的激活（%s 个 microbatch）"),
                       now_text);
    } else {
        (void)snprintf(out, 96,
                       PS_SAY(lang, "%s microbatches of activations instead of %s",
                              "%s 个 microbatch 的激活，而不是 %s 个"),
                       now_text, before_text);
    }
}

void ps_report_find_schedule(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_table *replay = ps_report_chart_table(report, "PipelineReplay");
    size_t balanced = ps_report_replay_row(replay, PS_BALANCED_ROW);
    ps_findings *f = &report->findings;
    size_t best = ps_report_best_schedule(replay);
    double share = best != SIZE_MAX ? ps_column_real(replay, best, "gain share") : 0;
    if (best == SIZE_MAX || !ps_rule_fires(f, PS_RULE_OTHER_SCHEDULE, share)) {
        return;
    }
    int64_t gain_ns = ps_column_int(replay, best, "gain", 0);
    bool is_assumed = ps_replay_assumes_weights(report->chart, replay, best);
    char held[96];
    say_held(lang, ps_column_real(replay, best, "activations"),
             ps_column_real(replay, 0, "activations"), held);
    char usual[256];
    say_usual(report, ps_column_int(replay, 0, "step time", 0), usual);
    ps_findings_add(
        f,
        (ps_finding){.rule = PS_RULE_OTHER_SCHEDULE,
                     .rank = -1,
                     .stage = -1,
                     .gain_ns = gain_ns,
                     .replayed = ps_column_text(replay, best, "schedule"),
                     .is_assumed = is_assumed,
                     .value = share},
        PS_SAY(
            lang,
            "Replayed, %s takes %s and the current schedule %s, %s less (%.1f %%), holding %s.%s%s",
            "重放表明，%s 需要 %s，当前调度需要 %s，少 %s（%.1f %%），保存%s。%s%s"),
        ps_column_text(replay, best, "schedule"),
        ps_ns_text_of(ps_column_int(replay, best, "step time", 0)).text,
        ps_ns_text_of(ps_column_int(replay, 0, "step time", 0)).text, ps_ns_text_of(gain_ns).text,
        share, held, usual,
        is_assumed
            ? PS_SAY(
                  lang,
                  " Weight gradients were not measured apart: they are taken as half of the backward.",
                  "权重梯度没有单独测量：取反向的一半。")
            : "");
    advise_on_memory(f, replay, best);
    show_schedule(report, replay, 0);
    show_schedule(report, replay, best);
    size_t next = next_best(replay, 0, balanced);
    for (size_t shown = 1; next != SIZE_MAX && shown < PS_EVIDENCE_MAX; shown += next != best) {
        if (next != best) {
            show_schedule(report, replay, next);
        }
        next = next_best(replay, next, balanced);
    }
}
