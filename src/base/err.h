/* Errors: the call could not do its job. One struct, passed last, filled without allocation.
 *
 * Two shapes only: a function returns ps_code (must be looked at), or a pointer with NULL for failure.
 * `err` may be NULL everywhere; the code is returned all the same. The library never prints and never
 * exits: only src/cli turns a ps_err into a line and an exit status. */
#ifndef PS_BASE_ERR_H
#define PS_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

#include "base/lang.h"

#define PS_MUST_USE __attribute__((warn_unused_result))
#define PS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PS_NO_OFFSET UINT64_MAX

/* name, text for people, the same in Chinese */
#define PS_CODES(X)                                                                                \
    X(PS_OK, "ok", "正常")                                                                         \
    X(PS_NOMEM, "out of memory", "内存不足")                                                       \
    X(PS_IO, "input or output failed", "输入输出失败")                                             \
    X(PS_NOT_FOUND, "not found", "未找到")                                                         \
    X(PS_SYNTAX, "malformed input", "格式错误")                                                    \
    X(PS_UNSUPPORTED, "not supported", "不支持")                                                   \
    X(PS_RANGE, "value out of range", "值超出范围")                                                \
    X(PS_USAGE, "wrong usage", "用法错误")                                                         \
    X(PS_NOTHING, "nothing to analyse", "没有可分析的内容")                                        \
    X(PS_READONLY, "target is read-only", "目标只读")                                              \
    X(PS_BUSY, "in use by another program", "正被其他程序使用")                                    \
    X(PS_CHANGED, "changed while it was read", "读取期间发生变化")                                 \
    X(PS_INTERNAL, "internal error", "内部错误")                                                   \
    X(PS_NO_ROOM, "no room left on the disk", "磁盘空间不足")

typedef enum ps_code {
#define X(name, ...) name,
    PS_CODES(X)
#undef X
} ps_code;

typedef struct ps_err {
    ps_code code;
    uint32_t line;   /* 1-based, 0 when the input has no lines */
    uint64_t offset; /* byte in `file`, PS_NO_OFFSET when unknown */
    char file[256];  /* shortened from the left; empty when no file is concerned */
    char msg[512];
    char chinese
        [512]; /* the same; "" where it is said in English alone, or in the language of a run */
} ps_err;

/* An empty error, for initialising. */
#define PS_ERR_INIT ((ps_err){.offset = PS_NO_OFFSET})

/* Text of a code ("out of memory"); never NULL. */
const char *ps_code_text(ps_lang lang, ps_code code);

/* Text of an errno for people; in `text` (128 bytes hold all that are known) or static, never NULL. */
const char *ps_errno_text(int error, char *text, size_t size);

/* Fills `err` (when given) and returns `code`, so that call sites read `return ps_fail(...)`. Forgets
 * any earlier content of `err`. */
ps_code ps_fail(ps_err *err, ps_code code, const char *fmt, ...) PS_PRINTF(3, 4);

/* The same with the file concerned. */
ps_code ps_fail_file(ps_err *err, ps_code code, const char *file, const char *fmt, ...)
    PS_PRINTF(4, 5);

/* The same, said in both languages. */
ps_code ps_fail_said(ps_err *err, ps_code code, const char *english, const char *chinese, ...)
    PS_PRINTF_SAID(3, 4, 5);
ps_code ps_fail_file_said(ps_err *err, ps_code code, const char *file, const char *english,
                          const char *chinese, ...) PS_PRINTF_SAID(4, 5, 6);

/* Adds to the message, as far as there is room: "; " and more of it. */
void ps_err_add_said(ps_err *err, const char *english, const char *chinese, ...)
    PS_PRINTF_SAID(2, 3, 4);

/* PS_NOMEM with the usual text. */
ps_code ps_fail_nomem(ps_err *err);

/* The message alone, without its place; borrows from `err`. */
const char *ps_err_text(ps_lang lang, const ps_err *err);

/* Puts "text: " before the message; each layer may do so once. */
void ps_err_prefix(ps_err *err, const char *fmt, ...) PS_PRINTF(2, 3);

/* Writes "<file>:<line> (byte N): <msg>" (the known parts) into `out`, always terminated. */
void ps_err_format(const ps_err *err, char *out, size_t size);

/* The same for who reads another language. What is said in English alone, because it is wrong with a file or the machine and manuals and
 * other users have those words, has the kind of the error in the reader's language before it. */
void ps_err_say(ps_lang lang, const ps_err *err, char *out, size_t size);

#endif
