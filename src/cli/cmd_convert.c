/* pipescope convert IN... -o FILE: the whole timeline of any profile, for other viewers. Ranks are read one at a time,
 * the next while the last one is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/recorded_clock.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "model/lacks.h"
#include "read/readers.h"
#include "run/cluster.h"
#include "write/out/number_text.h"
#include "write/trace/trace_writer.h"

#define NEEDS                                                                                      \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_STATISTICS |       \
     PS_NEED_UNIT_RATIOS)

typedef struct input {
    const ps_cluster_rank *rank;
    size_t number; /* in the order of the arguments */
    ps_trace *trace;
    ps_code code; /* not PS_OK: nothing is written, and err says why */
    ps_err err;
    ps_clock_state clock; /* that was taken off */
} input;

typedef struct conversion {
    ps_cli *cli;
    const char *path;
    ps_cluster **clusters; /* one an argument */
    size_t n_clusters;
    input *inputs; /* in rank order */
    size_t n_inputs;
    ps_trace_source *sources; /* of the inputs */
    ps_trace_writer *writer;
    ps_trace_written written;
    ps_diag *diag; /* of all ranks */
    ps_arena arena;
    size_t n_threads; /* 0: one per processor */
    size_t turn;      /* the input that is written; the next one is read */
    ps_code write_code;
    ps_err write_err;
    ps_table *lacks; /* what could not be read */
    size_t n_done, n_nothing, n_failed;
} conversion;

/* --- inputs -------------------------------------------------------------------------------------------- */

PS_COMPARE(compare_inputs, input, PS_BY(rank->rank) PS_BY(number))

static bool is_same_file(const char *a, const char *b) {
    ps_file_id x;
    ps_file_id y;
    return ps_file_identify(a, &x, NULL) == PS_OK && ps_file_identify(b, &y, NULL) == PS_OK &&
           x.device == y.device && x.inode == y.inode;
}

/* An output of an earlier run may lie among the inputs. */
static void add_inputs(conversion *c, const ps_cluster *cluster) {
    for (size_t i = 0; i < cluster->n_ranks; i++) {
        const ps_cluster_rank *rank = &cluster->ranks[i];
        if (is_same_file(rank->path, c->path)) {
            ps_cli_warn(c->cli, "%s: not read, since it is what will be written", rank->path);
            continue;
        }
        c->inputs[c->n_inputs] = (input){.rank = rank, .number = c->n_inputs, .err = PS_ERR_INIT};
        c->n_inputs++;
    }
}

static int find_inputs(conversion *c) {
    size_t n = ps_cli_n_positionals(c->cli);
    size_t n_ranks = 0;
    int status = PS_EXIT_OK;
    c->clusters = ps_calloc(n, sizeof(ps_cluster *));
    for (size_t i = 0; i < n; i++) {
        if (is_same_file(ps_cli_positional(c->cli, i), c->path)) {
            return ps_cli_usage(
                c->cli, "%s is both what to read and -o: give another file to write", c->path);
        }
    }
    for (size_t i = 0; c->clusters != NULL && i < n; i++) {
        c->clusters[i] = ps_cli_find_ranks(c->cli, ps_cli_positional(c->cli, i), &status);
        if (c->clusters[i] == NULL) {
            return status;
        }
        c->n_clusters = i + 1;
        n_ranks += c->clusters[i]->n_ranks;
        ps_report_cluster(c->cli, c->clusters[i]);
        if (c->clusters[i]->n_ranks == 0) {
            (void)ps_report_no_profile(c->cli, c->clusters[i]);
        }
    }
    c->inputs = ps_calloc(n_ranks + 1, sizeof *c->inputs);
    c->sources = ps_calloc(n_ranks + 1, sizeof *c->sources);
    c->diag = ps_calloc(1, sizeof *c->diag);
    if (c->clusters == NULL || c->inputs == NULL || c->sources == NULL || c->diag == NULL) {
        return ps_cli_fail_nomem(c->cli);
    }
    for (size_t i = 0; i < n; i++) {
        add_inputs(c, c->clusters[i]);
    }
    ps_sort(c->inputs, c->n_inputs, sizeof *c->inputs, compare_inputs);
    return PS_EXIT_OK;
}

static bool is_same_rank(const conversion *c, size_t i, size_t k) {
    return c->inputs[i].rank->rank == c->inputs[k].rank->rank;
}

/* The name from when the file was made by convert: of a rank without a number, and where the same rank is in that file again. */
static const char *kept_title(const conversion *c, size_t i, bool is_twin) {
    const ps_cluster_rank *r = c->inputs[i].rank;
    bool is_wanted = is_twin || r->rank < 0;
    bool is_clear = true;
    for (size_t k = 0; is_wanted && is_clear && k < c->n_inputs; k++) {
        is_clear = !is_same_rank(c, i, k) || strcmp(c->inputs[k].rank->path, r->path) == 0;
    }
    return is_wanted && is_clear ? r->told_title : NULL;
}

/* "rank 3"; with the file where that does not tell ranks apart. */
static bool name_sources(conversion *c) {
    ps_buf title = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < c->n_inputs; i++) {
        const ps_cluster_rank *r = c->inputs[i].rank;
        bool is_twin = (i > 0 && is_same_rank(c, i, i - 1)) ||
                       (i + 1 < c->n_inputs && is_same_rank(c, i, i + 1));
        const char *kept = kept_title(c, i, is_twin);
        ps_buf_clear(&title);
        if (kept != NULL) {
            ps_buf_add_str(&title, kept);
        } else if (r->rank >= 0) {
            ps_buf_addf(&title, "rank %s", PS_RANK(r->rank));
        }
        if (kept == NULL && (r->rank < 0 || is_twin)) {
            ps_buf_addf(&title, "%s%s", title.len > 0 ? " of " : "",
                        is_twin ? r->path : ps_path_base(r->path));
        }
        const char *text = ps_arena_strndup(&c->arena, ps_buf_str(&title), title.len);
        c->sources[i] = (ps_trace_source){.rank = r->rank,
                                          .host = r->host != NULL ? r->host : "",
                                          .machine = r->machine,
                                          .title = text,
                                          .profiler = ps_cluster_recorder(r)};
        ok = text != NULL && ps_buf_ok(&title);
    }
    ps_buf_fini(&title);
    return ok;
}

/* --- reading and writing ------------------------------------------------------------------------------- */

static ps_code check_input(const conversion *c, const input *in, const char *path, ps_err *err) {
    unsigned long long n_fatal = (unsigned long long)ps_diag_n_fatal(ps_trace_diag(in->trace));
    if (ps_trace_slices(in->trace)->n == 0 && ps_trace_counters(in->trace)->n == 0) {
        return ps_fail_file(err, PS_NOTHING, path, "holds no events");
    }
    return ps_cli_flag(c->cli, "strict") && n_fatal > 0
               ? ps_fail_file(err, PS_SYNTAX, path,
                              "%llu counted error%s (--strict makes %s fatal)", n_fatal,
                              n_fatal == 1 ? "" : "s", n_fatal == 1 ? "it" : "them")
               : PS_OK;
}

/* The writer takes one of the threads. */
static void read_input(const conversion *c, input *in) {
    ps_src src = ps_cluster_src(in->rank);
    src.n_threads = c->n_threads > 1 ? c->n_threads - 1 : c->n_threads;
    in->trace = ps_read(&src, NEEDS, &in->err);
    in->code = in->trace != NULL ? PS_OK : in->err.code;
    if (in->code == PS_OK && !ps_cli_flag(c->cli, "no-align")) {
        in->code = ps_recorded_clock_take_off(in->trace, &in->clock, &in->err);
    }
    in->code = in->code == PS_OK ? check_input(c, in, src.path, &in->err) : in->code;
}

static void write_input(conversion *c) {
    input *in = &c->inputs[c->turn];
    if (in->code == PS_OK) {
        c->write_code = ps_trace_writer_rank(c->writer, c->turn, in->trace, &c->write_err);
    }
}

/* Item 0 reads the next input, item 1 writes the one read before. */
static void take_turn(void *context, size_t item) {
    conversion *c = context;
    if (item == 1) {
        write_input(c);
    } else if (c->turn + 1 < c->n_inputs) {
        read_input(c, &c->inputs[c->turn + 1]);
    }
}

static void say_clock(const conversion *c, const ps_clock_state *clock, const char *who) {
    char offset[PS_NUMBER_TEXT];
    char uncertainty[PS_NUMBER_TEXT];
    if (!clock->is_known || (clock->offset_ns == 0 && clock->uncertainty_ns == 0)) {
        return;
    }
    ps_int_scaled(clock->offset_ns, 1000, 1, offset);
    ps_int_scaled(clock->uncertainty_ns, 1000, 1, uncertainty);
    ps_cli_note(c->cli,
                "%s: its clock was %s us +- %s us against that of rank %lld, by messages exchanged "
                "while recording; taken off (--no-align leaves it)",
                who, offset, uncertainty, (long long)clock->reference);
}

static void finish_input(conversion *c, input *in) {
    char text[PS_WHO_TEXT];
    const char *who = ps_cli_who(in->rank, text);
    say_clock(c, &in->clock, who);
    if (in->trace != NULL) {
        ps_diag_merge(c->diag, ps_trace_diag(in->trace), who);
    }
    if (in->code == PS_OK) {
        c->n_done++;
    } else {
        if (in->rank->rank >= 0 || in->err.file[0] == '\0') {
            ps_err_prefix(&in->err, "%s", who);
        }
        (void)ps_cli_fail(c->cli, &in->err);
        char reason[1024];
        ps_err_format(&in->err, reason, sizeof reason);
        ps_lacks_add(c->lacks, in->rank->rank, who, NULL, reason);
        c->n_nothing += in->code == PS_NOTHING;
        c->n_failed += in->code != PS_NOTHING;
    }
    ps_trace_free(in->trace);
    in->trace = NULL;
}

static void convert_all(conversion *c) {
    ps_progress *progress =
        ps_progress_begin(&c->cli->term, c->cli->quiet, "converting ranks", c->n_inputs);
    read_input(c, &c->inputs[0]);
    for (c->turn = 0; c->turn < c->n_inputs && c->write_code == PS_OK; c->turn++) {
        ps_parallel(2, c->n_threads == 1 ? 1 : 2, take_turn, c);
        if (c->write_code == PS_OK) {
            finish_input(c, &c->inputs[c->turn]);
        }
        ps_progress_step(progress, 1);
    }
    ps_progress_end(progress);
}

static void say_convert_written(const conversion *c) {
    const ps_trace_written *w = &c->written;
    ps_cli_print(c->cli, "wrote %s: %zu rank%s, %llu slices, %llu flows, %llu counter values\n",
                 c->path, c->n_done, c->n_done == 1 ? "" : "s", (unsigned long long)w->n_slices,
                 (unsigned long long)w->n_flows, (unsigned long long)w->n_values);
    if (w->n_crossing > 0) {
        ps_cli_note(c->cli,
                    w->n_crossing == 1
                        ? "%llu slice crosses others of its track and stands on a lane of its own"
                        : "%llu slices cross others of their track and stand on lanes of their own",
                    (unsigned long long)w->n_crossing);
    }
    if (w->n_not_finite > 0) {
        ps_cli_warn(c->cli,
                    w->n_not_finite == 1
                        ? "%llu value of a counter is no number and was left out"
                        : "%llu values of counters are no numbers and were left out",
                    (unsigned long long)w->n_not_finite);
    }
    if (w->n_negative > 0) {
        ps_cli_warn(c->cli,
                    w->n_negative == 1 ? "%llu event lies before time 0 and was left out"
                                       : "%llu events lie before time 0 and were left out",
                    (unsigned long long)w->n_negative);
    }
}

/* Of the arguments; ranks are added as they fail. */
static void list_search_lacks(conversion *c) {
    c->lacks = ps_lacks_new("lacks");
    for (size_t i = 0; i < c->n_clusters; i++) {
        const ps_cluster *cluster = c->clusters[i];
        ps_lacks_add_search(PS_ENGLISH, c->lacks, &cluster->diag, PS_LACKS_SEARCH(PS_ENGLISH));
        if (cluster->n_ranks == 0) {
            ps_lacks_add(c->lacks, -1, cluster->path, NULL, "no profile found");
        }
    }
}

static int exit_status(const conversion *c) {
    bool whole = c->n_done == c->n_inputs;
    for (size_t i = 0; i < c->n_clusters; i++) {
        whole =
            whole && c->clusters[i]->n_ranks > 0 && ps_diag_n_errors(&c->clusters[i]->diag) == 0;
    }
    if (c->n_done > 0) {
        return whole ? PS_EXIT_OK : PS_EXIT_PARTIAL;
    }
    return c->n_failed == 0 ? PS_EXIT_NOTHING : PS_EXIT_FAILED;
}

static int convert(conversion *c) {
    ps_err err = PS_ERR_INIT;
    if (!name_sources(c)) {
        return ps_cli_fail_nomem(c->cli);
    }
    c->writer = ps_trace_writer_open(c->path, c->sources, c->n_inputs, &err);
    if (c->writer == NULL) {
        return ps_cli_fail(c->cli, &err);
    }
    list_search_lacks(c);
    convert_all(c);
    if (c->write_code != PS_OK) {
        ps_trace_writer_abort(c->writer);
        return ps_cli_fail(c->cli, &c->write_err);
    }
    ps_report_oddities(c->cli, c->diag);
    if (c->n_done == 0) {
        ps_trace_writer_abort(c->writer);
        return exit_status(c);
    }
    c->lacks = ps_table_end(c->lacks);
    if (c->lacks == NULL) {
        ps_trace_writer_abort(c->writer);
        return ps_cli_fail_nomem(c->cli);
    }
    ps_trace_writer_lacks(c->writer, c->lacks);
    if (ps_trace_writer_commit(c->writer, &c->written, &err) != PS_OK) {
        return ps_cli_fail(c->cli, &err);
    }
    say_convert_written(c);
    return exit_status(c);
}

/* --- the command --------------------------------------------------------------------------------------- */

static int check_convert_output(const ps_cli *cli) {
    const char *path = ps_cli_text(cli, "output");
    ps_buf endings = {0};
    ps_trace_format_list(&endings);
    int status = PS_EXIT_OK;
    if (path == NULL) {
        status = ps_cli_usage(cli, "say where to: -o FILE, ending in %s", ps_buf_str(&endings));
    } else if (ps_trace_format_for(path) == NULL) {
        status = ps_cli_usage(cli, "-o %s: end it in %s", path, ps_buf_str(&endings));
    }
    ps_buf_fini(&endings);
    return status;
}

static int run_convert(ps_cli *cli) {
    int status = check_convert_output(cli);
    if (status != PS_EXIT_OK) {
        return status;
    }
    conversion c = {.cli = cli,
                    .path = ps_cli_text(cli, "output"),
                    .n_threads = (size_t)ps_cli_int(cli, "jobs"),
                    .write_err = PS_ERR_INIT};
    status = find_inputs(&c);
    if (status == PS_EXIT_OK && c.n_inputs > 0) {
        status = convert(&c);
    } else if (status == PS_EXIT_OK) {
        status = PS_EXIT_NOTHING;
        for (size_t i = 0; i < c.n_clusters; i++) {
            status = ps_diag_n_errors(&c.clusters[i]->diag) > 0 ? PS_EXIT_FAILED : status;
        }
    }
    for (size_t i = 0; i < c.n_inputs; i++) {
        ps_trace_free(c.inputs[i].trace);
    }
    for (size_t i = 0; i < c.n_clusters; i++) {
        ps_cluster_free(c.clusters[i]);
    }
    ps_free(c.clusters);
    ps_free(c.inputs);
    ps_free(c.sources);
    ps_free(c.diag);
    ps_table_free(c.lacks);
    ps_arena_fini(&c.arena);
    return status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "what to write: .json or .json.gz (trace events), .pftrace (Perfetto)")},
    {PS_ROW_FLAG(NULL, "strict", "a rank with counted errors is not written")},
    {PS_ROW_FLAG(NULL, "no-align",
                 "times as they were recorded: clocks that were measured while recording stay")},
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_convert = {
    .name = "convert",
    .summary = "the whole timeline for other viewers: trace-event JSON or Perfetto",
    .usage = "IN... -o FILE.{json,json.gz,pftrace} [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "IN",
    .min_positionals = 1,
    .max_positionals = PS_MANY,
    .notes =
        "All ranks below the given files and folders go into one file, in rank order, each with "
        "processes of its own. docs/commands/convert.md says what each format keeps.",
    .run = run_convert,
};
