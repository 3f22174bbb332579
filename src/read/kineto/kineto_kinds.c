/* What the categories of Kineto mean. Later names of one thing come first; those of releases up to 2022 follow. */
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "model/comm_kernels.h"
#include "read/kineto/kineto.h"

const ps_kineto_category ps_kineto_categories[] = {
    {"cpu_op", PS_SLICE_HOST_OP, PS_KINETO_HOST},
    {"user_annotation", PS_SLICE_ANNOTATION, PS_KINETO_HOST},
    {"cuda_runtime", PS_SLICE_CALL, PS_KINETO_HOST},
    {"cuda_driver", PS_SLICE_CALL, PS_KINETO_HOST},
    {"kernel", PS_SLICE_KERNEL, PS_KINETO_STREAM},
    {"gpu_memcpy", PS_SLICE_COPY, PS_KINETO_STREAM},
    {"gpu_memset", PS_SLICE_COPY, PS_KINETO_STREAM},
    {"gpu_user_annotation", PS_SLICE_DERIVED, PS_KINETO_LANE},
    {"cuda_sync", PS_SLICE_SYNC, PS_KINETO_STREAM},
    {"cuda_event", PS_SLICE_SYNC, PS_KINETO_STREAM},
    {"python_function", PS_SLICE_PYTHON, PS_KINETO_HOST},
    {"overhead", PS_SLICE_HOST_OTHER, PS_KINETO_HOST},
    {"trace", PS_SLICE_DERIVED, PS_KINETO_LANE},
    {"cpu_instant_event", PS_SLICE_INSTANT, PS_KINETO_HOST},
    {"cuda_profiler_range", PS_SLICE_DERIVED, PS_KINETO_LANE},
    {"collective_comm", PS_SLICE_COMM_OP, PS_KINETO_HOST},
    {"xpu_sync", PS_SLICE_SYNC, PS_KINETO_STREAM},
    {"xpu_scope_profiler", PS_SLICE_DERIVED, PS_KINETO_LANE},
    {"xpu_*", PS_SLICE_CALL, PS_KINETO_HOST},
    {"mtia_runtime", PS_SLICE_CALL, PS_KINETO_HOST},
    {"mtia_*", PS_SLICE_TASK, PS_KINETO_STREAM},
    {"privateuse1_*", PS_SLICE_CALL, PS_KINETO_HOST},
    {"hpu_op", PS_SLICE_CALL, PS_KINETO_HOST},
    {"glow_runtime", PS_SLICE_CALL, PS_KINETO_HOST},
    {"operator", PS_SLICE_HOST_OP, PS_KINETO_HOST},
    {"runtime", PS_SLICE_CALL, PS_KINETO_HOST},
    {"memcpy", PS_SLICE_COPY, PS_KINETO_STREAM},
    {"memset", PS_SLICE_COPY, PS_KINETO_STREAM},
};

static bool kind_matches(const char *name, const char *pattern) {
    size_t n = strlen(pattern);
    return pattern[n - 1] == '*' ? strncasecmp(name, pattern, n - 1) == 0
                                 : strcasecmp(name, pattern) == 0;
}

int ps_kineto_category_of(const char *name) {
    int n = (int)(sizeof ps_kineto_categories / sizeof *ps_kineto_categories);
    for (int row = 0; row < n; row++) {
        if (kind_matches(name, ps_kineto_categories[row].name)) {
            return row;
        }
    }
    return -1;
}

bool ps_kineto_is_comm(const char *name) {
    return ps_comm_is(ps_comm_of_kernel(name, NULL));
}

bool ps_kineto_step(const char *name, int64_t *step) {
    static const char PREFIX[] = "ProfilerStep#";
    size_t n = sizeof PREFIX - 1;
    return strncmp(name, PREFIX, n) == 0 && ps_parse_i64(name + n, strlen(name + n), step);
}

bool ps_kineto_is_launch(const char *category) {
    static const char *const SPELLINGS[] = {"ac2g", "async_cpu_to_gpu", "async_gpu", "async"};
    for (size_t i = 0; i < sizeof SPELLINGS / sizeof *SPELLINGS; i++) {
        if (strcasecmp(category, SPELLINGS[i]) == 0) {
            return true;
        }
    }
    return false;
}
