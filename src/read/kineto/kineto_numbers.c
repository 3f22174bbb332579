/* Whether a file holds all events that its profiler numbered ("Ev Idx", before that "Profiler Event Index"), or somebody thinned it before it was published.
 *
 * The profiler numbers what the host recorded, thread after thread and kind after kind, and a whole file has all numbers
 * between the first and the last of a process but for a few. A file without one kind (no Python functions) lacks whole runs
 * of numbers, and what is left stands in runs, too: only where most numbers are missing and most of those that are there
 * have no neighbour either, events were taken out here and there. */
#include "base/alloc.h"
#include "read/kineto/kineto.h"

#define MAX_ROWS ((size_t)1 << 28)
#define MAX_PROCESSES ((size_t)64) /* a rank has one or a few; the events of more are not counted */

void ps_kineto_numbers_fini(ps_kineto_numbers *k) {
    ps_free(k->rows);
    ps_free(k->processes);
    *k = (ps_kineto_numbers){0};
}

static ps_kineto_process *process_of(ps_kineto_numbers *k, int64_t pid, int64_t number) {
    for (size_t i = k->n_processes; i > 0; i--) { /* one, or a few in a file that was joined */
        if (k->processes[i - 1].pid == pid) {
            return &k->processes[i - 1];
        }
    }
    if (k->n_processes == MAX_PROCESSES) {
        return NULL;
    }
    if (!ps_grow(&k->processes, &k->cap_processes, k->n_processes + 1, MAX_ROWS,
                 sizeof *k->processes)) {
        k->failed = true;
        return NULL;
    }
    k->processes[k->n_processes] = (ps_kineto_process){.pid = pid, .first = number, .last = number};
    return &k->processes[k->n_processes++];
}

/* Each kind of a thread is numbered by itself, in the order of its events. */
static bool has_neighbour(ps_kineto_numbers *k, uint32_t thread, ps_slice_kind kind,
                          int64_t number) {
    int what = kind == PS_SLICE_PYTHON ? 0 : kind == PS_SLICE_INSTANT ? 1 : 2;
    if (thread >= k->n_rows) {
        if (!ps_grow(&k->rows, &k->cap_rows, (size_t)thread + 1, PS_NONE, sizeof *k->rows)) {
            k->failed = true;
            return false;
        }
        for (; k->n_rows < k->cap_rows; k->n_rows++) {
            k->rows[k->n_rows] =
                (ps_kineto_runs){{{INT64_MIN, 0, 0}, {INT64_MIN, 0, 0}, {INT64_MIN, 0, 0}}};
        }
    }
    ps_kineto_runs *row = &k->rows[thread];
    int64_t last = row->of[what].last;
    bool is_first = last == INT64_MIN;
    row->of[what].last = number;
    row->of[what].least = is_first || number < row->of[what].least ? number : row->of[what].least;
    row->of[what].most = is_first || number > row->of[what].most ? number : row->of[what].most;
    return last != INT64_MIN && (number == last + 1 || number == last - 1);
}

void ps_kineto_numbers_add(ps_kineto_numbers *k, int64_t pid, uint32_t thread, ps_slice_kind kind,
                           int64_t number) {
    if (number < 0 || number > PS_KINETO_MOST_NUMBERS) {
        return; /* no number of an event */
    }
    ps_kineto_process *p = process_of(k, pid, number);
    if (p != NULL) {
        k->n_neighbours += has_neighbour(k, thread, kind, number);
        p->first = number < p->first ? number : p->first;
        p->last = number > p->last ? number : p->last;
        k->n++;
    }
}

/* Between the first and the last number of each thread and kind. */
static uint64_t numbers_of_threads(const ps_kineto_numbers *k) {
    uint64_t sum = 0;
    for (size_t i = 0; i < k->n_rows; i++) {
        for (size_t what = 0; what < 3; what++) {
            int64_t least = k->rows[i].of[what].least;
            bool any = k->rows[i].of[what].last != INT64_MIN;
            sum += any ? (uint64_t)(k->rows[i].of[what].most - least) + 1 : 0;
        }
    }
    return sum;
}

static uint64_t numbers_of_processes(const ps_kineto_numbers *k) {
    uint64_t sum = 0;
    for (size_t i = 0; i < k->n_processes; i++) {
        sum += (uint64_t)(k->processes[i].last - k->processes[i].first) + 1;
    }
    return sum;
}

/* A few events that are far apart may each be all that its thread recorded; but where dozens are missing within threads, and what is
 * there has no neighbours, so few are enough to tell. */
static ps_kineto_loss loss_of_few(const ps_kineto_numbers *k, uint64_t of_threads) {
    bool is_apart = k->n_neighbours * 2 < k->n && of_threads >= k->n + PS_KINETO_FEW_NUMBERS;
    return is_apart ? PS_KINETO_THINNED : PS_KINETO_TOO_FEW;
}

ps_kineto_loss ps_kineto_numbers_loss(const ps_kineto_numbers *k, uint64_t *n, uint64_t *of) {
    uint64_t of_threads = numbers_of_threads(k);
    *n = k->n;
    *of = numbers_of_processes(k);
    bool is_whole = k->n >= *of / 2;
    bool is_few = k->n < PS_KINETO_FEW_NUMBERS;
    *of = of_threads < *of && k->n < of_threads / 2 ? of_threads : *of;
    if (k->n == 0 || (is_whole && k->n > 1)) {
        return PS_KINETO_WHOLE;
    }
    return is_few                       ? loss_of_few(k, of_threads)
           : k->n_neighbours < k->n / 2 ? PS_KINETO_THINNED
                                        : PS_KINETO_WHOLE;
}
