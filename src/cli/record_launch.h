/* A command run under our eyes: same process group, same standard streams, signals passed on, its status kept. */
#ifndef PS_CLI_RECORD_LAUNCH_H
#define PS_CLI_RECORD_LAUNCH_H

#include "cli/cli.h"

/* What shells give for a command that cannot be run. */
enum { PS_LAUNCH_NOT_FOUND = 127, PS_LAUNCH_NOT_RUN = 126, PS_LAUNCH_SIGNAL = 128 };

/* Runs argv (NULL-terminated) in this process' environment and waits for its end. Returns its exit status, 128 + N when signal
 * N ended it, 127 or 126 when it could not be run (and says why). *started: it did run.
 *
 * INT, TERM, HUP, QUIT, USR1, USR2, TSTP and CONT that reach us are passed on, but not those that it got itself: from the
 * terminal, which sends to the whole group, or because it sent them. When it is stopped from the terminal, so are we. */
int ps_record_launch(ps_cli *cli, char *const *argv, bool *started);

#endif
