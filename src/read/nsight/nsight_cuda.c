/* Correlation ids join a call with what it launched. They start again in each process, and a launch of a graph has
 * many kernels:
 *
 *   CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId)
 *      1 : n   by (process, correlationId)
 *   CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName ...)
 *
 * Calls are read first. */
#include "read/nsight/nsight_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_kernels.h"

#define N(array) (sizeof(array) / sizeof *(array))

const ps_nsight_symbol PS_NSIGHT_MEMORY_KIND[PS_NSIGHT_MEMORY_KINDS] = {
    {"CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", 0, "pageable"},
    {"CUDA_MEMOPR_MEMORY_KIND_PINNED", 1, "pinned"},
    {"CUDA_MEMOPR_MEMORY_KIND_DEVICE", 2, "device"},
    {"CUDA_MEMOPR_MEMORY_KIND_ARRAY", 3, "array"},
    {"CUDA_MEMOPR_MEMORY_KIND_MANAGED", 4, "managed"},
    {"CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", 5, "device static"},
    {"CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", 6, "managed static"},
    {"CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", 7, "unknown"}};

static const ps_nsight_symbol COPY_KINDS[] = {{"CUDA_MEMCPY_KIND_UNKNOWN", 0, "Memcpy"},
                                              {"CUDA_MEMCPY_KIND_HTOD", 1, "Memcpy HtoD"},
                                              {"CUDA_MEMCPY_KIND_DTOH", 2, "Memcpy DtoH"},
                                              {"CUDA_MEMCPY_KIND_HTOA", 3, "Memcpy HtoA"},
                                              {"CUDA_MEMCPY_KIND_ATOH", 4, "Memcpy AtoH"},
                                              {"CUDA_MEMCPY_KIND_ATOA", 5, "Memcpy AtoA"},
                                              {"CUDA_MEMCPY_KIND_ATOD", 6, "Memcpy AtoD"},
                                              {"CUDA_MEMCPY_KIND_DTOA", 7, "Memcpy DtoA"},
                                              {"CUDA_MEMCPY_KIND_DTOD", 8, "Memcpy DtoD"},
                                              {"CUDA_MEMCPY_KIND_HTOH", 9, "Memcpy HtoH"},
                                              {"CUDA_MEMCPY_KIND_PTOP", 10, "Memcpy PtoP"},
                                              {"CUDA_MEMCPY_KIND_UVM_HTOD", 11, "Memcpy UVM HtoD"},
                                              {"CUDA_MEMCPY_KIND_UVM_DTOH", 12, "Memcpy UVM DtoH"},
                                              {"CUDA_MEMCPY_KIND_UVM_DTOD", 13, "Memcpy UVM DtoD"}};

#define SYNC_NAME(what) "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" what
static const ps_nsight_symbol SYNC_TYPES[] = {
    {SYNC_NAME("UNKNOWN"), 0, "Sync"},
    {SYNC_NAME("EVENT_SYNCHRONIZE"), 1, "Event Sync"},
    {SYNC_NAME("STREAM_WAIT_EVENT"), 2, "Stream Wait Event"},
    {SYNC_NAME("STREAM_SYNCHRONIZE"), 3, "Stream Sync"},
    {SYNC_NAME("CONTEXT_SYNCHRONIZE"), 4, "Context Sync"}};

/* A stream that has slices. */
typedef struct stream {
    int64_t process_key, id;
    uint32_t track;
    bool is_sync;
} stream;

typedef struct cuda {
    ps_nsight *n;
    bool with_flows, with_args;
    ps_idmap calls; /* process row and correlation id -> slice */
    uint32_t first_call;
    ps_nsight_call *spans; /* of calls, by slice from first_call on */
    ps_str *ranges;        /* the same: name of the range around */
    size_t n_spans, cap_spans;
    int64_t copy_kinds[N(COPY_KINDS)], sync_types[N(SYNC_TYPES)],
        memory_kinds[PS_NSIGHT_MEMORY_KINDS];
    ps_idmap kernel_names; /* id of a name -> whether such a kernel communicates */
    ps_idmap stream_rows;  /* track -> row */
    stream *streams;
    size_t n_streams, cap_streams;
    ps_str flow, sync;
} cuda;

/* Ids of the file are 32 bits wide; anything else links nothing. */
static bool correlation_key(uint32_t process, int64_t correlation, uint64_t *key) {
    *key = (uint64_t)process << 32 | ((uint64_t)correlation & UINT32_MAX);
    return correlation > 0 && correlation <= UINT32_MAX;
}

/* --- calls ----------------------------------------------------------------------------------------------- */

typedef struct host_table {
    const char *name, *category; /* category NULL: by the name of the call */
    bool is_cuda;
} host_table;

static const host_table HOST_TABLES[] = {{"CUPTI_ACTIVITY_KIND_RUNTIME", NULL, true},
                                         {"CUDA_GRAPH_NODE_EVENTS", "cuda_graph", false},
                                         {"CUDNN_EVENTS", "cudnn", false},
                                         {"CUBLAS_EVENTS", "cublas", false},
                                         {"OSRT_API", "osrt", false}};

enum {
    H_START,
    H_END,
    H_TID,
    H_NAME,
    H_CORRELATION,
    N_HOST_PLAIN,
    H_RETURN = N_HOST_PLAIN,
    H_NODE,
    H_ORIGINAL,
    N_HOST
};
static const char *const HOST_COLUMNS[N_HOST] = {
    "start",         "end",         "globalTid",   "nameId",
    "correlationId", "returnValue", "graphNodeId", "originalGraphNodeId"};

typedef struct host_scan {
    cuda *c;
    const host_table *table;
    ps_str runtime, driver; /* categories; of a table with one both are that */
} host_scan;

/* cuLaunchKernel is the driver's, cudaLaunchKernel the runtime's. */
static ps_str cuda_category_of(const host_scan *s, ps_str name) {
    const char *text = ps_builder_text(s->c->n->builder, name);
    bool is_driver = strncmp(text, "cu", 2) == 0 && text[2] >= 'A' && text[2] <= 'Z';
    return is_driver ? s->driver : s->runtime;
}

/* Remembers a call of CUDA for what it launched. The first of equal ids counts: the others are nested in it. */
static bool note_call(cuda *c, uint32_t slice, uint32_t thread, int64_t correlation,
                      const ps_nsight_span *span) {
    uint64_t key = 0;
    if (c->with_flows && correlation_key(c->n->threads[thread].process, correlation, &key) &&
        ps_idmap_get(&c->calls, key) == PS_IDMAP_NONE && !ps_idmap_put(&c->calls, key, slice)) {
        return false;
    }
    if (!c->with_args || !c->with_flows) {
        return true;
    }
    if (!ps_grow(&c->spans, &c->cap_spans, c->n_spans + 1, PS_NONE, sizeof *c->spans)) {
        return false;
    }
    c->first_call = c->n_spans == 0 ? slice : c->first_call;
    c->spans[c->n_spans++] = (ps_nsight_call){span->start_ns, span->end_ns, thread};
    return true;
}

static ps_code take_cuda_calls(void *context, const ps_scan_batch *b, ps_err *err) {
    const host_scan *s = context;
    cuda *c = s->c;
    ps_nsight *n = c->n;
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->columns[H_TID].types[i] != PS_CELL_INT) {
            ps_diag_add(n->diag, PS_ODD_TABLE_ROW, "%s rowid %lld: no globalTid", s->table->name,
                        (long long)b->rowids[i]);
            continue;
        }
        uint32_t thread = ps_nsight_thread_row(n, b->columns[H_TID].ints[i]);
        if (thread == PS_NONE) {
            return ps_fail_nomem(err);
        }
        if (!ps_nsight_wants(n, n->threads[thread].process)) {
            continue;
        }
        ps_nsight_span span = {.kind = PS_SLICE_CALL,
                               .track = n->threads[thread].track,
                               .name = ps_nsight_name(n, b, H_NAME, i, s->table->name),
                               .start_ns = ps_nsight_int(b, H_START, i, INT64_MIN),
                               .end_ns = ps_nsight_int(b, H_END, i, INT64_MIN),
                               .row = b->rowids[i]};
        span.category = cuda_category_of(s, span.name);
        uint32_t slice = ps_nsight_add(n, &span, s->table->name);
        int64_t correlation = ps_nsight_int(b, H_CORRELATION, i, 0);
        if (slice != PS_NONE && s->table->is_cuda &&
            !note_call(c, slice, thread, correlation, &span)) {
            return ps_fail_nomem(err);
        }
        if (c->with_args) {
            ps_nsight_arg_int(n, slice, "correlation", correlation, 0);
            ps_nsight_arg_int(n, slice, "return value", ps_nsight_int(b, H_RETURN, i, 0), 0);
            ps_nsight_arg_int(n, slice, "graph node", ps_nsight_int(b, H_NODE, i, 0), 0);
            ps_nsight_arg_int(n, slice, "original graph node", ps_nsight_int(b, H_ORIGINAL, i, 0),
                              0);
        }
    }
    return ps_nsight_check(n, err);
}

static ps_code read_calls(cuda *c, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < N(HOST_TABLES); i++) {
        const host_table *t = &HOST_TABLES[i];
        const char *category = t->category;
        host_scan s = {.c = c, .table = t};
        s.runtime = ps_nsight_str(c->n, category != NULL ? category : "cuda_runtime");
        s.driver = ps_nsight_str(c->n, category != NULL ? category : "cuda_driver");
        code = ps_nsight_scan(c->n, t->name, HOST_COLUMNS, c->with_args ? N_HOST : N_HOST_PLAIN,
                              take_cuda_calls, &s, err);
    }
    return code;
}

static ps_code find_ranges(cuda *c, const ps_nsight_nvtx *nvtx, ps_err *err) {
    if (c->n_spans == 0 || nvtx->n_ranges == 0) {
        return PS_OK;
    }
    c->ranges = ps_realloc_array(NULL, c->n_spans, sizeof *c->ranges);
    if (c->ranges == NULL) {
        return ps_fail_nomem(err);
    }
    return ps_nsight_cover(nvtx->ranges, nvtx->n_ranges, c->spans, c->n_spans, c->ranges, err);
}

/* --- work on streams ------------------------------------------------------------------------------------- */

/* First columns of every table of device work; what follows is of the table. */
enum { D_START, D_END, D_DEVICE, D_STREAM, D_CORRELATION, D_PID, D_OWN };
#define DEVICE_COLUMNS "start", "end", "deviceId", "streamId", "correlationId", "globalPid"
#define MAX_COLUMNS 40

/* A column that is an argument as it is, 0 a value only where `zero` says so; without a key it is for add_args. */
typedef struct int_arg {
    const char *column, *key;
    bool zero;
} int_arg;

typedef struct device_table {
    const char *name, *category;
    ps_slice_kind kind;
    const char *const *columns; /* of its own, always read */
    size_t n_columns;
    const int_arg *args; /* read when arguments are wanted */
    size_t n_args;
    /* The name, and perhaps another kind, of row i. */
    ps_str (*place)(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind);
    /* Further arguments from its own columns; may be NULL. */
    void (*add_args)(cuda *c, uint32_t slice, const ps_scan_batch *b, size_t i);
} device_table;

typedef struct device_scan {
    cuda *c;
    const device_table *table;
    ps_str category;
    size_t first_arg; /* column of args[0] */
} device_scan;

static uint32_t add_stream(cuda *c, uint32_t process, int64_t device, int64_t id, bool is_sync) {
    ps_nsight *n = c->n;
    ps_nsight_process *p = &n->processes[process];
    id = id < 0 || id == UINT32_MAX ? -1 : id; /* CUPTI's "no stream" */
    ps_track track = {.kind = PS_TRACK_STREAM,
                      .pid = p->pid,
                      .tid = id,
                      .device = ps_nsight_gpu(n, p->key, device),
                      .name = is_sync ? c->sync : PS_STR_NONE};
    uint32_t row = ps_builder_track(n->builder, track);
    p->has_tracks = true;
    if (row == PS_NONE || ps_idmap_get(&c->stream_rows, row) != PS_IDMAP_NONE) {
        return row;
    }
    if (!ps_grow(&c->streams, &c->cap_streams, c->n_streams + 1, PS_NONE - 1, sizeof *c->streams) ||
        !ps_idmap_put(&c->stream_rows, row, (uint32_t)c->n_streams)) {
        n->out_of_memory = true;
        return PS_NONE;
    }
    c->streams[c->n_streams++] = (stream){p->key, id, row, is_sync};
    return row;
}

/* The flow from the call, and the range around it. */
static void link_to_call(cuda *c, uint32_t slice, uint32_t process, int64_t correlation,
                         const char *table, int64_t row) {
    ps_nsight *n = c->n;
    uint64_t key = 0;
    if (!c->with_flows || correlation == 0) {
        return;
    }
    uint32_t call =
        correlation_key(process, correlation, &key) ? ps_idmap_get(&c->calls, key) : PS_IDMAP_NONE;
    if (call == PS_IDMAP_NONE) {
        ps_diag_add(n->diag, PS_ODD_NO_CALL, "%s rowid %lld", table, (long long)row);
        return;
    }
    ps_builder_flow_of(n->builder, call, slice, c->flow);
    if (c->ranges != NULL && call - c->first_call < c->n_spans) {
        ps_nsight_arg_str(n, slice, "range", c->ranges[call - c->first_call]);
    }
}

static void add_device_args(const device_scan *s, uint32_t slice, const ps_scan_batch *b,
                            size_t i) {
    ps_nsight *n = s->c->n;
    ps_nsight_arg_int(n, slice, "correlation", ps_nsight_int(b, D_CORRELATION, i, 0), 0);
    for (size_t k = 0; k < s->table->n_args; k++) {
        const int_arg *a = &s->table->args[k];
        int64_t missing = a->zero ? INT64_MIN : 0;
        if (a->key != NULL) {
            int64_t value = ps_nsight_int(b, s->first_arg + k, i, missing);
            ps_nsight_arg_int(n, slice, a->key, value, missing);
        }
    }
    if (s->table->add_args != NULL) {
        s->table->add_args(s->c, slice, b, i);
    }
}

static ps_code take_device(void *context, const ps_scan_batch *b, ps_err *err) {
    const device_scan *s = context;
    const device_table *t = s->table;
    cuda *c = s->c;
    ps_nsight *n = c->n;
    for (size_t i = 0; i < b->n_rows; i++) {
        uint32_t process = ps_nsight_device_process(n, ps_nsight_int(b, D_PID, i, 0));
        if (process == PS_NONE) {
            return ps_fail_nomem(err);
        }
        if (!ps_nsight_wants(n, process)) {
            continue;
        }
        ps_nsight_span span = {.kind = t->kind,
                               .category = s->category,
                               .start_ns = ps_nsight_int(b, D_START, i, INT64_MIN),
                               .end_ns = ps_nsight_int(b, D_END, i, INT64_MIN),
                               .row = b->rowids[i]};
        bool is_sync = t->kind == PS_SLICE_SYNC;
        span.track = add_stream(c, process, ps_nsight_int(b, D_DEVICE, i, 0),
                                ps_nsight_int(b, D_STREAM, i, -1), is_sync);
        span.name = t->place(c, b, i, &span.kind);
        uint32_t slice = ps_nsight_add(n, &span, t->name);
        if (slice == PS_NONE) {
            continue;
        }
        if (c->with_args) {
            add_device_args(s, slice, b, i);
        }
        if (!is_sync) { /* it waits for work, it is none that the call launched */
            link_to_call(c, slice, process, ps_nsight_int(b, D_CORRELATION, i, 0), t->name,
                         span.row);
        }
    }
    return ps_nsight_check(n, err);
}

/* --- kernels --------------------------------------------------------------------------------------------- */

enum {
    K_DEMANGLED = D_OWN,
    K_SHORT,
    K_MANGLED,
    K_ARGS,
    K_GRID_X = K_ARGS,
    K_BLOCK_X = K_GRID_X + 3,
    K_CLUSTER_X = K_BLOCK_X + 3
};
static const char *const KERNEL_COLUMNS[] = {"demangledName", "shortName", "mangledName"};
static const int_arg KERNEL_ARGS[] = {{"gridX", NULL, false},
                                      {"gridY", NULL, false},
                                      {"gridZ", NULL, false},
                                      {"blockX", NULL, false},
                                      {"blockY", NULL, false},
                                      {"blockZ", NULL, false},
                                      {"clusterX", NULL, false},
                                      {"clusterY", NULL, false},
                                      {"clusterZ", NULL, false},
                                      {"contextId", "context", false},
                                      {"greenContextId", "green context", false},
                                      {"registersPerThread", "registers per thread", false},
                                      {"staticSharedMemory", "static shared memory", false},
                                      {"dynamicSharedMemory", "dynamic shared memory", false},
                                      {"gridId", "grid id", false},
                                      {"graphNodeId", "graph node", false},
                                      {"graphId", "graph", false}};

/* Asked once a name. */
static bool communicates(cuda *c, ps_str name) {
    uint32_t known = ps_idmap_get(&c->kernel_names, name.id);
    if (known == PS_IDMAP_NONE) {
        known = ps_comm_is(ps_comm_of_kernel(ps_builder_text(c->n->builder, name), NULL)) ? 1 : 0;
        c->n->out_of_memory =
            !ps_idmap_put(&c->kernel_names, name.id, known) || c->n->out_of_memory;
    }
    return known == 1;
}

static ps_str place_kernel(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind) {
    ps_str name = PS_STR_NONE;
    for (size_t k = K_DEMANGLED; k <= K_MANGLED && ps_str_is_none(name); k++) {
        if (b->columns[k].types[i] == PS_CELL_INT) {
            name = ps_nsight_text_of(c->n, b->columns[k].ints[i]);
        }
    }
    if (ps_str_is_none(name)) {
        name = ps_nsight_name(c->n, b, K_DEMANGLED, i, "CUPTI_ACTIVITY_KIND_KERNEL");
    }
    *kind = communicates(c, name) ? PS_SLICE_COMM_KERNEL : PS_SLICE_KERNEL;
    return name;
}

/* Three columns as "[x, y, z]", left out when they are missing. */
static void add_triple(cuda *c, uint32_t slice, const char *key, const ps_scan_batch *b,
                       size_t first, size_t i) {
    int64_t x = ps_nsight_int(b, first, i, 0);
    if (x == 0) {
        return;
    }
    char text[80];
    (void)snprintf(text, sizeof text, "[%lld, %lld, %lld]", (long long)x,
                   (long long)ps_nsight_int(b, first + 1, i, 0),
                   (long long)ps_nsight_int(b, first + 2, i, 0));
    ps_arg arg = {.key = ps_nsight_str(c->n, key), .type = PS_ARG_JSON};
    arg.u.s = ps_nsight_str(c->n, text);
    ps_builder_arg(c->n->builder, slice, arg);
}

static void add_kernel_args(cuda *c, uint32_t slice, const ps_scan_batch *b, size_t i) {
    add_triple(c, slice, "grid", b, K_GRID_X, i);
    add_triple(c, slice, "block", b, K_BLOCK_X, i);
    add_triple(c, slice, "cluster", b, K_CLUSTER_X, i);
    if (b->columns[K_SHORT].types[i] == PS_CELL_INT) {
        ps_nsight_arg_str(c->n, slice, "short name",
                          ps_nsight_text_of(c->n, b->columns[K_SHORT].ints[i]));
    }
}

/* --- copies, fills, synchronisation, graphs -------------------------------------------------------------- */

enum { M_KIND = D_OWN, M_ARGS, M_SOURCE = M_ARGS, M_TARGET };
static const char *const COPY_COLUMNS[] = {"copyKind"};
static const int_arg COPY_ARGS[] = {{"srcKind", NULL, false},
                                    {"dstKind", NULL, false},
                                    {"bytes", "bytes", true},
                                    {"contextId", "context", false},
                                    {"greenContextId", "green context", false},
                                    {"srcDeviceId", "source device", true},
                                    {"dstDeviceId", "target device", true},
                                    {"graphNodeId", "graph node", false}};

static ps_str numbered(cuda *c, const char *what, int64_t number) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s %lld", what, (long long)number);
    return ps_nsight_str(c->n, text);
}

static ps_str place_copy(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind) {
    (void)kind;
    int64_t id = ps_nsight_int(b, M_KIND, i, 0);
    size_t k = ps_nsight_symbol_of(c->copy_kinds, N(COPY_KINDS), id);
    return k < N(COPY_KINDS) ? ps_nsight_str(c->n, COPY_KINDS[k].text)
                             : numbered(c, "Memcpy kind", id);
}

static void add_memory_kind(cuda *c, uint32_t slice, const char *key, const ps_scan_batch *b,
                            size_t column, size_t i) {
    if (b->columns[column].types[i] != PS_CELL_INT) {
        return;
    }
    size_t k =
        ps_nsight_symbol_of(c->memory_kinds, PS_NSIGHT_MEMORY_KINDS, b->columns[column].ints[i]);
    if (k < PS_NSIGHT_MEMORY_KINDS) {
        ps_nsight_arg_str(c->n, slice, key, ps_nsight_str(c->n, PS_NSIGHT_MEMORY_KIND[k].text));
    }
}

static void add_copy_args(cuda *c, uint32_t slice, const ps_scan_batch *b, size_t i) {
    add_memory_kind(c, slice, "source memory", b, M_SOURCE, i);
    add_memory_kind(c, slice, "target memory", b, M_TARGET, i);
}

enum { F_ARGS = D_OWN, F_MEMORY = F_ARGS };
static const int_arg FILL_ARGS[] = {{"memKind", NULL, false},
                                    {"value", "value", true},
                                    {"bytes", "bytes", true},
                                    {"contextId", "context", false},
                                    {"greenContextId", "green context", false},
                                    {"graphNodeId", "graph node", false}};

static ps_str place_fill(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind) {
    (void)b;
    (void)i;
    (void)kind;
    return ps_nsight_str(c->n, "Memset");
}

static void add_fill_args(cuda *c, uint32_t slice, const ps_scan_batch *b, size_t i) {
    add_memory_kind(c, slice, "memory", b, F_MEMORY, i);
}

enum { S_TYPE = D_OWN };
static const char *const SYNC_COLUMNS[] = {"syncType"};
static const int_arg SYNC_ARGS[] = {{"contextId", "context", false}, {"eventId", "event", false}};

static ps_str place_sync(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind) {
    (void)kind;
    int64_t id = ps_nsight_int(b, S_TYPE, i, 0);
    size_t k = ps_nsight_symbol_of(c->sync_types, N(SYNC_TYPES), id);
    return k < N(SYNC_TYPES) ? ps_nsight_str(c->n, SYNC_TYPES[k].text)
                             : numbered(c, "Sync type", id);
}

enum { G_GRAPH = D_OWN };
static const char *const GRAPH_COLUMNS[] = {"graphId"};
static const int_arg GRAPH_ARGS[] = {{"graphExecId", "graph exec", false},
                                     {"contextId", "context", false}};

static ps_str place_graph(cuda *c, const ps_scan_batch *b, size_t i, ps_slice_kind *kind) {
    (void)kind;
    return b->columns[G_GRAPH].types[i] == PS_CELL_INT
               ? numbered(c, "CUDA graph", b->columns[G_GRAPH].ints[i])
               : ps_nsight_str(c->n, "CUDA graph");
}

#define ROWS(array) (array), N(array)
static const device_table DEVICE_TABLES[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernel", PS_SLICE_KERNEL, ROWS(KERNEL_COLUMNS),
     ROWS(KERNEL_ARGS), place_kernel, add_kernel_args},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy", PS_SLICE_COPY, ROWS(COPY_COLUMNS), ROWS(COPY_ARGS),
     place_copy, add_copy_args},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", PS_SLICE_COPY, NULL, 0, ROWS(FILL_ARGS),
     place_fill, add_fill_args},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "cuda_sync", PS_SLICE_SYNC, ROWS(SYNC_COLUMNS),
     ROWS(SYNC_ARGS), place_sync, NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "cuda_graph", PS_SLICE_KERNEL, ROWS(GRAPH_COLUMNS),
     ROWS(GRAPH_ARGS), place_graph, NULL}};

static ps_code read_device_table(cuda *c, const device_table *t, ps_err *err) {
    const char *columns[MAX_COLUMNS] = {DEVICE_COLUMNS};
    size_t n_columns = D_OWN;
    for (size_t i = 0; i < t->n_columns; i++) {
        columns[n_columns++] = t->columns[i];
    }
    device_scan s = {.c = c, .table = t, .first_arg = n_columns};
    s.category = ps_nsight_str(c->n, t->category);
    for (size_t i = 0; c->with_args && i < t->n_args; i++) {
        columns[n_columns++] = t->args[i].column;
    }
    return ps_nsight_scan(c->n, t->name, columns, n_columns, take_device, &s, err);
}

/* --- names of streams ------------------------------------------------------------------------------------ */

typedef struct stream_info {
    int64_t pid, id, row;
    int64_t priority;
    ps_str name;
} stream_info;

typedef struct stream_infos {
    ps_nsight *n;
    stream_info *rows;
    size_t n_rows, cap;
} stream_infos;

static ps_code take_stream_infos(void *context, const ps_scan_batch *b, ps_err *err) {
    stream_infos *s = context;
    if (!ps_grow(&s->rows, &s->cap, s->n_rows + b->n_rows, PS_NONE, sizeof *s->rows)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_scan_bytes name = ps_cell_text(&b->columns[3], i);
        s->rows[s->n_rows] = (stream_info){.pid = ps_nsight_int(b, 0, i, -1),
                                           .id = ps_nsight_int(b, 1, i, -1),
                                           .priority = ps_nsight_int(b, 2, i, 0),
                                           .row = (int64_t)s->n_rows};
        if (name.size_bytes > 0) {
            s->rows[s->n_rows].name = ps_builder_str(s->n->builder, name.data, name.size_bytes);
        }
        s->n_rows++;
    }
    return ps_nsight_check(s->n, err);
}

PS_COMPARE(compare_stream_infos, stream_info, PS_BY(pid) PS_BY(id) PS_BY(row))

/* The last row of a stream; the names that a program gave come after what the driver says. */
static const stream_info *find_stream_info(const stream_infos *s, int64_t pid, int64_t id) {
    stream_info wanted = {.pid = pid, .id = id, .row = INT64_MAX};
    PS_PLACE(size_t, low, 0, s->n_rows, i, compare_stream_infos(&s->rows[i], &wanted) <= 0);
    bool found = low > 0 && s->rows[low - 1].pid == pid && s->rows[low - 1].id == id;
    return found ? &s->rows[low - 1] : NULL;
}

static void label_stream(cuda *c, const stream *st, const stream_info *info) {
    ps_nsight *n = c->n;
    char text[96];
    ps_str label = PS_STR_NONE;
    if (st->is_sync && st->id >= 0) {
        (void)snprintf(text, sizeof text, "stream %lld (sync)", (long long)st->id);
        label = ps_nsight_str(n, text);
    } else if (st->is_sync) {
        label = ps_nsight_str(n, "sync");
    } else if (info != NULL && !ps_str_is_none(info->name)) {
        label = info->name;
    } else if (info != NULL && info->priority != 0) {
        (void)snprintf(text, sizeof text, "stream %lld (priority %lld)", (long long)st->id,
                       (long long)info->priority);
        label = ps_nsight_str(n, text);
    }
    ps_builder_track_label(n->builder, st->track, label, PS_NO_ORDER);
}

static ps_code label_streams(cuda *c, ps_err *err) {
    static const char *const COLUMNS[] = {"processId", "streamId", "priority", "name"};
    stream_infos s = {.n = c->n};
    ps_code code = ps_nsight_scan(c->n, "TARGET_INFO_CUDA_STREAM", COLUMNS, N(COLUMNS),
                                  take_stream_infos, &s, err);
    if (code == PS_OK) {
        code = ps_nsight_scan(c->n, "TARGET_INFO_NVTX_CUDA_STREAM", COLUMNS, N(COLUMNS),
                              take_stream_infos, &s, err);
    }
    ps_sort(s.rows, s.n_rows, sizeof *s.rows, compare_stream_infos);
    for (size_t i = 0; code == PS_OK && i < c->n_streams; i++) {
        const stream *st = &c->streams[i];
        const stream_info *info = find_stream_info(&s, ps_nsight_os_pid(st->process_key), st->id);
        info = info != NULL ? info : find_stream_info(&s, st->process_key, st->id);
        label_stream(c, st, info);
    }
    ps_free(s.rows);
    return code == PS_OK ? ps_nsight_check(c->n, err) : code;
}

/* --- all together ---------------------------------------------------------------------------------------- */

ps_code ps_nsight_cuda_read(ps_nsight *n, const ps_nsight_nvtx *nvtx, ps_err *err) {
    cuda c = {.n = n,
              .with_flows = (n->needs & PS_NEED_FLOWS) != 0,
              .with_args = (n->needs & PS_NEED_ARGS) != 0,
              .flow = ps_nsight_str(n, "ac2g"),
              .sync = ps_nsight_str(n, "sync")};
    ps_code code =
        ps_nsight_symbols(n, "ENUM_CUDA_MEMCPY_OPER", COPY_KINDS, N(COPY_KINDS), c.copy_kinds, err);
    if (code == PS_OK) {
        code = ps_nsight_symbols(n, "ENUM_CUDA_MEM_KIND", PS_NSIGHT_MEMORY_KIND,
                                 PS_NSIGHT_MEMORY_KINDS, c.memory_kinds, err);
    }
    if (code == PS_OK) {
        code = ps_nsight_symbols(n, "ENUM_CUPTI_SYNC_TYPE", SYNC_TYPES, N(SYNC_TYPES), c.sync_types,
                                 err);
    }
    code = code == PS_OK ? read_calls(&c, err) : code;
    code = code == PS_OK ? find_ranges(&c, nvtx, err) : code;
    for (size_t i = 0; code == PS_OK && i < N(DEVICE_TABLES); i++) {
        code = read_device_table(&c, &DEVICE_TABLES[i], err);
    }
    code = code == PS_OK ? label_streams(&c, err) : code;
    ps_idmap_fini(&c.calls);
    ps_idmap_fini(&c.kernel_names);
    ps_idmap_fini(&c.stream_rows);
    ps_free(c.spans);
    ps_free(c.ranges);
    ps_free(c.streams);
    return code;
}
