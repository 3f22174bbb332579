/* What results take from one rank of a chart to another: charts have ops that compute, and of what passes between them only when
 * the next one began.
 *
 * An op that had to wait began when the result that came last was there: what passed since that result's op ended is the way between
 * the two ranks. The median of these is what each of their transfers takes, so that single pauses count for little and a link that is slow shows.
 *
 * A way that is less than nothing tells that the clocks of the two are apart by at least that: the way back seems as much longer. Half of both
 * ways, which clocks are no part of, is then taken for each. */
#ifndef PS_ANALYZE_CHART_TRANSFERS_H
#define PS_ANALYZE_CHART_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/chart.h"
#include "model/chart_groups.h"

/* Results are used on one rank before they are there on another. */
typedef struct ps_clocks_apart {
    uint32_t from, to;   /* rows of the chart's ranks */
    int64_t least_ns;    /* so far are their clocks apart, or farther; 0: none are seen to be */
    uint32_t n_early, n; /* results that are used too early, of those that pass this way */
} ps_clocks_apart;

typedef struct ps_chart_transfers {
    uint32_t *
        links; /* rows in the chart's links of results that pass to another rank within a step, by their op */
    size_t *first; /* [chart ops + 1] those of op i: links[first[i]] to links[first[i + 1]] */
    int64_t *duration_ns;  /* [chart links] of those in `links` */
    ps_clocks_apart apart; /* of the ranks whose clocks are farthest apart */
} ps_chart_transfers;

/* Whether the link leads to another rank, within a step, from a pass to a pass. */
bool ps_is_transfer(const ps_chart *chart, const ps_chart_groups *groups, size_t link);

/* `usual_ns`: of ranks between which nobody was seen to wait, unless less passed. False when memory is out. End with ps_chart_transfers_fini() in any case. */
bool ps_chart_transfers_make(const ps_chart *chart, const ps_chart_groups *groups, int64_t usual_ns,
                             ps_chart_transfers *out);
void ps_chart_transfers_fini(ps_chart_transfers *t);

#endif
