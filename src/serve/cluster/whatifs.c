#include "serve/cluster/whatifs.h"

#include "analyze/whatif/whatif_tables.h"
#include "base/alloc.h"
#include "run/run_whatif.h"

static void free_whatifs(void *value) {
    ps_whatifs *w = value;
    if (w != NULL) {
        ps_result_fini(&w->result);
        ps_run_notes_fini(&w->notes);
        ps_free(w);
    }
}

typedef struct making {
    const ps_request *q;
    const ps_pipelines_ask *ask;
} making;

/* From timelines that name all ops. */
static ps_code ask_timelines(const making *m, ps_whatifs *w, ps_err *err) {
    static const char *const NAMES[] = {"whatif"};
    ps_cluster_run of;
    ps_cluster_run_begin(&of, m->q, &m->ask->opts, m->ask->cluster, SIZE_MAX);
    ps_run *run = ps_run_whatif(ps_store_cluster(m->q->store, m->ask->cluster), &of.opts, err);
    ps_cluster_run_end(&of);
    if (run == NULL) {
        return err->code;
    }
    ps_code code = run->errors[0].code;
    if (code != PS_OK) {
        *err = run->errors[0];
    } else {
        w->result = run->results[0];
        w->lacks_ranks = run->n_failed > 0;
        run->results[0] = (ps_result){0};
        code = ps_run_notes_take(m->ask->opts.lang, run, 0, NAMES, &w->notes) ? PS_OK
                                                                              : ps_fail_nomem(err);
    }
    ps_run_free(run);
    return code;
}

static ps_code ask_chart(const making *m, ps_whatifs *w, ps_err *err) {
    const ps_pipelines *p = NULL;
    ps_cluster_run of;
    ps_analysis_opts opts;
    ps_run *memory = NULL;
    ps_cluster_run_begin(&of, m->q, &m->ask->opts, m->ask->cluster, SIZE_MAX);
    ps_code code = ps_run_plan_memory(ps_store_cluster(m->q->store, m->ask->cluster), &of.opts,
                                      &memory, &opts, err);
    ps_cluster_run_end(&of);
    code = code == PS_OK ? ps_pipelines_get(m->q, m->ask, &p, err) : code;
    code = code == PS_OK ? ps_whatif_of_chart(p->chart, &opts, &w->result, err) : code;
    w->lacks_ranks = code == PS_OK && p->run->n_failed > 0;
    ps_cache_release(m->q->cache, (void *)(uintptr_t)p);
    ps_run_free(memory);
    return code;
}

static ps_code make_whatif(void *context, ps_cached *out, ps_err *err) {
    const making *m = context;
    const ps_cluster *cluster = ps_store_cluster(m->q->store, m->ask->cluster);
    ps_whatifs *w = ps_calloc(1, sizeof *w);
    if (w == NULL) {
        return ps_fail_nomem(err);
    }
    bool has_timelines = ps_run_whatif_has_timelines(cluster);
    ps_code code = has_timelines ? ask_timelines(m, w, err) : ask_chart(m, w, err);
    if (code != PS_OK) {
        free_whatifs(w);
        return code;
    }
    *out = (ps_cached){.value = w,
                       .bytes = sizeof *w + ps_result_bytes(&w->result),
                       .free_value = free_whatifs,
                       .is_passing = w->lacks_ranks};
    return PS_OK;
}

ps_code ps_whatifs_get(const ps_request *q, const ps_pipelines_ask *ask, const ps_whatifs **out,
                       ps_err *err) {
    ps_buf key = {0};
    ps_buf_addf(&key, "whatif %zu", ask->cluster);
    ps_analysis_opts_key(&ask->opts, PS_OF_CHARTS | PS_OF_WHATIF | PS_OF_PLAN, &key);
    making m = {q, ask};
    void *value = NULL;
    ps_code code = ps_cluster_get(q, ask->cluster, &key, make_whatif, &m, &value, err);
    *out = value;
    return code;
}
