#include "run/run_compare.h"

#include <string.h>

#include "run/rank_selection.h"

ps_run *ps_run_compare(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    const ps_analysis *analyses[] = {ps_analysis_find("compare")};
    return ps_run_listed_ranks(analyses, 1, cluster, opts, err);
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
    return !is_same ? PS_OK
                    : ps_fail_said(err, PS_USAGE,
                                   "both sides are the same ranks and steps of one capture: give "
                                   "another base_rank_list or base_step",
                                   "两侧是同一采集数据的相同 rank 与 step：请给出不同的 "
                                   "base_rank_list 或 base_step");
}
