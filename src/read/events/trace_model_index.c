/* Rows by track in time order: sorted by time over all, then distributed over the tracks. */
#include "base/alloc.h"
#include "base/order.h"
#include "model/trace.h"
#include "model/trace_sort.h"
#include "read/events/trace_model_parts.h"

void ps_track_rows_fini(ps_track_rows *r) {
    ps_free(r->rows);
    ps_free(r->first);
    *r = (ps_track_rows){0};
}

/* Distributes `order` over the tracks. False when memory is out; then nothing is to be freed. */
static bool distribute(ps_track_rows *out, const uint32_t *order, const uint32_t *tracks, size_t n,
                       size_t n_tracks) {
    *out = (ps_track_rows){.n_tracks = (uint32_t)n_tracks};
    out->rows = ps_alloc(n * sizeof *out->rows);
    out->first = ps_calloc(n_tracks + 2, sizeof *out->first);
    if (out->rows == NULL || out->first == NULL) {
        ps_track_rows_fini(out);
        return false;
    }
    /* first[t + 1] moves from the beginning of track t to its end while rows are placed. */
    for (size_t i = 0; i < n; i++) {
        out->first[tracks[i] + 2]++;
    }
    for (size_t t = 0; t < n_tracks; t++) {
        out->first[t + 2] += out->first[t + 1];
    }
    for (size_t i = 0; i < n; i++) {
        out->rows[out->first[tracks[order[i]] + 1]++] = order[i];
    }
    return true;
}

bool ps_track_rows_make(ps_track_rows *out, const int64_t *times, const uint32_t *tracks, size_t n,
                        size_t n_tracks) {
    *out = (ps_track_rows){0};
    uint32_t *by_time = ps_alloc(n * sizeof *by_time);
    bool ok = by_time != NULL && (n == 0 || ps_times_order(times, n, by_time)) &&
              distribute(out, by_time, tracks, n, n_tracks);
    ps_free(by_time);
    return ok;
}

bool ps_model_index(ps_trace_model *m) {
    const uint32_t *order = ps_builder_slice_order(m->builder);
    const ps_slices *s = ps_builder_slices(m->builder);
    size_t n_tracks = 0;
    (void)ps_builder_tracks(m->builder, &n_tracks);
    return order != NULL && distribute(&m->by_track, order, s->track, s->n, n_tracks);
}

uint32_t ps_trace_model_slice_at(const ps_trace_model *m, uint32_t track, int64_t start_ns) {
    const ps_slices *s = ps_builder_slices(m->builder);
    if (track >= m->by_track.n_tracks) {
        return PS_NONE;
    }
    uint32_t end = m->by_track.first[track + 1];
    PS_PLACE(uint32_t, low, m->by_track.first[track], end, i,
             s->start_ns[m->by_track.rows[i]] < start_ns);
    bool found = low < end && s->start_ns[m->by_track.rows[low]] == start_ns;
    return found ? m->by_track.rows[low] : PS_NONE;
}

/* --- open slices ------------------------------------------------------------------------------------- */

bool ps_open_stack_push(ps_open_stack *stack, const ps_slices *s, uint32_t slice, int64_t slack_ns,
                        bool *fits) {
    while (stack->n > 0 && ps_slice_end(s, stack->slices[stack->n - 1]) <= s->start_ns[slice]) {
        stack->n--;
    }
    *fits = stack->n == 0 ||
            ps_slice_end(s, slice) <= ps_slice_end(s, stack->slices[stack->n - 1]) + slack_ns;
    return PS_ADD(stack->slices, stack->n, stack->cap, PS_MODEL_MAX, slice);
}

uint32_t ps_open_stack_at(ps_open_stack *stack, const ps_slices *s, int64_t time_ns) {
    while (stack->n > 0 && ps_slice_end(s, stack->slices[stack->n - 1]) < time_ns) {
        stack->n--;
    }
    return stack->n > 0 ? stack->slices[stack->n - 1] : PS_NONE;
}

static bool count_overlaps(ps_trace_model *m, ps_open_stack *stack, uint32_t track) {
    const ps_slices *s = ps_builder_slices(m->builder);
    stack->n = 0;
    for (uint32_t i = m->by_track.first[track]; i < m->by_track.first[track + 1]; i++) {
        uint32_t slice = m->by_track.rows[i];
        bool fits = true;
        ps_model_prefetch(s, m->by_track.rows, i, m->by_track.first[track + 1]);
        if (!ps_open_stack_push(stack, s, slice, m->dialect.overlap_slack_ns, &fits)) {
            return false;
        }
        if (!fits) {
            ps_diag_add(m->diag, PS_ODD_NOT_NESTED, "event %lld: %s",
                        (long long)s->source_row[slice],
                        ps_builder_text(m->builder, s->name[slice]));
        }
    }
    return true;
}

bool ps_model_count_overlaps(ps_trace_model *m) {
    size_t n = 0;
    const ps_track *tracks = ps_builder_tracks(m->builder, &n);
    ps_open_stack stack = {0};
    bool ok = true;
    for (uint32_t t = 0; ok && t < n; t++) {
        ok = tracks[t].kind != PS_TRACK_HOST_THREAD || count_overlaps(m, &stack, t);
    }
    ps_free(stack.slices);
    return ok;
}
