/* pipescope query PATH "SELECT ...": SQL over all ranks of a capture. Reads only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/query_prompt.h"
#include "cli/rank_report.h"
#include "model/lacks.h"
#include "query/capture_schema.h"
#include "query/collect.h"
#include "query/schema_text.h"
#include "query/sql.h"
#include "write/out/sink.h"
#include "write/out/writers.h"
#include "write/table/arrow.h"

enum { MOST_STATEMENT_BYTES = 1 << 20, PIECE_BYTES = 1 << 20 };

typedef enum form { AS_TEXT, AS_CSV, AS_JSON, AS_JSONL, AS_ARROW } form;

static const char *const FORMS[] = {"text", "csv", "json", "jsonl", "arrow", NULL};
static const char *const ENDINGS[] = {".txt", ".csv", ".json", ".jsonl", ".arrow", NULL};

/* --- what is asked ----------------------------------------------------------------------------------------------- */

/* By --as, else by the end of -o, else text. */
static form form_of(const ps_cli *cli) {
    const char *as = ps_cli_text(cli, "as");
    const char *path = ps_cli_text(cli, "output");
    for (int i = 0; FORMS[i] != NULL; i++) {
        if (as != NULL ? strcmp(as, FORMS[i]) == 0
                       : path != NULL && ps_ends_with(path, ENDINGS[i])) {
            return (form)i;
        }
    }
    return AS_TEXT;
}

static int read_stdin(ps_cli *cli, ps_buf *out) {
    char piece[4096];
    size_t n = 0;
    if (isatty(STDIN_FILENO)) {
        return ps_cli_usage(cli, "no query given: pipescope query PATH \"SELECT ...\", or -f FILE");
    }
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0 && out->len <= MOST_STATEMENT_BYTES) {
        ps_buf_add(out, piece, n);
    }
    if (ferror(stdin) != 0) {
        return ps_cli_usage(cli, "standard input cannot be read");
    }
    if (!ps_buf_ok(out)) {
        return ps_cli_fail_nomem(cli);
    }
    if (out->len > MOST_STATEMENT_BYTES) {
        ps_err err = PS_ERR_INIT;
        (void)ps_fail_file(&err, PS_RANGE, "stdin", "larger than %d bytes", MOST_STATEMENT_BYTES);
        return ps_cli_fail(cli, &err);
    }
    return PS_EXIT_OK;
}

/* The statement, from the second word, a file, or standard input; and what it is called in messages. */
static int read_statement(ps_cli *cli, ps_buf *out, const char **name) {
    const char *word = ps_cli_positional(cli, 1);
    const char *file = ps_cli_text(cli, "file");
    ps_err err = PS_ERR_INIT;
    *name = word != NULL ? "query" : file != NULL && strcmp(file, "-") != 0 ? file : "stdin";
    if (word != NULL && file != NULL) {
        return ps_cli_usage(cli, "a query and -f %s: which of them?", file);
    }
    if (word != NULL) {
        ps_buf_add_str(out, word);
        return ps_buf_ok(out) ? PS_EXIT_OK : ps_cli_fail_nomem(cli);
    }
    if (file == NULL || strcmp(file, "-") == 0) {
        return read_stdin(cli, out);
    }
    return ps_read_file(file, MOST_STATEMENT_BYTES, out, &err) == PS_OK ? PS_EXIT_OK
                                                                        : ps_cli_fail(cli, &err);
}

static int take_options(ps_cli *cli, ps_sql_opts *out) {
    int status = ps_cli_run_options(cli, &out->run);
    out->run.memory_bytes = 0;        /* that of a query is what it holds itself */
    out->run.analysis.in_full = true; /* the tables of `chart`, as it prints them */
    out->timeout_s = ps_cli_int(cli, "timeout");
    out->timeout_name = "--timeout";
    out->memory_name = "--memory";
    status = status == PS_EXIT_OK ? ps_cli_take_memory(cli, &out->max_bytes) : status;
    const char *path = ps_cli_text(cli, "output");
    bool names_one =
        path != NULL || ps_cli_n_positionals(cli) > 1 || ps_cli_text(cli, "file") != NULL;
    if (status == PS_EXIT_OK && ps_cli_flag(cli, "interactive") && names_one) {
        return ps_cli_usage(cli,
                            "-i asks for queries and shows their rows: no query, -f or -o with it");
    }
    bool has_rows = !ps_cli_flag(cli, "interactive") && !ps_cli_flag(cli, "schema");
    if (status == PS_EXIT_OK && form_of(cli) == AS_ARROW && !has_rows) {
        return ps_cli_usage(cli, "only the rows of a query are written as arrow");
    }
    return status == PS_EXIT_OK && ps_cli_text(cli, "as") == NULL
               ? ps_cli_check_ending(cli, path, ENDINGS, ", or say --as")
               : status;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

typedef struct stream {
    ps_cli *cli;
    const char *path; /* NULL: standard output */
    ps_table_part_fn *part;
    ps_buf text;
    ps_sink sink;
    bool nobody_reads; /* standard output failed, which the frame tells */
} stream;

static ps_code flush_stream(stream *s, ps_err *err) {
    ps_code code = PS_OK;
    if (s->path == NULL) {
        ps_cli_put(s->cli, ps_buf_str(&s->text), s->text.len);
        s->nobody_reads = s->cli->out_errno != 0;
        code = s->nobody_reads ? ps_fail(err, PS_IO, "cannot write to standard output") : PS_OK;
    } else {
        code = s->sink.file == NULL ? ps_sink_open_file(&s->sink, s->path, err) : PS_OK;
        code =
            code == PS_OK ? ps_sink_write(&s->sink, ps_buf_str(&s->text), s->text.len, err) : code;
    }
    ps_buf_clear(&s->text);
    return code;
}

static ps_code take_rows(void *context, const ps_table *table, size_t first, size_t end,
                         ps_err *err) {
    stream *s = context;
    ps_code code = s->part(table, first, end, &s->text, err);
    bool is_last = end == table->n_rows;
    return code == PS_OK && (is_last || s->text.len > PIECE_BYTES) ? flush_stream(s, err) : code;
}

/* answer.csv: answer_lacks.csv */
static void lacks_path(const char *path, ps_buf *out) {
    const char *dot = strrchr(ps_path_base(path), '.');
    size_t n = dot != NULL ? (size_t)(dot - path) : strlen(path);
    ps_buf_addf(out, "%.*s_lacks%s", (int)n, path, path + n);
}

/* A file that can hold nothing but rows has beside it what they lack, in the same form. The one that an earlier query left goes where nothing
 * is lacking. */
static ps_code commit_rows(stream *s, ps_sql *sql, ps_err *err) {
    ps_table *lacks = ps_sql_lacks(sql, err);
    ps_buf path = {0};
    ps_buf text = {0};
    ps_code code = lacks != NULL ? PS_OK : err->code;
    lacks_path(s->path, &path);
    bool is_whole = !ps_lacks_any(lacks);
    bool is_beside = false;
    if (code == PS_OK && !is_whole) {
        code = s->part(lacks, 0, lacks->n_rows, &text, err);
        code = code == PS_OK && !ps_buf_ok(&path) ? ps_fail_nomem(err) : code;
        code = code == PS_OK ? ps_sink_store(ps_buf_str(&path), &text, err) : code;
        is_beside = code == PS_OK;
    }
    code = code == PS_OK ? ps_sink_commit(&s->sink, err) : code;
    bool has_to_go = (code == PS_OK ? is_whole : is_beside) && ps_buf_ok(&path);
    if (has_to_go && unlink(ps_buf_str(&path)) != 0 && errno != ENOENT && code == PS_OK) {
        code = ps_fail_file(err, PS_IO, ps_buf_str(&path),
                            "left by an earlier query, and it cannot be removed");
    }
    ps_buf_fini(&path);
    ps_buf_fini(&text);
    ps_table_free(lacks);
    return code;
}

static ps_code write_rows(ps_cli *cli, ps_sql *sql, const char *statement, const char *name,
                          ps_table_part_fn *part, ps_err *err) {
    stream s = {.cli = cli, .path = ps_cli_text(cli, "output"), .part = part};
    ps_code code = ps_sql_run(sql, statement, name, take_rows, &s, err);
    if (code == PS_OK && s.path != NULL) {
        bool is_in_folder = s.sink.published.path != NULL; /* no device, no pipe */
        code = is_in_folder ? commit_rows(&s, sql, err) : ps_sink_commit(&s.sink, err);
    }
    ps_sink_abort(&s.sink);
    ps_buf_fini(&s.text);
    return s.nobody_reads ? PS_OK : code;
}

static ps_code put_arrow(void *context, const void *bytes, size_t n, ps_err *err) {
    stream *s = context;
    ps_buf_add(&s->text, bytes, n);
    return !ps_buf_ok(&s->text)        ? ps_fail_nomem(err)
           : s->text.len > PIECE_BYTES ? flush_stream(s, err)
                                       : PS_OK;
}

/* The schema stands before the rows and depends on all of them. */
static ps_code write_arrow(ps_cli *cli, ps_sql *sql, const char *statement, const char *name,
                           ps_err *err) {
    stream s = {.cli = cli, .path = ps_cli_text(cli, "output")};
    ps_arrow *rows = ps_sql_arrow_of(sql, statement, name, err);
    ps_code code = rows != NULL ? ps_arrow_write(rows, put_arrow, &s, err) : err->code;
    code = code == PS_OK ? flush_stream(&s, err) : code;
    code = code == PS_OK && s.path != NULL ? ps_sink_commit(&s.sink, err) : code;
    ps_sink_abort(&s.sink);
    ps_buf_fini(&s.text);
    ps_arrow_free(rows);
    return s.nobody_reads ? PS_OK : code;
}

static ps_code write_text(ps_cli *cli, ps_sql *sql, const char *statement, const char *name,
                          ps_err *err) {
    const char *path = ps_cli_text(cli, "output");
    size_t most = (size_t)ps_cli_int(cli, "rows");
    size_t n_rows = 0;
    ps_buf text = {0};
    ps_text_style style = ps_cli_style(cli);
    style.colours = path != NULL ? PS_COLOURS_NONE : style.colours;
    ps_table *t = ps_sql_table_of(sql, statement, name, most, &n_rows, err);
    ps_code code = t != NULL ? ps_write_table_text(t, &style, &text, err) : err->code;
    if (code == PS_OK && n_rows > most) {
        ps_buf_addf(
            &text,
            PS_SAY(cli->lang,
                   "... and %zu more rows (--rows N shows more, --as csv writes them all)\n",
                   "…… 另有 %zu 行（--rows N 显示更多，--as csv 全部写出）\n"),
            n_rows - most);
    }
    ps_table *lacks = code == PS_OK ? ps_sql_lacks(sql, err) : NULL;
    code = code == PS_OK && lacks == NULL ? err->code : code;
    if (code == PS_OK) {
        ps_lacks_say(cli->lang, lacks, "", "\n", &text);
        code = ps_buf_ok(&text) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK && path != NULL) {
        code = ps_sink_store(path, &text, err);
    } else if (code == PS_OK) {
        ps_cli_put(cli, ps_buf_str(&text), text.len);
    }
    ps_buf_fini(&text);
    ps_table_free(lacks);
    ps_table_free(t);
    return code;
}

static ps_table_part_fn *const PARTS[] = {[AS_CSV] = ps_write_table_csv_part,
                                          [AS_JSON] = ps_write_table_json_part,
                                          [AS_JSONL] = ps_write_table_jsonl_part};

/* The tables that the capture has; an exit status. */
static int write_schema(ps_cli *cli, ps_sql *sql) {
    ps_err err = PS_ERR_INIT;
    ps_table *t = ps_sql_capture_schema(sql, &err);
    ps_buf text = {0};
    ps_text_style style = ps_cli_style(cli);
    form as = form_of(cli);
    ps_code code = t == NULL       ? err.code
                   : as == AS_TEXT ? ps_write_table_text(t, &style, &text, &err)
                                   : PARTS[as](t, 0, t->n_rows, &text, &err);
    ps_table_free(t);
    return ps_cli_end_output(cli, ps_cli_text(cli, "output"), &text, code, &err);
}

static ps_code answer(ps_cli *cli, ps_sql *sql, const char *statement, const char *name,
                      ps_err *err) {
    form as = form_of(cli);
    ps_code code = as == AS_TEXT    ? write_text(cli, sql, statement, name, err)
                   : as == AS_ARROW ? write_arrow(cli, sql, statement, name, err)
                                    : write_rows(cli, sql, statement, name, PARTS[as], err);
    if (code == PS_OK && ps_cli_text(cli, "output") != NULL) {
        ps_cli_print(cli, "wrote %s\n", ps_cli_text(cli, "output"));
    }
    return code;
}

/* --- the command ------------------------------------------------------------------------------------------------- */

/* What could not be read, and with `runs` what analyses met; an exit status. */
static int report_reading(ps_cli *cli, const ps_sql *sql, const ps_cluster *cluster, bool runs) {
    size_t n_failed = 0;
    for (size_t i = 0; i < cluster->n_ranks; i++) {
        const ps_err *err = ps_sql_unread(sql, i);
        if (err->code != PS_OK) {
            char who[PS_WHO_TEXT];
            char text[1024];
            ps_err_format(err, text, sizeof text);
            ps_cli_warn(cli, "%s: %s", ps_cli_who(&cluster->ranks[i], who), text);
            n_failed++;
        }
    }
    bool any = ps_sql_n_read(sql) > 0;
    for (size_t i = 0; runs && i < ps_sql_n_runs(sql); i++) {
        const ps_run *run = ps_sql_run_at(sql, i);
        if (run != NULL) {
            ps_report_ranks(cli, run);
            n_failed += run->n_failed;
            any = any || run->n_done > 0;
        }
    }
    ps_report_oddities(cli, ps_sql_diag(sql));
    bool whole = n_failed == 0 && ps_diag_n_errors(&cluster->diag) == 0;
    return whole ? PS_EXIT_OK : n_failed == 0 || any ? PS_EXIT_PARTIAL : PS_EXIT_FAILED;
}

/* The statement, or (NULL) a prompt, or the tables that the capture has. */
static int ask(ps_cli *cli, const ps_cluster *cluster, const ps_sql_opts *opts,
               const char *statement, const char *name) {
    ps_err err = PS_ERR_INIT;
    ps_sql *sql = ps_sql_open(cluster, opts, &err);
    if (sql == NULL) {
        return ps_cli_fail(cli, &err);
    }
    int said = statement != NULL                 ? PS_EXIT_OK
               : ps_cli_flag(cli, "interactive") ? ps_query_prompt(cli, sql, answer)
                                                 : write_schema(cli, sql);
    ps_code code = statement != NULL ? answer(cli, sql, statement, name, &err) : PS_OK;
    int status = report_reading(cli, sql, cluster, !ps_cli_flag(cli, "schema"));
    ps_sql_close(sql);
    said = code != PS_OK ? ps_cli_fail(cli, &err) : said;
    return said != PS_EXIT_OK ? said : status;
}

static int put_schema(ps_cli *cli) {
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    ps_sql_schema_text(&text);
    ps_code code = ps_buf_ok(&text) ? PS_OK : ps_fail_nomem(&err);
    return ps_cli_end_output(cli, NULL, &text, code, &err);
}

static int ask_cluster(ps_cli *cli, const ps_sql_opts *opts, const char *statement,
                       const char *name) {
    int status = PS_EXIT_OK;
    ps_cluster *cluster = ps_cli_find_ranks(cli, ps_cli_positional(cli, 0), &status);
    if (cluster == NULL) {
        return status;
    }
    ps_report_cluster(cli, cluster);
    status = cluster->n_ranks > 0 ? ask(cli, cluster, opts, statement, name)
                                  : ps_report_no_profile(cli, cluster);
    ps_cluster_free(cluster);
    return status;
}

static int run_query(ps_cli *cli) {
    bool schema = ps_cli_flag(cli, "schema");
    if (ps_cli_n_positionals(cli) == 0 && schema) {
        return put_schema(cli);
    }
    if (ps_cli_n_positionals(cli) == 0) {
        return ps_cli_usage(cli, "no input given: pipescope query PATH \"SELECT ...\"");
    }
    ps_sql_opts opts = {0};
    ps_buf statement;
    const char *name = NULL;
    ps_buf_init(&statement, 2 * MOST_STATEMENT_BYTES);
    int status = take_options(cli, &opts);
    bool asks = !schema && !ps_cli_flag(cli, "interactive");
    if (status == PS_EXIT_OK && asks) {
        status = read_statement(cli, &statement, &name);
    }
    if (status == PS_EXIT_OK) {
        status = ask_cluster(cli, &opts, asks ? ps_buf_str(&statement) : NULL, name);
    }
    ps_buf_fini(&statement);
    return status;
}

#ifdef PIPESCOPE_EDITLINE
#define PROMPT_HELP "Tab completes, arrows bring back"
#else
#define PROMPT_HELP "plain lines, since this program was built without libedit"
#endif

static const ps_option OPTIONS[] = {
    {.short_name = 'f',
     PS_ROW_PATH(NULL, "file", "FILE", PS_UNSAID,
                 "the query is in this file; without it and without a query on standard input")},
    {.short_name = 'i',
     PS_ROW_FLAG(
         NULL, "interactive",
         "a prompt: one statement after the other, each ended by a semicolon; " PROMPT_HELP)},
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "write the rows there: .txt, .csv, .json, .jsonl or .arrow")},
    {PS_ROW_CHOICE(NULL, "as", "FORM", PS_SHOWN("by the end of -o, else text"), FORMS,
                   "text, csv, json, jsonl (an object a line) or arrow")},
    {PS_ROW_INT(NULL, "rows", "N", PS_IS("1000"), 1, 1000000,
                "rows of a text at most; the other forms have all")},
    {PS_ROW_INT(NULL, "timeout", "SECONDS", PS_IS("600"), 0, 1 << 30,
                "end the query, reading included, after this time; 0: never")},
    {PS_ROW_TEXT(NULL, "memory", "BYTES", PS_IS("2GiB"),
                 "what sorting, grouping and texts of the query may take beside the traces")},
    {PS_ROW_FLAG(
        NULL, "schema",
        "print the tables, their columns with units, and the functions; with PATH the tables of "
        "modes and views that this capture has")},
    {PS_ROW_ANALYSIS(lang)},
    PS_MODE_OPTIONS,
    PS_OPS_OPTIONS,
    PS_CLOCK_OPTIONS,
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_query = {
    .name = "query",
    .summary = "SQL over all ranks of a capture: slices, counters, ops, tables of modes",
    .usage =
        "PATH \"SELECT ...\" [-o FILE.{txt,csv,json,jsonl,arrow}] [options]\nPATH -f FILE.sql\nPATH -i\n[PATH] --schema",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 0,
    .max_positionals = 2,
    .notes =
        "Only SELECT: nothing is written, and nothing but the capture is read. Of the capture only what the query asks for. "
        "docs/commands/query.md shows what can be asked, docs/sql.md the tables.",
    .run = run_query,
};
