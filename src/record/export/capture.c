/* The clock, and what others may ask. */
#include "record/export/capture.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/literal.h"
#include "record/export/capture_parts.h"
#include "record/ring/clock.h"

#define CLOCK_STEP_NS 1000000 /* a wall clock that moves more between two anchors was set */

/* --- clock -------------------------------------------------------------------------------------------------------- */

/* The rate from one anchor and now: a process that died within its first second left no second anchor. Only on the machine
 * it ran on, before it was started anew. */
static double rate_until_now(const ps_capture *c, const ps_raw_anchor *first) {
    char boot_id[sizeof c->files.header.boot_id];
    if (!ps_this_boot(boot_id, sizeof boot_id) || c->files.header.boot_id[0] == '\0' ||
        strcmp(boot_id, c->files.header.boot_id) != 0) {
        return 0;
    }
    uint64_t ticks = ps_clock_ticks((int)c->files.header.clock);
    uint64_t mono_ns = ps_mono_ns();
    if (ticks <= first->ticks || mono_ns <= (uint64_t)first->mono_ns) {
        return 0;
    }
    return (double)(mono_ns - (uint64_t)first->mono_ns) / (double)(ticks - first->ticks);
}

bool ps_capture_fit_clock(ps_capture *c) {
    ps_clock_line_fini(&c->clock);
    c->clock = (ps_clock_line){.ns_per_tick = 1};
    size_t n = c->raw_anchors.n;
    if (n == 0) {
        ps_slot_files_damage(&c->files, 1, "no clock anchor: times count from an unknown moment");
        return true;
    }
    const ps_raw_anchor *first = &c->raw_anchors.at[0];
    const ps_raw_anchor *last = &c->raw_anchors.at[n - 1];
    c->clock.ticks0 = first->ticks;
    c->clock.real_ns = first->real_ns;
    c->clock.mono_ns = first->mono_ns;
    if (c->files.header.clock == PS_CLOCK_MONOTONIC) {
        return true;
    }
    double rate = 0;
    if (last->ticks > first->ticks && last->mono_ns > first->mono_ns) {
        rate = (double)(last->mono_ns - first->mono_ns) / (double)(last->ticks - first->ticks);
    } else {
        rate = rate_until_now(c, first);
    }
    if (rate > 1e-6 && rate < 1e6) {
        c->clock.ns_per_tick = rate;
    } else {
        ps_slot_files_damage(&c->files, 1, "one clock anchor only: the clock's rate is not known");
    }
    return ps_clock_line_bend(&c->clock, c->raw_anchors.at, n);
}

/* Anchors in Unix ns, those of the host first; steps of the wall clock are counted. */
static bool finish_anchors(ps_capture *c) {
    size_t n_device = c->anchors.n;
    for (size_t i = 0; i < n_device; i++) {
        ps_captured_anchor *a = &c->anchors.at[i];
        a->host_ns = ps_line_unix_of_mono(&c->clock, a->host_ns);
    }
    for (size_t i = 0; i < c->raw_anchors.n; i++) {
        const ps_raw_anchor *raw = &c->raw_anchors.at[i];
        ps_captured_anchor *a = PS_RAW_MORE(c->anchors);
        if (a == NULL) {
            return false;
        }
        *a = (ps_captured_anchor){
            .host_ns = raw->real_ns, .other_ns = raw->mono_ns, .half_width_ns = raw->half_width_ns};
        if (i > 0) {
            const ps_raw_anchor *before = raw - 1;
            double moved = ((double)raw->real_ns - (double)before->real_ns) -
                           ((double)raw->mono_ns - (double)before->mono_ns);
            c->found[PS_DROP_CLOCK_STEP] += fabs(moved) > CLOCK_STEP_NS;
        }
    }
    return true;
}

/* "stop" is {"unix_ns": ..., "monotonic_ns": ..., "drops": {...}}: the moment by the same map as all others. Counts of rings
 * that lived in memory are gone with them, but for what stands there. */
static bool read_stop(ps_capture *c) {
    const char *text = ps_capture_fact(c, "stop");
    c->stopped = text[0] != '\0';
    if (!c->stopped) {
        return true;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    const ps_literal *doc = ps_literal_parse(&arena, text, strlen(text), &odd);
    int64_t mono_ns = 0;
    if (ps_literal_int(ps_literal_get(doc, "monotonic_ns"), &mono_ns)) {
        c->stop_ns = ps_line_unix_of_mono(&c->clock, mono_ns);
    }
    const ps_literal *drops = ps_literal_get(doc, "drops");
    c->has_stop_drops = drops != NULL && drops->kind == PS_LITERAL_OBJECT;
    static const char *const KEYS[PS_N_DROPS] = {
#define X(name, key, words, lost) key,
#include "record/ring/drops.def"
#undef X
    };
    for (unsigned i = 0; c->has_stop_drops && i < PS_N_DROPS; i++) {
        int64_t n = 0;
        if (ps_literal_int(ps_literal_get(drops, KEYS[i]), &n) && n > 0) {
            c->stop_drops[i] = (uint64_t)n;
        }
    }
    ps_arena_fini(&arena);
    return odd.code != PS_NOMEM;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static ps_code read_slots(ps_capture *c, ps_err *err) {
    ps_code code = ps_capture_decode(c, false, err);
    if (code == PS_OK) {
        code = ps_capture_fit_clock(c) && finish_anchors(c) && read_stop(c)
                   ? ps_capture_pair(c, err)
                   : ps_fail_nomem(err);
    }
    return code;
}

static ps_code finish_capture(ps_capture *c, ps_code code, ps_capture **out, ps_err *err) {
    if (code == PS_OK) {
        code = read_slots(c, err);
    }
    if (code != PS_OK) {
        ps_capture_free(c);
        c = NULL;
    }
    *out = c;
    return code;
}

size_t ps_capture_most_texts = (size_t)1 << 22;

static ps_capture *make_capture(void) {
    ps_capture *c = ps_calloc(1, sizeof *c);
    if (c != NULL) {
        ps_texts_init(&c->texts);
        c->texts.most = ps_capture_most_texts;
    }
    return c;
}

ps_code ps_capture_read_held(const char *dir, const char *held, size_t n_held, ps_capture **out,
                             ps_err *err) {
    ps_capture *c = make_capture();
    *out = NULL;
    return c == NULL
               ? ps_fail_nomem(err)
               : finish_capture(c, ps_slot_files_open(&c->files, dir, held, n_held, err), out, err);
}

ps_code ps_capture_read(const char *dir, ps_capture **out, ps_err *err) {
    return ps_capture_read_held(dir, NULL, 0, out, err);
}

ps_code ps_capture_peek(const char *dir, ps_capture **out, ps_err *err) {
    ps_capture *c = make_capture();
    *out = NULL;
    if (c == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_slot_files_open(&c->files, dir, NULL, 0, err);
    if (code == PS_OK) {
        code = ps_capture_decode(c, true, err);
    }
    if (code == PS_OK && !ps_capture_fit_clock(c)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        *out = c;
    } else {
        ps_capture_free(c);
    }
    return code;
}

ps_code ps_capture_read_memory(const void *spool, size_t bytes, ps_capture **out, ps_err *err) {
    ps_capture *c = make_capture();
    *out = NULL;
    return c == NULL
               ? ps_fail_nomem(err)
               : finish_capture(c, ps_slot_files_memory(&c->files, spool, bytes, err), out, err);
}

static void free_named(ps_named *named) {
    ps_free(named->key);
    ps_free(named->value);
}

static void free_columns(ps_capture *c) {
    void *const columns[] = {c->events.start_ns,
                             c->events.end_ns,
                             c->events.device_start_ns,
                             c->events.device_end_ns,
                             c->events.device,
                             c->events.context,
                             c->events.stream,
                             c->events.id,
                             c->events.forward,
                             c->events.forward_tid,
                             c->events.host_only,
                             c->events.message,
                             c->events.shapes,
                             c->events.extra,
                             c->events.domain,
                             c->events.tid,
                             c->events.end_tid,
                             c->events.what,
                             c->steps.number,
                             c->steps.start_ns,
                             c->steps.end_ns,
                             c->steps.device_start_ns,
                             c->steps.device_end_ns,
                             c->steps.stream,
                             c->steps.id,
                             c->steps.tid,
                             c->steps.device,
                             c->steps.context,
                             c->device.start_ns,
                             c->device.end_ns,
                             c->device.correlation,
                             c->device.stream,
                             c->device.bytes,
                             c->device.device,
                             c->device.context,
                             c->device.tid,
                             c->device.name,
                             c->device.what,
                             c->device.kind,
                             c->nvtx.category,
                             c->nvtx.colour,
                             c->nvtx.payload_type,
                             c->nvtx.form,
                             c->nvtx.payload,
                             c->raw_events.at,
                             c->raw_ends.at,
                             c->raw_steps.at,
                             c->raw_device.at,
                             c->raw_rows.at,
                             c->raw_anchors.at,
                             c->clock.knots,
                             c->anchors.at,
                             c->domains.at,
                             c->shared.at,
                             c->stripped};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        ps_free(columns[i]);
    }
}

static size_t n_before(const int64_t *start_ns, size_t n, int64_t end_ns) {
    while (n > 0 && start_ns[n - 1] >= end_ns) {
        n--;
    }
    return n;
}

bool ps_capture_halve(ps_capture *c) {
    const ps_events *e = &c->events;
    const ps_device_rows *d = &c->device;
    ps_steps *s = &c->steps;
    size_t half = (e->n > 0 ? e->n : d->n) / 2;
    if (half == 0) {
        return false;
    }
    int64_t end_ns = e->n > 0 ? e->start_ns[half] : d->start_ns[half];
    size_t n_events = e->n > 0 ? half : 0;
    size_t n_device = e->n > 0 ? n_before(d->start_ns, d->n, end_ns) : half;
    c->found[PS_DROP_NO_ROOM] += (e->n - n_events) + (d->n - n_device);
    c->events.n = n_events;
    c->device.n = n_device;
    s->n = n_before(s->start_ns, s->n, end_ns);
    if (s->n > 0 && s->end_ns[s->n - 1] > end_ns) {
        s->end_ns[s->n - 1] = end_ns;
    }
    return true;
}

void ps_capture_free(ps_capture *c) {
    if (c == NULL) {
        return;
    }
    free_columns(c);
    free_named(&c->domain_names);
    free_named(&c->threads);
    free_named(&c->streams);
    free_named(&c->metadata);
    free_named(&c->facts);
    ps_texts_fini(&c->texts);
    ps_slot_files_close(&c->files);
    ps_free(c);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

const ps_spool_header *ps_capture_header(const ps_capture *c) {
    return &c->files.header;
}
const ps_events *ps_capture_events(const ps_capture *c) {
    return &c->events;
}
const ps_steps *ps_capture_steps(const ps_capture *c) {
    return &c->steps;
}
const ps_device_rows *ps_capture_device(const ps_capture *c) {
    return &c->device;
}
const ps_nvtx_rows *ps_capture_nvtx(const ps_capture *c) {
    return &c->nvtx;
}
const ps_named *ps_capture_domains(const ps_capture *c) {
    return &c->domain_names;
}
const ps_named *ps_capture_threads(const ps_capture *c) {
    return &c->threads;
}
const ps_named *ps_capture_streams(const ps_capture *c) {
    return &c->streams;
}
const ps_named *ps_capture_metadata(const ps_capture *c) {
    return &c->metadata;
}
const ps_named *ps_capture_facts(const ps_capture *c) {
    return &c->facts;
}
const ps_clock_line *ps_capture_clock(const ps_capture *c) {
    return &c->clock;
}
const ps_captured_anchor *ps_capture_anchors(const ps_capture *c, size_t *n) {
    *n = c->anchors.n;
    return c->anchors.at;
}

const char *ps_capture_fact(const ps_capture *c, const char *name) {
    for (size_t i = c->facts.n; i-- > 0;) {
        if (strcmp(c->texts.text[c->facts.key[i]], name) == 0) {
            return c->texts.text[c->facts.value[i]];
        }
    }
    return "";
}

const char *ps_capture_text(const ps_capture *c, uint32_t id, size_t *length) {
    bool known = id < c->texts.n;
    if (length != NULL) {
        *length = known ? c->texts.length[id] : 0;
    }
    return known ? c->texts.text[id] : "";
}

uint32_t ps_capture_text_count(const ps_capture *c) {
    return (uint32_t)c->texts.n;
}

/* A ring that lived in memory is gone; of its counts the spool kept the sum, "stop" the kinds. */
uint64_t ps_capture_ring_drops(const ps_capture *c, uint32_t ring, unsigned drop) {
    if (ring >= c->files.n_rings || drop >= PS_N_DROPS) {
        return 0;
    }
    const ps_ring_slots *r = &c->files.rings[ring];
    if (!r->has_header) {
        return drop == PS_DROP_RING_FULL && !c->has_stop_drops ? r->block_drops : 0;
    }
    return r->drops[drop];
}

uint32_t ps_capture_ring_thread(const ps_capture *c, uint32_t ring) {
    return ring < c->files.n_rings ? c->files.rings[ring].tid : 0;
}

uint32_t ps_capture_ring_count(const ps_capture *c) {
    return (uint32_t)c->files.n_rings;
}

uint64_t ps_capture_drops(const ps_capture *c, unsigned drop) {
    uint64_t sum = 0;
    for (uint32_t ring = 0; ring < c->files.n_rings; ring++) {
        sum += ps_capture_ring_drops(c, ring, drop);
    }
    if (drop < PS_N_DROPS) {
        sum = c->stop_drops[drop] > sum ? c->stop_drops[drop] : sum;
        /* The writer sees steps of the wall clock too. */
        sum = drop != PS_DROP_CLOCK_STEP ? sum + c->found[drop]
              : sum > c->found[drop]     ? sum
                                         : c->found[drop];
    }
    return sum;
}

void ps_capture_span(const ps_capture *c, int64_t *start_ns, int64_t *end_ns, bool *ended) {
    uint64_t first = c->first_ticks;
    uint64_t last = c->last_ticks;
    if (c->raw_anchors.n > 0) {
        uint64_t begun = c->raw_anchors.at[0].ticks;
        first = begun < first ? begun : first;
        last = begun > last ? begun : last;
    }
    *start_ns = ps_line_unix(&c->clock, first == UINT64_MAX ? c->clock.ticks0 : first);
    *end_ns = first == UINT64_MAX ? *start_ns : ps_line_unix(&c->clock, last);
    *end_ns = c->stop_ns > *end_ns ? c->stop_ns : *end_ns;
    *ended = c->stopped;
}

uint64_t ps_capture_damaged_bytes(const ps_capture *c, char *place, size_t size) {
    if (size > 0) {
        size_t n = strlen(c->files.place);
        n = n < size ? n : size - 1;
        memcpy(place, c->files.place, n);
        place[n] = '\0';
    }
    return c->files.damaged_bytes;
}
