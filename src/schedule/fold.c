#include "schedule/fold.h"

typedef struct state {
    const ps_fold *fold;
    ps_op_list *out;
    int32_t a, z; /* chunk that enters here, the other one */
    int32_t phase;
    int32_t next_f[2]; /* next forward of each chunk */
    int32_t next_b[2]; /* next backward of each chunk */
} state;

static void add_fold(state *s, ps_op_kind kind, int32_t chunk, int32_t microbatch) {
    (void)ps_op_list_add(s->out, (ps_sched_op){.kind = kind,
                                               .chunk = chunk,
                                               .microbatch = microbatch,
                                               .chunk2 = -1,
                                               .microbatch2 = -1,
                                               .phase = s->phase});
}

static void forward(state *s, int32_t chunk) {
    add_fold(s, PS_OP_F, chunk, s->next_f[chunk]++);
}

static void output_head(state *s, int32_t chunk) {
    if (s->fold->marks && s->fold->has_head && !s->fold->no_pairs && chunk == 1) {
        add_fold(s, PS_OP_LOGITS, chunk, s->next_b[chunk]);
    }
}

/* Returns the microbatch. */
static int32_t backward(state *s, ps_op_kind kind, int32_t chunk) {
    output_head(s, chunk);
    int32_t microbatch = s->next_b[chunk]++;
    add_fold(s, kind, chunk, microbatch);
    return microbatch;
}

static void pair_fold(state *s, int32_t forward_chunk, int32_t backward_chunk) {
    if (s->fold->marks && s->fold->no_pairs) {
        forward(s, forward_chunk);
        (void)backward(s, PS_OP_B, backward_chunk);
        return;
    }
    output_head(s, backward_chunk);
    (void)ps_op_list_add(s->out, (ps_sched_op){.kind = PS_OP_FB,
                                               .chunk = forward_chunk,
                                               .microbatch = s->next_f[forward_chunk]++,
                                               .chunk2 = backward_chunk,
                                               .microbatch2 = s->next_b[backward_chunk]++,
                                               .phase = s->phase});
}

/* Phases 1 to 3: the pipeline fills. */
static void fill_fold(state *s) {
    int32_t inside = s->fold->q - 1 - s->fold->h;
    s->phase = 0;
    for (int32_t i = 0; i < 2 * inside; i++) {
        forward(s, s->a);
    }
    s->phase = 1;
    for (int32_t i = 0; i < s->fold->h + 1; i++) {
        forward(s, s->a);
        forward(s, s->z);
    }
    s->phase = 2;
    for (int32_t i = 0; i < inside; i++) {
        int32_t microbatch = backward(s, PS_OP_BI, s->z);
        add_fold(s, PS_OP_BW, s->z, microbatch);
        forward(s, s->z);
    }
}

/* Phases 4 and 5: pairs. */
static void fold_steady(state *s) {
    const ps_fold *f = s->fold;
    int32_t inside = f->q - 1 - f->h;
    s->phase = 3;
    for (int32_t i = 0; i < f->n - 2 * f->q + f->h + 1; i++) {
        if (i == 0 && inside == 0) {
            forward(s, s->a);
            (void)backward(s, PS_OP_B, s->z);
        } else {
            pair_fold(s, s->a, s->z);
        }
        pair_fold(s, s->z, s->a);
    }
    s->phase = 4;
    for (int32_t i = 0; i < inside; i++) {
        (void)backward(s, PS_OP_B, s->z);
        pair_fold(s, s->z, s->a);
    }
}

/* The q weight gradients that phases 6 and 7 put off, oldest first, without a queue: they are those of z and a in turn
 * for h+1 entries, then of a alone, and microbatches count on within each chunk. */
typedef struct put_off {
    int32_t next[2]; /* microbatch of each chunk's next BW */
    int32_t taken;
} put_off;

/* Chunk of turn i in phase 6. */
static int32_t chunk_of_turn(const state *s, int32_t i) {
    return i % 2 == 0 ? s->z : s->a;
}

static void oldest_weight(state *s, put_off *late) {
    int32_t turns = s->fold->h + 1;
    int32_t chunk = late->taken < turns ? chunk_of_turn(s, turns + late->taken) : s->a;
    add_fold(s, PS_OP_BW, chunk, late->next[chunk]++);
    late->taken++;
}

/* Phases 6 to 8. A mark cannot tell BI from B, so marks call every backward here B; the weight gradients have none. */
static void fold_drain(state *s) {
    int32_t inside = s->fold->q - 1 - s->fold->h;
    int32_t turns = s->fold->h + 1;
    bool whole = s->fold->marks || s->fold->tail_full;
    ps_op_kind late_kind = whole ? PS_OP_B : PS_OP_BI;
    s->phase = 5;
    for (int32_t i = 0; i < turns; i++) {
        (void)backward(s, PS_OP_B, chunk_of_turn(s, i));
    }
    s->phase = 6;
    put_off late = {.next = {s->next_b[0], s->next_b[1]}};
    for (int32_t i = turns; i < 2 * turns; i++) {
        (void)backward(s, late_kind, chunk_of_turn(s, i));
    }
    for (int32_t i = 0; i < inside; i++) {
        if (!whole) {
            oldest_weight(s, &late);
        }
        (void)backward(s, late_kind, s->a);
    }
    for (int32_t i = 0; i < turns && !whole; i++) {
        oldest_weight(s, &late);
    }
}

ps_code ps_fold_list(const ps_fold *fold, ps_op_list *out, ps_err *err) {
    state s = {.fold = fold, .out = out, .a = fold->in, .z = 1 - fold->in};
    fill_fold(&s);
    fold_steady(&s);
    fold_drain(&s);
    return ps_op_list_result(out, err);
}
