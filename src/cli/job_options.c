#include "cli/job_options.h"

#include <string.h>

#include "cli/rank_report.h"
#include "read/readers.h"
#include "schedule/schedule.h"

#define MAX_SCHEDULES 32

int ps_cli_clocks(ps_cli *cli, ps_analysis_opts *out) {
    bool all = ps_cli_flag(cli, "align");
    bool none = ps_cli_flag(cli, "no-align");
    out->clocks = all ? PS_CLOCKS_ALL : none ? PS_CLOCKS_RAW : PS_CLOCKS_MEASURED;
    return all && none ? ps_cli_usage(cli, "--align and --no-align: which of them?") : PS_EXIT_OK;
}

int ps_cli_job(ps_cli *cli, ps_analysis_opts *out, const char *step_option) {
    bool has_step = step_option != NULL && ps_cli_given(cli, step_option);
    out->step_id = has_step ? ps_cli_int(cli, step_option) : -1;
    out->pp = ps_cli_int(cli, "pp");
    out->tp = ps_cli_int(cli, "tp");
    out->cp = ps_cli_int(cli, "cp");
    out->dp = ps_cli_int(cli, "dp");
    out->n_microbatches = ps_cli_int(cli, "microbatches");
    const char *order = ps_cli_text(cli, "order");
    out->order_given = order != NULL && ps_layout_find(order, &out->layout);
    out->pp_type = ps_cli_text(cli, "pp-type");
    if (out->pp_type == NULL || ps_schedule_find(out->pp_type) != NULL) {
        return PS_EXIT_OK;
    }
    const char *known[MAX_SCHEDULES];
    size_t n = 0;
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL && n < MAX_SCHEDULES; s++) {
        known[n++] = (*s)->name;
    }
    return ps_cli_unknown(cli, "schedule", out->pp_type, known, n);
}

static int unknown_format(ps_cli *cli, const char *name) {
    const char *known[32];
    size_t n = 0;
    for (const ps_reader *const *r = ps_readers(); *r != NULL && n < PS_N(known); r++) {
        known[n++] = (*r)->name;
    }
    return ps_cli_unknown(cli, "format", name, known, n);
}

int ps_cli_reader(ps_cli *cli, const ps_reader **out) {
    const char *format = ps_cli_text(cli, "format");
    *out = format != NULL ? ps_reader_find(format) : NULL;
    return format != NULL && *out == NULL ? unknown_format(cli, format) : PS_EXIT_OK;
}

ps_cluster *ps_cli_find_ranks(ps_cli *cli, const char *path, int *status) {
    if (strcmp(path, "-") == 0) {
        *status =
            ps_cli_usage(cli, "stdin is not read, since a profile is looked at more than once: "
                              "put it into a file first");
        return NULL;
    }
    const ps_reader *reader = NULL;
    *status = ps_cli_reader(cli, &reader);
    if (*status != PS_EXIT_OK) {
        return NULL;
    }
    ps_err err = PS_ERR_INIT;
    ps_cluster *cluster = ps_cluster_find_as(path, reader, &err);
    if (cluster == NULL) {
        *status = ps_cli_fail(cli, &err);
    }
    return cluster;
}

int ps_cli_over_ranks(ps_cli *cli, const ps_run_opts *opts, ps_ranks_fn *analyse) {
    int status = PS_EXIT_OK;
    ps_cluster *cluster = ps_cli_find_ranks(cli, ps_cli_positional(cli, 0), &status);
    if (cluster == NULL) {
        return status;
    }
    ps_report_cluster(cli, cluster);
    status =
        cluster->n_ranks > 0 ? analyse(cli, cluster, opts) : ps_report_no_profile(cli, cluster);
    if (status == PS_EXIT_NOTHING && ps_diag_n_errors(&cluster->diag) > 0) {
        status = PS_EXIT_FAILED; /* what could not be read may be what is missing */
    }
    ps_cluster_free(cluster);
    return status;
}
