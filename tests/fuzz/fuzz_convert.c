/* The input is a recipe for a trace: any trace that the builder takes must be written in both forms without a fault,
 * and its JSON form must read back with the same slices, flows and values. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "read/chrome/pipescope_json.h"
#include "write/trace/trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

static uint64_t number(recipe *r, size_t n_bytes) {
    uint64_t value = 0;
    for (; n_bytes > 0 && r->at < r->end; n_bytes--) {
        value = value << 8 | *r->at++;
    }
    return value;
}

/* Up to 15 bytes as they are. */
static ps_str text(recipe *r, ps_builder *b) {
    size_t n = (size_t)(number(r, 1) % 16);
    n = n <= (size_t)(r->end - r->at) ? n : (size_t)(r->end - r->at);
    r->at += n;
    return ps_builder_str(b, (const char *)r->at - n, n);
}

static int64_t time_ns(recipe *r) {
    uint64_t how = number(r, 1);
    if (how < 200) {
        return (int64_t)(how % 50);
    }
    return how < 250 ? (int64_t)number(r, 4) : (int64_t)number(r, 8);
}

static uint32_t track(recipe *r, ps_builder *b) {
    uint64_t what = number(r, 1);
    ps_track t = {.kind = (ps_track_kind)(what % 6),
                  .pid = (int64_t)(what >> 3 & 3) - 1,
                  .tid = (int64_t)(what >> 5) - 1,
                  .device = (int64_t)(number(r, 1) % 3) - 1};
    t.name = number(r, 1) % 2 == 0 ? PS_STR_NONE : text(r, b);
    uint32_t row = ps_builder_track(b, t);
    if (number(r, 1) % 4 == 0) {
        ps_builder_track_label(b, row, text(r, b), time_ns(r));
        ps_builder_track_unit(b, row, text(r, b));
    }
    return row;
}

static void add_arg(recipe *r, ps_builder *b, uint32_t slice) {
    ps_arg arg = {.key = text(r, b), .type = (ps_arg_type)(number(r, 1) % 8)};
    switch (arg.type) {
    case PS_ARG_INT:
    case PS_ARG_TIME:
        arg.u.i = time_ns(r);
        break;
    case PS_ARG_BOOL:
        arg.u.i = (int64_t)(number(r, 1) % 2);
        break;
    case PS_ARG_REAL: {
        uint64_t bits = number(r, 8);
        memcpy(&arg.u.r, &bits, sizeof bits);
        break;
    }
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        arg.u.s = text(r, b);
        break;
    case PS_ARG_NULL:
        break;
    }
    ps_builder_arg(b, slice, arg);
}

/* A last slice that could not be added leaves PS_NONE. */
static void add_slice(recipe *r, ps_builder *b, uint32_t *last) {
    int64_t start = time_ns(r);
    int64_t dur = time_ns(r);
    int64_t end = 0;
    ps_slice_kind kind = (ps_slice_kind)(number(r, 1) % PS_N_SLICE_KINDS);
    uint32_t on = track(r, b);
    ps_str category = number(r, 1) % 2 == 0 ? PS_STR_NONE : text(r, b);
    if (!__builtin_add_overflow(start, dur, &end)) {
        uint32_t row = ps_builder_slice_in(b, kind, on, text(r, b), category, start, end, 0);
        *last = row != PS_NONE ? row : *last;
    }
}

static void add_counter(recipe *r, ps_builder *b) {
    ps_track t = {.kind = PS_TRACK_COUNTER, .pid = (int64_t)(number(r, 1) % 4) - 1, .tid = -1};
    t.name = text(r, b);
    uint64_t bits = number(r, 8);
    double value = 0;
    memcpy(&value, &bits, sizeof bits);
    (void)ps_builder_counter(b, ps_builder_track(b, t), time_ns(r), value);
}

static void add_process(recipe *r, ps_builder *b) {
    ps_process p = {.pid = (int64_t)(number(r, 1) % 4) - 1, .order = time_ns(r)};
    p.name = text(r, b);
    p.labels = text(r, b);
    p.pid_is_text = number(r, 1) % 2 == 0;
    ps_builder_process(b, p);
}

static void add_any(recipe *r, ps_builder *b, uint32_t *last) {
    int64_t start = 0;
    switch (number(r, 1) % 8) {
    case 0:
    case 1:
    case 2:
        add_slice(r, b, last);
        break;
    case 3:
        if (*last != PS_NONE) {
            add_arg(r, b, *last);
        }
        break;
    case 4:
        if (*last != PS_NONE) {
            ps_builder_flow_of(b, (uint32_t)(number(r, 1) % (*last + 1)), *last, text(r, b));
        }
        break;
    case 5:
        add_counter(r, b);
        break;
    case 6:
        add_process(r, b);
        break;
    default:
        start = time_ns(r);
        if (start < INT64_MAX / 2) {
            ps_builder_step(b, (int64_t)number(r, 1), start, start + (int64_t)number(r, 1));
        }
        break;
    }
}

static ps_trace *make(const uint8_t *data, size_t size) {
    recipe r = {data, data + size};
    ps_builder *b = ps_builder_new();
    uint32_t last = PS_NONE;
    (void)ps_builder_time_base(b, (int64_t)number(&r, 8));
    while (r.at < r.end) {
        add_any(&r, b, &last);
    }
    return ps_builder_seal(b, NULL);
}

static void write_as(const char *path, const ps_trace *t, size_t n, ps_buf *out) {
    static const ps_trace_source SOURCES[] = {{0, "", "rank 0", NULL, -1},
                                              {-1, "h", "x", "PyTorch", -1}};
    ps_sink sink = ps_sink_buf(out);
    ps_trace_writer *w =
        ps_trace_writer_to_sink(ps_trace_format_for(path), &sink, SOURCES, n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (ps_trace_writer_rank(w, i, t, NULL) != PS_OK) {
            __builtin_trap();
        }
    }
    if (ps_trace_writer_commit(w, NULL, NULL) != PS_OK) {
        __builtin_trap();
    }
}

/* Times near the ends of what a trace takes may not come back; then they are counted. */
static void compare(const ps_trace *a, const ps_trace *b) {
    size_t n_a = 0;
    size_t n_b = 0;
    if (ps_trace_diag(b)->counts[PS_ODD_TIME] > 0) {
        return;
    }
    if (ps_trace_slices(a)->n != ps_trace_slices(b)->n ||
        ps_trace_counters(a)->n != ps_trace_counters(b)->n) {
        __builtin_trap();
    }
    (void)ps_trace_tracks(a, &n_a);
    (void)ps_trace_tracks(b, &n_b);
    if (n_b > n_a) { /* names that are not UTF-8 may become the same */
        __builtin_trap();
    }
    for (uint32_t i = 0; i < ps_trace_slices(a)->n; i++) {
        if (ps_trace_slices(a)->start_ns[i] != ps_trace_slices(b)->start_ns[i] ||
            ps_trace_slices(a)->dur_ns[i] != ps_trace_slices(b)->dur_ns[i] ||
            ps_trace_slices(a)->kind[i] != ps_trace_slices(b)->kind[i]) {
            __builtin_trap();
        }
    }
}

static void read_back(const ps_buf *json, const ps_trace *t, int64_t part) {
    ps_builder *b = ps_builder_new();
    ps_err err = PS_ERR_INIT;
    ps_input *in = ps_input_of_memory(json->data, json->len, &err);
    uint32_t needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS |
                     PS_NEED_COUNTERS | PS_NEED_ARGS;
    if (ps_pipescope_json_read(in, part, needs, 1, b, &err) != PS_OK) {
        __builtin_trap();
    }
    ps_input_close(in);
    if (ps_builder_diag(b)->counts[PS_ODD_JSON] > 0) {
        __builtin_trap();
    }
    ps_trace *again = ps_builder_seal(b, NULL);
    compare(t, again);
    ps_trace_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_trace *t = make(data, size < 8192 ? size : 8192);
    ps_buf out;
    ps_buf_init(&out, 0);
    write_as("x.pftrace", t, 2, &out);
    ps_buf_clear(&out);
    write_as("x.json", t, 1, &out);
    read_back(&out, t, 0);
    ps_buf_clear(&out);
    write_as("x.json", t, 2, &out);
    read_back(&out, t, 1);
    ps_buf_fini(&out);
    ps_trace_free(t);
    return 0;
}
