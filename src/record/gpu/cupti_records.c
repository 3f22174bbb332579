/* Records of CUPTI's activity buffers, as far as cupti_abi.h knows them, and where they go. Records of kinds that were not asked for
 * are passed over. Names of kernels are pointers that live as long as CUPTI does: they are copied now. */
#include <stdatomic.h>
#include <string.h>

#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/gpu/cupti_parts.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"

static uint32_t u32(const uint8_t *record, size_t at) {
    uint32_t v;
    memcpy(&v, record + at, sizeof v);
    return v;
}
static uint64_t u64(const uint8_t *record, size_t at) {
    uint64_t v;
    memcpy(&v, record + at, sizeof v);
    return v;
}

/* False: its end is not known. CUPTI gives zero for what had not finished when it was forced to give it. */
static bool hand_on(uint8_t kind, uint64_t id, uint64_t start, uint64_t end, const char *name,
                    const ps_device_more *more) {
    if (start == 0 || end < start) {
        return false;
    }
    ps_shared_device(kind, id, ps_cupti_clock_mono(start), ps_cupti_clock_mono(end), name, more);
    return true;
}

/* The number of the context, where records are as old as those that were compared; the same for all kinds, since streams are told apart
 * by it. */
static uint32_t context_at(const uint8_t *r, size_t at) {
    return ps_cupti.version <= PS_CUPTI_NEWEST ? u32(r, at) : 0;
}

/* How many in three dimensions, from the first on. */
static uint64_t volume(const uint8_t *r, size_t at) {
    uint64_t n = 1;
    for (size_t i = 0; i < 3; i++) {
        uint32_t side = u32(r, at + 4 * i);
        n *= side != 0 ? side : 1;
        n = n < UINT32_MAX ? n : UINT32_MAX;
    }
    return n;
}

static bool kernel(const uint8_t *r) {
    ps_device_more more = {.device = u32(r, PS_KERNEL_DEVICE),
                           .context = context_at(r, PS_KERNEL_CONTEXT),
                           .stream = u32(r, PS_KERNEL_STREAM)};
    if (ps_cupti.version <= PS_CUPTI_NEWEST) {
        more.bytes = volume(r, PS_KERNEL_GRID) | volume(r, PS_KERNEL_BLOCK) << 32;
        more.what = (uint32_t)u64(r, PS_KERNEL_GRAPH_NODE);
    }
    const char *name = (const char *)(uintptr_t)u64(r, PS_KERNEL_NAME);
    return hand_on(PS_REC_KERNEL, u32(r, PS_KERNEL_CORRELATION), u64(r, PS_KERNEL_START),
                   u64(r, PS_KERNEL_END), name, &more);
}

static bool copy_cupti_record(const uint8_t *r, bool set) {
    ps_device_more more = {.device = u32(r, PS_COPY_DEVICE),
                           .context = context_at(r, PS_COPY_CONTEXT),
                           .stream = u32(r, PS_COPY_STREAM),
                           .bytes = u64(r, PS_COPY_BYTES),
                           .what = set ? u32(r, PS_COPY_KIND) : r[PS_COPY_KIND]};
    return hand_on(set ? PS_REC_MEMSET : PS_REC_MEMCPY, u32(r, PS_COPY_CORRELATION),
                   u64(r, PS_COPY_START), u64(r, PS_COPY_END), NULL, &more);
}

static bool call(const uint8_t *r, uint32_t kind) {
    ps_device_more more = {.thread = u32(r, PS_API_THREAD), .what = u32(r, PS_API_CALL)};
    return hand_on(PS_REC_API, u32(r, PS_API_CORRELATION), u64(r, PS_API_START), u64(r, PS_API_END),
                   ps_cupti_call_name(kind, more.what), &more);
}

static bool external(const uint8_t *r) {
    if (u32(r, PS_EXTERNAL_KIND) == PS_CUPTI_CUSTOM0) {
        ps_shared_device(PS_REC_CORRELATE, u32(r, PS_EXTERNAL_CORRELATION), 0,
                         (int64_t)u64(r, PS_EXTERNAL_ID), NULL, NULL);
    }
    return true;
}

static bool graph(const uint8_t *r) {
    ps_device_more more = {.device = u32(r, PS_GRAPH_DEVICE),
                           .context = context_at(r, PS_GRAPH_CONTEXT),
                           .stream = u32(r, PS_GRAPH_STREAM),
                           .what = u32(r, PS_GRAPH_ID)};
    return hand_on(PS_REC_GRAPH, u32(r, PS_GRAPH_CORRELATION), u64(r, PS_GRAPH_START),
                   u64(r, PS_GRAPH_END), NULL, &more);
}

static bool overhead(const uint8_t *r) {
    bool of_thread = u32(r, PS_OVERHEAD_OBJECT) == PS_OVERHEAD_OF_THREAD;
    ps_device_more more = {.thread = of_thread ? u32(r, PS_OVERHEAD_THREAD) : 0,
                           .what = u32(r, PS_OVERHEAD_KIND)};
    return hand_on(PS_REC_OVERHEAD, 0, u64(r, PS_OVERHEAD_START), u64(r, PS_OVERHEAD_END), NULL,
                   &more);
}

static bool synchronization(const uint8_t *r) {
    ps_device_more more = {.context = context_at(r, PS_SYNC_CONTEXT),
                           .stream = u32(r, PS_SYNC_STREAM),
                           .what = u32(r, PS_SYNC_TYPE)};
    return hand_on(PS_REC_SYNC, u32(r, PS_SYNC_CORRELATION), u64(r, PS_SYNC_START),
                   u64(r, PS_SYNC_END), NULL, &more);
}

/* How many bytes of a record are read. */
static size_t bytes_of(uint32_t kind) {
    switch (kind) {
    case PS_CUPTI_KERNEL:
    case PS_CUPTI_CONCURRENT_KERNEL:
        return PS_KERNEL_BYTES;
    case PS_CUPTI_MEMCPY:
    case PS_CUPTI_MEMSET:
        return PS_COPY_SIZE;
    case PS_CUPTI_DRIVER:
    case PS_CUPTI_RUNTIME:
        return PS_API_SIZE;
    case PS_CUPTI_EXTERNAL_CORRELATION:
        return PS_EXTERNAL_SIZE;
    case PS_CUPTI_OVERHEAD:
        return PS_OVERHEAD_SIZE;
    case PS_CUPTI_SYNCHRONIZATION:
        return PS_SYNC_SIZE;
    case PS_CUPTI_GRAPH_TRACE:
        return PS_GRAPH_SIZE;
    default:
        return sizeof kind;
    }
}

static bool take_cupti_record(const uint8_t *r, uint32_t kind) {
    switch (kind) {
    case PS_CUPTI_KERNEL:
    case PS_CUPTI_CONCURRENT_KERNEL:
        return kernel(r);
    case PS_CUPTI_MEMCPY:
    case PS_CUPTI_MEMSET:
        return copy_cupti_record(r, kind == PS_CUPTI_MEMSET);
    case PS_CUPTI_DRIVER:
    case PS_CUPTI_RUNTIME:
        return call(r, kind);
    case PS_CUPTI_EXTERNAL_CORRELATION:
        return external(r);
    case PS_CUPTI_OVERHEAD:
        return overhead(r);
    case PS_CUPTI_SYNCHRONIZATION:
        return synchronization(r);
    case PS_CUPTI_GRAPH_TRACE:
        return graph(r);
    default:
        return true;
    }
}

uint64_t ps_cupti_records(const ps_cupti_buffer *buffer) {
    const uint8_t *end = buffer->bytes + buffer->valid;
    uint8_t *r = NULL;
    uint64_t lost = 0;
    while (!ps_gpu_thread_given_up()) {
        int result = ps_cupti.v2
                         ? ps_cupti.calls.ActivityGetNextRecord_v2(ps_cupti.subscriber,
                                                                   buffer->bytes, buffer->valid, &r)
                         : ps_cupti.calls.ActivityGetNextRecord(buffer->bytes, buffer->valid, &r);
        if (result == PS_CUPTI_MAX_LIMIT_REACHED) {
            return lost;
        }
        if (result != PS_CUPTI_OK || r == NULL || r < buffer->bytes ||
            (size_t)(end - r) < sizeof(uint32_t)) {
            return lost + 1; /* the rest cannot be walked through */
        }
        uint32_t kind = u32(r, 0);
        bool whole = (size_t)(end - r) >= bytes_of(kind);
        lost += whole && take_cupti_record(r, kind) ? 0 : 1;
    }
    return lost;
}
