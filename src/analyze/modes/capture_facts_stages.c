#include "analyze/modes/capture_facts_stages.h"

#include "analyze/report/report_stages.h"
#include "base/alloc.h"
#include "base/num.h"

typedef struct stage_row {
    int64_t work, stage, n, time_ns;
} stage_row;

static const ps_column STAGES[PS_N_CG] = {
    [PS_CG_WORK] = {.name = "work", PS_FIELD(stage_row, work)},
    [PS_CG_STAGE] = {.name = "stage", PS_FIELD(stage_row, stage)},
    [PS_CG_RANK_STEPS] = {.name = "rank steps", PS_FIELD(stage_row, n), .unit = PS_UNIT_COUNT},
    [PS_CG_TIME] = {.name = "time", PS_FIELD(stage_row, time_ns), .unit = PS_UNIT_NS},
};

enum { MOST_STAGES = 4096 };

/* Rows of stages 0 to the last one; sums of the stages that there are. */
typedef struct summing {
    stage_row *at; /* [MOST_STAGES] */
    ps_stage_work work;
} summing;

static void add_stage(summing *s, int64_t stage, int64_t n, int64_t time_ns) {
    if (stage >= 0 && stage < MOST_STAGES) {
        s->at[stage].n += n;
        s->at[stage].time_ns = ps_i64_plus(s->at[stage].time_ns, time_ns);
    }
}

static void put_stages(ps_table *t, const summing *s) {
    size_t n_there = 0;
    for (int64_t i = 0; i < MOST_STAGES; i++) {
        n_there += s->at[i].n > 0;
    }
    for (int64_t i = 0; n_there > 1 && i < MOST_STAGES; i++) {
        if (s->at[i].n > 0) {
            ps_table_put(
                t, &(stage_row){
                       .work = s->work, .stage = i, .n = s->at[i].n, .time_ns = s->at[i].time_ns});
        }
    }
}

/* Of whole steps of the chart whose bubble is told, as the report. */
static bool add_ops_of_chart(const ps_reduce_input *in, summing *s) {
    const int64_t *step = in->opts->step_id >= 0 ? &in->opts->step_id : NULL;
    ps_report_pipes pipes = {.made = ps_result_charted(in), .only_step = step};
    if (pipes.made == NULL) {
        return true;
    }
    ps_idmap_init(&pipes.part_steps);
    ps_idmap_init(&pipes.stage_at);
    bool ok = ps_stages_find_parts(&pipes) && ps_stages_sum(&pipes);
    for (size_t i = 0; ok && i < pipes.n; i++) {
        add_stage(s, pipes.stages[i].stage, pipes.stages[i].n_steps, pipes.stages[i].busy_ns);
    }
    ps_idmap_fini(&pipes.part_steps);
    ps_idmap_fini(&pipes.stage_at);
    ps_free(pipes.stages);
    return ok;
}

static bool add_computing(const ps_reduce_input *in, summing *s) {
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    if (facts == NULL) {
        return false;
    }
    bool knows_all = true;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        facts[r] = part != NULL ? &part->facts : NULL;
        knows_all = knows_all && (part == NULL || part->overlaps.knows_computing);
    }
    ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
    for (size_t r = 0; knows_all && job.n_stages > 1 && r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        int64_t sum_ns = 0;
        for (size_t i = 0; part != NULL && i < part->overlaps.n; i++) {
            sum_ns = ps_i64_plus(sum_ns, part->overlaps.at[i].computing_ns);
        }
        if (part != NULL) {
            add_stage(s, ps_job_place(&job, in->ranks[r].rank, facts[r]).stage,
                      (int64_t)part->overlaps.n, sum_ns);
        }
    }
    ps_free(facts);
    return true;
}

ps_code ps_capture_stages(const ps_reduce_input *in, ps_result *out, ps_err *err) {
    static bool (*const ADD[PS_N_STAGE_WORKS])(const ps_reduce_input *, summing *) = {
        [PS_STAGE_OPS] = add_ops_of_chart, [PS_STAGE_COMPUTING] = add_computing};
    ps_table *t = ps_table_new("CaptureStages", "", PS_COLUMNS(STAGES));
    bool ok = t != NULL;
    for (ps_stage_work work = 0; ok && work < PS_N_STAGE_WORKS; work++) {
        summing s = {.at = ps_calloc(MOST_STAGES, sizeof *s.at), .work = work};
        ok = s.at != NULL && ADD[work](in, &s);
        if (ok) {
            put_stages(t, &s);
        }
        ps_free(s.at);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    return ps_result_add(out, t, err);
}
