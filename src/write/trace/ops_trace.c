#include "write/trace/ops_trace.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "write/trace/trace_writer.h"

typedef struct ops_columns {
    size_t worker, rank, stage, replica, step, op, microbatch, chunk, comm, start, end;
} ops_columns;

static ops_columns find_ops_columns(const ps_table *t) {
    return (ops_columns){ps_table_column(t, "worker"),       ps_table_column(t, "rank"),
                         ps_table_column(t, "stage"),        ps_table_column(t, "replica"),
                         ps_table_column(t, "step"),         ps_table_column(t, "op"),
                         ps_table_column(t, "microbatch"),   ps_table_column(t, "chunk"),
                         ps_table_column(t, "communicates"), ps_table_column(t, "start"),
                         ps_table_column(t, "end")};
}

static int64_t int_at(const ps_table *t, size_t row, size_t column) {
    return ps_table_cell(t, row, column)->u.i;
}

static uint32_t ops_track(ps_builder *b, bool communicates) {
    const char *label = communicates ? "communication" : "computing";
    uint32_t track = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_STREAM, .tid = communicates ? 1 : 0, .device = 0});
    if (track != PS_NONE) {
        ps_builder_track_label(b, track, ps_builder_str(b, label, strlen(label)), communicates);
    }
    return track;
}

static void add_worker_slice(ps_builder *b, const ps_table *t, const ops_columns *c, size_t row) {
    bool communicates = int_at(t, row, c->comm) != 0;
    const char *name = ps_table_cell(t, row, c->op)->u.text;
    uint32_t track = ops_track(b, communicates);
    if (track == PS_NONE) {
        return;
    }
    uint32_t slice =
        ps_builder_slice(b, communicates ? PS_SLICE_COMM_KERNEL : PS_SLICE_JOB, track,
                         ps_builder_str(b, name, strlen(name)), int_at(t, row, c->start),
                         int_at(t, row, c->end), (int64_t)row);
    if (slice != PS_NONE) {
        ps_builder_arg_int(b, slice, "step", int_at(t, row, c->step));
        ps_builder_arg_int(b, slice, "microbatch", int_at(t, row, c->microbatch));
        ps_builder_arg_int(b, slice, "chunk", int_at(t, row, c->chunk));
    }
}

/* Rows of the table by worker: those of worker w are order[first[w]] to order[first[w + 1]]. */
typedef struct worker_rows {
    size_t *order, *first;
    size_t n; /* workers */
} worker_rows;

static bool sort_ops_rows(const ps_table *t, const ops_columns *c, worker_rows *out) {
    for (size_t r = 0; r < t->n_rows; r++) {
        size_t w = (size_t)int_at(t, r, c->worker) + 1;
        out->n = w > out->n ? w : out->n;
    }
    out->order = ps_calloc(t->n_rows + 1, sizeof *out->order);
    out->first = ps_calloc(out->n + 2, sizeof *out->first);
    if (out->order == NULL || out->first == NULL) {
        return false;
    }
    size_t *next = out->first + 1; /* counts, then where the next row of a worker goes */
    for (size_t r = 0; r < t->n_rows; r++) {
        next[int_at(t, r, c->worker)]++;
    }
    size_t at = 0;
    for (size_t w = 0; w < out->n; w++) {
        size_t n = next[w];
        next[w] = at;
        at += n;
    }
    for (size_t r = 0; r < t->n_rows; r++) {
        out->order[next[int_at(t, r, c->worker)]++] = r;
    }
    return true;
}

static ps_trace *make_worker_trace(const ps_table *t, const ops_columns *c, const worker_rows *rows,
                                   size_t worker, ps_err *err) {
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    for (size_t i = rows->first[worker]; i < rows->first[worker + 1]; i++) {
        add_worker_slice(b, t, c, rows->order[i]);
    }
    return ps_builder_seal(b, err);
}

static void name_workers(const ps_table *t, const ops_columns *c, const worker_rows *rows,
                         ps_trace_source *sources, char (*titles)[64]) {
    for (size_t w = 0; w < rows->n; w++) {
        size_t r = rows->order[rows->first[w]];
        (void)snprintf(titles[w], sizeof titles[w], "rank %lld, stage %lld, replica %lld",
                       (long long)int_at(t, r, c->rank), (long long)int_at(t, r, c->stage),
                       (long long)int_at(t, r, c->replica));
        sources[w] = (ps_trace_source){
            .rank = int_at(t, r, c->rank), .host = "", .title = titles[w], .machine = 0};
    }
}

/* A file, or a sink for Perfetto's format. */
typedef struct ops_target {
    const char *path;      /* or NULL */
    const ps_table *lacks; /* or NULL */
    ps_sink *sink;
} ops_target;

static ps_trace_writer *open_ops_target(const ops_target *to, const ps_trace_source *sources,
                                        size_t n, ps_err *err) {
    return to->path != NULL ? ps_trace_writer_open(to->path, sources, n, err)
                            : ps_trace_writer_to_sink(ps_trace_format_for(".pftrace"), to->sink,
                                                      sources, n, err);
}

static ps_code write_workers(const ps_table *t, const ops_columns *c, const worker_rows *rows,
                             const ps_trace_source *sources, const ops_target *to, ps_err *err) {
    ps_trace_writer *w = open_ops_target(to, sources, rows->n, err);
    ps_code code = w != NULL ? PS_OK : err->code;
    for (size_t i = 0; code == PS_OK && i < rows->n; i++) {
        ps_trace *trace = make_worker_trace(t, c, rows, i, err);
        code = trace != NULL ? ps_trace_writer_rank(w, i, trace, err) : err->code;
        ps_trace_free(trace);
    }
    if (code == PS_OK) {
        ps_trace_writer_lacks(w, to->lacks);
        return ps_trace_writer_commit(w, NULL, err);
    }
    if (w != NULL) {
        ps_trace_writer_abort(w);
    }
    return code;
}

static ps_code write_ops(const ps_table *timeline, const ops_target *to, ps_err *err) {
    const ops_columns c = find_ops_columns(timeline);
    worker_rows rows = {0};
    bool ok = sort_ops_rows(timeline, &c, &rows);
    ps_trace_source *sources = ps_calloc(rows.n + 1, sizeof *sources);
    char(*titles)[64] = ps_calloc(rows.n + 1, sizeof *titles);
    ps_code code = ok && sources != NULL && titles != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        name_workers(timeline, &c, &rows, sources, titles);
        code = write_workers(timeline, &c, &rows, sources, to, err);
    }
    ps_free(sources);
    ps_free(titles);
    ps_free(rows.order);
    ps_free(rows.first);
    return code;
}

ps_code ps_write_ops_trace(const ps_table *timeline, const ps_table *lacks, const char *path,
                           ps_err *err) {
    return write_ops(timeline, &(ops_target){.path = path, .lacks = lacks}, err);
}

ps_code ps_write_ops_trace_to(const ps_table *timeline, ps_buf *out, ps_err *err) {
    ps_sink sink = ps_sink_buf(out);
    ps_code code = write_ops(timeline, &(ops_target){.sink = &sink}, err);
    return code == PS_OK ? ps_sink_commit(&sink, err) : code;
}
