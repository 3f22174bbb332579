/* pipescope record [options] -- COMMAND...: runs a command with the recorder in it, then says what was recorded. And
 * pipescope record --recover DIR: databases from what killed processes left.
 *
 * The options are those of record/ring/options.def, each an environment variable of the command; below stands only how each is
 * written on a command line. The command keeps its standard streams: what is said, is said on stderr. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/record_environment.h"
#include "cli/record_folders.h"
#include "cli/record_launch.h"
#include "cli/record_library.h"
#include "cli/record_places.h"
#include "cli/record_summary.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

#define RARE "Rarely needed"
#define NVTX "NVTX"
#define GPU "GPU"

static const char *const BACKENDS[] = {"auto", "host", "cuda_event", "cupti", NULL};
static const char *const LEVELS[] = {"none", "0", "1", "2", NULL};
static const char *const CLOCKS[] = {"auto", "monotonic", "tsc", NULL};
static const char *const EXPORTS[] = {"db", "db,text", NULL};
static const char *const PUSH_POP[] = {"2", "1", NULL};
static const char *const GRAPHS[] = {"kernels", "whole", NULL};
static const char *const SWITCH[] = {"0", "1", NULL};

/* The help of a flag begins with "1: ". */
#define FLAG(in, n, text) PS_ROW_FLAG(in, n, &(text)[3])

#define AS_output_dir(n, d, t) .short_name = 'o', PS_ROW_PATH(NULL, n, "DIR", PS_SHOWN(""), t)
#define AS_worker(n, d, t) PS_ROW_TEXT(NULL, n, "NAME", PS_SHOWN(d), t)
#define AS_rank(n, d, t) PS_ROW_INT(NULL, n, "N", PS_SHOWN(d), 0, INT32_MAX, t)
#define AS_backend(n, d, t) PS_ROW_CHOICE(NULL, n, "NAME", PS_SHOWN(d), BACKENDS, t)
#define AS_level(n, d, t) PS_ROW_CHOICE(NULL, n, "LEVEL", PS_SHOWN(d), LEVELS, t)
#define AS_window(n, d, t) PS_ROW_TEXT(NULL, n, "A:B", PS_SHOWN(d), t)
#define AS_record(n, d, t)                                                                         \
    PS_ROW_CHOICE(RARE, n, "0|1", PS_SHOWN("1"), SWITCH,                                           \
                  t) /* the command, not the library, says 1 */
#define AS_launch(n, d, t) PS_ROW_TEXT(RARE, n, "NAME", PS_SHOWN(d), t)
#define AS_domain_include(n, d, t) PS_ROW_TEXT(NULL, n, "NAMES", PS_SHOWN(d), t)
#define AS_domain_exclude(n, d, t) PS_ROW_TEXT(NULL, n, "NAMES", PS_SHOWN(d), t)
#define AS_mstx_strict(n, d, t) FLAG(RARE, n, t)
#define AS_device_id(n, d, t) PS_ROW_INT(RARE, n, "N", PS_SHOWN(d), 0, INT32_MAX, t)
#define AS_ring_slots(n, d, t) PS_ROW_INT(RARE, n, "N", PS_SHOWN(d), 1024, 1 << 24, t)
#define AS_max_bytes(n, d, t) PS_ROW_TEXT(RARE, n, "SIZE", PS_SHOWN(d), t)
#define AS_max_disk(n, d, t) PS_ROW_TEXT(RARE, n, "SIZE", PS_SHOWN(d), t)
#define AS_clock(n, d, t) PS_ROW_CHOICE(RARE, n, "NAME", PS_SHOWN(d), CLOCKS, t)
#define AS_keep_raw(n, d, t) FLAG(NULL, n, t)
#define AS_export_type(n, d, t) PS_ROW_CHOICE(NULL, n, "TYPE", PS_SHOWN(d), EXPORTS, t)
#define AS_exit_timeout_s(n, d, t) PS_ROW_INT(RARE, n, "N", PS_SHOWN(d), 0, 86400, t)
#define AS_follow_fork(n, d, t) FLAG(NULL, n, t)
#define AS_quiet(n, d, t) .hidden = true, FLAG(NULL, n, t) /* shown with those of all commands */
#define AS_nvtx_stream(n, d, t) PS_ROW_TEXT(NVTX, n, "RULES", PS_SHOWN(d), t)
#define AS_nvtx_push_pop_type(n, d, t) PS_ROW_CHOICE(NVTX, n, "N", PS_SHOWN(d), PUSH_POP, t)
#define AS_nvtx_chain(n, d, t) PS_ROW_PATH(NVTX, n, "FILE", PS_SHOWN(d), t)
#define AS_nccl_marks(n, d, t) FLAG(NVTX, n, t)
#define AS_cuda_library(n, d, t) PS_ROW_PATH(GPU, n, "FILE", PS_SHOWN(d), t)
#define AS_cupti_path(n, d, t) PS_ROW_PATH(GPU, n, "FILE", PS_SHOWN(d), t)
#define AS_correlate(n, d, t) PS_ROW_TEXT(GPU, n, "NAMES", PS_SHOWN(d), t)
#define AS_cuda_graphs(n, d, t) PS_ROW_CHOICE(GPU, n, "NAME", PS_SHOWN(d), GRAPHS, t)
#define AS_event_pool(n, d, t) PS_ROW_INT(GPU, n, "N", PS_SHOWN(d), 2, 1 << 24, t)

static const ps_option OPTIONS[] = {
#define X(option, variable, fallback, text) {AS_##option(#option, fallback, text)},
#include "record/ring/options.def"
#undef X
    {PS_ROW_FLAG(NULL, "no_patch",
                 "leave frameworks alone: else pipelines of torch.distributed.pipelining, "
                 "Megatron-LM and DeepSpeed are labelled as they are imported")},
    {PS_ROW_FLAG(NULL, "preload",
                 "load the recorder before all libraries, for programs that link an mstx library")},
    {PS_ROW_PATH(NULL, "library", "FILE", PS_SHOWN("PIPESCOPE_LIBRARY, or beside this program"),
                 PS_RECORD_LIBRARY)},
    {PS_ROW_FLAG(NVTX, "chain",
                 "hand NVTX calls on to the tool that NVTX_INJECTION64_PATH names already")},
    {PS_ROW_PATH(
        "Instead of a command", "recover", "DIR", PS_UNSAID,
        "write the databases of all processes in DIR that were killed while they recorded")},
};

/* "3:7" with 0 <= 3 < 7. */
static bool is_window(const char *text) {
    const char *colon = strchr(text, ':');
    int64_t first = 0;
    int64_t end = 0;
    return colon != NULL && ps_parse_i64(text, (size_t)(colon - text), &first) &&
           ps_parse_i64(colon + 1, strlen(colon + 1), &end) && first >= 0 && end > first;
}

/* What a recording would only find out when it starts. An exit status. */
static int check_options(ps_cli *cli) {
    const char *window = ps_cli_text(cli, "window");
    if (ps_cli_given(cli, "window") && window[0] != '\0' && !is_window(window)) {
        return ps_cli_usage(cli, "--window wants A:B with A below B, steps A to B-1, not '%s'",
                            window);
    }
    const char *worker = ps_cli_text(cli, "worker");
    if (ps_cli_given(cli, "worker") && strchr(worker, '/') != NULL) {
        return ps_cli_usage(cli, "--worker is a part of a folder's name and holds no '/': '%s'",
                            worker);
    }
    int64_t slots = ps_cli_int(cli, "ring_slots");
    if (ps_cli_given(cli, "ring_slots") && (slots & (slots - 1)) != 0) {
        return ps_cli_usage(cli,
                            "--ring_slots wants a power of two (65536, 131072, 262144), not %lld",
                            (long long)slots);
    }
    return PS_EXIT_OK;
}

/* --- a command --------------------------------------------------------------------------------------------------------- */

/* The folder for output folders, made, absolute: the command may change its directory. An exit status. */
static int output_dir(ps_cli *cli, char *out) {
    const char *variable = getenv("PIPESCOPE_OUTPUT_DIR");
    const char *dir = variable != NULL && variable[0] != '\0' ? variable : ".";
    dir = ps_cli_given(cli, "output_dir") ? ps_cli_text(cli, "output_dir") : dir;
    ps_err err = PS_ERR_INIT;
    if (ps_make_dirs(dir, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    if (realpath(dir, out) == NULL) {
        (void)ps_fail_file(&err, PS_IO, dir, "cannot be reached");
        return ps_cli_fail(cli, &err);
    }
    if (access(out, W_OK | X_OK) != 0) {
        ps_cli_warn(cli,
                    "%s: this folder cannot be written to, so nothing would be kept: name another "
                    "one with -o DIR",
                    out);
        return PS_EXIT_FAILED;
    }
    return PS_EXIT_OK;
}

/* NULL-terminated, in the arena; NULL when memory is out. */
static char **command_words(const ps_cli *cli, ps_arena *arena) {
    size_t n = ps_cli_n_positionals(cli);
    char **words = ps_arena_alloc(arena, (n + 1) * sizeof *words);
    for (size_t i = 0; words != NULL && i < n; i++) {
        const char *word = ps_cli_positional(cli, i);
        words[i] = ps_arena_strndup(arena, word, strlen(word));
        if (words[i] == NULL) {
            return NULL;
        }
    }
    if (words != NULL) {
        words[n] = NULL;
    }
    return words;
}

/* What the processes of the launch left word of; where that cannot be read, not all that was recorded is known. An exit status. */
static int read_places(const ps_cli *cli, const ps_record_places *places, ps_recorded *r) {
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_record_places_list(places, r->arena, &r->places, &r->n_places, &err);
    code =
        code == PS_OK ? ps_record_places_lost(places, r->arena, &r->lost, &r->n_lost, &err) : code;
    r->any_fork = ps_record_places_any_fork(places);
    return code == PS_OK ? PS_EXIT_OK : (ps_cli_fail(cli, &err), PS_EXIT_PARTIAL);
}

static int record_cmd_record(ps_cli *cli, ps_arena *arena) {
    char library[PATH_MAX];
    char dir[PATH_MAX];
    int status = check_options(cli);
    status = status == PS_EXIT_OK
                 ? ps_record_find_library(cli, ps_cli_text(cli, "library"), library)
                 : status;
    status = status == PS_EXIT_OK ? output_dir(cli, dir) : status;
    ps_record_plan plan = {.library = library, .output_dir = dir};
    status = status == PS_EXIT_OK ? ps_record_set_environment(cli, &plan) : status;
    if (status != PS_EXIT_OK) {
        return status;
    }
    ps_err err = PS_ERR_INIT;
    char **words = command_words(cli, arena);
    ps_recorded before = {.arena = arena};
    if (words == NULL) {
        return ps_cli_fail(cli, (ps_fail_nomem(&err), &err));
    }
    if (ps_recorded_before(&before, dir, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    ps_record_places places;
    if (ps_record_places_open(&places, &err) != PS_OK) {
        (void)ps_cli_fail(cli, &err);
    }
    bool started = false;
    int command_status = ps_record_launch(cli, words, &started);
    if (started) {
        int read = read_places(cli, &places, &before);
        status = ps_record_sum_up(cli, &before, plan.launch, command_status);
        status = status == PS_EXIT_OK ? read : status;
    }
    if (ps_record_places_close(&places, &err) != PS_OK) {
        (void)ps_cli_fail(cli, &err);
    }
    return command_status != 0 ? command_status : status;
}

static int run_record(ps_cli *cli) {
    bool recovers = ps_cli_given(cli, "recover");
    if (recovers && ps_cli_n_positionals(cli) > 0) {
        return ps_cli_usage(cli, "--recover stands alone; '%s' is one word too many",
                            ps_cli_positional(cli, 0));
    }
    if (!recovers && ps_cli_n_positionals(cli) == 0) {
        return ps_cli_usage(cli, "no command given: pipescope record [options] -- COMMAND...");
    }
    ps_arena arena = {0};
    int status = recovers ? ps_record_recover(cli, ps_cli_text(cli, "recover"), &arena)
                          : record_cmd_record(cli, &arena);
    ps_arena_fini(&arena);
    return status;
}

const ps_command ps_command_record = {
    .name = "record",
    .summary = "record the ranges of a program, on GPUs and CPUs",
    .usage = "[options] -- COMMAND...\n--recover DIR [--keep_raw]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "COMMAND",
    .max_positionals = PS_MANY,
    .runs_words = true,
    .notes =
        "Programs that call mstx, NVTX or pipescope's own functions are recorded as they are; each "
        "process gets a folder NAME_TIME_ascend_pt in DIR, which all commands here read. The options "
        "are also environment variables of the program (PIPESCOPE_WINDOW=3:7). Signals are passed on, "
        "and the exit status is the command's. docs/recording.md says more.",
    .run = run_record,
};
