/* The life of the server: the socket, the threads of libmicrohttpd (poll, each with its share of the connections), the
 * workers of slow routes (work.c), and the *keeper*, a thread that wakes those who wait for a change and closes connections
 * that take too long to say what they want. The idle timeout of libmicrohttpd alone would let a client live for ever that
 * sends a byte now and then. */
#include "serve/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/monotonic.h"
#include "base/threads.h"
#include "serve/http/server_exchange.h"

enum {
    DEFAULT_CLIENTS = 2000,
    DEFAULT_IDLE_S = 30,
    BACKLOG = 1024,
    CONNECTION_BYTES = 48 * 1024, /* address, headers and what is on its way */
    FILES_KEPT_FREE = 64,         /* for the ranks being read */
    PATIENCE_MS = 2000,
    CROWD_IDLE_MS = 1000, /* how long a connection may be idle while most of them are taken */
    LOOK_MS = 250         /* of the keeper, when nothing changes */
};

static struct timespec time_of_ms(int64_t ms) {
    return (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}

/* --- the keeper ------------------------------------------------------------------------------------------------ */

/* Lets those go on who have something to hear, or have waited long enough. Under the lock. */
static void wake_waiting(ps_server *s, int64_t now_ms) {
    ps_exchange **link = &s->waiting;
    while (*link != NULL) {
        ps_exchange *e = *link;
        int64_t waited_ms = now_ms - e->waits_since_ms;
        if (s->is_stopping || waited_ms >= PS_WAIT_S * 1000 || atomic_load(&e->watch.stop) ||
            !e->route->must_wait(&e->request, waited_ms)) {
            *link = e->next_waiting;
            MHD_resume_connection(e->mhd);
        } else {
            link = &e->next_waiting;
        }
    }
}

/* Who has not come to an end of asking is cut off, soon where others may find no place; libmicrohttpd notices and cleans up. Under the
 * lock. */
static void cut_slow(ps_server *s, int64_t now_ms) {
    int64_t idle_ms = (int64_t)s->idle_s * 1000;
    bool is_crowded = s->n_conns > s->max_conns - s->max_conns / 4;
    idle_ms = is_crowded && idle_ms > CROWD_IDLE_MS ? CROWD_IDLE_MS : idle_ms;
    for (ps_conn *c = s->conns; c != NULL; c = c->next) {
        if (c->is_reading && now_ms - c->since_ms > idle_ms) {
            (void)shutdown(c->fd, SHUT_RDWR);
            c->is_reading = false;
        }
    }
}

bool ps_socket_is_gone(int fd) {
    struct pollfd at = {.fd = fd, .events = POLLRDHUP};
    return poll(&at, 1, 0) > 0;
}

/* What was asked by those who have hung up is not worked on any more; `all`: nor what others wait for. Under the lock. */
static void stop_abandoned(ps_server *s, bool all) {
    for (ps_conn *c = s->conns; c != NULL; c = c->next) {
        if (c->asked != NULL && (all || ps_socket_is_gone(c->fd))) {
            atomic_store(&c->asked->stop, true);
            c->asked = NULL;
        }
    }
}

static void *keep_server(void *context) {
    ps_server *s = context;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_over) {
        int64_t now_ms = ps_monotonic_ms();
        s->is_changed = false;
        stop_abandoned(s, false);
        wake_waiting(s, now_ms);
        cut_slow(s, now_ms);
        struct timespec next = time_of_ms(now_ms + LOOK_MS);
        int status = 0;
        while (!s->is_over && !s->is_changed && status == 0) {
            status = pthread_cond_timedwait(&s->wake, &s->lock, &next);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

void ps_server_notify(ps_server *s) {
    (void)pthread_mutex_lock(&s->lock);
    s->is_changed = true;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
}

/* --- connections ----------------------------------------------------------------------------------------------- */

static int socket_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

static void connect_one(ps_server *s, struct MHD_Connection *mhd, void **context) {
    ps_conn *c = ps_calloc(1, sizeof *c);
    *context = c; /* without one, every request of it is refused */
    if (c == NULL) {
        return;
    }
    c->fd = socket_of(mhd);
    c->is_reading = true;
    c->since_ms = ps_monotonic_ms();
    (void)pthread_mutex_lock(&s->lock);
    c->next = s->conns;
    if (s->conns != NULL) {
        s->conns->prev = c;
    }
    s->conns = c;
    s->n_conns++;
    if (s->is_hanging_up) {
        (void)shutdown(c->fd, SHUT_RDWR);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* Called before the socket is closed: the keeper never touches one that is another's by now. */
static void disconnect_one(ps_server *s, void **context) {
    ps_conn *c = *context;
    *context = NULL;
    if (c == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&s->lock);
    *(c->prev != NULL ? &c->prev->next : &s->conns) = c->next;
    s->n_conns--;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    (void)pthread_cond_broadcast(&s->quiet);
    (void)pthread_mutex_unlock(&s->lock);
    ps_free(c);
}

static void on_connection(void *server, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        connect_one(server, mhd, context);
    } else {
        disconnect_one(server, context);
    }
}

/* --- the socket ------------------------------------------------------------------------------------------------ */

typedef struct place {
    struct sockaddr_storage address;
    socklen_t size;
    bool is_loopback, is_any;
} place;

static void judge_place(place *p) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&p->address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&p->address;
    if (p->address.ss_family == AF_INET) {
        p->is_loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
        p->is_any = v4->sin_addr.s_addr == htonl(INADDR_ANY);
    } else {
        p->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        p->is_any = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
    }
}

/* An address, or a name that has one; of several the first of IPv4. */
static ps_code find_place(const char *host, uint16_t port, place *out, ps_err *err) {
    char service[8];
    (void)snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int status = getaddrinfo(host, service, &hints, &found);
    if (status != 0) {
        return ps_fail(err, PS_USAGE, "'%s' is no address of this machine: %s", host,
                       gai_strerror(status));
    }
    const struct addrinfo *best = found;
    while (best != NULL && best->ai_family != AF_INET) {
        best = best->ai_next;
    }
    best = best != NULL ? best : found;
    *out = (place){.size = best->ai_addrlen};
    memcpy(&out->address, best->ai_addr, best->ai_addrlen);
    freeaddrinfo(found);
    judge_place(out);
    return PS_OK;
}

static ps_code bind_failed(const char *host, uint16_t port, ps_err *err) {
    int why = errno;
    char text[128] = "";
    if (why == EADDRINUSE) {
        return ps_fail(err, PS_BUSY,
                       "port %u of %s is taken by another program: --port 0 takes a free one", port,
                       host);
    }
    if (why == EACCES) {
        return ps_fail(err, PS_IO, "port %u of %s is reserved: take one of 1024 or above", port,
                       host);
    }
    if (why == EADDRNOTAVAIL) {
        return ps_fail(err, PS_USAGE, "'%s' is no address of this machine", host);
    }
    return ps_fail(err, PS_IO, "cannot listen on port %u of %s: %s", port, host,
                   ps_errno_text(why, text, sizeof text));
}

static uint16_t port_of(int fd) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        return 0;
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&address;
    return ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
}

static ps_code listen_at(ps_server *s, const place *p, const char *host, uint16_t port,
                         ps_err *err) {
    s->is_v6 = p->address.ss_family == AF_INET6;
    s->listen_fd = socket(p->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->listen_fd < 0) {
        return bind_failed(host, port, err);
    }
    int on = 1;
    int off = 0;
    (void)setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s->is_v6) {
        (void)setsockopt(s->listen_fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(s->listen_fd, (const struct sockaddr *)&p->address, p->size) != 0 ||
        listen(s->listen_fd, BACKLOG) != 0) {
        return bind_failed(host, port, err);
    }
    s->port = port_of(s->listen_fd);
    return PS_OK;
}

/* --- start ----------------------------------------------------------------------------------------------------- */

static size_t server_between(size_t least, size_t n, size_t most) {
    return n < least ? least : n > most ? most : n;
}

/* Every connection is an open file. */
static unsigned client_limit(uint32_t wanted) {
    struct rlimit files;
    rlim_t limit = wanted != 0 ? wanted : DEFAULT_CLIENTS;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        limit + FILES_KEPT_FREE > files.rlim_cur) {
        limit = files.rlim_cur > 2 * FILES_KEPT_FREE ? files.rlim_cur - FILES_KEPT_FREE
                                                     : FILES_KEPT_FREE;
    }
    return (unsigned)limit;
}

/* Its messages are about clients, and there is nobody to read them. */
static void discard_message(void *context, const char *format, va_list values) {
    (void)context;
    (void)format;
    (void)values;
}

static ps_code start_daemon(ps_server *s, ps_err *err) {
    /* Not epoll: libmicrohttpd 0.9.75 asks it for changes only, and with a thousand connections at once it now and then
     * misses one, whose request then lies unread until the connection is cut. */
    unsigned flags =
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (s->is_v6 ? MHD_USE_IPv6 : 0u);
    unsigned n_threads = (unsigned)server_between(2, ps_n_processors(), 8);
    s->daemon = MHD_start_daemon(
        flags, s->port, NULL, NULL, ps_exchange_go, s, MHD_OPTION_EXTERNAL_LOGGER, discard_message,
        NULL, MHD_OPTION_LISTEN_SOCKET, s->listen_fd, MHD_OPTION_THREAD_POOL_SIZE, n_threads,
        MHD_OPTION_CONNECTION_LIMIT, s->max_conns, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)s->idle_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, ps_exchange_new, s,
        MHD_OPTION_NOTIFY_COMPLETED, ps_exchange_done, s, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_END);
    return s->daemon != NULL ? PS_OK
                             : ps_fail(err, PS_IO, "the server's threads cannot be started");
}

/* A sixteenth of the memory, for results that several requests share. */
static size_t cache_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
    return server_between((size_t)256 << 20, memory / 16, (size_t)4 << 30);
}

static ps_code start_threads(ps_server *s, ps_err *err) {
    s->cache = ps_cache_new(cache_bytes());
    s->uploads = ps_uploads_new(ps_store_max_bytes(s->store));
    s->queue = ps_job_queue_new(server_between(2, ps_n_processors(), 8));
    if (s->cache == NULL || s->queue == NULL || s->uploads == NULL) {
        return ps_fail_nomem(err);
    }
    s->has_keeper = pthread_create(&s->keeper, NULL, keep_server, s) == 0;
    if (!s->has_keeper) {
        return ps_fail(err, PS_IO, "the server's threads cannot be started");
    }
    return start_daemon(s, err);
}

static ps_server *new_server(ps_store *store, const ps_server_opts *opts) {
    ps_server *s = ps_calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->store = store;
    s->listen_fd = -1;
    s->idle_s = opts->idle_s != 0 ? opts->idle_s : DEFAULT_IDLE_S;
    s->max_conns = client_limit(opts->max_clients);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->wake, &attr);
    (void)pthread_cond_init(&s->quiet, &attr);
    (void)pthread_condattr_destroy(&attr);
    return s;
}

ps_server *ps_server_start(ps_store *store, const ps_server_opts *opts, ps_err *err) {
    ps_server *s = new_server(store, opts);
    if (s == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    const char *host = opts->host != NULL ? opts->host : "127.0.0.1";
    place at;
    ps_code code = find_place(host, opts->port, &at, err);
    if (code == PS_OK) {
        code = ps_guard_init(&s->guard, host, at.is_loopback, at.is_any, opts->token, err);
    }
    if (code == PS_OK) {
        s->is_local = at.is_loopback;
        code = listen_at(s, &at, host, opts->port, err);
    }
    if (code == PS_OK && opts->bound != NULL) {
        char url[PS_SERVER_URL];
        ps_server_url(s, url, sizeof url);
        opts->bound(opts->context, url);
    }
    if (code == PS_OK) {
        code = start_threads(s, err);
    }
    if (code != PS_OK) {
        (void)ps_server_stop(s, NULL);
        return NULL;
    }
    return s;
}

/* --- stop ------------------------------------------------------------------------------------------------------ */

/* Waits until all that was asked is answered, or for two seconds. */
static void let_answers_end(ps_server *s) {
    struct timespec end = time_of_ms(ps_monotonic_ms() + PATIENCE_MS);
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    s->is_changed = true;
    (void)pthread_cond_signal(&s->wake);
    int status = 0;
    while (s->n_answering > 0 && status == 0) {
        status = pthread_cond_timedwait(&s->quiet, &s->lock, &end);
    }
    stop_abandoned(s, true);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Hangs up on everybody and waits until libmicrohttpd has noticed. It must have nothing to do any more when it is stopped: its
 * version 0.9.75 crashes when it meets a malformed request at that moment. */
static bool hang_up(ps_server *s) {
    struct timespec end = time_of_ms(ps_monotonic_ms() + PATIENCE_MS);
    (void)pthread_mutex_lock(&s->lock);
    s->is_hanging_up = true; /* connections that were on the way here come yet */
    for (const ps_conn *c = s->conns; c != NULL; c = c->next) {
        (void)shutdown(c->fd, SHUT_RDWR);
    }
    int status = 0;
    while (s->conns != NULL && status == 0) {
        status = pthread_cond_timedwait(&s->quiet, &s->lock, &end);
    }
    bool is_empty = s->conns == NULL;
    (void)pthread_mutex_unlock(&s->lock);
    return is_empty;
}

static void end_keeper(ps_server *s) {
    (void)pthread_mutex_lock(&s->lock);
    s->is_over = true;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    if (s->has_keeper) {
        (void)pthread_join(s->keeper, NULL);
    }
}

bool ps_server_stop(ps_server *s, ps_err *left) {
    if (s == NULL) {
        return true;
    }
    if (s->daemon != NULL) {
        (void)MHD_quiesce_daemon(s->daemon);
        let_answers_end(s);
    }
    if (s->uploads != NULL) {
        (void)ps_uploads_clear(s->uploads, left); /* also where the process ends without the rest */
    }
    /* A worker whose answer was sent already may be about to leave it. */
    if (s->queue != NULL && !ps_job_queue_stop(s->queue, 100)) {
        return false;
    }
    end_keeper(s);
    if (s->daemon != NULL) {
        if (!hang_up(s)) {
            return false;
        }
        MHD_stop_daemon(s->daemon);
    }
    if (s->listen_fd >= 0) {
        (void)close(s->listen_fd);
    }
    ps_job_queue_free(s->queue);
    ps_cache_free(s->cache);
    ps_uploads_free(s->uploads);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_cond_destroy(&s->quiet);
    (void)pthread_mutex_destroy(&s->lock);
    ps_free(s);
    return true;
}

/* --- what it is called ----------------------------------------------------------------------------------------- */

bool ps_server_is_local(const ps_server *s) {
    return s->is_local;
}

uint16_t ps_server_port(const ps_server *s) {
    return s->port;
}

const char *ps_server_token(const ps_server *s) {
    return s->guard.token;
}

void ps_server_url(const ps_server *s, char *out, size_t size) {
    const ps_guard *g = &s->guard;
    const char *host = g->any_address && g->machine[0] != '\0' ? g->machine : g->host;
    bool brackets = strchr(host, ':') != NULL;
    (void)snprintf(out, size, "http://%s%s%s:%u/#token=%s", brackets ? "[" : "", host,
                   brackets ? "]" : "", s->port, g->token);
}
