/* "300 ms instead of 330 ms": a time beside what it was. */
#ifndef PS_BASE_INSTEAD_H
#define PS_BASE_INSTEAD_H

#include <stdint.h>

#include "base/lang.h"

typedef struct ps_instead_text {
    char text[96];
} ps_instead_text;

/* Where both are shown alike the difference is said instead, "330 ms, 120 us less", and of the same time "330 ms, the same". A change that
 * makes nothing shorter is told as that, "796 ms, not shorter than 794 ms": of a model a little more is no loss. */
ps_instead_text ps_instead_of(ps_lang lang, int64_t now_ns, int64_t before_ns);

#endif
