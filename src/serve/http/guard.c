#include "serve/http/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/num.h"
#include "base/random.h"

/* --- the token ------------------------------------------------------------------------------------------------- */

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static ps_code random_token(ps_guard *g, ps_err *err) {
    unsigned char bytes[PS_TOKEN_CHARS];
    if (!ps_random_bytes(bytes, sizeof bytes)) {
        return ps_fail(err, PS_IO, "the system gives no random numbers for a token");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        g->token[i] = ALPHABET[bytes[i] & 63];
    }
    g->token_len = sizeof bytes;
    g->token[g->token_len] = '\0';
    return PS_OK;
}

static ps_code given_token(ps_guard *g, const char *token, ps_err *err) {
    size_t n = strlen(token);
    if (n == 0 || n > PS_GUARD_MAX_TOKEN || strspn(token, ALPHABET) != n) {
        return ps_fail(err, PS_USAGE, "a token is 1 to %d letters, digits, hyphens and underscores",
                       PS_GUARD_MAX_TOKEN);
    }
    memcpy(g->token, token, n + 1);
    g->token_len = n;
    return PS_OK;
}

ps_code ps_guard_init(ps_guard *g, const char *host, bool is_loopback, bool any_address,
                      const char *token, ps_err *err) {
    *g = (ps_guard){.any_address = any_address};
    (void)snprintf(g->host, sizeof g->host, "%s", host);
    if (!is_loopback && gethostname(g->machine, sizeof g->machine - 1) != 0) {
        g->machine[0] = '\0';
    }
    return token != NULL ? given_token(g, token, err) : random_token(g, err);
}

bool ps_guard_token(const ps_guard *g, const char *authorization) {
    static const char BEARER[] = "Bearer ";
    if (authorization == NULL || strncasecmp(authorization, BEARER, sizeof BEARER - 1) != 0) {
        return false;
    }
    const char *given = authorization + sizeof BEARER - 1;
    size_t n = strlen(given);
    size_t difference = n ^ g->token_len;
    for (size_t i = 0; i < g->token_len; i++) {
        /* Behind a shorter one stands its zero byte, again and again. */
        difference |= (unsigned char)g->token[i] ^ (unsigned char)given[i < n ? i : n];
    }
    return difference == 0;
}

/* --- names ----------------------------------------------------------------------------------------------------- */

/* "name:8686" or "[::1]:8686" without port and brackets. False: it is neither. */
static bool guard_name_of(const char *host, char name[PS_GUARD_MAX_HOST], bool *is_v6) {
    *is_v6 = host[0] == '[';
    host += *is_v6;
    size_t n = strcspn(host, *is_v6 ? "]" : ":");
    if (n == 0 || n >= PS_GUARD_MAX_HOST || (*is_v6 && host[n] != ']')) {
        return false;
    }
    memcpy(name, host, n);
    name[n] = '\0';
    const char *rest = host + n + *is_v6;
    int64_t port = 0;
    return *rest == '\0' || (*rest == ':' && ps_parse_i64(rest + 1, strlen(rest + 1), &port) &&
                             port > 0 && port < 65536);
}

static bool same_v6(const char *a, const char *b) {
    struct in6_addr x;
    struct in6_addr y;
    return inet_pton(AF_INET6, a, &x) == 1 && inet_pton(AF_INET6, b, &y) == 1 &&
           memcmp(&x, &y, sizeof x) == 0;
}

static bool is_v4(const char *name, bool *is_loopback) {
    struct in_addr address;
    bool is = inet_pton(AF_INET, name, &address) == 1;
    *is_loopback = is && (ntohl(address.s_addr) >> 24) == 127;
    return is;
}

bool ps_guard_host(const ps_guard *g, const char *host) {
    char name[PS_GUARD_MAX_HOST];
    bool is_v6 = false;
    if (host == NULL || !guard_name_of(host, name, &is_v6)) {
        return false;
    }
    if (is_v6) {
        struct in6_addr any;
        return same_v6(name, "::1") || same_v6(name, g->host) ||
               (g->any_address && inet_pton(AF_INET6, name, &any) == 1);
    }
    bool is_loopback = false;
    bool is_address = is_v4(name, &is_loopback);
    /* A page of another site cannot be at an address of ours: addresses need no name server that lies. */
    return is_loopback || (is_address && g->any_address) || strcasecmp(name, "localhost") == 0 ||
           strcasecmp(name, g->host) == 0 ||
           (g->machine[0] != '\0' && strcasecmp(name, g->machine) == 0);
}

bool ps_guard_origin(const char *origin, const char *host) {
    static const char *const SCHEMES[] = {"http://", "https://"}; /* the second: behind a proxy */
    if (origin == NULL) {
        return true;
    }
    for (size_t i = 0; host != NULL && i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
        size_t n = strlen(SCHEMES[i]);
        if (strncasecmp(origin, SCHEMES[i], n) == 0 && strcasecmp(origin + n, host) == 0) {
            return true;
        }
    }
    return false;
}
