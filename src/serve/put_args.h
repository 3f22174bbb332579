/* Arguments of a slice as JSON. Numbers that a double does not hold are strings, so that a page shows every digit. */
#ifndef PS_SERVE_PUT_ARGS_H
#define PS_SERVE_PUT_ARGS_H

#include "base/buf.h"
#include "model/trace.h"

/* [["key",value],...] in the order in which they were given; a TIME counts since 1970, as in the file. */
void ps_put_args(ps_buf *out, const ps_trace *trace, uint32_t slice);

/* An integer, as a string beyond 2^53. */
void ps_put_int(ps_buf *out, int64_t value);

/* ["frame",...], the innermost first: of the argument that holds a call stack. How many were put (0: `out` is as it was,
 * nothing open). */
size_t ps_put_stack_arg(ps_buf *out, const ps_trace *trace, uint32_t slice);

#endif
