#include "query/sql.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lang.h"
#include "query/context.h"
#include "query/deadline.h"
#include "query/job_tables.h"
#include "query/result.h"
#include "query/sql_inside.h"

/* Bounds of what a query may be. SQLite itself joins at most 64 tables. */
enum {
    MOST_TEXT_BYTES = 1 << 20,
    MOST_VALUE_BYTES = 64 << 20,
    MOST_PATTERN_BYTES = 4096,
    TURNS_BETWEEN_LOOKS = 10000
};

struct ps_sql {
    sqlite3 *db;
    ps_sql_context c;
    ps_sql_opts opts;
    bool was_refused; /* by the authorizer, in the statement that is prepared now */
    sqlite3_int64 former_limit;
    atomic_bool was_stopped; /* by ps_sql_stop(): not by the clock */
};

/* --- the connection ---------------------------------------------------------------------------------------------- */

/* Reading tables and calling functions: nothing else. */
static int authorize(void *context, int action, const char *a, const char *b, const char *database,
                     const char *view) {
    (void)a;
    (void)database;
    (void)view;
    ps_sql *s = context;
    bool is_function = action == SQLITE_FUNCTION;
    bool may = s->c.declares || action == SQLITE_SELECT || action == SQLITE_READ ||
               action == SQLITE_RECURSIVE ||
               (is_function && b != NULL && strcmp(b, "load_extension") != 0);
    s->was_refused = s->was_refused || !may;
    return may ? SQLITE_OK : SQLITE_DENY;
}

static int is_over(void *context) {
    ps_sql *s = context;
    return s->c.watch.stop;
}

static void set_limits(sqlite3 *db) {
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, MOST_TEXT_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MOST_PATTERN_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

/* What SQLite says of the connection. */
static ps_code connection_fail(const ps_sql *s, ps_err *err) {
    return ps_fail(err, PS_INTERNAL, "SQLite: %s", sqlite3_errmsg(s->db));
}

static ps_code connect_sqlite(ps_sql *s, ps_err *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(":memory:", &s->db, flags, NULL) != SQLITE_OK) {
        return s->db != NULL ? connection_fail(s, err) : ps_fail_nomem(err);
    }
    /* A text in double quotes is a name, also one that is wrong; what does not fit into memory does not go into files. */
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int rc = sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    rc = rc == SQLITE_OK ? ps_sql_add_trace_tables(s->db, &s->c) : rc;
    rc = rc == SQLITE_OK ? ps_sql_add_profile_tables(s->db, &s->c) : rc;
    rc = rc == SQLITE_OK ? ps_sql_add_job_tables(s->db, &s->c) : rc;
    rc = rc == SQLITE_OK ? ps_sql_add_functions(s->db) : rc;
    if (rc == SQLITE_OK) {
        set_limits(s->db);
        rc = sqlite3_set_authorizer(s->db, authorize, s);
        sqlite3_progress_handler(s->db, TURNS_BETWEEN_LOOKS, is_over, s);
    }
    return rc == SQLITE_OK      ? PS_OK
           : rc == SQLITE_NOMEM ? ps_fail_nomem(err)
                                : connection_fail(s, err);
}

ps_sql *ps_sql_open(const ps_cluster *cluster, const ps_sql_opts *opts, ps_err *err) {
    ps_sql *s = ps_calloc(1, sizeof *s);
    if (s == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    s->opts = *opts;
    s->c = (ps_sql_context){
        .cluster = cluster, .opts = opts->run, .job = ps_job_tables_new(), .err = PS_ERR_INIT};
    s->c.opts.export_type = PS_EXPORT_NOTHING;
    s->c.opts.analysis.watch = &s->c.watch;
    s->former_limit = sqlite3_hard_heap_limit64(-1);
    ps_code code = s->c.job != NULL
                       ? ps_sql_parts_init(&s->c.parts, cluster, &s->c.opts, &s->c.watch, err)
                       : ps_fail_nomem(err);
    s->c.parts.lender = s->opts.lender.lend != NULL ? &s->opts.lender : NULL;
    code = code == PS_OK ? connect_sqlite(s, err) : code;
    if (code != PS_OK) {
        ps_sql_close(s);
        return NULL;
    }
    return s;
}

void ps_sql_close(ps_sql *s) {
    if (s != NULL) {
        (void)sqlite3_close(s->db);
        ps_job_tables_free(s->c.job);
        ps_sql_parts_fini(&s->c.parts);
        ps_free(s);
    }
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static int error_offset(sqlite3 *db) {
#if SQLITE_VERSION_NUMBER >= 3038000
    return sqlite3_error_offset(db);
#else
    (void)db;
    return -1;
#endif
}

/* SQLite tells a statement that is too large by its words only. */
static bool is_too_large(const char *message) {
    static const char *const WORDS[] = {"at most ", "too many ", "Expression tree is too large",
                                        "parser stack overflow", "statement too long"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strncmp(message, WORDS[i], strlen(WORDS[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The file, line and byte of what SQLite found wrong. */
static ps_code fail_at(ps_err *err, ps_code code, const char *text, const char *name, int offset,
                       const char *message) {
    (void)ps_fail_file(err, code, name, "%s", message);
    if (err != NULL && offset >= 0) {
        err->offset = (uint64_t)offset;
        err->line = 1;
        for (int i = 0; i < offset && text[i] != '\0'; i++) {
            err->line += text[i] == '\n';
        }
    }
    return code;
}

/* " (--timeout)" */
static const char *bound_name(const char *name, char out[40]) {
    out[0] = '\0';
    if (name != NULL) {
        (void)snprintf(out, 40, " (%.30s)", name);
    }
    return out;
}

int64_t ps_sql_max_bytes(const ps_sql *s) {
    return s->opts.max_bytes;
}

static ps_lang lang_of(const ps_sql *s) {
    return s->opts.run.analysis.lang;
}

ps_code ps_sql_too_much(const ps_sql *s, ps_err *err) {
    char name[40];
    return ps_fail(err, PS_NOMEM,
                   PS_SAY(lang_of(s), "the query needs more memory than it may have%s",
                          "查询所需内存超出上限%s"),
                   bound_name(s->opts.memory_name, name));
}

/* What SQLite says of a name that it does not know: its words are all that it tells. */
static void say_unknown_name(const ps_sql *s, const char *message, char *out, size_t size) {
    static const struct {
        const char *english, *chinese;
    } KINDS[] = {{"no such table: ", "没有表 "},
                 {"no such column: ", "没有列 "},
                 {"no such function: ", "没有函数 "}};
    bool no_table = strncmp(message, KINDS[0].english, strlen(KINDS[0].english)) == 0;
    const char *said = message;
    const char *kind = "";
    for (size_t i = 0; lang_of(s) == PS_CHINESE && i < sizeof KINDS / sizeof *KINDS; i++) {
        size_t n = strlen(KINDS[i].english);
        if (strncmp(message, KINDS[i].english, n) == 0) {
            kind = KINDS[i].chinese;
            said = message + n;
        }
    }
    (void)snprintf(out, size, "%s%s%s", kind, said,
                   no_table ? PS_SAY(lang_of(s), " (pipescope query --schema lists them)",
                                     "（pipescope query --schema 会列出全部）")
                            : "");
}

/* Why preparing or running stopped. */
static ps_code sqlite_fail(ps_sql *s, const char *text, const char *name, ps_err *err) {
    const char *message = sqlite3_errmsg(s->db);
    int rc = sqlite3_errcode(s->db);
    char name_text[40];
    if (s->was_stopped || (s->opts.asker != NULL && s->opts.asker->stop)) {
        return ps_fail(err, PS_BUSY, "%s", PS_SAY(lang_of(s), "the query was ended", "查询已停止"));
    }
    if (s->c.watch.stop) {
        return ps_fail(
            err, PS_BUSY,
            PS_SAY(lang_of(s), "the query was ended after %lld s%s", "查询超过 %lld 秒，已停止%s"),
            (long long)s->opts.timeout_s, bound_name(s->opts.timeout_name, name_text));
    }
    if (s->c.err.code != PS_OK) {
        *err = s->c.err;
        return err->code;
    }
    if (rc == SQLITE_NOMEM) {
        return ps_sql_too_much(s, err);
    }
    if (s->was_refused) {
        return fail_at(err, PS_USAGE, text, name, -1,
                       PS_SAY(lang_of(s),
                              "only SELECT is allowed: nothing is written, attached, loaded or set",
                              "只允许 SELECT：不能写入、附加、加载或设置"));
    }
    if (rc == SQLITE_TOOBIG || is_too_large(message)) {
        return fail_at(err, PS_RANGE, text, name, -1, message);
    }
    char shown[400];
    say_unknown_name(s, message, shown, sizeof shown);
    return fail_at(err, PS_USAGE, text, name, error_offset(s->db), shown);
}

/* --- running ----------------------------------------------------------------------------------------------------- */

/* PS_OK where nothing but blanks, comments and semicolons is left: the rest is no statement. */
static ps_code expect_no_more(ps_sql *s, const char *text, const char *rest, const char *name,
                              ps_err *err) {
    sqlite3_stmt *more = NULL;
    int rc = sqlite3_prepare_v2(s->db, rest, -1, &more, NULL);
    bool is_blank = rc == SQLITE_OK && more == NULL;
    (void)sqlite3_finalize(more);
    if (rc == SQLITE_NOMEM) {
        return ps_sql_too_much(s, err);
    }
    return is_blank
               ? PS_OK
               : fail_at(err, PS_USAGE, text, name, (int)(rest - text),
                         PS_SAY(lang_of(s), "one statement at a time: there is another one here",
                                "一次只能运行一条语句：此处有另一条"));
}

static ps_code prepare(ps_sql *s, const char *text, const char *name, sqlite3_stmt **out,
                       ps_err *err) {
    const char *rest = NULL;
    s->was_refused = false;
    s->c.err = PS_ERR_INIT;
    s->c.parts.needs = (ps_sql_needs){0};
    if (sqlite3_prepare_v2(s->db, text, -1, out, &rest) != SQLITE_OK) {
        return sqlite_fail(s, text, name, err);
    }
    if (*out == NULL) {
        return ps_fail(err, PS_USAGE, "%s", PS_SAY(lang_of(s), "the query is empty", "查询为空"));
    }
    if (sqlite3_column_count(*out) == 0 || !sqlite3_stmt_readonly(*out) ||
        sqlite3_stmt_isexplain(*out) != 0) {
        return ps_fail_file(err, PS_USAGE, name, "%s",
                            PS_SAY(lang_of(s), "only SELECT is allowed", "只允许 SELECT"));
    }
    if (sqlite3_bind_parameter_count(*out) > 0) {
        return ps_fail_file(err, PS_USAGE, name,
                            PS_SAY(lang_of(s), "%s stands for a value that nobody gives",
                                   "%s 代表一个值，但没有给出"),
                            sqlite3_bind_parameter_name(*out, 1) != NULL
                                ? sqlite3_bind_parameter_name(*out, 1)
                                : "?");
    }
    return expect_no_more(s, text, rest, name, err);
}

ps_sql_context *ps_sql_context_of(ps_sql *s) {
    return &s->c;
}

void ps_sql_stop(ps_sql *s) {
    s->was_stopped = true;
    s->c.watch.stop = true;
}

bool ps_sql_begin_deadline(ps_sql *s, ps_deadline *deadline) {
    s->was_stopped = false;
    s->c.watch.stop = false;
    ps_sql_parts_begin(&s->c.parts);
    ps_job_begin(s->c.job);
    return ps_deadline_begin_for(deadline, s->opts.timeout_s, s->db, &s->c.watch, s->opts.asker);
}

ps_code ps_sql_run(ps_sql *s, const char *text, const char *name, ps_sql_take *take, void *context,
                   ps_err *err) {
    ps_deadline deadline;
    sqlite3_stmt *statement = NULL;
    if (!ps_sql_begin_deadline(s, &deadline)) {
        return ps_fail_nomem(err);
    }
    if (s->opts.max_bytes > 0) {
        (void)sqlite3_hard_heap_limit64(s->opts.max_bytes);
    }
    ps_code code = prepare(s, text, name, &statement, err);
    if (code == PS_OK) {
        ps_sql_result result;
        code = ps_sql_result_init(&result, statement, err);
        int rc = SQLITE_ROW;
        while (code == PS_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
            code = ps_sql_result_add(&result, take, context, err);
        }
        if (code == PS_OK) {
            code = rc == SQLITE_DONE ? ps_sql_result_end(&result, take, context, err)
                                     : sqlite_fail(s, text, name, err);
        }
        ps_sql_result_fini(&result);
    }
    ps_deadline_end(&deadline);
    (void)sqlite3_finalize(statement);
    if (s->opts.max_bytes > 0) {
        (void)sqlite3_hard_heap_limit64(s->former_limit);
    }
    return code;
}

/* --- what was read ----------------------------------------------------------------------------------------------- */

const ps_err *ps_sql_unread(const ps_sql *s, size_t rank) {
    return &s->c.parts.parts[rank].err;
}

size_t ps_sql_n_read(const ps_sql *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->c.cluster->n_ranks; i++) {
        const ps_sql_part *part = &s->c.parts.parts[i];
        n += part->was_read && part->err.code == PS_OK;
    }
    return n;
}

const ps_diag *ps_sql_diag(const ps_sql *s) {
    return &s->c.parts.diag;
}

size_t ps_sql_n_runs(const ps_sql *s) {
    return ps_job_runs(s->c.job);
}

const ps_run *ps_sql_run_at(const ps_sql *s, size_t i) {
    return ps_job_run(s->c.job, i);
}
