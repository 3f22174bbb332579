#include "analyze/whatif/chart_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/replay.h"
#include "analyze/whatif/chart_transfers.h"
#include "base/alloc.h"
#include "base/num.h"
#include "model/chart_groups.h"
#include "schedule/schedule.h"

typedef struct making {
    const ps_chart *chart;
    ps_job_steps *js;
    ps_chart_groups groups;
    uint32_t *ranks; /* [n_workers] row in the chart's ranks */
    size_t *usual;   /* [chart ranks] passes in most of its steps (ps_chart_usual_passes) */
    size_t *
        expected; /* [n_workers] forwards and backwards of a step, by the schedule and the other replicas; 0 not known */
    uint32_t *rows;  /* [chart ops] row in its step, PS_NO_INDEX */
    uint32_t *steps; /* [groups.n_steps] row in the job's steps, PS_NO_INDEX */
    ps_chart_transfers transfers;
    uint32_t *transfer_rows; /* [chart links] row in its step of a transfer */
    /* Of the step in hand. */
    ps_job_op *ops;
    int64_t *durations;
    size_t n_ops, cap_ops, cap_durations;
    ps_err *err;
} making;

static ps_worker_op chart_job_kind_of(const ps_op *op) {
    switch ((ps_op_kind)op->kind) {
    case PS_OP_F:
        return PS_WORKER_FORWARD;
    case PS_OP_B:
    case PS_OP_LOGITS:
        return PS_WORKER_BACKWARD;
    case PS_OP_BI:
        return PS_WORKER_INPUT;
    case PS_OP_BW:
        return PS_WORKER_WEIGHT;
    case PS_OP_FB:
        return PS_WORKER_PAIR;
    default:
        return PS_N_WORKER_OPS;
    }
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static ps_code place_chart_job_workers(making *k) {
    const ps_chart *c = k->chart;
    ps_job_steps *js = k->js;
    for (size_t r = 0; r < c->n_ranks; r++) {
        js->n_stages = c->ranks[r].stage >= js->n_stages ? c->ranks[r].stage + 1 : js->n_stages;
        js->n_replicas =
            c->ranks[r].pipeline >= js->n_replicas ? c->ranks[r].pipeline + 1 : js->n_replicas;
    }
    js->n_stages = c->n_stages > js->n_stages ? c->n_stages : js->n_stages;
    if (c->is_side_by_side) {
        return ps_fail(k->err, PS_NOTHING, "%s",
                       PS_SAY(js->lang,
                              "the ranks of the chart run side by side: nobody waits for another",
                              "图中各 rank 并列运行：互不等待"));
    }
    js->n_tp = 1;
    js->n_workers = (size_t)js->n_stages * (size_t)js->n_replicas;
    if (js->n_stages < 2 || js->n_workers != c->n_ranks) {
        return ps_fail(
            k->err, PS_NOTHING,
            js->n_stages < 2
                ? PS_SAY(js->lang, "the chart has one stage: nobody waits for another",
                         "图中只有一个阶段：互不等待")
                : PS_SAY(
                      js->lang,
                      "the chart has %zu ranks of %d stages x %d pipelines: those that "
                      "are missing decide who waits",
                      "图中有 %zu 个 rank，而规模为 %d 个阶段 × %d 条流水线：缺少的 rank 决定谁在"
                      "等待"),
            c->n_ranks, (int)js->n_stages, (int)js->n_replicas);
    }
    js->workers = ps_calloc(js->n_workers, sizeof *js->workers);
    k->ranks = ps_realloc_array(NULL, js->n_workers, sizeof *k->ranks);
    if (js->workers == NULL || k->ranks == NULL) {
        return ps_fail_nomem(k->err);
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_chart_rank *rank = &c->ranks[r];
        size_t at = (size_t)rank->stage * (size_t)js->n_replicas + (size_t)rank->pipeline;
        js->workers[at] = (ps_job_worker){rank->rank, rank->stage, rank->pipeline, 0};
        k->ranks[at] = (uint32_t)r;
    }
    return PS_OK;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

/* Forwards and backwards that an op is. */
static size_t n_directions(ps_op_kind kind) {
    return kind == PS_OP_FB ? 2 : kind == PS_OP_F || kind == PS_OP_B || kind == PS_OP_BI;
}

static size_t count_directions(const making *k, size_t worker, size_t step) {
    size_t g = ps_chart_group(&k->groups, k->ranks[worker], step);
    size_t n = 0;
    for (size_t i = k->groups.first[g]; i < k->groups.first[g + 1]; i++) {
        n += n_directions((ps_op_kind)k->chart->ops[k->groups.order[i]].kind);
    }
    return n;
}

static void say_left_out(making *k, size_t worker, size_t step, size_t n, const char *what,
                         size_t of) {
    if (k->js->n_left_out++ == 0) {
        (void)snprintf(k->js->why_left_out, sizeof k->js->why_left_out,
                       PS_SAY(k->js->lang, "step %lld: rank %lld has %zu ops, %s %zu",
                              "step %lld：rank %lld 有 %zu 个算子，%s %zu 个"),
                       (long long)k->groups.steps[step], (long long)k->js->workers[worker].rank, n,
                       what, of);
    }
}

/* A step in which some rank has fewer passes than in most is not whole, one in which it has more is of another kind, whose links nobody
 * knows. */
static bool is_chart_step_whole(making *k, size_t step) {
    for (size_t w = 0; w < k->js->n_workers; w++) {
        size_t n = ps_chart_group_n_passes(&k->groups, k->chart, k->ranks[w], step);
        size_t usual = k->usual[k->ranks[w]];
        if (n == 0 || n != usual) {
            say_left_out(k, w, step, n, PS_SAY(k->js->lang, "in most steps", "多数 step 为"),
                         usual);
            return false;
        }
        n = count_directions(k, w, step);
        if (n < k->expected[w]) {
            say_left_out(
                k, w, step, n,
                PS_SAY(k->js->lang, "by its schedule and other ranks", "按其调度与其他 rank"),
                k->expected[w]);
            return false;
        }
    }
    return true;
}

/* The first step in which each rank has as many passes as usual; SIZE_MAX where there is none. */
static size_t find_reference(const making *k) {
    for (size_t s = 0; s < k->groups.n_steps; s++) {
        bool all = true;
        for (size_t w = 0; all && w < k->js->n_workers; w++) {
            size_t n = ps_chart_group_n_passes(&k->groups, k->chart, k->ranks[w], s);
            all = n > 0 && n == k->usual[k->ranks[w]];
        }
        if (all) {
            return s;
        }
    }
    return SIZE_MAX;
}

/* What the labels of a step say of the size of its schedule. False when there is no such schedule. */
static bool size_schedule(const making *k, const ps_schedule *schedule, size_t step,
                          ps_schedule_params *params) {
    *params = (ps_schedule_params){.n_stages = k->js->n_stages, .n_chunks = 1};
    for (size_t i = 0; i < k->chart->n_ops; i++) {
        const ps_op *op = &k->chart->ops[i];
        if (k->groups.step_of_op[i] == step) {
            int32_t n = op->microbatch >= op->microbatch2 ? op->microbatch : op->microbatch2;
            params->n_microbatches = n >= params->n_microbatches ? n + 1 : params->n_microbatches;
            params->n_chunks = op->chunk >= params->n_chunks ? op->chunk + 1 : params->n_chunks;
        }
    }
    return schedule != NULL && schedule->n_chains <= 1 &&
           ps_schedule_chunks(schedule, params) == params->n_chunks &&
           schedule->check(params, NULL) == PS_OK;
}

/* What is lost in every step alike no step tells: the schedule's lists do, and the other replicas. PS_NOMEM. */
static ps_code find_expected(making *k) {
    size_t step = find_reference(k);
    const ps_schedule *schedule = ps_schedule_find(k->chart->schedule);
    ps_schedule_params params;
    bool is_sized = step != SIZE_MAX && size_schedule(k, schedule, step, &params);
    ps_code code = PS_OK;
    for (int32_t stage = 0; code == PS_OK && step != SIZE_MAX && stage < k->js->n_stages; stage++) {
        ps_op_list list = {0};
        size_t most = 0;
        code = is_sized ? ps_schedule_order(schedule, &params, stage, &list, k->err) : PS_OK;
        for (size_t i = 0; code == PS_OK && i < list.n; i++) {
            most += n_directions(list.ops[i].kind);
        }
        ps_op_list_fini(&list);
        size_t first = (size_t)stage * (size_t)k->js->n_replicas;
        for (size_t w = first; w < first + (size_t)k->js->n_replicas; w++) {
            size_t n = count_directions(k, w, step);
            most = n > most ? n : most;
        }
        for (size_t w = first; w < first + (size_t)k->js->n_replicas; w++) {
            k->expected[w] = most;
        }
    }
    return code;
}

static bool append_op(making *k, const ps_job_op *op, int64_t duration_ns) {
    if (!ps_grow(&k->ops, &k->cap_ops, k->n_ops + 1, UINT32_MAX - 1, sizeof *k->ops) ||
        !ps_grow(&k->durations, &k->cap_durations, k->n_ops + 1, UINT32_MAX - 1,
                 sizeof *k->durations)) {
        return false;
    }
    k->durations[k->n_ops] = duration_ns;
    k->ops[k->n_ops++] = *op;
    return true;
}

/* What goes to a forward, or comes from one, is its result; between overlapped pairs that of the microbatch that both have. */
static ps_worker_op transfer_kind(const ps_op *from, const ps_op *to) {
    bool is_forward = from->kind == PS_OP_F || to->kind == PS_OP_F ||
                      (from->kind == PS_OP_FB && to->kind == PS_OP_FB &&
                       from->microbatch == to->microbatch && from->microbatch2 != to->microbatch2);
    return is_forward ? PS_WORKER_FORWARD_SEND : PS_WORKER_BACKWARD_SEND;
}

/* What the worker gives to others, behind its own ops. */
static bool add_worker_transfers(making *k, size_t worker, size_t group) {
    uint32_t order[PS_N_WORKER_OPS] = {0};
    bool ok = true;
    for (size_t i = k->groups.first[group]; i < k->groups.first[group + 1]; i++) {
        uint32_t row = k->groups.order[i];
        for (size_t t = k->transfers.first[row]; ok && t < k->transfers.first[row + 1]; t++) {
            uint32_t link = k->transfers.links[t];
            const ps_op *from = &k->chart->ops[row];
            ps_worker_op kind = transfer_kind(from, &k->chart->ops[k->chart->links[link].to]);
            const ps_job_op op = {.worker = (uint32_t)worker,
                                  .order = order[kind]++,
                                  .microbatch = from->microbatch,
                                  .chunk = from->chunk,
                                  .microbatch2 = -1,
                                  .chunk2 = -1,
                                  .kind = (uint8_t)kind};
            k->transfer_rows[link] = (uint32_t)k->n_ops;
            ok = append_op(k, &op, k->transfers.duration_ns[link]);
        }
    }
    return ok;
}

/* The output head's backward and the one behind it, which may be a pair's, are a backward in two marks: one op, as long as both. */
static bool is_first_half(const making *k, size_t at, size_t end) {
    const ps_op *op = &k->chart->ops[k->groups.order[at]];
    const ps_op *next = at + 1 < end ? &k->chart->ops[k->groups.order[at + 1]] : NULL;
    if (op->kind != PS_OP_LOGITS || next == NULL) {
        return false;
    }
    return next->kind == PS_OP_FB ? next->microbatch2 == op->microbatch
                                  : (next->kind == PS_OP_B || next->kind == PS_OP_BI) &&
                                        next->microbatch == op->microbatch;
}

static bool add_worker_ops(making *k, size_t worker, size_t step, ps_job_step *out) {
    size_t g = ps_chart_group(&k->groups, k->ranks[worker], step);
    size_t end = k->groups.first[g + 1];
    uint32_t order[PS_N_WORKER_OPS] = {0};
    int64_t head_ns = 0;
    for (size_t i = k->groups.first[g]; i < end; i++) {
        uint32_t row = k->groups.order[i];
        const ps_op *op = &k->chart->ops[row];
        ps_worker_op kind = chart_job_kind_of(op);
        if (kind == PS_N_WORKER_OPS) {
            continue;
        }
        int64_t duration_ns = op->end_ns - op->start_ns;
        k->rows[row] = (uint32_t)k->n_ops;
        out->begin_ns = op->start_ns < out->begin_ns ? op->start_ns : out->begin_ns;
        out->end_ns = op->end_ns > out->end_ns ? op->end_ns : out->end_ns;
        if (is_first_half(k, i, end)) {
            head_ns = duration_ns;
            continue;
        }
        const ps_job_op own = {.worker = (uint32_t)worker,
                               .order = order[kind]++,
                               .microbatch = op->microbatch,
                               .chunk = op->chunk,
                               .microbatch2 = op->microbatch2,
                               .chunk2 = op->chunk2,
                               .kind = (uint8_t)kind};
        if (!append_op(k, &own, ps_i64_plus(head_ns, duration_ns))) {
            return false;
        }
        head_ns = 0;
    }
    return add_worker_transfers(k, worker, g);
}

static bool is_computing_row(const ps_job_op *op) {
    return !ps_worker_op_is_transfer((ps_worker_op)op->kind);
}

/* A step with its ops, each that computes behind the one before it on its worker. */
static bool add_chart_job_step(making *k, size_t index) {
    ps_job_steps *js = k->js;
    ps_job_step step = {.step = k->groups.steps[index], .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    bool ok = ps_grow(&js->steps, &js->cap_steps, js->n_steps + 1, UINT32_MAX, sizeof *js->steps);
    k->n_ops = 0;
    for (size_t w = 0; ok && w < js->n_workers; w++) {
        ok = add_worker_ops(k, w, index, &step);
    }
    uint32_t n = (uint32_t)k->n_ops;
    step.graph = ok ? ps_step_graph_new(n) : NULL;
    step.ops = ok ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *step.ops) : NULL;
    step.duration_ns = ok ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *step.duration_ns) : NULL;
    if (step.graph == NULL || step.ops == NULL || step.duration_ns == NULL) {
        ps_step_graph_free(step.graph);
        ps_free(step.ops);
        ps_free(step.duration_ns);
        return false;
    }
    if (n > 0) {
        memcpy(step.ops, k->ops, n * sizeof *step.ops);
        memcpy(step.duration_ns, k->durations, n * sizeof *step.duration_ns);
    }
    for (uint32_t i = 1; i < n; i++) {
        if (step.ops[i].worker == step.ops[i - 1].worker && is_computing_row(&step.ops[i])) {
            ps_step_graph_wait(step.graph, i, i - 1, false);
        }
    }
    k->steps[index] = (uint32_t)js->n_steps;
    js->steps[js->n_steps++] = step;
    return true;
}

/* Row in the job's steps of an op of the chart, PS_NO_INDEX. */
static uint32_t step_of(const making *k, uint32_t row) {
    uint32_t index = k->groups.step_of_op[row];
    return index == PS_NO_INDEX || k->rows[row] == PS_NO_INDEX ? PS_NO_INDEX : k->steps[index];
}

static void connect_links(making *k) {
    for (size_t l = 0; l < k->chart->n_links; l++) {
        const ps_chart_link *link = &k->chart->links[l];
        uint32_t step = step_of(k, link->to);
        if (step == PS_NO_INDEX || step_of(k, link->from) != step) {
            continue;
        }
        ps_step_graph *graph = k->js->steps[step].graph;
        bool is_far = ps_is_transfer(k->chart, &k->groups, l);
        uint32_t before = is_far ? k->transfer_rows[l] : k->rows[link->from];
        if (is_far) {
            ps_step_graph_wait(graph, before, k->rows[link->from], false);
        }
        if (before != k->rows[link->to]) { /* halves of one op */
            ps_step_graph_wait(graph, k->rows[link->to], before, false);
        }
    }
}

static ps_code seal_steps(making *k) {
    ps_code code = PS_OK;
    for (size_t s = 0; code == PS_OK && s < k->js->n_steps; s++) {
        ps_graph_circle circle = {0};
        code = ps_step_graph_seal(k->js->steps[s].graph, &circle, k->err);
        if (code == PS_NOTHING) {
            code = ps_fail(k->err, PS_NOTHING,
                           PS_SAY(k->js->lang,
                                  "step %lld: its ops wait for one another in a circle of %zu",
                                  "step %lld：其算子循环等待，环中有 %zu 个"),
                           (long long)k->js->steps[s].step, circle.n);
        }
        ps_free(circle.ops);
    }
    return code;
}

/* Which stage of the model each chunk of a place is, as the schedule says. False when memory is out. */
static bool number_model_stages(making *k) {
    ps_job_steps *js = k->js;
    const ps_schedule *schedule = ps_schedule_find(k->chart->schedule);
    int32_t n_chunks = 1;
    for (size_t i = 0; i < k->chart->n_ops; i++) {
        const ps_op *op = &k->chart->ops[i];
        n_chunks = op->chunk >= n_chunks ? op->chunk + 1 : n_chunks;
        n_chunks = op->chunk2 >= n_chunks ? op->chunk2 + 1 : n_chunks;
    }
    const ps_schedule_params params = {
        .n_stages = js->n_stages, .n_microbatches = 1, .n_chunks = n_chunks};
    /* Where the job holds its model twice, a number names no one place. */
    if (schedule == NULL || schedule->n_chains > 1 ||
        ps_schedule_chunks(schedule, &params) != n_chunks) {
        return true;
    }
    size_t n = (size_t)js->n_stages * (size_t)n_chunks;
    js->model_stages = ps_realloc_array(NULL, n + 1, sizeof *js->model_stages);
    js->n_chunks = n_chunks;
    for (size_t i = 0; js->model_stages != NULL && i < n; i++) {
        js->model_stages[i] = schedule->logical_stage(&params, (int32_t)(i / (size_t)n_chunks),
                                                      (int32_t)(i % (size_t)n_chunks));
    }
    return js->model_stages != NULL;
}

static const ps_job_worker *worker_of_rank(const making *k, uint32_t rank) {
    size_t w = 0;
    while (k->ranks[w] != rank) {
        w++;
    }
    return &k->js->workers[w];
}

static void say_apart(making *k) {
    const ps_clocks_apart *a = &k->transfers.apart;
    if (a->least_ns > 0) {
        char from[96];
        char to[96];
        (void)snprintf(
            k->js->clocks_apart, sizeof k->js->clocks_apart,
            PS_SAY(
                k->js->lang,
                "the clocks of %s and of %s are %s or more apart: %u of %u results are used on the "
                "second before they are there on the first; each way is taken as half of both",
                "%s 与 %s 的时钟相差 %s 或更多：%u/%u 个结果在后者上的使用早于其在前者上就绪；每个方向取两者之和的一半"),
            ps_job_describe_worker(k->js->lang, worker_of_rank(k, a->from), from),
            ps_job_describe_worker(k->js->lang, worker_of_rank(k, a->to), to),
            ps_ns_text_of(a->least_ns).text, (unsigned)a->n_early, (unsigned)a->n);
    }
}

static ps_code make_steps(making *k) {
    ps_code code = place_chart_job_workers(k);
    k->js->has_unknown_work = k->chart->unjudged[0] != '\0';
    if (code == PS_OK && !ps_chart_is_linked(k->chart)) {
        code = ps_fail(
            k->err, PS_NOTHING, "%s",
            PS_SAY(
                k->js->lang,
                "the chart does not say which op waits for which: its schedule was not recognised",
                "流水线图未说明算子间的等待关系：未识别出其调度"));
    }
    k->usual = ps_calloc(k->chart->n_ranks + 1, sizeof *k->usual);
    k->expected = ps_calloc(k->js->n_workers + 1, sizeof *k->expected);
    k->steps = ps_realloc_array(NULL, k->groups.n_steps + 1, sizeof *k->steps);
    if (code != PS_OK || k->usual == NULL || k->expected == NULL || k->steps == NULL) {
        return code != PS_OK ? code : ps_fail_nomem(k->err);
    }
    if (!number_model_stages(k) || !ps_chart_usual_passes(&k->groups, k->chart, k->usual)) {
        return ps_fail_nomem(k->err);
    }
    code = find_expected(k);
    code = code == PS_OK ? ps_measure_latency(k->chart, &k->js->lag_ns, k->err) : code;
    if (code == PS_OK &&
        !ps_chart_transfers_make(k->chart, &k->groups, k->js->lag_ns, &k->transfers)) {
        code = ps_fail_nomem(k->err);
    }
    say_apart(k);
    for (size_t s = 0; code == PS_OK && s < k->groups.n_steps; s++) {
        k->steps[s] = PS_NO_INDEX;
        code =
            !is_chart_step_whole(k, s) || add_chart_job_step(k, s) ? PS_OK : ps_fail_nomem(k->err);
    }
    if (code == PS_OK && k->js->n_steps == 0) {
        code = ps_fail(k->err, PS_NOTHING,
                       PS_SAY(k->js->lang, "no step is whole: %s", "没有完整的 step：%s"),
                       k->js->why_left_out);
    }
    if (code == PS_OK) {
        connect_links(k);
        code = seal_steps(k);
    }
    return code;
}

ps_code ps_chart_steps_make(const ps_chart *chart, ps_job_steps *out, ps_err *err) {
    *out = (ps_job_steps){.has_comm = false, .lang = chart->lang};
    making k = {.chart = chart, .js = out, .err = err};
    k.rows = ps_realloc_array(NULL, chart->n_ops + 1, sizeof *k.rows);
    k.transfer_rows = ps_calloc(chart->n_links + 1, sizeof *k.transfer_rows);
    for (size_t i = 0; k.rows != NULL && i < chart->n_ops; i++) {
        k.rows[i] = PS_NO_INDEX;
    }
    bool ok = k.rows != NULL && k.transfer_rows != NULL && ps_chart_groups_init(&k.groups, chart);
    ps_code code = ok ? make_steps(&k) : ps_fail_nomem(err);
    ps_chart_transfers_fini(&k.transfers);
    ps_chart_groups_fini(&k.groups);
    ps_free(k.ranks);
    ps_free(k.usual);
    ps_free(k.expected);
    ps_free(k.rows);
    ps_free(k.transfer_rows);
    ps_free(k.steps);
    ps_free(k.ops);
    ps_free(k.durations);
    return code;
}
