/* What a run says about its ranks: lines for people, JSON for scripts. */
#ifndef PS_CLI_RANK_REPORT_H
#define PS_CLI_RANK_REPORT_H

#include "analyze/core/analysis.h"
#include "cli/cli.h"
#include "run/cluster.h"
#include "run/run.h"

/* One line for each kind of oddity that was counted, on stderr; what is only worth knowing not with --quiet. */
void ps_report_oddities(const ps_cli *cli, const ps_diag *d);

/* Notes and counted oddities of the search for ranks, on stderr. */
void ps_report_cluster(const ps_cli *cli, const ps_cluster *cluster);

/* One line for each rank that failed or had nothing, then the oddities of all ranks together, on stderr. */
void ps_report_ranks(const ps_cli *cli, const ps_run *run);

/* The same for a run of several analyses, whose names are known: what an analysis lacks is said once for all ranks that
 * lack it, and why it failed once for all that failed so. `optional` [analysis]: it ran only because a set of modes has it, or
 * NULL. `said`: a failure that was told already, or NULL. */
void ps_report_modes(const ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses,
                     const bool *optional, const ps_err *said);

/* Exit status of a run: all done, nothing, some, none. An optional analysis may have nothing to do. */
int ps_report_status(const ps_run *run, const ps_cluster *cluster, const bool *optional);

/* The exit status of a command that shows one result: `shown` when that went wrong, else the status of the ranks, at worst partial. Nothing to show, or a job
 * that the user's words do not fit, is a failure where something could not be read: who knows what that would have been. */
int ps_report_shown(const ps_run *run, const ps_cluster *cluster, const bool *optional, int shown);

/* The end of a run of one analysis whose result was shown: says what its ranks did, and frees it. An exit status. */
int ps_report_end(ps_cli *cli, ps_run *run, const ps_cluster *cluster, int shown);

/* Says why there is no database to read below the path; an exit status. */
int ps_report_no_ranks(const ps_cli *cli, const ps_cluster *cluster);

/* The same for commands that read every format. */
int ps_report_no_profile(const ps_cli *cli, const ps_cluster *cluster);

/* Prints a table; of one whose first column is the number "step" only the rows of that step, without that column, and
 * at most 64 of them. An exit status. */
int ps_cli_put_step_rows(ps_cli *cli, const ps_table *t, int64_t step);

/* Says that there are other steps and pipelines than the one drawn (PS_FIRST_STEP, -1: the first), when there are, and how long the
 * step takes where it is unlike the others. An exit status. */
int ps_cli_say_what_else(ps_cli *cli, const ps_chart *chart, int64_t step, int32_t pipeline);

/* Writes --json-summary FILE; "-" is standard output. */
PS_MUST_USE ps_code ps_report_json(ps_cli *cli, const char *path, const ps_cluster *cluster,
                                   const ps_run *run, const ps_analysis *const *analyses,
                                   int exit_status, ps_err *err);

/* "rank 3"; of a profile that does not say its rank the name of its file. */
enum { PS_WHO_TEXT = 256 };
const char *ps_cli_who(const ps_cluster_rank *rank, char out[PS_WHO_TEXT]);

#endif
