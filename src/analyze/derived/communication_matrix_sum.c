/* communication_matrix_sum: what each link between two ranks carried and how fast, by kind of operator and in all.
 * communication_matrix is the same under its older name.
 *
 * Profiles number the ends of a link by their places in the communicator. Whose place that is stands in the metadata
 * (parallel_group_info); else a rank tells its own by the link from itself to itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/communication_matrix_sum.h"
#include "base/alloc.h"

static bool fits_matrix(int64_t place) {
    return place >= 0 && place < UINT32_MAX;
}

/* --- whose place it is ---------------------------------------------------------------------------------------- */

/* A rank's own place by the link from itself to itself. The first one that tells counts. */
static bool note_loops(ps_link_places *p, const ps_comm_part *part, uint32_t rank) {
    const ps_comm_tables *t = &part->tables;
    for (size_t i = 0; i < t->n_links; i++) {
        const ps_comm_link *link = &t->links[i];
        if (link->source != link->destination || !fits_matrix(link->source)) {
            continue;
        }
        const char *key = ps_comm_tables_text(t, link->group);
        ps_str group = ps_strpool_add(&p->groups, key, strlen(key));
        uint64_t slot = (uint64_t)group.id << 32 | (uint32_t)link->source;
        if (ps_str_is_none(group) || (ps_idmap_get(&p->loops, slot) == PS_IDMAP_NONE &&
                                      !ps_idmap_put(&p->loops, slot, rank))) {
            return false;
        }
    }
    return true;
}

ps_code ps_link_places_init(ps_link_places *p, const ps_reduce_input *in,
                            const ps_comm_roster *roster, ps_err *err) {
    *p = (ps_link_places){.in = in, .roster = roster};
    ps_idmap_init(&p->loops);
    bool ok = ps_strpool_init(&p->groups);
    for (uint32_t r = 0; ok && r < in->n_ranks; r++) {
        ok = in->partials[r] == NULL || note_loops(p, in->partials[r], r);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_link_places_fini(ps_link_places *p) {
    ps_idmap_fini(&p->loops);
    ps_strpool_fini(&p->groups);
}

int64_t ps_link_places_rank(const ps_link_places *p, const char *group, int64_t place) {
    const ps_comm_group *fact = ps_comm_roster_fact(p->roster, group);
    if (!fits_matrix(place)) {
        return -1;
    }
    if (fact != NULL && fact->ranks.n > 0) {
        return (uint64_t)place < fact->ranks.n ? ps_int_runs_at(&fact->ranks, (size_t)place) : -1;
    }
    ps_str id = ps_strpool_find(&p->groups, group, strlen(group));
    uint32_t row = ps_str_is_none(id)
                       ? PS_IDMAP_NONE
                       : ps_idmap_get(&p->loops, (uint64_t)id.id << 32 | (uint32_t)place);
    return row != PS_IDMAP_NONE ? p->in->ranks[row].rank : -1;
}

/* --- sums ----------------------------------------------------------------------------------------------------- */

/* One link and name; texts belong to the partials. An end is a global rank, or ~place in the group where nobody says whose place that is. */
typedef struct link_sum {
    const char *step, *op, *group, *transport, *op_name;
    int64_t source, destination;
    double size, time;
} link_sum;

typedef struct sums {
    ps_strpool keys;
    ps_idmap index; /* key -> row */
    link_sum *all;
    size_t n, cap;
} sums;

static const char TOTAL[] = "Total Op Info";

static bool sums_init(sums *s) {
    *s = (sums){0};
    ps_idmap_init(&s->index);
    return ps_strpool_init(&s->keys);
}

static void sums_fini(sums *s) {
    ps_strpool_fini(&s->keys);
    ps_idmap_fini(&s->index);
    ps_free(s->all);
}

static bool add_matrix(sums *s, const link_sum *link, bool is_p2p) {
    char text[1024];
    int n = snprintf(text, sizeof text, "%d\x1f%.100s\x1f%.500s\x1f%.100s\x1f%lld\x1f%lld", is_p2p,
                     link->step, link->op, link->group, (long long)link->source,
                     (long long)link->destination);
    ps_str key = ps_strpool_add(&s->keys, text, n > 0 ? (size_t)n : 0);
    uint32_t row = ps_str_is_none(key) ? 0 : ps_idmap_get(&s->index, key.id);
    if (ps_str_is_none(key)) {
        return false;
    }
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)s->n;
        if (!ps_grow(&s->all, &s->cap, s->n + 1, UINT32_MAX - 1, sizeof *s->all) ||
            !ps_idmap_put(&s->index, key.id, row)) {
            return false;
        }
        s->all[s->n++] = *link;
        return true;
    }
    s->all[row].size += link->size;
    s->all[row].time += link->time;
    return true;
}

typedef struct matrix_sums {
    sums by_name;
    sums total; /* of operators' sums ("allreduce-total") */
    sums
        placed; /* links with an end whose rank is not known: no other tool has them in its matrix */
} matrix_sums;

static int64_t end_of_link(const ps_link_places *places, const char *group, int64_t place) {
    int64_t rank = ps_link_places_rank(places, group, place);
    return rank >= 0 ? rank : ~place;
}

static bool add_link(matrix_sums *all, link_sum *link, bool is_p2p) {
    bool is_known = link->source >= 0 && link->destination >= 0;
    bool ok = add_matrix(is_known ? &all->by_name : &all->placed, link, is_p2p);
    if (ok && ps_comm_is_total(link->op)) {
        link->op = TOTAL;
        link->op_name = "";
        ok = add_matrix(is_known ? &all->total : &all->placed, link, is_p2p);
    }
    return ok;
}

static bool add_matrix_rank(matrix_sums *all, const ps_link_places *places,
                            const ps_comm_part *part, ps_diag *diag) {
    const ps_comm_tables *t = &part->tables;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_links; i++) {
        const ps_comm_link *row = &t->links[i];
        link_sum link = {.step = ps_comm_tables_text(t, row->step),
                         .op = ps_comm_tables_text(t, row->op),
                         .group = ps_comm_tables_text(t, row->group),
                         .transport = ps_comm_tables_text(t, row->transport),
                         .op_name = ps_comm_tables_text(t, row->op_name),
                         .size = row->size,
                         .time = row->time};
        link.source = end_of_link(places, link.group, row->source);
        link.destination = end_of_link(places, link.group, row->destination);
        if (link.source < 0 || link.destination < 0) {
            ps_diag_add(diag, PS_ODD_LINK_RANK, "%.60s of group %.30s, %lld-%lld", link.op,
                        link.group, (long long)row->source, (long long)row->destination);
        }
        ok = (!fits_matrix(row->source) || !fits_matrix(row->destination)) ||
             add_link(all, &link, row->is_p2p);
    }
    return ok;
}

/* --- the table ------------------------------------------------------------------------------------------------ */

typedef struct matrix_row {
    link_sum link;
    double bandwidth;
} matrix_row;

static const ps_column COLUMNS[] = {
    {.name = "step", PS_FIELD(matrix_row, link.step)},
    {.name = "hccl_op_name", PS_FIELD(matrix_row, link.op)},
    {.name = "group_name", PS_FIELD(matrix_row, link.group)},
    {.name = "src_rank", PS_FIELD(matrix_row, link.source)},
    {.name = "dst_rank", PS_FIELD(matrix_row, link.destination)},
    {.name = "transport_type", PS_FIELD(matrix_row, link.transport)},
    {.name = "op_name", PS_FIELD(matrix_row, link.op_name)},
    {.name = "transit_size", PS_FIELD(matrix_row, link.size), .unit = PS_UNIT_MB, .exact = true},
    {.name = "transit_time", PS_FIELD(matrix_row, link.time), .unit = PS_UNIT_MS, .exact = true},
    {.name = "bandwidth", PS_FIELD(matrix_row, bandwidth), .unit = PS_UNIT_GB_PER_S},
};

typedef struct placed_row {
    link_sum link; /* ranks that are not known: PS_UNKNOWN_INT */
    int64_t source_place, destination_place;
} placed_row;

static const ps_column PLACED_COLUMNS[] = {
    {.name = "step", PS_FIELD(placed_row, link.step)},
    {.name = "hccl_op_name", PS_FIELD(placed_row, link.op)},
    {.name = "group_name", PS_FIELD(placed_row, link.group)},
    {.name = "src_rank", PS_FIELD(placed_row, link.source)},
    {.name = "dst_rank", PS_FIELD(placed_row, link.destination)},
    {.name = "src_place", PS_FIELD(placed_row, source_place)},
    {.name = "dst_place", PS_FIELD(placed_row, destination_place)},
    {.name = "transport_type", PS_FIELD(placed_row, link.transport)},
    {.name = "op_name", PS_FIELD(placed_row, link.op_name)},
    {.name = "transit_size", PS_FIELD(placed_row, link.size), .unit = PS_UNIT_MB, .exact = true},
    {.name = "transit_time", PS_FIELD(placed_row, link.time), .unit = PS_UNIT_MS, .exact = true},
};

static ps_table *placed_table(const sums *s) {
    ps_table *t = ps_table_new("LinksOfUnknownRanks", "", PS_COLUMNS(PLACED_COLUMNS));
    for (size_t i = 0; i < s->n; i++) {
        placed_row row = {
            .link = s->all[i], .source_place = PS_UNKNOWN_INT, .destination_place = PS_UNKNOWN_INT};
        if (row.link.source < 0) {
            row.source_place = ~row.link.source;
            row.link.source = PS_UNKNOWN_INT;
        }
        if (row.link.destination < 0) {
            row.destination_place = ~row.link.destination;
            row.link.destination = PS_UNKNOWN_INT;
        }
        ps_table_put(t, &row);
    }
    return t;
}

static void put_matrix_sums(ps_table *t, const sums *s) {
    for (size_t i = 0; i < s->n; i++) {
        matrix_row row = {.link = s->all[i]};
        double size = row.link.size;
        double time = row.link.time;
        row.bandwidth = time > 0 ? round(size / time * 1e4) / 1e4 : 0;
        if (isnan(size) || isnan(time)) {
            row.link.size = row.link.time = row.bandwidth = NAN;
        }
        ps_table_put(t, &row);
    }
}

static ps_code map_matrix(const ps_map_input *in, void **out, ps_err *err) {
    ps_comm_part *part = NULL;
    ps_code code = ps_comm_part_read(in, PS_COMM_TIMES | PS_COMM_LINKS, &part, err);
    *out = part;
    if (code == PS_OK && part->tables.n_links == 0) {
        code = ps_fail(
            err, PS_NOTHING, "%s",
            PS_SAY(in->opts->lang,
                   "no matrix of links (CommAnalyzerMatrix, communication_matrix.json): Ascend's "
                   "profiler writes it at level 1 or higher, when communication was recorded; "
                   "communication marks have no such figures",
                   "没有链路矩阵（CommAnalyzerMatrix、communication_matrix.json）：Ascend profiler "
                   "level1 及以上且采集了通信时才会写出；通信打点没有这些数据"));
    }
    if (code != PS_OK && code != PS_NOTHING) {
        ps_comm_part_free(part);
        *out = NULL;
    }
    return code;
}

static ps_code reduce_matrix(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_comm_roster roster;
    ps_link_places places = {0};
    matrix_sums all = {0};
    ps_code code = ps_comm_roster_build(in, &roster, err);
    if (code == PS_OK) {
        code = ps_link_places_init(&places, in, &roster, err);
    }
    bool ok = sums_init(&all.by_name) && sums_init(&all.total) && sums_init(&all.placed);
    for (size_t r = 0; code == PS_OK && ok && r < in->n_ranks; r++) {
        ok = in->partials[r] == NULL ||
             add_matrix_rank(&all, &places, in->partials[r], in->diags[r]);
    }
    if (code == PS_OK) {
        ps_table *t =
            ok ? ps_table_new("ClusterCommunicationMatrix", "", PS_COLUMNS(COLUMNS)) : NULL;
        put_matrix_sums(t, &all.by_name);
        put_matrix_sums(t, &all.total);
        ps_result_finish_table(in->result, t, "cluster_communication_matrix",
                               PS_TO_DB | PS_TO_FILES);
        if (all.placed.n > 0) {
            /* For who looks at it in the program: files are those of the other tools. */
            ps_result_finish_table(in->result, placed_table(&all.placed), NULL, PS_TO_PROGRAM);
        }
        code = ps_result_code(in->result, err);
    }
    sums_fini(&all.by_name);
    sums_fini(&all.total);
    sums_fini(&all.placed);
    ps_link_places_fini(&places);
    ps_comm_roster_fini(&roster);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_matrix, .reduce = reduce_matrix}};

const ps_analysis ps_analysis_communication_matrix_sum = {
    .name = "communication_matrix_sum",
    .folder = "CommunicationMatrixSum",
    .summary = "size, time and bandwidth of every link between two ranks",
    .sets = PS_IN_ALL | PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};

const ps_analysis ps_analysis_communication_matrix = {
    .name = "communication_matrix",
    .folder = "CommunicationMatrixSum",
    .summary = "the same as communication_matrix_sum",
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};
