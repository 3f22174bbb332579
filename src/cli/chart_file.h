/* Charts into files, by the ending of the name: shared by chart and simulate. */
#ifndef PS_CLI_CHART_FILE_H
#define PS_CLI_CHART_FILE_H

#include "cli/cli.h"
#include "model/chart.h"
#include "model/table.h"

#define PS_CHART_FILE_HELP "a picture (.svg), a page (.html) or the data (.json) instead of text"

/* .svg, .html and .json are known, NULL is fine; anything else is a usage error that says so. An exit status. */
int ps_cli_check_chart_file(const ps_cli *cli, const char *path);

/* What goes into the file. `against` and tables may be absent; only pages show tables, only pages and pictures theory. */
typedef struct ps_chart_file {
    const ps_chart *chart, *against;
    const ps_table *const *tables;
    size_t n_tables;
    int64_t step; /* drawn first, or alone */
    int32_t pipeline;
    bool every_rank; /* of pages: none stands for others that are alike */
} ps_chart_file;

/* Writes the file and prints its name; NULL: JSON onto the terminal. An exit status. */
int ps_cli_write_chart_file(ps_cli *cli, const char *path, const ps_chart_file *file);

#endif
