/* Tiles over HTTP: tiles [SLICES]
 *
 * Starts the server in this process on a rank whose slices all lie on one track, half of them one after the other and half
 * calls within calls, and asks for tiles at random levels and places over one kept connection on the loopback. Fails when
 * the 99th of 100 replies takes longer than 5 ms. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "serve/http/server.h"
#include "serve/rank/loaded.h"
#include "serve/rank/store.h"

enum { DEFAULT_SLICES = 5000000, ASKS = 5000 };

#define BAR_MS 5.0
#define BAR_BYTES 48.0

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "tiles: %s\n", what);
    exit(1);
}

static int64_t below(ps_rng *rng, int64_t n) {
    return (int64_t)ps_rng_below(rng, (uint64_t)n);
}

static void add(ps_builder *b, uint32_t track, ps_str name, int64_t start, int64_t end) {
    if (ps_builder_slice(b, PS_SLICE_HOST_OP, track, name, start, end, 0) == PS_NONE) {
        die("no memory for so many slices");
    }
}

static ps_trace *make(uint32_t n) {
    ps_builder *b = ps_builder_new();
    uint32_t track =
        ps_builder_track(b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 7, .device = -1});
    ps_str names[64];
    for (int i = 0; i < 64; i++) {
        char text[24];
        names[i] = ps_builder_str(b, text, (size_t)snprintf(text, sizeof text, "aten::op_%d", i));
    }
    static const int64_t APART_NS[] = {1000, 30, 200000, 5000};
    ps_rng rng = ps_rng_seed(3);
    int64_t now = 0;
    uint32_t i = 0;
    while (i < n / 2) {
        int64_t apart = APART_NS[i / 70000 % 4];
        int64_t dur = below(&rng, apart);
        add(b, track, names[i % 64], now, now + dur);
        now += dur + below(&rng, apart);
        i++;
    }
    while (i < n) {
        int64_t depth = 1 + below(&rng, 12);
        int64_t length = 2000 + below(&rng, 30000);
        for (int64_t d = 0; d < depth && i < n; d++, i++) {
            add(b, track, names[i % 64], now + d * 60, now + length - d * 60);
        }
        now += length + below(&rng, 5000);
    }
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_builder_seal(b, &err);
    if (t == NULL) {
        die(err.msg);
    }
    return t;
}

/* --- the client ----------------------------------------------------------------------------------------------- */

static int dial(uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
        die("cannot connect");
    }
    return fd;
}

/* Reads one reply with a Content-Length into `buf`; gives the bytes of its body. */
static size_t read_reply(int fd, char *buf, size_t size) {
    size_t n = 0;
    size_t whole = 0;
    size_t head = 0;
    while (whole == 0 || n < whole) {
        ssize_t got = read(fd, buf + n, size - 1 - n);
        if (got <= 0) {
            die("the server has closed the connection");
        }
        n += (size_t)got;
        buf[n] = '\0';
        char *end = whole == 0 ? strstr(buf, "\r\n\r\n") : NULL;
        if (end != NULL) {
            char *length = strcasestr(buf, "Content-Length:");
            if (strncmp(buf, "HTTP/1.1 200", 12) != 0 || length == NULL) {
                die(buf);
            }
            head = (size_t)(end + 4 - buf);
            whole = head + strtoull(length + 15, NULL, 10);
        }
    }
    return whole - head;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static size_t ask(int fd, const ps_server *server, const char *what, char *buf, size_t size) {
    char text[1024];
    int n =
        snprintf(text, sizeof text,
                 "GET /api/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n\r\n",
                 what, ps_server_port(server), ps_server_token(server));
    if (write(fd, text, (size_t)n) != n) {
        die("cannot ask");
    }
    return read_reply(fd, buf, size);
}

/* What a table over all slices takes, the first time and from the cache. */
static void ask_tables(const ps_server *server) {
    static const char *const ASKED[] = {"stats?rank=bench&lanes=0", "slices?rank=bench&lanes=0",
                                        "slices?rank=bench&lanes=0&sort=duration&desc=1",
                                        "slices?rank=bench&lanes=0&filter={\"name\":\"op_7\"}"};
    static char buf[1 << 20];
    int fd = dial(ps_server_port(server));
    for (size_t i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
        double start = now_s();
        (void)ask(fd, server, ASKED[i], buf, sizeof buf);
        double first = now_s();
        (void)ask(fd, server, ASKED[i], buf, sizeof buf);
        printf("%-60s %8.0f ms, again %.1f ms\n", ASKED[i], 1e3 * (first - start),
               1e3 * (now_s() - first));
    }
    (void)close(fd);
}

static bool ask_all(const ps_server *server, int64_t span_ns) {
    static double took[ASKS];
    static char buf[32 << 20];
    int fd = dial(ps_server_port(server));
    ps_rng rng = ps_rng_seed(8);
    unsigned top = 0;
    while (span_ns >> top > 512) {
        top++;
    }
    size_t bytes = 0;
    size_t most = 0;
    for (int i = 0; i < ASKS; i++) {
        int64_t level = below(&rng, (int64_t)top + 1);
        int64_t tile = below(&rng, (span_ns >> level >> 10) + 1);
        char what[256];
        (void)snprintf(what, sizeof what,
                       "tiles?rank=bench&level=%" PRId64 "&tile=%" PRId64 "&lanes=0", level, tile);
        double start = now_s();
        size_t body = ask(fd, server, what, buf, sizeof buf);
        took[i] = 1e3 * (now_s() - start);
        bytes += body;
        most = body > most ? body : most;
    }
    (void)close(fd);
    qsort(took, ASKS, sizeof *took, compare);
    printf("%d replies, %.1f KB each, %.0f KB the largest\n", ASKS, 1e-3 * (double)bytes / ASKS,
           1e-3 * (double)most);
    printf("p50 %.3f ms, p90 %.3f ms, p99 %.3f ms (bar: %.0f ms), longest %.3f ms\n",
           took[ASKS / 2], took[ASKS * 9 / 10], took[ASKS * 99 / 100], BAR_MS, took[ASKS - 1]);
    return took[ASKS * 99 / 100] <= BAR_MS;
}

int main(int argc, char **argv) {
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : DEFAULT_SLICES;
    ps_err err = PS_ERR_INIT;
    double start = now_s();
    ps_trace *t = make(n);
    printf("%" PRIu32 " slices made in %.1f s", n, now_s() - start);
    start = now_s();
    ps_store *store = ps_store_of_trace(t, "bench", &err);
    ps_loaded *l = NULL;
    if (store == NULL || ps_store_get(store, 0, &l, &err) != PS_OK) {
        die(err.msg);
    }
    printf(", ready in %.2f s", now_s() - start);
    start = now_s();
    const ps_layer *layer = ps_loaded_layer(l, PS_LAYER_PROFILE);
    int64_t first = 0;
    int64_t end = 0;
    if (ps_lod_build_all(layer->lod, 1, &err) != PS_OK ||
        !ps_lod_span(layer->lod, 0, &first, &end)) {
        die("no lane");
    }
    printf(", rows in %.2f s\n", now_s() - start);
    ps_loaded_bytes size = ps_loaded_size(l);
    double bytes = (double)(size.columns + size.index) / n;
    printf("columns and index: %.2f bytes a slice (bar: %.0f); names %.3f, flows %.3f\n", bytes,
           BAR_BYTES, (double)size.names / n, (double)size.flows / n);
    ps_loaded_release(l);
    ps_server *server = ps_server_start(store, &(ps_server_opts){0}, &err);
    if (server == NULL) {
        die(err.msg);
    }
    bool ok = ask_all(server, end);
    ask_tables(server);
    if (!ps_server_stop(server)) {
        die("the server does not stop");
    }
    ps_store_free(store);
    return ok && bytes <= BAR_BYTES ? 0 : 1;
}
