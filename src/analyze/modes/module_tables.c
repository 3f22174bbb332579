/* The tables of module_statistic. ModuleStatistic keeps names, order and types of msprof-analyze's; what is ours stands in
 * tables of its own. */
#include <math.h>
#include <stdio.h>

#include "analyze/modes/module_partial.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

/* Nothing when it has no rows. */
static void give_module_table(const ps_reduce_input *in, ps_table *t, uint32_t to) {
    if (t != NULL && t->n_rows == 0 && !t->failed) {
        ps_table_free(t);
        return;
    }
    if (t != NULL) {
        t->to = to;
    }
    ps_result_give(in->result, t);
}

/* A row of a table is what the partial has, and whose it is. */
#define NS(text, row, member)                                                                      \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS }
#define COUNT(text, row, member)                                                                   \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_COUNT }
#define PERCENT(text, row, member)                                                                 \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_PERCENT }

/* --- ModuleStatistic and ModuleOp ------------------------------------------------------------------------------- */

typedef struct op_row {
    ps_module_out_row of;
    double mean_ns;
    int64_t rank;
} op_row;

#define PUBLIC_COLUMNS                                                                             \
    {.name = "parentModule",                                                                       \
     PS_FIELD(op_row, of.path),                                                                    \
     .header = "Parent Module",                                                                    \
     .width = 40,                                                                                  \
     .merged = true},                                                                              \
        {.name = "module",                                                                         \
         PS_FIELD(op_row, of.module),                                                              \
         .header = "Module",                                                                       \
         .width = 40,                                                                              \
         .merged = true},                                                                          \
        {.name = "opName", PS_FIELD(op_row, of.op), .header = "Op Name", .width = 40},             \
        {.name = "kernelList",                                                                     \
         PS_FIELD(op_row, of.kernels),                                                             \
         .header = "Kernel List",                                                                  \
         .width = 50},                                                                             \
        {.name = "totalKernelDuration(ns)",                                                        \
         PS_FIELD_AS(PS_COL_REAL, op_row, of.total_ns),                                            \
         .unit = PS_UNIT_NS,                                                                       \
         .header = "Total Kernel Duration(ns)",                                                    \
         .shown = "total",                                                                         \
         .width = 10},                                                                             \
        {.name = "avgKernelDuration(ns)",                                                          \
         PS_FIELD(op_row, mean_ns),                                                                \
         .unit = PS_UNIT_NS,                                                                       \
         .header = "Avg Kernel Duration(ns)",                                                      \
         .shown = "average",                                                                       \
         .width = 10},                                                                             \
    {                                                                                              \
        .name = "opCount", PS_FIELD(op_row, of.count), .header = "Op Count", .width = 10           \
    }
#define MFU_COLUMN                                                                                 \
    { .name = "avgMFU", PS_FIELD(op_row, of.mfu), .header = "Avg MFU" }
#define RANK_COLUMN(row)                                                                           \
    { .name = "rankID", PS_FIELD(row, rank) }

static const ps_column WITH_MFU[] = {PUBLIC_COLUMNS, MFU_COLUMN, RANK_COLUMN(op_row)};
static const ps_column WITHOUT_MFU[] = {PUBLIC_COLUMNS, RANK_COLUMN(op_row)};
static const ps_column SHEET_WITH_MFU[] = {PUBLIC_COLUMNS, MFU_COLUMN};
static const ps_column SHEET[] = {PUBLIC_COLUMNS};

static const ps_column OPS[] = {
    RANK_COLUMN(op_row),
    {.name = "parentModule", PS_FIELD(op_row, of.path)},
    {.name = "module", PS_FIELD(op_row, of.module)},
    {.name = "position", PS_FIELD(op_row, of.position)},
    {.name = "opName", PS_FIELD(op_row, of.op)},
    {.name = "enclosingOp", PS_FIELD(op_row, of.enclosing)},
    {.name = "kernelList", PS_FIELD(op_row, of.kernels)},
    COUNT("opCount", op_row, of.count),
    NS("kernelTime", op_row, of.total_ns),
    NS("shortest", op_row, of.min_ns),
    NS("longest", op_row, of.max_ns),
    {.name = "kernelMFU", PS_FIELD(op_row, of.kernel_mfu)},
    {.name = "flopsFrom", PS_FIELD(op_row, of.flops_from)},
};

static bool has_mfu(const ps_module_partial *p) {
    bool any = false;
    for (size_t r = 0; p != NULL && !any && r < p->n_rows; r++) {
        any = p->rows[r].mfu[0] != '\0';
    }
    return any;
}

/* The operators of one rank. */
static void put_module_ops(ps_table *t, const ps_reduce_input *in, size_t r) {
    const ps_module_partial *p = in->partials[r];
    for (size_t i = 0; p != NULL && i < p->n_rows; i++) {
        const ps_module_out_row *row = &p->rows[i];
        ps_table_put(t, &(op_row){.of = *row,
                                  .mean_ns = (double)row->total_ns / (double)row->count,
                                  .rank = in->ranks[r].rank});
    }
}

static void give_public(const ps_reduce_input *in) {
    bool mfu = false;
    for (size_t r = 0; r < in->n_ranks; r++) {
        mfu = mfu || has_mfu(in->partials[r]);
    }
    const char *title = "operators of each module and the kernels they launched";
    ps_table *t = mfu ? ps_table_new("ModuleStatistic", title, PS_COLUMNS(WITH_MFU))
                      : ps_table_new("ModuleStatistic", title, PS_COLUMNS(WITHOUT_MFU));
    for (size_t r = 0; r < in->n_ranks; r++) {
        put_module_ops(t, in, r);
    }
    if (t != NULL) {
        t->names_fixed = true;
    }
    give_module_table(in, t, PS_TO_DB | PS_TO_SCREEN);
}

/* The same as one sheet a rank. */
static void give_sheet(const ps_reduce_input *in, size_t r) {
    ps_table *t = has_mfu(in->partials[r])
                      ? ps_table_new("ModuleStatistic", "", PS_COLUMNS(SHEET_WITH_MFU))
                      : ps_table_new("ModuleStatistic", "", PS_COLUMNS(SHEET));
    put_module_ops(t, in, r);
    if (t != NULL) {
        char file[64];
        bool known = in->ranks[r].rank >= 0;
        int n = snprintf(file, sizeof file, known ? "module_statistic_%lld" : "module_statistic",
                         (long long)in->ranks[r].rank);
        t->file = ps_arena_strndup(&t->arena, file, (size_t)n);
        t->is_sheet = true;
        t->names_fixed = true;
        t->failed = t->failed || t->file == NULL;
    }
    give_module_table(in, t, PS_TO_FILES);
}

static void give_ops(const ps_reduce_input *in) {
    ps_table *t =
        ps_table_new("ModuleOp", "operators of each module, with the framework's", PS_COLUMNS(OPS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        put_module_ops(t, in, r);
    }
    give_module_table(in, t, PS_TO_DB | PS_TO_FILES);
}

/* --- ModuleTree ------------------------------------------------------------------------------------------------- */

typedef struct node_row {
    ps_module_out_node of;
    char indented[256]; /* the module, by its depth */
    int64_t rank, kernel_ns, busy_ns, exposed_ns, slowest_step;
    double backward_per_forward, share, most_per_mean, mfu;
} node_row;

static const ps_column TREE[] = {
    RANK_COLUMN(node_row),
    {.name = "depth", PS_FIELD(node_row, of.depth)},
    {.name = "parentModule", PS_FIELD(node_row, of.path)},
    {.name = "module", PS_FIELD(node_row, of.module)},
    COUNT("calls", node_row, of.sum.calls[PS_MODULE_FORWARD]),
    COUNT("recomputedCalls", node_row, of.sum.calls[PS_MODULE_RECOMPUTE]),
    COUNT("backwardCalls", node_row, of.sum.calls[PS_MODULE_BACKWARD]),
    NS("kernelTime", node_row, kernel_ns),
    NS("ownKernelTime", node_row, of.sum.own_ns),
    NS("forwardTime", node_row, of.sum.kernel_ns[PS_MODULE_FORWARD]),
    NS("recomputeTime", node_row, of.sum.kernel_ns[PS_MODULE_RECOMPUTE]),
    NS("backwardTime", node_row, of.sum.kernel_ns[PS_MODULE_BACKWARD]),
    {.name = "backwardPerForward", PS_FIELD(node_row, backward_per_forward)},
    NS("busyTime", node_row, busy_ns),
    PERCENT("shareOfSteps", node_row, share),
    NS("exposedCommunication", node_row, exposed_ns),
    NS("gaps", node_row, of.sum.gap_ns),
    NS("hostTime", node_row, of.sum.host_ns[PS_MODULE_FORWARD]),
    NS("slowestCall", node_row, of.sum.slowest_ns),
    {.name = "slowestStep", PS_FIELD(node_row, slowest_step)},
    {.name = "maxPerMeanOfRanks", PS_FIELD(node_row, most_per_mean)},
    PERCENT("mfu", node_row, mfu),
};

/* For the terminal: one rank, and what matters first. */
static const ps_column MODULES[] = {
    {.name = "module", PS_FIELD(node_row, indented)},
    COUNT("calls", node_row, of.sum.calls[PS_MODULE_FORWARD]),
    NS("kernels", node_row, kernel_ns),
    PERCENT("busy", node_row, share),
    {.name = "bwd/fwd", PS_FIELD(node_row, backward_per_forward)},
    NS("exposed", node_row, exposed_ns),
    NS("gaps", node_row, of.sum.gap_ns),
    {.name = "max/mean", PS_FIELD(node_row, most_per_mean)},
    PERCENT("mfu", node_row, mfu),
};

/* Kernel time of one module over the ranks that have it. */
typedef struct spread {
    int64_t max_ns;
    double sum_ns;
    int64_t n;
} spread;

typedef struct spreads {
    ps_idmap rows; /* key of the module -> row */
    spread *at;
    size_t n, cap;
} spreads;

static int64_t module_table_kernel_time(const ps_module_sum *sum) {
    return ps_i64_plus(ps_i64_plus(sum->kernel_ns[0], sum->kernel_ns[1]), sum->kernel_ns[2]);
}

static bool take_spread(spreads *s, const ps_module_out_node *node) {
    uint32_t row = ps_idmap_get(&s->rows, node->key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)s->n;
        if (!ps_grow(&s->at, &s->cap, s->n + 1, UINT32_MAX - 1, sizeof *s->at) ||
            !ps_idmap_put(&s->rows, node->key, row)) {
            return false;
        }
        s->at[s->n++] = (spread){0};
    }
    int64_t ns = module_table_kernel_time(&node->sum);
    s->at[row].max_ns = ns > s->at[row].max_ns ? ns : s->at[row].max_ns;
    s->at[row].sum_ns += (double)ns;
    s->at[row].n++;
    return true;
}

static double most_per_mean(const spreads *s, uint64_t key) {
    const spread *at = &s->at[ps_idmap_get(&s->rows, key)];
    bool is_known = at->n > 1 && at->sum_ns > 0;
    return is_known ? (double)at->max_ns * (double)at->n / at->sum_ns : NAN;
}

static node_row node_row_of(const ps_module_out_node *node, const spreads *s, int64_t rank) {
    enum { MAX_INDENT = 20 };
    const ps_module_sum *sum = &node->sum;
    double forward = (double)sum->kernel_ns[PS_MODULE_FORWARD];
    double backward = (double)sum->kernel_ns[PS_MODULE_BACKWARD];
    bool has_busy = sum->busy_ns >= 0;
    int64_t depth = (int64_t)node->depth - 1;
    int indent = (int)(2 * (depth < MAX_INDENT ? depth : MAX_INDENT));
    node_row row = {
        .of = *node,
        .rank = rank,
        .kernel_ns = module_table_kernel_time(sum),
        .busy_ns = has_busy ? sum->busy_ns : PS_UNKNOWN_INT,
        .exposed_ns = has_busy ? sum->exposed_ns : PS_UNKNOWN_INT,
        .slowest_step = node->has_step ? node->slowest_step : PS_UNKNOWN_INT,
        .backward_per_forward = forward > 0 ? backward / forward : NAN,
        .share = node->share >= 0 ? 100 * node->share : NAN,
        .most_per_mean = most_per_mean(s, node->key),
        .mfu = sum->work > 0 && sum->flops > 0 ? 100 * sum->flops / sum->work : NAN,
    };
    (void)snprintf(row.indented, sizeof row.indented, "%*s%s", indent, "", node->module);
    return row;
}

/* Of the first rank that has modules, and where the first of all says they are from. */
static ps_table *new_modules_table(const ps_reduce_input *in, size_t *shown) {
    const char *from = "";
    *shown = in->n_ranks;
    for (size_t r = in->n_ranks; r > 0; r--) {
        const ps_module_partial *p = in->partials[r - 1];
        from = p != NULL ? p->modules_from : from;
        *shown = p != NULL && p->n_nodes > 0 ? r - 1 : *shown;
    }
    char title[160];
    (void)snprintf(title, sizeof title, "modules of rank %s, by %s; ModuleTree has more",
                   PS_RANK(*shown < in->n_ranks ? in->ranks[*shown].rank : -1), from);
    return ps_table_new("Modules", title, PS_COLUMNS(MODULES));
}

static void give_tree(const ps_reduce_input *in) {
    spreads s = {0};
    size_t shown = 0;
    ps_idmap_init(&s.rows);
    ps_table *t = ps_table_new("ModuleTree", "modules with all that runs inside them, by rank",
                               PS_COLUMNS(TREE));
    ps_table *modules = new_modules_table(in, &shown);
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; t != NULL && p != NULL && i < p->n_nodes; i++) {
            t->failed = t->failed || !take_spread(&s, &p->nodes[i]);
        }
    }
    for (size_t r = 0; t != NULL && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; p != NULL && !t->failed && i < p->n_nodes; i++) {
            node_row row = node_row_of(&p->nodes[i], &s, in->ranks[r].rank);
            ps_table_put(t, &row);
            if (in->ranks[r].rank == in->ranks[shown].rank) {
                ps_table_put(modules, &row);
            }
        }
    }
    ps_idmap_fini(&s.rows);
    ps_free(s.at);
    give_module_table(in, modules, PS_TO_SCREEN);
    give_module_table(in, t, PS_TO_DB | PS_TO_FILES);
}

/* --- ModuleInstance --------------------------------------------------------------------------------------------- */

typedef struct call_row {
    ps_module_out_call of;
    int64_t rank, step, kernel_ns, first_ns[2], last_ns[2];
} call_row;

#define AT_NS(text, member)                                                                        \
    { .name = (text), PS_FIELD(call_row, member), .unit = PS_UNIT_NS, .exact = true }

static const ps_column CALLS[] = {
    RANK_COLUMN(call_row),
    {.name = "parentModule", PS_FIELD(call_row, of.path)},
    {.name = "module", PS_FIELD(call_row, of.module)},
    {.name = "pass", PS_FIELD(call_row, of.pass)},
    {.name = "step", PS_FIELD(call_row, step)},
    AT_NS("hostStart", of.start_ns),
    NS("hostTime", call_row, of.host_ns),
    NS("kernelTime", call_row, kernel_ns),
    NS("forwardTime", call_row, of.sum.kernel_ns[PS_MODULE_FORWARD]),
    NS("recomputeTime", call_row, of.sum.kernel_ns[PS_MODULE_RECOMPUTE]),
    NS("backwardTime", call_row, of.sum.kernel_ns[PS_MODULE_BACKWARD]),
    NS("gaps", call_row, of.sum.gap_ns),
    AT_NS("firstKernel", first_ns[0]),
    AT_NS("lastKernelEnd", last_ns[0]),
    AT_NS("backwardFirstKernel", first_ns[1]),
    AT_NS("backwardLastKernelEnd", last_ns[1]),
};

static void put_call(ps_table *t, const ps_module_out_call *c, int64_t rank) {
    const int64_t *ns = c->sum.kernel_ns;
    call_row row = {.of = *c,
                    .rank = rank,
                    .step = c->has_step ? c->step : PS_UNKNOWN_INT,
                    .kernel_ns = ps_i64_plus(ps_i64_plus(ns[0], ns[1]), ns[2])};
    for (size_t side = 0; side < 2; side++) {
        bool has_any = c->sum.first_ns[side] <= c->sum.last_ns[side];
        row.first_ns[side] = has_any ? c->sum.first_ns[side] : PS_UNKNOWN_INT;
        row.last_ns[side] = has_any ? c->sum.last_ns[side] : PS_UNKNOWN_INT;
    }
    ps_table_put(t, &row);
}

static void give_calls(const ps_reduce_input *in) {
    ps_table *t = ps_table_new("ModuleInstance", "calls of each module with most kernel time",
                               PS_COLUMNS(CALLS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; p != NULL && i < p->n_calls; i++) {
            put_call(t, &p->calls[i], in->ranks[r].rank);
        }
    }
    give_module_table(in, t, PS_TO_DB | PS_TO_FILES);
}

/* --- ModuleStep ------------------------------------------------------------------------------------------------- */

typedef struct step_row {
    ps_module_out_step of;
    int64_t rank;
} step_row;

static const ps_column STEPS[] = {
    RANK_COLUMN(step_row),
    {.name = "parentModule", PS_FIELD(step_row, of.path)},
    {.name = "module", PS_FIELD(step_row, of.module)},
    {.name = "step", PS_FIELD(step_row, of.step)},
    COUNT("calls", step_row, of.calls),
    NS("kernelTime", step_row, of.kernel_ns),
    NS("slowestCall", step_row, of.longest_ns),
};

static void give_steps(const ps_reduce_input *in) {
    ps_table *t =
        ps_table_new("ModuleStep", "kernel time of each module in each step", PS_COLUMNS(STEPS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; p != NULL && i < p->n_steps; i++) {
            ps_table_put(t, &(step_row){p->steps[i], in->ranks[r].rank});
        }
    }
    give_module_table(in, t, PS_TO_DB | PS_TO_FILES);
}

/* --- ModuleCoverage --------------------------------------------------------------------------------------------- */

typedef struct coverage_row {
    ps_module_out_share of;
    const char *modules_from;
    int64_t rank;
} coverage_row;

static const ps_column COVERAGE[] = {
    RANK_COLUMN(coverage_row),
    {.name = "modulesFrom", PS_FIELD(coverage_row, modules_from)},
    {.name = "part", PS_FIELD(coverage_row, of.part)},
    {.name = "name", PS_FIELD(coverage_row, of.name)},
    {.name = "operators",
     PS_FIELD(coverage_row, of.n_ops),
     .unit = PS_UNIT_COUNT,
     .unknown_below_zero = true},
    COUNT("kernels", coverage_row, of.n_kernels),
    NS("kernelTime", coverage_row, of.kernel_ns),
    PERCENT("share", coverage_row, of.percent),
};

static void give_coverage(const ps_reduce_input *in) {
    ps_table *t = ps_table_new("ModuleCoverage", "kernel time inside and outside of modules",
                               PS_COLUMNS(COVERAGE));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; p != NULL && i < p->n_shares; i++) {
            ps_table_put(t, &(coverage_row){p->shares[i], p->modules_from, in->ranks[r].rank});
        }
    }
    give_module_table(in, t, PS_TO_ALL);
}

ps_code ps_module_tables(const ps_reduce_input *in, ps_err *err) {
    give_tree(in);
    give_public(in);
    for (size_t r = 0; r < in->n_ranks; r++) {
        if (in->partials[r] != NULL) {
            give_sheet(in, r);
        }
    }
    give_ops(in);
    give_calls(in);
    give_steps(in);
    give_coverage(in);
    return ps_result_code(in->result, err);
}
