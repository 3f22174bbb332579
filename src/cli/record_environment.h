/* What `pipescope record` puts into the environment of a command, so that the recorder is loaded and knows its options. */
#ifndef PS_CLI_RECORD_ENVIRONMENT_H
#define PS_CLI_RECORD_ENVIRONMENT_H

#include "cli/cli.h"

enum { PS_LAUNCH_ID = 64 }; /* bytes, with the zero */

typedef struct ps_record_plan {
    const char *library;       /* absolute path */
    const char *output_dir;    /* absolute path */
    char launch[PS_LAUNCH_ID]; /* filled by ps_record_set_environment */
} ps_record_plan;

/* Sets the variables in this process. An exit status, having said what is in the way: another tool's injection. */
int ps_record_set_environment(ps_cli *cli, ps_record_plan *plan);

#endif
