/* A crew (run/crew.h) without MPI: its workers are children of the test, at sockets. */
#ifndef PS_TEST_SOCKET_CREW_H
#define PS_TEST_SOCKET_CREW_H

#include <sys/types.h>

#include "run/crew.h"

enum { SOCKET_CREW_MOST = 8 };

typedef struct socket_crew {
    ps_crew_port port;
    int fds[SOCKET_CREW_MOST]; /* -1: gone */
    pid_t pids[SOCKET_CREW_MOST];
    uint32_t
        kill_before; /* ps_frame_kind: worker 1 is killed before the next one is sent; PS_N_FRAME_KINDS: none */
    ps_crew *crew;
} socket_crew;

/* Makes the workers: where no thread runs. */
void socket_crew_begin(socket_crew *c, size_t n_workers);
/* Ends it and wants that each worker, but one that was killed, ends well. */
void socket_crew_end(socket_crew *c);

#endif
