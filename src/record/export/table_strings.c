/* Numbers of strings, streams and marks. */
#include <string.h>

#include "base/alloc.h"
#include "record/export/demangle.h"
#include "record/export/export_tables.h"

int64_t ps_export_string(ps_export *e, const char *text, size_t n) {
    uint32_t id = ps_texts_add(&e->strings, text, n);
    e->out_of_memory = e->out_of_memory || id == PS_TEXTS_NO_MEMORY;
    return id;
}

int64_t ps_export_text(ps_export *e, uint32_t text) {
    if (e->string_of_text[text] == 0) {
        size_t n = 0;
        const char *bytes = ps_capture_text(e->c, text, &n);
        uint32_t id = ps_texts_refer(&e->strings, bytes, n); /* the capture outlives the export */
        e->out_of_memory = e->out_of_memory || id == PS_TEXTS_NO_MEMORY;
        e->string_of_text[text] = id + 1;
    }
    return (int64_t)e->string_of_text[text] - 1;
}

int64_t ps_export_kernel(ps_export *e, uint32_t text) {
    if (e->string_of_kernel[text] == 0) {
        char name[PS_RECORD_MAX_PAIR];
        size_t n = ps_demangle(ps_capture_text(e->c, text, NULL), name, sizeof name);
        e->string_of_kernel[text] = (uint32_t)ps_export_string(e, name, n) + 1;
    }
    return (int64_t)e->string_of_kernel[text] - 1;
}

const char *ps_export_kernel_name(ps_export *e, uint32_t text) {
    int64_t id = text != PS_NO_TEXT ? ps_export_kernel(e, text) : -1;
    return id >= 0 && (size_t)id < e->strings.n ? e->strings.text[id] : "";
}

uint32_t ps_export_stream(ps_export *e, ps_stream_kind kind, uint32_t context, uint64_t handle) {
    enum { LEGACY = 1, CUPTI_LEGACY = 7 };
    if ((kind == PS_STREAM_HANDLE && handle == LEGACY) ||
        (kind == PS_STREAM_CUPTI && handle == CUPTI_LEGACY)) {
        return 0;
    }
    for (size_t i = 1; i < e->n_streams; i++) {
        const ps_stream_entry *s = &e->streams[i];
        if (s->handle == handle && s->context == context && s->kind == kind) {
            return (uint32_t)i;
        }
    }
    if (!ps_grow(&e->streams, &e->cap_streams, e->n_streams + 1, UINT32_MAX, sizeof *e->streams)) {
        e->out_of_memory = true;
        return 0;
    }
    e->streams[e->n_streams] =
        (ps_stream_entry){.handle = handle, .context = context, .kind = kind};
    return (uint32_t)e->n_streams++;
}

const char *ps_export_stream_name(const ps_export *e, uint32_t stream) {
    const ps_stream_entry *s = &e->streams[stream];
    const ps_named *names = ps_capture_streams(e->c);
    for (size_t i = 0; s->kind == PS_STREAM_HANDLE && i < names->n; i++) {
        if (names->key[i] == s->handle) {
            return ps_capture_text(e->c, names->value[i], NULL);
        }
    }
    return "";
}

int64_t ps_export_connection(uint64_t n) {
    const uint64_t below_none = PS_DB_NONE - PS_DB_FIRST_MARK;
    return n < below_none ? PS_DB_FIRST_MARK + (int64_t)n
                          : (INT64_C(1) << 33) + (int64_t)(n - below_none);
}

int64_t ps_export_correlation(uint64_t id) {
    return id < PS_DB_FIRST_MARK ? (int64_t)id : (int64_t)((UINT64_C(1) << 40) + (id & UINT32_MAX));
}

ps_code ps_fill_strings(ps_export *e, ps_err *err) {
    if (e->out_of_memory) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_database_begin(&e->db, "STRING_IDS", err);
    for (size_t i = 0; code == PS_OK && i < e->strings.n; i++) {
        ps_database_int(&e->db, 0, (int64_t)i);
        ps_database_text(&e->db, 1, e->strings.text[i], e->strings.length[i]);
        code = ps_database_put(&e->db, err);
    }
    return code;
}
