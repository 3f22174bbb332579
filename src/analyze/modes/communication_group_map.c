/* communication_group_map: which ranks make up which communicator, and what the job calls it. */
#include "analyze/modes/communication_group_map.h"

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "base/buf.h"

typedef struct group_row {
    const char *type, *rank_set, *key, *id, *label;
} group_row;

static const ps_column COLUMNS[] = {
    {.name = "type", PS_FIELD(group_row, type)},
    {.name = "rank_set", PS_FIELD(group_row, rank_set)},
    {.name = "group_name", PS_FIELD(group_row, key)},
    {.name = "group_id", PS_FIELD(group_row, id)},
    {.name = "pg_name", PS_FIELD(group_row, label)},
};

static void put_roster_group(ps_table *t, const ps_roster_group *g) {
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < g->n_ranks; i++) {
        ps_buf_addf(&text, "%s%lld", i == 0 ? "(" : ",", (long long)g->ranks[i]);
    }
    ps_buf_addf(&text, ")");
    if (ps_buf_ok(&text)) {
        ps_table_put(t, &(group_row){.type = g->is_p2p ? "p2p" : "collective",
                                     .rank_set = ps_buf_str(&text),
                                     .key = g->key,
                                     .id = g->id,
                                     .label = g->label});
    } else {
        ps_table_fail(t);
    }
    ps_buf_fini(&text);
}

ps_code ps_comm_roster_table(const ps_comm_roster *roster, ps_result *result, ps_err *err) {
    ps_table *t = ps_table_new("CommunicationGroupMapping", "communicators and their ranks",
                               PS_COLUMNS(COLUMNS));
    for (size_t i = 0; i < roster->n; i++) {
        put_roster_group(t, &roster->groups[i]);
    }
    ps_result_finish_table(result, t, "communication_group_mapping", PS_TO_ALL);
    return ps_result_code(result, err);
}

static ps_code map_group_map(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, PS_COMM_TIMES, out, err);
}

static ps_code reduce_group_map(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_comm_roster roster;
    ps_code code = ps_comm_roster_build(in, &roster, err);
    if (code == PS_OK) {
        code = ps_comm_roster_table(&roster, in->result, err);
    }
    ps_comm_roster_fini(&roster);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_group_map, .reduce = reduce_group_map}};

const ps_analysis ps_analysis_communication_group_map = {
    .name = "communication_group_map",
    .folder = "CommunicationGroupMap",
    .summary = "communicators: their ranks, and which parallelism they serve",
    .sets = PS_IN_ALL | PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};
