#include "mpi/mpi_port.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/publish.h"

enum { TAG_FRAME = 1, TAG_BYTES = 2, PAUSE_MS = 1, HOST_ROOM = 64 };
#define NO_WORKER "pipescope: cannot make a process that reads profiles (errno %d)\n"
#define PIECE_BYTES ((size_t)64 << 20) /* counts of MPI are ints */
#define WAITING_MOST                                                                               \
    ((size_t)256 << 20) /* bytes that wait to be sent, before the worker has to wait */

/* A frame on its way. */
typedef struct parcel {
    ps_frame frame;
    ps_buf bytes;
    size_t n_users; /* messages that are not through */
    struct parcel *next;
} parcel;

struct ps_mpi_port {
    ps_crew_port port;
    int self, n;
    char (*hosts)[HOST_ROOM]; /* [n], of the first process */
    int fd;                   /* to the worker, -1: none */
    pid_t worker;
    bool worker_died; /* and it was told */
    bool is_over;     /* END has come */
    size_t n_beside;
    parcel *coming;       /* from the worker, as far as it is there */
    size_t n_head;        /* bytes of its frame */
    parcel *first, *last; /* for the program */
    MPI_Request *requests;
    parcel **sendings; /* [n_requests] what they are of */
    size_t n_requests, cap_requests, cap_sendings;
    size_t waiting_bytes;
};

/* --- the worker ------------------------------------------------------------------------------------------------------ */

/* Its end is that of the process that made it, and nothing half-written stays then. */
static void follow_parent(pid_t parent) {
    struct sigaction action = {.sa_handler = ps_unfinished_end, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1);
    }
}

static void run_worker(int fd, pid_t parent) {
    uint64_t n_beside = 1;
    follow_parent(parent);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) { /* results are the program's to tell */
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
    }
    bool ok = read(fd, &n_beside, sizeof n_beside) == (ssize_t)sizeof n_beside &&
              ps_crew_work(fd, (size_t)n_beside);
    _exit(ok ? 0 : 1);
}

ps_mpi_port *ps_mpi_port_new(void) {
    int ends[2];
    pid_t parent = getpid();
    ps_mpi_port *p = ps_calloc(1, sizeof *p);
    if (p == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        ps_free(p);
        (void)fprintf(stderr, NO_WORKER, errno);
        return NULL;
    }
    p->worker = fork();
    if (p->worker == 0) {
        (void)close(ends[0]);
        ps_free(p);
        run_worker(ends[1], parent);
    }
    (void)close(ends[1]);
    p->fd = ends[0];
    if (p->worker < 0) {
        (void)fprintf(stderr, NO_WORKER, errno);
        (void)close(p->fd);
        ps_free(p);
        return NULL;
    }
    return p;
}

/* --- parcels --------------------------------------------------------------------------------------------------------- */

static parcel *new_parcel(void) {
    parcel *x = ps_calloc(1, sizeof *x);
    if (x != NULL) {
        ps_buf_init(&x->bytes, UINT32_MAX);
    }
    return x;
}

static void free_parcel(parcel *x) {
    if (x != NULL) {
        ps_buf_fini(&x->bytes);
        ps_free(x);
    }
}

static void end_message(ps_mpi_port *p, parcel *x) {
    if (--x->n_users == 0) {
        p->waiting_bytes -= x->bytes.len;
        free_parcel(x);
    }
}

/* Half a frame cannot be taken back, and the others would wait for the rest. */
static ps_code abort_job(ps_err *err) {
    (void)fprintf(stderr, "pipescope: out of memory for what processes tell one another\n");
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
    return ps_fail_nomem(err);
}

static ps_code start_message(ps_mpi_port *p, int to, int tag, const void *bytes, size_t n,
                             parcel *x, ps_err *err) {
    size_t need = p->n_requests + 1;
    if (!ps_grow(&p->requests, &p->cap_requests, need, INT32_MAX, sizeof *p->requests) ||
        !ps_grow(&p->sendings, &p->cap_sendings, need, INT32_MAX, sizeof *p->sendings)) {
        return abort_job(err);
    }
    (void)MPI_Isend(bytes, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &p->requests[p->n_requests]);
    p->sendings[p->n_requests++] = x;
    x->n_users++;
    return PS_OK;
}

static ps_code send_parcel(ps_mpi_port *p, int to, parcel *x, ps_err *err) {
    ps_code code = start_message(p, to, TAG_FRAME, &x->frame, sizeof x->frame, x, err);
    for (size_t at = 0; code == PS_OK && at < x->bytes.len; at += PIECE_BYTES) {
        size_t n = x->bytes.len - at < PIECE_BYTES ? x->bytes.len - at : PIECE_BYTES;
        code = start_message(p, to, TAG_BYTES, x->bytes.data + at, n, x, err);
    }
    return code;
}

/* What is through is forgotten. */
static bool end_messages(ps_mpi_port *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->n_requests; i++) {
        int is_through = 0;
        (void)MPI_Test(&p->requests[i], &is_through, MPI_STATUS_IGNORE);
        if (is_through != 0) {
            end_message(p, p->sendings[i]);
        } else {
            p->requests[kept] = p->requests[i];
            p->sendings[kept++] = p->sendings[i];
        }
    }
    bool any = kept < p->n_requests;
    p->n_requests = kept;
    return any;
}

/* --- the way of a frame ---------------------------------------------------------------------------------------------- */

/* The process below this one that leads to `to`. */
static int next_to(const ps_mpi_port *p, int to) {
    while ((to - 1) / 2 != p->self) {
        to = (to - 1) / 2;
    }
    return to;
}

static void give_worker(ps_mpi_port *p, const parcel *x) {
    if (p->fd >= 0 && !p->worker_died) {
        (void)!ps_frame_write(p->fd, &x->frame,
                              ps_buf_str(&x->bytes)); /* its end is noticed when it is read */
    }
}

/* Takes the parcel along: to the worker, on, or to the program. */
static ps_code hand_parcel_on(ps_mpi_port *p, parcel *x, ps_err *err) {
    ps_code code = PS_OK;
    x->n_users = 1; /* this one */
    p->waiting_bytes += x->bytes.len;
    if (x->frame.is_up != 0 && p->self == 0) {
        p->waiting_bytes -= x->bytes.len;
        x->next = NULL;
        *(p->last != NULL ? &p->last->next : &p->first) = x;
        p->last = x;
        return PS_OK;
    }
    bool to_all = x->frame.worker == PS_CREW_ALL;
    p->is_over = p->is_over || x->frame.kind == PS_FRAME_END;
    if (x->frame.is_up != 0) {
        code = send_parcel(p, (p->self - 1) / 2, x, err);
    } else if (to_all || (int)x->frame.worker == p->self) {
        give_worker(p, x);
    } else {
        code = send_parcel(p, next_to(p, (int)x->frame.worker), x, err);
    }
    for (int below = 2 * p->self + 1; to_all && code == PS_OK && below <= 2 * p->self + 2;
         below++) {
        code = below < p->n ? send_parcel(p, below, x, err) : PS_OK;
    }
    end_message(p, x);
    return code;
}

/* --- what comes ------------------------------------------------------------------------------------------------------ */

/* A frame of another process, if there is one. */
static ps_code take_message(ps_mpi_port *p, bool *any, ps_err *err) {
    int is_there = 0;
    MPI_Status status;
    (void)MPI_Iprobe(MPI_ANY_SOURCE, TAG_FRAME, MPI_COMM_WORLD, &is_there, &status);
    if (is_there == 0) {
        return PS_OK;
    }
    *any = true;
    parcel *x = new_parcel();
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    int from = status.MPI_SOURCE;
    (void)MPI_Recv(&x->frame, sizeof x->frame, MPI_BYTE, from, TAG_FRAME, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    char *at = ps_buf_room(&x->bytes, x->frame.n_bytes);
    for (size_t done = 0; at != NULL && done < x->frame.n_bytes; done += PIECE_BYTES) {
        size_t left = x->frame.n_bytes - done;
        (void)MPI_Recv(at + done, (int)(left < PIECE_BYTES ? left : PIECE_BYTES), MPI_BYTE, from,
                       TAG_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (at == NULL) {
        free_parcel(x);
        return abort_job(err);
    }
    ps_buf_wrote(&x->bytes, x->frame.n_bytes);
    return hand_parcel_on(p, x, err);
}

/* The worker is gone: how. */
static ps_code tell_end(ps_mpi_port *p, ps_err *err) {
    int status = 0;
    p->worker_died = true;
    free_parcel(p->coming);
    p->coming = NULL;
    while (waitpid(p->worker, &status, 0) < 0 && errno == EINTR) {
    }
    p->worker = -1;
    parcel *x = p->is_over ? NULL : new_parcel();
    if (x == NULL) {
        return p->is_over ? PS_OK : ps_fail_nomem(err);
    }
    if (WIFSIGNALED(status)) {
        ps_buf_addf(&x->bytes, "was ended by signal %d (%s)", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    } else {
        ps_buf_addf(&x->bytes, "ended with status %d", WEXITSTATUS(status));
    }
    x->frame = (ps_frame){
        .kind = PS_FRAME_DIED, .worker = (uint32_t)p->self, .is_up = 1, .n_bytes = x->bytes.len};
    return hand_parcel_on(p, x, err);
}

/* Reads what is there into `at`; false: nothing more now. *is_gone: the other end. */
static bool read_some(const ps_mpi_port *p, char *at, size_t n, size_t *done, bool *is_gone) {
    ssize_t got = recv(p->fd, at + *done, n - *done, MSG_DONTWAIT);
    if (got > 0) {
        *done += (size_t)got;
    }
    *is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return got > 0;
}

/* As much of a frame of the worker as is there. */
static ps_code take_from_worker(ps_mpi_port *p, bool *any, ps_err *err) {
    bool is_gone = false;
    if (p->fd < 0 || p->worker_died || p->waiting_bytes > WAITING_MOST) {
        return PS_OK;
    }
    if (p->coming == NULL && (p->coming = new_parcel()) == NULL) {
        return ps_fail_nomem(err);
    }
    parcel *x = p->coming;
    while (p->n_head < sizeof x->frame &&
           read_some(p, (char *)&x->frame, sizeof x->frame, &p->n_head, &is_gone)) {
        *any = true;
    }
    if (p->n_head == sizeof x->frame) {
        char *at = ps_buf_room(&x->bytes, x->frame.n_bytes - x->bytes.len);
        size_t done = 0;
        if (at == NULL) {
            return ps_fail_nomem(err);
        }
        while (done < x->frame.n_bytes - x->bytes.len &&
               read_some(p, at, x->frame.n_bytes - x->bytes.len, &done, &is_gone)) {
            *any = true;
        }
        ps_buf_wrote(&x->bytes, done);
    }
    if (is_gone) {
        *any = true;
        return tell_end(p, err);
    }
    if (p->n_head < sizeof x->frame || x->bytes.len < x->frame.n_bytes) {
        return PS_OK;
    }
    x->frame.worker = (uint32_t)p->self;
    x->frame.is_up = 1;
    p->coming = NULL;
    p->n_head = 0;
    return hand_parcel_on(p, x, err);
}

/* Moves what there is to be moved, or rests a moment: a process that asks all the time takes the time of those that read. */
static ps_code pump(ps_mpi_port *p, ps_err *err) {
    bool any = end_messages(p);
    ps_code code = take_message(p, &any, err);
    code = code == PS_OK ? take_from_worker(p, &any, err) : code;
    if (code == PS_OK && !any) {
        bool listens = p->fd >= 0 && !p->worker_died && p->waiting_bytes <= WAITING_MOST;
        struct pollfd fd = {.fd = listens ? p->fd : -1, .events = POLLIN};
        (void)poll(&fd, 1, PAUSE_MS);
    }
    return code;
}

/* --- the program's side ---------------------------------------------------------------------------------------------- */

static ps_code send_to_workers(ps_crew_port *port, const ps_frame *frame, const void *bytes,
                               ps_err *err) {
    ps_mpi_port *p = (ps_mpi_port *)port;
    parcel *x = new_parcel();
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    x->frame = *frame;
    ps_buf_add(&x->bytes, bytes, frame->n_bytes);
    if (!ps_buf_ok(&x->bytes)) {
        free_parcel(x);
        return ps_fail_nomem(err);
    }
    (void)end_messages(p);
    return hand_parcel_on(p, x, err);
}

static ps_code receive_from_workers(ps_crew_port *port, ps_frame *frame, ps_buf *bytes,
                                    ps_err *err) {
    ps_mpi_port *p = (ps_mpi_port *)port;
    ps_code code = PS_OK;
    while (code == PS_OK && p->first == NULL) {
        code = pump(p, err);
    }
    if (code != PS_OK) {
        return code;
    }
    parcel *x = p->first;
    p->first = x->next;
    p->last = p->first != NULL ? p->last : NULL;
    *frame = x->frame;
    ps_buf_fini(bytes);
    *bytes = x->bytes;
    ps_free(x);
    return PS_OK;
}

static void name_mpi_process(const ps_crew_port *port, size_t worker, char *out, size_t size) {
    const ps_mpi_port *p = (const ps_mpi_port *)port;
    (void)snprintf(out, size, "process %zu on %s", worker, p->hosts[worker]);
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

/* The program works while the workers rest, and writes its tables then: it may use the processors of all processes of its machine, each of
 * which MPI may have bound to one. */
static void unbind_program(const cpu_set_t *all, int n) {
    cpu_set_t together;
    CPU_ZERO(&together);
    for (int i = 0; i < n; i++) {
        CPU_OR(&together, &together, &all[i]);
    }
    (void)sched_setaffinity(0, sizeof together, &together); /* else it stays where it is */
}

/* Looks at where the processes of this machine may run, and counts those that may use the same processors. */
static ps_code share_processors(ps_mpi_port *p, ps_err *err) {
    MPI_Comm here;
    int n = 1;
    cpu_set_t own;
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    (void)MPI_Comm_size(here, &n);
    cpu_set_t *all = ps_calloc((size_t)n, sizeof *all);
    if (all == NULL) {
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
        return ps_fail_nomem(err);
    }
    (void)MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, here);
    p->n_beside = 0;
    for (int i = 0; i < n; i++) {
        p->n_beside += CPU_EQUAL(&all[i], &own) != 0;
    }
    if (p->self == 0) {
        unbind_program(all, n);
    }
    ps_free(all);
    (void)MPI_Comm_free(&here);
    return PS_OK;
}

ps_code ps_mpi_port_begin(ps_mpi_port *p, ps_err *err) {
    char host[HOST_ROOM] = "?";
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &p->self);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &p->n);
    if (gethostname(host, sizeof host - 1) != 0) {
        host[0] = '?';
    }
    if (p->self == 0) {
        p->hosts = ps_calloc((size_t)p->n, sizeof *p->hosts);
        if (p->hosts == NULL) {
            return ps_fail_nomem(err);
        }
    }
    (void)MPI_Gather(host, HOST_ROOM, MPI_CHAR, p->hosts, HOST_ROOM, MPI_CHAR, 0, MPI_COMM_WORLD);
    p->port = (ps_crew_port){.n_workers = (size_t)p->n,
                             .send = send_to_workers,
                             .receive = receive_from_workers,
                             .name = name_mpi_process};
    ps_code code = share_processors(p, err);
    uint64_t n_beside = p->n_beside;
    (void)!send(p->fd, &n_beside, sizeof n_beside,
                MSG_NOSIGNAL); /* its end is noticed when it is read */
    return code;
}

bool ps_mpi_port_is_first(const ps_mpi_port *p) {
    return p->self == 0;
}

ps_crew_port *ps_mpi_crew_port(ps_mpi_port *p) {
    return &p->port;
}

ps_code ps_mpi_port_relay(ps_mpi_port *p, ps_err *err) {
    ps_code code = PS_OK;
    while (code == PS_OK && !p->is_over) {
        code = pump(p, err);
    }
    return code;
}

void ps_mpi_port_free(ps_mpi_port *p) {
    if (p == NULL) {
        return;
    }
    while (p->n_requests > 0) {
        if (!end_messages(p)) {
            (void)poll(NULL, 0, PAUSE_MS);
        }
    }
    if (p->worker > 0) { /* in the middle of a rank that nobody wants any more */
        (void)close(p->fd);
        (void)kill(p->worker, SIGTERM);
        while (waitpid(p->worker, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    free_parcel(p->coming);
    while (p->first != NULL) {
        parcel *x = p->first;
        p->first = x->next;
        free_parcel(x);
    }
    ps_free(p->requests);
    ps_free(p->sendings);
    ps_free(p->hosts);
    ps_free(p);
}
