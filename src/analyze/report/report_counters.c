/* Frequencies of the device and the CPUs: how long, and when longest, they were below what is usual. */
#include <string.h>
#include <strings.h>

#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/sort.h"

#define DEVICE_SHARE 0.95 /* of the usual frequency */
#define CPU_SHARE 0.9     /* of the highest one */

typedef struct span {
    double mhz;
    int64_t dur_ns;
} span;

static const ps_sort_key SPAN_ORDER[] = {PS_UP(span, mhz)};

/* How long the value of row `i` held: to the next one of its track, or to the end of the trace. */
static int64_t held(const ps_counters *c, uint32_t i, int64_t last_ns) {
    bool goes_on = i + 1 < c->n && c->track[i + 1] == c->track[i];
    int64_t end = goes_on ? c->time_ns[i + 1] : last_ns;
    return end > c->time_ns[i] ? end - c->time_ns[i] : 0;
}

/* The value that held longest; the higher one of equals. The highest one for CPUs. */
static double usual(span *spans, size_t n, bool highest) {
    ps_sort_by(spans, n, sizeof *spans, PS_KEYS(SPAN_ORDER));
    double best = 0;
    int64_t best_ns = -1;
    for (size_t i = 0; i < n;) {
        int64_t sum = 0;
        size_t end = i;
        for (; end < n && spans[end].mhz <= spans[i].mhz; end++) {
            sum = ps_i64_plus(sum, spans[end].dur_ns);
        }
        if (highest || sum >= best_ns) {
            best = spans[i].mhz;
            best_ns = sum;
        }
        i = end;
    }
    return best;
}

/* Rows [from, to) are one track. */
static bool counter_look_at(const ps_counters *c, uint32_t from, uint32_t to, int64_t last_ns,
                            bool is_cpu, const char *series, ps_report_rank *r) {
    ps_report_frequency *f = is_cpu ? &r->cpu_frequency : &r->device_frequency;
    span *spans = ps_calloc((size_t)(to - from) + 1, sizeof *spans);
    if (spans == NULL) {
        return false;
    }
    for (uint32_t i = from; i < to; i++) {
        spans[i - from] = (span){c->value[i], held(c, i, last_ns)};
    }
    double normal = usual(spans, to - from, is_cpu);
    double limit = normal * (is_cpu ? CPU_SHARE : DEVICE_SHARE);
    ps_free(spans);
    ps_report_frequency found = {.is_known = true, .usual_mhz = normal, .lowest_mhz = normal};
    int64_t since = 0;
    int64_t run_ns = 0;
    for (uint32_t i = from; i < to; i++) {
        int64_t dur_ns = held(c, i, last_ns);
        bool below = c->value[i] < limit;
        found.all_ns = ps_i64_plus(found.all_ns, dur_ns);
        found.below_ns = ps_i64_plus(found.below_ns, below ? dur_ns : 0);
        found.lowest_mhz = c->value[i] < found.lowest_mhz ? c->value[i] : found.lowest_mhz;
        since = below && run_ns == 0 ? c->time_ns[i] : since;
        run_ns = below ? run_ns + dur_ns : 0;
        if (run_ns > found.longest_ns) {
            found.longest_ns = run_ns;
            found.longest_start_ns = r->origin_ns + since;
        }
    }
    found.series = ps_arena_strndup(&r->arena, series, strlen(series));
    if (!f->is_known || found.below_ns > f->below_ns) { /* the worst of several */
        *f = found;
    }
    return found.series != NULL;
}

/* "CPU 0 Frequency", "cpu3_freq"; the series of the profilers, with what they put behind ("die 1", "[MHz]"). */
bool ps_is_frequency(const char *name, bool *is_cpu) {
    static const char *const SERIES[] = {"AI Core Freq", "SM Clock", "SM Frequency", "GPC Clock"};
    bool begins_so = strncasecmp(name, "cpu", 3) == 0;
    *is_cpu =
        begins_so && strncasecmp(name + 3 + strspn(name + 3, " _-./0123456789"), "freq", 4) == 0;
    bool known = *is_cpu;
    for (size_t i = 0; i < sizeof SERIES / sizeof *SERIES; i++) {
        known = known || strncasecmp(name, SERIES[i], strlen(SERIES[i])) == 0;
    }
    return known;
}

bool ps_report_gather_counters(const ps_trace *trace, ps_report_rank *r) {
    const ps_counters *c = ps_trace_counters(trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n_tracks);
    bool ok = true;
    for (uint32_t i = 0; ok && i < c->n;) {
        uint32_t end = i;
        while (end < c->n && c->track[end] == c->track[i]) {
            end++;
        }
        const char *name = ps_trace_text(trace, tracks[c->track[i]].name);
        bool is_cpu = false;
        if (ps_is_frequency(name, &is_cpu)) {
            ok = counter_look_at(c, i, end, r->last_ns - r->origin_ns, is_cpu, name, r);
        }
        i = end;
    }
    return ok;
}
