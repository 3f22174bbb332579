/* One pass in time order: of each device the end of all it did so far. What begins later ends a stretch. Stretches of nothing but
 * communication are those of the overlaps; what computes next ends them. */
#include "analyze/rank/idle.h"

#include "analyze/rank/comm_awaited.h"
#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"

#define MAX_PIECES ((size_t)1 << 32)
#define MAX_THREADS_ASKED 8
#define MAX_BACK 256

typedef struct device_end {
    int64_t device, end_ns;
} device_end;

typedef struct search {
    const ps_links *links;
    const ps_overlaps *overlaps;
    const ps_host_activity *host;
    const ps_slices *s;
    ps_work work;
    ps_idmap row_of; /* device -> row */
    ps_idmap behind; /* copy whose launch is not known -> what the device did next */
    device_end *devices;
    size_t n_devices, cap_devices;
    int64_t steps_start_ns, steps_end_ns;
    bool has_steps;
    ps_intervals first[2]; /* receives, garbage collection: united */
    ps_comm_awaited awaited;
    ps_idle *out;
} search;

static const uint8_t FIRST[2] = {PS_ACTIVITY_RECEIVE, PS_ACTIVITY_GC};

/* A copy of which nobody knows the launch tells nothing of the host: what comes behind it does. */
static uint32_t launched_next(const search *x, uint32_t slice) {
    uint32_t behind = ps_idmap_get(&x->behind, slice);
    return behind != PS_IDMAP_NONE ? behind : slice;
}

static int64_t idle_end_of(const search *x, uint32_t slice) {
    return x->s->start_ns[slice] + x->s->dur_ns[slice];
}

/* --- causes --------------------------------------------------------------------------------------------- */

static bool add_idle_piece(search *x, ps_idle_piece p) {
    ps_idle *out = x->out;
    if (p.end_ns <= p.start_ns) {
        return true;
    }
    ps_idle_piece *last = out->n > 0 ? &out->at[out->n - 1] : NULL;
    if (last != NULL && last->end_ns == p.start_ns && last->cause == p.cause &&
        last->from == p.from && last->row == p.row && last->part == p.part &&
        last->next == p.next) {
        last->end_ns = p.end_ns;
        return true;
    }
    if (!ps_grow(&out->at, &out->cap, out->n + 1, MAX_PIECES, sizeof *out->at)) {
        return false;
    }
    out->at[out->n++] = p;
    return true;
}

/* The piece as the thread has it; where that says nothing, as `after` and those behind it have it, in their order. */
static bool ask_threads(search *x, ps_idle_piece p, uint32_t thread, uint32_t after,
                        ps_activity otherwise) {
    if (thread == PS_NONE) {
        p.cause = (uint8_t)otherwise;
        p.from = PS_NONE;
        return add_idle_piece(x, p);
    }
    bool ok = true;
    bool more = after < x->host->n_threads && after < MAX_THREADS_ASKED;
    for (int64_t at = p.start_ns; ok && at < p.end_ns;) {
        ps_activity does = PS_ACTIVITY_NONE;
        ps_idle_piece part = p;
        part.start_ns = at;
        part.from = ps_host_activity_at(x->host, thread, at, p.end_ns, &part.end_ns, &does);
        part.cause = (uint8_t)does;
        at = part.end_ns;
        ok = does != PS_ACTIVITY_NONE
                 ? add_idle_piece(x, part)
                 : ask_threads(x, part, more ? after : PS_NONE, after + 1, otherwise);
    }
    return ok;
}

static uint32_t idle_thread_of(const search *x, uint32_t slice) {
    return slice != PS_NONE ? x->host->thread_of[x->s->track[slice]] : PS_NONE;
}

/* From the end of the operator on it is the turn of the thread that calls. */
static bool add_hosts(search *x, ps_idle_piece p) {
    uint32_t op = p.next != PS_NONE ? x->links->op[p.next] : PS_NONE;
    uint32_t call = p.next != PS_NONE ? x->links->call[p.next] : PS_NONE;
    uint32_t caller = idle_thread_of(x, call);
    uint32_t thread = op != PS_NONE ? idle_thread_of(x, op) : caller;
    int64_t handed = p.end_ns;
    if (op != PS_NONE && call != PS_NONE && caller != PS_NONE && caller != thread) {
        handed = idle_end_of(x, op) > p.start_ns ? idle_end_of(x, op) : p.start_ns;
        handed = handed < p.end_ns ? handed : p.end_ns;
    }
    thread = thread != PS_NONE || x->host->n_threads == 0 ? thread : 0;
    ps_idle_piece before = p;
    before.end_ns = handed;
    p.start_ns = handed;
    return ask_threads(x, before, thread, 0, PS_ACTIVITY_NONE) &&
           (p.start_ns >= p.end_ns ||
            ask_threads(x, p, caller, MAX_THREADS_ASKED, PS_ACTIVITY_CALL));
}

/* Behind its launch. A copy that the host waits for is prepared by its driver (pages are pinned, or go through a buffer) before the
 * device begins: the host does that. */
static bool add_queued(search *x, ps_idle_piece p) {
    bool is_copy = p.next != PS_NONE && x->s->kind[p.next] == PS_SLICE_COPY;
    uint32_t op = is_copy ? x->links->op[p.next] : PS_NONE;
    uint32_t thread = idle_thread_of(x, op != PS_NONE || !is_copy ? op : x->links->call[p.next]);
    bool ok = true;
    for (int64_t at = p.start_ns; ok && at < p.end_ns;) {
        ps_activity does = PS_ACTIVITY_NONE;
        ps_idle_piece part = p;
        part.start_ns = at;
        if (thread != PS_NONE) {
            part.from = ps_host_activity_at(x->host, thread, at, p.end_ns, &part.end_ns, &does);
        }
        bool waits = does == PS_ACTIVITY_COPY;
        part.from = waits ? part.from : PS_NONE;
        part.cause = waits ? (uint8_t)does : PS_IDLE_QUEUED;
        at = part.end_ns;
        ok = add_idle_piece(x, part);
    }
    return ok;
}

static bool add_by_launch(search *x, ps_idle_piece p) {
    uint32_t launch = PS_NONE;
    if (p.next != PS_NONE) {
        launch = x->links->call[p.next] != PS_NONE ? x->links->call[p.next] : x->links->op[p.next];
    }
    if ((launch == PS_NONE && p.next != PS_NONE) || x->host->n_threads == 0) {
        p.cause = PS_IDLE_UNKNOWN;
        return add_idle_piece(x, p);
    }
    int64_t launched = p.next != PS_NONE ? idle_end_of(x, launch) : p.end_ns;
    launched = launched < p.start_ns ? p.start_ns : launched > p.end_ns ? p.end_ns : launched;
    ps_idle_piece queued = p;
    queued.start_ns = launched;
    p.end_ns = launched;
    return add_hosts(x, p) && add_queued(x, queued);
}

/* What lies in `list` has its cause; what does not goes on. */
static bool add_outside(search *x, ps_idle_piece p, size_t which) {
    if (which == 2) {
        return add_by_launch(x, p);
    }
    const ps_intervals *list = &x->first[which];
    PS_PLACE(size_t, low, 0, list->n, middle, list->at[middle].end_ns <= p.start_ns)
    bool ok = true;
    for (; ok && low < list->n && list->at[low].start_ns < p.end_ns; low++) {
        ps_idle_piece before = p;
        ps_idle_piece inside = p;
        inside.start_ns = list->at[low].start_ns > p.start_ns ? list->at[low].start_ns : p.start_ns;
        inside.end_ns = list->at[low].end_ns < p.end_ns ? list->at[low].end_ns : p.end_ns;
        inside.cause = FIRST[which];
        before.end_ns = inside.start_ns;
        p.start_ns = inside.end_ns;
        ok = (before.end_ns <= before.start_ns || add_outside(x, before, which + 1)) &&
             add_idle_piece(x, inside);
    }
    return ok && (p.end_ns <= p.start_ns || add_outside(x, p, which + 1));
}

static bool add_stretch(search *x, int64_t device, int64_t start_ns, int64_t end_ns,
                        uint32_t next) {
    ps_share shares[2];
    size_t n =
        end_ns > start_ns ? ps_overlaps_share(x->overlaps, device, start_ns, end_ns, shares) : 0;
    bool ok = true;
    for (size_t i = n; ok && i > 0; i--) { /* the earlier one comes last */
        const ps_share *share = &shares[i - 1];
        ok = add_outside(x,
                         (ps_idle_piece){.start_ns = share->start_ns,
                                         .end_ns = share->end_ns,
                                         .row = (uint32_t)share->row,
                                         .from = PS_NONE,
                                         .next = next,
                                         .part = (uint8_t)share->part},
                         0);
    }
    return ok;
}

/* --- the walk ------------------------------------------------------------------------------------------- */

/* Receives of threads that launch work, and of marks on a device; garbage collection of any thread. */
static bool list_first(search *x) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < x->s->n; i++) {
        bool is_mark = x->s->kind[i] == PS_SLICE_MARK_DEVICE;
        ps_activity does = (ps_activity)x->host->of[i];
        if (is_mark) {
            does =
                ps_activity_of(PS_SLICE_MARK_HOST, ps_trace_text(x->links->trace, x->s->name[i]));
        } else if (!ps_host_activity_begins(x->host, i)) {
            continue;
        }
        for (size_t k = 0; ok && k < 2; k++) {
            ok = does != FIRST[k] ||
                 ps_intervals_add(&x->first[k], x->s->start_ns[i], idle_end_of(x, i));
        }
    }
    ps_intervals_unite(&x->first[0]);
    ps_intervals_unite(&x->first[1]);
    return ok;
}

static device_end *find_idle_device(search *x, int64_t device, int64_t start_ns) {
    uint32_t row = ps_idmap_get(&x->row_of, (uint64_t)device);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)x->n_devices;
        if (!ps_grow(&x->devices, &x->cap_devices, x->n_devices + 1, UINT32_MAX - 1,
                     sizeof *x->devices) ||
            !ps_idmap_put(&x->row_of, (uint64_t)device, row)) {
            return NULL;
        }
        x->devices[x->n_devices++] =
            (device_end){device, x->has_steps ? x->steps_start_ns : start_ns};
    }
    return &x->devices[row];
}

/* Backwards, so that what comes behind is known. */
static bool look_behind_copies(search *x) {
    ps_idmap last; /* device -> slice */
    ps_idmap_init(&last);
    bool ok = true;
    for (uint32_t i = x->s->n; ok && i-- > 0;) {
        ps_part part = x->s->dur_ns[i] > 0 ? ps_work_busy(&x->work, i) : PS_PART_NONE;
        if (part == PS_PART_NONE) {
            continue;
        }
        uint64_t device = (uint64_t)ps_work_device(&x->work, i);
        uint32_t behind = ps_idmap_get(&last, device);
        bool known =
            part != PS_PART_COPYING || x->links->call[i] != PS_NONE || x->links->op[i] != PS_NONE;
        ok = known                     ? ps_idmap_put(&last, device, i)
             : behind != PS_IDMAP_NONE ? ps_idmap_put(&x->behind, i, behind)
                                       : true;
    }
    ps_idmap_fini(&last);
    return ok;
}

static bool walk_idle(search *x) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < x->s->n; i++) {
        ps_part part = x->s->dur_ns[i] > 0 ? ps_work_busy(&x->work, i) : PS_PART_NONE;
        if (part == PS_PART_NONE) {
            continue;
        }
        device_end *d = find_idle_device(x, ps_work_device(&x->work, i), x->s->start_ns[i]);
        ok = d != NULL &&
             add_stretch(x, d->device, d->end_ns, x->s->start_ns[i], launched_next(x, i));
        if (ok && idle_end_of(x, i) > d->end_ns) {
            d->end_ns = idle_end_of(x, i);
        }
    }
    for (size_t k = 0; ok && x->has_steps && k < x->n_devices; k++) {
        ok = add_stretch(x, x->devices[k].device, x->devices[k].end_ns, x->steps_end_ns, PS_NONE);
    }
    return ok;
}

/* --- nothing but communication ---------------------------------------------------------------------------- */

/* What a device does of one kind, by device and start. */
typedef struct device_work {
    int64_t device, start_ns;
    int64_t latest_end_ns; /* of all up to this one, on its device */
    uint32_t slice;
} device_work;

typedef struct work_list {
    device_work *at;
    size_t n, cap;
} work_list;

PS_COMPARE(by_device_and_start, device_work, PS_BY(device) PS_BY(start_ns) PS_BY(slice))

static void sort_work(const search *x, work_list *all) {
    ps_sort(all->at, all->n, sizeof *all->at, by_device_and_start);
    for (size_t i = 0; i < all->n; i++) {
        device_work *w = &all->at[i];
        bool is_first = i == 0 || w[-1].device != w->device;
        int64_t end_ns = idle_end_of(x, w->slice);
        w->latest_end_ns = is_first || end_ns > w[-1].latest_end_ns ? end_ns : w[-1].latest_end_ns;
    }
}

/* Receives that the device shows are under way, too: in such a moment nobody waits for the host. */
static bool list_work(search *x, work_list *computing, work_list *comm) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < x->s->n; i++) {
        ps_part part = x->s->dur_ns[i] > 0 ? ps_work_part(&x->work, i) : PS_PART_NONE;
        if (part == PS_PART_RECEIVING) {
            ok = ps_intervals_add(&x->first[0], x->s->start_ns[i], idle_end_of(x, i));
        }
        work_list *all = part == PS_PART_COMPUTING                                    ? computing
                         : part == PS_PART_COMMUNICATION || part == PS_PART_RECEIVING ? comm
                                                                                      : NULL;
        if (!ok || all == NULL) {
            continue;
        }
        ok = ps_grow(&all->at, &all->cap, all->n + 1, MAX_PIECES, sizeof *all->at);
        if (ok) {
            all->at[all->n++] = (device_work){
                .device = ps_work_device(&x->work, i), .start_ns = x->s->start_ns[i], .slice = i};
        }
    }
    ps_intervals_unite(&x->first[0]);
    sort_work(x, computing);
    sort_work(x, comm);
    return ok;
}

/* The first that begins behind `at_ns` on the device, or on one behind it. */
static size_t begins_behind(const work_list *all, int64_t device, int64_t at_ns) {
    const device_work *w = all->at;
    PS_PLACE(size_t, place, 0, all->n, i,
             w[i].device < device || (w[i].device == device && w[i].start_ns <= at_ns))
    return place;
}

/* NULL: none. */
static const device_work *computes_behind(const work_list *all, int64_t device, int64_t at_ns) {
    size_t k = begins_behind(all, device, at_ns);
    return k < all->n && all->at[k].device == device ? &all->at[k] : NULL;
}

/* When the host launched it, on the thread that runs operators: others may make its calls later. INT64_MAX: nobody knows. */
static int64_t idle_launch_of(const search *x, uint32_t slice) {
    uint32_t by = x->links->op[slice] != PS_NONE ? x->links->op[slice] : x->links->call[slice];
    return by != PS_NONE ? x->s->start_ns[by] : INT64_MAX;
}

/* Whether what computes next works with what all that communicates from start to end brings. Behind MAX_BACK that began before its end
 * nobody looks: one that runs for long has many behind it. */
static bool is_awaited(const search *x, const work_list *comm, int64_t device, ps_interval span,
                       uint32_t next) {
    int64_t launch_ns = idle_launch_of(x, next);
    bool any = false;
    size_t n_back = 0;
    for (size_t k = begins_behind(comm, device, span.end_ns - 1); k > 0; k--) {
        const device_work *w = &comm->at[k - 1];
        if (w->device != device || w->latest_end_ns <= span.start_ns) {
            break;
        }
        if (n_back++ == MAX_BACK) {
            return false;
        }
        if (idle_end_of(x, w->slice) <= span.start_ns) {
            continue;
        }
        any = true;
        if (launch_ns == INT64_MAX ||
            !ps_comm_is_awaited(&x->awaited, idle_launch_of(x, w->slice), launch_ns)) {
            return false;
        }
    }
    return any;
}

/* One span of a row; another step may compute in it. What only another step computes behind, as after the last gradients of a
 * capture without an optimiser, says nothing of what could have stood beside the span. */
static bool add_comm(search *x, const work_list *computing, const work_list *comm, size_t row,
                     ps_interval span) {
    int64_t device = x->overlaps->at[row].device;
    bool ok = true;
    while (ok && span.start_ns < span.end_ns) {
        const device_work *next = computes_behind(computing, device, span.start_ns);
        if (next == NULL) {
            return true;
        }
        int64_t end_ns = next->start_ns < span.end_ns ? next->start_ns : span.end_ns;
        ps_idle_piece p = {.start_ns = span.start_ns,
                           .end_ns = end_ns,
                           .row = (uint32_t)row,
                           .from = PS_NONE,
                           .next = next->slice};
        if (x->overlaps->at[row].has_step &&
            ps_links_step(x->links, p.next) != x->overlaps->at[row].step) {
            ok = true;
        } else if (is_awaited(x, comm, device, (ps_interval){p.start_ns, p.end_ns}, p.next)) {
            x->out->awaited_comm_ns += p.end_ns - p.start_ns;
            ok = ps_intervals_add(&x->out->awaited, p.start_ns, p.end_ns);
        } else {
            ok = add_outside(x, p, 0);
        }
        span.start_ns = end_ns;
    }
    return ok;
}

static bool add_exposed(search *x, const work_list *computing, const work_list *comm) {
    bool ok = true;
    for (size_t row = 0; ok && row < x->overlaps->n; row++) {
        const ps_overlap_spans *spans = &x->overlaps->spans[row];
        ps_intervals alone = {0};
        ok = ps_intervals_minus(&spans->communication, &spans->computing, &alone);
        for (size_t k = 0; ok && k < alone.n; k++) {
            ok = add_comm(x, computing, comm, row, alone.at[k]);
        }
        ps_intervals_fini(&alone);
    }
    return ok;
}

static bool any_exposed(const ps_overlaps *o) {
    bool any = false;
    for (size_t row = 0; row < o->n; row++) {
        any = any || o->at[row].not_overlapped_ns > 0;
    }
    return any;
}

static bool walk_exposed(search *x) {
    ps_idle *whole = x->out;
    ps_idle found = {.at = NULL};
    work_list computing = {.at = NULL};
    work_list comm = {.at = NULL};
    if (!any_exposed(x->overlaps)) {
        return true;
    }
    x->out = &found;
    bool ok = list_work(x, &computing, &comm) && ps_comm_awaited_find(x->links, &x->awaited) &&
              add_exposed(x, &computing, &comm);
    x->out = whole;
    whole->comm = found.at;
    whole->n_comm = found.n;
    whole->awaited_comm_ns = found.awaited_comm_ns;
    whole->awaited = found.awaited;
    ps_intervals_unite(&whole->awaited);
    ps_free(computing.at);
    ps_free(comm.at);
    ps_comm_awaited_fini(&x->awaited);
    return ok;
}

static void find_idle_windows(search *x) {
    const ps_step_index *steps = &x->links->steps;
    for (size_t i = 0; i < steps->n; i++) {
        const ps_step *step = &steps->steps[i];
        x->steps_start_ns =
            i == 0 || step->start_ns < x->steps_start_ns ? step->start_ns : x->steps_start_ns;
        x->steps_end_ns = i == 0 || step->end_ns > x->steps_end_ns ? step->end_ns : x->steps_end_ns;
        x->has_steps = true;
    }
}

ps_code ps_idle_measure(const ps_links *links, const ps_overlaps *overlaps,
                        const ps_host_activity *host, ps_idle *out, ps_err *err) {
    *out = (ps_idle){.at = NULL};
    search x = {.links = links,
                .overlaps = overlaps,
                .host = host,
                .s = ps_trace_slices(links->trace),
                .work = ps_work_of(links),
                .out = out};
    ps_idmap_init(&x.row_of);
    ps_idmap_init(&x.behind);
    find_idle_windows(&x);
    bool ok = list_first(&x) && look_behind_copies(&x) && walk_idle(&x) && walk_exposed(&x);
    ps_intervals_fini(&x.first[0]);
    ps_intervals_fini(&x.first[1]);
    ps_free(x.devices);
    ps_idmap_fini(&x.row_of);
    ps_idmap_fini(&x.behind);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_idle_fini(ps_idle *idle) {
    ps_free(idle->at);
    ps_free(idle->comm);
    ps_intervals_fini(&idle->awaited);
    *idle = (ps_idle){.at = NULL};
}
