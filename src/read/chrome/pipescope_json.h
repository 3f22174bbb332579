/* Trace-event JSON that `pipescope convert` wrote: what its metadata events "pipescope_*" say is put back, so that the
 * trace is the one that was written. docs/formats/pipescope-json.md describes the file. */
#ifndef PS_READ_PIPESCOPE_JSON_H
#define PS_READ_PIPESCOPE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"

/* Reads one part of an input. `n_threads` 0: one per processor. */
PS_MUST_USE ps_code ps_pipescope_json_read(ps_input *in, int64_t part, uint32_t needs,
                                           size_t n_threads, ps_builder *b, ps_err *err);

#endif
