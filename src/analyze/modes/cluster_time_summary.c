/* cluster_time_summary: of each rank and step where the time goes, and how much of communication was waiting. */
#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/modes/time_summary.h"

static ps_code reduce_cluster_time(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_table *summary = NULL;
    ps_table *extra = NULL;
    ps_code code = ps_time_summary_tables(in, &summary, &extra, err);
    if (code != PS_OK) {
        return code;
    }
    ps_result_finish_table(in->result, summary, "cluster_time_summary", PS_TO_ALL);
    ps_result_finish_table(in->result, extra, "cluster_time_summary_extra", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static const ps_round ROUNDS[] = {
    {.needs = PS_TIME_SUMMARY_NEEDS, .map = ps_time_summary_map, .reduce = reduce_cluster_time}};

const ps_analysis ps_analysis_cluster_time_summary = {
    .name = "cluster_time_summary",
    .folder = "ClusterTimeSummary",
    .summary = "where the time of each step goes, waiting and transmission, launch delay, by rank",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_time_summary_free,
    .archive = ps_time_summary_archive,
};
