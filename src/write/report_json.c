#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "write/number_text.h"
#include "write/report_view.h"

/* "from start" of ns is "from_start_ns". */
static void add_key(ps_buf *out, const ps_table *t, size_t column) {
    char name[128];
    ps_table_file_name(t, column, name, sizeof name);
    for (char *p = name; *p != '\0'; p++) {
        *p = *p == ' ' || *p == '-' ? '_' : *p;
    }
    ps_buf_add_json_str(out, name, strlen(name));
    ps_buf_add_str(out, ": ");
}

static void add_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    char real[PS_NUMBER_TEXT];
    if (cell->is_null || (column->type == PS_COL_REAL && !isfinite(cell->u.r))) {
        ps_buf_add_str(out, "null");
    } else if (column->type == PS_COL_INT) {
        ps_buf_addf(out, "%lld", (long long)cell->u.i);
    } else if (column->type == PS_COL_REAL) {
        ps_real_shortest(cell->u.r, real);
        ps_buf_add_str(out, real);
    } else {
        ps_buf_add_json_str(out, cell->u.text, strlen(cell->u.text));
    }
}

static void add_members(ps_buf *out, const ps_table *t, size_t row, size_t from) {
    for (size_t c = from; c < t->n_columns; c++) {
        ps_buf_add_str(out, c > from ? ", " : "");
        add_key(out, t, c);
        add_cell(out, &t->columns[c], ps_table_cell(t, row, c));
    }
}

static void add_table(ps_buf *out, const char *key, const ps_table *t) {
    ps_buf_addf(out, ",\n \"%s\": [", key);
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        ps_buf_add_str(out, r > 0 ? ",\n  {" : "\n  {");
        add_members(out, t, r, 0);
        ps_buf_add_char(out, '}');
    }
    ps_buf_add_str(out, "]");
}

static void add_verdict(ps_buf *out, const ps_report_view *view) {
    if (view->verdict != NULL && view->verdict->n_rows > 0) {
        ps_buf_add_str(out, ",\n ");
        add_members(out, view->verdict, 0, 0);
    }
}

static void add_findings(ps_buf *out, const ps_report_view *view) {
    const ps_table *t = view->findings;
    ps_buf_add_str(out, ",\n \"findings\": [");
    for (size_t r = 0; r < t->n_rows; r++) {
        size_t from = 0;
        size_t to = 0;
        ps_view_evidence(view, ps_view_int(t, r, "finding"), &from, &to);
        ps_buf_add_str(out, r > 0 ? ",\n  {" : "\n  {");
        add_members(out, t, r, 0);
        ps_buf_add_str(out, ",\n   \"evidence\": [");
        for (size_t e = from; e < to; e++) {
            ps_buf_add_str(out, e > from ? ",\n    {" : "\n    {");
            add_members(out, view->evidence, e, 1);
            ps_buf_add_char(out, '}');
        }
        ps_buf_add_str(out, "]}");
    }
    ps_buf_add_str(out, "]");
}

ps_code ps_write_report_json(const ps_report_view *view, ps_buf *out, ps_err *err) {
    ps_buf_add_str(out, "{\"format\": \"pipescope-report\", \"version\": 1, \"title\": ");
    ps_buf_add_json_str(out, view->title, strlen(view->title));
    ps_buf_addf(out, ",\n \"n_ranks\": %zu, \"n_steps\": %zu, \"step_ns\": %lld", view->n_ranks,
                view->n_steps, (long long)view->step_ns);
    if (view->job_ranks > 0) {
        ps_buf_addf(out, ", \"%s\": %lld",
                    view->job_ranks_are_least ? "job_ranks_at_least" : "job_ranks",
                    (long long)view->job_ranks);
    }
    if (view->has_host_times) {
        ps_buf_add_str(out, ", \"device_times\": \"host\"");
    }
    if (view->comm_from_marks != NULL && view->comm_from_marks[0] != '\0') {
        ps_buf_add_str(out, ", \"comm_from_marks\": ");
        ps_buf_add_json_str(out, view->comm_from_marks, strlen(view->comm_from_marks));
    }
    if (view->n_without_timeline > 0) {
        ps_buf_addf(out, ", \"ranks_without_timeline\": %zu, \"missing_timeline\": ",
                    view->n_without_timeline);
        ps_buf_add_json_str(out, view->missing_timeline, strlen(view->missing_timeline));
    }
    add_verdict(out, view);
    add_findings(out, view);
    add_table(out, "overview", view->overview);
    add_table(out, "overview_stages", view->overview_stages);
    add_table(out, "kernels", view->kernels);
    for (size_t i = 0; i < view->n_pipelines; i++) {
        add_table(out, view->pipelines[i]->name, view->pipelines[i]);
    }
    ps_buf_add_str(out, "}\n");
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
