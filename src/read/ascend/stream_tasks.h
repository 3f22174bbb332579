/* Communication marks without a device side of their own: each has the first task on the stream which its message names
 * that starts at or after it; a task belongs to one mark. */
#ifndef PS_READ_STREAM_TASKS_H
#define PS_READ_STREAM_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A task on one of those streams. */
typedef struct ps_stream_task {
    int64_t stream, start_ns, end_ns;
    int64_t connection_id, device; /* for the caller */
    int64_t row; /* of the caller; the lower one of two that start together comes first */
} ps_stream_task;

/* A mark that waits for its task. */
typedef struct ps_waiting_mark {
    int64_t stream, start_ns; /* the start on the host */
    size_t mark; /* of the caller; the lower one of two that start together comes first */
    const ps_stream_task *task; /* out; NULL: there is none */
} ps_waiting_mark;

/* The stream that a communication mark names, -1 none. False when memory is out. */
bool ps_stream_of_message(const char *message, int64_t *stream);

/* Sorts both by stream and start, and gives each mark its task. */
void ps_waiting_marks_join(ps_waiting_mark *marks, size_t n, ps_stream_task *tasks, size_t n_tasks);

#endif
