/* Routes: what the server answers. A route is a function from a request to a reply, it knows nothing of sockets: tests and
 * the fuzzer call it directly. All are listed in routes.def; docs/serve-api.md says what they take and give.
 *
 * Parameters are read by ps_ask_*: they check type and range, and fill the reply with status 400 and a sentence when
 * something is wrong; then the route returns. */
#ifndef PS_SERVE_ROUTE_H
#define PS_SERVE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/watch.h"
#include "model/table.h"
#include "serve/rank/loaded.h"
#include "serve/rank/store.h"

#define PS_REQUEST_MAX_PARAMS 64
#define PS_REQUEST_MAX_BODY                                                                        \
    ((size_t)4 << 20) /* a chart of durations to simulate; other routes take 64 KiB */

typedef struct ps_param {
    const char *name, *value; /* decoded, zero-terminated; no zero byte inside */
} ps_param;

/* Results that several requests share (chart, tables of analyses, lists of found slices): cache.h. */
struct ps_cache;

typedef struct ps_request {
    const char *path; /* as in routes.def */
    ps_store *store;
    struct ps_cache *cache;
    ps_param params[PS_REQUEST_MAX_PARAMS];
    size_t n_params;
    ps_watch *watch;  /* stopped when whoever asks has hung up; or NULL */
    const char *body; /* of a POST; zero-terminated */
    size_t body_len;
    struct ps_uploads *uploads; /* files that clients sent */
    struct ps_upload *upload;   /* the body of a route that takes a file; NULL: it had none */
} ps_request;

typedef struct ps_reply {
    unsigned status;          /* HTTP, 200 at first */
    const char *content_type; /* static; "application/json" at first */
    const char *file_name;    /* static or in `arena`: to be saved under this name; or NULL */
    bool is_immutable;        /* what is at this address never changes: ETag, cached for a year */
    ps_buf body;
    ps_arena arena;
    ps_lang lang; /* of whoever asks: parameter `lang` */
    /* Parameter `nothing`: who asks has to learn whether there is something, so that 409 is an answer: 200 {"nothing": "..."}. */
    bool nothing_is_ok;
} ps_reply;

void ps_reply_init(ps_reply *r);
void ps_reply_fini(ps_reply *r);
/* Replaces what is there by {"error": "..."}; 409 where that is one of two answers by {"nothing": "..."}. */
void ps_reply_fail(ps_reply *r, unsigned status, const char *fmt, ...) PS_PRINTF(3, 4);
/* The same in the language of whoever asks: what a page shows. What only a program does wrong, a parameter or a body, is told in English. */
void ps_reply_say(ps_reply *r, unsigned status, const char *english, const char *chinese, ...)
    PS_PRINTF_SAID(3, 4, 5);
/* 404 for PS_NOT_FOUND, 409 for PS_NOTHING, 400 for PS_USAGE and PS_RANGE, 503 for PS_BUSY, 507 for PS_NOMEM, else 500. */
void ps_reply_err(ps_reply *r, const ps_err *err);

typedef struct ps_route {
    const char *path;   /* "/api/tiles", matched whole */
    const char *method; /* "GET" or "POST" */
    bool
        is_slow; /* may take longer than a few milliseconds: answered by a worker, not by the thread of the socket */
    /* NULL, or whether a request of a route that is not slow is all the same, for what it asks of it. Never blocks. */
    bool (*is_large)(const ps_request *q);
    size_t max_body; /* POST */
    bool
        takes_file; /* POST: the body goes into a file (rank/uploads.h), which has a bound of its own */
    /* NULL, or true while there is nothing to answer yet: the server keeps the request without a thread, asks again when
     * the store has changed and now and then, and answers in any case after PS_WAIT_S. `waited_ms` is how long it has been
     * kept. Never blocks. */
    bool (*must_wait)(const ps_request *q, int64_t waited_ms);
    void (*answer)(const ps_request *q, ps_reply *r);
} ps_route;

#define PS_WAIT_S 20

/* All routes in the order of routes.def, NULL-terminated. */
const ps_route *const *ps_routes(void);
/* NULL: no such path (*other_method is set when there is one for another method). */
const ps_route *ps_route_find(const char *method, const char *path, bool *other_method);
/* Answers, and says so (507) when the reply did not fit into memory. */
void ps_route_answer(const ps_route *route, const ps_request *q, ps_reply *r);

/* Takes a query apart ("a=1&b=x%20y", without "?"), in place: the parameters point into it. False, with the reply filled:
 * escapes that are none, a zero byte, too many parameters. */
bool ps_request_parse(ps_request *q, ps_reply *r, char *query);

/* NULL when the parameter is not given. */
const char *ps_param_text(const ps_request *q, const char *name);
/* False, with the reply filled: it is no integer, or outside [least, most]. Not given: `fallback`; a required one is asked
 * for with PS_REQUIRED. */
#define PS_REQUIRED INT64_MIN
bool ps_ask_int(const ps_request *q, ps_reply *r, const char *name, int64_t least, int64_t most,
                int64_t fallback, int64_t *out);
bool ps_ask_flag(const ps_request *q, ps_reply *r, const char *name,
                 bool *out); /* "1", "0", not given: false */
/* The language that whoever asks wants sentences in: parameter `lang`; what is none of a language is English. */
ps_lang ps_param_lang(const ps_request *q);
/* A list of numbers and ranges, "0-5,9", each below `stop`, at most `max` of them, in the order given; in the reply's arena.
 * Not given or empty: none, *out NULL. */
bool ps_ask_list(const ps_request *q, ps_reply *r, const char *name, uint32_t stop, size_t max,
                 uint32_t **out, size_t *n);
/* How many numbers a list has, without looking at what they are; 0 when it is none. */
uint64_t ps_param_list_length(const ps_request *q, const char *name);
/* The number of the rank that parameter `rank` names, in whichever state. */
bool ps_ask_any_rank(const ps_request *q, ps_reply *r, size_t *out);
/* The rank that parameter `rank` names, ready; release it. Asks for it to be read when it is not there (409). */
bool ps_ask_rank(const ps_request *q, ps_reply *r, ps_loaded **out);
/* The slice of parameter `slice`. */
bool ps_ask_slice(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t *out);
/* Parameters `from` and `to`, ns from the rank's origin, from <= to; not given: everything. Both are within +-2^61, so that
 * their difference fits. */
bool ps_ask_span(const ps_request *q, ps_reply *r, int64_t *from_ns, int64_t *to_ns);

/* {"rank","slice","lane","row","start","dur","name","tint","kind"}: how every route names a slice. */
PS_MUST_USE ps_code ps_put_ref(ps_json *j, const char *rank_key, const ps_loaded *l, uint32_t slice,
                               ps_err *err);
/* The whole reply {"ref": that slice, null for PS_NONE}; `err` where `code` says that it was not found out. */
void ps_reply_ref(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t slice,
                  ps_code code, ps_err *err);
/* Its members alone, into the object that is open. */
PS_MUST_USE ps_code ps_put_ref_members(ps_json *j, const char *rank_key, const ps_loaded *l,
                                       uint32_t slice, ps_err *err);

/* Table as every route gives it, with parameters sort, desc, filter, offset, limit, format (docs/serve-api.md, "Tables").
 * Fills the reply. Rows on demand are not made but for those that are looked at; the order of a sorted or filtered table is
 * kept in the cache for the next page, under path and parameters. */
void ps_put_table(const ps_request *q, ps_reply *r, const ps_table *table);

/* What stands beside the rows. */
typedef struct ps_table_extra {
    const char *const *notes; /* sentences, or NULL */
    size_t n_notes;
    const char *members; /* more members of the JSON object (ps_json_members_to), or NULL */
    bool from_origin;    /* its moments count from the rank's origin: their names in files say so */
} ps_table_extra;
void ps_put_table_with(const ps_request *q, ps_reply *r, const ps_table *table,
                       const ps_table_extra *extra);

/* {"tables":[...],"notes":[...]}: each with its first rows in its own order. Parameter `table=NAME` asks for one of them
 * alone, as ps_put_table gives it. Entries may be NULL. */
void ps_put_tables(const ps_request *q, ps_reply *r, const ps_table *const *tables, size_t n,
                   const ps_table_extra *extra);

#endif
