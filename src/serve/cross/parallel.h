/* How the ranks of a job lie in its parallel dimensions: what sizes must fulfil, where each rank stands, and who is in a group
 * with whom. Pure arithmetic, by the rules of the frameworks. */
#ifndef PS_SERVE_PARALLEL_H
#define PS_SERVE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_PARALLEL_MOST 10000              /* of one size */
#define PS_PARALLEL_RANKS ((int64_t)100000) /* of the job */

/* symbol, name in addresses, title, whether it has context parallel, whether MoE tensor parallel */
#define PS_LAYOUTS(X)                                                                              \
    X(MEGATRON, "megatron", "Megatron-LM (tp-cp-ep-dp-pp)", true, false)                           \
    X(MEGATRON_PP, "megatron-pp-dp", "Megatron-LM (tp-cp-pp-ep-dp)", true, false)                  \
    X(MINDSPEED, "mindspeed", "MindSpeed (tp-cp-ep-dp-pp)", true, false)                           \
    X(MINDIE, "mindie", "MindIE-LLM (tp-dp-ep-pp-moetp)", false, true)                             \
    X(VLLM, "vllm", "vLLM (tp-pp-dp-ep)", false, false)

typedef enum ps_layout {
#define X(symbol, name, title, has_cp, has_moe_tp) PS_LAYOUT_##symbol,
    PS_LAYOUTS(X)
#undef X
        PS_N_LAYOUTS
} ps_layout;

const char *ps_layout_name(ps_layout l);
const char *ps_layout_title(ps_layout l);
bool ps_layout_has_cp(ps_layout l);
bool ps_layout_has_moe_tp(ps_layout l);
bool ps_layout_find(const char *name, ps_layout *out);

/* Each at least 1; cp 1 where the layout has none. */
typedef struct ps_parallel {
    int64_t tp, cp, dp, pp, ep, moe_tp;
} ps_parallel;

/* Ranks of the job; -1 when more than PS_PARALLEL_RANKS. */
int64_t ps_parallel_ranks(ps_layout l, const ps_parallel *p);

/* What is wrong with these sizes for a capture of `n_ranks`: sentences into `out`, as many as are returned. */
#define PS_PARALLEL_PROBLEMS 4
size_t ps_parallel_check(ps_layout l, const ps_parallel *p, int64_t n_ranks,
                         char out[PS_PARALLEL_PROBLEMS][160]);

typedef struct ps_parallel_place {
    int64_t tp, cp, dp, pp;
    int64_t ep; /* in its expert group */
} ps_parallel_place;

/* Of a rank below ps_parallel_ranks(), and the way back (ep is not looked at). */
ps_parallel_place ps_parallel_place_of(ps_layout l, const ps_parallel *p, int64_t rank);
int64_t ps_parallel_rank_at(ps_layout l, const ps_parallel *p, const ps_parallel_place *at);
/* Column and row in the picture: stages below each other, all else side by side. */
void ps_parallel_position(ps_layout l, const ps_parallel *p, const ps_parallel_place *at,
                          int64_t *x, int64_t *y);

/* Kinds of groups: the dimension or dimensions in which its ranks differ. */
#define PS_PARALLEL_GROUPS(X)                                                                      \
    X(TP, "tp")                                                                                    \
    X(CP, "cp")                                                                                    \
    X(DP, "dp")                                                                                    \
    X(PP, "pp")                                                                                    \
    X(DP_CP, "dp-cp")                                                                              \
    X(TP_PP, "tp-pp")                                                                              \
    X(EP, "ep")
typedef enum ps_group_kind {
#define X(symbol, name) PS_GROUP_##symbol,
    PS_PARALLEL_GROUPS(X)
#undef X
        PS_N_GROUP_KINDS
} ps_group_kind;
const char *ps_group_kind_name(ps_group_kind kind);
/* A number of the group of this kind that a rank is in; equal for its members only. */
int64_t ps_parallel_group_of(ps_layout l, const ps_parallel *p, ps_group_kind kind, int64_t rank);
/* Whether groups of this kind have more than one member. */
bool ps_parallel_has_group(ps_layout l, const ps_parallel *p, ps_group_kind kind);

#endif
