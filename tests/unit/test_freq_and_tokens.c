/* freq_analysis and ep_load_balance on a few values. */
#include <string.h>

#include "base/diag.h"
#include "support/small_runs.h"

/* --- freq_analysis -------------------------------------------------------------------------------------- */

typedef struct value {
    int64_t at_ns;
    double mhz;
} value;

static ps_trace *with_clock(const char *name, const value *values, size_t n, const char *stated) {
    ps_builder *b = ps_builder_new();
    uint32_t core = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                                   .pid = -1,
                                                   .tid = -1,
                                                   .device = 3,
                                                   .name = ps_builder_str(b, name, strlen(name))});
    uint32_t other = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                                    .pid = -1,
                                                    .tid = -1,
                                                    .device = 3,
                                                    .name = ps_builder_str(b, "HBM 0/Read", 10)});
    for (size_t i = 0; i < n; i++) {
        assert_true(ps_builder_counter(b, core, SMALL_EPOCH_NS + values[i].at_ns, values[i].mhz));
        assert_true(ps_builder_counter(b, other, SMALL_EPOCH_NS + values[i].at_ns, 1));
    }
    if (stated != NULL) {
        ps_builder_meta(b, "aic_frequency_mhz", stated);
    }
    small_step(b, 1, 50, 150);
    return small_seal(b);
}

/* 1000 ns each; most time of the run is at 1800.
 *   rank 0: 800 for 200 ns: 20 % below, mean (800 * 1800 + 200 * 800) / 1000 = 1600: an idle clock
 *   rank 1: 1500 for 500 ns: 50 % below, mean 1650
 *   rank 2: one value, 1650        rank 3: 1800 all the time
 *   rank 4: 1650, which is what its device can do */
static void frequencies_of_ranks(void **state) {
    (void)state;
    static const value IDLE[] = {{0, 1800}, {100, 800}, {300, 1800}, {1000, 1800}};
    static const value SLOW[] = {{0, 1800}, {500, 1500}, {1000, 1800}};
    static const value ONE[] = {{0, 1650}};
    static const value FULL[] = {{0, 1800}, {1000, 1800}};
    ps_trace *traces[] = {
        with_clock("AI Core Freq", IDLE, 4, NULL), with_clock("AI Core Freq die 1", SLOW, 3, NULL),
        with_clock("AI Core Freq", ONE, 1, NULL), with_clock("AI Core Freq", FULL, 2, NULL),
        with_clock("AI Core Freq", ONE, 1, "1650")};
    small_run o;
    small_run_mode(&o, "freq_analysis", traces, 5, NULL);
    small_expect(&o, "FreeFrequencyRanks", "0|[800, 1800]\n");
    small_expect(&o, "AbnormalFrequencyRanks", "1|[1500, 1800]\n2|[1650]\n");
    small_expect(&o, "FrequencyShare",
                 "0|3|AI Core Freq|1800|1600|800|1800|20|20|4\n"
                 "1|3|AI Core Freq die 1|1800|1650|1500|1800|50|0|3\n"
                 "2|3|AI Core Freq|1800|1650|1650|1650|100|0|1\n"
                 "3|3|AI Core Freq|1800|1800|1800|1800|0|0|2\n"
                 "4|3|AI Core Freq|1650|1650|1650|1650|0|0|1\n");
    small_run_fini(&o);
    /* Step 1 is [50 150): half of it at 800, which the next value ends. */
    small_run_mode(&o, "freq_analysis", traces, 1, &(ps_analysis_opts){.step_id = 1});
    small_expect(&o, "FrequencyShare", "0|3|AI Core Freq|1800|1300|800|1800|50|50|2\n");
    small_run_fini(&o);
    for (size_t i = 0; i < 5; i++) {
        ps_trace_free(traces[i]);
    }
}

/* A rank that idles most of the time: its idle clock is not taken for the nominal one. */
static void idle_most_of_the_time(void **state) {
    (void)state;
    static const value VALUES[] = {{0, 800}, {900, 1800}, {1000, 800}, {1001, -5}};
    ps_trace *t = with_clock("AI Core Freq", VALUES, 4, NULL);
    small_run o;
    small_run_mode(&o, "freq_analysis", &t, 1, NULL);
    small_expect(&o, "FreeFrequencyRanks", "0|[800, 1800]\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_NUMBER], 1);
    small_run_fini(&o);
    ps_trace_free(t);
    t = with_clock("DDR/Read", VALUES, 3, NULL);
    small_run_mode(&o, "freq_analysis", &t, 1, NULL);
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "AICORE_FREQ"));
    small_run_fini(&o);
    ps_trace_free(t);
}

/* --- ep_load_balance ------------------------------------------------------------------------------------ */

static const char GROUPS[] =
    "{\"a\": {\"group_name\": \"exp\", \"group_rank\": 0, \"global_ranks\": [0, 1]},"
    " \"b\": {\"group_name\": \"exp\", \"global_ranks\": [2, 3]},"
    " \"c\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1, 2]}}";

static void grouped(ps_builder *b, const char *type, const char *shapes, int64_t at) {
    uint32_t k =
        small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "aclnnGroupedMatmul_1", at, at + 1);
    small_arg(b, k, "opType", type);
    if (shapes != NULL) {
        small_arg(b, k, "inputShapes", shapes);
    }
}

/* Of "100,64;50,64;8,64,32;8" the last two are weights and group list: 100 + 50. Of "10,4;;4,4;2" one is empty: 10. */
static ps_trace *rank_of(int rank, const char *groups) {
    ps_builder *b = ps_builder_new();
    if (groups != NULL) {
        ps_builder_meta(b, "parallel_group_info", groups);
    }
    grouped(b, "Cast", "\"7,7;7,7;7\"", 0);
    if (rank == 0) {
        grouped(b, "GroupedMatmul", "\"100,64;50,64;8,64,32;8\"", 10);
        grouped(b, "N/A", "10,4;;4,4;2", 20);
        grouped(b, "GroupedMatmul", "\"x,64;50,64;8\"", 30);
        grouped(b, "GroupedMatmul", NULL, 40);
        grouped(b, "GroupedMatmul", "", 50);
    } else {
        grouped(b, "GroupedMatmul", "\"30,64;8,64,32;8\"", 10);
    }
    return small_seal(b);
}

static void tokens_of_ranks(void **state) {
    (void)state;
    ps_trace *traces[] = {rank_of(0, GROUPS), rank_of(1, GROUPS), rank_of(2, GROUPS),
                          rank_of(3, NULL)};
    small_run o;
    small_run_mode(&o, "ep_load_balance", traces, 4, NULL);
    small_expect(&o, "EPTokensSummary", "0|0,1|160\n1|0,1|30\n2|2,3|30\n");
    small_expect(&o, "TopEPTokensInfo", "0,1|130\n2,3|0\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_TEXT], 2);
    assert_int_equal(o.map_codes[3], PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "names no group \"exp\""));
    small_run_fini(&o);
    small_run_mode(&o, "ep_load_balance", traces, 3,
                   &(ps_analysis_opts){.step_id = -1, .top_num = 1});
    small_expect(&o, "TopEPTokensInfo", "0,1|130\n");
    small_run_fini(&o);
    for (size_t i = 0; i < 4; i++) {
        ps_trace_free(traces[i]);
    }
}

static void odd_metadata(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "[1]", "{", "{\"a\": {\"group_name\": \"exp\", \"global_ranks\": [0, \"x\"]}}",
        "{\"a\": 3, \"b\": {\"group_name\": \"exp\", \"global_ranks\": []}, \"c\": {}}"};
    static const uint64_t COUNTED[] = {1, 1, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        ps_trace *t = rank_of(0, TEXTS[i]);
        small_run o;
        small_run_mode(&o, "ep_load_balance", &t, 1, NULL);
        assert_int_equal(o.map_codes[0], PS_NOTHING);
        assert_int_equal(o.diags[0].counts[PS_ODD_METADATA], COUNTED[i]);
        small_run_fini(&o);
        ps_trace_free(t);
    }
}

static void memory_runs_out(void **state) {
    (void)state;
    static const value SLOW[] = {{0, 1800}, {500, 1500}, {1000, 1800}};
    ps_trace *traces[] = {rank_of(0, GROUPS), with_clock("AI Core Freq", SLOW, 3, NULL)};
    small_run_without_memory("ep_load_balance", &traces[0], 1);
    small_run_without_memory("freq_analysis", &traces[1], 1);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_of_ranks), cmocka_unit_test(idle_most_of_the_time),
        cmocka_unit_test(tokens_of_ranks),      cmocka_unit_test(odd_metadata),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
