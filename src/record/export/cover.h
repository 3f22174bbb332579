/* Which range of a thread was the innermost one at a moment: for calls of CUDA inside of operators and of NCCL's ranges. */
#ifndef PS_RECORD_COVER_H
#define PS_RECORD_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/export/capture.h"

/* For each device row that is a call (PS_REC_API), the innermost event of its thread with wanted[event] != 0 that was open
 * as the call began; PS_NO_TEXT for none and for other rows. To be freed with ps_free; NULL when memory is out. */
uint32_t *ps_cover_calls(const ps_capture *c, const uint8_t *wanted);

#endif
