#include "run/run.h"

#include <stdio.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/spill.h"
#include "base/threads.h"
#include "model/recording.h"
#include "read/ascend/ascend_tables.h"
#include "read/readers.h"
#include "run/rank_selection.h"
#include "run/run_baseline.h"
#include "run/run_cluster_tables.h"
#include "run/run_key.h"
#include "run/run_lacks.h"
#include "run/run_memory.h"
#include "run/run_output.h"
#include "run/run_session.h"
#include "run/run_shards.h"
#include "write/table/sqlite.h"

/* Keeps the first failure; one outranks what is missing. */
static void note_failure(ps_rank_report *report, const ps_err *err) {
    if (report->status != PS_RANK_FAILED) {
        report->status = PS_RANK_FAILED;
        report->err = *err;
    }
}

/* Analysis `a` has nothing to do for the rank. The rank has nothing when that goes for all of them behind the makers. */
static void note_nothing(const ps_session *s, ps_rank_report *report, size_t a, ps_err *err) {
    if (report->missing[a] != NULL) {
        return;
    }
    report->missing[a] = ps_strdup(ps_err_text(s->opts->analysis.lang, err));
    if (report->missing[a] == NULL) {
        ps_err nomem = PS_ERR_INIT;
        (void)ps_fail_nomem(&nomem);
        note_failure(report, &nomem);
        return;
    }
    if (a < s->run->n_makers) {
        return;
    }
    size_t n_asked = s->run->n_analyses - s->run->n_makers;
    if (n_asked > 1) {
        ps_err_prefix(err, "%s", s->analyses[a]->name);
    }
    report->n_nothing++;
    if (report->err.code == PS_OK) {
        report->err = *err;
    } else if (report->status != PS_RANK_FAILED) {
        ps_err_add_said(&report->err, "%s%.0s", "%.0s%s", ps_err_text(PS_ENGLISH, err),
                        ps_err_text(PS_CHINESE, err));
    }
    if (report->n_nothing == n_asked && report->status == PS_RANK_DONE) {
        report->status = PS_RANK_NOTHING;
    }
}

/* --- map ----------------------------------------------------------------------------------------------------- */

static bool writes_in_place(const ps_session *s) {
    bool in_place = false;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        in_place = in_place || s->analyses[a]->writes == PS_WRITES_RANK_DB;
    }
    return in_place && s->opts->out_dir == NULL && s->opts->export_type == PS_EXPORT_DB;
}

/* For refuse_absent_step(). */
static void note_absent_step(ps_rank_report *report, const ps_trace *trace, int64_t wanted) {
    size_t n = 0;
    (void)ps_trace_steps(trace, &n);
    ps_err err = PS_ERR_INIT;
    if (n > 0 && ps_check_step(trace, wanted, &err) == PS_NOTHING) {
        (void)snprintf(report->no_step, sizeof report->no_step, "%s", err.msg);
    }
}

static ps_trace *read_run_rank(ps_session *s, size_t r) {
    ps_rank_report *report = &s->run->ranks[r];
    ps_err err = PS_ERR_INIT;
    ps_src src = ps_cluster_src(report->rank);
    src.n_threads = ps_threads_each(s->opts->n_threads, s->n_own);
    src.watch = s->opts->analysis.watch;
    (void)__atomic_add_fetch(&s->run->n_read, 1, __ATOMIC_RELAXED);
    ps_trace *trace = ps_read(&src, s->needs, &err);
    if (trace == NULL) {
        note_failure(report, &err);
        return NULL;
    }
    if (!s->outputs[r]
             .has_stamp) { /* what is odd in the file counts once, however often it is read */
        ps_diag_merge(&report->diag, ps_trace_diag(trace), NULL);
        note_absent_step(report, trace, s->opts->analysis.step_id);
    }
    s->outputs[r].stamp = ps_trace_stamp(trace);
    s->outputs[r].has_stamp = true;
    return trace;
}

static ps_map_input map_input(const ps_session *s, size_t a, size_t r) {
    return (ps_map_input){.rank = &s->infos[r],
                          .opts = &s->opts_of[a],
                          .partial = s->partials[a][r],
                          .shared = s->shared[a],
                          .diag = &s->run->ranks[r].diag};
}

/* Whether analysis `a` has a map to run over the rank in this round. */
static bool wants_rank(const ps_session *s, size_t a, size_t r) {
    bool has_round = s->round < s->analyses[a]->n_rounds && s->run->errors[a].code == PS_OK;
    if (!has_round || (s->round > 0 && s->partials[a][r] == NULL)) {
        return false;
    }
    ps_map_input in = map_input(s, a, r);
    const ps_round *round = &s->analyses[a]->rounds[s->round];
    return round->wants == NULL || round->wants(&in);
}

bool ps_session_needs_trace(const ps_session *s, size_t r) {
    bool any = false;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        any = any || (wants_rank(s, a, r) && ps_session_needs(s, a) != 0);
    }
    return any;
}

/* Where a timeline is made of tables, what a mode does not find may be in a file that is missing. */
static void say_missing_timeline(const ps_trace *trace, ps_err *err) {
    const char *files = trace != NULL ? ps_trace_missing_timeline(trace) : NULL;
    if (files != NULL) {
        ps_err_add_said(err, "not among the rank's files: %s: " PS_ASCEND_TIMELINE_HOW,
                        "该 rank 的文件中没有 %s：" PS_ASCEND_TIMELINE_HOW_ZH, files);
    }
}

/* `look` (empty before and after): what this analysis finds odd. */
static void map_analysis(ps_session *s, size_t a, size_t r, const ps_trace *trace,
                         ps_derived *derived, ps_diag *look) {
    const ps_round *round = &s->analyses[a]->rounds[s->round];
    ps_rank_report *report = &s->run->ranks[r];
    ps_err err = PS_ERR_INIT;
    ps_map_input in = map_input(s, a, r);
    in.diag = look;
    in.trace = trace;
    in.derived = derived;
    void *partial = in.partial;
    ps_code code = ps_round_map(round, &in, &partial, &err);
    if (!ps_diag_is_empty(look)) { /* clearing it takes longer than most maps */
        if (a >= s->run->n_makers) {
            ps_diag_merge_look(&report->diag, look);
        }
        *look = (ps_diag){0};
    }
    s->partials[a][r] = partial;
    s->took_part[a][r] = code == PS_OK;
    if (code == PS_NOTHING) {
        say_missing_timeline(trace, &err);
        note_nothing(s, report, a, &err);
    } else if (code != PS_OK) {
        if (s->run->n_analyses - s->run->n_makers > 1) {
            ps_err_prefix(&err, "%s", s->analyses[a]->name);
        }
        note_failure(report, &err);
    }
}

/* The maps that see the trace in this round, or those that see none. */
static void map_those(ps_session *s, size_t r, const ps_trace *trace, ps_derived *derived,
                      ps_diag *look) {
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        bool is_one = (ps_session_needs(s, a) != 0) == (trace != NULL);
        bool goes_on = ps_watch_ask(s->opts->analysis.watch, NULL) == PS_OK;
        if (is_one && goes_on && wants_rank(s, a, r)) {
            map_analysis(s, a, r, trace, derived, look);
        }
    }
}

static int64_t bytes_of_rank(const ps_session *s, size_t r) {
    return s->rank_bytes[s->run->ranks[r].rank - s->cluster->ranks];
}

/* The trace lives only as long as the maps look at it. */
static bool read_and_map_rank(ps_session *s, size_t r, ps_diag *look) {
    ps_err err = PS_ERR_INIT;
    bool goes_on = ps_watch_ask(s->opts->analysis.watch, NULL) == PS_OK;
    ps_trace *trace = goes_on ? read_run_rank(s, r) : NULL;
    ps_derived *derived =
        trace != NULL ? ps_derived_new(trace, &s->opts->analysis, &s->run->ranks[r].diag, &err)
                      : NULL;
    if (trace != NULL && derived == NULL) {
        note_failure(&s->run->ranks[r], &err);
    }
    if (derived != NULL) {
        map_those(s, r, trace, derived, look);
    }
    bool is_whole = derived != NULL;
    ps_derived_free(derived);
    ps_trace_free(trace);
    return is_whole && ps_watch_ask(s->opts->analysis.watch, NULL) == PS_OK;
}

bool ps_session_read_and_map(ps_session *s, size_t r, ps_diag *look) {
    ps_err err = PS_ERR_INIT;
    int64_t bytes = bytes_of_rank(s, r);
    if (ps_budget_check(&s->memory, s->run->ranks[r].rank, bytes, &err) != PS_OK) {
        note_failure(&s->run->ranks[r], &err);
        return false;
    }
    ps_budget_take(&s->memory, bytes);
    bool is_whole = read_and_map_rank(s, r, look);
    ps_budget_give(&s->memory, bytes);
    return is_whole;
}

void ps_session_step(ps_session *s) {
    if (s->opts->progress != NULL && s->round == 0) {
        s->opts->progress(s->opts->progress_context,
                          __atomic_add_fetch(&s->n_progress, 1, __ATOMIC_RELAXED), s->run->n_ranks);
    }
}

void ps_session_map(ps_session *s, size_t r, ps_session_maps which) {
    ps_diag *look = ps_calloc(1, sizeof *look);
    bool is_whole = look != NULL;
    if (!is_whole) {
        ps_err err = PS_ERR_INIT;
        (void)ps_fail_nomem(&err);
        note_failure(&s->run->ranks[r], &err);
    } else if ((which & PS_MAPS_WITH_TRACE) != 0 && ps_session_needs_trace(s, r)) {
        if (s->round == 0 && writes_in_place(s)) {
            /* now, since it would change the file between reading and writing */
            ps_sqlite_recover(s->run->ranks[r].rank->path);
        }
        is_whole = s->cache != NULL ? ps_session_map_cached(s, r, look)
                                    : ps_session_read_and_map(s, r, look);
    }
    if (is_whole && (which & PS_MAPS_WITHOUT) != 0) {
        map_those(s, r, NULL, NULL, look);
    }
    ps_free(look);
    for (size_t a = 0; !is_whole && a < s->run->n_analyses; a++) {
        s->took_part[a][r] = false;
    }
}

static void map_rank(void *context, size_t r) {
    ps_session *s = context;
    ps_session_map(s, r, PS_MAPS_ALL);
    if (s->round == 0 && ps_spill_is_over()) {
        ps_session_spill_rank(s, r);
    }
    ps_session_step(s);
}

static ps_code map_on_threads(ps_engine *e, ps_session *s, bool *waits, ps_err *err) {
    (void)e;
    *waits = false;
    ps_parallel(s->run->n_ranks, s->opts->n_threads, map_rank, s);
    return ps_watch_ask(s->opts->analysis.watch, err);
}

static void map_rest(void *context, size_t r) {
    ps_session_map(context, r, PS_MAPS_WITHOUT);
}

void ps_session_map_rest(ps_session *s) {
    ps_parallel(s->run->n_ranks, s->opts->n_threads, map_rest, s);
}

void ps_session_forget_rank(ps_session *s, size_t r) {
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        s->analyses[a]->free_partial(s->partials[a][r]);
        s->partials[a][r] = NULL;
    }
}

void ps_session_fail_rank(ps_session *s, size_t r, const ps_err *err) {
    note_failure(&s->run->ranks[r], err);
    for (size_t i = 0; i < s->n_seeing; i++) {
        s->took_part[s->seeing_at[i]][r] = false;
    }
}

/* --- reduce -------------------------------------------------------------------------------------------------- */

/* --strict: a rank with counted errors fails, and nothing is written for it. */
static bool is_refused(const ps_session *s, size_t r) {
    return s->opts->strict && ps_diag_n_fatal(&s->run->ranks[r].diag) > 0;
}

/* Tables of the cluster are made without the ranks that --strict refuses. */
static void forget_refused(ps_session *s, size_t a) {
    bool of_cluster = s->analyses[a]->writes == PS_WRITES_CLUSTER;
    for (size_t r = 0; of_cluster && r < s->run->n_ranks; r++) {
        if (is_refused(s, r) && s->partials[a][r] != NULL) {
            s->analyses[a]->free_partial(s->partials[a][r]);
            s->partials[a][r] = NULL;
        }
    }
}

/* Without ranks there is nothing to reduce, and the ranks say why. */
static bool is_left_out(const ps_session *s, size_t a) {
    bool any = false;
    for (size_t r = 0; r < s->run->n_ranks; r++) {
        any = any || s->partials[a][r] != NULL || s->took_part[a][r];
    }
    return !any;
}

static ps_code reduce_analysis(ps_session *s, size_t a, ps_err *err) {
    const ps_analysis *analysis = s->analyses[a];
    forget_refused(s, a);
    if (is_left_out(s, a)) {
        return PS_OK;
    }
    ps_reduce_input in = {.ranks = s->infos,
                          .partials = s->partials[a],
                          .diags = a < s->run->n_makers ? s->unsaid : s->diags,
                          .n_ranks = s->run->n_ranks,
                          .opts = &s->opts_of[a],
                          .shared = s->shared[a],
                          .result = &s->run->results[a],
                          .before = s->run->results,
                          .n_before = a,
                          .job_skew = s->job_skew};
    void *shared = s->shared[a];
    ps_code code = analysis->rounds[s->round].reduce(&in, &shared, err);
    if (shared != s->shared[a] && s->shared[a] != NULL && analysis->free_shared != NULL) {
        analysis->free_shared(s->shared[a]);
    }
    s->shared[a] = shared;
    return code;
}

static bool any_failed(const ps_run *run) {
    bool any = false;
    for (size_t r = 0; r < run->n_ranks; r++) {
        any = any || run->ranks[r].status == PS_RANK_FAILED;
    }
    return any;
}

/* One of several analyses ended without a result: the others go on. */
static void end_analysis(ps_session *s, size_t a, const ps_err *err) {
    ps_result_fini(&s->run->results[a]);
    s->run->results[a] = (ps_result){0};
    s->run->errors[a] = *err;
    for (size_t r = 0; err->code == PS_NOTHING && r < s->run->n_ranks; r++) {
        ps_err own = *err;
        note_nothing(s, &s->run->ranks[r], a, &own);
    }
}

/* Tables hold all they need. */
static void forget_partials(ps_session *s, size_t a) {
    for (size_t r = 0; s->partials[a] != NULL && r < s->run->n_ranks; r++) {
        s->analyses[a]->free_partial(s->partials[a][r]);
        s->partials[a][r] = NULL;
    }
}

static ps_code reduce_all(ps_session *s, ps_err *err) {
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        const ps_analysis *analysis = s->analyses[a];
        bool has_round = s->round < analysis->n_rounds && s->run->errors[a].code == PS_OK;
        if (!has_round || analysis->rounds[s->round].reduce == NULL) {
            continue;
        }
        ps_err local = PS_ERR_INIT;
        ps_code code = ps_watch_ask(s->opts->analysis.watch, &local);
        code = code == PS_OK ? reduce_analysis(s, a, &local) : code;
        bool is_single = a >= s->run->n_makers && s->run->n_analyses - s->run->n_makers == 1;
        bool ends_all = is_single && !(code == PS_NOTHING && any_failed(s->run));
        if (code != PS_OK && (ends_all || code == PS_NOMEM || code == PS_BUSY)) {
            bool is_of_question = code == PS_USAGE || code == PS_BUSY;
            if (!analysis->hidden && !is_of_question) {
                ps_err_prefix(&local, "%s", analysis->name);
            }
            if (err != NULL) {
                *err = local;
            }
            return code;
        }
        if (code != PS_OK) {
            end_analysis(s, a, &local);
        }
        if (code != PS_OK || s->round + 1 == analysis->n_rounds) {
            forget_partials(s, a);
        }
    }
    return PS_OK;
}

/* Lists of all ranks and tables are large, and stay. */
static ps_code reduce_round(ps_session *s, ps_err *err) {
    bool before = ps_spill_keep(true);
    s->job_skew = ps_job_skew_new();
    ps_code code = s->job_skew != NULL ? reduce_all(s, err) : ps_fail_nomem(err);
    ps_job_skew_free(s->job_skew);
    s->job_skew = NULL;
    (void)ps_spill_keep(before);
    return code;
}

/* Of this round. */
static ps_code move_partials(const ps_session *s, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t a = 0; s->opts->moving != NULL && a < s->run->n_analyses; a++) {
        bool has_round = s->round < s->analyses[a]->n_rounds;
        for (size_t r = 0; code == PS_OK && has_round && r < s->run->n_ranks; r++) {
            code = s->opts->moving(s->opts->moving_context, s->analyses[a], s->analyses[a]->archive,
                                   &s->partials[a][r], err);
        }
    }
    return code;
}

static ps_code move_shared(const ps_session *s, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t a = 0; s->opts->moving != NULL && code == PS_OK && a < s->run->n_analyses; a++) {
        if (s->shared[a] != NULL) {
            code = s->opts->moving(s->opts->moving_context, s->analyses[a],
                                   s->analyses[a]->archive_shared, &s->shared[a], err);
        }
    }
    return code;
}

bool ps_session_any_needs_trace(const ps_session *s) {
    bool any = false;
    for (size_t r = 0; r < s->run->n_ranks; r++) {
        any = any || ps_session_needs_trace(s, r);
    }
    return any;
}

/* The maps of this round. */
static ps_code map_round(ps_session *s, bool *waits, ps_err *err) {
    static ps_engine THREADS = {.map = map_on_threads};
    static ps_engine SHARDS = {.map = ps_shards_map};
    ps_engine *engine = s->opts->work == PS_RUN_REDUCE ? &SHARDS
                        : s->opts->engine != NULL      ? s->opts->engine
                                                       : &THREADS;
    ps_session_begin_round(s);
    return engine->map(engine, s, waits, err);
}

/* A step that no rank has is a wrong number, not a result without rows. What could not be read may have it. */
static ps_code refuse_absent_step(const ps_session *s, ps_err *err) {
    const ps_run *run = s->run;
    bool is_absent = run->n_ranks > 0 && ps_diag_n_errors(&s->cluster->diag) == 0;
    for (size_t r = 0; is_absent && r < run->n_ranks; r++) {
        const ps_rank_report *report = &run->ranks[r];
        is_absent = report->no_step[0] != '\0' && report->diag.counts[PS_ODD_TRUNCATED] == 0;
    }
    if (!is_absent) {
        return PS_OK;
    }
    bool is_alike = true;
    for (size_t r = 1; r < run->n_ranks; r++) {
        is_alike = is_alike && strcmp(run->ranks[r].no_step, run->ranks[0].no_step) == 0;
    }
    const char *whose = is_alike ? "" : " (of the first rank; others have other steps)";
    return ps_fail(err, PS_USAGE, "%s%s", run->ranks[0].no_step, whose);
}

static ps_code run_rounds(ps_session *s, ps_err *err) {
    for (s->round = 0; s->round < s->n_rounds; s->round++) {
        bool waits = false;
        ps_code code = map_round(s, &waits, err);
        if (code != PS_OK || waits) {
            return code;
        }
        code = s->round == 0 ? refuse_absent_step(s, err) : PS_OK;
        code = code == PS_OK ? move_partials(s, err) : code;
        code = code == PS_OK ? reduce_round(s, err) : code;
        code = code == PS_OK ? move_shared(s, err) : code;
        if (code != PS_OK) {
            return code;
        }
    }
    return PS_OK;
}

static ps_code run_shard(ps_session *s, ps_err *err) {
    ps_code code = ps_shard_begin(s, err);
    return code == PS_OK ? ps_shard_map(s, err) : code;
}

size_t ps_run_n_reading_rounds(const ps_analysis *const *analyses, size_t n_analyses,
                               bool in_full) {
    size_t n = 0;
    for (size_t round = 0, is_there = 1; is_there != 0; round++) {
        uint32_t needs = 0;
        is_there = 0;
        for (size_t a = 0; a < n_analyses; a++) {
            if (round < analyses[a]->n_rounds) {
                is_there = 1;
                needs |= analyses[a]->rounds[round].needs |
                         (in_full ? analyses[a]->rounds[round].needs_in_full : 0);
            }
        }
        n += needs != 0;
    }
    return n;
}

/* --- output -------------------------------------------------------------------------------------------------- */

static void refuse_ranks(ps_session *s) {
    for (size_t r = 0; r < s->run->n_ranks; r++) {
        ps_rank_report *report = &s->run->ranks[r];
        if (is_refused(s, r) && report->status == PS_RANK_DONE) {
            uint64_t n = ps_diag_n_fatal(&report->diag);
            report->status = PS_RANK_FAILED;
            (void)ps_fail_file(&report->err, PS_SYNTAX, report->rank->path,
                               "%llu counted error%s (--strict makes %s fatal)",
                               (unsigned long long)n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
        }
    }
}

static void count_parts(ps_session *s) {
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        size_t n = 0;
        for (size_t r = 0; s->run->errors[a].code == PS_OK && r < s->run->n_ranks; r++) {
            n += s->took_part[a][r] && s->run->ranks[r].status != PS_RANK_FAILED;
        }
        s->run->n_took_part[a] = n;
    }
}

/* Also of an analysis that no rank had anything for: it may take a stale table away. A rank that failed, in a later round too, gets none of
 * its rows: some would look like all. */
static ps_code gather_run(ps_session *s, size_t a, ps_err *err) {
    const ps_result *result = &s->run->results[a];
    for (size_t i = 0; i < result->n_tables; i++) {
        const ps_table *t = result->tables[i];
        if (t->home != PS_HOME_RANK || is_refused(s, t->rank_index) ||
            (t->n_rows > 0 && s->run->ranks[t->rank_index].status == PS_RANK_FAILED)) {
            continue;
        }
        ps_rank_output *out = &s->outputs[t->rank_index];
        if (!ps_grow(&out->tables, &out->cap_tables, out->n_tables + 1, 1 << 20,
                     sizeof(ps_table *))) {
            return ps_fail_nomem(err);
        }
        out->tables[out->n_tables++] = t;
    }
    return PS_OK;
}

static void forget_tables(ps_session *s) {
    for (size_t r = 0; r < s->run->n_ranks; r++) {
        s->outputs[r].n_tables = 0;
    }
}

typedef ps_code output_fn(ps_run *run, const ps_cluster *cluster, const ps_rank_output *outputs,
                          const char *folder, bool in_place, const ps_run_opts *opts, ps_err *err);

/* Tables for the ranks' own databases go in one transaction a rank, whichever analyses made them; an analysis
 * that works on copies, or a file export, gets its own folder. The copies come first, while the databases are still
 * those that were read. */
static ps_code each_output(ps_session *s, output_fn *fn, ps_err *err) {
    ps_code code = PS_OK;
    bool in_place = false;
    bool files = s->opts->export_type != PS_EXPORT_DB;
    for (size_t a = 0; code == PS_OK && a < s->run->n_analyses; a++) {
        if (!files && s->analyses[a]->writes == PS_WRITES_RANK_DB) {
            in_place = true;
            continue;
        }
        forget_tables(s);
        code = gather_run(s, a, err);
        if (code == PS_OK) {
            code = fn(s->run, s->cluster, s->outputs, s->analyses[a]->folder, false, s->opts, err);
        }
    }
    forget_tables(s);
    for (size_t a = 0; code == PS_OK && in_place && a < s->run->n_analyses; a++) {
        code = s->analyses[a]->writes == PS_WRITES_RANK_DB ? gather_run(s, a, err) : PS_OK;
    }
    if (code == PS_OK && in_place) {
        code = fn(s->run, s->cluster, s->outputs, NULL, true, s->opts, err);
    }
    return code;
}

/* All is checked before the first byte is written. */
static ps_code write_outputs(ps_session *s, ps_err *err) {
    if (s->opts->read_all != NULL) {
        s->opts->read_all(s->opts->progress_context);
    }
    ps_code code = each_output(s, ps_check_rank_outputs, err);
    code = code == PS_OK ? ps_plan_cluster_tables(s->run, s->analyses, s->cluster, s->opts, err)
                         : code;
    code = code == PS_OK ? ps_write_cluster_tables(s->run, s->opts, err) : code;
    return code == PS_OK ? each_output(s, ps_write_rank_outputs, err) : code;
}

/* --- setting up ---------------------------------------------------------------------------------------------- */

/* Without a directory of its own the file stands for the rank. */
static const char *dir_below_root(const ps_cluster *cluster, const ps_cluster_rank *rank) {
    size_t n = strlen(cluster->root);
    if (rank->rank_dir == NULL || strncmp(rank->rank_dir, cluster->root, n) != 0) {
        return rank->rel_path;
    }
    const char *rest = rank->rank_dir + n;
    while (*rest == '/') {
        rest++;
    }
    return *rest != '\0' ? rest : ".";
}

bool ps_session_init(ps_session *s, const ps_cluster_rank *const *ranks, size_t n_ranks,
                     size_t n_analyses) {
    for (size_t a = 0; a < n_analyses; a++) {
        s->n_rounds =
            s->analyses[a]->n_rounds > s->n_rounds ? s->analyses[a]->n_rounds : s->n_rounds;
    }
    s->n_own = n_ranks;
    s->run = ps_calloc(1, sizeof *s->run);
    if (s->run == NULL) {
        return false;
    }
    s->run->ranks = ps_calloc(n_ranks, sizeof *s->run->ranks);
    s->run->results = ps_calloc(n_analyses, sizeof *s->run->results);
    s->run->errors = ps_calloc(n_analyses, sizeof *s->run->errors);
    s->run->n_took_part = ps_calloc(n_analyses, sizeof *s->run->n_took_part);
    s->infos = ps_calloc(n_ranks, sizeof *s->infos);
    s->diags = ps_calloc(n_ranks, sizeof *s->diags);
    s->unsaid = ps_calloc(n_ranks + 1, sizeof *s->unsaid);
    s->outputs = ps_calloc(n_ranks, sizeof *s->outputs);
    s->partials = ps_calloc(n_analyses, sizeof *s->partials);
    s->replaced = ps_calloc(n_analyses, sizeof *s->replaced);
    s->took_part = ps_calloc(n_analyses, sizeof *s->took_part);
    s->shared = ps_calloc(n_analyses, sizeof *s->shared);
    s->opts_of = ps_calloc(n_analyses, sizeof *s->opts_of);
    s->seeing = ps_calloc(n_analyses, sizeof *s->seeing);
    s->seeing_at = ps_calloc(n_analyses, sizeof *s->seeing_at);
    bool ok = s->run->ranks != NULL && s->run->results != NULL && s->run->errors != NULL &&
              s->run->n_took_part != NULL && s->took_part != NULL && s->infos != NULL &&
              s->diags != NULL && s->unsaid != NULL && s->outputs != NULL && s->partials != NULL &&
              s->replaced != NULL && s->shared != NULL && s->opts_of != NULL && s->seeing != NULL &&
              s->seeing_at != NULL;
    s->run->n_ranks = ok ? n_ranks : 0;
    s->run->n_analyses = ok ? n_analyses : 0;
    s->run->n_makers = s->opts->n_makers;
    ps_diag *unsaid = ok ? ps_calloc(1, sizeof *unsaid) : NULL;
    ok = unsaid != NULL;
    if (ok) {
        s->unsaid[0] = unsaid; /* owns it, also without ranks */
    }
    for (size_t a = 0; ok && a < n_analyses; a++) {
        /* Maps see that there is one, also where another process has it. */
        static const ps_result SOMEWHERE_ELSE;
        s->opts_of[a] = s->opts->analysis;
        s->opts_of[a].baseline = s->opts->baseline_path != NULL ? &SOMEWHERE_ELSE : NULL;
        s->partials[a] = ps_calloc(n_ranks, sizeof **s->partials);
        s->took_part[a] = ps_calloc(n_ranks, sizeof **s->took_part);
        s->replaced[a] = ps_calloc(n_ranks * s->n_rounds + 1, sizeof **s->replaced);
        ok = s->partials[a] != NULL && s->took_part[a] != NULL && s->replaced[a] != NULL;
    }
    for (size_t r = 0; ok && r < n_ranks; r++) {
        s->run->ranks[r].rank = ranks[r];
        s->infos[r] = (ps_rank_info){.rank = ranks[r]->rank,
                                     .machine = ranks[r]->machine,
                                     .names_ops = ps_cluster_names_ops(ranks[r]),
                                     .profiler = ps_cluster_profiler(ranks[r]),
                                     .dir = dir_below_root(s->cluster, ranks[r])};
        s->diags[r] = &s->run->ranks[r].diag;
        s->unsaid[r] = unsaid;
        s->run->ranks[r].missing = ps_calloc(n_analyses, sizeof(char *));
        ok = s->run->ranks[r].missing != NULL;
    }
    return ok;
}

static void free_replaced(ps_session *s, size_t a) {
    size_t n = s->replaced != NULL && s->replaced[a] != NULL ? s->run->n_ranks * s->n_rounds : 0;
    for (size_t i = 0; i < n; i++) {
        s->analyses[a]->free_partial(s->replaced[a][i]);
    }
    if (s->replaced != NULL) {
        ps_free(s->replaced[a]);
    }
}

void ps_session_fini(ps_session *s) {
    for (size_t a = 0; s->run != NULL && a < s->run->n_analyses; a++) {
        forget_partials(s, a);
        free_replaced(s, a);
        ps_free(s->partials[a]);
        ps_free(s->took_part[a]);
        if (s->analyses[a]->free_shared != NULL) {
            s->analyses[a]->free_shared(s->shared[a]);
        }
    }
    for (size_t r = 0; s->run != NULL && s->outputs != NULL && r < s->run->n_ranks; r++) {
        ps_free(s->outputs[r].tables);
    }
    ps_buf_fini(&s->program_key);
    ps_buf_fini(&s->round_key);
    ps_budget_fini(&s->memory);
    ps_free(s->rank_bytes);
    ps_free(s->infos);
    ps_free(s->diags);
    ps_free(s->unsaid != NULL ? s->unsaid[0] : NULL);
    ps_free(s->unsaid);
    ps_free(s->outputs);
    ps_free(s->partials);
    ps_free(s->replaced);
    ps_free(s->took_part);
    ps_free(s->shared);
    ps_free(s->opts_of);
    ps_free(s->seeing);
    ps_free(s->seeing_at);
}

ps_code ps_session_budget(ps_session *s, ps_err *err) {
    uint32_t needs = 0;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        for (size_t i = 0; i < s->analyses[a]->n_rounds; i++) {
            const ps_round *round = &s->analyses[a]->rounds[i];
            needs |= round->needs | (s->opts->analysis.in_full ? round->needs_in_full : 0);
        }
    }
    ps_code code = ps_budget_init(&s->memory, s->opts->memory_bytes, err);
    s->rank_bytes = code == PS_OK ? ps_ranks_bytes(s->cluster, needs) : NULL;
    s->all_needs = needs;
    return code == PS_OK && s->rank_bytes == NULL ? ps_fail_nomem(err) : code;
}

/* A run that reads all ranks is refused at the start when one of them does not fit. With a cache, and in a shard, nobody knows yet which are
 * read: those that do not fit fail then. */
static ps_code check_budget(const ps_session *s, ps_err *err) {
    ps_code code = PS_OK;
    bool reads_all =
        s->all_needs != 0 && s->opts->work == PS_RUN_WHOLE && s->opts->cache_dir == NULL;
    for (size_t r = 0; reads_all && code == PS_OK && r < s->run->n_ranks; r++) {
        code = ps_budget_check(&s->memory, s->run->ranks[r].rank, bytes_of_rank(s, r), err);
    }
    return code;
}

static void count_statuses(ps_run *run) {
    for (size_t r = 0; r < run->n_ranks; r++) {
        const ps_rank_report *report = &run->ranks[r];
        run->n_done += report->status == PS_RANK_DONE;
        run->n_nothing += report->status == PS_RANK_NOTHING;
        run->n_failed += report->status == PS_RANK_FAILED;
    }
}

ps_run *ps_run_analyses(const ps_analysis *const *analyses, size_t n_analyses,
                        const ps_cluster *cluster, const ps_cluster_rank *const *ranks,
                        size_t n_ranks, const ps_run_opts *opts, ps_err *err) {
    ps_session s = {.cluster = cluster, .analyses = analyses, .opts = opts};
    ps_code code = ps_session_init(&s, ranks, n_ranks, n_analyses) ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? ps_session_budget(&s, err) : code;
    code = code == PS_OK ? check_budget(&s, err) : code;
    ps_baseline baseline = {0};
    if (code == PS_OK && opts->baseline_path != NULL && opts->work != PS_RUN_SHARD) {
        code = ps_baseline_run(&baseline, analyses, n_analyses, opts, err);
        for (size_t a = 0; code == PS_OK && a < n_analyses; a++) {
            s.opts_of[a].baseline = ps_baseline_of(&baseline, analyses[a]);
        }
    }
    if (code == PS_OK && (opts->cache_dir != NULL || opts->partials_dir != NULL)) {
        code = ps_program_key_add(&s.program_key, err);
    }
    if (code == PS_OK && opts->cache_dir != NULL) {
        s.cache = ps_run_cache_open(opts->cache_dir, opts->cache_max_bytes, err);
        code = s.cache != NULL ? PS_OK : err != NULL ? err->code : PS_IO;
    }
    if (code == PS_OK) {
        code = opts->work == PS_RUN_SHARD ? run_shard(&s, err) : run_rounds(&s, err);
    }
    ps_run_cache_close(s.cache);
    if (code == PS_OK) {
        refuse_ranks(&s);
        count_parts(&s);
        s.run->baseline = baseline.run; /* what was odd in it is part of the account */
        s.run->baseline_cluster = baseline.cluster;
        baseline.run = NULL;
        baseline.cluster = NULL;
        code = ps_run_note_lacks(s.run, analyses, cluster, opts, err);
    }
    if (code == PS_OK) {
        bool writes = opts->export_type != PS_EXPORT_NOTHING && s.run->unfinished_round == 0;
        code = writes ? write_outputs(&s, err) : PS_OK;
    }
    ps_run *run = s.run;
    if (run != NULL) {
        run->n_at_once = s.memory.n_most_in_flight;
    }
    ps_session_fini(&s);
    ps_baseline_free(&baseline);
    if (code != PS_OK) {
        ps_run_free(run);
        return NULL;
    }
    count_statuses(run);
    return run;
}

ps_run *ps_run_listed_ranks(const ps_analysis *const *analyses, size_t n_analyses,
                            const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    ps_rank_selection listed;
    char name[32];
    (void)snprintf(name, sizeof name, "%s%s", opts->dashes != NULL ? opts->dashes : "",
                   opts->rank_list_name != NULL ? opts->rank_list_name : "rank_list");
    ps_code code = ps_rank_selection_init(&listed, cluster, opts->rank_list, name, err);
    code = code == PS_OK ? ps_rank_selection_check(&listed, cluster, err) : code;
    ps_run *run = code == PS_OK ? ps_run_analyses(analyses, n_analyses, cluster, listed.ranks,
                                                  listed.n, opts, err)
                                : NULL;
    ps_rank_selection_fini(&listed);
    return run;
}

ps_run *ps_run_all_ranks(const ps_analysis *const *analyses, size_t n_analyses,
                         const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    ps_run_opts all = *opts;
    all.rank_list = NULL;
    return ps_run_listed_ranks(analyses, n_analyses, cluster, &all, err);
}

void ps_run_free(ps_run *run) {
    if (run != NULL) {
        ps_run_free(run->baseline);
        ps_cluster_free(run->baseline_cluster);
        ps_table_free(run->lacks);
        for (size_t a = 0; run->lacks_of != NULL && a < run->n_analyses; a++) {
            ps_table_free(run->lacks_of[a]);
        }
        ps_free(run->lacks_of);
        for (size_t a = 0; a < run->n_analyses; a++) {
            ps_result_fini(&run->results[a]);
        }
        for (size_t r = 0; r < run->n_ranks; r++) {
            for (size_t a = 0; run->ranks[r].missing != NULL && a < run->n_analyses; a++) {
                ps_free(run->ranks[r].missing[a]);
            }
            ps_free(run->ranks[r].missing);
        }
        ps_free(run->results);
        ps_free(run->errors);
        ps_free(run->n_took_part);
        ps_free(run->ranks);
        ps_free(run->written);
        ps_free(run->notes);
        ps_arena_fini(&run->arena);
        ps_free(run);
    }
}

const char *ps_run_first_reason(ps_lang lang, const ps_run *run) {
    for (size_t r = 0; r < run->n_ranks; r++) {
        if (run->ranks[r].err.msg[0] != '\0') {
            return ps_err_text(lang, &run->ranks[r].err);
        }
    }
    return NULL;
}
