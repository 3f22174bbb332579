/* Slices come by start, longer first: on each thread a stack of those that are open. What of a slice lies below it is taken off its own
 * time when what is below comes, so that nothing has to be known of where a slice ends. */
#include "analyze/modules/call_tree.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

#define LOOK_EVERY 4096 /* slices between looks at the watch */

const char *ps_call_kind_name(uint8_t kind) {
    static const char *const NAMES[] = {"all", "step", "module", "pass", "unknown", "others"};
    return kind < PS_N_SLICE_KINDS ? ps_slice_kind_name((ps_slice_kind)kind)
                                   : NAMES[kind - PS_CALL_ALL];
}

/* --- nodes --------------------------------------------------------------------------------------------------------------- */

/* The node of that place, made where there is none; PS_NONE when memory is out. */
static uint32_t call_child(ps_call_tree *t, uint32_t parent, ps_str name, uint8_t kind) {
    const uint32_t place[3] = {parent, name.id, kind};
    uint64_t hash = ps_hash64_seeded(place, sizeof place);
    for (;; hash++) {
        uint32_t at = ps_idmap_get(&t->places, hash);
        if (at == PS_IDMAP_NONE) {
            break;
        }
        const ps_call_node *x = &t->nodes[at];
        if (x->parent == parent && ps_str_eq(x->name, name) && x->kind == kind) {
            return at;
        }
    }
    bool ok = !ps_str_is_none(name) &&
              ps_grow(&t->nodes, &t->cap, t->n + 1, PS_NONE - 1, sizeof *t->nodes) &&
              ps_idmap_put(&t->places, hash, (uint32_t)t->n);
    if (!ok) {
        return PS_NONE;
    }
    t->nodes[t->n] = (ps_call_node){
        .parent = parent, .name = name, .kind = kind, .longest_ns = -1, .longest = PS_NONE};
    return (uint32_t)t->n++;
}

static ps_str name_in_calls(ps_call_tree *t, const char *text) {
    return ps_strpool_add(&t->names, text, strlen(text));
}

/* An empty tree has its root. */
static bool begin_calls(ps_call_tree *t) {
    if (t->n > 0) {
        return true;
    }
    *t = (ps_call_tree){0};
    return ps_strpool_init(&t->names) &&
           call_child(t, PS_NONE, name_in_calls(t, "(all)"), PS_CALL_ALL) == 0;
}

void ps_call_tree_fini(ps_call_tree *t) {
    ps_strpool_fini(&t->names);
    ps_free(t->nodes);
    ps_idmap_fini(&t->places);
    *t = (ps_call_tree){0};
}

static void add_call_times(int64_t to[PS_N_CALL_TIMES], const int64_t from[PS_N_CALL_TIMES]) {
    for (int k = 0; k < PS_N_CALL_TIMES; k++) {
        to[k] = ps_i64_plus(to[k], from[k]);
    }
}

static void add_call_totals(ps_call_tree *t) {
    for (size_t i = 0; i < t->n; i++) {
        memcpy(t->nodes[i].total_ns, t->nodes[i].self_ns, sizeof t->nodes[i].total_ns);
    }
    for (size_t i = t->n; i-- > 1;) {
        add_call_times(t->nodes[t->nodes[i].parent].total_ns, t->nodes[i].total_ns);
    }
}

static void take_longest(ps_call_node *to, const ps_call_node *from) {
    if (from->longest_ns > to->longest_ns) {
        to->longest_ns = from->longest_ns;
        to->longest_start_ns = from->longest_start_ns;
        to->longest_rank = from->longest_rank;
        to->longest = from->longest;
    }
}

/* --- building ------------------------------------------------------------------------------------------------------------ */

/* A slice of the host that counts and may have others below it. */
typedef struct open_call {
    uint32_t slice, node, below; /* below: place in the list of open ones, PS_NONE */
    int64_t until_ns;            /* what lies inside of it covers it up to here */
    int64_t end_ns;              /* of what counts of it */
} open_call;

typedef struct calling {
    ps_call_tree *t;
    const ps_call_ask *ask;
    const ps_slices *s;
    uint32_t *node_of; /* [n_slices]: of host ranges their place; PS_NONE: not looked for */
    ps_str *own_name;  /* [n_texts of the trace]: in the tree's pool */
    uint32_t *top;     /* [n_tracks]: place of the innermost open one */
    open_call *open;   /* those that are closed are used again */
    size_t n_open, cap_open;
    uint32_t free_open;
    uint32_t *chain; /* slices from the inside out, for one place */
    size_t cap_chain;
    bool has_comm_ops;
    uint32_t
        unknown; /* node of what is launched by nothing known, or outside of modules; PS_NONE: not made */
} calling;

static ps_str call_name_of(calling *c, ps_str name) {
    ps_str *own = &c->own_name[name.id];
    if (ps_str_is_none(*own)) {
        const char *text = ps_trace_text(c->ask->links->trace, name);
        *own = ps_strpool_add(&c->t->names, text, ps_trace_text_len(c->ask->links->trace, name));
    }
    return *own;
}

/* Whether a range is that of a step: it begins and ends with it. */
static bool is_step_range(const calling *c, uint32_t slice) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(c->ask->links->trace, &n);
    uint8_t kind = c->s->kind[slice];
    if (n == 0 || (kind != PS_SLICE_ANNOTATION && kind != PS_SLICE_MARK_HOST)) {
        return false;
    }
    int64_t start_ns = c->s->start_ns[slice];
    PS_PLACE(size_t, low, 0, n, middle, steps[middle].start_ns < start_ns)
    for (; low < n && steps[low].start_ns == start_ns; low++) {
        if (steps[low].end_ns == ps_slice_end(c->s, slice)) {
            return true;
        }
    }
    return false;
}

static uint32_t child_of_slice(calling *c, uint32_t parent, uint32_t slice) {
    return is_step_range(c, slice)
               ? call_child(c->t, parent, name_in_calls(c->t, "step"), PS_CALL_STEP)
               : call_child(c->t, parent, call_name_of(c, c->s->name[slice]), c->s->kind[slice]);
}

static uint32_t unknown_call(calling *c) {
    if (c->unknown == PS_NONE) {
        const char *text =
            c->ask->modules != NULL ? "(outside of modules)" : "(launched by nothing known)";
        c->unknown = call_child(c->t, 0, name_in_calls(c->t, text), PS_CALL_UNKNOWN);
    }
    return c->unknown;
}

/* The place by callers: that of the slice around it, and its own name. Those around it are looked for first, whether they count or not. */
static uint32_t caller_place(calling *c, uint32_t slice) {
    const uint32_t *parent = c->ask->links->parent;
    size_t n = 0;
    for (uint32_t at = slice; at != PS_NONE && c->node_of[at] == PS_NONE; at = parent[at]) {
        if (!ps_grow(&c->chain, &c->cap_chain, n + 1, UINT32_MAX, sizeof *c->chain)) {
            return PS_NONE;
        }
        c->chain[n++] = at;
    }
    while (n > 0) {
        uint32_t at = c->chain[--n];
        uint32_t around = parent[at] != PS_NONE ? c->node_of[parent[at]] : 0;
        c->node_of[at] = child_of_slice(c, around, at);
        if (c->node_of[at] == PS_NONE) {
            return PS_NONE;
        }
    }
    return c->node_of[slice];
}

static uint32_t module_node_place(calling *c, uint32_t node) {
    const ps_module_node *nodes = c->ask->modules->nodes;
    size_t n = 0;
    for (uint32_t at = node; at != PS_NONE; at = nodes[at].parent) {
        if (!ps_grow(&c->chain, &c->cap_chain, n + 1, UINT32_MAX, sizeof *c->chain)) {
            return PS_NONE;
        }
        c->chain[n++] = at;
    }
    uint32_t place = 0;
    while (n > 0 && place != PS_NONE) {
        const char *name = ps_strpool_get(&c->ask->modules->names, nodes[c->chain[--n]].name);
        place = call_child(c->t, place, name_in_calls(c->t, name), PS_CALL_MODULE);
    }
    return place;
}

/* The place by modules: the call of a module that it, or what is around it, belongs to; below that the pass, and of operators the
 * outermost one of the call. */
static uint32_t module_place(calling *c, uint32_t slice) {
    static const char *const PASSES[] = {"forward", "recompute", "backward"};
    const ps_module_tree *m = c->ask->modules;
    uint32_t at = slice;
    while (at != PS_NONE && m->call_of[at] == PS_NONE) {
        at = c->ask->links->parent[at];
    }
    if (at == PS_NONE) {
        uint32_t unknown = unknown_call(c);
        return unknown != PS_NONE ? child_of_slice(c, unknown, slice) : PS_NONE;
    }
    const ps_module_call *call = &m->calls[m->call_of[at]];
    uint32_t place = module_node_place(c, call->node);
    place = place != PS_NONE
                ? call_child(c->t, place, name_in_calls(c->t, PASSES[call->pass]), PS_CALL_PASS)
                : PS_NONE;
    bool is_op = c->s->kind[at] == PS_SLICE_HOST_OP || c->s->kind[at] == PS_SLICE_CALL;
    return place != PS_NONE && is_op ? child_of_slice(c, place, at) : place;
}

static uint32_t host_place(calling *c, uint32_t slice) {
    if (c->ask->modules == NULL) {
        return caller_place(c, slice);
    }
    if (c->node_of[slice] == PS_NONE) {
        c->node_of[slice] = module_place(c, slice);
    }
    return c->node_of[slice];
}

static void count_call(calling *c, uint32_t node, uint32_t slice, int time, int64_t inside_ns) {
    ps_call_node *x = &c->t->nodes[node];
    x->self_ns[time] = ps_i64_plus(x->self_ns[time], inside_ns);
    x->n++;
    const ps_call_node own = {.longest_ns = c->s->dur_ns[slice],
                              .longest_start_ns = ps_i64_plus(
                                  ps_trace_origin_ns(c->ask->links->trace), c->s->start_ns[slice]),
                              .longest_rank = c->ask->rank,
                              .longest = slice};
    take_longest(x, &own);
    if (c->ask->node_of != NULL) {
        c->ask->node_of[slice] = node;
    }
}

static bool open_host_call(calling *c, uint32_t slice, uint32_t node, int64_t start_ns,
                           int64_t end_ns) {
    uint32_t at = c->free_open;
    if (at != PS_NONE) {
        c->free_open = c->open[at].below;
    } else if (ps_grow(&c->open, &c->cap_open, c->n_open + 1, PS_NONE - 1, sizeof *c->open)) {
        at = (uint32_t)c->n_open++;
    } else {
        return false;
    }
    uint32_t *top = &c->top[c->s->track[slice]];
    c->open[at] = (open_call){slice, node, *top, start_ns, end_ns};
    *top = at;
    return true;
}

/* What begins inside of another one and outlasts it has the time of both: no moment of a thread counts twice. */
static void take_crossed(calling *c, const open_call *closed, int64_t start_ns) {
    int64_t from_ns = ps_larger(closed->until_ns, start_ns);
    if (closed->end_ns > from_ns) {
        int64_t *self_ns = &c->t->nodes[closed->node].self_ns[PS_CALLS_HOST];
        *self_ns = ps_i64_minus(*self_ns, closed->end_ns - from_ns);
    }
}

/* Closes what ended before, as ps_links finds what is around a slice. */
static open_call *tree_call_around(calling *c, uint32_t slice, int64_t start_ns) {
    uint32_t *top = &c->top[c->s->track[slice]];
    int64_t end_ns = ps_slice_end(c->s, slice);
    while (*top != PS_NONE && ps_slice_end(c->s, c->open[*top].slice) < end_ns) {
        uint32_t closed = *top;
        take_crossed(c, &c->open[closed], start_ns);
        *top = c->open[closed].below;
        c->open[closed].below = c->free_open;
        c->free_open = closed;
    }
    return *top != PS_NONE ? &c->open[*top] : NULL;
}

static bool take_host_call(calling *c, uint32_t slice, int64_t start_ns, int64_t end_ns) {
    uint32_t node = host_place(c, slice);
    if (node == PS_NONE) {
        return false;
    }
    open_call *around = tree_call_around(c, slice, start_ns);
    if (around != NULL) {
        int64_t from_ns = ps_larger(around->until_ns, start_ns);
        int64_t below_ns = end_ns > from_ns ? end_ns - from_ns : 0;
        ps_call_node *x = &c->t->nodes[around->node];
        x->self_ns[PS_CALLS_HOST] = ps_i64_plus(x->self_ns[PS_CALLS_HOST], -below_ns);
        around->until_ns = ps_larger(around->until_ns, end_ns);
    }
    count_call(c, node, slice, PS_CALLS_HOST, end_ns - start_ns);
    return open_host_call(c, slice, node, start_ns, end_ns);
}

static bool take_launched(calling *c, uint32_t slice, int64_t inside_ns) {
    uint32_t by = ps_module_launcher(c->ask->links, slice);
    bool is_job = c->s->kind[slice] == PS_SLICE_JOB;
    uint32_t parent = by != PS_NONE ? host_place(c, by) : is_job ? 0 : unknown_call(c);
    uint32_t node = parent != PS_NONE ? child_of_slice(c, parent, slice) : PS_NONE;
    if (node != PS_NONE) {
        count_call(c, node, slice, PS_CALLS_DEVICE, inside_ns);
    }
    return node != PS_NONE;
}

static bool take_tree_call(calling *c, uint32_t slice) {
    const ps_call_ask *ask = c->ask;
    bool is_host = ps_is_host_range(c->s->kind[slice]);
    bool counts = is_host || c->s->kind[slice] == PS_SLICE_JOB ||
                  ps_module_counts(ask->links, slice, c->has_comm_ops);
    int64_t start_ns = c->s->start_ns[slice];
    int64_t end_ns = ps_slice_end(c->s, slice);
    if (!counts || !ps_asked_span_cut(&ask->span, &start_ns, &end_ns) ||
        (ask->takes != NULL && !ask->takes(ask->context, slice)) ||
        !ps_links_in_step(ask->links, slice, is_host, ask->step)) {
        return true;
    }
    return is_host ? take_host_call(c, slice, start_ns, end_ns)
                   : take_launched(c, slice, end_ns - start_ns);
}

static uint32_t *new_places(size_t n) {
    uint32_t *places = ps_alloc((n + 1) * sizeof *places);
    for (size_t i = 0; places != NULL && i < n; i++) {
        places[i] = PS_NONE;
    }
    return places;
}

ps_code ps_call_tree_build(ps_call_tree *t, const ps_call_ask *ask, ps_err *err) {
    const ps_trace *trace = ask->links->trace;
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    *t = (ps_call_tree){0};
    calling c = {.t = t,
                 .ask = ask,
                 .s = ps_trace_slices(trace),
                 .own_name = ps_calloc(ps_trace_n_texts(trace) + 1, sizeof *c.own_name),
                 .top = new_places(n_tracks),
                 .free_open = PS_NONE,
                 .has_comm_ops = ps_module_has_comm_ops(trace),
                 .unknown = PS_NONE};
    c.node_of = new_places(c.s->n);
    for (uint32_t i = 0; ask->node_of != NULL && i < c.s->n; i++) {
        ask->node_of[i] = PS_NONE;
    }
    bool ok = begin_calls(t) && c.own_name != NULL && c.top != NULL && c.node_of != NULL;
    ps_code code = PS_OK;
    for (uint32_t i = 0; ok && code == PS_OK && i < c.s->n; i++) {
        code = i % LOOK_EVERY == 0 ? ps_watch_ask(ask->watch, err) : PS_OK;
        ok = code != PS_OK || take_tree_call(&c, i);
    }
    add_call_totals(t);
    ps_free(c.own_name);
    ps_free(c.top);
    ps_free(c.node_of);
    ps_free(c.open);
    ps_free(c.chain);
    return ok ? code : ps_fail_nomem(err);
}

/* --- of several, and from the bottom ------------------------------------------------------------------------------------- */

static ps_str name_from(ps_call_tree *t, const ps_call_tree *from, ps_str name) {
    return ps_strpool_add(&t->names, ps_strpool_get(&from->names, name),
                          ps_strpool_len(&from->names, name));
}

bool ps_call_tree_add(ps_call_tree *t, const ps_call_tree *other) {
    uint32_t *there = new_places(other->n);
    bool ok = there != NULL && begin_calls(t);
    for (size_t i = 0; ok && i < other->n; i++) {
        const ps_call_node *x = &other->nodes[i];
        there[i] =
            i == 0 ? 0 : call_child(t, there[x->parent], name_from(t, other, x->name), x->kind);
        ok = there[i] != PS_NONE;
        if (ok) {
            add_call_times(t->nodes[there[i]].self_ns, x->self_ns);
            add_call_times(t->nodes[there[i]].total_ns, x->total_ns);
            t->nodes[there[i]].n += x->n;
            take_longest(&t->nodes[there[i]], x);
        }
    }
    ps_free(there);
    return ok;
}

bool ps_call_tree_turned(ps_call_tree *t, const ps_call_tree *from, uint32_t *last) {
    *t = (ps_call_tree){0};
    bool ok = begin_calls(t);
    for (size_t i = 0; ok && i < from->n; i++) {
        const ps_call_node *x = &from->nodes[i];
        uint32_t place = 0;
        for (size_t at = i; ok && x->n > 0 && at != 0; at = from->nodes[at].parent) {
            const ps_call_node *caller = &from->nodes[at];
            place = call_child(t, place, name_from(t, from, caller->name), caller->kind);
            ok = place != PS_NONE;
            if (ok) {
                t->nodes[place].n += x->n;
                take_longest(&t->nodes[place], x);
            }
        }
        if (ok && x->n > 0) {
            add_call_times(t->nodes[place].self_ns, x->self_ns);
        }
        if (last != NULL) {
            last[i] = x->n > 0 ? place : PS_NONE;
        }
    }
    add_call_totals(t);
    for (size_t i = 1; i < t->n; i++) { /* the time is the name's own, and none of its callers' */
        ps_call_node *x = &t->nodes[i];
        for (int k = 0; k < PS_N_CALL_TIMES; k++) {
            x->self_ns[k] = x->parent == 0 ? x->total_ns[k] : 0;
        }
    }
    return ok;
}

static void call_node_archive(ps_archive *a, void *node) {
    ps_call_node *x = node;
    PS_ARCHIVE(a, x, parent, name, n, longest_ns, longest_start_ns, longest_rank, longest);
    PS_ARCHIVE_BELOW(a, x, kind, PS_N_CALL_KINDS);
    PS_ARCHIVE_EACH(a, x, self_ns);
    PS_ARCHIVE_EACH(a, x, total_ns);
}

/* A tree that was read is only added to others, which needs no map of its places. */
void ps_call_tree_archive(ps_archive *a, void *tree) {
    ps_call_tree *x = tree;
    ps_strpool *before = ps_archive_use_pool(a, &x->names);
    PS_ARCHIVE_ARRAY(a, x, nodes, n, call_node_archive);
    (void)ps_archive_use_pool(a, before);
    for (size_t i = 0; ps_archive_is_reading(a) && i < x->n; i++) {
        bool fits = i == 0 ? x->nodes[i].parent == PS_NONE : x->nodes[i].parent < i;
        if (!fits) {
            x->nodes[i].parent = i == 0 ? PS_NONE : 0;
            ps_archive_refuse(a, "parent");
        }
    }
}

/* --- as rows ------------------------------------------------------------------------------------------------------------- */

#define FEW_ROWS 2000 /* up to here every node has a row */
#define SMALLEST_PART 20000

/* A node among its siblings. */
typedef struct placed_call {
    uint32_t parent, node;
    int64_t device_ns, host_ns;
    const char *name;
    int64_t kind;
} placed_call;

static const ps_sort_key BY_TIME[] = {PS_UP(placed_call, parent), PS_DOWN(placed_call, device_ns),
                                      PS_DOWN(placed_call, host_ns), PS_UP(placed_call, name),
                                      PS_UP(placed_call, kind)};

typedef struct putting {
    const ps_call_tree *t;
    ps_table *table;
    placed_call *placed;                    /* [n - 1], children of a node beside one another */
    int64_t *n_below;                       /* [n] slices of a node and all below it */
    int64_t (*self_below)[PS_N_CALL_TIMES]; /* [n] their own times */
    int64_t *depth;                         /* [n] */
    uint32_t *stack; /* nodes whose rows are to come; from t->n on places in `others` */
    size_t n_stack, cap_stack;
    ps_call_row *others; /* rows that are no nodes, numbered behind those */
    size_t n_others, cap_others;
} putting;

static bool has_own_row(const putting *p, uint32_t node) {
    bool is_large = p->t->n <= FEW_ROWS;
    for (int k = 0; k < PS_N_CALL_TIMES; k++) {
        int64_t least_ns = p->t->nodes[0].total_ns[k] / SMALLEST_PART;
        is_large = is_large || p->t->nodes[node].total_ns[k] > least_ns;
    }
    return is_large;
}

static void put_call(putting *p, uint32_t node) {
    const ps_call_node *x = &p->t->nodes[node];
    bool any = x->longest_ns >= 0;
    ps_table_put(p->table,
                 &(ps_call_row){
                     .node = node,
                     .parent = x->parent != PS_NONE ? x->parent : PS_UNKNOWN_INT,
                     .depth = p->depth[node],
                     .name = ps_strpool_get(&p->t->names, x->name),
                     .kind = ps_call_kind_name(x->kind),
                     .host_ns = x->total_ns[PS_CALLS_HOST],
                     .host_self_ns = x->self_ns[PS_CALLS_HOST],
                     .device_ns = x->total_ns[PS_CALLS_DEVICE],
                     .device_self_ns = x->self_ns[PS_CALLS_DEVICE],
                     .n = x->n,
                     .longest_ns = any ? x->longest_ns : PS_UNKNOWN_INT,
                     .longest_start_ns = any ? x->longest_start_ns : PS_UNKNOWN_INT,
                     .longest_rank = any && x->longest_rank >= 0 ? x->longest_rank : PS_UNKNOWN_INT,
                     .slice = any ? x->longest : PS_UNKNOWN_INT,
                 });
}

/* The row of those that have none of their own: the last one below their parent. */
static bool keep_other_calls(putting *p, uint32_t parent, const ps_call_row *sums) {
    ps_call_row row = *sums;
    row.node = (int64_t)(p->t->n + p->n_others);
    row.parent = parent;
    row.depth = p->depth[parent] + 1;
    row.name = "(others)";
    row.kind = ps_call_kind_name(PS_CALL_OTHERS);
    row.longest_ns = row.longest_start_ns = row.longest_rank = row.slice = PS_UNKNOWN_INT;
    return PS_ADD(p->others, p->n_others, p->cap_others, UINT32_MAX, row) &&
           PS_ADD(p->stack, p->n_stack, p->cap_stack, UINT32_MAX, (uint32_t)row.node);
}

/* The rows of a node's children come after its own; those without one are summed up. */
static bool go_below(putting *p, uint32_t node) {
    size_t n = p->t->n - 1;
    const placed_call like = {.parent = node, .device_ns = INT64_MAX, .host_ns = INT64_MAX};
    size_t first = ps_lower_bound_by(p->placed, n, sizeof like, &like, PS_KEYS(BY_TIME));
    size_t end = first;
    ps_call_row others = {0};
    size_t first_on_stack = p->n_stack;
    for (; end < n && p->placed[end].parent == node; end++) {
        uint32_t child = p->placed[end].node;
        p->depth[child] = p->depth[node] + 1;
        if (!has_own_row(p, child)) {
            const ps_call_node *x = &p->t->nodes[child];
            others.host_ns += x->total_ns[PS_CALLS_HOST];
            others.device_ns += x->total_ns[PS_CALLS_DEVICE];
            others.host_self_ns += p->self_below[child][PS_CALLS_HOST];
            others.device_self_ns += p->self_below[child][PS_CALLS_DEVICE];
            others.n += p->n_below[child];
        } else if (!PS_ADD(p->stack, p->n_stack, p->cap_stack, UINT32_MAX, child)) {
            return false;
        }
    }
    if (others.n > 0 && !keep_other_calls(p, node, &others)) {
        return false;
    }
    for (size_t a = first_on_stack, b = p->n_stack; a + 1 < b; a++) { /* the largest on top */
        b--;
        uint32_t swap = p->stack[a];
        p->stack[a] = p->stack[b];
        p->stack[b] = swap;
    }
    return true;
}

static bool place_calls(putting *p) {
    const ps_call_tree *t = p->t;
    for (size_t i = 1; i < t->n; i++) {
        const ps_call_node *x = &t->nodes[i];
        p->placed[i - 1] = (placed_call){.parent = x->parent,
                                         .node = (uint32_t)i,
                                         .device_ns = x->total_ns[PS_CALLS_DEVICE],
                                         .host_ns = x->total_ns[PS_CALLS_HOST],
                                         .name = ps_strpool_get(&t->names, x->name),
                                         .kind = x->kind};
    }
    for (size_t i = t->n; i-- > 0;) {
        p->n_below[i] += t->nodes[i].n;
        add_call_times(p->self_below[i], t->nodes[i].self_ns);
        if (i > 0) {
            p->n_below[t->nodes[i].parent] += p->n_below[i];
            add_call_times(p->self_below[t->nodes[i].parent], p->self_below[i]);
        }
    }
    ps_sort_by(p->placed, t->n - 1, sizeof *p->placed, PS_KEYS(BY_TIME));
    return PS_ADD(p->stack, p->n_stack, p->cap_stack, UINT32_MAX, 0);
}

void ps_call_tree_put(const ps_call_tree *t, ps_table *table) {
    putting p = {.t = t, .table = table};
    p.placed = ps_calloc(t->n + 1, sizeof *p.placed);
    p.n_below = ps_calloc(t->n + 1, sizeof *p.n_below);
    p.self_below = ps_calloc(t->n + 1, sizeof *p.self_below);
    p.depth = ps_calloc(t->n + 1, sizeof *p.depth);
    bool ok = t->n == 0 || (p.placed != NULL && p.n_below != NULL && p.self_below != NULL &&
                            p.depth != NULL && place_calls(&p));
    while (ok && p.n_stack > 0) {
        uint32_t node = p.stack[--p.n_stack];
        if (node >= t->n) {
            ps_table_put(table, &p.others[node - t->n]);
        } else {
            put_call(&p, node);
            ok = go_below(&p, node);
        }
    }
    if (!ok) {
        ps_table_fail(table);
    }
    ps_free(p.placed);
    ps_free(p.n_below);
    ps_free(p.self_below);
    ps_free(p.depth);
    ps_free(p.stack);
    ps_free(p.others);
}
