/* The timeline of a worker as bytes. Its rows lie one after another in pieces, and their names are numbers of a file: on the way each list
 * is one piece, and its names are ops. */
#include <string.h>

#include "analyze/whatif/worker_steps.h"
#include "base/alloc.h"

static void timeline_window_archive(ps_archive *a, void *window) {
    ps_timeline_window *x = window;
    PS_ARCHIVE(a, x, step, start_ns, end_ns);
}

/* A list on the way: its rows in one piece, with ops for names. */
typedef struct moved_list {
    ps_worker_list list;
    ps_worker_row *rows;
    size_t n;
} moved_list;

static void worker_row_archive(ps_archive *a, void *row) {
    ps_worker_row *x = row;
    PS_ARCHIVE(a, x, start_ns, dur_low_ns, dur_high_ns, chunk, row, order, microbatch);
    PS_ARCHIVE_BELOW(a, x, name, PS_N_WORKER_OPS + 1);
}

static void moved_list_archive(ps_archive *a, void *list) {
    moved_list *x = list;
    PS_ARCHIVE(a, x, list.step, list.lane, list.n_known);
    PS_ARCHIVE_ARRAY(a, x, rows, n, worker_row_archive);
}

static bool gather_rows(const ps_worker_ops *ops, const ps_worker_list *from, moved_list *out) {
    out->list = *from;
    for (const ps_worker_rows *r = from->first; r != NULL; r = r->next) {
        out->n += r->n;
    }
    out->rows = ps_calloc(out->n, sizeof *out->rows);
    size_t n = 0;
    for (const ps_worker_rows *r = from->first; out->rows != NULL && r != NULL; r = r->next) {
        for (uint32_t i = 0; i < r->n; i++, n++) {
            out->rows[n] = r->at[i];
            out->rows[n].name = ops->op_of_name[r->at[i].name];
        }
    }
    return out->rows != NULL;
}

static bool spread_rows(const moved_list *from, ps_arena *arena, ps_worker_list *out) {
    ps_worker_rows *rows = ps_arena_alloc(arena, sizeof *rows + from->n * sizeof *rows->at);
    *out = from->list;
    out->first = rows;
    if (rows != NULL) {
        *rows = (ps_worker_rows){.n = (uint32_t)from->n, .cap = (uint32_t)from->n};
    }
    for (size_t i = 0; rows != NULL && i < from->n; i++) {
        rows->at[i] = from->rows[i];
    }
    return rows != NULL && from->n <= UINT32_MAX;
}

/* Lists that were gathered, or those that were read. */
typedef struct moved_lists {
    moved_list *at;
    size_t n;
} moved_lists;

static bool gather_lists(const ps_worker_ops *ops, moved_lists *out) {
    out->at = ps_calloc(ops->n_lists, sizeof *out->at);
    bool ok = out->at != NULL;
    for (size_t i = 0; ok && i < ops->n_lists; i++) {
        ok = gather_rows(ops, &ops->lists[i], &out->at[out->n++]);
    }
    return ok;
}

static bool spread_lists(const moved_lists *from, ps_arena *arena, ps_worker_ops *out) {
    static const uint8_t OPS[] = {
#define X(op, name, kind) op,
        PS_WORKER_OPS(X)
#undef X
            PS_N_WORKER_OPS
    };
    ps_worker_list *lists = ps_arena_alloc(arena, (from->n + 1) * sizeof *lists);
    bool ok = lists != NULL;
    for (size_t i = 0; ok && i < from->n; i++) {
        ok = spread_rows(&from->at[i], arena, &lists[i]);
    }
    *out = (ps_worker_ops){lists, ok ? from->n : 0, OPS};
    return ok;
}

void ps_timeline_archive(ps_archive *a, ps_timeline *x) {
    moved_lists lists = {0};
    bool ok = !ps_archive_is_writing(a) || gather_lists(&x->ops, &lists);
    PS_ARCHIVE_ARRAY(a, &lists, at, n, moved_list_archive);
    ok = ok && (!ps_archive_is_reading(a) || spread_lists(&lists, &x->arena, &x->ops));
    for (size_t i = 0; i < lists.n; i++) {
        ps_free(lists.at[i].rows);
    }
    ps_free(lists.at);
    if (!ok) {
        ps_archive_nomem(a);
    }
    PS_ARCHIVE(a, x, n, n_without_step);
    PS_ARCHIVE_ARRAY(a, x, windows, n_windows, timeline_window_archive);
}
