#include "analyze/comm/topology.h"

#include <string.h>
#include <strings.h>

#include "analyze/comm/recorded_clock.h"
#include "base/literal.h"
#include "base/num.h"

/* A positive integer member, 0 when absent; anything else is counted. */
static int64_t positive(const ps_literal *object, const char *entry, const char *key,
                        ps_diag *diag) {
    const ps_literal *v = ps_literal_get(object, key);
    int64_t value = 0;
    if (v == NULL || v->kind == PS_LITERAL_NULL) {
        return 0;
    }
    if (!ps_literal_int(v, &value) || value <= 0 || value > INT32_MAX) {
        ps_diag_add(diag, PS_ODD_METADATA, "%s.%s is not a positive integer", entry, key);
        return 0;
    }
    return value;
}

static const ps_literal *topology_entry(const ps_trace *trace, const char *key, ps_arena *arena,
                                        ps_diag *diag, bool *nomem) {
    const char *text = ps_trace_meta(trace, key);
    if (text == NULL) {
        return NULL;
    }
    ps_err odd = PS_ERR_INIT;
    const ps_literal *v = ps_literal_parse_packed(arena, text, strlen(text), &odd);
    if (v != NULL && v->kind == PS_LITERAL_STRING) { /* a JSON text stored as a JSON string */
        v = ps_literal_parse_packed(arena, v->text, v->len, &odd);
    }
    *nomem = *nomem || odd.code == PS_NOMEM;
    if (v == NULL || v->kind != PS_LITERAL_OBJECT) {
        ps_diag_add(diag, PS_ODD_METADATA, "%s: not a JSON object", key);
        return NULL;
    }
    return v;
}

/* Microbatches when only the batch sizes are known: global / micro / data parallel. */
static int64_t from_batch_sizes(const ps_literal *object, const char *entry, int64_t dp,
                                ps_diag *diag) {
    int64_t global = 0;
    int64_t micro = 0;
    if (!ps_literal_int(ps_literal_get(object, "global_batch_size"), &global) ||
        !ps_literal_int(ps_literal_get(object, "micro_batch_size"), &micro) || global <= 0 ||
        micro <= 0) {
        return 0;
    }
    int64_t n = global / micro / (dp > 0 ? dp : 1);
    if (n > INT32_MAX) {
        ps_diag_add(diag, PS_ODD_METADATA, "%s: the batch sizes give %lld microbatches", entry,
                    (long long)n);
        return 0;
    }
    return n;
}

/* The ranks of a group, how many they are, the first one and how far they lie apart; nothing of one that lists none. */
static void keep_group_ranks(const ps_literal *listed, ps_arena *arena, ps_group_fact *fact,
                             bool *nomem) {
    *nomem = !ps_literal_int_runs(listed, -1, arena, &fact->ranks) || *nomem;
    if (fact->ranks.n > 0) {
        const ps_int_run *run = fact->ranks.runs;
        bool is_even = fact->ranks.n_runs == 1 && run->first >= 0 && run->step > 0;
        fact->n_ranks = (int64_t)fact->ranks.n;
        fact->first_rank = run->first;
        fact->stride = is_even ? run->step : 0;
    }
}

/* A copy in the facts' arena; `nomem` is set where there is no room for it. */
static const char *keep_topology_text(const char *text, ps_arena *arena, bool *nomem) {
    const char *kept = text != NULL ? ps_arena_strndup(arena, text, strlen(text)) : NULL;
    *nomem = *nomem || (text != NULL && kept == NULL);
    return kept;
}

static ps_code read_topology_groups(const ps_literal *groups, ps_arena *arena, ps_rank_facts *out,
                                    ps_err *err) {
    bool nomem = false;
    size_t n = 0;
    for (const ps_literal *g = groups != NULL ? groups->child : NULL; g != NULL; g = g->next) {
        n++;
    }
    out->groups = ps_arena_alloc(arena, n * sizeof *out->groups);
    if (out->groups == NULL) {
        return ps_fail_nomem(err);
    }
    for (const ps_literal *g = groups != NULL ? groups->child : NULL; g != NULL; g = g->next) {
        const char *name = ps_literal_str(ps_literal_get(g, "group_name"));
        name = keep_topology_text(name != NULL ? name : "", arena, &nomem);
        ps_group_fact fact = {.comm_name = keep_topology_text(g->key, arena, &nomem),
                              .group_name = name,
                              .label = name,
                              .group_rank = -1,
                              .n_ranks = -1,
                              .first_rank = -1};
        (void)ps_literal_int(ps_literal_get(g, "group_rank"), &fact.group_rank);
        keep_group_ranks(ps_literal_get(g, "global_ranks"), arena, &fact, &nomem);
        out->groups[out->n_groups++] = fact;
    }
    return nomem ? ps_fail_nomem(err) : PS_OK;
}

/* --- PyTorch's own account of its process groups ---------------------------------------------------------------- */

/* Descriptions that programs give to the group of a pipeline: of device meshes, and of Megatron. */
static bool is_pipeline_group(const char *text) {
    static const char *const NAMES[] = {"pp",       "mesh_pp",
                                        "pipe",     "mesh_pipe",
                                        "pipeline", "mesh_pipeline",
                                        "stage",    "mesh_stage",
                                        "pp_group", "PIPELINE_MODEL_PARALLEL_GROUP"};
    for (size_t i = 0; text != NULL && i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcasecmp(text, NAMES[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "ranks" is an array, or a text that holds one. NULL: it is neither. */
static const ps_literal *listed_ranks(const ps_literal *group, ps_arena *arena, bool *nomem) {
    const ps_literal *ranks = ps_literal_get(group, "ranks");
    if (ranks != NULL && ranks->kind == PS_LITERAL_STRING) {
        ps_err odd = PS_ERR_INIT;
        ranks = ps_literal_parse_packed(arena, ranks->text, ranks->len, &odd);
        *nomem = *nomem || odd.code == PS_NOMEM;
    }
    return ranks != NULL && ranks->kind == PS_LITERAL_ARRAY ? ranks : NULL;
}

static ps_group_fact group_fact(const ps_literal *group, int64_t own, ps_arena *scratch,
                                ps_arena *arena, bool *nomem) {
    const char *name = ps_literal_str(ps_literal_get(group, "pg_name"));
    const char *text = ps_literal_str(ps_literal_get(group, "pg_desc"));
    const char *label = keep_topology_text(text != NULL ? text : "", arena, nomem);
    ps_group_fact fact = {.comm_name = keep_topology_text(name != NULL ? name : "", arena, nomem),
                          .group_name = is_pipeline_group(text) ? "pp" : label,
                          .label = label,
                          .group_rank = -1,
                          .n_ranks = -1,
                          .first_rank = -1};
    keep_group_ranks(listed_ranks(group, scratch, nomem), arena, &fact, nomem);
    fact.group_rank = own >= 0 ? ps_int_runs_find(&fact.ranks, own) : -1;
    return fact;
}

static ps_code read_pg_config(const ps_literal *config, int64_t own, ps_arena *scratch,
                              ps_arena *arena, ps_rank_facts *out, ps_err *err) {
    size_t n = 0;
    bool nomem = false;
    for (const ps_literal *g = config->child; g != NULL; g = g->next) {
        n++;
    }
    out->groups = ps_arena_alloc(arena, n * sizeof *out->groups);
    if (out->groups == NULL) {
        return ps_fail_nomem(err);
    }
    for (const ps_literal *g = config->child; g != NULL; g = g->next) {
        out->groups[out->n_groups++] = group_fact(g, own, scratch, arena, &nomem);
    }
    return nomem ? ps_fail_nomem(err) : PS_OK;
}

static ps_code read_distributed_info(const ps_literal *info, const ps_trace *trace,
                                     ps_arena *scratch, ps_arena *arena, ps_rank_facts *out,
                                     ps_diag *diag, ps_err *err) {
    int64_t own = -1;
    const char *rank = ps_trace_meta(trace, "rank");
    const ps_literal *config = ps_literal_get(info, "pg_config");
    if (!ps_literal_int(ps_literal_get(info, "rank"), &own) && rank != NULL) {
        (void)ps_parse_i64(rank, strlen(rank), &own);
    }
    if (out->world_size == 0) {
        out->world_size = positive(info, "distributedInfo", "world_size", diag);
    }
    bool usable = config != NULL && config->kind == PS_LITERAL_ARRAY && out->n_groups == 0;
    return usable ? read_pg_config(config, own, scratch, arena, out, err) : PS_OK;
}

/* What pipescope's recorder noted, or the profiler. */
static int64_t world_size_of_launcher(const ps_trace *trace) {
    const char *text = ps_trace_meta(trace, "collector.world_size");
    text = text != NULL ? text : ps_trace_meta(trace, "world_size");
    int64_t n = 0;
    bool ok = text != NULL && ps_parse_i64(text, strlen(text), &n) && n > 0 && n <= INT32_MAX;
    return ok ? n : 0;
}

static const char ARGS[] = "distributed_args";

static void read_job_sizes(const ps_literal *args, ps_rank_facts *out, ps_diag *diag) {
    ps_layout_dims *sizes = &out->sizes;
    sizes->tp = positive(args, ARGS, "tensor_model_parallel_size", diag);
    sizes->pp = positive(args, ARGS, "pipeline_model_parallel_size", diag);
    sizes->dp = positive(args, ARGS, "data_parallel_size", diag);
    sizes->cp = positive(args, ARGS, "context_parallel_size", diag);
    sizes->ep = positive(args, ARGS, "expert_model_parallel_size", diag);
    sizes->moe_tp = positive(args, ARGS, "moe_tp_size", diag);
    out->world_size = positive(args, ARGS, "world_size", diag);
}

/* Entries are read into `scratch`: they list the ranks of every group of this one, and facts stay until all ranks are read. */
static ps_code read_rank_facts(const ps_trace *trace, ps_arena *scratch, ps_arena *arena,
                               ps_rank_facts *out, ps_diag *diag, ps_err *err) {
    *out = (ps_rank_facts){0};
    bool nomem = false;
    const ps_literal *pp_info = topology_entry(trace, "pp_info", scratch, diag, &nomem);
    const ps_literal *args = topology_entry(trace, "distributed_args", scratch, diag, &nomem);
    const ps_literal *groups = topology_entry(trace, "parallel_group_info", scratch, diag, &nomem);
    const ps_literal *info = topology_entry(trace, "distributedInfo", scratch, diag, &nomem);
    out->pp_type =
        keep_topology_text(ps_literal_str(ps_literal_get(pp_info, "pp_type")), arena, &nomem);
    if (nomem) {
        return ps_fail_nomem(err);
    }
    read_job_sizes(args, out, diag);
    if (out->world_size == 0) {
        out->world_size = world_size_of_launcher(trace);
    }
    out->n_microbatches = positive(pp_info, "pp_info", "microbatch_num", diag);
    if (out->n_microbatches == 0) {
        out->n_microbatches = from_batch_sizes(pp_info, "pp_info", out->sizes.dp, diag);
    }
    if (out->n_microbatches == 0) {
        out->n_microbatches = from_batch_sizes(args, ARGS, out->sizes.dp, diag);
    }
    ps_code code = ps_recorded_clock_read(trace, &out->clock, err);
    code = code == PS_OK ? read_topology_groups(groups, arena, out, err) : code;
    return code == PS_OK && info != NULL
               ? read_distributed_info(info, trace, scratch, arena, out, diag, err)
               : code;
}

ps_code ps_rank_facts_read(const ps_trace *trace, ps_arena *arena, ps_rank_facts *out,
                           ps_diag *diag, ps_err *err) {
    ps_arena scratch;
    ps_arena_init(&scratch);
    ps_code code = read_rank_facts(trace, &scratch, arena, out, diag, err);
    ps_arena_fini(&scratch);
    return code;
}

ps_code ps_rank_facts_copy(const ps_rank_facts *facts, ps_arena *arena, ps_rank_facts *out,
                           ps_err *err) {
    bool nomem = false;
    *out = *facts;
    out->pp_type = keep_topology_text(facts->pp_type, arena, &nomem);
    out->groups = ps_arena_alloc(arena, facts->n_groups * sizeof *out->groups);
    out->n_groups = 0;
    for (size_t i = 0; out->groups != NULL && i < facts->n_groups; i++) {
        const ps_group_fact *from = &facts->groups[i];
        ps_group_fact *to = &out->groups[out->n_groups++];
        *to = *from;
        to->comm_name = keep_topology_text(from->comm_name, arena, &nomem);
        to->group_name = keep_topology_text(from->group_name, arena, &nomem);
        to->label = keep_topology_text(from->label, arena, &nomem);
        nomem = !ps_int_runs_copy(&from->ranks, arena, &to->ranks) || nomem;
    }
    return out->groups == NULL || nomem ? ps_fail_nomem(err) : PS_OK;
}

const ps_group_fact *ps_rank_facts_pp(const ps_rank_facts *facts) {
    for (size_t i = 0; facts != NULL && i < facts->n_groups; i++) {
        const ps_group_fact *g = &facts->groups[i];
        if (strcmp(g->group_name, "pp") == 0 && g->group_rank >= 0 && g->group_rank < INT32_MAX) {
            return g;
        }
    }
    return NULL;
}

/* One whose places are those of this rank: the first one of a group, or not. */
const ps_group_fact *ps_rank_facts_own_pp(const ps_rank_facts *facts, int64_t rank) {
    const ps_group_fact *pp = ps_rank_facts_pp(facts);
    bool is_own = pp != NULL && (pp->first_rank < 0 || rank < 0 ||
                                 (pp->group_rank == 0) == (pp->first_rank == rank));
    return is_own ? pp : NULL;
}

/* --- the job ----------------------------------------------------------------------------------------- */

static void join_topology(int64_t *into, int64_t said, const char *what, ps_diag *diag) {
    if (said > 0 && *into == 0) {
        *into = said;
    } else if (said > 0 && said != *into) {
        ps_diag_add(diag, PS_ODD_METADATA, "%s is %lld here, %lld on an earlier rank", what,
                    (long long)said, (long long)*into);
    }
}

static void join_facts(ps_job *job, const ps_rank_facts *f, ps_diag *diag) {
    if (f->pp_type != NULL && job->pp_type[0] == '\0') {
        job->pp_type = f->pp_type;
    } else if (f->pp_type != NULL && strcmp(job->pp_type, f->pp_type) != 0) {
        ps_diag_add(diag, PS_ODD_METADATA, "pp_type is %.40s here, %.40s on an earlier rank",
                    f->pp_type, job->pp_type);
    }
    join_topology(&job->n_microbatches, f->n_microbatches, "microbatch_num", diag);
    join_topology(&job->tp, f->sizes.tp, "tensor_model_parallel_size", diag);
    join_topology(&job->n_stages, f->sizes.pp, "pipeline_model_parallel_size", diag);
    join_topology(&job->dp, f->sizes.dp, "data_parallel_size", diag);
    join_topology(&job->cp, f->sizes.cp, "context_parallel_size", diag);
    join_topology(&job->ep, f->sizes.ep, "expert_model_parallel_size", diag);
    join_topology(&job->moe_tp, f->sizes.moe_tp, "moe_tp_size", diag);
    join_topology(&job->world_size, f->world_size, "world_size", diag);
}

static void override(int64_t *value, int64_t said) {
    if (said > 0) {
        *value = said;
    }
}

static bool is_in_a_group(const ps_rank_facts *facts) {
    bool found = false;
    for (size_t i = 0; facts != NULL && i < facts->n_groups; i++) {
        found = found || facts->groups[i].n_ranks > 1 || facts->groups[i].group_rank > 0;
    }
    return found;
}

static int64_t topology_size(int64_t size) {
    return size > 0 ? size : 1;
}

/* Stages are outermost, unless pipelines are known whose ranks lie closer together than that: inside of the replicas. */
static ps_layout layout_by_groups(const ps_job *job, const ps_rank_facts *const *facts, size_t n) {
    int64_t inner = topology_size(job->tp) * topology_size(job->cp);
    int64_t width = job->n_stages > 0 && job->world_size > 0 ? job->world_size / job->n_stages
                                                             : inner * topology_size(job->dp);
    for (size_t i = 0; i < n; i++) {
        const ps_group_fact *pp = ps_rank_facts_pp(facts[i]);
        if (pp != NULL && pp->stride > 0) {
            bool is_inside = pp->stride == inner && pp->stride != width;
            return is_inside ? PS_LAYOUT_MEGATRON_PP : PS_LAYOUT_MEGATRON;
        }
    }
    return PS_LAYOUT_MEGATRON;
}

ps_job ps_job_from(const ps_rank_facts *const *facts, ps_diag *const *diags, size_t n,
                   const ps_analysis_opts *opts) {
    ps_job job = {.pp_type = ""};
    for (size_t i = 0; i < n; i++) {
        if (facts[i] != NULL) {
            join_facts(&job, facts[i], diags[i]);
        }
    }
    for (size_t i = 0; i < n && job.n_stages == 0;
         i++) { /* only groups are there: their size is p */
        const ps_group_fact *pp = ps_rank_facts_pp(facts[i]);
        job.n_stages = pp != NULL && pp->n_ranks > 0 ? pp->n_ranks : 0;
    }
    job.sizes_overridden =
        opts->tp > 0 || opts->pp > 0 || opts->cp > 0 || opts->dp > 0 || opts->order.is_given;
    job.layout = job.sizes_overridden ? opts->order.layout : layout_by_groups(&job, facts, n);
    ps_layout_sizes given = {
        .tp = opts->tp, .cp = opts->cp, .dp = opts->dp, .pp = opts->pp, .world = job.world_size};
    if (opts->tp > 0 || opts->cp > 0 || opts->dp > 0) {
        job.world_size = 0; /* the width follows from the sizes the user gave */
    }
    override(&job.tp, opts->tp);
    override(&job.n_stages, opts->pp);
    override(&job.cp, opts->cp);
    override(&job.dp, opts->dp);
    override(&job.n_microbatches, opts->n_microbatches);
    if (opts->pp_type != NULL) {
        job.pp_type = opts->pp_type;
    }
    ps_layout_sizes known = {.tp = job.tp, .cp = job.cp, .dp = job.dp, .pp = job.n_stages};
    if (!ps_layout_contradicts(opts->lang, job.layout, &given, &known, (int64_t)n,
                               job.contradiction)) {
        job.contradiction[0] = '\0';
    }
    job.alone = n == 1 && job.n_stages <= 1 && job.world_size <= 1 && !is_in_a_group(facts[0]);
    return job;
}

ps_code ps_job_check(const ps_job *job, ps_err *err) {
    return job->contradiction[0] == '\0'
               ? PS_OK
               : ps_fail_said(err, PS_USAGE,
                              "the sizes that are given are not those of this job: %s",
                              "给出的并行规模与该作业不符：%s", job->contradiction);
}

ps_layout_place ps_job_locate(const ps_job *job, int64_t rank) {
    ps_layout_sizes sizes = {
        .tp = job->tp, .cp = job->cp, .dp = job->dp, .pp = job->n_stages, .world = job->world_size};
    return ps_layout_locate(job->layout, &sizes, rank);
}

ps_layout_dims ps_job_dims(const ps_job *job) {
    ps_layout_dims out = {.tp = job->tp,
                          .cp = job->cp,
                          .dp = job->dp,
                          .pp = job->n_stages,
                          .ep = job->ep,
                          .moe_tp = job->moe_tp};
    if (out.dp == 0 && out.tp > 0 && job->world_size > 0) {
        int64_t rest = out.tp * topology_size(out.cp) * topology_size(out.pp);
        bool fits = job->world_size % rest == 0 && job->world_size / rest <= PS_LAYOUT_MOST;
        out.dp = fits ? job->world_size / rest : 0;
    }
    return out;
}

static ps_place place_by_sizes(const ps_job *job, int64_t rank) {
    if (job->alone && rank <= 0) { /* rank 3 has others, whoever they are */
        return (ps_place){0, 0};
    }
    ps_layout_place at = ps_job_locate(job, rank);
    return (ps_place){(int32_t)at.pp, (int32_t)at.pipeline};
}

ps_place ps_job_place(const ps_job *job, int64_t rank, const ps_rank_facts *facts) {
    const ps_group_fact *pp = ps_rank_facts_own_pp(facts, rank);
    ps_place by_sizes = place_by_sizes(job, rank);
    if (job->sizes_overridden || pp == NULL) {
        return by_sizes;
    }
    /* A pipeline is named by its first rank: with pp outermost that is its index; else a stable number. */
    int32_t pipeline = pp->first_rank >= 0 && pp->first_rank < INT32_MAX ? (int32_t)pp->first_rank
                       : by_sizes.pipeline >= 0                          ? by_sizes.pipeline
                                                                         : 0;
    return (ps_place){(int32_t)pp->group_rank, pipeline};
}

static void group_fact_archive(ps_archive *a, void *fact) {
    ps_group_fact *x = fact;
    PS_ARCHIVE(a, x, comm_name, group_name, label, group_rank, n_ranks, first_rank, stride);
    ps_int_runs_archive(a, &x->ranks);
}

void ps_rank_facts_archive(ps_archive *a, void *facts) {
    ps_rank_facts *x = facts;
    PS_ARCHIVE(a, x, pp_type, n_microbatches, sizes.tp, sizes.cp, sizes.dp, sizes.pp, sizes.ep,
               sizes.moe_tp, world_size);
    PS_ARCHIVE_IN_ARENA(a, x, groups, n_groups, group_fact_archive);
    ps_recorded_clock_archive(a, &x->clock);
}

void ps_job_archive(ps_archive *a, void *job) {
    ps_job *x = job;
    PS_ARCHIVE(a, x, pp_type, n_stages, n_microbatches, tp, cp, dp, ep, moe_tp, world_size,
               sizes_overridden, contradiction, alone);
    PS_ARCHIVE_BELOW(a, x, layout, PS_N_LAYOUTS);
}

void ps_place_archive(ps_archive *a, void *place) {
    ps_place *x = place;
    PS_ARCHIVE(a, x, stage, pipeline);
}
