#include "support/socket_crew.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static ps_code send_to_workers(ps_crew_port *port, const ps_frame *frame, const void *bytes,
                               ps_err *err) {
    socket_crew *c = (socket_crew *)port;
    (void)err;
    if (frame->kind == c->kill_before) {
        c->kill_before = PS_N_FRAME_KINDS;
        assert_int_equal(kill(c->pids[1], SIGKILL), 0);
    }
    for (size_t w = 0; w < port->n_workers; w++) {
        if ((frame->worker == PS_CREW_ALL || frame->worker == w) && c->fds[w] >= 0) {
            (void)!ps_frame_write(c->fds[w], frame, bytes);
        }
    }
    return PS_OK;
}

/* The first that has something to say. */
static size_t next_to_speak(const socket_crew *c) {
    struct pollfd fds[SOCKET_CREW_MOST];
    for (size_t w = 0; w < c->port.n_workers; w++) {
        fds[w] = (struct pollfd){.fd = c->fds[w], .events = POLLIN};
    }
    while (poll(fds, c->port.n_workers, -1) < 0) {
    }
    size_t w = 0;
    while (fds[w].revents == 0) {
        w++;
    }
    return w;
}

static ps_code receive_from_workers(ps_crew_port *port, ps_frame *frame, ps_buf *bytes,
                                    ps_err *err) {
    socket_crew *c = (socket_crew *)port;
    size_t w = next_to_speak(c);
    ps_code code = ps_frame_read(c->fds[w], frame, bytes);
    if (code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        int status = 0;
        assert_int_equal(close(c->fds[w]), 0);
        assert_int_equal(waitpid(c->pids[w], &status, 0), c->pids[w]);
        c->fds[w] = -1;
        *frame = (ps_frame){.kind = PS_FRAME_DIED};
        ps_buf_clear(bytes);
        ps_buf_addf(bytes, "was ended by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    frame->worker = (uint32_t)w;
    return PS_OK;
}

static void name_worker(const ps_crew_port *port, size_t worker, char *out, size_t size) {
    (void)port;
    (void)snprintf(out, size, "worker %zu", worker);
}

void socket_crew_begin(socket_crew *c, size_t n_workers) {
    assert_true(n_workers <= SOCKET_CREW_MOST);
    *c = (socket_crew){.port = {.n_workers = n_workers,
                                .send = send_to_workers,
                                .receive = receive_from_workers,
                                .name = name_worker},
                       .kill_before = PS_N_FRAME_KINDS};
    for (size_t w = 0; w < n_workers; w++) {
        int ends[2];
        (void)fflush(NULL);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        c->pids[w] = fork();
        assert_true(c->pids[w] >= 0);
        if (c->pids[w] == 0) {
            for (size_t before = 0; before < w; before++) {
                (void)close(c->fds[before]);
            }
            (void)close(ends[0]);
            _exit(ps_crew_work(ends[1], n_workers) ? 0 : 1);
        }
        (void)close(ends[1]);
        c->fds[w] = ends[0];
    }
    c->crew = ps_crew_new(&c->port);
    assert_non_null(c->crew);
}

void socket_crew_end(socket_crew *c) {
    ps_crew_free(c->crew);
    for (size_t w = 0; w < c->port.n_workers; w++) {
        int status = 0;
        if (c->fds[w] >= 0) {
            assert_int_equal(close(c->fds[w]), 0);
            assert_int_equal(waitpid(c->pids[w], &status, 0), c->pids[w]);
            assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        }
    }
}
