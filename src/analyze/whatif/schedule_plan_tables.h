/* Plans over schedules as tables: a row for each, and the stages of one. */
#ifndef PS_ANALYZE_SCHEDULE_PLAN_TABLES_H
#define PS_ANALYZE_SCHEDULE_PLAN_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/whatif/schedule_plans.h"
#include "base/err.h"

/* Adds plan_schedules, plan_schedule_stages and plan_schedule_lines (what to paste) of the plan whose number is
 * `wanted` (0: the best), plan_left_out (taken from *plans, where
 * it has rows), and with_chart the chart of that plan as result->against. PS_USAGE when no plan has that number. */
PS_MUST_USE ps_code ps_schedule_plans_add_tables(ps_schedule_plans *plans, int64_t wanted,
                                                 bool with_chart, ps_result *result, ps_err *err);

/* The number of a plan in the tables, 0 for none. */
int64_t ps_schedule_plans_number(const ps_schedule_plans *s, const ps_schedule_plan *plan);

#endif
