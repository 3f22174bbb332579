/* Every kernel and communication operator is a row, far too many to be held as tables of all ranks. What rows have in
 * common (name, type, shapes, formats ...) is kept once, as a look; a row has its times, its task, and which look. The table
 * makes its cells from that when it is written. Start times are decimal text: microseconds since 1970 with their nanoseconds
 * do not fit a double. */
#include "analyze/modes/kernel_details.h"

#include <stdio.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/rank/kernel_facts.h"
#include "analyze/rank/links.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/num.h"

static const char MISSING[] = "N/A";
static const char COMMUNICATION[] = "COMMUNICATION";

#define MAX_ROWS ((size_t)UINT32_MAX - 1)
#define NO_TASK UINT32_MAX

/* --- columns ---------------------------------------------------------------------------------------------- */

enum {
    K_NAME,
    K_BLOCK,
    K_MIX_BLOCK,
    K_TYPE,
    K_TASK_TYPE,
    K_IN_FORMATS,
    K_OUT_FORMATS,
    K_IN_SHAPES,
    K_OUT_SHAPES,
    K_IN_TYPES,
    K_OUT_TYPES,
    K_STATE,
    K_START,
    K_DURATION,
    K_DEVICE,
    K_MODEL,
    K_STREAM,
    K_CONTEXT,
    K_TASK,
    K_WAIT,
    N_KERNEL_COLUMNS
};

#define TEXT(text)                                                                                 \
    { .name = (text), .type = PS_COL_TEXT }
#define US(text)                                                                                   \
    { .name = (text), .type = PS_COL_REAL, .unit = PS_UNIT_US }
#define BEFORE_STATE                                                                               \
    TEXT("op_name"), TEXT("block_dim"), TEXT("mix_block_dim"), TEXT("op_type"), TEXT("task_type"), \
        TEXT("input_formats"), TEXT("output_formats"), TEXT("input_shapes"),                       \
        TEXT("output_shapes"), TEXT("input_data_types"), TEXT("output_data_types")
#define BEHIND_STATE                                                                               \
    TEXT("task_start_time"), US("task_duration"), TEXT("device_id"), TEXT("model_id"),             \
        TEXT("stream_id"), TEXT("context_id"), TEXT("task_id"), US("task_wait_time")

static const ps_column KERNELS[N_KERNEL_COLUMNS] = {BEFORE_STATE, TEXT("op_state"), BEHIND_STATE};
static const ps_column STATELESS[N_KERNEL_COLUMNS - 1] = {BEFORE_STATE, BEHIND_STATE};

/* Where the fields of a kernel go. */
static const uint8_t COLUMN_OF[PS_N_KERNEL_FIELDS] = {
    [PS_KERNEL_BLOCK] = K_BLOCK,
    [PS_KERNEL_MIX_BLOCK] = K_MIX_BLOCK,
    [PS_KERNEL_TYPE] = K_TYPE,
    [PS_KERNEL_CORE] = K_TASK_TYPE,
    [PS_KERNEL_IN_FORMATS] = K_IN_FORMATS,
    [PS_KERNEL_OUT_FORMATS] = K_OUT_FORMATS,
    [PS_KERNEL_IN_SHAPES] = K_IN_SHAPES,
    [PS_KERNEL_OUT_SHAPES] = K_OUT_SHAPES,
    [PS_KERNEL_IN_TYPES] = K_IN_TYPES,
    [PS_KERNEL_OUT_TYPES] = K_OUT_TYPES,
    [PS_KERNEL_STATE] = K_STATE,
    [PS_KERNEL_MODEL] = K_MODEL,
    [PS_KERNEL_CONTEXT] = K_CONTEXT,
    [PS_KERNEL_TASK] = K_TASK,
};

/* --- what is kept ------------------------------------------------------------------------------------------ */

typedef struct row {
    int64_t start_ns; /* epoch */
    int64_t dur_ns;
    uint32_t look;
    uint32_t task; /* NO_TASK: the look has it */
} row;

typedef struct look {
    const char *text[N_KERNEL_COLUMNS]; /* in the arena, or static; NULL for numbers and times */
} look;

typedef struct details {
    row *rows;
    size_t n, cap;
    look *looks;
    size_t n_looks, cap_looks;
    ps_arena arena;
} details;

static void free_details(void *context) {
    details *d = context;
    if (d != NULL) {
        ps_free(d->rows);
        ps_free(d->looks);
        ps_arena_fini(&d->arena);
        ps_free(d);
    }
}

/* --- one row as cells --------------------------------------------------------------------------------------- */

/* Of a number without its sign; returns behind the last digit. */
static char *put_digits(char *at, uint64_t number) {
    char digits[24];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

static char *put_detail_number(char *at, int64_t number) {
    if (number < 0) {
        *at++ = '-';
    }
    at = put_digits(at, ps_magnitude(number));
    *at = '\0';
    return at;
}

/* "1700000000000.125" */
static char *put_us(char *at, int64_t ns) {
    uint64_t size = ps_magnitude(ns);
    if (ns < 0) {
        *at++ = '-';
    }
    at = put_digits(at, size / 1000);
    uint64_t rest = size % 1000;
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    *at++ = (char)('0' + rest / 10 % 10);
    *at++ = (char)('0' + rest % 10);
    *at = '\0';
    return at;
}

static void make_whole_row(const details *d, size_t i, ps_value *cells, char room[PS_ROW_ROOM]) {
    const row *r = &d->rows[i];
    const look *l = &d->looks[r->look];
    int64_t wait_ns = i > 0 ? r->start_ns - (r[-1].start_ns + r[-1].dur_ns) : 0;
    for (size_t c = 0; c < N_KERNEL_COLUMNS; c++) {
        cells[c] = (ps_value){.u.text = l->text[c]};
    }
    char *end = put_us(room, r->start_ns);
    cells[K_START].u.text = room;
    cells[K_DURATION].u.r = (double)r->dur_ns / 1000;
    cells[K_WAIT].u.r = wait_ns > 0 ? (double)wait_ns / 1000 : 0;
    if (r->task != NO_TASK) {
        (void)put_detail_number(end + 1, r->task);
        cells[K_TASK].u.text = end + 1;
    }
}

static void make_detail_row(const void *context, size_t i, ps_value *cells,
                            char room[PS_ROW_ROOM]) {
    make_whole_row(context, i, cells, room);
}

static void make_stateless_row(const void *context, size_t i, ps_value *cells,
                               char room[PS_ROW_ROOM]) {
    ps_value whole[N_KERNEL_COLUMNS];
    make_whole_row(context, i, whole, room);
    memcpy(cells, whole, K_STATE * sizeof *cells);
    memcpy(cells + K_STATE, whole + K_STATE + 1, (N_KERNEL_COLUMNS - K_STATE - 1) * sizeof *cells);
}

/* Older profiles do not know whether shapes are static: then there is no such column. */
static bool has_state(const details *d) {
    for (size_t i = 0; i < d->n_looks; i++) {
        if (strcmp(d->looks[i].text[K_STATE], MISSING) != 0) {
            return true;
        }
    }
    return false;
}

/* --- from the trace ----------------------------------------------------------------------------------------- */

/* The cells of a look before they are texts. */
enum { CELL_MISSING, CELL_TEXT, CELL_NUMBER, CELL_COMMUNICATION };
typedef struct look_key {
    int64_t value[N_KERNEL_COLUMNS];              /* id of a text of the trace, or the number */
    uint8_t kind[(N_KERNEL_COLUMNS + 7) / 8 * 8]; /* compared as bytes: no padding behind it */
} look_key;

typedef struct lister {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    details *d;
    look_key *keys; /* [n_looks] */
    size_t cap_keys;
    ps_idmap known; /* hash of a look, or the next free number after it -> look */
    ps_kernel_keys wanted;
    ps_str op_type;
    ps_idmap copied; /* text of the trace -> row in copies */
    const char **copies;
    size_t n_copies, cap_copies;
    ps_derived *derived;
    const ps_links *links; /* NULL: not needed yet */
    int64_t step;
} lister;

static void set_detail_text(look_key *k, size_t column, ps_str text) {
    k->value[column] = text.id;
    k->kind[column] = CELL_TEXT;
}

static void set_number(look_key *k, size_t column, int64_t number) {
    k->value[column] = number;
    k->kind[column] = CELL_NUMBER;
}

/* A text in the arena, once however often it is used. NULL when memory is out. */
static const char *copy_detail_text(lister *l, ps_str text) {
    uint32_t at = ps_idmap_get(&l->copied, text.id);
    if (at != PS_IDMAP_NONE) {
        return l->copies[at];
    }
    const char *copy = ps_arena_strndup(&l->d->arena, ps_trace_text(l->trace, text),
                                        ps_trace_text_len(l->trace, text));
    if (copy == NULL ||
        !ps_grow(&l->copies, &l->cap_copies, l->n_copies + 1, MAX_ROWS, sizeof *l->copies) ||
        !ps_idmap_put(&l->copied, text.id, (uint32_t)l->n_copies)) {
        return NULL;
    }
    l->copies[l->n_copies++] = copy;
    return copy;
}

static const char *detail_text_of(lister *l, const look_key *k, size_t column) {
    char text[32];
    switch (k->kind[column]) {
    case CELL_TEXT:
        return copy_detail_text(l, (ps_str){(uint32_t)k->value[column]});
    case CELL_NUMBER:
        return ps_arena_strndup(&l->d->arena, text,
                                (size_t)(put_detail_number(text, k->value[column]) - text));
    case CELL_COMMUNICATION:
        return COMMUNICATION;
    default:
        return MISSING;
    }
}

static bool add_look(lister *l, const look_key *k, uint64_t hash) {
    details *d = l->d;
    if (!ps_grow(&l->keys, &l->cap_keys, d->n_looks + 1, MAX_ROWS, sizeof *l->keys) ||
        !ps_grow(&d->looks, &d->cap_looks, d->n_looks + 1, MAX_ROWS, sizeof *d->looks) ||
        !ps_idmap_put(&l->known, hash, (uint32_t)d->n_looks)) {
        return false;
    }
    look *new = &d->looks[d->n_looks];
    *new = (look){0};
    for (size_t c = 0; c < N_KERNEL_COLUMNS; c++) {
        if (KERNELS[c].type == PS_COL_TEXT && c != K_START) {
            new->text[c] = detail_text_of(l, k, c);
            if (new->text[c] == NULL) {
                return false;
            }
        }
    }
    l->keys[d->n_looks++] = *k;
    return true;
}

/* False when memory is out. */
static bool find_look(lister *l, const look_key *k, uint32_t *out) {
    uint64_t hash = ps_hash64_seeded(k, sizeof *k);
    for (;; hash++) {
        *out = ps_idmap_get(&l->known, hash);
        if (*out == PS_IDMAP_NONE) {
            *out = (uint32_t)l->d->n_looks;
            return add_look(l, k, hash);
        }
        if (memcmp(&l->keys[*out], k, sizeof *k) == 0) {
            return true;
        }
    }
}

static void read_detail_args(const lister *l, uint32_t slice, look_key *k) {
    ps_arg fields[PS_N_KERNEL_FIELDS];
    ps_kernel_read(&l->wanted, slice, fields);
    for (size_t f = 0; f < PS_N_KERNEL_FIELDS; f++) {
        if (ps_str_is_none(fields[f].key)) {
            continue;
        }
        if (fields[f].type == PS_ARG_INT) {
            set_number(k, COLUMN_OF[f], fields[f].u.i);
        } else {
            set_detail_text(k, COLUMN_OF[f], fields[f].u.s);
        }
    }
}

/* The operator that launched a kernel stands for its type where the profile knows none. */
static bool read_missing_type(lister *l, uint32_t slice, look_key *k) {
    if (k->kind[K_TYPE] != CELL_MISSING) {
        return true;
    }
    if (l->links == NULL && (l->links = ps_derived_links(l->derived, NULL)) == NULL) {
        return false;
    }
    uint32_t op = l->links->op[slice];
    if (op != PS_NONE) {
        set_detail_text(k, K_TYPE, l->s->name[op]);
    }
    return true;
}

static void read_operator(const lister *l, uint32_t slice, look_key *k) {
    k->kind[K_TYPE] = CELL_COMMUNICATION;
    k->kind[K_TASK_TYPE] = CELL_COMMUNICATION;
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(l->trace, slice); ps_arg_next(&it, &arg);) {
        if (!ps_str_is_none(l->op_type) && ps_str_eq(arg.key, l->op_type)) {
            bool is_text =
                arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_JSON;
            if (is_text) {
                set_detail_text(k, K_TYPE, arg.u.s);
            }
            return;
        }
    }
}

static bool read_look(lister *l, uint32_t slice, bool is_kernel, look_key *k) {
    const ps_track *track = &l->tracks[l->s->track[slice]];
    set_detail_text(k, K_NAME, l->s->name[slice]);
    if (track->device >= 0) {
        set_number(k, K_DEVICE, track->device);
    }
    if (track->kind == PS_TRACK_STREAM && track->tid >= 0) {
        set_number(k, K_STREAM, track->tid);
    }
    if (!is_kernel) {
        read_operator(l, slice, k);
        return true;
    }
    if (!ps_str_is_none(l->s->category[slice])) {
        set_detail_text(k, K_TASK_TYPE, l->s->category[slice]);
    }
    read_detail_args(l, slice, k);
    return read_missing_type(l, slice, k);
}

static bool add_detail_row(lister *l, uint32_t slice, bool is_kernel) {
    details *d = l->d;
    if (!ps_grow(&d->rows, &d->cap, d->n + 1, MAX_ROWS, sizeof *d->rows)) {
        return false;
    }
    look_key k;
    memset(&k, 0, sizeof k);
    if (!read_look(l, slice, is_kernel, &k)) {
        return false;
    }
    int64_t start = l->s->start_ns[slice];
    row r = {.start_ns = start + ps_trace_origin_ns(l->trace),
             .dur_ns = l->s->dur_ns[slice],
             .task = NO_TASK};
    if (k.kind[K_TASK] == CELL_NUMBER && k.value[K_TASK] >= 0 && k.value[K_TASK] < NO_TASK) {
        r.task = (uint32_t)k.value[K_TASK];
        k.value[K_TASK] = 0;
        k.kind[K_TASK] = CELL_MISSING;
    }
    bool ok = find_look(l, &k, &r.look);
    d->rows[d->n++] = r;
    return ok;
}

static bool list_all(lister *l) {
    ps_slice_kind communication = ps_communication_kind(l->s);
    bool ok = ps_kernel_keys_init(&l->wanted, l->trace);
    l->op_type = ps_trace_find_text(l->trace, "opType");
    for (uint32_t i = 0; ok && i < l->s->n; i++) {
        bool is_kernel = l->s->kind[i] == PS_SLICE_KERNEL;
        if ((is_kernel || l->s->kind[i] == communication) &&
            (l->step < 0 || ps_links_step(l->links, i) == l->step)) {
            ok = add_detail_row(l, i, is_kernel);
        }
    }
    return ok;
}

static ps_code list_into(const ps_map_input *in, details *d, ps_err *err) {
    size_t n_tracks = 0;
    lister l = {.trace = in->trace,
                .s = ps_trace_slices(in->trace),
                .tracks = ps_trace_tracks(in->trace, &n_tracks),
                .d = d,
                .derived = in->derived,
                .step = in->opts->step_id};
    ps_idmap_init(&l.known);
    ps_idmap_init(&l.copied);
    bool ok = l.step < 0 || (l.links = ps_derived_links(in->derived, err)) != NULL;
    ok = ok && list_all(&l);
    ps_idmap_fini(&l.known);
    ps_kernel_keys_fini(&l.wanted);
    ps_idmap_fini(&l.copied);
    ps_free(l.copies);
    ps_free(l.keys);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* Owns the details, also after a failure. */
static ps_table *new_details_table(details *d) {
    bool state = has_state(d);
    return ps_table_new_made("kernel_details", "kernels and communication operators",
                             state ? KERNELS : STATELESS,
                             state ? N_KERNEL_COLUMNS : N_KERNEL_COLUMNS - 1, d->n,
                             (ps_row_maker){.make = state ? make_detail_row : make_stateless_row,
                                            .context = d,
                                            .free_context = free_details});
}

ps_code ps_kernel_details_list(const ps_map_input *in, ps_table **out, ps_err *err) {
    *out = NULL;
    details *d = ps_calloc(1, sizeof *d);
    if (d == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&d->arena);
    ps_code code = list_into(in, d, err);
    if (code != PS_OK || d->n == 0) {
        free_details(d);
        return code;
    }
    *out = new_details_table(d);
    return *out != NULL ? PS_OK : ps_fail_nomem(err);
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

static void detail_row_archive(ps_archive *a, void *of) {
    row *x = of;
    PS_ARCHIVE(a, x, start_ns, dur_ns, look, task);
}

static void look_archive(ps_archive *a, void *of) {
    look *x = of;
    PS_ARCHIVE_EACH(a, x, text);
    for (size_t c = 0; ps_archive_is_reading(a) && c < N_KERNEL_COLUMNS; c++) {
        if (KERNELS[c].type == PS_COL_TEXT && c != K_START && x->text[c] == NULL) {
            ps_archive_refuse(a, "look");
        }
    }
}

void ps_kernel_details_archive(ps_archive *a, ps_table **table) {
    void *at = *table != NULL ? ps_table_maker_context(*table) : NULL;
    details *x = ps_archive_object(a, &at, sizeof *x);
    if (x == NULL) {
        return;
    }
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE_ARRAY(a, x, rows, n, detail_row_archive);
    PS_ARCHIVE_ARRAY(a, x, looks, n_looks, look_archive);
    for (size_t i = 0; ps_archive_is_reading(a) && i < x->n; i++) {
        if (x->rows[i].look >= x->n_looks) {
            ps_archive_refuse(a, "look");
        }
    }
    if (ps_archive_is_reading(a)) {
        *table = new_details_table(x);
        if (*table == NULL) {
            ps_archive_nomem(a);
        }
    } else if (at != NULL && *table == NULL) { /* read in part */
        free_details(x);
    }
}
