/* whatif: what makes the steps of a job slower than they could be, from timelines that name all ops of its workers. Other
 * captures get there through their pipeline chart (whatif_tables.h, run/run_whatif.h). */
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/whatif/whatif_tables.h"
#include "analyze/whatif/worker_steps.h"
#include "base/alloc.h"

typedef struct partial {
    ps_arena arena;
    ps_rank_facts facts;
    ps_timeline timeline;
} partial;

static void free_whatif_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_timeline_fini(&part->timeline);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

static ps_code map_whatif(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = ps_rank_facts_read(in->trace, &part->arena, &part->facts, in->diag, err);
    if (code == PS_OK && !ps_timeline_read(in->trace, &part->timeline)) {
        code = ps_fail_nomem(err);
    }
    ps_diag_count(in->diag, PS_ODD_OP_NO_STEP, part->timeline.n_without_step);
    if (code == PS_OK && part->timeline.n == 0) {
        code = ps_fail(err, PS_NOTHING,
                       "no timeline of a worker: pipescope whatif PATH finds its pipeline first");
    }
    if (code != PS_OK) {
        free_whatif_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

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

static ps_code place_whatif_mode_workers(const ps_reduce_input *in, joining *j, ps_err *err) {
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    ps_code code = facts != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        facts[r] = part != NULL ? &part->facts : NULL;
    }
    ps_job job = {0};
    if (code == PS_OK) {
        job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        code = ps_job_check(&job, err);
    }
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part == NULL) {
            continue;
        }
        ps_layout_place place = ps_job_locate(&job, in->ranks[r].rank);
        if (place.pp < 0 || place.dp < 0 || place.tp < 0) {
            code =
                ps_fail(err, PS_NOTHING, "rank %lld has no place in the job: give --pp, --tp, --dp",
                        (long long)in->ranks[r].rank);
            break;
        }
        ps_job_worker worker = {in->ranks[r].rank, (int32_t)place.pp, (int32_t)place.dp,
                                (int32_t)place.tp};
        size_t at = j->n++;
        for (; at > 0 && stands_before(&worker, &j->workers[at - 1]); at--) {
            j->workers[at] = j->workers[at - 1];
            j->timelines[at] = j->timelines[at - 1];
        }
        j->workers[at] = worker;
        j->timelines[at] = &part->timeline;
    }
    ps_free(facts);
    return code;
}

static ps_code reduce_whatif(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    joining j = {.timelines = ps_calloc(in->n_ranks + 1, sizeof *j.timelines),
                 .workers = ps_calloc(in->n_ranks + 1, sizeof *j.workers)};
    ps_job_steps js = {0};
    bool ok = j.timelines != NULL && j.workers != NULL;
    ps_code code = ok ? place_whatif_mode_workers(in, &j, err) : ps_fail_nomem(err);
    if (code == PS_OK && j.n > 0) {
        code = ps_worker_steps_make(j.timelines, j.workers, j.n, &js, err);
        j.workers = NULL;
        code = code == PS_OK ? ps_whatif_add_tables(&js, NULL, in->opts, in->result, err) : code;
        ps_job_steps_fini(&js);
    }
    ps_free(j.timelines);
    ps_free(j.workers);
    return code;
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES,
                                   .map = map_whatif,
                                   .reduce = reduce_whatif}};

const ps_analysis ps_analysis_whatif = {
    .name = "whatif",
    .folder = "WhatIf",
    .summary = "what makes steps slower than they could be, and what would help",
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_whatif_partial,
};
