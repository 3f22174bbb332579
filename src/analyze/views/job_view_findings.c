/* Findings of the report about communication, and the evidence of all with the keys of ranks. */
#include <string.h>

#include "analyze/views/job_view.h"

/* --- findings of communication -------------------------------------------------------------------------------------- */

static void copy_finding(const ps_table *from, size_t row, ps_table *to) {
    (void)ps_table_add_row(to);
    for (size_t c = 0; c < from->n_columns; c++) {
        const ps_value *v = ps_table_cell(from, row, c);
        if (v->is_null) {
            continue;
        }
        if (from->columns[c].type == PS_COL_INT) {
            ps_table_set_int(to, c, v->u.i);
        } else if (from->columns[c].type == PS_COL_REAL) {
            ps_table_set_real(to, c, v->u.r);
        } else {
            (void)ps_table_set_text(to, c, v->u.text);
        }
    }
}

/* Its columns are those of the report, static. */
ps_table *ps_job_view_communication_advice(const ps_job_view_input *in, ps_err *err) {
    const ps_table *findings = in->from->table(in->from->context, "findings");
    if (findings == NULL) {
        (void)ps_fail(
            err, PS_NOTHING, "%s",
            PS_SAY(in->lang, "no rank ran anything on a device", "没有 rank 在设备上执行任何工作"));
        return NULL;
    }
    ps_table *t = ps_table_new("communication_advice", "findings about communication",
                               findings->columns, findings->n_columns);
    for (size_t row = 0; row < findings->n_rows; row++) {
        if (strcmp(ps_job_view_text(findings, row, "section"), "communication") == 0) {
            copy_finding(findings, row, t);
        }
    }
    return ps_view_end(t, true, "", err);
}

/* --- evidence with the keys of ranks ------------------------------------------------------------------------------------------ */

typedef struct evidence_row {
    int64_t finding, rank, step, at_ns, dur_ns;
    const char *key, *name, *note;
} evidence_row;

static const ps_column EVIDENCE[] = {
    {.name = "finding", PS_FIELD(evidence_row, finding)},
    {.name = "rank_id", PS_FIELD(evidence_row, rank)},
    {.name = "key", PS_FIELD(evidence_row, key)},
    {.name = "step", PS_FIELD(evidence_row, step)},
    {.name = "time", PS_FIELD(evidence_row, at_ns), .unit = PS_UNIT_NS, .exact = true},
    {.name = "duration", PS_FIELD(evidence_row, dur_ns), .unit = PS_UNIT_NS},
    {.name = "name", PS_FIELD(evidence_row, name)},
    {.name = "note", PS_FIELD(evidence_row, note)},
};

static int64_t evidence_int(const ps_table *from, size_t row, const char *column) {
    const ps_value *v = ps_job_view_cell(from, row, column);
    return v != NULL ? v->u.i : PS_UNKNOWN_INT;
}

static void put_evidence_row(const ps_job_source *source, const ps_table *from, size_t row,
                             ps_table *to) {
    int64_t rank = evidence_int(from, row, "rank");
    ps_table_put(to, &(evidence_row){
                         .finding = evidence_int(from, row, "finding"),
                         .rank = rank,
                         .key = rank != PS_UNKNOWN_INT ? source->key(source->context, rank) : NULL,
                         .step = evidence_int(from, row, "step"),
                         .at_ns = evidence_int(from, row, "at"),
                         .dur_ns = evidence_int(from, row, "duration"),
                         .name = ps_job_view_text(from, row, "name"),
                         .note = ps_job_view_text(from, row, "note")});
}

ps_table *ps_job_view_evidence(const ps_job_view_input *in, ps_err *err) {
    const ps_table *evidence = in->from->table(in->from->context, "evidence");
    if (evidence == NULL) {
        (void)ps_fail(
            err, PS_NOTHING, "%s",
            PS_SAY(in->lang, "no rank ran anything on a device", "没有 rank 在设备上执行任何工作"));
        return NULL;
    }
    ps_table *t = ps_table_new("evidence", "where to look", PS_COLUMNS(EVIDENCE));
    for (size_t row = 0; row < evidence->n_rows; row++) {
        put_evidence_row(in->from, evidence, row, t);
    }
    return ps_view_end(t, true, "", err);
}
