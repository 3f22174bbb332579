/* memory_operators: what operators allocated, and when it was given back. From OP_MEMORY or operator_memory.csv of Ascend;
 * else from the [memory] events of PyTorch, where an allocation and the next release of its address are a pair. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/memory_held.h"
#include "base/alloc.h"
#include "base/num.h"

enum {
    C_SLICE,
    C_NAME,
    C_SIZE,
    C_START,
    C_RELEASE,
    C_ACTIVE_RELEASE,
    C_DURATION,
    C_ACTIVE_DURATION,
    C_ALLOCATED_AT,
    C_RESERVED_AT,
    C_ACTIVE_AT,
    C_ALLOCATED_END,
    C_RESERVED_END,
    C_ACTIVE_END,
    C_STREAM,
    C_DEVICE,
    N_COLUMNS
};
#define NS(text)                                                                                   \
    { .name = (text), .type = PS_COL_INT, .unit = PS_UNIT_NS }
#define BYTES(text)                                                                                \
    { .name = (text), .type = PS_COL_INT, .unit = PS_UNIT_BYTES }
static const ps_column COLUMNS[N_COLUMNS] = {
    [C_SLICE] = {.name = "slice", .type = PS_COL_INT},
    [C_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [C_SIZE] = BYTES("size"),
    [C_START] = NS("start"),
    [C_RELEASE] = NS("release"),
    [C_ACTIVE_RELEASE] = NS("active release"),
    [C_DURATION] = NS("duration"),
    [C_ACTIVE_DURATION] = NS("active duration"),
    [C_ALLOCATED_AT] = BYTES("allocated at start"),
    [C_RESERVED_AT] = BYTES("reserved at start"),
    [C_ACTIVE_AT] = BYTES("active at start"),
    [C_ALLOCATED_END] = BYTES("allocated at release"),
    [C_RESERVED_END] = BYTES("reserved at release"),
    [C_ACTIVE_END] = BYTES("active at release"),
    [C_STREAM] = {.name = "stream", .type = PS_COL_TEXT},
    [C_DEVICE] = {.name = "device", .type = PS_COL_INT},
};

/* --- which ones are listed -------------------------------------------------------------------------------------------------- */

typedef struct wanted {
    const ps_view_input *in;
    bool is_held; /* else what allocates or releases within the span */
    ps_memory_moments moments;
} wanted;

static ps_code read_wanted(const ps_view_input *in, wanted *out, ps_err *err) {
    const char *which = ps_view_param_of(in, &ps_view_memory_operators, "which", err);
    *out = (wanted){.in = in, .is_held = which != NULL && strcmp(which, "held") == 0};
    return which == NULL  ? err->code
           : out->is_held ? ps_memory_moments_read(in, &out->moments, err)
                          : PS_OK;
}

/* Times that are not in the capture are PS_UNKNOWN_INT. Without any it changes in every span. */
static bool is_wanted(const wanted *w, int64_t device, int64_t start_ns, int64_t release_ns) {
    if (w->is_held) {
        return ps_memory_is_held(start_ns, release_ns,
                                 ps_memory_moment_of(&w->moments, device).time_ns);
    }
    bool is_start = start_ns != PS_UNKNOWN_INT;
    bool is_release = release_ns != PS_UNKNOWN_INT;
    return (!is_start && !is_release) || (is_start && ps_view_touches(w->in, start_ns, 0)) ||
           (is_release && ps_view_touches(w->in, release_ns, 0));
}

/* --- the operator in the timeline ------------------------------------------------------------------------------------------ */

/* Operators of the host by name, then start. */
typedef struct op_index {
    const ps_trace *trace;
    const ps_slices *s;
    uint32_t *at;
    size_t n, cap;
} op_index;

static int by_memory_op_name(const void *a, const void *b, void *context) {
    const op_index *x = context;
    uint32_t p = *(const uint32_t *)a;
    uint32_t q = *(const uint32_t *)b;
    if (x->s->name[p].id != x->s->name[q].id) {
        return x->s->name[p].id < x->s->name[q].id ? -1 : 1;
    }
    return p < q ? -1 : p > q; /* rows are by start */
}

static bool index_ops(op_index *x, const ps_trace *trace) {
    *x = (op_index){.trace = trace, .s = ps_trace_slices(trace)};
    for (uint32_t i = 0; i < x->s->n; i++) {
        if (x->s->kind[i] == PS_SLICE_HOST_OP || x->s->kind[i] == PS_SLICE_ANNOTATION) {
            if (!ps_grow(&x->at, &x->cap, x->n + 1, UINT32_MAX, sizeof *x->at)) {
                return false;
            }
            x->at[x->n++] = i;
        }
    }
    if (x->n > 1) {
        qsort_r(x->at, x->n, sizeof *x->at, by_memory_op_name, x);
    }
    return true;
}

/* The last one of that name that began before; it must still run. */
static uint32_t find_op(const op_index *x, const char *name, int64_t time_ns) {
    ps_str id = ps_trace_find_text(x->trace, name);
    size_t low = 0;
    size_t high = x->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t op = x->at[middle];
        bool is_before = x->s->name[op].id < id.id ||
                         (x->s->name[op].id == id.id && x->s->start_ns[op] <= time_ns);
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    uint32_t found = low > 0 ? x->at[low - 1] : PS_NONE;
    bool holds = found != PS_NONE && !ps_str_is_none(id) && ps_str_eq(x->s->name[found], id) &&
                 x->s->start_ns[found] + x->s->dur_ns[found] >= time_ns;
    return holds ? found : PS_NONE;
}

/* --- tables of Ascend -------------------------------------------------------------------------------------------------------- */

static const struct {
    int column;
    const char *names[3];
} TIMES[] =
    {
        {C_START, {"allocationTime", "Allocation Time", NULL}},
        {C_RELEASE, {"releaseTime", "Release Time", NULL}},
        {C_ACTIVE_RELEASE, {"activeReleaseTime", "Active Release Time", NULL}},
},
  FIGURES[] = {
      {C_SIZE, {"size", "Size(KB)", NULL}},
      {C_DURATION, {"duration", "Duration", NULL}},
      {C_ACTIVE_DURATION, {"activeDuration", "Active Duration", NULL}},
      {C_ALLOCATED_AT, {"allocationTotalAllocated", "Allocation Total Allocated(MB)", NULL}},
      {C_RESERVED_AT, {"allocationTotalReserved", "Allocation Total Reserved(MB)", NULL}},
      {C_ACTIVE_AT, {"allocationTotalActive", "Allocation Total Active(MB)", NULL}},
      {C_ALLOCATED_END, {"releaseTotalAllocated", "Release Total Allocated(MB)", NULL}},
      {C_RESERVED_END, {"releaseTotalReserved", "Release Total Reserved(MB)", NULL}},
      {C_ACTIVE_END, {"releaseTotalActive", "Release Total Active(MB)", NULL}},
};
enum { N_TIMES = sizeof TIMES / sizeof *TIMES, N_FIGURES = sizeof FIGURES / sizeof *FIGURES };

typedef struct source {
    const ps_table *t;
    ps_memory_column name, stream, device, times[N_TIMES], figures[N_FIGURES];
} source;

static bool find_source(const ps_trace *trace, source *x) {
    x->t = ps_trace_side_table(trace, "OP_MEMORY");
    x->t = x->t != NULL ? x->t : ps_trace_side_table(trace, "operator_memory");
    if (x->t == NULL) {
        return false;
    }
    x->name = ps_memory_find(x->t, (const char *const[]){"name", "Name", NULL});
    x->stream = ps_memory_find(x->t, (const char *const[]){"streamPtr", "Stream Ptr", NULL});
    x->device = ps_memory_find(x->t, (const char *const[]){"deviceId", "Device Type", NULL});
    for (size_t i = 0; i < N_TIMES; i++) {
        x->times[i] = ps_memory_find(x->t, TIMES[i].names);
    }
    for (size_t i = 0; i < N_FIGURES; i++) {
        x->figures[i] = ps_memory_find(x->t, FIGURES[i].names);
    }
    return true;
}

static bool is_row_wanted(const wanted *w, const source *x, size_t row, int64_t origin_ns) {
    int64_t times[2]; /* the first two of TIMES */
    for (size_t i = 0; i < 2; i++) {
        int64_t time = 0;
        times[i] = ps_memory_int(x->t, row, &x->times[i], &time) ? ps_i64_minus(time, origin_ns)
                                                                 : PS_UNKNOWN_INT;
    }
    return is_wanted(w, ps_memory_device(x->t, row, &x->device), times[0], times[1]);
}

static bool put_memory_op_row(const source *x, size_t row, int64_t origin_ns, const op_index *ops,
                              ps_table *t) {
    const char *name = ps_memory_text(x->t, row, &x->name);
    int64_t number = 0;
    if (!ps_table_add_row(t) || (name != NULL && !ps_table_set_text(t, C_NAME, name))) {
        return false;
    }
    for (size_t i = 0; i < N_TIMES; i++) {
        if (ps_memory_int(x->t, row, &x->times[i], &number)) {
            int64_t time = ps_i64_minus(number, origin_ns);
            uint32_t op = i == 0 && name != NULL ? find_op(ops, name, time) : PS_NONE;
            ps_table_set_int(t, (size_t)TIMES[i].column, time);
            if (op != PS_NONE) {
                ps_table_set_int(t, C_SLICE, op);
            }
        }
    }
    for (size_t i = 0; i < N_FIGURES; i++) {
        double value = 0;
        if (ps_memory_real(x->t, row, &x->figures[i], &value) && value < 9e18 && value > -9e18) {
            ps_table_set_int(t, (size_t)FIGURES[i].column,
                             (int64_t)(value + (value < 0 ? -0.5 : 0.5)));
        }
    }
    if (ps_memory_int(x->t, row, &x->stream, &number)) {
        char text[32];
        (void)snprintf(text, sizeof text, "%lld", (long long)number);
        if (!ps_table_set_text(t, C_STREAM, text)) {
            return false;
        }
    }
    number = ps_memory_device(x->t, row, &x->device);
    if (number >= 0) {
        ps_table_set_int(t, C_DEVICE, number);
    }
    return true;
}

static bool put_memory_op_table(const wanted *w, const source *x, ps_table *t) {
    op_index ops;
    int64_t origin = ps_trace_origin_ns(w->in->trace);
    bool ok = index_ops(&ops, w->in->trace);
    for (size_t row = 0; ok && row < x->t->n_rows; row++) {
        ok = !is_row_wanted(w, x, row, origin) || put_memory_op_row(x, row, origin, &ops, t);
    }
    ps_free(ops.at);
    return ok;
}

/* --- events of PyTorch ------------------------------------------------------------------------------------------------------- */

typedef struct block {
    ps_memory_event alloc, release;
    uint32_t alloc_slice, release_slice; /* PS_NONE: not in the capture */
} block;

typedef struct blocks {
    block *at;
    size_t n, cap;
    ps_idmap open; /* hash of device and address -> block */
} blocks;

static bool add_block(blocks *b, block new) {
    if (!ps_grow(&b->at, &b->cap, b->n + 1, UINT32_MAX - 1, sizeof *b->at)) {
        return false;
    }
    b->at[b->n++] = new;
    return true;
}

static bool take_memory_op_event(blocks *b, const ps_memory_event *e, uint32_t slice) {
    uint64_t place = (uint64_t)e->address ^ (e->is_cpu ? 0 : (uint64_t)e->device + 1) << 58;
    uint32_t open = ps_idmap_get(&b->open, place);
    if (e->bytes >= 0) {
        return add_block(b, (block){.alloc = *e, .alloc_slice = slice, .release_slice = PS_NONE}) &&
               (e->address < 0 || ps_idmap_put(&b->open, place, (uint32_t)(b->n - 1)));
    }
    bool is_open = e->address >= 0 && open != PS_IDMAP_NONE && b->at[open].alloc_slice != PS_NONE &&
                   b->at[open].release_slice == PS_NONE;
    if (is_open) {
        b->at[open].release = *e;
        b->at[open].release_slice = slice;
        return true;
    }
    return add_block(b, (block){.release = *e, .alloc_slice = PS_NONE, .release_slice = slice});
}

static void put_bytes(ps_table *t, size_t column, int64_t bytes) {
    if (bytes >= 0) {
        ps_table_set_int(t, column, bytes);
    }
}

static bool put_block(const ps_view_input *in, const block *b, ps_table *t) {
    const ps_slices *s = ps_trace_slices(in->trace);
    uint32_t event = b->alloc_slice != PS_NONE ? b->alloc_slice : b->release_slice;
    const ps_memory_event *e = b->alloc_slice != PS_NONE ? &b->alloc : &b->release;
    uint32_t op = in->links->op[event] != PS_NONE ? in->links->op[event] : in->links->parent[event];
    const char *name = op != PS_NONE ? ps_trace_text(in->trace, s->name[op]) : "[memory]";
    if (!ps_table_add_row(t) || !ps_table_set_text(t, C_NAME, name)) {
        return false;
    }
    ps_table_set_int(t, C_SLICE, op != PS_NONE ? op : event);
    ps_table_set_int(t, C_SIZE, e->bytes < 0 ? ps_i64_minus(0, e->bytes) : e->bytes);
    if (b->alloc_slice != PS_NONE) {
        ps_table_set_int(t, C_START, s->start_ns[b->alloc_slice]);
        put_bytes(t, C_ALLOCATED_AT, b->alloc.allocated);
        put_bytes(t, C_RESERVED_AT, b->alloc.reserved);
    }
    if (b->release_slice != PS_NONE) {
        ps_table_set_int(t, C_RELEASE, s->start_ns[b->release_slice]);
        put_bytes(t, C_ALLOCATED_END, b->release.allocated);
        put_bytes(t, C_RESERVED_END, b->release.reserved);
    }
    if (b->alloc_slice != PS_NONE && b->release_slice != PS_NONE) {
        ps_table_set_int(t, C_DURATION,
                         s->start_ns[b->release_slice] - s->start_ns[b->alloc_slice]);
    }
    if (!e->is_cpu && e->device >= 0) {
        ps_table_set_int(t, C_DEVICE, e->device);
    }
    return true;
}

static bool is_block_wanted(const wanted *w, const block *b) {
    const ps_slices *s = ps_trace_slices(w->in->trace);
    const ps_memory_event *e = b->alloc_slice != PS_NONE ? &b->alloc : &b->release;
    int64_t times[2];
    uint32_t ends[2] = {b->alloc_slice, b->release_slice};
    for (size_t k = 0; k < 2; k++) {
        times[k] = ends[k] != PS_NONE ? s->start_ns[ends[k]] : PS_UNKNOWN_INT;
    }
    return is_wanted(w, e->is_cpu ? -1 : e->device, times[0], times[1]);
}

static bool put_events(const wanted *w, ps_table *t, bool *any) {
    const ps_view_input *in = w->in;
    const ps_slices *s = ps_trace_slices(in->trace);
    ps_str name = ps_trace_find_text(in->trace, "[memory]");
    blocks b = {0};
    ps_idmap_init(&b.open);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ps_memory_event e;
        ok = !ps_memory_event_read(in->trace, name, i, &e) || take_memory_op_event(&b, &e, i);
    }
    *any = b.n > 0;
    for (size_t i = 0; ok && i < b.n; i++) {
        ok = !is_block_wanted(w, &b.at[i]) || put_block(in, &b.at[i], t);
    }
    ps_free(b.at);
    ps_idmap_fini(&b.open);
    return ok;
}

/* --- the view ------------------------------------------------------------------------------------------------------------------ */

static ps_table *make_memory_op_operators(const ps_view_input *in, ps_err *err) {
    source x;
    wanted w;
    if (read_wanted(in, &w, err) != PS_OK) {
        ps_memory_moments_fini(&w.moments);
        return NULL;
    }
    ps_table *t = ps_table_new("memory_operators", "memory by operator", COLUMNS, N_COLUMNS);
    bool any = find_source(in->trace, &x);
    bool ok = t != NULL && (any ? put_memory_op_table(&w, &x, t) : put_events(&w, t, &any));
    ps_memory_moments_fini(&w.moments);
    if (!ok || !any) {
        ps_table_free(t);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s",
                            PS_SAY(in->lang,
                                   "the profile does not say which operator allocates: record it "
                                   "(profile_memory=True)",
                                   "采集数据未记录由哪个算子申请内存：请在采集时打开 "
                                   "profile_memory=True"))
                  : ps_fail_nomem(err));
        return NULL;
    }
    return t;
}

static const ps_view_param PARAMS[] = {PS_MEMORY_WHICH};

const ps_view ps_view_memory_operators = {.name = "memory_operators",
                                          .title = "Memory by operator",
                                          .tab = PS_TAB_MEMORY,
                                          .uses = PS_VIEW_LINKS,
                                          .params = PARAMS,
                                          .n_params = sizeof PARAMS / sizeof *PARAMS,
                                          .make = make_memory_op_operators};
