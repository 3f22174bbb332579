#include "analyze/whatif/rank_steps.h"

#include "base/alloc.h"

typedef struct joining {
    const ps_timeline **timelines;
    ps_job_worker *workers;
    size_t n;
} joining;

/* By stage, replica, tp. */
static bool stands_before(const ps_job_worker *a, const ps_job_worker *b) {
    return a->stage != b->stage       ? a->stage < b->stage
           : a->replica != b->replica ? a->replica < b->replica
                                      : a->tp < b->tp;
}

static void insert_worker(joining *j, const ps_job_worker *worker, const ps_timeline *timeline) {
    size_t at = j->n++;
    for (; at > 0 && stands_before(worker, &j->workers[at - 1]); at--) {
        j->workers[at] = j->workers[at - 1];
        j->timelines[at] = j->timelines[at - 1];
    }
    j->workers[at] = *worker;
    j->timelines[at] = timeline;
}

static ps_code place_rank_workers(const ps_reduce_input *in, const ps_rank_timeline *ranks,
                                  joining *j, ps_err *err) {
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    ps_code code = facts != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        facts[r] = ranks[r].facts;
    }
    ps_job job = {0};
    if (code == PS_OK) {
        job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        code = ps_job_check(&job, err);
    }
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        if (ranks[r].timeline == NULL) {
            continue;
        }
        ps_layout_place place = ps_job_locate(&job, in->ranks[r].rank);
        const ps_job_worker worker = {in->ranks[r].rank, (int32_t)place.pp, (int32_t)place.dp,
                                      (int32_t)place.tp};
        if (place.pp < 0 || place.dp < 0 || place.tp < 0) {
            code = ps_fail_said(err, PS_NOTHING,
                                "rank %lld has no place in the job: give --pp, --tp, --dp",
                                "rank %lld 在作业中没有位置：请给出 --pp、--tp、--dp",
                                (long long)in->ranks[r].rank);
        } else {
            insert_worker(j, &worker, ranks[r].timeline);
        }
    }
    ps_free(facts);
    return code;
}

ps_code ps_rank_steps_make(const ps_reduce_input *in, const ps_rank_timeline *ranks,
                           ps_job_steps *out, ps_err *err) {
    joining j = {.timelines = ps_calloc(in->n_ranks + 1, sizeof *j.timelines),
                 .workers = ps_calloc(in->n_ranks + 1, sizeof *j.workers)};
    *out = (ps_job_steps){0};
    bool ok = j.timelines != NULL && j.workers != NULL;
    ps_code code = ok ? place_rank_workers(in, ranks, &j, err) : ps_fail_nomem(err);
    if (code == PS_OK && j.n == 0) {
        code = ps_fail_said(err, PS_NOTHING, "no rank has a timeline of its ops",
                            "没有 rank 有算子时间线");
    }
    if (code == PS_OK) {
        bool with_starts = in->opts->split != NULL; /* a plan draws what was measured */
        code = ps_worker_steps_make(j.timelines, j.workers, j.n, with_starts, in->opts->lang, out,
                                    err);
        j.workers = NULL;
        out->watch = in->opts->watch;
    }
    ps_free(j.timelines);
    ps_free(j.workers);
    return code;
}
