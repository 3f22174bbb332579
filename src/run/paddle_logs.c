#include "run/paddle_logs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/threads.h"
#include "read/paddle/paddle.h"
#include "read/readers.h"

#define MAX_LOGS ((size_t)1 << 16)

/* A directory with logs. */
typedef struct machine {
    const char *dir;
    int64_t number;   /* -1: none in the name */
    int64_t *workers; /* ascending */
    size_t n_workers;
} machine;

typedef struct search {
    ps_paddle_logs *logs;
    machine *machines;
    size_t n_machines, cap_machines;
    int64_t *columns;
    size_t n_columns, cap_columns;
    size_t n_logs, cap_logs; /* found, and room for them in logs */
} search;

static int compare_machines(const void *a, const void *b) {
    const machine *x = a;
    const machine *y = b;
    if ((x->number < 0) != (y->number < 0)) {
        return x->number < 0 ? 1 : -1; /* those without a number come last, by name */
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return strcmp(x->dir, y->dir);
}

/* The first number in "machine10" or "machine-3b"; -1 without one. */
static int64_t log_number_in(const char *name) {
    const char *digits = name + strcspn(name, "0123456789");
    size_t n = strspn(digits, "0123456789");
    int64_t number = -1;
    return n > 0 && n <= 9 && ps_parse_i64(digits, n, &number) ? number : -1;
}

/* The logs right in `dir`. A machine without any is not added. */
static ps_code add_machine(search *s, const char *dir, int64_t number, ps_err *err) {
    ps_arena *arena = &s->logs->arena;
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(dir, arena, &names, &n, err);
    if (code != PS_OK) {
        return code;
    }
    machine m = {.dir = dir, .number = number};
    m.workers = ps_arena_alloc(arena, (n + 1) * sizeof *m.workers);
    if (m.workers == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t worker = ps_paddle_worker_of(names[i]);
        if (worker < 0) {
            continue;
        }
        const char *path = ps_path_join(arena, dir, names[i]);
        if (path == NULL) {
            return ps_fail_nomem(err);
        }
        ps_path_kind kind = PS_PATH_NONE;
        code = ps_path_look(path, &kind, err);
        if (code == PS_IO) {
            return code;
        }
        if (kind != PS_PATH_DIR) {
            m.workers[m.n_workers++] = worker;
        }
    }
    if (m.n_workers == 0) {
        return PS_OK;
    }
    qsort(m.workers, m.n_workers, sizeof *m.workers, ps_compare_i64);
    size_t n_workers = 1;
    for (size_t i = 1; i < m.n_workers; i++) { /* workerlog.0 beside workerlog.0.gz: one worker */
        if (m.workers[i] != m.workers[i - 1]) {
            m.workers[n_workers++] = m.workers[i];
        }
    }
    m.n_workers = n_workers;
    s->n_logs += m.n_workers;
    if (s->n_logs > MAX_LOGS) {
        return ps_fail_file(err, PS_RANGE, dir, "more than %zu logs", MAX_LOGS);
    }
    return PS_ADD(s->machines, s->n_machines, s->cap_machines, MAX_LOGS, m) ? PS_OK
                                                                            : ps_fail_nomem(err);
}

static ps_code add_machines(search *s, const char *log_dir, ps_err *err) {
    ps_arena *arena = &s->logs->arena;
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(log_dir, arena, &names, &n, err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        if (strncmp(names[i], "machine", 7) != 0) {
            continue;
        }
        const char *dir = ps_path_join(arena, log_dir, names[i]);
        if (dir == NULL) {
            return ps_fail_nomem(err);
        }
        ps_path_kind kind = PS_PATH_NONE;
        code = ps_path_look(dir, &kind, err);
        if (kind == PS_PATH_DIR) {
            code = add_machine(s, dir, log_number_in(names[i]), err);
        }
    }
    return code;
}

/* By number; a machine without one, or with one that another has, gets the next after the largest. */
static void number_log_machines(search *s) {
    qsort(s->machines, s->n_machines, sizeof *s->machines, compare_machines);
    int64_t next = 0;
    for (size_t i = 0; i < s->n_machines; i++) {
        next = s->machines[i].number >= next ? s->machines[i].number + 1 : next;
    }
    int64_t before = -1;
    for (size_t i = 0; i < s->n_machines; i++) {
        int64_t number = s->machines[i].number;
        s->machines[i].number = number == before ? -1 : number;
        before = number;
    }
    for (size_t i = 0; i < s->n_machines; i++) {
        s->machines[i].number = s->machines[i].number < 0 ? next++ : s->machines[i].number;
    }
    qsort(s->machines, s->n_machines, sizeof *s->machines, compare_machines);
}

/* --- which logs --------------------------------------------------------------------------------------------- */

static bool has_worker(const machine *m, int64_t worker) {
    return bsearch(&worker, m->workers, m->n_workers, sizeof worker, ps_compare_i64) != NULL;
}

static bool add_log_column(search *s, int64_t worker) {
    return PS_ADD(s->columns, s->n_columns, s->cap_columns, MAX_LOGS, worker);
}

static bool is_column(const search *s, int64_t worker) {
    for (size_t i = 0; i < s->n_columns; i++) {
        if (s->columns[i] == worker) {
            return true;
        }
    }
    return false;
}

/* The workers asked for in the order given, each once; else all that any machine has. */
static bool choose_columns(search *s, const int64_t *workers, size_t n_workers) {
    for (size_t i = 0; i < n_workers; i++) {
        if (!is_column(s, workers[i]) && !add_log_column(s, workers[i])) {
            return false;
        }
    }
    if (n_workers > 0) {
        return true;
    }
    for (size_t m = 0; m < s->n_machines; m++) {
        for (size_t i = 0; i < s->machines[m].n_workers; i++) {
            if (!add_log_column(s, s->machines[m].workers[i])) {
                return false;
            }
        }
    }
    qsort(s->columns, s->n_columns, sizeof *s->columns, ps_compare_i64);
    size_t n = 0;
    for (size_t i = 0; i < s->n_columns; i++) {
        if (n == 0 || s->columns[n - 1] != s->columns[i]) {
            s->columns[n++] = s->columns[i];
        }
    }
    s->n_columns = n;
    return true;
}

static bool add_log(search *s, size_t row, size_t column, bool is_missing) {
    ps_paddle_logs *l = s->logs;
    const machine *m = &s->machines[row];
    ps_buf name = {0};
    ps_buf_addf(&name, "workerlog.%lld", (long long)s->columns[column]);
    const char *path = ps_buf_ok(&name) ? ps_path_join(&l->arena, m->dir, ps_buf_str(&name)) : NULL;
    if (path != NULL && !is_missing && !ps_is_file(path)) {
        ps_buf_add_str(&name, ".gz");
        const char *packed =
            ps_buf_ok(&name) ? ps_path_join(&l->arena, m->dir, ps_buf_str(&name)) : NULL;
        path = packed == NULL || ps_is_file(packed) ? packed : path;
    }
    ps_buf_fini(&name);
    if (path == NULL || !ps_grow(&l->logs, &s->cap_logs, l->n + 1, MAX_LOGS, sizeof *l->logs)) {
        return false;
    }
    l->logs[l->n++] = (ps_paddle_log){.path = path,
                                      .machine = m->number,
                                      .worker = s->columns[column],
                                      .machine_row = (uint32_t)row,
                                      .column = (uint32_t)column,
                                      .is_missing = is_missing,
                                      .err = PS_ERR_INIT};
    return true;
}

/* The workers asked for, there or not. */
static bool list_asked(search *s, size_t row) {
    bool ok = true;
    for (size_t c = 0; ok && c < s->n_columns; c++) {
        ok = add_log(s, row, c, !has_worker(&s->machines[row], s->columns[c]));
    }
    return ok;
}

/* All that the machine has; each is a column. */
static bool list_own(search *s, size_t row) {
    const machine *m = &s->machines[row];
    bool ok = true;
    for (size_t i = 0; ok && i < m->n_workers; i++) {
        const int64_t *column =
            bsearch(&m->workers[i], s->columns, s->n_columns, sizeof *s->columns, ps_compare_i64);
        bool is_twin = i > 0 && m->workers[i] == m->workers[i - 1];
        ok = is_twin || (column != NULL && add_log(s, row, (size_t)(column - s->columns), false));
    }
    return ok;
}

static ps_code list_logs(search *s, bool asked, ps_err *err) {
    ps_paddle_logs *l = s->logs;
    if (asked && s->n_columns > MAX_LOGS / s->n_machines) {
        return ps_fail(err, PS_RANGE, "more than %zu logs", MAX_LOGS);
    }
    for (size_t row = 0; row < s->n_machines; row++) {
        if (!(asked ? list_asked(s, row) : list_own(s, row))) {
            return ps_fail_nomem(err);
        }
    }
    l->n_machines = (uint32_t)s->n_machines;
    l->n_columns = (uint32_t)s->n_columns;
    return PS_OK;
}

static ps_code search_dir(search *s, const char *log_dir, bool by_machine, ps_err *err) {
    ps_code code = by_machine ? PS_OK : add_machine(s, log_dir, 0, err);
    if (code == PS_OK && s->n_machines == 0) {
        s->logs->by_machine = true;
        code = add_machines(s, log_dir, err);
    }
    if (code == PS_OK && s->n_machines == 0) {
        return ps_fail_file(err, PS_NOTHING, log_dir,
                            by_machine
                                ? "no directory machine* with files workerlog.N in it"
                                : "no file workerlog.N, and no directory machine* that has one");
    }
    if (code == PS_OK) {
        number_log_machines(s);
    }
    return code;
}

static bool set_note(search *s, const machine *m, int64_t missing, int64_t there) {
    ps_buf text = {0};
    ps_buf_addf(&text, "%s: no workerlog.%lld, though there is workerlog.%lld", m->dir,
                (long long)missing, (long long)there);
    s->logs->note =
        ps_buf_ok(&text) ? ps_arena_strndup(&s->logs->arena, ps_buf_str(&text), text.len) : NULL;
    ps_buf_fini(&text);
    return s->logs->note != NULL;
}

/* Logs that nobody asked for by number leave gaps unseen. A log between two others is missing; those before the first
 * may belong to another place. */
static bool note_gap(search *s) {
    for (size_t m = 0; m < s->n_machines; m++) {
        const machine *x = &s->machines[m];
        for (size_t i = 1; i < x->n_workers; i++) {
            if (x->workers[i] != x->workers[i - 1] + 1) {
                s->logs->has_gap = true;
                return set_note(s, x, x->workers[i - 1] + 1, x->workers[i]);
            }
        }
    }
    for (size_t m = 0; m < s->n_machines; m++) {
        if (s->machines[m].workers[0] != 0) {
            return set_note(s, &s->machines[m], 0, s->machines[m].workers[0]);
        }
    }
    return true;
}

ps_paddle_logs *ps_paddle_logs_find(const char *log_dir, const int64_t *workers, size_t n_workers,
                                    bool by_machine, ps_err *err) {
    search s = {.logs = ps_calloc(1, sizeof(ps_paddle_logs))};
    if (s.logs == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_code code = search_dir(&s, log_dir, by_machine, err);
    if (code == PS_OK && !choose_columns(&s, workers, n_workers)) {
        code = ps_fail_nomem(err);
    }
    code = code == PS_OK ? list_logs(&s, n_workers > 0, err) : code;
    if (code == PS_OK && n_workers == 0 && !note_gap(&s)) {
        code = ps_fail_nomem(err);
    }
    ps_free(s.machines);
    ps_free(s.columns);
    if (code != PS_OK) {
        ps_paddle_logs_free(s.logs);
        return NULL;
    }
    return s.logs;
}

void ps_paddle_logs_free(ps_paddle_logs *l) {
    if (l != NULL) {
        for (size_t i = 0; i < l->n; i++) {
            ps_trace_free(l->logs[i].trace);
        }
        ps_free(l->logs);
        ps_arena_fini(&l->arena);
        ps_free(l);
    }
}

/* --- reading -------------------------------------------------------------------------------------------------- */

typedef struct job {
    ps_paddle_logs *logs;
    void (*progress)(void *context);
    void *context;
} job;

static void read_one(void *context, size_t i) {
    const job *j = context;
    ps_paddle_log *l = &j->logs->logs[i];
    if (l->is_missing) {
        (void)ps_fail_file(&l->err, PS_NOT_FOUND, l->path, "there is no such log");
    } else {
        ps_src src = {.path = l->path, .reader = &ps_reader_paddle};
        l->trace =
            ps_read(&src, PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META | PS_NEED_ARGS, &l->err);
    }
    if (j->progress != NULL) {
        j->progress(j->context);
    }
}

void ps_paddle_logs_read(ps_paddle_logs *l, size_t n_threads, void (*progress)(void *context),
                         void *context) {
    job j = {l, progress, context};
    ps_parallel(l->n, n_threads, read_one, &j);
}
