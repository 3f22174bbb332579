/* Tables of the cluster: the database and files that a run leaves, what is kept, what is refused, and how one of several
 * analyses ends without the others. The analyses are made up: they read nothing. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/runs.h"
#include "support/sanitized.h"

PS_TEST_FORKS_OFTEN

/* --- analyses made up ---------------------------------------------------------------------------------------- */

static ps_code map_any(const ps_map_input *in, void **partial, ps_err *err) {
    (void)in;
    *partial = ps_calloc(1, 1);
    return *partial != NULL ? PS_OK : ps_fail_nomem(err);
}

/* Nothing for odd ranks. */
static ps_code map_even(const ps_map_input *in, void **partial, ps_err *err) {
    if (in->rank->rank % 2 == 1) {
        return ps_fail(err, PS_NOTHING, "an odd rank");
    }
    return map_any(in, partial, err);
}

static ps_code map_broken(const ps_map_input *in, void **partial, ps_err *err) {
    if (in->rank->rank == 1) {
        return ps_fail(err, PS_SYNTAX, "broken");
    }
    return map_any(in, partial, err);
}

static const ps_column COLUMNS[] = {
    {.name = "rank", .type = PS_COL_INT, .is_key = true},
    {.name = "step", .type = PS_COL_INT, .sql_type = "NUMERIC", .is_key = true},
    {.name = "busy", .type = PS_COL_REAL, .unit = PS_UNIT_US, .header = "Busy(us)"},
    {.name = "na\"me", .type = PS_COL_TEXT}};

static ps_table *new_table(const char *name, uint32_t to, int64_t n_rows, int64_t first) {
    ps_table *t = ps_table_new(name, "a title", COLUMNS, 4);
    for (int64_t r = 0; t != NULL && r < n_rows; r++) {
        if (!ps_table_add_row(t) || !ps_table_set_text(t, 3, "it's")) {
            ps_table_free(t);
            return NULL;
        }
        ps_table_set_int(t, 0, first + r);
        ps_table_set_real(t, 2, 0.5);
    }
    if (t != NULL) {
        t->to = to;
    }
    return t;
}

static ps_code add(const ps_reduce_input *in, ps_table *t, ps_err *err) {
    return t != NULL ? ps_result_add(in->result, t, err) : ps_fail_nomem(err);
}

static int64_t count_partials(const ps_reduce_input *in) {
    int64_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        n += in->partials[r] != NULL;
    }
    return n;
}

/* Own (a row for each rank), Empty, Shared, and Screen for people. */
static ps_code reduce_one(const ps_reduce_input *in, void **shared, ps_err *err) {
    (void)shared;
    ps_code code = add(in, new_table("Own", PS_TO_DB | PS_TO_FILES, count_partials(in), 0), err);
    code = code == PS_OK ? add(in, new_table("Empty", PS_TO_ALL, 0, 0), err) : code;
    code = code == PS_OK ? add(in, new_table("Shared", PS_TO_ALL, 2, 7), err) : code;
    return code == PS_OK ? add(in, new_table("Screen", 0, 1, 0), err) : code;
}

/* The same Shared, another Own, and a file in a folder. */
static ps_code reduce_two(const ps_reduce_input *in, void **shared, ps_err *err) {
    (void)shared;
    ps_code code = add(in, new_table("Shared", PS_TO_ALL, 2, 7), err);
    code = code == PS_OK ? add(in, new_table("own", PS_TO_DB, 1, 50), err) : code;
    ps_table *t = code == PS_OK ? new_table("Deep", PS_TO_FILES | PS_TO_BESIDE_DB, 1, 0) : NULL;
    if (t != NULL) {
        t->file = "3/../deep\\est\n";
        t->is_sheet = true;
    }
    return code == PS_OK ? add(in, t, err) : code;
}

static ps_code reduce_nothing(const ps_reduce_input *in, void **shared, ps_err *err) {
    (void)in;
    (void)shared;
    return ps_fail(err, PS_NOTHING, "no tea");
}

static ps_code reduce_broken(const ps_reduce_input *in, void **shared, ps_err *err) {
    ps_code code = reduce_one(in, shared, err);
    return code == PS_OK ? ps_fail(err, PS_RANGE, "too much tea") : code;
}

static void free_partial(void *p) {
    ps_free(p);
}

#define ANALYSIS(symbol, map_fn, reduce_fn)                                                        \
    static const ps_round symbol##_rounds[] = {{.map = map_fn, .reduce = reduce_fn}};              \
    static const ps_analysis symbol = {.name = #symbol,                                            \
                                       .folder = #symbol "_files",                                 \
                                       .summary = "made up",                                       \
                                       .rounds = symbol##_rounds,                                  \
                                       .n_rounds = 1,                                              \
                                       .free_partial = free_partial}
ANALYSIS(one, map_any, reduce_one);
ANALYSIS(two, map_even, reduce_two);
ANALYSIS(none, map_any, reduce_nothing);
ANALYSIS(broken, map_any, reduce_broken);
ANALYSIS(broken_rank, map_broken, reduce_one);

/* --- running ------------------------------------------------------------------------------------------------- */

typedef struct job {
    place in, out;
    ps_cluster *cluster;
    ps_run *run;
    ps_run_opts opts;
    ps_err err;
} job;

static void job_init(job *j, const place *where, int n_ranks) {
    *j = (job){.in = place_inner(where, "in"), .out = place_inner(where, "out")};
    for (int r = 0; r < n_ranks; r++) {
        profile p;
        profile_begin(&p, &j->in, r);
        profile_mark(&p, "x", 1, 2);
        profile_close(&p);
    }
    j->cluster = ps_cluster_find(j->in.dir, NULL);
    assert_non_null(j->cluster);
    assert_int_equal(j->cluster->n_ranks, n_ranks);
    j->opts = default_opts();
    j->opts.n_threads = 1;
    j->opts.out_dir = j->out.dir;
}

static ps_code run_job(job *j, const ps_analysis *const *analyses, size_t n) {
    const ps_cluster_rank *ranks[8];
    for (size_t r = 0; r < j->cluster->n_ranks; r++) {
        ranks[r] = &j->cluster->ranks[r];
    }
    ps_run_free(j->run);
    j->err = PS_ERR_INIT;
    j->run =
        ps_run_analyses(analyses, n, j->cluster, ranks, j->cluster->n_ranks, &j->opts, &j->err);
    return j->run != NULL ? PS_OK : j->err.code;
}

static void job_fini(job *j) {
    ps_run_free(j->run);
    ps_cluster_free(j->cluster);
}

#define RUN(j, ...)                                                                                \
    run_job(j, (const ps_analysis *const[]){__VA_ARGS__},                                          \
            sizeof((const ps_analysis *const[]){__VA_ARGS__}) / sizeof(ps_analysis *))

#define DB "cluster_analysis_output/cluster_analysis.db"

static void expect_file(const job *j, const char *name, const char *expected) {
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_err err = PS_ERR_INIT;
    const char *path = place_path(&j->out, "cluster_analysis_output/%s", name);
    if (ps_read_file(path, 10000, &text, &err) != PS_OK) {
        fail_msg("%s: %s", path, err.msg);
    }
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
}

/* --- the database -------------------------------------------------------------------------------------------- */

/* Tables of others stay, own ones are replaced; an empty result is an empty table; keys get their index. */
static void the_database_keeps_what_is_not_ours(void **state) {
    job j;
    job_init(&j, *state, 2);
    const char *db = place_path(&j.out, DB);
    make_dirs(place_path(&j.out, "cluster_analysis_output"));
    profile p;
    profile_begin_file(&p, db);
    profile_sql(&p, "CREATE TABLE Foreign_ (x); INSERT INTO Foreign_ VALUES (1)");
    profile_sql(&p, "CREATE TABLE Empty (old); INSERT INTO Empty VALUES (1)");
    profile_close(&p);
    assert_int_equal(RUN(&j, &one), PS_OK);
    expect_rows(db, "SELECT x FROM Foreign_", "1\n");
    expect_rows(db, "SELECT * FROM Own", "0|NULL|0.5|it's\n1|NULL|0.5|it's\n");
    expect_rows(db, "SELECT count(*) FROM Empty", "0\n");
    expect_rows(db, "SELECT name, type FROM pragma_table_info('Empty')",
                "rank|INTEGER\nstep|NUMERIC\nbusy|REAL\nna\"me|TEXT\n");
    expect_rows(db, "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' ORDER BY name",
                "ix_Empty_rank_step|Empty\nix_Own_rank_step|Own\nix_Shared_rank_step|Shared\n");
    assert_false(has_table(db, "Screen"));
    assert_int_equal(j.run->n_written, 3);
    char *before = query_rows(db, "SELECT name, sql FROM sqlite_master ORDER BY name");
    assert_int_equal(RUN(&j, &one), PS_OK);
    expect_rows(db, "SELECT name, sql FROM sqlite_master ORDER BY name", before);
    free(before);
    job_fini(&j);
}

/* Equal tables of two modes are one; of two that differ the first is written and the run says so. */
static void one_table_of_two_modes(void **state) {
    job j;
    job_init(&j, *state, 2);
    const char *db = place_path(&j.out, DB);
    assert_int_equal(RUN(&j, &one, &two), PS_OK);
    expect_rows(db, "SELECT rank FROM Shared", "7\n8\n");
    expect_rows(db, "SELECT rank FROM Own", "0\n1\n");
    /* Own, Empty, Shared; and Deep, beside the database */
    assert_int_equal(j.run->n_written, 4);
    assert_false(has_table(db, "Deep"));
    expect_file(&j, "two_files/3/_./deep_est_.csv",
                "rank,step,Busy(us),\"na\"\"me\"\r\n0,,0.5,it's\r\n");
    assert_int_equal(j.run->n_notes, 1);
    assert_string_equal(j.run->notes[0],
                        "own: one and two disagree about it, that of one was written; run one at a "
                        "time");
    job_fini(&j);
}

static void something_else_in_its_place(void **state) {
    job j;
    job_init(&j, *state, 1);
    make_dirs(place_path(&j.out, "cluster_analysis_output"));
    const char *db = place_path(&j.out, DB);
    write_text(db, "this is no database, and long enough to be looked at");
    uint64_t before = file_hash(db);
    assert_int_equal(RUN(&j, &one), PS_UNSUPPORTED);
    assert_true(strstr(j.err.msg, "no SQLite database") != NULL);
    assert_true(file_hash(db) == before);
    write_text(db, ""); /* an empty file is an empty database */
    assert_int_equal(RUN(&j, &one), PS_OK);
    assert_int_equal(chmod(db, 0444), 0);
    before = file_hash(db);
    assert_int_equal(RUN(&j, &one), PS_READONLY);
    assert_true(file_hash(db) == before);
    job_fini(&j);
}

/* The nearest folder that exists decides; nothing is made in it. */
static void a_read_only_target(void **state) {
    job j;
    job_init(&j, *state, 1);
    assert_int_equal(chmod(j.out.dir, 0555), 0);
    const ps_export types[] = {PS_EXPORT_DB, PS_EXPORT_CSV, PS_EXPORT_XLSX};
    for (size_t i = 0; i < 3; i++) {
        j.opts.export_type = types[i];
        assert_int_equal(RUN(&j, &one), PS_READONLY);
        assert_true(strstr(j.err.msg, "-o DIR") != NULL);
        assert_false(ps_is_dir(place_path(&j.out, "cluster_analysis_output")));
    }
    assert_int_equal(chmod(j.out.dir, 0755), 0);
    job_fini(&j);
}

/* --- files --------------------------------------------------------------------------------------------------- */

static void files_have_headers_and_folders(void **state) {
    job j;
    job_init(&j, *state, 2);
    j.opts.export_type = PS_EXPORT_CSV;
    assert_int_equal(RUN(&j, &one, &two), PS_OK);
    expect_file(&j, "one_files/Own.csv",
                "rank,step,Busy(us),\"na\"\"me\"\r\n0,,0.5,it's\r\n1,,0.5,it's\r\n");
    expect_file(&j, "one_files/Empty.csv", "rank,step,Busy(us),\"na\"\"me\"\r\n");
    expect_file(&j, "one_files/Screen.csv", "rank,step,Busy(us),\"na\"\"me\"\r\n0,,0.5,it's\r\n");
    expect_file(&j, "two_files/Shared.csv",
                "rank,step,Busy(us),\"na\"\"me\"\r\n7,,0.5,it's\r\n8,,0.5,it's\r\n");
    expect_file(&j, "two_files/3/_./deep_est_.csv",
                "rank,step,Busy(us),\"na\"\"me\"\r\n0,,0.5,it's\r\n");
    assert_false(ps_is_file(place_path(&j.out, DB)));
    assert_int_equal(j.run->n_written, 6);
    j.opts.export_type = PS_EXPORT_JSON;
    assert_int_equal(RUN(&j, &one), PS_OK);
    expect_file(&j, "one_files/Screen.json",
                "[\n {\"rank\": 0, \"step\": null, \"busy_us\": 0.5, \"na\\\"me\": \"it's\"}\n]\n");
    job_fini(&j);
}

/* text: xlsx for sheets, csv for the rest. xlsx: all. */
static void kinds_of_files(void **state) {
    job j;
    job_init(&j, *state, 1);
    j.opts.export_type = PS_EXPORT_TEXT;
    assert_int_equal(RUN(&j, &two), PS_OK);
    assert_true(
        ps_is_file(place_path(&j.out, "cluster_analysis_output/two_files/3/_./deep_est_.xlsx")));
    assert_true(ps_is_file(place_path(&j.out, "cluster_analysis_output/two_files/Shared.csv")));
    j.opts.export_type = PS_EXPORT_XLSX;
    assert_int_equal(RUN(&j, &two), PS_OK);
    assert_true(ps_is_file(place_path(&j.out, "cluster_analysis_output/two_files/Shared.xlsx")));
    job_fini(&j);
}

/* --- one of several analyses --------------------------------------------------------------------------------- */

static void nothing_of_one_leaves_the_others(void **state) {
    job j;
    job_init(&j, *state, 3);
    assert_int_equal(RUN(&j, &none, &two, &one), PS_OK);
    assert_int_equal(j.run->n_done, 3);
    assert_int_equal(j.run->errors[0].code, PS_NOTHING);
    assert_int_equal(j.run->results[0].n_tables, 0);
    for (size_t r = 0; r < 3; r++) {
        assert_string_equal(j.run->ranks[r].missing[0], "no tea");
        assert_null(j.run->ranks[r].missing[2]);
    }
    assert_string_equal(j.run->ranks[1].missing[1], "an odd rank");
    assert_null(j.run->ranks[2].missing[1]);
    assert_int_equal(j.run->ranks[1].n_nothing, 2);
    expect_rows(place_path(&j.out, DB), "SELECT count(*) FROM Own", "1\n"); /* of two */
    job_fini(&j);
}

static void failure_of_one_leaves_the_others(void **state) {
    job j;
    job_init(&j, *state, 2);
    assert_int_equal(RUN(&j, &broken, &two), PS_OK);
    assert_int_equal(j.run->errors[0].code, PS_RANGE);
    assert_int_equal(j.run->n_done, 2);
    expect_rows(place_path(&j.out, DB), "SELECT rank FROM own", "50\n");
    assert_int_equal(RUN(&j, &broken), PS_RANGE);
    assert_string_equal(j.err.msg, "broken: too much tea");
    assert_int_equal(RUN(&j, &none, &none), PS_OK);
    assert_int_equal(j.run->n_nothing, 2);
    job_fini(&j);
}

/* A rank that fails in one analysis is failed; its part of the others and the other ranks are written. */
static void a_broken_rank_leaves_the_others(void **state) {
    job j;
    job_init(&j, *state, 3);
    assert_int_equal(RUN(&j, &broken_rank), PS_OK);
    assert_int_equal(j.run->n_failed, 1);
    assert_int_equal(j.run->n_done, 2);
    expect_rows(place_path(&j.out, DB), "SELECT count(*) FROM Own", "2\n");
    job_fini(&j);
}

static ps_code map_odd_event(const ps_map_input *in, void **partial, ps_err *err) {
    if (in->rank->rank == 1) {
        ps_diag_add(in->diag, PS_ODD_JSON, "here");
    }
    return map_any(in, partial, err);
}
ANALYSIS(odd, map_odd_event, reduce_one);

/* --strict: the tables are made without a rank that has counted errors. */
static void strict_leaves_a_rank_out(void **state) {
    job j;
    job_init(&j, *state, 3);
    j.opts.strict = true;
    assert_int_equal(RUN(&j, &odd), PS_OK);
    assert_int_equal(j.run->n_failed, 1);
    expect_rows(place_path(&j.out, DB), "SELECT count(*) FROM Own", "2\n");
    job_fini(&j);
}

/* Stopped in the map of one rank of two, nothing comes of it and nothing is written. */
static ps_code map_stopping(const ps_map_input *in, void **partial, ps_err *err) {
    atomic_store(&in->opts->watch->stop, true);
    return map_any(in, partial, err);
}
ANALYSIS(stopping, map_stopping, reduce_one);

static void stopped_on_the_way(void **state) {
    job j;
    ps_watch watch = {0};
    job_init(&j, *state, 2);
    j.opts.analysis.watch = &watch;
    assert_int_equal(RUN(&j, &stopping), PS_BUSY);
    assert_string_equal(j.err.msg, "this was ended early: nobody waits for it any more");
    assert_int_not_equal(access(place_path(&j.out, DB), F_OK), 0);
    job_fini(&j);
}

/* --- memory -------------------------------------------------------------------------------------------------- */

/* Any allocation may fail: the run fails, or goes on without the rank whose own it was. */
static void memory_runs_out(void **state) {
    job j;
    job_init(&j, *state, 2);
    const ps_analysis *const analyses[] = {&one, &two, &none};
    const ps_export types[] = {PS_EXPORT_DB, PS_EXPORT_CSV, PS_EXPORT_XLSX};
    for (size_t i = 0; i < 3; i++) {
        j.opts.export_type = types[i];
        bool fired = true;
        for (int64_t n = 0; fired; n += PS_NEXT_FAILURE) {
            (void)ps_alloc_fail_at(n);
            ps_code code = run_job(&j, analyses, 3);
            fired = ps_alloc_fail_at(-1) > n;
            assert_true(code == PS_OK || code == PS_NOMEM);
            assert_true(!fired || code == PS_NOMEM || j.run->n_failed > 0);
            assert_true(fired || (code == PS_OK && j.run->n_failed == 0));
        }
    }
    job_fini(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {IN_PLACE(the_database_keeps_what_is_not_ours),
                                       IN_PLACE(one_table_of_two_modes),
                                       IN_PLACE(something_else_in_its_place),
                                       IN_PLACE(a_read_only_target),
                                       IN_PLACE(files_have_headers_and_folders),
                                       IN_PLACE(kinds_of_files),
                                       IN_PLACE(nothing_of_one_leaves_the_others),
                                       IN_PLACE(failure_of_one_leaves_the_others),
                                       IN_PLACE(a_broken_rank_leaves_the_others),
                                       IN_PLACE(strict_leaves_a_rank_out),
                                       IN_PLACE(stopped_on_the_way),
                                       IN_PLACE(memory_runs_out)};
    return cmocka_run_group_tests_name("cluster_tables", tests, NULL, NULL);
}
