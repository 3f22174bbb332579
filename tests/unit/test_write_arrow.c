/* FlatBuffers byte for byte, and what a file of Arrow holds of rows: which type a column gets, where its values lie. That a reader takes the whole
 * file, e2e.query_arrow shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "write/out/flat.h"
#include "write/table/arrow.h"
#include "write/table/arrow_stream.h"

/* Field 0 of 4 bytes: root at 12, 2 bytes of nothing, the list of fields (6 bytes, of a table of 8; field 0 at 4), the table: 6 back to
 * its list, then the value. */
static void a_table_of_one_number(void **state) {
    static const uint8_t WANTED[] = {12, 0, 0, 0, 0, 0, 6, 0, 8, 0, 4, 0, 6, 0, 0, 0, 7, 0, 0, 0};
    (void)state;
    ps_flat f = {0};
    size_t n = 0;
    ps_flat_begin(&f);
    ps_flat_number(&f, 0, 7, 4);
    const uint8_t *bytes = ps_flat_finish(&f, ps_flat_end(&f), &n);
    assert_true(ps_flat_ok(&f));
    assert_int_equal(n, sizeof WANTED);
    assert_memory_equal(bytes, WANTED, sizeof WANTED);
    ps_flat_fini(&f);
}

/* The root at 16, then the list of a table of 8 whose field 1 is at 4, which points 4 further: to 2 bytes of text and a zero. */
static void a_text(void **state) {
    static const uint8_t WANTED[] = {12, 0, 0, 0, 8, 0, 8, 0, 0, 0, 4,   0,   8, 0,
                                     0,  0, 4, 0, 0, 0, 2, 0, 0, 0, 'n', 's', 0, 0};
    (void)state;
    ps_flat f = {0};
    size_t n = 0;
    ps_flat_ref text = ps_flat_text(&f, "ns");
    ps_flat_begin(&f);
    ps_flat_ref_field(&f, 1, text);
    const uint8_t *bytes = ps_flat_finish(&f, ps_flat_end(&f), &n);
    assert_int_equal(n, sizeof WANTED);
    assert_memory_equal(bytes, WANTED, sizeof WANTED);
    ps_flat_fini(&f);
}

/* --- files ------------------------------------------------------------------------------------------ */

typedef struct row {
    int64_t whole;
    double real;
    const char *text;
} row;

static const ps_column COLUMNS[] = {
    {.name = "whole", PS_FIELD(row, whole), .unit = PS_UNIT_NS},
    {.name = "real", PS_FIELD(row, real)},
    {.name = "text", PS_FIELD(row, text)},
};

static ps_code collect(void *context, const void *bytes, size_t n, ps_err *err) {
    (void)err;
    ps_buf_add(context, bytes, n);
    return PS_OK;
}

static ps_code write_rows(ps_buf *out, ps_err *err) {
    ps_table *t = ps_table_new("rows", "", PS_COLUMNS(COLUMNS));
    ps_table_put(t, &(row){.whole = 5, .real = 1.5, .text = "ab"});
    ps_table_put(t, &(row){.whole = PS_UNKNOWN_INT, .real = NAN});
    ps_table_put(t, &(row){.whole = -1, .real = 2, .text = "c"});
    ps_arrow *a = ps_arrow_new();
    ps_code code = t != NULL && !t->failed && a != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? ps_arrow_add(a, t, 0, 2, err) : code;
    code = code == PS_OK ? ps_arrow_add(a, t, 2, 3, err) : code;
    code = code == PS_OK ? ps_arrow_write(a, collect, out, err) : code;
    ps_arrow_free(a);
    ps_table_free(t);
    return code;
}

static const uint8_t *find(const ps_buf *in, const void *bytes, size_t n) {
    for (size_t i = 0; i + n <= in->len; i += 8) {
        if (memcmp(in->data + i, bytes, n) == 0) {
            return (const uint8_t *)in->data + i;
        }
    }
    fail_msg("not in the file");
    return NULL;
}

static void rows_in_a_file(void **state) {
    (void)state;
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(write_rows(&out, &err), PS_OK);
    assert_memory_equal(out.data, "ARROW1\0", 8);
    assert_memory_equal(out.data + out.len - 6, "ARROW1", 6);
    /* Rows 0 and 2 are there (bits 101); the values behind, of NULL 0. */
    static const int64_t WHOLE[] = {5, 5, 0, -1};
    static const double REALS[] = {1.5, 0, 2};
    const uint8_t *whole = find(&out, WHOLE, sizeof WHOLE);
    const uint8_t *reals = find(&out, REALS, sizeof REALS);
    assert_ptr_equal(reals, whole + sizeof WHOLE + 8);
    /* Where texts end: 2, 2, 3 from 0; then their bytes. */
    static const int64_t ENDS[] = {5, 0, 2, 2, 3};
    const uint8_t *ends = find(&out, ENDS, sizeof ENDS);
    assert_ptr_equal(ends, reals + sizeof REALS);
    assert_memory_equal(ends + sizeof ENDS, "abc\0\0\0\0", 8);
    ps_buf_fini(&out);
}

/* --- types ------------------------------------------------------------------------------------------- */

/* One column whose pieces are whole numbers, then reals, then texts. */
static void columns_widen(void **state) {
    (void)state;
    static const ps_column WHOLE[] = {{.name = "x", PS_FIELD(row, whole)}};
    static const ps_column REAL[] = {{.name = "x", PS_FIELD(row, real)}};
    static const ps_column TEXT[] = {{.name = "x", PS_FIELD(row, text)}};
    const row one = {.whole = 3, .real = 0.5, .text = "t"};
    ps_table *whole = ps_table_new("x", "", PS_COLUMNS(WHOLE));
    ps_table *real = ps_table_new("x", "", PS_COLUMNS(REAL));
    ps_table *text = ps_table_new("x", "", PS_COLUMNS(TEXT));
    ps_table_put(whole, &one);
    ps_table_put(real, &one);
    ps_table_put(text, &one);
    ps_err err = PS_ERR_INIT;
    ps_buf out = {0};
    ps_arrow *a = ps_arrow_new();
    assert_int_equal(ps_arrow_add(a, whole, 0, 1, &err), PS_OK);
    assert_int_equal(ps_arrow_add(a, real, 0, 1, &err), PS_OK);
    assert_int_equal(ps_arrow_write(a, collect, &out, &err), PS_OK);
    static const double BOTH[] = {3, 0.5};
    (void)find(&out, BOTH, sizeof BOTH);
    ps_buf_clear(&out);
    assert_int_equal(ps_arrow_add(a, text, 0, 1, &err), PS_OK);
    assert_int_equal(ps_arrow_write(a, collect, &out, &err), PS_OK);
    static const int64_t ENDS[] = {0, 1, 4, 5};
    assert_memory_equal(find(&out, ENDS, sizeof ENDS) + sizeof ENDS, "30.5t\0\0", 8);
    ps_arrow_free(a);
    ps_buf_fini(&out);
    ps_table_free(whole);
    ps_table_free(real);
    ps_table_free(text);
}

/* A byte that is no UTF-8, and a character of which the end is missing: readers check what they are told is UTF-8. */
static void texts_are_utf8(void **state) {
    (void)state;
    static const ps_column TEXT[] = {{.name = "x", PS_FIELD(row, text)}};
    ps_table *text = ps_table_new("x", "", PS_COLUMNS(TEXT));
    ps_table_put(text, &(row){.text = "a\xFFz"});
    ps_table_put(text, &(row){.text = "\xC3\xA4\xC3"});
    ps_err err = PS_ERR_INIT;
    ps_buf out = {0};
    ps_arrow *a = ps_arrow_new();
    assert_int_equal(ps_arrow_add(a, text, 0, 2, &err), PS_OK);
    assert_int_equal(ps_arrow_write(a, collect, &out, &err), PS_OK);
    static const int64_t ENDS[] = {0, 5, 10};
    assert_memory_equal(find(&out, ENDS, sizeof ENDS) + sizeof ENDS,
                        "a\xEF\xBF\xBDz\xC3\xA4\xEF\xBF\xBD", 10);
    ps_arrow_free(a);
    ps_buf_fini(&out);
    ps_table_free(text);
}

/* --- the C data interface ----------------------------------------------------------------------------- */

/* The rows of write_rows() as a stream; a code of errno. */
static int stream_rows(struct ArrowSchema *schema, struct ArrowArray *rows) {
    struct ArrowArrayStream stream = {.release = NULL};
    ps_err err = PS_ERR_INIT;
    ps_table *t = ps_table_new("rows", "", PS_COLUMNS(COLUMNS));
    ps_table_put(t, &(row){.whole = 5, .real = 1.5, .text = "ab"});
    ps_table_put(t, &(row){.whole = PS_UNKNOWN_INT, .real = NAN});
    ps_table_put(t, &(row){.whole = -1, .real = 2, .text = "c"});
    ps_arrow *a = t != NULL && !t->failed ? ps_arrow_new() : NULL;
    int status = a != NULL ? 0 : ENOMEM;
    if (status == 0 && ps_arrow_add(a, t, 0, 3, &err) != PS_OK) {
        ps_arrow_free(a);
        status = ENOMEM;
    }
    status = status == 0 && ps_arrow_stream(a, &stream, &err) != PS_OK ? ENOMEM : status;
    status = status == 0 ? stream.get_schema(&stream, schema) : status;
    if (status == 0 && (status = stream.get_next(&stream, rows)) != 0) {
        assert_string_equal(stream.get_last_error(&stream), "out of memory");
        schema->release(schema);
    }
    if (stream.release != NULL) {
        stream.release(&stream);
    }
    ps_table_free(t);
    return status;
}

static void rows_in_memory(void **state) {
    (void)state;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    assert_int_equal(stream_rows(&schema, &rows), 0);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, 3);
    static const char *const NAMES[] = {"whole_ns", "real", "text"};
    static const char *const FORMATS[] = {"l", "g", "U"};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(schema.children[i]->name, NAMES[i]);
        assert_string_equal(schema.children[i]->format, FORMATS[i]);
        assert_int_equal(schema.children[i]->flags, ARROW_FLAG_NULLABLE);
        assert_int_equal(rows.children[i]->null_count, 1);
        assert_int_equal(*(const uint8_t *)rows.children[i]->buffers[0], 5); /* bits 101 */
    }
    static const char UNIT[] = "\1\0\0\0\4\0\0\0unit\2\0\0\0ns";
    assert_memory_equal(schema.children[0]->metadata, UNIT, sizeof UNIT - 1);
    assert_null(schema.children[1]->metadata);
    static const int64_t WHOLE[] = {5, 0, -1};
    static const int64_t ENDS[] = {0, 2, 2, 3};
    assert_memory_equal(rows.children[0]->buffers[1], WHOLE, sizeof WHOLE);
    const double *reals = rows.children[1]->buffers[1];
    assert_true(reals[0] == 1.5 && isnan(reals[1]) && reals[2] == 2);
    assert_memory_equal(rows.children[2]->buffers[1], ENDS, sizeof ENDS);
    assert_memory_equal(rows.children[2]->buffers[2], "abc", 3);
    rows.release(&rows);
    schema.release(&schema);
}

static void memory_may_end_in_a_stream(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        struct ArrowSchema schema;
        struct ArrowArray rows;
        (void)ps_alloc_fail_at(n);
        int status = stream_rows(&schema, &rows);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(status, done ? 0 : ENOMEM);
        if (status == 0) {
            rows.release(&rows);
            schema.release(&schema);
        }
    }
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_buf out = {0};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = write_rows(&out, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true(code == PS_NOMEM || code == PS_OK);
        assert_true(done || code == PS_NOMEM || !ps_buf_ok(&out));
        ps_buf_fini(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_of_one_number), cmocka_unit_test(a_text),
        cmocka_unit_test(rows_in_a_file),        cmocka_unit_test(columns_widen),
        cmocka_unit_test(texts_are_utf8),        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(rows_in_memory),        cmocka_unit_test(memory_may_end_in_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
