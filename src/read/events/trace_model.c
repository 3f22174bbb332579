/* Batches. An event costs no allocation: texts are interned once a batch, threads are found through a small cache, and
 * what needs all events (ranges by id, flows) is put aside as points. */
#include "read/events/trace_model.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "read/events/trace_model_parts.h"

#define FIRST_TEXT_PID INT64_C(-1000001) /* and downwards */

/* --- making and freeing ------------------------------------------------------------------------------ */

static ps_str model_word(ps_trace_model *m, const char *text) {
    return ps_builder_str(m->builder, text, strlen(text));
}

ps_trace_model *ps_trace_model_new(ps_builder *b, const ps_dialect *dialect, uint32_t needs) {
    ps_trace_model *m = ps_calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->builder = b;
    m->diag = ps_builder_diag(b);
    m->dialect = dialect != NULL ? *dialect : (ps_dialect){0};
    m->needs = needs;
    m->free_open = PS_NONE;
    m->last_ns = INT64_MIN;
    for (size_t i = 0; i < PS_MODEL_THREAD_CACHE; i++) {
        m->cache[i].thread = PS_NONE;
    }
    m->empty = model_word(m, "");
    m->words.process_name = model_word(m, "process_name");
    m->words.process_labels = model_word(m, "process_labels");
    m->words.process_sort_index = model_word(m, "process_sort_index");
    m->words.thread_name = model_word(m, "thread_name");
    m->words.thread_sort_index = model_word(m, "thread_sort_index");
    m->words.name = model_word(m, "name");
    m->words.labels = model_word(m, "labels");
    m->words.sort_index = model_word(m, "sort_index");
    if (ps_builder_failed(b)) {
        ps_trace_model_free(m);
        return NULL;
    }
    return m;
}

void ps_trace_model_free(ps_trace_model *m) {
    if (m == NULL) {
        return;
    }
    ps_free(m->texts);
    ps_free(m->threads);
    ps_free(m->placements);
    ps_free(m->opens);
    ps_free(m->series);
    ps_free(m->late);
    ps_free(m->late_args);
    ps_idmap_fini(&m->thread_rows);
    ps_idmap_fini(&m->text_pids);
    ps_idmap_fini(&m->low_pids);
    ps_idmap_fini(&m->placement_rows);
    ps_idmap_fini(&m->series_rows);
    ps_points_fini(&m->flows);
    ps_points_fini(&m->ranges);
    ps_track_rows_fini(&m->by_track);
    ps_held_fini(&m->held);
    ps_free(m);
}

/* --- texts and arguments ----------------------------------------------------------------------------- */

ps_str ps_model_text(ps_trace_model *m, const ps_event_batch *batch, uint32_t text) {
    if (text == 0) {
        return m->empty;
    }
    ps_str *known = &m->texts[text];
    if (ps_str_is_none(*known)) {
        *known = ps_builder_str(m->builder, batch->texts[text].bytes, batch->texts[text].n);
    }
    return *known;
}

ps_str ps_model_str(const ps_model_event *e, uint32_t text) {
    return ps_model_text(e->model, e->batch, text);
}

const ps_event_arg *ps_model_arg(const ps_model_event *e, ps_str key) {
    const ps_event_arg *args = ps_model_args(e);
    for (uint32_t i = e->event->n_args; i > 0; i--) {
        if (ps_str_eq(ps_model_str(e, args[i - 1].key), key)) {
            return &args[i - 1];
        }
    }
    return NULL;
}

bool ps_model_arg_int(const ps_model_event *e, ps_str key, int64_t *out) {
    const ps_event_arg *arg = ps_model_arg(e, key);
    if (arg == NULL || arg->type != PS_ARG_INT) {
        return false;
    }
    *out = arg->u.i;
    return true;
}

bool ps_model_to_arg(ps_trace_model *m, const ps_event_batch *batch, const ps_event_arg *from,
                     ps_arg *to) {
    *to = (ps_arg){.key = ps_model_text(m, batch, from->key), .type = from->type};
    switch (from->type) {
    case PS_ARG_INT:
    case PS_ARG_BOOL:
    case PS_ARG_TIME:
        to->u.i = from->u.i;
        break;
    case PS_ARG_REAL:
        to->u.r = from->u.r;
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        to->u.s = ps_model_text(m, batch, from->u.text);
        break;
    case PS_ARG_NULL:
        break;
    }
    return !ps_str_is_none(to->key);
}

void ps_model_add_args(ps_trace_model *m, const ps_model_event *e, uint32_t slice) {
    enum { AT_ONCE = 32 };
    const ps_event_arg *from = ps_model_args(e);
    ps_arg args[AT_ONCE];
    size_t n = 0;
    for (uint32_t i = 0; i < e->event->n_args; i++) {
        n += ps_model_to_arg(m, e->batch, &from[i], &args[n]);
        if (n == AT_ONCE) {
            ps_builder_args(m->builder, slice, args, n);
            n = 0;
        }
    }
    ps_builder_args(m->builder, slice, args, n);
}

/* --- processes and threads --------------------------------------------------------------------------- */

/* A number in quotes means the number, as in the viewers. */
static bool text_is_number(const ps_event_batch *batch, int64_t text, int64_t *number) {
    const ps_event_text *t = &batch->texts[text];
    bool odd_zero = t->n > 1 && (t->bytes[0] == '0' || (t->bytes[0] == '-' && t->bytes[1] == '0'));
    return !odd_zero && ps_parse_i64(t->bytes, t->n, number);
}

static int64_t pid_of_text(ps_trace_model *m, ps_str text) {
    uint32_t number = ps_idmap_get(&m->text_pids, text.id);
    if (number == PS_IDMAP_NONE) {
        while (ps_idmap_get(&m->low_pids, (uint64_t)(FIRST_TEXT_PID - m->n_text_pids)) !=
               PS_IDMAP_NONE) {
            m->n_text_pids++;
        }
        number = m->n_text_pids++;
        m->failed = m->failed || !ps_idmap_put(&m->text_pids, text.id, number);
        ps_builder_process(m->builder, (ps_process){.pid = FIRST_TEXT_PID - number,
                                                    .name = text,
                                                    .order = PS_NO_ORDER,
                                                    .pid_is_text = true});
    }
    return FIRST_TEXT_PID - number;
}

/* A number that was given to a text pid before it was seen in the file becomes a text itself. */
static int64_t pid_of_number(ps_trace_model *m, int64_t pid) {
    if (pid > FIRST_TEXT_PID || ps_idmap_get(&m->low_pids, (uint64_t)pid) != PS_IDMAP_NONE) {
        return pid;
    }
    if (pid > FIRST_TEXT_PID - m->n_text_pids) {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)pid);
        return pid_of_text(m, ps_builder_str(m->builder, text, (size_t)n));
    }
    m->failed = m->failed || !ps_idmap_put(&m->low_pids, (uint64_t)pid, 0);
    return pid;
}

static uint32_t add_thread(ps_trace_model *m, int64_t pid, int64_t tid, ps_str name) {
    const int64_t fields[] = {pid, tid, (int64_t)name.id};
    uint64_t key = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&m->thread_rows, key)) != PS_IDMAP_NONE; key++) {
        const ps_model_thread *t = &m->threads[row];
        if (t->pid == pid && t->tid == tid && ps_str_eq(t->tid_name, name)) {
            return row;
        }
    }
    if (!ps_grow(&m->threads, &m->cap_threads, m->n_threads + 1, PS_MODEL_MAX,
                 sizeof *m->threads) ||
        !ps_idmap_put(&m->thread_rows, key, (uint32_t)m->n_threads)) {
        m->failed = true;
        return PS_NONE;
    }
    m->threads[m->n_threads] = (ps_model_thread){.pid = pid,
                                                 .tid = tid,
                                                 .tid_name = name,
                                                 .order = PS_NO_ORDER,
                                                 .usual = PS_NONE,
                                                 .last_track = PS_NONE,
                                                 .placements = PS_NONE,
                                                 .open = PS_NONE};
    return (uint32_t)m->n_threads++;
}

/* Fills pid, tid, tid_name and thread. False when memory is out. */
static bool find_thread(ps_trace_model *m, ps_model_event *e) {
    const ps_event *event = e->event;
    e->pid = (event->flags & PS_EVENT_HAS_PID) != 0 ? event->pid : 0;
    e->tid = (event->flags & PS_EVENT_HAS_TID) != 0 ? event->tid : 0;
    e->tid_name = PS_STR_NONE;
    if ((event->flags & PS_EVENT_PID_TEXT) != 0 && !text_is_number(e->batch, event->pid, &e->pid)) {
        e->pid = pid_of_text(m, ps_model_str(e, (uint32_t)event->pid));
    } else {
        e->pid = pid_of_number(m, e->pid);
    }
    if ((event->flags & PS_EVENT_TID_TEXT) != 0 && !text_is_number(e->batch, event->tid, &e->tid)) {
        e->tid_name = ps_model_str(e, (uint32_t)event->tid);
        e->tid = -1;
        e->thread = add_thread(m, e->pid, e->tid, e->tid_name);
        return e->thread != PS_NONE;
    }
    uint64_t mixed = ps_hash_u64((uint64_t)e->pid * 31 + (uint64_t)e->tid);
    size_t slot = (size_t)(mixed % PS_MODEL_THREAD_CACHE);
    if (m->cache[slot].thread == PS_NONE || m->cache[slot].pid != e->pid ||
        m->cache[slot].tid != e->tid) {
        uint32_t thread = add_thread(m, e->pid, e->tid, PS_STR_NONE);
        if (thread == PS_NONE) {
            return false;
        }
        m->cache[slot].pid = e->pid;
        m->cache[slot].tid = e->tid;
        m->cache[slot].thread = thread;
    }
    e->thread = m->cache[slot].thread;
    return true;
}

static uint32_t model_usual_track(ps_trace_model *m, uint32_t thread) {
    ps_model_thread *t = &m->threads[thread];
    if (t->usual == PS_NONE) {
        t->usual = ps_builder_track(m->builder, (ps_track){.kind = PS_TRACK_HOST_THREAD,
                                                           .pid = t->pid,
                                                           .tid = t->tid,
                                                           .device = -1,
                                                           .name = t->tid_name});
    }
    return t->usual;
}

static void note_placement(ps_trace_model *m, uint32_t thread, uint32_t track) {
    ps_model_thread *t = &m->threads[thread];
    if (t->last_track == track) {
        return;
    }
    t->last_track = track;
    size_t n_tracks = 0;
    if (ps_builder_tracks(m->builder, &n_tracks)[track].kind == PS_TRACK_DERIVED) {
        return;
    }
    uint64_t key = (uint64_t)thread << 32 | track;
    if (ps_idmap_get(&m->placement_rows, key) != PS_IDMAP_NONE) {
        return;
    }
    if (!ps_grow(&m->placements, &m->cap_placements, m->n_placements + 1, PS_MODEL_MAX,
                 sizeof *m->placements) ||
        !ps_idmap_put(&m->placement_rows, key, (uint32_t)m->n_placements)) {
        m->failed = true;
        return;
    }
    m->placements[m->n_placements] =
        (ps_model_placement){thread, track, t->placements, t->n_placements++};
    t->placements = (uint32_t)m->n_placements++;
}

/* --- slices ------------------------------------------------------------------------------------------ */

static void odd_event(ps_trace_model *m, ps_oddity kind, const ps_model_event *e,
                      const char *what) {
    ps_diag_add(m->diag, kind, "event %lld (byte %llu): %s", (long long)e->row,
                (unsigned long long)e->event->offset, what);
}

void ps_model_note_time(ps_trace_model *m, int64_t time_ns) {
    m->last_ns = time_ns > m->last_ns ? time_ns : m->last_ns;
}

/* Whether the event has a time that counts. */
static bool has_time(ps_trace_model *m, const ps_model_event *e) {
    if ((e->event->flags & PS_EVENT_HAS_TS) == 0) {
        odd_event(m, PS_ODD_EVENT_FIELD, e, "no ts");
        return false;
    }
    ps_zero zero = ps_model_zero(m, e);
    if (zero == PS_ZERO_STRAY) {
        odd_event(m, PS_ODD_TIME_ZERO, e, "ts 0");
    }
    return zero == PS_ZERO_TIME;
}

/* A slice where the dialect wants it; PS_NONE when it is left out. */
static uint32_t add_model_slice(ps_trace_model *m, const ps_model_event *e, ps_slice_kind kind,
                                int64_t end_ns) {
    uint32_t track = PS_TRACK_USUAL;
    if ((m->needs & (PS_NEED_SLICES | PS_NEED_STEPS)) == 0) {
        return PS_NONE;
    }
    if (m->dialect.place != NULL) {
        m->dialect.place(m->dialect.context, m->builder, e, &kind, &track);
    }
    if ((m->needs & PS_NEED_SLICES) == 0 || track == PS_NONE) {
        ps_model_note_time(m, end_ns);
        return PS_NONE;
    }
    track = track == PS_TRACK_USUAL ? model_usual_track(m, e->thread) : track;
    uint32_t slice = ps_builder_slice_in(m->builder, kind, track, e->name, e->cat, e->event->ts_ns,
                                         end_ns, e->row);
    if (slice == PS_NONE) {
        if (!ps_builder_failed(m->builder)) {
            odd_event(m, PS_ODD_TIME, e, "ends before it starts, or out of range");
        }
        return PS_NONE;
    }
    ps_model_note_time(m, end_ns);
    note_placement(m, e->thread, track);
    ps_model_add_args(m, e, slice);
    if (m->dialect.added != NULL) {
        m->dialect.added(m->dialect.context, m->builder, e, slice);
    }
    if ((e->event->flags & PS_EVENT_HAS_BIND_ID) != 0) {
        ps_model_bind_point(m, e, slice);
    }
    return slice;
}

static void complete_model(ps_trace_model *m, const ps_model_event *e) {
    int64_t end = 0;
    if ((e->event->flags & PS_EVENT_HAS_DUR) == 0) {
        odd_event(m, PS_ODD_EVENT_FIELD, e, "no dur");
    } else if (__builtin_add_overflow(e->event->ts_ns, e->event->dur_ns, &end)) {
        odd_event(m, PS_ODD_TIME, e, "out of range");
    } else {
        (void)add_model_slice(m, e, PS_SLICE_HOST_OTHER, end);
    }
}

/* Without a time that counts it is left out, but its end is still to come. */
static void begin_model(ps_trace_model *m, const ps_model_event *e, bool is_timed) {
    uint32_t row = m->free_open;
    if (row != PS_NONE) {
        m->free_open = m->opens[row].below;
    } else if (ps_grow(&m->opens, &m->cap_opens, m->n_opens + 1, PS_MODEL_MAX, sizeof *m->opens)) {
        row = (uint32_t)m->n_opens++;
    } else {
        m->failed = true;
        return;
    }
    uint32_t slice =
        is_timed ? add_model_slice(m, e, PS_SLICE_HOST_OTHER, e->event->ts_ns) : PS_NONE;
    ps_model_thread *t = &m->threads[e->thread];
    m->opens[row] = (ps_model_open){slice, t->open};
    t->open = row;
}

/* Without a time that counts the slice ends with the last time seen: else ends that follow would go to others. */
static void end(ps_trace_model *m, const ps_model_event *e, bool is_timed) {
    ps_model_thread *t = &m->threads[e->thread];
    if (t->open == PS_NONE) {
        odd_event(m, PS_ODD_END_ALONE, e, "E");
        return;
    }
    uint32_t row = t->open;
    uint32_t slice = m->opens[row].slice;
    t->open = m->opens[row].below;
    m->opens[row].below = m->free_open;
    m->free_open = row;
    if (slice == PS_NONE) {
        return;
    }
    int64_t end_ns = is_timed ? e->event->ts_ns : m->last_ns;
    if (!ps_builder_slice_end(m->builder, slice, end_ns)) {
        odd_event(m, PS_ODD_TIME, e, "ends before it starts, or out of range");
        return;
    }
    ps_model_note_time(m, end_ns);
    ps_model_add_args(m, e, slice);
}

/* --- metadata ---------------------------------------------------------------------------------------- */

static ps_str trimmed(ps_trace_model *m, ps_str text) {
    const char *s = ps_builder_text(m->builder, text);
    size_t n = ps_builder_text_len(m->builder, text);
    size_t left = n;
    while (left > 0 && s[left - 1] == ' ') {
        left--;
    }
    return left == n ? text : ps_builder_str(m->builder, s, left);
}

static ps_str meta_text(const ps_model_event *e, ps_str key) {
    const ps_event_arg *arg = ps_model_arg(e, key);
    bool is_text = arg != NULL && (arg->type == PS_ARG_STR || arg->type == PS_ARG_NUMBER);
    return is_text ? trimmed(e->model, ps_model_str(e, arg->u.text)) : PS_STR_NONE;
}

/* Sort indices reach 2^29 and more; some writers give them as text or real numbers. */
static int64_t meta_order(const ps_model_event *e) {
    const ps_event_arg *arg = ps_model_arg(e, e->model->words.sort_index);
    int64_t order = PS_NO_ORDER;
    if (arg != NULL && arg->type == PS_ARG_INT) {
        order = arg->u.i;
    } else if (arg != NULL && arg->type == PS_ARG_STR) {
        const ps_event_text *t = &e->batch->texts[arg->u.text];
        order = ps_parse_i64(t->bytes, t->n, &order) ? order : PS_NO_ORDER;
    }
    return order;
}

static void name_process(ps_trace_model *m, const ps_model_event *e, ps_process process) {
    process.pid = e->pid;
    if (!ps_str_is_none(process.name) && e->pid <= FIRST_TEXT_PID &&
        (e->event->flags & PS_EVENT_PID_TEXT) != 0) {
        /* The text of the pid stays its name. */
        ps_str own = ps_model_str(e, (uint32_t)e->event->pid);
        process.labels = ps_str_eq(process.name, own) ? PS_STR_NONE : process.name;
        process.name = PS_STR_NONE;
    }
    ps_builder_process(m->builder, process);
}

static void metadata(ps_trace_model *m, const ps_model_event *e) {
    ps_process process = {.order = PS_NO_ORDER};
    ps_model_thread *t = &m->threads[e->thread];
    if (ps_str_eq(e->name, m->words.thread_name)) {
        ps_str label = meta_text(e, m->words.name);
        t->label = ps_str_is_none(label) ? t->label : label;
    } else if (ps_str_eq(e->name, m->words.thread_sort_index)) {
        int64_t order = meta_order(e);
        t->order = order == PS_NO_ORDER ? t->order : order;
    } else if (ps_str_eq(e->name, m->words.process_name)) {
        process.name = meta_text(e, m->words.name);
        name_process(m, e, process);
    } else if (ps_str_eq(e->name, m->words.process_labels)) {
        process.labels = meta_text(e, m->words.labels);
        name_process(m, e, process);
    } else if (ps_str_eq(e->name, m->words.process_sort_index)) {
        process.order = meta_order(e);
        name_process(m, e, process);
    } else if (m->dialect.metadata != NULL) {
        m->dialect.metadata(m->dialect.context, m->builder, e);
    } else {
        odd_event(m, PS_ODD_METADATA_EVENT, e, ps_builder_text(m->builder, e->name));
    }
}

/* --- batches ----------------------------------------------------------------------------------------- */

static void take_timed(ps_trace_model *m, const ps_model_event *e) {
    switch (e->event->ph) {
    case 'X':
        complete_model(m, e);
        break;
    case 'B':
        begin_model(m, e, true);
        break;
    case 'E':
        end(m, e, true);
        break;
    case 'i':
    case 'I':
    case 'R':
    case 'P':
        (void)add_model_slice(m, e, PS_SLICE_INSTANT, e->event->ts_ns);
        break;
    case 'C':
        ps_model_counter(m, e);
        break;
    case 's':
        ps_model_flow_point(m, e, PS_POINT_BEGIN);
        break;
    case 't':
        ps_model_flow_point(m, e, PS_POINT_STEP);
        break;
    case 'f':
        ps_model_flow_point(m, e, PS_POINT_END);
        break;
    case 'b':
        ps_model_async(m, e, PS_POINT_ASYNC, PS_POINT_BEGIN);
        break;
    case 'n':
        ps_model_async(m, e, PS_POINT_ASYNC, PS_POINT_STEP);
        break;
    case 'e':
        ps_model_async(m, e, PS_POINT_ASYNC, PS_POINT_END);
        break;
    case 'S':
        ps_model_async(m, e, PS_POINT_OLD, PS_POINT_BEGIN);
        break;
    case 'T':
    case 'p':
        ps_model_async(m, e, PS_POINT_OLD, PS_POINT_STEP);
        break;
    case 'F':
        ps_model_async(m, e, PS_POINT_OLD, PS_POINT_END);
        break;
    default:
        break;
    }
}

static bool is_known_phase(char ph) {
    static const bool KNOWN[UCHAR_MAX + 1] = {
        ['X'] = true, ['B'] = true, ['E'] = true, ['i'] = true, ['I'] = true,
        ['R'] = true, ['P'] = true, ['C'] = true, ['M'] = true, ['s'] = true,
        ['t'] = true, ['f'] = true, ['b'] = true, ['n'] = true, ['e'] = true,
        ['S'] = true, ['T'] = true, ['p'] = true, ['F'] = true};
    return KNOWN[(unsigned char)ph];
}

static bool is_flow_phase(char ph) {
    return ph == 's' || ph == 't' || ph == 'f';
}

/* Some writers give every flow a name of its own, which nobody shows. */
static bool needs_flow_name(const ps_trace_model *m, const ps_model_event *e) {
    return m->dialect.flow_names || e->event->cat == 0;
}

void ps_model_take(ps_trace_model *m, ps_model_event *e) {
    char ph = e->event->ph;
    e->row = (int64_t)e->batch->first_event + (e->event - e->batch->events);
    if (ph == 0) {
        odd_event(m, PS_ODD_EVENT_FIELD, e, "no ph");
        return;
    }
    if (!is_known_phase(ph)) {
        char what[] = {'p', 'h', ' ', ph, '\0'};
        odd_event(m, PS_ODD_EVENT_PHASE, e, what);
        return;
    }
    bool is_timed = ph == 'M' || has_time(m, e);
    if (!is_timed && ph != 'B' && ph != 'E') {
        return;
    }
    if (is_flow_phase(ph) && !needs_flow_name(m, e)) {
        e->name = PS_STR_NONE;
    } else {
        e->name = ps_model_text(m, e->batch, e->event->name);
    }
    e->cat = e->event->cat != 0 ? ps_model_text(m, e->batch, e->event->cat) : PS_STR_NONE;
    if (!find_thread(m, e)) {
        return;
    }
    if (ph == 'M') {
        metadata(m, e);
    } else if (!is_timed && ph == 'B') {
        begin_model(m, e, false);
    } else if (!is_timed) {
        end(m, e, false);
    } else {
        take_timed(m, e);
    }
}

ps_code ps_trace_model_batch(ps_trace_model *m, const ps_event_batch *batch, ps_err *err) {
    if (!ps_grow(&m->texts, &m->cap_texts, batch->n_texts, PS_MODEL_MAX, sizeof *m->texts)) {
        return ps_fail_nomem(err);
    }
    if (batch->n_texts > 0) {
        memset(m->texts, 0, batch->n_texts * sizeof *m->texts);
    }
    ps_model_event e = {.batch = batch, .model = m};
    for (size_t i = 0; i < batch->n_events && !m->failed; i++) {
        e.event = &batch->events[i];
        ps_model_take(m, &e);
    }
    return m->failed || ps_builder_failed(m->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* --- the end ----------------------------------------------------------------------------------------- */

static void end_open_slices(ps_trace_model *m) {
    for (size_t i = 0; i < m->n_threads; i++) {
        for (uint32_t row = m->threads[i].open; row != PS_NONE; row = m->opens[row].below) {
            uint32_t slice = m->opens[row].slice;
            if (slice != PS_NONE) {
                (void)ps_builder_slice_end(m->builder, slice, m->last_ns);
                ps_diag_add(m->diag, PS_ODD_BEGIN_OPEN, "event %lld: %s",
                            (long long)ps_builder_slices(m->builder)->source_row[slice],
                            ps_builder_text(m->builder, ps_builder_slice_name(m->builder, slice)));
            }
        }
    }
}

static void label_tracks(ps_trace_model *m) {
    for (size_t i = 0; i < m->n_threads; i++) {
        const ps_model_thread *t = &m->threads[i];
        for (uint32_t p = t->placements; p != PS_NONE; p = m->placements[p].next) {
            ps_builder_track_label(m->builder, m->placements[p].track, t->label, t->order);
        }
    }
}

ps_code ps_trace_model_finish(ps_trace_model *m, ps_err *err) {
    if (m->held.n > 0) {
        ps_model_release(m); /* all times are 0 */
    }
    end_open_slices(m);
    bool ok = ps_model_async_finish(m);
    if (ok) {
        label_tracks(m);
        if (m->dialect.end != NULL) {
            m->dialect.end(m->dialect.context, m->builder);
        }
        ok = ps_model_flows_choose(m) && ps_model_index(m) && ps_model_count_overlaps(m) &&
             ps_model_flows_finish(m);
    }
    ok = ok && !m->failed && !ps_builder_failed(m->builder);
    return ok ? PS_OK : ps_fail_nomem(err);
}
