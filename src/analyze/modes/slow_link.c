/* slow_link: collectives whose fastest run stands out among those of the same type, size and number of ranks, and links
 * that are slower than others of their kind.
 *
 *   SlowLinkSum, SlowLinkOps   transmit = the shortest duration over the ranks of one occurrence: what is left when nobody
 *                              waits. A class of operators in which any lies beyond 3 sigma of the mean.
 *   SlowLinkMatrix             links of the communication matrix under 0.8 of the median bandwidth of their transport and
 *                              size class: a class spans a factor of four, so that small messages accuse no link. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/job_skew.h"
#include "analyze/derived/slow_link_matrix.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/sort.h"

#define DEFAULT_TOP 15

/* One operator of one rank in an occurrence. */
typedef struct sample {
    int64_t transmit_ns, size_bytes, start_ns;
    const ps_comm_op *op;
    uint32_t slice;
    uint32_t rank, type; /* of the pool of texts */
    uint32_t n_ranks;
} sample;

/* Samples of one type, size and number of ranks. */
typedef struct link_class {
    size_t begin, end;
    const char *type; /* these three are those of its samples */
    int64_t size_bytes;
    uint32_t n_ranks;
    ps_stats stats;
    double offset_ratio;
    int64_t min_rank, max_rank;
} link_class;

typedef struct finding {
    const ps_reduce_input *in;
    const ps_comm_list *const *lists;
    ps_strpool texts;
    sample *samples;
    size_t n;
    int64_t *values;
    link_class *classes; /* those that stand out */
    size_t n_classes;
} finding;

/* --- classes -------------------------------------------------------------------------------------------------- */

static bool take_slow_link_collective(finding *f, const ps_skew *skew,
                                      const ps_matched_collective *m) {
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const ps_collective_part *p = &skew->parts[i];
        const ps_comm_list *list = f->lists[p->rank];
        const ps_comm_op *op = &list->ops[p->op];
        const char *type = ps_comm_text(list, op->look->type);
        ps_str id = ps_strpool_add(&f->texts, type, strlen(type));
        if (ps_str_is_none(id)) {
            return false;
        }
        f->samples[f->n++] = (sample){.transmit_ns = m->shortest_ns,
                                      .size_bytes = op->look->size_bytes,
                                      .start_ns = op->start_ns,
                                      .slice = op->slice,
                                      .op = op,
                                      .rank = p->rank,
                                      .type = id.id,
                                      .n_ranks = m->n};
    }
    return true;
}

static ps_code take_all_slow_link(finding *f, ps_err *err) {
    const ps_skew *skew = NULL;
    ps_code code = ps_job_skew_of(f->in, (ps_comm_part *const *)f->in->partials, -1, &skew, err);
    if (code == PS_OK) {
        f->samples = ps_calloc(skew->n_parts + 1, sizeof *f->samples);
        f->values = ps_calloc(skew->n_parts + 1, sizeof *f->values);
        f->classes = ps_calloc(skew->n_parts + 1, sizeof *f->classes);
        bool ok = ps_strpool_init(&f->texts) && f->samples != NULL && f->values != NULL &&
                  f->classes != NULL;
        for (size_t i = 0; ok && i < skew->n_collectives; i++) {
            ok = take_slow_link_collective(f, skew, &skew->collectives[i]);
        }
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    return code;
}

/* The first of the samples decides between equal extremes. */
static link_class measure_slow_link(finding *f, size_t begin, size_t end) {
    const sample *least = &f->samples[begin];
    const sample *most = least;
    for (size_t i = begin; i < end; i++) {
        const sample *s = &f->samples[i];
        f->values[i - begin] = s->transmit_ns;
        least = s->transmit_ns < least->transmit_ns ? s : least;
        most = s->transmit_ns > most->transmit_ns ? s : most;
    }
    link_class c = {.begin = begin,
                    .end = end,
                    .type = ps_strpool_get(&f->texts, (ps_str){most->type}),
                    .size_bytes = most->size_bytes,
                    .n_ranks = most->n_ranks,
                    .stats = ps_stats_of(f->values, end - begin),
                    .min_rank = f->in->ranks[least->rank].rank,
                    .max_rank = f->in->ranks[most->rank].rank};
    double above = fabs((double)c.stats.max - c.stats.mean);
    double below = fabs((double)c.stats.min - c.stats.mean);
    c.offset_ratio =
        c.stats.population > 0 ? (above > below ? above : below) / c.stats.population : 0;
    return c;
}

static void find_classes(finding *f) {
    static const ps_sort_key KEYS[] = {PS_UP(sample, type),    PS_UP(sample, size_bytes),
                                       PS_UP(sample, n_ranks), PS_UP(sample, start_ns),
                                       PS_UP(sample, rank),    PS_UP(sample, slice)};
    static const ps_sort_key WORST[] = {PS_DOWN(link_class, offset_ratio), PS_UP(link_class, type),
                                        PS_UP(link_class, size_bytes), PS_UP(link_class, n_ranks)};
    ps_sort_by(f->samples, f->n, sizeof *f->samples, PS_KEYS(KEYS));
    for (size_t i = 0; i < f->n;) {
        size_t k = i;
        const sample *s = &f->samples[i];
        while (k < f->n && f->samples[k].type == s->type &&
               f->samples[k].size_bytes == s->size_bytes && f->samples[k].n_ranks == s->n_ranks) {
            k++;
        }
        link_class c = measure_slow_link(f, i, k);
        if (c.offset_ratio > 3) {
            f->classes[f->n_classes++] = c;
        }
        i = k;
    }
    ps_sort_by(f->classes, f->n_classes, sizeof *f->classes, PS_KEYS(WORST));
}

/* --- tables --------------------------------------------------------------------------------------------------- */

typedef struct class_row {
    char name[256];
    link_class found;
} class_row;

static const ps_column SUM_COLUMNS[] = {
    {.name = "opTypeRelatedRanksDataSize", PS_FIELD(class_row, name)},
    PS_STATS_COLUMNS(class_row, found.stats),
    {.name = "offsetRatio", PS_FIELD(class_row, found.offset_ratio)},
    {.name = "maxRank", PS_FIELD(class_row, found.max_rank)},
    {.name = "minRank", PS_FIELD(class_row, found.min_rank)}};

static size_t n_shown(const finding *f) {
    size_t limit = f->in->opts->top_num > 0 ? (size_t)f->in->opts->top_num : DEFAULT_TOP;
    return f->n_classes < limit ? f->n_classes : limit;
}

static void put_slow_link_class(ps_table *t, const link_class *c) {
    class_row row = {.found = *c};
    char size[32] = "unknown";
    if (c->size_bytes >= 0) {
        (void)snprintf(size, sizeof size, "%lld", (long long)c->size_bytes);
    }
    (void)snprintf(row.name, sizeof row.name, "%.200s-%u-%s", c->type, c->n_ranks, size);
    ps_table_put(t, &row);
}

static void give_slow_link_sums(const finding *f) {
    ps_table *t = ps_table_new("SlowLinkSum", "collectives whose fastest runs differ",
                               PS_COLUMNS(SUM_COLUMNS));
    for (size_t i = 0; i < n_shown(f); i++) {
        put_slow_link_class(t, &f->classes[i]);
    }
    ps_result_finish_table(f->in->result, t, "slow_link_sum", PS_TO_ALL);
}

typedef struct sample_row {
    int64_t rank, time_ns;
    const char *group, *name, *type, *data_type;
    sample sample;
} sample_row;

static const ps_column OP_COLUMNS[] = {
    {.name = "rankId", PS_FIELD(sample_row, rank)},
    {.name = "groupName", PS_FIELD(sample_row, group)},
    {.name = "communicationTime", PS_FIELD(sample_row, time_ns), .unit = PS_UNIT_NS},
    {.name = "opName", PS_FIELD(sample_row, name)},
    {.name = "opType", PS_FIELD(sample_row, type)},
    {.name = "dataType", PS_FIELD(sample_row, data_type)},
    {.name = "dataSize",
     PS_FIELD(sample_row, sample.size_bytes),
     .unit = PS_UNIT_BYTES,
     .unknown_below_zero = true},
    {.name = "transmitTime", PS_FIELD(sample_row, sample.transmit_ns), .unit = PS_UNIT_NS},
    {.name = "relatedRanks", PS_FIELD(sample_row, sample.n_ranks)},
};

static void put_sample(ps_table *t, const finding *f, const sample *s) {
    const ps_comm_list *list = f->lists[s->rank];
    const ps_comm_op *op = s->op;
    ps_table_put(t, &(sample_row){.rank = f->in->ranks[s->rank].rank,
                                  .time_ns = op->end_ns - op->start_ns,
                                  .group = ps_text_or_null(ps_comm_text(list, op->look->group)),
                                  .name = ps_comm_text(list, op->name),
                                  .type = ps_comm_text(list, op->look->type),
                                  .data_type = ps_str_is_none(op->look->data_type)
                                                   ? NULL
                                                   : ps_comm_text(list, op->look->data_type),
                                  .sample = *s});
}

static void give_slow_link_ops(const finding *f) {
    ps_table *t = ps_table_new("SlowLinkOps", "their operators", PS_COLUMNS(OP_COLUMNS));
    for (size_t i = 0; i < n_shown(f); i++) {
        for (size_t k = f->classes[i].begin; k < f->classes[i].end; k++) {
            put_sample(t, f, &f->samples[k]);
        }
    }
    ps_result_finish_table(f->in->result, t, "slow_link_ops", PS_TO_DB | PS_TO_FILES);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_slow_link(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, PS_COMM_TIMES | PS_COMM_LINKS, out, err);
}

static ps_code reduce_slow_link(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_comm_list **lists = ps_comm_lists(in);
    finding f = {.in = in, .lists = lists};
    ps_code code = lists != NULL ? take_all_slow_link(&f, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        find_classes(&f);
        give_slow_link_sums(&f);
        give_slow_link_ops(&f);
        code = ps_slow_link_matrix(in, err);
    }
    ps_free(f.samples);
    ps_free(f.values);
    ps_free(f.classes);
    ps_strpool_fini(&f.texts);
    ps_free(lists);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_slow_link, .reduce = reduce_slow_link}};

const ps_analysis ps_analysis_slow_link = {
    .name = "slow_link",
    .folder = "SlowLink",
    .summary = "collectives and links that are slower than others of their kind",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};
