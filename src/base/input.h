/* A stream of bytes: a plain file, a gzip file (by content, also when renamed; several members in a row are one
 * stream) or stdin ("-"; the commands do not offer it, since they look at a file more than once). A gzip stream is inflated in a thread of its own while the caller works on the bytes before.
 *
 *   in = ps_input_open(path, &err)
 *   while (ps_input_read(in, buffer, cap, &n, &err) == PS_OK && n > 0) ...
 *   ps_input_close(in)
 *
 * Memory is bounded whatever the size of the file. One thread at a time may use an input. */
#ifndef PS_BASE_INPUT_H
#define PS_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/watch.h"

typedef struct ps_input ps_input;

/* NULL with PS_NOT_FOUND, PS_IO (also for a directory; a pipe by name is never waited for) or PS_NOMEM. */
ps_input *ps_input_open(const char *path, ps_err *err);
/* The same over bytes in memory, which must outlive the input: for tests and fuzzing. Gzip is recognised too. */
ps_input *ps_input_of_memory(const void *bytes, size_t n, ps_err *err);
void ps_input_close(ps_input *in); /* NULL is fine; may be called before the end */

/* Fills `buffer` with up to `cap` uncompressed bytes, fewer only at the end; *n = 0 at the end. PS_IO names the file
 * and the offset; PS_CHANGED, told at the end: somebody wrote to the file meanwhile. A gzip stream that ends early or is damaged gives what could be inflated, then the end; then
 * ps_input_is_cut is true. */
PS_MUST_USE ps_code ps_input_read(ps_input *in, void *buffer, size_t cap, size_t *n, ps_err *err);

/* Reports to `watch` from now on, which outlives the input; NULL: to nobody. Before the first read. A read that is told to
 * stop fails with PS_BUSY. */
void ps_input_watch(ps_input *in, ps_watch *watch);

/* It is a log: what somebody adds to its end meanwhile is no change. */
void ps_input_may_grow(ps_input *in);

bool ps_input_is_gzip(const ps_input *in);
bool ps_input_is_cut(const ps_input *in);
uint64_t ps_input_offset(const ps_input *in);  /* uncompressed bytes handed out */
const char *ps_input_path(const ps_input *in); /* "<memory>", "<stdin>" */
/* Size on disk, 0 when unknown. */
uint64_t ps_input_file_bytes(const ps_input *in);

/* The first up to `cap` uncompressed bytes of a file, for recognising its format. */
PS_MUST_USE ps_code ps_input_head(const char *path, void *buffer, size_t cap, size_t *n,
                                  ps_err *err);

#endif
