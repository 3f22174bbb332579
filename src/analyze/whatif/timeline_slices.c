/* The ops of a worker where its timeline was converted (pipescope convert): the file's own rows are gone, its slices name all that
 * was in them. */
#include "analyze/whatif/timeline_slices.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

typedef struct slice_op {
    int64_t step;
    ps_worker_row row;
} slice_op;

typedef struct slice_ops {
    slice_op *at;
    size_t n, cap;
    ps_str step, microbatch, chunk, order;
} slice_ops;

static const ps_sort_key BY_STEP[] = {PS_UP(slice_op, step), PS_UP(slice_op, row.row)};

static int32_t number_within(int64_t value, int64_t most, int32_t unknown) {
    return value >= -1 && value <= most ? (int32_t)value : unknown;
}

static slice_op read_slice_op(const slice_ops *all, const ps_trace *trace, uint32_t slice,
                              ps_worker_op what) {
    const ps_slices *s = ps_trace_slices(trace);
    int64_t dur_ns = s->dur_ns[slice] < PS_ROW_LONGEST_NS ? s->dur_ns[slice] : PS_ROW_LONGEST_NS;
    slice_op op = {.step = INT64_MIN,
                   .row = {.start_ns = ps_trace_origin_ns(trace) + s->start_ns[slice],
                           .dur_low_ns = (uint32_t)dur_ns,
                           .dur_high_ns = (uint16_t)(dur_ns >> 32),
                           .chunk = PS_ROW_NO_CHUNK,
                           .row = slice,
                           .order = PS_ROW_UNKNOWN,
                           .microbatch = PS_ROW_UNKNOWN,
                           .name = (uint32_t)what}};
    ps_arg_iter args = ps_trace_args(trace, slice);
    ps_arg arg;
    while (ps_arg_next(&args, &arg)) {
        if (arg.type != PS_ARG_INT) {
            continue;
        }
        if (ps_str_eq(arg.key, all->step)) {
            op.step = arg.u.i;
        } else if (ps_str_eq(arg.key, all->microbatch)) {
            op.row.microbatch = number_within(arg.u.i, INT32_MAX, PS_ROW_UNKNOWN);
        } else if (ps_str_eq(arg.key, all->chunk)) {
            op.row.chunk = (int16_t)number_within(arg.u.i, INT16_MAX, PS_ROW_NO_CHUNK);
        } else if (ps_str_eq(arg.key, all->order)) {
            op.row.order = number_within(arg.u.i, INT32_MAX, PS_ROW_UNKNOWN);
        }
    }
    return op;
}

static bool collect_slice_ops(slice_ops *all, const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_JOB && s->kind[i] != PS_SLICE_COMM_KERNEL) {
            continue;
        }
        ps_worker_op what = ps_worker_op_find(ps_trace_text(trace, s->name[i]),
                                              ps_trace_text_len(trace, s->name[i]));
        if (what != PS_N_WORKER_OPS) {
            ok = ps_grow(&all->at, &all->cap, all->n + 1, UINT32_MAX - 1, sizeof *all->at);
            if (ok) {
                all->at[all->n++] = read_slice_op(all, trace, i, what);
            }
        }
    }
    return ok;
}

/* One list a step. */
static bool list_slice_ops(const slice_ops *all, ps_arena *arena, ps_worker_ops *out) {
    static const uint8_t OP_OF_NAME[] = {
#define X(op, name, kind) op,
        PS_WORKER_OPS(X)
#undef X
    };
    ps_worker_list *lists = ps_arena_alloc(arena, (all->n + 1) * sizeof *lists);
    size_t n_lists = 0;
    for (size_t i = 0, end = 0; lists != NULL && i < all->n; i = end) {
        while (end < all->n && all->at[end].step == all->at[i].step) {
            end++;
        }
        ps_worker_rows *rows = ps_arena_alloc(arena, sizeof *rows + (end - i) * sizeof rows->at[0]);
        if (rows == NULL) {
            return false;
        }
        *rows = (ps_worker_rows){.n = (uint32_t)(end - i), .cap = (uint32_t)(end - i)};
        for (size_t k = i; k < end; k++) {
            rows->at[k - i] = all->at[k].row;
        }
        lists[n_lists++] =
            (ps_worker_list){.step = all->at[i].step, .first = rows, .n_known = end - i};
    }
    *out = (ps_worker_ops){lists, n_lists, OP_OF_NAME};
    return lists != NULL;
}

bool ps_timeline_ops_of_slices(const ps_trace *trace, ps_arena *arena, ps_worker_ops *out) {
    slice_ops all = {.step = ps_trace_find_text(trace, "step"),
                     .microbatch = ps_trace_find_text(trace, "microbatch"),
                     .chunk = ps_trace_find_text(trace, "chunk"),
                     .order = ps_trace_find_text(trace, "seq_id")};
    bool ok = collect_slice_ops(&all, trace);
    ps_sort_by(all.at, all.n, sizeof *all.at, PS_KEYS(BY_STEP));
    ok = ok && list_slice_ops(&all, arena, out);
    ps_free(all.at);
    return ok;
}
