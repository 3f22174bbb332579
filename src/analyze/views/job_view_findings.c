/* Findings of the report about communication, and the evidence of all with the keys of ranks. */
#include <string.h>

#include "analyze/views/job_view.h"

/* --- findings of communication -------------------------------------------------------------------------------------- */

static bool copy_finding(const ps_table *from, size_t row, ps_table *to) {
    bool ok = ps_table_add_row(to);
    for (size_t c = 0; ok && c < from->n_columns; c++) {
        const ps_value *v = ps_table_cell(from, row, c);
        if (v->is_null) {
            continue;
        }
        if (from->columns[c].type == PS_COL_INT) {
            ps_table_set_int(to, c, v->u.i);
        } else if (from->columns[c].type == PS_COL_REAL) {
            ps_table_set_real(to, c, v->u.r);
        } else {
            ok = ps_table_set_text(to, c, v->u.text);
        }
    }
    return ok;
}

/* Its columns are those of the report, static. */
ps_table *ps_job_view_communication_advice(const ps_job_view_input *in, ps_err *err) {
    const ps_table *findings = in->from->table(in->from->context, "findings");
    if (findings == NULL) {
        (void)ps_fail(err, PS_NOTHING, "no rank ran anything on a device");
        return NULL;
    }
    ps_table *t = ps_table_new("communication_advice", "findings about communication",
                               findings->columns, findings->n_columns);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < findings->n_rows; row++) {
        ok = strcmp(ps_job_view_text(findings, row, "section"), "communication") != 0 ||
             copy_finding(findings, row, t);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}

/* --- evidence with the keys of ranks ------------------------------------------------------------------------------------------ */

enum { E_FINDING, E_RANK, E_KEY, E_STEP, E_TIME, E_DURATION, E_NAME, E_NOTE, N_EVIDENCE };
static const ps_column EVIDENCE[N_EVIDENCE] = {
    [E_FINDING] = {.name = "finding", .type = PS_COL_INT},
    [E_RANK] = {.name = "rank_id", .type = PS_COL_INT},
    [E_KEY] = {.name = "key", .type = PS_COL_TEXT},
    [E_STEP] = {.name = "step", .type = PS_COL_INT},
    [E_TIME] = {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [E_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [E_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [E_NOTE] = {.name = "note", .type = PS_COL_TEXT},
};

static bool put_evidence_row(const ps_job_source *source, const ps_table *from, size_t row,
                             ps_table *to) {
    static const struct {
        const char *name;
        int column;
    } NUMBERS[] = {{"finding", E_FINDING},
                   {"rank", E_RANK},
                   {"step", E_STEP},
                   {"at", E_TIME},
                   {"duration", E_DURATION}};
    bool ok = ps_table_add_row(to) &&
              ps_table_set_text(to, E_NAME, ps_job_view_text(from, row, "name")) &&
              ps_table_set_text(to, E_NOTE, ps_job_view_text(from, row, "note"));
    for (size_t i = 0; ok && i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        const ps_value *v = ps_job_view_cell(from, row, NUMBERS[i].name);
        if (v != NULL) {
            ps_table_set_int(to, (size_t)NUMBERS[i].column, v->u.i);
        }
    }
    const ps_value *rank = ps_job_view_cell(from, row, "rank");
    return ok &&
           (rank == NULL || ps_table_set_text(to, E_KEY, source->key(source->context, rank->u.i)));
}

ps_table *ps_job_view_evidence(const ps_job_view_input *in, ps_err *err) {
    const ps_table *evidence = in->from->table(in->from->context, "evidence");
    if (evidence == NULL) {
        (void)ps_fail(err, PS_NOTHING, "no rank ran anything on a device");
        return NULL;
    }
    ps_table *t = ps_table_new("evidence", "where to look", EVIDENCE, N_EVIDENCE);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < evidence->n_rows; row++) {
        ok = put_evidence_row(in->from, evidence, row, t);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}
