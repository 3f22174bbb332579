#include "write/report/report_view.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

const char *ps_report_section_name(size_t section) {
    static const char *const NAMES[PS_N_REPORT_SECTIONS] = {"dispatch", "compute", "communication",
                                                            "pipeline"};
    return NAMES[section];
}

const char *ps_report_section_title(ps_lang lang, size_t section) {
    static const char *const TITLES[PS_N_REPORT_SECTIONS][PS_N_LANGS] = {{"Dispatch", "下发"},
                                                                         {"Compute", "计算"},
                                                                         {"Communication", "通信"},
                                                                         {"Pipeline", "流水线"}};
    return TITLES[section][lang];
}

static const ps_value *report_view_cell(const ps_table *t, size_t row, const char *column,
                                        ps_col_type *type) {
    size_t c = ps_table_column(t, column);
    if (c == SIZE_MAX || ps_table_cell(t, row, c)->is_null) {
        return NULL;
    }
    *type = t->columns[c].type;
    return ps_table_cell(t, row, c);
}

const char *ps_view_text(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    const ps_value *v = report_view_cell(t, row, column, &type);
    return v != NULL && (type == PS_COL_TEXT || type == PS_COL_STRING_ID) ? v->u.text : "";
}

int64_t ps_view_int(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    const ps_value *v = report_view_cell(t, row, column, &type);
    return v != NULL && type == PS_COL_INT ? v->u.i : 0;
}

const char *ps_report_gain_word(const ps_report_view *view, size_t row) {
    return strcmp(ps_view_text(view->findings, row, "gain from"), "replay") == 0
               ? PS_SAY(view->lang, "replayed", "重放")
               : PS_SAY(view->lang, "at most", "最多");
}

const char *ps_view_no_overview(const ps_report_view *view) {
    return view->has_no_device || view->has_host_times
               ? PS_SAY(
                     view->lang,
                     "Where a step goes is not known: nothing here ran on a device. A run on CPUs has "
                     "none; of a run with devices collect their activities, too.",
                     "step 的时间去向不得而知：此处没有任何设备侧执行。仅在 CPU 上运行时没有设备；有设备时请同时采集"
                     "设备活动。")
               : PS_SAY(
                     view->lang,
                     "Where a step goes is not known: the profile has no computing kernels. Collect the "
                     "activities of the device to see it.",
                     "step 的时间去向不得而知：采集数据中没有计算核函数。请采集设备活动以查看。");
}

const char *ps_view_severity(const ps_report_view *view, size_t row) {
    static const char *const CHINESE[][2] = {
        {"high", "高"}, {"medium", "中"}, {"low", "低"}, {"info", "提示"}};
    const char *severity = ps_view_text(view->findings, row, "severity");
    for (size_t i = 0; view->lang == PS_CHINESE && i < sizeof CHINESE / sizeof *CHINESE; i++) {
        if (strcmp(CHINESE[i][0], severity) == 0) {
            return CHINESE[i][1];
        }
    }
    return severity;
}

double ps_view_real(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    const ps_value *v = report_view_cell(t, row, column, &type);
    return v != NULL && type == PS_COL_REAL ? v->u.r : 0;
}

bool ps_view_is_null(const ps_table *t, size_t row, const char *column) {
    ps_col_type type;
    return report_view_cell(t, row, column, &type) == NULL;
}

const char *ps_view_silence(const ps_report_view *view, size_t section) {
    const ps_table *t = view->sections;
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        if (strcmp(ps_view_text(t, r, "section"), ps_report_section_name(section)) == 0) {
            return ps_view_text(t, r, "said");
        }
    }
    return NULL;
}

const char *ps_view_place_name(const ps_report_view *view) {
    return view->overview != NULL ? PS_SAY(view->lang, "in capture", "采集内")
                                  : PS_SAY(view->lang, "in chart", "图内");
}

/* Rows of one finding stand together. */
static void rows_of_finding(const ps_table *t, int64_t number, size_t *from, size_t *to) {
    *from = 0;
    while (t != NULL && *from < t->n_rows && ps_view_int(t, *from, "finding") != number) {
        (*from)++;
    }
    *to = *from;
    while (t != NULL && *to < t->n_rows && ps_view_int(t, *to, "finding") == number) {
        (*to)++;
    }
}

void ps_view_evidence(const ps_report_view *view, int64_t number, size_t *from, size_t *to) {
    rows_of_finding(view->evidence, number, from, to);
}

void ps_view_shared_rows(const ps_report_view *view, int64_t number, size_t *from, size_t *to) {
    rows_of_finding(view->shared, number, from, to);
}

/* "7.33 ms of it count in finding 2, and 2.71 ms in finding 3, too." Rows of one finding all have an amount, or none has. */
void ps_view_shared(const ps_report_view *view, size_t row, char out[PS_SHARED_TEXT]) {
    size_t from = 0;
    size_t to = 0;
    size_t at = 0;
    out[0] = '\0';
    ps_view_shared_rows(view, ps_view_int(view->findings, row, "finding"), &from, &to);
    for (size_t r = from; r < to && at < PS_SHARED_TEXT; r++) {
        long long with = (long long)ps_view_int(view->shared, r, "shared with");
        const ps_ns_text duration = ps_ns_text_of(ps_view_int(view->shared, r, "shared"));
        const ps_lang lang = view->lang;
        const char *between = r == from     ? ""
                              : r + 1 == to ? PS_SAY(lang, " and ", " 与 ")
                                            : PS_SAY(lang, ", ", "、");
        if (ps_view_is_null(view->shared, r, "shared")) {
            at += (size_t)snprintf(out + at, PS_SHARED_TEXT - at, "%s%s%lld%s",
                                   r > from ? ""
                                   : r + 1 < to
                                       ? PS_SAY(lang, "It may count the same time as findings ",
                                                "可能与这些发现计入同样的时间：")
                                       : PS_SAY(lang, "It may count the same time as finding ",
                                                "可能与该发现计入同样的时间："),
                                   between, with, r + 1 == to ? PS_SAY(lang, ".", "。") : "");
        } else {
            at += (size_t)snprintf(
                out + at, PS_SHARED_TEXT - at,
                PS_SAY(lang, "%s%s%s in finding %lld%s", "%s%s%.0s（发现 %lld）%s"), between,
                duration.text, r == from ? " of it count" : "", with,
                r + 1 == to ? PS_SAY(lang, ", too.", "也计入其他发现。") : "");
        }
    }
}

void ps_view_ranks(const ps_report_view *view, bool with_number, char out[PS_RANKS_TEXT]) {
    char number[24] = "";
    char of[40] = "";
    bool is_part = view->job_ranks > (int64_t)view->n_ranks;
    if (with_number) {
        (void)snprintf(number, sizeof number, "%zu ", view->n_ranks);
    }
    if (is_part) {
        (void)snprintf(of, sizeof of, PS_SAY(view->lang, "of %s%lld ", "（共%s %lld 个）"),
                       view->job_ranks_are_least ? PS_SAY(view->lang, "at least ", "至少") : "",
                       (long long)view->job_ranks);
    }
    (void)snprintf(out, PS_RANKS_TEXT, PS_SAY(view->lang, "%s%srank%s", "%s个 rank%s%.0s"), number,
                   of, view->n_ranks == 1 && !is_part ? "" : "s");
}

void ps_view_steps(const ps_report_view *view, char out[PS_STEPS_TEXT]) {
    int n = snprintf(out, PS_STEPS_TEXT, PS_SAY(view->lang, "%zu step%s", "%zu 个 step%.0s"),
                     view->n_steps, view->n_steps == 1 ? "" : "s");
    if (view->n_cut_steps > 0 && n > 0) {
        (void)snprintf(out + n, PS_STEPS_TEXT - (size_t)n,
                       PS_SAY(view->lang, " (%zu of them cut)", "（其中 %zu 个不完整）"),
                       view->n_cut_steps);
    }
}

void ps_view_period(const ps_report_view *view, char out[PS_PERIOD_TEXT]) {
    out[0] = '\0';
    if (view->period_ns > view->step_ns && view->period_ns - view->step_ns > view->step_ns / 100) {
        (void)snprintf(out, PS_PERIOD_TEXT, PS_SAY(view->lang, ", one every %s", "，每 %s 一个"),
                       ps_ns_text_of(view->period_ns).text);
    }
}

size_t ps_view_count(const ps_report_view *view, const char *severity) {
    size_t n = 0;
    for (size_t r = 0; r < view->findings->n_rows; r++) {
        n += strcmp(ps_view_text(view->findings, r, "severity"), severity) == 0;
    }
    return n;
}
