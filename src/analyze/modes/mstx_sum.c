/* mstx_sum: the durations of marks on three clocks (framework, CANN, device), for each rank and step, and their spread
 * over ranks. With pipeline marks: the time of each forward and backward. How marks are found: mstx_marks.c. */
#include "analyze/modes/mstx_sum.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/rank/step_index.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"

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

enum { M_INDEX, M_NAME, M_DURATIONS, M_RANK = M_DURATIONS + 2 * N_CLOCKS, M_STEP };

static const ps_column MARKS[] = {
    {.name = "index", .type = PS_COL_INT, .is_key = true},
    {.name = "Name", .type = PS_COL_TEXT},
    {.name = "FrameworkDurationNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "FrameworkDurationRatio(%)", .type = PS_COL_REAL},
    {.name = "CannDurationNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "CannDurationRatio(%)", .type = PS_COL_REAL},
    {.name = "DeviceDurationNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "DeviceDurationRatio(%)", .type = PS_COL_REAL},
    {.name = "Rank", .type = PS_COL_INT},
    {.name = "StepId", .type = PS_COL_INT},
};

static bool put_mark(ps_table *t, size_t index, const ps_timed_marks *of, int64_t rank) {
    const ps_timed_mark *m = &of->marks[index];
    if (!ps_table_add_row(t) ||
        !ps_table_set_text(t, M_NAME, ps_strpool_get(&of->strings, m->name))) {
        return false;
    }
    ps_table_set_int(t, M_INDEX, (int64_t)index);
    for (enum clock k = FRAMEWORK; k < N_CLOCKS; k++) {
        int64_t ns = mstx_duration_of(m, k);
        if (ns == PS_NO_DURATION) {
            continue;
        }
        ps_table_set_real(t, M_DURATIONS + 2 * k, (double)ns);
        int64_t whole_ns = whole_of(m, k);
        if (whole_ns > 0) {
            ps_table_set_real(t, M_DURATIONS + 2 * k + 1, 100 * (double)ns / (double)whole_ns);
        }
    }
    ps_table_set_int(t, M_RANK, rank);
    if (m->step != PS_STEP_OUTSIDE) {
        ps_table_set_int(t, M_STEP, m->step);
    }
    return true;
}

static ps_code add_mstx_marks(const ps_reduce_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("MSTXMarkStats", "durations of marks", MARKS, sizeof MARKS / sizeof *MARKS);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_timed_marks *of = in->partials[r];
        for (size_t i = 0; ok && of != NULL && i < of->n; i++) {
            ok = put_mark(t, i, of, in->ranks[r].rank);
        }
    }
    return ps_result_finish_table(in->result, t, ok, "mark_stats", PS_TO_DB | PS_TO_FILES, err);
}

/* --- a name over all ranks ------------------------------------------------------------------------------- */

enum {
    A_NAME,
    A_COUNT,
    A_MEAN,
    A_STD,
    A_MIN,
    A_MINRANK,
    A_Q1,
    A_MEDIAN,
    A_Q3,
    A_MAX,
    A_MAXRANK,
    A_SUM,
    A_DISPERSION,
    A_STEP
};

#define NS(text)                                                                                   \
    { .name = (text), .type = PS_COL_REAL, .unit = PS_UNIT_NS }
static const ps_column OF_ALL[] = {
    {.name = "Name", .type = PS_COL_TEXT, .is_key = true},
    {.name = "Count", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    NS("MeanNs"),
    NS("StdNs"),
    NS("MinNs"),
    {.name = "MinRank", .type = PS_COL_INT},
    NS("Q1Ns"),
    NS("MedianNs"),
    NS("Q3Ns"),
    NS("MaxNs"),
    {.name = "MaxRank", .type = PS_COL_INT},
    NS("SumNs"),
    {.name = "Dispersion(%)", .type = PS_COL_REAL},
    {.name = "StepId", .type = PS_COL_INT},
};

/* One mark of one rank, with its name as text. */
typedef struct entry {
    const ps_timed_mark *mark;
    const char *name;
    size_t rank_index;
} entry;

/* By step, name, rank, then time. */
static int compare_mstx_entries(const void *a, const void *b) {
    const entry *x = a;
    const entry *y = b;
    if (x->mark->step != y->mark->step) {
        return x->mark->step < y->mark->step ? -1 : 1;
    }
    int order = strcmp(x->name, y->name);
    if (order != 0) {
        return order;
    }
    if (x->rank_index != y->rank_index) {
        return x->rank_index < y->rank_index ? -1 : 1;
    }
    return x->mark < y->mark ? -1 : x->mark > y->mark; /* of one list */
}

static entry *list_entries(const ps_reduce_input *in, size_t *n) {
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
            entries[at++] =
                (entry){&of->marks[i], ps_strpool_get(&of->strings, of->marks[i].name), r};
        }
    }
    if (entries != NULL && *n > 1) {
        qsort(entries, *n, sizeof *entries, compare_mstx_entries);
    }
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
static bool put_name(ps_table *t, const ps_reduce_input *in, const entry *entries, size_t n,
                     enum clock clock, int64_t *values) {
    size_t n_values = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = mstx_duration_of(entries[i].mark, clock);
        if (ns != PS_NO_DURATION) {
            values[n_values++] = ns;
        }
    }
    if (n_values == 0) {
        return true;
    }
    ps_stats s = ps_stats_of(values, n_values);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, A_NAME, entries[0].name)) {
        return false;
    }
    ps_table_set_int(t, A_COUNT, (int64_t)s.n);
    ps_table_set_real(t, A_MEAN, s.mean);
    if (s.n > 1) {
        ps_table_set_real(t, A_STD, s.std);
    }
    ps_table_set_real(t, A_MIN, (double)s.min);
    ps_table_set_int(t, A_MINRANK, rank_with(in, entries, n, clock, s.min));
    ps_table_set_real(t, A_Q1, s.q1);
    ps_table_set_real(t, A_MEDIAN, s.median);
    ps_table_set_real(t, A_Q3, s.q3);
    ps_table_set_real(t, A_MAX, (double)s.max);
    ps_table_set_int(t, A_MAXRANK, rank_with(in, entries, n, clock, s.max));
    ps_table_set_real(t, A_SUM, (double)s.sum);
    if (s.sum != 0) {
        ps_table_set_real(t, A_DISPERSION, 100 * ((double)s.max - s.q3) / (double)s.sum);
    }
    if (entries[0].mark->step != PS_STEP_OUTSIDE) {
        ps_table_set_int(t, A_STEP, entries[0].mark->step);
    }
    return true;
}

static ps_code add_names(const ps_reduce_input *in, enum clock clock, const entry *entries,
                         size_t n, int64_t *values, ps_err *err) {
    static const char *const NAMES[] = {"MSTXAllFrameworkStats", "MSTXAllCannStats",
                                        "MSTXAllDeviceStats"};
    static const char *const FILES[] = {"all_fwk_stats", "all_cann_stats", "all_device_stats"};
    static const char *const TITLES[] = {"durations of marks in the framework",
                                         "durations of marks in CANN",
                                         "durations of marks on the device"};
    ps_table *t = ps_table_new(NAMES[clock], TITLES[clock], OF_ALL, sizeof OF_ALL / sizeof *OF_ALL);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < n;) {
        size_t first = i;
        for (; i < n && entries[i].mark->step == entries[first].mark->step &&
               strcmp(entries[i].name, entries[first].name) == 0;
             i++) {
        }
        ok = put_name(t, in, entries + first, i - first, clock, values);
    }
    uint32_t to = clock == DEVICE ? PS_TO_ALL : PS_TO_DB | PS_TO_FILES;
    return ps_result_finish_table(in->result, t, ok, FILES[clock], to, err);
}

static ps_code reduce_mstx(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    size_t n = 0;
    entry *entries = list_entries(in, &n);
    int64_t *values = ps_alloc((n + 1) * sizeof *values);
    ps_code code = entries != NULL && values != NULL ? PS_OK : ps_fail_nomem(err);
    for (enum clock k = FRAMEWORK; code == PS_OK && k < N_CLOCKS; k++) {
        code = add_names(in, k, entries, n, values, err);
    }
    code = code == PS_OK ? add_mstx_marks(in, err) : code;
    ps_free(entries);
    ps_free(values);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_MARKS,
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
};
