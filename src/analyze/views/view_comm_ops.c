/* communication_operators: every communication operator of the rank, by start. */
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/diag.h"
#include "model/recording.h"

enum {
    C_SLICE,
    C_NAME,
    C_TYPE,
    C_GROUP,
    C_START,
    C_DURATION,
    C_STEP,
    C_BYTES,
    C_RATE,
    C_DATA_TYPE,
    C_PEER,
    N_COLUMNS
};
static const ps_column COLUMNS[N_COLUMNS] = {
    [C_SLICE] = {.name = "slice", .type = PS_COL_INT},
    [C_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [C_TYPE] = {.name = "type", .type = PS_COL_TEXT},
    [C_GROUP] = {.name = "group", .type = PS_COL_TEXT},
    [C_START] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_STEP] = {.name = "step", .type = PS_COL_INT},
    [C_BYTES] = {.name = "size", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [C_RATE] = {.name = "bandwidth", .type = PS_COL_REAL, .unit = PS_UNIT_GB_PER_S},
    [C_DATA_TYPE] = {.name = "data type", .type = PS_COL_TEXT},
    [C_PEER] = {.name = "peer", .type = PS_COL_INT},
};

static bool put_comm_op_text(ps_table *t, size_t column, const ps_comm_list *list, ps_str text) {
    return ps_str_is_none(text) || ps_table_set_text(t, column, ps_comm_text(list, text));
}

static bool put_op(ps_table *t, const ps_comm_list *list, const ps_comm_op *op, int64_t origin_ns,
                   bool has_steps) {
    int64_t dur_ns = op->end_ns - op->start_ns;
    bool ok = ps_table_add_row(t) && put_comm_op_text(t, C_NAME, list, op->name) &&
              put_comm_op_text(t, C_TYPE, list, op->type) &&
              put_comm_op_text(t, C_GROUP, list, op->group) &&
              put_comm_op_text(t, C_DATA_TYPE, list, op->data_type);
    if (!ok) {
        return false;
    }
    ps_table_set_int(t, C_SLICE, op->slice);
    ps_table_set_int(t, C_START, op->start_ns - origin_ns);
    ps_table_set_int(t, C_DURATION, dur_ns);
    if (has_steps && op->step > INT64_MIN) {
        ps_table_set_int(t, C_STEP, op->step);
    }
    if (op->size_bytes >= 0) {
        ps_table_set_int(t, C_BYTES, op->size_bytes);
    }
    if (op->size_bytes >= 0 && dur_ns > 0) {
        ps_table_set_real(t, C_RATE, (double)op->size_bytes / (double)dur_ns);
    }
    if (op->is_p2p && op->peer >= 0) {
        ps_table_set_int(t, C_PEER, op->peer);
    }
    return true;
}

static ps_table *make_comm_op_operators(const ps_view_input *in, ps_err *err) {
    ps_comm_list list = {0};
    ps_diag diag = {0};
    size_t n_steps = 0;
    (void)ps_trace_steps(in->trace, &n_steps);
    ps_table *t =
        ps_table_new("communication_operators", "communication operators", COLUMNS, N_COLUMNS);
    bool ok = ps_comm_list_collect(in->trace, in->links, &list, &diag, err) == PS_OK && t != NULL;
    int64_t origin = ps_trace_origin_ns(in->trace);
    for (size_t i = 0; ok && i < list.n; i++) {
        const ps_comm_op *op = &list.ops[i];
        bool wanted = ps_view_touches(in, op->start_ns - origin, op->end_ns - op->start_ns);
        ok = !wanted || put_op(t, &list, op, origin, n_steps > 0);
    }
    ps_comm_list_fini(&list);
    if (!ok || t->n_rows == 0) {
        ps_table_free(t);
        (void)(ok ? ps_fail(
                        err, PS_NOTHING,
                        "no communication in this span: the rank communicated nothing in it, or %s",
                        ps_trace_is_recording(in->trace)
                            ? PS_RECORDING_COMM_HOW
                            : "the profile has no communication operators (Ascend: profiler_level Level1)")
                  : ps_fail_nomem(err));
        return NULL;
    }
    return t;
}

const ps_view ps_view_communication_operators = {.name = "communication_operators",
                                                 .title = "Communication operators, each",
                                                 .tab = PS_TAB_COMMUNICATION,
                                                 .uses = PS_VIEW_LINKS,
                                                 .make = make_comm_op_operators};
