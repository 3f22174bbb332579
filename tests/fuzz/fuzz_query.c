/* The input is a query over two small ranks, or what one is made of. Whatever a query says, it ends: with rows, or an error in words; nothing is
 * written. And what a cursor is told of a query must leave the rows that SQLite would leave: the same terms are asked twice, once so that
 * they are handed down, once behind a plus, so that SQLite compares by itself.
 *
 * Byte 0: 0 to 127 SQL follows; else the table, and bytes 1 and on are terms: column, operator, kind of value, value. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/publish.h"
#include "query/schema.h"
#include "query/sql.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH = 256, MOST_TERMS = 5, TERM_BYTES = 4 };

static char folder[PATH];
static ps_cluster *cluster;
static ps_sql *sql;

/* --- two ranks --------------------------------------------------------------------------------------------------- */

static const char RANK[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":2},\"traceEvents\":[\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":7,\"tid\":7,\"ts\":0,\"dur\":100},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":10,\"dur\":30,"
    "\"args\":{\"Input Dims\":[[4,8],[8,2]]}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":7,\"ts\":20,\"dur\":5,"
    "\"args\":{\"correlation\":41}},\n"
    "{\"ph\":\"s\",\"id\":41,\"pid\":7,\"tid\":7,\"ts\":20,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"mm_kernel\",\"pid\":0,\"tid\":7,\"ts\":30,\"dur\":%d,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":41}},\n"
    "{\"ph\":\"f\",\"id\":41,\"pid\":0,\"tid\":7,\"ts\":30,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":20,\"ts\":%d,\"dur\":9,"
    "\"args\":{\"device\":0,\"stream\":20,\"Collective name\":\"allreduce\",\"In msg nelems\":256,\"dtype\":\"Float\","
    "\"Process Group Name\":\"0\"}},\n"
    "{\"ph\":\"C\",\"name\":\"load\",\"pid\":7,\"ts\":12,\"args\":{\"value\":3.5}}\n"
    "],\"baseTimeNanoseconds\":1700000000000000000}\n";

static void leave(void) {
    ps_sql_close(sql);
    ps_cluster_free(cluster);
    (void)ps_remove_tree(folder, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.200s/ps_fuzz_query_XXXXXX",
                   tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
    for (int rank = 0; rank < 2; rank++) {
        char path[PATH + 32];
        (void)snprintf(path, sizeof path, "%s/rank%d.json", folder, rank);
        FILE *file = fopen(path, "w");
        if (file == NULL || fprintf(file, RANK, rank, 20 + 7 * rank, 60 + rank) < 0 ||
            fclose(file) != 0) {
            abort();
        }
    }
    ps_err err = PS_ERR_INIT;
    ps_sql_opts opts = {.run = {.n_threads = 1}, .timeout_s = 1, .max_bytes = 16 << 20};
    ps_analysis_opts_init(&opts.run.analysis);
    opts.run.analysis.in_full = true;
    cluster = ps_cluster_find(folder, &err);
    sql = cluster != NULL ? ps_sql_open(cluster, &opts, &err) : NULL;
    if (sql == NULL || atexit(leave) != 0) {
        abort();
    }
    return 0;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

/* Whatever their order: the sum of what each row hashes to. */
typedef struct seen {
    size_t n;
    uint64_t sum;
} seen;

static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static ps_code see(void *context, const ps_table *t, size_t first, size_t end, ps_err *err) {
    seen *s = context;
    (void)err;
    for (size_t r = first; r < end; r++) {
        uint64_t hash = UINT64_C(14695981039346656037);
        for (size_t c = 0; c < t->n_columns; c++) {
            const ps_value *v = ps_table_cell(t, r, c);
            if (v->is_null) {
                hash = mix(hash, "NULL", 4);
            } else if (ps_column_is_text(&t->columns[c])) {
                hash = mix(hash, v->u.text, strlen(v->u.text) + 1);
            } else {
                hash = mix(hash, &v->u, sizeof v->u);
            }
        }
        s->sum += hash;
    }
    s->n = end;
    return PS_OK;
}

static ps_code ask(const char *text, seen *out) {
    ps_err err = PS_ERR_INIT;
    *out = (seen){0};
    ps_code code = ps_sql_run(sql, text, "query", see, out, &err);
    if (code != PS_OK && err.msg[0] == '\0') {
        abort(); /* an error without words */
    }
    return code;
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static void put_number(const uint8_t *term, bool is_moment, ps_buf *out) {
    static const long long NEAR[] = {-1, 0, 1, 2, 7, 30, 41, 100};
    long long value = NEAR[term[3] % 8];
    switch (term[2] % 6) {
    case 0:
        ps_buf_add_str(out, "NULL");
        break;
    case 1:
        ps_buf_addf(out, "%lld.5", value);
        break;
    case 2:
        ps_buf_add_str(out, term[3] % 2 == 0 ? "9223372036854775807" : "-9223372036854775808");
        break;
    default:
        ps_buf_addf(out, "%lld", value * 1000 + (is_moment ? 1700000000000000000 : 0));
        break;
    }
}

static void put_term(const ps_sql_table *t, const uint8_t *term, bool alone, ps_buf *out) {
    static const char *const OPS[] = {"=", "<", "<=", ">", ">=", "IN", "<>", "IS"};
    static const char *const TEXTS[] = {"'mm_kernel'", "'kernel'", "'aten::mm'",
                                        "'nobody'",    "''",       "NULL"};
    const ps_sql_column *column = &t->columns[term[0] % t->n_columns];
    const char *op = OPS[term[1] % 8];
    bool is_in = strcmp(op, "IN") == 0;
    ps_buf_addf(out, "%s\"%s\" %s %s", alone ? "+" : "", column->name, op, is_in ? "(" : "");
    if (is_in) { /* of the column's own type: a plus takes the affinity away */
        ps_buf_add_str(out, column->type == PS_SQL_TEXT ? "'op', " : "1, ");
    }
    if (column->type == PS_SQL_TEXT) {
        ps_buf_add_str(out, TEXTS[term[3] % 6]);
    } else {
        put_number(term, column->type == PS_SQL_MOMENT, out);
    }
    ps_buf_add_str(out, is_in ? ")" : "");
}

/* `alone`: SQLite compares and sorts by itself. */
static void put_query(const uint8_t *data, size_t size, bool alone, ps_buf *out) {
    const ps_sql_table *t = &ps_sql_tables[data[0] % PS_N_SQL_TABLES];
    const char *name = t->columns[data[1] % t->n_columns].name;
    bool grouped = data[1] >= 128;
    if (grouped) {
        ps_buf_addf(out, "SELECT \"%s\", count(*) FROM %s", name, t->name);
    } else {
        ps_buf_addf(out, "SELECT * FROM %s", t->name);
    }
    for (size_t i = 0; i < MOST_TERMS && 2 + (i + 1) * TERM_BYTES <= size; i++) {
        ps_buf_add_str(out, i == 0 ? " WHERE " : " AND ");
        put_term(t, data + 2 + i * TERM_BYTES, alone, out);
    }
    if (grouped) {
        ps_buf_addf(out, " GROUP BY %s\"%s\" ORDER BY 1", alone ? "+" : "", name);
    }
}

static void check_terms(const uint8_t *data, size_t size) {
    ps_buf down = {0};
    ps_buf alone = {0};
    put_query(data, size, false, &down);
    put_query(data, size, true, &alone);
    if (ps_buf_ok(&down) && ps_buf_ok(&alone)) {
        seen a;
        seen b;
        ps_code first = ask(ps_buf_str(&down), &a);
        ps_code second = ask(ps_buf_str(&alone), &b);
        /* Whether a table that the capture has nothing of is looked at depends on what SQLite knows without it. */
        bool same_end = first == second || (first == PS_OK && second == PS_NOTHING) ||
                        (first == PS_NOTHING && second == PS_OK);
        if (!same_end || a.n != b.n || a.sum != b.sum) {
            (void)fprintf(stderr, "%d, %zu rows: %s\n%d, %zu rows: %s\n", (int)first, a.n,
                          ps_buf_str(&down), (int)second, b.n, ps_buf_str(&alone));
            abort();
        }
    }
    ps_buf_fini(&down);
    ps_buf_fini(&alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 && data[0] >= 128) {
        check_terms(data, size);
        return 0;
    }
    ps_buf text = {0};
    ps_buf_add(&text, data + (size > 0), size - (size > 0));
    if (ps_buf_ok(&text)) {
        seen rows;
        (void)ask(ps_buf_str(&text), &rows);
    }
    ps_buf_fini(&text);
    return 0;
}
