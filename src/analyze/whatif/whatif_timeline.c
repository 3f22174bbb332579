#include "analyze/whatif/whatif_timeline.h"

#include "base/alloc.h"
#include "base/num.h"

enum {
    T_WORKER,
    T_RANK,
    T_STAGE,
    T_REPLICA,
    T_STEP,
    T_OP,
    T_MICROBATCH,
    T_CHUNK,
    T_COMM,
    T_START,
    T_END,
    N_T
};

static const ps_column COLUMNS[N_T] = {
    [T_WORKER] = {.name = "worker", .type = PS_COL_INT},
    [T_RANK] = {.name = "rank", .type = PS_COL_INT},
    [T_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [T_REPLICA] = {.name = "replica", .type = PS_COL_INT},
    [T_STEP] = {.name = "step", .type = PS_COL_INT},
    [T_OP] = {.name = "op", .type = PS_COL_TEXT},
    [T_MICROBATCH] = {.name = "microbatch", .type = PS_COL_INT},
    [T_CHUNK] = {.name = "chunk", .type = PS_COL_INT},
    [T_COMM] = {.name = "communicates", .type = PS_COL_INT},
    [T_START] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [T_END] = {.name = "end", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
};

static bool put_timeline_row(ps_table *t, const ps_job_steps *js, const ps_job_step *step,
                             const ps_job_op *op, int64_t start_ns, int64_t end_ns) {
    const ps_job_worker *at = &js->workers[op->worker];
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, T_WORKER, op->worker);
    ps_table_set_int(t, T_RANK, at->rank);
    ps_table_set_int(t, T_STAGE, at->stage);
    ps_table_set_int(t, T_REPLICA, at->replica);
    ps_table_set_int(t, T_STEP, step->step);
    ps_table_set_int(t, T_MICROBATCH, op->microbatch);
    ps_table_set_int(t, T_CHUNK, op->chunk);
    ps_table_set_int(t, T_COMM, !ps_worker_op_is_alone((ps_worker_op)op->kind));
    ps_table_set_int(t, T_START, ps_i64_plus(step->begin_ns, start_ns));
    ps_table_set_int(t, T_END, ps_i64_plus(step->begin_ns, end_ns));
    /* Names are static, and stand in many cells. */
    ps_table_share_text(t, T_OP, ps_worker_op_name((ps_worker_op)op->kind));
    return true;
}

ps_table *ps_whatif_timeline(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                             const ps_job_question *question, ps_err *err) {
    ps_table *t = ps_table_new("whatif_timeline", "ops as they would run", COLUMNS, N_T);
    uint32_t most = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        uint32_t n = ps_step_graph_n_ops(js->steps[s].graph);
        most = n > most ? n : most;
    }
    int64_t *start_ns = ps_realloc_array(NULL, (size_t)most + 1, sizeof *start_ns);
    int64_t *end_ns = ps_realloc_array(NULL, (size_t)most + 1, sizeof *end_ns);
    bool ok = t != NULL && start_ns != NULL && end_ns != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (size_t s = 0; code == PS_OK && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        code = ps_job_times(js, ideal_ns, question, s, start_ns, end_ns, err);
        for (uint32_t i = 0; code == PS_OK && i < ps_step_graph_n_ops(step->graph); i++) {
            bool added = put_timeline_row(t, js, step, &step->ops[i], start_ns[i], end_ns[i]);
            code = added ? PS_OK : ps_fail_nomem(err);
        }
    }
    ps_free(start_ns);
    ps_free(end_ns);
    if (code != PS_OK) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}
