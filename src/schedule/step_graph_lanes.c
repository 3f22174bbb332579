/* Runs questions side by side, piece after piece (step_graph_lanes.h). What a lane sees of a piece is which of its cells take their own
 * durations, and the ends that come from other pieces: lanes that see the same run as one. */
#include "schedule/step_graph_lanes.h"

#include <string.h>

#include "base/alloc.h"

/* A piece of fewer ops is run for every lane: looking for those that are alike would take longer. */
enum { LEAST_OPS = 64 };
enum { LINE_BYTES = 64 };

typedef struct lane_run {
    const ps_lanes *p;
    const ps_lane_times *in;
    ps_lane_ends *out;
    ps_lane_runner *runner;
    size_t width;   /* lanes of a vector */
    double *passed; /* [n_slots * n_lanes] */
    double *own_ns; /* [most_ops] durations by position in the piece */
    ps_lane_cell *cells;
    double *ends_alloc, *ends;
    uint64_t *seen; /* [n_lanes * words] what a lane sees of the piece */
    uint64_t *hash; /* [n_lanes] of that, by run */
    size_t words;
    uint32_t *lane_of; /* [n_lanes] of each run the first lane */
    uint32_t *run_of;  /* [n_lanes] */
    size_t n_runs;     /* of the piece in hand */
} lane_run;

static bool is_own(const ps_lane_times *in, uint32_t cell, size_t lane) {
    return (in->own[cell * ps_lane_words(in->n_lanes) + lane / 64] >> lane % 64 & 1) != 0;
}

static double *passed_at(const lane_run *r, uint32_t slot) {
    return r->passed + (size_t)slot * r->in->n_lanes;
}

/* --- lanes that see the same ------------------------------------------------------------------------------------------- */

static void look(lane_run *r, const ps_lane_piece *piece) {
    const ps_lanes *p = r->p;
    size_t n_lanes = r->in->n_lanes;
    size_t mask_words = ((size_t)piece->n_cells + 63) / 64;
    r->words = mask_words + piece->n_in;
    memset(r->seen, 0, n_lanes * r->words * sizeof *r->seen);
    for (uint32_t c = 0; c < piece->n_cells; c++) {
        uint32_t cell = p->cells[piece->first_cell + c];
        for (size_t k = 0; k < n_lanes; k++) {
            r->seen[k * r->words + c / 64] |= (uint64_t)is_own(r->in, cell, k) << c % 64;
        }
    }
    for (uint32_t i = 0; i < piece->n_in; i++) {
        const double *ends = passed_at(r, p->passed_in[piece->first_in + i].slot);
        for (size_t k = 0; k < n_lanes; k++) {
            memcpy(&r->seen[k * r->words + mask_words + i], &ends[k], sizeof ends[k]);
        }
    }
}

static uint64_t hash_seen(const uint64_t *seen, size_t n) {
    uint64_t hash = 0;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ seen[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

static void find_runs(lane_run *r, const ps_lane_piece *piece) {
    size_t n_lanes = r->in->n_lanes;
    bool is_worth_it = piece->of_one_part && piece->n >= LEAST_OPS && n_lanes > 1;
    if (is_worth_it) {
        look(r, piece);
    }
    r->n_runs = 0;
    for (size_t k = 0; k < n_lanes; k++) {
        size_t run = is_worth_it ? 0 : r->n_runs;
        const uint64_t *seen = is_worth_it ? r->seen + k * r->words : NULL;
        uint64_t hash = is_worth_it ? hash_seen(seen, r->words) : 0;
        while (run < r->n_runs &&
               (r->hash[run] != hash ||
                memcmp(r->seen + r->lane_of[run] * r->words, seen, r->words * sizeof *seen) != 0)) {
            run++;
        }
        if (run == r->n_runs) {
            r->hash[run] = hash;
            r->lane_of[r->n_runs++] = (uint32_t)k;
        }
        r->run_of[k] = (uint32_t)run;
    }
}

/* --- running a piece ----------------------------------------------------------------------------------------------------- */

static void begin_block(lane_run *r, const ps_lane_piece *piece, size_t first, size_t n,
                        size_t stride) {
    const ps_lanes *p = r->p;
    for (uint32_t c = 0; c < piece->n_cells; c++) {
        uint32_t cell = p->cells[piece->first_cell + c];
        uint32_t kind = cell % PS_LANE_KINDS;
        uint32_t own = 0;
        for (size_t k = 0; k < n; k++) {
            own |= (uint32_t)is_own(r->in, cell, r->lane_of[first + k]) << k;
        }
        r->cells[c] =
            (ps_lane_cell){r->in->usual_ns[kind], own, (r->in->end_kinds >> kind & 1) != 0};
    }
    for (uint32_t i = 0; i < piece->n_in; i++) {
        const ps_lane_passed *x = &p->passed_in[piece->first_in + i];
        double *to = r->ends + x->place * stride;
        for (size_t k = 0; k < stride; k++) {
            to[k] = k < n ? passed_at(r, x->slot)[r->lane_of[first + k]] : 0;
        }
    }
}

/* Every lane takes the ends of its run. */
static void end_block(lane_run *r, const ps_lane_piece *piece, const ps_lane_block *b, size_t first,
                      size_t n, size_t stride) {
    for (size_t k = 0; k < r->in->n_lanes; k++) {
        size_t at = r->run_of[k] - first;
        if (r->run_of[k] < first || at >= n) {
            continue;
        }
        double *end = &r->out->end_ns[k];
        double *latest = &r->out->latest_ns[k];
        *end = b->end_ns[at] > *end ? b->end_ns[at] : *end;
        *latest = b->latest_ns[at] > *latest ? b->latest_ns[at] : *latest;
        for (uint32_t i = 0; i < piece->n_out; i++) {
            const ps_lane_passed *x = &r->p->passed_out[piece->first_out + i];
            passed_at(r, x->slot)[k] = r->ends[x->place * stride + at];
        }
    }
}

static void run_piece(lane_run *r, const ps_lane_piece *piece) {
    const ps_lanes *p = r->p;
    size_t most = r->width * PS_BLOCK_VECTORS;
    for (uint32_t i = 0; i < piece->n; i++) {
        r->own_ns[i] = (double)r->in->duration_ns[p->order[piece->first + i]];
    }
    find_runs(r, piece);
    for (size_t first = 0; first < r->n_runs; first += most) {
        size_t n = r->n_runs - first < most ? r->n_runs - first : most;
        size_t n_vectors = (n + r->width - 1) / r->width;
        ps_lane_block b = {.ops = p->ops + piece->first,
                           .n = piece->n,
                           .waits = p->waits + piece->first_wait,
                           .is_far = p->is_far != NULL ? p->is_far + piece->first_wait : NULL,
                           .lag_ns = r->in->lag_ns,
                           .duration_ns = r->own_ns,
                           .cells = r->cells,
                           .ends = r->ends};
        begin_block(r, piece, first, n, n_vectors * r->width);
        r->runner(&b, n_vectors);
        end_block(r, piece, &b, first, n, n_vectors * r->width);
    }
}

/* --- a run ------------------------------------------------------------------------------------------------------------------ */

static bool machine_has(ps_lane_way way) {
#if defined(__x86_64__)
    return way == PS_LANES_AVX512 ? __builtin_cpu_supports("avx512f")
                                  : __builtin_cpu_supports("avx2");
#else
    (void)way;
    return false;
#endif
}

ps_lane_runner *ps_lane_runner_of(ps_lane_way way, size_t *width) {
    if (way == PS_LANES_PLAIN) {
        return ps_lane_runner_plain(width);
    }
    if (way == PS_LANES_BEST) {
        ps_lane_runner *runner = ps_lane_runner_of(PS_LANES_AVX512, width);
        runner = runner != NULL ? runner : ps_lane_runner_of(PS_LANES_AVX2, width);
        return runner != NULL ? runner : ps_lane_runner_plain(width);
    }
    if (!machine_has(way)) {
        return NULL;
    }
    return way == PS_LANES_AVX512 ? ps_lane_runner_avx512(width) : ps_lane_runner_avx2(width);
}

static bool lane_run_init(lane_run *r) {
    const ps_lanes *p = r->p;
    size_t n_lanes = r->in->n_lanes;
    size_t most_words = ((size_t)p->most_cells + 63) / 64 + p->most_in + 1;
    size_t block = r->width * PS_BLOCK_VECTORS;
    r->passed = ps_realloc_array(NULL, (size_t)p->n_slots * n_lanes + 1, sizeof *r->passed);
    r->own_ns = ps_realloc_array(NULL, (size_t)p->most_ops + 1, sizeof *r->own_ns);
    r->cells = ps_realloc_array(NULL, (size_t)p->most_cells + 1, sizeof *r->cells);
    r->ends_alloc = ps_realloc_array(
        NULL, (size_t)p->most_places * block + LINE_BYTES / sizeof *r->ends, sizeof *r->ends);
    r->seen = ps_realloc_array(NULL, n_lanes * most_words + 1, sizeof *r->seen);
    r->hash = ps_realloc_array(NULL, n_lanes + 1, sizeof *r->hash);
    r->lane_of = ps_realloc_array(NULL, n_lanes + 1, sizeof *r->lane_of);
    r->run_of = ps_realloc_array(NULL, n_lanes + 1, sizeof *r->run_of);
    if (r->passed == NULL || r->own_ns == NULL || r->cells == NULL || r->ends_alloc == NULL ||
        r->seen == NULL || r->hash == NULL || r->lane_of == NULL || r->run_of == NULL) {
        return false;
    }
    size_t beyond = (uintptr_t)r->ends_alloc % LINE_BYTES;
    r->ends = r->ends_alloc + (beyond > 0 ? (LINE_BYTES - beyond) / sizeof *r->ends : 0);
    return true;
}

static void lane_run_fini(lane_run *r) {
    ps_free(r->passed);
    ps_free(r->own_ns);
    ps_free(r->cells);
    ps_free(r->ends_alloc);
    ps_free(r->seen);
    ps_free(r->hash);
    ps_free(r->lane_of);
    ps_free(r->run_of);
}

bool ps_lanes_run_with(const ps_lanes *p, const ps_lane_times *times, ps_lane_runner *runner,
                       size_t width, ps_lane_ends *out) {
    lane_run r = {.p = p, .in = times, .out = out, .runner = runner, .width = width};
    bool ok = lane_run_init(&r);
    for (size_t k = 0; k < times->n_lanes; k++) {
        out->end_ns[k] = out->latest_ns[k] = 0;
    }
    for (size_t i = 0; ok && i < p->n_pieces; i++) {
        run_piece(&r, &p->pieces[i]);
    }
    lane_run_fini(&r);
    return ok;
}

bool ps_lanes_run(const ps_lanes *p, const ps_lane_times *times, ps_lane_ends *out) {
    size_t width = 0;
    ps_lane_runner *runner = ps_lane_runner_of(PS_LANES_BEST, &width);
    return ps_lanes_run_with(p, times, runner, width, out);
}
