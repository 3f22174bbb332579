#include "read/events/trace_events_shapes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

enum { MAX_SHAPES = 2048, MAX_SIBLINGS = 12 };

bool ps_shapes_init(ps_shapes *s, const ps_event_schema *schema) {
    *s = (ps_shapes){.all = ps_alloc(MAX_SHAPES * sizeof *s->all), .n = 1, .schema = schema};
    if (s->all != NULL) {
        s->all[0] = (ps_shape){0};
    }
    return s->all != NULL;
}

void ps_shapes_fini(ps_shapes *s) {
    ps_free(s->all);
    *s = (ps_shapes){0};
}

uint64_t ps_shapes_next_batch(ps_shapes *s) {
    if (s->full) {
        s->n = 1;
        s->full = false;
        s->all[0] = (ps_shape){0};
    }
    return ++s->n_batches;
}

/* Fills in what the text at p says. False when it is nothing to be learned. */
static bool describe_shape(ps_shape *shape, bool first, const char *p, const char *end) {
    const char *s = ps_json_skip_space(p, end);
    if (s < end && *s == '}') {
        shape->field = PS_FIELD_END;
        shape->n = (uint8_t)(s + 1 - p);
        return s + 1 - p <= PS_SHAPE_BYTES;
    }
    if (!first) {
        if (s == end || *s != ',') {
            return false;
        }
        s = ps_json_skip_space(s + 1, end);
    }
    const char *key = s + 1;
    bool has_escape = false;
    if (s == end || *s != '"' || ps_json_skip_string(&key, end, &has_escape) != PS_JSON_OK ||
        has_escape || key - p > PS_SHAPE_BYTES) {
        return false;
    }
    shape->key_at = (uint8_t)(s + 1 - p);
    shape->n_key = (uint8_t)(key - 1 - (s + 1));
    s = ps_json_skip_space(key, end);
    if (s == end || *s != ':') {
        return false;
    }
    s = ps_json_skip_space(s + 1, end);
    if (s == end || s + 1 - p > PS_SHAPE_BYTES) {
        return false;
    }
    shape->is_string = *s == '"';
    shape->n = (uint8_t)(s + shape->is_string - p);
    return true;
}

/* Whether the key is new on the way from the beginning of the object. */
static bool is_new(const ps_shape *shape, bool in_args) {
    for (const ps_shape *other = shape->parent; other != NULL; other = other->parent) {
        if (in_args && other->field == PS_FIELD_ARGS) {
            return true;
        }
        bool same = in_args ? other->n_key == shape->n_key &&
                                  memcmp(other->text + other->key_at, shape->text + shape->key_at,
                                         shape->n_key) == 0
                            : other->field == shape->field && shape->field != PS_FIELD_UNKNOWN;
        if (same) {
            return false;
        }
    }
    return true;
}

ps_shape *ps_shapes_learn(ps_shapes *s, ps_shape *before, bool inside, const char *p,
                          const char *end) {
    ps_shape **first = inside ? &before->inside : &before->follow;
    uint32_t n_siblings = 0;
    for (const ps_shape *other = *first; other != NULL; other = other->sibling) {
        n_siblings++;
    }
    if (s->n == MAX_SHAPES || n_siblings == MAX_SIBLINGS) {
        s->full = s->full || s->n == MAX_SHAPES;
        return NULL;
    }
    ps_shape *shape = &s->all[s->n];
    *shape = (ps_shape){.parent = before};
    if (!describe_shape(shape, inside || before == s->all, p, end)) {
        return NULL;
    }
    memcpy(shape->text, p, shape->n);
    shape->first_mask = ps_json_first_bits(shape->n);
    shape->second_mask = shape->n > 32 ? ps_json_first_bits(shape->n - 32u) : 0;
    shape->is_plain = shape->second_mask == 0 && (shape->is_string || shape->field == PS_FIELD_END);
    if (shape->field != PS_FIELD_END) {
        bool in_args = inside || before->field == PS_FIELD_ARG;
        const char *key = shape->text + shape->key_at;
        shape->field = (uint8_t)(in_args ? PS_FIELD_ARG : ps_field_of(key, shape->n_key));
        shape->is_wanted = in_args && ps_event_wants(s->schema, key, shape->n_key);
        if (!is_new(shape, in_args)) {
            return NULL;
        }
    }
    shape->sibling = *first;
    *first = shape;
    s->n++;
    return shape;
}
