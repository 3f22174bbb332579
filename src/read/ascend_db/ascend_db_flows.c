/* The database has no flows: slices that carry the same number belong together.
 *
 *   HostToDevice      CANN_API.connectionId = that of a kernel, a copy or a communication operator
 *   async_npu         the same number among those that CONNECTION_IDS gives to a row of PYTORCH_API
 *   async_task_queue  one number of an Enqueue and a Dequeue
 *   fwdbwd            one number of two operators: the pairing number of forward and backward
 *
 * PYTORCH_API.connectionId is CONNECTION_IDS.id, and one id has several numbers of different kinds. Numbers of different
 * kinds may be equal by chance, so operators with different sequence numbers are no forward and backward.
 *
 * Everything is a sort or a look-up; what could multiply (one number at many rows on both sides) is bounded and counted.
 */
#include "read/ascend_db/ascend_db_flows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/order.h"

#define MAX_FROM 16        /* rows of PYTORCH_API of one number that lead to the device */
#define MAX_PAIRS_A_ROW 16 /* numbers of one row of PYTORCH_API, on average */

/* A number and a row of PYTORCH_API that has it. */
typedef struct pair {
    int64_t number;
    int64_t start_ns;
    uint32_t torch;
} pair;

typedef struct flows {
    ps_ascend *a;
    ps_idmap first_of_id; /* CONNECTION_IDS.id -> first row of a->torch */
    uint32_t *next_of_id; /* the next with the same, PS_NONE */
    ps_idmap first_end;   /* number -> first row of a->ends */
    uint32_t *next_end;
    pair *pairs;
    size_t n_pairs, cap_pairs;
    ps_str to_device, to_npu, queue, backward;
} flows;

/* --- look-ups ----------------------------------------------------------------------------------------- */

/* Chains of rows with the same key, in input order. */
static bool chain(ps_idmap *first, uint32_t **next, size_t n, const void *rows,
                  int64_t key_of(const void *rows, size_t row)) {
    *next = ps_calloc(n + 1, sizeof **next);
    if (*next == NULL) {
        return false;
    }
    for (size_t i = n; i > 0; i--) {
        uint64_t key = (uint64_t)key_of(rows, i - 1);
        uint32_t later = ps_idmap_get(first, key);
        (*next)[i - 1] = later == PS_IDMAP_NONE ? PS_NONE : later;
        if (!ps_idmap_put(first, key, (uint32_t)(i - 1))) {
            return false;
        }
    }
    return true;
}

static int64_t torch_key(const void *rows, size_t row) {
    return ((const ps_ascend_torch *)rows)[row].connection;
}

static int64_t end_key(const void *rows, size_t row) {
    return ((const ps_ascend_end *)rows)[row].connection;
}

static uint32_t first_end_of(const flows *f, int64_t number) {
    uint32_t row = number != PS_ASCEND_NO_ID && number >= 0
                       ? ps_idmap_get(&f->first_end, (uint64_t)number)
                       : PS_IDMAP_NONE;
    return row == PS_IDMAP_NONE ? PS_NONE : row;
}

static ps_code take_flow_connections(void *context, const ps_scan_batch *b, ps_err *err) {
    flows *f = context;
    size_t max_pairs = (f->a->n_torch + 1) * MAX_PAIRS_A_ROW;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        int64_t number = ps_cell_int(&b->columns[1], i, -1);
        uint32_t torch = id >= 0 ? ps_idmap_get(&f->first_of_id, (uint64_t)id) : PS_IDMAP_NONE;
        torch = torch == PS_IDMAP_NONE || number < 0 ? PS_NONE : torch;
        for (; torch != PS_NONE; torch = f->next_of_id[torch]) {
            if (f->n_pairs >= max_pairs) {
                ps_diag_add(f->a->diag, PS_ODD_FLOW_NO_SLICE, "CONNECTION_IDS rowid %lld: too many",
                            (long long)b->rowids[i]);
                break;
            }
            if (!PS_ADD(f->pairs, f->n_pairs, f->cap_pairs, UINT32_MAX,
                        (pair){number, f->a->torch[torch].start_ns, torch})) {
                return ps_fail_nomem(err);
            }
        }
    }
    return PS_OK;
}

PS_COMPARE(compare_pairs, pair, PS_BY(number) PS_BY(start_ns) PS_BY(torch))

/* --- one number --------------------------------------------------------------------------------------- */

/* Rows of one number, by start. */
typedef struct group {
    const pair *pairs;
    size_t n;
} group;

static const ps_ascend_torch *flow_row_of(const flows *f, const group *g, size_t i) {
    return &f->a->torch[g->pairs[i].torch];
}

static void ascend_db_flows_flow(const flows *f, uint32_t from, uint32_t to, ps_str kind) {
    if (from != to) {
        ps_builder_flow_of(f->a->builder, from, to, kind);
    }
}

/* From the first Enqueue to every Dequeue. */
static bool add_queue(const flows *f, const group *g) {
    const ps_ascend_torch *from = NULL;
    bool any = false;
    for (size_t i = 0; from == NULL && i < g->n; i++) {
        from = flow_row_of(f, g, i)->is_enqueue ? flow_row_of(f, g, i) : NULL;
    }
    for (size_t i = 0; from != NULL && i < g->n; i++) {
        const ps_ascend_torch *to = flow_row_of(f, g, i);
        if (to->is_queue && !to->is_enqueue) {
            ascend_db_flows_flow(f, from->slice, to->slice, f->queue);
            any = true;
        }
    }
    return any;
}

/* A number of a launch joins every operator around it: that alone makes no pair of them. */
static bool is_launch(const flows *f, const group *g) {
    return first_end_of(f, g->pairs[0].number) != PS_NONE;
}

static bool same_sequence(const ps_ascend_torch *x, const ps_ascend_torch *y) {
    return x->sequence == y->sequence; /* both -1 in files that do not know them */
}

/* The first operator and those after it with its sequence number. *forward is that first one when there are others. */
static bool add_backward(const flows *f, const group *g, const ps_ascend_torch **forward) {
    const ps_ascend_torch *first = NULL;
    *forward = NULL;
    for (size_t i = 0; i < g->n; i++) {
        const ps_ascend_torch *row = flow_row_of(f, g, i);
        if (row->is_queue) {
            continue;
        }
        if (first == NULL) {
            first = row;
        } else if (same_sequence(first, row) && first->slice != row->slice &&
                   (first->sequence >= 0 || !is_launch(f, g))) {
            ascend_db_flows_flow(f, first->slice, row->slice, f->backward);
            *forward = first;
        }
    }
    return *forward != NULL;
}

/* Operators to what runs under the number on the device. A forward and backward pair met here by chance only. */
static bool add_npu(const flows *f, const group *g, const ps_ascend_torch *forward) {
    size_t n_from = 0;
    uint32_t first = first_end_of(f, g->pairs[0].number);
    for (size_t i = 0; first != PS_NONE && i < g->n; i++) {
        const ps_ascend_torch *row = flow_row_of(f, g, i);
        if (row->is_queue || (forward != NULL && same_sequence(forward, row))) {
            continue;
        }
        if (n_from++ == MAX_FROM) {
            ps_diag_add(f->a->diag, PS_ODD_FLOW_NO_SLICE, "connection %lld: too many operators",
                        (long long)g->pairs[0].number);
            break;
        }
        for (uint32_t end = first; end != PS_NONE; end = f->next_end[end]) {
            ascend_db_flows_flow(f, row->slice, f->a->ends[end].slice, f->to_npu);
        }
    }
    return n_from > 0;
}

static void add_flow_group(const flows *f, const group *g) {
    const ps_ascend_torch *forward = NULL;
    bool queue = add_queue(f, g);
    bool pairs = add_backward(f, g, &forward);
    bool npu = add_npu(f, g, forward);
    if (!queue && !pairs && !npu) {
        ps_diag_add(f->a->diag, PS_ODD_FLOW_HALF, "connection %lld", (long long)g->pairs[0].number);
    }
}

static void add_groups(const flows *f) {
    for (size_t i = 0; i < f->n_pairs;) {
        size_t end = i;
        while (end < f->n_pairs && f->pairs[end].number == f->pairs[i].number) {
            end++;
        }
        add_flow_group(f, &(group){f->pairs + i, end - i});
        i = end;
    }
}

/* --- calls -------------------------------------------------------------------------------------------- */

/* Copies and tasks are driven by the runtime as well, without a call that is recorded. */
static bool is_wanted_call(ps_slice_kind kind) {
    return kind != PS_SLICE_TASK && kind != PS_SLICE_COPY;
}

static void add_calls(const flows *f) {
    const ps_ascend *a = f->a;
    bool has_calls = ps_db_has_table(a->db, "CANN_API");
    for (size_t i = 0; i < a->n_ends; i++) {
        uint32_t call = ps_idmap_get(&a->call_of_connection, (uint64_t)a->ends[i].connection);
        if (call != PS_IDMAP_NONE) {
            ascend_db_flows_flow(f, call, a->ends[i].slice, f->to_device);
        } else if (has_calls &&
                   is_wanted_call(ps_builder_slice_kind(a->builder, a->ends[i].slice))) {
            ps_diag_add(a->diag, PS_ODD_NO_CALL, "connection %lld",
                        (long long)a->ends[i].connection);
        }
    }
}

ps_code ps_ascend_flows_add(ps_ascend *a, ps_err *err) {
    static const char *const COLUMNS[] = {"id", "connectionId"};
    if (!ps_ascend_wants(a, PS_NEED_FLOWS)) {
        return PS_OK;
    }
    flows f = {.a = a,
               .to_device = ps_builder_str(a->builder, "HostToDevice", 12),
               .to_npu = ps_builder_str(a->builder, "async_npu", 9),
               .queue = ps_builder_str(a->builder, "async_task_queue", 16),
               .backward = ps_builder_str(a->builder, "fwdbwd", 6)};
    ps_code code = PS_OK;
    if (!chain(&f.first_of_id, &f.next_of_id, a->n_torch, a->torch, torch_key) ||
        !chain(&f.first_end, &f.next_end, a->n_ends, a->ends, end_key)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        add_calls(&f);
        code =
            ps_ascend_scan(a, "CONNECTION_IDS", COLUMNS, 2, NULL, take_flow_connections, &f, err);
    }
    if (code == PS_OK && f.n_pairs > 0) {
        qsort(f.pairs, f.n_pairs, sizeof *f.pairs, compare_pairs);
        add_groups(&f);
    }
    ps_idmap_fini(&f.first_of_id);
    ps_idmap_fini(&f.first_end);
    ps_free(f.next_of_id);
    ps_free(f.next_end);
    ps_free(f.pairs);
    return code == PS_OK && ps_builder_failed(a->builder) ? ps_fail_nomem(err) : code;
}
