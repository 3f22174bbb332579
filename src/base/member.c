#include "base/member.h"

#include <string.h>

/* Through memcpy: the struct is known by its bytes alone. */
#define READ(c_type)                                                                               \
    c_type value;                                                                                  \
    memcpy(&value, at, sizeof value)

int64_t ps_member_int(const void *from, ps_member m) {
    const char *at = (const char *)from + m.offset;
    switch (m.type) {
    case PS_MEMBER_BOOL: {
        READ(bool);
        return value;
    }
    case PS_MEMBER_I32: {
        READ(int32_t);
        return value;
    }
    case PS_MEMBER_U16: {
        READ(uint16_t);
        return value;
    }
    case PS_MEMBER_U32: {
        READ(uint32_t);
        return value;
    }
    case PS_MEMBER_I64:
    case PS_MEMBER_U64: {
        READ(int64_t);
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

double ps_member_real(const void *from, ps_member m) {
    if (m.type != PS_MEMBER_F64) {
        return (double)ps_member_int(from, m);
    }
    const char *at = (const char *)from + m.offset;
    READ(double);
    return value;
}

const char *ps_member_text(const void *from, ps_member m) {
    const char *at = (const char *)from + m.offset;
    if (m.type == PS_MEMBER_CHARS) {
        return at;
    }
    READ(const char *);
    return value;
}
