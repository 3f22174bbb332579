/* Step time needs when the device worked and in which step that was launched. Of ten million kernels names, arguments and
 * calls are most of the work, so they are left alone:
 *
 *   COMPUTE_TASK_INFO(globalTaskId)           one bit a task: it is a kernel
 *   COMMUNICATION_TASK_INFO(globalTaskId)     likewise: it belongs to an operator
 *   CANN_API(connectionId, startNs)           where there are steps: when each piece of work was launched
 *   PYTORCH_API, CONNECTION_IDS               likewise, for operators that began in a step before their call
 *   TASK(startNs, endNs, deviceId, globalTaskId, connectionId)
 *
 * A launch becomes a slice only where it tells something: where the step that runs at the start of the work is another.
 * Kernels of one device and step that touch become one slice: half of them, where streams run side by side. */
#include "read/ascend_db/ascend_db_spans.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"

/* Ids are numbers of rows; a file in which they lie far apart is read in the usual way. */
#define MAX_BITS_A_ROW ((size_t)1024)
#define MAX_VALUES_A_ROW ((size_t)16)
#define ROWS_BESIDES ((size_t)65536)
#define MAX_ENTRIES ((size_t)1 << 33)

#define NO_LAUNCH INT64_MIN
#define NO_STEP SIZE_MAX

/* One bit for each id below 8 * n. */
typedef struct bits {
    uint8_t *at;
    size_t n, cap, n_rows;
} bits;

/* A time for each id below n. */
typedef struct times {
    int64_t *at;
    size_t n, cap, n_rows;
} times;

typedef struct step_window {
    int64_t start_ns, end_ns;
} step_window;

typedef struct spans {
    ps_ascend *a;
    bits kernels, comm;
    times calls; /* connection -> start of its call */
    times torch; /* id in CONNECTION_IDS -> start of the row of PYTORCH_API */
    ps_idmap
        operator_of; /* connection -> row of operators, where the operator began in another step */
    int64_t *operators; /* start */
    size_t n_operators, cap_operators;
    step_window *steps;
    size_t n_steps, cap_steps;
    bool unusual;
    int64_t device; /* of the track at hand */
    uint32_t track, host;
    ps_str launch, to_device;
    uint32_t last; /* the kernel added last on this track, PS_NONE */
    size_t last_step;
    int64_t last_start_ns, last_end_ns;
    int64_t home; /* the only device, -1 none or several */
    bool many_devices;
} spans;

/* --- tables by id ----------------------------------------------------------------------------------------- */

/* False when memory is out or the id is too far from the others, which sets `unusual`. */
static bool set_bit(spans *s, bits *b, int64_t id) {
    b->n_rows++;
    size_t byte = (size_t)(id >> 3);
    if (id < 0 || (size_t)id > MAX_BITS_A_ROW * (b->n_rows + ROWS_BESIDES)) {
        s->unusual = true;
        return false;
    }
    if (byte >= b->n) {
        size_t before = b->cap;
        if (!ps_grow(&b->at, &b->cap, byte + 1, MAX_ENTRIES, 1)) {
            return false;
        }
        memset(b->at + before, 0, b->cap - before);
        b->n = b->cap;
    }
    b->at[byte] = (uint8_t)(b->at[byte] | (1u << (id & 7)));
    return true;
}

static bool has_bit(const bits *b, int64_t id) {
    return id >= 0 && (size_t)(id >> 3) < b->n && ((b->at[id >> 3] >> (id & 7)) & 1) != 0;
}

/* The earliest time of an id stays. */
static bool set_work_span_time(spans *s, times *t, int64_t id, int64_t time_ns) {
    t->n_rows++;
    if ((size_t)id > MAX_VALUES_A_ROW * (t->n_rows + ROWS_BESIDES)) {
        s->unusual = true;
        return false;
    }
    if ((size_t)id >= t->n) {
        size_t before = t->cap;
        if (!ps_grow(&t->at, &t->cap, (size_t)id + 1, MAX_ENTRIES, sizeof *t->at)) {
            return false;
        }
        for (size_t i = before; i < t->cap; i++) {
            t->at[i] = NO_LAUNCH;
        }
        t->n = t->cap;
    }
    if (t->at[id] == NO_LAUNCH || time_ns < t->at[id]) {
        t->at[id] = time_ns;
    }
    return true;
}

static int64_t time_of(const times *t, int64_t id) {
    return id >= 0 && (size_t)id < t->n ? t->at[id] : NO_LAUNCH;
}

/* Out of memory ends a scan; so does what is unusual, which is no failure. */
static ps_code stop_work_span(const spans *s, ps_err *err) {
    return s->unusual ? ps_fail(err, PS_UNSUPPORTED, "ids lie far apart") : ps_fail_nomem(err);
}

static ps_code take_bits(spans *s, bits *to, const ps_scan_batch *b, ps_err *err) {
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        if (id >= 0 && !set_bit(s, to, id)) {
            return stop_work_span(s, err);
        }
    }
    return PS_OK;
}

static ps_code take_kernels(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    return take_bits(s, &s->kernels, b, err);
}

static ps_code take_comm(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    return take_bits(s, &s->comm, b, err);
}

/* --- launches --------------------------------------------------------------------------------------------- */

static ps_code take_work_span_steps(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        step_window x = {ps_cell_int(&b->columns[0], i, INT64_MIN),
                         ps_cell_int(&b->columns[1], i, INT64_MIN)};
        bool after = s->n_steps == 0 || x.start_ns >= s->steps[s->n_steps - 1].end_ns;
        if (x.end_ns <= x.start_ns || !after) {
            s->unusual = true;
            return stop_work_span(s, err);
        }
        if (!PS_ADD(s->steps, s->n_steps, s->cap_steps, MAX_ENTRIES, x)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* The last step that began at or before the time, NO_STEP when all began later. */
static size_t begun_at(const spans *s, int64_t time_ns) {
    PS_PLACE(size_t, low, 0, s->n_steps, i, s->steps[i].start_ns <= time_ns);
    return low > 0 ? low - 1 : NO_STEP;
}

/* The step in which a launch lies. */
static size_t launch_step(const spans *s, int64_t time_ns) {
    size_t k = begun_at(s, time_ns);
    return k != NO_STEP && time_ns < s->steps[k].end_ns ? k : NO_STEP;
}

/* The step of work that nobody launched. */
static size_t running_step(const spans *s, int64_t time_ns) {
    size_t k = begun_at(s, time_ns);
    return k != NO_STEP ? k : 0;
}

static ps_code take_times(spans *s, times *to, const ps_scan_batch *b, ps_err *err) {
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        int64_t start = ps_ascend_cell_time(&b->columns[1], i);
        bool usable = id >= 0 && id != PS_ASCEND_NO_ID && start != PS_ASCEND_NULL;
        if (usable && !set_work_span_time(s, to, id, start)) {
            return stop_work_span(s, err);
        }
    }
    return PS_OK;
}

static ps_code take_work_span_calls(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    return take_times(s, &s->calls, b, err);
}

static ps_code take_work_span_torch(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    return take_times(s, &s->torch, b, err);
}

/* An operator counts before its call; only where that makes a difference it is kept. */
static ps_code take_work_span_connections(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t start = time_of(&s->torch, ps_cell_int(&b->columns[0], i, -1));
        int64_t connection = ps_cell_int(&b->columns[1], i, -1);
        int64_t call = time_of(&s->calls, connection);
        if (start == NO_LAUNCH || connection < 0 ||
            (call != NO_LAUNCH && launch_step(s, call) == launch_step(s, start))) {
            continue;
        }
        uint32_t row = ps_idmap_get(&s->operator_of, (uint64_t)connection);
        if (row != PS_IDMAP_NONE) { /* the innermost is the one that began last */
            s->operators[row] = start > s->operators[row] ? start : s->operators[row];
            continue;
        }
        if (!ps_grow(&s->operators, &s->cap_operators, s->n_operators + 1, UINT32_MAX - 1,
                     sizeof *s->operators) ||
            !ps_idmap_put(&s->operator_of, (uint64_t)connection, (uint32_t)s->n_operators)) {
            return ps_fail_nomem(err);
        }
        s->operators[s->n_operators++] = start;
    }
    return PS_OK;
}

static ps_code scan_if(spans *s, const char *table, const char *const *columns, size_t n,
                       ps_scan_fn *fn, ps_err *err) {
    return ps_db_has_table(s->a->db, table) ? ps_scan(s->a->db, table, columns, n, fn, s, err)
                                            : PS_OK;
}

static ps_code read_launches(spans *s, ps_err *err) {
    ps_code code = scan_if(s, "STEP_TIME", (const char *const[]){"startNs", "endNs"}, 2,
                           take_work_span_steps, err);
    if (code != PS_OK || s->n_steps == 0) {
        return code;
    }
    static const char *const CALL[] = {"connectionId", "startNs"};
    static const char *const CONNECTION[] = {"id", "connectionId"};
    code = scan_if(s, "CANN_API", CALL, 2, take_work_span_calls, err);
    if (code == PS_OK && ps_db_has_table(s->a->db, "CONNECTION_IDS")) {
        code = scan_if(s, "PYTORCH_API", CALL, 2, take_work_span_torch, err);
        code = code == PS_OK
                   ? scan_if(s, "CONNECTION_IDS", CONNECTION, 2, take_work_span_connections, err)
                   : code;
    }
    return code;
}

/* NO_LAUNCH when it is not known, or nobody asks. */
static int64_t work_span_launch_of(const spans *s, int64_t connection) {
    if (s->n_steps == 0 || connection < 0) {
        return NO_LAUNCH;
    }
    uint32_t row = ps_idmap_get(&s->operator_of, (uint64_t)connection);
    return row != PS_IDMAP_NONE ? s->operators[row] : time_of(&s->calls, connection);
}

static size_t work_span_step_of(const spans *s, int64_t launch_ns, int64_t start_ns) {
    return launch_ns != NO_LAUNCH ? launch_step(s, launch_ns) : running_step(s, start_ns);
}

/* Adds the launch of a slice when it is needed to find its step. */
static bool add_launch(spans *s, uint32_t slice, int64_t launch_ns, int64_t start_ns) {
    if (slice == PS_NONE ||
        work_span_step_of(s, launch_ns, start_ns) == running_step(s, start_ns)) {
        return true;
    }
    ps_builder *b = s->a->builder;
    if (s->host == PS_NONE) {
        s->host = ps_builder_track(
            b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = -1, .tid = -1, .device = -1});
    }
    uint32_t from = ps_builder_slice(b, PS_SLICE_CALL, s->host, s->launch, launch_ns, launch_ns, 0);
    if (from != PS_NONE) {
        ps_builder_flow_of(b, from, slice, s->to_device);
    }
    return !ps_builder_failed(b);
}

/* --- work ------------------------------------------------------------------------------------------------- */

static void use_device(spans *s, int64_t device) {
    if (s->track != PS_NONE && s->device == device) {
        return;
    }
    s->many_devices = s->many_devices || (s->track != PS_NONE && s->home != device);
    s->home = device;
    s->device = device;
    s->last = PS_NONE;
    s->track = ps_builder_track(
        s->a->builder, (ps_track){.kind = PS_TRACK_STREAM, .pid = -1, .tid = -1, .device = device});
}

enum { START, END, DEVICE, TASK_ID, CONNECTION, N_COLUMNS };

/* The kernel added last goes on to here: the same device and step, and no pause between them. */
static bool joins_last(const spans *s, size_t step, int64_t start_ns, int64_t end_ns) {
    return s->last != PS_NONE && step == s->last_step && start_ns >= s->last_start_ns &&
           start_ns <= s->last_end_ns && end_ns >= start_ns;
}

/* False when memory is out. */
static bool take_work_span_kernel(spans *s, int64_t start_ns, int64_t end_ns, int64_t connection,
                                  int64_t row) {
    ps_builder *b = s->a->builder;
    int64_t launch_ns = work_span_launch_of(s, connection);
    size_t step = work_span_step_of(s, launch_ns, start_ns);
    if (joins_last(s, step, start_ns, end_ns)) {
        bool longer = end_ns > s->last_end_ns;
        if (!longer || ps_builder_slice_end(b, s->last, end_ns)) {
            s->last_end_ns = longer ? end_ns : s->last_end_ns;
            return true;
        }
    }
    uint32_t slice = ps_ascend_slice(s->a, PS_SLICE_KERNEL, s->track, PS_STR_NONE, PS_STR_NONE,
                                     start_ns, end_ns, "TASK", row);
    if (slice != PS_NONE) {
        s->last = slice;
        s->last_step = step;
        s->last_start_ns = start_ns;
        s->last_end_ns = end_ns;
    }
    return add_launch(s, slice, launch_ns, start_ns) && !ps_builder_failed(b);
}

static ps_code take_work_span_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    spans *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[TASK_ID], i, -1);
        use_device(s, ps_cell_int(&b->columns[DEVICE], i, -1));
        if (!has_bit(&s->kernels, id) || has_bit(&s->comm, id)) {
            continue;
        }
        int64_t connection = s->n_steps > 0 ? ps_cell_int(&b->columns[CONNECTION], i, -1) : -1;
        if (!take_work_span_kernel(s, ps_cell_int(&b->columns[START], i, INT64_MIN),
                                   ps_cell_int(&b->columns[END], i, INT64_MIN), connection,
                                   b->rowids[i])) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static ps_code add_work(spans *s, ps_ascend_ops *ops, ps_err *err) {
    static const char *const COLUMNS[N_COLUMNS] = {"startNs", "endNs", "deviceId", "globalTaskId",
                                                   "connectionId"};
    ps_code code = scan_if(s, "TASK", COLUMNS, s->n_steps > 0 ? N_COLUMNS : N_COLUMNS - 1,
                           take_work_span_tasks, err);
    if (code == PS_OK) {
        code = ps_ascend_ops_add(ops, -1, s->many_devices ? -1 : s->home, err);
    }
    for (size_t i = 0; code == PS_OK && i < s->a->n_ends; i++) {
        const ps_ascend_end *end = &s->a->ends[i];
        int64_t start = ps_builder_slice_start_ns(s->a->builder, end->slice);
        int64_t launch_ns = work_span_launch_of(s, end->connection);
        code = add_launch(s, end->slice, launch_ns, start) ? PS_OK : ps_fail_nomem(err);
    }
    return code;
}

ps_code ps_ascend_spans_read(ps_ascend *a, ps_ascend_ops *ops, bool *done, ps_err *err) {
    static const char *const ID[] = {"globalTaskId"};
    spans s = {.a = a, .track = PS_NONE, .host = PS_NONE, .last = PS_NONE, .home = -1};
    ps_err odd = PS_ERR_INIT;
    s.launch = ps_builder_str(a->builder, "launch", 6);
    s.to_device = ps_builder_str(a->builder, "HostToDevice", 12);
    ps_code code = scan_if(&s, "COMPUTE_TASK_INFO", ID, 1, take_kernels, &odd);
    code = code == PS_OK ? scan_if(&s, "COMMUNICATION_TASK_INFO", ID, 1, take_comm, &odd) : code;
    code = code == PS_OK ? read_launches(&s, &odd) : code;
    *done = !s.unusual;
    if (code == PS_OK) {
        code = add_work(&s, ops, &odd);
    }
    if (s.unusual) {
        code = PS_OK;
    } else if (code != PS_OK && err != NULL) {
        *err = odd;
    }
    ps_free(s.kernels.at);
    ps_free(s.comm.at);
    ps_free(s.calls.at);
    ps_free(s.torch.at);
    ps_free(s.operators);
    ps_free(s.steps);
    ps_idmap_fini(&s.operator_of);
    return code;
}
