#include "read/events/trace_file.h"

#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/literal.h"

#define MAX_META_BYTES ((size_t)16 << 20)

ps_code ps_trace_file_read(const ps_src *src, uint32_t needs,
                           ps_code (*read)(ps_input *in, const char *path, uint32_t needs,
                                           size_t n_threads, ps_builder *b, ps_err *err),
                           ps_builder *b, ps_err *err) {
    const char *path = src->path;
    ps_file_stamp stamp = {0};
    if (strcmp(path, "-") != 0) {
        ps_code code = ps_file_identify(path, &stamp.file, err);
        if (code != PS_OK) {
            return code;
        }
    }
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err != NULL && err->code != PS_OK ? err->code : PS_IO;
    }
    ps_input_watch(in, src->watch);
    ps_builder_stamp(b, stamp);
    ps_code code = read(in, path, needs, src->n_threads, b, err);
    ps_input_close(in);
    return code;
}

ps_code ps_trace_meta_add(ps_builder *b, const char *key, const char *json, size_t n, ps_err *err) {
    if (n > MAX_META_BYTES) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_METADATA_EVENT, "%.100s: %zu bytes", key, n);
        return PS_OK;
    }
    if (n == 4 && memcmp(json, "null", 4) == 0) {
        return PS_OK;
    }
    ps_arena arena = {0};
    ps_err odd = PS_ERR_INIT;
    const char *value = NULL;
    if (n > 0 && json[0] == '"') {
        value = ps_literal_str(ps_literal_parse(&arena, json, n, &odd));
    }
    if (value == NULL && odd.code != PS_NOMEM) {
        value = ps_arena_strndup(&arena, json, n);
    }
    if (value != NULL) {
        ps_builder_meta(b, key, value);
    }
    ps_arena_fini(&arena);
    return value != NULL && !ps_builder_failed(b) ? PS_OK : ps_fail_nomem(err);
}
