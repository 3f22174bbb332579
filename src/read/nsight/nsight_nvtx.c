/* Rows of NVTX_EVENTS, told apart by eventType:
 *
 *   59 push/pop range, 60 start/end range   start, end, text or textId, globalTid, [endGlobalTid], domainId ...
 *   34 mark                                 the same without end
 *   33 category, 39 thread, 75 domain       text or textId is the name of (process, domainId, category) ...
 *
 * Names may come after the ranges that they belong to, so the table is read twice. */
#include "read/nsight/nsight_nvtx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "read/nsight/nsight_payload.h"
#include "read/nsight/nsight_torch.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define TABLE "NVTX_EVENTS"

/* --- event types ----------------------------------------------------------------------------------------- */

typedef enum event_type {
    TYPE_CATEGORY,
    TYPE_MARK,
    TYPE_THREAD,
    TYPE_PUSH_POP,
    TYPE_START_END,
    TYPE_TEXT_PUSH_POP,
    TYPE_TEXT_START_END,
    TYPE_DOMAIN,
    TYPE_DOMAIN_DESTROY,
    TYPE_PUSH,
    TYPE_START,
    TYPE_POP,
    TYPE_END,
    TYPE_TEXT_MARK,
    N_TYPES
} event_type;

static const ps_nsight_symbol TYPES[N_TYPES] = {
    [TYPE_CATEGORY] = {"NvtxCategory", 33, ""},
    [TYPE_MARK] = {"NvtxMark", 34, ""},
    [TYPE_THREAD] = {"NvtxThread", 39, ""},
    [TYPE_PUSH_POP] = {"NvtxPushPopRange", 59, ""},
    [TYPE_START_END] = {"NvtxStartEndRange", 60, ""},
    [TYPE_TEXT_PUSH_POP] = {"NvtxtPushPopRange", 70, ""}, /* imported from text files */
    [TYPE_TEXT_START_END] = {"NvtxtStartEndRange", 71, ""},
    [TYPE_DOMAIN] = {"NvtxDomainCreate", 75, ""},
    [TYPE_DOMAIN_DESTROY] = {"NvtxDomainDestroy", 76, ""},
    /* Halves of a range that the capture cut: by name only. */
    [TYPE_PUSH] = {"NvtxPushRange", PS_NSIGHT_ABSENT, ""},
    [TYPE_START] = {"NvtxStartRange", PS_NSIGHT_ABSENT, ""},
    [TYPE_POP] = {"NvtxPopRange", PS_NSIGHT_ABSENT, ""},
    [TYPE_END] = {"NvtxEndRange", PS_NSIGHT_ABSENT, ""},
    [TYPE_TEXT_MARK] = {"NvtxtMark", PS_NSIGHT_ABSENT, ""},
};

static bool is_range(size_t type) {
    return type == TYPE_PUSH_POP || type == TYPE_START_END || type == TYPE_TEXT_PUSH_POP ||
           type == TYPE_TEXT_START_END || type == TYPE_PUSH || type == TYPE_START;
}

static bool is_mark(size_t type) {
    return type == TYPE_MARK || type == TYPE_TEXT_MARK;
}

/* --- names ----------------------------------------------------------------------------------------------- */

#define NO_CATEGORY INT64_MIN /* the name of the domain itself */

typedef struct given_name {
    int64_t process_key, domain, category;
    int64_t row;
    ps_str name;
} given_name;

/* State of both passes over the table. */
typedef struct pass {
    ps_nsight_nvtx *x;
    ps_nsight *n;
    int64_t ids[N_TYPES];
    given_name *names; /* sorted; of equal ones the last counts */
    size_t n_names, cap_names;
    ps_nsight_payloads *payloads;
    ps_torch_links torch_links;
} pass;

PS_COMPARE(compare_nvtx_names, given_name,
           PS_BY(process_key) PS_BY(domain) PS_BY(category) PS_BY(row))

static ps_str find_name(const pass *p, int64_t process_key, int64_t domain, int64_t category) {
    given_name wanted = {process_key, domain, category, INT64_MAX, PS_STR_NONE};
    PS_PLACE(size_t, low, 0, p->n_names, i, compare_nvtx_names(&p->names[i], &wanted) <= 0);
    const given_name *last = low > 0 ? &p->names[low - 1] : NULL;
    bool found = last != NULL && last->process_key == process_key && last->domain == domain &&
                 last->category == category;
    return found ? last->name : PS_STR_NONE;
}

/* The text when there is one, else the text of textId. */
static ps_str text_of_row(ps_nsight *n, const ps_scan_batch *b, size_t text, size_t text_id,
                          size_t row) {
    ps_scan_bytes own = ps_cell_text(&b->columns[text], row);
    if (own.size_bytes > 0) {
        return ps_builder_str(n->builder, own.data, own.size_bytes);
    }
    return b->columns[text_id].types[row] == PS_CELL_INT
               ? ps_nsight_text_of(n, b->columns[text_id].ints[row])
               : PS_STR_NONE;
}

enum { NAME_TYPE, NAME_TID, NAME_DOMAIN, NAME_CATEGORY, NAME_TEXT, NAME_TEXT_ID };
static const char *const NAME_COLUMNS[] = {"eventType", "globalTid", "domainId",
                                           "category",  "text",      "textId"};

static ps_code take_nvtx_names(void *context, const ps_scan_batch *b, ps_err *err) {
    pass *p = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        size_t type =
            ps_nsight_symbol_of(p->ids, N_TYPES, ps_nsight_int(b, NAME_TYPE, i, PS_NSIGHT_ABSENT));
        if (type != TYPE_CATEGORY && type != TYPE_THREAD && type != TYPE_DOMAIN) {
            continue;
        }
        int64_t global_tid = ps_nsight_int(b, NAME_TID, i, 0);
        given_name name = {.process_key = ps_nsight_process_key(global_tid),
                           .domain = ps_nsight_int(b, NAME_DOMAIN, i, 0),
                           .category = NO_CATEGORY,
                           .row = b->rowids[i],
                           .name = text_of_row(p->n, b, NAME_TEXT, NAME_TEXT_ID, i)};
        if (ps_str_is_none(name.name)) {
            continue;
        }
        bool ok = true;
        if (type == TYPE_THREAD) {
            ok = ps_idmap_put(&p->x->thread_names, (uint64_t)global_tid, name.name.id);
        } else {
            name.category =
                type == TYPE_CATEGORY ? ps_nsight_int(b, NAME_CATEGORY, i, 0) : NO_CATEGORY;
            ok = ps_grow(&p->names, &p->cap_names, p->n_names + 1, PS_NONE, sizeof *p->names);
            if (ok) {
                p->names[p->n_names++] = name;
            }
        }
        if (!ok) {
            return ps_fail_nomem(err);
        }
    }
    return ps_nsight_check(p->n, err);
}

static ps_code take_thread_names(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight_nvtx *x = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->columns[0].types[i] != PS_CELL_INT || b->columns[1].types[i] != PS_CELL_INT) {
            continue;
        }
        ps_str name = ps_nsight_text_of(x->n, b->columns[1].ints[i]);
        if (!ps_str_is_none(name) &&
            !ps_idmap_put(&x->thread_names, (uint64_t)b->columns[0].ints[i], name.id)) {
            return ps_fail_nomem(err);
        }
    }
    return ps_nsight_check(x->n, err);
}

/* --- ranges and marks ------------------------------------------------------------------------------------ */

enum {
    C_START,
    C_END,
    C_TYPE,
    C_TID,
    C_END_TID,
    C_DOMAIN,
    C_TEXT,
    C_TEXT_ID,
    N_PLAIN,
    C_CATEGORY = N_PLAIN,
    C_COLOR,
    C_RANGE_ID,
    C_UINT64,
    C_INT64,
    C_DOUBLE,
    C_UINT32,
    C_INT32,
    C_FLOAT,
    C_JSON_ID,
    C_JSON,
    C_BINARY,
    N_COLUMNS
};
static const char *const COLUMNS[N_COLUMNS] = {
    "start",      "end",         "eventType",  "globalTid",   "endGlobalTid",
    "domainId",   "text",        "textId",     "category",    "color",
    "rangeId",    "uint64Value", "int64Value", "doubleValue", "uint32Value",
    "int32Value", "floatValue",  "jsonTextId", "jsonText",    "binaryData"};

/* Old exports give all six members of the payload, 0 where there is none; others give the one that is set. So a
 * value counts when it is the only one, or else the first that is not 0. */
static void add_payload(ps_nsight *n, uint32_t slice, const ps_scan_batch *b, size_t i) {
    static const size_t MEMBERS[] = {C_UINT64, C_INT64, C_DOUBLE, C_UINT32, C_INT32, C_FLOAT};
    size_t n_given = 0;
    size_t first = N_COLUMNS;
    size_t first_set = N_COLUMNS;
    for (size_t k = 0; k < N(MEMBERS); k++) {
        const ps_scan_column *c = &b->columns[MEMBERS[k]];
        if (c->types[i] == PS_CELL_INT || c->types[i] == PS_CELL_REAL) {
            n_given++;
            first = first == N_COLUMNS ? MEMBERS[k] : first;
            bool is_set = ps_cell_real(c, i, 0) != 0;
            first_set = is_set && first_set == N_COLUMNS ? MEMBERS[k] : first_set;
        }
    }
    size_t chosen = n_given == 1 ? first : first_set;
    if (chosen == N_COLUMNS) {
        return;
    }
    const ps_scan_column *c = &b->columns[chosen];
    ps_arg arg = {.key = ps_nsight_str(n, "payload"), .type = PS_ARG_INT};
    arg.u.i = ps_cell_int(c, i, 0);
    if (chosen == C_DOUBLE || chosen == C_FLOAT || c->types[i] == PS_CELL_REAL) {
        arg.type = PS_ARG_REAL;
        arg.u.r = ps_cell_real(c, i, 0);
    } else if (chosen == C_UINT64 && arg.u.i < 0) {
        char text[24]; /* SQLite has signed numbers only */
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)arg.u.i);
        arg.type = PS_ARG_NUMBER;
        arg.u.s = ps_nsight_str(n, text);
    }
    ps_builder_arg(n->builder, slice, arg);
}

static void add_nvtx_args(const pass *p, uint32_t slice, const ps_scan_batch *b, size_t i,
                          int64_t process_key, ps_str domain) {
    ps_nsight *n = p->n;
    int64_t category = ps_nsight_int(b, C_CATEGORY, i, 0);
    ps_nsight_arg_str(n, slice, "domain", domain);
    if (category != 0) {
        ps_str name = find_name(p, process_key, ps_nsight_int(b, C_DOMAIN, i, 0), category);
        if (ps_str_is_none(name)) {
            ps_nsight_arg_int(n, slice, "category", category, 0);
        } else {
            ps_nsight_arg_str(n, slice, "category", name);
        }
    }
    add_payload(n, slice, b, i);
    int64_t color = ps_nsight_int(b, C_COLOR, i, 0);
    if (color != 0) {
        char text[16];
        (void)snprintf(text, sizeof text, "#%08x", (unsigned)(uint32_t)(uint64_t)color);
        ps_nsight_arg_str(n, slice, "color", ps_nsight_str(n, text));
    }
    ps_nsight_arg_int(n, slice, "range id", ps_nsight_int(b, C_RANGE_ID, i, 0), 0);
    ps_nsight_arg_str(n, slice, "json", text_of_row(n, b, C_JSON, C_JSON_ID, i));
    uint8_t binary = b->columns[C_BINARY].types[i];
    if (p->payloads != NULL && (binary == PS_CELL_BLOB || binary == PS_CELL_TEXT) &&
        b->columns[C_BINARY].bytes[i].size_bytes > 0) {
        ps_scan_bytes bytes = b->columns[C_BINARY].bytes[i];
        ps_nsight_payload_args(p->payloads, n, slice, bytes.data, bytes.size_bytes, b->rowids[i]);
    }
}

/* Where the range ends when that is another thread. */
static void add_end_thread(ps_nsight *n, uint32_t slice, int64_t tid, int64_t end_tid) {
    if (end_tid != 0 && end_tid != tid) {
        ps_nsight_arg_int(n, slice, "end tid", ps_nsight_os_tid(end_tid), INT64_MIN);
        if (ps_nsight_process_key(end_tid) != ps_nsight_process_key(tid)) {
            ps_nsight_arg_int(n, slice, "end pid", ps_nsight_os_pid(end_tid), INT64_MIN);
        }
    }
}

/* A range of emit_nvtx: the name without what it says of the operator, which points into the text. */
static bool take_torch_name(ps_nsight *n, ps_str *name, ps_torch_range *out) {
    if (ps_str_is_none(*name)) {
        return false;
    }
    const char *text = ps_builder_text(n->builder, *name);
    if (!ps_torch_range_parse(text, strlen(text), out)) {
        return false;
    }
    *name = ps_builder_str(n->builder, text, out->n_name);
    return true;
}

/* A row that is a range or a mark of a wanted process. */
static bool add_nvtx_row(pass *p, size_t type, uint32_t thread, const ps_scan_batch *b, size_t i) {
    ps_nsight *n = p->n;
    const ps_nsight_thread *t = &n->threads[thread];
    int64_t process_key = n->processes[t->process].key;
    ps_str domain = find_name(p, process_key, ps_nsight_int(b, C_DOMAIN, i, 0), NO_CATEGORY);
    ps_str name = text_of_row(n, b, C_TEXT, C_TEXT_ID, i);
    ps_torch_range torch;
    bool is_op = is_range(type) && take_torch_name(n, &name, &torch);
    ps_nsight_span s = {.kind = is_op            ? PS_SLICE_HOST_OP
                                : is_range(type) ? PS_SLICE_MARK_HOST
                                                 : PS_SLICE_INSTANT,
                        .track = t->track,
                        .name = ps_str_is_none(name) ? ps_nsight_str(n, "(no name)") : name,
                        .category = domain,
                        .start_ns = ps_nsight_int(b, C_START, i, INT64_MIN),
                        .row = b->rowids[i]};
    if (ps_str_is_none(name) && ps_nsight_int(b, C_TEXT_ID, i, 0) != 0) {
        ps_diag_add(n->diag, PS_ODD_STRING_ID, TABLE " rowid %lld: StringIds has no %lld",
                    (long long)s.row, (long long)b->columns[C_TEXT_ID].ints[i]);
    }
    s.end_ns = is_range(type) ? ps_nsight_int(b, C_END, i, 0) : s.start_ns;
    bool is_open = is_range(type) && s.end_ns <= 0 && s.end_ns < s.start_ns;
    s.end_ns = is_open ? s.start_ns : s.end_ns;
    uint32_t slice = ps_nsight_add(n, &s, TABLE);
    if (slice == PS_NONE) {
        return true;
    }
    if ((n->needs & PS_NEED_ARGS) != 0) {
        add_nvtx_args(p, slice, b, i, process_key, domain);
        if (is_op) {
            ps_torch_range_args(n, slice, &torch);
        }
        add_end_thread(n, slice, t->id, ps_nsight_int(b, C_END_TID, i, 0));
    }
    ps_nsight_nvtx *x = p->x;
    if (is_op && torch.sequence >= 0 && (n->needs & PS_NEED_FLOWS) != 0 &&
        !ps_torch_links_add(&p->torch_links, n, slice, s.start_ns, torch.sequence, s.name)) {
        return false;
    }
    if (is_open) {
        ps_diag_add(n->diag, PS_ODD_RANGE_OPEN, TABLE " rowid %lld", (long long)s.row);
        if (!PS_ADD(x->open, x->n_open, x->cap_open, PS_NONE, slice)) {
            return false;
        }
    }
    if (x->with_ranges && (type == TYPE_PUSH_POP || type == TYPE_TEXT_PUSH_POP)) {
        if (!ps_grow(&x->ranges, &x->cap_ranges, x->n_ranges + 1, PS_NONE, sizeof *x->ranges)) {
            return false;
        }
        x->ranges[x->n_ranges++] =
            (ps_nsight_range){s.start_ns, is_open ? INT64_MAX : s.end_ns, thread, s.name};
    }
    return true;
}

static void count_odd_type(const pass *p, size_t type, int64_t row) {
    if (type == TYPE_POP || type == TYPE_END) {
        ps_diag_add(p->n->diag, PS_ODD_END_ALONE, TABLE " rowid %lld", (long long)row);
    } else if (type == N_TYPES) {
        ps_diag_add(p->n->diag, PS_ODD_EVENT_PHASE, TABLE " rowid %lld: unknown eventType",
                    (long long)row);
    }
}

static ps_code take_nvtx_events(void *context, const ps_scan_batch *b, ps_err *err) {
    pass *p = context;
    ps_nsight *n = p->n;
    for (size_t i = 0; i < b->n_rows; i++) {
        size_t type =
            ps_nsight_symbol_of(p->ids, N_TYPES, ps_nsight_int(b, C_TYPE, i, PS_NSIGHT_ABSENT));
        if (!is_range(type) && !is_mark(type)) {
            count_odd_type(p, type, b->rowids[i]);
            continue;
        }
        if (is_mark(type) && !p->x->with_marks) {
            continue;
        }
        if (b->columns[C_TID].types[i] != PS_CELL_INT) {
            ps_diag_add(n->diag, PS_ODD_TABLE_ROW, TABLE " rowid %lld: no globalTid",
                        (long long)b->rowids[i]);
            continue;
        }
        uint32_t thread = ps_nsight_thread_row(n, b->columns[C_TID].ints[i]);
        if (thread == PS_NONE) {
            return ps_fail_nomem(err);
        }
        if (ps_nsight_wants(n, n->threads[thread].process) &&
            !add_nvtx_row(p, type, thread, b, i)) {
            return ps_fail_nomem(err);
        }
    }
    return ps_nsight_check(n, err);
}

/* --- who has events -------------------------------------------------------------------------------------- */

typedef struct thread_scan {
    int64_t ids[N_TYPES];
    ps_code (*fn)(void *context, int64_t global_tid, ps_err *err);
    void *context;
    int64_t last;
    bool any;
} thread_scan;

static ps_code take_threads(void *context, const ps_scan_batch *b, ps_err *err) {
    thread_scan *s = context;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < b->n_rows; i++) {
        if (b->columns[0].types[i] != PS_CELL_INT || b->columns[1].types[i] != PS_CELL_INT) {
            continue;
        }
        int64_t tid = b->columns[1].ints[i];
        size_t type = ps_nsight_symbol_of(s->ids, N_TYPES, b->columns[0].ints[i]);
        if ((is_range(type) || is_mark(type)) && (!s->any || tid != s->last)) {
            s->any = true;
            s->last = tid;
            code = s->fn(s->context, tid, err);
        }
    }
    return code;
}

ps_code ps_nsight_nvtx_threads(ps_nsight *n,
                               ps_code (*fn)(void *context, int64_t global_tid, ps_err *err),
                               void *context, ps_err *err) {
    static const char *const THREAD_COLUMNS[] = {"eventType", "globalTid"};
    thread_scan s = {.fn = fn, .context = context};
    ps_code code = ps_nsight_symbols(n, "ENUM_NSYS_EVENT_TYPE", TYPES, N_TYPES, s.ids, err);
    return code == PS_OK
               ? ps_nsight_scan(n, TABLE, THREAD_COLUMNS, N(THREAD_COLUMNS), take_threads, &s, err)
               : code;
}

/* --- all together ---------------------------------------------------------------------------------------- */

void ps_nsight_nvtx_fini(ps_nsight_nvtx *x) {
    ps_free(x->ranges);
    ps_free(x->open);
    ps_idmap_fini(&x->thread_names);
}

ps_code ps_nsight_nvtx_read(ps_nsight_nvtx *x, ps_err *err) {
    static const char *const THREADS[] = {"globalTid", "nameId"};
    pass p = {.x = x, .n = x->n};
    ps_nsight *n = x->n;
    bool with_args = (n->needs & PS_NEED_ARGS) != 0;
    ps_code code = ps_nsight_symbols(n, "ENUM_NSYS_EVENT_TYPE", TYPES, N_TYPES, p.ids, err);
    if (code == PS_OK) {
        code = ps_nsight_scan(n, "ThreadNames", THREADS, N(THREADS), take_thread_names, x, err);
    }
    if (code == PS_OK) {
        code = ps_nsight_scan(n, TABLE, NAME_COLUMNS, N(NAME_COLUMNS), take_nvtx_names, &p, err);
    }
    ps_sort(p.names, p.n_names, sizeof *p.names, compare_nvtx_names);
    if (code == PS_OK && with_args) {
        code = ps_nsight_payloads_load(n, &p.payloads, err);
    }
    if (code == PS_OK) {
        code = ps_nsight_scan(n, TABLE, COLUMNS, with_args ? N_COLUMNS : N_PLAIN, take_nvtx_events,
                              &p, err);
    }
    ps_torch_links_finish(&p.torch_links, n);
    ps_nsight_payloads_free(p.payloads);
    ps_free(p.names);
    return code == PS_OK ? ps_nsight_check(n, err) : code;
}

ps_code ps_nsight_nvtx_finish(ps_nsight_nvtx *x, int64_t stop_ns, ps_err *err) {
    ps_nsight *n = x->n;
    int64_t end_ns = stop_ns > n->last_ns ? stop_ns : n->last_ns;
    for (size_t i = 0; i < x->n_open; i++) {
        /* A capture cannot end where no slice may: then the range stays an instant. */
        (void)ps_builder_slice_end(n->builder, x->open[i], end_ns);
    }
    for (size_t i = 0; i < n->n_threads; i++) {
        const ps_nsight_thread *t = &n->threads[i];
        uint32_t name = ps_idmap_get(&x->thread_names, (uint64_t)t->id);
        if (name != PS_IDMAP_NONE) {
            ps_builder_track_label(n->builder, t->track, (ps_str){name}, PS_NO_ORDER);
        }
    }
    return ps_nsight_check(n, err);
}
