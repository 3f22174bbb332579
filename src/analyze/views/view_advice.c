/* advice: what the report finds in this rank alone, each finding with the rule, its figure, what to try, and below it where to
 * look. The whole capture counts, whatever the span. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "analyze/modes/capture_facts.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"

enum {
    C_SLICE,
    C_LEVEL,
    C_SEVERITY,
    C_SECTION,
    C_RULE,
    C_TITLE,
    C_WHAT,
    C_START,
    C_DURATION,
    C_GAIN,
    C_SHARE,
    C_VALUE,
    C_THRESHOLD,
    C_FIRES,
    C_TRY,
    N_COLUMNS
};
#define TEXT(text)                                                                                 \
    { .name = (text), .type = PS_COL_TEXT }
static const ps_column COLUMNS[N_COLUMNS] = {
    [C_SLICE] = {.name = "slice", .type = PS_COL_INT},
    [C_LEVEL] = {.name = "level", .type = PS_COL_INT},
    [C_SEVERITY] = TEXT("severity"),
    [C_SECTION] = TEXT("section"),
    [C_RULE] = TEXT("rule"),
    [C_TITLE] = TEXT("title"),
    [C_WHAT] = TEXT("what"),
    [C_START] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_GAIN] = {.name = "gain", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_SHARE] = {.name = "gain share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [C_VALUE] = TEXT("value"),
    [C_THRESHOLD] = TEXT("threshold"),
    [C_FIRES] = TEXT("fires when"),
    [C_TRY] = TEXT("try"),
};

/* --- from the report ------------------------------------------------------------------------------------------------------- */

/* Cells of both have the same names. */
static bool copy_cells(const ps_table *from, size_t row, ps_table *to) {
    bool ok = true;
    for (size_t c = C_SEVERITY; ok && c < N_COLUMNS; c++) {
        size_t at = ps_table_column(from, COLUMNS[c].name);
        const ps_value *v = at != SIZE_MAX ? ps_table_cell(from, row, at) : NULL;
        if (v == NULL || v->is_null || from->columns[at].type != COLUMNS[c].type) {
            continue;
        }
        if (COLUMNS[c].type == PS_COL_TEXT) {
            ok = ps_table_set_text(to, c, v->u.text);
        } else if (COLUMNS[c].type == PS_COL_INT) {
            ps_table_set_int(to, c, v->u.i);
        } else {
            ps_table_set_real(to, c, v->u.r);
        }
    }
    return ok;
}

/* The slice of that name that begins then, PS_NONE: none. */
static uint32_t find_slice(const ps_trace *t, const char *name, int64_t start_ns) {
    const ps_slices *s = ps_trace_slices(t);
    ps_str id = ps_trace_find_text(t, name);
    PS_PLACE(uint32_t, low, 0, s->n, middle, s->start_ns[middle] < start_ns)
    for (; low < s->n && s->start_ns[low] == start_ns; low++) {
        if (!ps_str_is_none(id) && ps_str_eq(s->name[low], id)) {
            return low;
        }
    }
    return PS_NONE;
}

static const char *advice_text_at(const ps_table *t, size_t row, const char *column) {
    size_t at = ps_table_column(t, column);
    const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
    return v != NULL && !v->is_null ? v->u.text : "";
}

static bool advice_int_at(const ps_table *t, size_t row, const char *column, int64_t *out) {
    size_t at = ps_table_column(t, column);
    const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
    *out = v != NULL && !v->is_null ? v->u.i : 0;
    return v != NULL && !v->is_null;
}

/* A place to look at: name and note, and the slice when there is one that begins then. */
static bool put_advice_evidence(const ps_trace *trace, const ps_table *evidence, size_t row,
                                ps_table *t) {
    int64_t at = 0;
    int64_t duration = 0;
    const char *name = advice_text_at(evidence, row, "name");
    const char *note = advice_text_at(evidence, row, "note");
    char what[512];
    (void)snprintf(what, sizeof what, "%.300s%s%.180s", name, note[0] != '\0' ? ": " : "", note);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, C_WHAT, what)) {
        return false;
    }
    ps_table_set_int(t, C_LEVEL, 1);
    if (advice_int_at(evidence, row, "at", &at)) {
        int64_t start = ps_i64_minus(at, ps_trace_origin_ns(trace));
        uint32_t slice = find_slice(trace, name, start);
        ps_table_set_int(t, C_START, start);
        if (slice != PS_NONE) {
            ps_table_set_int(t, C_SLICE, slice);
        }
    }
    if (advice_int_at(evidence, row, "duration", &duration)) {
        ps_table_set_int(t, C_DURATION, duration);
    }
    return true;
}

static bool put_advice_findings(const ps_trace *trace, const ps_result *report, ps_table *t) {
    const ps_table *findings = ps_result_table(report, "findings");
    const ps_table *evidence = ps_result_table(report, "evidence");
    bool ok = true;
    for (size_t row = 0; ok && findings != NULL && row < findings->n_rows; row++) {
        int64_t number = 0;
        int64_t of = 0;
        ok = ps_table_add_row(t) && copy_cells(findings, row, t);
        if (ok) {
            ps_table_set_int(t, C_LEVEL, 0);
        }
        (void)advice_int_at(findings, row, "finding", &number);
        for (size_t e = 0; ok && evidence != NULL && e < evidence->n_rows; e++) {
            ok = !advice_int_at(evidence, e, "finding", &of) || of != number ||
                 put_advice_evidence(trace, evidence, e, t);
        }
    }
    return ok;
}

/* --- the view ---------------------------------------------------------------------------------------------------------------- */

/* All rounds of the report over this one rank. PS_NOTHING when nothing ran on a device. */
static ps_code run_report(const ps_view_input *in, ps_result *out, ps_err *err) {
    const ps_analysis *report = ps_analysis_find("report");
    const char *lang = ps_view_param_of(in, &ps_view_advice, "lang", err);
    if (lang == NULL) {
        return PS_USAGE;
    }
    const ps_analysis_opts opts = {
        .step_id = -1, .one_of_several = true, .lang = ps_analysis_lang(lang)};
    ps_rank_info info = {.rank = -1, .machine = -1, .profiler = ""};
    ps_diag *diag = ps_calloc(1, sizeof *diag);
    void *partial = NULL;
    const char *rank = ps_trace_meta(in->trace, "rank");
    if (diag == NULL) {
        return ps_fail_nomem(err);
    }
    if (rank == NULL || !ps_parse_i64(rank, strlen(rank), &info.rank)) {
        info.rank = 0;
    }
    ps_map_input map = {.trace = in->trace, .rank = &info, .opts = &opts, .diag = diag};
    ps_code code = ps_round_map(&report->rounds[0], &map, &partial, err);
    void *const partials[] = {partial};
    ps_diag *const diags[] = {diag};
    ps_reduce_input reduce = {.ranks = &info,
                              .partials = partials,
                              .diags = diags,
                              .n_ranks = 1,
                              .opts = &opts,
                              .result = out};
    void *shared = NULL;
    code = code == PS_OK || code == PS_NOTHING
               ? report->rounds[report->n_rounds - 1].reduce(&reduce, &shared, err)
               : code;
    report->free_partial(partial);
    ps_free(diag);
    return code;
}

static ps_table *make_advice(const ps_view_input *in, ps_err *err) {
    ps_result report = {0};
    ps_code code = run_report(in, &report, err);
    ps_table *t = code == PS_OK ? ps_table_new("advice", "what to try", COLUMNS, N_COLUMNS) : NULL;
    bool ok = t != NULL && put_advice_findings(in->trace, &report, t);
    ps_result_fini(&report);
    if (!ok) {
        ps_table_free(t);
        if (code == PS_OK) {
            (void)ps_fail_nomem(err);
        }
        return NULL;
    }
    return t;
}

static const ps_view_param ADVICE_PARAMS[] = {{"lang", "language of the sentences", "en|zh", "en"}};

const ps_view ps_view_advice = {.name = "advice",
                                .title = "Advice",
                                .tab = PS_TAB_TIMELINE,
                                .uses = PS_VIEW_WHOLE,
                                .params = ADVICE_PARAMS,
                                .n_params = sizeof ADVICE_PARAMS / sizeof *ADVICE_PARAMS,
                                .make = make_advice};
