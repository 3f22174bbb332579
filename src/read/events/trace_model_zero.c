/* Events at time 0. A tool writes 0 where it has no time; among times since 1970 such an event says nothing, where times
 * count from 0 it is the first one. What it is depends on the order of the events in the file alone, never on how the
 * input was cut into batches:
 *
 *   behind a time that is more than a day from 0, an event at 0 is stray;
 *   events at 0 before the first other time are as that time says, so they are held back until it comes. */
#include "read/events/trace_model_parts.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
/* More than this in front of the first other time are no strays. */
#define MAX_HELD ((size_t)4096)
#define MAX_HELD_BYTES ((size_t)16 << 20)

void ps_held_fini(ps_held *h) {
    ps_free(h->events);
    ps_free(h->args);
    ps_free(h->texts);
    ps_arena_fini(&h->bytes);
    *h = (ps_held){0};
}

/* --- copies -------------------------------------------------------------------------------------------- */

static bool is_held_text(const ps_event_arg *arg) {
    return arg->type == PS_ARG_STR || arg->type == PS_ARG_NUMBER || arg->type == PS_ARG_JSON;
}

/* The new id of a text of the batch. 0 stays 0; with `failed` set when memory is out. */
static uint32_t copy_held_text(ps_held *h, const ps_event_batch *batch, uint64_t text,
                               bool *failed) {
    if (text == 0 || *failed) {
        return 0;
    }
    const ps_event_text *from = &batch->texts[text];
    size_t n = h->n_texts > 0 ? h->n_texts : 1;
    char *bytes = ps_arena_strndup(&h->bytes, from->bytes, from->n);
    if (bytes == NULL ||
        !ps_grow(&h->texts, &h->cap_texts, n + 1, PS_MODEL_MAX, sizeof *h->texts)) {
        *failed = true;
        return 0;
    }
    h->texts[0] = (ps_event_text){"", 0};
    h->texts[n] = (ps_event_text){bytes, from->n};
    h->n_texts = n + 1;
    return (uint32_t)n;
}

static bool copy_args(ps_held *h, const ps_model_event *e, ps_event *to) {
    const ps_event_arg *from = ps_model_args(e);
    bool failed =
        !ps_grow(&h->args, &h->cap_args, h->n_args + to->n_args, PS_MODEL_MAX, sizeof *h->args);
    to->first_arg = (uint32_t)h->n_args;
    for (uint32_t i = 0; i < to->n_args && !failed; i++) {
        ps_event_arg arg = from[i];
        arg.key = copy_held_text(h, e->batch, arg.key, &failed);
        if (is_held_text(&arg)) {
            arg.u.text = copy_held_text(h, e->batch, arg.u.text, &failed);
        }
        h->args[h->n_args++] = arg;
    }
    return !failed;
}

static bool hold_held(ps_held *h, const ps_model_event *e) {
    const ps_event_batch *batch = e->batch;
    ps_event to = *e->event;
    bool failed = false;
    to.name = copy_held_text(h, batch, to.name, &failed);
    to.cat = copy_held_text(h, batch, to.cat, &failed);
    to.scope_text = copy_held_text(h, batch, to.scope_text, &failed);
    if ((to.flags & PS_EVENT_PID_TEXT) != 0) {
        to.pid = copy_held_text(h, batch, (uint64_t)to.pid, &failed);
    }
    if ((to.flags & PS_EVENT_TID_TEXT) != 0) {
        to.tid = copy_held_text(h, batch, (uint64_t)to.tid, &failed);
    }
    if ((to.flags & PS_EVENT_ID_TEXT) != 0) {
        to.id_low = copy_held_text(h, batch, to.id_low, &failed);
    }
    if ((to.flags & PS_EVENT_BIND_ID_TEXT) != 0) {
        to.bind_id_low = copy_held_text(h, batch, to.bind_id_low, &failed);
    }
    if (failed || !copy_args(h, e, &to) ||
        !ps_grow(&h->events, &h->cap, h->n + 1, MAX_HELD, sizeof *h->events)) {
        return false;
    }
    h->events[h->n++] = (ps_held_event){to, (uint64_t)e->row};
    return true;
}

/* --- the decision -------------------------------------------------------------------------------------- */

void ps_model_release(ps_trace_model *m) {
    ps_held *h = &m->held;
    ps_str *texts = m->texts;
    m->zero_is_decided = true;
    m->texts = ps_calloc(h->n_texts + 1, sizeof *m->texts);
    m->failed = m->failed || m->texts == NULL;
    for (size_t i = 0; i < h->n && !m->failed; i++) {
        ps_event_batch batch = {.events = &h->events[i].event,
                                .n_events = 1,
                                .first_event = h->events[i].number,
                                .args = h->args,
                                .n_args = h->n_args,
                                .texts = h->texts,
                                .n_texts = h->n_texts};
        ps_model_event e = {.event = batch.events, .batch = &batch, .model = m};
        ps_model_take(m, &e);
    }
    ps_free(m->texts);
    m->texts = texts;
    ps_held_fini(h);
}

/* True while nothing but 0 was seen and there is room: then the event is copied. */
static bool hold_back(ps_trace_model *m, const ps_model_event *e) {
    if (m->zero_is_decided) {
        return false;
    }
    const ps_held *h = &m->held;
    size_t bytes =
        h->bytes.size_bytes + h->n_texts * sizeof *h->texts + h->n_args * sizeof *h->args;
    if (h->n == MAX_HELD || bytes > MAX_HELD_BYTES) {
        ps_model_release(m);
        return false;
    }
    m->failed = m->failed || !hold_held(&m->held, e);
    return true;
}

ps_zero ps_model_zero(ps_trace_model *m, const ps_model_event *e) {
    int64_t ts_ns = e->event->ts_ns;
    if (!m->dialect.zero_is_stray) {
        return PS_ZERO_TIME;
    }
    if (ts_ns == 0) {
        return m->has_far_times ? PS_ZERO_STRAY : hold_back(m, e) ? PS_ZERO_HELD : PS_ZERO_TIME;
    }
    m->has_far_times = m->has_far_times || ts_ns > DAY_NS || ts_ns < -DAY_NS;
    if (!m->zero_is_decided) {
        ps_model_release(m);
    }
    return PS_ZERO_TIME;
}
