#include "analyze/pipeline/rank_labels_steps.h"

#include "base/alloc.h"
#include "base/idmap.h"

#define MAX_CHUNKS 64

/* One microbatch of one model piece, with chunks of all of them together. */
typedef struct piece {
    uint32_t step;       /* what follows is of this one */
    uint32_t n_forwards; /* seen */
    bool has_backward;   /* seen */
    uint64_t open;       /* chunks whose backward is to come; without chunks bit 0 */
} piece;

typedef struct walk {
    bool split, chunks;
    ps_label_steps *out;
    ps_idmap seen; /* label -> step it was seen in last */
    ps_idmap rows; /* stage, microbatch -> row in pieces */
    piece *pieces;
    size_t n, cap;
    ps_idmap lowest; /* stage + 1 -> its lowest microbatch with a forward */
    uint32_t step;
    size_t n_open;
    bool any, has_backward; /* in the step */
    bool is_twice;          /* a label stood twice in it */
    bool has_orphan;        /* a backward without its forward */
} walk;

/* One op of a rank in a step. */
static uint64_t label_step_key_of(const ps_host_label *l) {
    return (uint64_t)l->kind << 60 ^ (uint64_t)(uint32_t)(l->stage + 1) << 38 ^
           (uint64_t)(uint32_t)(l->microbatch + 1) << 18 ^ (uint64_t)(uint32_t)(l->microbatch2 + 1);
}

static bool has_forward(ps_op_kind kind) {
    return kind == PS_OP_F || kind == PS_OP_FB;
}

static bool has_label_step_backward(ps_op_kind kind) {
    return kind == PS_OP_B || kind == PS_OP_BI || kind == PS_OP_FB;
}

/* The state of a piece in the step, NULL when memory is out. */
static piece *piece_of(walk *w, int32_t stage, int32_t microbatch) {
    uint64_t key = (uint64_t)(uint32_t)(w->chunks ? 0 : stage + 1) << 32 | (uint32_t)microbatch;
    uint32_t row = ps_idmap_get(&w->rows, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)w->n;
        if (!ps_grow(&w->pieces, &w->cap, w->n + 1, UINT32_MAX - 1, sizeof *w->pieces) ||
            !ps_idmap_put(&w->rows, key, row)) {
            return NULL;
        }
        w->pieces[w->n++] = (piece){.step = w->step};
    }
    piece *p = &w->pieces[row];
    if (p->step != w->step) {
        *p = (piece){.step = w->step};
    }
    return p;
}

static void end_step(walk *w) {
    w->out->n_steps += w->any;
    w->out->n_steps_twice += w->is_twice;
    w->n_open = 0;
    w->any = false;
    w->has_backward = false;
    w->is_twice = false;
}

static void begin_label_step(walk *w) {
    end_step(w);
    w->step++;
}

/* Whether the op begins a step. Without chunks every label that stands there again does; with them a forward may stand
 * there again for each chunk, before the first backward of its microbatch. False when memory is out. */
static bool label_step_begins(walk *w, const ps_host_label *l, bool *begin) {
    bool forward = has_forward(l->kind);
    const piece *p = forward ? piece_of(w, l->stage, l->microbatch) : NULL;
    if (forward && p == NULL) {
        return false;
    }
    bool again = w->chunks ? forward && p->n_forwards > 0
                           : ps_idmap_get(&w->seen, label_step_key_of(l)) == w->step;
    bool first =
        forward && ps_idmap_get(&w->lowest, (uint64_t)(l->stage + 1)) == (uint32_t)l->microbatch;
    bool quiet = w->n_open == 0 && w->has_backward;
    *begin = (first && quiet) || (again && (!w->chunks || (p->has_backward && w->n_open == 0)));
    w->out->is_cut = w->out->is_cut || (*begin && !again && w->step == 0);
    return true;
}

static bool open_forward(walk *w, ps_host_label *l) {
    piece *p = piece_of(w, l->stage, l->microbatch);
    if (p == NULL) {
        return false;
    }
    uint32_t chunk = w->chunks ? p->n_forwards : 0;
    if (w->chunks) {
        w->out->is_broken = w->out->is_broken || p->has_backward || chunk >= MAX_CHUNKS;
        chunk = chunk < MAX_CHUNKS ? chunk : 0;
        l->stage = (int32_t)chunk;
        w->out->n_chunks = l->stage >= w->out->n_chunks ? l->stage + 1 : w->out->n_chunks;
    }
    uint64_t bit = UINT64_C(1) << chunk;
    w->n_open += (p->open & bit) == 0;
    p->open |= bit;
    p->n_forwards++;
    return true;
}

static bool close_backward(walk *w, ps_host_label *l) {
    int32_t *stage = l->kind == PS_OP_FB ? &l->stage2 : &l->stage;
    int32_t microbatch = l->kind == PS_OP_FB ? l->microbatch2 : l->microbatch;
    piece *p = piece_of(w, *stage, microbatch);
    if (p == NULL) {
        return false;
    }
    uint32_t chunk = 0;
    for (uint32_t c = 0; c < MAX_CHUNKS; c++) {
        chunk = (p->open >> c & 1) != 0 ? c : chunk;
    }
    w->has_orphan = w->has_orphan || p->open == 0;
    w->n_open -= p->open != 0;
    p->open &= ~(UINT64_C(1) << chunk);
    p->has_backward = true;
    *stage = w->chunks ? (int32_t)chunk : *stage;
    return true;
}

static bool take_label_step(walk *w, ps_host_label *l) {
    bool begin = false;
    if (w->split && !label_step_begins(w, l, &begin)) {
        return false;
    }
    if (begin) {
        begin_label_step(w);
    }
    if ((has_forward(l->kind) && !open_forward(w, l)) ||
        (has_label_step_backward(l->kind) && !close_backward(w, l))) {
        return false;
    }
    w->has_backward = w->has_backward || l->kind != PS_OP_F;
    w->any = true;
    if (ps_idmap_get(&w->seen, label_step_key_of(l)) == w->step) { /* now with its chunk */
        w->is_twice = true;
        w->out->n_twice++;
    }
    return ps_idmap_put(&w->seen, label_step_key_of(l), w->step);
}

static bool find_lowest(walk *w, const ps_labelled *ops, size_t n) {
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const ps_host_label *l = &ops[i].label;
        uint64_t stage = (uint64_t)(l->stage + 1);
        if (has_forward(l->kind) && (uint32_t)l->microbatch < ps_idmap_get(&w->lowest, stage)) {
            ok = ps_idmap_put(&w->lowest, stage, (uint32_t)l->microbatch);
        }
    }
    return ok;
}

bool ps_label_steps_find(ps_labelled *ops, size_t n, bool split, bool chunks, ps_label_steps *out) {
    walk w = {.split = split, .chunks = chunks, .out = out};
    bool ok = true;
    *out = (ps_label_steps){.n_chunks = 0};
    ps_idmap_init(&w.seen);
    ps_idmap_init(&w.rows);
    ps_idmap_init(&w.lowest);
    ok = find_lowest(&w, ops, n);
    for (size_t i = 0; ok && i < n; i++) {
        if (!split && i > 0 && ops[i].mark.step != ops[i - 1].mark.step) {
            begin_label_step(&w);
        }
        ok = !ps_label_is_op(ops[i].label.kind) || take_label_step(&w, &ops[i].label);
        ops[i].mark.step = split ? (int64_t)w.step : ops[i].mark.step;
    }
    end_step(&w);
    out->is_broken =
        out->is_broken || (chunks && (out->n_twice > 0 || (out->n_chunks > 1 && w.has_orphan)));
    ps_idmap_fini(&w.seen);
    ps_idmap_fini(&w.rows);
    ps_idmap_fini(&w.lowest);
    ps_free(w.pieces);
    return ok;
}

/* --- evaluations ---------------------------------------------------------------------------------------------- */

/* One microbatch of one stage in a window. */
typedef struct passes {
    int32_t stage, microbatch;
    uint32_t open;       /* op, of a forward that no backward has followed yet; PS_IDMAP_NONE */
    uint32_t n_pairs;    /* forwards with their backward */
    uint32_t n_forwards; /* without, in this window */
    uint32_t n_lone;     /* backwards whose forward is not the one before them */
} passes;

typedef struct evaluations {
    ps_labelled *ops;
    bool *is_one; /* [ops] a forward without a backward, or a backward that does nothing */
    bool computing_is_known; /* some backward holds any */
    ps_idmap rows;
    passes *at;
    size_t n, cap;
} evaluations;

static passes *passes_of(evaluations *e, int32_t stage, int32_t microbatch) {
    uint64_t key = (uint64_t)(uint32_t)(stage + 1) << 32 | (uint32_t)microbatch;
    uint32_t row = ps_idmap_get(&e->rows, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)e->n;
        if (!ps_grow(&e->at, &e->cap, e->n + 1, UINT32_MAX - 1, sizeof *e->at) ||
            !ps_idmap_put(&e->rows, key, row)) {
            return NULL;
        }
        e->at[e->n++] = (passes){.stage = stage, .microbatch = microbatch, .open = PS_IDMAP_NONE};
    }
    return &e->at[row];
}

static void forward_alone(evaluations *e, passes *p) {
    if (p->open != PS_IDMAP_NONE && e->ops[p->open].label.kind == PS_OP_F) {
        e->is_one[p->open] = true;
        p->n_forwards++;
    }
    p->open = PS_IDMAP_NONE;
}

/* Schedules of PyTorch name the backwards of an evaluation, too, in which nothing runs. */
static bool does_nothing(const evaluations *e, uint32_t i) {
    return e->computing_is_known && e->ops[i].is_empty && !has_forward(e->ops[i].label.kind);
}

static bool take_pass(evaluations *e, uint32_t i) {
    const ps_host_label *l = &e->ops[i].label;
    if (has_label_step_backward(l->kind)) {
        bool is_pair = l->kind == PS_OP_FB;
        passes *p =
            passes_of(e, is_pair ? l->stage2 : l->stage, is_pair ? l->microbatch2 : l->microbatch);
        if (p == NULL) {
            return false;
        }
        if (does_nothing(e, i)) {
            forward_alone(e, p);
        }
        p->n_pairs += p->open != PS_IDMAP_NONE;
        p->n_lone += p->open == PS_IDMAP_NONE && !does_nothing(e, i);
        p->open = PS_IDMAP_NONE;
    }
    e->is_one[i] = does_nothing(e, i);
    if (has_forward(l->kind)) {
        passes *p = passes_of(e, l->stage, l->microbatch);
        if (p == NULL) {
            return false;
        }
        forward_alone(e, p);
        p->open = i;
    }
    return true;
}

/* Whether each microbatch of the stage has as many forwards without a backward, and one with: lost labels are not like that, nor are two
 * forwards of which both backwards follow. */
static bool is_whole(const evaluations *e, const passes *one) {
    bool whole = one->n_pairs > 0 && one->n_forwards > 0;
    for (size_t i = 0; whole && i < e->n; i++) {
        const passes *p = &e->at[i];
        whole = p->stage != one->stage ||
                (p->n_pairs == one->n_pairs && p->n_forwards == one->n_forwards && p->n_lone == 0);
    }
    return whole;
}

/* The window's ops are [begin, end). */
static bool judge_window(evaluations *e, uint32_t begin, uint32_t end) {
    for (size_t i = 0; i < e->n; i++) {
        forward_alone(e, &e->at[i]);
    }
    bool ok = true;
    for (uint32_t i = begin; ok && i < end; i++) {
        if (e->is_one[i]) {
            const passes *p = passes_of(e, e->ops[i].label.stage, e->ops[i].label.microbatch);
            ok = p != NULL;
            e->is_one[i] = ok && is_whole(e, p);
        }
    }
    e->n = 0;
    ps_idmap_fini(&e->rows);
    ps_idmap_init(&e->rows);
    return ok;
}

bool ps_label_steps_drop_evaluations(ps_labelled *ops, size_t *n, size_t *n_dropped) {
    evaluations e = {.ops = ops, .is_one = ps_calloc(*n + 1, sizeof *e.is_one)};
    ps_idmap_init(&e.rows);
    bool ok = e.is_one != NULL;
    uint32_t begin = 0;
    for (size_t i = 0; i < *n; i++) {
        e.computing_is_known = e.computing_is_known ||
                               (has_label_step_backward(ops[i].label.kind) && !ops[i].is_empty);
    }
    for (uint32_t i = 0; ok && i < *n; i++) {
        if (ops[i].mark.step != ops[begin].mark.step) {
            ok = judge_window(&e, begin, i);
            begin = i;
        }
        ok = ok && (!ps_label_is_op(ops[i].label.kind) || take_pass(&e, i));
    }
    ok = ok && judge_window(&e, begin, (uint32_t)*n);
    size_t n_kept = 0;
    *n_dropped = 0;
    for (size_t i = 0; ok && i < *n; i++) {
        *n_dropped += e.is_one[i] && has_forward(ops[i].label.kind);
        if (!e.is_one[i]) {
            ops[n_kept++] = ops[i];
        }
    }
    *n = ok ? n_kept : *n;
    ps_idmap_fini(&e.rows);
    ps_free(e.at);
    ps_free(e.is_one);
    return ok;
}
