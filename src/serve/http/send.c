#include "serve/http/send.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

#define FOR_EVER "private, max-age=31536000, immutable"

/* The page asks this server only, nobody may frame it, and its address (with the view in it) is told to nobody. */
static const char *const PAGE_HEADERS[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: "
     "blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

static const char *const ALL_HEADERS[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static bool add_send(struct MHD_Response *response, const char *name, const char *value) {
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool add_list(struct MHD_Response *response, const char *const list[][2], size_t n) {
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = add_send(response, list[i][0], list[i][1]);
    }
    return ok;
}

/* Queues the response when all headers are there, and lets go of it. MHD_NO closes the connection. */
static enum MHD_Result queue(struct MHD_Connection *mhd, unsigned status,
                             struct MHD_Response *response, bool ok) {
    if (response == NULL) {
        return MHD_NO;
    }
    ok = ok && add_list(response, ALL_HEADERS, sizeof ALL_HEADERS / sizeof ALL_HEADERS[0]);
    enum MHD_Result result = ok ? MHD_queue_response(mhd, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

/* --- what the client has already --------------------------------------------------------------------------------- */

enum { ETAG = 24 };

static void make_etag(const void *bytes, size_t n, char out[ETAG]) {
    (void)snprintf(out, ETAG, "\"%016llx\"", (unsigned long long)ps_hash64(bytes, n));
}

static bool has_already(struct MHD_Connection *mhd, const char *etag) {
    const char *known =
        MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return known != NULL && (strstr(known, etag) != NULL || strcmp(known, "*") == 0);
}

static struct MHD_Response *empty_response(void) {
    return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_unchanged(struct MHD_Connection *mhd, const char *etag,
                                      const char *cache) {
    struct MHD_Response *response = empty_response();
    bool ok = response != NULL && add_send(response, MHD_HTTP_HEADER_ETAG, etag) &&
              add_send(response, MHD_HTTP_HEADER_CACHE_CONTROL, cache);
    return queue(mhd, MHD_HTTP_NOT_MODIFIED, response, ok);
}

/* --- replies --------------------------------------------------------------------------------------------------- */

static void free_reply(void *context) {
    ps_reply *r = context;
    ps_reply_fini(r);
    ps_free(r);
}

/* "attachment; filename=..."; the name is one of ours, without quotes. */
static bool add_file_name(struct MHD_Response *response, const char *name) {
    char text[256];
    (void)snprintf(text, sizeof text, "attachment; filename=\"%.200s\"", name);
    return name == NULL || add_send(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, text);
}

enum MHD_Result ps_send_reply(struct MHD_Connection *mhd, ps_reply *r) {
    char etag[ETAG] = "";
    bool is_kept = r->is_immutable && r->status == MHD_HTTP_OK;
    if (is_kept) {
        make_etag(ps_buf_str(&r->body), r->body.len, etag);
        if (has_already(mhd, etag)) {
            free_reply(r);
            return send_unchanged(mhd, etag, FOR_EVER);
        }
    }
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        r->body.len, (void *)(uintptr_t)ps_buf_str(&r->body), free_reply, r);
    if (response == NULL) {
        free_reply(r);
        return MHD_NO;
    }
    bool ok = add_send(response, MHD_HTTP_HEADER_CONTENT_TYPE, r->content_type) &&
              add_send(response, MHD_HTTP_HEADER_CACHE_CONTROL, is_kept ? FOR_EVER : "no-store") &&
              (!is_kept || add_send(response, MHD_HTTP_HEADER_ETAG, etag)) &&
              (r->file_name == NULL || add_file_name(response, r->file_name));
    return queue(mhd, r->status, response, ok);
}

enum MHD_Result ps_send_asset(struct MHD_Connection *mhd, const ps_asset *asset) {
    /* Asked for anew each time, since another program may have had this port yesterday; the answer is short then. */
    static const char CACHE[] = "no-cache";
    char etag[ETAG];
    make_etag(asset->bytes, asset->size, etag);
    if (has_already(mhd, etag)) {
        return send_unchanged(mhd, etag, CACHE);
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(
        asset->size, (void *)(uintptr_t)asset->bytes, MHD_RESPMEM_PERSISTENT);
    bool ok = response != NULL &&
              add_send(response, MHD_HTTP_HEADER_CONTENT_TYPE, asset->content_type) &&
              add_send(response, MHD_HTTP_HEADER_CACHE_CONTROL, CACHE) &&
              add_send(response, MHD_HTTP_HEADER_ETAG, etag) &&
              add_list(response, PAGE_HEADERS, sizeof PAGE_HEADERS / sizeof PAGE_HEADERS[0]);
    return queue(mhd, MHD_HTTP_OK, response, ok);
}

enum MHD_Result ps_send_not_allowed(struct MHD_Connection *mhd, const char *allowed) {
    static const char BODY[] = "{\"error\":\"this address is not asked with this method\"}\n";
    struct MHD_Response *response = MHD_create_response_from_buffer(
        sizeof BODY - 1, (void *)(uintptr_t)BODY, MHD_RESPMEM_PERSISTENT);
    bool ok = response != NULL && add_send(response, MHD_HTTP_HEADER_ALLOW, allowed) &&
              add_send(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json") &&
              add_send(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return queue(mhd, MHD_HTTP_METHOD_NOT_ALLOWED, response, ok);
}
