/* Text exports of the Ascend profilers: every fixture of tests/data/ascend_text read with all that can be asked for,
 * compared with the dump beside it (NAME.expect). PIPESCOPE_DUMP=DIR writes what was read to DIR/NAME.expect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/ascend/ascend_comm_json.h"
#include "read/readers.h"
#include "support/scratch.h"
#include "support/trace_text.h"

#define DATA "tests/data/ascend_text/"
#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES)

static const char RANK3[] = "rank3_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json";
static const char MSPROF[] = "PROF_000001/mindstudio_profiler_output/msprof_20240613101010.json";

/* The format is found by content. */
static ps_trace *read_file(const char *path, uint32_t needs, ps_err *err) {
    ps_src src = {.path = path, .reader = ps_reader_for(path, err)};
    if (src.reader == NULL) {
        return NULL;
    }
    if (strcmp(src.reader->name, "ascend-text") != 0) {
        (void)ps_fail(err, PS_INTERNAL, "read by %s", src.reader->name);
        return NULL;
    }
    return ps_read(&src, needs, err);
}

static ps_trace *read_fixture(const char *name, uint32_t needs) {
    char path[256];
    (void)snprintf(path, sizeof path, DATA "%s", name);
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_file(path, needs, &err);
    if (t == NULL) {
        fail_msg("%s: %s", name, err.msg);
    }
    return t;
}

static void compare(const char *fixture, const char *expected) {
    ps_trace *t = read_fixture(fixture, EVERYTHING);
    ps_buf dump;
    ps_buf text;
    ps_buf_init(&dump, 0);
    ps_buf_init(&text, 0);
    trace_text(t, &dump);
    char path[256];
    const char *dir = getenv("PIPESCOPE_DUMP");
    if (dir != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s.expect", dir, expected);
        assert_int_equal(ps_write_file(path, dump.data, dump.len, NULL), PS_OK);
    }
    (void)snprintf(path, sizeof path, DATA "%s.expect", expected);
    assert_int_equal(ps_read_file(path, 1 << 20, &text, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&dump), ps_buf_str(&text));
    ps_buf_fini(&dump);
    ps_buf_fini(&text);
    ps_trace_free(t);
}

/* --- fixtures -------------------------------------------------------------------------------------------- */

#define FIXTURE(function, file, expected)                                                          \
    static void function(void **state) {                                                           \
        (void)state;                                                                               \
        compare(file, expected);                                                                   \
    }

FIXTURE(one_of_each_kind_metadata_last, "metadata-last.json", "metadata-last")
FIXTURE(times_and_numbers, "numbers.json", "numbers")
FIXTURE(ids_beyond_64_bits, "big-ids.json", "big-ids")
FIXTURE(wrapped_object, "wrapped.json", "wrapped")
FIXTURE(gzip, "wrapped.json.gz", "wrapped")
FIXTURE(truncated_tail, "truncated.json", "truncated")
FIXTURE(level_0_without_calls_and_types, "level0.json", "level0")
FIXTURE(several_groups_and_planes, "groups.json", "groups")
FIXTURE(peers_of_overlapping_operators, "overlapping-ops.json", "overlapping-ops")
FIXTURE(two_devices, "two-devices.json", "two-devices")
FIXTURE(counters_of_every_kind, "counters.json", "counters")
FIXTURE(marks_of_host_and_device, "marks.json", "marks")
FIXTURE(mindspore_without_categories, "mindspore.json", "mindspore")
FIXTURE(rank_folder_with_its_files, RANK3, "rank3")
FIXTURE(msprof_export, MSPROF, "msprof")

/* --- odd events ------------------------------------------------------------------------------------------ */

/* Reads a document of these events, written to a file of its own. */
static ps_trace *read_events(const char *events) {
    char dir[SCRATCH_BYTES], path[SCRATCH_BYTES + 32];
    scratch_make(dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/events.json", dir);
    assert_int_equal(ps_write_file(path, events, strlen(events), NULL), PS_OK);
    ps_src src = {.path = path, .reader = ps_reader_find("ascend-text")};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, EVERYTHING, &err);
    scratch_remove(dir);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

static void odd_steps_and_times_are_counted(void **state) {
    (void)state;
    ps_trace *t = read_events(
        "[{\"ph\":\"X\",\"name\":\"ProfilerStep#x\",\"pid\":1,\"tid\":1,\"ts\":\"5.0\",\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"ProfilerStep#7\",\"pid\":1,\"tid\":1,\"ts\":\"7.0\",\"dur\":1},"
        "{\"ph\":\"C\",\"name\":\"L2\",\"pid\":2,\"ts\":\"9000000000000000.0\",\"args\":{\"Hit Rate(%)\":0.5}},"
        "{\"ph\":\"C\",\"name\":\"L2\",\"pid\":2,\"ts\":\"8.0\",\"args\":{\"Hit Rate(%)\":0.5}}]");
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(steps[0].id, 7);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TEXT], 1);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TIME], 1);
    assert_int_equal(ps_trace_counters(t)->n, 1);
    ps_trace_free(t);
}

/* --- operators of communication.json ------------------------------------------------------------------------ */

static ps_trace *read_communication(const ps_buf *json) {
    ps_err err = PS_ERR_INIT;
    ps_builder *b = ps_builder_new();
    assert_true(ps_buf_ok(json));
    assert_int_equal(
        ps_ascend_comm_json("communication.json", json->data, json->len, false, b, &err), PS_OK);
    ps_trace *t = ps_builder_seal(b, &err);
    assert_non_null(t);
    return t;
}

static void add_operator(ps_buf *json, size_t key_bytes, size_t n_sizes) {
    ps_buf_add_str(json, "\"");
    for (size_t i = 0; i < key_bytes; i++) {
        ps_buf_add_char(json, 'k');
    }
    ps_buf_add_str(json, "@1752\":{\"Communication Bandwidth Info\":{\"HCCS\":"
                         "{\"Transit Size(MB)\":1,\"Size Distribution\":{");
    for (size_t i = 0; i < n_sizes; i++) {
        ps_buf_addf(json, "%s\"%zu\":[1,2]", i > 0 ? "," : "", i);
    }
    ps_buf_add_str(json, "}}}}");
}

/* The name of an operator is there once, however many rows it has; what stands under a monstrous one is left out. */
static void names_of_operators_cost_once(void **state) {
    (void)state;
    enum { N_ROWS = 2000 };
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, "{\"step1\":{\"p2p\":{},\"collective\":{");
    add_operator(&json, 4000, N_ROWS);
    ps_buf_add_str(&json, ",");
    add_operator(&json, 5000, 1);
    ps_buf_add_str(&json, ",");
    add_operator(&json, 3, 1);
    ps_buf_add_str(&json, "}},\"step2\":{\"p2p\":{");
    add_operator(&json, 3, 1);
    ps_buf_add_str(&json, "}}}");
    ps_trace *t = read_communication(&json);
    const ps_table *rows = ps_trace_side_table(t, "communication_bandwidth");
    assert_int_equal(rows->n_rows, N_ROWS + 2);
    assert_true(rows->arena.size_bytes < 100000);
    assert_ptr_equal(ps_table_cell(rows, 0, 0)->u.text, ps_table_cell(rows, N_ROWS - 1, 0)->u.text);
    assert_string_equal(ps_table_cell(rows, N_ROWS, 0)->u.text, "kkk");
    assert_string_equal(ps_table_cell(rows, N_ROWS, 1)->u.text, "1752");
    assert_string_equal(ps_table_cell(rows, N_ROWS, 11)->u.text, "collective");
    assert_string_equal(ps_table_cell(rows, N_ROWS + 1, 10)->u.text, "step2");
    assert_string_equal(ps_table_cell(rows, N_ROWS + 1, 11)->u.text, "p2p");
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TEXT], 1);
    ps_trace_free(t);
    ps_buf_fini(&json);
}

/* --- what is asked for ----------------------------------------------------------------------------------- */

/* Marks asked alone come with their flow, and with no other. */
static void marks_alone(void **state) {
    (void)state;
    ps_trace *t = read_fixture("marks.json", PS_NEED_MARKS);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s->kind[flows[i].from], PS_SLICE_MARK_HOST);
        assert_int_equal(s->kind[flows[i].to], PS_SLICE_MARK_DEVICE);
        assert_true(ps_str_is_none(flows[i].kind));
    }
    assert_true((ps_trace_has(t) & PS_HAS_MARKS) != 0);
    ps_trace_free(t);
}

/* Operators asked alone know their ends, and when the host called for them. */
static void operators_alone(void **state) {
    (void)state;
    ps_trace *t = read_fixture("groups.json", PS_NEED_COMM_OPS | PS_NEED_COMM_HOST);
    const ps_slices *s = ps_trace_slices(t);
    bool seen = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(ps_trace_text(t, s->name[i]), "hcom_send__001_0_1") == 0) {
            int64_t value = 0;
            seen = true;
            assert_int_equal(s->kind[i], PS_SLICE_COMM_OP);
            assert_true(ps_trace_arg_int(t, i, "srcRank", &value));
            assert_int_equal(value, 0);
            assert_true(ps_trace_arg_int(t, i, "dstRank", &value));
            assert_int_equal(value, 3);
            assert_true(ps_trace_arg_int(t, i, "hostStart", &value));
            assert_int_equal(value, 0);
        }
    }
    assert_true(seen);
    ps_trace_free(t);
}

/* Only arguments that analyses use; no file beside the trace is opened. */
static void projection(void **state) {
    (void)state;
    ps_trace *t = read_fixture(RANK3, PS_NEED_SLICES);
    const ps_slices *s = ps_trace_slices(t);
    size_t n = 0;
    (void)ps_trace_side_tables(t, &n);
    assert_int_equal(n, 0);
    bool seen = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(ps_trace_text(t, s->name[i]), "Cast2") == 0) {
            int64_t value = 0;
            seen = true;
            assert_true(ps_trace_arg_int(t, i, "connection_id", &value));
            assert_string_equal(ps_trace_arg_text(t, i, "Task Type"), "AI_VECTOR_CORE");
            assert_false(ps_trace_arg_int(t, i, "Block Dim", &value));
            assert_false(ps_trace_arg_int(t, i, "Model Id", &value));
        }
    }
    assert_true(seen);
    assert_int_equal(ps_trace_counters(t)->n, 0);
    ps_trace_free(t);
}

static void metadata_alone(void **state) {
    (void)state;
    ps_trace *t = read_fixture(RANK3, PS_NEED_META);
    assert_string_equal(ps_trace_meta(t, "pp_info"),
                        "{\"pp_type\": \"dualpipev\", \"microbatch_num\": 8}");
    assert_int_equal(ps_trace_slices(t)->n, 0);
    ps_trace_free(t);
}

static void steps_alone(void **state) {
    (void)state;
    ps_trace *t = read_fixture(RANK3, PS_NEED_STEPS);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(steps[0].id, 50);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    ps_trace_free(t);
}

static void facts_of_the_recording(void **state) {
    (void)state;
    ps_trace *t = read_fixture(RANK3, PS_NEED_INVENTORY);
    const ps_table *facts = ps_trace_side_table(t, "facts");
    assert_non_null(facts);
    assert_int_equal(facts->n_rows, 3);
    assert_string_equal(ps_table_cell(facts, 0, 1)->u.text, "Level1");
    assert_string_equal(ps_table_cell(facts, 2, 1)->u.text, "off");
    ps_trace_free(t);
}

static void rank_of_a_file(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int64_t rank;
    } CASES[] = {{RANK3, 3}, {MSPROF, -1}, {"wrapped.json", -1}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, DATA "%s", CASES[i].file);
        const ps_reader *reader = ps_reader_for(path, NULL);
        assert_non_null(reader);
        ps_arena arena;
        ps_arena_init(&arena);
        ps_part *parts = NULL;
        size_t n = 0;
        assert_int_equal(reader->parts(path, &arena, &parts, &n, NULL), PS_OK);
        assert_int_equal(n, 1);
        assert_int_equal(parts[0].rank, CASES[i].rank);
        ps_arena_fini(&arena);
    }
}

/* --- memory ---------------------------------------------------------------------------------------------- */

/* Every allocation may fail: the result is an error, or the same trace where it could be done without. */
static void fail_each_allocation(const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, DATA "%s", name);
    for (int64_t n = 0; n < 100000; n++) {
        ps_src src = {.path = path, .reader = ps_reader_find("ascend-text")};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = ps_read(&src, EVERYTHING | PS_NEED_INVENTORY, &err);
        int64_t made = ps_alloc_fail_at(-1);
        if (t == NULL && err.code != PS_NOMEM) {
            fail_msg("%s, allocation %lld: %s", name, (long long)n, err.msg);
        }
        ps_trace_free(t);
        if (made <= n) {
            return;
        }
    }
    fail_msg("%s: too many allocations", name);
}

static void allocations_fail(void **state) {
    (void)state;
    fail_each_allocation(RANK3);
    fail_each_allocation("metadata-last.json");
    fail_each_allocation("groups.json");
    fail_each_allocation("overlapping-ops.json");
    fail_each_allocation("marks.json");
    fail_each_allocation("counters.json");
}

/* --- a real capture -------------------------------------------------------------------------------------- */

static void counts_of_a_capture(const char *rank, const char *expected) {
    const char *data = getenv("PIPESCOPE_SHARED_DATA");
    char path[1024];
    (void)snprintf(path, sizeof path,
                   "%s/ascend/text/level1/rank%s_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
                   data != NULL ? data : "../shared/data", rank);
    if (!ps_is_file(path)) {
        skip();
    }
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_file(path, EVERYTHING, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    ps_buf dump;
    ps_buf_init(&dump, 0);
    trace_text_counts(t, &dump);
    assert_string_equal(ps_buf_str(&dump), expected);
    ps_buf_fini(&dump);
    ps_trace_free(t);
}

/* Counted by a script of its own over the same files. */
#define COUNTS(calls, values, step_ns, rounded)                                                    \
    "slice communication 4\n"                                                                      \
    "slice op 855\n"                                                                               \
    "slice annotation 5\n"                                                                         \
    "slice queue 318\n"                                                                            \
    "slice call " calls "\n"                                                                       \
    "slice python 1282\n"                                                                          \
    "slice derived 382\n"                                                                          \
    "slice kernel 187\n"                                                                           \
    "slice copy 96\n"                                                                              \
    "slice communication-task 296\n"                                                               \
    "slice synchronisation 138\n"                                                                  \
    "slice task 114\n"                                                                             \
    "flow HostToDevice 215\n"                                                                      \
    "flow async_npu 210\n"                                                                         \
    "flow async_task_queue 159\n"                                                                  \
    "flow fwdbwd 27\n"                                                                             \
    "counter values " values "\n"                                                                  \
    "tracks thread 7\n"                                                                            \
    "tracks stream 4\n"                                                                            \
    "tracks group 1\n"                                                                             \
    "tracks plane 8\n"                                                                             \
    "tracks counter 220\n"                                                                         \
    "tracks derived 4\n"                                                                           \
    "step 50 " step_ns "\n"                                                                        \
    "table api_statistic 57 x 8\n"                                                                 \
    "table kernel_details 191 x 46\n"                                                              \
    "table l2_cache 179 x 5\n"                                                                     \
    "table memory_record 1004 x 7\n"                                                               \
    "table npu_module_mem 1078 x 4\n"                                                              \
    "table op_statistic 33 x 8\n"                                                                  \
    "table operator_details 859 x 9\n"                                                             \
    "table operator_memory 184 x 15\n"                                                             \
    "table step_trace_time 1 x 10\n"                                                               \
    "table communication 5 x 10\n"                                                                 \
    "table communication_bandwidth 21 x 12\n"                                                      \
    "table communication_matrix 48 x 11\n"                                                         \
    "odd time-rounded " rounded "\n"                                                               \
    "odd slice-not-nested 10\n"

static void capture_rank_0(void **state) {
    (void)state;
    counts_of_a_capture("0", COUNTS("707", "8379", "155985800", "674"));
}

static void capture_rank_1(void **state) {
    (void)state;
    counts_of_a_capture("1", COUNTS("708", "8235", "153888390", "669"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_each_kind_metadata_last),
        cmocka_unit_test(times_and_numbers),
        cmocka_unit_test(ids_beyond_64_bits),
        cmocka_unit_test(wrapped_object),
        cmocka_unit_test(gzip),
        cmocka_unit_test(truncated_tail),
        cmocka_unit_test(level_0_without_calls_and_types),
        cmocka_unit_test(several_groups_and_planes),
        cmocka_unit_test(peers_of_overlapping_operators),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(counters_of_every_kind),
        cmocka_unit_test(marks_of_host_and_device),
        cmocka_unit_test(mindspore_without_categories),
        cmocka_unit_test(rank_folder_with_its_files),
        cmocka_unit_test(msprof_export),
        cmocka_unit_test(odd_steps_and_times_are_counted),
        cmocka_unit_test(names_of_operators_cost_once),
        cmocka_unit_test(marks_alone),
        cmocka_unit_test(operators_alone),
        cmocka_unit_test(projection),
        cmocka_unit_test(metadata_alone),
        cmocka_unit_test(steps_alone),
        cmocka_unit_test(facts_of_the_recording),
        cmocka_unit_test(rank_of_a_file),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(capture_rank_0),
        cmocka_unit_test(capture_rank_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
