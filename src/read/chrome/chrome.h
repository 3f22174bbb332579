/* The reader of generic trace-event JSON. */
#ifndef PS_READ_CHROME_H
#define PS_READ_CHROME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"

/* Reads an open input; `path` is not looked at. `n_threads` as for ps_trace_events_read(). */
PS_MUST_USE ps_code ps_chrome_read_input(ps_input *in, const char *path, uint32_t needs,
                                         size_t n_threads, ps_builder *b, ps_err *err);

#endif
