#include "write/trace/arg_keys.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { AS_TIME = 1, AS_OTHER = 2 };

/* How often a key came so far: 1 at first. 0 when memory is out. */
static uint32_t count_key(ps_idmap *seen, ps_str key) {
    uint32_t n = ps_idmap_get(seen, key.id);
    n = n == PS_IDMAP_NONE ? 1 : n + 1;
    return ps_idmap_put(seen, key.id, n) ? n : 0;
}

static bool note_type(ps_arg_keys *k, const ps_arg *arg) {
    uint32_t before = ps_idmap_get(&k->types, arg->key.id);
    uint32_t now = before == PS_IDMAP_NONE ? 0 : before;
    now |= arg->type == PS_ARG_TIME ? AS_TIME : AS_OTHER;
    if ((now & AS_TIME) != 0 && before == PS_IDMAP_NONE) {
        if (!PS_ADD(k->time_keys, k->n_time_keys, k->cap_time_keys, SIZE_MAX / sizeof *k->time_keys,
                    arg->key)) {
            return false;
        }
    }
    return now == before || ps_idmap_put(&k->types, arg->key.id, now);
}

/* A list of keys and types seen for the first time. */
static bool add_arg_key_shape(ps_arg_keys *k, ps_arg_iter iter) {
    uint64_t address = (uint64_t)(uintptr_t)iter.shape;
    ps_idmap seen = {0};
    bool ok = true;
    bool repeats = false;
    for (ps_arg arg; ok && ps_arg_next(&iter, &arg);) {
        uint32_t n = count_key(&seen, arg.key);
        repeats = repeats || n > 1;
        ok = n > 0 && note_type(k, &arg);
    }
    ps_idmap_fini(&seen);
    return ok && ps_idmap_put(&k->shapes, address, repeats);
}

bool ps_arg_keys_init(ps_arg_keys *k, const ps_trace *t) {
    *k = (ps_arg_keys){0};
    const ps_slices *s = ps_trace_slices(t);
    const uint32_t *last = NULL;
    for (uint32_t row = 0; row < s->n; row++) {
        ps_arg_iter iter = ps_trace_args(t, row);
        if (iter.n_left == 0 || iter.shape == last) {
            continue;
        }
        last = iter.shape;
        if (ps_idmap_get(&k->shapes, (uint64_t)(uintptr_t)last) == PS_IDMAP_NONE &&
            !add_arg_key_shape(k, iter)) {
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

bool ps_arg_names_init(ps_arg_names *names, const ps_trace *t, ps_arg_iter iter) {
    *names = (ps_arg_names){0};
    bool ok = true;
    for (ps_arg arg; ok && ps_arg_next(&iter, &arg);) {
        uint64_t text = ps_hash64(ps_trace_text(t, arg.key), ps_trace_text_len(t, arg.key));
        ok = ps_idmap_put(&names->taken, text, 1);
    }
    return ok;
}

void ps_arg_names_fini(ps_arg_names *names) {
    ps_idmap_fini(&names->counts);
    ps_idmap_fini(&names->taken);
}

bool ps_arg_names_next(ps_arg_names *names, const ps_trace *t, ps_str key, ps_buf *out) {
    const char *text = ps_trace_text(t, key);
    const size_t n_text = ps_trace_text_len(t, key);
    uint32_t n = ps_idmap_get(&names->counts, key.id);
    if (n == PS_IDMAP_NONE) {
        ps_buf_add(out, text, n_text);
        return ps_idmap_put(&names->counts, key.id, 1) && ps_buf_ok(out);
    }
    uint64_t hash = 0;
    ps_buf made = {0};
    do {
        ps_buf_clear(&made);
        ps_buf_add(&made, text, n_text);
        ps_buf_addf(&made, " (%u)", ++n);
        hash = ps_hash64(ps_buf_str(&made), made.len);
    } while (ps_buf_ok(&made) && ps_idmap_get(&names->taken, hash) != PS_IDMAP_NONE);
    bool ok = ps_buf_ok(&made) && ps_idmap_put(&names->taken, hash, 1) &&
              ps_idmap_put(&names->counts, key.id, n);
    ps_buf_add(out, ps_buf_str(&made), made.len);
    ps_buf_fini(&made);
    return ok && ps_buf_ok(out);
}
