/* hccl_sum: how long communication operators take, by type over all ranks, by type and rank, and the names that take
 * longest. */
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/sort.h"

/* One operator; `what` is its type or name in the pool of the gathering. */
typedef struct sample {
    int64_t duration_ns;
    uint32_t what, rank;
} sample;

typedef struct gathering {
    ps_strpool texts;
    sample *by_type, *by_name;
    size_t n;
    int64_t *values; /* of one row */
} gathering;

typedef struct row {
    ps_stats stats;
    const char *text;
    int64_t rank, min_rank, max_rank;
} row;

/* --- gathering ------------------------------------------------------------------------------------------------ */

static bool gather_hccl_rank(gathering *g, const ps_comm_list *list, uint32_t rank) {
    for (size_t i = 0; i < list->n; i++) {
        const ps_comm_op *op = &list->ops[i];
        const char *type = ps_comm_text(list, op->look->type);
        const char *name = ps_comm_text(list, op->name);
        int64_t duration = op->end_ns - op->start_ns;
        uint32_t type_id = ps_strpool_add(&g->texts, type, strlen(type)).id;
        uint32_t name_id = ps_strpool_add(&g->texts, name, strlen(name)).id;
        if (type_id == 0 || name_id == 0) {
            return false;
        }
        g->by_type[g->n] = (sample){duration, type_id, rank};
        g->by_name[g->n++] = (sample){duration, name_id, rank};
    }
    return true;
}

static bool gather_hccl(gathering *g, const ps_reduce_input *in) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        n += part != NULL ? part->list.n : 0;
    }
    *g = (gathering){.by_type = ps_calloc(n + 1, sizeof *g->by_type),
                     .by_name = ps_calloc(n + 1, sizeof *g->by_name),
                     .values = ps_calloc(n + 1, sizeof *g->values)};
    bool ok =
        ps_strpool_init(&g->texts) && g->by_type != NULL && g->by_name != NULL && g->values != NULL;
    for (uint32_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        ok = part == NULL || gather_hccl_rank(g, &part->list, r);
    }
    return ok;
}

static void gathering_fini(gathering *g) {
    ps_free(g->by_type);
    ps_free(g->by_name);
    ps_free(g->values);
    ps_strpool_fini(&g->texts);
}

/* --- rows ----------------------------------------------------------------------------------------------------- */

/* The lowest ranks of the extremes. */
static row measure_hccl(gathering *g, const ps_reduce_input *in, const sample *s, size_t n) {
    const sample *least = s;
    const sample *most = s;
    for (size_t i = 0; i < n; i++) {
        g->values[i] = s[i].duration_ns;
        least = s[i].duration_ns < least->duration_ns ? &s[i] : least;
        most = s[i].duration_ns > most->duration_ns ? &s[i] : most;
    }
    return (row){.stats = ps_stats_of(g->values, n),
                 .text = ps_strpool_get(&g->texts, (ps_str){s->what}),
                 .rank = in->ranks[s->rank].rank,
                 .min_rank = in->ranks[least->rank].rank,
                 .max_rank = in->ranks[most->rank].rank};
}

/* Rows of samples that are sorted, one for each text, or text and rank. NULL when memory is out. */
static row *measure_all_hccl(gathering *g, const ps_reduce_input *in, const sample *s, bool by_rank,
                             size_t *n_rows) {
    row *rows = ps_calloc(g->n + 1, sizeof *rows);
    *n_rows = 0;
    for (size_t i = 0; rows != NULL && i < g->n;) {
        size_t k = i;
        while (k < g->n && s[k].what == s[i].what && (!by_rank || s[k].rank == s[i].rank)) {
            k++;
        }
        rows[(*n_rows)++] = measure_hccl(g, in, s + i, k - i);
        i = k;
    }
    return rows;
}

/* --- tables --------------------------------------------------------------------------------------------------- */

#define TYPE_COLUMN                                                                                \
    { .name = "OpType", PS_FIELD(row, text), .is_key = true }

static const ps_column ALL_COLUMNS[] = {TYPE_COLUMN, PS_STATS_COLUMNS(row, stats)};
static const ps_column RANK_COLUMNS[] = {
    TYPE_COLUMN, PS_STATS_COLUMNS(row, stats), {.name = "Rank", PS_FIELD(row, rank)}};
static const ps_column TOP_COLUMNS[] = {{.name = "OpName", PS_FIELD(row, text), .is_key = true},
                                        PS_STATS_COLUMNS(row, stats),
                                        {.name = "MinRank", PS_FIELD(row, min_rank)},
                                        {.name = "MaxRank", PS_FIELD(row, max_rank)}};

static const ps_sort_key BY_SUM[] = {PS_DOWN(row, stats.sum), PS_UP(row, text)};
static const ps_sort_key BY_RANK_AND_SUM[] = {PS_UP(row, rank), PS_DOWN(row, stats.sum),
                                              PS_UP(row, text)};
static const ps_sort_key BY_MEAN[] = {PS_DOWN(row, stats.mean), PS_UP(row, text)};

typedef struct table_spec {
    const char *name, *title, *file;
    const ps_column *columns;
    size_t n_columns;
    bool by_name, by_rank;
    const ps_sort_key *keys;
    size_t n_keys;
} table_spec;

static const table_spec TABLES[] = {
    {"HcclAllRankStats", "communication operators by type, all ranks", "all_stats",
     PS_COLUMNS(ALL_COLUMNS), false, false, PS_KEYS(BY_SUM)},
    {"HcclPerRankStats", "communication operators by type and rank", "rank_stats",
     PS_COLUMNS(RANK_COLUMNS), false, true, PS_KEYS(BY_RANK_AND_SUM)},
    {"HcclTopOpStats", "names that take longest on average", "top_op_stats",
     PS_COLUMNS(TOP_COLUMNS), true, false, PS_KEYS(BY_MEAN)},
};

#define DEFAULT_TOP 15

static void give_hccl_table(gathering *g, const ps_reduce_input *in, const table_spec *spec) {
    size_t n = 0;
    row *rows = measure_all_hccl(g, in, spec->by_name ? g->by_name : g->by_type, spec->by_rank, &n);
    ps_table *t = ps_table_new(spec->name, spec->title, spec->columns, spec->n_columns);
    size_t limit = !spec->by_name          ? n
                   : in->opts->top_num > 0 ? (size_t)in->opts->top_num
                                           : DEFAULT_TOP;
    ps_sort_by(rows, n, sizeof *rows, spec->keys, spec->n_keys);
    ps_table_put_all(t, rows, n < limit ? n : limit, sizeof *rows);
    ps_free(rows);
    ps_result_finish_table(in->result, t, spec->file,
                           spec->by_rank ? PS_TO_DB | PS_TO_FILES : PS_TO_ALL);
}

/* --- groups --------------------------------------------------------------------------------------------------- */

typedef struct group_row {
    const char *group, *key, *ranks;
} group_row;

static const ps_column GROUP_COLUMNS[] = {
    {.name = "GroupName", PS_FIELD(group_row, group), .is_key = true},
    {.name = "GroupId", PS_FIELD(group_row, key)},
    {.name = "Ranks", PS_FIELD(group_row, ranks)}};

typedef struct membership {
    const char *group; /* in the part of a rank */
    int64_t rank;
} membership;

/* Each group of each rank once. NULL when memory is out. */
static membership *find_memberships(const ps_reduce_input *in, size_t *n) {
    membership *all = NULL;
    size_t cap = 0;
    bool ok = ps_grow(&all, &cap, 1, SIZE_MAX / 64, sizeof *all);
    *n = 0;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        size_t n_strings = part != NULL ? part->list.strings.n : 0;
        bool *seen = ps_calloc(n_strings + 1, sizeof *seen);
        ok = seen != NULL;
        for (size_t i = 0; ok && part != NULL && i < part->list.n; i++) {
            ps_str group = part->list.ops[i].look->group;
            if (ps_str_is_none(group) || seen[group.id]) {
                continue;
            }
            seen[group.id] = true;
            ok = ps_grow(&all, &cap, *n + 1, SIZE_MAX / 64, sizeof *all);
            if (ok) {
                all[(*n)++] = (membership){ps_comm_text(&part->list, group), in->ranks[r].rank};
            }
        }
        ps_free(seen);
    }
    if (!ok) {
        ps_free(all);
        return NULL;
    }
    return all;
}

static void put_group(ps_table *t, const membership *m, size_t n) {
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(m->group, key, sizeof key);
    size_t len = strlen(key);
    ps_buf ranks;
    ps_buf_init(&ranks, 0);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&ranks, "%s%lld", i == 0 ? "" : ";", (long long)m[i].rank);
    }
    if (ps_buf_ok(&ranks)) {
        ps_table_put(t, &(group_row){.group = m->group,
                                     .key = len > 3 ? key + len - 3 : key,
                                     .ranks = ps_buf_str(&ranks)});
    } else {
        ps_table_fail(t);
    }
    ps_buf_fini(&ranks);
}

static void give_groups(const ps_reduce_input *in) {
    static const ps_sort_key KEYS[] = {PS_UP(membership, group), PS_UP(membership, rank)};
    size_t n = 0;
    membership *all = find_memberships(in, &n);
    ps_table *t = all != NULL
                      ? ps_table_new("HcclGroupNameMap", "communicators", PS_COLUMNS(GROUP_COLUMNS))
                      : NULL;
    ps_sort_by(all, n, sizeof *all, PS_KEYS(KEYS));
    for (size_t i = 0; all != NULL && i < n;) {
        size_t k = i;
        while (k < n && strcmp(all[k].group, all[i].group) == 0) {
            k++;
        }
        put_group(t, all + i, k - i);
        i = k;
    }
    ps_free(all);
    ps_result_finish_table(in->result, t, "group_name_map", PS_TO_DB | PS_TO_FILES);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_hccl(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, 0, out, err);
}

static ps_code reduce_hccl(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    gathering g;
    static const ps_sort_key KEYS[] = {PS_UP(sample, what), PS_UP(sample, rank),
                                       PS_UP(sample, duration_ns)};
    ps_code code = gather_hccl(&g, in) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        ps_sort_by(g.by_type, g.n, sizeof *g.by_type, PS_KEYS(KEYS));
        ps_sort_by(g.by_name, g.n, sizeof *g.by_name, PS_KEYS(KEYS));
        for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
            give_hccl_table(&g, in, &TABLES[i]);
        }
        give_groups(in);
        code = ps_result_code(in->result, err);
    }
    gathering_fini(&g);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_hccl, .reduce = reduce_hccl}};

const ps_analysis ps_analysis_hccl_sum = {
    .name = "hccl_sum",
    .folder = "HcclSum",
    .summary = "durations of communication operators by type, rank and name",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};
