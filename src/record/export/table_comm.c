/* Calls of CUDA (CANN_API), and NCCL's kernels with the calls that asked for them.
 *
 * A kernel belongs to the call around the launch with its correlation id, on the same thread. Calls in a group launch at the
 * group's end: then it is the oldest call of that thread that has none yet, by the kernel's kind. Sends and receives of a
 * group share one kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "record/export/calls.h"
#include "record/export/cover.h"
#include "record/export/export_tables.h"

#define STRING(e, text) ps_export_string(e, text, sizeof(text) - 1)

enum { API_RUNTIME = 5000, API_COMMUNICATION = 5500, UINT8_TYPE = 7, INVALID_TYPE = 65535 };

typedef struct comm_op {
    size_t task;
    const ps_comm_call *call; /* NULL: not known which */
    uint32_t api;             /* device row, PS_NO_TEXT none */
    uint64_t bytes;
    int64_t name, type, group; /* strings */
} comm_op;

typedef struct comm_work {
    ps_export *e;
    ps_calls calls;
    uint32_t *covering;
    comm_op *ops;
    size_t n, cap;
} comm_work;

/* --- which call --------------------------------------------------------------------------------------------------- */

static ps_comm_call *call_of_event(ps_export *e, uint32_t event) {
    for (size_t low = 0, high = e->comm.n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (e->comm.at[middle].event == event) {
            return &e->comm.at[middle];
        }
        if (e->comm.at[middle].event < event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static const char *comm_table_name_of(const ps_export *e, const ps_comm_call *call) {
    return ps_capture_text(e->c, ps_capture_events(e->c)->message[call->event], NULL);
}

/* "ncclAllReduce" and "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)". */
static bool fits_comm_table(const ps_export *e, const ps_comm_call *call, const char *kernel) {
    const char *name = comm_table_name_of(e, call);
    if (call->is_send || call->is_receive) {
        return strstr(kernel, "SendRecv") != NULL;
    }
    return strncmp(name, "nccl", 4) == 0 && strstr(kernel, name + 4) != NULL;
}

/* The oldest call without a kernel that fits, before `at_ns`; `tid` 0: of any thread. */
static ps_comm_call *oldest_call(ps_export *e, const char *kernel, uint32_t tid, int64_t at_ns) {
    const ps_events *v = ps_capture_events(e->c);
    for (size_t i = e->first_comm; i < e->comm.n; i++) {
        ps_comm_call *call = &e->comm.at[i];
        if (v->start_ns[call->event] > at_ns) {
            break;
        }
        if (!call->used && (tid == 0 || v->tid[call->event] == tid) &&
            fits_comm_table(e, call, kernel)) {
            return call;
        }
        e->first_comm += call->used && i == e->first_comm;
    }
    return NULL;
}

/* All sends and receives that wait on this thread and communicator were launched together. */
static uint64_t take_group(ps_export *e, const ps_comm_call *first, int64_t at_ns) {
    const ps_events *v = ps_capture_events(e->c);
    uint64_t bytes = 0;
    for (ps_comm_call *call = e->comm.at + (first - e->comm.at);
         call < e->comm.at + e->comm.n && v->start_ns[call->event] <= at_ns; call++) {
        if (!call->used && (call->is_send || call->is_receive) &&
            call->communicator == first->communicator &&
            v->tid[call->event] == v->tid[first->event]) {
            call->used = true;
            bytes += call->bytes;
        }
    }
    return bytes;
}

static void find_call(comm_work *w, comm_op *op, const char *kernel) {
    ps_export *e = w->e;
    const ps_device_rows *d = ps_capture_device(e->c);
    const ps_task *t = &e->tasks[op->task];
    bool known = op->api != PS_NO_TEXT;
    int64_t at_ns = known ? d->start_ns[op->api] : t->start_ns;
    uint32_t around = known ? w->covering[op->api] : PS_NO_TEXT;
    ps_comm_call *call = around != PS_NO_TEXT ? call_of_event(e, around) : NULL;
    if (call != NULL && !call->used) {
        call->used = true;
        op->bytes = call->bytes;
    } else {
        call = oldest_call(e, kernel, known ? d->tid[op->api] : 0, at_ns);
        if (call != NULL && (call->is_send || call->is_receive)) {
            op->bytes = take_group(e, call, at_ns);
        } else if (call != NULL) {
            call->used = true;
            op->bytes = call->bytes;
        }
    }
    op->call = call;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void name_op(comm_work *w, comm_op *op, const char *kernel) {
    ps_export *e = w->e;
    char kind[96];
    char group[32] = "N/A";
    if (op->call != NULL) {
        (void)snprintf(kind, sizeof kind, "%s", comm_table_name_of(e, op->call));
        if (op->call->has_communicator) {
            (void)snprintf(group, sizeof group, "%" PRIx64, op->call->communicator);
        }
    } else {
        const char *at = strchr(kernel, '_');
        at = at != NULL ? at + 1 : kernel;
        (void)snprintf(kind, sizeof kind, "nccl%.*s", (int)strcspn(at, "_(<"), at);
    }
    char text[160];
    int n = snprintf(text, sizeof text, "%s_", kind);
    op->type = ps_export_string(e, text, (size_t)n);
    n = snprintf(text, sizeof text, "%s__%03u_%zu_1", kind, ps_comm_tag(group), w->n - 1);
    op->name = ps_export_string(e, text, (size_t)n);
    op->group = ps_export_string(e, group, strlen(group));
}

static bool find_ops(comm_work *w) {
    ps_export *e = w->e;
    const ps_device_rows *d = ps_capture_device(e->c);
    for (size_t i = 0; i < e->n_tasks; i++) {
        if (e->tasks[i].what != PS_TASK_COMMUNICATION) {
            continue;
        }
        if (!ps_grow(&w->ops, &w->cap, w->n + 1, UINT32_MAX, sizeof *w->ops)) {
            return false;
        }
        uint32_t row = e->tasks[i].row;
        comm_op *op = &w->ops[w->n++];
        *op = (comm_op){.task = i, .api = ps_calls_find(&w->calls, d->correlation[row])};
        const char *kernel = ps_export_kernel_name(e, d->name[row]);
        find_call(w, op, kernel);
        name_op(w, op, kernel);
    }
    return true;
}

static bool prepare_comm_table(comm_work *w) {
    ps_export *e = w->e;
    uint8_t *wanted = ps_calloc(ps_capture_events(e->c)->n + 1, 1);
    for (size_t i = 0; wanted != NULL && i < e->comm.n; i++) {
        wanted[e->comm.at[i].event] = 1;
    }
    bool ok = wanted != NULL && ps_calls_make(&w->calls, ps_capture_device(e->c), PS_REC_API);
    w->covering = ok ? ps_cover_calls(e->c, wanted) : NULL;
    ps_free(wanted);
    return w->covering != NULL && find_ops(w);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static ps_code fill_ops(comm_work *w, ps_err *err) {
    ps_export *e = w->e;
    int64_t none = STRING(e, "N/A");
    ps_code code = ps_database_begin(&e->db, "COMMUNICATION_OP", err);
    for (size_t i = 0; code == PS_OK && i < w->n; i++) {
        const comm_op *op = &w->ops[i];
        const ps_task *t = &e->tasks[op->task];
        int64_t ranks = op->call != NULL && op->call->ranks >= 0 ? op->call->ranks : PS_DB_NONE;
        code = PS_DATABASE_PUT(&e->db, err, op->name, t->start_ns, t->end_ns, t->connection,
                               op->group, (int64_t)i + 1, 0, 0, UINT8_TYPE, none,
                               (int64_t)op->bytes, op->type, t->device, ranks);
    }
    return code;
}

static ps_code fill_op_tasks(comm_work *w, ps_err *err) {
    ps_export *e = w->e;
    int64_t type = STRING(e, "GPU_KERNEL");
    ps_code code = ps_database_begin(&e->db, "COMMUNICATION_TASK_INFO", err);
    for (size_t i = 0; code == PS_OK && i < w->n; i++) {
        const comm_op *op = &w->ops[i];
        const ps_task *t = &e->tasks[op->task];
        int64_t own = op->call != NULL && op->call->rank >= 0 ? op->call->rank : PS_DB_NONE;
        int64_t peer = op->call != NULL && op->call->peer >= 0 ? op->call->peer : PS_DB_NONE;
        int64_t ns = ps_i64_minus(t->end_ns, t->start_ns);
        double per_s = ns > 0 ? (double)op->bytes * 1e9 / (double)ns : 0;
        code = PS_DATABASE_PUT(&e->db, err, op->name, (int64_t)op->task, type, 0, op->group,
                               INT64_MAX, INVALID_TYPE, own, peer, INVALID_TYPE, (int64_t)op->bytes,
                               UINT8_TYPE, INVALID_TYPE, (int64_t)i + 1, 1,
                               per_s < 9e18 ? (int64_t)per_s : INT64_MAX);
    }
    return code;
}

static ps_code put_api(ps_export *e, int64_t start_ns, int64_t end_ns, int64_t type, uint32_t tid,
                       int64_t connection, int64_t name, ps_err *err) {
    return PS_DATABASE_PUT(&e->db, err, start_ns, end_ns, type, ps_export_tid(e, tid), connection,
                           name);
}

/* Calls that launched a kernel of NCCL have the operator's name; one that was not recorded is the call of NCCL itself. */
static ps_code fill_comm_table_api(comm_work *w, ps_err *err) {
    ps_export *e = w->e;
    const ps_device_rows *d = ps_capture_device(e->c);
    const ps_events *v = ps_capture_events(e->c);
    int64_t none = STRING(e, "N/A");
    uint32_t *op_of = ps_calloc(d->n + 1, sizeof *op_of); /* + 1 */
    ps_code code = op_of != NULL ? ps_database_begin(&e->db, "CANN_API", err) : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < w->n; i++) {
        const comm_op *op = &w->ops[i];
        if (op->api != PS_NO_TEXT) {
            op_of[op->api] = (uint32_t)i + 1;
        } else if (op->call != NULL) {
            uint32_t event = op->call->event;
            code = put_api(e, v->start_ns[event], v->end_ns[event], API_COMMUNICATION,
                           v->tid[event], e->tasks[op->task].connection, op->type, err);
        }
    }
    for (size_t i = 0; code == PS_OK && i < d->n; i++) {
        if (d->kind[i] != PS_REC_API || ps_calls_find(&w->calls, d->correlation[i]) != i) {
            continue; /* one call each */
        }
        int64_t name = d->name[i] != PS_NO_TEXT ? ps_export_text(e, d->name[i]) : none;
        bool nccl = op_of[i] != 0;
        code = put_api(e, d->start_ns[i], d->end_ns[i], nccl ? API_COMMUNICATION : API_RUNTIME,
                       d->tid[i], ps_export_correlation(d->correlation[i]),
                       nccl ? w->ops[op_of[i] - 1].type : name, err);
    }
    ps_free(op_of);
    return code;
}

ps_code ps_fill_communication(ps_export *e, ps_err *err) {
    comm_work w = {.e = e};
    ps_code code = prepare_comm_table(&w) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        code = fill_ops(&w, err);
    }
    if (code == PS_OK) {
        code = fill_op_tasks(&w, err);
    }
    if (code == PS_OK) {
        code = fill_comm_table_api(&w, err);
    }
    ps_calls_free(&w.calls);
    ps_free(w.covering);
    ps_free(w.ops);
    return code;
}
