#include "analyze/pipeline/measured_chart.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

typedef struct building {
    ps_chart *chart;
    const ps_measured_rank *ranks;
    size_t n;
    bool is_classic;
    uint32_t **row_of_p2p; /* [rank][op in its list] row in the chart's ops, PS_NO_INDEX none */
} building;

/* Classic microbatches are counted per kind, for each step by itself: on the device steps may interleave. */
typedef struct step_count {
    int32_t n_forward, n_backward;
} step_count;

typedef struct step_counts {
    ps_idmap by_step; /* step id -> row in counts */
    step_count *counts;
    size_t n, cap;
} step_counts;

/* NULL when memory is out. */
static step_count *count_of(step_counts *c, int64_t step) {
    uint32_t row = ps_idmap_get(&c->by_step, (uint64_t)step);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)c->n;
        if (!ps_grow(&c->counts, &c->cap, c->n + 1, UINT32_MAX - 1, sizeof *c->counts) ||
            !ps_idmap_put(&c->by_step, (uint64_t)step, row)) {
            return NULL;
        }
        c->counts[c->n++] = (step_count){0};
    }
    return &c->counts[row];
}

static ps_op mark_op(const building *b, const ps_mark *mark, const ps_given_label *label,
                     uint32_t rank_row, step_count *count) {
    int64_t origin = b->chart->origin_ns;
    ps_op op = {.start_ns = mark->start_ns - origin,
                .end_ns = mark->end_ns - origin,
                .host_start_ns = mark->host_start_ns - origin,
                .host_end_ns = mark->host_end_ns - origin,
                .has_host = true,
                .step = mark->step,
                .work_ns = label->work_ns,
                .name = label->name,
                .rank = rank_row,
                .microbatch = mark->microbatch,
                .microbatch2 = -1,
                .chunk = -1,
                .chunk2 = -1,
                .phase = -1,
                .kind = mark->kind,
                .source = label->source};
    if (label->has_op) {
        op.kind = (uint8_t)label->op.kind;
        op.chunk = (int8_t)label->op.chunk;
        op.microbatch = label->op.microbatch;
        op.chunk2 = (int8_t)label->op.chunk2;
        op.microbatch2 = label->op.microbatch2;
        op.phase = (int8_t)label->type;
    } else if (b->is_classic && mark->kind == PS_OP_F) {
        op.microbatch = count->n_forward++;
    } else if (b->is_classic && mark->kind == PS_OP_B) {
        op.microbatch = count->n_backward++;
    }
    return op;
}

/* The parts of the op that was added last. */
static bool add_measured_parts(building *b, const ps_given_label *label) {
    int64_t origin = b->chart->origin_ns;
    bool ok = true;
    for (uint32_t i = 0; ok && i < label->n_parts; i++) {
        const ps_given_part *part = &label->parts[i];
        ok = ps_chart_add_part(b->chart, (ps_chart_part){.start_ns = part->start_ns - origin,
                                                         .end_ns = part->end_ns - origin,
                                                         .name = part->name,
                                                         .op = (uint32_t)b->chart->n_ops - 1,
                                                         .kind = part->kind,
                                                         .communicates = part->communicates});
    }
    return ok;
}

static bool add_mark(building *b, const ps_measured_rank *r, size_t i, uint32_t rank_row,
                     step_counts *counts) {
    step_count *count = count_of(counts, r->marks->marks[i].step);
    if (count == NULL) {
        return false;
    }
    ps_op op = mark_op(b, &r->marks->marks[i], &r->labels[i], rank_row, count);
    char number[16];
    if (r->from_table) {
        op.source = PS_SOURCE_TABLE;
    }
    op.has_host = !r->from_table && !r->no_host;
    bool counted = b->is_classic && (op.kind == PS_OP_F || op.kind == PS_OP_B);
    if (counted) {
        (void)snprintf(number, sizeof number, op.kind == PS_OP_F ? "%d" : "%dB", op.microbatch);
        op.name = number;
    }
    return ps_chart_add_op(b->chart, op) && add_measured_parts(b, &r->labels[i]);
}

static bool add_measured_p2p(building *b, size_t rank, size_t i, uint32_t rank_row, int64_t step) {
    const ps_p2p_op *p = &b->ranks[rank].p2p->ops[i];
    ps_op op = {.start_ns = p->start_ns - b->chart->origin_ns,
                .end_ns = p->end_ns - b->chart->origin_ns,
                .step = step,
                .name = p->is_send ? "send" : "recv",
                .rank = rank_row,
                .microbatch = -1,
                .microbatch2 = -1,
                .chunk = -1,
                .chunk2 = -1,
                .phase = -1,
                .kind = p->is_send ? PS_OP_SEND : PS_OP_RECV,
                .source = PS_SOURCE_MARK};
    b->row_of_p2p[rank][i] = (uint32_t)b->chart->n_ops;
    return ps_chart_add_op(b->chart, op);
}

/* A receive feeds the computation that follows it, a send carries what the computation before it made. */
static int64_t step_of_p2p(const ps_mark_list *marks, const ps_p2p_op *op) {
    int64_t at = op->is_send ? op->start_ns : op->end_ns;
    /* marks[0..low) start before `at` */
    PS_PLACE(size_t, low, 0, marks->n, middle, marks->marks[middle].start_ns < at)
    size_t mark = op->is_send ? (low > 0 ? low - 1 : 0) : (low < marks->n ? low : marks->n - 1);
    return marks->marks[mark].step;
}

static bool add_works(building *b, const ps_intervals *rest, uint32_t rank_row) {
    bool ok = true;
    for (size_t i = 0; ok && rest != NULL && i < rest->n; i++) {
        ok = ps_chart_add_work(
            b->chart, (ps_chart_work){.start_ns = rest->at[i].start_ns - b->chart->origin_ns,
                                      .end_ns = rest->at[i].end_ns - b->chart->origin_ns,
                                      .rank = rank_row});
    }
    return ok;
}

/* Marks and operators of one rank, both in start order, merged. */
static bool add_measured_rank(building *b, size_t rank) {
    const ps_measured_rank *r = &b->ranks[rank];
    uint32_t rank_row = (uint32_t)b->chart->n_ranks;
    size_t n_p2p = r->p2p != NULL ? r->p2p->n : 0;
    b->row_of_p2p[rank] = ps_calloc(n_p2p, sizeof **b->row_of_p2p);
    if (b->row_of_p2p[rank] == NULL ||
        !ps_chart_add_rank(b->chart, (ps_chart_rank){.rank = (int32_t)r->rank,
                                                     .stage = r->place.stage,
                                                     .pipeline = r->place.pipeline,
                                                     .machine = r->machine,
                                                     .has_work = r->rest != NULL,
                                                     .recorded = r->clock})) {
        return false;
    }
    step_counts counts = {0};
    ps_idmap_init(&counts.by_step);
    size_t next_p2p = 0;
    bool ok = add_works(b, r->rest, rank_row);
    for (size_t i = 0; ok && i <= r->marks->n; i++) {
        bool last = i == r->marks->n;
        while (ok && next_p2p < n_p2p &&
               (last || r->p2p->ops[next_p2p].start_ns < r->marks->marks[i].start_ns)) {
            int64_t step = step_of_p2p(r->marks, &r->p2p->ops[next_p2p]);
            ok = add_measured_p2p(b, rank, next_p2p++, rank_row, step);
        }
        ok = ok && (last || r->labels[i].left_out || add_mark(b, r, i, rank_row, &counts));
    }
    ps_idmap_fini(&counts.by_step);
    ps_free(counts.counts);
    return ok;
}

static bool add_links(building *b) {
    for (size_t r = 0; r < b->n; r++) {
        bool has_p2p = b->row_of_p2p[r] != NULL && b->ranks[r].p2p != NULL;
        for (size_t i = 0; has_p2p && i < b->ranks[r].p2p->n; i++) {
            const ps_p2p_op *op = &b->ranks[r].p2p->ops[i];
            bool paired =
                op->is_send && op->peer_rank != PS_NO_PEER && b->row_of_p2p[op->peer_rank] != NULL;
            if (paired &&
                !ps_chart_add_link(b->chart,
                                   (ps_chart_link){b->row_of_p2p[r][i],
                                                   b->row_of_p2p[op->peer_rank][op->peer_op]})) {
                return false;
            }
        }
    }
    return true;
}

static void find_origin(building *b) {
    int64_t origin = INT64_MAX;
    for (size_t r = 0; r < b->n; r++) {
        if (b->ranks[r].marks != NULL && b->ranks[r].marks->marks[0].start_ns < origin) {
            origin = b->ranks[r].marks->marks[0].start_ns;
        }
    }
    b->chart->origin_ns = origin != INT64_MAX ? origin : 0;
}

ps_chart *ps_measured_chart(const ps_measured_rank *ranks, size_t n, bool is_classic, ps_lang lang,
                            ps_err *err) {
    building b = {.chart = ps_chart_new(), .ranks = ranks, .n = n, .is_classic = is_classic};
    b.row_of_p2p = ps_calloc(n, sizeof *b.row_of_p2p);
    bool ok = b.chart != NULL && b.row_of_p2p != NULL;
    if (ok) {
        b.chart->lang = lang;
        find_origin(&b);
    }
    for (size_t r = 0; ok && r < n; r++) {
        ok = ranks[r].marks == NULL || add_measured_rank(&b, r);
    }
    ok = ok && add_links(&b);
    for (size_t r = 0; b.row_of_p2p != NULL && r < n; r++) {
        ps_free(b.row_of_p2p[r]);
    }
    ps_free(b.row_of_p2p);
    if (!ok) {
        ps_chart_free(b.chart);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return b.chart;
}
