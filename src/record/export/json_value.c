#include "record/export/json_value.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static bool is_json_scalar(const char *s, const char *end) {
    switch (ps_json_word_of(s, (size_t)(end - s))) {
    case PS_JSON_NUMBER:
    case PS_JSON_TRUE:
    case PS_JSON_FALSE:
    case PS_JSON_NULL:
    case PS_JSON_NOT_A_NUMBER: /* as Python prints it; becomes null */
        return true;
    default:
        return false;
    }
}

char *ps_tidy_value(const char *json, bool *is_json) {
    const char *begin = json;
    const char *end = json + strlen(json);
    while (begin < end && ps_json_is_space(*begin)) {
        begin++;
    }
    while (end > begin && ps_json_is_space(end[-1])) {
        end--;
    }
    size_t n = (size_t)(end - begin);
    /* The checker takes an array or object, so the value is looked at as the only one of an array. */
    char *array = ps_alloc(n + 3);
    if (array == NULL) {
        *is_json = true;
        return NULL;
    }
    array[0] = '[';
    memcpy(array + 1, begin, n);
    array[n + 1] = ']';
    array[n + 2] = '\0';
    const char *behind = begin;
    bool whole = n > 0 && ps_json_skip_value(&behind, end, 1) == PS_JSON_OK && behind == end;
    if (!whole && n > 0) {
        whole = is_json_scalar(begin, end);
    }
    bool tidy = false;
    size_t n_tidy = 0;
    *is_json = whole && ps_json_check(array, n + 2, &tidy, &n_tidy);
    char *out = *is_json ? ps_alloc(n_tidy + 1) : NULL;
    if (out != NULL) {
        unsigned odd = 0;
        size_t length = ps_json_tidy(array, n + 2, out, &odd);
        /* Without the array's brackets. */
        memmove(out, out + 1, length - 2);
        out[length - 2] = '\0';
    }
    ps_free(array);
    return out;
}
