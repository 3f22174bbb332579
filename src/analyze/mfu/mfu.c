/* Kernels of matrix class and their FLOPs, in this order of trust: what the collector recorded; the kernel's own shapes;
 * those of the operator that launched it. */
#include "analyze/mfu/mfu.h"

#include "analyze/mfu/mfu_parts.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

struct ps_mfu {
    ps_matrix_kernel *kernels; /* in slice order */
    size_t n;
    ps_peak peak;
};

/* By name: kernels of one name are one place. False when memory is out. */
static bool count_oddity(const ps_mfu_work *w, ps_oddity kind, uint32_t slice, const char *why,
                         ps_idmap *seen) {
    ps_str name = w->slices->name[slice];
    uint64_t key = (uint64_t)kind << 32 | name.id;
    if (ps_idmap_get(seen, key) != PS_IDMAP_NONE) {
        ps_diag_repeat(w->diag, kind, 1);
        return true;
    }
    ps_diag_add(w->diag, kind, "%.100s%s%.40s", ps_trace_text(w->trace, name),
                why[0] != '\0' ? ": " : "", why);
    return ps_idmap_put(seen, key, 1);
}

static bool count_oddities(const ps_mfu_work *w, const ps_peak *peak) {
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        const ps_matrix_kernel *k = &w->kernels[i];
        if (k->flops > 0 && ps_peak_for(peak, k->type) <= 0) {
            ok = count_oddity(w, PS_ODD_FLOPS_TYPE, k->slice, peak->how, &seen);
        } else if (k->flops > 0 && k->heads_hidden) {
            ok = count_oddity(w, PS_ODD_FLOPS_HEADS, k->slice, "", &seen);
        } else if (k->flops <= 0 && k->role != PS_ROLE_NONE) {
            bool is_attention = k->role == PS_ROLE_ATTENTION || k->role == PS_ROLE_ATTENTION_GRAD;
            ok = count_oddity(w, is_attention ? PS_ODD_FLOPS_ATTENTION : PS_ODD_FLOPS_SHAPE,
                              k->slice, "", &seen);
        }
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* Several analyses of a run may ask for the FLOPs of one rank: what the first one counted is not counted again. */
static void hand_over(ps_diag *found, ps_diag *diag) {
    for (size_t kind = 0; kind < PS_N_ODDITIES; kind++) {
        if (diag->counts[kind] > 0) {
            found->counts[kind] = 0;
            found->repeats[kind] = 0;
            found->places[kind][0][0] = '\0';
        }
    }
    ps_diag_merge(diag, found, NULL);
}

static ps_code mfu_work(ps_mfu_work *w, ps_err *err) {
    ps_code code = ps_mfu_find_kernels(w, err);
    code = code == PS_OK ? ps_mfu_attention(w, err) : code;
    code = code == PS_OK ? ps_mfu_operators(w, err) : code;
    return code == PS_OK ? ps_mfu_records(w, err) : code;
}

ps_mfu *ps_mfu_new(const ps_links *links, const ps_analysis_opts *opts, ps_diag *diag,
                   ps_err *err) {
    ps_mfu *m = ps_calloc(1, sizeof *m);
    if (m == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_mfu_work w = {.trace = links->trace,
                     .slices = ps_trace_slices(links->trace),
                     .links = links,
                     .diag = ps_calloc(1, sizeof *w.diag),
                     .in = ps_alloc(sizeof *w.in),
                     .out = ps_alloc(sizeof *w.out)};
    ps_code code = w.in != NULL && w.out != NULL && w.diag != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? ps_peak_find(links->trace, opts, &m->peak, err) : code;
    code = code == PS_OK ? mfu_work(&w, err) : code;
    m->kernels = w.kernels;
    m->n = w.n;
    if (code == PS_OK) {
        code = count_oddities(&w, &m->peak) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        hand_over(w.diag, diag);
    }
    ps_free(w.diag);
    ps_free(w.in);
    ps_free(w.out);
    if (code != PS_OK) {
        ps_mfu_free(m);
        return NULL;
    }
    return m;
}

void ps_mfu_free(ps_mfu *m) {
    if (m != NULL) {
        ps_free(m->kernels);
        ps_free(m);
    }
}

static const ps_matrix_kernel *find_kernel_mfu(const ps_mfu *m, uint32_t slice) {
    PS_PLACE(size_t, low, 0, m->n, middle, m->kernels[middle].slice < slice)
    return low < m->n && m->kernels[low].slice == slice ? &m->kernels[low] : NULL;
}

ps_kernel_flops ps_mfu_of(const ps_mfu *m, uint32_t slice) {
    const ps_matrix_kernel *k = find_kernel_mfu(m, slice);
    if (k == NULL || k->flops <= 0) {
        return (ps_kernel_flops){0};
    }
    return (ps_kernel_flops){.flops = k->flops,
                             .shape_flops = k->shape_flops,
                             .peak_flop_s = ps_peak_for(&m->peak, k->type),
                             .bytes = k->bytes,
                             .bytes_s = m->peak.bytes_s,
                             .source = k->source};
}

const char *ps_mfu_name_of(const ps_mfu *m, uint32_t slice) {
    const ps_matrix_kernel *k = find_kernel_mfu(m, slice);
    return k != NULL && k->flops > 0 ? k->name : NULL;
}

bool ps_mfu_is_matrix(const ps_mfu *m, uint32_t slice) {
    const ps_matrix_kernel *k = find_kernel_mfu(m, slice);
    return k != NULL && k->role != PS_ROLE_NONE;
}

ps_product ps_mfu_product_of(const ps_mfu *m, uint32_t slice) {
    const ps_matrix_kernel *k = find_kernel_mfu(m, slice);
    switch (k != NULL ? k->role : PS_ROLE_NONE) {
    case PS_ROLE_MATMUL:
        return PS_PRODUCT_MATRICES;
    case PS_ROLE_GROUPED:
        return PS_PRODUCT_GROUPED;
    case PS_ROLE_ATTENTION:
    case PS_ROLE_ATTENTION_GRAD:
        return PS_PRODUCT_ATTENTION;
    case PS_ROLE_MATRIX:
        return k->name != NULL ? ps_operator_product(k->name) : PS_PRODUCT_OTHER;
    case PS_ROLE_NONE:
        break;
    }
    return PS_PRODUCT_OTHER;
}

ps_attention_form ps_mfu_attention_of(const ps_mfu *m, uint32_t slice) {
    const ps_matrix_kernel *k = find_kernel_mfu(m, slice);
    return k != NULL && k->flops > 0 ? k->attention : (ps_attention_form){0};
}

double ps_mfu_ratio(ps_kernel_flops f, int64_t dur_ns) {
    return f.flops > 0 && f.peak_flop_s > 0 && dur_ns > 0
               ? f.flops / ((double)dur_ns * 1e-9) / f.peak_flop_s
               : 0;
}

ps_roofline ps_mfu_roofline(ps_kernel_flops f) {
    if (f.flops <= 0 || f.peak_flop_s <= 0 || f.bytes <= 0 || f.bytes_s <= 0) {
        return PS_ROOFLINE_UNKNOWN;
    }
    return f.flops / f.bytes < f.peak_flop_s / f.bytes_s ? PS_ROOFLINE_MEMORY : PS_ROOFLINE_COMPUTE;
}

double ps_mfu_peak_flop_s(const ps_mfu *m, const char **how) {
    if (how != NULL) {
        *how = m->peak.how;
    }
    return m->peak.flop_s;
}
