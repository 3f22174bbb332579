/* memcpy: copies and fills of memory by direction; memcpy_details: each of them. */
#include <string.h>

#include "analyze/rank/copies.h"
#include "analyze/rank/work.h"
#include "analyze/views/view.h"
#include "analyze/views/view_sums.h"
#include "base/alloc.h"
#include "base/num.h"

static const char NO_COPIES[] =
    "no copies of memory on a device in this span: record its activity (Ascend: profiler_level Level2 for sizes "
    "and directions; ProfilerActivity.CUDA)";

static bool is_copy_shown(const ps_work *w, const ps_view_input *in, uint32_t i) {
    return ps_is_copy(w, i) && ps_view_touches(in, w->s->start_ns[i], w->s->dur_ns[i]);
}

/* --- by direction ----------------------------------------------------------------------------------------------------------- */

enum {
    S_KIND,
    S_DIRECTION,
    S_TOTAL,
    S_NUMBER,
    S_AVG,
    S_MIN,
    S_MAX,
    S_BYTES,
    S_AVG_BYTES,
    S_MIN_BYTES,
    S_MAX_BYTES,
    S_RATE,
    N_SUM_COLUMNS
};
static const ps_column SUM_COLUMNS[N_SUM_COLUMNS] = {
    [S_KIND] = {.name = "kind", .type = PS_COL_TEXT},
    [S_DIRECTION] = {.name = "direction", .type = PS_COL_TEXT},
    [S_TOTAL] = {.name = "total", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_NUMBER] = {.name = "number", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [S_AVG] = {.name = "avg", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    [S_MIN] = {.name = "min", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_MAX] = {.name = "max", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_BYTES] = {.name = "size", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [S_AVG_BYTES] = {.name = "avg size", .type = PS_COL_REAL, .unit = PS_UNIT_BYTES},
    [S_MIN_BYTES] = {.name = "min size", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [S_MAX_BYTES] = {.name = "max size", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [S_RATE] = {.name = "bandwidth", .type = PS_COL_REAL, .unit = PS_UNIT_GB_PER_S},
};

typedef struct sizes {
    const char *direction;
    int64_t n, bytes, min, max, time_ns; /* of those whose size is known, whole */
} sizes;

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

static bool put_copy_sum(ps_table *t, const ps_trace *trace, const ps_view_sum *r, const sizes *s) {
    const char *kind = ps_trace_text(trace, r->keys[0]);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, S_KIND, kind) ||
        !ps_table_set_text(t, S_DIRECTION, s->direction != NULL ? s->direction : kind)) {
        return false;
    }
    ps_table_set_int(t, S_TOTAL, r->sum_ns);
    ps_table_set_int(t, S_NUMBER, r->n);
    ps_table_set_real(t, S_AVG, (double)r->sum_ns / (double)r->n);
    ps_table_set_int(t, S_MIN, r->min_ns);
    ps_table_set_int(t, S_MAX, r->max_ns);
    if (s->n > 0) {
        ps_table_set_int(t, S_BYTES, s->bytes);
        ps_table_set_real(t, S_AVG_BYTES, (double)s->bytes / (double)s->n);
        ps_table_set_int(t, S_MIN_BYTES, s->min);
        ps_table_set_int(t, S_MAX_BYTES, s->max);
    }
    if (s->time_ns > 0) {
        ps_table_set_real(t, S_RATE, (double)s->bytes / (double)s->time_ns);
    }
    return true;
}

static ps_table *make_memcpy(const ps_view_input *in, ps_err *err) {
    copy_sums c = {0};
    bool ok = count_all(&c, in);
    ps_table *t = ok && c.times.n > 0 ? ps_table_new("memcpy", "copies of memory by kind",
                                                     SUM_COLUMNS, N_SUM_COLUMNS)
                                      : NULL;
    bool any = !ok || c.times.n > 0;
    ok = t != NULL;
    for (size_t i = 0; ok && i < c.times.n; i++) {
        ok = put_copy_sum(t, in->trace, &c.times.at[i], &c.sizes[i]);
    }
    ps_view_sums_fini(&c.times);
    ps_free(c.sizes);
    if (!ok) {
        ps_table_free(t);
        (void)(any ? ps_fail_nomem(err) : ps_fail(err, PS_NOTHING, "%s", NO_COPIES));
        return NULL;
    }
    return t;
}

const ps_view ps_view_memcpy = {.name = "memcpy",
                                .title = "Copies of memory",
                                .tab = PS_TAB_TIMELINE,
                                .uses = PS_VIEW_LINKS,
                                .make = make_memcpy};

/* --- each ---------------------------------------------------------------------------------------------------------------------- */

enum {
    C_SLICE,
    C_KIND,
    C_DIRECTION,
    C_START,
    C_DURATION,
    C_BYTES,
    C_RATE,
    C_DEVICE,
    C_STREAM,
    N_COLUMNS
};
static const ps_column COLUMNS[N_COLUMNS] = {
    [C_SLICE] = {.name = "slice", .type = PS_COL_INT},
    [C_KIND] = {.name = "kind", .type = PS_COL_TEXT},
    [C_DIRECTION] = {.name = "direction", .type = PS_COL_TEXT},
    [C_START] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_BYTES] = {.name = "size", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [C_RATE] = {.name = "bandwidth", .type = PS_COL_REAL, .unit = PS_UNIT_GB_PER_S},
    [C_DEVICE] = {.name = "device", .type = PS_COL_INT},
    [C_STREAM] = {.name = "stream", .type = PS_COL_INT},
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

static void make_copy(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    (void)room;
    const copies *c = context;
    uint32_t slice = c->list.at[row];
    const ps_track *track = &c->tracks[c->s->track[slice]];
    ps_copy copy = ps_copy_read(c->trace, &c->keys, slice);
    int64_t bytes = copy.bytes;
    const char *text = ps_trace_text(c->trace, copy.kind);
    ps_cell_int_set(&cells[C_SLICE], slice);
    ps_cell_text_set(&cells[C_KIND], text);
    ps_cell_text_set(&cells[C_DIRECTION], copy.direction != NULL ? copy.direction : text);
    ps_cell_int_set(&cells[C_START], c->s->start_ns[slice]);
    ps_cell_int_set(&cells[C_DURATION], c->s->dur_ns[slice]);
    if (bytes >= 0) {
        ps_cell_int_set(&cells[C_BYTES], bytes);
    }
    if (bytes >= 0 && c->s->dur_ns[slice] > 0) {
        ps_cell_real_set(&cells[C_RATE], (double)bytes / (double)c->s->dur_ns[slice]);
    }
    if (track->device >= 0) {
        ps_cell_int_set(&cells[C_DEVICE], track->device);
    }
    if (track->kind == PS_TRACK_STREAM && track->tid >= 0) {
        ps_cell_int_set(&cells[C_STREAM], track->tid);
    }
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
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", NO_COPIES) : ps_fail_nomem(err));
        return NULL;
    }
    ps_table *t = ps_table_new_made(
        "memcpy_details", "copies of memory", COLUMNS, N_COLUMNS, c->list.n,
        (ps_row_maker){.make = make_copy, .context = c, .free_context = free_copies});
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
