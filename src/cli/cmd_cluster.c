/* pipescope cluster -m MODE -d DIR: analyses over the ranks of a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/core/analysis.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/table_report.h"
#include "run/cluster.h"
#include "run/rank_selection.h"
#include "run/run.h"
#include "run/run_pipeline.h"

/* --- what the user asked for ------------------------------------------------------------------------------- */

#define MAX_MODES 64
#define PS_SHARDS_GROUP "Shared out to several processes (docs/scale.md)"
#define MAX_SHARDS 1000000

typedef struct request {
    const ps_analysis *analyses[MAX_MODES];
    bool optional
        [MAX_MODES]; /* it is there because a set of modes has it: it may have nothing to do */
    size_t n_analyses;
    const char *path;
    ps_run_opts opts;
    ps_rank_selection selected;
    const char *summary;
    bool is_for_programs; /* nothing but the summary on standard output */
} request;

static void add_mode(request *q, const ps_analysis *a, bool optional) {
    for (size_t i = 0; i < q->n_analyses; i++) {
        if (q->analyses[i] == a) {
            q->optional[i] = q->optional[i] && optional;
            return;
        }
    }
    if (q->n_analyses < MAX_MODES) {
        q->optional[q->n_analyses] = optional;
        q->analyses[q->n_analyses++] = a;
    }
}

/* Whether the word names modes; they are added. */
static bool add_modes(request *q, const char *word) {
    uint32_t set = strcasecmp(word, "all") == 0     ? PS_IN_ALL
                   : strcasecmp(word, "every") == 0 ? PS_IN_EVERY
                                                    : 0;
    const ps_analysis *one = ps_analysis_find(word);
    bool found = one != NULL && !one->hidden;
    if (found) {
        add_mode(q, one, false);
    }
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        if (!(*a)->hidden && ((*a)->sets & set) != 0) {
            add_mode(q, *a, true);
            found = true;
        }
    }
    return found;
}

static int unknown_mode(const ps_cli *cli, const char *word) {
    const char *known[MAX_MODES + 2] = {"all", "every"};
    size_t n = 2;
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL && n < PS_N(known); a++) {
        if (!(*a)->hidden) {
            known[n++] = (*a)->name;
        }
    }
    return ps_cli_unknown(cli, "mode", word, known, n);
}

static int parse_modes(ps_cli *cli, request *q) {
    const char *modes = ps_cli_text(cli, "mode");
    if (modes[0] == '\0') {
        return ps_cli_usage(cli, "no mode given: -m MODE (see: pipescope modes)");
    }
    for (const char *p = modes; *p != '\0';) {
        size_t n = strcspn(p, ",");
        char word[64];
        (void)snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (!add_modes(q, word)) {
            return unknown_mode(cli, word);
        }
        p += n + (p[n] == ',');
    }
    return PS_EXIT_OK;
}

static int parse_export(ps_cli *cli, request *q) {
    const char *type = ps_cli_text(cli, "export_type");
    if (strcmp(type, "notebook") == 0) {
        return ps_cli_usage(
            cli, "--export_type notebook: no notebooks are written; take db, csv, json or xlsx");
    }
    static const char *const TYPES[] = {"db", "text", "csv", "json", "xlsx"};
    static const ps_export MEANINGS[] = {PS_EXPORT_DB, PS_EXPORT_TEXT, PS_EXPORT_CSV,
                                         PS_EXPORT_JSON, PS_EXPORT_XLSX};
    for (size_t i = 0; i < PS_N(TYPES); i++) {
        if (strcmp(TYPES[i], type) == 0) {
            q->opts.export_type = MEANINGS[i];
            bool makes_books = MEANINGS[i] == PS_EXPORT_XLSX || MEANINGS[i] == PS_EXPORT_TEXT;
            return makes_books && !ps_build_has(PS_PART_xlsx) ? ps_cli_left_out(cli, PS_PART_xlsx)
                                                              : PS_EXIT_OK;
        }
    }
    return ps_cli_unknown(cli, "export type", type, TYPES, PS_N(TYPES));
}

/* Options of the public tool that have nothing to switch here. */
static void say_ignored(const ps_cli *cli) {
    static const char *const WHY[][2] = {
        {"parallel_mode", "ranks are always analysed in parallel (-j)"},
        {"force", "there are no limits of size to lift"},
        {"dump_intermediate_results", "nothing is kept between the passes"}};
    ps_cli_say_ignored(cli, WHY, PS_N(WHY));
}

static void parse_baseline(const ps_cli *cli, request *q) {
    static const char *const NAMES[] = {"bp", "baseline_profiling_path",
                                        "benchmark_profiling_path"};
    for (size_t i = 0; i < PS_N(NAMES) && q->opts.baseline_path == NULL; i++) {
        q->opts.baseline_path = ps_cli_text(cli, NAMES[i]);
    }
    bool compares = false;
    for (size_t a = 0; a < q->n_analyses; a++) {
        compares = compares || q->analyses[a]->baseline != NULL;
    }
    if (q->opts.baseline_path != NULL && !compares) {
        ps_cli_note(cli, "none of these modes compares: --bp is not looked at");
    }
}

/* "-d DIR", or the first word. */
static int parse_path(ps_cli *cli, request *q) {
    const char *word = ps_cli_positional(cli, 0);
    q->path = ps_cli_text(cli, "profiling_path");
    if (q->path != NULL && word != NULL) {
        return ps_cli_usage(cli, "two inputs, %s and %s: give one", q->path, word);
    }
    q->path = q->path != NULL ? q->path : word;
    return q->path != NULL ? PS_EXIT_OK : ps_cli_usage(cli, "no input given: -d DIR");
}

/* "3/16" */
static bool parse_shard(const char *text, request *q) {
    size_t n = strcspn(text, "/");
    int64_t shard = 0;
    int64_t n_shards = 0;
    bool ok = text[n] == '/' && ps_parse_i64(text, n, &shard) &&
              ps_parse_i64(text + n + 1, strlen(text + n + 1), &n_shards) && shard >= 1 &&
              shard <= n_shards && n_shards <= MAX_SHARDS;
    if (ok) {
        q->opts.shard = (size_t)shard - 1;
        q->opts.n_shards = (size_t)n_shards;
    }
    return ok;
}

/* --shard I/N --partials DIR, --reduce DIR, or neither. */
static int parse_work(ps_cli *cli, request *q) {
    const char *shard = ps_cli_text(cli, "shard");
    const char *partials = ps_cli_text(cli, "partials");
    const char *reduce = ps_cli_text(cli, "reduce");
    if ((shard != NULL) != (partials != NULL)) {
        return ps_cli_usage(cli, "--shard I/N and --partials DIR go together");
    }
    if (shard != NULL && reduce != NULL) {
        return ps_cli_usage(cli,
                            "--shard makes partials, --reduce ends with those of all: give one");
    }
    if (shard != NULL && !parse_shard(shard, q)) {
        return ps_cli_usage(cli, "--shard: '%s' is none; give I/N as in 3/16, counted from 1",
                            shard);
    }
    if (cli->engine != NULL && (shard != NULL || reduce != NULL)) {
        return ps_cli_usage(
            cli, "processes of one MPI job share the ranks out by themselves: neither --shard "
                 "nor --reduce, but --resume DIR");
    }
    if (shard == NULL && reduce == NULL) {
        return PS_EXIT_OK; /* --resume may have set the folder */
    }
    q->opts.work = shard != NULL ? PS_RUN_SHARD : reduce != NULL ? PS_RUN_REDUCE : PS_RUN_WHOLE;
    q->opts.partials_dir = shard != NULL ? partials : reduce;
    return PS_EXIT_OK;
}

static int parse_request(ps_cli *cli, request *q) {
    int status = parse_modes(cli, q);
    status = status == PS_EXIT_OK ? parse_path(cli, q) : status;
    status = status == PS_EXIT_OK ? ps_cli_run_options(cli, &q->opts) : status;
    status = status == PS_EXIT_OK ? parse_export(cli, q) : status;
    status = status == PS_EXIT_OK ? parse_work(cli, q) : status;
    parse_baseline(cli, q);
    say_ignored(cli);
    q->opts.out_dir = ps_cli_text(cli, "output_path");
    q->opts.strict = ps_cli_flag(cli, "strict");
    q->opts.optional = q->optional;
    q->summary = ps_cli_flag(cli, "agent") ? "-" : ps_cli_text(cli, "json-summary");
    q->is_for_programs = q->summary != NULL && strcmp(q->summary, "-") == 0;
    cli->quiet = cli->quiet || q->is_for_programs;
    return status;
}

/* --rank_list: none of the ranks that were asked for is there; what could not be looked at may be what is missing. */
static int select_ranks(const ps_cli *cli, request *q, const ps_cluster *c) {
    ps_err err = PS_ERR_INIT;
    const char *list = ps_cli_text(cli, "rank_list");
    ps_code code = ps_rank_selection_init(&q->selected, c, list, "--rank_list", &err);
    bool is_absent = code == PS_OK && q->selected.n == 0;
    code = is_absent ? ps_rank_selection_check(&q->selected, c, &err) : code;
    int status = code == PS_OK ? PS_EXIT_OK : ps_cli_fail_run(cli, &err);
    bool is_unsure = is_absent && ps_diag_n_errors(&c->diag) > 0;
    return status == PS_EXIT_USAGE && is_unsure ? PS_EXIT_FAILED : status;
}

/* Ranks that were asked for and are not there, where others are. */
static void say_absent_ranks(const ps_cli *cli, const request *q, const ps_cluster *c) {
    for (size_t i = 0; i < q->selected.n_absent; i++) {
        ps_cli_warn(cli, "rank %lld is not among the %zu ranks of %s",
                    (long long)q->selected.absent[i], c->n_ranks, c->root);
    }
}

/* --- running ------------------------------------------------------------------------------------------------- */

/* A part of the work is done: what comes next. An exit status. */
static int tell_unfinished(const ps_cli *cli, const request *q, const ps_cluster *cluster,
                           const ps_run *run) {
    const char *dir = q->opts.partials_dir;
    size_t most = ps_run_n_reading_rounds(q->analyses, q->n_analyses, q->opts.analysis.in_full);
    int status = ps_diag_n_errors(&cluster->diag) > 0 ? PS_EXIT_PARTIAL : PS_EXIT_OK;
    for (size_t r = 0; r < run->n_ranks; r++) {
        char who[PS_WHO_TEXT];
        if (run->ranks[r].status == PS_RANK_FAILED && q->opts.work == PS_RUN_SHARD) {
            ps_cli_warn(cli, "%s failed: %s", ps_cli_who(run->ranks[r].rank, who),
                        ps_err_text(cli->lang, &run->ranks[r].err));
            status = PS_EXIT_PARTIAL;
        }
    }
    if (q->opts.work == PS_RUN_SHARD) {
        ps_cli_note(cli, "round %zu of at most %zu: the partials of %zu rank%s are in %s",
                    run->unfinished_round, most, run->n_partials, run->n_partials == 1 ? "" : "s",
                    dir);
    } else {
        ps_cli_note(cli,
                    "round %zu of at most %zu reads ranks once more: run the shards again, then "
                    "--reduce %s",
                    run->unfinished_round, most, dir);
    }
    return status;
}

/* --json-summary: returns the exit status after it. */
static int write_summary(ps_cli *cli, const request *q, const ps_cluster *cluster,
                         const ps_run *run, int status) {
    ps_err err = PS_ERR_INIT;
    if (q->summary != NULL &&
        ps_report_json(cli, q->summary, cluster, run, q->analyses, status, &err) != PS_OK) {
        (void)ps_cli_fail(cli, &err);
        status = status == PS_EXIT_OK ? PS_EXIT_FAILED : status;
    }
    return status;
}

static int run_request(ps_cli *cli, request *q, const ps_cluster *cluster) {
    ps_progress *progress = NULL;
    ps_cli_run_progress(cli, q->selected.n, &q->opts, &progress);
    ps_err err = PS_ERR_INIT;
    ps_run *run = ps_run_analyses(q->analyses, q->n_analyses, cluster, q->selected.ranks,
                                  q->selected.n, &q->opts, &err);
    ps_progress_end(progress);
    if (run == NULL) {
        return ps_cli_fail_run(cli, &err);
    }
    ps_cli_say_cache(cli, run, &q->opts);
    if (run->unfinished_round != 0) {
        int unfinished = write_summary(cli, q, cluster, run, tell_unfinished(cli, q, cluster, run));
        ps_run_free(run);
        return unfinished;
    }
    for (size_t a = 0; a < run->n_analyses; a++) {
        ps_run_name_chart(run->results[a].chart, cluster);
    }
    int printed = PS_EXIT_OK;
    if (!q->is_for_programs) {
        printed = ps_report_results(cli, run);
        ps_report_written(cli, run, q->analyses, q->opts.export_type, q->path);
    }
    if (q->n_analyses > 1) {
        ps_report_modes(cli, run, q->analyses, q->optional, NULL);
    } else {
        ps_report_ranks(cli, run);
    }
    int status = ps_report_status(run, cluster, q->optional);
    status = status == PS_EXIT_OK && q->selected.n_absent > 0 ? PS_EXIT_PARTIAL : status;
    status = write_summary(cli, q, cluster, run, status);
    ps_run_free(run);
    return status == PS_EXIT_OK ? printed : status;
}

/* Modes that write into databases of ranks need such, the others take every format. NULL with *status set. */
static ps_cluster *find_ranks(ps_cli *cli, const request *q, bool of_databases, int *status) {
    if (!of_databases) {
        return ps_cli_find_ranks(cli, q->path, status);
    }
    ps_err err = PS_ERR_INIT;
    ps_cluster *cluster = ps_cluster_find_databases(q->path, &err);
    if (cluster == NULL) {
        *status = ps_cli_fail(cli, &err);
    }
    return cluster;
}

/* --rounds: how often shards and their reduce have to run. */
static int tell_rounds(ps_cli *cli, request *q) {
    int status = parse_modes(cli, q);
    if (status == PS_EXIT_OK) {
        ps_cli_print(cli, "%zu\n", ps_run_n_reading_rounds(q->analyses, q->n_analyses, false));
    }
    return status;
}

static int run_cluster(ps_cli *cli) {
    request q = {0};
    if (ps_cli_flag(cli, "rounds")) {
        return tell_rounds(cli, &q);
    }
    int status = parse_request(cli, &q);
    if (status != PS_EXIT_OK) {
        return status;
    }
    bool of_databases = false;
    for (size_t a = 0; a < q.n_analyses; a++) {
        of_databases = of_databases || q.analyses[a]->writes != PS_WRITES_CLUSTER;
    }
    ps_cluster *cluster = find_ranks(cli, &q, of_databases, &status);
    if (cluster == NULL) {
        return status;
    }
    ps_report_cluster(cli, cluster);
    if (cluster->n_ranks == 0) {
        status =
            of_databases ? ps_report_no_ranks(cli, cluster) : ps_report_no_profile(cli, cluster);
    } else {
        status = select_ranks(cli, &q, cluster);
        if (status == PS_EXIT_OK) {
            say_absent_ranks(cli, &q, cluster);
            status = run_request(cli, &q, cluster);
        }
    }
    if (status == PS_EXIT_NOTHING && ps_diag_n_errors(&cluster->diag) > 0) {
        status = PS_EXIT_FAILED; /* what could not be looked at may be what is missing */
    }
    ps_rank_selection_fini(&q.selected);
    ps_cluster_free(cluster);
    return status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'm',
     PS_ROW_TEXT(NULL, "mode", "MODE[,MODE...]", PS_IS("all"),
                 "the analyses to run, in one read; all: the basic tables of a cluster, every: all "
                 "that need no further input and write only to the output folder (see: pipescope "
                 "modes)")},
    {.short_name = 'd',
     PS_ROW_PATH(NULL, "profiling_path", "DIR", PS_UNSAID,
                 "directory of rank directories, one rank directory, or one profile")},
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output_path", "DIR", PS_UNSAID,
                 "write results, and mirrored copies of databases that modes write into, here; the "
                 "input stays as it is")},
    {PS_ROW_TEXT(
        NULL, "export_type", "TYPE", PS_IS("db"),
        "db writes into the databases of ranks, or "
        "cluster_analysis_output/cluster_analysis.db; csv, json or xlsx write files beside "
        "that; text is xlsx for tables that are sheets, else csv")},
    PS_MODE_OPTIONS,
    {.also = "rank",
     PS_ROW_TEXT(NULL, "rank_list", "LIST", PS_IS("all"), "all, or ranks as in 0,1,5")},
    {PS_ROW_PATH(PS_MODE_GROUP, "bp", "DIR", PS_UNSAID,
                 "profiles to compare with, for modes that compare (also "
                 "--baseline_profiling_path)"),
     .one_hyphen = true},
    {PS_ROW_ANALYSIS(lang)},
    {.hidden = true, PS_ROW_PATH(NULL, "benchmark_profiling_path", "DIR", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "agent", NULL)},
    {.hidden = true, PS_ROW_PATH(NULL, "baseline_profiling_path", "DIR", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "parallel_mode", "MODE", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "force", NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "dump_intermediate_results", NULL)},
    PS_JOBS_OPTION,
    PS_MEMORY_OPTION,
    PS_CACHE_OPTIONS,
    PS_CREW_OPTIONS,
    {PS_ROW_TEXT(
        PS_SHARDS_GROUP, "shard", "I/N", PS_UNSAID,
        "only read ranks, the I-th part of N, and leave what comes of them in --partials")},
    {PS_ROW_PATH(PS_SHARDS_GROUP, "partials", "DIR", PS_UNSAID, "where shards leave it")},
    {PS_ROW_PATH(PS_SHARDS_GROUP, "reduce", "DIR", PS_UNSAID,
                 "end with what all shards left here, with the same modes and options")},
    {PS_ROW_FLAG(PS_SHARDS_GROUP, "rounds",
                 "print how often both have to run for these modes, at most")},
    {PS_ROW_FLAG(NULL, "strict", "counted errors in the input make a rank fail")},
    {PS_ROW_PATH(
        NULL, "json-summary", "FILE", PS_UNSAID,
        "what ran, what was written and every counted oddity, as JSON; -: on the terminal, "
        "and nothing else")},
    PS_FORMAT_OPTION,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_cluster = {
    .name = "cluster",
    .summary = "analyse the ranks of a cluster (the default command)",
    .usage = "[-m MODE[,MODE...]] -d DIR [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "DIR",
    .max_positionals = 1,
    .notes =
        "Exit status: 0 all ranks done, 1 failed, 2 wrong usage or no such path, 3 nothing to analyse, 4 some ranks done.",
    .run = run_cluster,
};
