/* GET /api/chart: the pipelines of a cluster for the page, with the rank of the timeline that each row of the chart is; as a picture or
 * file to save; or one of its tables alone. */
#include <string.h>

#include "analyze/pipeline/chart_beside.h"
#include "analyze/pipeline/replay.h"
#include "schedule/schedule.h"
#include "serve/cluster/pipelines.h"
#include "serve/http/route.h"
#include "write/chart/chart_forms.h"
#include "write/chart/chart_page.h"
#include "write/chart/chart_rows.h"

/* --- what is asked ----------------------------------------------------------------------------------------------- */

typedef struct asked {
    ps_pipelines_ask pipelines;
    const ps_schedule *against; /* or NULL */
    int64_t beside;             /* the cluster whose chart lies below; -1: none */
    const char *format;         /* "page" for the page itself */
    int64_t step;
    int32_t pipeline;
    bool dark;
} asked;

static bool ask_chart_reply(const ps_request *q, ps_reply *r, asked *a) {
    *a = (asked){.format = ps_param_text(q, "format")};
    a->format = a->format != NULL ? a->format : "page";
    if (!ps_pipelines_ask_of(q, r, 0, &a->pipelines) ||
        !ps_pipelines_ask_drawn(q, r, &a->step, &a->pipeline) ||
        !ps_ask_flag(q, r, "dark", &a->dark)) {
        return false;
    }
    if (strcmp(a->format, "page") != 0 && strcmp(a->format, "svg") != 0 &&
        strcmp(a->format, "html") != 0 && strcmp(a->format, "json") != 0) {
        ps_reply_fail(r, 400, "format: page, svg, html or json");
        return false;
    }
    int64_t last = (int64_t)ps_store_n_clusters(q->store) - 1;
    if (!ps_ask_int(q, r, "beside", 0, last, -1, &a->beside)) {
        return false;
    }
    const char *against = ps_param_text(q, "against");
    if (against != NULL && (a->against = ps_schedule_find(against)) == NULL) {
        ps_reply_fail(r, 400, "against: there is no schedule '%.64s'", against);
        return false;
    }
    return true;
}

/* --- what is answered -------------------------------------------------------------------------------------------- */

/* The rank of the store that a row of the chart is; NULL none. Ranks of that number on another machine come second. */
static const char *chart_reply_place_of(const ps_store *store, const ps_cluster *cluster,
                                        const ps_chart *chart, const ps_chart_rank *rank) {
    const char *found = NULL;
    size_t n_own = 0;
    const char *only = NULL;
    for (size_t i = 0; i < ps_store_n_ranks(store); i++) {
        const ps_rank_entry *e = ps_store_rank(store, i);
        if (e->cluster != cluster) {
            continue;
        }
        n_own++;
        only = e->key;
        if (e->rank->rank == rank->rank && (found == NULL || e->rank->machine == rank->machine)) {
            found = e->key;
        }
    }
    /* A capture of one rank that does not know its number. */
    return found == NULL && n_own == 1 && chart->n_ranks == 1 ? only : found;
}

/* "places":[["KEY",clock_ns],...]: the chart's times + clock_ns are those of the rank. */
static void put_chart_reply_places(const ps_request *q, size_t cluster, const ps_chart *chart,
                                   ps_json *j) {
    ps_json_key_array(j, "places");
    for (size_t i = 0; i < chart->n_ranks; i++) {
        const ps_chart_rank *rank = &chart->ranks[i];
        const char *key =
            chart_reply_place_of(q->store, ps_store_cluster(q->store, cluster), chart, rank);
        ps_json_array(j);
        ps_json_str(j, key != NULL ? key : "");
        ps_json_int(j, rank->clock_is_taken_off ? rank->clock_offset_ns : 0);
        ps_json_close(j);
    }
    ps_json_close(j);
}

static ps_code put_chart_reply_file(const asked *a, const ps_chart_page *page, ps_reply *r,
                                    ps_err *err) {
    bool is_svg = strcmp(a->format, "svg") == 0;
    bool is_html = strcmp(a->format, "html") == 0;
    if (is_svg) {
        r->content_type = "image/svg+xml";
    } else if (is_html) {
        r->content_type = "text/html; charset=utf-8";
    }
    r->file_name = is_svg ? "pipeline.svg" : is_html ? "pipeline.html" : "pipeline.json";
    return ps_write_chart_form(is_svg    ? PS_CHART_SVG
                               : is_html ? PS_CHART_HTML
                                         : PS_CHART_JSON,
                               page, a->dark, &r->body, err);
}

static ps_code put_chart_reply_chart(const ps_request *q, const asked *a, const ps_pipelines *p,
                                     const ps_chart *against, ps_reply *r, ps_err *err) {
    bool any_step = a->step == PS_FIRST_STEP;
    ps_chart_page page = {.chart = p->chart,
                          .against = against,
                          .tables = p->tables,
                          .n_tables = p->n_tables,
                          .step = any_step ? ps_chart_usual_step(p->chart) : a->step,
                          .pipeline = a->pipeline};
    ps_code code = ps_chart_choose(page.chart, &page.step, &page.pipeline, err);
    if (code != PS_OK && code != PS_NOMEM && any_step) { /* that pipeline has other steps */
        page.step = PS_FIRST_STEP;
        page.pipeline = a->pipeline;
        code = ps_chart_choose(page.chart, &page.step, &page.pipeline, err);
    }
    if (code != PS_OK || strcmp(a->format, "page") != 0) {
        return code == PS_OK ? put_chart_reply_file(a, &page, r, err) : code;
    }
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    code = ps_page_put_chart(&page, &j, err);
    ps_json_line(&j, 0);
    if (against == NULL) {
        ps_json_key_null(&j, "against");
        ps_json_line(&j, 0);
    }
    put_chart_reply_places(q, a->pipelines.cluster, p->chart, &j);
    ps_json_close(&j);
    return code == PS_OK && !ps_buf_ok(&r->body) ? ps_fail_nomem(err) : code;
}

/* What lies below: a theory, or the chart of another capture under the same overrides; NULL where nothing was asked for. */
static ps_code make_against(const ps_request *q, const asked *a, const ps_chart *chart,
                            ps_chart **out, ps_err *err) {
    if (a->against != NULL) {
        *out = ps_theory_of(chart, a->against, err);
        return *out != NULL ? PS_OK : err->code;
    }
    if (a->beside < 0) {
        return PS_OK;
    }
    ps_pipelines_ask ask = a->pipelines;
    const ps_pipelines *base = NULL;
    ask.cluster = (size_t)a->beside;
    ps_code code = ps_pipelines_get(q, &ask, &base, err);
    if (code == PS_OK) {
        *out = ps_chart_beside(chart, base->chart, err);
        code = *out != NULL ? PS_OK : err->code;
    }
    ps_cache_release(q->cache, (void *)(uintptr_t)base);
    return code;
}

static void answer_chart_reply(const ps_request *q, ps_reply *r) {
    asked a;
    if (!ask_chart_reply(q, r, &a)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    const ps_pipelines *p = NULL;
    ps_chart *against = NULL;
    ps_code code = ps_pipelines_get(q, &a.pipelines, &p, &err);
    if (code == PS_OK && ps_param_text(q, "table") != NULL) {
        ps_put_tables(q, r, p->tables, p->n_tables, NULL);
    } else {
        code = code == PS_OK ? make_against(q, &a, p->chart, &against, &err) : code;
        code = code == PS_OK ? put_chart_reply_chart(q, &a, p, against, r, &err) : code;
    }
    if (code != PS_OK) {
        r->file_name = NULL;
        ps_reply_err(r, &err);
    }
    ps_chart_free(against);
    ps_cache_release(q->cache, (void *)(uintptr_t)p);
}

const ps_route ps_route_chart = {
    .path = "/api/chart", .method = "GET", .is_slow = true, .answer = answer_chart_reply};
