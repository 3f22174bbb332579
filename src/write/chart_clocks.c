#include "write/chart_clocks.h"

#include "write/number_text.h"

#define MAX_SENTENCES 16

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
        ps_buf_addf(out, "%sClock of %s %d: %s us %s %s us against the first; %s%s", before,
                    is_machine ? "machine" : "rank",
                    is_machine ? (int)rank->machine : (int)rank->rank, offset, utf8 ? "±" : "+-",
                    uncertainty, chart->is_aligned ? "taken off here" : "not taken off (--align)",
                    after);
        n++;
    }
}
