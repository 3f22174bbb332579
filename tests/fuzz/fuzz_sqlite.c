/* The input is a database file, read from memory by our own decoder alone: the schema's table and three more roots,
 * with projections that meet every way of reading a value. All bytes handed out are touched.
 *
 * Random bytes rarely hit what matters in a page, so half of the mutations go for its structure: type, counts, cell
 * pointers, and the first bytes of cells, where sizes and page numbers stand. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "read/sqlite/page.h"
#include "read/sqlite/scan_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

typedef struct image {
    const uint8_t *data;
    size_t size;
} image;

static ps_code read_image(void *context, void *out, size_t n, uint64_t offset, ps_err *err) {
    const image *m = context;
    if (offset > m->size || n > m->size - offset) {
        __builtin_trap(); /* the decoder knows the size */
    }
    (void)err;
    memcpy(out, m->data + offset, n);
    return PS_OK;
}

static ps_code touch(void *context, const ps_scan_batch *b, ps_err *err) {
    uint64_t *sum = context;
    (void)err;
    for (size_t c = 0; c < b->n_columns; c++) {
        const ps_scan_column *column = &b->columns[c];
        for (size_t row = 0; row < b->n_rows; row++) {
            *sum += (uint64_t)column->ints[row];
            if ((column->seen & PS_CELL_BIT(column->types[row])) == 0) {
                __builtin_trap();
            }
            if (column->types[row] >= PS_CELL_TEXT) {
                for (size_t i = 0; i < column->bytes[row].size_bytes; i++) {
                    *sum += (uint8_t)column->bytes[row].data[i];
                }
            }
        }
    }
    return PS_OK;
}

static void scan(image *m, uint32_t root, const ps_field *fields, size_t n_fields) {
    ps_page_src src = {.read = read_image, .context = m, .file = "input", .size_bytes = m->size};
    ps_pages pages;
    ps_err err = PS_ERR_INIT;
    uint64_t sum = 0;
    ps_code code = ps_pages_init(&pages, &src, &err);
    if (code == PS_OK) {
        code = ps_rows_scan(&pages, root, fields, n_fields, touch, &sum, &err);
    }
    if (code != PS_OK && code != PS_SYNTAX && code != PS_UNSUPPORTED) {
        __builtin_trap();
    }
    if (err.offset != PS_NO_OFFSET && err.offset > m->size) {
        __builtin_trap(); /* an error lies in the file */
    }
    ps_pages_fini(&pages);
    if (code == PS_OK) {
        int64_t n = 0;
        code = ps_pages_init(&pages, &src, NULL);
        if (code == PS_OK) {
            code = ps_rows_count(&pages, root, &n, NULL);
        }
        if (code != PS_OK) {
            __builtin_trap(); /* counting reads less than scanning does */
        }
        ps_pages_fini(&pages);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const ps_field schema[] = {
        {.position = 0}, {.position = 1}, {.position = 2}, {.position = 3}, {.position = 4}};
    const ps_field integers[] = {
        {.position = 5}, {.position = 0}, {.position = 3}, {.position = 0}};
    const ps_field mixed[] = {
        {.position = -1, .is_rowid = true},
        {.position = 1},
        {.position = 2, .is_real = true},
        {.position = 7, .missing_type = PS_CELL_TEXT, .missing_bytes = {"default", 7}}};
    const ps_field far[] = {{.position = 40}, {.position = 13}, {.position = 14}, {.position = 15}};
    image m = {data, size};
    scan(&m, 1, schema, 5);
    scan(&m, 2, integers, 4);
    scan(&m, 3, mixed, 4);
    scan(&m, 4, far, 4);
    return 0;
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Where to write in a page: its header's fields, a cell pointer, or the beginning of a cell. */
static size_t pick_place(const uint8_t *page, size_t header, size_t page_size, uint32_t *random) {
    size_t n_cells = ps_be16(page + header + 3);
    size_t cells = header + (page[header] == 0x05 ? 12 : 8);
    uint32_t kind = next_random(random) % 3;
    if (kind == 0 || n_cells == 0) {
        return header + next_random(random) % 12;
    }
    size_t pointer = cells + 2 * (next_random(random) % n_cells);
    if (pointer + 2 > page_size || kind == 1) {
        return pointer;
    }
    return ps_be16(page + pointer) + next_random(random) % 24;
}

static void mutate_page(uint8_t *data, size_t size, uint32_t *random) {
    static const uint8_t interesting[] = {0x00, 0x01, 0x02, 0x05, 0x0A,
                                          0x0D, 0x7F, 0x80, 0x81, 0xFF};
    size_t page_size = ps_be16(data + 16) == 1 ? 65536 : ps_be16(data + 16);
    if (page_size < 512 || size < page_size) {
        return;
    }
    size_t number = next_random(random) % (size / page_size);
    uint8_t *page = data + number * page_size;
    size_t place = pick_place(page, number == 0 ? 100 : 0, page_size, random);
    if (place < page_size) {
        uint32_t choice = next_random(random) % 16;
        page[place] =
            choice < sizeof interesting ? interesting[choice] : (uint8_t)next_random(random);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    uint32_t random = seed;
    if (size < 512 || next_random(&random) % 2 == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    for (uint32_t n = 1 + next_random(&random) % 4; n > 0; n--) {
        mutate_page(data, size, &random);
    }
    return size;
}
