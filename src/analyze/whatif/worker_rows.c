#include "analyze/whatif/worker_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

ps_step_lists ps_step_lists_from(const ps_worker_ops *ops, size_t first, int64_t step) {
    ps_step_lists lists = {.ops = ops, .first = first};
    for (; first + lists.n < ops->n_lists && ops->lists[first + lists.n].step == step; lists.n++) {
        lists.n_ops += ops->lists[first + lists.n].n_known;
    }
    return lists;
}

void ps_rows_room_fini(ps_rows_room *room) {
    ps_free(room->rows);
    ps_free(room->sorted);
    *room = (ps_rows_room){0};
}

static uint8_t kind_of_row(const ps_worker_ops *ops, const ps_worker_row *row) {
    uint8_t kind = ops->op_of_name[row->name];
    return kind == PS_WORKER_INPUT ? PS_WORKER_BACKWARD : kind; /* one chain of backwards */
}

static bool is_computing(uint8_t kind) {
    return kind <= PS_WORKER_PAIR;
}

/* -1: not known. */
static int32_t known_number(int32_t value) {
    return value >= 0 && value < INT32_MAX ? value : -1;
}

/* --- order ----------------------------------------------------------------------------------------------------------- */

static int order_i64(int64_t a, int64_t b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

static int order_computing(const ps_worker_row *a, const ps_worker_row *b) {
    return order_i64(a->start_ns, b->start_ns);
}

static int order_of_kind(const ps_worker_row *a, const ps_worker_row *b) {
    int32_t x = a->order != PS_ROW_UNKNOWN ? a->order : -1;
    int32_t y = b->order != PS_ROW_UNKNOWN ? b->order : -1;
    int by = order_i64(x, y);
    return by != 0 ? by : order_computing(a, b);
}

static int order_microbatch(const ps_worker_row *a, const ps_worker_row *b) {
    return order_i64(known_number(a->microbatch), known_number(b->microbatch));
}

static int compare_computing(const void *x, const void *y) {
    const ps_worker_row *a = *(const ps_worker_row *const *)x;
    const ps_worker_row *b = *(const ps_worker_row *const *)y;
    int by = order_computing(a, b);
    return by != 0 ? by : order_microbatch(a, b);
}

/* As the file numbers them, else by start. */
static int compare_of_kind(const void *x, const void *y) {
    const ps_worker_row *a = *(const ps_worker_row *const *)x;
    const ps_worker_row *b = *(const ps_worker_row *const *)y;
    int by = order_of_kind(a, b);
    return by != 0 ? by : order_microbatch(a, b);
}

/* Most files have them in order. */
static void sort_kind(const ps_worker_row **rows, size_t n, bool computing) {
    int (*compare)(const void *, const void *) = computing ? compare_computing : compare_of_kind;
    for (size_t i = 1; i < n; i++) {
        if (compare(&rows[i - 1], &rows[i]) > 0) {
            qsort(rows, n, sizeof *rows, compare);
            return;
        }
    }
}

/* --- rows by kind ---------------------------------------------------------------------------------------------------- */

/* Rows of a worker by kind: those of a kind begin at first[kind]. */
typedef struct kinds_of_rows {
    size_t first[PS_N_WORKER_OPS + 1];
} kinds_of_rows;

static bool list_rows(const ps_step_lists *lists, ps_rows_room *room, kinds_of_rows *of) {
    size_t n = 0;
    if (!ps_grow(&room->rows, &room->cap_rows, lists->n_ops + 1, UINT32_MAX, sizeof *room->rows) ||
        !ps_grow(&room->sorted, &room->cap_sorted, lists->n_ops + 1, UINT32_MAX,
                 sizeof *room->sorted)) {
        return false;
    }
    for (size_t i = 0; i < lists->n; i++) {
        const ps_worker_rows *rows = lists->ops->lists[lists->first + i].first;
        for (; rows != NULL; rows = rows->next) {
            for (uint32_t k = 0; k < rows->n; k++) {
                uint8_t kind = kind_of_row(lists->ops, &rows->at[k]);
                if (kind != PS_N_WORKER_OPS) {
                    room->rows[n++] = &rows->at[k];
                    of->first[kind + 1]++;
                }
            }
        }
    }
    return true;
}

static void sort_rows(const ps_step_lists *lists, ps_rows_room *room, kinds_of_rows *of) {
    size_t at[PS_N_WORKER_OPS] = {0};
    for (size_t kind = 0; kind < PS_N_WORKER_OPS; kind++) {
        of->first[kind + 1] += of->first[kind];
        at[kind] = of->first[kind];
    }
    for (size_t i = 0; i < lists->n_ops; i++) {
        room->sorted[at[kind_of_row(lists->ops, room->rows[i])]++] = room->rows[i];
    }
    for (uint8_t kind = 0; kind < PS_N_WORKER_OPS; kind++) {
        sort_kind(room->sorted + of->first[kind], of->first[kind + 1] - of->first[kind],
                  is_computing(kind));
    }
}

/* --- ops ------------------------------------------------------------------------------------------------------------- */

typedef struct putting {
    uint32_t worker;
    const ps_worker_row **sorted;
    ps_job_op *ops;
    int64_t *start_ns, *length_ns;
    size_t n;
} putting;

static void put_row(putting *p, uint8_t kind, const ps_worker_row *row) {
    const ps_job_op *before = p->n > 0 ? &p->ops[p->n - 1] : NULL;
    bool same = before != NULL && before->kind == kind;
    p->start_ns[p->n] = row->start_ns;
    p->length_ns[p->n] = ps_worker_row_dur_ns(row);
    p->ops[p->n++] = (ps_job_op){.worker = p->worker,
                                 .order = same ? before->order + 1 : 0,
                                 .microbatch = known_number(row->microbatch),
                                 .chunk = known_number(row->chunk),
                                 .microbatch2 = -1,
                                 .chunk2 = -1,
                                 .kind = kind};
}

/* Computing in the order in which it ran, whatever its kind; of equal ones the lower kind. */
static void put_computing(putting *p, const kinds_of_rows *of) {
    size_t at[PS_WORKER_PAIR + 1];
    memcpy(at, of->first, sizeof at);
    for (size_t left = of->first[PS_WORKER_PAIR + 1]; left > 0; left--) {
        uint8_t best = PS_N_WORKER_OPS;
        for (uint8_t kind = 0; kind <= PS_WORKER_PAIR; kind++) {
            bool any = at[kind] < of->first[kind + 1];
            bool first = any && (best == PS_N_WORKER_OPS ||
                                 order_computing(p->sorted[at[kind]], p->sorted[at[best]]) < 0);
            best = first ? kind : best;
        }
        put_row(p, best, p->sorted[at[best]++]);
    }
}

bool ps_worker_rows_put(const ps_step_lists *lists, uint32_t worker, ps_rows_room *room,
                        ps_job_op *ops, int64_t *start_ns, int64_t *length_ns) {
    kinds_of_rows of = {{0}};
    if (!list_rows(lists, room, &of)) {
        return false;
    }
    sort_rows(lists, room, &of);
    putting p = {worker, room->sorted, ops, start_ns, length_ns, 0};
    put_computing(&p, &of);
    for (uint8_t kind = PS_WORKER_PAIR + 1; kind < PS_N_WORKER_OPS; kind++) {
        for (size_t i = of.first[kind]; i < of.first[kind + 1]; i++) {
            put_row(&p, kind, p.sorted[i]);
        }
    }
    return true;
}
