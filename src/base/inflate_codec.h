/* One deflate stream, with the head and tail of gzip or raw: ISA-L's decoder (inflate_isal.c), or zlib's in a build without it
 * (inflate_zlib.c). base/inflate.h is for everybody else. */
#ifndef PS_BASE_INFLATE_CODEC_H
#define PS_BASE_INFLATE_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inflate.h"

typedef struct ps_inflate_codec ps_inflate_codec;

ps_inflate_codec *ps_inflate_codec_new(bool is_raw); /* NULL when memory is out */
void ps_inflate_codec_free(ps_inflate_codec *c);     /* NULL is fine */

/* From the beginning of a stream. */
void ps_inflate_codec_begin(ps_inflate_codec *c);

/* Reads from `in` into `out`; *n_in and *n_out become what is left of them. PS_INFLATE_DONE: the stream has ended. */
ps_inflate_end ps_inflate_codec_run(ps_inflate_codec *c, const uint8_t *in, uint32_t *n_in,
                                    uint8_t *out, uint32_t *n_out);

#endif
