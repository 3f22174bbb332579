/* The sample logs: every event, untimed job and malformed line that <set>.expected.json names, and no others. The sets
 * of tests/data, and all of the shared samples where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/literal.h"
#include "read/paddle/paddle.h"
#include "read/readers.h"

enum { MAX_LOGS = 16 };

typedef struct log {
    int64_t machine, worker;
    ps_trace *trace;
    size_t n_expected, n_untimed, n_rejected;
} log;

typedef struct set {
    const char *dir; /* with the logs */
    log logs[MAX_LOGS];
    size_t n_logs;
    ps_arena arena;
} set;

static const char *text(ps_arena *arena, const char *format, ...) {
    char out[1024];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(out, sizeof out, format, ap);
    va_end(ap);
    return ps_arena_strndup(arena, out, strlen(out));
}

static ps_trace *read_log(const char *path) {
    ps_err err = PS_ERR_INIT;
    ps_src src = {.path = path, .reader = ps_reader_for(path, &err)};
    if (src.reader == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    assert_string_equal(src.reader->name, "paddle-log");
    ps_trace *t =
        ps_read(&src, PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META | PS_NEED_INVENTORY, &err);
    if (t == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    return t;
}

/* The log of a worker, read when first asked for. */
static log *log_of(set *s, int64_t machine, int64_t worker) {
    for (size_t i = 0; i < s->n_logs; i++) {
        if (s->logs[i].machine == machine && s->logs[i].worker == worker) {
            return &s->logs[i];
        }
    }
    const char *path = text(&s->arena, "%s/machine%lld/workerlog.%lld", s->dir, (long long)machine,
                            (long long)worker);
    if (!ps_is_file(path)) {
        path = text(&s->arena, "%s/workerlog.%lld", s->dir, (long long)worker);
    }
    assert_true(s->n_logs < MAX_LOGS);
    log *l = &s->logs[s->n_logs++];
    *l = (log){.machine = machine, .worker = worker, .trace = read_log(path)};
    return l;
}

static int64_t number(const ps_literal *object, const char *key, int64_t fallback) {
    int64_t value = fallback;
    return ps_literal_int(ps_literal_get(object, key), &value) ? value : fallback;
}

static int64_t cell(const ps_table *t, size_t row, const char *column) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, column) == 0) {
            return ps_table_cell(t, row, c)->u.i;
        }
    }
    fail_msg("no column %s", column);
    return 0;
}

static int64_t arg(const ps_trace *t, uint32_t slice, const char *key) {
    int64_t value = -1;
    assert_true(ps_trace_arg_int(t, slice, key, &value));
    return value;
}

/* The step as the log says it: of a further run it may have been moved. */
static int64_t said_step(const ps_trace *t, int64_t run, int64_t step) {
    const ps_table *runs = ps_trace_side_table(t, "runs");
    assert_true(run >= 0 && (size_t)run < runs->n_rows);
    return step - cell(runs, (size_t)run, "first_step") +
           cell(runs, (size_t)run, "first_step_said");
}

static void expect_event(set *s, const ps_literal *e) {
    log *l = log_of(s, number(e, "machine", 0), number(e, "worker", 0));
    const ps_trace *t = l->trace;
    const ps_slices *slices = ps_trace_slices(t);
    int64_t start_ns = number(e, "start_us", 0) * 1000 - ps_trace_origin_ns(t);
    const char *type = ps_literal_str(ps_literal_get(e, "type"));
    uint32_t i = 0;
    while (i < slices->n &&
           (slices->start_ns[i] != start_ns || slices->source_row[i] != number(e, "line", 0) ||
            strcmp(ps_trace_text(t, slices->name[i]), type) != 0)) {
        i++;
    }
    if (i == slices->n) {
        fail_msg("%s: no slice for %s of line %lld", s->dir, type, (long long)number(e, "line", 0));
    }
    int64_t run = number(e, "run", 0);
    assert_int_equal(slices->kind[i], PS_SLICE_JOB);
    assert_int_equal(slices->dur_ns[i], (number(e, "end_us", 0) - number(e, "start_us", 0)) * 1000);
    assert_int_equal(arg(t, i, "microbatch"), number(e, "micro_batch", -2));
    assert_int_equal(arg(t, i, "job"), number(e, "job_id", -2));
    assert_int_equal(arg(t, i, "seq"), number(e, "seq", -2));
    assert_int_equal(arg(t, i, "line"), number(e, "line", -2));
    assert_int_equal(arg(t, i, "run"), run);
    assert_int_equal(said_step(t, run, arg(t, i, "step")), number(e, "step", -2));
    l->n_expected++;
}

static void expect_untimed(set *s, const ps_literal *e) {
    log *l = log_of(s, number(e, "machine", 0), number(e, "worker", 0));
    const ps_table *t = ps_trace_side_table(l->trace, "untimed_jobs");
    assert_true(l->n_untimed < t->n_rows);
    size_t row = l->n_untimed++;
    assert_string_equal(ps_table_cell(t, row, 0)->u.text,
                        ps_literal_str(ps_literal_get(e, "type")));
    assert_int_equal(cell(t, row, "microbatch"), number(e, "micro_batch", -2));
    assert_int_equal(cell(t, row, "step"), number(e, "step", -2));
    assert_int_equal(cell(t, row, "seq"), number(e, "seq", -2));
    assert_int_equal(cell(t, row, "line"), number(e, "line", -2));
}

static void expect_rejected(log *l, int64_t line) {
    const ps_table *t = ps_trace_side_table(l->trace, "rejected_records");
    assert_true(l->n_rejected < t->n_rows);
    assert_int_equal(cell(t, l->n_rejected++, "line"), line);
}

static void close_set(set *s) {
    for (size_t i = 0; i < s->n_logs; i++) {
        const ps_trace *t = s->logs[i].trace;
        const ps_diag *diag = ps_trace_diag(t);
        size_t n_rejected = ps_trace_side_table(t, "rejected_records")->n_rows;
        assert_int_equal(ps_trace_slices(t)->n, s->logs[i].n_expected);
        assert_int_equal(ps_trace_side_table(t, "untimed_jobs")->n_rows, s->logs[i].n_untimed);
        assert_int_equal(n_rejected, s->logs[i].n_rejected);
        assert_int_equal(diag->counts[PS_ODD_UNTIMED], s->logs[i].n_untimed);
        assert_int_equal(diag->counts[PS_ODD_RECORD] + diag->counts[PS_ODD_TIME], n_rejected);
        ps_trace_free(s->logs[i].trace);
    }
    ps_arena_fini(&s->arena);
}

static const ps_literal *parse_file(ps_arena *arena, const char *path) {
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(path, 1 << 24, &bytes, NULL), PS_OK);
    const char *copy = ps_arena_strndup(arena, ps_buf_str(&bytes), bytes.len);
    const ps_literal *doc = ps_literal_parse(arena, copy, bytes.len, NULL);
    assert_non_null(doc);
    ps_buf_fini(&bytes);
    return doc;
}

static void check_set(const char *root, const char *name) {
    set s = {0};
    ps_arena_init(&s.arena);
    s.dir = text(&s.arena, "%s/%s", root, name);
    const ps_literal *doc = parse_file(&s.arena, text(&s.arena, "%s.expected.json", s.dir));
    for (const ps_literal *e = ps_literal_get(doc, "events")->child; e != NULL; e = e->next) {
        expect_event(&s, e);
    }
    const ps_literal *untimed = ps_literal_get(doc, "untimed");
    for (const ps_literal *e = untimed != NULL ? untimed->child : NULL; e != NULL; e = e->next) {
        expect_untimed(&s, e);
    }
    for (const ps_literal *e = ps_literal_get(doc, "malformed")->child; e != NULL; e = e->next) {
        expect_rejected(log_of(&s, number(e, "machine", 0), number(e, "worker", 0)),
                        number(e, "line", -1));
    }
    assert_true(s.n_logs > 0);
    close_set(&s);
}

/* broken.expected.json: how many records, and which lines are rejected. */
static void check_broken(const char *root) {
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *doc = parse_file(&arena, text(&arena, "%s/broken.expected.json", root));
    for (const ps_literal *e = doc->child; e != NULL; e = e->next) {
        const char *path = text(&arena, "%s/broken/%s/workerlog.0", root, e->key);
        ps_file_id id;
        if (ps_file_identify(path, &id, NULL) != PS_OK || id.size_bytes == 0) {
            assert_int_equal(number(e, "records", -1),
                             e->key[0] == 'e' ? 0 : 1); /* empty, long_line */
            continue;
        }
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_log(path);
        log l = {.trace = t};
        assert_non_null(t);
        assert_int_equal(err.code, PS_OK);
        assert_int_equal(ps_trace_slices(t)->n, number(e, "records", -1));
        for (const ps_literal *line = ps_literal_get(e, "rejected_lines")->child; line != NULL;
             line = line->next) {
            expect_rejected(&l, line->integer);
        }
        assert_int_equal(ps_trace_side_table(t, "rejected_records")->n_rows, l.n_rejected);
        ps_trace_free(t);
    }
    ps_arena_fini(&arena);
}

static void check_root(const char *root) {
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    size_t n_sets = 0;
    assert_int_equal(ps_list_dir(root, &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        const char *dot = strstr(names[i], ".expected.json");
        if (dot != NULL && strncmp(names[i], "broken", 6) != 0) {
            check_set(root, ps_arena_strndup(&arena, names[i], (size_t)(dot - names[i])));
            n_sets++;
        }
    }
    assert_true(n_sets >= 5);
    check_broken(root);
    ps_arena_fini(&arena);
}

static void samples_of_the_project(void **state) {
    (void)state;
    check_root("tests/data/paddle_logs");
}

static void shared_samples(void **state) {
    (void)state;
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    char root[1024];
    (void)snprintf(root, sizeof root, "%s/paddle_logs", shared != NULL ? shared : "../shared/data");
    if (!ps_is_dir(root)) {
        print_message("skipped: no %s\n", root);
        skip();
    }
    check_root(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_of_the_project),
                                       cmocka_unit_test(shared_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
