/* Children of a test that record into a folder of it (scratch.h), and what they leave there. */
#ifndef PS_TEST_RECORD_CHILD_H
#define PS_TEST_RECORD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Forks; the child has the options of an empty environment, `dir` as its output folder, and says nothing. When `body` comes back
 * the child ends by exit(0). */
pid_t record_child_start(const char *dir, void (*body)(void));

/* In the child: ends it with a word on stderr when something is not so. */
#define RECORD_CHILD_NEED(what)                                                                    \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            record_child_fail(__FILE__, __LINE__, #what);                                          \
        }                                                                                          \
    } while (0)
void record_child_fail(const char *file, int line, const char *what);

/* Waits; the test fails unless the child exits with `status`. */
void record_child_exits(pid_t pid, int status);
/* The same for one that a signal ends. */
void record_child_killed(pid_t pid, int signal);

/* The output folders in `dir`, by name: how many, and the one of this number (with "/FRAMEWORK" behind it when `raw`). */
size_t record_child_n_folders(const char *dir);
bool record_child_folder_at(const char *dir, size_t number, bool raw, char *out, size_t size);

/* FRAMEWORK of the first; false when there is none. */
bool record_child_folder(const char *dir, char *out, size_t size);

/* One number from the database in the output folder of this number. */
long long record_child_query(const char *dir, size_t folder, const char *sql);

/* `normal`, or fewer in builds that are slow. */
unsigned record_child_rounds(unsigned normal, unsigned sanitized);

/* Whether a thread of this process has given itself this name. */
bool record_child_has_thread(const char *name);

/* Under the thread sanitizer, which takes the threads of a parent for those of its child. */
bool record_child_thread_sanitizer(void);

#endif
