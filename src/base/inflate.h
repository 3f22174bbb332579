/* Gzip, a piece at a time. Several members in a row are one stream; what follows the last one and is no member
 * is left alone. */
#ifndef PS_BASE_INFLATE_H
#define PS_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ps_inflate ps_inflate;

typedef enum ps_inflate_end {
    PS_INFLATE_GOES_ON, /* wants more input, or more room */
    PS_INFLATE_DONE,    /* the last member is complete and what follows is no member */
    PS_INFLATE_DAMAGED, /* malformed, or a checksum differs */
    PS_INFLATE_NO_MEMORY
} ps_inflate_end;

ps_inflate *ps_inflate_new(void);     /* NULL when memory is out */
ps_inflate *ps_inflate_new_raw(void); /* the same of one deflate stream without head and tail */
void ps_inflate_free(ps_inflate *z);  /* NULL is fine */

/* Reads from *in (moved on, *n_in lowered) into *out (likewise) until one of them is used up or the stream ends. */
ps_inflate_end ps_inflate_run(ps_inflate *z, const uint8_t **in, size_t *n_in, uint8_t **out,
                              size_t *n_out);

/* Whether the input may end here: between members. */
bool ps_inflate_may_end(const ps_inflate *z);

#endif
