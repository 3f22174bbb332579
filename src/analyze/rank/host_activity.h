/* What a host thread does at each moment, as far as the launches of work go: it fetches a batch, waits in a synchronising
 * call, runs an operator. Known by the kind of a slice and by exact names: of operators, of functions of a driver, of ranges
 * and Python frames in the form in which a framework writes them. A word somewhere in a name says nothing. */
#ifndef PS_ANALYZE_HOST_ACTIVITY_H
#define PS_ANALYZE_HOST_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/host_activity_phases.h"
#include "analyze/rank/links.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/trace.h"

/* X(id, tier, what the host is in). Of ranges inside of one another the higher tier counts; of one tier the outer range, of
 * tier 0 the inner one. */
#define PS_ACTIVITIES(X)                                                                           \
    X(PS_ACTIVITY_NONE, 0, "nothing recorded of a thread that launches", "下发线程上没有记录")     \
    X(PS_ACTIVITY_FRAMEWORK, 0, "operators and Python", "算子与 Python")                           \
    X(PS_ACTIVITY_CALL, 0, "calls into the driver", "驱动调用")                                    \
    X(PS_ACTIVITY_RANGE, 0, "ranges that the program or its framework named",                      \
      "程序或框架命名的 range")                                                                    \
    X(PS_ACTIVITY_OPTIMIZER, 1, "the optimiser's step", "优化器更新")                              \
    X(PS_ACTIVITY_BUFFERS, 1, "sending the model's buffers", "发送模型 buffer")                    \
    X(PS_ACTIVITY_BUCKETS, 1, "copying gradients out of DistributedDataParallel's buckets",        \
      "从 DistributedDataParallel 的桶中拷出梯度")                                                 \
    X(PS_ACTIVITY_ONLINE, 1, "operators compiled or looked up at their launch",                    \
      "下发时编译或查找算子")                                                                      \
    X(PS_ACTIVITY_COMPILE, 2, "the compiler or its cache", "编译器或其缓存")                       \
    X(PS_ACTIVITY_COPY, 2, "blocking copies", "阻塞拷贝")                                          \
    X(PS_ACTIVITY_SYNC, 2, "synchronising calls", "同步调用")                                      \
    X(PS_ACTIVITY_RECEIVE, 2, "receives", "接收")                                                  \
    X(PS_ACTIVITY_MEMORY, 2, "allocating or freeing memory in the driver",                         \
      "在驱动中申请或释放内存")                                                                    \
    X(PS_ACTIVITY_LOGGING, 3, "logging", "记录日志")                                               \
    X(PS_ACTIVITY_EVALUATION, 3, "evaluation", "评估")                                             \
    X(PS_ACTIVITY_CHECKPOINT, 3, "saving a checkpoint", "保存检查点")                              \
    X(PS_ACTIVITY_DATA, 3, "fetching a batch", "取一批数据")                                       \
    X(PS_ACTIVITY_GC, 4, "garbage collection", "垃圾回收")

typedef enum ps_activity {
#define X(id, ...) id,
    PS_ACTIVITIES(X)
#undef X
        PS_N_ACTIVITIES
} ps_activity;

const char *ps_activity_text(ps_lang lang, ps_activity activity);
int ps_activity_tier(ps_activity activity);

/* Of one slice by itself; NONE of what is no range of a host thread. */
ps_activity ps_activity_of(ps_slice_kind kind, const char *name);

/* The function of a driver, without what a writer puts before it: "AscendCL@aclrtMemcpy". Into the name. */
const char *ps_call_name(const char *name);
/* Whether it is what compiles inside of a call that looks an operator up, compiles it where it must, and launches it. */
bool ps_is_compiled_inside(const char *name);

/* A frame as the PyTorch profiler writes it: "torch/serialization.py(943): save". `function` NULL: any. */
bool ps_is_python_frame(const char *name, const char *file, const char *function);
/* Whether a range is an optimiser's step, by the name that PyTorch gives it: "Optimizer.step#AdamW.step". */
bool ps_is_optimizer_step(const char *name);

/* Whether a range is the window of a step, which says nothing of what is done in it. */
bool ps_is_step_window(const ps_links *links, uint32_t slice);

/* From start_ns to the next moment of the thread. */
typedef struct ps_moment {
    int64_t start_ns;
    uint32_t slice; /* the innermost, PS_NONE */
} ps_moment;

typedef struct ps_host_thread {
    uint32_t track;
    int64_t n_launches;
    ps_moment *moments; /* by start; nothing before the first */
    size_t n, cap;
} ps_host_thread;

typedef struct ps_host_activity {
    const ps_links *links;
    uint8_t *of;             /* [n_slices] ps_activity, with what lies around it */
    uint32_t *from;          /* [n_slices] the slice that says so */
    ps_host_thread *threads; /* those that launch work, most launches first */
    size_t n_threads;
    uint32_t *thread_of; /* [n_tracks] row in threads, PS_NONE */
    uint8_t *
        transfers; /* [n_slices] whether a copy or a synchronising call lies in it; NULL: no such call is recorded */
    ps_host_phases phases;
} ps_host_activity;

/* PS_NOMEM only; end with ps_host_activity_fini() in any case. The links must outlive it. Needs SLICES, FLOWS, STEPS. */
PS_MUST_USE ps_code ps_host_activity_init(ps_host_activity *h, const ps_links *links, ps_err *err);
void ps_host_activity_fini(ps_host_activity *h);

/* Whether the slice is the beginning of an activity, on a thread that launches work (of garbage collection: on any). */
bool ps_host_activity_begins(const ps_host_activity *h, uint32_t slice);

/* The innermost range of the thread at `at_ns`, or PS_NONE, until *until_ns, at most `limit_ns`. */
uint32_t ps_host_innermost_at(const ps_host_activity *h, uint32_t thread, int64_t at_ns,
                              int64_t limit_ns, int64_t *until_ns);

/* What the thread does at `at_ns`, until *until_ns, at most `limit_ns`. The slice that says so, or PS_NONE. */
uint32_t ps_host_activity_at(const ps_host_activity *h, uint32_t thread, int64_t at_ns,
                             int64_t limit_ns, int64_t *until_ns, ps_activity *activity);

#endif
