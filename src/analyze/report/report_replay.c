#include "analyze/report/report_replay.h"

#include <math.h>
#include <stdio.h>

#include "analyze/report/report.h"
#include "analyze/whatif/chart_steps.h"
#include "analyze/whatif/rank_steps.h"
#include "base/alloc.h"
#include "base/instead.h"
#include "base/num.h"

/* --- the replay ------------------------------------------------------------------------------------------------------ */

static bool all_name_ops(const ps_reduce_input *in) {
    bool all = in->n_ranks > 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        all = all && in->ranks[r].names_ops;
    }
    return all;
}

static ps_code steps_of_timelines(const ps_reduce_input *in, ps_job_steps *out, ps_err *err) {
    ps_rank_timeline *ranks = ps_calloc(in->n_ranks + 1, sizeof *ranks);
    if (ranks == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_report_rank *part = in->partials[r];
        if (part != NULL) {
            ranks[r] = (ps_rank_timeline){&part->facts, &part->timeline};
        }
    }
    ps_code code = ps_rank_steps_make(in, ranks, out, err);
    ps_free(ranks);
    return code;
}

/* A chart has no communication, optimizer or host: what starts late in it is for the other findings. */
static bool is_told(const ps_report_replay *r, const ps_whatif_cause *c) {
    bool is_delay = c->before_ns != r->whatif.real_ns;
    return c->holds && !isnan(c->step_ns) && (r->steps.has_comm || !is_delay) &&
           ps_report_cause_gain_ns(c) > 0;
}

static void keep_causes(ps_report_replay *r) {
    ps_whatif_cause all[PS_N_WHATIF_CAUSES];
    ps_whatif_judge(&r->whatif, NULL, all);
    for (size_t i = 0; i < PS_N_WHATIF_CAUSES; i++) {
        size_t at = r->n_causes;
        if (!is_told(r, &all[i])) {
            continue;
        }
        for (; at > 0 &&
               ps_report_cause_gain_ns(&all[i]) > ps_report_cause_gain_ns(&r->causes[at - 1]);
             at--) {
            r->causes[at] = r->causes[at - 1];
        }
        r->causes[at] = all[i];
        r->n_causes++;
    }
}

void ps_report_replay_make(const ps_report *report, ps_report_replay *out, bool *failed) {
    const ps_reduce_input *in = report->in;
    ps_err err = PS_ERR_INIT;
    *out = (ps_report_replay){.is_there = false};
    if (report->findings.is_of_part || report->job.is_partial) {
        return; /* who is missing decides who waits */
    }
    ps_code code = all_name_ops(in)        ? steps_of_timelines(in, &out->steps, &err)
                   : report->chart != NULL ? ps_chart_steps_make(report->chart, &out->steps, &err)
                                           : PS_NOTHING;
    code = code == PS_OK ? ps_whatif_measure(&out->steps, &out->whatif, &err) : code;
    *failed = *failed || code == PS_NOMEM;
    out->is_there = code == PS_OK;
    out->whatif.lang = report->findings.lang;
    out->explains = out->is_there && ps_whatif_explains(&out->whatif);
    if (out->explains) {
        keep_causes(out);
    }
}

void ps_report_replay_fini(ps_report_replay *r) {
    ps_whatif_fini(&r->whatif);
    ps_job_steps_fini(&r->steps);
}

/* --- gains ----------------------------------------------------------------------------------------------------------- */

int64_t ps_report_replay_even_ns(const ps_report *report) {
    const ps_whatif *w = &report->replay.whatif;
    int64_t ns = report->replay.explains ? (int64_t)llround(w->real_ns - w->even_stages_ns) : 0;
    return ns > 0 ? ns : 0;
}

/* The step when all ops of the rank take as long as usual; false: it is no worker of the graph, or memory is out, which is noted. */
static bool without_rank(ps_report *report, int64_t rank, double *step_ns) {
    const ps_report_replay *r = &report->replay;
    const ps_job_steps *js = &r->steps;
    bool *in = ps_calloc(js->n_workers + 1, sizeof *in);
    bool any = false;
    for (size_t k = 0; in != NULL && k < js->n_workers; k++) {
        in[k] = js->workers[k].rank == rank;
        any = any || in[k];
    }
    const ps_job_part part = {.workers = in};
    const ps_job_question q = {.parts = &part, .n_parts = 1, .inverted = true};
    ps_err err = PS_ERR_INIT;
    ps_code code = in == NULL ? PS_NOMEM
                   : any      ? ps_job_ask(js, r->whatif.ideal_of, &q, step_ns, NULL, &err)
                              : PS_NOTHING;
    report->findings.failed = report->findings.failed || code == PS_NOMEM;
    ps_free(in);
    return code == PS_OK;
}

/* What a replay without the cause is called and takes, and what the step takes with it. */
typedef struct without_cause {
    char with[96];
    double step_ns, before_ns;
} without_cause;

static bool replay_without(ps_report *report, const ps_finding *f, without_cause *out) {
    const ps_lang lang = report->findings.lang;
    const ps_report_replay *r = &report->replay;
    const ps_whatif *w = &r->whatif;
    *out = (without_cause){.step_ns = w->real_ns, .before_ns = w->real_ns};
    if (f->rule == PS_RULE_STAGE_IMBALANCE) { /* its text says so */
        out->step_ns = w->even_stages_ns;
        return true;
    }
    if (f->rule == PS_RULE_TRANSFER_WAIT && r->steps.has_comm) {
        out->before_ns = w->measured_ns;
        out->step_ns = w->without_transfers_ns;
        (void)snprintf(out->with, sizeof out->with,
                       PS_SAY(lang, "without delays of starts and with transfers as fast as usual",
                              "算子没有开始延迟且传输速度正常时"));
        return true;
    }
    (void)snprintf(out->with, sizeof out->with,
                   PS_SAY(lang, "with rank %s as fast as usual", "rank %s 速度正常时"),
                   PS_RANK(f->rank));
    return f->rule == PS_RULE_SLOW_RANK && f->is_of_computing &&
           without_rank(report, f->rank, &out->step_ns);
}

/* The cause that is this rank, which may be told beside a delay; else the rank by itself. */
static bool without_slow_rank(ps_report *report, int64_t rank, double *step_ns, double *before_ns) {
    const ps_report_replay *r = &report->replay;
    for (size_t i = 0; i < r->n_causes; i++) {
        if (r->causes[i].rank == rank) {
            *step_ns = r->causes[i].step_ns;
            *before_ns = r->causes[i].before_ns;
            return true;
        }
    }
    *before_ns = r->whatif.real_ns;
    return without_rank(report, rank, step_ns);
}

bool ps_report_replay_bound(ps_report *report, const ps_finding *f, int64_t *gain_ns, char *text,
                            size_t size) {
    const ps_lang lang = report->findings.lang;
    double step_ns = 0;
    double before_ns = 0;
    if (f->rule != PS_RULE_SLOW_KERNEL || f->gain_ns <= 0 || !report->replay.explains ||
        !without_slow_rank(report, f->rank, &step_ns, &before_ns)) {
        return false;
    }
    *gain_ns = before_ns > step_ns ? llround(before_ns - step_ns) : 0;
    (void)snprintf(text, size,
                   PS_SAY(lang, " Replayed, with all of the rank as fast as usual a step takes %s.",
                          "重放表明，该 rank 全部恢复正常速度时，每个 step 需要 %s。"),
                   ps_instead_of(lang, llround(step_ns), llround(before_ns)).text);
    return *gain_ns < f->gain_ns;
}

bool ps_report_replay_gain(ps_report *report, const ps_finding *f, int64_t *gain_ns, char *text,
                           size_t size) {
    const ps_lang lang = report->findings.lang;
    without_cause x;
    if (!report->replay.explains || f->gain_ns <= 0 || !replay_without(report, f, &x)) {
        return false;
    }
    double gain = x.before_ns - x.step_ns;
    *gain_ns = gain > 0 ? (int64_t)llround(gain) : 0;
    text[0] = '\0';
    if (x.with[0] != '\0') {
        (void)snprintf(
            text, size,
            PS_SAY(lang, " Replayed, %s a step takes %s.", "重放表明，%s每个 step 需要 %s。"),
            x.with, ps_instead_of(lang, llround(x.step_ns), llround(x.before_ns)).text);
    }
    return true;
}
