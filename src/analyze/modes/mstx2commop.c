/* mstx2commop: COMMUNICATION_OP made from the framework's communication marks, in a copy of each rank's
 * database. */
#include "analyze/comm/commop.h"
#include "analyze/core/analysis.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"

typedef struct partial {
    ps_table *table;
} partial;

static void free_mstx_op_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_table_free(part->table);
        ps_free(part);
    }
}

static ps_code map_mstx_op(const ps_map_input *in, void **out, ps_err *err) {
    uint32_t has = ps_trace_has(in->trace);
    if ((has & PS_HAS_COMM_OPS) != 0) {
        return ps_fail_said(err, PS_NOTHING, "COMMUNICATION_OP is there already: nothing to make",
                            "已有 COMMUNICATION_OP：无需生成");
    }
    if ((has & PS_HAS_MARKS) == 0) {
        return ps_fail_said(err, PS_NOTHING, "no MSTX_EVENTS: mstx was not enabled when collecting",
                            "没有 MSTX_EVENTS：采集时未启用 mstx");
    }
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    code = ps_commop_from_marks(in->trace, NULL, in->opts, &part->table, NULL, in->diag, err);
    if (code == PS_OK && part->table == NULL) {
        code = ps_fail_said(err, PS_NOTHING, "no communication marks among the mstx marks",
                            "mstx 打点中没有通信打点");
    }
    if (code != PS_OK) {
        free_mstx_op_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

static const ps_column SUMMARY[] = {{.name = "rank", .type = PS_COL_INT},
                                    {.name = "operators made", .type = PS_COL_INT}};

static ps_code reduce_mstx_op(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_table *summary = ps_table_new("Mstx2Commop", "operators made from marks", SUMMARY, 2);
    ps_code code = summary != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        if (part == NULL) {
            continue;
        }
        if (!ps_table_add_row(summary)) {
            code = ps_fail_nomem(err);
            break;
        }
        ps_table_set_int(summary, 0, in->ranks[r].rank);
        ps_table_set_int(summary, 1, (int64_t)part->table->n_rows);
        ps_table *table = part->table;
        part->table = NULL;
        table->rank_index = r;
        code = ps_result_add(in->result, table, err);
    }
    if (code != PS_OK) {
        ps_table_free(summary);
        return code;
    }
    return ps_result_add(in->result, summary, err);
}

static void archive_mstx_op_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        ps_table_archive(a, &x->table);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_MARKS,
     .map = map_mstx_op,
     .reduce = reduce_mstx_op}};

const ps_analysis ps_analysis_mstx2commop = {
    .name = "mstx2commop",
    .folder = "Mstx2Commop",
    .summary = "make COMMUNICATION_OP from communication marks, in copies of the databases",
    .writes = PS_WRITES_RANK_COPY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_mstx_op_partial,
    .archive = archive_mstx_op_partial,
};
