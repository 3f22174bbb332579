/* GET /api/whatif: what makes the steps of a cluster slower than they could be, and what they would take with other ops; its
 * timeline to save. GET /api/plan: the split of layers that its measured stages ask for. */
#include <string.h>

#include "serve/cluster/whatifs.h"
#include "serve/http/route.h"
#include "write/report/plan_text.h"
#include "write/report/whatif_text.h"
#include "write/trace/ops_trace.h"

#define MOST_TABLES 16
#define MAX_TIMELINE_BYTES ((size_t)256 << 20)

/* The rest of an array, as the text of the command has them. `texts`: n strings of `room` bytes each. */
static void put_texts(ps_json *j, const char *texts, size_t room, size_t n) {
    for (size_t i = 0; i < n; i++) {
        ps_json_str(j, texts + i * room);
    }
    ps_json_close(j);
}

static bool put_whatif_members(const ps_whatif_view *view, ps_buf *out) {
    char doubts[PS_WHATIF_DOUBTS][PS_WHATIF_DOUBT];
    char waste[PS_WHATIF_WASTE];
    ps_json j = ps_json_members_to(out);
    ps_json_key_str(&j, "waste", ps_whatif_waste(view, waste));
    ps_json_key_str(&j, "usual", ps_whatif_usual(view->lang));
    size_t n = ps_whatif_doubts(view, doubts);
    ps_json_key_array(&j, "sentences");
    put_texts(&j, doubts[0], PS_WHATIF_DOUBT, n);
    return ps_buf_ok(out);
}

static bool put_plan_members(const ps_plan_view *view, ps_buf *out) {
    char sentences[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE];
    char remarks[PS_PLAN_REMARKS][PS_PLAN_REMARK];
    ps_json j = ps_json_members_to(out);
    ps_buf doubt = {0};
    size_t n_before;
    size_t n = ps_plan_sentences(view->lang, view->plan, sentences);
    ps_json_key_array(&j, "sentences");
    put_texts(&j, sentences[0], PS_PLAN_SENTENCE, n);
    n = ps_plan_remarks(view, remarks, &n_before);
    ps_json_key_array(&j, "remarks");
    put_texts(&j, remarks[0], PS_PLAN_REMARK, n);
    ps_plan_doubt(view->lang, view->plan, &doubt);
    ps_json_key_str(&j, "doubt", ps_buf_str(&doubt));
    bool ok = ps_buf_ok(&doubt) && ps_buf_ok(out);
    ps_buf_fini(&doubt);
    return ok;
}

/* `more`: a table that is made for the page, or NULL. */
static void put_whatif_tables(const ps_request *q, ps_reply *r, const ps_whatifs *w,
                              const ps_table *more, const char *members) {
    const ps_table *tables[MOST_TABLES];
    size_t n = 0;
    for (size_t i = 0; i < w->result.n_tables && n < MOST_TABLES; i++) {
        tables[n++] = w->result.tables[i];
    }
    if (more != NULL && n < MOST_TABLES) {
        tables[n++] = more;
    }
    ps_table_extra extra = {.notes = w->notes.texts, .n_notes = w->notes.n, .members = members};
    ps_put_tables(q, r, tables, n, &extra);
}

static void put_whatif_page(const ps_request *q, ps_reply *r, ps_lang lang, const ps_whatifs *w) {
    ps_whatif_view view = {.lang = lang, .title = "", .job = ps_result_table(&w->result, "whatif")};
    ps_buf members = {0};
    if (view.job == NULL) {
        ps_reply_say(r, 409, "The ops of this job do not tell who waits for whom.",
                     "该作业的算子没有说明谁在等待谁。");
    } else if (!put_whatif_members(&view, &members)) {
        ps_reply_fail(r, 507, "not enough memory for this reply");
    } else {
        put_whatif_tables(q, r, w, NULL, ps_buf_str(&members));
    }
    ps_buf_fini(&members);
}

static void put_whatif_timeline(ps_reply *r, const ps_whatifs *w) {
    const ps_table *timeline = ps_result_table(&w->result, "whatif_timeline");
    ps_err err = PS_ERR_INIT;
    r->body.max = MAX_TIMELINE_BYTES;
    ps_code code = timeline != NULL
                       ? ps_write_ops_trace_to(timeline, &r->body, &err)
                       : ps_fail_said(&err, PS_NOTHING, "There is no timeline of this question.",
                                      "该问题没有时间线。");
    if (code != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    r->content_type = "application/octet-stream";
    r->file_name = "whatif.pftrace";
}

static void answer_whatif(const ps_request *q, ps_reply *r) {
    ps_pipelines_ask ask;
    if (!ps_pipelines_ask_of(q, r, PS_OF_WHATIF, &ask)) {
        return;
    }
    const char *format = ps_param_text(q, "format");
    ask.opts.with_timeline = format != NULL && strcmp(format, "pftrace") == 0;
    ps_err err = PS_ERR_INIT;
    const ps_whatifs *w = NULL;
    if (ps_whatifs_get(q, &ask, &w, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else if (ask.opts.with_timeline) {
        put_whatif_timeline(r, w);
    } else {
        put_whatif_page(q, r, ask.opts.lang, w);
    }
    ps_cache_release(q->cache, (void *)(uintptr_t)w);
}

const ps_route ps_route_whatif = {
    .path = "/api/whatif", .method = "GET", .is_slow = true, .answer = answer_whatif};

static void put_plan_page(const ps_request *q, ps_reply *r, ps_lang lang, const ps_whatifs *w) {
    const ps_plan_view view = {.lang = lang,
                               .plan = ps_result_table(&w->result, "plan"),
                               .schedules = ps_result_table(&w->result, "plan_schedules")};
    if (view.plan == NULL) {
        ps_reply_say(r, 409, "The ops of this job do not tell what its stages take.",
                     "该作业的算子没有说明各阶段耗时。");
        return;
    }
    ps_buf members = {0};
    ps_column columns[PS_PLAN_COLUMNS];
    ps_table *shown = view.schedules != NULL ? ps_plan_shown(&view, columns) : NULL;
    if (!put_plan_members(&view, &members) || (view.schedules != NULL && shown == NULL)) {
        ps_reply_fail(r, 507, "not enough memory for this reply");
    } else {
        put_whatif_tables(q, r, w, shown, ps_buf_str(&members));
    }
    ps_table_free(shown);
    ps_buf_fini(&members);
}

static void answer_plan(const ps_request *q, ps_reply *r) {
    ps_pipelines_ask ask;
    if (!ps_pipelines_ask_of(q, r, PS_OF_PLAN, &ask)) {
        return;
    }
    if (ask.opts.split == NULL) {
        ps_reply_fail(
            r, 400,
            "parameter 'layers' is missing: those of each stage (8,8,8,8), or of the model "
            "(32)");
        return;
    }
    ps_err err = PS_ERR_INIT;
    const ps_whatifs *w = NULL;
    if (ps_whatifs_get(q, &ask, &w, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else {
        put_plan_page(q, r, ask.opts.lang, w);
    }
    ps_cache_release(q->cache, (void *)(uintptr_t)w);
}

const ps_route ps_route_plan = {
    .path = "/api/plan", .method = "GET", .is_slow = true, .answer = answer_plan};
