/* Floating point operations of a framework's operator from the shapes and arguments that the profiler recorded with it
 * (PyTorch: record_shapes=True; "Input Dims", "Input type", "Concrete Inputs"). */
#ifndef PS_ANALYZE_FLOPS_OPERATOR_H
#define PS_ANALYZE_FLOPS_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/mfu_peak.h"
#include "analyze/rank/shapes.h"

typedef struct ps_operator_form ps_operator_form;

/* The operators that are known: NULL beyond the last one. */
const ps_operator_form *ps_operator_form_at(size_t index);
/* "aten::addmm" */
const char *ps_operator_form_name(const ps_operator_form *form);

/* The operator of that name; NULL for one that is not known. */
const ps_operator_form *ps_operator_form_named(const char *name);

/* Attention whose kernel, called as the operator, has the shapes that torch.nn.functional.scaled_dot_product_attention is given: a marker
 * before that call says what they leave open. */
typedef enum ps_marked_attention {
    PS_MARKED_NONE,
    PS_MARKED_FORWARD,
    PS_MARKED_BACKWARD
} ps_marked_attention;
ps_marked_attention ps_operator_marked_attention(const ps_operator_form *form);

/* What is multiplied, which decides how it can be made faster. */
typedef enum ps_product {
    PS_PRODUCT_OTHER,
    PS_PRODUCT_MATRICES,
    PS_PRODUCT_GROUPED,
    PS_PRODUCT_ATTENTION,
    PS_PRODUCT_CONVOLUTION
} ps_product;

/* Of an operator by its exact name; OTHER for one that is not known. */
ps_product ps_operator_product(const char *name);

/* What the profiler says of one call; each may be NULL. */
typedef struct ps_operator_call {
    const char *dims, *types, *values;
} ps_operator_call;

/* 0 when it cannot be known from this. `scratch` is overwritten. */
double ps_flops_operator(const ps_operator_form *form, const ps_operator_call *call,
                         ps_shapes *scratch, ps_flop_type *type);

/* Of a call with FLOPs: nothing is known of one that is no attention. `scratch` is overwritten. */
ps_attention_form ps_operator_attention(const ps_operator_form *form, const ps_operator_call *call,
                                        ps_shapes *scratch);

/* What tensors `first` to `first` + n - 1 of the list take, those without dimensions aside; 0 when the type of one of the
 * others is not known. `types` is a list beside them (ps_list_item). */
double ps_tensors_bytes(const ps_shapes *shapes, size_t first, size_t n, const char *types);

/* What the operands and the result of a call with so many FLOPs take; 0 when it cannot be known. `scratch` is
 * overwritten. */
double ps_operator_bytes(const ps_operator_form *form, const ps_operator_call *call, double flops,
                         ps_shapes *scratch);

#endif
