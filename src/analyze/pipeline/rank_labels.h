/* The ops of one rank as its trace shows them, whoever named them: marks, labels of frameworks, rules of the user, jobs,
 * or what follows from the flows of autograd. Each op with its place on the device and on the host, in its step. */
#ifndef PS_ANALYZE_RANK_LABELS_H
#define PS_ANALYZE_RANK_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/pipeline/host_labels.h"
#include "analyze/pipeline/label.h"
#include "analyze/rank/marks.h"
#include "base/archive.h"
#include "base/arena.h"
#include "model/chart.h"

/* source, what a chart says of it, in each language. The more trusted first: a job uses the best that any of its ranks has. */
#define PS_LABEL_SOURCES(X)                                                                        \
    X(PS_LABELS_USER, "ranges that --forward-re and --backward-re match", "匹配所给正则的 range")  \
    X(PS_LABELS_MARKS, "marks with a device side", "带设备侧的打点")                               \
    X(PS_LABELS_ACTION,                                                                            \
      "PP: ranges of torch.distributed.pipelining, or marks that name their stage",                \
      "torch.distributed.pipelining 的 PP: range，或写明阶段的打点")                               \
    X(PS_LABELS_MICROBATCH, "Forward and Backward ranges of torch.distributed.pipelining",         \
      "torch.distributed.pipelining 的 Forward、Backward range")                                   \
    X(PS_LABELS_FUNCTION, "ranges named after functions of the framework",                         \
      "以框架函数命名的 range")                                                                    \
    X(PS_LABELS_LAYER, "ranges of layers", "层的 range")                                           \
    X(PS_LABELS_PART, "ranges that hold parts of passes, NAME(F), NAME(B), NAME(W)",               \
      "含部分前向或反向的 range，NAME(F)、NAME(B)、NAME(W)")                                       \
    X(PS_LABELS_JOB, "jobs of the executor", "执行器的 job")                                       \
    X(PS_LABELS_FLOWS, "the flows between forward and backward operators: inferred, not marked",   \
      "前向与反向算子间的连线：推断所得，并非打点")

typedef enum ps_label_source {
#define X(source, english, chinese) source,
    PS_LABEL_SOURCES(X)
#undef X
        PS_LABELS_NONE
} ps_label_source;

const char *ps_label_source_text(ps_lang lang, ps_label_source source);

typedef struct ps_labelled {
    ps_mark mark;                 /* times are epoch ns */
    ps_host_label label;          /* kind as written; a job's and a user's `stage` is its chunk */
    const char *name;             /* of an OTHER op, else NULL */
    int64_t work_ns;              /* device_work.h; of who looks at the device */
    uint32_t first_part, n_parts; /* in the list's parts */
    bool is_empty;                /* its label holds its waits, and no computing */
} ps_labelled;

typedef struct ps_rank_labels {
    ps_label_source source;
    ps_labelled *ops; /* in start order on the device; of MARKS only the mark counts */
    size_t n, cap;
    ps_given_part *parts; /* of the ops, epoch ns; grouped by op */
    size_t n_parts, cap_parts;
    bool host_times;      /* the trace has no device: device times are those of the host */
    bool is_numbered;     /* every op has its microbatch */
    bool has_windows;     /* the steps are those of the trace, not of the labels */
    bool is_always_twice; /* labels stand twice in every window */
    size_t n_twice;       /* ops whose label their window had before */
    bool
        is_merged; /* ops of one kind run on several threads at once, of several workers: no source, no ops */
    size_t n_twice_run;       /* of FLOWS: ps_inferred_list.n_twice */
    int32_t n_chunks;         /* of USER: model pieces that its numbers tell apart */
    ps_chart_trimmed trimmed; /* what was cut off labels */
    size_t
        n_untrimmed; /* ops whose labels hold their waits, and nothing tells how long these are */
    size_t
        n_narrow; /* of FLOWS: ops of the host's operators alone, where nothing tells its other work from waiting */
    bool are_marks; /* of ACTION: marks that say stage and microbatch, more than other marks do */
    bool
        is_replica; /* DistributedDataParallel ran, and nothing is sent to or received from one rank */
    bool has_i, has_w, has_bw; /* actions seen: which revision of the names it is */
    ps_arena arena;            /* names */
} ps_rank_labels;

/* The best source that the trace has; PS_LABELS_NONE when it has none. With rules of the user nothing else is looked
 * at. PS_NOMEM, or PS_USAGE for a rule that is no expression. End with ps_rank_labels_fini(), also after a failure. */
PS_MUST_USE ps_code ps_rank_labels_read(const ps_map_input *in, ps_rank_labels *out, ps_err *err);
/* Steps by the labels instead of the windows, of a rank whose windows hold several. False when memory is out. */
bool ps_rank_labels_split(ps_rank_labels *labels);
void ps_rank_labels_fini(ps_rank_labels *labels);

void ps_rank_labels_archive(ps_archive *a, void *labels);

#endif
