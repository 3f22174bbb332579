/* mstx_sum: the durations of marks on three clocks (framework, CANN, device), for each rank and step, and their spread
 * over ranks. With pipeline marks: the time of each forward and backward. How marks are found: mstx_marks.c. */
#include "analyze/modes/mstx_sum.h"

#include <math.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/rank/step_index.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/sort.h"

/* --- one rank ------------------------------------------------------------------------------------------- */

static void free_mstx_partial(void *p) {
    if (p != NULL) {
        ps_timed_marks_fini(p);
        ps_free(p);
    }
}

static ps_code map_mstx(const ps_map_input *in, void **out, ps_err *err) {
    ps_timed_marks *marks = ps_calloc(1, sizeof *marks);
    if (marks == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_timed_marks_collect(in, marks, err);
    if (code != PS_OK) {
        free_mstx_partial(marks);
        return code;
    }
    *out = marks;
    return PS_OK;
}

/* --- each mark ------------------------------------------------------------------------------------------ */

enum clock { FRAMEWORK, CANN, DEVICE, N_CLOCKS };

static int64_t mstx_duration_of(const ps_timed_mark *m, enum clock clock) {
    return clock == FRAMEWORK ? m->framework_ns : clock == CANN ? m->cann_ns : m->device_ns;
}

/* What a share is of; 0: nothing that is known. A device side that is longer than the step on its device lies in others', too. */
static int64_t whole_of(const ps_timed_mark *m, enum clock clock) {
    if (clock != DEVICE) {
        return m->step_ns;
    }
    return m->step_ns > 0 && m->device_ns <= m->device_step_ns ? m->device_step_ns : 0;
}

typedef struct mark_row {
    int64_t index, rank, step;
    const char *name;
    double ns[N_CLOCKS], percent[N_CLOCKS];
} mark_row;

#define MARK_NS(text, clock)                                                                       \
    { .name = (text), PS_FIELD(mark_row, ns[clock]), .unit = PS_UNIT_NS }

static const ps_column MARKS[] = {
    {.name = "index", PS_FIELD(mark_row, index), .is_key = true},
    {.name = "Name", PS_FIELD(mark_row, name)},
    MARK_NS("FrameworkDurationNs", FRAMEWORK),
    {.name = "FrameworkDurationRatio(%)", PS_FIELD(mark_row, percent[FRAMEWORK])},
    MARK_NS("CannDurationNs", CANN),
    {.name = "CannDurationRatio(%)", PS_FIELD(mark_row, percent[CANN])},
    MARK_NS("DeviceDurationNs", DEVICE),
    {.name = "DeviceDurationRatio(%)", PS_FIELD(mark_row, percent[DEVICE])},
    {.name = "Rank", PS_FIELD(mark_row, rank)},
    {.name = "StepId", PS_FIELD(mark_row, step)},
};

static int64_t step_or_unknown(const ps_timed_mark *m) {
    return m->step != PS_STEP_OUTSIDE ? m->step : PS_UNKNOWN_INT;
}

static void put_mark(ps_table *t, size_t index, const ps_timed_marks *of, int64_t rank) {
    const ps_timed_mark *m = &of->marks[index];
    mark_row row = {.index = (int64_t)index,
                    .name = ps_strpool_get(&of->strings, m->name),
                    .rank = rank,
                    .step = step_or_unknown(m)};
    for (enum clock k = FRAMEWORK; k < N_CLOCKS; k++) {
        int64_t ns = mstx_duration_of(m, k);
        int64_t whole_ns = whole_of(m, k);
        row.ns[k] = ns != PS_NO_DURATION ? (double)ns : NAN;
        row.percent[k] = whole_ns > 0 ? 100 * row.ns[k] / (double)whole_ns : NAN;
    }
    ps_table_put(t, &row);
}

static void give_mstx_marks(const ps_reduce_input *in) {
    ps_table *t = ps_table_new("MSTXMarkStats", "durations of marks", PS_COLUMNS(MARKS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_timed_marks *of = in->partials[r];
        for (size_t i = 0; of != NULL && i < of->n; i++) {
            put_mark(t, i, of, in->ranks[r].rank);
        }
    }
    ps_result_finish_table(in->result, t, "mark_stats", PS_TO_DB | PS_TO_FILES);
}

/* --- a name over all ranks ------------------------------------------------------------------------------- */

typedef struct name_row {
    const char *name;
    ps_stats stats;
    int64_t least_rank, most_rank, step;
    double dispersion_percent;
} name_row;

static const ps_column OF_ALL[] = {
    {.name = "Name", PS_FIELD(name_row, name), .is_key = true},
    {.name = "Count", PS_FIELD(name_row, stats.n), .unit = PS_UNIT_COUNT},
    PS_STATS_NS("MeanNs", name_row, stats.mean),
    PS_STATS_NS("StdNs", name_row, stats.std),
    PS_STATS_NS("MinNs", name_row, stats.min),
    {.name = "MinRank", PS_FIELD(name_row, least_rank)},
    PS_STATS_NS("Q1Ns", name_row, stats.q1),
    PS_STATS_NS("MedianNs", name_row, stats.median),
    PS_STATS_NS("Q3Ns", name_row, stats.q3),
    PS_STATS_NS("MaxNs", name_row, stats.max),
    {.name = "MaxRank", PS_FIELD(name_row, most_rank)},
    PS_STATS_NS("SumNs", name_row, stats.sum),
    {.name = "Dispersion(%)", PS_FIELD(name_row, dispersion_percent)},
    {.name = "StepId", PS_FIELD(name_row, step)},
};

/* One mark of one rank, with its name as text. */
typedef struct entry {
    int64_t step;
    const char *name;
    size_t rank_index, place; /* in the list of that rank, by time */
    const ps_timed_mark *mark;
} entry;

static entry *list_entries(const ps_reduce_input *in, size_t *n) {
    static const ps_sort_key KEYS[] = {PS_UP(entry, step), PS_UP(entry, name),
                                       PS_UP(entry, rank_index), PS_UP(entry, place)};
    *n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_timed_marks *of = in->partials[r];
        *n += of != NULL ? of->n : 0;
    }
    entry *entries = ps_alloc((*n + 1) * sizeof *entries);
    size_t at = 0;
    for (size_t r = 0; entries != NULL && r < in->n_ranks; r++) {
        const ps_timed_marks *of = in->partials[r];
        for (size_t i = 0; of != NULL && i < of->n; i++) {
            const ps_timed_mark *m = &of->marks[i];
            entries[at++] = (entry){m->step, ps_strpool_get(&of->strings, m->name), r, i, m};
        }
    }
    ps_sort_by(entries, *n, sizeof *entries, PS_KEYS(KEYS));
    return entries;
}

/* The first rank that has the value. */
static int64_t rank_with(const ps_reduce_input *in, const entry *entries, size_t n,
                         enum clock clock, int64_t value) {
    size_t i = 0;
    while (i + 1 < n && mstx_duration_of(entries[i].mark, clock) != value) {
        i++;
    }
    return in->ranks[entries[i].rank_index].rank;
}

/* `values`: room for n. A name without any value on this clock has no row. */
static void put_name(ps_table *t, const ps_reduce_input *in, const entry *entries, size_t n,
                     enum clock clock, int64_t *values) {
    size_t n_values = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = mstx_duration_of(entries[i].mark, clock);
        if (ns != PS_NO_DURATION) {
            values[n_values++] = ns;
        }
    }
    if (n_values == 0) {
        return;
    }
    ps_stats s = ps_stats_of(values, n_values);
    double beyond = (double)s.max - s.q3;
    ps_table_put(t,
                 &(name_row){.name = entries[0].name,
                             .stats = s,
                             .least_rank = rank_with(in, entries, n, clock, s.min),
                             .most_rank = rank_with(in, entries, n, clock, s.max),
                             .dispersion_percent = s.sum != 0 ? 100 * beyond / (double)s.sum : NAN,
                             .step = step_or_unknown(entries[0].mark)});
}

static void give_names(const ps_reduce_input *in, enum clock clock, const entry *entries, size_t n,
                       int64_t *values) {
    static const char *const NAMES[] = {"MSTXAllFrameworkStats", "MSTXAllCannStats",
                                        "MSTXAllDeviceStats"};
    static const char *const FILES[] = {"all_fwk_stats", "all_cann_stats", "all_device_stats"};
    static const char *const TITLES[] = {"durations of marks in the framework",
                                         "durations of marks in CANN",
                                         "durations of marks on the device"};
    ps_table *t = ps_table_new(NAMES[clock], TITLES[clock], PS_COLUMNS(OF_ALL));
    for (size_t i = 0; i < n;) {
        size_t first = i;
        for (; i < n && entries[i].step == entries[first].step &&
               strcmp(entries[i].name, entries[first].name) == 0;
             i++) {
        }
        put_name(t, in, entries + first, i - first, clock, values);
    }
    uint32_t to = clock == DEVICE ? PS_TO_ALL : PS_TO_DB | PS_TO_FILES;
    ps_result_finish_table(in->result, t, FILES[clock], to);
}

static ps_code reduce_mstx(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    size_t n = 0;
    entry *entries = list_entries(in, &n);
    int64_t *values = ps_alloc((n + 1) * sizeof *values);
    ps_code code = entries != NULL && values != NULL ? PS_OK : ps_fail_nomem(err);
    for (enum clock k = FRAMEWORK; code == PS_OK && k < N_CLOCKS; k++) {
        give_names(in, k, entries, n, values);
    }
    if (code == PS_OK) {
        give_mstx_marks(in);
        code = ps_result_code(in->result, err);
    }
    ps_free(entries);
    ps_free(values);
    return code;
}

static void timed_mark_archive(ps_archive *a, void *mark) {
    ps_timed_mark *x = mark;
    PS_ARCHIVE(a, x, name, start_ns, framework_ns, cann_ns, device_ns, step, step_ns,
               device_step_ns, track, row);
}

static void archive_mstx_partial(ps_archive *a, void **p) {
    ps_timed_marks *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_pool(a, &x->strings);
        PS_ARCHIVE_ARRAY(a, x, marks, n, timed_mark_archive);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_MARKS,
     .map = map_mstx,
     .reduce = reduce_mstx}};

const ps_analysis ps_analysis_mstx_sum = {
    .name = "mstx_sum",
    .folder = "MstxSum",
    .summary = "durations of mstx and NVTX marks: framework, CANN, device; spread over ranks",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_mstx_partial,
    .archive = archive_mstx_partial,
};
