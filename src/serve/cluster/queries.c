#include "serve/cluster/queries.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/monotonic.h"
#include "base/num.h"
#include "query/collect.h"
#include "query/sql.h"
#include "run/run_pipeline.h"
#include "serve/rank/loaded.h"

/* --- one at a time ----------------------------------------------------------------------------------------------- */

/* SQLite's limit of memory is one of the process (query/sql.h). */
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

enum { LOOK_NS = 20000000, PATIENCE_LOOKS = 50 };

/* Whoever asks again has hung up on the query before, which ends soon; nobody waits longer than a second for others: the
 * thread is wanted by other requests. */
static ps_code begin_turn(ps_lang lang, const ps_watch *watch, ps_err *err) {
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    for (int i = 0; pthread_mutex_trylock(&running) != 0; i++) {
        if (ps_watch_ask(watch, err) != PS_OK) {
            return PS_BUSY;
        }
        if (i == PATIENCE_LOOKS) {
            return ps_fail(err, PS_BUSY, "%s",
                           PS_SAY(lang, "another query is running: try again when it has ended",
                                  "另一个查询正在运行：请在其结束后重试"));
        }
        (void)nanosleep(&pause, NULL);
    }
    return PS_OK;
}

/* --- ranks in memory --------------------------------------------------------------------------------------------- */

static const ps_trace *lend_rank(void *context, const ps_cluster_rank *rank, void **loan) {
    ps_store *store = context;
    for (size_t i = 0; i < ps_store_n_ranks(store); i++) {
        if (ps_store_rank(store, i)->rank == rank) {
            ps_loaded *l = NULL;
            bool is_there = ps_store_get(store, i, &l, NULL) == PS_OK;
            *loan = l;
            return is_there ? ps_loaded_layer(l, PS_LAYER_PROFILE)->trace : NULL;
        }
    }
    return NULL;
}

static void take_rank_back(void *context, void *loan) {
    (void)context;
    ps_loaded_release(loan);
}

/* --- running ----------------------------------------------------------------------------------------------------- */

static void free_rows(void *value) {
    ps_query_rows *rows = value;
    if (rows != NULL) {
        ps_table_free(rows->table);
        ps_arena_fini(&rows->arena);
        ps_free(rows);
    }
}

/* False when memory is out. */
static bool add_query_note(ps_lang lang, ps_query_rows *rows, const char *who, const ps_err *err) {
    char text[1200];
    char why[1024];
    if (rows->n_notes == PS_QUERY_NOTES) {
        return true;
    }
    ps_err_say(lang, err, why, sizeof why);
    (void)snprintf(text, sizeof text, PS_SAY(lang, "%s: %s", "%s：%s"), who, why);
    const char *note = ps_arena_strndup(&rows->arena, text, strlen(text));
    rows->notes[rows->n_notes] = note;
    rows->n_notes += note != NULL;
    return note != NULL;
}

/* Which ranks are not in the answer. False when memory is out. */
static bool note_unread(ps_lang lang, ps_query_rows *rows, const ps_sql *sql,
                        const ps_cluster *cluster) {
    bool ok = true;
    for (size_t i = 0; ok && i < cluster->n_ranks; i++) {
        const ps_err *err = ps_sql_unread(sql, i);
        char who[48];
        (void)snprintf(who, sizeof who, "rank %s", PS_RANK(cluster->ranks[i].rank));
        ok = err->code == PS_OK || add_query_note(lang, rows, who, err);
    }
    for (size_t i = 0; ok && i < ps_sql_n_runs(sql); i++) {
        const ps_run *run = ps_sql_run_at(sql, i);
        for (size_t r = 0; ok && run != NULL && r < run->n_ranks; r++) {
            char who[48];
            (void)snprintf(who, sizeof who, "rank %s", PS_RANK(run->ranks[r].rank->rank));
            ok = run->ranks[r].status != PS_RANK_FAILED ||
                 add_query_note(lang, rows, who, &run->ranks[r].err);
        }
    }
    return ok;
}

typedef struct query_making {
    const ps_request *q;
    const ps_query_ask *ask;
} query_making;

static ps_code run_query(const query_making *mk, ps_query_rows *rows, ps_err *err) {
    const ps_cluster *cluster = ps_store_cluster(mk->q->store, mk->ask->cluster);
    ps_cluster_run of;
    ps_cluster_run_begin(&of, mk->q, &mk->ask->opts, mk->ask->cluster, SIZE_MAX);
    const ps_sql_opts opts = {
        .run = of.opts,
        .timeout_s = mk->ask->timeout_s,
        .max_bytes = PS_QUERY_MOST_BYTES,
        .asker = mk->q->watch,
        .lender = {.lend = lend_rank, .take_back = take_rank_back, .context = mk->q->store}};
    int64_t begin_ns = ps_monotonic_ns();
    ps_sql *sql = ps_sql_open(cluster, &opts, err);
    if (sql == NULL) {
        ps_cluster_run_end(&of);
        return err->code;
    }
    rows->table =
        ps_sql_table_of(sql, mk->ask->sql, "query", PS_QUERY_MOST_ROWS, &rows->n_rows, err);
    ps_code code = rows->table != NULL ? PS_OK : err->code;
    if (code == PS_OK && !note_unread(mk->ask->opts.lang, rows, sql, cluster)) {
        code = ps_fail_nomem(err);
    }
    ps_sql_close(sql);
    ps_cluster_run_end(&of);
    rows->elapsed_ns = ps_monotonic_ns() - begin_ns;
    return code;
}

static ps_code make_rows(void *context, ps_cached *out, ps_err *err) {
    const query_making *mk = context;
    ps_query_rows *rows = ps_calloc(1, sizeof *rows);
    if (rows == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = begin_turn(mk->ask->opts.lang, mk->q->watch, err);
    if (code == PS_OK) {
        code = run_query(mk, rows, err);
        (void)pthread_mutex_unlock(&running);
    }
    if (code != PS_OK) {
        free_rows(rows);
        return code;
    }
    *out = (ps_cached){.value = rows,
                       .bytes = sizeof *rows + ps_table_bytes(rows->table),
                       .free_value = free_rows,
                       .is_passing = rows->n_notes > 0};
    return PS_OK;
}

ps_code ps_query_get(const ps_request *q, const ps_query_ask *ask, const ps_query_rows **out,
                     ps_err *err) {
    ps_buf key = {0};
    ps_buf_addf(&key, "query %zu ", ask->cluster);
    ps_buf_add_json_str(&key, ask->sql, strlen(ask->sql));
    ps_analysis_opts_key(&ask->opts, PS_OF_JOB, &key);
    query_making mk = {q, ask};
    void *value = NULL;
    ps_code code = ps_cluster_get(q, ask->cluster, &key, make_rows, &mk, &value, err);
    *out = value;
    return code;
}
