#include "serve/cluster/modes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "run/rank_selection.h"
#include "run/run_compare.h"
#include "run/run_pipeline.h"

/* --- what is asked --------------------------------------------------------------------------------------------------- */

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

void ps_modes_ask_compare(const ps_request *q, ps_modes_ask *ask) {
    const char *ranks[] = {ask->rank_list, ask->baseline_ranks};
    ask->analyses[0] = ps_analysis_find("compare");
    ask->n_analyses = 1;
    if (ask->cluster < ps_store_n_clusters(q->store)) {
        ask->n_analyses =
            ps_run_compare_plan(ps_store_cluster(q->store, ask->cluster), ranks, ask->analyses);
    }
    ask->n_makers = ask->n_analyses - 1;
}

static bool compares(const ps_modes_ask *ask) {
    return ask->analyses[ask->n_analyses - 1]->baseline != NULL;
}

static void put_mode_key(const ps_modes_ask *ask, ps_buf *out) {
    ps_buf_addf(out, "modes %zu", ask->cluster);
    for (size_t i = 0; i < ask->n_analyses; i++) {
        ps_buf_addf(out, " %s", ask->analyses[i]->name);
    }
    if (!ps_is_all_ranks(ask->rank_list)) {
        ps_buf_addf(out, " of %s", ask->rank_list);
    }
    if (compares(ask)) {
        bool is_all = ps_is_all_ranks(ask->baseline_ranks);
        ps_buf_addf(out, " beside %zu %lld of %s", ask->baseline, (long long)ask->baseline_step,
                    is_all ? "all" : ask->baseline_ranks);
    }
    ps_analysis_opts_key(&ask->opts, PS_OF_MODES, out);
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
    return ps_run_notes_take(ask->opts.lang, m->run, ask->n_makers, names, &m->notes);
}

/* Why nothing came of it: what the first rank or analysis that says anything lacks. */
static ps_code say_mode_nothing(ps_lang lang, const ps_run *run, ps_err *err) {
    const char *reason = ps_run_first_reason(lang, run);
    if (reason != NULL) {
        return ps_fail(err, PS_NOTHING, "%.400s", reason);
    }
    for (size_t a = 0; a < run->n_analyses; a++) {
        if (run->errors[a].code != PS_OK) {
            return ps_fail(err, PS_NOTHING, "%.400s", ps_err_text(lang, &run->errors[a]));
        }
    }
    return ps_fail(
        err, PS_NOTHING, "%s",
        PS_SAY(lang, "There is nothing of this kind in the profiles.", "采集数据中没有此类内容。"));
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
        bytes += ps_result_bytes(&run->results[a]);
    }
    return bytes;
}

typedef struct making {
    const ps_request *q;
    const ps_modes_ask *ask;
} making;

/* What of which captures is looked at. */
static void take_sides(const ps_request *q, const ps_modes_ask *ask, ps_run_opts *opts) {
    opts->rank_list = ask->rank_list;
    if (compares(ask)) {
        opts->n_makers = ask->n_makers;
        opts->baseline_path = ps_store_cluster(q->store, ask->baseline)->path;
        opts->baseline_ranks = ask->baseline_ranks;
        opts->baseline_step = ask->baseline_step >= 0 ? &ask->baseline_step : NULL;
    }
}

static ps_code make_mode(void *context, ps_cached *out, ps_err *err) {
    const making *mk = context;
    const ps_modes_ask *ask = mk->ask;
    const ps_cluster *cluster = ps_store_cluster(mk->q->store, ask->cluster);
    if (cluster->n_ranks == 0) {
        return ps_cluster_say_empty(err);
    }
    if (compares(ask) && !ps_store_is_open(mk->q->store, ask->baseline)) {
        return ps_fail(err, PS_NOT_FOUND, "baseline: there is no cluster %zu", ask->baseline);
    }
    ps_modes *m = ps_calloc(1, sizeof *m);
    if (m == NULL) {
        return ps_fail_nomem(err);
    }
    ps_cluster_run run;
    ps_cluster_run_begin(&run, mk->q, &ask->opts, ask->cluster,
                         compares(ask) ? ask->baseline : SIZE_MAX);
    take_sides(mk->q, ask, &run.opts);
    ps_code code = compares(ask)
                       ? ps_compare_check_parts(&run.opts, ask->baseline == ask->cluster, err)
                       : PS_OK;
    m->run = code == PS_OK
                 ? ps_run_listed_ranks(ask->analyses, ask->n_analyses, cluster, &run.opts, err)
                 : NULL;
    ps_cluster_run_end(&run);
    code = m->run != NULL ? PS_OK : err->code;
    if (code == PS_OK && !has_answer(m->run, ask->n_makers)) {
        code = say_mode_nothing(ask->opts.lang, m->run, err);
    }
    if (code == PS_OK && !note_modes(m, ask)) {
        code = ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        free_modes(m);
        return code;
    }
    *out = (ps_cached){.value = m,
                       .bytes = bytes_of(m->run),
                       .free_value = free_modes,
                       .is_passing = m->run->n_failed > 0};
    return PS_OK;
}

ps_code ps_modes_get(const ps_request *q, const ps_modes_ask *ask, const ps_modes **out,
                     ps_err *err) {
    ps_buf key = {0};
    put_mode_key(ask, &key);
    making m = {q, ask};
    void *value = NULL;
    ps_code code = ps_cluster_get(q, ask->cluster, &key, make_mode, &m, &value, err);
    *out = value;
    return code;
}

const ps_table *ps_modes_table(const ps_modes *m, const char *name) {
    for (size_t a = 0; a < m->run->n_analyses; a++) {
        bool is_any = m->run->n_took_part[a] > 0; /* else its empty tables are no answer */
        for (size_t i = 0; is_any && i < m->run->results[a].n_tables; i++) {
            const ps_table *t = m->run->results[a].tables[i];
            if (t->home == PS_HOME_CLUSTER && t->made == NULL && strcmp(t->name, name) == 0) {
                return t;
            }
        }
    }
    return NULL;
}
