/*   PYTORCH_API(startNs TEXT, endNs TEXT, globalTid, connectionId -> CONNECTION_IDS.id, name, type, ...)
 *   PYTORCH_CALLCHAINS(id, stack, stackDepth)      depth 0 is the innermost frame
 *   CANN_API(startNs, endNs, type, globalTid, connectionId, name)
 *
 * Rows are not sorted by time. Version 1.0.0 wrote shapes into inputDtypes and types into inputShapes; which is which is
 * seen by their letters. */
#include "read/ascend_db/ascend_db_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/order.h"
#include "base/text.h"

#define MAX_STACK_BYTES ((size_t)1 << 20)
#define MAX_FRAMES ((size_t)65536)
/* What all call chains together may take as text: so many bytes for each of the file, and some besides. */
#define STACK_BYTES_FOR_EACH ((uint64_t)16)
#define STACK_BYTES_BESIDES ((uint64_t)16 << 20)

/* --- call chains -------------------------------------------------------------------------------------- */

typedef struct frame {
    int64_t depth, row;
    ps_str text;
} frame;

typedef struct chain {
    size_t first, n; /* in frames */
    ps_str stack;    /* once it was asked for; none when it could not be made */
    bool is_made;
} chain;

/* Rows of one chain stand together; a chain that is asked for becomes one text, frames joined as in the text export. A
 * few rows make a long text, since frames share theirs: hence the budget. */
typedef struct chains {
    ps_ascend *a;
    ps_idmap rows; /* id -> row in chains */
    chain *chains;
    size_t n, cap;
    int64_t id; /* of the chain being collected, -1 none */
    frame *frames;
    size_t n_frames, cap_frames;
    ps_buf text;
    uint64_t bytes_left;
} chains;

PS_COMPARE(compare_frames, frame, PS_BY(depth) PS_BY(row))

/* False when it is longer than one or all may be. */
static bool join_frames(chains *c, const frame *frames, size_t n) {
    ps_buf_clear(&c->text);
    for (size_t i = 0; i < n; i++) {
        ps_buf_add_str(&c->text, i > 0 ? ";\r\n" : "");
        ps_buf_add_str(&c->text, ps_builder_text(c->a->builder, frames[i].text));
    }
    return ps_buf_ok(&c->text) && c->text.len <= c->bytes_left;
}

/* The text of a chain, none when there is none. */
static ps_str stack_of(chains *c, int64_t id) {
    uint32_t row = id >= 0 ? ps_idmap_get(&c->rows, (uint64_t)id) : PS_IDMAP_NONE;
    if (row == PS_IDMAP_NONE) {
        return PS_STR_NONE;
    }
    chain *of = &c->chains[row];
    if (!of->is_made) {
        of->is_made = true;
        qsort(&c->frames[of->first], of->n, sizeof *c->frames, compare_frames);
        if (join_frames(c, &c->frames[of->first], of->n)) {
            c->bytes_left -= c->text.len;
            of->stack = ps_builder_str(c->a->builder, ps_buf_str(&c->text), c->text.len);
        } else {
            ps_diag_add(c->a->diag, PS_ODD_TEXT, "PYTORCH_CALLCHAINS id %lld: too long",
                        (long long)id);
        }
    }
    return of->stack;
}

/* The next chain; false when memory is out. */
static bool open_chain(chains *c, int64_t id) {
    if (!ps_grow(&c->chains, &c->cap, c->n + 1, UINT32_MAX - 1, sizeof *c->chains) ||
        !ps_idmap_put(&c->rows, (uint64_t)id, (uint32_t)c->n)) {
        return false;
    }
    c->chains[c->n++] = (chain){.first = c->n_frames};
    c->id = id;
    return true;
}

static ps_code take_frames(void *context, const ps_scan_batch *b, ps_err *err) {
    chains *c = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        bool is_apart =
            id < 0 || (id != c->id && ps_idmap_get(&c->rows, (uint64_t)id) != PS_IDMAP_NONE);
        if (!is_apart && id != c->id && !open_chain(c, id)) {
            return ps_fail_nomem(err);
        }
        if (is_apart || c->chains[c->n - 1].n == MAX_FRAMES) {
            c->id = is_apart ? -1 : id;
            ps_diag_add(c->a->diag, PS_ODD_TABLE_ROW,
                        "PYTORCH_CALLCHAINS rowid %lld: apart from its chain",
                        (long long)b->rowids[i]);
            continue;
        }
        bool missing = false;
        frame f = {ps_cell_int(&b->columns[2], i, 0), b->rowids[i],
                   ps_ascend_cell_name(c->a, &b->columns[1], i, &missing)};
        ps_ascend_count_missing(c->a, missing, "PYTORCH_CALLCHAINS", b->rowids[i]);
        if (ps_builder_failed(c->a->builder) ||
            !ps_grow(&c->frames, &c->cap_frames, c->n_frames + 1, UINT32_MAX, sizeof *c->frames)) {
            return ps_fail_nomem(err);
        }
        c->frames[c->n_frames++] = f;
        c->chains[c->n - 1].n++;
    }
    return PS_OK;
}

static ps_code read_chains(chains *c, ps_err *err) {
    static const char *const COLUMNS[] = {"id", "stack", "stackDepth"};
    ps_db_stamp stamp = ps_db_get_stamp(c->a->db);
    uint64_t file_bytes = (uint64_t)stamp.file.size_bytes + (uint64_t)stamp.wal.size_bytes;
    c->bytes_left = file_bytes * STACK_BYTES_FOR_EACH + STACK_BYTES_BESIDES;
    return ps_ascend_scan(c->a, "PYTORCH_CALLCHAINS", COLUMNS, 3, NULL, take_frames, c, err);
}

static void chains_fini(chains *c) {
    ps_idmap_fini(&c->rows);
    ps_free(c->chains);
    ps_free(c->frames);
    ps_buf_fini(&c->text);
}

/* --- the framework ------------------------------------------------------------------------------------ */

enum {
    START,
    END,
    TID,
    CONNECTION,
    NAME,
    TYPE,
    SEQUENCE,
    N_COLUMNS,
    FORWARD_THREAD = N_COLUMNS, /* with arguments only */
    DTYPES,
    SHAPES,
    CHAIN,
    N_ARG_COLUMNS
};

typedef struct torch {
    ps_ascend *a;
    ps_ascend_marks *marks;
    chains chains;
    int64_t queue_type, trace_type, mstx_type;
    ps_str key_sequence, key_thread, key_dtypes, key_shapes, key_stack;
    bool swapped; /* as the last row that could tell */
} torch;

/* Old files have no type: the names of the queue's ends tell them. */
static ps_slice_kind host_kind_of(const torch *t, int64_t type, const char *name) {
    if (type == t->trace_type) {
        return PS_SLICE_PYTHON;
    }
    if (type == t->mstx_type) {
        return PS_SLICE_MARK_HOST;
    }
    if (type == t->queue_type || (type == PS_ASCEND_NULL && (ps_begins_with(name, "Enqueue") ||
                                                             ps_begins_with(name, "Dequeue")))) {
        return PS_SLICE_QUEUE;
    }
    return ps_begins_with(name, "ProfilerStep#") ? PS_SLICE_ANNOTATION : PS_SLICE_HOST_OP;
}

static bool has_letters(const char *text) {
    for (; *text != '\0'; text++) {
        if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')) {
            return true;
        }
    }
    return false;
}

static void add_str(const torch *t, uint32_t slice, ps_str key, ps_str value) {
    if (!ps_str_is_none(value)) {
        ps_builder_arg(t->a->builder, slice,
                       (ps_arg){.key = key, .type = PS_ARG_STR, .u.s = value});
    }
}

static void add_shapes(torch *t, uint32_t slice, ps_str dtypes, ps_str shapes) {
    if (has_letters(ps_builder_text(t->a->builder, dtypes))) {
        t->swapped = false;
    } else if (has_letters(ps_builder_text(t->a->builder, shapes))) {
        t->swapped = true;
    }
    add_str(t, slice, t->key_shapes, t->swapped ? dtypes : shapes);
    add_str(t, slice, t->key_dtypes, t->swapped ? shapes : dtypes);
}

static void add_torch_args(torch *t, const ps_scan_batch *b, size_t i, uint32_t slice,
                           bool *missing) {
    ps_builder *builder = t->a->builder;
    int64_t sequence = ps_cell_int(&b->columns[SEQUENCE], i, -1);
    int64_t thread = ps_cell_int(&b->columns[FORWARD_THREAD], i, -1);
    if (sequence >= 0) {
        ps_builder_arg(builder, slice,
                       (ps_arg){.key = t->key_sequence, .type = PS_ARG_INT, .u.i = sequence});
    }
    if (thread >= 0) {
        ps_builder_arg(builder, slice,
                       (ps_arg){.key = t->key_thread, .type = PS_ARG_INT, .u.i = thread});
    }
    add_shapes(t, slice, ps_ascend_cell_name(t->a, &b->columns[DTYPES], i, missing),
               ps_ascend_cell_name(t->a, &b->columns[SHAPES], i, missing));
    add_str(t, slice, t->key_stack, stack_of(&t->chains, ps_cell_int(&b->columns[CHAIN], i, -1)));
}

static bool keep_for_flows(torch *t, const ps_scan_batch *b, size_t i, uint32_t slice,
                           ps_slice_kind kind, const char *name) {
    ps_ascend *a = t->a;
    int64_t connection = ps_cell_int(&b->columns[CONNECTION], i, -1);
    if (!ps_ascend_wants(a, PS_NEED_FLOWS) || connection < 0) {
        return true;
    }
    if (!ps_grow(&a->torch, &a->cap_torch, a->n_torch + 1, UINT32_MAX - 1, sizeof *a->torch)) {
        return false;
    }
    a->torch[a->n_torch++] =
        (ps_ascend_torch){.connection = connection,
                          .sequence = ps_cell_int(&b->columns[SEQUENCE], i, -1),
                          .start_ns = ps_builder_slice_start_ns(a->builder, slice),
                          .slice = slice,
                          .is_queue = kind == PS_SLICE_QUEUE,
                          .is_enqueue = ps_begins_with(name, "Enqueue")};
    return true;
}

static ps_code take_torch_row(torch *t, const ps_scan_batch *b, size_t i, ps_err *err) {
    ps_ascend *a = t->a;
    bool missing = false;
    int64_t type = ps_cell_int(&b->columns[TYPE], i, PS_ASCEND_NULL);
    int64_t tid = ps_cell_int(&b->columns[TID], i, PS_ASCEND_NULL);
    ps_str name = ps_ascend_cell_name(a, &b->columns[NAME], i, &missing);
    const char *text = ps_builder_text(a->builder, name);
    ps_slice_kind kind = host_kind_of(t, type, text);
    if (kind == PS_SLICE_MARK_HOST && ps_ascend_marks_on_thread(t->marks, tid, name)) {
        ps_diag_add(a->diag, PS_ODD_MARK_TWICE, "PYTORCH_API rowid %lld", (long long)b->rowids[i]);
        return PS_OK;
    }
    ps_str category =
        type != PS_ASCEND_NULL ? ps_ascend_enum_name(a, PS_ASCEND_API_TYPE, type) : PS_STR_NONE;
    uint32_t slice =
        ps_ascend_slice(a, kind, ps_ascend_thread_track(a, tid), name, category,
                        ps_ascend_cell_time(&b->columns[START], i),
                        ps_ascend_cell_time(&b->columns[END], i), "PYTORCH_API", b->rowids[i]);
    if (slice != PS_NONE) {
        if (b->n_columns > N_COLUMNS) {
            add_torch_args(t, b, i, slice, &missing);
        }
        if (!keep_for_flows(t, b, i, slice, kind, text)) {
            return ps_fail_nomem(err);
        }
    }
    ps_ascend_count_missing(a, missing, "PYTORCH_API", b->rowids[i]);
    return ps_builder_failed(a->builder) ? ps_fail_nomem(err) : PS_OK;
}

static ps_code take_host_torch(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < b->n_rows; i++) {
        code = take_torch_row(context, b, i, err);
    }
    return code;
}

static ps_str host_key_of(const torch *t, const char *key) {
    return ps_builder_str(t->a->builder, key, strlen(key));
}

ps_code ps_ascend_torch_read(ps_ascend *a, ps_ascend_marks *marks, ps_err *err) {
    static const char *const COLUMNS[N_ARG_COLUMNS] = {
        "startNs",        "endNs",       "globalTid",   "connectionId", "name",       "type",
        "sequenceNumber", "fwdThreadId", "inputDtypes", "inputShapes",  "callchainId"};
    if (!ps_db_has_table(a->db, "PYTORCH_API")) {
        return PS_OK;
    }
    bool args = ps_ascend_wants(a, PS_NEED_ARGS);
    torch t = {.a = a, .marks = marks, .chains = {.a = a, .id = -1}};
    ps_buf_init(&t.chains.text, MAX_STACK_BYTES);
    ps_code code = ps_ascend_enum_read(a, PS_ASCEND_API_TYPE, err);
    t.queue_type = ps_ascend_enum_id(a, PS_ASCEND_API_TYPE, "queue");
    t.trace_type = ps_ascend_enum_id(a, PS_ASCEND_API_TYPE, "trace");
    t.mstx_type = ps_ascend_enum_id(a, PS_ASCEND_API_TYPE, "mstx");
    if (code == PS_OK && args) {
        t.key_sequence = host_key_of(&t, "sequenceNumber");
        t.key_thread = host_key_of(&t, "fwdThreadId");
        t.key_dtypes = host_key_of(&t, "inputDtypes");
        t.key_shapes = host_key_of(&t, "inputShapes");
        t.key_stack = host_key_of(&t, "callStack");
        code = read_chains(&t.chains, err);
    }
    if (code == PS_OK) {
        code = ps_scan(a->db, "PYTORCH_API", COLUMNS, args ? N_ARG_COLUMNS : N_COLUMNS,
                       take_host_torch, &t, err);
    }
    chains_fini(&t.chains);
    return code;
}

/* --- calls -------------------------------------------------------------------------------------------- */

typedef struct calls {
    ps_ascend *a;
    ps_str key_level, key_connection;
    ps_str gc;
} calls;

static ps_code take_cann_calls(void *context, const ps_scan_batch *b, ps_err *err) {
    const calls *c = context;
    ps_ascend *a = c->a;
    for (size_t i = 0; i < b->n_rows; i++) {
        bool missing = false;
        int64_t type = ps_cell_int(&b->columns[5], i, PS_ASCEND_NULL);
        int64_t connection = ps_cell_int(&b->columns[4], i, -1);
        ps_str level =
            type != PS_ASCEND_NULL ? ps_ascend_enum_name(a, PS_ASCEND_API_TYPE, type) : PS_STR_NONE;
        uint32_t track = ps_ascend_thread_track(a, ps_cell_int(&b->columns[2], i, PS_ASCEND_NULL));
        uint32_t slice = ps_ascend_slice(
            a, PS_SLICE_CALL, track, ps_ascend_cell_name(a, &b->columns[3], i, &missing), level,
            ps_ascend_cell_time(&b->columns[0], i), ps_ascend_cell_time(&b->columns[1], i),
            "CANN_API", b->rowids[i]);
        ps_ascend_count_missing(a, missing, "CANN_API", b->rowids[i]);
        bool connected = slice != PS_NONE && connection >= 0 && connection != PS_ASCEND_NO_ID;
        if (slice != PS_NONE && !ps_str_is_none(c->key_level)) {
            if (!ps_str_is_none(level)) {
                ps_builder_arg(a->builder, slice,
                               (ps_arg){.key = c->key_level, .type = PS_ARG_STR, .u.s = level});
            }
            if (connected) {
                ps_builder_arg(
                    a->builder, slice,
                    (ps_arg){.key = c->key_connection, .type = PS_ARG_INT, .u.i = connection});
            }
        }
        if (ps_builder_failed(a->builder) ||
            (connected && ps_ascend_wants(a, PS_NEED_FLOWS) &&
             !ps_idmap_put(&a->call_of_connection, (uint64_t)connection, slice))) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* Calls of the C library have a name, runs of the collector have none. */
static ps_code take_others(void *context, const ps_scan_batch *b, ps_err *err) {
    const calls *c = context;
    ps_ascend *a = c->a;
    bool is_gc = b->n_columns == 3;
    const char *table = is_gc ? "GC_RECORD" : "OSRT_API";
    for (size_t i = 0; i < b->n_rows; i++) {
        bool missing = false;
        ps_str name = is_gc ? c->gc : ps_ascend_cell_name(a, &b->columns[3], i, &missing);
        (void)ps_ascend_slice(
            a, is_gc ? PS_SLICE_HOST_OTHER : PS_SLICE_CALL,
            ps_ascend_thread_track(a, ps_cell_int(&b->columns[2], i, PS_ASCEND_NULL)), name,
            PS_STR_NONE, ps_ascend_cell_time(&b->columns[0], i),
            ps_ascend_cell_time(&b->columns[1], i), table, b->rowids[i]);
        ps_ascend_count_missing(a, missing, table, b->rowids[i]);
    }
    return ps_builder_failed(a->builder) ? ps_fail_nomem(err) : PS_OK;
}

ps_code ps_ascend_calls_read(ps_ascend *a, ps_err *err) {
    static const char *const COLUMNS[] = {"startNs", "endNs",        "globalTid",
                                          "name",    "connectionId", "type"};
    calls c = {.a = a};
    ps_code code = ps_ascend_enum_read(a, PS_ASCEND_API_TYPE, err);
    if (ps_ascend_wants(a, PS_NEED_ARGS)) {
        c.key_level = ps_builder_str(a->builder, "level", 5);
        c.key_connection = ps_builder_str(a->builder, "connectionId", 12);
    }
    if (code == PS_OK) {
        code = ps_ascend_scan(a, "CANN_API", COLUMNS, 6, NULL, take_cann_calls, &c, err);
    }
    if (code == PS_OK) {
        code = ps_ascend_scan(a, "OSRT_API", COLUMNS, 4, NULL, take_others, &c, err);
    }
    if (code == PS_OK && ps_db_has_table(a->db, "GC_RECORD")) {
        c.gc = ps_builder_str(a->builder, "Python GC", 9);
        code = ps_ascend_scan(a, "GC_RECORD", COLUMNS, 3, NULL, take_others, &c, err);
    }
    return code == PS_OK && ps_builder_failed(a->builder) ? ps_fail_nomem(err) : code;
}
