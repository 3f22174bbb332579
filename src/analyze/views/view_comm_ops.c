/* communication_operators: every communication operator of the rank, by start. */
#include <math.h>
#include <stdio.h>

#include "analyze/comm/comm_list.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/diag.h"
#include "model/recording.h"

typedef struct op_row {
    uint32_t slice;
    const char *name, *type, *group, *data_type;
    int64_t start_ns, dur_ns, step, bytes, peer;
    double bytes_per_ns;
} op_row;

static const ps_column COLUMNS[] = {
    {.name = "slice", PS_FIELD(op_row, slice)},
    {.name = "name", PS_FIELD(op_row, name)},
    {.name = "type", PS_FIELD(op_row, type)},
    {.name = "group", PS_FIELD(op_row, group)},
    {.name = "start", PS_FIELD(op_row, start_ns), .unit = PS_UNIT_NS},
    {.name = "duration", PS_FIELD(op_row, dur_ns), .unit = PS_UNIT_NS},
    {.name = "step", PS_FIELD(op_row, step)},
    {.name = "size", PS_FIELD(op_row, bytes), .unit = PS_UNIT_BYTES, .unknown_below_zero = true},
    {.name = "bandwidth", PS_FIELD(op_row, bytes_per_ns), .unit = PS_UNIT_GB_PER_S},
    {.name = "data type", PS_FIELD(op_row, data_type)},
    {.name = "peer", PS_FIELD(op_row, peer), .unknown_below_zero = true},
};

static const char *comm_op_text(const ps_comm_list *list, ps_str text) {
    return ps_str_is_none(text) ? NULL : ps_comm_text(list, text);
}

static void put_comm_op(ps_table *t, const ps_comm_list *list, const ps_comm_op *op,
                        int64_t origin_ns, bool has_steps) {
    int64_t dur_ns = op->end_ns - op->start_ns;
    bool has_rate = op->look->size_bytes >= 0 && dur_ns > 0;
    ps_table_put(
        t, &(op_row){.slice = op->slice,
                     .name = comm_op_text(list, op->name),
                     .type = comm_op_text(list, op->look->type),
                     .group = comm_op_text(list, op->look->group),
                     .data_type = comm_op_text(list, op->look->data_type),
                     .start_ns = op->start_ns - origin_ns,
                     .dur_ns = dur_ns,
                     .step = has_steps ? op->step : PS_UNKNOWN_INT,
                     .bytes = op->look->size_bytes,
                     .bytes_per_ns = has_rate ? (double)op->look->size_bytes / (double)dur_ns : NAN,
                     .peer = op->look->is_p2p ? op->look->peer : -1});
}

static ps_table *make_comm_op_operators(const ps_view_input *in, ps_err *err) {
    ps_comm_list list = {0};
    ps_diag diag = {0};
    size_t n_steps = 0;
    (void)ps_trace_steps(in->trace, &n_steps);
    ps_table *t = ps_table_new("communication_operators", "communication operators, each",
                               PS_COLUMNS(COLUMNS));
    if (ps_comm_list_collect(in->trace, in->links, NULL, &list, &diag, err) != PS_OK) {
        ps_table_fail(t);
    }
    int64_t origin = ps_trace_origin_ns(in->trace);
    for (size_t i = 0; i < list.n; i++) {
        const ps_comm_op *op = &list.ops[i];
        if (ps_view_touches(in, op->start_ns - origin, op->end_ns - op->start_ns)) {
            put_comm_op(t, &list, op, origin, n_steps > 0);
        }
    }
    ps_comm_list_fini(&list);
    const char *nothing = ps_trace_is_recording(in->trace) ? PS_VIEW_NO_COMM_RECORDED(in->lang)
                                                           : PS_VIEW_NO_COMM(in->lang);
    return ps_view_end(t, t != NULL && t->n_rows > 0, nothing, err);
}

const ps_view ps_view_communication_operators = {.name = "communication_operators",
                                                 .title = "Communication operators, each",
                                                 .tab = PS_TAB_COMMUNICATION,
                                                 .uses = PS_VIEW_LINKS,
                                                 .make = make_comm_op_operators};
