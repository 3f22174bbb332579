/* The options that say what metadata should have said, shared by the commands that place ranks in a pipeline. */
#ifndef PS_CLI_JOB_OPTIONS_H
#define PS_CLI_JOB_OPTIONS_H

#include "analyze/core/analysis.h"
#include "cli/cli.h"
#include "run/cluster.h"
#include "run/run.h"

#define PS_JOB_GROUP "When metadata is lost or wrong"

#define PS_JOB_OPTIONS                                                                             \
    {.name = "pp",                                                                                 \
     .kind = PS_OPTION_INT,                                                                        \
     .arg = "N",                                                                                   \
     .min = 1,                                                                                     \
     .max = 4096,                                                                                  \
     .help = "pipeline stages",                                                                    \
     .group = PS_JOB_GROUP},                                                                       \
        {.name = "tp",                                                                             \
         .kind = PS_OPTION_INT,                                                                    \
         .arg = "N",                                                                               \
         .min = 1,                                                                                 \
         .max = 1 << 20,                                                                           \
         .help = "tensor parallel size",                                                           \
         .group = PS_JOB_GROUP},                                                                   \
        {.name = "cp",                                                                             \
         .kind = PS_OPTION_INT,                                                                    \
         .arg = "N",                                                                               \
         .min = 1,                                                                                 \
         .max = 1 << 20,                                                                           \
         .help = "context parallel size",                                                          \
         .group = PS_JOB_GROUP},                                                                   \
        {.name = "dp",                                                                             \
         .kind = PS_OPTION_INT,                                                                    \
         .arg = "N",                                                                               \
         .min = 1,                                                                                 \
         .max = 1 << 20,                                                                           \
         .help = "data parallel size, without context parallel",                                   \
         .group = PS_JOB_GROUP},                                                                   \
        {.name = "order",                                                                          \
         .kind = PS_OPTION_CHOICE,                                                                 \
         .arg = "ORDER",                                                                           \
         .fallback_shown = "tp-cp-ep-dp-pp",                                                       \
         .choices = ps_layout_names,                                                               \
         .help = "rank order",                                                                     \
         .group = PS_JOB_GROUP},                                                                   \
        {.name = "pp-type",                                                                        \
         .kind = PS_OPTION_TEXT,                                                                   \
         .arg = "NAME",                                                                            \
         .help = "schedule that ran (see: pipescope schedules)",                                   \
         .group = PS_JOB_GROUP},                                                                   \
    {                                                                                              \
        .name = "microbatches", .kind = PS_OPTION_INT, .arg = "M", .min = 1, .max = 65536,         \
        .help = "microbatches of one step", .group = PS_JOB_GROUP                                  \
    }

/* For commands that draw or judge a pipeline. */
#define PS_CLOCK_OPTIONS                                                                           \
    {.name = "align",                                                                              \
     .kind = PS_OPTION_FLAG,                                                                       \
     .help = "bring all clocks of machines together, as far as transfers tell how far they "       \
             "differ; what was measured while recording is taken off in any case"},                \
    {                                                                                              \
        .name = "no-align", .kind = PS_OPTION_FLAG,                                                \
        .help = "times as they were recorded: no clock is taken off"                               \
    }

/* Of PS_CLOCK_OPTIONS. PS_EXIT_OK, or the status of wrong usage. */
int ps_cli_clocks(ps_cli *cli, ps_analysis_opts *out);

/* For commands that use several threads: "jobs". */
#define PS_JOBS_OPTION                                                                             \
    {                                                                                              \
        .name = "jobs", .short_name = 'j', .kind = PS_OPTION_INT, .arg = "N", .fallback = "0",     \
        .fallback_shown = "one per processor", .min = 0, .max = 4096, .help = "threads"            \
    }

/* For commands that read any format. */
#define PS_FORMAT_OPTION                                                                           \
    {.name = "format",                                                                             \
     .kind = PS_OPTION_TEXT,                                                                       \
     .arg = "NAME",                                                                                \
     .fallback_shown = "by content",                                                               \
     .help = "read the input as this format (see: pipescope formats)"},                            \
    {                                                                                              \
        .name = "rank-from", .kind = PS_OPTION_TEXT, .arg = "RE",                                  \
        .fallback_shown = "where they say 'rank N'",                                               \
        .help = "of a file in which processes are ranks: the first group of this regular "         \
                "expression in the name of a process is its rank"                                  \
    }

/* "64GiB", "1.5GB", "512M" (2^20), "123456": bytes, more than none. False for anything else. */
bool ps_cli_parse_size(const char *text, int64_t *bytes);

/* The reader that --format names, NULL without it; an exit status. */
int ps_cli_reader(ps_cli *cli, const ps_reader **out);

/* Finds the ranks below `path`, heeding --format. NULL with *status set, having said why. */
ps_cluster *ps_cli_find_ranks(ps_cli *cli, const char *path, int *status);

/* What a command does with the ranks that it found. */
typedef int ps_ranks_fn(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts);

/* The end of commands that analyse one path, their first word: finds its ranks, says what was odd in finding them, and hands
 * them on, or says why there are none. An exit status. */
int ps_cli_over_ranks(ps_cli *cli, const ps_run_opts *opts, ps_ranks_fn *analyse);

/* Fills the job's part of the options and step_id (-1 where `step_option` is NULL); an exit status. */
int ps_cli_job(ps_cli *cli, ps_analysis_opts *out, const char *step_option);

#endif
