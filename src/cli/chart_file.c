#include "cli/chart_file.h"

#include "base/fs.h"
#include "cli/job_options.h"
#include "write/chart/chart_html.h"
#include "write/chart/chart_json.h"
#include "write/chart/chart_svg.h"
#include "write/out/writers.h"

int ps_cli_check_chart_file(const ps_cli *cli, const char *path) {
    static const char *const ENDINGS[] = {".svg", ".html", ".json", NULL};
    return ps_cli_check_ending(cli, path, ENDINGS, " (the text goes to the terminal)");
}

static ps_code file_render(const char *path, const ps_chart_file *f, ps_buf *out, ps_err *err) {
    if (ps_ends_with(path, ".json")) {
        ps_chart_json_opts opts = {.step = PS_EVERY_STEP, .pipeline = -1};
        return ps_write_chart_json(f->chart, &opts, out, err);
    }
    if (ps_ends_with(path, ".svg")) {
        ps_chart_svg_opts opts = {.step = f->step, .pipeline = f->pipeline};
        return ps_write_chart_svg(f->chart, f->against, &opts, out, err);
    }
    ps_chart_html_opts opts = {.step = f->step, .pipeline = f->pipeline};
    return ps_write_chart_html(f->chart, f->against, f->tables, f->n_tables, &opts, out, err);
}

int ps_cli_write_chart_file(ps_cli *cli, const char *path, const ps_chart_file *file) {
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_code code = file_render(path, file, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}
