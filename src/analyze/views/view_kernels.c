/* kernel_details: every kernel and communication operator as a row, operator_details: every kernel, with every figure that the profiler
 * measured of it. Rows are made when they are read; kept are the slice and how long the device had waited before it. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/kernel_facts.h"
#include "analyze/rank/kernel_pmu.h"
#include "analyze/views/view.h"
#include "base/alloc.h"

enum {
    C_SLICE,
    C_NAME,
    C_TYPE,
    C_CORE,
    C_START,
    C_DURATION,
    C_WAIT,
    C_DEVICE,
    C_STREAM,
    C_TASK,
    C_BLOCK,
    C_MIX_BLOCK,
    C_IN_SHAPES,
    C_IN_TYPES,
    C_IN_FORMATS,
    C_OUT_SHAPES,
    C_OUT_TYPES,
    C_OUT_FORMATS,
    C_STATE,
    N_FIXED
};

#define NUMBER(text)                                                                               \
    { .name = (text), .type = PS_COL_INT }
#define TEXT(text)                                                                                 \
    { .name = (text), .type = PS_COL_TEXT }
#define NS(text)                                                                                   \
    { .name = (text), .type = PS_COL_INT, .unit = PS_UNIT_NS }

static const ps_column FIXED[N_FIXED] = {
    NUMBER("slice"),
    TEXT("name"),
    TEXT("type"),
    TEXT("core"),
    NS("start"),
    NS("duration"),
    NS("wait"),
    NUMBER("device"),
    NUMBER("stream"),
    NUMBER("task"),
    NUMBER("blocks"),
    NUMBER("mix blocks"),
    TEXT("input shapes"),
    TEXT("input types"),
    TEXT("input formats"),
    TEXT("output shapes"),
    TEXT("output types"),
    TEXT("output formats"),
    TEXT("state"),
};

/* Fields that go into a column as they are. */
static const struct {
    uint8_t column;
    ps_kernel_field field;
} PLAIN[] = {
    {C_TASK, PS_KERNEL_TASK},
    {C_BLOCK, PS_KERNEL_BLOCK},
    {C_MIX_BLOCK, PS_KERNEL_MIX_BLOCK},
    {C_IN_TYPES, PS_KERNEL_IN_TYPES},
    {C_IN_FORMATS, PS_KERNEL_IN_FORMATS},
    {C_OUT_SHAPES, PS_KERNEL_OUT_SHAPES},
    {C_OUT_TYPES, PS_KERNEL_OUT_TYPES},
    {C_OUT_FORMATS, PS_KERNEL_OUT_FORMATS},
    {C_STATE, PS_KERNEL_STATE},
};

typedef struct row {
    int64_t wait_ns;
    uint32_t slice;
} row;

typedef struct details {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    ps_kernel_source kernels;
    ps_pmu pmu;
    row *rows;
    size_t n, cap;
    ps_column *columns;
} details;

static void free_details(void *context) {
    details *d = context;
    if (d != NULL) {
        ps_kernel_source_fini(&d->kernels);
        ps_pmu_fini(&d->pmu);
        ps_free(d->rows);
        ps_free(d->columns);
        ps_free(d);
    }
}

/* --- a row ----------------------------------------------------------------------------------------------------------- */

static void set_kernel_field(const details *d, const ps_arg *field, ps_value *cell,
                             ps_col_type type) {
    if (ps_str_is_none(field->key)) {
        return;
    }
    if (type == PS_COL_INT && field->type == PS_ARG_INT) {
        ps_cell_int_set(cell, field->u.i);
    } else if (type == PS_COL_TEXT) {
        ps_str text = ps_kernel_text(&d->kernels.keys, field);
        ps_cell_text_set(cell, ps_trace_text(d->trace, text));
    }
}

static void make_kernel_row(const void *context, size_t i, ps_value *cells,
                            char room[PS_ROW_ROOM]) {
    const details *d = context;
    uint32_t slice = d->rows[i].slice;
    const ps_track *track = &d->tracks[d->s->track[slice]];
    ps_kernel_facts k;
    ps_kernel_facts_read(&d->kernels, slice, &k);
    ps_cell_int_set(&cells[C_SLICE], slice);
    ps_cell_text_set(&cells[C_NAME], ps_trace_text(d->trace, d->s->name[slice]));
    ps_cell_text_set(&cells[C_TYPE], ps_trace_text(d->trace, k.type));
    ps_cell_text_set(&cells[C_CORE], ps_trace_text(d->trace, k.core));
    ps_cell_text_set(&cells[C_IN_SHAPES], ps_trace_text(d->trace, k.shapes));
    ps_cell_int_set(&cells[C_START], d->s->start_ns[slice]);
    ps_cell_int_set(&cells[C_DURATION], d->s->dur_ns[slice]);
    ps_cell_int_set(&cells[C_WAIT], d->rows[i].wait_ns);
    if (track->device >= 0) {
        ps_cell_int_set(&cells[C_DEVICE], track->device);
    }
    if (track->kind == PS_TRACK_STREAM && track->tid >= 0) {
        ps_cell_int_set(&cells[C_STREAM], track->tid);
    }
    for (size_t f = 0; f < sizeof PLAIN / sizeof *PLAIN; f++) {
        uint8_t column = PLAIN[f].column;
        set_kernel_field(d, &k.fields[PLAIN[f].field], &cells[column], FIXED[column].type);
    }
    ps_pmu_cells(&d->pmu, slice, cells + N_FIXED, room);
}

/* --- all rows --------------------------------------------------------------------------------------------------------- */

/* Where each device's last row ended: devices are few. */
typedef struct device_end {
    int64_t device, end_ns;
} device_end;
#define MAX_DEVICES 64

static int64_t wait_before(device_end *ends, size_t *n, int64_t device, int64_t start_ns,
                           int64_t end_ns) {
    size_t i = 0;
    while (i < *n && ends[i].device != device) {
        i++;
    }
    if (i == MAX_DEVICES) {
        return 0;
    }
    if (i == *n) {
        ends[(*n)++] = (device_end){device, end_ns};
        return 0;
    }
    int64_t wait = start_ns - ends[i].end_ns;
    ends[i].end_ns = end_ns;
    return wait > 0 ? wait : 0;
}

static bool list_rows(details *d, const ps_view_input *in, bool with_communication) {
    ps_slice_kind communication = ps_communication_kind(d->s);
    device_end ends[MAX_DEVICES];
    size_t n_ends = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->s->n && d->s->start_ns[i] < in->to_ns; i++) {
        bool is_kernel = d->s->kind[i] == PS_SLICE_KERNEL || d->s->kind[i] == PS_SLICE_JOB;
        if (!is_kernel && d->s->kind[i] != communication) {
            continue;
        }
        int64_t start = d->s->start_ns[i];
        int64_t wait = wait_before(ends, &n_ends, d->tracks[d->s->track[i]].device, start,
                                   start + d->s->dur_ns[i]);
        if (!ps_view_touches(in, start, d->s->dur_ns[i]) || (!is_kernel && !with_communication)) {
            continue;
        }
        ok = ps_grow(&d->rows, &d->cap, d->n + 1, UINT32_MAX, sizeof *d->rows) &&
             (!is_kernel || ps_pmu_learn(&d->pmu, i));
        if (ok) {
            d->rows[d->n++] = (row){wait, i};
        }
    }
    return ok;
}

static ps_table *to_table(details *d, const ps_view *view, ps_err *err) {
    size_t n = N_FIXED + d->pmu.n;
    d->columns = ps_alloc(n * sizeof *d->columns);
    if (d->columns == NULL) {
        free_details(d);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    memcpy(d->columns, FIXED, sizeof FIXED);
    ps_pmu_columns(&d->pmu, d->columns + N_FIXED);
    ps_table *t = ps_table_new_made(
        view->name, view->title, d->columns, n, d->n,
        (ps_row_maker){.make = make_kernel_row, .context = d, .free_context = free_details});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

static ps_table *make_details(const ps_view_input *in, const ps_view *view, bool with_communication,
                              ps_err *err) {
    details *d = ps_calloc(1, sizeof *d);
    size_t n_tracks = 0;
    bool ok = d != NULL;
    if (ok) {
        d->trace = in->trace;
        d->s = ps_trace_slices(in->trace);
        d->tracks = ps_trace_tracks(in->trace, &n_tracks);
        ok = ps_kernel_source_init(&d->kernels, in->links);
        ok = ps_pmu_init(&d->pmu, &d->kernels.keys, in->trace) && ok &&
             list_rows(d, in, with_communication);
    }
    if (!ok || d->n == 0) {
        free_details(d);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", PS_VIEW_NO_KERNELS(in->lang))
                  : ps_fail_nomem(err));
        return NULL;
    }
    return to_table(d, view, err);
}

static ps_table *make_kernel_details(const ps_view_input *in, ps_err *err) {
    return make_details(in, &ps_view_kernel_details, true, err);
}
static ps_table *make_operator_details(const ps_view_input *in, ps_err *err) {
    return make_details(in, &ps_view_operator_details, false, err);
}

const ps_view ps_view_kernel_details = {.name = "kernel_details",
                                        .title = "Kernel details",
                                        .tab = PS_TAB_TIMELINE,
                                        .uses = PS_VIEW_LINKS | PS_VIEW_ROWS,
                                        .last_own = "state",
                                        .make = make_kernel_details};
const ps_view ps_view_operator_details = {.name = "operator_details",
                                          .title = "Operator details",
                                          .tab = PS_TAB_OPERATOR,
                                          .uses = PS_VIEW_LINKS | PS_VIEW_ROWS,
                                          .last_own = "state",
                                          .make = make_operator_details};
