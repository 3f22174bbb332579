/* Who may ask: tokens, hosts, origins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serve/http/guard.h"
#include "serve/http/server.h"

static ps_guard guard_of(const char *host, bool is_loopback, bool any) {
    ps_guard g;
    assert_int_equal(ps_guard_init(&g, host, is_loopback, any, "secret-Token_1", NULL), PS_OK);
    return g;
}

static void tokens(void **state) {
    (void)state;
    ps_guard g = guard_of("127.0.0.1", true, false);
    assert_true(ps_guard_token(&g, "Bearer secret-Token_1"));
    assert_true(ps_guard_token(&g, "bearer secret-Token_1"));
    static const char *const WRONG[] = {"",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer secret-Token_",
                                        "Bearer secret-Token_12",
                                        "Bearer secret-token_1",
                                        "Bearer  secret-Token_1",
                                        "secret-Token_1",
                                        "Basic secret-Token_1",
                                        "Bearer secret-Token_1 "};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        assert_false(ps_guard_token(&g, WRONG[i]));
    }
    assert_false(ps_guard_token(&g, NULL));
}

static void tokens_are_made(void **state) {
    (void)state;
    ps_guard a;
    ps_guard b;
    assert_int_equal(ps_guard_init(&a, "::1", true, false, NULL, NULL), PS_OK);
    assert_int_equal(ps_guard_init(&b, "::1", true, false, NULL, NULL), PS_OK);
    assert_int_equal(strlen(a.token), PS_TOKEN_CHARS);
    assert_string_not_equal(a.token, b.token);
    char header[PS_GUARD_MAX_TOKEN + 16];
    (void)snprintf(header, sizeof header, "Bearer %s", a.token);
    assert_true(ps_guard_token(&a, header));
    assert_false(ps_guard_token(&b, header));
    char longest[PS_GUARD_MAX_TOKEN + 2];
    memset(longest, 'x', sizeof longest);
    longest[PS_GUARD_MAX_TOKEN + 1] = '\0';
    assert_int_equal(ps_guard_init(&a, "::1", true, false, longest, NULL), PS_USAGE);
    longest[PS_GUARD_MAX_TOKEN] = '\0';
    assert_int_equal(ps_guard_init(&a, "::1", true, false, longest, NULL), PS_OK);
    static const char *const BAD[] = {"",    " ",   "a b", "a#b", "\xC3\xA4",
                                      "a\n", "a/b", "a+b", "a=b"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_int_equal(ps_guard_init(&a, "::1", true, false, BAD[i], NULL), PS_USAGE);
    }
}

static void expect_hosts(const ps_guard *g, const char *const *hosts, bool good) {
    for (; *hosts != NULL; hosts++) {
        if (ps_guard_host(g, *hosts) != good) {
            fail_msg("%s is %s", *hosts, good ? "refused" : "taken");
        }
    }
}

static void hosts(void **state) {
    (void)state;
    static const char *const LOOPBACK[] = {
        "127.0.0.1", "127.0.0.1:8686", "localhost",           "LocalHost:1",  "localhost:65535",
        "[::1]",     "[::1]:8686",     "[0:0:0:0:0:0:0:1]:9", "127.1.2.3:80", NULL};
    static const char *const NEVER[] = {"",
                                        ":",
                                        ":80",
                                        "evil.example",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "localhost:",
                                        "localhost:0",
                                        "localhost:65536",
                                        "localhost:80x",
                                        "localhost:-1",
                                        "[::1",
                                        "::1",
                                        "[]",
                                        "[localhost]",
                                        "localhost/",
                                        "a@localhost",
                                        "localhost ",
                                        "0x7f.1",
                                        NULL};
    static const char *const OTHERS[] = {"10.1.2.3:80", "[fe80::1]:80", "0.0.0.0:1", NULL};
    ps_guard g = guard_of("127.0.0.1", true, false);
    expect_hosts(&g, LOOPBACK, true);
    expect_hosts(&g, NEVER, false);
    expect_hosts(&g, OTHERS, false);
    assert_false(ps_guard_host(&g, NULL));
    char machine[256];
    assert_int_equal(gethostname(machine, sizeof machine), 0);
    assert_true(!ps_guard_host(&g, machine) || strcmp(machine, "localhost") == 0);

    g = guard_of("0.0.0.0", false, true);
    expect_hosts(&g, LOOPBACK, true);
    expect_hosts(&g, NEVER, false);
    expect_hosts(&g, OTHERS, true);
    assert_true(ps_guard_host(&g, machine));

    static const char *const MINE[] = {"10.1.2.3:8686", "10.1.2.3", NULL};
    static const char *const NOT_MINE[] = {"10.1.2.4:8686", "[fe80::1]", NULL};
    g = guard_of("10.1.2.3", false, false);
    expect_hosts(&g, LOOPBACK, true);
    expect_hosts(&g, MINE, true);
    expect_hosts(&g, NOT_MINE, false);
    static const char *const MINE_V6[] = {"[fd00::2]:1", "[FD00:0::2]", NULL};
    g = guard_of("fd00::2", false, false);
    expect_hosts(&g, MINE_V6, true);
    expect_hosts(&g, NOT_MINE, false);
    char longest[400];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_false(ps_guard_host(&g, longest));
}

static void origins(void **state) {
    (void)state;
    assert_true(ps_guard_origin(NULL, "localhost:8686"));
    assert_true(ps_guard_origin("http://localhost:8686", "localhost:8686"));
    assert_true(ps_guard_origin("https://localhost:8686", "localhost:8686"));
    assert_true(ps_guard_origin("http://[::1]:1", "[::1]:1"));
    static const char *const WRONG[] = {"",
                                        "null",
                                        "http://",
                                        "http://localhost",
                                        "http://localhost:8687",
                                        "http://127.0.0.1:8686",
                                        "http://evil.example",
                                        "http://localhost:8686.evil.example",
                                        "ftp://localhost:8686",
                                        "localhost:8686",
                                        "http://localhost:8686/"};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        assert_false(ps_guard_origin(WRONG[i], "localhost:8686"));
    }
    assert_false(ps_guard_origin("http://localhost", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(tokens_are_made),
        cmocka_unit_test(hosts),
        cmocka_unit_test(origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
