/* Where device times come from: one of three, chosen when a recording starts. The functions of an event are called on the
 * program's threads, inside of an event; they must not record ranges, block, or fail loudly. */
#ifndef PS_RECORD_DEVICE_H
#define PS_RECORD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/ring/config.h"

typedef struct ps_rec_device {
    const char *name; /* "host", "cuda_event", "cupti" */
    /* Makes ready; false: cannot be had here (it has said why, in the log). May be called again after close. */
    bool (*open)(const ps_rec_config *config);
    /* Any may be NULL. `id` has PS_RANGE_ON_DEVICE; stream is not NULL. */
    void (*mark)(uint64_t id, void *stream);
    void (*start)(uint64_t id, void *stream);
    void (*enter)(uint64_t id); /* a range whose domain asks for its kernels (option `correlate`)
                                   began on this thread, with a stream or not; after `start` */
    void (*end)(uint64_t id);   /* of both */
    void (*step)(void);         /* a step ended: a good time to ask for what has finished */
    void (*tick)(void);         /* from the writer thread, about every 10 ms: keeps it awake */
    void (*look)(void); /* from the writer thread, with each round it makes anyway (10 to 100 ms) */
    void (*drain)(
        unsigned
            timeout_ms); /* recording has been switched off: everything that can still be had */
    void (*close)(void);
    void (*forget)(void); /* in a forked child */
} ps_rec_device;

/* Device rows of ranges on a stream get the host's times when they are exported: nothing to do while recording. */
bool ps_device_host_open(const ps_rec_config *config);
extern const ps_rec_device ps_device_host;

/* The one in use; &ps_device_host when none. */
extern const ps_rec_device *_Atomic ps_device;

#endif
