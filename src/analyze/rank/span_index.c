/* Each thread's ranges in start order; from the last one that began before a time, the way outwards ends at the first that is
 * still open. What is skipped on the way ended before what was left. */
#include "analyze/rank/span_index.h"

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

/* --- threads ----------------------------------------------------------------------------------------------------- */

bool ps_same_thread(const ps_trace *trace, uint32_t a, uint32_t b) {
    const ps_track *tracks = ps_trace_tracks(trace, &(size_t){0});
    const ps_track *x = &tracks[a];
    const ps_track *y = &tracks[b];
    return a == b || (x->kind == PS_TRACK_HOST_THREAD && y->kind == PS_TRACK_HOST_THREAD &&
                      x->tid >= 0 && x->tid == y->tid);
}

/* Numbers of threads by track, in the order in which their first ranges come, from 1 on. False when memory is out. */
static bool number_threads(ps_span_index *x, size_t n, const ps_track *tracks, size_t n_tracks) {
    ps_idmap by_tid;
    ps_idmap_init(&by_tid);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t track = x->spans[i].track;
        if (track == PS_NONE || x->thread_of[track] != PS_NONE) {
            continue;
        }
        bool has_id = tracks[track].kind == PS_TRACK_HOST_THREAD && tracks[track].tid >= 0;
        uint32_t known = has_id ? ps_idmap_get(&by_tid, (uint64_t)tracks[track].tid) : PS_NONE;
        x->thread_of[track] = known != PS_NONE ? known : (uint32_t)x->n_threads++;
        ok = !has_id || ps_idmap_put(&by_tid, (uint64_t)tracks[track].tid, x->thread_of[track]);
    }
    for (size_t t = 0; ok && t < n_tracks; t++) { /* tracks of these threads that have no ranges */
        if (x->thread_of[t] == PS_NONE && tracks[t].kind == PS_TRACK_HOST_THREAD &&
            tracks[t].tid >= 0) {
            x->thread_of[t] = ps_idmap_get(&by_tid, (uint64_t)tracks[t].tid);
        }
    }
    ps_idmap_fini(&by_tid);
    return ok;
}

static uint32_t thread_of_span(const ps_span_index *x, size_t span) {
    uint32_t track = x->spans[span].track;
    return track != PS_NONE ? x->thread_of[track] : 0;
}

/* --- the index --------------------------------------------------------------------------------------------------- */

static void sort_by_thread(ps_span_index *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        x->first[thread_of_span(x, i) + 1]++;
    }
    for (size_t t = 0; t < x->n_threads; t++) {
        x->first[t + 1] += x->first[t];
    }
    for (size_t i = n; i > 0; i--) { /* `first` of the next thread goes down to its beginning */
        uint32_t thread = thread_of_span(x, i - 1);
        x->rows[--x->first[thread + 1]] = (uint32_t)i - 1;
    }
    for (size_t t = 0; t < x->n_threads; t++) {
        x->first[t] = x->first[t + 1];
    }
    x->first[x->n_threads] = (uint32_t)n;
}

static void find_outer(ps_span_index *x) {
    for (size_t t = 0; t < x->n_threads; t++) {
        uint32_t before = PS_NONE;
        for (uint32_t k = x->first[t]; k < x->first[t + 1]; k++) {
            uint32_t span = x->rows[k];
            while (before != PS_NONE && x->spans[before].end_ns < x->spans[span].end_ns) {
                before = x->outer[before];
            }
            x->outer[span] = before;
            before = span;
        }
    }
}

bool ps_span_index_init(ps_span_index *x, const ps_links *links, const ps_host_span *spans,
                        size_t n) {
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(links->trace, &n_tracks);
    *x = (ps_span_index){.links = links, .spans = spans, .n_threads = 1};
    x->thread_of = ps_alloc((n_tracks + 1) * sizeof *x->thread_of);
    for (size_t t = 0; x->thread_of != NULL && t < n_tracks; t++) {
        x->thread_of[t] = PS_NONE;
    }
    if (x->thread_of == NULL || !number_threads(x, n, tracks, n_tracks)) {
        return false;
    }
    x->pid = ps_calloc(x->n_threads, sizeof *x->pid);
    x->first = ps_calloc(x->n_threads + 1, sizeof *x->first);
    x->rows = ps_calloc(n + 1, sizeof *x->rows);
    x->outer = ps_calloc(n + 1, sizeof *x->outer);
    if (x->pid == NULL || x->first == NULL || x->rows == NULL || x->outer == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (spans[i].track != PS_NONE) {
            x->pid[thread_of_span(x, i)] = tracks[spans[i].track].pid;
        }
    }
    sort_by_thread(x, n);
    find_outer(x);
    return true;
}

void ps_span_index_fini(ps_span_index *x) {
    ps_free(x->thread_of);
    ps_free(x->pid);
    ps_free(x->first);
    ps_free(x->rows);
    ps_free(x->outer);
    *x = (ps_span_index){0};
}

/* --- looking up -------------------------------------------------------------------------------------------------- */

/* The range of a thread that contains `at` and began last, PS_NONE. */
static uint32_t span_of_thread(const ps_span_index *x, uint32_t thread, int64_t at) {
    uint32_t begin = x->first[thread];
    PS_PLACE(uint32_t, low, begin, x->first[thread + 1], i, x->spans[x->rows[i]].start_ns <= at)
    uint32_t span = low > begin ? x->rows[low - 1] : PS_NONE;
    while (span != PS_NONE && x->spans[span].end_ns < at) {
        span = x->outer[span];
    }
    return span;
}

/* The range of the one thread that is in a range: of a process, or (`of_any`) of any. *n: how many threads are. */
static uint32_t span_by_time(const ps_span_index *x, int64_t pid, bool of_any, int64_t at,
                             size_t *n) {
    uint32_t found = PS_NONE;
    *n = 0;
    for (uint32_t t = 1; t < x->n_threads && *n < 2; t++) {
        uint32_t span = of_any || x->pid[t] == pid ? span_of_thread(x, t, at) : PS_NONE;
        found = span != PS_NONE ? span : found;
        *n += span != PS_NONE;
    }
    return *n == 1 ? found : PS_NONE;
}

/* Whether the program named what the thread does: then it does that, and nothing for another thread. */
static bool is_named_on_its_thread(const ps_span_index *x, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(x->links->trace);
    while (x->links->parent[slice] != PS_NONE) {
        slice = x->links->parent[slice];
    }
    return s->kind[slice] == PS_SLICE_ANNOTATION || s->kind[slice] == PS_SLICE_MARK_HOST ||
           s->kind[slice] == PS_SLICE_PYTHON;
}

uint32_t ps_span_holding(const ps_span_index *x, uint32_t slice, bool *is_open) {
    const ps_trace *trace = x->links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    int64_t at = s->start_ns[slice];
    uint32_t own = x->thread_of[s->track[slice]];
    *is_open = false;
    uint32_t span = own != PS_NONE ? span_of_thread(x, own, at) : PS_NONE;
    span = span != PS_NONE ? span : span_of_thread(x, 0, at);
    if (span != PS_NONE) {
        return span;
    }
    uint32_t waiting = ps_links_waiting(x->links, slice);
    if (waiting != PS_NONE) {
        uint32_t thread = x->thread_of[s->track[waiting]];
        return thread != PS_NONE ? span_of_thread(x, thread, at) : PS_NONE;
    }
    if (own != PS_NONE || x->links->callers.n > 0 || is_named_on_its_thread(x, slice)) {
        return PS_NONE;
    }
    size_t n = 0;
    int64_t pid = ps_trace_tracks(trace, &(size_t){0})[s->track[slice]].pid;
    span = span_by_time(x, pid, false, at, &n);
    if (n == 0) {
        span = span_by_time(x, pid, true, at, &n);
    }
    *is_open = n > 1;
    return span;
}
