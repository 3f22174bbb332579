/* The report: what reduce works with, and its sections. Each section looks at the facts and adds its findings. */
#ifndef PS_ANALYZE_REPORT_H
#define PS_ANALYZE_REPORT_H

#include "analyze/comm/skew.h"
#include "analyze/core/analysis.h"
#include "analyze/report/report_facts.h"
#include "analyze/report/report_findings.h"
#include "analyze/report/report_replay.h"
#include "analyze/stats/intervals.h"
#include "base/idmap.h"
#include "model/chart.h"

/* One rank in the report. */
typedef struct ps_report_member {
    ps_lang lang;                /* of what is said of it */
    const ps_report_rank *facts; /* never NULL */
    int64_t rank;
    size_t index;            /* in the run */
    int32_t stage, pipeline; /* -1 unknown */
    int64_t step_ns;         /* before + computing + exposed + copies + free + after */
    int64_t computing_ns, exposed_ns, free_ns, receive_ns; /* means per step */
    int64_t copies_ns; /* only copies ran; free, before and after are without them */
    int64_t before_ns,
        after_ns; /* of the step's window, before the first and after the last work */
    int64_t
        host_ns; /* of before, free and after: the device waited for the host, outside of the pipeline bubble */
    int64_t late_comm_ns; /* of exposed: nothing to compute was launched yet, for the host's sake */
    int64_t bubble_ns;    /* of free: the pipeline bubble, mean per step */
    int64_t edge_bubble_ns; /* the same of before and after */
    int64_t warmup_ns;      /* before its first op of the chart, mean per step: no stall is in it */
    bool has_no_starts,
        has_no_ends; /* nobody says how long before and after were, the chart neither */
    int64_t
        collective_waits_ns; /* of exposed, mean per step: in collectives, for ranks that come later */
    int64_t waits_ns;        /* the same in receives, too (report_gains.h) */
    int64_t
        yields_ns; /* what it may wait less, by itself, once other captured ranks come earlier (report_gains.h) */
    ps_intervals bubbles; /* of the chart, epoch; owned */
    ps_intervals
        absent; /* epoch: nothing hides that collectives wait for ranks that are not here; owned */
    int64_t absent_ns; /* the same, mean per step (ps_report_find_absent) */
    ps_intervals
        absorbed; /* epoch: of each step what lies before its last wait for ranks that are not here; owned */
    const uint32_t
        *waited_of; /* of each peer of facts->comm_waits its row in `waited`, PS_NO_PEER */
} ps_report_member;

/* At least 1. */
static inline int64_t ps_report_steps_of(const ps_report_member *m) {
    return m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
}

/* Of a sum over the rank's steps; without steps the sum. */
static inline int64_t ps_report_per_step(const ps_report_member *m, int64_t sum_ns) {
    return sum_ns / ps_report_steps_of(m);
}

/* Which ranks the job has, and which of them are here. */
typedef struct ps_report_job {
    int64_t n_ranks; /* 0 unknown */
    size_t n_here;
    bool is_least;   /* only known from communicators: there may be more */
    bool is_partial; /* some are not here */
} ps_report_job;

/* A rank that the tasks of collectives wait for. Means per step. */
typedef struct ps_report_waited {
    int64_t rank; /* -1: only its place in the communicator is known */
    int32_t place;
    const char *group;
    bool is_absent;                /* it was not captured */
    bool is_assumed;               /* the number is that of the place */
    int64_t alone_ns;              /* sum over the members: waited for it, and for nobody else */
    size_t n_members;              /* that did */
    const ps_report_member *worst; /* the one that did longest */
    int64_t worst_alone_ns;
} ps_report_waited;

/* A link far below the median of its like. */
typedef struct ps_report_slow_link {
    int64_t source, destination;
    const char
        *group; /* key of its communicator (ps_comm_key), "" unknown; of the findings' arena */
} ps_report_slow_link;

enum { PS_REPORT_LINKS_KEPT = 64 };

typedef struct ps_report {
    const ps_reduce_input *in;
    ps_findings findings;
    ps_report_member *members; /* in rank order */
    size_t n_members;
    ps_idmap member_at;            /* of each rank its first member */
    const ps_chart *chart;         /* or NULL */
    const ps_result *chart_tables; /* what came with it, or NULL */
    ps_report_job job;
    int64_t n_stages;     /* of a pipeline, as metadata or the user say; 0 unknown */
    bool stages_by_group; /* no size says so, the process groups do */
    ps_report_slow_link slow_links[PS_REPORT_LINKS_KEPT]; /* the slowest first */
    size_t n_slow_links;
    ps_report_waited *waited; /* in the order of the members */
    size_t n_waited;
    int64_t start_ns; /* of the capture, epoch */
    int64_t step_ns;  /* of the job: the longest of its members, or of its chart */
    int64_t
        period_ns; /* from the beginning of a step to that of the next, mean; 0: no two steps in a row */
    int64_t
        chart_step_ns; /* mean of the chart's steps, from the first op of a pipeline to its last; 0: no chart */
    int64_t n_chart_steps;
    int64_t n_cut_steps; /* of them, those in which a pipeline has fewer ops than in others */
    int64_t n_steps;     /* of the rank with the most, or of the chart */
    ps_vendor vendor;
    ps_skew skew; /* who waits for whom (ps_report_measure_skew); its lists are gone */
    bool has_skew;
    bool has_host_times; /* of some rank: then nothing is said of dispatch */
    bool any_device;     /* some rank has work of one */
    const char
        *comm_from_marks; /* ps_trace_comm_from_marks of the first rank that has it, or NULL */
    ps_report_replay replay;
} ps_report;

/* What a rule compares, of one rank; `what` is the rule's own. */
typedef double (*ps_member_value)(const ps_report *report, const ps_report_member *m,
                                  const void *what);
/* The rank with the largest figure above 0, NULL where the rule fires on none; on how many it fires. */
typedef struct ps_worst {
    const ps_report_member *member;
    double value;
    size_t n_over;
} ps_worst;
ps_worst ps_report_worst(const ps_report *report, ps_rule_id rule, ps_member_value of,
                         const void *what);
enum { PS_STEP_TEXT = 128 };
/* "a step of 152 ms"; of a member whose own differs "its step of 148 ms (shares are of the longest, 152 ms)". */
const char *ps_report_step_text(const ps_report *report, const ps_report_member *m,
                                char out[PS_STEP_TEXT]);

/* The first of that rank, which may be -1; NULL: none has it. */
const ps_report_member *ps_report_first_of(const ps_report *report, int64_t rank);
/* NULL: no member has that rank. A single capture is that of all findings, whatever its rank. */
const ps_report_member *ps_report_member_of(const ps_report *report, int64_t rank);

/* Before all others, which it may silence. */
void ps_report_thinned(ps_report *report);
#define PS_TOO_FEW_TITLE(lang)                                                                     \
    PS_SAY(lang, "Whether the capture holds all that happened is not known",                       \
           "采集数据是否包含所发生的一切不得而知")
/* "The capture of rank 3 holds only ...: what ran in between is unknown", or that this cannot be told, without its full stop; false where
 * no capture is known to be a part. */
bool ps_report_say_thinned(const ps_report *report, char *out, size_t size);
/* Memory that runs out is noted in report->findings.failed. Compute adds the table `kernels`, too. */
void ps_report_dispatch(ps_report *report);
PS_MUST_USE ps_code ps_report_compute(ps_report *report, ps_err *err);
/* A variable of the environment of the rank: a text, or a number of a list that was written as JSON; "" listed without a value, NULL not
 * listed, or neither. */
const char *ps_report_variable(const ps_report_rank *r, const char *name, char room[32]);
void ps_report_environment(
    ps_report
        *report); /* variables, clock of the CPUs; after dispatch, whose findings it looks at */
void ps_report_comm(ps_report *report);
/* What of the member's communication that nothing hides computing may hide, without what it waits for others; per step, at most. */
int64_t ps_report_exposed_gain_ns(const ps_report_member *m);
/* What the member communicates itself and nothing can hide, since the optimiser's step awaits it; per step. */
int64_t ps_report_awaited_own_ns(const ps_report_member *m);
void ps_report_receives(ps_report *report,
                        const ps_skew *skew); /* that wait for their sends, for comm */
/* Whether the capture of the rank has calls that launched something. */
bool ps_report_has_launches(const ps_report *report, int64_t rank);
void ps_report_find_unexplained(ps_report *report); /* with a chart, for the pipeline */
void ps_report_comm_kinds(ps_report *report);       /* operators beside their like, for comm */
/* Whether the tasks of the rank's collectives tell of waits, which are then in no time of an operator. */
bool ps_report_knows_waits(const ps_report_member *m);
/* An operator as a row of evidence of the last finding. */
void ps_report_show_op(ps_report *report, const ps_report_member *m, const ps_comm_op *op,
                       int64_t dur_ns, const char *note);

/* Fills `job`, `waited` and the members' `waited_of`; before all sections. */
void ps_report_find_peers(ps_report *report);
enum { PS_PARTIAL_TEXT = 96, PS_WAITED_TEXT = 192 };
/* " Of the 8 ranks of the job 2 are here"; "" where all are, or nobody knows. */
const char *ps_report_partial_text(const ps_report *report, char out[PS_PARTIAL_TEXT]);
#define PS_OTHERS_UNKNOWN(lang)                                                                    \
    PS_SAY(lang, ": how the others do is not known, so no gain is told.",                          \
           "：其他 rank 的情况不得而知，因此不给出收益。")
/* Of one of the member's peers; NULL: no rank is named. */
const ps_report_waited *ps_report_waited_by(const ps_report *report, const ps_report_member *m,
                                            uint32_t peer);
/* The one that the member's collectives wait for longest, with nothing computed beside them, and how long in a step; NULL: none is known. */
const ps_report_waited *ps_report_most_waited(const ps_report *report, const ps_report_member *m,
                                              int64_t *most_ns);
/* "rank 3,", "rank 6, which was not captured," */
const char *ps_report_waited_text(ps_lang lang, const ps_report_waited *x,
                                  char out[PS_WAITED_TEXT]);
/* What the tasks of the member's collectives wait for, a sentence; for comm, of a member with tasks that wait. */
void ps_report_say_waits(const ps_report *report, const ps_report_member *m, char *out,
                         size_t size);
void ps_report_absent_rank(ps_report *report); /* a rank that was not captured, for comm */
/* Who waits for whom: fills `skew`, the members' waits and what ps_report_find_absent() finds; behind ps_report_find_peers() and before all
 * sections. */
void ps_report_measure_skew(ps_report *report);
/* Where tasks name nobody: fills the members' `absent`, and notes in `job` that ranks are missing. */
void ps_report_find_absent(ps_report *report, const ps_skew *skew);
/* Of it, in a collective of the member. */
int64_t ps_report_absent_within_ns(const ps_report_member *m, const ps_comm_op *op);
/* The finding of that; false: there is none. */
bool ps_report_absent_ranks(ps_report *report);
bool ps_report_rank_is_here(const ps_report *report, int64_t rank);
/* What the profile's tables say of the times of an operator; NULL when they do not have it. */
const ps_comm_time *ps_report_comm_time(const ps_report_member *m, const ps_comm_op *op);
void ps_report_units(ps_report *report);
void ps_report_fusions(ps_report *report);
void ps_report_optimiser_launches(ps_report *report);
/* What a host without an activity gains behind it, per step (report_lead.c). */
typedef struct ps_report_lead {
    int64_t idle_ns, comm_ns; /* where the device is idle, or does nothing but communicate */
    char text[160];           /* a sentence; "" where it is none */
} ps_report_lead;

/* Of all activities that one rule counts with this one, the first of them; no more than `most_ns`, and of communication `most_comm_ns`. */
ps_report_lead ps_report_lead_of(const ps_report_member *m, int activity, int64_t most_ns,
                                 int64_t most_comm_ns);

/* What to try where the host is late in the optimiser's step and its kernels are few already; false: what the rule says. */
bool ps_report_optimiser_remedy(const ps_report *report, const ps_report_member *m, char *out,
                                size_t size);
/* Sentences on what the process of the member does while it fetches a batch, and what to try (NULL: what the rule says). */
void ps_report_say_fetch(const ps_report_member *m, char *out, size_t size);
const char *ps_report_fetch_remedy(const ps_report_member *m);
/* In which operators the host is in this activity while the device waits, the most first: "aten::mm 12.3 ms (96 a step), ...". They
 * add up to the idle time of the activity, with what lies in the bubble. "" where nothing is known. */
void ps_report_say_operators(ps_lang lang, const ps_report_rank *r, ps_activity activity, char *out,
                             size_t size);
/* Of ranges that the program named, those in which most of it lies: " (## backward ## 9.78 ms, ...)", or "". */
void ps_report_say_ranges(ps_lang lang, const ps_report_rank *r, char *out, size_t size);
void ps_report_network(ps_report *report);         /* links and packets, for comm */
void ps_report_find_contention(ps_report *report); /* for network */
/* The first slow link that is in a communicator of the rank, or NULL. */
const ps_report_slow_link *ps_report_slow_link_of(const ps_report *report, int64_t rank);
void ps_report_doubts(ps_report *report); /* computing or communication, for comm */
void ps_report_pipeline(ps_report *report);
void ps_report_exposed_copies(ps_report *report); /* for dispatch */
/* Of the last finding: it counts what its rule claims on the rank; an event of the rank as a row of its evidence. */
void ps_report_add_claim(ps_report *report, const ps_report_member *m, ps_rule_id rule);
void ps_report_show_event(ps_report *report, const ps_report_member *m, const ps_report_event *e,
                          const char *note);

/* The table `sections`: what there is to say of each beside its findings, such as what was not judged and why. */
PS_MUST_USE ps_code ps_report_add_sections(const ps_report *report, ps_err *err);
typedef enum ps_judged { PS_JUDGED_NOTHING, PS_JUDGED_A_PART, PS_JUDGED_ALL } ps_judged;
/* Of the sections: some lack what their rules look at. */
ps_judged ps_report_judged(const ps_report *report);
/* The table `verdict`, of findings whose gains are bounded and sorted. */
PS_MUST_USE ps_code ps_report_add_verdict(const ps_report *report, ps_err *err);
/* The table `overview_stages`, a row a stage; those whose stage is not known are the first. */
void ps_report_give_stages(const ps_report *report);

/* A table of the chart's result by name, or NULL. */
const ps_table *ps_report_chart_table(const ps_report *report, const char *name);

/* A time of the chart by the clock of one of its ranks (a row of the chart), as all facts of a rank are: Unix ns. */
int64_t ps_report_own_time(const ps_chart *chart, uint32_t row, int64_t chart_ns);

/* A cell by the name of its column; the fallback for NULL or an unknown column. */
int64_t ps_column_int(const ps_table *t, size_t row, const char *column, int64_t fallback);
double ps_column_real(const ps_table *t, size_t row, const char *column);
bool ps_column_is_known(const ps_table *t, size_t row, const char *column);
const char *ps_column_text(const ps_table *t, size_t row, const char *column);

#endif
