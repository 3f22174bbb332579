#include "analyze/pipeline/stage_groups.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/sort.h"

ps_indices ps_indices_of(const ps_job *job, int64_t rank, const ps_rank_facts *facts) {
    ps_layout_place at = ps_job_locate(job, rank);
    ps_indices x = {.dp = at.dp, .pp = at.pp, .tp = at.tp};
    const ps_group_fact *pp = ps_rank_facts_own_pp(facts, rank);
    if (!job->sizes_overridden && pp != NULL) {
        x.pp = pp->group_rank;
    } else if (x.pp < 0) {
        x.pp = ps_job_place(job, rank, NULL).stage;
    }
    return x;
}

/* --- sets of ranks ------------------------------------------------------------------------------------ */

static size_t root_of(size_t *parent, size_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The smaller stays the root, so that a set is known by its first rank. */
static void unite(size_t *parent, size_t a, size_t b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) {
        parent[b] = a;
    } else {
        parent[a] = b;
    }
}

/* One rank in one group. */
typedef struct member {
    const char *comm;
    bool is_pipeline;
    size_t rank;
} member;

static const ps_sort_key BY_STAGE_GROUP_GROUP[] = {PS_UP(member, comm), PS_UP(member, rank)};

static member *list_members(const ps_rank_facts *const *facts, size_t n_ranks, size_t *n) {
    size_t total = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        total += facts[r] != NULL ? facts[r]->n_groups : 0;
    }
    member *members = ps_calloc(total + 1, sizeof *members);
    *n = 0;
    for (size_t r = 0; members != NULL && r < n_ranks; r++) {
        for (size_t g = 0; facts[r] != NULL && g < facts[r]->n_groups; g++) {
            const ps_group_fact *fact = &facts[r]->groups[g];
            if (fact->group_rank >= 0 ||
                fact->n_ranks < 0) { /* metadata may list groups of others */
                members[(*n)++] =
                    (member){fact->comm_name, strncasecmp(fact->group_name, "pp", 2) == 0, r};
            }
        }
    }
    ps_sort_by(members, *n, sizeof *members, PS_KEYS(BY_STAGE_GROUP_GROUP));
    return members;
}

static size_t group_end(const member *members, size_t n, size_t from) {
    size_t end = from + 1;
    while (end < n && strcmp(members[end].comm, members[from].comm) == 0) {
        end++;
    }
    return end;
}

/* Whether no two ranks of the group stand in one pipeline. */
static bool is_across(const member *members, size_t from, size_t end, size_t *pipeline,
                      size_t *seen_in) {
    for (size_t i = from; i < end; i++) {
        size_t root = root_of(pipeline, members[i].rank);
        if (seen_in[root] == from + 1) {
            return false;
        }
        seen_in[root] = from + 1;
    }
    return true;
}

typedef struct sets {
    size_t *pipeline, *stage, *seen_in;
    bool *in_stage;
} sets;

static bool unite_groups(const member *members, size_t n, sets *s) {
    bool any = false;
    for (size_t i = 0; i < n; i = group_end(members, n, i)) {
        size_t end = group_end(members, n, i);
        for (size_t k = i + 1; members[i].is_pipeline && k < end; k++) {
            unite(s->pipeline, members[i].rank, members[k].rank);
            any = true;
        }
    }
    for (size_t i = 0; any && i < n; i = group_end(members, n, i)) {
        size_t end = group_end(members, n, i);
        if (members[i].is_pipeline || !is_across(members, i, end, s->pipeline, s->seen_in)) {
            continue;
        }
        for (size_t k = i; k < end; k++) {
            unite(s->stage, members[i].rank, members[k].rank);
            s->in_stage[members[k].rank] = true;
        }
    }
    return any;
}

/* By groups: stage[i] is the first rank of the set, -1 none. */
static bool by_groups(const ps_rank_facts *const *facts, size_t n, int32_t *stage) {
    size_t n_members = 0;
    member *members = list_members(facts, n, &n_members);
    sets s = {.pipeline = ps_calloc(n + 1, sizeof(size_t)),
              .stage = ps_calloc(n + 1, sizeof(size_t)),
              .seen_in = ps_calloc(n + 1, sizeof(size_t)),
              .in_stage = ps_calloc(n + 1, sizeof(bool))};
    bool ok = members != NULL && s.pipeline != NULL && s.stage != NULL && s.seen_in != NULL &&
              s.in_stage != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        s.pipeline[i] = i;
        s.stage[i] = i;
        stage[i] = -1;
    }
    if (ok && unite_groups(members, n_members, &s)) {
        for (size_t i = 0; i < n; i++) {
            stage[i] = s.in_stage[i] ? (int32_t)root_of(s.stage, i) : -1;
        }
    }
    ps_free(members);
    ps_free(s.pipeline);
    ps_free(s.stage);
    ps_free(s.seen_in);
    ps_free(s.in_stage);
    return ok;
}

/* Numbers the values 0, 1, ... in the order in which they appear. */
static bool number_by_first(int32_t *stage, size_t n, size_t *n_stages) {
    int32_t *values = ps_calloc(n + 1, sizeof *values);
    *n_stages = 0;
    for (size_t i = 0; values != NULL && i < n; i++) {
        size_t k = 0;
        while (k < *n_stages && values[k] != stage[i]) {
            k++;
        }
        if (stage[i] >= 0) {
            values[k] = stage[i];
            *n_stages += k == *n_stages;
            stage[i] = (int32_t)k;
        }
    }
    ps_free(values);
    return values != NULL;
}

ps_code ps_stage_groups(const ps_rank_info *ranks, const ps_rank_facts *const *facts,
                        const ps_job *job, size_t n, int32_t *stage, size_t *n_stages,
                        ps_err *err) {
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        stage[i] = (int32_t)ps_indices_of(job, ranks[i].rank, facts[i]).pp;
        known = known || stage[i] >= 0;
    }
    if ((!known && !by_groups(facts, n, stage)) || !number_by_first(stage, n, n_stages)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; *n_stages < 2 && i < n; i++) {
        stage[i] = -1;
    }
    *n_stages = *n_stages < 2 ? 0 : *n_stages;
    return PS_OK;
}
