#include "support/trace_samples.h"

#include <math.h>
#include <string.h>

#define T(offset_ns) (SAMPLE_EPOCH_NS + (offset_ns))

static ps_str str(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

static uint32_t track(ps_builder *b, ps_track_kind kind, int64_t pid, int64_t tid, int64_t device,
                      const char *name) {
    return ps_builder_track(b, (ps_track){.kind = kind,
                                          .pid = pid,
                                          .tid = tid,
                                          .device = device,
                                          .name = name != NULL ? str(b, name) : PS_STR_NONE});
}

static uint32_t slice(ps_builder *b, ps_slice_kind kind, uint32_t on, const char *name,
                      const char *category, int64_t start_ns, int64_t dur_ns) {
    return ps_builder_slice_in(b, kind, on, str(b, name),
                               category != NULL ? str(b, category) : PS_STR_NONE, T(start_ns),
                               T(start_ns + dur_ns), 0);
}

static void arg(ps_builder *b, uint32_t on, const char *key, ps_arg a) {
    a.key = str(b, key);
    ps_builder_arg(b, on, a);
}

static void add_args(ps_builder *b, uint32_t on) {
    arg(b, on, "int", (ps_arg){.type = PS_ARG_INT, .u.i = INT64_MIN});
    arg(b, on, "when", (ps_arg){.type = PS_ARG_TIME, .u.i = T(-77)});
    arg(b, on, "real", (ps_arg){.type = PS_ARG_REAL, .u.r = -1234.5678});
    arg(b, on, "whole real", (ps_arg){.type = PS_ARG_REAL, .u.r = 3});
    arg(b, on, "tiny", (ps_arg){.type = PS_ARG_REAL, .u.r = 4.9e-324});
    arg(b, on, "text",
        (ps_arg){.type = PS_ARG_STR, .u.s = str(b, "a \"quoted\"\n\\ text \xc3\xa4")});
    arg(b, on, "empty", (ps_arg){.type = PS_ARG_STR, .u.s = str(b, "")});
    arg(b, on, "big", (ps_arg){.type = PS_ARG_NUMBER, .u.s = str(b, "18446744073709551615")});
    arg(b, on, "huge", (ps_arg){.type = PS_ARG_NUMBER, .u.s = str(b, "1e999")});
    arg(b, on, "list", (ps_arg){.type = PS_ARG_JSON, .u.s = str(b, "[[4,8],[],{\"a\":null}]")});
    arg(b, on, "yes", (ps_arg){.type = PS_ARG_BOOL, .u.i = 1});
    arg(b, on, "no", (ps_arg){.type = PS_ARG_BOOL, .u.i = 0});
    arg(b, on, "nothing", (ps_arg){.type = PS_ARG_NULL});
}

static void add_processes(ps_builder *b) {
    ps_builder_process(b, (ps_process){.pid = 4242, .name = str(b, "python"), .order = 1});
    ps_builder_process(
        b, (ps_process){
               .pid = 0, .name = str(b, "python"), .labels = str(b, "GPU 0"), .order = 5000000});
    ps_builder_process(b, (ps_process){.pid = -7,
                                       .name = str(b, "Spans \"x\""),
                                       .order = PS_NO_ORDER,
                                       .pid_is_text = true});
}

/* Every kind once, on the host and on a device of another pid. */
static void add_kinds(ps_builder *b, uint32_t host, uint32_t stream) {
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        uint32_t on = k >= PS_SLICE_KERNEL ? stream : host;
        int64_t dur = k == PS_SLICE_INSTANT ? 0 : 50;
        const char *category = k % 3 == 0 ? NULL : k % 3 == 1 ? "cpu_op" : "kernel";
        (void)slice(b, (ps_slice_kind)k, on, "one of each", category, 100000 + 100 * k, dur);
    }
}

/* Nested, touching, crossing, of no length, at equal times. */
static void add_shapes(ps_builder *b, uint32_t on) {
    (void)slice(b, PS_SLICE_HOST_OP, on, "outer", "op", 0, 1000);
    (void)slice(b, PS_SLICE_HOST_OP, on, "first", "op", 0, 400);
    (void)slice(b, PS_SLICE_HOST_OP, on, "touching", "op", 400, 600);
    (void)slice(b, PS_SLICE_HOST_OP, on, "crossing", "op", 900, 300);
    (void)slice(b, PS_SLICE_HOST_OP, on, "crossing both", "op", 950, 300);
    (void)slice(b, PS_SLICE_HOST_OP, on, "no length", "op", 400, 0);
    (void)slice(b, PS_SLICE_HOST_OP, on, "no length either", "op", 400, 0);
    (void)slice(b, PS_SLICE_HOST_OP, on, "", "", 1000, 0);
    (void)slice(b, PS_SLICE_INSTANT, on, "a point", NULL, 500, 0);
}

static void add_device(ps_builder *b, uint32_t host, uint32_t stream) {
    uint32_t call = slice(b, PS_SLICE_CALL, host, "launch", "cuda_runtime", 2000, 10);
    uint32_t kernel = slice(b, PS_SLICE_KERNEL, stream, "MatMul", "kernel", 2100, 500);
    uint32_t copy = slice(b, PS_SLICE_COPY, stream, "Memcpy", "gpu_memcpy", 2700, 5);
    uint32_t mark = slice(b, PS_SLICE_MARK_HOST, host, "forward 3", NULL, 2200, 100);
    uint32_t marked = slice(b, PS_SLICE_MARK_DEVICE, stream, "forward 3", NULL, 2150, 400);
    add_args(b, kernel);
    ps_builder_arg_int(b, copy, "bytes", 4096);
    ps_builder_flow_of(b, call, kernel, str(b, "ac2g"));
    ps_builder_flow_of(b, call, copy, str(b, "ac2g"));
    ps_builder_flow_of(b, kernel, copy, str(b, "mark"));
    ps_builder_flow_of(b, copy, call, str(b, "backwards"));
    ps_builder_flow(b, mark, marked);
}

static void add_counters(ps_builder *b) {
    uint32_t hbm = track(b, PS_TRACK_COUNTER, 0, -1, 0, "HBM 0/Read");
    uint32_t twin = track(b, PS_TRACK_COUNTER, 0, -1, 1, "HBM 0/Read");
    uint32_t memory = track(b, PS_TRACK_COUNTER, 4242, -1, -1, "memory");
    ps_builder_track_unit(b, hbm, str(b, "MB/s"));
    ps_builder_track_unit(b, memory, str(b, "bytes"));
    static const double VALUES[] = {0, 1.5, -3, 1e20, 0.1, 9007199254740993.0};
    for (int i = 0; i < 6; i++) {
        (void)ps_builder_counter(b, hbm, T(10 * i), VALUES[i]);
        (void)ps_builder_counter(b, twin, T(10 * i), -VALUES[i] - 1);
    }
    (void)ps_builder_counter(b, memory, T(5), 12);
    (void)ps_builder_counter(b, memory, T(5), 13);
}

ps_trace *sample_of_everything(void) {
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        return NULL;
    }
    uint32_t host = track(b, PS_TRACK_HOST_THREAD, 4242, 4243, -1, NULL);
    uint32_t other = track(b, PS_TRACK_HOST_THREAD, 4242, 4242, -1, NULL);
    uint32_t stream = track(b, PS_TRACK_STREAM, 0, 7, 0, NULL);
    uint32_t second = track(b, PS_TRACK_STREAM, 0, 7, 1, NULL);
    uint32_t mixed = track(b, PS_TRACK_STREAM, 4242, 4243, 0, NULL);
    uint32_t group = track(b, PS_TRACK_COMM_GROUP, 4242, -1, 0, "group_name_3");
    uint32_t plane = track(b, PS_TRACK_COMM_PLANE, 4242, 2, 0, "group_name_3");
    uint32_t span = track(b, PS_TRACK_DERIVED, -7, -1, -1, "PyTorch Profiler");
    ps_builder_track_label(b, host, str(b, "pt_main_thread"), 3);
    ps_builder_track_label(b, stream, str(b, "stream 7 "), PS_NO_ORDER);
    add_processes(b);
    add_shapes(b, host);
    add_device(b, other, stream);
    add_kinds(b, other, second);
    (void)slice(b, PS_SLICE_TASK, mixed, "on a shared number", NULL, 10, 10);
    (void)slice(b, PS_SLICE_COMM_OP, group, "hcom_send_", NULL, 20, 100);
    (void)slice(b, PS_SLICE_COMM_TASK, plane, "Notify_Wait", NULL, 25, 10);
    (void)slice(b, PS_SLICE_DERIVED, span, "the whole", "Trace", -500, 4000);
    add_counters(b);
    ps_builder_step(b, 5, T(-1000), T(2000));
    ps_builder_step(b, 6, T(2000), T(200000));
    ps_builder_meta(b, "pp_info", "{\"pp_type\": \"dualpipev\"}");
    ps_builder_meta(b, "pp_info", "said twice");
    ps_builder_has(b, PS_HAS_MARKS | PS_HAS_COMM_OPS);
    return ps_builder_seal(b, NULL);
}

ps_trace *sample_of_many(uint32_t n, uint32_t depth) {
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        return NULL;
    }
    uint32_t on = track(b, PS_TRACK_HOST_THREAD, 1, 1, -1, NULL);
    for (uint32_t i = 0; i < n; i++) {
        int64_t level = i % depth;
        int64_t start = (int64_t)(i / depth) * 2 * depth + level;
        uint32_t row = slice(b, PS_SLICE_HOST_OP, on, "many", "op", start, 2 * (depth - level) - 1);
        if (row != PS_NONE) {
            ps_builder_arg_int(b, row, "number", i);
        }
    }
    return ps_builder_seal(b, NULL);
}
