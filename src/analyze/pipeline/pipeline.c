#include "analyze/pipeline/pipeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/pipeline/side_by_side.h"
#include "analyze/pipeline/unmarked.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/utf8.h"
#include "model/chart_groups.h"
#include "schedule/connect.h"
#include "schedule/sim.h"

static int64_t length_of(const ps_op *op) {
    return op->end_ns - op->start_ns;
}

static bool is_backward_of(const ps_op *op, int32_t phase) {
    return op->kind == PS_OP_B && op->phase == phase;
}

/* Of ops [first, end), which are those of one rank: backwards of phase 6, and how many of them are clearly shorter than those of
 * phase 5 usually are. `lengths` is scratch. */
static void count_tail(const ps_chart *chart, size_t first, size_t end, int64_t *lengths,
                       size_t *n_tail, size_t *n_short) {
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        if (is_backward_of(&chart->ops[i], 5)) {
            lengths[n++] = length_of(&chart->ops[i]);
        }
    }
    qsort(lengths, n, sizeof *lengths, ps_compare_i64);
    for (size_t i = first; n > 0 && i < end; i++) {
        if (is_backward_of(&chart->ops[i], 6)) {
            (*n_tail)++;
            *n_short += (double)length_of(&chart->ops[i]) <
                        0.75 * (double)ps_midpoint_i64(lengths[(n - 1) / 2], lengths[n / 2]);
        }
    }
}

/* DualPipeV's last backwards (phase 6) are marked as whole; with split backwards in the tail they are the input
 * gradient only, and the weight gradients behind them have no mark. Their length against those of phase 5 tells, for all of
 * them together: one that the machine disturbed says nothing of its own. */
static ps_code refine_tail(ps_chart *chart, ps_recognised *r, size_t *n_split, ps_err *err) {
    int64_t *lengths = ps_calloc(chart->n_ops + 1, sizeof *lengths);
    if (lengths == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n_tail = 0;
    size_t n_short = 0;
    for (size_t i = 0, end = 0; i < chart->n_ops; i = end) {
        while (end < chart->n_ops && chart->ops[end].rank == chart->ops[i].rank) {
            end++;
        }
        count_tail(chart, i, end, lengths, &n_tail, &n_short);
    }
    ps_free(lengths);
    *n_split = 0;
    r->params.tail_full = n_short * 2 < n_tail;
    for (size_t i = 0; n_tail > 0 && !r->params.tail_full && i < chart->n_ops; i++) {
        if (is_backward_of(&chart->ops[i], 6)) {
            chart->ops[i].kind = PS_OP_BI;
            (*n_split)++;
        }
    }
    return PS_OK;
}

/* What was said, then the same schedule with as many microbatches as ran, then any schedule: what fits best, the
 * first of equals. */
static ps_code chart_pipeline_recognise(const ps_chart *chart, const ps_pipeline_opts *opts,
                                        ps_recognised *best, ps_err *err) {
    const struct {
        const char *name;
        int32_t n_microbatches;
    } tries[] = {{opts->pp_type, opts->n_microbatches}, {opts->pp_type, 0}, {"", 0}};
    *best = (ps_recognised){0};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < 3 && ps_recognised_agreement(best) < 1.0; i++) {
        ps_recognised r;
        code = ps_recognise(chart, tries[i].name, opts->n_stages, tries[i].n_microbatches, &r, err);
        if (code == PS_OK && ps_recognised_agreement(&r) > ps_recognised_agreement(best)) {
            *best = r;
        }
    }
    return code;
}

static void note_difference(ps_lang lang, const ps_pipeline_opts *opts, const ps_recognised *r,
                            ps_pipeline_notes *notes) {
    const ps_schedule *named = ps_schedule_find(opts->pp_type);
    if (named != NULL && named != r->schedule) {
        (void)snprintf(notes->said, sizeof notes->said,
                       PS_SAY(lang, "said to be %s, ran like %s", "据称为 %s，实际按 %s 运行"),
                       named->name, r->schedule->name);
    } else if (opts->n_microbatches > 0 && opts->n_microbatches != r->params.n_microbatches) {
        (void)snprintf(notes->said, sizeof notes->said,
                       PS_SAY(lang, "said to have %d microbatches, ran %d",
                              "据称有 %d 个 microbatch，实际运行 %d 个"),
                       opts->n_microbatches, r->params.n_microbatches);
    }
}

/* Of one rank that ran a forward and a backward at most in each step: any schedule does that. */
static bool fits_anything(const ps_chart *chart) {
    size_t n = 0; /* forwards of the step so far */
    bool any = chart->n_ranks == 1;
    for (size_t i = 0; any && i < chart->n_ops; i++) {
        n = i > 0 && chart->ops[i].step != chart->ops[i - 1].step ? 0 : n;
        n += chart->ops[i].kind == PS_OP_F || chart->ops[i].kind == PS_OP_FB;
        any = n < 2;
    }
    return any;
}

/* Chunk, microbatch and label of every op. r->schedule is NULL when the schedule stays unknown. */
static ps_code name_ops(ps_chart *chart, const ps_pipeline_opts *opts, ps_recognised *r,
                        ps_pipeline_notes *notes, ps_err *err) {
    if (opts->is_labelled) {
        *r = (ps_recognised){
            .schedule = ps_schedule_find(opts->pp_type),
            .params = {.n_stages = opts->n_stages, .n_microbatches = opts->n_microbatches}};
        return refine_tail(chart, r, &notes->n_unmarked_weights, err);
    }
    if (fits_anything(chart) && opts->pp_type[0] == '\0') {
        *r = (ps_recognised){.schedule = NULL};
        return PS_OK;
    }
    ps_code code = chart_pipeline_recognise(chart, opts, r, err);
    notes->best = r->schedule;
    notes->best_agreement = 100.0 * ps_recognised_agreement(r);
    if (code != PS_OK || ps_recognised_agreement(r) < PS_MIN_AGREEMENT) {
        r->schedule = NULL;
        return code;
    }
    note_difference(chart->lang, opts, r, notes);
    bool as_said = opts->pp_type[0] != '\0' && ps_schedule_find(opts->pp_type) == r->schedule;
    return ps_apply_schedule(chart, r, as_said ? opts->how : "", &notes->n_missing, err);
}

/* A schedule too large to simulate is no reason to lose what was measured: the chart goes on without links. */
static bool is_too_large(ps_lang lang, const ps_err *why, ps_pipeline_notes *notes) {
    if (why->code == PS_RANGE) {
        (void)snprintf(notes->unlinked, sizeof notes->unlinked, "%s", ps_err_text(lang, why));
        ps_utf8_drop_pieces(notes->unlinked);
    }
    return why->code == PS_RANGE;
}

/* By the schedule; where it is unknown, by what ran itself when the labels name that in full. */
static ps_code connect_chart_pipeline(ps_chart *chart, const ps_recognised *r,
                                      const ps_model_places *places, ps_pipeline_notes *notes,
                                      ps_err *err) {
    ps_err why = PS_ERR_INIT;
    if (r->schedule == NULL && !chart->labels_are_exact) {
        return PS_OK;
    }
    ps_sim_plan *plan = r->schedule != NULL ? ps_sim_plan_new(r->schedule, &r->params, &why)
                                            : ps_measured_plan(chart, places, &why);
    if (plan == NULL && why.code == PS_NOTHING) {
        return PS_OK;
    }
    if (plan == NULL) {
        return is_too_large(chart->lang, &why, notes)
                   ? PS_OK
                   : ps_fail_said(err, why.code, "%s%.0s", "%.0s%s", ps_err_text(PS_ENGLISH, &why),
                                  ps_err_text(PS_CHINESE, &why));
    }
    ps_code code = ps_chart_connect(chart, plan, err);
    ps_sim_plan_free(plan);
    return code;
}

/* Where no gain is told of any other schedule: why. */
static bool say_unlike(ps_chart *chart, const ps_table *replay, int64_t measured_ns) {
    int64_t own_ns = ps_table_cell(replay, 0, ps_table_column(replay, "step time"))->u.i;
    if (ps_replay_is_like(own_ns, measured_ns)) {
        return true;
    }
    char text[256];
    (void)snprintf(
        text, sizeof text,
        PS_SAY(
            chart->lang,
            "The replay of the current schedule (%s) does not fit the measured step of %s: no gain of "
            "another schedule is told.",
            "当前调度的回放（%s）与实测 step（%s）不符：不给出其他调度的收益。"),
        ps_ns_text_of(own_ns).text, ps_ns_text_of(measured_ns).text);
    return ps_chart_set_unreplayed(chart, text);
}

static ps_code add_replay(ps_chart *chart, const ps_recognised *r, const ps_replay_opts *opts,
                          ps_result *result, ps_pipeline_notes *notes, ps_err *err) {
    ps_err why = PS_ERR_INIT;
    ps_table *left_out = NULL;
    ps_table *replay = ps_replay(chart, r, opts, &left_out, &why);
    if (replay != NULL) {
        ps_code code = say_unlike(chart, replay, opts->measured_ns)
                           ? ps_result_add(result, replay, err)
                           : ps_fail_nomem(err);
        if (code == PS_OK && left_out != NULL) {
            return ps_result_add(result, left_out, err);
        }
        ps_table_free(left_out);
        return code;
    }
    return is_too_large(chart->lang, &why, notes)
               ? PS_OK
               : ps_fail_said(err, why.code, "%s%.0s", "%.0s%s", ps_err_text(PS_ENGLISH, &why),
                              ps_err_text(PS_CHINESE, &why));
}

/* Why no other schedule is replayed. One stage alone does the same under every schedule, and is not asked. */
static ps_code say_unreplayed(ps_chart *chart, const ps_recognised *r,
                              const ps_pipeline_notes *notes, ps_err *err) {
    char why[PS_UNRECOGNISED_TEXT];
    if (chart->is_side_by_side) {
        (void)snprintf(why, sizeof why,
                       PS_SAY(chart->lang, "the ranks are no stages of one pipeline",
                              "这些 rank 不是同一流水线的阶段"));
    } else if (notes->unlinked[0] != '\0') {
        (void)snprintf(why, sizeof why, "%s", notes->unlinked);
    } else if (r->schedule == NULL) {
        (void)ps_unrecognised_text(chart->lang, notes->best, notes->best_agreement / 100.0, why);
    } else if (chart->unjudged[0] != '\0') {
        (void)snprintf(why, sizeof why, "%s",
                       PS_SAY(chart->lang, "no bubble is told", "不给出空泡"));
    } else {
        return PS_OK;
    }
    char text[320];
    (void)snprintf(
        text, sizeof text,
        PS_SAY(chart->lang, "No other schedule is replayed: %s.", "未回放其他调度：%s。"), why);
    return ps_chart_set_unreplayed(chart, text) ? PS_OK : ps_fail_nomem(err);
}

/* Unknown where the schedule is, or is too large to simulate. */
static ps_code find_ideal(const ps_chart *chart, const ps_recognised *r, ps_bubble_report *report,
                          ps_err *err) {
    ps_err why = PS_ERR_INIT;
    report->ideal_percent = -1;
    if (r->schedule == NULL || r->params.n_stages < 2) {
        return PS_OK;
    }
    ps_code code = ps_ideal_bubble(chart, r, &report->ideal_percent, &why);
    return code == PS_OK || code == PS_RANGE ? PS_OK : ps_fail(err, code, "%s", why.msg);
}

/* Ops without marks look like idle time where nobody knows what the device did. */
static ps_code find_unmarked(ps_chart *chart, const ps_recognised *r,
                             const ps_pipeline_notes *notes, ps_bubble_report *report,
                             ps_err *err) {
    ps_err why = PS_ERR_INIT;
    if (r->schedule == NULL || notes->n_missing + notes->n_unmarked_weights == 0) {
        return PS_OK;
    }
    ps_code code = ps_unmarked_measure(chart, r, report, &why);
    return code == PS_OK || code == PS_RANGE ? PS_OK : ps_fail(err, code, "%s", why.msg);
}

static ps_code add_chart_pipeline_tables(const ps_chart *chart, const ps_bubble_report *report,
                                         bool in_full, ps_result *result, ps_err *err) {
    ps_code code =
        in_full ? ps_result_add(result, ps_bubble_step_table(chart, report), err) : PS_OK;
    code = code == PS_OK ? ps_result_add(result, ps_bubble_stage_table(chart, report), err) : code;
    return code == PS_OK && in_full
               ? ps_result_add(result, ps_bubble_wait_table(chart, report), err)
               : code;
}

/* Stages of the job that no rank of the chart stands on. */
static size_t count_missing_stages(const ps_chart *chart, int32_t n_stages) {
    size_t n = 0;
    for (int32_t s = 0; s < n_stages && s < PS_MAX_STAGES; s++) {
        bool found = false;
        for (size_t r = 0; r < chart->n_ranks && !found; r++) {
            found = chart->ranks[r].stage == s;
        }
        n += !found;
    }
    return n;
}

/* Ranges of the host hold the wait for their input: it cannot be told from computing. A few such ops are the noise of
 * clocks. An overlapped pair uses its input somewhere inside and is not looked at. */
static size_t count_early(const ps_chart *chart) {
    size_t n_links = 0;
    size_t n_early = 0;
    for (size_t i = 0; i < chart->n_links; i++) {
        const ps_op *from = &chart->ops[chart->links[i].from];
        const ps_op *to = &chart->ops[chart->links[i].to];
        if (ps_op_is_computation(from) && ps_op_is_computation(to) && from->kind != PS_OP_FB &&
            to->kind != PS_OP_FB) {
            n_links++;
            n_early += to->start_ns < from->end_ns;
        }
    }
    return n_early * 20 > n_links ? n_early : 0;
}

/* Ranks that do the same side by side (data-parallel training) fit some schedule nearly, but none waits for the others. */
static ps_code check_tried(const ps_chart *chart, const ps_recognised *r,
                           const ps_pipeline_notes *notes, ps_err *err) {
    if (r->schedule == NULL || chart->n_links == 0) {
        return ps_fail_said(err, PS_NOTHING,
                            "taken as its stages in their order, they fit no known schedule",
                            "按顺序视为各阶段时，不符合任何已知调度");
    }
    if (notes->n_early > 0) {
        return ps_fail_said(
            err, PS_NOTHING,
            "taken as its stages in their order, they do not wait for one another: %zu ops "
            "start before what %s needs has ended",
            "按顺序视为各阶段时，它们并不互相等待：%zu 个算子在 %s 所需的依赖结束之前就已开始",
            notes->n_early, r->schedule->name);
    }
    return PS_OK;
}

/* --- no pipeline at all ---------------------------------------------------------------------------------------- */

/* Nothing of a schedule that the ranks cannot have run stays: names of ops, links, the schedule itself. `before`: the ops
 * without names, [n_ops]. */
static ps_code forget_schedule(ps_chart *chart, const ps_op *before, size_t n_links,
                               bool is_guessed, const ps_side_by_side *beside, ps_err *err) {
    char text[384];
    memcpy(chart->ops, before, chart->n_ops * sizeof *before);
    chart->n_links = n_links;
    chart->is_side_by_side = true;
    (void)snprintf(
        text, sizeof text,
        PS_SAY(
            chart->lang,
            "No bubble is told: these ranks run side by side. %zu of %zu ops begin before what they would need of "
            "another stage is there, which no difference of clocks explains: no pipeline%s.",
            "不给出空泡：这些 rank 并行运行。%zu/%zu 个算子在其所需的其他阶段结果就绪之前就已开始，时钟差异无法解释："
            "它们不构成流水线%s。"),
        beside->n_early, beside->n_ops,
        is_guessed ? PS_SAY(chart->lang, " (give --pp where they are stages all the same)",
                            "（若确为各阶段，请给出 --pp）")
                   : PS_SAY(chart->lang, " of these stages", ""));
    bool ok = ps_chart_set_text(chart, chart->title, "") && ps_chart_set_how(chart, "") &&
              ps_chart_set_unjudged(chart, text);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* Names and links of the schedule, where the ops can have run so. */
static ps_code find_order(ps_chart *chart, const ps_pipeline_opts *opts, ps_recognised *r,
                          ps_pipeline_notes *notes, ps_err *err) {
    size_t n_links = chart->n_links;
    ps_side_by_side beside = {0};
    ps_op *before = ps_realloc_array(NULL, chart->n_ops + 1, sizeof *before);
    if (before == NULL) {
        return ps_fail_nomem(err);
    }
    if (chart->n_ops > 0) {
        memcpy(before, chart->ops, chart->n_ops * sizeof *before);
    }
    ps_code code = name_ops(chart, opts, r, notes, err);
    code = code == PS_OK ? connect_chart_pipeline(chart, r, &opts->places, notes, err) : code;
    if (code == PS_OK && !opts->is_tried && !opts->has_named_stages) {
        code = ps_side_by_side_find(chart, &beside, err);
    }
    if (code == PS_OK && beside.is_so) {
        *r = (ps_recognised){0};
        notes->n_missing = notes->n_unmarked_weights = 0;
        notes->said[0] = '\0';
        code = forget_schedule(chart, before, n_links, opts->n_stages_guessed, &beside, err);
    }
    notes->schedule = r->schedule;
    ps_free(before);
    return code;
}

/* Behind what is said already. */
static bool say_untold_by_capture(ps_chart *chart, const char *why) {
    char text[1024];
    if (why == NULL || why[0] == '\0') {
        return true;
    }
    bool is_first = chart->unjudged[0] == '\0';
    (void)snprintf(
        text, sizeof text, PS_SAY(chart->lang, "%s%s: %s.", "%s%s：%s。"), chart->unjudged,
        is_first ? PS_SAY(chart->lang, "No bubble is told", "不给出空泡")
                 : PS_SAY(chart->lang, " Nor would one be told otherwise", "即便不然也不会给出"),
        why);
    return ps_chart_set_unjudged(chart, text);
}

ps_code ps_pipeline_report(ps_chart *chart, const ps_pipeline_opts *opts, ps_result *result,
                           ps_pipeline_notes *notes, ps_err *err) {
    ps_recognised r = {0};
    ps_bubble_report report;
    *notes = (ps_pipeline_notes){.n_stages_missing = count_missing_stages(chart, opts->n_stages),
                                 .best_agreement = -1};
    chart->n_stages = opts->n_stages;
    ps_code code = find_order(chart, opts, &r, notes, err);
    if (code == PS_OK) {
        code = ps_chart_clocks(chart, &opts->clocks, &notes->clocks, err);
    }
    if (code != PS_OK) {
        return code;
    }
    notes->n_early = count_early(chart);
    code = opts->is_tried ? check_tried(chart, &r, notes, err) : PS_OK;
    if (code != PS_OK) {
        return code;
    }
    if (!say_untold_by_capture(chart, opts->why_no_bubble)) {
        return ps_fail_nomem(err);
    }
    ps_bubble_limits limits = {opts->unexplained_percent > 0 ? opts->unexplained_percent
                                                             : PS_UNEXPLAINED,
                               opts->n_stages, opts->n_stages_guessed, chart->unjudged};
    code = ps_bubble_measure(chart, &limits, &report, err);
    if (code == PS_NOTHING) {
        return PS_OK;
    }
    code = code == PS_OK && opts->in_full ? find_ideal(chart, &r, &report, err) : code;
    code = code == PS_OK ? find_unmarked(chart, &r, notes, &report, err) : code;
    code = code == PS_OK ? add_chart_pipeline_tables(chart, &report, opts->in_full, result, err)
                         : code;
    ps_replay_opts replay = opts->replay;
    replay.pipeline = ps_bubble_longest_pipeline(&report, &replay.measured_ns);
    chart->replayed_pipeline = replay.pipeline;
    chart->replayed_step_ns = replay.measured_ns;
    ps_bubble_report_fini(&report);
    chart->n_unmarked_weights = notes->n_unmarked_weights;
    /* One stage alone does the same under every schedule. */
    bool can_replay = r.schedule != NULL && r.params.n_stages > 1 && notes->unlinked[0] == '\0' &&
                      chart->unjudged[0] == '\0';
    if (code == PS_OK && opts->in_full && can_replay) {
        code = add_replay(chart, &r, &replay, result, notes, err);
    }
    bool has_others = chart->n_ranks > 1 || opts->n_stages > 1;
    return code == PS_OK && opts->in_full && has_others ? say_unreplayed(chart, &r, notes, err)
                                                        : code;
}

void ps_pipeline_notes_count(ps_lang lang, const ps_pipeline_notes *notes, ps_diag *diag) {
    ps_diag_count(diag, PS_ODD_OP_MISSING, notes->n_missing);
    ps_diag_count(diag, PS_ODD_TAIL_UNMARKED, notes->n_unmarked_weights);
    ps_diag_count(diag, PS_ODD_STAGE_MISSING, notes->n_stages_missing);
    ps_diag_count(diag, PS_ODD_CLOCKS, notes->clocks.n_empty);
    ps_diag_count(diag, PS_ODD_CLOCK_RECORDED, notes->clocks.n_disagree);
    ps_diag_count(diag, PS_ODD_EARLY, notes->n_early);
    if (notes->unlinked[0] != '\0') {
        ps_diag_add(diag, PS_ODD_SCHEDULE,
                    PS_SAY(lang, "drawn without links and replay: %s", "没有连线与回放：%s"),
                    notes->unlinked);
    }
    if (notes->said[0] != '\0') {
        ps_diag_add(diag, PS_ODD_SCHEDULE, "%s", notes->said);
    }
}
