#include "model/table_fold.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/runs.h"
#include "base/sort.h"

#define SMALL 0.5
/* How near is alike: the first of these that leaves few enough rows. */
static const double NEARNESS[] = {PS_FOLD_NEAR, 0.1, 0.2};
/* Beyond so many groups of rows with equal texts, and kinds of rows in one of them, rows stand for themselves: nobody reads more. */
enum { MAX_GROUPS = 256, MAX_KINDS = 64, MAX_RUNS = 2, N_UNITS = PS_UNIT_MHZ + 1 };

/* A row on its way into a fold. */
typedef struct fold_item {
    size_t row;
    double measure; /* the first time or percentage */
} fold_item;

typedef struct fold {
    const ps_table *t;
    double near;
    double largest[N_UNITS];
    fold_item *items; /* rows with equal texts and numbers, by measure; taken ones leave */
    size_t n_items;
    bool *is_seen; /* by row */
    ps_fold_kind *rows;
    size_t n_rows;
    size_t *members; /* rows, a run for each folded row */
    size_t n_members;
} fold;

static double number_of_cell(const ps_column *column, const ps_value *cell) {
    return column->type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
}

static bool is_count(const ps_column *column) {
    return !column->is_member && column->unit == PS_UNIT_COUNT;
}

static bool is_measure(const ps_column *column) {
    return !column->is_member && !ps_column_is_text(column) && column->unit != PS_UNIT_NONE &&
           column->unit != PS_UNIT_COUNT;
}

/* --- what is alike ------------------------------------------------------------------------------------------- */

static bool is_same_cell(const ps_column *column, const ps_value *a, const ps_value *b) {
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null;
    }
    if (ps_column_is_text(column)) {
        return strcmp(a->u.text, b->u.text) == 0;
    }
    if (column->unit != PS_UNIT_NONE) {
        return true; /* judged by how near they are */
    }
    return column->type == PS_COL_INT ? a->u.i == b->u.i : !(a->u.r < b->u.r || a->u.r > b->u.r);
}

static bool has_same_texts(const ps_table *t, size_t a, size_t b) {
    for (size_t c = 0; c < t->n_columns; c++) {
        const ps_column *column = &t->columns[c];
        if (!column->is_member &&
            !is_same_cell(column, ps_table_cell(t, a, c), ps_table_cell(t, b, c))) {
            return false;
        }
    }
    return true;
}

/* How far a number is from that of the row in the middle, as a share of it, or of what is no longer small in the table. */
static double distance_of(const fold *f, size_t c, size_t row, size_t middle) {
    const ps_column *column = &f->t->columns[c];
    const ps_value *at = ps_table_cell(f->t, row, c);
    if (at->is_null) {
        return 0;
    }
    double value = number_of_cell(column, at);
    double like = number_of_cell(column, ps_table_cell(f->t, middle, c));
    double apart = fabs(value - like);
    double small = is_measure(column) ? f->largest[column->unit] * SMALL : 0;
    return apart > 0 ? apart / fmax(fabs(like), small) : 0;
}

/* False: not alike. */
static bool find_distance(const fold *f, size_t row, size_t middle, double *within) {
    double most = 0;
    for (size_t c = 0; c < f->t->n_columns; c++) {
        const ps_column *column = &f->t->columns[c];
        if (is_measure(column) || is_count(column)) {
            double far = distance_of(f, c, row, middle);
            if (!(far <= f->near)) { /* also where one of the two has no end */
                return false;
            }
            most = is_measure(column) && far > most ? far : most;
        }
    }
    *within = most;
    return true;
}

static void find_largest(fold *f) {
    for (size_t c = 0; c < f->t->n_columns; c++) {
        const ps_column *column = &f->t->columns[c];
        for (size_t r = 0; is_measure(column) && r < f->t->n_rows; r++) {
            const ps_value *cell = ps_table_cell(f->t, r, c);
            double value = cell->is_null ? 0 : fabs(number_of_cell(column, cell));
            if (isfinite(value)) {
                f->largest[column->unit] = fmax(f->largest[column->unit], value);
            }
        }
    }
}

/* --- rows ---------------------------------------------------------------------------------------------------- */

static double measure_of_row(const ps_table *t, size_t row) {
    for (size_t c = 0; c < t->n_columns; c++) {
        const ps_value *cell = ps_table_cell(t, row, c);
        if (is_measure(&t->columns[c]) && !cell->is_null) {
            return number_of_cell(&t->columns[c], cell);
        }
    }
    return 0;
}

/* Rows from `first` on that have its texts and were not seen before, the smallest first. */
static void gather_items(fold *f, size_t first) {
    static const ps_sort_key BY_MEASURE[] = {PS_UP(fold_item, measure), PS_UP(fold_item, row)};
    f->n_items = 0;
    for (size_t r = first; r < f->t->n_rows; r++) {
        if (!f->is_seen[r] && (r == first || has_same_texts(f->t, first, r))) {
            f->is_seen[r] = true;
            f->items[f->n_items++] = (fold_item){r, measure_of_row(f->t, r)};
        }
    }
    ps_sort_by(f->items, f->n_items, sizeof *f->items, PS_KEYS(BY_MEASURE));
}

/* The middle one of the items and all that are alike to it leave them. */
static void take_kind(fold *f) {
    size_t middle = f->items[(f->n_items - 1) / 2].row;
    ps_fold_kind kind = {.row = middle, .first_row = middle, .first_member = f->n_members};
    size_t n_left = 0;
    for (size_t i = 0; i < f->n_items; i++) {
        double within = 0;
        size_t row = f->items[i].row;
        if (find_distance(f, row, middle, &within)) {
            f->members[f->n_members++] = row;
            kind.first_row = row < kind.first_row ? row : kind.first_row;
            kind.within = fmax(kind.within, within);
        } else {
            f->items[n_left++] = f->items[i];
        }
    }
    kind.n_members = f->n_members - kind.first_member;
    f->n_items = n_left;
    f->rows[f->n_rows++] = kind;
}

static void take_alone(fold *f, size_t row) {
    f->rows[f->n_rows++] =
        (ps_fold_kind){.row = row, .first_row = row, .first_member = f->n_members, .n_members = 1};
    f->members[f->n_members++] = row;
}

/* The kinds of one group; what is left of it stands alone. */
static void find_kinds_of_group(fold *f) {
    for (int n = 0; f->n_items > 0 && n < MAX_KINDS; n++) {
        take_kind(f);
    }
    for (size_t i = 0; i < f->n_items; i++) {
        take_alone(f, f->items[i].row);
    }
}

static void find_kinds(fold *f) {
    static const ps_sort_key BY_PLACE[] = {PS_UP(ps_fold_kind, first_row)};
    size_t n_groups = 0;
    for (size_t r = 0; r < f->t->n_rows; r++) {
        if (!f->is_seen[r] && n_groups++ < MAX_GROUPS) {
            gather_items(f, r);
            find_kinds_of_group(f);
        } else if (!f->is_seen[r]) {
            take_alone(f, r);
        }
    }
    ps_sort_by(f->rows, f->n_rows, sizeof *f->rows, PS_KEYS(BY_PLACE));
}

/* --- the table ----------------------------------------------------------------------------------------------- */

/* False: memory is out. */
static bool set_members(const ps_table *t, const size_t *rows, size_t n_rows, size_t c,
                        ps_table *out) {
    int64_t *members = ps_calloc(n_rows, sizeof *members);
    if (members == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const ps_value *cell = ps_table_cell(t, rows[i], c);
        if (!cell->is_null) {
            members[n++] = cell->u.i;
        }
    }
    ps_buf text = {0};
    ps_buf_add_runs(&text, members, n, MAX_RUNS);
    bool ok = ps_buf_ok(&text) && ps_table_set_text(out, c, n > 0 ? ps_buf_str(&text) : NULL);
    ps_buf_fini(&text);
    ps_free(members);
    return ok;
}

static ps_table *new_folded(const ps_table *t) {
    ps_table *out = ps_table_new(t->name, t->title, t->columns, t->n_columns + 2);
    ps_column *columns =
        out != NULL ? ps_arena_alloc(&out->arena, (t->n_columns + 2) * sizeof *columns) : NULL;
    if (columns == NULL) {
        ps_table_free(out);
        return NULL;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        columns[c] = t->columns[c];
        columns[c].type = columns[c].is_member ? PS_COL_TEXT : columns[c].type;
    }
    columns[t->n_columns] =
        (ps_column){.name = PS_FOLD_ALIKE, .type = PS_COL_INT, .unit = PS_UNIT_COUNT};
    columns[t->n_columns + 1] =
        (ps_column){.name = "within", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT};
    out->columns = columns;
    return out;
}

static bool put_kind(const ps_table *t, const ps_fold_kinds *kinds, const ps_fold_kind *kind,
                     ps_table *out) {
    bool ok = ps_table_add_row(out);
    for (size_t c = 0; ok && c < t->n_columns; c++) {
        if (t->columns[c].is_member) {
            ok = set_members(t, kinds->members + kind->first_member, kind->n_members, c, out);
        } else {
            out->cells[(out->n_rows - 1) * out->n_columns + c] = *ps_table_cell(t, kind->row, c);
        }
    }
    ps_table_set_int(out, t->n_columns, (int64_t)kind->n_members);
    if (kind->n_members > 1) {
        ps_table_set_real(out, t->n_columns + 1, 100 * kind->within);
    }
    return ok;
}

static ps_table *table_of_kinds(const ps_table *t, const ps_fold_kinds *kinds) {
    ps_table *out = new_folded(t);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < kinds->n; i++) {
        ok = put_kind(t, kinds, &kinds->kinds[i], out);
    }
    if (!ok) {
        ps_table_free(out);
        return NULL;
    }
    return out;
}

static bool can_fold(const ps_table *t) {
    bool has_members = false;
    for (size_t c = 0; c < t->n_columns; c++) {
        has_members = has_members || (t->columns[c].is_member && t->columns[c].type == PS_COL_INT);
    }
    return has_members && t->n_rows > 1 && t->made == NULL;
}

/* out->n: 0 where no rows are alike. False: memory is out. */
static bool fold_within(const ps_table *t, double near, ps_fold_kinds *out) {
    fold f = {.t = t,
              .near = near,
              .items = ps_calloc(t->n_rows, sizeof *f.items),
              .is_seen = ps_calloc(t->n_rows, sizeof *f.is_seen),
              .rows = ps_calloc(t->n_rows, sizeof *f.rows),
              .members = ps_calloc(t->n_rows, sizeof *f.members)};
    bool ok = f.items != NULL && f.is_seen != NULL && f.rows != NULL && f.members != NULL;
    if (ok) {
        find_largest(&f);
        find_kinds(&f);
    }
    *out = (ps_fold_kinds){f.rows, f.n_rows < t->n_rows ? f.n_rows : 0, f.members, near};
    ps_free(f.items);
    ps_free(f.is_seen);
    return ok;
}

ps_fold_kinds ps_fold_kinds_of(const ps_table *t, size_t most_rows) {
    bool goes_on = can_fold(t);
    ps_fold_kinds out = {0};
    for (size_t i = 0; goes_on && i < sizeof NEARNESS / sizeof *NEARNESS; i++) {
        ps_fold_kinds wider;
        goes_on = fold_within(t, NEARNESS[i], &wider);
        if (goes_on && wider.n > 0) {
            ps_fold_kinds narrower = out;
            out = wider;
            wider = narrower;
        }
        ps_fold_kinds_fini(&wider);
        goes_on = goes_on && (out.n == 0 || out.n > most_rows);
    }
    return out;
}

void ps_fold_kinds_fini(ps_fold_kinds *kinds) {
    ps_free(kinds->kinds);
    ps_free(kinds->members);
    *kinds = (ps_fold_kinds){0};
}

ps_table *ps_table_fold(const ps_table *t, size_t most_rows, double *near) {
    ps_fold_kinds kinds = ps_fold_kinds_of(t, most_rows);
    ps_table *out = kinds.n > 0 ? table_of_kinds(t, &kinds) : NULL;
    *near = out != NULL ? kinds.near : *near;
    ps_fold_kinds_fini(&kinds);
    return out;
}
