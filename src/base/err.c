/* Fixed-size error values: nothing here allocates, so that PS_NOMEM can be reported too. */
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *ps_code_text(ps_lang lang, ps_code code) {
    switch (code) {
#define X(name, english, chinese)                                                                  \
    case name:                                                                                     \
        return PS_SAY(lang, english, chinese);
        PS_CODES(X)
#undef X
    }
    return PS_SAY(lang, "unknown error", "未知错误");
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

/* The Chinese of what was said just now. `format` was held against the values with its English. */
static void say_chinese(ps_err *err, const char *format, va_list ap) {
    char text[sizeof err->chinese];
    (void)vsnprintf(text, sizeof text, format, ap);
    ps_utf8_drop_pieces(text);
    memcpy(err->chinese, text, sizeof text);
}

ps_code ps_fail_file_said(ps_err *err, ps_code code, const char *file, const char *english,
                          const char *chinese, ...) {
    if (err == NULL) {
        return code;
    }
    ps_err said = *err; /* values may point into err */
    va_list ap;
    va_start(ap, chinese);
    fail_va(&said, code, file, english, ap);
    va_end(ap);
    va_start(ap, chinese);
    say_chinese(&said, chinese, ap);
    va_end(ap);
    *err = said;
    return code;
}

ps_code ps_fail_said(ps_err *err, ps_code code, const char *english, const char *chinese, ...) {
    if (err == NULL) {
        return code;
    }
    ps_err said = *err;
    va_list ap;
    va_start(ap, chinese);
    fail_va(&said, code, NULL, english, ap);
    va_end(ap);
    va_start(ap, chinese);
    say_chinese(&said, chinese, ap);
    va_end(ap);
    *err = said;
    return code;
}

static void add_more(char *msg, size_t size, const char *between, const char *format, va_list ap) {
    size_t n = strlen(msg);
    (void)snprintf(msg + n, size - n, "%s", between);
    n = strlen(msg);
    (void)vsnprintf(msg + n, size - n, format, ap);
    ps_utf8_drop_pieces(msg);
}

void ps_err_add_said(ps_err *err, const char *english, const char *chinese, ...) {
    va_list ap;
    if (err->chinese[0] == '\0') {
        memcpy(err->chinese, err->msg, sizeof err->chinese);
    }
    va_start(ap, chinese);
    add_more(err->chinese, sizeof err->chinese, "；", chinese, ap);
    va_end(ap);
    va_start(ap, chinese);
    add_more(err->msg, sizeof err->msg, "; ", english, ap);
    va_end(ap);
}

ps_code ps_fail_nomem(ps_err *err) {
    return ps_fail_said(err, PS_NOMEM, "out of memory", "内存不足");
}

const char *ps_err_text(ps_lang lang, const ps_err *err) {
    return lang == PS_CHINESE && err->chinese[0] != '\0' ? err->chinese
           : err->msg[0] != '\0'                         ? err->msg
                                                         : ps_code_text(lang, err->code);
}

static void put_before(char msg[sizeof((ps_err *)0)->msg], const char *prefix) {
    char old[sizeof((ps_err *)0)->msg];
    memcpy(old, msg, sizeof old);
    size_t n = strlen(prefix);
    size_t room = sizeof old - 1;
    if (n + 2 > room) {
        n = room - 2;
    }
    memcpy(msg, prefix, n);
    memcpy(msg + n, ": ", 2);
    size_t rest = strlen(old);
    if (rest > room - n - 2) {
        rest = room - n - 2;
    }
    memcpy(msg + n + 2, old, rest);
    msg[n + 2 + rest] = '\0';
    ps_utf8_drop_pieces(msg);
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
    put_before(err->msg, prefix);
    if (err->chinese[0] != '\0') {
        put_before(err->chinese, prefix);
    }
}

/* Empty where no file is concerned. */
static void format_place(const ps_err *err, char *out, size_t size) {
    char place[64] = "";
    if (err->line > 0 && err->offset != PS_NO_OFFSET) {
        (void)snprintf(place, sizeof place, ":%u (byte %llu)", (unsigned)err->line,
                       (unsigned long long)err->offset);
    } else if (err->line > 0) {
        (void)snprintf(place, sizeof place, ":%u", (unsigned)err->line);
    } else if (err->offset != PS_NO_OFFSET) {
        (void)snprintf(place, sizeof place, " (byte %llu)", (unsigned long long)err->offset);
    }
    if (err->file[0] != '\0') {
        (void)snprintf(out, size, "%s%s: ", err->file, place);
    } else {
        out[0] = '\0';
    }
}

void ps_err_format(const ps_err *err, char *out, size_t size) {
    char place[sizeof err->file + 80];
    format_place(err, place, sizeof place);
    (void)snprintf(out, size, "%s%s", place, ps_err_text(PS_ENGLISH, err));
}

void ps_err_say(ps_lang lang, const ps_err *err, char *out, size_t size) {
    char place[sizeof err->file + 80];
    const char *text = ps_err_text(lang, err);
    const char *kind = ps_code_text(lang, err->code);
    bool is_of_run = err->code == PS_NOTHING || err->code == PS_USAGE || err->code == PS_BUSY;
    bool is_said = lang == PS_ENGLISH || err->chinese[0] != '\0' || text == kind || is_of_run;
    format_place(err, place, sizeof place);
    (void)snprintf(out, size, "%s%s%s%s", place, is_said ? "" : kind, is_said ? "" : "：", text);
}
