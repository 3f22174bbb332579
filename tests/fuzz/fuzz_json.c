/* The pieces of JSON text (base/json.h, json_simd.h), each against another way to say the same: brackets by masks and
 * byte by byte, digits eight at a time and one by one; what is mended needs no more mending, and literal.h reads it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_simd.h"
#include "base/literal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        __builtin_trap();
    }
}

static void check_brackets(const char *text, size_t n) {
    const char *end = text + n;
    for (const char *p = text; p < end && p < text + 32; p++) {
        if (*p != '{' && *p != '[') {
            continue;
        }
        const char *slow = p;
        ps_json_status status = ps_json_skip_value(&slow, end, 0);
        const char *fast = ps_json_skip_brackets(p, end, PS_JSON_MAX_DEPTH);
        require((fast != NULL) == (status == PS_JSON_OK));
        require(fast == NULL || fast == slow);
    }
}

static void check_strings(const char *text, size_t n) {
    bool has_escape = false;
    bool fast_escape = false;
    const char *slow = text;
    ps_json_status status = ps_json_skip_string(&slow, text + n, &has_escape);
    const char *fast = ps_json_string_end(text, text + n, &fast_escape);
    require((fast != NULL) == (status == PS_JSON_OK));
    require(fast == NULL || (fast + 1 == slow && fast_escape == has_escape));
    char *out = malloc(3 * n + 1);
    unsigned odd = 0;
    require(out != NULL);
    size_t n_out = ps_json_unescape(text, n, out, &odd);
    require(n_out <= 3 * n && ps_json_is_utf8(out, n_out));
    require(memchr(text, '\\', n) != NULL || (odd == 0) == ps_json_is_utf8(text, n));
    free(out);
}

static void check_digits(const char *text, size_t n) {
    uint64_t value = 0;
    uint64_t expected = 0;
    size_t n_digits = 0;
    while (n_digits < n && ps_json_is_digit(text[n_digits])) {
        expected = expected * 10 + (uint64_t)(text[n_digits++] - '0');
    }
    const char *end = ps_json_digits(text, &value);
    require(n_digits > 19 ? end > text + 19 : end == text + n_digits && value == expected);
}

static void check_numbers(const char *text, size_t n) {
    int64_t scaled = 0;
    int64_t whole = 0;
    double real = 0;
    bool rounded = false;
    bool is_number = ps_json_word_of(text, n) == PS_JSON_NUMBER;
    bool fits = ps_json_scaled(text, n, 3, &scaled, &rounded);
    require(is_number || !fits);
    if (fits && ps_json_scaled(text, n, 0, &whole, &rounded) && !rounded && is_number &&
        whole > -1000000 && whole < 1000000) {
        require(scaled == whole * 1000);
        require(!ps_json_real(text, n, &real) || real == (double)whole);
    }
}

static void check_nested(const char *text, size_t n) {
    bool is_tidy = false;
    size_t n_tidy = 0;
    unsigned odd = 0;
    if (!ps_json_check(text, n, &is_tidy, &n_tidy)) {
        return;
    }
    char *out = malloc(n_tidy + 1);
    require(out != NULL);
    require(ps_json_tidy(text, n, out, &odd) == n_tidy);
    require(!is_tidy || (n_tidy == n && memcmp(out, text, n) == 0 && odd == 0));
    bool again = false;
    size_t n_again = 0;
    require(ps_json_check(out, n_tidy, &again, &n_again) && again && n_again == n_tidy);
    require(ps_json_is_utf8(out, n_tidy));
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err err = PS_ERR_INIT;
    require(ps_literal_parse(&arena, out, n_tidy, &err) != NULL || err.code == PS_RANGE);
    ps_arena_fini(&arena);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(size + PS_JSON_PAD, 1);
    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    check_brackets(text, size);
    check_strings(text, size);
    check_digits(text, size);
    check_numbers(text, size);
    check_nested(text, size);
    free(text);
    return 0;
}
