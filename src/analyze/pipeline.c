#include "analyze/pipeline.h"

#include <stdlib.h>

#include "analyze/bubble.h"
#include "analyze/recognise.h"
#include "base/alloc.h"
#include "base/num.h"
#include "schedule/connect.h"
#include "schedule/sim.h"

/* Below this share of agreeing ops the schedule is not taken as known. */
#define MIN_AGREEMENT 0.8

static bool is_known(const ps_recognised *r) {
    return r->schedule != NULL && (double)r->n_agreeing >= MIN_AGREEMENT * (double)r->n_ops;
}

/* DualPipeV's last backwards (phase 6) are marked as whole; with split backwards in the tail they are the input
 * gradient only. Their length against those of phase 5 tells. */
static ps_code refine_tail(ps_chart *chart, ps_recognised *r, ps_err *err) {
    int64_t *whole = ps_calloc(chart->n_ops + 1, sizeof *whole);
    if (whole == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n = 0;
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart->ops[i].kind == PS_OP_B && chart->ops[i].phase == 5) {
            whole[n++] = chart->ops[i].end_ns - chart->ops[i].start_ns;
        }
    }
    qsort(whole, n, sizeof *whole, ps_compare_i64);
    size_t n_split = 0;
    size_t n_tail = 0;
    for (size_t i = 0; n > 0 && i < chart->n_ops; i++) {
        ps_op *op = &chart->ops[i];
        if (op->kind == PS_OP_B && op->phase == 6) {
            n_tail++;
            if ((op->end_ns - op->start_ns) * 4 < whole[n / 2] * 3) {
                op->kind = PS_OP_BI;
                n_split++;
            }
        }
    }
    r->params.tail_full = n_split * 2 < n_tail;
    ps_free(whole);
    return PS_OK;
}

static ps_code name_ops(ps_chart *chart, const ps_pipeline_opts *opts, ps_recognised *r,
                        ps_err *err) {
    ps_code code = ps_recognise(chart, opts->pp_type, opts->n_stages, opts->n_microbatches, r, err);
    if (code == PS_OK && !is_known(r) && opts->pp_type[0] != '\0') {
        code = ps_recognise(chart, "", opts->n_stages, opts->n_microbatches, r,
                            err); /* what was said does not fit what ran */
    }
    if (code != PS_OK || !is_known(r)) {
        r->schedule = NULL;
        return code;
    }
    if (opts->is_labelled) {
        return refine_tail(chart, r, err);
    }
    bool as_said = opts->pp_type[0] != '\0' && ps_schedule_find(opts->pp_type) == r->schedule;
    return ps_apply_schedule(chart, r, as_said ? opts->how : "", err);
}

static ps_code connect(ps_chart *chart, const ps_recognised *r, ps_err *err) {
    ps_sim_plan *plan = ps_sim_plan_new(r->schedule, &r->params, err);
    if (plan == NULL) {
        return err != NULL ? err->code : PS_NOMEM;
    }
    ps_code code = ps_chart_connect(chart, plan, err);
    ps_sim_plan_free(plan);
    return code;
}

static ps_code add_tables(const ps_chart *chart, const ps_bubble_report *report, bool in_full,
                          ps_result *result, ps_err *err) {
    ps_code code =
        in_full ? ps_result_add(result, ps_bubble_step_table(chart, report), err) : PS_OK;
    code = code == PS_OK ? ps_result_add(result, ps_bubble_stage_table(chart, report), err) : code;
    return code == PS_OK && in_full
               ? ps_result_add(result, ps_bubble_wait_table(chart, report), err)
               : code;
}

ps_code ps_pipeline_report(ps_chart *chart, const ps_pipeline_opts *opts, ps_result *result,
                           ps_err *err) {
    ps_recognised r = {0};
    ps_bubble_report report;
    ps_code code = name_ops(chart, opts, &r, err);
    if (code == PS_OK && r.schedule != NULL) {
        code = connect(chart, &r, err);
    }
    if (code != PS_OK) {
        return code;
    }
    code = ps_bubble_measure(chart, &report, err);
    if (code == PS_NOTHING) {
        return PS_OK;
    }
    code = code == PS_OK ? add_tables(chart, &report, opts->in_full, result, err) : code;
    ps_bubble_report_fini(&report);
    if (code == PS_OK && opts->in_full && r.schedule != NULL) {
        ps_table *replay = ps_replay(chart, &r, &opts->replay, err);
        code = replay != NULL ? ps_result_add(result, replay, err)
                              : (err != NULL ? err->code : PS_NOMEM);
    }
    return code;
}
