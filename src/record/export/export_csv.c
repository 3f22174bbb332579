/* Times are microseconds with three decimals, absolute ones with a tab behind them, which keeps spreadsheets from rounding them; what nobody
 * knows is N/A.
 *
 * A step has what began in it. Its window on the device is from the first of its kernels and transfers to the last; Preparing is what
 * lies before, from the beginning of the step:
 *
 *   Free = window - Computing - Communication(Not Overlapped)       Stage = window - Bubble       Bubble: receiving
 */
#include "record/export/export_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/order.h"
#include "base/publish.h"
#include "record/export/failure.h"

enum { FLUSH_BYTES = 1 << 20, N_FILES = 3 };

static const char *const FILES[N_FILES] = {"kernel_details.csv", "op_statistic.csv",
                                           "step_trace_time.csv"};

/* --- a file --------------------------------------------------------------------------------------------------------- */

typedef struct csv {
    ps_publish file;
    ps_buf text;
    int error; /* errno of a failed write */
    uint64_t n_rows;
} csv;

static void flush_csv(csv *c, size_t from) {
    size_t at = 0;
    while (c->error == 0 && c->text.len >= from && at < c->text.len) {
        ssize_t n = write(c->file.fd, c->text.data + at, c->text.len - at);
        if (n < 0 && errno != EINTR) {
            c->error = errno;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    if (c->text.len >= from && ps_buf_ok(&c->text)) {
        ps_buf_clear(&c->text);
    }
}

/* In quotes where it must be. */
static void add_csv_text(csv *c, const char *text, size_t n) {
    if (memchr(text, '"', n) == NULL && memchr(text, ',', n) == NULL &&
        memchr(text, '\n', n) == NULL && memchr(text, '\r', n) == NULL) {
        ps_buf_add(&c->text, text, n);
        return;
    }
    ps_buf_add_char(&c->text, '"');
    for (size_t i = 0; i < n; i++) {
        ps_buf_add(&c->text, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
    }
    ps_buf_add_char(&c->text, '"');
}

static void add_csv_us(csv *c, int64_t ns) {
    ps_buf_addf(&c->text, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void end_csv_row(csv *c) {
    ps_buf_add_char(&c->text, '\n');
    c->n_rows++;
    flush_csv(c, FLUSH_BYTES);
}

static ps_code csv_path(const char *dir, const char *name, char *out, size_t size, ps_err *err) {
    int n = snprintf(out, size, "%s/%s", dir, name);
    return n >= 0 && (size_t)n < size ? PS_OK
                                      : ps_fail_file(err, PS_IO, dir, "the path is too long");
}

/* --- what the rows are made of -------------------------------------------------------------------------------------- */

typedef struct csv_work {
    ps_export *e;
    size_t step; /* the first one that may hold what comes next */
} csv_work;

static bool is_csv_kernel(const ps_task *t) {
    return t->what == PS_TASK_OPERATOR || t->what == PS_TASK_KERNEL || t->what == PS_TASK_GRAPH ||
           t->what == PS_TASK_COMMUNICATION;
}

static bool step_on_device(const ps_export *e, const ps_steps *s, size_t i) {
    return !e->host_backend && s->device_start_ns[i] != PS_STILL_OPEN &&
           s->device_end_ns[i] != PS_STILL_OPEN;
}

static int64_t step_start(const ps_export *e, const ps_steps *s, size_t i) {
    return step_on_device(e, s, i) ? s->device_start_ns[i] : s->start_ns[i];
}

/* The row of the step in which a moment lies, PS_NO_TEXT when none; moments come in order. */
static uint32_t csv_step_at(csv_work *w, int64_t at_ns) {
    const ps_steps *s = ps_capture_steps(w->e->c);
    while (w->step < s->n) {
        bool on_device = step_on_device(w->e, s, w->step);
        int64_t end = on_device ? s->device_end_ns[w->step] : s->end_ns[w->step];
        if (at_ns < step_start(w->e, s, w->step)) {
            return PS_NO_TEXT;
        }
        if (at_ns < end) {
            return (uint32_t)w->step;
        }
        w->step++;
    }
    return PS_NO_TEXT;
}

static const char *const *csv_type_of(const ps_task *t) {
    static const char *const CORES[] = {[PS_TASK_OPERATOR] = "HOST_OP",
                                        [PS_TASK_KERNEL] = "GPU_KERNEL",
                                        [PS_TASK_COMMUNICATION] = "COMMUNICATION",
                                        [PS_TASK_GRAPH] = "GPU_GRAPH"};
    return &CORES[t->what];
}

/* --- kernel_details.csv ----------------------------------------------------------------------------------------------- */

static void put_csv_kernel(csv *c, csv_work *w, const ps_task *t, int64_t wait_ns, size_t number) {
    static const char UNKNOWN[] = ",N/A";
    ps_export *e = w->e;
    const ps_events *v = ps_capture_events(e->c);
    const ps_device_rows *d = ps_capture_device(e->c);
    int64_t name = ps_export_task_name(e, t);
    uint32_t step = csv_step_at(w, t->start_ns);
    if (e->out_of_memory) {
        return;
    }
    if (step != PS_NO_TEXT) {
        ps_buf_addf(&c->text, "%" PRId64, ps_capture_steps(e->c)->number[step]);
    }
    ps_buf_addf(&c->text, ",N/A,%zu,%" PRIu32 ",", number, t->stream);
    for (unsigned i = 0; i < 2; i++) { /* name and type */
        add_csv_text(c, e->strings.text[name], e->strings.length[name]);
        ps_buf_add_char(&c->text, ',');
    }
    ps_buf_addf(&c->text, "N/A,%s,", *csv_type_of(t));
    add_csv_us(c, t->start_ns);
    ps_buf_add_str(&c->text, "\t,");
    add_csv_us(c, ps_i64_minus(t->end_ns, t->start_ns));
    ps_buf_add_char(&c->text, ',');
    add_csv_us(c, wait_ns);
    if (t->what == PS_TASK_KERNEL) {
        ps_buf_addf(&c->text, ",%" PRIu32, (uint32_t)d->bytes[t->row]);
    } else {
        ps_buf_add_str(&c->text, UNKNOWN);
    }
    ps_buf_add_str(&c->text, ",N/A,N/A,");
    if (t->what == PS_TASK_OPERATOR &&
        v->shapes[t->row] != PS_NO_TEXT) { /* quoted twice, as Ascend's */
        size_t n = 0;
        const char *shapes = ps_capture_text(e->c, v->shapes[t->row], &n);
        ps_buf_add_str(&c->text, "\"\"\"");
        ps_buf_add(&c->text, shapes, n);
        ps_buf_add_str(&c->text, "\"\"\"");
    } else {
        ps_buf_add_str(&c->text, "N/A");
    }
    for (unsigned i = 0; i < 6; i++) {
        ps_buf_add_str(&c->text, UNKNOWN);
    }
    end_csv_row(c);
}

static void fill_csv_kernels(csv *c, ps_export *e) {
    csv_work w = {.e = e};
    int64_t before[32]; /* the end of the last one, by device */
    for (unsigned i = 0; i < 32; i++) {
        before[i] = INT64_MAX;
    }
    ps_buf_add_str(
        &c->text,
        "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
        "Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data "
        "Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID\n");
    for (size_t i = 0; c->error == 0 && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (is_csv_kernel(t)) {
            int64_t *last = &before[t->device & 31];
            put_csv_kernel(c, &w, t, *last < t->start_ns ? t->start_ns - *last : 0, i);
            *last = *last == INT64_MAX || t->end_ns > *last ? t->end_ns : *last;
        }
    }
}

/* --- op_statistic.csv --------------------------------------------------------------------------------------------------- */

typedef struct op_total {
    int64_t name;
    const char *const *core;
    uint64_t count;
    int64_t total_ns, least_ns, most_ns;
} op_total;

PS_COMPARE(compare_op_names, op_total, PS_BY(name) PS_BY(core))
PS_COMPARE(compare_op_totals, op_total, PS_BY_DOWN(total_ns) PS_BY(name) PS_BY(core))

/* One of each name, in place; how many. */
static size_t merge_op_totals(op_total *ops, size_t n) {
    size_t kept = 0;
    qsort(ops, n, sizeof *ops, compare_op_names);
    for (size_t i = 0; i < n; i++) {
        op_total *last = kept > 0 ? &ops[kept - 1] : NULL;
        if (last == NULL || last->name != ops[i].name || last->core != ops[i].core) {
            ops[kept++] = ops[i];
            continue;
        }
        last->count++;
        last->total_ns += ops[i].total_ns;
        last->least_ns = ops[i].least_ns < last->least_ns ? ops[i].least_ns : last->least_ns;
        last->most_ns = ops[i].most_ns > last->most_ns ? ops[i].most_ns : last->most_ns;
    }
    qsort(ops, kept, sizeof *ops, compare_op_totals);
    return kept;
}

static void fill_csv_operators(csv *c, ps_export *e) {
    op_total *ops = ps_alloc((e->n_tasks + 1) * sizeof *ops);
    size_t n = 0;
    int64_t all_ns = 0;
    e->out_of_memory = e->out_of_memory || ops == NULL;
    for (size_t i = 0; ops != NULL && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (is_csv_kernel(t)) {
            int64_t ns = ps_i64_minus(t->end_ns, t->start_ns);
            ops[n++] = (op_total){ps_export_task_name(e, t), csv_type_of(t), 1, ns, ns, ns};
            all_ns += ns;
        }
    }
    n = e->out_of_memory ? 0 : merge_op_totals(ops, n);
    ps_buf_add_str(&c->text, "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),"
                             "Max Time(us),Ratio(%)\n");
    for (size_t i = 0; i < n; i++) {
        const op_total *o = &ops[i];
        add_csv_text(c, e->strings.text[o->name], e->strings.length[o->name]);
        ps_buf_addf(&c->text, ",%s,%" PRIu64, *o->core, o->count);
        const int64_t times[] = {o->total_ns, o->least_ns, o->total_ns / (int64_t)o->count,
                                 o->most_ns};
        for (unsigned k = 0; k < 4; k++) {
            ps_buf_add_char(&c->text, ',');
            add_csv_us(c, times[k]);
        }
        ps_buf_addf(&c->text, ",%.3f",
                    all_ns > 0 ? 100.0 * (double)o->total_ns / (double)all_ns : 0.0);
        end_csv_row(c);
    }
    ps_free(ops);
}

/* --- step_trace_time.csv ------------------------------------------------------------------------------------------------ */

enum { COMPUTES = 1, COMMUNICATES = 2, RECEIVES = 4 };

typedef struct busy {
    int64_t start_ns, end_ns;
    uint32_t order;
    uint8_t kind;
} busy;

PS_COMPARE(compare_busy, busy, PS_BY(start_ns) PS_BY(order))

/* What the program said of a transfer of its own: docs/recording/programs.md. */
static uint8_t communication_of(const ps_export *e, const ps_mark *m) {
    static const char *const DOMAIN = "communication";
    const ps_texts *strings = &e->strings;
    if (!e->host_backend || m->comm != NULL || m->event == PS_NO_TEXT ||
        ps_capture_events(e->c)->what[m->event] == PS_EVENT_MARK ||
        strcmp(strings->text[m->domain], DOMAIN) != 0) {
        return 0;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    const char *text = strings->text[m->message];
    const ps_literal *said = ps_literal_parse(&arena, text, strlen(text), NULL);
    const char *name = ps_literal_str(ps_literal_get(said, "opName"));
    bool receives =
        name != NULL && (strcmp(name, "HcclRecv") == 0 || strcmp(name, "HcclReceive") == 0);
    ps_arena_fini(&arena);
    return receives ? COMMUNICATES | RECEIVES : COMMUNICATES;
}

static busy *collect_busy(ps_export *e, size_t *n) {
    busy *all = NULL;
    size_t cap = 0;
    ps_mark m;
    bool ok = true;
    for (size_t i = 0; ok && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (is_csv_kernel(t)) {
            uint8_t kind = t->what == PS_TASK_COMMUNICATION ? COMMUNICATES : COMPUTES;
            ok = ps_grow(&all, &cap, *n + 1, UINT32_MAX, sizeof *all);
            if (ok) {
                all[*n] = (busy){t->start_ns, t->end_ns, (uint32_t)*n, kind};
                *n += 1;
            }
        }
    }
    for (ps_mark_walk w = {0}; ok && ps_marks_next(e, &w, &m) && !e->out_of_memory;) {
        uint8_t kind = m.end_ns != PS_STILL_OPEN ? communication_of(e, &m) : 0;
        ok = kind == 0 || ps_grow(&all, &cap, *n + 1, UINT32_MAX, sizeof *all);
        if (ok && kind != 0) {
            all[*n] = (busy){m.start_ns, m.end_ns, (uint32_t)*n, kind};
            *n += 1;
        }
    }
    if (!ok || e->out_of_memory) {
        e->out_of_memory = true;
        ps_free(all);
        return NULL;
    }
    if (*n > 0) {
        qsort(all, *n, sizeof *all, compare_busy);
    }
    return all;
}

/* How long any of these kinds was going on. */
static int64_t busy_ns(const busy *all, size_t n, unsigned kinds) {
    int64_t sum = 0;
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if ((all[i].kind & kinds) == 0 || all[i].end_ns <= end) {
            continue;
        }
        sum += all[i].end_ns - (all[i].start_ns > end ? all[i].start_ns : end);
        end = all[i].end_ns;
    }
    return sum;
}

static void put_csv_step(csv *c, ps_export *e, size_t step, const busy *all, size_t n) {
    const ps_steps *s = ps_capture_steps(e->c);
    int64_t end = all[0].end_ns;
    for (size_t i = 1; i < n; i++) {
        end = all[i].end_ns > end ? all[i].end_ns : end;
    }
    int64_t window = end - all[0].start_ns;
    int64_t computing = busy_ns(all, n, COMPUTES);
    int64_t communication = busy_ns(all, n, COMMUNICATES);
    int64_t both = busy_ns(all, n, COMPUTES | COMMUNICATES);
    int64_t bubble = busy_ns(all, n, RECEIVES);
    int64_t without_receiving = busy_ns(all, n, COMPUTES | RECEIVES);
    const int64_t times[] = {computing,
                             both - computing,
                             computing + communication - both,
                             communication,
                             window - both,
                             window - bubble,
                             bubble,
                             both - without_receiving,
                             all[0].start_ns - step_start(e, s, step)};
    ps_buf_addf(&c->text, "%" PRId64 ",%" PRId64, e->device_id, s->number[step]);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        ps_buf_add_char(&c->text, ',');
        add_csv_us(c, times[i]);
    }
    end_csv_row(c);
}

static void fill_csv_steps(csv *c, ps_export *e) {
    size_t n = 0;
    busy *all = collect_busy(e, &n);
    csv_work w = {.e = e};
    ps_buf_add_str(
        &c->text,
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,"
        "Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\n");
    for (size_t i = 0; all != NULL && i < n && c->error == 0;) {
        uint32_t step = csv_step_at(&w, all[i].start_ns);
        size_t end = i + 1;
        while (end < n && csv_step_at(&w, all[end].start_ns) == step) {
            end++;
        }
        if (step != PS_NO_TEXT) {
            put_csv_step(c, e, step, all + i, end - i);
        }
        i = end;
    }
    ps_free(all);
}

/* --- all of them -------------------------------------------------------------------------------------------------------- */

static ps_code write_csv(ps_export *e, const char *path, void (*fill)(csv *, ps_export *),
                         ps_err *err) {
    csv c = {.n_rows = 0};
    ps_code code = ps_publish_begin(&c.file, path, err);
    if (code != PS_OK) {
        return code;
    }
    ps_buf_init(&c.text, 0);
    fill(&c, e);
    bool ok = ps_buf_ok(&c.text) && !e->out_of_memory;
    flush_csv(&c, 0);
    ps_buf_fini(&c.text);
    code = !ok            ? ps_fail_nomem(err)
           : c.error != 0 ? ps_fail_system(err, path, "cannot write", c.error)
                          : PS_OK;
    if (code != PS_OK || c.n_rows == 0) {
        ps_publish_abort(&c.file);
        return code;
    }
    return ps_publish_commit(&c.file, PS_FLUSHED, err);
}

ps_code ps_csv_write(ps_export *e, const char *dir, ps_err *err) {
    static void (*const FILL[N_FILES])(csv *, ps_export *) = {fill_csv_kernels, fill_csv_operators,
                                                              fill_csv_steps};
    char path[4200];
    ps_code code = PS_OK;
    for (unsigned i = 0; code == PS_OK && i < N_FILES; i++) {
        code = csv_path(dir, FILES[i], path, sizeof path, err);
        code = code == PS_OK ? write_csv(e, path, FILL[i], err) : code;
    }
    return code;
}

void ps_csv_remove(const char *dir) {
    char path[4200];
    for (unsigned i = 0; i < N_FILES; i++) {
        if (csv_path(dir, FILES[i], path, sizeof path, NULL) == PS_OK) {
            (void)unlink(path);
        }
    }
}
