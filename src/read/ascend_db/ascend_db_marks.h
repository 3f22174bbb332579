/* Marks: rows of MSTX_EVENTS (host) and, when a mark was recorded on a stream, the TASK row with the same connectionId
 * (device). Legal order: scan, the texts, add_host, then either add_device or, while TASK is scanned for everything,
 * one call of take_task for each of its rows; at last finish. */
#ifndef PS_READ_ASCEND_DB_MARKS_H
#define PS_READ_ASCEND_DB_MARKS_H

#include "read/ascend_db/ascend_db_reading.h"

typedef struct ps_ascend_mark {
    int64_t start_ns, end_ns, connection_id, thread_id, row;
    int64_t message;              /* id in STRING_IDS */
    int64_t domain;               /* id in STRING_IDS, or PS_ASCEND_NULL */
    int64_t event_type, category; /* for the whole timeline only, else PS_ASCEND_NULL */
    uint32_t slice;
} ps_ascend_mark;

typedef struct ps_ascend_marks {
    ps_ascend *a;
    ps_ascend_mark *rows;
    size_t n, cap;
    ps_idmap of_connection; /* -> row */
    ps_idmap on_thread; /* hash of thread and message, for rows of PYTORCH_API that repeat a mark */
    bool has_on_thread;
} ps_ascend_marks;

void ps_ascend_marks_fini(ps_ascend_marks *m);

/* Reads MSTX_EVENTS and wants its messages; a missing table is an empty one. */
PS_MUST_USE ps_code ps_ascend_marks_scan(ps_ascend_marks *m, ps_err *err);

/* Host slices of all marks, and which connection ids to look for among the tasks. */
PS_MUST_USE ps_code ps_ascend_marks_add_host(ps_ascend_marks *m, ps_err *err);

/* Columns that every scan of TASK begins with. */
#define PS_ASCEND_TASK_COLUMNS "startNs", "endNs", "connectionId", "streamId", "deviceId"

/* Scans TASK for the device sides. */
PS_MUST_USE ps_code ps_ascend_marks_add_device(ps_ascend_marks *m, ps_err *err);

/* Whether a row of TASK belongs to a mark: it is drawn as its device side (*first) or was there before. */
bool ps_ascend_marks_own_task(const ps_ascend_marks *m, const ps_scan_batch *b, size_t row,
                              bool *first);
/* Draws the device side on `track`. */
PS_MUST_USE ps_code ps_ascend_marks_take_task(ps_ascend_marks *m, const ps_scan_batch *b,
                                              size_t row, uint32_t track, ps_err *err);

/* Communication marks without a task of their own get one of their stream, when that is wanted; the others that have
 * none are counted. */
PS_MUST_USE ps_code ps_ascend_marks_finish(ps_ascend_marks *m, ps_err *err);

/* Whether a mark with this text was set on this thread. False also when memory is out (ps_builder_failed or not). */
bool ps_ascend_marks_on_thread(ps_ascend_marks *m, int64_t global_tid, ps_str message);

#endif
