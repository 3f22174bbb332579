/* /proc/meminfo: "MemAvailable:   23440440 kB"; /proc/self/cgroup: "0::/user.slice/job" (version 2) or "4:memory:/job" (version 1).
 *
 *                version 2                    version 1
 *   below        /sys/fs/cgroup               /sys/fs/cgroup/memory
 *   limit        memory.max ("max": none)     memory.limit_in_bytes (a huge number: none)
 *   held         memory.current               memory.usage_in_bytes
 *   cache of it  inactive_file in memory.stat total_inactive_file in memory.stat
 *
 * In a container the group's path is often that of the host and its files lie at the top: ancestors are looked at, too. */
#include "base/memory_left.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

enum { PATH_ROOM = 1024 };

typedef struct group_kind {
    const char *controller; /* in the second field of its line */
    const char *below, *limit, *held, *cache;
} group_kind;

static const group_kind KINDS[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
};

/* A small file whole, or its beginning. */
typedef struct small_text {
    char bytes[16384];
} small_text;

/* "" where it cannot be had. Nothing is allocated: what fails here would look like a machine without limits. */
static const char *small_text_of(const char *root, const char *path, const char *name,
                                 small_text *out) {
    char full[PATH_ROOM];
    size_t got = 0;
    int n = snprintf(full, sizeof full, "%s%s%s%s", root, path, name[0] != '\0' ? "/" : "", name);
    int fd = n > 0 && n < PATH_ROOM ? open(full, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && got + 1 < sizeof out->bytes) {
        ssize_t more = read(fd, out->bytes + got, sizeof out->bytes - 1 - got);
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    out->bytes[got] = '\0';
    return out->bytes;
}

/* The number at the beginning of a text; -1 for none. */
static int64_t leading_number(const char *text) {
    int64_t value = -1;
    text += strspn(text, " \t");
    return ps_parse_i64(text, strspn(text, "0123456789"), &value) ? value : -1;
}

/* The number after a word that begins a line; -1 for none. */
static int64_t number_of_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *line = text; *line != '\0';) {
        if (strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == ':')) {
            return leading_number(line + n + 1);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return -1;
}

/* INT64_MAX: no limit. */
static int64_t left_of_group(const char *root, const group_kind *kind, const char *group) {
    char path[PATH_ROOM];
    small_text text;
    int n = snprintf(path, sizeof path, "%s%s", kind->below, group);
    int64_t limit =
        n > 0 && n < PATH_ROOM ? leading_number(small_text_of(root, path, kind->limit, &text)) : -1;
    int64_t held = limit >= 0 ? leading_number(small_text_of(root, path, kind->held, &text)) : -1;
    int64_t cache =
        held >= 0 ? number_of_word(small_text_of(root, path, "memory.stat", &text), kind->cache)
                  : -1;
    held = held > 0 ? held : 0;
    held -= cache > 0 && cache < held ? cache : 0;
    return limit < 0 ? INT64_MAX : limit > held ? limit - held : 0;
}

/* The group and those above it. */
static int64_t left_of_groups(const char *root, const group_kind *kind, char *group) {
    int64_t least = INT64_MAX;
    for (bool goes_on = true; goes_on;) {
        size_t n = strlen(group);
        while (n > 0 && group[n - 1] == '/') {
            group[--n] = '\0';
        }
        int64_t left = left_of_group(root, kind, group);
        least = left < least ? left : least;
        char *slash = strrchr(group, '/');
        goes_on = slash != NULL;
        if (goes_on) {
            *slash = '\0';
        }
    }
    return least;
}

/* "4:memory:/job": the third field where the second is the controller. False: the line is another's. */
static bool find_control_group(const char *line, size_t n, const char *controller,
                               char out[PATH_ROOM]) {
    const char *first = memchr(line, ':', n);
    const char *second =
        first != NULL ? memchr(first + 1, ':', n - (size_t)(first + 1 - line)) : NULL;
    size_t n_word = strlen(controller);
    if (second == NULL || (size_t)(second - first - 1) != n_word ||
        memcmp(first + 1, controller, n_word) != 0) {
        return false;
    }
    int n_path = (int)(line + n - (second + 1));
    return snprintf(out, PATH_ROOM, "%.*s", n_path, second + 1) < PATH_ROOM;
}

int64_t ps_memory_left_below(const char *root) {
    small_text text;
    int64_t kib = number_of_word(small_text_of(root, "/proc/meminfo", "", &text), "MemAvailable");
    int64_t least = kib >= 0 && kib < INT64_MAX / 1024 ? kib * 1024 : INT64_MAX;
    for (const char *line = small_text_of(root, "/proc/self/cgroup", "", &text); *line != '\0';) {
        size_t n = strcspn(line, "\n");
        for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
            char group[PATH_ROOM];
            if (find_control_group(line, n, KINDS[k].controller, group)) {
                int64_t left = left_of_groups(root, &KINDS[k], group);
                least = left < least ? left : least;
            }
        }
        line += n + (line[n] == '\n');
    }
    return least;
}

int64_t ps_memory_held(void) {
    small_text text;
    const char *p = small_text_of("", "/proc/self/statm", "", &text); /* size resident shared ... */
    p += strcspn(p, " ");
    int64_t resident = leading_number(p);
    p += strspn(p, " ");
    p += strcspn(p, " ");
    int64_t shared = leading_number(p);
    int64_t pages = resident > 0 && shared >= 0 && shared < resident ? resident - shared : 0;
    return pages * sysconf(_SC_PAGESIZE);
}
