#include "serve/cluster/pipelines.h"

#include "analyze/pipeline/host_labels.h"
#include "base/alloc.h"

bool ps_pipelines_ask_of(const ps_request *q, ps_reply *r, uint32_t more, ps_pipelines_ask *out) {
    ps_err err = PS_ERR_INIT;
    if (!ps_ask_analysis(q, r, PS_OF_CHARTS | more, &out->cluster, &out->opts)) {
        return false;
    }
    out->opts.in_full = true;
    if (ps_label_rules_check(&out->opts, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return false;
    }
    return true;
}

bool ps_pipelines_ask_drawn(const ps_request *q, ps_reply *r, int64_t *step, int32_t *pipeline) {
    int64_t number = -1;
    *step = PS_FIRST_STEP;
    bool ok = (ps_param_text(q, "step") == NULL ||
               ps_ask_int(q, r, "step", INT64_MIN + 1, INT64_MAX, 0, step)) &&
              ps_ask_int(q, r, "pipeline", 0, INT32_MAX, -1, &number);
    *pipeline = (int32_t)number;
    return ok;
}

/* --- what is kept ------------------------------------------------------------------------------------------------ */

static void free_pipelines(void *value) {
    ps_pipelines *p = value;
    if (p != NULL) {
        ps_run_free(p->run);
    }
    ps_free(p);
}

void ps_pipelines_put_key(const ps_pipelines_ask *ask, ps_buf *out) {
    ps_buf_addf(out, "pipelines %zu", ask->cluster);
    ps_analysis_opts_key(&ask->opts, PS_OF_CHARTS, out);
}

/* Why there is no chart: what the first rank that says anything lacks. */
static ps_code say_pipeline_nothing(ps_lang lang, const ps_run *run, ps_err *err) {
    const char *reason = ps_run_first_reason(lang, run);
    return ps_fail(
        err, PS_NOTHING,
        PS_SAY(
            lang,
            "No pipeline in this capture: %.300s. Mark the forward and backward of each microbatch "
            "(docs/marks.md), or say which ranges they are.",
            "采集数据中没有流水线：%.300s。请标出每个 microbatch 的前向与反向（docs/marks.md），或说明它们是"
            "哪些 range。"),
        reason != NULL ? reason
                       : PS_SAY(lang, "no forward or backward was found", "未找到前向或反向"));
}

typedef struct making {
    const ps_request *q;
    const ps_pipelines_ask *ask;
} making;

static ps_code make_pipeline(void *context, ps_cached *out, ps_err *err) {
    const making *m = context;
    const ps_cluster *cluster = ps_store_cluster(m->q->store, m->ask->cluster);
    if (cluster->n_ranks == 0) {
        return ps_cluster_say_empty(err);
    }
    ps_pipelines *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        return ps_fail_nomem(err);
    }
    ps_cluster_run run;
    ps_cluster_run_begin(&run, m->q, &m->ask->opts, m->ask->cluster, SIZE_MAX);
    p->run = ps_run_pipeline(cluster, &run.opts, err);
    ps_cluster_run_end(&run);
    if (p->run == NULL) {
        ps_free(p);
        return err->code;
    }
    p->chart = p->run->results[0].chart;
    if (p->chart == NULL || p->chart->n_ops == 0) {
        ps_code code = say_pipeline_nothing(m->ask->opts.lang, p->run, err);
        free_pipelines(p);
        return code;
    }
    p->n_tables = ps_pipeline_tables(&p->run->results[0], p->tables);
    *out = (ps_cached){.value = p,
                       .bytes = sizeof *p + p->chart->cap_ops * sizeof(ps_op) +
                                p->chart->cap_links * sizeof(ps_chart_link) +
                                p->chart->cap_bubbles * sizeof(ps_bubble) +
                                p->chart->cap_others * sizeof(ps_chart_other),
                       .free_value = free_pipelines,
                       .is_passing = p->run->n_failed > 0};
    return PS_OK;
}

ps_code ps_pipelines_get(const ps_request *q, const ps_pipelines_ask *ask, const ps_pipelines **out,
                         ps_err *err) {
    ps_buf key = {0};
    ps_pipelines_put_key(ask, &key);
    making m = {q, ask};
    void *value = NULL;
    ps_code code = ps_cluster_get(q, ask->cluster, &key, make_pipeline, &m, &value, err);
    *out = value;
    return code;
}
