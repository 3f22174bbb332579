/* What single ranks save without the cause of a rule: rules that are measured rank by rank claim it on each of them, and the bound of a
 * gain looks at all (report_gains.h). A finding tells of one rank; the cause may be on others, too. */
#ifndef PS_ANALYZE_REPORT_CLAIMS_H
#define PS_ANALYZE_REPORT_CLAIMS_H

#include "analyze/report/report.h"

/* Of the step of one rank, means per step. */
typedef struct ps_report_claim {
    int64_t idle_ns;   /* the device does nothing, for this cause, outside of the pipeline bubble */
    int64_t copies_ns; /* it does nothing but copy what goes with it */
    int64_t
        late_comm_ns; /* it does nothing but communicate, with nothing to compute launched yet, for this cause */
    ps_report_lead ahead; /* what the host gains behind it */
    int64_t
        comm_ns; /* of late_comm_ns and ahead, what is in the gain: no more than ps_report_hidden_in_time_ns() */
    int64_t gain_ns; /* of its own step, at most */
} ps_report_claim;

/* Activities of the host that one rule is for. */
typedef struct ps_stop_rule {
    ps_rule_id rule;
    int first, last;
} ps_stop_rule;

/* The rules about one thing that the host does, whose idle time is compared; then that about pauses. NULL behind the last. */
const ps_stop_rule *ps_report_stop_rule(size_t i);
const ps_stop_rule *ps_report_stop_rule_of(ps_rule_id rule); /* NULL: none of them */

/* Whether the rule is one of those that claim. */
bool ps_report_claims(ps_rule_id rule);
ps_report_claim ps_report_claim_of(const ps_report_member *m, ps_rule_id rule);
/* When that was on the rank, epoch, over all steps; added, not united. Nothing where it is not known. False when memory is out. */
bool ps_report_claim_spans(const ps_report_member *m, ps_rule_id rule, ps_intervals *out);

/* Of a rule about one thing that the host does: how long the member's device is idle in a step while its host does other things that
 * wait for no other rank. 0 for other rules, and in a pipeline. */
int64_t ps_report_other_idle_ns(const ps_report_member *m, ps_rule_id rule);
/* What of its exposed communication computing may stand beside once the host is in time, at most. The device does not do itself
 * what it waits there for other ranks, and what the optimiser's step awaits stays. */
int64_t ps_report_hidden_in_time_ns(const ps_report_member *m);
/* Idle time at the ends of the member's steps. Before the first stage's result has come there is nothing to do: that is the pipeline's. */
int64_t ps_report_edges_ns(const ps_report_member *m);

#endif
