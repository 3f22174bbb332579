/* pipescope modes */
#include <string.h>

#include "analyze/core/analysis.h"
#include "cli/cli.h"
#include "write/out/wrap.h"

static size_t width_of(const ps_cli *cli) {
    return cli->term.width > 60 ? cli->term.width : 100;
}

static void print_set(ps_cli *cli, const char *name, const char *what, uint32_t set) {
    ps_buf names = {0};
    ps_buf text = {0};
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        if (!(*a)->hidden && ((*a)->sets & set) != 0) {
            ps_buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", (*a)->name);
        }
    }
    ps_buf_addf(&text, "%s: %s", what, names.len > 0 ? ps_buf_str(&names) : "none yet");
    ps_cli_print(cli, "-m %-5s  ", name);
    ps_buf_clear(&names);
    ps_wrap(&names, ps_buf_str(&text), 10, 10, width_of(cli));
    ps_cli_print(cli, "%s\n", ps_buf_str(&names));
    ps_buf_fini(&names);
    ps_buf_fini(&text);
}

static void print_mode(ps_cli *cli, const ps_analysis *a, size_t left) {
    ps_buf text = {0};
    ps_wrap(&text, a->summary, left, left, width_of(cli));
    ps_cli_print(cli, "%-*s%s\n", (int)left, a->name, ps_buf_str(&text));
    ps_buf_fini(&text);
}

static int run_mode(ps_cli *cli) {
    size_t left = 0;
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        size_t n = strlen((*a)->name) + 2;
        left = !(*a)->hidden && n > left ? n : left;
    }
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        if (!(*a)->hidden) {
            print_mode(cli, *a, left);
        }
    }
    ps_cli_print(cli, "\n");
    print_set(cli, "all", "the basic tables of a cluster", PS_IN_ALL);
    print_set(cli, "every", "all that need no further input and write only to the output folder",
              PS_IN_EVERY);
    ps_cli_print(cli, "\nRun one: pipescope cluster -m pp_chart -d DIR\n");
    return PS_EXIT_OK;
}

const ps_command ps_command_modes = {
    .name = "modes",
    .summary = "the analyses that `cluster -m` knows",
    .usage = "",
    .run = run_mode,
};
