#include "analyze/stats/kernel_names.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

/* A word such as an operator of Ascend has: "MemSet". */
static bool is_type_word(const char *text, size_t n) {
    bool any_lower = false;
    for (size_t i = 0; i < n; i++) {
        bool is_lower = text[i] >= 'a' && text[i] <= 'z';
        any_lower = any_lower || is_lower;
        if (!is_lower && !is_upper(text[i]) && !ps_is_digit(text[i])) {
            return false;
        }
    }
    return n > 0 && is_upper(text[0]) && any_lower;
}

/* Without a number behind the last underscore. */
static size_t length_without_count(const char *name) {
    size_t n = strlen(name);
    size_t kept = n;
    while (kept > 0 && ps_is_digit(name[kept - 1])) {
        kept--;
    }
    return kept < n && kept > 1 && name[kept - 1] == '_' ? kept - 1 : n;
}

const char *ps_kernel_own_name(const char *name, size_t *n) {
    size_t all = length_without_count(name);
    size_t last = all;
    while (last > 0 && name[last - 1] != '_') {
        last--;
    }
    const char *first_end = strchr(name, '_');
    size_t n_first = first_end != NULL ? (size_t)(first_end - name) : all;
    bool is_numbered = last == n_first + 1 && n_first > 0 && ps_is_digit(name[n_first - 1]) &&
                       is_type_word(name, n_first);
    bool is_called =
        strncmp(name, "aclnn", 5) == 0 || strncmp(name, "trans_", 6) == 0 || is_numbered;
    if (last == 0 || !is_called || !is_type_word(name + last, all - last)) {
        *n = strlen(name);
        return name;
    }
    *n = all - last;
    return name + last;
}
