/* Values are appended with the number of their group and brought together at the end by counting, so that each costs one
 * look-up by ids while the slices are walked through. */
#include "analyze/stats/value_sums.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/sort.h"

/* --- collecting ----------------------------------------------------------------------------------------- */

/* PS_NONE when memory is out. */
static uint32_t value_sum_group_of(ps_value_adder *a, const ps_str keys[PS_SUM_KEYS]) {
    uint64_t key = ps_hash64_seeded(keys, sizeof *keys * PS_SUM_KEYS);
    for (uint32_t row; (row = ps_idmap_get(&a->rows, key)) != PS_IDMAP_NONE; key++) {
        if (memcmp(a->groups[row].keys, keys, sizeof *keys * PS_SUM_KEYS) == 0) {
            return row;
        }
    }
    uint32_t row = (uint32_t)a->n_groups;
    if (!ps_grow(&a->groups, &a->cap_groups, a->n_groups + 1, UINT32_MAX - 1, sizeof *a->groups) ||
        !ps_idmap_put(&a->rows, key, row)) {
        return PS_NONE;
    }
    ps_value_group *g = &a->groups[a->n_groups++];
    *g = (ps_value_group){.n = 0};
    memcpy(g->keys, keys, sizeof g->keys);
    return row;
}

bool ps_value_adder_add(ps_value_adder *a, const ps_str keys[PS_SUM_KEYS], int64_t value) {
    if (!a->has_rows) {
        ps_idmap_init(&a->rows);
        a->has_rows = true;
    }
    uint32_t group = value_sum_group_of(a, keys);
    if (group == PS_NONE ||
        !ps_grow(&a->values, &a->cap_values, a->n + 1, UINT32_MAX, sizeof *a->values) ||
        !ps_grow(&a->group_of, &a->cap_group_of, a->n + 1, UINT32_MAX, sizeof *a->group_of)) {
        return false;
    }
    a->values[a->n] = value;
    a->group_of[a->n++] = group;
    a->groups[group].n++;
    return true;
}

bool ps_value_adder_add_summary(ps_value_adder *a, const ps_summary_values *told) {
    if (!ps_grow(&a->told, &a->cap_told, a->n_told + 1, UINT32_MAX - 1, sizeof *a->told)) {
        return false;
    }
    a->told[a->n_told++] = *told;
    return true;
}

bool ps_summary_values_read(const ps_table *t, size_t row, const char *const names[4],
                            ps_summary_values *out) {
    double values[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        size_t c = ps_table_column(t, names[i]);
        const ps_value *v = c < t->n_columns ? ps_table_cell(t, row, c) : NULL;
        bool is_int = v != NULL && t->columns[c].type == PS_COL_INT;
        bool is_real = v != NULL && t->columns[c].type == PS_COL_REAL;
        if (v == NULL || v->is_null || (!is_int && !is_real)) {
            return false;
        }
        values[i] = is_int ? (double)v->u.i : v->u.r * 1000;
        if (!(values[i] >= 0 && values[i] < 9e17)) {
            return false;
        }
    }
    out->n = (size_t)values[0];
    out->sum = llround(values[1]);
    out->min = llround(values[2]);
    out->max = llround(values[3]);
    return out->n > 0;
}

static bool copy_told(const ps_value_adder *a, ps_value_sums *out) {
    for (size_t i = 0; i < a->n_told; i++) {
        ps_value_group group = {.first = a->n, .told = a->told[i]};
        for (size_t k = 0; k < PS_SUM_KEYS; k++) {
            const char *text = a->told[i].keys[k];
            group.told.keys[k] = NULL;
            if (text != NULL) {
                group.keys[k] = ps_strpool_add(&out->strings, text, strlen(text));
                if (ps_str_is_none(group.keys[k])) {
                    return false;
                }
            }
        }
        out->groups[out->n_groups++] = group;
    }
    return true;
}

static bool copy_groups(const ps_value_adder *a, ps_value_sums *out) {
    size_t first = 0;
    for (size_t g = 0; g < a->n_groups; g++) {
        ps_value_group group = {.first = first, .n = 0}; /* counted again while values come in */
        first += a->groups[g].n;
        for (size_t k = 0; k < PS_SUM_KEYS; k++) {
            ps_str text = a->groups[g].keys[k];
            if (!ps_str_is_none(text)) {
                group.keys[k] = ps_strpool_add(&out->strings, ps_trace_text(a->trace, text),
                                               ps_trace_text_len(a->trace, text));
                if (ps_str_is_none(group.keys[k])) {
                    return false;
                }
            }
        }
        out->groups[out->n_groups++] = group;
    }
    return true;
}

ps_code ps_value_adder_finish(const ps_value_adder *a, ps_value_sums *out, ps_err *err) {
    *out = (ps_value_sums){.n_values = a->n};
    out->groups = ps_alloc((a->n_groups + a->n_told + 1) * sizeof *out->groups);
    out->values = ps_alloc((a->n + 1) * sizeof *out->values);
    if (!ps_strpool_init(&out->strings) || out->groups == NULL || out->values == NULL ||
        !copy_groups(a, out) || !copy_told(a, out)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < a->n; i++) {
        ps_value_group *g = &out->groups[a->group_of[i]];
        out->values[g->first + g->n++] = a->values[i];
    }
    for (size_t g = 0; g < out->n_groups; g++) {
        (void)ps_stats_of(out->values + out->groups[g].first, out->groups[g].n); /* sorts */
    }
    return PS_OK;
}

void ps_value_adder_fini(ps_value_adder *a) {
    ps_free(a->groups);
    ps_free(a->values);
    ps_free(a->group_of);
    ps_free(a->told);
    ps_arena_fini(&a->told_texts);
    if (a->has_rows) {
        ps_idmap_fini(&a->rows);
    }
    *a = (ps_value_adder){0};
}

void ps_value_sums_fini(ps_value_sums *s) {
    ps_free(s->groups);
    ps_free(s->values);
    ps_strpool_fini(&s->strings);
    *s = (ps_value_sums){0};
}

/* --- joining -------------------------------------------------------------------------------------------- */

/* A group of one rank on its way into a row. */
typedef struct part {
    const char *keys[PS_SUM_KEYS];
    size_t rank_index;
    const int64_t *values;
    size_t n;
    const ps_summary_values *told;
} part;

#define BY_TEXTS(type)                                                                             \
    PS_UP(type, keys[0]), PS_UP(type, keys[1]), PS_UP(type, keys[2]), PS_UP(type, keys[3])

static int compare_value_sum_keys(const char *const *a, const char *const *b) {
    int order = 0;
    for (size_t k = 0; order == 0 && k < PS_SUM_KEYS; k++) {
        order = strcmp(a[k], b[k]);
    }
    return order;
}

static part *list_value_sum_parts(const ps_value_sums *const *sums, size_t n_ranks, unsigned keys,
                                  size_t *n) {
    static const ps_sort_key KEYS[] = {BY_TEXTS(part), PS_UP(part, rank_index)};
    *n = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        *n += sums[r] != NULL ? sums[r]->n_groups : 0;
    }
    part *parts = ps_calloc(*n + 1, sizeof *parts);
    size_t at = 0;
    for (size_t r = 0; parts != NULL && r < n_ranks; r++) {
        for (size_t g = 0; sums[r] != NULL && g < sums[r]->n_groups; g++) {
            const ps_value_group *group = &sums[r]->groups[g];
            part *p = &parts[at++];
            *p = (part){.rank_index = r,
                        .values = sums[r]->values + group->first,
                        .n = group->n,
                        .told = &group->told};
            for (size_t k = 0; k < PS_SUM_KEYS; k++) {
                p->keys[k] =
                    (keys >> k & 1) != 0 ? ps_strpool_get(&sums[r]->strings, group->keys[k]) : "";
            }
        }
    }
    ps_sort_by(parts, *n, sizeof *parts, PS_KEYS(KEYS));
    return parts;
}

/* The end of the run of parts that make one row, and how many values they have. */
static size_t run_of(const part *parts, size_t n, size_t first, bool by_rank, size_t *n_values) {
    size_t end = first;
    *n_values = 0;
    while (end < n && compare_value_sum_keys(parts[first].keys, parts[end].keys) == 0 &&
           (!by_rank || parts[first].rank_index == parts[end].rank_index)) {
        *n_values += parts[end++].n;
    }
    return end;
}

/* Only n, sum and extremes of what was told can be joined. */
static void add_told(ps_stats *s, const ps_summary_values *told) {
    if (told->n == 0) {
        return;
    }
    s->min = s->n == 0 || told->min < s->min ? told->min : s->min;
    s->max = s->n == 0 || told->max > s->max ? told->max : s->max;
    s->n += told->n;
    s->sum = ps_i64_plus(s->sum, told->sum);
    s->mean = (double)s->sum / (double)s->n;
    s->std = s->population = s->q1 = s->median = s->q3 = (double)NAN;
}

static bool make_rows(const part *parts, size_t n, bool by_rank, ps_sum_rows *out) {
    int64_t *values = NULL;
    size_t cap = 0;
    out->rows = ps_alloc((n + 1) * sizeof *out->rows);
    bool ok = out->rows != NULL;
    for (size_t i = 0; ok && i < n;) {
        size_t n_values = 0;
        size_t end = run_of(parts, n, i, by_rank, &n_values);
        ok = ps_grow(&values, &cap, n_values + 1, SIZE_MAX / sizeof *values, sizeof *values);
        if (ok) {
            ps_sum_row *row = &out->rows[out->n++];
            memcpy(row->keys, parts[i].keys, sizeof row->keys);
            row->rank_index = parts[i].rank_index;
            size_t at = 0;
            for (size_t p = i; p < end; p++) {
                memcpy(values + at, parts[p].values, parts[p].n * sizeof *values);
                at += parts[p].n;
            }
            row->stats = ps_stats_of(values, n_values);
            for (; i < end; i++) {
                add_told(&row->stats, parts[i].told);
            }
        }
    }
    ps_free(values);
    return ok;
}

ps_code ps_value_sums_join(const ps_value_sums *const *sums, size_t n_ranks, unsigned keys,
                           bool by_rank, ps_sum_rows *out, ps_err *err) {
    *out = (ps_sum_rows){0};
    size_t n = 0;
    part *parts = list_value_sum_parts(sums, n_ranks, keys, &n);
    bool ok = parts != NULL && make_rows(parts, n, by_rank, out);
    ps_free(parts);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_sum_rows_fini(ps_sum_rows *r) {
    ps_free(r->rows);
    *r = (ps_sum_rows){0};
}

void ps_sum_rows_by_sum(ps_sum_rows *r) {
    static const ps_sort_key KEYS[] = {PS_DOWN(ps_sum_row, stats.sum), BY_TEXTS(ps_sum_row),
                                       PS_UP(ps_sum_row, rank_index)};
    ps_sort_by(r->rows, r->n, sizeof *r->rows, PS_KEYS(KEYS));
}

void ps_sum_rows_by_rank(ps_sum_rows *r) {
    static const ps_sort_key KEYS[] = {PS_UP(ps_sum_row, rank_index),
                                       PS_DOWN(ps_sum_row, stats.sum), BY_TEXTS(ps_sum_row)};
    ps_sort_by(r->rows, r->n, sizeof *r->rows, PS_KEYS(KEYS));
}

size_t ps_sum_rows_find(const ps_sum_rows *r, const ps_sum_row *row) {
    static const ps_sort_key KEYS[] = {BY_TEXTS(ps_sum_row)};
    return ps_lower_bound_by(r->rows, r->n, sizeof *r->rows, row, PS_KEYS(KEYS));
}

bool ps_sum_row_same(const ps_sum_row *a, const ps_sum_row *b) {
    return compare_value_sum_keys(a->keys, b->keys) == 0;
}

static void value_group_archive(ps_archive *a, void *group) {
    ps_value_group *x = group;
    PS_ARCHIVE_EACH(a, x, keys);
    PS_ARCHIVE(a, x, first, n, told.n, told.sum, told.min, told.max);
}

void ps_value_sums_archive(ps_archive *a, void **sums) {
    ps_value_sums *x = ps_archive_object(a, sums, sizeof *x);
    if (x == NULL) {
        return;
    }
    ps_strpool *before = ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE_ARRAY(a, x, groups, n_groups, value_group_archive);
    PS_ARCHIVE_ARRAY(a, x, values, n_values, ps_archive_i64);
    (void)ps_archive_use_pool(a, before);
    for (size_t i = 0; ps_archive_is_reading(a) && i < x->n_groups; i++) {
        const ps_value_group *g = &x->groups[i];
        if (g->first > x->n_values || g->n > x->n_values - g->first) {
            ps_archive_refuse(a, "values");
        }
    }
}
