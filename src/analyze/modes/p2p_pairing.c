/* p2p_pairing: gives every send and its receive the same COMMUNICATION_OP.opConnectionId, which is how
 * MindStudio Insight draws the arrow between them. */
#include "analyze/comm/p2p.h"
#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"

typedef struct partial {
    ps_p2p_list p2p;
    ps_rank_facts facts;
    ps_arena arena;
} partial;

static void free_pairing_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_p2p_list_fini(&part->p2p);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

static ps_code map_pairing(const ps_map_input *in, void **out, ps_err *err) {
    uint32_t has = ps_trace_has(in->trace);
    if ((has & PS_HAS_COMM_OPS) == 0 && (has & PS_HAS_MARKS) != 0) {
        return ps_fail_said(
            err, PS_NOTHING,
            "no COMMUNICATION_OP: pp_chart makes it of communication marks, where there are any, and "
            "pairs it; else communication was not collected (profiler level too low?)",
            "没有 COMMUNICATION_OP：有通信打点时 pp_chart 会由其生成并配对；否则未采集通信（profiler level 过低？）");
    }
    if ((has & PS_HAS_COMM_OPS) == 0 || (has & PS_HAS_COMM_TASKS) == 0) {
        return ps_fail_said(
            err, PS_NOTHING, "no %s: communication was not collected (profiler level too low?)",
            "没有 %s：未采集通信（profiler level 过低？）",
            (has & PS_HAS_COMM_OPS) == 0 ? "COMMUNICATION_OP" : "COMMUNICATION_TASK_INFO");
    }
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    if (code == PS_OK) {
        code = ps_p2p_collect(in->trace, in->opts, &part->p2p, in->diag, err);
    }
    if (code != PS_OK) {
        free_pairing_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

typedef struct pairing_row {
    int64_t rank, n_operators, n_p2p, n_paired;
} pairing_row;

static const ps_column SUMMARY[] = {
    {.name = "rank", PS_FIELD(pairing_row, rank), .is_member = true},
    {.name = "operators", PS_FIELD(pairing_row, n_operators)},
    {.name = "send or receive", PS_FIELD(pairing_row, n_p2p)},
    {.name = "paired", PS_FIELD(pairing_row, n_paired)}};

static int64_t count_paired(const ps_p2p_list *list) {
    int64_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        n += list->ops[i].peer_rank != PS_NO_PEER;
    }
    return n;
}

static ps_code summarise(const ps_reduce_input *in, ps_err *err) {
    ps_table *t = ps_table_new("P2PPairing", "send and receive operators", PS_COLUMNS(SUMMARY));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL) {
            ps_table_put(t, &(pairing_row){.rank = in->ranks[r].rank,
                                           .n_operators = (int64_t)part->p2p.n_operators,
                                           .n_p2p = (int64_t)part->p2p.n,
                                           .n_paired = count_paired(&part->p2p)});
        }
    }
    return ps_result_add(in->result, t, err);
}

static ps_code reduce_pairing(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_p2p_list **lists = ps_calloc(in->n_ranks, sizeof *lists);
    const ps_rank_facts **facts = ps_calloc(in->n_ranks, sizeof *facts);
    int32_t *pipelines = ps_calloc(in->n_ranks, sizeof *pipelines);
    ps_code code = lists != NULL && facts != NULL && pipelines != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        for (size_t r = 0; r < in->n_ranks; r++) {
            partial *part = in->partials[r];
            lists[r] = part != NULL ? &part->p2p : NULL;
            facts[r] = part != NULL ? &part->facts : NULL;
        }
        ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        for (size_t r = 0; r < in->n_ranks; r++) {
            pipelines[r] = ps_job_place(&job, in->ranks[r].rank, facts[r]).pipeline;
        }
        code = ps_job_check(&job, err);
        code = code == PS_OK ? ps_p2p_pair(lists, pipelines, in, err) : code;
    }
    if (code == PS_OK) {
        code = summarise(in, err);
    }
    ps_free(lists);
    ps_free(facts);
    ps_free(pipelines);
    return code;
}

static void archive_pairing_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_p2p_list_archive(a, &x->p2p);
        ps_rank_facts_archive(a, &x->facts);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST,
     .map = map_pairing,
     .reduce = reduce_pairing}};

const ps_analysis ps_analysis_p2p_pairing = {
    .name = "p2p_pairing",
    .folder = "P2PPairing",
    .summary = "link sends to their receives: COMMUNICATION_OP.opConnectionId of each rank",
    .writes = PS_WRITES_RANK_DB,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_pairing_partial,
    .archive = archive_pairing_partial,
};
