/* What a step would gain without the cause of a finding, at most; which findings count the same time; and their order.
 *
 * A rule measures its cause on one rank. That the step gets shorter by as much is not said: another rank may have as much to
 * do without waiting for this one. So a gain is bounded by what each rank does itself in a step, which it still has to do,
 * less what the cause takes of it there:
 *
 *   own(r)   = computing(r) + exposed communication(r) + copies(r) - waits(r)   waits: in collectives and receives, for ranks that come later
 *   gain    <= step - max over r of (own(r) - removes(r))           removes: what rank r works less without the cause, at most
 *
 * For a rule about one thing that the host does (fetching a batch, compiling), own(r) has what the device of r is idle for other work of
 * its host, too, as far as that cannot wait for other ranks itself: that goes on. So what is saved on a rank that then waits for another one is bounded by what the other one saves.
 *
 * A rule that claims rank by rank (report_claims.h) is bounded by the steps of the ranks, too: each step gets shorter by what the rank saves
 * itself, and, where it waits for others, by what it then waits less, up to the most that a rank saves:
 *
 *   gain    <= longest step - max over r of (step(r) - saves(r) - min(yields(r), most - saves(r)))
 *
 * yields(r): its waits in collectives for the last captured rank (but where that waits for one that was not captured), its receives, and its
 * bubble. All else of its step is taken to stay. A finding is told of the rank where it is worst; where another one bounds its gain the text says so.
 *
 * removes is, for causes of idle time, what the device communicates while nothing to compute was launched yet (idle.h): that a host in
 * time may hide, on every rank; and else the gain that the rule claims, never more than r's computing (or exposed
 * communication, as the rule counts); for causes that lie in one rank alone it is 0 on all others.
 *
 * What a schedule wins of the bubble depends on the number of microbatches, too: replays with the measured one bound nothing, they
 * are a finding of their own. Stalls gain no more than the bubble that they are parts of.
 *
 * Computing that pays nothing is no part of what a rule claims (report_pays.c).
 *
 * What is saved before a collective that waits for a rank that was not captured is only waited longer there: of such gains it is said
 * that they come true once that rank comes earlier. They are not bounded by it, for it may have the same cause.
 *
 * It is an upper bound: the path between ranks is not replayed, and idle time counts as nobody's own, since a capture does not say
 * whether a host that comes late waited for another rank. */
#ifndef PS_ANALYZE_REPORT_GAINS_H
#define PS_ANALYZE_REPORT_GAINS_H

#include "analyze/comm/skew.h"
#include "analyze/report/report.h"

/* Notes in each member what it waits for others in a step. */
void ps_report_note_waits(ps_report *report, const ps_skew *skew);
/* And what of it may be waited less once other captured ranks come earlier; behind ps_report_find_absent(). */
void ps_report_note_yields(ps_report *report, const ps_skew *skew);
/* Whether the captured rank that comes last to the collective waits in it itself for one that is not here. */
bool ps_report_is_overtaken(const ps_report *report, const ps_matched_collective *x,
                            const ps_report_member *last, uint32_t op);

/* Whether the replay of the current schedule is like the measured step (ps_replay_is_like): else the chart tells no gain of
 * another one. False without a replay. */
bool ps_report_replay_is_like(const ps_report *report);

/* Fills the members' `absorbed`, once it is known who waits for whom. */
void ps_report_find_absorbed(ps_report *report);
/* Of the gain of a finding of the member (NULL: of several) whose spans are known and united, per step: what lies before the last wait for ranks that are not here. */
int64_t ps_report_absorbed_ns(ps_report *report, const ps_finding *f);

/* Spans of a gain, and what of them lies in other spans too, on one rank or on several: sums over their steps. comm: of these, beside
 * communication that stands alone because the host is late. */
typedef struct ps_common_time {
    int64_t both_ns, own_ns, both_comm_ns, own_comm_ns;
    int64_t n_steps;
} ps_common_time;

/* Adds what the united spans have on the member. False when memory is out. */
bool ps_report_add_common(const ps_report_member *m, const ps_intervals *own,
                          const ps_intervals *others, ps_common_time *sum);
/* Per step: the least of what both hold that a gain must count. The spans hold more than was `claimed` where communication is counted in
 * part: that may be the communication in both. What other ranks took off from there to the gain may be any. */
int64_t ps_report_least_common_ns(const ps_common_time *sum, int64_t claimed_ns, int64_t gain_ns);
/* Whether every rank has such waits. */
bool ps_report_all_absorb(const ps_report *report);

/* own(r): what the device of the rank does itself in a step; it takes that long whatever the others do. */
int64_t ps_report_own_ns(const ps_report_member *m);

/* Bounds the gains of all findings, says in their texts which rank bounds them, and sorts: the largest gain first, who is slow before those that
 * wait, then those without a gain in the order of their sections. Then tells each finding which of those before it counts the same time.
 * Memory that runs out is noted in report->findings.failed. */
void ps_report_bound_gains(ps_report *report);

#endif
