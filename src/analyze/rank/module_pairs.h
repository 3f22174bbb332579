/* Which operator of the forward pass each operator of the backward pass belongs to. */
#ifndef PS_ANALYZE_MODULE_PAIRS_H
#define PS_ANALYZE_MODULE_PAIRS_H

#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"

typedef struct ps_module_pairs {
    uint32_t *forward; /* [n_slices]: of a backward operator the forward one, else PS_NONE */
    uint8_t *backward; /* [n_slices]: 1 for operators that say they are of the backward pass */
    size_t n;          /* operators with a forward one */
} ps_module_pairs;

/* By the number of the autograd node, which both ends carry and which is unique in the forward thread; where that does
 * not decide, by the flows of kind fwdbwd. The forward operator always begins before the backward one. Needs SLICES,
 * FLOWS, and the arguments sequenceNumber and fwdThreadId. PS_NOMEM only; end with ps_module_pairs_fini() in any case. */
PS_MUST_USE ps_code ps_module_pairs_find(const ps_trace *trace, ps_module_pairs *out, ps_err *err);
void ps_module_pairs_fini(ps_module_pairs *p);

#endif
