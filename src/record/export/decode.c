/* Records into vectors. Texts become numbers of the capture's pool at once; a text that is used before it was defined,
 * because its definition was lost, reads "<lost>". */
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "record/export/capture_parts.h"
#include "record/export/failure.h"

enum { MOST_SHARED = 1 << 20, MOST_DOMAINS = 65535 };

/* Texts of one ring by their number there. They are numbered 1, 2, 3 ..., but damage leaves numbers out or makes others of
 * them: memory follows from how many there are, not from how high they count. A number lies at its low bits, or in the
 * first free slot behind, so without damage this is an array. */
typedef struct local_texts {
    struct local_text {
        uint32_t local, text; /* local 0: free */
    } * slots;
    size_t n_slots, n; /* n_slots a power of two, or 0 */
} local_texts;

typedef struct ring_state {
    ps_capture *c;
    uint32_t ring, tid;
    local_texts texts;
    uint32_t lost;  /* a text */
    uint32_t extra; /* row of nvtx for the next event, PS_NO_TEXT none */
    uint64_t position;
} ring_state;

static void damage(ring_state *s, uint64_t bytes, const char *what) {
    ps_slot_files_damage(&s->c->files, bytes, "slot %llu: %s", (unsigned long long)s->position,
                         what);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static bool is_clean(const char *text, size_t n) {
    size_t i = 0;
    while (i < n) {
        if ((signed char)text[i] > 0) {
            i++;
            continue;
        }
        size_t length = text[i] == '\0' ? 0 : ps_utf8_len(text + i, n - i);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

static uint32_t add_repaired(ps_capture *c, const char *text, size_t n) {
    char out[3 * PS_RECORD_MAX_PAIR];
    size_t length = 0;
    for (size_t i = 0; i < n;) {
        size_t one = text[i] == '\0' ? 0 : ps_utf8_len(text + i, n - i);
        if (one == 0) {
            memcpy(out + length, "\xEF\xBF\xBD", 3);
            length += 3;
            i++;
        } else {
            memcpy(out + length, text + i, one);
            length += one;
            i += one;
        }
    }
    c->found[PS_DROP_BAD_UTF8]++;
    return ps_texts_add(&c->texts, out, length);
}

/* PS_NO_TEXT when memory is out. Texts that a program makes anew for each event would take more memory than all else: past the limit
 * their events are called "<dropped>". */
static uint32_t add_decoded_text(ps_capture *c, const char *text, size_t n) {
    uint32_t id = is_clean(text, n) ? ps_texts_add(&c->texts, text, n) : add_repaired(c, text, n);
    if (id != PS_TEXTS_FULL) {
        return id;
    }
    c->found[PS_DROP_STRING_TABLE_FULL]++;
    return c->dropped;
}

/* The bytes behind a record, cut to what is there. */
static size_t text_behind(ring_state *s, const ps_slot *slot, uint64_t length, const char **text) {
    uint64_t room = (uint64_t)slot->n_more * sizeof(ps_slot);
    *text = (const char *)(slot + 1);
    if (length > room) {
        damage(s, sizeof *slot, "a text longer than its record");
        return (size_t)room;
    }
    return (size_t)length;
}

static bool set_at(ps_raw_numbers *v, uint64_t index, uint32_t value) {
    if (index >= v->n) {
        if (!ps_grow(&v->at, &v->cap, (size_t)index + 1, UINT32_MAX, sizeof *v->at)) {
            return false;
        }
        for (; v->n <= index; v->n++) {
            v->at[v->n] = PS_NO_TEXT;
        }
    }
    v->at[index] = value;
    return true;
}

/* The slot of `local`, or the free one that it would take. */
static struct local_text *slot_of_text(const local_texts *t, uint32_t local) {
    size_t i = local & (t->n_slots - 1);
    while (t->slots[i].local != 0 && t->slots[i].local != local) {
        i = (i + 1) & (t->n_slots - 1);
    }
    return &t->slots[i];
}

static bool grow_texts(local_texts *t) {
    local_texts wider = {.n_slots = t->n_slots > 0 ? 2 * t->n_slots : 256, .n = t->n};
    wider.slots = ps_calloc(wider.n_slots, sizeof *wider.slots);
    if (wider.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < t->n_slots; i++) {
        if (t->slots[i].local != 0) {
            *slot_of_text(&wider, t->slots[i].local) = t->slots[i];
        }
    }
    ps_free(t->slots);
    *t = wider;
    return true;
}

/* A number that has a text gets the new one: the ring went to another thread, which begins anew. */
static bool set_decoded_text(local_texts *t, uint32_t local, uint32_t text) {
    if (2 * t->n >= t->n_slots && !grow_texts(t)) {
        return false;
    }
    struct local_text *slot = slot_of_text(t, local);
    t->n += slot->local == 0 ? 1 : 0;
    *slot = (struct local_text){.local = local, .text = text};
    return true;
}

static bool define_text(ring_state *s, const ps_slot *slot) {
    if (slot->id == 0 || slot->id >= PS_TEXT_SHARED) {
        damage(s, sizeof *slot, "a text with an impossible number");
        return true;
    }
    const char *text;
    size_t n = text_behind(s, slot, slot->aux, &text);
    uint32_t id = add_decoded_text(s->c, text, n);
    return id != PS_NO_TEXT && set_decoded_text(&s->texts, (uint32_t)slot->id, id);
}

static uint32_t decoded_text_of(ring_state *s, uint32_t text) {
    uint32_t id = PS_NO_TEXT;
    if (text == 0) {
        return s->c->dropped;
    }
    if (text & PS_TEXT_SHARED) {
        uint32_t number = text & ~PS_TEXT_SHARED;
        id = number < s->c->shared.n ? s->c->shared.at[number] : PS_NO_TEXT;
    } else if (s->texts.n > 0 && slot_of_text(&s->texts, text)->local == text) {
        id = slot_of_text(&s->texts, text)->text;
    }
    if (id == PS_NO_TEXT) {
        damage(s, sizeof(ps_slot), "a text that is not defined");
        return s->lost;
    }
    return id;
}

/* A message that begins with '{' loses its backslashes: who puts JSON into JSON escapes twice. */
static uint32_t decoded_message_of(ring_state *s, uint32_t text) {
    ps_capture *c = s->c;
    uint32_t id = decoded_text_of(s, text);
    const char *bytes = c->texts.text[id];
    if (bytes[0] != '{') {
        return id;
    }
    if (id < c->cap_stripped && c->stripped[id] != 0) {
        return c->stripped[id] - 1;
    }
    uint32_t out = id;
    if (memchr(bytes, '\\', c->texts.length[id]) != NULL) {
        char without[3 * PS_RECORD_MAX_PAIR];
        size_t n = 0;
        for (size_t i = 0; i < c->texts.length[id]; i++) {
            if (bytes[i] != '\\') {
                without[n++] = bytes[i];
            }
        }
        out = ps_texts_add(&c->texts, without, n);
        out = out == PS_TEXTS_FULL ? id : out;
    }
    size_t old = c->cap_stripped;
    if (out == PS_NO_TEXT ||
        !ps_grow(&c->stripped, &c->cap_stripped, (size_t)id + 1, UINT32_MAX, sizeof *c->stripped)) {
        return PS_NO_TEXT;
    }
    memset(c->stripped + old, 0, (c->cap_stripped - old) * sizeof *c->stripped);
    c->stripped[id] = out + 1;
    return out;
}

/* --- definitions -------------------------------------------------------------------------------------------------- */

enum { NAMED_DOMAINS, NAMED_THREADS, NAMED_STREAMS, NAMED_METADATA, NAMED_FACTS };

static bool is_named(const ps_named *named, uint64_t key) {
    for (size_t i = 0; i < named->n; i++) {
        if (named->key[i] == key) {
            return true;
        }
    }
    return false;
}

static bool set_named(ps_capture *c, ps_named *named, int which, uint64_t key, uint32_t value,
                      bool replace) {
    for (size_t i = 0; replace && i < named->n; i++) {
        if (named->key[i] == key) {
            named->value[i] = value;
            return true;
        }
    }
    size_t *cap = c->cap_named[which];
    if (!ps_grow(&named->key, &cap[0], named->n + 1, UINT32_MAX, sizeof *named->key) ||
        !ps_grow(&named->value, &cap[1], named->n + 1, UINT32_MAX, sizeof *named->value)) {
        return false;
    }
    named->key[named->n] = key;
    named->value[named->n++] = value;
    return true;
}

/* Key, then value; a zero between the two belongs to neither. */
static bool take_pair(ring_state *s, const ps_slot *slot) {
    ps_capture *c = s->c;
    const char *text;
    size_t n = text_behind(s, slot, slot->aux, &text);
    if (slot->id == 0 || slot->id > n) {
        damage(s, sizeof *slot, "a key longer than its record");
        return true;
    }
    size_t key_length = (size_t)slot->id;
    size_t value_at = key_length < n && text[key_length] == '\0' ? key_length + 1 : key_length;
    uint32_t key = add_decoded_text(c, text, key_length);
    uint32_t value = add_decoded_text(c, text + value_at, n - value_at);
    if (key == PS_NO_TEXT || value == PS_NO_TEXT) {
        return false;
    }
    if (slot->kind == PS_REC_META) {
        return set_named(c, &c->metadata, NAMED_METADATA, key, value, true);
    }
    return set_named(c, &c->facts, NAMED_FACTS, key, value, false);
}

static bool take_named(ring_state *s, const ps_slot *slot) {
    ps_capture *c = s->c;
    const char *text;
    size_t n = text_behind(s, slot, slot->aux, &text);
    uint32_t id = add_decoded_text(c, text, n);
    if (id == PS_NO_TEXT) {
        return false;
    }
    switch (slot->kind) {
    case PS_REC_SHARED_TEXT:
        if (slot->id <= MOST_SHARED) {
            return set_at(&c->shared, slot->id, id);
        }
        damage(s, sizeof *slot, "a shared text with an impossible number");
        return true;
    case PS_REC_DOMAIN:
        if (slot->id < MOST_DOMAINS) {
            return set_at(&c->domains, slot->id, id);
        }
        damage(s, sizeof *slot, "a domain with an impossible number");
        return true;
    case PS_REC_STREAM:
        return set_named(c, &c->streams, NAMED_STREAMS, slot->id, id, true);
    case PS_REC_THREAD:
        s->tid = (uint32_t)slot->id;
        c->files.rings[s->ring].tid = s->ring == 0 ? 0 : s->tid;
        /* A name that the program gave by another way stands in ring 0, which was read before. */
        return n == 0 || is_named(&c->threads, (uint32_t)slot->id) ||
               set_named(c, &c->threads, NAMED_THREADS, (uint32_t)slot->id, id, true);
    default:
        return set_named(c, &c->threads, NAMED_THREADS, (uint32_t)slot->id, id, true);
    }
}

/* --- what the program did ----------------------------------------------------------------------------------------- */

static void seen(ps_capture *c, uint64_t ticks) {
    c->first_ticks = ticks < c->first_ticks ? ticks : c->first_ticks;
    c->last_ticks = ticks > c->last_ticks ? ticks : c->last_ticks;
}

static bool take_start(ring_state *s, const ps_slot *slot, ps_event_what what) {
    ps_raw_event *e = PS_RAW_MORE(s->c->raw_events);
    if (e == NULL) {
        return false;
    }
    *e = (ps_raw_event){.start = slot->ticks,
                        .end = slot->ticks,
                        .id = slot->id,
                        .stream = slot->aux,
                        .message = decoded_message_of(s, slot->text),
                        .shapes = PS_NO_TEXT,
                        .extra = s->extra,
                        .tid = s->tid,
                        .end_tid = s->tid,
                        .domain = slot->domain,
                        .what = (uint8_t)what,
                        .closed = what == PS_EVENT_MARK};
    s->extra = PS_NO_TEXT;
    if (what == PS_EVENT_OP && slot->n_more > 0) {
        e->forward = slot[1].id;
        e->host_only = slot[1].aux == 1;
        e->shapes = slot[1].text != 0 ? decoded_text_of(s, slot[1].text) : PS_NO_TEXT;
    }
    seen(s->c, slot->ticks);
    return e->message != PS_NO_TEXT;
}

static bool take_end(ring_state *s, const ps_slot *slot) {
    ps_raw_end *e = PS_RAW_MORE(s->c->raw_ends);
    if (e != NULL) {
        *e = (ps_raw_end){
            .ticks = slot->ticks, .id = slot->id, .tid = s->tid, .domain = slot->domain};
        seen(s->c, slot->ticks);
    }
    return e != NULL;
}

static bool take_step(ring_state *s, const ps_slot *slot) {
    ps_raw_step *e = PS_RAW_MORE(s->c->raw_steps);
    if (e != NULL) {
        *e = (ps_raw_step){.ticks = slot->ticks,
                           .stream = slot->aux,
                           .id = slot->n_more > 0 ? slot[1].id : 0,
                           .number = (int64_t)slot->id,
                           .tid = s->tid,
                           .begin = slot->kind == PS_REC_STEP_BEGIN,
                           .cut = slot->kind == PS_REC_STEP_END && slot->aux != 0};
        seen(s->c, slot->ticks);
    }
    return e != NULL;
}

static bool take_nvtx(ring_state *s, const ps_slot *slot) {
    ps_capture *c = s->c;
    ps_nvtx_rows *rows = &c->nvtx;
    uint32_t **const columns[5] = {&rows->category, &rows->colour, &rows->payload_type, &rows->form,
                                   &rows->payload};
    for (int i = 0; i < 5; i++) {
        if (!ps_grow(columns[i], &c->cap_nvtx[i], rows->n + 1, UINT32_MAX - 1, sizeof(uint32_t))) {
            return false;
        }
    }
    rows->category[rows->n] = (uint32_t)slot->id;
    rows->colour[rows->n] = (uint32_t)(slot->id >> 32);
    rows->payload_type[rows->n] = (uint32_t)slot->aux;
    rows->form[rows->n] = (uint32_t)(slot->aux >> 32);
    rows->payload[rows->n] = slot->text != 0 ? decoded_text_of(s, slot->text) : PS_NO_TEXT;
    s->extra = (uint32_t)rows->n++;
    return true;
}

/* --- from the device ---------------------------------------------------------------------------------------------- */

static bool take_device_time(ring_state *s, const ps_slot *slot, const ps_device_more *more) {
    ps_raw_device *d = PS_RAW_MORE(s->c->raw_device);
    if (d != NULL) {
        *d = (ps_raw_device){.id = slot->id,
                             .stream = more->stream,
                             .start_ns = (int64_t)slot->ticks,
                             .end_ns = (int64_t)slot->aux,
                             .device = more->device,
                             .context = more->context};
    }
    return d != NULL;
}

static bool take_decoded_row(ring_state *s, const ps_slot *slot, const ps_device_more *more) {
    ps_raw_row *r = PS_RAW_MORE(s->c->raw_rows);
    if (r != NULL) {
        *r = (ps_raw_row){.start = slot->ticks,
                          .end = slot->aux,
                          .correlation = slot->id,
                          .stream = more->stream,
                          .bytes = more->bytes,
                          .device = more->device,
                          .context = more->context,
                          .tid = more->thread,
                          .name = slot->text != 0 ? decoded_text_of(s, slot->text) : PS_NO_TEXT,
                          .what = more->what,
                          .kind = slot->kind};
    }
    return r != NULL;
}

static bool take_from_device(ring_state *s, const ps_slot *slot) {
    ps_device_more more = {.device = 0};
    if (slot->n_more > 0) {
        memcpy(&more, slot + 1, sizeof more);
    } else if (slot->kind != PS_REC_CORRELATE) {
        damage(s, sizeof *slot, "a device record without its second half");
        return true;
    }
    if (slot->kind == PS_REC_DEVICE) {
        return take_device_time(s, slot, &more);
    }
    if (slot->kind == PS_REC_CORRELATE) { /* correlation | range id */
        more.bytes = slot->aux;
    }
    return take_decoded_row(s, slot, &more);
}

static bool take_anchor(ring_state *s, const ps_slot *slot) {
    if (slot->kind == PS_REC_DEVICE_ANCHOR) {
        ps_device_more more = {.device = 0};
        if (slot->n_more > 0) {
            memcpy(&more, slot + 1, sizeof more);
        }
        ps_captured_anchor *d = PS_RAW_MORE(s->c->anchors);
        if (d != NULL) {
            *d = (ps_captured_anchor){.device = true,
                                      .device_id = more.device,
                                      .host_ns = (int64_t)slot->ticks,
                                      .other_ns = (int64_t)slot->aux,
                                      .half_width_ns = (int64_t)slot->id};
        }
        return d != NULL;
    }
    ps_raw_anchor *a = PS_RAW_MORE(s->c->raw_anchors);
    if (a != NULL) {
        *a = (ps_raw_anchor){.ticks = slot->ticks,
                             .real_ns = (int64_t)slot->id,
                             .mono_ns = (int64_t)slot->aux,
                             .half_width_ns = slot->text};
    }
    return a != NULL;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* False when memory is out. */
static bool take_decoded(ring_state *s, const ps_slot *slot) {
    switch (slot->kind) {
    case PS_REC_TEXT:
        return define_text(s, slot);
    case PS_REC_SHARED_TEXT:
    case PS_REC_DOMAIN:
    case PS_REC_STREAM:
    case PS_REC_THREAD:
    case PS_REC_THREAD_NAME:
        return take_named(s, slot);
    case PS_REC_META:
    case PS_REC_INFO:
        return take_pair(s, slot);
    case PS_REC_ANCHOR:
    case PS_REC_DEVICE_ANCHOR:
        return take_anchor(s, slot);
    case PS_REC_MARK:
        return take_start(s, slot, PS_EVENT_MARK);
    case PS_REC_RANGE_START:
        return take_start(s, slot, PS_EVENT_RANGE);
    case PS_REC_PUSH:
        return take_start(s, slot, PS_EVENT_PUSH);
    case PS_REC_OP_BEGIN:
        return take_start(s, slot, PS_EVENT_OP);
    case PS_REC_RANGE_END:
        return take_end(s, slot);
    case PS_REC_STEP_BEGIN:
    case PS_REC_STEP_END:
        return take_step(s, slot);
    case PS_REC_NVTX:
        return take_nvtx(s, slot);
    case PS_REC_DEVICE:
    case PS_REC_KERNEL:
    case PS_REC_MEMCPY:
    case PS_REC_MEMSET:
    case PS_REC_API:
    case PS_REC_CORRELATE:
    case PS_REC_OVERHEAD:
    case PS_REC_SYNC:
    case PS_REC_GRAPH:
        return take_from_device(s, slot);
    default:
        damage(s, (1u + (uint64_t)slot->n_more) * sizeof *slot, "a record of an unknown kind");
        return true;
    }
}

static bool decode_ring(ps_capture *c, uint32_t ring, uint32_t lost) {
    ring_state s = {.c = c, .ring = ring, .lost = lost, .extra = PS_NO_TEXT};
    ps_slot_walk *w = ps_alloc(sizeof *w);
    if (w == NULL) {
        return false;
    }
    ps_slot_walk_begin(w, &c->files, ring);
    bool ok = true;
    for (const ps_slot *slot; ok && (slot = ps_slot_walk_next(w)) != NULL;) {
        s.position = w->position;
        ok = take_decoded(&s, slot);
    }
    ps_free(w);
    ps_free(s.texts.slots);
    return ok;
}

/* Domains by number, all with a name; number 0 is the default one. */
static bool name_domains(ps_capture *c, uint32_t lost) {
    if (c->domains.n == 0 || c->domains.at[0] == PS_NO_TEXT) {
        uint32_t text = add_decoded_text(c, "default", 7);
        if (text == PS_NO_TEXT || !set_at(&c->domains, 0, text)) {
            return false;
        }
    }
    for (size_t i = 0; i < c->raw_events.n; i++) {
        ps_raw_event *e = &c->raw_events.at[i];
        if (e->domain >= c->domains.n && !set_at(&c->domains, e->domain, PS_NO_TEXT)) {
            return false;
        }
    }
    for (size_t i = 0; i < c->domains.n; i++) {
        uint32_t text = c->domains.at[i] == PS_NO_TEXT ? lost : c->domains.at[i];
        if (!set_named(c, &c->domain_names, NAMED_DOMAINS, i, text, false)) {
            return false;
        }
    }
    return true;
}

ps_code ps_capture_decode(ps_capture *c, bool only_shared, ps_err *err) {
    uint32_t lost = ps_texts_add(&c->texts, "<lost>", 6);
    c->dropped = ps_texts_add(&c->texts, "<dropped>", 9);
    bool ok = lost != PS_NO_TEXT && c->dropped != PS_NO_TEXT;
    c->first_ticks = UINT64_MAX;
    for (size_t i = 0; ok && i < c->files.n_rings && (i == 0 || !only_shared); i++) {
        ok = decode_ring(c, (uint32_t)i, lost);
    }
    if (c->files.error != 0) {
        return ps_fail_system(err, "events.spool", "cannot read", c->files.error);
    }
    return ok && name_domains(c, lost) ? PS_OK : ps_fail_nomem(err);
}
