/* Work in a process of its own: for libraries that crash, or go on with half of it, when memory runs out.
 *
 *   code = ps_child_begin(&c, work, context, sizeof answer, path, err);
 *   ps_child_wait(&c, 1);                               of several: the number of one that has ended
 *   code = ps_child_end(&c, &answer, complaint, err);
 *
 * The child is a copy of this process, and goes on with it: libraries that it calls take locks, those of the allocator first, and one
 * that another thread holds at that moment nobody would ever give back. So it is begun by the only thread that there is: after
 * ps_parallel() has returned, with no progress line on the terminal (run.h ends it before anything is written), and not in `serve`.
 * Debug builds count the threads. Several children may run at once, which is what makes it as quick as threads are.
 *
 * What the child leaves in memory is gone with it, but for its answer; files that this process has begun are not the child's to
 * remove. It never returns from `work` into the caller, and ends when this process does. */
#ifndef PS_BASE_CHILD_H
#define PS_BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Writes at most the bytes of the answer, which are zero before. */
typedef void ps_child_fn(void *context, void *answer);

typedef struct ps_child {
    pid_t pid;
    int ended; /* reads as closed when the child has ended */
    int said;  /* what it printed on stderr, which is shown nowhere else */
    struct ps_child_shared *shared;
    size_t n_answer;
    const char *path;
} ps_child;

/* The answer has `n_answer` bytes, none of them a pointer into the child's memory; `path`, for messages, outlives the child. What is
 * begun is ended with ps_child_end(). PS_NOMEM: no child could be made, and nothing is to be ended. */
PS_MUST_USE ps_code ps_child_begin(ps_child *c, ps_child_fn *work, void *context, size_t n_answer,
                                   const char *path, ps_err *err);

/* Waits until one of them has ended, and says which; 0 < n <= PS_MAX_CHILDREN. When a signal is to end this process, which is held
 * meanwhile (publish.h), it ends the children. */
enum { PS_MAX_CHILDREN = 64 };
size_t ps_child_wait(const ps_child *const *children, size_t n);

/* Waits for the end. PS_OK: `work` has returned, and `answer` is what it wrote. PS_IO: the child ended before, or printed a line with
 * `complaint` in it (NULL: it may print what it likes); err names the path and says which. */
PS_MUST_USE ps_code ps_child_end(ps_child *c, void *answer, const char *complaint, ps_err *err);

#endif
