/* Messages of NVTX: wide characters become UTF-8 as they come, registered strings become shared texts with a handle.
 *
 * Handles are addresses within one reserved stretch of memory, so that what is no handle of ours is known without
 * following it. Memory is only taken for those in use. */
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "record/nvtx/nvtx.h"
#include "record/ring/memory.h"

enum { MAX_STRINGS = PS_MAX_SHARED_TEXTS, N_BUCKETS = 2 * MAX_STRINGS };

static ps_nvtx_string *_Atomic strings;    /* [MAX_STRINGS] */
static const char NO_ROOM[] = "<dropped>"; /* the text of those that memory was out for */
static uint32_t *buckets; /* [N_BUCKETS] of number + 1, by domain and shared text; under the lock */
static _Atomic uint32_t n_strings;

/* --- UTF-8 --------------------------------------------------------------------------------------------------------- */

static uint32_t unit_at(const unsigned char *units, size_t i, unsigned unit_bytes) {
    if (unit_bytes == 1) {
        return units[i];
    }
    if (unit_bytes == 2) {
        uint16_t v;
        memcpy(&v, units + 2 * i, sizeof v);
        return v;
    }
    uint32_t v;
    memcpy(&v, units + 4 * i, sizeof v);
    return v;
}

/* The character at *i, which moves behind it. */
static size_t next_character(const unsigned char *units, size_t n, unsigned unit_bytes, size_t *i,
                             char out[4]) {
    uint32_t c = unit_at(units, *i, unit_bytes);
    if (unit_bytes == 1) {
        size_t length = c < 0x80 ? 1 : ps_utf8_len((const char *)units + *i, n - *i);
        if (length == 0) {
            *i += 1;
            return ps_utf8_put(out, 0xfffd);
        }
        memcpy(out, units + *i, length);
        *i += length;
        return length;
    }
    *i += 1;
    if (unit_bytes == 2 && c >= 0xd800 && c < 0xdc00 && *i < n) {
        uint32_t low = unit_at(units, *i, 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *i += 1;
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return ps_utf8_put(out, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
}

size_t ps_nvtx_to_utf8(const void *units, size_t n, unsigned unit_bytes, char *out, size_t size,
                       bool *cut) {
    size_t used = 0;
    size_t i = 0;
    *cut = false;
    while (i < n && unit_at(units, i, unit_bytes) != 0) {
        char bytes[4];
        size_t length = next_character(units, n, unit_bytes, &i, bytes);
        if (used + length > size) {
            *cut = true;
            break;
        }
        memcpy(out + used, bytes, length);
        used += length;
    }
    return used;
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

ps_text ps_nvtx_no_message(void) {
    static const char text[] = "(no message)";
    return (ps_text){.bytes = text, .length = sizeof text - 1};
}

ps_text ps_nvtx_text(const char *bytes) {
    size_t length = bytes == NULL ? 0 : strnlen(bytes, PS_NVTX_TEXT_ROOM);
    if (length == 0) {
        return ps_nvtx_no_message();
    }
    if (length > PS_RECORD_MAX_TEXT) {
        length = PS_RECORD_MAX_TEXT;
        for (int back = 0; back < 3 && ((unsigned char)bytes[length] & 0xc0) == 0x80; back++) {
            length--;
        }
        ps_event_drop(PS_DROP_CUT_TEXT);
    }
    return (ps_text){.bytes = bytes, .length = length};
}

ps_text ps_nvtx_text_wide(const wchar_t *wide, char *room) {
    if (wide == NULL || wide[0] == 0) {
        return ps_nvtx_no_message();
    }
    bool cut = false;
    size_t length = ps_nvtx_to_utf8(wide, SIZE_MAX, sizeof *wide, room, PS_RECORD_MAX_TEXT, &cut);
    if (cut) {
        ps_event_drop(PS_DROP_CUT_TEXT);
    }
    return (ps_text){.bytes = room, .length = length};
}

/* --- registered strings -------------------------------------------------------------------------------------------- */

static bool reserve(void) {
    if (atomic_load(&strings) != NULL) {
        return true;
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *table = mmap(NULL, N_BUCKETS * sizeof *buckets, PROT_READ | PROT_WRITE, flags, -1, 0);
    void *all =
        mmap(NULL, MAX_STRINGS * sizeof(ps_nvtx_string), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED || all == MAP_FAILED) {
        if (table != MAP_FAILED) {
            (void)munmap(table, N_BUCKETS * sizeof *buckets);
        }
        if (all != MAP_FAILED) {
            (void)munmap(all, MAX_STRINGS * sizeof(ps_nvtx_string));
        }
        return false;
    }
    buckets = table;
    atomic_store_explicit(&strings, all, memory_order_release);
    return true;
}

/* Where the string is, or would be. */
static uint32_t *bucket_of(uint16_t domain, uint32_t shared) {
    uint64_t key = (uint64_t)domain << 32 | shared;
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    const ps_nvtx_string *all = atomic_load_explicit(&strings, memory_order_relaxed);
    for (uint32_t i = (uint32_t)(hash >> 32) % N_BUCKETS;; i = (i + 1) % N_BUCKETS) {
        uint32_t number = buckets[i];
        if (number == 0 || (all[number - 1].domain == domain && all[number - 1].shared == shared)) {
            return &buckets[i];
        }
    }
}

/* With the lock held. `shared` 0: a text for which there was no room among the shared ones. */
static ps_nvtx_string *string_of(uint16_t domain, ps_text text, uint32_t shared) {
    ps_nvtx_string *all = atomic_load_explicit(&strings, memory_order_relaxed);
    uint32_t *bucket = shared == 0 ? NULL : bucket_of(domain, shared);
    if (bucket != NULL && *bucket != 0) {
        return &all[*bucket - 1];
    }
    uint32_t n = atomic_load_explicit(&n_strings, memory_order_relaxed);
    if (n == MAX_STRINGS) {
        return NULL;
    }
    ps_nvtx_string *string = &all[n];
    string->domain = domain;
    string->shared = shared;
    if (shared == 0) {
        bool may = ps_memory_take(text.length);
        string->bytes = may ? ps_strndup(text.bytes, text.length) : NULL;
        string->length = (uint32_t)text.length;
        if (string->bytes == NULL) { /* its events say so */
            ps_memory_give(may ? text.length : 0);
            string->bytes = NO_ROOM;
            string->length = sizeof NO_ROOM - 1;
        }
    } else {
        size_t length = 0;
        string->bytes = ps_shared_text_at(shared, &length);
        string->length = (uint32_t)length;
    }
    atomic_store_explicit(&n_strings, n + 1, memory_order_release);
    if (bucket != NULL) {
        *bucket = n + 1;
    }
    return string;
}

ps_nvtx_string *ps_nvtx_string_named(uint16_t domain, ps_text text) {
    uint32_t shared = ps_shared_text(text.bytes, text.length);
    ps_nvtx_lock();
    ps_nvtx_string *string = reserve() ? string_of(domain, text, shared) : NULL;
    ps_nvtx_unlock();
    return string;
}

ps_nvtx_string *ps_nvtx_string_of(const ps_record_domain *domain, nvtxStringHandle_t handle) {
    if (ps_nvtx_chained()) {
        ps_nvtx_string *string = ps_nvtx_chain_string(domain, handle);
        if (string != NULL) {
            return string;
        }
    }
    const ps_nvtx_string *all = atomic_load_explicit(&strings, memory_order_acquire);
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)all;
    uint32_t n = atomic_load_explicit(&n_strings, memory_order_acquire);
    if (all == NULL || offset >= n * sizeof *all || offset % sizeof *all != 0) {
        return NULL;
    }
    return (ps_nvtx_string *)(void *)handle;
}

ps_text ps_nvtx_string_text(const ps_nvtx_string *string) {
    if (string->bytes == NO_ROOM) {
        ps_event_drop(PS_DROP_STRING_TABLE_FULL);
    }
    return string->shared != 0 ? (ps_text){.shared = string->shared}
                               : (ps_text){.bytes = string->bytes, .length = string->length};
}
