#include "analyze/whatif/layer_split.h"

#include "base/alloc.h"

/* A schedule on paper as a judge of splits. */
typedef struct paper {
    const ps_sim_plan *plan;
    const ps_plan_pieces *pieces;
    const ps_plan_limits *limits;
    ps_op_classes classes;
    int64_t *duration_ns, *end_ns; /* [n_ops] */
    double *parts;                 /* [pieces] */
    int32_t *held;                 /* [chunks] */
} paper;

static bool paper_init(paper *x) {
    size_t n_ops = x->plan->n_ops;
    x->duration_ns = ps_calloc(n_ops + 1, sizeof *x->duration_ns);
    x->end_ns = ps_calloc(n_ops + 1, sizeof *x->end_ns);
    x->parts = ps_calloc((size_t)ps_plan_n_pieces(x->plan) + 1, sizeof *x->parts);
    x->held = ps_calloc((size_t)x->plan->lists.n_chunks + 1, sizeof *x->held);
    return x->duration_ns != NULL && x->end_ns != NULL && x->parts != NULL && x->held != NULL &&
           ps_op_classes_make(x->plan, x->pieces, &x->classes);
}

static void paper_fini(paper *x) {
    ps_op_classes_fini(&x->classes);
    ps_free(x->duration_ns);
    ps_free(x->end_ns);
    ps_free(x->parts);
    ps_free(x->held);
}

/* Its longest path goes to coef, where that is not NULL. */
static ps_code paper_step(paper *x, const double *parts, int64_t *coef, int64_t *step_ns,
                          ps_err *err) {
    const ps_graph_times times = {.duration_ns = x->duration_ns, .lag_ns = x->pieces->p2p_ns};
    ps_op_classes_durations(&x->classes, x->plan, parts, x->duration_ns);
    ps_code code = ps_step_graph_run(x->plan->graph, &times, NULL, x->end_ns, err);
    uint32_t last = 0;
    for (uint32_t op = 1; code == PS_OK && op < x->plan->n_ops; op++) {
        last = x->end_ns[op] > x->end_ns[last] ? op : last;
    }
    *step_ns = code == PS_OK ? x->end_ns[last] : 0;
    uint32_t op = code == PS_OK && coef != NULL ? last : PS_NO_OP;
    while (op != PS_NO_OP) {
        const ps_op_class *c = &x->classes.classes[x->classes.of[op]];
        coef[c->piece] += c->unit_ns;
        coef[c->piece2] += c->unit2_ns;
        op = ps_step_graph_before(x->plan->graph, &times, x->end_ns, op);
    }
    return code;
}

static ps_code step_on_paper(void *about, const int32_t *layers, int64_t *coef, int64_t *step_ns,
                             ps_err *err) {
    paper *x = about;
    for (int32_t i = 0; i < ps_plan_n_pieces(x->plan); i++) {
        x->parts[i] = layers[i];
    }
    return paper_step(x, x->parts, coef, step_ns, err);
}

static bool device_keeps_limits(void *about, const int32_t *layers, int32_t device,
                                ps_split_limit *broken) {
    paper *x = about;
    const ps_plan_limits *l = x->limits;
    if (l->max_layers == 0 && l->memory_bytes == 0) {
        return true;
    }
    ps_device_load load = ps_plan_device_load(x->plan, l, layers, device, x->held);
    int64_t most = (int64_t)l->max_layers * ps_plan_n_ways(x->plan);
    bool is_many = l->max_layers > 0 && load.layers > most;
    bool is_large = l->memory_bytes > 0 && load.bytes > l->memory_bytes;
    bool is_broken = is_many || is_large;
    for (int32_t c = 0; broken != NULL && is_broken && c < x->plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(x->plan, device, c);
        broken->coef[piece] += is_many ? 1 : l->layer_bytes + x->held[c] * l->activation_bytes;
        broken->limit = is_many ? most : l->memory_bytes;
        broken->base += !is_many && piece == 0 ? l->first_bytes : 0;
        broken->base += !is_many && piece == ps_plan_n_pieces(x->plan) - 1 ? l->last_bytes : 0;
    }
    return !is_broken;
}

/* The piece of a device that takes the least for one more layer. */
static int32_t lightest_piece(void *about, const int32_t *layers, int32_t device) {
    const paper *x = about;
    int32_t last = ps_plan_n_pieces(x->plan) - 1;
    int32_t lightest = -1;
    int64_t least = 0;
    for (int32_t c = 0; c < x->plan->lists.n_chunks; c++) {
        int32_t piece = ps_plan_piece(x->plan, device, c);
        int64_t ns = layers[piece] * x->pieces->layer[device].f_ns +
                     (piece == 0 ? x->pieces->first.f_ns : 0) +
                     (piece == last ? x->pieces->last.f_ns : 0);
        if (lightest < 0 || ns < least) {
            lightest = piece;
            least = ns;
        }
    }
    return lightest;
}

static bool busiest_with(void *about, const int32_t *layers, int32_t piece, int64_t *busy_ns) {
    paper *x = about;
    bool fits = true;
    *busy_ns = 0;
    for (int32_t d = 0; d < x->plan->lists.n_stages; d++) {
        bool has = false;
        for (int32_t c = 0; c < x->plan->lists.n_chunks; c++) {
            has = has || ps_plan_piece(x->plan, d, c) == piece;
        }
        int64_t ns = has ? ps_plan_device_busy(x->plan, x->pieces, layers, d) : 0;
        *busy_ns = ns > *busy_ns ? ns : *busy_ns;
        fits = fits && (!has || device_keeps_limits(x, layers, d, NULL));
    }
    return fits;
}

ps_code ps_layer_split_find(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const ps_plan_limits *limits, size_t work, ps_layer_split *out,
                            ps_err *err) {
    paper x = {.plan = plan, .pieces = pieces, .limits = limits};
    const ps_split_judge judge = {.about = &x,
                                  .n_pieces = ps_plan_n_pieces(plan),
                                  .n_layers = pieces->n_layers,
                                  .n_places = plan->lists.n_stages,
                                  .least = limits->min_layers,
                                  .cost = (size_t)plan->n_ops * PS_SPLIT_OP_WORK,
                                  .step = step_on_paper,
                                  .keeps_limit = device_keeps_limits,
                                  .next_piece = lightest_piece,
                                  .busy = busiest_with};
    *out = (ps_layer_split){0};
    ps_code code = paper_init(&x) ? ps_split_search(&judge, work, out, err) : ps_fail_nomem(err);
    paper_fini(&x);
    return code;
}

ps_code ps_layer_split_step(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const double *layers, int64_t *step_ns, ps_err *err) {
    paper x = {.plan = plan, .pieces = pieces};
    ps_code code = paper_init(&x) ? paper_step(&x, layers, NULL, step_ns, err) : ps_fail_nomem(err);
    paper_fini(&x);
    return code;
}
