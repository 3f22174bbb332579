#include "run/run_lacks.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "model/lacks.h"

/* Whose lacks are listed. */
typedef struct side {
    const ps_run *run;
    const ps_analysis *const *analyses; /* NULL: names of modes are not said */
    const bool *optional;               /* or NULL */
    const char *before;                 /* of what is named: "baseline, " */
    ps_lang lang;
    ps_table *lacks;
} side;

static void add_rank_lack(const side *s, const ps_cluster_rank *rank, const char *mode,
                          const char *reason) {
    ps_buf what = {0};
    if (rank->rank >= 0) {
        ps_buf_addf(&what, "%srank %lld", s->before, (long long)rank->rank);
    } else {
        ps_buf_addf(&what, "%s%s", s->before, ps_path_base(rank->path));
    }
    if (ps_buf_ok(&what)) {
        ps_lacks_add(s->lacks, rank->rank, ps_buf_str(&what), mode, reason);
    } else {
        ps_table_fail(s->lacks);
    }
    ps_buf_fini(&what);
}

static void add_rank_error(const side *s, const ps_cluster_rank *rank, const ps_err *why) {
    char text[1024];
    ps_err_say(s->lang, why, text, sizeof text);
    add_rank_lack(s, rank, NULL, text);
}

void ps_lacks_add_unread(ps_lang lang, ps_table *lacks, const ps_cluster_rank *rank,
                         const ps_err *why) {
    const side s = {.before = "", .lang = lang, .lacks = lacks};
    add_rank_error(&s, rank, why);
}

/* A mode that was asked for found nothing in the rank, or any did in a file that ends in the middle. */
static bool is_missed(const side *s, const ps_rank_report *report, size_t a) {
    bool is_cut = report->diag.counts[PS_ODD_TRUNCATED] > 0;
    bool is_optional = s->optional != NULL && s->optional[a];
    return a >= s->run->n_makers && report->missing[a] != NULL && (!is_optional || is_cut);
}

static void add_rank_lacks(const side *s, const ps_rank_report *report) {
    size_t n_missed = 0;
    if (report->status == PS_RANK_FAILED) {
        add_rank_error(s, report->rank, &report->err);
        return;
    }
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        if (is_missed(s, report, a)) {
            bool is_said = s->analyses != NULL && s->run->n_analyses - s->run->n_makers > 1;
            add_rank_lack(s, report->rank, is_said ? s->analyses[a]->name : NULL,
                          report->missing[a]);
            n_missed++;
        }
    }
    if (report->status == PS_RANK_NOTHING && n_missed == 0 && report->err.code != PS_OK) {
        add_rank_error(s, report->rank, &report->err);
    }
}

static void add_side(const side *s, const ps_cluster *cluster) {
    char search[64];
    (void)snprintf(search, sizeof search, "%s%s", s->before, PS_LACKS_SEARCH(s->lang));
    ps_lacks_add_search(s->lang, s->lacks, &cluster->diag, search);
    for (size_t r = 0; r < s->run->n_ranks; r++) {
        add_rank_lacks(s, &s->run->ranks[r]);
    }
    for (size_t a = 0; s->analyses != NULL && a < s->run->n_analyses; a++) {
        const ps_err *why = &s->run->errors[a];
        if (why->code != PS_OK && why->code != PS_NOTHING) {
            char text[1024];
            ps_err_say(s->lang, why, text, sizeof text);
            ps_lacks_add(s->lacks, -1, PS_SAY(s->lang, "its result", "其结果"),
                         s->analyses[a]->name, text);
        }
    }
}

static bool split_by_mode(ps_run *run, const ps_analysis *const *analyses) {
    bool ok = true;
    for (size_t a = 0; ok && a < run->n_analyses; a++) {
        char name[96];
        (void)snprintf(name, sizeof name, "%s_lacks", analyses[a]->name);
        run->lacks_of[a] = ps_lacks_of_mode(run->lacks, analyses[a]->name, name);
        ok = run->lacks_of[a] != NULL;
        if (ok) {
            run->lacks_of[a]->mode = PS_TABLE_IF_ROWS;
            run->lacks_of[a]->is_sheet = true;
        }
        if (run->results[a].chart != NULL) {
            run->results[a].chart->lacks = run->lacks;
        }
    }
    return ok;
}

ps_code ps_run_note_lacks(ps_run *run, const ps_analysis *const *analyses,
                          const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    ps_table *lacks = ps_lacks_new("lacks");
    const ps_lang lang = opts->analysis.lang;
    const side own = {run, analyses, opts->optional, "", lang, lacks};
    add_side(&own, cluster);
    if (run->baseline != NULL) {
        const side base = {run->baseline, NULL, NULL, PS_SAY(lang, "baseline, ", "基线，"),
                           lang,          lacks};
        add_side(&base, run->baseline_cluster);
    }
    run->lacks = ps_table_end(lacks);
    run->lacks_of = ps_calloc(run->n_analyses, sizeof *run->lacks_of);
    bool ok = run->lacks != NULL && run->lacks_of != NULL && split_by_mode(run, analyses);
    return ok ? PS_OK : ps_fail_nomem(err);
}
