/* A crew: processes that run the maps of one program, each those of its ranks. The program is one of them; it runs the rounds, reduces and
 * writes (run.c), and each process has a worker, which reads profiles. They know nothing of one another but frames, which a port carries
 * (src/mpi, or anything else):
 *
 *   to workers                             to the program
 *   JOB    what is run, over which ranks   READY   found the ranks; which of them are near
 *   ROUND  its number, what the last       FAILED  a worker that has nothing of the job to give
 *          reduce left                     RANK    what came of a rank
 *   WRITE  what follows is to be written   DONE    with its ranks of the round, and what it counted
 *   RANK   it is yours in this round       DIED    (made by the port) a worker is gone
 *   GO     there are no more of them
 *   END
 *
 * Ranks go to workers anew in each round: the largest first, each to the one that has least, of those that have its files near, if any
 * do; so they do when their tables are written, which whoever has their files near does best. A worker that dies takes the ranks with it that it has not given yet; they have failed, and the rest goes on. */
#ifndef PS_RUN_CREW_H
#define PS_RUN_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "run/run_engine.h"

#define PS_CREW_ALL UINT32_MAX
#define PS_CREW_MOST 65536 /* workers */

typedef enum ps_frame_kind {
    PS_FRAME_JOB,
    PS_FRAME_ROUND,
    PS_FRAME_WRITE,
    PS_FRAME_RANK,
    PS_FRAME_GO,
    PS_FRAME_END,
    PS_FRAME_READY,
    PS_FRAME_FAILED,
    PS_FRAME_DONE,
    PS_FRAME_DIED,
    PS_N_FRAME_KINDS
} ps_frame_kind;

/* What goes over the wire, and then `n_bytes`. The machines of a crew run one program file: the order of bytes is theirs. */
typedef struct ps_frame {
    uint32_t kind;   /* ps_frame_kind */
    uint32_t worker; /* to whom, or from whom; PS_CREW_ALL: to all */
    uint32_t job;    /* which of the program's, from 1 */
    uint32_t is_up;  /* from a worker: the port's to set */
    uint64_t index;  /* of the rank or round */
    uint64_t n_bytes;
} ps_frame;

typedef struct ps_crew_port ps_crew_port;
struct ps_crew_port {
    size_t n_workers;
    /* Takes the frame along; what cannot reach its worker is no failure: the port tells of it with DIED. */
    ps_code (*send)(ps_crew_port *port, const ps_frame *frame, const void *bytes, ps_err *err);
    /* Waits for the next frame of a worker; its bytes replace those in `bytes`. */
    ps_code (*receive)(ps_crew_port *port, ps_frame *frame, ps_buf *bytes, ps_err *err);
    /* "process 3 on node7" */
    void (*name)(const ps_crew_port *port, size_t worker, char *out, size_t size);
};

/* The program's side: an engine. It lends the port. NULL when memory is out. The caller ends it, which ends the workers, too. */
typedef struct ps_crew ps_crew;
ps_crew *ps_crew_new(ps_crew_port *port);
void ps_crew_free(ps_crew *crew); /* NULL is fine */
ps_engine *ps_crew_engine(ps_crew *crew);

/* A worker: does what comes through the socket until END, or until it is closed; false when memory ran out for what it is to do. `n_beside`: processes that share its processors with it, itself
 * among them: where nobody says how many threads there should be, it takes its part of them. */
bool ps_crew_work(int fd, size_t n_beside);

/* One frame through a socket. False when the other end is gone. */
bool ps_frame_write(int fd, const ps_frame *frame, const void *bytes);
/* The same the other way: PS_IO when it is gone, PS_NOMEM for a frame that was left out. */
PS_MUST_USE ps_code ps_frame_read(int fd, ps_frame *frame, ps_buf *bytes);

/* Who gets which rank: out[n_ranks]. `wanted` says which of them are shared out, `near` [n_workers * n_ranks] which are near whom (NULL: none), `lives` who
 * gets any. The same for the same arguments. False when memory is out, or nobody lives. */
bool ps_crew_assign(const int64_t *size_bytes, const bool *wanted, size_t n_ranks,
                    const uint8_t *near, const bool *lives, size_t n_workers, uint32_t *out);

#endif
