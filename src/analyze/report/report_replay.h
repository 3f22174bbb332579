/* The steps of the job, replayed: what whatif answers, in the report. Where there is a step graph a finding gains what a replay
 * without its cause gives, and the report opens with the cause that costs most (docs/whatif.md). */
#ifndef PS_ANALYZE_REPORT_REPLAY_H
#define PS_ANALYZE_REPORT_REPLAY_H

#include "analyze/report/report_findings.h"
#include "analyze/whatif/whatif.h"
#include "analyze/whatif/whatif_causes.h"

struct ps_report;

typedef struct ps_report_replay {
    ps_job_steps steps;
    ps_whatif whatif;
    ps_whatif_cause
        causes[PS_N_WHATIF_CAUSES]; /* those that hold and gain anything, the largest gain first */
    size_t n_causes;
    bool is_there;
    bool explains; /* the replay is there, and like the measured step: gains are taken from it */
} ps_report_replay;

/* From timelines of all ranks, or the chart that the report took. What cannot be replayed is not there; memory that runs out is
 * noted in the findings. */
void ps_report_replay_make(const struct ps_report *report, ps_report_replay *out, bool *failed);
void ps_report_replay_fini(ps_report_replay *r);

/* What a step gains without the cause of the finding, by the replay, and a sentence that says so; false: it does not tell. Memory
 * that runs out is noted in report->findings.failed. */
bool ps_report_replay_gain(struct ps_report *report, const ps_finding *f, int64_t *gain_ns,
                           char *text, size_t size);
/* What it gains at most where the finding is a part of what a replay takes away (the kernels of a rank: its ops may be no longer than those
 * of its peers all the same), if that is less than its own gain, and a sentence that says so. Memory as above. */
bool ps_report_replay_bound(struct ps_report *report, const ps_finding *f, int64_t *gain_ns,
                            char *text, size_t size);
/* What it gains when all stages compute as long as their mean does; 0: not known, or nothing. */
int64_t ps_report_replay_even_ns(const struct ps_report *report);
/* What a step gains without the cause. */
static inline int64_t ps_report_cause_gain_ns(const ps_whatif_cause *c) {
    return (int64_t)(c->before_ns - c->step_ns + 0.5);
}

#endif
