/* What the device gains without an activity of the host beyond the idle time that lies in the activity itself. The host is then
 * earlier for all that it launches behind it: it has a lead. Each later moment in which the device waits for the host takes from the
 * lead as much as it is long, and that is won. A lead ends where the host waits itself, for a device at work or for another rank: it waits
 * longer then. */
#include <stdio.h>

#include "analyze/report/report.h"
#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

#define LEAST_WAIT_NS 20000

/* --- one rank --------------------------------------------------------------------------------------------------------- */

/* Activities that one rule counts together. */
typedef struct lead_group {
    int first, last;
} lead_group;

static lead_group lead_group_of(int activity) {
    static const lead_group GROUPS[] = {{PS_ACTIVITY_ONLINE, PS_ACTIVITY_COMPILE},
                                        {PS_ACTIVITY_LOGGING, PS_ACTIVITY_CHECKPOINT}};
    for (size_t i = 0; i < sizeof GROUPS / sizeof *GROUPS; i++) {
        if (activity >= GROUPS[i].first && activity <= GROUPS[i].last) {
            return GROUPS[i];
        }
    }
    return (lead_group){activity, activity};
}

/* A moment in which a device waits for the host, or does nothing but copy what goes with the activity. */
typedef struct lead_piece {
    int64_t device, start_ns, end_ns;
    int cause;
    bool is_comm, is_copy; /* what it does meanwhile */
} lead_piece;

typedef struct lead_pieces {
    lead_piece *at; /* by device and start */
    size_t n;
    ps_intervals idle; /* the devices do nothing, for whatever reason */
} lead_pieces;

typedef struct lead_walk {
    ps_report_rank *out;
    ps_intervals own; /* where the host is in the group */
    ps_intervals waits;
    lead_group group;
    int64_t lead_ns;
    int64_t at_ns;    /* all of the host before it is counted */
    size_t next_wait; /* the first that begins behind it */
    bool counts;      /* what is won */
} lead_walk;

static const ps_sort_key BY_LEAD_PLACE[] = {PS_UP(lead_piece, device), PS_UP(lead_piece, start_ns),
                                            PS_UP(lead_piece, end_ns)};

static void list_lead_pieces(lead_pieces *all, const ps_overlaps *overlaps, const ps_idle_piece *at,
                             size_t n, bool is_comm) {
    for (size_t i = 0; i < n; i++) {
        if (ps_idle_is_hosts(at[i].cause)) {
            all->at[all->n++] = (lead_piece){.device = overlaps->at[at[i].row].device,
                                             .start_ns = at[i].start_ns,
                                             .end_ns = at[i].end_ns,
                                             .cause = at[i].cause,
                                             .is_comm = is_comm};
        }
    }
}

/* The host goes on to `until_ns`. */
static void walk_lead_host(lead_walk *w, int64_t until_ns) {
    for (; w->next_wait < w->waits.n; w->next_wait++) {
        const ps_interval *wait = &w->waits.at[w->next_wait];
        if (wait->start_ns >= until_ns) {
            break;
        }
        w->lead_ns = 0;
        w->at_ns = wait->end_ns > w->at_ns ? wait->end_ns : w->at_ns;
    }
    if (until_ns > w->at_ns) {
        w->lead_ns = ps_i64_plus(w->lead_ns, ps_intervals_within_ns(&w->own, w->at_ns, until_ns));
        w->at_ns = until_ns;
    }
}

/* What the rule counts as idle time, or as copies, of its own is won there. So is what else the host does inside. */
static bool walk_lead_piece(lead_walk *w, const lead_piece *p) {
    ps_report_stops *stops = &w->out->stops[w->group.first];
    walk_lead_host(w, p->start_ns);
    int64_t inside_ns = ps_intervals_within_ns(&w->own, p->start_ns, p->end_ns);
    w->at_ns = p->end_ns > w->at_ns ? p->end_ns : w->at_ns;
    if (p->cause >= w->group.first && p->cause <= w->group.last) {
        return true;
    }
    int64_t behind_ns = p->end_ns - p->start_ns - inside_ns;
    behind_ns = w->lead_ns < behind_ns ? w->lead_ns : behind_ns;
    int64_t won_ns = inside_ns + behind_ns;
    w->lead_ns -= behind_ns;
    if (!w->counts) {
        return true;
    }
    int64_t *sum_ns = p->is_comm ? &stops->lead_comm_ns : &stops->lead_ns;
    *sum_ns = ps_i64_plus(*sum_ns, won_ns);
    return won_ns == 0 || ps_intervals_add(&stops->lead_spans, w->out->origin_ns + p->start_ns,
                                           w->out->origin_ns + p->start_ns + won_ns);
}

/* Over the pieces of one device, from the lead that the host has where they begin. */
static bool walk_lead_device(lead_walk *w, const lead_piece *at, size_t n, int64_t lead_ns) {
    bool ok = true;
    w->lead_ns = lead_ns;
    w->at_ns = INT64_MIN;
    w->next_wait = 0;
    for (size_t i = 0; ok && i < n; i++) {
        bool is_others =
            at[i].is_copy && (at[i].cause < w->group.first || at[i].cause > w->group.last);
        ok = is_others || walk_lead_piece(w, &at[i]);
    }
    walk_lead_host(w, INT64_MAX);
    return ok;
}

/* The captured steps are taken to come again: the lead that is left at the end of the last one is that of the first, whose beginning it
 * hides. So the walk is done twice, and counts the second time. */
static bool walk_lead(lead_walk *w, const lead_pieces *all) {
    bool ok = true;
    for (size_t from = 0, to = 0; ok && from < all->n; from = to) {
        while (to < all->n && all->at[to].device == all->at[from].device) {
            to++;
        }
        w->counts = false;
        ok = w->out->has_no_ends || walk_lead_device(w, &all->at[from], to - from, 0);
        w->counts = true;
        ok = ok &&
             walk_lead_device(w, &all->at[from], to - from, w->out->has_no_ends ? 0 : w->lead_ns);
    }
    ps_report_limit_spans(&w->out->stops[w->group.first].lead_spans);
    return ok;
}

static bool add_lead_spans(ps_intervals *to, const ps_intervals *from) {
    bool ok = true;
    for (size_t i = 0; ok && i < from->n; i++) {
        ok = ps_intervals_add(to, from->at[i].start_ns, from->at[i].end_ns);
    }
    return ok;
}

/* Not of what is done already: such a call returns at once, or the device has nothing to do. */
static bool add_lead_waits(ps_intervals *to, const ps_intervals *calls, const ps_intervals *idle) {
    bool ok = true;
    for (size_t i = 0; ok && i < calls->n; i++) {
        const ps_interval *c = &calls->at[i];
        int64_t length_ns = c->end_ns - c->start_ns;
        bool waits = length_ns >= LEAST_WAIT_NS &&
                     ps_intervals_within_ns(idle, c->start_ns, c->end_ns) < length_ns;
        ok = !waits || ps_intervals_add(to, c->start_ns, c->end_ns);
    }
    return ok;
}

/* Where the host is in the group, and where it waits, but for what is inside of that. */
static bool list_lead_spans(lead_walk *w, const ps_intervals *idle, const ps_intervals *of) {
    ps_intervals waits = {0};
    bool ok = true;
    for (int activity = w->group.first; ok && activity <= w->group.last; activity++) {
        ok = add_lead_spans(&w->own, &of[activity]);
    }
    ok = ok && add_lead_waits(&waits, &of[PS_ACTIVITY_COPY], idle) &&
         add_lead_waits(&waits, &of[PS_ACTIVITY_SYNC], idle) &&
         add_lead_spans(&waits, &of[PS_ACTIVITY_RECEIVE]);
    ps_intervals_unite(&w->own);
    ps_intervals_unite(&waits);
    ok = ok && ps_intervals_minus(&waits, &w->own, &w->waits);
    ps_intervals_fini(&waits);
    return ok;
}

static bool gather_lead(const lead_pieces *all, const ps_intervals *of, int activity,
                        ps_report_rank *r) {
    lead_walk w = {.out = r, .group = lead_group_of(activity)};
    bool ok = w.group.first != activity || list_lead_spans(&w, &all->idle, of);
    ok = ok && (w.own.n == 0 || walk_lead(&w, all));
    ps_intervals_fini(&w.own);
    ps_intervals_fini(&w.waits);
    return ok;
}

bool ps_report_goes_with_copies(int activity) {
    return activity == PS_ACTIVITY_BUFFERS || activity == PS_ACTIVITY_BUCKETS;
}

/* Where a process has several devices its copies are taken to be those of the first. */
static void list_lead_copies(lead_pieces *all, int64_t device, const ps_intervals *copies) {
    for (int activity = 0; activity < PS_N_ACTIVITIES; activity++) {
        for (size_t k = 0; ps_report_goes_with_copies(activity) && k < copies[activity].n; k++) {
            const ps_interval *c = &copies[activity].at[k];
            all->at[all->n++] = (lead_piece){device, c->start_ns, c->end_ns, activity, false, true};
        }
    }
}

bool ps_report_gather_leads(const ps_idle *idle, const ps_overlaps *overlaps,
                            const ps_intervals *of, const ps_intervals *copies, ps_report_rank *r) {
    size_t n = idle->n + idle->n_comm + 1;
    for (int activity = 0; activity < PS_N_ACTIVITIES; activity++) {
        n += copies[activity].n;
    }
    lead_pieces all = {.at = ps_calloc(n, sizeof *all.at)};
    bool ok = all.at != NULL;
    for (size_t i = 0; ok && i < idle->n; i++) {
        ok = ps_intervals_add(&all.idle, idle->at[i].start_ns, idle->at[i].end_ns);
    }
    ps_intervals_unite(&all.idle);
    if (ok && overlaps->n > 0) {
        list_lead_pieces(&all, overlaps, idle->at, idle->n, false);
        list_lead_pieces(&all, overlaps, idle->comm, idle->n_comm, true);
        list_lead_copies(&all, overlaps->at[0].device, copies);
        ps_sort_by(all.at, all.n, sizeof *all.at, PS_KEYS(BY_LEAD_PLACE));
    }
    for (int activity = PS_ACTIVITY_OPTIMIZER; ok && activity < PS_N_ACTIVITIES; activity++) {
        ok = gather_lead(&all, of, activity, r);
    }
    ps_free(all.at);
    ps_intervals_fini(&all.idle);
    return ok;
}

/* --- what is said ----------------------------------------------------------------------------------------------------- */

ps_report_lead ps_report_lead_of(const ps_report_member *m, int activity, int64_t most_ns,
                                 int64_t most_comm_ns) {
    const ps_lang lang = m->lang;
    const ps_report_stops *stops = &m->facts->stops[activity];
    ps_report_lead l = {.idle_ns = stops->lead_ns,
                        .comm_ns = ps_report_per_step(m, stops->lead_comm_ns)};
    for (size_t i = 0; i < m->bubbles.n; i++) {
        const ps_interval *b = &m->bubbles.at[i];
        l.idle_ns -= ps_intervals_within_ns(&stops->lead_spans, b->start_ns, b->end_ns);
    }
    l.idle_ns = l.idle_ns > 0 ? ps_report_per_step(m, l.idle_ns) : 0;
    l.idle_ns = l.idle_ns < most_ns ? l.idle_ns : most_ns;
    most_comm_ns = most_comm_ns < most_ns - l.idle_ns ? most_comm_ns : most_ns - l.idle_ns;
    l.comm_ns = l.comm_ns < most_comm_ns ? l.comm_ns : most_comm_ns;
    if (l.idle_ns + l.comm_ns > 0) {
        (void)snprintf(
            l.text, sizeof l.text,
            PS_SAY(
                lang,
                " Without it the host also comes earlier to what it launches behind, also in the step that "
                "follows: up to %s more.",
                "没有它，主机也会更早到达其后要下发的工作（包括下一个 step）：最多再省 %s。"),
            ps_ns_text_of(l.idle_ns + l.comm_ns).text);
    }
    return l;
}
