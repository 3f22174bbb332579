#include <string.h>

#include "base/version.h"
#include "write/out/json_text.h"
#include "write/report/report_view.h"

/* "from start" of ns is "from_start_ns". */
static void add_key(ps_json *j, const ps_table *t, size_t column) {
    char name[128];
    ps_table_file_name(t, column, name, sizeof name);
    for (char *p = name; *p != '\0'; p++) {
        *p = *p == ' ' || *p == '-' ? '_' : *p;
    }
    ps_json_name(j, name, strlen(name));
}

static void add_members(ps_json *j, const ps_table *t, size_t row, size_t from) {
    for (size_t c = from; c < t->n_columns; c++) {
        add_key(j, t, c);
        ps_json_cell(j, &t->columns[c], ps_table_cell(t, row, c));
    }
}

static void add_report_json_table(ps_json *j, const char *key, const ps_table *t) {
    ps_json_line(j, 1);
    ps_json_name(j, key, strlen(key));
    ps_json_array(j);
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        ps_json_line(j, 2);
        ps_json_object(j);
        add_members(j, t, r, 0);
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void add_verdict(ps_json *j, const ps_report_view *view) {
    if (view->verdict != NULL && view->verdict->n_rows > 0) {
        ps_json_line(j, 1);
        add_members(j, view->verdict, 0, 0);
    }
}

/* [{"finding": 2, "shared_ns": 7330000}] */
static void add_shared_list(ps_json *j, const ps_report_view *view, int64_t number) {
    size_t from = 0;
    size_t to = 0;
    ps_view_shared_rows(view, number, &from, &to);
    ps_json_array(j);
    for (size_t r = from; r < to; r++) {
        ps_json_object(j);
        ps_json_key_int(j, "finding", ps_view_int(view->shared, r, "shared with"));
        ps_json_key(j, "shared_ns");
        if (ps_view_is_null(view->shared, r, "shared")) {
            ps_json_null(j);
        } else {
            ps_json_int(j, ps_view_int(view->shared, r, "shared"));
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void add_finding_members(ps_json *j, const ps_report_view *view, size_t row) {
    const ps_table *t = view->findings;
    size_t with = ps_table_column(t, "shared with");
    for (size_t c = 0; c < t->n_columns; c++) {
        add_key(j, t, c);
        if (c == with) {
            add_shared_list(j, view, ps_view_int(t, row, "finding"));
        } else {
            ps_json_cell(j, &t->columns[c], ps_table_cell(t, row, c));
        }
    }
}

static void add_findings(ps_json *j, const ps_report_view *view) {
    const ps_table *t = view->findings;
    ps_json_line(j, 1);
    ps_json_key_array(j, "findings");
    for (size_t r = 0; r < t->n_rows; r++) {
        size_t from = 0;
        size_t to = 0;
        ps_view_evidence(view, ps_view_int(t, r, "finding"), &from, &to);
        ps_json_line(j, 2);
        ps_json_object(j);
        add_finding_members(j, view, r);
        ps_json_line(j, 3);
        ps_json_key_array(j, "evidence");
        for (size_t e = from; e < to; e++) {
            ps_json_line(j, 4);
            ps_json_object(j);
            add_members(j, view->evidence, e, 1);
            ps_json_close(j);
        }
        ps_json_close(j);
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void add_head(ps_json *j, const ps_report_view *view) {
    ps_json_pair(j, "format", "pipescope-report");
    ps_json_key_int(j, "version", 1);
    ps_json_key_str(j, "title", view->title);
    ps_json_line(j, 1);
    ps_json_key_uint(j, "n_ranks", view->n_ranks);
    ps_json_key_uint(j, "n_steps", view->n_steps);
    if (view->n_cut_steps > 0) {
        ps_json_key_uint(j, "n_cut_steps", view->n_cut_steps);
    }
    ps_json_key_int(j, "step_ns", view->step_ns);
    if (view->period_ns > 0) {
        ps_json_key_int(j, "period_ns", view->period_ns);
    }
    if (view->job_ranks > 0) {
        const char *key = view->job_ranks_are_least ? "job_ranks_at_least" : "job_ranks";
        ps_json_name(j, key, strlen(key));
        ps_json_int(j, view->job_ranks);
    }
    if (view->has_host_times) {
        ps_json_pair(j, "device_times", "host");
    }
    if (view->has_no_device) {
        ps_json_pair(j, "device_times", "none");
    }
    if (view->comm_from_marks != NULL && view->comm_from_marks[0] != '\0') {
        ps_json_key_str(j, "comm_from_marks", view->comm_from_marks);
    }
    if (view->n_without_timeline > 0) {
        ps_json_key_uint(j, "ranks_without_timeline", view->n_without_timeline);
        ps_json_key_str(j, "missing_timeline", view->missing_timeline);
    }
}

ps_code ps_write_report_json(const ps_report_view *view, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    add_head(&j, view);
    ps_json_lacks(&j, 1, view->lacks);
    add_verdict(&j, view);
    add_findings(&j, view);
    add_report_json_table(&j, "sections", view->sections);
    add_report_json_table(&j, "overview", view->overview);
    add_report_json_table(&j, "overview_stages", view->overview_stages);
    add_report_json_table(&j, "kernels", view->kernels);
    for (size_t i = 0; i < view->n_pipelines; i++) {
        add_report_json_table(&j, view->pipelines[i]->name, view->pipelines[i]);
    }
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
