/* A run for many questions side by side. Ends are kept only until the last op that waits for them has started: places are given
 * out again, so that those in use fit into a cache however large the step is. */
#include <string.h>

#include "base/alloc.h"
#include "schedule/step_graph_private.h"

struct ps_lanes {
    uint32_t n, n_places;
    uint32_t *order;  /* [n] */
    uint32_t *joined; /* [n] how many start together from here on: 1, or a group's members */
    uint32_t *place;  /* [n] of its end */
    uint32_t *first;  /* [n + 1] */
    uint32_t *waits;  /* places */
    bool *is_far;
};

void ps_lanes_free(ps_lanes *p) {
    if (p != NULL) {
        ps_free(p->order);
        ps_free(p->joined);
        ps_free(p->place);
        ps_free(p->first);
        ps_free(p->waits);
        ps_free(p->is_far);
        ps_free(p);
    }
}

const uint32_t *ps_lanes_order(const ps_lanes *p) {
    return p->order;
}

size_t ps_lanes_room(const ps_lanes *p) {
    return (size_t)p->n_places * PS_LANES;
}

/* --- places ---------------------------------------------------------------------------------------------------------- */

typedef struct placing {
    uint32_t *position; /* [n] of each op */
    uint32_t *last_use; /* [n] by position: who waits for it last, UINT32_MAX: nobody */
    uint32_t *unused;   /* places that are free again */
    uint32_t n_unused;
} placing;

static void read_waits(ps_lanes *p, const ps_step_graph *g, placing *x) {
    uint32_t n_waits = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        x->position[g->sequence[i]] = i;
        x->last_use[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t op = g->sequence[i];
        uint32_t group = g->group[op];
        p->order[i] = op;
        p->joined[i] = group == PS_NO_GROUP ? 1 : g->group_first[group + 1] - g->group_first[group];
        p->first[i] = n_waits;
        for (uint32_t w = g->first_wait[op]; w < g->first_wait[op + 1]; w++) {
            p->waits[n_waits] = x->position[g->waits[w]];
            p->is_far[n_waits++] = g->is_far[w];
            x->last_use[x->position[g->waits[w]]] = i;
        }
    }
    p->first[g->n_ops] = n_waits;
}

static uint32_t take_place(ps_lanes *p, placing *x) {
    return x->n_unused > 0 ? x->unused[--x->n_unused] : p->n_places++;
}

/* Those that start together read all that they wait for before they write. Positions in waits become places. */
static void give_places(ps_lanes *p, placing *x) {
    for (uint32_t i = 0; i < p->n;) {
        uint32_t end = i + p->joined[i];
        for (uint32_t w = p->first[i]; w < p->first[end]; w++) {
            uint32_t on = p->waits[w];
            p->waits[w] = p->place[on];
            if (x->last_use[on] < end) {
                x->unused[x->n_unused++] = p->place[on];
                x->last_use[on] = UINT32_MAX; /* once */
            }
        }
        for (; i < end; i++) {
            p->place[i] = take_place(p, x);
        }
        for (uint32_t k = end - p->joined[end - 1]; k < end; k++) {
            if (x->last_use[k] == UINT32_MAX) { /* nobody reads it */
                x->unused[x->n_unused++] = p->place[k];
            }
        }
    }
}

static bool lanes_alloc(ps_lanes *p, placing *x, const ps_step_graph *g) {
    size_t n = (size_t)g->n_ops + 1;
    size_t n_waits = (size_t)g->first_wait[g->n_ops] + 1;
    p->n = g->n_ops;
    p->order = ps_realloc_array(NULL, n, sizeof *p->order);
    p->joined = ps_realloc_array(NULL, n, sizeof *p->joined);
    p->place = ps_realloc_array(NULL, n, sizeof *p->place);
    p->first = ps_realloc_array(NULL, n, sizeof *p->first);
    p->waits = ps_realloc_array(NULL, n_waits, sizeof *p->waits);
    p->is_far = ps_realloc_array(NULL, n_waits, sizeof *p->is_far);
    x->position = ps_realloc_array(NULL, n, sizeof *x->position);
    x->last_use = ps_realloc_array(NULL, n, sizeof *x->last_use);
    x->unused = ps_realloc_array(NULL, n, sizeof *x->unused);
    return p->order != NULL && p->joined != NULL && p->place != NULL && p->first != NULL &&
           p->waits != NULL && p->is_far != NULL && x->position != NULL && x->last_use != NULL &&
           x->unused != NULL;
}

ps_lanes *ps_lanes_new(const ps_step_graph *g) {
    ps_lanes *p = ps_calloc(1, sizeof *p);
    placing x = {0};
    bool ok = p != NULL && lanes_alloc(p, &x, g);
    if (ok) {
        read_waits(p, g, &x);
        give_places(p, &x);
    } else {
        ps_lanes_free(p);
        p = NULL;
    }
    ps_free(x.position);
    ps_free(x.last_use);
    ps_free(x.unused);
    return p;
}

/* --- running --------------------------------------------------------------------------------------------------------- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Four lanes are one vector of the machine, or as many as it has to take for it. */
typedef double quad __attribute__((vector_size(32), aligned(8)));
typedef int64_t quad_bits __attribute__((vector_size(32)));

enum { QUADS = PS_LANES / 4 };

/* A value of each lane. */
typedef struct lanes {
    quad at[QUADS];
} lanes;

/* Unrolled, so that all of them stay in registers. */
#define EACH_QUAD(q) _Pragma("GCC unroll 4") for (int q = 0; q < QUADS; q++)

ALWAYS_INLINE void raise_lanes(lanes *of, const lanes *to) {
    EACH_QUAD(q) {
        quad_bits is_later = to->at[q] > of->at[q];
        of->at[q] = (quad)((is_later & (quad_bits)to->at[q]) | (~is_later & (quad_bits)of->at[q]));
    }
}

/* The latest end of what the op waits for, lane by lane, where that is later than `start`. */
ALWAYS_INLINE void raise_starts(const ps_lanes *p, const ps_lane_times *in, const lanes *ends,
                                uint32_t at, lanes *start) {
    for (uint32_t w = p->first[at]; w < p->first[at + 1]; w++) {
        lanes arrival = ends[p->waits[w]];
        double lag = p->is_far[w] ? in->lag_ns : 0;
        EACH_QUAD(q) {
            arrival.at[q] += lag;
        }
        raise_lanes(start, &arrival);
    }
}

/* 1 of each lane whose bit is set. */
typedef struct lane_bits {
    double at[16][4];
} lane_bits;

ALWAYS_INLINE void end_lanes(const ps_lane_times *in, const lane_bits *bits, uint32_t at,
                             lanes *times) {
    uint32_t cell = in->cell[at];
    double usual = in->usual_ns[cell % PS_LANE_KINDS];
    double more = (double)in->duration_ns[at] - usual;
    uint32_t own = in->own[cell];
    EACH_QUAD(q) {
        const quad *takes_own = (const quad *)bits->at[own >> 4 * q & 15];
        times->at[q] += usual + *takes_own * more;
    }
}

ALWAYS_INLINE void run_lanes(const ps_lanes *p, const ps_lane_times *in, const lane_bits *bits,
                             lanes *ends, ps_lane_ends *out) {
    lanes latest = {{{0}}};
    lanes last_ends = {{{0}}};
    for (uint32_t i = 0; i < p->n;) {
        lanes start = {{{0}}};
        uint32_t last = i + p->joined[i];
        for (uint32_t k = i; k < last; k++) {
            raise_starts(p, in, ends, k, &start);
        }
        for (; i < last; i++) {
            lanes end = start;
            end_lanes(in, bits, i, &end);
            ends[p->place[i]] = end;
            raise_lanes(&latest, &end);
            if ((in->end_kinds >> in->cell[i] % PS_LANE_KINDS & 1) != 0) {
                raise_lanes(&last_ends, &end);
            }
        }
    }
    memcpy(out->end_ns, &last_ends, sizeof out->end_ns);
    memcpy(out->latest_ns, &latest, sizeof out->latest_ns);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void run_lanes_avx2(const ps_lanes *p,
                                                           const ps_lane_times *in,
                                                           const lane_bits *bits, lanes *ends,
                                                           ps_lane_ends *out) {
    run_lanes(p, in, bits, ends, out);
}
#endif

static void run_lanes_plain(const ps_lanes *p, const ps_lane_times *in, const lane_bits *bits,
                            lanes *ends, ps_lane_ends *out) {
    run_lanes(p, in, bits, ends, out);
}

void ps_lanes_run(const ps_lanes *p, const ps_lane_times *times, double *room, ps_lane_ends *out) {
    lane_bits bits;
    for (int own = 0; own < 16; own++) {
        for (int k = 0; k < 4; k++) {
            bits.at[own][k] = (double)(own >> k & 1);
        }
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        run_lanes_avx2(p, times, &bits, (lanes *)room, out);
        return;
    }
#endif
    run_lanes_plain(p, times, &bits, (lanes *)room, out);
}
