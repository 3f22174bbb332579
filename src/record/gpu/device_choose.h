/* Which of the backends is used, and when it is opened: the GPU's only once the program has loaded the driver. */
#ifndef PS_RECORD_DEVICE_CHOOSE_H
#define PS_RECORD_DEVICE_CHOOSE_H

#include "record/core/device.h"
#include "record/ring/config.h"

extern const ps_rec_device ps_device_cuda, ps_device_cupti;

/* Opens the one that the options ask for; falls back as collector rules say: cupti, then cuda_event, then host. */
void ps_device_choose(const ps_rec_config *config);

#endif
