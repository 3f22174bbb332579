/* Makes the job all ranks share, simulates the pipelines, and lets the ranks write themselves in parallel.
 *
 * Replicas of a pipeline meet at the end of every step, as data-parallel ranks do: a first round of simulations finds
 * how long the slowest takes for each step, a second one gives the times. Only as many pipelines as fit a fixed
 * amount of memory are held at once. */
#include "write/simulated/ascend_profile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/publish.h"
#include "base/threads.h"
#include "schedule/step_graph.h"
#include "write/simulated/ascend_profile_rank.h"

#define EPOCH_NS 1736410576000000000 /* 2025-01-09 08:16:16 UTC, when the first step begins */
#define STEP_GAP_NS 5000000          /* optimizer and data loading between two steps */
#define FIRST_PID 1000
#define MAX_OP_NS INT64_C(10000000000) /* 10 s: nothing overflows, and more is hardly meant */
#define DEVICES_PER_HOST 8
/* Ops of a pipeline over all steps, and of all pipelines held at once: 16 bytes each. */
#define MAX_OPS_HELD ((size_t)1 << 23)

/* --- options ------------------------------------------------------------------------------------------------------ */

static ps_code check_number(const char *name, int64_t value, int64_t min, int64_t max,
                            ps_err *err) {
    return value >= min && value <= max
               ? PS_OK
               : ps_fail(err, PS_RANGE, "%s is %lld: must be %lld to %lld", name, (long long)value,
                         (long long)min, (long long)max);
}

static ps_code check_profile_times(const ps_ascend_profile_opts *o, ps_err *err) {
    int64_t max = MAX_OP_NS;
    const ps_sim_times *t = &o->times;
    ps_code code = check_number("forward time in ns", t->f_ns, PS_PROFILE_MIN_OP_NS, max, err);
    if (code == PS_OK) {
        code = check_number("backward time in ns", t->b_ns, PS_PROFILE_MIN_OP_NS, max, err);
    }
    if (code == PS_OK) {
        code = check_number("transfer latency in ns", t->p2p_ns, 0, max, err);
    }
    return code;
}

/* Of kinds that only some schedules have. */
static ps_code check_times_used(const ps_sim_plan *plan, const ps_sim_times *t, ps_err *err) {
    int64_t max = MAX_OP_NS;
    ps_code code = PS_OK;
    if (ps_sim_uses(plan, PS_OP_FB)) {
        code = check_number("time of an overlapped pair in ns", t->fb_ns, PS_PROFILE_MIN_OP_NS,
                            2 * max, err);
    }
    if (code == PS_OK && ps_sim_uses(plan, PS_OP_BW)) {
        code = check_number("weight gradient time in ns", t->w_ns, PS_PROFILE_MIN_OP_NS, max, err);
        if (code == PS_OK && t->b_ns - t->w_ns < PS_PROFILE_MIN_OP_NS) {
            code = ps_fail(
                err, PS_RANGE,
                "the weight gradient takes %lld ns of a backward of %lld ns: must be less, by at least %d ns",
                (long long)t->w_ns, (long long)t->b_ns, PS_PROFILE_MIN_OP_NS);
        }
    }
    return code;
}

static ps_code check_opts(const ps_ascend_profile_opts *o, ps_err *err) {
    ps_code code = o->schedule->check(&o->params, err);
    const struct {
        const char *name;
        int64_t value, min, max;
    } numbers[] = {
        {"number of steps", o->n_steps, 1, 1000000},
        {"tensor parallel size", o->tp, 1, PS_PROFILE_MAX_RANKS},
        {"context parallel size", o->cp, 1, PS_PROFILE_MAX_RANKS},
        {"data parallel size", o->dp, 1, PS_PROFILE_MAX_RANKS},
        {"number of kernels per rank", o->n_filler, 0, PS_PROFILE_MAX_FILLER},
        {"jitter in percent", o->jitter_pct, 0, PS_PROFILE_MAX_JITTER_PCT},
        {"the slow stage", o->slow_stage, 0, o->params.n_stages - 1},
        {"the slow stage's factor in thousandths", o->slow_per_mille, 0,
         PS_PROFILE_MAX_SLOW_PER_MILLE},
        {"the slow rank's factor in thousandths", o->slow_rank_per_mille, 0,
         PS_PROFILE_MAX_SLOW_PER_MILLE},
        {"what the slow link takes more in ns", o->slow_link_ns, 0, MAX_OP_NS},
        {"the spread of lengths in percent", o->lengths_pct, 0, PS_PROFILE_MAX_LENGTHS_PCT},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && code == PS_OK; i++) {
        code = check_number(numbers[i].name, numbers[i].value, numbers[i].min, numbers[i].max, err);
    }
    if (code == PS_OK) {
        int64_t n_ranks = (int64_t)o->tp * o->cp * o->dp;
        n_ranks = n_ranks > PS_PROFILE_MAX_RANKS ? n_ranks : n_ranks * o->params.n_stages;
        code = check_number("number of ranks", n_ranks, 1, PS_PROFILE_MAX_RANKS, err);
        if (code == PS_OK && o->slow_rank_per_mille > 0) {
            code = check_number("the slow rank", o->slow_rank, 0, n_ranks - 1, err);
        }
        if (code == PS_OK && o->slow_link_ns > 0) {
            code = check_number("the rank of the slow link", o->slow_link, 0, n_ranks - 1, err);
        }
    }
    return code == PS_OK ? check_profile_times(o, err) : code;
}

/* Options that only make sense once the lists are known. */
static ps_code check_sizes(const ps_profile_job *job, ps_err *err) {
    const ps_ascend_profile_opts *o = job->opts;
    if ((uint64_t)job->plan->n_ops * (uint64_t)o->n_steps > MAX_OPS_HELD) {
        return ps_fail(err, PS_RANGE,
                       "%lld steps of %u ops are too many: a pipeline may have at most %zu ops",
                       (long long)o->n_steps, (unsigned)job->plan->n_ops, MAX_OPS_HELD);
    }
    for (int32_t d = 0; d < o->params.n_stages; d++) {
        int64_t n = (int64_t)(job->first_mark[d + 1] - job->first_mark[d]) * o->n_steps;
        if (o->n_drop_marks < 0 || o->n_drop_marks > n) {
            return ps_fail(err, PS_RANGE, "cannot drop %lld marks per rank: stage %d has %lld",
                           (long long)o->n_drop_marks, (int)d, (long long)n);
        }
    }
    return PS_OK;
}

static ps_code check_dir(const char *dir, ps_err *err) {
    if (ps_is_file(dir)) {
        return ps_fail_file(err, PS_USAGE, dir,
                            "is a file; a profile is written into a new or empty directory");
    }
    if (!ps_is_dir(dir)) {
        return PS_OK;
    }
    ps_arena arena = {0};
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(dir, &arena, &names, &n, err);
    if (code == PS_OK && n > 0) {
        code = ps_fail_file(err, PS_USAGE, dir,
                            "the directory is not empty (it holds '%s'); name a new one", names[0]);
    }
    ps_arena_fini(&arena);
    return code;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

#define PARTS INT64_C(1000000) /* of a factor */

/* As likely any of 100 - pct to 100 + pct percent, in PARTS. */
static int64_t draw_factor(ps_rng *r, int32_t pct) {
    int64_t reach = PARTS / 100 * pct;
    return PARTS - reach + (int64_t)ps_rng_below(r, (uint64_t)(2 * reach + 1));
}

/* Of what would leave 64 bits before it is divided. */
static int64_t times_factor(int64_t ns, int64_t factor) {
    return ns / PARTS * factor + ns % PARTS * factor / PARTS;
}

static void slow_down(const ps_profile_job *job, int32_t stage, int64_t per_mille,
                      int64_t *duration_ns) {
    const ps_sim_plan *plan = job->plan;
    for (size_t op = plan->first[stage]; per_mille > 0 && op < plan->first[stage + 1]; op++) {
        duration_ns[op] = duration_ns[op] * per_mille / 1000; /* at most 2e12 * 1e5 */
    }
}

/* Each way through the model has microbatches of its own. */
static size_t length_of(const ps_sim_plan *plan, int32_t device, int32_t chunk,
                        int32_t microbatch) {
    int32_t logical = ps_lists_logical(&plan->lists, device, chunk);
    int32_t way = logical > 0 ? logical / plan->lists.chain_length : 0;
    return (size_t)way * (size_t)plan->lists.n_microbatches + (size_t)microbatch;
}

/* All ops of a microbatch are longer, or shorter, alike. False when memory is out. */
static bool stretch_microbatches(const ps_profile_job *job, int32_t pipeline, int64_t step,
                                 int64_t *duration_ns) {
    const ps_ascend_profile_opts *o = job->opts;
    const ps_sim_plan *plan = job->plan;
    size_t n = (size_t)(plan->lists.n_logical + 1) * (size_t)plan->lists.n_microbatches;
    int64_t *lengths = ps_realloc_array(NULL, n, sizeof *lengths);
    ps_rng r = ps_profile_rng(o->seed, PS_RNG_LENGTHS, pipeline, (uint64_t)step);
    for (size_t i = 0; lengths != NULL && i < n; i++) {
        lengths[i] = draw_factor(&r, o->lengths_pct);
    }
    for (uint32_t i = 0; lengths != NULL && i < plan->n_ops; i++) {
        const ps_sched_op *op = &plan->ops[i];
        int64_t factor = lengths[length_of(plan, plan->device[i], op->chunk, op->microbatch)];
        if (op->kind == PS_OP_FB) {
            int64_t other = lengths[length_of(plan, plan->device[i], op->chunk2, op->microbatch2)];
            factor = (factor * (o->times.f_ns / 1000) + other * (o->times.b_ns / 1000)) /
                     ((o->times.f_ns + o->times.b_ns) / 1000);
        }
        duration_ns[i] = times_factor(duration_ns[i], factor);
    }
    ps_free(lengths);
    return lengths != NULL;
}

/* The durations of one step: those of the kinds, longer where something is slow, with jitter. False when memory is out. */
static bool vary_durations(const ps_profile_job *job, int32_t pipeline, int64_t step,
                           int64_t *duration_ns) {
    const ps_ascend_profile_opts *o = job->opts;
    ps_sim_fill_durations(job->plan, &o->times, duration_ns);
    slow_down(job, o->slow_stage, o->slow_per_mille, duration_ns);
    if (o->slow_rank % job->n_pipelines == pipeline) {
        slow_down(job, o->slow_rank / job->n_pipelines, o->slow_rank_per_mille, duration_ns);
    }
    if (o->lengths_pct > 0 && !stretch_microbatches(job, pipeline, step, duration_ns)) {
        return false;
    }
    ps_rng r = ps_profile_rng(o->seed, PS_RNG_JITTER, pipeline, (uint64_t)step);
    for (uint32_t op = 0; o->jitter_pct > 0 && op < job->plan->n_ops; op++) {
        int64_t factor = draw_factor(&r, o->jitter_pct);
        duration_ns[op] = times_factor(duration_ns[op], factor);
    }
    return true;
}

/* A step in which each result travels by an op of its own: 2 i behind the ops that to the forward of op i, then that to its backward. */
static ps_code run_linked(const ps_profile_job *job, int32_t pipeline, const int64_t *duration_ns,
                          int64_t start_ns, ps_sim_result *out, ps_err *err) {
    const ps_sim_plan *plan = job->plan;
    size_t n = plan->n_ops;
    int64_t *all_ns = ps_calloc(3 * n, sizeof *all_ns);
    int64_t *starts = ps_realloc_array(NULL, 3 * n, sizeof *starts);
    int64_t *ends = ps_realloc_array(NULL, 3 * n, sizeof *ends);
    bool ok = all_ns != NULL && starts != NULL && ends != NULL;
    for (size_t op = 0; ok && op < n; op++) {
        const uint32_t inputs[2] = {plan->forward_input[op], plan->backward_input[op]};
        all_ns[op] = duration_ns[op];
        for (size_t i = 0; i < 2; i++) {
            all_ns[n + 2 * op + i] =
                inputs[i] == PS_NO_OP
                    ? 0
                    : ps_profile_p2p_ns(job, pipeline, plan->device[inputs[i]], plan->device[op]);
        }
    }
    const ps_graph_times times = {.duration_ns = all_ns, .begin_ns = start_ns};
    ps_code code =
        ok ? ps_step_graph_run(job->linked, &times, starts, ends, err) : ps_fail_nomem(err);
    out->last_ns = start_ns;
    for (size_t op = 0; code == PS_OK && op < n; op++) {
        out->start_ns[op] = starts[op];
        out->end_ns[op] = ends[op];
        out->last_ns = ends[op] > out->last_ns ? ends[op] : out->last_ns;
    }
    ps_free(all_ns);
    ps_free(starts);
    ps_free(ends);
    return code;
}

/* Of a job in which transfers do not all take the same. */
static ps_code link_ops(ps_profile_job *job, ps_err *err) {
    const ps_sim_plan *plan = job->plan;
    uint32_t n = plan->n_ops;
    job->linked = n <= UINT32_MAX / 3 ? ps_step_graph_new(3 * n) : NULL;
    if (job->linked == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t op = 0; op < n; op++) {
        const uint32_t inputs[2] = {plan->forward_input[op], plan->backward_input[op]};
        if (op > plan->first[plan->device[op]]) {
            ps_step_graph_wait(job->linked, op, op - 1, false);
        }
        for (uint32_t i = 0; i < 2; i++) {
            if (inputs[i] != PS_NO_OP) {
                ps_step_graph_wait(job->linked, n + 2 * op + i, inputs[i], false);
                ps_step_graph_wait(job->linked, op, n + 2 * op + i, false);
            }
        }
    }
    ps_graph_circle none = {0};
    ps_code code = ps_step_graph_seal(job->linked, &none, err);
    ps_free(none.ops);
    return code;
}

static ps_code simulate_pipeline(const ps_profile_job *job, int32_t pipeline, bool measure_only,
                                 const ps_pipeline_times *times, int64_t *duration_ns,
                                 ps_err *err) {
    ps_code code = PS_OK;
    for (int64_t step = 0; step < job->opts->n_steps && code == PS_OK; step++) {
        size_t at = measure_only ? 0 : (size_t)step * job->plan->n_ops;
        ps_sim_result r = {.start_ns = times->start_ns + at, .end_ns = times->end_ns + at};
        ps_step_window *window = &job->steps[step];
        int64_t start_ns = measure_only ? 0 : window->start_ns;
        if (!vary_durations(job, pipeline, step, duration_ns)) {
            return ps_fail_nomem(err);
        }
        code = job->linked != NULL
                   ? run_linked(job, pipeline, duration_ns, start_ns, &r, err)
                   : ps_sim_run(job->plan, duration_ns, job->opts->times.p2p_ns, start_ns, &r, err);
        if (code == PS_OK && measure_only && r.last_ns > window->end_ns) {
            window->end_ns = r.last_ns; /* a length for now */
        }
    }
    return code;
}

/* When each step begins and ends, over all pipelines. */
static ps_code measure_steps(ps_profile_job *job, int32_t n_pipelines, ps_err *err) {
    size_t n = job->plan->n_ops;
    int64_t *duration_ns = ps_realloc_array(NULL, n, sizeof *duration_ns);
    ps_pipeline_times scratch = {.start_ns = ps_realloc_array(NULL, n, sizeof(int64_t)),
                                 .end_ns = ps_realloc_array(NULL, n, sizeof(int64_t))};
    bool ok = duration_ns != NULL && scratch.start_ns != NULL && scratch.end_ns != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    const ps_ascend_profile_opts *o = job->opts;
    bool are_alike = o->jitter_pct == 0 && o->lengths_pct == 0 && o->slow_rank_per_mille == 0 &&
                     o->slow_link_ns == 0;
    int32_t n_different = are_alike ? 1 : n_pipelines;
    for (int32_t i = 0; i < n_different && code == PS_OK; i++) {
        code = simulate_pipeline(job, i, true, &scratch, duration_ns, err);
    }
    int64_t start_ns = EPOCH_NS;
    for (int64_t step = 0; step < job->opts->n_steps && code == PS_OK; step++) {
        ps_step_window *window = &job->steps[step];
        int64_t length_ns = window->end_ns;
        window->start_ns = start_ns;
        if (__builtin_add_overflow(start_ns, length_ns, &window->end_ns) ||
            __builtin_add_overflow(window->end_ns, STEP_GAP_NS, &start_ns)) {
            code = ps_fail(err, PS_RANGE, "the simulated times leave 64 bits of nanoseconds");
        }
    }
    ps_free(duration_ns);
    ps_free(scratch.start_ns);
    ps_free(scratch.end_ns);
    return code;
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Pipelines first .. first + n - 1, simulated; their ranks are the items of one parallel round. */
typedef struct batch {
    const ps_profile_job *job;
    int32_t n_pipelines; /* in the cluster */
    int32_t first, n;
    ps_pipeline_times *times; /* [n] */
    ps_code *codes;           /* [items] */
    ps_err *errs;             /* [items] */
    ps_ascend_profile_counts *counts;
} batch;

static ps_code write_text(ps_arena *arena, const char *dir, const char *name, ps_buf *text,
                          ps_err *err) {
    const char *path = ps_path_join(arena, dir, name);
    if (path == NULL || !ps_buf_ok(text)) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_write_file(path, text->data, text->len, err);
    ps_buf_clear(text);
    return code;
}

static void put_info(ps_json *j, const ps_profile_job *job, ps_rank_id id) {
    ps_json_object(j);
    ps_json_key_object(j, "config");
    ps_json_key_object(j, "common_config");
    ps_json_key_array(j, "activities");
    ps_json_str(j, "ProfilerActivity.CPU");
    ps_json_str(j, "ProfilerActivity.NPU");
    ps_json_close(j);
    ps_json_close(j);
    ps_json_key_object(j, "experimental_config");
    ps_json_key_str(j, "_profiler_level", "Level1");
    ps_json_key_bool(j, "_msprof_tx", true);
    ps_json_key_array(j, "_export_type");
    ps_json_str(j, "db");
    ps_json_close(j);
    ps_json_close(j);
    ps_json_close(j);
    ps_json_key_object(j, "end_info");
    ps_json_key_int(j, "collectionTimeEnd", job->steps[job->opts->n_steps - 1].end_ns);
    ps_json_close(j);
    ps_json_key_int(j, "rank_id", id.rank);
    ps_json_close(j);
}

static void put_metadata(ps_json *j, const ps_ascend_profile_opts *o, ps_rank_id id) {
    ps_json_object(j);
    ps_json_key(j, "distributed_args");
    ps_put_distributed_args(o, id, j);
    ps_json_line(j, 0);
    ps_json_key(j, "parallel_group_info");
    ps_put_group_info(o, id, j);
    ps_json_line(j, 0);
    ps_json_key(j, "pp_info");
    ps_put_pp_info(o, j);
    ps_json_close(j);
}

static ps_code write_json(ps_arena *arena, const char *dir, const batch *b, ps_rank_id id,
                          ps_err *err) {
    char name[64];
    (void)snprintf(name, sizeof name, "profiler_info_%d.json", (int)id.rank);
    ps_buf text = {0};
    ps_json j = ps_json_spaced_to(&text);
    put_info(&j, b->job, id);
    ps_buf_add_char(&text, '\n');
    ps_code code = write_text(arena, dir, name, &text, err);
    if (code == PS_OK) {
        j = ps_json_spaced_to(&text);
        put_metadata(&j, b->job->opts, id);
        ps_buf_add_char(&text, '\n');
        code = write_text(arena, dir, "profiler_metadata.json", &text, err);
    }
    ps_buf_fini(&text);
    return code;
}

/* NULL when memory is out. */
static const char *folder_of_rank(ps_arena *arena, const ps_profile_job *job, int32_t rank) {
    char name[96];
    (void)snprintf(name, sizeof name, "node%d_%lld_20250109081616%03d_ascend_pt",
                   (int)ps_rank_host(rank), (long long)FIRST_PID + rank, (int)(rank % 1000));
    return ps_path_join(arena, job->dir, name);
}

static ps_code write_profile_rank(const batch *b, size_t item, ps_rank_id id, ps_arena *arena,
                                  ps_err *err) {
    char name[96];
    const char *dir = folder_of_rank(arena, b->job, id.rank);
    const char *output = dir == NULL ? NULL : ps_path_join(arena, dir, "ASCEND_PROFILER_OUTPUT");
    (void)snprintf(name, sizeof name, "ascend_pytorch_profiler_%d.db", (int)id.rank);
    const char *path = output == NULL ? NULL : ps_path_join(arena, output, name);
    if (path == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_make_dirs(output, err);
    if (code == PS_OK) {
        code = write_json(arena, dir, b, id, err);
    }
    if (code == PS_OK) {
        ps_rank_events events;
        code = ps_rank_events_init(&events, b->job, &b->times[id.pipeline - b->first], id, err);
        if (code == PS_OK) {
            code = ps_rank_db_write(path, &events, &b->counts[item], err);
        }
        ps_rank_events_fini(&events);
    }
    return code;
}

/* Neighbouring items are neighbouring global ranks. */
static void write_item(void *context, size_t item) {
    const batch *b = context;
    int32_t stage = (int32_t)item / b->n;
    int32_t pipeline = b->first + (int32_t)item % b->n;
    int32_t rank = stage * b->n_pipelines + pipeline;
    ps_rank_id id = {.rank = rank,
                     .stage = stage,
                     .pipeline = pipeline,
                     .device = rank % DEVICES_PER_HOST,
                     .host = ps_rank_host(rank),
                     .pid = FIRST_PID + rank};
    ps_arena arena = {0};
    b->codes[item] = ps_unfinished_is_ended()
                         ? ps_fail(&b->errs[item], PS_BUSY, "ended by a signal")
                         : write_profile_rank(b, item, id, &arena, &b->errs[item]);
    if (b->codes[item] != PS_OK) {
        ps_err_prefix(&b->errs[item], "writing rank %d", (int)rank);
    }
    ps_arena_fini(&arena);
    if (b->job->opts->rank_done != NULL) {
        b->job->opts->rank_done(b->job->opts->context);
    }
}

static ps_code run_batch(batch *b, ps_ascend_profile_counts *counts, ps_err *err) {
    const ps_profile_job *job = b->job;
    int64_t *duration_ns = ps_realloc_array(NULL, job->plan->n_ops, sizeof *duration_ns);
    ps_code code = duration_ns == NULL ? ps_fail_nomem(err) : PS_OK;
    for (int32_t i = 0; i < b->n && code == PS_OK; i++) {
        code = simulate_pipeline(job, b->first + i, false, &b->times[i], duration_ns, err);
    }
    ps_free(duration_ns);
    if (code != PS_OK) {
        return code;
    }
    size_t n_items = (size_t)b->n * (size_t)job->opts->params.n_stages;
    memset(b->counts, 0, n_items * sizeof *b->counts);
    ps_parallel(n_items, job->opts->n_threads, write_item, b);
    for (size_t i = 0; i < n_items; i++) {
        if (b->codes[i] != PS_OK) {
            if (err != NULL) {
                *err = b->errs[i];
            }
            return b->codes[i];
        }
        counts->n_ranks += b->counts[i].n_ranks;
        counts->n_marks += b->counts[i].n_marks;
        counts->n_tasks += b->counts[i].n_tasks;
        counts->n_comm_ops += b->counts[i].n_comm_ops;
    }
    return PS_OK;
}

static ps_code write_ranks(const ps_profile_job *job, int32_t n_pipelines,
                           ps_ascend_profile_counts *counts, ps_err *err) {
    size_t ops = (size_t)job->plan->n_ops * (size_t)job->opts->n_steps;
    size_t fit = MAX_OPS_HELD / ops; /* at least 1, by check_sizes */
    int32_t held = fit < (size_t)n_pipelines ? (int32_t)fit : n_pipelines;
    size_t n_items = (size_t)held * (size_t)job->opts->params.n_stages;
    batch b = {.job = job, .n_pipelines = n_pipelines};
    b.times = ps_calloc((size_t)held, sizeof *b.times);
    b.codes = ps_calloc(n_items, sizeof *b.codes);
    b.errs = ps_calloc(n_items, sizeof *b.errs);
    b.counts = ps_calloc(n_items, sizeof *b.counts);
    bool ok = b.times != NULL && b.codes != NULL && b.errs != NULL && b.counts != NULL;
    for (int32_t i = 0; ok && i < held; i++) {
        b.times[i].start_ns = ps_realloc_array(NULL, ops, sizeof(int64_t));
        b.times[i].end_ns = ps_realloc_array(NULL, ops, sizeof(int64_t));
        ok = b.times[i].start_ns != NULL && b.times[i].end_ns != NULL;
    }
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (b.first = 0; b.first < n_pipelines && code == PS_OK; b.first += held) {
        b.n = n_pipelines - b.first < held ? n_pipelines - b.first : held;
        code = run_batch(&b, counts, err);
    }
    for (int32_t i = 0; b.times != NULL && i < held; i++) {
        ps_free(b.times[i].start_ns);
        ps_free(b.times[i].end_ns);
    }
    ps_free(b.times);
    ps_free(b.codes);
    ps_free(b.errs);
    ps_free(b.counts);
    return code;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Who uses each result: the inputs of the plan, turned round. */
static ps_code link_users(ps_profile_job *job, ps_err *err) {
    const ps_sim_plan *plan = job->plan;
    job->forward_user = ps_realloc_array(NULL, plan->n_ops, sizeof *job->forward_user);
    job->backward_user = ps_realloc_array(NULL, plan->n_ops, sizeof *job->backward_user);
    if (job->forward_user == NULL || job->backward_user == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        job->forward_user[op] = job->backward_user[op] = PS_NO_OP;
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        if (plan->forward_input[op] != PS_NO_OP) {
            job->forward_user[plan->forward_input[op]] = op;
        }
        if (plan->backward_input[op] != PS_NO_OP) {
            job->backward_user[plan->backward_input[op]] = op;
        }
    }
    return PS_OK;
}

/* The folders of ranks, and the one around them where it was not there before. */
static ps_code remove_job(const ps_profile_job *job, int32_t n_ranks, bool was_there, ps_err *err) {
    ps_code code = PS_OK;
    for (int32_t rank = 0; code == PS_OK && rank < n_ranks; rank++) {
        ps_arena arena = {0};
        const char *folder = folder_of_rank(&arena, job, rank);
        code = folder != NULL ? ps_remove_tree(folder, err) : ps_fail_nomem(err);
        ps_arena_fini(&arena);
    }
    if (code == PS_OK && !was_there) {
        (void)rmdir(job->dir); /* another one may have put something there */
    }
    return code;
}

/* All of it or nothing: what a signal or a full disk ends would keep the next run from writing there. */
static ps_code write_job(ps_profile_job *job, int32_t n_pipelines, ps_ascend_profile_counts *counts,
                         ps_err *err) {
    bool was_there = ps_is_dir(job->dir);
    ps_unfinished_hold();
    ps_code code = ps_make_dirs(job->dir, err);
    code = code == PS_OK ? write_ranks(job, n_pipelines, counts, err) : code;
    if (code != PS_OK) {
        ps_err left = PS_ERR_INIT;
        int32_t n_ranks = n_pipelines * job->opts->params.n_stages;
        if (remove_job(job, n_ranks, was_there, &left) != PS_OK && err != NULL) {
            size_t n = strlen(err->msg);
            (void)snprintf(err->msg + n, sizeof err->msg - n, "; %s: %s", left.file, left.msg);
        }
    }
    ps_unfinished_release();
    return code;
}

static ps_code run_job(ps_profile_job *job, ps_ascend_profile_counts *counts, ps_err *err) {
    const ps_ascend_profile_opts *o = job->opts;
    int32_t n_pipelines = job->n_pipelines;
    ps_code code = check_times_used(job->plan, &o->times, err);
    if (code == PS_OK) {
        code = ps_profile_plan_marks(job, err);
    }
    if (code == PS_OK) {
        code = check_sizes(job, err);
    }
    if (code == PS_OK) {
        code = link_users(job, err);
    }
    if (code == PS_OK && o->slow_link_ns > 0) {
        code = link_ops(job, err);
    }
    if (code == PS_OK && (job->steps = ps_calloc((size_t)o->n_steps, sizeof *job->steps)) == NULL) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = measure_steps(job, n_pipelines, err);
    }
    return code == PS_OK ? write_job(job, n_pipelines, counts, err) : code;
}

ps_code ps_ascend_profile_write(const char *dir, const ps_ascend_profile_opts *opts,
                                ps_ascend_profile_counts *counts, ps_err *err) {
    *counts = (ps_ascend_profile_counts){0};
    ps_code code = check_opts(opts, err);
    if (code == PS_OK) {
        code = check_dir(dir, err);
    }
    if (code != PS_OK) {
        return code;
    }
    ps_err local = PS_ERR_INIT;
    ps_sim_plan *plan = ps_sim_plan_new(opts->schedule, &opts->params, &local);
    if (plan == NULL) {
        if (err != NULL) {
            *err = local;
        }
        return local.code;
    }
    ps_profile_job job = {
        .opts = opts, .dir = dir, .plan = plan, .n_pipelines = opts->tp * opts->cp * opts->dp};
    code = run_job(&job, counts, err);
    ps_free(job.steps);
    ps_step_graph_free(job.linked);
    ps_free(job.forward_user);
    ps_free(job.backward_user);
    ps_free(job.marks);
    ps_free(job.first_mark);
    ps_sim_plan_free(plan);
    return code;
}
