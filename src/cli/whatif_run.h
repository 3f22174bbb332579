/* What whatif and plan have in common: a run of run_whatif.h that could not answer. */
#ifndef PS_CLI_WHATIF_RUN_H
#define PS_CLI_WHATIF_RUN_H

#include "cli/cli.h"
#include "run/run.h"

/* Says why a run's result has no answer: what the user asked does not fit the job (PS_USAGE), the job does not tell (PS_NOTHING),
 * or a fault. An exit status; PS_EXIT_OK when there is an answer. */
int ps_cli_whatif_failed(ps_cli *cli, const ps_run *run);

#endif
