#include "serve/rank/flows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"

#define BLOCK 64
/* Flows that a walk into an operator looks at. */
#define MAX_LOOKS ((size_t)1 << 20)

/* --- building ------------------------------------------------------------------------------------------------- */

const char *ps_flow_kind_name(const ps_trace *trace, ps_str kind) {
    return ps_str_is_none(kind) ? PS_FLOW_MARKS : ps_trace_text(trace, kind);
}

static int64_t flow_earlier(const ps_flow_index *x, uint32_t row) {
    const int64_t *start = ps_trace_slices(x->trace)->start_ns;
    int64_t a = start[x->flows[row].from];
    int64_t b = start[x->flows[row].to];
    return a < b ? a : b;
}

static int64_t flow_later(const ps_flow_index *x, uint32_t row) {
    const int64_t *start = ps_trace_slices(x->trace)->start_ns;
    int64_t a = start[x->flows[row].from];
    int64_t b = start[x->flows[row].to];
    return a > b ? a : b;
}

PS_COMPARE(compare_flow_kinds, ps_flow_kind, PS_BY_TEXT(name))

/* Flows without a kind and those that are named as these are one kind. */
static uint32_t text_of_kind(const ps_flow_index *x, ps_str marks, uint32_t row) {
    ps_str kind = x->flows[row].kind;
    return ps_str_is_none(kind) ? marks.id : kind.id;
}

/* Kinds by name with their counts; kind_of[id of a text] is the place of a kind. */
static bool find_kinds(ps_flow_index *x, ps_str marks, ps_idmap *kind_of) {
    size_t cap = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t id = text_of_kind(x, marks, i);
        uint32_t k = ps_idmap_get(kind_of, id);
        if (k == PS_IDMAP_NONE) {
            k = (uint32_t)x->n_kinds;
            if (!ps_grow(&x->kinds, &cap, x->n_kinds + 1, UINT32_MAX, sizeof *x->kinds) ||
                !ps_idmap_put(kind_of, id, k)) {
                return false;
            }
            x->kinds[x->n_kinds++] =
                (ps_flow_kind){.name = ps_flow_kind_name(x->trace, x->flows[i].kind), .text = {id}};
        }
        x->kinds[k].n++;
    }
    ps_sort(x->kinds, x->n_kinds, sizeof *x->kinds, compare_flow_kinds);
    uint32_t first = 0;
    for (uint32_t k = 0; k < x->n_kinds; k++) {
        x->kinds[k].first = first;
        first += x->kinds[k].n;
        if (!ps_idmap_put(kind_of, x->kinds[k].text.id, k)) {
            return false;
        }
    }
    return true;
}

typedef struct timed {
    int64_t time_ns;
    uint32_t row;
} timed;

PS_COMPARE(compare_timed, timed, PS_BY(time_ns) PS_BY(row))

/* Flows come by the slice they start from, and slices by start: most of a kind are in order already. */
static bool order_kinds(ps_flow_index *x, ps_str marks, const ps_idmap *kind_of) {
    timed *all = ps_calloc((size_t)x->n + 1, sizeof *all);
    uint32_t *next = ps_calloc(x->n_kinds + 1, sizeof *next);
    bool ok = all != NULL && next != NULL;
    for (uint32_t i = 0; ok && i < x->n; i++) {
        uint32_t k = ps_idmap_get(kind_of, text_of_kind(x, marks, i));
        all[x->kinds[k].first + next[k]++] = (timed){flow_earlier(x, i), i};
    }
    for (size_t k = 0; ok && k < x->n_kinds; k++) {
        timed *begin = all + x->kinds[k].first;
        bool is_sorted = true;
        for (uint32_t i = 1; is_sorted && i < x->kinds[k].n; i++) {
            is_sorted = compare_timed(&begin[i - 1], &begin[i]) < 0;
        }
        if (!is_sorted) {
            qsort(begin, x->kinds[k].n, sizeof *begin, compare_timed);
        }
    }
    for (uint32_t i = 0; ok && i < x->n; i++) {
        x->order[i] = all[i].row;
        x->earlier_ns[i] = all[i].time_ns;
        int64_t late = flow_later(x, all[i].row);
        int64_t *latest = &x->latest_ns[i / BLOCK];
        *latest = i % BLOCK == 0 || late > *latest ? late : *latest;
    }
    ps_free(all);
    ps_free(next);
    return ok;
}

/* A counting sort by `to`. */
static bool order_ends(ps_flow_index *x) {
    uint32_t n_slices = ps_trace_slices(x->trace)->n;
    uint32_t *place = ps_calloc((size_t)n_slices + 1, sizeof *place);
    if (place == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        place[x->flows[i].to + 1]++;
    }
    for (uint32_t s = 0; s < n_slices; s++) {
        place[s + 1] += place[s];
    }
    for (uint32_t i = 0; i < x->n; i++) {
        x->by_to[place[x->flows[i].to]++] = i;
    }
    ps_free(place);
    return true;
}

ps_code ps_flow_index_init(ps_flow_index *x, const ps_trace *trace, ps_err *err) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n);
    *x = (ps_flow_index){.trace = trace, .flows = flows, .n = (uint32_t)n};
    ps_idmap kind_of = {0};
    x->by_to = ps_calloc(n + 1, sizeof *x->by_to);
    x->order = ps_calloc(n + 1, sizeof *x->order);
    x->earlier_ns = ps_calloc(n + 1, sizeof *x->earlier_ns);
    x->latest_ns = ps_calloc(n / BLOCK + 1, sizeof *x->latest_ns);
    bool ok = x->by_to != NULL && x->order != NULL && x->earlier_ns != NULL && x->latest_ns != NULL;
    ps_str marks = ps_trace_find_text(trace, PS_FLOW_MARKS);
    ok = ok && find_kinds(x, marks, &kind_of) && order_kinds(x, marks, &kind_of) && order_ends(x);
    ps_idmap_fini(&kind_of);
    if (!ok) {
        ps_flow_index_fini(x);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_flow_index_fini(ps_flow_index *x) {
    ps_free(x->by_to);
    ps_free(x->kinds);
    ps_free(x->order);
    ps_free(x->earlier_ns);
    ps_free(x->latest_ns);
    *x = (ps_flow_index){0};
}

size_t ps_flow_index_bytes(const ps_flow_index *x) {
    return (size_t)x->n * (sizeof *x->by_to + sizeof *x->order + sizeof *x->earlier_ns) +
           (size_t)x->n / BLOCK * sizeof *x->latest_ns + x->n_kinds * sizeof *x->kinds;
}

const ps_flow_kind *ps_flow_kind_find(const ps_flow_index *x, const char *name) {
    ps_flow_kind key = {.name = name};
    return x->n_kinds > 0
               ? bsearch(&key, x->kinds, x->n_kinds, sizeof *x->kinds, compare_flow_kinds)
               : NULL;
}

/* --- of one slice --------------------------------------------------------------------------------------------- */

/* The first row whose `from` is not below the slice. */
static uint32_t flow_first_from(const ps_flow_index *x, uint32_t slice) {
    PS_PLACE(uint32_t, low, 0, x->n, i, x->flows[i].from < slice);
    return low;
}

static uint32_t first_to(const ps_flow_index *x, uint32_t slice) {
    PS_PLACE(uint32_t, low, 0, x->n, i, x->flows[x->by_to[i]].to < slice);
    return low;
}

void ps_flows_from(const ps_flow_index *x, uint32_t slice, uint32_t *first, uint32_t *end) {
    *first = flow_first_from(x, slice);
    *end = *first;
    while (*end < x->n && x->flows[*end].from == slice) {
        ++*end;
    }
}

void ps_flows_to(const ps_flow_index *x, uint32_t slice, uint32_t *first, uint32_t *end) {
    *first = first_to(x, slice);
    *end = *first;
    while (*end < x->n && x->flows[x->by_to[*end]].to == slice) {
        ++*end;
    }
}

void ps_flow_list_fini(ps_flow_list *list) {
    ps_free(list->rows);
    *list = (ps_flow_list){0};
}

typedef struct walk {
    const ps_flow_index *x;
    const ps_links *links;
    const ps_slices *s;
    const ps_track *tracks;
    size_t max;
    ps_flow_list *list;
    ps_idmap seen;  /* rows of flows in the list */
    uint32_t *todo; /* slices */
    size_t n_todo, cap_todo;
    ps_idmap visited; /* slices that stood in todo */
    bool is_full;
} walk;

static bool list_add(ps_flow_list *list, uint32_t row) {
    return PS_ADD(list->rows, list->n, list->cap, UINT32_MAX, row);
}

static bool take_timed_flow(walk *w, uint32_t row) {
    if (ps_idmap_get(&w->seen, row) != PS_IDMAP_NONE) {
        return true;
    }
    if (w->list->n >= w->max) {
        w->is_full = true;
        w->list->is_cut = true;
        return true;
    }
    return ps_idmap_put(&w->seen, row, 1) && list_add(w->list, row);
}

static bool visit_later(walk *w, uint32_t slice) {
    if (ps_idmap_get(&w->visited, slice) != PS_IDMAP_NONE) {
        return true;
    }
    if (!ps_idmap_put(&w->visited, slice, 1) ||
        !ps_grow(&w->todo, &w->cap_todo, w->n_todo + 1, UINT32_MAX, sizeof *w->todo)) {
        return false;
    }
    w->todo[w->n_todo++] = slice;
    return true;
}

/* What a launch passes through on its way; operators, marks and kernels are its ends. */
static bool flow_passes(uint8_t kind) {
    return kind == PS_SLICE_QUEUE || kind == PS_SLICE_CALL || kind == PS_SLICE_HOST_OTHER;
}

static bool is_opened(uint8_t kind) {
    return flow_passes(kind) || kind == PS_SLICE_HOST_OP;
}

static bool go_on_from(walk *w, uint32_t row) {
    uint32_t to = w->x->flows[row].to;
    return take_timed_flow(w, row) && (!flow_passes(w->s->kind[to]) || visit_later(w, to));
}

/* Text exports of Ascend profilers give the calls of a thread to a process of their own: the thread's number is the same. */
static bool same_thread(const walk *w, uint32_t a, uint32_t b) {
    const ps_track *x = &w->tracks[w->s->track[a]];
    const ps_track *y = &w->tracks[w->s->track[b]];
    return x == y || (x->kind == PS_TRACK_HOST_THREAD && y->kind == PS_TRACK_HOST_THREAD &&
                      x->tid == y->tid && x->tid >= 0);
}

static bool flow_holds(const walk *w, uint32_t outer, uint32_t inner) {
    const ps_slices *s = w->s;
    return s->start_ns[outer] <= s->start_ns[inner] &&
           s->start_ns[outer] + s->dur_ns[outer] >= s->start_ns[inner] + s->dur_ns[inner] &&
           same_thread(w, outer, inner);
}

/* Flows that start from slices inside of this one on its thread. */
static bool open_slice(walk *w, uint32_t slice) {
    const ps_slices *s = w->s;
    int64_t end_ns = s->start_ns[slice] + s->dur_ns[slice];
    size_t n_looks = 0;
    for (uint32_t row = flow_first_from(w->x, slice + 1); row < w->x->n && !w->is_full; row++) {
        uint32_t from = w->x->flows[row].from;
        uint8_t kind = s->kind[w->x->flows[row].to];
        if (s->start_ns[from] > end_ns) {
            break;
        }
        if (++n_looks > MAX_LOOKS) {
            w->list->is_cut = true;
            break;
        }
        if (flow_holds(w, slice, from) && (flow_passes(kind) || ps_is_launched(kind)) &&
            !go_on_from(w, row)) {
            return false;
        }
    }
    return true;
}

static bool walk_down(walk *w, uint32_t slice) {
    uint32_t first = 0;
    uint32_t end = 0;
    ps_flows_from(w->x, slice, &first, &end);
    for (uint32_t row = first; row < end; row++) {
        if (!go_on_from(w, row)) {
            return false;
        }
    }
    return !is_opened(w->s->kind[slice]) || open_slice(w, slice);
}

static bool take_into(walk *w, uint32_t slice) {
    uint32_t first = 0;
    uint32_t end = 0;
    ps_flows_to(w->x, slice, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        uint32_t row = w->x->by_to[i];
        uint32_t from = w->x->flows[row].from;
        if (!take_timed_flow(w, row) || (flow_passes(w->s->kind[from]) && !visit_later(w, from))) {
            return false;
        }
    }
    return true;
}

/* The queue's end around a slice of the host: one above it, else one on its thread that a flow ends at. */
static uint32_t queue_around(const walk *w, uint32_t slice) {
    enum { MOST_LOOKS = 4096 };
    uint32_t around = w->links->parent[slice];
    while (around != PS_NONE && w->s->kind[around] != PS_SLICE_QUEUE) {
        around = w->links->parent[around];
    }
    uint32_t end = first_to(w->x, slice);
    for (uint32_t i = end; around == PS_NONE && i > 0 && end - i < MOST_LOOKS; i--) {
        uint32_t to = w->x->flows[w->x->by_to[i - 1]].to;
        around = w->s->kind[to] == PS_SLICE_QUEUE && flow_holds(w, to, slice) ? to : PS_NONE;
    }
    return around;
}

/* And around a call what it was taken out of a queue by. */
static bool walk_up(walk *w, uint32_t slice) {
    if (!take_into(w, slice)) {
        return false;
    }
    uint32_t around = ps_is_host_range(w->s->kind[slice]) ? queue_around(w, slice) : PS_NONE;
    return around == PS_NONE || take_into(w, around);
}

static bool walk_all(walk *w, uint32_t slice, bool step(walk *w, uint32_t slice)) {
    ps_idmap_fini(&w->visited);
    w->n_todo = 0;
    bool ok = visit_later(w, slice);
    for (size_t i = 0; ok && i < w->n_todo && !w->is_full; i++) {
        ok = step(w, w->todo[i]);
    }
    return ok;
}

static bool take_own(walk *w, uint32_t slice) {
    uint32_t first = 0;
    uint32_t end = 0;
    bool ok = true;
    ps_flows_to(w->x, slice, &first, &end);
    for (uint32_t i = first; ok && i < end && !w->is_full; i++) {
        ok = take_timed_flow(w, w->x->by_to[i]);
    }
    ps_flows_from(w->x, slice, &first, &end);
    for (uint32_t row = first; ok && row < end && !w->is_full; row++) {
        ok = take_timed_flow(w, row);
    }
    return ok;
}

ps_code ps_flow_chain(const ps_flow_index *x, const ps_links *links, uint32_t slice, size_t max,
                      ps_flow_list *list, ps_err *err) {
    walk w = {.x = x,
              .links = links,
              .s = ps_trace_slices(x->trace),
              .tracks = ps_trace_tracks(x->trace, &(size_t){0}),
              .max = max,
              .list = list};
    bool ok = take_own(&w, slice) && walk_all(&w, slice, walk_up) && walk_all(&w, slice, walk_down);
    ps_idmap_fini(&w.seen);
    ps_idmap_fini(&w.visited);
    ps_free(w.todo);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- of a window ---------------------------------------------------------------------------------------------- */

/* How many of each part are shown: the same for all that have them, as many as fit. */
static size_t flow_share_of(const size_t *counts, size_t n_parts, size_t limit) {
    size_t low = 1;
    size_t high = limit;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        size_t sum = 0;
        for (size_t i = 0; i < n_parts; i++) {
            sum += counts[i] < middle ? counts[i] : middle;
        }
        if (sum <= limit) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

size_t ps_thin_evenly(size_t n, size_t limit, int64_t time_of(const void *things, size_t i),
                      const void *things, size_t *picks, bool *ok) {
    *ok = true;
    if (n <= limit) {
        for (size_t i = 0; i < n; i++) {
            picks[i] = i;
        }
        return n;
    }
    size_t *ends = ps_calloc(limit + 1, 2 * sizeof *ends);
    *ok = ends != NULL;
    if (ends == NULL) {
        return 0;
    }
    size_t *counts = ends + limit + 1;
    int64_t first_ns = time_of(things, 0);
    uint64_t span = (uint64_t)time_of(things, n - 1) - (uint64_t)first_ns + 1;
    size_t begin = 0;
    for (size_t part = 0; part < limit; part++) {
        uint64_t stop = span / limit * (part + 1) + span % limit * (part + 1) / limit;
        PS_PLACE(size_t, low, begin, n, middle,
                 (uint64_t)time_of(things, middle) - (uint64_t)first_ns < stop);
        counts[part] = low - begin;
        ends[part] = low;
        begin = low;
    }
    size_t share = flow_share_of(counts, limit, limit);
    size_t n_picks = 0;
    for (size_t part = 0; part < limit; part++) {
        size_t wanted = counts[part] < share ? counts[part] : share;
        for (size_t k = 0; k < wanted; k++) {
            picks[n_picks++] = ends[part] - counts[part] + k * counts[part] / wanted;
        }
    }
    ps_free(ends);
    return n_picks;
}

/* Places in x->order, those of a list or all from `first` on. */
typedef struct places {
    const ps_flow_index *x;
    const uint32_t *list;
    uint32_t first;
} places;

static uint32_t place_at(const places *p, size_t i) {
    return p->list != NULL ? p->list[i] : p->first + (uint32_t)i;
}

static int64_t time_of_place(const void *things, size_t i) {
    const places *p = things;
    return p->x->earlier_ns[place_at(p, i)];
}

static uint32_t place_of_time(const ps_flow_index *x, const ps_flow_kind *kind, int64_t time_ns,
                              bool after) {
    PS_PLACE(uint32_t, low, kind->first, kind->first + kind->n, i,
             x->earlier_ns[i] < time_ns || (after && x->earlier_ns[i] == time_ns));
    return low;
}

static bool is_inside(const ps_flow_index *x, const ps_flow_window *w, uint32_t place) {
    return flow_later(x, x->order[place]) <= w->to_ns;
}

static uint64_t count_inside(const ps_flow_index *x, const ps_flow_window *w, uint32_t first,
                             uint32_t end) {
    uint64_t n = end - first;
    for (uint32_t i = first; i < end;) {
        uint32_t stop = (i / BLOCK + 1) * BLOCK;
        stop = stop < end ? stop : end;
        if (x->latest_ns[i / BLOCK] > w->to_ns) {
            for (uint32_t k = i; k < stop; k++) {
                n -= !is_inside(x, w, k);
            }
        }
        i = stop;
    }
    return n;
}

/* The places inside that are wanted; NULL when memory is out. */
static uint32_t *list_inside(const ps_flow_index *x, const ps_flow_window *w, uint32_t first,
                             uint32_t end, size_t *n) {
    uint32_t *list = ps_alloc(((size_t)(end - first) + 1) * sizeof *list);
    *n = 0;
    for (uint32_t i = first; list != NULL && i < end; i++) {
        bool may_leave = x->latest_ns[i / BLOCK] > w->to_ns;
        if ((!may_leave || is_inside(x, w, i)) &&
            (w->wanted == NULL || w->wanted(w->context, &x->flows[x->order[i]]))) {
            list[(*n)++] = i;
        }
    }
    return list;
}

/* Of places that were thinned out without looking at their ends: the next one of its part that lies inside. */
static ps_code add_picks(const places *p, const ps_flow_window *w, size_t n, const size_t *picks,
                         size_t n_picks, ps_flow_list *list, ps_err *err) {
    for (size_t k = 0; k < n_picks; k++) {
        size_t stop = k + 1 < n_picks ? picks[k + 1] : n;
        size_t i = picks[k];
        while (i < stop && !is_inside(p->x, w, place_at(p, i))) {
            i++;
        }
        if (i < stop && !list_add(list, p->x->order[place_at(p, i)])) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

ps_code ps_flow_window_list(const ps_flow_index *x, const ps_flow_window *w, ps_flow_list *list,
                            ps_err *err) {
    places p = {x, NULL, place_of_time(x, w->kind, w->from_ns, false)};
    uint32_t end = place_of_time(x, w->kind, w->to_ns, true);
    if (w->to_ns < w->from_ns || end <= p.first) {
        return PS_OK;
    }
    size_t n = end - p.first;
    uint32_t *chosen = NULL;
    list->total = w->wanted == NULL ? count_inside(x, w, p.first, end) : 0;
    if (w->wanted != NULL || list->total <= w->limit) { /* the rest leaves the window */
        chosen = list_inside(x, w, p.first, end, &n);
        if (chosen == NULL) {
            return ps_fail_nomem(err);
        }
        list->total = n;
        p.list = chosen;
    }
    bool ok = true;
    size_t *picks = ps_calloc(w->limit + 1, sizeof *picks);
    size_t n_picks = picks != NULL ? ps_thin_evenly(n, w->limit, time_of_place, &p, picks, &ok) : 0;
    ps_code code =
        picks != NULL && ok ? add_picks(&p, w, n, picks, n_picks, list, err) : ps_fail_nomem(err);
    ps_free(picks);
    ps_free(chosen);
    return code;
}
