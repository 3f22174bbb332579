/* The HTTP server: libmicrohttpd, sockets, who may ask, and what is fixed (page, script, style).
 *
 * Every route below /api/ needs `Authorization: Bearer TOKEN`. A request whose Host is not one of the server's own names,
 * or whose Origin (when it has one) is not, gets 403. Nothing that a client says is ever used as a path. */
#ifndef PS_SERVE_SERVER_H
#define PS_SERVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/rank/store.h"

typedef struct ps_server ps_server;

#define PS_SERVER_URL 640 /* room for any URL of ps_server_url() */

typedef struct ps_server_opts {
    const char *host;     /* address to bind, NULL: 127.0.0.1 */
    uint16_t port;        /* 0: any free one */
    const char *token;    /* letters, digits, - and _; NULL: a random one */
    uint32_t max_clients; /* connections at once; 0: 2000 */
    uint32_t
        idle_s; /* a connection that says nothing, or does not come to an end of what it asks, is closed after
                             this; 0: 30 */
    /* Called when the socket is bound and nothing was answered yet, with the URL. May be NULL. */
    void (*bound)(void *context, const char *url);
    void *context;
} ps_server_opts;

/* Starts threads and returns. The store must outlive it. PS_USAGE: the address or the token is none; PS_BUSY: the port is
 * taken; PS_IO: anything else of the system. The caller stops it with ps_server_stop(). */
ps_server *ps_server_start(ps_store *store, const ps_server_opts *opts, ps_err *err);
/* Lets requests that are being answered end (for up to 2 s), then closes everything and frees. False: an answer was still
 * being made then, so nothing was freed and the store is in use: the process should end. PS_IO in `left`: a file that a
 * client sent could not be removed. NULL is fine. */
bool ps_server_stop(ps_server *s, ps_err *left);
/* The store has changed: those who wait for events get them. For ps_store_opts.changed. */
void ps_server_notify(ps_server *s);

/* Only programs of this machine reach it. */
bool ps_server_is_local(const ps_server *s);
uint16_t ps_server_port(const ps_server *s);
const char *ps_server_token(const ps_server *s);
/* "http://127.0.0.1:8686/#token=..." */
void ps_server_url(const ps_server *s, char *out, size_t size);

#endif
