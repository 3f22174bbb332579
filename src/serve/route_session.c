/* GET /api/session: what does not change while the server runs. */
#include <string.h>

#include "base/diag.h"
#include "schedule/schedule.h"
#include "serve/route.h"
#include "write/chart_page.h"
#include "write/theme.h"

static void put_colour(ps_buf *out, bool is_first, ps_rgb c) {
    ps_buf_addf(out, "%s\"#%02x%02x%02x\"", is_first ? "" : ",", c.r, c.g, c.b);
}

/* The theme of charts, and what the timeline has beyond that. */
static void put_theme(ps_reply *r, bool dark) {
    ps_buf page;
    ps_buf_init(&page, 0);
    ps_page_put_theme(&page, dark);
    if (page.len > 0) {
        ps_buf_add(&r->body, page.data, page.len - 1); /* but for its last brace */
    }
    ps_buf_add_str(&r->body, ",\"lanes\":[");
    for (int i = 0; i < PS_N_LANES; i++) {
        put_colour(&r->body, i == 0, ps_theme_lane((ps_lane)i, dark));
    }
    ps_buf_add_str(&r->body, "],\"tints\":[");
    for (int i = 0; i < PS_N_TINTS; i++) {
        put_colour(&r->body, i == 0, ps_theme_tint(i, dark));
    }
    ps_buf_add_str(&r->body, "]}");
    r->body.failed = r->body.failed || !ps_buf_ok(&page);
    ps_buf_fini(&page);
}

static void put_oddities(ps_buf *out, const ps_diag *d) {
    const char *comma = "";
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] > 0) {
            char text[256];
            ps_oddity_text((ps_oddity)k, d->counts[k], text, sizeof text);
            ps_buf_add_str(out, comma);
            ps_buf_add_json_str(out, text, strlen(text));
            comma = ",";
        }
    }
}

static void put_cluster(ps_buf *out, const ps_cluster *c) {
    ps_buf_add_str(out, "{\"path\":");
    ps_buf_add_json_str(out, c->path, strlen(c->path));
    ps_buf_add_str(out, ",\"notes\":[");
    if (c->left_out != NULL) {
        ps_buf_add_json_str(out, c->left_out, strlen(c->left_out));
    }
    for (size_t i = 0; i < c->n_notes; i++) {
        ps_buf_add_str(out, i > 0 || c->left_out != NULL ? "," : "");
        ps_buf_add_json_str(out, c->notes[i], strlen(c->notes[i]));
    }
    ps_buf_add_str(out, "],\"oddities\":[");
    put_oddities(out, &c->diag);
    ps_buf_add_str(out, "]}");
}

/* What the page calls itself: the folder or file that is served. */
static void put_title(ps_buf *out, const ps_store *store) {
    const char *path = ps_store_n_clusters(store) > 0 ? ps_store_cluster(store, 0)->root : "";
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') {
        from--;
    }
    bool is_told = n > from && strncmp(path + from, ".", n - from) != 0;
    ps_buf_add_json_str(out, is_told ? path + from : "pipescope", is_told ? n - from : 9);
}

static void put_schedules(ps_buf *out) {
    const ps_schedule *const *all = ps_schedules();
    for (size_t i = 0; all[i] != NULL; i++) {
        ps_buf_addf(out, "%s{\"name\":\"%s\",\"summary\":", i > 0 ? "," : "", all[i]->name);
        ps_buf_add_json_str(out, all[i]->summary, strlen(all[i]->summary));
        ps_buf_add_char(out, '}');
    }
}

static void answer(const ps_request *q, ps_reply *r) {
    ps_buf_addf(&r->body, "{\"version\":\"%s\",\"title\":", PIPESCOPE_VERSION);
    put_title(&r->body, q->store);
    ps_buf_add_str(&r->body, ",\"theme\":{\"light\":");
    put_theme(r, false);
    ps_buf_add_str(&r->body, ",\"dark\":");
    put_theme(r, true);
    ps_buf_add_str(&r->body, "},");
    ps_page_put_words(&r->body);
    ps_buf_add_str(&r->body, ",\"clusters\":[");
    for (size_t i = 0; i < ps_store_n_clusters(q->store); i++) {
        ps_buf_add_str(&r->body, i > 0 ? "," : "");
        put_cluster(&r->body, ps_store_cluster(q->store, i));
    }
    ps_buf_add_str(&r->body, "],\"schedules\":[");
    put_schedules(&r->body);
    ps_buf_add_str(&r->body, "]}");
}

const ps_route ps_route_session = {.path = "/api/session", .method = "GET", .answer = answer};
