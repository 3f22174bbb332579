#include "serve/cluster/whatifs.h"

#include <math.h>
#include <string.h>

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
    ps_run_opts opts = {.export_type = PS_EXPORT_NOTHING, .analysis = m->ask->opts};
    ps_run *run = ps_run_whatif(ps_store_cluster(m->q->store, m->ask->cluster), &opts, err);
    if (run == NULL) {
        return err->code;
    }
    ps_code code = run->errors[0].code;
    if (code != PS_OK) {
        *err = run->errors[0];
    } else {
        w->result = run->results[0];
        run->results[0] = (ps_result){0};
        code = ps_run_notes_take(run, 0, NAMES, &w->notes) ? PS_OK : ps_fail_nomem(err);
    }
    ps_run_free(run);
    return code;
}

static ps_code ask_chart(const making *m, ps_whatifs *w, ps_err *err) {
    const ps_pipelines *p = NULL;
    ps_code code = ps_pipelines_get(m->q, m->ask, &p, err);
    code = code == PS_OK ? ps_whatif_of_chart(p->chart, &m->ask->opts, &w->result, err) : code;
    ps_cache_release(m->q->cache, (void *)(uintptr_t)p);
    return code;
}

static size_t whatifs_bytes(const ps_whatifs *w) {
    size_t bytes = sizeof *w;
    for (size_t i = 0; i < w->result.n_tables; i++) {
        bytes += ps_table_bytes(w->result.tables[i]);
    }
    return bytes;
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
    *out = (ps_cached){.value = w, .bytes = whatifs_bytes(w), .free_value = free_whatifs};
    return PS_OK;
}

/* What the chart depends on, and the question. */
static void put_whatif_key(const ps_pipelines_ask *ask, ps_buf *out) {
    const ps_analysis_opts *o = &ask->opts;
    const char *const texts[] = {o->without, o->scale, o->split};
    const int64_t numbers[] = {o->with_timeline,   o->most_layers,
                               o->max_activations, o->plan_row,
                               o->memory_bytes,    o->activation_bytes,
                               o->layer_bytes,     o->embedding_bytes,
                               o->head_bytes,      llround(100 * o->weight_share)};
    ps_buf_add_str(out, "whatif ");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ps_buf_addf(out, "%lld ", (long long)numbers[i]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i] != NULL) {
            ps_buf_add_json_str(out, texts[i], strlen(texts[i]));
        }
        ps_buf_add_char(out, ' ');
    }
    ps_pipelines_put_key(ask, out);
}

ps_code ps_whatifs_get(const ps_request *q, const ps_pipelines_ask *ask, const ps_whatifs **out,
                       ps_err *err) {
    *out = NULL;
    if (ask->cluster >= ps_store_n_clusters(q->store)) {
        return ps_fail(err, PS_NOT_FOUND, "cluster: there is no cluster %zu", ask->cluster);
    }
    ps_buf key;
    ps_buf_init(&key, 0);
    put_whatif_key(ask, &key);
    making m = {q, ask};
    void *value = NULL;
    ps_code code = ps_buf_ok(&key)
                       ? ps_cache_get(q->cache, ps_buf_str(&key), make_whatif, &m, &value, err)
                       : ps_fail_nomem(err);
    ps_buf_fini(&key);
    *out = value;
    return code;
}
