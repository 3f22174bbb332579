/* pipescope cluster -m MODE -d DIR: analyses over the ranks of a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "run/cluster.h"
#include "run/run.h"

/* --- what the user asked for ------------------------------------------------------------------------------- */

#define MAX_MODES 32

typedef struct request {
    const ps_analysis *analyses[MAX_MODES];
    size_t n_analyses;
    const char *path;
    ps_run_opts opts;
    const ps_cluster_rank **ranks; /* selected */
    size_t n_ranks;
    size_t n_absent; /* ranks asked for that are not there */
} request;

static int parse_modes(ps_cli *cli, request *q) {
    const char *modes = ps_cli_text(cli, "mode");
    const char *known[MAX_MODES];
    size_t n_known = 0;
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL && n_known < MAX_MODES; a++) {
        if (!(*a)->hidden) {
            known[n_known++] = (*a)->name;
        }
    }
    if (modes == NULL || modes[0] == '\0') {
        return ps_cli_usage(cli, "no mode given: -m MODE (see: pipescope modes)");
    }
    for (const char *p = modes; *p != '\0';) {
        size_t n = strcspn(p, ",");
        char word[64];
        (void)snprintf(word, sizeof word, "%.*s", (int)n, p);
        const ps_analysis *a = ps_analysis_find(word);
        if (a == NULL || a->hidden) {
            return ps_cli_unknown(cli, "mode", word, known, n_known);
        }
        bool again = false;
        for (size_t i = 0; i < q->n_analyses; i++) {
            again = again || q->analyses[i] == a;
        }
        if (!again && q->n_analyses < MAX_MODES) {
            q->analyses[q->n_analyses++] = a;
        }
        p += n + (p[n] == ',');
    }
    return PS_EXIT_OK;
}

static int parse_export(ps_cli *cli, request *q) {
    const char *type = ps_cli_text(cli, "export_type");
    if (strcmp(type, "notebook") == 0) {
        return ps_cli_usage(
            cli, "--export_type notebook: no notebooks are written; take db, csv or json");
    }
    static const char *const TYPES[] = {"db", "text", "csv", "json"};
    static const ps_export MEANINGS[] = {PS_EXPORT_DB, PS_EXPORT_CSV, PS_EXPORT_CSV,
                                         PS_EXPORT_JSON};
    for (size_t i = 0; i < PS_N(TYPES); i++) {
        if (strcmp(TYPES[i], type) == 0) {
            q->opts.export_type = MEANINGS[i];
            return PS_EXIT_OK;
        }
    }
    return ps_cli_unknown(cli, "export type", type, TYPES, PS_N(TYPES));
}

static int parse_request(ps_cli *cli, request *q) {
    q->path = ps_cli_text(cli, "profiling_path");
    int status = parse_modes(cli, q);
    if (status == PS_EXIT_OK && q->path == NULL) {
        status = ps_cli_usage(cli, "no input given: -d DIR");
    }
    status = status == PS_EXIT_OK ? parse_export(cli, q) : status;
    status = status == PS_EXIT_OK ? ps_cli_job(cli, &q->opts.analysis, "step_id") : status;
    q->opts.out_dir = ps_cli_text(cli, "output_path");
    q->opts.n_threads = (size_t)ps_cli_int(cli, "jobs");
    q->opts.strict = ps_cli_flag(cli, "strict");
    return status;
}

/* --rank_list all | 0,1,5 */
static int select_ranks(ps_cli *cli, request *q, const ps_cluster *c) {
    const char *list = ps_cli_text(cli, "rank_list");
    q->ranks = ps_calloc(c->n_ranks, sizeof *q->ranks);
    if (q->ranks == NULL) {
        ps_err err;
        (void)ps_fail_nomem(&err);
        return ps_cli_fail(cli, &err);
    }
    bool all = strcmp(list, "all") == 0;
    for (size_t r = 0; all && r < c->n_ranks; r++) {
        q->ranks[q->n_ranks++] = &c->ranks[r];
    }
    for (const char *p = list; !all && (*p != '\0' || p == list);) {
        size_t n = strcspn(p, ",");
        int64_t id = 0;
        if (!ps_parse_i64(p, n, &id)) {
            return ps_cli_usage(cli,
                                "--rank_list: '%.*s' is not a rank; give all, or ranks as in 0,1,5",
                                (int)n, p);
        }
        bool found = false;
        for (size_t r = 0; r < c->n_ranks; r++) {
            found = found || c->ranks[r].rank == id;
        }
        if (!found) {
            q->n_absent++;
            ps_cli_warn(cli, "rank %lld is not among the %zu ranks of %s", (long long)id,
                        c->n_ranks, c->root);
        }
        p += n + (p[n] == ',');
    }
    for (size_t r = 0; !all && r < c->n_ranks; r++) { /* in rank order, each once */
        for (const char *p = list; *p != '\0';) {
            size_t n = strcspn(p, ",");
            int64_t id = 0;
            if (ps_parse_i64(p, n, &id) && id == c->ranks[r].rank) {
                q->ranks[q->n_ranks++] = &c->ranks[r];
                break;
            }
            p += n + (p[n] == ',');
        }
    }
    return PS_EXIT_OK;
}

/* --- running ------------------------------------------------------------------------------------------------- */

static void on_progress(void *context, size_t done, size_t total) {
    (void)total;
    (void)done;
    ps_progress_step(context, 1);
}

/* Tables with a row for each step are shown for the step of the chart: -o and --export_type have them all. */
static int print_result(ps_cli *cli, const ps_run *run) {
    int status = PS_EXIT_OK;
    for (size_t a = 0; a < run->n_analyses; a++) {
        const ps_result *result = &run->results[a];
        bool has_chart = result->chart != NULL && result->chart->n_ops > 0;
        int64_t step = has_chart ? ps_cli_usual_step(result->chart) : 0;
        for (size_t i = 0; i < result->n_tables && status == PS_EXIT_OK; i++) {
            if (result->tables[i]->home == PS_HOME_CLUSTER && result->tables[i]->n_rows > 0) {
                status = ps_cli_put_step_rows(cli, result->tables[i], step);
                ps_cli_print(cli, "\n");
            }
        }
        if (has_chart && status == PS_EXIT_OK) {
            status = ps_cli_put_chart(cli, result->chart, step, -1);
            ps_cli_print(cli, "\n");
            ps_cli_say_what_else(cli, result->chart);
        }
    }
    return status;
}

static void say_end(ps_cli *cli, const request *q, const ps_run *run) {
    size_t n_written =
        0; /* of the ranks done; others only lost a stale table, which is reported by itself */
    const char *first = NULL;
    bool in_place = false;
    for (size_t r = 0; r < run->n_ranks; r++) {
        const ps_rank_report *rank = &run->ranks[r];
        if (rank->status == PS_RANK_DONE && rank->written != NULL) {
            n_written++;
            first = first == NULL ? rank->written : first;
            in_place = in_place || strcmp(rank->written, rank->rank->path) == 0;
        }
    }
    if (n_written == 0) {
        return;
    }
    if (q->opts.export_type != PS_EXPORT_DB) {
        ps_cli_print(cli, "Files of %zu rank%s are in %s\n", n_written, n_written == 1 ? "" : "s",
                     first);
    } else if (!in_place && n_written == 1) {
        ps_cli_print(cli, "Wrote the copy %s\n", first);
    } else if (!in_place) {
        ps_cli_print(cli, "Wrote %zu copies, the first is %s\n", n_written, first);
    } else if (n_written == 1) {
        ps_cli_print(cli, "Wrote into %s; MindStudio Insight shows it.\n", first);
    } else {
        ps_cli_print(cli, "Wrote into %zu databases below %s; MindStudio Insight shows them.\n",
                     n_written, q->path);
    }
}

static int run_request(ps_cli *cli, request *q, const ps_cluster *cluster) {
    ps_progress *progress = ps_progress_begin(&cli->term, cli->quiet, "reading ranks", q->n_ranks);
    q->opts.progress = on_progress;
    q->opts.progress_context = progress;
    ps_err err = PS_ERR_INIT;
    ps_run *run =
        ps_run_analyses(q->analyses, q->n_analyses, cluster, q->ranks, q->n_ranks, &q->opts, &err);
    ps_progress_end(progress);
    if (run == NULL) {
        return ps_cli_fail(cli, &err);
    }
    for (size_t a = 0; a < run->n_analyses; a++) {
        ps_cli_name_chart(run->results[a].chart, cluster);
    }
    int printed = print_result(cli, run);
    say_end(cli, q, run);
    ps_report_ranks(cli, run);
    int status = ps_report_status(run, cluster);
    status = status == PS_EXIT_OK && q->n_absent > 0 ? PS_EXIT_PARTIAL : status;
    const char *summary = ps_cli_text(cli, "json-summary");
    if (summary != NULL &&
        ps_report_json(summary, cluster, run, q->analyses, status, &err) != PS_OK) {
        (void)ps_cli_fail(cli, &err);
        status = status == PS_EXIT_OK ? PS_EXIT_FAILED : status;
    }
    ps_run_free(run);
    return status == PS_EXIT_OK ? printed : status;
}

static int run(ps_cli *cli) {
    request q = {0};
    int status = parse_request(cli, &q);
    if (status != PS_EXIT_OK) {
        return status;
    }
    ps_err err = PS_ERR_INIT;
    ps_cluster *cluster = ps_cluster_find_databases(q.path, &err);
    if (cluster == NULL) {
        return ps_cli_fail(cli, &err);
    }
    ps_report_cluster(cli, cluster);
    if (cluster->n_ranks == 0) {
        status = ps_report_no_ranks(cli, cluster);
    } else {
        status = select_ranks(cli, &q, cluster);
        if (status == PS_EXIT_OK && q.n_ranks == 0) {
            ps_cli_warn(cli, "--rank_list names none of the ranks found");
            status = PS_EXIT_NOTHING;
        }
        status = status == PS_EXIT_OK ? run_request(cli, &q, cluster) : status;
    }
    ps_free(q.ranks);
    ps_cluster_free(cluster);
    return status;
}

static const ps_option OPTIONS[] = {
    {.name = "mode",
     .short_name = 'm',
     .kind = PS_OPTION_TEXT,
     .arg = "MODE[,MODE...]",
     .help = "the analyses to run, in one read (see: pipescope modes)"},
    {.name = "profiling_path",
     .short_name = 'd',
     .kind = PS_OPTION_PATH,
     .arg = "DIR",
     .help = "directory of rank directories, one rank directory, or one database"},
    {.name = "output_path",
     .short_name = 'o',
     .kind = PS_OPTION_PATH,
     .arg = "DIR",
     .help = "write mirrored copies of the databases here and leave the input as it is"},
    {.name = "export_type",
     .kind = PS_OPTION_TEXT,
     .arg = "TYPE",
     .fallback = "db",
     .help =
         "db writes into the databases; text, csv or json write files into cluster_analysis_output/"},
    {.name = "step_id",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 0,
     .max = INT64_MAX,
     .help = "only this step"},
    {.name = "rank_list",
     .kind = PS_OPTION_TEXT,
     .arg = "LIST",
     .fallback = "all",
     .help = "all, or ranks as in 0,1,5"},
    {.name = "jobs",
     .short_name = 'j',
     .kind = PS_OPTION_INT,
     .arg = "N",
     .fallback = "0",
     .fallback_shown = "one per processor",
     .min = 0,
     .max = 4096,
     .help = "threads"},
    {.name = "strict",
     .kind = PS_OPTION_FLAG,
     .help = "counted errors in the input make a rank fail"},
    {.name = "json-summary",
     .kind = PS_OPTION_PATH,
     .arg = "FILE",
     .help = "what ran, what was written and every counted oddity, as JSON"},
    PS_JOB_OPTIONS,
};

const ps_command ps_command_cluster = {
    .name = "cluster",
    .summary = "analyse the ranks of a cluster (the default command)",
    .usage = "-m MODE[,MODE...] -d DIR [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .notes =
        "Exit status: 0 all ranks done, 1 failed, 2 wrong usage or no such path, 3 nothing to analyse, 4 some ranks done.",
    .run = run,
};
