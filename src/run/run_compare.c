#include "run/run_compare.h"

#include <string.h>

#include "run/rank_selection.h"

size_t ps_run_compare_plan(const ps_cluster *cluster, const char *const ranks[2],
                           const ps_analysis *out[PS_REPORT_MAKERS + 1]) {
    bool is_whole = ps_is_all_ranks(ranks[0]) && ps_is_all_ranks(ranks[1]);
    size_t n = is_whole ? ps_run_chart_makers(cluster, out) : 0;
    out[n++] = ps_analysis_find("compare");
    return n;
}

ps_run *ps_run_compare(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    const ps_analysis *analyses[PS_REPORT_MAKERS + 1];
    const char *ranks[] = {opts->rank_list, opts->baseline_ranks};
    size_t n = ps_run_compare_plan(cluster, ranks, analyses);
    ps_run_opts own = *opts;
    own.n_makers = n - 1;
    ps_run *run = ps_run_listed_ranks(analyses, n, cluster, &own, err);
    if (run != NULL && run->errors[n - 1].code != PS_OK) {
        *err = run->errors[n - 1];
        ps_run_free(run);
        run = NULL;
    }
    return run;
}

ps_code ps_compare_check_parts(const ps_run_opts *opts, bool is_one_capture, ps_err *err) {
    const char *lists[] = {opts->rank_list, opts->baseline_ranks};
    int64_t steps[] = {opts->analysis.step_id,
                       opts->baseline_step != NULL ? *opts->baseline_step : -1};
    bool is_all = ps_is_all_ranks(lists[0]);
    bool is_part = !is_all || steps[0] >= 0;
    bool is_same = is_one_capture && is_part && steps[0] == steps[1] &&
                   (is_all ? ps_is_all_ranks(lists[1])
                           : !ps_is_all_ranks(lists[1]) && strcmp(lists[0], lists[1]) == 0);
    const char *dashes = opts->dashes != NULL ? opts->dashes : "";
    return !is_same ? PS_OK
                    : ps_fail_said(err, PS_USAGE,
                                   "both sides are the same ranks and steps of one capture: give "
                                   "another %sbase_rank_list or %sbase_step",
                                   "两侧是同一采集数据的相同 rank 与 step：请给出不同的 "
                                   "%sbase_rank_list 或 %sbase_step",
                                   dashes, dashes);
}
