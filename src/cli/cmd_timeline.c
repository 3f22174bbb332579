/* pipescope timeline: Paddle's worker logs as two files for trace viewers, and a summary. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "model/lacks.h"
#include "read/paddle/paddle.h"
#include "run/paddle_logs.h"
#include "run/paddle_pipeline.h"

enum { MAX_DEVICES = 4096 };

typedef struct devices {
    int64_t at[MAX_DEVICES];
    size_t n;
} devices;

/* --- options ---------------------------------------------------------------------------------------------------- */

/* "0,1,2,3"; blanks around a number are fine. */
static int read_devices(ps_cli *cli, const char *text, devices *d) {
    for (const char *at = text; text != NULL; at++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ", ");
        int64_t device = -1;
        if (!ps_parse_i64(at, n, &device) || device < 0 || device > 999999999) {
            return ps_cli_usage(cli, "--devices %s: not a list of worker numbers such as 0,1,2,3",
                                text);
        }
        if (d->n == MAX_DEVICES) {
            return ps_cli_usage(cli, "--devices: more than %d", MAX_DEVICES);
        }
        d->at[d->n++] = device;
        at += n;
        at += strspn(at, " ");
        if (*at == '\0') {
            break;
        }
        if (*at != ',') {
            return ps_cli_usage(cli, "--devices %s: not a list of worker numbers such as 0,1,2,3",
                                text);
        }
    }
    return PS_EXIT_OK;
}

/* --- what is said ----------------------------------------------------------------------------------------------- */

/* Every rejected record with --verbose; the counts say the rest. */
static void say_rejected(const ps_cli *cli, const ps_paddle_log *l) {
    const ps_table *t = ps_trace_side_table(l->trace, PS_PADDLE_REJECTED);
    for (size_t i = 0; t != NULL && i < t->n_rows; i++) {
        ps_cli_detail(cli, "%s:%lld (byte %lld): %s", l->path,
                      (long long)ps_table_cell(t, i, 0)->u.i,
                      (long long)ps_table_cell(t, i, 1)->u.i, ps_table_cell(t, i, 2)->u.text);
    }
}

static void say_of_workers(const ps_cli *cli, const ps_paddle_logs *logs,
                           const ps_paddle_pipeline *p, ps_diag *all) {
    for (size_t i = 0; i < logs->n; i++) {
        const ps_paddle_log *l = &logs->logs[i];
        if (l->trace != NULL) {
            char who[64];
            (void)snprintf(who, sizeof who, "machine %lld", (long long)l->machine);
            ps_diag_merge(all, ps_trace_diag(l->trace), logs->by_machine ? who : NULL);
            say_rejected(cli, l);
        }
    }
    for (size_t i = 0; i < p->timeline.n_workers; i++) {
        const ps_paddle_figures *f = &p->figures[i];
        if (f->n_overlaps > 0) {
            ps_diag_add(all, PS_ODD_NOT_NESTED, "%s", f->log->path);
            ps_diag_count(all, PS_ODD_NOT_NESTED, f->n_overlaps - 1);
        }
        if (f->n_moved > 0) {
            ps_cli_note(
                cli,
                f->n_moved == 1
                    ? "%s: %llu step is numbered as that of the other workers at that time"
                    : "%s: %llu steps are numbered as those of the other workers at that time",
                f->log->path, (unsigned long long)f->n_moved);
        }
    }
    ps_report_oddities(cli, all);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const ps_column COLUMNS[] = {
    {.name = "machine", .type = PS_COL_INT},
    {.name = "worker", .type = PS_COL_INT},
    {.name = "stage", .type = PS_COL_INT},
    {.name = "jobs", .type = PS_COL_INT},
    {.name = "steps", .type = PS_COL_INT},
    {.name = "runs", .type = PS_COL_INT},
    {.name = "untimed", .type = PS_COL_INT},
    {.name = "malformed", .type = PS_COL_INT},
    {.name = "bubble", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT}};

static bool add_timeline_row(ps_table *t, const ps_paddle_figures *f, const ps_paddle_worker *w,
                             size_t skip) {
    const ps_diag *d = ps_trace_diag(w->trace);
    const ps_table *runs = ps_trace_side_table(w->trace, PS_PADDLE_RUNS);
    if (!ps_table_add_row(t)) {
        return false;
    }
    const int64_t values[] = {w->machine,
                              w->device,
                              w->stage,
                              (int64_t)f->n_jobs,
                              (int64_t)f->n_steps,
                              runs != NULL ? (int64_t)runs->n_rows : 0,
                              (int64_t)d->counts[PS_ODD_UNTIMED],
                              (int64_t)(d->counts[PS_ODD_RECORD] + d->counts[PS_ODD_TIME])};
    for (size_t i = skip; i < PS_N(values); i++) {
        if (i != 2 || w->stage >= 0) {
            ps_table_set_int(t, i - skip, values[i]);
        }
    }
    if (f->window_ns > 0) {
        ps_table_set_real(t, PS_N(values) - skip,
                          100.0 * (double)f->idle_ns / (double)f->window_ns);
    }
    return true;
}

static int put_timeline_summary(ps_cli *cli, const ps_paddle_pipeline *p) {
    size_t skip = p->timeline.by_machine ? 0 : 1;
    ps_table *t = ps_table_new("workers", "", COLUMNS + skip, PS_N(COLUMNS) - skip);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < p->timeline.n_workers; i++) {
        ok = add_timeline_row(t, &p->figures[i], &p->timeline.workers[i], skip);
    }
    return ps_cli_end_table(cli, t, ok);
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

typedef struct file {
    const ps_paddle_timeline *timeline;
    ps_paddle_flavour flavour;
    const char *path;
    ps_err err;
} file;

static void write_one(void *context, size_t i) {
    file *f = (file *)context + i;
    f->err.code = ps_write_paddle_json(f->timeline, f->flavour, f->path, &f->err);
}

static int write_files(ps_cli *cli, const ps_paddle_pipeline *p, const char *dir,
                       size_t n_threads) {
    ps_arena arena = {0};
    file files[] = {{&p->timeline, PS_PADDLE_CHROME,
                     ps_path_join(&arena, dir, PS_PADDLE_CHROME_FILE), PS_ERR_INIT},
                    {&p->timeline, PS_PADDLE_PERFETTO,
                     ps_path_join(&arena, dir, PS_PADDLE_PERFETTO_FILE), PS_ERR_INIT}};
    int status = PS_EXIT_OK;
    if (files[0].path == NULL || files[1].path == NULL) {
        status = ps_cli_fail_nomem(cli);
    } else {
        ps_parallel(PS_N(files), n_threads, write_one, files);
    }
    for (size_t i = 0; status == PS_EXIT_OK && i < PS_N(files); i++) {
        if (files[i].err.code != PS_OK) {
            (void)ps_cli_fail(cli, &files[i].err);
            status = PS_EXIT_FAILED;
        } else {
            ps_cli_print(cli, "wrote %s\n", files[i].path);
        }
    }
    ps_arena_fini(&arena);
    return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Logs that are not there, cannot be read, or hold nothing, each named. */
static size_t say_failed(const ps_cli *cli, const ps_paddle_logs *logs, size_t *n_broken,
                         ps_table *lacks) {
    size_t n = 0;
    for (size_t i = 0; i < logs->n; i++) {
        const ps_paddle_log *l = &logs->logs[i];
        if (l->trace == NULL) {
            (void)ps_cli_fail(cli, &l->err);
            *n_broken += !l->is_missing;
            ps_lacks_add(lacks, -1, ps_path_base(l->path), NULL, l->err.msg);
            n++;
        } else if (ps_trace_slices(l->trace)->n == 0) {
            ps_cli_warn(cli, "%s: no record of the job profiler with a time", l->path);
            ps_lacks_add(lacks, -1, ps_path_base(l->path), NULL,
                         "no record of the job profiler with a time");
            n++;
        }
    }
    if (logs->has_gap) {
        ps_lacks_add(lacks, -1, "a log", NULL, logs->note != NULL ? logs->note : "missing");
    }
    return n;
}

static void one_more(void *progress) {
    ps_progress_step(progress, 1);
}

static int make_timeline(ps_cli *cli, ps_paddle_logs *logs, const char *out_dir) {
    ps_err err = PS_ERR_INIT;
    size_t n_threads = (size_t)ps_cli_int(cli, "jobs");
    ps_progress *progress = ps_progress_begin(&cli->term, cli->quiet, "reading logs", logs->n);
    ps_paddle_logs_read(logs, n_threads, one_more, progress);
    ps_progress_end(progress);
    size_t n_broken = 0;
    ps_table *lacks = ps_lacks_new("lacks");
    size_t n_failed = say_failed(cli, logs, &n_broken, lacks);
    ps_paddle_pipeline p;
    ps_diag *all = ps_calloc(1, sizeof *all);
    ps_code code = ps_paddle_pipeline_make(logs, &p, &err);
    lacks = ps_table_end(lacks);
    if (code == PS_OK && (all == NULL || lacks == NULL)) {
        code = ps_fail_nomem(&err);
    }
    p.timeline.lacks = lacks;
    if (all != NULL) {
        say_of_workers(cli, logs, &p, all);
    }
    int status = PS_EXIT_FAILED;
    if (code != PS_OK) {
        status = ps_cli_fail(cli, &err);
        status = code == PS_NOTHING && n_broken > 0 ? PS_EXIT_FAILED : status;
    } else if (ps_make_dirs(out_dir, &err) != PS_OK) { /* before the table, not behind it */
        (void)ps_cli_fail(cli, &err);
    } else {
        status = put_timeline_summary(cli, &p);
        ps_cli_print(cli, "\n");
        status = status == PS_EXIT_OK ? write_files(cli, &p, out_dir, n_threads) : status;
        bool is_partial = n_failed > 0 || logs->has_gap;
        status = status == PS_EXIT_OK && is_partial ? PS_EXIT_PARTIAL : status;
    }
    ps_free(all);
    ps_paddle_pipeline_fini(&p);
    ps_table_free(lacks);
    return status;
}

static int run_timeline(ps_cli *cli) {
    const char *log_dir = ps_cli_text(cli, "log_dir");
    const char *out_dir = ps_cli_text(cli, "output");
    ps_err err = PS_ERR_INIT;
    if (ps_cli_positional(cli, 0) != NULL) {
        return ps_cli_usage(cli, "give the directory as --log_dir %s", ps_cli_positional(cli, 0));
    }
    if (log_dir == NULL) {
        return ps_cli_usage(cli, "no input given: --log_dir DIR");
    }
    devices *d = ps_calloc(1, sizeof *d);
    if (d == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    int status = read_devices(cli, ps_cli_text(cli, "devices"), d);
    ps_paddle_logs *logs = NULL;
    if (status == PS_EXIT_OK) {
        logs = ps_paddle_logs_find(log_dir, d->at, d->n, ps_cli_flag(cli, "multi_machine"), &err);
        status = logs != NULL ? PS_EXIT_OK : ps_cli_fail(cli, &err);
    }
    ps_free(d);
    if (logs != NULL) {
        if (logs->has_gap) {
            ps_cli_warn(cli, "%s", logs->note);
        } else if (logs->note != NULL) {
            ps_cli_note(cli, "%s", logs->note);
        }
        out_dir = out_dir != NULL ? out_dir : log_dir;
        status = make_timeline(cli, logs, out_dir);
    }
    ps_paddle_logs_free(logs);
    return status;
}

static const ps_option OPTIONS[] = {
    {PS_ROW_PATH(NULL, "log_dir", "DIR", PS_UNSAID,
                 "directory with workerlog.N, or with directories machine* that hold them")},
    {PS_ROW_TEXT(NULL, "devices", "0,1,...", PS_SHOWN("every log found"),
                 "the N of the logs to take")},
    {PS_ROW_FLAG(NULL, "multi_machine",
                 "demand machine directories; without it they are found by themselves")},
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output", "DIR", PS_SHOWN("log_dir"), "directory for the two files")},
    PS_JOBS_OPTION,
};

const ps_command ps_command_timeline = {
    .name = "timeline",
    .summary = "worker logs of Paddle's pipeline as a timeline for trace viewers",
    .usage = "--log_dir DIR [--devices 0,1,...] [--multi_machine] [-o DIR]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "DIR", /* taken to say what is meant */
    .max_positionals = 1,
    .notes = "Writes " PS_PADDLE_CHROME_FILE " (chrome://tracing) and " PS_PADDLE_PERFETTO_FILE
             " (ui.perfetto.dev). docs/commands/timeline.md explains every row and field.",
    .run = run_timeline,
};
