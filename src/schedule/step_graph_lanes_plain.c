/* Lanes with the vectors that every machine of its kind has. */
#include "schedule/step_graph_lanes_block.h"

ps_lane_runner *ps_lane_runner_plain(size_t *width) {
    *width = WIDTH;
    return run_blocks;
}
