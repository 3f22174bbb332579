/* Computing that pays: what a step would save if it took no time, as far as the rank itself tells. It does not pay
 *
 *   beside communication, which takes as long without it;
 *   before the device waits for the host (a gap whose work behind it was launched late): a kernel that ends earlier only makes the
 *   gap longer, back to the gap before, to the last communication (others may wait for that) and to the last call in which the
 *   host waited for the device (which lets it go on earlier).
 *
 * A kernel that is not launched at all saves its host time, too: of those only what lies beside communication is left out.
 * What is left is an upper bound. Of several devices in a rank only the first point is looked at. */
#include "analyze/rank/host_activity.h"
#include "analyze/report/report_gather.h"
#include "base/num.h"

typedef struct pays {
    const ps_host_activity *host;
    const ps_overlaps *overlaps;
    const ps_idle *idle;
    ps_intervals communication, blocked; /* united; from the origin */
    ps_intervals paced;                  /* what the host's launches pace */
    ps_intervals gaps;                   /* the waits for the host behind that, by start */
} pays;

#define LONG_LAUNCH_NS INT64_C(1000000)

/* The host waits for the device, or may do: it goes on as soon as that has done its work. A driver that frees memory waits, too. */
static bool waits_for_device(int activity) {
    return activity == PS_ACTIVITY_COPY || activity == PS_ACTIVITY_SYNC ||
           activity == PS_ACTIVITY_MEMORY;
}

static bool list_blocked(pays *p) {
    const ps_slices *s = ps_trace_slices(p->host->links->trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (waits_for_device(p->host->of[i]) && ps_host_activity_begins(p->host, i)) {
            ok = ps_intervals_add(&p->blocked, s->start_ns[i], s->start_ns[i] + s->dur_ns[i]);
        }
        /* A launch that takes long may stand before a full queue. */
        uint32_t call = ps_is_launched(s->kind[i]) ? p->host->links->call[i] : PS_NONE;
        if (ok && call != PS_NONE && s->dur_ns[call] >= LONG_LAUNCH_NS &&
            p->host->of[call] == PS_ACTIVITY_CALL) {
            ok = ps_intervals_add(&p->blocked, s->start_ns[call],
                                  s->start_ns[call] + s->dur_ns[call]);
        }
    }
    ps_intervals_unite(&p->blocked);
    return ok;
}

static bool list_communication(pays *p) {
    bool ok = true;
    for (size_t r = 0; ok && r < p->overlaps->n; r++) {
        const ps_intervals *of = &p->overlaps->spans[r].communication;
        for (size_t i = 0; ok && i < of->n; i++) {
            ok = ps_intervals_add(&p->communication, of->at[i].start_ns, of->at[i].end_ns);
        }
    }
    ps_intervals_unite(&p->communication);
    return ok;
}

/* The end of the last of a united list that begins before `at_ns`; INT64_MIN: none does. */
static int64_t end_before(const ps_intervals *list, int64_t at_ns) {
    size_t low = 0;
    for (size_t high = list->n; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (list->at[mid].start_ns < at_ns) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > 0 ? list->at[low - 1].end_ns : INT64_MIN;
}

/* What the host did as the device ran dry; of a host that nobody recorded it is not known whether it waited for the device. */
static bool is_paced(const ps_idle_piece *first) {
    return ps_idle_is_hosts(first->cause) && first->cause != PS_ACTIVITY_NONE;
}

/* Pieces that touch are one gap. */
static bool find_paced(pays *p) {
    const ps_idle *idle = p->idle;
    int64_t last_gap_ns = INT64_MIN; /* the end of the last one that is the host's */
    bool ok = true;
    for (size_t i = 0, end = 0; ok && i < idle->n; i = end) {
        bool is_hosts = ps_idle_is_hosts(idle->at[i].cause);
        for (end = i + 1; end < idle->n && idle->at[end].start_ns == idle->at[end - 1].end_ns;) {
            is_hosts = is_hosts || ps_idle_is_hosts(idle->at[end].cause);
            end++;
        }
        int64_t gap_ns = idle->at[i].start_ns;
        int64_t from_ns = ps_larger(last_gap_ns, end_before(&p->communication, gap_ns));
        from_ns = ps_larger(from_ns, end_before(&p->blocked, idle->at[end - 1].end_ns));
        if (is_hosts) {
            last_gap_ns = idle->at[end - 1].end_ns;
            ok = !is_paced(&idle->at[i]) || from_ns >= gap_ns ||
                 (ps_intervals_add(&p->paced, ps_larger(from_ns, INT64_MIN / 2), gap_ns) &&
                  ps_intervals_add(&p->gaps, gap_ns, last_gap_ns));
        }
    }
    ps_intervals_unite(&p->paced);
    ps_intervals_unite(&p->gaps);
    return ok;
}

static bool has_one_device(const ps_overlaps *o) {
    for (size_t i = 1; i < o->n; i++) {
        if (o->at[i].device != o->at[0].device) {
            return false;
        }
    }
    return true;
}

bool ps_report_find_paying(const ps_host_activity *host, const ps_overlaps *overlaps,
                           const ps_idle *idle, ps_report_paying *out) {
    pays p = {.host = host, .overlaps = overlaps, .idle = idle};
    ps_intervals computing = {0};
    bool ok =
        list_communication(&p) && list_blocked(&p) && (!has_one_device(overlaps) || find_paced(&p));
    for (size_t r = 0; ok && r < overlaps->n; r++) {
        const ps_intervals *of = &overlaps->spans[r].computing;
        for (size_t i = 0; ok && i < of->n; i++) {
            ok = ps_intervals_add(&computing, of->at[i].start_ns, of->at[i].end_ns);
        }
    }
    ps_intervals_unite(&computing);
    ok = ok && ps_intervals_minus(&computing, &p.communication, &out->alone) &&
         ps_intervals_minus(&out->alone, &p.paced, &out->paying);
    out->gaps = p.gaps;
    ps_intervals_fini(&computing);
    ps_intervals_fini(&p.communication);
    ps_intervals_fini(&p.blocked);
    ps_intervals_fini(&p.paced);
    return ok;
}

void ps_report_paying_fini(ps_report_paying *p) {
    ps_intervals_fini(&p->alone);
    ps_intervals_fini(&p->paying);
    ps_intervals_fini(&p->gaps);
}
