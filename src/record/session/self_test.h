/* What the recorder itself costs on this machine, now: a range into a ring of its own, a mark, a look at the clock. Measured once a
 * process by the writer's thread, a few hundredths of a millisecond at a time and about a tenth in all; nothing of it is in the
 * recording but the result, META_DATA collector.overhead_self_test:
 *
 *     {"range_ns": 48.2, "mark_ns": 31.0, "clock_ns": 11.4, "batches": 9}
 *
 * medians over batches; a range is its start and its end, with a known text. */
#ifndef PS_RECORD_SELF_TEST_H
#define PS_RECORD_SELF_TEST_H

/* Some batches, unless all are done; nothing while only made ready. By the writer's thread, with the clock of its recording. */
void ps_self_test_round(int clock);

/* The writer's thread ends: notes what there is, where that was not done. */
void ps_self_test_end(void);

/* In a forked child: the parent's writer was in the middle of it. */
void ps_self_test_forget(void);

/* Through ring 0, what an earlier recording of the process has found. */
void ps_self_test_define(void);

#endif
