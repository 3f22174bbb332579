/* The list of routes, and the parameters of a request. */
#include "serve/http/route.h"

#include <limits.h>
#include <string.h>

#include "analyze/core/analysis_options.h"
#include "base/num.h"

#define X(name) extern const ps_route ps_route_##name;
#include "serve/http/routes.def"
#undef X

static const ps_route *const ROUTES[] = {
#define X(name) &ps_route_##name,
#include "serve/http/routes.def"
#undef X
    NULL};

const ps_route *const *ps_routes(void) {
    return ROUTES;
}

const ps_route *ps_route_find(const char *method, const char *path, bool *other_method) {
    *other_method = false;
    for (size_t i = 0; ROUTES[i] != NULL; i++) {
        if (strcmp(ROUTES[i]->path, path) != 0) {
            continue;
        }
        if (strcmp(ROUTES[i]->method, method) == 0) {
            *other_method = false;
            return ROUTES[i];
        }
        *other_method = true;
    }
    return NULL;
}

void ps_route_answer(const ps_route *route, const ps_request *q, ps_reply *r) {
    route->answer(q, r);
    if (!ps_buf_ok(&r->body)) {
        ps_reply_say(r, 507, "not enough memory for this reply: ask for less of it",
                     "内存不足以答复：请缩小请求范围");
    }
}

/* --- the query ----------------------------------------------------------------------------------------------- */

static int route_hex_digit(char c) {
    char lower = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes %XX and '+' in place. False: an escape is none, or gives a zero byte. */
static bool decode_route(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != '%') {
            *to++ = (char)(*at == '+' ? ' ' : *at);
            continue;
        }
        int high = route_hex_digit(at[1]);
        int low = high >= 0 ? route_hex_digit(at[2]) : -1;
        if (low < 0 || high * 16 + low == 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        at += 2;
    }
    *to = '\0';
    return true;
}

bool ps_request_parse(ps_request *q, ps_reply *r, char *query) {
    q->n_params = 0;
    for (char *at = query; at != NULL && *at != '\0';) {
        char *next = strchr(at, '&');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *value = strchr(at, '=');
        if (value != NULL) {
            *value++ = '\0';
        } else {
            value = at + strlen(at);
        }
        if (*at != '\0') { /* "&&" is nothing */
            if (q->n_params == PS_REQUEST_MAX_PARAMS) {
                ps_reply_fail(r, 400, "more than %d parameters", PS_REQUEST_MAX_PARAMS);
                return false;
            }
            if (!decode_route(at) || !decode_route(value)) {
                ps_reply_fail(r, 400, "the query has an escape that is none");
                return false;
            }
            q->params[q->n_params++] = (ps_param){.name = at, .value = value};
        }
        at = next;
    }
    r->lang = ps_param_lang(q);
    r->nothing_is_ok = ps_param_text(q, "nothing") != NULL;
    return true;
}

/* --- parameters ---------------------------------------------------------------------------------------------- */

const char *ps_param_text(const ps_request *q, const char *name) {
    for (size_t i = 0; i < q->n_params; i++) {
        if (strcmp(q->params[i].name, name) == 0) {
            return q->params[i].value;
        }
    }
    return NULL;
}

ps_lang ps_param_lang(const ps_request *q) {
    return ps_analysis_lang(ps_param_text(q, "lang"));
}

bool ps_ask_int(const ps_request *q, ps_reply *r, const char *name, int64_t least, int64_t most,
                int64_t fallback, int64_t *out) {
    const char *text = ps_param_text(q, name);
    if (text == NULL) {
        *out = fallback;
        if (fallback == PS_REQUIRED) {
            ps_reply_fail(r, 400, "parameter '%s' is missing", name);
        }
        return fallback != PS_REQUIRED;
    }
    if (!ps_parse_i64(text, strlen(text), out) || *out < least || *out > most) {
        ps_reply_fail(r, 400, "parameter '%s' must be a whole number from %lld to %lld", name,
                      (long long)least, (long long)most);
        return false;
    }
    return true;
}

bool ps_ask_flag(const ps_request *q, ps_reply *r, const char *name, bool *out) {
    const char *text = ps_param_text(q, name);
    *out = text != NULL && strcmp(text, "1") == 0;
    if (text != NULL && !*out && strcmp(text, "0") != 0) {
        ps_reply_fail(r, 400, "parameter '%s' must be 0 or 1", name);
        return false;
    }
    return true;
}

bool ps_ask_span(const ps_request *q, ps_reply *r, int64_t *from_ns, int64_t *to_ns) {
    const int64_t far = (int64_t)1 << 61;
    if (!ps_ask_int(q, r, "from", -far, far, -far, from_ns) ||
        !ps_ask_int(q, r, "to", -far, far, far, to_ns)) {
        return false;
    }
    if (*from_ns > *to_ns) {
        ps_reply_fail(r, 400, "'from' lies behind 'to'");
        return false;
    }
    return true;
}

/* --- lists ----------------------------------------------------------------------------------------------------- */

/* The next number or range of a list; moves *at behind it and its comma. */
static bool next_range(const char **at, uint32_t *first, uint32_t *last) {
    size_t n = strspn(*at, "0123456789");
    int64_t low = 0;
    if (!ps_parse_i64(*at, n, &low) || low > UINT32_MAX) {
        return false;
    }
    *at += n;
    int64_t high = low;
    if (**at == '-') {
        ++*at;
        n = strspn(*at, "0123456789");
        if (!ps_parse_i64(*at, n, &high) || high > UINT32_MAX || high < low) {
            return false;
        }
        *at += n;
    }
    bool more = **at == ',';
    *at += more;
    *first = (uint32_t)low;
    *last = (uint32_t)high;
    return more ? **at != '\0' : **at == '\0';
}

uint64_t ps_param_list_length(const ps_request *q, const char *name) {
    const char *text = ps_param_text(q, name);
    uint64_t n = 0;
    while (text != NULL && *text != '\0') {
        uint32_t first = 0;
        uint32_t last = 0;
        if (!next_range(&text, &first, &last)) {
            return 0;
        }
        n += (uint64_t)last - first + 1;
    }
    return n;
}

static bool count_list(ps_reply *r, const char *name, const char *text, uint32_t stop, size_t max,
                       size_t *n) {
    *n = 0;
    while (*text != '\0') {
        uint32_t first = 0;
        uint32_t last = 0;
        if (!next_range(&text, &first, &last)) {
            ps_reply_fail(r, 400, "parameter '%s' must be a list of numbers: 0-5,9", name);
            return false;
        }
        if (last >= stop) {
            ps_reply_fail(r, 400, "parameter '%s': there is no number %u, they end before %u", name,
                          last, stop);
            return false;
        }
        *n += (size_t)last - first + 1;
        if (*n > max) {
            ps_reply_fail(r, 400, "parameter '%s' has more than %zu numbers", name, max);
            return false;
        }
    }
    return true;
}

bool ps_ask_list(const ps_request *q, ps_reply *r, const char *name, uint32_t stop, size_t max,
                 uint32_t **out, size_t *n) {
    *out = NULL;
    *n = 0;
    const char *text = ps_param_text(q, name);
    if (text == NULL || *text == '\0') {
        return true;
    }
    if (!count_list(r, name, text, stop, max, n)) {
        return false;
    }
    *out = ps_arena_alloc(&r->arena, *n * sizeof **out);
    if (*out == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    size_t at = 0;
    while (*text != '\0') {
        uint32_t first = 0;
        uint32_t last = 0;
        if (!next_range(&text, &first, &last)) {
            break; /* counted before, cannot be */
        }
        for (uint64_t i = first; i <= last; i++) {
            (*out)[at++] = (uint32_t)i;
        }
    }
    return true;
}
