/* Which of the fast ways this machine can go. */
#include "read/events/trace_events_parse.h"

static bool has_avx2(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("pclmul");
#else
    return false;
#endif
}

ps_stretch_fast *ps_stretch_fast_of(ps_simd simd) {
    ps_stretch_fast *avx2 = has_avx2() ? ps_stretch_fast_avx2() : NULL;
    ps_stretch_fast *neon = ps_stretch_fast_neon();
    switch (simd) {
    case PS_SIMD_PLAIN:
        return ps_stretch_fast_plain();
    case PS_SIMD_AVX2:
        return avx2;
    case PS_SIMD_NEON:
        return neon;
    case PS_SIMD_NONE:
        return NULL;
    default:
        return avx2 != NULL ? avx2 : neon != NULL ? neon : ps_stretch_fast_plain();
    }
}
