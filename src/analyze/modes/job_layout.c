/* job_layout: the sizes of the job and the order of its ranks, as all ranks together say it (topology.h): one row, for the
 * viewer. A pipeline group that puts a rank elsewhere than sizes and order do is said beside them. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/rank_facts.h"
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
    ps_code code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    if (code != PS_OK) {
        free_job_layout_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

typedef struct layout_row {
    const char *layout, *problem;
    ps_layout_dims dims;
    int64_t world_size;
} layout_row;

#define SIZE_COLUMN(text, member)                                                                  \
    { .name = (text), PS_FIELD(layout_row, member) }
static const ps_column COLUMNS[] = {
    {.name = "layout", PS_FIELD(layout_row, layout)},
    SIZE_COLUMN("tp", dims.tp),
    SIZE_COLUMN("cp", dims.cp),
    SIZE_COLUMN("dp", dims.dp),
    SIZE_COLUMN("pp", dims.pp),
    SIZE_COLUMN("ep", dims.ep),
    SIZE_COLUMN("moe_tp", dims.moe_tp),
    SIZE_COLUMN("world_size", world_size),
    {.name = "problem", PS_FIELD(layout_row, problem)},
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
                           PS_SAY(in->opts->lang,
                                  "the pipeline group of rank %" PRId64 " makes it stage %" PRId64
                                  ", sizes and order make it stage %" PRId64 ": give them",
                                  "rank %" PRId64 " 的流水线通信域表明它是阶段 %" PRId64
                                  "，并行规模与顺序却表明是阶段 %" PRId64 "：请给出它们"),
                           rank, own->group_rank, by_sizes);
            return true;
        }
    }
    return false;
}

static int64_t size_or_unknown(int64_t size) {
    return size > 0 ? size : PS_UNKNOWN_INT;
}

static void put_job_layout(const ps_reduce_input *in, const ps_job *job, ps_table *t) {
    ps_layout_dims dims = ps_job_dims(job);
    char problem[160];
    ps_table_put(t, &(layout_row){.layout = ps_layout_name(job->layout),
                                  .problem = find_contradiction(in, job, problem) ? problem : NULL,
                                  .dims = {.tp = size_or_unknown(dims.tp),
                                           .cp = size_or_unknown(dims.cp),
                                           .dp = size_or_unknown(dims.dp),
                                           .pp = size_or_unknown(dims.pp),
                                           .ep = size_or_unknown(dims.ep),
                                           .moe_tp = size_or_unknown(dims.moe_tp)},
                                  .world_size = size_or_unknown(job->world_size)});
}

static ps_code reduce_job_layout(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_rank_facts **facts = ps_calloc(in->n_ranks + 1, sizeof *facts);
    if (facts == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        facts[r] = part != NULL ? &part->facts : NULL;
    }
    ps_job job = ps_job_from(facts, in->diags, in->n_ranks, in->opts);
    ps_table *t = ps_table_new("JobLayout", "sizes of the job", PS_COLUMNS(COLUMNS));
    put_job_layout(in, &job, t);
    ps_free(facts);
    return ps_result_add(in->result, t, err);
}

static void archive_job_layout_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_rank_facts_archive(a, &x->facts);
    }
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
    .archive = archive_job_layout_partial,
};
