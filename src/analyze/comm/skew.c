#include "analyze/comm/skew.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/comm/skew_match.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

/* --- who came late -------------------------------------------------------------------------------------------- */

/* Whether all parts are on one clock. */
static bool is_comparable(const ps_skew *out, const ps_matched_collective *m) {
    const ps_collective_part *p = &out->parts[m->first];
    bool same = true;
    for (uint32_t i = 1; same && i < m->n; i++) {
        same = out->clocks[p[i].rank].reference == out->clocks[p[0].rank].reference;
    }
    return same;
}

static int64_t lateness_duration_of(const ps_comm_op *op) {
    return ps_skew_minus(op->end_ns, op->start_ns);
}

/* Where clocks cannot be compared, all are taken to end together. */
static int64_t lateness_start_of(const ps_skew_work *w, const ps_collective_part *p,
                                 bool comparable) {
    const ps_comm_op *op = ps_skew_op(w->in, p->rank, p->op);
    return comparable ? ps_skew_time(w->out, p->rank, op->start_ns) : -lateness_duration_of(op);
}

/* A mistaken match: nobody can leave before the last one came. Only short operators, which end together, may seem to
 * because clocks are not exact. */
static bool is_possible(const ps_skew_work *w, const ps_matched_collective *m, int64_t last) {
    const ps_collective_part *parts = &w->out->parts[m->first];
    if (!is_comparable(w->out, m) || !ps_skew_is_symmetric(w->in, w->out, m)) {
        return true;
    }
    int64_t first_end = INT64_MAX;
    int64_t last_end = INT64_MIN;
    for (uint32_t i = 0; i < m->n; i++) {
        const ps_comm_op *op = ps_skew_op(w->in, parts[i].rank, parts[i].op);
        int64_t end = ps_skew_time(w->out, parts[i].rank, op->end_ns);
        first_end = end < first_end ? end : first_end;
        last_end = end > last_end ? end : last_end;
    }
    return last <= first_end || ps_skew_minus(last_end, first_end) <= PS_SKEW_TOLERANCE_NS;
}

/* False when the parts cannot be of one collective. */
static bool measure_collective(ps_skew_work *w, ps_matched_collective *m) {
    ps_collective_part *parts = &w->out->parts[m->first];
    bool comparable = is_comparable(w->out, m);
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    int64_t before_last = INT64_MIN;
    m->longest_ns = 0;
    m->shortest_ns = INT64_MAX;
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t start = lateness_start_of(w, &parts[i], comparable);
        int64_t duration = lateness_duration_of(ps_skew_op(w->in, parts[i].rank, parts[i].op));
        parts[i].late_ns = start; /* until the first is known */
        first = start < first ? start : first;
        if (start > last) {
            before_last = last;
            last = start;
            m->last = m->first + i;
        } else if (start > before_last) {
            before_last = start;
        }
        m->longest_ns = duration > m->longest_ns ? duration : m->longest_ns;
        m->shortest_ns = duration < m->shortest_ns ? duration : m->shortest_ns;
    }
    m->start_ns = comparable ? first : ps_skew_op(w->in, parts[0].rank, parts[0].op)->start_ns;
    m->late_ns = ps_skew_minus(last, before_last);
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t wait = ps_skew_minus(last, parts[i].late_ns);
        int64_t duration = lateness_duration_of(ps_skew_op(w->in, parts[i].rank, parts[i].op));
        parts[i].waited_ns = wait < duration ? wait : duration;
        m->waited_ns = ps_skew_plus(m->waited_ns, parts[i].waited_ns);
        parts[i].late_ns = ps_skew_minus(parts[i].late_ns, first);
    }
    return is_possible(w, m, last);
}

/* After they helped to match the others and to know the clocks. */
static void drop_outside(ps_skew_work *w) {
    ps_skew *out = w->out;
    size_t n = 0;
    for (size_t i = 0; i < out->n_collectives; i++) {
        if (out->collectives[i].step != PS_STEP_OUTSIDE) {
            w->collective_groups[n] = w->collective_groups[i];
            out->collectives[n++] = out->collectives[i];
        }
    }
    out->n_collectives = n;
    n = 0;
    for (size_t i = 0; i < out->n_receives; i++) {
        if (out->receives[i].step != PS_STEP_OUTSIDE) {
            out->receives[n++] = out->receives[i];
        }
    }
    out->n_receives = n;
}

static void measure_all_lateness(ps_skew_work *w) {
    ps_skew *out = w->out;
    size_t n = 0;
    for (size_t i = 0; i < out->n_collectives; i++) {
        ps_matched_collective m = out->collectives[i];
        if (!measure_collective(w, &m)) {
            out->n_unmatched += m.n;
            continue;
        }
        w->collective_groups[n] = w->collective_groups[i];
        out->collectives[n++] = m;
    }
    out->n_collectives = n;
}

/* --- sums ----------------------------------------------------------------------------------------------------- */

typedef struct sums {
    ps_skew_work *w;
    uint32_t *row_of; /* [n_ranks] row of the rank in the group at hand, from 1 */
    size_t begin;     /* rows of the group */
    size_t cap;
} sums;

static ps_skew_row *row_for(sums *s, uint32_t rank, ps_str group, bool is_p2p) {
    ps_skew *out = s->w->out;
    if (s->row_of[rank] <= s->begin) {
        if (!ps_grow(&out->rows, &s->cap, out->n_rows + 1, UINT32_MAX - 1, sizeof *out->rows)) {
            return NULL;
        }
        out->rows[out->n_rows] = (ps_skew_row){.rank = rank, .group = group, .is_p2p = is_p2p};
        s->row_of[rank] = (uint32_t)++out->n_rows;
    }
    return &out->rows[s->row_of[rank] - 1];
}

static void behind(ps_skew_row *row, int64_t ns) {
    row->behind_ns = ps_skew_plus(row->behind_ns, ns);
    row->most_behind_ns = ns > row->most_behind_ns ? ns : row->most_behind_ns;
}

static bool sum_collective(sums *s, const ps_matched_collective *m) {
    const ps_skew *out = s->w->out;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const ps_collective_part *p = &out->parts[i];
        ps_skew_row *row = row_for(s, p->rank, m->group, false);
        if (row == NULL) {
            return false;
        }
        row->n++;
        behind(row, p->late_ns);
        row->waited_ns = ps_skew_plus(row->waited_ns, p->waited_ns);
        if (i == m->last && m->late_ns > 0) {
            row->n_last++;
            row->late_ns = ps_skew_plus(row->late_ns, m->late_ns);
        }
    }
    return true;
}

static bool sum_receive(sums *s, const ps_skew_receive *r) {
    ps_skew_row *sender = row_for(s, r->sender, r->group, true);
    if (sender == NULL) {
        return false;
    }
    sender->n++;
    sender->n_unknown += !r->is_known;
    sender->n_last += r->waited_ns > 0;
    sender->late_ns = ps_skew_plus(sender->late_ns, r->waited_ns);
    behind(sender, r->waited_ns);
    ps_skew_row *receiver = row_for(s, r->receiver, r->group, true);
    if (receiver == NULL) {
        return false;
    }
    receiver->n_waits++;
    receiver->n_waits_unknown += !r->is_known;
    receiver->waited_ns = ps_skew_plus(receiver->waited_ns, r->waited_ns);
    return true;
}

/* Both lists are still sorted by group. */
static bool sum_up(ps_skew_work *w) {
    ps_skew *out = w->out;
    sums s = {.w = w, .row_of = ps_calloc(w->in->n_ranks + 1, sizeof *s.row_of)};
    bool ok = s.row_of != NULL;
    for (size_t i = 0; ok && i < out->n_collectives; i++) {
        bool is_new = i == 0 || w->collective_groups[i] != w->collective_groups[i - 1];
        s.begin = is_new ? out->n_rows : s.begin;
        ok = sum_collective(&s, &out->collectives[i]);
    }
    for (size_t i = 0; ok && i < out->n_receives; i++) {
        bool is_new = i == 0 || !ps_str_eq(out->receives[i].group, out->receives[i - 1].group);
        s.begin = is_new ? out->n_rows : s.begin;
        ok = sum_receive(&s, &out->receives[i]);
    }
    ps_free(s.row_of);
    return ok;
}

/* --- order ---------------------------------------------------------------------------------------------------- */

static int compare_lateness_texts(const ps_skew *skew, ps_str a, ps_str b) {
    return ps_str_eq(a, b)
               ? 0
               : strcmp(ps_strpool_get(&skew->strings, a), ps_strpool_get(&skew->strings, b));
}

static int compare_collectives(const void *a, const void *b, void *skew) {
    const ps_matched_collective *x = a;
    const ps_matched_collective *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    int by_group = compare_lateness_texts(skew, x->group, y->group);
    int by_name = by_group != 0 ? by_group : compare_lateness_texts(skew, x->name, y->name);
    if (by_name != 0) {
        return by_name;
    }
    const ps_collective_part *parts = ((const ps_skew *)skew)->parts;
    const ps_collective_part *p = &parts[x->first];
    const ps_collective_part *q = &parts[y->first];
    return p->rank != q->rank ? (p->rank < q->rank ? -1 : 1) : (p->op < q->op ? -1 : p->op > q->op);
}

PS_COMPARE(compare_receives, ps_skew_receive, PS_BY(start_ns) PS_BY(receiver) PS_BY(receive_op))

static int compare_lateness_rows(const void *a, const void *b, void *skew) {
    const ps_skew_row *x = a;
    const ps_skew_row *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->is_p2p != y->is_p2p) {
        return x->is_p2p ? 1 : -1;
    }
    int by_group = compare_lateness_texts(skew, x->group, y->group);
    if (by_group != 0) {
        return by_group;
    }
    return x->late_ns != y->late_ns ? (x->late_ns < y->late_ns ? -1 : 1)
                                    : (x->n < y->n ? -1 : x->n > y->n);
}

static void sort_all(ps_skew_work *w) {
    ps_skew *out = w->out;
    if (out->n_collectives > 1) {
        qsort_r(out->collectives, out->n_collectives, sizeof *out->collectives, compare_collectives,
                out);
    }
    ps_sort(out->receives, out->n_receives, sizeof *out->receives, compare_receives);
    if (out->n_rows > 1) {
        qsort_r(out->rows, out->n_rows, sizeof *out->rows, compare_lateness_rows, out);
    }
}

/* Unnamed communicators are told apart by time, for which the clocks must be known; and they are known better once that
 * is done. */
static bool match_anew(ps_skew_work *w) {
    ps_skew *out = w->out;
    ps_free(out->collectives);
    ps_free(out->parts);
    ps_free(w->collective_groups);
    out->collectives = NULL;
    out->parts = NULL;
    w->collective_groups = NULL;
    out->n_collectives = 0;
    out->n_parts = 0;
    out->n_unmatched = w->n_apart;
    w->has_clocks = true;
    bool ok = ps_skew_match(w);
    ps_free(out->clocks);
    out->clocks = NULL;
    return ok && ps_skew_clocks(w);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

ps_code ps_skew_measure(const ps_skew_input *in, ps_skew *out, ps_err *err) {
    *out = (ps_skew){0};
    ps_skew_work w = {.in = in, .out = out};
    bool ok = ps_strpool_init(&out->strings) && ps_skew_gather(&w) && ps_skew_receives(&w);
    w.n_apart = out->n_unmatched;
    ok = ok && ps_skew_match(&w) && ps_skew_clocks(&w) && (w.n_loose == 0 || match_anew(&w));
    if (ok) {
        ps_skew_wait(&w);
        if (in->in_steps) {
            drop_outside(&w);
        }
        measure_all_lateness(&w);
        ok = sum_up(&w);
    }
    if (ok) {
        sort_all(&w);
    }
    ps_free(w.entries);
    ps_free(w.plain);
    ps_free(w.collective_groups);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_skew_fini(ps_skew *skew) {
    ps_free(skew->collectives);
    ps_free(skew->parts);
    ps_free(skew->receives);
    ps_free(skew->rows);
    ps_free(skew->clocks);
    ps_strpool_fini(&skew->strings);
    *skew = (ps_skew){0};
}
