/* The report over hand-made traces, in memory. Times are microseconds after EPOCH. Everything fails the running test when it
 * cannot be done. */
#ifndef TEST_SUPPORT_REPORT_RUN_H
#define TEST_SUPPORT_REPORT_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/core/analysis.h"
#include "analyze/report/report_rules.h"
#include "model/trace.h"

#define REPORT_EPOCH_NS INT64_C(1700000000000000000)
#define US INT64_C(1000)

/* One rank: a host thread, a stream, a communicator. */
typedef struct rig {
    ps_builder *b;
    uint32_t host, stream, group;
} rig;

/* With one step, 1, from 0 to `end`. */
rig rig_begin(int64_t end);
uint32_t rig_slice(rig *r, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                   int64_t end);
/* On the host thread. */
uint32_t rig_host(rig *r, ps_slice_kind kind, const char *name, int64_t start, int64_t end);
/* A kernel that a call of 1 us at `call` launched; `type` and `shapes` may be NULL. */
uint32_t rig_kernel(rig *r, const char *type, const char *shapes, int64_t call, int64_t start,
                    int64_t end);
/* An operator of the communicator; `n_elements` of FP32, 0: not said. */
uint32_t rig_comm(rig *r, const char *name, int64_t start, int64_t end, int64_t n_elements);
void rig_text(rig *r, uint32_t slice, const char *key, const char *value);
void rig_counter(rig *r, const char *series, int64_t at, double value);
ps_trace *rig_seal(rig *r);

typedef struct report_run {
    ps_result result;
    ps_diag diags[8];
    ps_code code; /* of the reduce */
    ps_err err;
} report_run;

/* All rounds over the traces, which it frees; ranks 0, 1, ... of one machine. `before` (or NULL) is what an analysis
 * before the report made. */
void report_over(report_run *out, ps_trace **traces, size_t n, const ps_analysis_opts *opts,
                 const ps_result *before);
/* The same on machines [n]. */
void report_on_machines(report_run *out, ps_trace **traces, size_t n, const int32_t *machines);
/* Of one trace of which nobody says which rank it is. */
void report_without_rank(report_run *out, ps_trace *trace);
void report_fini(report_run *run);

const ps_table *report_table(const report_run *run, const char *name);
/* The row of the first finding of the rule, SIZE_MAX for none. */
size_t report_row(const report_run *run, ps_rule_id rule);
bool report_fired(const report_run *run, ps_rule_id rule);
/* Its gain per step, 0 for none. */
int64_t report_gain(const report_run *run, ps_rule_id rule);
const char *report_text(const report_run *run, ps_rule_id rule);

#endif
