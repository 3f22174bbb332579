/* Perfetto's protobuf trace: the subset of docs/formats/perfetto.md. A file is a row of packets; each rank is a packet
 * sequence of its own, with its own table of interned strings:
 *
 *   packet { sequence 1, state cleared, clock 6 }
 *   packet { track descriptor: process "python", then its threads, streams, counters }
 *   packet { time, interned "MatMul" = 1, slice begin on track 7: name 1, flow ids, arguments }
 *   packet { time, slice end on track 7 }
 *
 * The viewer sorts by time and keeps the order of the file among equal times, and an end closes the innermost slice of
 * its track. So before a slice begins on a lane, all that ended there by then are ended, innermost first; the layout
 * has seen to it that slices of a lane nest. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/json.h"
#include "model/lacks.h"
#include "write/out/protobuf.h"
#include "write/trace/arg_keys.h"
#include "write/trace/trace_layout.h"
#include "write/trace/trace_writer.h"

#define CLOCK_BOOTTIME 6
#define HOUR_NS INT64_C(3600000000000)
#define FLUSH_BYTES ((size_t)1 << 16)
/* Steps that overlap more often than this are points. */
#define STEP_LANES 64

enum { NEEDS_STATE = 2, BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };
enum { EXPLICIT_ORDER = 3, ORDER_BY_RANK = 1, MERGE_NONE = 2 };

/* Field numbers, by message. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_DESCRIPTOR = 60,
    PACKET_FIRST = 87
};
enum { DEFAULTS_CLOCK = 58 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDER = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    TRACK_PROCESS_ORDER = 19,
    TRACK_THREAD_ORDER = 20
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_NS = 1, UNIT_BYTES = 3 };
enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_NAME_TEXT = 23,
    EVENT_INT_VALUE = 30,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48
};
enum {
    ANNOTATION_NAME = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_JSON = 9,
    ANNOTATION_NAME_TEXT = 10,
    ANNOTATION_INTERNED = 17
};

/* Tables of interned strings, by their field in InternedData. */
typedef enum table_name { CATEGORIES, NAMES, KEYS, VALUES, N_TABLES } table_name;
static const uint32_t TABLE_FIELDS[N_TABLES] = {1, 2, 3, 29};

typedef struct table {
    uint32_t *ids; /* by id in the trace's strings; 0: not yet sent */
    size_t n, cap;
    uint32_t n_sent;
} table;

typedef struct perfetto {
    ps_trace_job *job;
    ps_pb pb;
    bool has_begun;
    int64_t shift_ns; /* added to all times, so that none is negative */
    int64_t begin_ns; /* of the first rank, shifted */
    uint64_t next_uuid;
    int64_t next_pid, next_tid, next_order;
    ps_idmap pids, tids; /* taken in this file */
} perfetto;

/* One rank being written. */
typedef struct perfetto_rank {
    perfetto *p;
    ps_pb *pb;
    const ps_trace *t;
    const ps_trace_source *source;
    uint64_t sequence;
    int64_t zero_ns; /* what is added to times from the origin */
    ps_trace_layout layout;
    ps_arg_keys keys;
    ps_buf scratch;
    table tables[N_TABLES];
    uint32_t kinds[PS_N_SLICE_KINDS]; /* interned names of kinds, as categories */
    int64_t *pids;                    /* [n_groups] */
    uint64_t *group_uuids;            /* [n_groups] */
    uint64_t *lane_uuids;             /* [n_lanes] */
    ps_open_ends *open;               /* [n_lanes] */
    uint32_t *first_in, *in_flows; /* [n_slices + 1] into [n_flows]: flows that lead to a slice */
    bool interned_open;
} perfetto_rank;

/* --- packets ------------------------------------------------------------------------------------------- */

static void begin_packet(perfetto_rank *r) {
    ps_pb_begin(r->pb, TRACE_PACKET);
}

static void end_packet(perfetto_rank *r) {
    ps_pb_end(r->pb);
    if (r->pb->n >= FLUSH_BYTES && !r->pb->failed) {
        ps_byte_out_add(r->p->job->out, r->pb->data, r->pb->n);
        ps_pb_clear(r->pb);
    }
}

/* A packet of an event; its track event is begun by begin_event. */
static void begin_timed_packet(perfetto_rank *r, int64_t time_ns) {
    begin_packet(r);
    ps_pb_varint(r->pb, PACKET_TIMESTAMP, (uint64_t)(time_ns + r->zero_ns));
    ps_pb_varint(r->pb, PACKET_SEQUENCE, r->sequence);
    ps_pb_varint(r->pb, PACKET_FLAGS, NEEDS_STATE);
}

static void begin_perfetto_event(perfetto_rank *r, uint32_t type, uint64_t track) {
    ps_pb_begin(r->pb, PACKET_EVENT);
    ps_pb_varint(r->pb, EVENT_TYPE, type);
    ps_pb_varint(r->pb, EVENT_TRACK, track);
}

static void end_event(perfetto_rank *r) {
    ps_pb_end(r->pb);
    end_packet(r);
}

static void begin_track(perfetto_rank *r, uint64_t uuid) {
    begin_packet(r);
    ps_pb_varint(r->pb, PACKET_SEQUENCE, r->sequence);
    ps_pb_begin(r->pb, PACKET_DESCRIPTOR);
    ps_pb_varint(r->pb, TRACK_UUID, uuid);
}

static void end_track(perfetto_rank *r, uint64_t order) {
    ps_pb_varint(r->pb, TRACK_RANK, order);
    ps_pb_end(r->pb);
    end_packet(r);
}

static void put_str(perfetto_rank *r, uint32_t field, ps_str s) {
    ps_pb_str(r->pb, field, ps_trace_text(r->t, s), ps_trace_text_len(r->t, s));
}

/* What is in the scratch buffer. */
static void put_perfetto_scratch(perfetto_rank *r, uint32_t field) {
    r->pb->failed = r->pb->failed || !ps_buf_ok(&r->scratch);
    ps_pb_str(r->pb, field, ps_buf_str(&r->scratch), r->scratch.len);
    ps_buf_clear(&r->scratch);
}

static const ps_track *perfetto_track_of(const perfetto_rank *r, uint32_t row) {
    return &ps_trace_tracks(r->t, &(size_t){0})[row];
}

/* --- numbers of processes and threads ------------------------------------------------------------------ */

/* Viewers know processes and threads by positive numbers that are unique in the file; 0 is the idle task. */
static bool is_usable(int64_t number) {
    return number > 0 && number <= INT32_MAX;
}

static bool is_perfetto_taken(const ps_idmap *numbers, int64_t number) {
    return ps_idmap_get(numbers, (uint64_t)number) != PS_IDMAP_NONE;
}

static bool is_own_pid(const perfetto_rank *r, const ps_trace_group *g) {
    return r->p->job->n_sources == 1 && !g->is_split && is_usable(g->pid) &&
           !(g->process != NULL && g->process->pid_is_text);
}

static bool choose_pids(perfetto_rank *r) {
    perfetto *p = r->p;
    bool ok = true;
    for (int made = 0; made < 2; made++) { /* the processes' own numbers first */
        for (size_t i = 0; ok && i < r->layout.n_groups; i++) {
            const ps_trace_group *g = &r->layout.groups[i];
            if (is_own_pid(r, g) == (made != 0)) {
                continue;
            }
            r->pids[i] = g->pid;
            while (made != 0 && (is_perfetto_taken(&p->pids, r->pids[i] = p->next_pid++) ||
                                 is_perfetto_taken(&p->tids, r->pids[i]))) {
            }
            ok = ps_idmap_put(&p->pids, (uint64_t)r->pids[i], 1);
        }
    }
    return ok;
}

/* 0 when memory is out. */
static int64_t choose_tid(perfetto_rank *r, int64_t tid, int64_t pid) {
    perfetto *p = r->p;
    if (!is_usable(tid) || is_perfetto_taken(&p->tids, tid) ||
        (tid != pid && is_perfetto_taken(&p->pids, tid))) {
        do {
            tid = p->next_tid++;
        } while (is_perfetto_taken(&p->tids, tid) || is_perfetto_taken(&p->pids, tid));
    }
    return ps_idmap_put(&p->tids, (uint64_t)tid, 1) ? tid : 0;
}

/* --- tracks -------------------------------------------------------------------------------------------- */

static void put_first_packet(perfetto_rank *r) {
    begin_packet(r);
    ps_pb_varint(r->pb, PACKET_SEQUENCE, r->sequence);
    ps_pb_varint(r->pb, PACKET_FLAGS, 1);
    ps_pb_varint(r->pb, PACKET_FIRST, 1);
    ps_pb_begin(r->pb, PACKET_DEFAULTS);
    ps_pb_varint(r->pb, DEFAULTS_CLOCK, CLOCK_BOOTTIME);
    ps_pb_end(r->pb);
    end_packet(r);
    if (!r->p->has_begun) { /* the root of all tracks: processes and threads stand as their ranks say */
        r->p->has_begun = true;
        begin_packet(r);
        ps_pb_varint(r->pb, PACKET_SEQUENCE, r->sequence);
        ps_pb_begin(r->pb, PACKET_DESCRIPTOR);
        ps_pb_varint(r->pb, TRACK_UUID, 0);
        ps_pb_varint(r->pb, TRACK_CHILD_ORDER, EXPLICIT_ORDER);
        ps_pb_varint(r->pb, TRACK_PROCESS_ORDER, ORDER_BY_RANK);
        ps_pb_varint(r->pb, TRACK_THREAD_ORDER, ORDER_BY_RANK);
        ps_pb_end(r->pb);
        end_packet(r);
    }
}

static void put_group(perfetto_rank *r, size_t i) {
    const ps_trace_group *g = &r->layout.groups[i];
    r->group_uuids[i] = r->p->next_uuid++;
    begin_track(r, r->group_uuids[i]);
    ps_pb_begin(r->pb, TRACK_PROCESS);
    ps_pb_varint(r->pb, PROCESS_PID, (uint64_t)r->pids[i]);
    if (r->p->job->n_sources > 1) {
        ps_buf_addf(&r->scratch, "%s ", r->source->title);
    }
    ps_trace_group_title(r->t, g, &r->scratch);
    if (r->pids[i] != g->pid && g->what == PS_GROUP_HOST && g->process != NULL &&
        !g->process->pid_is_text) {
        ps_buf_addf(&r->scratch, " (pid %lld)", (long long)g->pid);
    }
    put_perfetto_scratch(r, PROCESS_NAME);
    if (g->process != NULL && !ps_str_is_none(g->process->labels)) {
        put_str(r, PROCESS_LABELS, g->process->labels);
    }
    ps_pb_end(r->pb);
    ps_pb_varint(r->pb, TRACK_CHILD_ORDER, EXPLICIT_ORDER);
    end_track(r, (uint64_t)r->p->next_order++);
}

static void put_thread(perfetto_rank *r, uint32_t row, uint64_t order) {
    const ps_track *track = perfetto_track_of(r, row);
    int64_t pid = r->pids[r->layout.group_of[row]];
    int64_t tid = choose_tid(r, track->tid, pid);
    r->pb->failed = r->pb->failed || tid == 0;
    begin_track(r, r->lane_uuids[row]);
    ps_pb_begin(r->pb, TRACK_THREAD);
    ps_pb_varint(r->pb, THREAD_PID, (uint64_t)pid);
    ps_pb_varint(r->pb, THREAD_TID, (uint64_t)tid);
    if (tid != track->tid || !ps_str_is_none(track->label) || !ps_str_is_none(track->name)) {
        ps_trace_lane_title(r->t, &r->layout.lanes[row], &r->scratch);
        put_perfetto_scratch(r, THREAD_NAME);
    }
    ps_pb_end(r->pb);
    ps_pb_varint(r->pb, TRACK_CHILD_ORDER, EXPLICIT_ORDER);
    end_track(r, order);
}

static void put_unit(perfetto_rank *r, ps_str unit) {
    const char *text = ps_trace_text(r->t, unit);
    ps_pb_begin(r->pb, TRACK_COUNTER);
    if (strcmp(text, "ns") == 0) {
        ps_pb_varint(r->pb, COUNTER_UNIT, UNIT_NS);
    } else if (strcmp(text, "B") == 0 || strcmp(text, "bytes") == 0) {
        ps_pb_varint(r->pb, COUNTER_UNIT, UNIT_BYTES);
    } else if (text[0] != '\0') {
        put_str(r, COUNTER_UNIT_NAME, unit);
    }
    ps_pb_end(r->pb);
}

static void put_plain_track(perfetto_rank *r, uint32_t lane, uint64_t parent, uint64_t order) {
    const ps_trace_lane *l = &r->layout.lanes[lane];
    const ps_track *track = perfetto_track_of(r, l->track);
    begin_track(r, r->lane_uuids[lane]);
    ps_pb_varint(r->pb, TRACK_PARENT, parent);
    ps_trace_lane_title(r->t, l, &r->scratch);
    put_perfetto_scratch(r, TRACK_NAME);
    if (track->kind == PS_TRACK_COUNTER && !r->layout.has_slices[l->track]) {
        put_unit(r, track->unit);
    }
    ps_pb_varint(r->pb, TRACK_CHILD_ORDER, EXPLICIT_ORDER);
    ps_pb_varint(r->pb, TRACK_MERGE, MERGE_NONE);
    end_track(r, order);
}

/* Planes hang below the track of their communicator, which the layout puts before them. */
static bool is_plane_of(const ps_track *plane, const ps_track *group) {
    return plane->kind == PS_TRACK_COMM_PLANE && group->kind == PS_TRACK_COMM_GROUP &&
           ps_str_eq(plane->name, group->name) && plane->device == group->device;
}

/* Counters on which slices lie have slices only: a track is one or the other. */
static void put_perfetto_tracks(perfetto_rank *r) {
    const ps_trace_layout *l = &r->layout;
    for (size_t lane = 0; lane < l->n_lanes; lane++) {
        r->lane_uuids[lane] = r->p->next_uuid++;
    }
    uint64_t order = 2; /* after metadata and steps */
    uint32_t comm_group = PS_NONE;
    for (size_t i = 0; i < l->n_tracks; i++) {
        uint32_t row = l->tracks[i];
        const ps_track *track = perfetto_track_of(r, row);
        if (i > 0 && l->group_of[row] != l->group_of[l->tracks[i - 1]]) {
            comm_group = PS_NONE;
        }
        comm_group = track->kind == PS_TRACK_COMM_GROUP ? row : comm_group;
        uint64_t parent = r->group_uuids[l->group_of[row]];
        if (comm_group != PS_NONE && is_plane_of(track, perfetto_track_of(r, comm_group))) {
            parent = r->lane_uuids[comm_group];
        }
        if (track->kind == PS_TRACK_HOST_THREAD) {
            put_thread(r, row, order++);
            parent = r->lane_uuids[row];
        } else {
            put_plain_track(r, row, parent, order++);
        }
        for (uint32_t lane = l->lanes[row].next; lane != PS_NONE; lane = l->lanes[lane].next) {
            put_plain_track(r, lane, parent, order++);
        }
    }
}

/* --- interned strings ---------------------------------------------------------------------------------- */

static void send(perfetto_rank *r, table_name which, uint32_t iid, const char *s, size_t n) {
    if (!r->interned_open) {
        ps_pb_begin(r->pb, PACKET_INTERNED);
        r->interned_open = true;
    }
    ps_pb_begin(r->pb, TABLE_FIELDS[which]);
    ps_pb_varint(r->pb, 1, iid);
    ps_pb_str(r->pb, 2, s, n);
    ps_pb_end(r->pb);
}

/* Sends the string with the packet that is being written, unless an earlier one had it. */
static void perfetto_intern(perfetto_rank *r, table_name which, ps_str s) {
    table *t = &r->tables[which];
    if (s.id >= t->n) {
        size_t need = (size_t)s.id + 1;
        if (!ps_grow(&t->ids, &t->cap, need, PS_NONE, sizeof *t->ids)) {
            r->pb->failed = true;
            return;
        }
        memset(t->ids + t->n, 0, (t->cap - t->n) * sizeof *t->ids);
        t->n = t->cap;
    }
    if (t->ids[s.id] == 0) {
        t->ids[s.id] = ++t->n_sent;
        send(r, which, t->n_sent, ps_trace_text(r->t, s), ps_trace_text_len(r->t, s));
    }
}

static uint32_t iid_of(const perfetto_rank *r, table_name which, ps_str s) {
    const table *t = &r->tables[which];
    return s.id < t->n ? t->ids[s.id] : 0;
}

static void intern_kind(perfetto_rank *r, uint8_t kind) {
    if (r->kinds[kind] == 0) {
        const char *name = ps_slice_kind_name((ps_slice_kind)kind);
        r->kinds[kind] = ++r->tables[CATEGORIES].n_sent;
        send(r, CATEGORIES, r->kinds[kind], name, strlen(name));
    }
}

/* Whether the value goes out as a text. */
static bool is_text_value(const perfetto_rank *r, const ps_arg *arg) {
    if (arg->type != PS_ARG_NUMBER && arg->type != PS_ARG_JSON) {
        return arg->type == PS_ARG_STR;
    }
    const char *text = ps_trace_text(r->t, arg->u.s);
    size_t n = ps_trace_text_len(r->t, arg->u.s);
    return arg->type == PS_ARG_NUMBER || !ps_json_is_value(text, n, 0);
}

/* All strings of a slice, before its event. */
static void intern_slice(perfetto_rank *r, uint32_t row, bool repeats) {
    const ps_slices *s = ps_trace_slices(r->t);
    if (ps_str_is_none(s->category[row])) {
        intern_kind(r, s->kind[row]);
    } else {
        perfetto_intern(r, CATEGORIES, s->category[row]);
    }
    perfetto_intern(r, NAMES, s->name[row]);
    ps_arg_iter iter = ps_trace_args(r->t, row);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        if (!repeats) {
            perfetto_intern(r, KEYS, arg.key);
        }
        if (is_text_value(r, &arg)) {
            perfetto_intern(r, VALUES, arg.u.s);
        }
    }
    if (r->interned_open) {
        ps_pb_end(r->pb);
        r->interned_open = false;
    }
}

/* --- slices -------------------------------------------------------------------------------------------- */

static void put_perfetto_value(perfetto_rank *r, const ps_arg *arg) {
    switch (arg->type) {
    case PS_ARG_INT:
        ps_pb_varint(r->pb, ANNOTATION_INT, (uint64_t)arg->u.i);
        break;
    case PS_ARG_TIME:
        ps_pb_varint(r->pb, ANNOTATION_INT, (uint64_t)(arg->u.i + ps_trace_origin_ns(r->t)));
        break;
    case PS_ARG_REAL:
        ps_pb_double(r->pb, ANNOTATION_DOUBLE, arg->u.r);
        break;
    case PS_ARG_BOOL:
        ps_pb_varint(r->pb, ANNOTATION_BOOL, arg->u.i != 0);
        break;
    case PS_ARG_NULL:
        ps_pb_str(r->pb, ANNOTATION_TEXT, "null", 4);
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        if (is_text_value(r, arg)) {
            ps_pb_varint(r->pb, ANNOTATION_INTERNED, iid_of(r, VALUES, arg->u.s));
        } else {
            put_str(r, ANNOTATION_JSON, arg->u.s);
        }
        break;
    }
}

static void put_perfetto_args(perfetto_rank *r, uint32_t row, bool repeats) {
    ps_arg_iter iter = ps_trace_args(r->t, row);
    ps_arg_names names;
    bool ok = !repeats || ps_arg_names_init(&names, r->t, iter);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        ps_pb_begin(r->pb, EVENT_ANNOTATION);
        if (!repeats) {
            ps_pb_varint(r->pb, ANNOTATION_NAME, iid_of(r, KEYS, arg.key));
        } else {
            ok = ps_arg_names_next(&names, r->t, arg.key, &r->scratch) && ok;
            put_perfetto_scratch(r, ANNOTATION_NAME_TEXT);
        }
        put_perfetto_value(r, &arg);
        ps_pb_end(r->pb);
    }
    r->pb->failed = r->pb->failed || !ok;
    if (repeats) {
        ps_arg_names_fini(&names);
    }
}

/* Times are unsigned. */
static bool is_before_zero(const perfetto_rank *r, uint32_t row) {
    return ps_trace_slices(r->t)->start_ns[row] + r->zero_ns < 0;
}

/* Unique in the file, the same in every run. */
static uint64_t flow_id(const perfetto_rank *r, size_t flow) {
    return ps_hash_u64(r->sequence << 40 | (flow + 1));
}

/* A viewer draws from the earlier of the two; the later one ends the flow. */
static bool goes_forward(const perfetto_rank *r, const ps_flow *f) {
    const ps_slices *s = ps_trace_slices(r->t);
    return s->start_ns[f->from] < s->start_ns[f->to] ||
           (s->start_ns[f->from] == s->start_ns[f->to] && f->from < f->to);
}

/* `*next_out` walks the flows, which are sorted by where they come from. */
static void put_flow_ids(perfetto_rank *r, uint32_t row, size_t *next_out) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(r->t, &n);
    while (*next_out < n && flows[*next_out].from <= row) {
        if (flows[*next_out].from == row && !is_before_zero(r, flows[*next_out].to)) {
            ps_pb_fixed64(r->pb, EVENT_FLOW, flow_id(r, *next_out));
        }
        (*next_out)++;
    }
    for (uint32_t i = r->first_in[row]; i < r->first_in[row + 1]; i++) {
        uint32_t flow = r->in_flows[i];
        if (is_before_zero(r, flows[flow].from)) {
            continue;
        }
        ps_pb_fixed64(r->pb, goes_forward(r, &flows[flow]) ? EVENT_LAST_FLOW : EVENT_FLOW,
                      flow_id(r, flow));
    }
}

static void put_perfetto_end(perfetto_rank *r, uint64_t track, int64_t time_ns) {
    begin_timed_packet(r, time_ns);
    begin_perfetto_event(r, END, track);
    end_event(r);
}

/* Ends what is over by `time_ns` on a lane. */
static void put_ends(perfetto_rank *r, uint32_t lane, int64_t time_ns) {
    ps_open_ends *o = &r->open[lane];
    while (o->n > 0 && o->ends[o->n - 1] <= time_ns) {
        put_perfetto_end(r, r->lane_uuids[lane], o->ends[--o->n]);
    }
}

static void put_slice(perfetto_rank *r, uint32_t row, size_t *next_out) {
    const ps_slices *s = ps_trace_slices(r->t);
    uint32_t lane = r->layout.lane_of[row];
    bool is_point = s->kind[row] == PS_SLICE_INSTANT && s->dur_ns[row] == 0;
    ps_arg_iter iter = ps_trace_args(r->t, row);
    bool repeats = iter.n_left > 0 && ps_arg_keys_repeat(&r->keys, &iter);
    put_ends(r, lane, s->start_ns[row]);
    begin_timed_packet(r, s->start_ns[row]);
    intern_slice(r, row, repeats);
    begin_perfetto_event(r, is_point ? INSTANT : BEGIN, r->lane_uuids[lane]);
    ps_pb_varint(r->pb, EVENT_NAME, iid_of(r, NAMES, s->name[row]));
    ps_pb_varint(r->pb, EVENT_CATEGORY,
                 ps_str_is_none(s->category[row]) ? r->kinds[s->kind[row]]
                                                  : iid_of(r, CATEGORIES, s->category[row]));
    put_perfetto_args(r, row, repeats);
    put_flow_ids(r, row, next_out);
    end_event(r);
    if (!is_point && !ps_open_ends_push(&r->open[lane], s->start_ns[row] + s->dur_ns[row])) {
        r->pb->failed = true;
    }
}

static bool is_stopped(const perfetto_rank *r) {
    return r->pb->failed || ps_byte_out_failed(r->p->job->out);
}

static void put_perfetto_slices(perfetto_rank *r) {
    const ps_slices *s = ps_trace_slices(r->t);
    ps_trace_written *written = &r->p->job->written;
    size_t next_out = 0;
    for (uint32_t row = 0; row < s->n && !is_stopped(r); row++) {
        if (is_before_zero(r, row)) {
            written->n_negative++;
            continue;
        }
        put_slice(r, row, &next_out);
        written->n_slices++;
        written->n_crossing += r->layout.lanes[r->layout.lane_of[row]].number > 0;
    }
    for (size_t lane = 0; lane < r->layout.n_lanes; lane++) {
        put_ends(r, (uint32_t)lane, INT64_MAX);
    }
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(r->t, &n_flows);
    for (size_t i = 0; i < n_flows; i++) {
        written->n_flows += !is_before_zero(r, flows[i].from) && !is_before_zero(r, flows[i].to);
    }
}

/* --- counters, steps, metadata ------------------------------------------------------------------------- */

static void put_perfetto_counters(perfetto_rank *r) {
    const ps_counters *c = ps_trace_counters(r->t);
    ps_trace_written *written = &r->p->job->written;
    for (uint32_t row = 0; row < c->n && !is_stopped(r); row++) {
        double value = c->value[row];
        if (value - value != 0) {
            written->n_not_finite++;
            continue;
        }
        if (c->time_ns[row] + r->zero_ns < 0) {
            written->n_negative++;
            continue;
        }
        begin_timed_packet(r, c->time_ns[row]);
        begin_perfetto_event(r, COUNTER, r->lane_uuids[c->track[row]]);
        if (value >= -9e15 && value <= 9e15 && (double)(int64_t)value == value) {
            ps_pb_varint(r->pb, EVENT_INT_VALUE, (uint64_t)(int64_t)value);
        } else {
            ps_pb_double(r->pb, EVENT_DOUBLE_VALUE, value);
        }
        end_event(r);
        written->n_values++;
    }
}

static uint64_t put_named_track(perfetto_rank *r, const char *name, uint64_t order) {
    uint64_t uuid = r->p->next_uuid++;
    begin_track(r, uuid);
    ps_pb_varint(r->pb, TRACK_PARENT, r->group_uuids[0]);
    ps_pb_str(r->pb, TRACK_NAME, name, strlen(name));
    ps_pb_varint(r->pb, TRACK_MERGE, MERGE_NONE);
    end_track(r, order);
    return uuid;
}

/* One instant that carries all entries; of equal keys the first counts, as everywhere. It stands at the origin, or at
 * zero where that lies before it. */
static void put_metas(perfetto_rank *r) {
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(r->t, &n);
    if (n == 0) {
        return;
    }
    uint64_t track = put_named_track(r, "metadata", 0);
    ps_idmap seen = {0};
    begin_timed_packet(r, r->zero_ns < 0 ? -r->zero_ns : 0);
    begin_perfetto_event(r, INSTANT, track);
    ps_pb_str(r->pb, EVENT_NAME_TEXT, "metadata", 8);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(metas[i].key);
        uint64_t key = ps_hash64(metas[i].key, len);
        if (ps_idmap_get(&seen, key) != PS_IDMAP_NONE) {
            continue;
        }
        r->pb->failed = !ps_idmap_put(&seen, key, 1) || r->pb->failed;
        ps_pb_begin(r->pb, EVENT_ANNOTATION);
        ps_pb_str(r->pb, ANNOTATION_NAME_TEXT, metas[i].key, len);
        ps_pb_str(r->pb, ANNOTATION_TEXT, metas[i].value, strlen(metas[i].value));
        ps_pb_end(r->pb);
    }
    end_event(r);
    ps_idmap_fini(&seen);
}

typedef struct step_lane {
    uint64_t track;
    int64_t end_ns;
} step_lane;

static step_lane *find_step_lane(perfetto_rank *r, step_lane *lanes, size_t *n, int64_t start_ns) {
    for (size_t i = 0; i < *n; i++) {
        if (lanes[i].end_ns <= start_ns) {
            return &lanes[i];
        }
    }
    if (*n == STEP_LANES) {
        return NULL;
    }
    lanes[*n] = (step_lane){put_named_track(r, "steps", 1), INT64_MIN};
    return &lanes[(*n)++];
}

static void put_perfetto_steps(perfetto_rank *r) {
    step_lane lanes[STEP_LANES];
    size_t n_lanes = 0;
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(r->t, &n);
    for (size_t i = 0; i < n && !is_stopped(r); i++) {
        int64_t start_ns = steps[i].start_ns;
        if (start_ns + r->zero_ns < 0) {
            r->p->job->written.n_negative++;
            continue;
        }
        step_lane *lane = find_step_lane(r, lanes, &n_lanes, start_ns);
        begin_timed_packet(r, start_ns);
        begin_perfetto_event(r, lane != NULL ? BEGIN : INSTANT,
                             lane != NULL ? lane->track : lanes[0].track);
        ps_buf_addf(&r->scratch, "step %lld", (long long)steps[i].id);
        put_perfetto_scratch(r, EVENT_NAME_TEXT);
        end_event(r);
        if (lane != NULL) {
            lane->end_ns = steps[i].end_ns;
            put_perfetto_end(r, lane->track, lane->end_ns);
        }
    }
}

/* --- the format ---------------------------------------------------------------------------------------- */

/* Flows by where they lead to. */
static bool index_flows(perfetto_rank *r) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(r->t, &n);
    size_t n_slices = ps_trace_slices(r->t)->n;
    r->first_in = ps_calloc(n_slices + 2, sizeof *r->first_in);
    r->in_flows = ps_calloc(n + 1, sizeof *r->in_flows);
    if (r->first_in == NULL || r->in_flows == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        r->first_in[flows[i].to + 2]++;
    }
    for (size_t i = 2; i < n_slices + 2; i++) {
        r->first_in[i] += r->first_in[i - 1];
    }
    for (size_t i = 0; i < n; i++) {
        r->in_flows[r->first_in[flows[i].to + 1]++] = (uint32_t)i;
    }
    return true;
}

static bool prepare_perfetto(perfetto_rank *r) {
    const ps_trace_layout *l = &r->layout;
    r->pids = ps_calloc(l->n_groups + 1, sizeof *r->pids);
    r->group_uuids = ps_calloc(l->n_groups + 1, sizeof *r->group_uuids);
    r->lane_uuids = ps_calloc(l->n_lanes + 1, sizeof *r->lane_uuids);
    r->open = ps_calloc(l->n_lanes + 1, sizeof *r->open);
    return r->pids != NULL && r->group_uuids != NULL && r->lane_uuids != NULL && r->open != NULL &&
           ps_arg_keys_init(&r->keys, r->t) && choose_pids(r) && index_flows(r);
}

static void release_perfetto(perfetto_rank *r) {
    for (size_t lane = 0; r->open != NULL && lane < r->layout.n_lanes; lane++) {
        ps_free(r->open[lane].ends);
    }
    for (size_t i = 0; i < N_TABLES; i++) {
        ps_free(r->tables[i].ids);
    }
    ps_trace_layout_fini(&r->layout);
    ps_arg_keys_fini(&r->keys);
    ps_buf_fini(&r->scratch);
    ps_free(r->pids);
    ps_free(r->group_uuids);
    ps_free(r->lane_uuids);
    ps_free(r->open);
    ps_free(r->first_in);
    ps_free(r->in_flows);
}

static void put_perfetto_rank(perfetto_rank *r) {
    put_first_packet(r);
    for (size_t g = 0; g < r->layout.n_groups; g++) {
        put_group(r, g);
    }
    put_perfetto_tracks(r);
    if (r->layout.n_groups > 0) {
        put_metas(r);
        put_perfetto_steps(r);
    }
    put_perfetto_slices(r);
    put_perfetto_counters(r);
}

/* Times are unsigned: a trace of a clock that was below zero moves up. */
static void choose_shift(perfetto *p, const ps_trace *t) {
    int64_t origin = ps_trace_origin_ns(t);
    if (!p->has_begun && origin < 0) {
        p->shift_ns = HOUR_NS - origin;
    }
    p->begin_ns = p->has_begun ? p->begin_ns : origin + p->shift_ns;
}

static ps_code write_perfetto_rank(void *state, size_t source, const ps_trace *t, ps_err *err) {
    perfetto *p = state;
    perfetto_rank r = {.p = p, .pb = &p->pb, .t = t, .source = &p->job->sources[source]};
    r.sequence = source + 1;
    choose_shift(p, t);
    r.zero_ns = ps_trace_origin_ns(t) + p->shift_ns;
    ps_code code = ps_trace_layout_init(&r.layout, t, err);
    if (code == PS_OK && !prepare_perfetto(&r)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        put_perfetto_rank(&r);
        code = p->pb.failed ? ps_fail_nomem(err) : PS_OK;
    }
    release_perfetto(&r);
    return code;
}

static void *begin_perfetto(ps_trace_job *job) {
    perfetto *p = ps_calloc(1, sizeof *p);
    if (p != NULL) {
        *p = (perfetto){.job = job, .next_uuid = 1, .next_pid = 1, .next_tid = 1};
    }
    return p;
}

/* What is not in the file: a track each that says so, with an instant, since viewers hide tracks without events. */
static void put_perfetto_lacks(perfetto *p) {
    perfetto_rank r = {.p = p, .pb = &p->pb, .sequence = p->job->n_sources + 1};
    ps_buf lines = {0};
    ps_lacks_say(PS_ENGLISH, p->job->lacks, "", "\n", &lines);
    if (lines.len > 0) {
        put_first_packet(&r);
    }
    for (const char *at = ps_buf_str(&lines); *at != '\0';) {
        size_t n = strcspn(at, "\n");
        uint64_t uuid = p->next_uuid++;
        begin_track(&r, uuid);
        ps_pb_varint(r.pb, TRACK_PARENT, 0);
        ps_pb_str(r.pb, TRACK_NAME, at, n);
        ps_pb_varint(r.pb, TRACK_MERGE, MERGE_NONE);
        end_track(&r, 0);
        begin_timed_packet(&r, p->begin_ns);
        begin_perfetto_event(&r, INSTANT, uuid);
        ps_pb_str(r.pb, EVENT_NAME_TEXT, at, n);
        end_event(&r);
        at += n + 1;
    }
    p->pb.failed = p->pb.failed || !ps_buf_ok(&lines);
    ps_buf_fini(&lines);
}

static void end_perfetto(void *state) {
    perfetto *p = state;
    if (p->pb.failed) { /* it holds half a message, and the rank has said so */
        return;
    }
    put_perfetto_lacks(p);
    if (p->pb.failed) {
        (void)ps_fail_nomem(&p->job->out->err);
    } else {
        ps_byte_out_add(p->job->out, p->pb.data, p->pb.n);
    }
}

static void free_state(void *state) {
    perfetto *p = state;
    ps_pb_fini(&p->pb);
    ps_idmap_fini(&p->pids);
    ps_idmap_fini(&p->tids);
    ps_free(p);
}

static const char *const SUFFIXES[] = {".pftrace", NULL};

const ps_trace_format ps_trace_format_perfetto = {
    .name = "perfetto",
    .summary = "Perfetto's protobuf trace",
    .suffixes = SUFFIXES,
    .begin = begin_perfetto,
    .rank = write_perfetto_rank,
    .end = end_perfetto,
    .free_state = free_state,
};
