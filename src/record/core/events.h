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

#include "record/core/domains.h"
#include "record/core/recording.h"
#include "record/ring/format.h"

/* The option mstx_strict: messages of more than 156 bytes are refused. */
extern atomic_bool ps_mstx_strict __attribute__((visibility("hidden")));

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
/* Stands for no kernel. */
uint64_t ps_event_op_begin_host(ps_text name, ps_text shapes, uint64_t forward);
void ps_event_op_end(uint64_t id);

/* Begin gives the id that the step's times on the device come under, for its end; 0: it has none (stream NULL, or not recorded). */
uint64_t ps_event_step_begin(int64_t step, void *stream);
/* `cut`: not the program ends it, but the recording. */
void ps_event_step_end(int64_t step, uint64_t id, bool cut);

/* Counts on the calling thread's ring; nothing when not recording. */
void ps_event_drop(unsigned drop);

/* ps_domain_named(), and counts when there are too many. */
ps_record_domain *ps_event_domain(const char *name, size_t length);

#endif
