/* The tree of a rank as people see it: lanes that pipescope derives stand where the profile's own would, in the group of their id where
 * the profile has it, else below the one top group of their device, else behind what is known of the device. */
#ifndef PS_SERVE_LOADED_LANES_H
#define PS_SERVE_LOADED_LANES_H

#include "base/err.h"
#include "serve/rank/loaded.h"

typedef struct ps_shown_lane {
    const ps_layer *layer;
    const ps_lane_node *node;
    uint32_t parent; /* place in the list, PS_NONE */
} ps_shown_lane;

typedef struct ps_shown_lanes {
    ps_shown_lane *at; /* parents first */
    size_t n;
} ps_shown_lanes;

/* PS_NOMEM only. End with ps_shown_lanes_fini() in any case. Routes ask ps_loaded_shown_lanes(), which keeps it. */
PS_MUST_USE ps_code ps_shown_lanes_make(const ps_loaded *l, ps_shown_lanes *out, ps_err *err);
void ps_shown_lanes_fini(ps_shown_lanes *s);

#endif
