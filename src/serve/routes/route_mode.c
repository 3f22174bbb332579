/* GET /api/mode: an analysis of `pipescope modes` over a cluster that is served, with its options. Nothing is written. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"

/* What a page may ask for. The report and the comparison are no modes of `cluster`, and still what its tabs show. */
static bool is_shown_mode(const ps_analysis *a) {
    return !a->hidden || strcasecmp(a->name, "report") == 0 || strcasecmp(a->name, "compare") == 0;
}

/* Those that compare need parameter `baseline`. */
static const ps_analysis *find_mode(ps_reply *r, const char *name, bool has_baseline) {
    const ps_analysis *a = name != NULL ? ps_analysis_find(name) : NULL;
    if (name == NULL) {
        ps_reply_fail(r, 400, "parameter 'name' is missing: one of pipescope modes");
    } else if (a == NULL || !is_shown_mode(a)) {
        ps_reply_fail(r, 404, "there is no mode '%.80s': see pipescope modes", name);
        a = NULL;
    } else if (a->baseline != NULL && !has_baseline) {
        ps_reply_say(
            r, 400,
            "%s compares with another capture that is served: baseline=N, its number "
            "(pipescope serve NEW --baseline OLD)",
            "%s 与服务器上的另一份采集数据对比：baseline=N，即其编号（pipescope serve 新采集 --baseline 基线）",
            a->name);
        a = NULL;
    }
    return a;
}

/* Those of single ranks may have the same name; files are named by the rank, and nothing but files holds them. */
static bool is_of_all_ranks(const ps_table *t) {
    return t->home == PS_HOME_CLUSTER && t->made == NULL &&
           (t->to == 0 || (t->to & (PS_TO_DB | PS_TO_SCREEN | PS_TO_PROGRAM)) != 0);
}

static void put_result(const ps_request *q, ps_reply *r, ps_lang lang, const ps_modes *m) {
    const ps_result *result = &m->run->results[m->run->n_analyses - 1];
    const ps_table **tables = ps_calloc(result->n_tables + 1, sizeof *tables);
    const char *notes[PS_RUN_NOTES + 1];
    char of_ranks[160];
    size_t n = 0;
    size_t n_ranks = 0;
    if (tables == NULL) {
        ps_reply_fail(r, 507, "not enough memory for this reply");
        return;
    }
    for (size_t i = 0; i < result->n_tables; i++) {
        if (is_of_all_ranks(result->tables[i])) {
            tables[n++] = result->tables[i];
        } else {
            n_ranks++;
        }
    }
    memcpy(notes, m->notes.texts, m->notes.n * sizeof *notes);
    ps_table_extra extra = {.notes = notes, .n_notes = m->notes.n};
    if (n_ranks > 0) {
        (void)snprintf(of_ranks, sizeof of_ranks,
                       PS_SAY(lang,
                              "%zu %s of single ranks not shown: pipescope cluster writes them",
                              "%zu 张%.0s单个 rank 的表未显示：由 pipescope cluster 写出"),
                       n_ranks, n_ranks == 1 ? "table" : "tables");
        notes[extra.n_notes++] = of_ranks;
    }
    ps_put_tables(q, r, tables, n, &extra);
    ps_free(tables);
}

static void answer_mode(const ps_request *q, ps_reply *r) {
    ps_modes_ask ask = {.n_analyses = 1};
    int64_t baseline = -1;
    int64_t last = (int64_t)ps_store_n_clusters(q->store) - 1;
    ask.analyses[0] = find_mode(r, ps_param_text(q, "name"), ps_param_text(q, "baseline") != NULL);
    if (ask.analyses[0] == NULL || !ps_ask_int(q, r, "baseline", 0, last, -1, &baseline) ||
        !ps_ask_int(q, r, "base_step", -1, INT64_MAX, -1, &ask.baseline_step) ||
        !ps_ask_analysis(q, r, PS_OF_MODES, &ask.cluster, &ask.opts)) {
        return;
    }
    ask.baseline = (size_t)baseline;
    ask.rank_list = ps_param_text(q, "rank_list");
    ask.baseline_ranks = ps_param_text(q, "base_rank_list");
    if (strcmp(ask.analyses[0]->name, "report") == 0) {
        ps_modes_ask_report(q, &ask);
    } else if (strcmp(ask.analyses[0]->name, "compare") == 0) {
        ps_modes_ask_compare(q, &ask);
    }
    ps_err err = PS_ERR_INIT;
    const ps_modes *m = NULL;
    if (ps_modes_get(q, &ask, &m, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    put_result(q, r, ask.opts.lang, m);
    ps_cache_release(q->cache, (void *)(uintptr_t)m);
}

const ps_route ps_route_mode = {
    .path = "/api/mode", .method = "GET", .is_slow = true, .answer = answer_mode};
