/* Slices come by start, longer first. A slice goes to the first lane of its track where it lies inside the innermost
 * open slice or where nothing is open. After the first SEARCHED lanes of a track only lanes without an open slice are
 * used, and a heap knows which of them is free first: the work stays n log n when thousands of slices overlap. */
#include "write/trace/trace_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"

#define SEARCHED 64

bool ps_open_ends_push(ps_open_ends *o, int64_t end_ns) {
    return PS_ADD(o->ends, o->n, o->cap, SIZE_MAX / sizeof *o->ends, end_ns);
}

/* --- lanes --------------------------------------------------------------------------------------------- */

typedef struct busy_lane {
    int64_t until_ns;
    uint32_t lane;
} busy_lane;

/* The lanes of one track beyond those searched, the one that is free first at the top. */
typedef struct busy_heap {
    busy_lane *items;
    size_t n, cap;
} busy_heap;

typedef struct lane_maker {
    ps_trace_layout *layout;
    ps_open_ends *open; /* [n_lanes]; unused beyond the searched ones */
    size_t cap_open;
    uint32_t *last;  /* [n_tracks] last lane of the track */
    busy_heap *busy; /* [n_tracks] */
} lane_maker;

static bool is_before(busy_lane a, busy_lane b) {
    return a.until_ns != b.until_ns ? a.until_ns < b.until_ns : a.lane < b.lane;
}

static void sift_down(busy_heap *h, busy_lane item) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && is_before(h->items[child + 1], h->items[child])) {
            child++;
        }
        if (!is_before(h->items[child], item)) {
            break;
        }
        h->items[at] = h->items[child];
    }
    h->items[at] = item;
}

static bool heap_push(busy_heap *h, busy_lane item) {
    if (!ps_grow(&h->items, &h->cap, h->n + 1, SIZE_MAX / sizeof *h->items, sizeof *h->items)) {
        return false;
    }
    size_t at = h->n++;
    while (at > 0 && is_before(item, h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = item;
    return true;
}

/* PS_NONE when memory is out. */
static uint32_t add_layout_lane(lane_maker *m, uint32_t track) {
    ps_trace_layout *l = m->layout;
    size_t lane = l->n_lanes;
    if (lane >= PS_NONE ||
        !ps_grow(&l->lanes, &l->cap_lanes, lane + 1, PS_NONE, sizeof *l->lanes) ||
        !ps_grow(&m->open, &m->cap_open, lane + 1, PS_NONE, sizeof *m->open)) {
        return PS_NONE;
    }
    uint32_t before = m->last[track];
    l->lanes[lane] = (ps_trace_lane){track, l->lanes[before].number + 1, PS_NONE};
    l->lanes[before].next = (uint32_t)lane;
    m->open[lane] = (ps_open_ends){0};
    m->last[track] = (uint32_t)lane;
    return (uint32_t)l->n_lanes++;
}

static bool fits_layout(ps_open_ends *o, int64_t start_ns, int64_t end_ns) {
    (void)ps_open_ends_pop(o, start_ns);
    return o->n == 0 || (o->ends[o->n - 1] >= end_ns && o->n < PS_LANE_MAX_DEPTH);
}

/* The lane for a slice that fits on none of the searched ones. */
static uint32_t take_free(lane_maker *m, uint32_t track, int64_t start_ns, int64_t end_ns) {
    busy_heap *h = &m->busy[track];
    if (h->n > 0 && h->items[0].until_ns <= start_ns) {
        uint32_t lane = h->items[0].lane;
        sift_down(h, (busy_lane){end_ns, lane});
        return lane;
    }
    uint32_t lane = add_layout_lane(m, track);
    return lane != PS_NONE && heap_push(h, (busy_lane){end_ns, lane}) ? lane : PS_NONE;
}

static uint32_t place_layout(lane_maker *m, uint32_t track, int64_t start_ns, int64_t end_ns) {
    const ps_trace_layout *l = m->layout;
    uint32_t lane = track;
    for (uint32_t tried = 0; tried < SEARCHED; tried++) {
        if (lane == PS_NONE && (lane = add_layout_lane(m, track)) == PS_NONE) {
            return PS_NONE;
        }
        if (fits_layout(&m->open[lane], start_ns, end_ns)) {
            return ps_open_ends_push(&m->open[lane], end_ns) ? lane : PS_NONE;
        }
        lane = l->lanes[lane].next;
    }
    return take_free(m, track, start_ns, end_ns);
}

static bool make_lanes(ps_trace_layout *l, const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    lane_maker m = {.layout = l, .cap_open = l->n_tracks};
    m.open = ps_calloc(l->n_tracks + 1, sizeof *m.open);
    m.last = ps_calloc(l->n_tracks + 1, sizeof *m.last);
    m.busy = ps_calloc(l->n_tracks + 1, sizeof *m.busy);
    bool ok = m.open != NULL && m.last != NULL && m.busy != NULL;
    for (uint32_t track = 0; ok && track < l->n_tracks; track++) {
        l->lanes[track] = (ps_trace_lane){track, 0, PS_NONE};
        m.last[track] = track;
    }
    l->n_lanes = l->n_tracks;
    for (uint32_t row = 0; ok && row < s->n; row++) {
        l->lane_of[row] =
            place_layout(&m, s->track[row], s->start_ns[row], s->start_ns[row] + s->dur_ns[row]);
        l->has_slices[s->track[row]] = true;
        ok = l->lane_of[row] != PS_NONE;
    }
    for (size_t lane = 0; m.open != NULL && lane < l->n_lanes; lane++) {
        ps_free(m.open[lane].ends);
    }
    for (size_t track = 0; m.busy != NULL && track < l->n_tracks; track++) {
        ps_free(m.busy[track].items);
    }
    ps_free(m.open);
    ps_free(m.last);
    ps_free(m.busy);
    return ok;
}

/* --- groups -------------------------------------------------------------------------------------------- */

static ps_group_class layout_class_of(const ps_track *track) {
    switch (track->kind) {
    case PS_TRACK_HOST_THREAD:
        break;
    case PS_TRACK_STREAM:
        return PS_GROUP_DEVICE;
    case PS_TRACK_COMM_GROUP:
    case PS_TRACK_COMM_PLANE:
        return PS_GROUP_COMM;
    case PS_TRACK_DERIVED:
        return PS_GROUP_DERIVED;
    case PS_TRACK_COUNTER:
        return PS_GROUP_COUNTERS;
    }
    return PS_GROUP_HOST;
}

/* A track with all that its place depends on. */
typedef struct placed_track {
    int64_t group_order;
    int64_t order;       /* of a plane: that of its communicator */
    int64_t plane_order; /* of a plane: its own */
    int64_t pid, device;
    ps_group_class what;
    const ps_process *process;
    const char *process_name, *name;
    const ps_track *track;
    uint32_t row;
} placed_track;

/* Tracks of one pid, kind of track and device together. */
PS_COMPARE(compare_classes, placed_track, PS_BY(pid) PS_BY(what) PS_BY(device) PS_BY(row))

static int compare_shown_groups(const placed_track *x, const placed_track *y) {
    int by = ps_order_i64(x->group_order, y->group_order);
    by = by != 0 ? by : ps_order_i64((int64_t)x->what, (int64_t)y->what);
    by = by != 0 ? by : ps_order_i64(x->device, y->device);
    by = by != 0 ? by : strcmp(x->process_name, y->process_name);
    return by != 0 ? by : ps_order_i64(x->pid, y->pid);
}

/* Within a group: as the file says, else host threads, streams, communicators each followed by its planes, the rest. */
static int compare_shown(const void *a, const void *b) {
    const placed_track *x = a;
    const placed_track *y = b;
    int by = compare_shown_groups(x, y);
    by = by != 0 ? by : ps_order_i64(x->order, y->order);
    by = by != 0
             ? by
             : ps_order_i64((int64_t)layout_class_of(x->track), (int64_t)layout_class_of(y->track));
    by = by != 0 ? by : strcmp(x->name, y->name);
    by = by != 0 ? by : ps_order_i64((int64_t)x->track->kind, (int64_t)y->track->kind);
    by = by != 0 ? by : ps_order_i64(x->plane_order, y->plane_order);
    by = by != 0 ? by : ps_order_i64(x->track->tid, y->track->tid);
    return by != 0 ? by : ps_order_i64(x->row, y->row);
}

/* Tracks of one kind that share a pid are one group, and so are all tracks of a pid that differ in kind only because
 * there are counters or lanes beside the others. Where host threads and devices share a number (a small process number
 * may equal that of a device), each is a group. `p` is sorted by compare_classes. */
static void join_classes(placed_track *p, size_t n) {
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        uint32_t seen = 0;
        int64_t first_device = INT64_MAX;
        bool one_device = true;
        for (end = begin; end < n && p[end].pid == p[begin].pid; end++) {
            seen |= 1u << p[end].what;
            if (p[end].device >= 0) {
                one_device =
                    one_device && (first_device == INT64_MAX || first_device == p[end].device);
                first_device = p[end].device;
            }
        }
        bool has_host = (seen & 1u << PS_GROUP_HOST) != 0;
        bool has_device = (seen & (1u << PS_GROUP_DEVICE | 1u << PS_GROUP_COMM)) != 0;
        bool is_named = p[begin].process != NULL && !ps_str_is_none(p[begin].process->name);
        if (!(has_host && has_device) && (one_device || is_named)) {
            for (size_t i = begin; i < end; i++) {
                p[i].what = p[begin].what;
                p[i].device = has_host || first_device == INT64_MAX ? -1 : first_device;
            }
            continue;
        }
        for (size_t i = begin; has_host && i < end; i++) { /* of the host, not of a device */
            bool is_beside = p[i].what == PS_GROUP_DERIVED || p[i].what == PS_GROUP_COUNTERS;
            p[i].what = is_beside && p[i].device < 0 ? PS_GROUP_HOST : p[i].what;
        }
    }
}

static bool same_group(const placed_track *a, const placed_track *b) {
    return a->pid == b->pid && a->what == b->what && a->device == b->device;
}

/* `p` in the order of compare_shown. */
static void make_groups(ps_trace_layout *l, const placed_track *p) {
    for (size_t i = 0; i < l->n_tracks; i++) {
        if (i == 0 || !same_group(&p[i - 1], &p[i])) {
            l->groups[l->n_groups++] = (ps_trace_group){
                .pid = p[i].pid, .process = p[i].process, .what = p[i].what, .device = p[i].device};
        }
        l->tracks[i] = p[i].row;
        l->group_of[p[i].row] = (uint32_t)(l->n_groups - 1);
    }
}

PS_COMPARE_POINTERS(compare_pids, ps_trace_group, PS_BY(pid) PS_BY(what) PS_BY(device))

/* The first group of a pid keeps the number: host threads where there are any. */
static bool mark_split(ps_trace_layout *l) {
    ps_trace_group **by_pid = ps_calloc(l->n_groups + 1, sizeof *by_pid);
    if (by_pid == NULL) {
        return false;
    }
    for (size_t i = 0; i < l->n_groups; i++) {
        by_pid[i] = &l->groups[i];
    }
    ps_sort(by_pid, l->n_groups, sizeof *by_pid, compare_pids);
    for (size_t i = 1; i < l->n_groups; i++) {
        by_pid[i]->is_split = by_pid[i]->pid == by_pid[i - 1]->pid;
    }
    ps_free(by_pid);
    return true;
}

/* The row of each pid in the list of processes. */
static bool index_processes(const ps_trace *t, ps_idmap *rows) {
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(t, &n);
    for (size_t i = 0; i < n; i++) {
        if (!ps_idmap_put(rows, (uint64_t)processes[i].pid, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

static void fill_placed(placed_track *p, const ps_trace *t, const ps_idmap *process_rows) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    const ps_process *processes = ps_trace_processes(t, &(size_t){0});
    for (uint32_t row = 0; row < n; row++) {
        const ps_track *track = &tracks[row];
        uint32_t found = ps_idmap_get(process_rows, (uint64_t)track->pid);
        const ps_process *process = found != PS_IDMAP_NONE ? &processes[found] : NULL;
        p[row] =
            (placed_track){.group_order = process != NULL ? process->order : PS_NO_ORDER,
                           .order = track->order,
                           .pid = track->pid,
                           .device = track->kind == PS_TRACK_HOST_THREAD ? -1 : track->device,
                           .what = layout_class_of(track),
                           .process = process,
                           .process_name = process != NULL ? ps_trace_text(t, process->name) : "",
                           .name = ps_trace_text(t, track->name),
                           .track = track,
                           .row = row};
    }
}

static uint64_t communicator_key(const ps_track *track) {
    const int64_t fields[] = {track->pid, track->device, (int64_t)track->name.id};
    return ps_hash64(fields, sizeof fields);
}

/* Planes follow their communicator wherever that stands. False when memory is out. */
static bool order_planes(placed_track *p, size_t n) {
    ps_idmap communicators = {0}; /* -> row */
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (p[i].track->kind == PS_TRACK_COMM_GROUP) {
            ok = ps_idmap_put(&communicators, communicator_key(p[i].track), (uint32_t)i);
        }
    }
    for (size_t i = 0; ok && i < n; i++) {
        if (p[i].track->kind == PS_TRACK_COMM_PLANE) {
            uint32_t found = ps_idmap_get(&communicators, communicator_key(p[i].track));
            p[i].plane_order = p[i].order;
            p[i].order = found != PS_IDMAP_NONE ? p[found].order : p[i].order;
        }
    }
    ps_idmap_fini(&communicators);
    return ok;
}

static bool arrange(ps_trace_layout *l, const ps_trace *t) {
    ps_idmap process_rows = {0};
    placed_track *p = ps_calloc(l->n_tracks + 1, sizeof *p);
    bool ok = p != NULL && index_processes(t, &process_rows);
    if (ok && l->n_tracks > 0) {
        fill_placed(p, t, &process_rows);
        ok = order_planes(p, l->n_tracks);
        qsort(p, l->n_tracks, sizeof *p, compare_classes);
        join_classes(p, l->n_tracks);
        qsort(p, l->n_tracks, sizeof *p, compare_shown);
        make_groups(l, p);
        ok = mark_split(l) && ok;
    }
    ps_free(p);
    ps_idmap_fini(&process_rows);
    return ok;
}

ps_code ps_trace_layout_init(ps_trace_layout *l, const ps_trace *t, ps_err *err) {
    *l = (ps_trace_layout){0};
    (void)ps_trace_tracks(t, &l->n_tracks);
    l->groups = ps_calloc(l->n_tracks + 1, sizeof *l->groups);
    l->group_of = ps_calloc(l->n_tracks + 1, sizeof *l->group_of);
    l->tracks = ps_calloc(l->n_tracks + 1, sizeof *l->tracks);
    l->has_slices = ps_calloc(l->n_tracks + 1, sizeof *l->has_slices);
    l->lane_of = ps_calloc((size_t)ps_trace_slices(t)->n + 1, sizeof *l->lane_of);
    bool ok = l->groups != NULL && l->group_of != NULL && l->tracks != NULL && l->lane_of != NULL &&
              l->has_slices != NULL &&
              ps_grow(&l->lanes, &l->cap_lanes, l->n_tracks + 1, PS_NONE, sizeof *l->lanes) &&
              arrange(l, t) && make_lanes(l, t);
    if (!ok) {
        ps_trace_layout_fini(l);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_trace_layout_fini(ps_trace_layout *l) {
    ps_free(l->groups);
    ps_free(l->group_of);
    ps_free(l->tracks);
    ps_free(l->lanes);
    ps_free(l->lane_of);
    ps_free(l->has_slices);
    *l = (ps_trace_layout){0};
}

/* --- names --------------------------------------------------------------------------------------------- */

static void add_layout_text(const ps_trace *t, ps_str s, ps_buf *out) {
    ps_buf_add(out, ps_trace_text(t, s), ps_trace_text_len(t, s));
}

void ps_trace_group_title(const ps_trace *t, const ps_trace_group *group, ps_buf *out) {
    static const char *const WHATS[] = {"", "", " communication", " computed lanes", " counters"};
    if (!group->is_split && group->process != NULL && !ps_str_is_none(group->process->name)) {
        add_layout_text(t, group->process->name, out);
    } else if (group->what == PS_GROUP_HOST) {
        ps_buf_addf(out, "process %lld", (long long)group->pid);
    } else if (group->device >= 0 || group->what == PS_GROUP_DEVICE) {
        ps_buf_addf(out, "device %lld%s", (long long)(group->device >= 0 ? group->device : 0),
                    WHATS[group->what]);
    } else {
        ps_buf_add_str(out, WHATS[group->what] + 1);
    }
}

static void add_made_title(const ps_trace *t, const ps_track *track, ps_buf *out) {
    bool is_named = ps_trace_text_len(t, track->name) > 0;
    switch (track->kind) {
    case PS_TRACK_COMM_PLANE:
        ps_buf_addf(out, "plane %lld", (long long)track->tid);
        return;
    case PS_TRACK_COMM_GROUP:
        ps_buf_add_str(out, is_named ? "group " : "communication");
        break;
    case PS_TRACK_HOST_THREAD:
    case PS_TRACK_STREAM:
        if (!is_named) {
            ps_buf_addf(out, "%s %lld", track->kind == PS_TRACK_STREAM ? "stream" : "thread",
                        (long long)track->tid);
        }
        break;
    case PS_TRACK_DERIVED:
    case PS_TRACK_COUNTER:
        if (!is_named) {
            ps_buf_addf(out, "%s %lld", track->kind == PS_TRACK_COUNTER ? "counter" : "lane",
                        (long long)track->tid);
        }
        break;
    }
    add_layout_text(t, track->name, out);
}

void ps_trace_lane_title(const ps_trace *t, const ps_trace_lane *lane, ps_buf *out) {
    const ps_track *track = &ps_trace_tracks(t, &(size_t){0})[lane->track];
    if (ps_trace_text_len(t, track->label) > 0) {
        add_layout_text(t, track->label, out);
    } else {
        add_made_title(t, track, out);
    }
    if (lane->number > 0) {
        ps_buf_addf(out, " (%u)", lane->number + 1);
    }
}
