/* CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, address, bytes, memKind, memoryOperationType): one row per
 * allocation (0) or deallocation (1), in no order. A deallocation takes away what was allocated at its address; one of
 * memory from before the capture takes nothing and is counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "read/nsight/nsight_cuda.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define TABLE "CUDA_GPU_MEMORY_USAGE_EVENTS"

enum { ALLOCATION, DEALLOCATION, N_OPERATIONS };
static const ps_nsight_symbol OPERATIONS[N_OPERATIONS] = {
    [ALLOCATION] = {"CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", 0, ""},
    [DEALLOCATION] = {"CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", 1, ""}};

typedef struct memory_event {
    int64_t start_ns, row, address, bytes;
    int64_t change_bytes;
    uint32_t process, track;
    bool is_free, has_address;
} memory_event;

typedef struct memory {
    ps_nsight *n;
    int64_t operations[N_OPERATIONS], kinds[PS_NSIGHT_MEMORY_KINDS];
    memory_event *events;
    size_t n_events, cap;
} memory;

enum { C_START, C_PID, C_DEVICE, C_ADDRESS, C_BYTES, C_KIND, C_OPERATION };
static const char *const COLUMNS[] = {"start", "globalPid", "deviceId",           "address",
                                      "bytes", "memKind",   "memoryOperationType"};

static uint32_t memory_track_of(memory *m, uint32_t process, int64_t device, int64_t kind) {
    ps_nsight *n = m->n;
    ps_nsight_process *p = &n->processes[process];
    char name[64];
    size_t k = ps_nsight_symbol_of(m->kinds, PS_NSIGHT_MEMORY_KINDS, kind);
    if (k < PS_NSIGHT_MEMORY_KINDS) {
        (void)snprintf(name, sizeof name, "CUDA memory/%s", PS_NSIGHT_MEMORY_KIND[k].text);
    } else {
        (void)snprintf(name, sizeof name, "CUDA memory/kind %lld", (long long)kind);
    }
    ps_track track = {.kind = PS_TRACK_COUNTER,
                      .pid = p->pid,
                      .tid = -1,
                      .device = ps_nsight_gpu(n, p->key, device),
                      .name = ps_nsight_str(n, name)};
    uint32_t row = ps_builder_track(n->builder, track);
    ps_builder_track_unit(n->builder, row, ps_nsight_str(n, "bytes"));
    p->has_tracks = true;
    return row;
}

static ps_code take_memory_events(void *context, const ps_scan_batch *b, ps_err *err) {
    memory *m = context;
    ps_nsight *n = m->n;
    for (size_t i = 0; i < b->n_rows; i++) {
        uint32_t process = ps_nsight_device_process(n, ps_nsight_int(b, C_PID, i, 0));
        if (process == PS_NONE) {
            return ps_fail_nomem(err);
        }
        size_t operation =
            ps_nsight_symbol_of(m->operations, N_OPERATIONS, ps_nsight_int(b, C_OPERATION, i, -1));
        if (!ps_nsight_wants(n, process)) {
            continue;
        }
        memory_event e = {.start_ns = ps_nsight_int(b, C_START, i, INT64_MIN),
                          .row = b->rowids[i],
                          .address = ps_nsight_int(b, C_ADDRESS, i, 0),
                          .bytes = ps_nsight_int(b, C_BYTES, i, -1),
                          .process = process,
                          .is_free = operation == DEALLOCATION,
                          .has_address = b->columns[C_ADDRESS].types[i] == PS_CELL_INT};
        if (operation == N_OPERATIONS || e.bytes < 0) {
            ps_diag_add(n->diag, PS_ODD_TABLE_ROW, TABLE " rowid %lld", (long long)e.row);
            continue;
        }
        e.track = memory_track_of(m, process, ps_nsight_int(b, C_DEVICE, i, 0),
                                  ps_nsight_int(b, C_KIND, i, -1));
        if (!PS_ADD(m->events, m->n_events, m->cap, PS_NONE, e)) {
            return ps_fail_nomem(err);
        }
    }
    return ps_nsight_check(n, err);
}

PS_COMPARE(by_address, memory_event, PS_BY(process) PS_BY(address) PS_BY(start_ns) PS_BY(row))

PS_COMPARE(by_memory_time, memory_event, PS_BY(track) PS_BY(start_ns) PS_BY(row))

/* What each event changes; events are sorted by address and time. */
static void pair_by_address(memory *m) {
    for (size_t i = 0; i < m->n_events; i++) {
        memory_event *e = &m->events[i];
        const memory_event *before = i > 0 ? &m->events[i - 1] : NULL;
        if (!e->is_free) {
            e->change_bytes = e->bytes;
        } else if (!e->has_address) {
            e->change_bytes = -e->bytes;
        } else if (before != NULL && before->process == e->process && before->has_address &&
                   before->address == e->address && !before->is_free) {
            e->change_bytes = -before->bytes;
            e->track = before->track; /* some releases do not repeat the kind of memory */
        } else {
            ps_diag_add(m->n->diag, PS_ODD_UNJOINED,
                        TABLE " rowid %lld: allocated before the capture", (long long)e->row);
        }
    }
}

static void add_values(memory *m) {
    int64_t total = 0;
    for (size_t i = 0; i < m->n_events; i++) {
        const memory_event *e = &m->events[i];
        total = i > 0 && m->events[i - 1].track == e->track ? total : 0;
        if (e->change_bytes == 0) {
            continue;
        }
        if (__builtin_add_overflow(total, e->change_bytes, &total)) {
            ps_diag_add(m->n->diag, PS_ODD_NUMBER, TABLE " rowid %lld: bytes", (long long)e->row);
            total = 0;
        } else if (ps_builder_counter(m->n->builder, e->track, e->start_ns, (double)total)) {
            m->n->last_ns = e->start_ns > m->n->last_ns ? e->start_ns : m->n->last_ns;
        } else if (!ps_builder_failed(m->n->builder)) {
            ps_diag_add(m->n->diag, PS_ODD_TIME, TABLE " rowid %lld", (long long)e->row);
        }
    }
}

ps_code ps_nsight_memory_read(ps_nsight *n, ps_err *err) {
    memory m = {.n = n};
    ps_code code = ps_nsight_symbols(n, "ENUM_CUDA_DEV_MEM_EVENT_OPER", OPERATIONS, N_OPERATIONS,
                                     m.operations, err);
    if (code == PS_OK) {
        code = ps_nsight_symbols(n, "ENUM_CUDA_MEM_KIND", PS_NSIGHT_MEMORY_KIND,
                                 PS_NSIGHT_MEMORY_KINDS, m.kinds, err);
    }
    if (code == PS_OK) {
        code = ps_nsight_scan(n, TABLE, COLUMNS, N(COLUMNS), take_memory_events, &m, err);
    }
    if (code == PS_OK && m.n_events > 0) {
        qsort(m.events, m.n_events, sizeof *m.events, by_address);
        pair_by_address(&m);
        qsort(m.events, m.n_events, sizeof *m.events, by_memory_time);
        add_values(&m);
    }
    ps_free(m.events);
    return code == PS_OK ? ps_nsight_check(n, err) : code;
}
