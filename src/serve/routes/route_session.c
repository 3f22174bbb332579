/* GET /api/session: what changes only when a capture is opened or closed. */
#include <string.h>

#include "base/diag.h"
#include "schedule/schedule.h"
#include "serve/http/route.h"
#include "write/chart/chart_page.h"
#include "write/out/theme.h"

/* The theme of charts, and what the timeline has beyond that. */
static void put_theme(ps_json *j, bool dark) {
    ps_json_object(j);
    ps_page_put_theme(j, dark);
    ps_json_key_array(j, "lanes");
    for (int i = 0; i < PS_N_LANES; i++) {
        ps_page_put_colour(j, ps_theme_lane((ps_lane)i, dark));
    }
    ps_json_close(j);
    ps_json_key_array(j, "tints");
    for (int i = 0; i < PS_N_TINTS; i++) {
        ps_page_put_colour(j, ps_theme_tint(i, dark));
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void put_cluster(ps_lang lang, ps_json *j, const ps_cluster *c, bool is_open) {
    ps_json_object(j);
    ps_json_key_str(j, "path", c->path);
    if (!is_open) {
        ps_json_key_bool(j, "closed", true);
    }
    ps_json_key_array(j, "notes");
    if (c->left_out.in[lang] != NULL) {
        ps_json_str(j, c->left_out.in[lang]);
    }
    for (size_t i = 0; i < c->n_notes; i++) {
        ps_json_str(j, c->notes[i].in[lang]);
    }
    ps_json_close(j);
    ps_json_key_array(j, "oddities");
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (c->diag.counts[k] > 0) {
            char text[PS_ODDITY_TEXT];
            ps_oddity_text(lang, (ps_oddity)k, c->diag.counts[k], text, sizeof text);
            ps_json_str(j, text);
        }
    }
    ps_json_close(j);
    ps_json_close(j);
}

/* What the page calls itself: the folder or file that is served. */
static void put_session_title(ps_json *j, const ps_store *store) {
    const char *path = ps_store_n_clusters(store) > 0 ? ps_store_cluster(store, 0)->root : "";
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') {
        from--;
    }
    bool is_judged = n > from && strncmp(path + from, ".", n - from) != 0;
    ps_json_str_n(j, is_judged ? path + from : "pipescope", is_judged ? n - from : 9);
}

static void put_schedules(ps_lang lang, ps_json *j) {
    const ps_schedule *const *all = ps_schedules();
    for (size_t i = 0; all[i] != NULL; i++) {
        ps_json_object(j);
        ps_json_key_str(j, "name", all[i]->name);
        ps_json_key_str(j, "summary", PS_SAY(lang, all[i]->summary, all[i]->chinese));
        ps_json_close(j);
    }
}

static void answer_session(const ps_request *q, ps_reply *r) {
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_str(&j, "version", PIPESCOPE_VERSION);
    ps_json_key(&j, "title");
    put_session_title(&j, q->store);
    ps_json_key_object(&j, "theme");
    ps_json_key(&j, "light");
    put_theme(&j, false);
    ps_json_key(&j, "dark");
    put_theme(&j, true);
    ps_json_close(&j);
    ps_page_put_words(PS_ENGLISH, &j); /* the page has words of its own */
    ps_page_put_shapes(&j);
    ps_json_key_array(&j, "clusters");
    for (size_t i = 0; i < ps_store_n_clusters(q->store); i++) {
        put_cluster(ps_param_lang(q), &j, ps_store_cluster(q->store, i),
                    ps_store_is_open(q->store, i));
    }
    ps_json_close(&j);
    if (ps_store_baseline(q->store) != SIZE_MAX) {
        ps_json_key_uint(&j, "baseline", ps_store_baseline(q->store));
    }
    ps_json_key_array(&j, "schedules");
    put_schedules(ps_param_lang(q), &j);
    ps_json_close(&j);
    ps_json_close(&j);
}

const ps_route ps_route_session = {
    .path = "/api/session", .method = "GET", .answer = answer_session};
