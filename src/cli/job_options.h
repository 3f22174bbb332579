/* The options that say what metadata should have said, shared by the commands that place ranks in a pipeline. */
#ifndef PS_CLI_JOB_OPTIONS_H
#define PS_CLI_JOB_OPTIONS_H

#include "analyze/core/analysis.h"
#include "cli/cli.h"
#include "run/cluster.h"
#include "run/run.h"

#define PS_JOB_OPTIONS                                                                             \
    {PS_ROW_ANALYSIS(pp)}, {PS_ROW_ANALYSIS(tp)}, {PS_ROW_ANALYSIS(cp)}, {PS_ROW_ANALYSIS(dp)},    \
        {PS_ROW_ANALYSIS(order)}, {PS_ROW_ANALYSIS(pp_type)}, {                                    \
        PS_ROW_ANALYSIS(n_microbatches)                                                            \
    }

/* For commands that run modes. */
#define PS_MODE_OPTIONS                                                                            \
    {.also = "step", PS_ROW_ANALYSIS(step_id)}, {PS_ROW_ANALYSIS(top_num)},                        \
        {PS_ROW_ANALYSIS(module_depth)}, {PS_ROW_ANALYSIS(module_glob)},                           \
        {PS_ROW_ANALYSIS(from_ns)}, {PS_ROW_ANALYSIS(to_ns)}, {PS_ROW_ANALYSIS(rank_id)},          \
        {PS_ROW_ANALYSIS(parallel_types)}, {PS_ROW_ANALYSIS(exclude_op_name)},                     \
        {PS_ROW_ANALYSIS(peak_tflops)}, {                                                          \
        PS_ROW_ANALYSIS(fuzzy_threshold)                                                           \
    }

/* For commands that look for the ops of a pipeline. */
#define PS_OPS_OPTIONS                                                                             \
    {PS_ROW_ANALYSIS(max_activations)}, {PS_ROW_ANALYSIS(unexplained)},                            \
        {PS_ROW_ANALYSIS(forward_re)}, {PS_ROW_ANALYSIS(backward_re)}, {                           \
        PS_ROW_ANALYSIS(microbatch_re)                                                             \
    }

/* For commands that draw or judge a pipeline. */
#define PS_CLOCK_OPTIONS                                                                           \
    {PS_ROW_ANALYSIS(clocks)}, {                                                                   \
        PS_ROW_FLAG(NULL, "no-align", "times as they were recorded: no clock is taken off")        \
    }

/* For commands that use several threads: "jobs". */
#define PS_JOBS_OPTION                                                                             \
    {                                                                                              \
        .short_name = 'j', .fallback_shown = "one per processor",                                  \
        PS_ROW_INT(NULL, "jobs", "N", PS_IS("0"), 0, 4096, "threads")                              \
    }

/* For commands that read many ranks: ps_cli_take_memory() takes it. */
#define PS_MEMORY_OPTION                                                                           \
    {                                                                                              \
        PS_ROW_TEXT(NULL, "memory", "SIZE", PS_SHOWN("what is left here"),                         \
                    "what may be held while ranks are read (8G): as many are read at once as fit " \
                    "(docs/scale.md)")                                                             \
    }
/* 0 without the option; an exit status. */
int ps_cli_take_memory(ps_cli *cli, int64_t *bytes);

/* For commands that run analyses over all ranks: ps_cli_run_options() takes them. */
#define PS_CACHE_OPTIONS                                                                           \
    {PS_ROW_PATH(                                                                                  \
        NULL, "cache", "DIR", PS_UNSAID,                                                           \
        "keep here what is made of each rank, and read no rank again that has not changed "        \
        "(docs/scale.md)")},                                                                       \
    {                                                                                              \
        PS_ROW_TEXT(NULL, "cache-size", "SIZE", PS_SHOWN("8G"),                                    \
                    "what DIR may hold; what was used longest ago goes")                           \
    }
/* For the same, of several processes. */
#define PS_CREW_GROUP "With several processes (pipescope-mpi, docs/scale.md)"
#define PS_CREW_OPTIONS                                                                            \
    {PS_ROW_PATH(PS_CREW_GROUP, "local", "PATH", PS_UNSAID,                                        \
                 "ranks whose files lie below, all links followed, go to processes that see them " \
                 "there")},                                                                        \
    {                                                                                              \
        PS_ROW_PATH(PS_CREW_GROUP, "resume", "DIR", PS_UNSAID,                                     \
                    "keep what comes of each rank here, and take up what an earlier run left")     \
    }
/* What came of it, with --verbose, and what could not be kept. */
void ps_cli_say_cache(const ps_cli *cli, const ps_run *run, const ps_run_opts *opts);

/* For commands whose first word is a PATH. */
#define PS_INPUT_OPTION                                                                            \
    {                                                                                              \
        .short_name = 'd', .is_input = true,                                                       \
        PS_ROW_PATH(NULL, "profiling_path", "PATH", PS_UNSAID, "the PATH, as an option")           \
    }

/* For commands that read any format. */
#define PS_FORMAT_OPTION                                                                           \
    {PS_ROW_TEXT(NULL, "format", "NAME", PS_SHOWN("by content"),                                   \
                 "read the input as this format (see: pipescope formats)")},                       \
    {                                                                                              \
        PS_ROW_TEXT(NULL, "rank-from", "RE", PS_SHOWN("where they say 'rank N'"),                  \
                    "of a file in which processes are ranks: the first group of this regular "     \
                    "expression in the name of a process is its rank")                             \
    }

/* The reader that --format names, NULL without it; an exit status. */
int ps_cli_reader(ps_cli *cli, const ps_reader **out);

/* Finds the ranks below `path`, heeding --format. NULL with *status set, having said why. */
ps_cluster *ps_cli_find_ranks(ps_cli *cli, const char *path, int *status);

/* What the command's options of analyses and --jobs say, of a run that writes nothing; an exit status. */
int ps_cli_run_options(ps_cli *cli, ps_run_opts *out);

/* A command that analyses one path. */
typedef struct ps_ranks_command {
    ps_run *(*begin)(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);
    /* Shows what came of it; PS_EXIT_NOTHING where the ranks will say why there is nothing. */
    int (*show)(ps_cli *cli, const ps_run *run, const ps_cluster *cluster);
    /* Says what the ranks did and frees the run: an exit status, `shown` of the above. NULL: ps_report_end(). */
    int (*end)(ps_cli *cli, ps_run *run, const ps_cluster *cluster, int shown);
} ps_ranks_command;

/* The line that says how many of `n_ranks` a run has read: sets what calls it in `opts`, which it must
 * outlive. It ends before anything is written, or with ps_progress_end(*progress). */
void ps_cli_run_progress(const ps_cli *cli, size_t n_ranks, ps_run_opts *opts,
                         ps_progress **progress);

/* Finds the ranks, says what was odd in finding them, runs, shows; or says why there are none. An exit status. The path is the
 * command's first word, or `path`. */
int ps_cli_over_ranks(ps_cli *cli, const ps_run_opts *opts, const ps_ranks_command *command);
int ps_cli_over_ranks_of(ps_cli *cli, const char *path, const ps_run_opts *opts,
                         const ps_ranks_command *command);

/* Says why a run failed; what was asked wrongly with where to read of it. An exit status. */
int ps_cli_fail_run(const ps_cli *cli, const ps_err *err);

/* Whether the path (NULL is fine) has one of these endings, NULL-terminated; an exit status. `remark` stands at the end of the message. */
int ps_cli_check_ending(const ps_cli *cli, const char *path, const char *const *endings,
                        const char *remark);

#endif
