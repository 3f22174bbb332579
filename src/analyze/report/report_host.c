/* What the threads that launch work do instead, and what the device loses by it: blocking copies, synchronising calls,
 * garbage collection, batches, checkpoints. */
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

#define PROMPT_NS 20000

typedef struct host {
    const ps_host_activity *activity;
    const ps_overlaps *overlaps;
    const ps_idle *idle;
    const ps_links *links;
    const ps_slices *s;
    ps_report_rank *out;
    const ps_idle_piece **by_range; /* pieces of the host's, by the slice that they are due to */
    size_t n_pieces;
    ps_intervals exposed;   /* communication with no computing beside it */
    ps_intervals windows;   /* of the steps, united; empty in a trace without */
    int64_t last_launch_ns; /* when the last call that launched work of a step began */
} host;

static bool comes_before(const ps_report_event *a, const ps_report_event *b) {
    if (a->idle_ns != b->idle_ns) {
        return a->idle_ns > b->idle_ns;
    }
    return a->dur_ns != b->dur_ns ? a->dur_ns > b->dur_ns : a->start_ns < b->start_ns;
}

/* The innermost Python frame around a slice that is none of the framework's own or of Python's library. */
static const char *frame_around(const host *h, uint32_t slice) {
    static const char *const LIBRARIES[] = {"torch/", "torch_npu/", "<"};
    for (; slice != PS_NONE; slice = h->links->parent[slice]) {
        const char *name = ps_trace_text(h->links->trace, h->s->name[slice]);
        bool is_own = h->s->kind[slice] == PS_SLICE_PYTHON && strstr(name, "): ") != NULL;
        for (size_t i = 0; is_own && i < sizeof LIBRARIES / sizeof *LIBRARIES; i++) {
            is_own = strncmp(name, LIBRARIES[i], strlen(LIBRARIES[i])) != 0;
        }
        if (is_own) {
            return name;
        }
    }
    return NULL;
}

static bool keep_host(host *h, ps_report_stops *stops, ps_report_event e, uint32_t slice) {
    size_t at = stops->n_top;
    while (at > 0 && comes_before(&e, &stops->top[at - 1])) {
        at--;
    }
    if (at == PS_REPORT_EVENTS_KEPT) {
        return true;
    }
    const char *name = ps_trace_text(h->links->trace, h->s->name[slice]);
    const char *frame = frame_around(h, slice);
    e.name = ps_arena_strndup(&h->out->arena, name, strlen(name));
    e.frame = frame != NULL ? ps_arena_strndup(&h->out->arena, frame, strlen(frame)) : NULL;
    stops->n_top += stops->n_top < PS_REPORT_EVENTS_KEPT;
    for (size_t k = stops->n_top - 1; k > at; k--) {
        stops->top[k] = stops->top[k - 1];
    }
    stops->top[at] = e;
    return e.name != NULL && (frame == NULL || e.frame != NULL);
}

/* --- idle time by the range that it is due to --------------------------------------------------------------------------- */

PS_COMPARE_POINTERS(by_range, ps_idle_piece, PS_BY(from) PS_BY(start_ns))

static bool sort_pieces(host *h, const ps_idle *idle) {
    h->by_range = ps_calloc(idle->n + 1, sizeof *h->by_range);
    for (size_t i = 0; h->by_range != NULL && i < idle->n; i++) {
        if (idle->at[i].cause < PS_N_ACTIVITIES && idle->at[i].from != PS_NONE) {
            h->by_range[h->n_pieces++] = &idle->at[i];
        }
    }
    ps_sort(h->by_range, h->n_pieces, sizeof *h->by_range, by_range);
    return h->by_range != NULL;
}

static int64_t idle_of(const host *h, uint32_t slice) {
    PS_PLACE(size_t, low, 0, h->n_pieces, middle, h->by_range[middle]->from < slice)
    int64_t sum = 0;
    for (; low < h->n_pieces && h->by_range[low]->from == slice; low++) {
        sum = ps_i64_plus(sum, h->by_range[low]->end_ns - h->by_range[low]->start_ns);
    }
    return sum;
}

/* --- activities ----------------------------------------------------------------------------------------------------------- */

/* The first step of several compiles and allocates what the others use again, and so does what runs outside of them. */
static bool is_warm_up(const host *h, int activity, int64_t step) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(h->links->trace, &n);
    bool is_once = activity == PS_ACTIVITY_ONLINE || activity == PS_ACTIVITY_COMPILE ||
                   activity == PS_ACTIVITY_MEMORY;
    return is_once && n > 0 && (step == PS_STEP_OUTSIDE || (n > 1 && step == steps[0].id));
}

/* What the device was idle for it, without warm-up. */
static int64_t idle_for(const host *h, int activity) {
    int64_t sum_ns = 0;
    for (size_t i = 0; i < h->idle->n; i++) {
        const ps_idle_piece *p = &h->idle->at[i];
        if (p->cause == activity && !is_warm_up(h, activity, h->overlaps->at[p->row].step)) {
            sum_ns = ps_i64_plus(sum_ns, p->end_ns - p->start_ns);
        }
    }
    return sum_ns;
}

/* What lies outside of all steps is none of theirs: a synchronisation when the profiler stops. */
static bool is_host_outside(const host *h, int64_t start, int64_t end) {
    return h->windows.n > 0 && end > start && ps_intervals_within_ns(&h->windows, start, end) == 0;
}

/* Communication alone while the host waits in it; none where nothing was left to launch behind it. */
static int64_t waited_comm_ns(const host *h, int64_t start, int64_t end) {
    return h->last_launch_ns >= end ? ps_intervals_within_ns(&h->exposed, start, end) : 0;
}

static bool take_range(host *h, uint32_t i, ps_intervals *all, ps_intervals *waits) {
    int64_t end = h->s->start_ns[i] + h->s->dur_ns[i];
    int64_t start = ps_host_phase_start_ns(&h->activity->phases, i); /* as its idle time counts */
    ps_report_stops *stops = &h->out->stops[h->activity->of[i]];
    ps_report_event e = {.start_ns = h->out->origin_ns + start,
                         .dur_ns = end - start,
                         .idle_ns = idle_of(h, i),
                         .comm_ns = waited_comm_ns(h, start, end),
                         .step = ps_step_of(&h->links->steps, start, end)};
    if (is_warm_up(h, h->activity->of[i], e.step) || is_host_outside(h, start, end)) {
        return true;
    }
    ps_report_event shown = e; /* where it lies, not what came before it */
    shown.start_ns = h->out->origin_ns + h->s->start_ns[i];
    shown.dur_ns = h->s->dur_ns[i];
    stops->n++;
    stops->unnamed_ns =
        ps_i64_plus(stops->unnamed_ns, ps_host_phase_unnamed_ns(&h->activity->phases, i));
    stops->longest_ns = e.dur_ns > stops->longest_ns ? e.dur_ns : stops->longest_ns;
    return ps_intervals_add(all, start, end) &&
           (e.comm_ns == 0 || ps_intervals_add(waits, start, end)) && keep_host(h, stops, shown, i);
}

/* The length of both; `of` is united for it. */
static int64_t length_of_both_ns(ps_intervals *of, const ps_intervals *with, bool *ok) {
    ps_intervals both = {0};
    ps_intervals_unite(of);
    *ok = *ok && ps_intervals_both(of, with, &both);
    int64_t ns = ps_intervals_length_ns(&both);
    ps_intervals_fini(&both);
    return ns;
}

/* Threads may stop at the same time: how long they did is counted once, over the union. */
static bool sum_activities(host *h, ps_intervals all[PS_N_ACTIVITIES]) {
    ps_intervals waits[PS_N_ACTIVITIES] = {{0}};
    bool ok = true;
    for (uint32_t i = 0; ok && i < h->s->n; i++) {
        uint8_t which = h->activity->of[i];
        ok = which < PS_ACTIVITY_RANGE || !ps_host_activity_begins(h->activity, i) ||
             take_range(h, i, &all[which], &waits[which]);
    }
    for (int which = 0; which < PS_N_ACTIVITIES; which++) {
        ps_report_stops *stops = &h->out->stops[which];
        if (h->windows.n > 0) {
            stops->sum_ns = length_of_both_ns(&all[which], &h->windows, &ok);
        } else {
            ps_intervals_unite(&all[which]);
            stops->sum_ns = ps_intervals_length_ns(&all[which]);
        }
        stops->comm_ns = length_of_both_ns(&waits[which], &h->exposed, &ok);
        stops->idle_ns = idle_for(h, which);
        ps_intervals_fini(&waits[which]);
    }
    return ok;
}

/* What the device copies, and nothing else beside, by the activity that launched it. */
static bool sum_copies(host *h, ps_intervals copies[PS_N_ACTIVITIES]) {
    ps_intervals alone = {0};
    ps_intervals of[PS_N_ACTIVITIES] = {{0}};
    bool ok = true;
    for (size_t row = 0; ok && row < h->overlaps->n; row++) {
        const ps_intervals *spans = &h->overlaps->spans[row].copies;
        for (size_t k = 0; ok && k < spans->n; k++) {
            ok = ps_intervals_add(&alone, spans->at[k].start_ns, spans->at[k].end_ns);
        }
    }
    ps_intervals_unite(&alone);
    for (uint32_t i = 0; ok && i < h->s->n; i++) {
        uint32_t by = h->links->op[i] != PS_NONE ? h->links->op[i] : h->links->call[i];
        if (h->s->kind[i] == PS_SLICE_COPY && by != PS_NONE) {
            int64_t start = h->s->start_ns[i];
            ok = ps_intervals_add(&of[h->activity->of[by]], start, start + h->s->dur_ns[i]);
        }
    }
    for (int which = 0; which < PS_N_ACTIVITIES; which++) {
        ps_intervals_unite(&of[which]);
        ok = ok && ps_intervals_both(&of[which], &alone, &copies[which]);
        h->out->stops[which].copies_ns = ps_intervals_length_ns(&copies[which]);
        ps_intervals_fini(&of[which]);
    }
    ps_intervals_fini(&alone);
    return ok;
}

static bool gather_activities(host *h) {
    ps_intervals all[PS_N_ACTIVITIES] = {{0}};
    ps_intervals copies[PS_N_ACTIVITIES] = {{0}};
    bool ok = sum_activities(h, all) && sum_copies(h, copies) &&
              ps_report_gather_leads(h->idle, h->overlaps, all, copies, h->out);
    for (int which = 0; which < PS_N_ACTIVITIES; which++) {
        ps_intervals_fini(&all[which]);
        ps_intervals_fini(&copies[which]);
    }
    return ok;
}

static bool find_host_windows(host *h) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(h->links->trace, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = ps_intervals_add(&h->windows, steps[i].start_ns, steps[i].end_ns);
    }
    ps_intervals_unite(&h->windows);
    return ok;
}

/* Of a kernel, a copy or an operator of communication; outside of steps nobody asks. */
static void find_last_launch(host *h) {
    h->last_launch_ns = INT64_MIN;
    for (uint32_t i = 0; i < h->s->n; i++) {
        uint32_t launch = ps_is_launched(h->s->kind[i]) ? h->links->call[i] : PS_NONE;
        int64_t at = launch != PS_NONE ? h->s->start_ns[launch] : INT64_MIN;
        if (at > h->last_launch_ns && !is_host_outside(h, at, at + 1)) {
            h->last_launch_ns = at;
        }
    }
}

/* Where the device was idle or only communicated, by cause; united, for other pieces to see what they share. */
static bool sum_causes(host *h, const ps_idle *idle) {
    ps_report_rank *r = h->out;
    bool ok = true;
    for (size_t i = 0; ok && i < idle->n; i++) {
        const ps_idle_piece *p = &idle->at[i];
        int64_t *sum = &r->idle_ns[p->cause][p->part];
        *sum = ps_i64_plus(*sum, p->end_ns - p->start_ns);
        ok = ps_intervals_add(&r->idle_spans[p->cause], r->origin_ns + p->start_ns,
                              r->origin_ns + p->end_ns);
    }
    r->awaited_comm_ns = idle->awaited_comm_ns;
    for (size_t i = 0; ok && i < idle->n_comm; i++) {
        const ps_idle_piece *p = &idle->comm[i];
        r->late_comm_ns[p->cause] = ps_i64_plus(r->late_comm_ns[p->cause], p->end_ns - p->start_ns);
        ok = ps_intervals_add(&r->late_comm_spans[p->cause], r->origin_ns + p->start_ns,
                              r->origin_ns + p->end_ns);
    }
    for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
        ps_report_limit_spans(&r->idle_spans[cause]);
        ps_report_limit_spans(&r->late_comm_spans[cause]);
    }
    return ok;
}

/* --- launches -------------------------------------------------------------------------------------------------------------- */

/* When something ran on a device; united. */
typedef struct busy_device {
    int64_t device;
    ps_intervals busy;
} busy_device;

typedef struct busy_devices {
    busy_device *at;
    size_t n, cap;
} busy_devices;

/* Added when new; NULL when memory is out. */
static busy_device *busy_device_of(busy_devices *all, int64_t device) {
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].device == device) {
            return &all->at[i];
        }
    }
    if (!ps_grow(&all->at, &all->cap, all->n + 1, UINT32_MAX, sizeof *all->at)) {
        return NULL;
    }
    all->at[all->n] = (busy_device){.device = device};
    return &all->at[all->n++];
}

static bool find_busy_devices(const ps_work *work, busy_devices *all) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < work->s->n; i++) {
        if (ps_work_busy(work, i) != PS_PART_NONE) {
            busy_device *d = busy_device_of(all, ps_work_device(work, i));
            ok = d != NULL && ps_intervals_add(&d->busy, work->s->start_ns[i],
                                               work->s->start_ns[i] + work->s->dur_ns[i]);
        }
    }
    for (size_t i = 0; i < all->n; i++) {
        ps_intervals_unite(&all->at[i].busy);
    }
    return ok;
}

/* What starts before its launch has returned found the device as it was right before it started. */
static bool count_launch(host *h, const ps_work *work, busy_devices *all, uint32_t kernel,
                         uint32_t call) {
    int64_t start = h->s->start_ns[kernel];
    int64_t launched = h->s->start_ns[call] + h->s->dur_ns[call];
    int64_t at = launched < start ? launched : start;
    const busy_device *d = busy_device_of(all, ps_work_device(work, kernel));
    h->out->n_launches++;
    if (d != NULL && start - launched < PROMPT_NS) {
        h->out->n_prompt++;
        h->out->n_unqueued += ps_intervals_within_ns(&d->busy, at - 1, at) == 0;
    }
    return d != NULL;
}

static bool count_launches(host *h) {
    ps_work work = ps_work_of(h->links);
    busy_devices all = {.at = NULL};
    bool ok = find_busy_devices(&work, &all);
    for (uint32_t i = 0; ok && i < h->s->n; i++) {
        uint8_t kind = h->s->kind[i];
        uint32_t call = h->links->call[i];
        if (call != PS_NONE && (kind == PS_SLICE_KERNEL || kind == PS_SLICE_COMM_KERNEL)) {
            ok = count_launch(h, &work, &all, i, call);
        }
    }
    for (size_t i = 0; i < all.n; i++) {
        ps_intervals_fini(&all.at[i].busy);
    }
    ps_free(all.at);
    return ok;
}

bool ps_report_gather_host(const ps_host_activity *activity, const ps_overlaps *overlaps,
                           const ps_idle *idle, ps_report_rank *r) {
    host h = {.activity = activity,
              .overlaps = overlaps,
              .idle = idle,
              .links = activity->links,
              .s = ps_trace_slices(activity->links->trace),
              .out = r};
    bool ok = find_host_windows(&h);
    find_last_launch(&h);
    ok = ok && sort_pieces(&h, idle) && ps_overlaps_exposed(overlaps, &h.exposed) &&
         sum_causes(&h, idle) && gather_activities(&h) && count_launches(&h);
    ps_free(h.by_range);
    ps_intervals_fini(&h.exposed);
    ps_intervals_fini(&h.windows);
    return ok;
}
