/* A folder belongs to a process that still runs when that process began before the recording did: pids are given out anew. */
#include "record/export/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/literal.h"
#include "record/export/capture_parts.h"

/* --- who is alive ------------------------------------------------------------------------------------------------- */

static size_t read_small(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

bool ps_this_boot(char *out, size_t size) {
    size_t n = read_small("/proc/sys/kernel/random/boot_id", out, size);
    while (n > 0 && out[n - 1] == '\n') {
        out[--n] = '\0';
    }
    return n > 0;
}

/* /proc/PID/stat behind the name, which may hold anything: " S 1 ..."; "" without such a process. */
static const char *stat_of(uint32_t pid, char *out, size_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    const char *at = read_small(path, out, size) > 0 ? strrchr(out, ')') : NULL;
    return at != NULL ? at + 1 : "";
}

/* Seconds after the boot at which the process began; negative when not known. */
static double began_s(uint32_t pid) {
    enum { FIELDS_TO_START = 19 };
    char stat[1024];
    const char *at = strchr(stat_of(pid, stat, sizeof stat), ' ');
    for (int i = 0; at != NULL && i < FIELDS_TO_START; i++) {
        at = strchr(at + 1, ' ');
    }
    long hz = sysconf(_SC_CLK_TCK);
    return at != NULL && hz > 0 ? (double)strtoull(at + 1, NULL, 10) / (double)hz : -1;
}

/* Its parent has not asked for its status yet: some never do. */
static bool is_zombie(uint32_t pid) {
    char stat[1024];
    const char *at = stat_of(pid, stat, sizeof stat);
    return at[0] == ' ' && (at[1] == 'Z' || at[1] == 'X');
}

/* The process that records holds a lock (spool.c). */
static bool is_locked(const char *spool) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(spool, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool locked = fd >= 0 &&
                  (fcntl(fd, F_OFD_GETLK, &whole) == 0 || fcntl(fd, F_GETLK, &whole) == 0) &&
                  whole.l_type != F_UNLCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return locked;
}

/* `mono_ns`: CLOCK_MONOTONIC when the recording began, 0 not known. Not the wall clock, which may have been set since. */
static bool is_running(const ps_spool_header *h, int64_t mono_ns) {
    char boot_id[sizeof h->boot_id];
    if (h->pid == 0 || !ps_this_boot(boot_id, sizeof boot_id) || strcmp(boot_id, h->boot_id) != 0) {
        return false;
    }
    if ((kill((pid_t)h->pid, 0) != 0 && errno == ESRCH) || is_zombie(h->pid)) {
        return false;
    }
    struct timespec mono, up;
    double began = began_s(h->pid);
    if (mono_ns == 0 || began < 0 || clock_gettime(CLOCK_MONOTONIC, &mono) != 0 ||
        clock_gettime(CLOCK_BOOTTIME, &up) != 0) {
        return true;
    }
    /* Processes begin by a clock that also counts while the machine sleeps. */
    const double slack_s = 1;
    double recorded_s = (double)mono_ns / 1e9 + (double)(up.tv_sec - mono.tv_sec);
    return began <= recorded_s + slack_s;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

typedef struct finding {
    ps_arena *arena;
    ps_raw_folder *folders;
    size_t n, cap;
} finding;

static const char *recover_launch_of(const ps_capture *c, ps_arena *arena) {
    const char *session = ps_capture_fact(c, "session");
    const ps_literal *doc = ps_literal_parse(arena, session, strlen(session), NULL);
    const char *launch = ps_literal_str(ps_literal_get(doc, "launch"));
    return launch != NULL ? launch : "";
}

/* Adds `dir` when it holds raw files. What is damaged is found too: recovering says what it is. */
static ps_code recover_look_at(finding *f, const char *dir, ps_err *err) {
    const char *raw = ps_path_join(f->arena, dir, "FRAMEWORK");
    const char *spool = raw != NULL ? ps_path_join(f->arena, raw, "events.spool") : NULL;
    const char *ring = raw != NULL ? ps_path_join(f->arena, raw, "0.ring") : NULL;
    if (spool == NULL || ring == NULL) {
        return ps_fail_nomem(err);
    }
    if (!ps_is_file(spool) && !ps_is_file(ring)) {
        return PS_OK;
    }
    if (!ps_grow(&f->folders, &f->cap, f->n + 1, UINT32_MAX, sizeof *f->folders)) {
        return ps_fail_nomem(err);
    }
    ps_raw_folder folder = {.profile_dir = dir, .rank = -1, .launch = ""};
    ps_capture *c = NULL;
    ps_err odd = PS_ERR_INIT;
    ps_code code = ps_capture_peek(raw, &c, &odd);
    if (code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        const ps_spool_header *h = ps_capture_header(c);
        const char *launch = recover_launch_of(c, f->arena);
        folder.pid = h->pid;
        folder.rank = h->rank;
        folder.running = is_running(h, ps_capture_clock(c)->mono_ns) || is_locked(spool);
        folder.launch = ps_arena_strndup(f->arena, launch, strlen(launch));
    }
    ps_capture_free(c);
    f->folders[f->n++] = folder;
    return folder.launch != NULL ? PS_OK : ps_fail_nomem(err);
}

static ps_code look_below(finding *f, const char *dir, ps_err *err) {
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(dir, f->arena, &names, &n, err);
    for (size_t i = 0; i < n && code == PS_OK; i++) {
        if (!ps_ends_with(names[i], "_ascend_pt")) {
            continue;
        }
        const char *path = ps_path_join(f->arena, dir, names[i]);
        code = path != NULL ? recover_look_at(f, path, err) : ps_fail_nomem(err);
    }
    return code;
}

ps_code ps_recover_find(const char *dir, ps_arena *arena, ps_raw_folder **out, size_t *n,
                        ps_err *err) {
    finding f = {.arena = arena};
    *out = NULL;
    *n = 0;
    const char *own = ps_arena_strndup(arena, dir, strlen(dir));
    ps_code code = own != NULL ? recover_look_at(&f, own, err) : ps_fail_nomem(err);
    if (code == PS_OK && f.n == 0) {
        code = look_below(&f, dir, err);
    }
    if (code == PS_OK && f.n > 0) {
        *out = ps_arena_alloc(arena, f.n * sizeof *f.folders);
        code = *out != NULL ? PS_OK : ps_fail_nomem(err);
        if (code == PS_OK) {
            memcpy(*out, f.folders, f.n * sizeof *f.folders);
            *n = f.n;
        }
    }
    ps_free(f.folders);
    return code;
}

/* --- recovering --------------------------------------------------------------------------------------------------- */

static bool recover_says(const ps_literal *config, const char *option, const char *wanted) {
    const char *text = ps_literal_str(ps_literal_get(config, option));
    return text != NULL && strstr(text, wanted) != NULL;
}

/* What the recording was told to do at its end holds where nobody says otherwise. */
static ps_export_options options_of(const ps_capture *c, const ps_export_options *given) {
    ps_export_options o = given != NULL ? *given : (ps_export_options){.nvtx_push_pop_type = 2};
    ps_arena arena;
    ps_arena_init(&arena);
    const char *session = ps_capture_fact(c, "session");
    const ps_literal *doc = ps_literal_parse(&arena, session, strlen(session), NULL);
    const ps_literal *config = ps_literal_get(doc, "config");
    if (o.device_id == 0) {
        (void)ps_literal_int(ps_literal_get(config, "device_id"), &o.device_id);
    }
    if (recover_says(config, "nvtx_push_pop_type", "1")) {
        o.nvtx_push_pop_type = 1;
    }
    o.nccl_marks = o.nccl_marks || recover_says(config, "nccl_marks", "1");
    o.text = o.text || recover_says(config, "export_type", "text");
    ps_arena_fini(&arena);
    return o;
}

/* Of a process that was killed before its first event; what others put there stays. */
static void remove_empty(const char *profile_dir) {
    char path[4096];
    ps_export_remove_raw(profile_dir);
    int n = snprintf(path, sizeof path, "%s/logs", profile_dir);
    if (n > 0 && (size_t)n < sizeof path) {
        (void)rmdir(path);
    }
    (void)rmdir(profile_dir);
}

static ps_code export_folder(const char *raw, const char *profile_dir,
                             const ps_export_options *options, ps_export_result *result,
                             ps_err *err) {
    ps_capture *c = NULL;
    ps_code code = ps_capture_read(raw, &c, err);
    if (code != PS_OK) {
        return code;
    }
    ps_export_options all = options_of(c, options);
    code = ps_export_capture(c, profile_dir, &all, result, err);
    if (code == PS_NOTHING) {
        result->damaged_bytes = ps_capture_damaged_bytes(c, result->damage, sizeof result->damage);
        code = result->damaged_bytes > 0 ? ps_fail_file(err, PS_SYNTAX, raw, "%s", result->damage)
                                         : code;
    }
    ps_capture_free(c);
    if (code == PS_OK && result->damaged_bytes == 0 && !all.keep_raw) {
        ps_export_remove_raw(profile_dir);
    }
    return code;
}

ps_code ps_recover_folder(const ps_raw_folder *folder, const ps_export_options *options,
                          ps_export_result *result, ps_err *err) {
    *result = (ps_export_result){.n_ranges = 0};
    if (folder->running) {
        return ps_fail_file(err, PS_BUSY, folder->profile_dir,
                            "process %u still records here; end it first", folder->pid);
    }
    char raw[4096];
    int n = snprintf(raw, sizeof raw, "%s/FRAMEWORK", folder->profile_dir);
    if (n < 0 || (size_t)n >= sizeof raw) {
        return ps_fail_file(err, PS_IO, folder->profile_dir, "the path is too long");
    }
    ps_code code = export_folder(raw, folder->profile_dir, options, result, err);
    if (code == PS_NOTHING) {
        remove_empty(folder->profile_dir);
    }
    return code;
}
