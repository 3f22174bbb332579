/* Host ranges whose names say which part of a pipeline's step they are: names of frameworks, or rules of the user.
 *
 *   PP:3F7   PP:(0F7;7B3)OVERLAP_F_B     torch.distributed.pipelining, stages of the whole model
 *   {'name': 'forward_step', 'current_microbatch': 7, 'stage': 3}   the same of Megatron, as pipescope records it
 *   Forward 2   Backward 2               the same, GPipe
 *   forward_step   WeightGradStore.pop   functions of Megatron, MindSpeed, zero-bubble, DualPipe
 *   layer_3f-layer_8b                    NVTX ranges of Megatron, layers inside of an op
 *
 * docs/marks.md lists every name. A trace uses the most specific family that it has any op of. */
#ifndef PS_ANALYZE_HOST_LABELS_H
#define PS_ANALYZE_HOST_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/err.h"
#include "base/pattern.h"
#include "schedule/action.h"

/* The more specific first. */
typedef enum ps_label_family {
    PS_FAMILY_USER,
    PS_FAMILY_ACTION,
    PS_FAMILY_MICROBATCH,
    PS_FAMILY_FUNCTION,
    PS_FAMILY_LAYER,
    PS_FAMILY_PART, /* host_parts.h: what holds parts of passes */
    PS_N_FAMILIES
} ps_label_family;

/* What a name means. Numbers that it does not give are -1. */
typedef struct ps_host_label {
    ps_label_family family;
    ps_op_kind kind;             /* SEND and RECV: posting of a transfer, no device work */
    int32_t stage, microbatch;   /* of the whole model; of the forward in an FB */
    int32_t stage2, microbatch2; /* of the backward in an FB */
    int32_t layer_f, layer_b;    /* PS_FAMILY_LAYER */
    ps_action_kind action,
        second; /* PS_FAMILY_ACTION: as written (second: of the backward in an FB) */
} ps_host_label;

/* Whether a label of this kind is an op of the pipeline; posting a transfer and administration are none. */
static inline bool ps_label_is_op(ps_op_kind kind) {
    return kind != PS_OP_OTHER && kind != PS_OP_SEND && kind != PS_OP_RECV;
}

/* Rules of the user, compiled; NULL: none. One thread at a time. */
typedef struct ps_label_rules {
    ps_pattern *forward, *backward, *microbatch;
} ps_label_rules;

/* Compiles the expressions of the options (NULL: none); PS_USAGE names the one that is none. End with
 * ps_label_rules_fini(), also after a failure. */
PS_MUST_USE ps_code ps_label_rules_init(ps_label_rules *rules, const ps_analysis_opts *opts,
                                        ps_err *err);
void ps_label_rules_fini(ps_label_rules *rules);
/* What must hold of all of them together, before a run. PS_USAGE. */
PS_MUST_USE ps_code ps_label_rules_check(const ps_analysis_opts *opts, ps_err *err);
/* Whether the user gave rules that name ops. */
static inline bool ps_label_rules_given(const ps_analysis_opts *opts) {
    return opts->forward_re != NULL || opts->backward_re != NULL;
}

/* The name against the rules: matched by both, it is an FB. The number is what the first group of the rule holds, else
 * that of the microbatch rule. *found tells whether any rule matches. PS_USAGE: a rule costs too much. */
PS_MUST_USE ps_code ps_label_rules_match(const ps_label_rules *rules, const char *name,
                                         ps_host_label *out, bool *found, ps_err *err);

/* The name of a framework. False also when memory is out, which only a message in form of a dict needs. */
bool ps_host_label_parse(const char *name, ps_host_label *out);

/* Whether the marks that are messages in form of a dict, at least one of them an op, all say their stage and microbatch:
 * then they are labels, whatever their order. PS_NOMEM only. */
PS_MUST_USE ps_code ps_host_labels_say_stages(const ps_trace *trace, bool *all, ps_err *err);

typedef struct ps_host_range {
    int64_t start_ns, end_ns; /* from the trace's origin */
    uint32_t slice;           /* PS_NONE: several slices together */
    uint32_t track;
    ps_host_label label;
} ps_host_range;

typedef struct ps_host_ranges {
    ps_host_range *ranges; /* in start order, longer first; of one family */
    size_t n, cap;
    ps_label_family family; /* PS_N_FAMILIES: none */
} ps_host_ranges;

/* The labelled ranges of a trace; with `rules` those that match, else those of frameworks. Ranges that only wrap others
 * and ranges nested in one of their thread are left out and counted. PS_NOMEM only. The caller ends with
 * ps_host_ranges_fini(). */
PS_MUST_USE ps_code ps_host_ranges_collect(const ps_trace *trace, const ps_label_rules *rules,
                                           ps_host_ranges *out, ps_diag *diag, ps_err *err);
void ps_host_ranges_fini(ps_host_ranges *ranges);
/* In start order, longer first. */
void ps_host_ranges_sort(ps_host_ranges *ranges);

#endif
