/* memcpy: copies and fills of memory by direction; memcpy_details: each of them. */
#include <math.h>
#include <string.h>

#include "analyze/rank/copies.h"
#include "analyze/rank/work.h"
#include "analyze/views/view.h"
#include "analyze/views/view_sums.h"
#include "base/alloc.h"
#include "base/num.h"

#define NO_COPIES(lang)                                                                                                  \
    PS_SAY(lang,                                                                                                         \
           "no copies of memory on a device in this span: record its activity (Ascend: "                                 \
           "profiler_level Level2 for sizes and directions; ProfilerActivity.CUDA)",                                     \
           "该时间段内设备上没有内存拷贝：请采集设备活动（Ascend：profiler_level Level2 才有 " \
           "大小与方向；ProfilerActivity.CUDA）")

static bool is_copy_shown(const ps_work *w, const ps_view_input *in, uint32_t i) {
    return ps_is_copy(w, i) && ps_view_touches(in, w->s->start_ns[i], w->s->dur_ns[i]);
}

/* --- by direction ----------------------------------------------------------------------------------------------------------- */

typedef struct sizes {
    const char *direction;
    int64_t n, bytes, min, max, time_ns; /* of those whose size is known, whole */
} sizes;

typedef struct copy_sum_row {
    const char *kind, *direction;
    ps_view_sum sum;
    int64_t bytes, min_bytes, max_bytes;
    double mean_ns, mean_bytes, bytes_per_ns;
} copy_sum_row;

#define NS(text, row, member)                                                                      \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS }
#define BYTES(text, row, member)                                                                   \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_BYTES }
static const ps_column SUM_COLUMNS[] = {
    {.name = "kind", PS_FIELD(copy_sum_row, kind)},
    {.name = "direction", PS_FIELD(copy_sum_row, direction)},
    NS("total", copy_sum_row, sum.sum_ns),
    {.name = "number", PS_FIELD(copy_sum_row, sum.n), .unit = PS_UNIT_COUNT},
    NS("avg", copy_sum_row, mean_ns),
    NS("min", copy_sum_row, sum.min_ns),
    NS("max", copy_sum_row, sum.max_ns),
    BYTES("size", copy_sum_row, bytes),
    BYTES("avg size", copy_sum_row, mean_bytes),
    BYTES("min size", copy_sum_row, min_bytes),
    BYTES("max size", copy_sum_row, max_bytes),
    {.name = "bandwidth", PS_FIELD(copy_sum_row, bytes_per_ns), .unit = PS_UNIT_GB_PER_S},
};

typedef struct copy_sums {
    ps_view_sums times;
    sizes *sizes; /* by row of `times` */
    size_t n, cap;
} copy_sums;

static bool count_copy(copy_sums *c, const ps_copy *copy, int64_t inside_ns, int64_t dur_ns) {
    const ps_str keys[PS_VIEW_KEYS] = {copy->kind};
    int64_t bytes = copy->bytes;
    const ps_view_sum *row = ps_view_sums_add(&c->times, keys, inside_ns);
    if (row == NULL || !ps_grow(&c->sizes, &c->cap, c->times.n, UINT32_MAX, sizeof *c->sizes)) {
        return false;
    }
    while (c->n < c->times.n) {
        c->sizes[c->n++] = (sizes){.direction = copy->direction};
    }
    sizes *s = &c->sizes[row - c->times.at];
    if (bytes >= 0) {
        s->min = s->n == 0 || bytes < s->min ? bytes : s->min;
        s->max = bytes > s->max ? bytes : s->max;
        s->bytes = ps_i64_plus(s->bytes, bytes);
        s->time_ns = ps_i64_plus(s->time_ns, dur_ns);
        s->n++;
    }
    return true;
}

static bool count_all(copy_sums *c, const ps_view_input *in) {
    const ps_slices *s = ps_trace_slices(in->trace);
    ps_copy_keys keys = ps_copy_keys_of(in->trace);
    ps_work work = ps_work_of(in->links);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n && s->start_ns[i] < in->to_ns; i++) {
        if (is_copy_shown(&work, in, i)) {
            int64_t inside_ns =
                ps_view_inside_ns(in, s->start_ns[i], s->start_ns[i] + s->dur_ns[i]);
            ps_copy copy = ps_copy_read(in->trace, &keys, i);
            ok = count_copy(c, &copy, inside_ns, s->dur_ns[i]);
        }
    }
    return ok;
}

static void put_copy_sum(ps_table *t, const ps_trace *trace, const ps_view_sum *r, const sizes *s) {
    const char *kind = ps_trace_text(trace, r->keys[0]);
    bool is_known = s->n > 0;
    ps_table_put(t,
                 &(copy_sum_row){.kind = kind,
                                 .direction = s->direction != NULL ? s->direction : kind,
                                 .sum = *r,
                                 .mean_ns = (double)r->sum_ns / (double)r->n,
                                 .bytes = is_known ? s->bytes : PS_UNKNOWN_INT,
                                 .mean_bytes = is_known ? (double)s->bytes / (double)s->n : NAN,
                                 .min_bytes = is_known ? s->min : PS_UNKNOWN_INT,
                                 .max_bytes = is_known ? s->max : PS_UNKNOWN_INT,
                                 .bytes_per_ns =
                                     s->time_ns > 0 ? (double)s->bytes / (double)s->time_ns : NAN});
}

static ps_table *make_memcpy(const ps_view_input *in, ps_err *err) {
    copy_sums c = {0};
    ps_table *t = count_all(&c, in)
                      ? ps_table_new("memcpy", "copies of memory by kind", PS_COLUMNS(SUM_COLUMNS))
                      : NULL;
    bool any = c.times.n > 0;
    for (size_t i = 0; t != NULL && i < c.times.n; i++) {
        put_copy_sum(t, in->trace, &c.times.at[i], &c.sizes[i]);
    }
    ps_view_sums_fini(&c.times);
    ps_free(c.sizes);
    return ps_view_end(t, any, NO_COPIES(in->lang), err);
}

const ps_view ps_view_memcpy = {.name = "memcpy",
                                .title = "Copies of memory",
                                .tab = PS_TAB_TIMELINE,
                                .uses = PS_VIEW_LINKS,
                                .make = make_memcpy};

/* --- each ---------------------------------------------------------------------------------------------------------------------- */

typedef struct copy_row {
    uint32_t slice;
    const char *kind, *direction;
    int64_t start_ns, dur_ns, bytes, device, stream;
    double bytes_per_ns;
} copy_row;

static const ps_column COLUMNS[] = {
    {.name = "slice", PS_FIELD(copy_row, slice)},
    {.name = "kind", PS_FIELD(copy_row, kind)},
    {.name = "direction", PS_FIELD(copy_row, direction)},
    NS("start", copy_row, start_ns),
    NS("duration", copy_row, dur_ns),
    {.name = "size", PS_FIELD(copy_row, bytes), .unit = PS_UNIT_BYTES, .unknown_below_zero = true},
    {.name = "bandwidth", PS_FIELD(copy_row, bytes_per_ns), .unit = PS_UNIT_GB_PER_S},
    {.name = "device", PS_FIELD(copy_row, device), .unknown_below_zero = true},
    {.name = "stream", PS_FIELD(copy_row, stream), .unknown_below_zero = true},
};

typedef struct copies {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    ps_copy_keys keys;
    ps_slice_list list;
} copies;

static void free_copies(void *context) {
    copies *c = context;
    if (c != NULL) {
        ps_free(c->list.at);
        ps_free(c);
    }
}

static void fill_copy(const void *context, size_t at, void *out) {
    const copies *c = context;
    uint32_t slice = c->list.at[at];
    const ps_track *track = &c->tracks[c->s->track[slice]];
    ps_copy copy = ps_copy_read(c->trace, &c->keys, slice);
    const char *kind = ps_trace_text(c->trace, copy.kind);
    int64_t dur_ns = c->s->dur_ns[slice];
    copy_row *row = out;
    *row = (copy_row){
        .slice = slice,
        .kind = ps_text_or_null(kind),
        .direction = ps_text_or_null(copy.direction != NULL ? copy.direction : kind),
        .start_ns = c->s->start_ns[slice],
        .dur_ns = dur_ns,
        .bytes = copy.bytes,
        .bytes_per_ns = copy.bytes >= 0 && dur_ns > 0 ? (double)copy.bytes / (double)dur_ns : NAN,
        .device = track->device,
        .stream = track->kind == PS_TRACK_STREAM ? track->tid : -1,
    };
}

static ps_table *make_memcpy_details(const ps_view_input *in, ps_err *err) {
    copies *c = ps_calloc(1, sizeof *c);
    bool ok = c != NULL;
    if (ok) {
        size_t n = 0;
        ps_work work = ps_work_of(in->links);
        *c = (copies){.trace = in->trace,
                      .s = ps_trace_slices(in->trace),
                      .tracks = ps_trace_tracks(in->trace, &n),
                      .keys = ps_copy_keys_of(in->trace)};
        for (uint32_t i = 0; ok && i < c->s->n && c->s->start_ns[i] < in->to_ns; i++) {
            ok = !is_copy_shown(&work, in, i) || ps_slice_list_add(&c->list, i);
        }
    }
    if (!ok || c->list.n == 0) {
        free_copies(c);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", NO_COPIES(in->lang)) : ps_fail_nomem(err));
        return NULL;
    }
    ps_table *t =
        ps_table_new_made("memcpy_details", "copies of memory", PS_COLUMNS(COLUMNS), c->list.n,
                          (ps_row_maker){.fill = fill_copy,
                                         .row_size = sizeof(copy_row),
                                         .context = c,
                                         .free_context = free_copies});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

const ps_view ps_view_memcpy_details = {.name = "memcpy_details",
                                        .title = "Copies of memory, each",
                                        .tab = PS_TAB_TIMELINE,
                                        .uses = PS_VIEW_LINKS | PS_VIEW_ROWS,
                                        .make = make_memcpy_details};
