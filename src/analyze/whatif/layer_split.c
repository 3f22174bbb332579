#include "analyze/whatif/layer_split.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Paths and limits that are kept; with more the best split is no longer proven. */
#define MOST_ROWS 512
/* What an op of a simulation costs, in units of work. */
#define OP_WORK 8

/* A line that splits are measured by: base + sum of coef x layers. A path must be shorter than the best step, what a device holds
 * must not be more than its limit. */
typedef struct row {
    int64_t *coef; /* [n_pieces] */
    int64_t base;
    int64_t limit;
    bool is_path; /* its limit is the best step less 1 */
} row;

typedef struct search {
    const ps_sim_plan *plan;
    const ps_plan_pieces *pieces;
    const ps_plan_limits *limits;
    int32_t n; /* pieces */
    ps_op_classes classes;
    int64_t *duration_ns, *end_ns; /* [n_ops] */
    double *parts;                 /* [n] */
    int32_t *trial, *held;         /* [n], [chunks] */
    row rows[MOST_ROWS];
    size_t n_rows;
    bool is_full;      /* a row was lost */
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

static int64_t row_value(const search *x, const row *r, const int32_t *layers) {
    int64_t sum = r->base;
    for (int32_t i = 0; i < x->n; i++) {
        sum += r->coef[i] * layers[i];
    }
    return sum;
}

static int64_t row_limit(const search *x, const row *r) {
    return r->is_path && x->best_ns != INT64_MAX ? x->best_ns - 1 : r->limit;
}

/* NULL when memory is out or no more are kept (is_full). */
static row *add_row(search *x) {
    row *r = &x->rows[x->n_rows];
    if (x->n_rows == MOST_ROWS) {
        x->is_full = true;
        return NULL;
    }
    *r = (row){.coef = ps_calloc((size_t)x->n, sizeof *r->coef), .limit = INT64_MAX};
    x->n_rows += r->coef != NULL;
    x->is_full = x->is_full || r->coef == NULL;
    return r->coef != NULL ? r : NULL;
}

/* --- a split ------------------------------------------------------------------------------------------------------- */

/* The op whose end lets `op` begin at start_ns, PS_NO_OP for none; *lag: what passed on the way. */
static uint32_t before_on_path(const search *x, uint32_t op, int64_t start_ns, int64_t *lag) {
    const ps_sim_plan *p = x->plan;
    const uint32_t inputs[] = {p->forward_input[op], p->backward_input[op]};
    *lag = 0;
    for (size_t i = 0; i < 2; i++) {
        if (inputs[i] != PS_NO_OP) {
            int64_t far = p->device[inputs[i]] != p->device[op] ? x->pieces->p2p_ns : 0;
            if (x->end_ns[inputs[i]] + far == start_ns) {
                *lag = far;
                return inputs[i];
            }
        }
    }
    bool is_first = op == p->first[p->device[op]];
    return !is_first && x->end_ns[op - 1] == start_ns ? op - 1 : PS_NO_OP;
}

/* The longest path of the split that was simulated last, as a row. */
static void add_path(search *x, uint32_t last) {
    row *r = add_row(x);
    uint32_t op = last;
    while (r != NULL && op != PS_NO_OP) {
        const ps_op_class *c = &x->classes.classes[x->classes.of[op]];
        int64_t lag = 0;
        r->is_path = true;
        r->base += c->base_ns;
        r->coef[c->piece] += c->unit_ns;
        r->coef[c->piece2] += c->unit2_ns;
        op = before_on_path(x, op, x->end_ns[op] - x->duration_ns[op], &lag);
        r->base += lag;
    }
}

/* Simulates x->parts. */
static ps_code simulate_split(search *x, int64_t *step_ns, uint32_t *last) {
    const ps_graph_times times = {.duration_ns = x->duration_ns, .lag_ns = x->pieces->p2p_ns};
    ps_op_classes_durations(&x->classes, x->plan, x->parts, x->duration_ns);
    ps_code code = ps_step_graph_run(x->plan->graph, &times, NULL, x->end_ns, x->err);
    *last = 0;
    for (uint32_t op = 1; code == PS_OK && op < x->plan->n_ops; op++) {
        *last = x->end_ns[op] > x->end_ns[*last] ? op : *last;
    }
    *step_ns = code == PS_OK ? x->end_ns[*last] : 0;
    return code;
}

static bool has_limits(const search *x) {
    return x->limits->max_layers > 0 || x->limits->memory_bytes > 0;
}

/* Whether a device can hold it; what it cannot becomes a row. */
static bool device_keeps_limits(search *x, const int32_t *layers, int32_t device, bool add) {
    const ps_plan_limits *l = x->limits;
    ps_device_load load = ps_plan_device_load(x->plan, l, layers, device, x->held);
    int64_t most = (int64_t)l->max_layers * ps_plan_n_ways(x->plan);
    bool is_many = l->max_layers > 0 && load.layers > most;
    bool is_large = l->memory_bytes > 0 && load.bytes > l->memory_bytes;
    row *r = add && (is_many || is_large) ? add_row(x) : NULL;
    for (int32_t c = 0; r != NULL && c < x->plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(x->plan, device, c);
        r->coef[piece] += is_many ? 1 : l->layer_bytes + x->held[c] * l->activation_bytes;
        r->limit = is_many ? most : l->memory_bytes;
        r->base += !is_many && piece == 0 ? l->first_bytes : 0;
        r->base += !is_many && piece == x->n - 1 ? l->last_bytes : 0;
    }
    return !is_many && !is_large;
}

static bool keeps_limits(search *x, const int32_t *layers) {
    bool fits = true;
    for (int32_t d = 0; has_limits(x) && d < x->plan->lists.n_stages; d++) {
        fits = device_keeps_limits(x, layers, d, true) && fits;
    }
    return fits;
}

/* Simulates a split that keeps the limits, notes its longest path, and takes it when it is better. */
static ps_code try_layers(search *x, const int32_t *layers, bool *is_better) {
    int64_t step_ns = 0;
    uint32_t last = 0;
    *is_better = false;
    for (int32_t i = 0; i < x->n; i++) {
        x->parts[i] = layers[i];
    }
    ps_code code = simulate_split(x, &step_ns, &last);
    if (code != PS_OK) {
        return code;
    }
    x->n_tried++;
    (void)take_work(x, (size_t)x->plan->n_ops * OP_WORK);
    add_path(x, last);
    if (step_ns < x->best_ns) {
        *is_better = true;
        x->best_ns = step_ns;
        memmove(x->best, layers, (size_t)x->n * sizeof *layers);
    }
    return PS_OK;
}

/* --- 1. the fastest slowest device ----------------------------------------------------------------------------------- */

/* The piece of a device that takes the least for one more layer. */
static int32_t lightest_piece(const search *x, int32_t device, const int32_t *layers) {
    int32_t lightest = -1;
    int64_t least = 0;
    for (int32_t c = 0; c < x->plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(x->plan, device, c);
        int64_t ns = layers[piece] * x->pieces->layer[device].f_ns +
                     (piece == 0 ? x->pieces->first.f_ns : 0) +
                     (piece == x->n - 1 ? x->pieces->last.f_ns : 0);
        if (lightest < 0 || ns < least) {
            lightest = piece;
            least = ns;
        }
    }
    return lightest;
}

/* Of the devices that have the piece: the busiest, and whether they keep the limits. */
static bool busy_with(search *x, int32_t piece, const int32_t *layers, int64_t *busy) {
    bool fits = true;
    *busy = 0;
    for (int32_t d = 0; d < x->plan->lists.n_stages; d++) {
        bool has = false;
        for (int32_t c = 0; c < x->plan->lists.n_chunks; c++) {
            has = has || ps_plan_piece(x->plan, d, c) == piece;
        }
        int64_t ns = has ? ps_plan_device_busy(x->plan, x->pieces, layers, d) : 0;
        *busy = ns > *busy ? ns : *busy;
        fits = fits && (!has || !has_limits(x) || device_keeps_limits(x, layers, d, false));
    }
    return fits;
}

/* Each layer goes to the device that is fastest with it: no device can do better than the slowest of these, for a device's time only
 * grows with its layers. False when some layer fits nowhere. */
static bool spread_over_devices(search *x, int32_t *layers) {
    memset(layers, 0, (size_t)x->n * sizeof *layers);
    for (int32_t l = 0; l < x->pieces->n_layers; l++) {
        int32_t best = -1;
        int64_t least = INT64_MAX;
        for (int32_t d = 0; d < x->plan->lists.n_stages; d++) {
            int64_t busy = 0;
            int32_t piece = lightest_piece(x, d, layers);
            layers[piece]++;
            if (busy_with(x, piece, layers, &busy) && busy < least) {
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
    return true;
}

/* --- 2. neighbours --------------------------------------------------------------------------------------------------- */

/* What no step of the neighbours of the best split can be below, by the rows from `first` on. */
static void bound_neighbours(search *x, size_t first) {
    size_t n = (size_t)x->n;
    for (size_t k = first; k < x->n_rows; k++) {
        const row *r = &x->rows[k];
        int64_t value = row_value(x, r, x->best);
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
            bool is_one = from != to && x->best[from] > 0;
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
    int32_t middle = x->best_ns != INT64_MAX ? x->best[i] : x->pieces->n_layers / x->n;
    middle = middle < most ? middle : most;
    for (int32_t away = 0; !d->is_cut && (middle - away >= 0 || middle + away <= most); away++) {
        for (int32_t sign = -1; sign <= (away > 0 ? 1 : -1); sign += 2) {
            int32_t n = middle + sign * away;
            if (n < 0 || n > most) {
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
        found = fill_from(&d, 0, x->pieces->n_layers);
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
    while (code == PS_OK && x->work > 0 && !x->is_full && find_allowed(x, &is_cut)) {
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
    x->duration_ns = ps_calloc((size_t)x->plan->n_ops + 1, sizeof *x->duration_ns);
    x->end_ns = ps_calloc((size_t)x->plan->n_ops + 1, sizeof *x->end_ns);
    x->parts = ps_calloc(n + 1, sizeof *x->parts);
    x->trial = ps_calloc(n + 1, sizeof *x->trial);
    x->best = ps_calloc(n + 1, sizeof *x->best);
    x->held = ps_calloc((size_t)x->plan->lists.n_chunks + 1, sizeof *x->held);
    x->bound_ns = ps_calloc(n * n + 1, sizeof *x->bound_ns);
    return x->duration_ns != NULL && x->end_ns != NULL && x->parts != NULL && x->trial != NULL &&
           x->best != NULL && x->held != NULL && x->bound_ns != NULL &&
           ps_op_classes_make(x->plan, x->pieces, &x->classes);
}

static void search_fini(search *x) {
    for (size_t k = 0; k < x->n_rows; k++) {
        ps_free(x->rows[k].coef);
    }
    ps_op_classes_fini(&x->classes);
    ps_free(x->duration_ns);
    ps_free(x->end_ns);
    ps_free(x->parts);
    ps_free(x->trial);
    ps_free(x->best);
    ps_free(x->held);
    ps_free(x->bound_ns);
}

static ps_code find_layers(search *x, bool *is_proven) {
    bool is_better = false;
    ps_code code = PS_OK;
    if (spread_over_devices(x, x->trial)) {
        code = try_layers(x, x->trial, &is_better);
        code = code == PS_OK ? improve_split(x) : code;
    }
    code = code == PS_OK ? search_allowed(x, is_proven) : code;
    if (code == PS_OK && x->best_ns == INT64_MAX) {
        return ps_fail(x->err, PS_NOTHING,
                       *is_proven ? "no split of %d layers keeps the limits"
                                  : "no split of %d layers was found that keeps the limits",
                       (int)x->pieces->n_layers);
    }
    return code;
}

ps_code ps_layer_split_find(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const ps_plan_limits *limits, size_t work, ps_layer_split *out,
                            ps_err *err) {
    *out = (ps_layer_split){.n_pieces = ps_plan_n_pieces(plan)};
    search *x = ps_calloc(1, sizeof *x); /* its rows are many */
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    *x = (search){.plan = plan,
                  .pieces = pieces,
                  .limits = limits,
                  .n = out->n_pieces,
                  .best_ns = INT64_MAX,
                  .work = work,
                  .err = err};
    ps_code code = search_init(x) ? find_layers(x, &out->is_proven) : ps_fail_nomem(err);
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

ps_code ps_layer_split_step(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const double *layers, int64_t *step_ns, ps_err *err) {
    search x = {.plan = plan, .pieces = pieces, .n = ps_plan_n_pieces(plan), .err = err};
    uint32_t last = 0;
    bool ok = search_init(&x);
    if (ok) {
        memcpy(x.parts, layers, (size_t)x.n * sizeof *x.parts);
    }
    ps_code code = ok ? simulate_split(&x, step_ns, &last) : ps_fail_nomem(err);
    search_fini(&x);
    return code;
}
