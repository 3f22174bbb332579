#include "analyze/derived/comm_roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

typedef struct building {
    ps_comm_roster *r;
    ps_idmap by_key; /* id of the key * 2 + is_p2p -> group */
} building;

static ps_str keep_roster(ps_comm_roster *r, const char *text) {
    return ps_strpool_add(&r->strings, text, strlen(text));
}

/* `id`: "" when only the key is known. False when memory is out. */
static bool note_roster(building *b, const char *key, const char *id, bool is_p2p, int64_t rank) {
    ps_comm_roster *r = b->r;
    ps_str key_id = keep_roster(r, key);
    ps_str id_id = keep_roster(r, id);
    if (ps_str_is_none(key_id) || ps_str_is_none(id_id)) {
        return false;
    }
    uint64_t slot = (uint64_t)key_id.id * 2 + is_p2p;
    uint32_t row = ps_idmap_get(&b->by_key, slot);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)r->n;
        if (!ps_grow(&r->groups, &r->cap, r->n + 1, UINT32_MAX - 1, sizeof *r->groups) ||
            !ps_idmap_put(&b->by_key, slot, row)) {
            return false;
        }
        r->groups[r->n++] = (ps_roster_group){
            .key = ps_strpool_get(&r->strings, key_id), .id = "", .label = "", .is_p2p = is_p2p};
    }
    ps_roster_group *g = &r->groups[row];
    g->id = g->id[0] == '\0' ? ps_strpool_get(&r->strings, id_id) : g->id;
    if (g->n_ranks > 0 && g->ranks[g->n_ranks - 1] == rank) {
        return true;
    }
    if (!ps_grow(&g->ranks, &g->cap_ranks, g->n_ranks + 1, UINT32_MAX, sizeof *g->ranks)) {
        return false;
    }
    g->ranks[g->n_ranks++] = rank;
    return true;
}

static bool note_times(building *b, const ps_comm_tables *t, int64_t rank) {
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_times; i++) {
        ok =
            note_roster(b, ps_comm_tables_text(t, t->times[i].group), "", t->times[i].is_p2p, rank);
    }
    return ok;
}

/* Statistics know a communicator by its hash only; operators have its name. */
static bool index_name(ps_comm_roster *r, const char *name, const char *key) {
    ps_str key_id = keep_roster(r, key);
    ps_str name_id = keep_roster(r, name);
    return !ps_str_is_none(key_id) && !ps_str_is_none(name_id) &&
           (strcmp(name, key) == 0 || ps_idmap_put(&r->names, key_id.id, name_id.id));
}

/* Each group of the operators is looked at once, and once more where it also sends and receives. Their ranks count where there are no
 * statistics. */
static bool note_list(building *b, const ps_comm_list *list, bool has_times, int64_t rank) {
    uint8_t *seen = ps_calloc(list->strings.n + 1, sizeof *seen);
    bool ok = seen != NULL;
    for (size_t i = 0; ok && i < list->n; i++) {
        const ps_comm_look *look = list->ops[i].look;
        uint8_t bit = look->is_p2p ? 2 : 1;
        if (ps_str_is_none(look->group) || (seen[look->group.id] & bit) != 0) {
            continue;
        }
        bool is_new = seen[look->group.id] == 0;
        seen[look->group.id] |= bit;
        char key[PS_COMM_KEY_SIZE];
        const char *name = ps_comm_text(list, look->group);
        ps_comm_key(name, key, sizeof key);
        ok = (!is_new || index_name(b->r, name, key)) &&
             (has_times || note_roster(b, key, name, look->is_p2p, rank));
    }
    ps_free(seen);
    return ok;
}

/* The first that says something counts. */
static bool index_facts(ps_comm_roster *r, const ps_comm_part *part) {
    for (size_t i = 0; i < part->n_groups; i++) {
        ps_str key = keep_roster(r, part->groups[i].key);
        if (ps_str_is_none(key)) {
            return false;
        }
        if (ps_idmap_get(&r->facts, key.id) != PS_IDMAP_NONE) {
            continue;
        }
        if (!ps_grow(&r->all_facts, &r->cap_facts, r->n_facts + 1, UINT32_MAX - 1,
                     sizeof *r->all_facts) ||
            !ps_idmap_put(&r->facts, key.id, (uint32_t)r->n_facts)) {
            return false;
        }
        r->all_facts[r->n_facts++] = &part->groups[i];
    }
    return true;
}

const ps_comm_group *ps_comm_roster_fact(const ps_comm_roster *r, const char *key) {
    ps_str id = ps_strpool_find(&r->strings, key, strlen(key));
    uint32_t row = ps_str_is_none(id) ? PS_IDMAP_NONE : ps_idmap_get(&r->facts, id.id);
    return row != PS_IDMAP_NONE ? r->all_facts[row] : NULL;
}

static bool list_ranks_of_fact(ps_roster_group *g) {
    const ps_int_runs *ranks = &g->fact->ranks;
    if (!ps_grow(&g->ranks, &g->cap_ranks, ranks->n, UINT32_MAX, sizeof *g->ranks)) {
        return false;
    }
    ps_int_walk walk = {0};
    g->n_ranks = 0;
    while (ps_int_runs_next(ranks, &walk, &g->ranks[g->n_ranks])) {
        g->n_ranks++;
    }
    return true;
}

static bool complete_roster(ps_comm_roster *r, ps_roster_group *g) {
    g->fact = ps_comm_roster_fact(r, g->key);
    uint32_t name =
        ps_idmap_get(&r->names, ps_strpool_find(&r->strings, g->key, strlen(g->key)).id);
    if (g->id[0] == '\0' && name != PS_IDMAP_NONE) {
        g->id = ps_strpool_get(&r->strings, (ps_str){name});
    }
    if (g->fact != NULL) {
        g->id = g->fact->id;
        g->label = g->fact->label;
        if (g->fact->ranks.n > 0 && !list_ranks_of_fact(g)) {
            return false;
        }
    }
    ps_sort(g->ranks, g->n_ranks, sizeof *g->ranks, ps_compare_i64);
    return true;
}

PS_COMPARE(compare_groups, ps_roster_group,
           PS_BY(is_p2p) PS_BY(ranks[0]) PS_BY(n_ranks) PS_BY_TEXT(key))

ps_code ps_comm_roster_build(const ps_reduce_input *in, ps_comm_roster *out, ps_err *err) {
    *out = (ps_comm_roster){0};
    ps_idmap_init(&out->facts);
    ps_idmap_init(&out->names);
    building b = {.r = out};
    ps_idmap_init(&b.by_key);
    bool ok = ps_strpool_init(&out->strings);
    for (size_t i = 0; ok && i < in->n_ranks; i++) {
        const ps_comm_part *part = in->partials[i];
        int64_t rank = in->ranks[i].rank;
        ok = part == NULL || (index_facts(out, part) && note_times(&b, &part->tables, rank) &&
                              note_list(&b, &part->list, part->tables.n_times > 0, rank));
    }
    for (size_t i = 0; ok && i < out->n; i++) {
        ok = complete_roster(out, &out->groups[i]);
    }
    if (ok && out->n > 1) {
        qsort(out->groups, out->n, sizeof *out->groups, compare_groups);
    }
    ps_idmap_fini(&b.by_key);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_comm_roster_fini(ps_comm_roster *r) {
    for (size_t i = 0; i < r->n; i++) {
        ps_free(r->groups[i].ranks);
    }
    ps_free(r->groups);
    ps_free(r->all_facts);
    ps_idmap_fini(&r->facts);
    ps_idmap_fini(&r->names);
    ps_strpool_fini(&r->strings);
    *r = (ps_comm_roster){0};
}
