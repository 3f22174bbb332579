#include "analyze/pipeline/measured_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model/chart_groups.h"

typedef struct making {
    const ps_chart *chart;
    const ps_model_places *places;
    ps_chart_groups groups;
    uint32_t *rank_of; /* [n_stages] row in ranks */
    ps_lists lists;
} making;

/* One rank of the first pipeline for each stage; false when one has none. */
static bool find_ranks(making *m) {
    bool all = true;
    for (int32_t s = 0; s < m->places->n_stages; s++) {
        m->rank_of[s] = PS_NO_INDEX;
        for (uint32_t r = 0; r < m->chart->n_ranks && m->rank_of[s] == PS_NO_INDEX; r++) {
            const ps_chart_rank *rank = &m->chart->ranks[r];
            if (rank->stage == s && rank->pipeline == m->chart->ranks[0].pipeline) {
                m->rank_of[s] = r;
            }
        }
        all = all && m->rank_of[s] != PS_NO_INDEX;
    }
    return all;
}

static bool is_listed(const ps_op *op) {
    return op->kind == PS_OP_F || op->kind == PS_OP_B || op->kind == PS_OP_BI ||
           op->kind == PS_OP_BW || op->kind == PS_OP_FB;
}

/* False when memory is out. */
static bool fill_own_plan(making *m, size_t step) {
    ps_lists *l = &m->lists;
    size_t n_stages = (size_t)m->places->n_stages;
    size_t n_chunks = (size_t)m->places->n_chunks;
    (void)snprintf(l->name, sizeof l->name, "as it ran");
    l->n_stages = m->places->n_stages;
    l->n_chunks = m->places->n_chunks;
    l->n_logical = m->places->n_logical;
    l->chain_length = m->places->n_logical;
    l->logical = ps_calloc(n_stages * n_chunks, sizeof *l->logical);
    l->first = ps_calloc(n_stages + 1, sizeof *l->first);
    l->ops = ps_calloc(m->chart->n_ops, sizeof *l->ops);
    if (l->logical == NULL || l->first == NULL || l->ops == NULL) {
        return false;
    }
    memcpy(l->logical, m->places->logical, n_stages * n_chunks * sizeof *l->logical);
    for (size_t s = 0; s < n_stages; s++) {
        size_t g = ps_chart_group(&m->groups, m->rank_of[s], step);
        l->first[s] = l->n_ops;
        for (size_t i = m->groups.first[g]; i < m->groups.first[g + 1]; i++) {
            const ps_op *op = &m->chart->ops[m->groups.order[i]];
            if (is_listed(op)) {
                l->n_microbatches =
                    op->microbatch >= l->n_microbatches ? op->microbatch + 1 : l->n_microbatches;
                l->ops[l->n_ops++] = (ps_sched_op){.kind = (ps_op_kind)op->kind,
                                                   .chunk = op->chunk,
                                                   .microbatch = op->microbatch,
                                                   .chunk2 = op->chunk2,
                                                   .microbatch2 = op->microbatch2,
                                                   .phase = -1};
            }
        }
    }
    l->first[n_stages] = l->n_ops;
    return true;
}

/* Every stage of the model must lie somewhere, once: the plan takes that for granted. PS_NOTHING or PS_NOMEM. */
static ps_code check_places(const ps_model_places *places, ps_err *err) {
    size_t n = (size_t)places->n_stages * (size_t)places->n_chunks;
    uint8_t *seen = ps_calloc((size_t)places->n_logical + 1, sizeof *seen);
    size_t n_seen = 0;
    bool ok = seen != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        int32_t at = places->logical[i];
        ok = at < places->n_logical && (at < 0 || seen[at] == 0);
        if (ok && at >= 0) {
            seen[at] = 1;
            n_seen++;
        }
    }
    ok = ok && n_seen == (size_t)places->n_logical && n_seen > 0;
    ps_code code =
        seen == NULL ? ps_fail_nomem(err)
        : ok         ? PS_OK
             : ps_fail_said(err, PS_NOTHING, "stages of the model are missing or twice there",
                            "其中缺少模型的某些阶段，或有重复");
    ps_free(seen);
    return code;
}

static ps_sim_plan *make_own_plan(making *m, ps_err *err) {
    if (check_places(m->places, err) != PS_OK) {
        return NULL;
    }
    if (!find_ranks(m)) {
        (void)ps_fail_said(err, PS_NOTHING, "a stage is missing", "缺少一个阶段");
        return NULL;
    }
    if (!ps_chart_groups_init(&m->groups, m->chart)) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    size_t step = 0;
    if (m->groups.n_steps == 0 ||
        !ps_chart_usual_group(&m->groups, m->chart, m->rank_of, (size_t)m->places->n_stages,
                              &step) ||
        !fill_own_plan(m, step)) {
        (void)(m->groups.n_steps == 0 ? ps_fail_said(err, PS_NOTHING, "no ops", "没有算子")
                                      : ps_fail_nomem(err));
        return NULL;
    }
    ps_err why = PS_ERR_INIT;
    ps_sim_plan *plan = ps_sim_plan_of_lists(&m->lists, &why);
    if (plan == NULL) {
        (void)(why.code == PS_NOMEM
                   ? ps_fail_nomem(err)
                   : ps_fail_said(err, PS_NOTHING, "%s%.0s", "%.0s%s",
                                  ps_err_text(PS_ENGLISH, &why), ps_err_text(PS_CHINESE, &why)));
    }
    return plan;
}

ps_sim_plan *ps_measured_plan(const ps_chart *chart, const ps_model_places *places, ps_err *err) {
    making m = {.chart = chart, .places = places};
    ps_sim_plan *plan = NULL;
    if (places->logical == NULL || places->n_stages <= 0 || chart->n_ranks == 0) {
        (void)ps_fail_said(err, PS_NOTHING, "the places of the model's pieces are not known",
                           "模型各部分的位置未知");
        return NULL;
    }
    m.rank_of = ps_calloc((size_t)places->n_stages, sizeof *m.rank_of);
    if (m.rank_of != NULL) {
        plan = make_own_plan(&m, err);
    } else {
        (void)ps_fail_nomem(err);
    }
    ps_chart_groups_fini(&m.groups);
    ps_lists_fini(&m.lists);
    ps_free(m.rank_of);
    return plan;
}
