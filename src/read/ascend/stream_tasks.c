#include "read/ascend/stream_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "model/comm_marks.h"

bool ps_stream_of_message(const char *message, int64_t *stream) {
    *stream = -1;
    if (strstr(message, "streamId") == NULL || strstr(message, "opName") == NULL) {
        return true;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    size_t n = 0;
    const char *plain = ps_comm_marks_plain(&arena, message, &n);
    const ps_literal *dict = plain != NULL ? ps_literal_parse(&arena, plain, n, &odd) : NULL;
    if (!ps_literal_int(ps_literal_get(dict, "streamId"), stream)) {
        *stream = -1;
    }
    ps_arena_fini(&arena);
    return plain != NULL && odd.code != PS_NOMEM;
}

static int compare_tasks(const void *a, const void *b) {
    const ps_stream_task *x = a;
    const ps_stream_task *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_stream_task_marks(const void *a, const void *b) {
    const ps_waiting_mark *x = a;
    const ps_waiting_mark *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

/* Both lists are sorted then: one walk gives each mark at most one task, and each task to at most one mark. */
void ps_waiting_marks_join(ps_waiting_mark *marks, size_t n, ps_stream_task *tasks,
                           size_t n_tasks) {
    if (n > 1) {
        qsort(marks, n, sizeof *marks, compare_stream_task_marks);
    }
    if (n_tasks > 1) {
        qsort(tasks, n_tasks, sizeof *tasks, compare_tasks);
    }
    size_t t = 0;
    for (size_t i = 0; i < n; i++) {
        while (t < n_tasks &&
               (tasks[t].stream < marks[i].stream ||
                (tasks[t].stream == marks[i].stream && tasks[t].start_ns < marks[i].start_ns))) {
            t++;
        }
        bool found = t < n_tasks && tasks[t].stream == marks[i].stream;
        marks[i].task = found ? &tasks[t++] : NULL;
    }
}
