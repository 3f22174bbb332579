/* Writing a trace and reading it back; lanes; what happens when memory or disk run out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/chrome/pipescope_json.h"
#include "read/readers.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/trace_dump.h"
#include "support/trace_samples.h"
#include "write/trace/trace_layout.h"
#include "write/trace/trace_writer.h"

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS |            \
     PS_NEED_ARGS)

static const ps_trace_source SOURCES[] = {{0, "host a", "rank 0", NULL, 2},
                                          {1, "", "rank 1", NULL, -1}};

/* Writes the trace as each of `n` ranks. */
static ps_code write_as(const char *path, const ps_trace *t, size_t n, ps_buf *out) {
    const ps_trace_format *format = ps_trace_format_for(path);
    ps_sink sink = ps_sink_buf(out);
    ps_err err = PS_ERR_INIT;
    ps_trace_writer *w = ps_trace_writer_to_sink(format, &sink, SOURCES, n, &err);
    if (w == NULL) {
        return err.code;
    }
    for (size_t i = 0; i < n; i++) {
        ps_code code = ps_trace_writer_rank(w, i, t, &err);
        if (code != PS_OK) {
            ps_trace_writer_abort(w);
            return code;
        }
    }
    return ps_trace_writer_commit(w, NULL, &err);
}

static ps_trace *read_back(const ps_buf *json, int64_t part, uint32_t needs, ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_input *in = b != NULL ? ps_input_of_memory(json->data, json->len, err) : NULL;
    if (in == NULL) {
        ps_builder_free(b);
        if (b == NULL) {
            (void)ps_fail_nomem(err);
        }
        return NULL;
    }
    ps_code code = ps_pipescope_json_read(in, part, needs, 1, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}

static void expect_same(const ps_trace *got, const ps_trace *wanted) {
    ps_buf a;
    ps_buf b;
    ps_buf_init(&a, 0);
    ps_buf_init(&b, 0);
    trace_dump(got, &a);
    trace_dump(wanted, &b);
    assert_same_dump(&a, &b);
    ps_buf_fini(&a);
    ps_buf_fini(&b);
}

static void json_is_read_back_as_it_was(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    ps_buf json;
    ps_buf_init(&json, 0);
    for (size_t n = 1; n <= 2; n++) {
        ps_buf_clear(&json);
        assert_int_equal(write_as("x.json", t, n, &json), PS_OK);
        for (size_t part = 0; part < n; part++) {
            ps_err err = PS_ERR_INIT;
            ps_trace *again = read_back(&json, (int64_t)part, EVERYTHING, &err);
            if (again == NULL) {
                fail_msg("%s", err.msg);
            }
            assert_int_equal(ps_diag_n_errors(ps_trace_diag(again)), 0);
            expect_same(again, t);
            ps_trace_free(again);
        }
    }
    ps_buf_fini(&json);
    ps_trace_free(t);
}

static void expect_machine(const ps_part *part, const char *host, int32_t machine) {
    assert_string_equal(part->host, host);
    assert_int_equal(part->machine, machine);
}

static void machines_of_ranks_come_back(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES], path[SCRATCH_BYTES + 32];
    scratch_make(dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/x.json", dir);
    ps_trace *t = sample_of_everything();
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 2, &json), PS_OK);
    assert_int_equal(ps_write_file(path, json.data, json.len, NULL), PS_OK);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n = 0;
    assert_int_equal(ps_reader_find("pipescope-json")->parts(path, &arena, &parts, &n, NULL),
                     PS_OK);
    assert_int_equal(n, 2);
    expect_machine(&parts[0], "host a", 2);
    expect_machine(&parts[1], "", -1);
    ps_arena_fini(&arena);
    ps_buf_fini(&json);
    ps_trace_free(t);
    scratch_remove(dir);
}

/* --- side tables --------------------------------------------------------------------------------------- */

static const ps_column LINKS[] = {{.name = "group \"tp\"", .type = PS_COL_TEXT},
                                  {.name = "bytes", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
                                  {.name = "GB/s", .type = PS_COL_REAL}};

static ps_trace *trace_with_tables(void) {
    ps_builder *b = ps_builder_new();
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .device = 0});
    ps_builder_slice(b, PS_SLICE_KERNEL, track, ps_builder_str(b, "k", 1), 1000, 2000, 0);
    ps_table *links = ps_table_new("links", "", LINKS, 3);
    assert_true(ps_table_add_row(links) && ps_table_set_text(links, 0, "a\"[]\n"));
    ps_table_set_int(links, 1, INT64_MIN);
    ps_table_set_real(links, 2, 0.1);
    assert_true(ps_table_add_row(links));
    assert_true(ps_table_add_row(links) && ps_table_set_text(links, 0, ""));
    ps_table_set_real(links, 2, 2);
    ps_builder_side_table(b, links);
    ps_builder_side_table(b, ps_table_new("empty", "", LINKS, 1));
    return ps_builder_seal(b, NULL);
}

static void side_tables_come_back(void **state) {
    (void)state;
    ps_trace *t = trace_with_tables();
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    ps_err err = PS_ERR_INIT;
    ps_trace *again = read_back(&json, 0, EVERYTHING | PS_NEED_STATISTICS, &err);
    assert_int_equal(ps_diag_n_errors(ps_trace_diag(again)), 0);
    size_t n = 0;
    (void)ps_trace_side_tables(again, &n);
    assert_int_equal(n, 2);
    assert_int_equal(ps_trace_side_table(again, "empty")->n_rows, 0);
    const ps_table *links = ps_trace_side_table(again, "links");
    assert_int_equal(links->n_rows, 3);
    for (size_t c = 0; c < 3; c++) {
        assert_string_equal(links->columns[c].name, LINKS[c].name);
        assert_int_equal(links->columns[c].type, LINKS[c].type);
        assert_int_equal(links->columns[c].unit, LINKS[c].unit);
        assert_true(ps_table_cell(links, 1, c)->is_null);
    }
    assert_string_equal(ps_table_cell(links, 0, 0)->u.text, "a\"[]\n");
    assert_true(ps_table_cell(links, 0, 1)->u.i == INT64_MIN);
    assert_true(ps_table_cell(links, 0, 2)->u.r == 0.1 && ps_table_cell(links, 2, 2)->u.r == 2);
    assert_string_equal(ps_table_cell(links, 2, 0)->u.text, "");
    ps_trace_free(again);
    again = read_back(&json, 0, EVERYTHING, &err); /* not asked for */
    assert_null(ps_trace_side_table(again, "links"));
    ps_trace_free(again);
    ps_buf_fini(&json);
    ps_trace_free(t);
}

static void a_part_that_is_not_there(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    ps_err err = PS_ERR_INIT;
    assert_null(read_back(&json, 3, EVERYTHING, &err));
    assert_int_equal(err.code, PS_NOTHING);
    ps_buf_fini(&json);
    ps_trace_free(t);
}

/* What is not asked for is not there. */
static void needs_are_heeded(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    ps_err err = PS_ERR_INIT;
    size_t n = 0;
    ps_trace *steps = read_back(&json, 0, PS_NEED_STEPS, &err);
    (void)ps_trace_steps(steps, &n);
    assert_int_equal(n, 2);
    assert_int_equal(ps_trace_slices(steps)->n, 0);
    assert_int_equal(ps_trace_counters(steps)->n, 0);
    assert_null(ps_trace_meta(steps, "pp_info"));
    ps_trace_free(steps);
    ps_trace *slices = read_back(&json, 0, PS_NEED_SLICES, &err);
    assert_int_equal(ps_trace_slices(slices)->n, ps_trace_slices(t)->n);
    (void)ps_trace_flows(slices, &n);
    assert_int_equal(n, 0);
    ps_trace_free(slices);
    ps_buf_fini(&json);
    ps_trace_free(t);
}

/* --- odd files ----------------------------------------------------------------------------------------- */

static ps_trace *read_text(const char *text, ps_err *err) {
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, text);
    ps_trace *t = read_back(&json, 0, EVERYTHING | PS_NEED_STATISTICS, err);
    ps_buf_fini(&json);
    return t;
}

#define HEAD "{\"pipescope\":{\"version\":1,\"ranks\":[]},\"traceEvents\":["
#define RANK "{\"ph\":\"M\",\"name\":\"pipescope_rank\",\"pid\":1,\"tid\":1,\"args\":{\"part\":0}}"
#define TRACK                                                                                       \
    "{\"ph\":\"M\",\"name\":\"pipescope_track\",\"pid\":1,\"tid\":1,\"args\":{\"kind\":\"thread\"," \
    "\"pid\":1,\"tid\":1,\"device\":-1}}"

static void odd_files_are_counted(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_text(
        HEAD RANK "," TRACK ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"}"
                  ",{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"no track\"}"
                  ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"no time\"}"
                  ",{\"ph\":\"C\",\"pid\":1,\"name\":\"no counter\",\"ts\":1,\"args\":{\"v\":1}}"
                  ",{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"slice\":0}}"
                  ",{\"ph\":\"f\",\"id\":2,\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"slice\":0}}"
                  ",{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"slice\":9}}"
                  ",{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1}"
                  ",{\"ph\":\"M\",\"name\":\"pipescope_step\",\"pid\":1,\"args\":{}}"
                  "]}",
        &err);
    assert_non_null(t);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    const ps_diag *d = ps_trace_diag(t);
    assert_int_equal(d->counts[PS_ODD_EVENT_FIELD], 2);
    assert_int_equal(d->counts[PS_ODD_TIME], 1);
    assert_int_equal(d->counts[PS_ODD_FLOW_HALF], 1);
    assert_int_equal(d->counts[PS_ODD_FLOW_NO_SLICE], 1);
    assert_int_equal(d->counts[PS_ODD_EVENT_PHASE], 1);
    assert_int_equal(d->counts[PS_ODD_METADATA_EVENT], 1);
    ps_trace_free(t);
}

#define TABLE(args) ",{\"ph\":\"M\",\"name\":\"pipescope_table\",\"pid\":1,\"args\":{" args "}}"
#define ROW(args) ",{\"ph\":\"M\",\"name\":\"pipescope_row\",\"pid\":1,\"args\":{" args "}}"

static void odd_tables_are_counted(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_text(
        HEAD RANK ROW("\"cells\":[1]") TABLE("\"table\":\"none\"") ROW("\"cells\":[1]") TABLE(
            "\"table\":\"x\",\"columns\":{\"a\":\"integer, miles\"}")
            TABLE("\"table\":\"x\",\"columns\":{\"a\":\"word\"}") TABLE(
                "\"table\":\"t\",\"columns\":{\"a\":\"integer\",\"b\":\"text\"}")
                ROW("\"cells\":[1,\"x\"]") ROW("\"cells\":[1]") ROW("\"cells\":[1,\"x\",2]") ROW(
                    "\"cells\":[1.5,\"x\"]") ROW("\"cells\":[1,2]") ROW("\"cells\":[[],{}]")
                    ROW("\"cells\":3") ROW("") ROW(
                        "\"cells\":[null,null]") "," TRACK
                                                 ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"}"
                                                 "]}",
        &err);
    assert_non_null(t);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_METADATA_EVENT], 12);
    size_t n = 0;
    (void)ps_trace_side_tables(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(ps_trace_side_table(t, "t")->n_rows, 2);
    ps_trace_free(t);
}

static void other_versions_are_refused(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    assert_null(read_text("{\"pipescope\":{\"version\":2},\"traceEvents\":[]}", &err));
    assert_int_equal(err.code, PS_UNSUPPORTED);
    err = PS_ERR_INIT;
    assert_null(read_text(
        HEAD RANK "," TRACK ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"}"
                  "],\"baseTimeNanoseconds\":5}",
        &err));
    assert_int_equal(err.code, PS_SYNTAX);
}

/* --- lanes --------------------------------------------------------------------------------------------- */

/* On every lane each slice lies inside the innermost one that is open, and no lane is deeper than it may be. */
static void expect_nested(const ps_trace *t, const ps_trace_layout *l) {
    const ps_slices *s = ps_trace_slices(t);
    ps_open_ends *open = calloc(l->n_lanes, sizeof *open);
    assert_non_null(open);
    for (uint32_t row = 0; row < s->n; row++) {
        uint32_t lane = l->lane_of[row];
        assert_int_equal(l->lanes[lane].track, s->track[row]);
        ps_open_ends *o = &open[lane];
        (void)ps_open_ends_pop(o, s->start_ns[row]);
        int64_t end_ns = s->start_ns[row] + s->dur_ns[row];
        assert_true(o->n == 0 || o->ends[o->n - 1] >= end_ns);
        assert_true(o->n < PS_LANE_MAX_DEPTH);
        assert_true(ps_open_ends_push(o, end_ns));
    }
    for (size_t i = 0; i < l->n_lanes; i++) {
        ps_free(open[i].ends);
    }
    free(open);
}

static void crossing_slices_get_lanes(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    ps_trace_layout l;
    assert_int_equal(ps_trace_layout_init(&l, t, NULL), PS_OK);
    expect_nested(t, &l);
    assert_int_equal(l.n_lanes, l.n_tracks + 2); /* on the thread */
    ps_trace_layout_fini(&l);
    ps_trace_free(t);
}

static void depth_has_a_limit(void **state) {
    (void)state;
    ps_trace *t = sample_of_many(4000, 1300);
    ps_trace_layout l;
    assert_int_equal(ps_trace_layout_init(&l, t, NULL), PS_OK);
    expect_nested(t, &l);
    assert_int_equal(l.n_lanes, 3);
    ps_trace_layout_fini(&l);
    ps_trace_free(t);
}

/* Each slice crosses all that are open: thousands of lanes, found without looking at each, and used again. */
static void many_lanes(void **state) {
    (void)state;
    enum { N = 200000, OPEN = 5000 };
    ps_builder *b = ps_builder_new();
    uint32_t on = ps_builder_track(b, (ps_track){.kind = PS_TRACK_DERIVED, .pid = 1});
    for (int64_t i = 0; i < N; i++) {
        (void)ps_builder_slice(b, PS_SLICE_DERIVED, on, PS_STR_NONE, i, i + OPEN, i);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    ps_trace_layout l;
    assert_int_equal(ps_trace_layout_init(&l, t, NULL), PS_OK);
    expect_nested(t, &l);
    assert_int_equal(l.n_lanes, OPEN);
    ps_trace_layout_fini(&l);
    ps_trace_free(t);
}

/* Counters of one title get names in the order of their rows, and numbering them does not begin anew with each. */
static void counters_of_one_title(void **state) {
    (void)state;
    enum { N = 60000 };
    ps_builder *b = ps_builder_new();
    ps_str name = ps_builder_str(b, "Read", 4);
    for (int64_t i = 0; i < N; i++) {
        uint32_t on = ps_builder_track(
            b, (ps_track){.kind = PS_TRACK_COUNTER, .pid = 1, .tid = i, .name = name});
        (void)ps_builder_counter(b, on, 1, 1.0);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    assert_non_null(strstr(json.data, "\"ph\":\"C\",\"name\":\"Read\""));
    assert_non_null(strstr(json.data, "\"ph\":\"C\",\"name\":\"Read (60000)\""));
    assert_null(strstr(json.data, "Read (60001)"));
    ps_buf_fini(&json);
    ps_trace_free(t);
}

/* Kinds that share a category keep its text, as other tools look for it; the name of the slice tells them apart, and
 * only where that does not the text changes. */
static void categories_stay_as_they_were(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t on = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 1, .tid = 7});
    ps_str cat = ps_builder_str(b, "kernel", 6);
    ps_str gemm = ps_builder_str(b, "gemm", 4);
    ps_str nccl = ps_builder_str(b, "ncclKernel", 10);
    ps_str both = ps_builder_str(b, "both", 4);
    (void)ps_builder_slice_in(b, PS_SLICE_KERNEL, on, gemm, cat, 0, 5, 0);
    (void)ps_builder_slice_in(b, PS_SLICE_COMM_KERNEL, on, nccl, cat, 10, 15, 1);
    (void)ps_builder_slice_in(b, PS_SLICE_KERNEL, on, both, cat, 20, 25, 2);
    (void)ps_builder_slice_in(b, PS_SLICE_COPY, on, both, cat, 30, 35, 3);
    ps_trace *t = ps_builder_seal(b, NULL);
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    assert_non_null(strstr(json.data, "\"name\":\"gemm\",\"cat\":\"kernel\","));
    assert_non_null(strstr(json.data, "\"name\":\"ncclKernel\",\"cat\":\"kernel\","));
    assert_non_null(strstr(json.data, "\"name\":\"both\",\"cat\":\"kernel\","));
    assert_non_null(strstr(json.data, "\"name\":\"both\",\"cat\":\"kernel,copy\","));
    ps_err err = PS_ERR_INIT;
    ps_trace *again = read_back(&json, 0, EVERYTHING, &err);
    assert_non_null(again);
    expect_same(again, t);
    ps_trace_free(again);
    ps_buf_fini(&json);
    ps_trace_free(t);
}

/* A made-up name of an argument is none that another argument has. */
static void repeated_arguments_get_free_names(void **state) {
    (void)state;
    static const char *const KEYS[] = {"k", "k", "k (2)", "k"};
    ps_builder *b = ps_builder_new();
    uint32_t on = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 1, .tid = 7});
    uint32_t slice = ps_builder_slice(b, PS_SLICE_KERNEL, on, PS_STR_NONE, 0, 5, 0);
    for (int i = 0; i < 4; i++) {
        ps_builder_arg_int(b, slice, KEYS[i], i);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    assert_non_null(strstr(json.data, "\"args\":{\"k\":0,\"k (3)\":1,\"k (2)\":2,\"k (4)\":3}"));
    ps_buf_fini(&json);
    ps_trace_free(t);
}

/* Perfetto's times are unsigned: what lies before zero is left out and counted, its flows too; metadata stays. */
static void times_before_zero(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t on = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 1, .tid = 7});
    uint32_t rows[3];
    for (int i = 0; i < 3; i++) {
        rows[i] = ps_builder_slice(b, PS_SLICE_KERNEL, on, PS_STR_NONE, 10 * i, 10 * i + 5, i);
    }
    ps_builder_flow(b, rows[0], rows[1]);
    ps_trace *positive = ps_builder_seal(b, NULL);
    b = ps_builder_new();
    on = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 1, .tid = 7});
    for (int i = 0; i < 3; i++) {
        int64_t at = 10 * i - 5;
        rows[i] = ps_builder_slice(b, PS_SLICE_KERNEL, on, PS_STR_NONE, at, at + 3, i);
    }
    ps_builder_flow(b, rows[0], rows[1]);
    ps_builder_flow(b, rows[1], rows[2]);
    ps_builder_meta(b, "a key of the second", "its value");
    ps_trace *negative = ps_builder_seal(b, NULL);
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_sink sink = ps_sink_buf(&out);
    ps_trace_writer *w =
        ps_trace_writer_to_sink(ps_trace_format_for("x.pftrace"), &sink, SOURCES, 2, NULL);
    assert_int_equal(ps_trace_writer_rank(w, 0, positive, NULL), PS_OK);
    assert_int_equal(ps_trace_writer_rank(w, 1, negative, NULL), PS_OK);
    ps_trace_written written;
    assert_int_equal(ps_trace_writer_commit(w, &written, NULL), PS_OK);
    assert_int_equal(written.n_slices, 5);
    assert_int_equal(written.n_negative, 1);
    assert_int_equal(written.n_flows, 2);
    assert_non_null(memmem(out.data, out.len, "a key of the second", 19));
    ps_buf_fini(&out);
    ps_trace_free(positive);
    ps_trace_free(negative);
}

/* What stands behind the wanted part is not looked at. */
static void the_next_part_ends_the_reading(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_text(
        HEAD RANK "," TRACK ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"},"
                  "{\"ph\":\"M\",\"name\":\"pipescope_rank\",\"args\":{\"part\":1}}," RANK
                  ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"name\":\"b\"}"
                  "],\"baseTimeNanoseconds\":5}",
        &err);
    assert_non_null(t);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    ps_trace_free(t);
}

/* --- formats and failures ------------------------------------------------------------------------------ */

static void endings(void **state) {
    (void)state;
    assert_string_equal(ps_trace_format_for("a.json")->name, "chrome");
    assert_string_equal(ps_trace_format_for("a.json.gz")->name, "chrome");
    assert_string_equal(ps_trace_format_for("a.pftrace")->name, "perfetto");
    assert_null(ps_trace_format_for("a.json.bz2"));
    assert_null(ps_trace_format_for("json"));
    ps_buf list;
    ps_buf_init(&list, 0);
    ps_trace_format_list(&list);
    assert_string_equal(ps_buf_str(&list), ".json, .json.gz or .pftrace");
    ps_buf_fini(&list);
}

static void same_trace_same_bytes(void **state) {
    (void)state;
    static const char *const NAMES[] = {"x.json", "x.pftrace"};
    for (int i = 0; i < 2; i++) {
        ps_buf a;
        ps_buf b;
        ps_buf_init(&a, 0);
        ps_buf_init(&b, 0);
        ps_trace *t = sample_of_everything();
        ps_trace *again = sample_of_everything();
        assert_int_equal(write_as(NAMES[i], t, 2, &a), PS_OK);
        assert_int_equal(write_as(NAMES[i], again, 2, &b), PS_OK);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        ps_trace_free(t);
        ps_trace_free(again);
        ps_buf_fini(&a);
        ps_buf_fini(&b);
    }
}

/* Each allocation of the writer fails once: it says so, or wrote what it writes ever. */
static void memory_runs_out_writing(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    static const char *const NAMES[] = {"x.json", "x.pftrace"};
    for (int i = 0; i < 2; i++) {
        ps_buf whole = {0};
        bool fired = true;
        assert_int_equal(write_as(NAMES[i], t, 2, &whole), PS_OK);
        for (int64_t at = 0; fired; at += PS_NEXT_FAILURE) {
            assert_true(at < 100000);
            ps_buf out = {0};
            ps_alloc_fail_at(at);
            ps_code code = write_as(NAMES[i], t, 2, &out);
            fired = ps_alloc_fail_at(-1) > at;
            assert_true(code == PS_OK || (fired && code == PS_NOMEM));
            if (code == PS_OK) {
                assert_int_equal(out.len, whole.len);
                assert_memory_equal(out.data, whole.data, whole.len);
            }
            ps_buf_fini(&out);
        }
        ps_buf_fini(&whole);
    }
    ps_trace_free(t);
}

static void expect_all_failures_told(ps_trace *t) {
    ps_buf json;
    ps_buf_init(&json, 0);
    assert_int_equal(write_as("x.json", t, 1, &json), PS_OK);
    ps_trace *again = NULL;
    for (int64_t at = 0; again == NULL; at++) {
        assert_true(at < 100000);
        ps_err err = PS_ERR_INIT;
        ps_alloc_fail_at(at);
        again = read_back(&json, 0, EVERYTHING | PS_NEED_STATISTICS, &err);
        ps_alloc_fail_at(-1);
        if (again == NULL) {
            assert_int_equal(err.code, PS_NOMEM);
        }
    }
    expect_same(again, t);
    ps_trace_free(again);
    ps_buf_fini(&json);
    ps_trace_free(t);
}

static void memory_runs_out_reading(void **state) {
    (void)state;
    expect_all_failures_told(sample_of_everything());
    expect_all_failures_told(trace_with_tables());
}

/* A sink that is full is noticed at the rank or at the end, not passed over. */
static void a_full_sink_is_noticed(void **state) {
    (void)state;
    ps_trace *t = sample_of_many(60000, 3);
    static const char *const NAMES[] = {"x.json", "x.pftrace"};
    for (int i = 0; i < 2; i++) {
        ps_buf out;
        ps_buf_init(&out, 1 << 16);
        assert_int_not_equal(write_as(NAMES[i], t, 1, &out), PS_OK);
        ps_buf_fini(&out);
    }
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_read_back_as_it_was),
        cmocka_unit_test(machines_of_ranks_come_back),
        cmocka_unit_test(side_tables_come_back),
        cmocka_unit_test(odd_tables_are_counted),
        cmocka_unit_test(a_part_that_is_not_there),
        cmocka_unit_test(needs_are_heeded),
        cmocka_unit_test(odd_files_are_counted),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(crossing_slices_get_lanes),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(many_lanes),
        cmocka_unit_test(counters_of_one_title),
        cmocka_unit_test(categories_stay_as_they_were),
        cmocka_unit_test(repeated_arguments_get_free_names),
        cmocka_unit_test(times_before_zero),
        cmocka_unit_test(the_next_part_ends_the_reading),
        cmocka_unit_test(endings),
        cmocka_unit_test(same_trace_same_bytes),
        cmocka_unit_test(memory_runs_out_writing),
        cmocka_unit_test(memory_runs_out_reading),
        cmocka_unit_test(a_full_sink_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
