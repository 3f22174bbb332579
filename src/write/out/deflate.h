/* A stream of gzip that is written: by ISA-L (deflate_isal.c), several hundred megabytes of input a second on one core, or by zlib in a
 * build without it (deflate_zlib.c). Both at their quickest level. write/out/gzip_sink.h is for everybody else. */
#ifndef PS_WRITE_DEFLATE_H
#define PS_WRITE_DEFLATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ps_deflate ps_deflate;

ps_deflate *ps_deflate_new(void);    /* NULL when memory is out */
void ps_deflate_free(ps_deflate *z); /* NULL is fine */

/* Reads from *in, moved on, into `out`; *n_in and *n_out become what is left of them. With `is_end` nothing follows: to be called
 * until there is room left. 0, or what the library calls the error. */
int ps_deflate_run(ps_deflate *z, const uint8_t **in, uint32_t *n_in, bool is_end, uint8_t *out,
                   uint32_t *n_out);

#endif
