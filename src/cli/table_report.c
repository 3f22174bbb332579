#include "cli/table_report.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cli/rank_report.h"

/* Of more analyses than a screen can show, only the list of what was written. */
enum { MAX_ROWS_SHOWN = 20, MAX_FILES_NAMED = 64, MAX_ANALYSES_SHOWN = 4 };

/* --- results ------------------------------------------------------------------------------------------------- */

/* Where the table was written, NULL when it was not. The same table of two modes is there once. */
static const char *table_report_place_of(const ps_run *run, const ps_table *t) {
    const char *same_name = NULL;
    for (size_t i = 0; i < run->n_written; i++) {
        const ps_table *other = run->written[i].table;
        if (other == t) {
            return run->written[i].path;
        }
        same_name = strcmp(other->name, t->name) == 0 ? run->written[i].path : same_name;
    }
    return same_name;
}

static int put_first_rows(ps_cli *cli, const ps_run *run, const ps_table *t) {
    size_t n_more = 0;
    int status = ps_cli_put_many_rows(cli, t, MAX_ROWS_SHOWN, &n_more);
    const char *place = table_report_place_of(run, t);
    if (n_more > 0 && place != NULL && ps_ends_with(place, ".db")) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "... and %zu more rows in the table %s\n",
                            "…… 另有 %zu 行，见表 %s\n"),
                     n_more, t->name);
    } else if (n_more > 0 && place != NULL) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "... and %zu more rows in %s\n", "…… 另有 %zu 行，见 %s\n"),
                     n_more, ps_path_base(place));
    } else if (n_more > 0) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang,
                            "... and %zu more rows (--export_type csv writes them all)\n",
                            "…… 另有 %zu 行（--export_type csv 全部写出）\n"),
                     n_more);
    }
    return status;
}

static bool is_table_report_shown(const ps_table *t) {
    bool wanted = t->to == 0 || (t->to & PS_TO_SCREEN) != 0;
    return t->home == PS_HOME_CLUSTER && wanted && t->n_rows > 0;
}

static bool is_listed(const ps_run *run, const ps_table *t) {
    return run->n_analyses > MAX_ANALYSES_SHOWN && table_report_place_of(run, t) != NULL;
}

/* Two modes may make the same table. */
static bool was_shown(const ps_run *run, size_t a, const ps_table *t) {
    for (size_t k = 0; k < a; k++) {
        const ps_result *earlier = &run->results[k];
        for (size_t i = 0; i < earlier->n_tables; i++) {
            if (is_table_report_shown(earlier->tables[i]) &&
                strcmp(earlier->tables[i]->name, t->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Tables with a row for each step of a chart are shown for the step of the chart. */
int ps_report_results(ps_cli *cli, const ps_run *run) {
    int status = PS_EXIT_OK;
    for (size_t a = 0; a < run->n_analyses; a++) {
        const ps_result *result = &run->results[a];
        bool has_chart = result->chart != NULL && result->chart->n_ops > 0;
        int64_t step = has_chart ? ps_chart_usual_step(result->chart) : 0;
        for (size_t i = 0; i < result->n_tables && status == PS_EXIT_OK; i++) {
            const ps_table *t = result->tables[i];
            if (is_table_report_shown(t) && !is_listed(run, t) && !was_shown(run, a, t)) {
                status =
                    t->to == 0 ? ps_cli_put_step_rows(cli, t, step) : put_first_rows(cli, run, t);
                ps_cli_print(cli, "\n");
            }
        }
        if (has_chart && status == PS_EXIT_OK) {
            status = ps_cli_put_chart(cli, result->chart, step, -1);
            ps_cli_print(cli, "\n");
            status = ps_cli_say_what_else(cli, result->chart, step, -1);
        }
    }
    return status;
}

/* --- what was written ---------------------------------------------------------------------------------------- */

/* The path below cluster_analysis_output/. */
static const char *path_below(const char *path, const char *folder, size_t *n_top) {
    const char *at = NULL;
    for (const char *p = strstr(path, folder); p != NULL; p = strstr(p + 1, folder)) {
        at = p;
    }
    *n_top = at != NULL ? (size_t)(at - path) + strlen(folder) - 1 : 0;
    return at != NULL ? at + strlen(folder) : path;
}

static const char *table_report_plural(size_t n) {
    return n == 1 ? "" : "s";
}

static bool is_in_database(const ps_written *w) {
    return ps_ends_with(w->path, ".db");
}

/* The tables in the database, or those in files: with a database, lists that only files hold. */
static void say_table_report_written(ps_cli *cli, const ps_run *run, bool in_database) {
    static const char FOLDER[] = "/cluster_analysis_output/";
    const ps_written *first = NULL;
    size_t n = 0;
    size_t n_top = 0;
    size_t widest = 0;
    size_t most = 0;
    for (size_t i = 0; i < run->n_written; i++) {
        const ps_written *w = &run->written[i];
        if (is_in_database(w) != in_database || n++ >= MAX_FILES_NAMED) {
            continue;
        }
        first = first == NULL ? w : first;
        size_t width = strlen(in_database ? w->table->name : path_below(w->path, FOLDER, &n_top));
        widest = width > widest ? width : widest;
        most = w->table->n_rows > most ? w->table->n_rows : most;
    }
    if (n == 0) {
        return;
    }
    if (in_database) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "Wrote %zu table%s into %s\n", "已写出 %zu 个表%.0s：%s\n"),
                     n, table_report_plural(n), first->path);
    } else {
        ps_cli_print(
            cli, PS_SAY(cli->lang, "Wrote %zu file%s into %.*s\n", "已写出 %zu 个文件%.0s：%.*s\n"),
            n, table_report_plural(n), (int)n_top, first->path);
    }
    size_t n_shown = 0;
    for (size_t i = 0; i < run->n_written && n_shown < MAX_FILES_NAMED; i++) {
        const ps_written *w = &run->written[i];
        if (is_in_database(w) == in_database) {
            ps_cli_print(cli, "  %-*s  %*zu row%s\n", (int)widest,
                         in_database ? w->table->name : path_below(w->path, FOLDER, &n_top),
                         snprintf(NULL, 0, "%zu", most), w->table->n_rows,
                         table_report_plural(w->table->n_rows));
            n_shown++;
        }
    }
    if (n_shown < n) {
        ps_cli_print(cli, "  ... and %zu more\n", n - n_shown);
    }
}

static void say_table_report_ranks(ps_cli *cli, const ps_run *run, ps_export type,
                                   const char *input) {
    size_t n_written =
        0; /* of the ranks done; others only lost a stale table, which is reported by itself */
    const char *first = NULL;
    bool in_place = false;
    for (size_t r = 0; r < run->n_ranks; r++) {
        const ps_rank_report *rank = &run->ranks[r];
        if (rank->status == PS_RANK_DONE && rank->written != NULL) {
            n_written++;
            first = first == NULL ? rank->written : first;
            in_place = in_place || strcmp(rank->written, rank->rank->path) == 0;
        }
    }
    if (n_written == 0) {
        return;
    }
    if (type != PS_EXPORT_DB) {
        ps_cli_print(
            cli,
            PS_SAY(cli->lang, "Files of %zu rank%s are in %s\n", "%zu 个 rank%.0s的文件在 %s\n"),
            n_written, table_report_plural(n_written), first);
    } else if (!in_place && n_written == 1) {
        ps_cli_print(cli, PS_SAY(cli->lang, "Wrote the copy %s\n", "已写出副本 %s\n"), first);
    } else if (!in_place) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "Wrote %zu copies, the first is %s\n",
                            "已写出 %zu 份副本，第一份为 %s\n"),
                     n_written, first);
    } else if (n_written == 1) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "Wrote into %s; MindStudio Insight shows it.\n",
                            "已写入 %s；可用 MindStudio Insight 查看。\n"),
                     first);
    } else {
        ps_cli_print(
            cli,
            PS_SAY(cli->lang, "Wrote into %zu databases below %s; MindStudio Insight shows them.\n",
                   "已写入 %zu 个数据库（位于 %s 之下）；可用 MindStudio Insight 查看。\n"),
            n_written, input);
    }
}

/* A table of a rank without rows takes away what an earlier run left in its place. */
static bool takes_away(const ps_result *result) {
    bool any = false;
    for (size_t i = 0; i < result->n_tables; i++) {
        any = any || result->tables[i]->home == PS_HOME_RANK;
    }
    return any;
}

/* Of modes to which no rank contributed nothing was written. */
static void say_idle(const ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses) {
    ps_buf names = {0};
    for (size_t a = 0; a < run->n_analyses; a++) {
        if (run->n_took_part[a] == 0 && !takes_away(&run->results[a])) {
            ps_buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", analyses[a]->name);
        }
    }
    if (names.len > 0) {
        ps_cli_detail(
            cli,
            PS_SAY(cli->lang,
                   "%s: no rank took part, nothing was written; what an earlier run wrote stays",
                   "%s：没有 rank 参与，未写出任何内容；早先运行写出的内容保留"),
            ps_buf_str(&names));
    }
    ps_buf_fini(&names);
}

void ps_report_written(ps_cli *cli, const ps_run *run, const ps_analysis *const *analyses,
                       ps_export type, const char *input) {
    say_idle(cli, run, analyses);
    say_table_report_ranks(cli, run, type, input);
    if (run->n_written > 0) {
        say_table_report_written(cli, run, true);
        say_table_report_written(cli, run, false);
    }
    for (size_t i = 0; i < run->n_notes; i++) {
        ps_cli_warn(cli, "%s", run->notes[i]);
    }
}
