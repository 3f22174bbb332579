#include "read/ascend/stream_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_marks.h"

bool ps_stream_of_message(const char *message, int64_t *stream) {
    *stream = -1;
    if (strstr(message, "streamId") == NULL || strstr(message, "opName") == NULL) {
        return true;
    }
    ps_arena arena = {0};
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

PS_COMPARE(compare_tasks, ps_stream_task, PS_BY(stream) PS_BY(start_ns) PS_BY(row))

PS_COMPARE(compare_stream_task_marks, ps_waiting_mark, PS_BY(stream) PS_BY(start_ns) PS_BY(mark))

/* Both lists are sorted then: one walk gives each mark at most one task, and each task to at most one mark. */
void ps_waiting_marks_join(ps_waiting_mark *marks, size_t n, ps_stream_task *tasks,
                           size_t n_tasks) {
    ps_sort(marks, n, sizeof *marks, compare_stream_task_marks);
    ps_sort(tasks, n_tasks, sizeof *tasks, compare_tasks);
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
