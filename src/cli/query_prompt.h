/* pipescope query PATH -i: one statement after the other over a capture that stays in memory. */
#ifndef PS_CLI_QUERY_PROMPT_H
#define PS_CLI_QUERY_PROMPT_H

#include "cli/cli.h"
#include "query/sql.h"

/* Runs a statement and shows its rows. */
typedef ps_code ps_query_answer(ps_cli *cli, ps_sql *sql, const char *statement, const char *name,
                                ps_err *err);

/* Until the input ends or somebody says .quit; what fails is told, and the next one comes. Ctrl-C ends the statement that runs. An exit
 * status: of what was typed PS_EXIT_OK, of a pipe or file the worst of all statements. */
int ps_query_prompt(ps_cli *cli, ps_sql *sql, ps_query_answer *answer);

#endif
