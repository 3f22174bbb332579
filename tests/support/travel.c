#include "support/travel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void free_value(const ps_analysis *analysis, ps_archive_value *archive, void *value) {
    if (archive == analysis->archive) {
        analysis->free_partial(value);
    } else {
        analysis->free_shared(value);
    }
}

static bool are_same(const ps_buf *a, const ps_buf *b) {
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

ps_code travel(const ps_analysis *analysis, ps_archive_value *archive, void **value, ps_err *err) {
    if (*value == NULL) {
        return PS_OK;
    }
    if (archive == NULL) {
        fail_msg("%s: a value without an archive", analysis->name);
    }
    ps_buf bytes;
    ps_buf again;
    void *copy = NULL;
    ps_buf_init(&bytes, 0);
    ps_buf_init(&again, 0);
    ps_code code = ps_archive_write_value(archive, *value, &bytes, err);
    code = code == PS_OK ? ps_archive_read_value(archive, &copy, bytes.data, bytes.len, err) : code;
    code = code == PS_OK ? ps_archive_write_value(archive, copy, &again, err) : code;
    if (code == PS_OK && !are_same(&bytes, &again)) {
        fail_msg("%s: what was read is written as %zu bytes, not as the same %zu", analysis->name,
                 again.len, bytes.len);
    }
    if (code != PS_OK && code != PS_NOMEM) {
        fail_msg("%s: %s", analysis->name, err->msg);
    }
    if (code == PS_OK) {
        free_value(analysis, archive, *value);
        *value = copy;
    } else if (copy != NULL) {
        free_value(analysis, archive, copy);
    }
    ps_buf_fini(&bytes);
    ps_buf_fini(&again);
    return code;
}
