#include "analyze/pipeline/bubble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "model/chart_groups.h"

typedef struct measuring {
    ps_chart *chart;
    ps_bubble_report *out;
    ps_chart_groups groups;
    uint32_t *previous;  /* [n_ops] the op before it on its rank and step, PS_NO_INDEX */
    uint32_t *by_target; /* rows in links, by the op they lead to */
    size_t *first_link;  /* [n_ops + 1] */
    size_t *first_work;  /* [n_ranks + 1] of the rank's unexplained work in chart->works */
    bool *is_on_path;    /* [n_ops] on the critical path of its step */
    ps_idmap linked;     /* input_key() of ops that need something of another */
    size_t *usual;       /* [n_ranks] passes of a step (ps_chart_usual_passes) */
} measuring;

static bool chain_ops(measuring *m) {
    m->previous = ps_calloc(m->chart->n_ops, sizeof *m->previous);
    m->is_on_path = ps_calloc(m->chart->n_ops, sizeof *m->is_on_path);
    if (m->previous == NULL || m->is_on_path == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->chart->n_ops; i++) {
        m->previous[i] = PS_NO_INDEX;
    }
    for (size_t g = 0; g < m->chart->n_ranks * m->groups.n_steps; g++) {
        for (size_t k = m->groups.first[g] + 1; k < m->groups.first[g + 1]; k++) {
            m->previous[m->groups.order[k]] = m->groups.order[k - 1];
        }
    }
    return true;
}

/* Links by the op they lead to. */
static bool group_links(measuring *m) {
    const ps_chart *c = m->chart;
    m->by_target = ps_calloc(c->n_links, sizeof *m->by_target);
    m->first_link = ps_calloc(c->n_ops + 2, sizeof *m->first_link);
    if (m->by_target == NULL || m->first_link == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_links; i++) {
        m->first_link[c->links[i].to + 2]++;
    }
    for (size_t i = 2; i < c->n_ops + 2; i++) {
        m->first_link[i] += m->first_link[i - 1];
    }
    for (size_t i = 0; i < c->n_links; i++) {
        m->by_target[m->first_link[c->links[i].to + 1]++] = (uint32_t)i;
    }
    return true;
}

/* Unexplained work by rank; the chart has it grouped. */
static bool find_works(measuring *m) {
    const ps_chart *c = m->chart;
    m->first_work = ps_calloc(c->n_ranks + 1, sizeof *m->first_work);
    if (m->first_work == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_works; i++) {
        m->first_work[c->works[i].rank + 1]++;
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        m->first_work[r + 1] += m->first_work[r];
    }
    return true;
}

static bool find_usual_passes(measuring *m) {
    m->usual = ps_calloc(m->chart->n_ranks + 1, sizeof *m->usual);
    return m->usual != NULL && ps_chart_usual_passes(&m->groups, m->chart, m->usual);
}

/* The op on another stage whose result came last, of those this op needs; PS_NO_INDEX when none is known. */
static uint32_t latest_input(const measuring *m, uint32_t op) {
    const ps_chart *c = m->chart;
    uint32_t latest = PS_NO_INDEX;
    for (size_t k = m->first_link[op]; k < m->first_link[op + 1]; k++) {
        uint32_t from = c->links[m->by_target[k]].from;
        if (ps_op_is_computation(&c->ops[from]) &&
            (latest == PS_NO_INDEX || c->ops[from].end_ns > c->ops[latest].end_ns)) {
            latest = from;
        }
    }
    return latest;
}

/* Ops that need the same of others: those of a rank, kind and model piece. */
static uint64_t input_key(const ps_op *op) {
    return (uint64_t)op->rank << 16 | (uint64_t)op->kind << 8 | (uint8_t)op->chunk;
}

static bool note_linked(measuring *m) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->chart->n_ops; i++) {
        ok = latest_input(m, i) == PS_NO_INDEX ||
             ps_idmap_put(&m->linked, input_key(&m->chart->ops[i]), 1);
    }
    return ok;
}

/* Others like it need something, so that what this one needs was lost. */
static bool is_input_lost(const measuring *m, uint32_t op) {
    return latest_input(m, op) == PS_NO_INDEX &&
           ps_idmap_get(&m->linked, input_key(&m->chart->ops[op])) != PS_IDMAP_NONE;
}

/* --- one stage in one step ----------------------------------------------------------------------------------- */

/* Stall time for other stages, to name the one waited for most. */
typedef struct waits {
    int64_t *by_stage; /* [n_by_stage] */
    size_t n_by_stage;
    bool is_part_known; /* of the step in hand: nobody knows of all ops what they need */
    bool is_input_lost; /* of the op in hand */
} waits;

/* Idle time in the middle of the stage's ops, before `op`. */
static void count_stall(measuring *m, ps_stage_bubble *s, uint32_t waits_for, int64_t from_ns,
                        int64_t to_ns, waits *w) {
    const ps_chart *c = m->chart;
    s->stall_ns += to_ns - from_ns;
    if (waits_for == PS_NO_INDEX) {
        *(w->is_part_known || w->is_input_lost ? &s->stall_absent_ns : &s->stall_other_ns) +=
            to_ns - from_ns;
        return;
    }
    int64_t ready_ns = c->ops[waits_for].end_ns;
    ready_ns = ready_ns < from_ns ? from_ns : ready_ns > to_ns ? to_ns : ready_ns;
    s->stall_stage_ns += ready_ns - from_ns;
    s->stall_transfer_ns += to_ns - ready_ns;
    int32_t stage = c->ranks[c->ops[waits_for].rank].stage;
    if (stage >= 0 && (size_t)stage < w->n_by_stage) {
        w->by_stage[stage] += ready_ns - from_ns;
        if (w->by_stage[stage] > s->waits_for_ns) {
            s->waits_for_ns = w->by_stage[stage];
            s->waits_for_stage = stage;
        }
    }
}

/* The device does nothing from `from_ns` to `to_ns`. False when memory is out. */
static bool add_bubble_idle(measuring *m, ps_stage_bubble *s, int64_t from_ns, int64_t to_ns,
                            ps_bubble_cause cause, uint32_t waits_for, waits *w) {
    if (to_ns <= from_ns) {
        return true;
    }
    if (cause == PS_BUBBLE_STALL) {
        count_stall(m, s, waits_for, from_ns, to_ns, w);
    } else if (cause == PS_BUBBLE_WARMUP) {
        s->warmup_ns += to_ns - from_ns;
    } else {
        s->cooldown_ns += to_ns - from_ns;
    }
    return ps_chart_add_bubble(m->chart, (ps_bubble){.start_ns = from_ns,
                                                     .end_ns = to_ns,
                                                     .step = s->step,
                                                     .rank = s->rank,
                                                     .waits_for = waits_for,
                                                     .cause = (uint8_t)cause});
}

/* No op from `from_ns` to `to_ns`: what of it the device works is other work, the rest is idle. *at moves on over the
 * rank's unexplained work, which ends before later gaps. */
static bool add_bubble_gap(measuring *m, ps_stage_bubble *s, int64_t from_ns, int64_t to_ns,
                           ps_bubble_cause cause, uint32_t waits_for, size_t *at, waits *w) {
    const ps_chart *c = m->chart;
    size_t end = m->first_work[s->rank + 1];
    bool ok = true;
    while (*at < end && c->works[*at].end_ns <= from_ns) {
        (*at)++;
    }
    for (size_t i = *at; ok && i < end && c->works[i].start_ns < to_ns && from_ns < to_ns; i++) {
        int64_t start_ns = c->works[i].start_ns > from_ns ? c->works[i].start_ns : from_ns;
        int64_t end_ns = c->works[i].end_ns < to_ns ? c->works[i].end_ns : to_ns;
        ok = add_bubble_idle(m, s, from_ns, start_ns, cause, waits_for, w);
        if (end_ns > start_ns) {
            s->other_ns += end_ns - start_ns;
            ok = ok &&
                 ps_chart_add_other(m->chart, (ps_chart_other){start_ns, end_ns, s->step, s->rank});
        }
        from_ns = end_ns > from_ns ? end_ns : from_ns;
    }
    return ok && add_bubble_idle(m, s, from_ns, to_ns, cause, waits_for, w);
}

/* The passes of a stage's `n` ops: rows in `order`. A stage without any has all of its ops between them. */
typedef struct pass_range {
    size_t first, last;
} pass_range;

static pass_range find_passes(const ps_op *ops, const uint32_t *order, size_t n) {
    pass_range passes = {.first = n, .last = n - 1};
    for (size_t k = 0; k < n; k++) {
        if (ps_op_is_pass(&ops[order[k]])) {
            passes.first = passes.first < n ? passes.first : k;
            passes.last = k;
        }
    }
    passes.first = passes.first < n ? passes.first : 0;
    return passes;
}

/* The last forward and the last backward of a stage so far; NULL none. */
typedef struct last_passes {
    const ps_op *forward, *backward;
} last_passes;

/* Less than a tenth of the shorter one in common is a difference of clocks, as in pictures (tiersOf in web/src/pipeline/rows.ts). */
static int64_t passes_common_ns(const ps_op *before, const ps_op *op) {
    if (before == NULL || before->end_ns <= op->start_ns) {
        return 0;
    }
    int64_t end_ns = before->end_ns < op->end_ns ? before->end_ns : op->end_ns;
    int64_t took_ns = op->end_ns - op->start_ns;
    int64_t took_before_ns = before->end_ns - before->start_ns;
    int64_t shorter_ns = took_ns < took_before_ns ? took_ns : took_before_ns;
    return end_ns - op->start_ns > shorter_ns / 10 ? end_ns - op->start_ns : 0;
}

/* For how long a forward and a backward run at once from the start of `op` on: a pair, or the one beside the other. */
static int64_t overlapped_by(const ps_op *op, last_passes *last) {
    if (op->kind == PS_OP_FB) {
        return op->end_ns - op->start_ns;
    }
    if (!ps_op_is_pass(op)) {
        return 0;
    }
    bool is_forward = op->kind == PS_OP_F;
    const ps_op **own = is_forward ? &last->forward : &last->backward;
    int64_t ns = passes_common_ns(is_forward ? last->backward : last->forward, op);
    *own = *own == NULL || op->end_ns > (*own)->end_ns ? op : *own;
    return ns;
}

/* Walks the stage's ops in the window [start, start + length) of the step. */
static bool measure_bubble_stage(measuring *m, size_t group, int64_t start_ns, int64_t length_ns,
                                 waits *w, ps_stage_bubble *s) {
    const ps_op *ops = m->chart->ops;
    const uint32_t *order = m->groups.order + m->groups.first[group];
    size_t n = m->groups.first[group + 1] - m->groups.first[group];
    pass_range passes = find_passes(ops, order, n);
    memset(w->by_stage, 0, w->n_by_stage * sizeof *w->by_stage);
    s->n_ops = n;
    s->is_judged = true;
    s->step_ns = length_ns;
    s->waits_for_stage = -1;
    s->first_ns = ops[order[passes.first]].start_ns;
    size_t work = m->first_work[s->rank];
    int64_t end_ns = start_ns; /* of all ops so far */
    last_passes last = {0};
    bool ok = true;
    for (size_t k = 0; ok && k < n; k++) {
        const ps_op *op = &ops[order[k]];
        s->work_ns += op->work_ns;
        s->overlapped_ns += overlapped_by(op, &last);
        if (op->start_ns > end_ns) {
            uint32_t waits_for = latest_input(m, order[k]);
            w->is_input_lost = is_input_lost(m, order[k]);
            ok = add_bubble_gap(m, s, end_ns, op->start_ns,
                                ps_bubble_cause_before(k, passes.first, passes.last), waits_for,
                                &work, w);
            end_ns = op->start_ns;
        }
        if (op->end_ns > end_ns) {
            s->busy_ns += op->end_ns - end_ns;
            end_ns = op->end_ns;
        }
        s->last_ns = k <= passes.last ? end_ns : s->last_ns;
    }
    ok = ok && add_bubble_gap(m, s, end_ns, start_ns + length_ns,
                              ps_bubble_cause_before(n, passes.first, passes.last), PS_NO_INDEX,
                              &work, w);
    s->overlapped_ns = s->overlapped_ns < s->busy_ns ? s->overlapped_ns : s->busy_ns;
    s->work_ns += s->other_ns;
    s->bubble_ns = length_ns - s->busy_ns - s->other_ns;
    return ok;
}

/* --- one step of one pipeline --------------------------------------------------------------------------------- */

/* Of the op before `op` on its rank and the input it needs, the one that ended last; PS_NO_INDEX at the end of the path.
 * An input that seems to end after the op started was needed all the same: the clocks differ, or the op holds its waiting. The op
 * before it may run on beside it, and counts as ended when it started. */
static uint32_t path_before(const measuring *m, uint32_t op) {
    const ps_op *ops = m->chart->ops;
    uint32_t before = m->previous[op];
    uint32_t input = latest_input(m, op);
    bool is_followed = input != PS_NO_INDEX && !m->is_on_path[input] &&
                       m->groups.step_of_op[input] == m->groups.step_of_op[op];
    if (!is_followed || before == PS_NO_INDEX) {
        return is_followed ? input : before;
    }
    int64_t before_ns =
        ops[before].end_ns < ops[op].start_ns ? ops[before].end_ns : ops[op].start_ns;
    return ops[input].end_ns > before_ns ? input : before;
}

/* Where the part of the path ends that runs up to `at_ns` in `op`: an op computes from the end of its input. */
static int64_t path_start(const measuring *m, uint32_t op, uint32_t next, int64_t at_ns) {
    const ps_op *ops = m->chart->ops;
    int64_t from_ns = ops[op].start_ns;
    if (next != PS_NO_INDEX && next != m->previous[op] && ops[next].end_ns > from_ns) {
        from_ns = ops[next].end_ns;
    }
    return from_ns < at_ns ? from_ns : at_ns;
}

/* From the op that ends last back to the step's first one; what is computed and what is waited are the whole of it. False when
 * memory is out. */
static bool walk_critical_path(const measuring *m, ps_step_bubble *step, ps_stage_bubble *stages,
                               const uint32_t *stage_of_rank, uint32_t last) {
    const ps_op *ops = m->chart->ops;
    uint32_t op = last;
    int64_t at_ns = ops[last].end_ns; /* all later is counted */
    bool ok = true;
    while (ok && op != PS_NO_INDEX) {
        m->is_on_path[op] = true;
        ok = !m->out->is_linked || ps_chart_add_path(m->chart, op);
        uint32_t next = path_before(m, op);
        int64_t from_ns = path_start(m, op, next, at_ns);
        step->critical_compute_ns += at_ns - from_ns;
        stages[stage_of_rank[ops[op].rank]].critical_ns += at_ns - from_ns;
        int64_t ended_ns = next != PS_NO_INDEX ? ops[next].end_ns : step->start_ns;
        at_ns = ended_ns < from_ns ? ended_ns : from_ns;
        step->critical_wait_ns += from_ns - at_ns;
        op = next;
    }
    return ok;
}

typedef struct window {
    int64_t start_ns, end_ns;
    uint32_t last; /* op that ends last */
    size_t n_ranks;
} window;

/* Ranks of a pipeline that have ops in the step. */
static window find_window(const measuring *m, int32_t pipeline, size_t step) {
    const ps_chart *c = m->chart;
    window w = {INT64_MAX, INT64_MIN, PS_NO_INDEX, 0};
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        size_t g = ps_chart_group(&m->groups, r, step);
        if (c->ranks[r].pipeline != pipeline || m->groups.first[g] == m->groups.first[g + 1]) {
            continue;
        }
        w.n_ranks++;
        for (size_t k = m->groups.first[g]; k < m->groups.first[g + 1]; k++) {
            const ps_op *op = &c->ops[m->groups.order[k]];
            w.start_ns = op->start_ns < w.start_ns ? op->start_ns : w.start_ns;
            if (op->end_ns > w.end_ns) {
                w.end_ns = op->end_ns;
                w.last = m->groups.order[k];
            }
        }
    }
    return w;
}

static int compare_stages(const void *a, const void *b, void *context) {
    const ps_chart *c = context;
    const ps_chart_rank *x = &c->ranks[((const ps_stage_bubble *)a)->rank];
    const ps_chart_rank *y = &c->ranks[((const ps_stage_bubble *)b)->rank];
    if (x->stage != y->stage) {
        return x->stage < y->stage ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* What the step lacks, or has beyond, of its ranks' usual passes. */
static void count_passes_apart(const measuring *m, size_t step_row, ps_step_bubble *step) {
    const ps_chart *c = m->chart;
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        if (c->ranks[r].pipeline == step->pipeline) {
            size_t n = ps_chart_group_n_passes(&m->groups, c, r, step_row);
            step->n_fewer += n < m->usual[r] ? m->usual[r] - n : 0;
            step->n_more += n > m->usual[r] ? n - m->usual[r] : 0;
        }
    }
}

/* Whether some stage has no op of the pipeline's step. */
static bool is_stage_absent(const measuring *m, int32_t pipeline, size_t step_row, waits *w) {
    const ps_chart *c = m->chart;
    size_t n = 0;
    memset(w->by_stage, 0, w->n_by_stage * sizeof *w->by_stage);
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        size_t g = ps_chart_group(&m->groups, r, step_row);
        int32_t stage = c->ranks[r].stage;
        bool is_here = c->ranks[r].pipeline == pipeline && stage >= 0 &&
                       (size_t)stage < w->n_by_stage && m->groups.first[g] < m->groups.first[g + 1];
        if (is_here && w->by_stage[stage] == 0) {
            w->by_stage[stage] = 1;
            n++;
        }
    }
    return n < w->n_by_stage || (c->n_stages > 0 && n < (size_t)c->n_stages);
}

static bool measure_step(measuring *m, int32_t pipeline, size_t step_row, waits *w,
                         uint32_t *stage_of_rank) {
    ps_chart *c = m->chart;
    window win = find_window(m, pipeline, step_row);
    if (win.n_ranks == 0) {
        return true;
    }
    ps_step_bubble *step = &m->out->steps[m->out->n_steps++];
    *step = (ps_step_bubble){.step = m->groups.steps[step_row],
                             .pipeline = pipeline,
                             .start_ns = win.start_ns,
                             .step_ns = win.end_ns - win.start_ns,
                             .first_stage = m->out->n_stages,
                             .is_judged = true,
                             .n_stages = win.n_ranks};
    count_passes_apart(m, step_row, step);
    step->is_part_known = step->n_more > 0 || is_stage_absent(m, pipeline, step_row, w);
    w->is_part_known = step->is_part_known;
    ps_stage_bubble *stages = m->out->stages + m->out->n_stages;
    m->out->n_stages += win.n_ranks;
    size_t n = 0;
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        size_t g = ps_chart_group(&m->groups, r, step_row);
        if (c->ranks[r].pipeline == pipeline && m->groups.first[g] < m->groups.first[g + 1]) {
            stages[n] = (ps_stage_bubble){.step = step->step, .rank = r};
            if (!measure_bubble_stage(m, g, win.start_ns, step->step_ns, w, &stages[n++])) {
                return false;
            }
        }
    }
    qsort_r(stages, n, sizeof *stages, compare_stages, c);
    int64_t most = -1;
    for (size_t i = 0; i < n; i++) {
        stage_of_rank[stages[i].rank] = (uint32_t)i;
        if (stages[i].busy_ns > most) {
            most = stages[i].busy_ns;
            step->slowest = stages[i].rank;
        }
    }
    return walk_critical_path(m, step, stages, stage_of_rank, win.last);
}

/* --- all together ---------------------------------------------------------------------------------------------- */

/* Distinct pipelines in ascending order. */
static size_t list_pipelines(const ps_chart *c, int64_t *out) {
    size_t n = 0;
    for (size_t r = 0; r < c->n_ranks; r++) {
        out[r] = c->ranks[r].pipeline;
    }
    qsort(out, c->n_ranks, sizeof *out, ps_compare_i64);
    for (size_t r = 0; r < c->n_ranks; r++) {
        if (n == 0 || out[r] != out[n - 1]) {
            out[n++] = out[r];
        }
    }
    return n;
}

static bool measure_all_bubble(measuring *m) {
    ps_chart *c = m->chart;
    waits w = {.n_by_stage = 0};
    for (size_t r = 0; r < c->n_ranks; r++) {
        if (c->ranks[r].stage >= 0 && (size_t)c->ranks[r].stage >= w.n_by_stage &&
            c->ranks[r].stage < 1 << 20) {
            w.n_by_stage = (size_t)c->ranks[r].stage + 1;
        }
    }
    int64_t *pipelines = ps_calloc(c->n_ranks, sizeof *pipelines);
    uint32_t *stage_of_rank = ps_calloc(c->n_ranks, sizeof *stage_of_rank);
    w.by_stage = ps_calloc(w.n_by_stage, sizeof *w.by_stage);
    m->out->stages = ps_calloc(c->n_ranks * m->groups.n_steps, sizeof *m->out->stages);
    bool ok =
        pipelines != NULL && stage_of_rank != NULL && w.by_stage != NULL && m->out->stages != NULL;
    size_t n_pipelines = ok ? list_pipelines(c, pipelines) : 0;
    m->out->steps = ps_calloc(n_pipelines * m->groups.n_steps, sizeof *m->out->steps);
    ok = ok && m->out->steps != NULL;
    for (size_t s = 0; ok && s < m->groups.n_steps; s++) {
        for (size_t p = 0; ok && p < n_pipelines; p++) {
            ok = measure_step(m, (int32_t)pipelines[p], s, &w, stage_of_rank);
        }
    }
    ps_free(pipelines);
    ps_free(stage_of_rank);
    ps_free(w.by_stage);
    return ok;
}

/* --- what is told ------------------------------------------------------------------------------------------------- */

/* Pipelines without a bubble, and the rank that most speaks against it. */
typedef struct telling {
    const ps_bubble_limits *limits;
    int64_t *work_ns, *other_ns; /* [n_ranks] over all steps */
    bool *is_untold;             /* [n_pipelines] */
    size_t n_pipelines, n_unexplained, n_alone;
    double worst_percent;
    int32_t worst_rank;
} telling;

static void sum_work(const ps_bubble_report *r, telling *t) {
    for (size_t i = 0; i < r->n_stages; i++) {
        const ps_stage_bubble *s = &r->stages[i];
        t->work_ns[s->rank] = ps_i64_plus(t->work_ns[s->rank], s->work_ns);
        t->other_ns[s->rank] = ps_i64_plus(t->other_ns[s->rank], s->other_ns);
    }
}

static bool is_none_told(const telling *t) {
    return t->limits->why_none != NULL && t->limits->why_none[0] != '\0';
}

/* Of the pipelines, which ascend: too much of a rank's work is in no op, or one stage of several is here alone. */
static void judge_pipelines(const ps_chart *c, const int64_t *pipelines, telling *t) {
    for (size_t p = 0; p < t->n_pipelines; p++) {
        int32_t stage = -1;
        bool alone = t->limits->n_stages > 1 || t->limits->n_stages_guessed;
        bool unexplained = false;
        for (size_t r = 0; r < c->n_ranks; r++) {
            if (c->ranks[r].pipeline != pipelines[p]) {
                continue;
            }
            double share = ps_percent(t->other_ns[r], t->work_ns[r]);
            alone = alone && (stage < 0 || stage == c->ranks[r].stage);
            stage = c->ranks[r].stage;
            unexplained = unexplained || share > t->limits->unexplained_percent;
            if (share > t->worst_percent) {
                t->worst_percent = share;
                t->worst_rank = c->ranks[r].rank;
            }
        }
        t->is_untold[p] = unexplained || alone || is_none_told(t);
        t->n_unexplained += unexplained;
        t->n_alone += alone && !unexplained;
    }
}

static bool say_untold(ps_chart *c, const telling *t) {
    if (is_none_told(t)) {
        return ps_chart_set_unjudged(c, t->limits->why_none);
    }
    const ps_lang lang = c->lang;
    char text[512];
    char which[64] = "";
    size_t n = t->n_unexplained > 0 ? t->n_unexplained : t->n_alone;
    if (t->n_pipelines > 1) {
        (void)snprintf(which, sizeof which,
                       PS_SAY(lang, " of %zu of %zu pipelines", "（%zu/%zu 条流水线）"), n,
                       t->n_pipelines);
    }
    if (t->n_unexplained > 0) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "No bubble is told%s: %.1f %% of what the device of rank %s did in its steps is in no "
                "op of the chart (limit %.3g %%: chart --unexplained). What looks idle may be the "
                "pipeline's own work.",
                "不给出空泡%s：有 %.1f %% 的设备工作（rank %s，各 step 之内）不在流水线图的任何算子中（上限 %.3g %%："
                "chart --unexplained）。看似空闲之处可能是流水线自身的工作。"),
            which, t->worst_percent, PS_RANK(t->worst_rank), t->limits->unexplained_percent);
    } else if (t->n_alone > 0 && t->limits->n_stages_guessed) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(lang,
                   "No bubble is told%s: one rank is here, and nothing says how many stages its "
                   "pipeline has (--pp).",
                   "不给出空泡%s：这里只有一个 rank，且没有信息说明其流水线有几个阶段（--pp）。"),
            which);
    } else if (t->n_alone > 0) {
        (void)snprintf(
            text, sizeof text,
            PS_SAY(
                lang,
                "No bubble is told%s: 1 of %d stages is here, and what the others did is not known.",
                "不给出空泡%s：这里只有 %d 个阶段中的 1 个，其余阶段做了什么未知。"),
            which, (int)t->limits->n_stages);
    }
    return n == 0 || ps_chart_set_unjudged(c, text);
}

static bool is_untold(const int64_t *pipelines, const telling *t, int32_t pipeline) {
    int64_t key = pipeline;
    const int64_t *at = bsearch(&key, pipelines, t->n_pipelines, sizeof *pipelines, ps_compare_i64);
    return at != NULL && t->is_untold[at - pipelines];
}

/* Idle intervals of what has no bubble are none, and its path is not known. */
static void drop_untold(ps_chart *c, ps_bubble_report *r, const int64_t *pipelines,
                        const telling *t) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_bubbles; i++) {
        if (!is_untold(pipelines, t, c->ranks[c->bubbles[i].rank].pipeline)) {
            c->bubbles[n++] = c->bubbles[i];
        }
    }
    c->n_bubbles = n;
    n = 0;
    for (size_t i = 0; i < c->n_path; i++) {
        if (!is_untold(pipelines, t, c->ranks[c->ops[c->path[i]].rank].pipeline)) {
            c->path[n++] = c->path[i];
        }
    }
    c->n_path = n;
    for (size_t i = 0; i < r->n_stages; i++) {
        r->stages[i].is_judged = !is_untold(pipelines, t, c->ranks[r->stages[i].rank].pipeline);
    }
    for (size_t i = 0; i < r->n_steps; i++) {
        r->steps[i].is_judged = !is_untold(pipelines, t, r->steps[i].pipeline);
    }
}

/* Stages lie in the order of the steps that have them. */
static bool add_figures(ps_chart *c, const ps_bubble_report *r) {
    bool ok = true;
    const ps_step_bubble *step = r->steps;
    for (size_t i = 0; ok && i < r->n_stages; i++) {
        const ps_stage_bubble *s = &r->stages[i];
        step += i == step->first_stage + step->n_stages;
        ok = ps_chart_add_figure(c, (ps_chart_figure){.step = s->step,
                                                      .rank = s->rank,
                                                      .step_ns = s->step_ns,
                                                      .busy_ns = s->busy_ns,
                                                      .overlapped_ns = s->overlapped_ns,
                                                      .other_ns = s->other_ns,
                                                      .bubble_ns = s->bubble_ns,
                                                      .work_ns = s->work_ns,
                                                      .is_judged = s->is_judged,
                                                      .is_part = step->n_fewer > 0});
    }
    return ok;
}

/* False when memory is out. */
static bool tell_bubbles(ps_chart *c, const ps_bubble_limits *limits, ps_bubble_report *r) {
    telling t = {.limits = limits, .worst_percent = -1};
    int64_t *pipelines = ps_calloc(c->n_ranks, sizeof *pipelines);
    t.work_ns = ps_calloc(c->n_ranks, sizeof *t.work_ns);
    t.other_ns = ps_calloc(c->n_ranks, sizeof *t.other_ns);
    t.is_untold = ps_calloc(c->n_ranks, sizeof *t.is_untold);
    bool ok = pipelines != NULL && t.work_ns != NULL && t.other_ns != NULL && t.is_untold != NULL;
    if (ok && limits != NULL) {
        t.n_pipelines = list_pipelines(c, pipelines);
        sum_work(r, &t);
        judge_pipelines(c, pipelines, &t);
        drop_untold(c, r, pipelines, &t);
        ok = say_untold(c, &t);
    }
    ok = ok && add_figures(c, r);
    ps_free(pipelines);
    ps_free(t.work_ns);
    ps_free(t.other_ns);
    ps_free(t.is_untold);
    return ok;
}

ps_code ps_bubble_measure(ps_chart *chart, const ps_bubble_limits *limits, ps_bubble_report *out,
                          ps_err *err) {
    *out = (ps_bubble_report){.ideal_percent = -1, .is_linked = ps_chart_is_linked(chart)};
    measuring m = {.chart = chart, .out = out};
    ps_idmap_init(&m.linked);
    bool ok = ps_chart_groups_init(&m.groups, chart);
    ps_code code = PS_OK;
    if (ok && m.groups.n_steps == 0) {
        code = ps_fail_said(err, PS_NOTHING, "the chart has no computation to measure",
                            "流水线图中没有可测量的计算");
    } else {
        ok = ok && chain_ops(&m) && group_links(&m) && find_works(&m) && find_usual_passes(&m) &&
             note_linked(&m) && measure_all_bubble(&m) && tell_bubbles(chart, limits, out);
    }
    ps_chart_groups_fini(&m.groups);
    ps_free(m.by_target);
    ps_free(m.first_link);
    ps_free(m.first_work);
    ps_free(m.previous);
    ps_free(m.is_on_path);
    ps_free(m.usual);
    ps_idmap_fini(&m.linked);
    if (!ok || code != PS_OK) {
        ps_bubble_report_fini(out);
        return code != PS_OK ? code : ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_bubble_report_fini(ps_bubble_report *r) {
    ps_free(r->stages);
    ps_free(r->steps);
    *r = (ps_bubble_report){0};
}

/* Of the steps of a pipeline that have as many passes as usual; of all its steps where none has. */
static int64_t mean_step_ns(const ps_bubble_report *r, int32_t pipeline) {
    int64_t sum_ns[2] = {0, 0}; /* of all, of usual steps */
    int64_t n[2] = {0, 0};
    for (size_t i = 0; i < r->n_steps; i++) {
        const ps_step_bubble *step = &r->steps[i];
        bool is_usual = step->n_fewer == 0 && step->n_more == 0;
        if (step->pipeline == pipeline) {
            sum_ns[0] = ps_i64_plus(sum_ns[0], step->step_ns);
            sum_ns[1] = ps_i64_plus(sum_ns[1], is_usual ? step->step_ns : 0);
            n[0]++;
            n[1] += is_usual;
        }
    }
    bool some = n[1] > 0;
    return n[some] > 0 ? sum_ns[some] / n[some] : 0;
}

int32_t ps_bubble_longest_pipeline(const ps_bubble_report *r, int64_t *mean_ns) {
    int32_t last = -1;
    for (size_t i = 0; i < r->n_steps; i++) {
        last = r->steps[i].pipeline > last ? r->steps[i].pipeline : last;
    }
    int32_t longest = -1;
    *mean_ns = 0;
    for (int32_t pipeline = 0; pipeline <= last; pipeline++) {
        int64_t ns = mean_step_ns(r, pipeline);
        if (ns > *mean_ns) {
            longest = pipeline;
            *mean_ns = ns;
        }
    }
    return longest;
}
