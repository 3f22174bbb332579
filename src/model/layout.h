/* How the ranks of a job lie in its parallel dimensions: what sizes must fulfil, where each rank stands, and who is in a group
 * with whom. Pure arithmetic, by the rules of the frameworks. */
#ifndef PS_MODEL_LAYOUT_H
#define PS_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lang.h"

#define PS_LAYOUT_MOST 10000              /* of one size */
#define PS_LAYOUT_RANKS ((int64_t)100000) /* of the job */

/* symbol, name, order of the dimensions as --order takes it too (NULL: one before has it), title, whether it has context parallel,
 * whether MoE tensor parallel */
#define PS_LAYOUTS(X)                                                                              \
    X(MEGATRON, "megatron", "tp-cp-ep-dp-pp", "Megatron-LM (tp-cp-ep-dp-pp)", true, false)         \
    X(MEGATRON_PP, "megatron-pp-dp", "tp-cp-ep-pp-dp", "Megatron-LM (tp-cp-pp-ep-dp)", true,       \
      false)                                                                                       \
    X(MINDSPEED, "mindspeed", NULL, "MindSpeed (tp-cp-ep-dp-pp)", true, false)                     \
    X(MINDIE, "mindie", NULL, "MindIE-LLM (tp-dp-ep-pp-moetp)", false, true)                       \
    X(VLLM, "vllm", NULL, "vLLM (tp-pp-dp-ep)", false, false)

typedef enum ps_layout {
#define X(symbol, name, order, title, has_cp, has_moe_tp) PS_LAYOUT_##symbol,
    PS_LAYOUTS(X)
#undef X
        PS_N_LAYOUTS
} ps_layout;

const char *ps_layout_name(ps_layout l);
const char *ps_layout_title(ps_layout l);
bool ps_layout_has_cp(ps_layout l);
bool ps_layout_has_moe_tp(ps_layout l);
/* By its name or its order. */
bool ps_layout_find(const char *name, ps_layout *out);
/* All orders and names, NULL-terminated: what ps_layout_find() takes. */
extern const char *const ps_layout_names[];

/* Each at least 1; cp 1 where the layout has none. */
typedef struct ps_layout_dims {
    int64_t tp, cp, dp, pp, ep, moe_tp;
} ps_layout_dims;

/* Ranks of the job; -1 when more than PS_LAYOUT_RANKS. */
int64_t ps_layout_ranks(ps_layout l, const ps_layout_dims *p);

typedef struct ps_layout_problem {
    const char *
        kind; /* "too-many", "too-few", "dp-ep", "cpdp-ep", "moe", "vllm-ep": for those who say it in other words */
    char text[160]; /* a sentence */
} ps_layout_problem;

/* What is wrong with these sizes for a capture of `n_ranks`: into `out`, as many as are returned. */
#define PS_LAYOUT_PROBLEMS 4
size_t ps_layout_check(ps_lang lang, ps_layout l, const ps_layout_dims *p, int64_t n_ranks,
                       ps_layout_problem out[PS_LAYOUT_PROBLEMS]);

typedef struct ps_layout_coordinates {
    int64_t tp, cp, dp, pp;
    int64_t ep; /* in its expert group */
} ps_layout_coordinates;

/* Of a rank below ps_layout_ranks(), and the way back (ep is not looked at). */
ps_layout_coordinates ps_layout_coordinates_of(ps_layout l, const ps_layout_dims *p, int64_t rank);
int64_t ps_layout_rank_at(ps_layout l, const ps_layout_dims *p, const ps_layout_coordinates *at);
/* Column and row in the picture: stages below each other, all else side by side. */
void ps_layout_position(ps_layout l, const ps_layout_dims *p, const ps_layout_coordinates *at,
                        int64_t *x, int64_t *y);

/* --- where a rank stands, as far as that is known --- */

/* 0: not known. A size that nobody names counts as 1 where stages follow from it. */
typedef struct ps_layout_sizes {
    int64_t tp, cp, dp, pp, world;
} ps_layout_sizes;

/* Whether sizes that somebody gave (0: not given) cannot be those of a job of given->world ranks, of which a capture has n_ranks:
 * their product must divide it, be it where all are given, and hold the captured ranks where dp is given. `known`: the same with
 * what else is known of the sizes. `out`: why, a part of a sentence. */
bool ps_layout_contradicts(ps_lang lang, ps_layout l, const ps_layout_sizes *given,
                           const ps_layout_sizes *known, int64_t n_ranks, char out[160]);

/* -1: not known. `pipeline` counts the ranks of a stage. */
typedef struct ps_layout_place {
    int64_t tp, dp, pp, pipeline;
} ps_layout_place;

/* The one answer to where a rank stands by sizes. Nothing is known of a rank outside of the job. Where the product of the
 * sizes is not the size of the job, the stage is what follows from the outermost sizes alone; tp and dp are not known. */
ps_layout_place ps_layout_locate(ps_layout l, const ps_layout_sizes *sizes, int64_t rank);

/* Kinds of groups: the dimension or dimensions in which its ranks differ. */
#define PS_LAYOUT_GROUPS(X)                                                                        \
    X(TP, "tp")                                                                                    \
    X(CP, "cp")                                                                                    \
    X(DP, "dp")                                                                                    \
    X(PP, "pp")                                                                                    \
    X(DP_CP, "dp-cp")                                                                              \
    X(TP_PP, "tp-pp")                                                                              \
    X(EP, "ep")
typedef enum ps_group_kind {
#define X(symbol, name) PS_GROUP_##symbol,
    PS_LAYOUT_GROUPS(X)
#undef X
        PS_N_GROUP_KINDS
} ps_group_kind;
const char *ps_group_kind_name(ps_group_kind kind);
/* A number of the group of this kind that a rank is in; equal for its members only. */
int64_t ps_layout_group_of(ps_layout l, const ps_layout_dims *p, ps_group_kind kind, int64_t rank);
/* Whether groups of this kind have more than one member. */
bool ps_layout_has_group(ps_layout l, const ps_layout_dims *p, ps_group_kind kind);

#endif
