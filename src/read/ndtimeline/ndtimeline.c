/* Merged timelines of a whole job, as NDTimeline writes them and arXiv 2505.05713 publishes them:
 *
 *   [{"name":"backward-compute","ph":"X","pid":0,"tid":3,"ts":848671.67,"dur":138679.68,
 *     "args":{"step":23,"model_chunk":0,"mb_id":0,"seq_id":0}}, ...,
 *    {"name":"thread_name","ph":"M","pid":0,"tid":3,"args":{"name":"PP rank 0, TP rank 0, compute"}},
 *    {"name":"process_name","ph":"M","pid":0,"args":{"name":"DP rank [0]"}}]
 *
 * One file holds every worker; each is a rank. Computing becomes jobs, what communicates becomes communication kernels with
 * the arguments that PyTorch gives to those. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "model/worker_ops.h"
#include "read/events/trace_file.h"
#include "read/events/trace_head.h"
#include "read/events/trace_model.h"
#include "read/ndtimeline/ndtimeline_lanes.h"
#include "read/reader.h"

/* Numbers of one kind of op within a step are below this. */
#define OPS_IN_STEP (INT64_C(1) << 24)

typedef struct ndtimeline {
    ps_builder *builder;
    const ps_ndt_lanes *lanes;
    const ps_ndt_lane *own;          /* the first lane of the worker that is read */
    uint32_t tracks[PS_N_NDT_LANES]; /* PS_NONE: not made yet */
    uint8_t *kinds;                  /* [name id] 1 + ps_worker_op, 0 not looked at */
    size_t cap_kinds;
    /* Keys of arguments: as the file writes them, and as pipescope and PyTorch do. */
    ps_str step, mb_id, model_chunk, seq_id;
    ps_str microbatch, chunk, collective, group, sequence, peer_to, peer_from;
    bool failed;
} ndtimeline;

static bool is_worker(const ps_ndt_lane *a, const ps_ndt_lane *b) {
    return a->pp == b->pp && a->dp == b->dp && a->tp == b->tp;
}

static ps_worker_op op_of(ndtimeline *r, ps_str name) {
    size_t old = r->cap_kinds;
    if (name.id >= old) {
        if (!ps_grow(&r->kinds, &r->cap_kinds, (size_t)name.id + 1, (size_t)1 << 32, 1)) {
            r->failed = true;
            return PS_N_WORKER_OPS;
        }
        memset(r->kinds + old, 0, r->cap_kinds - old);
    }
    if (r->kinds[name.id] == 0) {
        const char *text = ps_builder_text(r->builder, name);
        r->kinds[name.id] =
            (uint8_t)(1 + ps_worker_op_find(text, ps_builder_text_len(r->builder, name)));
    }
    return (ps_worker_op)(r->kinds[name.id] - 1);
}

static uint32_t track_of(ndtimeline *r, ps_ndt_lane_kind kind) {
    if (r->tracks[kind] == PS_NONE) {
        const char *label = ps_ndt_lane_name(kind);
        r->tracks[kind] = ps_builder_track(
            r->builder, (ps_track){.kind = PS_TRACK_STREAM, .tid = (int64_t)kind, .device = 0});
        if (r->tracks[kind] != PS_NONE) {
            ps_builder_track_label(r->builder, r->tracks[kind],
                                   ps_builder_str(r->builder, label, strlen(label)), (int64_t)kind);
        }
    }
    return r->tracks[kind];
}

static void place_worker_op(void *context, ps_builder *b, const ps_model_event *e,
                            ps_slice_kind *kind, uint32_t *track) {
    (void)b;
    ndtimeline *r = context;
    const ps_ndt_lane *lane = ps_ndt_lane_find(r->lanes, e->pid, e->tid);
    if (lane == NULL || !is_worker(lane, r->own)) {
        *track = PS_NONE;
        return;
    }
    ps_worker_op op = op_of(r, e->name);
    bool is_job = op != PS_N_WORKER_OPS ? ps_worker_op_is_alone(op) : lane->kind == PS_NDT_COMPUTE;
    bool is_comm = op != PS_N_WORKER_OPS
                       ? !is_job
                       : lane->kind >= PS_NDT_PP_COMM && lane->kind <= PS_NDT_DP_COMM;
    *kind = is_job ? PS_SLICE_JOB : is_comm ? PS_SLICE_COMM_KERNEL : PS_SLICE_TASK;
    *track = track_of(r, lane->kind);
    r->failed = r->failed || *track == PS_NONE;
}

static void add_int(ndtimeline *r, uint32_t slice, ps_str key, int64_t value) {
    ps_builder_arg(r->builder, slice, (ps_arg){.key = key, .type = PS_ARG_INT, .u.i = value});
}

static void add_text(ndtimeline *r, uint32_t slice, ps_str key, const char *text) {
    ps_str s = ps_builder_str(r->builder, text, strlen(text));
    ps_builder_arg(r->builder, slice, (ps_arg){.key = key, .type = PS_ARG_STR, .u.s = s});
}

/* Who sends to whom: stages in a circle, forward upwards. */
static void add_transfer(ndtimeline *r, uint32_t slice, ps_worker_op op, int64_t sequence) {
    bool is_send = op == PS_WORKER_FORWARD_SEND || op == PS_WORKER_BACKWARD_SEND;
    bool is_forward = op == PS_WORKER_FORWARD_SEND || op == PS_WORKER_FORWARD_RECV;
    int64_t n = r->lanes->n_pp;
    ps_ndt_lane peer = *r->own;
    peer.pp = (peer.pp + (is_send == is_forward ? 1 : n - 1)) % n;
    int64_t sender = is_send ? r->own->pp : peer.pp;
    char group[96];
    (void)snprintf(group, sizeof group, "%s from stage %lld, dp %lld, tp %lld",
                   is_forward ? "forward" : "backward", (long long)sender, (long long)r->own->dp,
                   (long long)r->own->tp);
    add_text(r, slice, r->collective, is_send ? "send" : "recv");
    add_text(r, slice, r->group, group);
    add_int(r, slice, is_send ? r->peer_to : r->peer_from, ps_ndt_rank(r->lanes, &peer));
    add_int(r, slice, r->sequence, sequence);
}

/* Layernorm gradients are reduced within the tensor-parallel group, those of the embedding between the first and the last stage,
 * norms for clipping over the whole job; the rest over the replicas of a stage. */
static void add_collective(ndtimeline *r, uint32_t slice, ps_worker_op op, const char *name,
                           int64_t sequence) {
    const ps_ndt_lane *w = r->own;
    char group[96];
    if (op == PS_WORKER_CLIP) {
        (void)snprintf(group, sizeof group, "all");
    } else if (op == PS_WORKER_EMBEDDING) {
        (void)snprintf(group, sizeof group, "embedding, dp %lld, tp %lld", (long long)w->dp,
                       (long long)w->tp);
    } else if (op == PS_WORKER_LAYERNORM) {
        (void)snprintf(group, sizeof group, "tp of stage %lld, dp %lld", (long long)w->pp,
                       (long long)w->dp);
    } else {
        (void)snprintf(group, sizeof group, "dp of stage %lld, tp %lld", (long long)w->pp,
                       (long long)w->tp);
    }
    add_text(r, slice, r->collective, name);
    add_text(r, slice, r->group, group);
    add_int(r, slice, r->sequence, sequence);
}

static void worker_op_added(void *context, ps_builder *b, const ps_model_event *e, uint32_t slice) {
    ndtimeline *r = context;
    int64_t step = -1;
    int64_t microbatch = -1;
    int64_t chunk = -1;
    int64_t order = 0;
    bool has_step = ps_model_arg_int(e, r->step, &step);
    (void)ps_model_arg_int(e, r->mb_id, &microbatch);
    (void)ps_model_arg_int(e, r->model_chunk, &chunk);
    bool has_order = ps_model_arg_int(e, r->seq_id, &order) && order >= 0 && order < OPS_IN_STEP;
    if (has_step) {
        add_int(r, slice, r->step, step);
    }
    add_int(r, slice, r->microbatch, microbatch);
    add_int(r, slice, r->chunk, chunk);
    if (has_order) {
        add_int(r, slice, r->seq_id, order);
    }
    ps_worker_op op = op_of(r, e->name);
    int64_t sequence = step >= 0 && step < OPS_IN_STEP ? step * OPS_IN_STEP + order : order;
    if (ps_builder_slice_kind(b, slice) == PS_SLICE_COMM_KERNEL && op != PS_N_WORKER_OPS) {
        if (ps_worker_op_is_transfer(op)) {
            add_transfer(r, slice, op, sequence);
        } else {
            add_collective(r, slice, op, ps_worker_op_name(op), sequence);
        }
    }
    r->failed = r->failed || ps_builder_failed(b);
}

static void init_keys(ndtimeline *r) {
    const struct {
        ps_str *key;
        const char *text;
    } KEYS[] = {{&r->step, "step"},
                {&r->mb_id, "mb_id"},
                {&r->model_chunk, "model_chunk"},
                {&r->seq_id, "seq_id"},
                {&r->microbatch, "microbatch"},
                {&r->chunk, "chunk"},
                {&r->collective, "Collective name"},
                {&r->group, "Process Group Name"},
                {&r->sequence, "Seq"},
                {&r->peer_to, "Dst Rank"},
                {&r->peer_from, "Src Rank"}};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        *KEYS[i].key = ps_builder_str(r->builder, KEYS[i].text, strlen(KEYS[i].text));
    }
}

static void put_sizes(const ps_ndt_lanes *l, ps_buf *out) {
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key_int(&j, "tensor_model_parallel_size", l->n_tp);
    ps_json_key_int(&j, "pipeline_model_parallel_size", l->n_pp);
    ps_json_key_int(&j, "data_parallel_size", l->n_dp);
    ps_json_key_int(&j, "world_size", l->n_tp * l->n_pp * l->n_dp);
    ps_json_close(&j);
}

static void add_worker_facts(ndtimeline *r, uint32_t needs) {
    const ps_ndt_lanes *l = r->lanes;
    if ((needs & PS_NEED_META) != 0) {
        ps_buf text;
        ps_buf_init(&text, 0);
        put_sizes(l, &text);
        r->failed = r->failed || !ps_buf_ok(&text);
        ps_builder_meta(r->builder, "distributed_args", ps_buf_str(&text));
        ps_buf_fini(&text);
    }
    for (size_t i = 0; i < l->n_steps && (needs & PS_NEED_STEPS) != 0; i++) {
        ps_builder_step(r->builder, l->steps[i].step, l->steps[i].start_ns, l->steps[i].end_ns);
    }
}

static ps_code read_worker(ps_input *in, ndtimeline *r, const ps_src *src, uint32_t needs,
                           ps_err *err) {
    static const char *const WANTED[] = {"step", "mb_id", "model_chunk", "seq_id", NULL};
    const ps_dialect dialect = {
        .context = r, .place = place_worker_op, .added = worker_op_added, .printed_doubles = true};
    for (size_t k = 0; k < PS_N_NDT_LANES; k++) {
        r->tracks[k] = PS_NONE;
    }
    init_keys(r);
    /* Steps are those of the whole file. */
    uint32_t of_model = (needs | PS_NEED_SLICES) & ~(uint32_t)(PS_NEED_ARGS | PS_NEED_STEPS);
    ps_code code =
        ps_trace_model_read(in, &dialect, of_model, WANTED, NULL, src->n_threads, r->builder, err);
    add_worker_facts(r, needs);
    return code == PS_OK && r->failed ? ps_fail_nomem(err) : code;
}

static ps_code read_ndtimeline(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_ndt_lanes *lanes = src->noted;
    ps_file_stamp stamp = {0};
    ps_code code = ps_file_identify(src->path, &stamp.file, err);
    if (code == PS_OK && lanes == NULL) {
        code = ps_ndt_lanes_read(src->path, &arena, &lanes, err);
    }
    ndtimeline r = {.builder = b, .lanes = lanes};
    bool is_there = code == PS_OK && src->part >= 0 && (uint64_t)src->part < lanes->n;
    if (code == PS_OK && !is_there) {
        code =
            ps_fail_file(err, PS_NOTHING, src->path, "it has no worker %lld", (long long)src->part);
    }
    ps_input *in = code == PS_OK ? ps_input_open(src->path, err) : NULL;
    if (in != NULL) {
        r.own = &lanes->lanes[src->part];
        ps_input_watch(in, src->watch);
        ps_builder_stamp(b, stamp);
        code = read_worker(in, &r, src, needs, err);
        ps_input_close(in);
    } else if (code == PS_OK) {
        code = err != NULL && err->code != PS_OK ? err->code : PS_IO;
    }
    ps_free(r.kinds);
    ps_arena_fini(&arena);
    return code;
}

/* A part is a worker; its number is the row of its first lane. All workers are on one clock, that of the file. */
static ps_code ndtimeline_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n,
                                ps_err *err) {
    const ps_ndt_lanes *lanes = NULL;
    ps_code code = ps_ndt_lanes_read(path, arena, &lanes, err);
    if (code != PS_OK) {
        return code;
    }
    ps_part *parts = ps_arena_alloc(arena, lanes->n * sizeof *parts);
    *n = 0;
    for (size_t i = 0; parts != NULL && i < lanes->n; i++) {
        const ps_ndt_lane *lane = &lanes->lanes[i];
        if (i > 0 && is_worker(lane, &lanes->lanes[i - 1])) {
            continue;
        }
        char title[96];
        int length = snprintf(title, sizeof title, "PP rank %lld, DP rank %lld, TP rank %lld",
                              (long long)lane->pp, (long long)lane->dp, (long long)lane->tp);
        const char *own = ps_arena_strndup(arena, title, (size_t)length);
        if (own == NULL) {
            return ps_fail_nomem(err);
        }
        parts[(*n)++] = (ps_part){.id = (int64_t)i,
                                  .rank = ps_ndt_rank(lanes, lane),
                                  .host = "",
                                  .machine = 0,
                                  .title = own,
                                  .noted = lanes};
    }
    *out = parts;
    return parts != NULL ? PS_OK : ps_fail_nomem(err);
}

static int sniff_ndtimeline(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    ps_trace_head look = ps_trace_head_look(head, n);
    return (look.is_object || look.is_array) && look.has_worker_args ? 60 : 0;
}

const ps_reader ps_reader_ndtimeline = {
    .name = "ndtimeline",
    .profiler = "NDTimeline",
    .summary = "Merged timelines of all workers of a job (NDTimeline, JSON, also gzipped)",
    .sniff = sniff_ndtimeline,
    .names_ops = true,
    .parts = ndtimeline_parts,
    .read = read_ndtimeline,
};
