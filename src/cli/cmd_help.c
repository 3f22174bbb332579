/* pipescope help [COMMAND] */
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
    return ps_cli_put_help(cli, command, false);
}

const ps_command ps_command_help = {
    .name = "help",
    .summary = "the commands, or the options of one",
    .usage = "[COMMAND]",
    .positional = "COMMAND",
    .max_positionals = 1,
    .run = run_help,
};
