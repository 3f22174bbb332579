#include "record/core/device.h"

bool ps_device_host_open(const ps_rec_config *config) {
    (void)config;
    return true;
}

const ps_rec_device ps_device_host = {.name = "host", .open = ps_device_host_open};

const ps_rec_device *_Atomic ps_device = &ps_device_host;
