/* Files: what is read, what is created, and by many at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/threads.h"
#include "support/profile.h"

static void only_regular_files_are_read(void **state) {
    const place *where = *state;
    ps_err err = PS_ERR_INIT;
    ps_buf text;
    ps_buf_init(&text, 0);
    const char *pipe = place_path(where, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(ps_read_file(pipe, 100, &text, &err), PS_IO); /* and does not wait */
    assert_string_equal(err.msg, "not a regular file");
    assert_int_equal(ps_read_file(where->dir, 100, &text, &err), PS_IO);
    assert_int_equal(ps_read_file(place_path(where, "none"), 100, &text, &err), PS_NOT_FOUND);
    ps_buf_fini(&text);
}

static void an_empty_name_is_no_directory(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_make_dirs("", &err), PS_NOT_FOUND);
}

static void write_same(void *context, size_t i) {
    char text[4096];
    memset(text, 'a' + (int)(i % 26), sizeof text);
    if (ps_write_file(context, text, sizeof text, NULL) != PS_OK) {
        abort();
    }
}

/* Whole contents of one writer, the usual mode, and nothing beside it. */
static void one_file_from_many_threads(void **state) {
    const place *where = *state;
    char path[TEST_PATH];
    (void)snprintf(path, sizeof path, "%s", place_path(where, "out.txt"));
    mode_t before = umask(027);
    ps_parallel(64, 8, write_same, path);
    (void)umask(before);
    ps_buf text;
    ps_buf_init(&text, 0);
    assert_int_equal(ps_read_file(path, 10000, &text, NULL), PS_OK);
    assert_int_equal(text.len, 4096);
    for (size_t i = 1; i < text.len; i++) {
        assert_int_equal(text.data[i], text.data[0]);
    }
    ps_buf_fini(&text);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    assert_int_equal(ps_list_dir(where->dir, &arena, &names, &n, NULL), PS_OK);
    assert_int_equal(n, 1);
    ps_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(only_regular_files_are_read),
        IN_PLACE(an_empty_name_is_no_directory),
        IN_PLACE(one_file_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
