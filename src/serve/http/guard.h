/* Who may ask: the token, and the names under which a page of ours can have been opened. Pages of other sites reach a
 * loopback server too, by its address or by a name of theirs that they let point to it (DNS rebinding): what gives them away
 * is the Origin and the Host that the browser sends. */
#ifndef PS_SERVE_GUARD_H
#define PS_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define PS_TOKEN_CHARS 32 /* of a random one */
#define PS_GUARD_MAX_TOKEN 256
#define PS_GUARD_MAX_HOST 256

typedef struct ps_guard {
    char token[PS_GUARD_MAX_TOKEN + 1];
    size_t token_len;
    char host[PS_GUARD_MAX_HOST];    /* that the user gave, without brackets */
    char machine[PS_GUARD_MAX_HOST]; /* name of this machine, "" when only its loopback is bound */
    bool any_address;                /* bound to all addresses of the machine */
} ps_guard;

/* `token` NULL: a random one. PS_USAGE: it has other characters than letters, digits, - and _, or is empty or too long.
 * PS_IO: there is no randomness. */
PS_MUST_USE ps_code ps_guard_init(ps_guard *g, const char *host, bool is_loopback, bool any_address,
                                  const char *token, ps_err *err);

/* A header's value or NULL. Loopback names are fine with any port, since the port at the other end of an SSH tunnel is
 * another one. */
bool ps_guard_host(const ps_guard *g, const char *host);
/* Of this very host, or none given. */
bool ps_guard_origin(const char *origin, const char *host);
/* "Bearer TOKEN"; takes as long for a wrong token as for the right one. */
bool ps_guard_token(const ps_guard *g, const char *authorization);

#endif
