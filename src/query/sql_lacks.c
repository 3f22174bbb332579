#include "model/lacks.h"
#include "query/job_tables.h"
#include "query/sql.h"
#include "query/sql_inside.h"
#include "run/run_lacks.h"

/* Why the profile is in none of the tables that the statement asked for, or in one of them not; NULL: it is in all. */
static const ps_err *why_missing(const ps_sql_context *c, size_t i) {
    const ps_sql_part *part = &c->parts.parts[i];
    if (part->is_missed) {
        return &part->err;
    }
    for (size_t k = 0; k < ps_job_runs(c->job); k++) {
        const ps_run *run = ps_job_was_asked(c->job, k) ? ps_job_run(c->job, k) : NULL;
        for (size_t r = 0; run != NULL && r < run->n_ranks; r++) {
            const ps_rank_report *report = &run->ranks[r];
            if (report->rank == part->rank && report->status == PS_RANK_FAILED) {
                return &report->err;
            }
        }
    }
    return NULL;
}

ps_table *ps_sql_lacks(ps_sql *s, ps_err *err) {
    const ps_sql_context *c = ps_sql_context_of(s);
    ps_table *lacks = ps_lacks_new("lacks");
    if (lacks == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    const ps_lang lang = c->opts.analysis.lang;
    ps_lacks_add_search(lang, lacks, &c->cluster->diag, PS_LACKS_SEARCH(lang));
    for (size_t i = 0; i < c->cluster->n_ranks; i++) {
        const ps_err *why = why_missing(c, i);
        if (why != NULL) {
            ps_lacks_add_unread(lang, lacks, &c->cluster->ranks[i], why);
        }
    }
    lacks = ps_table_end(lacks);
    if (lacks == NULL) {
        (void)ps_fail_nomem(err);
    }
    return lacks;
}
