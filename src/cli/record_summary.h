/* What was recorded, as a table for people, and what to type next. */
#ifndef PS_CLI_RECORD_SUMMARY_H
#define PS_CLI_RECORD_SUMMARY_H

#include "cli/cli.h"
#include "cli/record_folders.h"

/* After a command: recovers what its processes left when they died, names those that go on, and prints the table on stderr
 * (the command's standard output is its own).
 * `command_status`: how it ended, 128 + N for signal N. 0; 1 when something was recorded and could not be had. */
int ps_record_sum_up(ps_cli *cli, ps_recorded *r, const char *launch, int command_status);

/* --recover DIR: all of it, the table on stdout. An exit status. */
int ps_record_recover(ps_cli *cli, const char *dir, ps_arena *arena);

#endif
