/* The builder appends to columns in input order; sealing subtracts the origin, sorts slices (stable) and
 * rewrites the slice numbers of flows and args. */
#include "model/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"

#define MAX_ROWS ((size_t)PS_NONE - 1)
#define TIME_LIMIT_NS ((int64_t)1 << 61)

struct ps_trace {
    ps_strpool strings;
    ps_slices slices;
    ps_track *tracks;
    ps_flow *flows;
    ps_arg *args;
    ps_step *steps;
    ps_meta *metas;
    ps_table **side_tables;
    size_t n_tracks, n_flows, n_args, n_steps, n_metas, n_side_tables;
    int64_t origin_ns;
    uint32_t has;
    ps_file_stamp stamp;
    ps_diag diag;
};

struct ps_builder {
    ps_trace *trace;
    size_t cap_slices, cap_tracks, cap_flows, cap_args, cap_steps, cap_metas, cap_side_tables;
    ps_idmap track_rows; /* hash of the track, or the next free key after it -> row */
    ps_str time_keys[4]; /* keys of args that hold times */
    size_t n_time_keys;
    bool failed;
};

ps_builder *ps_builder_new(void) {
    ps_builder *b = ps_calloc(1, sizeof *b);
    ps_trace *t = ps_calloc(1, sizeof *t);
    if (b == NULL || t == NULL || !ps_strpool_init(&t->strings)) {
        ps_free(b);
        ps_free(t);
        return NULL;
    }
    b->trace = t;
    ps_idmap_init(&b->track_rows);
    return b;
}

void ps_builder_free(ps_builder *b) {
    if (b != NULL) {
        ps_trace_free(b->trace);
        ps_idmap_fini(&b->track_rows);
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
    for (size_t i = 0; i < t->n_side_tables; i++) {
        ps_table_free(t->side_tables[i]);
    }
    ps_free(t->side_tables);
    ps_free(t->tracks);
    ps_free(t->flows);
    ps_free(t->args);
    ps_free(t->steps);
    ps_free(t->metas);
    ps_strpool_fini(&t->strings);
    ps_free(t);
}

static bool fail(ps_builder *b) {
    b->failed = true;
    return false;
}

ps_str ps_builder_str(ps_builder *b, const char *s, size_t n) {
    ps_str id = ps_strpool_add(&b->trace->strings, s, n);
    if (ps_str_is_none(id)) {
        fail(b);
    }
    return id;
}

const char *ps_builder_text(const ps_builder *b, ps_str s) {
    return ps_strpool_get(&b->trace->strings, s);
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
        fail(b);
        return PS_NONE;
    }
    t->tracks[t->n_tracks] = track;
    return (uint32_t)t->n_tracks++;
}

static bool grow_slices(ps_builder *b) {
    ps_slices *s = &b->trace->slices;
    size_t cap = b->cap_slices;
#define X(type, col)                                                                               \
    cap = b->cap_slices;                                                                           \
    if (!ps_grow(&s->col, &cap, (size_t)s->n + 1, MAX_ROWS, sizeof *s->col)) {                     \
        return fail(b);                                                                            \
    }
    PS_SLICE_COLS(X)
#undef X
    b->cap_slices = cap;
    return true;
}

static bool time_ok(int64_t ns) {
    return ns > -TIME_LIMIT_NS && ns < TIME_LIMIT_NS;
}

uint32_t ps_builder_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                          int64_t start_ns, int64_t end_ns, int64_t source_row) {
    ps_slices *s = &b->trace->slices;
    if (end_ns < start_ns || !time_ok(start_ns) || !time_ok(end_ns) || track == PS_NONE ||
        (s->n == b->cap_slices && !grow_slices(b))) {
        return PS_NONE;
    }
    uint32_t row = s->n++;
    s->start_ns[row] = start_ns;
    s->dur_ns[row] = end_ns - start_ns;
    s->source_row[row] = source_row;
    s->name[row] = name;
    s->track[row] = track;
    s->kind[row] = (uint8_t)kind;
    return row;
}

void ps_builder_flow(ps_builder *b, uint32_t from, uint32_t to) {
    ps_trace *t = b->trace;
    if (!ps_grow(&t->flows, &b->cap_flows, t->n_flows + 1, MAX_ROWS, sizeof *t->flows)) {
        fail(b);
        return;
    }
    t->flows[t->n_flows++] = (ps_flow){from, to};
}

static void add_arg(ps_builder *b, ps_arg arg) {
    ps_trace *t = b->trace;
    if (ps_str_is_none(arg.key) ||
        !ps_grow(&t->args, &b->cap_args, t->n_args + 1, MAX_ROWS, sizeof *t->args)) {
        fail(b);
        return;
    }
    t->args[t->n_args++] = arg;
}

void ps_builder_arg_int(ps_builder *b, uint32_t slice, const char *key, int64_t value) {
    add_arg(b,
            (ps_arg){.slice = slice, .key = ps_builder_str(b, key, strlen(key)), .value = value});
}

void ps_builder_arg_time(ps_builder *b, uint32_t slice, const char *key, int64_t absolute_ns) {
    ps_str id = ps_builder_str(b, key, strlen(key));
    size_t i = 0;
    while (i < b->n_time_keys && !ps_str_eq(b->time_keys[i], id)) {
        i++;
    }
    if (!time_ok(absolute_ns) || i == sizeof b->time_keys / sizeof *b->time_keys) {
        return;
    }
    if (i == b->n_time_keys) {
        b->time_keys[b->n_time_keys++] = id;
    }
    add_arg(b, (ps_arg){.slice = slice, .key = id, .value = absolute_ns});
}

void ps_builder_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns) {
    ps_trace *t = b->trace;
    if (end_ns < start_ns || !time_ok(start_ns) || !time_ok(end_ns)) {
        ps_diag_add(&t->diag, PS_ODD_TIME, "step %lld", (long long)id);
        return;
    }
    if (!ps_grow(&t->steps, &b->cap_steps, t->n_steps + 1, MAX_ROWS, sizeof *t->steps)) {
        fail(b);
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
        fail(b);
        return;
    }
    t->metas[t->n_metas++] =
        (ps_meta){ps_strpool_get(&t->strings, k), ps_strpool_get(&t->strings, v)};
}

void ps_builder_has(ps_builder *b, uint32_t has) {
    b->trace->has |= has;
}

void ps_builder_stamp(ps_builder *b, ps_file_stamp stamp) {
    b->trace->stamp = stamp;
}

void ps_builder_side_table(ps_builder *b, ps_table *table) {
    ps_trace *t = b->trace;
    if (table == NULL || !ps_grow(&t->side_tables, &b->cap_side_tables, t->n_side_tables + 1,
                                  MAX_ROWS, sizeof(ps_table *))) {
        ps_table_free(table);
        fail(b);
        return;
    }
    t->side_tables[t->n_side_tables++] = table;
}

ps_diag *ps_builder_diag(ps_builder *b) {
    return &b->trace->diag;
}

bool ps_builder_failed(const ps_builder *b) {
    return b->failed;
}

/* --- sealing ----------------------------------------------------------------------------------------- */

static void subtract_origin(ps_builder *b) {
    ps_trace *t = b->trace;
    ps_slices *s = &t->slices;
    int64_t origin = s->n > 0 ? s->start_ns[0] : (t->n_steps > 0 ? t->steps[0].start_ns : 0);
    for (uint32_t i = 0; i < s->n; i++) {
        origin = s->start_ns[i] < origin ? s->start_ns[i] : origin;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        s->start_ns[i] -= origin;
    }
    for (size_t i = 0; i < t->n_steps; i++) {
        t->steps[i].start_ns -= origin;
        t->steps[i].end_ns -= origin;
    }
    for (size_t i = 0; i < t->n_args; i++) {
        for (size_t k = 0; k < b->n_time_keys; k++) {
            if (ps_str_eq(t->args[i].key, b->time_keys[k])) {
                t->args[i].value -= origin;
            }
        }
    }
    t->origin_ns = origin;
}

static int compare_rows(const void *a, const void *b, void *context) {
    const ps_slices *s = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (s->start_ns[x] != s->start_ns[y]) {
        return s->start_ns[x] < s->start_ns[y] ? -1 : 1;
    }
    if (s->dur_ns[x] != s->dur_ns[y]) {
        return s->dur_ns[x] > s->dur_ns[y] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* new_row[old] and the reordered columns. */
static bool sort_slices(ps_slices *s, uint32_t **new_row) {
    uint32_t *order = ps_calloc(s->n, sizeof *order);
    *new_row = ps_calloc(s->n, sizeof **new_row);
    bool ok = order != NULL && *new_row != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        order[i] = i;
    }
    if (ok) {
        qsort_r(order, s->n, sizeof *order, compare_rows, s);
        for (uint32_t i = 0; i < s->n; i++) {
            (*new_row)[order[i]] = i;
        }
    }
#define X(type, col)                                                                               \
    type *col##_sorted = ok ? ps_calloc(s->n, sizeof(type)) : NULL;                                \
    ok = ok && col##_sorted != NULL;                                                               \
    for (uint32_t i = 0; ok && i < s->n; i++) {                                                    \
        col##_sorted[i] = s->col[order[i]];                                                        \
    }
    PS_SLICE_COLS(X)
#undef X
#define X(type, col)                                                                               \
    ps_free(ok ? s->col : col##_sorted);                                                           \
    s->col = ok ? col##_sorted : s->col;
    PS_SLICE_COLS(X)
#undef X
    ps_free(order);
    return ok;
}

static int compare_flows(const void *a, const void *b) {
    const ps_flow *x = a;
    const ps_flow *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->to < y->to ? -1 : x->to > y->to;
}

static int compare_arg_keys(const void *a, const void *b) {
    const ps_arg *x = a;
    const ps_arg *y = b;
    if (x->slice != y->slice) {
        return x->slice < y->slice ? -1 : 1;
    }
    return x->key.id < y->key.id ? -1 : x->key.id > y->key.id;
}

/* One key given twice: the smaller value first, so that what is found does not depend on the sort. */
static int compare_args(const void *a, const void *b) {
    int order = compare_arg_keys(a, b);
    int64_t x = ((const ps_arg *)a)->value;
    int64_t y = ((const ps_arg *)b)->value;
    return order != 0 ? order : x < y ? -1 : x > y;
}

static int compare_steps(const void *a, const void *b) {
    const ps_step *x = a;
    const ps_step *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

ps_trace *ps_builder_seal(ps_builder *b, ps_err *err) {
    ps_trace *t = b->trace;
    uint32_t *new_row = NULL;
    bool ok = !b->failed;
    if (ok) {
        subtract_origin(b);
        ok = sort_slices(&t->slices, &new_row);
    }
    if (!ok) {
        ps_free(new_row);
        ps_builder_free(b);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    for (size_t i = 0; i < t->n_flows; i++) {
        t->flows[i] = (ps_flow){new_row[t->flows[i].from], new_row[t->flows[i].to]};
    }
    for (size_t i = 0; i < t->n_args; i++) {
        t->args[i].slice = new_row[t->args[i].slice];
    }
    if (t->n_flows > 1) {
        qsort(t->flows, t->n_flows, sizeof *t->flows, compare_flows);
    }
    if (t->n_args > 1) {
        qsort(t->args, t->n_args, sizeof *t->args, compare_args);
    }
    if (t->n_steps > 1) {
        qsort(t->steps, t->n_steps, sizeof *t->steps, compare_steps);
    }
    ps_free(new_row);
    ps_idmap_fini(&b->track_rows);
    ps_free(b);
    return t;
}

/* --- reading ----------------------------------------------------------------------------------------- */

int64_t ps_trace_origin_ns(const ps_trace *t) {
    return t->origin_ns;
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

static const ps_arg *find_arg(const ps_trace *t, uint32_t slice, const char *key) {
    ps_str k = ps_strpool_find(&t->strings, key, strlen(key));
    if (ps_str_is_none(k) || t->n_args == 0) {
        return NULL;
    }
    ps_arg wanted = {.slice = slice, .key = k};
    return bsearch(&wanted, t->args, t->n_args, sizeof *t->args, compare_arg_keys);
}

bool ps_trace_arg_int(const ps_trace *t, uint32_t slice, const char *key, int64_t *out) {
    const ps_arg *arg = find_arg(t, slice, key);
    if (arg == NULL) {
        return false;
    }
    *out = arg->value;
    return true;
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
