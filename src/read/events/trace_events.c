/* The input comes in blocks. Each is fed to a small state machine for the outer form; inside the array of events a
 * ps_stretch does the work. What goes on behind a block waits in `rest` and is read again with the next one.
 *
 * A block that was parsed ahead counts when nothing waits and an event may begin where it begins: only then is its
 * beginning proven. Else it is read again with what waits, as if nobody had looked at it. */
#include "read/events/trace_events.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "read/events/trace_events_blocks.h"

#define NAME_MAX_BYTES ((size_t)1 << 20) /* of a member's name */

typedef enum place {
    AT_START,
    AT_KEY, /* of the outer object: a key or its end */
    AT_COLON,
    AT_MEMBER, /* before its value */
    AT_VALUE,  /* inside it */
    AT_NEXT,   /* behind a member: a comma or the end */
    AT_EVENTS,
    AT_SEEK, /* the outer object is malformed: looks for its events, for a colon, a bracket */
    AT_SEEK_COLON,
    AT_SEEK_BRACKET,
    AT_LOST, /* likewise, behind the events: nothing more is read */
    AT_DONE
} place;

/* A member's value, as far as it was seen. */
typedef struct member_value {
    ps_buf key, json;
    uint64_t offset;
    uint64_t depth;
    bool begun, in_string, escaped, too_long; /* too long, or it has no name: not handed over */
} member_value;

/* Text that goes on behind the blocks read so far, with PS_JSON_PAD zero bytes behind it. */
typedef struct rest {
    char *text;
    size_t n, cap;
    size_t enough; /* below this another try gives nothing new */
} rest;

typedef struct driver {
    ps_input *in;
    ps_blocks *blocks;
    const ps_event_sink *sink;
    ps_diag *diag;
    ps_event_stats *stats;
    ps_err *err;
    place place;
    bool saw_events, first_member, first_event;
    ps_expect expect;
    ps_stretch x;
    member_value m;
    rest rest;
    ps_event_block *ahead;        /* the block, when it was parsed ahead and that may count */
    const char *begin, *at, *end; /* what is being read: a block, or `rest` */
    uint64_t offset;              /* of `begin` */
    bool eof;
} driver;

/* More text is wanted. */
#define WAIT ((ps_code)-1)

static uint64_t here(const driver *d) {
    return d->offset + (uint64_t)(d->at - d->begin);
}

static void driver_odd(driver *d, ps_oddity kind) {
    ps_diag_add(d->diag, kind, "byte %llu", (unsigned long long)here(d));
}

static ps_code fail_here(driver *d, ps_code code, const char *what) {
    (void)ps_fail_file(d->err, code, ps_input_path(d->in), "%s", what);
    if (d->err != NULL) {
        d->err->offset = here(d);
    }
    return code;
}

static const char *spaces_end(const driver *d, const char *p) {
    while (p < d->end && ps_json_is_space(*p)) {
        p++;
    }
    return p;
}

static bool skip_driver_space(driver *d) {
    d->at = spaces_end(d, d->at);
    return d->at < d->end;
}

/* --- the outer form -------------------------------------------------------------------------------------- */

static void enter_events(driver *d) {
    if (d->saw_events) {
        driver_odd(d, PS_ODD_DUPLICATE_KEY); /* the events of both are read */
    }
    d->at++;
    d->place = AT_EVENTS;
    d->saw_events = true;
    d->expect = PS_EXPECT_FIRST;
    d->first_event = true;
}

static ps_code at_start(driver *d) {
    static const char BOM[3] = "\xEF\xBB\xBF";
    if (here(d) == 0) {
        size_t n = (size_t)(d->end - d->at);
        if (n < sizeof BOM && !d->eof && memcmp(d->at, BOM, n) == 0) {
            return WAIT;
        }
        d->at += n >= sizeof BOM && memcmp(d->at, BOM, sizeof BOM) == 0 ? sizeof BOM : 0;
    }
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at == '[') {
        enter_events(d);
        return PS_OK;
    }
    if (*d->at != '{') {
        return fail_here(d, PS_SYNTAX, "neither an array of events nor an object that holds one");
    }
    d->at++;
    d->stats->is_object = true;
    d->first_member = true;
    d->place = AT_KEY;
    return PS_OK;
}

static ps_code driver_lost(driver *d) {
    driver_odd(d, PS_ODD_JSON);
    d->place = d->saw_events ? AT_LOST : AT_SEEK;
    return PS_OK;
}

/* White space is passed as it comes, however much there is: what waits for more text stays small. */
static ps_code at_key(driver *d) {
    bool has_escape = false;
    unsigned odds = 0;
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at == '}') {
        if (!d->first_member) {
            driver_odd(d, PS_ODD_COMMA);
        }
        d->at++;
        d->place = AT_DONE;
        return PS_OK;
    }
    if (*d->at != '"') {
        return driver_lost(d);
    }
    const char *key = d->at + 1;
    const char *p = key;
    if (ps_json_skip_string(&p, d->end, &has_escape) != PS_JSON_OK) {
        return (size_t)(p - key) > NAME_MAX_BYTES ? driver_lost(d) : WAIT;
    }
    size_t n = (size_t)(p - key) - 1;
    if (n > NAME_MAX_BYTES) {
        return driver_lost(d);
    }
    ps_buf_clear(&d->m.key);
    char *plain = ps_alloc(3 * n);
    if (plain == NULL) {
        return ps_fail_nomem(d->err);
    }
    ps_buf_add(&d->m.key, plain, ps_json_unescape(key, n, plain, &odds));
    ps_free(plain);
    if (!ps_buf_ok(&d->m.key)) {
        return ps_fail_nomem(d->err);
    }
    d->at = p;
    d->first_member = false;
    d->place = AT_COLON;
    return PS_OK;
}

static ps_code at_colon(driver *d) {
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at != ':') {
        return driver_lost(d);
    }
    d->at++;
    d->place = AT_MEMBER;
    return PS_OK;
}

static ps_code at_member(driver *d) {
    static const char EVENTS[] = "traceEvents";
    member_value *m = &d->m;
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at == '[' && m->key.len == sizeof EVENTS - 1 &&
        memcmp(m->key.data, EVENTS, m->key.len) == 0) {
        enter_events(d);
        return PS_OK;
    }
    ps_buf_clear(&m->json);
    m->offset = here(d);
    m->depth = 0;
    m->begun = m->in_string = m->escaped = false;
    m->too_long = strlen(ps_buf_str(&m->key)) != m->key.len; /* else it would pass for another */
    if (m->too_long) {
        driver_odd(d, PS_ODD_TEXT);
    }
    d->place = AT_VALUE;
    return PS_OK;
}

/* Moves behind the value or to the end of the text; true when the value is complete. */
static bool skip_driver_member(driver *d) {
    member_value *m = &d->m;
    for (; d->at < d->end; d->at++) {
        char c = *d->at;
        if (m->in_string) {
            if (m->escaped) {
                m->escaped = false;
            } else if (c == '\\') {
                m->escaped = true;
            } else if (c == '"') {
                m->in_string = false;
                if (m->depth == 0) {
                    d->at++;
                    return true;
                }
            }
        } else if (c == '"') {
            m->in_string = true;
        } else if (c == '{' || c == '[') {
            m->depth++;
        } else if (m->depth == 0 && !ps_json_is_word_byte(c)) {
            return true;
        } else if ((c == '}' || c == ']') && --m->depth == 0) {
            d->at++;
            return true;
        }
        m->begun = true;
    }
    return false;
}

static ps_code at_value(driver *d) {
    member_value *m = &d->m;
    const char *from = d->at;
    bool complete = skip_driver_member(d);
    if (complete && !m->begun) {
        return driver_lost(d);
    }
    size_t n = (size_t)(d->at - from);
    if (d->sink->member != NULL && !m->too_long) {
        if (n > PS_EVENT_MAX_BYTES - m->json.len) {
            m->too_long = true;
            ps_diag_add(d->diag, PS_ODD_TEXT, "byte %llu: more than 64 MiB",
                        (unsigned long long)m->offset);
        } else {
            ps_buf_add(&m->json, from, n);
            if (!ps_buf_ok(&m->json)) {
                return ps_fail_nomem(d->err);
            }
        }
    }
    if (!complete) {
        return WAIT;
    }
    d->place = AT_NEXT;
    if (d->sink->member == NULL || m->too_long) {
        return PS_OK;
    }
    return d->sink->member(d->sink->context, ps_buf_str(&m->key), ps_buf_str(&m->json), m->json.len,
                           d->err);
}

static ps_code at_next(driver *d) {
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at != ',' && *d->at != '}') {
        return driver_lost(d);
    }
    d->place = *d->at == ',' ? AT_KEY : AT_DONE;
    d->at++;
    return PS_OK;
}

static ps_code at_seek(driver *d) {
    static const char KEY[] = "\"traceEvents\"";
    const size_t n_key = sizeof KEY - 1;
    while (d->at < d->end) {
        const char *found = memmem(d->at, (size_t)(d->end - d->at), KEY, n_key);
        if (found == NULL) {
            size_t keep = (size_t)(d->end - d->at) < n_key ? (size_t)(d->end - d->at) : n_key;
            d->at = d->end - keep;
            return WAIT;
        }
        const char *behind = found + n_key;
        d->at = behind < d->end ? behind : found;
        if (behind == d->end) {
            return WAIT;
        }
        if (*behind == ':' || ps_json_is_space(*behind)) {
            d->place = AT_SEEK_COLON;
            return PS_OK;
        }
        d->at = behind - 1; /* its last quote may begin another */
    }
    return WAIT;
}

static ps_code at_seek_colon(driver *d) {
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    d->place = *d->at == ':' ? AT_SEEK_BRACKET : AT_SEEK;
    d->at += *d->at == ':';
    return PS_OK;
}

static ps_code at_seek_bracket(driver *d) {
    if (!skip_driver_space(d)) {
        return WAIT;
    }
    if (*d->at == '[') {
        enter_events(d);
    } else {
        d->place = AT_SEEK;
    }
    return PS_OK;
}

static ps_code at_done(driver *d) {
    if (skip_driver_space(d)) {
        if (d->diag->counts[PS_ODD_TRAILING] == 0) {
            driver_odd(d, PS_ODD_TRAILING);
        }
        d->at = d->end;
    }
    return WAIT;
}

/* --- events ------------------------------------------------------------------------------------------------ */

static ps_code deliver(driver *d, ps_stretch *x) {
    ps_batch_build *b = &x->batch;
    ps_code code = PS_OK;
    ps_diag_merge(d->diag, &x->diag, NULL);
    memset(&x->diag, 0, sizeof x->diag);
    if (b->n_events > 0) {
        const ps_event_batch batch = {.events = b->events,
                                      .n_events = b->n_events,
                                      .first_event = d->stats->n_events,
                                      .args = b->args,
                                      .n_args = b->n_args,
                                      .texts = b->texts,
                                      .n_texts = b->n_texts};
        d->stats->n_events += b->n_events;
        code = d->sink->batch(d->sink->context, &batch, d->err);
    }
    ps_batch_build_clear(b);
    return code;
}

static ps_stretch_end run_here(driver *d) {
    ps_stretch *x = &d->x;
    x->begin = d->begin;
    x->at = d->at;
    x->end = d->end;
    x->offset = d->offset;
    x->at_eof = d->eof;
    x->is_object = d->stats->is_object;
    x->is_first = d->first_event;
    x->expect = d->expect;
    return ps_stretch_run(x);
}

static ps_code at_events(driver *d) {
    bool proven = d->ahead != NULL && d->at == d->begin && d->expect == PS_EXPECT_ELEMENT &&
                  !d->first_event && d->ahead->x.is_object == d->stats->is_object;
    ps_stretch *x = proven ? &d->ahead->x : &d->x;
    ps_stretch_end end = proven ? d->ahead->end : run_here(d);
    d->ahead = NULL;
    d->at = x->at;
    d->expect = x->expect;
    d->x.lost_offset = x->lost_offset;
    d->x.n_looked = x->n_looked;
    d->first_event = x->is_first;
    if (end == PS_STRETCH_NOMEM) {
        return ps_fail_nomem(d->err);
    }
    ps_code code = deliver(d, x);
    if (code != PS_OK) {
        return code;
    }
    switch (end) {
    case PS_STRETCH_LONG:
        return fail_here(d, PS_RANGE, "an event is longer than 64 MiB");
    case PS_STRETCH_NO_EVENTS:
        return fail_here(d, PS_SYNTAX, "the first element of the array is no event");
    case PS_STRETCH_ARRAY_END:
        d->place = d->stats->is_object ? AT_NEXT : AT_DONE;
        return PS_OK;
    default:
        break;
    }
    if (d->expect != PS_EXPECT_RESYNC && (size_t)(d->end - d->at) > PS_EVENT_MAX_BYTES) {
        return fail_here(d, PS_RANGE, "an event is longer than 64 MiB");
    }
    return WAIT;
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

static ps_code step_driver(driver *d) {
    switch (d->place) {
    case AT_START:
        return at_start(d);
    case AT_KEY:
        return at_key(d);
    case AT_COLON:
        return at_colon(d);
    case AT_MEMBER:
        return at_member(d);
    case AT_VALUE:
        return at_value(d);
    case AT_NEXT:
        return at_next(d);
    case AT_EVENTS:
        return at_events(d);
    case AT_SEEK:
        return at_seek(d);
    case AT_SEEK_COLON:
        return at_seek_colon(d);
    case AT_SEEK_BRACKET:
        return at_seek_bracket(d);
    case AT_LOST:
        d->at = d->end;
        return WAIT;
    default:
        return at_done(d);
    }
}

/* Text in front of the block, joined with it. */
static bool join_driver(rest *r, const char *text, size_t n) {
    if (!ps_grow(&r->text, &r->cap, r->n + n + PS_JSON_PAD, SIZE_MAX / 2, 1)) {
        return false;
    }
    memcpy(r->text + r->n, text, n);
    r->n += n;
    memset(r->text + r->n, 0, PS_JSON_PAD);
    return true;
}

/* What is not read yet waits for the next block. */
static bool keep_rest(driver *d, bool joined) {
    size_t left = (size_t)(d->end - d->at);
    bool in_vain = joined && d->at == d->begin;
    d->offset = here(d);
    d->rest.enough = 0;
    if (in_vain) { /* doubled each time, so that a long event is not read again with every block */
        d->rest.enough = 2 * left < PS_EVENT_MAX_BYTES ? 2 * left : PS_EVENT_MAX_BYTES;
        return true;
    }
    if (!joined) {
        return left == 0 || join_driver(&d->rest, d->at, left);
    }
    memmove(d->rest.text, d->at, left);
    d->rest.n = left;
    return true;
}

static ps_code feed_driver(driver *d, ps_event_block *block) {
    bool joined = d->rest.n > 0;
    d->eof = block->is_last;
    d->ahead = block->is_parsed && !joined ? block : NULL;
    if (joined && !join_driver(&d->rest, block->text, block->n)) {
        return ps_fail_nomem(d->err);
    }
    if (joined && d->rest.n <= d->rest.enough && !block->is_last) {
        return PS_OK;
    }
    d->begin = joined ? d->rest.text : block->text;
    d->end = d->begin + (joined ? d->rest.n : block->n);
    d->at = d->begin;
    ps_code code = PS_OK;
    while (code == PS_OK) {
        code = step_driver(d);
    }
    if (code != WAIT) {
        return code;
    }
    return keep_rest(d, joined) ? PS_OK : ps_fail_nomem(d->err);
}

/* What the end of the input means for the place where it came. */
static ps_code finish_driver(driver *d) {
    bool in_array = d->place == AT_EVENTS && !d->stats->is_object && d->rest.n == 0 &&
                    d->expect != PS_EXPECT_RESYNC;
    d->at = d->begin = d->end = NULL;
    if (d->place == AT_START) {
        return fail_here(d, PS_SYNTAX, "the file is empty");
    }
    bool complete = d->place == AT_DONE || d->place == AT_LOST;
    bool no_bracket = in_array || d->place == AT_NEXT;
    d->stats->is_cut = ps_input_is_cut(d->in) || (!complete && !no_bracket);
    if (d->stats->is_cut) {
        driver_odd(d, PS_ODD_TRUNCATED);
    } else if (no_bracket) {
        driver_odd(d, PS_ODD_NO_BRACKET);
    }
    if (!d->saw_events && !d->stats->is_cut) {
        return fail_here(d, PS_SYNTAX, "the object holds no traceEvents");
    }
    return PS_OK;
}

/* What was read ahead and did not count. */
static void forget_ahead(ps_event_block *block) {
    if (block->is_parsed) {
        ps_batch_build_clear(&block->x.batch);
        memset(&block->x.diag, 0, sizeof block->x.diag);
        block->x.nomem = false;
    }
}

static ps_code read_all_driver(driver *d) {
    ps_code code = PS_OK;
    while (code == PS_OK) {
        ps_event_block *block =
            ps_blocks_next(d->blocks, d->place == AT_EVENTS, d->stats->is_object);
        if (block == NULL) {
            return finish_driver(d);
        }
        d->stats->n_bytes += block->n;
        code = block->code == PS_OK ? feed_driver(d, block) : block->code;
        if (block->code != PS_OK && d->err != NULL) {
            *d->err = block->err;
        }
        forget_ahead(block);
        ps_blocks_release(d->blocks, block);
    }
    return code;
}

ps_code ps_trace_events_read_tuned(ps_input *in, const ps_event_schema *schema,
                                   const ps_event_sink *sink, const ps_event_tuning *tuning,
                                   ps_diag *diag, ps_event_stats *stats, ps_err *err) {
    driver d = {.in = in, .sink = sink, .diag = diag, .stats = stats, .err = err};
    ps_event_schema wants = *schema;
    if (wants.wanted != NULL && wants.wanted[0] == NULL) {
        wants.wanted = NULL;
    }
    *stats = (ps_event_stats){0};
    ps_buf_init(&d.m.key, 3 * NAME_MAX_BYTES);
    ps_buf_init(&d.m.json, PS_EVENT_MAX_BYTES);
    d.blocks = ps_blocks_new(in, &wants, tuning);
    bool ok = d.blocks != NULL && ps_stretch_init(&d.x, &wants);
    if (ok) {
        d.x.shapes = ps_blocks_shapes(d.blocks);
        d.x.fast = ps_blocks_fast(d.blocks);
    }
    ps_code code = ok ? read_all_driver(&d) : ps_fail_nomem(err);
    ps_blocks_free(d.blocks);
    ps_stretch_fini(&d.x);
    ps_buf_fini(&d.m.key);
    ps_buf_fini(&d.m.json);
    ps_free(d.rest.text);
    return code;
}

ps_code ps_trace_events_read(ps_input *in, const ps_event_schema *schema, const ps_event_sink *sink,
                             size_t n_threads, ps_diag *diag, ps_event_stats *stats, ps_err *err) {
    const ps_event_tuning tuning = {.n_threads = n_threads};
    return ps_trace_events_read_tuned(in, schema, sink, &tuning, diag, stats, err);
}
