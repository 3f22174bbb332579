/* Every cell becomes a key of 64 bits whose order is that of the cells: numbers by turning their bits, texts by interning
 * them and sorting the distinct ones. Then pairs of key and row are sorted by digits, 8 bits at a time from the lowest;
 * digits that all keys share cost nothing. That is stable, needs the table only once from front to back (rows on demand
 * are made once), and takes about a third of a second for ten million rows. */
#include "serve/select/table_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/strpool.h"
#include "model/table.h"
#include "write/out/number_text.h"

typedef struct pair {
    uint64_t key;
    uint32_t row;
} pair;

/* --- filter ---------------------------------------------------------------------------------------------------- */

static char order_lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool order_contains(const char *text, const char *part) {
    if (*part == '\0') {
        return true;
    }
    char first = order_lower(*part);
    size_t n = strlen(part);
    for (; *text != '\0'; text++) {
        if (order_lower(*text) == first && strncasecmp(text, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "text", "=text"; behind a "!" what does not match it, but all where nothing follows. */
static bool order_matches_text(const char *wanted, const char *cell) {
    if (*wanted == '!') {
        return wanted[1] == '\0' || !order_matches_text(wanted + 1, cell);
    }
    return *wanted == '=' ? strcmp(cell, wanted + 1) == 0 : order_contains(cell, wanted);
}

static bool order_matches(const ps_table_filter *f, const ps_column *column, const ps_value *cell) {
    if (f->text != NULL && ps_column_is_text(column)) {
        return order_matches_text(f->text, cell->is_null ? "" : cell->u.text);
    }
    if (cell->is_null) {
        return f->text != NULL && (*f->text == '\0' || strcmp(f->text, "=") == 0);
    }
    if (f->text == NULL) {
        double value = column->type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
        return value >= f->least && value <= f->most;
    }
    char number[PS_NUMBER_TEXT];
    if (column->type == PS_COL_INT) {
        number[ps_int_text(cell->u.i, number)] = '\0';
    } else {
        ps_real_shortest(cell->u.r, number);
    }
    return order_contains(number, f->text);
}

static bool order_passes(const ps_table *t, const ps_table_want *want, size_t row) {
    for (size_t i = 0; i < want->n_filters; i++) {
        const ps_table_filter *f = &want->filters[i];
        if (!order_matches(f, &t->columns[f->column], ps_table_cell(t, row, f->column))) {
            return false;
        }
    }
    return true;
}

/* --- keys ------------------------------------------------------------------------------------------------------ */

static const uint64_t LAST = UINT64_MAX; /* of empty cells */

static uint64_t key_of_int(int64_t v) {
    return (uint64_t)v ^ ((uint64_t)1 << 63);
}

static uint64_t key_of_real(double v) {
    uint64_t bits = 0;
    v = v == 0 ? 0 : v; /* -0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    return (bits >> 63) != 0 ? ~bits : bits | ((uint64_t)1 << 63);
}

/* Of a cell that is not empty; a text gives its id in the pool. False: memory is out. */
static bool order_key_of(const ps_column *column, const ps_value *cell, ps_strpool *pool,
                         uint64_t *key) {
    if (ps_column_is_text(column)) {
        ps_str s = ps_strpool_add(pool, cell->u.text, strlen(cell->u.text));
        *key = s.id;
        return !ps_str_is_none(s);
    }
    *key = column->type == PS_COL_INT ? key_of_int(cell->u.i) : key_of_real(cell->u.r);
    return true;
}

static int compare_order_texts(const void *a, const void *b, void *context) {
    const ps_strpool *pool = context;
    const char *x = ps_strpool_get(pool, (ps_str){*(const uint32_t *)a});
    const char *y = ps_strpool_get(pool, (ps_str){*(const uint32_t *)b});
    int order = strcasecmp(x, y);
    return order != 0 ? order : strcmp(x, y);
}

/* Puts places in the order of texts where ids were. */
static bool rank_texts(ps_strpool *pool, pair *pairs, size_t n) {
    uint32_t *ids = ps_calloc(pool->n, sizeof *ids);
    uint32_t *place = ps_calloc(pool->n, sizeof *place);
    bool ok = ids != NULL && place != NULL;
    if (ok) {
        for (size_t i = 0; i < pool->n; i++) {
            ids[i] = (uint32_t)i;
        }
        qsort_r(ids, pool->n, sizeof *ids, compare_order_texts, pool);
        for (size_t i = 0; i < pool->n; i++) {
            place[ids[i]] = (uint32_t)i;
        }
        for (size_t i = 0; i < n; i++) {
            pairs[i].key = pairs[i].key == LAST ? LAST : place[pairs[i].key];
        }
    }
    ps_free(ids);
    ps_free(place);
    return ok;
}

/* --- sorting --------------------------------------------------------------------------------------------------- */

/* One digit of all pairs from `from` into `to`. */
static void scatter(const pair *from, pair *to, size_t n, unsigned shift, size_t start[256]) {
    for (size_t i = 0; i < n; i++) {
        to[start[(from[i].key >> shift) & 255]++] = from[i];
    }
}

/* Returns whichever of the two arrays holds the result. */
static pair *sort_pairs(pair *pairs, pair *spare, size_t n) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t start[256] = {0};
        for (size_t i = 0; i < n; i++) {
            start[(pairs[i].key >> shift) & 255]++;
        }
        if (n > 0 && start[(pairs[0].key >> shift) & 255] == n) {
            continue;
        }
        size_t sum = 0;
        for (int d = 0; d < 256; d++) {
            size_t count = start[d];
            start[d] = sum;
            sum += count;
        }
        scatter(pairs, spare, n, shift, start);
        pair *sorted = spare;
        spare = pairs;
        pairs = sorted;
    }
    return pairs;
}

/* Descending keys, but for empty cells, which stay last. */
static void turn_round(pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pairs[i].key = pairs[i].key == LAST ? LAST : LAST - 1 - pairs[i].key;
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------- */

/* Rows that pass, with their keys. */
static ps_code collect_order(const ps_table *t, const ps_table_want *want, pair *pairs,
                             ps_strpool *pool, size_t *n_rows, ps_err *err) {
    enum { PIECE = 4096 };
    size_t n = 0;
    for (size_t row = 0; row < t->n_rows; row++) {
        if (row % PIECE == 0 && ps_watch_ask(want->watch, err) != PS_OK) {
            return PS_BUSY;
        }
        if (!order_passes(t, want, row)) {
            continue;
        }
        pair p = {.key = 0, .row = (uint32_t)row};
        if (want->sort != SIZE_MAX) {
            const ps_column *column = &t->columns[want->sort];
            const ps_value *cell = ps_table_cell(t, row, want->sort);
            bool is_empty = cell->is_null || (column->type == PS_COL_REAL && isnan(cell->u.r) != 0);
            p.key = LAST;
            if (!is_empty && !order_key_of(column, cell, pool, &p.key)) {
                return ps_fail_nomem(err);
            }
        }
        pairs[n++] = p;
    }
    *n_rows = n;
    return PS_OK;
}

static ps_table_order *table_order_order_of(const pair *pairs, size_t n) {
    ps_table_order *order = ps_alloc(sizeof *order + n * sizeof order->rows[0]);
    if (order != NULL) {
        order->n = n;
        for (size_t i = 0; i < n; i++) {
            order->rows[i] = pairs[i].row;
        }
    }
    return order;
}

/* The pairs of the table, sorted, as an order. */
static ps_table_order *sorted_order(const ps_table *t, const ps_table_want *want, pair *pairs,
                                    pair *spare, ps_strpool *pool, ps_err *err) {
    size_t n = 0;
    if (collect_order(t, want, pairs, pool, &n, err) != PS_OK) {
        return NULL;
    }
    bool ok = true;
    if (want->sort != SIZE_MAX) {
        ok = !ps_column_is_text(&t->columns[want->sort]) || rank_texts(pool, pairs, n);
        if (ok && want->desc) {
            turn_round(pairs, n);
        }
        pairs = ok ? sort_pairs(pairs, spare, n) : pairs;
    }
    ps_table_order *order = ok ? table_order_order_of(pairs, n) : NULL;
    if (order == NULL) {
        (void)ps_fail_nomem(err);
    }
    return order;
}

ps_table_order *ps_table_order_new(const ps_table *table, const ps_table_want *want, ps_err *err) {
    if (table->n_rows > UINT32_MAX) {
        (void)ps_fail(err, PS_RANGE, "%s has too many rows to be sorted", table->name);
        return NULL;
    }
    size_t n_bytes = (table->n_rows + 1) * sizeof(pair);
    pair *pairs = ps_alloc(n_bytes);
    pair *spare = want->sort != SIZE_MAX ? ps_alloc(n_bytes) : NULL;
    ps_strpool pool;
    bool has_pool = ps_strpool_init(&pool);
    ps_table_order *order = NULL;
    if (pairs != NULL && (spare != NULL || want->sort == SIZE_MAX) && has_pool) {
        order = sorted_order(table, want, pairs, spare, &pool, err);
    } else {
        (void)ps_fail_nomem(err);
    }
    if (has_pool) {
        ps_strpool_fini(&pool);
    }
    ps_free(pairs);
    ps_free(spare);
    return order;
}
