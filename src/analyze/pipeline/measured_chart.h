/* A ps_chart from what was measured: labelled marks, and sends and receives with their links. */
#ifndef PS_ANALYZE_MEASURED_CHART_H
#define PS_ANALYZE_MEASURED_CHART_H

#include "analyze/comm/p2p.h"
#include "analyze/comm/topology.h"
#include "analyze/pipeline/label.h"
#include "analyze/rank/marks.h"
#include "analyze/stats/intervals.h"
#include "model/chart.h"

/* One rank. Without marks it is not part of the chart; all pointers are borrowed. */
typedef struct ps_measured_rank {
    int64_t rank;
    ps_place place;
    const ps_mark_list *marks;    /* or NULL */
    const ps_given_label *labels; /* [marks->n] */
    bool from_table;              /* marks are rows of StepTaskInfo: no host times */
    bool no_host;                 /* nor have these */
    int32_t machine;              /* -1 unknown */
    ps_recorded_clock clock;
    const ps_intervals *rest; /* work of the device in no mark (device_work.h), or NULL: unknown */
    const ps_p2p_list *p2p;   /* or NULL; counterparts count ranks as this array does */
} ps_measured_rank;

/* Ranks in the order given; origin = the first mark's start. With `is_classic` the microbatch of an op is its
 * number among the forwards (backwards) of its rank and step, and its name that number ("3", "3B"). A send
 * belongs to the step of the last mark that began before it, a receive to that of the first mark after its end. NULL only when memory is out. The caller
 * frees the chart with ps_chart_free(). */
ps_chart *ps_measured_chart(const ps_measured_rank *ranks, size_t n, bool is_classic, ps_lang lang,
                            ps_err *err);

#endif
