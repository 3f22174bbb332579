/* Domains and shared texts: names that every thread knows by number. Made rarely, under a lock; looked up without one.
 * They live as long as the process; a recording that starts later writes the definitions again. */
#ifndef PS_RECORD_DOMAINS_H
#define PS_RECORD_DOMAINS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipescope/record.h"

/* Asking: for the kernels of its ranges, by the option `correlate`. */
enum { PS_DOMAIN_LEFT_OUT = 0, PS_DOMAIN_RECORDED = 1, PS_DOMAIN_ASKING = 2 };

enum { PS_MAX_DOMAINS = 1024, PS_MAX_SHARED_TEXTS = 1 << 20 };

/* What a client holds as its handle: our ps_record_domain, mstxDomainHandle_t and nvtxDomainHandle_t alike. */
struct ps_record_domain {
    uint16_t id;              /* 0 is "default" */
    _Atomic uint8_t recorded; /* PS_DOMAIN_...: passes the include and exclude lists */
    atomic_bool destroyed;    /* by mstxDomainDestroy; making it again by name revives it */
    uint32_t length;
    const char *name; /* ends with a zero */
};

/* NULL or "default" gives domain 0. NULL when there are too many. */
ps_record_domain *ps_domain_named(const char *name, size_t length);

/* All that were made, the first is "default". An entry is whole before it is counted. */
extern ps_record_domain ps_domains[PS_MAX_DOMAINS] __attribute__((visibility("hidden")));
extern _Atomic uint32_t ps_n_domains __attribute__((visibility("hidden")));

/* NULL gives domain 0; NULL back for a pointer that is no domain of ours or was destroyed. */
static inline ps_record_domain *ps_domain_check(const void *handle) {
    if (handle == NULL) {
        return &ps_domains[0];
    }
    uintptr_t at = (uintptr_t)handle - (uintptr_t)&ps_domains[0];
    uint32_t n = atomic_load_explicit(&ps_n_domains, memory_order_acquire);
    if (at % sizeof(ps_record_domain) != 0 || at / sizeof(ps_record_domain) >= n) {
        return NULL;
    }
    ps_record_domain *d = &ps_domains[at / sizeof(ps_record_domain)];
    return atomic_load_explicit(&d->destroyed, memory_order_relaxed) ? NULL : d;
}
void ps_domain_destroy(void *handle);

ps_record_domain *ps_domain_at(unsigned id); /* NULL past the last */
unsigned ps_domain_count(void);

/* Sets `recorded` of all, now and later, by the lists of the options. Exact names; include wins. */
void ps_domain_filter(const char *include, const char *exclude);

/* Which of those recorded ask for their kernels, now and later: names separated by commas, "*" all. */
void ps_domain_ask(const char *list);

/* A text registered once and used by number (NVTX registered strings, names of operators). Same text, same id, from 1 on; 0
 * when there is no room. */
uint32_t ps_shared_text(const char *text, size_t length);
const char *ps_shared_text_at(uint32_t id, size_t *length); /* NULL past the last */
uint32_t ps_shared_text_count(void);

/* Definitions are written to ring 0 when a recording first uses them: the generation that has it, by number. */
extern _Atomic uint32_t ps_domain_defined[PS_MAX_DOMAINS] __attribute__((visibility("hidden")));
_Atomic uint32_t *ps_shared_text_defined(uint32_t id); /* NULL past the last */

/* Around a fork: the child finds what the locks guard whole. */
void ps_domains_hold(void);
void ps_domains_release(void);

/* In a child, also of a clone without fork handlers: another thread may have held the locks. */
void ps_domains_forget(void);

#endif
