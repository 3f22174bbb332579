#include "cli/chart_file.h"

#include "base/fs.h"
#include "cli/job_options.h"
#include "write/chart/chart_forms.h"

int ps_cli_check_chart_file(const ps_cli *cli, const char *path) {
    static const char *const ENDINGS[] = {".svg", ".html", ".json", NULL};
    return ps_cli_check_ending(cli, path, ENDINGS, " (the text goes to the terminal)");
}

static ps_code file_render(const char *path, const ps_chart_file *f, ps_buf *out, ps_err *err) {
    const ps_chart_page page = {.chart = f->chart,
                                .against = f->against,
                                .tables = f->tables,
                                .n_tables = f->n_tables,
                                .step = f->step,
                                .pipeline = f->pipeline,
                                .every_rank = f->every_rank};
    ps_chart_form form = path == NULL || ps_ends_with(path, ".json") ? PS_CHART_JSON
                         : ps_ends_with(path, ".svg")                ? PS_CHART_SVG
                                                                     : PS_CHART_HTML;
    return ps_write_chart_form(form, &page, false, out, err);
}

int ps_cli_write_chart_file(ps_cli *cli, const char *path, const ps_chart_file *file) {
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_code code = file_render(path, file, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}
