#include "read/nsight/nsight_info.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define MACHINE_BITS UINT64_C(0xFFFF000000000000)

/* --- clock ----------------------------------------------------------------------------------------------- */

typedef struct number_search {
    int64_t value;
    bool found;
} number_search;

/* The first row that has a number, or text that is one. */
static ps_code take_first(void *context, const ps_scan_batch *b, ps_err *err) {
    number_search *s = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows && !s->found; i++) {
        const ps_scan_column *c = &b->columns[0];
        if (c->types[i] == PS_CELL_TEXT) {
            s->found = ps_parse_i64(c->bytes[i].data, c->bytes[i].size_bytes, &s->value);
        } else if (c->types[i] == PS_CELL_INT) {
            s->found = true;
            s->value = c->ints[i];
        }
    }
    return PS_OK;
}

static ps_code take_last(void *context, const ps_scan_batch *b, ps_err *err) {
    int64_t *last = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t value = ps_nsight_int(b, 0, i, INT64_MIN);
        *last = value > *last ? value : *last;
    }
    return PS_OK;
}

ps_code ps_nsight_epoch(ps_nsight *n, bool *known, int64_t *epoch_ns, ps_err *err) {
    static const char *const COLUMNS[] = {"utcEpochNs"};
    number_search s = {0, false};
    ps_code code =
        ps_nsight_scan(n, "TARGET_INFO_SESSION_START_TIME", COLUMNS, 1, take_first, &s, err);
    *known = s.found && s.value > 0; /* 0 where an old export had none */
    *epoch_ns = *known ? s.value : 0;
    return code;
}

ps_code ps_nsight_stop(ps_nsight *n, int64_t *stop_ns, ps_err *err) {
    static const char *const COLUMNS[] = {"stopTime"};
    *stop_ns = INT64_MIN;
    return ps_nsight_scan(n, "ANALYSIS_DETAILS", COLUMNS, 1, take_last, stop_ns, err);
}

/* --- machine --------------------------------------------------------------------------------------------- */

void ps_nsight_hosts_fini(ps_nsight_hosts *h) {
    ps_idmap_fini(&h->rows);
    ps_free(h->names);
}

static bool text_is(ps_scan_bytes text, const char *word) {
    return text.size_bytes == strlen(word) && memcmp(text.data, word, text.size_bytes) == 0;
}

/* The first Hostname of each machine. */
static ps_code take_hosts(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight_hosts *h = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        uint64_t machine = (uint64_t)ps_nsight_int(b, 0, i, 0) & MACHINE_BITS;
        if (!text_is(ps_cell_text(&b->columns[1], i), "Hostname") ||
            ps_idmap_get(&h->rows, machine) != PS_IDMAP_NONE) {
            continue;
        }
        ps_scan_bytes value = ps_cell_text(&b->columns[2], i);
        const char *name = ps_arena_strndup(h->arena, value.data, value.size_bytes);
        if (name == NULL || !ps_grow(&h->names, &h->cap, h->n + 1, 1 << 16, sizeof *h->names) ||
            !ps_idmap_put(&h->rows, machine, (uint32_t)h->n)) {
            return ps_fail_nomem(err);
        }
        h->names[h->n++] = name;
    }
    return PS_OK;
}

ps_code ps_nsight_hosts_read(ps_nsight_hosts *h, ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"globalVid", "name", "value"};
    return ps_nsight_scan(n, "TARGET_INFO_SYSTEM_ENV", COLUMNS, N(COLUMNS), take_hosts, h, err);
}

const char *ps_nsight_host(const ps_nsight_hosts *h, int64_t process_key) {
    uint32_t row = ps_idmap_get(&h->rows, (uint64_t)process_key & MACHINE_BITS);
    return row != PS_IDMAP_NONE ? h->names[row] : h->n > 0 ? h->names[0] : "";
}

/* --- metadata -------------------------------------------------------------------------------------------- */

typedef struct meta_scan {
    ps_nsight *n;
    const char *prefix;
    ps_buf key, value;
} meta_scan;

/* A value as text: numbers in decimal, nothing for the rest. */
static bool add_nsight_info_value(ps_buf *out, const ps_scan_column *c, size_t i) {
    if (c->types[i] == PS_CELL_TEXT) {
        ps_buf_add(out, c->bytes[i].data, c->bytes[i].size_bytes);
    } else if (c->types[i] == PS_CELL_INT) {
        ps_buf_addf(out, "%lld", (long long)c->ints[i]);
    }
    return c->types[i] == PS_CELL_TEXT || c->types[i] == PS_CELL_INT;
}

static ps_code add_meta(meta_scan *s, ps_err *err) {
    if (!ps_buf_ok(&s->key) || !ps_buf_ok(&s->value)) {
        return ps_fail_nomem(err);
    }
    ps_builder_meta(s->n->builder, ps_buf_str(&s->key), ps_buf_str(&s->value));
    return PS_OK;
}

static ps_code take_metas(void *context, const ps_scan_batch *b, ps_err *err) {
    meta_scan *s = context;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < b->n_rows; i++) {
        ps_buf_clear(&s->key);
        ps_buf_clear(&s->value);
        ps_buf_add_str(&s->key, s->prefix);
        if (add_nsight_info_value(&s->key, &b->columns[0], i) &&
            add_nsight_info_value(&s->value, &b->columns[1], i)) {
            code = add_meta(s, err);
        }
    }
    return code == PS_OK ? ps_nsight_check(s->n, err) : code;
}

static const char *const GPU_COLUMNS[] = {
    "id",           "name",         "uuid",     "busLocation", "totalMemory", "smCount",
    "computeMajor", "computeMinor", "chipName", "cuDevice",    "clockRate",   "memoryBandwidth"};

static ps_code take_gpus(void *context, const ps_scan_batch *b, ps_err *err) {
    meta_scan *s = context;
    ps_code code = PS_OK;
    for (size_t i = 0; i < b->n_rows; i++) {
        for (size_t k = 1; code == PS_OK && k < N(GPU_COLUMNS); k++) {
            ps_buf_clear(&s->key);
            ps_buf_clear(&s->value);
            ps_buf_addf(&s->key, "gpu.%lld.%s", (long long)ps_nsight_int(b, 0, i, 0),
                        GPU_COLUMNS[k]);
            if (add_nsight_info_value(&s->value, &b->columns[k], i) && s->value.len > 0) {
                code = add_meta(s, err);
            }
        }
    }
    return code == PS_OK ? ps_nsight_check(s->n, err) : code;
}

ps_code ps_nsight_metas(ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"name", "value"};
    static const struct {
        const char *table, *prefix;
    } TABLES[] = {
        {"META_DATA_EXPORT", ""}, {"META_DATA_CAPTURE", ""}, {"TARGET_INFO_SYSTEM_ENV", "system."}};
    meta_scan s = {.n = n};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < N(TABLES); i++) {
        s.prefix = TABLES[i].prefix;
        code = ps_nsight_scan(n, TABLES[i].table, COLUMNS, N(COLUMNS), take_metas, &s, err);
    }
    if (code == PS_OK) {
        code =
            ps_nsight_scan(n, "TARGET_INFO_GPU", GPU_COLUMNS, N(GPU_COLUMNS), take_gpus, &s, err);
    }
    ps_buf_fini(&s.key);
    ps_buf_fini(&s.value);
    return code;
}

/* --- processes ------------------------------------------------------------------------------------------- */

static ps_code take_processes(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight *n = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        uint32_t row = PS_IDMAP_NONE;
        if (b->columns[0].types[i] == PS_CELL_INT && b->columns[0].ints[i] != 0) {
            row = ps_idmap_get(&n->process_rows, (uint64_t)b->columns[0].ints[i]);
        } else if (b->columns[1].types[i] == PS_CELL_INT) {
            row = ps_idmap_get(&n->pids, (uint64_t)b->columns[1].ints[i]);
        }
        ps_scan_bytes name = ps_cell_text(&b->columns[2], i);
        if (row == PS_IDMAP_NONE || !n->processes[row].has_tracks || name.size_bytes == 0) {
            continue;
        }
        ps_builder_process(
            n->builder, (ps_process){.pid = n->processes[row].pid,
                                     .name = ps_builder_str(n->builder, name.data, name.size_bytes),
                                     .order = PS_NO_ORDER});
    }
    return ps_nsight_check(n, err);
}

ps_code ps_nsight_process_names(ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"globalPid", "pid", "name"};
    return ps_nsight_scan(n, "PROCESSES", COLUMNS, N(COLUMNS), take_processes, n, err);
}

/* --- diagnostics ----------------------------------------------------------------------------------------- */

enum { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR, N_SEVERITIES };
static const ps_nsight_symbol SEVERITIES[N_SEVERITIES] = {
    [SEVERITY_INFO] = {"Info", 1, "info"},
    [SEVERITY_WARNING] = {"Warning", 2, "warning"},
    [SEVERITY_ERROR] = {"Error", 3, "error"}};

static const ps_column DIAGNOSTICS[] = {
    {.name = "since_start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "pid", .type = PS_COL_INT},
    {.name = "severity", .type = PS_COL_TEXT},
    {.name = "source", .type = PS_COL_INT},
    {.name = "text", .type = PS_COL_TEXT}};

typedef struct diagnostics {
    ps_nsight *n;
    int64_t ids[N_SEVERITIES];
    ps_table *table; /* or NULL */
    ps_buf text;
} diagnostics;

/* How the profiler words a loss: "Dropped 12 events", "Not all CUDA events might have been collected." */
static bool mentions_loss(const char *text) {
    static const char *const WORDS[] = {"lost",     "dropped",   "not all",
                                        "overflow", "discarded", "incomplete"};
    for (size_t i = 0; i < N(WORDS); i++) {
        if (strcasestr(text, WORDS[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* A message about another process, or about one that left no trace, is not about what is read here. */
static bool concerns(const ps_nsight *n, int64_t process_key) {
    if (ps_nsight_os_pid(process_key) == 0) {
        return true;
    }
    uint32_t row = ps_idmap_get(&n->process_rows, (uint64_t)process_key);
    return row != PS_IDMAP_NONE && ps_nsight_wants(n, row);
}

static ps_code add_diagnostic(diagnostics *d, const ps_scan_batch *b, size_t i, int64_t process_key,
                              size_t severity, ps_err *err) {
    bool ok =
        ps_table_add_row(d->table) && ps_table_set_text(d->table, 4, ps_buf_str(&d->text)) &&
        (severity == N_SEVERITIES || ps_table_set_text(d->table, 2, SEVERITIES[severity].text));
    if (!ok) {
        return ps_fail_nomem(err);
    }
    if (b->columns[0].types[i] == PS_CELL_INT) {
        ps_table_set_int(d->table, 0, b->columns[0].ints[i]);
    }
    ps_table_set_int(d->table, 1, ps_nsight_os_pid(process_key));
    ps_table_set_int(d->table, 3, ps_nsight_int(b, 4, i, 0));
    return PS_OK;
}

static ps_code take_diagnostics(void *context, const ps_scan_batch *b, ps_err *err) {
    diagnostics *d = context;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < b->n_rows; i++) {
        int64_t process_key = ps_nsight_process_key(ps_nsight_int(b, 1, i, 0));
        size_t severity = ps_nsight_symbol_of(d->ids, N_SEVERITIES, ps_nsight_int(b, 2, i, -1));
        ps_scan_bytes text = ps_cell_text(&b->columns[3], i);
        ps_buf_clear(&d->text);
        ps_buf_add(&d->text, text.data, text.size_bytes);
        if (!ps_buf_ok(&d->text)) {
            return ps_fail_nomem(err);
        }
        bool is_bad = severity == SEVERITY_WARNING || severity == SEVERITY_ERROR;
        if (is_bad && mentions_loss(ps_buf_str(&d->text)) && concerns(d->n, process_key)) {
            ps_diag_add(d->n->diag, PS_ODD_PROFILER_LOSS, "%.120s", ps_buf_str(&d->text));
        }
        if (d->table != NULL) {
            code = add_diagnostic(d, b, i, process_key, severity, err);
        }
    }
    return code;
}

ps_code ps_nsight_diagnostics(ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"timestamp", "globalPid", "severity", "text", "source"};
    diagnostics d = {.n = n};
    if (!ps_db_has_table(n->db, "DIAGNOSTIC_EVENT")) {
        return PS_OK;
    }
    if ((n->needs & PS_NEED_TABLES) != 0) {
        d.table = ps_table_new("diagnostics", "What the profiler said about the capture",
                               DIAGNOSTICS, N(DIAGNOSTICS));
        if (d.table == NULL) {
            return ps_fail_nomem(err);
        }
    }
    ps_code code = ps_nsight_symbols(n, "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", SEVERITIES, N_SEVERITIES,
                                     d.ids, err);
    if (code == PS_OK) {
        code =
            ps_nsight_scan(n, "DIAGNOSTIC_EVENT", COLUMNS, N(COLUMNS), take_diagnostics, &d, err);
    }
    ps_buf_fini(&d.text);
    if (code != PS_OK || d.table == NULL) {
        ps_table_free(d.table);
        return code;
    }
    ps_builder_side_table(n->builder, d.table);
    return ps_nsight_check(n, err);
}

/* --- inventory ------------------------------------------------------------------------------------------- */

static const ps_column TABLES[] = {{.name = "table", .type = PS_COL_TEXT},
                                   {.name = "rows", .type = PS_COL_INT, .unit = PS_UNIT_COUNT}};
static const ps_column SPANS[] = {{.name = "what", .type = PS_COL_TEXT},
                                  {.name = "startNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
                                  {.name = "endNs", .type = PS_COL_INT, .unit = PS_UNIT_NS}};
static const ps_column FACTS[] = {{.name = "what", .type = PS_COL_TEXT},
                                  {.name = "value", .type = PS_COL_TEXT}};

static ps_code list_tables(ps_nsight *n, ps_table *t, ps_err *err) {
    size_t n_names = 0;
    const char *const *names = ps_db_tables(n->db, &n_names);
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n_names; i++) {
        int64_t rows = 0;
        code = ps_db_count_rows(n->db, names[i], &rows, err);
        if (code == PS_OK && (!ps_table_add_row(t) || !ps_table_set_text(t, 0, names[i]))) {
            code = ps_fail_nomem(err);
        }
        if (code == PS_OK) {
            ps_table_set_int(t, 1, rows);
        }
    }
    return code;
}

typedef struct span {
    int64_t start_ns, end_ns;
} span;

static ps_code nsight_info_widen(void *context, const ps_scan_batch *b, ps_err *err) {
    span *s = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t start = ps_nsight_int(b, 0, i, INT64_MAX);
        int64_t end = ps_nsight_int(b, 1, i, INT64_MIN);
        s->start_ns = start < s->start_ns ? start : s->start_ns;
        s->end_ns = end > s->end_ns ? end : s->end_ns;
    }
    return PS_OK;
}

static ps_code add_nsight_info_span(ps_nsight *n, ps_table *t, const char *what,
                                    const char *const *tables, size_t n_tables, int64_t epoch_ns,
                                    ps_err *err) {
    static const char *const COLUMNS[] = {"start", "end"};
    span s = {INT64_MAX, INT64_MIN};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n_tables; i++) {
        code = ps_nsight_scan(n, tables[i], COLUMNS, N(COLUMNS), nsight_info_widen, &s, err);
    }
    bool fits = s.start_ns <= s.end_ns &&
                !__builtin_add_overflow(s.start_ns, epoch_ns, &s.start_ns) &&
                !__builtin_add_overflow(s.end_ns, epoch_ns, &s.end_ns);
    if (code != PS_OK || !fits) {
        return code;
    }
    if (!ps_table_add_row(t) || !ps_table_set_text(t, 0, what)) {
        return ps_fail_nomem(err);
    }
    ps_table_set_int(t, 1, s.start_ns);
    ps_table_set_int(t, 2, s.end_ns);
    return PS_OK;
}

static ps_code list_spans(ps_nsight *n, ps_table *t, int64_t epoch_ns, ps_err *err) {
    static const char *const HOST[] = {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"};
    static const char *const DEVICE[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET",
                                         "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    ps_code code = add_nsight_info_span(n, t, "host", HOST, N(HOST), epoch_ns, err);
    return code == PS_OK ? add_nsight_info_span(n, t, "device", DEVICE, N(DEVICE), epoch_ns, err)
                         : code;
}

typedef struct fact_scan {
    ps_table *table;
    const char *wanted, *what; /* of a name, value table; wanted NULL: column 0 is the value */
} fact_scan;

static ps_code take_facts(void *context, const ps_scan_batch *b, ps_err *err) {
    const fact_scan *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        size_t column = s->wanted != NULL ? 1 : 0;
        ps_scan_bytes value = ps_cell_text(&b->columns[column], i);
        if (value.size_bytes == 0 ||
            (s->wanted != NULL && !text_is(ps_cell_text(&b->columns[0], i), s->wanted))) {
            continue;
        }
        char *text = ps_strndup(value.data, value.size_bytes);
        bool ok = text != NULL && ps_table_add_row(s->table) &&
                  ps_table_set_text(s->table, 0, s->what) && ps_table_set_text(s->table, 1, text);
        ps_free(text);
        if (!ok) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static ps_code list_facts(ps_nsight *n, ps_table *t, ps_err *err) {
    static const struct {
        const char *table, *wanted, *what;
    } PARTS[] = {{"TARGET_INFO_GPU", NULL, "device"},
                 {"TARGET_INFO_SYSTEM_ENV", "Hostname", "host"},
                 {"META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "profiler version"},
                 {"META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "schema version"}};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < N(PARTS); i++) {
        fact_scan s = {t, PARTS[i].wanted, PARTS[i].what};
        const char *const columns[] = {"name", "value"};
        code = ps_nsight_scan(n, PARTS[i].table, columns, N(columns), take_facts, &s, err);
    }
    return code;
}

ps_code ps_nsight_inventory(ps_nsight *n, int64_t epoch_ns, ps_err *err) {
    ps_table *made[] = {ps_table_new("tables", "", TABLES, N(TABLES)),
                        ps_table_new("spans", "", SPANS, N(SPANS)),
                        ps_table_new("facts", "", FACTS, N(FACTS))};
    ps_code code =
        made[0] != NULL && made[1] != NULL && made[2] != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? list_tables(n, made[0], err) : code;
    code = code == PS_OK ? list_spans(n, made[1], epoch_ns, err) : code;
    code = code == PS_OK ? list_facts(n, made[2], err) : code;
    for (size_t i = 0; i < N(made); i++) {
        if (code == PS_OK) {
            ps_builder_side_table(n->builder, made[i]);
        } else {
            ps_table_free(made[i]);
        }
    }
    return code == PS_OK ? ps_nsight_check(n, err) : code;
}
