/* What readers of trace-event files have in common besides the events. */
#ifndef PS_READ_TRACE_FILE_H
#define PS_READ_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "read/reader.h"

/* Opens the file, stamps the trace with it, and has it read by `read` on as many threads as the source says. */
PS_MUST_USE ps_code ps_trace_file_read(const ps_src *src, uint32_t needs,
                                       ps_code (*read)(ps_input *in, const char *path,
                                                       uint32_t needs, size_t n_threads,
                                                       ps_builder *b, ps_err *err),
                                       ps_builder *b, ps_err *err);

/* A top-level member as metadata: strings unescaped, other values as their JSON text, null left out. What is longer
 * than 16 MiB is counted. */
PS_MUST_USE ps_code ps_trace_meta_add(ps_builder *b, const char *key, const char *json, size_t n,
                                      ps_err *err);

#endif
