#include "write/table/arrow.h"

#include <string.h>

#include "base/alloc.h"
#include "write/out/flat.h"
#include "write/table/arrow_columns.h"

enum { BATCH_ROWS = 1 << 20 }; /* whole bytes of the bits that say what is NULL */

#define MAGIC "ARROW1"

typedef struct block {
    int64_t offset;
    int32_t metadata_bytes, nothing;
    int64_t body_bytes;
} block;

typedef struct arrow_file {
    const ps_arrow *rows;
    ps_arrow_put *put;
    void *context;
    int64_t at; /* bytes so far */
    block *blocks;
    size_t n_blocks, cap_blocks;
} arrow_file;

/* --- metadata ---------------------------------------------------------------------------------------------------- */

/* Numbers of Message.fbs and Schema.fbs. */
enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_BATCH = 3, PRECISION_DOUBLE = 2 };

static ps_flat_ref put_type(ps_flat *f, int64_t number) {
    ps_flat_begin(f);
    if (number == PS_ARROW_INT) {
        ps_flat_number(f, 0, 64, 4);
        ps_flat_number(f, 1, 1, 1); /* signed */
    } else if (number == PS_ARROW_FLOAT) {
        ps_flat_number(f, 0, PRECISION_DOUBLE, 2);
    }
    return ps_flat_end(f);
}

static ps_flat_ref put_pair(ps_flat *f, const char *name, const char *text) {
    ps_flat_ref key = ps_flat_text(f, name);
    ps_flat_ref value = ps_flat_text(f, text);
    ps_flat_begin(f);
    ps_flat_ref_field(f, 0, key);
    ps_flat_ref_field(f, 1, value);
    ps_flat_ref pair = ps_flat_end(f);
    return ps_flat_refs(f, &pair, 1);
}

static ps_flat_ref put_field(ps_flat *f, const ps_arrow_column *c) {
    int64_t type_number = ps_arrow_type_of(c).number;
    ps_flat_ref name = ps_flat_text(f, c->name);
    ps_flat_ref type = put_type(f, type_number);
    ps_flat_ref children = ps_flat_refs(f, NULL, 0);
    ps_flat_ref unit = c->unit[0] != '\0' ? put_pair(f, "unit", c->unit) : 0;
    ps_flat_begin(f);
    ps_flat_ref_field(f, 0, name);
    ps_flat_number(f, 1, 1, 1); /* nullable */
    ps_flat_number(f, 2, type_number, 1);
    ps_flat_ref_field(f, 3, type);
    ps_flat_ref_field(f, 5, children);
    ps_flat_ref_field(f, 6, unit);
    return ps_flat_end(f);
}

static ps_flat_ref put_schema(ps_flat *f, const ps_arrow *a) {
    ps_flat_ref fields[PS_ARROW_MOST_COLUMNS];
    for (size_t i = 0; i < a->n_columns; i++) {
        fields[i] = put_field(f, &a->columns[i]);
    }
    ps_flat_ref all = ps_flat_refs(f, fields, a->n_columns);
    ps_flat_ref note = a->note_key != NULL ? put_pair(f, a->note_key, a->note) : 0;
    ps_flat_begin(f);
    ps_flat_ref_field(f, 1, all);
    ps_flat_ref_field(f, 2, note);
    return ps_flat_end(f);
}

static ps_flat_ref put_message(ps_flat *f, int64_t kind, ps_flat_ref header, int64_t body_bytes) {
    ps_flat_begin(f);
    ps_flat_number(f, 3, body_bytes, 8);
    ps_flat_ref_field(f, 2, header);
    ps_flat_number(f, 0, VERSION_5, 2);
    ps_flat_number(f, 1, kind, 1);
    return ps_flat_end(f);
}

/* --- bytes ------------------------------------------------------------------------------------------------------- */

static ps_code put_bytes(arrow_file *a, const void *bytes, size_t n, ps_err *err) {
    a->at += (int64_t)n;
    return n > 0 ? a->put(a->context, bytes, n, err) : PS_OK;
}

/* Up to whole 8 bytes, from where the bytes began. */
static ps_code put_rest(arrow_file *a, size_t n, ps_err *err) {
    static const uint8_t ZEROS[8];
    return put_bytes(a, ZEROS, (8 - n % 8) % 8, err);
}

static ps_code put_padded(arrow_file *a, const void *bytes, size_t n, ps_err *err) {
    ps_code code = put_bytes(a, bytes, n, err);
    return code == PS_OK ? put_rest(a, n, err) : code;
}

static size_t padded(size_t n) {
    return (n + 7) / 8 * 8;
}

/* The metadata of a message, with what stands before it; *bytes: of both. */
static ps_code put_metadata(arrow_file *a, ps_flat *f, ps_flat_ref root, size_t *bytes,
                            ps_err *err) {
    size_t n = 0;
    const uint8_t *metadata = ps_flat_finish(f, root, &n);
    const uint32_t head[2] = {UINT32_MAX, (uint32_t)padded(n)};
    if (metadata == NULL) {
        return ps_fail_nomem(err);
    }
    *bytes = sizeof head + padded(n);
    ps_code code = put_bytes(a, head, sizeof head, err);
    return code == PS_OK ? put_padded(a, metadata, n, err) : code;
}

static ps_code write_schema_message(arrow_file *a, ps_err *err) {
    ps_flat f = {0};
    size_t bytes = 0;
    ps_flat_ref schema = put_schema(&f, a->rows);
    ps_code code = put_metadata(a, &f, put_message(&f, HEADER_SCHEMA, schema, 0), &bytes, err);
    ps_flat_fini(&f);
    return code;
}

/* --- a batch of rows --------------------------------------------------------------------------------------------- */

/* Rows [first, first + n) of a column, in the buffers of the file. */
typedef struct slice_of_column {
    const ps_arrow_column *c;
    size_t first, n, n_null;
    int64_t text_begin, text_end;
} slice_of_column;

typedef struct place {
    int64_t offset, length;
} place;

static slice_of_column slice_column(const ps_arrow_column *c, size_t first, size_t n) {
    slice_of_column s = {.c = c, .first = first, .n = n};
    for (size_t row = first; row < first + n; row++) {
        s.n_null += !ps_arrow_is_valid(c, row);
    }
    if (c->type == PS_COL_TEXT && n > 0) {
        s.text_begin = c->numbers[first].i;
        s.text_end = c->numbers[first + n].i;
    }
    return s;
}

/* Which buffers it has; how many. */
static size_t buffers_of(const slice_of_column *s, int64_t *at, place out[3]) {
    bool is_text = s->c->type == PS_COL_TEXT;
    size_t sizes[3] = {s->n_null > 0 ? (s->n + 7) / 8 : 0, (s->n + is_text) * 8,
                       (size_t)(s->text_end - s->text_begin)};
    size_t n = is_text ? 3 : 2;
    for (size_t i = 0; i < n; i++) {
        out[i] = (place){*at, (int64_t)sizes[i]};
        *at += (int64_t)padded(sizes[i]);
    }
    return n;
}

/* Where the texts begin and end, from the first of the batch. */
static ps_code put_text_ends(arrow_file *a, const slice_of_column *s, ps_err *err) {
    int64_t piece[512];
    size_t n = 0;
    ps_code code = PS_OK;
    for (size_t row = s->first; row <= s->first + s->n && code == PS_OK; row++) {
        if (n == sizeof piece / sizeof *piece) {
            code = put_bytes(a, piece, n * sizeof *piece, err);
            n = 0;
        }
        piece[n++] = s->c->numbers[row].i - s->text_begin;
    }
    return code == PS_OK ? put_bytes(a, piece, n * sizeof *piece, err) : code;
}

static ps_code put_slice(arrow_file *a, const slice_of_column *s, ps_err *err) {
    ps_code code = PS_OK;
    if (s->n_null > 0) {
        code = put_padded(a, s->c->valid + s->first / 8, (s->n + 7) / 8, err);
    }
    if (code == PS_OK && s->c->type != PS_COL_TEXT) {
        return put_bytes(a, ps_arrow_values(s->c) + s->first, s->n * sizeof(ps_arrow_number), err);
    }
    code = code == PS_OK ? put_text_ends(a, s, err) : code;
    size_t n = (size_t)(s->text_end - s->text_begin);
    return code == PS_OK ? put_padded(a, ps_buf_str(&s->c->text) + s->text_begin, n, err) : code;
}

static ps_flat_ref put_batch_header(ps_flat *f, const slice_of_column *slices, size_t n_columns,
                                    int64_t *body_bytes, place *nodes, place *buffers) {
    size_t n_buffers = 0;
    *body_bytes = 0;
    for (size_t i = 0; i < n_columns; i++) {
        nodes[i] = (place){(int64_t)slices[i].n, (int64_t)slices[i].n_null};
        n_buffers += buffers_of(&slices[i], body_bytes, buffers + n_buffers);
    }
    ps_flat_ref node_list = ps_flat_structs(f, nodes, n_columns, sizeof *nodes);
    ps_flat_ref buffer_list = ps_flat_structs(f, buffers, n_buffers, sizeof *buffers);
    ps_flat_begin(f);
    ps_flat_number(f, 0, n_columns > 0 ? (int64_t)slices[0].n : 0, 8);
    ps_flat_ref_field(f, 1, node_list);
    ps_flat_ref_field(f, 2, buffer_list);
    return ps_flat_end(f);
}

static ps_code write_batch(arrow_file *a, size_t first, size_t n, ps_err *err) {
    ps_flat f = {0};
    slice_of_column *slices = ps_calloc(a->rows->n_columns + 1, sizeof *slices);
    place *places = ps_calloc(4 * a->rows->n_columns + 1, sizeof *places);
    bool ok =
        slices != NULL && places != NULL &&
        ps_grow(&a->blocks, &a->cap_blocks, a->n_blocks + 1, SIZE_MAX / 64, sizeof *a->blocks);
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; i < a->rows->n_columns && ok; i++) {
        slices[i] = slice_column(&a->rows->columns[i], first, n);
    }
    if (ok) {
        block b = {.offset = a->at};
        size_t bytes = 0;
        ps_flat_ref header = put_batch_header(&f, slices, a->rows->n_columns, &b.body_bytes, places,
                                              places + a->rows->n_columns);
        ps_flat_ref message = put_message(&f, HEADER_BATCH, header, b.body_bytes);
        code = put_metadata(a, &f, message, &bytes, err);
        b.metadata_bytes = (int32_t)bytes;
        a->blocks[a->n_blocks++] = b;
    }
    for (size_t i = 0; i < a->rows->n_columns && code == PS_OK; i++) {
        code = put_slice(a, &slices[i], err);
    }
    ps_flat_fini(&f);
    ps_free(slices);
    ps_free(places);
    return code;
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

static ps_code write_footer(arrow_file *a, ps_err *err) {
    static const uint32_t END[2] = {UINT32_MAX, 0};
    ps_flat f = {0};
    size_t n = 0;
    ps_code code = put_bytes(a, END, sizeof END, err);
    ps_flat_ref schema = put_schema(&f, a->rows);
    ps_flat_ref dictionaries = ps_flat_structs(&f, NULL, 0, sizeof(block));
    ps_flat_ref batches = ps_flat_structs(&f, a->blocks, a->n_blocks, sizeof(block));
    ps_flat_begin(&f);
    ps_flat_ref_field(&f, 1, schema);
    ps_flat_ref_field(&f, 2, dictionaries);
    ps_flat_ref_field(&f, 3, batches);
    ps_flat_number(&f, 0, VERSION_5, 2);
    const uint8_t *footer = ps_flat_finish(&f, ps_flat_end(&f), &n);
    const int32_t length = (int32_t)n;
    code = code == PS_OK && footer == NULL ? ps_fail_nomem(err) : code;
    code = code == PS_OK ? put_bytes(a, footer, n, err) : code;
    code = code == PS_OK ? put_bytes(a, &length, sizeof length, err) : code;
    ps_flat_fini(&f);
    return code == PS_OK ? put_bytes(a, MAGIC, strlen(MAGIC), err) : code;
}

ps_code ps_arrow_write(const ps_arrow *rows, ps_arrow_put *put, void *context, ps_err *err) {
    arrow_file a = {.rows = rows, .put = put, .context = context};
    ps_code code = put_padded(&a, MAGIC, strlen(MAGIC), err);
    code = code == PS_OK ? write_schema_message(&a, err) : code;
    for (size_t first = 0; first < rows->n_rows && code == PS_OK; first += BATCH_ROWS) {
        size_t left = rows->n_rows - first;
        code = write_batch(&a, first, left < BATCH_ROWS ? left : BATCH_ROWS, err);
    }
    code = code == PS_OK ? write_footer(&a, err) : code;
    ps_free(a.blocks);
    return code;
}
