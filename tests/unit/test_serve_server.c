/* The server's life: its socket, slow clients, the end. What it says to requests is tested from outside (tests/serve). */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "serve/http/server.h"
#include "support/asks.h"
#include "support/small_runs.h"

enum { REPLY = 1 << 16 };

static ps_store *small_store(void) {
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "x", 0, 1);
    ps_store *store = ps_store_of_trace(small_seal(b), "r0", NULL);
    assert_non_null(store);
    return store;
}

static ps_server *start(ps_store *store, uint32_t idle_s) {
    ps_server_opts opts = {.token = "T", .idle_s = idle_s};
    ps_err err = PS_ERR_INIT;
    ps_server *s = ps_server_start(store, &opts, &err);
    if (s == NULL) {
        fail_msg("%s", err.msg);
    }
    return s;
}

static int connect_to(uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    struct timeval patience = {.tv_sec = 60};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that comes until the other side closes. */
static const char *hear(int fd) {
    static char reply[REPLY];
    size_t n = 0;
    ssize_t got = 0;
    while (n < sizeof reply - 1 && (got = recv(fd, reply + n, sizeof reply - 1 - n, 0)) > 0) {
        n += (size_t)got;
    }
    reply[n] = '\0';
    (void)close(fd);
    return reply;
}

static const char *get(uint16_t port, const char *path) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer T\r\n"
                   "Connection: close\r\n\r\n",
                   path);
    int fd = connect_to(port);
    say(fd, text);
    return hear(fd);
}

static void is_asked(void **state) {
    (void)state;
    ps_store *store = small_store();
    ps_server *s = start(store, 0);
    expect_in(get(ps_server_port(s), "/"), "<!DOCTYPE html>");
    expect_in(get(ps_server_port(s), "/api/tiles?rank=r0&level=0&tile=0&lanes=0"),
              "HTTP/1.1 200 OK");
    expect_in(get(ps_server_port(s), "/api/slice?rank=r0&slice=0"), "HTTP/1.1 200 OK");
    assert_string_equal(ps_server_token(s), "T");
    assert_true(ps_server_is_local(s));
    char url[PS_SERVER_URL];
    ps_server_url(s, url, sizeof url);
    char want[64];
    (void)snprintf(want, sizeof want, "http://127.0.0.1:%u/#token=T", ps_server_port(s));
    assert_string_equal(url, want);
    assert_true(ps_server_stop(s, NULL));
    ps_store_free(store);
}

static void taken_ports_are_told(void **state) {
    (void)state;
    ps_store *store = small_store();
    ps_server *s = start(store, 0);
    ps_err err = PS_ERR_INIT;
    ps_server_opts opts = {.port = ps_server_port(s)};
    assert_null(ps_server_start(store, &opts, &err));
    assert_int_equal(err.code, PS_BUSY);
    expect_in(err.msg, "--port 0");
    opts = (ps_server_opts){.host = "not an address"};
    assert_null(ps_server_start(store, &opts, &err));
    assert_int_equal(err.code, PS_USAGE);
    opts = (ps_server_opts){.token = "not a token"};
    assert_null(ps_server_start(store, &opts, &err));
    assert_int_equal(err.code, PS_USAGE);
    assert_true(ps_server_stop(s, NULL));
    assert_true(ps_server_stop(NULL, NULL));
    ps_store_free(store);
}

/* Sends a byte now and then, for ever; the server hangs up. */
static void slow_clients_are_cut(void **state) {
    (void)state;
    ps_store *store = small_store();
    ps_server *s = start(store, 1);
    int silent = connect_to(ps_server_port(s));
    int half = connect_to(ps_server_port(s));
    say(half, "GET / HT");
    int body = connect_to(ps_server_port(s));
    say(body, "POST /api/names HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer T\r\n"
              "Content-Length: 1000\r\n\r\n{");
    int drip = connect_to(ps_server_port(s));
    say(drip, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    const struct timespec pause = {.tv_nsec = 100000000};
    int n_sent = 0;
    char byte = 0;
    while (n_sent < 600 && send(drip, "X: y\r\n", 6, MSG_NOSIGNAL) == 6 &&
           recv(drip, &byte, 1, MSG_DONTWAIT) != 0) {
        (void)nanosleep(&pause, NULL);
        n_sent++;
    }
    assert_true(n_sent < 600);
    (void)close(drip);
    assert_string_equal(hear(silent), "");
    assert_string_equal(hear(half), "");
    expect_not_in(hear(body), "200 OK");
    expect_in(get(ps_server_port(s), "/"), "200 OK");
    assert_true(ps_server_stop(s, NULL));
    ps_store_free(store);
}

static void stops_with_open_connections(void **state) {
    (void)state;
    ps_store *store = small_store();
    ps_server *s = start(store, 0);
    int fds[20];
    for (int i = 0; i < 20; i++) {
        fds[i] = connect_to(ps_server_port(s));
        say(fds[i], i % 2 == 0 ? "GET /api/" : "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    ps_server_notify(s);
    assert_true(ps_server_stop(s, NULL));
    for (int i = 0; i < 20; i++) {
        (void)hear(fds[i]);
    }
    ps_store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_asked),
        cmocka_unit_test(taken_ports_are_told),
        cmocka_unit_test(slow_clients_are_cut),
        cmocka_unit_test(stops_with_open_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
