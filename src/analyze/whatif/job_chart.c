#include "analyze/whatif/job_chart.h"

#include "base/alloc.h"
#include "base/num.h"
#include "schedule/schedule.h"

static bool computes(const ps_job_op *op) {
    return (PS_JOB_COMPUTING >> op->kind & 1) != 0;
}

/* Backwards of a worker whose weight gradients run apart are those of inputs. */
static ps_op_kind job_chart_kind(const ps_job_op *op, const bool *is_split) {
    bool is_input =
        op->kind == PS_WORKER_INPUT || (op->kind == PS_WORKER_BACKWARD && is_split[op->worker]);
    return is_input ? PS_OP_BI : ps_worker_op_kind((ps_worker_op)op->kind);
}

/* What workers of a job share. */
typedef struct naming {
    const bool *is_split;   /* [n_workers] */
    int32_t n_microbatches; /* of a chunk */
} naming;

static bool add_job_chart_op(ps_chart *chart, const ps_job_op *op, int64_t step,
                             const naming *names) {
    char label[40];
    ps_op_kind kind = job_chart_kind(op, names->is_split);
    const ps_sched_op named = {kind, op->chunk > 0 ? op->chunk : 0, op->microbatch, -1, -1, -1};
    ps_op_label(names->n_microbatches, &named, label, sizeof label);
    return ps_chart_add_op(chart, (ps_op){.start_ns = op->start_ns - chart->origin_ns,
                                          .end_ns = op->end_ns - chart->origin_ns,
                                          .step = step,
                                          .name = label,
                                          .rank = (uint32_t)(chart->n_ranks - 1),
                                          .microbatch = op->microbatch,
                                          .microbatch2 = -1,
                                          .chunk = (int8_t)(op->chunk < 127 ? op->chunk : 127),
                                          .chunk2 = -1,
                                          .phase = -1,
                                          .kind = (uint8_t)kind,
                                          .source = PS_SOURCE_MARK});
}

/* Rows of each worker in each step: first[step * n_workers + worker]. */
static size_t *first_ops(const ps_job_steps *js) {
    size_t *first = ps_calloc(js->n_steps * js->n_workers + 1, sizeof *first);
    for (size_t s = 0; first != NULL && s < js->n_steps; s++) {
        size_t n = ps_step_graph_n_ops(js->steps[s].graph);
        for (size_t i = n; i > 0; i--) {
            first[s * js->n_workers + js->ops[js->steps[s].first + i - 1].worker] =
                js->steps[s].first + i - 1;
        }
    }
    return first;
}

static bool add_job_chart_worker(ps_chart *chart, const ps_job_steps *js, const size_t *first,
                                 const naming *names, uint32_t worker) {
    const ps_job_worker *at = &js->workers[worker];
    bool ok = ps_chart_add_rank(chart, (ps_chart_rank){.rank = (int32_t)at->rank,
                                                       .stage = at->stage,
                                                       .pipeline = at->replica,
                                                       .machine = -1});
    for (size_t s = 0; ok && s < js->n_steps; s++) {
        size_t end = js->steps[s].first + ps_step_graph_n_ops(js->steps[s].graph);
        size_t i = first[s * js->n_workers + worker];
        for (; ok && i < end && js->ops[i].worker == worker; i++) {
            const ps_job_op *op = &js->ops[i];
            ok = !computes(op) || add_job_chart_op(chart, op, js->steps[s].step, names);
        }
    }
    return ok;
}

static bool fill_job_chart(ps_chart *chart, const ps_job_steps *js, const char *schedule) {
    size_t *first = first_ops(js);
    bool *is_split = ps_calloc(js->n_workers + 1, sizeof *is_split);
    naming names = {.is_split = is_split};
    bool ok = first != NULL && is_split != NULL && ps_chart_set_text(chart, "", schedule);
    chart->n_stages = js->n_stages;
    chart->labels_are_exact = true;
    chart->origin_ns = js->n_steps > 0 ? js->steps[0].begin_ns : 0;
    for (size_t i = 0; ok && i < js->n_ops; i++) {
        const ps_job_op *op = &js->ops[i];
        is_split[op->worker] = is_split[op->worker] || op->kind == PS_WORKER_WEIGHT;
        names.n_microbatches =
            op->microbatch >= names.n_microbatches ? op->microbatch + 1 : names.n_microbatches;
        chart->labels_are_exact =
            chart->labels_are_exact && (!computes(op) || (op->microbatch >= 0 && op->chunk >= 0));
    }
    for (uint32_t w = 0; ok && w < js->n_workers; w++) {
        ok = js->workers[w].tp != 0 || add_job_chart_worker(chart, js, first, &names, w);
    }
    ps_free(first);
    ps_free(is_split);
    return ok;
}

ps_chart *ps_job_chart(const ps_job_steps *js, const char *schedule, ps_err *err) {
    ps_chart *chart = ps_chart_new();
    if (chart == NULL || !fill_job_chart(chart, js, schedule)) {
        ps_chart_free(chart);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return chart;
}

bool ps_job_latency(const ps_job_steps *js, int64_t *p2p_ns) {
    int64_t *values = js->has_comm ? ps_calloc(js->n_ops + 1, sizeof *values) : NULL;
    size_t n = 0;
    *p2p_ns = js->lag_ns;
    for (size_t i = 0; values != NULL && i < js->n_ops; i++) {
        ps_worker_op kind = (ps_worker_op)js->ops[i].kind;
        if (kind == PS_WORKER_FORWARD_RECV || kind == PS_WORKER_BACKWARD_RECV) {
            values[n++] = js->ops[i].duration_ns;
        }
    }
    *p2p_ns = n > 0 ? ps_median_i64(values, n) : *p2p_ns;
    ps_free(values);
    return !js->has_comm || values != NULL;
}
