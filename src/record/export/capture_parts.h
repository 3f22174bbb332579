/* What a capture is inside, for the files that make it: slots.c finds the records, decode.c takes them apart, pairing.c puts
 * starts and ends together and into order. */
#ifndef PS_RECORD_CAPTURE_PARTS_H
#define PS_RECORD_CAPTURE_PARTS_H

#include "base/alloc.h"
#include "record/export/capture.h"
#include "record/export/slots.h"
#include "record/export/texts.h"

/* A start, mark or operator as its ring has it; times are ticks. */
typedef struct ps_raw_event {
    uint64_t start, end, id, stream, forward;
    uint32_t message, shapes, extra, tid, end_tid;
    uint16_t domain;
    uint8_t what;
    bool closed, host_only;
} ps_raw_event;

typedef struct ps_raw_end {
    uint64_t ticks, id;
    uint32_t tid;
    uint16_t domain;
} ps_raw_end;

typedef struct ps_raw_step {
    uint64_t ticks, stream, id;
    int64_t number;
    uint32_t tid;
    bool begin, cut; /* cut: the recording ended in it */
} ps_raw_step;

typedef struct ps_raw_device { /* CLOCK_MONOTONIC ns */
    uint64_t id, stream;
    int64_t start_ns, end_ns;
    uint32_t device, context;
} ps_raw_device;

typedef struct ps_raw_row { /* kernels, copies, calls, correlations; CLOCK_MONOTONIC ns */
    uint64_t start, end, correlation, stream, bytes;
    uint32_t device, context, tid, name, what;
    uint8_t kind;
} ps_raw_row;

/* A vector: `PS_RAW(type) name`. */
#define PS_RAW(type)                                                                               \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }

typedef PS_RAW(uint32_t) ps_raw_numbers;

/* A place for one more, not initialised; NULL when memory is out. */
#define PS_RAW_MORE(v)                                                                             \
    (ps_grow(&(v).at, &(v).cap, (v).n + 1, UINT32_MAX - 1, sizeof *(v).at) ? &(v).at[(v).n++]      \
                                                                           : NULL)

struct ps_capture {
    ps_slot_files files;
    ps_texts texts;
    uint32_t dropped;   /* the text of events whose own is not kept */
    uint32_t *stripped; /* by text: its number without backslashes + 1, 0 not asked yet */
    size_t cap_stripped;

    PS_RAW(ps_raw_event) raw_events;
    PS_RAW(ps_raw_end) raw_ends;
    PS_RAW(ps_raw_step) raw_steps;
    PS_RAW(ps_raw_device) raw_device;
    PS_RAW(ps_raw_row) raw_rows;
    PS_RAW(ps_raw_anchor) raw_anchors;
    PS_RAW(ps_captured_anchor) anchors; /* those of devices are raw until the clock is known */
    ps_raw_numbers domains;             /* text by number, PS_NO_TEXT not defined */
    ps_raw_numbers shared;              /* shared texts by number */
    uint64_t first_ticks, last_ticks;   /* of all that was recorded; first > last when nothing */
    bool stopped;                       /* in order */
    int64_t stop_ns;                    /* Unix; when, where "stop" says it, else 0 */

    ps_clock_line clock;
    ps_events events;
    ps_steps steps;
    ps_device_rows device;
    ps_nvtx_rows nvtx;
    size_t cap_nvtx[5];
    ps_named domain_names, threads, streams, metadata, facts;
    size_t cap_named[5][2];
    bool has_stop_drops;
    uint64_t stop_drops[PS_N_DROPS]; /* as "stop" says them */
    uint64_t found[PS_N_DROPS];      /* what pairing and texts counted, besides the rings */
};

/* All rings, the shared one first; or that one alone. */
PS_MUST_USE ps_code ps_capture_decode(ps_capture *c, bool only_shared, ps_err *err);

/* Facts, metadata and clock of a folder, without its events: to find out whose it is. */
PS_MUST_USE ps_code ps_capture_peek(const char *dir, ps_capture **out, ps_err *err);

/* This machine's boot id; false when it cannot be read. */
bool ps_this_boot(char *out, size_t size);

/* c->clock, by the anchors. False when memory is out. */
bool ps_capture_fit_clock(ps_capture *c);

/* Starts and ends, steps, device times: into columns. */
PS_MUST_USE ps_code ps_capture_pair(ps_capture *c, ps_err *err);

#endif
