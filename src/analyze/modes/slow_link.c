/* slow_link: collectives whose fastest run stands out among those of the same type, size and number of ranks, and links
 * that are slower than others of their kind.
 *
 *   SlowLinkSum, SlowLinkOps   transmit = the shortest duration over the ranks of one occurrence: what is left when nobody
 *                              waits. A class of operators in which any lies beyond 3 sigma of the mean.
 *   SlowLinkMatrix             links of the communication matrix under 0.8 of the median bandwidth of their transport and
 *                              size class: a class spans a factor of four, so that small messages accuse no link. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/slow_link_matrix.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"

#define DEFAULT_TOP 15

/* One operator of one rank in an occurrence. */
typedef struct sample {
    int64_t transmit_ns, size_bytes;
    const ps_comm_op *op;
    uint32_t rank, type; /* of the pool of texts */
    uint32_t n_ranks;
} sample;

/* Samples of one type, size and number of ranks. */
typedef struct link_class {
    size_t begin, end;
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
        const char *type = ps_comm_text(list, op->type);
        ps_str id = ps_strpool_add(&f->texts, type, strlen(type));
        if (ps_str_is_none(id)) {
            return false;
        }
        f->samples[f->n++] = (sample){.transmit_ns = m->shortest_ns,
                                      .size_bytes = op->size_bytes,
                                      .op = op,
                                      .rank = p->rank,
                                      .type = id.id,
                                      .n_ranks = m->n};
    }
    return true;
}

static ps_code take_all_slow_link(finding *f, ps_err *err) {
    ps_skew skew;
    ps_skew_input input = {
        .lists = f->lists, .ranks = f->in->ranks, .n_ranks = f->in->n_ranks, .step = -1};
    ps_code code = ps_skew_measure(&input, &skew, err);
    if (code == PS_OK) {
        f->samples = ps_calloc(skew.n_parts + 1, sizeof *f->samples);
        f->values = ps_calloc(skew.n_parts + 1, sizeof *f->values);
        f->classes = ps_calloc(skew.n_parts + 1, sizeof *f->classes);
        bool ok = ps_strpool_init(&f->texts) && f->samples != NULL && f->values != NULL &&
                  f->classes != NULL;
        for (size_t i = 0; ok && i < skew.n_collectives; i++) {
            ok = take_slow_link_collective(f, &skew, &skew.collectives[i]);
        }
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_skew_fini(&skew);
    return code;
}

#define BY(field)                                                                                  \
    if (x->field != y->field) {                                                                    \
        return x->field < y->field ? -1 : 1;                                                       \
    }

static int compare_slow_link_samples(const void *a, const void *b) {
    const sample *x = a;
    const sample *y = b;
    BY(type)
    BY(size_bytes)
    BY(n_ranks)
    BY(op->start_ns)
    BY(rank)
    BY(op->slice)
    return 0;
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
                    .stats = ps_stats_of(f->values, end - begin),
                    .min_rank = f->in->ranks[least->rank].rank,
                    .max_rank = f->in->ranks[most->rank].rank};
    double above = fabs((double)c.stats.max - c.stats.mean);
    double below = fabs((double)c.stats.min - c.stats.mean);
    c.offset_ratio =
        c.stats.population > 0 ? (above > below ? above : below) / c.stats.population : 0;
    return c;
}

static int compare_classes(const void *a, const void *b, void *finding_) {
    const link_class *x = a;
    const link_class *y = b;
    const finding *f = finding_;
    if (x->offset_ratio > y->offset_ratio || x->offset_ratio < y->offset_ratio) {
        return x->offset_ratio > y->offset_ratio ? -1 : 1;
    }
    const sample *s = &f->samples[x->begin];
    const sample *t = &f->samples[y->begin];
    int by_type = strcmp(ps_strpool_get(&f->texts, (ps_str){s->type}),
                         ps_strpool_get(&f->texts, (ps_str){t->type}));
    if (by_type != 0) {
        return by_type;
    }
    if (s->size_bytes != t->size_bytes) {
        return s->size_bytes < t->size_bytes ? -1 : 1;
    }
    return s->n_ranks < t->n_ranks ? -1 : s->n_ranks > t->n_ranks;
}

static void find_classes(finding *f) {
    if (f->n > 1) {
        qsort(f->samples, f->n, sizeof *f->samples, compare_slow_link_samples);
    }
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
    if (f->n_classes > 1) {
        qsort_r(f->classes, f->n_classes, sizeof *f->classes, compare_classes, f);
    }
}

/* --- tables --------------------------------------------------------------------------------------------------- */

enum { S_CLASS, S_STATS, S_RATIO = 1 + 9, S_MAX, S_MIN, N_S };

static const ps_column SUM_COLUMNS[] = {
    [S_CLASS] = {.name = "opTypeRelatedRanksDataSize", .type = PS_COL_TEXT},
    PS_STATS_COLUMNS,
    {.name = "offsetRatio", .type = PS_COL_REAL},
    {.name = "maxRank", .type = PS_COL_INT},
    {.name = "minRank", .type = PS_COL_INT}};

static size_t n_shown(const finding *f) {
    size_t limit = f->in->opts->top_num > 0 ? (size_t)f->in->opts->top_num : DEFAULT_TOP;
    return f->n_classes < limit ? f->n_classes : limit;
}

static bool put_slow_link_class(ps_table *t, const finding *f, const link_class *c) {
    const sample *s = &f->samples[c->begin];
    char size[32] = "unknown";
    char text[256];
    if (s->size_bytes >= 0) {
        (void)snprintf(size, sizeof size, "%lld", (long long)s->size_bytes);
    }
    (void)snprintf(text, sizeof text, "%.200s-%u-%s", ps_strpool_get(&f->texts, (ps_str){s->type}),
                   s->n_ranks, size);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, S_CLASS, text)) {
        return false;
    }
    ps_stats_put(t, S_STATS, &c->stats);
    ps_table_set_real(t, S_RATIO, c->offset_ratio);
    ps_table_set_int(t, S_MAX, c->max_rank);
    ps_table_set_int(t, S_MIN, c->min_rank);
    return true;
}

static ps_code add_sums(const finding *f, ps_err *err) {
    ps_table *t = ps_table_new("SlowLinkSum", "collectives whose fastest runs differ", SUM_COLUMNS,
                               sizeof SUM_COLUMNS / sizeof *SUM_COLUMNS);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < n_shown(f); i++) {
        ok = put_slow_link_class(t, f, &f->classes[i]);
    }
    return ps_result_finish_table(f->in->result, t, ok, "slow_link_sum", PS_TO_ALL, err);
}

enum { O_RANK, O_GROUP, O_TIME, O_NAME, O_TYPE, O_DATA_TYPE, O_SIZE, O_TRANSMIT, O_RELATED, N_O };

static const ps_column OP_COLUMNS[N_O] = {
    [O_RANK] = {.name = "rankId", .type = PS_COL_INT},
    [O_GROUP] = {.name = "groupName", .type = PS_COL_TEXT},
    [O_TIME] = {.name = "communicationTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [O_NAME] = {.name = "opName", .type = PS_COL_TEXT},
    [O_TYPE] = {.name = "opType", .type = PS_COL_TEXT},
    [O_DATA_TYPE] = {.name = "dataType", .type = PS_COL_TEXT},
    [O_SIZE] = {.name = "dataSize", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [O_TRANSMIT] = {.name = "transmitTime", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [O_RELATED] = {.name = "relatedRanks", .type = PS_COL_INT},
};

static bool put_sample(ps_table *t, const finding *f, const sample *s) {
    const ps_comm_list *list = f->lists[s->rank];
    const char *data_type =
        ps_str_is_none(s->op->data_type) ? NULL : ps_comm_text(list, s->op->data_type);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, O_GROUP, ps_comm_text(list, s->op->group)) ||
        !ps_table_set_text(t, O_NAME, ps_comm_text(list, s->op->name)) ||
        !ps_table_set_text(t, O_TYPE, ps_comm_text(list, s->op->type)) ||
        !ps_table_set_text(t, O_DATA_TYPE, data_type)) {
        return false;
    }
    ps_table_set_int(t, O_RANK, f->in->ranks[s->rank].rank);
    ps_table_set_int(t, O_TIME, s->op->end_ns - s->op->start_ns);
    if (s->size_bytes >= 0) {
        ps_table_set_int(t, O_SIZE, s->size_bytes);
    }
    ps_table_set_int(t, O_TRANSMIT, s->transmit_ns);
    ps_table_set_int(t, O_RELATED, s->n_ranks);
    return true;
}

static ps_code add_slow_link_ops(const finding *f, ps_err *err) {
    ps_table *t = ps_table_new("SlowLinkOps", "their operators", OP_COLUMNS, N_O);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < n_shown(f); i++) {
        for (size_t k = f->classes[i].begin; ok && k < f->classes[i].end; k++) {
            ok = put_sample(t, f, &f->samples[k]);
        }
    }
    return ps_result_finish_table(f->in->result, t, ok, "slow_link_ops", PS_TO_DB | PS_TO_FILES,
                                  err);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_slow_link(const ps_map_input *in, void **out, ps_err *err) {
    ps_comm_part *part = NULL;
    ps_code code = ps_comm_part_read(in, PS_COMM_TIMES | PS_COMM_LINKS, &part, err);
    if (code != PS_OK) {
        ps_comm_part_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

static ps_code reduce_slow_link(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_comm_list **lists = ps_comm_lists(in);
    finding f = {.in = in, .lists = lists};
    ps_code code = lists != NULL ? take_all_slow_link(&f, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        find_classes(&f);
        code = add_sums(&f, err);
    }
    if (code == PS_OK) {
        code = add_slow_link_ops(&f, err);
    }
    if (code == PS_OK) {
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
};
