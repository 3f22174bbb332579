/* frequency: how far the clocks of the device and of the CPUs fell. A value holds until the next one, the last to the end. */
#include <string.h>

#include "analyze/report/report_facts.h"
#include "analyze/views/view.h"

#define LARGEST_DROP_PERCENT 5.0 /* between the highest and the lowest value; more is a finding */

typedef struct clock_facts {
    double min, max, weighted, weight, below;
    int64_t n, lowest_ns;
} clock_facts;

typedef struct clock_row {
    const char *series, *verdict;
    int64_t device;
    double mean, drop, below;
    clock_facts of;
} clock_row;

#define MHZ(text, member)                                                                          \
    { .name = (text), PS_FIELD(clock_row, member), .unit = PS_UNIT_MHZ }
#define PERCENT(text, member)                                                                      \
    { .name = (text), PS_FIELD(clock_row, member), .unit = PS_UNIT_PERCENT }
static const ps_column COLUMNS[] = {
    {.name = "series", PS_FIELD(clock_row, series)},
    {.name = "device", PS_FIELD(clock_row, device), .unknown_below_zero = true},
    MHZ("min", of.min),
    MHZ("max", of.max),
    MHZ("mean", mean),
    PERCENT("drop", drop),
    PERCENT("time below max", below),
    {.name = "values", PS_FIELD(clock_row, of.n), .unit = PS_UNIT_COUNT},
    {.name = "start", PS_FIELD(clock_row, of.lowest_ns), .unit = PS_UNIT_NS},
    {.name = "verdict", PS_FIELD(clock_row, verdict)},
};

static int64_t trace_end(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    const ps_counters *c = ps_trace_counters(t);
    int64_t end = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t to = s->start_ns[i] + s->dur_ns[i];
        end = to > end ? to : end;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        end = c->time_ns[i] > end ? c->time_ns[i] : end;
    }
    return end;
}

/* Values of one track, rows [from, to). A value held for no time counts as one that held for a nanosecond. */
static clock_facts frequency_look_at(const ps_view_input *in, uint32_t from, uint32_t to,
                                     int64_t end_ns) {
    const ps_counters *c = ps_trace_counters(in->trace);
    clock_facts f = {0};
    for (int pass = 0; pass < 2; pass++) { /* the highest one first */
        for (uint32_t i = from; i < to; i++) {
            int64_t until = i + 1 < to ? c->time_ns[i + 1] : end_ns;
            int64_t held = until > c->time_ns[i] ? until - c->time_ns[i] : 0;
            if (!(c->value[i] >= 0 && c->value[i] < 1e12) ||
                !ps_view_touches(in, c->time_ns[i], held)) {
                continue;
            }
            double weight = 1 + (double)ps_view_inside_ns(in, c->time_ns[i], c->time_ns[i] + held);
            if (pass == 1) {
                f.below += c->value[i] < f.max ? weight : 0;
                continue;
            }
            if (f.n == 0 || c->value[i] < f.min) {
                f.min = c->value[i];
                f.lowest_ns = c->time_ns[i] > in->from_ns ? c->time_ns[i] : in->from_ns;
            }
            f.max = f.n == 0 || c->value[i] > f.max ? c->value[i] : f.max;
            f.weighted += weight * c->value[i];
            f.weight += weight;
            f.n++;
        }
    }
    return f;
}

static void put_clock(ps_lang lang, ps_table *t, const ps_trace *trace, const ps_track *track,
                      const clock_facts *f) {
    double drop = f->max > 0 ? 100 * (f->max - f->min) / f->max : 0;
    bool varies = drop > LARGEST_DROP_PERCENT;
    ps_table_put(
        t, &(clock_row){.series = ps_trace_text(trace, track->name),
                        .verdict = varies ? PS_SAY(lang, "varies by more than 5 %", "变化超过 5 %")
                                          : PS_SAY(lang, "steady", "稳定"),
                        .device = track->device,
                        .mean = f->weighted / f->weight,
                        .drop = drop,
                        .below = 100 * f->below / f->weight,
                        .of = *f});
}

static void put_clocks(const ps_view_input *in, ps_table *t) {
    const ps_counters *c = ps_trace_counters(in->trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(in->trace, &n_tracks);
    int64_t end_ns = trace_end(in->trace);
    for (uint32_t i = 0; i < c->n;) {
        uint32_t end = i;
        while (end < c->n && c->track[end] == c->track[i]) {
            end++;
        }
        bool is_cpu = false;
        const ps_track *track = &tracks[c->track[i]];
        if (ps_is_frequency(ps_trace_text(in->trace, track->name), &is_cpu)) {
            clock_facts f = frequency_look_at(in, i, end, end_ns);
            if (f.n > 0) {
                put_clock(in->lang, t, in->trace, track, &f);
            }
        }
        i = end;
    }
}

static ps_table *make_frequency(const ps_view_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("frequency", "clocks of devices and processors", PS_COLUMNS(COLUMNS));
    put_clocks(in, t);
    return ps_view_end(
        t, t != NULL && t->n_rows > 0,
        PS_SAY(in->lang,
               "no counter of a frequency in this span: Ascend profilers record AI "
               "Core Freq at profiler_level Level1 and above, Nsight Systems with "
               "--gpu-metrics-devices",
               "该时间段内没有频率计数器：Ascend 在 profiler_level Level1 及以上采集 AI "
               "Core Freq，Nsight Systems 需 --gpu-metrics-devices"),
        err);
}

const ps_view ps_view_frequency = {.name = "frequency",
                                   .title = "Frequencies",
                                   .tab = PS_TAB_TIMELINE,
                                   .uses = PS_VIEW_SAYS,
                                   .make = make_frequency};
