#include "query/constraints.h"

#include <math.h>
#include <string.h>

#include "query/context.h"

/* A plan is a text of two letters a constraint: the column from 'A' on, and the operator. */
enum {
    OP_IS = '=',
    OP_LESS = '<',
    OP_AT_MOST = 'l',
    OP_MORE = '>',
    OP_AT_LEAST = 'g',
    OP_IN = 'i'
};

static char operator_of(unsigned char op) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return OP_IS;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return OP_LESS;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return OP_AT_MOST;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return OP_MORE;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return OP_AT_LEAST;
    default:
        return 0;
    }
}

static bool takes_in(sqlite3_index_info *plan, int i) {
#if PS_SQL_HAS_IN
    return sqlite3_vtab_in(plan, i, 1) != 0;
#else
    (void)plan;
    (void)i;
    return false;
#endif
}

/* Texts are compared byte by byte. */
static bool is_binary(sqlite3_index_info *plan, int i) {
    const char *collation = sqlite3_vtab_collation(plan, i);
    return collation == NULL || strcmp(collation, "BINARY") == 0;
}

int ps_constraints_plan(sqlite3_index_info *plan, const ps_taken_columns *columns) {
    char *text = sqlite3_malloc(2 * PS_SQL_MOST_TERMS + 1);
    if (text == NULL) {
        return -1;
    }
    int n = 0;
    for (int i = 0; i < plan->nConstraint && n < PS_SQL_MOST_TERMS; i++) {
        int column = plan->aConstraint[i].iColumn;
        char op = operator_of(plan->aConstraint[i].op);
        uint64_t bit = column >= 0 && column < 64 ? UINT64_C(1) << column : 0;
        bool is_number = (columns->numbers & bit) != 0;
        bool is_text = (columns->texts & bit) != 0 && op == OP_IS && is_binary(plan, i);
        if (!plan->aConstraint[i].usable || op == 0 || (!is_number && !is_text)) {
            continue;
        }
        if (op == OP_IS && (columns->sets & bit) != 0 && takes_in(plan, i)) {
            op = OP_IN;
        }
        text[2 * n] = (char)('A' + column);
        text[2 * n + 1] = op;
        plan->aConstraintUsage[i].argvIndex = ++n;
    }
    text[2 * n] = '\0';
    plan->idxStr = text;
    plan->needToFreeIdxStr = 1;
    return n;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

/* A real between integers: the bound is the next one inside. */
static bool range_of_real(double value, char op, ps_number_range *range) {
    if (!(fabs(value) < 4e18)) {
        return false;
    }
    int64_t below = (int64_t)floor(value);
    bool whole = (double)below == value;
    switch (op) {
    case OP_IS:
        range->least = whole ? below : 1;
        range->most = whole ? below : 0;
        break;
    case OP_LESS:
        range->most = whole ? below - 1 : below;
        break;
    case OP_AT_MOST:
        range->most = below;
        break;
    case OP_MORE:
        range->least = below + 1;
        break;
    default:
        range->least = whole ? below : below + 1;
        break;
    }
    return true;
}

static bool range_of_int(int64_t value, char op, ps_number_range *range) {
    switch (op) {
    case OP_IS:
        range->least = value;
        range->most = value;
        return true;
    case OP_LESS:
        range->most = value > INT64_MIN ? value - 1 : value;
        return value > INT64_MIN;
    case OP_AT_MOST:
        range->most = value;
        return true;
    case OP_MORE:
        range->least = value < INT64_MAX ? value + 1 : value;
        return value < INT64_MAX;
    default:
        range->least = value;
        return true;
    }
}

static void take_number(ps_constraints *c, int column, char op, sqlite3_value *value) {
    ps_number_range range = {.column = column, .least = INT64_MIN, .most = INT64_MAX};
    int type = sqlite3_value_type(value);
    bool known = type == SQLITE_INTEGER ? range_of_int(sqlite3_value_int64(value), op, &range)
                 : type == SQLITE_FLOAT ? range_of_real(sqlite3_value_double(value), op, &range)
                                        : false;
    if (known) {
        c->ranges[c->n_ranges++] = range;
    }
}

static bool take_text(ps_constraints *c, int column, sqlite3_value *value) {
    const char *given = (const char *)sqlite3_value_text(value);
    if (given == NULL || strlen(given) != (size_t)sqlite3_value_bytes(value)) {
        return given != NULL; /* zero bytes inside: SQLite compares */
    }
    char *text = sqlite3_mprintf("%s", given);
    if (text != NULL) {
        c->texts[c->n_texts++] = (ps_text_term){column, text};
    }
    return text != NULL;
}

static bool take_set(ps_constraints *c, int column, sqlite3_value *list) {
#if PS_SQL_HAS_IN
    ps_set_term set = {.column = column};
    size_t cap = 0;
    sqlite3_value *value = NULL;
    for (int rc = sqlite3_vtab_in_first(list, &value); rc == SQLITE_OK && value != NULL;
         rc = sqlite3_vtab_in_next(list, &value)) {
        if (set.n == cap) {
            cap = cap > 0 ? 2 * cap : 16;
            int64_t *more = sqlite3_realloc64(set.values, cap * sizeof *more);
            if (more == NULL) {
                sqlite3_free(set.values);
                return false;
            }
            set.values = more;
        }
        int type = sqlite3_value_numeric_type(value);
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
            set.values[set.n++] = sqlite3_value_int64(value);
        }
    }
    c->sets[c->n_sets++] = set;
#else
    (void)c;
    (void)column;
    (void)list;
#endif
    return true;
}

bool ps_constraints_read(ps_constraints *c, const char *plan, int n, sqlite3_value **values) {
    *c = (ps_constraints){0};
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        int column = plan[2 * i] - 'A';
        char op = plan[2 * i + 1];
        if (op == OP_IN) {
            ok = take_set(c, column, values[i]);
        } else if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
            c->none = true;
        } else if (sqlite3_value_type(values[i]) == SQLITE_TEXT && op == OP_IS) {
            ok = take_text(c, column, values[i]);
        } else {
            take_number(c, column, op, values[i]);
        }
    }
    return ok;
}

void ps_constraints_fini(ps_constraints *c) {
    for (size_t i = 0; i < c->n_texts; i++) {
        sqlite3_free(c->texts[i].text);
    }
    for (size_t i = 0; i < c->n_sets; i++) {
        sqlite3_free(c->sets[i].values);
    }
    *c = (ps_constraints){0};
}

static bool is_in(const ps_set_term *set, int64_t number) {
    for (size_t i = 0; i < set->n; i++) {
        if (set->values[i] == number) {
            return true;
        }
    }
    return false;
}

bool ps_constraints_hold(const ps_constraints *c, int column, int64_t number) {
    bool hold = true;
    for (size_t i = 0; i < c->n_ranges; i++) {
        const ps_number_range *r = &c->ranges[i];
        hold = hold && (r->column != column || (number >= r->least && number <= r->most));
    }
    for (size_t i = 0; i < c->n_sets; i++) {
        hold = hold && (c->sets[i].column != column || is_in(&c->sets[i], number));
    }
    return hold;
}
