/* pipescope schedules [--json] */
#include "cli/cli.h"
#include "schedule/schedule.h"
#include "write/out/writers.h"

static const ps_column COLUMNS[] = {
    {.name = "name", .type = PS_COL_TEXT},
    {.name = "chunks", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    {.name = "needs", .type = PS_COL_TEXT},
    {.name = "summary", .type = PS_COL_TEXT},
};

static ps_table *make_table(void) {
    ps_table *t = ps_table_new("schedules", "", COLUMNS, PS_N(COLUMNS));
    bool ok = t != NULL;
    for (const ps_schedule *const *s = ps_schedules(); ok && *s != NULL; s++) {
        ok = ps_table_add_row(t);
        if (ok) {
            ps_table_set_int(t, 1, (*s)->n_chunks);
            ok = ps_table_set_text(t, 0, (*s)->name) && ps_table_set_text(t, 2, (*s)->rule) &&
                 ps_table_set_text(t, 3, (*s)->summary);
        }
    }
    if (!ok) {
        ps_table_free(t);
        t = NULL;
    }
    return t;
}

/* Two lines a schedule: whole sentences do not fit beside one another. */
static void print_list(ps_cli *cli) {
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL; s++) {
        bool choose = ((*s)->takes & PS_TAKES_CHUNKS) != 0;
        ps_cli_print(cli, "%-16s%d chunk%s%s; needs %s\n    %s\n", (*s)->name, (int)(*s)->n_chunks,
                     (*s)->n_chunks == 1 ? "" : "s", choose ? " or more" : "", (*s)->rule,
                     (*s)->summary);
    }
    ps_cli_print(cli, "\np stages, m microbatches, g group, v chunks (model pieces on a stage).\n"
                      "Draw one: pipescope simulate 1f1b --pp 4 --microbatches 8\n");
}

static int run_schedule(ps_cli *cli) {
    ps_table *table = make_table();
    if (table == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    int status = PS_EXIT_OK;
    if (ps_cli_flag(cli, "json")) {
        status = ps_cli_put_json(cli, table);
    } else {
        print_list(cli);
    }
    ps_table_free(table);
    return status;
}

static const ps_option OPTIONS[] = {
    {PS_ROW_FLAG(NULL, "json", "an array of objects instead of a table")},
};

const ps_command ps_command_schedules = {
    .name = "schedules",
    .summary = "the pipeline schedules that are known, and what they need",
    .usage = "[--json]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .run = run_schedule,
};
