/* The tables of a run: on the terminal, and where they were written. */
#ifndef PS_CLI_TABLE_REPORT_H
#define PS_CLI_TABLE_REPORT_H

#include "cli/cli.h"
#include "run/run.h"

/* Prints the tables and charts that are meant for the screen, of long tables the first rows and where the others are.
 * An exit status. */
int ps_report_results(ps_cli *cli, const ps_run *run);

/* Says what was written: tables of the cluster, databases or files of ranks; with --verbose what was not. */
void ps_report_written(ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses,
                       ps_export type, const char *input);

#endif
