/* Stands for the recorder in tests of its GPU backends: the functions that a backend hands its results to, which note what came.
 * They take the place of the library's, so this is included once, by the test's own source. */
#ifndef TEST_RECORD_DEVICE_NOTES_H
#define TEST_RECORD_DEVICE_NOTES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/core/device.h"
#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/ring/log.h"
#include "record/session/session_parts.h"

enum { MAX_ROWS = 65536 };
typedef struct row {
    uint8_t kind;
    uint64_t id;
    int64_t start, end; /* ns */
    char name[64];
    ps_device_more more;
} row;
static row rows[MAX_ROWS], anchors[MAX_ROWS]; /* anchors: those of kind PS_REC_DEVICE_ANCHOR */
static size_t n_rows, n_anchors;
static uint64_t drops[PS_N_DROPS];
static char backend[32], device[192]; /* as they stand in the facts of the session */
static char last_log[64];             /* its key, or its format */
static _Atomic unsigned n_logs;       /* of those said once */
static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER;

void ps_event_drop(unsigned drop) {
    ps_shared_drop(drop, 1);
}
void ps_shared_drop(unsigned drop, uint64_t n) {
    (void)pthread_mutex_lock(&notes);
    drops[drop] += n;
    (void)pthread_mutex_unlock(&notes);
}
void ps_shared_device(uint8_t kind, uint64_t id, int64_t start_ns, int64_t end_ns, const char *name,
                      const ps_device_more *more) {
    row r = {.kind = kind, .id = id, .start = start_ns, .end = end_ns};
    (void)snprintf(r.name, sizeof r.name, "%s", name != NULL ? name : "");
    if (more != NULL) {
        r.more = *more;
    }
    (void)pthread_mutex_lock(&notes);
    if (kind == PS_REC_DEVICE_ANCHOR && n_anchors < MAX_ROWS) {
        anchors[n_anchors++] = r;
    } else if (kind != PS_REC_DEVICE_ANCHOR && n_rows < MAX_ROWS) {
        rows[n_rows++] = r;
    }
    (void)pthread_mutex_unlock(&notes);
}
void ps_shared_pair(uint8_t kind, const char *key, const char *text, size_t length) {
    (void)kind;
    (void)pthread_mutex_lock(&notes);
    if (strcmp(key, "backend") == 0) {
        (void)snprintf(backend, sizeof backend, "%.*s", (int)length, text);
    } else if (strcmp(key, "device") == 0) {
        (void)snprintf(device, sizeof device, "%.*s", (int)length, text);
    }
    (void)pthread_mutex_unlock(&notes);
}
void ps_process_exit_early(void) {}
void ps_rec_log(const char *fmt, ...) {
    (void)snprintf(last_log, sizeof last_log, "%s", fmt);
}
void ps_rec_log_once(const char *key, const char *fmt, ...) {
    (void)fmt;
    (void)snprintf(last_log, sizeof last_log, "%s", key);
    n_logs++;
}

static void forget_notes(void) {
    (void)pthread_mutex_lock(&notes);
    n_rows = n_anchors = 0;
    memset(drops, 0, sizeof drops);
    (void)pthread_mutex_unlock(&notes);
}

static const ps_rec_device *now_device(void) {
    return atomic_load(&ps_device);
}

/* Where an emulated library of tests/programs lies. */
static void emulated_path(char *out, size_t size, const char *library_name) {
    const char *dir = getenv("PIPESCOPE_PROGRAMS");
    (void)snprintf(out, size, "%s/%s", dir != NULL ? dir : "build/release/programs", library_name);
}

#endif
