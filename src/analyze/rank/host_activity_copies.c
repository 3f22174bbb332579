#include "analyze/rank/host_activity_copies.h"

#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"

enum { LAUNCHES = 1, WAITS = 2 };

/* Marks the operators that launch a copy, with all that they lie in. */
static bool mark_launches(const ps_links *links, uint8_t *marks) {
    const ps_slices *s = ps_trace_slices(links->trace);
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t op = s->kind[i] == PS_SLICE_COPY ? links->op[i] : PS_NONE;
        for (; op != PS_NONE && marks[op] == 0; op = links->parent[op]) {
            marks[op] = LAUNCHES;
            any = true;
        }
    }
    return any;
}

/* Old captures have their steps as operators: those are none. */
static uint32_t operator_around(const ps_links *links, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(links->trace);
    while (slice != PS_NONE && s->kind[slice] != PS_SLICE_HOST_OP) {
        slice = links->parent[slice];
    }
    return slice != PS_NONE && !ps_is_step_window(links, slice) ? slice : PS_NONE;
}

/* The operator in which a call lies, on its own track or on another one of the same thread. */
static uint32_t operator_of_call(const ps_host_activity *h, const ps_track *tracks, uint32_t call) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    uint32_t op = operator_around(h->links, h->links->parent[call]);
    const ps_track *own = &tracks[s->track[call]];
    for (size_t k = 0; op == PS_NONE && k < h->n_threads; k++) {
        const ps_track *other = &tracks[h->threads[k].track];
        if (other == own || other->tid != own->tid) {
            continue;
        }
        int64_t until_ns = 0;
        int64_t start_ns = s->start_ns[call];
        uint32_t at = ps_host_innermost_at(h, (uint32_t)k, start_ns, INT64_MAX, &until_ns);
        op = operator_around(h->links, at);
    }
    return op;
}

static bool mark_waits(const ps_host_activity *h, uint8_t *marks) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(h->links->trace, &n_tracks);
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (h->of[i] == PS_ACTIVITY_SYNC && h->from[i] == i && s->kind[i] == PS_SLICE_CALL) {
            uint32_t op = operator_of_call(h, tracks, i);
            bool waits = op != PS_NONE && marks[op] != 0;
            marks[waits ? op : i] |= waits ? WAITS : 0;
            any = any || waits;
        }
    }
    return any;
}

/* --- reads of a value ------------------------------------------------------------------------------------ */

/* Copies of whatever kind, synchronous or not, and what waits for the device. */
static bool is_transfer_call(const char *name) {
    static const char *const FAMILIES[] = {"aclrtMemcpy", "cudaMemcpy", "cuMemcpy", "hipMemcpy"};
    ps_activity does = ps_activity_of(PS_SLICE_CALL, name);
    bool is_copy = does == PS_ACTIVITY_COPY || does == PS_ACTIVITY_SYNC;
    name = ps_call_name(name);
    for (size_t i = 0; !is_copy && i < sizeof FAMILIES / sizeof *FAMILIES; i++) {
        is_copy = strncmp(name, FAMILIES[i], strlen(FAMILIES[i])) == 0;
    }
    return is_copy;
}

/* Marks all that such a call lies in, on its own track and on that of the operators of its thread. */
static void mark_around(const ps_links *links, uint32_t slice, uint8_t *holds) {
    for (; slice != PS_NONE && holds[slice] == 0; slice = links->parent[slice]) {
        holds[slice] = 1;
    }
}

bool ps_host_activity_find_transfers(ps_host_activity *h) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(h->links->trace, &n_tracks);
    uint8_t *holds = ps_calloc((size_t)s->n + 1, sizeof *holds);
    ps_idmap known;
    ps_idmap_init(&known);
    bool ok = holds != NULL;
    bool any = false;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (!ps_is_host_range(s->kind[i])) {
            continue;
        }
        uint32_t is_transfer = ps_idmap_get(&known, s->name[i].id);
        if (is_transfer == PS_IDMAP_NONE) {
            is_transfer = is_transfer_call(ps_trace_text(h->links->trace, s->name[i])) ? 1 : 0;
            ok = ps_idmap_put(&known, s->name[i].id, is_transfer);
        }
        if (is_transfer != 0) {
            any = true;
            mark_around(h->links, i, holds);
            mark_around(h->links, operator_of_call(h, tracks, i), holds);
        }
    }
    ps_idmap_fini(&known);
    h->transfers = any ? holds : NULL;
    if (!any) {
        ps_free(holds);
    }
    return ok;
}

/* --- copies that are waited for --------------------------------------------------------------------------- */

static bool counts_less(uint8_t activity) {
    return activity == PS_ACTIVITY_SYNC ||
           ps_activity_tier((ps_activity)activity) < ps_activity_tier(PS_ACTIVITY_COPY);
}

/* Parents come before what lies in them. */
static void take_marked(ps_host_activity *h, const uint8_t *marks) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t parent = h->links->parent[i];
        uint32_t outer = parent != PS_NONE ? h->from[parent] : PS_NONE;
        bool is_inside =
            outer != PS_NONE && (marks[outer] & WAITS) != 0 && h->of[parent] == PS_ACTIVITY_COPY;
        bool is_one = (marks[i] & WAITS) != 0;
        if ((is_one || is_inside) && ps_is_host_range(s->kind[i]) && counts_less(h->of[i])) {
            h->of[i] = PS_ACTIVITY_COPY;
            h->from[i] = is_inside ? outer : i;
        }
    }
}

bool ps_host_activity_take_copies(ps_host_activity *h) {
    uint8_t *marks = ps_calloc((size_t)ps_trace_slices(h->links->trace)->n + 1, sizeof *marks);
    if (marks == NULL) {
        return false;
    }
    if (mark_launches(h->links, marks) && mark_waits(h, marks)) {
        take_marked(h, marks);
    }
    ps_free(marks);
    return true;
}
