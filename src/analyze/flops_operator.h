/* Floating point operations of a framework's operator from the shapes and arguments that the profiler recorded with it
 * (PyTorch: record_shapes=True; "Input Dims", "Input type", "Concrete Inputs"). */
#ifndef PS_ANALYZE_FLOPS_OPERATOR_H
#define PS_ANALYZE_FLOPS_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/mfu_peak.h"
#include "analyze/shapes.h"

typedef struct ps_operator_form ps_operator_form;

/* The operators that are known: NULL beyond the last one. */
const ps_operator_form *ps_operator_form_at(size_t index);
/* "aten::addmm" */
const char *ps_operator_form_name(const ps_operator_form *form);

/* What the profiler says of one call; each may be NULL. */
typedef struct ps_operator_call {
    const char *dims, *types, *values;
} ps_operator_call;

/* 0 when it cannot be known from this. `scratch` is overwritten. */
double ps_flops_operator(const ps_operator_form *form, const ps_operator_call *call,
                         ps_shapes *scratch, ps_flop_type *type);

#endif
