/* Packing has two ways. While slices nest, the rows in use are a stack: a slice that starts takes those off that have
 * ended and stands on top, O(1). A slice that outlasts the one below it breaks the stack; from there on a tree over the rows
 * with the earliest end below each node finds the lowest free row, O(log rows), until a moment when all rows are free. The
 * tree is made of the rows in use alone, each of which a slice was put on since the last such moment: O(1) a slice. */
#include "model/lod_rows.h"

#include <string.h>

#include "base/alloc.h"
#include "model/lod.h"

#define LAST_ROW (PS_LOD_MAX_ROWS - 1)

typedef struct packer {
    int64_t *stack; /* ends of rows 0..depth-1, each no later than the one before */
    size_t depth, cap_stack;
    int64_t *tree; /* [2 * n_leaves]; node i is above 2i and 2i + 1, leaf r is row r */
    size_t n_leaves, cap_tree;
    int64_t busy_until_ns;
    bool in_tree;
} packer;

/* A tree of at least `need` leaves with the ends of the first `n` rows; all others are free. */
static bool grow_tree(packer *p, size_t need, const int64_t *ends, size_t n) {
    size_t n_leaves = 16;
    while (n_leaves < need) {
        n_leaves *= 2;
    }
    int64_t *tree = p->tree;
    if (2 * n_leaves > p->cap_tree) {
        tree = ps_alloc(2 * n_leaves * sizeof *tree);
        if (tree == NULL) {
            return false;
        }
    }
    memmove(tree + n_leaves, ends, n * sizeof *tree);
    for (size_t i = n_leaves + n; i < 2 * n_leaves; i++) {
        tree[i] = INT64_MIN;
    }
    for (size_t i = n_leaves - 1; i > 0; i--) {
        tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    }
    if (tree != p->tree) {
        ps_free(p->tree);
        p->tree = tree;
        p->cap_tree = 2 * n_leaves;
    }
    p->n_leaves = n_leaves;
    return true;
}

static void set_leaf(packer *p, size_t row, int64_t end_ns) {
    int64_t *tree = p->tree;
    size_t i = p->n_leaves + row;
    tree[i] = end_ns;
    for (i /= 2; i > 0; i /= 2) {
        int64_t least = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
        if (tree[i] == least) {
            return;
        }
        tree[i] = least;
    }
}

/* PS_NONE when memory is out. */
static uint32_t place_in_tree(packer *p, int64_t start_ns, int64_t end_ns) {
    if (p->tree[1] > start_ns &&
        !grow_tree(p, 2 * p->n_leaves, p->tree + p->n_leaves, p->n_leaves)) {
        return PS_NONE;
    }
    size_t i = 1;
    while (i < p->n_leaves) {
        i = p->tree[2 * i] <= start_ns ? 2 * i : 2 * i + 1;
    }
    size_t row = i - p->n_leaves;
    if (row > LAST_ROW) {
        row = LAST_ROW;
        end_ns = p->tree[p->n_leaves + row] > end_ns ? p->tree[p->n_leaves + row] : end_ns;
    }
    set_leaf(p, row, end_ns);
    return (uint32_t)row;
}

static uint32_t place_lod_row(packer *p, int64_t start_ns, int64_t end_ns) {
    if (p->in_tree && start_ns >= p->busy_until_ns) {
        p->in_tree = false;
        p->depth = 0;
    }
    p->busy_until_ns = end_ns > p->busy_until_ns ? end_ns : p->busy_until_ns;
    if (p->in_tree) {
        return place_in_tree(p, start_ns, end_ns);
    }
    while (p->depth > 0 && p->stack[p->depth - 1] <= start_ns) {
        p->depth--;
    }
    bool nests = p->depth == 0 || end_ns <= p->stack[p->depth - 1];
    if (!nests || p->depth > LAST_ROW) {
        p->in_tree = true;
        return grow_tree(p, p->depth + 1, p->stack, p->depth) ? place_in_tree(p, start_ns, end_ns)
                                                              : PS_NONE;
    }
    if (p->depth == p->cap_stack &&
        !ps_grow(&p->stack, &p->cap_stack, p->depth + 1, PS_LOD_MAX_ROWS, sizeof *p->stack)) {
        return PS_NONE;
    }
    p->stack[p->depth] = end_ns;
    return (uint32_t)p->depth++;
}

static bool count_row(ps_lod_rows *rows, uint32_t row) {
    if (row >= rows->n_rows) { /* the next one: rows come into use from the lowest up */
        if (!ps_grow(&rows->n, &rows->cap, (size_t)row + 1, PS_LOD_MAX_ROWS, sizeof *rows->n)) {
            return false;
        }
        memset(rows->n + rows->n_rows, 0, (row + 1 - rows->n_rows) * sizeof *rows->n);
        rows->n_rows = (size_t)row + 1;
    }
    rows->n[row]++;
    return true;
}

bool ps_lod_rows_pack(const ps_slices *s, const uint32_t *order, uint32_t n, uint16_t *row_of,
                      ps_lod_rows *rows) {
    packer p = {.busy_until_ns = INT64_MIN};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        uint32_t slice = order[i];
        uint32_t row = place_lod_row(&p, s->start_ns[slice], s->start_ns[slice] + s->dur_ns[slice]);
        ok = row != PS_NONE && count_row(rows, row);
        row_of[i] = (uint16_t)row;
    }
    ps_free(p.stack);
    ps_free(p.tree);
    return ok;
}

/* Row 0, mostly the largest, moves up in place; only the others need room. */
bool ps_lod_rows_regroup(uint32_t *order, uint32_t n, const uint16_t *row_of,
                         const ps_lod_rows *rows) {
    if (rows->n_rows < 2) {
        return true;
    }
    uint32_t n_others = n - rows->n[0];
    uint32_t *others = ps_alloc(n_others * sizeof *others);
    uint32_t *next = ps_alloc(rows->n_rows * sizeof *next);
    bool ok = others != NULL && next != NULL;
    uint32_t place = 0;
    for (size_t r = 1; ok && r < rows->n_rows; r++) {
        next[r] = place;
        place += rows->n[r];
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; ok && i < n; i++) {
        uint32_t slice = order[i];
        uint32_t row = row_of[i];
        if (row == 0) {
            order[kept++] = slice;
        } else {
            others[next[row]++] = slice;
        }
    }
    if (ok) {
        memcpy(order + kept, others, n_others * sizeof *others);
    }
    ps_free(others);
    ps_free(next);
    return ok;
}
