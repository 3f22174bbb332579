#include "analyze/views/view_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/num.h"

static ps_view_sum *sum_row_of(ps_view_sums *s, const ps_str keys[PS_VIEW_KEYS]) {
    if (!s->has_rows) {
        ps_idmap_init(&s->rows);
        s->has_rows = true;
    }
    uint64_t hash = ps_hash64_seeded(keys, PS_VIEW_KEYS * sizeof *keys);
    for (;; hash++) {
        uint32_t row = ps_idmap_get(&s->rows, hash);
        if (row == PS_IDMAP_NONE) {
            break;
        }
        if (memcmp(s->at[row].keys, keys, sizeof s->at[row].keys) == 0) {
            return &s->at[row];
        }
    }
    if (!ps_grow(&s->at, &s->cap, s->n + 1, UINT32_MAX - 1, sizeof *s->at) ||
        !ps_idmap_put(&s->rows, hash, (uint32_t)s->n)) {
        return NULL;
    }
    s->at[s->n] = (ps_view_sum){.extra = -1};
    memcpy(s->at[s->n].keys, keys, sizeof s->at[s->n].keys);
    return &s->at[s->n++];
}

ps_view_sum *ps_view_sums_add(ps_view_sums *s, const ps_str keys[PS_VIEW_KEYS], int64_t time_ns) {
    ps_view_sum *row = sum_row_of(s, keys);
    if (row == NULL) {
        return NULL;
    }
    row->sum_ns = ps_i64_plus(row->sum_ns, time_ns);
    row->min_ns = row->n == 0 || time_ns < row->min_ns ? time_ns : row->min_ns;
    row->max_ns = row->n == 0 || time_ns > row->max_ns ? time_ns : row->max_ns;
    row->n++;
    return row;
}

void ps_view_sums_fini(ps_view_sums *s) {
    ps_free(s->at);
    if (s->has_rows) {
        ps_idmap_fini(&s->rows);
    }
    *s = (ps_view_sums){0};
}

/* --- as a table ---------------------------------------------------------------------------------------------------- */

enum { T_SHARE, T_TOTAL, T_NUMBER, T_AVG, T_MIN, T_MAX, N_FIGURES };
static const ps_column FIGURES[N_FIGURES] = {
    [T_SHARE] = {.name = "share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_TOTAL] = {.name = "total", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_NUMBER] = {.name = "number", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [T_AVG] = {.name = "avg", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    [T_MIN] = {.name = "min", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_MAX] = {.name = "max", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

static int compare_sum_rows(const void *a, const void *b, void *context) {
    const ps_trace *trace = context;
    const ps_view_sum *x = a;
    const ps_view_sum *y = b;
    if (x->sum_ns != y->sum_ns) {
        return x->sum_ns > y->sum_ns ? -1 : 1;
    }
    int order = 0;
    for (size_t k = 0; order == 0 && k < PS_VIEW_KEYS; k++) {
        order = strcmp(ps_trace_text(trace, x->keys[k]), ps_trace_text(trace, y->keys[k]));
    }
    return order;
}

/* The columns belong to the table, so they are in its arena: made with a table that has none yet. */
static ps_table *new_sum_table(const char *name, const char *title, const char *const *key_names,
                               size_t n_keys) {
    ps_table *t = ps_table_new(name, title, FIGURES, N_FIGURES);
    ps_column *columns =
        t != NULL ? ps_arena_alloc(&t->arena, (n_keys + N_FIGURES) * sizeof *columns) : NULL;
    if (columns == NULL) {
        ps_table_free(t);
        return NULL;
    }
    for (size_t k = 0; k < n_keys; k++) {
        columns[k] = (ps_column){.name = key_names[k], .type = PS_COL_TEXT};
    }
    memcpy(columns + n_keys, FIGURES, sizeof FIGURES);
    t->columns = columns;
    t->n_columns = n_keys + N_FIGURES;
    return t;
}

static bool put_sum_row(ps_table *t, const ps_trace *trace, const ps_view_sum *r, size_t n_keys,
                        int64_t whole_ns) {
    bool ok = ps_table_add_row(t);
    for (size_t k = 0; ok && k < n_keys; k++) {
        ok =
            ps_str_is_none(r->keys[k]) || ps_table_set_text(t, k, ps_trace_text(trace, r->keys[k]));
    }
    if (!ok) {
        return false;
    }
    if (whole_ns > 0) {
        ps_table_set_real(t, n_keys + T_SHARE, 100 * (double)r->sum_ns / (double)whole_ns);
    }
    ps_table_set_int(t, n_keys + T_TOTAL, r->sum_ns);
    ps_table_set_int(t, n_keys + T_NUMBER, r->n);
    ps_table_set_real(t, n_keys + T_AVG, (double)r->sum_ns / (double)r->n);
    ps_table_set_int(t, n_keys + T_MIN, r->min_ns);
    ps_table_set_int(t, n_keys + T_MAX, r->max_ns);
    return true;
}

ps_table *ps_view_sums_table(ps_view_sums *s, const ps_trace *trace, const char *name,
                             const char *title, const char *const *key_names, size_t n_keys,
                             int64_t whole_ns, ps_err *err) {
    ps_table *t = new_sum_table(name, title, key_names, n_keys);
    bool ok = t != NULL;
    if (s->n > 1) {
        qsort_r(s->at, s->n, sizeof *s->at, compare_sum_rows, (void *)(uintptr_t)trace);
    }
    bool adds_up = whole_ns == 0;
    for (size_t i = 0; adds_up && i < s->n; i++) {
        whole_ns = ps_i64_plus(whole_ns, s->at[i].sum_ns);
    }
    for (size_t i = 0; ok && i < s->n; i++) {
        ok = put_sum_row(t, trace, &s->at[i], n_keys, whole_ns);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}
