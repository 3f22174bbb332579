/* Marks into durations. Three clocks look at a mark: the framework's (the operator that set it), CANN's (the mark itself)
 * and the device's (the task that it left on a stream).
 *
 *   markers   <x>_start ... <x>_stop of one thread and domain, the last one opened is the first one closed; each
 *             duration is from one's start to the other's
 *   ranges    the range on the host, and its device side; inside of other ranges of the thread named outer::inner.
 *             Ranges without a device side do not count, unless no mark of the profile has one (NVTX): then the device's
 *             time is from the first to the last kernel launched inside
 *
 * One walk over the slices, hashes for what is open, and a sort. */
#include "analyze/modes/mstx_sum.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/pipeline/project.h"
#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "model/recording.h"

#define MAX_NAME_BYTES                                                                             \
    ((size_t)512) /* of outer::inner; what would be longer has its own name only */

/* Marker names that are open on one thread. */
typedef struct open_name {
    uint32_t track;
    ps_str name, domain; /* of the pool; of the trace */
    uint32_t top;        /* slice, PS_NONE: all closed */
} open_name;

typedef struct collector {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_links *links;
    const ps_overlaps *overlaps;
    ps_derived *derived;
    uint32_t *device; /* [n_slices] device side of a mark, PS_NONE */
    uint32_t *below;  /* [n_slices] of an open marker: the one opened before it */
    uint32_t *around; /* [n_slices] the range around a slice of the host */
    ps_str *names;    /* [n_slices] of ranges, with those around */
    ps_step *steps;   /* by id */
    size_t n_steps;
    open_name *open;
    size_t n_open, cap_open;
    ps_idmap open_rows;
    bool any_device;
    int64_t wanted_step;
    ps_timed_marks *out;
    ps_diag *diag;
    ps_buf text;
} collector;

/* --- one mark ------------------------------------------------------------------------------------------- */

static int64_t framework_start(const collector *c, uint32_t mark) {
    uint32_t op = c->links->op[mark];
    return c->s->start_ns[op != PS_NONE ? op : mark];
}

PS_COMPARE(compare_mstx_mark_steps, ps_step, PS_BY(id))

static bool sort_steps(collector *c) {
    const ps_step *steps = ps_trace_steps(c->trace, &c->n_steps);
    c->steps = ps_alloc((c->n_steps + 1) * sizeof *c->steps);
    if (c->steps != NULL && c->n_steps > 0) {
        memcpy(c->steps, steps, c->n_steps * sizeof *steps);
        qsort(c->steps, c->n_steps, sizeof *c->steps, compare_mstx_mark_steps);
    }
    return c->steps != NULL;
}

/* 0: no such step. */
static int64_t length_of_step(const collector *c, int64_t id) {
    const ps_step key = {.id = id};
    const ps_step *step =
        c->n_steps > 0 ? bsearch(&key, c->steps, c->n_steps, sizeof key, compare_mstx_mark_steps)
                       : NULL;
    return step != NULL ? step->end_ns - step->start_ns : 0;
}

/* The step on the device of the mark's device side; where that is not known, on the one that has most of it. The device runs
 * behind the host: the window of the step on the host is no measure of its times. 0: no work of the step. */
static int64_t length_on_device(const collector *c, int64_t step, uint32_t side) {
    const ps_track *tracks = ps_trace_tracks(c->trace, &(size_t){0});
    int64_t most_ns = 0;
    for (size_t i = 0; i < c->overlaps->n; i++) {
        const ps_overlap *o = &c->overlaps->at[i];
        bool is_there = side == PS_NONE || tracks[c->s->track[side]].device == o->device;
        int64_t whole_ns = ps_overlap_whole_ns(o);
        if (o->has_step && o->step == step && is_there && whole_ns > most_ns) {
            most_ns = whole_ns;
        }
    }
    return most_ns;
}

/* False when memory is out. */
static bool add_mstx_mark(collector *c, ps_timed_mark mark) {
    mark.step = ps_step_of(&c->links->steps, mark.start_ns, mark.start_ns);
    if (c->wanted_step >= 0 && mark.step != c->wanted_step) {
        return true;
    }
    if (mark.step == PS_STEP_OUTSIDE) {
        ps_diag_add(c->diag, PS_ODD_MARK_NO_STEP, "%s",
                    ps_strpool_get(&c->out->strings, mark.name));
    }
    ps_timed_marks *out = c->out;
    if (!ps_grow(&out->marks, &out->cap, out->n + 1, UINT32_MAX, sizeof *out->marks)) {
        return false;
    }
    out->marks[out->n++] = mark;
    return true;
}

/* --- markers -------------------------------------------------------------------------------------------- */

static bool mstx_mark_ends_with(const char *text, size_t n, const char *end, size_t *stem) {
    size_t k = strlen(end);
    *stem = n > k && memcmp(text + n - k, end, k) == 0 ? n - k : 0;
    return *stem > 0;
}

/* NULL when memory is out. */
static open_name *find_open(collector *c, uint32_t i, ps_str name) {
    const uint32_t fields[] = {c->s->track[i], name.id, c->s->category[i].id};
    uint64_t key = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&c->open_rows, key)) != PS_IDMAP_NONE; key++) {
        open_name *o = &c->open[row];
        if (o->track == fields[0] && o->name.id == fields[1] && o->domain.id == fields[2]) {
            return o;
        }
    }
    if (!ps_grow(&c->open, &c->cap_open, c->n_open + 1, UINT32_MAX - 1, sizeof *c->open) ||
        !ps_idmap_put(&c->open_rows, key, (uint32_t)c->n_open)) {
        return NULL;
    }
    c->open[c->n_open] = (open_name){c->s->track[i], name, c->s->category[i], PS_NONE};
    return &c->open[c->n_open++];
}

static bool close_marker(collector *c, open_name *o, uint32_t stop) {
    uint32_t start = o->top;
    const ps_slices *s = c->s;
    if (start == PS_NONE) {
        ps_diag_add(c->diag, PS_ODD_MARK_UNPAIRED, "%s", ps_trace_text(c->trace, s->name[stop]));
        return true;
    }
    o->top = c->below[start];
    uint32_t from = c->device[start];
    uint32_t to = c->device[stop];
    return add_mstx_mark(
        c, (ps_timed_mark){.name = o->name,
                           .start_ns = s->start_ns[start],
                           .framework_ns = framework_start(c, stop) - framework_start(c, start),
                           .cann_ns = s->start_ns[stop] - s->start_ns[start],
                           .device_ns = from != PS_NONE && to != PS_NONE
                                            ? s->start_ns[to] - s->start_ns[from]
                                            : PS_NO_DURATION,
                           .track = s->track[start],
                           .row = start});
}

/* *is_marker is false for a mark of another name. */
static bool take_marker(collector *c, uint32_t i, bool *is_marker) {
    const char *text = ps_trace_text(c->trace, c->s->name[i]);
    size_t n = ps_trace_text_len(c->trace, c->s->name[i]);
    size_t stem = 0;
    bool is_start = mstx_mark_ends_with(text, n, "_start", &stem);
    *is_marker = is_start || mstx_mark_ends_with(text, n, "_stop", &stem);
    if (!*is_marker) {
        return true;
    }
    ps_str name = ps_strpool_add(&c->out->strings, text, stem);
    open_name *o = ps_str_is_none(name) ? NULL : find_open(c, i, name);
    if (o == NULL) {
        return false;
    }
    if (is_start) {
        c->below[i] = o->top;
        o->top = i;
        return true;
    }
    return close_marker(c, o, i);
}

static void count_unpaired(collector *c) {
    for (size_t k = 0; k < c->n_open; k++) {
        for (uint32_t i = c->open[k].top; i != PS_NONE; i = c->below[i]) {
            ps_diag_add(c->diag, PS_ODD_MARK_UNPAIRED, "%s",
                        ps_trace_text(c->trace, c->s->name[i]));
        }
    }
}

/* --- ranges --------------------------------------------------------------------------------------------- */

/* `around`: the range it lies in, PS_NONE. None when memory is out. */
static ps_str name_of_range(collector *c, uint32_t i, uint32_t around) {
    const char *own = ps_trace_text(c->trace, c->s->name[i]);
    size_t n = ps_trace_text_len(c->trace, c->s->name[i]);
    const char *outer = around != PS_NONE ? ps_strpool_get(&c->out->strings, c->names[around]) : "";
    size_t n_outer = around != PS_NONE ? ps_strpool_len(&c->out->strings, c->names[around]) : 0;
    if (around == PS_NONE || n_outer + 2 + n > MAX_NAME_BYTES) {
        return ps_strpool_add(&c->out->strings, own, n);
    }
    ps_buf_clear(&c->text);
    ps_buf_add(&c->text, outer, n_outer);
    ps_buf_add_str(&c->text, "::");
    ps_buf_add(&c->text, own, n);
    return ps_buf_ok(&c->text) ? ps_strpool_add(&c->out->strings, ps_buf_str(&c->text), c->text.len)
                               : PS_STR_NONE;
}

static bool take_range(collector *c, uint32_t i) {
    const ps_slices *s = c->s;
    uint32_t device = c->device[i];
    if (c->any_device && device == PS_NONE) {
        return true;
    }
    c->names[i] = name_of_range(c, i, c->around[i]);
    return !ps_str_is_none(c->names[i]) &&
           add_mstx_mark(c, (ps_timed_mark){.name = c->names[i],
                                            .start_ns = s->start_ns[i],
                                            .framework_ns = s->dur_ns[i],
                                            .cann_ns = s->dur_ns[i],
                                            .device_ns = device != PS_NONE ? s->dur_ns[device]
                                                                           : PS_NO_DURATION,
                                            .track = s->track[i],
                                            .row = i});
}

/* --- ranges without a device side of their own ---------------------------------------------------------- */

/* Each range has the kernels launched in those inside of it, too: these come later. */
static void add_inner_extents(const collector *c, const ps_host_span *spans, size_t n,
                              ps_extent *extents) {
    for (size_t i = n; i > 0; i--) {
        const ps_extent *inner = &extents[i - 1];
        uint32_t around = c->around[spans[i - 1].slice];
        if (around == PS_NONE || c->device[around] == PS_NONE || inner->n_kernels == 0) {
            continue;
        }
        ps_extent *outer = &extents[c->device[around]];
        bool is_first = outer->n_kernels == 0;
        if (is_first || inner->start_ns < outer->start_ns) {
            outer->start_ns = inner->start_ns;
        }
        if (is_first || inner->end_ns > outer->end_ns) {
            outer->end_ns = inner->end_ns;
        }
        outer->n_kernels += inner->n_kernels;
    }
}

/* Of NVTX ranges: from the first to the last kernel launched inside. `device` holds the number of a range's span here,
 * since no mark of the trace has a device side. */
static ps_code project_ranges(collector *c, ps_err *err) {
    size_t n = 0;
    ps_host_span *spans = ps_calloc((size_t)c->s->n + 1, sizeof *spans);
    ps_extent *extents = ps_calloc((size_t)c->s->n + 1, sizeof *extents);
    ps_code code = spans != NULL && extents != NULL ? PS_OK : ps_fail_nomem(err);
    for (uint32_t i = 0; code == PS_OK && i < c->s->n; i++) {
        if (!ps_str_is_none(c->names[i])) {
            c->device[i] = (uint32_t)n;
            spans[n++] = (ps_host_span){.start_ns = c->s->start_ns[i],
                                        .end_ns = c->s->start_ns[i] + c->s->dur_ns[i],
                                        .slice = i,
                                        .track = c->s->track[i]};
        }
    }
    code = code == PS_OK ? ps_project(c->links, spans, n, extents, c->diag, err) : code;
    if (code == PS_OK) {
        add_inner_extents(c, spans, n, extents);
    }
    for (size_t i = 0; code == PS_OK && i < c->out->n; i++) {
        ps_timed_mark *m = &c->out->marks[i];
        const ps_extent *e = c->device[m->row] != PS_NONE ? &extents[c->device[m->row]] : NULL;
        if (e != NULL && e->n_kernels > 0) {
            m->device_ns = e->end_ns - e->start_ns;
        }
    }
    ps_free(spans);
    ps_free(extents);
    return code;
}

/* --- repeats -------------------------------------------------------------------------------------------- */

PS_COMPARE(compare_mstx_mark_marks, ps_timed_mark, PS_BY(step) PS_BY(start_ns) PS_BY(row))

/* How often a name stands in the step whose marks begin at `first`, and how many of those have their number. */
typedef struct repeat {
    size_t first;
    uint32_t n, numbered;
} repeat;

static bool rename_mark(collector *c, ps_timed_mark *m, uint32_t number) {
    ps_buf_clear(&c->text);
    ps_buf_add(&c->text, ps_strpool_get(&c->out->strings, m->name),
               ps_strpool_len(&c->out->strings, m->name));
    ps_buf_addf(&c->text, "_%u", number);
    m->name = ps_buf_ok(&c->text)
                  ? ps_strpool_add(&c->out->strings, ps_buf_str(&c->text), c->text.len)
                  : PS_STR_NONE;
    return !ps_str_is_none(m->name);
}

/* Repeats of a name in a step get _0, _1 ... in the order of time. Marks are sorted. */
static bool number_repeats(collector *c) {
    ps_timed_marks *out = c->out;
    repeat *of = ps_calloc(out->strings.n, sizeof *of);
    bool ok = of != NULL;
    for (size_t first = 0; ok && first < out->n;) {
        size_t end = first;
        int64_t length = length_of_step(c, out->marks[first].step);
        uint32_t on = PS_NONE; /* the track of the device side before, of which device_ns is */
        int64_t device_ns = length_on_device(c, out->marks[first].step, PS_NONE);
        for (; end < out->n && out->marks[end].step == out->marks[first].step; end++) {
            out->marks[end].step_ns = length;
            uint32_t side = c->any_device ? c->device[out->marks[end].row] : PS_NONE;
            if (side != PS_NONE && c->s->track[side] != on) {
                on = c->s->track[side];
                device_ns = length_on_device(c, out->marks[first].step, side);
            }
            out->marks[end].device_step_ns = device_ns;
            repeat *r = &of[out->marks[end].name.id];
            if (r->first != first) {
                *r = (repeat){.first = first};
            }
            r->n++;
        }
        for (size_t i = first; ok && i < end; i++) {
            repeat *r = &of[out->marks[i].name.id];
            ok = r->n < 2 || rename_mark(c, &out->marks[i], r->numbered++);
        }
        first = end;
    }
    ps_free(of);
    return ok;
}

/* --- all together --------------------------------------------------------------------------------------- */

static bool find_device_sides(collector *c) {
    const ps_slices *s = c->s;
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(c->trace, &n);
    for (uint32_t i = 0; i < s->n; i++) {
        c->device[i] = PS_NONE;
        c->below[i] = PS_NONE;
    }
    bool any_mark = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t from = flows[i].from;
        bool is_mark = s->kind[from] == PS_SLICE_MARK_HOST || s->kind[from] == PS_SLICE_INSTANT;
        if (is_mark && s->kind[flows[i].to] == PS_SLICE_MARK_DEVICE && c->device[from] == PS_NONE) {
            c->device[from] = flows[i].to;
            c->any_device = c->any_device || !ps_is_step_mark(c->trace, from);
        }
    }
    for (uint32_t i = 0; !any_mark && i < s->n; i++) {
        any_mark = s->kind[i] == PS_SLICE_MARK_HOST || c->device[i] != PS_NONE;
    }
    return any_mark;
}

static bool take_all_mstx_mark(collector *c) {
    const ps_slices *s = c->s;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t up = c->links->parent[i];
        c->around[i] = up == PS_NONE ? PS_NONE : ps_str_is_none(c->names[up]) ? c->around[up] : up;
        bool is_point = s->kind[i] == PS_SLICE_INSTANT || s->dur_ns[i] == 0;
        bool is_mark = s->kind[i] == PS_SLICE_MARK_HOST || s->kind[i] == PS_SLICE_INSTANT;
        bool is_marker = false;
        if (is_mark && is_point) {
            ok = take_marker(c, i, &is_marker);
        }
        if (ok && s->kind[i] == PS_SLICE_MARK_HOST && !is_marker) {
            ok = take_range(c, i);
        }
    }
    if (ok) {
        count_unpaired(c);
    }
    if (ok && c->out->n > 1) {
        qsort(c->out->marks, c->out->n, sizeof *c->out->marks, compare_mstx_mark_marks);
    }
    return ok && number_repeats(c);
}

static ps_code collect_mstx_mark(collector *c, ps_err *err) {
    size_t n = (size_t)c->s->n + 1;
    c->device = ps_alloc(n * sizeof *c->device);
    c->below = ps_alloc(n * sizeof *c->below);
    c->around = ps_alloc(n * sizeof *c->around);
    c->names = ps_calloc(n, sizeof *c->names);
    if (c->device == NULL || c->below == NULL || c->around == NULL || c->names == NULL ||
        !sort_steps(c)) {
        return ps_fail_nomem(err);
    }
    if (!find_device_sides(c)) {
        return ps_trace_is_recording(c->trace)
                   ? ps_fail_said(
                         err, PS_NOTHING,
                         "no marks: put ranges of pipescope, mstx or NVTX into the program, or call "
                         "pipescope.hook_modules() (docs/recording.md)",
                         "没有打点：请在程序中加入 pipescope、mstx 或 NVTX 的 range，或调用 "
                         "pipescope.hook_modules()（docs/recording.md）")
                   : ps_fail_said(
                         err, PS_NOTHING,
                         "no marks: collect with mstx=True (_ExperimentalConfig of torch_npu) and set "
                         "ranges or <name>_start, <name>_stop; with Nsight, NVTX ranges",
                         "没有打点：请以 mstx=True（torch_npu 的 _ExperimentalConfig）采集，并设置 range 或 "
                         "<名称>_start、<名称>_stop；Nsight 使用 NVTX range");
    }
    c->links = ps_derived_links(c->derived, err);
    c->overlaps = c->links != NULL ? ps_derived_overlaps(c->derived, err) : NULL;
    ps_code code = c->overlaps != NULL ? PS_OK : PS_NOMEM;
    if (code == PS_OK && !take_all_mstx_mark(c)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK && !c->any_device && ps_trace_has_device(c->trace)) {
        code = project_ranges(c, err);
    }
    if (code == PS_OK && c->out->n == 0) {
        code =
            ps_fail_said(err, PS_NOTHING,
                         "none of the marks is a range with a device side, or a pair <name>_start, "
                         "<name>_stop%s%.0s",
                         "%.0s%s没有一个打点是带设备侧的 range，或成对的 <名称>_start、<名称>_stop",
                         PS_IN_THIS_STEP(c->wanted_step));
    }
    return code;
}

ps_code ps_timed_marks_collect(const ps_map_input *in, ps_timed_marks *out, ps_err *err) {
    *out = (ps_timed_marks){0};
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    if (!ps_strpool_init(&out->strings)) {
        return ps_fail_nomem(err);
    }
    collector c = {.trace = in->trace,
                   .s = ps_trace_slices(in->trace),
                   .derived = in->derived,
                   .wanted_step = in->opts->step_id,
                   .out = out,
                   .diag = in->diag};
    ps_idmap_init(&c.open_rows);
    ps_buf_init(&c.text, 0);
    code = collect_mstx_mark(&c, err);
    ps_idmap_fini(&c.open_rows);
    ps_buf_fini(&c.text);
    ps_free(c.device);
    ps_free(c.below);
    ps_free(c.around);
    ps_free(c.steps);
    ps_free(c.names);
    ps_free(c.open);
    return code;
}

void ps_timed_marks_fini(ps_timed_marks *m) {
    ps_free(m->marks);
    ps_strpool_fini(&m->strings);
    *m = (ps_timed_marks){0};
}
