/* Frames through a socket, and who gets which rank. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "run/crew.h"

/* --- frames ---------------------------------------------------------------------------------------------------------- */

/* A signal for an end that is gone would end this one. */
static bool send_all(int fd, const void *bytes, size_t n) {
    for (const char *at = bytes; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t n) {
    for (char *at = bytes; n > 0;) {
        ssize_t got = read(fd, at, n);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

bool ps_frame_write(int fd, const ps_frame *frame, const void *bytes) {
    return send_all(fd, frame, sizeof *frame) && send_all(fd, bytes, frame->n_bytes);
}

ps_code ps_frame_read(int fd, ps_frame *frame, ps_buf *bytes) {
    ps_buf_clear(bytes);
    if (!receive_all(fd, frame, sizeof *frame)) {
        return PS_IO;
    }
    char *at = ps_buf_room(bytes, frame->n_bytes);
    char nowhere[1024];
    for (uint64_t left = at == NULL ? frame->n_bytes : 0; left > 0;) {
        size_t n = left < sizeof nowhere ? (size_t)left : sizeof nowhere;
        if (!receive_all(fd, nowhere, n)) {
            return PS_IO;
        }
        left -= n;
    }
    if (at == NULL) {
        return PS_NOMEM;
    }
    bool ok = receive_all(fd, at, frame->n_bytes);
    ps_buf_wrote(bytes, ok ? frame->n_bytes : 0);
    return ok ? PS_OK : PS_IO;
}

/* --- who gets which rank --------------------------------------------------------------------------------------------- */

typedef struct sized_rank {
    int64_t size_bytes;
    uint32_t rank;
} sized_rank;

static const ps_sort_key LARGEST_FIRST[] = {PS_DOWN(sized_rank, size_bytes),
                                            PS_UP(sized_rank, rank)};

/* The one of those that live, and of those that are `near` (NULL: all), which has least; UINT32_MAX when there is none. */
static uint32_t least_laden(const int64_t *load, const bool *lives, size_t n_workers,
                            const uint8_t *near, size_t n_ranks, size_t rank) {
    uint32_t least = UINT32_MAX;
    for (uint32_t w = 0; w < n_workers; w++) {
        bool may = lives[w] && (near == NULL || near[w * n_ranks + rank] != 0);
        least = may && (least == UINT32_MAX || load[w] < load[least]) ? w : least;
    }
    return least;
}

bool ps_crew_assign(const int64_t *size_bytes, const bool *wanted, size_t n_ranks,
                    const uint8_t *near, const bool *lives, size_t n_workers, uint32_t *out) {
    sized_rank *order = ps_calloc(n_ranks, sizeof *order);
    int64_t *load = ps_calloc(n_workers, sizeof *load);
    bool ok = order != NULL && load != NULL;
    size_t n = 0;
    for (uint32_t r = 0; ok && r < n_ranks; r++) {
        out[r] = UINT32_MAX;
        if (wanted[r]) {
            order[n++] = (sized_rank){size_bytes[r], r};
        }
    }
    if (ok) {
        ps_sort_by(order, n, sizeof *order, PS_KEYS(LARGEST_FIRST));
    }
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t rank = order[i].rank;
        uint32_t who =
            near != NULL ? least_laden(load, lives, n_workers, near, n_ranks, rank) : UINT32_MAX;
        who = who != UINT32_MAX ? who : least_laden(load, lives, n_workers, NULL, n_ranks, rank);
        ok = who != UINT32_MAX;
        if (ok) { /* an empty file is still one to be opened */
            load[who] += order[i].size_bytes + 1;
            out[rank] = who;
        }
    }
    ps_free(order);
    ps_free(load);
    return ok;
}
