/* Work in a process of its own: for libraries that crash, or go on with half of it, when memory runs out.
 *
 * The child is a copy of this process with one thread. It must not take a lock that another thread may hold; what it leaves in memory
 * is gone with it, but for its answer. It never returns from `work` into the caller. */
#ifndef PS_BASE_CHILD_H
#define PS_BASE_CHILD_H

#include <stddef.h>

#include "base/err.h"

/* Writes at most the bytes of the answer, which are zero before. */
typedef void ps_child_fn(void *context, void *answer);

/* PS_OK: `work` has ended, and `answer` (`n` bytes, none of them a pointer into the child's memory) is what it wrote. PS_IO: the child
 * ended before, or printed a line with `complaint` in it (NULL: it may print what it likes); err names `path` and says which. What it
 * printed on stderr is shown nowhere else. PS_NOMEM: no child could be made. */
PS_MUST_USE ps_code ps_child_run(ps_child_fn *work, void *context, void *answer, size_t n,
                                 const char *complaint, const char *path, ps_err *err);

#endif
