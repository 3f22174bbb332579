/* Findings about schedules that were replayed with the measured durations. */
#ifndef PS_ANALYZE_REPORT_SCHEDULES_H
#define PS_ANALYZE_REPORT_SCHEDULES_H

#include "analyze/report/report.h"

/* The end of the row's name in PipelineReplay: the schedule that ran, every stage as fast as the mean. */
#define PS_BALANCED_ROW "stages balanced"

/* The row of PipelineReplay (NULL: none) whose name ends so, SIZE_MAX for none. */
size_t ps_report_replay_row(const ps_table *replay, const char *end);
/* The replayed schedule with the most gain, SIZE_MAX for none; a split of the stages is no schedule. */
size_t ps_report_best_schedule(const ps_table *replay);
/* Adds the finding that another schedule would be faster. `step_ns`: mean of the chart's steps. */
void ps_report_find_schedule(ps_report *report);

/* The bubble that the schedule itself has with its number of microbatches, percent; below 0: no schedule is known. */
double ps_report_ideal_bubble(const ps_report *report);

/* The mean step of the pipelines whose bubble is told, which is told as a share of this; of all where none is. ns. */
int64_t ps_report_told_step_ns(const ps_report *report);
/* What the schedule that ran would take less with every stage as fast as the mean; 0: not replayed, or nothing. */
int64_t ps_report_balanced_gain_ns(const ps_report *report);

#endif
