#include "analyze/whatif/plan_pieces.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

int32_t ps_plan_n_pieces(const ps_sim_plan *plan) {
    return plan->lists.chain_length;
}

int32_t ps_plan_piece(const ps_sim_plan *plan, int32_t device, int32_t chunk) {
    return ps_lists_logical(&plan->lists, device, chunk) % plan->lists.chain_length;
}

int32_t ps_plan_n_ways(const ps_sim_plan *plan) {
    return plan->lists.n_logical / plan->lists.chain_length;
}

/* --- how long ops take --------------------------------------------------------------------------------------------- */

static int64_t pass_time(const ps_pass_times *t, ps_op_kind kind) {
    switch (kind) {
    case PS_OP_F:
        return t->f_ns;
    case PS_OP_B:
        return t->b_ns;
    case PS_OP_BI:
        return t->b_ns - t->w_ns;
    case PS_OP_BW:
        return t->w_ns;
    default:
        return 0;
    }
}

/* What an op of a piece takes without any layer: the ends, and the device's own. */
static int64_t base_of(const ps_sim_plan *plan, const ps_plan_pieces *p, int32_t device,
                       int32_t piece, ps_op_kind kind) {
    int64_t ns = pass_time(&p->rest[device], kind) / plan->lists.n_chunks;
    ns += piece == 0 ? pass_time(&p->first, kind) : 0;
    return ns + (piece == ps_plan_n_pieces(plan) - 1 ? pass_time(&p->last, kind) : 0);
}

static ps_op_class class_of(const ps_sim_plan *plan, const ps_plan_pieces *p, int32_t device,
                            const ps_sched_op *op) {
    ps_op_class c = {.piece = ps_plan_piece(plan, device, op->chunk)};
    c.piece2 = c.piece;
    if (op->kind != PS_OP_FB) {
        c.base_ns = base_of(plan, p, device, c.piece, op->kind);
        c.unit_ns = pass_time(&p->layer[device], op->kind);
        return c;
    }
    c.piece2 = ps_plan_piece(plan, device, op->chunk2);
    c.base_ns =
        (base_of(plan, p, device, c.piece, PS_OP_F) + base_of(plan, p, device, c.piece2, PS_OP_B)) *
        p->pair_per_mille / 1000;
    c.unit_ns = p->layer[device].f_ns * p->pair_per_mille / 1000;
    c.unit2_ns = p->layer[device].b_ns * p->pair_per_mille / 1000;
    return c;
}

/* Ops of one kind and chunk, or pair of chunks, of a device. */
static size_t class_key(const ps_sim_plan *plan, int32_t device, const ps_sched_op *op) {
    size_t n_chunks = (size_t)plan->lists.n_chunks;
    size_t chunk = (size_t)device * n_chunks + (size_t)op->chunk;
    size_t n_single = (size_t)plan->lists.n_stages * n_chunks * PS_N_OP_KINDS;
    return op->kind == PS_OP_FB ? n_single + chunk * n_chunks + (size_t)op->chunk2
                                : chunk * PS_N_OP_KINDS + (size_t)op->kind;
}

bool ps_op_classes_make(const ps_sim_plan *plan, const ps_plan_pieces *pieces, ps_op_classes *out) {
    size_t n_chunks = (size_t)plan->lists.n_chunks;
    size_t n_keys = (size_t)plan->lists.n_stages * n_chunks * (PS_N_OP_KINDS + n_chunks);
    uint32_t *known = ps_calloc(n_keys + 1, sizeof *known); /* class + 1 */
    size_t cap = 0;
    *out = (ps_op_classes){.of = ps_realloc_array(NULL, (size_t)plan->n_ops + 1, sizeof *out->of)};
    bool ok = known != NULL && out->of != NULL;
    for (uint32_t op = 0; ok && op < plan->n_ops; op++) {
        size_t key = class_key(plan, plan->device[op], &plan->ops[op]);
        if (known[key] == 0) {
            ok = ps_grow(&out->classes, &cap, out->n + 1, UINT32_MAX - 1, sizeof *out->classes);
            if (!ok) {
                break;
            }
            out->classes[out->n++] = class_of(plan, pieces, plan->device[op], &plan->ops[op]);
            known[key] = (uint32_t)out->n;
        }
        out->of[op] = known[key] - 1;
    }
    out->ns = ok ? ps_calloc(out->n + 1, sizeof *out->ns) : NULL;
    ps_free(known);
    return out->ns != NULL;
}

void ps_op_classes_fini(ps_op_classes *c) {
    ps_free(c->classes);
    ps_free(c->of);
    ps_free(c->ns);
    *c = (ps_op_classes){0};
}

void ps_op_classes_durations(ps_op_classes *c, const ps_sim_plan *plan, const double *layers,
                             int64_t *duration_ns) {
    for (size_t i = 0; i < c->n; i++) {
        const ps_op_class *k = &c->classes[i];
        c->ns[i] = k->base_ns + llround((double)k->unit_ns * layers[k->piece] +
                                        (double)k->unit2_ns * layers[k->piece2]);
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        duration_ns[op] = c->ns[c->of[op]];
    }
}

int64_t ps_plan_device_busy(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const int32_t *layers, int32_t device) {
    const ps_pass_times *layer = &pieces->layer[device];
    int64_t busy = 0;
    for (int32_t c = 0; c < plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(plan, device, c);
        busy += base_of(plan, pieces, device, piece, PS_OP_F) +
                base_of(plan, pieces, device, piece, PS_OP_B) +
                layers[piece] * (layer->f_ns + layer->b_ns);
    }
    return busy;
}

/* --- what devices hold --------------------------------------------------------------------------------------------- */

/* Layers whose activations a device holds at most; held[n_chunks] as it was then. An op that runs forward takes, the last part of its
 * backward gives back; in a pair both are held. */
static int64_t peak_layers(const ps_sim_plan *plan, const int32_t *layers, int32_t device,
                           int32_t *held) {
    int32_t now[PS_MAX_CHUNKS] = {0};
    int64_t sum = 0;
    int64_t peak = -1;
    for (size_t i = plan->first[device]; i < plan->first[device + 1]; i++) {
        const ps_sched_op *op = &plan->ops[i];
        if (ps_op_runs_forward(op)) {
            now[op->chunk]++;
            sum += layers[ps_plan_piece(plan, device, op->chunk)];
            if (sum > peak) {
                peak = sum;
                memcpy(held, now, (size_t)plan->lists.n_chunks * sizeof *held);
            }
        }
        int32_t ends = op->kind == PS_OP_FB                          ? op->chunk2
                       : op->kind == PS_OP_B || op->kind == PS_OP_BW ? op->chunk
                                                                     : -1;
        if (ends >= 0 && now[ends] > 0) {
            now[ends]--;
            sum -= layers[ps_plan_piece(plan, device, ends)];
        }
    }
    return peak > 0 ? peak : 0;
}

ps_device_load ps_plan_device_load(const ps_sim_plan *plan, const ps_plan_limits *limits,
                                   const int32_t *layers, int32_t device, int32_t *held) {
    ps_device_load load = {.peak_layers = peak_layers(plan, layers, device, held)};
    for (int32_t c = 0; c < plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(plan, device, c);
        load.layers += layers[piece];
        load.bytes += piece == 0 ? limits->first_bytes : 0;
        load.bytes += piece == ps_plan_n_pieces(plan) - 1 ? limits->last_bytes : 0;
    }
    load.bytes += load.layers * limits->layer_bytes + load.peak_layers * limits->activation_bytes;
    return load;
}
