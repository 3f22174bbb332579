/* Where libpipescope-record.so lies, for `pipescope record`. */
#ifndef PS_CLI_RECORD_LIBRARY_H
#define PS_CLI_RECORD_LIBRARY_H

#include "cli/cli.h"

#define PS_RECORD_LIBRARY "libpipescope-record.so"
/* The name by which programs load it: all that there is where only what runs was installed. */
#define PS_RECORD_SONAME PS_RECORD_LIBRARY ".0"

/* The absolute path into `out` (PATH_MAX bytes), of a library that can be loaded here. `named`: the file that the user names, or
 * NULL; then it is looked for in PIPESCOPE_LIBRARY, beside the program, in ../lib and ../lib64 of the program's folder or where the
 * installation has its libraries, and where the loader looks. An exit status, having said what to do. */
int ps_record_find_library(ps_cli *cli, const char *named, char *out);

#endif
