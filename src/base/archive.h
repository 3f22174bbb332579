/* Values that travel as bytes: from one process to another, or into a file for a later run. One function a type visits its members,
 * and that function writes, reads and tells the shape, so that the ways cannot diverge:
 *
 *     typedef struct late_row { int64_t rank; const char *group; double late_us; } late_row;
 *     typedef struct late { ps_arena arena; late_row *rows; size_t n; } late;
 *
 *     static void late_row_archive(ps_archive *a, void *p) {
 *         late_row *x = p;
 *         PS_ARCHIVE(a, x, rank, group, late_us);
 *     }
 *     static void late_archive(ps_archive *a, void **p) {
 *         late *x = ps_archive_object(a, p, sizeof *x);
 *         if (x != NULL) {
 *             ps_archive_use_arena(a, &x->arena);
 *             PS_ARCHIVE_ARRAY(a, x, rows, n, late_row_archive);
 *         }
 *     }
 *
 * Bytes: integers in groups of seven bits, the lowest first, those with a sign folded (0, -1, 1, -2 ...); reals as their 64 bits, the
 * lowest byte first. A text is its number, in the order in which texts are met, and its bytes the first time. Equal values give equal bytes,
 * wherever they were made: ids of interned texts and addresses never travel.
 *
 * Before them stand a word that tells what it is, a checksum of all that follows, the shape (a hash of the names and kinds of
 * all members, in the order in which they are visited) and the length. What another version of a type wrote is refused, and so is what
 * was cut or changed. Whoever makes a checksum that fits gets no more than values that make no sense: nothing is read beyond the
 * end, and no more is allocated than the bytes that are left can fill.
 *
 * The first failure sticks: later visits do nothing and leave what they would have read zero, so that whoever owns a value can free
 * it as ever. */
#ifndef PS_BASE_ARCHIVE_H
#define PS_BASE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strpool.h"

typedef struct ps_archive ps_archive;
/* Of the members of a struct that is there. */
typedef void ps_archive_visit(ps_archive *a, void *struct_at);
/* Of a value behind a pointer, which may be NULL. Read values belong to the caller, also after a failure. */
typedef void ps_archive_value(ps_archive *a, void **value);

/* Appends the bytes of a value. PS_NOMEM only. */
PS_MUST_USE ps_code ps_archive_write(ps_archive_visit *visit, void *x, ps_buf *out, ps_err *err);
/* Reads them into a zeroed struct. PS_UNSUPPORTED for another shape, PS_SYNTAX for what is cut or changed, PS_NOMEM. */
PS_MUST_USE ps_code ps_archive_read(ps_archive_visit *visit, void *x, const void *bytes, size_t n,
                                    ps_err *err);
/* The same for what has no checksum and no shape before it: what a fuzzer makes up. */
PS_MUST_USE ps_code ps_archive_read_bare(ps_archive_visit *visit, void *x, const void *bytes,
                                         size_t n, ps_err *err);
/* Of a value behind a pointer. */
PS_MUST_USE ps_code ps_archive_write_value(ps_archive_value *visit, void *value, ps_buf *out,
                                           ps_err *err);
PS_MUST_USE ps_code ps_archive_read_value(ps_archive_value *visit, void **value, const void *bytes,
                                          size_t n, ps_err *err);
PS_MUST_USE ps_code ps_archive_read_bare_value(ps_archive_value *visit, void **value,
                                               const void *bytes, size_t n, ps_err *err);
#define PS_ARCHIVE_HEADER_BYTES 32
/* Of several archives behind one another: how many bytes the first one has; `n` when they are fewer, or it is none. */
size_t ps_archive_first(const void *bytes, size_t n);

/* --- for those who visit ----------------------------------------------------------------------------------------------- */

bool ps_archive_is_reading(const ps_archive *a);
bool ps_archive_is_writing(const ps_archive *a);
/* A value that was read makes no sense. */
void ps_archive_refuse(ps_archive *a, const char *field);
void ps_archive_nomem(ps_archive *a);
bool ps_archive_ok(const ps_archive *a);

/* Members of basic types, texts (const char *, which may be NULL), char[] that hold a text, ids of texts. Up to 32 of them. */
#define PS_ARCHIVE(a, x, ...) PS_ARCHIVE_PICK(__VA_ARGS__, PS_ARCHIVE_LISTS)(a, x, __VA_ARGS__)
/* A basic member that is an array of known length. */
#define PS_ARCHIVE_EACH(a, x, member)                                                              \
    do {                                                                                           \
        for (size_t each_ = 0; each_ < sizeof(x)->member / sizeof *(x)->member; each_++) {         \
            ps_archive_member((a), PS_ARCHIVE_KIND((x)->member[each_]), #member,                   \
                              &(x)->member[each_], sizeof *(x)->member);                           \
        }                                                                                          \
    } while (0)
/* An enum, or a number, below `end`. */
#define PS_ARCHIVE_BELOW(a, x, member, end)                                                        \
    do {                                                                                           \
        PS_ARCHIVE_ONE(a, x, member);                                                              \
        if (ps_archive_is_reading(a) && (uint64_t)(x)->member >= (uint64_t)(end)) {                \
            (x)->member = 0;                                                                       \
            ps_archive_refuse((a), #member);                                                       \
        }                                                                                          \
    } while (0)

/* An array behind a pointer, of (x)->count structs: allocated when it is read, with ps_free() for who owns it. NULL stays NULL. */
#define PS_ARCHIVE_ARRAY(a, x, member, count, visit)                                               \
    ps_archive_array((a), #member, &(x)->member, &(x)->count, sizeof *(x)->member, (visit))
/* The same with as many as something else says. */
#define PS_ARCHIVE_ARRAY_OF(a, x, member, n, visit)                                                \
    ps_archive_array_of((a), #member, &(x)->member, (n), sizeof *(x)->member, (visit))
/* The same in the arena that is used. */
#define PS_ARCHIVE_IN_ARENA(a, x, member, count, visit)                                            \
    ps_archive_in_arena((a), #member, &(x)->member, &(x)->count, sizeof *(x)->member, (visit))

void ps_archive_array(ps_archive *a, const char *name, void *array_at, size_t *n, size_t size_bytes,
                      ps_archive_visit *visit);
void ps_archive_array_of(ps_archive *a, const char *name, void *array_at, size_t n,
                         size_t size_bytes, ps_archive_visit *visit);
void ps_archive_in_arena(ps_archive *a, const char *name, void *array_at, size_t *n,
                         size_t size_bytes, ps_archive_visit *visit);
/* An error, in both languages. */
void ps_err_archive(ps_archive *a, ps_err *err);
/* Elements of arrays that are no structs. */
ps_archive_visit ps_archive_i64, ps_archive_u32, ps_archive_u8, ps_archive_text;

/* A struct that a pointer owns: what is written, or what was read, zeroed and allocated, for its members to be visited; NULL where there
 * is none, or nothing goes on. */
void *ps_archive_object(ps_archive *a, void **at, size_t size_bytes);
/* The same in the arena that is used. */
void *ps_archive_object_in_arena(ps_archive *a, void **at, size_t size_bytes);
/* The same for one that several pointers share: the members are visited where it is met first (*is_first). The caller counts who
 * shares it. */
void *ps_archive_shared(ps_archive *a, void **at, size_t size_bytes, bool *is_first);

/* From here on texts that are read go into this arena; the one before it is returned. */
ps_arena *ps_archive_use_arena(ps_archive *a, ps_arena *arena);
/* From here on ids of texts are of this pool, which is made where a value is read; the one before it is returned. */
ps_strpool *ps_archive_use_pool(ps_archive *a, ps_strpool *pool);
/* The same for a pool that somebody else has, whose texts are all there: a text that is none of them is refused. */
ps_strpool *ps_archive_use_known_pool(ps_archive *a, ps_strpool *pool);

typedef enum ps_archive_kind {
    PS_ARCHIVE_BOOL,
    PS_ARCHIVE_INT,
    PS_ARCHIVE_UNSIGNED,
    PS_ARCHIVE_REAL,
    PS_ARCHIVE_TEXT,
    PS_ARCHIVE_CHARS,
    PS_ARCHIVE_ID
} ps_archive_kind;

void ps_archive_member(ps_archive *a, ps_archive_kind kind, const char *name, void *at,
                       size_t size_bytes);

/* Does not compile for pointers to other things. */
#define PS_ARCHIVE_KIND(value)                                                                     \
    _Generic((value),                                                                              \
        bool: PS_ARCHIVE_BOOL,                                                                     \
        signed char: PS_ARCHIVE_INT,                                                               \
        short: PS_ARCHIVE_INT,                                                                     \
        int: PS_ARCHIVE_INT,                                                                       \
        long: PS_ARCHIVE_INT,                                                                      \
        long long: PS_ARCHIVE_INT,                                                                 \
        unsigned char: PS_ARCHIVE_UNSIGNED,                                                        \
        unsigned short: PS_ARCHIVE_UNSIGNED,                                                       \
        unsigned: PS_ARCHIVE_UNSIGNED,                                                             \
        unsigned long: PS_ARCHIVE_UNSIGNED,                                                        \
        unsigned long long: PS_ARCHIVE_UNSIGNED,                                                   \
        double: PS_ARCHIVE_REAL,                                                                   \
        const char *: PS_ARCHIVE_TEXT,                                                             \
        char *: PS_ARCHIVE_CHARS,                                                                  \
        ps_str: PS_ARCHIVE_ID)
#define PS_ARCHIVE_ONE(a, x, member)                                                               \
    ps_archive_member((a), PS_ARCHIVE_KIND((x)->member), #member, &(x)->member, sizeof(x)->member)

#define PS_ARCHIVE_1(a, x, m) PS_ARCHIVE_ONE(a, x, m)
#define PS_ARCHIVE_2(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_1(a, x, __VA_ARGS__))
#define PS_ARCHIVE_3(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_2(a, x, __VA_ARGS__))
#define PS_ARCHIVE_4(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_3(a, x, __VA_ARGS__))
#define PS_ARCHIVE_5(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_4(a, x, __VA_ARGS__))
#define PS_ARCHIVE_6(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_5(a, x, __VA_ARGS__))
#define PS_ARCHIVE_7(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_6(a, x, __VA_ARGS__))
#define PS_ARCHIVE_8(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_7(a, x, __VA_ARGS__))
#define PS_ARCHIVE_9(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_8(a, x, __VA_ARGS__))
#define PS_ARCHIVE_10(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_9(a, x, __VA_ARGS__))
#define PS_ARCHIVE_11(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_10(a, x, __VA_ARGS__))
#define PS_ARCHIVE_12(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_11(a, x, __VA_ARGS__))
#define PS_ARCHIVE_13(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_12(a, x, __VA_ARGS__))
#define PS_ARCHIVE_14(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_13(a, x, __VA_ARGS__))
#define PS_ARCHIVE_15(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_14(a, x, __VA_ARGS__))
#define PS_ARCHIVE_16(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_15(a, x, __VA_ARGS__))
#define PS_ARCHIVE_17(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_16(a, x, __VA_ARGS__))
#define PS_ARCHIVE_18(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_17(a, x, __VA_ARGS__))
#define PS_ARCHIVE_19(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_18(a, x, __VA_ARGS__))
#define PS_ARCHIVE_20(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_19(a, x, __VA_ARGS__))
#define PS_ARCHIVE_21(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_20(a, x, __VA_ARGS__))
#define PS_ARCHIVE_22(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_21(a, x, __VA_ARGS__))
#define PS_ARCHIVE_23(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_22(a, x, __VA_ARGS__))
#define PS_ARCHIVE_24(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_23(a, x, __VA_ARGS__))
#define PS_ARCHIVE_25(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_24(a, x, __VA_ARGS__))
#define PS_ARCHIVE_26(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_25(a, x, __VA_ARGS__))
#define PS_ARCHIVE_27(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_26(a, x, __VA_ARGS__))
#define PS_ARCHIVE_28(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_27(a, x, __VA_ARGS__))
#define PS_ARCHIVE_29(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_28(a, x, __VA_ARGS__))
#define PS_ARCHIVE_30(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_29(a, x, __VA_ARGS__))
#define PS_ARCHIVE_31(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_30(a, x, __VA_ARGS__))
#define PS_ARCHIVE_32(a, x, m, ...) (PS_ARCHIVE_ONE(a, x, m), PS_ARCHIVE_31(a, x, __VA_ARGS__))
#define PS_ARCHIVE_LISTS                                                                           \
    PS_ARCHIVE_32, PS_ARCHIVE_31, PS_ARCHIVE_30, PS_ARCHIVE_29, PS_ARCHIVE_28, PS_ARCHIVE_27,      \
        PS_ARCHIVE_26, PS_ARCHIVE_25, PS_ARCHIVE_24, PS_ARCHIVE_23, PS_ARCHIVE_22, PS_ARCHIVE_21,  \
        PS_ARCHIVE_20, PS_ARCHIVE_19, PS_ARCHIVE_18, PS_ARCHIVE_17, PS_ARCHIVE_16, PS_ARCHIVE_15,  \
        PS_ARCHIVE_14, PS_ARCHIVE_13, PS_ARCHIVE_12, PS_ARCHIVE_11, PS_ARCHIVE_10, PS_ARCHIVE_9,   \
        PS_ARCHIVE_8, PS_ARCHIVE_7, PS_ARCHIVE_6, PS_ARCHIVE_5, PS_ARCHIVE_4, PS_ARCHIVE_3,        \
        PS_ARCHIVE_2, PS_ARCHIVE_1
#define PS_ARCHIVE_PICK(...) PS_ARCHIVE_NTH(__VA_ARGS__, 0)
#define PS_ARCHIVE_NTH(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, \
                       m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32,  \
                       macro, ...)                                                                 \
    macro

#endif
