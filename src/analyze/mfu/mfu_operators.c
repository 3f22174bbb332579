/* Kernels without shapes of their own: the FLOPs of the innermost operator around the launch that has a formula go to
 * the longest kernel of matrix class that it launched. The others (a split sum, a conversion) get none. */
#include <stdlib.h>
#include <string.h>

#include "analyze/mfu/mfu_parts.h"
#include "base/alloc.h"
#include "base/order.h"

#define MAX_FORMS 64
#define MAX_TEXT ((size_t)65536)

typedef struct forms {
    const ps_operator_form *form[MAX_FORMS];
    ps_str name[MAX_FORMS];
    size_t n;
} forms;

/* Those of which the trace has any. */
static void find_forms(const ps_trace *trace, forms *out) {
    out->n = 0;
    for (size_t i = 0; out->n < MAX_FORMS && ps_operator_form_at(i) != NULL; i++) {
        const ps_operator_form *form = ps_operator_form_at(i);
        ps_str name = ps_trace_find_text(trace, ps_operator_form_name(form));
        if (!ps_str_is_none(name)) {
            out->form[out->n] = form;
            out->name[out->n++] = name;
        }
    }
}

static const ps_operator_form *form_of(const forms *f, ps_str name) {
    for (size_t i = 0; i < f->n; i++) {
        if (ps_str_eq(f->name[i], name)) {
            return f->form[i];
        }
    }
    return NULL;
}

/* The first of the two arguments that is there. Texts that long are no arguments of one operator. */
static const char *first_text(const ps_trace *trace, uint32_t slice, const char *a, const char *b) {
    const char *text = ps_trace_arg_text(trace, slice, a);
    text = text == NULL && b != NULL ? ps_trace_arg_text(trace, slice, b) : text;
    return text != NULL && strnlen(text, MAX_TEXT) < MAX_TEXT ? text : NULL;
}

static ps_operator_call call_of(const ps_mfu_work *w, uint32_t op) {
    return (ps_operator_call){.dims = first_text(w->trace, op, "Input Dims", "inputShapes"),
                              .types = first_text(w->trace, op, "Input type", "inputDtypes"),
                              .values = first_text(w->trace, op, "Concrete Inputs", NULL)};
}

static double flops_of(const ps_mfu_work *w, const ps_operator_form *form, uint32_t op,
                       ps_flop_type *type) {
    ps_operator_call call = call_of(w, op);
    return ps_flops_operator(form, &call, w->in, type);
}

typedef struct claim {
    uint32_t op, row;
    int64_t dur_ns;
} claim;

/* Of one operator the longest first. */
PS_COMPARE(compare_claims, claim, PS_BY(op) PS_BY_DOWN(dur_ns) PS_BY(row))

/* The operator that tells, PS_NONE when none around the launch does. */
static uint32_t telling_operator(const ps_mfu_work *w, const forms *f, uint32_t launch) {
    uint32_t op = launch;
    for (int up = 0; op != PS_NONE && up < PS_MFU_MAX_AROUND; up++, op = w->links->parent[op]) {
        if (w->slices->kind[op] == PS_SLICE_HOST_OP) {
            const ps_operator_form *form = form_of(f, w->slices->name[op]);
            ps_flop_type type = PS_FLOP_UNSAID;
            if (form != NULL && flops_of(w, form, op, &type) > 0) {
                return op;
            }
        }
    }
    return PS_NONE;
}

static size_t collect_mfu_operator(const ps_mfu_work *w, const forms *f, claim *claims) {
    size_t n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const ps_matrix_kernel *k = &w->kernels[i];
        uint32_t op =
            k->flops <= 0 && k->launch != PS_NONE ? telling_operator(w, f, k->launch) : PS_NONE;
        if (op != PS_NONE) {
            claims[n++] = (claim){op, i, w->slices->dur_ns[k->slice]};
        }
    }
    return n;
}

ps_code ps_mfu_operators(ps_mfu_work *w, ps_err *err) {
    forms f;
    find_forms(w->trace, &f);
    if (f.n == 0) {
        return PS_OK;
    }
    claim *claims = ps_alloc((w->n + 1) * sizeof *claims);
    if (claims == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n = collect_mfu_operator(w, &f, claims);
    qsort(claims, n, sizeof *claims, compare_claims);
    for (size_t i = 0; i < n; i++) {
        ps_matrix_kernel *k = &w->kernels[claims[i].row];
        uint32_t op = claims[i].op;
        k->name = ps_trace_text(w->trace, w->slices->name[op]);
        if (i == 0 || claims[i - 1].op != op) {
            k->flops = flops_of(w, form_of(&f, w->slices->name[op]), op, &k->type);
            k->source = PS_FLOPS_SHAPES;
            ps_operator_call call = call_of(w, op);
            k->attention = ps_operator_attention(form_of(&f, w->slices->name[op]), &call, w->in);
            k->bytes = ps_operator_bytes(form_of(&f, w->slices->name[op]), &call, k->flops, w->in);
        } else {
            k->role =
                PS_ROLE_NONE; /* another kernel has its operator's FLOPs: nothing is missing */
        }
    }
    ps_free(claims);
    return PS_OK;
}
