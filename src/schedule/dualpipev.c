/* DualPipeV: the model folded to a V. Device d holds stage d (chunk 0, on the way in) and stage 2p-1-d (chunk 1,
 * on the way out), so that the forward of one chunk can run together with the backward of the other.
 *
 * The order of a device is eight phases of counted repetitions; every use takes the next microbatch of its chunk
 * and direction, and a weight gradient (W) is the oldest one not yet done. For p devices, device d, m microbatches
 * (F0 = forward of chunk 0, BI/BW = input/weight gradient, x&y = overlapped pair):
 *
 *   1  2(p-1-d)  F0                          5  p-1-d   B1, F1&B0
 *   2  d+1       F0 F1                       6  2(d+1)  B1 and B0 in turn, the second half BI
 *   3  p-1-d     BI1 BW1 F1                  7  p-1-d   BW, BI0
 *   4  m-2p+d+1  F0&B1, F1&B0                8  d+1     BW
 *
 * On the last device the very first pair of phase 4 is two ops: nothing came before that could be overlapped.
 * marks() are what MindSpeed's ranges show of it: see shown_by_marks below, and docs/schedules.md. */
#include "schedule/schedule.h"

typedef struct state {
    ps_op_list *out;
    bool marks;       /* the list of marks, not of ops */
    bool overlap_off; /* marks: each pair is its forward, then its backward; no output head apart */
    bool first_device;
    int32_t phase;       /* 0..6 as StepTaskInfo counts: phases 7 and 8 above belong to 6 */
    int32_t next_f[2];   /* next forward of each chunk */
    int32_t next_b[2];   /* next backward of each chunk */
    bool ok;
} state;

static void add(state *s, ps_op_kind kind, int32_t chunk, int32_t microbatch, int32_t chunk2, int32_t microbatch2) {
    s->ok = s->ok && ps_op_list_add(s->out, (ps_sched_op){.kind = kind,
                                                          .chunk = chunk,
                                                          .microbatch = microbatch,
                                                          .chunk2 = chunk2,
                                                          .microbatch2 = microbatch2,
                                                          .phase = s->phase});
}

static void forward(state *s, int32_t chunk) {
    add(s, PS_OP_F, chunk, s->next_f[chunk]++, -1, -1);
}

/* The model's output head sits at the end of chunk 1 on device 0, and its backward has a range of its own. */
static void output_head(state *s, int32_t chunk) {
    if (s->marks && !s->overlap_off && s->first_device && chunk == 1) {
        add(s, PS_OP_LOGITS, chunk, s->next_b[chunk], -1, -1);
    }
}

/* Returns the microbatch. */
static int32_t backward(state *s, ps_op_kind kind, int32_t chunk) {
    output_head(s, chunk);
    int32_t microbatch = s->next_b[chunk]++;
    add(s, kind, chunk, microbatch, -1, -1);
    return microbatch;
}

static void pair(state *s, int32_t forward_chunk, int32_t backward_chunk) {
    if (s->marks && s->overlap_off) {
        forward(s, forward_chunk);
        (void)backward(s, PS_OP_B, backward_chunk);
        return;
    }
    output_head(s, backward_chunk);
    add(s, PS_OP_FB, forward_chunk, s->next_f[forward_chunk]++, backward_chunk, s->next_b[backward_chunk]++);
}

/* Phases 1 to 5, where marks and ops differ only in what the helpers above decide. */
static void body(state *s, int32_t p, int32_t m, int32_t device) {
    int32_t behind = p - 1 - device;
    s->phase = 0;
    for (int32_t i = 0; i < 2 * behind; i++) {
        forward(s, 0);
    }
    s->phase = 1;
    for (int32_t i = 0; i < device + 1; i++) {
        forward(s, 0);
        forward(s, 1);
    }
    s->phase = 2;
    for (int32_t i = 0; i < behind; i++) {
        int32_t microbatch = backward(s, PS_OP_BI, 1);
        add(s, PS_OP_BW, 1, microbatch, -1, -1);
        forward(s, 1);
    }
    s->phase = 3;
    for (int32_t i = 0; i < m - 2 * p + device + 1; i++) {
        if (i == 0 && behind == 0) {
            forward(s, 0);
            (void)backward(s, PS_OP_B, 1);
        } else {
            pair(s, 0, 1);
        }
        pair(s, 1, 0);
    }
    s->phase = 4;
    for (int32_t i = 0; i < behind; i++) {
        (void)backward(s, PS_OP_B, 1);
        pair(s, 1, 0);
    }
}

/* The weight gradients that phases 6 and 7 put off, oldest first: the chunks of the BI ops in the order of their
 * execution. There are p of them; their microbatches count on within each chunk. */
typedef struct queue {
    int32_t first[2];   /* microbatch of the first BI of each chunk that waits */
    int32_t n_turns;    /* the first n_turns entries take turns, beginning with first_chunk; the rest is chunk 0 */
    int32_t first_chunk;
    int32_t taken, taken_of[2];
} queue;

static void oldest_weight(state *s, queue *q) {
    int32_t chunk = q->taken < q->n_turns ? (q->first_chunk + q->taken) % 2 : 0;
    add(s, PS_OP_BW, chunk, q->first[chunk] + q->taken_of[chunk]++, -1, -1);
    q->taken++;
}

/* Phases 6 to 8. A mark cannot tell BI from B, so marks call every backward here B; the weight gradients have no
 * marks. */
static void tail(state *s, int32_t p, int32_t device) {
    int32_t behind = p - 1 - device;
    int32_t turns = device + 1;
    ps_op_kind split = s->marks ? PS_OP_B : PS_OP_BI;
    s->phase = 5;
    for (int32_t i = 0; i < turns; i++) {
        (void)backward(s, PS_OP_B, (i + 1) % 2);
    }
    s->phase = 6;
    queue q = {.first = {s->next_b[0], s->next_b[1]}, .n_turns = turns, .first_chunk = (turns + 1) % 2};
    for (int32_t i = turns; i < 2 * turns; i++) {
        (void)backward(s, split, (i + 1) % 2);
    }
    for (int32_t i = 0; i < behind; i++) {
        if (!s->marks) {
            oldest_weight(s, &q);
        }
        (void)backward(s, split, 0);
    }
    for (int32_t i = 0; i < turns && !s->marks; i++) {
        oldest_weight(s, &q);
    }
}

static ps_code list(const ps_schedule_params *params, int32_t device, bool marks, ps_op_list *out, ps_err *err) {
    state s = {
        .out = out, .marks = marks, .overlap_off = params->overlap_off, .first_device = device == 0, .ok = true};
    body(&s, params->n_stages, params->n_microbatches, device);
    tail(&s, params->n_stages, device);
    return s.ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code order(const ps_schedule_params *params, int32_t device, ps_op_list *out, ps_err *err) {
    return list(params, device, false, out, err);
}

static ps_code marks(const ps_schedule_params *params, int32_t device, ps_op_list *out, ps_err *err) {
    return list(params, device, true, out, err);
}

static ps_code check(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_schedule_check_size(params, err);
    if (code == PS_OK && params->n_microbatches < 2 * params->n_stages) {
        code = ps_fail(err, PS_RANGE, "dualpipev needs at least 2p = %d microbatches for %d stages, got %d",
                       (int)(2 * params->n_stages), (int)params->n_stages, (int)params->n_microbatches);
    }
    return code;
}

static int32_t logical_stage(const ps_schedule_params *params, int32_t device, int32_t chunk) {
    return chunk == 0 ? device : 2 * params->n_stages - 1 - device;
}

const ps_schedule ps_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "DualPipe folded to a V; forward and backward of two model pieces overlap",
    .rule = "m >= 2p",
    .n_chunks = 2,
    .check = check,
    .order = order,
    .marks = marks,
    .logical_stage = logical_stage,
};
