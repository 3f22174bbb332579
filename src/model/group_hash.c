#include "model/group_hash.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

uint64_t ps_group_hash(const char *name) {
    uint32_t low = 0;
    uint32_t high = 0;
    size_t n = strlen(name);
    for (size_t i = 0; i < n;) {
        uint32_t code = (unsigned char)name[i];
        size_t len = code < 0x80 ? 1 : ps_utf8_len(name + i, n - i);
        if (len > 1) {
            code &= 0xFFu >> (len + 1);
            for (size_t k = 1; k < len; k++) {
                code = code << 6 | ((unsigned char)name[i + k] & 0x3Fu);
            }
        }
        high = high * 29 + code;
        low = low * 131 + code;
        i += len > 0 ? len : 1;
    }
    return (uint64_t)high << 32 | low;
}

void ps_group_hash_text(const char *name, char *out) {
    (void)snprintf(out, 21, "%llu", (unsigned long long)ps_group_hash(name));
}
