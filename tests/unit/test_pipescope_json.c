/* The head of a file of our own: it may be many blocks long, and is looked at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "read/readers.h"
#include "support/scratch.h"

/* What the reader says of the parts of a file with these bytes. */
static ps_code parts_of(const ps_buf *text, ps_arena *arena, ps_part **parts, size_t *n,
                        ps_err *err) {
    char dir[SCRATCH_BYTES], path[SCRATCH_BYTES + 32];
    scratch_make(dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/head.json", dir);
    assert_int_equal(ps_write_file(path, text->data, text->len, NULL), PS_OK);
    ps_code code = ps_reader_find("pipescope-json")->parts(path, arena, parts, n, err);
    scratch_remove(dir);
    return code;
}

static void expect_code(const ps_buf *text, ps_code code) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(parts_of(text, &arena, &parts, &n, &err), code);
    ps_arena_fini(&arena);
}

/* Quotes, backslashes and brackets fall on every place of a block's edge. */
static void a_long_head_is_read_whole(void **state) {
    (void)state;
    for (size_t n_blanks = 0; n_blanks < 40; n_blanks++) {
        enum { N = 4000 };
        ps_buf text;
        ps_buf_init(&text, 0);
        ps_buf_add_str(&text, "{\"pipescope\":");
        ps_buf_add_fill(&text, ' ', n_blanks);
        ps_buf_add_str(&text, "{\"version\":1,\"ranks\":[");
        for (int i = 0; i < N; i++) {
            ps_buf_addf(&text, "%s{\"part\":%d,\"rank\":%d,\"host\":\"\\\\]}\\\"[{\"}",
                        i > 0 ? "," : "", i, i + 5);
        }
        ps_buf_add_str(&text, "]},\"traceEvents\":[]}");
        ps_arena arena;
        ps_arena_init(&arena);
        ps_part *parts = NULL;
        size_t n = 0;
        ps_err err = PS_ERR_INIT;
        assert_int_equal(parts_of(&text, &arena, &parts, &n, &err), PS_OK);
        assert_int_equal(n, N);
        assert_int_equal(parts[N - 1].id, N - 1);
        assert_int_equal(parts[N - 1].rank, N + 4);
        assert_string_equal(parts[N - 1].host, "\\]}\"[{");
        ps_arena_fini(&arena);
        ps_buf_fini(&text);
    }
}

static void blanks_before_the_head(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_str(&text, "{\"pipescope\":");
    ps_buf_add_fill(&text, ' ', 300000);
    ps_buf_add_str(&text, "{\"version\":1,\"ranks\":[]},\"traceEvents\":[]}");
    expect_code(&text, PS_OK);
    ps_buf_fini(&text);
}

static void what_is_no_head(void **state) {
    (void)state;
    static const char *const TEXTS[] = {"{\"pipescope\":1,\"traceEvents\":[]}",
                                        "{\"pipescope\":\"{}\",\"traceEvents\":[]}",
                                        "{\"pipescope\":}",
                                        "{\"pipescope\":]}",
                                        "{\"pipescope\"",
                                        "{\"pipescope\":{\"version\":1",
                                        "{\"pipescope\":{\"a\":\"\\\"}",
                                        "{\"traceEvents\":[]}"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        ps_buf text;
        ps_buf_init(&text, 0);
        ps_buf_add_str(&text, TEXTS[i]);
        expect_code(&text, PS_SYNTAX);
        ps_buf_fini(&text);
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_str(&text, "{\"pipescope\":{\"version\":1,\"ranks\":[");
    ps_buf_add_fill(&text, ' ', (size_t)17 << 20);
    expect_code(&text, PS_RANGE);
    ps_buf_fini(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_head_is_read_whole),
        cmocka_unit_test(blanks_before_the_head),
        cmocka_unit_test(what_is_no_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
