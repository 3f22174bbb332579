#include "write/out/shorten.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/utf8.h"

void ps_text_clean_here(char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t len = ps_utf8_len(text + i, n - i);
        unsigned char first = (unsigned char)text[i];
        if (len == 0) {
            text[i] = '?';
        } else if (first < 0x20 || first == 0x7F) {
            text[i] = ' ';
        } else if (len == 2 && first == 0xC2 && (unsigned char)text[i + 1] < 0xA0) {
            text[i] = ' ';
            text[i + 1] = ' ';
        }
        i += len > 0 ? len : 1;
    }
}

const char *ps_text_clean(ps_arena *arena, const char *text) {
    char *copy = ps_arena_strndup(arena, text, strlen(text));
    if (copy != NULL) {
        ps_text_clean_here(copy);
    }
    return copy;
}

/* The part of `s` left when its first `columns` columns are dropped, a character across the edge too. */
static const char *drop_columns(const char *s, size_t columns) {
    size_t n = strlen(s);
    size_t skip = ps_utf8_fit(s, n, columns);
    if (skip < n && ps_utf8_columns(s, skip) < columns) {
        size_t len = ps_utf8_len(s + skip, n - skip);
        skip += len > 0 ? len : 1;
    }
    return s + skip;
}

/* How a text is cut in its middle. */
typedef struct cut {
    const char *text, *tail;
    size_t head; /* bytes */
    size_t row;
} cut;

static cut cut_of(const char *text, size_t columns, size_t width, bool utf8) {
    size_t n_dots = utf8 ? 1 : 3;
    size_t tail = (width - n_dots) / 2;
    return (cut){.text = text,
                 .tail = drop_columns(text, columns - tail),
                 .head = ps_utf8_fit(text, strlen(text), width - n_dots - tail)};
}

void ps_text_middle(ps_buf *out, const char *text, size_t width, bool utf8) {
    size_t n = strlen(text);
    size_t columns = ps_utf8_columns(text, n);
    if (columns <= width) {
        ps_buf_add(out, text, n);
        return;
    }
    cut c = cut_of(text, columns, width, utf8);
    ps_buf_add(out, text, c.head);
    ps_buf_add_str(out, utf8 ? "…" : "...");
    ps_buf_add_str(out, c.tail);
}

/* --- texts that read alike -------------------------------------------------------------------------------- */

/* Those that read alike stand together, and of them equal ones. */
static int by_look(const void *a, const void *b) {
    const cut *x = a;
    const cut *y = b;
    if (x->head != y->head) {
        return x->head < y->head ? -1 : 1;
    }
    int order = memcmp(x->text, y->text, x->head);
    order = order != 0 ? order : strcmp(x->tail, y->tail);
    order = order != 0 ? order : strcmp(x->text, y->text);
    return order != 0 ? order : x->row < y->row ? -1 : x->row > y->row;
}

static bool reads_like(const cut *x, const cut *y) {
    return x->head == y->head && memcmp(x->text, y->text, x->head) == 0 &&
           strcmp(x->tail, y->tail) == 0;
}

/* The byte at which the texts differ, at the beginning of its character; 0: nowhere. */
static size_t differs_at(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n]) {
        n++;
    }
    bool is_equal = a[n] == b[n];
    while (n > 0 && ((unsigned char)a[n] & 0xC0) == 0x80) {
        n--;
    }
    return is_equal ? 0 : n;
}

const size_t *ps_cut_places(ps_arena *arena, const char *const *texts, size_t n, size_t stride,
                            size_t width, bool utf8) {
    size_t *places = ps_arena_alloc(arena, (n + 1) * sizeof *places);
    cut *cuts = ps_arena_alloc(arena, (n + 1) * sizeof *cuts);
    size_t n_cuts = 0;
    for (size_t r = 0; places != NULL && cuts != NULL && r < n; r++) {
        const char *text = texts[r * stride];
        size_t columns = ps_utf8_columns(text, strlen(text));
        places[r] = 0;
        if (columns > width) {
            cuts[n_cuts] = cut_of(text, columns, width, utf8);
            cuts[n_cuts++].row = r;
        }
    }
    ps_sort(cuts, n_cuts, sizeof *cuts, by_look);
    for (size_t first = 0, next = 0; first < n_cuts; first = next) {
        size_t before = first > 0 && reads_like(&cuts[first - 1], &cuts[first])
                            ? differs_at(cuts[first - 1].text, cuts[first].text)
                            : 0;
        for (next = first + 1; next < n_cuts && strcmp(cuts[next].text, cuts[first].text) == 0;) {
            next++; /* equal ones are to look alike */
        }
        size_t behind = next < n_cuts && reads_like(&cuts[first], &cuts[next])
                            ? differs_at(cuts[first].text, cuts[next].text)
                            : 0;
        for (size_t i = first; i < next; i++) {
            places[cuts[i].row] = before > behind ? before : behind;
        }
    }
    return cuts != NULL ? places : NULL;
}

static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

enum { LEAST_PIECE = 5 };

/* A head, and the piece in which `place` lies, from the beginning of its word if that is near. */
void ps_text_cut(ps_buf *out, const char *text, size_t width, size_t place, bool utf8) {
    size_t n = strlen(text);
    size_t n_dots = utf8 ? 1 : 3;
    size_t room = width > 2 * n_dots ? width - 2 * n_dots : 0;
    size_t piece = room - room / 3;
    size_t start = place < n ? place : 0;
    size_t head = ps_utf8_fit(text, n, room / 3);
    if (ps_utf8_columns(text, n) <= width || start <= head || piece < LEAST_PIECE) {
        ps_text_middle(out, text, width, utf8);
        return;
    }
    size_t back = 0;
    while (back < piece / 2 && start - back > head && is_of_word(text[start - back - 1])) {
        back++;
    }
    start -= back < piece / 2 ? back : 0;
    const char *dots = utf8 ? "…" : "...";
    size_t rest = ps_utf8_columns(text + start, n - start);
    bool ends = rest <= piece + n_dots;
    ps_buf_add(out, text, ends ? ps_utf8_fit(text, start, width - n_dots - rest) : head);
    ps_buf_add_str(out, dots);
    ps_buf_add(out, text + start, ends ? n - start : ps_utf8_fit(text + start, n - start, piece));
    ps_buf_add_str(out, ends ? "" : dots);
}
