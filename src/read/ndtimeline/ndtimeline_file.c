#include "read/ndtimeline/ndtimeline_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/input.h"
#include "base/order.h"
#include "base/sort.h"
#include "read/events/trace_events.h"

#define LATEST_NS 9e18 /* a double below what int64_t holds */

int64_t ps_ndt_rank(const ps_ndt_file *file, const ps_ndt_worker *worker) {
    return worker->tp + file->n_tp * (worker->dp + file->n_dp * worker->pp);
}

/* Rows of a step are few at first, and then many. */
enum { FIRST_ROWS = 8, MORE_ROWS = 64 };

/* The ops of one thread in one step: whose they are comes later. */
typedef struct raw_list {
    int64_t step; /* INT64_MIN: none */
    uint32_t thread;
    size_t n, n_known; /* known: with the name of an op */
    ps_worker_rows *first, *last;
} raw_list;

/* What a text of the batch in hand means. */
typedef struct text_meaning {
    uint32_t name; /* one more than its row in names; 0: not looked for */
    uint8_t key;   /* argument_key; 0: not looked for */
} text_meaning;

typedef enum argument_key {
    KEY_UNKNOWN,
    KEY_OTHER,
    KEY_STEP,
    KEY_MICROBATCH,
    KEY_CHUNK,
    KEY_ORDER
} argument_key;

enum { THREADS_NEAR = 1024 };

typedef struct reading {
    ps_arena *arena;
    ps_diag *diag;
    raw_list *lists;
    size_t n_lists, cap_lists;
    ps_idmap list_rows; /* hash of thread and step, or the next free number after it */
    ps_ndt_thread *threads;
    size_t n_threads, cap_threads;
    ps_idmap thread_rows;        /* hash of pid and tid, or the next free number after it */
    uint32_t near[THREADS_NEAR]; /* one more than the row of the thread that was last of so many */
    ps_ndt_process *processes;
    size_t n_processes, cap_processes;
    const char **names;
    uint8_t *op_of_name; /* ps_worker_op */
    size_t n_names, cap_names, cap_ops;
    ps_idmap name_rows;     /* the same of a text */
    text_meaning *meanings; /* of the texts of the batch in hand */
    size_t cap_meanings;
    ps_ndt_step *steps;
    size_t n_steps, cap_steps;
    ps_idmap step_rows; /* number of a step -> row */
    bool failed;        /* memory is out */
} reading;

static uint64_t key_behind(uint64_t key) {
    return key + 1;
}

/* --- texts, threads, steps ------------------------------------------------------------------------------------------- */

static uint32_t ndt_name_row(reading *r, const ps_event_text *text) {
    uint64_t key = ps_hash64(text->bytes, text->n);
    uint32_t row = ps_idmap_get(&r->name_rows, key);
    while (row != PS_IDMAP_NONE &&
           (strlen(r->names[row]) != text->n || memcmp(r->names[row], text->bytes, text->n) != 0)) {
        key = key_behind(key);
        row = ps_idmap_get(&r->name_rows, key);
    }
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    const char *own = ps_arena_strndup(r->arena, text->bytes, text->n);
    bool is_plain = own != NULL && strlen(own) == text->n; /* a zero inside: the text ends there */
    if (own != NULL && !is_plain) {
        const ps_event_text cut = {own, (uint32_t)strlen(own)};
        return ndt_name_row(r, &cut);
    }
    if (own == NULL ||
        !ps_grow(&r->names, &r->cap_names, r->n_names + 1, UINT32_MAX - 1, sizeof *r->names) ||
        !ps_grow(&r->op_of_name, &r->cap_ops, r->n_names + 1, UINT32_MAX - 1,
                 sizeof *r->op_of_name) ||
        !ps_idmap_put(&r->name_rows, key, (uint32_t)r->n_names)) {
        r->failed = true;
        return 0;
    }
    r->names[r->n_names] = own;
    r->op_of_name[r->n_names] = (uint8_t)ps_worker_op_find(own, text->n);
    return (uint32_t)r->n_names++;
}

static uint32_t find_thread(reading *r, int64_t pid, int64_t tid) {
    const int64_t both[] = {pid, tid};
    uint64_t key = ps_hash64(both, sizeof both);
    uint32_t row = ps_idmap_get(&r->thread_rows, key);
    while (row != PS_IDMAP_NONE && (r->threads[row].pid != pid || r->threads[row].tid != tid)) {
        key = key_behind(key);
        row = ps_idmap_get(&r->thread_rows, key);
    }
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    if (!ps_grow(&r->threads, &r->cap_threads, r->n_threads + 1, UINT32_MAX - 1,
                 sizeof *r->threads) ||
        !ps_idmap_put(&r->thread_rows, key, (uint32_t)r->n_threads)) {
        r->failed = true;
        return 0;
    }
    r->threads[r->n_threads] = (ps_ndt_thread){
        .pid = pid, .tid = tid, .pp = -1, .worker = PS_NDT_NOBODY, .list = PS_NDT_NOBODY};
    return (uint32_t)r->n_threads++;
}

static uint32_t thread_row(reading *r, int64_t pid, int64_t tid) {
    uint32_t *near = &r->near[((uint64_t)pid * 31 + (uint64_t)tid) % THREADS_NEAR];
    if (*near == 0 || r->threads[*near - 1].pid != pid || r->threads[*near - 1].tid != tid) {
        uint32_t row = find_thread(r, pid, tid);
        if (r->failed) {
            return 0;
        }
        *near = row + 1;
    }
    return *near - 1;
}

static void widen_step(reading *r, int64_t number, int64_t start_ns, int64_t end_ns) {
    uint32_t row = r->n_steps > 0 && r->steps[r->n_steps - 1].step == number
                       ? (uint32_t)r->n_steps - 1
                       : ps_idmap_get(&r->step_rows, (uint64_t)number);
    if (row == PS_IDMAP_NONE) {
        if (!ps_grow(&r->steps, &r->cap_steps, r->n_steps + 1, UINT32_MAX - 1, sizeof *r->steps) ||
            !ps_idmap_put(&r->step_rows, (uint64_t)number, (uint32_t)r->n_steps)) {
            r->failed = true;
            return;
        }
        r->steps[r->n_steps++] = (ps_ndt_step){number, start_ns, end_ns};
        return;
    }
    ps_ndt_step *s = &r->steps[row];
    s->start_ns = start_ns < s->start_ns ? start_ns : s->start_ns;
    s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
}

/* The list of a thread in a step; NULL when memory is out. */
static raw_list *list_of(reading *r, uint32_t thread, int64_t step) {
    ps_ndt_thread *t = &r->threads[thread];
    if (t->list != PS_NDT_NOBODY && r->lists[t->list].step == step) {
        return &r->lists[t->list];
    }
    const int64_t both[] = {thread, step};
    uint64_t key = ps_hash64(both, sizeof both);
    uint32_t row = ps_idmap_get(&r->list_rows, key);
    while (row != PS_IDMAP_NONE && (r->lists[row].thread != thread || r->lists[row].step != step)) {
        key = key_behind(key);
        row = ps_idmap_get(&r->list_rows, key);
    }
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)r->n_lists;
        if (!ps_grow(&r->lists, &r->cap_lists, r->n_lists + 1, UINT32_MAX - 1, sizeof *r->lists) ||
            !ps_idmap_put(&r->list_rows, key, row)) {
            return NULL;
        }
        r->lists[r->n_lists++] = (raw_list){.step = step, .thread = thread};
    }
    t->list = row;
    return &r->lists[row];
}

static bool add_row(reading *r, raw_list *list, const ps_worker_row *row) {
    if (list->last == NULL || list->last->n == list->last->cap) {
        uint32_t cap = list->last == NULL ? FIRST_ROWS : MORE_ROWS;
        ps_worker_rows *more = ps_arena_alloc(r->arena, sizeof *more + cap * sizeof more->at[0]);
        if (more == NULL) {
            return false;
        }
        more->next = NULL;
        more->n = 0;
        more->cap = cap;
        if (list->last != NULL) {
            list->last->next = more;
        } else {
            list->first = more;
        }
        list->last = more;
    }
    list->last->at[list->last->n++] = *row;
    list->n++;
    list->n_known += r->op_of_name[row->name] != PS_N_WORKER_OPS;
    return true;
}

/* --- events ---------------------------------------------------------------------------------------------------------- */

/* The text of the argument "name", or NULL. */
static const ps_event_text *name_given(const ps_event_batch *batch, const ps_event *e) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &batch->args[e->first_arg + i];
        if (arg->type == PS_ARG_STR && ps_event_text_is(batch, arg->key, "name")) {
            return &batch->texts[arg->u.text];
        }
    }
    return NULL;
}

static void take_name(reading *r, const ps_event_batch *batch, const ps_event *e) {
    const ps_event_text *name = name_given(batch, e);
    ps_ndt_thread named = {0};
    ps_ndt_process process = {.pid = e->pid};
    if (name == NULL || (e->flags & (PS_EVENT_PID_TEXT | PS_EVENT_TID_TEXT)) != 0) {
        return;
    }
    if (ps_event_text_is(batch, e->name, "thread_name") &&
        ps_ndt_parse_thread(name->bytes, name->n, &named)) {
        uint32_t row = thread_row(r, e->pid, e->tid);
        if (!r->failed) {
            r->threads[row].pp = named.pp;
            r->threads[row].tp = named.tp;
            r->threads[row].kind = named.kind;
        }
    } else if (ps_event_text_is(batch, e->name, "process_name") &&
               ps_ndt_parse_process(name->bytes, name->n, &process.dp)) {
        if (!ps_grow(&r->processes, &r->cap_processes, r->n_processes + 1, UINT32_MAX,
                     sizeof *r->processes)) {
            r->failed = true;
            return;
        }
        r->processes[r->n_processes++] = process;
    }
}

static void odd_ndt_event(reading *r, ps_oddity kind, const ps_event *e, const char *what) {
    ps_diag_add(r->diag, kind, "byte %llu: %s", (unsigned long long)e->offset, what);
}

/* A number that a row has room for; what is larger is none of an op. */
static int32_t small_arg(reading *r, const ps_event *e, int64_t value, int64_t most, int32_t none) {
    if (value < -most || value > most) {
        odd_ndt_event(r, PS_ODD_EVENT_FIELD, e, "a number that is too large");
        return none;
    }
    return (int32_t)value;
}

static argument_key key_of(reading *r, const ps_event_batch *batch, uint32_t text) {
    static const struct {
        const char *name;
        argument_key key;
    } KEYS[] = {{"step", KEY_STEP},
                {"mb_id", KEY_MICROBATCH},
                {"model_chunk", KEY_CHUNK},
                {"seq_id", KEY_ORDER}};
    uint8_t *known = &r->meanings[text].key;
    if (*known == KEY_UNKNOWN) {
        *known = KEY_OTHER;
        for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
            *known = ps_event_text_is(batch, text, KEYS[i].name) ? (uint8_t)KEYS[i].key : *known;
        }
    }
    return (argument_key)*known;
}

static void take_args(reading *r, const ps_event_batch *batch, const ps_event *e, ps_worker_row *op,
                      int64_t *step) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &batch->args[e->first_arg + i];
        if (arg->type != PS_ARG_INT) {
            continue;
        }
        switch (key_of(r, batch, arg->key)) {
        case KEY_STEP:
            *step = arg->u.i;
            break;
        case KEY_MICROBATCH:
            op->microbatch = small_arg(r, e, arg->u.i, INT32_MAX, PS_ROW_UNKNOWN);
            break;
        case KEY_CHUNK:
            op->chunk = (int16_t)small_arg(r, e, arg->u.i, INT16_MAX, PS_ROW_NO_CHUNK);
            break;
        case KEY_ORDER:
            op->order = small_arg(r, e, arg->u.i, INT32_MAX, PS_ROW_UNKNOWN);
            break;
        default:
            break;
        }
    }
}

static uint32_t name_of_event(reading *r, const ps_event_batch *batch, const ps_event *e) {
    uint32_t *known = &r->meanings[e->name].name;
    *known = *known != 0 ? *known : ndt_name_row(r, &batch->texts[e->name]) + 1;
    return *known - 1;
}

static void take_ndt_op(reading *r, const ps_event_batch *batch, const ps_event *e, uint64_t row) {
    ps_worker_row op = {.start_ns = e->ts_ns,
                        .dur_low_ns = (uint32_t)(uint64_t)e->dur_ns,
                        .dur_high_ns = (uint16_t)((uint64_t)e->dur_ns >> 32),
                        .row = (uint32_t)row,
                        .order = PS_ROW_UNKNOWN,
                        .microbatch = PS_ROW_UNKNOWN,
                        .chunk = PS_ROW_NO_CHUNK};
    int64_t step = PS_NDT_NO_STEP;
    int64_t end_ns = 0;
    if ((e->flags & PS_EVENT_HAS_TS) == 0 || (e->flags & PS_EVENT_HAS_DUR) == 0) {
        odd_ndt_event(r, PS_ODD_EVENT_FIELD, e, "no ts or dur");
        return;
    }
    if (e->dur_ns < 0 || __builtin_add_overflow(e->ts_ns, e->dur_ns, &end_ns)) {
        odd_ndt_event(r, PS_ODD_TIME, e, "an op of negative length");
        return;
    }
    if (e->dur_ns > PS_ROW_LONGEST_NS || row > UINT32_MAX) {
        odd_ndt_event(r, PS_ODD_TIME, e, "an op of more than three days, or one too many");
        return;
    }
    take_args(r, batch, e, &op, &step);
    op.name = name_of_event(r, batch, e);
    uint32_t thread = thread_row(r, e->pid, e->tid);
    raw_list *list = r->failed ? NULL : list_of(r, thread, step);
    if (list == NULL || !add_row(r, list, &op)) {
        r->failed = true;
    } else if (step != PS_NDT_NO_STEP) {
        widen_step(r, step, op.start_ns, end_ns);
    }
}

static ps_code take_events(void *context, const ps_event_batch *batch, ps_err *err) {
    reading *r = context;
    if (!ps_grow(&r->meanings, &r->cap_meanings, batch->n_texts, UINT32_MAX, sizeof *r->meanings)) {
        return ps_fail_nomem(err);
    }
    memset(r->meanings, 0, batch->n_texts * sizeof *r->meanings);
    for (size_t i = 0; !r->failed && i < batch->n_events; i++) {
        const ps_event *e = &batch->events[i];
        if (e->ph == 'M') {
            take_name(r, batch, e);
        } else if (e->ph == 'X') {
            take_ndt_op(r, batch, e, batch->first_event + i);
        } else {
            odd_ndt_event(r, PS_ODD_EVENT_PHASE, e, "no op of a timeline");
        }
    }
    return r->failed ? ps_fail_nomem(err) : PS_OK;
}

/* --- steps ----------------------------------------------------------------------------------------------------------- */

PS_COMPARE(order_ndt_steps, ps_ndt_step, PS_BY(start_ns) PS_BY(step))

/* The published files lay their steps out anew: the first begins at 0, each of the others a tenth of a step after the end of the
 * one before it. Where all steps lie so, that is where they begin: what the first op waited for is part of the step.
 * Elsewhere a step begins with its first op. Whether they lie so. */
static bool begin_ndt_steps(ps_ndt_step *steps, size_t n) {
    double begin = 0;
    bool is_laid_out = n > 0;
    for (size_t i = 0; is_laid_out && i < n; i++) {
        double length = (double)steps[i].end_ns - begin;
        double before = (double)steps[i].start_ns - begin;
        is_laid_out = length > 0 && before > -1e3 && before < length / 100 && begin < LATEST_NS;
        begin += 1.1 * length;
    }
    begin = 0;
    for (size_t i = 0; is_laid_out && i < n; i++) {
        int64_t at = (int64_t)begin;
        begin += 1.1 * ((double)steps[i].end_ns - begin);
        steps[i].start_ns = at < steps[i].start_ns ? at : steps[i].start_ns;
    }
    return is_laid_out;
}

/* --- what stays -------------------------------------------------------------------------------------------------------- */

typedef struct placed_list {
    int64_t step;
    uint32_t worker, lane;
    const raw_list *raw;
} placed_list;

PS_COMPARE(order_ndt_lists, placed_list, PS_BY(worker) PS_BY(step) PS_BY(lane))

static void fill_lists(const placed_list *placed, size_t n, ps_worker_list *lists,
                       ps_ndt_worker *workers) {
    for (size_t i = 0; i < n; i++) {
        ps_ndt_worker *w = &workers[placed[i].worker];
        w->first = w->n == 0 ? i : w->first;
        w->n++;
        w->n_ops += placed[i].raw->n;
        lists[i] = (ps_worker_list){placed[i].step, placed[i].lane, placed[i].raw->first,
                                    placed[i].raw->n_known};
    }
}

/* Lists by worker; those of threads that are no worker's are counted and left out. */
static bool keep_lists(reading *r, ps_ndt_file *file, ps_ndt_worker *workers) {
    ps_worker_list *lists = ps_arena_alloc(r->arena, (r->n_lists + 1) * sizeof *lists);
    placed_list *placed = ps_realloc_array(NULL, r->n_lists + 1, sizeof *placed);
    size_t n = 0;
    size_t n_strangers = 0;
    for (size_t i = 0; placed != NULL && i < r->n_lists; i++) {
        const raw_list *raw = &r->lists[i];
        const ps_ndt_thread *thread = &r->threads[raw->thread];
        if (thread->worker == PS_NDT_NOBODY) {
            n_strangers += raw->n;
        } else {
            placed[n++] = (placed_list){raw->step, thread->worker, (uint32_t)thread->kind, raw};
        }
    }
    ps_diag_count(r->diag, PS_ODD_OP_NO_WORKER, n_strangers);
    bool ok = lists != NULL && placed != NULL;
    if (ok) {
        ps_sort(placed, n, sizeof *placed, order_ndt_lists);
        fill_lists(placed, n, lists, workers);
    }
    ps_free(placed);
    file->lists = lists;
    return ok;
}

static ps_code keep_file(reading *r, const char *path, const ps_file_id *id,
                         const ps_ndt_file **out, ps_err *err) {
    ps_ndt_file *file = ps_arena_alloc(r->arena, sizeof *file);
    ps_ndt_worker *workers = ps_arena_alloc(r->arena, (r->n_threads + 1) * sizeof *workers);
    ps_ndt_step *steps = ps_arena_alloc(r->arena, (r->n_steps + 1) * sizeof *steps);
    const char **names = ps_arena_alloc(r->arena, (r->n_names + 1) * sizeof *names);
    uint8_t *op_of_name = ps_arena_alloc(r->arena, r->n_names + 1);
    if (file == NULL || workers == NULL || steps == NULL || names == NULL || op_of_name == NULL) {
        return ps_fail_nomem(err);
    }
    *file = (ps_ndt_file){.workers = workers,
                          .names = names,
                          .n_names = r->n_names,
                          .op_of_name = op_of_name,
                          .steps = steps,
                          .n_steps = r->n_steps,
                          .diag = r->diag,
                          .id = *id};
    ps_code code = ps_ndt_place_threads(r->threads, r->n_threads, r->processes, r->n_processes,
                                        path, workers, &file->n_workers, err);
    for (size_t w = 0; code == PS_OK && w < file->n_workers; w++) {
        file->n_dp = workers[w].dp >= file->n_dp ? workers[w].dp + 1 : file->n_dp;
        file->n_pp = workers[w].pp >= file->n_pp ? workers[w].pp + 1 : file->n_pp;
        file->n_tp = workers[w].tp >= file->n_tp ? workers[w].tp + 1 : file->n_tp;
    }
    if (code == PS_OK && r->n_names > 0) {
        memcpy(names, r->names, r->n_names * sizeof *names);
        memcpy(op_of_name, r->op_of_name, r->n_names);
    }
    if (code == PS_OK && r->n_steps > 0) {
        memcpy(steps, r->steps, r->n_steps * sizeof *steps);
        qsort(steps, r->n_steps, sizeof *steps, order_ndt_steps);
        file->steps_laid_out = begin_ndt_steps(steps, r->n_steps);
    }
    *out = file;
    return code == PS_OK && !keep_lists(r, file, workers) ? ps_fail_nomem(err) : code;
}

static ps_code read_ndt_events(reading *r, const char *path, size_t n_threads, ps_watch *watch,
                               ps_err *err) {
    static const char *const WANTED[] = {"step", "mb_id", "model_chunk", "seq_id", NULL};
    const ps_event_schema schema = {.wanted = WANTED, .printed_doubles = true};
    const ps_event_sink sink = {r, take_events, NULL};
    ps_event_stats stats = {0};
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err != NULL && err->code != PS_OK ? err->code : PS_IO;
    }
    ps_input_watch(in, watch);
    ps_code code = ps_trace_events_read(in, &schema, &sink, n_threads, r->diag, &stats, err);
    ps_input_close(in);
    return code;
}

ps_code ps_ndt_file_read(const char *path, size_t n_threads, ps_watch *watch, ps_arena *arena,
                         const ps_ndt_file **out, ps_err *err) {
    reading r = {.arena = arena, .diag = ps_arena_alloc(arena, sizeof *r.diag)};
    if (r.diag != NULL) {
        memset(r.diag, 0, sizeof *r.diag);
    }
    ps_file_id id;
    ps_code code = ps_file_identify(path, &id, err);
    code = code == PS_OK && r.diag == NULL ? ps_fail_nomem(err) : code;
    code = code == PS_OK ? read_ndt_events(&r, path, n_threads, watch, err) : code;
    code = code == PS_OK ? keep_file(&r, path, &id, out, err) : code;
    ps_free(r.lists);
    ps_idmap_fini(&r.list_rows);
    ps_free(r.threads);
    ps_free(r.processes);
    ps_free(r.names);
    ps_free(r.op_of_name);
    ps_free(r.meanings);
    ps_free(r.steps);
    ps_idmap_fini(&r.thread_rows);
    ps_idmap_fini(&r.name_rows);
    ps_idmap_fini(&r.step_rows);
    return code;
}
