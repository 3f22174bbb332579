/* Chooses where device times come from (device.h). */
#include "record/device.h"

#include <stdatomic.h>
#include <stddef.h>

/* Device rows of ranges on a stream get the host's times when they are exported: nothing to do while recording. */
static bool host_open(const ps_rec_config *config) {
    (void)config;
    return true;
}

const ps_rec_device ps_device_host = {.name = "host", .open = host_open};

const ps_rec_device *_Atomic ps_device = &ps_device_host;

void ps_device_choose(const ps_rec_config *config) {
    (void)ps_device_host.open(config);
    atomic_store(&ps_device, &ps_device_host);
}
