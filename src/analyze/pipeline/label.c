/* Banded dynamic programming (Ukkonen): cell (i, j) = cheapest way to use up the first i marks and the first j
 * ops, with j - i inside a band. A path that leaves the band misses or leaves out more than `band` entries, so
 * once the cost found is below what that would cost the band was wide enough; else it is doubled. */
#include "analyze/pipeline/label.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

/* Costs in thousandths of the unit the header names. */
enum {
    COST_MICROBATCH = 3000,
    COST_EXTRA = 2000,
    COST_EMPTY_WEIGHT = 500,
    COST_MISSING = 2000,
    COST_NO_ROOM = 100, /* on top, between marks that leave no room for another */
    IDLE_BONUS = 400
};

#define COST_MAX (INT64_MAX / 4)

/* Beyond this the marks are so unlike the list that labels would be guesses. */
#define MAX_CELLS ((size_t)256 << 20)

typedef enum step_taken { TAKE_MATCH, TAKE_MISSING, TAKE_EXTRA } step_taken;

typedef struct problem {
    const ps_mark *marks;
    size_t n;
    const ps_sched_op *ops;
    size_t m;
    int64_t max_gap_ns;      /* longest idle time between two marks */
    int64_t usual_ns;        /* median duration of the marks */
    int64_t empty_weight_ns; /* a weight-gradient mark shorter than this did no work */
} problem;

/* What a mark of this kind can stand for. A backward mark may be whole, input-gradient only, or that of the
 * output head: the message does not say. */
static bool kinds_agree(uint8_t mark, ps_op_kind op) {
    return mark == op || (mark == PS_OP_B && (op == PS_OP_BI || op == PS_OP_LOGITS));
}

static int64_t match_cost(const problem *p, size_t i, size_t j) {
    const ps_mark *mark = &p->marks[i];
    const ps_sched_op *op = &p->ops[j];
    if (!kinds_agree(mark->kind, op->kind)) {
        return COST_MAX;
    }
    return mark->microbatch < 0 || mark->microbatch == op->microbatch ? 0 : COST_MICROBATCH;
}

static int64_t extra_cost(const problem *p, size_t i) {
    const ps_mark *mark = &p->marks[i];
    bool empty = mark->kind == PS_OP_BW && mark->end_ns - mark->start_ns < p->empty_weight_ns;
    return empty ? COST_EMPTY_WEIGHT : COST_EXTRA;
}

/* An op is missed between mark i - 1 and mark i. */
static int64_t missing_cost(const problem *p, size_t i) {
    if (i == 0 || i == p->n || p->max_gap_ns == 0) {
        return COST_MISSING;
    }
    int64_t gap = p->marks[i].start_ns - p->marks[i - 1].end_ns;
    if (gap <= 0 || gap < p->usual_ns / 2) {
        return COST_MISSING + COST_NO_ROOM;
    }
    return COST_MISSING - (int64_t)((double)IDLE_BONUS * ((double)gap / (double)p->max_gap_ns));
}

/* Row i holds columns j in [first(i), first(i) + width). */
typedef struct band {
    size_t below, above; /* how far j - i may go down and up */
    size_t width;
    int64_t *cost[2];
    uint8_t *taken; /* (n + 1) * width */
} band;

static ptrdiff_t first_column(const band *b, size_t i) {
    return (ptrdiff_t)i - (ptrdiff_t)b->below;
}

static int64_t cost_at(const band *b, const int64_t *row, size_t i, ptrdiff_t j) {
    ptrdiff_t k = j - first_column(b, i);
    return k >= 0 && k < (ptrdiff_t)b->width ? row[k] : COST_MAX;
}

static void fill_row(const problem *p, band *b, size_t i) {
    int64_t *row = b->cost[i % 2];
    const int64_t *above = b->cost[(i + 1) % 2];
    int64_t missing = missing_cost(p, i);
    for (size_t k = 0; k < b->width; k++) {
        ptrdiff_t j = first_column(b, i) + (ptrdiff_t)k;
        int64_t best = COST_MAX;
        step_taken how = TAKE_MATCH;
        if (j < 0 || j > (ptrdiff_t)p->m) {
            row[k] = COST_MAX;
            continue;
        }
        if (i == 0 && j == 0) {
            best = 0;
        }
        if (i > 0 && j > 0) {
            int64_t match = match_cost(p, i - 1, (size_t)j - 1);
            int64_t before = cost_at(b, above, i - 1, j - 1);
            if (match < COST_MAX && before + match < best) {
                best = before + match;
            }
        }
        if (j > 0 && k > 0 && row[k - 1] + missing < best) {
            best = row[k - 1] + missing;
            how = TAKE_MISSING;
        }
        if (i > 0 && cost_at(b, above, i - 1, j) + extra_cost(p, i - 1) < best) {
            best = cost_at(b, above, i - 1, j) + extra_cost(p, i - 1);
            how = TAKE_EXTRA;
        }
        row[k] = best < COST_MAX ? best : COST_MAX;
        b->taken[i * b->width + k] = (uint8_t)how;
    }
}

/* No path that leaves the band is cheaper: what one list is longer by is missing or left out on every path, and going
 * beyond and coming back costs one missing op and one left out mark per entry on top. */
static int64_t cost_outside(const problem *p, size_t slack) {
    const int64_t missing = COST_MISSING - IDLE_BONUS;
    const int64_t extra = COST_EMPTY_WEIGHT;
    int64_t unavoidable =
        p->m > p->n ? (int64_t)(p->m - p->n) * missing : (int64_t)(p->n - p->m) * extra;
    return unavoidable + (int64_t)slack * (missing + extra);
}

static bool band_init(band *b, const problem *p, size_t slack) {
    size_t longer = p->m > p->n ? p->m - p->n : 0;
    size_t shorter = p->n > p->m ? p->n - p->m : 0;
    *b = (band){.below = shorter + slack, .above = longer + slack};
    b->width = b->below + b->above + 1;
    b->cost[0] = ps_calloc(b->width, sizeof(int64_t));
    b->cost[1] = ps_calloc(b->width, sizeof(int64_t));
    b->taken = ps_calloc(p->n + 1, b->width);
    return b->cost[0] != NULL && b->cost[1] != NULL && b->taken != NULL;
}

static void band_fini(band *b) {
    ps_free(b->cost[0]);
    ps_free(b->cost[1]);
    ps_free(b->taken);
}

static void walk_back(const problem *p, const band *b, ps_alignment *out) {
    size_t i = p->n;
    size_t j = p->m;
    while (i > 0 || j > 0) {
        size_t k = (size_t)((ptrdiff_t)j - first_column(b, i));
        switch ((step_taken)b->taken[i * b->width + k]) {
        case TAKE_MATCH:
            out->op_of_mark[--i] = (uint32_t)--j;
            break;
        case TAKE_MISSING:
            out->first_missing = (uint32_t)--j;
            out->n_missing++;
            break;
        case TAKE_EXTRA:
            out->op_of_mark[--i] = PS_UNLABELLED;
            break;
        }
    }
    for (i = 0; i < p->n; i++) {
        uint32_t op = out->op_of_mark[i];
        if (op == PS_UNLABELLED) {
            out->n_unlabelled++;
        } else if (match_cost(p, i, op) == 0) {
            out->n_agreeing++;
        } else {
            out->n_by_kind++;
        }
    }
}

static void give_up(const problem *p, ps_alignment *out) {
    for (size_t i = 0; i < p->n; i++) {
        out->op_of_mark[i] = PS_UNLABELLED;
    }
    out->n_unlabelled = p->n;
    out->n_missing = p->m;
    out->first_missing = p->m > 0 ? 0 : PS_UNLABELLED;
    out->cost = COST_MAX;
}

/* Idle times, usual durations, and what "no work" means: less than a hundredth of the longest weight-gradient mark
 * (not of the median one: most may be empty). */
static bool measure_alignment(problem *p) {
    int64_t *durations = ps_calloc(p->n, sizeof *durations);
    if (durations == NULL) {
        return false;
    }
    int64_t longest_weight = 0;
    for (size_t i = 0; i < p->n; i++) {
        const ps_mark *mark = &p->marks[i];
        durations[i] = mark->end_ns - mark->start_ns;
        if (i > 0 && mark->start_ns - p->marks[i - 1].end_ns > p->max_gap_ns) {
            p->max_gap_ns = mark->start_ns - p->marks[i - 1].end_ns;
        }
        if (mark->kind == PS_OP_BW && durations[i] > longest_weight) {
            longest_weight = durations[i];
        }
    }
    p->empty_weight_ns = longest_weight / 100;
    if (p->n > 0) {
        qsort(durations, p->n, sizeof *durations, ps_compare_i64);
        p->usual_ns = ps_midpoint_i64(durations[(p->n - 1) / 2], durations[p->n / 2]);
    }
    ps_free(durations);
    return true;
}

/* The usual case: nothing lost, nothing extra. */
static bool match_one_to_one(const problem *p, ps_alignment *out) {
    if (p->n != p->m) {
        return false;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (match_cost(p, i, i) != 0) {
            return false;
        }
        out->op_of_mark[i] = (uint32_t)i;
    }
    out->n_agreeing = p->n;
    return true;
}

ps_code ps_align_within(const ps_mark *marks, size_t n_marks, const ps_op_list *list,
                        size_t max_slack, ps_alignment *out, ps_err *err) {
    *out = (ps_alignment){.first_missing = PS_UNLABELLED};
    problem p = {.marks = marks, .n = n_marks, .ops = list->ops, .m = list->n};
    out->op_of_mark = ps_calloc(n_marks, sizeof *out->op_of_mark);
    if (out->op_of_mark == NULL) {
        return ps_fail_nomem(err);
    }
    if (match_one_to_one(&p, out)) {
        return PS_OK;
    }
    if (!measure_alignment(&p)) {
        ps_alignment_fini(out);
        return ps_fail_nomem(err);
    }
    size_t longest = p.n > p.m ? p.n : p.m;
    size_t shortest = p.n < p.m ? p.n : p.m;
    for (size_t slack = 16;; slack *= 4) {
        slack = slack < longest ? slack : longest;
        size_t cells = (p.n + 1) * (2 * slack + 1 + (longest - shortest));
        if (cells > MAX_CELLS || slack > max_slack || longest - shortest > max_slack) {
            give_up(&p, out);
            return PS_OK;
        }
        band b;
        if (!band_init(&b, &p, slack)) {
            band_fini(&b);
            ps_alignment_fini(out);
            return ps_fail_nomem(err);
        }
        for (size_t i = 0; i <= p.n; i++) {
            fill_row(&p, &b, i);
        }
        int64_t cost = cost_at(&b, b.cost[p.n % 2], p.n, (ptrdiff_t)p.m);
        if (cost <= cost_outside(&p, slack) || slack == longest) {
            out->cost = cost;
            walk_back(&p, &b, out);
            band_fini(&b);
            return PS_OK;
        }
        band_fini(&b);
    }
}

ps_code ps_align(const ps_mark *marks, size_t n_marks, const ps_op_list *list, ps_alignment *out,
                 ps_err *err) {
    return ps_align_within(marks, n_marks, list, SIZE_MAX, out, err);
}

void ps_alignment_fini(ps_alignment *a) {
    ps_free(a->op_of_mark);
    *a = (ps_alignment){0};
}

void ps_given_part_archive(ps_archive *a, void *part) {
    ps_given_part *x = part;
    PS_ARCHIVE(a, x, start_ns, end_ns, name, communicates);
    PS_ARCHIVE_BELOW(a, x, kind, PS_N_OP_KINDS);
}

void ps_given_label_archive(ps_archive *a, void *label) {
    ps_given_label *x = label;
    PS_ARCHIVE(a, x, name, type, op.chunk, op.microbatch, op.chunk2, op.microbatch2, op.phase,
               work_ns, has_op, left_out);
    PS_ARCHIVE_BELOW(a, x, op.kind, PS_N_OP_KINDS);
    PS_ARCHIVE_BELOW(a, x, source, PS_SOURCE_SIMULATED + 1);
}
