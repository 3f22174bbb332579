#include "support/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void scratch_make(char *out, size_t size) {
    const char *tmp = getenv("TMPDIR");
    tmp = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
    int n = snprintf(out, size, "%s/pipescope-test-XXXXXX", tmp);
    if (n < 0 || (size_t)n >= size) {
        fail_msg("TMPDIR is too long for tests: %s", tmp);
    }
    if (mkdtemp(out) == NULL) {
        fail_msg("no folder can be made in TMPDIR, %s", tmp);
    }
}

/* By means of the C library alone: tests that let allocations fail call this too. */
static void remove_all(const char *path) {
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)chmod(path, 0700);
        DIR *folder = opendir(path);
        for (struct dirent *e = NULL; folder != NULL && (e = readdir(folder)) != NULL;) {
            char inner[4096];
            int n = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                (size_t)n < sizeof inner) {
                remove_all(inner);
            }
        }
        if (folder != NULL) {
            (void)closedir(folder);
        }
    }
    (void)remove(path);
}

/* A process that a test has killed may still be ending, and write meanwhile. */
void scratch_remove(const char *dir) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && access(dir, F_OK) == 0; i++) {
        if (i > 0) {
            (void)usleep(20000);
        }
        remove_all(dir);
    }
    assert_int_not_equal(access(dir, F_OK), 0);
}

char scratch_dir[SCRATCH_BYTES];

int scratch_setup(void **state) {
    (void)state;
    scratch_make(scratch_dir, sizeof scratch_dir);
    return 0;
}

int scratch_teardown(void **state) {
    (void)state;
    scratch_remove(scratch_dir);
    return 0;
}
