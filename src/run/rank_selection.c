#include "run/rank_selection.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/runs.h"

bool ps_is_all_ranks(const char *list) {
    return list == NULL || strcmp(list, "all") == 0;
}

static size_t count_words(const char *list) {
    size_t n = 1;
    for (const char *p = list; *p != '\0'; p++) {
        n += *p == ',';
    }
    return n;
}

/* Marks the ranks of that number; one that none has is noted. */
static void choose_rank(ps_rank_selection *s, const ps_cluster *c, int64_t id, bool *chosen) {
    bool is_there = false;
    for (size_t r = 0; r < c->n_ranks; r++) {
        bool is_it = c->ranks[r].rank == id;
        chosen[r] = chosen[r] || is_it;
        is_there = is_there || is_it;
    }
    if (!is_there) {
        s->absent[s->n_absent++] = id;
    }
}

static ps_code choose_ranks(ps_rank_selection *s, const ps_cluster *c, const char *list,
                            const char *option, bool *chosen, ps_err *err) {
    for (const char *p = list; *p != '\0' || p == list;) {
        size_t n = strcspn(p, ",");
        int64_t id = 0;
        if (!ps_parse_i64(p, n, &id)) {
            return ps_fail_said(
                err, PS_USAGE, "%s: '%.*s' is not a rank; give all, or ranks as in 0,1,5",
                "%s：“%.*s”不是 rank；请给出 all，或如 0,1,5 的列表", option, (int)n, p);
        }
        choose_rank(s, c, id, chosen);
        p += n + (p[n] == ',');
    }
    return PS_OK;
}

ps_code ps_rank_selection_init(ps_rank_selection *s, const ps_cluster *cluster, const char *list,
                               const char *option, ps_err *err) {
    bool all = ps_is_all_ranks(list);
    *s = (ps_rank_selection){.ranks = ps_calloc(cluster->n_ranks + 1, sizeof *s->ranks),
                             .absent = ps_calloc(all ? 1 : count_words(list), sizeof *s->absent)};
    bool *chosen = ps_calloc(cluster->n_ranks + 1, sizeof *chosen);
    ps_code code = s->ranks == NULL || s->absent == NULL || chosen == NULL ? ps_fail_nomem(err)
                   : all                                                   ? PS_OK
                         : choose_ranks(s, cluster, list, option, chosen, err);
    for (size_t r = 0; code == PS_OK && r < cluster->n_ranks; r++) {
        if (all || chosen[r]) {
            s->ranks[s->n++] = &cluster->ranks[r];
        }
    }
    ps_free(chosen);
    return code;
}

void ps_rank_selection_fini(ps_rank_selection *s) {
    ps_free(s->ranks);
    ps_free(s->absent);
    *s = (ps_rank_selection){0};
}

ps_code ps_rank_selection_check(const ps_rank_selection *s, const ps_cluster *cluster,
                                ps_err *err) {
    if (s->n_absent == 0) {
        return PS_OK;
    }
    int64_t *there = ps_calloc(cluster->n_ranks + 1, sizeof *there);
    size_t n = 0;
    for (size_t r = 0; there != NULL && r < cluster->n_ranks; r++) {
        if (cluster->ranks[r].rank >= 0) {
            there[n++] = cluster->ranks[r].rank;
        }
    }
    ps_code code = there != NULL ? ps_fail_no_such(err, PS_USAGE, "rank", s->absent[0], there, n)
                                 : ps_fail_nomem(err);
    ps_free(there);
    return code;
}
