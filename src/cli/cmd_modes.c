/* pipescope modes */
#include "analyze/analysis.h"
#include "cli/cli.h"

static const ps_column COLUMNS[] = {{.name = "mode", .type = PS_COL_TEXT},
                                    {.name = "what it does", .type = PS_COL_TEXT}};

static void print_set(ps_cli *cli, const char *name, const char *what, uint32_t set) {
    ps_buf names;
    ps_buf text;
    ps_buf_init(&names, 0);
    ps_buf_init(&text, 0);
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        if (!(*a)->hidden && ((*a)->sets & set) != 0) {
            ps_buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", (*a)->name);
        }
    }
    ps_buf_addf(&text, "%s: %s", what, names.len > 0 ? ps_buf_str(&names) : "none yet");
    ps_cli_print(cli, "-m %-5s  ", name);
    ps_buf_clear(&names);
    ps_wrap(&names, ps_buf_str(&text), 10, 10, cli->term.width > 40 ? cli->term.width : 100);
    ps_cli_print(cli, "%s\n", ps_buf_str(&names));
    ps_buf_fini(&names);
    ps_buf_fini(&text);
}

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
        ps_cli_print(cli, "\n");
        print_set(cli, "all", "the basic tables of a cluster", PS_IN_ALL);
        print_set(cli, "every",
                  "all that need no further input and write only to the output folder",
                  PS_IN_EVERY);
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
