/* Who takes a stream may move any child of its batch elsewhere and release the rest, so that each child has a share in the columns. */
#include "write/table/arrow_stream.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "write/table/arrow_columns.h"

/* --- the schema -------------------------------------------------------------------------------------------------- */

/* What a schema owns: its children lie behind their pointers. */
typedef struct schema_data {
    ps_arrow *rows;
    ps_buf metadata;
} schema_data;

static void release_arrow_schema(struct ArrowSchema *schema) {
    schema_data *data = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
        ps_free(child);
    }
    ps_free(schema->children);
    ps_buf_fini(&data->metadata);
    ps_arrow_free(data->rows);
    ps_free(data);
    schema->release = NULL;
}

/* Metadata of the interface: the number of pairs, then each text with its length before it. */
static void put_pair(ps_buf *out, const char *key, const char *value) {
    const char *const texts[] = {key, value};
    const int32_t one = 1;
    ps_buf_add(out, &one, sizeof one);
    for (size_t i = 0; i < 2; i++) {
        const int32_t n = (int32_t)strlen(texts[i]);
        ps_buf_add(out, &n, sizeof n);
        ps_buf_add(out, texts[i], (size_t)n);
    }
}

/* Without children. False when memory is out; then nothing is to be released. */
static bool begin_schema(ps_arrow *rows, const ps_arrow_column *c, struct ArrowSchema *out) {
    schema_data *data = ps_calloc(1, sizeof *data);
    *out = (struct ArrowSchema){.format = "+s", .name = ""};
    if (data == NULL) {
        return false;
    }
    if (c != NULL) {
        out->format = ps_arrow_type_of(c).format;
        out->name = c->name;
        out->flags = ARROW_FLAG_NULLABLE;
    }
    if (c != NULL && c->unit[0] != '\0') {
        put_pair(&data->metadata, "unit", c->unit);
    } else if (c == NULL && rows->note_key != NULL) {
        put_pair(&data->metadata, rows->note_key, rows->note);
    }
    out->metadata = data->metadata.data;
    if (!ps_buf_ok(&data->metadata)) {
        ps_buf_fini(&data->metadata);
        ps_free(data);
        return false;
    }
    data->rows = ps_arrow_share(rows);
    out->private_data = data;
    out->release = release_arrow_schema;
    return true;
}

static bool make_schema(ps_arrow *rows, struct ArrowSchema *out) {
    if (!begin_schema(rows, NULL, out)) {
        return false;
    }
    out->children = ps_calloc(rows->n_columns + 1, sizeof(struct ArrowSchema *));
    bool ok = out->children != NULL;
    for (size_t i = 0; i < rows->n_columns && ok; i++) {
        struct ArrowSchema *child = ps_calloc(1, sizeof *child);
        ok = child != NULL && begin_schema(rows, &rows->columns[i], child);
        if (ok) {
            out->children[out->n_children++] = child;
        } else {
            ps_free(child);
        }
    }
    if (!ok) {
        out->release(out);
    }
    return ok;
}

/* --- the rows ---------------------------------------------------------------------------------------------------- */

typedef struct array_data {
    ps_arrow *rows;
    const void *buffers[3];
} array_data;

static void release_arrow_array(struct ArrowArray *array) {
    array_data *data = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
        ps_free(child);
    }
    ps_free(array->children);
    ps_arrow_free(data->rows);
    ps_free(data);
    array->release = NULL;
}

/* Buffers of no rows are never NULL. */
static void set_buffers(const ps_arrow_column *c, size_t n_rows, const void *out[3]) {
    static const int64_t NOTHING[1] = {0};
    bool is_text = c->type == PS_COL_TEXT;
    const ps_arrow_number *values = is_text ? c->numbers : ps_arrow_values(c);
    out[0] = c->n_null > 0 ? c->valid : NULL;
    out[1] = n_rows > 0 ? (const void *)values : NOTHING;
    out[2] = is_text && c->text.data != NULL ? (const void *)c->text.data : NOTHING;
}

static bool begin_array(ps_arrow *rows, const ps_arrow_column *c, struct ArrowArray *out) {
    array_data *data = ps_calloc(1, sizeof *data);
    *out = (struct ArrowArray){.length = (int64_t)rows->n_rows, .n_buffers = 1};
    if (data == NULL) {
        return false;
    }
    if (c != NULL) {
        out->null_count = (int64_t)c->n_null;
        out->n_buffers = c->type == PS_COL_TEXT ? 3 : 2;
        set_buffers(c, rows->n_rows, data->buffers);
    }
    data->rows = ps_arrow_share(rows);
    out->buffers = data->buffers;
    out->private_data = data;
    out->release = release_arrow_array;
    return true;
}

static bool make_array(ps_arrow *rows, struct ArrowArray *out) {
    if (!begin_array(rows, NULL, out)) {
        return false;
    }
    out->children = ps_calloc(rows->n_columns + 1, sizeof(struct ArrowArray *));
    bool ok = out->children != NULL;
    for (size_t i = 0; i < rows->n_columns && ok; i++) {
        struct ArrowArray *child = ps_calloc(1, sizeof *child);
        ok = child != NULL && begin_array(rows, &rows->columns[i], child);
        if (ok) {
            out->children[out->n_children++] = child;
        } else {
            ps_free(child);
        }
    }
    if (!ok) {
        out->release(out);
    }
    return ok;
}

/* --- the stream -------------------------------------------------------------------------------------------------- */

typedef struct stream_data {
    ps_arrow *rows;
    bool is_taken;
    const char *error; /* static; NULL: the last call went well */
} stream_data;

static int end_stream_call(stream_data *data, bool ok) {
    data->error = ok ? NULL : ps_code_text(PS_ENGLISH, PS_NOMEM);
    return ok ? 0 : ENOMEM;
}

static int get_arrow_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    stream_data *data = stream->private_data;
    return end_stream_call(data, make_schema(data->rows, out));
}

static int get_arrow_rows(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    stream_data *data = stream->private_data;
    if (data->is_taken) {
        *out = (struct ArrowArray){.length = 0};
        return end_stream_call(data, true);
    }
    data->is_taken = make_array(data->rows, out);
    return end_stream_call(data, data->is_taken);
}

static const char *get_arrow_error(struct ArrowArrayStream *stream) {
    return ((const stream_data *)stream->private_data)->error;
}

static void release_arrow_stream(struct ArrowArrayStream *stream) {
    stream_data *data = stream->private_data;
    ps_arrow_free(data->rows);
    ps_free(data);
    stream->release = NULL;
}

/* Who has no bits for NULL (numpy) takes NaN for it. */
static void fill_nan(const ps_arrow *a) {
    for (size_t i = 0; i < a->n_columns; i++) {
        ps_arrow_column *c = &a->columns[i];
        for (size_t row = 0; c->type == PS_COL_REAL && c->n_null > 0 && row < a->n_rows; row++) {
            if (!ps_arrow_is_valid(c, row)) {
                c->numbers[row + 1].r = NAN;
            }
        }
    }
}

/* Takes one share in the columns, also after a failure. */
static ps_code begin_stream(ps_arrow *a, struct ArrowArrayStream *out, ps_err *err) {
    stream_data *data = ps_calloc(1, sizeof *data);
    *out = (struct ArrowArrayStream){.release = NULL};
    if (data == NULL) {
        ps_arrow_free(a);
        return ps_fail_nomem(err);
    }
    data->rows = a;
    *out = (struct ArrowArrayStream){.get_schema = get_arrow_schema,
                                     .get_next = get_arrow_rows,
                                     .get_last_error = get_arrow_error,
                                     .release = release_arrow_stream,
                                     .private_data = data};
    return PS_OK;
}

ps_code ps_arrow_stream(ps_arrow *a, struct ArrowArrayStream *out, ps_err *err) {
    fill_nan(a);
    return begin_stream(a, out, err);
}

ps_code ps_arrow_stream_again(const struct ArrowArrayStream *from, struct ArrowArrayStream *out,
                              ps_err *err) {
    *out = (struct ArrowArrayStream){.release = NULL};
    if (from->release != release_arrow_stream) {
        return ps_fail(err, PS_USAGE, "this stream is released, or was not made here");
    }
    return begin_stream(ps_arrow_share(((stream_data *)from->private_data)->rows), out, err);
}
