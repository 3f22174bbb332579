/* The input is what a client sends, as far as it concerns us: a line "GET /api/tiles?rank=r0&level=3", lines of headers
 * ("Host: x", "Origin: x", "Authorization: x"), an empty line, a body. Every route answers it over one small rank that is
 * built once; what comes out must be a reply that a client can read. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "serve/http/assets.h"
#include "serve/http/guard.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_ROUNDS = 40, MAX_CHECKED = 200000 };

/* What the requests are answered from; alive from the first input to the end. */
static ps_store *store;
static ps_cache *cache;
static ps_guard guard;

/* --- a rank with a bit of everything ------------------------------------------------------------------------- */

static uint32_t track(ps_builder *b, ps_track_kind kind, int64_t tid, int64_t device,
                      const char *name) {
    return ps_builder_track(b, (ps_track){.kind = kind,
                                          .pid = 1,
                                          .tid = tid,
                                          .device = device,
                                          .name = ps_builder_str(b, name, strlen(name))});
}

static uint32_t slice(ps_builder *b, ps_slice_kind kind, uint32_t on, const char *name,
                      int64_t start, int64_t dur) {
    return ps_builder_slice(b, kind, on, ps_builder_str(b, name, strlen(name)), start, start + dur,
                            start);
}

static void add_round(ps_builder *b, int64_t i, uint32_t host, uint32_t stream, uint32_t comm) {
    int64_t t = i * 1000;
    char name[32];
    (void)snprintf(name, sizeof name, "F%lld", (long long)(i % 4));
    (void)slice(b, PS_SLICE_PYTHON, host, "train.py(3): step", t, 950);
    uint32_t op =
        slice(b, PS_SLICE_HOST_OP, host, i % 2 == 0 ? "aten::mm" : "aten::add", t + 10, 400);
    ps_builder_arg_str(b, op, "Input Dims", ps_builder_str(b, "[[2,3],[3,4]]", 13));
    ps_builder_arg_int(b, op, "Sequence number", i);
    uint32_t call = slice(b, PS_SLICE_CALL, host, "launch", t + 20, 50);
    uint32_t kernel =
        slice(b, PS_SLICE_KERNEL, stream, i % 3 == 0 ? "matmul" : "add", t + 200, 300);
    ps_builder_flow_of(b, call, kernel, ps_builder_str(b, "ac2g", 4));
    uint32_t mark = slice(b, PS_SLICE_MARK_HOST, host, name, t + 5, 900);
    ps_builder_flow(b, mark, slice(b, PS_SLICE_MARK_DEVICE, stream, name, t + 190, 500));
    (void)slice(b, PS_SLICE_COMM_OP, comm, "hcom_allReduce_", t + 400, 200);
    (void)slice(b, PS_SLICE_SYNC, stream, "EVENT_WAIT", t + 600, 0);
}

static ps_trace *build(void) {
    ps_builder *b = ps_builder_new();
    uint32_t host = track(b, PS_TRACK_HOST_THREAD, 7, -1, "");
    uint32_t stream = track(b, PS_TRACK_STREAM, 3, 0, "");
    uint32_t comm = track(b, PS_TRACK_COMM_GROUP, 0, 0, "group");
    uint32_t counter = track(b, PS_TRACK_COUNTER, 0, 0, "HBM/Read");
    for (int64_t i = 0; i < N_ROUNDS; i++) {
        add_round(b, i, host, stream, comm);
        (void)ps_builder_counter(b, counter, i * 500, (double)(i % 7));
    }
    for (int64_t i = 0; i < 4; i++) {
        ps_builder_step(b, i, i * 10000, (i + 1) * 10000);
    }
    return ps_builder_seal(b, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    ps_trace *trace = build();
    store = trace != NULL ? ps_store_of_trace(trace, "r0", NULL) : NULL;
    cache = ps_cache_new((size_t)1 << 20); /* small, so that things are thrown out */
    if (store == NULL || cache == NULL ||
        ps_guard_init(&guard, "0.0.0.0", false, true, "token", NULL) != PS_OK) {
        abort();
    }
    return 0;
}

/* --- one request --------------------------------------------------------------------------------------------- */

static void must(bool ok, const char *what) {
    if (!ok) {
        (void)fprintf(stderr, "a reply that cannot be: %s\n", what);
        abort();
    }
}

static void check_json(ps_reply *r) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err err = PS_ERR_INIT;
    const char *text = ps_buf_str(&r->body);
    if (ps_literal_parse(&arena, text, r->body.len, &err) == NULL && err.code != PS_NOMEM) {
        (void)fprintf(stderr, "%.2000s\n", text);
        must(false, err.msg);
    }
    ps_arena_fini(&arena);
}

static void check(ps_reply *r) {
    must(r->status >= 200 && r->status < 600 && r->status != 500, ps_buf_str(&r->body));
    must(r->content_type != NULL, "no type");
    must(r->status == 200 || (!r->is_immutable && r->file_name == NULL), "an error to be kept");
    must(r->status == 200 || strncmp(ps_buf_str(&r->body), "{\"error\":", 9) == 0,
         "an error without a sentence");
    if (strcmp(r->content_type, "application/json") == 0 && r->body.len < MAX_CHECKED) {
        check_json(r);
    }
}

/* The value of a header in `text`, cut off at its line; NULL: none. */
static char *header(char *text, const char *name) {
    size_t n = strlen(name);
    for (char *line = text; line != NULL && *line != '\0';) {
        char *next = strchr(line, '\n');
        if (strncmp(line, name, n) == 0) {
            return line + n;
        }
        line = next != NULL ? next + 1 : NULL;
    }
    return NULL;
}

static const char *cut(char *value) {
    if (value != NULL) {
        value[strcspn(value, "\n")] = '\0';
    }
    return value;
}

static void check_guard(const char *headers) {
    static const char *const NAMES[] = {"Host: ", "Origin: ", "Authorization: "};
    char *copies[3];
    const char *values[3];
    for (int i = 0; i < 3; i++) {
        copies[i] = strdup(headers);
        values[i] = copies[i] != NULL ? cut(header(copies[i], NAMES[i])) : NULL;
    }
    bool host = ps_guard_host(&guard, values[0]);
    must(!host || values[0] != NULL, "no host is a good host");
    (void)ps_guard_origin(values[1], values[0]);
    bool token = ps_guard_token(&guard, values[2]);
    must(!token || (values[2] != NULL && strcmp(values[2] + 7, "token") == 0),
         "a token that is none");
    for (int i = 0; i < 3; i++) {
        free(copies[i]);
    }
}

/* What asks for a query that does not end waits for it no longer than a second. Of parameters of one name the first one counts. */
static void bound_query(ps_request *q) {
    if (q->n_params < PS_REQUEST_MAX_PARAMS) {
        memmove(&q->params[1], &q->params[0], q->n_params * sizeof q->params[0]);
        q->params[0] = (ps_param){.name = "timeout", .value = "1"};
        q->n_params++;
    }
}

static void answer(const char *method, char *uri, const char *body, size_t n_body) {
    char *query = strchr(uri, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    ps_asset asset;
    (void)ps_asset_find(uri, &asset);
    bool other = false;
    const ps_route *route = ps_route_find(method, uri, &other);
    if (route == NULL) {
        return;
    }
    ps_request q = {
        .path = route->path, .store = store, .cache = cache, .body = body, .body_len = n_body};
    ps_reply r;
    ps_reply_init(&r);
    if (n_body <= route->max_body && ps_request_parse(&q, &r, query)) {
        if (route->must_wait != NULL) {
            (void)route->must_wait(&q, (int64_t)n_body);
        }
        if (strcmp(route->path, "/api/query") == 0) {
            bound_query(&q);
        }
        ps_route_answer(route, &q, &r);
        check(&r);
    }
    ps_reply_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    char *line_end = strchr(text, '\n');
    char *blank = strstr(text, "\n\n");
    char *body = blank != NULL ? blank + 2 : text + size;
    if (blank != NULL) {
        blank[1] = '\0';
    }
    if (line_end != NULL) {
        *line_end = '\0';
        check_guard(line_end + 1);
    }
    char *uri = strchr(text, ' ');
    if (uri != NULL) {
        *uri++ = '\0';
        answer(text, uri, body, size - (size_t)(body - text));
    }
    free(text);
    return 0;
}
