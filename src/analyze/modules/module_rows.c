#include "analyze/modules/module_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"

/* Sequences of operators and lists of kernels are told apart by 64-bit hashes under a seed of the process: no input can
 * make two of them equal, and chance will not. */
typedef struct collecting {
    const ps_module_tree *tree;
    const ps_trace *trace;
    const ps_slices *s;
    const ps_module_scope *scope;
    const ps_mfu *mfu;
    ps_module_rows *out;
    ps_idmap variants; /* hash of node, pass and operator names -> number of the variant */
    ps_idmap rows;     /* hash of those, position and kernel names -> row */
    uint32_t *words;   /* scratch */
    size_t cap_words;
} collecting;

const char *ps_module_kernel_name(const ps_trace *trace, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *type =
        s->kind[slice] == PS_SLICE_COMM_OP ? ps_trace_arg_text(trace, slice, "opType") : NULL;
    return type != NULL && type[0] != '\0' ? type : ps_trace_text(trace, s->name[slice]);
}

static bool room_for_words(collecting *c, size_t n) {
    return ps_grow(&c->words, &c->cap_words, n, SIZE_MAX / 8, sizeof *c->words);
}

/* --- variants --------------------------------------------------------------------------------------------------- */

/* The hash of what the call ran; *variant its number, new ones counted. */
static bool variant_of(collecting *c, const ps_module_call *call, uint64_t *hash,
                       uint32_t *variant) {
    if (!room_for_words(c, (size_t)call->n_ops + 2)) {
        return false;
    }
    c->words[0] = call->node;
    c->words[1] = call->pass;
    for (uint32_t i = 0; i < call->n_ops; i++) {
        c->words[i + 2] = c->s->name[c->tree->ops[call->first_op + i]].id;
    }
    *hash = ps_hash64_seeded(c->words, ((size_t)call->n_ops + 2) * sizeof *c->words);
    *variant = ps_idmap_get(&c->variants, *hash);
    if (*variant == PS_IDMAP_NONE) {
        *variant = c->out->n_variants[(size_t)PS_N_MODULE_PASSES * call->node + call->pass]++;
        return ps_idmap_put(&c->variants, *hash, *variant);
    }
    return true;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

static ps_str averaged_intern(collecting *c, const char *text) {
    return ps_strpool_add(&c->out->strings, text, strlen(text));
}

/* The nearest aten operator around it, else the nearest operator. */
static ps_str enclosing_op(collecting *c, uint32_t op) {
    uint32_t found = PS_NONE;
    uint32_t at = c->tree->links->parent[op];
    for (int n = 0; at != PS_NONE && n < 64; n++, at = c->tree->links->parent[at]) {
        if (c->s->kind[at] != PS_SLICE_HOST_OP) {
            continue;
        }
        found = found == PS_NONE ? at : found;
        if (strncmp(ps_trace_text(c->trace, c->s->name[at]), "aten::", 6) == 0) {
            found = at;
            break;
        }
    }
    return found == PS_NONE ? PS_STR_NONE
                            : averaged_intern(c, ps_trace_text(c->trace, c->s->name[found]));
}

static bool add_averaged_row(collecting *c, const ps_module_call *call, uint32_t position,
                             uint32_t variant, uint32_t *row) {
    ps_module_rows *out = c->out;
    uint32_t op = c->tree->ops[call->first_op + position];
    uint32_t first = c->tree->first_kernel[op];
    uint32_t n = c->tree->first_kernel[op + 1] - first;
    if (!ps_grow(&out->rows, &out->cap, out->n + 1, PS_NONE - 1, sizeof *out->rows) ||
        !ps_grow(&out->kernels, &out->cap_kernels, out->n_kernels + n, PS_NONE,
                 sizeof *out->kernels)) {
        return false;
    }
    *row = (uint32_t)out->n;
    out->rows[out->n++] =
        (ps_module_row){.node = call->node,
                        .variant = variant,
                        .position = position,
                        .first_kernel = (uint32_t)out->n_kernels,
                        .n_kernels = n,
                        .op = averaged_intern(c, ps_trace_text(c->trace, c->s->name[op])),
                        .enclosing = enclosing_op(c, op),
                        .first_ns = c->s->start_ns[op],
                        .min_ns = INT64_MAX,
                        .pass = call->pass};
    bool ok = !ps_str_is_none(out->rows[*row].op);
    for (uint32_t k = 0; k < n; k++) {
        ps_module_kernel kernel = {
            .name =
                averaged_intern(c, ps_module_kernel_name(c->trace, c->tree->kernels[first + k]))};
        out->kernels[out->n_kernels++] = kernel;
        ok = ok && !ps_str_is_none(kernel.name);
    }
    return ok;
}

/* Communication operators differ by name and not by type. */
static uint32_t kernel_word(const collecting *c, uint32_t slice) {
    uint32_t name = c->s->name[slice].id;
    if (c->s->kind[slice] == PS_SLICE_COMM_OP) {
        const char *type = ps_module_kernel_name(c->trace, slice);
        ps_str found = ps_trace_find_text(c->trace, type);
        name = ps_str_is_none(found) ? name : found.id;
    }
    return name;
}

static void add_averaged_up(collecting *c, ps_module_row *row, uint32_t op) {
    const ps_module_tree *t = c->tree;
    int64_t total = 0;
    for (uint32_t k = 0; k < row->n_kernels; k++) {
        uint32_t slice = t->kernels[t->first_kernel[op] + k];
        int64_t start = 0;
        int64_t part = ps_module_part_ns(c->scope, c->s, slice, &start);
        total = ps_i64_plus(total, part > 0 ? part : 0);
        if (c->mfu != NULL) {
            ps_kernel_flops f = ps_mfu_of(c->mfu, slice);
            double share = ps_mfu_ratio(f, c->s->dur_ns[slice]);
            ps_module_kernel *kernel = &c->out->kernels[row->first_kernel + k];
            kernel->flops += f.flops;
            kernel->mfu += share;
            kernel->n_mfu += share > 0;
            kernel->sources |= (uint8_t)(f.flops > 0 ? 1u << f.source : 0);
        }
    }
    row->total_ns = ps_i64_plus(row->total_ns, total);
    row->min_ns = total < row->min_ns ? total : row->min_ns;
    row->max_ns = total > row->max_ns ? total : row->max_ns;
    row->count++;
    if (c->s->start_ns[op] < row->first_ns) {
        row->first_ns = c->s->start_ns[op];
    }
}

static bool take_op(collecting *c, const ps_module_call *call, uint32_t position, uint64_t sequence,
                    uint32_t variant) {
    const ps_module_tree *t = c->tree;
    uint32_t op = t->ops[call->first_op + position];
    uint32_t n = t->first_kernel[op + 1] - t->first_kernel[op];
    if (!ps_module_op_ran(c->tree, c->scope, c->s, op)) {
        return true;
    }
    if (!room_for_words(c, (size_t)n + 3)) {
        return false;
    }
    c->words[0] = (uint32_t)sequence;
    c->words[1] = (uint32_t)(sequence >> 32);
    c->words[2] = position;
    for (uint32_t k = 0; k < n; k++) {
        c->words[k + 3] = kernel_word(c, t->kernels[t->first_kernel[op] + k]);
    }
    uint64_t hash = ps_hash64_seeded(c->words, ((size_t)n + 3) * sizeof *c->words);
    uint32_t row = ps_idmap_get(&c->rows, hash);
    if (row == PS_IDMAP_NONE && (!add_averaged_row(c, call, position, variant, &row) ||
                                 !ps_idmap_put(&c->rows, hash, row))) {
        return false;
    }
    add_averaged_up(c, &c->out->rows[row], op);
    return true;
}

static bool take_call(collecting *c, const ps_module_call *call) {
    uint64_t sequence = 0;
    uint32_t variant = 0;
    bool ok = variant_of(c, call, &sequence, &variant);
    for (uint32_t i = 0; ok && i < call->n_ops; i++) {
        ok = take_op(c, call, i, sequence, variant);
    }
    return ok;
}

PS_COMPARE(compare_averaged_rows, ps_module_row,
           PS_BY(first_ns) PS_BY(position) PS_BY(first_kernel))

/* Marked and backward calls are two lists by start: merged, so that variants are numbered in the order of time. */
static bool take_averaged_calls(collecting *c) {
    const ps_module_tree *t = c->tree;
    size_t marked = 0;
    size_t backward = t->n_marked;
    bool ok = true;
    while (ok && (marked < t->n_marked || backward < t->n_calls)) {
        bool take_marked =
            backward == t->n_calls ||
            (marked < t->n_marked && t->calls[marked].start_ns <= t->calls[backward].start_ns);
        size_t call = take_marked ? marked++ : backward++;
        if (c->scope->wanted[call] != 0 && t->calls[call].n_ops > 0) {
            ok = take_call(c, &t->calls[call]);
        }
    }
    return ok;
}

ps_code ps_module_rows_collect(const ps_module_tree *tree, const ps_module_scope *scope,
                               const ps_mfu *mfu, ps_module_rows *out, ps_err *err) {
    collecting c = {.tree = tree,
                    .trace = tree->links->trace,
                    .s = ps_trace_slices(tree->links->trace),
                    .scope = scope,
                    .mfu = mfu,
                    .out = out};
    *out = (ps_module_rows){0};
    ps_idmap_init(&c.variants);
    ps_idmap_init(&c.rows);
    out->n_variants = ps_calloc((tree->n_nodes + 1) * PS_N_MODULE_PASSES, sizeof *out->n_variants);
    bool ok = ps_strpool_init(&out->strings) && out->n_variants != NULL && take_averaged_calls(&c);
    if (ok && out->n > 0) {
        qsort(out->rows, out->n, sizeof *out->rows, compare_averaged_rows);
    }
    ps_idmap_fini(&c.variants);
    ps_idmap_fini(&c.rows);
    ps_free(c.words);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_module_rows_fini(ps_module_rows *r) {
    ps_free(r->rows);
    ps_free(r->kernels);
    ps_free(r->n_variants);
    ps_strpool_fini(&r->strings);
    *r = (ps_module_rows){0};
}
