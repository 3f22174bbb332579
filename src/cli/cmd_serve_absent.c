/* pipescope serve in a build without it: whatever is asked, it says so. */
#include "base/build_parts.h"
#include "cli/cli.h"

#if !PIPESCOPE_HAS_SERVE
static int run_serve(ps_cli *cli) {
    return ps_cli_left_out(cli, PS_PART_serve);
}

const ps_command ps_command_serve = {
    .name = "serve",
    .summary = "the viewer in a browser (this build leaves it out)",
    .usage = "",
    .takes_anything = true,
    .run = run_serve,
};
#endif
