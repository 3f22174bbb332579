/* The fast way with AVX2. CMakeLists.txt compiles this file for it; nothing in here runs on a machine without. */
#include "base/json_simd.h"

#if defined(PS_JSON_AVX2)
#include "read/events/trace_events_fast.h"

ps_stretch_fast *ps_stretch_fast_avx2(void) {
    return run_fast;
}
#else
#include "read/events/trace_events_parse.h"

ps_stretch_fast *ps_stretch_fast_avx2(void) {
    return NULL;
}
#endif
