/* The list of readers, and the choice between them. */
#ifndef PS_READ_READERS_H
#define PS_READ_READERS_H

#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"
#include "read/reader.h"

/* All readers, in the order of readers.def, NULL-terminated. */
const ps_reader *const *ps_readers(void);

/* By name, any case; NULL when there is none of that name. */
const ps_reader *ps_reader_find(const char *name);

/* The reader that claims the file with the highest score, or NULL (PS_SYNTAX: nobody does; PS_USAGE: two
 * claim it alike; or the error met on opening it). */
const ps_reader *ps_reader_for(const char *path, ps_err *err);

/* Reads one rank's profile and returns a sealed trace, NULL on failure. The caller frees the result with
 * ps_trace_free(). Different files may be read by several threads at once. */
ps_trace *ps_read(const ps_src *src, uint32_t needs, ps_err *err);

#endif
