/* The kind is the whole run of letters between two numbers, so that RESHARD is not taken for R..., nor BW for B. */
#include "schedule/action.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    ps_op_kind op;
    bool has_microbatch;
} KINDS[] = {
#define X(kind, text, op, has_microbatch) {text, op, has_microbatch},
    PS_ACTION_KINDS(X)
#undef X
};

static const char OVERLAP[] = "OVERLAP_F_B";

ps_op_kind ps_action_op(ps_action_kind kind) {
    return KINDS[kind].op;
}

ps_action_kind ps_action_kind_of(ps_op_kind kind) {
    return kind == PS_OP_F    ? PS_ACTION_F
           : kind == PS_OP_BI ? PS_ACTION_I
           : kind == PS_OP_BW ? PS_ACTION_W
                              : PS_ACTION_B;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct span {
    const char *s, *end;
} span;

static span trim_action(span t) {
    while (t.s < t.end && (*t.s == ' ' || *t.s == '\t')) {
        t.s++;
    }
    while (t.s < t.end && (t.end[-1] == ' ' || t.end[-1] == '\t')) {
        t.end--;
    }
    return t;
}

/* Digits, of which there must be one; at most 9, which is far above any limit. */
static bool take_action_number(span *t, int32_t *out) {
    const char *begin = t->s;
    int32_t value = 0;
    while (t->s < t->end && *t->s >= '0' && *t->s <= '9' && t->s - begin < 9) {
        value = 10 * value + (*t->s++ - '0');
    }
    *out = value;
    return t->s > begin;
}

static bool take_kind(span *t, ps_action_kind *out) {
    const char *begin = t->s;
    while (t->s < t->end && ((*t->s >= 'A' && *t->s <= 'Z') || *t->s == '_')) {
        t->s++;
    }
    size_t n = (size_t)(t->s - begin);
    for (int kind = 0; kind < PS_N_ACTION_KINDS; kind++) {
        if (strlen(KINDS[kind].text) == n && memcmp(KINDS[kind].text, begin, n) == 0) {
            *out = (ps_action_kind)kind;
            return true;
        }
    }
    return false;
}

static bool read_part(span t, ps_action_part *out) {
    t = trim_action(t);
    out->microbatch = -1;
    if (!take_action_number(&t, &out->stage) || !take_kind(&t, &out->kind)) {
        return false;
    }
    bool has_number = t.s < t.end && take_action_number(&t, &out->microbatch);
    return t.s == t.end && has_number == KINDS[out->kind].has_microbatch;
}

/* "( part ; part ) OVERLAP_F_B" behind the parenthesis. */
static bool read_overlap(span t, ps_action *out) {
    const char *close = memchr(t.s, ')', (size_t)(t.end - t.s));
    if (close == NULL) {
        return false;
    }
    span kind = trim_action((span){close + 1, t.end});
    if ((size_t)(kind.end - kind.s) != strlen(OVERLAP) ||
        memcmp(kind.s, OVERLAP, strlen(OVERLAP)) != 0) {
        return false;
    }
    const char *begin = t.s;
    bool last = false;
    while (!last) {
        const char *semicolon = memchr(begin, ';', (size_t)(close - begin));
        last = semicolon == NULL;
        const char *end = last ? close : semicolon;
        if (out->n_parts == PS_ACTION_MAX_PARTS ||
            !read_part((span){begin, end}, &out->parts[out->n_parts++])) {
            return false;
        }
        begin = last ? close : semicolon + 1;
    }
    return out->n_parts > 1;
}

bool ps_action_parse(const char *s, size_t n, ps_action *out) {
    *out = (ps_action){0};
    span t = trim_action((span){s, s + n});
    if (t.s < t.end && *t.s == '(') {
        t.s++;
        return read_overlap(t, out);
    }
    out->n_parts = 1;
    return read_part(t, &out->parts[0]);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static size_t add_action_part(const ps_action_part *part, char *out, size_t size) {
    int n = KINDS[part->kind].has_microbatch
                ? snprintf(out, size, "%d%s%d", (int)part->stage, KINDS[part->kind].text,
                           (int)part->microbatch)
                : snprintf(out, size, "%d%s", (int)part->stage, KINDS[part->kind].text);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static size_t add_action_text(const char *text, char *out, size_t size) {
    int n = snprintf(out, size, "%s", text);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

void ps_action_text(const ps_action *action, char *out, size_t size) {
    if (action->n_parts == 1) {
        (void)add_action_part(&action->parts[0], out, size);
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i < action->n_parts; i++) {
        at += add_action_text(i == 0 ? "(" : ";", out + at, size - at);
        at += add_action_part(&action->parts[i], out + at, size - at);
    }
    at += add_action_text(")", out + at, size - at);
    (void)add_action_text(OVERLAP, out + at, size - at);
}
