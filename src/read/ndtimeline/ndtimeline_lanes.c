#include "read/ndtimeline/ndtimeline_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

#define MOST_WORKERS INT64_C(1000000)

static const char *const LANE_NAMES[PS_N_NDT_LANES] = {"compute", "pp-comm", "tp-comm", "dp-comm",
                                                       "misc"};

const char *ps_ndt_lane_name(ps_ndt_lane_kind kind) {
    return LANE_NAMES[kind];
}

/* Takes `word` and the number behind it. */
static bool take_number(const char **at, const char *end, const char *word, int64_t *out) {
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0) {
        return false;
    }
    const char *digits = *at + n;
    const char *p = digits;
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    *at = p;
    return ps_parse_i64(digits, (size_t)(p - digits), out) && *out < MOST_WORKERS;
}

bool ps_ndt_parse_thread(const char *s, size_t n, ps_ndt_thread *out) {
    const char *at = s;
    const char *end = s + n;
    if (!take_number(&at, end, "PP rank ", &out->pp) ||
        !take_number(&at, end, ", TP rank ", &out->tp) || end - at < 2 ||
        memcmp(at, ", ", 2) != 0) {
        return false;
    }
    at += 2;
    for (size_t k = 0; k < PS_N_NDT_LANES; k++) {
        if (strlen(LANE_NAMES[k]) == (size_t)(end - at) &&
            memcmp(LANE_NAMES[k], at, (size_t)(end - at)) == 0) {
            out->kind = (ps_ndt_lane_kind)k;
            return true;
        }
    }
    return false;
}

bool ps_ndt_parse_process(const char *s, size_t n, int64_t *dp) {
    const char *at = s;
    return take_number(&at, s + n, "DP rank [", dp) && at + 1 == s + n && *at == ']';
}

static int order_workers(const ps_ndt_thread *a, const ps_ndt_thread *b) {
    int by = ps_order_i64(a->pp, b->pp);
    by = by != 0 ? by : ps_order_i64(a->dp, b->dp);
    return by != 0 ? by : ps_order_i64(a->tp, b->tp);
}

static int order_threads(const void *x, const void *y) {
    const ps_ndt_thread *a = *(ps_ndt_thread *const *)x;
    const ps_ndt_thread *b = *(ps_ndt_thread *const *)y;
    int by = order_workers(a, b);
    by = by != 0 ? by : ps_order_i64(a->kind, b->kind);
    by = by != 0 ? by : ps_order_i64(a->pid, b->pid);
    return by != 0 ? by : ps_order_i64(a->tid, b->tid);
}

PS_COMPARE(order_processes, ps_ndt_process, PS_BY(pid))

static ps_code find_replica(ps_ndt_thread *thread, const ps_ndt_process *processes, size_t n,
                            const char *path, ps_err *err) {
    ps_ndt_process key = {.pid = thread->pid};
    const ps_ndt_process *found =
        n == 0 ? NULL : bsearch(&key, processes, n, sizeof *processes, order_processes);
    if (found == NULL) {
        return ps_fail_file(err, PS_SYNTAX, path,
                            "process %lld has threads of workers but no name \"DP rank [d]\"",
                            (long long)key.pid);
    }
    thread->dp = found->dp;
    return PS_OK;
}

static ps_code fail_twin(const ps_ndt_thread *a, const ps_ndt_thread *b, const char *path,
                         ps_err *err) {
    return ps_fail_file(
        err, PS_SYNTAX, path,
        "threads %lld and %lld are both \"%s\" of PP rank %lld, TP rank %lld, DP rank %lld",
        (long long)a->tid, (long long)b->tid, LANE_NAMES[a->kind], (long long)a->pp,
        (long long)a->tp, (long long)a->dp);
}

/* Those that name a worker, in order; then each worker once. */
static ps_code number_workers(ps_ndt_thread **order, size_t n_order, const char *path,
                              ps_ndt_worker *workers, size_t *n, ps_err *err) {
    *n = 0;
    qsort(order, n_order, sizeof(ps_ndt_thread *), order_threads);
    for (size_t i = 0; i < n_order; i++) {
        ps_ndt_thread *t = order[i];
        bool is_same = i > 0 && order_workers(order[i - 1], t) == 0;
        if (is_same && order[i - 1]->kind == t->kind) {
            return fail_twin(order[i - 1], t, path, err);
        }
        if (!is_same) {
            workers[(*n)++] = (ps_ndt_worker){.dp = t->dp, .pp = t->pp, .tp = t->tp};
        }
        t->worker = (uint32_t)(*n - 1);
    }
    return PS_OK;
}

ps_code ps_ndt_place_threads(ps_ndt_thread *threads, size_t n_threads, ps_ndt_process *processes,
                             size_t n_processes, const char *path, ps_ndt_worker *workers,
                             size_t *n, ps_err *err) {
    ps_ndt_thread **order = ps_calloc(n_threads + 1, sizeof(ps_ndt_thread *));
    size_t n_order = 0;
    ps_code code = order != NULL ? PS_OK : ps_fail_nomem(err);
    ps_sort(processes, n_processes, sizeof *processes, order_processes);
    for (size_t i = 0; code == PS_OK && i < n_threads; i++) {
        threads[i].worker = PS_NDT_NOBODY;
        if (threads[i].pp >= 0) {
            order[n_order++] = &threads[i];
            code = find_replica(&threads[i], processes, n_processes, path, err);
        }
    }
    if (code == PS_OK && n_order == 0) {
        code = ps_fail_file(
            err, PS_SYNTAX, path,
            "no thread is named after a worker (\"PP rank 0, TP rank 0, compute\"); --format chrome reads the file as one process");
    }
    code = code == PS_OK ? number_workers(order, n_order, path, workers, n, err) : code;
    ps_free(order);
    return code;
}
