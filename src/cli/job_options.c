#include "cli/job_options.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "cli/rank_report.h"
#include "read/readers.h"
#include "schedule/schedule.h"

#define MAX_SCHEDULES 32

bool ps_cli_parse_size(const char *text, int64_t *bytes) {
    static const struct {
        const char *unit;
        int64_t bytes;
    } UNITS[] = {{"", 1},
                 {"B", 1},
                 {"KB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", 1000000000000},
                 {"K", INT64_C(1) << 10},
                 {"M", INT64_C(1) << 20},
                 {"G", INT64_C(1) << 30},
                 {"T", INT64_C(1) << 40},
                 {"KiB", INT64_C(1) << 10},
                 {"MiB", INT64_C(1) << 20},
                 {"GiB", INT64_C(1) << 30},
                 {"TiB", INT64_C(1) << 40}};
    size_t n = strspn(text, "0123456789.");
    int64_t thousandths = 0;
    int64_t unit = 0;
    for (size_t i = 0; i < PS_N(UNITS); i++) {
        unit = strcasecmp(text + n, UNITS[i].unit) == 0 ? UNITS[i].bytes : unit;
    }
    bool ok = unit > 0 && ps_parse_scaled(text, n, 1000, &thousandths) &&
              !__builtin_mul_overflow(thousandths, unit, bytes);
    *bytes = ok ? *bytes / 1000 : 0;
    return *bytes > 0;
}

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
    ps_cluster *cluster = ps_cluster_find_as(path, reader, ps_cli_text(cli, "rank-from"), &err);
    if (cluster == NULL) {
        *status = err.code == PS_USAGE ? ps_cli_usage(cli, "%s", err.msg) : ps_cli_fail(cli, &err);
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
    ps_cluster_free(cluster);
    return status;
}
