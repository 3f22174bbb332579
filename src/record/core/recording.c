#include "record/core/recording.h"

#include "record/ring/format.h"

static _Atomic uint32_t not_recording;
_Atomic uint32_t *ps_recording = &not_recording;
_Atomic uint32_t ps_full_drop = PS_DROP_RING_FULL;
