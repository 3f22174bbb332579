/* Trace-event JSON, as chrome://tracing, Perfetto and our own reader (read/chrome/pipescope_json.c) take it:
 *
 *   {"pipescope":{"version":1,"ranks":[{"part":0,"rank":0,"host":"","title":"rank 0"}]},
 *   "baseTimeNanoseconds":1711904976000000000,"displayTimeUnit":"ns","traceEvents":[
 *   {"ph":"M","name":"pipescope_rank","pid":1,"tid":7,"args":{"part":0, ...}},
 *   {"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
 *   {"ph":"X","name":"MatMul","cat":"kernel","pid":1,"tid":7,"ts":12.500,"dur":3.000,"args":{"block":40}},
 *   ...
 *   ],
 *   "lacks":[{"rank":3, ...}]}                        what failed, where anything did
 *
 * What a viewer needs is said in the events that every viewer knows; what they cannot say (kinds, identities of tracks,
 * steps, metadata) in metadata events "pipescope_*", which viewers pass over. docs/formats/pipescope-json.md has them.
 *
 * Times count from a base that all ranks share, because viewers hold them as doubles: microseconds since 1970 in a
 * double are good to a quarter of a microsecond, and slices that touch would cross. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "write/out/json_text.h"
#include "write/trace/arg_keys.h"
#include "write/trace/trace_chrome_names.h"
#include "write/trace/trace_layout.h"
#include "write/trace/trace_writer.h"

/* The base is a multiple of this, so that files of one job share it without knowing of each other; it lies at least
 * an hour before the first rank, so that another one may begin a little earlier. */
#define BASE_STEP_NS INT64_C(7889238000000000)
#define HOUR_NS INT64_C(3600000000000)
typedef struct chrome {
    ps_trace_job *job;
    ps_json json; /* of the whole file, into the buffer of the output */
    bool has_begun;
    int64_t base_ns;
    uint64_t next_flow;
    int64_t next_pid, next_order;
} chrome;

/* One rank being written. */
typedef struct chrome_rank {
    chrome *c;
    ps_byte_out *out;
    ps_json *j;
    const ps_trace *t;
    const ps_trace_source *source;
    size_t part;
    ps_trace_layout layout;
    ps_arg_keys keys;
    ps_chrome_names names;
    ps_buf scratch;
} chrome_rank;

/* --- small pieces -------------------------------------------------------------------------------------- */

static void put_chrome_text(chrome_rank *r, ps_str s) {
    ps_json_str_n(r->j, ps_trace_text(r->t, s), ps_trace_text_len(r->t, s));
}

/* A text that had no room makes the output one that failed: it would be shorter without a word. */
static void clear_chrome_scratch(chrome_rank *r) {
    r->j->out->failed = r->j->out->failed || !ps_buf_ok(&r->scratch);
    ps_buf_clear(&r->scratch);
}

static void put_chrome_scratch(chrome_rank *r) {
    ps_json_text(r->j, &r->scratch);
    ps_buf_clear(&r->scratch);
}

#define put_key_text(r, key, text) (ps_json_key((r)->j, key), ps_json_str((r)->j, (text)))
#define put_key_int(r, key, value) (ps_json_key((r)->j, key), ps_json_int((r)->j, (value)))

/* Nothing when there is no text. */
#define put_optional(r, key, text)                                                                 \
    do {                                                                                           \
        if (!ps_str_is_none(text)) {                                                               \
            ps_json_key((r)->j, key);                                                              \
            put_chrome_text((r), (text));                                                          \
        }                                                                                          \
    } while (0)

/* On a line of its own. */
static void begin_chrome_event(chrome_rank *r) {
    ps_byte_out_relieve(r->out);
    ps_json_line(r->j, 0);
    ps_json_object(r->j);
}

/* Begins a metadata event; its args are open. `ids` says where it belongs. */
static void begin_meta(chrome_rank *r, const char *name, ps_json_piece ids) {
    begin_chrome_event(r);
    ps_json_pair(r->j, "ph", "M");
    put_key_text(r, "name", name);
    ps_json_members(r->j, ids.text, ids.n);
    ps_json_key_object(r->j, "args");
}

static void end_meta(chrome_rank *r) {
    ps_json_close(r->j);
    ps_json_close(r->j);
}

/* --- what stands before the events --------------------------------------------------------------------- */

static void put_chrome_head(chrome_rank *r) {
    const ps_trace_job *job = r->c->job;
    ps_json_object(r->j);
    ps_json_key_object(r->j, "pipescope");
    put_key_int(r, "version", 1);
    ps_json_key_array(r->j, "ranks");
    for (size_t i = 0; i < job->n_sources; i++) {
        const ps_trace_source *s = &job->sources[i];
        ps_json_object(r->j);
        put_key_int(r, "part", (int64_t)i);
        put_key_int(r, "rank", s->rank);
        put_key_text(r, "host", s->host);
        if (s->machine >= 0) {
            put_key_int(r, "machine", s->machine);
        }
        put_key_text(r, "title", s->title);
        if (s->profiler != NULL) {
            put_key_text(r, "profiler", s->profiler);
        }
        ps_json_close(r->j);
    }
    ps_json_close(r->j);
    ps_json_close(r->j);
    int64_t origin = ps_trace_origin_ns(r->t);
    int64_t base = (origin - HOUR_NS) / BASE_STEP_NS;
    base -= origin < 0 && base * BASE_STEP_NS > origin - HOUR_NS ? 1 : 0;
    r->c->base_ns = base * BASE_STEP_NS;
    ps_json_line(r->j, 0);
    put_key_int(r, "baseTimeNanoseconds", r->c->base_ns);
    ps_json_pair(r->j, "displayTimeUnit", "ns");
    ps_json_key_array(r->j, "traceEvents");
    r->c->has_begun = true;
}

static ps_json_piece first_ids(const chrome_rank *r) {
    for (size_t lane = 0; lane < r->layout.n_lanes; lane++) {
        if (r->names.lanes[lane].text != NULL) {
            return r->names.lanes[lane];
        }
    }
    static const char NOBODY[] = "\"pid\":0,\"tid\":0";
    return (ps_json_piece){NOBODY, sizeof NOBODY - 1};
}

/* `name`: of the slices that it is for, none: of all that no other entry names. */
static void put_category(chrome_rank *r, const ps_chrome_category *c, ps_str name,
                         ps_json_piece ids) {
    begin_meta(r, "pipescope_category", ids);
    ps_json_key(r->j, "cat");
    ps_json_raw(r->j, c->shown.text, c->shown.n);
    put_optional(r, "name", name);
    put_key_text(r, "kind", ps_slice_kind_name(c->kind));
    put_optional(r, "category", c->name);
    end_meta(r);
}

static void put_facts(chrome_rank *r) {
    ps_json_piece ids = first_ids(r);
    begin_meta(r, "pipescope_rank", ids);
    put_key_int(r, "part", (int64_t)r->part);
    put_key_int(r, "rank", r->source->rank);
    put_key_int(r, "has", ps_trace_has(r->t));
    put_key_text(r, "no_kind", r->names.no_kind);
    end_meta(r);
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(r->t, &n);
    for (size_t i = 0; i < n; i++) {
        begin_meta(r, "pipescope_meta", ids);
        put_key_text(r, "key", metas[i].key);
        put_key_text(r, "value", metas[i].value);
        end_meta(r);
    }
    const ps_step *steps = ps_trace_steps(r->t, &n);
    int64_t origin = ps_trace_origin_ns(r->t);
    for (size_t i = 0; i < n; i++) {
        begin_meta(r, "pipescope_step", ids);
        put_key_int(r, "id", steps[i].id);
        put_key_int(r, "start_ns", steps[i].start_ns + origin);
        put_key_int(r, "end_ns", steps[i].end_ns + origin);
        end_meta(r);
    }
    for (size_t i = 0; i < r->names.n_categories; i++) {
        const ps_chrome_category *c = &r->names.categories[i];
        if (c->first == i || c->is_apart) {
            put_category(r, c, PS_STR_NONE, ids);
        }
    }
    for (size_t i = 0; i < r->names.n_named; i++) {
        const ps_chrome_named *named = &r->names.named[i];
        put_category(r, &r->names.categories[named->category], named->name, ids);
    }
    for (size_t i = 0; i < r->keys.n_time_keys; i++) {
        begin_meta(r, "pipescope_time", ids);
        ps_json_key(r->j, "arg");
        put_chrome_text(r, r->keys.time_keys[i]);
        end_meta(r);
    }
}

/* "integer", "real, ns" */
static void put_column_type(chrome_rank *r, const ps_column *c) {
    const char *unit = ps_unit_name(c->unit);
    ps_buf_addf(&r->scratch, "%s%s%s",
                c->type == PS_COL_INT    ? "integer"
                : c->type == PS_COL_REAL ? "real"
                                         : "text",
                unit[0] != '\0' ? ", " : "", unit);
    put_chrome_scratch(r);
}

static void put_chrome_cell(chrome_rank *r, const ps_table *t, size_t row, size_t column) {
    const ps_value *cell = ps_table_cell(t, row, column);
    ps_col_type type = t->columns[column].type;
    if (cell->is_null || (type == PS_COL_REAL && cell->u.r - cell->u.r != 0)) {
        ps_json_null(r->j); /* JSON has no number that is infinite, or none */
    } else if (type == PS_COL_INT) {
        ps_json_int(r->j, cell->u.i);
    } else if (type == PS_COL_REAL) {
        ps_json_typed_real(r->j, cell->u.r);
    } else {
        ps_json_str(r->j, cell->u.text);
    }
}

static void put_chrome_table(chrome_rank *r, const ps_table *t, ps_json_piece ids) {
    begin_meta(r, "pipescope_table", ids);
    put_key_text(r, "table", t->name);
    ps_json_key_object(r->j, "columns");
    for (size_t c = 0; c < t->n_columns; c++) {
        ps_json_name(r->j, t->columns[c].name, strlen(t->columns[c].name));
        put_column_type(r, &t->columns[c]);
    }
    ps_json_close(r->j);
    end_meta(r);
    for (size_t row = 0; row < t->n_rows && !ps_byte_out_failed(r->out); row++) {
        begin_meta(r, "pipescope_row", ids);
        ps_json_key_array(r->j, "cells");
        for (size_t c = 0; c < t->n_columns; c++) {
            put_chrome_cell(r, t, row, c);
        }
        ps_json_close(r->j);
        end_meta(r);
    }
}

/* What a timeline has no place for, as far as it was read: statistics of the profiler, names of hosts and devices. */
static void put_chrome_tables(chrome_rank *r) {
    size_t n = 0;
    const ps_table *const *tables = ps_trace_side_tables(r->t, &n);
    for (size_t i = 0; i < n && !ps_byte_out_failed(r->out); i++) {
        if (tables[i]->n_columns > 0) {
            put_chrome_table(r, tables[i], first_ids(r));
        }
    }
}

static bool is_chrome_several(const chrome_rank *r) {
    return r->c->job->n_sources > 1;
}

static const ps_track *chrome_track_of(const chrome_rank *r, uint32_t row) {
    return &ps_trace_tracks(r->t, &(size_t){0})[row];
}

static void put_processes(chrome_rank *r) {
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(r->t, &n);
    const ps_json_piece ids = first_ids(r);
    for (size_t i = 0; i < n; i++) {
        const ps_process *p = &processes[i];
        begin_meta(r, "pipescope_process", ids);
        put_key_int(r, "pid", p->pid);
        put_optional(r, "name", p->name);
        put_optional(r, "labels", p->labels);
        if (p->order != PS_NO_ORDER) {
            put_key_int(r, "order", p->order);
        }
        if (p->pid_is_text) {
            ps_json_key_bool(r->j, "text", true);
        }
        end_meta(r);
    }
    for (size_t g = 0; g < r->layout.n_groups; g++) {
        const ps_trace_group *group = &r->layout.groups[g];
        if (is_chrome_several(r)) {
            ps_buf_addf(&r->scratch, "%s ", r->source->title);
        }
        ps_trace_group_title(r->t, group, &r->scratch);
        begin_meta(r, "process_name", r->names.pids[g]);
        ps_json_key(r->j, "name");
        put_chrome_scratch(r);
        end_meta(r);
        if (group->process != NULL && !ps_str_is_none(group->process->labels)) {
            begin_meta(r, "process_labels", r->names.pids[g]);
            ps_json_key(r->j, "labels");
            put_chrome_text(r, group->process->labels);
            end_meta(r);
        }
        begin_meta(r, "process_sort_index", r->names.pids[g]);
        put_key_int(r, "sort_index", r->c->next_order++);
        end_meta(r);
    }
}

static const char *track_kind_name(ps_track_kind kind) {
    switch (kind) {
    case PS_TRACK_HOST_THREAD:
        return "thread";
    case PS_TRACK_STREAM:
        return "stream";
    case PS_TRACK_COMM_GROUP:
        return "group";
    case PS_TRACK_COMM_PLANE:
        return "plane";
    case PS_TRACK_COUNTER:
        return "counter";
    case PS_TRACK_DERIVED:
        break;
    }
    return "derived";
}

/* The track itself, for our reader; `lane` is one of its own, or that of the process for a counter. */
static void put_track(chrome_rank *r, uint32_t row, ps_json_piece ids) {
    const ps_track *track = chrome_track_of(r, row);
    begin_meta(r, "pipescope_track", ids);
    put_key_int(r, "row", row);
    put_key_text(r, "kind", track_kind_name(track->kind));
    put_key_int(r, "pid", track->pid);
    put_key_int(r, "tid", track->tid);
    put_key_int(r, "device", track->device);
    put_optional(r, "name", track->name);
    put_optional(r, "label", track->label);
    put_optional(r, "unit", track->unit);
    if (track->order != PS_NO_ORDER) {
        put_key_int(r, "order", track->order);
    }
    if (r->names.counters[row].text != NULL) {
        ps_json_key(r->j, "counter");
        ps_json_raw(r->j, r->names.counters[row].text, r->names.counters[row].n);
    }
    end_meta(r);
}

/* In row order first, so that a reader makes the same rows; further lanes and what viewers show after them. */
static void put_chrome_tracks(chrome_rank *r) {
    const ps_trace_layout *l = &r->layout;
    for (uint32_t row = 0; row < l->n_tracks; row++) {
        bool is_counter = r->names.lanes[row].text == NULL;
        put_track(r, row, is_counter ? r->names.pids[l->group_of[row]] : r->names.lanes[row]);
    }
    int64_t order = 0;
    for (size_t i = 0; i < l->n_tracks; i++) {
        order = i > 0 && l->group_of[l->tracks[i]] == l->group_of[l->tracks[i - 1]] ? order : 0;
        for (uint32_t lane = l->tracks[i]; lane != PS_NONE; lane = l->lanes[lane].next) {
            if (r->names.lanes[lane].text == NULL) {
                continue;
            }
            if (l->lanes[lane].number > 0) {
                put_track(r, l->lanes[lane].track, r->names.lanes[lane]);
            }
            ps_trace_lane_title(r->t, &l->lanes[lane], &r->scratch);
            begin_meta(r, "thread_name", r->names.lanes[lane]);
            ps_json_key(r->j, "name");
            put_chrome_scratch(r);
            end_meta(r);
            begin_meta(r, "thread_sort_index", r->names.lanes[lane]);
            put_key_int(r, "sort_index", order++);
            end_meta(r);
        }
    }
}

/* --- events -------------------------------------------------------------------------------------------- */

static void put_chrome_value(chrome_rank *r, const ps_arg *arg) {
    const char *text = NULL;
    size_t n = 0;
    switch (arg->type) {
    case PS_ARG_INT:
        ps_json_int(r->j, arg->u.i);
        break;
    case PS_ARG_TIME:
        ps_json_int(r->j, arg->u.i + ps_trace_origin_ns(r->t));
        break;
    case PS_ARG_REAL:
        ps_json_typed_real(r->j, arg->u.r);
        break;
    case PS_ARG_BOOL:
        ps_json_bool(r->j, arg->u.i != 0);
        break;
    case PS_ARG_NULL:
        ps_json_null(r->j);
        break;
    case PS_ARG_STR:
        put_chrome_text(r, arg->u.s);
        break;
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        text = ps_trace_text(r->t, arg->u.s);
        n = ps_trace_text_len(r->t, arg->u.s);
        if (arg->type == PS_ARG_JSON ? ps_json_is_value(text, n, r->j->depth)
                                     : ps_json_is_number(text, n)) {
            ps_json_raw(r->j, text, n);
        } else {
            ps_json_str_n(r->j, text, n);
        }
        break;
    }
}

/* `names` NULL: none stands twice. */
static bool put_arg_key(chrome_rank *r, ps_str key, ps_arg_names *names) {
    if (names == NULL) {
        ps_json_name(r->j, ps_trace_text(r->t, key), ps_trace_text_len(r->t, key));
        return true;
    }
    bool ok = ps_arg_names_next(names, r->t, key, &r->scratch);
    ps_json_name(r->j, ps_buf_str(&r->scratch), r->scratch.len);
    clear_chrome_scratch(r);
    return ok;
}

static bool put_chrome_args(chrome_rank *r, uint32_t row) {
    ps_arg_iter iter = ps_trace_args(r->t, row);
    if (iter.n_left == 0) {
        return true;
    }
    bool repeats = ps_arg_keys_repeat(&r->keys, &iter);
    ps_arg_names names;
    bool ok = !repeats || ps_arg_names_init(&names, r->t, iter);
    ps_json_key_object(r->j, "args");
    for (ps_arg arg; ok && ps_arg_next(&iter, &arg);) {
        ok = put_arg_key(r, arg.key, repeats ? &names : NULL);
        put_chrome_value(r, &arg);
    }
    ps_json_close(r->j);
    if (repeats) {
        ps_arg_names_fini(&names);
    }
    return ok;
}

static bool put_chrome_slices(chrome_rank *r) {
    const ps_slices *s = ps_trace_slices(r->t);
    const int64_t from_base = ps_trace_origin_ns(r->t) - r->c->base_ns;
    ps_trace_written *written = &r->c->job->written;
    const ps_chrome_category *cat = NULL;
    bool ok = true;
    for (uint32_t row = 0; ok && row < s->n && !ps_byte_out_failed(r->out); row++) {
        if (cat == NULL || cat->kind != s->kind[row] || !ps_str_eq(cat->name, s->category[row])) {
            cat = ps_chrome_names_category(&r->names, s->category[row], s->kind[row]);
        }
        uint32_t lane = r->layout.lane_of[row];
        bool is_point = s->kind[row] == PS_SLICE_INSTANT && s->dur_ns[row] == 0;
        begin_chrome_event(r);
        if (is_point) {
            ps_json_pair(r->j, "ph", "i");
            ps_json_pair(r->j, "s", "t");
        } else {
            ps_json_pair(r->j, "ph", "X");
        }
        ps_json_key(r->j, "name");
        put_chrome_text(r, s->name[row]);
        ps_json_key(r->j, "cat");
        ps_json_raw(r->j, cat->shown.text, cat->shown.n);
        ps_json_members(r->j, r->names.lanes[lane].text, r->names.lanes[lane].n);
        ps_json_key_us(r->j, "ts", s->start_ns[row] + from_base);
        if (!is_point) {
            ps_json_key_us(r->j, "dur", s->dur_ns[row]);
        }
        ok = put_chrome_args(r, row);
        ps_json_close(r->j);
        written->n_crossing += r->layout.lanes[lane].number > 0;
    }
    written->n_slices += s->n;
    return ok;
}

static void put_flow_end(chrome_rank *r, bool is_start, const ps_flow *flow, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(r->t);
    const ps_json_piece ids = r->names.lanes[r->layout.lane_of[slice]];
    begin_chrome_event(r);
    if (is_start) {
        ps_json_pair(r->j, "ph", "s");
    } else {
        ps_json_pair(r->j, "ph", "f");
        ps_json_pair(r->j, "bp", "e");
    }
    put_key_int(r, "id", (int64_t)r->c->next_flow);
    if (ps_str_is_none(flow->kind)) {
        put_key_text(r, "name", r->names.no_kind);
        put_key_text(r, "cat", r->names.no_kind);
    } else {
        put_optional(r, "name", flow->kind);
        put_optional(r, "cat", flow->kind);
    }
    ps_json_members(r->j, ids.text, ids.n);
    ps_json_key_us(r->j, "ts", s->start_ns[slice] + ps_trace_origin_ns(r->t) - r->c->base_ns);
    ps_json_key_object(r->j, "args");
    put_key_int(r, "slice", slice);
    ps_json_close(r->j);
    ps_json_close(r->j);
}

static void put_flows(chrome_rank *r) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(r->t, &n);
    for (size_t i = 0; i < n && !ps_byte_out_failed(r->out); i++) {
        r->c->next_flow++;
        put_flow_end(r, true, &flows[i], flows[i].from);
        put_flow_end(r, false, &flows[i], flows[i].to);
    }
    r->c->job->written.n_flows += n;
}

/* Values that are no numbers are null. */
static void put_chrome_counters(chrome_rank *r) {
    const ps_counters *c = ps_trace_counters(r->t);
    const int64_t from_base = ps_trace_origin_ns(r->t) - r->c->base_ns;
    for (uint32_t row = 0; row < c->n && !ps_byte_out_failed(r->out); row++) {
        uint32_t track = c->track[row];
        ps_str unit = chrome_track_of(r, track)->unit;
        double value = c->value[row];
        const ps_json_piece name = r->names.counters[track];
        const ps_json_piece ids = r->names.pids[r->layout.group_of[track]];
        begin_chrome_event(r);
        ps_json_pair(r->j, "ph", "C");
        ps_json_key(r->j, "name");
        ps_json_raw(r->j, name.text, name.n);
        ps_json_members(r->j, ids.text, ids.n);
        ps_json_key_us(r->j, "ts", c->time_ns[row] + from_base);
        ps_json_key_object(r->j, "args");
        if (ps_str_is_none(unit)) {
            ps_json_key(r->j, "value");
        } else {
            ps_json_name(r->j, ps_trace_text(r->t, unit), ps_trace_text_len(r->t, unit));
        }
        if (value - value != 0) { /* infinite, or not a number */
            ps_json_null(r->j);
        } else if (value >= -9e15 && value <= 9e15 && (double)(int64_t)value == value) {
            ps_json_int(r->j, (int64_t)value);
        } else {
            ps_json_typed_real(r->j, value);
        }
        ps_json_close(r->j);
        ps_json_close(r->j);
    }
    r->c->job->written.n_values += c->n;
}

/* --- the format ---------------------------------------------------------------------------------------- */

static void release_chrome(chrome_rank *r) {
    ps_chrome_names_fini(&r->names);
    ps_trace_layout_fini(&r->layout);
    ps_arg_keys_fini(&r->keys);
    ps_buf_fini(&r->scratch);
}

static ps_code write_chrome_rank(void *state, size_t source, const ps_trace *t, ps_err *err) {
    chrome *c = state;
    chrome_rank r = {.c = c, .out = c->job->out, .t = t, .source = &c->job->sources[source]};
    r.j = &c->json;
    r.part = source;
    bool several = c->job->n_sources > 1;
    ps_code code = ps_trace_layout_init(&r.layout, t, err);
    if (code != PS_OK) {
        return code;
    }
    if (!ps_chrome_names_init(&r.names, t, &r.layout, several ? &c->next_pid : NULL) ||
        !ps_arg_keys_init(&r.keys, t)) {
        code = ps_fail_nomem(err);
    } else {
        if (!c->has_begun) {
            put_chrome_head(&r);
        }
        put_facts(&r);
        put_chrome_tables(&r);
        put_processes(&r);
        put_chrome_tracks(&r);
        bool ok = put_chrome_slices(&r);
        put_flows(&r);
        put_chrome_counters(&r);
        code = ok && ps_buf_ok(&r.scratch) ? PS_OK : ps_fail_nomem(err);
    }
    release_chrome(&r);
    return code;
}

static void *begin_chrome(ps_trace_job *job) {
    chrome *c = ps_calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (chrome){.job = job, .json = ps_json_to(&job->out->buf), .next_pid = 1};
    }
    return c;
}

/* Without a single rank: still a document. */
static void end_chrome(void *state) {
    chrome *c = state;
    ps_json *j = &c->json;
    if (c->has_begun) {
        ps_json_line(j, 0);
    } else {
        ps_json_object(j);
        ps_json_key_array(j, "traceEvents");
    }
    ps_json_close(j);
    ps_json_lacks(j, 0, c->job->lacks);
    ps_json_close(j);
    ps_buf_add_char(j->out, '\n');
}

static const char *const SUFFIXES[] = {".json", ".json.gz", NULL};

const ps_trace_format ps_trace_format_chrome = {
    .name = "chrome",
    .summary = "trace-event JSON for chrome://tracing, Perfetto and pipescope itself",
    .suffixes = SUFFIXES,
    .begin = begin_chrome,
    .rank = write_chrome_rank,
    .end = end_chrome,
    .free_state = ps_free,
};
