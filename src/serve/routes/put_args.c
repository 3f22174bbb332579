#include "serve/routes/put_args.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/num.h"
#include "write/out/number_text.h"

/* Significant digits that every double keeps. */
#define EXACT_DIGITS 15

static void put_real(ps_json *j, double value) {
    char text[PS_NUMBER_TEXT];
    ps_real_shortest(value, text);
    if (isfinite(value) != 0) {
        ps_json_raw(j, text, strlen(text));
    } else {
        ps_json_str(j, text);
    }
}

/* A number that was kept as text: as a number where that loses nothing. */
static void put_arg_number(ps_json *j, const char *s, size_t n) {
    int64_t value = 0;
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        digits += s[i] >= '0' && s[i] <= '9';
    }
    if (ps_parse_i64(s, n, &value) && ps_json_is_number(s, n)) {
        ps_json_int_exact(j, value);
    } else if (digits <= EXACT_DIGITS && ps_json_is_number(s, n)) {
        ps_json_raw(j, s, n);
    } else {
        ps_json_str_n(j, s, n);
    }
}

static void put_arg_value(ps_json *j, const ps_trace *t, const ps_arg *arg) {
    switch (arg->type) {
    case PS_ARG_INT:
        ps_json_int_exact(j, arg->u.i);
        return;
    case PS_ARG_TIME:
        ps_json_int_exact(j, ps_i64_plus(arg->u.i, ps_trace_origin_ns(t)));
        return;
    case PS_ARG_REAL:
        put_real(j, arg->u.r);
        return;
    case PS_ARG_BOOL:
        ps_json_bool(j, arg->u.i != 0);
        return;
    case PS_ARG_NULL:
        ps_json_null(j);
        return;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        break;
    }
    const char *text = ps_trace_text(t, arg->u.s);
    size_t n = ps_trace_text_len(t, arg->u.s);
    if (arg->type == PS_ARG_NUMBER) {
        put_arg_number(j, text, n);
    } else if (arg->type == PS_ARG_JSON && ps_json_is_value(text, n, 0)) {
        ps_json_raw(j, text, n);
    } else {
        ps_json_str_n(j, text, n);
    }
}

void ps_put_args(ps_json *j, const ps_trace *trace, uint32_t slice) {
    ps_json_array(j);
    ps_arg_iter iter = ps_trace_args(trace, slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        ps_json_array(j);
        ps_json_str_n(j, ps_trace_text(trace, arg.key), ps_trace_text_len(trace, arg.key));
        put_arg_value(j, trace, &arg);
        ps_json_close(j);
    }
    ps_json_close(j);
}

/* --- call stacks ---------------------------------------------------------------------------------------------- */

/* "callStack", "Call stack", "call_stack", "stack". */
static bool is_stack_key(const char *key) {
    static const char *const NAMES[] = {"callstack", "stack", "pythonstack", "stacktrace"};
    char plain[16];
    size_t n = 0;
    for (; *key != '\0' && n < sizeof plain - 1; key++) {
        if (*key != ' ' && *key != '_') {
            plain[n++] = *key;
        }
    }
    plain[n] = '\0';
    for (size_t i = 0; *key == '\0' && i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcasecmp(plain, NAMES[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Frames are parted by ";" and line ends. */
static size_t put_frames(ps_json *j, const char *s, size_t n) {
    size_t n_frames = 0;
    for (size_t at = 0; at < n;) {
        size_t len = 0;
        while (at + len < n && s[at + len] != ';' && s[at + len] != '\n' && s[at + len] != '\r') {
            len++;
        }
        size_t skip = 0;
        while (skip < len && s[at + skip] == ' ') {
            skip++;
        }
        if (len > skip) {
            if (n_frames++ == 0) {
                ps_json_array(j);
            }
            ps_json_str_n(j, s + at + skip, len - skip);
        }
        at += len + 1;
    }
    return n_frames;
}

size_t ps_put_stack_arg(ps_json *j, const ps_trace *trace, uint32_t slice) {
    ps_arg_iter iter = ps_trace_args(trace, slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        if (arg.type == PS_ARG_STR && is_stack_key(ps_trace_text(trace, arg.key))) {
            size_t n =
                put_frames(j, ps_trace_text(trace, arg.u.s), ps_trace_text_len(trace, arg.u.s));
            if (n > 0) {
                ps_json_close(j);
                return n;
            }
        }
    }
    return 0;
}
