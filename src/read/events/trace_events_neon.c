/* The fast way with NEON, which every 64-bit ARM has. */
#include "base/json_simd.h"

#if defined(PS_JSON_NEON)
#include "read/events/trace_events_fast.h"

ps_stretch_fast *ps_stretch_fast_neon(void) {
    return run_fast;
}
#else
#include "read/events/trace_events_parse.h"

ps_stretch_fast *ps_stretch_fast_neon(void) {
    return NULL;
}
#endif
