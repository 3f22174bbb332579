/* What was recorded, read back: from the raw files of a folder (a recording that ended in order or a process that was
 * killed, which only leaves more in the rings), or from memory. Records come as plain structs with texts as numbers of one
 * pool; starts and ends are paired; times are Unix ns.
 *
 * Everything read may be damaged: nothing is believed unchecked. */
#ifndef PS_RECORD_CAPTURE_H
#define PS_RECORD_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/export/clock_line.h"
#include "record/ring/format.h"

typedef struct ps_capture ps_capture;

#define PS_NO_TEXT UINT32_MAX

/* Different texts of a recording; tests lower it. */
extern size_t ps_capture_most_texts;

typedef enum ps_event_what {
    PS_EVENT_MARK,
    PS_EVENT_RANGE,
    PS_EVENT_PUSH,
    PS_EVENT_OP
} ps_event_what;

/* Columns, sorted by start (ties: ring, then position). */
typedef struct ps_events {
    size_t n;
    int64_t *start_ns,
        *end_ns; /* Unix; end == start for marks; PS_STILL_OPEN for ranges without an end */
    int64_t *device_start_ns, *device_end_ns; /* PS_STILL_OPEN when there is none */
    uint32_t *device, *context;               /* of the device part */
    uint64_t *stream;                         /* handle, 0 none */
    uint64_t *id;                             /* of the range */
    uint64_t *forward;     /* of an operator of the backward pass: id of the forward one, else 0 */
    uint32_t *forward_tid; /* the thread of that one; the own where it is not known */
    uint8_t *host_only;    /* 1: an operator that stands for no kernel */
    uint32_t *message, *shapes, *extra; /* texts; `extra`: row of `nvtx`, PS_NO_TEXT none */
    uint16_t *domain;                   /* index of `domains` */
    uint32_t *tid, *end_tid;
    uint8_t *what;
} ps_events;

#define PS_STILL_OPEN INT64_MIN

typedef struct ps_steps {
    size_t n;
    int64_t *number, *start_ns,
        *end_ns; /* a step that nothing but the end of recording ended: with the last event that began in it */
    int64_t *device_start_ns, *device_end_ns; /* PS_STILL_OPEN when there is none */
    uint64_t *stream, *id;                    /* id: of the device part, 0 none */
    uint32_t *tid, *device, *context;
} ps_steps;

typedef struct ps_device_rows { /* kernels, copies, API calls */
    size_t n;
    int64_t *start_ns, *end_ns;
    uint64_t *correlation, *stream, *bytes;
    uint32_t *device, *context, *tid, *name, *what;
    uint8_t *kind; /* PS_REC_KERNEL ... */
} ps_device_rows;

typedef struct ps_nvtx_rows {
    size_t n;
    uint32_t *category, *colour, *payload_type, *form, *payload;
} ps_nvtx_rows;

typedef struct
    ps_named { /* domains (by index), threads (by tid), streams (by handle), metadata and facts */
    size_t n;
    uint64_t *key;   /* tid, handle; the key's text for metadata and facts */
    uint32_t *value; /* text */
} ps_named;

typedef struct ps_captured_anchor {
    bool device;
    uint32_t device_id;
    int64_t host_ns,
        other_ns; /* Unix; host: CLOCK_MONOTONIC of the same moment; device: the device's own */
    int64_t half_width_ns;
} ps_captured_anchor;

/* `dir` is the FRAMEWORK folder. */
PS_MUST_USE ps_code ps_capture_read(const char *dir, ps_capture **out, ps_err *err);
/* In the process that recorded, with the blocks that the disk had no room for; they stay the caller's, until the capture is freed. */
PS_MUST_USE ps_code ps_capture_read_held(const char *dir, const char *held, size_t n_held,
                                         ps_capture **out, ps_err *err);
PS_MUST_USE ps_code ps_capture_read_memory(const void *spool, size_t bytes, ps_capture **out,
                                           ps_err *err);
/* Leaves out what began in the second half (of events, without any of device rows), counted as PS_DROP_NO_ROOM; a step that was cut by that
 * ends there. False when there is no more to leave out. */
bool ps_capture_halve(ps_capture *c);
void ps_capture_free(ps_capture *c);

const ps_spool_header *ps_capture_header(const ps_capture *c);
const ps_events *ps_capture_events(const ps_capture *c);
const ps_steps *ps_capture_steps(const ps_capture *c);
const ps_device_rows *ps_capture_device(const ps_capture *c);
const ps_nvtx_rows *ps_capture_nvtx(const ps_capture *c);
const ps_named *ps_capture_domains(const ps_capture *c);
const ps_named *ps_capture_threads(const ps_capture *c);
const ps_named *ps_capture_streams(const ps_capture *c);
const ps_named *ps_capture_metadata(const ps_capture *c);
/* All facts in the order they were noted; keys are texts. */
const ps_named *ps_capture_facts(const ps_capture *c);
const ps_clock_line *ps_capture_clock(const ps_capture *c);
const ps_captured_anchor *ps_capture_anchors(const ps_capture *c, size_t *n);

/* A fact we noted (PS_REC_INFO), the last one of that name; "" when there is none. */
const char *ps_capture_fact(const ps_capture *c, const char *name);

/* Text `id`; never NULL. UTF-8 (repaired, counted). */
const char *ps_capture_text(const ps_capture *c, uint32_t id, size_t *length);
uint32_t ps_capture_text_count(const ps_capture *c);

/* Drops of each kind over all rings, [PS_N_DROPS]; by ring with `ring` < n_rings. */
uint64_t ps_capture_drops(const ps_capture *c, unsigned drop);
uint32_t ps_capture_ring_count(const ps_capture *c);
uint64_t ps_capture_ring_drops(const ps_capture *c, uint32_t ring, unsigned drop);
/* The thread that used the ring last; 0 not known, or several. */
uint32_t ps_capture_ring_thread(const ps_capture *c, uint32_t ring);

/* First and last moment of the recording, Unix ns; *ended: it was stopped in order. */
void ps_capture_span(const ps_capture *c, int64_t *start_ns, int64_t *end_ns, bool *ended);

/* Bytes of the files that could not be understood, with the first place; 0 usually. */
uint64_t ps_capture_damaged_bytes(const ps_capture *c, char *place, size_t size);

#endif
