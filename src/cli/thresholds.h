/* The option --threshold NAME=VALUE[,NAME=VALUE...]. */
#ifndef PS_CLI_THRESHOLDS_H
#define PS_CLI_THRESHOLDS_H

#include <stddef.h>

#include "cli/cli.h"

/* Sets those of out[n] that the option names; `what` a name stands for ("rule"), one pair as an example. An exit status. */
int ps_cli_thresholds(ps_cli *cli, const char *what, const char *const *names, size_t n,
                      const char *example, double *out);

#endif
