/* Kernels of one rank by type and shape. Names may carry running numbers ("Conv2D7") where the profile has types, so
 * the type stands for the name there. */
#include <ctype.h>
#include <string.h>

#include "analyze/mfu/mfu.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/rank/kernel_facts.h"
#include "analyze/rank/shapes.h"
#include "analyze/report/report_facts.h"
#include "analyze/report/report_pmu.h"
#include "analyze/stats/alike.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/strpool.h"
#include "model/kernel_name.h"

#define SLOW_TIMES 1.5 /* the rule kernel-varies */
#define MAX_KEPT 2000  /* kinds of kernels of a rank; the rest only counts in the sum */

typedef struct timed {
    uint32_t row;
    uint32_t from_longest; /* of its kind: how many are longer */
    ps_report_kernel_run run;
} timed;

typedef struct kernels {
    const ps_links *links;
    const ps_trace *trace;
    const ps_slices *s;
    const ps_mfu *mfu;
    ps_report_rank *out;
    ps_strpool texts; /* types and shapes */
    ps_idmap rows;    /* type, shape -> row */
    timed *all;
    size_t n, cap;
    ps_kernel_keys keys;
    ps_bounds *bounds;
    ps_classifier classifier;
    const ps_report_paying *paying;
    /* Conversions that pay by themselves, and those beside which only communication pays nothing; from the origin. */
    ps_intervals paying_conversions, lone_conversions;
    size_t gap;          /* of `paying`, behind the last conversion that does not pay */
    int64_t gap_used_ns; /* of it, by launches of conversions */
} kernels;

static const char *shapes_of(const kernels *k, uint32_t slice) {
    const char *text = ps_kernel_shapes(k->links, slice);
    return text != NULL ? text : "";
}

static const char *kernel_row_type_of(const kernels *k, uint32_t slice) {
    const char *type = ps_kernel_type(k->trace, slice);
    return type != NULL ? type : ps_trace_text(k->trace, k->s->name[slice]);
}

/* Whether one of the words of a text begins so; words are letters and digits. `whole`: it is that word. */
static bool has_word(const char *text, const char *word, bool whole) {
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && (!whole || !isalnum((unsigned char)at[n]))) {
            return true;
        }
    }
    return false;
}

/* GPUs multiply 32-bit floats as such or as TF32, at a peak of their own, which chips.def does not have. */
static bool is_wide_float(const kernels *k, uint32_t slice) {
    char plain[PS_KERNEL_NAME_BYTES];
    const char *name = ps_kernel_name_plain(ps_trace_text(k->trace, k->s->name[slice]), plain);
    uint32_t op = k->links->op[slice];
    const char *types = op != PS_NONE ? ps_trace_arg_text(k->trace, op, "Input type") : NULL;
    return k->out->vendor == PS_VENDOR_NVIDIA &&
           (has_word(name, "sgemm", false) || has_word(name, "s1688gemm", true) ||
            has_word(name, "tf32", false) || (types != NULL && has_word(types, "float", true)));
}

#define FLOPS_DIFFER 1.5 /* times, between a record and the shapes */

static void take_roofline(ps_kernel_flops f, int64_t dur_ns, ps_report_kernel *kind) {
    ps_roofline bound = ps_mfu_roofline(f);
    kind->bytes_s = f.bytes_s;
    if (bound == PS_ROOFLINE_MEMORY) {
        kind->memory_ns = ps_i64_plus(kind->memory_ns, dur_ns);
        kind->memory_bytes += f.bytes;
        kind->memory_flops += f.flops;
    } else if (bound == PS_ROOFLINE_UNKNOWN) {
        kind->unknown_roofline_ns = ps_i64_plus(kind->unknown_roofline_ns, dur_ns);
    }
}

/* Long lists of shapes are cut: they are for people. */
static const char *keep_kernel_row_text(kernels *k, const char *text) {
    size_t n = strlen(text);
    return ps_arena_strndup(&k->out->arena, text, n < 400 ? n : 400);
}

/* False when memory is out. */
static bool add_odd_flops(kernels *k, uint32_t slice, ps_kernel_flops f, ps_report_odd_flops *odd) {
    int64_t start_ns = k->out->origin_ns + k->s->start_ns[slice];
    double times = f.flops > f.shape_flops ? f.flops / f.shape_flops : f.shape_flops / f.flops;
    if (odd->n == 0 || start_ns < odd->start_ns) {
        odd->start_ns = start_ns;
        odd->dur_ns = k->s->dur_ns[slice];
        odd->step = ps_links_step(k->links, slice);
        odd->name = keep_kernel_row_text(k, ps_trace_text(k->trace, k->s->name[slice]));
    }
    odd->n++;
    odd->recorded += f.flops;
    odd->by_shapes += f.shape_flops;
    odd->times = times > odd->times ? times : odd->times;
    return odd->name != NULL;
}

/* False when memory is out. */
static bool add_flops(kernels *k, uint32_t slice, ps_report_kernel *kind) {
    ps_kernel_flops f = ps_mfu_of(k->mfu, slice);
    int64_t dur_ns = k->s->dur_ns[slice];
    bool is_odd = f.shape_flops > 0 && (f.flops > f.shape_flops * FLOPS_DIFFER ||
                                        f.shape_flops > f.flops * FLOPS_DIFFER);
    if (f.flops > 0 && is_odd) {
        return add_odd_flops(k, slice, f, &kind->odd);
    }
    if (f.flops > 0 && f.peak_flop_s > 0 && dur_ns > 0 && !is_wide_float(k, slice)) {
        kind->product = ps_mfu_product_of(k->mfu, slice);
        kind->attention =
            kind->attention.is_known ? kind->attention : ps_mfu_attention_of(k->mfu, slice);
        kind->n_flops++;
        kind->flops_ns = ps_i64_plus(kind->flops_ns, dur_ns);
        kind->flops += f.flops;
        kind->peak_flops += f.peak_flop_s * (double)dur_ns / 1e9;
        take_roofline(f, dur_ns, kind);
    }
    return true;
}

static bool is_aicpu(const kernels *k, uint32_t slice) {
    const char *type = ps_trace_arg_text(k->trace, slice, "taskType");
    return ps_core_is_aicpu(type);
}

/* Of databases, kernel_details.csv and op_summary.csv. */
static const char *input_types(const kernels *k, uint32_t slice) {
    const char *types = ps_trace_arg_text(k->trace, slice, "inputDataTypes");
    return types != NULL ? types : ps_trace_arg_text(k->trace, slice, "Input Data Types");
}

/* Databases hold shapes in quotes, which say nothing to people. */
static const char *keep_shapes(kernels *k, const char *text) {
    size_t n = strlen(text);
    bool quoted = n >= 2 && text[0] == '"' && text[n - 1] == '"';
    n = quoted ? n - 2 : n;
    return ps_arena_strndup(&k->out->arena, text + quoted, n < 400 ? n : 400);
}

/* Of a new kind: what its first kernel computes, and on what. */
static bool look_at_first(kernels *k, uint32_t slice, ps_report_kernel *kind) {
    uint32_t op = k->links->op[slice];
    ps_kernel_class kind_of = {0};
    const char *types = input_types(k, slice);
    types = types == NULL && op != PS_NONE ? ps_trace_arg_text(k->trace, op, "Input type") : types;
    bool ok = ps_classify(&k->classifier, slice, &kind_of);
    kind->family = (ps_kernel_family)kind_of.family;
    kind->is_vector = kind_of.core == PS_CORE_VECTOR;
    char first[64];
    kind->has_types = types != NULL && ps_list_item(types, 0, first, sizeof first) &&
                      ps_flop_type_of(first) != PS_FLOP_UNSAID;
    char type[64];
    for (size_t i = 0; types != NULL && ps_list_item(types, i, type, sizeof type); i++) {
        kind->is_wide = kind->is_wide || ps_is_wide_float(type);
    }
    return ok;
}

/* The row of the slice's kind, added when new; PS_NONE when memory is out. */
static uint32_t kernel_row_row_of(kernels *k, uint32_t slice) {
    const char *type = kernel_row_type_of(k, slice);
    const char *shapes = shapes_of(k, slice);
    ps_str t = ps_strpool_add(&k->texts, type, strlen(type));
    ps_str s = ps_strpool_add(&k->texts, shapes, strlen(shapes));
    if (ps_str_is_none(t) || ps_str_is_none(s)) {
        return PS_NONE;
    }
    uint64_t key = (uint64_t)t.id << 32 | s.id;
    uint32_t row = ps_idmap_get(&k->rows, key);
    ps_report_rank *r = k->out;
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    row = (uint32_t)r->n_kernels;
    if (!ps_grow(&r->kernels, &r->cap_kernels, r->n_kernels + 1, UINT32_MAX - 1,
                 sizeof *r->kernels) ||
        !ps_idmap_put(&k->rows, key, row)) {
        return PS_NONE;
    }
    r->kernels[r->n_kernels++] =
        (ps_report_kernel){.type = keep_kernel_row_text(k, type), .shapes = keep_shapes(k, shapes)};
    bool ok = r->kernels[row].type != NULL && r->kernels[row].shapes != NULL &&
              look_at_first(k, slice, &r->kernels[row]);
    return ok ? row : PS_NONE;
}

/* Without a launch the wait for the host behind the kernel is shorter: it begins where the kernel's run ended. */
static bool claim_launch(kernels *k, int64_t end_ns, int64_t launch_ns) {
    const ps_intervals *gaps = &k->paying->gaps;
    while (k->gap < gaps->n && gaps->at[k->gap].start_ns < end_ns) {
        k->gap++;
        k->gap_used_ns = 0;
    }
    if (k->gap == gaps->n) {
        return true;
    }
    int64_t from_ns = gaps->at[k->gap].start_ns + k->gap_used_ns;
    int64_t left_ns = gaps->at[k->gap].end_ns - from_ns;
    int64_t ns = launch_ns < left_ns ? launch_ns : left_ns;
    k->gap_used_ns += ns;
    from_ns = ps_i64_plus(from_ns, k->out->origin_ns);
    return ps_intervals_add(&k->out->conversion_spans, from_ns, ps_i64_plus(from_ns, ns));
}

/* What a step would save without the kernel and its launch. */
static bool take_conversion(kernels *k, uint32_t slice, ps_report_kernel *kind) {
    int64_t start_ns = k->s->start_ns[slice];
    int64_t end_ns = start_ns + k->s->dur_ns[slice];
    int64_t alone_ns = ps_intervals_within_ns(&k->paying->alone, start_ns, end_ns);
    int64_t pays_ns = ps_intervals_within_ns(&k->paying->paying, start_ns, end_ns);
    uint32_t call = k->links->call[slice];
    if (alone_ns == pays_ns || call == PS_NONE) {
        kind->conversion_pays_ns = ps_i64_plus(kind->conversion_pays_ns, alone_ns);
        return ps_intervals_add(&k->lone_conversions, start_ns, end_ns);
    }
    kind->conversion_pays_ns = ps_i64_plus(kind->conversion_pays_ns, pays_ns);
    kind->conversion_launches_ns = ps_i64_plus(kind->conversion_launches_ns, k->s->dur_ns[call]);
    return ps_intervals_add(&k->paying_conversions, start_ns, end_ns) &&
           claim_launch(k, end_ns, k->s->dur_ns[call]);
}

static bool claim_conversions(kernels *k, ps_intervals *of, const ps_intervals *within) {
    ps_intervals both = {0};
    ps_intervals_unite(of);
    bool ok = ps_intervals_both(of, within, &both);
    for (size_t i = 0; ok && i < both.n; i++) {
        ok = ps_intervals_add(&k->out->conversion_spans, k->out->origin_ns + both.at[i].start_ns,
                              k->out->origin_ns + both.at[i].end_ns);
    }
    ps_intervals_fini(&both);
    return ok;
}

static bool find_conversion_spans(kernels *k) {
    bool ok = claim_conversions(k, &k->paying_conversions, &k->paying->paying) &&
              claim_conversions(k, &k->lone_conversions, &k->paying->alone);
    ps_report_limit_spans(&k->out->conversion_spans);
    return ok;
}

static bool add_kernel_row(kernels *k, uint32_t slice) {
    int64_t dur_ns = k->s->dur_ns[slice];
    uint32_t row = kernel_row_row_of(k, slice);
    if (row == PS_NONE || !ps_grow(&k->all, &k->cap, k->n + 1, UINT32_MAX, sizeof *k->all)) {
        return false;
    }
    ps_report_kernel *kind = &k->out->kernels[row];
    kind->n++;
    kind->sum_ns = ps_i64_plus(kind->sum_ns, dur_ns);
    int64_t start_ns = k->s->start_ns[slice];
    int64_t end_ns = start_ns + dur_ns;
    int64_t pays_ns = ps_intervals_within_ns(&k->paying->paying, start_ns, end_ns);
    kind->pays_ns = ps_i64_plus(kind->pays_ns, pays_ns);
    k->all[k->n++] = (timed){.row = row, .run = {k->out->origin_ns + end_ns, dur_ns, pays_ns, 0}};
    if (!kind->is_aicpu && is_aicpu(k, slice)) {
        const char *types = input_types(k, slice);
        kind->is_aicpu = true;
        kind->aicpu_types = types != NULL ? keep_kernel_row_text(k, types) : NULL;
    }
    ps_conversion what = ps_report_conversion_of(k->links, slice);
    if (what != PS_CONVERSION_NONE) {
        kind->conversion_ns[what] = ps_i64_plus(kind->conversion_ns[what], dur_ns);
        kind->n_conversions[what]++;
    }
    if (what != PS_CONVERSION_NONE && !take_conversion(k, slice, kind)) {
        return false;
    }
    k->out->kernels_ns = ps_i64_plus(k->out->kernels_ns, dur_ns);
    if (dur_ns > kind->longest_ns || kind->name == NULL) {
        kind->longest_ns = dur_ns;
        kind->longest_start_ns = k->out->origin_ns + k->s->start_ns[slice];
        kind->longest_step = ps_links_step(k->links, slice);
        kind->name = keep_kernel_row_text(k, ps_trace_text(k->trace, k->s->name[slice]));
    }
    ps_bounds_take(k->bounds, slice, !is_aicpu(k, slice), kind);
    return kind->name != NULL && add_flops(k, slice, kind);
}

PS_COMPARE(compare_timed, timed, PS_BY(row) PS_BY(run.dur_ns))

/* Of one kind, sorted by length. */
static void find_excess_of_kind(timed *all, size_t n, int64_t *lengths_ns, int64_t *like_ns,
                                ps_report_kernel *kind) {
    for (size_t i = 0; i < n; i++) {
        lengths_ns[i] = all[i].run.dur_ns;
        all[i].from_longest = (uint32_t)(n - 1 - i);
    }
    kind->median_ns = ps_midpoint_i64(lengths_ns[(n - 1) / 2], lengths_ns[n / 2]);
    kind->n_excess = (int64_t)ps_outliers_find(lengths_ns, n, SLOW_TIMES, like_ns);
    if (kind->n_excess * 4 > kind->n) { /* not slow ones but others, of a size that nobody wrote */
        kind->n_excess = 0;
    }
    for (size_t i = 0; kind->n_excess > 0 && i < n; i++) {
        int64_t beyond_ns = like_ns[i] > 0 ? lengths_ns[i] - like_ns[i] : 0;
        kind->excess_ns = ps_i64_plus(kind->excess_ns, beyond_ns);
        all[i].run.excess_ns = beyond_ns;
    }
}

static bool find_excess(kernels *k) {
    int64_t *lengths_ns = ps_calloc(k->n + 1, sizeof *lengths_ns);
    int64_t *like_ns = ps_calloc(k->n + 1, sizeof *like_ns);
    bool ok = lengths_ns != NULL && like_ns != NULL;
    ps_sort(k->all, k->n, sizeof *k->all, compare_timed);
    for (size_t i = 0, end = 0; ok && i < k->n; i = end) {
        for (end = i; end < k->n && k->all[end].row == k->all[i].row;) {
            end++;
        }
        find_excess_of_kind(k->all + i, end - i, lengths_ns, like_ns,
                            &k->out->kernels[k->all[i].row]);
    }
    ps_free(lengths_ns);
    ps_free(like_ns);
    return ok;
}

/* --- when they ran ---------------------------------------------------------------------------------------------------- */

#define RUNS_KEPT ((size_t)1 << 13) /* of a rank: partials are small */
#define RUNS_OF_EACH 4              /* of each kind, however short */

/* The longest ones, but first some of each kind. */
static int compare_kept(const void *a, const void *b) {
    const timed *x = a;
    const timed *y = b;
    bool x_first = x->from_longest < RUNS_OF_EACH;
    bool y_first = y->from_longest < RUNS_OF_EACH;
    if (x_first != y_first) {
        return x_first ? -1 : 1;
    }
    if (x->run.dur_ns != y->run.dur_ns) {
        return x->run.dur_ns > y->run.dur_ns ? -1 : 1;
    }
    return x->run.end_ns < y->run.end_ns ? -1 : x->run.end_ns > y->run.end_ns;
}

static int compare_runs(const void *a, const void *b) {
    const timed *x = a;
    const timed *y = b;
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return x->run.end_ns < y->run.end_ns ? -1 : x->run.end_ns > y->run.end_ns;
}

/* Gives each kind its runs. Leaves `all` in another order. */
static bool keep_runs(kernels *k) {
    size_t n = k->n < RUNS_KEPT ? k->n : RUNS_KEPT;
    ps_report_kernel_run *runs = ps_arena_alloc(&k->out->arena, (n + 1) * sizeof *runs);
    if (runs == NULL) {
        return false;
    }
    if (k->n > n) {
        ps_sort(k->all, k->n, sizeof *k->all, compare_kept);
    }
    ps_sort(k->all, n, sizeof *k->all, compare_runs);
    for (size_t i = 0; i < n; i++) {
        ps_report_kernel *kind = &k->out->kernels[k->all[i].row];
        runs[i] = k->all[i].run;
        kind->runs = kind->n_runs == 0 ? &runs[i] : kind->runs;
        kind->n_runs++;
    }
    return true;
}

static const ps_sort_key KIND_ORDER[] = {PS_DOWN(ps_report_kernel, sum_ns),
                                         PS_UP(ps_report_kernel, type),
                                         PS_UP(ps_report_kernel, shapes)};

bool ps_report_gather_kernels(const ps_map_input *in, const ps_links *links,
                              const ps_report_paying *paying, ps_report_rank *r, ps_err *err) {
    kernels k = {.links = links,
                 .trace = links->trace,
                 .s = ps_trace_slices(links->trace),
                 .out = r,
                 .paying = paying};
    ps_idmap_init(&k.rows);
    ps_mfu *mfu = ps_mfu_new(links, in->opts, in->diag, err);
    k.mfu = mfu;
    k.bounds = ps_calloc(1, sizeof *k.bounds);
    bool ok = ps_kernel_keys_init(&k.keys, k.trace) && ps_strpool_init(&k.texts) && mfu != NULL &&
              k.bounds != NULL && ps_bounds_init(k.bounds, &k.keys, k.trace);
    ok = ps_classifier_init(&k.classifier, links) && ok;
    for (uint32_t i = 0; ok && i < k.s->n; i++) {
        /* What is told is told of a step: not what runs outside of all. */
        ok = k.s->kind[i] != PS_SLICE_KERNEL || ps_links_step(links, i) == PS_STEP_OUTSIDE ||
             add_kernel_row(&k, i);
    }
    if (ok && k.n > 0) {
        ok = find_excess(&k) && keep_runs(&k) && find_conversion_spans(&k);
        ps_sort_by(r->kernels, r->n_kernels, sizeof *r->kernels, PS_KEYS(KIND_ORDER));
    }
    r->n_kernels = r->n_kernels < MAX_KEPT ? r->n_kernels : MAX_KEPT;
    ps_mfu_free(mfu);
    ps_free(k.all);
    ps_intervals_fini(&k.paying_conversions);
    ps_intervals_fini(&k.lone_conversions);
    ps_kernel_keys_fini(&k.keys);
    ps_classifier_fini(&k.classifier);
    if (k.bounds != NULL) {
        ps_bounds_fini(k.bounds);
        ps_free(k.bounds);
    }
    ps_idmap_fini(&k.rows);
    ps_strpool_fini(&k.texts);
    return ok;
}
