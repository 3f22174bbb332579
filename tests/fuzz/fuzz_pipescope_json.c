/* The input is a file that claims to be ours. Whatever is read from it must be writable in both forms. */
#include <stddef.h>
#include <stdint.h>

#include "read/chrome/pipescope_json.h"
#include "write/trace/trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_as(const char *path, const ps_trace *t) {
    static const ps_trace_source SOURCE = {0, "", "rank 0", NULL, -1};
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_sink sink = ps_sink_buf(&out);
    ps_trace_writer *w =
        ps_trace_writer_to_sink(ps_trace_format_for(path), &sink, &SOURCE, 1, NULL);
    if (ps_trace_writer_rank(w, 0, t, NULL) != PS_OK ||
        ps_trace_writer_commit(w, NULL, NULL) != PS_OK) {
        __builtin_trap();
    }
    ps_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_builder *b = ps_builder_new();
    ps_err err = PS_ERR_INIT;
    ps_input *in = ps_input_of_memory(data, size, &err);
    if (in == NULL || ps_pipescope_json_read(in, 0, UINT32_MAX & ~(uint32_t)PS_NEED_TABLES, 1, b,
                                             &err) != PS_OK) {
        ps_input_close(in);
        ps_builder_free(b);
        return 0;
    }
    ps_input_close(in);
    ps_trace *t = ps_builder_seal(b, &err);
    write_as("x.json", t);
    write_as("x.pftrace", t);
    ps_trace_free(t);
    return 0;
}
