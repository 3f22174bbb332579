/* What lanes are made of (step_graph_pieces.c), for the files that run them. Internal to step_graph.
 *
 * The order of ops is cut into *pieces*: of one part what can run before the next unit that is not of one part alone, and the units
 * of several parts that stand between. Ends are kept in *places*, which are given out again once nobody waits for what they
 * hold, so that those in use fit into a cache however large the step is; only ends that another piece reads are
 * kept for all lanes (*slots*). */
#ifndef PS_SCHEDULE_STEP_GRAPH_LANES_H
#define PS_SCHEDULE_STEP_GRAPH_LANES_H

#include "schedule/step_graph.h"

typedef struct ps_lane_op {
    uint32_t n_waits;
    uint32_t place; /* of its end */
    uint32_t cell;  /* of those of its piece */
    uint32_t
        joined; /* how many start together from here on: 1, or a group's members; of the others not used */
} ps_lane_op;

/* An end that passes from one piece to another. */
typedef struct ps_lane_passed {
    uint32_t slot, place;
} ps_lane_passed;

typedef struct ps_lane_piece {
    uint32_t first, n;         /* positions */
    size_t first_wait;         /* in waits */
    uint32_t first_in, n_in;   /* in passed_in: what it reads of others */
    uint32_t first_out, n_out; /* in passed_out: what others read */
    uint32_t first_cell, n_cells;
    bool of_one_part;
} ps_lane_piece;

struct ps_lanes {
    uint32_t n, n_slots;
    uint32_t *order; /* [n] the op at each position */
    ps_lane_op *ops; /* [n] by position */
    uint32_t *waits; /* places; those of an op one after another */
    bool *is_far;    /* of each wait; NULL: none is */
    ps_lane_piece *pieces;
    ps_lane_passed *passed_in, *passed_out;
    uint32_t *cells; /* of the pieces */
    size_t n_pieces, n_passed_in, n_passed_out, n_cells;
    size_t cap_pieces, cap_passed_in, cap_passed_out, cap_cells;
    uint32_t most_ops, most_in, most_cells, most_places; /* of a piece */
};

/* --- one piece for a few lanes: step_graph_lanes_block.h ------------------------------------------------------------- */

enum { PS_BLOCK_VECTORS = 4, PS_BLOCK_LANES = 32 }; /* at most */

typedef struct ps_lane_cell {
    double usual_ns;
    uint32_t own;  /* bit of each lane of the block */
    bool is_asked; /* its ends are */
} ps_lane_cell;

typedef struct ps_lane_block {
    const ps_lane_op *ops;
    uint32_t n;
    const uint32_t *waits;
    const bool *is_far; /* NULL: none is */
    double lag_ns;
    const double *duration_ns; /* by position in the piece */
    const ps_lane_cell *cells;
    double *
        ends; /* [places * lanes of the vectors], those of a place one after another; at a multiple of 64 bytes */
    double end_ns[PS_BLOCK_LANES], latest_ns[PS_BLOCK_LANES];
} ps_lane_block;

typedef void ps_lane_runner(ps_lane_block *b, size_t n_vectors);

/* A way to run blocks, and how many lanes its vectors have; NULL when this build has none such. */
ps_lane_runner *ps_lane_runner_plain(size_t *width);
ps_lane_runner *ps_lane_runner_avx2(size_t *width);
ps_lane_runner *ps_lane_runner_avx512(size_t *width);

/* The same where this machine can go it; the best of them. */
typedef enum ps_lane_way {
    PS_LANES_BEST,
    PS_LANES_PLAIN,
    PS_LANES_AVX2,
    PS_LANES_AVX512
} ps_lane_way;
ps_lane_runner *ps_lane_runner_of(ps_lane_way way, size_t *width);

/* ps_lanes_run with it. */
PS_MUST_USE bool ps_lanes_run_with(const ps_lanes *p, const ps_lane_times *times,
                                   ps_lane_runner *runner, size_t width, ps_lane_ends *out);

#endif
