#include "cli/whatif_run.h"

#include "cli/job_options.h"

int ps_cli_whatif_failed(ps_cli *cli, const ps_run *run) {
    const ps_err *why = &run->errors[0];
    if (why->code == PS_NOTHING) {
        ps_cli_warn(cli, "%s", why->msg);
        return PS_EXIT_NOTHING;
    }
    return why->code == PS_OK ? PS_EXIT_OK : ps_cli_fail_run(cli, why);
}
