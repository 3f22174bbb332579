/* A leaf cell and its record:
 *
 *     payload size (varint) | rowid (varint) | header size (varint) | serial types (varints) | values | overflow page
 *
 * A serial type gives a value's type and size. Rows of one table share few headers, so what a header means for the
 * asked-for columns (a "shape": where each value lies, how wide it is) is worked out once and kept in a small hash
 * table. The usual row is then: compare two words, and for each column one load, one shift, one store. Only the
 * header's beginning up to the last asked-for column is the key, so columns behind it may vary freely.
 *
 * Values are loaded as eight bytes and shifted down: that may read behind the value, even behind the page, which is
 * what PS_PAGE_SLACK is for; nothing of it reaches the result. */
#include "read/sqlite/scan_rows.h"

#include <string.h>

#include "base/alloc.h"
#include "read/sqlite/scan_batch.h"

enum {
    KEY_BYTES = 16, /* longer headers are decoded for each row */
    N_SHAPES = 256,
    SHAPE_BITS = 8
};

/* A value's place and meaning in records of one shape. The integer is
 * ((eight bytes at `at`) >> shift) & mask | constant | (rowid & rowid_mask). */
typedef struct shape_cell {
    uint32_t at, size_bytes;
    uint8_t type; /* ps_cell */
    uint8_t shift;
    enum { PLAIN, BYTES, WHOLE_AS_REAL, FLOAT, MISSING_BYTES } way;
    int64_t mask, constant, rowid_mask;
} shape_cell;

typedef struct shape {
    uint64_t key[2];        /* a record's first byte is never 0, so 0 marks a free slot */
    uint32_t end;           /* of the last asked-for value, from the record's start */
    bool plain;             /* all cells are PLAIN */
    uint64_t seen_in_batch; /* number of the last batch that holds rows of this shape */
} shape;

typedef struct rows {
    ps_pages *pages;
    const ps_field *fields;
    size_t n_fields;
    size_t *order; /* fields by position */
    size_t key_bytes;
    uint64_t masks[KEY_BYTES + 1][2]; /* [n]: the first n bytes of a key */
    shape shapes[N_SHAPES + 1];       /* the last one is for headers without a key */
    shape_cell *cells;                /* [N_SHAPES + 1][n_fields] */
    uint32_t max_local;               /* larger payloads overflow */
    bool any_row;
    int64_t last_rowid;
    ps_batch batch;
} rows;

/* Where the current record was found, for messages. */
typedef struct place {
    uint32_t page;
    uint32_t at;
} place;

static ps_code fail_record(const rows *r, place here, const char *what, ps_err *err) {
    return ps_pages_fail(r->pages, here.page, here.at, what, err);
}

static uint64_t load_u64(const unsigned char *p) {
    uint64_t word = 0;
    memcpy(&word, p, sizeof word);
    return word;
}

static int64_t load_be64(const unsigned char *p) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (int64_t)__builtin_bswap64(load_u64(p));
#else
    return (int64_t)load_u64(p);
#endif
}

/* Reads at most 9 bytes; returns how many. */
static inline size_t varint(const unsigned char *p, uint64_t *out) {
    if (p[0] < 0x80) {
        *out = p[0];
        return 1;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++) {
        value = value << 7 | (p[i] & 0x7F);
        if (p[i] < 0x80) {
            *out = value;
            return i + 1;
        }
    }
    *out = value << 8 | p[8];
    return 9;
}

static uint64_t serial_size(uint64_t serial) {
    static const uint8_t sizes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return serial < 12 ? sizes[serial] : (serial - 12) / 2;
}

/* --- shapes --- */

static shape_cell missing_cell(const ps_field *field) {
    shape_cell cell = {.type = field->missing_type, .way = PLAIN, .constant = field->missing_int};
    if (field->is_rowid) {
        cell.type = PS_CELL_INT;
        cell.rowid_mask = -1;
    }
    if (cell.type == PS_CELL_TEXT || cell.type == PS_CELL_BLOB) {
        cell.way = MISSING_BYTES;
    }
    return cell;
}

/* serial is not 10 or 11. */
static shape_cell stored_cell(const ps_field *field, uint64_t serial, uint32_t at) {
    shape_cell cell = {.at = at, .size_bytes = (uint32_t)serial_size(serial), .way = PLAIN};
    if (serial >= 12) {
        cell.type = (serial & 1) != 0 ? PS_CELL_TEXT : PS_CELL_BLOB;
        cell.way = BYTES;
        return cell;
    }
    if (serial == 0) {
        cell.type = PS_CELL_NULL;
        return cell;
    }
    cell.type = PS_CELL_INT;
    cell.constant = serial == 9;
    if (cell.size_bytes > 0) {
        cell.mask = -1;
        cell.shift = (uint8_t)(64 - 8 * cell.size_bytes);
    }
    if (serial == 7) {
        cell.type = PS_CELL_REAL;
        cell.way = FLOAT;
    } else if (field->is_real) {
        cell.type = PS_CELL_REAL;
        cell.way = WHOLE_AS_REAL;
    }
    return cell;
}

/* Works out `slot`, still without a key, from a record's header. `record` holds the whole header (and PS_PAGE_SLACK
 * bytes behind it), which is no longer than the payload. */
static ps_code build_shape(rows *r, size_t slot, const unsigned char *record, uint64_t payload,
                           place here, ps_err *err) {
    shape *s = &r->shapes[slot];
    shape_cell *cells = &r->cells[slot * r->n_fields];
    *s = (shape){.plain = true};
    uint64_t header = 0;
    uint64_t at = varint(record, &header); /* in the header */
    uint64_t value_at = header;            /* of the field at `position` */
    int32_t position = 0;
    for (size_t i = 0; i < r->n_fields; i++) {
        const ps_field *field = &r->fields[r->order[i]];
        shape_cell *cell = &cells[r->order[i]];
        uint64_t serial = 0;
        bool present = i > 0 && field->position == position - 1 && field->position >= 0;
        if (present) { /* the same column once more */
            *cell = cells[r->order[i - 1]];
            continue;
        }
        while (position <= field->position && at < header) {
            at += varint(record + at, &serial);
            uint64_t size = serial_size(serial);
            if (at > header || serial == 10 || serial == 11 || size > payload - value_at) {
                return fail_record(r, here, "a record's header does not fit the record", err);
            }
            value_at += size;
            present = position++ == field->position;
        }
        if (present) {
            *cell = stored_cell(field, serial, (uint32_t)(value_at - serial_size(serial)));
            s->end = (uint32_t)value_at;
        } else {
            *cell = missing_cell(field);
        }
        s->plain = s->plain && cell->way == PLAIN;
    }
    return PS_OK;
}

/* The slot of a record's shape, built when it is new; the record as for build_shape. */
static inline ps_code find_shape(rows *r, const unsigned char *record, uint64_t header,
                                 uint64_t payload, place here, size_t *slot, ps_err *err) {
    size_t size = header < r->key_bytes ? header : r->key_bytes;
    uint64_t key[2] = {0, 0};
    if (size <= KEY_BYTES) {
        key[0] = load_u64(record) & r->masks[size][0];
        key[1] = load_u64(record + 8) & r->masks[size][1];
        if (((key[0] | key[1]) & 0x8080808080808080u) != 0 && size < header) {
            /* Serial types of several bytes: the beginning need not reach the asked-for columns. */
            size = header;
            key[0] = size <= KEY_BYTES ? load_u64(record) & r->masks[size][0] : 0;
            key[1] = size <= KEY_BYTES ? load_u64(record + 8) & r->masks[size][1] : 0;
        }
    }
    if (size > KEY_BYTES) {
        *slot = N_SHAPES;
        return build_shape(r, N_SHAPES, record, payload, here, err);
    }
    uint64_t mixed = (key[0] ^ (key[1] * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    *slot = (size_t)(mixed >> (64 - SHAPE_BITS));
    shape *s = &r->shapes[*slot];
    /* The same header in a shorter record is damage, and must not take the shape's word for it. */
    if (s->key[0] == key[0] && s->key[1] == key[1] && s->end <= payload) {
        return PS_OK;
    }
    ps_code code = build_shape(r, *slot, record, payload, here, err);
    if (code == PS_OK) {
        s->key[0] = key[0];
        s->key[1] = key[1];
    }
    return code;
}

/* --- values --- */

static inline int64_t cell_int(const shape_cell *cell, const unsigned char *record, int64_t rowid) {
    return ((load_be64(record + cell->at) >> cell->shift) & cell->mask) | cell->constant |
           (rowid & cell->rowid_mask);
}

/* Writes one value that needs more than cell_int. */
static void put_odd(rows *r, size_t column, size_t row, const shape_cell *cell,
                    const unsigned char *record, int64_t rowid) {
    ps_batch_column *out = &r->batch.columns[column];
    uint8_t type = cell->type;
    int64_t value = cell_int(cell, record, rowid);
    double real = 0;
    switch (cell->way) {
    case PLAIN:
        break;
    case BYTES:
        out->bytes[row] = (ps_scan_bytes){(const char *)record + cell->at, cell->size_bytes};
        break;
    case MISSING_BYTES:
        out->bytes[row] = r->fields[column].missing_bytes;
        break;
    case WHOLE_AS_REAL:
        real = (double)value;
        memcpy(&value, &real, sizeof value);
        break;
    case FLOAT:
        memcpy(&real, &value, sizeof real);
        if (real != real) { /* SQLite has no NaN: it reads as NULL */
            type = PS_CELL_NULL;
            value = 0;
        }
        break;
    }
    out->ints[row] = value;
    out->types[row] = type;
    r->batch.shown[column].seen |= PS_CELL_BIT(type);
}

static void put_record_row(rows *r, size_t slot, const unsigned char *record, int64_t rowid) {
    shape *s = &r->shapes[slot];
    const shape_cell *cells = &r->cells[slot * r->n_fields];
    ps_batch *b = &r->batch;
    size_t row = b->n_rows;
    b->rowids[row] = rowid;
    if (!s->plain) {
        b->borrows = true;
        for (size_t i = 0; i < r->n_fields; i++) {
            put_odd(r, i, row, &cells[i], record, rowid);
        }
        return;
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        b->columns[i].ints[row] = cell_int(&cells[i], record, rowid);
        b->columns[i].types[row] = cells[i].type;
    }
    if (s->seen_in_batch != b->number) {
        s->seen_in_batch = b->number;
        for (size_t i = 0; i < r->n_fields; i++) {
            b->shown[i].seen |= PS_CELL_BIT(cells[i].type);
        }
    }
}

/* --- records --- */

/* A leaf cell; `record` points into the page. */
typedef struct leaf_cell {
    const unsigned char *record;
    uint64_t
        payload; /* bytes of the record, of which `local` lie in the page, the rest in overflow pages */
    uint64_t local;
    int64_t rowid;
    place here;
} leaf_cell;

/* The first `n` bytes of a record that overflows, gathered in the batch's memory. */
static ps_code gather_record(rows *r, const leaf_cell *cell, uint64_t n, const unsigned char **out,
                             ps_err *err) {
    unsigned char *all = ps_batch_keep(&r->batch, (size_t)n + PS_PAGE_SLACK);
    if (all == NULL) {
        return ps_fail_nomem(err);
    }
    memcpy(all, cell->record, (size_t)cell->local);
    memset(all + n, 0, PS_PAGE_SLACK);
    *out = all;
    uint32_t at = cell->here.at; /* of the first overflow page's number */
    at += (uint32_t)cell->local;
    return ps_pages_overflow(r->pages, cell->here.page, at, ps_be32(cell->record + cell->local),
                             all + cell->local, (size_t)(n - cell->local), err);
}

static inline ps_code read_record(rows *r, const leaf_cell *cell, ps_err *err) {
    const unsigned char *record = cell->record;
    uint64_t have = cell->local;
    uint64_t header = 0;
    (void)varint(record, &header);
    if (header == 0 || header > cell->payload) {
        return fail_record(r, cell->here, "a record's header does not fit the record", err);
    }
    ps_code code = PS_OK;
    if (header > have) {
        have = cell->payload;
        code = gather_record(r, cell, have, &record, err);
    }
    size_t slot = 0;
    if (code == PS_OK) {
        code = find_shape(r, record, header, cell->payload, cell->here, &slot, err);
    }
    if (code == PS_OK && r->shapes[slot].end > have) {
        code = gather_record(r, cell, r->shapes[slot].end, &record, err);
    }
    if (code == PS_OK) {
        put_record_row(r, slot, record, cell->rowid);
        code = ps_batch_row_done(&r->batch, err);
    }
    return code;
}

/* How much of an overflowing payload stays in the leaf: SQLite fills the last overflow page if it can. */
static uint64_t local_size(const rows *r, uint64_t payload) {
    uint64_t usable = r->pages->usable;
    uint64_t least = (usable - 12) * 32 / 255 - 23;
    uint64_t fitting = least + (payload - least) % (usable - 4);
    return fitting <= r->max_local ? fitting : least;
}

static inline ps_code read_cell(rows *r, const ps_leaf *leaf, uint32_t index, leaf_cell *out,
                                ps_err *err) {
    uint32_t pointer_at = leaf->cells + 2 * index;
    uint32_t at = ps_be16(leaf->page + pointer_at);
    uint32_t usable = r->pages->usable;
    if (at < leaf->cells + 2 * leaf->n_cells || at > usable - 4) {
        return fail_record(r, (place){leaf->number, pointer_at}, "a cell lies outside the page",
                           err);
    }
    const unsigned char *p = leaf->page + at;
    uint64_t rowid = 0;
    p += varint(p, &out->payload);
    p += varint(p, &rowid);
    out->record = p;
    out->rowid = (int64_t)rowid;
    out->here = (place){leaf->number, (uint32_t)(p - leaf->page)};
    out->local = out->payload;
    uint64_t end = out->here.at + out->payload;
    if (out->payload > r->max_local) {
        if (out->payload > INT32_MAX || out->payload > r->pages->src.size_bytes) {
            return fail_record(r, (place){leaf->number, at}, "a record is larger than the file",
                               err);
        }
        out->local = local_size(r, out->payload);
        end = out->here.at + out->local + 4;
    }
    if (end > usable || out->payload == 0) {
        return fail_record(r, (place){leaf->number, at}, "a record does not fit its page", err);
    }
    if (r->any_row && out->rowid <= r->last_rowid) {
        return fail_record(r, (place){leaf->number, at}, "rows are out of order", err);
    }
    r->any_row = true;
    r->last_rowid = out->rowid;
    return PS_OK;
}

/* --- the scan --- */

static void sort_fields(rows *r) {
    for (size_t i = 0; i < r->n_fields; i++) { /* insertion: a handful, nearly in order */
        size_t j = i;
        for (; j > 0 && r->fields[r->order[j - 1]].position > r->fields[i].position; j--) {
            r->order[j] = r->order[j - 1];
        }
        r->order[j] = i;
    }
}

static ps_code init_record(rows *r, ps_err *err) {
    r->order = ps_calloc(r->n_fields, sizeof *r->order);
    /* Not cleared: most tables of small profiles have a shape or two. */
    r->cells = ps_realloc_array(NULL, r->n_fields + 1, (N_SHAPES + 1) * sizeof *r->cells);
    if (r->order == NULL || r->cells == NULL) {
        return ps_fail_nomem(err);
    }
    sort_fields(r);
    int32_t last = r->n_fields > 0 ? r->fields[r->order[r->n_fields - 1]].position : -1;
    r->key_bytes = (size_t)(last + 2); /* the header's size, then a byte for each column */
    for (size_t n = 0; n <= KEY_BYTES; n++) {
        memset(r->masks[n], 0xFF, n); /* in memory order, whatever the byte order is */
    }
    r->max_local = r->pages->usable - 35;
    return PS_OK;
}

static ps_code before_replace(void *context, ps_err *err) {
    rows *r = context;
    return r->batch.borrows ? ps_batch_deliver(&r->batch, err) : PS_OK;
}

static ps_code scan_record(rows *r, uint32_t root, ps_err *err) {
    ps_walk walk;
    ps_walk_init(&walk, r->pages, root);
    ps_leaf leaf = {.page = NULL};
    ps_code code = ps_walk_next(&walk, &leaf, err);
    while (code == PS_OK && leaf.page != NULL) {
        for (uint32_t i = 0; code == PS_OK && i < leaf.n_cells; i++) {
            leaf_cell cell;
            code = read_cell(r, &leaf, i, &cell, err);
            if (code == PS_OK) {
                code = read_record(r, &cell, err);
            }
        }
        if (code == PS_OK) {
            code = ps_walk_next(&walk, &leaf, err);
        }
    }
    ps_walk_fini(&walk);
    return code == PS_OK ? ps_batch_deliver(&r->batch, err) : code;
}

ps_code ps_rows_scan(ps_pages *pages, uint32_t root, const ps_field *fields, size_t n_fields,
                     ps_scan_fn *fn, void *context, ps_err *err) {
    rows *r = ps_calloc(1, sizeof *r);
    if (r == NULL) {
        return ps_fail_nomem(err);
    }
    r->pages = pages;
    r->fields = fields;
    r->n_fields = n_fields;
    ps_code code = ps_batch_init(&r->batch, n_fields, fn, context, err);
    if (code == PS_OK) {
        code = init_record(r, err);
    }
    if (code == PS_OK) {
        pages->on_replace = before_replace;
        pages->replace_context = r;
        code = scan_record(r, root, err);
        pages->on_replace = NULL;
    }
    ps_batch_fini(&r->batch);
    ps_free(r->order);
    ps_free(r->cells);
    ps_free(r);
    return code;
}

ps_code ps_rows_count(ps_pages *pages, uint32_t root, int64_t *out, ps_err *err) {
    int64_t n = 0;
    ps_walk walk;
    ps_walk_init(&walk, pages, root);
    ps_leaf leaf = {.page = NULL};
    ps_code code = ps_walk_next(&walk, &leaf, err);
    while (code == PS_OK && leaf.page != NULL) {
        n += leaf.n_cells;
        code = ps_walk_next(&walk, &leaf, err);
    }
    ps_walk_fini(&walk);
    *out = n;
    return code;
}
