/* The virtual tables over traces. A cursor goes from profile to profile and in each from row to row; nothing is copied.
 *
 * Ranks are chosen before anything is read. Of a profile that is read, sorted columns narrow the rows (times, numbers of slices),
 * and what is left of the constraints is compared number by number: a text has an id in each trace. SQLite then looks at what comes
 * through once more.
 *
 * Rows in the order of a name, as GROUP BY and ORDER BY want them, come by counting the rows of each name: that spares SQLite its sorting. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "base/strpool.h"
#include "query/constraints.h"
#include "query/context.h"
#include "query/part_walk.h"
#include "query/schema.h"
#include "query/trace_tables.h"

enum { PLAN_READS = 1, PLAN_GROUPED = 2, PLAN_DOWN = 4, PLAN_ONCE = 8, PLAN_GROUP_SHIFT = 8 };

typedef struct trace_vtab {
    sqlite3_vtab base;
    ps_sql_context *c;
    const ps_sql_table *form;
    const ps_trace_table *table;
    int rank_column, profile_column;
    uint64_t numbers; /* columns that are integers */
} trace_vtab;

/* Rows by the text of a column: of group g in a part rows[starts[g]] to rows[starts[g + 1]]. */
typedef struct part_groups {
    ps_sql_part *part;
    size_t n_groups;
    uint32_t *rows, *starts;
} part_groups;

typedef struct groups {
    part_groups *parts;
    size_t n_parts;
    uint32_t *order; /* the groups, by their texts */
    size_t n_groups;
    size_t place, part;         /* where the cursor is: order[place] */
    const uint32_t *next, *end; /* rows of it that come in this part */
    int column;
    const char *text; /* of the column in all of them; NULL: none */
    uint64_t text_len;
} groups;

/* Integers of a column that lie in an array of the part at hand. */
typedef struct column_array {
    const int64_t *values; /* NULL: they do not */
    int64_t plus;
} column_array;

typedef struct trace_cursor {
    sqlite3_vtab_cursor base;
    trace_vtab *v;
    ps_constraints wanted;
    bool is_grouped, is_end;
    bool is_once; /* a row of each group is enough */
    ps_part_walk walk;
    ps_sql_part *part;
    ps_trace_row at;
    uint32_t end;    /* of the rows of the part */
    uint32_t n_args; /* of the row, so far */
    /* Of this part: what a row is compared with. */
    ps_number_range ranges[2 * PS_SQL_MOST_TERMS];
    size_t n_ranges;
    column_array arrays[PS_SQL_MOST_COLUMNS];
    groups groups;
} trace_cursor;

int ps_sql_declare(ps_sql_context *c, sqlite3 *db, char *sql) {
    c->declares = true;
    int rc = sql != NULL ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    c->declares = false;
    sqlite3_free(sql);
    return rc;
}

int ps_sql_table_fail(ps_sql_context *c, sqlite3_vtab *table, const ps_err *err) {
    if (c->err.code == PS_OK) {
        c->err = *err;
    }
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", err->msg);
    return err->code == PS_NOMEM  ? SQLITE_NOMEM
           : err->code == PS_BUSY ? SQLITE_INTERRUPT
                                  : SQLITE_ERROR;
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static int declare(ps_sql_context *c, sqlite3 *db, const ps_sql_table *form) {
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "CREATE TABLE x(");
    for (size_t i = 0; i < form->n_columns; i++) {
        const ps_sql_column *column = &form->columns[i];
        sqlite3_str_appendf(sql, "%s\"%w\" %s%s", i > 0 ? ", " : "", column->name,
                            ps_sql_type_name(column->type), column->hidden ? " HIDDEN" : "");
    }
    sqlite3_str_appendf(sql, ")");
    return ps_sql_declare(c, db, sqlite3_str_finish(sql));
}

typedef struct registered {
    ps_sql_context *c;
    ps_sql_table_id id;
} registered;

static int trace_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message) {
    (void)argc;
    (void)argv;
    (void)message;
    const registered *r = aux;
    trace_vtab *v = ps_calloc(1, sizeof *v);
    if (v == NULL) {
        return SQLITE_NOMEM;
    }
    v->c = r->c;
    v->form = &ps_sql_tables[r->id];
    v->table = ps_trace_table_of(r->id);
    for (size_t i = 0; i < v->form->n_columns; i++) {
        const ps_sql_column *column = &v->form->columns[i];
        v->numbers |= ps_sql_is_number(column) ? UINT64_C(1) << i : 0;
        v->rank_column = strcmp(column->name, "rank") == 0 ? (int)i : v->rank_column;
        v->profile_column = strcmp(column->name, "profile") == 0 ? (int)i : v->profile_column;
    }
    int rc = declare(v->c, db, v->form);
    if (rc != SQLITE_OK) {
        ps_free(v);
        return rc;
    }
    *out = &v->base;
    return SQLITE_OK;
}

static int trace_disconnect(sqlite3_vtab *base) {
    ps_free((trace_vtab *)base);
    return SQLITE_OK;
}

/* --- plans ------------------------------------------------------------------------------------------------------- */

static void add_needs(ps_sql_needs *all, ps_sql_needs more) {
    all->trace |= more.trace;
    all->links = all->links || more.links;
    all->self = all->self || more.self;
}

/* The column by whose text SQLite wants rows side by side, or in order, -1 for none. All profiles are in memory for it, and all their rows
 * are looked at: not where a cursor looks for a few of them, perhaps many times. */
static int group_column(const trace_vtab *v, const sqlite3_index_info *plan, const char *taken,
                        int n) {
    int column = plan->nOrderBy == 1 ? plan->aOrderBy[0].iColumn : -1;
    bool may = column >= 0 && column < 64 && (v->table->grouped >> column & 1) != 0 &&
               v->c->parts.all_stay;
    for (int i = 0; i < n && may; i++) {
        bool is_equal = taken[2 * i + 1] == '=' || taken[2 * i + 1] == 'i';
        uint64_t few = is_equal ? v->table->selective : v->table->narrowed;
        may = (few >> (taken[2 * i] - 'A') & 1) == 0;
    }
    return may ? column : -1;
}

/* DISTINCT: rows that repeat the column are not missed. SQLite may look at others before (WHERE): then which row comes counts. */
static bool wants_once(sqlite3_index_info *plan, int column) {
#if PS_SQL_HAS_IN
    return sqlite3_vtab_distinct(plan) >= 2 && plan->colUsed == UINT64_C(1) << column;
#else
    (void)plan;
    (void)column;
    return false;
#endif
}

/* Figures that only need the right order: an equal number of a slice leaves one row, an equal name a few, a bound of time a part. */
static void judge(const trace_vtab *v, sqlite3_index_info *plan, const char *taken, int n) {
    double rows = 1e6;
    double cost = 1e6;
    double parts = (double)(v->c->cluster->n_ranks + 1);
    rows *= parts;
    cost *= parts;
    for (int i = 0; i < n; i++) {
        int column = taken[2 * i] - 'A';
        bool is_equal = taken[2 * i + 1] == '=' || taken[2 * i + 1] == 'i';
        bool is_part = column == v->rank_column || column == v->profile_column;
        if (is_part && is_equal) {
            rows /= parts;
            cost /= parts;
        } else if ((v->table->selective >> column & 1) != 0 && is_equal) {
            rows /= 1e6;
            cost /= 1e6;
        } else if (is_equal) {
            rows /= 50;
            cost /= 4;
        } else {
            rows /= 4;
            cost /= 3;
        }
    }
    plan->estimatedRows = rows > 1 ? (sqlite3_int64)rows : 1;
    plan->estimatedCost = cost + 10;
}

static int trace_best_index(sqlite3_vtab *base, sqlite3_index_info *plan) {
    trace_vtab *v = (trace_vtab *)base;
    uint64_t ranks = UINT64_C(1) << v->rank_column | UINT64_C(1) << v->profile_column;
    const ps_taken_columns columns = {
        .numbers = v->numbers, .texts = v->table->interned, .sets = ranks};
    int n = ps_constraints_plan(plan, &columns);
    if (n < 0) {
        return SQLITE_NOMEM;
    }
    ps_sql_needs needs = v->table->needs(plan->colUsed);
    add_needs(&v->c->parts.needs, needs);
    plan->idxNum = needs.trace != 0 ? PLAN_READS : 0;
    int group = group_column(v, plan, plan->idxStr, n);
    if (group >= 0) {
        plan->idxNum |= PLAN_GROUPED | group << PLAN_GROUP_SHIFT;
        plan->idxNum |= plan->aOrderBy[0].desc ? PLAN_DOWN : 0;
        plan->idxNum |= wants_once(plan, group) ? PLAN_ONCE : 0;
        plan->orderByConsumed = 1;
    }
    judge(v, plan, plan->idxStr, n);
    return SQLITE_OK;
}

/* --- cursors ----------------------------------------------------------------------------------------------------- */

static int trace_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
    trace_cursor *cursor = ps_calloc(1, sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    cursor->v = (trace_vtab *)base;
    *out = &cursor->base;
    return SQLITE_OK;
}

static void leave_groups(groups *g) {
    for (size_t i = 0; i < g->n_parts; i++) {
        ps_sql_part_leave(g->parts[i].part);
        ps_free(g->parts[i].rows);
        ps_free(g->parts[i].starts);
    }
    ps_free(g->parts);
    ps_free(g->order);
    *g = (groups){0};
}

static void reset_cursor(trace_cursor *cursor) {
    ps_sql_part_leave(cursor->part);
    cursor->part = NULL;
    leave_groups(&cursor->groups);
    ps_constraints_fini(&cursor->wanted);
}

static int trace_close(sqlite3_vtab_cursor *base) {
    trace_cursor *cursor = (trace_cursor *)base;
    reset_cursor(cursor);
    ps_free(cursor);
    return SQLITE_OK;
}

static void keep_range(trace_cursor *cursor, const ps_number_range *range, uint32_t *first,
                       uint32_t *end) {
    int column = range->column;
    const ps_trace_table *table = cursor->v->table;
    bool is_done = column == cursor->v->rank_column || column == cursor->v->profile_column ||
                   (table->narrow != NULL && cursor->part->trace != NULL &&
                    table->narrow(cursor->part, range, first, end));
    if (!is_done) {
        cursor->ranges[cursor->n_ranges++] = *range;
    }
}

/* What of the constraints is left to compare in this part, and which rows are. */
static void begin_part(trace_cursor *cursor, uint32_t *first, uint32_t *end) {
    const ps_constraints *w = &cursor->wanted;
    const ps_trace_table *table = cursor->v->table;
    *first = 0;
    *end = table->n_rows(cursor->part);
    cursor->n_ranges = 0;
    for (size_t i = 0; i < w->n_ranges; i++) {
        keep_range(cursor, &w->ranges[i], first, end);
    }
    for (size_t i = 0; i < w->n_texts; i++) {
        const ps_text_term *term = &w->texts[i];
        int64_t number = 0;
        if ((table->interned >> term->column & 1) == 0) {
            continue;
        }
        if (!table->number_of_text(cursor->part, term->column, term->text, &number)) {
            *end = *first;
            return;
        }
        cursor->ranges[cursor->n_ranges++] = (ps_number_range){term->column, number, number};
    }
}

static bool is_row_wanted(const trace_cursor *cursor) {
    for (size_t i = 0; i < cursor->n_ranges; i++) {
        const ps_number_range *r = &cursor->ranges[i];
        int64_t number = cursor->v->table->number(&cursor->at, r->column);
        if (number < r->least || number > r->most) {
            return false;
        }
    }
    return true;
}

static void stand_in(trace_cursor *cursor, ps_sql_part *part) {
    const trace_vtab *v = cursor->v;
    cursor->at.part = part;
    cursor->at.text_stays = v->c->parts.all_stay;
    for (size_t i = 0; v->table->array != NULL && i < v->form->n_columns; i++) {
        column_array *a = &cursor->arrays[i];
        a->values = v->table->array(part, (int)i, &a->plus);
    }
}

/* --- row after row ----------------------------------------------------------------------------------------------- */

/* The next argument of the row, or of a row behind it. */
static bool next_arg(trace_cursor *cursor) {
    while (cursor->at.row < cursor->end) {
        cursor->n_args++;
        if (ps_arg_next(&cursor->at.rest, &cursor->at.arg)) {
            return true;
        }
        cursor->n_args = 0;
        cursor->at.row++;
        if (cursor->at.row < cursor->end) {
            cursor->at.rest = ps_trace_args(cursor->part->trace, cursor->at.row);
        }
    }
    return false;
}

/* From the row at which the cursor stands, if `stay`, else from the one behind it: the first that is wanted. */
static bool find_row(trace_cursor *cursor, bool stay) {
    if (cursor->v->table->nested) {
        while (next_arg(cursor)) {
            if (is_row_wanted(cursor)) {
                return true;
            }
        }
        return false;
    }
    cursor->at.row += stay ? 0 : 1;
    while (cursor->at.row < cursor->end && !is_row_wanted(cursor)) {
        cursor->at.row++;
    }
    return cursor->at.row < cursor->end;
}

static int next_of_parts(trace_cursor *cursor) {
    while (true) {
        ps_sql_part_leave(cursor->part);
        int rc = ps_part_walk_next(&cursor->walk, &cursor->v->base, &cursor->part);
        if (rc != SQLITE_OK || cursor->part == NULL) {
            cursor->is_end = true;
            return rc;
        }
        stand_in(cursor, cursor->part);
        begin_part(cursor, &cursor->at.row, &cursor->end);
        if (cursor->v->table->nested && cursor->at.row < cursor->end) {
            cursor->at.rest = ps_trace_args(cursor->part->trace, cursor->at.row);
            cursor->n_args = 0;
        }
        if (find_row(cursor, true)) {
            return SQLITE_OK;
        }
    }
}

/* --- by the text of a column ------------------------------------------------------------------------------------- */

/* What the rows of a part are grouped by: a text, or a kind. */
typedef struct grouping {
    const ps_str *texts;
    const uint8_t *kinds;
    uint32_t *group; /* [texts of the trace] */
} grouping;

static inline uint32_t group_of(const grouping *g, uint32_t row) {
    return g->texts != NULL ? g->group[g->texts[row].id] : g->kinds[row];
}

/* The group of each text of the part that a row of it has; `texts` numbers them over all parts, from 1; 0 is no text. False when
 * memory is out. */
static bool groups_of_texts(grouping *g, const ps_trace *t, uint32_t first, uint32_t end,
                            ps_strpool *texts) {
    uint32_t n = (uint32_t)ps_trace_n_texts(t);
    g->group = ps_calloc(n + 1, sizeof *g->group);
    for (uint32_t row = first; g->group != NULL && row < end; row++) {
        g->group[g->texts[row].id] = 1;
    }
    bool ok = g->group != NULL;
    for (uint32_t id = 0; id < n && ok; id++) {
        const ps_str s = {id};
        if (g->group[id] != 0) {
            g->group[id] =
                id == 0 ? 0
                        : ps_strpool_add(texts, ps_trace_text(t, s), ps_trace_text_len(t, s)).id;
            ok = id == 0 || g->group[id] != 0;
        }
    }
    return ok;
}

/* Counts the rows of each group, then puts each row in its place. */
static void place_rows(trace_cursor *cursor, const grouping *g, uint32_t first, uint32_t end,
                       part_groups *out) {
    bool all = cursor->n_ranges == 0;
    ps_trace_row *at = &cursor->at;
    for (at->row = first; at->row < end; at->row++) {
        if (all || is_row_wanted(cursor)) {
            out->starts[group_of(g, at->row) + 2]++;
        }
    }
    for (size_t k = 2; k < out->n_groups + 2; k++) {
        out->starts[k] += out->starts[k - 1];
    }
    for (at->row = first; at->row < end; at->row++) {
        if (all || is_row_wanted(cursor)) {
            out->rows[out->starts[group_of(g, at->row) + 1]++] = at->row;
        }
    }
}

static bool sort_part(trace_cursor *cursor, int column, ps_strpool *texts, part_groups *out) {
    uint32_t first = 0;
    uint32_t end = 0;
    const ps_trace_table *table = cursor->v->table;
    begin_part(cursor, &first, &end);
    grouping g = {.texts = table->texts(cursor->part, column),
                  .kinds = table->kinds(cursor->part, column)};
    bool ok = g.texts == NULL || groups_of_texts(&g, cursor->part->trace, first, end, texts);
    out->n_groups = g.texts != NULL ? texts->n : PS_N_SLICE_KINDS;
    out->starts = ps_calloc(out->n_groups + 2, sizeof *out->starts);
    out->rows = ps_calloc((size_t)(end - first) + 1, sizeof *out->rows);
    ok = ok && out->starts != NULL && out->rows != NULL;
    if (ok) {
        place_rows(cursor, &g, first, end, out);
    }
    ps_free(g.group);
    return ok;
}

typedef struct group_text {
    const char *text;
    size_t n;
    uint32_t group;
} group_text;

/* As SQLite orders texts: by their bytes, a beginning before what goes on. NULL is the first. */
static int compare_groups(const void *a, const void *b) {
    const group_text *x = a;
    const group_text *y = b;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

/* SQLite may want the groups in order, too (GROUP BY x ORDER BY x): it does not tell. */
static bool order_groups(groups *g, const ps_strpool *texts, bool of_kinds, bool down) {
    g->n_groups = of_kinds ? PS_N_SLICE_KINDS : texts->n;
    g->order = ps_calloc(g->n_groups + 1, sizeof *g->order);
    group_text *sorted = ps_calloc(g->n_groups + 1, sizeof *sorted);
    bool ok = g->order != NULL && sorted != NULL;
    size_t first = of_kinds ? 0 : 1; /* of texts the first is none: it stays there */
    for (size_t i = 0; i < g->n_groups && ok; i++) {
        const ps_str s = {(uint32_t)i};
        const char *text =
            of_kinds ? ps_slice_kind_name((ps_slice_kind)i) : ps_strpool_get(texts, s);
        size_t n = of_kinds ? strlen(text) : ps_strpool_len(texts, s);
        sorted[i] = (group_text){text, n, (uint32_t)i};
    }
    if (ok) {
        ps_sort(sorted + first, g->n_groups - first, sizeof *sorted, compare_groups);
    }
    for (size_t i = 0; i < g->n_groups && ok; i++) {
        g->order[down ? g->n_groups - 1 - i : i] = sorted[i].group;
    }
    ps_free(sorted);
    return ok;
}

/* The text that the rows of a group have in common: looked up once, not row by row. */
static void note_group_text(trace_cursor *cursor, const ps_sql_part *part, uint32_t row) {
    groups *g = &cursor->groups;
    const ps_trace_table *table = cursor->v->table;
    const ps_str *texts = table->texts(part, g->column);
    if (texts == NULL) {
        g->text = table->kind_name(table->kinds(part, g->column)[row]);
        g->text_len = strlen(g->text);
    } else if (ps_str_is_none(texts[row])) {
        g->text = NULL;
    } else {
        g->text = ps_trace_text(part->trace, texts[row]);
        g->text_len = ps_trace_text_len(part->trace, texts[row]);
    }
}

/* The part that has the next rows of this group, or of the next one that has any. */
static bool find_group(trace_cursor *cursor) {
    groups *g = &cursor->groups;
    for (; g->place < g->n_groups; g->place++, g->part = 0) {
        uint32_t group = g->order[g->place];
        while (g->part < g->n_parts) {
            const part_groups *p = &g->parts[g->part++];
            /* A part knows the groups that there were when it was sorted. */
            if (group < p->n_groups && p->starts[group] < p->starts[group + 1]) {
                g->next = p->rows + p->starts[group];
                g->end = cursor->is_once ? g->next + 1 : p->rows + p->starts[group + 1];
                g->part = cursor->is_once ? g->n_parts : g->part;
                if (cursor->at.part != p->part) {
                    stand_in(cursor, p->part);
                }
                note_group_text(cursor, p->part, *g->next);
                return true;
            }
        }
    }
    return false;
}

/* Goes to the next row, or the first. */
static inline void next_of_groups(trace_cursor *cursor) {
    groups *g = &cursor->groups;
    if (g->next < g->end || find_group(cursor)) {
        cursor->at.row = *g->next++;
    } else {
        cursor->is_end = true;
    }
}

static int begin_groups(trace_cursor *cursor, int column, bool down) {
    ps_sql_context *c = cursor->v->c;
    groups *g = &cursor->groups;
    ps_strpool texts;
    bool ok = ps_strpool_init(&texts);
    bool of_kinds = false;
    g->column = column;
    g->parts = ps_calloc(c->cluster->n_ranks + 1, sizeof *g->parts);
    ok = ok && g->parts != NULL;
    int rc = SQLITE_OK;
    while (ok &&
           (rc = ps_part_walk_next(&cursor->walk, &cursor->v->base, &cursor->part)) == SQLITE_OK &&
           cursor->part != NULL) {
        part_groups *of_part = &g->parts[g->n_parts++];
        stand_in(cursor, cursor->part);
        of_kinds = cursor->v->table->texts(cursor->part, column) == NULL;
        ok = sort_part(cursor, column, &texts, of_part);
        of_part->part = cursor->part;
        cursor->part = NULL;
    }
    ok = ok && order_groups(g, &texts, of_kinds, down);
    ps_strpool_fini(&texts);
    if (ok && rc == SQLITE_OK) {
        next_of_groups(cursor);
    }
    return ok ? rc : SQLITE_NOMEM;
}

/* --- the module -------------------------------------------------------------------------------------------------- */

static int trace_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int n,
                        sqlite3_value **values) {
    trace_cursor *cursor = (trace_cursor *)base;
    reset_cursor(cursor);
    cursor->walk = (ps_part_walk){.c = cursor->v->c,
                                  .wanted = &cursor->wanted,
                                  .rank_column = cursor->v->rank_column,
                                  .profile_column = cursor->v->profile_column,
                                  .reads = (plan & PLAN_READS) != 0};
    cursor->is_grouped = (plan & PLAN_GROUPED) != 0;
    cursor->is_once = (plan & PLAN_ONCE) != 0;
    cursor->is_end = false;
    if (!ps_constraints_read(&cursor->wanted, text, n, values)) {
        return SQLITE_NOMEM;
    }
    if (cursor->wanted.none) {
        cursor->is_end = true;
        return SQLITE_OK;
    }
    return cursor->is_grouped
               ? begin_groups(cursor, plan >> PLAN_GROUP_SHIFT, (plan & PLAN_DOWN) != 0)
               : next_of_parts(cursor);
}

static int trace_next(sqlite3_vtab_cursor *base) {
    trace_cursor *cursor = (trace_cursor *)base;
    if (cursor->is_grouped) {
        next_of_groups(cursor);
        return SQLITE_OK;
    }
    return find_row(cursor, false) ? SQLITE_OK : next_of_parts(cursor);
}

static int trace_eof(sqlite3_vtab_cursor *base) {
    return ((trace_cursor *)base)->is_end;
}

static int trace_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column) {
    const trace_cursor *cursor = (const trace_cursor *)base;
    const trace_vtab *v = cursor->v;
    const column_array *array = &cursor->arrays[column];
    if (cursor->groups.text != NULL && column == cursor->groups.column) {
        /* All profiles stay in memory while rows come in groups. */
        sqlite3_result_text64(out, cursor->groups.text, cursor->groups.text_len, SQLITE_STATIC,
                              SQLITE_UTF8);
        return SQLITE_OK;
    }
    if (array->values != NULL) {
        sqlite3_result_int64(out, array->values[cursor->at.row] + array->plus);
        return SQLITE_OK;
    }
    if ((v->numbers >> column & 1) == 0) {
        v->table->cell(&cursor->at, column, out);
        return SQLITE_OK;
    }
    int64_t number = v->table->number(&cursor->at, column);
    if (number != INT64_MIN) {
        sqlite3_result_int64(out, number);
    }
    return SQLITE_OK;
}

/* SQLite tells rows apart by it where it looks for them in several ways (OR). */
static int trace_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    const trace_cursor *cursor = (const trace_cursor *)base;
    *out = (sqlite3_int64)((uint64_t)cursor->at.part->index << 48 | (uint64_t)cursor->at.row << 16 |
                           (cursor->n_args & 0xFFFF));
    return SQLITE_OK;
}

static const sqlite3_module TRACE_MODULE = {
    .iVersion = 1,
    .xConnect = trace_connect, /* no xCreate: the tables are there, none can be made */
    .xBestIndex = trace_best_index,
    .xDisconnect = trace_disconnect,
    .xDestroy = trace_disconnect,
    .xOpen = trace_open,
    .xClose = trace_close,
    .xFilter = trace_filter,
    .xNext = trace_next,
    .xEof = trace_eof,
    .xColumn = trace_column,
    .xRowid = trace_rowid,
};

static void free_registered(void *aux) {
    ps_free(aux);
}

int ps_sql_add_trace_tables(sqlite3 *db, ps_sql_context *c) {
    int rc = SQLITE_OK;
    for (int id = 0; id < (int)PS_SQL_FIRST_PROFILE_TABLE && rc == SQLITE_OK; id++) {
        registered *r = ps_alloc(sizeof *r);
        if (r == NULL) {
            return SQLITE_NOMEM;
        }
        *r = (registered){c, (ps_sql_table_id)id};
        rc =
            sqlite3_create_module_v2(db, ps_sql_tables[id].name, &TRACE_MODULE, r, free_registered);
    }
    return rc;
}
