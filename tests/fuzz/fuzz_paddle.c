/* The input is a worker log, or with a first byte '{' what a pipeline of the dynamic graph writes; a byte 0xFE begins the log of another worker. Both go all the way to the file. The vector
 * search must find what the plain one does. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "read/paddle/paddle.h"
#include "read/paddle/paddle_scan.h"
#include "run/paddle_pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 16, MAX_LOGS = 4 };

static void need(int ok) {
    if (!ok) {
        __builtin_trap();
    }
}

static void compare_searches(const uint8_t *data, size_t size) {
    static unsigned char bytes[MAX_BYTES + PS_PADDLE_SCAN_PAD];
    static ps_paddle_hits fast;
    static ps_paddle_hits plain;
    memcpy(bytes, data, size);
    memset(bytes + size, 0, PS_PADDLE_SCAN_PAD);
    ps_paddle_scan(bytes, size, &fast);
    ps_paddle_scan_plain(bytes, size, &plain);
    size_t n = fast.n < plain.n ? fast.n : plain.n;
    need(memcmp(fast.at, plain.at, n * sizeof *fast.at) == 0);
    need(fast.n_bytes < size || plain.n_bytes < size ||
         (fast.n == plain.n && fast.n_lines == plain.n_lines));
}

/* What the rest of the program relies on. */
static void check_trace(const ps_trace *t, size_t size) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n_steps = 0;
    (void)ps_trace_steps(t, &n_steps);
    need(n_steps <= s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t value = -1;
        need(s->kind[i] == PS_SLICE_JOB && s->dur_ns[i] >= 0);
        need(ps_trace_arg_int(t, i, "step", &value) && value >= 0);
        need(ps_trace_arg_int(t, i, "microbatch", &value) && value >= 0);
        need(ps_trace_arg_int(t, i, "line", &value) && value >= 1 && (uint64_t)value <= size + 1);
        need(ps_trace_arg_int(t, i, "run", &value) && value >= 0 &&
             (uint64_t)value < ps_trace_side_table(t, PS_PADDLE_RUNS)->n_rows);
    }
}

static ps_trace *read_one(const uint8_t *data, size_t size) {
    ps_builder *b = ps_builder_new();
    ps_input *in = ps_input_of_memory(data, size, NULL);
    need(b != NULL && in != NULL);
    uint32_t needs = PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META | PS_NEED_INVENTORY;
    bool stamps = size > 0 && data[0] == '{';
    need((stamps ? ps_paddle_read_stamps(in, "profile_record_tmp_file_for_rank_0", needs, b, NULL)
                 : ps_paddle_read_log(in, "workerlog.0", needs, b, NULL)) == PS_OK);
    ps_input_close(in);
    ps_trace *t = ps_builder_seal(b, NULL);
    need(t != NULL);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_paddle_log logs[MAX_LOGS];
    ps_paddle_logs all = {.logs = logs, .by_machine = size % 2 == 0, .n_machines = 2};
    if (size > MAX_BYTES) {
        return 0;
    }
    compare_searches(data, size);
    while (all.n < MAX_LOGS) {
        const uint8_t *end = size > 0 ? memchr(data, 0xFE, size) : NULL;
        size_t n = end != NULL ? (size_t)(end - data) : size;
        logs[all.n] = (ps_paddle_log){.path = "workerlog",
                                      .worker = (int64_t)all.n,
                                      .machine = (int64_t)(all.n / 2),
                                      .machine_row = (uint32_t)(all.n / 2),
                                      .column = (uint32_t)all.n,
                                      .trace = read_one(data, n)};
        check_trace(logs[all.n].trace, n);
        all.n++;
        if (end == NULL) {
            break;
        }
        data = end + 1;
        size -= n + 1;
    }
    all.n_columns = (uint32_t)all.n;
    ps_paddle_pipeline p;
    ps_code code = ps_paddle_pipeline_make(&all, &p, NULL);
    need(code == PS_OK || code == PS_NOTHING);
    if (code == PS_OK) {
        need(ps_write_paddle_json(&p.timeline, PS_PADDLE_PERFETTO, "/dev/null", NULL) == PS_OK);
    }
    ps_paddle_pipeline_fini(&p);
    for (size_t i = 0; i < all.n; i++) {
        ps_trace_free(logs[i].trace);
    }
    return 0;
}
