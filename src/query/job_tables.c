#include "query/job_tables.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "query/comm_tables.h"
#include "run/run_pipeline.h"
#include "run/run_whatif.h"
#include "write/chart/chart_json.h"

const ps_mode_table ps_mode_tables[] = {
#define X(name, mode, table, text, example) {name, mode, table, text, example},
#include "query/mode_tables.def"
#undef X
    {NULL, NULL, NULL, NULL, NULL}};

/* Not, or not alone, modes of `cluster`: the chart of mode_tables.def, what if, the analyses of a report, and what is no analysis of its own. */
#define CHART "chart"
#define WHATIF "whatif"
#define REPORT "report"
#define COMM "comm"

enum { MOST_RUNS = 64, MOST_VIEWS = 64 };

/* A mode that was run, also one that gave nothing: it is not run again. */
typedef struct job_run {
    const char *mode;
    ps_run *run; /* NULL: `err` says why */
    ps_err err;
    bool was_asked; /* by the statement at hand */
} job_run;

struct ps_job_tables {
    job_run runs[MOST_RUNS];
    size_t n_runs;
    ps_table *chart_tables[PS_N_SQL_TABLES]; /* of the chart, made when first read */
    ps_table *views[MOST_VIEWS]; /* by their place in ps_job_views: those made of others */
};

struct ps_job_tables *ps_job_tables_new(void) {
    return ps_calloc(1, sizeof(struct ps_job_tables));
}

void ps_job_tables_free(struct ps_job_tables *job) {
    if (job != NULL) {
        for (size_t i = 0; i < PS_N_SQL_TABLES; i++) {
            ps_table_free(job->chart_tables[i]);
        }
        for (size_t i = 0; i < MOST_VIEWS; i++) {
            ps_table_free(job->views[i]);
        }
        for (size_t i = 0; i < job->n_runs; i++) {
            ps_run_free(job->runs[i].run);
        }
        ps_free(job);
    }
}

size_t ps_job_runs(const struct ps_job_tables *job) {
    return job->n_runs;
}

const ps_run *ps_job_run(const struct ps_job_tables *job, size_t i) {
    return job->runs[i].run;
}

void ps_job_begin(struct ps_job_tables *job) {
    for (size_t i = 0; i < job->n_runs; i++) {
        job->runs[i].was_asked = false;
    }
}

bool ps_job_was_asked(const struct ps_job_tables *job, size_t i) {
    return job->runs[i].was_asked;
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static ps_run *run_mode(ps_sql_context *c, const char *mode, ps_err *err) {
    if (strcmp(mode, CHART) == 0) {
        return ps_run_pipeline(c->cluster, &c->opts, err);
    }
    if (strcmp(mode, WHATIF) == 0) { /* of timelines of workers, else of the chart */
        return ps_run_whatif(c->cluster, &c->opts, err);
    }
    const ps_analysis *analyses[PS_REPORT_MAKERS + 1] = {ps_analysis_find(mode)};
    size_t n = 1;
    if (strcmp(mode, REPORT) == 0) {
        n = ps_run_report_plan(c->cluster, analyses);
    } else if (strcmp(mode, COMM) == 0) {
        analyses[0] = &ps_sql_comm_analysis;
    }
    return ps_run_all_ranks(analyses, n, c->cluster, &c->opts, err);
}

static ps_code run_once(ps_sql_context *c, const char *mode, const ps_run **out, ps_err *err) {
    struct ps_job_tables *job = c->job;
    size_t i = 0;
    while (i < job->n_runs && strcmp(job->runs[i].mode, mode) != 0) {
        i++;
    }
    if (i == MOST_RUNS) {
        return ps_fail(err, PS_RANGE, "%s: a query reads at most %d modes", mode, MOST_RUNS);
    }
    job_run *r = &job->runs[i];
    if (i == job->n_runs) {
        *r = (job_run){.mode = mode, .err = PS_ERR_INIT};
        r->run = run_mode(c, mode, &r->err);
        job->n_runs++;
    }
    r->was_asked = true;
    *out = r->run;
    if (r->run == NULL) {
        *err = r->err;
        return err->code;
    }
    return PS_OK;
}

/* Why a run has not what was asked for. */
static ps_code say_nothing(ps_lang lang, const ps_run *run, const char *what, ps_err *err) {
    const ps_err *last = &run->errors[run->n_analyses - 1];
    if (last->code == PS_NOMEM) {
        *err = *last;
        return PS_NOMEM;
    }
    const char *reason =
        last->code != PS_OK ? ps_err_text(lang, last) : ps_run_first_reason(lang, run);
    ps_code code = run->n_failed > 0 ? PS_IO : PS_NOTHING;
    return reason != NULL ? ps_fail_said(err, code, "%s: %.400s", "%s：%.400s", what, reason)
                          : ps_fail_said(err, code, "%s: the capture has nothing of this kind",
                                         "%s：采集数据中没有此类内容", what);
}

/* Of the last analysis that has it: those before it in a run help it. One that no rank took part in has none. */
static const ps_table *table_of(const ps_run *run, const char *name) {
    for (size_t a = run->n_analyses; a-- > 0;) {
        const ps_result *result = &run->results[a];
        for (size_t i = 0; i < result->n_tables; i++) {
            const ps_table *t = result->tables[i];
            bool is_that = t->home == PS_HOME_CLUSTER && strcmp(t->name, name) == 0;
            if (is_that && (run->n_took_part[a] > 0 || t->n_rows > 0)) {
                return t;
            }
        }
    }
    return NULL;
}

static ps_code table_of_mode(ps_sql_context *c, const char *mode, const char *table,
                             const ps_table **out, ps_err *err) {
    const ps_run *run = NULL;
    ps_code code = run_once(c, mode, &run, err);
    if (code == PS_OK) {
        *out = table_of(run, table);
        code = *out != NULL ? PS_OK : say_nothing(c->opts.analysis.lang, run, table, err);
    }
    return code;
}

ps_code ps_job_mode_table(ps_sql_context *c, const ps_mode_table *which, const ps_table **out,
                          ps_err *err) {
    return table_of_mode(c, which->mode, which->table, out, err);
}

/* --- views of all ranks ------------------------------------------------------------------------------------------ */

/* The modes that views of a set take tables of, ended by NULL. */
static const char *const *modes_of_set(ps_view_set set) {
    static const char *const ONLY_REPORT[] = {REPORT, NULL};
    return set == PS_SET_REPORT ? ONLY_REPORT : ps_view_set_names(set);
}

/* What views take of the runs of their set. */
typedef struct view_source {
    ps_sql_context *c;
    ps_view_set set;
    ps_err err;     /* why the last table was not there */
    ps_err unsized; /* why the size of a file is not known */
} view_source;

static const ps_table *table_for_view(const void *context, const char *name) {
    view_source *v = (view_source *)context;
    const char *const *mode = modes_of_set(v->set);
    const ps_table *out = NULL;
    for (; *mode != NULL && out == NULL; mode++) {
        ps_err err = PS_ERR_INIT;
        if (table_of_mode(v->c, *mode, name, &out, &err) != PS_OK) {
            bool is_worse = err.code != PS_NOTHING || v->err.code == PS_OK;
            v->err = is_worse && v->err.code != PS_NOMEM ? err : v->err;
            out = NULL;
        }
    }
    return out;
}

/* A view that an earlier statement made is of those runs of its set that there were. */
static void ask_set(const view_source *v) {
    struct ps_job_tables *job = v->c->job;
    for (const char *const *mode = modes_of_set(v->set); *mode != NULL; mode++) {
        for (size_t i = 0; i < job->n_runs; i++) {
            job_run *r = &job->runs[i];
            r->was_asked = r->was_asked || strcmp(r->mode, *mode) == 0;
        }
    }
}

/* Ranks have numbers here and no keys. */
static const char *no_key(const void *context, int64_t rank) {
    (void)context;
    (void)rank;
    return "";
}

static void capture_of_cluster(const void *context, ps_job_capture *out) {
    view_source *v = (view_source *)context;
    const ps_cluster *cluster = v->c->cluster;
    *out = (ps_job_capture){.path = ps_cluster_name(cluster), .format = ""};
    for (size_t i = 0; i < cluster->n_ranks; i++) {
        ps_file_id id;
        const char *format = ps_cluster_format(&cluster->ranks[i]);
        bool differs = out->n_ranks > 0 && strcmp(format, out->format) != 0;
        out->format = differs ? "several" : format;
        out->n_ranks++;
        if (ps_file_identify(cluster->ranks[i].path, &id, &v->unsized) == PS_OK) {
            out->bytes = ps_i64_plus(out->bytes, id.size_bytes);
        } else {
            out->n_unsized++;
        }
    }
}

ps_code ps_job_view_table(ps_sql_context *c, const ps_job_view *view, const ps_table **out,
                          ps_err *err) {
    view_source v = {.c = c, .set = view->set, .err = PS_ERR_INIT, .unsized = PS_ERR_INIT};
    ps_table **made = &c->job->views[view - ps_job_views];
    if (view->table != NULL) {
        *out = table_for_view(&v, view->table);
    } else if (*made != NULL) {
        ask_set(&v);
    } else {
        const ps_job_source from = {table_for_view, no_key, capture_of_cluster, &v};
        const ps_job_view_input in = {
            .from = &from, .step = "all", .stage = -1, .lang = c->opts.analysis.lang};
        *made = view->make(&in, err);
        const ps_err *lost = v.err.code == PS_NOMEM ? &v.err : &v.unsized;
        if (*made != NULL && lost->code != PS_OK) { /* it would lack something without a word */
            ps_table_free(*made);
            *made = NULL;
            *err = *lost;
            return err->code;
        }
    }
    *out = view->table == NULL ? *made : *out;
    if (*out != NULL) {
        return PS_OK;
    }
    bool tells = view->table != NULL || (v.err.code != PS_OK && v.err.code != PS_NOTHING);
    *err = tells ? v.err : *err;
    return err->code != PS_OK ? err->code : ps_fail_nomem(err);
}

/* --- the chart --------------------------------------------------------------------------------------------------- */

enum {
#define X(id, name, type, hidden, text) O_##id,
    PS_SQL_OP_COLUMNS(X)
#undef X
        N_O
};
enum {
#define X(id, name, type, hidden, text) B_##id,
    PS_SQL_BUBBLE_COLUMNS(X)
#undef X
        N_B
};

enum { INTEGER = PS_COL_INT, DURATION = PS_COL_INT, MOMENT = PS_COL_INT, TEXT = PS_COL_TEXT };
#define X(id, its_name, its_type, hidden, text) {.name = its_name, .type = (ps_col_type)its_type},
static const ps_column OP_CELLS[N_O] = {PS_SQL_OP_COLUMNS(X)};
static const ps_column BUBBLE_CELLS[N_B] = {PS_SQL_BUBBLE_COLUMNS(X)};
#undef X

static void known(ps_value *cell, int64_t value, bool is_known) {
    if (is_known) {
        ps_cell_int_set(cell, value);
    }
}

static void make_op(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    (void)room;
    const ps_chart *chart = context;
    const ps_op *op = &chart->ops[row];
    const ps_chart_rank *rank = &chart->ranks[op->rank];
    ps_cell_int_set(&cells[O_ID], (int64_t)row);
    ps_cell_int_set(&cells[O_RANK], rank->rank);
    known(&cells[O_STAGE], rank->stage, rank->stage >= 0);
    ps_cell_int_set(&cells[O_PIPELINE], rank->pipeline);
    known(&cells[O_STEP], op->step, op->step != PS_FIRST_STEP);
    ps_cell_text_set(&cells[O_KIND], ps_op_kind_name((ps_op_kind)op->kind));
    known(&cells[O_CHUNK], op->chunk, op->chunk >= 0);
    known(&cells[O_MICROBATCH], op->microbatch, op->microbatch >= 0);
    known(&cells[O_CHUNK2], op->chunk2, op->kind == PS_OP_FB && op->chunk2 >= 0);
    known(&cells[O_MICROBATCH2], op->microbatch2, op->kind == PS_OP_FB && op->microbatch2 >= 0);
    known(&cells[O_PHASE], op->phase, op->phase >= 0);
    ps_cell_text_set(&cells[O_NAME], op->name);
    ps_cell_int_set(&cells[O_START], op->start_ns + chart->origin_ns);
    ps_cell_int_set(&cells[O_END], op->end_ns + chart->origin_ns);
    ps_cell_int_set(&cells[O_DUR], op->end_ns - op->start_ns);
    known(&cells[O_WORK], op->work_ns, rank->has_work);
    known(&cells[O_HOST_START], op->host_start_ns + chart->origin_ns, op->has_host);
    known(&cells[O_HOST_END], op->host_end_ns + chart->origin_ns, op->has_host);
    ps_cell_text_set(&cells[O_SOURCE], ps_op_source_name((ps_op_source)op->source));
}

static void make_bubble(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    (void)room;
    const ps_chart *chart = context;
    const ps_bubble *bubble = &chart->bubbles[row];
    const ps_chart_rank *rank = &chart->ranks[bubble->rank];
    ps_cell_int_set(&cells[B_RANK], rank->rank);
    known(&cells[B_STAGE], rank->stage, rank->stage >= 0);
    ps_cell_int_set(&cells[B_PIPELINE], rank->pipeline);
    ps_cell_int_set(&cells[B_STEP], bubble->step);
    ps_cell_text_set(&cells[B_CAUSE], ps_bubble_cause_name((ps_bubble_cause)bubble->cause));
    ps_cell_int_set(&cells[B_START], bubble->start_ns + chart->origin_ns);
    ps_cell_int_set(&cells[B_END], bubble->end_ns + chart->origin_ns);
    ps_cell_int_set(&cells[B_DUR], bubble->end_ns - bubble->start_ns);
    known(&cells[B_WAITS_FOR], bubble->waits_for, bubble->waits_for != PS_NO_INDEX);
}

static void keep_chart(void *context) {
    (void)context; /* its run owns it */
}

static ps_table *chart_table(ps_sql_table_id id, ps_chart *chart) {
    ps_row_maker maker = {.context = chart, .free_context = keep_chart};
    if (id == PS_SQL_OP) {
        maker.make = make_op;
        return ps_table_new_made("op", "", PS_COLUMNS(OP_CELLS), chart->n_ops, maker);
    }
    maker.make = make_bubble;
    return ps_table_new_made("bubble", "", PS_COLUMNS(BUBBLE_CELLS), chart->n_bubbles, maker);
}

static ps_code chart_table_of(ps_sql_context *c, ps_sql_table_id id, const ps_table **out,
                              ps_err *err) {
    ps_table **table = &c->job->chart_tables[id];
    const ps_run *run = NULL;
    ps_code code = run_once(c, CHART, &run, err);
    if (code == PS_OK && *table == NULL) {
        ps_chart *chart = run->results[0].chart;
        if (chart == NULL || chart->n_ops == 0) {
            return say_nothing(c->opts.analysis.lang, run, ps_sql_tables[id].name, err);
        }
        *table = chart_table(id, chart);
        code = *table != NULL ? PS_OK : ps_fail_nomem(err);
    }
    *out = *table;
    return code;
}

ps_code ps_job_table(ps_sql_context *c, ps_sql_table_id id, const ps_table **out, ps_err *err) {
    bool is_comm = id == PS_SQL_COMM || id == PS_SQL_WAIT;
    return is_comm ? table_of_mode(c, COMM, ps_sql_tables[id].name, out, err)
                   : chart_table_of(c, id, out, err);
}
