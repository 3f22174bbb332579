/* The view base_info: what is known of a capture before anything is drawn; and the sizes of its job. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/views/job_view.h"
#include "base/num.h"

/* --- sizes ----------------------------------------------------------------------------------------------------- */

static int64_t job_size_at(const ps_table *t, const char *column) {
    const ps_value *v = ps_job_view_cell(t, 0, column);
    return v != NULL ? v->u.i : 0;
}

ps_job_sizes ps_job_sizes_of(const ps_job_source *from) {
    ps_job_sizes out = {.layout = PS_LAYOUT_MEGATRON};
    const ps_table *t = from->table(from->context, "JobLayout");
    if (t == NULL || t->n_rows == 0) {
        return out;
    }
    const ps_value *problem = ps_job_view_cell(t, 0, "problem");
    (void)ps_layout_find(ps_job_view_text(t, 0, "layout"), &out.layout);
    out.dims = (ps_layout_dims){.tp = job_size_at(t, "tp"),
                                .cp = job_size_at(t, "cp"),
                                .dp = job_size_at(t, "dp"),
                                .pp = job_size_at(t, "pp"),
                                .ep = job_size_at(t, "ep"),
                                .moe_tp = job_size_at(t, "moe_tp")};
    out.world_size = job_size_at(t, "world_size");
    out.problem = problem != NULL ? problem->u.text : NULL;
    return out;
}

/* --- base information ------------------------------------------------------------------------------------------ */

enum { NAME, VALUE, UNIT, N_COLUMNS };
static const ps_column COLUMNS[N_COLUMNS] = {{.name = "name", .type = PS_COL_TEXT},
                                             {.name = "value", .type = PS_COL_TEXT},
                                             {.name = "unit", .type = PS_COL_TEXT}};

static bool put_info_line(ps_table *t, const char *name, const char *value, const char *unit) {
    return ps_table_add_row(t) && ps_table_set_text(t, NAME, name) &&
           ps_table_set_text(t, VALUE, value) && ps_table_set_text(t, UNIT, unit);
}

static bool put_info_number(ps_table *t, const char *name, int64_t value, const char *unit) {
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    return put_info_line(t, name, text, unit);
}

/* Rows of the table come by step. */
static int64_t count_info_steps(const ps_table *t) {
    const char *before = "";
    int64_t n = 0;
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        const char *step = ps_job_view_text(t, row, "step");
        n += strcmp(step, before) != 0;
        before = step;
    }
    return n;
}

static bool put_info_sizes(ps_table *t, const ps_layout_dims *p) {
    const struct {
        const char *name;
        int64_t size;
    } SIZES[] = {{"tensor parallel", p->tp}, {"context parallel", p->cp},
                 {"data parallel", p->dp},   {"pipeline parallel", p->pp},
                 {"expert parallel", p->ep}, {"expert tensor parallel", p->moe_tp}};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof SIZES / sizeof *SIZES; i++) {
        ok = SIZES[i].size == 0 || put_info_number(t, SIZES[i].name, SIZES[i].size, "");
    }
    return ok;
}

ps_table *ps_job_view_base_info(const ps_job_view_input *in, ps_err *err) {
    const ps_job_source *from = in->from;
    const ps_table *hosts = from->table(from->context, "HostInfo");
    ps_job_sizes sizes = ps_job_sizes_of(from);
    ps_job_capture c = {.path = "", .format = ""};
    from->capture(from->context, &c);
    ps_table *t = ps_table_new("base_info", "base information", COLUMNS, N_COLUMNS);
    bool ok =
        t != NULL && put_info_line(t, "path", c.path, "") &&
        put_info_line(t, "format", c.format, "") &&
        put_info_number(t, "ranks", (int64_t)c.n_ranks, "") &&
        put_info_number(t, "ranks loaded", (int64_t)c.n_loaded, "") &&
        (c.n_failed == 0 || put_info_number(t, "ranks that failed", (int64_t)c.n_failed, "")) &&
        (hosts == NULL || put_info_number(t, "hosts", (int64_t)hosts->n_rows, "")) &&
        put_info_number(t, "steps",
                        count_info_steps(from->table(from->context, "ClusterStepTraceTime")), "") &&
        (c.n_unsized > 0 || put_info_number(t, "data size", c.bytes, "bytes"));
    if (ok && c.end_ns > c.start_ns) { /* of the ranks that are loaded */
        ok = put_info_number(t, "start time", c.start_ns, "epoch ns") &&
             put_info_number(t, "collected for", ps_i64_minus(c.end_ns, c.start_ns), "ns");
    }
    if (!ok || !put_info_sizes(t, &sizes.dims)) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}
