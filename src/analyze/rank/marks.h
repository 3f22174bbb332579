/* The forward and backward marks of one rank: chosen, sorted into steps, and freed of wrappers and nested
 * marks. Everything that draws or measures a pipeline starts from these. */
#ifndef PS_ANALYZE_MARKS_H
#define PS_ANALYZE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/archive.h"
#include "model/chart.h"

typedef struct ps_mark {
    int64_t start_ns, end_ns; /* device time, epoch */
    int64_t host_start_ns, host_end_ns;
    int64_t step;        /* id; 0 when the profile has no steps; PS_STEP_OUTSIDE */
    int32_t microbatch;  /* current_microbatch of the message, -1 when it has none */
    uint32_t track;      /* of the trace: the stream */
    uint32_t source_row; /* row id of the device task, cut to 32 bits: for messages only */
    uint8_t kind;        /* PS_OP_F, PS_OP_B, PS_OP_BW or PS_OP_FB, by the message */
} ps_mark;

typedef struct ps_mark_list {
    ps_mark *marks; /* in start order */
    size_t n, cap;
    size_t n_selected; /* before wrappers and nested marks were left out */
} ps_mark_list;

/* What a message means; *is_mark is false when it is no forward, backward or weight-gradient mark. Kinds by
 * substring, any case: "WeightGradStore?pop" BW, both words FB, "forward" F, "backward" B. PS_NOMEM only. */
PS_MUST_USE ps_code ps_mark_classify(const char *message, bool *is_mark, ps_op_kind *kind,
                                     int32_t *microbatch, ps_err *err);

/* All marks with a device side. With opts->step_id >= 0 only those of that step; PS_NOTHING with a sentence
 * when the rank has no such step. The caller ends with ps_mark_list_fini(). */
PS_MUST_USE ps_code ps_marks_collect(const ps_trace *trace, const ps_analysis_opts *opts,
                                     ps_mark_list *out, ps_diag *diag, ps_err *err);

/* The same of all marks by their times on the host: for traces whose device is the host (ps_trace_has_host_times), and
 * whose marks were recorded without a stream. */
PS_MUST_USE ps_code ps_marks_collect_host(const ps_trace *trace, const ps_analysis_opts *opts,
                                          ps_mark_list *out, ps_diag *diag, ps_err *err);

/* The same from the labels of an earlier run (side table StepTaskInfo), for a profile whose marks are gone: kinds by
 * label ("FP", "BP", "7", "12B", "12b", "12w", "7F+13B", "logits"; others are counted), steps by device time. */
PS_MUST_USE ps_code ps_marks_from_labels(const ps_trace *trace, const ps_analysis_opts *opts,
                                         ps_mark_list *out, ps_diag *diag, ps_err *err);
void ps_mark_list_fini(ps_mark_list *list);

void ps_mark_archive(ps_archive *a, void *mark);
void ps_mark_list_archive(ps_archive *a, void *list);

#endif
