/* pipescope help [COMMAND] [--man] */
#include "cli/cli.h"

static int run_help(ps_cli *cli) {
    const char *name = ps_cli_positional(cli, 0);
    const ps_command *command = name != NULL ? ps_command_find(name) : NULL;
    if (name != NULL && command == NULL) {
        const char *names[64];
        size_t n = 0;
        for (size_t i = 0; ps_commands()[i] != NULL && n < PS_N(names); i++) {
            names[n++] = ps_commands()[i]->name;
        }
        cli->command = NULL; /* point to the list, not to the help of help */
        return ps_cli_unknown(cli, "command", name, names, n);
    }
    if (!ps_cli_flag(cli, "man")) {
        return ps_cli_put_help(cli, command, false);
    }
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_cli_put_manual(command, &out);
    ps_code code = ps_buf_ok(&out) ? PS_OK : ps_fail_nomem(&err);
    return ps_cli_end_output(cli, NULL, &out, code, &err);
}

static const ps_option OPTIONS[] = {
    {PS_ROW_FLAG(NULL, "man", "the page of the manual, for man(1)")},
};

const ps_command ps_command_help = {
    .name = "help",
    .summary = "the commands, or the options of one",
    .usage = "[COMMAND] [--man]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "COMMAND",
    .max_positionals = 1,
    .notes =
        "pipescope help chart --man | man -l - shows a page of the manual that is not installed.",
    .run = run_help,
};
