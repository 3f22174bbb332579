#include "write/out/flat.h"

#include <string.h>

#include "base/alloc.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are written as they lie in memory");

void ps_flat_fini(ps_flat *f) {
    ps_free(f->data);
    *f = (ps_flat){0};
}

bool ps_flat_ok(const ps_flat *f) {
    return !f->failed;
}

/* Room for `n` bytes before what is there; NULL when memory is out. */
static uint8_t *flat_room(ps_flat *f, size_t n) {
    if (f->len + n > f->cap && !f->failed) {
        size_t cap = 2 * (f->len + n) + 256;
        uint8_t *data = cap < UINT32_MAX ? ps_alloc(cap) : NULL;
        if (data != NULL && f->len > 0) {
            memcpy(data + cap - f->len, f->data + f->cap - f->len, f->len);
        }
        f->failed = data == NULL;
        if (data != NULL) {
            ps_free(f->data);
            f->data = data;
            f->cap = cap;
        }
    }
    if (f->failed) {
        return NULL;
    }
    f->len += n;
    return f->data + f->cap - f->len;
}

static void flat_bytes(ps_flat *f, const void *bytes, size_t n) {
    uint8_t *to = n > 0 ? flat_room(f, n) : NULL;
    if (to != NULL) {
        memcpy(to, bytes, n);
    }
}

/* So that what begins `more` bytes before here is aligned. */
static void flat_pad(ps_flat *f, size_t align, size_t more) {
    static const uint8_t ZEROS[8];
    f->align = align > f->align ? align : f->align;
    flat_bytes(f, ZEROS, (~(f->len + more) + 1) & (align - 1));
}

static void flat_u32(ps_flat *f, uint32_t value) {
    flat_bytes(f, &value, sizeof value);
}

static void flat_u16(ps_flat *f, size_t value) {
    uint16_t v = (uint16_t)value;
    flat_bytes(f, &v, sizeof v);
}

static ps_flat_ref flat_here(const ps_flat *f) {
    return (ps_flat_ref)f->len;
}

/* Offsets count from where they stand. */
static void flat_offset(ps_flat *f, ps_flat_ref to) {
    flat_pad(f, 4, 0);
    flat_u32(f, (uint32_t)f->len + 4 - to);
}

/* --- strings and vectors ----------------------------------------------------------------------------------------- */

ps_flat_ref ps_flat_text(ps_flat *f, const char *text) {
    size_t n = strlen(text);
    flat_pad(f, 4, n + 1);
    flat_bytes(f, text, n + 1);
    flat_u32(f, (uint32_t)n);
    return flat_here(f);
}

ps_flat_ref ps_flat_refs(ps_flat *f, const ps_flat_ref *refs, size_t n) {
    flat_pad(f, 4, n * 4);
    for (size_t i = n; i-- > 0;) {
        flat_offset(f, refs[i]);
    }
    flat_u32(f, (uint32_t)n);
    return flat_here(f);
}

ps_flat_ref ps_flat_structs(ps_flat *f, const void *structs, size_t n, size_t size) {
    flat_pad(f, 4, n * size);
    flat_pad(f, 8, n * size);
    flat_bytes(f, structs, n * size);
    flat_u32(f, (uint32_t)n);
    return flat_here(f);
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

void ps_flat_begin(ps_flat *f) {
    memset(f->fields, 0, sizeof f->fields);
    f->table_begin = flat_here(f);
}

void ps_flat_number(ps_flat *f, unsigned field, int64_t value, size_t bytes) {
    if (value != 0) {
        flat_pad(f, bytes, 0);
        flat_bytes(f, &value, bytes);
        f->fields[field] = flat_here(f);
    }
}

void ps_flat_ref_field(ps_flat *f, unsigned field, ps_flat_ref ref) {
    if (ref != 0) {
        flat_offset(f, ref);
        f->fields[field] = flat_here(f);
    }
}

ps_flat_ref ps_flat_end(ps_flat *f) {
    flat_pad(f, 4, 0);
    flat_u32(f, 0); /* where the list of fields is, below */
    ps_flat_ref table = flat_here(f);
    size_t n = PS_FLAT_MOST_FIELDS;
    while (n > 0 && f->fields[n - 1] == 0) {
        n--;
    }
    for (size_t i = n; i-- > 0;) {
        flat_u16(f, f->fields[i] != 0 ? table - f->fields[i] : 0);
    }
    flat_u16(f, table - f->table_begin);
    flat_u16(f, (n + 2) * 2);
    if (!f->failed) {
        int32_t to_list = (int32_t)(f->len - table);
        memcpy(f->data + f->cap - table, &to_list, sizeof to_list);
    }
    return table;
}

const uint8_t *ps_flat_finish(ps_flat *f, ps_flat_ref root, size_t *n) {
    flat_pad(f, f->align, 4);
    flat_offset(f, root);
    *n = f->len;
    return f->failed ? NULL : f->data + f->cap - f->len;
}
