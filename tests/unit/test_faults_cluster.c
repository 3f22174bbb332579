/* Faults of today's tool around the analysis, F4 F7 F8 F9 F10 F11 F19 F21 F22
 * F23 of our list: exit codes, metadata, places of ranks, broken ranks, and how
 * results are written. Each test says what is right instead. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/dualpipev.h"
#include "support/runs.h"

static const char FORWARD[] = "{'name': 'forward_step'}";

/* Two stages, four microbatches: the smallest DualPipeV with all phases. */
enum { P = 2, M = 4 };

/* A rank with the marks of a stage, and no metadata. */
static void add_marked_rank(profile *p, const place *where, int rank, int stage,
                            expected_step *step) {
    expected_list(step, P, M, stage, false);
    profile_begin(p, where, rank);
    (void)add_step(p, step, EPOCH_NS, true, -1);
}

static void add_simple_rank(profile *p, const place *where, int rank) {
    profile_begin(p, where, rank);
    profile_mark(p, FORWARD, 100, 200);
    profile_close(p);
}

/* A rank directory whose database holds this text. */
static const char *add_text_rank(const place *where, int rank, const char *text) {
    const char *dir = place_path(
        where, "host_%d_20240501120000000_ascend_pt/ASCEND_PROFILER_OUTPUT", 1000 + rank);
    make_dirs(dir);
    const char *path =
        place_path(where, "%s/ascend_pytorch_profiler_%d.db", dir + strlen(where->dir) + 1, rank);
    write_text(path, text);
    return path;
}

/* --- F4: the exit status
 * ------------------------------------------------------------------------ */

static void f04_exit_status_tells_the_truth(void **state) {
    const place *where = *state;
    const place empty = place_inner(where, "empty");
    const place good = place_inner(where, "good");
    const place bad = place_inner(where, "bad");
    const place mixed = place_inner(where, "mixed");
    profile p;
    add_simple_rank(&p, &good, 0);
    (void)add_text_rank(&bad, 0, "this is no database");
    add_simple_rank(&p, &mixed, 0);
    (void)add_text_rank(&mixed, 1, "this is no database");

    ps_buf said;
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", good.dir, NULL), 0);
    assert_true(contains(&said, "Wrote into "));
    ps_buf_fini(&said);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", place_path(where, "absent"), NULL),
                     2);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", NULL), 2);
    assert_int_equal(run_program(NULL, "-m", "no_such_mode", "-d", good.dir, NULL), 2);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", good.dir, "--step_id", "two", NULL),
                     2);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", good.dir, "--no_such_option", NULL),
                     2);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", empty.dir, NULL), 3);
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", bad.dir, NULL), 1);
    assert_false(contains(&said, "Wrote"));
    assert_true(contains(&said, "rank 0"));
    ps_buf_fini(&said);
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", mixed.dir, NULL), 4);
    assert_true(contains(&said, "Wrote into "));
    assert_true(contains(&said, "rank 1"));
    ps_buf_fini(&said);
}

/* Text results only: 3, and the message says what to do. */
static void f04_text_results_are_named(void **state) {
    const place *where = *state;
    make_dirs(place_path(where, "host_1_20240501120000000_ascend_pt/ASCEND_PROFILER_OUTPUT"));
    write_text(place_path(where, "host_1_20240501120000000_ascend_pt/"
                                 "ASCEND_PROFILER_OUTPUT/trace_view.json"),
               "[]");
    ps_buf said;
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", where->dir, NULL), 3);
    assert_true(contains(&said, "text results only"));
    ps_buf_fini(&said);
}

/* A rank without marks among ranks that have them counts as failed. */
static void f04_a_rank_without_marks_makes_it_partial(void **state) {
    const place *where = *state;
    profile p;
    add_simple_rank(&p, where, 0);
    profile_begin(&p, where, 1);
    profile_mark(&p, "no word of it", 100, 200);
    profile_close(&p);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", where->dir, NULL), 4);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", p.dir, NULL), 3);
}

/* --- F7: context parallelism
 * --------------------------------------------------------------------- */

/* tp 2, cp 2, dp 1, two stages: 8 ranks, a stage is 4 of them. Without cp rank
 * 3 would be on stage 1 and rank 4 nowhere. */
static void f07_context_parallel_ranks_find_their_stage(void **state) {
    const place *where = *state;
    static const int STAGES[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    profile ranks[8];
    expected_step steps[8];
    for (int r = 0; r < 8; r++) {
        add_marked_rank(&ranks[r], where, r, STAGES[r], &steps[r]);
        profile_meta(&ranks[r], "pp_info", "{\"pp_type\": \"dualpipev\", \"microbatch_num\": 4}");
        profile_meta(&ranks[r], "distributed_args",
                     "{\"tensor_model_parallel_size\": 2, "
                     "\"context_parallel_size\": 2, \"data_parallel_size\": 1, "
                     "\"pipeline_model_parallel_size\": 2}");
        profile_close(&ranks[r]);
    }
    run_pp_chart(where->dir, NULL);
    for (int r = 0; r < 8; r++) {
        expect_step(ranks[r].path, &steps[r], -1);
    }
}

/* The group "pp" of the rank's own metadata knows better than any size. */
static void f07_the_pipeline_group_wins(void **state) {
    const place *where = *state;
    profile p;
    expected_step step;
    add_marked_rank(&p, where, 5, 1, &step);
    profile_dualpipev(&p, P, M); /* by these sizes rank 5 is nowhere */
    profile_meta(&p, "parallel_group_info",
                 "{\"c1\": {\"group_name\": \"dp\", \"group_rank\": 0, "
                 "\"global_ranks\": [5]}, "
                 "\"c2\": {\"group_name\": \"pp\", \"group_rank\": 1, "
                 "\"global_ranks\": [1, 5]}}");
    profile_close(&p);
    run_pp_chart(where->dir, NULL);
    expect_step(p.path, &step, -1);
}

/* --- F8: where the metadata is
 * ------------------------------------------------------------------- */

static const char JSON[] = "{\"pp_info\": {\"pp_type\": \"dualpipev\", \"microbatch_num\": 4}, "
                           "\"distributed_args\": "
                           "{\"pipeline_model_parallel_size\": 2, \"world_size\": 2}}";

static void f08_metadata_of_a_later_rank_serves_all(void **state) {
    const place *where = *state;
    profile p[2];
    expected_step steps[2];
    for (int r = 0; r < 2; r++) {
        add_marked_rank(&p[r], where, r, r, &steps[r]);
    }
    profile_dualpipev(&p[1], P, M);
    for (int r = 0; r < 2; r++) {
        profile_close(&p[r]);
    }
    run_pp_chart(where->dir, NULL);
    for (int r = 0; r < 2; r++) {
        expect_step(p[r].path, &steps[r], -1);
    }
}

static void f08_the_json_file_serves_too(void **state) {
    const place *where = *state;
    profile p;
    expected_step step;
    add_marked_rank(&p, where, 1, 1, &step);
    profile_close(&p);
    profile_json(&p, JSON);
    run_pp_chart(where->dir, NULL);
    expect_step(p.path, &step, -1);
}

/* DualPipeV without the sizes is said, with the options that help; nothing is
 * written, nothing is guessed. */
static void f08_missing_metadata_is_said(void **state) {
    const place *where = *state;
    profile p;
    expected_step step;
    add_marked_rank(&p, where, 0, 0, &step);
    profile_meta(&p, "pp_info", "{\"pp_type\": \"dualpipev\", \"microbatch_num\": 4}");
    profile_close(&p);
    uint64_t before = file_hash(p.path);
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_null(o.run);
    assert_non_null(strstr(o.err.msg, "--pp"));
    outcome_fini(&o);
    assert_true(file_hash(p.path) == before);
}

/* No word about the schedule anywhere: classic labels. */
static void f08_no_metadata_means_classic_labels(void **state) {
    const place *where = *state;
    profile p;
    add_simple_rank(&p, where, 0);
    run_pp_chart(where->dir, NULL);
    expect_rows(p.path, "SELECT name, type FROM StepTaskInfo", "FP|0\n");
}

/* Ranks that say different things: the first in rank order wins, the others are
 * counted. */
static void f08_contradictions_are_counted(void **state) {
    const place *where = *state;
    profile p[2];
    expected_step steps[2];
    for (int r = 0; r < 2; r++) {
        add_marked_rank(&p[r], where, r, r, &steps[r]);
        profile_dualpipev(&p[r], P, r == 0 ? M : 9);
        profile_close(&p[r]);
    }
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(report_of(&o, 0)->diag.counts[PS_ODD_METADATA], 0);
    assert_int_equal(report_of(&o, 1)->diag.counts[PS_ODD_METADATA], 1);
    outcome_fini(&o);
    expect_step(p[1].path, &steps[1], -1);
}

/* --- F9: overrides
 * ---------------------------------------------------------------------------------
 */

static void f09_options_replace_lost_metadata(void **state) {
    const place *where = *state;
    profile p[2];
    expected_step steps[2];
    for (int r = 0; r < 2; r++) {
        add_marked_rank(&p[r], where, r, r, &steps[r]);
        profile_close(&p[r]);
    }
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", where->dir, "--pp-type", "dualpipev",
                                 "--pp", "2", "--microbatches", "4", NULL),
                     0);
    for (int r = 0; r < 2; r++) {
        expect_step(p[r].path, &steps[r], -1);
    }
}

/* They win over what the metadata says, here over wrong sizes and a wrong
 * number of microbatches. */
static void f09_options_win_over_metadata(void **state) {
    const place *where = *state;
    profile p;
    expected_step step;
    add_marked_rank(&p, where, 2, 1, &step);
    profile_dualpipev(&p, 8, 32);
    profile_close(&p);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", where->dir, "--pp", "2", "--tp", "2",
                                 "--microbatches", "4", NULL),
                     0);
    expect_step(p.path, &step, -1);
}

/* Order tp-cp-ep-pp-dp: tp 1, two stages: rank 3 is the second stage of the
 * second pipeline. */
static void f09_the_order_of_ranks_can_be_given(void **state) {
    const place *where = *state;
    profile p;
    expected_step step;
    add_marked_rank(&p, where, 3, 1, &step);
    profile_dualpipev(&p, P, M);
    profile_close(&p);
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", where->dir, "--order",
                                 "tp-cp-ep-pp-dp", "--dp", "2", NULL),
                     0);
    expect_step(p.path, &step, -1);
}

/* A message never names an option that does not exist. */
static void f09_named_options_exist(void **state) {
    (void)state;
    ps_buf help;
    assert_int_equal(run_program(&help, "cluster", "--help", NULL), 0);
    static const char *const NAMED[] = {"--pp ",    "--tp ",           "--cp ",     "--dp ",
                                        "--order ", "--microbatches ", "--pp-type "};
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
        assert_true(contains(&help, NAMED[i]));
    }
    ps_buf_fini(&help);
}

/* --- F10: odd metadata
 * -------------------------------------------------------------------------------
 */

static void label_with_pp_info(const place *where, const char *pp_info, outcome *o, profile *p,
                               expected_step *step) {
    add_marked_rank(p, where, 0, 0, step);
    profile_dualpipev(p, P, M);
    profile_sql(p, "UPDATE META_DATA SET value = %Q WHERE name = 'pp_info'", pp_info);
    profile_close(p);
    run_mode(o, where->dir, "pp_chart", NULL);
}

static void f10_a_number_may_be_written_as_text(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state, "{\"pp_type\": \"DualPipeV\", \"microbatch_num\": \"4\"}", &o, &p,
                       &step);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_done, 1);
    outcome_fini(&o);
    expect_step(p.path, &step, -1);
}

/* A JSON text that was stored as a JSON string. */
static void f10_metadata_may_be_quoted_twice(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state,
                       "\"{\\\"pp_type\\\": \\\"dualpipev\\\", \\\"microbatch_num\\\": 4}\"", &o,
                       &p, &step);
    assert_non_null(o.run);
    outcome_fini(&o);
    expect_step(p.path, &step, -1);
}

static void f10_a_number_that_is_none_is_said(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state, "{\"pp_type\": \"dualpipev\", \"microbatch_num\": \"ten\"}", &o, &p,
                       &step);
    assert_null(o.run);
    assert_non_null(strstr(o.err.msg, "--microbatches"));
    outcome_fini(&o);
    ps_run_opts opts = default_opts();
    opts.analysis.n_microbatches = M;
    run_mode(&o, p.dir, "pp_chart", &opts);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_METADATA), 1);
    outcome_fini(&o);
    expect_step(p.path, &step, -1);
}

static void f10_no_schedule_name_means_classic_labels(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state, "{\"microbatch_num\": -3, \"pp_type\": 5}", &o, &p, &step);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_done, 1);
    assert_int_equal(count_oddity(&o, PS_ODD_METADATA), 1); /* -3 */
    outcome_fini(&o);
    assert_int_equal(
        query_int(p.path, "SELECT count(*) FROM StepTaskInfo WHERE name IN ('FP', 'BP')"), step.n);
}

static void f10_garbage_is_counted(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state, "{\"pp_type\": \"dualpipev", &o, &p, &step);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_METADATA), 1);
    outcome_fini(&o);
}

/* Fewer microbatches than the schedule needs: the rule is said, and that
 * options mend it. */
static void f10_too_few_microbatches_are_said(void **state) {
    profile p;
    outcome o;
    expected_step step;
    label_with_pp_info(*state, "{\"pp_type\": \"dualpipev\", \"microbatch_num\": 3}", &o, &p,
                       &step);
    assert_null(o.run);
    assert_non_null(strstr(o.err.msg, "2p = 4"));
    assert_non_null(strstr(o.err.msg, "--microbatches"));
    outcome_fini(&o);
    assert_false(has_table(p.path, "StepTaskInfo"));
}

/* --- F11: one broken rank
 * ------------------------------------------------------------------------------
 */

static void f11_a_broken_rank_harms_no_other(void **state) {
    const place *where = *state;
    profile p;
    for (int r = 0; r < 5; r++) {
        if (r == 0 || r == 4) {
            add_simple_rank(&p, where, r);
        }
    }
    (void)add_text_rank(where, 1,
                        "this is no database, only a text that is longer than the header of one");
    (void)add_text_rank(where, 2, "");
    profile_begin(&p, where, 3); /* cut off in the middle */
    for (int k = 0; k < 2000; k++) {
        profile_mark(&p, FORWARD, k * 100, k * 100 + 50);
    }
    profile_close(&p);
    assert_int_equal(truncate(p.path, 8192), 0);
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    for (int r = 0; r < 5; r++) {
        bool good = r == 0 || r == 4;
        const ps_rank_report *report = report_of(&o, r);
        assert_int_equal(report->status, good ? PS_RANK_DONE : PS_RANK_FAILED);
        if (good) {
            expect_rows(report->rank->path, "SELECT name FROM StepTaskInfo", "FP\n");
        } else {
            assert_true(report->err.msg[0] != '\0');
        }
    }
    outcome_fini(&o);
}

/* --- F19: all or nothing, and the input as it was
 * --------------------------------------------------------- */

/* A database with a send, in which the first update of an operator fails. */
static void add_failing_rank(profile *p, const place *where, int rank) {
    profile_begin(p, where, rank);
    profile_mark(p, FORWARD, 100, 200);
    profile_comm_op(p, "hcom_send__849_0_1", "group", 300, 400, 0, 1);
    profile_sql(p, "CREATE TABLE StepTaskInfo (name TEXT, startNs INTEGER, endNs "
                   "INTEGER, type INTEGER);"
                   "INSERT INTO StepTaskInfo VALUES ('of an earlier run', 1, 2, 3);"
                   "ALTER TABLE COMMUNICATION_OP ADD COLUMN opConnectionId TEXT "
                   "CONSTRAINT injected CHECK (opConnectionId IS NULL)");
    profile_close(p);
}

static void f19_a_failure_leaves_the_database_as_it_was(void **state) {
    const place *where = *state;
    profile p;
    profile q;
    add_failing_rank(&p, where, 0);
    add_simple_rank(&q, where, 1);
    uint64_t before = file_hash(p.path);
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(report_of(&o, 0)->status, PS_RANK_FAILED);
    assert_non_null(strstr(report_of(&o, 0)->err.msg, "injected"));
    assert_null(report_of(&o, 0)->written);
    assert_int_equal(report_of(&o, 1)->status, PS_RANK_DONE);
    outcome_fini(&o);
    assert_true(file_hash(p.path) == before);
    expect_rows(p.path, "SELECT name FROM StepTaskInfo", "of an earlier run\n");
    assert_int_equal(access(place_path(where, "%s-journal", p.path + strlen(where->dir) + 1), F_OK),
                     -1);
}

/* Names below a directory, sorted, one a line. */
static void list_tree(const char *dir, ps_buf *out) {
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    assert_int_equal(ps_list_dir(dir, &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        const char *path = ps_path_join(&arena, dir, names[i]);
        ps_buf_addf(out, "%s\n", path);
        if (ps_is_dir(path)) {
            list_tree(path, out);
        }
    }
    ps_arena_fini(&arena);
}

static void f19_copies_leave_the_input_untouched(void **state) {
    const place *where = *state;
    const place input = place_inner(where, "in");
    const place out = place_inner(where, "out");
    profile p;
    add_simple_rank(&p, &input, 0);
    profile_json(&p, "{}");
    uint64_t before = file_hash(p.path);
    struct stat then;
    struct stat now;
    assert_int_equal(stat(p.path, &then), 0);
    ps_buf names_before;
    ps_buf names_after;
    ps_buf_init(&names_before, 0);
    ps_buf_init(&names_after, 0);
    list_tree(input.dir, &names_before);
    ps_run_opts opts = default_opts();
    opts.out_dir = out.dir;
    run_pp_chart(input.dir, &opts);
    list_tree(input.dir, &names_after);
    assert_string_equal(ps_buf_str(&names_before), ps_buf_str(&names_after));
    assert_int_equal(stat(p.path, &now), 0);
    assert_true(file_hash(p.path) == before);
    assert_true(then.st_mtim.tv_sec == now.st_mtim.tv_sec &&
                then.st_mtim.tv_nsec == now.st_mtim.tv_nsec);
    expect_rows(place_path(where, "out/%s", p.path + strlen(input.dir) + 1),
                "SELECT name FROM StepTaskInfo", "FP\n");
    /* The copy is a rank directory of its own, and may be replaced by the next
   * run. */
    assert_true(ps_is_file(
        place_path(where, "out/host_1000_20240501120000000_ascend_pt/profiler_metadata.json")));
    run_pp_chart(input.dir, &opts);
    run_pp_chart(out.dir, NULL);
    ps_buf_fini(&names_before);
    ps_buf_fini(&names_after);
}

/* Onto the input itself, or onto a file that is no copy of ours: refused. */
static void f19_copies_never_replace_other_files(void **state) {
    const place *where = *state;
    const place input = place_inner(where, "in");
    const place out = place_inner(where, "out");
    profile p;
    add_simple_rank(&p, &input, 0);
    uint64_t before = file_hash(p.path);
    ps_run_opts opts = default_opts();
    opts.out_dir = input.dir;
    outcome o;
    run_mode(&o, input.dir, "pp_chart", &opts);
    assert_null(o.run);
    assert_int_equal(o.err.code, PS_USAGE);
    outcome_fini(&o);
    assert_true(file_hash(p.path) == before);

    const char *foreign = add_text_rank(&out, 0, "precious");
    before = file_hash(foreign);
    opts.out_dir = out.dir;
    run_mode(&o, input.dir, "pp_chart", &opts);
    assert_true(o.run == NULL || o.run->n_failed == 1);
    outcome_fini(&o);
    assert_true(file_hash(foreign) == before);
}

/* Said before the first byte is written, of every rank at once. */
static void f19_a_read_only_target_is_said_first(void **state) {
    const place *where = *state;
    profile p;
    profile q;
    add_simple_rank(&p, where, 0);
    add_simple_rank(&q, where, 1);
    assert_int_equal(chmod(q.path, 0444), 0);
    uint64_t before = file_hash(p.path);
    ps_buf said;
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", where->dir, NULL), 1);
    assert_true(contains(&said, "read-only"));
    assert_true(contains(&said, "-o DIR"));
    ps_buf_fini(&said);
    assert_true(file_hash(p.path) == before);
    /* Copies can be made of it. */
    ps_run_opts opts = default_opts();
    opts.out_dir = place_path(where, "out");
    run_pp_chart(where->dir, &opts);
}

/* --- F21: mstx was off
 * -------------------------------------------------------------------------------------
 */

static void f21_missing_marks_are_one_line(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_kernel(&p, 2, 100, 200);
    profile_close(&p);
    ps_buf said;
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", where->dir, NULL), 3);
    assert_int_equal(count_lines_with(&said, "mstx"), 1);
    assert_int_equal(count_lines_with(&said, "mstx was not enabled when collecting"), 1);
    assert_false(contains(&said, "SELECT"));
    ps_buf_fini(&said);
}

/* --- F22: several databases in one directory
 * ------------------------------------------------------------------ */

static void f22_the_database_that_the_directory_names_is_read(void **state) {
    const place *where = *state;
    const char *dir = place_path(where, "host_1_20240501120000000_ascend_pt");
    static const char *const NAMES[] = {"ascend_pytorch_profiler_0.db",
                                        "ascend_pytorch_profiler_3.db",
                                        "ascend_pytorch_profiler_7.db"};
    for (size_t i = 0; i < 3; i++) {
        profile p;
        profile_begin_in(&p, dir, NAMES[i]);
        profile_mark(&p, FORWARD, 100, 200);
        profile_close(&p);
    }
    write_text(place_path(where, "host_1_20240501120000000_ascend_pt/profiler_info_3.json"), "{}");
    ps_cluster *c = ps_cluster_find(where->dir, NULL);
    assert_non_null(c);
    assert_int_equal(c->n_ranks, 1);
    assert_int_equal(c->ranks[0].rank, 3);
    assert_true(ps_ends_with(c->ranks[0].path, NAMES[1]));
    assert_int_equal(c->n_notes, 1);
    assert_non_null(strstr(c->notes[0].in[PS_ENGLISH], "3 profiler databases"));
    assert_int_equal(c->diag.counts[PS_ODD_RANK_NAME], 0);
    ps_cluster_free(c);
}

/* The only database bears another number than the directory says: it is read,
 * and the contradiction is counted. */
static void f22_a_contradicting_name_is_counted(void **state) {
    const place *where = *state;
    profile p;
    profile_begin_in(&p, place_path(where, "host_1_20240501120000000_ascend_pt"),
                     "ascend_pytorch_profiler_7.db");
    profile_close(&p);
    write_text(place_path(where, "host_1_20240501120000000_ascend_pt/profiler_info_3.json"), "{}");
    ps_cluster *c = ps_cluster_find(where->dir, NULL);
    assert_non_null(c);
    assert_int_equal(c->n_ranks, 1);
    assert_int_equal(c->ranks[0].rank, 7);
    assert_int_equal(c->diag.counts[PS_ODD_RANK_NAME], 1);
    ps_cluster_free(c);
}

/* --- F23: msMonitor
 * ----------------------------------------------------------------------------------------------
 */

/* msMonitor files carry no metadata; the options make up for it. */
static void f23_msmonitor_gets_schedule_labels(void **state) {
    const place *where = *state;
    profile p[2];
    expected_step steps[2];
    for (int r = 0; r < 2; r++) {
        profile_begin_file(&p[r],
                           place_path(where, "msmonitor_%d_20240501120000000_%d.db", 500 + r, r));
        expected_list(&steps[r], P, M, r, false);
        (void)add_step(&p[r], &steps[r], EPOCH_NS, true, -1);
        profile_close(&p[r]);
    }
    assert_int_equal(run_program(NULL, "-m", "pp_chart", "-d", where->dir, "--pp-type", "dualpipev",
                                 "--pp", "2", "--microbatches", "4", NULL),
                     0);
    for (int r = 0; r < 2; r++) {
        expect_step(p[r].path, &steps[r], -1);
    }
    run_pp_chart(where->dir, NULL);
    assert_int_equal(
        query_int(p[0].path, "SELECT count(*) FROM StepTaskInfo WHERE name IN ('FP', 'BP')"),
        steps[0].n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(f04_exit_status_tells_the_truth),
        IN_PLACE(f04_text_results_are_named),
        IN_PLACE(f04_a_rank_without_marks_makes_it_partial),
        IN_PLACE(f07_context_parallel_ranks_find_their_stage),
        IN_PLACE(f07_the_pipeline_group_wins),
        IN_PLACE(f08_metadata_of_a_later_rank_serves_all),
        IN_PLACE(f08_the_json_file_serves_too),
        IN_PLACE(f08_missing_metadata_is_said),
        IN_PLACE(f08_no_metadata_means_classic_labels),
        IN_PLACE(f08_contradictions_are_counted),
        IN_PLACE(f09_options_replace_lost_metadata),
        IN_PLACE(f09_options_win_over_metadata),
        IN_PLACE(f09_the_order_of_ranks_can_be_given),
        cmocka_unit_test(f09_named_options_exist),
        IN_PLACE(f10_a_number_may_be_written_as_text),
        IN_PLACE(f10_metadata_may_be_quoted_twice),
        IN_PLACE(f10_a_number_that_is_none_is_said),
        IN_PLACE(f10_no_schedule_name_means_classic_labels),
        IN_PLACE(f10_garbage_is_counted),
        IN_PLACE(f10_too_few_microbatches_are_said),
        IN_PLACE(f11_a_broken_rank_harms_no_other),
        IN_PLACE(f19_a_failure_leaves_the_database_as_it_was),
        IN_PLACE(f19_copies_leave_the_input_untouched),
        IN_PLACE(f19_copies_never_replace_other_files),
        IN_PLACE(f19_a_read_only_target_is_said_first),
        IN_PLACE(f21_missing_marks_are_one_line),
        IN_PLACE(f22_the_database_that_the_directory_names_is_read),
        IN_PLACE(f22_a_contradicting_name_is_counted),
        IN_PLACE(f23_msmonitor_gets_schedule_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
