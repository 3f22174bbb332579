/* Everything that ps_trace_events_read says of a document, as text: one line an event, one an argument, a member, an
 * oddity. Two ways of reading are the same when their dumps are. Used by unit tests and fuzz targets. */
#ifndef PS_TESTS_EVENTS_DUMP_H
#define PS_TESTS_EVENTS_DUMP_H

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "read/events/trace_events_blocks.h"

static inline void dump_bytes(ps_buf *out, const char *bytes, size_t n) {
    static const char HEX[] = "0123456789abcdef";
    size_t n_done = 0; /* plain ones are added many at once: a text may have millions */
    ps_buf_add_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c <= 0x20 || c >= 0x7F || c == '"' || c == '%') {
            const char escaped[] = {'%', HEX[c >> 4], HEX[c & 15]};
            ps_buf_add(out, bytes + n_done, i - n_done);
            ps_buf_add(out, escaped, sizeof escaped);
            n_done = i + 1;
        }
    }
    ps_buf_add(out, bytes + n_done, n - n_done);
    ps_buf_add_char(out, '"');
}

static inline void dump_text(ps_buf *out, const char *what, const ps_event_batch *b, uint64_t id) {
    if (id >= b->n_texts) {
        __builtin_trap();
    }
    ps_buf_addf(out, " %s=", what);
    dump_bytes(out, b->texts[id].bytes, b->texts[id].n);
}

static inline void dump_value(ps_buf *out, const ps_event_batch *b, const ps_event_arg *a) {
    uint64_t bits = 0;
    switch (a->type) {
    case PS_ARG_INT:
        ps_buf_addf(out, " int=%" PRId64, a->u.i);
        break;
    case PS_ARG_BOOL:
        ps_buf_addf(out, " bool=%d", (int)a->u.i);
        break;
    case PS_ARG_NULL:
        ps_buf_addf(out, " null");
        break;
    case PS_ARG_REAL:
        memcpy(&bits, &a->u.r, sizeof bits);
        ps_buf_addf(out, " real=%016" PRIx64, bits);
        break;
    case PS_ARG_STR:
        dump_text(out, "str", b, a->u.text);
        break;
    case PS_ARG_NUMBER:
        dump_text(out, "number", b, a->u.text);
        break;
    default:
        dump_text(out, "json", b, a->u.text);
        break;
    }
}

static inline void dump_event(ps_buf *out, const ps_event_batch *b, const ps_event *e) {
    ps_buf_addf(out, "event at=%" PRIu64 " ph=%d flags=%x", e->offset, e->ph, e->flags);
    ps_buf_addf(out, " ts=%" PRId64 " dur=%" PRId64, e->ts_ns, e->dur_ns);
    if ((e->flags & PS_EVENT_PID_TEXT) != 0) {
        dump_text(out, "pid", b, (uint64_t)e->pid);
    } else {
        ps_buf_addf(out, " pid=%" PRId64, e->pid);
    }
    if ((e->flags & PS_EVENT_TID_TEXT) != 0) {
        dump_text(out, "tid", b, (uint64_t)e->tid);
    } else {
        ps_buf_addf(out, " tid=%" PRId64, e->tid);
    }
    if ((e->flags & PS_EVENT_ID_TEXT) != 0) {
        dump_text(out, "id", b, e->id_low);
    } else {
        ps_buf_addf(out, " id=%" PRIx64 ":%" PRIx64, e->id_high, e->id_low);
    }
    if ((e->flags & PS_EVENT_BIND_ID_TEXT) != 0) {
        dump_text(out, "bind", b, e->bind_id_low);
    } else {
        ps_buf_addf(out, " bind=%" PRIx64 ":%" PRIx64, e->bind_id_high, e->bind_id_low);
    }
    dump_text(out, "name", b, e->name);
    dump_text(out, "cat", b, e->cat);
    dump_text(out, "scope", b, e->scope_text);
    ps_buf_addf(out, " s=%d\n", e->scope);
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *a = &b->args[e->first_arg + i];
        ps_buf_addf(out, "  arg");
        dump_text(out, "key", b, a->key);
        dump_value(out, b, a);
        ps_buf_add_char(out, '\n');
    }
}

typedef struct events_dump {
    ps_buf out;
    uint64_t n_events;
} events_dump;

static inline ps_code dump_batch(void *context, const ps_event_batch *b, ps_err *err) {
    events_dump *d = context;
    (void)err;
    if (b->first_event != d->n_events || b->n_texts == 0 || b->texts[0].n != 0) {
        __builtin_trap();
    }
    for (size_t i = 0; i < b->n_events; i++) {
        const ps_event *e = &b->events[i];
        if (e->first_arg > b->n_args || e->n_args > b->n_args - e->first_arg) {
            __builtin_trap();
        }
        dump_event(&d->out, b, e);
    }
    d->n_events += b->n_events;
    return PS_OK;
}

static inline ps_code dump_member(void *context, const char *key, const char *json, size_t n,
                                  ps_err *err) {
    events_dump *d = context;
    (void)err;
    ps_buf_addf(&d->out, "member ");
    dump_bytes(&d->out, key, strlen(key));
    ps_buf_addf(&d->out, " ");
    dump_bytes(&d->out, json, n);
    ps_buf_add_char(&d->out, '\n');
    return PS_OK;
}

static inline void dump_oddities(ps_buf *out, const ps_diag *diag) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (diag->counts[k] > 0) {
            ps_buf_addf(out, "odd %s %" PRIu64, ps_oddity_name((ps_oddity)k), diag->counts[k]);
            for (int i = 0; i < PS_DIAG_PLACES && diag->places[k][i][0] != '\0'; i++) {
                ps_buf_addf(out, ", %s", diag->places[k][i]);
            }
            ps_buf_add_char(out, '\n');
        }
    }
}

/* Reads the bytes and returns the code; the text is in d->out, which the caller has initialised. */
static inline ps_code dump_document(events_dump *d, const void *bytes, size_t n,
                                    const ps_event_schema *schema, const ps_event_tuning *tuning,
                                    ps_diag *diag) {
    ps_err err = PS_ERR_INIT;
    ps_event_stats stats = {0};
    const ps_event_sink sink = {d, dump_batch, dump_member};
    memset(diag, 0, sizeof *diag);
    d->n_events = 0;
    ps_buf_clear(&d->out);
    ps_input *in = ps_input_of_memory(bytes, n, &err);
    if (in == NULL) {
        return err.code;
    }
    ps_code code = ps_trace_events_read_tuned(in, schema, &sink, tuning, diag, &stats, &err);
    ps_input_close(in);
    dump_oddities(&d->out, diag);
    if (code != PS_OK) {
        ps_buf_addf(&d->out, "failed %d at %" PRIu64 ": %s\n", (int)code, err.offset, err.msg);
        return code;
    }
    if (stats.n_events != d->n_events) {
        __builtin_trap();
    }
    ps_buf_addf(&d->out, "events=%" PRIu64 " bytes=%" PRIu64 " object=%d cut=%d\n", stats.n_events,
                stats.n_bytes, stats.is_object, stats.is_cut);
    return code;
}

#endif
