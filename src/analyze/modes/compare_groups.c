#include "analyze/modes/compare_groups.h"

#include <string.h>

#include "analyze/modes/capture_facts_groups.h"
#include "base/alloc.h"

static const char *group_text(const ps_table *t, size_t row, size_t column) {
    const char *text = ps_table_cell(t, row, column)->u.text;
    return text != NULL ? text : "";
}

/* What two names have in common, the best first. */
static bool has_same_identity(const ps_table *now, size_t a, const ps_table *base, size_t b) {
    const char *identity = group_text(base, b, PS_CN_IDENTITY);
    return identity[0] != '\0' && strcmp(group_text(now, a, PS_CN_IDENTITY), identity) == 0;
}

static bool has_same_group_name(const ps_table *now, size_t a, const ps_table *base, size_t b) {
    return strcmp(group_text(now, a, PS_CN_NAME), group_text(base, b, PS_CN_NAME)) == 0;
}

static bool has_same_purpose(const ps_table *now, size_t a, const ps_table *base, size_t b) {
    const char *purpose = group_text(base, b, PS_CN_PURPOSE);
    return purpose[0] != '\0' && strcmp(group_text(now, a, PS_CN_PURPOSE), purpose) == 0;
}

/* Names that have this in common belong together; each once. */
static void match_groups(ps_compare_groups *g, const ps_table *now, bool *is_taken,
                         bool (*is_same)(const ps_table *, size_t, const ps_table *, size_t)) {
    for (size_t b = 0; b < g->base->n_rows; b++) {
        for (size_t a = 0; a < now->n_rows && g->here[b] == NULL; a++) {
            if (!is_taken[a] && is_same(now, a, g->base, b)) {
                is_taken[a] = true;
                g->here[b] = group_text(now, a, PS_CN_NAME);
            }
        }
    }
}

ps_code ps_compare_groups_init(ps_compare_groups *g, const ps_result *now, const ps_result *base,
                               ps_err *err) {
    const ps_table *there = ps_result_table(now, "CaptureGroups");
    *g = (ps_compare_groups){.base = ps_result_table(base, "CaptureGroups")};
    if (there == NULL || g->base == NULL) {
        return PS_OK;
    }
    bool *is_taken = ps_calloc(there->n_rows + 1, sizeof *is_taken);
    g->here = ps_calloc(g->base->n_rows + 1, sizeof *g->here);
    if (is_taken == NULL || g->here == NULL) {
        ps_free(is_taken);
        return ps_fail_nomem(err);
    }
    match_groups(g, there, is_taken, has_same_identity);
    match_groups(g, there, is_taken, has_same_group_name);
    match_groups(g, there, is_taken, has_same_purpose);
    g->has_none = there->n_rows > 0 && g->base->n_rows > 0;
    for (size_t b = 0; b < g->base->n_rows; b++) {
        const char *own = group_text(g->base, b, PS_CN_NAME);
        g->has_none = g->has_none && g->here[b] == NULL;
        g->here[b] = g->here[b] != NULL ? g->here[b] : own;
        g->has_renamed = g->has_renamed || strcmp(g->here[b], own) != 0;
    }
    ps_free(is_taken);
    return PS_OK;
}

void ps_compare_groups_fini(ps_compare_groups *g) {
    ps_free(g->here);
    *g = (ps_compare_groups){0};
}

const char *ps_compare_groups_here(const ps_compare_groups *g, const char *base_name) {
    for (size_t b = 0; g->here != NULL && b < g->base->n_rows; b++) {
        if (strcmp(group_text(g->base, b, PS_CN_NAME), base_name) == 0) {
            return g->here[b];
        }
    }
    return base_name;
}
