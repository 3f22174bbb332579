/* Which arguments become columns is decided by a sample of the slices, evenly spread: those that a tenth of them have, the
 * first MOST_ARGS in the order in which they are met. A column is of numbers when all values of the sample are. */
#include "serve/select/slice_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "model/table.h"
#include "serve/rank/cache.h"
#include "write/out/number_text.h"

enum { MOST_ARGS = 24, SAMPLE = 2000, MOST_KEYS = 256, COMMON = 10 };

enum { C_NAME, C_START, C_DURATION, C_LANE, C_ROW, C_KIND, C_CATEGORY, N_FIXED };

static const ps_column FIXED[N_FIXED] = {
    {.name = "name", .type = PS_COL_TEXT},
    {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "lane", .type = PS_COL_TEXT},
    {.name = "row", .type = PS_COL_INT},
    {.name = "kind", .type = PS_COL_TEXT},
    {.name = "category", .type = PS_COL_TEXT}};

typedef struct arg_column {
    ps_str key[PS_N_LAYERS]; /* none: no such text in that layer */
    const char *name;
    uint32_t n;
    bool is_int, is_real, is_time; /* all values so far */
} arg_column;

/* Rows are mostly read in order: the next one is near. */
typedef struct cursor {
    size_t row; /* SIZE_MAX: none yet */
    uint32_t slice;
} cursor;

typedef struct slice_rows {
    const ps_loaded *l;
    const ps_slice_set *set;
    cursor *last; /* a table is read by one thread at a time */
    cursor at;
    arg_column args[MOST_KEYS];
    size_t n_args;
} slice_rows;

static int layer_of(const ps_loaded *l, const ps_layer *layer) {
    return layer == ps_loaded_layer(l, PS_LAYER_DERIVED) ? PS_LAYER_DERIVED : PS_LAYER_PROFILE;
}

/* --- which arguments ----------------------------------------------------------------------------------------- */

static arg_column *column_of(slice_rows *x, int layer, ps_str key) {
    for (size_t i = 0; i < x->n_args; i++) {
        if (ps_str_eq(x->args[i].key[layer], key)) {
            return &x->args[i];
        }
    }
    if (x->n_args == MOST_KEYS) {
        return NULL;
    }
    arg_column *c = &x->args[x->n_args++];
    *c = (arg_column){.is_int = true, .is_real = true, .is_time = true};
    c->name = ps_trace_text(ps_loaded_layer(x->l, layer)->trace, key);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        c->key[i] = i == layer ? key : ps_trace_find_text(ps_loaded_layer(x->l, i)->trace, c->name);
    }
    return c;
}

static void note_args(slice_rows *x, uint32_t slice) {
    ps_ref ref;
    if (!ps_loaded_ref(x->l, slice, &ref)) {
        return;
    }
    int layer = layer_of(x->l, ref.layer);
    ps_arg_iter iter = ps_trace_args(ref.layer->trace, ref.slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        arg_column *c = column_of(x, layer, arg.key);
        if (c != NULL && arg.type != PS_ARG_NULL) {
            bool is_int = arg.type == PS_ARG_INT || arg.type == PS_ARG_BOOL;
            c->n++;
            c->is_time = c->is_time && arg.type == PS_ARG_TIME;
            c->is_int = c->is_int && (is_int || arg.type == PS_ARG_TIME);
            c->is_real = c->is_real && (is_int || arg.type == PS_ARG_REAL);
        }
    }
}

/* Keeps the columns that are common enough. */
static void choose_args(slice_rows *x) {
    size_t n = ps_slice_set_n(x->set);
    size_t n_sampled = n < SAMPLE ? n : SAMPLE;
    for (size_t i = 0; i < n_sampled; i++) {
        note_args(x, ps_slice_set_at(x->set, i * n / n_sampled));
    }
    size_t kept = 0;
    for (size_t i = 0; i < x->n_args && kept < MOST_ARGS; i++) {
        if (x->args[i].n > 0 && (size_t)x->args[i].n * COMMON >= n_sampled) {
            x->args[kept++] = x->args[i];
        }
    }
    x->n_args = kept;
}

/* --- rows ---------------------------------------------------------------------------------------------------- */

static void set_slice_cell_text(ps_value *cell, const char *text) {
    *cell = (ps_value){.u.text = text, .is_null = text[0] == '\0'};
}

/* What is left of the row's room for texts. */
typedef struct room {
    char *at;
    size_t left;
} room;

static void set_number_text(ps_value *cell, room *to, const char *digits) {
    size_t n = strlen(digits) + 1;
    if (n <= to->left) {
        memcpy(to->at, digits, n);
        set_slice_cell_text(cell, to->at);
        to->at += n;
        to->left -= n;
    }
}

static void set_slice_cell_arg(ps_value *cell, const arg_column *c, const ps_trace *t,
                               const ps_arg *arg, room *to) {
    char digits[PS_NUMBER_TEXT];
    bool is_whole = arg->type == PS_ARG_INT || arg->type == PS_ARG_BOOL || arg->type == PS_ARG_TIME;
    bool is_text =
        arg->type == PS_ARG_STR || arg->type == PS_ARG_NUMBER || arg->type == PS_ARG_JSON;
    int64_t whole = 0;
    if (c->is_int || c->is_real) {
        bool parsed = is_text && ps_parse_i64(ps_trace_text(t, arg->u.s),
                                              ps_trace_text_len(t, arg->u.s), &whole);
        whole = is_whole ? arg->u.i : whole;
        if (c->is_int && (is_whole || parsed)) {
            ps_cell_int_set(cell, whole);
        } else if (!c->is_int && (is_whole || parsed)) {
            *cell = (ps_value){.u.r = (double)whole};
        } else if (!c->is_int && arg->type == PS_ARG_REAL) {
            *cell = (ps_value){.u.r = arg->u.r};
        }
    } else if (is_text) {
        set_slice_cell_text(cell, ps_trace_text(t, arg->u.s));
    } else if (arg->type == PS_ARG_REAL) {
        ps_real_shortest(arg->u.r, digits);
        set_number_text(cell, to, digits);
    } else if (is_whole) {
        digits[ps_int_text(arg->u.i, digits)] = '\0';
        set_number_text(cell, to, digits);
    }
}

static void set_args(const slice_rows *x, const ps_ref *ref, ps_value *cells,
                     char text[PS_ROW_ROOM]) {
    room left = {text, PS_ROW_ROOM};
    int layer = layer_of(x->l, ref->layer);
    ps_arg_iter iter = ps_trace_args(ref->layer->trace, ref->slice);
    for (ps_arg arg; x->n_args > 0 && ps_arg_next(&iter, &arg);) {
        for (size_t i = 0; i < x->n_args; i++) {
            if (ps_str_eq(x->args[i].key[layer], arg.key) && cells[N_FIXED + i].is_null) {
                set_slice_cell_arg(&cells[N_FIXED + i], &x->args[i], ref->layer->trace, &arg,
                                   &left);
            }
        }
    }
}

static uint32_t slice_of_row(const slice_rows *x, size_t row) {
    cursor *last = x->last;
    if (last->row != SIZE_MAX && row == last->row + 1) {
        ps_ref ref;
        (void)ps_loaded_ref(x->l, last->slice, &ref);
        uint32_t next = ps_slice_set_next(x->set, layer_of(x->l, ref.layer), ref.slice + 1);
        last->slice =
            next != PS_NONE ? ref.layer->first_slice + next : ps_slice_set_at(x->set, row);
    } else if (row != last->row) {
        last->slice = ps_slice_set_at(x->set, row);
    }
    last->row = row;
    return last->slice;
}

static void make_slice_cell_row(const void *context, size_t row, ps_value *cells,
                                char text[PS_ROW_ROOM]) {
    const slice_rows *x = context;
    uint32_t slice = slice_of_row(x, row);
    ps_ref ref;
    if (!ps_loaded_ref(x->l, slice, &ref)) {
        return;
    }
    const ps_trace *t = ref.layer->trace;
    const ps_slices *s = ps_trace_slices(t);
    set_slice_cell_text(&cells[C_NAME], ps_trace_text(t, s->name[ref.slice]));
    cells[C_NAME].is_null = false;
    ps_cell_int_set(&cells[C_START], s->start_ns[ref.slice]);
    ps_cell_int_set(&cells[C_DURATION], s->dur_ns[ref.slice]);
    uint32_t lane = 0;
    uint32_t in_lane = 0;
    if (ps_loaded_place(x->l, slice, &lane, &in_lane, NULL) == PS_OK && lane != PS_NONE) {
        const ps_lanes *lanes = ref.layer->lanes;
        set_slice_cell_text(&cells[C_LANE],
                            lanes->nodes[lanes->node_of_lane[lane - ref.layer->first_lane]].name);
        ps_cell_int_set(&cells[C_ROW], in_lane);
    }
    set_slice_cell_text(&cells[C_KIND], ps_slice_kind_name((ps_slice_kind)s->kind[ref.slice]));
    set_slice_cell_text(&cells[C_CATEGORY], ps_trace_text(t, s->category[ref.slice]));
    set_args(x, &ref, cells, text);
    ps_cell_int_set(&cells[N_FIXED + x->n_args], slice);
}

/* --- the table ----------------------------------------------------------------------------------------------- */

/* The name of an argument's column: its own, unless a column before it is called so. */
static const char *column_name(ps_reply *r, const ps_column *before, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(before[i].name, name) == 0) {
            size_t len = strlen(name);
            char *other = ps_arena_alloc(&r->arena, len + sizeof " (argument)");
            if (other != NULL) {
                memcpy(other, name, len);
                memcpy(other + len, " (argument)", sizeof " (argument)");
            }
            return other;
        }
    }
    return name;
}

static ps_column *make_columns(ps_reply *r, const slice_rows *x) {
    ps_column *columns = ps_arena_alloc(&r->arena, (N_FIXED + x->n_args + 1) * sizeof *columns);
    if (columns == NULL) {
        return NULL;
    }
    memcpy(columns, FIXED, sizeof FIXED);
    columns[N_FIXED + x->n_args] = (ps_column){.name = "slice", .type = PS_COL_INT, .exact = true};
    for (size_t i = 0; i < x->n_args; i++) {
        const arg_column *a = &x->args[i];
        const char *name = column_name(r, columns, N_FIXED + i, a->name);
        if (name == NULL) {
            return NULL;
        }
        if (strcmp(name, "slice") == 0) {
            name = "slice (argument)";
        }
        columns[N_FIXED + i] = (ps_column){.name = name,
                                           .type = a->is_int    ? PS_COL_INT
                                                   : a->is_real ? PS_COL_REAL
                                                                : PS_COL_TEXT,
                                           .unit = a->is_time ? PS_UNIT_NS : PS_UNIT_NONE,
                                           .exact = true};
    }
    return columns;
}

ps_table *ps_slice_table_new(ps_reply *r, const char *name, const ps_loaded *l,
                             const ps_slice_set *set, bool with_args, ps_err *err) {
    slice_rows *x = ps_calloc(1, sizeof *x);
    ps_column *columns = NULL;
    if (x != NULL) {
        x->l = l;
        x->set = set;
        x->last = &x->at;
        x->at.row = SIZE_MAX;
        if (with_args) {
            choose_args(x);
        }
        columns = make_columns(r, x);
    }
    if (columns == NULL) {
        ps_free(x);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_row_maker maker = {.make = make_slice_cell_row, .context = x, .free_context = ps_free};
    ps_table *t =
        ps_table_new_made(name, "", columns, N_FIXED + x->n_args + 1, ps_slice_set_n(set), maker);
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

/* --- cached sets --------------------------------------------------------------------------------------------- */

typedef struct set_source {
    const ps_loaded *l;
    const ps_slice_box *box;
    ps_str only[PS_N_LAYERS];
    bool any_name;
    ps_slice_set *set;
} set_source;

static ps_code add_slice_cell_row(void *context, const ps_box_row *row, ps_err *err) {
    (void)err;
    const set_source *x = context;
    int layer = layer_of(x->l, row->layer);
    const ps_str *names = ps_trace_slices(row->layer->trace)->name;
    if (!x->any_name && ps_str_is_none(x->only[layer])) {
        return PS_OK;
    }
    for (uint32_t i = row->first; i < row->end; i++) {
        uint32_t slice = row->order[i];
        if (x->any_name || ps_str_eq(names[slice], x->only[layer])) {
            (void)ps_slice_set_add(x->set, layer, slice);
        }
    }
    return PS_OK;
}

static void free_set(void *value) {
    ps_slice_set_fini(value);
    ps_free(value);
}

static ps_code make_set(void *context, ps_cached *out, ps_err *err) {
    set_source *x = context;
    x->set = ps_calloc(1, sizeof *x->set);
    ps_code code = x->set != NULL ? ps_slice_set_init(x->set, x->l, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_box_walk(x->l, x->box, add_slice_cell_row, x, err) : code;
    code = code == PS_OK ? ps_slice_set_close(x->set, err) : code;
    if (code != PS_OK) {
        if (x->set != NULL) {
            free_set(x->set);
        }
        return code;
    }
    *out =
        (ps_cached){.value = x->set, .bytes = ps_slice_set_bytes(x->set), .free_value = free_set};
    return PS_OK;
}

ps_code ps_slice_set_of_box(const ps_request *q, const ps_loaded *l, const ps_slice_box *box,
                            const char *only_name, ps_slice_set **out, ps_err *err) {
    *out = NULL;
    set_source x = {.l = l, .box = box, .any_name = only_name == NULL};
    for (int i = 0; only_name != NULL && i < PS_N_LAYERS; i++) {
        x.only[i] = ps_trace_find_text(ps_loaded_layer(l, i)->trace, only_name);
    }
    ps_buf key = {0};
    ps_slice_box_key(q, box, "slices", &key);
    if (only_name != NULL) {
        ps_buf_add_json_str(&key, only_name, strlen(only_name));
    }
    void *value = NULL;
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(q->cache, ps_buf_str(&key), make_set, &x,
                                                  q->watch, &value, err)
                                   : ps_fail_nomem(err);
    ps_buf_fini(&key);
    *out = value;
    return code;
}

void ps_put_slices_of_box(const ps_request *q, ps_reply *r, const ps_loaded *l,
                          const ps_slice_box *box, const char *only_name) {
    ps_err err = PS_ERR_INIT;
    ps_slice_set *set = NULL;
    bool with_args = only_name == NULL;
    ps_code code = ps_slice_set_of_box(q, l, box, only_name, &set, &err);
    ps_table *table =
        code == PS_OK ? ps_slice_table_new(r, "slices", l, set, with_args, &err) : NULL;
    if (table != NULL) {
        ps_put_table_with(q, r, table, &(ps_table_extra){.from_origin = true});
    } else {
        ps_reply_err(r, &err);
    }
    ps_table_free(table);
    ps_cache_release(q->cache, set);
}
