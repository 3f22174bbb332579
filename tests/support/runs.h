/* Running analyses in a test: through the library, to look at reports and
 * charts, or through the program itself, for exit codes and messages. */
#ifndef TEST_SUPPORT_RUNS_H
#define TEST_SUPPORT_RUNS_H

#include "base/buf.h"
#include "run/cluster.h"
#include "run/run.h"
#include "support/profile.h"

/* All steps, metadata as found, two threads, results into the databases. */
ps_run_opts default_opts(void);

typedef struct outcome {
    ps_cluster *cluster;
    ps_run *run; /* NULL when nothing could be done: err says why */
    ps_err err;
} outcome;

/* Runs one mode over all ranks below the path; `opts` NULL means
 * default_opts(). The caller ends with outcome_fini(). */
void run_mode(outcome *o, const char *path, const char *mode, const ps_run_opts *opts);
void outcome_fini(outcome *o);
/* run_mode(pp_chart), which must succeed on all ranks. */
void run_pp_chart(const char *path, const ps_run_opts *opts);

/* How often an oddity was counted, over all ranks. */
uint64_t count_oddity(const outcome *o, ps_oddity kind);
const ps_rank_report *report_of(const outcome *o, int64_t rank);

/* Runs the program ($PIPESCOPE_BIN) with these arguments (the last one NULL);
 * what it says on either stream goes into `said` (initialised here; ps_buf_fini
 * it), which may be NULL. Returns the exit status. Skips the test when there is
 * no program. */
int run_program(ps_buf *said, ...) __attribute__((sentinel));

bool contains(const ps_buf *text, const char *part);
size_t count_lines_with(const ps_buf *text, const char *part);

#endif
