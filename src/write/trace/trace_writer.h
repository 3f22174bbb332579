/* Traces into files that timeline viewers open. Each format is one file, listed in trace_writers.def; the ending of the
 * output's name chooses it. Ranks are written one after the other, so that only one trace needs to be in memory:
 *
 *   w = ps_trace_writer_open(path, sources, n, &err)
 *   ps_trace_writer_rank(w, i, trace_of_source_i, &err)      for each source that could be read, in order
 *   ps_trace_writer_commit(w, &stats, &err)                  or ps_trace_writer_abort(w): nothing is left behind
 *
 * The file appears under its name when it is complete. */
#ifndef PS_WRITE_TRACE_WRITER_H
#define PS_WRITE_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/table.h"
#include "model/trace.h"
#include "write/out/byte_out.h"

/* One rank of the output, as it is known before it is read. All pointers are borrowed. */
typedef struct ps_trace_source {
    int64_t rank;     /* -1 unknown */
    const char *host; /* name of the machine, "" unknown */
    const char *
        title; /* stands before the names of its processes when there are several sources: "rank 3" */
    const char *profiler; /* that wrote it: "PyTorch"; NULL unknown */
    int32_t machine;      /* number of the machine in a job of several, -1 unknown */
} ps_trace_source;

/* What was written. */
typedef struct ps_trace_written {
    uint64_t n_bytes; /* before gzip */
    uint64_t n_slices, n_flows, n_values;
    uint64_t n_crossing;   /* slices on further lanes, because they cross others of their track */
    uint64_t n_not_finite; /* values of counters that are no numbers and were left out */
    uint64_t n_negative; /* events before 1970 that the format cannot hold and that were left out */
} ps_trace_written;

typedef struct ps_trace_job {
    ps_byte_out *out;
    const ps_trace_source *sources;
    size_t n_sources;
    const ps_table
        *lacks; /* what is not in the file because it failed (model/lacks.h), or NULL; at its end */
    ps_trace_written written;
} ps_trace_job;

typedef struct ps_trace_format {
    const char *name;
    const char *summary; /* one line for people */
    const char *const
        *suffixes; /* NULL-terminated; with ".gz" at its end the output is compressed */
    /* State of one output, NULL when memory is out. */
    void *(*begin)(ps_trace_job *job);
    /* Writes one rank. PS_NOMEM; failures of the output are looked at by the caller. */
    ps_code (*rank)(void *state, size_t source, const ps_trace *t, ps_err *err);
    /* What stands at the end of the file; not after an abort. */
    void (*end)(void *state);
    void (*free_state)(void *state);
} ps_trace_format;

/* The format of a file name, NULL when its ending is none of them. */
const ps_trace_format *ps_trace_format_for(const char *path);
/* Adds all endings: ".json, .json.gz or .pftrace". */
void ps_trace_format_list(ps_buf *out);

typedef struct ps_trace_writer ps_trace_writer;

/* NULL on failure: PS_USAGE for an unknown ending, else what opening the output says. `sources` must outlive the
 * writer. */
ps_trace_writer *ps_trace_writer_open(const char *path, const ps_trace_source *sources, size_t n,
                                      ps_err *err);
/* The same into a sink that the caller commits or aborts. */
ps_trace_writer *ps_trace_writer_to_sink(const ps_trace_format *format, ps_sink *sink,
                                         const ps_trace_source *sources, size_t n, ps_err *err);
PS_MUST_USE ps_code ps_trace_writer_rank(ps_trace_writer *w, size_t source, const ps_trace *t,
                                         ps_err *err);
/* What the end of the file tells of what is not in it (model/lacks.h); borrowed until the commit, NULL is fine. */
void ps_trace_writer_lacks(ps_trace_writer *w, const ps_table *lacks);
/* Frees the writer, also on failure. `written` may be NULL. */
PS_MUST_USE ps_code ps_trace_writer_commit(ps_trace_writer *w, ps_trace_written *written,
                                           ps_err *err);
void ps_trace_writer_abort(ps_trace_writer *w); /* NULL is fine */

#endif
