/* Processes that run the maps of one program: who gets which rank, what a worker that dies takes with it, and memory that runs out. That they make
 * the same bytes of every capture is in test_partials.c, over MPI in tests/e2e/mpi.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "run/run.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/socket_crew.h"

/* --- who gets which rank --------------------------------------------------------------------------------------------- */

/* 9 and 8 bytes to the two that have nothing, 5 to the one with 8, 4 to the one with 9, 3 to either: 13 each, so the first. */
static void the_largest_first(void **state) {
    (void)state;
    static const int64_t SIZES[] = {3, 9, 5, 4, 8};
    static const bool WANTED[] = {true, true, true, true, true};
    static const bool LIVES[] = {true, true};
    uint32_t whose[5];
    assert_true(ps_crew_assign(SIZES, WANTED, 5, NULL, LIVES, 2, whose));
    static const uint32_t EXPECTED[] = {0, 0, 1, 0, 1};
    assert_memory_equal(whose, EXPECTED, sizeof EXPECTED);
}

static void only_what_is_wanted_and_who_lives(void **state) {
    (void)state;
    static const int64_t SIZES[] = {1, 1, 1};
    static const bool WANTED[] = {true, false, true};
    static const bool LIVES[] = {false, true, false};
    static const bool NOBODY[] = {false, false, false};
    uint32_t whose[3];
    assert_true(ps_crew_assign(SIZES, WANTED, 3, NULL, LIVES, 3, whose));
    static const uint32_t EXPECTED[] = {1, UINT32_MAX, 1};
    assert_memory_equal(whose, EXPECTED, sizeof EXPECTED);
    assert_false(ps_crew_assign(SIZES, WANTED, 3, NULL, NOBODY, 3, whose));
}

/* Ranks 0 and 1 are near worker 1 alone, 2 near nobody: it goes to who has least. */
static void near_before_even(void **state) {
    (void)state;
    static const int64_t SIZES[] = {5, 4, 1};
    static const bool WANTED[] = {true, true, true};
    static const bool LIVES[] = {true, true};
    static const bool FIRST_LIVES[] = {true, false};
    static const uint8_t NEAR[] = {0, 0, 0, 1, 1, 0};
    uint32_t whose[3];
    assert_true(ps_crew_assign(SIZES, WANTED, 3, NEAR, LIVES, 2, whose));
    static const uint32_t EXPECTED[] = {1, 1, 0};
    assert_memory_equal(whose, EXPECTED, sizeof EXPECTED);
    assert_true(ps_crew_assign(SIZES, WANTED, 3, NEAR, FIRST_LIVES, 2, whose));
    static const uint32_t FAR[] = {0, 0, 0};
    assert_memory_equal(whose, FAR, sizeof FAR);
}

/* --- frames ---------------------------------------------------------------------------------------------------------- */

static void frames_arrive_whole_or_not(void **state) {
    (void)state;
    int ends[2];
    ps_frame frame = {.kind = PS_FRAME_RANK, .worker = 3, .job = 2, .index = 7, .n_bytes = 5};
    ps_frame got;
    ps_buf bytes = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_true(ps_frame_write(ends[0], &frame, "abcde"));
    assert_int_equal(ps_frame_read(ends[1], &got, &bytes), PS_OK);
    assert_memory_equal(&got, &frame, sizeof frame);
    assert_string_equal(ps_buf_str(&bytes), "abcde");
    frame.n_bytes = 0;
    assert_true(ps_frame_write(ends[0], &frame, ""));
    assert_int_equal(ps_frame_read(ends[1], &got, &bytes), PS_OK);
    assert_int_equal(bytes.len, 0);
    frame.n_bytes = 100; /* of which three come */
    assert_int_equal(write(ends[0], &frame, sizeof frame), sizeof frame);
    assert_int_equal(write(ends[0], "abc", 3), 3);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(ps_frame_read(ends[1], &got, &bytes), PS_IO);
    frame.n_bytes = 5;
    assert_false(ps_frame_write(ends[1], &frame, "abcde")); /* and no signal ends the test */
    assert_int_equal(close(ends[1]), 0);
    ps_buf_fini(&bytes);
}

/* --- a job ----------------------------------------------------------------------------------------------------------- */

/* So many ranks below the scratch folder; skipped without the program. */
static void make_job_of(char dir[SCRATCH_BYTES + 32], const char *n_ranks,
                        const char *n_microbatches) {
    if (getenv("PIPESCOPE_BIN") == NULL) {
        skip();
    }
    (void)snprintf(dir, SCRATCH_BYTES + 32, "%s/job", scratch_dir);
    assert_int_equal(run_program(NULL, "simulate", "1f1b", "--pp", n_ranks, "--microbatches",
                                 n_microbatches, "--steps", "1", "--profile", dir, NULL),
                     0);
}

static void make_job(char dir[SCRATCH_BYTES + 32]) {
    make_job_of(dir, "4", "4");
}

static ps_run *over_all(const ps_cluster *cluster, ps_engine *engine, ps_err *err) {
    const ps_analysis *analysis = ps_analysis_find("communication_bottleneck");
    ps_run_opts opts = {.n_threads = 1, .export_type = PS_EXPORT_NOTHING, .engine = engine};
    ps_analysis_opts_init(&opts.analysis);
    return ps_run_all_ranks(&analysis, 1, cluster, &opts, err);
}

/* Ranks are of one size, up to a few bytes of texts: each of two workers gets two of the four. The next job is the other one's alone. */
static void who_dies_takes_its_ranks_along(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job(dir);
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    assert_non_null(cluster);
    socket_crew_begin(&c, 2);
    c.kill_before = PS_FRAME_GO;
    ps_err err = PS_ERR_INIT;
    ps_run *run = over_all(cluster, ps_crew_engine(c.crew), &err);
    assert_non_null(run);
    assert_int_equal(run->n_done, 2);
    assert_int_equal(run->n_failed, 2);
    for (size_t r = 0; r < run->n_ranks; r++) {
        if (run->ranks[r].status == PS_RANK_FAILED) {
            const char *said = run->ranks[r].err.msg;
            assert_non_null(strstr(said, "worker 1, which had ranks "));
            assert_non_null(strstr(said, ", was ended by signal 9"));
        }
    }
    ps_run_free(run);
    run = over_all(cluster, ps_crew_engine(c.crew), &err);
    assert_non_null(run);
    assert_int_equal(run->n_done, 4);
    ps_run_free(run);
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

static void without_workers_nothing_goes(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job(dir);
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    socket_crew_begin(&c, 2);
    c.kill_before = PS_FRAME_JOB;
    ps_err err = PS_ERR_INIT;
    ps_run *run = over_all(cluster, ps_crew_engine(c.crew), &err);
    assert_non_null(run); /* by the one that is left */
    assert_int_equal(run->n_done, 4);
    ps_run_free(run);
    c.pids[1] = c.pids[0];
    c.kill_before = PS_FRAME_JOB;
    run = over_all(cluster, ps_crew_engine(c.crew), &err);
    assert_null(run);
    assert_int_equal(err.code, PS_IO);
    assert_non_null(strstr(err.msg, "was ended by signal 9"));
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

/* A worker whose folder holds other ranks takes no part. */
static void who_sees_other_ranks_takes_no_part(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    char moved[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job(dir);
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    (void)snprintf(moved, sizeof moved, "%s/moved", scratch_dir);
    assert_int_equal(rename(cluster->ranks[3].rank_dir, moved), 0);
    socket_crew_begin(&c, 2);
    ps_err err = PS_ERR_INIT;
    assert_null(over_all(cluster, ps_crew_engine(c.crew), &err));
    assert_non_null(strstr(err.msg, "3 ranks are seen from there, and they are not the 4"));
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

static const char *out_dir(char out[SCRATCH_BYTES + 32]) {
    (void)snprintf(out, SCRATCH_BYTES + 32, "%s/out", scratch_dir);
    return out;
}

static ps_run *write_labels(const ps_cluster *cluster, ps_engine *engine, ps_export type,
                            ps_err *err) {
    const ps_analysis *analysis = ps_analysis_find("pp_chart");
    char out[SCRATCH_BYTES + 32];
    ps_run_opts opts = {
        .n_threads = 1, .export_type = type, .engine = engine, .out_dir = out_dir(out)};
    ps_analysis_opts_init(&opts.analysis);
    return ps_run_all_ranks(&analysis, 1, cluster, &opts, err);
}

/* Whoever holds a rank writes its tables: what the one that dies then had is not there, and the others' is. */
static void who_holds_a_rank_writes_it(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    char out[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job(dir);
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    socket_crew_begin(&c, 2);
    static const ps_export TYPES[] = {PS_EXPORT_DB, PS_EXPORT_CSV};
    for (size_t i = 0; i < 2; i++) {
        ps_run *run = write_labels(cluster, ps_crew_engine(c.crew), TYPES[i], NULL);
        assert_non_null(run);
        assert_int_equal(run->n_done, 4);
        for (size_t r = 0; r < 4; r++) {
            assert_non_null(run->ranks[r].written);
        }
        ps_run_free(run);
    }
    scratch_remove(out_dir(out));
    c.kill_before = PS_FRAME_WRITE;
    ps_run *run = write_labels(cluster, ps_crew_engine(c.crew), PS_EXPORT_DB, NULL);
    assert_non_null(run);
    assert_int_equal(run->n_done, 2);
    assert_int_equal(run->n_failed, 2);
    for (size_t r = 0; r < 4; r++) {
        const ps_rank_report *report = &run->ranks[r];
        char copy[4096];
        (void)snprintf(copy, sizeof copy, "%s/%s", out, report->rank->rel_path);
        assert_int_equal(access(copy, F_OK) == 0, report->status == PS_RANK_DONE);
        assert_int_equal(report->written != NULL, report->status == PS_RANK_DONE);
        if (report->status == PS_RANK_FAILED) {
            assert_non_null(strstr(report->err.msg, "worker 1, which had ranks "));
        }
    }
    ps_run_free(run);
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

/* The same where what is written travels. */
static void memory_that_runs_out_while_writing(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job_of(dir, "2", "1");
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    socket_crew_begin(&c, 2);
    bool is_through = false;
    for (int64_t n = 0; !is_through; n += PS_NEXT_FAILURE) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_run *run = write_labels(cluster, ps_crew_engine(c.crew), PS_EXPORT_CSV, &err);
        is_through = ps_alloc_fail_at(-1) <= n;
        assert_true(run != NULL || err.code == PS_NOMEM);
        ps_run_free(run);
    }
    ps_run *run = write_labels(cluster, ps_crew_engine(c.crew), PS_EXPORT_CSV, NULL);
    assert_non_null(run);
    assert_int_equal(run->n_done, 2);
    ps_run_free(run);
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

/* Wherever memory runs out in the program: it says so, or goes on without, and the same workers do the next job. */
static void memory_that_runs_out(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    socket_crew c;
    make_job(dir);
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    socket_crew_begin(&c, 2);
    bool is_through = false;
    for (int64_t n = 0; !is_through; n += PS_NEXT_FAILURE) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_run *run = over_all(cluster, ps_crew_engine(c.crew), &err);
        is_through = ps_alloc_fail_at(-1) <= n;
        assert_true(run != NULL || err.code == PS_NOMEM);
        ps_run_free(run);
    }
    ps_err err = PS_ERR_INIT;
    ps_run *run = over_all(cluster, ps_crew_engine(c.crew), &err);
    assert_non_null(run);
    assert_int_equal(run->n_done, 4);
    ps_run_free(run);
    socket_crew_end(&c);
    ps_cluster_free(cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_first),
        cmocka_unit_test(only_what_is_wanted_and_who_lives),
        cmocka_unit_test(near_before_even),
        cmocka_unit_test(frames_arrive_whole_or_not),
        cmocka_unit_test_setup_teardown(who_dies_takes_its_ranks_along, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(without_workers_nothing_goes, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(who_sees_other_ranks_takes_no_part, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(who_holds_a_rank_writes_it, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(memory_that_runs_out, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_while_writing, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
