/* Arguments of a slice as JSON. Numbers that a double does not hold are strings, so that a page shows every digit. */
#ifndef PS_SERVE_PUT_ARGS_H
#define PS_SERVE_PUT_ARGS_H

#include "base/json_write.h"
#include "model/trace.h"

/* [["key",value],...] in the order in which they were given; a TIME counts since 1970, as in the file. */
void ps_put_args(ps_json *j, const ps_trace *trace, uint32_t slice);

/* ["frame",...], the innermost first: of the argument that holds a call stack. How many were put (0: nothing was
 * written). */
size_t ps_put_stack_arg(ps_json *j, const ps_trace *trace, uint32_t slice);

#endif
