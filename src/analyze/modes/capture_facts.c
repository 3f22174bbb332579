/* capture_facts: the baseline of `compare`. One pass over the slices adds up names; steps are numbered by order, so that
 * captures whose steps have other numbers can be laid beside one another. */
#include "analyze/modes/capture_facts.h"

#include "analyze/derived/derived.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/modes/capture_facts_stages.h"
#include "analyze/modules/module_tree.h"
#include "analyze/rank/counted.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "model/recording.h"

/* --- map ---------------------------------------------------------------------------------------------------------- */

typedef struct adding {
    const ps_slices *slices;
    const ps_counted *counted;
    ps_named_sums *sums;
    ps_rank_capture *part;
    const char *group; /* that was noted last: text of the trace */
} adding;

static bool add_named_fact(adding *a, ps_sum_class class_, const char *name, const char *detail,
                           int64_t time_ns) {
    ps_named_sum *sum = ps_named_sums_of(a->sums, class_, name, detail);
    if (sum == NULL) {
        return false;
    }
    sum->n++;
    sum->time_ns = ps_i64_plus(sum->time_ns, time_ns);
    return true;
}

/* Under its own name in a class. */
static bool add_fact(adding *a, ps_sum_class class_, uint32_t i) {
    ps_counted_as as;
    return !ps_counted_in(a->counted, i, class_, &as) ||
           add_named_fact(a, class_, as.name, as.detail, a->slices->dur_ns[i]);
}

static bool add_kernel(adding *a, uint32_t i) {
    ps_counted_as as;
    int64_t dur = a->slices->dur_ns[i];
    return !ps_counted_in(a->counted, i, PS_SUM_KERNEL, &as) ||
           (add_named_fact(a, PS_SUM_PART, ps_kernel_part(as.type, as.name), "", dur) &&
            add_named_fact(a, PS_SUM_KERNEL_TYPE, ps_counted_type(&as), "", dur) &&
            add_named_fact(a, PS_SUM_KERNEL, as.name, as.detail, dur));
}

static bool add_communication(adding *a, uint32_t i) {
    ps_counted_as as;
    if (!ps_counted_in(a->counted, i, PS_SUM_COMMUNICATION, &as)) {
        return true;
    }
    bool ok = as.detail == a->group ||
              ps_capture_groups_note(&a->part->groups, &a->part->arena, a->counted->links->trace, i,
                                     as.detail, &a->part->facts);
    a->group = as.detail;
    return ok && add_named_fact(a, PS_SUM_COMMUNICATION, as.name, as.detail, a->slices->dur_ns[i]);
}

/* Device time of an operator; how often it was called is counted where it is met on the host. */
static bool add_device_time(adding *a, uint32_t i) {
    const char *op = ps_counted_operator(a->counted, i);
    ps_named_sum *sum = op != NULL ? ps_named_sums_of(a->sums, PS_SUM_OPERATOR, op, "") : NULL;
    if (sum != NULL) {
        sum->time_ns = ps_i64_plus(sum->time_ns, a->slices->dur_ns[i]);
    }
    return op == NULL || sum != NULL;
}

static bool add_operator(adding *a, uint32_t i) {
    ps_counted_as as;
    if (!ps_counted_in(a->counted, i, PS_SUM_OPERATOR, &as)) {
        return true;
    }
    ps_named_sum *sum = ps_named_sums_of(a->sums, PS_SUM_OPERATOR, as.name, "");
    if (sum != NULL) {
        sum->n++;
    }
    return sum != NULL && add_fact(a, PS_SUM_OPERATOR_HOST, i);
}

static bool add_fact_slice(adding *a, uint32_t i) {
    switch (a->slices->kind[i]) {
    case PS_SLICE_KERNEL:
        return add_kernel(a, i) && add_device_time(a, i);
    case PS_SLICE_JOB:
        return add_fact(a, PS_SUM_KERNEL_TYPE, i);
    case PS_SLICE_COMM_OP:
    case PS_SLICE_COMM_KERNEL:
        return a->slices->kind[i] != a->counted->communication ||
               (add_communication(a, i) && add_device_time(a, i));
    case PS_SLICE_COPY:
        return add_fact(a, PS_SUM_COPY, i);
    case PS_SLICE_CALL:
        return add_fact(a, PS_SUM_CALL, i);
    case PS_SLICE_HOST_OP:
        return add_operator(a, i);
    default:
        return true;
    }
}

static ps_code add_fact_up(const ps_map_input *in, const ps_links *links, ps_rank_capture *part,
                           ps_err *err) {
    ps_counted counted;
    bool ok = ps_counted_init(&counted, links);
    adding a = {.slices = ps_trace_slices(in->trace),
                .counted = &counted,
                .sums = &part->sums,
                .part = part};
    for (uint32_t i = 0; ok && i < a.slices->n; i++) {
        ok = !ps_counted_in_step(&counted, i, in->opts->step_id) || add_fact_slice(&a, i);
    }
    ps_counted_fini(&counted);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

static int64_t own_time_ns(const ps_module_tree *t, const ps_slices *s, const ps_module_call *c) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->n_ops; i++) {
        uint32_t op = t->ops[c->first_op + i];
        for (uint32_t k = t->first_kernel[op]; k < t->first_kernel[op + 1]; k++) {
            sum = ps_i64_plus(sum, s->dur_ns[t->kernels[k]]);
        }
    }
    return sum;
}

static bool add_fact_call(const ps_module_tree *t, const ps_slices *s, const ps_module_call *c,
                          ps_named_sums *sums) {
    static const char *const PASSES[PS_N_MODULE_PASSES] = {[PS_MODULE_FORWARD] = "forward",
                                                           [PS_MODULE_RECOMPUTE] = "recomputation",
                                                           [PS_MODULE_BACKWARD] = "backward"};
    char path[2048];
    ps_module_path(t, c->node, path, sizeof path);
    ps_named_sum *sum = ps_named_sums_of(sums, PS_SUM_MODULE, path, PASSES[c->pass]);
    if (sum != NULL) {
        sum->n++;
        sum->time_ns = ps_i64_plus(sum->time_ns, own_time_ns(t, s, c));
    }
    return sum != NULL;
}

/* A capture without modules has none to compare. */
static ps_code add_modules(const ps_map_input *in, ps_named_sums *sums, ps_err *err) {
    const ps_module_tree *tree = NULL;
    ps_err why = PS_ERR_INIT;
    ps_code code = ps_derived_modules(in->derived, true, &tree, &why);
    const ps_slices *s = ps_trace_slices(in->trace);
    bool ok = code != PS_NOMEM;
    int64_t step = in->opts->step_id;
    for (size_t i = 0; ok && tree != NULL && i < tree->n_calls; i++) {
        const ps_module_call *call = &tree->calls[i];
        bool is_in =
            step < 0 || ps_step_of(&tree->links->steps, call->start_ns, call->start_ns) == step;
        ok = !is_in || add_fact_call(tree, s, call, sums);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- the rank ----------------------------------------------------------------------------------------------------- */

/* Which of the rank's steps it is, from 0. */
static size_t order_of_step(const ps_rank_capture *part, const ps_overlap *o) {
    PS_PLACE(size_t, order, 0, part->n_steps, i, part->step_starts_ns[i] < o->step_start_ns)
    return order;
}

ps_code ps_rank_capture_map(const ps_map_input *in, void **out, ps_err *err) {
    ps_rank_capture *part = ps_calloc(1, sizeof *part);
    if (part != NULL) {
        ps_arena_init(&part->arena);
    }
    if (part == NULL || !ps_named_sums_init(&part->sums)) {
        ps_rank_capture_free(part);
        return ps_fail_nomem(err);
    }
    const ps_links *links = ps_derived_links(in->derived, err);
    ps_code code = links == NULL ? PS_NOMEM : ps_check_step(in->trace, in->opts->step_id, err);
    code = code != PS_OK
               ? code
               : ps_overlaps_measure(links, in->opts->step_id, false, &part->overlaps, err);
    if (code == PS_OK && part->overlaps.n == 0) {
        code = ps_fail_said(err, PS_NOTHING, "nothing ran on a device", "设备上没有运行任何工作");
    }
    code = code == PS_OK ? ps_rank_facts_keep(in, &part->arena, &part->facts, err) : code;
    code = code == PS_OK ? add_fact_up(in, links, part, err) : code;
    code = code == PS_OK ? add_modules(in, &part->sums, err) : code;
    if (code == PS_OK) {
        part->step_starts_ns =
            ps_overlap_step_starts(part->overlaps.at, part->overlaps.n, &part->n_steps);
        code = part->step_starts_ns != NULL ? PS_OK : ps_fail_nomem(err);
    }
    part->is_of_tables = ps_trace_missing_timeline(in->trace) != NULL;
    part->is_of_own_work = !part->is_of_tables &&
                           ps_trace_meta(in->trace, PS_STEP_STARTS_KEY) != NULL &&
                           ps_trace_meta(in->trace, PS_STEP_ENDS_KEY) != NULL;
    part->origin_ns = ps_trace_origin_ns(in->trace);
    if (code != PS_OK) {
        ps_rank_capture_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

void ps_rank_capture_free(void *partial) {
    ps_rank_capture *part = partial;
    if (part != NULL) {
        ps_named_sums_fini(&part->sums);
        ps_overlaps_fini(&part->overlaps);
        ps_free(part->step_starts_ns);
        ps_capture_groups_fini(&part->groups);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

void ps_rank_capture_archive(ps_archive *a, void **partial) {
    ps_rank_capture *x = ps_archive_object(a, partial, sizeof *x);
    if (x != NULL) {
        ps_named_sums_archive(a, &x->sums);
        ps_overlaps_archive(a, &x->overlaps);
        PS_ARCHIVE_ARRAY(a, x, step_starts_ns, n_steps, ps_archive_i64);
        PS_ARCHIVE(a, x, is_of_tables, is_of_own_work, origin_ns);
        (void)ps_archive_use_arena(a, &x->arena);
        ps_rank_facts_archive(a, &x->facts);
        ps_capture_groups_archive(a, &x->groups);
    }
}

/* --- reduce ------------------------------------------------------------------------------------------------------- */

typedef struct sum_row {
    int64_t class_, n, time_ns;
    const char *name, *detail;
} sum_row;

/* A step as all ranks together had it. */
typedef struct step_sum {
    int64_t values[PS_N_CT];
} step_sum;

typedef struct size_row {
    int64_t values[PS_N_CZ];
} size_row;

#define STEP_NS(text, part)                                                                        \
    [part] = {.name = (text), PS_FIELD(step_sum, values[part]), .unit = PS_UNIT_NS}
#define SIZE_COUNT(text, part)                                                                     \
    [part] = {.name = (text), PS_FIELD(size_row, values[part]), .unit = PS_UNIT_COUNT}

static const ps_column SUMS[PS_N_CS] = {
    [PS_CS_CLASS] = {.name = "class", PS_FIELD(sum_row, class_)},
    [PS_CS_NAME] = {.name = "name", PS_FIELD(sum_row, name)},
    [PS_CS_DETAIL] = {.name = "detail", PS_FIELD(sum_row, detail)},
    [PS_CS_COUNT] = {.name = "count", PS_FIELD(sum_row, n), .unit = PS_UNIT_COUNT},
    [PS_CS_TIME] = {.name = "time", PS_FIELD(sum_row, time_ns), .unit = PS_UNIT_NS},
};

static const ps_column STEPS[PS_N_CT] = {
    [PS_CT_ORDER] = {.name = "order", PS_FIELD(step_sum, values[PS_CT_ORDER])},
    [PS_CT_STEP] = {.name = "step", PS_FIELD(step_sum, values[PS_CT_STEP])},
    [PS_CT_RANKS] = {.name = "ranks",
                     PS_FIELD(step_sum, values[PS_CT_RANKS]),
                     .unit = PS_UNIT_COUNT},
    STEP_NS("time", PS_CT_TIME),
    STEP_NS("computing", PS_CT_COMPUTING),
    STEP_NS("communication", PS_CT_COMMUNICATION),
    STEP_NS("not overlapped", PS_CT_NOT_OVERLAPPED),
    STEP_NS("free", PS_CT_FREE),
    STEP_NS("bubble", PS_CT_BUBBLE),
    STEP_NS("memory", PS_CT_MEMORY),
    STEP_NS("before", PS_CT_BEFORE),
    STEP_NS("after", PS_CT_AFTER),
};

static const ps_column SIZE[PS_N_CZ] = {
    SIZE_COUNT("ranks", PS_CZ_RANKS),
    SIZE_COUNT("rank steps", PS_CZ_RANK_STEPS),
    SIZE_COUNT("of tables", PS_CZ_OF_TABLES),
    SIZE_COUNT("host steps", PS_CZ_HOST_STEPS),
    SIZE_COUNT("without computing", PS_CZ_NO_COMPUTING),
};

static void give_fact_sums(const ps_named_sums *sums, ps_result *out) {
    ps_table *t = ps_table_new("CaptureSums", "", PS_COLUMNS(SUMS));
    for (size_t i = 0; i < sums->n; i++) {
        const ps_named_sum *sum = &sums->at[i];
        ps_table_put(t, &(sum_row){.class_ = (int64_t)sum->class_,
                                   .n = sum->n,
                                   .time_ns = sum->time_ns,
                                   .name = ps_strpool_get(&sums->strings, sum->name),
                                   .detail = ps_strpool_get(&sums->strings, sum->detail)});
    }
    ps_result_give(out, t);
}

static void add_fact_step(step_sum *s, const ps_overlap *o) {
    s->values[PS_CT_RANKS]++;
    int64_t times[PS_N_CT] = {
        [PS_CT_TIME] = ps_overlap_whole_ns(o),
        [PS_CT_BEFORE] = o->before_ns,
        [PS_CT_AFTER] = o->after_ns,
        [PS_CT_COMPUTING] = o->computing_ns,
        [PS_CT_COMMUNICATION] = o->communication_ns,
        [PS_CT_NOT_OVERLAPPED] = o->not_overlapped_ns,
        [PS_CT_FREE] = o->free_ns,
        [PS_CT_BUBBLE] = o->bubble_ns,
        [PS_CT_MEMORY] = o->memory_ns,
    };
    for (size_t i = 0; i < PS_N_CT; i++) {
        s->values[i] = ps_i64_plus(s->values[i], times[i]);
    }
}

/* When a step of the job was, by all ranks whose steps are their own work alone: epoch. */
typedef struct job_step {
    int64_t id;
    int64_t start_ns, end_ns;
    int64_t last_start_ns,
        first_end_ns; /* of its ranks: clocks that have nothing in common have no step, either */
} job_step;

typedef struct job_steps {
    job_step *all;
    size_t n, cap;
    ps_idmap index; /* id -> row */
} job_steps;

static bool note_step(job_steps *s, const ps_rank_capture *part, const ps_overlap *o) {
    int64_t start_ns = part->origin_ns + o->step_start_ns;
    int64_t end_ns = part->origin_ns + o->step_end_ns;
    uint32_t row = ps_idmap_get(&s->index, (uint64_t)o->step);
    if (row == PS_IDMAP_NONE) {
        if (!ps_grow(&s->all, &s->cap, s->n + 1, UINT32_MAX - 1, sizeof *s->all) ||
            !ps_idmap_put(&s->index, (uint64_t)o->step, (uint32_t)s->n)) {
            return false;
        }
        s->all[s->n++] = (job_step){o->step, start_ns, end_ns, start_ns, end_ns};
        return true;
    }
    job_step *j = &s->all[row];
    j->start_ns = start_ns < j->start_ns ? start_ns : j->start_ns;
    j->end_ns = end_ns > j->end_ns ? end_ns : j->end_ns;
    j->last_start_ns = start_ns > j->last_start_ns ? start_ns : j->last_start_ns;
    j->first_end_ns = end_ns < j->first_end_ns ? end_ns : j->first_end_ns;
    return true;
}

/* False when memory is out. */
static bool find_job_steps(const ps_reduce_input *in, job_steps *s) {
    bool ok = true;
    *s = (job_steps){0};
    ps_idmap_init(&s->index);
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        for (size_t i = 0; part != NULL && part->is_of_own_work && ok && i < part->overlaps.n;
             i++) {
            const ps_overlap *o = &part->overlaps.at[i];
            ok = !o->has_step || note_step(s, part, o);
        }
    }
    return ok;
}

/* A step of a rank that knows only its own work lasts as long as that of the job. */
static ps_overlap widened(const job_steps *s, const ps_rank_capture *part, const ps_overlap *o) {
    ps_overlap out = *o;
    uint32_t row = part->is_of_own_work && o->has_step ? ps_idmap_get(&s->index, (uint64_t)o->step)
                                                       : PS_IDMAP_NONE;
    if (row != PS_IDMAP_NONE && s->all[row].last_start_ns < s->all[row].first_end_ns) {
        out.before_ns += part->origin_ns + o->step_start_ns - s->all[row].start_ns;
        out.after_ns += s->all[row].end_ns - part->origin_ns - o->step_end_ns;
    }
    return out;
}

static size_t most_steps(const ps_reduce_input *in) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        n = part != NULL && part->n_steps > n ? part->n_steps : n;
    }
    return n;
}

/* The k-th step of every rank goes into row k. */
static void reduce_steps(const ps_reduce_input *in, ps_result *out) {
    size_t n = most_steps(in);
    step_sum *steps = ps_calloc(n + 1, sizeof *steps);
    job_steps job;
    bool ok = find_job_steps(in, &job) && steps != NULL;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        for (size_t i = 0; ok && part != NULL && i < part->overlaps.n; i++) {
            const ps_overlap *o = &part->overlaps.at[i];
            size_t order = order_of_step(part, o);
            steps[order].values[PS_CT_ORDER] = (int64_t)order + 1;
            steps[order].values[PS_CT_STEP] = o->step;
            ps_overlap step = widened(&job, part, o);
            add_fact_step(&steps[order], &step);
        }
    }
    ps_table *t = ok ? ps_table_new("CaptureSteps", "", PS_COLUMNS(STEPS)) : NULL;
    ps_table_put_all(t, steps, n, sizeof *steps);
    ps_result_give(out, t);
    ps_idmap_fini(&job.index);
    ps_free(job.all);
    ps_free(steps);
}

ps_code ps_capture_tables(const ps_reduce_input *in, ps_result *out, ps_err *err) {
    ps_named_sums all;
    bool ok = ps_named_sums_init(&all);
    size_row size = {{0}};
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        if (part != NULL) {
            size.values[PS_CZ_RANKS]++;
            size.values[PS_CZ_RANK_STEPS] += (int64_t)part->overlaps.n;
            size.values[PS_CZ_HOST_STEPS] += (int64_t)part->n_steps;
            size.values[PS_CZ_OF_TABLES] += part->is_of_tables;
            size.values[PS_CZ_NO_COMPUTING] += !part->overlaps.knows_computing;
            ok = ps_named_sums_add(&all, &part->sums);
        }
    }
    if (ok) {
        give_fact_sums(&all, out);
    }
    ps_named_sums_fini(&all);
    reduce_steps(in, out);
    ps_table *t = ok ? ps_table_new("CaptureSize", "", PS_COLUMNS(SIZE)) : NULL;
    ps_table_put(t, &size);
    ps_result_give(out, t);
    ps_code code = ps_result_code(out, err);
    code = code == PS_OK ? ps_capture_groups_table(in, out, err) : code;
    return code == PS_OK ? ps_capture_stages(in, out, err) : code;
}

static ps_code reduce_fact(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    return ps_capture_tables(in, in->result, err);
}

static const ps_round ROUNDS[] = {PS_RANK_CAPTURE_ROUND,
                                  {.map = ps_map_nothing, .reduce = reduce_fact}};

const ps_analysis ps_analysis_capture_facts = {
    .name = "capture_facts",
    .folder = "CaptureFacts",
    .summary = "what a capture is made of, for comparisons",
    .hidden = true,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_rank_capture_free,
    .archive = ps_rank_capture_archive,
};
