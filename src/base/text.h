/* Small questions of texts. */
#ifndef PS_BASE_TEXT_H
#define PS_BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool ps_begins_with(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
}

static inline bool ps_is_digit(char c) {
    return c >= '0' && c <= '9';
}

#endif
