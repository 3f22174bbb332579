#include "cli/rank_report.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "write/sink.h"

static void report_diag(const ps_cli *cli, const ps_diag *d) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0) {
            continue;
        }
        char text[256];
        ps_oddity_text((ps_oddity)k, d->counts[k], text, sizeof text);
        bool is_info = ps_oddity_severity((ps_oddity)k) == PS_SEV_INFO;
        ps_buf line;
        ps_buf_init(&line, 0);
        ps_buf_add_str(&line, text);
        for (int i = 0; i < PS_DIAG_PLACES && d->places[k][i][0] != '\0'; i++) {
            ps_buf_addf(&line, "%s%s", i == 0 ? ": " : "; ", d->places[k][i]);
        }
        if (d->counts[k] > PS_DIAG_PLACES && d->places[k][0][0] != '\0') {
            ps_buf_add_str(&line, "; ...");
        }
        if (is_info) {
            ps_cli_note(cli, "%s", ps_buf_str(&line));
        } else {
            ps_cli_warn(cli, "%s", ps_buf_str(&line));
        }
        ps_buf_fini(&line);
    }
}

void ps_report_cluster(const ps_cli *cli, const ps_cluster *cluster) {
    for (size_t i = 0; i < cluster->n_notes; i++) {
        ps_cli_note(cli, "%s", cluster->notes[i]);
    }
    report_diag(cli, &cluster->diag);
}

static void report_rank(const ps_cli *cli, const ps_rank_report *r) {
    char text[1024];
    ps_err_format(&r->err, text, sizeof text);
    const char *where = r->err.file[0] == '\0' ? r->rank->db_path : "";
    ps_cli_warn(cli, "rank %lld: %s%s%s", (long long)r->rank->rank, where, where[0] != '\0' ? ": " : "", text);
}

void ps_report_ranks(const ps_cli *cli, const ps_run *run) {
    ps_diag *all = ps_calloc(1, sizeof *all);
    for (size_t r = 0; r < run->n_ranks; r++) {
        const ps_rank_report *report = &run->ranks[r];
        if (report->err.code != PS_OK) {
            report_rank(cli, report);
        }
        if (all != NULL) {
            char who[32];
            (void)snprintf(who, sizeof who, "rank %lld", (long long)report->rank->rank);
            ps_diag_merge(all, &report->diag, who);
        }
    }
    if (all != NULL) {
        report_diag(cli, all);
    }
    ps_free(all);
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void add_str(ps_buf *out, const char *key, const char *value) {
    ps_buf_addf(out, "\"%s\": ", key);
    if (value != NULL) {
        ps_buf_add_json_str(out, value, strlen(value));
    } else {
        ps_buf_add_str(out, "null");
    }
}

static void add_diag(ps_buf *out, const ps_diag *d) {
    ps_buf_add_char(out, '{');
    const char *comma = "";
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0) {
            continue;
        }
        static const char *const SEVERITIES[] = {"info", "loss", "error"};
        ps_buf_addf(out, "%s\"%s\": {\"count\": %llu, \"severity\": \"%s\", \"places\": [", comma, ps_oddity_name((ps_oddity)k),
                    (unsigned long long)d->counts[k], SEVERITIES[ps_oddity_severity((ps_oddity)k)]);
        for (int i = 0; i < PS_DIAG_PLACES && d->places[k][i][0] != '\0'; i++) {
            ps_buf_add_str(out, i > 0 ? ", " : "");
            ps_buf_add_json_str(out, d->places[k][i], strlen(d->places[k][i]));
        }
        ps_buf_add_str(out, "]}");
        comma = ", ";
    }
    ps_buf_add_char(out, '}');
}

static void add_rank(ps_buf *out, const ps_rank_report *r) {
    static const char *const STATUSES[] = {"done", "nothing", "failed"};
    ps_buf_addf(out, "    {\"rank\": %lld, \"status\": \"%s\", ", (long long)r->rank->rank, STATUSES[r->status]);
    add_str(out, "profiler", ps_profiler_name(r->rank->profiler));
    ps_buf_add_str(out, ", ");
    add_str(out, "input", r->rank->db_path);
    ps_buf_add_str(out, ", ");
    add_str(out, "written", r->written);
    ps_buf_add_str(out, ", ");
    char text[1024] = "";
    ps_err_format(&r->err, text, sizeof text);
    add_str(out, "message", r->err.code != PS_OK ? text : NULL);
    ps_buf_add_str(out, ",\n     \"oddities\": ");
    add_diag(out, &r->diag);
    ps_buf_add_char(out, '}');
}

ps_code ps_report_json(const char *path, const ps_cluster *cluster, const ps_run *run,
                       const ps_analysis *const *analyses, int exit_status, ps_err *err) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_buf_add_str(&out, "{\"format\": \"pipescope-summary\", \"version\": 1, ");
    add_str(&out, "path", cluster->root);
    ps_buf_addf(&out, ", \"exit_status\": %d,\n  \"modes\": [", exit_status);
    for (size_t a = 0; a < run->n_analyses; a++) {
        ps_buf_addf(&out, "%s\"%s\"", a > 0 ? ", " : "", analyses[a]->name);
    }
    ps_buf_addf(&out, "], \"done\": %zu, \"nothing\": %zu, \"failed\": %zu,\n  \"search\": ", run->n_done,
                run->n_nothing, run->n_failed);
    add_diag(&out, &cluster->diag);
    ps_buf_add_str(&out, ",\n  \"ranks\": [\n");
    for (size_t r = 0; r < run->n_ranks; r++) {
        add_rank(&out, &run->ranks[r]);
        ps_buf_add_str(&out, r + 1 < run->n_ranks ? ",\n" : "\n");
    }
    ps_buf_add_str(&out, "  ]}\n");
    ps_sink sink = {0};
    ps_code code = ps_buf_ok(&out) ? ps_sink_open_file(&sink, path, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_sink_write(&sink, ps_buf_str(&out), out.len, err) : code;
    code = code == PS_OK ? ps_sink_commit(&sink, err) : code;
    ps_sink_abort(&sink);
    ps_buf_fini(&out);
    return code;
}
