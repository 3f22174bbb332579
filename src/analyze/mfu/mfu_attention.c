/* Fused attention on Ascend. The kernel's shapes do not tell layout and mask; the framework's plugin marks them on the
 * host, just before the operator:
 *
 *   instant, domain flash_attn_args   {"input_layout": "BSND", "sparse_mode": 2, ...}
 *   operator aclnnFlashAttentionScore -> kernel FlashAttentionScore
 *
 * Each marker, in time order, is for the first attention operator of its thread that begins within 3 ms; of several
 * markers for one operator the latest counts. A backward kernel has no marker: it is 2.5 times the forward kernel whose
 * operator its own is the backward of (module_pairs.h). */
#include <string.h>

#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/mfu_parts.h"
#include "analyze/rank/module_pairs.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

#define MARKER_REACH_NS 3000000

/* The first of the rows whose launch is on this track at or after `at`; n when there is none. */
static bool is_launched_before(const ps_mfu_work *w, uint32_t row, uint32_t track, int64_t at) {
    uint32_t launch = w->kernels[row].launch;
    uint32_t its_track = w->slices->track[launch];
    return its_track < track || (its_track == track && w->slices->start_ns[launch] < at);
}

static size_t first_launch(const ps_mfu_work *w, const uint32_t *rows, size_t n, uint32_t track,
                           int64_t at) {
    PS_PLACE(size_t, low, 0, n, i, is_launched_before(w, rows[i], track, at))
    bool is_on_track = low < n && w->slices->track[w->kernels[rows[low]].launch] == track;
    return is_on_track ? low : n;
}

/* marker[kernel row] = slice of its marker. NULL when memory is out. */
static uint32_t *pair_markers(const ps_mfu_work *w, const uint32_t *rows, size_t n) {
    uint32_t *marker = ps_alloc((w->n + 1) * sizeof *marker);
    for (size_t i = 0; marker != NULL && i < w->n; i++) {
        marker[i] = PS_NONE;
    }
    ps_str domain = ps_trace_find_text(w->trace, "flash_attn_args");
    for (uint32_t i = 0; marker != NULL && n > 0 && i < w->slices->n; i++) {
        if (!ps_mfu_in_domain(w, i, domain)) {
            continue;
        }
        int64_t at = w->slices->start_ns[i];
        size_t found = first_launch(w, rows, n, w->slices->track[i], at);
        if (found < n && ps_mfu_launch_ns(w, &w->kernels[rows[found]]) - at <= MARKER_REACH_NS) {
            marker[rows[found]] = i;
        }
    }
    return marker;
}

static ps_code take_marker(ps_mfu_work *w, ps_matrix_kernel *k, uint32_t marker, ps_err *err) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_attention a;
    ps_err odd = PS_ERR_INIT;
    ps_str message = w->slices->name[marker];
    bool is_read = ps_attention_parse(&arena, ps_trace_text(w->trace, message),
                                      ps_trace_text_len(w->trace, message), &a, &odd);
    ps_kernel_facts facts = ps_mfu_facts(w, k->slice);
    if (is_read && ps_shapes_parse(facts.text[PS_FACT_IN_SHAPES], w->in)) {
        k->flops = ps_flops_attention(&a, w->in, 0, &k->heads_hidden);
        k->source = k->flops > 0 ? PS_FLOPS_SHAPES : PS_FLOPS_UNKNOWN;
        k->attention = ps_attention_form_of(&a, w->in, 0, facts.text[PS_FACT_IN_TYPES]);
        k->name = k->flops > 0 ? facts.text[PS_FACT_OP_TYPE] : NULL;
    }
    ps_arena_fini(&arena);
    return odd.code == PS_NOMEM ? ps_fail_nomem(err) : PS_OK;
}

/* --- backward ------------------------------------------------------------------------------------------------- */

typedef struct backward {
    ps_module_pairs pairs; /* operator -> the one that it is the backward of */
    ps_idmap kernel_of;    /* operator -> row of the attention kernel launched inside it */
} backward;

static bool take_forwards(const ps_mfu_work *w, backward *b) {
    bool ok = true;
    for (uint32_t i = 0; i < w->n; i++) {
        const ps_matrix_kernel *k = &w->kernels[i];
        if (k->role != PS_ROLE_ATTENTION || k->flops <= 0) {
            continue;
        }
        uint32_t op = k->launch;
        for (int up = 0; ok && op != PS_NONE && up < PS_MFU_MAX_AROUND;
             up++, op = w->links->parent[op]) {
            ok = w->slices->kind[op] != PS_SLICE_HOST_OP || ps_idmap_put(&b->kernel_of, op, i);
        }
    }
    return ok;
}

static void take_backward(ps_mfu_work *w, const backward *b, ps_matrix_kernel *k) {
    uint32_t op = k->launch;
    for (int up = 0; op != PS_NONE && up < PS_MFU_MAX_AROUND; up++, op = w->links->parent[op]) {
        uint32_t forward = b->pairs.forward[op];
        uint32_t row = forward != PS_NONE ? ps_idmap_get(&b->kernel_of, forward) : PS_IDMAP_NONE;
        if (row != PS_IDMAP_NONE) {
            const ps_matrix_kernel *f = &w->kernels[row];
            k->flops = PS_ATTENTION_BACKWARD * f->flops;
            k->source = PS_FLOPS_SHAPES;
            k->heads_hidden = f->heads_hidden;
            k->attention = f->attention;
            k->type = k->type == PS_FLOP_UNSAID ? f->type : k->type;
            k->name = ps_mfu_facts(w, k->slice).text[PS_FACT_OP_TYPE];
            return;
        }
    }
}

static ps_code backwards(ps_mfu_work *w, ps_err *err) {
    bool any = false;
    for (size_t i = 0; i < w->n; i++) {
        any = any || w->kernels[i].role == PS_ROLE_ATTENTION_GRAD;
    }
    if (!any) {
        return PS_OK;
    }
    backward b = {0};
    ps_idmap_init(&b.kernel_of);
    bool ok = ps_module_pairs_find(w->trace, &b.pairs, err) == PS_OK && take_forwards(w, &b);
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->kernels[i].role == PS_ROLE_ATTENTION_GRAD) {
            take_backward(w, &b, &w->kernels[i]);
        }
    }
    ps_module_pairs_fini(&b.pairs);
    ps_idmap_fini(&b.kernel_of);
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_mfu_attention(ps_mfu_work *w, ps_err *err) {
    size_t n = 0;
    uint32_t *rows = ps_mfu_by_launch(w, PS_ROLE_ATTENTION, &n);
    uint32_t *marker = rows != NULL ? pair_markers(w, rows, n) : NULL;
    ps_code code = marker != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < w->n; i++) {
        if (marker[i] != PS_NONE) {
            code = take_marker(w, &w->kernels[i], marker[i], err);
        }
    }
    ps_free(rows);
    ps_free(marker);
    return code == PS_OK ? backwards(w, err) : code;
}
