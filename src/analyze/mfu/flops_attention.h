/* Floating point operations of fused attention: scores Q K^T and P V are 2 s_q s_k (d_q + d_v) for each head and batch,
 * of which a mask that the kernel uses to skip blocks leaves a part. The backward pass takes 2.5 times as much: five
 * products where the forward pass has two (Dao, FlashAttention-2, section 4.1). Softmax is not counted. */
#ifndef PS_ANALYZE_FLOPS_ATTENTION_H
#define PS_ANALYZE_FLOPS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/shapes.h"
#include "base/arena.h"
#include "base/err.h"

#define PS_ATTENTION_BACKWARD 2.5

/* What of a call of attention decides how it can be made faster. */
typedef struct ps_attention_form {
    bool is_known;          /* else all of it is not */
    bool skips_blocks;      /* the mask is a flag by which the kernel leaves pairs out */
    bool is_packed;         /* sequences of unlike length behind one another, without padding */
    int64_t head_size;      /* of the queries; 0 unknown */
    bool has_type, is_wide; /* the type of the queries is known; it is a 32-bit float */
} ps_attention_form;

typedef enum ps_attention_layout {
    PS_LAYOUT_UNKNOWN,
    PS_LAYOUT_BNSD,
    PS_LAYOUT_BSND,
    PS_LAYOUT_BSH,
    PS_LAYOUT_SBH,
    PS_LAYOUT_TND
} ps_attention_layout;

/* What the shapes do not tell. */
typedef struct ps_attention {
    ps_attention_layout layout;
    int64_t
        sparse_mode; /* 0, 1 all; 2 causal from the upper left corner; 3 causal to the lower right one */
    const int64_t *q_ends, *kv_ends; /* TND: cumulative lengths */
    size_t n_q, n_kv;
} ps_attention;

/* The message of a marker of domain flash_attn_args:
 *   {"input_layout": "TND", "sparse_mode": 3, "actual_seq_qlen": [400, 1024], "actual_seq_kvlen": [400, 1024]}
 *   {"is_causal": true}      BNSD, sparse mode 2, else 0
 * False when it is anything else, or memory is out (then err says so). Lists live in the arena. */
bool ps_attention_parse(ps_arena *arena, const char *text, size_t n, ps_attention *out,
                        ps_err *err);

/* Pairs of positions that are computed, -1 for sparse modes that need more than the two lengths (4 and up). */
double ps_attention_area(int64_t q, int64_t k, int64_t sparse_mode);

/* Of the same inputs; `types` is a list beside them (ps_list_item), or NULL. */
ps_attention_form ps_attention_form_of(const ps_attention *a, const ps_shapes *in, size_t first,
                                       const char *types);

/* Of the forward pass, from inputs q, k, v at `first`, first + 1, first + 2; without v its heads are taken to be as long
 * as those of k. 0 unknown. *heads_hidden: BSH or SBH with fewer heads of k than of q: their sizes are taken from q. */
double ps_flops_attention(const ps_attention *a, const ps_shapes *in, size_t first,
                          bool *heads_hidden);

#endif
