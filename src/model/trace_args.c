#include "model/trace_args.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

#define MAX_BYTES ((size_t)UINT32_MAX)
#define MAX_KEYS ((size_t)1 << 28)
#define TYPE_BITS 3
#define MAX_KEY_ID (((uint32_t)1 << (32 - TYPE_BITS)) - 1)
#define MAX_VALUE_BYTES 10

void ps_arg_store_init(ps_arg_store *s) {
    *s = (ps_arg_store){0};
    ps_idmap_init(&s->shape_rows);
}

void ps_arg_store_fini(ps_arg_store *s) {
    ps_free(s->bytes);
    ps_free(s->keys);
    ps_free(s->shapes);
    ps_idmap_fini(&s->shape_rows);
    *s = (ps_arg_store){0};
}

void ps_arg_store_seal(ps_arg_store *s) {
    ps_idmap_fini(&s->shape_rows);
}

static uint32_t pack_key(const ps_arg *arg) {
    return arg->key.id << TYPE_BITS | (uint32_t)arg->type;
}

static bool same_shape(const ps_arg_store *s, uint32_t row, const ps_arg *args, size_t n) {
    const ps_arg_shape *shape = &s->shapes[row];
    bool same = shape->n == n;
    for (size_t i = 0; same && i < n; i++) {
        same = s->keys[shape->first + i] == pack_key(&args[i]);
    }
    return same;
}

/* PS_IDMAP_NONE when memory is out. */
static uint32_t add_arg_shape(ps_arg_store *s, uint64_t hash, const ps_arg *args, size_t n) {
    uint32_t row = (uint32_t)s->n_shapes;
    if (!ps_grow(&s->keys, &s->cap_keys, s->n_keys + n, MAX_KEYS, sizeof *s->keys) ||
        !ps_grow(&s->shapes, &s->cap_shapes, s->n_shapes + 1, MAX_KEYS, sizeof *s->shapes) ||
        !ps_idmap_put(&s->shape_rows, hash, row)) {
        return PS_IDMAP_NONE;
    }
    s->shapes[s->n_shapes++] = (ps_arg_shape){(uint32_t)s->n_keys, (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        s->keys[s->n_keys++] = pack_key(&args[i]);
    }
    return row;
}

static uint32_t find_shape(ps_arg_store *s, const ps_arg *args, size_t n) {
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) {
        hash = ps_hash_u64_seeded(hash * 31 + pack_key(&args[i]), ps_hash_seed());
    }
    for (uint32_t row; (row = ps_idmap_get(&s->shape_rows, hash)) != PS_IDMAP_NONE; hash++) {
        if (same_shape(s, row, args, n)) {
            return row;
        }
    }
    return add_arg_shape(s, hash, args, n);
}

/* Slices of a few kinds alternate: most shapes are among those seen lately. */
static uint32_t shape_of(ps_arg_store *s, const ps_arg *args, size_t n) {
    uint32_t *recent = &s->recent[(pack_key(&args[0]) + n * 5) % PS_RECENT_SHAPES];
    if (*recent == 0 || !same_shape(s, *recent - 1, args, n)) {
        uint32_t row = find_shape(s, args, n);
        *recent = row == PS_IDMAP_NONE ? 0 : row + 1;
        return row;
    }
    return *recent - 1;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static const uint8_t *get_varint(const uint8_t *at, uint64_t *value) {
    uint64_t v = *at & 0x7F;
    for (unsigned shift = 7; (*at++ & 0x80) != 0; shift += 7) {
        v |= (uint64_t)(*at & 0x7F) << shift;
    }
    *value = v;
    return at;
}

/* Small negative numbers stay short: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static uint64_t arg_shape_zigzag(int64_t v) {
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v) {
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static uint8_t *put_arg_shape_value(uint8_t *at, const ps_arg *arg) {
    switch (arg->type) {
    case PS_ARG_REAL:
        memcpy(at, &arg->u.r, sizeof arg->u.r);
        return at + sizeof arg->u.r;
    case PS_ARG_NULL:
        return at;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        return put_varint(at, arg->u.s.id);
    case PS_ARG_INT:
    case PS_ARG_TIME:
    case PS_ARG_BOOL:
        break;
    }
    return put_varint(at, arg_shape_zigzag(arg->u.i));
}

/* Ids of more strings than that would pass for others. */
static bool keys_fit(const ps_arg *args, size_t n) {
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all |= args[i].key.id;
    }
    return all <= MAX_KEY_ID;
}

uint32_t ps_arg_store_add(ps_arg_store *s, const ps_arg *args, size_t n) {
    if (!keys_fit(args, n)) {
        return 0;
    }
    uint32_t shape = shape_of(s, args, n);
    size_t at = s->n_bytes > 0 ? s->n_bytes : 1;
    if (shape == PS_IDMAP_NONE ||
        !ps_grow(&s->bytes, &s->cap_bytes, at + (n + 1) * MAX_VALUE_BYTES, MAX_BYTES, 1)) {
        return 0;
    }
    uint8_t *end = put_varint(s->bytes + at, shape);
    for (size_t i = 0; i < n; i++) {
        end = put_arg_shape_value(end, &args[i]);
    }
    s->n_bytes = (size_t)(end - s->bytes);
    return (uint32_t)at;
}

ps_arg_iter ps_arg_store_walk(const ps_arg_store *s, uint32_t record) {
    ps_arg_iter iter = {0};
    if (record != 0) {
        uint64_t shape = 0;
        iter.at = get_varint(s->bytes + record, &shape);
        iter.shape = s->keys + s->shapes[shape].first;
        iter.n_left = s->shapes[shape].n;
    }
    return iter;
}

bool ps_arg_next(ps_arg_iter *iter, ps_arg *out) {
    if (iter->n_left == 0) {
        return false;
    }
    uint64_t value = 0;
    uint32_t key = *iter->shape++;
    iter->n_left--;
    *out =
        (ps_arg){.key = {key >> TYPE_BITS}, .type = (ps_arg_type)(key & ((1u << TYPE_BITS) - 1))};
    switch (out->type) {
    case PS_ARG_REAL:
        memcpy(&out->u.r, iter->at, sizeof out->u.r);
        iter->at += sizeof out->u.r;
        break;
    case PS_ARG_NULL:
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        iter->at = get_varint(iter->at, &value);
        out->u.s.id = (uint32_t)value;
        break;
    case PS_ARG_TIME:
    case PS_ARG_INT:
    case PS_ARG_BOOL:
        iter->at = get_varint(iter->at, &value);
        out->u.i = unzigzag(value);
        break;
    }
    if (out->type == PS_ARG_TIME) {
        out->u.i -= iter->origin_ns;
    }
    return true;
}
