/* Marks and ranges as the host saw them, with the steps among them. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json_write.h"
#include "record/export/export_tables.h"

enum { TYPE_PUSH_POP = 1, TYPE_START_END = 2, TYPE_MARK = 3 };
enum { MAX_OP_NAME = 100 };

static void mark_of_step(ps_export *e, size_t row, ps_mark *out) {
    const ps_steps *s = ps_capture_steps(e->c);
    char name[48];
    int n = snprintf(name, sizeof name, "ProfilerStep#%" PRId64, s->number[row]);
    *out = (ps_mark){.start_ns = s->start_ns[row],
                     .end_ns = s->end_ns[row],
                     .message = ps_export_string(e, name, (size_t)n),
                     .domain = ps_export_text(e, ps_capture_domains(e->c)->value[0]),
                     .type = TYPE_START_END,
                     .stream = s->stream[row],
                     .tid = s->tid[row],
                     .end_tid = s->tid[row],
                     .event = PS_NO_TEXT,
                     .step = (uint32_t)row};
}

static void mark_of_event(ps_export *e, size_t row, ps_mark *out) {
    const ps_events *v = ps_capture_events(e->c);
    bool push = v->what[row] == PS_EVENT_PUSH;
    *out = (ps_mark){.start_ns = v->start_ns[row],
                     .end_ns = v->end_ns[row],
                     .message = ps_export_text(e, v->message[row]),
                     .domain = ps_export_text(e, ps_capture_domains(e->c)->value[v->domain[row]]),
                     .type = v->what[row] == PS_EVENT_MARK ? TYPE_MARK
                             : push && e->options->nvtx_push_pop_type == TYPE_PUSH_POP
                                 ? TYPE_PUSH_POP
                                 : TYPE_START_END,
                     .stream = v->stream[row],
                     .tid = v->tid[row],
                     .end_tid = v->end_tid[row],
                     .event = (uint32_t)row,
                     .step = PS_NO_TEXT};
}

uint32_t ps_comm_stream(ps_export *e, const ps_comm_call *call) {
    return ps_export_stream(e, PS_STREAM_COMMUNICATOR, 0, call->communicator);
}

/* The message that readers of communication marks look for. */
static void mark_of_comm(ps_export *e, const ps_comm_call *call, ps_mark *out) {
    const ps_events *v = ps_capture_events(e->c);
    mark_of_event(e, call->event, out);
    size_t length = 0;
    const char *name = ps_capture_text(e->c, v->message[call->event], &length);
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_json j = ps_json_spaced_to(&text);
    ps_json_object(&j);
    ps_json_key(&j, "opName");
    ps_json_str_n(&j, name, length < MAX_OP_NAME ? length : MAX_OP_NAME);
    char group[24];
    (void)snprintf(group, sizeof group, "%" PRIx64, call->communicator);
    ps_json_key_str(&j, "groupName", group);
    ps_json_key(&j, "count");
    ps_json_int_text(&j, call->bytes <= INT64_MAX ? (int64_t)call->bytes : INT64_MAX);
    ps_json_key_str(&j, "dataType", "uint8");
    ps_json_key(&j, "streamId");
    ps_json_int_text(&j, ps_comm_stream(e, call));
    if (call->peer >= 0) {
        const char *peer = call->is_send ? "destRank" : "srcRank";
        ps_json_name(&j, peer, strlen(peer));
        ps_json_int_text(&j, call->peer);
    }
    ps_json_close(&j);
    e->out_of_memory = e->out_of_memory || !ps_buf_ok(&text);
    out->message = ps_export_string(e, ps_buf_str(&text), text.len);
    ps_buf_fini(&text);
    out->domain = ps_export_string(e, "communication", 13);
    out->stream = 0;
    out->event = PS_NO_TEXT;
    out->comm = call;
}

bool ps_marks_next(ps_export *e, ps_mark_walk *w, ps_mark *out) {
    const ps_events *v = ps_capture_events(e->c);
    const ps_steps *s = ps_capture_steps(e->c);
    while (w->event < v->n && v->what[w->event] == PS_EVENT_OP) {
        w->event++;
    }
    while (w->comm < e->comm.n && !e->comm.at[w->comm].has_communicator) {
        w->comm++;
    }
    if (e->options->nccl_marks && w->comm < e->comm.n && w->event > e->comm.at[w->comm].event) {
        mark_of_comm(e, &e->comm.at[w->comm++], out);
        out->connection = ps_export_connection(w->number++);
        return true;
    }
    /* A step begins before what begins at the same moment. */
    if (w->step < s->n && (w->event == v->n || s->start_ns[w->step] <= v->start_ns[w->event])) {
        mark_of_step(e, w->step++, out);
    } else if (w->event < v->n) {
        mark_of_event(e, w->event++, out);
    } else {
        return false;
    }
    out->connection = ps_export_connection(w->number++);
    return true;
}

static ps_code put_mark(ps_export *e, const ps_mark *m, ps_err *err) {
    return PS_DATABASE_PUT(&e->db, err, m->start_ns, m->end_ns, m->type, PS_DB_NONE, PS_DB_NONE,
                           m->message, ps_export_tid(e, m->tid), ps_export_tid(e, m->end_tid),
                           m->domain, m->connection);
}

static ps_code fill_mstx(ps_export *e, ps_err *err) {
    ps_code code = ps_database_begin(&e->db, "MSTX_EVENTS", err);
    const ps_nvtx_rows *nvtx = ps_capture_nvtx(e->c);
    const ps_events *v = ps_capture_events(e->c);
    ps_mark m;
    for (ps_mark_walk w = {0}; code == PS_OK && ps_marks_next(e, &w, &m);) {
        if (m.end_ns == PS_STILL_OPEN) {
            e->result->n_open++;
            continue;
        }
        e->result->n_ranges += m.type != TYPE_MARK && m.event != PS_NO_TEXT;
        e->result->n_marks += m.type == TYPE_MARK;
        uint32_t extra = m.event != PS_NO_TEXT ? v->extra[m.event] : PS_NO_TEXT;
        if (extra == PS_NO_TEXT || nvtx->category[extra] == 0) {
            code = put_mark(e, &m, err);
        } else {
            code = PS_DATABASE_PUT(&e->db, err, m.start_ns, m.end_ns, m.type, PS_DB_NONE,
                                   nvtx->category[extra], m.message, ps_export_tid(e, m.tid),
                                   ps_export_tid(e, m.end_tid), m.domain, m.connection);
        }
    }
    return code;
}

/* Also operators that never ended. */
static ps_code fill_open(ps_export *e, ps_err *err) {
    const ps_events *v = ps_capture_events(e->c);
    ps_code code = ps_database_begin(&e->db, "PIPESCOPE_OPEN_RANGES", err);
    ps_mark m;
    for (ps_mark_walk w = {0};
         code == PS_OK && e->result->n_open > 0 && ps_marks_next(e, &w, &m);) {
        if (m.end_ns == PS_STILL_OPEN) {
            code = PS_DATABASE_PUT(&e->db, err, m.connection, m.start_ns, m.message, m.domain,
                                   ps_export_tid(e, m.tid));
        }
    }
    for (size_t i = 0; code == PS_OK && i < v->n; i++) {
        if (v->what[i] == PS_EVENT_OP && v->end_ns[i] == PS_STILL_OPEN) {
            e->result->n_open++;
            code = PS_DATABASE_PUT(&e->db, err, PS_DB_FIRST_OPERATOR + e->operator_number[i],
                                   v->start_ns[i], ps_export_text(e, v->message[i]),
                                   ps_export_text(e, ps_capture_domains(e->c)->value[v->domain[i]]),
                                   ps_export_tid(e, v->tid[i]));
        }
    }
    return code;
}

static ps_code fill_nvtx(ps_export *e, ps_err *err) {
    const ps_nvtx_rows *nvtx = ps_capture_nvtx(e->c);
    const ps_events *v = ps_capture_events(e->c);
    ps_code code = ps_database_begin(&e->db, "PIPESCOPE_NVTX", err);
    ps_mark m;
    for (ps_mark_walk w = {0}; code == PS_OK && nvtx->n > 0 && ps_marks_next(e, &w, &m);) {
        uint32_t extra = m.event != PS_NO_TEXT ? v->extra[m.event] : PS_NO_TEXT;
        if (extra == PS_NO_TEXT) {
            continue;
        }
        ps_database_int(&e->db, 0, m.connection);
        ps_database_int(&e->db, 1, nvtx->form[extra]);
        ps_database_int(&e->db, 2, nvtx->colour[extra]);
        if (nvtx->payload[extra] == PS_NO_TEXT) {
            ps_database_null(&e->db, 3);
        } else {
            size_t n = 0;
            const char *payload = ps_capture_text(e->c, nvtx->payload[extra], &n);
            ps_database_text(&e->db, 3, payload, n);
        }
        code = ps_database_put(&e->db, err);
    }
    return code;
}

static ps_code fill_steps(ps_export *e, ps_err *err) {
    const ps_steps *s = ps_capture_steps(e->c);
    ps_code code = ps_database_begin(&e->db, "STEP_TIME", err);
    for (size_t i = 0; code == PS_OK && i < s->n; i++) {
        code = PS_DATABASE_PUT(&e->db, err, s->number[i], s->start_ns[i], s->end_ns[i]);
    }
    e->result->n_steps = s->n;
    return code;
}

ps_code ps_fill_marks(ps_export *e, ps_err *err) {
    ps_code code = fill_mstx(e, err);
    if (code == PS_OK) {
        code = fill_open(e, err);
    }
    if (code == PS_OK) {
        code = fill_nvtx(e, err);
    }
    return code == PS_OK ? fill_steps(e, err) : code;
}
