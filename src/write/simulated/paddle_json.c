/* One event a line. What all jobs of one type on one worker have in common is made once as text; the hot loop copies
 * pieces and prints integers. Times are whole microseconds in the logs, so that nothing is rounded. */
#include "write/simulated/paddle_json.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/order.h"
#include "write/out/json_text.h"
#include "write/out/sink.h"

#define FLUSH_BYTES ((size_t)1 << 20)
#define MAX_EVENT_BYTES ((size_t)4096)
#define MAX_TYPE ((size_t)256) /* of the logs: 127 */
#define FIRST_TID 2333         /* as the tool numbers its rows */

/* Rows of a worker below its jobs. */
enum {
    ROW_STAGE,
    ROW_BUBBLE,
    ROW_LANE
}; /* ROW_LANE + n: what does not fit into the lanes before */

typedef struct piece {
    const char *text;
    size_t n;
} piece;

/* What the events of one type have in common. */
typedef struct job_look {
    piece head;   /* up to the number in the name */
    piece middle; /* from there up to the time */
} job_look;

typedef struct out {
    const ps_paddle_timeline *t;
    ps_paddle_flavour flavour;
    ps_sink sink;
    ps_arena arena;
    char *at; /* in `bytes` */
    char *bytes;
    bool first;
    ps_code code;
    ps_err *err;
} out;

/* --- bytes ------------------------------------------------------------------------------------------------- */

static void flush_paddle(out *o) {
    if (o->code == PS_OK) {
        o->code = ps_sink_write(&o->sink, o->bytes, (size_t)(o->at - o->bytes), o->err);
    }
    o->at = o->bytes;
}

/* Room for one event. */
static void begin_paddle_event(out *o) {
    if ((size_t)(o->at - o->bytes) > FLUSH_BYTES - MAX_EVENT_BYTES) {
        flush_paddle(o);
    }
    if (!o->first) {
        *o->at++ = ',';
    }
    *o->at++ = '\n';
    o->first = false;
}

static inline void put_paddle(out *o, const char *text, size_t n) {
    memcpy(o->at, text, n);
    o->at += n;
}

#define PUT(o, literal) put_paddle(o, literal, sizeof(literal) - 1)

static inline void put_piece(out *o, piece p) {
    put_paddle(o, p.text, p.n);
}

static inline void put_int(out *o, int64_t value) {
    char digits[24];
    char *end = digits + sizeof digits;
    char *at = end;
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    if (value < 0) {
        *--at = '-';
    }
    put_paddle(o, at, (size_t)(end - at));
}

static void check_memory(out *o, bool ok) {
    if (!ok && o->code == PS_OK) {
        o->code = ps_fail_nomem(o->err);
    }
}

/* A copy in the arena; empty when memory is out, which the code then says. */
static piece keep_paddle(out *o, const ps_buf *text) {
    const char *copy =
        ps_buf_ok(text) ? ps_arena_strndup(&o->arena, ps_buf_str(text), text->len) : NULL;
    check_memory(o, copy != NULL);
    return copy != NULL ? (piece){copy, text->len} : (piece){"", 0};
}

/* --- rows -------------------------------------------------------------------------------------------------- */

/* In one process with several machines below it would not fold: each machine is a process, the steps come first. */
static int64_t pid_of(const out *o, const ps_paddle_worker *w) {
    return o->t->by_machine ? 1 + (int64_t)w->machine_row : 0;
}

/* "GPU0", "GPU0(machine:1) bubble"; with names as "GPU:0". */
static void row_name(const out *o, const ps_paddle_worker *w, int row, const char *colon,
                     ps_buf *text) {
    static const char *const ENDS[] = {" stage", " bubble", ""};
    ps_buf_addf(text, "GPU%s%lld", colon, (long long)w->device);
    if (o->t->by_machine) {
        ps_buf_addf(text, "(machine:%lld)", (long long)w->machine);
    }
    ps_buf_add_str(text, ENDS[row < ROW_LANE ? row : ROW_LANE]);
    if (row > ROW_LANE) {
        ps_buf_addf(text, " overlap %d", row - ROW_LANE);
    }
}

static int64_t tid_number(const out *o, const ps_paddle_worker *w, int row) {
    int64_t n_rows = (int64_t)o->t->n_machines * o->t->n_columns;
    int64_t place = (int64_t)w->machine_row * o->t->n_columns + w->column;
    int64_t block = row == ROW_LANE ? 0 : row == ROW_STAGE ? 1 : row == ROW_BUBBLE ? 2 : row;
    return FIRST_TID + 1 + block * n_rows + place;
}

/* `"pid":0,"tid":"GPU0"` */
static void add_paddle_place(const out *o, const ps_paddle_worker *w, int row, ps_buf *text) {
    ps_buf_addf(text, "\"pid\":%lld,\"tid\":", (long long)pid_of(o, w));
    if (o->flavour == PS_PADDLE_PERFETTO) {
        ps_buf_addf(text, "%lld", (long long)tid_number(o, w, row));
        return;
    }
    ps_buf_add_char(text, '"');
    row_name(o, w, row, "", text);
    ps_buf_add_char(text, '"');
}

static void add_step_place(const out *o, ps_buf *text) {
    ps_buf_add_str(text, o->flavour == PS_PADDLE_PERFETTO ? "\"pid\":0,\"tid\":2333"
                                                          : "\"pid\":0,\"tid\":\"Step\"");
}

/* --- jobs -------------------------------------------------------------------------------------------------- */

/* Names of the fixed palette of chrome://tracing; the first three and "default" as the tool has them. */
static const char *colour_of(const out *o, const char *type) {
    ps_op_kind kind = PS_OP_OTHER;
    int chunk = -1;
    if (strcmp(type, "optimizer") == 0 || strcmp(type, "lr") == 0) {
        return "rail_response";
    }
    if (strcmp(type, "default") == 0) {
        return "thread_state_unknown";
    }
    (void)o->t->job_kind(type, &kind, &chunk);
    switch (kind) {
    case PS_OP_F:
        return "thread_state_running";
    case PS_OP_B:
        return "rail_idle";
    case PS_OP_BI:
        return "rail_animation";
    case PS_OP_BW:
        return "rail_load";
    case PS_OP_SEND:
    case PS_OP_RECV:
        return "thread_state_iowait";
    default:
        return "generic_work";
    }
}

static void make_look(out *o, const char *type, size_t n, job_look *look) {
    ps_buf quoted = {0};
    ps_buf text = {0};
    ps_buf_add_json_str(&quoted, type, n);
    check_memory(o, ps_buf_ok(&quoted));
    const char *inner = ps_buf_str(&quoted);
    int n_inner = quoted.len > 1 ? (int)quoted.len - 1 : 0; /* without the closing quote */
    ps_buf_addf(&text, "{\"name\":%.*s_", n_inner, inner);
    look->head = keep_paddle(o, &text);
    ps_buf_clear(&text);
    ps_buf_addf(&text, "\",\"cat\":%s,\"ph\":\"X\",\"cname\":\"%s\",\"ts\":", inner,
                colour_of(o, type));
    look->middle = keep_paddle(o, &text);
    ps_buf_fini(&quoted);
    ps_buf_fini(&text);
}

/* What a job's arguments say. */
typedef struct job_args {
    int64_t step, microbatch, job, run;
} job_args;

typedef struct arg_keys {
    ps_str step, microbatch, job, run;
} arg_keys;

static job_args args_of(const ps_trace *t, uint32_t slice, const arg_keys *keys) {
    job_args a = {-1, -1, -1, 0};
    ps_arg_iter iter = ps_trace_args(t, slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        a.step = ps_str_eq(arg.key, keys->step) ? arg.u.i : a.step;
        a.microbatch = ps_str_eq(arg.key, keys->microbatch) ? arg.u.i : a.microbatch;
        a.job = ps_str_eq(arg.key, keys->job) ? arg.u.i : a.job;
        a.run = ps_str_eq(arg.key, keys->run) ? arg.u.i : a.run;
    }
    return a;
}

static int64_t whole_step(const ps_paddle_worker *w, int64_t step) {
    PS_PLACE(size_t, low, 0, w->n_steps, i, w->steps[i].from < step);
    return low < w->n_steps && w->steps[low].from == step ? w->steps[low].to : step;
}

/* A worker while its jobs are written. */
typedef struct job_writer {
    const ps_paddle_worker *w;
    job_look *looks; /* by text id */
    piece places[PS_PADDLE_MAX_LANES];
    piece stage; /* `,"stage":1` or nothing */
    arg_keys keys;
    int64_t last_step, last_whole;
} job_writer;

static void put_job(out *o, job_writer *jw, uint32_t slice) {
    const ps_trace *t = jw->w->trace;
    const ps_slices *s = ps_trace_slices(t);
    job_look *look = &jw->looks[s->name[slice].id];
    if (look->head.n == 0) {
        size_t n = ps_trace_text_len(t, s->name[slice]);
        make_look(o, ps_trace_text(t, s->name[slice]), n < MAX_TYPE ? n : MAX_TYPE, look);
    }
    job_args a = args_of(t, slice, &jw->keys);
    if (a.step != jw->last_step) {
        jw->last_step = a.step;
        jw->last_whole = whole_step(jw->w, a.step);
    }
    int64_t dur_us = s->dur_ns[slice] / 1000;
    uint8_t lane = jw->w->lanes != NULL ? jw->w->lanes[slice] : 0;
    begin_paddle_event(o);
    put_piece(o, look->head);
    put_int(o, a.job);
    put_piece(o, look->middle);
    put_int(o, (s->start_ns[slice] + ps_trace_origin_ns(t)) / 1000);
    PUT(o, ",\"dur\":");
    put_int(o, (lane & PS_PADDLE_POINT) != 0 ? 0 : dur_us);
    put_piece(o, jw->places[lane & ~PS_PADDLE_POINT]);
    PUT(o, ",\"args\":{\"step\":");
    put_int(o, jw->last_whole);
    PUT(o, ",\"microbatch\":");
    put_int(o, a.microbatch);
    put_piece(o, jw->stage);
    if (a.run > 0) {
        PUT(o, ",\"run\":");
        put_int(o, a.run);
    }
    PUT(o, ",\"duration_us\":");
    put_int(o, dur_us);
    PUT(o, "}}");
}

static void put_jobs(out *o, const ps_paddle_worker *w) {
    const ps_slices *s = ps_trace_slices(w->trace);
    uint32_t max_id = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        max_id = s->name[i].id > max_id ? s->name[i].id : max_id;
    }
    job_writer jw = {
        .w = w,
        .looks = ps_calloc((size_t)max_id + 1, sizeof(job_look)),
        .last_step = INT64_MIN,
        .keys = {ps_trace_find_text(w->trace, "step"), ps_trace_find_text(w->trace, "microbatch"),
                 ps_trace_find_text(w->trace, "job"), ps_trace_find_text(w->trace, "run")}};
    ps_buf text = {0};
    for (uint32_t lane = 0; lane < w->n_lanes; lane++) {
        ps_buf_clear(&text);
        ps_buf_add_char(&text, ',');
        add_paddle_place(o, w, ROW_LANE + (int)lane, &text);
        jw.places[lane] = keep_paddle(o, &text);
    }
    ps_buf_clear(&text);
    if (w->stage >= 0) {
        ps_buf_addf(&text, ",\"stage\":%d", (int)w->stage);
    }
    jw.stage = keep_paddle(o, &text);
    check_memory(o, jw.looks != NULL);
    for (uint32_t i = 0; i < s->n && o->code == PS_OK; i++) {
        put_job(o, &jw, i);
    }
    ps_free(jw.looks);
    ps_buf_fini(&text);
}

/* --- steps, stages, bubbles ---------------------------------------------------------------------------------- */

static void put_paddle_span(out *o, const ps_paddle_span *s, piece head, piece place,
                            bool is_idle) {
    begin_paddle_event(o);
    put_piece(o, head);
    PUT(o, ",\"ts\":");
    put_int(o, s->start_ns / 1000);
    PUT(o, ",\"dur\":");
    put_int(o, (s->end_ns - s->start_ns) / 1000);
    put_piece(o, place);
    PUT(o, ",\"args\":{\"step\":");
    put_int(o, s->step);
    if (s->run > 0) {
        PUT(o, ",\"run\":");
        put_int(o, s->run);
    }
    if (!is_idle) {
        if (s->true_start_ns != s->start_ns || s->true_end_ns != s->end_ns) {
            PUT(o, ",\"start_us\":");
            put_int(o, s->true_start_ns / 1000);
            PUT(o, ",\"end_us\":");
            put_int(o, s->true_end_ns / 1000);
        }
        PUT(o, ",\"duration_us\":");
        put_int(o, (s->true_end_ns - s->true_start_ns) / 1000);
    }
    PUT(o, "}}");
}

static piece literal(const char *text) {
    return (piece){text, strlen(text)};
}

static void put_spans(out *o, const ps_paddle_worker *w) {
    ps_buf head = {0};
    ps_buf place = {0};
    if (w->stage >= 0) {
        ps_buf_addf(
            &head,
            "{\"name\":\"stage%d\",\"cat\":\"stage\",\"ph\":\"X\",\"cname\":\"thread_state_runnable\"",
            (int)w->stage);
        ps_buf_add_char(&place, ',');
        add_paddle_place(o, w, ROW_STAGE, &place);
        piece kept_head = keep_paddle(o, &head);
        piece kept_place = keep_paddle(o, &place);
        for (size_t i = 0; i < w->n_spans && o->code == PS_OK; i++) {
            put_paddle_span(o, &w->spans[i], kept_head, kept_place, false);
        }
    }
    ps_buf_clear(&place);
    ps_buf_add_char(&place, ',');
    add_paddle_place(o, w, ROW_BUBBLE, &place);
    piece kept_place = keep_paddle(o, &place);
    piece bubble =
        literal("{\"name\":\"bubble\",\"cat\":\"bubble\",\"ph\":\"X\",\"cname\":\"grey\"");
    for (size_t i = 0; i < w->n_idle && o->code == PS_OK; i++) {
        put_paddle_span(o, &w->idle[i], bubble, kept_place, true);
    }
    ps_buf_fini(&head);
    ps_buf_fini(&place);
}

static void put_paddle_steps(out *o) {
    ps_buf text = {0};
    ps_buf_add_char(&text, ',');
    add_step_place(o, &text);
    piece place = keep_paddle(o, &text);
    for (size_t i = 0; i < o->t->n_steps && o->code == PS_OK; i++) {
        char head[128];
        int n = snprintf(
            head, sizeof head,
            "{\"name\":\"step%lld\",\"cat\":\"step\",\"ph\":\"X\",\"cname\":\"thread_state_unknown\"",
            (long long)o->t->steps[i].step);
        put_paddle_span(o, &o->t->steps[i], (piece){head, (size_t)n}, place, false);
    }
    ps_buf_fini(&text);
}

/* --- names and order of rows ----------------------------------------------------------------------------------- */

static void put_paddle_meta(out *o, const char *name, const char *place, const char *args) {
    begin_paddle_event(o);
    int n =
        snprintf(o->at, MAX_EVENT_BYTES,
                 "{\"name\":\"%s\",\"cat\":\"__metadata\",\"ph\":\"M\",\"ts\":0,%s,\"args\":{%s}}",
                 name, place, args);
    o->at += n;
}

static void put_process(out *o, int64_t pid, const char *name, int64_t order) {
    char place[64];
    char args[96];
    (void)snprintf(place, sizeof place, "\"pid\":%lld,\"tid\":0", (long long)pid);
    (void)snprintf(args, sizeof args, "\"name\":\"%s\"", name);
    put_paddle_meta(o, "process_name", place, args);
    (void)snprintf(args, sizeof args, "\"sort_index\":%lld", (long long)order);
    put_paddle_meta(o, "process_sort_index", place, args);
}

/* The Chrome file names its rows by their texts already. */
static void put_paddle_row(out *o, const char *place, const char *name, int64_t order) {
    char args[160];
    if (o->flavour == PS_PADDLE_PERFETTO) {
        (void)snprintf(args, sizeof args, "\"name\":\"%s\"", name);
        put_paddle_meta(o, "thread_name", place, args);
    }
    (void)snprintf(args, sizeof args, "\"sort_index\":%lld", (long long)order);
    put_paddle_meta(o, "thread_sort_index", place, args);
}

static void put_worker_rows(out *o, const ps_paddle_worker *w, ps_buf *place, ps_buf *name) {
    static const int ORDER[] = {ROW_LANE,     ROW_LANE + 1, ROW_LANE + 2, ROW_LANE + 3,
                                ROW_LANE + 4, ROW_LANE + 5, ROW_LANE + 6, ROW_LANE + 7,
                                ROW_STAGE,    ROW_BUBBLE};
    enum { N = sizeof ORDER / sizeof *ORDER };
    for (int i = 0; i < N && o->code == PS_OK; i++) {
        int row = ORDER[i];
        if ((row >= ROW_LANE && (uint32_t)(row - ROW_LANE) >= w->n_lanes) ||
            (row == ROW_STAGE && w->stage < 0)) {
            continue;
        }
        ps_buf_clear(place);
        ps_buf_clear(name);
        add_paddle_place(o, w, row, place);
        row_name(o, w, row, ":", name);
        check_memory(o, ps_buf_ok(place) && ps_buf_ok(name));
        put_paddle_row(o, ps_buf_str(place), ps_buf_str(name), 1 + (int64_t)w->column * N + i);
    }
}

static void put_paddle_names(out *o) {
    ps_buf place = {0};
    ps_buf name = {0};
    put_process(o, 0, o->t->by_machine ? "steps" : "workers", 0);
    add_step_place(o, &place);
    check_memory(o, ps_buf_ok(&place));
    put_paddle_row(o, ps_buf_str(&place), "STEP", 0);
    for (size_t i = 0; i < o->t->n_workers && o->code == PS_OK; i++) {
        const ps_paddle_worker *w = &o->t->workers[i];
        if (o->t->by_machine && (i == 0 || o->t->workers[i - 1].machine_row != w->machine_row)) {
            char machine[64];
            (void)snprintf(machine, sizeof machine, "machine %lld", (long long)w->machine);
            put_process(o, pid_of(o, w), machine, 1 + (int64_t)w->machine_row);
        }
        put_worker_rows(o, w, &place, &name);
    }
    ps_buf_fini(&place);
    ps_buf_fini(&name);
}

/* --- the file -------------------------------------------------------------------------------------------------- */

/* Behind the events, where viewers pass over it. */
static void put_paddle_lacks(out *o) {
    ps_buf members = {0};
    ps_json j = ps_json_members_to(&members);
    ps_json_lacks(&j, 0, o->t->lacks);
    check_memory(o, ps_buf_ok(&members));
    if (members.len > 0 && o->code == PS_OK) {
        PUT(o, ",");
        flush_paddle(o);
        o->code = o->code == PS_OK
                      ? ps_sink_write(&o->sink, ps_buf_str(&members), members.len, o->err)
                      : o->code;
    }
    ps_buf_fini(&members);
}

static void put_document(out *o) {
    PUT(o, "{\"traceEvents\":[");
    put_paddle_names(o);
    for (size_t i = 0; i < o->t->n_workers && o->code == PS_OK; i++) {
        put_jobs(o, &o->t->workers[i]);
    }
    put_paddle_steps(o);
    for (size_t i = 0; i < o->t->n_workers && o->code == PS_OK; i++) {
        put_spans(o, &o->t->workers[i]);
    }
    PUT(o, "\n]");
    put_paddle_lacks(o);
    PUT(o, "}\n");
    flush_paddle(o);
}

ps_code ps_write_paddle_json(const ps_paddle_timeline *t, ps_paddle_flavour flavour,
                             const char *path, ps_err *err) {
    out o = {.t = t, .flavour = flavour, .first = true, .err = err};
    o.bytes = ps_alloc(FLUSH_BYTES + MAX_EVENT_BYTES);
    o.at = o.bytes;
    o.code = o.bytes != NULL ? ps_sink_open_file(&o.sink, path, err) : ps_fail_nomem(err);
    if (o.code == PS_OK) {
        put_document(&o);
    }
    if (o.code == PS_OK) {
        o.code = ps_sink_commit(&o.sink, err);
    }
    ps_sink_abort(&o.sink);
    ps_free(o.bytes);
    ps_arena_fini(&o.arena);
    return o.code;
}
