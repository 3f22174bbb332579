/* The plan knows what each of its ops needs. Measured ops are mapped to plan ops through a table over (stage, chunk,
 * microbatch), once for forwards and once for backwards: where the plan has a pair (FB), the program may have run
 * its halves one after the other, and the other way round. */
#include "schedule/connect.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/chart_groups.h"

typedef struct half {
    uint32_t *plan_op; /* [stage][chunk][microbatch] number in the plan, PS_NO_OP */
    uint32_t *row;     /* [plan op] row in the chart's ops in the step being linked, PS_NO_INDEX */
} half;

typedef struct connecting {
    ps_chart *chart;
    const ps_sim_plan *plan;
    ps_chart_groups groups;
    half forward, backward;
    size_t n_chunks, n_cells;
    uint32_t *ranks; /* rows of ranks, by pipeline */
} connecting;

static bool has_forward(uint8_t kind) {
    return kind == PS_OP_F || kind == PS_OP_FB;
}

static bool has_connect_backward(uint8_t kind) {
    return kind == PS_OP_B || kind == PS_OP_BI || kind == PS_OP_FB;
}

/* SIZE_MAX when it lies outside the plan. */
static size_t connect_cell_of(const connecting *k, int32_t stage, int32_t chunk,
                              int32_t microbatch) {
    chunk = chunk < 0 ? 0 : chunk;
    if (stage < 0 || stage >= k->plan->params.n_stages || (size_t)chunk >= k->n_chunks ||
        microbatch < 0 || microbatch >= k->plan->params.n_microbatches) {
        return SIZE_MAX;
    }
    return ((size_t)stage * k->n_chunks + (size_t)chunk) * (size_t)k->plan->params.n_microbatches +
           (size_t)microbatch;
}

static bool init_half(half *h, size_t n_cells, uint32_t n_ops) {
    h->plan_op = ps_calloc(n_cells, sizeof *h->plan_op);
    h->row = ps_calloc(n_ops, sizeof *h->row);
    for (size_t i = 0; h->plan_op != NULL && i < n_cells; i++) {
        h->plan_op[i] = PS_NO_OP;
    }
    for (uint32_t op = 0; h->row != NULL && op < n_ops; op++) {
        h->row[op] = PS_NO_INDEX;
    }
    return h->plan_op != NULL && h->row != NULL;
}

static bool init_connect(connecting *k) {
    const ps_sim_plan *plan = k->plan;
    int32_t chunks = 1;
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        chunks = plan->ops[op].chunk >= chunks ? plan->ops[op].chunk + 1 : chunks;
        chunks = plan->ops[op].chunk2 >= chunks ? plan->ops[op].chunk2 + 1 : chunks;
    }
    k->n_chunks = (size_t)chunks;
    k->n_cells = (size_t)plan->params.n_stages * k->n_chunks * (size_t)plan->params.n_microbatches;
    k->ranks = ps_calloc(k->chart->n_ranks, sizeof *k->ranks);
    if (k->ranks == NULL || !init_half(&k->forward, k->n_cells, plan->n_ops) ||
        !init_half(&k->backward, k->n_cells, plan->n_ops)) {
        return false;
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        const ps_sched_op *o = &plan->ops[op];
        bool pair = o->kind == PS_OP_FB;
        if (has_forward((uint8_t)o->kind)) {
            k->forward.plan_op[connect_cell_of(k, plan->device[op], o->chunk, o->microbatch)] = op;
        }
        if (has_connect_backward((uint8_t)o->kind)) {
            k->backward.plan_op[connect_cell_of(k, plan->device[op], pair ? o->chunk2 : o->chunk,
                                                pair ? o->microbatch2 : o->microbatch)] = op;
        }
    }
    return ps_chart_groups_init(&k->groups, k->chart);
}

static void connect_fini(connecting *k) {
    ps_chart_groups_fini(&k->groups);
    ps_free(k->forward.plan_op);
    ps_free(k->forward.row);
    ps_free(k->backward.plan_op);
    ps_free(k->backward.row);
    ps_free(k->ranks);
}

static uint32_t forward_op(const connecting *k, const ps_op *op) {
    size_t cell = has_forward(op->kind) ? connect_cell_of(k, k->chart->ranks[op->rank].stage,
                                                          op->chunk, op->microbatch)
                                        : SIZE_MAX;
    return cell != SIZE_MAX ? k->forward.plan_op[cell] : PS_NO_OP;
}

static uint32_t backward_op(const connecting *k, const ps_op *op) {
    bool pair = op->kind == PS_OP_FB;
    size_t cell =
        has_connect_backward(op->kind)
            ? connect_cell_of(k, k->chart->ranks[op->rank].stage, pair ? op->chunk2 : op->chunk,
                              pair ? op->microbatch2 : op->microbatch)
            : SIZE_MAX;
    return cell != SIZE_MAX ? k->backward.plan_op[cell] : PS_NO_OP;
}

static bool add_link(connecting *k, const half *h, uint32_t input, uint32_t to) {
    uint32_t from = input != PS_NO_OP ? h->row[input] : PS_NO_INDEX;
    return from == PS_NO_INDEX || from == to ||
           ps_chart_add_link(k->chart, (ps_chart_link){from, to});
}

typedef enum pass { NOTE_ROWS, LINK_ROWS, FORGET_ROWS } pass;

/* One pass over the ops of the ranks in one step. Forgetting only what was noted keeps many short steps, or many
 * pipelines, from costing the whole plan each. */
static bool connect_step(connecting *k, const uint32_t *ranks, size_t n_ranks, size_t step,
                         pass doing) {
    bool ok = true;
    for (size_t r = 0; r < n_ranks; r++) {
        size_t g = ps_chart_group(&k->groups, ranks[r], step);
        for (size_t i = k->groups.first[g]; ok && i < k->groups.first[g + 1]; i++) {
            uint32_t row = k->groups.order[i];
            uint32_t forward = forward_op(k, &k->chart->ops[row]);
            uint32_t backward = backward_op(k, &k->chart->ops[row]);
            if (doing != LINK_ROWS) {
                uint32_t noted = doing == NOTE_ROWS ? row : PS_NO_INDEX;
                if (forward != PS_NO_OP) {
                    k->forward.row[forward] = noted;
                }
                if (backward != PS_NO_OP) {
                    k->backward.row[backward] = noted;
                }
                continue;
            }
            ok = (forward == PS_NO_OP ||
                  add_link(k, &k->forward, k->plan->forward_input[forward], row)) &&
                 (backward == PS_NO_OP ||
                  add_link(k, &k->backward, k->plan->backward_input[backward], row));
        }
    }
    return ok;
}

static bool connect_pipeline(connecting *k, const uint32_t *ranks, size_t n_ranks) {
    for (size_t step = 0; step < k->groups.n_steps; step++) {
        (void)connect_step(k, ranks, n_ranks, step, NOTE_ROWS);
        if (!connect_step(k, ranks, n_ranks, step, LINK_ROWS)) {
            return false;
        }
        (void)connect_step(k, ranks, n_ranks, step, FORGET_ROWS);
    }
    return true;
}

static int compare_pipelines(const void *a, const void *b, void *context) {
    const ps_chart *c = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (c->ranks[x].pipeline != c->ranks[y].pipeline) {
        return c->ranks[x].pipeline < c->ranks[y].pipeline ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

ps_code ps_chart_connect(ps_chart *chart, const ps_sim_plan *plan, ps_err *err) {
    connecting k = {.chart = chart, .plan = plan};
    bool ok = init_connect(&k);
    for (uint32_t r = 0; ok && r < chart->n_ranks; r++) {
        k.ranks[r] = r;
    }
    if (ok && chart->n_ranks > 1) {
        qsort_r(k.ranks, chart->n_ranks, sizeof *k.ranks, compare_pipelines, chart);
    }
    for (size_t i = 0; ok && i < chart->n_ranks;) {
        size_t end = i;
        while (end < chart->n_ranks &&
               chart->ranks[k.ranks[end]].pipeline == chart->ranks[k.ranks[i]].pipeline) {
            end++;
        }
        ok = connect_pipeline(&k, k.ranks + i, end - i);
        i = end;
    }
    connect_fini(&k);
    return ok ? PS_OK : ps_fail_nomem(err);
}
