#include "run/run_pipeline.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

/* Marks are looked for in what Ascend's profilers wrote, where pp_chart knows them, also after a conversion; everything else
 * is for pp_labels. */
static bool may_have_marks(const ps_cluster_rank *rank) {
    static const char *const ASCEND[] = {"PyTorch", "MindSpore", "msMonitor", "Ascend"};
    const char *recorder = ps_cluster_recorder(rank);
    bool known = rank->reader == NULL || strcmp(rank->reader->name, "ascend-db") == 0 ||
                 strcmp(rank->reader->name, "ascend-text") == 0;
    bool is_converted = strcmp(ps_cluster_format(rank), "pipescope-json") == 0;
    for (size_t i = 0; is_converted && recorder != NULL && i < sizeof ASCEND / sizeof *ASCEND;
         i++) {
        known = known || strcmp(recorder, ASCEND[i]) == 0;
    }
    return known;
}

static bool is_any(const ps_cluster_rank *rank) {
    (void)rank;
    return true;
}

/* One analysis over the ranks that are wanted; NULL on failure. */
static ps_run *run_over(const ps_cluster *cluster, const char *name,
                        bool (*wanted)(const ps_cluster_rank *), const ps_run_opts *opts,
                        ps_err *err) {
    const ps_analysis *analysis = ps_analysis_find(name);
    const ps_cluster_rank **ranks = ps_calloc(cluster->n_ranks, sizeof *ranks);
    ps_run *run = NULL;
    size_t n = 0;
    if (ranks == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    for (size_t r = 0; r < cluster->n_ranks; r++) {
        if (wanted(&cluster->ranks[r])) {
            ranks[n++] = &cluster->ranks[r];
        }
    }
    run = ps_run_analyses(&analysis, 1, cluster, ranks, n, opts, err);
    ps_free(ranks);
    return run;
}

static size_t count_maybe_marked(const ps_cluster *cluster) {
    size_t n = 0;
    for (size_t r = 0; r < cluster->n_ranks; r++) {
        n += may_have_marks(&cluster->ranks[r]);
    }
    return n;
}

static bool has_chart(const ps_run *run) {
    return run != NULL && run->results[0].chart != NULL && run->results[0].chart->n_ops > 0;
}

/* Marks first where every rank may have them, then labels, jobs and flows; marks again of the ranks that may have them
 * when nothing else was there. Rules of the user win over all of it. NULL with `err` when a run failed. */
static ps_run *find_ops(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    size_t n_databases = count_maybe_marked(cluster);
    bool rules = opts->analysis.forward_re != NULL || opts->analysis.backward_re != NULL;
    ps_run *marks = NULL;
    if (!rules && n_databases == cluster->n_ranks) {
        marks = run_over(cluster, "pp_chart", may_have_marks, opts, err);
        if (marks == NULL || has_chart(marks) || marks->n_nothing == 0) {
            return marks;
        }
    }
    ps_run *labels = run_over(cluster, "pp_labels", is_any, opts, err);
    if (labels == NULL || has_chart(labels)) {
        ps_run_free(marks);
        return labels;
    }
    if (marks == NULL && !rules && n_databases > 0) {
        marks = run_over(cluster, "pp_chart", may_have_marks, opts, err);
    }
    bool keep_marks = marks != NULL && (has_chart(marks) || n_databases == cluster->n_ranks);
    ps_run_free(keep_marks ? labels : marks);
    return keep_marks ? marks : labels;
}

size_t ps_run_chart_makers(const ps_cluster *cluster, const ps_analysis *out[PS_REPORT_MAKERS]) {
    size_t n = 0;
    size_t n_marks = count_maybe_marked(cluster);
    bool marks_first = n_marks == cluster->n_ranks;
    out[n++] = ps_analysis_find(marks_first ? "pp_chart" : "pp_labels");
    if (n_marks > 0) {
        out[n++] = ps_analysis_find(marks_first ? "pp_labels" : "pp_chart");
    }
    return n;
}

size_t ps_run_report_plan(const ps_cluster *cluster, const ps_analysis *out[PS_REPORT_MAKERS + 1]) {
    size_t n = ps_run_chart_makers(cluster, out);
    out[n++] = ps_analysis_find("report");
    return n;
}

ps_run *ps_run_pipeline(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    ps_run *run = find_ops(cluster, opts, err);
    if (run != NULL) {
        ps_run_name_chart(run->results[0].chart, cluster);
    }
    return run;
}

void ps_run_name_chart(ps_chart *chart, const ps_cluster *cluster) {
    const char *name = ps_cluster_name(cluster);
    if (chart != NULL && name[0] != '\0') {
        (void)ps_chart_set_text(chart, name,
                                chart->schedule); /* a title is not worth failing for */
    }
}

bool ps_is_pipeline_table(const ps_table *t) {
    return t->home == PS_HOME_CLUSTER && strncmp(t->name, "Pipeline", 8) == 0 && t->n_rows > 0;
}

size_t ps_pipeline_tables(const ps_result *result, const ps_table *out[PS_MAX_PIPELINE_TABLES]) {
    size_t n = 0;
    for (size_t i = 0; i < result->n_tables && n < PS_MAX_PIPELINE_TABLES; i++) {
        if (ps_is_pipeline_table(result->tables[i])) {
            out[n++] = result->tables[i];
        }
    }
    return n;
}
