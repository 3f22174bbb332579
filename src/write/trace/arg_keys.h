/* What a writer must know of a trace's argument names before it writes the first: names that stand twice in one slice
 * (an object of JSON cannot say that), and which are times. */
#ifndef PS_WRITE_ARG_KEYS_H
#define PS_WRITE_ARG_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "model/trace.h"

typedef struct ps_arg_keys {
    ps_idmap shapes;   /* list of keys of a slice -> whether one stands twice */
    ps_idmap types;    /* key -> bits of what it was seen as */
    ps_str *time_keys; /* keys that are times wherever they stand; in the order met */
    size_t n_time_keys, cap_time_keys;
    const uint32_t *last_shape; /* neighbours are mostly alike */
    bool last_repeats;
} ps_arg_keys;

/* False when memory is out; call fini in any case. */
bool ps_arg_keys_init(ps_arg_keys *k, const ps_trace *t);
void ps_arg_keys_fini(ps_arg_keys *k);

/* Whether a name stands twice among the arguments of `iter`, which has just begun. */
bool ps_arg_keys_repeat(ps_arg_keys *k, const ps_arg_iter *iter);

/* The names that the arguments of one slice get where one stands twice: "key", then "key (2)" and on, none of them that
 * of another argument. For slices with repeated names only. */
typedef struct ps_arg_names {
    ps_idmap counts; /* key -> number that its last name has */
    ps_idmap taken;  /* hashes of texts */
} ps_arg_names;

/* `iter` has just begun. False when memory is out; call fini in any case. */
bool ps_arg_names_init(ps_arg_names *names, const ps_trace *t, ps_arg_iter iter);
void ps_arg_names_fini(ps_arg_names *names);

/* Appends the name of the next argument, whose key is `key`. False when memory is out. */
bool ps_arg_names_next(ps_arg_names *names, const ps_trace *t, ps_str key, ps_buf *out);

#endif
