/* libpipescope.so: captures that are open, and their columns. The interface is include/pipescope/pipescope.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "library/inside.h"
#include "query/collect.h"
#include "query/made_columns.h"
#include "query/table_columns.h"
#include "query/words.h"
#include "write/table/arrow_stream.h"

/* What SQL is called in errors. */
#define STATEMENT "query"

const char *ps_lib_version(void) {
    return PIPESCOPE_VERSION;
}

int ps_lib_interface(void) {
    return PS_LIB_INTERFACE;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

_Static_assert(PS_LIB_NO_MEMORY == (int)PS_NOMEM && PS_LIB_IO == (int)PS_IO &&
                   PS_LIB_NOT_FOUND == (int)PS_NOT_FOUND && PS_LIB_SYNTAX == (int)PS_SYNTAX &&
                   PS_LIB_UNSUPPORTED == (int)PS_UNSUPPORTED && PS_LIB_RANGE == (int)PS_RANGE &&
                   PS_LIB_USAGE == (int)PS_USAGE && PS_LIB_NOTHING == (int)PS_NOTHING &&
                   PS_LIB_ENDED == (int)PS_BUSY && PS_LIB_CHANGED == (int)PS_CHANGED &&
                   PS_LIB_INTERNAL == (int)PS_INTERNAL && PS_LIB_NO_ROOM == (int)PS_NO_ROOM,
               "codes of the interface stay what they are");

static const char *remedy_of(const ps_err *err) {
    switch (err->code) {
    case PS_NOMEM:
        return "ask for fewer columns, ranks or rows";
    case PS_NOT_FOUND:
        return "give a file, the folder of a rank, or that of a job";
    case PS_SYNTAX:
        return "pipescope formats lists what is read, and how it is collected";
    case PS_USAGE:
        return strcmp(err->file, STATEMENT) == 0
                   ? "docs/sql.md lists tables, columns and functions"
                   : "docs/python.md and include/pipescope/pipescope.h list what can be said";
    case PS_NOTHING:
        return "pipescope info PATH tells what a capture holds";
    case PS_BUSY:
        return "give it more time (timeout), or ask for less";
    case PS_CHANGED:
        return "open it again when it is written";
    case PS_INTERNAL:
        return "this is a fault of pipescope: please report it with its message";
    case PS_NO_ROOM:
        return "make room, or name another folder in TMPDIR";
    default:
        return "";
    }
}

int ps_lib_told(const ps_err *err, ps_lib_error *out) {
    if (out != NULL) {
        *out = (ps_lib_error){.code = (int32_t)err->code, .line = err->line, .offset = err->offset};
        (void)snprintf(out->file, sizeof out->file, "%s", err->file);
        (void)snprintf(out->message, sizeof out->message, "%s", err->msg);
        (void)snprintf(out->remedy, sizeof out->remedy, "%s", remedy_of(err));
    }
    return (int)err->code;
}

/* What ps_lib_notes() gives. */
typedef struct note_row {
    const char *severity, *who, *text;
} note_row;

static const ps_column NOTES[] = {{.name = "severity", PS_FIELD(note_row, severity)},
                                  {.name = "who", PS_FIELD(note_row, who)},
                                  {.name = "text", PS_FIELD(note_row, text)}};

/* --- life --------------------------------------------------------------------------------------------------------- */

void ps_lib_drop(ps_lib *capture) {
    if (capture == NULL || atomic_fetch_sub(&capture->n_users, 1) > 1) {
        return;
    }
    ps_sql_close(capture->sql);
    ps_table_free(capture->study_notes);
    ps_cluster_free(capture->cluster);
    ps_arena_fini(&capture->arena);
    if (capture->locale != (locale_t)0) {
        freelocale(capture->locale);
    }
    (void)pthread_mutex_destroy(&capture->lock);
    ps_free(capture);
}

/* Why there is nothing below the path. */
static ps_code say_no_profile(const ps_cluster *c, ps_err *err) {
    if (c->no_profile.code != PS_OK) {
        *err = c->no_profile;
        return err->code;
    }
    const char *instead = c->instead.in[PS_ENGLISH];
    return ps_fail_file(err, PS_NOTHING, c->path, "no profile found%s%s",
                        instead != NULL ? ", but " : "", instead != NULL ? instead : "");
}

static ps_code find_profiles(ps_lib *capture, const char *path, ps_err *err) {
    const ps_reader *reader = capture->format != NULL ? ps_reader_find(capture->format) : NULL;
    if (capture->format != NULL && reader == NULL) {
        return ps_fail(err, PS_USAGE, "there is no format '%.80s'", capture->format);
    }
    capture->cluster = ps_cluster_find_as(path, reader, capture->rank_from, err);
    if (capture->cluster == NULL) {
        return err->code;
    }
    return capture->cluster->n_ranks > 0 ? PS_OK : say_no_profile(capture->cluster, err);
}

static ps_code open_capture(ps_lib *capture, const char *path, const char *const *options,
                            ps_err *err) {
    capture->opts.run.export_type = PS_EXPORT_NOTHING;
    ps_analysis_opts_init(&capture->opts.run.analysis);
    capture->opts.run.analysis.in_full = true;
    capture->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    capture->study_notes = ps_table_new("notes", "", PS_COLUMNS(NOTES));
    bool ok = capture->locale != (locale_t)0 && capture->study_notes != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? ps_lib_open_options(capture, options, err) : code;
    if (code == PS_OK) {
        locale_t before = ps_lib_begin(capture);
        code = find_profiles(capture, path, err);
        if (code == PS_OK) {
            capture->sql = ps_sql_open(capture->cluster, &capture->opts, err);
            code = capture->sql != NULL ? PS_OK : err->code;
        }
        ps_lib_end(capture, before);
    }
    return code;
}

ps_lib *ps_lib_open(const char *path, const char *const *options, ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    ps_lib *capture = ps_calloc(1, sizeof *capture);
    if (capture == NULL) {
        (void)ps_fail_nomem(&err);
        (void)ps_lib_told(&err, error);
        return NULL;
    }
    capture->n_users = 1;
    (void)pthread_mutex_init(&capture->lock, NULL);
    if (open_capture(capture, path, options, &err) != PS_OK) {
        (void)ps_lib_told(&err, error);
        ps_lib_drop(capture);
        return NULL;
    }
    return capture;
}

void ps_lib_close(ps_lib *capture) {
    ps_lib_drop(capture);
}

void ps_lib_stop(ps_lib *capture) {
    ps_sql_stop(capture->sql);
    capture->watch.stop = true;
}

locale_t ps_lib_begin(ps_lib *capture) {
    (void)atomic_fetch_add(&capture->n_users, 1);
    (void)pthread_mutex_lock(&capture->lock);
    return uselocale(capture->locale);
}

void ps_lib_end(ps_lib *capture, locale_t before) {
    (void)uselocale(before);
    (void)pthread_mutex_unlock(&capture->lock);
    ps_lib_drop(capture);
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

int ps_lib_give(ps_arrow *rows, struct ArrowArrayStream *out, const ps_err *err,
                ps_lib_error *error) {
    ps_err mine = *err;
    if (rows == NULL || ps_arrow_stream(rows, out, &mine) != PS_OK) {
        *out = (struct ArrowArrayStream){.release = NULL};
        return ps_lib_told(&mine, error);
    }
    return PS_LIB_OK;
}

/* All rows of a table, its columns named as in SQL. NULL: memory is out. */
static ps_arrow *columns_of_table(const ps_table *table, ps_err *err) {
    ps_arrow *rows = ps_arrow_new();
    ps_code code =
        rows != NULL ? ps_arrow_add(rows, table, 0, table->n_rows, err) : ps_fail_nomem(err);
    for (size_t i = 0; i < table->n_columns && code == PS_OK; i++) {
        char name[PS_SQL_NAME_BYTES];
        ps_sql_made_name(table, i, name);
        code = ps_arrow_rename(rows, i, name, err);
    }
    if (code != PS_OK) {
        ps_arrow_free(rows);
        return NULL;
    }
    return rows;
}

int ps_lib_give_table(const ps_table *table, struct ArrowArrayStream *out, ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    ps_arrow *rows = columns_of_table(table, &err);
    return ps_lib_give(rows, out, &err, error);
}

int ps_lib_sql(ps_lib *capture, const char *sql, struct ArrowArrayStream *out,
               ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    locale_t before = ps_lib_begin(capture);
    ps_arrow *rows = ps_sql_arrow_of(capture->sql, sql, STATEMENT, &err);
    ps_lib_end(capture, before);
    return ps_lib_give(rows, out, &err, error);
}

int ps_lib_table(ps_lib *capture, const char *table, const char *const *columns,
                 const int64_t *ranks, size_t n_ranks, struct ArrowArrayStream *out,
                 ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    const ps_sql_table_ask ask = {
        .table = table, .columns = columns, .ranks = ranks, .n_ranks = n_ranks, .name = STATEMENT};
    locale_t before = ps_lib_begin(capture);
    ps_arrow *rows = ps_sql_table_columns(capture->sql, &ask, &err);
    ps_lib_end(capture, before);
    return ps_lib_give(rows, out, &err, error);
}

int ps_lib_stream_again(const struct ArrowArrayStream *from, struct ArrowArrayStream *out,
                        ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_arrow_stream_again(from, out, &err);
    return code == PS_OK ? PS_LIB_OK : ps_lib_told(&err, error);
}

int ps_lib_ranks(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error) {
    return ps_lib_sql(capture,
                      "SELECT rank, profile, machine, host, profiler, format, path FROM rank", out,
                      error);
}

static int give_own_table(ps_table *table, struct ArrowArrayStream *out, ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    if (table == NULL) {
        (void)ps_fail_nomem(&err);
        *out = (struct ArrowArrayStream){.release = NULL};
        return ps_lib_told(&err, error);
    }
    int code = ps_lib_give_table(table, out, error);
    ps_table_free(table);
    return code;
}

int ps_lib_tables(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error) {
    (void)capture;
    return give_own_table(ps_table_end(ps_sql_table_of_tables()), out, error);
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* Once, however many calls met it. */
static void add_note(ps_table *notes, const note_row *note) {
    for (size_t r = 0; notes != NULL && r < notes->n_rows; r++) {
        if (strcmp(ps_table_cell(notes, r, 1)->u.text, note->who) == 0 &&
            strcmp(ps_table_cell(notes, r, 2)->u.text, note->text) == 0) {
            return;
        }
    }
    ps_table_put(notes, note);
}

static void add_unread(ps_table *notes, const ps_cluster_rank *rank, const ps_err *err) {
    char who[64] = "";
    char text[1024];
    if (rank->rank >= 0) {
        (void)snprintf(who, sizeof who, "rank %lld", (long long)rank->rank);
    }
    ps_err_format(err, text, sizeof text);
    add_note(notes, &(note_row){"error", who, text});
}

static void add_oddities(ps_table *notes, const ps_diag *diag) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (diag->counts[k] == 0) {
            continue;
        }
        ps_buf line = {0};
        ps_diag_say(PS_ENGLISH, diag, (ps_oddity)k, &line);
        ps_table_put(notes,
                     &(note_row){ps_oddity_severity_name((ps_oddity)k), "", ps_buf_str(&line)});
        ps_buf_fini(&line);
    }
}

static void add_run(ps_table *notes, const ps_run *run) {
    for (size_t r = 0; run != NULL && r < run->n_ranks; r++) {
        if (run->ranks[r].status == PS_RANK_FAILED) {
            add_unread(notes, run->ranks[r].rank, &run->ranks[r].err);
        }
    }
}

void ps_lib_keep_notes(ps_lib *capture, const ps_run *run) {
    add_run(capture->study_notes, run);
}

int ps_lib_notes(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error) {
    ps_table *notes = ps_table_new("notes", "", PS_COLUMNS(NOTES));
    locale_t before = ps_lib_begin(capture);
    const ps_cluster *cluster = capture->cluster;
    if (cluster->left_out.in[PS_ENGLISH] != NULL) {
        ps_table_put(notes, &(note_row){"loss", "", cluster->left_out.in[PS_ENGLISH]});
    }
    for (size_t i = 0; i < cluster->n_notes; i++) {
        ps_table_put(notes, &(note_row){"info", "", cluster->notes[i].in[PS_ENGLISH]});
    }
    add_oddities(notes, &cluster->diag);
    for (size_t i = 0; i < cluster->n_ranks; i++) {
        const ps_err *err = ps_sql_unread(capture->sql, i);
        if (err->code != PS_OK) {
            add_unread(notes, &cluster->ranks[i], err);
        }
    }
    for (size_t i = 0; i < ps_sql_n_runs(capture->sql); i++) {
        add_run(notes, ps_sql_run_at(capture->sql, i));
    }
    for (size_t r = 0; r < capture->study_notes->n_rows; r++) {
        const ps_value *cells = ps_table_cell(capture->study_notes, r, 0);
        add_note(notes, &(note_row){cells[0].u.text, cells[1].u.text, cells[2].u.text});
    }
    add_oddities(notes, ps_sql_diag(capture->sql));
    ps_lib_end(capture, before);
    return give_own_table(ps_table_end(notes), out, error);
}
