/* Gzip before a sink: one member, no name and no time in its header, so that the same input gives the same bytes. */
#ifndef PS_WRITE_GZIP_SINK_H
#define PS_WRITE_GZIP_SINK_H

#include <stddef.h>

#include "base/err.h"
#include "write/out/sink.h"

typedef struct ps_gzip ps_gzip;

/* NULL when memory is out. */
ps_gzip *ps_gzip_new(void);
void ps_gzip_free(ps_gzip *z); /* NULL is fine */

/* Compresses; what is ready goes to the sink. */
PS_MUST_USE ps_code ps_gzip_write(ps_gzip *z, ps_sink *sink, const void *bytes, size_t n,
                                  ps_err *err);
/* Ends the stream; nothing may be written after it. */
PS_MUST_USE ps_code ps_gzip_end(ps_gzip *z, ps_sink *sink, ps_err *err);

#endif
