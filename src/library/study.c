/* Studies: a run over all ranks whose result is held, as tables and in forms for people. */
#include <string.h>

#include "analyze/pipeline/host_labels.h"
#include "analyze/pipeline/replay.h"
#include "analyze/whatif/question.h"
#include "base/alloc.h"
#include "library/inside.h"
#include "query/deadline.h"
#include "run/run_pipeline.h"
#include "run/run_report.h"
#include "run/run_whatif.h"
#include "schedule/schedule.h"
#include "write/chart/chart_forms.h"
#include "write/chart/chart_rows.h"
#include "write/out/writers.h"

static const ps_text_style PLAIN = {.width = 100, .utf8 = true};

struct ps_lib_study {
    ps_lib *capture;
    const struct kind *kind;
    ps_arena arena;
    ps_lib_asked asked;
    ps_run *run;
    ps_chart_page chart;
    ps_chart *against;
    const ps_table *tables[PS_MAX_PIPELINE_TABLES];
    ps_report_view report;
    ps_whatif_view whatif;
};

typedef struct kind {
    const char *name;
    ps_run *(*begin)(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);
    ps_code (*check)(const ps_lib_asked *asked, ps_err *err); /* before anything is read */
    ps_code (*look)(ps_lib_study *s, ps_err *err);            /* at what came of it */
    /* PS_UNSUPPORTED: it has no such form. */
    ps_code (*write)(const ps_lib_study *s, const char *form, ps_buf *out, ps_err *err);
} kind;

static ps_code no_form(const char *what, const char *form, const char *known, ps_err *err) {
    return ps_fail(err, PS_UNSUPPORTED, "%s: there is no form '%.40s'; there are %s", what, form,
                   known);
}

/* --- chart -------------------------------------------------------------------------------------------------------- */

static ps_code check_chart_asked(const ps_lib_asked *asked, ps_err *err) {
    if (asked->against != NULL && ps_schedule_find(asked->against) == NULL) {
        return ps_fail(err, PS_USAGE, "against: there is no schedule '%.64s'", asked->against);
    }
    return ps_label_rules_check(&asked->run.analysis, err);
}

static ps_code look_at_chart(ps_lib_study *s, ps_err *err) {
    const ps_chart *chart = s->run->results[0].chart;
    if (chart == NULL || chart->n_ops == 0) {
        const char *reason = ps_run_first_reason(PS_ENGLISH, s->run);
        return ps_fail(err, PS_NOTHING, "no pipeline in this capture: %.400s",
                       reason != NULL ? reason : "no forward or backward was found");
    }
    s->chart =
        (ps_chart_page){.chart = chart,
                        .tables = s->tables,
                        .step = s->asked.has_step ? s->asked.step : ps_chart_usual_step(chart),
                        .pipeline = s->asked.pipeline};
    s->chart.n_tables = ps_pipeline_tables(&s->run->results[0], s->tables);
    ps_code code = ps_chart_choose(chart, &s->chart.step, &s->chart.pipeline, err);
    if (code == PS_OK && s->asked.against != NULL) {
        s->against = ps_theory_of(chart, ps_schedule_find(s->asked.against), err);
        s->chart.against = s->against;
        code = s->against != NULL ? PS_OK : err->code;
    }
    if (code == PS_NOTHING) {
        err->code = code = PS_RANGE; /* there is a chart, but not that part of it */
    }
    return code;
}

static ps_code write_chart_study(const ps_lib_study *s, const char *form, ps_buf *out,
                                 ps_err *err) {
    for (int f = 0; f < PS_N_CHART_FORMS; f++) {
        if (strcmp(form, ps_chart_form_name((ps_chart_form)f)) == 0) {
            return ps_write_chart_form((ps_chart_form)f, &s->chart, s->asked.dark, out, err);
        }
    }
    if (strcmp(form, "text") != 0) {
        return no_form("chart", form, "text, svg, html, json", err);
    }
    ps_chart_text_opts opts = {
        .style = PLAIN, .step = s->chart.step, .pipeline = s->chart.pipeline};
    return ps_write_chart_text(s->chart.chart, &opts, out, err);
}

/* --- report ------------------------------------------------------------------------------------------------------- */

static ps_code look_at_report(ps_lib_study *s, ps_err *err) {
    return ps_run_report_view(s->run, s->capture->cluster,
                              s->asked.has_step ? &s->asked.step : NULL, &s->report, err);
}

static ps_code write_report_study(const ps_lib_study *s, const char *form, ps_buf *out,
                                  ps_err *err) {
    return strcmp(form, "text") == 0   ? ps_write_report_text(&s->report, &PLAIN, out, err)
           : strcmp(form, "html") == 0 ? ps_write_report_html(&s->report, out, err)
           : strcmp(form, "json") == 0 ? ps_write_report_json(&s->report, out, err)
                                       : no_form("report", form, "text, html, json", err);
}

/* --- whatif ------------------------------------------------------------------------------------------------------- */

static ps_code check_whatif_asked(const ps_lib_asked *asked, ps_err *err) {
    const ps_analysis_opts *o = &asked->run.analysis;
    ps_question question;
    ps_code code = ps_question_read(o->without, o->scale, o->set, NULL, &question, err);
    ps_question_fini(&question);
    return code;
}

static ps_code look_at_whatif(ps_lib_study *s, ps_err *err) {
    s->whatif = ps_run_whatif_view(s->run, s->capture->cluster);
    if (s->run->errors[0].code != PS_OK) {
        *err = s->run->errors[0];
        return err->code;
    }
    const char *reason = ps_run_first_reason(PS_ENGLISH, s->run);
    return s->whatif.job != NULL
               ? PS_OK
               : ps_fail(err, PS_NOTHING, "%.480s", reason != NULL ? reason : "nothing to ask");
}

static ps_code write_whatif_study(const ps_lib_study *s, const char *form, ps_buf *out,
                                  ps_err *err) {
    return strcmp(form, "text") == 0   ? ps_write_whatif_text(&s->whatif, &PLAIN, out, err)
           : strcmp(form, "svg") == 0  ? ps_write_whatif_svg(&s->whatif, out, err)
           : strcmp(form, "html") == 0 ? ps_write_whatif_html(&s->whatif, out, err)
           : strcmp(form, "json") == 0 ? ps_write_whatif_json(&s->whatif, out, err)
                                       : no_form("whatif", form, "text, svg, html, json", err);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static ps_code check_nothing(const ps_lib_asked *asked, ps_err *err) {
    (void)asked;
    (void)err;
    return PS_OK;
}

static const kind KINDS[] = {
    {"chart", ps_run_pipeline, check_chart_asked, look_at_chart, write_chart_study},
    {"report", ps_run_report, check_nothing, look_at_report, write_report_study},
    {"whatif", ps_run_whatif, check_whatif_asked, look_at_whatif, write_whatif_study},
};

static const kind *kind_of(const char *what) {
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (strcmp(KINDS[i].name, what) == 0) {
            return &KINDS[i];
        }
    }
    return NULL;
}

static ps_code fail_ended(const ps_lib_study *s, ps_err *err) {
    return ps_fail(err, PS_BUSY, "%s: ended before it was done", s->kind->name);
}

/* Runs until it is done, or stopped, or the time is over. */
static ps_code run_study(ps_lib_study *s, ps_err *err) {
    ps_lib *capture = s->capture;
    ps_deadline deadline;
    ps_run_opts opts = s->asked.run;
    opts.analysis.watch = &capture->watch;
    capture->watch.stop = false;
    if (!ps_deadline_begin(&deadline, capture->opts.timeout_s, NULL, &capture->watch)) {
        return ps_fail_nomem(err);
    }
    s->run = s->kind->begin(capture->cluster, &opts, err);
    ps_deadline_end(&deadline);
    ps_lib_keep_notes(capture, s->run);
    if (capture->watch.stop) {
        return fail_ended(s, err);
    }
    return s->run != NULL ? s->kind->look(s, err) : err->code;
}

static ps_code begin_study(ps_lib_study *s, const char *what, const char *const *options,
                           ps_err *err) {
    s->kind = kind_of(what);
    if (s->kind == NULL) {
        return ps_fail(err, PS_USAGE, "there is no study '%.40s'; there are chart, report, whatif",
                       what);
    }
    s->asked = (ps_lib_asked){.run = s->capture->opts.run, .pipeline = -1};
    ps_code code = ps_lib_study_options(options, &s->arena, &s->asked, err);
    code = code == PS_OK ? s->kind->check(&s->asked, err) : code;
    return code == PS_OK ? run_study(s, err) : code;
}

ps_lib_study *ps_lib_study_of(ps_lib *capture, const char *what, const char *const *options,
                              ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    ps_lib_study *s = ps_calloc(1, sizeof *s);
    if (s == NULL) {
        (void)ps_fail_nomem(&err);
        (void)ps_lib_told(&err, error);
        return NULL;
    }
    (void)atomic_fetch_add(&capture->n_users, 1);
    s->capture = capture;
    locale_t before = ps_lib_begin(capture);
    ps_code code = begin_study(s, what, options, &err);
    ps_lib_end(capture, before);
    if (code != PS_OK) {
        (void)ps_lib_told(&err, error);
        ps_lib_study_free(s);
        return NULL;
    }
    return s;
}

void ps_lib_study_free(ps_lib_study *study) {
    if (study != NULL) {
        ps_chart_free(study->against);
        ps_run_free(study->run);
        ps_arena_fini(&study->arena);
        ps_lib_drop(study->capture);
        ps_free(study);
    }
}

/* Those of the last analysis, which is the study itself; of a chart what its page shows. */
static const ps_table *table_at(const ps_lib_study *s, size_t i) {
    const ps_result *result = &s->run->results[s->run->n_analyses - 1];
    if (s->chart.chart != NULL) {
        return i < s->chart.n_tables ? s->chart.tables[i] : NULL;
    }
    for (size_t t = 0, n = 0; t < result->n_tables; t++) {
        bool is_one = result->tables[t]->home == PS_HOME_CLUSTER;
        if (is_one && n++ == i) {
            return result->tables[t];
        }
    }
    return NULL;
}

const char *ps_lib_study_table_name(const ps_lib_study *study, size_t i) {
    const ps_table *t = table_at(study, i);
    return t != NULL ? t->name : NULL;
}

int ps_lib_study_table(ps_lib_study *study, const char *name, struct ArrowArrayStream *out,
                       ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    const ps_table *t = NULL;
    for (size_t i = 0; (t = table_at(study, i)) != NULL && strcmp(t->name, name) != 0; i++) {
    }
    if (t == NULL) {
        (void)ps_fail(&err, PS_USAGE, "%s: there is no table '%.80s'", study->kind->name, name);
        *out = (struct ArrowArrayStream){.release = NULL};
        return ps_lib_told(&err, error);
    }
    locale_t before = ps_lib_begin(study->capture);
    int code = ps_lib_give_table(t, out, error);
    ps_lib_end(study->capture, before);
    return code;
}

int ps_lib_study_write(ps_lib_study *study, const char *form, ps_lib_text *out,
                       ps_lib_error *error) {
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    *out = (ps_lib_text){.bytes = NULL};
    locale_t before = ps_lib_begin(study->capture);
    ps_watch *watch = &study->capture->watch;
    watch->stop = false;
    text.watch = watch;
    ps_code code = study->kind->write(study, form, &text, &err);
    code = code == PS_NOMEM && watch->stop ? fail_ended(study, &err) : code;
    ps_lib_end(study->capture, before);
    if (code != PS_OK) {
        ps_buf_fini(&text);
        return ps_lib_told(&err, error);
    }
    *out = (ps_lib_text){.bytes = text.data, .size = text.len};
    return PS_LIB_OK;
}

void ps_lib_study_stop(ps_lib_study *study) {
    ps_lib_stop(study->capture);
}

void ps_lib_text_free(ps_lib_text *text) {
    if (text != NULL) {
        ps_free(text->bytes);
        *text = (ps_lib_text){.bytes = NULL};
    }
}
