/* computational_op_masking: how much of the communication of each kind of parallelism is hidden behind computing. Of a
 * rank, a step and a set of kinds ("dp,edp"): the union of the communication operators in communicators of these kinds,
 * and what of it no computing kernel covers. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

enum { MAX_SETS = 32, MAX_NAMES = 8, NAME_SIZE = 32 };

static const char DEFAULT_TYPES[] = "dp,edp;edp;dp;ep;pp;mp;tp";

/* --- what the user asked for ------------------------------------------------------------------------------------ */

typedef struct type_set {
    char names[MAX_NAMES][NAME_SIZE];
    size_t n;
    char shown[MAX_NAMES * NAME_SIZE]; /* "dp+edp" */
} type_set;

typedef struct type_sets {
    type_set all[MAX_SETS];
    size_t n;
} type_sets;

static void add_masking_name(type_set *set, const char *name, size_t n) {
    while (n > 0 && *name == ' ') {
        name++;
        n--;
    }
    while (n > 0 && name[n - 1] == ' ') {
        n--;
    }
    if (n == 0 || n >= NAME_SIZE || set->n == MAX_NAMES) {
        return;
    }
    char *copy = set->names[set->n];
    memcpy(copy, name, n);
    copy[n] = '\0';
    size_t used = strlen(set->shown);
    if (used > 0) {
        set->shown[used++] = '+';
    }
    memcpy(set->shown + used, name, n);
    set->shown[used + n] = '\0';
    set->n++;
}

/* "dp,edp;pp". Sets beyond MAX_SETS and names beyond MAX_NAMES are left out. */
static void parse_types(const char *text, type_sets *out) {
    memset(out, 0, sizeof *out);
    const char *p = text;
    while (*p != '\0' && out->n < MAX_SETS) {
        type_set *set = &out->all[out->n];
        size_t n_set = strcspn(p, ";");
        for (size_t at = 0; at < n_set;) {
            size_t n = strcspn(p + at, ",;");
            add_masking_name(set, p + at, n);
            at += n + 1;
        }
        out->n += set->n > 0;
        p += n_set + (p[n_set] == ';');
    }
}

/* Names of groups as frameworks write them; others are compared as they are. */
static bool means(const char *label, const char *type) {
    static const char *const ALSO[][2] = {
        {"ep", "exp"},
        {"pp", "PIPELINE_MODEL_PARALLEL_GROUP"},
        {"tp", "TENSOR_MODEL_PARALLEL_GROUP"},
        {"mp", "MODEL_PARALLEL_GROUP"},
        {"dp", "DATA_PARALLEL_GROUP"},
        {"dp", "DATA_PARALLEL_GROUP_WITH_CP"},
        {"cp", "CONTEXT_PARALLEL_GROUP"},
        {"ep", "EXPERT_MODEL_PARALLEL_GROUP"},
        {"edp", "EXPERT_DATA_PARALLEL_GROUP"},
    };
    const char *plain = strncasecmp(label, "mesh_", 5) == 0 ? label + 5 : label;
    bool same = strcasecmp(plain, type) == 0;
    for (size_t i = 0; !same && i < sizeof ALSO / sizeof *ALSO; i++) {
        same = strcasecmp(ALSO[i][0], type) == 0 && strcasecmp(ALSO[i][1], plain) == 0;
    }
    return same;
}

/* --- one rank --------------------------------------------------------------------------------------------------- */

typedef struct row {
    int64_t step, start_ns, end_ns; /* epoch */
    int64_t total_ns, unmasked_ns;
    size_t set;
    bool has_step;
} row;

typedef struct partial {
    row *rows; /* by set, then step */
    size_t n, cap;
} partial;

static void free_masking_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_free(part->rows);
        ps_free(part);
    }
}

typedef struct masking {
    const ps_map_input *in;
    const ps_comm_part *comm;
    uint32_t *sets_of; /* by group of the list: a bit for each set that it is of */
    ps_intervals computing;
    type_sets types;
    partial *out;
} masking;

static bool find_computing(masking *m) {
    const ps_slices *s = ps_trace_slices(m->in->trace);
    int64_t origin = ps_trace_origin_ns(m->in->trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_KERNEL) {
            int64_t start = origin + s->start_ns[i];
            ok = ps_intervals_add(&m->computing, start, start + s->dur_ns[i]);
        }
    }
    ps_intervals_unite(&m->computing);
    return ok;
}

static uint32_t sets_of_group(const masking *m, const char *group) {
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(group, key, sizeof key);
    uint32_t bits = 0;
    for (size_t g = 0; g < m->comm->n_groups; g++) {
        if (strcmp(m->comm->groups[g].key, key) != 0) {
            continue;
        }
        for (size_t t = 0; t < m->types.n; t++) {
            for (size_t i = 0; i < m->types.all[t].n; i++) {
                bool is_of = means(m->comm->groups[g].label, m->types.all[t].names[i]);
                bits |= is_of ? UINT32_C(1) << t : 0;
            }
        }
        break;
    }
    return bits;
}

static bool find_sets(masking *m) {
    const ps_comm_list *list = &m->comm->list;
    m->sets_of = ps_calloc(list->strings.n + 1, sizeof *m->sets_of);
    bool *done = ps_calloc(list->strings.n + 1, sizeof *done);
    bool ok = m->sets_of != NULL && done != NULL;
    for (size_t i = 0; ok && i < list->n; i++) {
        uint32_t group = list->ops[i].look->group.id;
        if (group != 0 && !done[group]) {
            done[group] = true;
            m->sets_of[group] = sets_of_group(m, ps_comm_text(list, list->ops[i].look->group));
        }
    }
    ps_free(done);
    return ok;
}

/* The window of a step; without steps from the first to the last of what the device did. */
static bool find_window(const masking *m, row *r) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(m->in->trace, &n);
    int64_t origin = ps_trace_origin_ns(m->in->trace);
    for (size_t i = 0; i < n; i++) {
        if (steps[i].id == r->step) {
            r->start_ns = origin + steps[i].start_ns;
            r->end_ns = origin + steps[i].end_ns;
            r->has_step = true;
            return true;
        }
    }
    const ps_comm_list *list = &m->comm->list;
    r->start_ns = list->ops[0].start_ns;
    r->end_ns = list->ops[0].end_ns;
    for (size_t i = 0; i < list->n; i++) {
        r->end_ns = list->ops[i].end_ns > r->end_ns ? list->ops[i].end_ns : r->end_ns;
    }
    if (m->computing.n > 0) {
        const ps_interval *c = m->computing.at;
        r->start_ns = c[0].start_ns < r->start_ns ? c[0].start_ns : r->start_ns;
        int64_t last = c[m->computing.n - 1].end_ns;
        r->end_ns = last > r->end_ns ? last : r->end_ns;
    }
    return n == 0; /* operators outside of all steps belong to none */
}

PS_COMPARE_POINTERS(compare_masking_ops, ps_comm_op, PS_BY(step) PS_BY_PLACE)

/* The operators of one step. */
static bool add_masking_row(masking *m, size_t set, const ps_comm_op *const *ops, size_t n) {
    row r = {.step = ops[0]->step, .set = set};
    ps_intervals spans = {0};
    bool ok = true;
    if (!find_window(m, &r)) {
        return true;
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = ps_intervals_add(&spans, ops[i]->start_ns, ops[i]->end_ns);
    }
    ps_intervals_unite(&spans);
    r.total_ns = ps_intervals_length_ns(&spans);
    r.unmasked_ns = ps_intervals_minus_ns(&spans, &m->computing);
    ps_intervals_fini(&spans);
    ok =
        ok && ps_grow(&m->out->rows, &m->out->cap, m->out->n + 1, UINT32_MAX, sizeof *m->out->rows);
    if (ok) {
        m->out->rows[m->out->n++] = r;
    }
    return ok;
}

static bool add_set(masking *m, size_t set, const ps_comm_op **ops) {
    const ps_comm_list *list = &m->comm->list;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if ((m->sets_of[list->ops[i].look->group.id] >> set & 1) != 0) {
            ops[n++] = &list->ops[i];
        }
    }
    ps_sort(ops, n, sizeof *ops, compare_masking_ops);
    bool ok = true;
    for (size_t i = 0; ok && i < n;) {
        size_t k = i;
        while (k < n && ops[k]->step == ops[i]->step) {
            k++;
        }
        ok = add_masking_row(m, set, ops + i, k - i);
        i = k;
    }
    return ok;
}

static const char *types_of(const ps_analysis_opts *opts) {
    return opts->parallel_types != NULL ? opts->parallel_types : DEFAULT_TYPES;
}

static ps_code measure_masking(masking *m, ps_err *err) {
    const ps_comm_op **ops = ps_calloc(m->comm->list.n + 1, sizeof *ops);
    bool ok = ops != NULL && find_computing(m) && find_sets(m);
    for (size_t t = 0; ok && t < m->types.n; t++) {
        ok = add_set(m, t, ops);
    }
    ps_free(ops);
    ps_free(m->sets_of);
    ps_intervals_fini(&m->computing);
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code map_masking(const ps_map_input *in, void **out, ps_err *err) {
    ps_comm_part *comm = NULL;
    ps_code code = ps_comm_part_read(in, 0, &comm, err);
    if (code == PS_OK && comm->n_groups == 0) {
        code = ps_fail_said(
            err, PS_NOTHING,
            "nothing says which parallelism a communicator serves: record "
            "parallel_group_info with prof.add_metadata_json(), as the profilers' scripts "
            "for Megatron do",
            "没有信息说明通信域属于哪种并行：请用 prof.add_metadata_json() 记录 parallel_group_info，Megatron 的采集脚本即如此");
    }
    masking m = {.in = in, .comm = comm, .out = NULL};
    parse_types(types_of(in->opts), &m.types);
    if (code == PS_OK && (m.out = ps_calloc(1, sizeof *m.out)) == NULL) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = measure_masking(&m, err);
    }
    if (code == PS_OK && m.out->n == 0) {
        code =
            ps_fail_said(err, PS_NOTHING, "no communication in groups of %.100s (--parallel_types)",
                         "%.100s 通信域中没有通信（--parallel_types）", types_of(in->opts));
    }
    ps_comm_part_free(comm);
    if (code != PS_OK) {
        free_masking_partial(m.out);
        return code;
    }
    *out = m.out;
    return PS_OK;
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

typedef struct masking_row {
    int64_t rank, step;
    const char *types;
    row measured;
    double share, unmasked_share;
} masking_row;

#define PUBLIC_COLUMNS                                                                             \
    {.name = "stepId", PS_FIELD(masking_row, step)},                                               \
        {.name = "parallelType", PS_FIELD(masking_row, types)},                                    \
        {.name = "stepStartTime",                                                                  \
         PS_FIELD(masking_row, measured.start_ns),                                                 \
         .unit = PS_UNIT_NS,                                                                       \
         .exact = true},                                                                           \
        {.name = "stepEndTime",                                                                    \
         PS_FIELD(masking_row, measured.end_ns),                                                   \
         .unit = PS_UNIT_NS,                                                                       \
         .exact = true},                                                                           \
        {.name = "totalCommunicationOperatorTime",                                                 \
         PS_FIELD(masking_row, measured.total_ns),                                                 \
         .unit = PS_UNIT_NS},                                                                      \
        {.name = "timeRatioOfStepCommunicationOperator", PS_FIELD(masking_row, share)},            \
        {.name = "totalTimeWithoutCommunicationBlackout",                                          \
         PS_FIELD(masking_row, measured.unmasked_ns),                                              \
         .unit = PS_UNIT_NS},                                                                      \
    {                                                                                              \
        .name = "ratioOfUnmaskedCommunication", PS_FIELD(masking_row, unmasked_share)              \
    }

static const ps_column COLUMNS[] = {PUBLIC_COLUMNS};
static const ps_column RANK_COLUMNS[] = {{.name = "rankId", PS_FIELD(masking_row, rank)},
                                         PUBLIC_COLUMNS};

static masking_row masking_row_of(const row *r, const type_sets *types, int64_t rank) {
    double step = (double)(r->end_ns - r->start_ns);
    return (masking_row){.rank = rank,
                         .step = r->has_step ? r->step : PS_UNKNOWN_INT,
                         .types = types->all[r->set].shown,
                         .measured = *r,
                         .share = step > 0 ? (double)r->total_ns / step : 0,
                         .unmasked_share =
                             step > 0 ? round((double)r->unmasked_ns / step * 1e5) / 1e5 : 0};
}

static ps_code reduce_masking(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    type_sets types;
    parse_types(types_of(in->opts), &types);
    ps_table *t = ps_table_new("ComputationalOperatorMaskingLinearity", "", PS_COLUMNS(COLUMNS));
    ps_table *by_rank = ps_table_new("ComputationalOperatorMaskingByRank",
                                     "communication that computing does not hide, by parallelism",
                                     PS_COLUMNS(RANK_COLUMNS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->n; i++) {
            masking_row out = masking_row_of(&part->rows[i], &types, in->ranks[r].rank);
            ps_table_put(t, &out);
            ps_table_put(by_rank, &out);
        }
    }
    ps_result_finish_table(in->result, t, "computational_operator_masking", PS_TO_DB | PS_TO_FILES);
    ps_result_finish_table(in->result, by_rank, "computational_operator_masking_by_rank",
                           PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static void masking_row_archive(ps_archive *a, void *of) {
    row *x = of;
    PS_ARCHIVE(a, x, step, start_ns, end_ns, total_ns, unmasked_ns, has_step);
    PS_ARCHIVE_BELOW(a, x, set, MAX_SETS);
}

static void archive_masking_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        PS_ARCHIVE_ARRAY(a, x, rows, n, masking_row_archive);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_masking, .reduce = reduce_masking}};

const ps_analysis ps_analysis_computational_op_masking = {
    .name = "computational_op_masking",
    .folder = "ComputationalOpMasking",
    .summary = "communication that computing does not hide, by parallelism (--parallel_types)",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_masking_partial,
    .archive = archive_masking_partial,
};
