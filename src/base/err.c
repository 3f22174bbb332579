/* Fixed-size error values: nothing here allocates, so that PS_NOMEM can be reported too. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *ps_code_text(ps_code code) {
    switch (code) {
#define X(name, text)                                                                              \
    case name:                                                                                     \
        return text;
        PS_CODES(X)
#undef X
    }
    return "unknown error";
}

/* There are two functions of this name: GNU's returns the text, that of POSIX (musl has no other) a status. */
const char *ps_errno_text(int error, char *text, size_t size) {
#if defined(__GLIBC__)
    return strerror_r(error, text, size);
#else
    if (strerror_r(error, text, size) != 0) {
        (void)snprintf(text, size, "error %d", error);
    }
    return text;
#endif
}

/* The end of a path says more than its beginning. */
static void copy_file_name(char *out, size_t size, const char *file) {
    size_t n = strlen(file);
    if (n < size) {
        memcpy(out, file, n + 1);
        return;
    }
    memcpy(out, "...", 3);
    memcpy(out + 3, file + n - (size - 4), size - 4);
    out[size - 1] = '\0';
    size_t piece = 0; /* of the character that is cut: a byte that begins none */
    while (((unsigned char)out[3 + piece] & 0xC0) == 0x80) {
        piece++;
    }
    memmove(out + 3, out + 3 + piece, size - 3 - piece);
}

static ps_code fail_va(ps_err *err, ps_code code, const char *file, const char *fmt, va_list ap) {
    if (err == NULL) {
        return code;
    }
    char msg[sizeof err->msg]; /* arguments may point into err */
    (void)vsnprintf(msg, sizeof msg, fmt, ap);
    ps_utf8_drop_pieces(msg);
    char name[sizeof err->file] = "";
    if (file != NULL) {
        copy_file_name(name, sizeof name, file);
    }
    *err = (ps_err){.code = code, .offset = PS_NO_OFFSET};
    memcpy(err->msg, msg, sizeof msg);
    memcpy(err->file, name, sizeof name);
    return code;
}

ps_code ps_fail(ps_err *err, ps_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_va(err, code, NULL, fmt, ap);
    va_end(ap);
    return code;
}

ps_code ps_fail_file(ps_err *err, ps_code code, const char *file, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_va(err, code, file, fmt, ap);
    va_end(ap);
    return code;
}

ps_code ps_fail_nomem(ps_err *err) {
    return ps_fail(err, PS_NOMEM, "out of memory");
}

void ps_err_prefix(ps_err *err, const char *fmt, ...) {
    if (err == NULL) {
        return;
    }
    char prefix[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    char old[sizeof err->msg];
    memcpy(old, err->msg, sizeof old);
    size_t n = strlen(prefix);
    size_t room = sizeof err->msg - 1;
    if (n + 2 > room) {
        n = room - 2;
    }
    memcpy(err->msg, prefix, n);
    memcpy(err->msg + n, ": ", 2);
    size_t rest = strlen(old);
    if (rest > room - n - 2) {
        rest = room - n - 2;
    }
    memcpy(err->msg + n + 2, old, rest);
    err->msg[n + 2 + rest] = '\0';
}

void ps_err_format(const ps_err *err, char *out, size_t size) {
    char place[64] = "";
    if (err->line > 0 && err->offset != PS_NO_OFFSET) {
        (void)snprintf(place, sizeof place, ":%u (byte %llu)", (unsigned)err->line,
                       (unsigned long long)err->offset);
    } else if (err->line > 0) {
        (void)snprintf(place, sizeof place, ":%u", (unsigned)err->line);
    } else if (err->offset != PS_NO_OFFSET) {
        (void)snprintf(place, sizeof place, " (byte %llu)", (unsigned long long)err->offset);
    }
    const char *msg = err->msg[0] != '\0' ? err->msg : ps_code_text(err->code);
    if (err->file[0] != '\0') {
        (void)snprintf(out, size, "%s%s: %s", err->file, place, msg);
    } else {
        (void)snprintf(out, size, "%s", msg);
    }
}
