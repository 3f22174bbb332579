#include "write/chart/chart_clocks.h"

#include "write/out/number_text.h"

#define MAX_SENTENCES 16

const char *ps_chart_clock_source(const ps_chart_rank *rank) {
    bool by_order = (rank->clock_by & PS_CLOCK_BY_ORDER) != 0;
    bool by_exchange = (rank->clock_by & PS_CLOCK_BY_EXCHANGE) != 0;
    if ((rank->clock_by & PS_CLOCK_BY_PTP) != 0) {
        return by_order      ? "PTP and the order of events"
               : by_exchange ? "PTP and messages exchanged while recording"
                             : "PTP";
    }
    if (by_exchange) {
        return by_order ? "messages exchanged while recording and the order of events"
                        : "messages exchanged while recording";
    }
    return "the order of events";
}

/* Where it is not the usual one. */
static void say_source(const ps_chart_rank *rank, ps_buf *out) {
    if ((rank->clock_by & ~(uint32_t)PS_CLOCK_BY_ORDER) == 0) {
        return;
    }
    ps_buf_addf(out, " by %s", ps_chart_clock_source(rank));
    if (rank->clock_drift_ppb != 0) {
        char drift[PS_NUMBER_TEXT];
        ps_int_scaled(rank->clock_drift_ppb, 1000, 1, drift);
        ps_buf_addf(out, ", drifting by %s ppm", drift);
    }
}

void ps_chart_say_clocks(const ps_chart *chart, bool utf8, const char *before, const char *after,
                         ps_buf *out) {
    size_t n = 0;
    for (size_t r = 0; r < chart->n_ranks && n < MAX_SENTENCES; r++) {
        const ps_chart_rank *rank = &chart->ranks[r];
        bool said =
            !rank->has_clock || (rank->clock_offset_ns == 0 && rank->clock_uncertainty_ns == 0);
        for (size_t k = 0; k < r && !said; k++) {
            said = rank->machine >= 0 && chart->ranks[k].machine == rank->machine;
        }
        if (said) {
            continue;
        }
        char offset[PS_NUMBER_TEXT];
        char uncertainty[PS_NUMBER_TEXT];
        ps_int_scaled(rank->clock_offset_ns, 1000, 1, offset);
        ps_int_scaled(rank->clock_uncertainty_ns, 1000, 1, uncertainty);
        bool is_machine = rank->machine >= 0;
        ps_buf_addf(out, "%sClock of %s %d: %s us %s %s us against the first", before,
                    is_machine ? "machine" : "rank",
                    is_machine ? (int)rank->machine : (int)rank->rank, offset, utf8 ? "±" : "+-",
                    uncertainty);
        say_source(rank, out);
        ps_buf_addf(out, "; %s%s",
                    rank->clock_is_taken_off ? "taken off here" : "not taken off (--align)", after);
        n++;
    }
}
