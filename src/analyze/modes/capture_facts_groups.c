#include "analyze/modes/capture_facts_groups.h"

#include <stdio.h>
#include <string.h>

#include "analyze/modes/capture_facts.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/sort.h"

/* --- of a rank ------------------------------------------------------------------------------------------------------- */

/* What the metadata says of the communicator of a slice: by its own name, else by what it is for, which is how text formats call it. Of several
 * for the same purpose nobody knows which (`is_sure`). */
static const ps_group_fact *fact_of(const ps_trace *trace, uint32_t slice,
                                    const ps_rank_facts *facts, bool *is_sure) {
    size_t n_tracks = 0;
    const ps_track *track =
        &ps_trace_tracks(trace, &n_tracks)[ps_trace_slices(trace)->track[slice]];
    bool is_group = track->kind == PS_TRACK_COMM_GROUP || track->kind == PS_TRACK_COMM_PLANE;
    const char *names[] = {is_group ? ps_trace_text(trace, track->name) : NULL,
                           ps_trace_arg_text(trace, slice, "Process Group Name"),
                           ps_trace_arg_text(trace, slice, "Process Group Description")};
    const ps_group_fact *by_purpose = NULL;
    *is_sure = true;
    for (size_t i = 0; i < facts->n_groups; i++) {
        const ps_group_fact *f = &facts->groups[i];
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const char *name = names[k] != NULL ? names[k] : "";
            if (name[0] != '\0' && strcmp(f->comm_name, name) == 0) {
                *is_sure = true;
                return f;
            }
            bool is_it = name[0] != '\0' && strcmp(f->group_name, name) == 0;
            *is_sure = *is_sure && !(is_it && by_purpose != NULL && by_purpose != f);
            by_purpose = is_it ? f : by_purpose;
        }
    }
    return by_purpose;
}

/* Whatever their order. */
static uint64_t hash_ranks(const ps_int_runs *ranks) {
    uint64_t sum = 0;
    int64_t rank = 0;
    ps_int_walk walk = {0};
    while (ps_int_runs_next(ranks, &walk, &rank)) {
        sum += ps_hash_u64((uint64_t)rank + 1);
    }
    return sum;
}

bool ps_capture_groups_note(ps_capture_groups *g, ps_arena *arena, const ps_trace *trace,
                            uint32_t slice, const char *name, const ps_rank_facts *facts) {
    for (size_t i = 0; i < g->n; i++) {
        if (strcmp(g->at[i].name, name) == 0) {
            return true;
        }
    }
    bool is_sure = false;
    const ps_group_fact *fact = fact_of(trace, slice, facts, &is_sure);
    const char *purpose = fact != NULL ? fact->group_name : "";
    if (!ps_grow(&g->at, &g->cap, g->n + 1, UINT32_MAX, sizeof *g->at)) {
        return false;
    }
    ps_capture_group *x = &g->at[g->n++];
    *x = (ps_capture_group){.name = ps_arena_strndup(arena, name, strlen(name)),
                            .purpose = ps_arena_strndup(arena, purpose, strlen(purpose)),
                            .ranks = fact != NULL && is_sure ? hash_ranks(&fact->ranks) : 0};
    return x->name != NULL && x->purpose != NULL;
}

void ps_capture_groups_fini(ps_capture_groups *g) {
    ps_free(g->at);
    *g = (ps_capture_groups){0};
}

static void capture_group_archive(ps_archive *a, void *group) {
    ps_capture_group *x = group;
    PS_ARCHIVE(a, x, name, purpose, ranks);
    if (ps_archive_is_reading(a) && (x->name == NULL || x->purpose == NULL)) {
        ps_archive_refuse(a, "group");
    }
}

void ps_capture_groups_archive(ps_archive *a, ps_capture_groups *g) {
    ps_capture_groups *x = g;
    PS_ARCHIVE_ARRAY(a, x, at, n, capture_group_archive);
}

/* --- of all ranks ------------------------------------------------------------------------------------------------------ */

typedef struct group_row {
    const char *name, *purpose, *identity;
} group_row;

static const ps_column GROUPS[PS_N_CN] = {
    [PS_CN_NAME] = {.name = "name", PS_FIELD(group_row, name)},
    [PS_CN_PURPOSE] = {.name = "purpose", PS_FIELD(group_row, purpose)},
    [PS_CN_IDENTITY] = {.name = "identity", PS_FIELD(group_row, identity)},
};

PS_COMPARE(by_name_and_ranks, ps_capture_group, PS_BY_TEXT(name) PS_BY_TEXT(purpose) PS_BY(ranks))

/* at[0, n): all that ranks say of one name. */
static void put_group(ps_table *t, const ps_capture_group *at, size_t n) {
    char identity[24] = "";
    uint64_t hash = 0;
    bool is_one_purpose = true;
    bool is_known = true;
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && by_name_and_ranks(&at[i - 1], &at[i]) == 0;
        is_one_purpose = is_one_purpose && strcmp(at[i].purpose, at[0].purpose) == 0;
        is_known = is_known && at[i].purpose[0] != '\0' && at[i].ranks != 0;
        hash +=
            again ? 0 : ps_hash_u64(at[i].ranks ^ ps_hash64(at[i].purpose, strlen(at[i].purpose)));
    }
    if (is_known) {
        (void)snprintf(identity, sizeof identity, "%016llx", (unsigned long long)hash);
    }
    ps_table_put(t, &(group_row){at[0].name, is_one_purpose ? at[0].purpose : "", identity});
}

ps_code ps_capture_groups_table(const ps_reduce_input *in, ps_result *out, ps_err *err) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        n += part != NULL ? part->groups.n : 0;
    }
    ps_table *t = ps_table_new("CaptureGroups", "", PS_COLUMNS(GROUPS));
    ps_capture_group *all = ps_calloc(n + 1, sizeof *all);
    if (t == NULL || all == NULL) {
        ps_table_free(t);
        ps_free(all);
        return ps_fail_nomem(err);
    }
    n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_rank_capture *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->groups.n; i++) {
            all[n++] = part->groups.at[i];
        }
    }
    ps_sort(all, n, sizeof *all, by_name_and_ranks);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && strcmp(all[end].name, all[i].name) == 0) {
            end++;
        }
        put_group(t, &all[i], end - i);
        i = end;
    }
    ps_free(all);
    return ps_result_add(out, t, err);
}
