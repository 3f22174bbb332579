/* Looks for the recorder's library and tries it out: a child process loads it and says where it was found and which version it
 * is, so that nothing of it stays in this process, and a library for another machine or with parts missing is told now and
 * not by silence later. */
#include "cli/record_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/version.h"

#ifndef PIPESCOPE_LIBRARY_PLACE /* from bin to the libraries of an installation; CMake knows */
#define PIPESCOPE_LIBRARY_PLACE "../lib/"
#endif

/* What the child found, as it goes through the pipe. */
typedef struct trial {
    bool loaded;
    char path[PATH_MAX];
    char version[64];
    char error[512];
} trial;

static void load_library(const char *name, trial *t) {
    (void)unsetenv("PIPESCOPE_RECORD"); /* loading it shall not begin to record us */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        (void)snprintf(t->error, sizeof t->error, "%s", why != NULL ? why : "unknown reason");
        return;
    }
    const char *(*version)(void) = NULL;
    *(void **)&version = dlsym(library, "ps_record_version");
    struct link_map *map = NULL;
    if (version == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
        realpath(map->l_name, t->path) == NULL) {
        (void)snprintf(t->error, sizeof t->error, "%s: is not pipescope's recorder", name);
        return;
    }
    (void)snprintf(t->version, sizeof t->version, "%s", version());
    t->loaded = true;
}

static bool read_all_library(int fd, void *out, size_t n) {
    size_t got = 0;
    while (got < n) {
        ssize_t part = read(fd, (char *)out + got, n - got);
        if (part <= 0) {
            return false;
        }
        got += (size_t)part;
    }
    return true;
}

/* `name` as dlopen takes it: a path, or a name without a slash. */
static void try(const char *name, trial *t) {
    *t = (trial){.loaded = false};
    int ends[2];
    if (pipe(ends) != 0) {
        (void)snprintf(t->error, sizeof t->error, "no pipe can be had");
        return;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        load_library(name, t);
        _exit(write(ends[1], t, sizeof *t) == (ssize_t)sizeof *t ? 0 : 1);
    }
    (void)close(ends[1]);
    if (child < 0 || !read_all_library(ends[0], t, sizeof *t)) {
        *t = (trial){.error = "the process that loads it died"};
    }
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0) {
    }
}

/* A file that was named, by option or by variable. */
static int take_named(ps_cli *cli, const char *path, const char *how, trial *t) {
    if (!ps_is_file(path)) {
        return ps_cli_usage(cli, "%s: there is no file '%s'", how, path);
    }
    char absolute[PATH_MAX];
    if (realpath(path, absolute) == NULL) {
        return ps_cli_usage(cli, "%s: '%s' cannot be reached", how, path);
    }
    try(absolute, t);
    if (!t->loaded) {
        ps_cli_warn(cli, "%s: cannot load the library: %s", how, t->error);
        return PS_EXIT_FAILED;
    }
    return PS_EXIT_OK;
}

/* Where a build and where an installation put it. True: it is there, loaded or not. */
static bool try_beside_program(trial *t) {
    static const char *const PLACES[] = {"", "../lib/", "../lib64/", PIPESCOPE_LIBRARY_PLACE};
    static const char *const NAMES[] = {PS_RECORD_LIBRARY, PS_RECORD_SONAME};
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) {
        return false;
    }
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    size_t n_dir = slash != NULL ? (size_t)(slash - program) : 0;
    for (size_t i = 0; i < PS_N(PLACES) * PS_N(NAMES); i++) {
        char path[PATH_MAX + 128];
        (void)snprintf(path, sizeof path, "%.*s/%s%s", (int)n_dir, program, PLACES[i / PS_N(NAMES)],
                       NAMES[i % PS_N(NAMES)]);
        if (ps_is_file(path)) {
            try(path, t);
            return true;
        }
    }
    return false;
}

static int look_for(ps_cli *cli, trial *t) {
    if (!try_beside_program(t)) {
        trial by_soname;
        try(PS_RECORD_LIBRARY, t);
        try(PS_RECORD_SONAME, &by_soname);
        *t = t->loaded || !by_soname.loaded ? *t : by_soname;
    }
    if (!t->loaded) {
        ps_cli_warn(cli, "cannot load %s: %s", PS_RECORD_LIBRARY, t->error);
        ps_cli_warn(
            cli,
            "`pip install pipescope-training` has it beside the program, as ./dev build has; or name "
            "it with --library FILE or PIPESCOPE_LIBRARY");
        return PS_EXIT_FAILED;
    }
    return PS_EXIT_OK;
}

int ps_record_find_library(ps_cli *cli, const char *named, char *out) {
    const char *variable = getenv("PIPESCOPE_LIBRARY");
    trial t;
    int status = PS_EXIT_OK;
    if (named != NULL) {
        status = take_named(cli, named, "--library", &t);
    } else if (variable != NULL && variable[0] != '\0') {
        status = take_named(cli, variable, "PIPESCOPE_LIBRARY", &t);
    } else {
        status = look_for(cli, &t);
    }
    if (status != PS_EXIT_OK) {
        return status;
    }
    if (strcmp(t.version, PS_VERSION) != 0) {
        ps_cli_note(cli, "%s is of version %s, this program of " PS_VERSION, t.path, t.version);
    }
    ps_cli_detail(cli, "library: %s", t.path);
    memcpy(out, t.path, strlen(t.path) + 1);
    return PS_EXIT_OK;
}
