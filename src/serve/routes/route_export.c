/* GET /api/export: a part of a rank as a trace file that every viewer opens, pipescope too. */
#include <stdio.h>
#include <string.h>

#include "serve/http/route.h"
#include "serve/select/subset.h"
#include "write/trace/trace_writer.h"

#define MAX_BYTES ((size_t)256 << 20)

/* Names of formats, and what they are to a browser. */
typedef struct kind {
    const char *name, *suffix, *content_type;
} kind;

static const kind *ask_kind(const ps_request *q, ps_reply *r) {
    static const kind KINDS[] = {{"json", ".json", "application/json"},
                                 {"pftrace", ".pftrace", "application/octet-stream"}};
    const char *name = ps_param_text(q, "format");
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (name == NULL || strcmp(KINDS[i].name, name) == 0) {
            return &KINDS[i];
        }
    }
    ps_reply_fail(r, 400, "parameter 'format' is json or pftrace");
    return NULL;
}

static bool ask_lanes(const ps_request *q, ps_reply *r, const ps_loaded *l, ps_subset *what) {
    uint32_t *lanes = NULL;
    if (!ps_ask_list(q, r, "lanes", UINT32_MAX, 65536, &lanes, &what->n_lanes)) {
        return false;
    }
    what->lanes = lanes;
    for (size_t i = 0; i < what->n_lanes; i++) {
        const ps_layer *layer = NULL;
        uint32_t inner = 0;
        if (!ps_loaded_lane(l, lanes[i], &layer, &inner)) {
            ps_reply_fail(r, 404, "no lane %u", lanes[i]);
            return false;
        }
    }
    return true;
}

static ps_code write_trace(const ps_request *q, ps_reply *r, const ps_trace *t, const kind *k,
                           ps_err *err) {
    const char *key = ps_param_text(q, "rank");
    size_t at = ps_store_find(q->store, key, strlen(key));
    const ps_rank_entry *entry = ps_store_rank(q->store, at);
    ps_trace_source source = {.rank = entry->rank != NULL ? entry->rank->rank : -1,
                              .host = entry->host,
                              .title = ps_store_label(q->store, at),
                              .profiler =
                                  entry->rank != NULL ? ps_cluster_recorder(entry->rank) : NULL,
                              .machine = entry->rank != NULL ? entry->rank->machine : -1};
    ps_sink sink = ps_sink_buf(&r->body);
    r->body.max = MAX_BYTES;
    ps_trace_writer *w =
        ps_trace_writer_to_sink(ps_trace_format_for(k->suffix), &sink, &source, 1, err);
    if (w == NULL) {
        return err->code;
    }
    ps_code code = ps_trace_writer_rank(w, 0, t, err);
    if (code != PS_OK) {
        ps_trace_writer_abort(w);
        return code;
    }
    code = ps_trace_writer_commit(w, NULL, err);
    return code == PS_OK ? ps_sink_commit(&sink, err) : code;
}

/* "rank 3 1200-3400.json", of letters that every file system takes. */
static void name_file(const ps_request *q, ps_reply *r, const ps_subset *what, const kind *k) {
    const char *key = ps_param_text(q, "rank");
    const char *shown = ps_store_label(q->store, ps_store_find(q->store, key, strlen(key)));
    char name[160];
    char label[80];
    size_t n = 0;
    for (const char *s = shown; *s != '\0' && n < sizeof label - 1; s++) {
        bool is_plain =
            (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
        label[n++] = (char)(is_plain ? *s : '_');
    }
    label[n] = '\0';
    bool has_span = ps_param_text(q, "from") != NULL || ps_param_text(q, "to") != NULL;
    if (has_span) {
        (void)snprintf(name, sizeof name, "%s_%lld-%lld%s", label, (long long)what->from_ns,
                       (long long)what->to_ns, k->suffix);
    } else {
        (void)snprintf(name, sizeof name, "%s%s", label, k->suffix);
    }
    r->file_name = ps_arena_strndup(&r->arena, name, strlen(name));
}

/* The buffer has come to its maximum; the other reason to fail is memory. Pieces of at most 1 MiB are added. */
static bool is_full(const ps_buf *body) {
    return !ps_buf_ok(body) && body->len + ((size_t)2 << 20) > MAX_BYTES;
}

static void answer_export(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    ps_subset what = {0};
    const kind *k = ask_kind(q, r);
    if (k != NULL && ps_ask_rank(q, r, &l) && ps_ask_span(q, r, &what.from_ns, &what.to_ns) &&
        ask_lanes(q, r, l, &what)) {
        ps_err err = PS_ERR_INIT;
        ps_trace *t = ps_subset_trace(l, &what, &err);
        ps_code code = t != NULL ? write_trace(q, r, t, k, &err) : err.code;
        if (is_full(&r->body)) {
            ps_reply_say(r, 413,
                         "the span is more than %zu MiB as a file; choose a shorter one, or "
                         "fewer lanes",
                         "该区间写成文件超过 %zu MiB；请选择更短的区间或更少的泳道",
                         MAX_BYTES >> 20);
        } else if (code == PS_RANGE) {
            ps_reply_fail(r, 413, "%s", ps_err_text(r->lang, &err));
        } else if (!ps_buf_ok(&r->body)) {
            ps_reply_fail(r, 507, "out of memory");
        } else if (code != PS_OK) {
            ps_reply_err(r, &err);
        } else {
            r->content_type = k->content_type;
            name_file(q, r, &what, k);
        }
        ps_trace_free(t);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_export = {
    .path = "/api/export", .method = "GET", .is_slow = true, .answer = answer_export};
