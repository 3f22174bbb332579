#include "serve/http/server_exchange.h"

#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis_options.h"
#include "base/alloc.h"
#include "base/monotonic.h"
#include "base/num.h"
#include "serve/http/assets.h"
#include "serve/http/send.h"

/* --- replies --------------------------------------------------------------------------------------------------- */

static ps_reply *new_reply(void) {
    ps_reply *r = ps_alloc(sizeof *r);
    if (r != NULL) {
        ps_reply_init(r);
    }
    return r;
}

/* The request will be answered with this as soon as it may be. False: no memory. */
static bool exchange_refuse(ps_exchange *e, unsigned status, const char *why) {
    e->reply = e->reply != NULL ? e->reply : new_reply();
    if (e->reply != NULL) {
        ps_reply_fail(e->reply, status, "%s", why);
    }
    e->is_answered = true;
    return e->reply != NULL;
}

/* Before the address is taken apart. */
static ps_lang exchange_lang(const ps_exchange *e) {
    return ps_analysis_lang(MHD_lookup_connection_value(e->mhd, MHD_GET_ARGUMENT_KIND, "lang"));
}

static enum MHD_Result send_answer(ps_exchange *e) {
    ps_reply *r = e->reply;
    e->reply = NULL;
    if (r != NULL) {
        return ps_send_reply(e->mhd, r);
    }
    return e->allowed != NULL ? ps_send_not_allowed(e->mhd, e->allowed)
                              : ps_send_asset(e->mhd, &e->asset);
}

/* --- beginning ------------------------------------------------------------------------------------------------- */

static ps_conn *conn_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* The connection says something new, or is answered. */
static void note_conn(ps_exchange *e, bool is_reading) {
    if (e->conn != NULL) {
        (void)pthread_mutex_lock(&e->server->lock);
        e->conn->is_reading = is_reading;
        e->conn->since_ms = ps_monotonic_ms();
        (void)pthread_mutex_unlock(&e->server->lock);
    }
}

/* It is set aside from here on: the keeper looks whether anybody waits for it. Under the lock. */
static void watch_conn(ps_exchange *e, ps_watch *watch) {
    if (e->conn != NULL) {
        e->conn->asked = watch;
    }
}

void *ps_exchange_new(void *server, const char *uri, struct MHD_Connection *mhd) {
    ps_exchange *e = ps_calloc(1, sizeof *e);
    if (e == NULL) {
        return NULL;
    }
    e->server = server;
    e->mhd = mhd;
    e->conn = conn_of(mhd);
    ps_buf_init(&e->body, PS_REQUEST_MAX_BODY);
    size_t n = strlen(uri);
    e->uri = n <= PS_MAX_URI ? ps_strndup(uri, n) : NULL;
    e->query = e->uri != NULL ? strchr(e->uri, '?') : NULL;
    if (e->query != NULL) {
        *e->query++ = '\0';
    }
    /* libmicrohttpd is about to take the query apart, too, and hangs up without a word where its memory does not hold all parameters.
     * This is its own text: it finds an empty query. */
    char *own_query = strchr(uri, '?');
    if (own_query != NULL && own_query[1] != '\0') {
        own_query[1] = '\0';
    }
    note_conn(e, true);
    return e;
}

void ps_exchange_done(void *server, struct MHD_Connection *mhd, void **exchange,
                      enum MHD_RequestTerminationCode how) {
    (void)mhd;
    (void)how;
    ps_server *s = server;
    ps_exchange *e = *exchange;
    *exchange = NULL;
    if (e == NULL) {
        return;
    }
    note_conn(e, true);
    if (e->is_complete) {
        (void)pthread_mutex_lock(&s->lock);
        watch_conn(e, NULL);
        s->n_answering--;
        (void)pthread_cond_broadcast(&s->quiet);
        (void)pthread_mutex_unlock(&s->lock);
    }
    if (e->reply != NULL) {
        ps_reply_fini(e->reply);
        ps_free(e->reply);
    }
    ps_buf_fini(&e->body);
    ps_upload_leave(e->upload);
    ps_free(e->uri);
    ps_free(e);
}

/* --- who asks -------------------------------------------------------------------------------------------------- */

typedef struct headers {
    const char *host, *origin, *authorization, *length, *coding;
    bool has_two_hosts, has_two_codings;
} headers;

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *key,
                                   const char *value) {
    (void)kind;
    headers *h = context;
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
        h->has_two_hosts = h->host != NULL;
        h->host = value;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_ORIGIN) == 0) {
        h->origin = value;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_AUTHORIZATION) == 0) {
        h->authorization = value;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        h->length = value;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        h->has_two_codings = h->coding != NULL;
        h->coding = value;
    }
    return MHD_YES;
}

/* NULL, or why the one who asks gets nothing. */
static const char *stranger(const ps_exchange *e, const headers *h) {
    const ps_guard *g = &e->server->guard;
    if (h->has_two_hosts || !ps_guard_host(g, h->host)) {
        return "the Host of this request is none of this server's names: open the address that "
               "pipescope serve printed, or 127.0.0.1 through a tunnel";
    }
    if (!ps_guard_origin(h->origin, h->host)) {
        return "the Origin of this request is another site";
    }
    bool is_api = strncmp(e->uri, "/api/", 5) == 0;
    if (is_api && !ps_guard_token(g, h->authorization)) {
        return "the token is missing or wrong: send 'Authorization: Bearer TOKEN', with what "
               "stands behind #token= in the address that pipescope serve printed";
    }
    return NULL;
}

/* --- what is asked --------------------------------------------------------------------------------------------- */

static bool not_allowed(ps_exchange *e, const char *allowed) {
    e->allowed = allowed;
    e->is_answered = true;
    return true;
}

static bool find_asset(ps_exchange *e, const char *method) {
    if (!ps_asset_find(e->uri, &e->asset)) {
        return exchange_refuse(e, 404, "there is nothing at this address");
    }
    if (strcmp(method, "GET") != 0) {
        return not_allowed(e, "GET, HEAD");
    }
    e->is_answered = true;
    return true;
}

static bool find_route(ps_exchange *e, const char *method) {
    bool other_method = false;
    e->route = ps_route_find(method, e->uri, &other_method);
    if (e->route == NULL && other_method) {
        return not_allowed(e, strcmp(method, "POST") == 0 ? "GET, HEAD" : "POST");
    }
    return e->route != NULL || exchange_refuse(e, 404, "there is nothing at this address");
}

/* Whether it can be told where the body ends, in one way only: programs on the way here may have chosen the other one. */
static bool has_clear_end(const headers *h, const char *version) {
    return h->coding == NULL ||
           (h->length == NULL && !h->has_two_codings && strcasecmp(h->coding, "chunked") == 0 &&
            strcmp(version, MHD_HTTP_VERSION_1_1) == 0);
}

/* Looks at everything but the body. False: no memory. */
static bool look_exchange(ps_exchange *e, const char *method, const char *version,
                          const headers *h) {
    if (e->uri == NULL) {
        return exchange_refuse(e, 414, "the address is longer than 16 KiB");
    }
    if (!has_clear_end(h, version)) {
        return exchange_refuse(e, 400,
                               "Transfer-Encoding must be chunked, of HTTP/1.1, once, and without "
                               "Content-Length beside it");
    }
    const char *why = stranger(e, h);
    if (why != NULL) {
        return exchange_refuse(e, 403, why);
    }
    method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    bool is_api = strncmp(e->uri, "/api/", 5) == 0;
    return is_api ? find_route(e, method) : find_asset(e, method);
}

/* Whether the body that is announced is longer than the route takes. */
static bool is_too_long(const ps_exchange *e, const headers *h) {
    int64_t length = 0;
    size_t most = e->route->takes_file ? ps_uploads_room(e->server->uploads) : e->route->max_body;
    return h->length != NULL && (!ps_parse_i64(h->length, strlen(h->length), &length) ||
                                 length < 0 || (size_t)length > most);
}

static enum MHD_Result begin_exchange(ps_exchange *e, const char *method, const char *version) {
    headers h = {0};
    (void)MHD_get_connection_values(e->mhd, MHD_HEADER_KIND, take_header, &h);
    bool ok = look_exchange(e, method, version, &h);
    if (ok && !e->is_answered && is_too_long(e, &h)) {
        ok = exchange_refuse(e, 413, "the body of this request is too large");
    }
    /* An answer before the end of the request closes the connection: only where a body that nobody wants would follow. */
    bool has_body = h.coding != NULL || (h.length != NULL && strcmp(h.length, "0") != 0);
    return ok && e->is_answered && has_body ? send_answer(e) : ok ? MHD_YES : MHD_NO;
}

/* A piece of a file. Once it is refused the rest is passed over, so that who sends it reads why. False: no memory. */
static bool take_file(ps_exchange *e, const char *bytes, size_t n) {
    ps_err err = PS_ERR_INIT;
    if (e->is_answered) {
        return true;
    }
    note_conn(e, true); /* as long as something comes it may take its time */
    e->upload = e->upload != NULL ? e->upload : ps_upload_begin(e->server->uploads, &err);
    if (e->upload != NULL && ps_upload_add(e->upload, bytes, n, &err) == PS_OK) {
        return true;
    }
    return exchange_refuse(e, err.code == PS_RANGE ? 413 : 507,
                           ps_err_text(exchange_lang(e), &err));
}

/* A piece of the body. What comes without a length in front is cut off where it is too long. */
static enum MHD_Result take_body(ps_exchange *e, const char *bytes, size_t n) {
    if (e->route != NULL && e->route->takes_file) {
        return take_file(e, bytes, n) ? MHD_YES : MHD_NO;
    }
    if (e->route == NULL || e->body.len + n > e->route->max_body) {
        return MHD_NO;
    }
    ps_buf_add(&e->body, bytes, n);
    return ps_buf_ok(&e->body) ? MHD_YES : MHD_NO;
}

/* --- answering ------------------------------------------------------------------------------------------------- */

/* False: the reply says what is wrong with the parameters. */
static bool prepare_exchange(ps_exchange *e) {
    e->request.path = e->route->path;
    e->request.store = e->server->store;
    e->request.cache = e->server->cache;
    e->request.watch = &e->watch;
    e->request.body = ps_buf_str(&e->body);
    e->request.body_len = e->body.len;
    e->request.uploads = e->server->uploads;
    e->request.upload = e->upload;
    return ps_request_parse(&e->request, e->reply, e->query);
}

static void run_job(ps_job *job) {
    ps_exchange *e = (ps_exchange *)((char *)job - offsetof(ps_exchange, job));
    ps_err err = PS_ERR_INIT;
    if (ps_socket_is_gone(e->conn->fd)) {
        atomic_store(&e->watch.stop, true);
    }
    if (ps_watch_ask(&e->watch, &err) == PS_OK) {
        ps_route_answer(e->route, &e->request, e->reply);
    } else {
        ps_reply_err(e->reply, &err);
    }
    MHD_resume_connection(e->mhd);
}

static void drop_job(ps_job *job) {
    ps_exchange *e = (ps_exchange *)((char *)job - offsetof(ps_exchange, job));
    ps_reply_say(e->reply, 503, "the server is being stopped", "服务器正在停止");
    MHD_resume_connection(e->mhd);
}

/* Sets the request aside until the store changes or its time is over. False: there is something to answer. The store is
 * asked under the lock that ps_server_notify() takes, so that no change is missed in between. */
static bool wait_for_change(ps_exchange *e) {
    ps_server *s = e->server;
    if (e->route->must_wait == NULL || e->has_waited) {
        return false;
    }
    (void)pthread_mutex_lock(&s->lock);
    bool waits = !s->is_stopping && e->route->must_wait(&e->request, 0);
    if (waits) {
        e->has_waited = true; /* who comes back is answered */
        e->waits_since_ms = ps_monotonic_ms();
        e->next_waiting = s->waiting;
        s->waiting = e;
        watch_conn(e, &e->watch);
        MHD_suspend_connection(e->mhd);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return waits;
}

/* A worker answers; the request comes back through MHD_resume_connection(). */
static void set_aside(ps_exchange *e) {
    e->is_answered = true; /* when it comes back */
    e->job = (ps_job){.run = run_job, .drop = drop_job};
    (void)pthread_mutex_lock(&e->server->lock);
    watch_conn(e, &e->watch);
    (void)pthread_mutex_unlock(&e->server->lock);
    MHD_suspend_connection(e->mhd);
    if (!ps_job_queue_add(e->server->queue, &e->job)) {
        drop_job(&e->job);
    }
}

static bool is_slow(const ps_exchange *e) {
    return e->route->is_slow || (e->route->is_large != NULL && e->route->is_large(&e->request));
}

/* The whole request is there: it counts as being answered from here on. False: no memory. */
static bool complete_exchange(ps_exchange *e) {
    e->is_complete = true;
    note_conn(e, false);
    (void)pthread_mutex_lock(&e->server->lock);
    e->server->n_answering++;
    bool is_stopping = e->server->is_stopping;
    (void)pthread_mutex_unlock(&e->server->lock);
    if (e->is_answered) {
        return true;
    }
    /* Who asks to wait for a change is answered like those who wait already: the end is one. */
    if (is_stopping && e->route->must_wait == NULL) {
        return exchange_refuse(e, 503, "the server is being stopped");
    }
    e->reply = new_reply();
    e->is_answered = e->reply != NULL && !prepare_exchange(e);
    return e->reply != NULL;
}

static enum MHD_Result go_on(ps_exchange *e) {
    if (!e->is_complete && !complete_exchange(e)) {
        return MHD_NO;
    }
    if (!e->is_answered && wait_for_change(e)) {
        return MHD_YES;
    }
    if (!e->is_answered && is_slow(e)) {
        set_aside(e);
        return MHD_YES;
    }
    if (!e->is_answered) {
        ps_route_answer(e->route, &e->request, e->reply);
    }
    return send_answer(e);
}

enum MHD_Result ps_exchange_go(void *server, struct MHD_Connection *mhd, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **exchange) {
    (void)server;
    (void)mhd;
    (void)url;
    ps_exchange *e = *exchange;
    if (e == NULL || e->conn == NULL) {
        return MHD_NO;
    }
    if (!e->has_begun) {
        e->has_begun = true;
        note_conn(e, true);
        return begin_exchange(e, method, version);
    }
    if (*upload_size > 0) {
        enum MHD_Result result = take_body(e, upload, *upload_size);
        *upload_size = 0;
        return result;
    }
    return go_on(e);
}
