#include "serve/cluster/pipelines.h"

#include <string.h>

#include "analyze/pipeline/host_labels.h"
#include "base/alloc.h"
#include "schedule/schedule.h"
#include "serve/cluster/modes.h"

#define MAX_SIZE 4096

ps_pipelines_ask ps_pipelines_ask_init(size_t cluster) {
    return (ps_pipelines_ask){.cluster = cluster, .opts = {.step_id = -1, .in_full = true}};
}

ps_code ps_pipelines_check(const ps_pipelines_ask *ask, ps_err *err) {
    const ps_analysis_opts *o = &ask->opts;
    if (o->pp_type != NULL && ps_schedule_find(o->pp_type) == NULL) {
        return ps_fail(err, PS_USAGE, "pp_type: there is no schedule '%.64s'", o->pp_type);
    }
    if (o->microbatch_re != NULL && !ps_label_rules_given(o)) {
        return ps_fail(
            err, PS_USAGE,
            "microbatch_re numbers what forward_re and backward_re match: give those too");
    }
    ps_label_rules rules;
    ps_code code = ps_label_rules_init(&rules, o, err);
    ps_label_rules_fini(&rules);
    return code;
}

/* align=1: all clocks are brought together; 0: none; absent: those that were measured. */
static bool ask_clocks(const ps_request *q, ps_reply *r, ps_clock_use *out) {
    bool is_given = ps_param_text(q, "align") != NULL;
    bool align = false;
    bool ok = ps_ask_flag(q, r, "align", &align);
    *out = align ? PS_CLOCKS_ALL : is_given ? PS_CLOCKS_RAW : PS_CLOCKS_MEASURED;
    return ok;
}

bool ps_pipelines_ask_job(const ps_request *q, ps_reply *r, ps_pipelines_ask *out) {
    int64_t cluster = 0;
    if (!ps_ask_int(q, r, "cluster", 0, INT32_MAX, 0, &cluster)) {
        return false;
    }
    *out = ps_pipelines_ask_init((size_t)cluster);
    ps_analysis_opts *o = &out->opts;
    o->pp_type = ps_param_text(q, "pp_type");
    o->forward_re = ps_param_text(q, "forward_re");
    o->backward_re = ps_param_text(q, "backward_re");
    o->microbatch_re = ps_param_text(q, "microbatch_re");
    if (!ps_ask_int(q, r, "pp", 1, MAX_SIZE, 0, &o->pp) ||
        !ps_ask_int(q, r, "tp", 1, 1 << 20, 0, &o->tp) ||
        !ps_ask_int(q, r, "cp", 1, 1 << 20, 0, &o->cp) ||
        !ps_ask_int(q, r, "dp", 1, 1 << 20, 0, &o->dp) ||
        !ps_ask_int(q, r, "microbatches", 1, PS_MAX_MICROBATCHES, 0, &o->n_microbatches) ||
        !ps_ask_int(q, r, "max_activations", 1, 1 << 30, 0, &o->max_activations) ||
        !ask_clocks(q, r, &o->clocks) || !ps_ask_rank_order(q, r, o)) {
        return false;
    }
    ps_err err = PS_ERR_INIT;
    if (ps_pipelines_check(out, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return false;
    }
    return true;
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
    const ps_analysis_opts *o = &ask->opts;
    ps_buf_addf(out, "pipelines %zu %lld %lld %lld %lld %d%d %lld %d %lld", ask->cluster,
                (long long)o->tp, (long long)o->pp, (long long)o->cp, (long long)o->dp,
                o->order_given, (int)o->layout, (long long)o->n_microbatches, (int)o->clocks,
                (long long)o->max_activations);
    const char *const texts[] = {o->pp_type, o->forward_re, o->backward_re, o->microbatch_re};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ps_buf_add_char(out, ' ');
        if (texts[i] != NULL) {
            ps_buf_add_json_str(out, texts[i], strlen(texts[i]));
        }
    }
}

/* Why there is no chart: what the first rank that says anything lacks. */
static ps_code say_pipeline_nothing(const ps_run *run, ps_err *err) {
    static const char HOW[] =
        "Mark the forward and backward of each microbatch (docs/marks.md), or say which ranges they are";
    for (size_t r = 0; r < run->n_ranks; r++) {
        if (run->ranks[r].err.msg[0] != '\0') {
            return ps_fail(err, PS_NOTHING, "No pipeline in this capture: %.300s. %s.",
                           run->ranks[r].err.msg, HOW);
        }
    }
    return ps_fail(err, PS_NOTHING,
                   "No pipeline in this capture: no forward or backward was found. %s.", HOW);
}

typedef struct making {
    const ps_cluster *cluster;
    const ps_pipelines_ask *ask;
} making;

static ps_code make_pipeline(void *context, ps_cached *out, ps_err *err) {
    const making *m = context;
    if (m->cluster->n_ranks == 0) {
        return ps_fail(err, PS_NOTHING, "No profile was found under this path.");
    }
    ps_pipelines *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        return ps_fail_nomem(err);
    }
    ps_run_opts opts = {.export_type = PS_EXPORT_NOTHING, .analysis = m->ask->opts};
    p->run = ps_run_pipeline(m->cluster, &opts, err);
    if (p->run == NULL) {
        ps_free(p);
        return err->code;
    }
    p->chart = p->run->results[0].chart;
    if (p->chart == NULL || p->chart->n_ops == 0) {
        ps_code code = say_pipeline_nothing(p->run, err);
        free_pipelines(p);
        return code;
    }
    p->n_tables = ps_pipeline_tables(&p->run->results[0], p->tables);
    *out = (ps_cached){.value = p,
                       .bytes = sizeof *p + p->chart->cap_ops * sizeof(ps_op) +
                                p->chart->cap_links * sizeof(ps_chart_link) +
                                p->chart->cap_bubbles * sizeof(ps_bubble),
                       .free_value = free_pipelines};
    return PS_OK;
}

ps_code ps_pipelines_get(const ps_request *q, const ps_pipelines_ask *ask, const ps_pipelines **out,
                         ps_err *err) {
    ps_err mine = PS_ERR_INIT;
    err = err != NULL ? err : &mine;
    if (ask->cluster >= ps_store_n_clusters(q->store)) {
        return ps_fail(err, PS_NOT_FOUND, "cluster: there is no cluster %zu", ask->cluster);
    }
    ps_buf key;
    ps_buf_init(&key, 0);
    ps_pipelines_put_key(ask, &key);
    making m = {ps_store_cluster(q->store, ask->cluster), ask};
    void *value = NULL;
    ps_code code = ps_buf_ok(&key)
                       ? ps_cache_get(q->cache, ps_buf_str(&key), make_pipeline, &m, &value, err)
                       : ps_fail_nomem(err);
    ps_buf_fini(&key);
    *out = value;
    return code;
}
