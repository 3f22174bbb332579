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

static bool add_job_chart_op(ps_chart *chart, const ps_job_step *step, uint32_t i,
                             const naming *names) {
    const ps_job_op *op = &step->ops[i];
    int64_t start_ns = step->start_ns[i] - chart->origin_ns;
    char label[40];
    ps_op_kind kind = job_chart_kind(op, names->is_split);
    const ps_sched_op named = {kind, op->chunk > 0 ? op->chunk : 0, op->microbatch, -1, -1, -1};
    ps_op_label(names->n_microbatches, &named, label, sizeof label);
    return ps_chart_add_op(chart, (ps_op){.start_ns = start_ns,
                                          .end_ns = start_ns + step->duration_ns[i],
                                          .step = step->step,
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
static uint32_t *first_ops(const ps_job_steps *js) {
    uint32_t *first = ps_calloc(js->n_steps * js->n_workers + 1, sizeof *first);
    for (size_t s = 0; first != NULL && s < js->n_steps; s++) {
        for (uint32_t i = ps_job_step_n_ops(&js->steps[s]); i > 0; i--) {
            first[s * js->n_workers + js->steps[s].ops[i - 1].worker] = i - 1;
        }
    }
    return first;
}

static bool add_job_chart_worker(ps_chart *chart, const ps_job_steps *js, const uint32_t *first,
                                 const naming *names, uint32_t worker) {
    const ps_job_worker *at = &js->workers[worker];
    bool ok = ps_chart_add_rank(chart, (ps_chart_rank){.rank = (int32_t)at->rank,
                                                       .stage = at->stage,
                                                       .pipeline = at->replica,
                                                       .machine = -1});
    for (size_t s = 0; ok && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        uint32_t n = ps_job_step_n_ops(step);
        uint32_t i = first[s * js->n_workers + worker];
        for (; ok && i < n && step->ops[i].worker == worker; i++) {
            ok = !computes(&step->ops[i]) || add_job_chart_op(chart, step, i, names);
        }
    }
    return ok;
}

/* What names and kinds of ops depend on. */
static void look_at_job_ops(ps_chart *chart, const ps_job_steps *js, naming *names,
                            bool *is_split) {
    for (size_t s = 0; s < js->n_steps; s++) {
        for (uint32_t i = 0; i < ps_job_step_n_ops(&js->steps[s]); i++) {
            const ps_job_op *op = &js->steps[s].ops[i];
            bool is_named = op->microbatch >= 0 && op->chunk >= 0;
            is_split[op->worker] = is_split[op->worker] || op->kind == PS_WORKER_WEIGHT;
            names->n_microbatches = op->microbatch >= names->n_microbatches ? op->microbatch + 1
                                                                            : names->n_microbatches;
            chart->labels_are_exact = chart->labels_are_exact && (!computes(op) || is_named);
        }
    }
}

static bool fill_job_chart(ps_chart *chart, const ps_job_steps *js, const char *schedule) {
    uint32_t *first = first_ops(js);
    bool *is_split = ps_calloc(js->n_workers + 1, sizeof *is_split);
    naming names = {.is_split = is_split};
    bool ok = first != NULL && is_split != NULL && ps_chart_set_text(chart, "", schedule);
    chart->n_stages = js->n_stages;
    chart->labels_are_exact = true;
    chart->origin_ns = js->n_steps > 0 ? js->steps[0].begin_ns : 0;
    if (ok) {
        look_at_job_ops(chart, js, &names, is_split);
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
    int64_t *values = js->has_comm ? ps_calloc(ps_job_n_ops(js) + 1, sizeof *values) : NULL;
    size_t n = 0;
    *p2p_ns = js->lag_ns;
    for (size_t s = 0; values != NULL && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
            ps_worker_op kind = (ps_worker_op)step->ops[i].kind;
            if (kind == PS_WORKER_FORWARD_RECV || kind == PS_WORKER_BACKWARD_RECV) {
                values[n++] = step->duration_ns[i];
            }
        }
    }
    *p2p_ns = n > 0 ? ps_median_i64(values, n) : *p2p_ns;
    ps_free(values);
    return !js->has_comm || values != NULL;
}
