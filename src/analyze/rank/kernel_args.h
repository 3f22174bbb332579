/* What profilers say of a kernel, under the names that each of them uses. */
#ifndef PS_ANALYZE_KERNEL_ARGS_H
#define PS_ANALYZE_KERNEL_ARGS_H

#include <stdbool.h>

#include "base/idmap.h"
#include "model/trace.h"

/* The type of a kernel ("MatMulV2"): opType of databases, Type of kernel_details.csv, OP Type of op_summary. NULL when it
 * is not there, empty, or "N/A", which low levels of profiling write. */
const char *ps_kernel_type(const ps_trace *trace, uint32_t slice);

/* The arguments that hold the shapes of the inputs of a kernel or an operator: as databases, CSV and torch.profiler call them; the
 * better one first. */
enum { PS_N_INPUT_SHAPES = 4 };
extern const char *const PS_INPUT_SHAPES[PS_N_INPUT_SHAPES];

/* Shapes of the inputs of a kernel or an operator, as the profiler writes them; NULL as above. */
const char *ps_input_shapes(const ps_trace *trace, uint32_t slice);

/* The same of the outputs of a kernel. */
const char *ps_output_shapes(const ps_trace *trace, uint32_t slice);

/* Whether a slice has such an argument, whatever it says. */
bool ps_has_input_shapes(const ps_trace *trace, uint32_t slice);

/* The same for those who look at many: the arguments' ids, none for those that no event of the trace has; the first such text of a slice. */
void ps_find_input_shapes(const ps_trace *trace, ps_str out[PS_N_INPUT_SHAPES]);
ps_str ps_input_shapes_by(const ps_trace *trace, uint32_t slice,
                          const ps_str args[PS_N_INPUT_SHAPES]);

/* Whether a type of task is one of the AI CPU: "AI_CPU", "AICPU", "AI_CPU_KERNEL". NULL is none. */
bool ps_core_is_aicpu(const char *core);

/* --- all of it, for those who look at many kernels --------------------------------------------------------------- */

typedef enum ps_kernel_field {
    PS_KERNEL_BLOCK,
    PS_KERNEL_MIX_BLOCK,
    PS_KERNEL_TYPE,
    PS_KERNEL_CORE, /* of the kernel's own entry; else its category says the task's type */
    PS_KERNEL_IN_FORMATS,
    PS_KERNEL_OUT_FORMATS,
    PS_KERNEL_IN_SHAPES,
    PS_KERNEL_OUT_SHAPES,
    PS_KERNEL_IN_TYPES,
    PS_KERNEL_OUT_TYPES,
    PS_KERNEL_STATE, /* dynamic or static shapes */
    PS_KERNEL_MODEL,
    PS_KERNEL_CONTEXT,
    PS_KERNEL_TASK,
    PS_N_KERNEL_FIELDS
} ps_kernel_field;

/* Which argument is which field, looked up once a trace. */
typedef struct ps_kernel_keys {
    const ps_trace *trace;
    ps_idmap fields; /* id of an argument's key -> row of the list of names */
} ps_kernel_keys;

/* False when memory is out; end with ps_kernel_keys_fini() in any case. */
bool ps_kernel_keys_init(ps_kernel_keys *k, const ps_trace *trace);
void ps_kernel_keys_fini(ps_kernel_keys *k);

/* Whether an argument with this key is one of the fields. */
bool ps_kernel_is_field(const ps_kernel_keys *k, ps_str key);

/* The fields of a slice: STR, NUMBER or INT; key none where it says nothing. Of several names of a field the better one. */
void ps_kernel_read(const ps_kernel_keys *k, uint32_t slice, ps_arg out[PS_N_KERNEL_FIELDS]);

/* The id of its text; none when it is missing, a number, empty or "N/A". */
ps_str ps_kernel_text(const ps_kernel_keys *k, const ps_arg *field);

#endif
