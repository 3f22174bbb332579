/* The hot path: every way in (record.h, mstx, NVTX, CUDA, CUPTI) ends here. No lock, no allocation, no system call but when a
 * thread records its first event. `domain` is one that ps_domain_check passed; `text` is not kept.
 *
 * Messages are judged here (empty, too long, the first characters that mstx refuses); `ps_text` says which kind of text. */
#ifndef PS_RECORD_EVENTS_H
#define PS_RECORD_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/domains.h"
#include "record/format.h"

/* 0 while nothing is recorded, else the generation of the recording, which only grows. ps_process_init() moves it to a page of
 * its own that a fork wipes. */
extern _Atomic uint32_t *ps_recording __attribute__((visibility("hidden")));

/* As what an event counts that finds its ring full: PS_DROP_RING_FULL, or why nothing takes from the rings any more. */
extern _Atomic uint32_t ps_full_drop __attribute__((visibility("hidden")));

/* The option mstx_strict: messages of more than 156 bytes are refused. */
extern atomic_bool ps_mstx_strict __attribute__((visibility("hidden")));

static inline bool ps_is_recording(void) {
    return __builtin_expect(atomic_load_explicit(ps_recording, memory_order_relaxed) != 0, 0);
}

/* What a message is: bytes, or a shared text by its number (then `bytes` is NULL). */
typedef struct ps_text {
    const char *bytes;
    size_t length;
    uint32_t shared;
    bool check; /* mstx's rules for messages apply */
} ps_text;

/* What NVTX says besides; a record of its own in front. */
typedef struct ps_nvtx_extra {
    uint32_t category, colour, payload_type, form; /* form: 1 push/pop, 2 start/end, 3 mark */
    const char *payload;                           /* JSON text, or NULL */
    size_t payload_length;
} ps_nvtx_extra;

/* All give 0 / do nothing when not recording. `stream` NULL: host only. `extra` may be NULL. */
void ps_event_mark(const ps_record_domain *domain, ps_text text, void *stream,
                   const ps_nvtx_extra *extra);
uint64_t ps_event_start(const ps_record_domain *domain, ps_text text, void *stream,
                        const ps_nvtx_extra *extra);
/* domain NULL: not known to the caller (PS_DOMAIN_ANY). */
void ps_event_end(const ps_record_domain *domain, uint64_t id);
/* Depth before the push, and after the pop; -1 when nothing was recorded. */
int ps_event_push(const ps_record_domain *domain, ps_text text, void *stream,
                  const ps_nvtx_extra *extra);
int ps_event_pop(const ps_record_domain *domain);

/* `forward`: id of the operator whose gradient this one computes, else 0. */
uint64_t ps_event_op_begin(ps_text name, ps_text shapes, void *stream, uint64_t forward);
void ps_event_op_end(uint64_t id);

/* Begin gives the id that the step's times on the device come under, for its end; 0: it has none (stream NULL, or not recorded). */
uint64_t ps_event_step_begin(int64_t step, void *stream);
void ps_event_step_end(int64_t step, uint64_t id);

/* Counts on the calling thread's ring; nothing when not recording. */
void ps_event_drop(unsigned drop);

/* --- through ring 0, under its lock; for what happens rarely --------------------------------------------------------- */

/* These work from the start of a recording until its rings are released, also after *ps_recording became 0. Before the first event
 * there is no ring yet: records of definitions, pairs and anchors wait in memory for it (they may be made inside of
 * ps_session_ring_place()), drops too, and are forgotten when the recording ends without one. When ring 0 is full they wake the writer and wait
 * for room, a tenth of a second at most. */

/* A record with text behind it, e.g. PS_REC_STREAM, PS_REC_THREAD_NAME; at most PS_RECORD_MAX_TEXT bytes are kept. */
void ps_shared_define(uint8_t kind, uint64_t id, const char *text, size_t length);
/* PS_REC_META, PS_REC_INFO. More than PS_RECORD_MAX_PAIR bytes: left out and said in the log. */
void ps_shared_pair(uint8_t kind, const char *key, const char *text, size_t length);
void ps_shared_anchor(uint64_t ticks, int64_t real_ns, int64_t mono_ns, uint32_t half_width_ns);

/* Device records: `start_ns`, `end_ns` of CLOCK_MONOTONIC; `name` may be NULL. From any thread of ours. */
void ps_shared_device(uint8_t kind, uint64_t id, int64_t start_ns, int64_t end_ns, const char *name,
                      const ps_device_more *more);
void ps_shared_drop(unsigned drop, uint64_t n);

/* The writer thread cannot wait for itself: when ring 0 is full and the caller is the thread that called this, `take` is called
 * instead, without the lock. It empties ring 0. */
void ps_shared_set_taker(void (*take)(void));

/* What waits in memory for ring 0, for the thread that has just made it; and to forget it. */
void ps_shared_flush(void);
void ps_shared_forget(void);
void ps_shared_abandon(void); /* in a forked child: another thread may have been changing it */

#endif
