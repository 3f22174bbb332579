#include "write/trace/trace_writer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

#define X(symbol) extern const ps_trace_format ps_trace_format_##symbol;
#include "write/trace/trace_writers.def"
#undef X

static const ps_trace_format *const FORMATS[] = {
#define X(symbol) &ps_trace_format_##symbol,
#include "write/trace/trace_writers.def"
#undef X
    NULL};

struct ps_trace_writer {
    const ps_trace_format *format;
    void *state;
    ps_trace_job job;
    ps_byte_out out;
    ps_sink file;  /* our own, or empty */
    ps_sink *sink; /* &file, or the caller's */
};

const ps_trace_format *ps_trace_format_for(const char *path) {
    for (size_t f = 0; FORMATS[f] != NULL; f++) {
        for (size_t i = 0; FORMATS[f]->suffixes[i] != NULL; i++) {
            if (ps_ends_with(path, FORMATS[f]->suffixes[i])) {
                return FORMATS[f];
            }
        }
    }
    return NULL;
}

void ps_trace_format_list(ps_buf *out) {
    const char *last = NULL; /* known to be the last one only when no other follows */
    const char *comma = "";
    for (size_t f = 0; FORMATS[f] != NULL; f++) {
        for (size_t i = 0; FORMATS[f]->suffixes[i] != NULL; i++) {
            if (last != NULL) {
                ps_buf_addf(out, "%s%s", comma, last);
                comma = ", ";
            }
            last = FORMATS[f]->suffixes[i];
        }
    }
    ps_buf_addf(out, " or %s", last != NULL ? last : "");
}

static ps_trace_writer *make_writer(const ps_trace_format *format, bool gzip, ps_sink *sink,
                                    const ps_trace_source *sources, size_t n, ps_err *err) {
    ps_trace_writer *w = ps_calloc(1, sizeof *w);
    if (w == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    w->format = format;
    w->sink = sink;
    w->job = (ps_trace_job){.out = &w->out, .sources = sources, .n_sources = n};
    if (ps_byte_out_init(&w->out, sink, gzip, err) != PS_OK) {
        ps_free(w);
        return NULL;
    }
    w->state = format->begin(&w->job);
    if (w->state == NULL) {
        (void)ps_fail_nomem(err);
        ps_byte_out_fini(&w->out);
        ps_free(w);
        return NULL;
    }
    return w;
}

ps_trace_writer *ps_trace_writer_to_sink(const ps_trace_format *format, ps_sink *sink,
                                         const ps_trace_source *sources, size_t n, ps_err *err) {
    return make_writer(format, false, sink, sources, n, err);
}

ps_trace_writer *ps_trace_writer_open(const char *path, const ps_trace_source *sources, size_t n,
                                      ps_err *err) {
    const ps_trace_format *format = ps_trace_format_for(path);
    if (format == NULL) {
        ps_buf endings = {0};
        ps_trace_format_list(&endings);
        (void)ps_fail_file(err, PS_USAGE, path, "end the name in %s", ps_buf_str(&endings));
        ps_buf_fini(&endings);
        return NULL;
    }
    ps_sink file;
    if (ps_sink_open_file(&file, path, err) != PS_OK) {
        return NULL;
    }
    ps_trace_writer *w = make_writer(format, ps_ends_with(path, ".gz"), NULL, sources, n, err);
    if (w == NULL) {
        ps_sink_abort(&file);
        return NULL;
    }
    w->file = file;
    w->sink = &w->file;
    w->out.sink = &w->file;
    return w;
}

ps_code ps_trace_writer_rank(ps_trace_writer *w, size_t source, const ps_trace *t, ps_err *err) {
    ps_code code = w->format->rank(w->state, source, t, err);
    if (code == PS_OK && ps_byte_out_failed(&w->out)) {
        code = w->out.err.code;
        if (err != NULL) {
            *err = w->out.err;
        }
    }
    return code;
}

static void free_writer(ps_trace_writer *w) {
    ps_sink_abort(&w->file); /* an empty one once it was committed */
    ps_byte_out_fini(&w->out);
    w->format->free_state(w->state);
    ps_free(w);
}

void ps_trace_writer_lacks(ps_trace_writer *w, const ps_table *lacks) {
    w->job.lacks = lacks;
}

ps_code ps_trace_writer_commit(ps_trace_writer *w, ps_trace_written *written, ps_err *err) {
    w->format->end(w->state);
    ps_code code = ps_byte_out_end(&w->out, err);
    if (code == PS_OK && w->sink == &w->file) {
        code = ps_sink_commit(&w->file, err);
    }
    if (written != NULL) {
        *written = w->job.written;
        written->n_bytes = w->out.n_flushed;
    }
    free_writer(w);
    return code;
}

void ps_trace_writer_abort(ps_trace_writer *w) {
    if (w != NULL) {
        free_writer(w);
    }
}
