/* Operators of frameworks: PYTORCH_API.connectionId = CONNECTION_IDS.id, CONNECTION_IDS.connectionId = TASK.connectionId.
 *
 * They come from ps_record_op_begin, or from ranges that PyTorch's emit_nvtx pushes, whose messages look like
 *
 *     aten::mm, seq = 12, op_id = 34, sizes = [[64, 128], [128, 32]]
 *
 * An operator and the one that computes its gradient have the same `seq`: a number of CONNECTION_IDS that both have. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/export/calls.h"
#include "record/export/cover.h"
#include "record/export/export_tables.h"
#include "record/export/external_ids.h"

#define FIRST_PAIR (INT64_C(1) << 42) /* far from the numbers of kernels and marks */

/* --- which events are operators ------------------------------------------------------------------------------------- */

static bool is_emitted(const ps_capture *c, uint32_t message) {
    const char *text = ps_capture_text(c, message, NULL);
    const char *comma = strchr(text, ',');
    return comma != NULL && comma != text &&
           (strncmp(comma, ", seq = ", 8) == 0 || strncmp(comma, ", op_id = ", 10) == 0 ||
            strncmp(comma, ", sizes = ", 10) == 0);
}

bool ps_number_operators(ps_export *e) {
    const ps_events *v = ps_capture_events(e->c);
    uint32_t n = 0;
    e->operator_number = ps_alloc((v->n + 1) * sizeof *e->operator_number);
    for (size_t i = 0; e->operator_number != NULL && i < v->n; i++) {
        bool emitted = v->what[i] == PS_EVENT_PUSH && is_emitted(e->c, v->message[i]);
        e->n_emitted += emitted;
        e->operator_number[i] = emitted || v->what[i] == PS_EVENT_OP ? n++ : PS_NO_TEXT;
    }
    e->n_operators = n;
    return e->operator_number != NULL;
}

static int64_t operator_id(const ps_export *e, size_t event) {
    return PS_DB_FIRST_OPERATOR + e->operator_number[event];
}

/* The number behind ", <key> = ", -1 without one. */
static int64_t operator_number_in(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static int64_t sequence_of(const ps_export *e, size_t event) {
    const ps_events *v = ps_capture_events(e->c);
    return v->what[event] == PS_EVENT_OP
               ? -1
               : operator_number_in(ps_capture_text(e->c, v->message[event], NULL), ", seq = ");
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

/* "[[64, 128], [128, 32]]" becomes "64,128;128,32". */
static int64_t shapes_of_sizes(ps_export *e, const char *sizes) {
    char out[PS_RECORD_MAX_TEXT + 1];
    size_t n = 0;
    int depth = 0;
    for (; *sizes != '\0' && n + 1 < sizeof out; sizes++) {
        if (*sizes == '[') {
            depth++;
        } else if (*sizes == ']') {
            depth--;
            if (depth <= 0) {
                break;
            }
        } else if (*sizes == ',') {
            out[n++] = depth > 1 ? ',' : ';';
        } else if (*sizes != ' ') {
            out[n++] = *sizes;
        }
    }
    return ps_export_string(e, out, n);
}

static void bind_shapes(ps_export *e, int column, size_t row) {
    const ps_events *v = ps_capture_events(e->c);
    const char *sizes = strstr(ps_capture_text(e->c, v->message[row], NULL), ", sizes = ");
    if (v->shapes[row] != PS_NO_TEXT) {
        ps_database_int(&e->db, column, ps_export_text(e, v->shapes[row]));
    } else if (v->what[row] != PS_EVENT_OP && sizes != NULL) {
        ps_database_int(&e->db, column, shapes_of_sizes(e, sizes + 10));
    } else {
        ps_database_null(&e->db, column);
    }
}

static int64_t operator_name_of(ps_export *e, size_t row) {
    const ps_events *v = ps_capture_events(e->c);
    const char *text = ps_capture_text(e->c, v->message[row], NULL);
    return v->what[row] == PS_EVENT_OP ? ps_export_text(e, v->message[row])
                                       : ps_export_string(e, text, strcspn(text, ","));
}

static ps_code put_operator(ps_export *e, size_t row, ps_err *err) {
    enum { TYPE_OP = 50001 };
    const ps_events *v = ps_capture_events(e->c);
    ps_database *d = &e->db;
    int64_t sequence = sequence_of(e, row);
    ps_database_int(d, 0, v->start_ns[row]); /* text by the column's affinity */
    ps_database_int(d, 1, v->end_ns[row]);
    ps_database_int(d, 2, ps_export_tid(e, v->tid[row]));
    ps_database_int(d, 3, operator_id(e, row));
    ps_database_int(d, 4, operator_name_of(e, row));
    if (v->what[row] == PS_EVENT_OP) {
        /* As autograd numbers its nodes: both ends have the number, and the backward one the thread of the forward one. */
        ps_database_int(d, 5, (int64_t)(v->forward[row] != 0 ? v->forward[row] : v->id[row]));
        ps_database_int(d, 6, v->forward[row] != 0 ? v->forward_tid[row] : 0);
    } else {
        if (sequence >= 0) {
            ps_database_int(d, 5, sequence);
        } else {
            ps_database_null(d, 5);
        }
        ps_database_null(d, 6);
    }
    ps_database_null(d, 7);
    bind_shapes(e, 8, row);
    ps_database_null(d, 9);
    ps_database_int(d, 10, TYPE_OP);
    return ps_database_put(d, err);
}

static ps_code fill_operator_api(ps_export *e, ps_err *err) {
    const ps_events *v = ps_capture_events(e->c);
    ps_code code = ps_database_begin(&e->db, "PYTORCH_API", err);
    for (size_t i = 0; code == PS_OK && i < v->n; i++) {
        if (e->operator_number[i] != PS_NO_TEXT && v->end_ns[i] != PS_STILL_OPEN) {
            code = put_operator(e, i, err);
        }
    }
    return code;
}

/* --- what leads where ------------------------------------------------------------------------------------------------ */

/* Operators that stand for their own kernel. */
static ps_code put_own_kernels(ps_export *e, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (t->what == PS_TASK_OPERATOR) {
            code = PS_DATABASE_PUT(&e->db, err, operator_id(e, t->row), t->connection);
        }
    }
    return code;
}

typedef struct launches {
    ps_calls calls;
    ps_external_ids told;
    uint32_t *covering;
} launches;

static bool launches_make(ps_export *e, launches *l) {
    const ps_events *v = ps_capture_events(e->c);
    const ps_device_rows *d = ps_capture_device(e->c);
    uint8_t *wanted = ps_calloc(v->n + 1, 1);
    for (size_t i = 0; wanted != NULL && i < v->n; i++) {
        wanted[i] = e->operator_number[i] != PS_NO_TEXT;
    }
    bool ok = wanted != NULL && ps_calls_make(&l->calls, d, PS_REC_API) &&
              ps_external_ids_make(&l->told, e->c);
    l->covering = ok ? ps_cover_calls(e->c, wanted) : NULL;
    ps_free(wanted);
    return l->covering != NULL;
}

/* The operator that launched it: as CUPTI was told, else the innermost one around the call. */
static uint32_t operator_of(const ps_export *e, const launches *l, uint64_t correlation) {
    uint32_t call = ps_calls_find(&l->calls, correlation);
    uint32_t event = ps_external_ids_event(&l->told, e->c, correlation, call);
    if (event != PS_NO_TEXT && e->operator_number[event] != PS_NO_TEXT) {
        return event;
    }
    return call != PS_NO_TEXT ? l->covering[call] : PS_NO_TEXT;
}

static ps_code put_launches(ps_export *e, ps_err *err) {
    launches l = {.covering = NULL};
    ps_code code = launches_make(e, &l) ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (t->what < PS_TASK_KERNEL) {
            continue;
        }
        uint32_t event = operator_of(e, &l, ps_capture_device(e->c)->correlation[t->row]);
        if (event != PS_NO_TEXT) {
            code = PS_DATABASE_PUT(&e->db, err, operator_id(e, event), t->connection);
        }
    }
    ps_calls_free(&l.calls);
    ps_external_ids_free(&l.told);
    ps_free(l.covering);
    return code;
}

static bool is_operator_backward(const ps_export *e, size_t event) {
    const ps_events *v = ps_capture_events(e->c);
    if (v->what[event] == PS_EVENT_OP) {
        return v->forward[event] != 0;
    }
    const char *text = ps_capture_text(e->c, v->message[event], NULL);
    const char *found = strstr(text, "Backward");
    return found != NULL && found < text + strcspn(text, ",");
}

/* What a forward operator and its backward one have in common: the sequence number of PyTorch, or the forward one's id. Small
 * numbers both, kept apart. Negative: neither. */
static int64_t pair_of(const ps_export *e, size_t event) {
    const ps_events *v = ps_capture_events(e->c);
    if (v->what[event] == PS_EVENT_OP) {
        uint64_t id = v->forward[event] != 0 ? v->forward[event] : v->id[event];
        return id < FIRST_PAIR ? (int64_t)id : -1;
    }
    int64_t sequence = sequence_of(e, event);
    return sequence >= 0 && sequence < FIRST_PAIR ? FIRST_PAIR + sequence : -1;
}

/* The first operator of a number and the first one behind it that computes a gradient. */
static ps_code put_pairs(ps_export *e, ps_err *err) {
    const ps_events *v = ps_capture_events(e->c);
    ps_order_key *keys = ps_order_keys(e->n_operators);
    size_t n = 0;
    for (size_t i = 0; keys != NULL && i < v->n; i++) {
        int64_t pair = e->operator_number[i] != PS_NO_TEXT ? pair_of(e, i) : -1;
        if (pair >= 0 && v->end_ns[i] != PS_STILL_OPEN) {
            keys[n++] = (ps_order_key){(uint64_t)pair, (uint32_t)i};
        }
    }
    ps_code code = keys != NULL && ps_order_sort(&keys, n) ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n;) {
        size_t end = i + 1;
        size_t backward = 0;
        for (; end < n && keys[end].at == keys[i].at; end++) {
            backward = backward == 0 && is_operator_backward(e, keys[end].index) ? end : backward;
        }
        if (backward != 0 && !is_operator_backward(e, keys[i].index)) {
            int64_t pair = FIRST_PAIR + (int64_t)keys[i].at;
            code = PS_DATABASE_PUT(&e->db, err, operator_id(e, keys[i].index), pair);
            if (code == PS_OK) {
                code = PS_DATABASE_PUT(&e->db, err, operator_id(e, keys[backward].index), pair);
            }
        }
        i = end;
    }
    ps_free(keys);
    return code;
}

ps_code ps_fill_operators(ps_export *e, ps_err *err) {
    ps_code code = fill_operator_api(e, err);
    if (code == PS_OK) {
        code = ps_database_begin(&e->db, "CONNECTION_IDS", err);
    }
    if (code == PS_OK) {
        code = put_own_kernels(e, err);
    }
    if (code == PS_OK && ps_capture_device(e->c)->n > 0) {
        code = put_launches(e, err);
    }
    return code == PS_OK ? put_pairs(e, err) : code;
}
