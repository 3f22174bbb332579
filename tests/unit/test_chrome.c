/* Trace events of any program: each fixture of tests/data/chrome is named for what is odd in it, and the text beside it
 * says what becomes of it. Also the trace model's own promises: joins by time, threads, memory, needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/chrome/chrome.h"
#include "read/events/trace_events_blocks.h"
#include "read/events/trace_model.h"
#include "support/trace_lines.h"

#define ALL UINT32_MAX

/* NULL with `err` on failure. */
static ps_trace *read_text(const char *text, size_t n, uint32_t needs, size_t n_threads,
                           ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_input *in = b != NULL ? ps_input_of_memory(text, n, err) : NULL;
    ps_code code = b == NULL    ? ps_fail_nomem(err)
                   : in == NULL ? err->code
                                : ps_chrome_read_input(in, "<memory>", needs, n_threads, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}

static ps_trace *read_str(const char *text) {
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_text(text, strlen(text), ALL, 1, &err);
    assert_non_null(t);
    return t;
}

static void expect_dump(ps_trace *t, const char *expected) {
    ps_buf said;
    ps_buf_init(&said, 0);
    lines_of_trace(t, &said);
    assert_string_equal(ps_buf_str(&said), expected);
    ps_buf_fini(&said);
    ps_trace_free(t);
}

/* --- fixtures ---------------------------------------------------------------------------------------- */

static void fixtures_become_what_stands_beside_them(void **state) {
    (void)state;
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    size_t n_done = 0;
    assert_int_equal(ps_list_dir("tests/data/chrome", &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        if (!ps_ends_with(names[i], ".json")) {
            continue;
        }
        char path[256];
        (void)snprintf(path, sizeof path, "tests/data/chrome/%s", names[i]);
        ps_buf json;
        ps_buf expected;
        ps_buf_init(&json, 0);
        ps_buf_init(&expected, 0);
        assert_int_equal(ps_read_file(path, 1 << 20, &json, NULL), PS_OK);
        (void)snprintf(path + strlen(path) - 4, 5, "txt");
        assert_int_equal(ps_read_file(path, 1 << 20, &expected, NULL), PS_OK);
        print_message("# %s\n", names[i]);
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_text(json.data, json.len, ALL, 1, &err);
        assert_non_null(t);
        expect_dump(t, ps_buf_str(&expected));
        ps_buf_fini(&json);
        ps_buf_fini(&expected);
        n_done++;
    }
    assert_true(n_done >= 20);
    ps_arena_fini(&arena);
}

/* --- what is asked for ------------------------------------------------------------------------------- */

static const char MIXED[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"a\",\"args\":"
    "{\"k\":1}},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2,\"name\":\"b\"},"
    "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":1,\"name\":\"x\",\"cat\":\"c\"},"
    "{\"ph\":\"f\",\"bp\":\"e\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":5,\"name\":\"x\",\"cat\":\"c\"},"
    "{\"ph\":\"C\",\"pid\":1,\"ts\":2,\"name\":\"n\",\"args\":{\"value\":3}},"
    "{\"ph\":\"b\",\"cat\":\"c\",\"id\":1,\"pid\":1,\"ts\":3,\"name\":\"r\"},"
    "{\"ph\":\"e\",\"cat\":\"c\",\"id\":1,\"pid\":1,\"ts\":4,\"name\":\"r\"}],\"k\":\"v\"}";

static void needs_choose_what_is_kept(void **state) {
    (void)state;
    static const struct {
        uint32_t needs;
        const char *expected;
    } CASES[] = {
        {PS_NEED_META, "meta k v\n"},
        {PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_STEPS, ""},
        {PS_NEED_COUNTERS, "counter 1 (n) 0 3\n"},
        {PS_NEED_SLICES, "host-other 1/1 a 0+2000\nhost-other lane 1/-1 (r) r 2000+1000\n"
                         "host-other 1/1 b 4000+2000\n"},
        {PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS,
         "host-other 1/1 a 0+2000 {k=1}\nhost-other lane 1/-1 (r) r 2000+1000\n"
         "host-other 1/1 b 4000+2000\nflow c a -> b\n"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_text(MIXED, strlen(MIXED), CASES[i].needs, 1, &err);
        assert_non_null(t);
        expect_dump(t, CASES[i].expected);
    }
}

/* --- flows ------------------------------------------------------------------------------------------- */

/* A hundred thousand points on one id, slices that start together, slices that never nest: still linear. */
static void many_points_and_slices_of_one_place_stay_cheap(void **state) {
    (void)state;
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_char(&json, '[');
    enum { N = 50000 };
    for (int i = 0; i < N; i++) {
        ps_buf_addf(&json, "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":%d,\"name\":\"a\"},",
                    i);
        ps_buf_addf(
            &json, "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":%d,\"name\":\"b\"},", i, N);
        ps_buf_addf(
            &json,
            "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":0,\"name\":\"x\",\"cat\":\"c\"},"
            "{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":%d,\"name\":\"x\",\"cat\":\"c\"},",
            i);
    }
    ps_buf_add_str(&json, "{\"ph\":\"M\"}]");
    assert_true(ps_buf_ok(&json));
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_text(json.data, json.len, ALL, 1, &err);
    assert_non_null(t);
    size_t n_flows = 0;
    (void)ps_trace_flows(t, &n_flows);
    assert_int_equal(ps_trace_slices(t)->n, 2 * N);
    assert_int_equal(n_flows, N); /* from the last beginning at 0 to each b */
    ps_trace_free(t);
    ps_buf_fini(&json);
}

/* --- what a dialect can do --------------------------------------------------------------------------- */

static void leave_out_b(void *context, ps_builder *b, const ps_model_event *e, ps_slice_kind *kind,
                        uint32_t *track) {
    (void)context;
    const char *name = ps_builder_text(b, e->name);
    if (strcmp(name, "b") == 0) {
        *track = PS_NONE;
    } else if (strcmp(name, "k") == 0) {
        *kind = PS_SLICE_KERNEL;
        *track = ps_builder_track(
            b, (ps_track){.kind = PS_TRACK_STREAM, .pid = e->pid, .tid = e->tid, .device = 4});
    }
}

/* Whatever the dialect makes of the thread: its end is found, its label goes to the tracks in use, no other track is
 * made. */
static void dialects_place_slices(void **state) {
    (void)state;
    static const char TEXT[] =
        "[{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1,\"name\":\"a\"},"
        "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":2,\"name\":\"b\"},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":5,\"dur\":2,\"name\":\"k\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":5,\"dur\":1,\"name\":\"k\"},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":7,\"name\":\"thread_name\",\"args\":{\"name\":\"stream 7 \"}}]";
    ps_err err = PS_ERR_INIT;
    ps_builder *b = ps_builder_new();
    ps_input *in = ps_input_of_memory(TEXT, strlen(TEXT), &err);
    ps_dialect dialect = {.place = leave_out_b};
    assert_int_equal(ps_trace_model_read(in, &dialect, ALL, NULL, NULL, 1, b, &err), PS_OK);
    ps_input_close(in);
    expect_dump(ps_builder_seal(b, &err),
                "host-other 1/1 a 0+3000\nkernel stream 4/7 k 4000+2000\n"
                "kernel stream 4/7 k 4000+1000\ntrack stream 4/7: stream 7\n");
}

static void all_on_one(void *context, ps_builder *b, const ps_model_event *e, ps_slice_kind *kind,
                       uint32_t *track) {
    (void)context;
    (void)e;
    *kind = PS_SLICE_KERNEL;
    *track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 7, .device = 4});
}

/* Three threads on one track, their flow points across each other in time and in the file. */
static void threads_share_a_track(void **state) {
    (void)state;
    enum { N = 9 };
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_char(&json, '[');
    for (int i = 0; i < N; i++) {
        ps_buf_addf(&json,
                    "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":5,\"name\":\"k\"},",
                    i % 3, i * 10);
    }
    for (int i = N - 2; i >= 0; i--) {
        ps_buf_addf(&json, "{\"ph\":\"s\",\"id\":%d,\"cat\":\"c\",\"pid\":1,\"tid\":%d,\"ts\":%d},",
                    i, i % 3, i * 10 + 2);
        ps_buf_addf(&json,
                    "{\"ph\":\"f\",\"id\":%d,\"cat\":\"c\",\"pid\":1,\"tid\":%d,\"ts\":%d}%s", i,
                    (i + 1) % 3, i * 10 + 8, i > 0 ? "," : "]");
    }
    ps_err err = PS_ERR_INIT;
    ps_dialect dialect = {.place = all_on_one};
    for (int64_t at = 0;; at++) {
        (void)ps_alloc_fail_at(at);
        ps_builder *b = ps_builder_new();
        ps_input *in = b != NULL ? ps_input_of_memory(json.data, json.len, &err) : NULL;
        ps_code code =
            in != NULL ? ps_trace_model_read(in, &dialect, ALL, NULL, NULL, 1, b, &err) : PS_NOMEM;
        bool done = ps_alloc_fail_at(-1) <= at;
        ps_input_close(in);
        if (!done) {
            assert_true(code == PS_NOMEM || code == PS_OK);
            ps_builder_free(b);
            continue;
        }
        assert_int_equal(code, PS_OK);
        ps_trace *t = ps_builder_seal(b, &err);
        size_t n = 0;
        const ps_flow *flows = ps_trace_flows(t, &n);
        assert_int_equal(n, N - 1);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(flows[i].to, flows[i].from + 1);
        }
        ps_trace_free(t);
        break;
    }
    ps_buf_fini(&json);
}

/* By hand: two batches with texts of their own. */
static void slices_are_found_by_track_and_time(void **state) {
    (void)state;
    static const ps_event_text FIRST[] = {{"", 0}, {"a", 1}};
    static const ps_event_text SECOND[] = {{"", 0}, {"b", 1}, {"a", 1}};
    const uint16_t flags = PS_EVENT_HAS_TS | PS_EVENT_HAS_DUR | PS_EVENT_HAS_PID | PS_EVENT_HAS_TID;
    const ps_event events[] = {
        {.ph = 'X', .ts_ns = 50, .dur_ns = 5, .pid = 1, .tid = 1, .name = 1, .flags = flags},
        {.ph = 'X', .ts_ns = 10, .dur_ns = 5, .pid = 1, .tid = 1, .name = 1, .flags = flags},
        {.ph = 'X', .ts_ns = 10, .dur_ns = 9, .pid = 1, .tid = 1, .name = 2, .flags = flags}};
    ps_builder *b = ps_builder_new();
    ps_trace_model *m = ps_trace_model_new(b, NULL, ALL);
    assert_non_null(m);
    ps_event_batch batch = {.events = events, .n_events = 1, .texts = FIRST, .n_texts = 2};
    assert_int_equal(ps_trace_model_batch(m, &batch, NULL), PS_OK);
    batch = (ps_event_batch){
        .events = events + 1, .n_events = 2, .first_event = 1, .texts = SECOND, .n_texts = 3};
    assert_int_equal(ps_trace_model_batch(m, &batch, NULL), PS_OK);
    assert_int_equal(ps_trace_model_finish(m, NULL), PS_OK);
    uint32_t slice = ps_trace_model_slice_at(m, 0, 10);
    assert_int_equal(slice, 2); /* the longer one */
    assert_string_equal(ps_builder_text(b, ps_builder_slice_name(b, slice)), "a");
    assert_int_equal(ps_trace_model_slice_at(m, 0, 50), 0);
    assert_int_equal(ps_trace_model_slice_at(m, 0, 11), PS_NONE);
    assert_int_equal(ps_trace_model_slice_at(m, 0, 51), PS_NONE);
    assert_int_equal(ps_trace_model_slice_at(m, 5, 10), PS_NONE);
    ps_trace_model_free(m);
    ps_builder_free(b);
}

/* --- memory and threads ------------------------------------------------------------------------------ */

static void every_allocation_may_fail(void **state) {
    (void)state;
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, "[");
    static const char *const FILES[] = {"async-out-of-order", "begin-end-nested", "counters",
                                        "flow-chains",        "flow-version-2",   "text-pids"};
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "tests/data/chrome/%s.json", FILES[i]);
        ps_buf part;
        ps_buf_init(&part, 0);
        assert_int_equal(ps_read_file(path, 1 << 20, &part, NULL), PS_OK);
        const char *begin = strchr(part.data, '[') + 1;
        ps_buf_add(&json, begin, (size_t)(strrchr(part.data, ']') - begin));
        ps_buf_add_str(&json, i + 1 < sizeof FILES / sizeof *FILES ? "," : "]");
        ps_buf_fini(&part);
    }
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = read_text(json.data, json.len, ALL, 1, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true(t != NULL || err.code == PS_NOMEM);
        assert_true(!done || t != NULL);
        ps_trace_free(t);
    }
    ps_buf_fini(&json);
}

static void threads_change_nothing(void **state) {
    (void)state;
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, "{\"traceEvents\":[");
    for (int i = 0; i < 16000; i++) {
        ps_buf_addf(
            &json,
            "{\"ph\":\"B\",\"pid\":%d,\"tid\":\"t%d\",\"ts\":%d.5,\"name\":\"n%d\",\"args\":{\"i\":%d}},"
            "{\"ph\":\"s\",\"id\":%d,\"pid\":%d,\"tid\":\"t%d\",\"ts\":%d.5,\"name\":\"x\"},"
            "{\"ph\":\"E\",\"pid\":%d,\"tid\":\"t%d\",\"ts\":%d.75},\n",
            i % 3, i % 5, i, i % 1000, i, i / 2, i % 3, i % 5, i, i % 3, i % 5, i);
        ps_buf_addf(
            &json,
            "{\"ph\":\"f\",\"id\":%d,\"pid\":%d,\"tid\":\"t%d\",\"ts\":%d.6,\"name\":\"x\",\"bp\":\"e\"}"
            ",{\"ph\":\"C\",\"pid\":1,\"ts\":%d,\"name\":\"c%d\",\"args\":{\"v\":%d}}%s\n",
            i / 2 + 1, i % 3, i % 5, i, i, i % 7, i, i == 15999 ? "]}" : ",");
    }
    ps_buf said[2];
    static const size_t THREADS[] = {1, 4};
    for (size_t k = 0; k < 2; k++) {
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_text(json.data, json.len, ALL, THREADS[k], &err);
        assert_non_null(t);
        ps_buf_init(&said[k], 0);
        lines_of_trace(t, &said[k]);
        ps_trace_free(t);
    }
    assert_true(said[0].len > 300000);
    assert_int_equal(said[0].len, said[1].len);
    assert_memory_equal(said[0].data, said[1].data, said[0].len);
    ps_buf_fini(&said[0]);
    ps_buf_fini(&said[1]);
    ps_buf_fini(&json);
}

/* The innermost slice around takes the point when none begins there; an instant never does. */
static void instants_take_no_flow(void **state) {
    (void)state;
    expect_dump(
        read_str("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"a\"},"
                 "{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":1,\"name\":\"i\"},"
                 "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2,\"name\":\"b\"},"
                 "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":1,\"cat\":\"c\"},"
                 "{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":4,\"cat\":\"c\"}]"),
        "host-other 1/1 a 0+2000\ninstant 1/1 i 0+0\nhost-other 1/1 b 4000+2000\nflow c a -> b\n");
}

/* --- events at time 0 ------------------------------------------------------------------------------------ */

static ps_code give_batch(void *context, const ps_event_batch *batch, ps_err *err) {
    return ps_trace_model_batch(context, batch, err);
}

/* Strays are left out; blocks of so many bytes. What there is goes to `said`; the result is how many were left out. */
static uint64_t read_zeros(const char *text, size_t block_bytes, ps_buf *said) {
    static const ps_dialect DIALECT = {.zero_is_stray = true};
    static const ps_event_schema SCHEMA = {.all_args = true};
    const ps_event_tuning tuning = {.block_bytes = block_bytes, .n_threads = 1};
    ps_err err = PS_ERR_INIT;
    ps_event_stats stats;
    ps_builder *b = ps_builder_new();
    ps_input *in = ps_input_of_memory(text, strlen(text), &err);
    ps_trace_model *m = ps_trace_model_new(b, &DIALECT, ALL);
    ps_event_sink sink = {m, give_batch, NULL};
    assert_int_equal(
        ps_trace_events_read_tuned(in, &SCHEMA, &sink, &tuning, ps_builder_diag(b), &stats, &err),
        PS_OK);
    assert_int_equal(ps_trace_model_finish(m, &err), PS_OK);
    ps_trace_model_free(m);
    ps_input_close(in);
    ps_trace *t = ps_builder_seal(b, &err);
    assert_non_null(t);
    uint64_t n_stray = ps_trace_diag(t)->counts[PS_ODD_TIME_ZERO];
    lines_of_trace(t, said);
    ps_trace_free(t);
    return n_stray;
}

#define ZERO                                                                                       \
    "{\"ph\":\"X\",\"name\":\"z\",\"cat\":\"c\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":0,\"dur\":1,"   \
    "\"args\":{\"k\":\"v\",\"n\":7}},"                                                             \
    "{\"ph\":\"s\",\"name\":\"f\",\"cat\":\"c\",\"id\":\"i\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":0},"
#define NAMED "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"p\",\"args\":{\"name\":\"P\"}},"
#define NEAR "{\"ph\":\"X\",\"name\":\"near\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1},"
#define FAR "{\"ph\":\"X\",\"name\":\"far\",\"pid\":1,\"tid\":1,\"ts\":1700000000000000,\"dur\":1},"
#define ENDING                                                                                     \
    "{\"ph\":\"f\",\"name\":\"f\",\"cat\":\"c\",\"id\":\"i\",\"pid\":1,\"tid\":1,\"ts\":5}]"

static void zeros_are_the_same_however_the_input_is_cut(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t n_stray;
    } CASES[] = {{"[" ZERO ZERO NAMED FAR ENDING, 4},
                 {"[" ZERO NAMED NEAR FAR ZERO ENDING, 2},
                 {"[" FAR ZERO NEAR ZERO ENDING, 4},
                 {"[" ZERO ZERO NEAR ENDING, 0},
                 {"[" ZERO NAMED ZERO "{\"ph\":\"?\"}]", 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_buf whole;
        ps_buf_init(&whole, 0);
        assert_int_equal(read_zeros(CASES[i].text, 0, &whole), CASES[i].n_stray);
        for (size_t block_bytes = 1; block_bytes < 300; block_bytes += 41) {
            ps_buf cut;
            ps_buf_init(&cut, 0);
            assert_int_equal(read_zeros(CASES[i].text, block_bytes, &cut), CASES[i].n_stray);
            assert_string_equal(ps_buf_str(&cut), ps_buf_str(&whole));
            ps_buf_fini(&cut);
        }
        ps_buf_fini(&whole);
    }
}

/* No more than 4096 events are held back. */
static void many_zeros_are_times(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_str(&text, "[");
    for (int i = 0; i < 2048; i++) {
        ps_buf_add_str(&text, ZERO);
    }
    size_t full = text.len;
    ps_buf_add_str(&text, FAR ENDING);
    ps_buf said;
    ps_buf_init(&said, 0);
    assert_int_equal(read_zeros(ps_buf_str(&text), 1000, &said), 4096);
    text.len = full;
    ps_buf_add_str(&text, ZERO FAR ZERO ENDING);
    assert_int_equal(read_zeros(ps_buf_str(&text), 1000, &said), 2);
    ps_buf_fini(&said);
    ps_buf_fini(&text);
}

/* Names that differ far behind are two counters, cut between characters; a name's zero bytes are kept. */
static void names_of_any_bytes(void **state) {
    (void)state;
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_char(&json, '[');
    for (int i = 0; i < 3; i++) {
        ps_buf_add_str(&json, "{\"ph\":\"C\",\"pid\":1,\"ts\":1,\"name\":\"");
        ps_buf_add_fill(&json, 'a', 1023);
        ps_buf_addf(&json, "\xC3\xA9%s\",\"args\":{\"v\":1}},", i == 0 ? "b" : "c");
    }
    ps_buf_add_str(&json, "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"x\"},"
                          "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\","
                          "\"args\":{\"name\":\"a\\u0000b \"}}]");
    ps_trace *t = read_str(ps_buf_str(&json));
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < 2; i++) {
        const char *name = ps_trace_text(t, tracks[i].name);
        assert_int_equal(strspn(name, "a"), 1023);
        assert_int_equal(name[1023], '~');
        assert_int_equal(strlen(name), 1023 + 1 + 16 + 2);
    }
    assert_string_not_equal(ps_trace_text(t, tracks[0].name), ps_trace_text(t, tracks[1].name));
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TEXT], 2);
    assert_int_equal(ps_trace_text_len(t, tracks[2].label), 3);
    assert_memory_equal(ps_trace_text(t, tracks[2].label), "a\0b", 4);
    ps_trace_free(t);
    ps_buf_fini(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixtures_become_what_stands_beside_them),
        cmocka_unit_test(needs_choose_what_is_kept),
        cmocka_unit_test(many_points_and_slices_of_one_place_stay_cheap),
        cmocka_unit_test(dialects_place_slices),
        cmocka_unit_test(threads_share_a_track),
        cmocka_unit_test(slices_are_found_by_track_and_time),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(zeros_are_the_same_however_the_input_is_cut),
        cmocka_unit_test(many_zeros_are_times),
        cmocka_unit_test(instants_take_no_flow),
        cmocka_unit_test(names_of_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
