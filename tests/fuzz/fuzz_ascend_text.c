/* The input is a trace_view.json, then a zero byte and kernel_details.csv, then a zero byte and communication.json, then a
 * zero byte and step_trace_time.csv, then a zero byte and task_time.csv; what is missing is empty. Without a trace the slices
 * are made of the tables. Everything is asked for, and every reference of the sealed trace is followed. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "read/ascend/ascend_comm_json.h"
#include "read/ascend_text/ascend_text.h"

#define EVERYTHING 0xFFFFFFFFu

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct part {
    const uint8_t *bytes;
    size_t n;
} part;

static part next_part(const uint8_t **at, size_t *left) {
    const uint8_t *zero = *left > 0 ? memchr(*at, 0, *left) : NULL;
    part p = {*at, zero != NULL ? (size_t)(zero - *at) : *left};
    size_t used = zero != NULL ? p.n + 1 : p.n;
    *at += used;
    *left -= used;
    return p;
}

static void look_at(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n_tracks = 0;
    size_t n = 0;
    (void)ps_trace_tracks(t, &n_tracks);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->track[i] >= n_tracks || s->kind[i] >= PS_N_SLICE_KINDS || s->dur_ns[i] < 0 ||
            (i > 0 && s->start_ns[i] < s->start_ns[i - 1])) {
            __builtin_trap();
        }
        ps_arg_iter iter = ps_trace_args(t, i);
        for (ps_arg arg; ps_arg_next(&iter, &arg);) {
            (void)ps_trace_text(t, arg.key);
        }
    }
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        if (flows[i].from >= s->n || flows[i].to >= s->n) {
            __builtin_trap();
        }
    }
}

/* Only the tables, as where no trace was found. */
static ps_code read_tables(ps_ascend_text *r, const part tables[4], ps_err *err) {
    static const char *const NAMES[4] = {"kernel_details", "communication", "step_trace_time",
                                         "task_time"};
    ps_ascend_csv csvs[4] = {{0}};
    ps_code code = ps_ascend_comm_json("communication.json", (const char *)tables[1].bytes,
                                       tables[1].n, false, r->builder, err);
    for (int i = 0; code == PS_OK && i < 4; i += i == 0 ? 2 : 1) {
        (void)ps_ascend_table_of(tables[i].bytes, tables[i].n);
        ps_ascend_csv_src src = {.path = NAMES[i],
                                 .bytes = tables[i].n > 0 ? (const void *)tables[i].bytes : "",
                                 .n_bytes = tables[i].n};
        const char *name = i == 2 && tables[i].n % 2 != 0 ? "step_trace" : NAMES[i];
        code = ps_ascend_csv_read(&src, name, r->diag, &csvs[i], err);
    }
    ps_ascend_tables made = {.kernels = &csvs[0],
                             .tasks = &csvs[3],
                             .comm = ps_builder_side_table_of(r->builder, "communication"),
                             .steps = csvs[2].table,
                             .device = -1};
    code = code == PS_OK ? ps_ascend_tables_slices(r, &made, err) : code;
    for (int i = 0; i < 4; i++) {
        ps_table_free(csvs[i].table);
    }
    return code;
}

static ps_code read_all(ps_ascend_text *r, part trace, part csv, part json, ps_ascend_csv *kernels,
                        ps_err *err) {
    ps_ascend_csv_src src = {.path = "kernel_details.csv",
                             .bytes = csv.n > 0 ? (const void *)csv.bytes : "",
                             .n_bytes = csv.n};
    ps_code code = ps_ascend_csv_read(&src, "kernel_details", r->diag, kernels, err);
    bool is_useless = false;
    if (code == PS_OK && kernels->table != NULL) {
        r->kernels = ps_ascend_kernels_new(kernels, r->builder, &is_useless);
    }
    ps_input *in = ps_input_of_memory(trace.bytes, trace.n, err);
    if (code != PS_OK || in == NULL) {
        ps_input_close(in);
        return PS_NOMEM;
    }
    ps_event_stats stats = {0};
    code = ps_ascend_text_events(r, in, 1, &stats, err);
    ps_input_close(in);
    if (code == PS_OK && r->kernels != NULL) {
        ps_ascend_kernels_finish(r->kernels, r->diag, "kernel_details.csv");
    }
    for (int is_matrix = 0; code == PS_OK && is_matrix < 2; is_matrix++) {
        code = ps_ascend_comm_json("communication.json", (const char *)json.bytes, json.n,
                                   is_matrix != 0, r->builder, err);
    }
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        return 0;
    }
    part trace = next_part(&data, &size);
    part tables[4];
    for (int i = 0; i < 4; i++) {
        tables[i] = next_part(&data, &size);
    }
    (void)ps_ascend_table_of(trace.bytes, trace.n);
    ps_ascend_text r;
    ps_ascend_csv kernels = {0};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = NULL;
    if (ps_ascend_text_init(&r, b, EVERYTHING) &&
        (trace.n > 0 ? read_all(&r, trace, tables[0], tables[1], &kernels, &err)
                     : read_tables(&r, tables, &err)) == PS_OK) {
        t = ps_builder_seal(b, NULL);
    } else {
        ps_builder_free(b);
    }
    ps_ascend_kernels_free(r.kernels);
    ps_ascend_text_fini(&r);
    ps_table_free(kernels.table);
    if (t != NULL) {
        look_at(t);
    }
    ps_trace_free(t);
    return 0;
}
