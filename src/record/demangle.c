/* The demangler is __cxa_demangle, which every C++ library has; it is looked for, never loaded. Names come again and again, so results
 * are kept: one for each place of a table, by the hash of the mangled name. */
#include "record/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/cuda_driver.h"

enum { PLACES = 1024 };

static struct known { char *mangled, *plain; /* plain NULL: as it is */ } table[PLACES];

typedef char *(*demangler)(const char *, char *, size_t *, int *);

static demangler find(void) {
    static const char *const libraries[] = {"libstdc++.so", "libc++abi.so", "libc++.so"};
    void *address = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries && address == NULL; i++) {
        void *library = ps_loaded_library(libraries[i]);
        address = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
    }
    demangler fn;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

/* "_Z38ncclDevKernel_Sum..." : digits say how long the name is that follows. */
static char *bare_name(const char *mangled) {
    char *end;
    if (!isdigit((unsigned char)mangled[2])) {
        return NULL;
    }
    unsigned long length = strtoul(mangled + 2, &end, 10);
    return length > 0 && length <= strlen(end) ? ps_strndup(end, length) : NULL;
}

static char *demangle(const char *mangled) {
    demangler fn = find();
    int status = -1;
    char *plain = fn != NULL ? fn(mangled, NULL, NULL, &status) : NULL;
    return plain != NULL && status == 0 ? plain : bare_name(mangled);
}

const char *ps_demangle(const char *name) {
    if (name == NULL || name[0] != '_' || name[1] != 'Z') {
        return name;
    }
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *s = name; *s != 0; s++) {
        hash = (hash ^ (unsigned char)*s) * 0x100000001b3u;
    }
    struct known *k = &table[(hash ^ hash >> 32) % PLACES];
    if (k->mangled == NULL || strcmp(k->mangled, name) != 0) {
        ps_free(k->mangled);
        ps_free(k->plain);
        k->mangled = ps_strdup(name);
        k->plain = demangle(name);
    }
    return k->plain != NULL ? k->plain : name;
}

void ps_demangle_release(void) {
    for (unsigned i = 0; i < PLACES; i++) {
        ps_free(table[i].mangled);
        ps_free(table[i].plain);
        table[i] = (struct known){NULL, NULL};
    }
}
