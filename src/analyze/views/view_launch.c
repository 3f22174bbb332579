/* kernel_launch: how each kernel came to the device, from the operator of the framework to its end.
 *
 *   operator |=====op======================|
 *   enqueue        |=|                                  through a task queue (Ascend); without one the call lies in the op
 *   queue wait       .....|
 *   dequeue               |======|
 *   launch                   |==|                       the call into the driver
 *   device wait                  ........|
 *   kernel                               |=====|
 *   total    ----------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

/* PS_NONE, unknown: there is no such station. */
typedef struct launch_row {
    uint32_t slice, op_slice;
    const char *name, *op, *path, *status, *note;
    int64_t start_ns, dur_ns, before_ns, enqueue_ns, queue_wait_ns, dequeue_ns, launch_ns,
        device_wait_ns, total_ns;
} launch_row;

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(launch_row, member), .unit = PS_UNIT_NS }
static const ps_column COLUMNS[] = {
    {.name = "slice", PS_FIELD(launch_row, slice)},
    {.name = "name", PS_FIELD(launch_row, name)},
    NS("start", start_ns),
    NS("duration", dur_ns),
    {.name = "operator", PS_FIELD(launch_row, op)},
    {.name = "operator slice", PS_FIELD(launch_row, op_slice)},
    NS("before launch", before_ns),
    NS("enqueue", enqueue_ns),
    NS("queue wait", queue_wait_ns),
    NS("dequeue", dequeue_ns),
    NS("launch", launch_ns),
    NS("device wait", device_wait_ns),
    NS("total", total_ns),
    {.name = "path", PS_FIELD(launch_row, path)},
    {.name = "status", PS_FIELD(launch_row, status)},
    {.name = "note", PS_FIELD(launch_row, note)},
};

typedef struct launches {
    const ps_trace *trace;
    const ps_links *links;
    const ps_slices *s;
    const ps_track *tracks;
    ps_idmap enqueue_of; /* dequeue -> enqueue */
    uint32_t *dequeues;  /* by thread, then start */
    size_t n_dequeues, cap_dequeues;
    bool has_calls, has_ops; /* at all in the capture */
    ps_lang lang;
    ps_slice_list list;
} launches;

static void free_launches(void *context) {
    launches *l = context;
    if (l != NULL) {
        ps_idmap_fini(&l->enqueue_of);
        ps_free(l->dequeues);
        ps_free(l->list.at);
        ps_free(l);
    }
}

static int64_t launch_end_of(const launches *l, uint32_t slice) {
    return l->s->start_ns[slice] + l->s->dur_ns[slice];
}

/* The stations of one kernel; PS_NONE where there is none. */
typedef struct stations {
    uint32_t op, enqueue, dequeue, call;
} stations;

/* The innermost slice of that kind at or around `at`. */
static uint32_t around(const launches *l, uint32_t at, ps_slice_kind kind) {
    while (at != PS_NONE && l->s->kind[at] != kind) {
        at = l->links->parent[at];
    }
    return at;
}

static int64_t launch_thread_of(const launches *l, uint32_t slice) {
    return l->tracks[l->s->track[slice]].tid;
}

static int compare_dequeues(const launches *l, uint32_t slice, int64_t thread, int64_t start_ns) {
    int64_t own = launch_thread_of(l, slice);
    if (own != thread) {
        return own < thread ? -1 : 1;
    }
    return l->s->start_ns[slice] < start_ns ? -1 : l->s->start_ns[slice] > start_ns;
}

static int by_thread(const void *a, const void *b, void *context) {
    const launches *l = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = compare_dequeues(l, x, launch_thread_of(l, y), l->s->start_ns[y]);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* Text captures show calls of the driver in a process of their own: the thread and the time lead to the dequeue. */
static uint32_t dequeue_at(const launches *l, uint32_t call) {
    PS_PLACE(size_t, low, 0, l->n_dequeues, middle,
             compare_dequeues(l, l->dequeues[middle], launch_thread_of(l, call),
                              l->s->start_ns[call]) <= 0)
    uint32_t found = low > 0 ? l->dequeues[low - 1] : PS_NONE;
    bool holds = found != PS_NONE && launch_thread_of(l, found) == launch_thread_of(l, call) &&
                 launch_end_of(l, found) >= launch_end_of(l, call);
    return holds ? found : PS_NONE;
}

static stations find_stations(const launches *l, uint32_t kernel) {
    uint32_t op = l->links->op[kernel];
    uint32_t call = l->links->call[kernel];
    stations st = {.op = op, .enqueue = PS_NONE, .dequeue = PS_NONE, .call = PS_NONE};
    if (call != PS_NONE && l->s->kind[call] == PS_SLICE_CALL) {
        st.call = call;
    }
    st.dequeue = call != PS_NONE ? around(l, call, PS_SLICE_QUEUE) : PS_NONE;
    /* On Ascend the operator that a flow names may itself stand on the thread that takes from the queue. */
    if (st.dequeue == PS_NONE && op != PS_NONE) {
        st.dequeue = around(l, op, PS_SLICE_QUEUE);
    }
    if (st.dequeue == PS_NONE && st.call != PS_NONE) {
        st.dequeue = dequeue_at(l, st.call);
    }
    if (st.dequeue != PS_NONE) {
        uint32_t from = ps_idmap_get(&l->enqueue_of, st.dequeue);
        st.enqueue = from == PS_IDMAP_NONE ? PS_NONE : from;
    }
    if (st.enqueue != PS_NONE) {
        uint32_t behind = around(l, st.enqueue, PS_SLICE_HOST_OP);
        st.op = behind != PS_NONE ? behind : st.op;
    }
    return st;
}

/* "aten::linear": one name in one namespace. Nodes of the engine stand in namespaces of namespaces. */
static bool is_library_op(const char *name) {
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && name[n] == ':' && name[n + 1] == ':' && strstr(name + n + 2, "::") == NULL;
}

/* What the program called: the outermost operator around it that a library defines ("aten::linear"). Modules and nodes of
 * the engine are no such; where there is nothing else the operator itself stands. */
static uint32_t outermost(const launches *l, uint32_t op) {
    uint32_t found = op;
    for (uint32_t at = op; at != PS_NONE; at = l->links->parent[at]) {
        const char *name = ps_trace_text(l->trace, l->s->name[at]);
        bool is_op = l->s->kind[at] == PS_SLICE_HOST_OP && is_library_op(name);
        found = is_op ? at : found;
    }
    return found;
}

/* From the start of one slice, or its end, to a time; unknown when either is not there. */
static int64_t launch_span(int64_t from_ns, int64_t to_ns) {
    bool is_known = from_ns != PS_UNKNOWN_INT && to_ns != PS_UNKNOWN_INT && to_ns >= from_ns;
    return is_known ? to_ns - from_ns : PS_UNKNOWN_INT;
}

static int64_t launch_start_or_unknown(const launches *l, uint32_t slice) {
    return slice != PS_NONE ? l->s->start_ns[slice] : PS_UNKNOWN_INT;
}

static int64_t launch_end_or_unknown(const launches *l, uint32_t slice) {
    return slice != PS_NONE ? launch_end_of(l, slice) : PS_UNKNOWN_INT;
}

static int64_t launch_duration_or_unknown(const launches *l, uint32_t slice) {
    return slice != PS_NONE ? l->s->dur_ns[slice] : PS_UNKNOWN_INT;
}

static const char *launch_path_of(const launches *l, const stations *st, uint32_t kernel) {
    const char *call = st->call != PS_NONE ? ps_trace_text(l->trace, l->s->name[st->call]) : "";
    const char *dequeue =
        st->dequeue != PS_NONE ? ps_trace_text(l->trace, l->s->name[st->dequeue]) : "";
    const char *name = ps_trace_text(l->trace, l->s->name[kernel]);
    if (strncmp(call, "cu", 2) == 0) {
        bool graph =
            strncmp(call, "cudaGraphLaunch", 15) == 0 || strncmp(call, "cuGraphLaunch", 13) == 0;
        return graph ? "cuda graph" : "cuda";
    }
    if (strncmp(call, "hip", 3) == 0) {
        return "hip";
    }
    if (strncmp(dequeue, "Dequeue@aclnn", 13) == 0 || strncmp(name, "aclnn", 5) == 0) {
        return "aclnn";
    }
    return st->call != PS_NONE || st->dequeue != PS_NONE ? "aclop" : NULL;
}

/* What a capture has nowhere is missing from no kernel in particular. */
static const char *note_of(ps_lang lang, const launches *l, const stations *st) {
    if (st->op == PS_NONE && st->call == PS_NONE && st->dequeue == PS_NONE) {
        return PS_SAY(lang,
                      "nothing in the capture launched it: it began before, or flows are missing",
                      "采集数据中没有其下发者：它开始得更早，或缺少关联");
    }
    if (st->call == PS_NONE && l->has_calls) {
        return PS_SAY(lang, "no call into the driver leads to it", "没有通向它的驱动调用");
    }
    if (st->op == PS_NONE && l->has_ops) {
        return PS_SAY(lang, "no operator of the framework around its launch",
                      "其下发之外没有框架算子");
    }
    return st->dequeue != PS_NONE && st->enqueue == PS_NONE
               ? PS_SAY(lang, "the enqueue behind its dequeue is not in the capture",
                        "其 dequeue 对应的 enqueue 不在采集数据中")
               : NULL;
}

static bool runs_on_aicpu(const launches *l, uint32_t kernel) {
    const char *core = ps_trace_arg_text(l->trace, kernel, "taskType");
    core = core != NULL ? core : ps_trace_arg_text(l->trace, kernel, "Accelerator Core");
    return ps_core_is_aicpu(core);
}

static void fill_launch(const void *context, size_t at, void *out) {
    const launches *l = context;
    uint32_t kernel = l->list.at[at];
    stations st = find_stations(l, kernel);
    uint32_t top = st.op != PS_NONE ? outermost(l, st.op) : PS_NONE;
    uint32_t handed = st.enqueue != PS_NONE   ? st.enqueue
                      : st.dequeue != PS_NONE ? st.dequeue
                                              : st.call;
    int64_t begun_ns = launch_start_or_unknown(l, top);
    int64_t handed_ns = launch_start_or_unknown(l, handed);
    const char *note = note_of(l->lang, l, &st);
    bool is_aicpu = runs_on_aicpu(l, kernel);
    launch_row *row = out;
    *row = (launch_row){
        .slice = kernel,
        .name = ps_text_or_null(ps_trace_text(l->trace, l->s->name[kernel])),
        .start_ns = l->s->start_ns[kernel],
        .dur_ns = l->s->dur_ns[kernel],
        .op = top != PS_NONE ? ps_text_or_null(ps_trace_text(l->trace, l->s->name[top])) : NULL,
        .op_slice = top,
        .before_ns = launch_span(begun_ns, handed_ns),
        .enqueue_ns = launch_duration_or_unknown(l, st.enqueue),
        .queue_wait_ns = launch_span(launch_end_or_unknown(l, st.enqueue),
                                     launch_start_or_unknown(l, st.dequeue)),
        .dequeue_ns = launch_duration_or_unknown(l, st.dequeue),
        .launch_ns = launch_duration_or_unknown(l, st.call),
        .device_wait_ns = launch_span(launch_end_or_unknown(l, st.call), l->s->start_ns[kernel]),
        .total_ns = launch_span(top != PS_NONE ? begun_ns : handed_ns, launch_end_of(l, kernel)),
        .path = launch_path_of(l, &st, kernel),
        .status = note != NULL ? "incomplete"
                  : is_aicpu   ? "fallback"
                               : "normal",
        .note = note != NULL ? note
                : is_aicpu   ? PS_SAY(l->lang, "runs on the AI CPU", "在 AI CPU 上运行")
                             : NULL,
    };
}

static bool take_queues(launches *l) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(l->trace, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        bool queues = l->s->kind[flows[i].from] == PS_SLICE_QUEUE &&
                      l->s->kind[flows[i].to] == PS_SLICE_QUEUE;
        if (!queues || ps_idmap_get(&l->enqueue_of, flows[i].to) != PS_IDMAP_NONE) {
            continue;
        }
        ok = ps_idmap_put(&l->enqueue_of, flows[i].to, flows[i].from) &&
             ps_grow(&l->dequeues, &l->cap_dequeues, l->n_dequeues + 1, UINT32_MAX,
                     sizeof *l->dequeues);
        if (ok) {
            l->dequeues[l->n_dequeues++] = flows[i].to;
        }
    }
    if (l->n_dequeues > 1) {
        qsort_r(l->dequeues, l->n_dequeues, sizeof *l->dequeues, by_thread, l);
    }
    return ok;
}

static bool take_kernels(launches *l, const ps_view_input *in) {
    bool ok = true;
    for (uint32_t i = 0; i < l->s->n && (!l->has_calls || !l->has_ops); i++) {
        l->has_calls = l->has_calls || l->s->kind[i] == PS_SLICE_CALL;
        l->has_ops = l->has_ops || l->s->kind[i] == PS_SLICE_HOST_OP;
    }
    for (uint32_t i = 0; ok && i < l->s->n && l->s->start_ns[i] < in->to_ns; i++) {
        bool wanted = (l->s->kind[i] == PS_SLICE_KERNEL || l->s->kind[i] == PS_SLICE_COMM_KERNEL) &&
                      ps_view_touches(in, l->s->start_ns[i], l->s->dur_ns[i]);
        ok = !wanted || ps_slice_list_add(&l->list, i);
    }
    return ok;
}

static ps_table *make_kernel_launch(const ps_view_input *in, ps_err *err) {
    launches *l = ps_calloc(1, sizeof *l);
    bool ok = l != NULL;
    if (ok) {
        size_t n_tracks = 0;
        l->lang = in->lang;
        l->trace = in->trace;
        l->tracks = ps_trace_tracks(in->trace, &n_tracks);
        l->links = in->links;
        l->s = ps_trace_slices(in->trace);
        ps_idmap_init(&l->enqueue_of);
        ok = take_queues(l) && take_kernels(l, in);
    }
    if (!ok || l->list.n == 0) {
        free_launches(l);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", PS_VIEW_NO_KERNELS(in->lang))
                  : ps_fail_nomem(err));
        return NULL;
    }
    ps_table *t = ps_table_new_made("kernel_launch", "kernels from the operator to their end",
                                    PS_COLUMNS(COLUMNS), l->list.n,
                                    (ps_row_maker){.fill = fill_launch,
                                                   .row_size = sizeof(launch_row),
                                                   .context = l,
                                                   .free_context = free_launches});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

const ps_view ps_view_kernel_launch = {.name = "kernel_launch",
                                       .title = "Kernels end to end",
                                       .tab = PS_TAB_TIMELINE,
                                       .uses = PS_VIEW_LINKS | PS_VIEW_ROWS | PS_VIEW_SAYS,
                                       .make = make_kernel_launch};
