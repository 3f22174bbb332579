/* Which part of a kernel's name says what the kernel is. */
#ifndef PS_ANALYZE_KERNEL_NAMES_H
#define PS_ANALYZE_KERNEL_NAMES_H

#include <stddef.h>

/* Ascend writes what called a kernel before it: "aclnnMm_MatMulCommon_MemSet" and "Conv2DBackpropFilter6_MemSet" fill memory,
 * "trans_TransData_24" is the 24th of its kind. Of such a name the last part, without its number; of others all of it. Into the name,
 * *n long. */
const char *ps_kernel_own_name(const char *name, size_t *n);

#endif
