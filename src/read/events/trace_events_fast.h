/* The fast way through events (trace_events_parse.h), as functions of the file that includes this: once for each kind
 * of json_simd.h.
 *
 * Every take_... function reads one thing at p and returns what stands behind it, or NULL when it is not quite the
 * usual; then the whole event is read the long way. */
#ifndef PS_READ_TRACE_EVENTS_FAST_H
#define PS_READ_TRACE_EVENTS_FAST_H

#include "base/alloc.h"
#include "read/events/trace_events_parse.h"

#define FAST static inline __attribute__((always_inline)) /* as one function it is a third faster */

/* --- values -------------------------------------------------------------------------------------------- */

/* The rest of a string whose opening quote was read. */
FAST const char *take_text(ps_stretch *x, const char *p, uint32_t *text) {
    bool has_escape = false;
    unsigned odds = 0;
    const char *q = ps_json_string_end(p, x->end, &has_escape);
    if (q == NULL) {
        return NULL;
    }
    ps_text_result result =
        ps_batch_build_text(&x->batch, p, (size_t)(q - p),
                            has_escape ? PS_SPELLING_ESCAPES : PS_SPELLING_PLAIN, text, &odds);
    if (result != PS_TEXT_OK) {
        x->nomem = true;
        return NULL;
    }
    if (odds != 0) {
        ps_stretch_odd_text(x, odds, p);
    }
    return q + 1;
}

/* Skips the rest of a string. */
FAST const char *skip_text(const ps_stretch *x, const char *p) {
    bool has_escape = false;
    const char *q = ps_json_string_end(p, x->end, &has_escape);
    return q != NULL ? q + 1 : NULL;
}

/* Decimal digits, at most `most` (19 fit), without a leading zero. */
FAST const char *take_digits(const char *p, unsigned most, uint64_t *value) {
    const char *q = ps_json_digits(p, value);
    return q == p || q > p + most || (*p == '0' && q > p + 1) ? NULL : q;
}

/* The same with more decimals than are usual. */
FAST const char *take_long_time(ps_stretch *x, const char *p, const char *q, int64_t *out) {
    bool rounded = false;
    while (ps_json_is_digit(*q)) {
        q++;
    }
    if (!ps_json_scaled(p, (size_t)(q - p), 3, out, &rounded)) {
        return NULL;
    }
    if (rounded) {
        ps_stretch_odd(x, PS_ODD_TIME_ROUNDED, p);
    }
    return q;
}

/* Microseconds; what follows the number is the next shape's matter, which no digit, point or exponent begins. */
FAST const char *take_time(ps_stretch *x, const char *p, int64_t *out) {
    uint64_t whole = 0;
    uint64_t part = 0;
    const char *q = take_digits(p, 18, &whole);
    if (q == NULL || whole >= (uint64_t)INT64_MAX / 1000) {
        return NULL;
    }
    if (*q != '.') {
        *out = (int64_t)(whole * 1000);
        return q;
    }
    unsigned n = ps_json_digits8(q + 1, &part);
    q = n == 3 ? q + 4 : q + 1 + n;
    if (n == 0) {
        return NULL;
    }
    if (n == 8 && ps_json_is_digit(*q)) {
        return take_long_time(x, p, q, out);
    }
    if (n <= 3) {
        part = n == 3 ? part : part * PS_JSON_POW10[3 - n];
    } else {
        uint64_t unit = PS_JSON_POW10[n - 3];
        uint64_t rest = part % unit;
        part /= unit;
        part += rest * 2 > unit || (rest * 2 == unit && part % 2 == 1);
        if (rest != 0) {
            ps_stretch_odd(x, PS_ODD_TIME_ROUNDED, p);
        }
    }
    *out = (int64_t)(whole * 1000 + part);
    return q;
}

FAST const char *take_int(const char *p, int64_t *out) {
    uint64_t value = 0;
    bool negative = *p == '-';
    const char *q = take_digits(p + negative, 18, &value);
    if (q != NULL) {
        *out = negative ? -(int64_t)value : (int64_t)value;
    }
    return q;
}

/* A number of args. Up to 2^53 over a power of ten that a double holds: one division rounds right. */
FAST const char *take_number(ps_stretch *x, const char *p, ps_event_arg *arg) {
    static const double POW10[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    uint64_t whole = 0;
    uint64_t part = 0;
    bool negative = *p == '-';
    const char *q = take_digits(p + negative, 18, &whole);
    (void)x;
    if (q == NULL || *q == 'e' || *q == 'E') {
        return NULL;
    }
    if (*q != '.') {
        arg->type = PS_ARG_INT;
        arg->u.i = negative ? -(int64_t)whole : (int64_t)whole;
        return q;
    }
    unsigned n = ps_json_digits8(q + 1, &part);
    q += 1 + n;
    if (n == 0 || *q == 'e' || *q == 'E') {
        return NULL;
    }
    bool exact = whole < 10000000 && !(*q >= '0' && *q <= '9');
    if (exact) {
        double value = (double)(whole * PS_JSON_POW10[n] + part) / POW10[n];
        arg->u.r = negative ? -value : value;
    } else {
        while (*q >= '0' && *q <= '9') {
            q++;
        }
        if (*q == 'e' || *q == 'E' || !ps_json_real(p, (size_t)(q - p), &arg->u.r)) {
            return NULL;
        }
    }
    arg->type = PS_ARG_REAL;
    return q;
}

FAST const char *take_word(const char *p, ps_event_arg *arg) {
    if (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0) {
        arg->type = *p == 't' ? PS_ARG_BOOL : PS_ARG_NULL;
        arg->u.i = *p == 't';
        return ps_json_is_word_byte(p[4]) ? NULL : p + 4;
    }
    if (memcmp(p, "false", 5) == 0) {
        arg->type = PS_ARG_BOOL;
        arg->u.i = 0;
        return ps_json_is_word_byte(p[5]) ? NULL : p + 5;
    }
    return NULL;
}

FAST const char *take_nested(ps_stretch *x, const char *p, ps_event_arg *arg) {
    unsigned odds = 0;
    const char *q = ps_json_skip_brackets(p, x->end, PS_JSON_MAX_DEPTH - 2);
    if (q == NULL) {
        return NULL;
    }
    ps_text_result result =
        ps_batch_build_text(&x->batch, p, (size_t)(q - p), PS_SPELLING_NESTED, &arg->u.text, &odds);
    x->nomem = x->nomem || result == PS_TEXT_NOMEM;
    if (result != PS_TEXT_OK) {
        return NULL;
    }
    if (odds != 0) {
        ps_stretch_odd_text(x, odds, p);
    }
    arg->type = PS_ARG_JSON;
    return q;
}

/* --- shapes ---------------------------------------------------------------------------------------------- */

FAST bool is_shape(const ps_shape *s, const char *p) {
    return ps_json_same32(s->text, p, s->first_mask) &&
           (s->is_plain || ((s->is_string || p[s->n] != '"') &&
                            ps_json_same32(s->text + 32, p + 32, s->second_mask)));
}

/* The shape at p in the list, which the last one found leads. NULL when there is none. */
FAST ps_shape *find_shape(ps_stretch *x, ps_shape *before, bool inside, const char *p) {
    ps_shape **first = inside ? &before->inside : &before->follow;
    ps_shape *s = *first;
    if (s != NULL && is_shape(s, p)) {
        return s;
    }
    for (ps_shape *last = s; last != NULL; last = s) {
        s = last->sibling;
        if (s != NULL && is_shape(s, p)) {
            last->sibling = s->sibling;
            s->sibling = *first;
            *first = s;
            return s;
        }
    }
    return ps_shapes_learn(x->shapes, before, inside, p, x->end);
}

/* --- args -------------------------------------------------------------------------------------------------- */

FAST const char *take_arg(ps_stretch *x, ps_shape *s, const char *p) {
    ps_batch_build *b = &x->batch;
    const char *value = p + s->n;
    if (s->key_batch != b->number) {
        unsigned odds = 0;
        ps_text_result result =
            ps_batch_build_text(b, p + s->key_at, s->n_key, PS_SPELLING_PLAIN, &s->key_text, &odds);
        if (result != PS_TEXT_OK || odds != 0) {
            x->nomem = x->nomem || result != PS_TEXT_OK;
            return NULL;
        }
        s->key_batch = b->number;
    }
    ps_event_arg *arg = b->n_args < b->cap_args ? &b->args[b->n_args] : ps_batch_build_arg(b);
    if (arg == NULL) {
        x->nomem = true;
        return NULL;
    }
    arg->key = s->key_text;
    const char *q = NULL;
    if (s->is_string) {
        arg->type = PS_ARG_STR;
        q = take_text(x, value, &arg->u.text);
    } else if ((*value >= '0' && *value <= '9') || *value == '-') {
        q = take_number(x, value, arg);
    } else if (*value == '[' || *value == '{') {
        q = take_nested(x, value, arg);
    } else {
        q = take_word(value, arg);
    }
    b->n_args += q != NULL;
    return q;
}

FAST const char *skip_digits(const char *p) {
    unsigned n = ps_json_n_digits8(p);
    while (n == 8) {
        p += 8;
        n = ps_json_n_digits8(p);
    }
    return p + n;
}

/* Skips a whole or decimal number. */
FAST const char *skip_number(const char *p) {
    const char *digits = p + (*p == '-');
    const char *q = skip_digits(digits);
    if (q == digits || (*digits == '0' && q > digits + 1)) {
        return NULL;
    }
    if (*q == '.') {
        const char *part = q + 1;
        q = skip_digits(part);
        if (q == part) {
            return NULL;
        }
    }
    return ps_json_is_word_byte(*q) ? NULL : q;
}

FAST const char *skip_value(const ps_stretch *x, const ps_shape *s, const char *p, int depth) {
    if (s->is_string) {
        return skip_text(x, p);
    }
    if (*p == '{' || *p == '[') {
        return ps_json_skip_brackets(p, x->end, PS_JSON_MAX_DEPTH - depth);
    }
    const char *q = skip_number(p);
    if (q != NULL) {
        return q;
    }
    return ps_json_skip_value(&p, x->end, depth) == PS_JSON_OK ? p : NULL;
}

/* The object at p, whose members follow the shape `args`. */
FAST const char *take_args(ps_stretch *x, ps_shape *args, const char *p, bool all) {
    ps_shape *before = args;
    bool inside = true;
    p++;
    for (;;) {
        ps_shape *s = find_shape(x, before, inside, p);
        if (s == NULL) {
            return NULL;
        }
        if (s->field == PS_FIELD_END) {
            return p + s->n;
        }
        p = all || s->is_wanted ? take_arg(x, s, p) : skip_value(x, s, p + s->n, 2);
        if (p == NULL) {
            return NULL;
        }
        before = s;
        inside = false;
    }
}

/* --- events ------------------------------------------------------------------------------------------------ */

typedef struct ps_fast_event {
    ps_event *e;
    ps_shape *args;      /* NULL: none yet */
    const char *args_at; /* its '{' */
    bool has_ph, kept, kept_all;
} ps_fast_event;

FAST bool is_kept_whole(char ph) {
    return ph == 'M' || ph == 'C';
}

/* Args may come before the phase that says whether they are kept: then the last event of the shape tells. */
FAST const char *first_args(ps_stretch *x, ps_fast_event *f, ps_shape *s, const char *p) {
    if (*p != '{' || s->is_string) { /* a string may begin with a bracket */
        return NULL;
    }
    f->args = s;
    f->args_at = p;
    f->kept_all = x->schema->all_args || (f->has_ph ? is_kept_whole(f->e->ph) : s->keeps_all);
    f->kept = f->kept_all || x->schema->wanted != NULL;
    return f->kept ? take_args(x, s, p, f->kept_all)
                   : ps_json_skip_brackets(p, x->end, PS_JSON_MAX_DEPTH - 1);
}

/* When the guess was wrong: reads them again. */
FAST bool resolve_args(ps_stretch *x, ps_fast_event *f) {
    bool whole = is_kept_whole(f->e->ph);
    bool all = x->schema->all_args || whole;
    if (f->args == NULL) {
        return true;
    }
    f->args->keeps_all = whole;
    if (all == f->kept_all) {
        return true;
    }
    x->batch.n_args = f->e->first_arg;
    ps_stretch_forget(x); /* oddities of the args go, others come again */
    return false;
}

/* A whole number that is often the one of the last event of this shape. */
FAST const char *take_repeated(ps_shape *s, const char *p, int64_t *out) {
    uint64_t low = ps_json_load8(p);
    uint64_t high = ps_json_load8(p + 8);
    if ((low & s->memo_mask[0]) == s->memo[0] && (high & s->memo_mask[1]) == s->memo[1] &&
        s->memo_n > 0) {
        *out = s->memo_value;
        return p + s->memo_n;
    }
    const char *q = take_int(p, out);
    if (q != NULL && q - p < 16) { /* with the byte that ends it */
        unsigned n = (unsigned)(q - p) + 1;
        s->memo_n = n - 1;
        s->memo_mask[0] = n >= 8 ? UINT64_MAX : UINT64_MAX >> (64 - 8 * n);
        s->memo_mask[1] = n <= 8 ? 0 : UINT64_MAX >> (128 - 8 * n);
        s->memo[0] = low & s->memo_mask[0];
        s->memo[1] = high & s->memo_mask[1];
        s->memo_value = *out;
    }
    return q;
}

/* A string that is often the one of the last event of this shape. */
FAST const char *take_repeated_text(ps_stretch *x, ps_shape *s, const char *p, uint32_t *text) {
    if (s->memo_batch == x->batch.number && ps_json_same32(s->memo_text, p, s->memo_text_mask)) {
        *text = (uint32_t)s->memo_value;
        return p + s->memo_n;
    }
    const char *q = take_text(x, p, text);
    if (q != NULL && q - p <= 32 && x->pending.n == 0) { /* what is odd is counted each time */
        s->memo_batch = x->batch.number;
        s->memo_n = (uint32_t)(q - p);
        s->memo_value = *text;
        s->memo_text_mask = ps_json_first_bits((size_t)(q - p));
        memcpy(s->memo_text, p, 32);
    }
    return q;
}

FAST const char *take_owner(ps_stretch *x, ps_event *e, ps_shape *s, const char *p, int64_t *out,
                            int has, int as_text) {
    uint32_t text = 0;
    if (!s->is_string) {
        e->flags = (uint16_t)(e->flags | has);
        return take_repeated(s, p, out);
    }
    e->flags = (uint16_t)(e->flags | has | as_text);
    const char *q = take_repeated_text(x, s, p, &text);
    *out = text;
    return q;
}

FAST const char *take_id(ps_stretch *x, ps_event *e, const ps_shape *s, const char *p) {
    if (s->is_string) {
        const char *q = skip_text(x, p);
        if (q != NULL) {
            size_t n = (size_t)(q - 1 - p);
            ps_stretch_set_id(x, e, (ps_field)s->field, p, n, memchr(p, '\\', n) != NULL);
        }
        return q;
    }
    bool is_bind = s->field == PS_FIELD_BIND_ID;
    e->flags = (uint16_t)(e->flags | (is_bind ? PS_EVENT_HAS_BIND_ID : PS_EVENT_HAS_ID));
    const char *q = take_digits(p, 19, is_bind ? &e->bind_id_low : &e->id_low);
    return q != NULL && (*q == '.' || *q == 'e' || *q == 'E') ? NULL : q;
}

/* A string of one plain character. */
FAST const char *take_char(const ps_shape *s, const char *p, char *out) {
    *out = *p;
    bool ok = s->is_string && p[1] == '"' && *p != '"' && *p != '\\' && (*p & 0x80) == 0;
    return ok ? p + 2 : NULL;
}

/* The less frequent fields. */
FAST const char *take_rare(ps_stretch *x, ps_event *e, const ps_shape *s, const char *p) {
    char c = '\0';
    const char *q = NULL;
    ps_event_arg word = {0};
    switch (s->field) {
    case PS_FIELD_UNKNOWN:
        return skip_value(x, s, p, 1);
    case PS_FIELD_SCOPE:
        return s->is_string ? take_text(x, p, &e->scope_text) : NULL;
    case PS_FIELD_BP:
        q = take_char(s, p, &c);
        e->flags = (uint16_t)(e->flags | (c == 'e' ? PS_EVENT_BIND_ENCLOSING : 0));
        return q;
    case PS_FIELD_S:
        q = take_char(s, p, &c);
        e->scope = c == 'g' || c == 'p' || c == 't' ? c : '\0';
        return q;
    case PS_FIELD_FLOW_IN:
    case PS_FIELD_FLOW_OUT:
        q = s->is_string ? NULL : take_word(p, &word);
        if (word.u.i == 1) {
            e->flags = (uint16_t)(e->flags | (s->field == PS_FIELD_FLOW_IN ? PS_EVENT_FLOW_IN
                                                                           : PS_EVENT_FLOW_OUT));
        }
        return q;
    default:
        return NULL;
    }
}

FAST const char *take_field(ps_stretch *x, ps_fast_event *f, ps_shape *s, const char *p) {
    ps_event *e = f->e;
    const char *q = NULL;
    switch (s->field) {
    case PS_FIELD_PH:
        f->has_ph = true;
        return take_char(s, p, &e->ph);
    case PS_FIELD_NAME:
        return s->is_string ? take_text(x, p, &e->name) : NULL;
    case PS_FIELD_CAT:
        return s->is_string ? take_text(x, p, &e->cat) : NULL;
    case PS_FIELD_TS:
        q = take_time(x, p, &e->ts_ns);
        e->flags = (uint16_t)(e->flags | PS_EVENT_HAS_TS | (s->is_string ? PS_EVENT_TS_TEXT : 0));
        return q == NULL || !s->is_string ? q : *q == '"' ? q + 1 : NULL;
    case PS_FIELD_DUR:
        q = take_time(x, p, &e->dur_ns);
        e->flags = (uint16_t)(e->flags | PS_EVENT_HAS_DUR);
        return q == NULL || !s->is_string ? q : *q == '"' ? q + 1 : NULL;
    case PS_FIELD_PID:
        return take_owner(x, e, s, p, &e->pid, PS_EVENT_HAS_PID, PS_EVENT_PID_TEXT);
    case PS_FIELD_TID:
        return take_owner(x, e, s, p, &e->tid, PS_EVENT_HAS_TID, PS_EVENT_TID_TEXT);
    case PS_FIELD_ID:
    case PS_FIELD_BIND_ID:
        return take_id(x, e, s, p);
    case PS_FIELD_ARGS:
        return first_args(x, f, s, p);
    default:
        return take_rare(x, e, s, p);
    }
}

/* The event at p, into the next place of the batch. */
FAST const char *take_event(ps_stretch *x, ps_event *e, const char *p) {
    ps_fast_event f = {.e = e};
    ps_shape *before = x->shapes->all;
    *e = (ps_event){.offset = x->offset + (uint64_t)(p - x->begin),
                    .first_arg = (uint32_t)x->batch.n_args};
    p++;
    for (;;) {
        ps_shape *s = find_shape(x, before, false, p);
        if (s == NULL) {
            return NULL;
        }
        p += s->n;
        if (s->field == PS_FIELD_END) {
            break;
        }
        p = take_field(x, &f, s, p);
        if (p == NULL) {
            return NULL;
        }
        before = s;
    }
    if (!resolve_args(x, &f) || x->pending.any_beyond) {
        return NULL;
    }
    e->n_args = (uint32_t)(x->batch.n_args - e->first_arg);
    return p;
}

FAST const char *skip_spaces(const char *p) {
    while (ps_json_is_space(*p)) { /* the zero behind the end is none */
        p++;
    }
    return p;
}

FAST void run_fast(ps_stretch *x) {
    ps_batch_build *b = &x->batch;
    const char *p = x->at;
    for (;;) {
        p = skip_spaces(p);
        if (x->expect == PS_EXPECT_COMMA) {
            if (*p != ',') {
                break;
            }
            p = skip_spaces(p + 1);
            x->expect = PS_EXPECT_ELEMENT;
        }
        x->at = p;
        if (*p != '{') {
            break;
        }
        ps_event *e =
            b->n_events < b->cap_events ? &b->events[b->n_events] : ps_batch_build_event(b);
        size_t n_args = b->n_args;
        if (e == NULL) {
            x->nomem = true;
            break;
        }
        p = take_event(x, e, p);
        if (p == NULL || (size_t)(p - x->at) > PS_EVENT_MAX_BYTES) {
            b->n_args = n_args;
            ps_stretch_forget(x);
            break;
        }
        if (x->pending.n > 0) {
            ps_stretch_commit(x);
        }
        b->n_events++;
        x->n_tried++;
        x->at = p;
        x->expect = PS_EXPECT_COMMA;
        x->is_first = false;
    }
}

#endif
