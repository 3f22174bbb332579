/* What is known of a kernel in any format: its type, its core, the shapes of its inputs. */
#ifndef PS_ANALYZE_KERNEL_FACTS_H
#define PS_ANALYZE_KERNEL_FACTS_H

#include <stdbool.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/rank/links.h"

typedef struct ps_kernel_source {
    const ps_links *links;
    const ps_slices *s;
    ps_kernel_keys keys;
    ps_str op_shapes[PS_N_INPUT_SHAPES]; /* their arguments that hold shapes */
} ps_kernel_source;

typedef struct ps_kernel_facts {
    ps_str type;   /* else the operator of the framework that launched it */
    ps_str core;   /* of Ascend; else none */
    ps_str shapes; /* of the inputs; else those of that operator */
    ps_arg fields[PS_N_KERNEL_FIELDS];
} ps_kernel_facts;

/* False when memory is out; end with ps_kernel_source_fini() in any case. */
bool ps_kernel_source_init(ps_kernel_source *v, const ps_links *links);
void ps_kernel_source_fini(ps_kernel_source *v);
void ps_kernel_facts_read(const ps_kernel_source *v, uint32_t slice, ps_kernel_facts *out);

/* Shapes of a kernel's inputs, as the profiler writes them: its own, else those of the operator that launched it. NULL: nobody says. */
const char *ps_kernel_shapes(const ps_links *links, uint32_t slice);

/* Communication as operators; as kernels where there are none. */
ps_slice_kind ps_communication_kind(const ps_slices *s);

#endif
