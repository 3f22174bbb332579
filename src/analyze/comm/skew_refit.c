/* Where nothing names the communicators of a capture, operators of several of them lie in one stretch, and counting them
 * off brings together what never met. What does not fit is matched anew by the ends, on one clock: the closest ends first,
 * as long as all parts overlap and no rank takes part twice. */

#include "analyze/comm/skew_match.h"
#include "base/alloc.h"
#include "base/sort.h"

typedef struct candidate {
    int64_t start_ns, end_ns; /* on the clock of the reference */
    uint32_t reference, rank;
    size_t at; /* in the stretch */
} candidate;

typedef struct pause_between {
    int64_t ns;
    size_t at; /* of candidates `at` and the next one */
} pause_between;

typedef struct refit {
    ps_skew_work *w;
    ps_skew_entry *e;
    size_t n;
    int64_t *number; /* [n] new ones; -1 none yet */
    candidate *pool; /* by reference and end; clusters are ranges of it */
    size_t n_pool;
    size_t *first, *last; /* of a cluster: first[its last], last[its first] */
    int64_t *latest_ns;   /* start in a cluster, at its first */
    uint32_t *stamp;      /* [n_ranks] cluster that has seen the rank, from 1 */
    uint32_t n_stamps;
    pause_between *pauses;
} refit;

static candidate candidate_of(const refit *f, size_t i) {
    const ps_skew_entry *e = &f->e[i];
    const ps_skew *out = f->w->out;
    const ps_comm_op *op = ps_skew_op(f->w->in, e->rank, e->op);
    return (candidate){.start_ns = ps_skew_time(out, e->rank, op->start_ns),
                       .end_ns = ps_skew_time(out, e->rank, op->end_ns),
                       .reference = out->clocks[e->rank].reference,
                       .rank = e->rank,
                       .at = i};
}

/* How the parts [from, to) of what was counted off lie to one another. */
typedef enum fit { FIT_NONE, FIT_OVERLAP, FIT_ENDS } fit;

static fit fit_of(const refit *f, size_t from, size_t to) {
    candidate c = candidate_of(f, from);
    uint32_t reference = c.reference;
    int64_t latest_ns = c.start_ns;
    int64_t first_end_ns = c.end_ns;
    int64_t last_end_ns = c.end_ns;
    for (size_t i = from + 1; i < to; i++) {
        c = candidate_of(f, i);
        if (c.reference != reference) {
            return FIT_ENDS; /* nobody can tell */
        }
        latest_ns = c.start_ns > latest_ns ? c.start_ns : latest_ns;
        first_end_ns = c.end_ns < first_end_ns ? c.end_ns : first_end_ns;
        last_end_ns = c.end_ns > last_end_ns ? c.end_ns : last_end_ns;
    }
    bool ends_meet = ps_skew_minus(last_end_ns, first_end_ns) <= PS_SKEW_TOLERANCE_NS;
    if (latest_ns >= first_end_ns || to - from < 2) {
        return FIT_NONE;
    }
    return ends_meet ? FIT_ENDS : FIT_OVERLAP;
}

/* The end of the operators that were counted off as one. */
static size_t run_end(const refit *f, size_t from) {
    size_t to = from + 1;
    while (to < f->n && f->e[to].name == f->e[from].name && f->e[to].number == f->e[from].number) {
        to++;
    }
    return to;
}

static const ps_sort_key BY_END[] = {PS_UP(candidate, reference), PS_UP(candidate, end_ns),
                                     PS_UP(candidate, rank), PS_UP(candidate, at)};

static const ps_sort_key BY_PAUSE[] = {PS_UP(pause_between, ns), PS_UP(pause_between, at)};

/* Keeps what fits; all else goes into the pool. */
static void divide_refit(refit *f) {
    for (size_t i = 0; i < f->n;) {
        size_t k = run_end(f, i);
        bool keep = f->e[i].number >= 0 && fit_of(f, i, k) == FIT_ENDS;
        for (size_t j = i; j < k; j++) {
            f->number[j] = keep ? (int64_t)i : -1;
            if (!keep) {
                f->pool[f->n_pool++] = candidate_of(f, j);
            }
        }
        i = k;
    }
    ps_sort_by(f->pool, f->n_pool, sizeof *f->pool, PS_KEYS(BY_END));
}

static bool have_other_ranks(refit *f, size_t from, size_t middle, size_t to) {
    f->n_stamps++;
    for (size_t i = from; i < middle; i++) {
        f->stamp[f->pool[i].rank] = f->n_stamps;
    }
    for (size_t i = middle; i < to; i++) {
        if (f->stamp[f->pool[i].rank] == f->n_stamps) {
            return false;
        }
    }
    return true;
}

/* Joins the cluster that ends with `at` with the one behind it, if they can be one. */
static void join_refit(refit *f, size_t at) {
    size_t first = f->first[at];
    size_t last = f->last[at + 1];
    int64_t latest_ns =
        f->latest_ns[at + 1] > f->latest_ns[first] ? f->latest_ns[at + 1] : f->latest_ns[first];
    const candidate *p = f->pool;
    if (ps_skew_minus(p[last].end_ns, p[first].end_ns) <= PS_SKEW_TOLERANCE_NS &&
        latest_ns < p[first].end_ns && have_other_ranks(f, first, at + 1, last + 1)) {
        f->first[last] = first;
        f->last[first] = last;
        f->latest_ns[first] = latest_ns;
    }
}

static void join_all(refit *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_pool; i++) {
        const candidate *p = &f->pool[i];
        f->first[i] = i;
        f->last[i] = i;
        f->latest_ns[i] = p->start_ns;
        if (i + 1 < f->n_pool && p[1].reference == p->reference &&
            ps_skew_minus(p[1].end_ns, p->end_ns) <= PS_SKEW_TOLERANCE_NS) {
            f->pauses[n++] = (pause_between){p[1].end_ns - p->end_ns, i};
        }
    }
    ps_sort_by(f->pauses, n, sizeof *f->pauses, PS_KEYS(BY_PAUSE));
    for (size_t i = 0; i < n; i++) {
        join_refit(f, f->pauses[i].at);
    }
    for (size_t i = 0; i < f->n_pool; i = f->last[i] + 1) {
        for (size_t k = i; f->last[i] > i && k <= f->last[i]; k++) {
            f->number[f->pool[k].at] = (int64_t)(f->n + i);
        }
    }
}

/* What was counted off and overlaps stays, though its ends differ, where nobody found a better one. */
static void keep_overlapping(refit *f) {
    for (size_t i = 0; i < f->n;) {
        size_t k = run_end(f, i);
        bool keep = f->e[i].number >= 0 && fit_of(f, i, k) == FIT_OVERLAP;
        for (size_t j = i; keep && j < k; j++) {
            keep = f->number[j] < 0;
        }
        for (size_t j = i; keep && j < k; j++) {
            f->number[j] = (int64_t)i;
        }
        i = k;
    }
}

bool ps_skew_refit(ps_skew_work *w, ps_skew_entry *e, size_t n) {
    refit f = {.w = w,
               .e = e,
               .n = n,
               .number = ps_calloc(n + 1, sizeof *f.number),
               .pool = ps_calloc(n + 1, sizeof *f.pool),
               .first = ps_calloc(n + 1, sizeof *f.first),
               .last = ps_calloc(n + 1, sizeof *f.last),
               .latest_ns = ps_calloc(n + 1, sizeof *f.latest_ns),
               .stamp = ps_calloc(w->in->n_ranks + 1, sizeof *f.stamp),
               .pauses = ps_calloc(n + 1, sizeof *f.pauses)};
    bool ok = f.number != NULL && f.pool != NULL && f.first != NULL && f.last != NULL &&
              f.latest_ns != NULL && f.stamp != NULL && f.pauses != NULL;
    if (ok) {
        divide_refit(&f);
        join_all(&f);
        keep_overlapping(&f);
        for (size_t i = 0; i < n; i++) {
            e[i].number = f.number[i];
            e[i].name = 0;
        }
    }
    ps_free(f.number);
    ps_free(f.pool);
    ps_free(f.first);
    ps_free(f.last);
    ps_free(f.latest_ns);
    ps_free(f.stamp);
    ps_free(f.pauses);
    return ok;
}
