/* The scanner beside Python's json, on documents made at random: tests/support/json_documents.py makes and compares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "support/events_dump.h"
#include "support/scratch.h"

enum { N_DOCUMENTS = 150 };

static void python(const char *arguments, const char *dir) {
    char command[512];
    (void)snprintf(command, sizeof command, "python3 tests/support/json_documents.py %s '%s'",
                   arguments, dir);
    assert_int_equal(system(command), 0);
}

static void dump_file(const char *dir, int number, ps_event_tuning tuning) {
    static ps_diag diag;
    static const ps_event_schema ALL = {.all_args = true};
    char path[SCRATCH_BYTES + 32];
    ps_buf text;
    events_dump d;
    ps_buf_init(&text, 0);
    ps_buf_init(&d.out, 0);
    (void)snprintf(path, sizeof path, "%s/%d.json", dir, number);
    assert_int_equal(ps_read_file(path, (size_t)1 << 24, &text, NULL), PS_OK);
    assert_int_equal(dump_document(&d, ps_buf_str(&text), text.len, &ALL, &tuning, &diag), PS_OK);
    (void)snprintf(path, sizeof path, "%s/%d.txt", dir, number);
    assert_int_equal(ps_write_file(path, ps_buf_str(&d.out), d.out.len, NULL), PS_OK);
    ps_buf_fini(&text);
    ps_buf_fini(&d.out);
}

static void random_documents(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES];
    char arguments[64];
    if (system("python3 -c ''") != 0) {
        skip();
    }
    scratch_make(dir, sizeof dir);
    for (int seed = 1; seed <= 3; seed++) {
        (void)snprintf(arguments, sizeof arguments, "make %d %d", seed, N_DOCUMENTS);
        python(arguments, dir);
        for (int i = 0; i < N_DOCUMENTS; i++) {
            size_t block = seed == 1 ? 0 : seed == 2 ? 100 : 1000;
            dump_file(dir, i, (ps_event_tuning){.block_bytes = block, .n_threads = (size_t)seed});
        }
        (void)snprintf(arguments, sizeof arguments, "check %d", N_DOCUMENTS);
        python(arguments, dir);
    }
    scratch_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_documents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
