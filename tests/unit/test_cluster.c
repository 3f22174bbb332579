/* Finding the ranks of a cluster, and a whole run of pp_chart when memory ends
 * somewhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/runs.h"
#include "support/sanitized.h"

#define OUT "ASCEND_PROFILER_OUTPUT"

/* An empty database (its name and place count here) at <place>/<path>. */
static void add_db(const place *where, const char *path) {
    char dir[TEST_PATH];
    (void)snprintf(dir, sizeof dir, "%s", place_path(where, "%s", path));
    *strrchr(dir, '/') = '\0';
    make_dirs(dir);
    profile p;
    profile_begin_file(&p, place_path(where, "%s", path));
    profile_close(&p);
}

static ps_cluster *find(const char *path) {
    ps_err err = PS_ERR_INIT;
    ps_cluster *c = ps_cluster_find(path, &err);
    if (c == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    return c;
}

/* The ranks as "0:PyTorch:path" lines below the root. */
static void expect_ranks(const ps_cluster *c, const char *expected) {
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < c->n_ranks; i++) {
        const ps_cluster_rank *r = &c->ranks[i];
        ps_buf_addf(&text, "%lld:%s:%s\n", (long long)r->rank, ps_cluster_profiler(r), r->rel_path);
    }
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
}

/* By number, not by name or place: 2 before 10. */
static void ranks_come_in_numeric_order(void **state) {
    const place *where = *state;
    add_db(where, "a_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_10.db");
    add_db(where, "b_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_2.db");
    add_db(where, "node1/c_3_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    ps_cluster *c = find(where->dir);
    expect_ranks(
        c, "0:PyTorch:node1/c_3_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db\n"
           "2:PyTorch:b_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_2.db\n"
           "10:PyTorch:a_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_10.db\n");
    assert_int_equal(c->n_notes, 0);
    assert_int_equal(c->ranks[0].timestamp, INT64_C(20240501120000000));
    ps_cluster_free(c);
}

/* The newest by the name of its directory wins, in whatever order they are met;
 * the others are counted. */
static void the_newest_profile_of_a_rank_is_read(void **state) {
    const place *where = *state;
    add_db(where, "h_1_20240501130000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "a_3_20231231235959999_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    ps_cluster *c = find(where->dir);
    expect_ranks(c, "0:PyTorch:h_1_20240501130000000_ascend_pt/" OUT
                    "/ascend_pytorch_profiler_0.db\n");
    assert_int_equal(c->diag.counts[PS_ODD_RANK_DUPLICATE], 2);
    ps_cluster_free(c);
}

/* Two runs of two ranks below one folder: the one that is read and the one that is not are named by their own folders. */
static void the_folder_that_is_read_is_named(void **state) {
    const place *where = *state;
    add_db(where, "new/h_1_20240501130000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "new/h_2_20240501130000000_ascend_pt/" OUT "/ascend_pytorch_profiler_1.db");
    add_db(where, "old/h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "old/h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_1.db");
    ps_cluster *c = find(where->dir);
    assert_int_equal(c->n_ranks, 2);
    assert_non_null(c->left_out.in[PS_ENGLISH]);
    assert_non_null(strstr(c->left_out.in[PS_ENGLISH], "/new; 2 others are left out, from "));
    assert_non_null(strstr(c->left_out.in[PS_ENGLISH], "/old (name one folder"));
    assert_non_null(strstr(c->left_out.in[PS_CHINESE], "/new；另有 2 份略去，来自 "));
    ps_cluster_free(c);
}

/* A recording without a rank, from and to those seconds of a day; 0 0: its times are not known. */
static void add_recording(const place *where, const char *worker, int from, int to) {
    char path[TEST_PATH];
    (void)snprintf(path, sizeof path, "%s_2024050100%02d%02d000_ascend_pt", worker, from / 60,
                   from % 60);
    char database[TEST_PATH + 64];
    (void)snprintf(database, sizeof database, "%s/" OUT "/ascend_pytorch_profiler.db", path);
    add_db(where, database);
    if (to > 0) {
        FILE *f = fopen(place_path(where, "%s/profiler_info.json", path), "w");
        assert_non_null(f);
        (void)fprintf(f, "{\"collector\": {\"start_ns\": %d000000001, \"end_ns\": %d000000001}}",
                      from, to);
        assert_int_equal(fclose(f), 0);
    }
}

/* Workers of the recordings that are kept, and how many are not. */
static void expect_kept(const place *where, const char *kept, uint64_t n_left) {
    ps_cluster *c = find(where->dir);
    char text[512] = "";
    for (size_t i = 0; i < c->n_ranks; i++) {
        size_t n = strlen(text);
        const char *name = c->ranks[i].rel_path;
        (void)snprintf(text + n, sizeof text - n, "%s%.*s", i > 0 ? " " : "",
                       (int)(strstr(name, "000_ascend_pt") - name), name);
    }
    assert_string_equal(text, kept);
    assert_int_equal(c->diag.counts[PS_ODD_RANK_DUPLICATE], n_left);
    assert_true((c->left_out.in[PS_ENGLISH] != NULL) == (n_left > 0));
    assert_true(c->n_ranks != 1 || c->ranks[0].rank == -1);
    ps_cluster_free(c);
}

/* One program run twice: the second run counts. */
static void a_run_again_is_the_same_rank(void **state) {
    const place *where = *state;
    add_recording(where, "h_20", 1, 5);
    add_recording(where, "h_10", 7, 9);
    expect_kept(where, "h_10_20240501000007", 1);
}

/* Two processes that ran at the same time are two ranks; so they are in their second run, which counts. */
static void recordings_that_overlap_are_ranks(void **state) {
    const place *where = *state;
    add_recording(where, "h_1", 1, 5);
    add_recording(where, "h_2", 4, 6);
    expect_kept(where, "h_1_20240501000001 h_2_20240501000004", 0);
    add_recording(where, "h_4", 11, 15);
    add_recording(where, "h_3", 12, 13);
    add_recording(where, "h_5", 14, 17);
    expect_kept(where, "h_3_20240501000012 h_4_20240501000011 h_5_20240501000014", 2);
}

/* Cycles of a schedule, of two processes whose windows are not at the same time. */
static void cycles_of_a_process_are_one_rank(void **state) {
    const place *where = *state;
    add_recording(where, "h_1", 1, 2);
    add_recording(where, "h_1", 5, 6);
    add_recording(where, "h_2", 3, 4);
    add_recording(where, "h_2", 7, 8);
    expect_kept(where, "h_1_20240501000005 h_2_20240501000007", 2);
}

/* A name that all processes share says nothing where they overlap. */
static void ranks_may_share_a_name(void **state) {
    const place *where = *state;
    add_recording(where, "w", 1, 5);
    add_recording(where, "w", 2, 5);
    expect_kept(where, "w_20240501000001 w_20240501000002", 0);
    add_recording(where, "w", 8, 9);
    expect_kept(where, "w_20240501000008", 2);
}

/* Without times only the process tells; clocks of two hosts are not compared. */
static void recordings_without_times_stay(void **state) {
    const place *where = *state;
    add_recording(where, "h_1", 1, 0);
    add_recording(where, "h_1", 2, 0);
    add_recording(where, "h_2", 8, 9);
    add_recording(where, "other_3", 20, 21);
    expect_kept(where, "h_1_20240501000002 h_2_20240501000008 other_3_20240501000020", 1);
}

/* A directory without a time in its name is older than any with one. */
static void a_name_without_a_time_is_the_oldest(void **state) {
    const place *where = *state;
    add_db(where, "renamed/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    ps_cluster *c = find(where->dir);
    expect_ranks(c, "0:PyTorch:h_2_20240501120000000_ascend_pt/" OUT
                    "/ascend_pytorch_profiler_0.db\n");
    ps_cluster_free(c);
}

static void loops_of_links_end(void **state) {
    const place *where = *state;
    add_db(where, "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    make_dirs(place_path(where, "sub"));
    assert_int_equal(symlink("..", place_path(where, "sub/up")), 0);
    assert_int_equal(symlink(".", place_path(where, "self")), 0);
    assert_int_equal(symlink("nowhere", place_path(where, "dangling")), 0);
    ps_cluster *c = find(where->dir);
    assert_int_equal(c->n_ranks, 1);
    assert_int_equal(c->diag.counts[PS_ODD_RANK_DUPLICATE], 0);
    ps_cluster_free(c);
}

static void an_unreadable_directory_is_counted(void **state) {
    const place *where = *state;
    if (geteuid() == 0) {
        skip(); /* root reads everything */
    }
    add_db(where, "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    make_dirs(place_path(where, "closed"));
    assert_int_equal(chmod(place_path(where, "closed"), 0), 0);
    ps_cluster *c = find(where->dir);
    assert_int_equal(c->n_ranks, 1);
    assert_int_equal(c->diag.counts[PS_ODD_FILE], 1);
    assert_non_null(strstr(c->diag.places[PS_ODD_FILE][0], "closed"));
    ps_cluster_free(c);
}

/* Finding does not look inside: an empty file or a text is a rank, and reading
 * it says what is wrong. */
static void broken_files_are_found_and_named_when_read(void **state) {
    const place *where = *state;
    make_dirs(place_path(where, "h_1_20240501120000000_ascend_pt/" OUT));
    write_text(
        place_path(where, "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db"),
        "");
    make_dirs(place_path(where, "h_2_20240501120000000_ascend_pt/" OUT));
    write_text(
        place_path(where, "h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_1.db"),
        "hello");
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_failed, 2);
    assert_non_null(strstr(report_of(&o, 0)->err.msg, "empty"));
    assert_non_null(strstr(report_of(&o, 1)->err.msg, "not a profile"));
    outcome_fini(&o);
}

/* One rank directory, its inner folder, or one database may be named as well.
 */
static void one_rank_may_be_named(void **state) {
    const place *where = *state;
    static const char DB[] = "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_3.db";
    add_db(where, DB);
    write_text(place_path(where, "h_1_20240501120000000_ascend_pt/profiler_info_3.json"), "{}");
    static const struct {
        const char *path, *rel_path;
    } CASES[] = {
        {"h_1_20240501120000000_ascend_pt", OUT "/ascend_pytorch_profiler_3.db"},
        {"h_1_20240501120000000_ascend_pt/", OUT "/ascend_pytorch_profiler_3.db"},
        {"h_1_20240501120000000_ascend_pt/" OUT, OUT "/ascend_pytorch_profiler_3.db"},
        {"h_1_20240501120000000_ascend_pt/" OUT "/", OUT "/ascend_pytorch_profiler_3.db"},
        {DB, "ascend_pytorch_profiler_3.db"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_cluster *c = find(place_path(where, "%s", CASES[i].path));
        assert_int_equal(c->n_ranks, 1);
        assert_int_equal(c->ranks[0].rank, 3);
        assert_string_equal(c->ranks[0].rel_path, CASES[i].rel_path);
        assert_true(ps_is_file(c->ranks[0].path));
        assert_true(ps_ends_with(c->ranks[0].rank_dir, "h_1_20240501120000000_ascend_pt"));
        ps_cluster_free(c);
    }
}

/* A database under another name: no rank is known, and it is read all the same.
 */
static void a_renamed_database_may_be_named(void **state) {
    const place *where = *state;
    add_db(where, "mine.db");
    ps_cluster *c = find(place_path(where, "mine.db"));
    expect_ranks(c, "-1:PyTorch:mine.db\n");
    assert_null(c->ranks[0].rank_dir);
    assert_int_equal(c->n_notes, 0); /* one profile needs no number */
    ps_cluster_free(c);
}

/* Databases that somebody copied into one folder, with their names and without. */
static void databases_may_lie_flat(void **state) {
    const place *where = *state;
    add_db(where, "flat/ascend_pytorch_profiler_1.db");
    add_db(where, "flat/ascend_pytorch_profiler_0.db");
    ps_cluster *c = find(place_path(where, "flat"));
    expect_ranks(c, "0:PyTorch:ascend_pytorch_profiler_0.db\n"
                    "1:PyTorch:ascend_pytorch_profiler_1.db\n");
    assert_int_equal(c->n_notes, 0);
    ps_cluster_free(c);
}

/* Without a number in its name the rank is that of profiler_info beside it,
 * else unknown. */
static void the_rank_may_stand_beside(void **state) {
    const place *where = *state;
    add_db(where, "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler.db");
    add_db(where, "h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler.db");
    write_text(place_path(where, "h_2_20240501120000000_ascend_pt/profiler_info_6.json"), "{}");
    ps_cluster *c = find(where->dir);
    expect_ranks(c,
                 "-1:PyTorch:h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler.db\n"
                 "6:PyTorch:h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler.db\n");
    assert_int_equal(c->n_notes, 1);
    ps_cluster_free(c);
}

static void names_of_other_files_are_told_apart(void **state) {
    const place *where = *state;
    static const char *const OTHERS[] = {
        "ascend_pytorch_profiler_x.db",    "ascend_pytorch_profiler_.db",
        "ascend_pytorch_profiler_-1.db",   "ascend_pytorch_profiler_1.db-journal",
        "my_ascend_pytorch_profiler_1.db", "analysis.db"};
    make_dirs(place_path(where, OUT));
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        write_text(place_path(where, OUT "/%s", OTHERS[i]), "");
    }
    static const char *const MONITORS[] = {
        "msmonitor_1_2024050112000000_0.db", /* 16 digits */
        "msmonitor_x_20240501120000000_0.db",  "msmonitor_1_20240501120000000.db",
        "msmonitor_1_20240501120000000_x.db",  "msmonitor_1_20240501120000000_-2.db",
        "msmonitor_-1_20240501120000000_0.db", "msmonitor_1_20240501120000000_0.db.bak"};
    for (size_t i = 0; i < sizeof MONITORS / sizeof *MONITORS; i++) {
        write_text(place_path(where, "%s", MONITORS[i]), "");
    }
    ps_cluster *c = find(where->dir);
    expect_ranks(c, "");
    ps_cluster_free(c);
}

static void msmonitor_files_are_found_anywhere(void **state) {
    const place *where = *state;
    add_db(where, "x/msmonitor_77_20240501120000000_1.db");
    add_db(where, "x/msmonitor_77_20240501130000000_1.db"); /* newer */
    add_db(where, "msmonitor_78_20240501120000000_0.db");
    add_db(where, "msmonitor_79_20240501120000000_-1.db");
    ps_cluster *c = find(where->dir);
    expect_ranks(c, "-1:msMonitor:msmonitor_79_20240501120000000_-1.db\n0:"
                    "msMonitor:msmonitor_78_20240501120000000_0.db\n"
                    "1:msMonitor:x/msmonitor_77_20240501130000000_1.db\n");
    assert_int_equal(c->diag.counts[PS_ODD_RANK_DUPLICATE], 1);
    assert_null(c->ranks[0].rank_dir);
    ps_cluster_free(c);
}

/* Several profilers side by side: each for itself, and it is said. */
static void profilers_may_be_mixed(void **state) {
    const place *where = *state;
    add_db(where, "h_1_20240501120000000_ascend_ms/" OUT "/ascend_mindspore_profiler_0.db");
    add_db(where, "h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "msmonitor_3_20240501120000000_0.db");
    ps_cluster *c = find(where->dir);
    expect_ranks(
        c, "0:PyTorch:h_2_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db\n"
           "0:MindSpore:h_1_20240501120000000_ascend_ms/" OUT "/ascend_mindspore_profiler_0.db\n"
           "0:msMonitor:msmonitor_3_20240501120000000_0.db\n");
    assert_int_equal(c->n_notes, 1);
    assert_non_null(strstr(c->notes[0].in[PS_ENGLISH],
                           "1 ascend-db, 1 ascend-db of MindSpore, 1 ascend-db of msMonitor"));
    assert_non_null(
        strstr(c->notes[0].in[PS_CHINESE],
               "多种格式并存，各自单独分析：1 份 ascend-db，1 份 ascend-db（MindSpore）"));
    ps_cluster_free(c);
}

static void text_results_are_counted(void **state) {
    const place *where = *state;
    make_dirs(place_path(where, "h_1_20240501120000000_ascend_pt/" OUT));
    write_text(place_path(where, "h_1_20240501120000000_ascend_pt/" OUT "/step_trace_time.csv"),
               "");
    make_dirs(place_path(where, "h_2_20240501120000000_ascend_pt/" OUT));
    ps_cluster *c = find(where->dir);
    assert_int_equal(c->n_ranks, 0);
    assert_int_equal(c->n_text_dirs, 1);
    ps_cluster_free(c);
}

/* Raw data are not searched, and the depth has an end. */
static void the_search_is_bounded(void **state) {
    const place *where = *state;
    add_db(where, "PROF_000001_20240501120000000_X/h_1_20240501120000000_ascend_pt/" OUT
                  "/ascend_pytorch_profiler_0.db");
    add_db(where, "1/2/3/4/5/6/7/8/9/ten/" OUT "/ascend_pytorch_profiler_1.db");
    add_db(where, "1/2/3/4/5/6/7/8/9/10/eleven/" OUT "/ascend_pytorch_profiler_2.db");
    ps_cluster *c = find(where->dir);
    assert_int_equal(c->n_ranks, 1);
    assert_int_equal(c->ranks[0].rank, 1);
    ps_cluster_free(c);
}

static void a_missing_path_is_an_error(void **state) {
    const place *where = *state;
    ps_err err = PS_ERR_INIT;
    assert_null(ps_cluster_find(place_path(where, "absent"), &err));
    assert_int_equal(err.code, PS_NOT_FOUND);
    assert_non_null(strstr(err.file, "absent"));
}

static void finding_without_memory(void **state) {
    const place *where = *state;
    add_db(where, "h_1_20240501120000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "h_2_20240501130000000_ascend_pt/" OUT "/ascend_pytorch_profiler_0.db");
    add_db(where, "h_3_20240501130000000_ascend_pt/" OUT "/ascend_pytorch_profiler.db");
    bool done = false;
    for (int64_t n = 0; !done; n += PS_NEXT_FAILURE) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_cluster *c = ps_cluster_find(where->dir, &err);
        done = ps_alloc_fail_at(-1) <= n;
        /* Only a sentence for people may be lost on the way. */
        assert_true(c != NULL ? c->n_ranks == 2 && (done || c->n_notes == 0)
                              : err.code == PS_NOMEM);
        ps_cluster_free(c);
    }
}

/* --- a whole run without memory
 * ------------------------------------------------------------------ */

/* A rank with metadata in both places, steps, marks with and without tasks, and
 * either communication operators or marks of communication. */
static void add_full_rank(profile *p, const place *where, int rank, bool native) {
    profile_begin(p, where, rank);
    profile_dualpipev(p, 1, 2);
    profile_meta(p, "parallel_group_info",
                 "{\"g\": {\"group_name\": \"pp\", \"group_rank\": 0, "
                 "\"global_ranks\": [0]}}");
    profile_step(p, 1, 0, 100000);
    for (int k = 0; k < 9; k++) {
        profile_mark(p,
                     k < 4 ? "{'name': 'forward_step', 'current_microbatch': 1}"
                           : "{'name': 'backward_step'}",
                     1000 + k * 100, 1050 + k * 100);
    }
    static const char SEND[] =
        "{\"opName\": \"HcclSend\", \"groupName\": \"g\", \"dataType\": "
        "\"fp16\", \"count\": "
        "\"8\", \"streamId\": \"5\", \"srcRank\": \"0\", \"dstRank\": \"1\"}";
    profile_mark(p, SEND, 5000, 5100);
    profile_add_mark(
        p,
        (mark_spec){.message = SEND, .host_start_ns = 6000, .host_end_ns = 6001, .no_task = true});
    profile_kernel(p, 5, 6010, 6100);
    if (native) {
        profile_comm_op(p, "hcom_send__849_0_1", "g", 5000, 5100, 0, 1);
    }
    profile_close(p);
    profile_json(p, "{\"pp_info\": {\"pp_type\": \"dualpipev\"}, \"more\": [1, 2]}");
}

/* Whatever allocation fails: the run or the rank says PS_NOMEM, and the
 * database holds all results or none. */
static void run_without_memory(const place *where, bool native) {
    profile p;
    add_full_rank(&p, where, 0, native);
    ps_cluster *c = find(where->dir);
    const ps_cluster_rank *rank = &c->ranks[0];
    const ps_analysis *analysis = ps_analysis_find("pp_chart");
    ps_run_opts opts = default_opts();
    opts.n_threads = 1; /* the counter is the calling thread's */
    char *expected = NULL;
    static const char ROWS[] = "SELECT name, startNs FROM StepTaskInfo ORDER BY startNs";
    static const char IDS[] = "SELECT opConnectionId FROM COMMUNICATION_OP";
    char undo[TEST_PATH];
    ps_buf original;
    ps_buf_init(&original, 0);
    assert_int_equal(ps_read_file(p.path, (size_t)1 << 30, &original, NULL), PS_OK);
    (void)snprintf(undo, sizeof undo, "%s", p.path);
    bool done = false;
    for (int64_t n = -1; !done; n++) { /* n = -1: nothing fails, for comparison */
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_run *run = ps_run_analyses(&analysis, 1, c, &rank, 1, &opts, &err);
        bool fired = ps_alloc_fail_at(-1) > n && n >= 0;
        done = n >= 0 && !fired;
        bool ok = run != NULL && run->n_done == 1;
        if (!ok) {
            ps_code code = run == NULL ? err.code : run->ranks[0].err.code;
            if (code != PS_NOMEM) {
                fail_msg("allocation %lld: %s", (long long)n,
                         run == NULL ? err.msg : run->ranks[0].err.msg);
            }
            assert_true(fired);
            assert_true(!has_table(p.path, "StepTaskInfo"));
        } else {
            char *rows = query_rows(p.path, ROWS);
            char *ids = query_rows(p.path, IDS);
            char *both = NULL;
            assert_true(asprintf(&both, "%s%s", rows, ids) > 0);
            if (expected == NULL) {
                expected = both;
            } else if (strcmp(both, expected) != 0) {
                fail_msg("allocation %lld failed unnoticed:\n%s", (long long)n, both);
            } else {
                free(both);
            }
            free(rows);
            free(ids);
        }
        ps_run_free(run);
        assert_int_equal(ps_write_file(undo, ps_buf_str(&original), original.len, NULL), PS_OK);
    }
    free(expected);
    ps_buf_fini(&original);
    ps_cluster_free(c);
}

static void pp_chart_without_memory(void **state) {
    run_without_memory(*state, true);
}

static void pp_chart_of_marks_without_memory(void **state) {
    run_without_memory(*state, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(ranks_come_in_numeric_order),
        IN_PLACE(the_newest_profile_of_a_rank_is_read),
        IN_PLACE(a_run_again_is_the_same_rank),
        IN_PLACE(recordings_that_overlap_are_ranks),
        IN_PLACE(cycles_of_a_process_are_one_rank),
        IN_PLACE(ranks_may_share_a_name),
        IN_PLACE(recordings_without_times_stay),
        IN_PLACE(the_folder_that_is_read_is_named),
        IN_PLACE(a_name_without_a_time_is_the_oldest),
        IN_PLACE(loops_of_links_end),
        IN_PLACE(an_unreadable_directory_is_counted),
        IN_PLACE(broken_files_are_found_and_named_when_read),
        IN_PLACE(one_rank_may_be_named),
        IN_PLACE(a_renamed_database_may_be_named),
        IN_PLACE(databases_may_lie_flat),
        IN_PLACE(the_rank_may_stand_beside),
        IN_PLACE(names_of_other_files_are_told_apart),
        IN_PLACE(msmonitor_files_are_found_anywhere),
        IN_PLACE(profilers_may_be_mixed),
        IN_PLACE(text_results_are_counted),
        IN_PLACE(the_search_is_bounded),
        IN_PLACE(a_missing_path_is_an_error),
        IN_PLACE(finding_without_memory),
        IN_PLACE(pp_chart_without_memory),
        IN_PLACE(pp_chart_of_marks_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
