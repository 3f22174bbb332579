/* Steps are the windows of the trace that hold the host start of an op. Without windows the labels tell
 * (rank_labels_steps.h). */
#include "analyze/pipeline/rank_labels.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/pipeline/host_computing.h"
#include "analyze/pipeline/host_parts.h"
#include "analyze/pipeline/infer_flows.h"
#include "analyze/pipeline/project.h"
#include "analyze/pipeline/rank_labels_jobs.h"
#include "analyze/pipeline/rank_labels_steps.h"
#include "analyze/rank/span_index.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_kernels.h"
#include "model/recording.h"

const char *ps_label_source_text(ps_lang lang, ps_label_source source) {
    static const char *const TEXTS[][PS_N_LANGS] = {
#define X(source, english, chinese) {english, chinese},
        PS_LABEL_SOURCES(X)
#undef X
    };
    return source < PS_LABELS_NONE ? TEXTS[source][lang] : "";
}

static ps_label_source source_of(ps_label_family family) {
    static const ps_label_source SOURCES[] = {
        [PS_FAMILY_USER] = PS_LABELS_USER,
        [PS_FAMILY_ACTION] = PS_LABELS_ACTION,
        [PS_FAMILY_MICROBATCH] = PS_LABELS_MICROBATCH,
        [PS_FAMILY_FUNCTION] = PS_LABELS_FUNCTION,
        [PS_FAMILY_LAYER] = PS_LABELS_LAYER,
        [PS_FAMILY_PART] = PS_LABELS_PART,
        [PS_N_FAMILIES] = PS_LABELS_NONE,
    };
    return SOURCES[family];
}

static bool add_rank_label(ps_rank_labels *out, ps_labelled op) {
    if (!ps_grow(&out->ops, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->ops)) {
        return false;
    }
    out->ops[out->n++] = op;
    return true;
}

/* --- from host to device ----------------------------------------------------------------------------------- */

static ps_mark mark_of(const ps_trace *trace, int64_t host_start, int64_t host_end,
                       const ps_extent *e, ps_op_kind kind) {
    int64_t origin = ps_trace_origin_ns(trace);
    bool projected = e->n_kernels > 0;
    return (ps_mark){.start_ns = origin + (projected ? e->start_ns : host_start),
                     .end_ns = origin + (projected ? e->end_ns : host_end),
                     .host_start_ns = origin + host_start,
                     .host_end_ns = origin + host_end,
                     .microbatch = -1,
                     .kind = (uint8_t)kind};
}

/* Without kernels in a trace that has a device there is no op; administration often launches nothing. */
static bool is_lost(const ps_rank_labels *out, const ps_extent *e, ps_op_kind kind, ps_diag *diag,
                    const char *name) {
    bool lost = !out->host_times && e->n_kernels == 0;
    if (lost && kind != PS_OP_OTHER) {
        ps_diag_add(diag, PS_ODD_RANGE_NO_KERNEL, "%.100s", name);
    }
    return lost;
}

/* What was cut off an op without a device, whose label holds more than its computing. */
static void count_trimmed(const ps_trace *trace, const ps_host_range *range, const ps_mark *mark,
                          const ps_extent *e, ps_rank_labels *out) {
    if (!out->host_times || !ps_label_is_op(range->label.kind) ||
        !ps_host_range_holds_waits(trace, range)) {
        return;
    }
    int64_t label_ns = range->end_ns - range->start_ns;
    if (e->n_kernels == 0) {
        out->n_untrimmed++;
        return;
    }
    ps_chart_trimmed *trimmed = &out->trimmed;
    trimmed->n_labels++;
    trimmed->labelled_ns = ps_i64_plus(trimmed->labelled_ns, label_ns);
    trimmed->trimmed_ns =
        ps_i64_plus(trimmed->trimmed_ns, label_ns - (mark->end_ns - mark->start_ns));
}

static bool add_rank_label_range(const ps_trace *trace, const ps_host_range *range,
                                 const ps_extent *e, ps_rank_labels *out, ps_diag *diag) {
    const ps_host_label *label = &range->label;
    const char *name = "";
    if (range->slice != PS_NONE) {
        name = ps_trace_text(trace, ps_trace_slices(trace)->name[range->slice]);
        name += strncmp(name, "PP:", 3) == 0 ? 3 : 0;
    }
    if (is_lost(out, e, label->kind, diag, name)) {
        return true;
    }
    ps_labelled op = {.mark = mark_of(trace, range->start_ns, range->end_ns, e, label->kind),
                      .label = *label};
    op.mark.microbatch = label->microbatch;
    op.is_empty = out->host_times && e->n_kernels > 0 && e->start_ns == e->end_ns &&
                  ps_host_range_holds_waits(trace, range);
    count_trimmed(trace, range, &op.mark, e, out);
    if (label->kind == PS_OP_OTHER) {
        op.name = ps_arena_strndup(&out->arena, name, strlen(name));
    }
    bool is_action = label->family == PS_FAMILY_ACTION;
    out->has_i |= is_action && (label->action == PS_ACTION_I || label->second == PS_ACTION_I);
    out->has_w |= is_action && label->action == PS_ACTION_W;
    out->has_bw |= is_action && (label->action == PS_ACTION_BW || label->second == PS_ACTION_BW);
    return (label->kind != PS_OP_OTHER || op.name != NULL) && add_rank_label(out, op);
}

/* --- ranges and what parts they have ------------------------------------------------------------------------ */

/* Ranges and parts in the order of starts, longer first. */
typedef struct projecting {
    const ps_trace *trace;
    const ps_links *links;
    const ps_host_ranges *ranges;
    const ps_host_parts *parts;
    ps_host_span *spans; /* [n] */
    ps_extent *extents;  /* [n] */
    uint32_t *range_at;  /* [ranges->n] row in spans */
    uint32_t *part_at;   /* [parts->n] row in spans */
    uint32_t *range_of;  /* [parts->n] the range that holds a part, PS_NONE */
    uint32_t *first;     /* [ranges->n + 1] of `held`: where the parts of a range begin */
    uint32_t *held;      /* parts that a range holds, by range, then in start order */
    size_t n;
    bool has_computing; /* without a device: ranges were cut to the computing inside */
} projecting;

static bool is_range_next(const projecting *p, size_t r, size_t k) {
    if (r >= p->ranges->n || k >= p->parts->n) {
        return r < p->ranges->n;
    }
    const ps_host_range *range = &p->ranges->ranges[r];
    const ps_host_part *part = &p->parts->at[k];
    return range->start_ns != part->start_ns ? range->start_ns < part->start_ns
                                             : range->end_ns >= part->end_ns;
}

static ps_host_span span_of_range(const ps_host_range *range) {
    return (ps_host_span){range->start_ns, range->end_ns, range->slice, range->track, false};
}

static void list_spans(projecting *p) {
    size_t r = 0;
    size_t k = 0;
    while (p->n < p->ranges->n + p->parts->n) {
        if (is_range_next(p, r, k)) {
            p->range_at[r] = (uint32_t)p->n;
            p->spans[p->n++] = span_of_range(&p->ranges->ranges[r++]);
        } else {
            const ps_host_part *part = &p->parts->at[k];
            p->part_at[k++] = (uint32_t)p->n;
            p->spans[p->n++] =
                (ps_host_span){part->start_ns, part->end_ns, part->slice, part->track, true};
        }
    }
}

/* Ranges of several threads take turns, and so do their parts. */
static void group_parts(projecting *p) {
    for (size_t k = 0; k < p->parts->n; k++) {
        if (p->range_of[k] != PS_NONE) {
            p->first[p->range_of[k] + 1]++;
        }
    }
    for (size_t r = 0; r < p->ranges->n; r++) {
        p->first[r + 1] += p->first[r];
    }
    uint32_t n_held = p->first[p->ranges->n];
    for (size_t k = p->parts->n; k > 0; k--) { /* the end of a range's parts moves to their begin */
        if (p->range_of[k - 1] != PS_NONE) {
            p->held[--p->first[p->range_of[k - 1] + 1]] = (uint32_t)k - 1;
        }
    }
    for (size_t r = 0; r < p->ranges->n; r++) {
        p->first[r] = p->first[r + 1];
    }
    p->first[p->ranges->n] = n_held;
}

/* The ranges alone, so that a part does not hold itself. False when memory is out. */
static bool find_ranges_of_parts(projecting *p) {
    ps_span_index index;
    for (size_t r = 0; r < p->ranges->n; r++) {
        p->spans[r] = span_of_range(&p->ranges->ranges[r]);
    }
    bool ok = ps_span_index_init(&index, p->links, p->spans, p->ranges->n);
    for (size_t k = 0; ok && k < p->parts->n; k++) {
        const ps_host_part *part = &p->parts->at[k];
        bool is_open = false;
        uint32_t range = ps_span_holding(&index, part->slice, &is_open);
        bool holds = range != PS_NONE && p->ranges->ranges[range].end_ns >= part->end_ns;
        p->range_of[k] = holds ? range : PS_NONE;
    }
    ps_span_index_fini(&index);
    if (ok) {
        group_parts(p);
    }
    return ok;
}

/* An op lies from the first start to the last end of all that its parts did, and of what it did beside them. */
static void join_extents(projecting *p) {
    for (size_t k = 0; k < p->parts->n; k++) {
        const ps_extent *part = &p->extents[p->part_at[k]];
        if (p->range_of[k] == PS_NONE || part->n_kernels == 0) {
            continue;
        }
        ps_extent *op = &p->extents[p->range_at[p->range_of[k]]];
        if (op->n_kernels == 0) {
            *op = *part;
            continue;
        }
        op->start_ns = part->start_ns < op->start_ns ? part->start_ns : op->start_ns;
        op->end_ns = part->end_ns > op->end_ns ? part->end_ns : op->end_ns;
    }
}

/* False when memory is out. */
static bool project_all(projecting *p, ps_diag *diag) {
    size_t n = p->ranges->n + p->parts->n;
    p->spans = ps_calloc(n, sizeof *p->spans);
    p->extents = ps_calloc(n, sizeof *p->extents);
    p->range_at = ps_calloc(p->ranges->n, sizeof *p->range_at);
    p->part_at = ps_calloc(p->parts->n, sizeof *p->part_at);
    p->range_of = ps_calloc(p->parts->n, sizeof *p->range_of);
    p->first = ps_calloc(p->ranges->n + 1, sizeof *p->first);
    p->held = ps_calloc(p->parts->n, sizeof *p->held);
    if (p->spans == NULL || p->extents == NULL || p->range_at == NULL || p->part_at == NULL ||
        p->range_of == NULL || p->first == NULL || p->held == NULL) {
        return false;
    }
    if (n == 0) {
        return true;
    }
    if (!find_ranges_of_parts(p)) {
        return false;
    }
    list_spans(p);
    if (ps_project(p->links, p->spans, n, p->extents, diag, NULL) != PS_OK) {
        return false;
    }
    join_extents(p);
    return true;
}

/* Without a device, ops lie where the computing inside of their labels does. False when memory is out. */
static bool project_host(projecting *p) {
    ps_extent *extents = ps_calloc(p->ranges->n, sizeof *extents);
    bool ok = extents != NULL && ps_host_computing(p->links, p->ranges, extents, &p->has_computing);
    for (size_t r = 0; ok && r < p->ranges->n; r++) {
        if (extents[r].n_kernels > 0) {
            p->extents[p->range_at[r]] = extents[r];
        }
    }
    ps_free(extents);
    return ok;
}

/* UNSHARD of a model that is not sharded and the like: as in a trace with a device, no op. */
static bool is_idle_administration(const projecting *p, size_t r) {
    const ps_host_range *range = &p->ranges->ranges[r];
    return p->has_computing && range->label.kind == PS_OP_OTHER &&
           ps_host_range_holds_waits(p->trace, range) && p->extents[p->range_at[r]].n_kernels == 0;
}

static void projecting_fini(projecting *p) {
    ps_free(p->spans);
    ps_free(p->extents);
    ps_free(p->range_at);
    ps_free(p->part_at);
    ps_free(p->range_of);
    ps_free(p->first);
    ps_free(p->held);
}

/* A part behind the others of the op that was added last. One that did nothing on the device is none. */
static bool add_rank_label_part(const projecting *p, uint32_t k, ps_rank_labels *out) {
    const ps_host_part *part = &p->parts->at[k];
    const ps_extent *e = &p->extents[p->part_at[k]];
    int64_t origin = ps_trace_origin_ns(p->trace);
    if (e->n_kernels == 0 && !out->host_times) {
        return true;
    }
    const char *name = ps_trace_text(p->trace, ps_trace_slices(p->trace)->name[part->slice]);
    name = ps_arena_strndup(&out->arena, name, strlen(name));
    if (name == NULL || !ps_grow(&out->parts, &out->cap_parts, out->n_parts + 1, UINT32_MAX - 1,
                                 sizeof *out->parts)) {
        return false;
    }
    bool projected = e->n_kernels > 0;
    out->parts[out->n_parts++] =
        (ps_given_part){.start_ns = origin + (projected ? e->start_ns : part->start_ns),
                        .end_ns = origin + (projected ? e->end_ns : part->end_ns),
                        .name = name,
                        .kind = (uint8_t)part->kind,
                        .communicates = projected && e->communication_ns > e->all_ns / 2};
    return true;
}

/* The parts of a range, of the op that was added for it. */
static bool add_rank_label_parts(const projecting *p, size_t range, ps_rank_labels *out) {
    uint32_t first = (uint32_t)out->n_parts;
    bool ok = true;
    for (uint32_t at = p->first[range]; ok && at < p->first[range + 1]; at++) {
        bool is_itself = p->parts->at[p->held[at]].slice == p->ranges->ranges[range].slice;
        ok = is_itself || add_rank_label_part(p, p->held[at], out);
    }
    ps_labelled *op = &out->ops[out->n - 1];
    op->first_part = first;
    op->n_parts = (uint32_t)out->n_parts - first;
    return ok;
}

/* Of one kind: the op that is open longest, and the one that is on another thread than it. */
typedef struct open_ops {
    int64_t end_ns[2];
    uint32_t track[2];
} open_ops;

static bool is_beside_another(const open_ops *o, uint32_t track, int64_t start_ns) {
    return (o->track[0] != track && o->end_ns[0] > start_ns) ||
           (o->track[1] != track && o->end_ns[1] > start_ns);
}

static void open_op(open_ops *o, uint32_t track, int64_t end_ns) {
    if (track != o->track[0] && end_ns > o->end_ns[0]) {
        o->end_ns[1] = o->end_ns[0];
        o->track[1] = o->track[0];
        o->end_ns[0] = end_ns;
        o->track[0] = track;
    } else {
        int at = track == o->track[0] ? 0 : 1;
        if (end_ns > o->end_ns[at]) {
            o->end_ns[at] = end_ns;
            o->track[at] = track;
        }
    }
}

/* A worker runs one forward at a time. Where more than a quarter begin beside another one of another thread (of two workers half can), the trace holds several, and
 * nothing here tells which op is whose. */
static bool are_of_several_workers(const ps_host_ranges *r) {
    open_ops open[PS_N_OP_KINDS];
    size_t n_ops = 0;
    size_t n_beside = 0;
    for (size_t k = 0; k < PS_N_OP_KINDS; k++) {
        open[k] = (open_ops){{INT64_MIN, INT64_MIN}, {PS_NONE, PS_NONE}};
    }
    for (size_t i = 0; i < r->n; i++) {
        const ps_host_range *range = &r->ranges[i];
        if (!ps_label_is_op(range->label.kind)) {
            continue;
        }
        n_ops++;
        n_beside += is_beside_another(&open[range->label.kind], range->track, range->start_ns);
        open_op(&open[range->label.kind], range->track, range->end_ns);
    }
    return n_beside * 4 > n_ops;
}

static ps_code collect_ranges(const ps_trace *trace, const ps_label_rules *rules,
                              ps_host_ranges *found, ps_host_parts *parts, ps_diag *diag,
                              ps_err *err) {
    ps_code code = ps_host_ranges_collect(trace, rules, found, diag, err);
    if (code != PS_OK) {
        return code;
    }
    bool ok = ps_host_parts_collect(trace, parts);
    if (ok && found->family == PS_N_FAMILIES && rules == NULL) {
        ps_host_ranges_fini(found); /* administration alone */
        ok = ps_host_parts_ops(trace, parts, found);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code read_ranges(const ps_map_input *in, const ps_label_rules *rules, ps_rank_labels *out,
                           ps_err *err) {
    const ps_trace *trace = in->trace;
    ps_diag *diag = in->diag;
    ps_host_ranges found = {.family = PS_N_FAMILIES};
    ps_host_parts parts = {0};
    ps_code code = collect_ranges(trace, rules, &found, &parts, diag, err);
    projecting p = {.trace = trace, .ranges = &found, .parts = &parts};
    out->is_merged = code == PS_OK && are_of_several_workers(&found);
    if (code == PS_OK && found.n + parts.n > 0) {
        p.links = ps_derived_links(in->derived, err);
        code = p.links != NULL ? PS_OK : PS_NOMEM;
    }
    bool trims = out->host_times && found.n > 0;
    bool ok = code == PS_OK && (!trims || ps_host_ranges_split_pairs(p.links, &found)) &&
              project_all(&p, diag) && (!trims || project_host(&p));
    for (size_t i = 0; ok && i < found.n; i++) {
        size_t before = out->n;
        if (is_idle_administration(&p, i)) {
            continue;
        }
        ok = add_rank_label_range(trace, &found.ranges[i], &p.extents[p.range_at[i]], out, diag) &&
             (out->n == before || add_rank_label_parts(&p, i, out));
    }
    out->source = source_of(found.family);
    projecting_fini(&p);
    ps_host_parts_fini(&parts);
    ps_host_ranges_fini(&found);
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

static ps_code read_flows(const ps_map_input *in, ps_rank_labels *out, ps_err *err) {
    const ps_trace *trace = in->trace;
    ps_inferred_list found;
    ps_code code = ps_infer_from_flows(trace, &found, err);
    if (code != PS_OK) {
        return code;
    }
    ps_host_span *spans = ps_calloc(found.n, sizeof *spans);
    ps_extent *extents = ps_calloc(found.n, sizeof *extents);
    bool ok = spans != NULL && extents != NULL;
    for (size_t i = 0; ok && i < found.n; i++) {
        spans[i] =
            (ps_host_span){found.ops[i].start_ns, found.ops[i].end_ns, PS_NONE, PS_NONE, false};
    }
    bool known = true;
    if (ok && found.n > 0) {
        const ps_links *links = ps_derived_links(in->derived, NULL);
        ok = links != NULL && ps_project(links, spans, found.n, extents, in->diag, NULL) == PS_OK &&
             (!out->host_times || ps_inferred_widen(links, &found, &known));
    }
    out->n_narrow = known ? 0 : found.n;
    for (size_t i = 0; ok && i < found.n; i++) {
        const ps_inferred *f = &found.ops[i];
        ps_op_kind kind = f->is_backward != 0 ? PS_OP_B : PS_OP_F;
        if (is_lost(out, &extents[i], kind, in->diag,
                    f->is_backward != 0 ? "backward" : "forward")) {
            continue;
        }
        ps_labelled op = {.mark = mark_of(trace, f->start_ns, f->end_ns, &extents[i], kind),
                          .label = {.kind = kind,
                                    .stage = -1,
                                    .microbatch = f->number,
                                    .stage2 = -1,
                                    .microbatch2 = -1,
                                    .layer_f = -1,
                                    .layer_b = -1}};
        ok = add_rank_label(out, op);
    }
    out->source = found.n > 0 ? PS_LABELS_FLOWS : PS_LABELS_NONE;
    out->n_twice_run = found.n_twice;
    ps_free(spans);
    ps_free(extents);
    ps_inferred_list_fini(&found);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* Ranges that the profiler itself saw on both sides. */
static ps_code read_marks(const ps_trace *trace, const ps_analysis_opts *opts, ps_rank_labels *out,
                          ps_diag *diag, ps_err *err) {
    ps_analysis_opts all = *opts;
    ps_mark_list marks;
    all.step_id = -1;
    ps_code code = ps_marks_collect(trace, &all, &marks, diag, err);
    bool ok = code == PS_OK;
    for (size_t i = 0; ok && i < marks.n; i++) {
        ok = add_rank_label(out, (ps_labelled){.mark = marks.marks[i],
                                               .label = {.kind = (ps_op_kind)marks.marks[i].kind,
                                                         .stage = -1,
                                                         .microbatch = -1,
                                                         .stage2 = -1,
                                                         .microbatch2 = -1}});
    }
    if (code == PS_OK) {
        out->source = marks.n > 0 ? PS_LABELS_MARKS : PS_LABELS_NONE;
        ps_mark_list_fini(&marks);
    }
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

/* --- steps ------------------------------------------------------------------------------------------------- */

/* Steps by windows. False when memory is out; *any: at least one op lies in one. */
static bool by_windows(const ps_trace *trace, ps_rank_labels *r, bool *any) {
    ps_step_index steps;
    int64_t origin = ps_trace_origin_ns(trace);
    *any = false;
    bool ok = ps_step_index_init(&steps, trace);
    for (size_t i = 0; ok && steps.n > 0 && i < r->n; i++) {
        ps_mark *mark = &r->ops[i].mark;
        int64_t at = mark->host_start_ns - origin;
        mark->step = ps_step_of(&steps, at, at);
        *any = *any || mark->step != PS_STEP_OUTSIDE;
    }
    ps_step_index_fini(&steps);
    return ok;
}

static void drop_outside(ps_rank_labels *r, ps_diag *diag) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->ops[i].mark.step != PS_STEP_OUTSIDE) {
            r->ops[n++] = r->ops[i];
        }
    }
    ps_diag_count(diag, PS_ODD_MARK_NO_STEP, r->n - n);
    r->n = n;
}

/* Functions and layers carry no microbatch that all of them share. */
static bool is_numbered(const ps_rank_labels *r) {
    bool all = r->n > 0 && r->source != PS_LABELS_FUNCTION && r->source != PS_LABELS_LAYER &&
               r->source != PS_LABELS_PART;
    for (size_t i = 0; i < r->n; i++) {
        all = all && (!ps_label_is_op(r->ops[i].label.kind) || r->ops[i].label.microbatch >= 0);
    }
    return all;
}

PS_COMPARE(by_host, ps_labelled,
           PS_BY(mark.host_start_ns) PS_BY_DOWN(mark.host_end_ns) PS_BY(label.kind))

PS_COMPARE(by_device, ps_labelled,
           PS_BY(mark.start_ns) PS_BY(mark.end_ns) PS_BY(mark.host_start_ns)
               PS_BY_DOWN(mark.host_end_ns) PS_BY(label.kind))

/* Pairs that were inferred belong to the step of their forward and are numbered in it. False when memory is out. */
static bool number_inferred(ps_rank_labels *r) {
    int32_t most = 0;
    for (size_t i = 0; i < r->n; i++) {
        most = r->ops[i].label.microbatch > most ? r->ops[i].label.microbatch : most;
    }
    struct pair_place {
        int64_t step;
        int32_t number;
    } *places = ps_calloc((size_t)most + 1, sizeof *places);
    ps_idmap forwards; /* step -> forwards in it so far */
    ps_idmap_init(&forwards);
    bool ok = places != NULL;
    for (int32_t k = 0; ok && k <= most; k++) {
        places[k] = (struct pair_place){PS_STEP_OUTSIDE, -1};
    }
    for (size_t i = 0; ok && i < r->n; i++) {
        ps_labelled *op = &r->ops[i];
        struct pair_place *place = &places[op->label.microbatch];
        if (op->label.kind == PS_OP_F) {
            uint32_t n = ps_idmap_get(&forwards, (uint64_t)op->mark.step);
            n = n == PS_IDMAP_NONE ? 0 : n;
            *place = (struct pair_place){op->mark.step, (int32_t)n};
            ok = ps_idmap_put(&forwards, (uint64_t)op->mark.step, n + 1);
        }
        op->mark.step = place->step; /* of a backward whose forward is lost: outside */
        op->label.microbatch = place->number;
        op->mark.microbatch = place->number;
    }
    ps_idmap_fini(&forwards);
    ps_free(places);
    return ok;
}

/* Jobs bring their step. */
static bool has_steps(const ps_rank_labels *r) {
    for (size_t i = 0; i < r->n; i++) {
        if (r->ops[i].mark.step < 0) {
            return false;
        }
    }
    return r->n > 0;
}

/* Numbers of the user may name each model piece anew. Where they fit no order of chunks they are of no use. */
static bool resolve_user(ps_rank_labels *r, ps_diag *diag) {
    ps_label_steps found;
    if (!ps_label_steps_find(r->ops, r->n, !r->has_windows, true, &found)) {
        return false;
    }
    r->n_chunks = found.n_chunks;
    ps_diag_count(diag, PS_ODD_STEP_CUT, found.is_cut && !found.is_broken);
    if (found.is_broken) {
        ps_diag_count(diag, PS_ODD_LABEL_NUMBERS, 1);
        r->is_numbered = false;
        for (size_t i = 0; i < r->n; i++) {
            r->ops[i].label.stage = -1;
            r->ops[i].label.stage2 = -1;
            r->ops[i].mark.step = r->has_windows ? r->ops[i].mark.step : 0;
        }
    }
    return true;
}

/* Windows stay. Whether labels stand twice in all of them is told to the one who sees all ranks. */
static bool resolve_labels(ps_rank_labels *r, ps_diag *diag) {
    ps_label_steps found;
    size_t n_dropped = 0;
    if ((r->has_windows && !ps_label_steps_drop_evaluations(r->ops, &r->n, &n_dropped)) ||
        !ps_label_steps_find(r->ops, r->n, !r->has_windows, false, &found)) {
        return false;
    }
    ps_diag_count(diag, PS_ODD_EVALUATION, n_dropped);
    r->n_twice = found.n_twice;
    r->is_always_twice = found.n_steps > 0 && found.n_steps_twice == found.n_steps;
    ps_diag_count(diag, PS_ODD_STEP_CUT, found.is_cut);
    return true;
}

static bool resolve_steps(const ps_trace *trace, ps_rank_labels *r, ps_diag *diag) {
    bool own = r->source == PS_LABELS_JOB && has_steps(r);
    bool windows = false;
    if (!own && !by_windows(trace, r, &windows)) {
        return false;
    }
    for (size_t i = 0; !own && !windows && i < r->n; i++) {
        r->ops[i].mark.step = 0;
    }
    if (r->source == PS_LABELS_FLOWS && !number_inferred(r)) {
        return false;
    }
    if (windows || r->source == PS_LABELS_FLOWS) {
        drop_outside(r, diag);
    }
    r->has_windows = own || windows;
    r->is_numbered = is_numbered(r);
    if (!r->is_numbered || r->source == PS_LABELS_FLOWS) {
        return true;
    }
    return r->source == PS_LABELS_USER ? resolve_user(r, diag) : resolve_labels(r, diag);
}

bool ps_rank_labels_split(ps_rank_labels *r) {
    ps_label_steps found;
    ps_sort(r->ops, r->n, sizeof *r->ops, by_host);
    bool ok = ps_label_steps_find(r->ops, r->n, true, false, &found);
    ps_sort(r->ops, r->n, sizeof *r->ops, by_device);
    r->n_twice = 0;
    return ok;
}

/* --- all together -------------------------------------------------------------------------------------------- */

static ps_code read_frameworks(const ps_map_input *in, ps_rank_labels *out, ps_err *err) {
    bool any_job = false;
    bool are_exact = false;
    ps_code code = ps_host_labels_say_stages(in->trace, &are_exact, err);
    out->are_marks = are_exact;
    if (code == PS_OK && !are_exact) {
        code = read_marks(in->trace, in->opts, out, in->diag, err);
    }
    if (code == PS_OK && out->source == PS_LABELS_NONE) {
        code = read_ranges(in, NULL, out, err);
    }
    if (code == PS_OK && out->source == PS_LABELS_NONE) {
        out->n = 0;
        code = ps_jobs_collect(in->trace, out, &any_job) ? PS_OK : ps_fail_nomem(err);
        out->source = any_job ? PS_LABELS_JOB : PS_LABELS_NONE;
        out->host_times = out->host_times && !any_job; /* a job's times are the device's */
    }
    if (code == PS_OK && out->source == PS_LABELS_NONE) {
        out->n = 0;
        code = read_flows(in, out, err);
    }
    return code;
}

/* Stages of a pipeline that is replicated run under DistributedDataParallel, too: those send and receive. */
static bool is_replica(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    bool is_it = !ps_str_is_none(ps_trace_find_text(trace, "DistributedDataParallel.forward"));
    for (uint32_t i = 0; is_it && i < s->n; i++) {
        const char *name = ps_trace_text(trace, s->name[i]);
        bool is_device = s->kind[i] == PS_SLICE_COMM_KERNEL || s->kind[i] == PS_SLICE_COMM_OP;
        bool is_comm = is_device || ps_comm_is_library_call(name);
        is_it = !is_comm || !ps_comm_is_p2p(ps_comm_of_name(name));
    }
    return is_it;
}

ps_code ps_rank_labels_read(const ps_map_input *in, ps_rank_labels *out, ps_err *err) {
    const ps_trace *trace = in->trace;
    *out = (ps_rank_labels){.source = PS_LABELS_NONE};
    ps_arena_init(&out->arena);
    out->host_times = !ps_trace_has_device(trace) || ps_trace_has_host_times(trace);
    out->is_replica = is_replica(trace);
    ps_code code = PS_OK;
    if (ps_label_rules_given(in->opts)) {
        ps_label_rules rules;
        code = ps_label_rules_init(&rules, in->opts, err);
        code = code == PS_OK ? read_ranges(in, &rules, out, err) : code;
        ps_label_rules_fini(&rules);
    } else {
        code = read_frameworks(in, out, err);
    }
    if (code == PS_OK && out->is_merged) { /* ops of nobody that can be told */
        out->source = PS_LABELS_NONE;
        out->n = 0;
    }
    if (code != PS_OK || out->source == PS_LABELS_NONE) {
        return code;
    }
    if (out->source != PS_LABELS_MARKS) {
        if (out->n > 1) {
            qsort(out->ops, out->n, sizeof *out->ops, by_host);
        }
        if (!resolve_steps(trace, out, in->diag)) {
            return ps_fail_nomem(err);
        }
    }
    ps_shrink(&out->ops, &out->cap, out->n, sizeof *out->ops);
    ps_sort(out->ops, out->n, sizeof *out->ops, by_device);
    return PS_OK;
}

void ps_rank_labels_fini(ps_rank_labels *labels) {
    ps_free(labels->ops);
    ps_free(labels->parts);
    ps_arena_fini(&labels->arena);
    *labels = (ps_rank_labels){.source = PS_LABELS_NONE};
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

static void labelled_archive(ps_archive *a, void *labelled) {
    ps_labelled *x = labelled;
    ps_mark_archive(a, &x->mark);
    PS_ARCHIVE(a, x, label.family, label.stage, label.microbatch, label.stage2, label.microbatch2,
               label.layer_f, label.layer_b, label.action, label.second, name, work_ns, first_part,
               n_parts, is_empty);
    PS_ARCHIVE_BELOW(a, x, label.kind, PS_N_OP_KINDS);
}

void ps_rank_labels_archive(ps_archive *a, void *labels) {
    ps_rank_labels *x = labels;
    ps_arena *before = ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE_BELOW(a, x, source, PS_LABELS_NONE + 1);
    PS_ARCHIVE_ARRAY(a, x, ops, n, labelled_archive);
    PS_ARCHIVE_ARRAY(a, x, parts, n_parts, ps_given_part_archive);
    (void)ps_archive_use_arena(a, before);
    PS_ARCHIVE(a, x, host_times, is_numbered, has_windows, is_always_twice, n_twice, is_merged,
               n_twice_run, n_chunks, trimmed.n_labels, trimmed.labelled_ns, trimmed.trimmed_ns,
               n_untrimmed, n_narrow, are_marks, is_replica, has_i, has_w, has_bw);
}
