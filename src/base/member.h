/* Members of a struct as data: what type they have and where they lie. Tables are filled and arrays are sorted by such
 * descriptions (model/table.h, base/sort.h). */
#ifndef PS_BASE_MEMBER_H
#define PS_BASE_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ps_member_type {
    PS_MEMBER_NONE,
    PS_MEMBER_BOOL,
    PS_MEMBER_I32,
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
        uint16_t: PS_MEMBER_U16,                                                                   \
        uint32_t: PS_MEMBER_U32,                                                                   \
        int64_t: PS_MEMBER_I64,                                                                    \
        uint64_t: PS_MEMBER_U64,                                                                   \
        double: PS_MEMBER_F64,                                                                     \
        const char *: PS_MEMBER_TEXT,                                                              \
        char *: PS_MEMBER_CHARS)

/* Integers of any size; those above INT64_MAX are not met. */
int64_t ps_member_int(const void *from, ps_member m);
/* Also of an integer. */
double ps_member_real(const void *from, ps_member m);
/* Of TEXT and CHARS. */
const char *ps_member_text(const void *from, ps_member m);

#endif
