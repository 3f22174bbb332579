#include "cli/rank_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/fs.h"
#include "base/json_write.h"
#include "base/num.h"
#include "cli/record_folders.h"
#include "write/chart/chart_note.h"
#include "write/out/sink.h"
#include "write/out/writers.h"

static void report_oddities(const ps_cli *cli, const ps_diag *d, int but) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0 || k == but) {
            continue;
        }
        bool is_info = ps_oddity_severity((ps_oddity)k) == PS_SEV_INFO;
        ps_buf line = {0};
        ps_diag_say(cli->lang, d, (ps_oddity)k, &line);
        if (is_info) {
            ps_cli_note(cli, "%s", ps_buf_str(&line));
        } else {
            ps_cli_warn(cli, "%s", ps_buf_str(&line));
        }
        ps_buf_fini(&line);
    }
}

void ps_report_oddities(const ps_cli *cli, const ps_diag *d) {
    report_oddities(cli, d, -1);
}

/* A recording whose database nobody has written yet is no profile, and would be missed in silence: says so, and how it
 * becomes one. */
static bool report_raw(const ps_cli *cli, const char *dir) {
    size_t n_left, n_running;
    ps_recorded_count_raw(dir, &n_left, &n_running);
    if (n_left > 0) {
        ps_cli_warn(
            cli,
            PS_SAY(
                cli->lang,
                "%s: raw files of %zu process%s that ended without writing a database: pipescope record --recover %s",
                "%s：有 %zu 个进程%.0s的原始文件未写成数据库：pipescope record --recover %s"),
            dir, n_left, n_left == 1 ? "" : "es", dir);
    }
    if (n_running > 0) {
        ps_cli_warn(cli,
                    PS_SAY(cli->lang,
                           "%s: %zu process%s still being recorded: the database comes at the end",
                           "%s：%zu 个进程%.0s仍在录制：数据库在结束时写出"),
                    dir, n_running, n_running == 1 ? " is" : "es are");
    }
    return n_left + n_running > 0;
}

/* A choice between profiles comes first, since all that follows depends on it. */
void ps_report_cluster(const ps_cli *cli, const ps_cluster *cluster) {
    const char *left_out = cluster->left_out.in[cli->lang];
    if (left_out != NULL) {
        ps_cli_warn(cli, "%s", left_out);
    }
    for (size_t i = 0; i < cluster->n_notes; i++) {
        ps_cli_note(cli, "%s", cluster->notes[i].in[cli->lang]);
    }
    if (cluster->n_ranks > 0) {
        (void)report_raw(cli, cluster->path);
    }
    report_oddities(cli, &cluster->diag, left_out != NULL ? PS_ODD_RANK_DUPLICATE : -1);
}

const char *ps_cli_who(const ps_cluster_rank *rank, char out[PS_WHO_TEXT]) {
    if (rank->rank >= 0) {
        (void)snprintf(out, PS_WHO_TEXT, "rank %s", PS_RANK(rank->rank));
    } else {
        (void)snprintf(out, PS_WHO_TEXT, "%.*s", PS_WHO_TEXT - 1, ps_path_base(rank->path));
    }
    return out;
}

static void report_rank(const ps_cli *cli, const ps_rank_report *r) {
    char text[1024];
    char who[PS_WHO_TEXT];
    ps_err_say(cli->lang, &r->err, text, sizeof text);
    const char *where = r->err.file[0] == '\0' ? r->rank->path : "";
    bool is_named = r->rank->rank >= 0 || where[0] == '\0'; /* else the path does */
    ps_cli_warn(cli, "%s%s%s%s%s", is_named ? ps_cli_who(r->rank, who) : "", is_named ? ": " : "",
                where, where[0] != '\0' ? ": " : "", text);
}

static void report_all_oddities(const ps_cli *cli, const ps_run *run) {
    ps_diag *all = ps_calloc(1, sizeof *all);
    if (all == NULL) {
        return;
    }
    for (size_t r = 0; r < run->n_ranks; r++) {
        char who[PS_WHO_TEXT];
        ps_diag_merge(all, &run->ranks[r].diag, ps_cli_who(run->ranks[r].rank, who));
    }
    ps_report_oddities(cli, all);
    ps_free(all);
}

/* --- sentences that ranks share ------------------------------------------------------------------------------ */

enum { MAX_NAMED = 4, MAX_SENTENCES = 8, MAX_NUMBERS = 16 };

/* The length of the number that stands here alone, 0: "16 operators" and "34 %", not "profiler_0.db" or "0.5". */
static size_t number_at(const char *text, const char *at) {
    if (*at < '0' || *at > '9') {
        return 0;
    }
    size_t n = strspn(at, "0123456789");
    bool begins = at == text || strchr(" (", at[-1]) != NULL;
    bool ends = strchr(" ,;:)%", at[n]) != NULL; /* or the text's end */
    return begins && ends && n < 19 ? n : 0;
}

/* Whether two sentences tell of one cause: they differ in nothing but numbers. Mostly not even in those. */
static bool is_same_cause(const char *one, const char *other) {
    if (strcmp(one, other) == 0) {
        return true;
    }
    const char *a = one;
    const char *b = other;
    while (*a != '\0' && *b != '\0') {
        size_t n_a = number_at(one, a);
        size_t n_b = number_at(other, b);
        if (n_a == 0 && n_b == 0 && *a != *b) {
            return false;
        }
        if ((n_a == 0) != (n_b == 0)) {
            return false;
        }
        a += n_a > 0 ? n_a : 1;
        b += n_b > 0 ? n_b : 1;
    }
    return *a == *b;
}

/* The least and the largest of each number of a sentence over the ranks that say the same. */
typedef struct number_span {
    uint64_t least, largest;
} number_span;

static void rank_report_widen(number_span *spans, const char *sentence) {
    size_t k = 0;
    for (const char *at = sentence; *at != '\0' && k < MAX_NUMBERS;) {
        size_t n = number_at(sentence, at);
        if (n > 0) {
            uint64_t number = strtoull(at, NULL, 10);
            spans[k].least = number < spans[k].least ? number : spans[k].least;
            spans[k].largest = number > spans[k].largest ? number : spans[k].largest;
            k++;
        }
        at += n > 0 ? n : 1;
    }
}

/* The sentence of rank `first`; where others of the same cause have other numbers, "16 to 32" in place of one. */
static void add_rank_report_sentence(ps_lang lang, ps_buf *out, const ps_run *run, size_t a,
                                     size_t first) {
    const char *sentence = run->ranks[first].missing[a];
    number_span spans[MAX_NUMBERS];
    for (size_t i = 0; i < MAX_NUMBERS; i++) {
        spans[i] = (number_span){UINT64_MAX, 0};
    }
    for (size_t r = first; r < run->n_ranks; r++) {
        const char *other = run->ranks[r].missing[a];
        if (other != NULL && is_same_cause(other, sentence)) {
            rank_report_widen(spans, other);
        }
    }
    size_t k = 0;
    for (const char *at = sentence; *at != '\0';) {
        size_t n = number_at(sentence, at);
        const number_span *span = n > 0 && k < MAX_NUMBERS ? &spans[k++] : NULL;
        if (span != NULL && span->least < span->largest) {
            ps_buf_addf(out, PS_SAY(lang, "%llu to %llu", "%llu 至 %llu"),
                        (unsigned long long)span->least, (unsigned long long)span->largest);
        } else {
            ps_buf_add(out, at, n > 0 ? n : 1);
        }
        at += n > 0 ? n : 1;
    }
}

/* "rank 3", "all 8 ranks", "5 of 8 ranks (0, 1, 2, 3, ...)" for those whose sentence is that of rank `first`. Returns
 * how many they are. */
static size_t name_ranks(ps_lang lang, ps_buf *out, const ps_run *run, size_t a, size_t first) {
    const char *sentence = run->ranks[first].missing[a];
    ps_buf names = {0};
    size_t n = 0;
    for (size_t r = first; r < run->n_ranks; r++) {
        const char *other = run->ranks[r].missing[a];
        if (other == NULL || !is_same_cause(other, sentence)) {
            continue;
        }
        if (n < MAX_NAMED) {
            ps_buf_addf(&names, "%s%s", n > 0 ? ", " : "", PS_RANK(run->ranks[r].rank->rank));
        }
        n++;
    }
    if (n == 1) {
        char who[PS_WHO_TEXT];
        ps_buf_add_str(out, ps_cli_who(run->ranks[first].rank, who));
    } else if (n == run->n_ranks) {
        ps_buf_addf(out, PS_SAY(lang, "all %zu ranks", "全部 %zu 个 rank"), n);
    } else {
        ps_buf_addf(out, PS_SAY(lang, "%zu of %zu ranks (%s%s)", "%zu/%zu 个 rank（%s%s）"), n,
                    run->n_ranks, ps_buf_str(&names), n > MAX_NAMED ? ", ..." : "");
    }
    ps_buf_fini(&names);
    return n;
}

static bool was_said(const ps_run *run, size_t a, size_t r) {
    for (size_t k = 0; k < r; k++) {
        const char *earlier = run->ranks[k].missing[a];
        if (earlier != NULL && is_same_cause(earlier, run->ranks[r].missing[a])) {
            return true;
        }
    }
    return false;
}

/* Ranks that lack the same, in a single mode. */
typedef struct cause_group {
    size_t first, n; /* its first rank; how many they are */
} cause_group;

typedef struct cause_groups {
    cause_group *all;
    size_t n, cap;
} cause_groups;

/* Each cause is counted once, however many ranks have it. NULL when memory is out. */
static const cause_group *group_of_cause(ps_lang lang, cause_groups *groups, const ps_run *run,
                                         size_t r, ps_buf *who) {
    size_t a = run->n_makers; /* the single one */
    for (size_t i = 0; i < groups->n; i++) {
        const char *known = run->ranks[groups->all[i].first].missing[a];
        if (is_same_cause(known, run->ranks[r].missing[a])) {
            return &groups->all[i];
        }
    }
    if (!ps_grow(&groups->all, &groups->cap, groups->n + 1, SIZE_MAX / sizeof *groups->all,
                 sizeof *groups->all)) {
        return NULL;
    }
    groups->all[groups->n] = (cause_group){.first = r, .n = name_ranks(lang, who, run, a, r)};
    return &groups->all[groups->n++];
}

/* A line each for few ranks, one for many that lack the same. */
static void report_nothing(const ps_cli *cli, const ps_run *run, size_t r, cause_groups *groups) {
    ps_buf who = {0};
    const cause_group *group = group_of_cause(cli->lang, groups, run, r, &who);
    if (group == NULL || group->n <= MAX_NAMED) {
        report_rank(cli, &run->ranks[r]);
    } else if (group->first == r) {
        ps_buf_add_str(&who, PS_SAY(cli->lang, ": ", "："));
        add_rank_report_sentence(cli->lang, &who, run, run->n_makers, r);
        ps_cli_warn(cli, "%s", ps_buf_str(&who));
    }
    ps_buf_fini(&who);
}

static void report_each(const ps_cli *cli, const ps_run *run) {
    cause_groups groups = {0};
    for (size_t r = 0; r < run->n_ranks; r++) {
        const ps_rank_report *report = &run->ranks[r];
        bool shares = report->status == PS_RANK_NOTHING && run->n_analyses - run->n_makers == 1 &&
                      report->missing[run->n_makers] != NULL;
        if (shares) {
            report_nothing(cli, run, r, &groups);
        } else if (report->err.code != PS_OK) {
            report_rank(cli, report);
        }
    }
    ps_free(groups.all);
    report_all_oddities(cli, run);
}

/* The same account of the baseline, after that of the input. */
static void report_baseline(const ps_cli *cli, const ps_run *run) {
    if (run->baseline != NULL) {
        ps_cli own = *cli;
        own.about = PS_SAY(cli->lang, "baseline: ", "基线：");
        ps_report_cluster(&own, run->baseline_cluster);
        report_each(&own, run->baseline);
    }
}

void ps_report_ranks(const ps_cli *cli, const ps_run *run) {
    report_each(cli, run);
    report_baseline(cli, run);
}

/* --- several modes ------------------------------------------------------------------------------------------- */

/* Whether mode `b` lacks what `a` lacks, in the same ranks, as far as the sentence of rank `first` goes. */
static bool lacks_the_same(const ps_run *run, size_t a, size_t b, size_t first) {
    const char *sentence = run->ranks[first].missing[a];
    for (size_t r = 0; r < run->n_ranks; r++) {
        const char *x = run->ranks[r].missing[a];
        const char *y = run->ranks[r].missing[b];
        if ((x != NULL && is_same_cause(x, sentence)) !=
            (y != NULL && is_same_cause(y, sentence))) {
            return false;
        }
    }
    return true;
}

typedef struct modes {
    const ps_run *run;
    const ps_analysis *const *analyses;
    const bool *optional; /* or NULL */
} modes;

static bool is_optional(const modes *m, size_t a) {
    return m->optional != NULL && m->optional[a];
}

/* "slow_rank, hccl_sum": the mode and those after it that lack the same; false when one before it named it. */
static bool name_modes(ps_buf *out, const modes *m, size_t a, size_t r) {
    for (size_t b = 0; b < a; b++) {
        if (is_optional(m, a) == is_optional(m, b) && lacks_the_same(m->run, a, b, r)) {
            return false;
        }
    }
    ps_buf_add_str(out, m->analyses[a]->name);
    for (size_t b = a + 1; b < m->run->n_analyses; b++) {
        if (is_optional(m, a) == is_optional(m, b) && lacks_the_same(m->run, a, b, r)) {
            ps_buf_addf(out, ", %s", m->analyses[b]->name);
        }
    }
    return true;
}

static void report_missing(const ps_cli *cli, const modes *m, size_t a) {
    const ps_run *run = m->run;
    size_t n_sentences = 0;
    for (size_t r = 0; r < run->n_ranks && n_sentences <= MAX_SENTENCES; r++) {
        if (run->ranks[r].missing[a] == NULL || was_said(run, a, r)) {
            continue;
        }
        ps_buf line = {0};
        bool is_news = true;
        if (n_sentences++ == MAX_SENTENCES) {
            ps_buf_addf(
                &line,
                PS_SAY(
                    cli->lang,
                    "%s: further ranks have nothing for it for other reasons (see --json-summary)",
                    "%s：其余 rank 因其他原因没有此类内容（见 --json-summary）"),
                m->analyses[a]->name);
        } else if ((is_news = name_modes(&line, m, a, r))) {
            ps_buf_add_str(&line, PS_SAY(cli->lang, ": ", "："));
            (void)name_ranks(cli->lang, &line, run, a, r);
            ps_buf_add_str(&line, PS_SAY(cli->lang, ": ", "："));
            add_rank_report_sentence(cli->lang, &line, run, a, r);
        }
        if (is_news && is_optional(m, a)) {
            ps_cli_note(cli, "%s", ps_buf_str(&line));
        } else if (is_news) {
            ps_cli_warn(cli, "%s", ps_buf_str(&line));
        }
        ps_buf_fini(&line);
    }
}

static bool is_failure(const ps_err *err) {
    return err->code != PS_OK && err->code != PS_NOTHING;
}

static bool says_the_same(const ps_err *a, const ps_err *b) {
    char x[1024];
    char y[1024];
    ps_err_format(a, x, sizeof x);
    ps_err_format(b, y, sizeof y);
    return is_failure(a) && is_failure(b) && strcmp(x, y) == 0;
}

/* One sentence for all analyses that failed for the same reason; none for the reason that was `said`. */
static void report_failure(const ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses,
                           size_t a, const ps_err *said) {
    const ps_err *err = &run->errors[a];
    bool is_news = is_failure(err) && (said == NULL || !says_the_same(err, said));
    for (size_t b = 0; is_news && b < a; b++) {
        is_news = !says_the_same(&run->errors[b], err);
    }
    if (!is_news) {
        return;
    }
    ps_buf line = {0};
    for (size_t b = a; b < run->n_analyses; b++) {
        if (says_the_same(&run->errors[b], err)) {
            ps_buf_addf(&line, "%s%s", b > a ? ", " : "", analyses[b]->name);
        }
    }
    char text[1024];
    ps_err_say(cli->lang, err, text, sizeof text);
    ps_cli_warn(cli, PS_SAY(cli->lang, "%s: %s", "%s：%s"), ps_buf_str(&line), text);
    ps_buf_fini(&line);
}

void ps_report_modes(const ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses,
                     const bool *optional, const ps_err *said) {
    for (size_t r = 0; r < run->n_ranks; r++) {
        if (run->ranks[r].status == PS_RANK_FAILED) {
            report_rank(cli, &run->ranks[r]);
        }
    }
    const modes m = {run, analyses, optional};
    for (size_t a = 0; a < run->n_analyses; a++) {
        report_failure(cli, run, analyses, a, said);
        report_missing(cli, &m, a);
    }
    report_all_oddities(cli, run);
    report_baseline(cli, run);
}

/* The search read everything, and every mode that was asked for had something to do for every rank. What any mode lacks
 * in a file that ends in the middle may be what was cut off. */
static bool is_whole(const ps_run *run, const ps_cluster *cluster, const bool *optional) {
    bool whole = ps_diag_n_errors(&cluster->diag) == 0;
    for (size_t a = run->n_makers; a < run->n_analyses; a++) {
        bool must = optional == NULL || !optional[a];
        for (size_t r = 0; r < run->n_ranks; r++) {
            bool is_cut = run->ranks[r].diag.counts[PS_ODD_TRUNCATED] > 0;
            whole = whole && (run->ranks[r].missing[a] == NULL || !(must || is_cut));
        }
    }
    return whole;
}

static int own_status(const ps_run *run, const ps_cluster *cluster, const bool *optional) {
    size_t n_failed = 0; /* analyses */
    for (size_t a = 0; a < run->n_analyses; a++) {
        n_failed += run->errors[a].code != PS_OK && run->errors[a].code != PS_NOTHING;
    }
    if (run->n_done == run->n_ranks && n_failed == 0) {
        return is_whole(run, cluster, optional) ? PS_EXIT_OK : PS_EXIT_PARTIAL;
    }
    if (run->n_nothing == run->n_ranks) {
        return PS_EXIT_NOTHING;
    }
    return run->n_done > 0 && n_failed < run->n_analyses ? PS_EXIT_PARTIAL : PS_EXIT_FAILED;
}

/* Ranks of the baseline that are missing make the comparison one in part. */
int ps_report_status(const ps_run *run, const ps_cluster *cluster, const bool *optional) {
    int status = own_status(run, cluster, optional);
    bool in_part = run->baseline != NULL &&
                   own_status(run->baseline, run->baseline_cluster, NULL) != PS_EXIT_OK;
    return status == PS_EXIT_OK && in_part ? PS_EXIT_PARTIAL : status;
}

/* A file that the user named, and that is no profile. */
static bool report_stranger(const ps_cli *cli, const ps_cluster *c) {
    if (c->no_profile.code != PS_OK) {
        (void)ps_cli_fail(cli, &c->no_profile);
    }
    return c->no_profile.code != PS_OK;
}

int ps_report_shown(const ps_run *run, const ps_cluster *cluster, const bool *optional, int shown) {
    int status = ps_report_status(run, cluster, optional);
    bool is_damaged = run->n_failed > 0 || ps_diag_n_errors(&cluster->diag) > 0;
    bool asks_more = shown == PS_EXIT_NOTHING || shown == PS_EXIT_USAGE;
    if (shown != PS_EXIT_OK) {
        return is_damaged && asks_more ? PS_EXIT_FAILED : shown;
    }
    return status == PS_EXIT_FAILED ? PS_EXIT_PARTIAL
                                    : status; /* ranks that failed in a part are shown without it */
}

int ps_report_end(ps_cli *cli, ps_run *run, const ps_cluster *cluster, int shown) {
    ps_report_ranks(cli, run);
    int status = ps_report_shown(run, cluster, NULL, shown);
    ps_run_free(run);
    return status;
}

int ps_report_no_ranks(const ps_cli *cli, const ps_cluster *c) {
    if (report_stranger(cli, c) || report_raw(cli, c->root)) {
        return PS_EXIT_NOTHING;
    }
    if (c->n_text_dirs > 0) {
        ps_cli_warn(
            cli,
            PS_SAY(
                cli->lang,
                "%s: %zu rank director%s text results only, and this mode reads databases: collect again with "
                "export_type db; pipescope chart and convert read every format",
                "%s：%zu 个 rank 目录%.0s只有文本结果，而该模式读取数据库：请以 export_type db 重新采集；"
                "pipescope chart 与 convert 能读取所有格式"),
            c->root, c->n_text_dirs, c->n_text_dirs == 1 ? "y holds" : "ies hold");
    } else {
        ps_cli_warn(
            cli,
            PS_SAY(
                cli->lang,
                "%s: no profiler database found (looked for ascend_*_profiler*.db and msmonitor_*.db), and this mode reads "
                "nothing else; pipescope chart and convert read every format",
                "%s：未找到采集数据库（查找 ascend_*_profiler*.db 与 msmonitor_*.db），而该模式不读取其他格式；"
                "pipescope chart 与 convert 能读取所有格式"),
            c->root);
    }
    return ps_diag_n_errors(&c->diag) == 0 ? PS_EXIT_NOTHING
                                           : PS_EXIT_FAILED; /* who knows what could not be read */
}

int ps_report_no_profile(const ps_cli *cli, const ps_cluster *c) {
    if (report_stranger(cli, c) || report_raw(cli, c->path)) {
        return PS_EXIT_NOTHING;
    }
    const char *instead = c->instead.in[cli->lang];
    ps_cli_warn(cli,
                PS_SAY(cli->lang, "%s: no profile found%s%s; see: pipescope formats",
                       "%s：未找到采集数据%s%s；参见：pipescope formats"),
                c->path, instead != NULL ? PS_SAY(cli->lang, ", but ", "，但有 ") : "",
                instead != NULL ? instead : "");
    return ps_diag_n_errors(&c->diag) == 0 ? PS_EXIT_NOTHING : PS_EXIT_FAILED;
}

/* The rows of one step without the column that says so. Texts stay with the original. NULL when memory is out. */
static ps_table *rows_of_step(const ps_table *t, int64_t step) {
    char title[256];
    (void)snprintf(title, sizeof title, "step %lld: %s", (long long)step, t->title);
    ps_table *out = ps_table_new(t->name, title, t->columns + 1, t->n_columns - 1);
    for (size_t r = 0; out != NULL && r < t->n_rows; r++) {
        if (ps_table_cell(t, r, 0)->u.i != step) {
            continue;
        }
        if (!ps_table_add_row(out)) {
            ps_table_free(out);
            return NULL;
        }
        memcpy(out->cells + (out->n_rows - 1) * out->n_columns, ps_table_cell(t, r, 1),
               out->n_columns * sizeof *out->cells);
    }
    return out;
}

/* More rows than this are for files. */
#define MAX_ROWS_SHOWN 64

static int put_some_rows(ps_cli *cli, const ps_table *t) {
    size_t n_more = 0;
    int status = ps_cli_put_many_rows(cli, t, MAX_ROWS_SHOWN, &n_more);
    if (n_more > 0) {
        ps_cli_print(
            cli,
            PS_SAY(
                cli->lang,
                "... and %zu more rows (chart --all shows them, cluster --export_type csv writes "
                "them)\n",
                "…… 另有 %zu 行（chart --all 显示，cluster --export_type csv 写出）\n"),
            n_more);
    }
    return status;
}

int ps_cli_put_step_rows(ps_cli *cli, const ps_table *t, int64_t step) {
    if (strcmp(t->columns[0].name, "step") != 0 || t->columns[0].type != PS_COL_INT) {
        return put_some_rows(cli, t);
    }
    ps_table *rows = rows_of_step(t, step);
    if (rows == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    int status = put_some_rows(cli, rows);
    ps_table_free(rows);
    return status;
}

int ps_cli_say_what_else(ps_cli *cli, const ps_chart *chart, int64_t step, int32_t pipeline) {
    ps_buf note = {0};
    ps_chart_note(chart, step, pipeline, &note);
    bool ok = ps_buf_ok(&note);
    if (ok) {
        ps_cli_print(cli, "%s", ps_buf_str(&note));
    }
    ps_buf_fini(&note);
    return ok ? PS_EXIT_OK : ps_cli_fail_nomem(cli);
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

/* null when there is none. */

static void add_oddity(ps_json *j, const ps_diag *d, ps_oddity k) {
    ps_json_name(j, ps_oddity_name(k), strlen(ps_oddity_name(k)));
    ps_json_object(j);
    ps_json_key_uint(j, "count", d->counts[k]);
    ps_json_key_str(j, "severity", ps_oddity_severity_name(k));
    ps_json_key_array(j, "places");
    for (int i = 0; i < PS_DIAG_PLACES && d->places[k][i][0] != '\0'; i++) {
        ps_json_str(j, d->places[k][i]);
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void add_diag(ps_json *j, const ps_diag *d) {
    ps_json_object(j);
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] > 0) {
            add_oddity(j, d, (ps_oddity)k);
        }
    }
    ps_json_close(j);
}

static void add_rank_report_rank(ps_lang lang, ps_json *j, const ps_rank_report *r) {
    static const char *const STATUSES[] = {"done", "nothing", "failed"};
    ps_json_line(j, 4);
    ps_json_object(j);
    ps_json_key_int(j, "rank", r->rank->rank);
    ps_json_key_str(j, "status", STATUSES[r->status]);
    ps_json_key_str(j, "profiler", ps_cluster_profiler(r->rank));
    ps_json_key_str(j, "input", r->rank->path);
    ps_json_key_str(j, "written", r->written);
    char text[1024] = "";
    ps_err_say(lang, &r->err, text, sizeof text);
    ps_json_key_str(j, "message", r->err.code != PS_OK ? text : NULL);
    ps_json_line(j, 5);
    ps_json_key(j, "oddities");
    add_diag(j, &r->diag);
    ps_json_close(j);
}

/* The tables of the cluster that were written, and what their files could not hold. */
static void add_rank_report_tables(ps_json *j, const ps_run *run,
                                   const ps_analysis *const *analyses) {
    ps_json_line(j, 2);
    ps_json_key_array(j, "tables");
    for (size_t i = 0; i < run->n_written; i++) {
        const ps_written *w = &run->written[i];
        ps_json_line(j, 4);
        ps_json_object(j);
        ps_json_key_str(j, "mode", analyses[w->analysis]->name);
        ps_json_key_str(j, "name", w->table->name);
        ps_json_key_uint(j, "rows", w->table->n_rows);
        ps_json_key_str(j, "path", w->path);
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_line(j, 2);
    ps_json_key_array(j, "notes");
    for (size_t i = 0; i < run->n_notes; i++) {
        ps_json_str(j, run->notes[i]);
    }
    ps_json_close(j);
}

/* What a mode lacks, with the ranks from `r` on that lack it for the same cause. */
static void add_lack(ps_lang lang, ps_json *j, const ps_run *run, const ps_analysis *analysis,
                     size_t a, size_t r) {
    ps_buf message = {0};
    add_rank_report_sentence(lang, &message, run, a, r);
    ps_json_line(j, 4);
    ps_json_object(j);
    ps_json_key_str(j, "mode", analysis->name);
    ps_json_key(j, "message");
    ps_json_text(j, &message);
    ps_buf_fini(&message);
    ps_json_key_array(j, "ranks");
    for (size_t k = r; k < run->n_ranks; k++) {
        const char *other = run->ranks[k].missing[a];
        if (other != NULL && (k == r || is_same_cause(other, run->ranks[r].missing[a]))) {
            ps_json_int(j, run->ranks[k].rank->rank);
        }
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void add_missing(ps_lang lang, ps_json *j, const ps_run *run,
                        const ps_analysis *const *analyses) {
    ps_json_line(j, 2);
    ps_json_key_array(j, "missing");
    for (size_t a = 0; a < run->n_analyses; a++) {
        for (size_t r = 0; r < run->n_ranks; r++) {
            if (run->ranks[r].missing[a] != NULL && !was_said(run, a, r)) {
                add_lack(lang, j, run, analyses[a], a, r);
            }
        }
    }
    ps_json_close(j);
    ps_json_line(j, 2);
    ps_json_key_array(j, "failed_modes");
    for (size_t a = 0; a < run->n_analyses; a++) {
        const ps_err *err = &run->errors[a];
        if (err->code != PS_OK && err->code != PS_NOTHING) {
            char text[1024];
            ps_err_format(err, text, sizeof text);
            ps_json_object(j);
            ps_json_key_str(j, "mode", analyses[a]->name);
            ps_json_key_str(j, "message", text);
            ps_json_close(j);
        }
    }
    ps_json_close(j);
}

static void add_counts(ps_json *j, const ps_run *run, const ps_cluster *cluster) {
    ps_json_key_uint(j, "done", run->n_done);
    ps_json_key_uint(j, "nothing", run->n_nothing);
    ps_json_key_uint(j, "failed", run->n_failed);
    ps_json_line(j, 2);
    ps_json_key(j, "search");
    add_diag(j, &cluster->diag);
}

static void add_rank_list(ps_lang lang, ps_json *j, const ps_run *run) {
    ps_json_key_array(j, "ranks");
    for (size_t r = 0; r < run->n_ranks; r++) {
        add_rank_report_rank(lang, j, &run->ranks[r]);
    }
    ps_json_line(j, 2);
    ps_json_close(j);
}

/* null when none of the modes compares. */
static void add_baseline(ps_lang lang, ps_json *j, const ps_run *run) {
    ps_json_line(j, 2);
    ps_json_key(j, "baseline");
    if (run->baseline == NULL) {
        ps_json_null(j);
        return;
    }
    ps_json_object(j);
    ps_json_key_str(j, "path", run->baseline_cluster->root);
    add_counts(j, run->baseline, run->baseline_cluster);
    add_rank_list(lang, j, run->baseline);
    ps_json_close(j);
}

ps_code ps_report_json(ps_cli *cli, const char *path, const ps_cluster *cluster, const ps_run *run,
                       const ps_analysis *const *analyses, int exit_status, ps_err *err) {
    ps_buf out = {0};
    ps_json j = ps_json_spaced_to(&out);
    ps_json_object(&j);
    ps_json_key_str(&j, "format", "pipescope-summary");
    ps_json_key_int(&j, "version", 1);
    ps_json_key_str(&j, "path", cluster->root);
    ps_json_key_int(&j, "exit_status", exit_status);
    ps_json_line(&j, 2);
    ps_json_key_array(&j, "modes");
    for (size_t a = 0; a < run->n_analyses; a++) {
        ps_json_str(&j, analyses[a]->name);
    }
    ps_json_close(&j);
    add_counts(&j, run, cluster);
    add_rank_report_tables(&j, run, analyses);
    add_missing(cli->lang, &j, run, analyses);
    add_baseline(cli->lang, &j, run);
    ps_json_line(&j, 2);
    add_rank_list(cli->lang, &j, run);
    ps_json_close(&j);
    ps_buf_add_char(&out, '\n');
    ps_code code = PS_OK;
    if (strcmp(path, "-") != 0) {
        code = ps_sink_store(path, &out, err);
    } else if (ps_buf_ok(&out)) {
        ps_cli_put(cli, ps_buf_str(&out), out.len);
    } else {
        code = ps_fail_nomem(err);
    }
    ps_buf_fini(&out);
    return code;
}
