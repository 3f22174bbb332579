#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "write/out/json_text.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"
#include "write/report/whatif_text.h"

static void put_whatif_json_real(ps_json *j, double value) {
    ps_json_short_real(j, value);
}

static void put_seconds(ps_json *j, int64_t ns) {
    put_whatif_json_real(j, (double)ns / 1e9);
}

static void put_figure(ps_json *j, const char *key, const ps_table *t, const char *column) {
    ps_json_name(j, key, strlen(key));
    if (ps_view_is_null(t, 0, column)) {
        ps_json_null(j);
    } else {
        put_whatif_json_real(j, ps_view_real(t, 0, column));
    }
}

/* {"KEY": value, ...} of two columns; keys as they stand in the first. */
static void put_whatif_json_map(ps_json *j, const char *key, const ps_table *t, const char *name,
                                const char *column, bool seconds) {
    ps_json_line(j, 1);
    ps_json_name(j, key, strlen(key));
    ps_json_object(j);
    for (size_t r = 0; r < t->n_rows; r++) {
        char number[24];
        const char *text = ps_view_text(t, r, name);
        if (text[0] == '\0') {
            (void)snprintf(number, sizeof number, "%lld", (long long)ps_view_int(t, r, name));
            text = number;
        }
        ps_json_name(j, text, strlen(text));
        if (seconds) {
            put_seconds(j, ps_view_int(t, r, column));
        } else {
            put_whatif_json_real(j, ps_view_real(t, r, column));
        }
    }
    ps_json_close(j);
}

static void put_whatif_json_pair(ps_json *j, const char *key, const ps_table *t,
                                 const char *without, const char *alone) {
    ps_json_line(j, 1);
    ps_json_name(j, key, strlen(key));
    ps_json_object(j);
    ps_json_key(j, "without_s");
    put_seconds(j, ps_view_int(t, 0, without));
    ps_json_key(j, "alone_s");
    put_seconds(j, ps_view_int(t, 0, alone));
    ps_json_close(j);
}

static void put_whatif_json_job(ps_json *j, const ps_whatif_view *view) {
    const ps_table *t = view->job;
    ps_json_key_object(j, "job");
    ps_json_key_int(j, "pp_size", ps_view_int(t, 0, "stages"));
    ps_json_key_int(j, "dp_size", ps_view_int(t, 0, "replicas"));
    ps_json_key_int(j, "tp_size", ps_view_int(t, 0, "tp"));
    ps_json_key_int(j, "workers", ps_view_int(t, 0, "workers"));
    ps_json_key_int(j, "steps", ps_view_int(t, 0, "steps"));
    ps_json_key_int(j, "steps_left_out", ps_view_int(t, 0, "steps_left_out"));
    if (!ps_view_is_null(t, 0, "why_left_out")) {
        ps_json_key_str(j, "why_left_out", ps_view_text(t, 0, "why_left_out"));
    }
    if (!ps_view_is_null(t, 0, "clocks_apart")) {
        ps_json_key_str(j, "clocks_apart", ps_view_text(t, 0, "clocks_apart"));
    }
    if (ps_view_int(t, 0, "ops_without_time") > 0) {
        ps_json_key_int(j, "ops_without_time", ps_view_int(t, 0, "ops_without_time"));
        ps_json_key_str(j, "first_without_time", ps_view_text(t, 0, "first_without_time"));
    }
    ps_json_key_bool(j, "has_communication", ps_view_int(t, 0, "has_communication") != 0);
    ps_json_close(j);
}

static ps_code put_table(ps_json *j, const char *key, const ps_table *t, ps_err *err) {
    if (t == NULL) {
        return PS_OK;
    }
    ps_json_line(j, 1);
    ps_json_name(j, key, strlen(key));
    ps_json_value(j);
    return ps_write_table_json(t, j->out, err);
}

ps_code ps_write_whatif_json(const ps_whatif_view *view, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_key_str(&j, "format", "pipescope-whatif");
    ps_json_key_int(&j, "version", 1);
    ps_json_key_str(&j, "title", view->title);
    ps_json_lacks(&j, 1, view->lacks);
    ps_json_line(&j, 1);
    put_whatif_json_job(&j, view);
    put_whatif_json_map(&j, "step_time_measured_s", view->steps, "step", "measured", true);
    put_whatif_json_map(&j, "step_time_no_delay_s", view->steps, "step", "no_delay", true);
    put_whatif_json_map(&j, "step_time_ideal_s", view->steps, "step", "ideal", true);
    ps_json_line(&j, 1);
    put_figure(&j, "slowdown", view->job, "slowdown");
    put_figure(&j, "launch_slowdown", view->job, "launch_slowdown");
    put_figure(&j, "waste_percent", view->job, "waste");
    put_figure(&j, "M_S", view->job, "M_S");
    put_figure(&j, "M_W", view->job, "M_W");
    put_figure(&j, "length_correlation", view->job, "length_correlation");
    put_whatif_json_map(&j, "slowdown_by_step", view->steps, "step", "slowdown", false);
    put_whatif_json_map(&j, "slowdown_by_kind", view->kinds, "kind", "slowdown", false);
    put_whatif_json_map(&j, "slowdown_by_stage", view->stages, "stage", "slowdown", false);
    put_whatif_json_map(&j, "slowdown_by_dp", view->replicas, "replica", "slowdown", false);
    put_whatif_json_pair(&j, "last_stage", view->job, "last_stage_without", "last_stage_alone");
    put_whatif_json_pair(&j, "workers", view->job, "workers_without", "workers_alone");
    ps_code code = put_table(&j, "slowdown_by_worker", view->workers, err);
    code = code == PS_OK ? put_table(&j, "causes", view->causes, err) : code;
    code = code == PS_OK ? put_table(&j, "repairs", view->repairs, err) : code;
    code = code == PS_OK ? put_table(&j, "answer", view->answer, err) : code;
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
