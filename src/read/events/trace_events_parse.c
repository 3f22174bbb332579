#include "read/events/trace_events_parse.h"

#include <string.h>

#include "base/num.h"

__extension__ typedef unsigned __int128 u128;

static const struct {
    const char *name;
    ps_field field;
} FIELDS[] = {{"ph", PS_FIELD_PH},
              {"ts", PS_FIELD_TS},
              {"dur", PS_FIELD_DUR},
              {"pid", PS_FIELD_PID},
              {"tid", PS_FIELD_TID},
              {"name", PS_FIELD_NAME},
              {"cat", PS_FIELD_CAT},
              {"id", PS_FIELD_ID},
              {"args", PS_FIELD_ARGS},
              {"id2", PS_FIELD_ID2},
              {"bp", PS_FIELD_BP},
              {"bind_id", PS_FIELD_BIND_ID},
              {"s", PS_FIELD_S},
              {"scope", PS_FIELD_SCOPE},
              {"flow_in", PS_FIELD_FLOW_IN},
              {"flow_out", PS_FIELD_FLOW_OUT}};

/* A value that is no container, as it stands. */
typedef struct token {
    const char *s; /* between the quotes of a string */
    size_t n;
    bool is_string, has_escape;
    ps_json_word word; /* when it is no string */
} token;

bool ps_stretch_init(ps_stretch *x, const ps_event_schema *schema) {
    *x = (ps_stretch){.schema = schema};
    return ps_batch_build_init(&x->batch);
}

void ps_stretch_fini(ps_stretch *x) {
    ps_batch_build_fini(&x->batch);
}

static uint64_t offset_of(const ps_stretch *x, const char *p) {
    return x->offset + (uint64_t)(p - x->begin);
}

void ps_stretch_odd(ps_stretch *x, ps_oddity kind, const char *p) {
    ps_pending_oddities *o = &x->pending;
    if (kind == PS_ODD_TIME_ROUNDED && x->schema->printed_doubles) {
        return;
    }
    if (o->n < PS_PENDING_PLACES) {
        o->places[o->n].kind = kind;
        o->places[o->n++].offset = offset_of(x, p);
    } else {
        o->any_beyond = true;
        o->beyond[kind]++;
    }
}

void ps_stretch_forget(ps_stretch *x) {
    if (x->pending.any_beyond) {
        memset(x->pending.beyond, 0, sizeof x->pending.beyond);
    }
    x->pending.any_beyond = false;
    x->pending.n = 0;
}

/* In the order of the text, whatever was looked at first. */
static void sort_pending(ps_pending_oddities *o) {
    for (size_t i = 1; i < o->n; i++) {
        for (size_t k = i; k > 0 && o->places[k - 1].offset > o->places[k].offset; k--) {
            ps_pending_oddity swap = o->places[k];
            o->places[k] = o->places[k - 1];
            o->places[k - 1] = swap;
        }
    }
}

void ps_stretch_commit(ps_stretch *x) {
    ps_pending_oddities *o = &x->pending;
    sort_pending(o);
    for (size_t i = 0; i < o->n; i++) {
        ps_diag_add(&x->diag, o->places[i].kind, "byte %llu",
                    (unsigned long long)o->places[i].offset);
    }
    for (int kind = 0; o->any_beyond && kind < PS_N_ODDITIES; kind++) {
        ps_diag_count(&x->diag, (ps_oddity)kind, o->beyond[kind]);
    }
    ps_stretch_forget(x);
}

static void odd_now(ps_stretch *x, ps_oddity kind, const char *p) {
    ps_diag_add(&x->diag, kind, "byte %llu", (unsigned long long)offset_of(x, p));
}

/* --- tokens ------------------------------------------------------------------------------------------ */

/* A string, number or word at *p. */
static ps_json_status read_token(const char **p, const char *end, token *t) {
    const char *s = *p;
    *t = (token){.s = s};
    if (s < end && *s == '"') {
        t->s = ++s;
        ps_json_status status = ps_json_skip_string(&s, end, &t->has_escape);
        t->is_string = true;
        t->n = (size_t)(s - t->s) - (status == PS_JSON_OK);
        *p = s;
        return status;
    }
    while (s < end && ps_json_is_word_byte(*s)) {
        s++;
    }
    if (s == end) {
        return PS_JSON_MORE;
    }
    t->n = (size_t)(s - t->s);
    t->word = ps_json_word_of(t->s, t->n);
    if (t->word == PS_JSON_NO_WORD) {
        return PS_JSON_BAD;
    }
    *p = s;
    return PS_JSON_OK;
}

static bool is_stretch_text(const token *t, const char *text) {
    return t->is_string && t->n == strlen(text) && memcmp(t->s, text, t->n) == 0;
}

void ps_stretch_odd_text(ps_stretch *x, unsigned odds, const char *p) {
    static const struct {
        unsigned odd;
        ps_oddity kind;
    } KINDS[] = {{PS_JSON_ODD_UTF8, PS_ODD_UTF8},
                 {PS_JSON_ODD_ESCAPE, PS_ODD_TEXT},
                 {PS_JSON_ODD_COMMA, PS_ODD_COMMA},
                 {PS_JSON_ODD_NUMBER, PS_ODD_NUMBER}};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if ((odds & KINDS[i].odd) != 0) {
            ps_stretch_odd(x, KINDS[i].kind, p);
        }
    }
}

static ps_text_result text_of_kind(ps_stretch *x, const char *s, size_t n, ps_spelling_kind kind,
                                   uint32_t *text) {
    unsigned odds = 0;
    ps_text_result result = ps_batch_build_text(&x->batch, s, n, kind, text, &odds);
    x->nomem = x->nomem || result == PS_TEXT_NOMEM;
    if (odds != 0) {
        ps_stretch_odd_text(x, odds, s);
    }
    return result;
}

/* The id of a string in the batch. */
static uint32_t stretch_text_of(ps_stretch *x, const char *s, size_t n, bool has_escape) {
    uint32_t text = 0;
    (void)text_of_kind(x, s, n, has_escape ? PS_SPELLING_ESCAPES : PS_SPELLING_PLAIN, &text);
    return text;
}

/* Whether the token says that there is no value; numbers that are none are counted. */
static bool is_absent(ps_stretch *x, const token *t) {
    if (t->is_string || t->word == PS_JSON_NUMBER || t->word == PS_JSON_TRUE ||
        t->word == PS_JSON_FALSE) {
        return false;
    }
    if (t->word != PS_JSON_NULL) {
        ps_stretch_odd(x, PS_ODD_NUMBER, t->s);
    }
    return true;
}

/* --- values of the event's own fields ------------------------------------------------------------------ */

static void set_flag(ps_event *e, int flag, bool on) {
    e->flags = (uint16_t)(on ? e->flags | flag : e->flags & ~flag);
}

/* Microseconds, as a number or the text of one. */
static bool time_ns(ps_stretch *x, const token *t, int64_t *out) {
    const char *s = t->s;
    const char *end = s + t->n;
    bool rounded = false;
    if (is_absent(x, t)) {
        return false;
    }
    while (s < end && ps_json_is_space(*s)) {
        s++;
    }
    while (s < end && ps_json_is_space(end[-1])) {
        end--;
    }
    if (!ps_json_scaled(s, (size_t)(end - s), 3, out, &rounded)) {
        ps_stretch_odd(x, PS_ODD_NUMBER, t->s);
        return false;
    }
    if (rounded) {
        ps_stretch_odd(x, PS_ODD_TIME_ROUNDED, t->s);
    }
    return true;
}

/* A process or thread. */
static void set_owner(ps_stretch *x, ps_event *e, const token *t, int64_t *out, int has,
                      int as_text) {
    bool rounded = false;
    *out = 0;
    set_flag(e, has | as_text, false);
    if (is_absent(x, t)) {
        return;
    }
    if (t->is_string) {
        *out = stretch_text_of(x, t->s, t->n, t->has_escape);
        set_flag(e, has | as_text, true);
        return;
    }
    if (ps_parse_i64(t->s, t->n, out)) {
        set_flag(e, has, true);
        return;
    }
    if (ps_json_scaled(t->s, t->n, 0, out, &rounded) && !rounded) {
        set_flag(e, has, true); /* 12.0, as some writers of numbers have it */
        return;
    }
    *out = 0;
    if (t->word ==
        PS_JSON_NUMBER) { /* too big, or none that counts processes: told apart as text */
        *out = stretch_text_of(x, t->s, t->n, false);
        set_flag(e, has | as_text, true);
        return;
    }
    ps_stretch_odd(x, PS_ODD_NUMBER, t->s);
}

static bool decimal_id(const char *s, size_t n, u128 *out) {
    if (n == 0 || n > 38 || (s[0] == '0' && n > 1)) {
        return false;
    }
    u128 value = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(s[i] - '0');
    }
    *out = value;
    return true;
}

static bool hex_id(const char *s, size_t n, u128 *out) {
    if (n < 3 || n > 34 || s[0] != '0' || s[1] != 'x') {
        return false;
    }
    u128 value = 0;
    for (size_t i = 2; i < n; i++) {
        char lower = (char)(s[i] | 0x20);
        if (s[i] >= '0' && s[i] <= '9') {
            value = value << 4 | (unsigned)(s[i] - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value << 4 | (unsigned)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = value;
    return true;
}

/* False when there is none. */
static bool read_id(ps_stretch *x, const token *t, uint64_t *high, uint64_t *low, bool *as_text) {
    u128 value = 0;
    *high = 0;
    *low = 0;
    *as_text = false;
    if (is_absent(x, t)) {
        return false;
    }
    if (!t->is_string && t->word != PS_JSON_NUMBER) {
        ps_stretch_odd(x, PS_ODD_TEXT, t->s);
        return false;
    }
    if (decimal_id(t->s, t->n, &value) || (t->is_string && hex_id(t->s, t->n, &value))) {
        *high = (uint64_t)(value >> 64);
        *low = (uint64_t)value;
        return true;
    }
    *as_text = true;
    *low = stretch_text_of(x, t->s, t->n, t->has_escape);
    return true;
}

static void set_id(ps_stretch *x, ps_event *e, const token *t, bool is_local) {
    bool as_text = false;
    bool has = read_id(x, t, &e->id_high, &e->id_low, &as_text);
    set_flag(e, PS_EVENT_HAS_ID, has);
    set_flag(e, PS_EVENT_ID_TEXT, as_text);
    set_flag(e, PS_EVENT_ID_LOCAL, has && is_local);
}

static void set_bind_id(ps_stretch *x, ps_event *e, const token *t) {
    bool as_text = false;
    bool has = read_id(x, t, &e->bind_id_high, &e->bind_id_low, &as_text);
    set_flag(e, PS_EVENT_HAS_BIND_ID, has);
    set_flag(e, PS_EVENT_BIND_ID_TEXT, as_text);
}

void ps_stretch_set_id(ps_stretch *x, ps_event *e, ps_field f, const char *s, size_t n,
                       bool has_escape) {
    const token t = {.s = s, .n = n, .is_string = true, .has_escape = has_escape};
    if (f == PS_FIELD_BIND_ID) {
        set_bind_id(x, e, &t);
    } else {
        set_id(x, e, &t, false);
    }
}

static uint32_t stretch_name_of(ps_stretch *x, const token *t) {
    return is_absent(x, t) ? 0 : stretch_text_of(x, t->s, t->n, t->has_escape);
}

static bool is_stretch_true(const token *t) {
    return !t->is_string && (t->word == PS_JSON_TRUE ||
                             (t->word == PS_JSON_NUMBER && !(t->n == 1 && t->s[0] == '0')));
}

static void set_stretch_field(ps_stretch *x, ps_event *e, ps_field f, const token *t) {
    bool has = false;
    switch (f) {
    case PS_FIELD_PH:
        e->ph = t->is_string && t->n == 1 && (t->s[0] & 0x80) == 0 ? t->s[0] : '\0';
        break;
    case PS_FIELD_TS:
        has = time_ns(x, t, &e->ts_ns);
        e->ts_ns = has ? e->ts_ns : 0;
        set_flag(e, PS_EVENT_HAS_TS, has);
        set_flag(e, PS_EVENT_TS_TEXT, has && t->is_string);
        break;
    case PS_FIELD_DUR:
        has = time_ns(x, t, &e->dur_ns);
        e->dur_ns = has ? e->dur_ns : 0;
        set_flag(e, PS_EVENT_HAS_DUR, has);
        break;
    case PS_FIELD_PID:
        set_owner(x, e, t, &e->pid, PS_EVENT_HAS_PID, PS_EVENT_PID_TEXT);
        break;
    case PS_FIELD_TID:
        set_owner(x, e, t, &e->tid, PS_EVENT_HAS_TID, PS_EVENT_TID_TEXT);
        break;
    case PS_FIELD_NAME:
        e->name = stretch_name_of(x, t);
        break;
    case PS_FIELD_CAT:
        e->cat = stretch_name_of(x, t);
        break;
    case PS_FIELD_SCOPE:
        e->scope_text = stretch_name_of(x, t);
        break;
    case PS_FIELD_ID:
        set_id(x, e, t, false);
        break;
    case PS_FIELD_BIND_ID:
        set_bind_id(x, e, t);
        break;
    case PS_FIELD_BP:
        set_flag(e, PS_EVENT_BIND_ENCLOSING, is_stretch_text(t, "e"));
        break;
    case PS_FIELD_S:
        e->scope = is_stretch_text(t, "g") || is_stretch_text(t, "p") || is_stretch_text(t, "t")
                       ? t->s[0]
                       : '\0';
        break;
    case PS_FIELD_FLOW_IN:
        set_flag(e, PS_EVENT_FLOW_IN, is_stretch_true(t));
        break;
    case PS_FIELD_FLOW_OUT:
        set_flag(e, PS_EVENT_FLOW_OUT, is_stretch_true(t));
        break;
    default:
        ps_stretch_odd(x, PS_ODD_TEXT, t->s);
        break; /* args, id2: no object */
    }
}

/* --- members of an object ------------------------------------------------------------------------------ */

typedef struct member {
    token key;
    const char *value; /* its first byte */
} member;

/* Moves *p (behind '{' or a value) to the next member's value. *done: the object ended. */
static ps_json_status next_member(ps_stretch *x, const char **p, bool first, member *m,
                                  bool *done) {
    const char *s = ps_json_skip_space(*p, x->end);
    const char *comma = s;
    *done = false;
    if (!first && s < x->end && *s == ',') {
        s = ps_json_skip_space(s + 1, x->end);
    } else if (!first && s < x->end && *s != '}') {
        *p = s;
        return PS_JSON_BAD;
    }
    *p = s;
    if (s == x->end) {
        return PS_JSON_MORE;
    }
    if (*s == '}') {
        if (s != comma) {
            ps_stretch_odd(x, PS_ODD_COMMA, s);
        }
        *p = s + 1;
        *done = true;
        return PS_JSON_OK;
    }
    if (*s != '"') {
        return PS_JSON_BAD;
    }
    ps_json_status status = read_token(p, x->end, &m->key);
    if (status != PS_JSON_OK) {
        return status;
    }
    *p = ps_json_skip_space(*p, x->end);
    if (*p == x->end || **p != ':') {
        return *p == x->end ? PS_JSON_MORE : PS_JSON_BAD;
    }
    *p = ps_json_skip_space(*p + 1, x->end);
    m->value = *p;
    return *p == x->end ? PS_JSON_MORE : PS_JSON_OK;
}

/* A key without its escapes, into `out`; *n = 0 when it is longer than any that is known. */
static const char *plain_key(const token *key, char *out, size_t cap, size_t *n) {
    unsigned odds = 0;
    *n = key->n;
    if (!key->has_escape) {
        return key->s;
    }
    *n = key->n * 3 <= cap ? ps_json_unescape(key->s, key->n, out, &odds) : 0;
    return out;
}

ps_field ps_field_of(const char *s, size_t n) {
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (strlen(FIELDS[i].name) == n && memcmp(FIELDS[i].name, s, n) == 0) {
            return FIELDS[i].field;
        }
    }
    return PS_FIELD_UNKNOWN;
}

bool ps_event_wants(const ps_event_schema *schema, const char *key, size_t n) {
    const char *const *wanted = schema->wanted;
    for (size_t i = 0; wanted != NULL && wanted[i] != NULL; i++) {
        if (strlen(wanted[i]) == n && memcmp(wanted[i], key, n) == 0) {
            return true;
        }
    }
    return false;
}

static ps_field field_of(const token *key) {
    char buffer[256];
    size_t n = 0;
    const char *s = plain_key(key, buffer, sizeof buffer, &n);
    return ps_field_of(s, n);
}

static bool is_stretch_wanted(const ps_stretch *x, const token *key) {
    char buffer[1024];
    size_t n = 0;
    const char *s = plain_key(key, buffer, sizeof buffer, &n);
    return ps_event_wants(x->schema, s, n);
}

/* --- args ------------------------------------------------------------------------------------------------ */

static void set_number(ps_stretch *x, ps_event_arg *arg, const token *t) {
    if (ps_parse_i64(t->s, t->n, &arg->u.i)) {
        arg->type = PS_ARG_INT;
        return;
    }
    bool is_integer = memchr(t->s, '.', t->n) == NULL && memchr(t->s, 'e', t->n) == NULL &&
                      memchr(t->s, 'E', t->n) == NULL;
    if (!is_integer && ps_json_real(t->s, t->n, &arg->u.r)) {
        arg->type = PS_ARG_REAL;
        return;
    }
    arg->type = PS_ARG_NUMBER;
    arg->u.text = stretch_text_of(x, t->s, t->n, false);
}

static void set_stretch_arg(ps_stretch *x, ps_event_arg *arg, const token *t) {
    if (t->is_string) {
        arg->type = PS_ARG_STR;
        arg->u.text = stretch_text_of(x, t->s, t->n, t->has_escape);
    } else if (is_absent(x, t)) {
        arg->type = PS_ARG_NULL;
    } else if (t->word == PS_JSON_NUMBER) {
        set_number(x, arg, t);
    } else {
        arg->type = PS_ARG_BOOL;
        arg->u.i = t->word == PS_JSON_TRUE;
    }
}

/* The place of an argument: a new one, or that of an earlier one with the same key. NULL when memory is out. */
static ps_event_arg *place_arg(ps_stretch *x, ps_event *e, const token *key) {
    uint32_t text = stretch_text_of(x, key->s, key->n, key->has_escape);
    ps_key_seen *seen = &x->batch.keys_seen[text];
    if (seen->event == x->n_tried && seen->arg >= e->first_arg) {
        ps_stretch_odd(x, PS_ODD_DUPLICATE_KEY, key->s);
        return &x->batch.args[seen->arg];
    }
    ps_event_arg *arg = ps_batch_build_arg(&x->batch);
    if (arg != NULL) {
        *seen = (ps_key_seen){.event = x->n_tried, .arg = (uint32_t)x->batch.n_args++};
        *arg = (ps_event_arg){.key = text};
    }
    return arg;
}

static ps_json_status keep_arg(ps_stretch *x, ps_event *e, const member *m, const char **p) {
    token t = {0};
    ps_json_status status = PS_JSON_OK;
    bool is_container = **p == '{' || **p == '[';
    if (is_container) {
        t.s = *p;
        status = ps_json_skip_value(p, x->end, 2);
        t.n = (size_t)(*p - t.s);
    } else {
        status = read_token(p, x->end, &t);
    }
    ps_event_arg *arg = status == PS_JSON_OK ? place_arg(x, e, &m->key) : NULL;
    if (arg == NULL) {
        x->nomem = x->nomem || status == PS_JSON_OK;
        return status;
    }
    if (is_container) {
        uint32_t text = 0;
        if (text_of_kind(x, t.s, t.n, PS_SPELLING_NESTED, &text) == PS_TEXT_BAD) {
            *p = t.s;
            return PS_JSON_BAD;
        }
        arg->type = PS_ARG_JSON;
        arg->u.text = text;
    } else {
        set_stretch_arg(x, arg, &t);
    }
    return status;
}

/* *p at the '{'. */
static ps_json_status read_stretch_args(ps_stretch *x, ps_event *e, const char **p, bool all) {
    bool done = false;
    (*p)++;
    for (bool first = true;; first = false) {
        member m = {0};
        ps_json_status status = next_member(x, p, first, &m, &done);
        if (status != PS_JSON_OK || done) {
            return status;
        }
        if (all || is_stretch_wanted(x, &m.key)) {
            status = keep_arg(x, e, &m, p);
        } else {
            status = ps_json_skip_value(p, x->end, 2);
        }
        if (status != PS_JSON_OK || x->nomem) {
            return status;
        }
    }
}

/* --- events ---------------------------------------------------------------------------------------------- */

/* *p at the '{' of {"local": ...} or {"global": ...}. */
static ps_json_status read_id2(ps_stretch *x, ps_event *e, const char **p) {
    bool done = false;
    (*p)++;
    for (bool first = true;; first = false) {
        member m = {0};
        token t = {0};
        ps_json_status status = next_member(x, p, first, &m, &done);
        if (status != PS_JSON_OK || done) {
            return status;
        }
        bool is_local = is_stretch_text(&m.key, "local");
        bool is_id = is_local || is_stretch_text(&m.key, "global");
        if (is_id && **p != '{' && **p != '[') {
            status = read_token(p, x->end, &t);
            if (status == PS_JSON_OK) {
                set_id(x, e, &t, is_local);
            }
        } else {
            if (is_id) {
                ps_stretch_odd(x, PS_ODD_TEXT, *p);
            }
            status = ps_json_skip_value(p, x->end, 2);
        }
        if (status != PS_JSON_OK || x->nomem) {
            return status;
        }
    }
}

/* What is known of an event until its end. */
typedef struct reading {
    uint32_t seen;    /* bits of field */
    const char *args; /* the last one's '{', NULL */
} reading;

static ps_json_status read_field(ps_stretch *x, ps_event *e, const member *m, const char **p,
                                 reading *r) {
    ps_field f = field_of(&m->key);
    if (f == PS_FIELD_UNKNOWN) {
        return ps_json_skip_value(p, x->end, 1);
    }
    if ((r->seen & 1u << f) != 0) {
        ps_stretch_odd(x, PS_ODD_DUPLICATE_KEY, m->key.s);
    }
    r->seen |= 1u << f;
    if (**p == '{' && f == PS_FIELD_ID2) {
        set_flag(e, PS_EVENT_HAS_ID | PS_EVENT_ID_TEXT | PS_EVENT_ID_LOCAL, false);
        return read_id2(x, e, p);
    }
    if (f == PS_FIELD_ARGS) {
        r->args = **p == '{' ? *p : NULL;
    }
    if (**p == '{' || **p == '[') {
        if (f != PS_FIELD_ARGS || **p == '[') {
            ps_stretch_odd(x, PS_ODD_TEXT, *p);
        }
        return ps_json_skip_value(p, x->end, 1);
    }
    token t = {0};
    ps_json_status status = read_token(p, x->end, &t);
    if (status == PS_JSON_OK && !(f == PS_FIELD_ARGS && t.word == PS_JSON_NULL && !t.is_string)) {
        set_stretch_field(x, e, f, &t);
    }
    return status;
}

/* Reads the event at *p into the next place of the batch, without counting it. */
static ps_json_status read_event(ps_stretch *x, const char **p) {
    ps_event *e = ps_batch_build_event(&x->batch);
    reading r = {0};
    bool done = false;
    if (e == NULL) {
        x->nomem = true;
        return PS_JSON_OK;
    }
    *e = (ps_event){.offset = offset_of(x, *p), .first_arg = (uint32_t)x->batch.n_args};
    x->n_tried++;
    (*p)++;
    for (bool first = true; !done; first = false) {
        member m = {0};
        ps_json_status status = next_member(x, p, first, &m, &done);
        if (status == PS_JSON_OK && !done) {
            status = read_field(x, e, &m, p, &r);
        }
        if (status != PS_JSON_OK || x->nomem) {
            return status;
        }
    }
    bool all = x->schema->all_args || e->ph == 'M' || e->ph == 'C';
    if (r.args != NULL && (all || x->schema->wanted != NULL)) {
        const char *at = r.args;
        ps_json_status status = read_stretch_args(x, e, &at, all);
        if (status != PS_JSON_OK) {
            *p = at;
            return status == PS_JSON_MORE ? PS_JSON_BAD : status;
        }
    }
    e->n_args = (uint32_t)(x->batch.n_args - e->first_arg);
    return PS_JSON_OK;
}

/* The same; an event that is complete is counted, of any other nothing stays. */
static ps_json_status take_stretch_event(ps_stretch *x, const char **p) {
    size_t n_args = x->batch.n_args;
    ps_stretch_forget(x);
    ps_json_status status = read_event(x, p);
    if (status == PS_JSON_OK && !x->nomem) {
        x->batch.n_events++;
    } else {
        x->batch.n_args = n_args;
        ps_stretch_forget(x);
    }
    return status;
}

/* --- the array -------------------------------------------------------------------------------------------- */

static bool is_long(const char *begin, const char *end) {
    return (size_t)(end - begin) > PS_EVENT_MAX_BYTES;
}

/* Whether an event begins behind the comma at p. */
static ps_json_status try_event(ps_stretch *x, const char *p, const char **behind) {
    const char *s = ps_json_skip_space(p + 1, x->end);
    if (s == x->end) {
        return PS_JSON_MORE;
    }
    if (*s != '{') {
        return PS_JSON_BAD;
    }
    const char *quote = ps_json_skip_space(s + 1, x->end);
    if (quote < x->end && *quote != '"') {
        return PS_JSON_BAD;
    }
    size_t n_args = x->batch.n_args;
    const char *brace = s;
    ps_json_status status = take_stretch_event(x, &s);
    if (status == PS_JSON_OK && !x->nomem &&
        (x->batch.events[x->batch.n_events - 1].ph == '\0' || is_long(brace, s))) {
        x->batch.n_events--;
        x->batch.n_args = n_args;
        ps_stretch_forget(x);
        return PS_JSON_BAD;
    }
    *behind = s;
    return status;
}

/* Looks for the next event or the end of the array from `at` on. PS_JSON_MORE leaves `at` where to look again. */
static ps_json_status resync(ps_stretch *x, bool *is_end) {
    *is_end = false;
    for (const char *p = x->at; p < x->end; p++) {
        if (*p != ',' && *p != ']') {
            continue;
        }
        const char *behind = p + 1;
        bool is_bracket = *p == ']';
        ps_json_status status =
            is_bracket ? ps_stretch_look_behind(x, p) : try_event(x, p, &behind);
        if (x->nomem) {
            return PS_JSON_OK;
        }
        if (status == PS_JSON_MORE && !x->at_eof && !is_long(p, x->end)) {
            x->at = p;
            return PS_JSON_MORE;
        }
        if (status == PS_JSON_OK) {
            x->at = behind;
            *is_end = is_bracket;
            return PS_JSON_OK;
        }
    }
    x->at = x->end;
    return PS_JSON_MORE;
}

/* An element that nests deeper than is kept is left out whole, and the others stay. */
static ps_json_status leave_deep(ps_stretch *x) {
    const char *p = x->at;
    ps_json_status status = ps_json_skip_value(&p, x->end, -(int)PS_EVENT_MAX_BYTES);
    if (status == PS_JSON_OK) {
        odd_now(x, PS_ODD_DEEP, x->at);
        x->at = p;
    } else if (status == PS_JSON_BAD) {
        odd_now(x, PS_ODD_JSON, p);
        x->at++;
    }
    return status;
}

/* An element at `at`, behind white space. */
static ps_json_status take_element(ps_stretch *x) {
    const char *p = x->at;
    if (*p == '{') {
        ps_json_status status = take_stretch_event(x, &p);
        if (status == PS_JSON_OK && !x->nomem) {
            ps_stretch_commit(x);
            x->at = p;
        } else if (status == PS_JSON_BAD) {
            odd_now(x, PS_ODD_JSON, p);
            x->at++;
        }
        return status == PS_JSON_DEEP ? leave_deep(x) : status;
    }
    ps_json_status status = ps_json_skip_value(&p, x->end, 0);
    if (status == PS_JSON_OK) {
        odd_now(x, PS_ODD_EVENT_FIELD, x->at);
        x->at = p;
    } else if (status == PS_JSON_BAD) {
        odd_now(x, PS_ODD_JSON, x->at);
    }
    return status == PS_JSON_DEEP ? leave_deep(x) : status;
}

/* What may stand between elements; true when `at` is at an element or the end of the stretch. */
static bool stretch_between(ps_stretch *x, bool *is_end) {
    char c = *x->at;
    *is_end = c == ']';
    if (c == ']') {
        if (x->expect == PS_EXPECT_ELEMENT) {
            odd_now(x, PS_ODD_COMMA, x->at);
        }
        x->at++;
        return false;
    }
    if (c == ',') {
        if (x->expect != PS_EXPECT_COMMA) {
            odd_now(x, PS_ODD_JSON, x->at);
        }
        x->expect = PS_EXPECT_ELEMENT;
        x->at++;
        return false;
    }
    if (x->expect == PS_EXPECT_COMMA) {
        odd_now(x, PS_ODD_JSON, x->at);
        x->expect = c == '{' ? PS_EXPECT_ELEMENT : PS_EXPECT_RESYNC;
        return c == '{';
    }
    return true;
}

/* One turn where the place in the array is known. */
static ps_stretch_end step_stretch(ps_stretch *x, bool *go_on) {
    bool is_end = false;
    *go_on = false;
    x->at = ps_json_skip_space(x->at, x->end);
    if (x->at == x->end) {
        return PS_STRETCH_CUT;
    }
    if (!stretch_between(x, &is_end)) {
        *go_on = !is_end;
        return is_end ? PS_STRETCH_ARRAY_END : PS_STRETCH_CUT;
    }
    if (x->is_first && !x->is_object && *x->at != '{') {
        return PS_STRETCH_NO_EVENTS;
    }
    const char *from = x->at;
    size_t n_before = x->batch.n_events;
    ps_json_status status = take_element(x);
    if (status != PS_JSON_BAD && is_long(from, status == PS_JSON_OK ? x->at : x->end)) {
        x->batch.n_events = n_before;
        x->at = from;
        return PS_STRETCH_LONG;
    }
    if (status == PS_JSON_MORE) {
        return PS_STRETCH_CUT;
    }
    x->expect = status == PS_JSON_BAD ? PS_EXPECT_RESYNC : PS_EXPECT_COMMA;
    x->is_first = false;
    *go_on = true;
    return PS_STRETCH_CUT;
}

ps_stretch_end ps_stretch_run(ps_stretch *x) {
    ps_stretch_fast *fast = x->shapes != NULL ? x->fast : NULL;
    x->batch.number = x->shapes != NULL ? ps_shapes_next_batch(x->shapes) : 0;
    for (;;) {
        bool go_on = false;
        bool is_end = false;
        ps_stretch_end end = PS_STRETCH_CUT;
        if (x->expect != PS_EXPECT_RESYNC && fast != NULL) {
            fast(x);
        }
        if (x->nomem) {
            return PS_STRETCH_NOMEM;
        }
        if (x->expect == PS_EXPECT_RESYNC) {
            go_on = resync(x, &is_end) == PS_JSON_OK && !is_end;
            end = is_end ? PS_STRETCH_ARRAY_END : PS_STRETCH_CUT;
            x->expect = go_on ? PS_EXPECT_COMMA : PS_EXPECT_RESYNC;
            if (go_on && !x->nomem) {
                ps_stretch_commit(x);
            }
        } else {
            end = step_stretch(x, &go_on);
            x->lost_offset = offset_of(x, x->at);
            x->n_looked = 0;
        }
        if (x->nomem || !go_on) {
            return x->nomem ? PS_STRETCH_NOMEM : end;
        }
    }
}
