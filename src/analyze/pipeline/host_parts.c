/* Ranges of the program nest on a thread: one walk with a stack a thread finds what holds each part.
 *
 *   1F1B
 *     attn(F)   dispatch(B)   mlp(B) ...      one op: forward and backward parts, so an overlapped pair */
#include "analyze/pipeline/host_parts.h"

#include <string.h>

#include "analyze/pipeline/project.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/sort.h"

bool ps_host_part_parse(const char *name, ps_op_kind *kind) {
    size_t n = strlen(name);
    if (n < 4 || name[n - 3] != '(' || name[n - 1] != ')' || strcspn(name, "()") != n - 3) {
        return false;
    }
    switch (name[n - 2]) {
    case 'F':
        *kind = PS_OP_F;
        return true;
    case 'B':
        *kind = PS_OP_B;
        return true;
    case 'W':
        *kind = PS_OP_BW;
        return true;
    default:
        return false;
    }
}

/* --- collecting ------------------------------------------------------------------------------------------------- */

typedef struct open_range {
    int64_t end_ns;
    uint32_t slice;
    uint32_t below; /* of the stack, its row + 1; 0 none */
    bool is_part;   /* or lies in one */
} open_range;

typedef struct collecting {
    const ps_trace *trace;
    ps_idmap by_name; /* string id -> 0 no part, 1 + kind */
    open_range *open; /* all that were begun */
    size_t n_open, cap_open;
    uint32_t *top; /* [n_tracks] row in open + 1; 0 none */
    ps_host_parts *out;
} collecting;

/* 0: no part, else 1 + its kind. False when memory is out. */
static bool host_part_class_of(collecting *c, ps_str name, uint32_t *class) {
    *class = ps_idmap_get(&c->by_name, name.id);
    if (*class != PS_IDMAP_NONE) {
        return true;
    }
    ps_op_kind kind = PS_OP_OTHER;
    bool part = ps_host_part_parse(ps_trace_text(c->trace, name), &kind);
    *class = part ? 1 + (uint32_t)kind : 0;
    return ps_idmap_put(&c->by_name, name.id, *class);
}

static bool add_host_part_range(collecting *c, uint32_t i, uint32_t class) {
    const ps_slices *s = ps_trace_slices(c->trace);
    uint32_t *top = &c->top[s->track[i]];
    int64_t end_ns = s->start_ns[i] + s->dur_ns[i];
    while (*top > 0 && c->open[*top - 1].end_ns < end_ns) {
        *top = c->open[*top - 1].below; /* over, or crossing: not around this one */
    }
    const open_range *around = *top > 0 ? &c->open[*top - 1] : NULL;
    bool inside = around != NULL && around->is_part;
    uint32_t holder = around != NULL ? around->slice : PS_NONE;
    if (!ps_grow(&c->open, &c->cap_open, c->n_open + 1, UINT32_MAX - 1, sizeof *c->open)) {
        return false;
    }
    c->open[c->n_open++] = (open_range){end_ns, i, *top, inside || class > 0};
    *top = (uint32_t)c->n_open;
    if (class == 0 || inside) {
        return true;
    }
    ps_host_parts *out = c->out;
    if (!ps_grow(&out->at, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->at)) {
        return false;
    }
    out->at[out->n++] = (ps_host_part){.start_ns = s->start_ns[i],
                                       .end_ns = end_ns,
                                       .slice = i,
                                       .track = s->track[i],
                                       .around = holder,
                                       .kind = (ps_op_kind)(class - 1)};
    return true;
}

bool ps_host_parts_collect(const ps_trace *trace, ps_host_parts *out) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    *out = (ps_host_parts){0};
    collecting c = {.trace = trace, .out = out};
    ps_idmap_init(&c.by_name);
    c.top = ps_calloc(n_tracks, sizeof *c.top);
    bool ok = c.top != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t class = 0;
        bool range = s->kind[i] == PS_SLICE_ANNOTATION || s->kind[i] == PS_SLICE_MARK_HOST;
        if (range && !ps_is_step_mark(trace, i)) {
            ok = host_part_class_of(&c, s->name[i], &class) && add_host_part_range(&c, i, class);
        }
    }
    ps_idmap_fini(&c.by_name);
    ps_free(c.open);
    ps_free(c.top);
    return ok;
}

void ps_host_parts_fini(ps_host_parts *parts) {
    ps_free(parts->at);
    *parts = (ps_host_parts){0};
}

/* --- ops -------------------------------------------------------------------------------------------------------- */

static bool is_host_part_backward(ps_op_kind kind) {
    return kind == PS_OP_B || kind == PS_OP_BI || kind == PS_OP_BW;
}

/* The kind of an op so far with one more part. */
static ps_op_kind kind_with(ps_op_kind kind, ps_op_kind part) {
    if (kind == PS_OP_FB || (kind == PS_OP_F) != (part == PS_OP_F)) {
        return PS_OP_FB;
    }
    return kind == part ? kind : PS_OP_B; /* B and BW together are a whole backward */
}

static const ps_sort_key BY_HOST_PART_START[] = {
    PS_UP(ps_host_range, start_ns), PS_DOWN(ps_host_range, end_ns), PS_UP(ps_host_range, slice)};

static bool add_host_part_op(ps_host_ranges *out, ps_host_range range, ps_op_kind kind) {
    range.label = (ps_host_label){.family = PS_FAMILY_PART,
                                  .kind = kind,
                                  .stage = -1,
                                  .microbatch = -1,
                                  .stage2 = -1,
                                  .microbatch2 = -1,
                                  .layer_f = -1,
                                  .layer_b = -1};
    if (!ps_grow(&out->ranges, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->ranges)) {
        return false;
    }
    out->ranges[out->n++] = range;
    return true;
}

/* One more part of the op of `row`, PS_IDMAP_NONE: of a new one. */
static bool add_host_part(const ps_trace *trace, const ps_host_part *part, uint32_t row,
                          ps_host_ranges *out) {
    if (row != PS_IDMAP_NONE) {
        ps_host_range *op = &out->ranges[row];
        op->label.kind = kind_with(op->label.kind, part->kind);
        op->end_ns = part->end_ns > op->end_ns ? part->end_ns : op->end_ns;
        return true;
    }
    const ps_slices *s = ps_trace_slices(trace);
    uint32_t around = part->around;
    bool held = around != PS_NONE;
    int64_t start_ns = held ? s->start_ns[around] : part->start_ns;
    int64_t end_ns = held ? start_ns + s->dur_ns[around] : part->end_ns;
    return add_host_part_op(out, (ps_host_range){start_ns, end_ns, around, part->track, {0}},
                            part->kind);
}

/* What holds parts may hold, beside them, another range that holds some: the outer one is the op. */
static void drop_inner(ps_host_ranges *r, uint32_t *last, size_t n_tracks) {
    size_t n = 0;
    memset(last, 0, n_tracks * sizeof *last);
    for (size_t i = 0; i < r->n; i++) {
        ps_host_range *range = &r->ranges[i];
        uint32_t row = last[range->track];
        ps_host_range *outer = row > 0 ? &r->ranges[row - 1] : NULL;
        if (outer != NULL && outer->slice != PS_NONE && outer->end_ns >= range->end_ns) {
            outer->label.kind = kind_with(outer->label.kind, range->label.kind);
            continue;
        }
        last[range->track] = (uint32_t)n + 1;
        r->ranges[n++] = *range;
    }
    r->n = n;
}

bool ps_host_parts_ops(const ps_trace *trace, const ps_host_parts *parts, ps_host_ranges *out) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    uint32_t *last = ps_calloc(n_tracks, sizeof *last); /* op of the thread's last part + 1 */
    ps_idmap by_holder;                                 /* slice -> op */
    ps_idmap_init(&by_holder);
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < parts->n; i++) {
        const ps_host_part *part = &parts->at[i];
        uint32_t row = PS_IDMAP_NONE;
        if (part->around != PS_NONE) {
            row = ps_idmap_get(&by_holder, part->around);
        } else if (last[part->track] > 0) {
            const ps_host_range *op = &out->ranges[last[part->track] - 1];
            bool goes_on = op->slice == PS_NONE && is_host_part_backward(op->label.kind) ==
                                                       is_host_part_backward(part->kind);
            row = goes_on ? last[part->track] - 1 : row;
        }
        bool is_new = row == PS_IDMAP_NONE;
        row = is_new ? (uint32_t)out->n : row;
        ok = add_host_part(trace, part, is_new ? PS_IDMAP_NONE : row, out) &&
             (!is_new || part->around == PS_NONE || ps_idmap_put(&by_holder, part->around, row));
        last[part->track] = row + 1;
    }
    ps_idmap_fini(&by_holder);
    if (ok && out->n > 1) {
        ps_sort_by(out->ranges, out->n, sizeof *out->ranges, PS_KEYS(BY_HOST_PART_START));
        drop_inner(out, last, n_tracks);
    }
    ps_free(last);
    out->family = ok && out->n > 0 ? PS_FAMILY_PART : PS_N_FAMILIES;
    return ok;
}
