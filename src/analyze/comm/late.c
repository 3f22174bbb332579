#include "analyze/comm/late.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/comm/late_match.h"
#include "base/alloc.h"

/* --- who came late -------------------------------------------------------------------------------------------- */

/* Whether all parts are on one clock. */
static bool is_comparable(const ps_late *out, const ps_meeting *m) {
    const ps_meeting_part *p = &out->parts[m->first];
    bool same = true;
    for (uint32_t i = 1; same && i < m->n; i++) {
        same = out->clocks[p[i].rank].reference == out->clocks[p[0].rank].reference;
    }
    return same;
}

static int64_t lateness_duration_of(const ps_comm_op *op) {
    return ps_late_minus(op->end_ns, op->start_ns);
}

/* Where clocks cannot be compared, all are taken to end together. */
static int64_t lateness_start_of(const ps_late_work *w, const ps_meeting_part *p, bool comparable) {
    const ps_comm_op *op = ps_late_op(w->in, p->rank, p->op);
    return comparable ? ps_late_time(w->out, p->rank, op->start_ns) : -lateness_duration_of(op);
}

/* A mistaken match: nobody can leave before the last one came. Only short operators, which end together, may seem to
 * because clocks are not exact. */
static bool is_possible(const ps_late_work *w, const ps_meeting *m, int64_t last) {
    const ps_meeting_part *parts = &w->out->parts[m->first];
    if (!is_comparable(w->out, m) || !ps_late_is_symmetric(w->in, w->out, m)) {
        return true;
    }
    int64_t first_end = INT64_MAX;
    int64_t last_end = INT64_MIN;
    for (uint32_t i = 0; i < m->n; i++) {
        const ps_comm_op *op = ps_late_op(w->in, parts[i].rank, parts[i].op);
        int64_t end = ps_late_time(w->out, parts[i].rank, op->end_ns);
        first_end = end < first_end ? end : first_end;
        last_end = end > last_end ? end : last_end;
    }
    return last <= first_end || ps_late_minus(last_end, first_end) <= PS_LATE_TOLERANCE_NS;
}

/* False when the parts cannot be of one collective. */
static bool measure_meeting(ps_late_work *w, ps_meeting *m) {
    ps_meeting_part *parts = &w->out->parts[m->first];
    bool comparable = is_comparable(w->out, m);
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    int64_t before_last = INT64_MIN;
    m->longest_ns = 0;
    m->shortest_ns = INT64_MAX;
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t start = lateness_start_of(w, &parts[i], comparable);
        int64_t duration = lateness_duration_of(ps_late_op(w->in, parts[i].rank, parts[i].op));
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
    m->start_ns = comparable ? first : ps_late_op(w->in, parts[0].rank, parts[0].op)->start_ns;
    m->late_ns = ps_late_minus(last, before_last);
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t wait = ps_late_minus(last, parts[i].late_ns);
        int64_t duration = lateness_duration_of(ps_late_op(w->in, parts[i].rank, parts[i].op));
        m->waited_ns = ps_late_plus(m->waited_ns, wait < duration ? wait : duration);
        parts[i].late_ns = ps_late_minus(parts[i].late_ns, first);
    }
    return is_possible(w, m, last);
}

static void measure_all_lateness(ps_late_work *w) {
    ps_late *out = w->out;
    size_t n = 0;
    for (size_t i = 0; i < out->n_meetings; i++) {
        ps_meeting m = out->meetings[i];
        if (!measure_meeting(w, &m)) {
            out->n_unmatched += m.n;
            continue;
        }
        w->meeting_groups[n] = w->meeting_groups[i];
        out->meetings[n++] = m;
    }
    out->n_meetings = n;
}

/* --- sums ----------------------------------------------------------------------------------------------------- */

typedef struct sums {
    ps_late_work *w;
    uint32_t *row_of; /* [n_ranks] row of the rank in the group at hand, from 1 */
    size_t begin;     /* rows of the group */
    size_t cap;
} sums;

static ps_late_row *row_for(sums *s, uint32_t rank, ps_str group, bool is_p2p) {
    ps_late *out = s->w->out;
    if (s->row_of[rank] <= s->begin) {
        if (!ps_grow(&out->rows, &s->cap, out->n_rows + 1, UINT32_MAX - 1, sizeof *out->rows)) {
            return NULL;
        }
        out->rows[out->n_rows] = (ps_late_row){.rank = rank, .group = group, .is_p2p = is_p2p};
        s->row_of[rank] = (uint32_t)++out->n_rows;
    }
    return &out->rows[s->row_of[rank] - 1];
}

static void behind(ps_late_row *row, int64_t ns) {
    row->behind_ns = ps_late_plus(row->behind_ns, ns);
    row->most_behind_ns = ns > row->most_behind_ns ? ns : row->most_behind_ns;
}

static bool sum_meeting(sums *s, const ps_meeting *m) {
    const ps_late *out = s->w->out;
    int64_t last = out->parts[m->last].late_ns;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const ps_meeting_part *p = &out->parts[i];
        ps_late_row *row = row_for(s, p->rank, m->group, false);
        if (row == NULL) {
            return false;
        }
        int64_t wait = ps_late_minus(last, p->late_ns);
        int64_t duration = lateness_duration_of(ps_late_op(s->w->in, p->rank, p->op));
        row->n++;
        behind(row, p->late_ns);
        row->waited_ns = ps_late_plus(row->waited_ns, wait < duration ? wait : duration);
        if (i == m->last && m->late_ns > 0) {
            row->n_last++;
            row->late_ns = ps_late_plus(row->late_ns, m->late_ns);
        }
    }
    return true;
}

static bool sum_receive(sums *s, const ps_late_receive *r) {
    ps_late_row *sender = row_for(s, r->sender, r->group, true);
    if (sender == NULL) {
        return false;
    }
    sender->n++;
    sender->n_unknown += !r->is_known;
    sender->n_last += r->waited_ns > 0;
    sender->late_ns = ps_late_plus(sender->late_ns, r->waited_ns);
    behind(sender, r->waited_ns);
    ps_late_row *receiver = row_for(s, r->receiver, r->group, true);
    if (receiver == NULL) {
        return false;
    }
    receiver->n_waits++;
    receiver->n_waits_unknown += !r->is_known;
    receiver->waited_ns = ps_late_plus(receiver->waited_ns, r->waited_ns);
    return true;
}

/* Both lists are still sorted by group. */
static bool sum_up(ps_late_work *w) {
    ps_late *out = w->out;
    sums s = {.w = w, .row_of = ps_calloc(w->in->n_ranks + 1, sizeof *s.row_of)};
    bool ok = s.row_of != NULL;
    for (size_t i = 0; ok && i < out->n_meetings; i++) {
        bool is_new = i == 0 || w->meeting_groups[i] != w->meeting_groups[i - 1];
        s.begin = is_new ? out->n_rows : s.begin;
        ok = sum_meeting(&s, &out->meetings[i]);
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

static int compare_lateness_texts(const ps_late *late, ps_str a, ps_str b) {
    return ps_str_eq(a, b)
               ? 0
               : strcmp(ps_strpool_get(&late->strings, a), ps_strpool_get(&late->strings, b));
}

static int compare_meetings(const void *a, const void *b, void *late) {
    const ps_meeting *x = a;
    const ps_meeting *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    int by_group = compare_lateness_texts(late, x->group, y->group);
    int by_name = by_group != 0 ? by_group : compare_lateness_texts(late, x->name, y->name);
    if (by_name != 0) {
        return by_name;
    }
    const ps_meeting_part *parts = ((const ps_late *)late)->parts;
    const ps_meeting_part *p = &parts[x->first];
    const ps_meeting_part *q = &parts[y->first];
    return p->rank != q->rank ? (p->rank < q->rank ? -1 : 1) : (p->op < q->op ? -1 : p->op > q->op);
}

static int compare_receives(const void *a, const void *b, void *work) {
    const ps_late_receive *x = a;
    const ps_late_receive *y = b;
    const ps_late_input *in = ((const ps_late_work *)work)->in;
    int64_t s = ps_late_op(in, x->receiver, x->receive_op)->start_ns;
    int64_t t = ps_late_op(in, y->receiver, y->receive_op)->start_ns;
    if (s != t) {
        return s < t ? -1 : 1;
    }
    if (x->receiver != y->receiver) {
        return x->receiver < y->receiver ? -1 : 1;
    }
    return x->receive_op < y->receive_op ? -1 : x->receive_op > y->receive_op;
}

static int compare_lateness_rows(const void *a, const void *b, void *late) {
    const ps_late_row *x = a;
    const ps_late_row *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->is_p2p != y->is_p2p) {
        return x->is_p2p ? 1 : -1;
    }
    int by_group = compare_lateness_texts(late, x->group, y->group);
    if (by_group != 0) {
        return by_group;
    }
    return x->late_ns != y->late_ns ? (x->late_ns < y->late_ns ? -1 : 1)
                                    : (x->n < y->n ? -1 : x->n > y->n);
}

static void sort_all(ps_late_work *w) {
    ps_late *out = w->out;
    if (out->n_meetings > 1) {
        qsort_r(out->meetings, out->n_meetings, sizeof *out->meetings, compare_meetings, out);
    }
    if (out->n_receives > 1) {
        qsort_r(out->receives, out->n_receives, sizeof *out->receives, compare_receives, w);
    }
    if (out->n_rows > 1) {
        qsort_r(out->rows, out->n_rows, sizeof *out->rows, compare_lateness_rows, out);
    }
}

/* Unnamed communicators are told apart by time, for which the clocks must be known; and they are known better once that
 * is done. */
static bool match_anew(ps_late_work *w) {
    ps_late *out = w->out;
    ps_free(out->meetings);
    ps_free(out->parts);
    ps_free(w->meeting_groups);
    out->meetings = NULL;
    out->parts = NULL;
    w->meeting_groups = NULL;
    out->n_meetings = 0;
    out->n_parts = 0;
    out->n_unmatched = w->n_apart;
    w->has_clocks = true;
    bool ok = ps_late_match(w);
    ps_free(out->clocks);
    out->clocks = NULL;
    return ok && ps_late_clocks(w);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

ps_code ps_late_measure(const ps_late_input *in, ps_late *out, ps_err *err) {
    *out = (ps_late){0};
    ps_late_work w = {.in = in, .out = out};
    bool ok = ps_strpool_init(&out->strings) && ps_late_gather(&w) && ps_late_receives(&w);
    w.n_apart = out->n_unmatched;
    ok = ok && ps_late_match(&w) && ps_late_clocks(&w) && (w.n_loose == 0 || match_anew(&w));
    if (ok) {
        ps_late_wait(&w);
        measure_all_lateness(&w);
        ok = sum_up(&w);
    }
    if (ok) {
        sort_all(&w);
    }
    ps_free(w.entries);
    ps_free(w.plain);
    ps_free(w.meeting_groups);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_late_fini(ps_late *late) {
    ps_free(late->meetings);
    ps_free(late->parts);
    ps_free(late->receives);
    ps_free(late->rows);
    ps_free(late->clocks);
    ps_strpool_fini(&late->strings);
    *late = (ps_late){0};
}
