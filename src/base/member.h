/* Members of a struct as data: what type they have and where they lie. Tables are filled and arrays are sorted by such
 * descriptions (model/table.h, base/sort.h). */
#ifndef PS_BASE_MEMBER_H
#define PS_BASE_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum ps_member_type {
    PS_MEMBER_NONE,
    PS_MEMBER_BOOL,
    PS_MEMBER_I32,
    PS_MEMBER_U8,
    PS_MEMBER_U16,
    PS_MEMBER_U32,
    PS_MEMBER_I64,
    PS_MEMBER_U64,
    PS_MEMBER_F64,
    PS_MEMBER_TEXT, /* const char *, which may be NULL */
    PS_MEMBER_CHARS /* char[]: a text that lies in the struct */
} ps_member_type;

typedef struct ps_member {
    ps_member_type type;
    uint32_t offset;
} ps_member;

/* The member of a struct, also of one inside it or of an array ("sum.calls[0]"). Does not compile for other types. */
#define PS_MEMBER(struct_type, name)                                                               \
    { .type = PS_MEMBER_TYPE(struct_type, name), .offset = offsetof(struct_type, name) }
#define PS_MEMBER_TYPE(struct_type, name)                                                          \
    _Generic(((struct_type *)0)->name,                                                             \
        bool: PS_MEMBER_BOOL,                                                                      \
        int32_t: PS_MEMBER_I32,                                                                    \
        uint8_t: PS_MEMBER_U8,                                                                     \
        uint16_t: PS_MEMBER_U16,                                                                   \
        uint32_t: PS_MEMBER_U32,                                                                   \
        int64_t: PS_MEMBER_I64,                                                                    \
        uint64_t: PS_MEMBER_U64,                                                                   \
        double: PS_MEMBER_F64,                                                                     \
        const char *: PS_MEMBER_TEXT,                                                              \
        char *: PS_MEMBER_CHARS)

/* Through memcpy: the struct is known by its bytes alone. */
#define PS_MEMBER_READ(c_type, name, from, m)                                                      \
    c_type name;                                                                                   \
    memcpy(&(name), (const char *)(from) + (m).offset, sizeof(name))

/* Integers of any size; those above INT64_MAX are not met. */
static inline int64_t ps_member_int(const void *from, ps_member m) {
    switch (m.type) {
    case PS_MEMBER_BOOL: {
        PS_MEMBER_READ(bool, value, from, m);
        return value;
    }
    case PS_MEMBER_I32: {
        PS_MEMBER_READ(int32_t, value, from, m);
        return value;
    }
    case PS_MEMBER_U8: {
        PS_MEMBER_READ(uint8_t, value, from, m);
        return value;
    }
    case PS_MEMBER_U16: {
        PS_MEMBER_READ(uint16_t, value, from, m);
        return value;
    }
    case PS_MEMBER_U32: {
        PS_MEMBER_READ(uint32_t, value, from, m);
        return value;
    }
    case PS_MEMBER_I64:
    case PS_MEMBER_U64: {
        PS_MEMBER_READ(int64_t, value, from, m);
        return value;
    }
    case PS_MEMBER_NONE:
    case PS_MEMBER_F64:
    case PS_MEMBER_TEXT:
    case PS_MEMBER_CHARS:
        break;
    }
    return 0;
}

/* Also of an integer. */
static inline double ps_member_real(const void *from, ps_member m) {
    if (m.type != PS_MEMBER_F64) {
        return (double)ps_member_int(from, m);
    }
    PS_MEMBER_READ(double, value, from, m);
    return value;
}

/* Of TEXT and CHARS. */
static inline const char *ps_member_text(const void *from, ps_member m) {
    if (m.type == PS_MEMBER_CHARS) {
        return (const char *)from + m.offset;
    }
    PS_MEMBER_READ(const char *, value, from, m);
    return value;
}

#endif
