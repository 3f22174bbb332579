#include "analyze/whatif/split_search.h"

#include <string.h>

#include "base/alloc.h"

/* Paths and limits that are kept; with more the best split is no longer proven. */
#define MOST_ROWS 512

/* A line that splits are measured by: base + sum of coef x layers. A path must be shorter than the best step, what a place holds
 * must not be more than its limit. */
typedef struct row {
    int64_t *coef; /* [n_pieces] */
    int64_t base;
    int64_t limit;
    bool is_path; /* its limit is the best step less 1 */
} row;

typedef struct search {
    const ps_split_judge *judge;
    int32_t n;      /* pieces */
    int32_t *trial; /* [n] */
    int64_t *coef;  /* [n] of the path that was told last */
    row rows[MOST_ROWS];
    size_t n_rows;
    bool is_full;      /* a row was lost */
    bool lacks_memory; /* the search is not the one that it would be */
    int64_t *bound_ns; /* [n * n] of the neighbours of the best split, from x n + to */
    int32_t *best;     /* [n] */
    int64_t best_ns;   /* INT64_MAX: none yet */
    size_t work, n_tried;
    ps_err *err;
} search;

/* Whether there is so much left; takes it. */
static bool take_work(search *x, size_t n) {
    bool is_left = x->work >= n;
    x->work -= is_left ? n : x->work;
    return is_left;
}

/* The sum of coef x layers. */
static int64_t grown_by(const search *x, const int64_t *coef, const int32_t *layers) {
    int64_t sum = 0;
    for (int32_t i = 0; i < x->n; i++) {
        sum += coef[i] * layers[i];
    }
    return sum;
}

static int64_t row_limit(const search *x, const row *r) {
    return r->is_path && x->best_ns != INT64_MAX ? x->best_ns - 1 : r->limit;
}

/* Takes x->coef over as a row; without room for more it is lost (is_full). */
static void add_row(search *x, int64_t base, int64_t limit, bool is_path) {
    size_t size = (size_t)x->n * sizeof *x->coef;
    x->is_full = x->is_full || x->n_rows >= MOST_ROWS;
    int64_t *coef = x->n_rows < MOST_ROWS ? ps_calloc(1, size) : NULL;
    if (coef == NULL) {
        x->lacks_memory = x->lacks_memory || x->n_rows < MOST_ROWS;
        return;
    }
    memcpy(coef, x->coef, size);
    x->rows[x->n_rows++] = (row){coef, base, limit, is_path};
}

/* --- a split ------------------------------------------------------------------------------------------------------- */

/* Limits that the split breaks become rows. */
static bool keeps_limits(search *x, const int32_t *layers) {
    const ps_split_judge *j = x->judge;
    bool fits = true;
    for (int32_t place = 0; place < j->n_places; place++) {
        ps_split_limit broken = {.coef = x->coef};
        memset(x->coef, 0, (size_t)x->n * sizeof *x->coef);
        if (!j->keeps_limit(j->about, layers, place, &broken)) {
            fits = false;
            add_row(x, broken.base, broken.limit, false);
        }
    }
    return fits;
}

/* Asks the step of a split that keeps the limits, notes its longest path, and takes it when it is better. */
static ps_code try_layers(search *x, const int32_t *layers, bool *is_better) {
    int64_t step_ns = 0;
    *is_better = false;
    memset(x->coef, 0, (size_t)x->n * sizeof *x->coef);
    ps_code code = x->judge->step(x->judge->about, layers, x->coef, &step_ns, x->err);
    if (code != PS_OK) {
        return code;
    }
    x->n_tried++;
    (void)take_work(x, x->judge->cost);
    add_row(x, step_ns - grown_by(x, x->coef, layers), INT64_MAX, true);
    if (step_ns < x->best_ns) {
        *is_better = true;
        x->best_ns = step_ns;
        memmove(x->best, layers, (size_t)x->n * sizeof *layers);
    }
    return PS_OK;
}

/* --- 1. the fastest slowest place ------------------------------------------------------------------------------------ */

/* Each layer goes to the place that is fastest with it: none can do better than the slowest of these, for a place's time only grows
 * with its layers. False when some layer fits nowhere. */
static bool spread_layers(search *x, int32_t *layers) {
    const ps_split_judge *j = x->judge;
    for (int32_t i = 0; i < x->n; i++) {
        layers[i] = j->least;
    }
    if (x->n * j->least > j->n_layers) {
        return false;
    }
    for (int32_t l = x->n * j->least; l < j->n_layers; l++) {
        int32_t best = -1;
        int64_t least = INT64_MAX;
        for (int32_t place = 0; place < j->n_places; place++) {
            int64_t busy = 0;
            int32_t piece = j->next_piece(j->about, layers, place);
            layers[piece]++;
            if (j->busy(j->about, layers, piece, &busy) && busy < least) {
                least = busy;
                best = piece;
            }
            layers[piece]--;
        }
        if (best < 0) {
            return false;
        }
        layers[best]++;
    }
    return keeps_limits(x, layers);
}

/* --- 2. neighbours --------------------------------------------------------------------------------------------------- */

/* What no step of the neighbours of the best split can be below, by the rows from `first` on. */
static void bound_neighbours(search *x, size_t first) {
    size_t n = (size_t)x->n;
    for (size_t k = first; k < x->n_rows; k++) {
        const row *r = &x->rows[k];
        int64_t value = r->base + grown_by(x, r->coef, x->best);
        for (size_t from = 0; from < n; from++) {
            for (size_t to = 0; to < n; to++) {
                int64_t moved = value - r->coef[from] + r->coef[to];
                int64_t least = r->is_path ? moved : moved > r->limit ? INT64_MAX : 0;
                int64_t *bound = &x->bound_ns[from * n + to];
                *bound = least > *bound ? least : *bound;
            }
        }
    }
    (void)take_work(x, (x->n_rows - first) * n * n);
}

static void begin_neighbours(search *x) {
    size_t n = (size_t)x->n;
    for (size_t from = 0; from < n; from++) {
        for (size_t to = 0; to < n; to++) {
            bool is_one = from != to && x->best[from] > x->judge->least;
            x->bound_ns[from * n + to] = is_one ? 0 : INT64_MAX;
        }
    }
    bound_neighbours(x, 0);
}

/* The neighbour that may be shortest, SIZE_MAX when none can be shorter than the best. */
static size_t most_promising(search *x) {
    size_t n = (size_t)x->n * (size_t)x->n;
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        bool is_less = x->bound_ns[i] < (at == SIZE_MAX ? x->best_ns : x->bound_ns[at]);
        at = is_less ? i : at;
    }
    (void)take_work(x, n);
    return at;
}

static ps_code improve_split(search *x) {
    ps_code code = PS_OK;
    begin_neighbours(x);
    while (code == PS_OK && x->work > 0) {
        size_t at = most_promising(x);
        size_t known = x->n_rows;
        bool is_better = false;
        if (at == SIZE_MAX) {
            break;
        }
        memcpy(x->trial, x->best, (size_t)x->n * sizeof *x->trial);
        x->trial[at / (size_t)x->n]--;
        x->trial[at % (size_t)x->n]++;
        bool fits = keeps_limits(x, x->trial);
        code = fits ? try_layers(x, x->trial, &is_better) : PS_OK;
        x->bound_ns[at] = INT64_MAX; /* known now */
        if (is_better) {
            begin_neighbours(x);
        } else {
            bound_neighbours(x, known);
        }
    }
    return code;
}

/* --- 3. what no known path forbids ------------------------------------------------------------------------------------ */

typedef struct descent {
    search *x;
    int64_t *slack; /* [rows] what is left of a row's limit */
    int64_t *least; /* [rows * (n + 1)] the least coefficient of the pieces from i on */
    bool is_cut;    /* work ran out */
} descent;

/* How many layers piece i can have at most when `left` layers go to the pieces from `first` on. */
static int32_t most_layers(const descent *d, int32_t first, int32_t i, int32_t left) {
    const search *x = d->x;
    int64_t most = left;
    for (size_t k = 0; k < x->n_rows; k++) {
        int64_t least = d->least[k * ((size_t)x->n + 1) + (size_t)first];
        int64_t more = x->rows[k].coef[i] - least;
        int64_t room = d->slack[k] - left * least;
        most = more > 0 && room / more < most ? room / more : most;
    }
    return (int32_t)(most < 0 ? 0 : most);
}

/* Whether the rows leave room for `left` layers on the pieces from `first` on. */
static bool has_room(descent *d, int32_t first, int32_t left) {
    search *x = d->x;
    int64_t room = 0;
    if (left < (x->n - first) * x->judge->least) {
        return false;
    }
    if (!take_work(x, x->n_rows * (size_t)(x->n - first + 1))) {
        d->is_cut = true;
        return false;
    }
    for (size_t k = 0; k < x->n_rows; k++) {
        if (d->slack[k] < left * d->least[k * ((size_t)x->n + 1) + (size_t)first]) {
            return false;
        }
    }
    for (int32_t i = first; i < x->n && room < left; i++) {
        room += most_layers(d, first, i, left);
    }
    return room >= left;
}

static void put_layers(descent *d, int32_t i, int32_t n) {
    for (size_t k = 0; k < d->x->n_rows; k++) {
        d->slack[k] -= n * d->x->rows[k].coef[i];
    }
    d->x->trial[i] += n;
}

/* Whether x->trial can be filled from piece i on; nearest to the best split first. */
static bool fill_from(descent *d, int32_t i, int32_t left) {
    search *x = d->x;
    if (!has_room(d, i, left)) {
        return false;
    }
    int32_t most = most_layers(d, i, i, left);
    if (i == x->n - 1) {
        if (most == left) {
            put_layers(d, i, left);
        }
        return most == left;
    }
    int32_t middle = x->best_ns != INT64_MAX ? x->best[i] : x->judge->n_layers / x->n;
    middle = middle < most ? middle : most;
    for (int32_t away = 0; !d->is_cut && (middle - away >= 0 || middle + away <= most); away++) {
        for (int32_t sign = -1; sign <= (away > 0 ? 1 : -1); sign += 2) {
            int32_t n = middle + sign * away;
            if (n < x->judge->least || n > most) {
                continue;
            }
            put_layers(d, i, n);
            if (fill_from(d, i + 1, left - n)) {
                return true;
            }
            put_layers(d, i, -n);
        }
    }
    return false;
}

/* A split that no row forbids into x->trial. False when there is none; *is_cut when that is not known. */
static bool find_allowed(search *x, bool *is_cut) {
    size_t width = (size_t)x->n + 1;
    descent d = {.x = x,
                 .slack = ps_calloc(x->n_rows + 1, sizeof *d.slack),
                 .least = ps_calloc((x->n_rows + 1) * width, sizeof *d.least)};
    bool found = false;
    *is_cut = d.slack == NULL || d.least == NULL;
    x->lacks_memory = x->lacks_memory || *is_cut;
    for (size_t k = 0; !*is_cut && k < x->n_rows; k++) {
        const row *r = &x->rows[k];
        d.slack[k] = row_limit(x, r) - r->base;
        d.least[k * width + (size_t)x->n] = 0;
        for (int32_t i = x->n - 1; i >= 0; i--) {
            int64_t after = d.least[k * width + (size_t)i + 1];
            d.least[k * width + (size_t)i] =
                i == x->n - 1 || r->coef[i] < after ? r->coef[i] : after;
        }
    }
    memset(x->trial, 0, (size_t)x->n * sizeof *x->trial);
    if (!*is_cut) {
        found = fill_from(&d, 0, x->judge->n_layers);
        *is_cut = !found && d.is_cut;
    }
    ps_free(d.slack);
    ps_free(d.least);
    return found;
}

/* *is_proven: no split that keeps the limits is better than the best one, or there is none at all. */
static ps_code search_allowed(search *x, bool *is_proven) {
    ps_code code = PS_OK;
    bool is_cut = false;
    *is_proven = false;
    while (code == PS_OK && x->work > 0 && !x->is_full && !x->lacks_memory &&
           find_allowed(x, &is_cut)) {
        bool is_better = false;
        if (!keeps_limits(x, x->trial)) {
            continue;
        }
        code = try_layers(x, x->trial, &is_better);
        code = code == PS_OK && is_better ? improve_split(x) : code;
    }
    *is_proven = code == PS_OK && !is_cut && !x->is_full && x->work > 0;
    return code;
}

/* --- all together --------------------------------------------------------------------------------------------------- */

static bool search_init(search *x) {
    size_t n = (size_t)x->n;
    x->trial = ps_calloc(n + 1, sizeof *x->trial);
    x->coef = ps_calloc(n + 1, sizeof *x->coef);
    x->best = ps_calloc(n + 1, sizeof *x->best);
    x->bound_ns = ps_calloc(n * n + 1, sizeof *x->bound_ns);
    return x->trial != NULL && x->coef != NULL && x->best != NULL && x->bound_ns != NULL;
}

static void search_fini(search *x) {
    for (size_t k = 0; k < x->n_rows; k++) {
        ps_free(x->rows[k].coef);
    }
    ps_free(x->trial);
    ps_free(x->coef);
    ps_free(x->best);
    ps_free(x->bound_ns);
}

static ps_code find_layers(search *x, bool *is_proven) {
    const int32_t *now = x->judge->now;
    bool is_better = false;
    ps_code code = now != NULL && keeps_limits(x, now) ? try_layers(x, now, &is_better) : PS_OK;
    if (code == PS_OK && spread_layers(x, x->trial)) {
        code = try_layers(x, x->trial, &is_better);
    }
    code = code == PS_OK && x->best_ns != INT64_MAX ? improve_split(x) : code;
    code = code == PS_OK ? search_allowed(x, is_proven) : code;
    if (code == PS_OK && x->best_ns == INT64_MAX) {
        return *is_proven
                   ? ps_fail_said(x->err, PS_NOTHING, "no split of %d layers keeps the limits",
                                  "%d 层没有满足限制的划分", (int)x->judge->n_layers)
                   : ps_fail_said(x->err, PS_NOTHING,
                                  "no split of %d layers was found that keeps the limits",
                                  "%d 层未找到满足限制的划分", (int)x->judge->n_layers);
    }
    return code;
}

ps_code ps_split_search(const ps_split_judge *judge, size_t work, ps_layer_split *out,
                        ps_err *err) {
    *out = (ps_layer_split){.n_pieces = judge->n_pieces};
    search *x = ps_calloc(1, sizeof *x); /* its rows are many */
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    *x = (search){
        .judge = judge, .n = judge->n_pieces, .best_ns = INT64_MAX, .work = work, .err = err};
    ps_code code = search_init(x) ? find_layers(x, &out->is_proven) : ps_fail_nomem(err);
    code = x->lacks_memory && code != PS_NOMEM ? ps_fail_nomem(err) : code;
    if (code == PS_OK) {
        out->layers = x->best;
        x->best = NULL;
        out->step_ns = x->best_ns;
    }
    out->n_tried = x->n_tried;
    search_fini(x);
    ps_free(x);
    return code;
}

void ps_layer_split_fini(ps_layer_split *s) {
    ps_free(s->layers);
    *s = (ps_layer_split){0};
}
