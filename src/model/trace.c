/* The builder appends to columns in input order; sealing subtracts the origin, sorts slices (stable) and
 * rewrites the slice numbers of flows and args. */
#include "model/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "model/trace_args.h"
#include "model/trace_sort.h"

#define MAX_ROWS ((size_t)PS_NONE - 1)
#define TIME_LIMIT_NS ((int64_t)1 << 61)

struct ps_trace {
    ps_strpool strings;
    ps_slices slices;
    ps_counters counters;
    ps_arg_store args;
    ps_track *tracks;
    ps_process *processes;
    ps_flow *flows;
    ps_step *steps;
    ps_meta *metas;
    ps_table **side_tables;
    size_t n_tracks, n_processes, n_flows, n_steps, n_metas, n_side_tables;
    ps_worker_ops worker_ops; /* lent */
    int64_t origin_ns;        /* as given to the builder; base_ns later in the end */
    int64_t base_ns;
    bool has_origin; /* origin_ns was set before sealing */
    uint32_t has;
    ps_file_stamp stamp;
    ps_diag diag;
};

struct ps_builder {
    ps_trace *trace;
    size_t cap_slices, cap_counters, cap_tracks, cap_processes, cap_flows, cap_steps, cap_metas,
        cap_side_tables;
    ps_idmap track_rows;   /* hash of the track, or the next free key after it -> row */
    ps_idmap process_rows; /* pid -> row */
    uint32_t open_slice;   /* whose arguments are in open_args, PS_NONE */
    ps_arg *open_args;
    size_t n_open_args, cap_open_args;
    uint32_t *order; /* in which the first n_ordered slices will be sealed; NULL: not asked for */
    uint32_t n_ordered;
    const ps_build_watcher *watcher;
    uint32_t n_told; /* slices with which the watcher is told next; 0: never */
    bool failed;
};

const char *ps_slice_kind_name(ps_slice_kind kind) {
    static const char *const NAMES[] = {
#define X(kind, name, text) name,
        PS_SLICE_KINDS(X)
#undef X
    };
    return NAMES[kind];
}

bool ps_is_host_range(uint8_t kind) {
    switch (kind) {
    case PS_SLICE_MARK_HOST:
    case PS_SLICE_HOST_OP:
    case PS_SLICE_ANNOTATION:
    case PS_SLICE_QUEUE:
    case PS_SLICE_CALL:
    case PS_SLICE_PYTHON:
    case PS_SLICE_HOST_OTHER:
        return true;
    default:
        return false;
    }
}

bool ps_is_launched(uint8_t kind) {
    return kind >= PS_SLICE_KERNEL || kind == PS_SLICE_MARK_DEVICE || kind == PS_SLICE_COMM_OP;
}

ps_builder *ps_builder_new(void) {
    ps_builder *b = ps_calloc(1, sizeof *b);
    ps_trace *t = ps_calloc(1, sizeof *t);
    if (b == NULL || t == NULL || !ps_strpool_init(&t->strings)) {
        ps_free(b);
        ps_free(t);
        return NULL;
    }
    b->trace = t;
    b->open_slice = PS_NONE;
    ps_arg_store_init(&t->args);
    ps_idmap_init(&b->track_rows);
    ps_idmap_init(&b->process_rows);
    return b;
}

void ps_builder_free(ps_builder *b) {
    if (b != NULL) {
        ps_trace_free(b->trace);
        ps_idmap_fini(&b->track_rows);
        ps_idmap_fini(&b->process_rows);
        ps_free(b->open_args);
        ps_free(b->order);
        ps_free(b);
    }
}

void ps_trace_free(ps_trace *t) {
    if (t == NULL) {
        return;
    }
#define X(type, col) ps_free(t->slices.col);
    PS_SLICE_COLS(X)
#undef X
#define X(type, col) ps_free(t->counters.col);
    PS_COUNTER_COLS(X)
#undef X
    ps_arg_store_fini(&t->args);
    for (size_t i = 0; i < t->n_side_tables; i++) {
        ps_table_free(t->side_tables[i]);
    }
    ps_free(t->side_tables);
    ps_free(t->tracks);
    ps_free(t->processes);
    ps_free(t->flows);
    ps_free(t->steps);
    ps_free(t->metas);
    ps_strpool_fini(&t->strings);
    ps_free(t);
}

static bool fail_trace(ps_builder *b) {
    b->failed = true;
    return false;
}

ps_str ps_builder_str(ps_builder *b, const char *s, size_t n) {
    ps_str id = ps_strpool_add(&b->trace->strings, s, n);
    if (ps_str_is_none(id)) {
        fail_trace(b);
    }
    return id;
}

const char *ps_builder_text(const ps_builder *b, ps_str s) {
    return ps_strpool_get(&b->trace->strings, s);
}

size_t ps_builder_text_len(const ps_builder *b, ps_str s) {
    return ps_strpool_len(&b->trace->strings, s);
}

static uint64_t hash_track(const ps_track *t) {
    const int64_t fields[] = {(int64_t)t->kind, t->pid, t->tid, t->device, (int64_t)t->name.id};
    return ps_hash64_seeded(fields, sizeof fields);
}

static bool same_track(const ps_track *a, const ps_track *b) {
    return a->kind == b->kind && a->pid == b->pid && a->tid == b->tid && a->device == b->device &&
           ps_str_eq(a->name, b->name);
}

uint32_t ps_builder_track(ps_builder *b, ps_track track) {
    ps_trace *t = b->trace;
    uint64_t key = hash_track(&track);
    for (uint32_t row; (row = ps_idmap_get(&b->track_rows, key)) != PS_IDMAP_NONE; key++) {
        if (same_track(&t->tracks[row], &track)) {
            return row;
        }
    }
    if (!ps_grow(&t->tracks, &b->cap_tracks, t->n_tracks + 1, MAX_ROWS, sizeof *t->tracks) ||
        !ps_idmap_put(&b->track_rows, key, (uint32_t)t->n_tracks)) {
        fail_trace(b);
        return PS_NONE;
    }
    track.label = PS_STR_NONE;
    track.unit = PS_STR_NONE;
    track.order = PS_NO_ORDER;
    t->tracks[t->n_tracks] = track;
    return (uint32_t)t->n_tracks++;
}

/* The key of the old identity stays in the map and leads on to the next one. */
bool ps_builder_retrack(ps_builder *b, uint32_t row, ps_track track) {
    ps_trace *t = b->trace;
    uint64_t key = hash_track(&track);
    for (uint32_t other; (other = ps_idmap_get(&b->track_rows, key)) != PS_IDMAP_NONE; key++) {
        if (same_track(&t->tracks[other], &track)) {
            return other == row;
        }
    }
    if (!ps_idmap_put(&b->track_rows, key, row)) {
        return fail_trace(b);
    }
    const ps_track *old = &t->tracks[row];
    track.label = old->label;
    track.unit = old->unit;
    track.order = old->order;
    t->tracks[row] = track;
    return true;
}

void ps_builder_track_label(ps_builder *b, uint32_t track, ps_str label, int64_t order) {
    if (track != PS_NONE) {
        ps_track *t = &b->trace->tracks[track];
        t->label = ps_str_is_none(label) ? t->label : label;
        t->order = order == PS_NO_ORDER ? t->order : order;
    }
}

void ps_builder_track_unit(ps_builder *b, uint32_t track, ps_str unit) {
    if (track != PS_NONE) {
        b->trace->tracks[track].unit = unit;
    }
}

void ps_builder_process(ps_builder *b, ps_process process) {
    ps_trace *t = b->trace;
    uint32_t row = ps_idmap_get(&b->process_rows, (uint64_t)process.pid);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)t->n_processes;
        if (!ps_grow(&t->processes, &b->cap_processes, t->n_processes + 1, MAX_ROWS,
                     sizeof *t->processes) ||
            !ps_idmap_put(&b->process_rows, (uint64_t)process.pid, row)) {
            fail_trace(b);
            return;
        }
        t->processes[t->n_processes++] = process;
        return;
    }
    ps_process *p = &t->processes[row];
    p->name = ps_str_is_none(process.name) ? p->name : process.name;
    p->labels = ps_str_is_none(process.labels) ? p->labels : process.labels;
    p->order = process.order == PS_NO_ORDER ? p->order : process.order;
    p->pid_is_text = p->pid_is_text || process.pid_is_text;
}

/* --- slices and counters ----------------------------------------------------------------------------- */

static bool grow_slices(ps_builder *b, size_t need) {
    ps_slices *s = &b->trace->slices;
    size_t cap = b->cap_slices;
#define X(type, col)                                                                               \
    cap = b->cap_slices;                                                                           \
    if (!ps_grow(&s->col, &cap, need, MAX_ROWS, sizeof *s->col)) {                                 \
        return fail_trace(b);                                                                      \
    }
    PS_SLICE_COLS(X)
#undef X
    b->cap_slices = cap;
    return true;
}

bool ps_builder_expect_slices(ps_builder *b, size_t n) {
    size_t need = (size_t)b->trace->slices.n + n;
    return need <= b->cap_slices || grow_slices(b, need);
}

void ps_builder_watch(ps_builder *b, const ps_build_watcher *watcher) {
    b->watcher = watcher;
    b->n_told = watcher != NULL ? PS_TOLD_SLICES : 0;
}

static void tell_watcher(ps_builder *b) {
    b->n_told += PS_TOLD_SLICES;
    b->watcher->added(b->watcher->context, b->trace);
}

static bool time_ok(int64_t ns) {
    return ns > -TIME_LIMIT_NS && ns < TIME_LIMIT_NS;
}

uint32_t ps_builder_slice_in(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                             ps_str category, int64_t start_ns, int64_t end_ns,
                             int64_t source_row) {
    ps_slices *s = &b->trace->slices;
    if (end_ns < start_ns || !time_ok(start_ns) || !time_ok(end_ns) || track == PS_NONE ||
        (s->n == b->cap_slices && !grow_slices(b, (size_t)s->n + 1))) {
        return PS_NONE;
    }
    uint32_t row = s->n++;
    s->start_ns[row] = start_ns;
    s->dur_ns[row] = end_ns - start_ns;
    s->source_row[row] = source_row;
    s->name[row] = name;
    s->category[row] = category;
    s->track[row] = track;
    s->args[row] = 0;
    s->kind[row] = (uint8_t)kind;
    if (s->n == b->n_told) {
        tell_watcher(b);
    }
    return row;
}

uint32_t ps_builder_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                          int64_t start_ns, int64_t end_ns, int64_t source_row) {
    return ps_builder_slice_in(b, kind, track, name, PS_STR_NONE, start_ns, end_ns, source_row);
}

bool ps_builder_slice_end(ps_builder *b, uint32_t slice, int64_t end_ns) {
    ps_slices *s = &b->trace->slices;
    if (end_ns < s->start_ns[slice] || !time_ok(end_ns)) {
        return false;
    }
    s->dur_ns[slice] = end_ns - s->start_ns[slice];
    b->n_ordered = 0;
    return true;
}

int64_t ps_builder_slice_start_ns(const ps_builder *b, uint32_t slice) {
    return b->trace->slices.start_ns[slice];
}

int64_t ps_builder_slice_end_ns(const ps_builder *b, uint32_t slice) {
    return b->trace->slices.start_ns[slice] + b->trace->slices.dur_ns[slice];
}

ps_slice_kind ps_builder_slice_kind(const ps_builder *b, uint32_t slice) {
    return (ps_slice_kind)b->trace->slices.kind[slice];
}

void ps_builder_set_slice_kind(ps_builder *b, uint32_t slice, ps_slice_kind kind) {
    b->trace->slices.kind[slice] = (uint8_t)kind;
}

ps_str ps_builder_slice_name(const ps_builder *b, uint32_t slice) {
    return b->trace->slices.name[slice];
}

uint32_t ps_builder_slice_track(const ps_builder *b, uint32_t slice) {
    return b->trace->slices.track[slice];
}

uint32_t ps_builder_n_slices(const ps_builder *b) {
    return b->trace->slices.n;
}

const ps_slices *ps_builder_slices(const ps_builder *b) {
    return &b->trace->slices;
}

const uint32_t *ps_builder_slice_order(ps_builder *b) {
    uint32_t n = b->trace->slices.n;
    if (b->order != NULL && b->n_ordered == n) {
        return b->order;
    }
    ps_free(b->order);
    b->order = ps_alloc(n * sizeof *b->order);
    if (b->order == NULL || (n > 0 && !ps_slices_order(&b->trace->slices, b->order))) {
        ps_free(b->order);
        b->order = NULL;
        fail_trace(b);
        return NULL;
    }
    b->n_ordered = n;
    return b->order;
}

const ps_track *ps_builder_tracks(const ps_builder *b, size_t *n) {
    *n = b->trace->n_tracks;
    return b->trace->tracks;
}

const ps_flow *ps_builder_flows(const ps_builder *b, size_t *n) {
    *n = b->trace->n_flows;
    return b->trace->flows;
}

const ps_process *ps_builder_processes(const ps_builder *b, size_t *n) {
    *n = b->trace->n_processes;
    return b->trace->processes;
}

const ps_process *ps_builder_process_of(const ps_builder *b, int64_t pid) {
    uint32_t row = ps_idmap_get(&b->process_rows, (uint64_t)pid);
    return row != PS_IDMAP_NONE ? &b->trace->processes[row] : NULL;
}

void ps_builder_flow_of(ps_builder *b, uint32_t from, uint32_t to, ps_str kind) {
    ps_trace *t = b->trace;
    if (!ps_grow(&t->flows, &b->cap_flows, t->n_flows + 1, MAX_ROWS, sizeof *t->flows)) {
        fail_trace(b);
        return;
    }
    t->flows[t->n_flows++] = (ps_flow){from, to, kind};
}

void ps_builder_flow(ps_builder *b, uint32_t from, uint32_t to) {
    ps_builder_flow_of(b, from, to, PS_STR_NONE);
}

bool ps_builder_counter(ps_builder *b, uint32_t track, int64_t time_ns, double value) {
    ps_counters *c = &b->trace->counters;
    if (!time_ok(time_ns) || track == PS_NONE) {
        return false;
    }
    size_t cap = b->cap_counters;
    if (c->n == b->cap_counters) {
#define X(type, col)                                                                               \
    cap = b->cap_counters;                                                                         \
    if (!ps_grow(&c->col, &cap, (size_t)c->n + 1, MAX_ROWS, sizeof *c->col)) {                     \
        return fail_trace(b);                                                                      \
    }
        PS_COUNTER_COLS(X)
#undef X
        b->cap_counters = cap;
    }
    c->time_ns[c->n] = time_ns;
    c->value[c->n] = value;
    c->track[c->n++] = track;
    return true;
}

/* --- arguments --------------------------------------------------------------------------------------- */

static void close_args(ps_builder *b) {
    if (b->open_slice != PS_NONE && b->n_open_args > 0) {
        uint32_t record = ps_arg_store_add(&b->trace->args, b->open_args, b->n_open_args);
        b->trace->slices.args[b->open_slice] = record;
        b->failed = b->failed || record == 0;
    }
    b->open_slice = PS_NONE;
    b->n_open_args = 0;
}

static bool append_arg(ps_builder *b, ps_arg arg) {
    if (!ps_grow(&b->open_args, &b->cap_open_args, b->n_open_args + 1, MAX_ROWS,
                 sizeof *b->open_args)) {
        return fail_trace(b);
    }
    b->open_args[b->n_open_args++] = arg;
    return true;
}

/* A slice that has arguments already gets a new record with all of them; the old one is left behind. */
static void open_args(ps_builder *b, uint32_t slice) {
    close_args(b);
    ps_arg_iter iter = ps_arg_store_walk(&b->trace->args, b->trace->slices.args[slice]);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        (void)append_arg(b, arg);
    }
    b->open_slice = slice;
}

void ps_builder_arg(ps_builder *b, uint32_t slice, ps_arg arg) {
    if (ps_str_is_none(arg.key)) {
        fail_trace(b);
        return;
    }
    if (arg.type == PS_ARG_TIME && !time_ok(arg.u.i)) {
        return;
    }
    if (slice != b->open_slice) {
        open_args(b, slice);
    }
    (void)append_arg(b, arg);
}

void ps_builder_args(ps_builder *b, uint32_t slice, const ps_arg *args, size_t n) {
    if (n == 0) {
        return;
    }
    if (slice != b->open_slice) {
        open_args(b, slice);
    }
    if (!ps_grow(&b->open_args, &b->cap_open_args, b->n_open_args + n, MAX_ROWS,
                 sizeof *b->open_args)) {
        fail_trace(b);
        return;
    }
    memcpy(b->open_args + b->n_open_args, args, n * sizeof *args);
    b->n_open_args += n;
}

void ps_builder_arg_int(ps_builder *b, uint32_t slice, const char *key, int64_t value) {
    ps_str k = ps_builder_str(b, key, strlen(key));
    ps_builder_arg(b, slice, (ps_arg){.key = k, .type = PS_ARG_INT, .u.i = value});
}

void ps_builder_arg_str(ps_builder *b, uint32_t slice, const char *key, ps_str value) {
    ps_str k = ps_builder_str(b, key, strlen(key));
    ps_builder_arg(b, slice, (ps_arg){.key = k, .type = PS_ARG_STR, .u.s = value});
}

void ps_builder_arg_time(ps_builder *b, uint32_t slice, const char *key, int64_t absolute_ns) {
    ps_str k = ps_builder_str(b, key, strlen(key));
    ps_builder_arg(b, slice, (ps_arg){.key = k, .type = PS_ARG_TIME, .u.i = absolute_ns});
}

/* --- the rest ---------------------------------------------------------------------------------------- */

void ps_builder_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns) {
    ps_trace *t = b->trace;
    if (end_ns < start_ns || !time_ok(start_ns) || !time_ok(end_ns)) {
        ps_diag_add(&t->diag, PS_ODD_TIME, "step %lld", (long long)id);
        return;
    }
    if (!ps_grow(&t->steps, &b->cap_steps, t->n_steps + 1, MAX_ROWS, sizeof *t->steps)) {
        fail_trace(b);
        return;
    }
    t->steps[t->n_steps++] = (ps_step){id, start_ns, end_ns};
}

void ps_builder_meta(ps_builder *b, const char *key, const char *value) {
    ps_trace *t = b->trace;
    ps_str k = ps_builder_str(b, key, strlen(key));
    ps_str v = ps_builder_str(b, value, strlen(value));
    if (b->failed ||
        !ps_grow(&t->metas, &b->cap_metas, t->n_metas + 1, MAX_ROWS, sizeof *t->metas)) {
        fail_trace(b);
        return;
    }
    t->metas[t->n_metas++] =
        (ps_meta){ps_strpool_get(&t->strings, k), ps_strpool_get(&t->strings, v)};
}

const char *ps_builder_meta_text(const ps_builder *b, const char *key) {
    for (size_t i = 0; i < b->trace->n_metas; i++) {
        if (strcmp(b->trace->metas[i].key, key) == 0) {
            return b->trace->metas[i].value;
        }
    }
    return NULL;
}

void ps_builder_has(ps_builder *b, uint32_t has) {
    b->trace->has |= has;
}

void ps_builder_worker_ops(ps_builder *b, const ps_worker_ops *ops) {
    b->trace->worker_ops = *ops;
}

void ps_builder_stamp(ps_builder *b, ps_file_stamp stamp) {
    b->trace->stamp = stamp;
}

void ps_builder_origin(ps_builder *b, int64_t origin_ns) {
    b->trace->has_origin = true;
    b->trace->origin_ns = origin_ns;
}

bool ps_builder_time_base(ps_builder *b, int64_t base_ns) {
    if (!time_ok(base_ns)) {
        return false;
    }
    b->trace->base_ns = base_ns;
    return true;
}

void ps_builder_side_table(ps_builder *b, ps_table *table) {
    ps_trace *t = b->trace;
    if (table == NULL || !ps_grow(&t->side_tables, &b->cap_side_tables, t->n_side_tables + 1,
                                  MAX_ROWS, sizeof(ps_table *))) {
        ps_table_free(table);
        fail_trace(b);
        return;
    }
    t->side_tables[t->n_side_tables++] = table;
}

const ps_table *ps_builder_side_table_of(const ps_builder *b, const char *name) {
    return ps_trace_side_table(b->trace, name);
}

ps_diag *ps_builder_diag(ps_builder *b) {
    return &b->trace->diag;
}

bool ps_builder_failed(const ps_builder *b) {
    return b->failed;
}

/* --- sealing ----------------------------------------------------------------------------------------- */

static void trace_lower(int64_t *least, const int64_t *times, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        *least = times[i] < *least ? times[i] : *least;
    }
}

/* The origin is the first start of a slice or value of a counter, else of a step. */
static void subtract_origin(ps_trace *t) {
    ps_slices *s = &t->slices;
    ps_counters *c = &t->counters;
    int64_t origin = INT64_MAX;
    trace_lower(&origin, s->start_ns, s->n);
    trace_lower(&origin, c->time_ns, c->n);
    if (origin == INT64_MAX) {
        origin = t->n_steps > 0 ? t->steps[0].start_ns : 0;
    }
    origin = t->has_origin ? t->origin_ns : origin;
    for (uint32_t i = 0; i < s->n; i++) {
        s->start_ns[i] -= origin;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        c->time_ns[i] -= origin;
    }
    for (size_t i = 0; i < t->n_steps; i++) {
        t->steps[i].start_ns -= origin;
        t->steps[i].end_ns -= origin;
    }
    t->origin_ns = origin;
}

static bool same_flow(const ps_flow *a, const ps_flow *b) {
    return a->from == b->from && a->to == b->to && ps_str_eq(a->kind, b->kind);
}

/* A format may say the same thing twice (a flow and a correlation id): one of them stays. */
static bool sort_flows(ps_trace *t, const uint32_t *new_row) {
    for (size_t i = 0; new_row != NULL && i < t->n_flows; i++) {
        t->flows[i].from = new_row[t->flows[i].from];
        t->flows[i].to = new_row[t->flows[i].to];
    }
    if (t->n_flows < 2) {
        return true;
    }
    if (!ps_flows_sort(&t->flows, t->n_flows)) {
        return false;
    }
    size_t n = 1;
    for (size_t i = 1; i < t->n_flows; i++) {
        if (!same_flow(&t->flows[n - 1], &t->flows[i])) {
            t->flows[n++] = t->flows[i];
        }
    }
    t->n_flows = n;
    return true;
}

PS_COMPARE(compare_trace_steps, ps_step, PS_BY(start_ns) PS_BY(id))

ps_trace *ps_builder_seal(ps_builder *b, ps_err *err) {
    ps_trace *t = b->trace;
    uint32_t *new_row = NULL;
    close_args(b);
    bool ok = !b->failed;
    if (ok) {
        subtract_origin(t);
        uint32_t *order = b->n_ordered == t->slices.n ? b->order : NULL;
        b->order = order != NULL ? NULL : b->order; /* goes with the sorting */
        ok = ps_slices_sort(&t->slices, order, &new_row) && ps_counters_sort(&t->counters) &&
             sort_flows(t, new_row);
    }
    if (ok) {
        if (t->n_steps > 1) {
            qsort(t->steps, t->n_steps, sizeof *t->steps, compare_trace_steps);
        }
        ps_arg_store_seal(&t->args);
        b->trace = NULL;
    } else {
        (void)ps_fail_nomem(err);
    }
    ps_free(new_row);
    ps_builder_free(b);
    return ok ? t : NULL;
}

void ps_trace_move(ps_trace *t, int64_t by_ns) {
    t->base_ns = ps_i64_plus(t->base_ns, by_ns);
}

void ps_trace_rename_meta(ps_trace *t, const char *key, const char *to) {
    for (size_t i = 0; i < t->n_metas; i++) {
        if (strcmp(t->metas[i].key, key) == 0) {
            t->metas[i].key = to;
        }
    }
}

/* --- reading ----------------------------------------------------------------------------------------- */

int64_t ps_trace_origin_ns(const ps_trace *t) {
    return t->origin_ns + t->base_ns;
}

const ps_slices *ps_trace_slices(const ps_trace *t) {
    return &t->slices;
}

const ps_track *ps_trace_tracks(const ps_trace *t, size_t *n) {
    *n = t->n_tracks;
    return t->tracks;
}

const ps_flow *ps_trace_flows(const ps_trace *t, size_t *n) {
    *n = t->n_flows;
    return t->flows;
}

const ps_worker_ops *ps_trace_worker_ops(const ps_trace *t) {
    return &t->worker_ops;
}

const ps_step *ps_trace_steps(const ps_trace *t, size_t *n) {
    *n = t->n_steps;
    return t->steps;
}

const char *ps_trace_text(const ps_trace *t, ps_str s) {
    return ps_strpool_get(&t->strings, s);
}

uint32_t ps_trace_has(const ps_trace *t) {
    return t->has;
}

ps_file_stamp ps_trace_stamp(const ps_trace *t) {
    return t->stamp;
}

const ps_meta *ps_trace_metas(const ps_trace *t, size_t *n) {
    *n = t->n_metas;
    return t->metas;
}

const char *ps_trace_meta(const ps_trace *t, const char *key) {
    for (size_t i = 0; i < t->n_metas; i++) {
        if (strcmp(t->metas[i].key, key) == 0) {
            return t->metas[i].value;
        }
    }
    return NULL;
}

ps_arg_iter ps_trace_args(const ps_trace *t, uint32_t slice) {
    ps_arg_iter iter = ps_arg_store_walk(&t->args, t->slices.args[slice]);
    iter.origin_ns = t->origin_ns;
    return iter;
}

static bool find_arg(const ps_trace *t, uint32_t slice, const char *key, ps_arg *out) {
    ps_str k = ps_strpool_find(&t->strings, key, strlen(key));
    ps_arg_iter iter = ps_trace_args(t, slice);
    while (!ps_str_is_none(k) && ps_arg_next(&iter, out)) {
        if (ps_str_eq(out->key, k)) {
            return true;
        }
    }
    return false;
}

bool ps_trace_arg_int(const ps_trace *t, uint32_t slice, const char *key, int64_t *out) {
    ps_arg arg;
    if (!find_arg(t, slice, key, &arg) ||
        (arg.type != PS_ARG_INT && arg.type != PS_ARG_TIME && arg.type != PS_ARG_BOOL)) {
        return false;
    }
    *out = arg.u.i;
    return true;
}

const char *ps_trace_arg_text(const ps_trace *t, uint32_t slice, const char *key) {
    ps_arg arg;
    bool is_text = find_arg(t, slice, key, &arg) &&
                   (arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_JSON);
    return is_text ? ps_strpool_get(&t->strings, arg.u.s) : NULL;
}

const ps_counters *ps_trace_counters(const ps_trace *t) {
    return &t->counters;
}

const ps_process *ps_trace_processes(const ps_trace *t, size_t *n) {
    *n = t->n_processes;
    return t->processes;
}

const ps_process *ps_trace_process(const ps_trace *t, int64_t pid) {
    for (size_t i = 0; i < t->n_processes; i++) {
        if (t->processes[i].pid == pid) {
            return &t->processes[i];
        }
    }
    return NULL;
}

size_t ps_trace_text_len(const ps_trace *t, ps_str s) {
    return ps_strpool_len(&t->strings, s);
}

size_t ps_trace_n_texts(const ps_trace *t) {
    return t->strings.n;
}

ps_str ps_trace_find_text(const ps_trace *t, const char *text) {
    return ps_strpool_find(&t->strings, text, strlen(text));
}

const ps_table *const *ps_trace_side_tables(const ps_trace *t, size_t *n) {
    *n = t->n_side_tables;
    return (const ps_table *const *)t->side_tables;
}

const ps_table *ps_trace_side_table(const ps_trace *t, const char *name) {
    for (size_t i = 0; i < t->n_side_tables; i++) {
        if (strcmp(t->side_tables[i]->name, name) == 0) {
            return t->side_tables[i];
        }
    }
    return NULL;
}

const ps_diag *ps_trace_diag(const ps_trace *t) {
    return &t->diag;
}

ps_trace_bytes ps_trace_size(const ps_trace *t) {
    ps_trace_bytes b = {0};
#define X(type, col) b.columns += t->slices.n * sizeof(type);
    PS_SLICE_COLS(X)
#undef X
    b.columns -= t->slices.n * sizeof *t->slices.args;
    b.args = t->slices.n * sizeof *t->slices.args + t->args.n_bytes +
             t->args.n_keys * sizeof *t->args.keys + t->args.n_shapes * sizeof *t->args.shapes;
    b.names = t->strings.text.size_bytes + t->strings.n_slots * sizeof *t->strings.slots +
              t->strings.cap * (sizeof *t->strings.strings + sizeof *t->strings.lengths +
                                sizeof *t->strings.hashes);
    b.flows = t->n_flows * sizeof *t->flows;
#define X(type, col) b.counters += t->counters.n * sizeof(type);
    PS_COUNTER_COLS(X)
#undef X
    for (size_t i = 0; i < t->n_side_tables; i++) {
        const ps_table *table = t->side_tables[i];
        b.tables += table->cap_cells * sizeof *table->cells + table->arena.size_bytes;
    }
    return b;
}
