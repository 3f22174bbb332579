#include "record/core/domains.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "record/ring/format.h"
#include "record/ring/intern.h"
#include "record/ring/memory.h"

/* Names are never freed: clients keep handles, and threads read without a lock. */
enum { MAX_SHARED_BYTES = 64 << 20 };

static struct {
    pthread_mutex_t lock;
    char *include, *exclude, *asking; /* the lists of the options, NULL for none */
} domains = {.lock = PTHREAD_MUTEX_INITIALIZER};

ps_record_domain ps_domains[PS_MAX_DOMAINS] = {
    {.id = 0, .recorded = PS_DOMAIN_RECORDED, .length = 7, .name = "default"}};
_Atomic uint32_t ps_n_domains = 1;
_Atomic uint32_t ps_domain_defined[PS_MAX_DOMAINS];

/* --- domains --------------------------------------------------------------------------------------------------------- */

/* Whether `name` stands in a list separated by commas; spaces around an element do not count. */
static bool in_list(const char *list, const char *name, size_t length) {
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, ",");
        const char *end = p + n;
        const char *next = *end == ',' ? end + 1 : end;
        while (p < end && *p == ' ') {
            p++;
        }
        while (end > p && end[-1] == ' ') {
            end--;
        }
        if ((size_t)(end - p) == length && memcmp(p, name, length) == 0) {
            return true;
        }
        p = next;
    }
    return false;
}

static bool domain_passes(const char *name, size_t length) {
    if (domains.include != NULL) {
        return in_list(domains.include, name, length);
    }
    return domains.exclude == NULL || !in_list(domains.exclude, name, length);
}

static uint8_t state_of(const char *name, size_t length) {
    bool asks = domains.asking != NULL &&
                (strcmp(domains.asking, "*") == 0 || in_list(domains.asking, name, length));
    return !domain_passes(name, length) ? PS_DOMAIN_LEFT_OUT
           : asks                       ? PS_DOMAIN_ASKING
                                        : PS_DOMAIN_RECORDED;
}

static ps_record_domain *find_domain(const char *name, size_t length) {
    uint32_t n = atomic_load_explicit(&ps_n_domains, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        ps_record_domain *d = &ps_domains[i];
        if (d->length == length && memcmp(d->name, name, length) == 0) {
            return d;
        }
    }
    return NULL;
}

/* With the lock held. */
static ps_record_domain *add_domain(const char *name, size_t length) {
    uint32_t n = atomic_load_explicit(&ps_n_domains, memory_order_relaxed);
    char *copy = n < PS_MAX_DOMAINS ? ps_strndup(name, length) : NULL;
    if (copy == NULL) {
        return NULL;
    }
    ps_record_domain *d = &ps_domains[n];
    d->id = (uint16_t)n;
    d->length = (uint32_t)length;
    d->name = copy;
    atomic_store_explicit(&d->recorded, state_of(name, length), memory_order_relaxed);
    atomic_store_explicit(&ps_n_domains, n + 1, memory_order_release);
    return d;
}

ps_record_domain *ps_domain_named(const char *name, size_t length) {
    if (name == NULL) {
        return &ps_domains[0];
    }
    if (length > PS_RECORD_MAX_TEXT) {
        length = PS_RECORD_MAX_TEXT;
    }
    ps_record_domain *d = find_domain(name, length);
    if (d == NULL) {
        (void)pthread_mutex_lock(&domains.lock);
        d = find_domain(name, length);
        d = d != NULL ? d : add_domain(name, length);
        (void)pthread_mutex_unlock(&domains.lock);
    }
    if (d != NULL) {
        atomic_store_explicit(&d->destroyed, false, memory_order_relaxed);
    }
    return d;
}

void ps_domain_destroy(void *handle) {
    ps_record_domain *d = ps_domain_check(handle);
    if (d != NULL && d->id != 0) { /* the default domain is nobody's to destroy */
        atomic_store_explicit(&d->destroyed, true, memory_order_relaxed);
    }
}

ps_record_domain *ps_domain_at(unsigned id) {
    return id < ps_domain_count() ? &ps_domains[id] : NULL;
}

unsigned ps_domain_count(void) {
    return atomic_load_explicit(&ps_n_domains, memory_order_acquire);
}

static void keep_list(char **kept, const char *list) {
    ps_free(*kept);
    *kept = list != NULL && list[0] != '\0' ? ps_strdup(list) : NULL;
}

/* With the lock held: what the lists say, of all there are. */
static void judge_all(void) {
    uint32_t n = atomic_load_explicit(&ps_n_domains, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        ps_record_domain *d = &ps_domains[i];
        atomic_store_explicit(&d->recorded, state_of(d->name, d->length), memory_order_relaxed);
    }
}

void ps_domain_filter(const char *include, const char *exclude) {
    (void)pthread_mutex_lock(&domains.lock);
    keep_list(&domains.include, include);
    keep_list(&domains.exclude, exclude);
    judge_all();
    (void)pthread_mutex_unlock(&domains.lock);
}

void ps_domain_ask(const char *list) {
    (void)pthread_mutex_lock(&domains.lock);
    keep_list(&domains.asking, list);
    judge_all();
    (void)pthread_mutex_unlock(&domains.lock);
}

/* --- shared texts ---------------------------------------------------------------------------------------------------- */

typedef struct shared_text {
    const char *text; /* ends with a zero */
    uint32_t length;
    _Atomic uint32_t defined;
} shared_text;

enum { TEXTS_IN_CHUNK = 4096 };

static struct {
    pthread_mutex_t lock;
    _Atomic uint32_t n;                                        /* ids 1 to n */
    shared_text *chunks[PS_MAX_SHARED_TEXTS / TEXTS_IN_CHUNK]; /* whole before it is counted */
    uint32_t *index;   /* open addressing: ids by hash, 0 empty */
    size_t index_size; /* a power of two */
    size_t bytes;
} texts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static shared_text *domain_text_at(uint32_t id) {
    return &texts.chunks[(id - 1) / TEXTS_IN_CHUNK][(id - 1) % TEXTS_IN_CHUNK];
}

/* The place of the text in the index, or the empty one where it belongs. */
static uint32_t *domain_place_of(const char *text, size_t length) {
    size_t i = (size_t)ps_intern_hash(text, length) & (texts.index_size - 1);
    for (; texts.index[i] != 0; i = (i + 1) & (texts.index_size - 1)) {
        const shared_text *t = domain_text_at(texts.index[i]);
        if (t->length == length && memcmp(t->text, text, length) == 0) {
            break;
        }
    }
    return &texts.index[i];
}

static bool grow_index(void) {
    uint32_t n = atomic_load_explicit(&texts.n, memory_order_relaxed);
    if (texts.index != NULL && n < texts.index_size / 2) {
        return true;
    }
    size_t size = texts.index == NULL ? 1024 : texts.index_size * 2;
    uint32_t *bigger = ps_calloc(size, sizeof *bigger);
    if (bigger == NULL) {
        return false;
    }
    ps_free(texts.index);
    texts.index = bigger;
    texts.index_size = size;
    for (uint32_t id = 1; id <= n; id++) {
        *domain_place_of(domain_text_at(id)->text, domain_text_at(id)->length) = id;
    }
    return true;
}

/* With the lock held, for a text that is not there. */
static uint32_t add_domain_text(const char *text, size_t length) {
    uint32_t n = atomic_load_explicit(&texts.n, memory_order_relaxed);
    if (n == PS_MAX_SHARED_TEXTS || texts.bytes + length > MAX_SHARED_BYTES) {
        return 0;
    }
    shared_text **chunk = &texts.chunks[n / TEXTS_IN_CHUNK];
    if (*chunk == NULL) {
        *chunk = ps_calloc(TEXTS_IN_CHUNK, sizeof **chunk);
    }
    bool may = *chunk != NULL && ps_memory_take(length);
    char *copy = may ? ps_strndup(text, length) : NULL;
    if (copy == NULL) {
        ps_memory_give(may ? length : 0);
        return 0;
    }
    shared_text *t = &(*chunk)[n % TEXTS_IN_CHUNK];
    t->text = copy;
    t->length = (uint32_t)length;
    texts.bytes += length;
    atomic_store_explicit(&texts.n, n + 1, memory_order_release);
    return n + 1;
}

uint32_t ps_shared_text(const char *text, size_t length) {
    if (text == NULL) {
        return 0;
    }
    if (length > PS_RECORD_MAX_TEXT) {
        length = PS_RECORD_MAX_TEXT;
    }
    uint32_t id = 0;
    (void)pthread_mutex_lock(&texts.lock);
    if (grow_index()) {
        uint32_t *place = domain_place_of(text, length);
        if (*place == 0) {
            *place = add_domain_text(text, length);
        }
        id = *place;
    }
    (void)pthread_mutex_unlock(&texts.lock);
    return id;
}

const char *ps_shared_text_at(uint32_t id, size_t *length) {
    if (id == 0 || id > ps_shared_text_count()) {
        *length = 0;
        return NULL;
    }
    *length = domain_text_at(id)->length;
    return domain_text_at(id)->text;
}

_Atomic uint32_t *ps_shared_text_defined(uint32_t id) {
    return id == 0 || id > ps_shared_text_count() ? NULL : &domain_text_at(id)->defined;
}

uint32_t ps_shared_text_count(void) {
    return atomic_load_explicit(&texts.n, memory_order_acquire);
}

void ps_domains_hold(void) {
    (void)pthread_mutex_lock(&domains.lock);
    (void)pthread_mutex_lock(&texts.lock);
}

void ps_domains_release(void) {
    (void)pthread_mutex_unlock(&texts.lock);
    (void)pthread_mutex_unlock(&domains.lock);
}

void ps_domains_forget(void) {
    domains.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    texts.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
