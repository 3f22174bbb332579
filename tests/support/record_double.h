/* Stands for the session in tests of the recorder's hot path: says where rings are, takes records out of them, and reads them
 * back as plain structs. One recording at a time. */
#ifndef PS_TEST_RECORD_DOUBLE_H
#define PS_TEST_RECORD_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/core/events.h"
#include "record/core/threads.h"

/* Begins to record. `dir` NULL: rings in memory. Returns the generation. */
uint32_t ps_double_start(const char *dir, uint64_t n_slots);

/* Stops: nobody writes any more; takes out what is left. Returns how many threads did not come out. */
unsigned ps_double_stop(void);

/* Takes out everything published, as the writer does. From one thread at a time. */
void ps_double_take(void);
/* A thread that does so all the time, until stop. */
void ps_double_drain_start(void);

/* Forgets everything taken and gives the rings back. */
void ps_double_reset(void);

uint64_t ps_double_wakes(void); /* calls of ps_wake_writer */

typedef struct ps_double_record {
    ps_slot slot;
    uint32_t ring, tid; /* of the last PS_REC_THREAD before it in its ring */
    uint64_t position;
    const ps_slot *more; /* the slots behind */
    char text[128];      /* of slot.text, cut; for definitions what stands behind */
} ps_double_record;

/* All records taken, ring by ring in order; fails the test when a ring is no row of whole records, when a text is used before it
 * was defined, or when an event has no thread. Valid until the next call that changes them. */
const ps_double_record *ps_double_records(size_t *n);
size_t ps_double_count(uint8_t kind);
uint64_t ps_double_drops(unsigned drop); /* over all rings */
uint32_t ps_double_rings(void);

#endif
