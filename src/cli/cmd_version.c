/* pipescope version */
#include <sqlite3.h>

#include "base/version.h"
#include "cli/cli.h"

static int run_version(ps_cli *cli) {
    ps_cli_print(cli, "pipescope %s (SQLite %s)\n", PS_VERSION, sqlite3_libversion());
    for (ps_build_part part = 0; part < PS_N_BUILD_PARTS; part++) {
        if (!ps_build_has(part)) {
            ps_cli_print(cli, "left out of this build: %s\n", ps_build_part_name(part));
        }
    }
    return PS_EXIT_OK;
}

const ps_command ps_command_version = {
    .name = "version",
    .summary = "the version of the program and of the SQLite library in use",
    .usage = "",
    .run = run_version,
};
