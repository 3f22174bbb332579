/* Events of trace_view.json while they come.
 *
 *   {"ph":"X","name":"aten::empty","pid":3096504,"tid":3096504,"ts":"1736408883688177.930","dur":145.57,
 *    "cat":"cpu_op","args":{"Sequence number":-1,"Fwd thread id":0,...}}
 *   {"name":"trans_TransData_0","pid":3170820512,"tid":2,"ts":"...","dur":53.74,"args":{"Task Type":"MIX_AIV",...},"ph":"X"}
 *
 * What an event says of itself gives its kind here; what its lane says, ascend_text_lanes.c gives it at the end. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/num.h"
#include "read/ascend_text/ascend_text.h"
#include "read/events/trace_events.h"

#define MAX_ROWS ((size_t)PS_NONE - 2)

bool ps_ascend_text_init(ps_ascend_text *r, ps_builder *b, uint32_t needs) {
    *r = (ps_ascend_text){
        .builder = b, .diag = ps_builder_diag(b), .needs = needs, .seed = ps_hash_seed()};
#define X(word, text) r->words.word = ps_builder_str(b, text, sizeof text - 1);
    PS_ASCEND_WORDS(X)
#undef X
    return !ps_builder_failed(b);
}

void ps_ascend_text_fini(ps_ascend_text *r) {
    ps_free(r->named);
    ps_free(r->tasks);
    ps_free(r->launches);
    ps_free(r->connections);
    ps_free(r->counters);
    ps_free(r->marks);
    ps_free(r->lanes);
    ps_idmap_fini(&r->named_rows);
    ps_idmap_fini(&r->counter_rows);
    ps_idmap_fini(&r->flowed);
    *r = (ps_ascend_text){0};
}

/* --- kinds ------------------------------------------------------------------------------------------------- */

/* Operators are identifiers ("Conv2D", "aclnnMm"), or have a namespace ("aten::mm", "autograd::engine::evaluate_function:
 * MmBackward0"); ranges that a program or framework named look like text ("Optimizer.step#SGD.step", "forward step"). */
static bool looks_like_op(const char *name) {
    if (strstr(name, "::") != NULL) {
        return true;
    }
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_') {
        n++;
    }
    return n > 0 && name[n] == '\0';
}

static const char STEP_NAME[] = "ProfilerStep#";

static bool ascend_event_starts_with(const char *text, const char *head) {
    return text[0] == head[0] && strncmp(text, head, strlen(head)) == 0;
}

/* "Notify Wait", "EVENT_RECORD_SQE", "MEMCPY_ASYNC": capitals, and blanks count as underscores. */
static bool fold_word(const char *text, char *out, size_t size) {
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < size; n++) {
        out[n] = text[n] == ' ' ? '_' : (char)toupper((unsigned char)text[n]);
    }
    out[n] = '\0';
    return n > 0;
}

static ps_slice_kind kind_of_word(const char *word) {
    static const struct {
        const char *head;
        ps_slice_kind kind;
    } HEADS[] = {{"AI_CORE", PS_SLICE_KERNEL},  {"AI_VECTOR_CORE", PS_SLICE_KERNEL},
                 {"AI_CPU", PS_SLICE_KERNEL},   {"AICPU", PS_SLICE_KERNEL},
                 {"MIX_AI", PS_SLICE_KERNEL},   {"FFTS_PLUS", PS_SLICE_KERNEL},
                 {"KERNEL", PS_SLICE_KERNEL},   {"DSA_SQE", PS_SLICE_KERNEL},
                 {"MEMCPY", PS_SLICE_COPY},     {"MEMSET", PS_SLICE_COPY},
                 {"SDMA", PS_SLICE_COPY},       {"PCIE_DMA", PS_SLICE_COPY},
                 {"EVENT_", PS_SLICE_SYNC},     {"NOTIFY", PS_SLICE_SYNC},
                 {"STREAM_WAIT", PS_SLICE_SYNC}};
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
        if (ascend_event_starts_with(word, HEADS[i].head)) {
            return HEADS[i].kind;
        }
    }
    return PS_SLICE_TASK;
}

/* Names of kernels have small letters; what is all capitals names a kind of task. */
static bool has_small_letters(const char *name) {
    for (; *name != '\0'; name++) {
        if (islower((unsigned char)*name)) {
            return true;
        }
    }
    return false;
}

ps_slice_kind ps_ascend_task_kind(const char *type, const char *name) {
    char word[64];
    bool is_typed = type != NULL && strcmp(type, "N/A") != 0 && fold_word(type, word, sizeof word);
    ps_slice_kind kind = is_typed ? kind_of_word(word) : PS_SLICE_TASK;
    if (kind == PS_SLICE_TASK && fold_word(name, word, sizeof word)) {
        kind = kind_of_word(word); /* a place holder for an event is an event */
        kind = is_typed && kind == PS_SLICE_KERNEL ? PS_SLICE_TASK : kind;
    }
    if (kind == PS_SLICE_TASK && !is_typed && has_small_letters(name) &&
        strchr(name, ' ') == NULL) {
        kind = PS_SLICE_KERNEL; /* level 0 gives no types */
    }
    return kind;
}

static const char *arg_text(const ps_model_event *e, ps_str key, const ps_builder *b) {
    const ps_event_arg *arg = ps_model_arg(e, key);
    bool is_text = arg != NULL && (arg->type == PS_ARG_STR || arg->type == PS_ARG_NUMBER);
    return is_text ? ps_builder_text(b, ps_model_str(e, arg->u.text)) : NULL;
}

/* Categories that tell marks; what they are called is not certain, so any that names the interface will do. */
static bool is_mark_category(const char *cat) {
    return strcasestr(cat, "mstx") != NULL || strcasestr(cat, "msproftx") != NULL;
}

static void add_ascend_event_step(ps_ascend_text *r, const ps_model_event *e, const char *name) {
    int64_t id = 0;
    const char *digits = name + sizeof STEP_NAME - 1;
    int64_t end = 0;
    if ((r->needs & PS_NEED_STEPS) == 0) {
        return;
    }
    if (!ps_parse_i64(digits, strlen(digits), &id)) {
        ps_diag_add(r->diag, PS_ODD_TEXT, "event %lld: %.60s names no step", (long long)e->row,
                    name);
        return;
    }
    if (__builtin_add_overflow(e->event->ts_ns, e->event->dur_ns, &end)) {
        return; /* the slice is counted */
    }
    ps_builder_step(r->builder, id, e->event->ts_ns, end);
}

static ps_slice_kind kind_of_category(ps_ascend_text *r, const ps_model_event *e) {
    const ps_ascend_words *w = &r->words;
    const char *name = ps_builder_text(r->builder, e->name);
    if (ps_str_eq(e->cat, w->cpu_op) || ps_str_eq(e->cat, w->user_annotation)) {
        bool is_op = ps_str_eq(e->cat, w->cpu_op) && looks_like_op(name);
        return is_op ? PS_SLICE_HOST_OP : PS_SLICE_ANNOTATION;
    }
    if (ps_str_eq(e->cat, w->enqueue) || ps_str_eq(e->cat, w->dequeue)) {
        return PS_SLICE_QUEUE;
    }
    if (ps_str_eq(e->cat, w->python_function)) {
        return PS_SLICE_PYTHON;
    }
    return is_mark_category(ps_builder_text(r->builder, e->cat)) ? PS_SLICE_MARK_HOST
                                                                 : PS_SLICE_HOST_OTHER;
}

static void place_ascend_event(void *context, ps_builder *b, const ps_model_event *e,
                               ps_slice_kind *kind, uint32_t *track) {
    ps_ascend_text *r = context;
    const ps_ascend_words *w = &r->words;
    if (*kind == PS_SLICE_INSTANT) {
        return;
    }
    const char *name = ps_builder_text(b, e->name);
    if (ascend_event_starts_with(name, STEP_NAME)) {
        add_ascend_event_step(r, e, name);
        *kind = PS_SLICE_ANNOTATION;
    } else if (!ps_str_is_none(e->cat)) {
        *kind = kind_of_category(r, e);
    }
    if (*kind == PS_SLICE_HOST_OTHER) {
        const char *type = arg_text(e, w->task_type, b);
        if (type != NULL) {
            *kind = ps_ascend_task_kind(type, name);
        } else if (ps_model_arg(e, w->comm_task_type) != NULL ||
                   ps_model_arg(e, w->notify_id) != NULL) {
            *kind = PS_SLICE_COMM_TASK;
        } else if (ps_model_arg(e, w->event_type) != NULL || ps_model_arg(e, w->domain) != NULL) {
            *kind = PS_SLICE_MARK_HOST;
        }
    }
    bool is_framework = *kind == PS_SLICE_HOST_OP || *kind == PS_SLICE_ANNOTATION ||
                        *kind == PS_SLICE_QUEUE || *kind == PS_SLICE_PYTHON;
    const uint32_t all = PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_MARKS | PS_NEED_INVENTORY;
    if ((r->needs & all) == 0 && is_framework) {
        *track = PS_NONE; /* nobody asked, and no flow looks for them */
    }
}

/* --- what is remembered of slices ---------------------------------------------------------------------- */

static ps_ascend_task_key task_key(const ps_model_event *e, ps_str stream, ps_str task) {
    ps_ascend_task_key key = {e->event->ts_ns, e->pid & PS_ASCEND_DEVICE_MASK, -1, -1};
    (void)ps_model_arg_int(e, stream, &key.stream);
    (void)ps_model_arg_int(e, task, &key.task);
    return key;
}

static void note_comm_task(ps_ascend_text *r, const ps_model_event *e, uint32_t slice) {
    const ps_ascend_words *w = &r->words;
    int64_t own = -1;
    int64_t peer = -1;
    bool has_own = ps_model_arg_int(e, w->src_rank, &own);
    if (!ps_model_arg_int(e, w->dst_rank, &peer) && !has_own) {
        return;
    }
    if (!ps_grow(&r->tasks, &r->cap_tasks, r->n_tasks + 1, MAX_ROWS, sizeof *r->tasks)) {
        r->failed = true;
        return;
    }
    const char *name = ps_builder_text(r->builder, e->name);
    r->tasks[r->n_tasks++] = (ps_ascend_comm_task){
        .key = task_key(e, w->stream_id, w->task_id),
        .slice = slice,
        .own = own,
        .peer = peer,
        .is_notify = strcmp(name, "Notify_Record") == 0 || strcmp(name, "Notify_Wait") == 0};
}

/* The connection id of calls and operators, and that of tasks with their place. */
static void note_connection(ps_ascend_text *r, const ps_model_event *e, uint32_t slice) {
    const ps_ascend_words *w = &r->words;
    int64_t id = 0;
    if (!ps_model_arg_int(e, w->connection_id, &id) || id < 0 || id == PS_ASCEND_NO_ID) {
        return;
    }
    if (ps_model_arg(e, w->task_type) != NULL) {
        ps_ascend_task_key key = task_key(e, w->physic_stream_id, w->hardware_task_id);
        if (!ps_grow(&r->launches, &r->cap_launches, r->n_launches + 1, MAX_ROWS,
                     sizeof *r->launches)) {
            r->failed = true;
        } else if (key.stream >= 0 && key.task >= 0) {
            r->launches[r->n_launches++] = (ps_ascend_launch){key, id};
        }
    } else if (!ps_grow(&r->connections, &r->cap_connections, r->n_connections + 1, MAX_ROWS,
                        sizeof *r->connections)) {
        r->failed = true;
    } else {
        r->connections[r->n_connections++] = (ps_ascend_connection){slice, id};
    }
}

static void ascend_event_added(void *context, ps_builder *b, const ps_model_event *e,
                               uint32_t slice) {
    ps_ascend_text *r = context;
    ps_slice_kind kind = ps_builder_slice_kind(b, slice);
    if (r->kernels != NULL && ps_str_is_none(e->cat)) {
        ps_ascend_kernels_join(r->kernels, b, slice, e->tid);
    }
    if (kind == PS_SLICE_MARK_HOST) {
        if (ps_grow(&r->marks, &r->cap_marks, r->n_marks + 1, MAX_ROWS, sizeof *r->marks)) {
            r->marks[r->n_marks++] = slice;
        } else {
            r->failed = true;
        }
    }
    if ((r->needs & PS_ASCEND_NEEDS_OPS) == 0 || !ps_str_is_none(e->cat)) {
        return;
    }
    if (kind == PS_SLICE_COMM_TASK) {
        note_comm_task(r, e, slice);
    } else {
        note_connection(r, e, slice);
    }
}

/* --- counters ---------------------------------------------------------------------------------------------- */

/* "Read(MB/s)" has the unit MB/s; "KB" and "MHz" are units themselves. */
static void split_unit(const char *key, size_t *name_bytes, const char **unit, size_t *unit_bytes) {
    const char *open = strrchr(key, '(');
    size_t n = strlen(key);
    *name_bytes = n;
    *unit = "";
    *unit_bytes = 0;
    if (open != NULL && open != key && key[n - 1] == ')') {
        *name_bytes = (size_t)(open - key);
        *unit = open + 1;
        *unit_bytes = n - *name_bytes - 2;
    } else if (strcmp(key, "KB") == 0 || strcmp(key, "MB") == 0 || strcmp(key, "MHz") == 0) {
        *name_bytes = 0;
        *unit = key;
        *unit_bytes = n;
    }
}

/* "HBM 0/Read" {Read(MB/s)} is one series; "NIC" {Tx(MB/s), Rx(MB/s)} are two; four names of the accelerators' counters
 * are told apart by acc_id. */
static ps_str series_name(ps_ascend_text *r, const ps_model_event *e, const char *key,
                          size_t key_bytes, int64_t acc_id) {
    const char *name = ps_builder_text(r->builder, e->name);
    char text[512];
    size_t n_values = e->event->n_args - (acc_id >= 0 ? 1 : 0);
    bool is_plain = n_values == 1 || key_bytes == 0;
    if (acc_id >= 0) {
        (void)snprintf(text, sizeof text, "Acc %lld/%.200s%s%.*s", (long long)acc_id, name,
                       is_plain ? "" : "/", is_plain ? 0 : (int)(key_bytes < 200 ? key_bytes : 200),
                       key);
    } else {
        (void)snprintf(text, sizeof text, "%.200s%s%.*s", name, is_plain ? "" : "/",
                       is_plain ? 0 : (int)(key_bytes < 200 ? key_bytes : 200), key);
    }
    return ps_builder_str(r->builder, text, strlen(text));
}

static uint32_t make_series(ps_ascend_text *r, const ps_model_event *e, const char *key,
                            int64_t acc_id) {
    size_t key_bytes = 0;
    size_t unit_bytes = 0;
    const char *unit = "";
    split_unit(key, &key_bytes, &unit, &unit_bytes);
    ps_track track = {.kind = PS_TRACK_COUNTER,
                      .pid = e->pid,
                      .tid = -1,
                      .device = -1,
                      .name = series_name(r, e, key, key_bytes, acc_id)};
    uint32_t row = ps_builder_track(r->builder, track);
    if (unit_bytes > 0) {
        ps_builder_track_unit(r->builder, row, ps_ascend_csv_unit(r->builder, unit, unit_bytes));
    }
    return row;
}

/* The track of a series, found again without making its name. */
static uint32_t series_of(ps_ascend_text *r, const ps_model_event *e, ps_str key, int64_t acc_id) {
    ps_ascend_counter c = {e->pid, e->name.id, key.id, acc_id, PS_NONE};
    uint64_t hash = ps_hash_u64_seeded((uint64_t)c.name << 32 | c.key, r->seed);
    hash = ps_hash_u64_seeded(hash + (uint64_t)c.pid * 31 + (uint64_t)c.acc_id, r->seed);
    for (uint32_t row; (row = ps_idmap_get(&r->counter_rows, hash)) != PS_IDMAP_NONE; hash++) {
        const ps_ascend_counter *known = &r->counters[row];
        if (known->pid == c.pid && known->name == c.name && known->key == c.key &&
            known->acc_id == c.acc_id) {
            return known->track;
        }
    }
    c.track = make_series(r, e, ps_builder_text(r->builder, key), acc_id);
    if (c.track == PS_NONE ||
        !ps_grow(&r->counters, &r->cap_counters, r->n_counters + 1, MAX_ROWS,
                 sizeof *r->counters) ||
        !ps_idmap_put(&r->counter_rows, hash, (uint32_t)r->n_counters)) {
        r->failed = true;
        return PS_NONE;
    }
    r->counters[r->n_counters++] = c;
    return c.track;
}

static uint32_t counter(void *context, ps_builder *b, const ps_model_event *e,
                        const ps_event_arg *arg) {
    ps_ascend_text *r = context;
    ps_str key = ps_model_str(e, arg->key);
    int64_t acc_id = -1;
    bool has_acc = ps_model_arg_int(e, r->words.acc_id, &acc_id) && acc_id >= 0;
    if (has_acc && ps_str_eq(key, r->words.acc_id)) {
        return PS_NONE; /* says which, not how much */
    }
    uint32_t track = series_of(r, e, key, has_acc ? acc_id : -1);
    if (ps_str_eq(key, r->words.hit_rate) && track != PS_NONE &&
        (arg->type == PS_ARG_REAL || arg->type == PS_ARG_INT)) {
        double share = arg->type == PS_ARG_REAL ? arg->u.r : (double)arg->u.i;
        /* named %, is a fraction */
        if (!ps_builder_counter(b, track, e->event->ts_ns, share * 100) && !ps_builder_failed(b)) {
            ps_diag_add(r->diag, PS_ODD_TIME, "event %lld: out of range", (long long)e->row);
        }
        return PS_NONE;
    }
    return track;
}

/* --- flows ------------------------------------------------------------------------------------------------- */

/* Ranges around an operator may begin at the same nanosecond: which of them a flow means, its category tells. */
static bool ascend_event_takes(void *context, const ps_builder *b, ps_str kind, bool is_begin,
                               uint32_t slice) {
    const ps_ascend_text *r = context;
    const ps_ascend_words *w = &r->words;
    ps_slice_kind is = ps_builder_slice_kind(b, slice);
    bool is_op = is == PS_SLICE_HOST_OP || is == PS_SLICE_ANNOTATION;
    if (ps_str_eq(kind, w->async_task_queue)) {
        return is == PS_SLICE_QUEUE;
    }
    if (ps_str_eq(kind, w->fwdbwd)) {
        return is_op;
    }
    if (ps_str_eq(kind, w->async_npu)) {
        return is_begin ? is_op : !is_op;
    }
    if (ps_str_eq(kind, w->host_to_device)) {
        return is_begin ? is == PS_SLICE_CALL : is != PS_SLICE_MARK_DEVICE;
    }
    return true;
}

static bool ascend_event_flow(void *context, const ps_builder *b, uint32_t from, uint32_t to,
                              ps_str kind) {
    ps_ascend_text *r = context;
    (void)b;
    if (!ps_str_eq(kind, r->words.mstx)) {
        return (r->needs & PS_NEED_FLOWS) != 0;
    }
    ps_builder_set_slice_kind(r->builder, from, PS_SLICE_MARK_HOST);
    ps_builder_set_slice_kind(r->builder, to, PS_SLICE_MARK_DEVICE);
    ps_builder_flow(r->builder, from, to);
    r->failed = r->failed || !ps_idmap_put(&r->flowed, from, 1);
    return false;
}

/* --- metadata ---------------------------------------------------------------------------------------------- */

static ps_ascend_named_lane *named_lane(ps_ascend_text *r, const ps_event *e) {
    const int64_t fields[] = {e->pid, e->tid};
    uint64_t key = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&r->named_rows, key)) != PS_IDMAP_NONE; key++) {
        if (r->named[row].pid == e->pid && r->named[row].tid == e->tid) {
            return &r->named[row];
        }
    }
    if (!ps_grow(&r->named, &r->cap_named, r->n_named + 1, MAX_ROWS, sizeof *r->named) ||
        !ps_idmap_put(&r->named_rows, key, (uint32_t)r->n_named)) {
        r->failed = true;
        return NULL;
    }
    r->named[r->n_named] = (ps_ascend_named_lane){e->pid, e->tid, PS_NO_ORDER, PS_STR_NONE};
    return &r->named[r->n_named++];
}

/* Lanes of communicators count also when they have no slice: a plane belongs to the group before it. */
static void note_lane(ps_ascend_text *r, const ps_event_batch *batch, const ps_event *e) {
    bool is_name = ps_event_text_is(batch, e->name, "thread_name");
    const uint16_t no_number = PS_EVENT_PID_TEXT | PS_EVENT_TID_TEXT;
    if ((!is_name && !ps_event_text_is(batch, e->name, "thread_sort_index")) ||
        (e->flags & no_number) != 0) {
        return;
    }
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &batch->args[e->first_arg + i];
        bool is_label =
            is_name && arg->type == PS_ARG_STR && ps_event_text_is(batch, arg->key, "name");
        bool is_order =
            !is_name && arg->type == PS_ARG_INT && ps_event_text_is(batch, arg->key, "sort_index");
        ps_ascend_named_lane *lane = is_label || is_order ? named_lane(r, e) : NULL;
        if (lane != NULL && is_label) {
            const ps_event_text *t = &batch->texts[arg->u.text];
            lane->name = ps_builder_str(r->builder, t->bytes, t->n);
        } else if (lane != NULL) {
            lane->order = arg->u.i;
        }
    }
}

static void end(void *context, ps_builder *b) {
    ps_ascend_text *r = context;
    (void)b;
    ps_ascend_text_settle(r);
    if (!r->failed) {
        ps_ascend_text_settle_ops(r);
    }
}

/* --- all events -------------------------------------------------------------------------------------------- */

typedef struct sink_context {
    ps_ascend_text *reading;
    ps_trace_model *model;
} sink_context;

static ps_code take_ascend_event_batch(void *context, const ps_event_batch *batch, ps_err *err) {
    sink_context *c = context;
    for (size_t i = 0; i < batch->n_events; i++) {
        if (batch->events[i].ph == 'M') {
            note_lane(c->reading, batch, &batch->events[i]);
        }
    }
    ps_code code = ps_trace_model_batch(c->model, batch, err);
    return code == PS_OK && c->reading->failed ? ps_fail_nomem(err) : code;
}

/* What analyses use of the arguments when not all are asked for. */
static const char *const WANTED[] = {
    "connection_id",  "Task Type",       "Physic Stream Id", "Task Id",  "stream id", "task id",
    "correlation_id", "Sequence number", "Fwd thread id",    "src rank", "dst rank",  "task type",
    "notify_id",      "event_type",      "domain",           NULL};

static uint32_t model_needs(uint32_t needs) {
    const uint32_t slices = PS_NEED_SLICES | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |
                            PS_NEED_COMM_MARKS | PS_NEED_INVENTORY;
    uint32_t out = needs & (PS_NEED_COUNTERS | PS_NEED_STEPS);
    out |= (needs & slices) != 0 ? PS_NEED_SLICES : 0;
    out |= (needs & (PS_NEED_FLOWS | PS_NEED_MARKS)) != 0 ? PS_NEED_FLOWS : 0;
    return out;
}

ps_code ps_ascend_text_events(ps_ascend_text *r, ps_input *in, size_t n_threads,
                              ps_event_stats *stats, ps_err *err) {
    const ps_dialect dialect = {.place = place_ascend_event,
                                .added = ascend_event_added,
                                .counter = counter,
                                .end = end,
                                .takes = ascend_event_takes,
                                .flow = ascend_event_flow,
                                .context = r,
                                .exact_ends = true,
                                .zero_is_stray = true};
    sink_context c = {r, ps_trace_model_new(r->builder, &dialect, model_needs(r->needs))};
    if (c.model == NULL) {
        return ps_fail_nomem(err);
    }
    ps_event_schema schema = {.all_args = (r->needs & PS_NEED_ARGS) != 0, .wanted = WANTED};
    ps_event_sink sink = {&c, take_ascend_event_batch, NULL};
    ps_code code = ps_trace_events_read(in, &schema, &sink, n_threads, r->diag, stats, err);
    code = code == PS_OK ? ps_trace_model_finish(c.model, err) : code;
    ps_trace_model_free(c.model);
    if (code == PS_OK && r->failed) {
        code = ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < r->n_marks; i++) {
        bool has_flow = ps_idmap_get(&r->flowed, r->marks[i]) != PS_IDMAP_NONE;
        bool is_host = ps_builder_slice_kind(r->builder, r->marks[i]) == PS_SLICE_MARK_HOST;
        ps_diag_count(r->diag, PS_ODD_MARK_HOST_ONLY, !has_flow && is_host);
    }
    return code;
}
