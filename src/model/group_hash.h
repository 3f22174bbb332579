/* The hash that HCCL operator names carry the last three digits of. */
#ifndef PS_MODEL_GROUP_HASH_H
#define PS_MODEL_GROUP_HASH_H

#include <stdint.h>

/* Two 32-bit accumulators over the name's code points (multipliers 29 and 131), the first in the high half.
 * Source: behaviour of msprof; "group_name_29" ends in 843, "group_name_84" in 648. */
uint64_t ps_group_hash(const char *name);

/* Its decimal digits; out has room for 21. */
void ps_group_hash_text(const char *name, char *out);

#endif
