/* Three walks over the slices, which come by start, longer first:
 *
 *   1  which marked call each operator lies in, by a stack of open calls for each thread
 *   2  backward operators in a row that belong to the same call become one backward call: by their forward operators, then
 *      what is left of threads that run backward operators, by the call in which another thread waits for them
 *   3  the stacks again, now with the backward calls: nodes, recomputation, and the final call of each operator
 *
 * Operators never change a stack. */
#include "analyze/modules/module_tree.h"

#include <string.h>

#include "analyze/rank/module_pairs.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/text.h"
#include "model/recording.h"
#include "model/trace.h"

/* Ranges of one thread may cross; a range looks past so many open ones for the one around it. */
#define MAX_CROSSING 64

typedef struct building {
    ps_module_tree *t;
    const ps_slices *s;
    ps_module_pairs pairs;
    uint32_t *top;           /* by track: the innermost open call */
    uint32_t *current;       /* by track: the backward call that goes on */
    uint32_t *first_of_call; /* of backward call n_marked + i: its first operator */
    size_t cap_first;
    ps_idmap nodes; /* parent and name -> node */
    size_t n_tracks;
} building;

/* --- which slices are modules ---------------------------------------------------------------------------------- */

static const char PYTHON_PREFIX[] = "nn.Module: ";

int64_t ps_module_part_ns(const ps_module_scope *scope, const ps_slices *s, uint32_t slice,
                          int64_t *start_ns) {
    int64_t end_ns = ps_slice_end(s, slice);
    *start_ns = s->start_ns[slice];
    return ps_asked_span_cut(&scope->span, start_ns, &end_ns) ? end_ns - *start_ns : -1;
}

bool ps_module_op_ran(const ps_module_tree *tree, const ps_module_scope *scope, const ps_slices *s,
                      uint32_t op) {
    int64_t start_ns = 0;
    bool ran = false;
    for (uint32_t k = tree->first_kernel[op]; !ran && k < tree->first_kernel[op + 1]; k++) {
        ran = ps_module_part_ns(scope, s, tree->kernels[k], &start_ns) >= 0;
    }
    return ran;
}

const char *ps_module_source_text(ps_lang lang, const ps_module_tree *t) {
    static const ps_said TEXTS[PS_N_MODULE_SOURCES] = {
        {{"ranges of domain Module", "Module 域的 range"}},
        {{"Python frames of nn.Module", "nn.Module 的 Python 栈帧"}},
        {{"annotations", "标注"}},
        {{"NVTX ranges", "NVTX range"}}};
    return t->source == PS_MODULES_RANGE && t->is_mstx ? PS_SAY(lang, "mstx ranges", "mstx range")
                                                       : TEXTS[t->source].in[lang];
}

static bool arg_is(const ps_trace *trace, uint32_t slice, const char *key, const char *value) {
    const char *text = ps_trace_arg_text(trace, slice, key);
    return text != NULL && strcmp(text, value) == 0;
}

/* Databases have the domain as category, text exports as argument. */
static bool is_of_domain(const ps_trace *trace, ps_str domain, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    return s->kind[slice] == PS_SLICE_MARK_HOST && !ps_str_is_none(domain) &&
           (ps_str_eq(s->category[slice], domain) || arg_is(trace, slice, "domain", "Module")) &&
           !arg_is(trace, slice, "eventType", "push/pop") &&
           !arg_is(trace, slice, "event_type", "push/pop");
}

/* Databases and text exports of Ascend profilers say of each mark by which call it was set. */
static bool is_mstx(const ps_trace *trace, uint32_t slice) {
    return ps_trace_arg_text(trace, slice, "eventType") != NULL ||
           ps_trace_arg_text(trace, slice, "event_type") != NULL;
}

/* Profilers and libraries set mstx ranges, too, each in a domain of its own: communication, mfu_flops. */
static bool is_plain_range(const ps_trace *trace, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    if (s->kind[slice] != PS_SLICE_MARK_HOST || !is_mstx(trace, slice)) {
        return s->kind[slice] == PS_SLICE_MARK_HOST;
    }
    const char *domain = ps_trace_arg_text(trace, slice, "domain");
    domain = domain != NULL ? domain : ps_trace_text(trace, s->category[slice]);
    return domain[0] == '\0' || strcmp(domain, "default") == 0;
}

static bool is_module(const ps_trace *trace, ps_module_source source, ps_str domain,
                      uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *name = ps_trace_text(trace, s->name[slice]);
    switch (source) {
    case PS_MODULES_DOMAIN:
        return is_of_domain(trace, domain, slice);
    case PS_MODULES_PYTHON:
        return s->kind[slice] == PS_SLICE_PYTHON && ps_begins_with(name, PYTHON_PREFIX);
    case PS_MODULES_ANNOTATION:
        return s->kind[slice] == PS_SLICE_ANNOTATION && !ps_begins_with(name, "ProfilerStep");
    default:
        return is_plain_range(trace, slice);
    }
}

static size_t count_modules(const ps_trace *trace, ps_module_source source, ps_str domain) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += ps_is_host_range(s->kind[i]) && is_module(trace, source, domain, i);
    }
    return n;
}

/* --- building blocks -------------------------------------------------------------------------------------------- */

static uint32_t *new_module_column(size_t n) {
    uint32_t *column = ps_alloc((n + 1) * sizeof *column);
    for (size_t i = 0; column != NULL && i < n; i++) {
        column[i] = PS_NONE;
    }
    return column;
}

static bool module_holds(const ps_module_call *call, int64_t start, int64_t end) {
    return start < call->end_ns || end <= call->end_ns;
}

static void close_ended(building *b, uint32_t track, int64_t at) {
    uint32_t *top = &b->top[track];
    while (*top != PS_NONE && b->t->calls[*top].end_ns < at) {
        *top = b->t->calls[*top].below;
    }
}

/* The innermost open call that contains the start of the span, or with `whole` all of it. */
static uint32_t call_around(building *b, uint32_t track, int64_t start, int64_t end, bool whole) {
    close_ended(b, track, start);
    uint32_t call = b->top[track];
    for (int n = 0; call != PS_NONE && n < MAX_CROSSING; n++) {
        const ps_module_call *c = &b->t->calls[call];
        if (whole ? end <= c->end_ns : module_holds(c, start, end)) {
            return call;
        }
        call = c->below;
    }
    return whole && call != PS_NONE ? b->top[track] : PS_NONE;
}

static void open_call(building *b, uint32_t call) {
    ps_module_call *c = &b->t->calls[call];
    c->below = b->top[c->track];
    b->top[c->track] = call;
}

static bool add_module_call(ps_module_tree *t, ps_module_call call) {
    if (!ps_grow(&t->calls, &t->cap_calls, t->n_calls + 1, PS_NONE - 1, sizeof *t->calls)) {
        return false;
    }
    t->calls[t->n_calls++] = call;
    return true;
}

static uint64_t module_key_of(const ps_module_tree *t, uint32_t parent, ps_str name) {
    uint64_t fields[2] = {
        parent == PS_NONE ? 0 : t->nodes[parent].key,
        ps_hash64(ps_strpool_get(&t->names, name), ps_strpool_len(&t->names, name))};
    return ps_hash64(fields, sizeof fields);
}

/* PS_NONE when memory is out. */
static uint32_t node_of(building *b, uint32_t parent, ps_str name) {
    ps_module_tree *t = b->t;
    uint64_t key = ((uint64_t)parent + 1) << 32 | name.id;
    uint32_t known = ps_idmap_get(&b->nodes, key);
    if (known != PS_IDMAP_NONE) {
        return known;
    }
    if (!ps_grow(&t->nodes, &t->cap_nodes, t->n_nodes + 1, PS_NONE - 1, sizeof *t->nodes) ||
        !ps_idmap_put(&b->nodes, key, (uint32_t)t->n_nodes)) {
        return PS_NONE;
    }
    t->nodes[t->n_nodes] =
        (ps_module_node){.parent = parent,
                         .depth = parent == PS_NONE ? 1 : t->nodes[parent].depth + 1,
                         .name = name,
                         .key = module_key_of(t, parent, name)};
    return (uint32_t)t->n_nodes++;
}

static bool may_launch(uint8_t kind) {
    return kind == PS_SLICE_HOST_OP || kind == PS_SLICE_CALL;
}

/* --- walk 1: marked calls --------------------------------------------------------------------------------------- */

static void forget_open(building *b) {
    for (size_t i = 0; i < b->n_tracks; i++) {
        b->top[i] = PS_NONE;
    }
}

static bool find_marked(building *b, ps_str domain) {
    ps_module_tree *t = b->t;
    const ps_slices *s = b->s;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t end = ps_slice_end(s, i);
        if (may_launch(s->kind[i])) {
            t->call_of[i] = call_around(b, s->track[i], s->start_ns[i], end, false);
        } else if (ps_is_host_range(s->kind[i]) &&
                   is_module(t->links->trace, t->source, domain, i)) {
            close_ended(b, s->track[i], s->start_ns[i]);
            t->call_of[i] = (uint32_t)t->n_calls;
            t->is_mstx =
                t->is_mstx || (t->source == PS_MODULES_RANGE && is_mstx(t->links->trace, i));
            if (!add_module_call(t, (ps_module_call){.start_ns = s->start_ns[i],
                                                     .end_ns = end,
                                                     .track = s->track[i],
                                                     .node = PS_NONE,
                                                     .parent = PS_NONE,
                                                     .forward = (uint32_t)t->n_calls})) {
                return false;
            }
            open_call(b, (uint32_t)t->n_calls - 1);
        }
    }
    t->n_marked = t->n_calls;
    return true;
}

/* --- walk 2: backward calls ------------------------------------------------------------------------------------- */

/* `op` is backward work of the call `forward`. */
static bool take_backward(building *b, uint32_t op, uint32_t forward) {
    ps_module_tree *t = b->t;
    uint32_t *current = &b->current[b->s->track[op]];
    if (*current != PS_NONE && t->calls[*current].forward == forward) {
        ps_module_call *c = &t->calls[*current];
        c->end_ns = ps_slice_end(b->s, op) > c->end_ns ? ps_slice_end(b->s, op) : c->end_ns;
        return true;
    }
    size_t n = t->n_calls - t->n_marked;
    *current = (uint32_t)t->n_calls;
    if (!ps_grow(&b->first_of_call, &b->cap_first, n + 1, PS_NONE, sizeof *b->first_of_call)) {
        return false;
    }
    b->first_of_call[n] = op;
    return add_module_call(t, (ps_module_call){.start_ns = b->s->start_ns[op],
                                               .end_ns = ps_slice_end(b->s, op),
                                               .track = b->s->track[op],
                                               .node = PS_NONE,
                                               .parent = PS_NONE,
                                               .forward = forward,
                                               .pass = PS_MODULE_BACKWARD});
}

/* The call of the forward operator, PS_NONE where there is none. */
static uint32_t paired_call(const building *b, uint32_t op) {
    uint32_t forward = b->pairs.forward[op];
    return forward != PS_NONE ? b->t->call_of[forward] : PS_NONE;
}

static bool is_marked(const building *b, uint32_t slice) {
    return !may_launch(b->s->kind[slice]) && b->t->call_of[slice] != PS_NONE;
}

/* A call that began after the backward operators so far. */
static void note_marked(building *b, uint32_t slice) {
    uint32_t *current = is_marked(b, slice) ? &b->current[b->s->track[slice]] : NULL;
    if (current != NULL && *current != PS_NONE &&
        b->t->calls[*current].end_ns < b->s->start_ns[slice]) {
        *current = PS_NONE; /* a forward pass lies between */
    }
}

static bool find_paired(building *b) {
    for (uint32_t i = 0; i < b->s->n; i++) {
        uint32_t forward = paired_call(b, i);
        if (forward != PS_NONE && !take_backward(b, i, forward)) {
            return false;
        }
        note_marked(b, i);
    }
    return true;
}

/* The marked call around the range in which a thread waits for `slice`, PS_NONE. */
static uint32_t waiting_call(const building *b, uint32_t slice) {
    const ps_links *l = b->t->links;
    bool is_outermost = l->parent[slice] == PS_NONE;
    uint32_t at = is_outermost ? ps_links_enclosing(l, slice) : PS_NONE;
    while (at != PS_NONE && !is_marked(b, at)) {
        at = l->parent[at];
    }
    return at != PS_NONE ? b->t->call_of[at] : PS_NONE;
}

/* The outermost slices of threads that run backward operators, where these have no forward ones and lie in no run of some
 * that have. `open` by track: the call with forward operators that began last. */
static bool find_waited_for(building *b, uint32_t *open) {
    ps_module_tree *t = b->t;
    const ps_callers *callers = &t->links->callers;
    size_t n_paired = t->n_calls - t->n_marked;
    size_t next = 0;
    for (size_t i = 0; i < callers->n; i++) {
        uint32_t slice = callers->at[i].slice;
        uint32_t track = b->s->track[slice];
        for (; next < n_paired && b->first_of_call[next] <= slice; next++) {
            uint32_t of = b->s->track[b->first_of_call[next]];
            open[of] = (uint32_t)(t->n_marked + next);
            b->current[of] = PS_NONE;
        }
        bool covered =
            open[track] != PS_NONE &&
            module_holds(&t->calls[open[track]], b->s->start_ns[slice], ps_slice_end(b->s, slice));
        uint32_t forward = covered || is_marked(b, slice) ? PS_NONE : waiting_call(b, slice);
        if (forward != PS_NONE && !take_backward(b, slice, forward)) {
            return false;
        }
        if (covered || forward == PS_NONE) {
            b->current[track] = PS_NONE;
        }
    }
    return true;
}

typedef struct placed {
    ps_module_call call;
    uint32_t first;
} placed;

PS_COMPARE(by_first, placed, PS_BY(first))

/* Both kinds of backward calls by start. No two begin with the same slice. */
static bool sort_backward(building *b) {
    ps_module_tree *t = b->t;
    size_t n = t->n_calls - t->n_marked;
    placed *all = ps_alloc((n + 1) * sizeof *all);
    for (size_t i = 0; all != NULL && i < n; i++) {
        all[i] = (placed){t->calls[t->n_marked + i], b->first_of_call[i]};
    }
    ps_sort(all, n, sizeof *all, by_first);
    for (size_t i = 0; all != NULL && i < n; i++) {
        t->calls[t->n_marked + i] = all[i].call;
        b->first_of_call[i] = all[i].first;
    }
    ps_free(all);
    return all != NULL;
}

static bool find_backward(building *b) {
    if (!find_paired(b)) {
        return false;
    }
    if (b->t->links->callers.n == 0) {
        return true;
    }
    for (size_t i = 0; i < b->n_tracks; i++) {
        b->current[i] = PS_NONE;
    }
    uint32_t *open = new_module_column(b->n_tracks);
    bool ok = open != NULL && find_waited_for(b, open) && sort_backward(b);
    ps_free(open);
    return ok;
}

/* --- walk 3: the tree ------------------------------------------------------------------------------------------- */

static bool inside_backward_op(const building *b, uint32_t slice) {
    uint32_t at = b->t->links->parent[slice];
    for (int n = 0; at != PS_NONE && n < MAX_CROSSING; n++) {
        if (b->pairs.backward[at] != 0) {
            return true;
        }
        at = b->t->links->parent[at];
    }
    return false;
}

/* Texts of the trace are interned once. */
static ps_str module_name_of(building *b, uint32_t slice) {
    ps_module_tree *t = b->t;
    const char *text = ps_trace_text(t->links->trace, b->s->name[slice]);
    size_t n = ps_trace_text_len(t->links->trace, b->s->name[slice]);
    size_t skip = t->source == PS_MODULES_PYTHON ? sizeof PYTHON_PREFIX - 1 : 0;
    return ps_strpool_add(&t->names, text + skip, n - skip);
}

static bool place_marked(building *b, uint32_t slice) {
    ps_module_tree *t = b->t;
    ps_module_call *c = &t->calls[t->call_of[slice]];
    uint32_t around = call_around(b, c->track, c->start_ns, c->end_ns, true);
    uint32_t waiting = around == PS_NONE ? waiting_call(b, slice) : PS_NONE;
    bool again = waiting != PS_NONE || inside_backward_op(b, slice);
    c->parent = waiting;
    if (around != PS_NONE) {
        const ps_module_call *a = &t->calls[around];
        again = again || a->pass != PS_MODULE_FORWARD;
        c->parent = a->forward;
    }
    ps_str name = module_name_of(b, slice);
    uint32_t parent = c->parent == PS_NONE ? PS_NONE : t->calls[c->parent].node;
    c->node = ps_str_is_none(name) ? PS_NONE : node_of(b, parent, name);
    open_call(b, t->call_of[slice]);
    if (c->node == PS_NONE) {
        return false;
    }
    bool known = t->nodes[c->node].ran_forward;
    c->pass = !again ? PS_MODULE_FORWARD : known ? PS_MODULE_RECOMPUTE : PS_MODULE_BACKWARD;
    t->nodes[c->node].ran_forward = known || !again;
    return true;
}

static void place_backward(building *b, uint32_t call) {
    ps_module_tree *t = b->t;
    ps_module_call *c = &t->calls[call];
    c->node = t->calls[c->forward].node;
    c->parent = t->calls[c->forward].parent;
    close_ended(b, c->track, c->start_ns);
    open_call(b, call);
}

static bool place_all(building *b) {
    ps_module_tree *t = b->t;
    const ps_slices *s = b->s;
    size_t n_backward = t->n_calls - t->n_marked;
    size_t next = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (next < n_backward && b->first_of_call[next] == i) {
            place_backward(b, (uint32_t)(t->n_marked + next++));
        }
        if (may_launch(s->kind[i])) {
            t->call_of[i] = call_around(b, s->track[i], s->start_ns[i], ps_slice_end(s, i), false);
        } else if (t->call_of[i] != PS_NONE && !place_marked(b, i)) {
            return false;
        }
    }
    return true;
}

/* --- operators and their kernels -------------------------------------------------------------------------------- */

bool ps_module_has_comm_ops(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    bool any = false;
    for (uint32_t i = 0; !any && i < s->n; i++) {
        any = s->kind[i] == PS_SLICE_COMM_OP;
    }
    return any;
}

uint32_t ps_module_launcher(const ps_links *links, uint32_t slice) {
    uint32_t op = links->op[slice];
    uint32_t call = links->call[slice];
    bool has_call = call != PS_NONE && ps_trace_slices(links->trace)->kind[call] == PS_SLICE_CALL;
    return op != PS_NONE ? op : has_call ? call : PS_NONE;
}

static bool is_from_mark(const ps_links *links, uint32_t slice) {
    uint32_t call = links->call[slice];
    return call != PS_NONE && ps_trace_slices(links->trace)->kind[call] == PS_SLICE_MARK_HOST;
}

bool ps_module_counts(const ps_links *links, uint32_t slice, bool has_comm_ops) {
    switch (ps_trace_slices(links->trace)->kind[slice]) {
    case PS_SLICE_KERNEL:
        return true;
    case PS_SLICE_COMM_OP: /* one made from a mark outside of operators was launched by nothing that is called */
        return ps_module_launcher(links, slice) != PS_NONE || !is_from_mark(links, slice);
    case PS_SLICE_COMM_KERNEL:
        return !has_comm_ops;
    case PS_SLICE_COPY:
    case PS_SLICE_TASK:
        return ps_module_launcher(links, slice) != PS_NONE;
    default:
        return false;
    }
}

/* Counts, then sums, then places: kernels of one operator stay in the order of their start. The counts stand two places
 * further on, so that after the sums each list begins one place further on, and after placing in its own. */
static bool list_kernels(ps_module_tree *t, const ps_slices *s) {
    bool has_comm_ops = ps_module_has_comm_ops(t->links->trace);
    uint32_t *first = ps_calloc((size_t)s->n + 2, sizeof *first);
    t->first_kernel = first;
    if (first == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t by = ps_module_launcher(t->links, i);
        if (by != PS_NONE && ps_module_counts(t->links, i, has_comm_ops)) {
            first[(size_t)by + 2]++;
            t->n_kernels++;
        }
    }
    for (size_t i = 1; i < (size_t)s->n + 2; i++) {
        first[i] += first[i - 1];
    }
    t->kernels = ps_alloc((t->n_kernels + 1) * sizeof *t->kernels);
    for (uint32_t i = 0; t->kernels != NULL && i < s->n; i++) {
        uint32_t by = ps_module_launcher(t->links, i);
        if (by != PS_NONE && ps_module_counts(t->links, i, has_comm_ops)) {
            t->kernels[first[(size_t)by + 1]++] = i;
        }
    }
    return t->kernels != NULL;
}

static bool list_ops(ps_module_tree *t, const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        bool launched = t->first_kernel[i + 1] > t->first_kernel[i];
        if (launched && t->call_of[i] != PS_NONE) {
            t->calls[t->call_of[i]].n_ops++;
            t->n_ops++;
        }
    }
    uint32_t first = 0;
    for (size_t c = 0; c < t->n_calls; c++) {
        t->calls[c].first_op = first;
        first += t->calls[c].n_ops;
        t->calls[c].n_ops = 0;
    }
    t->ops = ps_alloc((t->n_ops + 1) * sizeof *t->ops);
    for (uint32_t i = 0; t->ops != NULL && i < s->n; i++) {
        bool launched = t->first_kernel[i + 1] > t->first_kernel[i];
        if (launched && t->call_of[i] != PS_NONE) {
            ps_module_call *c = &t->calls[t->call_of[i]];
            t->ops[c->first_op + c->n_ops++] = i;
        }
    }
    return t->ops != NULL;
}

/* --- all together ----------------------------------------------------------------------------------------------- */

#define HOW_RECORDED                                                                                \
    "call pipescope.hook_modules() beside pipescope.record_ops(), or put a range of domain Module " \
    "around each call of a module"
#define HOW_RECORDED_ZH                                                                            \
    "请在 pipescope.record_ops() 之外调用 pipescope.hook_modules()，或用 Module 域的 range 包住每次模块调用"
#define ONLY_OTHER_RANGES "no modules are marked, only ranges outside of the domain Module"
#define ONLY_OTHER_RANGES_ZH "没有标出模块，只有 Module 域之外的 range"

static ps_code choose_source(ps_module_tree *t, bool marks_too, ps_str *domain, ps_err *err) {
    const ps_trace *trace = t->links->trace;
    *domain = ps_trace_find_text(trace, "Module");
    for (int source = 0; source < PS_N_MODULE_SOURCES; source++) {
        t->source = (ps_module_source)source;
        bool allowed = t->source != PS_MODULES_RANGE || marks_too;
        if (allowed && count_modules(trace, t->source, *domain) > 0) {
            return PS_OK;
        }
    }
    return ps_trace_is_recording(trace)
               ? ps_fail_said(err, PS_NOTHING,
                              "no modules are marked: " HOW_RECORDED
                              " (docs/modes/module_statistic.md)",
                              "没有标出模块：" HOW_RECORDED_ZH "（docs/modes/module_statistic.md）")
               : ps_fail_said(
                     err, PS_NOTHING,
                     "no modules are marked: wrap each nn.Module call in an mstx start/end range of "
                     "domain Module, a record_function or an NVTX range (docs/modes/module_statistic.md)",
                     "没有标出模块：请用 Module 域的 mstx start/end range、record_function 或 NVTX range "
                     "包住每次 nn.Module 调用（docs/modes/module_statistic.md）");
}

/* What to call in the program, where pipescope recorded it. */
static ps_code fail_recording(const ps_module_tree *t, size_t n_ops, size_t n_kernels,
                              ps_err *err) {
    const ps_said why =
        n_ops == 0 ? (ps_said){{"what they ran was not recorded", "没有录制其所运行的内容"}}
        : n_kernels == 0
            ? (ps_said){{"their operators have no times on a device", "其算子没有设备时间"}}
            : (ps_said){{"no operator is linked to a kernel", "没有算子与核函数关联"}};
    if (t->source == PS_MODULES_RANGE) {
        return ps_fail_said(err, PS_NOTHING, ONLY_OTHER_RANGES ": " HOW_RECORDED,
                            ONLY_OTHER_RANGES_ZH "：" HOW_RECORDED_ZH);
    }
    return ps_fail_said(
        err, PS_NOTHING,
        "modules are marked, and %s%.0s: record operators with pipescope.record_ops() (in C: "
        "ps_record_op_begin), or kernels with pipescope record --backend cupti",
        "已标出模块，但%.0s%s：请用 pipescope.record_ops() 录制算子（C 中为 ps_record_op_begin），或用 "
        "pipescope record --backend cupti 录制核函数",
        why.in[PS_ENGLISH], why.in[PS_CHINESE]);
}

static ps_code check_launches(const ps_module_tree *t, const ps_slices *s, ps_err *err) {
    if (t->n_kernels > 0) {
        return PS_OK;
    }
    size_t n_ops = 0;
    size_t n_kernels = 0;
    size_t n_flows = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n_ops += s->kind[i] == PS_SLICE_HOST_OP;
        n_kernels += ps_is_launched(s->kind[i]) && s->kind[i] != PS_SLICE_MARK_DEVICE;
    }
    (void)ps_trace_flows(t->links->trace, &n_flows);
    if (ps_trace_is_recording(t->links->trace)) {
        return fail_recording(t, n_ops, n_kernels, err);
    }
    const ps_said missing =
        n_ops == 0
            ? (ps_said){{"the profile has no framework operators (Ascend: PYTORCH_API is empty)",
                         "采集数据中没有框架算子（昇腾：PYTORCH_API 为空）"}}
        : n_kernels == 0 ? (ps_said){{"the profile has no kernels (Ascend: TASK is empty)",
                                      "采集数据中没有核函数（昇腾：TASK 为空）"}}
        : n_flows == 0
            ? (ps_said){{"no operator is linked to a kernel (Ascend: CONNECTION_IDS is empty)",
                         "没有算子与核函数关联（昇腾：CONNECTION_IDS 为空）"}}
            : (ps_said){
                  {"no flow leads from an operator to a kernel (Ascend: CONNECTION_IDS and PYTORCH_API "
                   "do not agree)",
                   "没有从算子到核函数的关联（昇腾：CONNECTION_IDS 与 PYTORCH_API 不一致）"}};
    bool are_marked = t->source != PS_MODULES_RANGE;
    return ps_fail_said(
        err, PS_NOTHING,
        "%s%.0s: %s%.0s, and what they ran is not known; record with activities of both the CPU and the device",
        "%.0s%s：%.0s%s，但其所运行的内容未知；请同时采集 CPU 与设备", missing.in[PS_ENGLISH],
        missing.in[PS_CHINESE], are_marked ? "modules are marked" : ONLY_OTHER_RANGES,
        are_marked ? "已标出模块" : ONLY_OTHER_RANGES_ZH);
}

ps_code ps_module_tree_build(ps_module_tree *t, const ps_links *links, bool marks_too,
                             ps_err *err) {
    const ps_slices *s = ps_trace_slices(links->trace);
    building b = {.t = t, .s = s};
    *t = (ps_module_tree){.links = links};
    (void)ps_trace_tracks(links->trace, &b.n_tracks);
    ps_idmap_init(&b.nodes);
    ps_str domain = PS_STR_NONE;
    bool ok = ps_strpool_init(&t->names);
    ps_code code = ok ? choose_source(t, marks_too, &domain, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        t->call_of = new_module_column(s->n);
        b.top = new_module_column(b.n_tracks);
        b.current = new_module_column(b.n_tracks);
        ok = t->call_of != NULL && b.top != NULL && b.current != NULL && list_kernels(t, s);
        code = ok ? check_launches(t, s, err) : ps_fail_nomem(err);
    }
    code = code == PS_OK ? ps_module_pairs_find(links->trace, &b.pairs, err) : code;
    if (code == PS_OK) {
        t->n_pairs = b.pairs.n;
        ok = find_marked(&b, domain) && find_backward(&b);
        forget_open(&b);
        ok = ok && place_all(&b) && list_ops(t, s);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_idmap_fini(&b.nodes);
    ps_module_pairs_fini(&b.pairs);
    ps_free(b.top);
    ps_free(b.current);
    ps_free(b.first_of_call);
    return code;
}

void ps_module_tree_fini(ps_module_tree *t) {
    ps_strpool_fini(&t->names);
    ps_free(t->nodes);
    ps_free(t->calls);
    ps_free(t->call_of);
    ps_free(t->ops);
    ps_free(t->kernels);
    ps_free(t->first_kernel);
    *t = (ps_module_tree){0};
}

/* --- paths ------------------------------------------------------------------------------------------------------ */

/* Written from its end; a path that is too long keeps its last names, and "..." says so. */
void ps_module_path(const ps_module_tree *t, uint32_t node, char *out, size_t size) {
    size_t at = size - 1;
    out[at] = '\0';
    for (uint32_t n = node; n != PS_NONE; n = t->nodes[n].parent) {
        size_t length = ps_strpool_len(&t->names, t->nodes[n].name);
        size_t slash = n != node;
        if (length + slash + 3 > at) {
            at -= 3;
            memcpy(out + at, "...", 3);
            break;
        }
        at -= slash;
        if (slash != 0) {
            out[at] = '/';
        }
        at -= length;
        memcpy(out + at, ps_strpool_get(&t->names, t->nodes[n].name), length);
    }
    size_t end = size - 1;
    while (out[at] == '/') {
        at++;
    }
    while (end > at && out[end - 1] == '/') {
        end--;
    }
    memmove(out, out + at, end - at);
    out[end - at] = '\0';
}
