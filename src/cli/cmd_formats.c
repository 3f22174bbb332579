/* pipescope formats */
#include "cli/cli.h"
#include "read/readers.h"

static const ps_column COLUMNS[] = {{.name = "format", .type = PS_COL_TEXT},
                                    {.name = "what it is", .type = PS_COL_TEXT}};

static int run_format(ps_cli *cli) {
    ps_table *t = ps_table_new("formats", "", COLUMNS, PS_N(COLUMNS));
    bool ok = t != NULL;
    for (const ps_reader *const *r = ps_readers(); ok && *r != NULL; r++) {
        ok = ps_table_add_row(t) && ps_table_set_text(t, 0, (*r)->name) &&
             ps_table_set_text(t, 1, (*r)->summary);
    }
    int status = ps_cli_end_table(cli, t, ok);
    if (status == PS_EXIT_OK) {
        ps_cli_print(cli,
                     "\nRecognised by content. See what a directory holds: pipescope info DIR\n");
    }
    return status;
}

const ps_command ps_command_formats = {
    .name = "formats",
    .summary = "the profile formats that are read",
    .usage = "",
    .run = run_format,
};
