/* The folder of a recording:
 *
 *     <output_dir>/<worker>_<YYYYmmddHHMMSSmmm>_ascend_pt/     0750; worker_2 ... when two begin in one millisecond
 *         FRAMEWORK/events.spool, 0.ring ...                   0640
 *         logs/recorder.log                                    made with its first line
 *
 * Made on a thread of the program with its first event, so nothing here waits for anybody. Rings are mapped files only on
 * file systems of this machine: a page of a mapping that a server does not give any more ends the program. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "record/core/threads.h"
#include "record/export/capture_parts.h"
#include "record/export/export.h"
#include "record/ring/fork_gate.h"
#include "record/ring/log.h"
#include "record/ring/signal_mask.h"
#include "record/session/session_parts.h"
#include "record/session/writer.h"

enum { MAX_SAME_NAME = 1000, LEAST_SPOOL = 1 << 18 };

/* --- names and folders --------------------------------------------------------------------------------------------- */

static ps_code fail_system(ps_err *err, const char *path, const char *what) {
    int e = errno;
    char text[128] = "";
    return ps_fail_file(err, PS_IO, path, "%s: %s", what, ps_errno_text(e, text, sizeof text));
}

/* The folder's path with `attempt` in its name from the second on. */
static ps_code name_folder(const ps_session_recording *take, const char *dir, int attempt,
                           char *out, size_t size, ps_err *err) {
    char worker[sizeof take->config.worker + 16];
    (void)snprintf(worker, sizeof worker, "%s", take->config.worker);
    if (attempt > 1) {
        (void)snprintf(worker, sizeof worker, "%s_%d", take->config.worker, attempt);
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_fork_gate_enter(); /* the name holds the local time */
    const char *name = ps_profile_dir_name(&arena, worker, take->start_ns);
    ps_fork_gate_leave();
    int n = name == NULL ? -1 : snprintf(out, size, "%s/%s", dir, name);
    ps_arena_fini(&arena);
    if (name == NULL) {
        return ps_fail_nomem(err);
    }
    if (n < 0 || (size_t)n >= size) {
        return ps_fail_file(err, PS_RANGE, dir, "the name of the output folder is too long");
    }
    return PS_OK;
}

ps_code ps_session_recording_make_folder(ps_session_recording *take, const char *dir, char *out,
                                         size_t size, ps_err *err) {
    ps_code code = ps_make_dirs(dir, err);
    for (int attempt = 1; code == PS_OK && attempt <= MAX_SAME_NAME; attempt++) {
        code = name_folder(take, dir, attempt, out, size, err);
        if (code != PS_OK) {
            break;
        }
        if (mkdir(out, 0750) == 0) {
            return PS_OK;
        }
        if (errno != EEXIST) {
            code = fail_system(err, out, "cannot make the output folder");
        }
    }
    if (code == PS_OK) {
        code = ps_fail_file(err, PS_IO, out, "all names of the output folder are taken");
    }
    out[0] = '\0';
    return code;
}

/* File systems on which a page of a file that was reserved may fail to be written all the same, which would kill the program (SIGBUS): those
 * that are another machine's, and those that write each page to a new place, for which a full disk has no room. */
static bool may_lose_pages(const char *path) {
    static const uint32_t MAGIC[] = {
        0x6969,     /* nfs */
        0x517b,     /* smb */
        0xff534d42, /* cifs */
        0xfe534d42, /* smb2 */
        0x0bd00bd0, /* lustre */
        0x47504653, /* gpfs */
        0x19830326, /* beegfs */
        0x00c36400, /* ceph */
        0x65735546, /* fuse: any kind of server */
        0x5346414f, /* afs */
        0x6b414653, /* kafs */
        0x01021997, /* 9p */
        0x20030528, /* orangefs */
        0x7461636f, /* ocfs2 */
        0x73757245, /* coda */
        0x01161970, /* gfs2 */
        0xaad7aaea, /* panfs */
        0x786f4256, /* vboxsf */
        0xbacbacbc, /* vmhgfs */
        0x9123683e, /* btrfs: copies on write, as those below */
        0xf2f52010, /* f2fs */
        0xca451a4e, /* bcachefs */
        0x2fc12fc1, /* zfs */
    };
    struct statfs fs;
    if (statfs(path, &fs) != 0) {
        return true; /* nothing known: the safe way */
    }
    for (size_t i = 0; i < sizeof MAGIC / sizeof *MAGIC; i++) {
        if ((uint32_t)fs.f_type == MAGIC[i]) {
            return true;
        }
    }
    return false;
}

void ps_session_recording_announce(const ps_session_recording *take, const char *folder) {
    char link[sizeof take->places + 64];
    if (take->places[0] == '\0' || folder[0] == '\0') {
        return;
    }
    /* A second one of the same take: it was exported elsewhere. */
    for (int i = 0; i < 2; i++) {
        (void)snprintf(link, sizeof link, "%s/%ld-%016llx-%d", take->places, (long)getpid(),
                       (unsigned long long)take->session, i);
        if (symlink(folder, link) == 0 || errno != EEXIST) {
            return; /* the launcher may have ended: nobody asks any more */
        }
    }
}

void ps_session_recording_announce_lost(const ps_session_recording *take, const char *why) {
    enum { MOST = 1024 };
    char link[sizeof take->places + 64];
    char text[MOST];
    if (take->places[0] == '\0') {
        return;
    }
    (void)snprintf(link, sizeof link, "%s/" PS_RECORD_PLACES_LOST "%016llx", take->places,
                   (unsigned long long)take->session);
    (void)unlink(link);
    if (why != NULL) {
        (void)snprintf(text, sizeof text, "%ld: %s", (long)getpid(), why);
        (void)symlink(text, link);
    }
}

/* --- the first event ------------------------------------------------------------------------------------------------- */

static bool make_parts(ps_session_recording *take, ps_err *err) {
    (void)snprintf(take->raw, sizeof take->raw, "%s/FRAMEWORK", take->folder);
    if (mkdir(take->raw, 0750) != 0) {
        (void)fail_system(err, take->raw, "cannot make the folder of raw files");
        return false;
    }
    char logs[sizeof take->folder + 32];
    (void)snprintf(logs, sizeof logs, "%s/logs", take->folder);
    if (mkdir(logs, 0750) != 0) {
        (void)fail_system(err, logs, "cannot make the folder of logs");
        return false;
    }
    (void)snprintf(logs, sizeof logs, "%s/logs/recorder.log", take->folder);
    ps_rec_log_file(logs);
    return true;
}

/* Room for ring 0, the ring of the first thread, and a little to write. */
static bool has_folder_room(const ps_session_recording *take, ps_err *err) {
    uint64_t free_bytes = 0;
    uint64_t need = 2 * (PS_RING_HEADER_BYTES + take->ring_slots * sizeof(ps_slot)) + LEAST_SPOOL;
    if (ps_free_space(take->raw, &free_bytes, err) != PS_OK) {
        return false;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < free_bytes) {
        free_bytes = limit.rlim_cur;
    }
    if (free_bytes < need) {
        (void)ps_fail_file(err, PS_IO, take->raw,
                           "only %llu bytes are free, or allowed, and rings take %llu",
                           (unsigned long long)free_bytes, (unsigned long long)need);
        return false;
    }
    return true;
}

/* Folder and spool on the disk. */
static bool place_on_disk(ps_session_recording *take, const ps_spool_header *header) {
    ps_err err = PS_ERR_INIT;
    char text[1024];
    if (ps_session_recording_make_folder(take, take->config.output_dir, take->folder,
                                         sizeof take->folder, &err) == PS_OK &&
        make_parts(take, &err) && has_folder_room(take, &err)) {
        if (ps_spool_open(&take->spool, take->raw, header, take->config.max_disk)) {
            take->spool.max_held = take->config.max_bytes / 2;
            return true;
        }
        errno = take->spool.error;
        (void)fail_system(&err, take->raw, "cannot make the raw file");
    }
    if (take->folder[0] != '\0') {
        ps_rec_log_file(NULL);
        ps_session_recording_remove_folder(take->folder);
        take->folder[0] = '\0';
        take->raw[0] = '\0';
    }
    ps_err_format(&err, text, sizeof text);
    ps_rec_log("%s; events are kept in memory, at most %llu bytes of them (option output_dir)",
               text, (unsigned long long)take->config.max_bytes / 2);
    ps_session_recording_announce_lost(take, text);
    return false;
}

static bool place_take(ps_session_recording *take) {
    ps_spool_header header = {.magic = PS_SPOOL_MAGIC,
                              .format = PS_RECORD_FORMAT,
                              .clock = (uint32_t)take->clock,
                              .session = take->session,
                              .pid = (uint32_t)getpid(),
                              .rank = take->config.rank};
    (void)ps_this_boot(header.boot_id, sizeof header.boot_id);
    take->on_disk = place_on_disk(take, &header);
    if (!take->on_disk && !ps_spool_open(&take->spool, NULL, &header, take->config.max_bytes / 2)) {
        ps_rec_log("no memory for events: nothing is recorded");
        return false;
    }
    take->mapped = take->on_disk && !may_lose_pages(take->raw);
    ps_session_recording_announce(take, take->folder);
    if (take->on_disk && !take->mapped) {
        ps_rec_log(
            "%s is on a file system of another machine: what the last moments recorded is lost "
            "when the program is killed",
            take->folder);
    }
    ps_session_recording_define(take);
    static const ps_writer_hooks hooks = {.round = ps_session_count_nested,
                                          .device_is_used = ps_process_exit_early};
    if (!ps_writer_start(&take->spool, take->clock, &hooks)) {
        ps_rec_log("no thread can be had for writing events out: only what fits into the rings is "
                   "recorded");
    }
    take->placed = true;
    return true;
}

bool ps_session_recording_place(ps_session_recording *take) {
    ps_signal_mask calm = ps_signal_mask_begin();
    bool ok = place_take(take);
    ps_signal_mask_end(&calm);
    return ok;
}

/* --- removing -------------------------------------------------------------------------------------------------------- */

void ps_session_recording_remove_rings(const ps_session_recording *take, const bool *keep) {
    for (unsigned i = 0; take->mapped && i < PS_MAX_RINGS; i++) {
        char path[sizeof take->raw + 32];
        (void)snprintf(path, sizeof path, "%s/%u.ring", take->raw, i);
        if (!keep[i]) {
            (void)unlink(path);
        }
    }
}

/* Files of <folder>/<sub> that begin like one of ours. */
static void remove_files(const char *folder, const char *sub) {
    static const char *const OURS[] = {"profiler_info",           "profiler_metadata.json",
                                       "ascend_pytorch_profiler", "trace_view.json",
                                       "kernel_details.csv",      "op_statistic.csv",
                                       "step_trace_time.csv",     "recorder.log"};
    char path[4096 + 1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, sub);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *e = NULL; (e = readdir(dir)) != NULL;) {
        for (size_t i = 0; i < sizeof OURS / sizeof *OURS; i++) {
            if (strncmp(e->d_name, OURS[i], strlen(OURS[i])) == 0) {
                (void)unlinkat(dirfd(dir), e->d_name, 0);
            }
        }
    }
    (void)closedir(dir);
}

void ps_session_recording_remove_folder(const char *folder) {
    static const char *const PARTS[] = {"logs", "ASCEND_PROFILER_OUTPUT"};
    char path[4096 + 1024];
    ps_export_remove_raw(folder);
    remove_files(folder, ".");
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        remove_files(folder, PARTS[i]);
        (void)snprintf(path, sizeof path, "%s/%s", folder, PARTS[i]);
        (void)rmdir(path);
    }
    (void)rmdir(folder); /* stays when somebody else put something there */
}
