/* Views: what a page shows of one rank, as tables; some of them within a span of time. One entry each in views.def.
 *
 * A view sees the sealed trace and, where it says so, what was worked out of it. Which slices lie in a span: those that
 * touch [from, to). Sums take of a slice only what lies inside; lists show it whole. */
#ifndef PS_ANALYZE_VIEW_H
#define PS_ANALYZE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/recording.h"
#include "model/table.h"
#include "model/trace.h"

/* The page that shows it. */
typedef enum ps_view_tab {
    PS_TAB_TIMELINE,
    PS_TAB_OPERATOR,
    PS_TAB_MEMORY,
    PS_TAB_COMMUNICATION,
    PS_TAB_SUMMARY
} ps_view_tab;

const char *ps_view_tab_name(ps_view_tab tab); /* "timeline" */

/* What must be there before it is made. */
typedef enum ps_view_uses {
    PS_VIEW_LINKS = 1u << 0,
    PS_VIEW_OVERLAPS = 1u << 1, /* with spans */
    PS_VIEW_ROWS = 1u << 2,  /* its rows are made when they are read: they borrow from the trace */
    PS_VIEW_WHOLE = 1u << 3, /* of the whole capture: the span is not looked at */
    PS_VIEW_SAYS = 1u << 4   /* its rows hold sentences: they are others in each language */
} ps_view_uses;

/* What is read of a rank for all of them: the whole timeline with all that is known of it. */
#define PS_VIEW_NEEDS                                                                              \
    ((uint32_t)(PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS |                  \
                PS_NEED_COMM_HOST | PS_NEED_LABELS | PS_NEED_SLICES | PS_NEED_FLOWS |              \
                PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES | PS_NEED_STATISTICS))

/* A parameter of a view beside the span. All texts are static. */
typedef struct ps_view_param {
    const char *name, *help;
    const char *choices;  /* "overall|stream|component", "" for any text */
    const char *fallback; /* when it is not given; "" */
} ps_view_param;

typedef struct ps_view_value {
    const char *name, *value;
} ps_view_value;

typedef struct ps_view_input {
    const ps_trace *trace;
    const ps_links *links;       /* with PS_VIEW_LINKS */
    const ps_overlaps *overlaps; /* with PS_VIEW_OVERLAPS; of all steps, with spans */
    int64_t from_ns, to_ns;      /* from the trace's origin; INT64_MIN and INT64_MAX: everything */
    const ps_view_value *values; /* parameters */
    size_t n_values;
    ps_lang lang; /* of sentences */
} ps_view_input;

typedef struct ps_view {
    const char *name, *title;
    ps_view_tab tab;
    uint32_t uses;
    const ps_view_param *params;
    size_t n_params;
    const char *
        last_own; /* the column behind which stand arguments that the capture has; NULL: all are the view's */
    /* A table that the caller frees; with PS_VIEW_ROWS before the trace. Columns named `slice` hold rows of the trace, times
     * `..start_ns` count from its origin. NULL: PS_NOTHING with a sentence that says what the capture lacks and how to
     * collect it, PS_USAGE for a parameter, or PS_NOMEM. */
    ps_table *(*make)(const ps_view_input *in, ps_err *err);
} ps_view;

#define X(symbol) extern const ps_view ps_view_##symbol;
#include "analyze/views/views.def"
#undef X

/* All views in the order of views.def, NULL-terminated. */
const ps_view *const *ps_views(void);
const ps_view *ps_view_find(const char *name); /* NULL: none of that name */

/* The value of a parameter, or its fallback. NULL with PS_USAGE when it is none of the choices. */
const char *ps_view_param_of(const ps_view_input *in, const ps_view *view, const char *name,
                             ps_err *err);

/* --- for those who make views ---------------------------------------------------------------------------------- */

static inline bool ps_view_is_all(const ps_view_input *in) {
    return in->from_ns == INT64_MIN && in->to_ns == INT64_MAX;
}
/* What of [start, end) lies in the span; 0 also for what lies outside. */
static inline int64_t ps_view_inside_ns(const ps_view_input *in, int64_t start_ns, int64_t end_ns) {
    int64_t from = start_ns > in->from_ns ? start_ns : in->from_ns;
    int64_t to = end_ns < in->to_ns ? end_ns : in->to_ns;
    return to > from ? to - from : 0;
}
/* Whether a slice touches the span; one of no length does at its moment. */
static inline bool ps_view_touches(const ps_view_input *in, int64_t start_ns, int64_t dur_ns) {
    return start_ns < in->to_ns && (start_ns >= in->from_ns || start_ns + dur_ns > in->from_ns);
}

/* What several say where there is nothing. */
#define PS_VIEW_NO_KERNELS(lang)                                                                                        \
    PS_SAY(lang,                                                                                                        \
           "no kernels in this span: record the activity of the device (ProfilerActivity.NPU or "                       \
           "CUDA; pipescope record --backend cupti, or pipescope.record_ops() on the CPU)",                             \
           "该时间段内没有核函数：请采集设备活动（ProfilerActivity.NPU 或 CUDA；pipescope record " \
           "--backend cupti，CPU 上可用 pipescope.record_ops()）")

#define PS_VIEW_NO_COMM(lang)                                                                                    \
    PS_SAY(lang,                                                                                                 \
           "no communication in this span: the rank communicated nothing in it, or the "                         \
           "profile has no communication operators (Ascend: profiler_level Level1; a "                           \
           "recording of pipescope: ranges of the domain communication)",                                        \
           "该时间段内没有通信：该 rank 未通信，或采集数据中没有通信算子（Ascend：" \
           "profiler_level Level1；pipescope 录制：communication 域的 range）")
/* ... and where pipescope itself recorded. */
#define PS_VIEW_NO_COMM_RECORDED(lang)                                                                   \
    PS_SAY(                                                                                              \
        lang,                                                                                            \
        "no communication in this span: the rank communicated nothing in it, or " PS_RECORDING_COMM_HOW, \
        "该时间段内没有通信：该 rank 未通信，或" PS_RECORDING_COMM_HOW_ZH)

/* The end of most views: the table; NULL with PS_NOMEM when it is NULL or failed, else with PS_NOTHING and that sentence when
 * there is not `any` of what it shows. */
ps_table *ps_view_end(ps_table *t, bool any, const char *nothing, ps_err *err);

/* Rows that are slices, found in one pass; a table made of them needs nothing else. */
typedef struct ps_slice_list {
    uint32_t *at;
    size_t n, cap;
} ps_slice_list;
bool ps_slice_list_add(ps_slice_list *list, uint32_t slice); /* false: memory is out */

#endif
