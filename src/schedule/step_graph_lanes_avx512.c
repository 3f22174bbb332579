/* Lanes with AVX-512. CMakeLists.txt compiles this file for it; nothing in here runs on a machine without. */
#if defined(__AVX512F__)
#include "schedule/step_graph_lanes_block.h"

ps_lane_runner *ps_lane_runner_avx512(size_t *width) {
    *width = WIDTH;
    return run_blocks;
}
#else
#include "schedule/step_graph_lanes.h"

ps_lane_runner *ps_lane_runner_avx512(size_t *width) {
    *width = 0;
    return NULL;
}
#endif
