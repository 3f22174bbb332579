#include "serve/cluster/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"
#include "run/run_pipeline.h"
#include "schedule/schedule.h"

/* --- what is asked --------------------------------------------------------------------------------------------------- */

#define MAX_SIZE ((int64_t)1 << 20)

bool ps_ask_rank_order(const ps_request *q, ps_reply *r, ps_analysis_opts *o) {
    const char *order = ps_param_text(q, "order");
    if (order == NULL) {
        return true;
    }
    o->order_given = ps_layout_find(order, &o->layout);
    if (!o->order_given) {
        ps_reply_fail(r, 400, "no order of ranks is called '%.40s'; those known begin with %s",
                      order, ps_layout_names[0]);
    }
    return o->order_given;
}

/* A positive number; not given: 0. */
static bool ask_real(const ps_request *q, ps_reply *r, const char *name, double most, double *out) {
    const char *text = ps_param_text(q, name);
    if (text == NULL) {
        return true;
    }
    char *end = NULL;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out > 0 && *out <= most)) {
        ps_reply_fail(r, 400, "%s: a number above 0 and up to %g", name, most);
        return false;
    }
    return true;
}

static bool ask_schedule(const ps_request *q, ps_reply *r, ps_analysis_opts *o) {
    o->pp_type = ps_param_text(q, "pp_type");
    if (o->pp_type != NULL && ps_schedule_find(o->pp_type) == NULL) {
        ps_reply_fail(r, 400, "pp_type: there is no schedule '%.64s'", o->pp_type);
        return false;
    }
    return ps_ask_int(q, r, "microbatches", 1, PS_MAX_MICROBATCHES, 0, &o->n_microbatches);
}

bool ps_modes_ask_options(const ps_request *q, ps_reply *r, ps_modes_ask *out) {
    int64_t cluster = 0;
    ps_analysis_opts *o = &out->opts;
    *o = (ps_analysis_opts){.step_id = -1,
                            .parallel_types = ps_param_text(q, "parallel_types"),
                            .module_glob = ps_param_text(q, "module")};
    bool ok = ps_ask_int(q, r, "cluster", 0, INT32_MAX, 0, &cluster) &&
              ps_ask_int(q, r, "step_id", -1, INT64_MAX, -1, &o->step_id) &&
              ps_ask_int(q, r, "top_num", 1, 1000000, 0, &o->top_num) &&
              ps_ask_int(q, r, "rank_id", 0, INT64_MAX, 0, &o->rank_id) &&
              ps_ask_int(q, r, "tp", 1, MAX_SIZE, 0, &o->tp) &&
              ps_ask_int(q, r, "pp", 1, MAX_SIZE, 0, &o->pp) &&
              ps_ask_int(q, r, "cp", 1, MAX_SIZE, 0, &o->cp) &&
              ps_ask_int(q, r, "dp", 1, MAX_SIZE, 0, &o->dp) &&
              ps_ask_int(q, r, "depth", 1, 1000000, 0, &o->module_depth) &&
              ps_ask_flag(q, r, "exclude_op_name", &o->exclude_op_name) &&
              ask_real(q, r, "peak_tflops", 1e9, &o->peak_tflops) &&
              ask_real(q, r, "fuzzy_threshold", 1, &o->fuzzy_threshold) &&
              ps_ask_rank_order(q, r, o) && ask_schedule(q, r, o);
    out->cluster = (size_t)cluster;
    return ok;
}

void ps_modes_ask_report(const ps_request *q, ps_modes_ask *ask) {
    ask->analyses[0] = ps_analysis_find("report");
    ask->n_analyses = 1;
    if (ask->cluster < ps_store_n_clusters(q->store)) { /* else the run says that it is not there */
        ask->n_analyses =
            ps_run_report_plan(ps_store_cluster(q->store, ask->cluster), ask->analyses);
    }
    ask->n_makers = ask->n_analyses - 1;
    ask->opts.in_full = true;
}

/* Everything that the result depends on. */
static void put_mode_key(const ps_modes_ask *ask, ps_buf *out) {
    const ps_analysis_opts *o = &ask->opts;
    ps_buf_addf(out, "modes %zu", ask->cluster);
    for (size_t i = 0; i < ask->n_analyses; i++) {
        ps_buf_addf(out, " %s", ask->analyses[i]->name);
    }
    ps_buf_addf(out, " %lld %lld %lld %lld %lld %lld %d%d%d %lld %lld %lld %.17g %.17g %lld",
                (long long)o->step_id, (long long)o->tp, (long long)o->pp, (long long)o->cp,
                (long long)o->dp, (long long)o->n_microbatches, o->order_given, (int)o->layout,
                o->exclude_op_name, (long long)o->top_num, (long long)o->rank_id,
                (long long)o->max_activations, o->peak_tflops, o->fuzzy_threshold,
                (long long)o->module_depth);
    const char *const texts[] = {o->pp_type, o->parallel_types, o->module_glob};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ps_buf_add_char(out, ' ');
        if (texts[i] != NULL) {
            ps_buf_add_json_str(out, texts[i], strlen(texts[i]));
        }
    }
}

/* --- the run ------------------------------------------------------------------------------------------------------------ */

static void free_modes(void *value) {
    ps_modes *m = value;
    if (m != NULL) {
        ps_run_free(m->run);
        ps_run_notes_fini(&m->notes);
        ps_free(m);
    }
}

static bool note_modes(ps_modes *m, const ps_modes_ask *ask) {
    const char *names[PS_MODES_MOST];
    for (size_t a = 0; a < ask->n_analyses; a++) {
        names[a] = ask->analyses[a]->name;
    }
    return ps_run_notes_take(m->run, ask->n_makers, names, &m->notes);
}

/* Why nothing came of it: what the first rank or analysis that says anything lacks. */
static ps_code say_mode_nothing(const ps_run *run, ps_err *err) {
    for (size_t r = 0; r < run->n_ranks; r++) {
        if (run->ranks[r].err.msg[0] != '\0') {
            return ps_fail(err, PS_NOTHING, "%.400s", run->ranks[r].err.msg);
        }
    }
    for (size_t a = 0; a < run->n_analyses; a++) {
        if (run->errors[a].code != PS_OK) {
            return ps_fail(err, PS_NOTHING, "%.400s", run->errors[a].msg);
        }
    }
    return ps_fail(err, PS_NOTHING, "There is nothing of this kind in the profiles.");
}

/* Empty tables are an answer, too: no link is slow. What no rank took part in is none. */
static bool has_answer(const ps_run *run, size_t n_makers) {
    for (size_t a = n_makers; a < run->n_analyses; a++) {
        if (run->errors[a].code == PS_OK && run->n_took_part[a] > 0) {
            return true;
        }
    }
    return false;
}

static size_t bytes_of(const ps_run *run) {
    size_t bytes = sizeof *run;
    for (size_t a = 0; a < run->n_analyses; a++) {
        for (size_t i = 0; i < run->results[a].n_tables; i++) {
            bytes += ps_table_bytes(run->results[a].tables[i]);
        }
    }
    return bytes;
}

typedef struct making {
    const ps_cluster *cluster;
    const ps_modes_ask *ask;
} making;

static ps_run *run_all(const making *m, ps_err *err) {
    ps_run_opts opts = {.export_type = PS_EXPORT_NOTHING, .analysis = m->ask->opts};
    return ps_run_all_ranks(m->ask->analyses, m->ask->n_analyses, m->cluster, &opts, err);
}

static ps_code make_mode(void *context, ps_cached *out, ps_err *err) {
    const making *mk = context;
    if (mk->cluster->n_ranks == 0) {
        return ps_fail(err, PS_NOTHING, "No profile was found under this path.");
    }
    ps_modes *m = ps_calloc(1, sizeof *m);
    if (m == NULL) {
        return ps_fail_nomem(err);
    }
    m->run = run_all(mk, err);
    ps_code code = m->run != NULL ? PS_OK : err->code;
    if (code == PS_OK && !has_answer(m->run, mk->ask->n_makers)) {
        code = say_mode_nothing(m->run, err);
    }
    if (code == PS_OK && !note_modes(m, mk->ask)) {
        code = ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        free_modes(m);
        return code;
    }
    *out = (ps_cached){.value = m, .bytes = bytes_of(m->run), .free_value = free_modes};
    return PS_OK;
}

ps_code ps_modes_get(const ps_request *q, const ps_modes_ask *ask, const ps_modes **out,
                     ps_err *err) {
    ps_err mine = PS_ERR_INIT;
    err = err != NULL ? err : &mine;
    *out = NULL;
    if (ask->cluster >= ps_store_n_clusters(q->store)) {
        return ps_fail(err, PS_NOT_FOUND, "cluster: there is no cluster %zu", ask->cluster);
    }
    ps_buf key;
    ps_buf_init(&key, 0);
    put_mode_key(ask, &key);
    making m = {ps_store_cluster(q->store, ask->cluster), ask};
    void *value = NULL;
    ps_code code = ps_buf_ok(&key)
                       ? ps_cache_get(q->cache, ps_buf_str(&key), make_mode, &m, &value, err)
                       : ps_fail_nomem(err);
    ps_buf_fini(&key);
    *out = value;
    return code;
}

const ps_table *ps_modes_table(const ps_modes *m, const char *name) {
    for (size_t a = 0; a < m->run->n_analyses; a++) {
        for (size_t i = 0; i < m->run->results[a].n_tables; i++) {
            const ps_table *t = m->run->results[a].tables[i];
            if (t->home == PS_HOME_CLUSTER && t->made == NULL && strcmp(t->name, name) == 0) {
                return t;
            }
        }
    }
    return NULL;
}
