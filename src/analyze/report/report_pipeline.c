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
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/sort.h"

/* One stage of one pipeline, sums over the steps. */
typedef struct stage {
    int32_t stage, pipeline, rank;
    int64_t n_steps;
    int64_t busy_ns, bubble_ns, warmup_ns, stall_ns, cooldown_ns;
    int64_t for_stages_ns, transfer_ns, other_ns;
} stage;

typedef struct pipes {
    ps_report *report;
    stage *
        stages; /* by pipeline, in the order of PipelineBubble's first step; those whose bubble is told */
    size_t n, cap;
    ps_idmap stage_at; /* of each rank, where it is in `stages` */
    int32_t *numbers;  /* [n_numbers] the stages that they are, ascending */
    size_t n_numbers, n_pipelines;
    const stage **of_number; /* [n] scratch */
    int64_t step_ns;         /* mean of the chart's */
    double ideal;            /* the schedule's own bubble, percent; below 0: not known */
    double bubble;           /* of the mean stage, percent */
    ps_idmap
        part_steps; /* of each pipeline (part_key), those that are in no mean: they have fewer ops than others */
    size_t n_part_steps;
    int64_t a_part_step;
} pipes;

static int64_t mean(int64_t sum, int64_t n) {
    return n > 0 ? sum / n : 0;
}

static uint64_t stage_key(int32_t rank) {
    return (uint64_t)(int64_t)rank;
}

static uint64_t part_key(int64_t step, int32_t pipeline) {
    return (uint64_t)step << 16 | (uint16_t)pipeline;
}

/* Steps of which something was lost, or that the capture cuts: of whole ones alone a mean says something. */
static bool find_part_steps(pipes *p) {
    const ps_chart *chart = p->report->chart;
    bool ok = true;
    for (size_t i = 0; ok && i < chart->n_figures; i++) {
        const ps_chart_figure *figure = &chart->figures[i];
        uint64_t key = part_key(figure->step, chart->ranks[figure->rank].pipeline);
        if (figure->is_part && ps_idmap_get(&p->part_steps, key) == PS_IDMAP_NONE) {
            ok = ps_idmap_put(&p->part_steps, key, 1);
            p->n_part_steps++;
            p->a_part_step = figure->step;
        }
    }
    return ok;
}

static bool is_part_step(const pipes *p, int64_t step, int32_t pipeline) {
    return ps_idmap_get(&p->part_steps, part_key(step, pipeline)) != PS_IDMAP_NONE;
}

/* PipelineBubble and PipelineWaits have the same rows in the same order. */
static bool sum_stages(pipes *p) {
    const ps_table *bubble = ps_report_chart_table(p->report, "PipelineBubble");
    const ps_table *waits = ps_report_chart_table(p->report, "PipelineWaits");
    int32_t first_pipeline = p->report->chart->ranks[0].pipeline;
    for (size_t r = 0; bubble != NULL && r < bubble->n_rows; r++) {
        int32_t rank = (int32_t)ps_column_int(bubble, r, "rank", -1);
        int64_t step = ps_column_int(bubble, r, "step", PS_STEP_OUTSIDE);
        uint32_t at = ps_idmap_get(&p->stage_at, stage_key(rank));
        int32_t pipeline = (int32_t)ps_column_int(bubble, r, "pipeline", first_pipeline);
        bool is_told = ps_column_int(bubble, r, "bubble", -1) >= 0; /* else the chart says why */
        if (!is_told || step == PS_STEP_OUTSIDE || is_part_step(p, step, pipeline)) {
            continue;
        }
        if (at == PS_IDMAP_NONE) {
            at = (uint32_t)p->n;
            if (!ps_grow(&p->stages, &p->cap, p->n + 1, UINT32_MAX, sizeof *p->stages) ||
                !ps_idmap_put(&p->stage_at, stage_key(rank), at)) {
                return false;
            }
            p->stages[p->n++] =
                (stage){.rank = rank,
                        .stage = (int32_t)ps_column_int(bubble, r, "stage", -1),
                        .pipeline = (int32_t)ps_column_int(bubble, r, "pipeline", 0)};
        }
        stage *s = &p->stages[at];
        s->n_steps++;
        s->busy_ns = ps_i64_plus(s->busy_ns, ps_column_int(bubble, r, "busy", 0));
        s->bubble_ns = ps_i64_plus(s->bubble_ns, ps_column_int(bubble, r, "bubble", 0));
        s->warmup_ns = ps_i64_plus(s->warmup_ns, ps_column_int(bubble, r, "warm-up", 0));
        s->stall_ns = ps_i64_plus(s->stall_ns, ps_column_int(bubble, r, "stall", 0));
        s->cooldown_ns = ps_i64_plus(s->cooldown_ns, ps_column_int(bubble, r, "cool-down", 0));
        if (waits != NULL && r < waits->n_rows) {
            s->for_stages_ns =
                ps_i64_plus(s->for_stages_ns, ps_column_int(waits, r, "for stages", 0));
            s->transfer_ns =
                ps_i64_plus(s->transfer_ns, ps_column_int(waits, r, "for transfer", 0));
            s->other_ns = ps_i64_plus(s->other_ns, ps_column_int(waits, r, "other", 0));
        }
    }
    return true;
}

/* --- the same stage of several pipelines ------------------------------------------------------------------------- */

static int compare_pipeline_finding_numbers(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t distinct(int32_t *numbers, size_t n) {
    size_t kept = 0;
    ps_sort(numbers, n, sizeof *numbers, compare_pipeline_finding_numbers);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || numbers[i] != numbers[kept - 1]) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

/* False when memory is out. */
static bool number_stages(pipes *p) {
    p->numbers = ps_calloc(p->n, sizeof *p->numbers);
    p->of_number = ps_calloc(p->n, sizeof *p->of_number);
    if (p->numbers == NULL || p->of_number == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->n; i++) {
        p->numbers[i] = p->stages[i].pipeline;
    }
    p->n_pipelines = distinct(p->numbers, p->n);
    for (size_t i = 0; i < p->n; i++) {
        p->numbers[i] = p->stages[i].stage;
    }
    p->n_numbers = distinct(p->numbers, p->n);
    return true;
}

typedef int64_t stage_time_fn(const stage *s); /* sum over its steps */

static int64_t busy_time(const stage *s) {
    return s->busy_ns;
}
static int64_t bubble_time(const stage *s) {
    return s->bubble_ns;
}

static int compare_times(const void *a, const void *b, void *context) {
    stage_time_fn *const *of = context;
    const stage *x = *(const stage *const *)a;
    const stage *y = *(const stage *const *)b;
    int64_t tx = mean((*of)(x), x->n_steps);
    int64_t ty = mean((*of)(y), y->n_steps);
    return tx != ty ? (tx < ty ? -1 : 1) : x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

/* One stage in all its pipelines, by a time: the lower median and the largest of them. */
typedef struct over_pipelines {
    const stage *median, *worst;
    size_t n;
} over_pipelines;

static over_pipelines stage_over(const pipes *p, int32_t number, stage_time_fn *of) {
    over_pipelines o = {.n = 0};
    for (size_t i = 0; i < p->n; i++) {
        if (p->stages[i].stage == number) {
            p->of_number[o.n++] = &p->stages[i];
        }
    }
    qsort_r(p->of_number, o.n, sizeof *p->of_number, compare_times, &of);
    o.median = p->of_number[(o.n - 1) / 2];
    o.worst = p->of_number[o.n - 1];
    return o;
}

typedef struct stage_text {
    char text[48];
} stage_text;

/* "stage 3", and of which pipeline where there are several. */
static stage_text name_stage(const pipes *p, const stage *s, bool begins) {
    stage_text out;
    const char *word = begins ? "Stage" : "stage";
    if (p->n_pipelines > 1) {
        (void)snprintf(out.text, sizeof out.text, "%s %d of pipeline %d", word, (int)s->stage,
                       (int)s->pipeline);
    } else {
        (void)snprintf(out.text, sizeof out.text, "%s %d", word, (int)s->stage);
    }
    return out;
}

typedef struct mean_text {
    char text[64];
} mean_text;

/* "4 stages", "4 stages of 16 pipelines" */
static mean_text count_stages(const pipes *p) {
    mean_text out;
    int n = snprintf(out.text, sizeof out.text, "%zu stages", p->n_numbers);
    if (p->n_pipelines > 1 && n > 0) {
        (void)snprintf(out.text + n, sizeof out.text - (size_t)n, " of %zu pipelines",
                       p->n_pipelines);
    }
    return out;
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
           !is_part_step(p, b->step, chart->ranks[b->rank].pipeline) &&
           (!w->stalls_only || b->cause == PS_BUBBLE_STALL) &&
           (w->rank < 0 || chart->ranks[b->rank].rank == w->rank) && w->of(chart, b) > 0;
}

/* A stage of some pipeline is not in the chart, or the links of some step are not known: what waits for no stage may wait for one. */
static bool is_part_known(const ps_report *report) {
    const ps_table *waits = ps_report_chart_table(report, "PipelineWaits");
    return waits != NULL && ps_table_column(waits, "not known") != SIZE_MAX;
}

static void add_bubble(ps_report *report, const ps_bubble *b, int64_t dur_ns) {
    const ps_chart *chart = report->chart;
    const ps_chart_rank *rank = &chart->ranks[b->rank];
    char note[160];
    char counts_on[48] = "";
    if (b->waits_for != PS_NO_INDEX) {
        const ps_op *op = &chart->ops[b->waits_for];
        if (ps_op_counts_on(op)) {
            (void)snprintf(counts_on, sizeof counts_on, " (microbatch %d of chunk %d)",
                           (int)op->microbatch, (int)op->chunk);
        }
        (void)snprintf(note, sizeof note, "waits for %.60s%s of stage %d", op->name, counts_on,
                       (int)chart->ranks[op->rank].stage);
    } else {
        (void)snprintf(note, sizeof note, "%s",
                       b->cause == PS_BUBBLE_WARMUP     ? "before its first pass of the step"
                       : b->cause == PS_BUBBLE_COOLDOWN ? "after its last pass of the step"
                       : is_part_known(report)          ? "waits for nobody known"
                                                        : "waits for no other stage");
    }
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = rank->rank,
                                       .step = b->step,
                                       /* by the rank's own clock, as all evidence */
                                       .start_ns = ps_report_own_time(chart, b->rank, b->start_ns),
                                       .dur_ns = dur_ns,
                                       .name = ps_bubble_cause_name((ps_bubble_cause)b->cause),
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
static void show_stage(const pipes *p, int32_t number, stage_time_fn *of) {
    over_pipelines o = stage_over(p, number, of);
    const stage *s = o.median;
    char note[256];
    int n =
        snprintf(note, sizeof note, "mean of steps: busy %s, warm-up %s, stall %s, cool-down %s",
                 ps_ns_text_of(mean(s->busy_ns, s->n_steps)).text,
                 ps_ns_text_of(mean(s->warmup_ns, s->n_steps)).text,
                 ps_ns_text_of(mean(s->stall_ns, s->n_steps)).text,
                 ps_ns_text_of(mean(s->cooldown_ns, s->n_steps)).text);
    if (o.n > 1 && n > 0) {
        (void)snprintf(
            note + n, sizeof note - (size_t)n,
            "; the lower median of %zu pipelines, %s in the worst (pipeline %d, rank %s)", o.n,
            ps_ns_text_of(mean(of(o.worst), o.worst->n_steps)).text, (int)o.worst->pipeline,
            PS_RANK(o.worst->rank));
    }
    ps_findings_evidence(&p->report->findings, (ps_evidence){.rank = s->rank,
                                                             .step = PS_STEP_OUTSIDE, /* a mean */
                                                             .start_ns = PS_NO_START,
                                                             .dur_ns = mean(of(s), s->n_steps),
                                                             .name = name_stage(p, s, false).text,
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
                      !is_part_step(p, waits.at[i].step, waits.at[i].pipeline);
        ns = counts ? ps_i64_plus(ns, waits.at[i].idle_ns) : ns;
    }
    if (n > 0 && ns / n > p->step_ns / 100) {
        out->is_most_others = ns / n > bubble_ns / 2;
        out->last_pipeline = waits.last_pipeline;
        (void)snprintf(
            out->others, sizeof out->others,
            " Of the cool-down, %s pass while the own pipeline has ended its last pass and another "
            "one of the job has not: most often that is pipeline %d, in %zu of %zu steps.",
            ps_ns_text_of(ns / n).text, (int)waits.last_pipeline, waits.n_last, waits.n_steps);
    }
    ps_pipeline_waits_fini(&waits);
}

/* What the figures of the bubble stand beside: the step in full, the schedule's own bubble, the part of unequal stages. */
static void say_beside(const pipes *p, int64_t bubble_ns, bubble_text *out) {
    *out = (bubble_text){.whole = ""};
    if (p->report->step_ns > p->step_ns) {
        (void)snprintf(out->whole, sizeof out->whole, " (which takes %s in all)",
                       ps_ns_text_of(p->report->step_ns).text);
    }
    if (p->ideal >= 0) {
        (void)snprintf(
            out->ideal, sizeof out->ideal,
            " %s itself has %.1f %% with this number of microbatches, were all stages equally fast and nothing "
            "lost between them.",
            p->report->chart->schedule[0] != '\0' ? p->report->chart->schedule : "The schedule",
            p->ideal);
    }
    if (p->n_part_steps == 1) {
        (void)snprintf(
            out->parts, sizeof out->parts,
            " Step %lld has fewer ops than others (lost records, or the capture cuts it): it is in none of "
            "these figures.",
            (long long)p->a_part_step);
    } else if (p->n_part_steps > 1) {
        (void)snprintf(
            out->parts, sizeof out->parts,
            " %zu steps%s have fewer ops than others (lost records, or the capture cuts them): they are in "
            "none of these figures.",
            p->n_part_steps, p->n_pipelines > 1 ? " of pipelines" : "");
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
    int64_t for_stages_ns = 0;
    int64_t transfer_ns = 0;
    int64_t other_ns = 0;
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        for_stages_ns = ps_i64_plus(for_stages_ns, mean(s->for_stages_ns, s->n_steps));
        transfer_ns = ps_i64_plus(transfer_ns, mean(s->transfer_ns, s->n_steps));
        other_ns = ps_i64_plus(other_ns, mean(s->other_ns, s->n_steps));
    }
    return beside->unequal_ns > bubble_ns / 4 ? "the stages, which are not equally fast"
           : transfer_ns >= for_stages_ns && transfer_ns >= other_ns
               ? "why stages do not start though the results of others are there (transfer, launch, host)"
           : other_ns > for_stages_ns ? "why stages stand still that wait for no other (host, data)"
                                      : "the stages that others wait for";
}

/* Only what would help here. */
static void advise_on_bubble(pipes *p, const bubble_text *beside, int64_t bubble_ns) {
    char text[640];
    char schedule[192] = "";
    const ps_table *replay = ps_report_chart_table(p->report, "PipelineReplay");
    size_t best = ps_report_replay_is_like(p->report) ? ps_report_best_schedule(replay) : SIZE_MAX;
    if (best != SIZE_MAX) {
        (void)snprintf(
            schedule, sizeof schedule,
            "%s (of those replayed with this number of microbatches %.64s gains most, %s)",
            is_the_schedules(p) ? "; another schedule" : " Another schedule",
            ps_column_text(replay, best, "schedule"),
            ps_ns_text_of(ps_column_int(replay, best, "gain", 0)).text);
    }
    if (beside->is_most_others) {
        (void)snprintf(
            text, sizeof text,
            "Find what makes pipeline %d later than the others: most of the bubble is for it, and no "
            "schedule shortens that.",
            (int)beside->last_pipeline);
    } else if (is_the_schedules(p)) {
        (void)snprintf(
            text, sizeof text, "More microbatches in a step%s%s.",
            p->ideal < 0 ? ", if the bubble is the schedule's own (how much of it is, is not known)"
                         : "",
            schedule);
    } else {
        (void)snprintf(
            text, sizeof text,
            "Look at %s: the schedule's own bubble is %.1f %% of a step, this one %.1f %%, and more "
            "microbatches shorten no more than the former.%s%s",
            most_of_stalls(p, beside, bubble_ns), p->ideal, p->bubble, schedule,
            schedule[0] != '\0' ? "." : "");
    }
    size_t n = strlen(text);
    (void)snprintf(text + n, sizeof text - n, " docs/bubble.md explains the figures.");
    ps_findings_remedy(&p->report->findings, text);
}

static const stage *busiest_stage(const pipes *p) {
    const stage *most = &p->stages[0];
    for (size_t i = 1; i < p->n; i++) {
        const stage *s = &p->stages[i];
        most = mean(s->busy_ns, s->n_steps) > mean(most->busy_ns, most->n_steps) ? s : most;
    }
    return most;
}

/* What of the bubble can go: the stage that works longest still does so. Says which, where that takes off more than a tenth. */
static int64_t say_busiest(const pipes *p, int64_t bubble_ns, bubble_text *out) {
    const stage *most = busiest_stage(p);
    int64_t busy_ns = mean(most->busy_ns, most->n_steps);
    int64_t gain_ns = p->step_ns > busy_ns ? p->step_ns - busy_ns : 0;
    if (gain_ns >= bubble_ns) {
        return bubble_ns;
    }
    if (bubble_ns - gain_ns > bubble_ns / 10 || out->unequal_ns > gain_ns) {
        (void)snprintf(out->busiest, sizeof out->busiest,
                       " With the work as it is %s still works for %s without it.",
                       name_stage(p, most, false).text, ps_ns_text_of(busy_ns).text);
    }
    return gain_ns;
}

/* The gain leaves the work where it is; with equal stages some of it moves, which may win more than that. */
static void say_unequal(int64_t gain_ns, bubble_text *out) {
    if (out->unequal_ns > 0) {
        (void)snprintf(
            out->unequal, sizeof out->unequal,
            " Moving work is another way, and may win %s: were all stages equally fast, the same "
            "schedule would take %s less (replayed).",
            out->unequal_ns > gain_ns ? "more" : "a part of it",
            ps_ns_text_of(out->unequal_ns).text);
    }
}

/* The bubble of the mean stage is warm-up + stall + cool-down. */
static void find_bubble(pipes *p) {
    stage sum = {0};
    for (size_t i = 0; i < p->n; i++) {
        const stage *s = &p->stages[i];
        sum.busy_ns = ps_i64_plus(sum.busy_ns, mean(s->busy_ns, s->n_steps));
        sum.bubble_ns = ps_i64_plus(sum.bubble_ns, mean(s->bubble_ns, s->n_steps));
        sum.warmup_ns = ps_i64_plus(sum.warmup_ns, mean(s->warmup_ns, s->n_steps));
        sum.stall_ns = ps_i64_plus(sum.stall_ns, mean(s->stall_ns, s->n_steps));
        sum.cooldown_ns = ps_i64_plus(sum.cooldown_ns, mean(s->cooldown_ns, s->n_steps));
    }
    int64_t n = (int64_t)p->n;
    int64_t bubble_ns = mean(sum.bubble_ns, n);
    double share = ps_percent(bubble_ns, p->step_ns);
    p->bubble = share;
    ps_findings *f = &p->report->findings;
    if (!ps_rule_fires(f, PS_RULE_BUBBLE, share)) {
        return;
    }
    bubble_text beside;
    say_beside(p, bubble_ns, &beside);
    int64_t gain_ns = say_busiest(p, bubble_ns, &beside);
    say_unequal(gain_ns, &beside);
    ps_findings_add(
        f,
        (ps_finding){
            .rule = PS_RULE_BUBBLE, .rank = -1, .stage = -1, .gain_ns = gain_ns, .value = share},
        "Of the %s from the first to the last op of a step%s %s are bubble (%.1f %%, mean of %s): "
        "warm-up %s, stalls %s, cool-down %s.%s%s%s%s%s",
        ps_ns_text_of(p->step_ns).text, beside.whole, ps_ns_text_of(bubble_ns).text, share,
        count_stages(p).text, ps_ns_text_of(mean(sum.warmup_ns, n)).text,
        ps_ns_text_of(mean(sum.stall_ns, n)).text, ps_ns_text_of(mean(sum.cooldown_ns, n)).text,
        beside.others, beside.ideal, beside.busiest, beside.unequal, beside.parts);
    advise_on_bubble(p, &beside, bubble_ns);
    for (size_t i = 0; i < p->n_numbers && i < 2; i++) {
        show_stage(p, p->numbers[i], bubble_time);
    }
    show_bubbles(p, (wanted){.of = pipeline_finding_whole, .rank = -1}, 3);
}

static int more_busy(const void *a, const void *b) {
    const stage *x = *(const stage *const *)a;
    const stage *y = *(const stage *const *)b;
    int64_t bx = mean(x->busy_ns, x->n_steps);
    int64_t by = mean(y->busy_ns, y->n_steps);
    return bx != by ? (bx > by ? -1 : 1) : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Each stage as its median over the pipelines, the most busy first. NULL when memory is out. */
static const stage **stages_by_busy(const pipes *p, int64_t *mean_ns) {
    const stage **order = ps_calloc(p->n_numbers, sizeof *order);
    int64_t sum_ns = 0;
    for (size_t i = 0; order != NULL && i < p->n_numbers; i++) {
        order[i] = stage_over(p, p->numbers[i], busy_time).median;
        sum_ns = ps_i64_plus(sum_ns, mean(order[i]->busy_ns, order[i]->n_steps));
    }
    if (order != NULL) {
        qsort(order, p->n_numbers, sizeof *order, more_busy);
    }
    *mean_ns = mean(sum_ns, (int64_t)p->n_numbers);
    return order;
}

static void find_imbalance(pipes *p) {
    int64_t mean_ns = 0;
    const stage **order = stages_by_busy(p, &mean_ns);
    if (order == NULL) {
        p->report->findings.failed = true;
        return;
    }
    int64_t most_ns = mean(order[0]->busy_ns, order[0]->n_steps);
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
            (void)snprintf(over, sizeof over, " (the lower median of %zu pipelines)",
                           p->n_pipelines);
        }
        ps_findings_add(
            f,
            (ps_finding){.rule = PS_RULE_STAGE_IMBALANCE,
                         .rank = order[0]->rank,
                         .stage = order[0]->stage,
                         .gain_ns = gain_ns > 0 ? gain_ns : 0,
                         .value = share},
            "Stage %d is busy %s in a step, %.1f %% more than the mean of %s%s. With all stages "
            "equally fast the same schedule would take %s less%s.",
            (int)order[0]->stage, ps_ns_text_of(most_ns).text, share, ps_ns_text_of(mean_ns).text,
            over, ps_ns_text_of(gain_ns > 0 ? gain_ns : 0).text,
            replayed
                ? " (replayed with the measured durations); an unequal split may win more (pipescope "
                  "plan)"
                : ", if nothing else held it up");
        for (size_t i = 0; i < p->n_numbers && i < 4; i++) {
            show_stage(p, order[i]->stage, busy_time);
        }
    }
    ps_free(order);
}

typedef struct stall_rule {
    ps_rule_id rule;
    stage_time_fn *of;
    measure_fn *in_bubble;
    const char *what;
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
            int64_t ns = mean(s->busy_ns, s->n_steps);
            sum_ns = ps_i64_plus(sum_ns, ns);
            busy_ns = s->stage == number ? ns : busy_ns;
            n++;
        }
    }
    *mean_ns = mean(sum_ns, n);
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
    over_pipelines o = stage_over(p, number, busy_time);
    const stage *own = NULL;
    for (size_t i = 0; i < o.n; i++) {
        own = p->of_number[i]->pipeline == pipeline ? p->of_number[i] : own;
    }
    *usual_ns = mean(o.median->busy_ns, o.median->n_steps);
    int64_t more_ns = own != NULL ? mean(own->busy_ns, own->n_steps) - *usual_ns : 0;
    bool is_slower =
        ps_percent(more_ns, *usual_ns) > p->report->findings.thresholds[PS_RULE_STAGE_IMBALANCE];
    int64_t mean_ns = 0;
    int64_t usual_beyond_ns = beyond_mean(p, o.median->pipeline, number, &mean_ns);
    return is_slower && more_ns > usual_beyond_ns ? own : NULL;
}

/* No schedule and no split of layers is a remedy for a rank that is slow. */
static void advise_to_mend(const pipes *p, const stage *slow, int64_t usual_ns, const char *chain) {
    char text[320];
    int at = snprintf(text, sizeof text, "Mend rank %s", PS_RANK(slow->rank));
    (void)snprintf(
        text + at, sizeof text - (size_t)at,
        ": stage %d is busy %s in a step there, the lower median of the pipelines is %s%s.",
        (int)slow->stage, ps_ns_text_of(mean(slow->busy_ns, slow->n_steps)).text,
        ps_ns_text_of(usual_ns).text, chain);
    ps_findings_mend(&p->report->findings, text, (size_t)at, slow->rank);
}

/* Only what would help here. */
static void advise_on_stall(const pipes *p, ps_rule_id rule, const stage *worst, int32_t awaited) {
    char text[320];
    bool has_host = ps_report_has_launches(p->report, worst->rank);
    int32_t slow = rule == PS_RULE_STAGE_WAIT ? slow_behind(p, worst->pipeline, awaited) : -1;
    if (slow >= 0) {
        char chain[96] = "";
        int64_t usual_ns = 0;
        const stage *alone = slow_alone(p, worst->pipeline, slow, &usual_ns);
        if (slow != awaited) {
            (void)snprintf(chain, sizeof chain,
                           " (stage %d is no slower than the others and waits for it in turn)",
                           (int)awaited);
        }
        if (alone != NULL) {
            advise_to_mend(p, alone, usual_ns, chain);
            return;
        }
        (void)snprintf(
            text, sizeof text,
            "Speed stage %d up%s, or take a schedule that gives its neighbours other work in "
            "between.",
            (int)slow, chain);
    } else if (rule == PS_RULE_STAGE_WAIT && is_the_schedules(p)) {
        (void)snprintf(
            text, sizeof text,
            "More microbatches, or a schedule that gives the stages other work in between: the stage that is "
            "waited for is no slower than the others.");
    } else if (rule == PS_RULE_STAGE_WAIT) {
        (void)snprintf(
            text, sizeof text,
            "Look at what holds stage %d up between its ops: it is no slower than the others, and the schedule's "
            "own bubble is %.1f %% of a step, this one %.1f %%.",
            (int)awaited, p->ideal, p->bubble);
    } else if (rule == PS_RULE_TRANSFER_WAIT) {
        (void)snprintf(text, sizeof text,
                       "Start receives early, overlap sends (overlap-p2p-communication)%s%s.",
                       is_at_a_border(p, worst) ? ", keep neighbouring stages on one machine" : "",
                       has_host ? "; look at the dispatch section for that rank" : "");
    } else {
        (void)snprintf(text, sizeof text, "Usually the host or the data: %s.",
                       has_host ? "see the dispatch section for that rank"
                                : "the profile holds no launches that would tell");
    }
    ps_findings_remedy(&p->report->findings, text);
}

static void find_stall(pipes *p, const stall_rule *rule) {
    over_pipelines most = {.n = 0};
    size_t n_over = 0;
    ps_findings *f = &p->report->findings;
    for (size_t i = 0; i < p->n_numbers; i++) {
        over_pipelines o = stage_over(p, p->numbers[i], rule->of);
        int64_t ns = mean(rule->of(o.worst), o.worst->n_steps);
        n_over += ps_rule_fires(f, rule->rule, ps_percent(ns, p->report->step_ns));
        if (most.n == 0 || ns > mean(rule->of(most.worst), most.worst->n_steps)) {
            most = o;
        }
    }
    if (n_over == 0) {
        return;
    }
    const stage *worst = most.worst;
    int64_t ns = mean(rule->of(worst), worst->n_steps);
    char for_whom[64] = "";
    int32_t awaited = rule->rule == PS_RULE_STAGE_WAIT ? most_awaited(p, worst->rank) : -1;
    if (awaited >= 0) {
        (void)snprintf(for_whom, sizeof for_whom, ", most of it for stage %d", (int)awaited);
    }
    char median[128] = "";
    if (p->n_pipelines > 1) {
        (void)snprintf(median, sizeof median,
                       " The lower median of this stage over %zu pipelines is %s.", most.n,
                       ps_ns_text_of(mean(rule->of(most.median), most.median->n_steps)).text);
    }
    ps_findings_add(
        f,
        (ps_finding){.rule = rule->rule,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = ns,
                     .value = ps_percent(ns, p->report->step_ns)},
        "%s (rank %s) %s %s in each step%s.%s %zu of %zu stages %s over the threshold%s.",
        name_stage(p, worst, true).text, PS_RANK(worst->rank), rule->what, ps_ns_text_of(ns).text,
        for_whom, median, n_over, p->n_numbers, n_over == 1 ? "is" : "are",
        p->n_pipelines > 1 ? " in some pipeline" : "");
    advise_on_stall(p, rule->rule, worst, awaited);
    show_bubbles(p, (wanted){rule->in_bubble, true, worst->rank}, PS_EVIDENCE_MAX);
}

void ps_report_pipeline(ps_report *report) {
    static const stall_rule STALLS[] = {
        {PS_RULE_STAGE_WAIT, for_stages, before_result,
         "waits in the middle of the step for other stages for"},
        {PS_RULE_TRANSFER_WAIT, for_transfer, after_result,
         "has what it needs and does not start for"},
        {PS_RULE_OTHER_STALL, for_other, without_result,
         "stands still without waiting for another stage for"},
    };
    pipes p = {.report = report};
    if (report->chart == NULL) {
        return;
    }
    ps_idmap_init(&p.part_steps);
    ps_idmap_init(&p.stage_at);
    if (!find_part_steps(&p) || !sum_stages(&p)) {
        report->findings.failed = true;
    }
    p.step_ns = ps_report_told_step_ns(report);
    p.ideal = ps_report_ideal_bubble(report);
    ps_report_find_unexplained(report);
    report->findings.failed = report->findings.failed || !number_stages(&p);
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
