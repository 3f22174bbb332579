#include "analyze/mfu/flops_attention.h"

#include <string.h>

#include "analyze/mfu/mfu_peak.h"
#include "base/literal.h"

static ps_attention_layout layout_of(const char *name) {
    static const struct {
        const char *name;
        ps_attention_layout layout;
    } LAYOUTS[] = {{"BNSD", PS_LAYOUT_BNSD},
                   {"BSND", PS_LAYOUT_BSND},
                   {"BSH", PS_LAYOUT_BSH},
                   {"SBH", PS_LAYOUT_SBH},
                   {"TND", PS_LAYOUT_TND}};
    for (size_t i = 0; name != NULL && i < sizeof LAYOUTS / sizeof *LAYOUTS; i++) {
        if (strcmp(name, LAYOUTS[i].name) == 0) {
            return LAYOUTS[i].layout;
        }
    }
    return PS_LAYOUT_UNKNOWN;
}

/* Lengths that add up; zeros behind the last one are padding. False when they are no such list or memory is out. */
static bool take_ends(ps_arena *arena, const ps_literal *list, const int64_t **out, size_t *n_out,
                      ps_err *err) {
    size_t n = 0;
    for (const ps_literal *v = list != NULL ? list->child : NULL; v != NULL; v = v->next) {
        n++;
    }
    int64_t *ends = ps_arena_alloc(arena, (n + 1) * sizeof *ends);
    if (ends == NULL) {
        (void)ps_fail_nomem(err);
        return false;
    }
    size_t i = 0;
    for (const ps_literal *v = n > 0 ? list->child : NULL; v != NULL; v = v->next, i++) {
        if (!ps_literal_int(v, &ends[i]) || ends[i] < 0 || ends[i] > PS_MAX_DIM) {
            return false;
        }
    }
    while (n > 0 && ends[n - 1] == 0) {
        n--;
    }
    *out = ends;
    *n_out = n;
    return true;
}

bool ps_attention_parse(ps_arena *arena, const char *text, size_t n, ps_attention *out,
                        ps_err *err) {
    *out = (ps_attention){0};
    ps_err odd = PS_ERR_INIT;
    const ps_literal *doc = ps_literal_parse(arena, text, n, &odd);
    if (odd.code == PS_NOMEM) {
        (void)ps_fail_nomem(err);
    }
    if (doc == NULL || doc->kind != PS_LITERAL_OBJECT) {
        return false;
    }
    const ps_literal *causal = ps_literal_get(doc, "is_causal");
    if (causal != NULL && causal->kind == PS_LITERAL_BOOL) {
        *out = (ps_attention){.layout = PS_LAYOUT_BNSD, .sparse_mode = causal->boolean ? 2 : 0};
        return true;
    }
    out->layout = layout_of(ps_literal_str(ps_literal_get(doc, "input_layout")));
    return out->layout != PS_LAYOUT_UNKNOWN &&
           ps_literal_int(ps_literal_get(doc, "sparse_mode"), &out->sparse_mode) &&
           take_ends(arena, ps_literal_get(doc, "actual_seq_qlen"), &out->q_ends, &out->n_q, err) &&
           take_ends(arena, ps_literal_get(doc, "actual_seq_kvlen"), &out->kv_ends, &out->n_kv,
                     err);
}

double ps_attention_area(int64_t q, int64_t k, int64_t sparse_mode) {
    double a = (double)q;
    double b = (double)k;
    switch (sparse_mode) {
    case 0:
    case 1:
        return a * b;
    case 2: /* row i sees columns 0..i */
        return q > k ? a * b - b * b / 2 : a * a / 2;
    case 3: /* the last row sees everything */
        return q > k ? b * b / 2 : a * b - a * a / 2;
    default:
        return -1;
    }
}

/* TND: [tokens, heads, size of a head]. */
static double sequences(const ps_attention *a, const ps_shape *q, double head_sizes) {
    if (a->n_q == 0 || a->n_q != a->n_kv || a->q_ends[a->n_q - 1] > q->dims[0]) {
        return 0;
    }
    double area = 0;
    int64_t q_from = 0;
    int64_t k_from = 0;
    for (size_t i = 0; i < a->n_q; i++) {
        int64_t n_q = a->q_ends[i] - q_from;
        int64_t n_k = a->kv_ends[i] - k_from;
        double part = n_q >= 0 && n_k >= 0 ? ps_attention_area(n_q, n_k, a->sparse_mode) : -1;
        if (part < 0) {
            return 0;
        }
        area += part;
        q_from = a->q_ends[i];
        k_from = a->kv_ends[i];
    }
    return 2 * (double)q->dims[1] * head_sizes * area;
}

double ps_flops_attention(const ps_attention *a, const ps_shapes *in, size_t first,
                          bool *heads_hidden) {
    const ps_shape *q = ps_shapes_at(in, first);
    const ps_shape *k = ps_shapes_at(in, first + 1);
    const ps_shape *v = ps_shapes_at(in, first + 2);
    *heads_hidden = false;
    bool has_heads = a->layout == PS_LAYOUT_BNSD || a->layout == PS_LAYOUT_BSND;
    uint32_t n = has_heads ? 4 : 3;
    v = v->n == n ? v : k;
    if (a->layout == PS_LAYOUT_UNKNOWN || q->n != n || k->n != n) {
        return 0;
    }
    double head_sizes = (double)(q->dims[n - 1] + v->dims[n - 1]);
    if (a->layout == PS_LAYOUT_TND) {
        return sequences(a, q, head_sizes);
    }
    if (!has_heads && q->dims[2] != k->dims[2]) {
        head_sizes = 2 * (double)q->dims[2];
        *heads_hidden = true;
    }
    uint32_t s = a->layout == PS_LAYOUT_BNSD ? 2 : a->layout == PS_LAYOUT_SBH ? 0 : 1;
    uint32_t b = a->layout == PS_LAYOUT_SBH ? 1 : 0;
    double heads = !has_heads ? 1 : (double)q->dims[a->layout == PS_LAYOUT_BNSD ? 1 : 2];
    double area = ps_attention_area(q->dims[s], k->dims[s], a->sparse_mode);
    return area > 0 ? 2 * (double)q->dims[b] * heads * head_sizes * area : 0;
}

ps_attention_form ps_attention_form_of(const ps_attention *a, const ps_shapes *in, size_t first,
                                       const char *types) {
    char type[64] = "";
    bool has_type =
        ps_list_item(types, first, type, sizeof type) && ps_flop_type_of(type) != PS_FLOP_UNSAID;
    const ps_shape *q = ps_shapes_at(in, first);
    bool hides_heads = a->layout == PS_LAYOUT_BSH || a->layout == PS_LAYOUT_SBH;
    return (ps_attention_form){.is_known = true,
                               .skips_blocks = a->sparse_mode >= 2,
                               .is_packed = a->layout == PS_LAYOUT_TND,
                               .has_type = has_type,
                               .is_wide = has_type && ps_is_wide_float(type),
                               .head_size = q->n > 0 && !hides_heads ? q->dims[q->n - 1] : 0};
}
