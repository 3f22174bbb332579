/* Cuts the order of ops into pieces (step_graph_lanes.h).
 *
 * An op, with its group, *crosses* when it is not of one part alone: its group has members of several, or one of them waits for an
 * op of another. The phase of an op is how many that cross stand at most on a way to it, itself included. In the order of phases, within one those that
 * cross first, then part by part, everything comes behind what it waits for. */
#include <string.h>

#include "base/alloc.h"
#include "schedule/step_graph_lanes.h"
#include "schedule/step_graph_private.h"

#define NONE UINT32_MAX

void ps_lanes_free(ps_lanes *p) {
    if (p != NULL) {
        ps_free(p->order);
        ps_free(p->ops);
        ps_free(p->waits);
        ps_free(p->is_far);
        ps_free(p->pieces);
        ps_free(p->passed_in);
        ps_free(p->passed_out);
        ps_free(p->cells);
        ps_free(p);
    }
}

typedef struct cutting {
    const ps_step_graph *g;
    ps_lanes *p;
    const uint32_t *cell, *part_of;
    uint32_t *part;  /* [n] by op: 0 it crosses, else one more than its part */
    uint32_t *phase; /* [n] by op */
    uint32_t n_parts, n_phases, n_cells;
    uint32_t *position;  /* [n] by op */
    uint32_t *last_wait; /* [n] by position: who of the piece in hand waits for it last */
    uint32_t *slot;      /* [n] by position, NONE: no other piece reads it */
    uint32_t *taken;     /* [n_slots] place in the piece in hand of an end of another piece */
    uint32_t *taken_by;  /* [n_slots] the piece for which that holds, from 1 */
    uint32_t *row;       /* [n_cells] the same of cells */
    uint32_t *row_of;
    uint32_t *unused; /* [n] places that are free again */
    uint32_t n_unused, n_places;
} cutting;

static void *numbers_of(size_t n) {
    return ps_realloc_array(NULL, n + 1, sizeof(uint32_t));
}

/* --- the order ------------------------------------------------------------------------------------------------------------- */

static uint32_t part_of_op(const cutting *x, uint32_t op) {
    return x->part_of[x->cell[op] / PS_LANE_KINDS];
}

/* Ops that start together from a position of the graph's sequence on. */
static uint32_t joined_at(const ps_step_graph *g, uint32_t op) {
    uint32_t group = g->group[op];
    return group == PS_NO_GROUP ? 1 : g->group_first[group + 1] - g->group_first[group];
}

static void find_phases(cutting *x) {
    const ps_step_graph *g = x->g;
    for (uint32_t i = 0; i < g->n_ops;) {
        uint32_t end = i + joined_at(g, g->sequence[i]);
        uint32_t part = part_of_op(x, g->sequence[i]);
        uint32_t phase = 0;
        bool crosses = false;
        for (uint32_t k = i; k < end; k++) {
            uint32_t op = g->sequence[k];
            crosses = crosses || part_of_op(x, op) != part;
            for (uint32_t w = g->first_wait[op]; w < g->first_wait[op + 1]; w++) {
                uint32_t on = g->waits[w];
                phase = x->phase[on] > phase ? x->phase[on] : phase;
                crosses = crosses || part_of_op(x, on) != part;
            }
        }
        phase += crosses;
        x->n_phases = phase >= x->n_phases ? phase + 1 : x->n_phases;
        x->n_parts = part >= x->n_parts ? part + 1 : x->n_parts;
        for (; i < end; i++) {
            x->phase[g->sequence[i]] = phase;
            x->part[g->sequence[i]] = crosses ? 0 : part + 1;
        }
    }
}

/* Ops by a number below n_keys; those of the same one stay as they stand. False when memory is out. */
static bool sort_by(const uint32_t *key, uint32_t n_keys, const uint32_t *from, uint32_t *to,
                    uint32_t n) {
    uint32_t *next = ps_calloc((size_t)n_keys + 1, sizeof *next);
    for (uint32_t i = 0; next != NULL && i < n; i++) {
        next[key[from[i]] + 1]++;
    }
    for (uint32_t k = 0; next != NULL && k < n_keys; k++) {
        next[k + 1] += next[k];
    }
    for (uint32_t i = 0; next != NULL && i < n; i++) {
        to[next[key[from[i]]]++] = from[i];
    }
    ps_free(next);
    return next != NULL;
}

static bool order_lanes(cutting *x) {
    uint32_t n = x->g->n_ops;
    find_phases(x);
    if (!sort_by(x->part, x->n_parts + 1, x->g->sequence, x->slot, n) ||
        !sort_by(x->phase, x->n_phases, x->slot, x->p->order, n)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        x->position[x->p->order[i]] = i;
    }
    return true;
}

static bool cut_order(cutting *x) {
    ps_lanes *p = x->p;
    for (uint32_t i = 0; i < p->n;) {
        uint32_t op = p->order[i];
        uint32_t end = i;
        while (end < p->n && x->part[p->order[end]] == x->part[op] &&
               x->phase[p->order[end]] == x->phase[op]) {
            end++;
        }
        if (!ps_grow(&p->pieces, &p->cap_pieces, p->n_pieces + 1, UINT32_MAX, sizeof *p->pieces)) {
            return false;
        }
        p->pieces[p->n_pieces++] =
            (ps_lane_piece){.first = i, .n = end - i, .of_one_part = x->part[op] != 0};
        p->most_ops = end - i > p->most_ops ? end - i : p->most_ops;
        i = end;
    }
    return true;
}

/* --- what passes between pieces ---------------------------------------------------------------------------------------------- */

static void find_slots(cutting *x) {
    const ps_step_graph *g = x->g;
    for (uint32_t i = 0; i < x->p->n; i++) {
        x->slot[i] = NONE;
    }
    for (size_t k = 0; k < x->p->n_pieces; k++) {
        const ps_lane_piece *piece = &x->p->pieces[k];
        for (uint32_t i = piece->first; i < piece->first + piece->n; i++) {
            uint32_t op = x->p->order[i];
            for (uint32_t w = g->first_wait[op]; w < g->first_wait[op + 1]; w++) {
                uint32_t on = x->position[g->waits[w]];
                if (on < piece->first && x->slot[on] == NONE) {
                    x->slot[on] = x->p->n_slots++;
                }
            }
        }
    }
}

static bool add_passed(ps_lane_passed **list, size_t *n, size_t *cap, uint32_t slot,
                       uint32_t place) {
    if (!ps_grow(list, cap, *n + 1, UINT32_MAX, sizeof **list)) {
        return false;
    }
    (*list)[(*n)++] = (ps_lane_passed){slot, place};
    return true;
}

/* --- places ------------------------------------------------------------------------------------------------------------------ */

static uint32_t take_place(cutting *x) {
    return x->n_unused > 0 ? x->unused[--x->n_unused] : x->n_places++;
}

/* Ends of other pieces that this one reads have their places before it begins. False when memory is out. */
static bool take_in(cutting *x, ps_lane_piece *piece, uint32_t number) {
    const ps_step_graph *g = x->g;
    ps_lanes *p = x->p;
    piece->first_in = (uint32_t)p->n_passed_in;
    for (uint32_t i = piece->first; i < piece->first + piece->n; i++) {
        uint32_t op = p->order[i];
        x->last_wait[i] = NONE;
        for (uint32_t w = g->first_wait[op]; w < g->first_wait[op + 1]; w++) {
            uint32_t on = x->position[g->waits[w]];
            uint32_t slot = x->slot[on];
            x->last_wait[on] = i;
            if (on >= piece->first || x->taken_by[slot] == number) {
                continue;
            }
            x->taken_by[slot] = number;
            x->taken[slot] = take_place(x);
            if (!add_passed(&p->passed_in, &p->n_passed_in, &p->cap_passed_in, slot,
                            x->taken[slot])) {
                return false;
            }
        }
    }
    piece->n_in = (uint32_t)p->n_passed_in - piece->first_in;
    p->most_in = piece->n_in > p->most_in ? piece->n_in : p->most_in;
    return true;
}

/* The places of what the ops from i on wait for, of which those are free again that nobody else waits for. */
static void put_waits(cutting *x, const ps_lane_piece *piece, uint32_t i, uint32_t end,
                      size_t *n_waits) {
    const ps_step_graph *g = x->g;
    for (uint32_t k = i; k < end; k++) {
        uint32_t op = x->p->order[k];
        for (uint32_t w = g->first_wait[op]; w < g->first_wait[op + 1]; w++) {
            uint32_t on = x->position[g->waits[w]];
            bool is_own = on >= piece->first;
            uint32_t place = is_own ? x->p->ops[on].place : x->taken[x->slot[on]];
            x->p->waits[*n_waits] = place;
            if (x->p->is_far != NULL) {
                x->p->is_far[*n_waits] = g->is_far[w];
            }
            (*n_waits)++;
            if (x->last_wait[on] < end && (!is_own || x->slot[on] == NONE)) {
                x->unused[x->n_unused++] = place;
                x->last_wait[on] = NONE; /* once */
            }
        }
    }
}

/* Ops that start together read all that they wait for before they write. */
static bool put_ops(cutting *x, ps_lane_piece *piece, size_t *n_waits) {
    const ps_step_graph *g = x->g;
    ps_lanes *p = x->p;
    bool ok = true;
    piece->first_wait = *n_waits;
    piece->first_out = (uint32_t)p->n_passed_out;
    for (uint32_t i = piece->first; ok && i < piece->first + piece->n;) {
        uint32_t joined = joined_at(g, p->order[i]);
        put_waits(x, piece, i, i + joined, n_waits);
        for (uint32_t k = i; ok && k < i + joined; k++) {
            uint32_t op = p->order[k];
            p->ops[k] = (ps_lane_op){.n_waits = g->first_wait[op + 1] - g->first_wait[op],
                                     .place = take_place(x),
                                     .cell = x->row[x->cell[op]],
                                     .joined = joined};
            ok = x->slot[k] == NONE || add_passed(&p->passed_out, &p->n_passed_out,
                                                  &p->cap_passed_out, x->slot[k], p->ops[k].place);
        }
        for (uint32_t k = i; k < i + joined; k++) {
            if (x->last_wait[k] == NONE && x->slot[k] == NONE) { /* nobody reads it */
                x->unused[x->n_unused++] = p->ops[k].place;
            }
        }
        i += joined;
    }
    piece->n_out = (uint32_t)p->n_passed_out - piece->first_out;
    return ok;
}

static bool list_cells(cutting *x, ps_lane_piece *piece, uint32_t number) {
    ps_lanes *p = x->p;
    piece->first_cell = (uint32_t)p->n_cells;
    for (uint32_t i = piece->first; i < piece->first + piece->n; i++) {
        uint32_t cell = x->cell[p->order[i]];
        if (x->row_of[cell] == number) {
            continue;
        }
        if (!ps_grow(&p->cells, &p->cap_cells, p->n_cells + 1, UINT32_MAX, sizeof *p->cells)) {
            return false;
        }
        x->row_of[cell] = number;
        x->row[cell] = (uint32_t)p->n_cells - piece->first_cell;
        p->cells[p->n_cells++] = cell;
    }
    piece->n_cells = (uint32_t)p->n_cells - piece->first_cell;
    p->most_cells = piece->n_cells > p->most_cells ? piece->n_cells : p->most_cells;
    return true;
}

static bool fill_pieces(cutting *x) {
    size_t n_waits = 0;
    bool ok = true;
    for (size_t k = 0; ok && k < x->p->n_pieces; k++) {
        ps_lane_piece *piece = &x->p->pieces[k];
        x->n_unused = x->n_places = 0;
        ok = list_cells(x, piece, (uint32_t)k + 1) && take_in(x, piece, (uint32_t)k + 1) &&
             put_ops(x, piece, &n_waits);
        x->p->most_places = x->n_places > x->p->most_places ? x->n_places : x->p->most_places;
    }
    return ok;
}

/* --- all of it ---------------------------------------------------------------------------------------------------------------- */

static bool any_far(const ps_step_graph *g) {
    return memchr(g->is_far, true, g->first_wait[g->n_ops]) != NULL;
}

static bool cutting_init(cutting *x) {
    size_t n = x->g->n_ops;
    for (uint32_t i = 0; i < n; i++) {
        x->n_cells = x->cell[i] >= x->n_cells ? x->cell[i] + 1 : x->n_cells;
    }
    x->part = numbers_of(n);
    x->phase = numbers_of(n);
    x->position = numbers_of(n);
    x->last_wait = numbers_of(n);
    x->slot = numbers_of(n);
    x->unused = numbers_of(n);
    x->row = numbers_of(x->n_cells);
    x->row_of = ps_calloc((size_t)x->n_cells + 1, sizeof *x->row_of);
    return x->part != NULL && x->phase != NULL && x->position != NULL && x->last_wait != NULL &&
           x->slot != NULL && x->unused != NULL && x->row != NULL && x->row_of != NULL;
}

static bool cutting_alloc(cutting *x) {
    ps_lanes *p = x->p;
    size_t n_waits = (size_t)x->g->first_wait[p->n] + 1;
    bool far = any_far(x->g);
    p->ops = ps_realloc_array(NULL, (size_t)p->n + 1, sizeof *p->ops);
    p->waits = ps_realloc_array(NULL, n_waits, sizeof *p->waits);
    p->is_far = far ? ps_realloc_array(NULL, n_waits, sizeof *p->is_far) : NULL;
    x->taken = numbers_of(p->n_slots);
    x->taken_by = ps_calloc((size_t)p->n_slots + 1, sizeof *x->taken_by);
    return p->ops != NULL && p->waits != NULL && (p->is_far != NULL || !far) && x->taken != NULL &&
           x->taken_by != NULL;
}

static bool cut(cutting *x) {
    x->p->n = x->g->n_ops;
    x->p->order = numbers_of(x->p->n);
    if (x->p->order == NULL || !cutting_init(x) || !order_lanes(x) || !cut_order(x)) {
        return false;
    }
    find_slots(x);
    return cutting_alloc(x) && fill_pieces(x);
}

ps_lanes *ps_lanes_new(const ps_step_graph *g, const uint32_t *cell, const uint32_t *part_of) {
    cutting x = {.g = g, .cell = cell, .part_of = part_of, .p = ps_calloc(1, sizeof *x.p)};
    if (x.p != NULL && !cut(&x)) {
        ps_lanes_free(x.p);
        x.p = NULL;
    }
    ps_free(x.part);
    ps_free(x.phase);
    ps_free(x.position);
    ps_free(x.last_wait);
    ps_free(x.slot);
    ps_free(x.taken);
    ps_free(x.taken_by);
    ps_free(x.row);
    ps_free(x.row_of);
    ps_free(x.unused);
    return x.p;
}
