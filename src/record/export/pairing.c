/* Starts and ends by their ids, then everything into the order of start times: stable, so that equal times stay in the order
 * of rings and positions. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "record/export/capture_parts.h"
#include "record/export/order.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Where an id's event stands. Ids are given out densely, so that mostly the id itself is the place. */
typedef struct id_table {
    uint32_t *slots; /* event + 1, 0 free */
    uint64_t n_slots;
    bool direct;
} id_table;

/* Without the bit for the device. */
static uint64_t pairing_key_of(uint64_t id) {
    return (id & (PS_RANGE_ON_DEVICE - 1)) | (id >> 31) << 30;
}

static bool id_table_make(id_table *t, const ps_capture *c) {
    uint64_t max = 0;
    size_t n = c->raw_events.n;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = pairing_key_of(c->raw_events.at[i].id);
        max = key > max ? key : max;
    }
    t->direct = max < 4 * (uint64_t)n + 65536;
    t->n_slots = 1024;
    while (t->n_slots < (t->direct ? max + 1 : 2 * (uint64_t)n)) {
        t->n_slots *= 2;
    }
    t->slots = ps_calloc((size_t)t->n_slots, sizeof *t->slots);
    return t->slots != NULL;
}

static uint64_t pairing_slot_of(const id_table *t, const ps_capture *c, uint64_t id) {
    uint64_t key = pairing_key_of(id);
    if (t->direct) {
        return key;
    }
    uint64_t i = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
    for (i &= t->n_slots - 1; t->slots[i] != 0; i = (i + 1) & (t->n_slots - 1)) {
        if (c->raw_events.at[t->slots[i] - 1].id == id) {
            break;
        }
    }
    return i;
}

static ps_raw_event *event_of(const id_table *t, ps_capture *c, uint64_t id) {
    uint64_t slot = pairing_slot_of(t, c, id);
    if (slot >= t->n_slots || t->slots[slot] == 0) {
        return NULL;
    }
    ps_raw_event *e = &c->raw_events.at[t->slots[slot] - 1];
    return e->id == id ? e : NULL;
}

/* Two events of one id cannot be: the first one has it. */
static void id_table_fill(id_table *t, ps_capture *c) {
    for (size_t i = 0; i < c->raw_events.n; i++) {
        uint64_t slot = pairing_slot_of(t, c, c->raw_events.at[i].id);
        if (t->slots[slot] != 0) {
            ps_slot_files_damage(&c->files, sizeof(ps_slot), "two events have the number %llu",
                                 (unsigned long long)c->raw_events.at[i].id);
        } else {
            t->slots[slot] = (uint32_t)i + 1;
        }
    }
}

/* --- starts and ends ---------------------------------------------------------------------------------------------- */

static void close_ranges(const id_table *t, ps_capture *c) {
    uint64_t first_id = UINT64_MAX;
    for (size_t i = 0; i < c->raw_events.n; i++) {
        uint64_t key = pairing_key_of(c->raw_events.at[i].id);
        first_id = key < first_id ? key : first_id;
    }
    for (size_t i = 0; i < c->raw_ends.n; i++) {
        const ps_raw_end *end = &c->raw_ends.at[i];
        ps_raw_event *e = event_of(t, c, end->id);
        if (e == NULL || e->what == PS_EVENT_MARK) {
            bool earlier = e == NULL && pairing_key_of(end->id) < first_id;
            c->found[earlier ? PS_DROP_EARLIER_RANGE : PS_DROP_UNKNOWN_RANGE]++;
        } else if (end->domain != PS_DOMAIN_ANY && end->domain != e->domain) {
            c->found[PS_DROP_DOMAIN_MISMATCH]++;
        } else {
            c->found[PS_DROP_UNKNOWN_RANGE] += e->closed;
            if (!e->closed || end->ticks < e->end) {
                /* Clocks of two processors may differ by some ticks. */
                e->end = end->ticks > e->start ? end->ticks : e->start;
                e->end_tid = end->tid;
                e->closed = true;
            }
        }
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static void *column(size_t n, size_t size, bool *ok) {
    void *p = *ok ? ps_calloc(n + 1, size) : NULL;
    *ok = p != NULL;
    return p;
}

#define COLUMN(set, name) ((set)->name = column(n, sizeof *(set)->name, &ok))

static bool make_event_columns(ps_events *e, size_t n) {
    bool ok = true;
    COLUMN(e, start_ns);
    COLUMN(e, end_ns);
    COLUMN(e, device_start_ns);
    COLUMN(e, device_end_ns);
    COLUMN(e, device);
    COLUMN(e, context);
    COLUMN(e, stream);
    COLUMN(e, id);
    COLUMN(e, forward);
    COLUMN(e, forward_tid);
    COLUMN(e, host_only);
    COLUMN(e, message);
    COLUMN(e, shapes);
    COLUMN(e, extra);
    COLUMN(e, domain);
    COLUMN(e, tid);
    COLUMN(e, end_tid);
    COLUMN(e, what);
    return ok;
}

static void fill_event(ps_capture *c, const id_table *t, size_t row, const ps_raw_event *raw) {
    ps_events *e = &c->events;
    e->start_ns[row] = ps_line_unix(&c->clock, raw->start);
    e->end_ns[row] = raw->closed ? ps_line_unix(&c->clock, raw->end) : PS_STILL_OPEN;
    e->device_start_ns[row] = PS_STILL_OPEN;
    e->device_end_ns[row] = PS_STILL_OPEN;
    e->stream[row] = raw->stream;
    e->id[row] = raw->id;
    const ps_raw_event *forward = raw->forward != 0 ? event_of(t, c, raw->forward) : NULL;
    e->forward[row] = raw->forward;
    e->forward_tid[row] = forward != NULL ? forward->tid : raw->tid;
    e->host_only[row] = raw->host_only;
    e->message[row] = raw->message;
    e->shapes[row] = raw->shapes;
    e->extra[row] = raw->extra;
    e->domain[row] = raw->domain;
    e->tid[row] = raw->tid;
    e->end_tid[row] = raw->end_tid;
    e->what[row] = raw->what;
}

/* Later ones win: a time that is sent again is a better one. `place` is the row of each raw event. */
static void fill_device_times(ps_capture *c, const id_table *t, const uint32_t *place) {
    ps_events *e = &c->events;
    for (size_t i = 0; i < c->raw_device.n; i++) {
        const ps_raw_device *d = &c->raw_device.at[i];
        const ps_raw_event *raw = event_of(t, c, d->id);
        if (raw == NULL) {
            continue; /* its start was lost, which is counted there */
        }
        uint32_t row = place[raw - c->raw_events.at];
        int64_t end_ns = d->end_ns > d->start_ns ? d->end_ns : d->start_ns;
        e->device_start_ns[row] = ps_line_unix_of_mono(&c->clock, d->start_ns);
        e->device_end_ns[row] = ps_line_unix_of_mono(&c->clock, end_ns);
        e->device[row] = d->device;
        e->context[row] = d->context;
    }
}

static bool order_events(ps_capture *c, const id_table *t) {
    size_t n = c->raw_events.n;
    ps_order_key *keys = ps_order_keys(n);
    uint32_t *place = ps_alloc((n + 1) * sizeof *place);
    bool ok = keys != NULL && place != NULL && make_event_columns(&c->events, n);
    for (size_t i = 0; ok && i < n; i++) {
        keys[i] = (ps_order_key){c->raw_events.at[i].start, (uint32_t)i};
    }
    ok = ok && ps_order_sort(&keys, n);
    for (size_t row = 0; ok && row < n; row++) {
        fill_event(c, t, row, &c->raw_events.at[keys[row].index]);
        place[keys[row].index] = (uint32_t)row;
    }
    if (ok) {
        c->events.n = n;
        fill_device_times(c, t, place);
    }
    ps_free(keys);
    ps_free(place);
    return ok;
}

static bool make_device_columns(ps_device_rows *d, size_t n) {
    bool ok = true;
    COLUMN(d, start_ns);
    COLUMN(d, end_ns);
    COLUMN(d, correlation);
    COLUMN(d, stream);
    COLUMN(d, bytes);
    COLUMN(d, device);
    COLUMN(d, context);
    COLUMN(d, tid);
    COLUMN(d, name);
    COLUMN(d, what);
    COLUMN(d, kind);
    return ok;
}

static bool order_device(ps_capture *c) {
    size_t n = c->raw_rows.n;
    ps_device_rows *d = &c->device;
    ps_order_key *keys = ps_order_keys(n);
    bool ok = keys != NULL && make_device_columns(d, n);
    for (size_t i = 0; ok && i < n; i++) {
        keys[i] = (ps_order_key){c->raw_rows.at[i].start, (uint32_t)i};
    }
    ok = ok && ps_order_sort(&keys, n);
    for (size_t row = 0; ok && row < n; row++) {
        const ps_raw_row *r = &c->raw_rows.at[keys[row].index];
        d->start_ns[row] = ps_line_unix_of_mono(&c->clock, (int64_t)r->start);
        d->end_ns[row] = ps_line_unix_of_mono(
            &c->clock, (int64_t)r->end > (int64_t)r->start ? (int64_t)r->end : (int64_t)r->start);
        d->correlation[row] = r->correlation;
        d->stream[row] = r->stream;
        d->bytes[row] = r->bytes;
        d->device[row] = r->device;
        d->context[row] = r->context;
        d->tid[row] = r->tid;
        d->name[row] = r->name;
        d->what[row] = r->what;
        d->kind[row] = r->kind;
    }
    d->n = ok ? n : 0;
    ps_free(keys);
    return ok;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static bool make_step_columns(ps_steps *s, size_t n) {
    bool ok = true;
    COLUMN(s, number);
    COLUMN(s, start_ns);
    COLUMN(s, end_ns);
    COLUMN(s, device_start_ns);
    COLUMN(s, device_end_ns);
    COLUMN(s, stream);
    COLUMN(s, id);
    COLUMN(s, tid);
    COLUMN(s, device);
    COLUMN(s, context);
    return ok;
}

/* *cut: the last step was ended by the end of the recording. */
static bool order_steps(ps_capture *c, bool *cut) {
    size_t n = c->raw_steps.n;
    ps_steps *s = &c->steps;
    ps_order_key *keys = ps_order_keys(n);
    bool ok = keys != NULL && make_step_columns(s, n);
    for (size_t i = 0; ok && i < n; i++) {
        keys[i] = (ps_order_key){c->raw_steps.at[i].ticks, (uint32_t)i};
    }
    ok = ok && ps_order_sort(&keys, n);
    bool open = false;
    *cut = false;
    for (size_t i = 0; ok && i < n; i++) {
        const ps_raw_step *r = &c->raw_steps.at[keys[i].index];
        int64_t at_ns = ps_line_unix(&c->clock, r->ticks);
        if (open && (r->begin || r->number == s->number[s->n - 1])) {
            s->end_ns[s->n - 1] = at_ns;
            open = false;
            *cut = r->cut;
        }
        if (r->begin) {
            s->number[s->n] = r->number;
            s->start_ns[s->n] = at_ns;
            s->device_start_ns[s->n] = s->device_end_ns[s->n] = PS_STILL_OPEN;
            s->stream[s->n] = r->stream;
            s->id[s->n] = r->id;
            s->tid[s->n++] = r->tid;
            open = true;
        }
    }
    if (ok && open) {
        bool ended = false;
        int64_t start_ns = 0;
        *cut = true;
        ps_capture_span(c, &start_ns, &s->end_ns[s->n - 1], &ended);
    }
    ps_free(keys);
    return ok;
}

/* A program does not say when its last step ends: it goes on to what comes behind its steps, and ends. The step ends with the last event that
 * began in it, where none of them is open; with none, although there are events, it is no step: step() was called behind each. */
static void end_cut_step(ps_capture *c) {
    ps_steps *s = &c->steps;
    const ps_events *e = &c->events;
    size_t last = s->n - 1;
    int64_t end_ns = INT64_MIN;
    int64_t device_end_ns = INT64_MIN;
    bool open = false;
    for (size_t i = e->n; i-- > 0 && e->start_ns[i] >= s->start_ns[last];) {
        open = open || e->end_ns[i] == PS_STILL_OPEN;
        end_ns = e->end_ns[i] > end_ns ? e->end_ns[i] : end_ns;
        device_end_ns = e->device_end_ns[i] > device_end_ns ? e->device_end_ns[i] : device_end_ns;
    }
    for (size_t i = c->device.n; i-- > 0 && c->device.start_ns[i] >= s->start_ns[last];) {
        int64_t row_end_ns = c->device.end_ns[i];
        end_ns = row_end_ns > end_ns ? row_end_ns : end_ns;
        device_end_ns = row_end_ns > device_end_ns ? row_end_ns : device_end_ns;
    }
    if (open) {
        return;
    }
    if (end_ns != INT64_MIN) {
        s->end_ns[last] = end_ns < s->end_ns[last] ? end_ns : s->end_ns[last];
    } else if (e->n > 0) {
        s->n--;
        return;
    }
    if (device_end_ns >= s->device_start_ns[last] && s->device_start_ns[last] != PS_STILL_OPEN &&
        device_end_ns < s->device_end_ns[last]) {
        s->device_end_ns[last] = device_end_ns;
    }
}

PS_COMPARE(by_id, ps_order_key, PS_BY(at))

/* Of the few steps among the device times of all ranges. */
static bool fill_step_times(ps_capture *c) {
    ps_steps *s = &c->steps;
    ps_order_key *keys = ps_order_keys(s->n);
    size_t n = 0;
    for (size_t i = 0; keys != NULL && i < s->n; i++) {
        if (s->id[i] != 0) {
            keys[n++] = (ps_order_key){s->id[i], (uint32_t)i};
        }
    }
    bool ok = keys != NULL && ps_order_sort(&keys, n);
    for (size_t i = 0; ok && n > 0 && i < c->raw_device.n; i++) {
        const ps_raw_device *d = &c->raw_device.at[i];
        const ps_order_key wanted = {d->id, 0};
        const ps_order_key *found = bsearch(&wanted, keys, n, sizeof *keys, by_id);
        if (found != NULL) {
            uint32_t row = found->index;
            int64_t end_ns = d->end_ns > d->start_ns ? d->end_ns : d->start_ns;
            s->device_start_ns[row] = ps_line_unix_of_mono(&c->clock, d->start_ns);
            s->device_end_ns[row] = ps_line_unix_of_mono(&c->clock, end_ns);
            s->device[row] = d->device;
            s->context[row] = d->context;
        }
    }
    ps_free(keys);
    return ok;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void forget_raw(ps_capture *c) {
    ps_free(c->raw_events.at);
    ps_free(c->raw_ends.at);
    ps_free(c->raw_steps.at);
    ps_free(c->raw_device.at);
    ps_free(c->raw_rows.at);
    c->raw_events.at = NULL;
    c->raw_ends.at = NULL;
    c->raw_steps.at = NULL;
    c->raw_device.at = NULL;
    c->raw_rows.at = NULL;
}

ps_code ps_capture_pair(ps_capture *c, ps_err *err) {
    id_table t;
    if (!id_table_make(&t, c)) {
        return ps_fail_nomem(err);
    }
    id_table_fill(&t, c);
    close_ranges(&t, c);
    bool cut = false;
    bool ok = order_events(c, &t) && order_device(c) && order_steps(c, &cut) && fill_step_times(c);
    if (ok && cut) {
        end_cut_step(c);
    }
    ps_free(t.slots);
    forget_raw(c);
    return ok ? PS_OK : ps_fail_nomem(err);
}
