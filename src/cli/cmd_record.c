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
#define FLAG(in, text) .kind = PS_OPTION_FLAG, .group = in, .help = &(text)[3]
#define WORD(in, shown, a, text)                                                                   \
    .kind = PS_OPTION_TEXT, .group = in, .arg = a, .fallback_shown = shown, .help = text
#define FILE_(in, shown, a, text)                                                                  \
    .kind = PS_OPTION_PATH, .group = in, .arg = a, .fallback_shown = shown, .help = text
#define NUMBER(in, shown, low, high, text)                                                         \
    .kind = PS_OPTION_INT, .group = in, .arg = "N", .fallback_shown = shown, .help = text,         \
    .min = low, .max = high
#define ONE_OF(in, shown, a, list, text)                                                           \
    .kind = PS_OPTION_CHOICE, .group = in, .arg = a, .fallback_shown = shown, .choices = list,     \
    .help = text

#define AS_output_dir(d, t) .short_name = 'o', FILE_(NULL, "", "DIR", t)
#define AS_worker(d, t) WORD(NULL, d, "NAME", t)
#define AS_rank(d, t) NUMBER(NULL, d, 0, INT32_MAX, t)
#define AS_backend(d, t) ONE_OF(NULL, d, "NAME", BACKENDS, t)
#define AS_level(d, t) ONE_OF(NULL, d, "LEVEL", LEVELS, t)
#define AS_window(d, t) WORD(NULL, d, "A:B", t)
#define AS_record(d, t)                                                                            \
    ONE_OF(RARE, "1", "0|1", SWITCH, t) /* the command, not the library, says 1 */
#define AS_launch(d, t) WORD(RARE, d, "NAME", t)
#define AS_domain_include(d, t) WORD(NULL, d, "NAMES", t)
#define AS_domain_exclude(d, t) WORD(NULL, d, "NAMES", t)
#define AS_mstx_strict(d, t) FLAG(RARE, t)
#define AS_device_id(d, t) NUMBER(RARE, d, 0, INT32_MAX, t)
#define AS_ring_slots(d, t) NUMBER(RARE, d, 1024, 1 << 24, t)
#define AS_max_bytes(d, t) WORD(RARE, d, "SIZE", t)
#define AS_max_disk(d, t) WORD(RARE, d, "SIZE", t)
#define AS_clock(d, t) ONE_OF(RARE, d, "NAME", CLOCKS, t)
#define AS_keep_raw(d, t) FLAG(NULL, t)
#define AS_export_type(d, t) ONE_OF(NULL, d, "TYPE", EXPORTS, t)
#define AS_exit_timeout_s(d, t) NUMBER(RARE, d, 0, 86400, t)
#define AS_follow_fork(d, t) FLAG(NULL, t)
#define AS_quiet(d, t) .hidden = true, FLAG(NULL, t) /* shown with those of all commands */
#define AS_nvtx_stream(d, t) WORD(NVTX, d, "RULES", t)
#define AS_nvtx_push_pop_type(d, t) ONE_OF(NVTX, d, "N", PUSH_POP, t)
#define AS_nvtx_chain(d, t) FILE_(NVTX, d, "FILE", t)
#define AS_nccl_marks(d, t) FLAG(NVTX, t)
#define AS_cuda_library(d, t) FILE_(GPU, d, "FILE", t)
#define AS_cupti_path(d, t) FILE_(GPU, d, "FILE", t)
#define AS_correlate(d, t) WORD(GPU, d, "NAMES", t)
#define AS_cuda_graphs(d, t) ONE_OF(GPU, d, "NAME", GRAPHS, t)
#define AS_event_pool(d, t) NUMBER(GPU, d, 2, 1 << 24, t)

static const ps_option OPTIONS[] = {
#define X(option, variable, fallback, text) {.name = #option, AS_##option(fallback, text)},
#include "record/ring/options.def"
#undef X
    {.name = "preload",
     .kind = PS_OPTION_FLAG,
     .help = "load the recorder before all libraries, for programs that link an mstx library"},
    {.name = "library",
     .kind = PS_OPTION_PATH,
     .arg = "FILE",
     .fallback_shown = "PIPESCOPE_LIBRARY, or beside this program",
     .help = PS_RECORD_LIBRARY},
    {.name = "chain",
     .kind = PS_OPTION_FLAG,
     .group = NVTX,
     .help = "hand NVTX calls on to the tool that NVTX_INJECTION64_PATH names already"},
    {.name = "recover",
     .kind = PS_OPTION_PATH,
     .arg = "DIR",
     .group = "Instead of a command",
     .help = "write the databases of all processes in DIR that were killed while they recorded"},
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
    ps_record_places_open(&places);
    bool started = false;
    int command_status = ps_record_launch(cli, words, &started);
    if (started) {
        before.places = ps_record_places_list(&places, arena, &before.n_places);
        before.any_fork = ps_record_places_any_fork(&places);
        status = ps_record_sum_up(cli, &before, plan.launch, command_status);
    }
    ps_record_places_close(&places);
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
    ps_arena arena;
    ps_arena_init(&arena);
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
