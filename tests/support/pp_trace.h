/* Traces of pipelines as a program labels them, made from schedules: for each rank the host ranges, the calls inside of
 * them, the kernels that those launch (backward ones from a thread of their own), and what else a test asks for. As
 * sealed traces, or as files of the PyTorch profiler.
 *
 * Everything fails the running test when it cannot be done. */
#ifndef TEST_SUPPORT_PP_TRACE_H
#define TEST_SUPPORT_PP_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/core/analysis.h"
#include "model/trace.h"
#include "schedule/sim.h"

#define PP_EPOCH_NS INT64_C(1700000000000000000)

typedef enum pp_style {
    PP_ACTIONS,     /* PP:3F7 */
    PP_OLD_ACTIONS, /* the same of late 2024: B for the input gradient, BW for the whole backward */
    PP_GPIPE,       /* Forward 7 */
    PP_FUNCTIONS,   /* forward_step */
    PP_USER,        /* step: fwd mb=7 */
    PP_FLOWS        /* no names, but flows between forward and backward operators */
} pp_style;

typedef struct pp_spec {
    const char *schedule;
    ps_schedule_params params;
    pp_style style;
    int n_steps;    /* 0: one */
    bool windows;   /* ProfilerStep */
    bool no_device; /* a CPU only */
    bool extras;    /* PP:..SEND_.., RECV_.., UNSHARD, RESHARD, and communication kernels */
    bool groups;    /* distributedInfo with the groups of the pipelines */
    bool transfers; /* NCCL kernels of sends and receives that name their peer */
    int n_replicas; /* 0: one; rank = replica * p + stage */
    int lost_rank,
        lost; /* op number `lost` (from 1) of that rank has no label, or no flows; 0: none */
    int cut;  /* so many ops of every rank before the capture began: no labels in the first step */
    int n_hosts;     /* ranks in blocks on that many hosts; 0: said of none */
    int64_t skew_ns; /* of each host against the one before */
} pp_spec;

typedef struct pp_traces {
    ps_sim_plan *plan;
    int64_t *start_ns,
        *end_ns; /* [plan->n_ops] on the device, in the first step, of an unskewed clock */
    ps_trace *traces[64];
    size_t n;
} pp_traces;

void pp_traces_make(pp_traces *t, const pp_spec *spec);
void pp_traces_fini(pp_traces *t);

/* The same as <dir>/rank-N.pt.trace.json. */
void pp_traces_write(const pp_spec *spec, const char *dir);

/* Runs pp_labels over the traces, in memory. */
typedef struct pp_outcome {
    ps_result result;
    ps_diag diags[64];
    ps_code code; /* of the reduce */
    ps_code map_codes[64];
    ps_err err; /* of what failed last */
} pp_outcome;

void pp_run(pp_outcome *o, ps_trace *const *traces, size_t n, const ps_analysis_opts *opts);
void pp_outcome_fini(pp_outcome *o);
uint64_t pp_count(const pp_outcome *o, size_t n, ps_oddity kind);

/* One rank by hand: ranges of one thread, calls in them, and the kernels of one stream that those launch. */
typedef struct pp_tiny {
    ps_builder *b;
    uint32_t host, stream;
} pp_tiny;

pp_tiny pp_tiny_new(void);
void pp_tiny_range(pp_tiny *t, const char *name, int64_t start, int64_t end);
void pp_tiny_kernel(pp_tiny *t, ps_slice_kind kind, int64_t at, int64_t start, int64_t end);

#endif
