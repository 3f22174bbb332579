#include "analyze/modes/module_partial.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "base/sort.h"

#define MAX_PATH_BYTES 2048
#define MAX_LIST_BYTES ((size_t)1 << 20) /* of kernel names in one row; the rest is "..." */
#define DEFAULT_TOP 10

typedef struct making {
    const ps_module_found *f;
    const ps_module_tree *tree;
    const ps_trace *trace;
    const ps_slices *s;
    ps_module_partial *out;
    const char **paths; /* by node */
    const char **names; /* by node */
    uint8_t *shown;     /* by node: what the options leave */
    ps_buf text;
    size_t top;
} making;

#define ADD(m, list, ...)                                                                          \
    (ps_grow(&(m)->out->list, &(m)->out->cap_##list, (m)->out->n_##list + 1, SIZE_MAX / 1024,      \
             sizeof *(m)->out->list) &&                                                            \
     ((m)->out->list[(m)->out->n_##list++] = (__VA_ARGS__), true))

static const char *keep_module_row(making *m, const char *text, size_t n) {
    return ps_arena_strndup(&m->out->arena, text, n);
}

/* What is in m->text; NULL when memory is out. */
static const char *keep_module_row_text(making *m) {
    const char *text =
        ps_buf_ok(&m->text) ? keep_module_row(m, ps_buf_str(&m->text), m->text.len) : NULL;
    ps_buf_clear(&m->text);
    return text;
}

/* --- names of modules ------------------------------------------------------------------------------------------- */

static bool module_row_matches(const making *m, const char *path, const char *name) {
    const char *glob = m->f->opts->module_glob;
    return glob == NULL || glob[0] == '\0' || fnmatch(glob, path, 0) == 0 ||
           fnmatch(glob, name, 0) == 0;
}

static bool name_nodes(making *m) {
    const ps_module_tree *t = m->tree;
    m->paths = ps_calloc(t->n_nodes + 1, sizeof *m->paths);
    m->names = ps_calloc(t->n_nodes + 1, sizeof *m->names);
    m->shown = ps_calloc(t->n_nodes + 1, sizeof *m->shown);
    char path[MAX_PATH_BYTES];
    bool ok = m->paths != NULL && m->names != NULL && m->shown != NULL;
    for (size_t n = 0; ok && n < t->n_nodes; n++) {
        const ps_module_node *node = &t->nodes[n];
        ps_module_path(t, (uint32_t)n, path, sizeof path);
        const char *name = ps_strpool_get(&t->names, node->name);
        m->names[n] = keep_module_row(m, name, strlen(name));
        m->paths[n] = keep_module_row(m, path, strlen(path));
        m->shown[n] = module_row_matches(m, path, name) &&
                      (m->f->opts->module_depth <= 0 || node->depth <= m->f->opts->module_depth);
        ok = m->names[n] != NULL && m->paths[n] != NULL;
    }
    return ok;
}

/* Of the modules around it, "" at the top. */
static const char *path_around(const making *m, uint32_t node) {
    uint32_t parent = m->tree->nodes[node].parent;
    return parent == PS_NONE ? "" : m->paths[parent];
}

static const char *const PASSES[PS_N_MODULE_PASSES] = {"forward", "recompute", "backward"};

/* "[Backward]Layer_1" */
static const char *title_of(making *m, const ps_module_row *row) {
    static const char *const PREFIXES[PS_N_MODULE_PASSES] = {"", "[Recompute]", "[Backward]"};
    bool variants = m->f->rows->n_variants[(size_t)PS_N_MODULE_PASSES * row->node + row->pass] > 1;
    if (!variants && row->pass == PS_MODULE_FORWARD) {
        return m->names[row->node];
    }
    ps_buf_addf(&m->text, "%s%s", PREFIXES[row->pass], m->names[row->node]);
    if (variants) {
        ps_buf_addf(&m->text, "_%u", row->variant);
    }
    return keep_module_row_text(m);
}

/* --- ModuleStatistic and ModuleOp ------------------------------------------------------------------------------- */

/* "30.25%": two decimals at most, one at least. */
static void add_module_row_percent(ps_buf *out, double share) {
    char text[64];
    int n = snprintf(text, sizeof text, "%.2f", 100 * share);
    if (n > 1 && text[n - 1] == '0') {
        text[n - 1] = '\0';
    }
    ps_buf_addf(out, "%s%%", text);
}

static const char *kernel_list(making *m, const ps_module_row *row) {
    for (uint32_t k = 0; k < row->n_kernels; k++) {
        const ps_module_kernel *kernel = &m->f->rows->kernels[row->first_kernel + k];
        ps_buf_add_str(&m->text, k > 0 ? ", " : "");
        if (m->text.len > MAX_LIST_BYTES) {
            ps_buf_add_str(&m->text, "...");
            break;
        }
        ps_buf_add_str(&m->text, ps_strpool_get(&m->f->rows->strings, kernel->name));
    }
    return keep_module_row_text(m);
}

/* Shares of the peak by kernel; unknown ones are left out, or are a dash. */
static const char *mfu_list(making *m, const ps_module_row *row, bool with_unknown) {
    bool any = false;
    for (uint32_t k = 0; k < row->n_kernels; k++) {
        any = any || m->f->rows->kernels[row->first_kernel + k].n_mfu > 0;
    }
    bool first = true;
    for (uint32_t k = 0; any && k < row->n_kernels; k++) {
        const ps_module_kernel *kernel = &m->f->rows->kernels[row->first_kernel + k];
        if (kernel->n_mfu == 0 && !with_unknown) {
            continue;
        }
        ps_buf_add_str(&m->text, first ? "" : ",");
        first = false;
        if (kernel->n_mfu > 0) {
            add_module_row_percent(&m->text, kernel->mfu / kernel->n_mfu);
        } else {
            ps_buf_add_str(&m->text, "-");
        }
    }
    return keep_module_row_text(m);
}

static const char *flops_from(const making *m, const ps_module_row *row) {
    unsigned sources = 0;
    for (uint32_t k = 0; k < row->n_kernels; k++) {
        sources |= m->f->rows->kernels[row->first_kernel + k].sources;
    }
    bool recorded = (sources & 1u << PS_FLOPS_RECORDED) != 0;
    bool shapes = (sources & 1u << PS_FLOPS_SHAPES) != 0;
    return recorded && shapes ? "recorded, shapes" : recorded ? "recorded" : shapes ? "shapes" : "";
}

static bool add_rows(making *m) {
    const ps_module_rows *rows = m->f->rows;
    bool ok = true;
    for (size_t r = 0; ok && r < rows->n; r++) {
        const ps_module_row *row = &rows->rows[r];
        if (m->shown[row->node] == 0) {
            continue;
        }
        const char *op = ps_strpool_get(&rows->strings, row->op);
        const char *enclosing = ps_strpool_get(&rows->strings, row->enclosing);
        ps_module_out_row out = {.path = path_around(m, row->node),
                                 .module = title_of(m, row),
                                 .op = keep_module_row(m, op, strlen(op)),
                                 .kernels = kernel_list(m, row),
                                 .enclosing = keep_module_row(m, enclosing, strlen(enclosing)),
                                 .mfu = mfu_list(m, row, false),
                                 .kernel_mfu = mfu_list(m, row, true),
                                 .flops_from = flops_from(m, row),
                                 .position = row->position,
                                 .count = row->count,
                                 .total_ns = row->total_ns,
                                 .min_ns = row->min_ns,
                                 .max_ns = row->max_ns};
        ok = out.module != NULL && out.op != NULL && out.kernels != NULL && out.enclosing != NULL &&
             out.mfu != NULL && out.kernel_mfu != NULL && ADD(m, rows, out);
    }
    return ok;
}

/* --- ModuleTree ------------------------------------------------------------------------------------------------- */

static int64_t module_row_step_of(const making *m, const ps_module_call *call, bool *has) {
    int64_t step = ps_step_of(&m->tree->links->steps, call->start_ns, call->start_ns);
    *has = m->tree->links->steps.n > 0 && step != PS_STEP_OUTSIDE;
    return *has ? step : 0;
}

/* What of the span that was asked for lies within the recording. */
static int64_t time_of_span(const making *m) {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < m->s->n; i++) {
        first = ps_smaller(first, m->s->start_ns[i]);
        last = ps_larger(last, ps_slice_end(m->s, i));
    }
    return first < last && ps_asked_span_cut(&m->f->scope->span, &first, &last) ? last - first : 0;
}

/* The steps, or from the first kernel to the end of the last, whichever is longer: a device may run far behind its host. */
static int64_t time_of_steps(const making *m) {
    if (ps_is_span_asked(m->f->opts)) {
        return time_of_span(m);
    }
    const ps_step_index *x = &m->tree->links->steps;
    int64_t sum = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (m->f->opts->step_id < 0 || x->steps[i].id == m->f->opts->step_id) {
            sum = ps_i64_plus(sum, x->steps[i].end_ns - x->steps[i].start_ns);
        }
    }
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < m->s->n; i++) {
        if (m->f->measures->place[i] != 0) {
            int64_t end = m->s->start_ns[i] + m->s->dur_ns[i];
            first = m->s->start_ns[i] < first ? m->s->start_ns[i] : first;
            last = end > last ? end : last;
        }
    }
    return last > first && last - first > sum ? last - first : sum;
}

static bool was_called(const ps_module_sum *sum) {
    return sum->calls[0] + sum->calls[1] + sum->calls[2] > 0;
}

/* All nodes, each after the module around it, siblings by their first call. NULL when memory is out. */
static uint32_t *tree_order(const ps_module_tree *t) {
    uint32_t *order = ps_alloc((t->n_nodes + 1) * sizeof *order);
    uint32_t *child = ps_alloc((t->n_nodes + 1) * sizeof *child); /* the last one is for the top */
    uint32_t *next = ps_alloc((t->n_nodes + 1) * sizeof *next);
    bool ok = order != NULL && child != NULL && next != NULL;
    for (size_t n = 0; ok && n <= t->n_nodes; n++) {
        child[n] = PS_NONE;
    }
    for (size_t n = t->n_nodes; ok && n > 0; n--) {
        uint32_t parent = t->nodes[n - 1].parent;
        uint32_t *first = &child[parent == PS_NONE ? t->n_nodes : parent];
        next[n - 1] = *first;
        *first = (uint32_t)(n - 1);
    }
    uint32_t at = ok ? child[t->n_nodes] : PS_NONE;
    for (size_t n = 0; at != PS_NONE; n++) {
        order[n] = at;
        uint32_t down = child[at];
        while (down == PS_NONE && at != PS_NONE) {
            down = next[at];
            at = t->nodes[at].parent;
        }
        at = down;
    }
    ps_free(child);
    ps_free(next);
    if (!ok) {
        ps_free(order);
    }
    return ok ? order : NULL;
}

static bool add_nodes(making *m) {
    const ps_module_tree *t = m->tree;
    int64_t steps_ns = time_of_steps(m);
    uint32_t *order = tree_order(t);
    bool ok = order != NULL;
    for (size_t i = 0; ok && i < t->n_nodes; i++) {
        uint32_t n = order[i];
        const ps_module_sum *sum = &m->f->measures->nodes[n];
        if (m->shown[n] == 0 || !was_called(sum)) {
            continue;
        }
        ps_module_out_node out = {.path = path_around(m, n),
                                  .module = m->names[n],
                                  .key = t->nodes[n].key,
                                  .depth = t->nodes[n].depth,
                                  .sum = *sum,
                                  .share = steps_ns > 0 && sum->busy_ns >= 0
                                               ? (double)sum->busy_ns / (double)steps_ns
                                               : -1};
        if (sum->slowest != PS_NONE) {
            out.slowest_step = module_row_step_of(m, &t->calls[sum->slowest], &out.has_step);
        }
        ok = ADD(m, nodes, out);
    }
    ps_free(order);
    return ok;
}

/* --- ModuleInstance and ModuleStep ------------------------------------------------------------------------------ */

typedef struct timed_call {
    int64_t kernel_ns, step;
    uint32_t node, call;
} timed_call;

static const ps_sort_key SLOWEST_FIRST[] = {PS_UP(timed_call, node), PS_DOWN(timed_call, kernel_ns),
                                            PS_UP(timed_call, call)};

static const ps_sort_key BY_MODULE_ROW_STEP[] = {PS_UP(timed_call, node), PS_UP(timed_call, step),
                                                 PS_UP(timed_call, call)};

static int64_t module_row_kernel_time(const ps_module_call_sum *sum) {
    return ps_i64_plus(ps_i64_plus(sum->kernel_ns[0], sum->kernel_ns[1]), sum->kernel_ns[2]);
}

static bool add_module_row_call(making *m, const timed_call *timed) {
    const ps_module_call *call = &m->tree->calls[timed->call];
    ps_module_out_call out = {.path = path_around(m, call->node),
                              .module = m->names[call->node],
                              .pass = PASSES[call->pass],
                              .start_ns = call->start_ns + ps_trace_origin_ns(m->trace),
                              .host_ns = call->end_ns - call->start_ns,
                              .sum = m->f->measures->calls[timed->call]};
    out.step = module_row_step_of(m, call, &out.has_step);
    for (size_t side = 0; side < 2; side++) {
        if (out.sum.first_ns[side] <= out.sum.last_ns[side]) {
            out.sum.first_ns[side] += ps_trace_origin_ns(m->trace);
            out.sum.last_ns[side] += ps_trace_origin_ns(m->trace);
        }
    }
    return ADD(m, calls, out);
}

static bool add_slowest(making *m, timed_call *calls, size_t n) {
    bool ok = true;
    size_t of_node = 0;
    ps_sort_by(calls, n, sizeof *calls, PS_KEYS(SLOWEST_FIRST));
    for (size_t i = 0; ok && i < n; i++) {
        of_node = i > 0 && calls[i].node == calls[i - 1].node ? of_node + 1 : 0;
        ok = of_node >= m->top || add_module_row_call(m, &calls[i]);
    }
    return ok;
}

static bool add_module_row_steps(making *m, timed_call *calls, size_t n) {
    bool ok = true;
    ps_sort_by(calls, n, sizeof *calls, PS_KEYS(BY_MODULE_ROW_STEP));
    for (size_t i = 0; ok && i < n;) {
        ps_module_out_step out = {.path = path_around(m, calls[i].node),
                                  .module = m->names[calls[i].node],
                                  .step = calls[i].step};
        size_t end = i;
        for (; end < n && calls[end].node == calls[i].node && calls[end].step == calls[i].step;
             end++) {
            int64_t ns = calls[end].kernel_ns;
            uint32_t call = calls[end].call;
            out.calls +=
                m->f->scope->wanted[call] != 0 && m->tree->calls[call].pass == PS_MODULE_FORWARD;
            out.kernel_ns = ps_i64_plus(out.kernel_ns, ns);
            out.longest_ns = ns > out.longest_ns ? ns : out.longest_ns;
        }
        i = end;
        ok = ADD(m, steps, out);
    }
    return ok;
}

static bool add_calls(making *m) {
    const ps_module_tree *t = m->tree;
    timed_call *calls = ps_calloc(t->n_marked + 1, sizeof *calls);
    size_t n = 0;
    for (size_t i = 0; calls != NULL && i < t->n_marked; i++) {
        int64_t ns = module_row_kernel_time(&m->f->measures->calls[i]);
        if ((m->f->scope->wanted[i] != 0 || ns > 0) && m->shown[t->calls[i].node] != 0) {
            bool has_step = false;
            int64_t step = module_row_step_of(m, &t->calls[i], &has_step);
            calls[n++] = (timed_call){ns, step, t->calls[i].node, (uint32_t)i};
        }
    }
    bool ok = calls != NULL &&
              (n == 0 || (add_slowest(m, calls, n) &&
                          (m->tree->links->steps.n == 0 || add_module_row_steps(m, calls, n))));
    ps_free(calls);
    return ok;
}

/* --- ModuleCoverage --------------------------------------------------------------------------------------------- */

typedef struct named_share {
    const char *name;
    int64_t n_kernels, kernel_ns;
} named_share;

static const ps_sort_key MODULE_ROW_LONGEST_FIRST[] = {PS_DOWN(named_share, kernel_ns),
                                                       PS_UP(named_share, name)};

/* By the operator, of kernels that nobody launched by their own name. */
static const char *name_in_share(const making *m, uint32_t slice) {
    uint32_t op = ps_module_launcher(m->tree->links, slice);
    return op == PS_NONE ? ps_module_kernel_name(m->trace, slice)
                         : ps_trace_text(m->trace, m->s->name[op]);
}

static bool collect_names(const making *m, uint8_t place, named_share **names, size_t *n,
                          size_t *cap, ps_idmap *rows) {
    for (uint32_t i = 0; i < m->s->n; i++) {
        if (m->f->measures->place[i] != place) {
            continue;
        }
        const char *name = name_in_share(m, i);
        uint32_t row = ps_idmap_get(rows, (uint64_t)(uintptr_t)name); /* interned */
        if (row == PS_IDMAP_NONE) {
            row = (uint32_t)*n;
            if (!ps_grow(names, cap, *n + 1, PS_NONE - 1, sizeof **names) ||
                !ps_idmap_put(rows, (uint64_t)(uintptr_t)name, row)) {
                return false;
            }
            (*names)[(*n)++] = (named_share){.name = name};
        }
        (*names)[row].n_kernels++;
        int64_t start = 0;
        (*names)[row].kernel_ns =
            ps_i64_plus((*names)[row].kernel_ns, ps_module_part_ns(m->f->scope, m->s, i, &start));
    }
    return true;
}

static double module_row_percent_of(int64_t ns, int64_t total_ns) {
    return total_ns > 0 ? 100.0 * (double)ns / (double)total_ns : 0;
}

static bool add_share(making *m, const char *part, const ps_module_share *share, uint8_t place,
                      int64_t total_ns) {
    named_share *names = NULL;
    size_t n = 0;
    size_t cap = 0;
    ps_idmap rows;
    ps_idmap_init(&rows);
    bool ok =
        ADD(m, shares,
            (ps_module_out_share){.part = part,
                                  .name = "",
                                  .n_ops = place == PS_MODULE_UNLINKED ? -1 : share->n_ops,
                                  .n_kernels = share->n_kernels,
                                  .kernel_ns = share->kernel_ns,
                                  .percent = module_row_percent_of(share->kernel_ns, total_ns)}) &&
        (place == PS_MODULE_INSIDE || collect_names(m, place, &names, &n, &cap, &rows));
    if (ok && n > 0) {
        ps_sort_by(names, n, sizeof *names, PS_KEYS(MODULE_ROW_LONGEST_FIRST));
    }
    for (size_t i = 0; ok && i < n && i < m->top; i++) {
        const char *name = keep_module_row(m, names[i].name, strlen(names[i].name));
        ok = name != NULL && ADD(m, shares,
                                 (ps_module_out_share){.part = part,
                                                       .name = name,
                                                       .n_ops = -1,
                                                       .n_kernels = names[i].n_kernels,
                                                       .kernel_ns = names[i].kernel_ns,
                                                       .percent = module_row_percent_of(
                                                           names[i].kernel_ns, total_ns)});
    }
    ps_idmap_fini(&rows);
    ps_free(names);
    return ok;
}

static bool add_coverage(making *m) {
    const ps_module_measures *x = m->f->measures;
    int64_t total =
        ps_i64_plus(ps_i64_plus(x->inside.kernel_ns, x->outside.kernel_ns), x->unlinked.kernel_ns);
    return add_share(m, "in modules", &x->inside, PS_MODULE_INSIDE, total) &&
           add_share(m, "outside modules", &x->outside, PS_MODULE_OUTSIDE, total) &&
           add_share(m, "launch not known", &x->unlinked, PS_MODULE_UNLINKED, total);
}

/* --- all together ----------------------------------------------------------------------------------------------- */

ps_code ps_module_partial_make(const ps_module_found *found, ps_module_partial **out, ps_err *err) {
    making m = {.f = found,
                .tree = found->tree,
                .trace = found->tree->links->trace,
                .s = ps_trace_slices(found->tree->links->trace),
                .out = ps_calloc(1, sizeof *m.out),
                .top = found->opts->top_num > 0 ? (size_t)found->opts->top_num : DEFAULT_TOP};
    if (m.out == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&m.out->arena);
    ps_buf_init(&m.text, 0);
    m.out->modules_from = ps_module_source_text(PS_ENGLISH, found->tree);
    bool ok = name_nodes(&m) && add_rows(&m) && add_nodes(&m) && add_calls(&m) && add_coverage(&m);
    ps_buf_fini(&m.text);
    ps_free(m.paths);
    ps_free(m.names);
    ps_free(m.shown);
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (ok && m.out->n_nodes == 0) {
        code = ps_fail_said(err, PS_NOTHING, "no module is left by --module and --depth",
                            "--module 与 --depth 之下没有剩余的模块");
    }
    if (code != PS_OK) {
        ps_module_partial_free(m.out);
        m.out = NULL;
    }
    *out = m.out;
    return code;
}

void ps_module_partial_free(ps_module_partial *p) {
    if (p == NULL) {
        return;
    }
    ps_free(p->rows);
    ps_free(p->nodes);
    ps_free(p->calls);
    ps_free(p->steps);
    ps_free(p->shares);
    ps_arena_fini(&p->arena);
    ps_free(p);
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

static void out_row_archive(ps_archive *a, void *row) {
    ps_module_out_row *x = row;
    PS_ARCHIVE(a, x, path, module, op, kernels, enclosing, mfu, kernel_mfu, flops_from, position,
               count, total_ns, min_ns, max_ns);
}

static void out_node_archive(ps_archive *a, void *node) {
    ps_module_out_node *x = node;
    PS_ARCHIVE(a, x, path, module, key, depth, share, slowest_step, has_step);
    PS_ARCHIVE_EACH(a, x, sum.calls);
    PS_ARCHIVE_EACH(a, x, sum.host_ns);
    PS_ARCHIVE_EACH(a, x, sum.kernel_ns);
    PS_ARCHIVE(a, x, sum.own_ns, sum.busy_ns, sum.exposed_ns, sum.gap_ns, sum.slowest_ns,
               sum.slowest, sum.flops, sum.work);
}

static void out_call_archive(ps_archive *a, void *call) {
    ps_module_out_call *x = call;
    PS_ARCHIVE(a, x, path, module, pass, step, start_ns, host_ns, sum.gap_ns, has_step);
    PS_ARCHIVE_EACH(a, x, sum.kernel_ns);
    PS_ARCHIVE_EACH(a, x, sum.first_ns);
    PS_ARCHIVE_EACH(a, x, sum.last_ns);
}

static void out_step_archive(ps_archive *a, void *step) {
    ps_module_out_step *x = step;
    PS_ARCHIVE(a, x, path, module, step, calls, kernel_ns, longest_ns);
}

static void out_share_archive(ps_archive *a, void *share) {
    ps_module_out_share *x = share;
    PS_ARCHIVE(a, x, part, name, n_ops, n_kernels, kernel_ns, percent);
}

void ps_module_partial_archive(ps_archive *a, void **partial) {
    ps_module_partial *x = ps_archive_object(a, partial, sizeof *x);
    if (x == NULL) {
        return;
    }
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE(a, x, modules_from);
    PS_ARCHIVE_ARRAY(a, x, rows, n_rows, out_row_archive);
    PS_ARCHIVE_ARRAY(a, x, nodes, n_nodes, out_node_archive);
    PS_ARCHIVE_ARRAY(a, x, calls, n_calls, out_call_archive);
    PS_ARCHIVE_ARRAY(a, x, steps, n_steps, out_step_archive);
    PS_ARCHIVE_ARRAY(a, x, shares, n_shares, out_share_archive);
}
