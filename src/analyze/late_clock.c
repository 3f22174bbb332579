/* Clocks are placed from the lowest rank outwards, one communicator after the other: whoever shares collectives with a
 * rank that is placed is placed by the median difference of their ends. Each communicator is used once. */
#include "analyze/late_match.h"

#include <stdlib.h>

#include "analyze/transfers.h"
#include "base/alloc.h"
#include "base/idmap.h"

typedef struct group_span {
    size_t begin, end; /* meetings */
} group_span;

typedef struct difference {
    int64_t ns;
    uint32_t clock;
} difference;

typedef struct clocks {
    ps_late_work *w;
    uint32_t *clock_of;    /* [n_ranks] ranks of one machine share a clock */
    uint32_t *next, *head; /* ranks of a clock as a list: head[clock], next[rank] */
    uint32_t n;
    int64_t *offset;     /* [n] */
    uint32_t *reference; /* [n] rank; PS_NONE: not placed */
    uint32_t *queue;     /* [n] clocks placed */
    size_t n_queued;
    group_span *groups;
    size_t n_groups;
    uint32_t *rank_groups,
        *rank_first; /* groups of each rank: rank_groups[rank_first[r] .. rank_first[r + 1]) */
    bool *is_used;   /* [n_groups] */
    difference *differences;
    size_t n_differences, cap_differences;
} clocks;

/* --- what there is -------------------------------------------------------------------------------------------- */

static bool number_clocks(clocks *c) {
    const ps_late_input *in = c->w->in;
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (uint32_t r = 0; r < in->n_ranks; r++) {
        c->head[r] = PS_NONE;
    }
    for (uint32_t i = (uint32_t)in->n_ranks; i > 0; i--) {
        c->next[i - 1] = PS_NONE;
    }
    for (uint32_t r = 0; ok && r < in->n_ranks; r++) {
        int32_t machine = in->ranks[r].machine;
        uint32_t clock = machine >= 0 ? ps_idmap_get(&seen, (uint64_t)machine) : PS_IDMAP_NONE;
        if (clock == PS_IDMAP_NONE) {
            clock = c->n++;
            ok = machine < 0 || ps_idmap_put(&seen, (uint64_t)machine, clock);
        }
        c->clock_of[r] = clock;
        c->next[r] = c->head[clock];
        c->head[clock] = r;
    }
    ps_idmap_fini(&seen);
    return ok;
}

static bool find_groups(clocks *c) {
    const ps_late_work *w = c->w;
    size_t n = w->out->n_meetings;
    c->groups = ps_calloc(n + 1, sizeof *c->groups);
    for (size_t i = 0; c->groups != NULL && i < n;) {
        size_t k = i;
        while (k < n && w->meeting_groups[k] == w->meeting_groups[i]) {
            k++;
        }
        c->groups[c->n_groups++] = (group_span){i, k};
        i = k;
    }
    c->is_used = ps_calloc(c->n_groups + 1, sizeof *c->is_used);
    return c->groups != NULL && c->is_used != NULL;
}

/* Calls of the same with `rank_groups` unset only count. */
static void visit_members(clocks *c, uint32_t *last, uint32_t *count) {
    const ps_late *out = c->w->out;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        for (size_t m = c->groups[g].begin; m < c->groups[g].end; m++) {
            for (uint32_t p = 0; p < out->meetings[m].n; p++) {
                uint32_t rank = out->parts[out->meetings[m].first + p].rank;
                if (last[rank] == g + 1) {
                    continue;
                }
                last[rank] = g + 1;
                if (c->rank_groups != NULL) {
                    c->rank_groups[c->rank_first[rank] + count[rank]] = g;
                }
                count[rank]++;
            }
        }
    }
}

static bool find_members(clocks *c) {
    size_t n = c->w->in->n_ranks;
    uint32_t *last = ps_calloc(n + 1, sizeof *last);
    uint32_t *count = ps_calloc(n + 1, sizeof *count);
    c->rank_first = ps_calloc(n + 1, sizeof *c->rank_first);
    bool ok = last != NULL && count != NULL && c->rank_first != NULL;
    if (ok) {
        visit_members(c, last, count);
        for (size_t r = 0; r < n; r++) {
            c->rank_first[r + 1] = c->rank_first[r] + count[r];
            last[r] = 0;
            count[r] = 0;
        }
        c->rank_groups = ps_calloc((size_t)c->rank_first[n] + 1, sizeof *c->rank_groups);
        ok = c->rank_groups != NULL;
    }
    if (ok) {
        visit_members(c, last, count);
    }
    ps_free(last);
    ps_free(count);
    return ok;
}

/* --- placing -------------------------------------------------------------------------------------------------- */

bool ps_late_is_symmetric(const ps_late_work *w, const ps_meeting *m) {
    const ps_meeting_part *p = &w->out->parts[m->first];
    const ps_comm_list *list = w->in->lists[p->rank];
    const ps_comm_op *op = &list->ops[p->op];
    return ps_is_symmetric(ps_comm_text(list, op->type)) ||
           ps_is_symmetric(ps_comm_text(list, op->name));
}

static int64_t end_of(const ps_late_work *w, const ps_meeting_part *p) {
    return ps_late_op(w->in, p->rank, p->op)->end_ns;
}

/* Differences of the ends of clocks that are not placed to those of `rank`. */
static bool compare_ends(clocks *c, uint32_t group, uint32_t rank) {
    const ps_late *out = c->w->out;
    for (size_t i = c->groups[group].begin; i < c->groups[group].end; i++) {
        const ps_meeting *m = &out->meetings[i];
        const ps_meeting_part *parts = &out->parts[m->first];
        uint32_t own = 0;
        while (own < m->n && parts[own].rank != rank) {
            own++;
        }
        if (own == m->n || !ps_late_is_symmetric(c->w, m)) {
            continue;
        }
        int64_t end = ps_late_minus(end_of(c->w, &parts[own]), c->offset[c->clock_of[rank]]);
        for (uint32_t p = 0; p < m->n; p++) {
            uint32_t clock = c->clock_of[parts[p].rank];
            if (c->reference[clock] != PS_NONE) {
                continue;
            }
            if (!ps_grow(&c->differences, &c->cap_differences, c->n_differences + 1, SIZE_MAX / 32,
                         sizeof *c->differences)) {
                return false;
            }
            c->differences[c->n_differences++] =
                (difference){ps_late_minus(end_of(c->w, &parts[p]), end), clock};
        }
    }
    return true;
}

static int by_clock(const void *a, const void *b) {
    const difference *x = a;
    const difference *y = b;
    if (x->clock != y->clock) {
        return x->clock < y->clock ? -1 : 1;
    }
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void place(clocks *c, uint32_t clock, int64_t offset_ns, uint32_t reference) {
    c->offset[clock] = offset_ns;
    c->reference[clock] = reference;
    c->queue[c->n_queued++] = clock;
}

static bool use_group(clocks *c, uint32_t group, uint32_t rank) {
    c->is_used[group] = true;
    c->n_differences = 0;
    if (!compare_ends(c, group, rank)) {
        return false;
    }
    difference *d = c->differences;
    if (c->n_differences > 1) {
        qsort(d, c->n_differences, sizeof *d, by_clock);
    }
    for (size_t i = 0; i < c->n_differences;) {
        size_t k = i;
        while (k < c->n_differences && d[k].clock == d[i].clock) {
            k++;
        }
        place(c, d[i].clock, d[i + (k - i - 1) / 2].ns, c->reference[c->clock_of[rank]]);
        i = k;
    }
    return true;
}

static bool place_all(clocks *c) {
    size_t done = 0;
    for (uint32_t first = 0; first < c->n; first++) {
        if (c->reference[first] != PS_NONE) {
            continue;
        }
        uint32_t lowest = c->head[first];
        for (uint32_t r = c->head[first]; r != PS_NONE; r = c->next[r]) {
            lowest = r;
        }
        place(c, first, 0, lowest);
        for (; done < c->n_queued; done++) {
            for (uint32_t r = c->head[c->queue[done]]; r != PS_NONE; r = c->next[r]) {
                for (uint32_t g = c->rank_first[r]; g < c->rank_first[r + 1]; g++) {
                    uint32_t group = c->rank_groups[g];
                    if (!c->is_used[group] && !use_group(c, group, r)) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

bool ps_late_clocks(ps_late_work *w) {
    size_t n = w->in->n_ranks;
    clocks c = {.w = w,
                .clock_of = ps_calloc(n + 1, sizeof *c.clock_of),
                .next = ps_calloc(n + 1, sizeof *c.next),
                .head = ps_calloc(n + 1, sizeof *c.head),
                .offset = ps_calloc(n + 1, sizeof *c.offset),
                .reference = ps_calloc(n + 1, sizeof *c.reference),
                .queue = ps_calloc(n + 1, sizeof *c.queue)};
    w->out->clocks = ps_calloc(n + 1, sizeof *w->out->clocks);
    bool ok = c.clock_of != NULL && c.next != NULL && c.head != NULL && c.offset != NULL &&
              c.reference != NULL && c.queue != NULL && w->out->clocks != NULL &&
              number_clocks(&c) && find_groups(&c) && find_members(&c);
    for (uint32_t i = 0; ok && i < c.n; i++) {
        c.reference[i] = PS_NONE;
    }
    ok = ok && place_all(&c);
    for (size_t r = 0; ok && r < n; r++) {
        uint32_t clock = c.clock_of[r];
        w->out->clocks[r] = (ps_late_clock){c.offset[clock], c.reference[clock]};
    }
    ps_free(c.clock_of);
    ps_free(c.next);
    ps_free(c.head);
    ps_free(c.offset);
    ps_free(c.reference);
    ps_free(c.queue);
    ps_free(c.groups);
    ps_free(c.is_used);
    ps_free(c.rank_first);
    ps_free(c.rank_groups);
    ps_free(c.differences);
    return ok;
}
