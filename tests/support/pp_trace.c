#include "support/pp_trace.h"
#include "analyze/derived/derived.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/action.h"

enum { MAIN_THREAD = 100, AUTOGRAD_THREAD = 101, STREAM = 7, COMM_STREAM = 20 };

/* Where events go: a builder, or a file of events. */
typedef struct sink {
    ps_builder *b;
    FILE *file;
    int64_t skew_ns;
    int64_t n_events, n_correlations, n_flows;
    int rank;
} sink;

static uint32_t put(sink *s, ps_slice_kind kind, const char *category, int64_t thread,
                    const char *name, int64_t start, int64_t end, const char *args) {
    bool device = kind >= PS_SLICE_KERNEL;
    start += s->skew_ns;
    end += s->skew_ns;
    s->n_events++;
    if (s->file != NULL) {
        int64_t from = start - PP_EPOCH_NS;
        (void)fprintf(
            s->file,
            "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%lld,\"ts\":%lld.%03d,"
            "\"dur\":%lld.%03d,\"args\":{%s}}",
            s->n_events > 1 ? ",\n" : "", category, name, device ? 0 : 4000, (long long)thread,
            (long long)(from / 1000), (int)(from % 1000), (long long)((end - start) / 1000),
            (int)((end - start) % 1000), args);
        return 0;
    }
    ps_track track = {.kind = device ? PS_TRACK_STREAM : PS_TRACK_HOST_THREAD,
                      .pid = device ? 0 : 4000,
                      .tid = thread,
                      .device = device ? 0 : -1};
    uint32_t row =
        ps_builder_slice(s->b, kind, ps_builder_track(s->b, track),
                         ps_builder_str(s->b, name, strlen(name)), start, end, s->n_events);
    assert_int_not_equal(row, PS_NONE);
    return row;
}

/* A call at `at` that launches work on the device. */
static void launch(sink *s, int64_t thread, int64_t at, ps_slice_kind kind, int64_t stream,
                   const char *name, int64_t start, int64_t end, const char *more) {
    char args[512];
    (void)snprintf(args, sizeof args, "\"correlation\":%lld", (long long)++s->n_correlations);
    uint32_t from =
        put(s, PS_SLICE_CALL, "cuda_runtime", thread, "cudaLaunchKernel", at, at + 3, args);
    (void)snprintf(args, sizeof args, "\"correlation\":%lld,\"stream\":%lld,\"device\":0%s",
                   (long long)s->n_correlations, (long long)stream, more);
    uint32_t to = put(s, kind, "kernel", stream, name, start, end, args);
    if (s->b != NULL) {
        ps_builder_flow_of(s->b, from, to, ps_builder_str(s->b, "ac2g", 4));
    }
}

/* --- names --------------------------------------------------------------------------------------------------- */

static void action_of(const pp_spec *spec, const ps_sim_plan *plan, int32_t stage,
                      const ps_sched_op *op, char *out, size_t size) {
    ps_action a = {.n_parts = op->kind == PS_OP_FB ? 2 : 1};
    bool old = spec->style == PP_OLD_ACTIONS;
    ps_action_kind kind = ps_action_kind_of(op->kind == PS_OP_FB ? PS_OP_F : op->kind);
    kind = old && op->kind == PS_OP_BI  ? PS_ACTION_B
           : old && op->kind == PS_OP_B ? PS_ACTION_BW
                                        : kind;
    a.parts[0] =
        (ps_action_part){kind, ps_lists_logical(&plan->lists, stage, op->chunk), op->microbatch};
    if (op->kind == PS_OP_FB) {
        a.parts[1] = (ps_action_part){
            PS_ACTION_B, ps_lists_logical(&plan->lists, stage, op->chunk2), op->microbatch2};
    }
    (void)snprintf(out, size, "PP:");
    ps_action_text(&a, out + 3, size - 3);
}

static void name_of(const pp_spec *spec, const ps_sim_plan *plan, int32_t stage,
                    const ps_sched_op *op, char *out, size_t size) {
    bool forward = op->kind == PS_OP_F;
    switch (spec->style) {
    case PP_ACTIONS:
    case PP_OLD_ACTIONS:
        action_of(spec, plan, stage, op, out, size);
        break;
    case PP_GPIPE:
        (void)snprintf(out, size, "%s %d", forward ? "Forward" : "Backward", op->microbatch);
        break;
    case PP_USER:
        (void)snprintf(out, size, "step: %s mb=%d!", forward ? "fwd" : "bwd", op->microbatch);
        break;
    case PP_FUNCTIONS:
        (void)snprintf(out, size, "%s",
                       op->kind == PS_OP_FB   ? "forward_backward_overlaping"
                       : op->kind == PS_OP_BW ? "WeightGradStore.pop"
                       : forward              ? "megatron.core.schedules.forward_step"
                                              : "backward_step");
        break;
    case PP_FLOWS:
        (void)snprintf(out, size, "%s", "");
        break;
    }
}

/* --- one rank -------------------------------------------------------------------------------------------------- */

enum { HOST_OP_NS = 1000, LEAD_NS = 1000000 }; /* the host runs ahead of the device */

/* Ranges that belong to no computation. */
static void put_extras(sink *s, int64_t at, int32_t stage, int32_t microbatch, int64_t device_ns) {
    char name[64];
    (void)snprintf(name, sizeof name, "PP:%dRECV_F%d", stage, microbatch);
    (void)put(s, PS_SLICE_ANNOTATION, "user_annotation", MAIN_THREAD, name, at, at + 20, "");
    launch(s, MAIN_THREAD, at + 5, PS_SLICE_COMM_KERNEL, COMM_STREAM, "ncclDevKernel_SendRecv()",
           device_ns - 50, device_ns, "");
    (void)snprintf(name, sizeof name, "PP:%dRESHARD", stage);
    (void)put(s, PS_SLICE_ANNOTATION, "user_annotation", MAIN_THREAD, name, at + 21, at + 40, "");
}

/* Forward operators begin in the order 0, 1; their backwards in the order 1, 0. */
static void put_operators(sink *s, bool forward, int64_t at, uint32_t *rows) {
    for (int k = 0; k < 2; k++) {
        rows[forward ? k : 1 - k] =
            put(s, PS_SLICE_HOST_OP, "cpu_op", forward ? MAIN_THREAD : AUTOGRAD_THREAD,
                forward ? "aten::mm" : "MmBackward0", at + 100 + k * 400, at + 400 + k * 400, "");
    }
}

typedef struct rank_job {
    const pp_spec *spec;
    const ps_sim_plan *plan;
    const int64_t *start_ns, *end_ns;
    int32_t stage;
    int rank;
    uint32_t forward_rows[1024][2]; /* PP_FLOWS: operators by (chunk, microbatch) */
} rank_job;

static void put_op(sink *s, rank_job *j, uint32_t op, int64_t host_ns, int64_t device_ns,
                   bool labelled) {
    const ps_sched_op *o = &j->plan->ops[op];
    int64_t start = device_ns + j->start_ns[op];
    int64_t end = device_ns + j->end_ns[op];
    bool forward = o->kind == PS_OP_F || o->kind == PS_OP_FB;
    char name[128];
    name_of(j->spec, j->plan, j->stage, o, name, sizeof name);
    int64_t host_end = host_ns + HOST_OP_NS;
    if (j->spec->no_device) {
        host_ns = start;
        host_end = end;
    }
    if (j->spec->extras) {
        put_extras(s, host_ns - 50, ps_lists_logical(&j->plan->lists, j->stage, o->chunk),
                   o->microbatch, start);
    }
    if (name[0] != '\0' && labelled) {
        (void)put(s, PS_SLICE_ANNOTATION, "user_annotation", MAIN_THREAD, name, host_ns, host_end,
                  "");
    }
    if (j->spec->style == PP_FLOWS && o->kind != PS_OP_BW) {
        uint32_t *f = j->forward_rows[o->chunk * 128 + o->microbatch];
        uint32_t b[2];
        put_operators(s, forward, host_ns, forward ? f : b);
        if (forward && !labelled) {
            f[0] = PS_NONE;
        }
        for (int k = 0; k < 2 && !forward && s->b != NULL && f[0] != PS_NONE; k++) {
            ps_builder_flow_of(s->b, f[k], b[k], ps_builder_str(s->b, "fwdbwd", 6));
        }
    }
    if (!j->spec->no_device) {
        int64_t thread = forward ? MAIN_THREAD : AUTOGRAD_THREAD;
        int64_t middle = start + (end - start) / 2;
        launch(s, thread, host_ns + 150, PS_SLICE_KERNEL, STREAM, "gemm", start, middle, "");
        launch(s, thread, host_ns + 700, PS_SLICE_KERNEL, STREAM, "gemm", middle, end, "");
        launch(s, thread, host_ns + 800, PS_SLICE_COMM_KERNEL, COMM_STREAM,
               "ncclDevKernel_AllReduce()", start - 30, end + 40, "");
    }
}

/* A transfer along the link from op to op: both ends say whom with. */
static void put_transfer(sink *s, int64_t host_ns, bool is_send, int peer, int64_t start,
                         int64_t end) {
    char args[256];
    (void)snprintf(args, sizeof args,
                   ",\"Collective name\":\"%s\",\"Process Group Name\":\"9\",\"%s Rank\":%d",
                   is_send ? "send" : "recv", is_send ? "Dst" : "Src", peer);
    launch(s, MAIN_THREAD, host_ns, PS_SLICE_COMM_KERNEL, COMM_STREAM + is_send,
           "ncclDevKernel_SendRecv()", start, end, args);
    if (s->b != NULL) {
        uint32_t row = ps_builder_n_slices(s->b) - 1;
        const char *what = is_send ? "send" : "recv";
        ps_builder_arg_str(s->b, row, "Collective name", ps_builder_str(s->b, what, 4));
        ps_builder_arg_str(s->b, row, "Process Group Name", ps_builder_str(s->b, "9", 1));
        ps_builder_arg_int(s->b, row, is_send ? "Dst Rank" : "Src Rank", peer);
    }
}

static int32_t device_of(const ps_sim_plan *plan, uint32_t op) {
    return ps_lists_device(&plan->lists, op);
}

static void put_transfers(sink *s, const rank_job *j, int first_rank, int64_t host_ns,
                          int64_t device_ns) {
    for (uint32_t op = 0; op < j->plan->n_ops; op++) {
        const uint32_t inputs[2] = {j->plan->forward_input[op], j->plan->backward_input[op]};
        for (int k = 0; k < 2; k++) {
            int32_t to = device_of(j->plan, op);
            int32_t from = inputs[k] != PS_NO_OP ? device_of(j->plan, inputs[k]) : to;
            if (from == to || (from != j->stage && to != j->stage)) {
                continue;
            }
            int64_t sent = device_ns + j->end_ns[inputs[k]];
            int peer = first_rank + (from == j->stage ? to : from);
            put_transfer(s, host_ns, from == j->stage, peer, sent, sent + 100);
        }
    }
}

static void put_rank(sink *s, rank_job *j, int first_rank) {
    const pp_spec *spec = j->spec;
    int n_steps = spec->n_steps > 0 ? spec->n_steps : 1;
    int64_t step_ns = 3 * LEAD_NS;
    for (uint32_t op = 0; op < j->plan->n_ops; op++) {
        int64_t end = j->end_ns[op] + 3 * LEAD_NS;
        step_ns = end > step_ns ? end : step_ns;
    }
    for (int step = 0; step < n_steps; step++) {
        int64_t at = PP_EPOCH_NS + 5 * LEAD_NS + step * step_ns;
        int64_t device_ns = at + LEAD_NS;
        if (spec->windows) {
            char name[32];
            (void)snprintf(name, sizeof name, "ProfilerStep#%d", step + 7);
            (void)put(s, PS_SLICE_ANNOTATION, "user_annotation", MAIN_THREAD, name, at,
                      at + step_ns - 1000, "");
            if (s->b != NULL) {
                ps_builder_step(s->b, step + 7, at + s->skew_ns, at + s->skew_ns + step_ns - 1000);
            }
        }
        int64_t host_ns = at + 1000;
        size_t first = j->plan->first[j->stage];
        for (size_t op = first; op < j->plan->first[j->stage + 1]; op++) {
            bool lost = (j->rank == spec->lost_rank && (int)(op - first) + 1 == spec->lost) ||
                        (step == 0 && (int)(op - first) < spec->cut);
            put_op(s, j, (uint32_t)op, host_ns, device_ns, !lost);
            host_ns += HOST_OP_NS + 100;
        }
        if (spec->transfers) {
            put_transfers(s, j, first_rank, at + 500, device_ns);
        }
    }
}

/* --- metadata ---------------------------------------------------------------------------------------------------- */

static void distributed_info(const pp_spec *spec, int rank, int world, char *out, size_t size) {
    int p = spec->params.n_stages;
    int n = snprintf(out, size, "{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d", rank, world);
    if (spec->groups) {
        n += snprintf(out + n, size - (size_t)n,
                      ",\"pg_config\":[{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\"},"
                      "{\"pg_name\":\"3\",\"pg_desc\":\"mesh_pp\",\"ranks\":[");
        for (int s = 0; s < p; s++) {
            n += snprintf(out + n, size - (size_t)n, "%s%d", s > 0 ? "," : "", rank / p * p + s);
        }
        n += snprintf(out + n, size - (size_t)n, "]}]");
    }
    (void)snprintf(out + n, size - (size_t)n, "}");
}

/* --- all ranks --------------------------------------------------------------------------------------------------- */

static void simulate(pp_traces *t, const pp_spec *spec) {
    const ps_sim_times times = {.f_ns = 10000, .b_ns = 20000, .w_ns = 10000, .fb_ns = 26000};
    ps_err err = PS_ERR_INIT;
    t->plan = ps_sim_plan_new(ps_schedule_find(spec->schedule), &spec->params, &err);
    if (t->plan == NULL) {
        fail_msg("%s: %s", spec->schedule, err.msg);
    }
    int64_t *durations = ps_calloc(t->plan->n_ops, sizeof *durations);
    t->start_ns = ps_calloc(t->plan->n_ops, sizeof *t->start_ns);
    t->end_ns = ps_calloc(t->plan->n_ops, sizeof *t->end_ns);
    assert_true(durations != NULL && t->start_ns != NULL && t->end_ns != NULL);
    ps_sim_fill_durations(t->plan, &times, durations);
    ps_sim_result result = {.start_ns = t->start_ns, .end_ns = t->end_ns};
    assert_int_equal(ps_sim_run(t->plan, durations, 500, 0, &result, &err), PS_OK);
    ps_free(durations);
}

typedef void rank_fn(void *context, sink *s, int rank, const char *info, const char *host);

/* Opens a sink for each rank by `begin`, fills it, closes it by `end`. */
static void each_rank(const pp_spec *spec, const pp_traces *t, void *context, rank_fn *begin,
                      rank_fn *end) {
    int p = spec->params.n_stages;
    int world = p * (spec->n_replicas > 0 ? spec->n_replicas : 1);
    assert_true(world <= 64);
    static rank_job j;
    for (int rank = 0; rank < world; rank++) {
        char info[1024];
        char host[32] = "";
        sink s = {.rank = rank};
        distributed_info(spec, rank, world, info, sizeof info);
        if (spec->n_hosts > 0) {
            int number = rank * spec->n_hosts / world;
            (void)snprintf(host, sizeof host, "node%d", number);
            s.skew_ns = number * spec->skew_ns;
        }
        begin(context, &s, rank, info, host);
        j = (rank_job){.spec = spec,
                       .plan = t->plan,
                       .start_ns = t->start_ns,
                       .end_ns = t->end_ns,
                       .stage = rank % p,
                       .rank = rank};
        put_rank(&s, &j, rank / p * p);
        end(context, &s, rank, info, host);
    }
}

static void begin_trace(void *context, sink *s, int rank, const char *info, const char *host) {
    (void)context;
    char number[16];
    (void)snprintf(number, sizeof number, "%d", rank);
    s->b = ps_builder_new();
    assert_non_null(s->b);
    ps_builder_meta(s->b, "rank", number);
    ps_builder_meta(s->b, "distributedInfo", info);
    if (host[0] != '\0') {
        ps_builder_meta(s->b, "host_name", host);
    }
}

static void end_trace(void *context, sink *s, int rank, const char *info, const char *host) {
    (void)rank;
    (void)info;
    (void)host;
    pp_traces *t = context;
    ps_err err = PS_ERR_INIT;
    t->traces[t->n] = ps_builder_seal(s->b, &err);
    assert_non_null(t->traces[t->n]);
    t->n++;
}

void pp_traces_make(pp_traces *t, const pp_spec *spec) {
    *t = (pp_traces){0};
    simulate(t, spec);
    each_rank(spec, t, t, begin_trace, end_trace);
}

void pp_traces_fini(pp_traces *t) {
    for (size_t r = 0; r < t->n; r++) {
        ps_trace_free(t->traces[r]);
    }
    ps_sim_plan_free(t->plan);
    ps_free(t->start_ns);
    ps_free(t->end_ns);
}

static void begin_file(void *context, sink *s, int rank, const char *info, const char *host) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/rank-%d.pt.trace.json", (const char *)context, rank);
    s->file = fopen(path, "w");
    assert_non_null(s->file);
    (void)fprintf(s->file,
                  "{\"schemaVersion\":1,\"deviceProperties\":[],\"distributedInfo\":%s,%s%s%s"
                  "\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":%lld,\"traceEvents\":[\n",
                  info, host[0] != '\0' ? "\"host_name\":\"" : "", host,
                  host[0] != '\0' ? "\"," : "", (long long)PP_EPOCH_NS);
}

static void end_file(void *context, sink *s, int rank, const char *info, const char *host) {
    (void)context;
    (void)rank;
    (void)info;
    (void)host;
    (void)fprintf(s->file, "\n],\"traceName\":\"x\"}\n");
    assert_int_equal(fclose(s->file), 0);
}

void pp_traces_write(const pp_spec *spec, const char *dir) {
    pp_traces t = {0};
    simulate(&t, spec);
    char path[1024];
    (void)snprintf(path, sizeof path, "%s", dir);
    each_rank(spec, &t, path, begin_file, end_file);
    pp_traces_fini(&t);
}

/* --- by hand -------------------------------------------------------------------------------------------------- */

pp_tiny pp_tiny_new(void) {
    pp_tiny t = {.b = ps_builder_new()};
    t.host = ps_builder_track(
        t.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1});
    t.stream = ps_builder_track(t.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 7});
    return t;
}

void pp_tiny_range(pp_tiny *t, const char *name, int64_t start, int64_t end) {
    (void)ps_builder_slice(t->b, PS_SLICE_ANNOTATION, t->host,
                           ps_builder_str(t->b, name, strlen(name)), start, end, 0);
}

void pp_tiny_kernel(pp_tiny *t, ps_slice_kind kind, int64_t at, int64_t start, int64_t end) {
    ps_str name = ps_builder_str(t->b, "x", 1);
    uint32_t from = ps_builder_slice(t->b, PS_SLICE_CALL, t->host, name, at, at + 1, 0);
    uint32_t to = ps_builder_slice(t->b, kind, t->stream, name, start, end, 0);
    ps_builder_flow_of(t->b, from, to, name);
}

/* --- running ------------------------------------------------------------------------------------------------------- */

void pp_run(pp_outcome *o, ps_trace *const *traces, size_t n, const ps_analysis_opts *opts) {
    const ps_analysis *analysis = ps_analysis_find("pp_labels");
    ps_analysis_opts usual = {.step_id = -1, .in_full = true};
    const ps_analysis_opts *used = opts != NULL ? opts : &usual;
    ps_rank_info infos[64] = {0};
    void *partials[64] = {NULL};
    ps_diag *diags[64];
    *o = (pp_outcome){.err = PS_ERR_INIT};
    assert_non_null(analysis);
    assert_true(n <= 64);
    for (size_t r = 0; r < n; r++) {
        infos[r] = (ps_rank_info){.rank = (int64_t)r, .machine = -1, .profiler = "PyTorch"};
        diags[r] = &o->diags[r];
        ps_map_input in = {.trace = traces[r], .rank = &infos[r], .opts = used, .diag = diags[r]};
        o->map_codes[r] = ps_round_map(&analysis->rounds[0], &in, &partials[r], &o->err);
    }
    ps_reduce_input in = {.ranks = infos,
                          .partials = partials,
                          .diags = diags,
                          .n_ranks = n,
                          .opts = used,
                          .result = &o->result};
    void *shared = NULL;
    o->code = analysis->rounds[analysis->n_rounds - 1].reduce(&in, &shared, &o->err);
    for (size_t r = 0; r < n; r++) {
        analysis->free_partial(partials[r]);
    }
}

void pp_outcome_fini(pp_outcome *o) {
    ps_result_fini(&o->result);
}

uint64_t pp_count(const pp_outcome *o, size_t n, ps_oddity kind) {
    uint64_t count = 0;
    for (size_t r = 0; r < n; r++) {
        count += o->diags[r].counts[kind];
    }
    return count;
}
