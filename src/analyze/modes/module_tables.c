/* The tables of module_statistic. ModuleStatistic keeps names, order and types of msprof-analyze's; what is ours stands in
 * tables of its own. */
#include <stdio.h>

#include "analyze/modes/module_partial.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

static ps_code give_module_table(const ps_reduce_input *in, ps_table *t, bool ok, uint32_t to,
                                 ps_err *err) {
    if (!ok || t->n_rows == 0) {
        ps_table_free(t);
        return ok ? PS_OK : ps_fail_nomem(err);
    }
    t->to = to;
    return ps_result_add(in->result, t, err);
}

/* --- ModuleStatistic -------------------------------------------------------------------------------------------- */

#define PUBLIC_COLUMNS                                                                             \
    {.name = "parentModule",                                                                       \
     .type = PS_COL_TEXT,                                                                          \
     .header = "Parent Module",                                                                    \
     .width = 40,                                                                                  \
     .merged = true},                                                                              \
        {.name = "module", .type = PS_COL_TEXT, .header = "Module", .width = 40, .merged = true},  \
        {.name = "opName", .type = PS_COL_TEXT, .header = "Op Name", .width = 40},                 \
        {.name = "kernelList", .type = PS_COL_TEXT, .header = "Kernel List", .width = 50},         \
        {.name = "totalKernelDuration(ns)",                                                        \
         .type = PS_COL_REAL,                                                                      \
         .unit = PS_UNIT_NS,                                                                       \
         .header = "Total Kernel Duration(ns)",                                                    \
         .shown = "total",                                                                         \
         .width = 10},                                                                             \
        {.name = "avgKernelDuration(ns)",                                                          \
         .type = PS_COL_REAL,                                                                      \
         .unit = PS_UNIT_NS,                                                                       \
         .header = "Avg Kernel Duration(ns)",                                                      \
         .shown = "average",                                                                       \
         .width = 10},                                                                             \
    {                                                                                              \
        .name = "opCount", .type = PS_COL_INT, .header = "Op Count", .width = 10                   \
    }
#define MFU_COLUMN                                                                                 \
    { .name = "avgMFU", .type = PS_COL_TEXT, .header = "Avg MFU" }
#define RANK_COLUMN                                                                                \
    { .name = "rankID", .type = PS_COL_INT }

enum { PARENT, MODULE, OP, KERNELS, TOTAL, AVERAGE, COUNT, N_PUBLIC };

static const ps_column WITH_MFU[] = {PUBLIC_COLUMNS, MFU_COLUMN, RANK_COLUMN};
static const ps_column WITHOUT_MFU[] = {PUBLIC_COLUMNS, RANK_COLUMN};
static const ps_column SHEET_WITH_MFU[] = {PUBLIC_COLUMNS, MFU_COLUMN};
static const ps_column SHEET[] = {PUBLIC_COLUMNS};

static bool has_mfu(const ps_module_partial *p) {
    bool any = false;
    for (size_t r = 0; p != NULL && !any && r < p->n_rows; r++) {
        any = p->rows[r].mfu[0] != '\0';
    }
    return any;
}

static bool put_public(ps_table *t, const ps_module_out_row *row, bool mfu) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_real(t, TOTAL, (double)row->total_ns);
    ps_table_set_real(t, AVERAGE, (double)row->total_ns / (double)row->count);
    ps_table_set_int(t, COUNT, row->count);
    return ps_table_set_text(t, PARENT, row->path) && ps_table_set_text(t, MODULE, row->module) &&
           ps_table_set_text(t, OP, row->op) && ps_table_set_text(t, KERNELS, row->kernels) &&
           (!mfu || ps_table_set_text(t, N_PUBLIC, row->mfu));
}

static ps_code give_public(const ps_reduce_input *in, ps_err *err) {
    bool mfu = false;
    for (size_t r = 0; r < in->n_ranks; r++) {
        mfu = mfu || has_mfu(in->partials[r]);
    }
    ps_table *t = ps_table_new(
        "ModuleStatistic", "operators of each module and the kernels they launched",
        mfu ? WITH_MFU : WITHOUT_MFU,
        mfu ? (sizeof WITH_MFU / sizeof *WITH_MFU) : (sizeof WITHOUT_MFU / sizeof *WITHOUT_MFU));
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_rows; i++) {
            ok = put_public(t, &p->rows[i], mfu);
            if (ok) {
                ps_table_set_int(t, t->n_columns - 1, in->ranks[r].rank);
            }
        }
    }
    if (t != NULL) {
        t->names_fixed = true;
    }
    return give_module_table(in, t, ok, PS_TO_DB | PS_TO_SCREEN, err);
}

/* The same as one sheet a rank. */
static ps_code give_sheet(const ps_reduce_input *in, size_t r, ps_err *err) {
    const ps_module_partial *p = in->partials[r];
    bool mfu = has_mfu(p);
    ps_table *t = ps_table_new("ModuleStatistic", "", mfu ? SHEET_WITH_MFU : SHEET,
                               mfu ? (sizeof SHEET_WITH_MFU / sizeof *SHEET_WITH_MFU)
                                   : (sizeof SHEET / sizeof *SHEET));
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < p->n_rows; i++) {
        ok = put_public(t, &p->rows[i], mfu);
    }
    if (ok) {
        char file[64];
        bool known = in->ranks[r].rank >= 0;
        int n = snprintf(file, sizeof file, known ? "module_statistic_%lld" : "module_statistic",
                         (long long)in->ranks[r].rank);
        t->file = ps_arena_strndup(&t->arena, file, (size_t)n);
        t->is_sheet = true;
        t->names_fixed = true;
        ok = t->file != NULL;
    }
    return give_module_table(in, t, ok, PS_TO_FILES, err);
}

/* --- ModuleTree ------------------------------------------------------------------------------------------------- */

enum {
    T_RANK,
    T_DEPTH,
    T_PARENT,
    T_MODULE,
    T_CALLS,
    T_RECOMPUTED,
    T_BACKWARDS,
    T_KERNEL,
    T_OWN,
    T_FORWARD,
    T_RECOMPUTE,
    T_BACKWARD,
    T_RATIO,
    T_BUSY,
    T_SHARE,
    T_EXPOSED,
    T_GAP,
    T_HOST,
    T_SLOWEST,
    T_SLOWEST_STEP,
    T_SPREAD,
    T_MFU,
    N_TREE
};

static const ps_column TREE[N_TREE] = {
    [T_RANK] = RANK_COLUMN,
    [T_DEPTH] = {.name = "depth", .type = PS_COL_INT},
    [T_PARENT] = {.name = "parentModule", .type = PS_COL_TEXT},
    [T_MODULE] = {.name = "module", .type = PS_COL_TEXT},
    [T_CALLS] = {.name = "calls", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [T_RECOMPUTED] = {.name = "recomputedCalls", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [T_BACKWARDS] = {.name = "backwardCalls", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [T_KERNEL] = {.name = "kernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_OWN] = {.name = "ownKernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_FORWARD] = {.name = "forwardTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_RECOMPUTE] = {.name = "recomputeTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_BACKWARD] = {.name = "backwardTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_RATIO] = {.name = "backwardPerForward", .type = PS_COL_REAL},
    [T_BUSY] = {.name = "busyTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_SHARE] = {.name = "shareOfSteps", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_EXPOSED] = {.name = "exposedCommunication", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_GAP] = {.name = "gaps", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_HOST] = {.name = "hostTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_SLOWEST] = {.name = "slowestCall", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_SLOWEST_STEP] = {.name = "slowestStep", .type = PS_COL_INT},
    [T_SPREAD] = {.name = "maxPerMeanOfRanks", .type = PS_COL_REAL},
    [T_MFU] = {.name = "mfu", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
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

static void put_module_table_spread(ps_table *t, const spreads *s, uint64_t key) {
    const spread *at = &s->at[ps_idmap_get(&s->rows, key)];
    if (at->n > 1 && at->sum_ns > 0) {
        ps_table_set_real(t, T_SPREAD, (double)at->max_ns * (double)at->n / at->sum_ns);
    }
}

static void put_module_table_sum(ps_table *t, const ps_module_out_node *node) {
    const ps_module_sum *sum = &node->sum;
    ps_table_set_int(t, T_CALLS, sum->calls[PS_MODULE_FORWARD]);
    ps_table_set_int(t, T_RECOMPUTED, sum->calls[PS_MODULE_RECOMPUTE]);
    ps_table_set_int(t, T_BACKWARDS, sum->calls[PS_MODULE_BACKWARD]);
    ps_table_set_int(t, T_KERNEL, module_table_kernel_time(sum));
    ps_table_set_int(t, T_OWN, sum->own_ns);
    ps_table_set_int(t, T_FORWARD, sum->kernel_ns[PS_MODULE_FORWARD]);
    ps_table_set_int(t, T_RECOMPUTE, sum->kernel_ns[PS_MODULE_RECOMPUTE]);
    ps_table_set_int(t, T_BACKWARD, sum->kernel_ns[PS_MODULE_BACKWARD]);
    if (sum->kernel_ns[PS_MODULE_FORWARD] > 0) {
        ps_table_set_real(t, T_RATIO,
                          (double)sum->kernel_ns[PS_MODULE_BACKWARD] /
                              (double)sum->kernel_ns[PS_MODULE_FORWARD]);
    }
    if (sum->busy_ns >= 0) {
        ps_table_set_int(t, T_BUSY, sum->busy_ns);
        ps_table_set_int(t, T_EXPOSED, sum->exposed_ns);
    }
    if (node->share >= 0) {
        ps_table_set_real(t, T_SHARE, 100 * node->share);
    }
    ps_table_set_int(t, T_GAP, sum->gap_ns);
    ps_table_set_int(t, T_HOST, sum->host_ns[PS_MODULE_FORWARD]);
    ps_table_set_int(t, T_SLOWEST, sum->slowest_ns);
    if (node->has_step) {
        ps_table_set_int(t, T_SLOWEST_STEP, node->slowest_step);
    }
    if (sum->work > 0 && sum->flops > 0) {
        ps_table_set_real(t, T_MFU, 100 * sum->flops / sum->work);
    }
}

static bool put_nodes(const ps_reduce_input *in, ps_table *t, const spreads *s) {
    bool ok = true;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_nodes; i++) {
            const ps_module_out_node *node = &p->nodes[i];
            ok = ps_table_add_row(t) && ps_table_set_text(t, T_PARENT, node->path) &&
                 ps_table_set_text(t, T_MODULE, node->module);
            if (ok) {
                ps_table_set_int(t, T_RANK, in->ranks[r].rank);
                ps_table_set_int(t, T_DEPTH, node->depth);
                put_module_table_sum(t, node);
                put_module_table_spread(t, s, node->key);
            }
        }
    }
    return ok;
}

/* For the terminal: one rank, and what matters first. */

enum {
    M_MODULE,
    M_CALLS,
    M_KERNEL,
    M_SHARE,
    M_RATIO,
    M_EXPOSED,
    M_GAP,
    M_SPREAD,
    M_MFU,
    N_MODULES
};

static const ps_column MODULES[N_MODULES] = {
    [M_MODULE] = {.name = "module", .type = PS_COL_TEXT},
    [M_CALLS] = {.name = "calls", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [M_KERNEL] = {.name = "kernels", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [M_SHARE] = {.name = "busy", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [M_RATIO] = {.name = "bwd/fwd", .type = PS_COL_REAL},
    [M_EXPOSED] = {.name = "exposed", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [M_GAP] = {.name = "gaps", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [M_SPREAD] = {.name = "max/mean", .type = PS_COL_REAL},
    [M_MFU] = {.name = "mfu", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

static void copy_cell(ps_table *to, size_t column, const ps_table *from, size_t row, size_t of) {
    const ps_value *cell = ps_table_cell(from, row, of);
    if (cell->is_null) {
        return;
    }
    if (from->columns[of].type == PS_COL_INT) {
        ps_table_set_int(to, column, cell->u.i);
    } else {
        ps_table_set_real(to, column, cell->u.r);
    }
}

static bool put_module_table_module(ps_table *t, const ps_table *tree, size_t row) {
    static const size_t FROM[N_MODULES] = {
        [M_CALLS] = T_CALLS,     [M_KERNEL] = T_KERNEL, [M_SHARE] = T_SHARE,   [M_RATIO] = T_RATIO,
        [M_EXPOSED] = T_EXPOSED, [M_GAP] = T_GAP,       [M_SPREAD] = T_SPREAD, [M_MFU] = T_MFU};
    enum { MAX_INDENT = 20 };
    int64_t depth = ps_table_cell(tree, row, T_DEPTH)->u.i - 1;
    const char *name = ps_table_cell(tree, row, T_MODULE)->u.text;
    char text[256];
    (void)snprintf(text, sizeof text, "%*s%s", (int)(2 * (depth < MAX_INDENT ? depth : MAX_INDENT)),
                   "", name);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, M_MODULE, text)) {
        return false;
    }
    for (size_t c = M_CALLS; c < N_MODULES; c++) {
        copy_cell(t, c, tree, row, FROM[c]);
    }
    return true;
}

/* Of the first rank in the tree. */
static ps_code give_modules(const ps_reduce_input *in, const ps_table *tree, ps_err *err) {
    int64_t rank = ps_table_cell(tree, 0, T_RANK)->u.i;
    const char *from = "";
    for (size_t r = in->n_ranks; r > 0; r--) {
        const ps_module_partial *p = in->partials[r - 1];
        from = p != NULL ? p->modules_from : from;
    }
    char title[160];
    (void)snprintf(title, sizeof title, "modules of rank %s, by %s; ModuleTree has more",
                   PS_RANK(rank), from);
    ps_table *t = ps_table_new("Modules", title, MODULES, N_MODULES);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < tree->n_rows; row++) {
        ok = ps_table_cell(tree, row, T_RANK)->u.i != rank || put_module_table_module(t, tree, row);
    }
    return give_module_table(in, t, ok, PS_TO_SCREEN, err);
}

static ps_code give_tree(const ps_reduce_input *in, ps_err *err) {
    spreads s = {0};
    ps_idmap_init(&s.rows);
    ps_table *t =
        ps_table_new("ModuleTree", "modules with all that runs inside them, by rank", TREE, N_TREE);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_nodes; i++) {
            ok = take_spread(&s, &p->nodes[i]);
        }
    }
    ok = ok && put_nodes(in, t, &s);
    ps_idmap_fini(&s.rows);
    ps_free(s.at);
    ps_code code = ok && t->n_rows > 0 ? give_modules(in, t, err) : PS_OK;
    if (code != PS_OK) {
        ps_table_free(t);
        return code;
    }
    return give_module_table(in, t, ok, PS_TO_DB | PS_TO_FILES, err);
}

/* --- ModuleOp --------------------------------------------------------------------------------------------------- */

enum {
    P_RANK,
    P_PARENT,
    P_MODULE,
    P_POSITION,
    P_OP,
    P_ENCLOSING,
    P_KERNELS,
    P_COUNT,
    P_TOTAL,
    P_MIN,
    P_MAX,
    P_MFU,
    P_FLOPS_FROM,
    N_OP
};

static const ps_column OPS[N_OP] = {
    [P_RANK] = RANK_COLUMN,
    [P_PARENT] = {.name = "parentModule", .type = PS_COL_TEXT},
    [P_MODULE] = {.name = "module", .type = PS_COL_TEXT},
    [P_POSITION] = {.name = "position", .type = PS_COL_INT},
    [P_OP] = {.name = "opName", .type = PS_COL_TEXT},
    [P_ENCLOSING] = {.name = "enclosingOp", .type = PS_COL_TEXT},
    [P_KERNELS] = {.name = "kernelList", .type = PS_COL_TEXT},
    [P_COUNT] = {.name = "opCount", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [P_TOTAL] = {.name = "kernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [P_MIN] = {.name = "shortest", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [P_MAX] = {.name = "longest", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [P_MFU] = {.name = "kernelMFU", .type = PS_COL_TEXT},
    [P_FLOPS_FROM] = {.name = "flopsFrom", .type = PS_COL_TEXT},
};

static ps_code give_ops(const ps_reduce_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("ModuleOp", "operators of each module, with the framework's", OPS, N_OP);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_rows; i++) {
            const ps_module_out_row *row = &p->rows[i];
            ok = ps_table_add_row(t) && ps_table_set_text(t, P_PARENT, row->path) &&
                 ps_table_set_text(t, P_MODULE, row->module) &&
                 ps_table_set_text(t, P_OP, row->op) &&
                 ps_table_set_text(t, P_ENCLOSING, row->enclosing) &&
                 ps_table_set_text(t, P_KERNELS, row->kernels) &&
                 ps_table_set_text(t, P_MFU, row->kernel_mfu) &&
                 ps_table_set_text(t, P_FLOPS_FROM, row->flops_from);
            if (ok) {
                ps_table_set_int(t, P_RANK, in->ranks[r].rank);
                ps_table_set_int(t, P_POSITION, row->position);
                ps_table_set_int(t, P_COUNT, row->count);
                ps_table_set_int(t, P_TOTAL, row->total_ns);
                ps_table_set_int(t, P_MIN, row->min_ns);
                ps_table_set_int(t, P_MAX, row->max_ns);
            }
        }
    }
    return give_module_table(in, t, ok, PS_TO_DB | PS_TO_FILES, err);
}

/* --- ModuleInstance --------------------------------------------------------------------------------------------- */

enum {
    C_RANK,
    C_PARENT,
    C_MODULE,
    C_PASS,
    C_STEP,
    C_START,
    C_HOST,
    C_KERNEL,
    C_FORWARD,
    C_RECOMPUTE,
    C_BACKWARD,
    C_GAP,
    C_FIRST,
    C_LAST,
    C_BACK_FIRST,
    C_BACK_LAST,
    N_CALL
};

static const ps_column CALLS[N_CALL] = {
    [C_RANK] = RANK_COLUMN,
    [C_PARENT] = {.name = "parentModule", .type = PS_COL_TEXT},
    [C_MODULE] = {.name = "module", .type = PS_COL_TEXT},
    [C_PASS] = {.name = "pass", .type = PS_COL_TEXT},
    [C_STEP] = {.name = "step", .type = PS_COL_INT},
    [C_START] = {.name = "hostStart", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [C_HOST] = {.name = "hostTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_KERNEL] = {.name = "kernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_FORWARD] = {.name = "forwardTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_RECOMPUTE] = {.name = "recomputeTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_BACKWARD] = {.name = "backwardTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_GAP] = {.name = "gaps", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_FIRST] = {.name = "firstKernel", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [C_LAST] = {.name = "lastKernelEnd", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [C_BACK_FIRST] = {.name = "backwardFirstKernel",
                      .type = PS_COL_INT,
                      .unit = PS_UNIT_NS,
                      .exact = true},
    [C_BACK_LAST] = {.name = "backwardLastKernelEnd",
                     .type = PS_COL_INT,
                     .unit = PS_UNIT_NS,
                     .exact = true},
};

static void put_call(ps_table *t, const ps_module_out_call *c) {
    int64_t total =
        ps_i64_plus(ps_i64_plus(c->sum.kernel_ns[0], c->sum.kernel_ns[1]), c->sum.kernel_ns[2]);
    if (c->has_step) {
        ps_table_set_int(t, C_STEP, c->step);
    }
    ps_table_set_int(t, C_START, c->start_ns);
    ps_table_set_int(t, C_HOST, c->host_ns);
    ps_table_set_int(t, C_KERNEL, total);
    ps_table_set_int(t, C_FORWARD, c->sum.kernel_ns[PS_MODULE_FORWARD]);
    ps_table_set_int(t, C_RECOMPUTE, c->sum.kernel_ns[PS_MODULE_RECOMPUTE]);
    ps_table_set_int(t, C_BACKWARD, c->sum.kernel_ns[PS_MODULE_BACKWARD]);
    ps_table_set_int(t, C_GAP, c->sum.gap_ns);
    for (size_t side = 0; side < 2; side++) {
        if (c->sum.first_ns[side] <= c->sum.last_ns[side]) {
            ps_table_set_int(t, side == 0 ? C_FIRST : C_BACK_FIRST, c->sum.first_ns[side]);
            ps_table_set_int(t, side == 0 ? C_LAST : C_BACK_LAST, c->sum.last_ns[side]);
        }
    }
}

static ps_code give_calls(const ps_reduce_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("ModuleInstance", "calls of each module with most kernel time", CALLS, N_CALL);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_calls; i++) {
            const ps_module_out_call *c = &p->calls[i];
            ok = ps_table_add_row(t) && ps_table_set_text(t, C_PARENT, c->path) &&
                 ps_table_set_text(t, C_MODULE, c->module) && ps_table_set_text(t, C_PASS, c->pass);
            if (ok) {
                ps_table_set_int(t, C_RANK, in->ranks[r].rank);
                put_call(t, c);
            }
        }
    }
    return give_module_table(in, t, ok, PS_TO_DB | PS_TO_FILES, err);
}

/* --- ModuleStep ------------------------------------------------------------------------------------------------- */

enum { S_RANK, S_PARENT, S_MODULE, S_STEP, S_CALLS, S_KERNEL, S_LONGEST, N_STEP };

static const ps_column STEPS[N_STEP] = {
    [S_RANK] = RANK_COLUMN,
    [S_PARENT] = {.name = "parentModule", .type = PS_COL_TEXT},
    [S_MODULE] = {.name = "module", .type = PS_COL_TEXT},
    [S_STEP] = {.name = "step", .type = PS_COL_INT},
    [S_CALLS] = {.name = "calls", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [S_KERNEL] = {.name = "kernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_LONGEST] = {.name = "slowestCall", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

static ps_code give_steps(const ps_reduce_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("ModuleStep", "kernel time of each module in each step", STEPS, N_STEP);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_module_partial *p = in->partials[r];
        for (size_t i = 0; ok && p != NULL && i < p->n_steps; i++) {
            const ps_module_out_step *s = &p->steps[i];
            ok = ps_table_add_row(t) && ps_table_set_text(t, S_PARENT, s->path) &&
                 ps_table_set_text(t, S_MODULE, s->module);
            if (ok) {
                ps_table_set_int(t, S_RANK, in->ranks[r].rank);
                ps_table_set_int(t, S_STEP, s->step);
                ps_table_set_int(t, S_CALLS, s->calls);
                ps_table_set_int(t, S_KERNEL, s->kernel_ns);
                ps_table_set_int(t, S_LONGEST, s->longest_ns);
            }
        }
    }
    return give_module_table(in, t, ok, PS_TO_DB | PS_TO_FILES, err);
}

/* --- ModuleCoverage --------------------------------------------------------------------------------------------- */

enum { V_RANK, V_FROM, V_PART, V_NAME, V_OPS, V_KERNELS, V_TIME, V_SHARE, N_COVERAGE };

static const ps_column COVERAGE[N_COVERAGE] = {
    [V_RANK] = RANK_COLUMN,
    [V_FROM] = {.name = "modulesFrom", .type = PS_COL_TEXT},
    [V_PART] = {.name = "part", .type = PS_COL_TEXT},
    [V_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [V_OPS] = {.name = "operators", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [V_KERNELS] = {.name = "kernels", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [V_TIME] = {.name = "kernelTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [V_SHARE] = {.name = "share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

static bool put_coverage(ps_table *t, int64_t rank, const ps_module_partial *p) {
    bool ok = true;
    for (size_t i = 0; ok && i < p->n_shares; i++) {
        const ps_module_out_share *s = &p->shares[i];
        ok = ps_table_add_row(t) && ps_table_set_text(t, V_FROM, p->modules_from) &&
             ps_table_set_text(t, V_PART, s->part) && ps_table_set_text(t, V_NAME, s->name);
        if (ok) {
            ps_table_set_int(t, V_RANK, rank);
            ps_table_set_int(t, V_KERNELS, s->n_kernels);
            ps_table_set_int(t, V_TIME, s->kernel_ns);
            ps_table_set_real(t, V_SHARE, s->percent);
            if (s->n_ops >= 0) {
                ps_table_set_int(t, V_OPS, s->n_ops);
            }
        }
    }
    return ok;
}

static ps_code give_coverage(const ps_reduce_input *in, ps_err *err) {
    ps_table *t = ps_table_new("ModuleCoverage", "kernel time inside and outside of modules",
                               COVERAGE, N_COVERAGE);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        ok = in->partials[r] == NULL || put_coverage(t, in->ranks[r].rank, in->partials[r]);
    }
    return give_module_table(in, t, ok, PS_TO_ALL, err);
}

ps_code ps_module_tables(const ps_reduce_input *in, ps_err *err) {
    ps_code code = give_tree(in, err);
    code = code == PS_OK ? give_public(in, err) : code;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        code = in->partials[r] != NULL ? give_sheet(in, r, err) : PS_OK;
    }
    code = code == PS_OK ? give_ops(in, err) : code;
    code = code == PS_OK ? give_calls(in, err) : code;
    code = code == PS_OK ? give_steps(in, err) : code;
    return code == PS_OK ? give_coverage(in, err) : code;
}
