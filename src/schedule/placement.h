/* Where the pieces of a model lie; what schedules of one placement share. */
#ifndef PS_SCHEDULE_PLACEMENT_H
#define PS_SCHEDULE_PLACEMENT_H

#include "schedule/schedule.h"

/* One piece a device: stage = device. */
static inline int32_t ps_place_plain(const ps_schedule_params *params, int32_t device,
                                     int32_t chunk) {
    (void)params;
    (void)chunk;
    return device;
}

/* Round and round: chunk c of device d is stage c * p + d. */
static inline int32_t ps_place_loop(const ps_schedule_params *params, int32_t device,
                                    int32_t chunk) {
    return chunk * params->n_stages + device;
}

/* Down the devices and back: the last device holds the two middle pieces, device 0 the first and the last. */
static inline int32_t ps_place_v(const ps_schedule_params *params, int32_t device, int32_t chunk) {
    return chunk == 0 ? device : 2 * params->n_stages - 1 - device;
}

#endif
