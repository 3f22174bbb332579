/* From a stopped recording to its database. Runs on the thread that asked, with no lock held; the recording belongs to it
 * meanwhile. What could not be exported stays as it was: raw files on the disk, or memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fs.h"
#include "record/export/capture.h"
#include "record/export/export.h"
#include "record/ring/log.h"
#include "record/ring/signal_mask.h"
#include "record/session/session_parts.h"

static int code_of(ps_code code) {
    switch (code) {
    case PS_OK:
        return PS_RECORD_OK;
    case PS_NOTHING:
        return PS_RECORD_NOTHING;
    case PS_NOMEM:
        return PS_RECORD_NO_MEMORY;
    case PS_UNSUPPORTED:
        return PS_RECORD_UNAVAILABLE;
    default:
        return PS_RECORD_IO;
    }
}

/* <dir>/<name of the folder where it was recorded>; a new name when there was no folder. A link in its place is refused. */
static ps_code make_target(ps_session_recording *take, const char *given, char *out, size_t size,
                           bool *made, ps_err *err) {
    char dir[4096];
    if (!ps_rec_config_absolute(given, dir)) {
        return ps_fail_file(err, PS_RANGE, given,
                            "the name of the output folder is empty or too long");
    }
    if (take->folder[0] == '\0') {
        ps_code code = ps_session_recording_make_folder(take, dir, out, size, err);
        *made = code == PS_OK;
        return code;
    }
    ps_code code = ps_make_dirs(dir, err);
    if (code != PS_OK) {
        return code;
    }
    int n = snprintf(out, size, "%s/%s", dir, ps_path_base(take->folder));
    if (n < 0 || (size_t)n >= size) {
        return ps_fail_file(err, PS_RANGE, dir, "the name of the output folder is too long");
    }
    struct stat st;
    *made = mkdir(out, 0750) == 0;
    if (*made || (errno == EEXIST && lstat(out, &st) == 0 && S_ISDIR(st.st_mode))) {
        return PS_OK;
    }
    return ps_fail_file(err, PS_IO, out, "cannot make the output folder");
}

static ps_code read_take(const ps_session_recording *take, ps_capture **out, ps_err *err) {
    return take->on_disk
               ? ps_capture_read_held(take->raw, take->spool.memory, take->spool.held, out, err)
               : ps_capture_read_memory(take->spool.memory, (size_t)take->spool.bytes, out, err);
}

/* What is in memory alone is lost with the process: as much of it as there is room for, half as much each time. */
static ps_code export_what_fits(ps_capture *capture, const char *folder,
                                const ps_export_options *options, ps_export_result *result,
                                ps_err *err) {
    ps_code code = PS_NO_ROOM;
    while (code == PS_NO_ROOM && ps_capture_halve(capture)) {
        code = ps_export_capture(capture, folder, options, result, err);
    }
    return code;
}

static ps_code write_take(const ps_session_recording *take, const char *folder,
                          ps_export_result *result, ps_err *err) {
    const ps_rec_config *config = &take->config;
    const ps_export_options options = {.keep_raw = config->keep_raw,
                                       .text = config->export_text,
                                       .device_id = config->device_id,
                                       .nvtx_push_pop_type = config->nvtx_push_pop_type,
                                       .nccl_marks = config->nccl_marks};
    ps_capture *capture = NULL;
    ps_code code = read_take(take, &capture, err);
    if (code == PS_OK) {
        code = ps_export_capture(capture, folder, &options, result, err);
    }
    if (code == PS_NO_ROOM && take->given_up && !take->on_disk) {
        code = export_what_fits(capture, folder, &options, result, err);
    }
    ps_capture_free(capture);
    return code;
}

static const char *take_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

/* ", 12 events lost (11 ring_full, 1 nested)". */
static void describe_lost(const ps_export_result *r, ps_buf *out) {
    static const struct {
        const char *key;
        bool lost;
    } KINDS[] = {
#define X(name, key, text, lost) {key, lost},
#include "record/ring/drops.def"
#undef X
    };
    const char *before = " (";
    ps_buf_addf(out, ", %llu event%s lost", (unsigned long long)r->n_dropped,
                take_plural(r->n_dropped));
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        if (KINDS[i].lost && r->drops[i] > 0) {
            ps_buf_addf(out, "%s%llu %s", before, (unsigned long long)r->drops[i], KINDS[i].key);
            before = ", ";
        }
    }
    ps_buf_add_str(out, before[0] == ',' ? ")" : "");
}

static void say_result(const char *folder, const ps_export_result *r) {
    ps_buf lost;
    ps_buf_init(&lost, 1 << 12);
    if (r->n_dropped > 0) {
        describe_lost(r, &lost);
    }
    ps_rec_log("%llu range%s, %llu mark%s recorded in %s%s", (unsigned long long)r->n_ranges,
               take_plural(r->n_ranges), (unsigned long long)r->n_marks, take_plural(r->n_marks),
               folder, lost.len > 0 && ps_buf_ok(&lost) ? ps_buf_str(&lost) : "");
    ps_buf_fini(&lost);
}

/* The folder where it was recorded goes when the result lies elsewhere. */
static void clean_up(ps_session_recording *take, const char *folder) {
    bool elsewhere = take->folder[0] != '\0' && strcmp(folder, take->folder) != 0;
    if (!take->on_disk || take->config.keep_raw) {
        return;
    }
    if (elsewhere) {
        ps_session_recording_remove_folder(take->folder);
    } else {
        ps_export_remove_raw(folder);
    }
}

/* Why there is no database, and what can be done. */
static void say_failed(const ps_session_recording *take, ps_code code, const ps_err *err) {
    char text[1024];
    ps_err_format(err, text, sizeof text);
    if (take->on_disk) {
        ps_rec_log("no database: %s; the raw files stay: %spipescope record --recover %s", text,
                   code == PS_NO_ROOM ? "make room, then " : "", take->folder);
        return;
    }
    ps_rec_log(
        "no database: %s; what was recorded is in memory only: %s, or name another disk (option "
        "output_dir)",
        text, code == PS_NO_ROOM ? "make room" : "mend that");
    ps_session_recording_announce_lost(take, text);
}

static int export_stopped_take(ps_session_recording *take, const char *dir, bool say) {
    char folder[sizeof take->folder] = "";
    ps_err err = PS_ERR_INIT;
    ps_code code = PS_OK;
    bool made = false;
    if (dir == NULL && take->folder[0] != '\0') {
        memcpy(folder, take->folder, sizeof folder);
    } else {
        code = make_target(take, dir != NULL ? dir : take->config.output_dir, folder, sizeof folder,
                           &made, &err);
    }
    ps_export_result *result = ps_calloc(1, sizeof *result);
    if (code == PS_OK) {
        code = result != NULL ? write_take(take, folder, result, &err) : ps_fail_nomem(&err);
    }
    if (code == PS_OK) {
        /* `pipescope record`, which names the launch, says it for all processes in one table. */
        if ((say && take->config.launch[0] == '\0') || result->n_dropped > 0) {
            say_result(folder, result);
        }
        clean_up(take, folder);
        ps_session_recording_announce_lost(take, NULL);
        if (strcmp(take->folder, folder) != 0) {
            ps_session_recording_announce(take, folder);
        }
        memcpy(take->folder, folder, sizeof folder);
    } else {
        if (made) {
            ps_session_recording_remove_folder(folder);
        }
        if (code != PS_NOTHING) {
            say_failed(take, code, &err);
        } else {
            ps_session_recording_announce_lost(take, NULL);
        }
    }
    ps_free(result);
    return code_of(code);
}

int ps_session_recording_export(ps_session_recording *take, const char *dir, bool say) {
    ps_signal_mask calm = ps_signal_mask_begin();
    int code = export_stopped_take(take, dir, say);
    ps_signal_mask_end(&calm);
    return code;
}
