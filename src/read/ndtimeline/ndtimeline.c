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
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/json_write.h"
#include "model/recording.h"
#include "model/worker_ops.h"
#include "read/events/trace_head.h"
#include "read/ndtimeline/ndtimeline_file.h"
#include "read/reader.h"

/* Numbers of one kind of op within a step are below this. */
#define OPS_IN_STEP (INT64_C(1) << 24)

typedef struct ndtimeline {
    ps_builder *builder;
    const ps_ndt_file *file;
    const ps_ndt_worker *own;        /* the worker that is read */
    uint32_t tracks[PS_N_NDT_LANES]; /* PS_NONE: not made yet */
    ps_str *names;                   /* [n_names] */
    /* Keys of arguments: as the file writes them, and as pipescope and PyTorch do. */
    ps_str step, seq_id, microbatch, chunk, collective, group, sequence, peer_to, peer_from;
} ndtimeline;

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

/* --- arguments ----------------------------------------------------------------------------------------------------- */

static void add_int(ndtimeline *r, uint32_t slice, ps_str key, int64_t value) {
    ps_builder_arg(r->builder, slice, (ps_arg){.key = key, .type = PS_ARG_INT, .u.i = value});
}

static void add_known(ndtimeline *r, uint32_t slice, ps_str key, int64_t value, int64_t unknown) {
    if (value != unknown) {
        add_int(r, slice, key, value);
    }
}

static void add_text(ndtimeline *r, uint32_t slice, ps_str key, const char *text) {
    ps_str s = ps_builder_str(r->builder, text, strlen(text));
    ps_builder_arg(r->builder, slice, (ps_arg){.key = key, .type = PS_ARG_STR, .u.s = s});
}

/* Who sends to whom: stages in a circle, forward upwards. */
static void add_ndt_transfer(ndtimeline *r, uint32_t slice, ps_worker_op op, int64_t sequence) {
    bool is_send = op == PS_WORKER_FORWARD_SEND || op == PS_WORKER_BACKWARD_SEND;
    bool is_forward = op == PS_WORKER_FORWARD_SEND || op == PS_WORKER_FORWARD_RECV;
    int64_t n = r->file->n_pp;
    ps_ndt_worker peer = *r->own;
    peer.pp = (peer.pp + (is_send == is_forward ? 1 : n - 1)) % n;
    int64_t sender = is_send ? r->own->pp : peer.pp;
    char group[96];
    (void)snprintf(group, sizeof group, "%s from stage %lld, dp %lld, tp %lld",
                   is_forward ? "forward" : "backward", (long long)sender, (long long)r->own->dp,
                   (long long)r->own->tp);
    add_text(r, slice, r->collective, is_send ? "send" : "recv");
    add_text(r, slice, r->group, group);
    add_int(r, slice, is_send ? r->peer_to : r->peer_from, ps_ndt_rank(r->file, &peer));
    add_int(r, slice, r->sequence, sequence);
}

/* Layernorm gradients are reduced within the tensor-parallel group, those of the embedding between the first and the last stage,
 * norms for clipping over the whole job; the rest over the replicas of a stage. */
static void add_ndt_collective(ndtimeline *r, uint32_t slice, ps_worker_op op, int64_t sequence) {
    const ps_ndt_worker *w = r->own;
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
    add_text(r, slice, r->collective, ps_worker_op_name(op));
    add_text(r, slice, r->group, group);
    add_int(r, slice, r->sequence, sequence);
}

/* An op, its step and its thread. */
typedef struct worker_op {
    const ps_worker_row *row;
    int64_t step;
    uint32_t lane;
} worker_op;

static int64_t ndt_sequence_of(const worker_op *op) {
    int64_t order = op->row->order >= 0 && op->row->order < OPS_IN_STEP ? op->row->order : 0;
    return op->step >= 0 && op->step < OPS_IN_STEP ? op->step * OPS_IN_STEP + order : order;
}

/* --- ops ----------------------------------------------------------------------------------------------------------- */

static ps_slice_kind ndt_kind_of(const worker_op *op, ps_worker_op what) {
    if (what != PS_N_WORKER_OPS) {
        return ps_worker_op_is_alone(what) ? PS_SLICE_JOB : PS_SLICE_COMM_KERNEL;
    }
    return op->lane == PS_NDT_COMPUTE ? PS_SLICE_JOB
           : op->lane == PS_NDT_MISC  ? PS_SLICE_TASK
                                      : PS_SLICE_COMM_KERNEL;
}

static void add_worker_op(ndtimeline *r, const worker_op *op) {
    const ps_worker_row *row = op->row;
    ps_worker_op what = (ps_worker_op)r->file->op_of_name[row->name];
    ps_slice_kind kind = ndt_kind_of(op, what);
    uint32_t track = track_of(r, (ps_ndt_lane_kind)op->lane);
    if (track == PS_NONE) {
        return;
    }
    uint32_t slice =
        ps_builder_slice_in(r->builder, kind, track, r->names[row->name], r->names[row->name],
                            row->start_ns, row->start_ns + ps_worker_row_dur_ns(row), row->row);
    if (slice == PS_NONE) {
        if (!ps_builder_failed(r->builder)) {
            ps_diag_add(ps_builder_diag(r->builder), PS_ODD_TIME, "event %u", (unsigned)row->row);
        }
        return;
    }
    add_known(r, slice, r->step, op->step, PS_NDT_NO_STEP);
    add_known(r, slice, r->microbatch, row->microbatch, PS_ROW_UNKNOWN);
    add_known(r, slice, r->chunk, row->chunk, PS_ROW_NO_CHUNK);
    add_known(r, slice, r->seq_id, row->order, PS_ROW_UNKNOWN);
    if (kind == PS_SLICE_COMM_KERNEL && what != PS_N_WORKER_OPS) {
        if (ps_worker_op_is_transfer(what)) {
            add_ndt_transfer(r, slice, what, ndt_sequence_of(op));
        } else {
            add_ndt_collective(r, slice, what, ndt_sequence_of(op));
        }
    }
}

static int order_file_rows(const void *x, const void *y) {
    const worker_op *a = x;
    const worker_op *b = y;
    return a->row->row < b->row->row ? -1 : a->row->row > b->row->row ? 1 : 0;
}

/* As they stand in the file. False when memory is out. */
static bool add_worker_ops(ndtimeline *r) {
    worker_op *ops = ps_realloc_array(NULL, r->own->n_ops + 1, sizeof *ops);
    size_t n = 0;
    for (size_t i = 0; ops != NULL && i < r->own->n; i++) {
        const ps_worker_list *list = &r->file->lists[r->own->first + i];
        for (const ps_worker_rows *rows = list->first; rows != NULL; rows = rows->next) {
            for (uint32_t k = 0; k < rows->n; k++) {
                ops[n++] = (worker_op){&rows->at[k], list->step, list->lane};
            }
        }
    }
    if (n > 1) {
        qsort(ops, n, sizeof *ops, order_file_rows);
    }
    for (size_t i = 0; i < n; i++) {
        add_worker_op(r, &ops[i]);
    }
    ps_free(ops);
    return ops != NULL;
}

static bool init_texts(ndtimeline *r) {
    const struct {
        ps_str *key;
        const char *text;
    } KEYS[] = {{&r->step, "step"},
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
    r->names = ps_calloc(r->file->n_names + 1, sizeof *r->names);
    for (size_t i = 0; r->names != NULL && i < r->file->n_names; i++) {
        const char *name = r->file->names[i];
        r->names[i] = ps_builder_str(r->builder, name, strlen(name));
    }
    return r->names != NULL;
}

static void put_ndt_sizes(const ps_ndt_file *f, ps_buf *out) {
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_pair(&j, "from", "the names of threads and processes in the file");
    ps_json_key_int(&j, "tensor_model_parallel_size", f->n_tp);
    ps_json_key_int(&j, "pipeline_model_parallel_size", f->n_pp);
    ps_json_key_int(&j, "data_parallel_size", f->n_dp);
    ps_json_key_int(&j, "world_size", f->n_tp * f->n_pp * f->n_dp);
    ps_json_close(&j);
}

static bool add_sizes(const ndtimeline *r) {
    ps_buf text = {0};
    put_ndt_sizes(r->file, &text);
    bool ok = ps_buf_ok(&text);
    ps_builder_meta(r->builder, "distributed_args", ps_buf_str(&text));
    if (r->file->steps_laid_out) {
        ps_builder_meta(r->builder, PS_STEPS_LAID_OUT_KEY, "1");
    }
    ps_buf_fini(&text);
    return ok;
}

static bool build_worker(ndtimeline *r, uint32_t needs) {
    const ps_ndt_file *f = r->file;
    bool ok = init_texts(r);
    for (size_t k = 0; k < PS_N_NDT_LANES; k++) {
        r->tracks[k] = PS_NONE;
    }
    ok = ok && ((needs & PS_NEED_SLICES) == 0 || add_worker_ops(r));
    for (size_t i = 0; ok && i < f->n_steps && (needs & PS_NEED_STEPS) != 0; i++) {
        ps_builder_step(r->builder, f->steps[i].step, f->steps[i].start_ns, f->steps[i].end_ns);
    }
    ok = ok && ((needs & PS_NEED_META) == 0 || add_sizes(r));
    ps_free(r->names);
    return ok && !ps_builder_failed(r->builder);
}

/* --- the reader ---------------------------------------------------------------------------------------------------- */

static ps_code read_ndtimeline(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_arena arena = {0};
    ndtimeline r = {.builder = b, .file = src->noted};
    ps_file_stamp stamp = {0};
    ps_code code = ps_file_identify(src->path, &stamp.file, err);
    if (code == PS_OK && r.file != NULL && !ps_file_same(&stamp.file, &r.file->id)) {
        code = ps_fail_file(err, PS_IO, src->path, "it was written while it was read: start again");
    }
    if (code == PS_OK && r.file == NULL) {
        code = ps_ndt_file_read(src->path, src->n_threads, src->watch, &arena, &r.file, err);
    }
    if (code == PS_OK && (src->part < 0 || (uint64_t)src->part >= r.file->n_workers)) {
        code =
            ps_fail_file(err, PS_NOTHING, src->path, "it has no worker %lld", (long long)src->part);
    }
    if (code == PS_OK) {
        r.own = &r.file->workers[src->part];
        ps_builder_stamp(b, stamp);
        if (src->part == 0) { /* what is odd in the file is told once */
            ps_diag_merge(ps_builder_diag(b), r.file->diag, NULL);
        }
        if ((needs & PS_NEED_WORKER_OPS) != 0 && src->noted != NULL) {
            const ps_worker_ops ops = {&r.file->lists[r.own->first], r.own->n, r.file->op_of_name};
            ps_builder_worker_ops(b, &ops);
        }
        code = build_worker(&r, needs) ? PS_OK : ps_fail_nomem(err);
    }
    ps_arena_fini(&arena);
    return code;
}

/* A part is a worker. All workers are on one clock, that of the file. */
static ps_code ndtimeline_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n,
                                ps_err *err) {
    const ps_ndt_file *file = NULL;
    ps_code code = ps_ndt_file_read(path, 0, NULL, arena, &file, err);
    if (code != PS_OK) {
        return code;
    }
    ps_part *parts = ps_arena_alloc(arena, (file->n_workers + 1) * sizeof *parts);
    for (size_t i = 0; parts != NULL && i < file->n_workers; i++) {
        const ps_ndt_worker *w = &file->workers[i];
        char title[96];
        int length = snprintf(title, sizeof title, "PP rank %lld, DP rank %lld, TP rank %lld",
                              (long long)w->pp, (long long)w->dp, (long long)w->tp);
        const char *own = ps_arena_strndup(arena, title, (size_t)length);
        if (own == NULL) {
            return ps_fail_nomem(err);
        }
        parts[i] = (ps_part){.id = (int64_t)i,
                             .rank = ps_ndt_rank(file, w),
                             .host = "",
                             .machine = 0,
                             .title = own,
                             .noted = file};
    }
    *out = parts;
    *n = file->n_workers;
    return parts != NULL ? PS_OK : ps_fail_nomem(err);
}

static int sniff_ndtimeline(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    ps_trace_head look = ps_trace_head_look(head, n);
    return (look.is_object || look.is_array) && look.has_workers ? 60 : 0;
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
