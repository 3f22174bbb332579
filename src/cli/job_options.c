#include "cli/job_options.h"

#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/spill.h"
#include "cli/rank_report.h"
#include "read/readers.h"
#include "schedule/schedule.h"

#define MAX_SCHEDULES 32

/* A word that must name a schedule. */
static int check_schedule(const ps_cli *cli, const char *name) {
    const char *known[MAX_SCHEDULES];
    size_t n = 0;
    if (name == NULL || ps_schedule_find(name) != NULL) {
        return PS_EXIT_OK;
    }
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL && n < MAX_SCHEDULES; s++) {
        known[n++] = (*s)->name;
    }
    return ps_cli_unknown(cli, "schedule", name, known, n);
}

static int take_clocks(const ps_cli *cli, bool all, ps_clock_use *out) {
    bool none = ps_cli_flag(cli, "no-align");
    *out = all ? PS_CLOCKS_ALL : none ? PS_CLOCKS_RAW : PS_CLOCKS_MEASURED;
    return all && none ? ps_cli_usage(cli, "--align and --no-align: which of them?") : PS_EXIT_OK;
}

static int take_bytes(const ps_cli *cli, const ps_analysis_option *o, const char *text,
                      int64_t *out) {
    bool ok = text == NULL || (ps_parse_size(text, out) && *out <= o->most);
    return ok ? PS_EXIT_OK
              : ps_cli_usage(cli, "--%s %s: bytes are wanted, such as 64GiB or 1.5GB", o->name,
                             text);
}

static int take_analysis_option(const ps_cli *cli, const ps_analysis_option *o,
                                const ps_option_value *v, void *field) {
    switch (o->kind) {
    case PS_ANALYSIS_FLAG:
        *(bool *)field = v->number != 0;
        break;
    case PS_ANALYSIS_INT:
        *(int64_t *)field = v->number;
        break;
    case PS_ANALYSIS_BYTES:
        return take_bytes(cli, o, v->text, field);
    case PS_ANALYSIS_REAL:
        *(double *)field = (double)v->number / 1e6;
        break;
    case PS_ANALYSIS_TEXT:
        *(const char **)field = v->text;
        break;
    case PS_ANALYSIS_SCHEDULE:
        *(const char **)field = v->text;
        return check_schedule(cli, v->text);
    case PS_ANALYSIS_ORDER: {
        ps_rank_order *order = field;
        order->is_given = ps_layout_find(v->text, &order->layout);
        break;
    }
    case PS_ANALYSIS_CLOCKS:
        return take_clocks(cli, v->number != 0, field);
    case PS_ANALYSIS_LANG:
        *(ps_lang *)field = ps_analysis_lang(v->text);
        break;
    }
    return PS_EXIT_OK;
}

static int take_cache_size(ps_cli *cli, const char *text, ps_run_opts *out) {
    return ps_parse_size(text, &out->cache_max_bytes) && out->cache_max_bytes > 0
               ? PS_EXIT_OK
               : ps_cli_usage(cli, "--cache-size wants a size such as 8G or 512M, not '%s'", text);
}

static int take_crew_option(ps_cli *cli, const char *name, const char *path, ps_run_opts *out) {
    *(*name == 'l' ? &out->local_dir : &out->partials_dir) = path;
    return cli->engine != NULL
               ? PS_EXIT_OK
               : ps_cli_usage(cli, "--%s is for several processes: mpirun pipescope-mpi ...", name);
}

int ps_cli_take_memory(ps_cli *cli, int64_t *bytes) {
    const char *text = ps_cli_text(cli, "memory");
    *bytes = 0;
    return text == NULL || (ps_parse_size(text, bytes) && *bytes > 0)
               ? PS_EXIT_OK
               : ps_cli_usage(cli, "--memory wants a size such as 8G or 512M, not '%s'", text);
}

static void say_cache_of(const ps_cli *cli, const ps_run *run, const char *dir, const char *of) {
    ps_cli_detail(cli, "%sread %zu rank%s, took %zu from %s", of, run->n_read,
                  run->n_read == 1 ? "" : "s", run->n_cached, dir);
    if (run->n_cache_damaged > 0) {
        ps_cli_detail(cli, "%s%zu of the cache %s damaged: read again and replaced", of,
                      run->n_cache_damaged, run->n_cache_damaged == 1 ? "was" : "were");
    }
    if (run->cache_err.code != PS_OK) {
        ps_cli_note(cli, "%snot all could be kept in %s: %s", of, dir, run->cache_err.msg);
    }
}

void ps_cli_say_cache(const ps_cli *cli, const ps_run *run, const ps_run_opts *opts) {
    if (opts->memory_bytes > 0) {
        ps_cli_detail(cli, "%zu rank%s read at once, at most", run->n_at_once,
                      run->n_at_once == 1 ? " was" : "s were");
        ps_cli_detail(cli, "%.1f MiB of memory lay in a file, at most",
                      (double)ps_spill_most() / (1 << 20));
    }
    if (ps_spill_errno() != 0) {
        char text[128];
        ps_cli_detail(cli, "more of it should have, and had no room there: %s",
                      ps_errno_text(ps_spill_errno(), text, sizeof text));
    }
    if (opts->cache_dir != NULL) {
        say_cache_of(cli, run, opts->cache_dir, "");
    }
    if (opts->work == PS_RUN_WHOLE && opts->partials_dir != NULL) {
        ps_cli_detail(cli, "read %zu rank%s, took %zu up from %s", run->n_read,
                      run->n_read == 1 ? "" : "s", run->n_taken_up, opts->partials_dir);
    }
    if (opts->cache_dir != NULL && run->baseline != NULL) {
        say_cache_of(cli, run->baseline, opts->cache_dir, "baseline: ");
    }
}

int ps_cli_run_options(ps_cli *cli, ps_run_opts *out) {
    *out = (ps_run_opts){.export_type = PS_EXPORT_NOTHING,
                         .engine = cli->engine,
                         .n_threads = (size_t)ps_cli_int(cli, "jobs")};
    ps_analysis_opts_init(&out->analysis);
    const ps_option_spec *spec = cli->values.spec;
    int status = PS_EXIT_OK;
    for (size_t i = 0; i < ps_options_count(spec) && status == PS_EXIT_OK; i++) {
        ps_analysis_option_id id = ps_options_at(spec, i).of;
        const ps_option_value *v = &cli->values.values[i];
        if (id != PS_NO_ANALYSIS_OPTION && (v->given || id == PS_ANALYSIS_OPTION_clocks)) {
            const ps_analysis_option *o = ps_analysis_option_of(id);
            void *field = ps_analysis_option_field(o, &out->analysis);
            status = take_analysis_option(cli, o, v, field);
        }
        const char *name = ps_options_at(spec, i).name;
        if (v->given && strcmp(name, "cache") == 0) {
            out->cache_dir = v->text;
        } else if (v->given && strcmp(name, "cache-size") == 0) {
            status = take_cache_size(cli, v->text, out);
        } else if (v->given && (strcmp(name, "local") == 0 || strcmp(name, "resume") == 0)) {
            status = take_crew_option(cli, name, v->text, out);
        } else if (v->given && id == PS_NO_ANALYSIS_OPTION && strcmp(name, "memory") == 0) {
            status = ps_cli_take_memory(cli, &out->memory_bytes);
        }
    }
    return status;
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
        *status = err.code == PS_USAGE ? ps_cli_usage(cli, "%s", ps_err_text(cli->lang, &err))
                                       : ps_cli_fail(cli, &err);
    }
    return cluster;
}

int ps_cli_fail_run(const ps_cli *cli, const ps_err *err) {
    return err->code == PS_USAGE ? ps_cli_usage(cli, "%s", ps_err_text(cli->lang, err))
                                 : ps_cli_fail(cli, err);
}

static void step_run_progress(void *context, size_t done, size_t total) {
    ps_progress_set(*(ps_progress **)context, done, total);
}

static void end_run_progress(void *context) {
    ps_progress **progress = context;
    ps_progress_end(*progress);
    *progress = NULL;
}

void ps_cli_run_progress(const ps_cli *cli, size_t n_ranks, ps_run_opts *opts,
                         ps_progress **progress) {
    *progress = ps_progress_begin(&cli->term, cli->quiet, "reading ranks", n_ranks);
    opts->progress = step_run_progress;
    opts->read_all = end_run_progress;
    opts->progress_context = progress;
}

static int run_over_ranks(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *asked,
                          const ps_ranks_command *command) {
    ps_err err = PS_ERR_INIT;
    ps_run_opts opts = *asked;
    ps_progress *progress = NULL;
    ps_cli_run_progress(cli, cluster->n_ranks, &opts, &progress);
    ps_run *run = command->begin(cluster, &opts, &err);
    ps_progress_end(progress);
    if (run == NULL) {
        return ps_cli_fail_run(cli, &err);
    }
    ps_cli_say_cache(cli, run, &opts);
    int shown = command->show(cli, run, cluster);
    return command->end != NULL ? command->end(cli, run, cluster, shown)
                                : ps_report_end(cli, run, cluster, shown);
}

int ps_cli_over_ranks(ps_cli *cli, const ps_run_opts *opts, const ps_ranks_command *command) {
    return ps_cli_over_ranks_of(cli, ps_cli_positional(cli, 0), opts, command);
}

int ps_cli_over_ranks_of(ps_cli *cli, const char *path, const ps_run_opts *opts,
                         const ps_ranks_command *command) {
    int status = PS_EXIT_OK;
    ps_cluster *cluster = ps_cli_find_ranks(cli, path, &status);
    if (cluster == NULL) {
        return status;
    }
    ps_report_cluster(cli, cluster);
    status = cluster->n_ranks > 0 ? run_over_ranks(cli, cluster, opts, command)
                                  : ps_report_no_profile(cli, cluster);
    if (status == PS_EXIT_NOTHING && ps_diag_n_errors(&cluster->diag) > 0) {
        status = PS_EXIT_FAILED; /* what could not be read may be what is missing */
    }
    ps_cluster_free(cluster);
    return status;
}

int ps_cli_check_ending(const ps_cli *cli, const char *path, const char *const *endings,
                        const char *remark) {
    ps_buf list = {0};
    bool is_one = path == NULL;
    for (size_t i = 0; endings[i] != NULL; i++) {
        const char *between = i == 0 ? "" : endings[i + 1] != NULL ? ", " : " or ";
        is_one = is_one || ps_ends_with(path, endings[i]);
        ps_buf_addf(&list, "%s%s", between, endings[i]);
    }
    int status = is_one
                     ? PS_EXIT_OK
                     : ps_cli_usage(cli, "-o %s: end it in %s%s", path, ps_buf_str(&list), remark);
    ps_buf_fini(&list);
    return status;
}
