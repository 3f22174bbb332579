#include "read/paddle/paddle_stamps.h"

#include <string.h>

#include "base/arena.h"
#include "base/literal.h"
#include "base/num.h"

#define LARGEST_NUMBER (INT64_C(1) << 31)

/* Digits of `text` from *at on; *at is behind them then. */
static bool take_stamp_number(const char *text, size_t *at, int64_t *out) {
    size_t n = strspn(text + *at, "0123456789");
    bool ok = n > 0 && n < 11 && ps_parse_i64(text + *at, n, out) && *out < LARGEST_NUMBER;
    *at += n;
    return ok;
}

/* "F0", "B3_VP1". */
static bool parse_stamp_name(const char *name, ps_paddle_stamp *out) {
    static const char CHUNK[] = "_VP";
    size_t at = 1;
    if (name == NULL || (name[0] != 'F' && name[0] != 'B') ||
        !take_stamp_number(name, &at, &out->microbatch)) {
        return false;
    }
    out->is_forward = name[0] == 'F';
    out->chunk = -1;
    if (strncmp(name + at, CHUNK, sizeof CHUNK - 1) == 0) {
        at += sizeof CHUNK - 1;
        if (!take_stamp_number(name, &at, &out->chunk)) {
            return false;
        }
    }
    return name[at] == '\0';
}

static bool parse_stamp(const ps_literal *doc, ps_paddle_stamp *out) {
    const char *category = ps_literal_str(ps_literal_get(doc, "cat"));
    const char *phase = ps_literal_str(ps_literal_get(doc, "ph"));
    int64_t at_ms = 0;
    if (category == NULL || phase == NULL || phase[0] == '\0' || phase[1] != '\0' ||
        (phase[0] != 'B' && phase[0] != 'E') ||
        (strcmp(category, "pipeline timeline") != 0 &&
         strcmp(category, "virtual pipeline timeline") != 0) ||
        !parse_stamp_name(ps_literal_str(ps_literal_get(doc, "name")), out) ||
        !ps_literal_int(ps_literal_get(doc, "ts"), &at_ms) || at_ms <= 0 ||
        at_ms > INT64_MAX / 1000000) {
        return false;
    }
    out->begins = phase[0] == 'B';
    out->at_us = at_ms * 1000;
    return true;
}

ps_paddle_line ps_paddle_stamp_parse(const char *line, size_t n, ps_paddle_stamp *out) {
    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' ')) {
        n--;
    }
    if (n == 0) {
        return PS_PADDLE_LINE_EMPTY;
    }
    if (line[0] != '{' || n > PS_PADDLE_STAMP_BYTES) {
        return PS_PADDLE_LINE_OTHER;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    const ps_literal *doc = ps_literal_parse(&arena, line, n, &odd);
    bool ok = doc != NULL && parse_stamp(doc, out);
    ps_arena_fini(&arena);
    return ok                     ? PS_PADDLE_LINE_STAMP
           : odd.code == PS_NOMEM ? PS_PADDLE_LINE_NOMEM
                                  : PS_PADDLE_LINE_OTHER;
}
