/* The input is a merged timeline of workers, plain or gzipped: each worker is read, their steps are put together, and asked
 * what they would be without each part. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/whatif/whatif.h"
#include "analyze/whatif/worker_steps.h"
#include "base/alloc.h"
#include "read/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_PARTS = 16 };

static void require(bool holds) {
    if (!holds) {
        __builtin_trap();
    }
}

/* Ops are lent only of what was noted; without it the part is read once more, as slices. */
static void read_part(const char *path, const ps_part *part, bool noted, ps_timeline *out) {
    const ps_src src = {.path = path,
                        .reader = ps_reader_find("ndtimeline"),
                        .part = part->id,
                        .noted = noted ? part->noted : NULL,
                        .n_threads = 1};
    ps_err err = PS_ERR_INIT;
    ps_trace *trace =
        ps_read(&src, PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_WORKER_OPS, &err);
    require(trace != NULL || err.code != PS_OK);
    if (trace != NULL) {
        require(ps_timeline_read(trace, out));
    }
    ps_trace_free(trace);
}

static void ask(const ps_timeline *timelines, size_t n, const ps_part *parts) {
    const ps_timeline *lists[MOST_PARTS];
    ps_job_worker *workers = ps_calloc(n + 1, sizeof *workers);
    ps_job_steps js = {0};
    ps_whatif w = {0};
    ps_err err = PS_ERR_INIT;
    require(workers != NULL);
    for (size_t i = 0; i < n; i++) {
        lists[i] = &timelines[i];
        workers[i] = (ps_job_worker){.rank = parts[i].rank, .stage = (int32_t)i};
    }
    if (ps_worker_steps_make(lists, workers, n, n % 2 == 0, PS_ENGLISH, &js, &err) == PS_OK) {
        require(js.n_steps > 0);
        if (ps_whatif_measure(&js, &w, &err) == PS_OK) {
            require(w.ideal_ns > 0 && w.real_ns >= 0);
        }
        ps_whatif_fini(&w);
    }
    ps_job_steps_fini(&js);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("timeline", 0);
    char path[64];
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    ps_timeline timelines[MOST_PARTS] = {0};
    if (ps_reader_find("ndtimeline")->parts(path, &arena, &parts, &n, &err) == PS_OK) {
        n = n < MOST_PARTS ? n : MOST_PARTS;
        for (size_t i = 0; i < n; i++) {
            ps_timeline again = {0};
            read_part(path, &parts[i], true, &timelines[i]);
            read_part(path, &parts[i], false, &again);
            ps_timeline_fini(&again);
        }
        ask(timelines, n, parts);
    }
    for (size_t i = 0; i < MOST_PARTS; i++) {
        ps_timeline_fini(&timelines[i]);
    }
    ps_arena_fini(&arena);
    (void)close(fd);
    return 0;
}
