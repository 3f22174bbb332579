#include "record/export/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/ring/fork_gate.h"

typedef char *demangle_fn(const char *name, char *buffer, size_t *length, int *status);

static demangle_fn *demangle; /* NULL: there is none */
static void (*release)(void *);
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A program in C++ has it; else its library may lie here. What it returns is from malloc. */
static void find_demangle(void) {
    static const char *const LIBRARIES[] = {NULL, "libstdc++.so.6", "libc++abi.so.1"};
    void *found = NULL;
    ps_fork_work_begin();
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof LIBRARIES[0] && found == NULL; i++) {
        void *library = dlopen(LIBRARIES[i], RTLD_LAZY | RTLD_LOCAL);
        found = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
    }
    void *freeing = dlsym(RTLD_DEFAULT, "free");
    ps_fork_work_end();
    if (found != NULL && freeing != NULL) {
        memcpy(&demangle, &found, sizeof found);
        memcpy(&release, &freeing, sizeof freeing);
    }
}

static size_t put_demangle(char *out, size_t size, const char *text, size_t n) {
    n = n < size ? n : size - 1;
    memcpy(out, text, n);
    out[n] = '\0';
    return n;
}

/* "_Z<length><name>...": the name. */
static size_t plain_name(const char *name, const char **out) {
    char *end = NULL;
    if (!isdigit((unsigned char)name[2])) {
        return 0;
    }
    unsigned long n = strtoul(name + 2, &end, 10);
    *out = end;
    return n <= strlen(end) ? n : 0;
}

size_t ps_demangle(const char *name, char *out, size_t size) {
    if (strncmp(name, "_Z", 2) != 0) {
        return put_demangle(out, size, name, strlen(name));
    }
    (void)pthread_once(&once, find_demangle);
    int status = -1;
    char *whole = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    size_t n = 0;
    if (whole != NULL && status == 0) {
        n = put_demangle(out, size, whole, strlen(whole));
    } else {
        const char *plain = name;
        size_t length = plain_name(name, &plain);
        n = length > 0 ? put_demangle(out, size, plain, length)
                       : put_demangle(out, size, name, strlen(name));
    }
    if (whole != NULL) {
        release(whole);
    }
    return n;
}
