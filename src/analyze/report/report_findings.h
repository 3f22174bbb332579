/* Findings of the report with their evidence, while they are being collected. Texts live in the list's arena.
 *
 * A rule adds a finding, then its rows of evidence, and, where it knows them, the spans of time that its gain counts.
 * report_gains.h bounds the gains, puts the findings in order, and tells by the spans which of them count the same time. */
#ifndef PS_ANALYZE_REPORT_FINDINGS_H
#define PS_ANALYZE_REPORT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/report/report_rules.h"
#include "analyze/stats/intervals.h"
#include "base/arena.h"
#include "base/num.h"

#define PS_EVIDENCE_MAX 5 /* rows of a finding; more are for other commands */

/* One thing that can be looked up in the trace. */
typedef struct ps_evidence {
    int64_t rank;             /* -1: none in particular */
    int64_t step;             /* PS_STEP_OUTSIDE (marks.h): none */
    int64_t start_ns, dur_ns; /* epoch; PS_NO_START: a sum without a place */
    const char *name;         /* copied */
    const char *note;         /* copied; may be "" */
} ps_evidence;

#define PS_NO_START INT64_MIN

/* What one finding counts that another one counts, too. */
typedef struct ps_shared_time {
    size_t with; /* its number */
    int64_t ns;  /* per step; 0: nobody knows how much */
} ps_shared_time;

#define PS_SHARED_MAX 8

typedef struct ps_finding {
    ps_rule_id rule;
    const char *title; /* static, where the rule's says more than is known here; NULL: the rule's */
    int64_t rank;      /* -1: several */
    int64_t gain_rank; /* whose time the gain is; until it is bounded that of `rank` */
    int32_t stage;     /* -1: several or unknown */
    int64_t gain_ns;   /* per step, at most; 0 unknown */
    int64_t claimed_ns; /* the gain before other ranks bounded it */
    int64_t comm_ns; /* of the gain: exposed communication of `rank` that a host in time may hide */
    int64_t launches_ns;  /* of the gain: the host's, which a late host's finding counts, too */
    const char *replayed; /* the schedule whose replay bounds the gain; NULL: none does */
    double value;         /* what the rule compares, in its unit; NAN: not known */
    const char *here; /* what is shown of it where that is not the value in its unit; NULL: it is */
    size_t
        n_over; /* ranks on which the rule fires, which the text then says; 0: no rule of single ranks */
    bool is_of_computing; /* slow-rank: it is the computing that differs */
    bool is_replayed;     /* the gain is that of a replay without the cause (report_replay.h) */
    bool
        is_unrecorded; /* idle time of which nothing recorded says why: the rank may have waited for others */
    bool is_assumed; /* the gain rests on something that was not measured: medium at most */
    const char *text;
    const char *remedy; /* what to try, where the finding knows better than its rule; else NULL */
    int64_t mend_rank;  /* which the remedy names, where it does: */
    size_t mend_at;     /* behind so many bytes of it; 0: it names none */
    size_t first_evidence, n_evidence;
    ps_intervals spans; /* when that was on `rank`, epoch, over all steps; empty: not known */
    ps_intervals *
        spans_on; /* the same on each of several ranks, where it is about all of them: [n_spans_on] by member */
    size_t n_spans_on;
    ps_shared_time shared[PS_SHARED_MAX]; /* with findings before it, in their order */
    size_t n_shared;
    int64_t shared_ns; /* per step, of the gain: what finding `shared_with` counts, too */
    int64_t
        absorbed_ns; /* per step, of the gain: won only once ranks that are not here come earlier */
    size_t
        shared_with; /* of `shared` the one with most; 0: none; shared_ns 0: nobody knows how much */
} ps_finding;

const char *ps_finding_title(ps_lang lang, const ps_finding *finding);
/* Idle time of which nothing recorded says why, elsewhere than on the rank, or (rank -1) the stage, that is slow: it may wait for that. */
static inline bool ps_finding_may_wait_for(const ps_finding *f, int64_t rank, int32_t stage) {
    bool is_elsewhere = rank >= 0 ? f->rank != rank : stage >= 0 && f->stage != stage;
    return f->is_unrecorded && is_elsewhere;
}

/* Zero it and set `thresholds` to begin; end with ps_findings_fini(). */
typedef struct ps_findings {
    ps_finding *all;
    size_t n, cap;
    ps_evidence *evidence; /* in the order in which findings were added */
    size_t n_evidence, cap_evidence;
    ps_lang lang;             /* of all that is said; set to begin, too */
    const double *thresholds; /* [PS_N_RULES] */
    size_t n_ranks;           /* that were looked at */
    bool
        is_of_part; /* the capture holds a part of the events: rules that need all of them are silent */
    ps_arena arena;
    bool failed; /* memory ran out */
} ps_findings;

void ps_findings_fini(ps_findings *f);

/* Whether `value` passes the rule's threshold, and the capture can tell. */
bool ps_rule_fires(const ps_findings *f, ps_rule_id rule, double value);

/* Adds a finding; the sentence is printf-like. What follows are its rows of evidence, at most PS_EVIDENCE_MAX (more are
 * ignored). */
bool ps_findings_has(const ps_findings *f, ps_rule_id rule);
void ps_findings_add(ps_findings *f, ps_finding finding, const char *fmt, ...) PS_PRINTF(3, 4);
void ps_findings_evidence(ps_findings *f, ps_evidence e);
/* Of the last finding: the cause held on its rank from start to end (epoch). */
void ps_findings_span(ps_findings *f, int64_t start_ns, int64_t end_ns);

/* The same of a finding about all ranks, on one of the members. Of a single one that is the rank. */
void ps_findings_span_on(ps_findings *f, size_t member, int64_t start_ns, int64_t end_ns);

/* Of the last finding: what passed the rule's threshold, where that is not its value in its unit. Copied. */
void ps_findings_here(ps_findings *f, const char *here);
/* Of the last finding: what to try instead of what its rule advises. Copied. */
void ps_findings_remedy(ps_findings *f, const char *remedy);
/* The same, to mend a rank, which the first `at` bytes name: the finding about that rank is named behind them, once findings have numbers. */
void ps_findings_mend(ps_findings *f, const char *remedy, size_t at, int64_t rank);
/* What to try, wherever it is said: the finding's own remedy, else the advice of its rule. */
void ps_finding_advice(ps_lang lang, const ps_finding *finding, ps_vendor vendor, char *out,
                       size_t size);

/* "high" from 10 % of the step, "medium" from 3 %, "low" below, "info" without an estimate. */
const char *ps_severity_of(int64_t gain_ns, int64_t step_ns);

/* The tables `findings`, `evidence` and `shared` (which findings count the same time), in the order of the list. `start_ns` is the beginning of the capture, from which the
 * evidence is counted, too. */
PS_MUST_USE ps_code ps_findings_tables(const ps_findings *f, ps_vendor vendor, int64_t step_ns,
                                       int64_t start_ns, ps_result *result, ps_err *err);

#endif
