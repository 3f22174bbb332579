/* Memory over time, from whatever a profile has of it: MEMORY_RECORD or memory_record.csv of Ascend, the [memory] events of
 * PyTorch, counters of memory (Nsight Systems, NPU memory). All in bytes. */
#ifndef PS_ANALYZE_MEMORY_POINTS_H
#define PS_ANALYZE_MEMORY_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "model/trace.h"

typedef enum ps_memory_by { PS_MEMORY_OVERALL, PS_MEMORY_STREAM, PS_MEMORY_COMPONENT } ps_memory_by;

typedef struct ps_memory_series {
    const char *owner; /* "operators", "APP", "stream 733279888", "HCCL", "GPU 0" */
    const char *what;  /* "allocated", "reserved", "active", or "" for what a counter counts */
    int64_t device;    /* -1 unknown */
    size_t first, n;   /* in points */
} ps_memory_series;

typedef struct ps_memory_point {
    int64_t time_ns; /* from the trace's origin */
    double bytes;
    uint32_t series;
    uint32_t order; /* as it came */
} ps_memory_point;

typedef struct ps_memory_points {
    ps_memory_series *series; /* in the order in which they were met */
    size_t n_series, cap_series;
    ps_memory_point *points; /* by series, time, order */
    size_t n, cap;
    size_t n_zero; /* series left out, for they are nought all the time */
    ps_strpool names;
    ps_idmap rows;
} ps_memory_points;

/* PS_NOMEM only; nothing is no error. End with ps_memory_points_fini() in any case. Needs TABLES, COUNTERS, SLICES, ARGS. */
PS_MUST_USE ps_code ps_memory_points_read(const ps_trace *trace, ps_memory_by by,
                                          ps_memory_points *out, ps_err *err);
void ps_memory_points_fini(ps_memory_points *m);

/* The highest point of a series within [from, to), beginning with the value that holds at `from`: the first of equals, which
 * may lie before the span. `last` is what holds at its end. NULL: nothing is known yet. */
const ps_memory_point *ps_memory_peak(const ps_memory_points *m, const ps_memory_series *s,
                                      int64_t from_ns, int64_t to_ns, const ps_memory_point **last);

/* What to say when a profile knows nothing of memory. */
#define PS_NO_MEMORY(lang)                                                                                   \
    PS_SAY(lang,                                                                                             \
           "the profile knows nothing of memory: record it (profile_memory=True; nsys profile "              \
           "--cuda-memory-usage=true)",                                                                      \
           "采集数据中没有内存信息：请在采集时打开（profile_memory=True；nsys profile " \
           "--cuda-memory-usage=true）")

/* Whole bytes; of what no integer holds the largest one. */
int64_t ps_memory_whole(double bytes);

/* --- cells of tables that profilers wrote, under the names of databases and of CSV files -------------------------------- */

typedef struct ps_memory_column {
    size_t at; /* SIZE_MAX: not there */
    ps_col_type type;
    double scale; /* to bytes or ns */
} ps_memory_column;

/* `names` NULL-terminated; "(KB)" and "(MB)" in a name, and the unit of a column of times, are the scale. */
ps_memory_column ps_memory_find(const ps_table *t, const char *const *names);
bool ps_memory_real(const ps_table *t, size_t row, const ps_memory_column *c, double *out);
/* Integers as they are: times since 1970. */
bool ps_memory_int(const ps_table *t, size_t row, const ps_memory_column *c, int64_t *out);
const char *ps_memory_text(const ps_table *t, size_t row, const ps_memory_column *c); /* or NULL */

/* The number of a device: "NPU:0", or the number itself; -1 unknown. */
int64_t ps_memory_device(const ps_table *t, size_t row, const ps_memory_column *c);

/* One [memory] event of PyTorch; false: the slice is none. */
typedef struct ps_memory_event {
    int64_t bytes, address, allocated, reserved, device; /* -1 unknown, for all but bytes */
    bool is_cpu;
} ps_memory_event;
bool ps_memory_event_read(const ps_trace *trace, ps_str name, uint32_t slice, ps_memory_event *out);

#endif
