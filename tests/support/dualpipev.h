/* The marks of one DualPipeV step, made from the description of the schedule
 * (phases, counts, labels) and not from the program's own list, so that a test
 * has a second opinion. */
#ifndef TEST_SUPPORT_DUALPIPEV_H
#define TEST_SUPPORT_DUALPIPEV_H

#include "base/buf.h"
#include "support/profile.h"

enum { MAX_EXPECTED = 512, MARK_NS = 1000, GAP_NS = 10 };

/* A time of these days, so that epochs are as long as real ones. */
#define EPOCH_NS INT64_C(1714550400000000000)

typedef struct expected_mark {
    char kind;      /* F, B, W, P (overlapped pair), L (backward of the output head:
                its mark is a backward) */
    int microbatch; /* what the message says: of its chunk, for a pair that of the
                     forward; -1 none */
    char label[32];
    int phase;
} expected_mark;

typedef struct expected_step {
    expected_mark marks[MAX_EXPECTED];
    int n;
} expected_step;

/* Stage i of p, m microbatches. With `overlap_off` a pair is a forward and then
 * a backward, and there are no marks of the output head. */
void expected_list(expected_step *out, int p, int m, int i, bool overlap_off);

/* What the mark says: a Python dict with the function's name and, with
 * `say_microbatch`, current_microbatch. */
const char *expected_message(const expected_mark *m, bool say_microbatch);

/* Puts the marks of a step one behind the other (MARK_NS long, GAP_NS apart) on
 * host and device; mark `lost` (-1 none) is left out and leaves its time idle.
 * Returns where the step ends. */
int64_t add_step(profile *p, const expected_step *step, int64_t start_ns, bool say_microbatch,
                 int lost);

/* The names in StepTaskInfo of rows that start in [start, end), blanks between,
 * must be this text. */
void expect_labels_at(const char *db, int64_t start_ns, int64_t end_ns, const char *expected,
                      const char *file, int line);
#define expect_labels_between(db, start, end, expected)                                            \
    expect_labels_at(db, start, end, expected, __FILE__, __LINE__)
#define expect_labels(db, expected)                                                                \
    expect_labels_at(db, INT64_MIN, INT64_MAX, expected, __FILE__, __LINE__)

/* Appends the labels, but that of mark `lost` (-1 none). */
void add_labels(ps_buf *out, const expected_step *step, int lost);
/* All of StepTaskInfo must be the labels of the step, but that of mark `lost`.
 */
void expect_step_at(const char *db, const expected_step *step, int lost, const char *file,
                    int line);
#define expect_step(db, step, lost) expect_step_at(db, step, lost, __FILE__, __LINE__)

#endif
