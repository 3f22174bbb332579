/* pipescope modes */
#include "analyze/analysis.h"
#include "cli/cli.h"

static const ps_column COLUMNS[] = {{.name = "mode", .type = PS_COL_TEXT},
                                    {.name = "what it does", .type = PS_COL_TEXT}};

static int run(ps_cli *cli) {
    ps_table *t = ps_table_new("modes", "", COLUMNS, PS_N(COLUMNS));
    bool ok = t != NULL;
    for (const ps_analysis *const *a = ps_analyses(); ok && *a != NULL; a++) {
        ok = (*a)->hidden || (ps_table_add_row(t) && ps_table_set_text(t, 0, (*a)->name) &&
                              ps_table_set_text(t, 1, (*a)->summary));
    }
    int status = PS_EXIT_FAILED;
    if (ok) {
        status = ps_cli_put_table(cli, t);
        ps_cli_print(cli, "\nRun one: pipescope cluster -m pp_chart -d DIR\n");
    } else {
        ps_err err;
        (void)ps_fail_nomem(&err);
        status = ps_cli_fail(cli, &err);
    }
    ps_table_free(t);
    return status;
}

const ps_command ps_command_modes = {
    .name = "modes",
    .summary = "the analyses that `cluster -m` knows",
    .usage = "",
    .run = run,
};
