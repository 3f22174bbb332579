/* job_layout: the sizes of the job and the order of its ranks, as all ranks together say it (topology.h): one row, for the
 * viewer. A pipeline group that puts a rank elsewhere than sizes and order do is said beside them. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "base/alloc.h"

typedef struct partial {
    ps_arena arena;
    ps_rank_facts facts;
} partial;

static void free_job_layout_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

static ps_code map_job_layout(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = ps_rank_facts_read(in->trace, &part->arena, &part->facts, in->diag, err);
    if (code != PS_OK) {
        free_job_layout_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

enum { LAYOUT, TP, CP, DP, PP, EP, MOE_TP, WORLD_SIZE, PROBLEM, N_COLUMNS };
static const ps_column COLUMNS[N_COLUMNS] = {
    [LAYOUT] = {.name = "layout", .type = PS_COL_TEXT},
    [TP] = {.name = "tp", .type = PS_COL_INT},
    [CP] = {.name = "cp", .type = PS_COL_INT},
    [DP] = {.name = "dp", .type = PS_COL_INT},
    [PP] = {.name = "pp", .type = PS_COL_INT},
    [EP] = {.name = "ep", .type = PS_COL_INT},
    [MOE_TP] = {.name = "moe_tp", .type = PS_COL_INT},
    [WORLD_SIZE] = {.name = "world_size", .type = PS_COL_INT},
    [PROBLEM] = {.name = "problem", .type = PS_COL_TEXT},
};

/* The first rank whose own group and whose sizes do not say the same. False: none. */
static bool find_contradiction(const ps_reduce_input *in, const ps_job *job, char out[160]) {
    for (size_t r = 0; r < in->n_ranks && !job->sizes_overridden; r++) {
        const partial *part = in->partials[r];
        int64_t rank = in->ranks[r].rank;
        const ps_group_fact *own =
            part != NULL && rank >= 0 ? ps_rank_facts_own_pp(&part->facts, rank) : NULL;
        int64_t by_sizes = ps_job_locate(job, rank).pp;
        if (own != NULL && by_sizes >= 0 && own->group_rank != by_sizes) {
            (void)snprintf(out, 160,
                           "the pipeline group of rank %" PRId64 " makes it stage %" PRId64
                           ", sizes and order make it stage %" PRId64 ": give them",
                           rank, own->group_rank, by_sizes);
            return true;
        }
    }
    return false;
}

static bool put_job_layout(const ps_reduce_input *in, const ps_job *job, ps_table *t) {
    ps_layout_dims dims = ps_job_dims(job);
    const int64_t sizes[N_COLUMNS] = {[TP] = dims.tp,
                                      [CP] = dims.cp,
                                      [DP] = dims.dp,
                                      [PP] = dims.pp,
                                      [EP] = dims.ep,
                                      [MOE_TP] = dims.moe_tp,
                                      [WORLD_SIZE] = job->world_size};
    char problem[160];
    bool ok = ps_table_add_row(t) && ps_table_set_text(t, LAYOUT, ps_layout_name(job->layout)) &&
              (!find_contradiction(in, job, problem) || ps_table_set_text(t, PROBLEM, problem));
    for (size_t c = TP; ok && c <= WORLD_SIZE; c++) {
        if (sizes[c] > 0) {
            ps_table_set_int(t, c, sizes[c]);
        }
    }
    return ok;
}

static ps_code reduce_job_layout(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    ps_table *t = ps_table_new("JobLayout", "sizes of the job", COLUMNS, N_COLUMNS);
    bool ok = facts != NULL && t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        facts[r] = part != NULL ? &part->facts : NULL;
    }
    if (ok) {
        ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
        ok = put_job_layout(in, &job, t);
    }
    ps_free(facts);
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    return ps_result_add(in->result, t, err);
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META, .map = map_job_layout, .reduce = reduce_job_layout}};

const ps_analysis ps_analysis_job_layout = {
    .name = "job_layout",
    .folder = "JobLayout",
    .summary = "sizes of the job and the order of its ranks",
    .hidden = true,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_job_layout_partial,
};
