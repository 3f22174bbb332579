#include "run/crew_job.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "model/comm_kernels.h"

static void found_rank_archive(ps_archive *a, void *rank) {
    ps_cluster_rank *x = rank;
    struct {
        const char *reader; /* its name */
    } by = {x->reader != NULL ? x->reader->name : NULL};
    PS_ARCHIVE(a, x, rank, path, rank_dir, rel_path, timestamp, mtime_ns, is_copy, part, machine,
               host, told_profiler, told_title);
    PS_ARCHIVE_BELOW(a, x, profiler, PS_PROFILER_OTHER + 1);
    PS_ARCHIVE(a, &by, reader);
    x->reader = by.reader != NULL ? ps_reader_find(by.reader) : NULL;
    if (ps_archive_is_reading(a) &&
        (x->path == NULL || x->rel_path == NULL || (by.reader != NULL && x->reader == NULL))) {
        ps_archive_refuse(a, "rank");
    }
}

void ps_crew_job_archive(ps_archive *a, void *job) {
    ps_crew_job *x = job;
    uint64_t n_found = x->n_found;
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE(a, x, is_inventory, root, path, reader, rank_from, databases_only, found_hash,
               out_dir, local_dir, partials_dir, cache_dir, export_type, n_threads, cache_max_bytes,
               memory_bytes, has_baseline, n_makers, comm_rules, comm_rules_hash);
    PS_ARCHIVE_IN_ARENA(a, x, found, n_found, found_rank_archive);
    ps_archive_member(a, PS_ARCHIVE_UNSIGNED, "n_found", &n_found, sizeof n_found);
    x->n_found = n_found; /* also of those that are not listed */
    PS_ARCHIVE_IN_ARENA(a, x, ranks, n_ranks, ps_archive_u32);
    PS_ARCHIVE_IN_ARENA(a, x, analyses, n_analyses, ps_archive_text);
    ps_analysis_opts_archive(a, &x->opts);
}

/* Where the ranks lie, and their order. */
static bool hash_found(const ps_cluster *cluster, uint64_t *out) {
    ps_buf places = {0};
    for (size_t r = 0; r < cluster->n_ranks; r++) {
        const ps_cluster_rank *rank = &cluster->ranks[r];
        ps_buf_addf(&places, "%s %lld %lld %d\n", rank->rel_path, (long long)rank->part,
                    (long long)rank->rank, rank->machine);
    }
    *out = ps_hash64(ps_buf_str(&places), places.len);
    bool ok = ps_buf_ok(&places);
    ps_buf_fini(&places);
    return ok;
}

static void take_opts(ps_crew_job *job, const ps_run_opts *opts) {
    job->out_dir = opts->out_dir;
    job->local_dir = opts->local_dir;
    job->partials_dir = opts->partials_dir;
    job->cache_dir = opts->cache_dir;
    job->export_type = (int32_t)opts->export_type;
    job->n_threads = opts->n_threads;
    job->cache_max_bytes = opts->cache_max_bytes;
    job->memory_bytes = opts->memory_bytes;
    job->has_baseline = opts->baseline_path != NULL;
    job->n_makers = opts->n_makers;
    job->opts = opts->analysis;
}

static bool can_list(const ps_cluster *cluster) {
    bool can = true;
    for (size_t r = 0; can && r < cluster->n_ranks; r++) {
        can = cluster->ranks[r].noted == NULL;
    }
    return can;
}

bool ps_crew_job_of(ps_crew_job *job, const ps_cluster *cluster, const ps_session *s) {
    *job = (ps_crew_job){.is_inventory = s == NULL,
                         .root = cluster->root,
                         .path = cluster->path,
                         .found = can_list(cluster) ? cluster->ranks : NULL,
                         .reader = cluster->as != NULL ? cluster->as->name : NULL,
                         .rank_from = cluster->rank_from_text,
                         .databases_only = cluster->databases_only,
                         .n_found = cluster->n_ranks,
                         .comm_rules = ps_comm_rules_path(),
                         .comm_rules_hash = ps_comm_rules_hash()};
    size_t n = s != NULL ? s->run->n_ranks : cluster->n_ranks;
    size_t n_analyses = s != NULL ? s->run->n_analyses : 0;
    job->ranks = ps_arena_alloc(&job->arena, n * sizeof *job->ranks);
    job->analyses = ps_arena_alloc(&job->arena, (n_analyses + 1) * sizeof *job->analyses);
    if (job->ranks == NULL || job->analyses == NULL || !hash_found(cluster, &job->found_hash)) {
        return false;
    }
    for (size_t r = 0; r < n; r++) {
        const ps_cluster_rank *rank = s != NULL ? s->run->ranks[r].rank : &cluster->ranks[r];
        job->ranks[job->n_ranks++] = (uint32_t)(rank - cluster->ranks);
    }
    for (size_t a = 0; a < n_analyses; a++) {
        job->analyses[job->n_analyses++] = s->analyses[a]->name;
    }
    if (s != NULL) {
        take_opts(job, s->opts);
    }
    return true;
}

void ps_crew_job_fini(ps_crew_job *job) {
    ps_arena_fini(&job->arena);
}

/* Those of the list whose files are seen from here. */
static ps_cluster *take_listed(const ps_crew_job *job, ps_err *err) {
    ps_cluster *c = ps_calloc(1, sizeof *c);
    if (c == NULL ||
        !ps_grow(&c->ranks, &c->cap_ranks, job->n_found + 1, SIZE_MAX, sizeof *c->ranks)) {
        ps_cluster_free(c);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    c->root = job->root;
    c->path = job->path;
    c->databases_only = job->databases_only;
    c->rank_from_text = job->rank_from;
    c->as = job->reader != NULL ? ps_reader_find(job->reader) : NULL;
    for (size_t r = 0; r < job->n_found; r++) {
        if (ps_is_file(job->found[r].path)) {
            c->ranks[c->n_ranks++] = job->found[r];
        }
    }
    return c;
}

static ps_cluster *find_again(const ps_crew_job *job, ps_err *err) {
    const ps_reader *reader = job->reader != NULL ? ps_reader_find(job->reader) : NULL;
    return job->databases_only ? ps_cluster_find_databases(job->path, err)
                               : ps_cluster_find_as(job->path, reader, job->rank_from, err);
}

ps_cluster *ps_crew_job_find(const ps_crew_job *job, ps_err *err) {
    ps_cluster *cluster = job->found != NULL ? take_listed(job, err) : find_again(job, err);
    uint64_t hash = 0;
    if (cluster == NULL) {
        return NULL;
    }
    if (cluster->n_ranks != job->n_found || !hash_found(cluster, &hash) ||
        hash != job->found_hash) {
        (void)ps_fail_file(err, PS_CHANGED, job->path,
                           "%zu ranks are seen from there, and they are not the %zu of the first "
                           "process",
                           cluster->n_ranks, job->n_found);
        ps_cluster_free(cluster);
        return NULL;
    }
    for (size_t i = 0; i < job->n_ranks; i++) {
        if (job->ranks[i] >= cluster->n_ranks) {
            (void)ps_fail(err, PS_INTERNAL, "rank %u of a job of %zu", job->ranks[i],
                          cluster->n_ranks);
            ps_cluster_free(cluster);
            return NULL;
        }
    }
    return cluster;
}
