/* The table:
 *
 *   rank    pid  ranges  marks  operators  steps  device rows  dropped  folder
 *   ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 *      0  41207    2048      0          0      8         2056        0  runs/host_41207_20260101120000000_ascend_pt
 *
 * then what was dropped or odd, by kind, and the command to type next. */
#include "cli/record_summary.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/record_launch.h"
#include "write/out/number_text.h"
#include "write/out/writers.h"

/* Paths are to be copied: they are never shortened. */
enum { WIDE = 8192 };

enum {
    COL_RANK,
    COL_PID,
    COL_RANGES,
    COL_MARKS,
    COL_OPS,
    COL_STEPS,
    COL_DEVICE,
    COL_DROPPED,
    COL_FOLDER
};

static const ps_column COLUMNS[] = {
    [COL_RANK] = {.name = "rank", .type = PS_COL_INT},
    [COL_PID] = {.name = "pid", .type = PS_COL_INT},
    [COL_RANGES] = {.name = "ranges", .type = PS_COL_INT},
    [COL_MARKS] = {.name = "marks", .type = PS_COL_INT},
    [COL_OPS] = {.name = "operators", .type = PS_COL_INT},
    [COL_STEPS] = {.name = "steps", .type = PS_COL_INT},
    [COL_DEVICE] = {.name = "device rows", .type = PS_COL_INT},
    [COL_DROPPED] = {.name = "dropped", .type = PS_COL_INT},
    [COL_FOLDER] = {.name = "folder", .type = PS_COL_TEXT}, /* last: it may be long */
};

static const struct {
    const char *key, *text;
    bool lost;
} DROPS[PS_N_DROPS] = {
#define X(name, key, text, lost) {key, text, lost},
#include "record/ring/drops.def"
#undef X
};

/* --- table ----------------------------------------------------------------------------------------------------------- */

static bool is_there(const ps_recorded_folder *f) {
    return f->state == PS_RECORDED_EXPORTED || f->state == PS_RECORDED_RECOVERED;
}

static size_t count_record_summary(const ps_recorded *r, ps_recorded_state state) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        n += r->folders[i].state == state ? 1 : 0;
    }
    return n;
}

static int64_t n_lost(const ps_recorded_folder *f) {
    int64_t n = 0;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        n += DROPS[i].lost ? f->drops[i] : 0;
    }
    return n;
}

/* As the user may type it: relative where it lies below the working directory. */
static const char *shown_path(const char *path) {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL) {
        return path;
    }
    size_t n = strlen(here);
    return strncmp(path, here, n) == 0 && path[n] == '/' && path[n + 1] != '\0' ? path + n + 1
                                                                                : path;
}

static bool add_record_summary_row(ps_table *t, const ps_recorded_folder *f) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    if (f->rank >= 0) {
        ps_table_set_int(t, COL_RANK, f->rank);
    }
    if (f->pid >= 0) {
        ps_table_set_int(t, COL_PID, f->pid);
    }
    ps_table_set_int(t, COL_RANGES, f->n_ranges);
    ps_table_set_int(t, COL_MARKS, f->n_marks);
    ps_table_set_int(t, COL_OPS, f->n_ops);
    ps_table_set_int(t, COL_STEPS, f->n_steps);
    ps_table_set_int(t, COL_DEVICE, f->n_device);
    ps_table_set_int(t, COL_DROPPED, n_lost(f));
    return ps_table_set_text(t, COL_FOLDER, shown_path(f->path));
}

/* "dropped: 12 ring_full: the thread's ring was full ...", one line a kind, lost ones first. */
static void add_drops(const ps_recorded *r, ps_buf *out) {
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned kind = 0; kind < PS_N_DROPS; kind++) {
            int64_t n = 0;
            for (size_t i = 0; i < r->n && DROPS[kind].lost == (pass == 0); i++) {
                n += r->folders[i].drops[kind];
            }
            if (n > 0) {
                ps_buf_addf(out, "%s %" PRId64 " %s: %s\n", pass == 0 ? "dropped" : "odd", n,
                            DROPS[kind].key, DROPS[kind].text);
            }
        }
    }
    int64_t n_open = 0;
    for (size_t i = 0; i < r->n; i++) {
        n_open += r->folders[i].n_open;
    }
    if (n_open > 0) {
        ps_buf_addf(out, "open %" PRId64 " %s had no end when recording stopped\n", n_open,
                    n_open == 1 ? "range" : "ranges");
    }
}

/* "cost: about 1.2 ms of the programs' time", of all processes. */
static void add_overhead(const ps_recorded *r, ps_buf *out) {
    int64_t sum_ps = 0;
    bool counted = false;
    bool unknown = false;
    for (size_t i = 0; i < r->n && sum_ps < INT64_MAX / 2; i++) {
        sum_ps += r->folders[i].overhead_ps;
        counted = counted || r->folders[i].ops_cost == PS_OPS_COST_COUNTED;
        unknown = unknown || r->folders[i].ops_cost == PS_OPS_COST_UNKNOWN;
    }
    if (sum_ps > 0) {
        char time[PS_NUMBER_TEXT];
        bool is_long = sum_ps >= INT64_C(1000000000); /* a millisecond */
        ps_int_scaled(sum_ps, is_long ? 1000000000 : 1000000, 1, time);
        ps_buf_addf(out,
                    "cost: about %s %s of the program's time%s (the recorder's own test%s; without "
                    "first events and what %sthe device's times take)\n",
                    time, is_long ? "ms" : "us", r->n > 1 ? ", all processes together" : "",
                    counted ? ", and that of record_ops with PyTorch's part of it" : "",
                    unknown ? "the dispatch mode of record_ops and " : "");
    }
}

/* In quotes where a shell wants them. */
static void add_word(const char *word, ps_buf *out) {
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (word[0] != '\0' && strspn(word, PLAIN) == strlen(word)) {
        ps_buf_add_str(out, word);
        return;
    }
    ps_buf_add_char(out, '\'');
    for (const char *p = word; *p != '\0'; p++) {
        ps_buf_add_str(out, *p == '\'' ? "'\\''" : (const char[]){*p, '\0'});
    }
    ps_buf_add_char(out, '\'');
}

static const char *parent(const char *path, char out[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    n = n < PATH_MAX ? n : PATH_MAX - 1;
    memcpy(out, path, n);
    out[n] = '\0';
    return out;
}

/* Commands look everywhere below the folder that they are given. */
static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || (n > 0 && dir[n - 1] == '/'));
}

static const ps_recorded_folder *most_ranges(const ps_recorded *r) {
    const ps_recorded_folder *most = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const ps_recorded_folder *f = &r->folders[i];
        if (is_there(f) && (most == NULL || f->n_ranges > most->n_ranges)) {
            most = f;
        }
    }
    return most;
}

/* One folder with as much of it as can be: the output folder, or where a program wrote to a folder of its own, that one. */
static const char *folder_of_all(const ps_recorded *r, char out[PATH_MAX]) {
    bool all = true;
    for (size_t i = 0; i < r->n; i++) {
        all = all && (!is_there(&r->folders[i]) || is_below(r->folders[i].path, r->dir));
    }
    const ps_recorded_folder *most = all ? NULL : most_ranges(r);
    return most == NULL ? r->dir : parent(most->path, out);
}

static void add_path(const ps_recorded *r, ps_buf *out) {
    const ps_recorded_folder *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        only = is_there(&r->folders[i]) ? &r->folders[i] : only;
        n += is_there(&r->folders[i]) ? 1 : 0;
    }
    char here[PATH_MAX];
    char own[PATH_MAX];
    const char *dir = folder_of_all(r, own);
    bool is_here = getcwd(here, sizeof here) != NULL && strcmp(here, dir) == 0;
    add_word(n == 1 ? shown_path(only->path) : is_here ? "." : shown_path(dir), out);
}

/* What the recordings hold, all together. */
typedef struct contents {
    bool labels; /* ranges on a device that are no modules: what a chart is drawn of */
    bool stages; /* it is known of how many a pipeline consists */
    bool modules, ops, ranges;
} contents;

static contents contents_of(const ps_recorded *r) {
    contents c = {.labels = false};
    for (size_t i = 0; i < r->n; i++) {
        const ps_recorded_folder *f = &r->folders[i];
        c.labels = c.labels || f->n_placed > 0;
        /* A process on its own without a rank is one stage. */
        c.stages = c.stages || f->has_stages || (r->n == 1 && f->rank < 0);
        c.modules = c.modules || f->n_modules > 0;
        c.ops = c.ops || f->n_ops > 0;
        c.ranges = c.ranges || f->n_ranges > 0;
    }
    return c;
}

/* The commands that have something to show, the one that fits best first; serve shows all there is. */
static void add_next(const ps_recorded *r, ps_buf *out) {
    contents c = contents_of(r);
    const struct {
        bool fits;
        const char *command, *behind;
    } COMMANDS[] = {
        {c.labels && c.stages, "chart ", ""},
        {c.modules && c.ops, "cluster -m module_statistic -d ", ""},
        {c.ops && !c.modules, "cluster -m operator_mfu -d ", ""},
        {true, "serve ", ""},
        {c.ranges && !c.labels && !c.ops, "cluster -m mstx_sum -d ", ""},
        {c.labels && !c.stages, "chart ",
         " --pp N, with the number of pipeline stages, which the program did not say"},
    };
    const char *before = "next: pipescope ";
    for (size_t i = 0; i < PS_N(COMMANDS); i++) {
        if (COMMANDS[i].fits) {
            ps_buf_add_str(out, before);
            ps_buf_add_str(out, COMMANDS[i].command);
            add_path(r, out);
            ps_buf_addf(out, "%s\n", COMMANDS[i].behind);
            before = "  or: pipescope ";
        }
    }
}

/* Everything that can be had; nothing when there is nothing. */
static ps_code format_table(const ps_recorded *r, const ps_text_style *style, ps_buf *out,
                            ps_err *err) {
    ps_table *t = ps_table_new("recorded", "", COLUMNS, PS_N(COLUMNS));
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < r->n; i++) {
        ok = !is_there(&r->folders[i]) || add_record_summary_row(t, &r->folders[i]);
    }
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (ok && t->n_rows > 0) {
        code = ps_write_table_text(t, style, out, err);
        add_drops(r, out);
        add_overhead(r, out);
        add_next(r, out);
    }
    ps_table_free(t);
    return code;
}

/* "rank 2", or its process, of folders that were recovered, with a range that had no end or without; false when there is none. */
static bool list_killed(const ps_recorded *r, bool in_range, ps_buf *out) {
    const char *before = "";
    for (size_t i = 0; i < r->n; i++) {
        const ps_recorded_folder *f = &r->folders[i];
        if (f->state == PS_RECORDED_RECOVERED && (f->n_open > 0) == in_range) {
            ps_buf_addf(out, f->rank >= 0 ? "%srank %" PRId64 : "%sprocess %" PRId64, before,
                        f->rank >= 0 ? f->rank : f->pid);
            before = ", ";
        }
    }
    return before[0] != '\0';
}

/* Who was killed: launchers end the others when one dies, and those wait for it then, mostly between their ranges. */
static void say_killed(const ps_cli *cli, const ps_recorded *r) {
    static const char *const WHERE[] = {"between ranges", "in the middle of a range"};
    for (int in_range = 1; in_range >= 0; in_range--) {
        ps_buf who = {0};
        if (list_killed(r, in_range == 1, &who) && ps_buf_ok(&who)) {
            ps_cli_note(
                cli,
                "ended before the recording was stopped (killed, by a signal, _exit, exec), %s: %s; "
                "recovered up to the last event",
                WHERE[in_range], ps_buf_str(&who));
        }
        ps_buf_fini(&who);
    }
}

static void say_rest(const ps_cli *cli, const ps_recorded *r) {
    for (size_t i = 0; i < r->n; i++) {
        const ps_recorded_folder *f = &r->folders[i];
        char text[1024];
        if (f->state == PS_RECORDED_FAILED) {
            ps_err_format(&f->err, text, sizeof text);
            ps_cli_warn(cli, "not recovered: %s", text);
            ps_cli_warn(cli,
                        "its raw files are kept; try again with: pipescope record --recover %s",
                        shown_path(f->path));
        } else if (f->state == PS_RECORDED_EMPTY) {
            ps_cli_note(cli, "process %" PRId64 " ended before it had recorded anything", f->pid);
        } else if (f->damaged_bytes > 0) {
            ps_cli_warn(cli,
                        "%s: %" PRId64
                        " bytes of its raw files could not be understood (first: %s): "
                        "what they held is missing",
                        shown_path(f->path), f->damaged_bytes, f->damaged_at);
        } else if (f->state == PS_RECORDED_RUNNING) {
            ps_cli_note(cli, "process %" PRId64 " goes on recording: %s", f->pid,
                        shown_path(f->path));
        } else if (f->state == PS_RECORDED_RECOVERED) {
            ps_cli_detail(cli, "recovered what process %" PRId64 " left: %s", f->pid,
                          shown_path(f->path));
        }
    }
}

/* --- after a command --------------------------------------------------------------------------------------------------- */

/* An option as the processes had it: given here, or found in the environment. */
static const char *option_text(const ps_cli *cli, const char *name, const char *variable,
                               const char *fallback) {
    const char *value = getenv(variable);
    value = value != NULL && value[0] != '\0' ? value : fallback;
    return ps_cli_given(cli, name) ? ps_cli_text(cli, name) : value;
}

/* An option is set, here or in the environment. */
static const char *option_set(const ps_cli *cli, const char *name, const char *variable) {
    const char *value = option_text(cli, name, variable, "");
    return value[0] != '\0' ? value : NULL;
}

static void say_how_it_ended(const ps_cli *cli, int status) {
    if (status > PS_LAUNCH_SIGNAL && status < PS_LAUNCH_SIGNAL + NSIG) {
        int number = status - PS_LAUNCH_SIGNAL;
        ps_cli_note(cli, "- the command was ended by signal %d (%s) before it recorded anything",
                    number, strsignal(number));
    } else if (status != 0) {
        ps_cli_note(cli, "- the command failed, with status %d, before it recorded anything",
                    status);
    }
}

static void say_nothing_recorded(const ps_cli *cli, bool any_fork, int command_status) {
    const char *window = option_set(cli, "window", "PIPESCOPE_WINDOW");
    ps_cli_note(cli, "nothing was recorded. Likely reasons:");
    say_how_it_ended(cli, command_status);
    if (any_fork) {
        ps_cli_note(cli, "- it forked, and forked processes record only with --follow_fork");
    }
    if (ps_cli_given(cli, "record") && strcmp(ps_cli_text(cli, "record"), "0") == 0) {
        ps_cli_note(cli, "- with --record 0 the program itself has to begin");
    }
    if (window != NULL) {
        ps_cli_note(cli,
                    "- no step of the window %s began: the program counts steps with "
                    "ps_record_step_begin or pipescope's Python functions",
                    window);
    }
    if (option_set(cli, "domain_include", "PIPESCOPE_DOMAIN_INCLUDE") != NULL ||
        option_set(cli, "domain_exclude", "PIPESCOPE_DOMAIN_EXCLUDE") != NULL) {
        ps_cli_note(cli, "- domain_include and domain_exclude leave nothing over");
    }
    ps_cli_note(cli,
                "- the program calls none of mstx, NVTX version 3 and pipescope's functions, and "
                "trains no pipeline of a framework that is known (docs/recording/python.md)");
    ps_cli_note(cli,
                "- PyTorch without a pipeline: pipescope.hook_modules() records calls of modules, "
                "pipescope.record_ops() operators: a line each in the program");
    if (ps_cli_flag(cli, "no_patch")) {
        ps_cli_note(cli, "- --no_patch leaves pipelines of frameworks without labels");
    } else {
        ps_cli_note(
            cli, "- its Python does not see what labels pipelines of frameworks: started with -I, "
                 "-E or -S, or the program replaces PYTHONPATH for its processes");
    }
    ps_cli_note(
        cli, "- its processes run elsewhere or with another environment (ssh, sudo, docker, mpirun "
             "without -x): start pipescope record there");
    if (!ps_cli_flag(cli, "preload")) {
        ps_cli_note(cli, "- it links an mstx library: add --preload");
    }
}

static void put_on_stderr(const ps_cli *cli, const ps_recorded *r) {
    ps_text_style style = {.width = WIDE, .utf8 = cli->term.utf8};
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    if (format_table(r, &style, &text, &err) != PS_OK) {
        (void)ps_cli_fail(cli, &err);
    } else if (!cli->quiet) {
        (void)fflush(stdout);
        (void)fputs(ps_buf_str(&text), stderr);
    }
    ps_buf_fini(&text);
}

static ps_export_options export_options(const ps_cli *cli) {
    ps_export_options o = {.keep_raw = ps_cli_flag(cli, "keep_raw")};
    const char *values[] = {
#define X(name, variable, fallback, help) option_text(cli, #name, variable, fallback),
#include "record/ring/options.def"
#undef X
    };
    enum {
#define X(name, variable, fallback, help) AT_##name,
#include "record/ring/options.def"
#undef X
    };
    const char *device = values[AT_device_id];
    (void)ps_parse_i64(device, strlen(device), &o.device_id);
    o.text = strstr(values[AT_export_type], "text") != NULL;
    o.nvtx_push_pop_type = strcmp(values[AT_nvtx_push_pop_type], "1") == 0 ? 1 : 2;
    o.nccl_marks = ps_cli_flag(cli, "nccl_marks") || strcmp(values[AT_nccl_marks], "1") == 0;
    o.keep_raw = o.keep_raw || strcmp(values[AT_keep_raw], "1") == 0;
    return o;
}

static void recover_all(const ps_cli *cli, ps_recorded *r) {
    ps_export_options options = export_options(cli);
    for (size_t i = 0; i < r->n; i++) {
        if (r->folders[i].has_raw && r->folders[i].state == PS_RECORDED_FAILED) {
            ps_recorded_recover(r, &r->folders[i], &options);
        }
    }
}

/* Recordings of which nothing is on a disk: they went with their processes. */
static void say_lost(const ps_cli *cli, const ps_recorded *r) {
    for (size_t i = 0; i < r->n_lost; i++) {
        ps_cli_warn(cli, "all that a process recorded is lost, it was in memory only: process %s",
                    r->lost[i]);
    }
    if (r->n_lost > 0) {
        ps_cli_warn(cli, "make room there, or record to another disk: pipescope record -o DIR");
    }
}

/* Whether the disk, or what it was allowed to take, has cut a recording. */
static bool lacks_room(const ps_recorded *r) {
    bool lacks = false;
    for (size_t i = 0; i < r->n; i++) {
        const int64_t *drops = r->folders[i].drops;
        lacks = lacks || drops[PS_DROP_NO_ROOM] > 0 || drops[PS_DROP_MAX_DISK] > 0;
    }
    return lacks;
}

int ps_record_sum_up(ps_cli *cli, ps_recorded *r, const char *launch, int command_status) {
    ps_err err = PS_ERR_INIT;
    if (ps_recorded_find(r, launch, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    recover_all(cli, r);
    say_lost(cli, r);
    if (r->n == 0 && r->n_lost == 0) {
        say_nothing_recorded(cli, r->any_fork, command_status);
        return PS_EXIT_OK;
    }
    say_rest(cli, r);
    say_killed(cli, r);
    put_on_stderr(cli, r);
    bool lacks = lacks_room(r);
    if (lacks) {
        ps_cli_warn(cli, "only a first part was kept, for want of room on the disk: record less "
                         "(--window A:B), allow more (--max_disk) or name another disk (-o DIR)");
    }
    bool failed = r->n_lost > 0 || count_record_summary(r, PS_RECORDED_FAILED) > 0;
    return failed ? PS_EXIT_FAILED : lacks ? PS_EXIT_PARTIAL : PS_EXIT_OK;
}

/* --- recover ------------------------------------------------------------------------------------------------------------ */

int ps_record_recover(ps_cli *cli, const char *dir, ps_arena *arena) {
    ps_err err = PS_ERR_INIT;
    ps_recorded r = {.arena = arena};
    char absolute[PATH_MAX];
    if (!ps_is_dir(dir) || realpath(dir, absolute) == NULL) {
        (void)ps_fail_file(&err, PS_NOT_FOUND, dir, "there is no such folder");
        return ps_cli_fail(cli, &err);
    }
    r.dir = absolute;
    if (ps_recorded_find_raw(&r, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    recover_all(cli, &r);
    say_rest(cli, &r);
    for (size_t i = 0; i < r.n; i++) {
        if (r.folders[i].state == PS_RECORDED_EXPORTED) {
            ps_cli_note(cli, "%s has its database already; remove that to have it written anew",
                        shown_path(r.folders[i].path));
        }
    }
    size_t n_done = count_record_summary(&r, PS_RECORDED_RECOVERED);
    size_t n_failed = count_record_summary(&r, PS_RECORDED_FAILED);
    if (n_done + n_failed == 0) {
        ps_cli_warn(cli,
                    "%s: nothing to recover: no folder with raw files of a process that has ended",
                    dir);
        return PS_EXIT_NOTHING;
    }
    ps_text_style style = ps_cli_style(cli);
    style.width = WIDE;
    ps_buf text = {0};
    int status =
        format_table(&r, &style, &text, &err) == PS_OK ? PS_EXIT_OK : ps_cli_fail(cli, &err);
    ps_cli_put(cli, ps_buf_str(&text), text.len);
    ps_buf_fini(&text);
    if (n_failed > 0) {
        return n_done > 0 ? PS_EXIT_PARTIAL : PS_EXIT_FAILED;
    }
    for (size_t i = 0; i < r.n && status == PS_EXIT_OK; i++) {
        bool in_part =
            r.folders[i].state == PS_RECORDED_RECOVERED && r.folders[i].damaged_bytes > 0;
        status = in_part ? PS_EXIT_PARTIAL : status;
    }
    return status;
}
