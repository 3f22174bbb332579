/* Sealing sorts the dependencies by op, and finds the order by counting what each unit (an op, or a group as one) still
 * waits for. */
#include "schedule/step_graph_private.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_DEPENDENCIES ((size_t)UINT32_MAX - 1)

ps_step_graph *ps_step_graph_new(uint32_t n_ops) {
    ps_step_graph *g = ps_calloc(1, sizeof *g);
    uint32_t *group = g != NULL ? ps_realloc_array(NULL, (size_t)n_ops + 1, sizeof *group) : NULL;
    if (group == NULL) {
        ps_free(g);
        return NULL;
    }
    for (uint32_t i = 0; i < n_ops; i++) {
        group[i] = PS_NO_GROUP;
    }
    g->group = group;
    g->n_ops = n_ops;
    return g;
}

void ps_step_graph_free(ps_step_graph *g) {
    if (g != NULL) {
        ps_free(g->pairs);
        ps_free(g->group);
        ps_free(g->group_members);
        ps_free(g->group_first);
        ps_free(g->first_wait);
        ps_free(g->waits);
        ps_free(g->is_far);
        ps_free(g->sequence);
        ps_free(g);
    }
}

void ps_step_graph_wait(ps_step_graph *g, uint32_t op, uint32_t on, bool is_far) {
    if (!ps_grow(&g->pairs, &g->cap_pairs, g->n_pairs + 1, MAX_DEPENDENCIES, sizeof *g->pairs)) {
        g->failed = true;
        return;
    }
    g->pairs[g->n_pairs++] = (wait_pair){op, on, is_far};
}

void ps_step_graph_join(ps_step_graph *g, const uint32_t *ops, size_t n) {
    if (n < 2) {
        return;
    }
    if (!ps_grow(&g->group_members, &g->cap_members, g->n_members + n, g->n_ops,
                 sizeof *g->group_members) ||
        !ps_grow(&g->group_first, &g->cap_groups, g->n_groups + 2, (size_t)g->n_ops + 2,
                 sizeof *g->group_first)) {
        g->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        g->group[ops[i]] = (uint32_t)g->n_groups;
        g->group_members[g->n_members + i] = ops[i];
    }
    g->group_first[g->n_groups++] = (uint32_t)g->n_members;
    g->n_members += n;
    g->group_first[g->n_groups] = (uint32_t)g->n_members;
}

uint32_t ps_step_graph_n_ops(const ps_step_graph *g) {
    return g->n_ops;
}

const uint32_t *ps_step_graph_waits(const ps_step_graph *g, uint32_t op, size_t *n) {
    *n = g->first_wait[op + 1] - g->first_wait[op];
    return g->waits + g->first_wait[op];
}

uint32_t ps_step_graph_group(const ps_step_graph *g, uint32_t op) {
    return g->group[op];
}

uint32_t ps_step_graph_n_groups(const ps_step_graph *g) {
    return (uint32_t)g->n_groups;
}

const uint32_t *ps_step_graph_members(const ps_step_graph *g, uint32_t group, size_t *n) {
    *n = g->group_first[group + 1] - g->group_first[group];
    return g->group_members + g->group_first[group];
}

/* --- sealing ------------------------------------------------------------------------------------------------------- */

/* Pairs by op, in the order given. False when memory is out. */
static bool sort_waits(ps_step_graph *g) {
    g->first_wait = ps_calloc((size_t)g->n_ops + 2, sizeof *g->first_wait);
    g->waits = ps_realloc_array(NULL, g->n_pairs + 1, sizeof *g->waits);
    g->is_far = ps_realloc_array(NULL, g->n_pairs + 1, sizeof *g->is_far);
    if (g->first_wait == NULL || g->waits == NULL || g->is_far == NULL) {
        return false;
    }
    uint32_t *next = g->first_wait + 1; /* next[op]: counts, then where the next one goes */
    for (size_t i = 0; i < g->n_pairs; i++) {
        next[g->pairs[i].op]++;
    }
    uint32_t at = 0;
    for (uint32_t op = 0; op < g->n_ops; op++) {
        uint32_t n = next[op];
        next[op] = at;
        at += n;
    }
    for (size_t i = 0; i < g->n_pairs; i++) {
        uint32_t to = next[g->pairs[i].op]++;
        g->waits[to] = g->pairs[i].on;
        g->is_far[to] = g->pairs[i].is_far;
    }
    return true;
}

/* Members of the op's group, or the op alone. */
static const uint32_t *graph_unit_of(const ps_step_graph *g, const uint32_t *op, size_t *n) {
    uint32_t group = g->group[*op];
    if (group == PS_NO_GROUP) {
        *n = 1;
        return op;
    }
    *n = g->group_first[group + 1] - g->group_first[group];
    return g->group_members + g->group_first[group];
}

/* A unit is counted at its first member. */
static uint32_t head_of(const ps_step_graph *g, uint32_t op) {
    uint32_t group = g->group[op];
    return group == PS_NO_GROUP ? op : g->group_members[g->group_first[group]];
}

typedef struct sorting {
    uint32_t *open;        /* [n_ops] of heads: dependencies that have not run */
    uint32_t *first_after; /* [n_ops + 1] */
    uint32_t *after;       /* ops that wait for an op */
    uint32_t *ready;       /* heads, first in first out */
} sorting;

static bool sorting_init(sorting *s, const ps_step_graph *g) {
    s->open = ps_calloc((size_t)g->n_ops + 1, sizeof *s->open);
    s->first_after = ps_calloc((size_t)g->n_ops + 2, sizeof *s->first_after);
    s->after = ps_realloc_array(NULL, g->n_pairs + 1, sizeof *s->after);
    s->ready = ps_realloc_array(NULL, (size_t)g->n_ops + 1, sizeof *s->ready);
    if (s->open == NULL || s->first_after == NULL || s->after == NULL || s->ready == NULL) {
        return false;
    }
    uint32_t *next = s->first_after + 1;
    for (size_t i = 0; i < g->n_pairs; i++) {
        next[g->pairs[i].on]++;
        s->open[head_of(g, g->pairs[i].op)]++;
    }
    uint32_t at = 0;
    for (uint32_t op = 0; op < g->n_ops; op++) {
        uint32_t n = next[op];
        next[op] = at;
        at += n;
    }
    for (size_t i = 0; i < g->n_pairs; i++) {
        s->after[next[g->pairs[i].on]++] = g->pairs[i].op;
    }
    return true;
}

static void sorting_fini(sorting *s) {
    ps_free(s->open);
    ps_free(s->first_after);
    ps_free(s->after);
    ps_free(s->ready);
}

/* The first op that this one, or its group, waits for and that never ran. */
static uint32_t first_missing(const ps_step_graph *g, const sorting *s, uint32_t op) {
    size_t n = 0;
    const uint32_t *members = graph_unit_of(g, &op, &n);
    for (size_t m = 0; m < n; m++) {
        for (uint32_t i = g->first_wait[members[m]]; i < g->first_wait[members[m] + 1]; i++) {
            if (s->open[head_of(g, g->waits[i])] != 0) {
                return g->waits[i];
            }
        }
    }
    return op;
}

/* Whoever never ran waits for one that never ran, so that following them ends in a circle. False when memory is out. */
static bool find_circle(const ps_step_graph *g, const sorting *s, ps_graph_circle *circle) {
    uint32_t at = 0;
    while (at < g->n_ops && s->open[head_of(g, at)] == 0) {
        at++;
    }
    uint32_t *place = ps_calloc((size_t)g->n_ops + 1, sizeof *place); /* on the way, from 1 */
    uint32_t *way = ps_realloc_array(NULL, (size_t)g->n_ops + 1, sizeof *way);
    bool ok = place != NULL && way != NULL;
    size_t n = 0;
    while (ok && place[at] == 0) {
        way[n++] = at;
        place[at] = (uint32_t)n;
        at = first_missing(g, s, at);
    }
    if (ok) {
        size_t begin = place[at] - 1;
        memmove(way, way + begin, (n - begin) * sizeof *way);
        *circle = (ps_graph_circle){way, n - begin};
        way = NULL;
    }
    ps_free(place);
    ps_free(way);
    return ok;
}

static ps_code order_ops(ps_step_graph *g, sorting *s, ps_graph_circle *circle, ps_err *err) {
    size_t n_ready = 0;
    uint32_t n = 0;
    for (uint32_t op = 0; op < g->n_ops; op++) {
        if (head_of(g, op) == op && s->open[op] == 0) {
            s->ready[n_ready++] = op;
        }
    }
    for (size_t r = 0; r < n_ready; r++) {
        size_t n_members = 0;
        const uint32_t *members = graph_unit_of(g, &s->ready[r], &n_members);
        for (size_t m = 0; m < n_members; m++) {
            g->sequence[n++] = members[m];
            for (uint32_t i = s->first_after[members[m]]; i < s->first_after[members[m] + 1]; i++) {
                uint32_t head = head_of(g, s->after[i]);
                if (--s->open[head] == 0) {
                    s->ready[n_ready++] = head;
                }
            }
        }
    }
    if (n == g->n_ops) {
        return PS_OK;
    }
    return find_circle(g, s, circle)
               ? ps_fail_said(err, PS_NOTHING, "ops wait for one another in a circle",
                              "算子循环等待")
               : ps_fail_nomem(err);
}

ps_code ps_step_graph_seal(ps_step_graph *g, ps_graph_circle *circle, ps_err *err) {
    *circle = (ps_graph_circle){0};
    sorting s = {0};
    g->sequence = ps_realloc_array(NULL, (size_t)g->n_ops + 1, sizeof *g->sequence);
    bool ok = !g->failed && g->sequence != NULL && sort_waits(g) && sorting_init(&s, g);
    ps_code code = ok ? order_ops(g, &s, circle, err) : ps_fail_nomem(err);
    sorting_fini(&s);
    ps_free(g->pairs);
    g->pairs = NULL;
    return code;
}

/* --- running ------------------------------------------------------------------------------------------------------- */

/* Raises *t to when the op could start by itself. False on overflow. */
static inline bool own_start(const ps_step_graph *g, const ps_graph_times *in,
                             const int64_t *end_ns, uint32_t op, int64_t *t) {
    int64_t start = in->begin_ns;
    bool fits = true;
    for (uint32_t i = g->first_wait[op]; i < g->first_wait[op + 1]; i++) {
        int64_t arrival = end_ns[g->waits[i]];
        if (g->is_far[i]) {
            fits = !__builtin_add_overflow(arrival, in->lag_ns, &arrival) && fits;
        }
        start = arrival > start ? arrival : start;
    }
    if (in->delay_ns != NULL) {
        fits = !__builtin_add_overflow(start, in->delay_ns[op], &start) && fits;
    }
    *t = start > *t ? start : *t;
    return fits;
}

ps_code ps_step_graph_run(const ps_step_graph *g, const ps_graph_times *times, int64_t *start_ns,
                          int64_t *end_ns, ps_err *err) {
    bool fits = true;
    for (uint32_t i = 0; i < g->n_ops;) {
        uint32_t op = g->sequence[i];
        uint32_t group = g->group[op];
        uint32_t n = group == PS_NO_GROUP ? 1 : g->group_first[group + 1] - g->group_first[group];
        int64_t t = INT64_MIN;
        for (uint32_t k = 0; k < n; k++) {
            fits = own_start(g, times, end_ns, g->sequence[i + k], &t) && fits;
        }
        for (uint32_t k = 0; k < n; k++) {
            uint32_t member = g->sequence[i + k];
            fits = !__builtin_add_overflow(t, times->duration_ns[member], &end_ns[member]) && fits;
            if (start_ns != NULL) {
                start_ns[member] = t;
            }
        }
        i += n;
    }
    return fits ? PS_OK
                : ps_fail_said(err, PS_RANGE, "the simulated times leave 64 bits of nanoseconds",
                               "仿真时间超出 64 位纳秒");
}

uint32_t ps_step_graph_before(const ps_step_graph *g, const ps_graph_times *times,
                              const int64_t *end_ns, uint32_t op) {
    int64_t start_ns = end_ns[op] - times->duration_ns[op];
    size_t n = 0;
    const uint32_t *members = graph_unit_of(g, &op, &n);
    for (size_t m = 0; m < n; m++) {
        int64_t delay_ns = times->delay_ns != NULL ? times->delay_ns[members[m]] : 0;
        for (uint32_t i = g->first_wait[members[m] + 1]; i > g->first_wait[members[m]]; i--) {
            int64_t lag_ns = g->is_far[i - 1] ? times->lag_ns : 0;
            if (end_ns[g->waits[i - 1]] + lag_ns + delay_ns == start_ns) {
                return g->waits[i - 1];
            }
        }
    }
    return PS_NO_OP;
}
