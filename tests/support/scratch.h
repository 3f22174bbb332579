/* Folders for what a test writes: below $TMPDIR, else /tmp. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_BYTES = 256 }; /* what such a path needs; a longer $TMPDIR fails the test */

/* A new empty folder. */
void scratch_make(char *out, size_t size);

/* Removes the folder with all that is in it, also what a test made unreadable or read-only. */
void scratch_remove(const char *dir);

/* One folder a test, as fixtures of cmocka: scratch_dir while the test runs. */
extern char scratch_dir[SCRATCH_BYTES];
int scratch_setup(void **state);
int scratch_teardown(void **state);

#endif
