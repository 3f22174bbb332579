/* communication_group_map: which ranks make up which communicator, and what the job calls it. */
#include "analyze/modes/communication_group_map.h"

#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "base/buf.h"

enum { TYPE, RANK_SET, GROUP_NAME, GROUP_ID, PG_NAME, N_COLUMNS };

static const ps_column COLUMNS[N_COLUMNS] = {
    [TYPE] = {.name = "type", .type = PS_COL_TEXT},
    [RANK_SET] = {.name = "rank_set", .type = PS_COL_TEXT},
    [GROUP_NAME] = {.name = "group_name", .type = PS_COL_TEXT},
    [GROUP_ID] = {.name = "group_id", .type = PS_COL_TEXT},
    [PG_NAME] = {.name = "pg_name", .type = PS_COL_TEXT},
};

static bool set_group_map_ranks(ps_table *t, const ps_roster_group *g) {
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < g->n_ranks; i++) {
        ps_buf_addf(&text, "%s%lld", i == 0 ? "(" : ",", (long long)g->ranks[i]);
    }
    ps_buf_addf(&text, ")");
    bool ok = ps_buf_ok(&text) && ps_table_set_text(t, RANK_SET, ps_buf_str(&text));
    ps_buf_fini(&text);
    return ok;
}

ps_code ps_comm_roster_table(const ps_comm_roster *roster, ps_result *result, ps_err *err) {
    ps_table *t = ps_table_new("CommunicationGroupMapping", "communicators and their ranks",
                               COLUMNS, N_COLUMNS);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < roster->n; i++) {
        const ps_roster_group *g = &roster->groups[i];
        ok = ps_table_add_row(t) && ps_table_set_text(t, TYPE, g->is_p2p ? "p2p" : "collective") &&
             set_group_map_ranks(t, g) && ps_table_set_text(t, GROUP_NAME, g->key) &&
             ps_table_set_text(t, GROUP_ID, g->id) && ps_table_set_text(t, PG_NAME, g->label);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    t->names_fixed = true;
    t->to = PS_TO_ALL;
    t->file = "communication_group_mapping";
    return ps_result_add(result, t, err);
}

static ps_code map_group_map(const ps_map_input *in, void **out, ps_err *err) {
    ps_comm_part *part = NULL;
    ps_code code = ps_comm_part_read(in, PS_COMM_TIMES, &part, err);
    if (code != PS_OK) {
        ps_comm_part_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
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
};
