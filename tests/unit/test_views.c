/* Views of one rank: by hand, and the numbers that profilers wrote into the samples. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "read/readers.h"
#include "support/nsight.h"
#include "support/profile.h"
#include "support/small_runs.h"

#define NEEDS                                                                                      \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES |           \
     PS_NEED_STATISTICS)

/* --- making a view --------------------------------------------------------------------------------------------------- */

typedef struct ask {
    const char *name;
    int64_t from_ns, to_ns; /* both 0: everything */
    const char *param, *value;
} ask;

/* The view with what it uses, and nothing else. */
static ps_table *make_view(const ps_trace *t, const ask *a, ps_err *err) {
    const ps_view *view = ps_view_find(a->name);
    assert_non_null(view);
    ps_links links = {0};
    ps_overlaps overlaps = {0};
    ps_view_value value = {a->param, a->value};
    ps_view_input in = {.trace = t,
                        .from_ns = a->to_ns != 0 ? a->from_ns : INT64_MIN,
                        .to_ns = a->to_ns != 0 ? a->to_ns : INT64_MAX,
                        .values = &value,
                        .n_values = a->param != NULL};
    if ((view->uses & (PS_VIEW_LINKS | PS_VIEW_OVERLAPS)) != 0) {
        assert_int_equal(ps_links_init(&links, t, NULL), PS_OK);
        in.links = &links;
    }
    if ((view->uses & PS_VIEW_OVERLAPS) != 0) {
        assert_int_equal(ps_overlaps_measure(&links, -1, true, &overlaps, NULL), PS_OK);
        in.overlaps = &overlaps;
    }
    ps_table *table = view->make(&in, err);
    /* Rows on demand look at the links: they are made before those end. */
    ps_table *copy = NULL;
    if (table != NULL) {
        copy = ps_table_new(table->name, table->title, table->columns, table->n_columns);
        assert_non_null(copy);
        ps_column *columns = ps_arena_alloc(&copy->arena, (table->n_columns + 1) * sizeof *columns);
        assert_non_null(columns);
        memcpy(columns, table->columns, table->n_columns * sizeof *columns);
        for (size_t c = 0; c < table->n_columns; c++) {
            columns[c].name =
                ps_arena_strndup(&copy->arena, columns[c].name, strlen(columns[c].name));
            assert_non_null(columns[c].name);
        }
        copy->columns = columns;
        for (size_t r = 0; r < table->n_rows; r++) {
            assert_true(ps_table_add_row(copy));
            for (size_t c = 0; c < table->n_columns; c++) {
                const ps_value *v = ps_table_cell(table, r, c);
                if (v->is_null) {
                    continue;
                }
                if (table->columns[c].type == PS_COL_INT) {
                    ps_table_set_int(copy, c, v->u.i);
                } else if (table->columns[c].type == PS_COL_REAL) {
                    ps_table_set_real(copy, c, v->u.r);
                } else {
                    assert_true(ps_table_set_text(copy, c, v->u.text));
                }
            }
        }
    }
    ps_table_free(table);
    ps_overlaps_fini(&overlaps);
    ps_links_fini(&links);
    return copy;
}

static void print_cell(ps_buf *out, const ps_table *t, size_t row, size_t column) {
    const ps_value *v = ps_table_cell(t, row, column);
    if (v->is_null) {
        ps_buf_add_char(out, '-');
    } else if (t->columns[column].type == PS_COL_INT) {
        ps_buf_addf(out, "%" PRId64, v->u.i);
    } else if (t->columns[column].type == PS_COL_REAL) {
        ps_buf_addf(out, "%.6g", v->u.r);
    } else {
        ps_buf_add_str(out, v->u.text);
    }
}

/* `columns`: names with blanks between; NULL: all. Rows as lines, cells with bars between. */
static void expect_columns(const ps_trace *t, ask a, const char *columns, const char *expected) {
    ps_err err = PS_ERR_INIT;
    ps_table *table = make_view(t, &a, &err);
    if (table == NULL) {
        fail_msg("%s: %s", a.name, err.msg);
    }
    size_t list[64];
    size_t n = 0;
    char names[512];
    (void)snprintf(names, sizeof names, "%s", columns != NULL ? columns : "");
    for (char *at = names; columns != NULL && at != NULL && *at != '\0';) {
        char *end = strchr(at, ',');
        if (end != NULL) {
            *end++ = '\0';
        }
        list[n] = ps_table_column(table, at);
        if (list[n] == SIZE_MAX) {
            fail_msg("%s has no column %s", a.name, at);
        }
        n++;
        at = end;
    }
    for (size_t c = 0; columns == NULL && c < table->n_columns; c++) {
        list[n++] = c;
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t r = 0; r < table->n_rows; r++) {
        for (size_t c = 0; c < n; c++) {
            ps_buf_add_str(&text, c > 0 ? "|" : "");
            print_cell(&text, table, r, list[c]);
        }
        ps_buf_add_char(&text, '\n');
    }
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
    ps_table_free(table);
}

static void expect_view(const ps_trace *t, ask a, const char *expected) {
    expect_columns(t, a, NULL, expected);
}

static void expect_nothing(const ps_trace *t, const char *name, const char *part) {
    ps_err err = PS_ERR_INIT;
    ps_table *table = make_view(t, &(ask){.name = name}, &err);
    assert_null(table);
    assert_int_equal(err.code, PS_NOTHING);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("%s says: %s", name, err.msg);
    }
}

/* --- a rank by hand --------------------------------------------------------------------------------------------------- */

static uint32_t track(ps_builder *b, ps_track_kind kind, const char *name) {
    return ps_builder_track(b, (ps_track){.kind = kind,
                                          .tid = kind == PS_TRACK_COMM_PLANE ? 0 : -1,
                                          .device = 0,
                                          .name = ps_builder_str(b, name, strlen(name))});
}

static uint32_t kernel(ps_builder *b, uint32_t stream, const char *name, const char *type,
                       const char *core, int64_t start, int64_t end) {
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, stream, name, start, end);
    small_arg(b, k, "opType", type);
    small_arg(b, k, "taskType", core);
    return k;
}

static void link_to(ps_builder *b, uint32_t from, uint32_t to) {
    ps_builder_flow(b, from, to);
}

/*                0    50   100       200       300       400       500
 * thread 1       linear(addmm(enqueue)) to    backward
 * thread 2          dequeue(launch)
 * stream 7                 mm--------                        back- copy
 * stream 8                      cast------
 * communicator                        allReduce-----------
 * plane                               send wait---------
 *
 * computing 100-250 and 450-500; communication 220-400, of it alone 250-400; free 400-450. */
static ps_trace *by_hand(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    uint32_t seven = small_stream(b, 7);
    uint32_t eight = small_stream(b, 8);
    uint32_t group = track(b, PS_TRACK_COMM_GROUP, "g");
    uint32_t plane = track(b, PS_TRACK_COMM_PLANE, "g");
    small_step(b, 1, 0, 1000);
    (void)small_slice(b, PS_SLICE_HOST_OP, one, "aten::linear", 0, 50);
    (void)small_slice(b, PS_SLICE_HOST_OP, one, "aten::addmm", 5, 45);
    uint32_t enqueue = small_slice(b, PS_SLICE_QUEUE, one, "Enqueue", 10, 20);
    uint32_t dequeue = small_slice(b, PS_SLICE_QUEUE, two, "Dequeue@aclnnAddmm", 30, 60);
    uint32_t launch = small_slice(b, PS_SLICE_CALL, two, "launch", 35, 45);
    uint32_t to = small_slice(b, PS_SLICE_HOST_OP, one, "aten::to", 60, 70);
    uint32_t back = small_slice(b, PS_SLICE_HOST_OP, one, "AddmmBackward0", 80, 90);
    uint32_t mm = kernel(b, seven, "mm_kernel", "MatMulV2", "AI_CORE", 100, 200);
    small_arg(b, mm, "inputShapes", "\"2,3;3,4\"");
    ps_builder_arg_int(b, mm, "blockNum", 24);
    ps_builder_arg_int(b, mm, "aic_total_cycles", 77);
    uint32_t cast = kernel(b, eight, "cast_kernel", "Cast", "AI_VECTOR_CORE", 150, 250);
    uint32_t late = kernel(b, seven, "mm_kernel", "MatMulV2", "AI_CORE", 450, 500);
    uint32_t copy = small_slice(b, PS_SLICE_COPY, seven, "MEMCPY_ASYNC", 500, 520);
    small_arg(b, copy, "memcpyOperation", "host to device");
    ps_builder_arg_int(b, copy, "size", 400);
    uint32_t reduce = small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allReduce__001_0_1", 220, 400);
    small_arg(b, reduce, "opType", "hcom_allReduce_");
    (void)small_slice(b, PS_SLICE_COMM_TASK, plane, "Memcpy", 220, 260);
    (void)small_slice(b, PS_SLICE_COMM_TASK, plane, "Notify_Wait", 260, 380);
    link_to(b, enqueue, dequeue);
    link_to(b, launch, mm);
    link_to(b, to, cast);
    link_to(b, back, late);
    return small_seal(b);
}

static void overall_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_view(
        t, (ask){.name = "overall"},
        "Computing|0|Computing|200|20|3|83.3333|50|100|250\n"
        "Computing/Matmul|1|Matmul|150|15|2|75|50|100|150\n"
        "Computing/Matmul/Cube|2|Cube|150|15|2|75|50|100|150\n"
        "Computing/Other Vector|1|Other Vector|50|5|1|100|100|100|100\n"
        "Computing/Other Vector/Trans|2|Trans|50|5|1|100|100|100|100\n"
        "Communication(Not Overlapped)|0|Communication(Not Overlapped)|150|15|1|150|150|150|150\n"
        "Communication(Not Overlapped)/g|1|g|150|15|1|150|150|150|150\n"
        "Communication(Not Overlapped)/g/Transmit|2|Transmit|10|1|-|-|-|-|-\n"
        "Communication(Not Overlapped)/g/Only waiting|2|Only waiting|120|12|-|-|-|-|-\n"
        "Communication(Not Overlapped)/g/No task|2|No task|20|2|-|-|-|-|-\n"
        "Free|0|Free|50|5|1|50|50|50|50\n"
        "Before the first work|0|Before the first work|100|10|1|100|100|100|100\n"
        "After the last work|0|After the last work|500|50|1|500|500|500|500\n"
        "E2E|0|E2E|1000|100|-|-|-|-|-\n");
    ps_trace_free(t);
}

/* Of 120-300: computing 120-250, alone 250-300, of which 10 are sent and 40 waited; nothing is free. */
static void overall_of_a_span(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_columns(t, (ask){.name = "overall", .from_ns = 120, .to_ns = 300},
                   "path,total,number,sum",
                   "Computing|130|2|180\n"
                   "Computing/Matmul|80|1|80\n"
                   "Computing/Matmul/Cube|80|1|80\n"
                   "Computing/Other Vector|50|1|100\n"
                   "Computing/Other Vector/Trans|50|1|100\n"
                   "Communication(Not Overlapped)|50|1|50\n"
                   "Communication(Not Overlapped)/g|50|1|50\n"
                   "Communication(Not Overlapped)/g/Transmit|10|-|-\n"
                   "Communication(Not Overlapped)/g/Only waiting|40|-|-\n"
                   "Communication(Not Overlapped)/g/No task|0|-|-\n"
                   "Free|0|-|-\n"
                   "E2E|180|-|-\n");
    ps_trace_free(t);
}

static void leaves_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    uint32_t cast = small_find(t, "cast_kernel");
    char expected[256];
    (void)snprintf(expected, sizeof expected, "%u|cast_kernel|Cast|150|100|50\n", cast);
    expect_view(t, (ask){.name = "leaf", .param = "leaf", .value = "Computing/Other Vector"},
                expected);
    expect_view(t, (ask){.name = "leaf", .param = "leaf", .value = "Computing/Other Vector/Trans"},
                expected);
    expect_columns(t, (ask){.name = "leaf", .param = "leaf", .value = "Computing"}, "name,share",
                   "mm_kernel|100\ncast_kernel|50\nmm_kernel|50\n");
    expect_columns(t,
                   (ask){.name = "leaf",
                         .param = "leaf",
                         .value = "Communication(Not Overlapped)/g/Only waiting"},
                   "name,type,start,duration,share",
                   "hcom_allReduce__001_0_1|hcom_allReduce_|220|180|150\n");
    expect_view(t, (ask){.name = "leaf", .param = "leaf", .value = "Free"}, "-|Free|-|400|50|50\n");
    expect_view(t, (ask){.name = "leaf", .param = "leaf", .value = "After the last work"},
                "-|After the last work|-|500|500|500\n");
    expect_view(t, (ask){.name = "leaf", .param = "leaf", .value = "Comput"}, "");
    ps_trace_free(t);
}

static void sums_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_columns(t, (ask){.name = "framework_sum"}, "name,share,total,number,avg,min,max",
                   "aten::linear|33.3333|50|1|50|50|50\n"
                   "aten::addmm|26.6667|40|1|40|40|40\n"
                   "Dequeue@aclnnAddmm|20|30|1|30|30|30\n"
                   "AddmmBackward0|6.66667|10|1|10|10|10\n"
                   "Enqueue|6.66667|10|1|10|10|10\n"
                   "aten::to|6.66667|10|1|10|10|10\n");
    expect_columns(t, (ask){.name = "call_sum"}, "name,total", "launch|10\n");
    expect_columns(t, (ask){.name = "device_sum", .from_ns = 180, .to_ns = 460},
                   "name,total,number", "cast_kernel|70|1\nmm_kernel|30|2\n");
    expect_columns(t, (ask){.name = "communication_sum"}, "name,group,total",
                   "hcom_allReduce__001_0_1|g|180\n");
    expect_columns(t, (ask){.name = "communication_types"}, "type,total", "hcom_allReduce_|180\n");
    expect_columns(t, (ask){.name = "operator_types"}, "type,core,total,number",
                   "MatMulV2|AI_CORE|150|2\nCast|AI_VECTOR_CORE|100|1\n");
    expect_columns(t, (ask){.name = "operator_shapes"}, "name,shapes,total",
                   "cast_kernel|-|100\nmm_kernel|\"2,3;3,4\"|100\nmm_kernel|-|50\n");
    expect_columns(t, (ask){.name = "operator_cores"}, "core,share",
                   "AI_CORE|60\nAI_VECTOR_CORE|40\n");
    expect_view(t, (ask){.name = "overlap_sum"},
                "Computing|20|200|2|100|50|150\n"
                "Communication|18|180|1|180|180|180\n"
                "Communication(Not Overlapped)|15|150|1|150|150|150\n"
                "Free|5|50|1|50|50|50\n"
                "Before the first work|10|100|1|100|100|100\n"
                "After the last work|50|500|1|500|500|500\n");
    expect_nothing(t, "python_sum", "with_stack");
    expect_nothing(t, "frequency", "AI Core Freq");
    expect_nothing(t, "memory_curve", "profile_memory");
    ps_trace_free(t);
}

static void copies_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_view(t, (ask){.name = "memcpy"},
                "host to device|H2D|20|1|20|20|20|400|400|400|400|20\n");
    expect_columns(t, (ask){.name = "memcpy_details"}, "kind,direction,start,duration,size,stream",
                   "host to device|H2D|500|20|400|7\n");
    ps_trace_free(t);
}

static void kernels_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_columns(t, (ask){.name = "kernel_details"},
                   "name,type,core,start,duration,wait,stream,blocks,aic_total_cycles",
                   "mm_kernel|MatMulV2|AI_CORE|100|100|0|7|24|77\n"
                   "cast_kernel|Cast|AI_VECTOR_CORE|150|100|0|8|-|-\n"
                   "hcom_allReduce__001_0_1|hcom_allReduce_|-|220|180|0|-|-|-\n"
                   "mm_kernel|MatMulV2|AI_CORE|450|50|50|7|-|-\n");
    expect_columns(t, (ask){.name = "kernel_figures"}, "slice,name,figure,value,text",
                   "7|mm_kernel|aic_total_cycles|77|-\n");
    expect_columns(t, (ask){.name = "operator_details"}, "name,wait",
                   "mm_kernel|0\ncast_kernel|0\nmm_kernel|50\n");
    expect_columns(t, (ask){.name = "operator_details", .from_ns = 440, .to_ns = 451}, "name,wait",
                   "mm_kernel|50\n");
    ps_trace_free(t);
}

static void launches_by_hand(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    expect_columns(
        t, (ask){.name = "kernel_launch"},
        "name,operator,before launch,enqueue,queue wait,dequeue,launch,device wait,total,path,status",
        "mm_kernel|aten::linear|10|10|10|30|10|55|200|aclnn|normal\n"
        "cast_kernel|aten::to|-|-|-|-|-|-|190|-|incomplete\n"
        "mm_kernel|AddmmBackward0|-|-|-|-|-|-|420|-|incomplete\n");
    ps_trace_free(t);
}

/* --- attention, convolution, and what stands for backward ------------------------------------------------------------------ */

static void classes_by_hand(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t s = small_stream(b, 7);
    uint32_t engine =
        small_slice(b, PS_SLICE_HOST_OP, one,
                    "autograd::engine::evaluate_function: ConvolutionBackward0", 0, 90);
    (void)engine;
    uint32_t conv = small_slice(b, PS_SLICE_HOST_OP, one, "aten::convolution_backward", 10, 40);
    uint32_t sum = small_slice(b, PS_SLICE_HOST_OP, one, "aten::sum", 50, 60);
    uint32_t flash =
        small_slice(b, PS_SLICE_HOST_OP, one, "aten::_scaled_dot_product_flash_attention", 95, 99);
    link_to(b, conv, small_slice(b, PS_SLICE_KERNEL, s, "cudnn_dgrad", 100, 110));
    link_to(b, sum, small_slice(b, PS_SLICE_KERNEL, s, "reduce_kernel", 110, 120));
    link_to(b, flash, small_slice(b, PS_SLICE_KERNEL, s, "flash_fwd_kernel", 120, 140));
    (void)small_slice(b, PS_SLICE_KERNEL, s, "ampere_sgemm_32x128_tn", 140, 170);
    (void)small_slice(b, PS_SLICE_KERNEL, s, "ampere_scudnn_128x64_relu_nn_v1", 180, 185);
    (void)kernel(b, s, "x", "PagedAttentionOp", "AI_CORE", 170, 171);
    (void)kernel(b, s, "aclnnInplaceCopy_TensorMoveAiCore_TensorMove", "TensorMove",
                 "AI_VECTOR_CORE", 171, 173);
    (void)kernel(b, s, "y", "Index", "AI_CPU", 173, 176);
    (void)kernel(b, s, "z", "GroupedThing", "MIX_AIC", 176, 180);
    ps_trace *t = small_seal(b);
    expect_columns(t, (ask){.name = "overall"}, "path,total",
                   "Computing|85\n"
                   "Computing/Paged Attention|1\n"
                   "Computing/SDMA|2\n"
                   "Computing/SDMA/Tensor Move|2\n"
                   "Computing/Flash Attention|20\n"
                   "Computing/Flash Attention/Forward|20\n"
                   "Computing/Matmul|30\n"
                   "Computing/Conv|15\n"
                   "Computing/Conv/Forward|5\n"
                   "Computing/Conv/Backward|10\n"
                   "Computing/Other|10\n"
                   "Computing/Other/No Trans|10\n"
                   "Computing/Other Cube|4\n"
                   "Computing/AI CPU|3\n"
                   "Communication(Not Overlapped)|0\n"
                   "Free|0\n"
                   "E2E|85\n");
    ps_trace_free(t);
}

/* Two sends in a row: the wait behind them and the next one are their transfer, a third one waits. */
static void waits_behind_sends(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t group = track(b, PS_TRACK_COMM_GROUP, "g");
    uint32_t plane = track(b, PS_TRACK_COMM_PLANE, "g");
    (void)small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allGather__1_0_1", 0, 100);
    (void)small_slice(b, PS_SLICE_KERNEL, track(b, PS_TRACK_STREAM, "2"), "Add", 100, 107);
    static const char *const TASKS[] = {"Notify_Wait", "RDMASend",    "RDMASend", "Notify_Wait",
                                        "Notify_Wait", "Notify_Wait", "RDMASend", "Notify_Wait"};
    for (int64_t i = 0; i < 8; i++) {
        (void)small_slice(b, PS_SLICE_COMM_TASK, plane, TASKS[i], 10 * i, 10 * i + 10);
    }
    ps_trace *t = small_seal(b);
    expect_columns(
        t, (ask){.name = "overall"}, "name,total",
        "Computing|7\nOther|7\nNo Trans|7\nCommunication(Not Overlapped)|100\ng|100\nTransmit|50\n"
        "Only waiting|30\nNo task|20\nFree|0\nE2E|107\n");
    ps_trace_free(t);
}

/* Communication alone was collected: what else the device did, and when it was idle, nobody knows. */
static void no_computing_collected(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)small_slice(b, PS_SLICE_COMM_OP, track(b, PS_TRACK_COMM_GROUP, "g"),
                      "hcom_allGather__1_0_1", 0, 100);
    ps_trace *t = small_seal(b);
    expect_nothing(t, "overall", "no computing kernels");
    expect_nothing(t, "overlap_sum", "no computing kernels");
    ps_trace_free(t);
}

/* --- memory and clocks --------------------------------------------------------------------------------------------------- */

static void memory_event(ps_builder *b, uint32_t track_, int64_t at, int64_t bytes, int64_t address,
                         int64_t allocated) {
    uint32_t s = small_slice(b, PS_SLICE_INSTANT, track_, "[memory]", at, at);
    ps_builder_arg_int(b, s, "Bytes", bytes);
    ps_builder_arg_int(b, s, "Addr", address);
    ps_builder_arg_int(b, s, "Total Allocated", allocated);
    ps_builder_arg_int(b, s, "Device Id", 0);
    ps_builder_arg_int(b, s, "Device Type", 1);
}

/* Counters of memory are in KiB and MiB here, and in KB and MB in files of others, which mean the same; others are no memory. */
static void memory_of_counters(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    static const char *const UNITS[] = {"KiB", "MB", "MHz"};
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "APP/%d", i);
        uint32_t track_ = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                                         .pid = 1,
                                                         .tid = -1,
                                                         .device = 0,
                                                         .name = ps_builder_str(b, name, 5)});
        ps_builder_track_unit(b, track_, ps_builder_str(b, UNITS[i], strlen(UNITS[i])));
        assert_true(ps_builder_counter(b, track_, SMALL_EPOCH_NS + i, 3));
    }
    ps_trace *t = small_seal(b);
    expect_columns(t, (ask){.name = "memory_curve"}, "owner,value", "APP/0|3072\nAPP/1|3145728\n");
    ps_trace_free(t);
}

static void memory_of_pytorch(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    (void)small_slice(b, PS_SLICE_HOST_OP, one, "aten::empty", 0, 20);
    memory_event(b, one, 10, 512, 77, 512);
    memory_event(b, one, 15, 256, 88, 768);
    memory_event(b, one, 40, -512, 77, 256);
    memory_event(b, one, 50, -64, 99, 192); /* was there before */
    ps_trace *t = small_seal(b);
    expect_columns(t, (ask){.name = "memory_curve"}, "owner,what,device,time,value",
                   "device 0|allocated|0|10|512\ndevice 0|allocated|0|15|768\n"
                   "device 0|allocated|0|40|256\ndevice 0|allocated|0|50|192\n");
    /* The value at the span's beginning is the last one before it. */
    expect_columns(t, (ask){.name = "memory_curve", .from_ns = 20, .to_ns = 45}, "time,value",
                   "20|768\n40|256\n");
    expect_columns(t, (ask){.name = "memory_operators"},
                   "name,size,start,release,duration,allocated at start,allocated at release",
                   "aten::empty|512|10|40|30|512|256\naten::empty|256|15|-|-|768|-\n"
                   "[memory]|64|-|50|-|-|192\n");
    expect_columns(t, (ask){.name = "memory_operators", .from_ns = 12, .to_ns = 20}, "size",
                   "256\n");
    expect_view(t, (ask){.name = "memory_names"}, "aten::empty|2|768|512\n[memory]|1|64|64\n");
    expect_view(t, (ask){.name = "memory_names", .from_ns = 12, .to_ns = 20},
                "aten::empty|1|256|256\n");
    expect_view(t, (ask){.name = "memory_components"}, "device 0|allocated|0|768|15|192\n");
    /* Held where most was allocated: at 15; at a moment. What was there before has no row. */
    expect_columns(t, (ask){.name = "memory_operators", .param = "which", .value = "held"},
                   "size,start,release", "512|10|40\n256|15|-\n");
    expect_columns(t,
                   (ask){.name = "memory_operators",
                         .from_ns = 40,
                         .to_ns = 41,
                         .param = "which",
                         .value = "held"},
                   "size", "256\n");
    expect_view(
        t,
        (ask){
            .name = "memory_names", .from_ns = 39, .to_ns = 40, .param = "which", .value = "held"},
        "aten::empty|2|768|512\n");
    expect_view(t, (ask){.name = "memory_held"}, "device 0|0|15|2|768|768|0\n");
    expect_view(t, (ask){.name = "memory_held", .from_ns = 45, .to_ns = 60},
                "device 0|0|45|1|256|256|0\n");
    expect_view(t, (ask){.name = "memory_held", .from_ns = 55, .to_ns = 60},
                "device 0|0|55|1|256|192|-64\n");
    expect_columns(t, (ask){.name = "memory_components", .from_ns = 20, .to_ns = 60}, "peak,start",
                   "768|20\n");
    ps_trace_free(t);
}

/* 1000 points as at most 8: of each half the first, lowest, highest and last. */
static void curves_keep_their_peaks(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t counter =
        ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                       .device = 0,
                                       .tid = -1,
                                       .pid = 1,
                                       .name = ps_builder_str(b, "CUDA memory/Device", 18)});
    ps_builder_track_unit(b, counter, ps_builder_str(b, "bytes", 5));
    for (int64_t i = 0; i < 1000; i++) {
        double value = i == 300 ? 9000 : i == 400 ? 1 : i == 700 ? 8000 : 100;
        assert_true(ps_builder_counter(b, counter, SMALL_EPOCH_NS + i, value));
    }
    (void)small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "op", 0, 1000);
    ps_trace *t = small_seal(b);
    expect_columns(t, (ask){.name = "memory_curve", .param = "points", .value = "8"}, "time,value",
                   "0|100\n300|9000\n400|1\n499|100\n500|100\n700|8000\n999|100\n");
    ps_err err = PS_ERR_INIT;
    assert_null(
        make_view(t, &(ask){.name = "memory_curve", .param = "points", .value = "x"}, &err));
    assert_int_equal(err.code, PS_USAGE);
    assert_null(make_view(t, &(ask){.name = "memory_curve", .param = "by", .value = "x"}, &err));
    assert_int_equal(err.code, PS_USAGE);
    ps_trace_free(t);
}

/* 1800 MHz for 60 ns, 900 for 40. */
static void frequencies_that_fall(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t counter =
        ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                       .device = 3,
                                       .tid = -1,
                                       .pid = 1,
                                       .name = ps_builder_str(b, "AI Core Freq", 12)});
    assert_true(ps_builder_counter(b, counter, SMALL_EPOCH_NS, 1800));
    assert_true(ps_builder_counter(b, counter, SMALL_EPOCH_NS + 60000, 900));
    (void)small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "op", 0, 100000);
    ps_trace *t = small_seal(b);
    expect_columns(t, (ask){.name = "frequency"}, "series,device,min,max,drop,start,verdict",
                   "AI Core Freq|3|900|1800|50|60000|varies by more than 5 %\n");
    expect_columns(t, (ask){.name = "frequency", .from_ns = 10, .to_ns = 50000}, "min,max,verdict",
                   "1800|1800|steady\n");
    ps_trace_free(t);
}

/* --- Nsight Systems ------------------------------------------------------------------------------------------------------ */

/* A matrix product launched at 10, a copy, a collective of NCCL that runs alone for 40 of its 60 ns. */
static void views_of_nsight(void **state) {
    const place *where = *state;
    nsight n;
    int64_t tid = nsight_tid(0, 100, 100);
    nsight_begin(&n, where, "a", NSIGHT_2024);
    nsight_call(&n, tid, 10, 20, 1, "cudaLaunchKernel_v7000");
    nsight_kernel(&n, tid, 0, 7, 100, 150, 1, "ampere_fp16_s16816gemm_fp16_128x128");
    nsight_call(&n, tid, 30, 40, 2, "cudaLaunchKernel_v7000");
    nsight_kernel(&n, tid, 0, 8, 130, 190, 2, "ncclDevKernel_AllReduce_Sum_f16_RING_LL");
    nsight_close(&n);
    ps_err err = PS_ERR_INIT;
    ps_src src = {.path = n.path};
    ps_trace *t = ps_read(&src, NEEDS, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    expect_columns(t, (ask){.name = "overall"}, "path,total,number",
                   "Computing|50|1\nComputing/Matmul|50|1\n"
                   "Communication(Not Overlapped)|40|1\n"
                   "Communication(Not Overlapped)/unnamed group|40|1\n"
                   "Free|0|-\nE2E|90|-\n");
    expect_columns(t, (ask){.name = "kernel_launch"}, "name,launch,device wait,path,status",
                   "ampere_fp16_s16816gemm_fp16_128x128|10|80|cuda|normal\n"
                   "ncclDevKernel_AllReduce_Sum_f16_RING_LL|10|90|cuda|normal\n");
    expect_columns(t, (ask){.name = "communication_types"}, "total,number", "60|1\n");
    expect_columns(t, (ask){.name = "operator_names"}, "name,total",
                   "ampere_fp16_s16816gemm_fp16_128x128|50\n");
    ps_trace_free(t);
}

/* --- every view, on little and without memory ---------------------------------------------------------------------------- */

static void nothing_to_see(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)small_slice(b, PS_SLICE_HOST_OTHER, small_thread(b, 1), "x", 0, 1);
    ps_trace *t = small_seal(b);
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        ps_err err = PS_ERR_INIT;
        ps_table *table = make_view(t, &(ask){.name = (*v)->name}, &err);
        assert_true(table != NULL || (err.code == PS_NOTHING && strlen(err.msg) > 20));
        ps_table_free(table);
    }
    ps_trace_free(t);
}

/* What a view needs is there; then allocation N of the view fails, for every N. */
static void without_memory(void **state) {
    (void)state;
    ps_trace *t = by_hand();
    ps_links links;
    ps_overlaps overlaps;
    assert_int_equal(ps_links_init(&links, t, NULL), PS_OK);
    assert_int_equal(ps_overlaps_measure(&links, -1, true, &overlaps, NULL), PS_OK);
    ps_view_input in = {
        .trace = t, .links = &links, .overlaps = &overlaps, .from_ns = 0, .to_ns = 1000};
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        for (int64_t n = 0;; n++) {
            ps_err err = PS_ERR_INIT;
            (void)ps_alloc_fail_at(n);
            ps_table *table = (*v)->make(&in, &err);
            int64_t made = ps_alloc_fail_at(-1);
            ps_table_free(table);
            if (made <= n) {
                break;
            }
            if (table != NULL || err.code != PS_NOMEM) {
                fail_msg("%s, allocation %" PRId64 ": %s", (*v)->name, n, err.msg);
            }
        }
    }
    ps_overlaps_fini(&overlaps);
    ps_links_fini(&links);
    ps_trace_free(t);
}

/* --- samples ------------------------------------------------------------------------------------------------------------- */

static ps_trace *read_sample(const char *path) {
    const char *data = getenv("PIPESCOPE_SHARED_DATA");
    char full[1024];
    (void)snprintf(full, sizeof full, "%s/%s", data != NULL ? data : "", path);
    if (data == NULL || access(full, R_OK) != 0) {
        skip();
    }
    ps_err err = PS_ERR_INIT;
    ps_src src = {.path = full};
    char dir[1024];
    (void)snprintf(dir, sizeof dir, "%s", full);
    char *end = strstr(dir, "/ASCEND_PROFILER_OUTPUT");
    if (end != NULL) {
        *end = '\0';
        src.rank_dir = dir;
    }
    ps_trace *t = ps_read(&src, NEEDS, &err);
    if (t == NULL) {
        fail_msg("%s: %s", full, err.msg);
    }
    return t;
}

#define DB "ascend/db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
#define TEXT "ascend/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"

/* Pieces, and sums as StepTraceTime of the profiler has them (us: 8903.431, 102108.1, 98071.947, 25258.144). */
static void overlap_of_the_database(void **state) {
    (void)state;
    ps_trace *t = read_sample(DB);
    expect_columns(t, (ask){.name = "overlap_sum"}, "name,total,stretches",
                   "Computing|8903431|187\nCommunication|102108100|4\n"
                   "Communication(Not Overlapped)|98071947|101\nFree|25258144|90\n"
                   "Before the first work|18055693|1\nAfter the last work|1599535|1\n");
    const ps_table *own = ps_trace_side_table(t, "StepTraceTime");
    assert_non_null(own);
    double computing = ps_table_cell(own, 0, ps_table_column(own, "computing"))->u.r;
    assert_true(computing > 8903.4309 && computing < 8903.4311);
    ps_trace_free(t);
}

/* step_trace_time.csv: computing 8873.756, not overlapped 101963.203, free 25744.050. */
static void overlap_of_the_text(void **state) {
    (void)state;
    ps_trace *t = read_sample(TEXT);
    expect_columns(t, (ask){.name = "overlap_sum"}, "name,total",
                   "Computing|8873756\nCommunication|105991878\n"
                   "Communication(Not Overlapped)|101963203\nFree|25744050\n"
                   "Before the first work|17902502\nAfter the last work|1502289\n");
    ps_trace_free(t);
}

static int64_t sum_of(const ps_table *t, const char *path, const char *column) {
    for (size_t r = 0; r < t->n_rows; r++) {
        if (strcmp(ps_table_cell(t, r, 0)->u.text, path) == 0) {
            return ps_table_cell(t, r, ps_table_column(t, column))->u.i;
        }
    }
    fail_msg("no row %s", path);
    return 0;
}

static int64_t total_or_0(const ps_table *t, const char *path) {
    int64_t sum = 0;
    for (size_t r = 0; r < t->n_rows; r++) {
        bool is_it = strcmp(ps_table_cell(t, r, 0)->u.text, path) == 0;
        sum += is_it ? ps_table_cell(t, r, ps_table_column(t, "total"))->u.i : 0;
    }
    return sum;
}

/* What stands below adds up to what stands above, in every format. */
static void trees_add_up(void **state) {
    (void)state;
    static const char *const SAMPLES[] = {DB, TEXT, "kineto/nccl/nccl_data.json.gz",
                                          "kineto/two_ranks/sampled_rank-0.json.gz"};
    for (size_t i = 0; i < 4; i++) {
        ps_trace *t = read_sample(SAMPLES[i]);
        for (int span = 0; span < 2; span++) {
            ask a = {.name = "overall"};
            if (span == 1) {
                a.from_ns = 50000000;
                a.to_ns = 200000000;
            }
            ps_err err = PS_ERR_INIT;
            ps_table *table = make_view(t, &a, &err);
            assert_non_null(table);
            int64_t sums[2] = {0, 0};
            for (size_t r = 0; r < table->n_rows; r++) {
                const char *path = ps_table_cell(table, r, 0)->u.text;
                bool below = ps_table_cell(table, r, 1)->u.i == 1;
                sums[0] += below && strncmp(path, "Computing/", 10) == 0
                               ? ps_table_cell(table, r, 3)->u.i
                               : 0;
                sums[1] += below && strncmp(path, "Communication(", 14) == 0
                               ? ps_table_cell(table, r, 3)->u.i
                               : 0;
            }
            assert_int_equal(sums[0], sum_of(table, "Computing", "total"));
            assert_int_equal(sums[1], sum_of(table, "Communication(Not Overlapped)", "total"));
            int64_t idle = sum_of(table, "Free", "total") +
                           total_or_0(table, "Before the first work") +
                           total_or_0(table, "After the last work");
            assert_int_equal(sum_of(table, "E2E", "total"), sums[0] + sums[1] + idle);
            ps_table_free(table);
        }
        ps_trace_free(t);
    }
}

/* Measured values of kernels: as arguments in a text export, in a table of their own in a database. */
static void measured_values(void **state) {
    (void)state;
    ps_trace *t = read_sample(TEXT);
    ps_err err = PS_ERR_INIT;
    ps_table *table = make_view(t, &(ask){.name = "operator_details"}, &err);
    assert_non_null(table);
    assert_int_equal(table->n_rows, 187); /* without 4 of communication */
    size_t at = ps_table_column(table, "aiv_vec_ratio");
    assert_true(at != SIZE_MAX);
    assert_true(ps_table_cell(table, 0, at)->u.r > 0.185 &&
                ps_table_cell(table, 0, at)->u.r < 0.187);
    ps_table_free(table);
    ps_trace_free(t);
    t = read_sample(DB);
    table = make_view(t, &(ask){.name = "operator_details"}, &err);
    assert_non_null(table);
    at = ps_table_column(table, "aic_total_cycles");
    assert_true(at != SIZE_MAX);
    size_t name = ps_table_column(table, "name");
    assert_string_equal(ps_table_cell(table, 2, name)->u.text, "Conv2D1");
    assert_true(ps_table_cell(table, 2, at)->u.r > 8973308 &&
                ps_table_cell(table, 2, at)->u.r < 8973316);
    ps_table_free(table);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overall_by_hand),
        cmocka_unit_test(overall_of_a_span),
        cmocka_unit_test(leaves_by_hand),
        cmocka_unit_test(sums_by_hand),
        cmocka_unit_test(copies_by_hand),
        cmocka_unit_test(kernels_by_hand),
        cmocka_unit_test(launches_by_hand),
        cmocka_unit_test(classes_by_hand),
        cmocka_unit_test(waits_behind_sends),
        cmocka_unit_test(no_computing_collected),
        cmocka_unit_test(memory_of_counters),
        cmocka_unit_test(memory_of_pytorch),
        cmocka_unit_test(curves_keep_their_peaks),
        cmocka_unit_test(frequencies_that_fall),
        IN_PLACE(views_of_nsight),
        cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(overlap_of_the_database),
        cmocka_unit_test(overlap_of_the_text),
        cmocka_unit_test(trees_add_up),
        cmocka_unit_test(measured_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
