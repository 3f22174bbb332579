#include "write/arg_keys.h"

#include <stdint.h>

#include "base/alloc.h"

enum { AS_TIME = 1, AS_OTHER = 2 };

uint32_t ps_arg_keys_count(ps_idmap *seen, ps_str key) {
    uint32_t n = ps_idmap_get(seen, key.id);
    n = n == PS_IDMAP_NONE ? 1 : n + 1;
    return ps_idmap_put(seen, key.id, n) ? n : 0;
}

static bool note_type(ps_arg_keys *k, const ps_arg *arg) {
    uint32_t before = ps_idmap_get(&k->types, arg->key.id);
    uint32_t now = before == PS_IDMAP_NONE ? 0 : before;
    now |= arg->type == PS_ARG_TIME ? AS_TIME : AS_OTHER;
    if ((now & AS_TIME) != 0 && before == PS_IDMAP_NONE) {
        if (!ps_grow(&k->time_keys, &k->cap_time_keys, k->n_time_keys + 1,
                     SIZE_MAX / sizeof *k->time_keys, sizeof *k->time_keys)) {
            return false;
        }
        k->time_keys[k->n_time_keys++] = arg->key;
    }
    return now == before || ps_idmap_put(&k->types, arg->key.id, now);
}

/* A list of keys and types seen for the first time. */
static bool add_shape(ps_arg_keys *k, ps_arg_iter iter) {
    uint64_t address = (uint64_t)(uintptr_t)iter.shape;
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    bool repeats = false;
    for (ps_arg arg; ok && ps_arg_next(&iter, &arg);) {
        uint32_t n = ps_arg_keys_count(&seen, arg.key);
        repeats = repeats || n > 1;
        ok = n > 0 && note_type(k, &arg);
    }
    ps_idmap_fini(&seen);
    return ok && ps_idmap_put(&k->shapes, address, repeats);
}

bool ps_arg_keys_init(ps_arg_keys *k, const ps_trace *t) {
    *k = (ps_arg_keys){0};
    ps_idmap_init(&k->shapes);
    ps_idmap_init(&k->types);
    const ps_slices *s = ps_trace_slices(t);
    const uint32_t *last = NULL;
    for (uint32_t row = 0; row < s->n; row++) {
        ps_arg_iter iter = ps_trace_args(t, row);
        if (iter.n_left == 0 || iter.shape == last) {
            continue;
        }
        last = iter.shape;
        if (ps_idmap_get(&k->shapes, (uint64_t)(uintptr_t)last) == PS_IDMAP_NONE &&
            !add_shape(k, iter)) {
            return false;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < k->n_time_keys; i++) {
        if (ps_idmap_get(&k->types, k->time_keys[i].id) == AS_TIME) {
            k->time_keys[n++] = k->time_keys[i];
        }
    }
    k->n_time_keys = n;
    return true;
}

void ps_arg_keys_fini(ps_arg_keys *k) {
    ps_idmap_fini(&k->shapes);
    ps_idmap_fini(&k->types);
    ps_free(k->time_keys);
    *k = (ps_arg_keys){0};
}

bool ps_arg_keys_repeat(ps_arg_keys *k, const ps_arg_iter *iter) {
    if (iter->shape != k->last_shape) {
        k->last_shape = iter->shape;
        k->last_repeats = ps_idmap_get(&k->shapes, (uint64_t)(uintptr_t)iter->shape) == 1;
    }
    return k->last_repeats;
}
