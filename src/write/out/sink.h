/* Where output goes: a file that appears whole or not at all, a stream of the caller, or a buffer.
 *
 *   ps_sink sink;
 *   code = ps_sink_open_file(&sink, path, err);     or ps_sink_stream(file), ps_sink_buf(buf)
 *   code = ps_sink_write(&sink, bytes, n, err);     any number of times
 *   code = ps_sink_commit(&sink, err);              or ps_sink_abort(&sink): nothing is left behind
 *
 * After commit or abort the sink is empty; aborting an empty one is fine. */
#ifndef PS_WRITE_SINK_H
#define PS_WRITE_SINK_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/publish.h"

typedef struct ps_sink {
    FILE *file;           /* of a file or stream */
    ps_buf *buf;          /* of a buffer */
    char *path;           /* of a file, for messages */
    ps_publish published; /* empty when `path` is written in place */
    bool
        is_of_many; /* set by whoever opened it: one of hundreds of files of a run, which the system may write out later */
} ps_sink;

/* A file beside the one that `path` names (through symbolic links); commit renames it (base/publish.h). A device or pipe
 * (/dev/null) is written directly: renaming would replace it. */
PS_MUST_USE ps_code ps_sink_open_file(ps_sink *sink, const char *path, ps_err *err);

/* Borrow the stream or buffer; commit flushes a stream and leaves it open. */
ps_sink ps_sink_stream(FILE *file);
ps_sink ps_sink_buf(ps_buf *buf);

PS_MUST_USE ps_code ps_sink_write(ps_sink *sink, const void *bytes, size_t n, ps_err *err);
PS_MUST_USE ps_code ps_sink_commit(ps_sink *sink, ps_err *err);
void ps_sink_abort(ps_sink *sink);
/* All of it at once: a file of what the buffer holds, nothing when that is not whole. */
PS_MUST_USE ps_code ps_sink_store(const char *path, const ps_buf *text, ps_err *err);

#endif
