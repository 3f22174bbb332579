/* Counters: each argument of a C event is a value of a series named "<event>/<argument>". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "read/events/trace_model_parts.h"

#define MAX_PART_BYTES ((size_t)1024) /* of a name: one event may hold thousands of series */
#define ID_FLAGS (PS_EVENT_HAS_ID | PS_EVENT_ID_TEXT)

/* A part that is too long is cut between characters; its hash keeps it apart from others. */
static void add_counter_part(const ps_model_event *e, ps_buf *name, const char *bytes, size_t n) {
    if (n <= MAX_PART_BYTES) {
        ps_buf_add(name, bytes, n);
        return;
    }
    size_t cut = MAX_PART_BYTES;
    while (cut > 0 && ((unsigned char)bytes[cut] & 0xC0) == 0x80) {
        cut--;
    }
    ps_buf_add(name, bytes, cut);
    ps_buf_addf(name, "~%016llx", (unsigned long long)ps_hash64(bytes, n));
    ps_diag_add(e->model->diag, PS_ODD_TEXT,
                "event %lld (byte %llu): a counter's name of %zu bytes, shortened",
                (long long)e->row, (unsigned long long)e->event->offset, n);
}

static void add_id(ps_buf *name, const ps_model_event *e) {
    const ps_event *event = e->event;
    if ((event->flags & PS_EVENT_HAS_ID) == 0) {
        return;
    }
    ps_buf_add_char(name, '[');
    if ((event->flags & PS_EVENT_ID_TEXT) != 0) {
        const ps_event_text *t = &e->batch->texts[event->id_low];
        add_counter_part(e, name, t->bytes, t->n);
    } else if (event->id_high != 0) {
        ps_buf_addf(name, "0x%llx%016llx", (unsigned long long)event->id_high,
                    (unsigned long long)event->id_low);
    } else {
        ps_buf_addf(name, "%llu", (unsigned long long)event->id_low);
    }
    ps_buf_add_char(name, ']');
}

/* The usual track of a series; `key` none: the event's name alone. */
static uint32_t counter_usual_track(ps_trace_model *m, const ps_model_event *e, ps_str key) {
    ps_buf name = {0};
    add_counter_part(e, &name, ps_builder_text(m->builder, e->name),
                     ps_builder_text_len(m->builder, e->name));
    add_id(&name, e);
    if (!ps_str_is_none(key)) {
        ps_buf_add_char(&name, '/');
        add_counter_part(e, &name, ps_builder_text(m->builder, key),
                         ps_builder_text_len(m->builder, key));
    }
    uint32_t track = PS_NONE;
    if (ps_buf_ok(&name)) {
        track = ps_builder_track(
            m->builder,
            (ps_track){.kind = PS_TRACK_COUNTER,
                       .pid = e->pid,
                       .tid = -1,
                       .device = -1,
                       .name = ps_builder_str(m->builder, ps_buf_str(&name), name.len)});
    }
    ps_buf_fini(&name);
    return track;
}

static bool same_series(const ps_counter_series *a, const ps_counter_series *b) {
    return a->pid == b->pid && a->name == b->name && a->key == b->key && a->id_low == b->id_low &&
           a->id_high == b->id_high && a->id_flags == b->id_flags;
}

/* The row, or PS_NONE and under which hash to put it. */
static uint32_t find_series(const ps_trace_model *m, const ps_counter_series *s, uint64_t *hash) {
    const uint64_t fields[] = {(uint64_t)s->pid, (uint64_t)s->name << 32 | s->key, s->id_high,
                               s->id_low, s->id_flags};
    *hash = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&m->series_rows, *hash)) != PS_IDMAP_NONE; (*hash)++) {
        if (same_series(&m->series[row], s)) {
            return row;
        }
    }
    return PS_NONE;
}

static void add_series(ps_trace_model *m, ps_counter_series s, uint64_t hash) {
    if (!ps_grow(&m->series, &m->cap_series, m->n_series + 1, PS_MODEL_MAX, sizeof *m->series) ||
        !ps_idmap_put(&m->series_rows, hash, (uint32_t)m->n_series)) {
        m->failed = true;
        return;
    }
    m->series[m->n_series++] = s;
}

/* "value", or the counter's own name: says nothing that the event's name does not say. */
static bool key_is_plain(const ps_trace_model *m, const ps_model_event *e, ps_str key) {
    static const char VALUE[] = "value";
    bool is_value = ps_builder_text_len(m->builder, key) == sizeof VALUE - 1 &&
                    memcmp(ps_builder_text(m->builder, key), VALUE, sizeof VALUE - 1) == 0;
    return e->event->n_args == 1 && (is_value || ps_str_eq(key, e->name));
}

/* The same without making a name every time. The first value of a counter decides whether a series has its name alone:
 * whatever comes later, a series stays one. */
static uint32_t series_track(ps_trace_model *m, const ps_model_event *e, ps_str key) {
    uint64_t hash = 0;
    uint64_t whole_hash = 0;
    ps_counter_series s = {
        .pid = e->pid, .name = e->name.id, .key = key.id, .id_flags = e->event->flags & ID_FLAGS};
    if ((s.id_flags & PS_EVENT_HAS_ID) != 0) {
        bool is_text = (s.id_flags & PS_EVENT_ID_TEXT) != 0;
        s.id_high = is_text ? 0 : e->event->id_high;
        s.id_low = is_text ? ps_model_str(e, (uint32_t)e->event->id_low).id : e->event->id_low;
    }
    uint32_t row = find_series(m, &s, &hash);
    if (row != PS_NONE) {
        return m->series[row].track;
    }
    ps_counter_series whole = s;
    whole.key = 0;
    whole.track = PS_NONE;
    bool is_first = find_series(m, &whole, &whole_hash) == PS_NONE;
    bool is_plain = is_first && key_is_plain(m, e, key);
    s.track = counter_usual_track(m, e, is_plain ? PS_STR_NONE : key);
    if (s.track == PS_NONE) {
        m->failed = true;
        return PS_NONE;
    }
    add_series(m, s, hash);
    if (is_first) {
        (void)find_series(m, &whole, &whole_hash); /* its place may have been taken just now */
        add_series(m, whole, whole_hash);
    }
    return s.track;
}

/* A number in quotes is a number; null is no value. */
static bool value_of(ps_trace_model *m, const ps_model_event *e, const ps_event_arg *arg,
                     double *value) {
    switch (arg->type) {
    case PS_ARG_INT:
    case PS_ARG_BOOL:
    case PS_ARG_TIME:
        *value = (double)arg->u.i;
        return true;
    case PS_ARG_REAL:
        *value = arg->u.r;
        return true;
    case PS_ARG_NULL:
        return false;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        break;
    }
    const ps_event_text *t = &e->batch->texts[arg->u.text];
    char text[64];
    if (arg->type != PS_ARG_JSON && t->n > 0 && t->n < sizeof text &&
        strchr("+-.0123456789", t->bytes[0]) != NULL) {
        memcpy(text, t->bytes, t->n);
        text[t->n] = '\0';
        char *after = NULL;
        *value = strtod(text, &after);
        if (after == text + t->n && isfinite(*value)) {
            return true;
        }
    }
    ps_diag_add(m->diag, PS_ODD_TEXT, "event %lld (byte %llu): value of counter %s",
                (long long)e->row, (unsigned long long)e->event->offset,
                ps_builder_text(m->builder, e->name));
    return false;
}

void ps_model_counter(ps_trace_model *m, const ps_model_event *e) {
    if ((m->needs & PS_NEED_COUNTERS) == 0) {
        return;
    }
    const ps_event_arg *args = ps_model_args(e);
    for (uint32_t i = 0; i < e->event->n_args && !m->failed; i++) {
        double value = 0;
        if (!value_of(m, e, &args[i], &value)) {
            continue;
        }
        uint32_t track = PS_NONE;
        if (m->dialect.counter != NULL) {
            track = m->dialect.counter(m->dialect.context, m->builder, e, &args[i]);
        } else {
            track = series_track(m, e, ps_model_str(e, args[i].key));
        }
        if (!ps_builder_counter(m->builder, track, e->event->ts_ns, value) && track != PS_NONE &&
            !ps_builder_failed(m->builder)) {
            ps_diag_add(m->diag, PS_ODD_TIME, "event %lld: out of range", (long long)e->row);
        }
    }
    ps_model_note_time(m, e->event->ts_ns);
}
