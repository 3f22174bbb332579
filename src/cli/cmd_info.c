/* pipescope info PATH: what is there, rank by rank, and what is missing for which analysis. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/strpool.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/rank_report.h"
#include "read/reader.h"
#include "run/cluster.h"
#include "write/shorten.h"

typedef struct rank_info {
    const ps_cluster_rank *rank;
    ps_trace *trace; /* NULL when it could not be read */
    ps_err err;
} rank_info;

typedef struct inventory {
    rank_info *ranks;
    size_t n;
} inventory;

static void read_rank(void *context, size_t i) {
    rank_info *r = &((inventory *)context)->ranks[i];
    ps_src src = ps_cluster_src(r->rank);
    r->err = PS_ERR_INIT;
    r->trace = ps_read(&src, PS_NEED_META | PS_NEED_STEPS | PS_NEED_INVENTORY, &r->err);
}

/* --- parts of a rank ----------------------------------------------------------------------------------------- */

static const char *fact(const ps_trace *t, const char *what) {
    const ps_table *facts = ps_trace_side_table(t, "facts");
    for (size_t i = 0; facts != NULL && i < facts->n_rows; i++) {
        if (strcmp(ps_table_cell(facts, i, 0)->u.text, what) == 0) {
            return ps_table_cell(facts, i, 1)->u.text;
        }
    }
    return NULL;
}

static int64_t rows_of(const ps_trace *t, const char *table) {
    const ps_table *tables = ps_trace_side_table(t, "tables");
    for (size_t i = 0; tables != NULL && i < tables->n_rows; i++) {
        if (strcmp(ps_table_cell(tables, i, 0)->u.text, table) == 0) {
            return ps_table_cell(tables, i, 1)->u.i;
        }
    }
    return -1;
}

static bool span_of(const ps_trace *t, const char *what, int64_t *start, int64_t *end) {
    const ps_table *spans = ps_trace_side_table(t, "spans");
    for (size_t i = 0; spans != NULL && i < spans->n_rows; i++) {
        if (strcmp(ps_table_cell(spans, i, 0)->u.text, what) == 0) {
            *start = ps_table_cell(spans, i, 1)->u.i;
            *end = ps_table_cell(spans, i, 2)->u.i;
            return true;
        }
    }
    return false;
}

/* What a rank lacks, as sentences. */
static void missing(const ps_trace *t, ps_buf *out) {
    static const struct {
        const char *table, *text;
    } PARTS[] = {
        {"MSTX_EVENTS", "no mstx marks: pp_chart has nothing to label"},
        {"STEP_TIME", "no steps: everything counts as one step"},
        {"COMMUNICATION_OP",
         "no communication operators: made from communication marks when there are any"},
        {"COMMUNICATION_TASK_INFO",
         "no communication tasks: p2p_pairing needs them, or marks that name the peer"},
    };
    for (size_t i = 0; i < PS_N(PARTS); i++) {
        if (rows_of(t, PARTS[i].table) <= 0) {
            ps_buf_addf(out, "%s%s", out->len > 0 ? "; " : "", PARTS[i].text);
        }
    }
    if (ps_trace_meta(t, "pp_info") == NULL) {
        ps_buf_addf(out, "%s%s", out->len > 0 ? "; " : "",
                    "no pp_info metadata: classic labels unless --pp-type is given");
    }
    if (ps_trace_meta(t, "distributed_args") == NULL &&
        ps_trace_meta(t, "parallel_group_info") == NULL) {
        ps_buf_addf(out, "%s%s", out->len > 0 ? "; " : "",
                    "no parallel sizes: stages need --pp --tp --cp --dp");
    }
}

/* --- text ---------------------------------------------------------------------------------------------------- */

enum {
    C_RANK,
    C_PROFILER,
    C_LEVEL,
    C_HOST_SPAN,
    C_DEVICE_SPAN,
    C_STEPS,
    C_MARKS,
    C_TASKS,
    C_COMM,
    N_C
};

static const ps_column COLUMNS[N_C] = {
    [C_RANK] = {.name = "rank", .type = PS_COL_INT},
    [C_PROFILER] = {.name = "profiler", .type = PS_COL_TEXT},
    [C_LEVEL] = {.name = "level", .type = PS_COL_TEXT},
    [C_HOST_SPAN] = {.name = "host span", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_DEVICE_SPAN] = {.name = "device span", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_STEPS] = {.name = "steps", .type = PS_COL_INT},
    [C_MARKS] = {.name = "marks", .type = PS_COL_INT},
    [C_TASKS] = {.name = "tasks", .type = PS_COL_INT},
    [C_COMM] = {.name = "comm ops", .type = PS_COL_INT},
};

static bool add_rank_row(ps_table *t, const rank_info *r) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, C_RANK, r->rank->rank);
    bool ok = ps_table_set_text(t, C_PROFILER, ps_cluster_profiler(r->rank));
    if (r->trace == NULL) {
        return ok;
    }
    int64_t start = 0;
    int64_t end = 0;
    size_t n_steps = 0;
    (void)ps_trace_steps(r->trace, &n_steps);
    int64_t dur = 0; /* none where raw times are too far apart for one */
    if (span_of(r->trace, "host", &start, &end) && !__builtin_sub_overflow(end, start, &dur)) {
        ps_table_set_int(t, C_HOST_SPAN, dur);
    }
    if (span_of(r->trace, "device", &start, &end) && !__builtin_sub_overflow(end, start, &dur)) {
        ps_table_set_int(t, C_DEVICE_SPAN, dur);
    }
    ps_table_set_int(t, C_STEPS, (int64_t)n_steps);
    static const struct {
        int column;
        const char *table;
    } COUNTS[] = {{C_MARKS, "MSTX_EVENTS"}, {C_TASKS, "TASK"}, {C_COMM, "COMMUNICATION_OP"}};
    for (size_t i = 0; i < PS_N(COUNTS); i++) {
        int64_t rows = rows_of(r->trace, COUNTS[i].table);
        if (rows >= 0) {
            ps_table_set_int(t, (size_t)COUNTS[i].column, rows);
        }
    }
    return ok && ps_table_set_text(t, C_LEVEL, fact(r->trace, "profiler level"));
}

static int print_ranks(ps_cli *cli, const inventory *inv) {
    ps_table *t = ps_table_new("ranks", "", COLUMNS, N_C);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < inv->n; i++) {
        ok = add_rank_row(t, &inv->ranks[i]);
    }
    int status = PS_EXIT_FAILED;
    if (ok) {
        status = ps_cli_put_table(cli, t);
    } else {
        ps_err err;
        (void)ps_fail_nomem(&err);
        status = ps_cli_fail(cli, &err);
    }
    ps_table_free(t);
    return status;
}

static const rank_info *first_read(const inventory *inv) {
    for (size_t i = 0; i < inv->n; i++) {
        if (inv->ranks[i].trace != NULL) {
            return &inv->ranks[i];
        }
    }
    return NULL;
}

/* A line about a text of the profile: nothing in it steers the terminal. */
static void print_text(ps_cli *cli, const char *key, const char *value) {
    enum { SHOWN_BYTES = 200 };
    ps_arena arena;
    ps_arena_init(&arena);
    bool all = strlen(value) <= SHOWN_BYTES;
    const char *copy = ps_arena_strndup(&arena, value, all ? strlen(value) : SHOWN_BYTES);
    const char *clean = copy != NULL ? ps_text_clean(&arena, copy) : NULL;
    if (clean != NULL) {
        ps_cli_print(cli, "%-20s %s%s\n", key, clean, all ? "" : " ...");
    }
    ps_arena_fini(&arena);
}

/* Tables and metadata of one rank stand for all: they are alike in a cluster. Ranks that lack a table which
 * others have show up in the table of ranks. */
static int print_example(ps_cli *cli, const rank_info *r) {
    ps_cli_print(cli, "\ntables of rank %lld\n\n", (long long)r->rank->rank);
    int status = ps_cli_put_table(cli, ps_trace_side_table(r->trace, "tables"));
    static const char *const FACTS[] = {"device", "host", "schema version", "mstx"};
    ps_cli_print(cli, "\n");
    for (size_t i = 0; i < PS_N(FACTS); i++) {
        const char *value = fact(r->trace, FACTS[i]);
        if (value != NULL) {
            print_text(cli, FACTS[i], value);
        }
    }
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(r->trace, &n);
    if (n > 0) {
        ps_cli_print(cli, "%-20s", "steps");
        for (size_t i = 0; i < n && i < 16; i++) {
            ps_cli_print(cli, " %lld", (long long)steps[i].id);
        }
        ps_cli_print(cli, n > 16 ? " ... (%zu)\n" : "\n", n);
    }
    static const char *const KEYS[] = {"pp_info", "distributed_args", "parallel_group_info"};
    for (size_t i = 0; i < PS_N(KEYS); i++) {
        const char *value = ps_trace_meta(r->trace, KEYS[i]);
        if (value != NULL) {
            print_text(cli, KEYS[i], value);
        }
    }
    return status;
}

/* Ranks that lack the same are named together. */
static void print_missing(ps_cli *cli, const inventory *inv) {
    ps_buf first;
    ps_buf text;
    ps_buf_init(&first, 0);
    ps_buf_init(&text, 0);
    size_t n_same = 0;
    size_t n_read = 0;
    for (size_t i = 0; i < inv->n; i++) {
        if (inv->ranks[i].trace == NULL) {
            continue;
        }
        ps_buf_clear(&text);
        missing(inv->ranks[i].trace, &text);
        if (n_read++ == 0) {
            ps_buf_add_str(&first, ps_buf_str(&text));
        }
        n_same += strcmp(ps_buf_str(&first), ps_buf_str(&text)) == 0;
    }
    ps_cli_print(cli, "\n");
    if (n_same == n_read) {
        ps_cli_print(cli, "missing  %s\n",
                     first.len > 0 ? ps_buf_str(&first) : "nothing: all modes can run");
    }
    for (size_t i = 0; n_same != n_read && i < inv->n; i++) {
        if (inv->ranks[i].trace != NULL) {
            ps_buf_clear(&text);
            missing(inv->ranks[i].trace, &text);
            ps_cli_print(cli, "missing on rank %lld  %s\n", (long long)inv->ranks[i].rank->rank,
                         text.len > 0 ? ps_buf_str(&text) : "nothing");
        }
    }
    ps_buf_fini(&first);
    ps_buf_fini(&text);
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void add_json_text(ps_buf *out, const char *key, const char *value) {
    ps_buf_addf(out, ", \"%s\": ", key);
    if (value != NULL) {
        ps_buf_add_json_str(out, value, strlen(value));
    } else {
        ps_buf_add_str(out, "null");
    }
}

/* The database and the JSON file beside it name the same keys: the first counts. */
static void add_json_metas(ps_buf *out, const ps_trace *t) {
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(t, &n);
    ps_strpool seen;
    bool ok = ps_strpool_init(&seen);
    for (size_t i = 0; ok && i < n; i++) {
        size_t len = strlen(metas[i].key);
        if (!ps_str_is_none(ps_strpool_find(&seen, metas[i].key, len))) {
            continue;
        }
        ok = !ps_str_is_none(ps_strpool_add(&seen, metas[i].key, len));
        ps_buf_add_str(out, i > 0 ? ", " : "");
        ps_buf_add_json_str(out, metas[i].key, len);
        ps_buf_add_str(out, ": ");
        ps_buf_add_json_str(out, metas[i].value, strlen(metas[i].value));
    }
    out->failed = out->failed || !ok; /* out of memory */
    ps_strpool_fini(&seen);
}

static void add_json_trace(ps_buf *out, const ps_trace *t) {
    static const char *const SPANS[] = {"host", "device"};
    for (size_t i = 0; i < 2; i++) {
        int64_t start = 0;
        int64_t end = 0;
        if (span_of(t, SPANS[i], &start, &end)) { /* epochs do not fit a double: as text */
            ps_buf_addf(out, ", \"%s_start_ns\": \"%lld\", \"%s_end_ns\": \"%lld\"", SPANS[i],
                        (long long)start, SPANS[i], (long long)end);
        }
    }
    add_json_text(out, "level", fact(t, "profiler level"));
    add_json_text(out, "device", fact(t, "device"));
    add_json_text(out, "host", fact(t, "host"));
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    ps_buf_add_str(out, ", \"steps\": [");
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)steps[i].id);
    }
    ps_buf_add_str(out, "], \"tables\": {");
    const ps_table *tables = ps_trace_side_table(t, "tables");
    for (size_t i = 0; i < tables->n_rows; i++) {
        const char *name = ps_table_cell(tables, i, 0)->u.text;
        ps_buf_add_str(out, i > 0 ? ", " : "");
        ps_buf_add_json_str(out, name, strlen(name));
        ps_buf_addf(out, ": %lld", (long long)ps_table_cell(tables, i, 1)->u.i);
    }
    ps_buf_add_str(out, "}, \"metadata\": {"); /* values as they stand: JSON text */
    add_json_metas(out, t);
    ps_buf_add_char(out, '}');
    ps_buf lacks;
    ps_buf_init(&lacks, 0);
    missing(t, &lacks);
    add_json_text(out, "missing", lacks.len > 0 ? ps_buf_str(&lacks) : NULL);
    ps_buf_fini(&lacks);
}

static int print_json(ps_cli *cli, const ps_cluster *c, const inventory *inv) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_buf_add_str(&out, "{\"format\": \"pipescope-info\", \"version\": 1, \"path\": ");
    ps_buf_add_json_str(&out, c->root, strlen(c->root));
    ps_buf_add_str(&out, ", \"ranks\": [\n");
    for (size_t i = 0; i < inv->n; i++) {
        const rank_info *r = &inv->ranks[i];
        ps_buf_addf(&out, "  {\"rank\": %lld, \"format\": \"ascend-db\"", (long long)r->rank->rank);
        add_json_text(&out, "profiler", ps_cluster_profiler(r->rank));
        add_json_text(&out, "database", r->rank->rel_path);
        if (r->trace != NULL) {
            add_json_trace(&out, r->trace);
        } else {
            char text[1024];
            ps_err_format(&r->err, text, sizeof text);
            add_json_text(&out, "error", text);
        }
        ps_buf_add_str(&out, i + 1 < inv->n ? "},\n" : "}\n");
    }
    ps_buf_add_str(&out, "]}\n");
    ps_cli_put(cli, ps_buf_str(&out), out.len);
    bool ok = ps_buf_ok(&out);
    ps_buf_fini(&out);
    return ok ? PS_EXIT_OK : PS_EXIT_FAILED;
}

/* --- the command --------------------------------------------------------------------------------------------- */

static int show(ps_cli *cli, const ps_cluster *c, const inventory *inv) {
    if (ps_cli_flag(cli, "json")) {
        return print_json(cli, c, inv);
    }
    ps_cli_print(cli, "%s: %zu rank%s, format ascend-db\n\n", c->root, inv->n,
                 inv->n == 1 ? "" : "s");
    int status = print_ranks(cli, inv);
    const rank_info *example = first_read(inv);
    if (example != NULL && status == PS_EXIT_OK) {
        status = print_example(cli, example);
        print_missing(cli, inv);
    }
    return status;
}

static int report_failures(ps_cli *cli, const inventory *inv) {
    size_t n_failed = 0;
    for (size_t i = 0; i < inv->n; i++) {
        if (inv->ranks[i].trace == NULL) {
            (void)ps_cli_fail(cli, &inv->ranks[i].err);
            n_failed++;
        }
    }
    return n_failed == 0 ? PS_EXIT_OK : n_failed < inv->n ? PS_EXIT_PARTIAL : PS_EXIT_FAILED;
}

static int inspect(ps_cli *cli, const ps_cluster *c) {
    inventory inv = {.ranks = ps_calloc(c->n_ranks, sizeof *inv.ranks), .n = c->n_ranks};
    if (inv.ranks == NULL) {
        ps_err err;
        (void)ps_fail_nomem(&err);
        return ps_cli_fail(cli, &err);
    }
    for (size_t i = 0; i < inv.n; i++) {
        inv.ranks[i].rank = &c->ranks[i];
    }
    ps_parallel(inv.n, 0, read_rank, &inv);
    int status = show(cli, c, &inv);
    int failures = report_failures(cli, &inv);
    for (size_t i = 0; i < inv.n; i++) {
        ps_trace_free(inv.ranks[i].trace);
    }
    ps_free(inv.ranks);
    failures =
        failures == PS_EXIT_OK && ps_diag_n_errors(&c->diag) > 0 ? PS_EXIT_PARTIAL : failures;
    return status != PS_EXIT_OK ? status : failures;
}

static int run(ps_cli *cli) {
    ps_err err = PS_ERR_INIT;
    ps_cluster *c = ps_cluster_find(ps_cli_positional(cli, 0), &err);
    if (c == NULL) {
        return ps_cli_fail(cli, &err);
    }
    ps_report_cluster(cli, c);
    int status = ps_diag_n_errors(&c->diag) == 0 ? PS_EXIT_NOTHING
                                                 : PS_EXIT_FAILED; /* when no rank is found */
    if (c->n_ranks > 0) {
        status = inspect(cli, c);
    } else if (c->n_text_dirs > 0) {
        ps_cli_warn(
            cli,
            "%s: %zu rank directories with text results only (trace_view.json, CSV); databases are read so far",
            c->root, c->n_text_dirs);
    } else {
        ps_cli_warn(cli, "%s: no profile found; see: pipescope formats", c->root);
    }
    ps_cluster_free(c);
    return status;
}

static const ps_option OPTIONS[] = {
    {.name = "json",
     .kind = PS_OPTION_FLAG,
     .help = "for scripts: exact numbers, epoch times as text"},
};

const ps_command ps_command_info = {
    .name = "info",
    .summary = "what a profile holds: ranks, spans, tables, steps, metadata, what is missing",
    .usage = "PATH [--json]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .run = run,
};
