/* The list of analyses. */
#include "analyze/core/analysis.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"

#define X(symbol) extern const ps_analysis ps_analysis_##symbol;
#include "analyze/core/analyses.def"
#undef X

static const ps_analysis *const ANALYSES[] = {
#define X(symbol) &ps_analysis_##symbol,
#include "analyze/core/analyses.def"
#undef X
    NULL};

#define MAX_TABLES ((size_t)1 << 24)

const ps_analysis *const *ps_analyses(void) {
    return ANALYSES;
}

const ps_analysis *ps_analysis_find(const char *name) {
    for (size_t i = 0; ANALYSES[i] != NULL; i++) {
        if (strcasecmp(ANALYSES[i]->name, name) == 0) {
            return ANALYSES[i];
        }
    }
    return NULL;
}

ps_code ps_result_add(ps_result *r, ps_table *table, ps_err *err) {
    table = ps_table_end(table);
    if (table == NULL ||
        !ps_grow(&r->tables, &r->cap_tables, r->n_tables + 1, MAX_TABLES, sizeof(ps_table *))) {
        ps_table_free(table);
        return ps_fail_nomem(err);
    }
    r->tables[r->n_tables++] = table;
    return PS_OK;
}

void ps_result_give(ps_result *r, ps_table *table) {
    r->failed = ps_result_add(r, table, NULL) != PS_OK || r->failed;
}

ps_code ps_result_code(const ps_result *r, ps_err *err) {
    return r->failed ? ps_fail_nomem(err) : PS_OK;
}

const ps_table *ps_result_table(const ps_result *r, const char *name) {
    for (size_t i = 0; r != NULL && i < r->n_tables; i++) {
        if (strcmp(r->tables[i]->name, name) == 0) {
            return r->tables[i];
        }
    }
    return NULL;
}

ps_code ps_map_nothing(const ps_map_input *in, void **partial, ps_err *err) {
    (void)err;
    *partial = in->partial;
    return PS_OK;
}

const ps_result *ps_result_charted(const ps_reduce_input *in) {
    for (size_t i = 0; i < in->n_before; i++) {
        if (in->before[i].chart != NULL && in->before[i].chart->n_ops > 0) {
            return &in->before[i];
        }
    }
    return NULL;
}

void ps_result_fini(ps_result *r) {
    for (size_t i = 0; i < r->n_tables; i++) {
        ps_table_free(r->tables[i]);
    }
    ps_free(r->tables);
    ps_chart_free(r->chart);
    ps_chart_free(r->against);
    *r = (ps_result){0};
}
