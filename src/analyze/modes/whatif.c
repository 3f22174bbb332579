/* whatif: what makes the steps of a job slower than they could be, from timelines that name all ops of its workers. Other
 * captures get there through their pipeline chart (whatif_tables.h, run/run_whatif.h). */
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/whatif/rank_steps.h"
#include "analyze/whatif/whatif_tables.h"
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
    ps_code code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    if (code == PS_OK && in->rank->names_ops && !ps_timeline_read(in->trace, &part->timeline)) {
        code = ps_fail_nomem(err);
    }
    ps_diag_count(in->diag, PS_ODD_OP_NO_STEP, part->timeline.n_without_step);
    if (code == PS_OK && part->timeline.n == 0) {
        code =
            ps_fail_said(err, PS_NOTHING,
                         "no timeline of a worker: pipescope whatif PATH finds its pipeline first",
                         "没有 worker 的时间线：pipescope whatif PATH 会先找到其流水线");
    }
    if (code != PS_OK) {
        free_whatif_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

static ps_code reduce_whatif(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_rank_timeline *ranks = ps_calloc(in->n_ranks + 1, sizeof *ranks);
    ps_job_steps js = {0};
    for (size_t r = 0; ranks != NULL && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        if (part != NULL) {
            ranks[r] = (ps_rank_timeline){&part->facts, &part->timeline};
        }
    }
    ps_code code = ranks != NULL ? ps_rank_steps_make(in, ranks, &js, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_whatif_add_tables(&js, NULL, in->opts, in->result, err) : code;
    ps_job_steps_fini(&js);
    ps_free(ranks);
    return code;
}

static void archive_whatif_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_rank_facts_archive(a, &x->facts);
        ps_timeline_archive(a, &x->timeline);
    }
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_WORKER_OPS,
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
    .archive = archive_whatif_partial,
};
