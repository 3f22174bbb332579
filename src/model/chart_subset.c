#include "model/chart_subset.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

typedef struct subset {
    uint32_t *rank_of; /* by row in the whole chart; PS_NO_INDEX: it is not in it */
    uint32_t *op_of;
} subset;

/* An array of the whole chart; what says where its elements belong is a row in ranks, or in ops. */
typedef struct chart_rows {
    const void *at;
    size_t n, size;
    size_t place; /* of that row in an element */
} chart_rows;

/* *to: those that belong to what is kept, with their new row there. */
static bool take_rows(const chart_rows *from, const uint32_t *new_row, void **to, size_t *n) {
    char *out = ps_calloc(from->n, from->size);
    *to = out;
    *n = 0;
    for (size_t i = 0; out != NULL && i < from->n; i++) {
        const char *in = (const char *)from->at + i * from->size;
        uint32_t row;
        memcpy(&row, in + from->place, sizeof row);
        if (new_row[row] != PS_NO_INDEX) {
            memcpy(out + *n * from->size, in, from->size);
            memcpy(out + *n * from->size + from->place, &new_row[row], sizeof row);
            *n += 1;
        }
    }
    return out != NULL;
}

#define TAKE(list, type, member, new_row)                                                          \
    take_rows(&(chart_rows){chart->list, chart->n_##list, sizeof(type), offsetof(type, member)},   \
              new_row, (void **)&out->list, &out->n_##list)

static bool take_ranks(const ps_chart *chart, const bool *kept, subset *s, ps_chart *out) {
    s->rank_of = ps_calloc(chart->n_ranks, sizeof *s->rank_of);
    s->op_of = ps_calloc(chart->n_ops, sizeof *s->op_of);
    if (s->rank_of == NULL || s->op_of == NULL) {
        return false;
    }
    for (size_t r = 0; r < chart->n_ranks; r++) {
        s->rank_of[r] = kept[r] ? (uint32_t)out->n_ranks : PS_NO_INDEX;
        if (kept[r] && !ps_chart_add_rank(out, chart->ranks[r])) {
            return false;
        }
    }
    uint32_t n = 0;
    for (size_t i = 0; i < chart->n_ops; i++) {
        s->op_of[i] = kept[chart->ops[i].rank] ? n++ : PS_NO_INDEX;
    }
    return true;
}

static bool take_joins(const ps_chart *chart, const subset *s, ps_chart *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < chart->n_links; i++) {
        ps_chart_link link = {s->op_of[chart->links[i].from], s->op_of[chart->links[i].to]};
        ok = link.from == PS_NO_INDEX || link.to == PS_NO_INDEX || ps_chart_add_link(out, link);
    }
    for (size_t i = 0; ok && i < chart->n_path; i++) {
        uint32_t op = s->op_of[chart->path[i]];
        ok = op == PS_NO_INDEX || ps_chart_add_path(out, op);
    }
    for (size_t i = 0; ok && i < out->n_bubbles; i++) {
        uint32_t *op = &out->bubbles[i].waits_for;
        *op = *op == PS_NO_INDEX ? PS_NO_INDEX : s->op_of[*op];
    }
    return ok;
}

ps_chart *ps_chart_subset(const ps_chart *chart, const bool *kept) {
    ps_chart *out = ps_calloc(1, sizeof *out);
    subset s = {0};
    if (out != NULL) {
        *out = *chart;
        ps_arena_init(&out->arena);
#define NONE(list) out->list = NULL, out->n_##list = out->cap_##list = 0
        NONE(ranks), NONE(ops), NONE(links), NONE(bubbles), NONE(works), NONE(others), NONE(path),
            NONE(parts), NONE(figures);
    }
    bool ok = out != NULL && take_ranks(chart, kept, &s, out) &&
              TAKE(ops, ps_op, rank, s.rank_of) && TAKE(bubbles, ps_bubble, rank, s.rank_of) &&
              TAKE(works, ps_chart_work, rank, s.rank_of) &&
              TAKE(others, ps_chart_other, rank, s.rank_of) &&
              TAKE(figures, ps_chart_figure, rank, s.rank_of) &&
              TAKE(parts, ps_chart_part, op, s.op_of) && take_joins(chart, &s, out);
    ps_free(s.rank_of);
    ps_free(s.op_of);
    if (!ok) {
        ps_chart_free(out);
        return NULL;
    }
    return out;
}
