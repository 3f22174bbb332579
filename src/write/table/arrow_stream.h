/* Columns handed over through the C data interface of Arrow. */
#ifndef PS_WRITE_ARROW_STREAM_H
#define PS_WRITE_ARROW_STREAM_H

#include "base/err.h"
#include "pipescope/arrow.h"
#include "write/table/arrow.h"

/* All rows as one batch whose buffers are those of `a`, which it owns from then on, also after a failure: they live until the stream and
 * every array taken from it are released, in any order and thread. A real that is NULL is NaN in its buffer. */
PS_MUST_USE ps_code ps_arrow_stream(ps_arrow *a, struct ArrowArrayStream *out, ps_err *err);

/* Another stream over the same rows, from the first on. PS_USAGE: `from` is released, or none of ps_arrow_stream(). */
PS_MUST_USE ps_code ps_arrow_stream_again(const struct ArrowArrayStream *from,
                                          struct ArrowArrayStream *out, ps_err *err);

#endif
