/* Functions of queries. All are deterministic and look at nothing but their arguments. */
#include <math.h>
#include <string.h>

#include "analyze/stats/stats.h"
#include "base/num.h"
#include "base/order.h"
#include "base/pattern.h"
#include "base/sort.h"
#include "query/context.h"

/* --- overlap(a0, a1, b0, b1) ------------------------------------------------------------------------------------- */

/* The length that [a0, a1) and [b0, b1) share, 0 where they do not meet; NULL when any of them is. */
static void overlap(sqlite3_context *out, int n, sqlite3_value **v) {
    for (int i = 0; i < n; i++) {
        if (sqlite3_value_type(v[i]) == SQLITE_NULL) {
            return;
        }
    }
    int64_t a0 = sqlite3_value_int64(v[0]);
    int64_t a1 = sqlite3_value_int64(v[1]);
    int64_t b0 = sqlite3_value_int64(v[2]);
    int64_t b1 = sqlite3_value_int64(v[3]);
    int64_t from = a0 > b0 ? a0 : b0;
    int64_t to = a1 < b1 ? a1 : b1;
    int64_t length = 0;
    if (to > from && __builtin_sub_overflow(to, from, &length)) {
        sqlite3_result_error(out, "overlap: integer overflow", -1);
        return;
    }
    sqlite3_result_int64(out, length);
}

/* --- human_ns(x) ------------------------------------------------------------------------------------------------- */

static void human_ns(sqlite3_context *out, int n, sqlite3_value **v) {
    (void)n;
    int type = sqlite3_value_numeric_type(v[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        return;
    }
    double real = sqlite3_value_double(v[0]);
    bool fits = type == SQLITE_INTEGER || fabs(real) < 9e18;
    if (fits) {
        ps_ns_text text = ps_ns_text_of(type == SQLITE_INTEGER ? sqlite3_value_int64(v[0])
                                                               : (int64_t)llround(real));
        sqlite3_result_text(out, text.text, -1, SQLITE_TRANSIENT);
    }
}

/* --- name_like(text, part [, how]) ------------------------------------------------------------------------------- */

static void free_pattern(void *pattern) {
    ps_pattern_free(pattern);
}

/* Letters: c case differs, w whole words, r a regular expression. */
static bool pattern_how(const char *letters, unsigned *how) {
    *how = 0;
    for (const char *p = letters; *p != '\0'; p++) {
        unsigned bit = *p == 'c'   ? PS_PATTERN_CASE
                       : *p == 'w' ? PS_PATTERN_WORD
                       : *p == 'r' ? PS_PATTERN_REGEX
                                   : 0;
        if (bit == 0) {
            return false;
        }
        *how |= bit;
    }
    return true;
}

static ps_pattern *make_pattern(sqlite3_context *out, int n, sqlite3_value **v) {
    const char *letters = n > 2 ? (const char *)sqlite3_value_text(v[2]) : "";
    unsigned how = 0;
    if (letters == NULL || !pattern_how(letters, &how)) {
        sqlite3_result_error(
            out,
            "name_like: the third argument holds letters: c case differs, w words, r regular expression",
            -1);
        return NULL;
    }
    ps_err err = PS_ERR_INIT;
    const char *text = (const char *)sqlite3_value_text(v[1]);
    ps_pattern *p =
        text != NULL ? ps_pattern_new(text, (size_t)sqlite3_value_bytes(v[1]), how, &err) : NULL;
    if (p == NULL && (text == NULL || err.code == PS_NOMEM)) {
        sqlite3_result_error_nomem(out);
    } else if (p == NULL) {
        sqlite3_result_error(out, err.msg, -1);
    }
    return p;
}

static void name_like(sqlite3_context *out, int n, sqlite3_value **v) {
    if (sqlite3_value_type(v[0]) == SQLITE_NULL || sqlite3_value_type(v[1]) == SQLITE_NULL) {
        return;
    }
    ps_pattern *kept = sqlite3_get_auxdata(out, 1);
    ps_pattern *p = kept != NULL ? kept : make_pattern(out, n, v);
    const char *text = p != NULL ? (const char *)sqlite3_value_text(v[0]) : NULL;
    if (p == NULL) {
        return;
    }
    bool found = text != NULL && ps_pattern_in(p, text, (size_t)sqlite3_value_bytes(v[0]));
    if (ps_pattern_ended(p) != PS_OK) {
        sqlite3_result_error(out, "name_like: the expression takes too long on these texts", -1);
    } else {
        sqlite3_result_int(out, found);
    }
    if (kept == NULL) {
        sqlite3_set_auxdata(out, 1, p, free_pattern); /* may free it at once */
    }
}

/* --- percentile(x, p) -------------------------------------------------------------------------------------------- */

/* All values, in memory that counts for the limit of the query. Whole numbers stay whole until there is one that is not. */
typedef struct percentile {
    int64_t *whole;
    double *reals; /* NULL: all are whole */
    size_t n, cap;
    double percent;
    bool failed;
} percentile;

static bool percentile_room(percentile *p) {
    if (p->n < p->cap) {
        return true;
    }
    size_t cap = p->cap > 0 ? 2 * p->cap : 64;
    void *more = sqlite3_realloc64(p->reals != NULL ? (void *)p->reals : (void *)p->whole,
                                   cap * sizeof(int64_t));
    if (more == NULL) {
        return false;
    }
    p->cap = cap;
    *(p->reals != NULL ? (void **)&p->reals : (void **)&p->whole) = more;
    return true;
}

static bool become_reals(percentile *p) {
    double *reals = sqlite3_malloc64(p->cap * sizeof *reals);
    for (size_t i = 0; reals != NULL && i < p->n; i++) {
        reals[i] = (double)p->whole[i];
    }
    sqlite3_free(p->whole);
    p->whole = NULL;
    p->reals = reals;
    return reals != NULL;
}

static void percentile_step(sqlite3_context *out, int n, sqlite3_value **v) {
    (void)n;
    percentile *p = sqlite3_aggregate_context(out, sizeof *p);
    int type = sqlite3_value_numeric_type(v[0]);
    if (p == NULL || p->failed || (type != SQLITE_INTEGER && type != SQLITE_FLOAT)) {
        return;
    }
    p->percent = sqlite3_value_double(v[1]);
    if (!(p->percent >= 0 && p->percent <= 100)) {
        p->failed = true;
        sqlite3_result_error(out, "percentile: the second argument is a number from 0 to 100", -1);
        return;
    }
    bool ok = percentile_room(p) && (type == SQLITE_INTEGER || p->reals != NULL || become_reals(p));
    if (!ok) {
        p->failed = true;
        sqlite3_result_error_nomem(out);
        return;
    }
    if (p->reals != NULL) {
        p->reals[p->n++] = sqlite3_value_double(v[0]);
    } else {
        p->whole[p->n++] = sqlite3_value_int64(v[0]);
    }
}

static int compare_reals(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void percentile_end(sqlite3_context *out) {
    percentile *p = sqlite3_aggregate_context(out, 0);
    if (p != NULL && p->n > 0 && !p->failed) {
        if (p->reals != NULL) {
            ps_sort(p->reals, p->n, sizeof *p->reals, compare_reals);
            sqlite3_result_double(out,
                                  ps_stats_quantile_of_reals(p->reals, p->n, p->percent / 100));
        } else {
            ps_sort(p->whole, p->n, sizeof *p->whole, ps_compare_i64);
            sqlite3_result_double(out, ps_stats_quantile(p->whole, p->n, p->percent / 100));
        }
    }
    if (p != NULL) {
        sqlite3_free(p->whole);
        sqlite3_free(p->reals);
    }
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

int ps_sql_add_functions(sqlite3 *db) {
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int rc = sqlite3_create_function_v2(db, "overlap", 4, flags, NULL, overlap, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_create_function_v2(db, "human_ns", 1, flags, NULL, human_ns, NULL, NULL, NULL);
    }
    for (int n = 2; n <= 3 && rc == SQLITE_OK; n++) {
        rc = sqlite3_create_function_v2(db, "name_like", n, flags, NULL, name_like, NULL, NULL,
                                        NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_create_function_v2(db, "percentile", 2, flags, NULL, NULL, percentile_step,
                                        percentile_end, NULL);
    }
    return rc;
}
