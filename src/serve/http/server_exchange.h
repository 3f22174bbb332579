/* Inside the server: one connection, one request on it and its reply. server_exchange.c answers, server.c owns sockets, threads and
 * the lists below.
 *
 * A request comes as a series of calls of libmicrohttpd: its address (exchange_new), its headers, pieces of its body, its end;
 * then, when it was set aside, one more when it is to go on. All calls of one connection come from one thread. */
#ifndef PS_SERVE_SERVER_EXCHANGE_H
#define PS_SERVE_SERVER_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "serve/http/assets.h"
#include "serve/http/guard.h"
#include "serve/http/route.h"
#include "serve/http/server.h"
#include "serve/rank/cache.h"
#include "serve/rank/job_queue.h"
#include "serve/rank/uploads.h"

#define PS_MAX_URI ((size_t)16 << 10)

/* A connection, in the server's list; under its lock. */
typedef struct ps_conn {
    struct ps_conn *next, *prev;
    int fd;
    bool is_reading;  /* waits for a request or the rest of one */
    int64_t since_ms; /* that it does so, by the monotonic clock */
    ps_watch
        *asked; /* of the request that is set aside, or NULL: libmicrohttpd does not look then */
} ps_conn;

typedef struct ps_exchange {
    ps_server *server;
    ps_conn *conn;
    struct MHD_Connection *mhd;
    char *uri; /* path, zero byte, query */
    char *query;
    bool has_begun;   /* its headers were looked at */
    bool is_complete; /* and counts as being answered */
    bool has_waited;  /* for a change, once */
    bool
        is_answered; /* by `reply`, `allowed` or `asset`, which is to be sent when the request goes on */
    const char *allowed; /* methods, for a 405 */
    ps_asset asset;
    const ps_route *route; /* NULL: of none */
    ps_request request;
    ps_buf body;
    ps_upload *upload; /* instead of it, where the route takes a file */
    ps_reply *reply;   /* when it was made, until it is sent */
    ps_job job;
    ps_watch watch; /* stopped when the connection has closed */
    /* while it waits for a change, in the server's list; under its lock */
    struct ps_exchange *next_waiting;
    int64_t waits_since_ms;
} ps_exchange;

struct ps_server {
    ps_store *store;
    ps_cache *cache;
    ps_uploads *uploads;
    ps_job_queue *queue;
    ps_guard guard;
    struct MHD_Daemon *daemon;
    int listen_fd;
    uint16_t port;
    bool is_v6, is_local;
    uint32_t idle_s;
    pthread_mutex_t lock;
    pthread_cond_t wake;  /* the keeper: a change, a new one who waits, the end */
    pthread_cond_t quiet; /* a request was answered, a connection has ended */
    pthread_t keeper;
    bool has_keeper;
    bool is_changed, is_stopping, is_hanging_up, is_over; /* under lock */
    size_t n_answering; /* requests complete and not yet sent; under lock */
    ps_conn *conns;
    size_t n_conns;
    unsigned max_conns;
    ps_exchange *waiting;
};

/* Whether the other side has closed, or half of it: who hangs up cannot be told from who only says no more, and waits for nothing. */
bool ps_socket_is_gone(int fd);

/* The callbacks of libmicrohttpd. */
void *ps_exchange_new(void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result ps_exchange_go(void *server, struct MHD_Connection *mhd, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **exchange);
void ps_exchange_done(void *server, struct MHD_Connection *mhd, void **exchange,
                      enum MHD_RequestTerminationCode how);

#endif
