/* overall: where the time of the device goes, as a tree; leaf: the slices behind one of its leaves.
 *
 * Computing, Communication(Not Overlapped), Free and what lies before and after the work of steps are those of overlap.h, and E2E
 * their sum: what steps take of the device. Below computing stand the
 * classes of kernels (kernel_class.h), below communication the communicators. Each moment is handed to one slice
 * (view_time.h): leaves add up to what stands above them. The plain sum of the slices' times stands beside. */
#include <math.h>
#include <string.h>

#include "analyze/rank/kernel_class.h"
#include "analyze/rank/overlap.h"
#include "analyze/views/view_comm_split.h"
#include "analyze/views/view_time.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"

static const char COMPUTING[] = "Computing";
static const char EXPOSED[] = "Communication(Not Overlapped)";
static const char OUTSIDE[] = "Outside of all steps";

/* --- tallies --------------------------------------------------------------------------------------------------------- */

typedef struct tally {
    int64_t total_ns; /* each moment once */
    int64_t n, sum_ns, min_ns, max_ns;
} tally;

static void count_overall(tally *t, int64_t share_ns, int64_t time_ns) {
    t->total_ns = ps_i64_plus(t->total_ns, share_ns);
    t->sum_ns = ps_i64_plus(t->sum_ns, time_ns);
    t->min_ns = t->n == 0 || time_ns < t->min_ns ? time_ns : t->min_ns;
    t->max_ns = t->n == 0 || time_ns > t->max_ns ? time_ns : t->max_ns;
    t->n++;
}

static void join_overall(tally *to, const tally *from) {
    if (from->n == 0) {
        return;
    }
    to->total_ns = ps_i64_plus(to->total_ns, from->total_ns);
    to->sum_ns = ps_i64_plus(to->sum_ns, from->sum_ns);
    to->min_ns = to->n == 0 || from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
    to->max_ns = to->n == 0 || from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
    to->n += from->n;
}

typedef struct gathering {
    const ps_view_input *in;
    const ps_slices *s;
    ps_classifier classes;
    ps_comm_split split;
    tally computing[PS_N_CLASSES];
    tally *exposed; /* [split.n_groups], grows with it */
    size_t cap_exposed, n_exposed;
    tally outside;
} gathering;

static bool take_communication(gathering *g, const ps_time_piece *p) {
    size_t group = 0;
    if (!ps_comm_split_group(&g->split, p->slice, &group)) {
        return false;
    }
    while (g->n_exposed <= group) {
        if (!ps_grow(&g->exposed, &g->cap_exposed, g->n_exposed + 1, UINT32_MAX,
                     sizeof *g->exposed)) {
            return false;
        }
        g->exposed[g->n_exposed++] = (tally){0};
    }
    if (p->share_ns > 0) {
        count_overall(&g->exposed[group], p->share_ns, p->share_ns);
    }
    return ps_comm_split_add(&g->split, group, &g->in->overlaps->spans[p->overlap].computing,
                             p->start_ns, p->end_ns);
}

static bool take_piece(void *context, const ps_time_piece *p) {
    gathering *g = context;
    int64_t start = g->s->start_ns[p->slice];
    int64_t inside = ps_view_inside_ns(g->in, start, start + g->s->dur_ns[p->slice]);
    if (p->overlap == SIZE_MAX) {
        count_overall(&g->outside, p->share_ns, inside);
        return true;
    }
    if (p->part != PS_PART_COMPUTING) {
        return take_communication(g, p);
    }
    ps_kernel_class c;
    if (!ps_classify(&g->classes, p->slice, &c)) {
        return false;
    }
    count_overall(&g->computing[ps_kernel_class_number(c)], p->share_ns, inside);
    return true;
}

/* --- the tops -------------------------------------------------------------------------------------------------------- */

typedef struct tops {
    int64_t computing_ns, exposed_ns;
    tally gaps[PS_N_SHARES];
} tops;

/* `told_ns`: the sum as the overlap has it, where lanes of the profiler say so; used where all is asked for. */
static void add_gaps(const ps_view_input *in, tally *to, const ps_intervals *gaps,
                     int64_t told_ns) {
    tally sum = {0};
    for (size_t k = 0; k < gaps->n; k++) {
        int64_t gap = ps_view_inside_ns(in, gaps->at[k].start_ns, gaps->at[k].end_ns);
        if (gap > 0) {
            count_overall(&sum, gap, gap);
        }
    }
    sum.total_ns = ps_view_is_all(in) ? told_ns : sum.total_ns;
    join_overall(to, &sum);
}

static tops measure_tops(const ps_view_input *in) {
    tops t = {0};
    bool all = ps_view_is_all(in);
    for (size_t i = 0; i < in->overlaps->n; i++) {
        const ps_overlap *o = &in->overlaps->at[i];
        const ps_overlap_spans *x = &in->overlaps->spans[i];
        int64_t computing =
            all ? o->computing_ns : ps_intervals_within_ns(&x->computing, in->from_ns, in->to_ns);
        int64_t exposed =
            all ? o->not_overlapped_ns
                : ps_intervals_within_ns(&x->busy, in->from_ns, in->to_ns) - computing;
        t.computing_ns = ps_i64_plus(t.computing_ns, computing);
        t.exposed_ns = ps_i64_plus(t.exposed_ns, exposed);
        add_gaps(in, &t.gaps[PS_SHARE_FREE], &x->free, o->free_ns);
        add_gaps(in, &t.gaps[PS_SHARE_BEFORE], &x->before, o->before_ns);
        add_gaps(in, &t.gaps[PS_SHARE_AFTER], &x->after, o->after_ns);
    }
    return t;
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

typedef struct part_row {
    const char *path, *name;
    int64_t level, total_ns;
    double percent, mean_ns;
    tally numbers; /* all unknown: only the total is told */
} part_row;

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(part_row, member), .unit = PS_UNIT_NS }
static const ps_column COLUMNS[] = {
    {.name = "path", PS_FIELD(part_row, path)},
    {.name = "level", PS_FIELD(part_row, level)},
    {.name = "name", PS_FIELD(part_row, name)},
    NS("total", total_ns),
    {.name = "ratio", PS_FIELD(part_row, percent), .unit = PS_UNIT_PERCENT},
    {.name = "number", PS_FIELD(part_row, numbers.n), .unit = PS_UNIT_COUNT},
    NS("avg", mean_ns),
    NS("min", numbers.min_ns),
    NS("max", numbers.max_ns),
    NS("sum", numbers.sum_ns),
};

typedef struct writer {
    ps_table *table;
    ps_buf path;
    int64_t e2e_ns;
} writer;

/* `numbers` NULL: only the total. */
static void put_overall_row(writer *w, const char *path, const char *name, int64_t level,
                            int64_t total_ns, bool has_ratio, const tally *numbers) {
    const tally unknown = {PS_UNKNOWN_INT, PS_UNKNOWN_INT, PS_UNKNOWN_INT, PS_UNKNOWN_INT,
                           PS_UNKNOWN_INT};
    bool has_numbers = numbers != NULL && numbers->n > 0;
    bool is_share = has_ratio && w->e2e_ns > 0;
    ps_table_put(
        w->table,
        &(part_row){.path = path,
                    .name = name,
                    .level = level,
                    .total_ns = total_ns,
                    .percent = is_share ? 100 * (double)total_ns / (double)w->e2e_ns : NAN,
                    .mean_ns = has_numbers ? (double)numbers->sum_ns / (double)numbers->n : NAN,
                    .numbers = has_numbers ? *numbers : unknown});
}

static const char *overall_path_of(writer *w, const char *top, const char *const *names, size_t n) {
    ps_buf_clear(&w->path);
    ps_buf_add_str(&w->path, top);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&w->path, "/%s", names[i]);
    }
    if (!ps_buf_ok(&w->path)) {
        ps_table_fail(w->table);
    }
    return ps_buf_str(&w->path);
}

/* The tally of all classes that begin with these names. */
static tally overall_below(const tally *classes, const char *const *names, size_t n) {
    tally sum = {0};
    for (size_t k = 0; k < PS_N_CLASSES; k++) {
        const char *path[PS_CLASS_LEVELS];
        ps_kernel_class_path(ps_kernel_class_of_number(k), path);
        bool same = true;
        for (size_t i = 0; same && i < n; i++) {
            same = path[i] != NULL && strcmp(path[i], names[i]) == 0;
        }
        if (same) {
            join_overall(&sum, &classes[k]);
        }
    }
    return sum;
}

/* Classes come in the order of the tree: a row for each name that is new. */
static void put_classes(writer *w, const tally *classes) {
    const char *before[PS_CLASS_LEVELS] = {NULL};
    for (size_t k = 0; k < PS_N_CLASSES; k++) {
        if (classes[k].n == 0) {
            continue;
        }
        const char *path[PS_CLASS_LEVELS];
        ps_kernel_class_path(ps_kernel_class_of_number(k), path);
        bool is_new = false;
        for (size_t i = 0; i < PS_CLASS_LEVELS && path[i] != NULL; i++) {
            is_new = is_new || before[i] == NULL || strcmp(before[i], path[i]) != 0;
            if (is_new) {
                tally sum = overall_below(classes, path, i + 1);
                put_overall_row(w, overall_path_of(w, COMPUTING, path, i + 1), path[i],
                                (int64_t)i + 1, sum.total_ns, true, &sum);
            }
        }
        memcpy(before, path, sizeof before);
    }
}

static void put_groups(writer *w, const gathering *g) {
    for (size_t k = 0; k < g->n_exposed; k++) {
        const ps_comm_split_group_times *times = &g->split.groups[k];
        const char *names[2] = {times->name, NULL};
        if (g->exposed[k].n == 0) {
            continue;
        }
        put_overall_row(w, overall_path_of(w, EXPOSED, names, 1), times->name, 1,
                        g->exposed[k].total_ns, true, &g->exposed[k]);
        static const char *const PARTS[] = {"Transmit", "Only waiting", "No task"};
        const int64_t ns[] = {times->transmit_ns, times->wait_ns, times->idle_ns};
        for (size_t i = 0; times->has_tasks && i < 3; i++) {
            names[1] = PARTS[i];
            put_overall_row(w, overall_path_of(w, EXPOSED, names, 2), PARTS[i], 2, ns[i], true,
                            NULL);
        }
    }
}

static void put_all(writer *w, const gathering *g, const tops *t) {
    tally computing = overall_below(g->computing, NULL, 0);
    tally exposed = {0};
    for (size_t k = 0; k < g->n_exposed; k++) {
        join_overall(&exposed, &g->exposed[k]);
    }
    static const char *const ROUNDING[] = {"Rounding of the profiler"};
    put_overall_row(w, COMPUTING, COMPUTING, 0, t->computing_ns, true, &computing);
    put_classes(w, g->computing);
    if (t->computing_ns != computing.total_ns) {
        put_overall_row(w, overall_path_of(w, COMPUTING, ROUNDING, 1), ROUNDING[0], 1,
                        t->computing_ns - computing.total_ns, true, NULL);
    }
    put_overall_row(w, EXPOSED, EXPOSED, 0, t->exposed_ns, true, &exposed);
    put_groups(w, g);
    if (t->exposed_ns != exposed.total_ns) {
        put_overall_row(w, overall_path_of(w, EXPOSED, ROUNDING, 1), ROUNDING[0], 1,
                        t->exposed_ns - exposed.total_ns, true, NULL);
    }
    for (size_t k = 0; k < PS_N_SHARES; k++) {
        const tally *gaps = &t->gaps[k];
        if (k == PS_SHARE_FREE || gaps->n > 0) {
            put_overall_row(w, ps_share_names[k], ps_share_names[k], 0, gaps->total_ns, true, gaps);
        }
    }
    put_overall_row(w, "E2E", "E2E", 0, w->e2e_ns, true, NULL);
    if (g->outside.n > 0) {
        put_overall_row(w, OUTSIDE, OUTSIDE, 0, g->outside.total_ns, false, &g->outside);
    }
}

/* --- overall --------------------------------------------------------------------------------------------------------- */

static bool is_empty(const ps_view_input *in, ps_err *err) {
    if (in->overlaps->n > 0 && in->overlaps->knows_computing) {
        return false;
    }
    (void)ps_fail(err, PS_NOTHING,
                  in->overlaps->n > 0 ? PS_OVERLAP_NO_COMPUTING(in->lang)
                                      : PS_OVERLAP_NO_WORK(in->lang));
    return true;
}

static bool gather_overall(gathering *g) {
    bool ok = ps_classifier_init(&g->classes, g->in->links);
    ok = ok && ps_comm_split_init(&g->split, g->in);
    return ok && ps_time_walk(g->in, take_piece, g) && ps_comm_split_finish(&g->split);
}

static void gathering_fini(gathering *g) {
    ps_classifier_fini(&g->classes);
    ps_comm_split_fini(&g->split);
    ps_free(g->exposed);
}

static ps_table *make_overall(const ps_view_input *in, ps_err *err) {
    if (is_empty(in, err)) {
        return NULL;
    }
    gathering *g = ps_calloc(1, sizeof *g);
    writer w = {
        .table = ps_table_new("overall", "where the time of the device goes", PS_COLUMNS(COLUMNS))};
    ps_buf_init(&w.path, 0);
    if (g != NULL) {
        g->in = in;
        g->s = ps_trace_slices(in->trace);
    }
    if (g != NULL && gather_overall(g)) {
        tops t = measure_tops(in);
        w.e2e_ns = ps_i64_plus(t.computing_ns, t.exposed_ns);
        for (size_t k = 0; k < PS_N_SHARES; k++) {
            w.e2e_ns = ps_i64_plus(w.e2e_ns, t.gaps[k].total_ns);
        }
        put_all(&w, g, &t);
    } else {
        ps_table_fail(w.table);
    }
    if (g != NULL) {
        gathering_fini(g);
    }
    ps_free(g);
    ps_buf_fini(&w.path);
    return ps_view_end(w.table, true, "", err);
}

const ps_view ps_view_overall = {.name = "overall",
                                 .title = "Overall metrics",
                                 .tab = PS_TAB_TIMELINE,
                                 .uses = PS_VIEW_LINKS | PS_VIEW_OVERLAPS,
                                 .make = make_overall};

/* --- leaf ------------------------------------------------------------------------------------------------------------- */

typedef struct leaf_row {
    int64_t start_ns, dur_ns, share_ns;
    uint32_t slice; /* PS_NONE: a gap */
} leaf_row;

typedef struct leaf {
    const ps_trace *trace;
    const ps_slices *s;
    const char *gap; /* the name of gaps; NULL where slices are asked for */
    leaf_row *rows;
    size_t n, cap;
} leaf;

typedef struct leaf_search {
    const ps_view_input *in;
    const char *path;
    ps_classifier classes;
    ps_comm_split split;
    ps_buf text;
    uint8_t known[PS_N_CLASSES]; /* whether a class is wanted: 0 not asked yet, 1 no, 2 yes */
    leaf *out;
} leaf_search;

/* The name and the type are found when the row is read. */
typedef struct leaf_cells {
    const char *name, *type;
    leaf_row of;
} leaf_cells;

static const ps_column LEAF_COLUMNS[] = {
    {.name = "slice", PS_FIELD(leaf_cells, of.slice)},
    {.name = "name", PS_FIELD(leaf_cells, name)},
    {.name = "type", PS_FIELD(leaf_cells, type)},
    {.name = "start", PS_FIELD(leaf_cells, of.start_ns), .unit = PS_UNIT_NS},
    {.name = "duration", PS_FIELD(leaf_cells, of.dur_ns), .unit = PS_UNIT_NS},
    {.name = "share", PS_FIELD(leaf_cells, of.share_ns), .unit = PS_UNIT_NS},
};

static bool add_leaf_row(leaf *l, leaf_row row) {
    if (!ps_grow(&l->rows, &l->cap, l->n + 1, UINT32_MAX, sizeof *l->rows)) {
        return false;
    }
    l->rows[l->n++] = row;
    return true;
}

static bool is_at_or_below(const char *path, const char *above) {
    size_t n = strlen(above);
    return strncmp(path, above, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* What is below a communicator is a part of all its operators: they are listed for it, too. */
static bool is_overall_wanted(const leaf_search *x, const char *path) {
    return is_at_or_below(path, x->path) ||
           (is_at_or_below(path, EXPOSED) && is_at_or_below(x->path, path));
}

static bool wants_path(leaf_search *x, const char *top, const char *const *names, size_t n) {
    ps_buf_clear(&x->text);
    ps_buf_add_str(&x->text, top);
    for (size_t i = 0; i < n && names[i] != NULL; i++) {
        ps_buf_addf(&x->text, "/%s", names[i]);
    }
    return is_overall_wanted(x, ps_buf_str(&x->text));
}

static bool wants_class(leaf_search *x, ps_kernel_class c) {
    uint8_t *known = &x->known[ps_kernel_class_number(c)];
    if (*known == 0) {
        const char *names[PS_CLASS_LEVELS];
        ps_kernel_class_path(c, names);
        *known = wants_path(x, COMPUTING, names, PS_CLASS_LEVELS) ? 2 : 1;
    }
    return *known == 2;
}

/* False when memory is out. */
static bool wants_piece(leaf_search *x, const ps_time_piece *p, bool *out) {
    if (p->overlap == SIZE_MAX) {
        *out = strcmp(x->path, OUTSIDE) == 0;
    } else if (p->part == PS_PART_COMPUTING) {
        ps_kernel_class c;
        if (!ps_classify(&x->classes, p->slice, &c)) {
            return false;
        }
        *out = wants_class(x, c);
    } else {
        size_t group = 0;
        if (!ps_comm_split_group(&x->split, p->slice, &group)) {
            return false;
        }
        const char *const names[] = {x->split.groups[group].name};
        *out = p->share_ns > 0 && wants_path(x, EXPOSED, names, 1);
    }
    return ps_buf_ok(&x->text);
}

static bool take_leaf(void *context, const ps_time_piece *p) {
    leaf_search *x = context;
    const ps_slices *s = x->out->s;
    bool is_row = false;
    return wants_piece(x, p, &is_row) &&
           (!is_row || add_leaf_row(x->out, (leaf_row){s->start_ns[p->slice], s->dur_ns[p->slice],
                                                       p->share_ns, p->slice}));
}

/* Which time without work a path asks for; PS_N_SHARES: none. */
static size_t share_of_path(const char *path) {
    size_t k = 0;
    while (k < PS_N_SHARES && strcmp(path, ps_share_names[k]) != 0) {
        k++;
    }
    return k;
}

static bool take_gaps(const ps_view_input *in, size_t part, leaf *out) {
    bool ok = true;
    for (size_t i = 0; i < in->overlaps->n; i++) {
        const ps_overlap_spans *x = &in->overlaps->spans[i];
        const ps_intervals *const lists[PS_N_SHARES] = {&x->free, &x->before, &x->after};
        const ps_intervals *gaps = lists[part];
        for (size_t k = 0; ok && k < gaps->n; k++) {
            int64_t start = gaps->at[k].start_ns;
            int64_t end = gaps->at[k].end_ns;
            int64_t share = ps_view_inside_ns(in, start, end);
            ok = share == 0 || add_leaf_row(out, (leaf_row){start, end - start, share, PS_NONE});
        }
    }
    return ok;
}

static void fill_leaf(const void *context, size_t at, void *out) {
    const leaf *l = context;
    leaf_cells *row = out;
    uint32_t slice = l->rows[at].slice;
    *row = (leaf_cells){.name = l->gap, .of = l->rows[at]};
    if (slice != PS_NONE) {
        row->name = ps_text_or_null(ps_trace_text(l->trace, l->s->name[slice]));
        row->type = ps_text_or_null(ps_kernel_type(l->trace, slice));
    }
}

static void free_leaf(void *context) {
    leaf *l = context;
    if (l != NULL) {
        ps_free(l->rows);
        ps_free(l);
    }
}

static bool search_leaf(leaf_search *x) {
    return ps_classifier_init(&x->classes, x->in->links) && ps_comm_split_init(&x->split, x->in) &&
           ps_time_walk(x->in, take_leaf, x);
}

static ps_table *make_leaf(const ps_view_input *in, ps_err *err) {
    if (is_empty(in, err)) {
        return NULL;
    }
    leaf_search x = {.in = in, .path = ps_view_param_of(in, &ps_view_leaf, "leaf", err)};
    x.out = ps_calloc(1, sizeof *x.out);
    if (x.out == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    x.out->trace = in->trace;
    x.out->s = ps_trace_slices(in->trace);
    ps_buf_init(&x.text, 0);
    size_t share = share_of_path(x.path);
    x.out->gap = share < PS_N_SHARES ? ps_share_names[share] : NULL;
    bool ok = share < PS_N_SHARES ? take_gaps(in, share, x.out) : search_leaf(&x);
    ps_classifier_fini(&x.classes);
    ps_comm_split_fini(&x.split);
    ps_buf_fini(&x.text);
    if (!ok) {
        free_leaf(x.out);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_table *t =
        ps_table_new_made("leaf", "slices of one part", PS_COLUMNS(LEAF_COLUMNS), x.out->n,
                          (ps_row_maker){.fill = fill_leaf,
                                         .row_size = sizeof(leaf_cells),
                                         .context = x.out,
                                         .free_context = free_leaf});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

static const ps_view_param LEAF_PARAMS[] = {
    {"leaf", "column path of a row of the view overall; rows above a leaf give all below them", "",
     "Computing"}};

const ps_view ps_view_leaf = {.name = "leaf",
                              .title = "Slices of one part of the overall metrics",
                              .tab = PS_TAB_TIMELINE,
                              .uses = PS_VIEW_LINKS | PS_VIEW_OVERLAPS | PS_VIEW_ROWS,
                              .params = LEAF_PARAMS,
                              .n_params = sizeof LEAF_PARAMS / sizeof *LEAF_PARAMS,
                              .make = make_leaf};
