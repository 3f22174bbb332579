/* Traces by hand and analyses over them, in memory: what goes in stands in the test, and so does every table that comes
 * out.
 *
 * Everything fails the running test when it cannot be done. */
#ifndef TEST_SUPPORT_SMALL_RUNS_H
#define TEST_SUPPORT_SMALL_RUNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/core/analysis.h"
#include "model/trace.h"

/* Times given below count from here. */
#define SMALL_EPOCH_NS INT64_C(1700000000000000000)

uint32_t small_thread(ps_builder *b, int64_t tid);
uint32_t small_stream(ps_builder *b, int64_t stream); /* of device 0 */
uint32_t small_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, const char *name,
                     int64_t start_ns, int64_t end_ns);
void small_arg(ps_builder *b, uint32_t slice, const char *key, const char *text);
void small_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns);
ps_trace *small_seal(ps_builder *b);
/* The only slice of that name. */
uint32_t small_find(const ps_trace *t, const char *name);

enum { SMALL_MAX_RANKS = 8 };

typedef struct small_run {
    ps_result result;
    ps_diag diags[SMALL_MAX_RANKS];
    ps_code map_codes[SMALL_MAX_RANKS];
    ps_code code; /* of the reduce */
    ps_err err;   /* of what failed last */
} small_run;

/* All rounds of a mode over traces of ranks 0, 1, ...; a NULL trace is a rank that failed. `opts` NULL: all steps. */
void small_run_mode(small_run *o, const char *mode, ps_trace *const *traces, size_t n,
                    const ps_analysis_opts *opts);
void small_run_fini(small_run *o);

/* Makes allocation N of a run over the traces fail, for every N: each time somebody says that memory is out. */
void small_run_without_memory(const char *mode, ps_trace *const *traces, size_t n);

/* Rows as "a|b|c" lines, NULL as NULL, reals with up to ten digits. */
void small_expect(const small_run *o, const char *table, const char *expected);
const ps_table *small_table(const small_run *o, const char *table); /* or NULL */

#endif
