/* What views say of a kernel in any format: its type, its core, the shapes of its inputs. */
#ifndef PS_ANALYZE_VIEW_KERNEL_H
#define PS_ANALYZE_VIEW_KERNEL_H

#include <stdbool.h>

#include "analyze/kernel_args.h"
#include "analyze/links.h"

typedef struct ps_view_kernels {
    const ps_links *links;
    const ps_slices *s;
    ps_kernel_keys keys;
    ps_str op_shapes[3]; /* arguments of operators of the framework that hold shapes */
} ps_view_kernels;

typedef struct ps_view_kernel {
    ps_str type;   /* else the operator of the framework that launched it */
    ps_str core;   /* of Ascend; else none */
    ps_str shapes; /* of the inputs; else those of that operator */
    ps_arg fields[PS_N_KERNEL_FIELDS];
} ps_view_kernel;

/* False when memory is out; end with ps_view_kernels_fini() in any case. */
bool ps_view_kernels_init(ps_view_kernels *v, const ps_links *links);
void ps_view_kernels_fini(ps_view_kernels *v);
void ps_view_kernel_read(const ps_view_kernels *v, uint32_t slice, ps_view_kernel *out);

/* Communication as operators; as kernels where there are none. */
ps_slice_kind ps_view_communication(const ps_slices *s);

#endif
