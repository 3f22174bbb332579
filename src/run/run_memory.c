#include "run/run_memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memory_left.h"
#include "base/spill.h"
#include "model/trace.h"

/* Bytes of memory for each of the file: the most of info, chart, report and cluster -m all and -m every, with headroom of a tenth. */
typedef struct kind_cost {
    const char *format;                     /* of the reader; NULL: all others */
    int64_t tenths_of_spans, tenths_of_all; /* without and with slices of every kind */
} kind_cost;

static const kind_cost COSTS[] = {
    {"ascend-db", 10, 50}, /* measured: 8.6, 46 */
    {"nsight", 10, 50},    /* the same tables */
    {NULL, 5, 10},         /* text, measured: 4.3, 8.8 */
};

enum { TENTHS_OF_GZIP = 100, /* measured: 93 */ FIXED_BYTES = 1 << 20 /* buffers of a reader */ };

static int64_t bytes_of_file(const ps_cluster_rank *rank, uint32_t needs) {
    ps_file_id id;
    if (ps_file_identify(rank->path, &id, NULL) != PS_OK) {
        return 0; /* who reads it says why it cannot be read */
    }
    const char *format = rank->reader != NULL ? rank->reader->name : COSTS[0].format;
    const kind_cost *cost = COSTS;
    while (cost->format != NULL && strcmp(cost->format, format) != 0) {
        cost++;
    }
    bool is_all = (needs & PS_NEED_SLICES) != 0;
    int64_t tenths = ps_ends_with(rank->path, ".gz") ? TENTHS_OF_GZIP
                     : is_all                        ? cost->tenths_of_all
                                                     : cost->tenths_of_spans;
    return id.size_bytes / 10 * tenths;
}

int64_t *ps_ranks_bytes(const ps_cluster *cluster, uint32_t needs) {
    int64_t *bytes = ps_calloc(cluster->n_ranks + 1, sizeof *bytes);
    for (size_t r = 0, n = 1; bytes != NULL && r < cluster->n_ranks; r += n) {
        const ps_cluster_rank *first = &cluster->ranks[r];
        n = 1;
        while (r + n < cluster->n_ranks && strcmp(first[n].path, first->path) == 0) {
            n++;
        }
        int64_t each = bytes_of_file(first, needs) / (int64_t)n + FIXED_BYTES;
        for (size_t i = r; i < r + n; i++) {
            bytes[i] = each;
        }
    }
    return bytes;
}

ps_code ps_budget_init(ps_budget *m, int64_t budget_bytes, ps_err *err) {
    *m = (ps_budget){.budget_bytes = budget_bytes, .is_given = budget_bytes > 0};
    m->has_lock = pthread_mutex_init(&m->lock, NULL) == 0;
    m->has_cond = pthread_cond_init(&m->freed, NULL) == 0;
    if (!m->is_given) {
        int64_t left = ps_memory_left();
        int64_t held = ps_memory_held();
        m->budget_bytes = left < INT64_MAX - held ? left + held : INT64_MAX;
    }
    ps_spill_above(m->budget_bytes / 2);
    return m->has_lock && m->has_cond ? PS_OK : ps_fail_nomem(err);
}

void ps_budget_fini(ps_budget *m) {
    if (m->has_cond) {
        (void)pthread_cond_destroy(&m->freed);
    }
    if (m->has_lock) {
        (void)pthread_mutex_destroy(&m->lock);
    }
    m->has_cond = false;
    m->has_lock = false;
}

ps_code ps_budget_check(const ps_budget *m, const ps_cluster_rank *rank, int64_t bytes,
                        ps_err *err) {
    if (bytes <= m->budget_bytes) {
        return PS_OK;
    }
    double needed = (double)bytes / (1 << 20);
    double there = (double)m->budget_bytes / (1 << 20);
    return ps_fail_file(err, PS_RANGE, rank->path,
                        m->is_given ? "reading it may take %.1f MiB, and --memory allows %.1f MiB"
                                    : "reading it may take %.1f MiB, and %.1f MiB are left here "
                                      "(--memory SIZE takes it on)",
                        needed, there);
}

static bool fits(const ps_budget *m, int64_t bytes) {
    int64_t left = m->budget_bytes - m->in_use_bytes;
    return m->n_in_flight == 0 || (bytes <= left && bytes <= m->budget_bytes - ps_memory_held());
}

void ps_budget_take(ps_budget *m, int64_t bytes) {
    (void)pthread_mutex_lock(&m->lock);
    while (!fits(m, bytes)) {
        (void)pthread_cond_wait(&m->freed, &m->lock);
    }
    m->in_use_bytes += bytes;
    m->n_in_flight++;
    m->n_most_in_flight =
        m->n_in_flight > m->n_most_in_flight ? m->n_in_flight : m->n_most_in_flight;
    (void)pthread_mutex_unlock(&m->lock);
}

void ps_budget_give(ps_budget *m, int64_t bytes) {
    (void)pthread_mutex_lock(&m->lock);
    m->in_use_bytes -= bytes;
    m->n_in_flight--;
    (void)pthread_cond_broadcast(&m->freed);
    (void)pthread_mutex_unlock(&m->lock);
}
