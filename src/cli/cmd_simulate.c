/* pipescope simulate SCHEDULE --pp P --microbatches M: the chart of a schedule that nobody ran, or with --profile the
 * profile of a cluster that runs it. A schedule from a file is drawn as well. */
#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/chart_file.h"
#include "cli/cli.h"
#include "cli/rank_report.h"
#include "schedule/connect.h"
#include "schedule/csv.h"
#include "schedule/durations.h"
#include "schedule/schedule.h"
#include "schedule/sim.h"
#include "write/simulated/ascend_profile.h"

#define MAX_OP_NS 10000000000 /* 10 s */
#define PROFILE_GROUP "With --profile"
#define SHAPE_GROUP "Variants of some schedules"
#define TIME_GROUP "Durations of one op in microseconds"
/* More stages than this, and only the range of their activations is told. */
#define MAX_PEAKS_SHOWN 16

static const char *const TAILS[] = {"split", "full", NULL};

static const ps_option OPTIONS[] = {
    {PS_ROW_INT(NULL, "pp", "P", PS_UNSAID, 1, PS_MAX_STAGES,
                "stages of the pipeline, one device each")},
    {PS_ROW_INT(NULL, "microbatches", "M", PS_UNSAID, 1, PS_MAX_MICROBATCHES,
                "microbatches in a step")},
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID, PS_CHART_FILE_HELP)},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    {PS_ROW_PATH(NULL, "profile", "DIR", PS_UNSAID,
                 "write the profile of a cluster into DIR, which must be new or empty")},

    {PS_ROW_INT(SHAPE_GROUP, "chunks", "V", PS_SHOWN("2"), 1, PS_MAX_CHUNKS,
                "model pieces on each device")},
    {PS_ROW_INT(SHAPE_GROUP, "group", "G", PS_SHOWN("P"), 1, PS_MAX_MICROBATCHES,
                "microbatches that go through a model piece in a row")},
    {PS_ROW_FLAG(SHAPE_GROUP, "overlap", "a steady forward and its backward are one op")},
    {PS_ROW_CHOICE(SHAPE_GROUP, "tail", "KIND", PS_IS("split"), TAILS,
                   "the last backwards of dualpipev are split, or run in full")},

    {PS_ROW_US(TIME_GROUP, "f-us", "X", PS_IS("10000"), PS_PROFILE_MIN_OP_NS, MAX_OP_NS,
               "forward")},
    {PS_ROW_US(TIME_GROUP, "b-us", "X", PS_IS("20000"), PS_PROFILE_MIN_OP_NS, MAX_OP_NS,
               "whole backward")},
    {PS_ROW_US(TIME_GROUP, "w-us", "X", PS_SHOWN("half of B"), PS_PROFILE_MIN_OP_NS, MAX_OP_NS,
               "the weight gradient, a part of the backward")},
    {PS_ROW_US(TIME_GROUP, "fb-us", "X", PS_SHOWN("F + B"), PS_PROFILE_MIN_OP_NS, 2 * MAX_OP_NS,
               "a forward and a backward that overlap")},
    {PS_ROW_US(TIME_GROUP, "p2p-us", "X", PS_IS("0"), 0, MAX_OP_NS,
               "latency from one device to the next")},
    {PS_ROW_PATH(TIME_GROUP, "durations", "FILE", PS_UNSAID,
                 "take them from a chart (.json) or from CSV lines stage,kind,ns with kinds F, B, "
                 "BI, BW, FB")},

    {PS_ROW_INT(PROFILE_GROUP, "steps", "N", PS_IS("1"), 1, 1000000,
                "training steps, numbered from 1")},
    {PS_ROW_INT(PROFILE_GROUP, "tp", "N", PS_IS("1"), 1, PS_PROFILE_MAX_RANKS,
                "tensor parallel size")},
    {PS_ROW_INT(PROFILE_GROUP, "cp", "N", PS_IS("1"), 1, PS_PROFILE_MAX_RANKS,
                "context parallel size")},
    {PS_ROW_INT(PROFILE_GROUP, "dp", "N", PS_IS("1"), 1, PS_PROFILE_MAX_RANKS,
                "data parallel size")},
    {PS_ROW_INT(PROFILE_GROUP, "filler", "N", PS_IS("0"), 0, PS_PROFILE_MAX_FILLER,
                "compute kernels on each rank")},
    {PS_ROW_INT(PROFILE_GROUP, "jitter", "PCT", PS_IS("0"), 0, PS_PROFILE_MAX_JITTER_PCT,
                "each op takes up to PCT percent more or less")},
    {PS_ROW_TEXT(PROFILE_GROUP, "slow-stage", "I:FACTOR", PS_UNSAID,
                 "ops of stage I take FACTOR times as long, as in 2:1.3")},
    {PS_ROW_TEXT(PROFILE_GROUP, "slow-rank", "R:FACTOR", PS_UNSAID,
                 "the same of global rank R alone")},
    {PS_ROW_TEXT(
        PROFILE_GROUP, "slow-link", "R:US", PS_UNSAID,
        "between global rank R and the stage behind it transfers take US more, both ways")},
    {PS_ROW_INT(PROFILE_GROUP, "lengths", "PCT", PS_IS("0"), 0, PS_PROFILE_MAX_LENGTHS_PCT,
                "each microbatch is up to PCT percent longer or shorter, in all its ops")},
    {PS_ROW_INT(PROFILE_GROUP, "drop-marks", "N", PS_IS("0"), 0, INT32_MAX,
                "marks that are lost on each rank, at random")},
    {PS_ROW_INT(PROFILE_GROUP, "seed", "N", PS_IS("1"), 0, INT64_MAX,
                "of all random choices; the same seed gives the same bytes")},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* What is to be simulated: a schedule with parameters, or the lists of a file (then schedule is NULL). */
typedef struct request {
    const char *word; /* as given */
    const ps_schedule *schedule;
    ps_schedule_params params;
    ps_sim_times times;
    ps_sim_plan *plan;
} request;

static const struct {
    const char *option;
    unsigned takes;
} VARIANTS[] = {{"chunks", PS_TAKES_CHUNKS},
                {"group", PS_TAKES_GROUP},
                {"overlap", PS_TAKES_OVERLAP},
                {"tail", PS_TAKES_TAIL}};

static int unknown_schedule(const ps_cli *cli, const char *name) {
    const char *names[64];
    size_t n = 0;
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL && n < PS_N(names); s++) {
        names[n++] = (*s)->name;
    }
    return ps_cli_unknown(cli, "schedule", name, names, n);
}

/* An option that the schedule does not listen to is a mistake, not a wish to ignore. */
static int check_variants(const ps_cli *cli, const request *q) {
    for (size_t i = 0; i < PS_N(VARIANTS); i++) {
        unsigned takes = q->schedule != NULL ? q->schedule->takes : 0;
        if (!ps_cli_given(cli, VARIANTS[i].option) || (takes & VARIANTS[i].takes) != 0) {
            continue;
        }
        char names[128] = "";
        size_t n = 0;
        for (const ps_schedule *const *s = ps_schedules(); *s != NULL; s++) {
            if (((*s)->takes & VARIANTS[i].takes) != 0 && n < sizeof names) {
                n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n == 0 ? "" : ", ",
                                      (*s)->name);
            }
        }
        return ps_cli_usage(cli, "--%s is for %s, not for %s", VARIANTS[i].option, names, q->word);
    }
    return PS_EXIT_OK;
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
static int check_together(const ps_cli *cli, const request *q) {
    for (size_t i = 0; i < PS_N(OPTIONS) && !ps_cli_given(cli, "profile"); i++) {
        if (OPTIONS[i].group != NULL && strcmp(OPTIONS[i].group, PROFILE_GROUP) == 0 &&
            ps_cli_given(cli, OPTIONS[i].name)) {
            return ps_cli_usage(cli,
                                "--%s needs --profile DIR: the chart shows one undisturbed step",
                                OPTIONS[i].name);
        }
    }
    if (ps_cli_given(cli, "profile") && q->schedule == NULL) {
        return ps_cli_usage(
            cli,
            "--profile needs one of the schedules by name: what the marks of %s look like is not known",
            q->word);
    }
    static const char *const UNIFORM[] = {"f-us", "b-us", "w-us", "fb-us", "profile"};
    for (size_t i = 0; i < PS_N(UNIFORM) && ps_cli_given(cli, "durations"); i++) {
        if (ps_cli_given(cli, UNIFORM[i])) {
            return ps_cli_usage(cli, "--durations and --%s exclude each other", UNIFORM[i]);
        }
    }
    int64_t n_ranks =
        ps_cli_int(cli, "tp") * ps_cli_int(cli, "cp") * ps_cli_int(cli, "dp") * q->params.n_stages;
    if (ps_cli_given(cli, "profile") && n_ranks > PS_PROFILE_MAX_RANKS) {
        return ps_cli_usage(cli, "--pp x --tp x --cp x --dp are %lld ranks: must be at most %d",
                            (long long)n_ranks, PS_PROFILE_MAX_RANKS);
    }
    return check_variants(cli, q);
}

/* The durations that the ops of the plan have. */
static int check_simulate_command_times(const ps_cli *cli, const request *q) {
    bool splits = ps_sim_uses(q->plan, PS_OP_BI);
    bool pairs = ps_sim_uses(q->plan, PS_OP_FB);
    if (splits && q->times.b_ns - q->times.w_ns < PS_PROFILE_MIN_OP_NS) {
        return ps_cli_usage(
            cli, "--w-us must be less than --b-us, by at least 1: it is a part of the backward");
    }
    if (!splits && ps_cli_given(cli, "w-us")) {
        ps_cli_note(cli, "no backward is split: --w-us changes nothing");
    }
    if (!pairs && ps_cli_given(cli, "fb-us")) {
        ps_cli_note(cli, "no forward overlaps a backward: --fb-us changes nothing");
    }
    return PS_EXIT_OK;
}

/* --- what to do --------------------------------------------------------------------------------------------------- */

static int fail_or_usage(const ps_cli *cli, const ps_err *err) {
    /* Every number comes from the command line, so one out of range is wrong usage. */
    return err->code == PS_RANGE ? ps_cli_usage(cli, "%s", ps_err_text(cli->lang, err))
                                 : ps_cli_fail(cli, err);
}

static int plan_schedule(const ps_cli *cli, request *q) {
    if (!ps_cli_given(cli, "pp") || !ps_cli_given(cli, "microbatches")) {
        return ps_cli_usage(
            cli, "%s is missing: how many %s", ps_cli_given(cli, "pp") ? "--microbatches" : "--pp",
            ps_cli_given(cli, "pp") ? "microbatches a step has" : "stages the pipeline has");
    }
    q->params = (ps_schedule_params){.n_stages = (int32_t)ps_cli_int(cli, "pp"),
                                     .n_microbatches = (int32_t)ps_cli_int(cli, "microbatches"),
                                     .n_chunks = (int32_t)ps_cli_int(cli, "chunks"),
                                     .group = (int32_t)ps_cli_int(cli, "group"),
                                     .overlap = ps_cli_flag(cli, "overlap"),
                                     .tail_full = strcmp(ps_cli_text(cli, "tail"), "full") == 0};
    ps_err err = PS_ERR_INIT;
    if (q->schedule->check(&q->params, &err) != PS_OK) {
        return ps_cli_usage(cli, "--pp %d --microbatches %d: %s", (int)q->params.n_stages,
                            (int)q->params.n_microbatches, ps_err_text(cli->lang, &err));
    }
    int status = check_together(cli, q);
    if (status != PS_EXIT_OK) {
        return status;
    }
    q->plan = ps_sim_plan_new(q->schedule, &q->params, &err);
    return q->plan != NULL ? PS_EXIT_OK : fail_or_usage(cli, &err);
}

/* How many devices and microbatches there are, the file says; options may only agree. */
static int plan_file(const ps_cli *cli, request *q) {
    int status = check_together(cli, q);
    if (status != PS_EXIT_OK) {
        return status;
    }
    ps_err err = PS_ERR_INIT;
    ps_lists lists;
    q->plan = ps_lists_read_csv(&lists, q->word, &err) == PS_OK ? ps_sim_plan_of_lists(&lists, &err)
                                                                : NULL;
    if (q->plan == NULL) {
        return ps_cli_fail(cli, &err);
    }
    q->params = q->plan->params;
    if (ps_cli_given(cli, "pp") && ps_cli_int(cli, "pp") != q->params.n_stages) {
        return ps_cli_usage(cli, "--pp %lld: %s has %d rows, one for each stage",
                            (long long)ps_cli_int(cli, "pp"), q->word, (int)q->params.n_stages);
    }
    if (ps_cli_given(cli, "microbatches") &&
        ps_cli_int(cli, "microbatches") != q->params.n_microbatches) {
        return ps_cli_usage(cli, "--microbatches %lld: %s has %d",
                            (long long)ps_cli_int(cli, "microbatches"), q->word,
                            (int)q->params.n_microbatches);
    }
    return PS_EXIT_OK;
}

/* duration_ns by op number, from the options or the file. */
static ps_code fill_durations(const ps_cli *cli, const request *q, int64_t *duration_ns,
                              ps_err *err) {
    if (!ps_cli_given(cli, "durations")) {
        ps_sim_fill_durations(q->plan, &q->times, duration_ns);
        return PS_OK;
    }
    ps_durations d = {0};
    ps_code code = ps_durations_read(&d, ps_cli_text(cli, "durations"), q->params.n_stages, err);
    if (code == PS_OK) {
        code = ps_durations_fill(&d, q->plan, duration_ns, err);
        if (code != PS_OK) {
            ps_err_prefix(err, "%s", ps_cli_text(cli, "durations"));
        }
    }
    ps_durations_fini(&d);
    return code;
}

/* A line below the chart: what memory the schedule asks for. */
static void print_peaks(ps_cli *cli, const ps_lists *lists) {
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (int32_t d = 0; d < lists->n_stages; d++) {
        size_t peak = ps_lists_peak(lists, d);
        least = peak < least ? peak : least;
        most = peak > most ? peak : most;
    }
    ps_cli_print(cli, "activations held at most:");
    if (least == most) {
        ps_cli_print(cli, " %zu on every stage", most);
    } else if (lists->n_stages > MAX_PEAKS_SHOWN) {
        ps_cli_print(cli, " %zu to %zu on a stage", least, most);
    } else {
        for (int32_t d = 0; d < lists->n_stages; d++) {
            ps_cli_print(cli, " %zu", ps_lists_peak(lists, d));
        }
        ps_cli_print(cli, " (stage 0, 1, ...)");
    }
    if (lists->n_chunks > 1) {
        ps_cli_print(cli, ", each of one chunk (a stage has %d)", (int)lists->n_chunks);
    }
    ps_cli_print(cli, "\n");
}

/* The chart with its bubble: on the terminal, or as a file. */
static int show_simulate_command(ps_cli *cli, const request *q, ps_chart *chart) {
    ps_err err = PS_ERR_INIT;
    ps_bubble_report report = {0};
    ps_code code = ps_chart_connect(chart, q->plan, &err);
    code = code == PS_OK ? ps_bubble_measure(chart, NULL, &report, &err) : code;
    ps_table *table = code == PS_OK ? ps_bubble_stage_table(chart, &report) : NULL;
    ps_bubble_report_fini(&report);
    if (table == NULL) {
        if (code == PS_OK) {
            (void)ps_fail_nomem(&err);
        }
        return ps_cli_fail(cli, &err);
    }
    const char *path = ps_cli_text(cli, "output");
    const ps_table *tables[] = {table};
    ps_chart_file file = {
        .chart = chart, .tables = tables, .n_tables = 1, .step = 1, .pipeline = -1};
    bool is_file = path != NULL || ps_cli_flag(cli, "json");
    int status =
        is_file ? ps_cli_write_chart_file(cli, path, &file) : ps_cli_put_chart(cli, chart, 1, -1);
    if (status == PS_EXIT_OK && !is_file) {
        ps_cli_print(cli, "\n");
        status = ps_cli_put_step_rows(cli, table, 1);
        ps_cli_print(cli, "\n");
        print_peaks(cli, &q->plan->lists);
    }
    ps_table_free(table);
    return status;
}

static int draw_simulate_command(ps_cli *cli, const request *q) {
    ps_err err = PS_ERR_INIT;
    int64_t *duration_ns = ps_realloc_array(NULL, q->plan->n_ops, sizeof *duration_ns);
    ps_code code =
        duration_ns == NULL ? ps_fail_nomem(&err) : fill_durations(cli, q, duration_ns, &err);
    if (code != PS_OK) {
        ps_free(duration_ns);
        return ps_cli_fail(cli, &err);
    }
    ps_chart *chart = ps_sim_chart(q->plan, duration_ns, q->times.p2p_ns, 1, 0, &err);
    ps_free(duration_ns);
    if (chart == NULL) {
        return fail_or_usage(cli, &err);
    }
    int status = show_simulate_command(cli, q, chart);
    ps_chart_free(chart);
    return status;
}

static void rank_done(void *progress) {
    ps_progress_step(progress, 1);
}

/* N:X into the number and thousandths of X. */
static bool parse_slow(const char *text, int32_t *of, int64_t *per_mille) {
    int64_t number = 0;
    size_t n = strcspn(text, ":");
    if (text[n] == '\0' || !ps_parse_i64(text, n, &number) || number < 0 || number > INT32_MAX) {
        return false;
    }
    *of = (int32_t)number;
    return ps_parse_scaled(text + n + 1, strlen(text + n + 1), 1000, per_mille) && *per_mille > 0;
}

static int write_profile(ps_cli *cli, const request *q) {
    const char *dir = ps_cli_text(cli, "profile");
    ps_ascend_profile_opts opts = {.schedule = q->schedule,
                                   .params = q->params,
                                   .times = q->times,
                                   .n_steps = ps_cli_int(cli, "steps"),
                                   .tp = (int32_t)ps_cli_int(cli, "tp"),
                                   .cp = (int32_t)ps_cli_int(cli, "cp"),
                                   .dp = (int32_t)ps_cli_int(cli, "dp"),
                                   .n_filler = ps_cli_int(cli, "filler"),
                                   .n_drop_marks = ps_cli_int(cli, "drop-marks"),
                                   .jitter_pct = (int32_t)ps_cli_int(cli, "jitter"),
                                   .lengths_pct = (int32_t)ps_cli_int(cli, "lengths"),
                                   .seed = (uint64_t)ps_cli_int(cli, "seed"),
                                   .rank_done = rank_done};
    const char *slow = ps_cli_text(cli, "slow-stage");
    if (slow != NULL && !parse_slow(slow, &opts.slow_stage, &opts.slow_per_mille)) {
        return ps_cli_usage(cli, "--slow-stage %s: give a stage and a factor, as in 2:1.3", slow);
    }
    slow = ps_cli_text(cli, "slow-rank");
    if (slow != NULL && !parse_slow(slow, &opts.slow_rank, &opts.slow_rank_per_mille)) {
        return ps_cli_usage(cli, "--slow-rank %s: give a rank and a factor, as in 5:1.3", slow);
    }
    slow = ps_cli_text(cli, "slow-link");
    if (slow != NULL && !parse_slow(slow, &opts.slow_link, &opts.slow_link_ns)) {
        return ps_cli_usage(cli, "--slow-link %s: give a rank and microseconds, as in 5:400", slow);
    }
    int64_t n_ranks = (int64_t)opts.tp * opts.cp * opts.dp * q->params.n_stages;
    ps_progress *progress =
        ps_progress_begin(&cli->term, cli->quiet, "writing ranks", (uint64_t)n_ranks);
    opts.context = progress;
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_ascend_profile_write(dir, &opts, &counts, &err);
    ps_progress_end(progress);
    if (code != PS_OK) {
        return fail_or_usage(cli, &err);
    }
    ps_cli_print(cli, "%lld rank%s, %lld step%s in %s\n", (long long)counts.n_ranks,
                 counts.n_ranks == 1 ? "" : "s", (long long)opts.n_steps,
                 opts.n_steps == 1 ? "" : "s", dir);
    ps_cli_print(cli, "  %lld marks, %lld device tasks, %lld sends and receives\n",
                 (long long)counts.n_marks, (long long)counts.n_tasks,
                 (long long)counts.n_comm_ops);
    ps_cli_print(cli, "next: pipescope chart %s\n", dir);
    return PS_EXIT_OK;
}

static bool is_schedule_file(const char *word) {
    return ps_ends_with(word, ".csv") || ps_is_file(word);
}

static int run_simulate_command(ps_cli *cli) {
    const char *word = ps_cli_positional(cli, 0);
    request q = {.word = word, .schedule = ps_schedule_find(word), .times = times_given(cli)};
    if (q.schedule == NULL && !is_schedule_file(word)) {
        return unknown_schedule(cli, word);
    }
    int status = q.schedule != NULL ? plan_schedule(cli, &q) : plan_file(cli, &q);
    if (status == PS_EXIT_OK) {
        status = check_simulate_command_times(cli, &q);
    }
    const char *path = ps_cli_text(cli, "output");
    status = status == PS_EXIT_OK ? ps_cli_check_chart_file(cli, path) : status;
    if (status == PS_EXIT_OK) {
        status =
            ps_cli_given(cli, "profile") ? write_profile(cli, &q) : draw_simulate_command(cli, &q);
    }
    ps_sim_plan_free(q.plan);
    return status;
}

const ps_command ps_command_simulate = {
    .name = "simulate",
    .summary = "draw the step of a schedule, or write the profile of a cluster that runs it",
    .usage =
        "SCHEDULE --pp P --microbatches M [options]\nSCHEDULE --pp P --microbatches M --profile DIR [options]\n"
        "FILE.csv [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "SCHEDULE",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes =
        "Every op starts as soon as its device is free and its inputs have arrived. 'pipescope schedules' lists "
        "the schedules; docs/schedules.md tells what they do. FILE.csv is a schedule as "
        "torch.distributed.pipelining writes it, one row of actions such as 0F3 for each device. A profile has one folder a rank with the files of "
        "the Ascend PyTorch profiler.",
    .run = run_simulate_command,
};
