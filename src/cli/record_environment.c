/* Variables, by whom they are read:
 *
 *   MSTX_INJECTION_PATH     the header of mstx, in each library that includes it
 *   NVTX_INJECTION64_PATH   the header of NVTX, likewise
 *   LD_PRELOAD              the loader (--preload)
 *   PYTHONPATH              Python, which runs the sitecustomize that it finds there (python/pipescope/_startup)
 *   PIPESCOPE_...           the recorder: record/ring/options.def
 *
 * NVTX and mstx know one tool each. Where the variable names another one already, the user decides. */
#include "cli/record_environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"

typedef struct setting {
    const char *option, *variable;
} setting;

static const setting SETTINGS[] = {
#define X(name, variable, fallback, help) {#name, variable},
#include "record/ring/options.def"
#undef X
};

static int set(ps_cli *cli, const char *variable, const char *value) {
    if (setenv(variable, value, 1) != 0) {
        return ps_cli_fail_nomem(cli);
    }
    ps_cli_detail(cli, "%s=%s", variable, value);
    return PS_EXIT_OK;
}

/* A value that was put together, which ends here. */
static int set_built(ps_cli *cli, const char *variable, ps_buf *value) {
    int status = ps_buf_ok(value) ? set(cli, variable, ps_buf_str(value)) : ps_cli_fail_nomem(cli);
    ps_buf_fini(value);
    return status;
}

static bool names_other_file(const char *variable, const char *library) {
    const char *value = getenv(variable);
    if (value == NULL || value[0] == '\0' || strcmp(value, library) == 0) {
        return false;
    }
    ps_file_id theirs;
    ps_file_id ours;
    return ps_file_identify(value, &theirs, NULL) != PS_OK ||
           ps_file_identify(library, &ours, NULL) != PS_OK || !ps_file_same(&theirs, &ours);
}

/* --- the injections -------------------------------------------------------------------------------------------------- */

static int set_mstx(ps_cli *cli, const char *library) {
    if (names_other_file("MSTX_INJECTION_PATH", library)) {
        return ps_cli_usage(cli,
                            "MSTX_INJECTION_PATH names another tool already (%s), and mstx knows "
                            "one only: unset it, or record with that tool",
                            getenv("MSTX_INJECTION_PATH"));
    }
    return set(cli, "MSTX_INJECTION_PATH", library);
}

static int set_nvtx(ps_cli *cli, const char *library) {
    const char *theirs = getenv("NVTX_INJECTION64_PATH");
    bool is_chained = ps_cli_given(cli, "nvtx_chain") || getenv("PIPESCOPE_NVTX_CHAIN") != NULL;
    if (names_other_file("NVTX_INJECTION64_PATH", library) && !is_chained) {
        if (!ps_cli_flag(cli, "chain")) {
            return ps_cli_usage(
                cli,
                "NVTX_INJECTION64_PATH names another tool already (%s), and NVTX knows one only: "
                "--chain hands all calls on to it (so does PIPESCOPE_NVTX_CHAIN=FILE), or unset it",
                theirs);
        }
        int status = set(cli, "PIPESCOPE_NVTX_CHAIN", theirs);
        if (status != PS_EXIT_OK) {
            return status;
        }
    }
    return set(cli, "NVTX_INJECTION64_PATH", library);
}

static int set_preload(ps_cli *cli, const char *library) {
    if (!ps_cli_flag(cli, "preload")) {
        return PS_EXIT_OK;
    }
    if (strpbrk(library, " :") != NULL) {
        return ps_cli_usage(
            cli,
            "--preload: the loader takes no blanks or colons in a path (%s): copy the "
            "library elsewhere and name it with --library",
            library);
    }
    const char *before = getenv("LD_PRELOAD");
    ps_buf value = {0};
    ps_buf_add_str(&value, library);
    if (before != NULL && before[0] != '\0') {
        ps_buf_addf(&value, ":%s", before);
    }
    return set_built(cli, "LD_PRELOAD", &value);
}

/* --- Python ----------------------------------------------------------------------------------------------------------- */

#define STARTUP "pipescope/_startup"

/* The folder with our sitecustomize.py, by where the library lies: in the wheel, in an installation, in a build folder. */
static bool find_startup(const char *library, char *out) {
    static const char *const PLACES[] = {"_startup", "../share/pipescope/python/" STARTUP,
                                         "../../python/" STARTUP};
    int n_dir = (int)(ps_path_base(library) - library);
    for (size_t i = 0; i < PS_N(PLACES); i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s%s", n_dir, library, PLACES[i]);
        if (n < 0 || (size_t)n >= sizeof path || realpath(path, out) == NULL) {
            continue;
        }
        char file[PATH_MAX + 32];
        (void)snprintf(file, sizeof file, "%s/sitecustomize.py", out);
        if (ps_is_file(file)) {
            return true;
        }
    }
    return false;
}

/* Frameworks are labelled as Python imports them. An outer launch may have said so already. */
static int set_python(ps_cli *cli, const char *library) {
    char folder[PATH_MAX];
    if (ps_cli_flag(cli, "no_patch")) {
        return PS_EXIT_OK;
    }
    if (!find_startup(library, folder) || strchr(folder, ':') != NULL) {
        ps_cli_detail(cli, "frameworks of Python are not labelled by themselves: the package is "
                           "not beside the library, or has a colon in its path");
        return PS_EXIT_OK;
    }
    const char *before = getenv("PYTHONPATH");
    size_t n = strlen(folder);
    bool any = before != NULL && before[0] != '\0';
    if (any && strncmp(before, folder, n) == 0 && (before[n] == ':' || before[n] == '\0')) {
        return PS_EXIT_OK;
    }
    ps_buf value = {0};
    ps_buf_add_str(&value, folder);
    if (any) {
        ps_buf_addf(&value, ":%s", before);
    }
    return set_built(cli, "PYTHONPATH", &value);
}

/* --- the options ----------------------------------------------------------------------------------------------------- */

/* Unlike any other launch, also on other machines with the same folder. What an outer launch or the user called it stands in
 * front: an outer one knows its own that way. */
static void make_launch_id(ps_cli *cli, char *out) {
    const char *outer = ps_cli_text(cli, "launch");
    outer = ps_cli_given(cli, "launch") ? outer : getenv("PIPESCOPE_LAUNCH");
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    char own[32];
    (void)snprintf(own, sizeof own, "%llx-%lx", (unsigned long long)ns, (long)getpid());
    bool fits =
        outer != NULL && outer[0] != '\0' && strlen(outer) + strlen(own) + 2 <= PS_LAUNCH_ID;
    (void)snprintf(out, PS_LAUNCH_ID, "%s%s%s", fits ? outer : "", fits ? "+" : "", own);
}

static int set_options(ps_cli *cli) {
    for (size_t i = 0; i < PS_N(SETTINGS); i++) {
        const char *name = SETTINGS[i].option;
        int status = ps_cli_given(cli, name)
                         ? set(cli, SETTINGS[i].variable, ps_cli_text(cli, name))
                         : PS_EXIT_OK;
        if (status != PS_EXIT_OK) {
            return status;
        }
    }
    return PS_EXIT_OK;
}

int ps_record_set_environment(ps_cli *cli, ps_record_plan *plan) {
    make_launch_id(cli, plan->launch);
    int status = set_options(cli);
    status = status == PS_EXIT_OK ? set_mstx(cli, plan->library) : status;
    status = status == PS_EXIT_OK ? set_nvtx(cli, plan->library) : status;
    status = status == PS_EXIT_OK ? set_preload(cli, plan->library) : status;
    status = status == PS_EXIT_OK ? set_python(cli, plan->library) : status;
    const struct {
        const char *variable, *value;
    } own[] = {
        {"PIPESCOPE_LIBRARY", plan->library},
        {"PIPESCOPE_OUTPUT_DIR", plan->output_dir},
        {"PIPESCOPE_LAUNCH", plan->launch},
        {"PIPESCOPE_RECORD", ps_cli_given(cli, "record") ? ps_cli_text(cli, "record") : "1"}};
    for (size_t i = 0; i < PS_N(own) && status == PS_EXIT_OK; i++) {
        status = set(cli, own[i].variable, own[i].value);
    }
    return status;
}
