/* The report (tables of the analysis `report`) for people and for programs: what its three writers share. */
#ifndef PS_WRITE_REPORT_VIEW_H
#define PS_WRITE_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/chart.h"
#include "model/table.h"
#include "write/out/text_style.h"

typedef struct ps_report_view {
    ps_lang lang;            /* of what the writers say; the tables have theirs */
    const char *title;       /* where it comes from; "" */
    size_t n_ranks, n_steps; /* that were looked at; steps: of the rank with the most */
    size_t
        n_cut_steps; /* of those: some pipeline lacks ops in it, and step_ns is the mean of the others */
    int64_t job_ranks;        /* that the job has, 0 unknown */
    bool job_ranks_are_least; /* it may have more */
    int64_t step_ns;          /* that shares are of */
    int64_t period_ns;        /* from the beginning of a step to that of the next; 0 unknown */
    bool has_host_times; /* what the devices did was timed on the host: dispatch is not judged */
    bool has_no_device;  /* nothing ran on one: a run on CPUs, or nobody collected it */
    const char *
        comm_from_marks; /* "host" or "stream": communication was made from marks with these times; "" it was not */
    const char *missing_timeline; /* files without which nobody tells of the host; "" none */
    size_t n_without_timeline;    /* ranks */
    const ps_table *lacks;        /* what is not in it because it failed (model/lacks.h), or NULL */
    const ps_table *verdict;      /* or NULL */
    const ps_table *findings;     /* never NULL */
    const ps_table *sections;     /* or NULL */
    const ps_table *evidence;     /* never NULL */
    const ps_table *shared;       /* or NULL */
    const ps_table *overview;     /* or NULL */
    const ps_table *overview_stages; /* or NULL */
    const ps_table *kernels;         /* or NULL */
    const ps_chart *chart;           /* or NULL */
    int64_t chart_step;              /* drawn */
    int32_t pipeline;                /* drawn, -1: the first */
    const ps_table *pipelines[8];    /* of the chart */
    size_t n_pipelines;
} ps_report_view;

/* "3 steps", "3 steps (1 of them cut)"; at least one. */
enum { PS_STEPS_TEXT = 64 };
void ps_view_steps(const ps_report_view *view, char out[PS_STEPS_TEXT]);

/* ", one every 55.0 ms" where more than a hundredth of the time lies between steps; else "". */
enum { PS_PERIOD_TEXT = 64 };
void ps_view_period(const ps_report_view *view, char out[PS_PERIOD_TEXT]);

/* The order of all three: the verdict, the findings with their evidence, rule and what to try, then what was
 * not judged, where a step goes, the kernels, the chart. At most style->width columns; of more lines than style->max_lines the last
 * findings are a line each, all but the first. Appends; PS_NOMEM only. */
PS_MUST_USE ps_code ps_write_report_text(const ps_report_view *view, const ps_text_style *style,
                                         ps_buf *out, ps_err *err);

/* {"format":"pipescope-report","version":1, ..., "verdict":"..", "findings":[{..., "evidence":[..]}], "overview":[..], "kernels":[..]}.
 * Appends; PS_NOMEM only. */
PS_MUST_USE ps_code ps_write_report_json(const ps_report_view *view, ps_buf *out, ps_err *err);

/* One page that needs nothing else, light or dark as the reader's system is. Appends. */
PS_MUST_USE ps_code ps_write_report_html(const ps_report_view *view, ps_buf *out, ps_err *err);

enum { PS_N_REPORT_SECTIONS = 4 };
/* "dispatch" ...: what the column `section` holds, in the order of the report. */
const char *ps_report_section_name(size_t section);
/* The same as a heading: "Dispatch". */
const char *ps_report_section_title(ps_lang lang, size_t section);
/* "high" ..., as people read the severity of a finding. */
const char *ps_view_severity(const ps_report_view *view, size_t row);

/* What stands in the place of the overview when there is none. */
const char *ps_view_no_overview(const ps_report_view *view);

/* What stands above the findings. */
#define PS_GAINS_SAID(lang)                                                                                                                                                  \
    PS_SAY(                                                                                                                                                                  \
        lang,                                                                                                                                                                \
        "Findings, the largest gain first, who is slow before those that wait. A gain is what a step would save at most if that "                                            \
        "cause went away, bounded by what every rank still has to do itself, or what a replay "                                                                              \
        "without it gives (replayed); gains do not add up.",                                                                                                                 \
        "各项发现，收益最大者在前，慢者先于等待者。收益是该原因消失后每个 step 最多可省的时间，以每个 rank 自身仍需完成的" \
        "工作为界，或为不含该原因的重放结果（重放）；收益不可相加。")

#define PS_SHARED_TEXT 400
/* Which findings before it count the same time; "" none. */
void ps_view_shared(const ps_report_view *view, size_t row, char out[PS_SHARED_TEXT]);

/* What there is to say of a section beside its findings; NULL: nothing. */
const char *ps_view_silence(const ps_report_view *view, size_t section);

/* A cell by the name of its column; "" and 0 for NULL and for columns that are not there. */
const char *ps_view_text(const ps_table *t, size_t row, const char *column);
int64_t ps_view_int(const ps_table *t, size_t row, const char *column);
/* "at most" of a bound, "replayed" of what a replay without the cause gives. */
const char *ps_report_gain_word(const ps_report_view *view, size_t row);
double ps_view_real(const ps_table *t, size_t row, const char *column);
bool ps_view_is_null(const ps_table *t, size_t row, const char *column);

/* What places of evidence are counted from, as the head of their column: the first event of the capture, or, where nothing but a
 * chart is known, its first op. */
const char *ps_view_place_name(const ps_report_view *view);
/* The rows of the evidence of finding `number` are [*from, *to). */
void ps_view_evidence(const ps_report_view *view, int64_t number, size_t *from, size_t *to);
/* The same of the table `shared`. */
void ps_view_shared_rows(const ps_report_view *view, int64_t number, size_t *from, size_t *to);

/* "2 ranks", "2 of 8 ranks", "2 of at least 8 ranks"; without the number of those that were looked at as in "of 8 ranks". */
enum { PS_RANKS_TEXT = 96 };
void ps_view_ranks(const ps_report_view *view, bool with_number, char out[PS_RANKS_TEXT]);

/* How many findings of the severity there are. */
size_t ps_view_count(const ps_report_view *view, const char *severity);

#endif
