/* Slices come by start, longer first, and parents before what lies in them: what a slice means with all that is around it
 * follows from its own name and its parent. The moments of a thread come from a stack of the slices that are open. */
#include "analyze/rank/host_activity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/host_activity_copies.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/text.h"
#include "model/comm_marks.h"
#include "schedule/action.h"

#define MAX_MOMENTS ((size_t)1 << 33)

static const uint8_t TIERS[PS_N_ACTIVITIES] = {
#define X(id, tier, ...) [id] = (tier),
    PS_ACTIVITIES(X)
#undef X
};

int ps_activity_tier(ps_activity activity) {
    return TIERS[activity];
}

const char *ps_activity_text(ps_lang lang, ps_activity activity) {
    static const char *const TEXTS[PS_N_ACTIVITIES][PS_N_LANGS] = {
#define X(id, tier, english, chinese) [id] = {english, chinese},
        PS_ACTIVITIES(X)
#undef X
    };
    return TEXTS[activity][lang];
}

/* --- names -------------------------------------------------------------------------------------------- */

#define IS_ONE_OF(text, n, list) activity_is_one_of(text, n, list, sizeof(list) / sizeof *(list))

static bool activity_is_one_of(const char *text, size_t n, const char *const *list, size_t n_list) {
    for (size_t i = 0; i < n_list; i++) {
        if (strlen(list[i]) == n && memcmp(text, list[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static bool ends(const char *text, size_t n, const char *with) {
    size_t m = strlen(with);
    return n >= m && memcmp(text + n - m, with, m) == 0;
}

#define ASCENDCL "AscendCL@"

const char *ps_call_name(const char *name) {
    return ps_begins_with(name, ASCENDCL) ? name + sizeof ASCENDCL - 1 : name;
}

/* What host_activity.def lists; NONE. */
static ps_activity listed_activity(const char *name, size_t n) {
    static const struct {
        ps_activity activity;
        const char *name;
    } LISTED[] = {
#define X(activity_, name_) {PS_ACTIVITY_##activity_, name_},
#define AROUND(call_, inner_)
#define INSIDE(activity_, name_, around_)
#define BEHIND(activity_, name_)
#include "analyze/rank/host_activity.def"
#undef X
#undef AROUND
#undef INSIDE
#undef BEHIND
    };
    for (size_t i = 0; i < sizeof LISTED / sizeof *LISTED; i++) {
        if (strlen(LISTED[i].name) == n && memcmp(LISTED[i].name, name, n) == 0) {
            return LISTED[i].activity;
        }
    }
    return PS_ACTIVITY_NONE;
}

/* A function of a driver, without what its writer puts before and behind it: "AscendCL@aclrtMemcpy", "cudaMemcpy_v3020",
 * "cuMemcpyHtoD_v2", "cudaLaunchKernel_ptsz_v7000". */
static ps_activity activity_of_call(const char *name) {
    static const char *const COPIES[] = {"aclrtMemcpy",
                                         "aclrtMemcpy2d",
                                         "cudaMemcpy",
                                         "cudaMemcpy2D",
                                         "cudaMemcpy3D",
                                         "cudaMemcpyPeer",
                                         "cudaMemcpyArrayToArray",
                                         "cudaMemcpyToSymbol",
                                         "cudaMemcpyFromSymbol",
                                         "cuMemcpy",
                                         "cuMemcpyHtoD",
                                         "cuMemcpyDtoH",
                                         "cuMemcpyDtoD",
                                         "cuMemcpy2D",
                                         "cuMemcpy3D",
                                         "cuMemcpyPeer",
                                         "hipMemcpy",
                                         "hipMemcpyHtoD",
                                         "hipMemcpyDtoH",
                                         "hipMemcpyDtoD",
                                         "hipMemcpyWithStream"};
    static const char *const SYNCS[] = {
        "aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout",
        "aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout",
        "aclrtSynchronizeEvent",  "aclrtSynchronizeEventWithTimeout",
        "cudaDeviceSynchronize",  "cudaStreamSynchronize",
        "cudaEventSynchronize",   "cudaThreadSynchronize",
        "cuStreamSynchronize",    "cuCtxSynchronize",
        "cuEventSynchronize",     "hipDeviceSynchronize",
        "hipStreamSynchronize",   "hipEventSynchronize"};
    name = ps_call_name(name);
    size_t n = strlen(name);
    ps_activity listed = listed_activity(name, n);
    if (listed != PS_ACTIVITY_NONE) {
        return listed;
    }
    size_t digits = n;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        digits--;
    }
    n = digits < n && ends(name, digits, "_v") ? digits - 2 : n;
    n -= ends(name, n, "_ptsz") || ends(name, n, "_ptds") ? 5 : 0;
    return IS_ONE_OF(name, n, COPIES)  ? PS_ACTIVITY_COPY
           : IS_ONE_OF(name, n, SYNCS) ? PS_ACTIVITY_SYNC
                                       : PS_ACTIVITY_CALL;
}

/* "PP:2RECV_F1" of torch.distributed.pipelining, "nccl:recv 0<-1" of its process group, functions of Megatron, a
 * communication mark. */
static bool is_receive(const char *name) {
    static const char *const NAMES[] = {"recv_forward",          "recv_backward", "forward-recv",
                                        "backward-recv",         "nccl:recv",     "c10d::recv_",
                                        "c10d::recv_any_source_"};
    size_t n = strcspn(name, " ");
    ps_action action;
    if (ps_begins_with(name, "PP:")) {
        return ps_action_parse(name + 3, strlen(name + 3), &action) && action.n_parts == 1 &&
               ps_action_op(action.parts[0].kind) == PS_OP_RECV;
    }
    if (!ps_comm_marks_may_be(name)) {
        return IS_ONE_OF(name, n, NAMES);
    }
    ps_comm_marks marks;
    ps_comm_mark mark = {.is_receive = false};
    static const ps_str FIRST = {1};
    bool said = ps_comm_marks_init(&marks) &&
                ps_comm_marks_read(&marks, FIRST, name, &mark) == PS_COMM_OK && mark.is_receive;
    ps_comm_marks_fini(&marks);
    return said;
}

bool ps_is_optimizer_step(const char *name) {
    return ps_begins_with(name, "Optimizer.step#");
}

/* Operators, and ranges that frameworks and programs name. */
static ps_activity activity_of_range(const char *name) {
    static const char *const READS[] = {"aten::item", "aten::_local_scalar_dense", "aten::nonzero",
                                        "aten::is_nonzero"};
    static const char *const SAVES[] = {"save_checkpoint", "save-checkpoint", "torch.save"};
    static const char *const EVALUATES[] = {"evaluate", "evaluation", "validation"};
    static const char *const LOGS[] = {"logging", "training_log"};
    size_t n = strlen(name);
    if (ps_begins_with(name, "Python GC") || strcmp(name, "GC") == 0) {
        return PS_ACTIVITY_GC;
    }
    if ((ps_begins_with(name, "enumerate(DataLoader)#") && ends(name, n, ".__next__")) ||
        (ps_begins_with(name, "[pl][profile][") &&
         (ends(name, n, "].train_dataloader_next") || ends(name, n, "].val_next")))) {
        return PS_ACTIVITY_DATA;
    }
    if (ps_is_optimizer_step(name) || ps_begins_with(name, "Optimizer.zero_grad#")) {
        return PS_ACTIVITY_OPTIMIZER;
    }
    return IS_ONE_OF(name, n, READS)                     ? PS_ACTIVITY_COPY
           : strcmp(name, "torch.cuda.synchronize") == 0 ? PS_ACTIVITY_SYNC
           : IS_ONE_OF(name, n, SAVES)                   ? PS_ACTIVITY_CHECKPOINT
           : IS_ONE_OF(name, n, EVALUATES)               ? PS_ACTIVITY_EVALUATION
           : IS_ONE_OF(name, n, LOGS)                    ? PS_ACTIVITY_LOGGING
           : is_receive(name)                            ? PS_ACTIVITY_RECEIVE
                                                         : listed_activity(name, n);
}

bool ps_is_python_frame(const char *name, const char *file, const char *function) {
    const char *paren = strrchr(name, '(');
    const char *colon = paren != NULL ? strstr(paren, "): ") : NULL;
    size_t n = paren != NULL ? (size_t)(paren - name) : 0;
    size_t m = strlen(file);
    bool is_file = colon != NULL && ends(name, n, file) && (n == m || name[n - m - 1] == '/');
    return is_file && (function == NULL || strcmp(colon + 3, function) == 0);
}

static ps_activity activity_of_frame(const char *name) {
    static const struct {
        const char *file, *function;
        ps_activity activity;
    } FRAMES[] = {
        {"torch/utils/data/dataloader.py", "__next__", PS_ACTIVITY_DATA},
        {"torch/serialization.py", "save", PS_ACTIVITY_CHECKPOINT},
        {"torch/distributed/checkpoint/state_dict_saver.py", "save", PS_ACTIVITY_CHECKPOINT},
        {"torch/distributed/checkpoint/state_dict_saver.py", "async_save", PS_ACTIVITY_CHECKPOINT},
        {"megatron/training/checkpointing.py", "save_checkpoint", PS_ACTIVITY_CHECKPOINT},
        {"megatron/training/training.py", "evaluate", PS_ACTIVITY_EVALUATION},
        {"megatron/training/training.py", "training_log", PS_ACTIVITY_LOGGING},
        {"torch/utils/tensorboard/writer.py", NULL, PS_ACTIVITY_LOGGING},
        {"logging/__init__.py", NULL, PS_ACTIVITY_LOGGING},
        {"torch/cuda/__init__.py", "synchronize", PS_ACTIVITY_SYNC},
        {"torch_npu/npu/utils.py", "synchronize", PS_ACTIVITY_SYNC}};
    for (size_t i = 0; i < sizeof FRAMES / sizeof *FRAMES; i++) {
        if (ps_is_python_frame(name, FRAMES[i].file, FRAMES[i].function)) {
            return FRAMES[i].activity;
        }
    }
    bool collects = strcmp(name, "<built-in function collect>") == 0;
    return collects ? PS_ACTIVITY_GC : PS_ACTIVITY_FRAMEWORK;
}

ps_activity ps_activity_of(ps_slice_kind kind, const char *name) {
    ps_activity said = PS_ACTIVITY_NONE;
    switch (kind) {
    case PS_SLICE_CALL:
    case PS_SLICE_QUEUE:
        return activity_of_call(name);
    case PS_SLICE_PYTHON:
        return activity_of_frame(name);
    case PS_SLICE_ANNOTATION:
    case PS_SLICE_MARK_HOST:
        said = activity_of_range(name);
        return said != PS_ACTIVITY_NONE ? said : PS_ACTIVITY_RANGE;
    case PS_SLICE_HOST_OP:
    case PS_SLICE_HOST_OTHER: /* readers that know no calls show them so */
        said = activity_of_range(name);
        said = said != PS_ACTIVITY_NONE ? said : activity_of_call(name);
        return said != PS_ACTIVITY_CALL ? said : PS_ACTIVITY_FRAMEWORK;
    default:
        return PS_ACTIVITY_NONE;
    }
}

/* --- names by what is inside ---------------------------------------------------------------------------- */

typedef struct around_rule {
    const char *call, *inner;
} around_rule;

#define X(activity_, name_)
#define INSIDE(activity_, name_, around_)
#define BEHIND(activity_, name_)
#define AROUND(call_, inner_) {call_, inner_},
static const around_rule AROUNDS[] = {
#include "analyze/rank/host_activity.def"
};
#undef X
#undef AROUND
#undef INSIDE
#undef BEHIND

bool ps_is_compiled_inside(const char *name) {
    for (size_t i = 0; i < sizeof AROUNDS / sizeof *AROUNDS; i++) {
        if (strcmp(ps_call_name(name), AROUNDS[i].inner) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether anything of the trace has this name, with or without the prefix. */
static bool has_name(const ps_trace *trace, const char *name) {
    char with[128];
    (void)snprintf(with, sizeof with, ASCENDCL "%s", name);
    return !ps_str_is_none(ps_trace_find_text(trace, name)) ||
           !ps_str_is_none(ps_trace_find_text(trace, with));
}

/* A call that compiles and launches is no compiling where what compiles is there by itself: but it is of the same mode. */
static ps_activity without_around(const ps_trace *trace, const char *name, ps_activity own) {
    name = ps_call_name(name);
    for (size_t i = 0; own == PS_ACTIVITY_COMPILE && i < sizeof AROUNDS / sizeof *AROUNDS; i++) {
        if (strcmp(name, AROUNDS[i].call) == 0 && has_name(trace, AROUNDS[i].inner)) {
            return PS_ACTIVITY_ONLINE;
        }
    }
    return own;
}

/* --- all slices ----------------------------------------------------------------------------------------- */

bool ps_is_step_window(const ps_links *links, uint32_t i) {
    const ps_slices *s = ps_trace_slices(links->trace);
    const ps_step_index *x = &links->steps;
    PS_PLACE(size_t, low, 0, x->n, middle, x->steps[middle].start_ns < s->start_ns[i])
    for (; low < x->n && x->steps[low].start_ns == s->start_ns[i]; low++) {
        if (x->steps[low].end_ns == s->start_ns[i] + s->dur_ns[i]) {
            return true;
        }
    }
    return false;
}

/* A frame that was there before a step and is there behind it (the program's loop) says only that the program runs: what it does
 * between the calls in it nobody recorded. */
static bool holds_step(const ps_links *links, uint32_t i) {
    const ps_slices *s = ps_trace_slices(links->trace);
    const ps_step_index *x = &links->steps;
    PS_PLACE(size_t, low, 0, x->n, middle, x->steps[middle].start_ns < s->start_ns[i])
    return low < x->n && x->steps[low].end_ns <= s->start_ns[i] + s->dur_ns[i];
}

static void join_activity(ps_host_activity *h, uint32_t i, ps_activity own) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    uint32_t around = h->links->parent[i];
    ps_activity outer = around != PS_NONE ? (ps_activity)h->of[around] : PS_ACTIVITY_NONE;
    bool keeps = TIERS[own] < TIERS[outer] || (TIERS[own] == TIERS[outer] && TIERS[own] > 0);
    keeps = keeps || own == PS_ACTIVITY_NONE ||
            (own == PS_ACTIVITY_FRAMEWORK && outer == PS_ACTIVITY_FRAMEWORK &&
             s->kind[h->from[around]] == PS_SLICE_HOST_OP);
    h->of[i] = (uint8_t)(keeps ? outer : own);
    h->from[i] = keeps ? (around != PS_NONE ? h->from[around] : PS_NONE) : i;
}

/* Names repeat: each is looked at once for a kind. False when memory is out. */
static bool activity_classify(ps_host_activity *h) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    ps_idmap seen;
    ps_idmap_init(&seen);
    h->of = ps_calloc((size_t)s->n + 1, sizeof *h->of);
    h->from = ps_alloc(((size_t)s->n + 1) * sizeof *h->from);
    bool ok = h->of != NULL && h->from != NULL && ps_host_phases_init(&h->phases, h->links);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        h->from[i] = PS_NONE;
        if (!ps_is_host_range(s->kind[i])) {
            continue;
        }
        uint64_t key = (uint64_t)s->name[i].id * PS_N_SLICE_KINDS + s->kind[i];
        uint32_t own = ps_idmap_get(&seen, key);
        if (own == PS_IDMAP_NONE) {
            const char *name = ps_trace_text(h->links->trace, s->name[i]);
            own = ps_activity_of((ps_slice_kind)s->kind[i], name);
            own = without_around(h->links->trace, name, (ps_activity)own);
            ok = ps_idmap_put(&seen, key, own);
        }
        if (own == PS_ACTIVITY_COPY && h->transfers != NULL && h->transfers[i] == 0) {
            own = PS_ACTIVITY_FRAMEWORK; /* the value is the host's already */
        }
        uint8_t of_phase = ps_host_phase_of(&h->phases, i);
        own = of_phase != 0 ? of_phase : own;
        /* Old captures have their steps as operators. */
        bool may_be_step = own == PS_ACTIVITY_RANGE ||
                           (own == PS_ACTIVITY_FRAMEWORK && h->links->parent[i] == PS_NONE);
        own = may_be_step && ps_is_step_window(h->links, i) ? PS_ACTIVITY_NONE : own;
        bool may_be_loop = own == PS_ACTIVITY_FRAMEWORK && s->kind[i] == PS_SLICE_PYTHON;
        own = may_be_loop && holds_step(h->links, i) ? PS_ACTIVITY_NONE : own;
        join_activity(h, i, (ps_activity)own);
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* --- threads ------------------------------------------------------------------------------------------- */

PS_COMPARE(by_launches, ps_host_thread, PS_BY_DOWN(n_launches) PS_BY(track))

static bool find_threads(ps_host_activity *h) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(h->links->trace, &n_tracks);
    ps_host_thread *all = ps_calloc(n_tracks + 1, sizeof *all);
    h->thread_of = ps_alloc((n_tracks + 1) * sizeof *h->thread_of);
    h->threads = all;
    if (all == NULL || h->thread_of == NULL) {
        return false;
    }
    for (size_t t = 0; t < n_tracks; t++) {
        all[t].track = (uint32_t)t;
        h->thread_of[t] = PS_NONE;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        bool is_launched = ps_is_launched(s->kind[i]) && s->kind[i] != PS_SLICE_MARK_DEVICE;
        uint32_t call = is_launched ? h->links->call[i] : PS_NONE;
        uint32_t op = is_launched ? h->links->op[i] : PS_NONE;
        all[call != PS_NONE ? s->track[call] : n_tracks].n_launches++;
        bool other = op != PS_NONE && (call == PS_NONE || s->track[op] != s->track[call]);
        all[other ? s->track[op] : n_tracks].n_launches++;
    }
    all[n_tracks].n_launches = 0;
    qsort(all, n_tracks, sizeof *all, by_launches);
    while (h->n_threads < n_tracks && all[h->n_threads].n_launches > 0) {
        bool is_thread = tracks[all[h->n_threads].track].kind == PS_TRACK_HOST_THREAD;
        h->thread_of[all[h->n_threads].track] = is_thread ? (uint32_t)h->n_threads : PS_NONE;
        h->n_threads++;
    }
    return true;
}

static bool add_moment(ps_host_thread *t, int64_t start_ns, uint32_t slice) {
    if (t->n > 0 && t->moments[t->n - 1].start_ns >= start_ns) {
        t->moments[t->n - 1].slice = slice; /* of no length */
        return true;
    }
    if (!ps_grow(&t->moments, &t->cap, t->n + 1, MAX_MOMENTS, sizeof *t->moments)) {
        return false;
    }
    t->moments[t->n++] = (ps_moment){start_ns, slice};
    return true;
}

/* Closes what ends by `until_ns`; *top is the innermost that is open. */
static bool close_until(const ps_host_activity *h, ps_host_thread *t, uint32_t *top,
                        int64_t until_ns) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    bool ok = true;
    while (ok && *top != PS_NONE) {
        int64_t end = s->start_ns[*top] + s->dur_ns[*top];
        if (end > until_ns) {
            break;
        }
        *top = h->links->parent[*top];
        ok = add_moment(t, end, *top);
    }
    return ok;
}

/* The slice of the phase in which a moment lies; PS_NONE. */
static uint32_t phase_at(const ps_host_activity *h, const ps_moment *m) {
    uint32_t from = m->slice != PS_NONE ? h->from[m->slice] : PS_NONE;
    return from != PS_NONE && ps_host_phase_of(&h->phases, from) == h->of[m->slice] ? from
                                                                                    : PS_NONE;
}

/* Between two slices of a phase the host is in it, too. */
static void fill_phases(const ps_host_activity *h, ps_host_thread *t) {
    const uint32_t *parent = h->links->parent;
    for (size_t k = 1; k + 1 < t->n; k++) {
        uint32_t before = phase_at(h, &t->moments[k - 1]);
        uint32_t behind = phase_at(h, &t->moments[k + 1]);
        if (before != PS_NONE && behind != PS_NONE && h->phases.before[behind] == before &&
            t->moments[k].slice == parent[before]) {
            t->moments[k].slice = before;
        }
    }
}

static bool list_moments(ps_host_activity *h) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    uint32_t *top = ps_alloc((h->n_threads + 1) * sizeof *top);
    for (size_t k = 0; top != NULL && k < h->n_threads; k++) {
        top[k] = PS_NONE;
    }
    bool ok = top != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t k = ps_is_host_range(s->kind[i]) ? h->thread_of[s->track[i]] : PS_NONE;
        /* A step's range may begin in a frame that ends before it: what the thread does then is the frame's. */
        if (k != PS_NONE && (s->kind[i] == PS_SLICE_PYTHON || !ps_is_step_window(h->links, i))) {
            ok = close_until(h, &h->threads[k], &top[k], s->start_ns[i]) &&
                 add_moment(&h->threads[k], s->start_ns[i], i);
            top[k] = i;
        }
    }
    for (size_t k = 0; ok && k < h->n_threads; k++) {
        ok = close_until(h, &h->threads[k], &top[k], INT64_MAX);
    }
    ps_free(top);
    return ok;
}

ps_code ps_host_activity_init(ps_host_activity *h, const ps_links *links, ps_err *err) {
    *h = (ps_host_activity){.links = links};
    bool ok = find_threads(h) && list_moments(h) && ps_host_activity_find_transfers(h) &&
              activity_classify(h);
    for (size_t k = 0; ok && k < h->n_threads; k++) {
        fill_phases(h, &h->threads[k]);
    }
    ok = ok && ps_host_activity_take_copies(h);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_host_activity_fini(ps_host_activity *h) {
    for (size_t i = 0; i < h->n_threads; i++) {
        ps_free(h->threads[i].moments);
    }
    ps_free(h->threads);
    ps_free(h->thread_of);
    ps_free(h->of);
    ps_free(h->from);
    ps_free(h->transfers);
    ps_host_phases_fini(&h->phases);
    *h = (ps_host_activity){.links = NULL};
}

bool ps_host_activity_begins(const ps_host_activity *h, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(h->links->trace);
    return h->from[slice] == slice &&
           (h->of[slice] == PS_ACTIVITY_GC || h->thread_of[s->track[slice]] != PS_NONE);
}

uint32_t ps_host_innermost_at(const ps_host_activity *h, uint32_t thread, int64_t at_ns,
                              int64_t limit_ns, int64_t *until_ns) {
    const ps_host_thread *t = &h->threads[thread];
    PS_PLACE(size_t, low, 0, t->n, middle, t->moments[middle].start_ns <= at_ns)
    *until_ns =
        low < t->n && t->moments[low].start_ns < limit_ns ? t->moments[low].start_ns : limit_ns;
    return low > 0 ? t->moments[low - 1].slice : PS_NONE;
}

uint32_t ps_host_activity_at(const ps_host_activity *h, uint32_t thread, int64_t at_ns,
                             int64_t limit_ns, int64_t *until_ns, ps_activity *activity) {
    uint32_t slice = ps_host_innermost_at(h, thread, at_ns, limit_ns, until_ns);
    *activity = slice != PS_NONE ? (ps_activity)h->of[slice] : PS_ACTIVITY_NONE;
    return slice != PS_NONE ? h->from[slice] : PS_NONE;
}
