#include "support/record_child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipescope/record.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(THREAD_SANITIZER)
#define SANITIZED 1
#endif

/* Children of a child are not checked for leaks: the checker takes the allocator's lock, which a thread of the parent may have held
 * as they parted, and would wait for it for ever. */
static pid_t checked_for_leaks;
int __lsan_is_turned_off(void); /* asked by the sanitizer's runtime */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return checked_for_leaks != 0 && getpid() != checked_for_leaks;
}

pid_t record_child_start(const char *dir, void (*body)(void)) {
    static const char *const VARIABLES[] = {
#define X(name, environment, fallback, help) environment,
#include "record/ring/options.def"
#undef X
        "RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "SLURM_PROCID",
        "PADDLE_TRAINER_ID"
    };
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        return pid;
    }
    checked_for_leaks = getpid();
    (void)signal(SIGINT, SIG_DFL); /* ignored when the test was put in the background */
    (void)signal(SIGQUIT, SIG_DFL);
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
        (void)unsetenv(VARIABLES[i]);
    }
    (void)ps_record_set("output_dir", dir);
    (void)ps_record_set("quiet", "1");
    body();
    exit(0);
}

void record_child_fail(const char *file, int line, const char *what) {
    (void)dprintf(STDERR_FILENO, "%s:%d: not so in the child: %s\n", file, line, what);
    _exit(99);
}

void record_child_exits(pid_t pid, int wanted) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
}

void record_child_killed(pid_t pid, int signal) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal);
}

static int is_profile(const struct dirent *entry) {
    const char *tail = strstr(entry->d_name, "_ascend_pt");
    return tail != NULL && strcmp(tail, "_ascend_pt") == 0;
}

static size_t list(const char *dir, size_t wanted, char *out, size_t size) {
    struct dirent **names = NULL;
    int n = scandir(dir, &names, is_profile, alphasort);
    for (int i = 0; i < n; i++) {
        if ((size_t)i == wanted) {
            (void)snprintf(out, size, "%s/%s", dir, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    return n < 0 ? 0 : (size_t)n;
}

size_t record_child_n_folders(const char *dir) {
    return list(dir, SIZE_MAX, NULL, 0);
}

bool record_child_folder_at(const char *dir, size_t number, bool raw, char *out, size_t size) {
    char path[4096] = "";
    bool found = list(dir, number, path, sizeof path) > number;
    (void)snprintf(out, size, "%s%s", path, raw ? "/FRAMEWORK" : "");
    return found;
}

bool record_child_folder(const char *dir, char *out, size_t size) {
    return record_child_folder_at(dir, 0, true, out, size);
}

long long record_child_query(const char *dir, size_t folder, const char *sql) {
    char path[4096];
    char names[4096 + 512] = "";
    assert_true(record_child_folder_at(dir, folder, false, path, sizeof path));
    (void)strncat(path, "/ASCEND_PROFILER_OUTPUT", sizeof path - strlen(path) - 1);
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (strstr(entries[i]->d_name, ".db") != NULL) {
            (void)snprintf(names, sizeof names, "%s/%s", path, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    /* Closed before the test can fail: what it leaked would be found in the children of the tests after it. */
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int opened = sqlite3_open_v2(names, &db, SQLITE_OPEN_READONLY, NULL);
    int prepared = opened != SQLITE_OK ? opened : sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    int stepped = prepared != SQLITE_OK ? prepared : sqlite3_step(stmt);
    long long value = stepped == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    assert_int_equal(opened, SQLITE_OK);
    assert_int_equal(prepared, SQLITE_OK);
    assert_int_equal(stepped, SQLITE_ROW);
    return value;
}

unsigned record_child_rounds(unsigned normal, unsigned sanitized) {
#ifdef SANITIZED
    (void)normal;
    return sanitized;
#else
    (void)sanitized;
    return normal;
#endif
}

bool record_child_has_thread(const char *name) {
    DIR *threads = opendir("/proc/self/task");
    bool found = false;
    for (struct dirent *e = NULL; !found && threads != NULL && (e = readdir(threads)) != NULL;) {
        char path[512];
        char text[64] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *comm = fopen(path, "r");
        if (comm != NULL) {
            found = fgets(text, sizeof text, comm) != NULL && strlen(text) == strlen(name) + 1 &&
                    strncmp(text, name, strlen(name)) == 0;
            (void)fclose(comm);
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
    return found;
}

bool record_child_thread_sanitizer(void) {
#ifdef THREAD_SANITIZER
    return true;
#else
    return false;
#endif
}
