#include "run/run_baseline.h"

#include <string.h>

#include "base/alloc.h"
#include "run/run_pipeline.h"

/* Adds each once. */
static void add_wanted(ps_baseline *b, const ps_analysis *const *analyses, size_t n) {
    for (size_t a = 0; a < n; a++) {
        const ps_analysis *found =
            analyses[a]->baseline != NULL ? ps_analysis_find(analyses[a]->baseline) : NULL;
        bool again = false;
        for (size_t i = 0; i < b->n_analyses; i++) {
            again = again || b->analyses[i] == found;
        }
        if (found != NULL && !again) {
            b->analyses[b->n_analyses++] = found;
        }
    }
}

static bool compares_any(const ps_analysis *const *analyses, size_t n) {
    bool any = false;
    for (size_t a = 0; a < n; a++) {
        any = any || analyses[a]->baseline != NULL;
    }
    return any;
}

static ps_code run_all(ps_baseline *b, const ps_analysis *const *analyses, size_t n,
                       const ps_run_opts *opts, ps_err *err) {
    b->cluster = ps_cluster_find(opts->baseline_path, err);
    if (b->cluster == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    if (ps_diag_n_errors(&b->cluster->diag) > 0) { /* a part of a baseline is none */
        return ps_fail_file_said(err, PS_IO, opts->baseline_path, "not all of it could be read: %s",
                                 "未能全部读取：%s", b->cluster->diag.places[PS_ODD_FILE][0]);
    }
    if (b->cluster->n_ranks == 0 && b->cluster->no_profile.code != PS_OK) {
        return ps_fail_file_said(err, PS_NOTHING, opts->baseline_path, "%s%.0s", "%.0s%s",
                                 ps_err_text(PS_ENGLISH, &b->cluster->no_profile),
                                 ps_err_text(PS_CHINESE, &b->cluster->no_profile));
    }
    if (b->cluster->n_ranks == 0) {
        const ps_said *instead = &b->cluster->instead;
        return instead->in[PS_ENGLISH] == NULL
                   ? ps_fail_file_said(err, PS_NOTHING, opts->baseline_path,
                                       "no profile was found here", "此处未找到采集数据")
                   : ps_fail_file_said(err, PS_NOTHING, opts->baseline_path,
                                       "no profile was found here, but %s%.0s",
                                       "此处未找到采集数据，但有 %.0s%s", instead->in[PS_ENGLISH],
                                       instead->in[PS_CHINESE]);
    }
    ps_run_opts own = *opts;
    own.n_makers = opts->n_makers > 0 ? ps_run_chart_makers(b->cluster, b->analyses) : 0;
    b->n_analyses = own.n_makers;
    add_wanted(b, analyses, n);
    own.baseline_path = NULL;
    own.rank_list = opts->baseline_ranks;
    own.rank_list_name = "base_rank_list";
    own.work = PS_RUN_WHOLE;
    own.out_dir = NULL;
    own.export_type = PS_EXPORT_NOTHING;
    own.optional = NULL; /* of other analyses */
    own.read_all = NULL; /* the ranks themselves follow */
    own.analysis.step_id = opts->baseline_step != NULL ? *opts->baseline_step : -1;
    b->run = ps_run_listed_ranks(b->analyses, b->n_analyses, b->cluster, &own, err);
    if (b->run == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    if (b->run->n_done > 0) {
        return PS_OK;
    }
    const ps_rank_report *worst = &b->run->ranks[0];
    for (size_t r = 0; worst->status != PS_RANK_FAILED && r < b->run->n_ranks; r++) {
        worst = b->run->ranks[r].status == PS_RANK_FAILED ? &b->run->ranks[r] : worst;
    }
    return ps_fail_file_said(err, worst->err.code, opts->baseline_path,
                             "no rank could be used: %s%.0s", "没有可用的 rank：%.0s%s",
                             ps_err_text(PS_ENGLISH, &worst->err),
                             ps_err_text(PS_CHINESE, &worst->err));
}

ps_code ps_baseline_run(ps_baseline *b, const ps_analysis *const *analyses, size_t n_analyses,
                        const ps_run_opts *opts, ps_err *err) {
    b->analyses = ps_calloc(PS_REPORT_MAKERS + n_analyses, sizeof *b->analyses);
    if (b->analyses == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code =
        compares_any(analyses, n_analyses) ? run_all(b, analyses, n_analyses, opts, err) : PS_OK;
    if (code != PS_OK) {
        ps_err_prefix(err, "baseline");
    }
    return code;
}

const ps_result *ps_baseline_of(const ps_baseline *b, const ps_analysis *analysis) {
    for (size_t i = 0; b->run != NULL && analysis->baseline != NULL && i < b->run->n_analyses;
         i++) {
        if (strcmp(b->analyses[i]->name, analysis->baseline) == 0) {
            return &b->run->results[i];
        }
    }
    return NULL;
}

void ps_baseline_free(ps_baseline *b) {
    ps_run_free(b->run);
    ps_cluster_free(b->cluster);
    ps_free(b->analyses);
    *b = (ps_baseline){0};
}
