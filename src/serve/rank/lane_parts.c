#include "serve/rank/lane_parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/text.h"

/* Kinds of interface as databases of Ascend name them. */
static const char *const API_KINDS[] = {"acl", "model", "node", "hccl", "communication", "runtime"};
#define N_API_KINDS (sizeof API_KINDS / sizeof *API_KINDS)

typedef struct maker {
    ps_lane_parts *p;
    const ps_trace *t;
    const ps_slices *s;
    const ps_track *tracks;
    size_t n_tracks;
    uint32_t *part_of;
    uint32_t *last;    /* [n_tracks] part of the slice before; most follow one of their like */
    uint32_t *n_marks; /* [n_tracks] lanes of marks so far */
    ps_str apis[N_API_KINDS];
} maker;

static bool is_api(const maker *m, ps_str category) {
    for (size_t i = 0; !ps_str_is_none(category) && i < N_API_KINDS; i++) {
        if (ps_str_eq(m->apis[i], category)) {
            return true;
        }
    }
    return false;
}

/* --- what kind of trace it is --------------------------------------------------------------------------- */

/* One look at the kinds of all slices; texts are looked at where a category differs from the one before. */
static void look_lane_part(maker *m) {
    ps_lane_parts *p = m->p;
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(m->t, &n);
    for (size_t i = 0; i < n; i++) {
        const char *name = ps_trace_text(m->t, processes[i].name);
        p->is_ascend =
            p->is_ascend || strcmp(name, "Ascend Hardware") == 0 || strcmp(name, "CANN") == 0;
    }
    for (size_t i = 0; i < m->n_tracks; i++) {
        p->is_ascend = p->is_ascend || m->tracks[i].kind == PS_TRACK_COMM_PLANE;
    }
    ps_str last = PS_STR_NONE;
    for (uint32_t i = 0; i < m->s->n; i++) {
        uint8_t kind = m->s->kind[i];
        ps_str category = m->s->category[i];
        p->has_marks = p->has_marks || kind == PS_SLICE_MARK_HOST;
        p->has_kernels = p->has_kernels || kind == PS_SLICE_KERNEL || kind == PS_SLICE_COMM_KERNEL;
        if (ps_str_is_none(category) || ps_str_eq(category, last)) {
            continue;
        }
        last = category;
        if (kind == PS_SLICE_CALL && is_api(m, category)) {
            p->calls_apart = true;
        } else if (kind == PS_SLICE_QUEUE && strcmp(ps_trace_text(m->t, category), "queue") == 0) {
            p->calls_apart = true;
        } else if (kind >= PS_SLICE_KERNEL && !p->is_ascend) {
            p->is_ascend = ps_is_ascend_task(ps_trace_text(m->t, category));
        }
    }
    p->is_ascend = p->is_ascend || p->calls_apart;
    p->calls_apart = p->calls_apart || (p->is_ascend && n == 0); /* n: its text names processes */
}

/* Marks of a stream carry no domain, the ranges of the host that they mirror do: it waits in `part_of` until the slice
 * gets its part. */
static void hand_down_domains(maker *m) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(m->t, &n);
    memset(m->part_of, 0, m->s->n * sizeof *m->part_of);
    for (size_t i = 0; i < n; i++) {
        if (m->s->kind[flows[i].to] == PS_SLICE_MARK_DEVICE &&
            m->s->kind[flows[i].from] < PS_SLICE_KERNEL) {
            m->part_of[flows[i].to] = m->s->category[flows[i].from].id;
        }
    }
}

/* --- parts ---------------------------------------------------------------------------------------------- */

static ps_lane_part host_part(const ps_lane_parts *p, const ps_trace *t, uint32_t i, ps_str *text) {
    const ps_slices *s = ps_trace_slices(t);
    switch ((ps_slice_kind)s->kind[i]) {
    case PS_SLICE_PYTHON:
        return PS_PART_FRAMES;
    case PS_SLICE_MARK_HOST:
        *text = s->category[i];
        return PS_PART_MARKS;
    case PS_SLICE_INSTANT:
        if (p->has_marks || p->calls_apart) {
            *text = s->category[i];
            return PS_PART_MARKS;
        }
        return PS_PART_OPS;
    case PS_SLICE_CALL:
        if (p->calls_apart) {
            *text = s->category[i];
            return PS_PART_API;
        }
        return PS_PART_OPS;
    case PS_SLICE_HOST_OTHER:
        return p->calls_apart && strcmp(ps_trace_text(t, s->name[i]), "Python GC") == 0
                   ? PS_PART_GC
                   : PS_PART_OPS;
    default:
        return PS_PART_OPS;
    }
}

/* `domain`: what the slice that a mark of a stream mirrors says. */
static ps_lane_part part_of_slice(const ps_lane_parts *p, const ps_trace *t, ps_track_kind kind,
                                  uint32_t i, ps_str domain, ps_str *text) {
    const ps_slices *s = ps_trace_slices(t);
    if (kind == PS_TRACK_HOST_THREAD) {
        return host_part(p, t, i, text);
    }
    if (kind == PS_TRACK_STREAM && s->kind[i] == PS_SLICE_MARK_DEVICE) {
        *text = ps_str_is_none(s->category[i]) ? domain : s->category[i];
        return PS_PART_MARKS;
    }
    return PS_PART_ALL;
}

static uint64_t lane_part_key_of(uint32_t track, ps_str text) {
    return (uint64_t)text.id << 32 | track;
}

/* PS_NONE when memory is out. */
static uint32_t find_lane_part(maker *m, uint32_t track, ps_lane_part part, ps_str text) {
    ps_lane_parts *p = m->p;
    uint32_t found = m->last[track];
    if (found != PS_NONE && p->at[found].part == part && ps_str_eq(p->at[found].text, text)) {
        return found;
    }
    uint64_t key = lane_part_key_of(track, text);
    if (part == PS_PART_MARKS && m->n_marks[track] >= PS_MAX_MARK_LANES &&
        ps_idmap_get(&p->of[part], key) == PS_IDMAP_NONE) {
        text = PS_STR_NONE;
        key = lane_part_key_of(track, text);
    }
    found = ps_idmap_get(&p->of[part], key);
    if (found != PS_IDMAP_NONE) {
        return found;
    }
    if (!ps_grow(&p->at, &p->cap, p->n + 1, PS_NONE - 1, sizeof *p->at) ||
        !ps_idmap_put(&p->of[part], key, (uint32_t)p->n)) {
        return PS_NONE;
    }
    m->n_marks[track] += part == PS_PART_MARKS;
    p->at[p->n] = (ps_part_lane){.track = track, .part = part, .text = text};
    return (uint32_t)p->n++;
}

static void note_role(maker *m, uint32_t i) {
    ps_thread_role *role = &m->p->roles[m->s->track[i]];
    if (*role != PS_ROLE_NONE) {
        return;
    }
    if (m->s->kind[i] == PS_SLICE_QUEUE &&
        ps_begins_with(ps_trace_text(m->t, m->s->name[i]), "Dequeue")) {
        *role = PS_ROLE_DEQUEUE;
    } else if (m->s->kind[i] == PS_SLICE_HOST_OP &&
               ps_begins_with(ps_trace_text(m->t, m->s->name[i]), "autograd::engine::")) {
        *role = PS_ROLE_AUTOGRAD;
    }
}

static bool note_mirrored(maker *m, uint32_t slice, uint32_t part) {
    ps_lane_parts *p = m->p;
    return PS_ADD(p->mirrored, p->n_mirrored, p->cap_mirrored, PS_NONE, (ps_mirrored){slice, part});
}

static bool divide_lane_part(maker *m) {
    for (uint32_t i = 0; i < m->s->n; i++) {
        uint32_t track = m->s->track[i];
        ps_str text = PS_STR_NONE;
        ps_str domain = {m->part_of[i]};
        ps_lane_part part = part_of_slice(m->p, m->t, m->tracks[track].kind, i, domain, &text);
        uint32_t row = find_lane_part(m, track, part, text);
        if (row == PS_NONE || (!ps_str_is_none(domain) && !note_mirrored(m, i, row))) {
            return false;
        }
        m->last[track] = row;
        m->part_of[i] = row;
        if (part == PS_PART_OPS) {
            bool is_call = m->s->kind[i] == PS_SLICE_CALL;
            m->p->at[row].has_calls = m->p->at[row].has_calls || is_call;
            m->p->at[row].has_others = m->p->at[row].has_others || !is_call;
            note_role(m, i);
        }
    }
    return true;
}

static bool add_counters(maker *m) {
    const ps_counters *c = ps_trace_counters(m->t);
    for (uint32_t i = 0; i < c->n; i++) { /* sorted by track */
        if ((i == 0 || c->track[i] != c->track[i - 1]) &&
            find_lane_part(m, c->track[i], PS_PART_VALUES, PS_STR_NONE) == PS_NONE) {
            return false;
        }
    }
    return true;
}

bool ps_lane_parts_init(ps_lane_parts *p, const ps_trace *t, uint32_t *part_of) {
    *p = (ps_lane_parts){0};
    for (size_t i = 0; i < PS_N_LANE_PARTS; i++) {
    }
    maker m = {.p = p, .t = t, .s = ps_trace_slices(t), .part_of = part_of};
    m.tracks = ps_trace_tracks(t, &m.n_tracks);
    for (size_t i = 0; i < N_API_KINDS; i++) {
        m.apis[i] = ps_trace_find_text(t, API_KINDS[i]);
    }
    p->roles = ps_calloc(m.n_tracks + 1, sizeof *p->roles);
    m.last = ps_calloc(m.n_tracks + 1, sizeof *m.last);
    m.n_marks = ps_calloc(m.n_tracks + 1, sizeof *m.n_marks);
    bool ok = p->roles != NULL && m.last != NULL && m.n_marks != NULL;
    for (size_t i = 0; ok && i < m.n_tracks; i++) {
        m.last[i] = PS_NONE;
        bool is_main = m.tracks[i].kind == PS_TRACK_HOST_THREAD && m.tracks[i].tid >= 0 &&
                       m.tracks[i].tid == m.tracks[i].pid;
        p->roles[i] = is_main ? PS_ROLE_MAIN : PS_ROLE_NONE;
    }
    if (ok) {
        look_lane_part(&m);
        hand_down_domains(&m);
        ok = divide_lane_part(&m) && add_counters(&m);
    }
    ps_free(m.last);
    ps_free(m.n_marks);
    return ok;
}

static const ps_mirrored *find_mirrored(const ps_lane_parts *p, uint32_t slice) {
    PS_PLACE(size_t, low, 0, p->n_mirrored, i, p->mirrored[i].slice < slice);
    return low < p->n_mirrored && p->mirrored[low].slice == slice ? &p->mirrored[low] : NULL;
}

uint32_t ps_lane_parts_of(const ps_lane_parts *p, const ps_trace *t, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(t);
    const ps_mirrored *mirrored =
        s->kind[slice] == PS_SLICE_MARK_DEVICE ? find_mirrored(p, slice) : NULL;
    if (mirrored != NULL) {
        return mirrored->part;
    }
    uint32_t track = s->track[slice];
    size_t n = 0;
    ps_str text = PS_STR_NONE;
    ps_lane_part part =
        part_of_slice(p, t, ps_trace_tracks(t, &n)[track].kind, slice, PS_STR_NONE, &text);
    uint32_t row = ps_idmap_get(&p->of[part], lane_part_key_of(track, text));
    return row != PS_IDMAP_NONE ? row
                                : ps_idmap_get(&p->of[part], lane_part_key_of(track, PS_STR_NONE));
}

void ps_lane_parts_fini(ps_lane_parts *p) {
    for (size_t i = 0; i < PS_N_LANE_PARTS; i++) {
        ps_idmap_fini(&p->of[i]);
    }
    ps_free(p->at);
    ps_free(p->roles);
    ps_free(p->mirrored);
    *p = (ps_lane_parts){0};
}
