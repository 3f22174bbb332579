/* One pass in time order: of each device the end of the work so far and the slice that set it. A gap is judged when the
 * work behind it comes, because all that runs inside it began before; so gaps need not be kept, only their sums and the
 * longest of them. */
#include "analyze/rank/dispatch.h"

#include <string.h>

#include "analyze/rank/host_activity.h"
#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

#define MAX_VALUES ((size_t)1 << 32)
#define MAX_WORST ((size_t)1 << 20)
#define SLOW_LAUNCH_NS                                                                             \
    ((int64_t)50000) /* more between operator and call than before: the launch is late */

const int64_t ps_gap_limits_ns[PS_N_GAP_SIZES - 1] = {20000, 50000, 100000, 1000000, 10000000};

typedef struct numbers {
    int64_t *at;
    size_t n, cap;
} numbers;

/* One device. */
typedef struct device_lane {
    int64_t device;
    int64_t end_ns;     /* of all work so far */
    uint32_t last;      /* the work that set it; PS_NONE before the first */
    ps_intervals tasks; /* other tasks that end later; united, since slices come by start */
    bool has_foreign;   /* work of steps that were not asked for */
} device_lane;

typedef struct meter {
    const ps_links *links;
    const ps_slices *s;
    ps_work work;
    int64_t wanted_step;
    size_t n_worst, cap_worst;
    ps_intervals receives; /* ranges of the host, and of marks, that receive */
    ps_idmap classes;      /* name and kind -> class */
    bool *launches;        /* [n_tracks] work was launched from there */
    const ps_overlaps *overlaps;
    device_lane *lanes;
    size_t n_lanes, cap_lanes;
    ps_idmap lane_of;
    numbers after_call, after_start;
    ps_dispatch *out;
} meter;

/* --- names -------------------------------------------------------------------------------------------- */

enum { NAME_PLAIN = 1, NAME_RECEIVES, NAME_BLOCKS };

static uint32_t dispatch_classify(ps_slice_kind kind, const char *name) {
    static const char *const BLOCKING[] = {"aten::item",          "aten::_local_scalar_dense",
                                           "aten::nonzero",       "aten::is_nonzero",
                                           "aten::masked_select", "aten::_unique2",
                                           "aten::equal"};
    for (size_t i = 0; i < sizeof BLOCKING / sizeof *BLOCKING; i++) {
        if (kind == PS_SLICE_HOST_OP && strcmp(name, BLOCKING[i]) == 0) {
            return NAME_BLOCKS;
        }
    }
    kind = kind == PS_SLICE_MARK_DEVICE ? PS_SLICE_MARK_HOST : kind;
    return ps_activity_of(kind, name) == PS_ACTIVITY_RECEIVE ? NAME_RECEIVES : NAME_PLAIN;
}

/* 0 when memory is out. */
static uint32_t dispatch_class_of(meter *m, uint32_t slice) {
    uint64_t key = (uint64_t)m->s->name[slice].id * PS_N_SLICE_KINDS + m->s->kind[slice];
    uint32_t class = ps_idmap_get(&m->classes, key);
    if (class == PS_IDMAP_NONE) {
        class = dispatch_classify((ps_slice_kind)m->s->kind[slice],
                                  ps_trace_text(m->links->trace, m->s->name[slice]));
        return ps_idmap_put(&m->classes, key, class) ? class : 0;
    }
    return class;
}

static int64_t dispatch_end_of(const meter *m, uint32_t slice) {
    return m->s->start_ns[slice] + m->s->dur_ns[slice];
}

static bool in_wanted_step(const meter *m, int64_t step) {
    return m->wanted_step < 0 || step == m->wanted_step;
}

/* Operators that block inside others that do are counted once. */
static void take_blocking_op(meter *m, uint32_t i) {
    uint32_t around = m->links->parent[i];
    int64_t start = m->s->start_ns[i];
    if ((around == PS_NONE || dispatch_class_of(m, around) != NAME_BLOCKS) &&
        in_wanted_step(m, ps_step_of(&m->links->steps, start, start))) {
        m->out->n_blocking_ops++;
        m->out->blocking_ops_ns = ps_i64_plus(m->out->blocking_ops_ns, m->s->dur_ns[i]);
    }
}

static bool find_launching_threads(meter *m) {
    size_t n = 0;
    (void)ps_trace_tracks(m->links->trace, &n);
    m->launches = ps_calloc(n + 1, sizeof *m->launches);
    for (uint32_t i = 0; m->launches != NULL && i < m->s->n; i++) {
        bool is_work = ps_is_launched(m->s->kind[i]) && m->s->kind[i] != PS_SLICE_MARK_DEVICE;
        uint32_t call = is_work ? m->links->call[i] : PS_NONE;
        uint32_t op = is_work ? m->links->op[i] : PS_NONE;
        m->launches[call != PS_NONE ? m->s->track[call] : n] = true;
        m->launches[op != PS_NONE ? m->s->track[op] : n] = true;
    }
    return m->launches != NULL;
}

static bool read_host(meter *m) {
    if (!find_launching_threads(m)) {
        return false;
    }
    for (uint32_t i = 0; i < m->s->n; i++) {
        bool is_mark = m->s->kind[i] == PS_SLICE_MARK_DEVICE;
        bool is_range = ps_is_host_range(m->s->kind[i]) && m->launches[m->s->track[i]];
        if (!is_mark && !is_range) {
            continue;
        }
        uint32_t class = dispatch_class_of(m, i);
        if (class == 0 ||
            (class == NAME_RECEIVES &&
             !ps_intervals_add(&m->receives, m->s->start_ns[i], dispatch_end_of(m, i)))) {
            return false;
        }
        if (class == NAME_BLOCKS && m->s->kind[i] == PS_SLICE_HOST_OP) {
            take_blocking_op(m, i);
        }
    }
    ps_intervals_unite(&m->receives);
    return true;
}

/* --- why ---------------------------------------------------------------------------------------------- */

/* From the end of the operator to the start of the call, which may lie inside it. */
static int64_t queue_ns(const meter *m, uint32_t slice) {
    return m->s->start_ns[m->links->call[slice]] - dispatch_end_of(m, m->links->op[slice]);
}

/* Both have a call. Without operators the longest of three decides: the pause between the calls, or one of them. */
static ps_gap_cause late_cause(const meter *m, uint32_t prev, uint32_t next) {
    const ps_links *l = m->links;
    if (l->op[prev] != PS_NONE && l->op[next] != PS_NONE) {
        return queue_ns(m, next) - queue_ns(m, prev) < SLOW_LAUNCH_NS ? PS_GAP_FRAMEWORK
                                                                      : PS_GAP_LAUNCH;
    }
    int64_t pause = m->s->start_ns[l->call[next]] - dispatch_end_of(m, l->call[prev]);
    return pause >= m->s->dur_ns[l->call[next]] && pause >= m->s->dur_ns[l->call[prev]]
               ? PS_GAP_FRAMEWORK
               : PS_GAP_LAUNCH;
}

/* What launched the work behind the gap: the call, else the operator. */
static uint32_t dispatch_launch_of(const meter *m, const ps_gap *g) {
    uint32_t call = g->next != PS_NONE ? m->links->call[g->next] : PS_NONE;
    return call != PS_NONE || g->next == PS_NONE ? call : m->links->op[g->next];
}

/* Causes that hold for all of the gap; PS_N_GAP_CAUSES: the launch decides. */
static ps_gap_cause whole_cause(const meter *m, const device_lane *lane, const ps_gap *g) {
    int64_t length = g->end_ns - g->start_ns;
    if (ps_intervals_within_ns(&m->receives, g->start_ns, g->end_ns) >= length - length / 2) {
        return PS_GAP_RECEIVE;
    }
    if (g->prev == PS_NONE || g->next == PS_NONE) {
        return PS_GAP_EDGE;
    }
    if (ps_intervals_within_ns(&lane->tasks, g->start_ns, g->end_ns) >= length - length / 2) {
        return PS_GAP_TASKS;
    }
    return dispatch_launch_of(m, g) == PS_NONE ? PS_GAP_UNKNOWN : PS_N_GAP_CAUSES;
}

/* Until the launch returned the device waited for the host; from then on for something on the device. */
static void judge_dispatch(const meter *m, const device_lane *lane, ps_gap *g) {
    int64_t length = g->end_ns - g->start_ns;
    g->cause = whole_cause(m, lane, g);
    g->first_cause = g->cause;
    g->first_ns = length;
    if (g->cause != PS_N_GAP_CAUSES) {
        return;
    }
    int64_t launched = dispatch_end_of(m, dispatch_launch_of(m, g));
    bool known = m->links->call[g->next] != PS_NONE && m->links->call[g->prev] != PS_NONE;
    g->first_cause = known ? late_cause(m, g->prev, g->next) : PS_GAP_FRAMEWORK;
    if (launched < g->end_ns) {
        g->first_ns = launched > g->start_ns ? launched - g->start_ns : 0;
    }
    g->cause = g->first_ns >= length - g->first_ns ? g->first_cause : PS_GAP_QUEUED;
}

static int64_t idle_ns(const meter *m, const uint32_t *launch, const ps_gap *g) {
    bool known = g->prev != PS_NONE && g->next != PS_NONE && launch[g->prev] != PS_NONE &&
                 launch[g->next] != PS_NONE;
    return known ? dispatch_end_of(m, launch[g->next]) - dispatch_end_of(m, launch[g->prev])
                 : PS_GAP_NO_IDLE;
}

/* --- gaps --------------------------------------------------------------------------------------------- */

static int64_t gap_length(const ps_gap *gap) {
    return gap->end_ns - gap->start_ns;
}

PS_COMPARE(by_dispatch_length, ps_gap, PS_BY_VALUE_DOWN(gap_length) PS_BY(start_ns) PS_BY(device))

static void keep_longest(meter *m) {
    ps_dispatch *d = m->out;
    ps_sort(d->worst, d->n_worst, sizeof *d->worst, by_dispatch_length);
    d->n_worst = d->n_worst < m->n_worst ? d->n_worst : m->n_worst;
}

/* Twice as many as wanted are gathered before the shorter half goes. */
static bool note_worst(meter *m, const ps_gap *g) {
    ps_dispatch *d = m->out;
    if (m->n_worst == 0) {
        return true;
    }
    if (d->n_worst >= 2 * m->n_worst) {
        keep_longest(m);
    }
    if (!ps_grow(&d->worst, &m->cap_worst, d->n_worst + 1, 2 * MAX_WORST, sizeof *d->worst)) {
        return false;
    }
    d->worst[d->n_worst++] = *g;
    return true;
}

static void add_to(ps_gap_sum sums[PS_N_GAP_CAUSES][PS_N_GAP_SIZES], const ps_gap *g) {
    int64_t length = g->end_ns - g->start_ns;
    size_t size = 0;
    while (size < PS_N_GAP_SIZES - 1 && length >= ps_gap_limits_ns[size]) {
        size++;
    }
    sums[g->cause][size].n++;
    int64_t *first = &sums[g->first_cause][size].total_ns;
    *first = ps_i64_plus(*first, g->first_ns);
    int64_t *queued = &sums[PS_GAP_QUEUED][size].total_ns;
    *queued = ps_i64_plus(*queued, length - g->first_ns);
}

/* Where the gap is Free of a step, that step. The steps are in the order of the overlaps. */
static ps_dispatch_step *find_dispatch_step(const meter *m, const ps_gap *g) {
    ps_share shares[2];
    size_t n = ps_overlaps_share(m->overlaps, g->device, g->start_ns, g->end_ns, shares);
    return n > 0 && shares[0].part == PS_SHARE_FREE ? &m->out->steps[shares[0].row] : NULL;
}

static bool note_gap(meter *m, const device_lane *lane, ps_gap g) {
    uint32_t of = g.next != PS_NONE ? g.next : g.prev;
    g.device = lane->device;
    g.step = ps_links_step(m->links, of);
    if (g.step == PS_STEP_OUTSIDE && g.prev != PS_NONE) {
        g.step = ps_links_step(m->links, g.prev);
    }
    judge_dispatch(m, lane, &g);
    g.framework_idle_ns = idle_ns(m, m->links->op, &g);
    g.call_idle_ns = idle_ns(m, m->links->call, &g);
    g.blocking = PS_NONE;
    add_to(m->out->sums, &g);
    ps_dispatch_step *step = find_dispatch_step(m, &g);
    if (step != NULL) {
        add_to(step->sums, &g);
    }
    return note_worst(m, &g);
}

/* The window of all steps, or of the wanted one. False when there is none. */
static bool window(const meter *m, int64_t *start_ns, int64_t *end_ns) {
    bool any = false;
    const ps_step_index *x = &m->links->steps;
    for (size_t i = 0; i < x->n; i++) {
        const ps_step *step = &x->steps[i];
        if (in_wanted_step(m, step->id)) {
            *start_ns = any && *start_ns < step->start_ns ? *start_ns : step->start_ns;
            *end_ns = any && *end_ns > step->end_ns ? *end_ns : step->end_ns;
            any = true;
        }
    }
    return any;
}

/* Those that end before the work so far does. */
static void forget_tasks(device_lane *lane) {
    ps_intervals *tasks = &lane->tasks;
    size_t n = 0;
    while (n < tasks->n && tasks->at[n].end_ns <= lane->end_ns) {
        n++;
    }
    if (n > 0) {
        memmove(tasks->at, tasks->at + n, (tasks->n - n) * sizeof *tasks->at);
        tasks->n -= n;
    }
}

static device_lane *find_lane(meter *m, int64_t device) {
    uint32_t row = ps_idmap_get(&m->lane_of, (uint64_t)device);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)m->n_lanes;
        if (!ps_grow(&m->lanes, &m->cap_lanes, m->n_lanes + 1, UINT32_MAX - 1, sizeof *m->lanes) ||
            !ps_idmap_put(&m->lane_of, (uint64_t)device, row)) {
            return NULL;
        }
        m->lanes[m->n_lanes++] = (device_lane){.device = device, .last = PS_NONE};
    }
    return &m->lanes[row];
}

static bool add_number(numbers *list, int64_t value) {
    if (!ps_grow(&list->at, &list->cap, list->n + 1, MAX_VALUES, sizeof *list->at)) {
        return false;
    }
    list->at[list->n++] = value;
    return true;
}

static bool note_delay(meter *m, uint32_t i) {
    uint32_t call = m->links->call[i];
    return call == PS_NONE ||
           (add_number(&m->after_call, m->s->start_ns[i] - dispatch_end_of(m, call)) &&
            add_number(&m->after_start, m->s->start_ns[i] - m->s->start_ns[call]));
}

/* Where one step was asked for, the work of others ends a gap, too. Behind the last work of the step such a gap is an edge, as
 * far as the window goes. */
static bool take_foreign_work(meter *m, uint32_t i) {
    device_lane *lane = find_lane(m, ps_work_device(&m->work, i));
    if (lane == NULL) {
        return false;
    }
    ps_gap g = {.start_ns = lane->end_ns,
                .end_ns = m->s->start_ns[i],
                .device = lane->device,
                .prev = lane->last,
                .next = i};
    if (lane->last != PS_NONE && g.end_ns > g.start_ns && find_dispatch_step(m, &g) == NULL) {
        int64_t unused = 0;
        int64_t end = 0;
        g.next = PS_NONE;
        g.end_ns = window(m, &unused, &end) && end < g.end_ns ? end : g.end_ns;
    }
    if (lane->last != PS_NONE && g.end_ns > g.start_ns && !note_gap(m, lane, g)) {
        return false;
    }
    bool any = lane->last != PS_NONE || lane->has_foreign;
    lane->has_foreign = true;
    if (!any || dispatch_end_of(m, i) > lane->end_ns) {
        lane->end_ns = dispatch_end_of(m, i);
        forget_tasks(lane);
    }
    return true;
}

static bool take_dispatch_work(meter *m, uint32_t i) {
    device_lane *lane = find_lane(m, ps_work_device(&m->work, i));
    if (lane == NULL || !note_delay(m, i)) {
        return false;
    }
    ps_gap g = {
        .start_ns = lane->end_ns, .end_ns = m->s->start_ns[i], .prev = lane->last, .next = i};
    int64_t unused = 0;
    bool has_gap = lane->last != PS_NONE || window(m, &g.start_ns, &unused);
    if (lane->has_foreign && g.start_ns < lane->end_ns) {
        g.start_ns = lane->end_ns;
    }
    if (has_gap && g.end_ns > g.start_ns && !note_gap(m, lane, g)) {
        return false;
    }
    bool later =
        (lane->last == PS_NONE && !lane->has_foreign) || dispatch_end_of(m, i) > lane->end_ns;
    if (lane->last == PS_NONE || later) {
        lane->last = i;
    }
    if (later) {
        lane->end_ns = dispatch_end_of(m, i);
        forget_tasks(lane);
    }
    return true;
}

static bool is_other_task(uint8_t kind) {
    return kind == PS_SLICE_COPY || kind == PS_SLICE_TASK || kind == PS_SLICE_COMM_TASK;
}

/* Tasks that end before the work so far does lie in no gap. */
static bool take_dispatch_task(meter *m, uint32_t i) {
    device_lane *lane = find_lane(m, ps_work_device(&m->work, i));
    if (lane == NULL) {
        return false;
    }
    int64_t start = m->s->start_ns[i];
    int64_t end = dispatch_end_of(m, i);
    ps_intervals *tasks = &lane->tasks;
    if ((lane->last == PS_NONE && !lane->has_foreign) || end <= lane->end_ns) {
        return true;
    }
    if (tasks->n > 0 && start <= tasks->at[tasks->n - 1].end_ns) {
        ps_interval *last = &tasks->at[tasks->n - 1];
        last->end_ns = end > last->end_ns ? end : last->end_ns;
        return true;
    }
    return ps_intervals_add(tasks, start, end);
}

static bool read_device(meter *m) {
    for (uint32_t i = 0; i < m->s->n; i++) {
        ps_part part = m->s->dur_ns[i] > 0 ? ps_work_part(&m->work, i) : PS_PART_NONE;
        bool works = part != PS_PART_NONE && part != PS_PART_COPYING;
        bool ok = true;
        if (works) {
            ok = in_wanted_step(m, ps_links_step(m->links, i)) ? take_dispatch_work(m, i)
                                                               : take_foreign_work(m, i);
        } else if (!works && is_other_task(m->s->kind[i])) {
            ok = take_dispatch_task(m, i);
        }
        if (!ok) {
            return false;
        }
    }
    int64_t start = 0;
    int64_t end = 0;
    for (size_t k = 0; k < m->n_lanes && window(m, &start, &end); k++) {
        const device_lane *lane = &m->lanes[k];
        ps_gap g = {.start_ns = lane->end_ns, .end_ns = end, .prev = lane->last, .next = PS_NONE};
        if (lane->last != PS_NONE && end > lane->end_ns && !note_gap(m, lane, g)) {
            return false;
        }
    }
    return true;
}

/* --- the longest call in the longest gaps ------------------------------------------------------------- */

static int64_t shared_ns(const meter *m, uint32_t slice, const ps_gap *g) {
    int64_t from = m->s->start_ns[slice] > g->start_ns ? m->s->start_ns[slice] : g->start_ns;
    int64_t to = dispatch_end_of(m, slice) < g->end_ns ? dispatch_end_of(m, slice) : g->end_ns;
    return to > from ? to - from : 0;
}

typedef struct by_start {
    int64_t start_ns;
    int64_t latest_end_ns; /* of this one and those before */
    size_t gap;
} by_start;

PS_COMPARE(compare_dispatch_starts, by_start, PS_BY(start_ns))

static bool fills_half(const meter *m, uint32_t slice, const ps_gap *g) {
    int64_t length_ns = g->end_ns - g->start_ns;
    return shared_ns(m, slice, g) >= length_ns - length_ns / 2;
}

static bool lies_in(const meter *m, uint32_t inner, uint32_t outer) {
    return m->s->track[inner] == m->s->track[outer] &&
           m->s->start_ns[inner] >= m->s->start_ns[outer] &&
           dispatch_end_of(m, inner) <= dispatch_end_of(m, outer);
}

/* The longest; of those that fill half of the gap the innermost. */
static bool is_better_call(const meter *m, uint32_t call, const ps_gap *g) {
    uint32_t now = g->blocking;
    if (now == PS_NONE) {
        return true;
    }
    if (lies_in(m, call, now)) {
        return fills_half(m, call, g);
    }
    bool is_around = lies_in(m, now, call) && fills_half(m, now, g);
    return !is_around && shared_ns(m, call, g) > shared_ns(m, now, g);
}

static void take_call(const meter *m, uint32_t i, const by_start *order) {
    ps_dispatch *d = m->out;
    /* the first gap that ends after the call began, or one before it does */
    PS_PLACE(size_t, low, 0, d->n_worst, middle, order[middle].latest_end_ns <= m->s->start_ns[i])
    for (; low < d->n_worst && order[low].start_ns < dispatch_end_of(m, i); low++) {
        ps_gap *g = &d->worst[order[low].gap];
        if (shared_ns(m, i, g) > 0 && is_better_call(m, i, g)) {
            g->blocking = i;
        }
    }
}

static void forget_short_calls(const meter *m) {
    ps_dispatch *d = m->out;
    for (size_t i = 0; i < d->n_worst; i++) {
        ps_gap *g = &d->worst[i];
        if (g->blocking != PS_NONE && !fills_half(m, g->blocking, g)) {
            g->blocking = PS_NONE;
        }
    }
}

static bool find_blocking(const meter *m) {
    const ps_dispatch *d = m->out;
    by_start *order = ps_calloc(d->n_worst + 1, sizeof *order);
    for (size_t i = 0; order != NULL && i < d->n_worst; i++) {
        order[i] = (by_start){d->worst[i].start_ns, d->worst[i].end_ns, i};
    }
    ps_sort(order, d->n_worst, sizeof *order, compare_dispatch_starts);
    for (size_t i = 1; order != NULL && i < d->n_worst; i++) {
        int64_t before = order[i - 1].latest_end_ns;
        order[i].latest_end_ns = order[i].latest_end_ns > before ? order[i].latest_end_ns : before;
    }
    for (uint32_t i = 0; order != NULL && d->n_worst > 0 && i < m->s->n; i++) {
        if (m->s->kind[i] == PS_SLICE_CALL) {
            take_call(m, i, order);
        }
    }
    forget_short_calls(m);
    ps_free(order);
    return order != NULL;
}

/* --- all together ------------------------------------------------------------------------------------- */

static ps_delays delays_of(numbers *list) {
    ps_delays d = {.n = list->n};
    if (list->n > 0) {
        ps_stats s = ps_stats_of(list->at, list->n); /* sorts */
        d.min_ns = s.min;
        d.max_ns = s.max;
        d.mean_ns = s.mean;
        d.median_ns = s.median;
        d.p95_ns = ps_stats_quantile(list->at, list->n, 0.95);
        d.p99_ns = ps_stats_quantile(list->at, list->n, 0.99);
    }
    return d;
}

static bool begin_steps(ps_dispatch *d, const ps_overlaps *overlaps) {
    d->steps = ps_calloc(overlaps->n + 1, sizeof *d->steps);
    for (size_t i = 0; d->steps != NULL && i < overlaps->n; i++) {
        const ps_overlap *o = &overlaps->at[i];
        d->steps[d->n_steps++] = (ps_dispatch_step){
            .device = o->device,
            .step = o->step,
            .has_step = o->has_step,
            .first_ns = o->first_ns,
            .last_ns = o->last_ns,
            .busy_ns = o->computing_ns + o->not_overlapped_ns,
            .free_ns = o->free_ns,
            .preparing_ns = ps_overlap_preparing_ns(o),
            .step_ns = o->has_step ? ps_overlap_whole_ns(o)
                                   : o->computing_ns + o->not_overlapped_ns + o->free_ns};
    }
    return d->steps != NULL;
}

ps_code ps_dispatch_measure(const ps_links *links, const ps_overlaps *overlaps, int64_t wanted_step,
                            size_t n_worst, ps_dispatch *out, ps_err *err) {
    *out = (ps_dispatch){0};
    meter m = {.links = links,
               .s = ps_trace_slices(links->trace),
               .work = ps_work_of(links),
               .wanted_step = wanted_step,
               .overlaps = overlaps,
               .n_worst = n_worst < MAX_WORST ? n_worst : MAX_WORST,
               .out = out};
    ps_idmap_init(&m.lane_of);
    ps_idmap_init(&m.classes);
    bool ok = begin_steps(out, overlaps) && read_host(&m) && read_device(&m);
    keep_longest(&m);
    ok = ok && find_blocking(&m);
    if (ok) {
        out->after_call = delays_of(&m.after_call);
        out->after_start = delays_of(&m.after_start);
    }
    for (size_t i = 0; i < m.n_lanes; i++) {
        ps_intervals_fini(&m.lanes[i].tasks);
    }
    ps_free(m.lanes);
    ps_idmap_fini(&m.lane_of);
    ps_intervals_fini(&m.receives);
    ps_idmap_fini(&m.classes);
    ps_free(m.launches);
    ps_free(m.after_call.at);
    ps_free(m.after_start.at);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_dispatch_fini(ps_dispatch *d) {
    ps_free(d->worst);
    ps_free(d->steps);
    *d = (ps_dispatch){0};
}

const char *ps_gap_cause_name(ps_gap_cause cause) {
    static const char *const NAMES[PS_N_GAP_CAUSES] = {
        "framework", "launch", "other tasks", "receive", "queued", "edge", "unknown"};
    return NAMES[cause];
}

bool ps_gap_is_host_bound(ps_gap_cause cause) {
    return cause == PS_GAP_FRAMEWORK || cause == PS_GAP_LAUNCH;
}

ps_gap_sum ps_gap_sum_of(const ps_gap_sum sums[PS_N_GAP_SIZES]) {
    ps_gap_sum all = {0};
    for (size_t i = 0; i < PS_N_GAP_SIZES; i++) {
        all.n += sums[i].n;
        all.total_ns = ps_i64_plus(all.total_ns, sums[i].total_ns);
    }
    return all;
}

double ps_dispatch_free_share(const ps_dispatch *d) {
    int64_t busy = 0;
    int64_t idle = 0;
    for (size_t i = 0; i < d->n_steps; i++) {
        busy = ps_i64_plus(busy, d->steps[i].busy_ns);
        idle = ps_i64_plus(idle, d->steps[i].free_ns);
    }
    int64_t whole = ps_i64_plus(busy, idle);
    return whole > 0 ? (double)idle / (double)whole : 0;
}

void ps_delays_archive(ps_archive *a, void *delays) {
    ps_delays *x = delays;
    PS_ARCHIVE(a, x, n, min_ns, max_ns, mean_ns, median_ns, p95_ns, p99_ns);
}

static void gap_sums_archive(ps_archive *a, ps_gap_sum sums[PS_N_GAP_CAUSES][PS_N_GAP_SIZES]) {
    for (size_t cause = 0; cause < PS_N_GAP_CAUSES; cause++) {
        for (size_t size = 0; size < PS_N_GAP_SIZES; size++) {
            ps_gap_sum *x = &sums[cause][size];
            PS_ARCHIVE(a, x, n, total_ns);
        }
    }
}

static void dispatch_step_archive(ps_archive *a, void *step) {
    ps_dispatch_step *x = step;
    PS_ARCHIVE(a, x, device, step, has_step, first_ns, last_ns, busy_ns, free_ns, preparing_ns,
               step_ns);
    gap_sums_archive(a, x->sums);
}

void ps_dispatch_archive(ps_archive *a, void *dispatch) {
    ps_dispatch *x = dispatch;
    PS_ARCHIVE_ARRAY(a, x, steps, n_steps, dispatch_step_archive);
    gap_sums_archive(a, x->sums);
    ps_delays_archive(a, &x->after_call);
    ps_delays_archive(a, &x->after_start);
    PS_ARCHIVE(a, x, n_blocking_ops, blocking_ops_ns);
}
