/* pipescope simulate SCHEDULE --pp P --microbatches M: the chart of a schedule that nobody ran, or with --profile the
 * profile of a cluster that runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "schedule/schedule.h"
#include "schedule/sim.h"
#include "write/ascend_profile.h"

#define MAX_OP_NS 10000000000 /* 10 s */
#define PROFILE_GROUP "With --profile"

static const ps_option OPTIONS[] = {
    {.name = "pp", .kind = PS_OPTION_INT, .arg = "P", .min = 1, .max = PS_MAX_STAGES,
     .help = "stages of the pipeline, one device each"},
    {.name = "microbatches", .kind = PS_OPTION_INT, .arg = "M", .min = 1, .max = PS_MAX_MICROBATCHES,
     .help = "microbatches in a step"},
    {.name = "profile", .kind = PS_OPTION_PATH, .arg = "DIR",
     .help = "write the profile of a cluster into DIR, which must be new or empty"},

    {.name = "f-us", .kind = PS_OPTION_US, .arg = "X", .fallback = "10000", .min = PS_PROFILE_MIN_OP_NS,
     .max = MAX_OP_NS, .group = "Durations of one op in microseconds", .help = "forward"},
    {.name = "b-us", .kind = PS_OPTION_US, .arg = "X", .fallback = "20000", .min = PS_PROFILE_MIN_OP_NS,
     .max = MAX_OP_NS, .group = "Durations of one op in microseconds", .help = "whole backward"},
    {.name = "w-us", .kind = PS_OPTION_US, .arg = "X", .fallback_shown = "half of B", .min = PS_PROFILE_MIN_OP_NS,
     .max = MAX_OP_NS, .group = "Durations of one op in microseconds",
     .help = "the weight gradient, a part of the backward"},
    {.name = "fb-us", .kind = PS_OPTION_US, .arg = "X", .fallback_shown = "F + B", .min = PS_PROFILE_MIN_OP_NS,
     .max = 2 * MAX_OP_NS, .group = "Durations of one op in microseconds",
     .help = "a forward and a backward that overlap"},
    {.name = "p2p-us", .kind = PS_OPTION_US, .arg = "X", .fallback = "0", .min = 0, .max = MAX_OP_NS,
     .group = "Durations of one op in microseconds", .help = "latency from one device to the next"},

    {.name = "steps", .kind = PS_OPTION_INT, .arg = "N", .fallback = "1", .min = 1, .max = 1000000,
     .group = PROFILE_GROUP, .help = "training steps, numbered from 1"},
    {.name = "tp", .kind = PS_OPTION_INT, .arg = "N", .fallback = "1", .min = 1, .max = PS_PROFILE_MAX_RANKS,
     .group = PROFILE_GROUP, .help = "tensor parallel size"},
    {.name = "cp", .kind = PS_OPTION_INT, .arg = "N", .fallback = "1", .min = 1, .max = PS_PROFILE_MAX_RANKS,
     .group = PROFILE_GROUP, .help = "context parallel size"},
    {.name = "dp", .kind = PS_OPTION_INT, .arg = "N", .fallback = "1", .min = 1, .max = PS_PROFILE_MAX_RANKS,
     .group = PROFILE_GROUP, .help = "data parallel size"},
    {.name = "filler", .kind = PS_OPTION_INT, .arg = "N", .fallback = "0", .min = 0, .max = PS_PROFILE_MAX_FILLER,
     .group = PROFILE_GROUP, .help = "compute kernels on each rank"},
    {.name = "jitter", .kind = PS_OPTION_INT, .arg = "PCT", .fallback = "0", .min = 0,
     .max = PS_PROFILE_MAX_JITTER_PCT, .group = PROFILE_GROUP,
     .help = "each op takes up to PCT percent more or less"},
    {.name = "drop-marks", .kind = PS_OPTION_INT, .arg = "N", .fallback = "0", .min = 0, .max = INT32_MAX,
     .group = PROFILE_GROUP, .help = "marks that are lost on each rank, at random"},
    {.name = "seed", .kind = PS_OPTION_INT, .arg = "N", .fallback = "1", .min = 0, .max = INT64_MAX,
     .group = PROFILE_GROUP, .help = "of all random choices; the same seed gives the same bytes"},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

static const ps_schedule *schedule_named(const ps_cli *cli, const char *name, int *status) {
    const ps_schedule *found = ps_schedule_find(name);
    if (found == NULL) {
        const char *names[64];
        size_t n = 0;
        for (const ps_schedule *const *s = ps_schedules(); *s != NULL && n < PS_N(names); s++) {
            names[n++] = (*s)->name;
        }
        *status = ps_cli_unknown(cli, "schedule", name, names, n);
    }
    return found;
}

static ps_sim_times times_given(const ps_cli *cli) {
    ps_sim_times t = {.f_ns = ps_cli_ns(cli, "f-us"),
                      .b_ns = ps_cli_ns(cli, "b-us"),
                      .p2p_ns = ps_cli_ns(cli, "p2p-us")};
    t.w_ns = ps_cli_given(cli, "w-us") ? ps_cli_ns(cli, "w-us") : t.b_ns / 2;
    t.fb_ns = ps_cli_given(cli, "fb-us") ? ps_cli_ns(cli, "fb-us") : t.f_ns + t.b_ns;
    return t;
}

/* What the ranges of single options do not say. Returns PS_EXIT_OK or the status of a usage error. */
static int check_together(const ps_cli *cli, const ps_schedule *schedule, const ps_schedule_params *params,
                          const ps_sim_times *times) {
    ps_err err = PS_ERR_INIT;
    if (schedule->check(params, &err) != PS_OK) {
        return ps_cli_usage(cli, "--pp %d --microbatches %d: %s", (int)params->n_stages, (int)params->n_microbatches,
                            err.msg);
    }
    if (schedule->n_chunks > 1 && times->b_ns - times->w_ns < PS_PROFILE_MIN_OP_NS) {
        return ps_cli_usage(cli, "--w-us must be less than --b-us, by at least 1: it is a part of the backward");
    }
    for (size_t i = 0; i < PS_N(OPTIONS) && !ps_cli_given(cli, "profile"); i++) {
        if (OPTIONS[i].group != NULL && strcmp(OPTIONS[i].group, PROFILE_GROUP) == 0 &&
            ps_cli_given(cli, OPTIONS[i].name)) {
            return ps_cli_usage(cli, "--%s needs --profile DIR: the chart shows one undisturbed step", OPTIONS[i].name);
        }
    }
    int64_t n_ranks = ps_cli_int(cli, "tp") * ps_cli_int(cli, "cp") * ps_cli_int(cli, "dp") * params->n_stages;
    if (ps_cli_given(cli, "profile") && n_ranks > PS_PROFILE_MAX_RANKS) {
        return ps_cli_usage(cli, "--pp x --tp x --cp x --dp are %lld ranks: must be at most %d", (long long)n_ranks,
                            PS_PROFILE_MAX_RANKS);
    }
    return PS_EXIT_OK;
}

/* --- what to do --------------------------------------------------------------------------------------------------- */

static int fail_or_usage(const ps_cli *cli, const ps_err *err) {
    /* Every number comes from the command line, so one out of range is wrong usage. */
    return err->code == PS_RANGE ? ps_cli_usage(cli, "%s", err->msg) : ps_cli_fail(cli, err);
}

static int draw(ps_cli *cli, const ps_schedule *schedule, const ps_schedule_params *params,
                const ps_sim_times *times) {
    ps_err err = PS_ERR_INIT;
    ps_chart *chart = ps_sim_chart(schedule, params, times, 1, 0, &err);
    if (chart == NULL) {
        return fail_or_usage(cli, &err);
    }
    int status = ps_cli_put_chart(cli, chart, INT64_MIN, -1);
    ps_chart_free(chart);
    return status;
}

static void rank_done(void *progress) {
    ps_progress_step(progress, 1);
}

static int write_profile(ps_cli *cli, const ps_schedule *schedule, const ps_schedule_params *params,
                         const ps_sim_times *times) {
    const char *dir = ps_cli_text(cli, "profile");
    ps_ascend_profile_opts opts = {.schedule = schedule,
                                   .params = *params,
                                   .times = *times,
                                   .n_steps = ps_cli_int(cli, "steps"),
                                   .tp = (int32_t)ps_cli_int(cli, "tp"),
                                   .cp = (int32_t)ps_cli_int(cli, "cp"),
                                   .dp = (int32_t)ps_cli_int(cli, "dp"),
                                   .n_filler = ps_cli_int(cli, "filler"),
                                   .n_drop_marks = ps_cli_int(cli, "drop-marks"),
                                   .jitter_pct = (int32_t)ps_cli_int(cli, "jitter"),
                                   .seed = (uint64_t)ps_cli_int(cli, "seed"),
                                   .rank_done = rank_done};
    int64_t n_ranks = (int64_t)opts.tp * opts.cp * opts.dp * params->n_stages;
    ps_progress *progress = ps_progress_begin(&cli->term, cli->quiet, "writing ranks", (uint64_t)n_ranks);
    opts.context = progress;
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_ascend_profile_write(dir, &opts, &counts, &err);
    ps_progress_end(progress);
    if (code != PS_OK) {
        return fail_or_usage(cli, &err);
    }
    ps_cli_print(cli, "%lld rank%s, %lld step%s in %s\n", (long long)counts.n_ranks, counts.n_ranks == 1 ? "" : "s",
                 (long long)opts.n_steps, opts.n_steps == 1 ? "" : "s", dir);
    ps_cli_print(cli, "  %lld marks, %lld device tasks, %lld sends and receives\n", (long long)counts.n_marks,
                 (long long)counts.n_tasks, (long long)counts.n_comm_ops);
    ps_cli_print(cli, "next: pipescope -m pp_chart -d %s\n", dir);
    return PS_EXIT_OK;
}

static int run(ps_cli *cli) {
    int status = PS_EXIT_OK;
    const ps_schedule *schedule = schedule_named(cli, ps_cli_positional(cli, 0), &status);
    if (schedule == NULL) {
        return status;
    }
    if (!ps_cli_given(cli, "pp") || !ps_cli_given(cli, "microbatches")) {
        return ps_cli_usage(cli, "%s is missing: how many %s", ps_cli_given(cli, "pp") ? "--microbatches" : "--pp",
                            ps_cli_given(cli, "pp") ? "microbatches a step has" : "stages the pipeline has");
    }
    ps_schedule_params params = {.n_stages = (int32_t)ps_cli_int(cli, "pp"),
                                 .n_microbatches = (int32_t)ps_cli_int(cli, "microbatches")};
    ps_sim_times times = times_given(cli);
    status = check_together(cli, schedule, &params, &times);
    if (status != PS_EXIT_OK) {
        return status;
    }
    if (schedule->n_chunks == 1 && (ps_cli_given(cli, "w-us") || ps_cli_given(cli, "fb-us"))) {
        ps_cli_note(cli, "%s neither splits nor overlaps backwards: --w-us and --fb-us change nothing",
                    schedule->name);
    }
    return ps_cli_given(cli, "profile") ? write_profile(cli, schedule, &params, &times)
                                        : draw(cli, schedule, &params, &times);
}

const ps_command ps_command_simulate = {
    .name = "simulate",
    .summary = "draw the step of a schedule, or write the profile of a cluster that runs it",
    .usage = "SCHEDULE --pp P --microbatches M [options]\nSCHEDULE --pp P --microbatches M --profile DIR [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "SCHEDULE",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes = "Every op starts as soon as its device is free and its inputs have arrived. 'pipescope schedules' lists "
             "the schedules; docs/schedules.md tells what they do. A profile has one folder a rank with the files of "
             "the Ascend PyTorch profiler.",
    .run = run,
};
