#include "write/chart/chart_clocks.h"

#include "write/out/number_text.h"

#define MAX_SENTENCES 16

const char *ps_chart_clock_source(ps_lang lang, const ps_chart_rank *rank) {
    bool by_order = (rank->clock_by & PS_CLOCK_BY_ORDER) != 0;
    bool by_exchange = (rank->clock_by & PS_CLOCK_BY_EXCHANGE) != 0;
    if ((rank->clock_by & PS_CLOCK_BY_PTP) != 0) {
        return by_order ? PS_SAY(lang, "PTP and the order of events", "PTP 与事件先后顺序")
               : by_exchange ? PS_SAY(lang, "PTP and messages exchanged while recording",
                                      "PTP 与录制时交换的消息")
                             : "PTP";
    }
    if (by_exchange) {
        return by_order ? PS_SAY(lang, "messages exchanged while recording and the order of events",
                                 "录制时交换的消息与事件先后顺序")
                        : PS_SAY(lang, "messages exchanged while recording", "录制时交换的消息");
    }
    return PS_SAY(lang, "the order of events", "事件先后顺序");
}

/* Where it is not the usual one. */
static void say_source(ps_lang lang, const ps_chart_rank *rank, ps_buf *out) {
    if ((rank->clock_by & ~(uint32_t)PS_CLOCK_BY_ORDER) == 0) {
        return;
    }
    ps_buf_addf(out, PS_SAY(lang, " by %s", "，依据%s"), ps_chart_clock_source(lang, rank));
    if (rank->clock_drift_ppb != 0) {
        char drift[PS_NUMBER_TEXT];
        ps_int_scaled(rank->clock_drift_ppb, 1000, 1, drift);
        ps_buf_addf(out, PS_SAY(lang, ", drifting by %s ppm", "，漂移 %s ppm"), drift);
    }
}

void ps_chart_say_clocks(const ps_chart *chart, bool utf8, const char *before, const char *after,
                         ps_buf *out) {
    const ps_lang lang = chart->lang;
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
        ps_buf_addf(out,
                    PS_SAY(lang, "%sClock of %s %d: %s us %s %s us against the first",
                           "%s%s %d 的时钟相对第一个：%s us %s %s us"),
                    before, is_machine ? PS_SAY(lang, "machine", "机器") : "rank",
                    is_machine ? (int)rank->machine : (int)rank->rank, offset, utf8 ? "±" : "+-",
                    uncertainty);
        say_source(lang, rank, out);
        ps_buf_addf(out, PS_SAY(lang, "; %s%s", "；%s%s"),
                    rank->clock_is_taken_off ? PS_SAY(lang, "taken off here", "已扣除")
                                             : PS_SAY(lang, "not taken off (--align)",
                                                      "未扣除（可在“作业”页对齐，或用 --align）"),
                    after);
        n++;
    }
}
