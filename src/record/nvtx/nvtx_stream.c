/* The option nvtx_stream: NVTX knows no streams, so a list of rules says which of its events lie on one.
 *
 *     forward*=legacy,comm?=0x7f20c8,NCCL=ptds
 *
 * The first rule whose pattern matches the domain or the message of an event gives its stream. What a rule says of a domain
 * or of a registered string is worked out once and kept beside it, with the number of the list it holds for. Lists are
 * read without a lock and therefore never freed; a new one is made only when the option has changed. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/nvtx/nvtx.h"
#include "record/ring/log.h"

enum { MAX_RULES = 256 };

typedef struct rule {
    const char *glob;
    size_t length;
    void *stream;
} rule;

typedef struct rules {
    const struct rules *before; /* the list that this one replaced */
    char *option;               /* the text, which the patterns point into */
    uint32_t number;            /* of the list, from 1 on */
    uint32_t n;
    rule rule[MAX_RULES];
} rules;

static rules *_Atomic current;
/* number of the list << 32 | rule + 1, for domains */
static _Atomic uint64_t of_domain[PS_MAX_DOMAINS];

bool ps_nvtx_glob(const char *glob, size_t glob_length, const char *text, size_t length) {
    size_t g = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* behind the last '*' */
    size_t star_text = 0;   /* how far that one reaches */
    while (t < length) {
        if (g < glob_length && glob[g] == '*') {
            star = ++g;
            star_text = t;
        } else if (g < glob_length && (glob[g] == '?' || glob[g] == text[t])) {
            g++;
            t++;
        } else if (star != SIZE_MAX) {
            g = star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (g < glob_length && glob[g] == '*') {
        g++;
    }
    return g == glob_length;
}

static void *stream_named(const char *text, size_t length) {
    char name[32];
    if (length == 0 || length >= sizeof name) {
        return NULL;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    if (strcmp(name, "legacy") == 0) {
        return PS_RECORD_HOST_STREAM;
    }
    if (strcmp(name, "ptds") == 0) {
        return (void *)2;
    }
    char *end = name;
    unsigned long long handle = name[0] == '-' ? 0 : strtoull(name, &end, 16);
    return *end == '\0' ? (void *)(uintptr_t)handle : NULL;
}

static void add_rule(rules *list, const char *text, size_t length) {
    size_t equals = length;
    while (equals > 0 && text[equals - 1] != '=') {
        equals--;
    }
    void *stream = equals < 2 ? NULL : stream_named(text + equals, length - equals);
    if (stream == NULL || list->n == MAX_RULES) {
        ps_rec_log_once("nvtx_stream",
                        "nvtx_stream: '%.*s' is not GLOB=legacy, GLOB=ptds or GLOB=HANDLE in "
                        "hexadecimal (at most %d of them): left out",
                        (int)(length < 200 ? length : 200), text, MAX_RULES);
        return;
    }
    list->rule[list->n++] = (rule){text, equals - 1, stream};
}

void ps_nvtx_stream_rules(const char *option) {
    const rules *old = atomic_load(&current);
    if (old == NULL ? option[0] == '\0' : strcmp(old->option, option) == 0) {
        return;
    }
    rules *list = ps_calloc(1, sizeof *list);
    char *copy = ps_strdup(option);
    if (list == NULL || copy == NULL) {
        ps_free(list);
        ps_free(copy);
        ps_rec_log_once("nvtx_stream memory", "nvtx_stream: no memory, the option has no effect");
        return;
    }
    list->before = old;
    list->option = copy;
    list->number = old == NULL ? 1 : old->number + 1;
    for (const char *p = copy; *p != '\0';) {
        size_t length = strcspn(p, ",");
        if (length > 0) {
            add_rule(list, p, length);
        }
        p += length + (p[length] == ',');
    }
    atomic_store_explicit(&current, list, memory_order_release);
}

static uint32_t match_stream(const rules *list, const char *text, size_t length) {
    for (uint32_t i = 0; i < list->n; i++) {
        if (ps_nvtx_glob(list->rule[i].glob, list->rule[i].length, text, length)) {
            return i + 1;
        }
    }
    return 0;
}

/* Rule + 1, 0 when none matches; from the cache when it is of this list. */
static uint32_t cached(const rules *list, _Atomic uint64_t *cache, const char *text,
                       size_t length) {
    uint64_t known = atomic_load_explicit(cache, memory_order_relaxed);
    if (known >> 32 == list->number) {
        return (uint32_t)known;
    }
    uint32_t found = match_stream(list, text, length);
    atomic_store_explicit(cache, (uint64_t)list->number << 32 | found, memory_order_relaxed);
    return found;
}

void *ps_nvtx_stream_of(const ps_record_domain *domain, ps_text text, ps_nvtx_string *string) {
    const rules *list = atomic_load_explicit(&current, memory_order_acquire);
    if (PS_NVTX_LIKELY(list == NULL || list->n == 0)) {
        return NULL;
    }
    uint32_t a = cached(list, &of_domain[domain->id], domain->name, domain->length);
    uint32_t b = string != NULL ? cached(list, &string->stream_rule, string->bytes, string->length)
                                : match_stream(list, text.bytes, text.length);
    uint32_t found = a == 0 || (b != 0 && b < a) ? b : a;
    return found == 0 ? NULL : list->rule[found - 1].stream;
}
