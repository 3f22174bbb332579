/*   {"pipescope":{"version":1,"ranks":[{"part":0,"rank":3,"host":""}]},"baseTimeNanoseconds":0,"traceEvents":[
 *   {"ph":"M","name":"pipescope_rank","pid":1,"tid":7,"args":{"part":0,"has":3,"no_kind":"mark"}},
 *   {"ph":"M","name":"pipescope_category","pid":1,"tid":7,"args":{"cat":"kernel","kind":"kernel"}},
 *   {"ph":"M","name":"pipescope_track","pid":1,"tid":7,"args":{"kind":"stream","pid":0,"tid":7,"device":0}},
 *   {"ph":"X","name":"MatMul","cat":"kernel","pid":1,"tid":7,"ts":12.500,"dur":3.000,"args":{"block":40}},
 *   {"ph":"s","id":1,"cat":"ac2g","pid":1,"tid":1,"ts":9.000,"args":{"slice":0}},
 *   {"ph":"f","bp":"e","id":1,"cat":"ac2g","pid":1,"tid":7,"ts":12.500,"args":{"slice":1}}, ...
 *
 * What follows a pipescope_rank belongs to that part, until the next one. Slices are numbered within their part in the
 * order of the file; flows name the numbers. Names and orders for viewers are passed over. */
#include "read/chrome/pipescope_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/literal.h"
#include "base/num.h"
#include "read/chrome/pipescope_json_tables.h"
#include "read/events/trace_events.h"
#include "read/reader.h"

#define VERSION 1
#define MAX_HEAD_BYTES ((size_t)16 << 20)

/* What a slice or value says to find its track: process and thread, or process and name of the counter. */
typedef struct lane_key {
    int64_t pid, tid; /* a number, or the id of a text in the trace */
    int64_t flags;    /* PID_TEXT, TID_TEXT, COUNTER_NAME */
} lane_key;

enum { PID_TEXT = 1, TID_TEXT = 2, COUNTER_NAME = 4 };

typedef struct lane {
    lane_key key;
    uint32_t track;
} lane;

typedef struct category {
    ps_str name;
    ps_slice_kind kind;
} category;

typedef struct reading {
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    int64_t part; /* the one that is wanted */
    int64_t base_ns;
    bool is_wanted; /* events belong to that part now */
    bool was_found, has_events;
    bool is_done; /* that part is complete; the rest of the file is not read */
    lane *lanes;
    size_t n_lanes, cap_lanes;
    ps_idmap lane_rows; /* hash of a key, or the next free number after it -> row in lanes */
    category *categories;
    size_t n_categories, cap_categories;
    ps_idmap category_rows; /* text, or text and name of slices -> row in categories */
    bool has_named;         /* some are for slices of one name */
    ps_idmap time_keys;
    ps_str no_kind;   /* "cat" of flows that have no kind */
    uint32_t *slices; /* number in the part -> provisional row, PS_NONE */
    size_t n_slices, cap_slices;
    ps_json_tables tables;
    bool flow_is_open;
    uint64_t flow_id;
    uint32_t flow_from;
    /* of the batch */
    const ps_event_batch *batch;
    ps_str *texts; /* by id in the batch; none: not yet interned */
    size_t cap_texts;
} reading;

/* --- texts and arguments ------------------------------------------------------------------------------- */

static ps_str own_text(reading *r, uint32_t id) {
    if (ps_str_is_none(r->texts[id]) && id != 0) {
        const ps_event_text *t = &r->batch->texts[id];
        r->texts[id] = ps_builder_str(r->builder, t->bytes, t->n);
    }
    return r->texts[id];
}

static bool is_own_text(const reading *r, uint32_t id, const char *wanted) {
    const ps_event_text *t = &r->batch->texts[id];
    return t->n == strlen(wanted) && memcmp(t->bytes, wanted, t->n) == 0;
}

static const ps_event_arg *find_arg(const reading *r, const ps_event *e, const char *key) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &r->batch->args[e->first_arg + i];
        if (is_own_text(r, arg->key, key)) {
            return arg;
        }
    }
    return NULL;
}

static bool int_arg(const reading *r, const ps_event *e, const char *key, int64_t *out) {
    const ps_event_arg *arg = find_arg(r, e, key);
    if (arg == NULL || arg->type != PS_ARG_INT) {
        return false;
    }
    *out = arg->u.i;
    return true;
}

static ps_str str_arg(reading *r, const ps_event *e, const char *key) {
    const ps_event_arg *arg = find_arg(r, e, key);
    if (arg == NULL || arg->type != PS_ARG_STR) {
        return PS_STR_NONE;
    }
    return arg->u.text != 0 ? own_text(r, arg->u.text) : ps_builder_str(r->builder, "", 0);
}

static void own_odd(reading *r, ps_oddity kind, const ps_event *e, const char *what) {
    ps_diag_add(r->diag, kind, "byte %llu: %s", (unsigned long long)e->offset, what);
}

/* --- tracks -------------------------------------------------------------------------------------------- */

static lane_key own_key_of(reading *r, const ps_event *e) {
    bool pid_is_text = (e->flags & PS_EVENT_PID_TEXT) != 0;
    bool tid_is_text = (e->flags & PS_EVENT_TID_TEXT) != 0;
    return (lane_key){.pid = pid_is_text ? (int64_t)own_text(r, (uint32_t)e->pid).id : e->pid,
                      .tid = tid_is_text ? (int64_t)own_text(r, (uint32_t)e->tid).id : e->tid,
                      .flags = (pid_is_text ? PID_TEXT : 0) | (tid_is_text ? TID_TEXT : 0)};
}

static lane_key counter_key(reading *r, const ps_event *e, ps_str name) {
    lane_key key = own_key_of(r, e);
    key.tid = (int64_t)name.id;
    key.flags = (key.flags & PID_TEXT) | COUNTER_NAME;
    return key;
}

static bool same_key(const lane_key *a, const lane_key *b) {
    return a->pid == b->pid && a->tid == b->tid && a->flags == b->flags;
}

/* The row in lanes, PS_IDMAP_NONE when there is none; then *free_slot is where it would stand. */
static uint32_t find_lane(const reading *r, const lane_key *key, uint64_t *free_slot) {
    uint64_t slot = ps_hash64_seeded(key, sizeof *key);
    uint32_t row;
    while ((row = ps_idmap_get(&r->lane_rows, slot)) != PS_IDMAP_NONE &&
           !same_key(&r->lanes[row].key, key)) {
        slot++;
    }
    *free_slot = slot;
    return row;
}

static uint32_t track_at(const reading *r, const lane_key *key) {
    uint64_t slot = 0;
    uint32_t row = find_lane(r, key, &slot);
    return row != PS_IDMAP_NONE ? r->lanes[row].track : PS_NONE;
}

static bool add_own_lane(reading *r, lane_key key, uint32_t track) {
    uint64_t slot = 0;
    uint32_t row = find_lane(r, &key, &slot);
    if (row != PS_IDMAP_NONE) {
        r->lanes[row].track = track;
        return true;
    }
    if (!ps_grow(&r->lanes, &r->cap_lanes, r->n_lanes + 1, PS_NONE, sizeof *r->lanes) ||
        !ps_idmap_put(&r->lane_rows, slot, (uint32_t)r->n_lanes)) {
        return false;
    }
    r->lanes[r->n_lanes++] = (lane){key, track};
    return true;
}

static bool kind_of_track(const reading *r, const ps_event *e, ps_track_kind *out) {
    static const struct {
        const char *name;
        ps_track_kind kind;
    } KINDS[] = {{"thread", PS_TRACK_HOST_THREAD}, {"stream", PS_TRACK_STREAM},
                 {"group", PS_TRACK_COMM_GROUP},   {"plane", PS_TRACK_COMM_PLANE},
                 {"counter", PS_TRACK_COUNTER},    {"derived", PS_TRACK_DERIVED}};
    const ps_event_arg *arg = find_arg(r, e, "kind");
    for (size_t i = 0; arg != NULL && arg->type == PS_ARG_STR && i < sizeof KINDS / sizeof *KINDS;
         i++) {
        if (is_own_text(r, arg->u.text, KINDS[i].name)) {
            *out = KINDS[i].kind;
            return true;
        }
    }
    return false;
}

/* False when memory is out. */
static bool take_track(reading *r, const ps_event *e) {
    ps_track track = {.pid = 0, .tid = -1, .device = -1};
    if (!kind_of_track(r, e, &track.kind)) {
        own_odd(r, PS_ODD_METADATA_EVENT, e, "pipescope_track without a kind");
        return true;
    }
    (void)int_arg(r, e, "pid", &track.pid);
    (void)int_arg(r, e, "tid", &track.tid);
    (void)int_arg(r, e, "device", &track.device);
    track.name = str_arg(r, e, "name");
    uint32_t row = ps_builder_track(r->builder, track);
    if (row == PS_NONE) {
        return false;
    }
    int64_t order = PS_NO_ORDER;
    (void)int_arg(r, e, "order", &order);
    ps_builder_track_label(r->builder, row, str_arg(r, e, "label"), order);
    ps_str unit = str_arg(r, e, "unit");
    if (!ps_str_is_none(unit)) {
        ps_builder_track_unit(r->builder, row, unit);
    }
    if (track.kind == PS_TRACK_COUNTER) {
        ps_str name = str_arg(r, e, "counter");
        if (!ps_str_is_none(name) && !add_own_lane(r, counter_key(r, e, name), row)) {
            return false;
        }
    }
    return (e->flags & PS_EVENT_HAS_TID) == 0 || add_own_lane(r, own_key_of(r, e), row);
}

/* --- other metadata ------------------------------------------------------------------------------------ */

static bool kind_of_slice(const reading *r, const ps_event *e, ps_slice_kind *out) {
    const ps_event_arg *arg = find_arg(r, e, "kind");
    for (int k = 0; arg != NULL && arg->type == PS_ARG_STR && k < PS_N_SLICE_KINDS; k++) {
        if (is_own_text(r, arg->u.text, ps_slice_kind_name((ps_slice_kind)k))) {
            *out = (ps_slice_kind)k;
            return true;
        }
    }
    return false;
}

/* `name` none: all slices with this text that no other entry names. */
static uint64_t category_key(ps_str cat, ps_str name) {
    return (uint64_t)name.id << 32 | cat.id;
}

static bool take_category(reading *r, const ps_event *e) {
    category c = {.name = str_arg(r, e, "category")};
    ps_str name = str_arg(r, e, "name");
    ps_str cat = str_arg(r, e, "cat");
    if (!kind_of_slice(r, e, &c.kind) || ps_str_is_none(cat)) {
        own_odd(r, PS_ODD_METADATA_EVENT, e, "pipescope_category without a kind");
        return true;
    }
    if (!ps_grow(&r->categories, &r->cap_categories, r->n_categories + 1, PS_NONE,
                 sizeof *r->categories) ||
        !ps_idmap_put(&r->category_rows, category_key(cat, name), (uint32_t)r->n_categories)) {
        return false;
    }
    r->has_named = r->has_named || !ps_str_is_none(name);
    r->categories[r->n_categories++] = c;
    return true;
}

static bool take_process(reading *r, const ps_event *e) {
    ps_process process = {.name = str_arg(r, e, "name"),
                          .labels = str_arg(r, e, "labels"),
                          .order = PS_NO_ORDER,
                          .pid_is_text = find_arg(r, e, "text") != NULL};
    if (int_arg(r, e, "pid", &process.pid)) {
        (void)int_arg(r, e, "order", &process.order);
        ps_builder_process(r->builder, process);
    } else {
        own_odd(r, PS_ODD_METADATA_EVENT, e, "pipescope_process without a pid");
    }
    return true;
}

static bool take_step(reading *r, const ps_event *e) {
    int64_t id = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    if (!int_arg(r, e, "id", &id) || !int_arg(r, e, "start_ns", &start_ns) ||
        !int_arg(r, e, "end_ns", &end_ns)) {
        own_odd(r, PS_ODD_METADATA_EVENT, e, "pipescope_step without its numbers");
    } else if ((r->needs & PS_NEED_STEPS) != 0) {
        ps_builder_step(r->builder, id, start_ns, end_ns);
    }
    return true;
}

static bool take_meta(reading *r, const ps_event *e) {
    const char *key = ps_builder_text(r->builder, str_arg(r, e, "key"));
    if ((r->needs & PS_NEED_META) != 0 && key[0] != '\0') {
        ps_builder_meta(r->builder, key, ps_builder_text(r->builder, str_arg(r, e, "value")));
    }
    return true;
}

static bool take_own_time(reading *r, const ps_event *e) {
    ps_str key = str_arg(r, e, "arg");
    return ps_str_is_none(key) || ps_idmap_put(&r->time_keys, key.id, 1);
}

/* The JSON of an argument; "" where there is none. */
static ps_event_text json_arg(const reading *r, const ps_event *e, const char *key) {
    const ps_event_arg *arg = find_arg(r, e, key);
    bool is_json = arg != NULL && arg->type == PS_ARG_JSON;
    return is_json ? r->batch->texts[arg->u.text] : (ps_event_text){.bytes = "", .n = 0};
}

static bool wants_tables(const reading *r) {
    return (r->needs & (PS_NEED_TABLES | PS_NEED_STATISTICS)) != 0;
}

static bool take_own_table(reading *r, const ps_event *e) {
    if (!wants_tables(r)) {
        return true;
    }
    ps_event_text columns = json_arg(r, e, "columns");
    const char *name = ps_builder_text(r->builder, str_arg(r, e, "table"));
    ps_json_table_result result = ps_json_tables_begin(&r->tables, name, columns.bytes, columns.n);
    if (result == PS_JSON_TABLE_ODD) {
        own_odd(r, PS_ODD_METADATA_EVENT, e, "pipescope_table without a name and columns");
    }
    return result != PS_JSON_TABLE_NOMEM;
}

static bool take_own_row(reading *r, const ps_event *e) {
    if (!wants_tables(r)) {
        return true;
    }
    ps_event_text cells = json_arg(r, e, "cells");
    ps_json_table_result result = ps_json_tables_row(&r->tables, cells.bytes, cells.n);
    if (result == PS_JSON_TABLE_ODD) {
        own_odd(r, PS_ODD_METADATA_EVENT, e,
                "pipescope_row that fits no pipescope_table before it");
    }
    return result != PS_JSON_TABLE_NOMEM;
}

static bool take_rank(reading *r, const ps_event *e) {
    int64_t part = -1;
    (void)int_arg(r, e, "part", &part);
    if (r->was_found) {
        r->is_done = true;
        return true;
    }
    r->is_wanted = part == r->part;
    if (r->is_wanted) {
        int64_t has = 0;
        (void)int_arg(r, e, "has", &has);
        ps_builder_has(r->builder, (uint32_t)has);
        r->no_kind = str_arg(r, e, "no_kind");
        r->was_found = true;
    }
    return true;
}

static bool take_metadata(reading *r, const ps_event *e) {
    static const struct {
        const char *name;
        bool (*take)(reading *, const ps_event *);
    } EVENTS[] = {
        {"pipescope_track", take_track},     {"pipescope_category", take_category},
        {"pipescope_meta", take_meta},       {"pipescope_step", take_step},
        {"pipescope_time", take_own_time},   {"pipescope_process", take_process},
        {"pipescope_table", take_own_table}, {"pipescope_row", take_own_row},
    };
    if (is_own_text(r, e->name, "pipescope_rank")) {
        return take_rank(r, e);
    }
    for (size_t i = 0; r->is_wanted && i < sizeof EVENTS / sizeof *EVENTS; i++) {
        if (is_own_text(r, e->name, EVENTS[i].name)) {
            return EVENTS[i].take(r, e);
        }
    }
    return true; /* for viewers, or another part's */
}

/* --- events -------------------------------------------------------------------------------------------- */

static void add_arg(reading *r, uint32_t slice, const ps_event_arg *arg) {
    ps_arg out = {.key = own_text(r, arg->key), .type = arg->type};
    if (arg->key == 0) {
        out.key = ps_builder_str(r->builder, "", 0);
    }
    switch (arg->type) {
    case PS_ARG_REAL:
        out.u.r = arg->u.r;
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        out.u.s = own_text(r, arg->u.text);
        break;
    case PS_ARG_INT:
    case PS_ARG_TIME:
    case PS_ARG_BOOL:
    case PS_ARG_NULL:
        out.u.i = arg->u.i;
        break;
    }
    if (out.type == PS_ARG_INT && ps_idmap_get(&r->time_keys, out.key.id) != PS_IDMAP_NONE) {
        out.type = PS_ARG_TIME;
    }
    ps_builder_arg(r->builder, slice, out);
}

static bool push_slice(reading *r, uint32_t slice) {
    return PS_ADD(r->slices, r->n_slices, r->cap_slices, PS_NONE, slice);
}

static bool own_absolute(const reading *r, const ps_event *e, int64_t *start_ns, int64_t *end_ns) {
    bool has_dur = (e->flags & PS_EVENT_HAS_DUR) != 0;
    return (e->flags & PS_EVENT_HAS_TS) != 0 &&
           !__builtin_add_overflow(e->ts_ns, r->base_ns, start_ns) &&
           !__builtin_add_overflow(*start_ns, has_dur ? e->dur_ns : 0, end_ns);
}

static category own_category_of(reading *r, const ps_event *e) {
    const ps_str cat = own_text(r, e->cat);
    uint32_t row = PS_IDMAP_NONE;
    if (r->has_named) {
        row = ps_idmap_get(&r->category_rows, category_key(cat, own_text(r, e->name)));
    }
    if (row == PS_IDMAP_NONE) {
        row = ps_idmap_get(&r->category_rows, category_key(cat, PS_STR_NONE));
    }
    return row != PS_IDMAP_NONE ? r->categories[row] : (category){cat, PS_SLICE_HOST_OTHER};
}

static bool take_slice(reading *r, const ps_event *e, int64_t event) {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    lane_key key = own_key_of(r, e);
    uint32_t track = track_at(r, &key);
    const category c = own_category_of(r, e);
    if (track == PS_NONE) {
        own_odd(r, PS_ODD_EVENT_FIELD, e, "a thread that no pipescope_track names");
        return push_slice(r, PS_NONE);
    }
    uint32_t slice = PS_NONE;
    if (own_absolute(r, e, &start_ns, &end_ns)) {
        slice = ps_builder_slice_in(r->builder, c.kind, track, own_text(r, e->name), c.name,
                                    start_ns, end_ns, event);
    }
    if (slice == PS_NONE) {
        own_odd(r, PS_ODD_TIME, e, "slice");
        return push_slice(r, PS_NONE);
    }
    for (uint32_t i = 0; i < e->n_args; i++) {
        add_arg(r, slice, &r->batch->args[e->first_arg + i]);
    }
    return push_slice(r, slice);
}

static void take_own_value(reading *r, const ps_event *e) {
    lane_key key = counter_key(r, e, own_text(r, e->name));
    uint32_t track = track_at(r, &key);
    const ps_event_arg *arg = e->n_args > 0 ? &r->batch->args[e->first_arg] : NULL;
    double value = __builtin_nan("");
    if (track == PS_NONE || arg == NULL) {
        own_odd(r, PS_ODD_EVENT_FIELD, e, "a counter that no pipescope_track names");
        return;
    }
    if (arg->type == PS_ARG_INT) {
        value = (double)arg->u.i;
    } else if (arg->type == PS_ARG_REAL) {
        value = arg->u.r;
    }
    int64_t time_ns = 0;
    int64_t end_ns = 0;
    if (!own_absolute(r, e, &time_ns, &end_ns) ||
        !ps_builder_counter(r->builder, track, time_ns, value)) {
        own_odd(r, PS_ODD_TIME, e, "counter");
    }
}

/* The slice that a flow event names; PS_NONE when it is none that begins there. */
static uint32_t flow_slice(reading *r, const ps_event *e) {
    int64_t number = -1;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    if (!int_arg(r, e, "slice", &number) || number < 0 || (uint64_t)number >= r->n_slices ||
        !own_absolute(r, e, &start_ns, &end_ns)) {
        return PS_NONE;
    }
    uint32_t slice = r->slices[number];
    return slice != PS_NONE && ps_builder_slice_start_ns(r->builder, slice) == start_ns ? slice
                                                                                        : PS_NONE;
}

/* An end follows its begin. */
static void take_flow(reading *r, const ps_event *e) {
    if (e->ph == 's') {
        if (r->flow_is_open) {
            own_odd(r, PS_ODD_FLOW_HALF, e, "the flow before it has no end");
        }
        r->flow_is_open = true;
        r->flow_id = e->id_low;
        r->flow_from = flow_slice(r, e);
        return;
    }
    uint32_t to = flow_slice(r, e);
    if (!r->flow_is_open || r->flow_id != e->id_low) {
        own_odd(r, PS_ODD_FLOW_HALF, e, "a flow's end that does not follow its begin");
        return;
    }
    r->flow_is_open = false;
    if (r->flow_from == PS_NONE || to == PS_NONE) {
        own_odd(r, PS_ODD_FLOW_NO_SLICE, e, "flow");
        return;
    }
    ps_str kind = own_text(r, e->cat);
    ps_builder_flow_of(r->builder, r->flow_from, to,
                       ps_str_eq(kind, r->no_kind) ? PS_STR_NONE : kind);
}

static bool take_own_event(reading *r, const ps_event *e, int64_t event) {
    const uint32_t any =
        PS_NEED_SLICES | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST | PS_NEED_COMM_MARKS;
    if (e->ph == 'M') {
        return take_metadata(r, e);
    }
    if (!r->is_wanted) {
        return true;
    }
    r->has_events = true;
    switch (e->ph) {
    case 'X':
    case 'i':
        return (r->needs & any) == 0 || take_slice(r, e, event);
    case 'C':
        if ((r->needs & PS_NEED_COUNTERS) != 0) {
            take_own_value(r, e);
        }
        break;
    case 's':
    case 'f':
        if ((r->needs & (PS_NEED_FLOWS | PS_NEED_MARKS)) != 0 && (r->needs & any) != 0) {
            take_flow(r, e);
        }
        break;
    default:
        own_odd(r, PS_ODD_EVENT_PHASE, e, "an event that pipescope does not write");
        break;
    }
    return true;
}

/* Ends the reading of events; is_done says that it is no failure. */
#define STOP PS_NOTHING

static ps_code take_own_batch(void *context, const ps_event_batch *batch, ps_err *err) {
    reading *r = context;
    if (!ps_grow(&r->texts, &r->cap_texts, batch->n_texts + 1, SIZE_MAX / sizeof *r->texts,
                 sizeof *r->texts)) {
        return ps_fail_nomem(err);
    }
    memset(r->texts, 0, batch->n_texts * sizeof *r->texts);
    r->batch = batch;
    for (size_t i = 0; i < batch->n_events; i++) {
        if (!take_own_event(r, &batch->events[i], (int64_t)(batch->first_event + i))) {
            return ps_fail_nomem(err);
        }
        if (r->is_done) {
            return ps_builder_failed(r->builder) ? ps_fail_nomem(err) : STOP;
        }
    }
    return ps_builder_failed(r->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* --- the head ------------------------------------------------------------------------------------------ */

/* The object {"version":1,"ranks":[...]}, or NULL. */
static const ps_literal *parse_head(ps_arena *arena, const char *json, size_t n, ps_err *err) {
    const ps_literal *head = ps_literal_parse(arena, json, n, err);
    int64_t version = 0;
    if (head != NULL &&
        (!ps_literal_int(ps_literal_get(head, "version"), &version) || version != VERSION)) {
        (void)ps_fail(err, PS_UNSUPPORTED,
                      "version %lld of the format; this program reads version %d",
                      (long long)version, VERSION);
        return NULL;
    }
    return head;
}

static ps_code list_own_parts(const ps_literal *head, ps_arena *arena, ps_part **parts, size_t *n,
                              ps_err *err);

static ps_code take_own_member(void *context, const char *key, const char *json, size_t n,
                               ps_err *err) {
    reading *r = context;
    if (strcmp(key, "baseTimeNanoseconds") == 0) {
        if (r->has_events || !ps_parse_i64(json, n, &r->base_ns)) {
            return ps_fail(err, PS_SYNTAX,
                           "baseTimeNanoseconds must be an integer before the events");
        }
        return PS_OK;
    }
    if (strcmp(key, "pipescope") != 0) {
        return PS_OK;
    }
    ps_arena arena = {0};
    const ps_literal *head = parse_head(&arena, json, n, err);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    ps_code code = head != NULL  ? list_own_parts(head, &arena, &parts, &n_parts, err)
                   : err != NULL ? err->code
                                 : PS_SYNTAX;
    ps_arena_fini(&arena);
    return code;
}

ps_code ps_pipescope_json_read(ps_input *in, int64_t part, uint32_t needs, size_t n_threads,
                               ps_builder *b, ps_err *err) {
    reading r = {.builder = b,
                 .diag = ps_builder_diag(b),
                 .needs = needs | ((needs & PS_NEED_WORKER_OPS) != 0 ? PS_NEED_SLICES : 0),
                 .part = part,
                 .tables = {.builder = b}};
    ps_err here = PS_ERR_INIT;
    const ps_event_schema schema = {.all_args = true};
    const ps_event_sink sink = {&r, take_own_batch, take_own_member};
    ps_event_stats stats = {0};
    ps_code code = ps_trace_events_read(in, &schema, &sink, n_threads, r.diag, &stats, &here);
    code = r.is_done && code == STOP ? PS_OK : code;
    if (code == PS_OK && !r.was_found) {
        code =
            ps_fail_file(&here, PS_NOTHING, ps_input_path(in),
                         "part %lld has no events: it could not be read when the file was written",
                         (long long)part);
    }
    ps_json_tables_end(&r.tables);
    if (r.flow_is_open) {
        ps_diag_add(r.diag, PS_ODD_FLOW_HALF, "the last flow has no end");
    }
    ps_free(r.lanes);
    ps_free(r.categories);
    ps_free(r.slices);
    ps_free(r.texts);
    ps_idmap_fini(&r.lane_rows);
    ps_idmap_fini(&r.category_rows);
    ps_idmap_fini(&r.time_keys);
    if (code != PS_OK && here.file[0] == '\0') {
        (void)ps_fail_file(err, code, ps_input_path(in), "%s", here.msg);
    } else if (code != PS_OK && err != NULL) {
        *err = here;
    }
    return code;
}

/* --- the reader ---------------------------------------------------------------------------------------- */

static size_t skip_own_space(const char *s, size_t n, size_t at) {
    while (at < n && (s[at] == ' ' || s[at] == '\t' || s[at] == '\r' || s[at] == '\n')) {
        at++;
    }
    return at;
}

/* Where the value of the first member begins when that is "pipescope"; 0 else. */
static size_t find_head(const char *s, size_t n) {
    static const char NAME[] = "\"pipescope\"";
    size_t at = skip_own_space(s, n, 0);
    if (at >= n || s[at] != '{') {
        return 0;
    }
    at = skip_own_space(s, n, at + 1);
    if (n - at < sizeof NAME || memcmp(s + at, NAME, sizeof NAME - 1) != 0) {
        return 0;
    }
    at = skip_own_space(s, n, at + sizeof NAME - 1);
    return at < n && s[at] == ':' ? skip_own_space(s, n, at + 1) : 0;
}

static int sniff_own(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    return find_head((const char *)head, n) > 0 ? 95 : 0;
}

/* A walk over the head's object, kept while more text comes. */
typedef struct head_walk {
    size_t begin, at; /* begin: of the object */
    size_t depth;
    bool in_string, escaped, ended, failed;
} head_walk;

/* Goes on to the object's end or that of the text. */
static void walk_on(head_walk *w, const char *s, size_t n) {
    if (w->depth == 0) {
        w->at = w->begin = skip_own_space(s, n, w->at);
    }
    for (; w->at < n && !w->ended && !w->failed; w->at++) {
        char c = s[w->at];
        if (w->in_string) {
            w->in_string = w->escaped || c != '"';
            w->escaped = !w->escaped && c == '\\';
        } else if (c == '"') {
            w->in_string = true;
        } else if (c == '{' || c == '[') {
            w->depth++;
        } else if ((c == '}' || c == ']') && w->depth > 0) {
            w->ended = --w->depth == 0;
        }
        w->failed = w->depth == 0 && !w->ended;
    }
}

/* Reads until the head's object is complete. */
static ps_code read_head(ps_input *in, ps_buf *text, size_t *begin, size_t *n, ps_err *err) {
    char block[PS_HEAD_BYTES];
    head_walk w = {0};
    while (!w.ended) {
        size_t got = 0;
        bool is_first = text->len == 0;
        ps_code code = ps_input_read(in, block, sizeof block, &got, err);
        if (code != PS_OK) {
            return code;
        }
        if (text->len + got > MAX_HEAD_BYTES) {
            return ps_fail_file(err, PS_RANGE, ps_input_path(in), "its head is too long");
        }
        ps_buf_add(text, block, got);
        if (!ps_buf_ok(text)) {
            return ps_fail_nomem(err);
        }
        w.at = is_first ? find_head(ps_buf_str(text), text->len) : w.at;
        w.failed = w.at == 0 || got == 0;
        walk_on(&w, ps_buf_str(text), text->len);
        if (w.failed) {
            return ps_fail_file(err, PS_SYNTAX, ps_input_path(in),
                                "does not begin with the member pipescope");
        }
    }
    *begin = w.begin;
    *n = w.at - w.begin;
    return PS_OK;
}

static ps_code refuse_twins(const ps_part *parts, size_t n, ps_err *err) {
    ps_idmap seen = {0};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        if (ps_idmap_get(&seen, (uint64_t)parts[i].id) != PS_IDMAP_NONE) {
            code =
                ps_fail(err, PS_SYNTAX, "its head names part %lld twice", (long long)parts[i].id);
        } else if (!ps_idmap_put(&seen, (uint64_t)parts[i].id, 1)) {
            code = ps_fail_nomem(err);
        }
    }
    ps_idmap_fini(&seen);
    return code;
}

static ps_code list_own_parts(const ps_literal *head, ps_arena *arena, ps_part **parts, size_t *n,
                              ps_err *err) {
    const ps_literal *ranks = ps_literal_get(head, "ranks");
    size_t count = 0;
    for (const ps_literal *r = ranks != NULL ? ranks->child : NULL; r != NULL; r = r->next) {
        count++;
    }
    *parts = ps_arena_alloc(arena, (count + 1) * sizeof **parts);
    if (*parts == NULL) {
        return ps_fail_nomem(err);
    }
    *n = 0;
    for (const ps_literal *r = count > 0 ? ranks->child : NULL; r != NULL; r = r->next) {
        ps_part part = {.rank = -1, .machine = -1};
        const char *host = ps_literal_str(ps_literal_get(r, "host"));
        part.host =
            ps_arena_strndup(arena, host != NULL ? host : "", host != NULL ? strlen(host) : 0);
        const char *profiler = ps_literal_str(ps_literal_get(r, "profiler"));
        part.profiler =
            profiler != NULL ? ps_arena_strndup(arena, profiler, strlen(profiler)) : NULL;
        const char *title = ps_literal_str(ps_literal_get(r, "title"));
        part.title = title != NULL ? ps_arena_strndup(arena, title, strlen(title)) : NULL;
        if (part.host == NULL || (profiler != NULL && part.profiler == NULL) ||
            (title != NULL && part.title == NULL)) {
            return ps_fail_nomem(err);
        }
        (void)ps_literal_int(ps_literal_get(r, "rank"), &part.rank);
        int64_t machine = -1;
        bool is_number = ps_literal_int(ps_literal_get(r, "machine"), &machine);
        part.machine = is_number && machine >= 0 && machine <= INT32_MAX ? (int32_t)machine : -1;
        if (ps_literal_int(ps_literal_get(r, "part"), &part.id)) {
            (*parts)[(*n)++] = part;
        }
    }
    return refuse_twins(*parts, *n, err);
}

static ps_code own_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n, ps_err *err) {
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    ps_buf head_text;
    ps_buf_init(&head_text, 2 * MAX_HEAD_BYTES);
    ps_arena scratch = {0};
    size_t begin = 0;
    size_t length = 0;
    ps_code code = read_head(in, &head_text, &begin, &length, err);
    if (code == PS_OK) {
        ps_err here = PS_ERR_INIT;
        const ps_literal *head = parse_head(&scratch, head_text.data + begin, length, &here);
        code = head != NULL ? list_own_parts(head, arena, out, n, &here) : here.code;
        if (code != PS_OK) {
            (void)ps_fail_file(err, code, path, "%s", here.msg);
        }
    }
    ps_arena_fini(&scratch);
    ps_buf_fini(&head_text);
    ps_input_close(in);
    return code;
}

static ps_code read_file(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_input *in = ps_input_open(src->path, err);
    if (in == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    ps_input_watch(in, src->watch);
    ps_code code = ps_pipescope_json_read(in, src->part, needs, src->n_threads, b, err);
    ps_input_close(in);
    return code;
}

const ps_reader ps_reader_pipescope_json = {
    .name = "pipescope-json",
    .profiler = "pipescope",
    .summary = "Trace events that pipescope convert wrote (JSON, also gzipped)",
    .sniff = sniff_own,
    .parts = own_parts,
    .read = read_file,
};
