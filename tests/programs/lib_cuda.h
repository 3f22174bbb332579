/* What tests ask of the emulated driver besides the driver's own functions (lib_cuda.c). */
#ifndef TESTS_LIB_CUDA_H
#define TESTS_LIB_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef struct emu_counts {
    uint64_t calls_here; /* of the thread that asks: others call when they like */
    uint64_t calls, events_made, records, queries, proc_addresses;
    uint64_t misuse;          /* of handles that are no more: a real driver may crash */
    uint64_t after_sticky;    /* calls in a context with an error that stays */
    uint64_t broken_captures; /* by calls that a capture forbids */
    uint64_t captured_events; /* events recorded into a graph */
} emu_counts;

enum { EMU_KERNEL = 10, EMU_MEMCPY = 1, EMU_MEMSET = 2 };
typedef struct emu_activity { /* what an emulated CUPTI hears of; times: CLOCK_MONOTONIC */
    int kind;
    const char *name;
    int64_t start, end, called, returned;
    uint32_t device, context, stream, correlation, call, grid, grid_y, block, what;
    uint64_t bytes, node;
} emu_activity;

int64_t emu_host_ns(void); /* CLOCK_MONOTONIC and what was added by emu_advance */
void emu_advance(int64_t ns);
int64_t emu_host_of(int64_t device_ns);
/* The call after `after` more of that name gives `code`; all from then on sleep `block_ms`. */
void emu_fail(const char *call, int code, int after, int block_ms);
void emu_get_counts(emu_counts *out);
void emu_on_activity(void (*fn)(const emu_activity *));

#endif
