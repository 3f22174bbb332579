/* freq_analysis: did the AI cores run at their nominal frequency? From the counters "AI Core Freq".
 *
 * Nominal is what the profile states for the device (metadata aic_frequency_mhz); else the frequency at which the ranks of
 * the run spent most time, idle clocks (half of the highest frequency and less) left aside. A frequency holds until the
 * next value; the last value of a rank holds to the end of the step when one was asked for, else it counts for nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"

#define SERIES "AI Core Freq"

/* --- one rank ------------------------------------------------------------------------------------------- */

/* How long a core ran at one frequency. */
typedef struct span {
    ps_str series;
    int64_t device;
    int64_t mhz;
    int64_t time_ns;
    int64_t n; /* values */
} span;

typedef struct partial {
    span *spans; /* by device, series, frequency */
    size_t n, cap;
    ps_strpool strings;
    int64_t nominal_mhz; /* stated, 0: not */
} partial;

static void free_frequency_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_free(part->spans);
        ps_strpool_fini(&part->strings);
        ps_free(part);
    }
}

/* Whether a track is of the cores, with the number of the die behind its name where there are several. */
static bool is_core_clock(const ps_trace *t, const ps_track *track) {
    const char *name = ps_trace_text(t, track->name);
    size_t n = strlen(SERIES);
    return track->kind == PS_TRACK_COUNTER && strncmp(name, SERIES, n) == 0 &&
           (name[n] == '\0' || name[n] == ' ' || name[n] == '/');
}

/* `rows`: frequency of the core -> its row. */
static bool add_frequency_value(partial *part, ps_idmap *rows, span value) {
    uint32_t row = ps_idmap_get(rows, (uint64_t)value.mhz);
    if (row != PS_IDMAP_NONE) {
        part->spans[row].time_ns = ps_i64_plus(part->spans[row].time_ns, value.time_ns);
        part->spans[row].n++;
        return true;
    }
    if (!ps_grow(&part->spans, &part->cap, part->n + 1, UINT32_MAX - 1, sizeof *part->spans) ||
        !ps_idmap_put(rows, (uint64_t)value.mhz, (uint32_t)part->n)) {
        return false;
    }
    value.n = 1;
    part->spans[part->n++] = value;
    return true;
}

/* One track's values, rows [row, end). */
static bool take_track(partial *part, const ps_trace *t, const ps_track *track, uint32_t row,
                       uint32_t end, const ps_step *step, ps_diag *diag) {
    const ps_counters *c = ps_trace_counters(t);
    const char *name = ps_trace_text(t, track->name);
    ps_idmap rows;
    ps_idmap_init(&rows);
    span value = {.series = ps_strpool_add(&part->strings, name, strlen(name)),
                  .device = track->device};
    bool ok = !ps_str_is_none(value.series);
    for (uint32_t i = row; ok && i < end; i++) {
        double mhz = nearbyint(c->value[i]);
        if (!(mhz > 0 && mhz < 1e6)) {
            ps_diag_add(diag, PS_ODD_NUMBER, "%s: %g MHz", name, c->value[i]);
            continue;
        }
        int64_t from = c->time_ns[i];
        int64_t to = i + 1 < end ? c->time_ns[i + 1] : step != NULL ? step->end_ns : from;
        if (step != NULL) {
            from = from > step->start_ns ? from : step->start_ns;
            to = to < step->end_ns ? to : step->end_ns;
            if (to <= from) {
                continue;
            }
        }
        value.mhz = (int64_t)mhz;
        value.time_ns = to > from ? to - from : 0;
        ok = add_frequency_value(part, &rows, value);
    }
    ps_idmap_fini(&rows);
    return ok;
}

static const ps_step *find_frequency_step(const ps_trace *t, int64_t id) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    for (size_t i = 0; id >= 0 && i < n; i++) {
        if (steps[i].id == id) {
            return &steps[i];
        }
    }
    return NULL;
}

static bool take_tracks(partial *part, const ps_trace *t, const ps_step *step, ps_diag *diag) {
    const ps_counters *c = ps_trace_counters(t);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n_tracks);
    bool ok = true;
    for (uint32_t row = 0; ok && row < c->n;) {
        uint32_t end = row;
        while (end < c->n && c->track[end] == c->track[row]) {
            end++;
        }
        if (is_core_clock(t, &tracks[c->track[row]])) {
            ok = take_track(part, t, &tracks[c->track[row]], row, end, step, diag);
        }
        row = end;
    }
    return ok;
}

static ps_code map_frequency(const ps_map_input *in, void **out, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    const char *stated = ps_trace_meta(in->trace, "aic_frequency_mhz");
    if (stated == NULL || !ps_parse_i64(stated, strlen(stated), &part->nominal_mhz) ||
        part->nominal_mhz < 0) {
        part->nominal_mhz = 0;
    }
    if (!ps_strpool_init(&part->strings) ||
        !take_tracks(part, in->trace, find_frequency_step(in->trace, in->opts->step_id),
                     in->diag)) {
        code = ps_fail_nomem(err);
    } else if (part->n == 0) {
        code = ps_fail_said(
            err, PS_NOTHING,
            "no counter \"AI Core Freq\" (AICORE_FREQ)%s%.0s: the profiler records it at "
            "profiler_level Level1 or above, on devices that can change their frequency",
            "%.0s%s没有计数器 \"AI Core Freq\"（AICORE_FREQ）：采集工具在 profiler_level Level1 及以上、且设备可调频时记录",
            PS_IN_THIS_STEP(in->opts->step_id));
    }
    if (code != PS_OK) {
        free_frequency_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- all ranks ------------------------------------------------------------------------------------------ */

/* The frequencies of a rank, ascending, each once. NULL when memory is out. */
static int64_t *list_frequencies(const partial *part, size_t *n) {
    int64_t *list = ps_alloc((part->n + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list != NULL && i < part->n; i++) {
        list[i] = part->spans[i].mhz;
    }
    if (list == NULL) {
        return NULL;
    }
    qsort(list, part->n, sizeof *list, ps_compare_i64);
    for (size_t i = 0; i < part->n; i++) {
        if (*n == 0 || list[*n - 1] != list[i]) {
            list[(*n)++] = list[i];
        }
    }
    return list;
}

typedef struct clock_time {
    int64_t mhz;
    double weight; /* ns, and one for each value */
} clock_time;

PS_COMPARE(compare_clocks, clock_time, PS_BY(mhz))

/* *mhz is 0 when there are no values. False when memory is out. */
static bool find_nominal(const ps_reduce_input *in, int64_t *mhz) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        n += part != NULL ? part->n : 0;
    }
    clock_time *clocks = ps_alloc((n + 1) * sizeof *clocks);
    n = 0;
    for (size_t r = 0; clocks != NULL && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->n; i++) {
            const span *s = &part->spans[i];
            clocks[n++] = (clock_time){s->mhz, (double)s->time_ns + (double)s->n};
        }
    }
    *mhz = 0;
    if (clocks == NULL || n == 0) {
        ps_free(clocks);
        return clocks != NULL;
    }
    qsort(clocks, n, sizeof *clocks, compare_clocks);
    int64_t highest = clocks[n - 1].mhz;
    double most = -1;
    for (size_t i = 0; i < n;) {
        double weight = 0;
        size_t first = i;
        for (; i < n && clocks[i].mhz == clocks[first].mhz; i++) {
            weight += clocks[i].weight;
        }
        if (2 * clocks[first].mhz > highest && weight >= most) {
            most = weight;
            *mhz = clocks[first].mhz;
        }
    }
    ps_free(clocks);
    return true;
}

static int64_t nominal_of(const partial *part, int64_t of_run) {
    return part->nominal_mhz > 0 ? part->nominal_mhz : of_run;
}

static bool is_idle(int64_t mhz, int64_t nominal) {
    return 2 * mhz <= nominal;
}

/* --- tables --------------------------------------------------------------------------------------------- */

typedef struct list_row {
    int64_t rank;
    const char *list;
} list_row;

static const ps_column RANKS[] = {{.name = "rankId", PS_FIELD(list_row, rank)},
                                  {.name = "aicoreFrequency", PS_FIELD(list_row, list)}};

static void put_frequency_rank(ps_table *t, int64_t rank, const int64_t *list, size_t n) {
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&text, "%s%lld", i > 0 ? ", " : "[", (long long)list[i]);
    }
    ps_buf_add_char(&text, ']');
    if (ps_buf_ok(&text)) {
        ps_table_put(t, &(list_row){rank, ps_buf_str(&text)});
    } else {
        ps_table_fail(t);
    }
    ps_buf_fini(&text);
}

/* At nominal only: neither. Nominal and one idle clock: free. Anything else: abnormal. */
static bool put_ranks(const ps_reduce_input *in, int64_t of_run, ps_table *free_ranks,
                      ps_table *abnormal) {
    bool ok = true;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        size_t n = 0;
        int64_t *list = part != NULL ? list_frequencies(part, &n) : NULL;
        int64_t nominal = part != NULL ? nominal_of(part, of_run) : 0;
        if (list == NULL) {
            ok = part == NULL;
        } else if (n == 2 && list[1] == nominal && is_idle(list[0], nominal)) {
            put_frequency_rank(free_ranks, in->ranks[r].rank, list, n);
        } else if (n > 1 || list[0] != nominal) {
            put_frequency_rank(abnormal, in->ranks[r].rank, list, n);
        }
        ps_free(list);
    }
    return ok;
}

typedef struct share_row {
    int64_t rank, device, nominal, least, most, n;
    const char *series;
    double mean, below, idle;
} share_row;

static const ps_column SHARES[] = {
    {.name = "rankId", PS_FIELD(share_row, rank)},
    {.name = "deviceId", PS_FIELD(share_row, device), .unknown_below_zero = true},
    {.name = "series", PS_FIELD(share_row, series)},
    {.name = "nominalMhz", PS_FIELD(share_row, nominal)},
    {.name = "meanMhz", PS_FIELD(share_row, mean)},
    {.name = "minMhz", PS_FIELD(share_row, least)},
    {.name = "maxMhz", PS_FIELD(share_row, most)},
    {.name = "belowNominal(%)", PS_FIELD(share_row, below)},
    {.name = "idleClock(%)", PS_FIELD(share_row, idle)},
    {.name = "samples", PS_FIELD(share_row, n), .unit = PS_UNIT_COUNT},
};

/* Spans [first, end) of one core. A core with one value ran at it all the time. */
static void put_frequency_share(ps_table *t, const partial *part, size_t first, size_t end,
                                int64_t rank, int64_t nominal) {
    const span *s = &part->spans[first];
    double total = 0;
    double mean = 0;
    double below = 0;
    double idle = 0;
    int64_t n = 0;
    int64_t least = s->mhz;
    int64_t most = s->mhz;
    bool is_timed = false;
    for (size_t i = first; i < end; i++) {
        is_timed = is_timed || part->spans[i].time_ns > 0;
    }
    for (size_t i = first; i < end; i++) {
        const span *x = &part->spans[i];
        double weight = is_timed ? (double)x->time_ns : (double)x->n;
        total += weight;
        mean += weight * (double)x->mhz;
        below += x->mhz < nominal ? weight : 0;
        idle += is_idle(x->mhz, nominal) ? weight : 0;
        n += x->n;
        least = x->mhz < least ? x->mhz : least;
        most = x->mhz > most ? x->mhz : most;
    }
    ps_table_put(t, &(share_row){.rank = rank,
                                 .device = s->device,
                                 .nominal = nominal,
                                 .least = least,
                                 .most = most,
                                 .n = n,
                                 .series = ps_strpool_get(&part->strings, s->series),
                                 .mean = mean / total,
                                 .below = 100 * below / total,
                                 .idle = 100 * idle / total});
}

static void put_frequency_shares(const ps_reduce_input *in, int64_t of_run, ps_table *t) {
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->n;) {
            size_t end = i;
            while (end < part->n && part->spans[end].device == part->spans[i].device &&
                   ps_str_eq(part->spans[end].series, part->spans[i].series)) {
                end++;
            }
            put_frequency_share(t, part, i, end, in->ranks[r].rank, nominal_of(part, of_run));
            i = end;
        }
    }
}

static ps_code reduce_frequency(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_table *free_ranks =
        ps_table_new("FreeFrequencyRanks", "ranks that clocked down while idle", PS_COLUMNS(RANKS));
    ps_table *abnormal = ps_table_new(
        "AbnormalFrequencyRanks", "ranks with other than the nominal frequency", PS_COLUMNS(RANKS));
    ps_table *shares =
        ps_table_new("FrequencyShare", "time below the nominal frequency", PS_COLUMNS(SHARES));
    int64_t of_run = 0;
    if (find_nominal(in, &of_run) && put_ranks(in, of_run, free_ranks, abnormal)) {
        put_frequency_shares(in, of_run, shares);
    } else {
        ps_table_fail(shares);
    }
    ps_result_finish_table(in->result, free_ranks, "free_frequency_ranks", PS_TO_ALL);
    ps_result_finish_table(in->result, abnormal, "abnormal_frequency_ranks", PS_TO_ALL);
    ps_result_finish_table(in->result, shares, "frequency_share", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static void span_archive(ps_archive *a, void *of) {
    span *x = of;
    PS_ARCHIVE(a, x, series, device, mhz, time_ns, n);
}

static void archive_frequency_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_pool(a, &x->strings);
        PS_ARCHIVE_ARRAY(a, x, spans, n, span_archive);
        PS_ARCHIVE(a, x, nominal_mhz);
    }
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_COUNTERS,
                                   .map = map_frequency,
                                   .reduce = reduce_frequency}};

const ps_analysis ps_analysis_freq_analysis = {
    .name = "freq_analysis",
    .folder = "FreqAnalysis",
    .summary = "AI cores below their nominal frequency: which ranks, for how much of the time",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_frequency_partial,
    .archive = archive_frequency_partial,
};
