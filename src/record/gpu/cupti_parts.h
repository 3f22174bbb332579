/* Between the parts of the cupti backend: cupti.c (its library, its subscription, when to flush), cupti_buffers.c (memory that CUPTI
 * fills), cupti_records.c (what is in it), cupti_clock.c (its times). */
#ifndef PS_RECORD_CUPTI_PARTS_H
#define PS_RECORD_CUPTI_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/gpu/cupti_abi.h"

typedef struct ps_cupti_state {
    ps_cupti_calls calls;
    void *subscriber;
    uint32_t version;
    bool v2;        /* subscriber-scoped calls; never mixed with the others */
    bool own_clock; /* records carry CLOCK_MONOTONIC */
} ps_cupti_state;

extern ps_cupti_state ps_cupti;

/* --- buffers: 4 MiB each, 64 at most, made when asked for -------------------------------------------------------------- */

enum { PS_CUPTI_BUFFERS = 64, PS_CUPTI_BUFFER_BYTES = 4 << 20 };

typedef struct ps_cupti_buffer {
    uint8_t *bytes;
    size_t valid;
} ps_cupti_buffer;

/* For CUPTI, from any of its threads: no call back into it, no wait. NULL when all are in use (counted). */
uint8_t *ps_cupti_buffer_take(void);
/* It is full, or was flushed. */
void ps_cupti_buffer_completed(uint8_t *bytes, size_t valid);
/* The next completed one, to be returned with ps_cupti_buffer_free; false when there is none. */
bool ps_cupti_buffer_next(ps_cupti_buffer *out);
void ps_cupti_buffer_free(uint8_t *bytes);
/* How often there was none since the last call. */
uint64_t ps_cupti_buffer_misses(void);
/* Gives the memory back to the system; CUPTI must hold none. */
void ps_cupti_buffers_release(void);
void ps_cupti_buffers_forget(void);

/* --- records ----------------------------------------------------------------------------------------------------------- */

/* Hands all records of a buffer on. Returns how many could not be: unfinished, or damaged. */
uint64_t ps_cupti_records(const ps_cupti_buffer *buffer);

/* The name of a driver or runtime call; NULL unknown. */
const char *ps_cupti_call_name(uint32_t kind, uint32_t call);

/* --- ranges that ask to be named (cupti_correlate.c) --------------------------------------------------------------------- */

/* For a subscription that has just been made. False, and said, when this CUPTI cannot. */
bool ps_cupti_correlate_begin(void);
void ps_cupti_correlate_end(void);
void ps_cupti_correlate_forget(void);
/* On the program's threads; nothing between an end and the next begin. */
void ps_cupti_enter(uint64_t id);
void ps_cupti_leave(uint64_t id);

/* --- clock ------------------------------------------------------------------------------------------------------------- */

void ps_cupti_clock_begin(void);
/* Reads both clocks; about once a second, when they are not the same. */
void ps_cupti_clock_anchor(void);
int64_t ps_cupti_clock_mono(uint64_t timestamp);

#endif
