/* profile_record_tmp_file_for_rank_N of Paddle's dynamic graph: lines, passes, what does not fit together, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/input.h"
#include "model/trace.h"
#include "read/paddle/paddle.h"
#include "read/paddle/paddle_stamps.h"

enum { NEEDS = PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META | PS_NEED_INVENTORY };

#define BASE_MS INT64_C(1701771693000)

static ps_trace *read_bytes(const char *bytes, size_t n, ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_input *in = b != NULL ? ps_input_of_memory(bytes, n, err) : NULL;
    ps_code code =
        in == NULL ? PS_NOMEM
                   : ps_paddle_read_stamps(in, "profile_record_tmp_file_for_rank_3", NEEDS, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}

static void stamp(ps_buf *out, const char *name, const char *phase, int64_t ms) {
    ps_buf_addf(out,
                "{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"%s\", \"pid\": 0, \"tid\": 1, "
                "\"ts\": %lld, \"cname\": \"rail_idle\"}\n",
                name,
                strstr(name, "_VP") != NULL ? "virtual pipeline timeline" : "pipeline timeline",
                phase, (long long)(BASE_MS + ms));
}

static void pass(ps_buf *out, const char *name, int64_t begin_ms, int64_t end_ms) {
    stamp(out, name, "B", begin_ms);
    stamp(out, name, "E", end_ms);
}

static void lines(void **state) {
    (void)state;
    static const struct {
        const char *line;
        ps_paddle_line what;
        int64_t microbatch, chunk;
    } CASES[] = {
        {"{\"name\": \"F0\", \"cat\": \"pipeline timeline\", \"ph\": \"B\", \"ts\": 7}",
         PS_PADDLE_LINE_STAMP, 0, -1},
        {"{\"name\": \"B12_VP3\", \"cat\": \"virtual pipeline timeline\", \"ph\": \"E\", \"ts\": 7}\r",
         PS_PADDLE_LINE_STAMP, 12, 3},
        {"", PS_PADDLE_LINE_EMPTY, 0, 0},
        {"{\"name\": \"F0\", \"cat\": \"operator\", \"ph\": \"B\", \"ts\": 7}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F\", \"cat\": \"pipeline timeline\", \"ph\": \"B\", \"ts\": 7}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F0_VP\", \"cat\": \"pipeline timeline\", \"ph\": \"B\", \"ts\": 7}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F0\", \"cat\": \"pipeline timeline\", \"ph\": \"X\", \"ts\": 7}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F0\", \"cat\": \"pipeline timeline\", \"ph\": \"B\", \"ts\": -7}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F0\", \"cat\": \"pipeline timeline\", \"ph\": \"B\", \"ts\": 9223372036854775807}",
         PS_PADDLE_LINE_OTHER, 0, 0},
        {"{\"name\": \"F0\", \"cat\": \"pipeline ti", PS_PADDLE_LINE_OTHER, 0, 0},
        {"Traceback (most recent call last):", PS_PADDLE_LINE_OTHER, 0, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_paddle_stamp s = {0};
        assert_int_equal(ps_paddle_stamp_parse(CASES[i].line, strlen(CASES[i].line), &s),
                         CASES[i].what);
        if (CASES[i].what == PS_PADDLE_LINE_STAMP) {
            assert_int_equal(s.microbatch, CASES[i].microbatch);
            assert_int_equal(s.chunk, CASES[i].chunk);
            assert_int_equal(s.at_us, 7000);
        }
    }
}

static size_t n_rejected(const ps_trace *t) {
    const ps_table *table = ps_trace_side_table(t, PS_PADDLE_REJECTED);
    return table != NULL ? table->n_rows : 0;
}

/* Two pieces of the model on a rank, two steps: the numbers begin again. */
static void passes(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 1 << 20);
    for (int step = 0; step < 2; step++) {
        pass(&text, "F0_VP0", step * 1000, step * 1000 + 10);
        pass(&text, "F0_VP1", step * 1000 + 10, step * 1000 + 20);
        pass(&text, "B0_VP1", step * 1000 + 20, step * 1000 + 40);
        pass(&text, "B0_VP0", step * 1000 + 40, step * 1000 + 60);
    }
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_bytes(ps_buf_str(&text), text.len, &err);
    assert_non_null(t);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 8);
    static const char *const NAMES[] = {"forward0", "forward1", "backward1", "backward0"};
    for (uint32_t i = 0; i < 8; i++) {
        assert_string_equal(ps_trace_text(t, s->name[i]), NAMES[i % 4]);
        assert_int_equal(s->dur_ns[i], i % 4 < 2 ? 10000000 : 20000000);
    }
    size_t n_steps = 0;
    (void)ps_trace_steps(t, &n_steps);
    assert_int_equal(n_steps, 2);
    assert_int_equal(n_rejected(t), 0);
    ps_trace_free(t);
    ps_buf_fini(&text);
}

/* A process that was killed, and one that wrote into the same file after it: what has both ends counts, the rest is said. */
static void passes_without_an_end(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 1 << 20);
    pass(&text, "F0", 0, 10);
    stamp(&text, "B0", "B", 10);
    pass(&text, "F0", 5000, 5010);
    stamp(&text, "B0", "E", 5020);
    ps_buf_add_str(&text, "no line of ours\n\n");
    pass(&text, "B0", 5020, 5040);
    stamp(&text, "F1", "B", 6000);
    text.len -= 1; /* cut */
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_bytes(ps_buf_str(&text), text.len, &err);
    assert_non_null(t);
    assert_int_equal(ps_trace_slices(t)->n, 3);
    assert_int_equal(n_rejected(t), 4);
    ps_trace_free(t);
    ps_buf_fini(&text);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 1 << 20);
    pass(&text, "F0", 0, 10);
    pass(&text, "B0", 10, 30);
    stamp(&text, "B0", "E", 40);
    for (int64_t n = 0;; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = read_bytes(ps_buf_str(&text), text.len, &err);
        int64_t n_made = ps_alloc_fail_at(-1);
        if (t != NULL && n_made <= n) {
            ps_trace_free(t);
            assert_true(n > 10);
            break;
        }
        if (t == NULL && err.code != PS_OK) {
            assert_int_equal(err.code, PS_NOMEM);
        }
        ps_trace_free(t);
        assert_true(n < 2000);
    }
    ps_buf_fini(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(passes),
        cmocka_unit_test(passes_without_an_end),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
