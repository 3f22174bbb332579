/* The span of time that a mode was asked for (--from_ns, --to_ns), and what of a slice lies in it. */
#ifndef PS_ANALYZE_ASKED_SPAN_H
#define PS_ANALYZE_ASKED_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/num.h"
#include "model/trace.h"

/* From the trace's origin; INT64_MIN and INT64_MAX where nobody said where it begins and ends. */
typedef struct ps_asked_span {
    int64_t from_ns, to_ns;
} ps_asked_span;
#define PS_ASKED_ALL                                                                               \
    { INT64_MIN, INT64_MAX }

static inline ps_asked_span ps_asked_span_of(const ps_analysis_opts *opts, const ps_trace *trace) {
    int64_t origin_ns = ps_trace_origin_ns(trace);
    return (ps_asked_span){opts->from_ns > 0 ? ps_i64_minus(opts->from_ns, origin_ns) : INT64_MIN,
                           opts->to_ns > 0 ? ps_i64_minus(opts->to_ns, origin_ns) : INT64_MAX};
}

static inline bool ps_is_span_asked(const ps_analysis_opts *opts) {
    return opts->from_ns > 0 || opts->to_ns > 0;
}

/* Whether anything of [*start, *end) lies in the span, of no length too: then they become the part that does. In a span that ends before
 * it begins lies nothing. */
static inline bool ps_asked_span_cut(const ps_asked_span *span, int64_t *start_ns,
                                     int64_t *end_ns) {
    bool touches = span->from_ns < span->to_ns && *start_ns < span->to_ns &&
                   (*start_ns >= span->from_ns || *end_ns > span->from_ns);
    if (touches) {
        *start_ns = ps_larger(*start_ns, span->from_ns);
        *end_ns = ps_smaller(*end_ns, span->to_ns);
    }
    return touches;
}

/* " in this span" or " in this step" where one is wanted, in each language: two values, as PS_IN_THIS_STEP has them. */
#define PS_IN_THIS_PART(opts)                                                                      \
    (ps_is_span_asked(opts) ? " in this span"                                                      \
     : (opts)->step_id >= 0 ? " in this step"                                                      \
                            : ""),                                                                 \
        (ps_is_span_asked(opts) ? "该时段内"                                                   \
         : (opts)->step_id >= 0 ? "该 step 中"                                                   \
                                : "")

#endif
