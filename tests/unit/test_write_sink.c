/* Sinks: files appear whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/scratch.h"
#include "write/out/sink.h"

static char folder[256];

static int make_folder(void **context) {
    (void)context;
    scratch_make(folder, sizeof folder);
    return 0;
}

static int remove_folder(void **context) {
    (void)context;
    return rmdir(folder); /* fails when a test left something behind */
}

static const char *in_folder(const char *name) {
    static char path[2][400];
    static int turn;
    turn = 1 - turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void expect_content(const char *path, const char *text) {
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_read_file(path, 1000, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b), text);
    ps_buf_fini(&b);
}

static void write_text(const char *path, const char *text) {
    ps_sink sink;
    assert_int_equal(ps_sink_open_file(&sink, path, NULL), PS_OK);
    assert_int_equal(ps_sink_write(&sink, text, strlen(text), NULL), PS_OK);
    assert_int_equal(ps_sink_commit(&sink, NULL), PS_OK);
    assert_null(sink.path);
}

static void test_file(void **context) {
    (void)context;
    const char *path = in_folder("a");
    write_text(path, "one");
    expect_content(path, "one");
    ps_sink sink;
    assert_int_equal(ps_sink_open_file(&sink, path, NULL), PS_OK);
    assert_int_equal(ps_sink_write(&sink, "two", 3, NULL), PS_OK);
    expect_content(path, "one"); /* not yet */
    ps_sink_abort(&sink);
    ps_sink_abort(&sink);
    expect_content(path, "one");
    write_text(path, "three");
    expect_content(path, "three");
    assert_int_equal(unlink(path), 0);
}

static void test_link(void **context) {
    (void)context;
    char target[400];
    (void)snprintf(target, sizeof target, "%s", in_folder("target"));
    const char *link = in_folder("link");
    write_text(target, "old");
    assert_int_equal(symlink("target", link), 0);
    write_text(link, "new");
    expect_content(target, "new");
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(target), 0);
}

/* A device is written to, never replaced; a full one says so. */
static void test_device(void **context) {
    (void)context;
    write_text("/dev/null", "gone");
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK) != 0) {
        return;
    }
    ps_sink sink;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sink_open_file(&sink, "/dev/full", &err), PS_OK);
    assert_int_equal(ps_sink_write(&sink, "x", 1, &err), PS_OK);
    assert_int_equal(ps_sink_commit(&sink, &err), PS_IO);
    assert_string_equal(err.msg, "cannot write: No space left on device");
}

static void test_no_folder(void **context) {
    (void)context;
    ps_sink sink;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sink_open_file(&sink, in_folder("no/such/file"), &err), PS_NOT_FOUND);
    assert_string_equal(err.msg, "cannot create the file: No such file or directory");
    ps_sink_abort(&sink);
}

static void test_stream_and_buffer(void **context) {
    (void)context;
    FILE *file = tmpfile();
    assert_non_null(file);
    ps_sink sink = ps_sink_stream(file);
    assert_int_equal(ps_sink_write(&sink, "abc", 3, NULL), PS_OK);
    assert_int_equal(ps_sink_commit(&sink, NULL), PS_OK);
    assert_int_equal(ftell(file), 3); /* still open */
    (void)fclose(file);
    ps_buf b;
    ps_buf_init(&b, 4);
    sink = ps_sink_buf(&b);
    assert_int_equal(ps_sink_write(&sink, "abc", 3, NULL), PS_OK);
    assert_int_equal(ps_sink_write(&sink, "defgh", 5, NULL), PS_NOMEM);
    assert_int_equal(ps_sink_commit(&sink, NULL), PS_NOMEM);
    ps_buf_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_stream_and_buffer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
