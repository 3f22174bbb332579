#include "analyze/pipeline/job_places.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/sort.h"

/* By what places are found, in each language. */
typedef const char *const saying[PS_N_LANGS];
static saying HOW_CHUNKS = {
    "a stage is a place in the pipeline, by the labels, which number the stages of the model that it "
    "holds",
    "阶段是流水线中的位置，取自标签；标签为其所含的模型阶段编号"};
static saying HOW_LABELS = {"stages as the labels name them", "阶段取自标签"};
static saying HOW_GIVEN = {"stages by the sizes given", "阶段按给定规模"};
static saying HOW_METADATA = {"stages by metadata", "阶段来自元数据"};
static saying HOW_ALONE = {"one process, one stage", "单进程、单阶段"};
static saying HOW_TRANSFERS = {"stages by who sends to whom", "阶段按收发关系"};
static saying HOW_ORDER = {"stages by the order of the ranks", "阶段按 rank 顺序"};
static saying HOW_UNKNOWN = {"", ""};

typedef struct placing {
    const ps_rank_place_facts *ranks;
    size_t n;
    const ps_job *job;
    const ps_rank_pair *pairs;
    size_t n_pairs;
    ps_places *out;
} placing;

/* Pipelines by what was found become 0, 1, 2 ... False when memory is out. */
static bool number_pipelines(placing *p) {
    int64_t *seen = ps_calloc(p->n, sizeof *seen);
    size_t n = 0;
    for (size_t r = 0; seen != NULL && r < p->n; r++) {
        if (p->out->places[r].stage >= 0) {
            seen[n++] = p->out->places[r].pipeline;
        }
    }
    ps_sort(seen, n, sizeof *seen, ps_compare_i64);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (distinct == 0 || seen[i] != seen[distinct - 1]) {
            seen[distinct++] = seen[i];
        }
    }
    for (size_t r = 0; seen != NULL && distinct > 0 && r < p->n; r++) {
        ps_place *place = &p->out->places[r];
        if (place->stage >= 0) {
            int64_t key = place->pipeline;
            const int64_t *at = bsearch(&key, seen, distinct, sizeof *seen, ps_compare_i64);
            place->pipeline = (int32_t)(at - seen);
        }
    }
    ps_free(seen);
    return seen != NULL;
}

/* The k-th rank of a stage belongs to pipeline k. */
static bool replicas_by_order(placing *p) {
    ps_idmap seen; /* stage -> ranks so far */
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t r = 0; ok && r < p->n; r++) {
        ps_place *place = &p->out->places[r];
        if (place->stage >= 0) {
            uint32_t n = ps_idmap_get(&seen, (uint64_t)place->stage);
            n = n == PS_IDMAP_NONE ? 0 : n;
            place->pipeline = (int32_t)n;
            ok = ps_idmap_put(&seen, (uint64_t)place->stage, n + 1);
        }
    }
    ps_idmap_fini(&seen);
    return ok;
}

static bool all_in_group(const placing *p) {
    bool any = false;
    for (size_t r = 0; r < p->n; r++) {
        bool in = ps_rank_facts_pp(p->ranks[r].facts) != NULL;
        if (p->ranks[r].is_in && !in) {
            return false;
        }
        any = any || p->ranks[r].is_in;
    }
    return any;
}

static bool all_placed(const placing *p) {
    bool any = false;
    for (size_t r = 0; r < p->n; r++) {
        if (p->ranks[r].is_in && p->out->places[r].stage < 0) {
            return false;
        }
        any = any || p->ranks[r].is_in;
    }
    return any;
}

static void place_by_job(placing *p) {
    for (size_t r = 0; r < p->n; r++) {
        if (p->ranks[r].is_in) {
            p->out->places[r] = ps_job_place(p->job, p->ranks[r].rank, p->ranks[r].facts);
        }
    }
}

/* The first stage of a rank is its position where stages lie in a loop or a V, or one on each rank; that is known when
 * it is smaller than the number of ranks that so many stages need. Else (stages in blocks) their order tells. */
static bool place_by_labels(placing *p) {
    int32_t n_model = 0;
    int32_t most = 1;
    bool direct = true;
    int64_t *firsts = ps_calloc(p->n, sizeof *firsts);
    size_t n = 0;
    for (size_t r = 0; firsts != NULL && r < p->n; r++) {
        const ps_rank_place_facts *f = &p->ranks[r];
        if (f->n_stages > 0) {
            int32_t last = f->stages[f->n_stages - 1];
            n_model = last >= n_model ? last + 1 : n_model;
            most = (int32_t)f->n_stages > most ? (int32_t)f->n_stages : most;
            firsts[n++] = f->stages[0];
        }
    }
    int32_t n_devices = (n_model + most - 1) / most;
    for (size_t i = 0; i < n; i++) {
        direct = direct && firsts[i] < n_devices;
    }
    ps_sort(firsts, n, sizeof *firsts, ps_compare_i64);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (distinct == 0 || firsts[i] != firsts[distinct - 1]) {
            firsts[distinct++] = firsts[i];
        }
    }
    for (size_t r = 0; firsts != NULL && distinct > 0 && r < p->n; r++) {
        const ps_rank_place_facts *f = &p->ranks[r];
        int64_t key = f->stages[0];
        if (f->is_in && f->n_stages > 0) {
            const int64_t *at = bsearch(&key, firsts, distinct, sizeof *firsts, ps_compare_i64);
            p->out->places[r].stage = direct ? f->stages[0] : (int32_t)(at - firsts);
        }
    }
    p->out->n_stages = direct ? n_devices : (int32_t)distinct;
    p->out->n_chunks = most;
    ps_free(firsts);
    return firsts != NULL;
}

/* Replicas of labelled stages: by their group, else by order. */
static bool group_labelled(placing *p) {
    if (!all_in_group(p)) {
        return replicas_by_order(p);
    }
    for (size_t r = 0; r < p->n; r++) {
        const ps_group_fact *group = ps_rank_facts_pp(p->ranks[r].facts);
        if (p->out->places[r].stage >= 0) {
            bool known = group->first_rank >= 0 && group->first_rank < INT32_MAX;
            p->out->places[r].pipeline = known ? (int32_t)group->first_rank : 0;
        }
    }
    return true;
}

/* Ranks that exchange, directly or through others, are one pipeline; in it the order of the ranks is that of the stages.
 * Used when all pipelines found so are equally long. */
static bool place_by_transfers(placing *p, bool *done) {
    uint32_t *root = ps_calloc(p->n, sizeof *root);
    int32_t *size = ps_calloc(p->n, sizeof *size);
    bool ok = root != NULL && size != NULL;
    for (size_t r = 0; ok && r < p->n; r++) {
        root[r] = (uint32_t)r;
    }
    bool changed = ok;
    for (size_t round = 0; changed && round <= p->n; round++) { /* the least row spreads */
        changed = false;
        for (size_t i = 0; i < p->n_pairs; i++) {
            uint32_t *a = &root[p->pairs[i].a];
            uint32_t *b = &root[p->pairs[i].b];
            uint32_t least = *a < *b ? *a : *b;
            changed = changed || *a != least || *b != least;
            *a = least;
            *b = least;
        }
    }
    for (size_t r = 0; ok && r < p->n; r++) {
        if (p->ranks[r].is_in) {
            p->out->places[r] = (ps_place){size[root[r]]++, (int32_t)root[r]};
        }
    }
    int32_t length = 0;
    *done = ok;
    for (size_t r = 0; ok && r < p->n; r++) {
        if (p->ranks[r].is_in) {
            int32_t n = size[root[r]];
            *done = *done && n > 1 && (length == 0 || n == length);
            length = n;
        }
    }
    *done = *done && length > 1;
    p->out->n_stages = *done ? length : 0;
    ps_free(root);
    ps_free(size);
    return ok;
}

static void place_by_order(placing *p) {
    int32_t n = 0;
    for (size_t r = 0; r < p->n; r++) {
        if (p->ranks[r].is_in) {
            p->out->places[r] = (ps_place){n++, 0};
        }
    }
    p->out->n_stages = n;
    p->out->is_guess = true;
}

static bool find_job_place(placing *p) {
    bool labelled = false;
    bool done = false;
    for (size_t r = 0; r < p->n; r++) {
        labelled = labelled || (p->ranks[r].is_in && p->ranks[r].n_stages > 0);
    }
    p->out->n_chunks = 1;
    if (labelled) {
        if (!place_by_labels(p)) {
            return false;
        }
        p->out->how = p->out->n_chunks > 1 ? HOW_CHUNKS : HOW_LABELS;
        if (!p->job->sizes_overridden) {
            return group_labelled(p) && number_pipelines(p);
        }
    }
    p->out->how = p->job->sizes_overridden ? HOW_GIVEN : HOW_METADATA;
    p->out->n_stages = p->job->n_stages > 0 && p->job->n_stages < INT32_MAX
                           ? (int32_t)p->job->n_stages
                           : p->out->n_stages;
    place_by_job(p);
    if (!p->job->sizes_overridden && p->job->alone && p->job->n_stages == 0 && all_placed(p) &&
        !all_in_group(p)) {
        p->out->how = HOW_ALONE;
        p->out->n_stages = 1;
    }
    if (p->job->sizes_overridden || all_placed(p)) {
        return number_pipelines(p);
    }
    p->out->how = HOW_TRANSFERS;
    if (!place_by_transfers(p, &done)) {
        return false;
    }
    if (!done) {
        p->out->how = HOW_ORDER;
        place_by_order(p);
    }
    return number_pipelines(p);
}

ps_code ps_places_find(const ps_rank_place_facts *ranks, size_t n, const ps_job *job,
                       const ps_rank_pair *pairs, size_t n_pairs, ps_places *out, ps_err *err) {
    *out = (ps_places){.how = HOW_UNKNOWN};
    out->places = ps_calloc(n, sizeof *out->places);
    placing p = {ranks, n, job, pairs, n_pairs, out};
    for (size_t r = 0; out->places != NULL && r < n; r++) {
        out->places[r] = (ps_place){-1, -1};
    }
    if (out->places == NULL || !find_job_place(&p)) {
        ps_places_fini(out);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_places_fini(ps_places *p) {
    ps_free(p->places);
    *p = (ps_places){.how = HOW_UNKNOWN};
}
