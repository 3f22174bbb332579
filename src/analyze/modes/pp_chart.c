/* pp_chart: StepTaskInfo in each rank's database, the chart data that MindStudio Insight draws.
 *
 * Round 1 collects marks, point-to-point operators and metadata of every rank, then settles the job (schedule,
 * microbatches, stages) and pairs operators across ranks. Round 2 labels each rank's marks:
 *   DualPipeV  by alignment with the theoretical list of the rank's stage, step by step;
 *   otherwise  FP or BP by the message, as the reference tool does for every classic pipeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/comm/commop.h"
#include "analyze/comm/p2p.h"
#include "analyze/comm/recorded_clock.h"
#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/pipeline/device_work.h"
#include "analyze/pipeline/host_labels.h"
#include "analyze/pipeline/label.h"
#include "analyze/pipeline/measured_chart.h"
#include "analyze/pipeline/pipeline.h"
#include "analyze/rank/marks.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/num.h"
#include "model/recording.h"
#include "schedule/schedule.h"

typedef struct partial {
    ps_arena arena;
    ps_rank_facts facts;
    ps_mark_list marks;
    ps_p2p_list p2p;
    ps_table *comm_ops;     /* made from marks, or NULL */
    ps_given_label *labels; /* [marks.n], after round 2 */
    ps_intervals rest;      /* work of the device in no mark */
    bool has_work;          /* what the device did is known */
    size_t n_by_schedule, n_aligned, n_by_message, n_outside, n_missing;
    bool from_table; /* marks are the rows of an earlier run's StepTaskInfo */
    bool host_times; /* a recording without a device: its device times are the host's */
    bool stale;      /* has a StepTaskInfo of an earlier run */
    bool failed;     /* round 2 could not place or label the rank */
    bool is_exact;   /* its marks say stage and microbatch themselves */
} partial;

/* What round 1 settled. */
typedef struct plan {
    ps_job job;
    const ps_schedule *schedule; /* DualPipeV, or NULL: classic labels */
    ps_place *places;            /* of the ranks of the run */
    size_t n_places;
    ps_arena arena; /* texts of one that was read */
} plan;

static void free_pp_chart_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_mark_list_fini(&part->marks);
        ps_p2p_list_fini(&part->p2p);
        ps_table_free(part->comm_ops);
        ps_free(part->labels);
        ps_intervals_fini(&part->rest);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

static void free_pp_chart_shared(void *s) {
    plan *pl = s;
    if (pl != NULL) {
        ps_free(pl->places);
        ps_arena_fini(&pl->arena);
        ps_free(pl);
    }
}

/* --- round 1 ----------------------------------------------------------------------------------------- */

static size_t count_host_marks(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += s->kind[i] == PS_SLICE_MARK_HOST;
    }
    return n;
}

static bool was_killed(const ps_trace *trace) {
    return ps_trace_diag(trace)->counts[PS_ODD_KILLED] > 0;
}

/* Why the marks of a rank hold no forward and no backward: a process that ended early had no time for one. */
static ps_code fail_without_passes(const ps_map_input *in, ps_err *err) {
    size_t n = count_host_marks(in->trace);
    if (was_killed(in->trace)) {
        return ps_fail_said(
            err, PS_NOTHING,
            "the process ended (killed, by a signal, _exit) before a forward or backward was done; %zu "
            "marks were recorded until then: record again, and let it run a step",
            "进程在完成任何前向或反向之前就结束了（被 kill、收到信号、_exit）；此前录制了 %zu 个打点：请重新录制，并让它"
            "至少运行一个 step",
            n);
    }
    if (n == 0) {
        return ps_fail_said(
            err, PS_NOTHING,
            "no mstx marks, so nothing says what is a forward and what a backward: set ranges "
            "on a stream and record with mstx (docs/marks.md, docs/recording.md)",
            "没有 mstx 打点，无从得知前向与反向：请在 stream 上设置 range 并开启 mstx 采集（docs/marks.md、"
            "docs/recording.md）");
    }
    return ps_fail_said(
        err, PS_NOTHING,
        "no forward or backward mark with a device side among %zu mstx marks: give the ranges a "
        "stream (docs/marks.md, docs/recording.md)",
        "%zu 个 mstx 打点中没有带设备侧的前向或反向打点：请为 range 指定 stream（docs/marks.md、"
        "docs/recording.md）",
        n);
}

static ps_code collect_comm(const ps_map_input *in, partial *part, ps_err *err) {
    if ((ps_trace_has(in->trace) & PS_HAS_COMM_OPS) != 0) {
        return ps_p2p_collect(in->trace, in->opts, &part->p2p, in->diag, err);
    }
    if (!ps_p2p_list_init(&part->p2p)) {
        return ps_fail_nomem(err);
    }
    return ps_commop_from_marks(in->trace, &part->facts, in->opts, &part->comm_ops, &part->p2p,
                                in->diag, err);
}

static ps_code collect_rank(const ps_map_input *in, partial *part, ps_err *err) {
    uint32_t has = ps_trace_has(in->trace);
    part->stale = (has & PS_HAS_STEP_TASK_INFO) != 0;
    const ps_lang lang = in->opts->lang;
    ps_code code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    if (code == PS_OK) {
        code = collect_comm(in, part, err);
    }
    if (code != PS_OK) {
        return code;
    }
    bool has_labels =
        ps_trace_side_table(in->trace, "StepTaskInfo") != NULL; /* read for a chart only */
    if ((has & PS_HAS_MARKS) == 0 && has_labels) {
        part->from_table = true;
        return ps_marks_from_labels(in->trace, in->opts, &part->marks, in->diag, err);
    }
    if ((has & PS_HAS_MARKS) == 0 && was_killed(in->trace)) {
        return fail_without_passes(in, err);
    }
    if ((has & PS_HAS_MARKS) == 0) {
        return ps_fail(
            err, PS_NOTHING, PS_SAY(lang, "no MSTX_EVENTS: %s", "没有 MSTX_EVENTS：%s"),
            ps_trace_is_recording(in->trace)
                ? PS_SAY(
                      lang,
                      "no range was recorded; pipelines of frameworks are labelled where "
                      "pipescope record starts the program, others by ranges of it "
                      "(docs/recording.md)",
                      "未录制任何 range；由 pipescope record 启动的程序会自动标出框架的流水线，其他程序请自行"
                      "标 range（docs/recording.md）")
                : PS_SAY(lang,
                         "mstx was not enabled when collecting (_ExperimentalConfig(mstx=True))",
                         "采集时未打开 mstx（_ExperimentalConfig(mstx=True)）"));
    }
    bool say_stages = false; /* then the chart command and the report read them as labels */
    code = in->opts->in_full ? ps_host_labels_say_stages(in->trace, &say_stages, err) : PS_OK;
    if (code != PS_OK || say_stages) {
        part->is_exact = say_stages;
        part->stale = part->stale && !say_stages;
        return code != PS_OK ? code
                             : ps_fail(err, PS_NOTHING, "%s",
                                       PS_SAY(lang, "its marks say stage and microbatch themselves",
                                              "其打点已写明阶段与 microbatch"));
    }
    part->host_times = ps_trace_has_host_times(in->trace);
    code = ps_marks_collect(in->trace, in->opts, &part->marks, in->diag, err);
    if (code == PS_OK && part->marks.n_selected == 0 && part->host_times) {
        ps_mark_list_fini(&part->marks);
        code = ps_marks_collect_host(in->trace, in->opts, &part->marks, in->diag, err);
    }
    if (code == PS_NOTHING) {
        part->stale = false; /* no such step: a wrong option is no reason to drop what is there */
    }
    if (code == PS_OK && part->marks.n == 0) {
        return fail_without_passes(in, err);
    }
    return code;
}

static ps_code map_collect(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = collect_rank(in, part, err);
    if (code != PS_OK && code != PS_NOTHING) {
        free_pp_chart_partial(part);
        return code;
    }
    *out = part; /* a rank without marks still has operators, and perhaps a stale table */
    return code;
}

/* The schedule whose labels are given by position; NULL means FP and BP. */
static ps_code choose_schedule(const ps_job *job, const ps_schedule **out, ps_err *err) {
    *out = NULL;
    if (strcasecmp(job->pp_type, "dualpipev") != 0) {
        return PS_OK;
    }
    const ps_schedule *s = ps_schedule_find("dualpipev");
    if (job->n_stages == 0) {
        return ps_fail_said(
            err, PS_RANGE,
            "pp_type is dualpipev, but no rank's metadata says how many stages there are: give --pp",
            "pp_type 为 dualpipev，但没有 rank 的元数据说明有几个阶段：请给出 --pp");
    }
    if (job->n_microbatches == 0) {
        return ps_fail_said(
            err, PS_RANGE,
            "pp_type is dualpipev, but no rank's metadata says how many microbatches there are: give --microbatches",
            "pp_type 为 dualpipev，但没有 rank 的元数据说明有几个 microbatch：请给出 --microbatches");
    }
    if (job->n_stages > INT32_MAX || job->n_microbatches > INT32_MAX) {
        return ps_fail_said(err, PS_RANGE, "too many stages or microbatches",
                            "阶段或 microbatch 过多");
    }
    ps_schedule_params params = {.n_stages = (int32_t)job->n_stages,
                                 .n_microbatches = (int32_t)job->n_microbatches};
    ps_code code = s->check(&params, err);
    if (code != PS_OK) {
        const ps_err why = *err;
        return ps_fail_said(
            err, code,
            "the metadata or options do not fit (mend with --pp, --microbatches or --pp-type): %s%.0s",
            "元数据或选项不符（用 --pp、--microbatches 或 --pp-type 修正）：%.0s%s",
            ps_err_text(PS_ENGLISH, &why), ps_err_text(PS_CHINESE, &why));
    }
    *out = s;
    return PS_OK;
}

static bool any_marks(const ps_reduce_input *in) {
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL && part->marks.n > 0) {
            return true;
        }
    }
    return false;
}

/* Hands the COMMUNICATION_OP tables made from marks to the result; they must come before their pairing. */
static ps_code add_comm_ops(const ps_reduce_input *in, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        if (part != NULL && part->comm_ops != NULL) {
            ps_table *table = part->comm_ops;
            part->comm_ops = NULL;
            table->rank_index = r;
            code = ps_result_add(in->result, table, err);
        }
    }
    return code;
}

static ps_code resolve_pp_chart(const ps_reduce_input *in, plan *pl, ps_err *err) {
    const ps_rank_facts **facts = ps_calloc(in->n_ranks, sizeof *facts);
    ps_p2p_list **lists = ps_calloc(in->n_ranks, sizeof *lists);
    int32_t *pipelines = ps_calloc(in->n_ranks, sizeof *pipelines);
    pl->places = ps_calloc(in->n_ranks, sizeof *pl->places);
    pl->n_places = in->n_ranks;
    ps_code code = PS_OK;
    if (facts == NULL || lists == NULL || pipelines == NULL || pl->places == NULL) {
        code = ps_fail_nomem(err);
    } else {
        for (size_t r = 0; r < in->n_ranks; r++) {
            partial *part = in->partials[r];
            facts[r] = part != NULL ? &part->facts : NULL;
            lists[r] = part != NULL ? &part->p2p : NULL;
        }
        pl->job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        code = ps_job_check(&pl->job, err);
        for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
            pl->places[r] = ps_job_place(&pl->job, in->ranks[r].rank, facts[r]);
            pipelines[r] = pl->places[r].pipeline;
        }
        if (code == PS_OK && any_marks(in)) {
            code = choose_schedule(&pl->job, &pl->schedule, err);
            code = code == PS_OK ? add_comm_ops(in, err) : code;
            code = code == PS_OK ? ps_p2p_pair(lists, pipelines, in, err) : code;
        }
    }
    ps_free(facts);
    ps_free(lists);
    ps_free(pipelines);
    return code;
}

static ps_code reduce_settle(const ps_reduce_input *in, void **shared, ps_err *err) {
    plan *pl = ps_calloc(1, sizeof *pl);
    if (pl == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = resolve_pp_chart(in, pl, err);
    if (code != PS_OK) {
        free_pp_chart_shared(pl);
        return code;
    }
    *shared = pl;
    return PS_OK;
}

/* --- round 2: labels --------------------------------------------------------------------------------- */

/* Classic pipelines know FP and BP only; among the labels of a schedule a weight gradient is told apart. */
static ps_given_label by_message(const ps_mark *mark, bool classic) {
    bool forward = mark->kind == PS_OP_F || mark->kind == PS_OP_FB;
    return (ps_given_label){.name = forward                              ? "FP"
                                    : mark->kind == PS_OP_BW && !classic ? "W"
                                                                         : "BP",
                            .type = forward ? 0 : 1,
                            .source = PS_SOURCE_MESSAGE};
}

static void label_classic(partial *part) {
    for (size_t i = 0; i < part->marks.n; i++) {
        part->labels[i] = by_message(&part->marks.marks[i], true);
    }
}

/* Marks that are or contain a backward, the kind that is never recorded twice or in vain. */
static bool has_pp_chart_backward(ps_op_kind kind) {
    return kind == PS_OP_B || kind == PS_OP_BI || kind == PS_OP_FB || kind == PS_OP_LOGITS;
}

/* The theoretical list, as often as the backwards of one step suggest: a profile without steps holds several
 * iterations in a row. */
static ps_code theory(const plan *pl, int32_t stage, bool overlap_off, bool may_repeat,
                      const ps_mark *marks, size_t n_marks, ps_op_list *out, ps_err *err) {
    ps_schedule_params params = {.n_stages = (int32_t)pl->job.n_stages,
                                 .n_microbatches = (int32_t)pl->job.n_microbatches,
                                 .overlap_off = overlap_off};
    ps_code code = pl->schedule->marks(&params, stage, out, err);
    size_t once = out->n;
    size_t n_ops = 0;
    size_t n_seen = 0;
    for (size_t k = 0; k < once; k++) {
        n_ops += has_pp_chart_backward(out->ops[k].kind);
    }
    for (size_t i = 0; i < n_marks; i++) {
        n_seen += has_pp_chart_backward((ps_op_kind)marks[i].kind);
    }
    size_t times = may_repeat && n_ops > 0 ? (n_seen + n_ops / 2) / n_ops : 1;
    for (size_t t = 1; code == PS_OK && t < times; t++) {
        for (size_t k = 0; code == PS_OK && k < once; k++) {
            ps_sched_op op = out->ops[k];
            code = ps_op_list_add(out, op) ? PS_OK : ps_fail_nomem(err);
        }
    }
    return code;
}

/* One step's marks against both variants of the list (with and without overlapped pairs). */
typedef struct fit {
    ps_op_list list;
    ps_alignment alignment;
} fit;

static void fit_fini(fit *f) {
    ps_op_list_fini(&f->list);
    ps_alignment_fini(&f->alignment);
}

static ps_code fit_variant(const plan *pl, int32_t stage, bool overlap_off, bool may_repeat,
                           const ps_mark *marks, size_t n, fit *out, ps_err *err) {
    *out = (fit){0};
    ps_code code = theory(pl, stage, overlap_off, may_repeat, marks, n, &out->list, err);
    return code == PS_OK ? ps_align(marks, n, &out->list, &out->alignment, err) : code;
}

static ps_code fit_step(const plan *pl, int32_t stage, bool may_repeat, const ps_mark *marks,
                        size_t n, fit *out, bool *overlap_off, ps_err *err) {
    *overlap_off = false;
    ps_code code = fit_variant(pl, stage, false, may_repeat, marks, n, out, err);
    if (code != PS_OK || out->alignment.cost == 0) {
        return code;
    }
    fit other;
    code = fit_variant(pl, stage, true, may_repeat, marks, n, &other, err);
    if (code == PS_OK && other.alignment.cost < out->alignment.cost) {
        fit swap = *out;
        *out = other;
        other = swap;
        *overlap_off = true;
    }
    fit_fini(&other);
    return code;
}

static void report_step(const plan *pl, const ps_mark *marks, const fit *f, bool overlap_off,
                        ps_diag *diag) {
    const ps_alignment *a = &f->alignment;
    long long step = (long long)marks[0].step;
    if (a->n_missing > 0 && a->first_missing != PS_UNLABELLED) {
        char label[64];
        ps_schedule_params params = {.n_stages = (int32_t)pl->job.n_stages,
                                     .n_microbatches = (int32_t)pl->job.n_microbatches,
                                     .overlap_off = overlap_off};
        ps_mark_label(&params, &f->list.ops[a->first_missing], label, sizeof label);
        ps_diag_add(diag, PS_ODD_OP_MISSING, "step %lld: %s (op %u of %zu)", step, label,
                    a->first_missing + 1, f->list.n);
        ps_diag_count(diag, PS_ODD_OP_MISSING, a->n_missing - 1);
    }
    if (a->n_unlabelled > 0) {
        ps_diag_add(diag, PS_ODD_MARK_UNLABELLED, "step %lld: %zu of %zu marks", step,
                    a->n_unlabelled, a->n_unlabelled + a->n_agreeing + a->n_by_kind);
        ps_diag_count(diag, PS_ODD_MARK_UNLABELLED, a->n_unlabelled - 1);
    }
    if (a->n_by_kind > 0) {
        ps_diag_add(diag, PS_ODD_MARK_MICROBATCH, "step %lld: %zu marks", step, a->n_by_kind);
        ps_diag_count(diag, PS_ODD_MARK_MICROBATCH, a->n_by_kind - 1);
    }
}

/* `order` are the indices of one step's marks in start order; `marks` the marks themselves in that order. */
static ps_code label_step(const plan *pl, int32_t stage, bool may_repeat, const ps_mark *marks,
                          const uint32_t *order, size_t n, partial *part, ps_diag *diag,
                          ps_err *err) {
    fit f;
    bool overlap_off = false;
    ps_code code = fit_step(pl, stage, may_repeat, marks, n, &f, &overlap_off, err);
    ps_schedule_params params = {.n_stages = (int32_t)pl->job.n_stages,
                                 .n_microbatches = (int32_t)pl->job.n_microbatches,
                                 .overlap_off = overlap_off};
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        uint32_t op = f.alignment.op_of_mark[i];
        ps_given_label l = by_message(&marks[i], false);
        if (op == PS_UNLABELLED) {
            part->n_by_message++;
        } else {
            char text[64];
            ps_mark_label(&params, &f.list.ops[op], text, sizeof text);
            l.name = ps_arena_strndup(&part->arena, text, strlen(text));
            l.type = f.list.ops[op].phase;
            l.op = f.list.ops[op];
            l.has_op = true;
            l.source = f.alignment.cost == 0 ? PS_SOURCE_MARK : PS_SOURCE_ALIGNED;
            part->n_by_schedule += f.alignment.cost == 0;
            part->n_aligned += f.alignment.cost != 0;
            code = l.name != NULL ? PS_OK : ps_fail_nomem(err);
        }
        part->labels[order[i]] = l;
    }
    if (code == PS_OK) {
        part->n_missing += f.alignment.n_missing;
        report_step(pl, marks, &f, overlap_off, diag);
    }
    fit_fini(&f);
    return code;
}

/* Marks sorted by (step, start), with their places in the rank's list. */
typedef struct by_step {
    ps_mark *marks;
    uint32_t *order;
} by_step;

static int compare_pp_chart_steps(const void *a, const void *b, void *context) {
    const ps_mark *marks = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (marks[x].step != marks[y].step) {
        return marks[x].step < marks[y].step ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool sort_by_step(const ps_mark_list *list, by_step *out) {
    out->marks = ps_calloc(list->n, sizeof *out->marks);
    out->order = ps_calloc(list->n, sizeof *out->order);
    if (out->marks == NULL || out->order == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        out->order[i] = (uint32_t)i;
    }
    qsort_r(out->order, list->n, sizeof *out->order, compare_pp_chart_steps, list->marks);
    for (size_t i = 0; i < list->n; i++) {
        out->marks[i] = list->marks[out->order[i]];
    }
    return true;
}

static ps_code label_by_schedule(const plan *pl, int32_t stage, partial *part, ps_diag *diag,
                                 ps_err *err) {
    by_step sorted = {0};
    ps_code code = sort_by_step(&part->marks, &sorted) ? PS_OK : ps_fail_nomem(err);
    size_t n = part->marks.n;
    for (size_t i = 0; code == PS_OK && i < n;) {
        size_t end = i;
        while (end < n && sorted.marks[end].step == sorted.marks[i].step) {
            end++;
        }
        if (sorted.marks[i].step == PS_STEP_OUTSIDE) {
            for (size_t k = i; k < end; k++) {
                part->labels[sorted.order[k]] = (ps_given_label){.name = "", .left_out = true};
            }
            part->n_outside += end - i;
        } else {
            bool only_step = i == 0 && end == n && sorted.marks[i].step == 0;
            code = label_step(pl, stage, only_step, sorted.marks + i, sorted.order + i, end - i,
                              part, diag, err);
        }
        i = end;
    }
    ps_free(sorted.marks);
    ps_free(sorted.order);
    return code;
}

/* How much of the device's work lies in the marks of steps; of a table and of host times nothing is known. */
static ps_code explain_pp_chart_work(const ps_trace *trace, partial *part, ps_err *err) {
    if (trace == NULL || part->from_table || part->host_times) {
        return PS_OK;
    }
    ps_intervals work = {0};
    ps_explaining e;
    ps_code code = ps_device_work_collect(trace, &work, err);
    ps_explaining_init(&e, &work);
    bool ok = code == PS_OK;
    for (size_t i = 0; ok && i < part->marks.n; i++) {
        const ps_mark *mark = &part->marks.marks[i];
        ok = part->labels[i].left_out ||
             ps_explain_op(&e, mark->start_ns, mark->end_ns, &part->labels[i].work_ns);
    }
    ok = ps_explaining_rest(&e, &part->rest) && ok;
    part->has_work = work.n > 0;
    ps_intervals_fini(&work);
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

/* Ranks with something to write: labels, or the removal of what an earlier run wrote. */
static bool has_labels(const ps_map_input *in) {
    const partial *part = in->partial;
    return part != NULL && (part->marks.n > 0 || part->stale);
}

static ps_code map_label(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = in->partial;
    const plan *pl = in->shared;
    *out = part;
    if (part->marks.n == 0) {
        return PS_OK;
    }
    part->labels = ps_calloc(part->marks.n, sizeof *part->labels);
    if (part->labels == NULL) {
        return ps_fail_nomem(err);
    }
    if (pl->schedule == NULL) {
        label_classic(part);
        return explain_pp_chart_work(in->trace, part, err);
    }
    int32_t stage = ps_job_place(&pl->job, in->rank->rank, &part->facts).stage;
    if (stage < 0 || stage >= pl->job.n_stages) {
        part->failed = true;
        return ps_fail_said(
            err, PS_RANGE,
            "its pipeline stage is unknown (no parallel_group_info, and the sizes do not reach it): give --pp, --tp, --cp, --dp or --order",
            "其流水线阶段未知（没有 parallel_group_info，并行规模也不足以推出）：请给出 --pp、--tp、--cp、--dp 或 --order");
    }
    ps_code code = label_by_schedule(pl, stage, part, in->diag, err);
    code = code == PS_OK ? explain_pp_chart_work(in->trace, part, err) : code;
    part->failed = code != PS_OK; /* some labels are missing: none is written */
    return code;
}

/* --- round 2: tables --------------------------------------------------------------------------------- */

typedef struct task_row {
    const char *name;
    int64_t start_ns, end_ns, type;
} task_row;

static const ps_column STEP_TASK_INFO[] = {
    {.name = "name", PS_FIELD(task_row, name)},
    {.name = "startNs", PS_FIELD(task_row, start_ns), .unit = PS_UNIT_NS},
    {.name = "endNs", PS_FIELD(task_row, end_ns), .unit = PS_UNIT_NS},
    {.name = "type", PS_FIELD(task_row, type)}};

static ps_code add_step_task_info(const ps_reduce_input *in, size_t rank, const partial *part,
                                  ps_err *err) {
    ps_table *t = ps_table_new("StepTaskInfo", "", PS_COLUMNS(STEP_TASK_INFO));
    bool has_labels =
        part->labels != NULL && !part->failed; /* else the table only drops an old one */
    for (size_t i = 0; has_labels && i < part->marks.n; i++) {
        const ps_mark *mark = &part->marks.marks[i];
        if (!part->labels[i].left_out) {
            ps_table_put(t, &(task_row){part->labels[i].name, mark->start_ns, mark->end_ns,
                                        part->labels[i].type});
        }
    }
    t = ps_table_end(t);
    if (t == NULL) {
        return ps_fail_nomem(err);
    }
    t->home = PS_HOME_RANK;
    t->mode = PS_TABLE_REPLACE;
    t->rank_index = rank;
    if (t->n_rows == 0) {
        ps_diag_add(in->diags[rank], PS_ODD_STALE, "StepTaskInfo");
    }
    return ps_result_add(in->result, t, err);
}

typedef struct summary_row {
    int64_t rank, stage, n_steps, n_marks, n_labels, n_aligned, n_by_message, n_left_out, span_ns;
} summary_row;

static const ps_column SUMMARY[] = {
    {.name = "rank", PS_FIELD(summary_row, rank), .is_member = true},
    {.name = "stage", PS_FIELD(summary_row, stage), .unknown_below_zero = true},
    {.name = "steps", PS_FIELD(summary_row, n_steps)},
    {.name = "marks", PS_FIELD(summary_row, n_marks)},
    {.name = "labels", PS_FIELD(summary_row, n_labels)},
    {.name = "aligned", PS_FIELD(summary_row, n_aligned)},
    {.name = "by message", PS_FIELD(summary_row, n_by_message)},
    {.name = "left out", PS_FIELD(summary_row, n_left_out)},
    {.name = "span", PS_FIELD(summary_row, span_ns), .unit = PS_UNIT_NS},
};

/* Distinct steps: on the device they may interleave. False when memory is out. */
static bool count_pp_chart_steps(const partial *part, int64_t *n_steps) {
    size_t n = part->marks.n;
    int64_t *steps = ps_calloc(n, sizeof *steps);
    *n_steps = 0;
    if (steps == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        steps[i] = part->marks.marks[i].step;
    }
    qsort(steps, n, sizeof *steps, ps_compare_i64);
    for (size_t i = 0; i < n; i++) {
        *n_steps += steps[i] != PS_STEP_OUTSIDE && (i == 0 || steps[i] != steps[i - 1]);
    }
    ps_free(steps);
    return true;
}

static void put_summary_row(ps_table *t, const ps_reduce_input *in, const plan *pl, size_t r) {
    const partial *part = in->partials[r];
    const ps_mark_list *marks = &part->marks;
    bool classic = pl->schedule == NULL;
    int64_t end = marks->marks[0].end_ns;
    for (size_t i = 1; i < marks->n; i++) {
        end = marks->marks[i].end_ns > end ? marks->marks[i].end_ns : end;
    }
    summary_row row = {.rank = in->ranks[r].rank,
                       .stage = pl->places[r].stage,
                       .n_marks = (int64_t)marks->n_selected,
                       .n_labels =
                           (int64_t)(classic ? marks->n : part->n_by_schedule + part->n_aligned),
                       .n_aligned = (int64_t)part->n_aligned,
                       .n_by_message = (int64_t)part->n_by_message,
                       .n_left_out = (int64_t)(marks->n_selected - marks->n + part->n_outside),
                       .span_ns = end - marks->marks[0].start_ns};
    if (!count_pp_chart_steps(part, &row.n_steps)) {
        ps_table_fail(t);
    }
    ps_table_put(t, &row);
}

static ps_code add_summary(const ps_reduce_input *in, const plan *pl, ps_err *err) {
    ps_table *t = ps_table_new("PPChart", "marks and their labels", PS_COLUMNS(SUMMARY));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL && part->labels != NULL && !part->failed) {
            put_summary_row(t, in, pl, r);
        }
    }
    return ps_result_add(in->result, t, err);
}

/* --- round 2: the chart ------------------------------------------------------------------------------ */

static bool in_chart(const ps_reduce_input *in, const plan *pl, size_t r) {
    const partial *part = in->partials[r];
    return part != NULL && part->labels != NULL && !part->failed && pl->places[r].stage >= 0;
}

/* What a reader of the chart and the bubble must know, on the first rank of the chart. */
static void note_pipeline(const ps_reduce_input *in, const plan *pl,
                          const ps_pipeline_notes *notes) {
    ps_diag *diag = NULL;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL && part->labels != NULL && !part->failed && pl->places[r].stage < 0) {
            ps_diag_count(in->diags[r], PS_ODD_STAGE_UNKNOWN, 1);
        }
        diag = diag == NULL && in_chart(in, pl, r) ? in->diags[r] : diag;
    }
    if (diag == NULL || ps_result_charted(in) != NULL) {
        return; /* another chart is shown */
    }
    ps_pipeline_notes_count(in->opts->lang, notes, diag);
    if (notes->said[0] == '\0' && pl->schedule == NULL && notes->schedule != NULL &&
        strcmp(notes->schedule->name, "dualpipev") == 0) {
        ps_diag_count(diag, PS_ODD_SCHEDULE_HINT, 1);
    }
}

/* As the files lie, else as the recordings say. */
static bool number_pp_chart_machines(const ps_reduce_input *in, ps_measured_rank *ranks) {
    int32_t *machines = ps_calloc(in->n_ranks, sizeof *machines);
    const ps_recorded_clock **clocks = ps_calloc(in->n_ranks, sizeof *clocks);
    bool ok = machines != NULL && clocks != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        machines[r] = in->ranks[r].machine;
        clocks[r] = part != NULL ? &part->facts.clock : NULL;
    }
    ok = ok && ps_recorded_machines(clocks, in->n_ranks, machines);
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        ranks[r].machine = machines[r];
        ranks[r].clock = clocks[r] != NULL ? *clocks[r] : (ps_recorded_clock){0};
    }
    ps_free(machines);
    ps_free(clocks);
    return ok;
}

/* Where times are not what they are taken for, the chart says so. */
static bool say_times(const ps_reduce_input *in, const plan *pl) {
    size_t n_drawn = 0;
    bool host_times = false;
    for (size_t r = 0; r < in->n_ranks; r++) {
        if (in_chart(in, pl, r)) {
            n_drawn++;
            host_times = host_times || ((const partial *)in->partials[r])->host_times;
        }
    }
    const ps_lang lang = in->result->chart->lang;
    return !host_times ||
           ps_chart_set_labels(
               in->result->chart,
               n_drawn == 1 && in->n_ranks == 1
                   ? PS_SAY(lang,
                            "marks; host times: no device in the trace; one process, one stage",
                            "打点；主机时间：数据中没有设备；单进程、单阶段")
                   : PS_SAY(lang, "marks; host times: no device in the trace",
                            "打点；主机时间：数据中没有设备"));
}

static ps_code add_pp_chart(const ps_reduce_input *in, const plan *pl, ps_err *err) {
    ps_measured_rank *ranks = ps_calloc(in->n_ranks, sizeof *ranks);
    if (ranks == NULL) {
        return ps_fail_nomem(err);
    }
    if (!number_pp_chart_machines(in, ranks)) {
        ps_free(ranks);
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        ranks[r].rank = in->ranks[r].rank;
        ranks[r].place = pl->places[r];
        if (in_chart(in, pl, r)) {
            ranks[r].marks = &part->marks;
            ranks[r].labels = part->labels;
            ranks[r].rest = part->has_work ? &part->rest : NULL;
            ranks[r].p2p = &part->p2p;
            ranks[r].from_table = part->from_table;
        }
    }
    in->result->chart =
        ps_measured_chart(ranks, in->n_ranks, pl->schedule == NULL, in->opts->lang, err);
    ps_free(ranks);
    if (in->result->chart == NULL) {
        return err != NULL ? err->code : PS_NOMEM;
    }
    bool known = pl->job.pp_type[0] != '\0';
    bool labelled = pl->schedule != NULL;
    ps_pipeline_opts opts = {
        .pp_type = labelled ? pl->schedule->name : pl->job.pp_type,
        .how = !known                      ? ""
               : in->opts->pp_type != NULL ? PS_SAY(in->opts->lang, "as given", "按指定")
                                           : PS_SAY(in->opts->lang, "from metadata", "来自元数据"),
        .n_stages = (int32_t)pl->job.n_stages,
        .n_microbatches = (int32_t)pl->job.n_microbatches,
        .is_labelled = labelled,
        .unexplained_percent = (double)in->opts->unexplained,
        .in_full = in->opts->in_full,
        .clocks = {.each_rank = in->opts->clocks == PS_CLOCKS_ALL, .use = in->opts->clocks},
        .replay = {.max_activations = in->opts->max_activations}};
    if (!ps_chart_set_text(in->result->chart, "", opts.pp_type) ||
        !ps_chart_set_how(in->result->chart, opts.how) || !say_times(in, pl)) {
        return ps_fail_nomem(err);
    }
    ps_pipeline_notes notes;
    ps_code code = ps_pipeline_report(in->result->chart, &opts, in->result, &notes, err);
    if (code == PS_OK) {
        note_pipeline(in, pl, &notes);
    }
    return code;
}

/* Then a chart of marks that are told by their order would leave out the ranks whose marks say more: it is for pp_labels to draw. */
static bool any_is_exact(const ps_reduce_input *in) {
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL && part->is_exact) {
            return true;
        }
    }
    return false;
}

static ps_code reduce_tables(const ps_reduce_input *in, void **shared, ps_err *err) {
    const plan *pl = in->shared;
    *shared = in->shared;
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        bool has_rows = part != NULL && part->labels != NULL && !part->failed;
        if (part != NULL && (has_rows || part->stale)) {
            code = add_step_task_info(in, r, part, err);
        }
    }
    code = code == PS_OK ? add_summary(in, pl, err) : code;
    return code == PS_OK && !any_is_exact(in) ? add_pp_chart(in, pl, err) : code;
}

/* --- as bytes ------------------------------------------------------------------------------------------ */

static void archive_pp_chart_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x == NULL) {
        return;
    }
    (void)ps_archive_use_arena(a, &x->arena);
    ps_rank_facts_archive(a, &x->facts);
    ps_mark_list_archive(a, &x->marks);
    ps_p2p_list_archive(a, &x->p2p);
    ps_table_archive(a, &x->comm_ops);
    PS_ARCHIVE_ARRAY_OF(a, x, labels, x->marks.n, ps_given_label_archive);
    ps_intervals_archive(a, &x->rest);
    PS_ARCHIVE(a, x, has_work, n_by_schedule, n_aligned, n_by_message, n_outside, n_missing,
               from_table, host_times, stale, failed, is_exact);
}

static void archive_pp_chart_shared(ps_archive *a, void **shared) {
    plan *x = ps_archive_object(a, shared, sizeof *x);
    if (x == NULL) {
        return;
    }
    const char *schedule = x->schedule != NULL ? x->schedule->name : NULL;
    (void)ps_archive_use_arena(a, &x->arena);
    ps_job_archive(a, &x->job);
    ps_archive_text(a, &schedule);
    PS_ARCHIVE_ARRAY(a, x, places, n_places, ps_place_archive);
    if (ps_archive_is_reading(a) && schedule != NULL) {
        x->schedule = ps_schedule_find(schedule);
        if (x->schedule == NULL) {
            ps_archive_refuse(a, "schedule");
        }
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |
              PS_NEED_COMM_MARKS | PS_NEED_LABELS,
     .map = map_collect,
     .reduce = reduce_settle},
    {.needs = 0,
     .needs_in_full = PS_NEED_META | PS_NEED_STEPS | PS_NEED_DEVICE_SPANS,
     .wants = has_labels,
     .map = map_label,
     .reduce = reduce_tables}};

const ps_analysis ps_analysis_pp_chart = {
    .name = "pp_chart",
    .folder = "PPChart",
    .summary = "label forward and backward marks: StepTaskInfo of each rank, and the chart",
    .writes = PS_WRITES_RANK_DB,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_pp_chart_partial,
    .archive = archive_pp_chart_partial,
    .archive_shared = archive_pp_chart_shared,
    .free_shared = free_pp_chart_shared,
};
