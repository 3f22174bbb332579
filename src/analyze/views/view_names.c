/* Summaries by name: what the host called, what the device ran, what communicated. Of each slice what lies in the span. */
#include <string.h>

#include "analyze/rank/kernel_facts.h"
#include "analyze/views/view.h"
#include "analyze/views/view_sums.h"
#include "base/alloc.h"

#define KIND(kind) (1u << (kind))

/* Where a key comes from. */
typedef enum key_of {
    KEY_NONE,
    KEY_NAME,
    KEY_CATEGORY,
    KEY_TYPE,
    KEY_CORE,
    KEY_SHAPES,
    KEY_GROUP
} key_of;

typedef struct sums_spec {
    const ps_view *view;
    uint32_t kinds; /* 0: communication */
    bool on_streams;
    key_of keys[PS_VIEW_KEYS];
    const char *key_names[PS_VIEW_KEYS];
    size_t n_keys;
    const char *const *missing; /* [languages]: what to say when there is nothing */
} sums_spec;

typedef struct adder {
    const ps_view_input *in;
    const sums_spec *what;
    const ps_slices *s;
    const ps_track *tracks;
    ps_kernel_source kernels; /* with links */
    ps_str op_type, group;
    ps_view_sums sums;
} adder;

static ps_str text_arg(const ps_trace *t, uint32_t slice, ps_str key) {
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(t, slice);
         !ps_str_is_none(key) && ps_arg_next(&it, &arg);) {
        bool is_text = arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER;
        if (is_text && ps_str_eq(arg.key, key)) {
            return arg.u.s;
        }
    }
    return PS_STR_NONE;
}

/* Of a communicator the name of its lane; kernels of a library say it as an argument. */
static ps_str name_group_of(const adder *a, uint32_t slice) {
    const ps_track *track = &a->tracks[a->s->track[slice]];
    if (track->kind == PS_TRACK_COMM_GROUP) {
        return ps_str_is_none(track->label) ? track->name : track->label;
    }
    return text_arg(a->in->trace, slice, a->group);
}

static ps_str comm_type_of(const adder *a, uint32_t slice) {
    ps_str type = text_arg(a->in->trace, slice, a->op_type);
    return ps_str_is_none(type) ? a->s->name[slice] : type;
}

static bool add_name_slice(adder *a, uint32_t i, bool is_comm) {
    ps_kernel_facts k = {0};
    ps_str keys[PS_VIEW_KEYS] = {{0}};
    bool reads = false;
    for (size_t n = 0; n < a->what->n_keys; n++) {
        key_of key = a->what->keys[n];
        if (key >= KEY_TYPE && key <= KEY_SHAPES && !is_comm && !reads) {
            ps_kernel_facts_read(&a->kernels, i, &k);
            reads = true;
        }
        keys[n] = key == KEY_NAME              ? a->s->name[i]
                  : key == KEY_CATEGORY        ? a->s->category[i]
                  : key == KEY_TYPE && is_comm ? comm_type_of(a, i)
                  : key == KEY_TYPE            ? k.type
                  : key == KEY_CORE            ? k.core
                  : key == KEY_SHAPES          ? k.shapes
                  : key == KEY_GROUP           ? name_group_of(a, i)
                                               : PS_STR_NONE;
    }
    int64_t start = a->s->start_ns[i];
    int64_t inside = ps_view_inside_ns(a->in, start, start + a->s->dur_ns[i]);
    return ps_view_sums_add(&a->sums, keys, inside) != NULL;
}

static bool add_all(adder *a) {
    bool is_comm = a->what->kinds == 0;
    uint32_t kinds = is_comm ? KIND(ps_communication_kind(a->s)) : a->what->kinds;
    bool ok = true;
    for (uint32_t i = 0; ok && i < a->s->n && a->s->start_ns[i] < a->in->to_ns; i++) {
        bool wanted = (kinds & KIND(a->s->kind[i])) != 0 &&
                      (!a->what->on_streams || a->tracks[a->s->track[i]].kind == PS_TRACK_STREAM) &&
                      ps_view_touches(a->in, a->s->start_ns[i], a->s->dur_ns[i]);
        ok = !wanted || add_name_slice(a, i, is_comm);
    }
    return ok;
}

static ps_table *make_sums(const ps_view_input *in, const sums_spec *what, ps_err *err) {
    size_t n_tracks = 0;
    adder a = {.in = in,
               .what = what,
               .s = ps_trace_slices(in->trace),
               .tracks = ps_trace_tracks(in->trace, &n_tracks),
               .group = ps_trace_find_text(in->trace, "Process Group Description")};
    a.op_type = ps_trace_find_text(in->trace, "opType");
    if (ps_str_is_none(a.op_type)) {
        a.op_type = ps_trace_find_text(in->trace, "Type");
    }
    if (ps_str_is_none(a.op_type)) {
        a.op_type = ps_trace_find_text(in->trace, "Collective name");
    }
    bool ok = (in->links == NULL || ps_kernel_source_init(&a.kernels, in->links)) && add_all(&a);
    ps_table *t = NULL;
    if (!ok) {
        (void)ps_fail_nomem(err);
    } else if (a.sums.n == 0) {
        (void)ps_fail(err, PS_NOTHING, "%s", what->missing[in->lang]);
    } else {
        t = ps_view_sums_table(&a.sums, in->trace, what->view->name, what->view->title,
                               what->key_names, what->n_keys, 0, err);
    }
    if (in->links != NULL) {
        ps_kernel_source_fini(&a.kernels);
    }
    ps_view_sums_fini(&a.sums);
    return t;
}

/* --- the views ------------------------------------------------------------------------------------------------------- */

/* What is not there: what to say of it in each language. */
typedef const char *saying[PS_N_LANGS];
static const saying NO_HOST = {
    "no operators of a framework in this span: record the activity of the CPU "
    "(ProfilerActivity.CPU; pipescope.record_ops())",
    "该时间段内没有框架算子：请采集 CPU 活动（ProfilerActivity.CPU；pipescope.record_ops()）"};
static const saying NO_PYTHON = {
    "no Python frames in this span: record them (with_stack=True or with_modules=True; nsys "
    "profile --python-sampling=true)",
    "该时间段内没有 Python 调用栈：请在采集时打开（with_stack=True 或 with_modules=True；nsys "
    "profile --python-sampling=true）"};
static const saying NO_CALLS = {
    "no calls into the driver in this span: record them (Ascend profiler_level Level1, "
    "ProfilerActivity.CUDA, nsys profile -t cuda, pipescope record --backend cupti --level 1)",
    "该时间段内没有驱动调用：请采集（Ascend profiler_level Level1、ProfilerActivity.CUDA、nsys "
    "profile -t cuda、pipescope record --backend cupti --level 1）"};
static const saying NO_DEVICE = {
    "nothing ran on a device in this span: record its activity (ProfilerActivity.NPU or CUDA; "
    "pipescope record --backend cupti)",
    "该时间段内设备上没有任何执行：请采集设备活动（ProfilerActivity.NPU 或 CUDA；pipescope record "
    "--backend cupti）"};
static const saying NO_KERNELS = {PS_VIEW_NO_KERNELS(PS_ENGLISH), PS_VIEW_NO_KERNELS(PS_CHINESE)};
static const saying NO_COMM = {PS_VIEW_NO_COMM(PS_ENGLISH), PS_VIEW_NO_COMM(PS_CHINESE)};

/* One view: its symbol, name, title, tab, what it uses, and the rest of its sums_spec. */
#define SUMS(symbol, text, heading, page, needs, ...)                                              \
    static ps_table *make_##symbol(const ps_view_input *in, ps_err *err) {                         \
        static const sums_spec SPEC = {.view = &ps_view_##symbol, __VA_ARGS__};                    \
        return make_sums(in, &SPEC, err);                                                          \
    }                                                                                              \
    const ps_view ps_view_##symbol = {                                                             \
        .name = text, .title = heading, .tab = page, .uses = needs, .make = make_##symbol};
#define KEYS1(key, text) .keys = {key}, .key_names = {text}, .n_keys = 1
#define KEYS2(key, text, key2, text2) .keys = {key, key2}, .key_names = {text, text2}, .n_keys = 2
#define KEYS3(key, text, key2, text2, key3, text3)                                                 \
    .keys = {key, key2, key3}, .key_names = {text, text2, text3}, .n_keys = 3

#define FRAMEWORK (KIND(PS_SLICE_HOST_OP) | KIND(PS_SLICE_ANNOTATION) | KIND(PS_SLICE_QUEUE))
#define DEVICE                                                                                     \
    (KIND(PS_SLICE_KERNEL) | KIND(PS_SLICE_COMM_KERNEL) | KIND(PS_SLICE_COPY) |                    \
     KIND(PS_SLICE_SYNC) | KIND(PS_SLICE_TASK) | KIND(PS_SLICE_JOB))
#define COMPUTES (KIND(PS_SLICE_KERNEL) | KIND(PS_SLICE_JOB))

SUMS(framework_sum, "framework_sum", "Framework operators", PS_TAB_TIMELINE, 0, .kinds = FRAMEWORK,
     KEYS2(KEY_NAME, "name", KEY_CATEGORY, "category"), .missing = NO_HOST)
SUMS(python_sum, "python_sum", "Python functions", PS_TAB_TIMELINE, 0,
     .kinds = KIND(PS_SLICE_PYTHON), KEYS1(KEY_NAME, "name"), .missing = NO_PYTHON)
SUMS(call_sum, "call_sum", "Driver and runtime calls", PS_TAB_TIMELINE, 0,
     .kinds = KIND(PS_SLICE_CALL), KEYS2(KEY_NAME, "name", KEY_CATEGORY, "category"),
     .missing = NO_CALLS)
SUMS(device_sum, "device_sum", "Device tasks", PS_TAB_TIMELINE, 0, .kinds = DEVICE,
     .on_streams = true, KEYS2(KEY_NAME, "name", KEY_CATEGORY, "category"), .missing = NO_DEVICE)
SUMS(communication_sum, "communication_sum", "Communication operators", PS_TAB_TIMELINE, 0,
     KEYS2(KEY_NAME, "name", KEY_GROUP, "group"), .missing = NO_COMM)

SUMS(operator_types, "operator_types", "Computing operators by type", PS_TAB_OPERATOR,
     PS_VIEW_LINKS, .kinds = COMPUTES, KEYS2(KEY_TYPE, "type", KEY_CORE, "core"),
     .missing = NO_KERNELS)
SUMS(operator_names, "operator_names", "Computing operators by name", PS_TAB_OPERATOR,
     PS_VIEW_LINKS, .kinds = COMPUTES, KEYS3(KEY_NAME, "name", KEY_TYPE, "type", KEY_CORE, "core"),
     .missing = NO_KERNELS)
SUMS(operator_shapes, "operator_shapes", "Computing operators by name and input shapes",
     PS_TAB_OPERATOR, PS_VIEW_LINKS, .kinds = COMPUTES,
     KEYS3(KEY_NAME, "name", KEY_SHAPES, "shapes", KEY_CORE, "core"), .missing = NO_KERNELS)
SUMS(operator_cores, "operator_cores", "Computing by accelerator core", PS_TAB_OPERATOR,
     PS_VIEW_LINKS, .kinds = COMPUTES, KEYS1(KEY_CORE, "core"), .missing = NO_KERNELS)
SUMS(communication_names, "communication_names", "Communication operators", PS_TAB_OPERATOR, 0,
     KEYS3(KEY_NAME, "name", KEY_TYPE, "type", KEY_GROUP, "group"), .missing = NO_COMM)
SUMS(communication_types, "communication_types", "Communication operators by type", PS_TAB_OPERATOR,
     0, KEYS1(KEY_TYPE, "type"), .missing = NO_COMM)
