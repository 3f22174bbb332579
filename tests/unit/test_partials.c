/* Partials that travel: of all analyses over captures of every format. What they make of partials that were written and read is, byte
 * for byte, what they make of those that stayed; partials that are cut or changed are refused. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "analyze/comm/p2p.h"
#include "analyze/core/analysis_options.h"
#include "analyze/rank/marks.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "run/run.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/socket_crew.h"
#include "support/travel.h"
#include "write/chart/chart_json.h"

/* --- all that a run made, as bytes ----------------------------------------------------------------------------------- */

static void add_chart(ps_buf *out, const ps_chart *chart) {
    if (chart != NULL) {
        assert_int_equal(ps_write_chart_json(chart, NULL, out, NULL), PS_OK);
    }
}

typedef struct any_table {
    ps_table *table;
} any_table;

static void any_table_archive(ps_archive *a, void *at) {
    any_table *x = at;
    ps_table_archive(a, &x->table);
}

static void add_result(ps_buf *out, const ps_result *result) {
    for (size_t t = 0; t < result->n_tables; t++) {
        any_table x = {result->tables[t]};
        ps_buf_add_str(out, x.table->name);
        assert_int_equal(ps_archive_write(any_table_archive, &x, out, NULL), PS_OK);
    }
    add_chart(out, result->chart);
    add_chart(out, result->against);
}

static void add_run(ps_buf *out, const ps_run *run) {
    for (size_t a = 0; a < run->n_analyses; a++) {
        ps_buf_addf(out, "\n[%zu] %zu %s\n", a, run->n_took_part[a], run->errors[a].msg);
        add_result(out, &run->results[a]);
    }
    for (size_t r = 0; r < run->n_ranks; r++) {
        ps_rank_report *report = &run->ranks[r];
        ps_buf_addf(out, "\n%d %s\n", (int)report->status, report->err.msg);
        assert_int_equal(ps_archive_write(ps_diag_archive, &report->diag, out, NULL), PS_OK);
    }
}

/* --- partials on their way ------------------------------------------------------------------------------------------- */

enum { MOST_CUTS = PS_ROUNDS(200, 10), FLIPS = PS_ROUNDS(1000, 20), MOST_BYTES = 1 << 16 };

/* Over all captures. */
static const ps_analysis *sent_once[64];
static size_t n_sent_once;

/* Of the first partial of each analysis in a capture. */
typedef struct journey {
    const ps_analysis *seen[64];
    size_t n_seen, n_travelled;
    uint64_t random;
} journey;

static size_t next_below(journey *j, size_t n) {
    j->random = j->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((j->random >> 33) % n);
}

static void refuse(const ps_analysis *analysis, ps_archive_value *archive, const char *bytes,
                   size_t n, const char *how, size_t where) {
    void *value = NULL;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_archive_read_value(archive, &value, bytes, n, &err);
    if (code != PS_SYNTAX || value != NULL) {
        fail_msg("%s: a partial that is %s at %zu of %zu is taken for one", analysis->name, how,
                 where, n);
    }
}

/* Without a checksum they are read as far as they make sense, and freed as ever. */
static void try_anyway(const ps_analysis *analysis, ps_archive_value *archive, const char *bytes,
                       size_t n) {
    void *value = NULL;
    ps_code code = ps_archive_read_bare_value(archive, &value, bytes + PS_ARCHIVE_HEADER_BYTES,
                                              n - PS_ARCHIVE_HEADER_BYTES, NULL);
    assert_true(code == PS_OK || code == PS_SYNTAX);
    if (value != NULL && archive == analysis->archive) {
        analysis->free_partial(value);
    } else if (value != NULL) {
        analysis->free_shared(value);
    }
}

static void damage(journey *j, const ps_analysis *analysis, ps_archive_value *archive,
                   void *value) {
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_archive_write_value(archive, value, &bytes, NULL), PS_OK);
    size_t stride = bytes.len / MOST_CUTS + 1;
    for (size_t n = 0; n < bytes.len; n += stride) {
        refuse(analysis, archive, bytes.data, n, "cut", n);
        if (n >= PS_ARCHIVE_HEADER_BYTES && bytes.len < MOST_BYTES) {
            try_anyway(analysis, archive, bytes.data, n);
        }
    }
    for (size_t i = 0; i < FLIPS; i++) {
        size_t at = next_below(j, bytes.len);
        char kept = bytes.data[at];
        bytes.data[at] = (char)(kept ^ 1 << next_below(j, 8));
        refuse(analysis, archive, bytes.data, bytes.len, "changed", at);
        if (at >= PS_ARCHIVE_HEADER_BYTES && bytes.len < MOST_BYTES && i % 4 == 0) {
            try_anyway(analysis, archive, bytes.data, bytes.len);
        }
        bytes.data[at] = kept;
    }
    ps_buf_fini(&bytes);
}

static void note_travelled(const ps_analysis *analysis) {
    for (size_t i = 0; i < n_sent_once; i++) {
        if (sent_once[i] == analysis) {
            return;
        }
    }
    assert_true(n_sent_once < sizeof sent_once / sizeof *sent_once);
    sent_once[n_sent_once++] = analysis;
}

static ps_code send(void *context, const ps_analysis *analysis, ps_archive_value *archive,
                    void **value, ps_err *err) {
    journey *j = context;
    bool is_new = *value != NULL && j->n_seen < sizeof j->seen / sizeof *j->seen;
    for (size_t i = 0; i < j->n_seen; i++) {
        is_new = is_new && j->seen[i] != analysis;
    }
    if (is_new) {
        j->seen[j->n_seen++] = analysis;
        note_travelled(analysis);
        damage(j, analysis, archive, *value);
    }
    j->n_travelled += *value != NULL;
    return travel(analysis, archive, value, err);
}

/* --- captures -------------------------------------------------------------------------------------------------------- */

/* All analyses; without those that compare where the capture is no baseline. */
static ps_run *run_all(const char *path, bool with_baseline, const ps_cluster *cluster, journey *j,
                       ps_engine *engine, ps_err *err) {
    const ps_analysis *analyses[64];
    size_t n = 0;
    for (size_t i = 0; ps_analyses()[i] != NULL; i++) {
        assert_true(n < sizeof analyses / sizeof *analyses);
        if (with_baseline || ps_analyses()[i]->baseline == NULL) {
            analyses[n++] = ps_analyses()[i];
        }
    }
    ps_run_opts opts = {.n_threads = 2,
                        .export_type = PS_EXPORT_NOTHING,
                        .engine = engine,
                        .baseline_path = with_baseline ? path : NULL};
    ps_analysis_opts_init(&opts.analysis);
    opts.analysis.in_full = true;
    opts.moving = j != NULL ? send : NULL;
    opts.moving_context = j;
    return ps_run_all_ranks(analyses, n, cluster, &opts, err);
}

static void add_all(const char *path, journey *j, ps_engine *engine, ps_buf *out) {
    ps_err err = PS_ERR_INIT;
    ps_cluster *cluster = ps_cluster_find(path, &err);
    if (cluster == NULL || cluster->n_ranks == 0) {
        fail_msg("%s: %s", path, err.msg);
    }
    ps_run *run = run_all(path, true, cluster, j, engine, &err);
    run = run != NULL ? run : run_all(path, false, cluster, j, engine, &err);
    if (run == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    add_run(out, run);
    ps_run_free(run);
    ps_cluster_free(cluster);
}

static void want_same(const char *path, const char *how, const ps_buf *stayed,
                      const ps_buf *other) {
    size_t same = 0;
    while (same < stayed->len && same < other->len && stayed->data[same] == other->data[same]) {
        same++;
    }
    if (same < stayed->len || same < other->len) {
        size_t from = same < 200 ? 0 : same - 200;
        fail_msg("%s: what %s parts at byte %zu of %zu (%zu) behind\n%.*s", path, how, same,
                 stayed->len, other->len, (int)(same - from), stayed->data + from);
    }
}

/* `least`: partials that are there at least. The threads of one capture are those of any: their sanitizer sees every third. */
static void travel_all(const char *path, size_t least) {
    static size_t n_asked;
    if (n_asked++ % PS_ROUNDS(1, 3) != 0) {
        return;
    }
    journey j = {.random = 1};
    socket_crew crew;
    ps_buf stayed;
    ps_buf travelled;
    ps_buf of_crew;
    ps_buf_init(&stayed, 0);
    ps_buf_init(&travelled, 0);
    ps_buf_init(&of_crew, 0);
    add_all(path, NULL, NULL, &stayed);
    add_all(path, &j, NULL, &travelled);
    want_same(path, "travelled", &stayed, &travelled);
    if (j.n_travelled < least) {
        fail_msg("%s: only %zu partials travelled, of %zu analyses", path, j.n_travelled, j.n_seen);
    }
    socket_crew_begin(&crew, 3);
    add_all(path, NULL, ps_crew_engine(crew.crew), &of_crew);
    want_same(path, "a crew made", &stayed, &of_crew);
    socket_crew_end(&crew);
    ps_buf_fini(&stayed);
    ps_buf_fini(&travelled);
    ps_buf_fini(&of_crew);
}

static void of_kineto(void **state) {
    (void)state;
    travel_all("tests/data/torch_pipeline/gpipe", 10);
    travel_all("tests/data/torch_pipeline/dualpipev", 10);
    travel_all("tests/data/kineto_dualpipe/rank-3.json", 5);
    travel_all("tests/data/kineto/rank-3-launches.json", 5);
}

static void of_ascend_text(void **state) {
    (void)state;
    travel_all("tests/data/ascend_text/rank3_ascend_pt", 5);
    travel_all("tests/data/ascend_text/marks.json", 5);
    travel_all("tests/data/ascend_text/groups.json", 5);
    travel_all("tests/data/ascend_text/two-devices.json", 5);
}

static void of_paddle(void **state) {
    (void)state;
    travel_all("tests/data/paddle_logs/pp4_1f1b_2x2", 4);
    travel_all("tests/data/paddle_logs/pir_1f1b_pp2", 4);
}

static void of_workers(void **state) {
    (void)state;
    travel_all("tests/data/ndtimeline/two-by-two.json", 8);
}

static void of_other_files(void **state) {
    (void)state;
    travel_all("tests/data/convert/everything.json", 5);
    travel_all("tests/data/comm_waits/rank.json", 5);
    travel_all("tests/data/chrome/counters.json", 1);
}

static void run_sql(const char *db, const char *file) {
    sqlite3 *handle = NULL;
    char *message = NULL;
    ps_buf sql;
    ps_buf_init(&sql, 0);
    assert_int_equal(ps_read_file(file, (size_t)1 << 20, &sql, NULL), PS_OK);
    assert_int_equal(sqlite3_open(db, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, ps_buf_str(&sql), NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", file, message);
    }
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    ps_buf_fini(&sql);
}

static void of_ascend_databases(void **state) {
    (void)state;
    static const struct {
        const char *sql, *db;
    } FILES[] = {
        {"ascend_db/pytorch", "ascend_pytorch_profiler_0.db"},
        {"ascend_db/mindspore", "ascend_mindspore_profiler_1.db"},
        {"ascend_db/counters", "ascend_pytorch_profiler_2.db"},
        {"ascend_db/old", "ascend_pytorch_profiler_3.db"},
        {"comm_waits/rank", "ascend_pytorch_profiler_4.db"},
    };
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char from[128];
        char to[SCRATCH_BYTES + 128];
        (void)snprintf(from, sizeof from, "tests/data/%s.sql", FILES[i].sql);
        (void)snprintf(to, sizeof to, "%s/%zu", scratch_dir, i);
        assert_int_equal(ps_make_dirs(to, NULL), PS_OK);
        size_t n = strlen(to);
        (void)snprintf(to + n, sizeof to - n, "/%s", FILES[i].db);
        run_sql(to, from);
        travel_all(to, 3);
    }
}

/* Jobs that a script makes of SQL. */
static void of_made_jobs(void **state) {
    (void)state;
    static const char *const SCRIPTS[] = {"comm_marks", "pp_chart/1f1b_pp4_mb8"};
    for (size_t i = 0; i < sizeof SCRIPTS / sizeof *SCRIPTS; i++) {
        char dir[SCRATCH_BYTES + 32];
        char command[2 * SCRATCH_BYTES];
        (void)snprintf(dir, sizeof dir, "%s/%zu", scratch_dir, i);
        (void)snprintf(command, sizeof command, "sh tests/data/%s/make.sh '%s' >/dev/null",
                       SCRIPTS[i], dir);
        assert_int_equal(system(command), 0);
        travel_all(dir, 10);
    }
}

/* A job of the simulator, with an option more. */
static void simulated(const char *name, const char *schedule, const char *option, const char *value,
                      size_t least) {
    char dir[SCRATCH_BYTES + 32];
    (void)snprintf(dir, sizeof dir, "%s/%s", scratch_dir, name);
    assert_int_equal(run_program(NULL, "simulate", schedule, "--pp", "2", "--microbatches", "4",
                                 "--steps", "2", "--filler", "50", "--profile", dir, option, value,
                                 NULL),
                     0);
    travel_all(dir, least);
}

static void of_simulated_jobs(void **state) {
    (void)state;
    simulated("classic", "1f1b", "--dp", "2", 60);
    simulated("dualpipev", "dualpipev", "--tp", "2", 60);
    simulated("cut", "zb-h1", "--drop-marks", "2", 30);
}

/* --- how large they are ---------------------------------------------------------------------------------------------- */

typedef struct weighing {
    size_t n_partials; /* of the first round */
    size_t most_bytes;
} weighing;

enum { WEIGHED_RANKS = 2 };

static ps_code weigh(void *context, const ps_analysis *analysis, ps_archive_value *archive,
                     void **value, ps_err *err) {
    weighing *w = context;
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    if (archive == analysis->archive && w->n_partials < WEIGHED_RANKS) {
        assert_int_equal(ps_archive_write_value(archive, *value, &bytes, err), PS_OK);
        w->most_bytes = bytes.len > w->most_bytes ? bytes.len : w->most_bytes;
        w->n_partials++;
    }
    ps_buf_fini(&bytes);
    return PS_OK;
}

/* Of 256 microbatches a rank of two has 512 marks, 256 sends and 256 receives. */
static void a_chart_takes_64_bytes_an_op(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES + 32];
    (void)snprintf(dir, sizeof dir, "%s/weighed", scratch_dir);
    assert_int_equal(run_program(NULL, "simulate", "1f1b", "--pp", "2", "--microbatches", "256",
                                 "--profile", dir, NULL),
                     0);
    weighing w = {0};
    ps_cluster *cluster = ps_cluster_find(dir, NULL);
    assert_non_null(cluster);
    const ps_analysis *analysis = ps_analysis_find("pp_chart");
    ps_run_opts opts = {
        .n_threads = 1, .export_type = PS_EXPORT_NOTHING, .moving = weigh, .moving_context = &w};
    ps_analysis_opts_init(&opts.analysis);
    ps_run *run = ps_run_all_ranks(&analysis, 1, cluster, &opts, NULL);
    assert_non_null(run);
    assert_int_equal(w.n_partials, WEIGHED_RANKS);
    assert_true(w.most_bytes > 512);
    assert_true(w.most_bytes <= (512 + 512) * 64);
    ps_run_free(run);
    ps_cluster_free(cluster);
}

static_assert(sizeof(ps_mark) <= 64 && sizeof(ps_p2p_op) <= 64, "of all ranks of a job at once");

/* After the captures that lie here: an analysis without a partial in any of them was not tried. That of ep_load_balance travels in
 * test_freq_and_tokens.c. */
static void each_analysis_has_travelled(void **state) {
    (void)state;
    if (getenv("PIPESCOPE_BIN") == NULL || PS_THREAD_SANITIZER) {
        skip(); /* nobody simulated a job, or not all captures were asked */
    }
    for (size_t i = 0; ps_analyses()[i] != NULL; i++) {
        size_t k = 0;
        while (k < n_sent_once && sent_once[k] != ps_analyses()[i]) {
            k++;
        }
        if (k == n_sent_once && strcmp(ps_analyses()[i]->name, "ep_load_balance") != 0) {
            fail_msg("no partial of %s", ps_analyses()[i]->name);
        }
    }
}

/* Captures that are too large to lie here; skipped where they are not. */
static void of_larger_captures(void **state) {
    (void)state;
    static const char *const PATHS[] = {"pp_chart", "module_statistic", "kineto",
                                        "cluster",  "whatif",           "paddle_logs"};
    const char *data = getenv("PIPESCOPE_SHARED_DATA");
    size_t n = 0;
    for (size_t i = 0; data != NULL && i < sizeof PATHS / sizeof *PATHS; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", data, PATHS[i]);
        ps_cluster *cluster = ps_cluster_find(path, NULL);
        bool is_there = cluster != NULL && cluster->n_ranks > 0;
        ps_cluster_free(cluster);
        if (is_there) {
            travel_all(path, 1);
            n++;
        }
    }
    if (n == 0) {
        skip();
    }
}

/* Nothing is left out of the list: an analysis without an archive could not be sent anywhere. */
static void all_analyses_have_an_archive(void **state) {
    (void)state;
    for (size_t i = 0; ps_analyses()[i] != NULL; i++) {
        const ps_analysis *a = ps_analyses()[i];
        if (a->archive == NULL || (a->free_shared != NULL && a->archive_shared == NULL)) {
            fail_msg("%s has no archive", a->name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_analyses_have_an_archive),
        cmocka_unit_test(of_kineto),
        cmocka_unit_test(of_ascend_text),
        cmocka_unit_test(of_paddle),
        cmocka_unit_test(of_workers),
        cmocka_unit_test(of_other_files),
        cmocka_unit_test_setup_teardown(of_ascend_databases, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(of_made_jobs, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(of_simulated_jobs, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_chart_takes_64_bytes_an_op, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(each_analysis_has_travelled),
        cmocka_unit_test(of_larger_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
