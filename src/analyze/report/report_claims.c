#include "analyze/report/report_claims.h"

#include "analyze/report/report.h"
#include "base/num.h"

static const ps_stop_rule STOPS[] = {
    {PS_RULE_DATA_LOADING, PS_ACTIVITY_DATA, PS_ACTIVITY_DATA},
    {PS_RULE_BLOCKING_COPY, PS_ACTIVITY_COPY, PS_ACTIVITY_COPY},
    {PS_RULE_BLOCKING_SYNC, PS_ACTIVITY_SYNC, PS_ACTIVITY_SYNC},
    {PS_RULE_HOST_OPTIMIZER, PS_ACTIVITY_OPTIMIZER, PS_ACTIVITY_OPTIMIZER},
    {PS_RULE_MODEL_BUFFERS, PS_ACTIVITY_BUFFERS, PS_ACTIVITY_BUFFERS},
    {PS_RULE_BUCKET_COPIES, PS_ACTIVITY_BUCKETS, PS_ACTIVITY_BUCKETS},
    {PS_RULE_OTHER_WORK, PS_ACTIVITY_LOGGING, PS_ACTIVITY_CHECKPOINT},
    {PS_RULE_JIT_COMPILE, PS_ACTIVITY_ONLINE, PS_ACTIVITY_COMPILE},
    {PS_RULE_ALLOCATION, PS_ACTIVITY_MEMORY, PS_ACTIVITY_MEMORY},
    {PS_RULE_GC_PAUSE, PS_ACTIVITY_GC, PS_ACTIVITY_GC},
};

#define N_STOPS (sizeof STOPS / sizeof *STOPS)

const ps_stop_rule *ps_report_stop_rule(size_t i) {
    return i < N_STOPS ? &STOPS[i] : NULL;
}

const ps_stop_rule *ps_report_stop_rule_of(ps_rule_id rule) {
    for (size_t i = 0; i < N_STOPS; i++) {
        if (STOPS[i].rule == rule) {
            return &STOPS[i];
        }
    }
    return NULL;
}

bool ps_report_claims(ps_rule_id rule) {
    return rule == PS_RULE_FREE_SHARE || rule == PS_RULE_BEFORE_FIRST_WORK ||
           rule == PS_RULE_EXPOSED_COPIES || rule == PS_RULE_COMM_EXPOSED ||
           ps_report_stop_rule_of(rule) != NULL;
}

/* --- idle time ---------------------------------------------------------------------------------------------------------- */

int64_t ps_report_hidden_in_time_ns(const ps_report_member *m) {
    int64_t own_ns = m->exposed_ns - m->waits_ns - ps_report_awaited_own_ns(m);
    own_ns = own_ns > 0 ? own_ns : 0;
    return m->late_comm_ns < own_ns ? m->late_comm_ns : own_ns;
}

int64_t ps_report_edges_ns(const ps_report_member *m) {
    return ps_i64_plus(m->before_ns, m->after_ns) - m->edge_bubble_ns;
}

/* Where the host waits in a blocking call it waits for the communication, and not the device for the host: host-waits-comm. */
static bool leaves_comm_alone(int cause) {
    return ps_idle_is_hosts(cause) && cause != PS_ACTIVITY_COPY && cause != PS_ACTIVITY_SYNC;
}

/* Of these causes, per step: communication alone before the next computing was launched, outside of the pipeline bubble. */
static int64_t comm_alone_ns(const ps_report_member *m, int first, int last) {
    int64_t sum_ns = 0;
    for (int cause = first; cause <= last; cause++) {
        sum_ns = ps_i64_plus(sum_ns, leaves_comm_alone(cause) ? m->facts->late_comm_ns[cause] : 0);
        for (size_t i = 0; leaves_comm_alone(cause) && i < m->bubbles.n; i++) {
            const ps_interval *b = &m->bubbles.at[i];
            sum_ns -=
                ps_intervals_within_ns(&m->facts->late_comm_spans[cause], b->start_ns, b->end_ns);
        }
    }
    return sum_ns > 0 ? ps_report_per_step(m, sum_ns) : 0;
}

/* Outside of the pipeline bubble, in which nothing would have run anyway. */
static int64_t stopped_ns(const ps_report_member *m, const ps_stop_rule *rule) {
    int64_t sum = 0;
    for (int k = rule->first; k <= rule->last; k++) {
        sum = ps_i64_plus(sum, m->facts->stops[k].idle_ns);
        for (size_t i = 0; i < m->bubbles.n; i++) {
            const ps_interval *b = &m->bubbles.at[i];
            sum -= ps_intervals_within_ns(&m->facts->idle_spans[k], b->start_ns, b->end_ns);
        }
    }
    return sum > 0 ? ps_report_per_step(m, sum) : 0;
}

/* What the device copies for it, and nothing else beside. */
static int64_t own_copies_ns(const ps_report_member *m, const ps_stop_rule *rule) {
    int64_t sum = 0;
    for (int k = rule->first; k <= rule->last; k++) {
        sum = ps_i64_plus(sum, ps_report_goes_with_copies(k) ? m->facts->stops[k].copies_ns : 0);
    }
    return ps_report_per_step(m, sum);
}

/* What is known not to wait for another rank, as operators, frames and blocking calls may. */
static bool is_work(int activity) {
    static const bool WORK[PS_N_ACTIVITIES] = {
        [PS_ACTIVITY_CALL] = true,    [PS_ACTIVITY_OPTIMIZER] = true, [PS_ACTIVITY_ONLINE] = true,
        [PS_ACTIVITY_COMPILE] = true, [PS_ACTIVITY_MEMORY] = true,    [PS_ACTIVITY_DATA] = true};
    return WORK[activity];
}

int64_t ps_report_other_idle_ns(const ps_report_member *m, ps_rule_id rule) {
    const ps_stop_rule *own = ps_report_stop_rule_of(rule);
    int64_t sum_ns = 0;
    for (int k = 0; own != NULL && m->bubbles.n == 0 && k < PS_N_ACTIVITIES; k++) {
        bool is_other = k < own->first || k > own->last;
        sum_ns = ps_i64_plus(sum_ns, is_other && is_work(k) ? ps_report_idle_ns(m->facts, k) : 0);
    }
    int64_t lead_ns =
        own != NULL ? m->facts->stops[own->first].lead_ns : 0; /* that need not wait */
    return sum_ns > lead_ns ? ps_report_per_step(m, sum_ns - lead_ns) : 0;
}

/* --- claims --------------------------------------------------------------------------------------------------------------- */

/* No more is won behind it than all that the device waits for the host, of which a part is counted already. */
static void claim_stop(const ps_report_member *m, const ps_stop_rule *rule, ps_report_claim *c) {
    c->idle_ns = stopped_ns(m, rule);
    c->copies_ns = own_copies_ns(m, rule);
    c->late_comm_ns = comm_alone_ns(m, rule->first, rule->last);
    int64_t most_ns = ps_i64_plus(m->host_ns, comm_alone_ns(m, 0, PS_N_ACTIVITIES - 1));
    int64_t counted_ns = ps_i64_plus(c->idle_ns, c->late_comm_ns);
    int64_t hidden_ns = ps_report_hidden_in_time_ns(m);
    c->ahead = ps_report_lead_of(m, rule->first, most_ns > counted_ns ? most_ns - counted_ns : 0,
                                 hidden_ns > c->late_comm_ns ? hidden_ns - c->late_comm_ns : 0);
}

ps_report_claim ps_report_claim_of(const ps_report_member *m, ps_rule_id rule) {
    ps_report_claim c = {0};
    const ps_stop_rule *stop = ps_report_stop_rule_of(rule);
    if (stop != NULL) {
        claim_stop(m, stop, &c);
    } else if (rule == PS_RULE_FREE_SHARE) {
        c.idle_ns = m->host_ns;
        c.late_comm_ns = comm_alone_ns(m, 0, PS_N_ACTIVITIES - 1);
    } else if (rule == PS_RULE_BEFORE_FIRST_WORK) {
        c.idle_ns = m->computing_ns > 0 ? ps_report_edges_ns(m) : 0;
    } else if (rule == PS_RULE_EXPOSED_COPIES) {
        c.copies_ns = m->copies_ns;
    }
    int64_t hidden_ns = ps_report_hidden_in_time_ns(m);
    c.comm_ns =
        ps_i64_plus(c.late_comm_ns < hidden_ns ? c.late_comm_ns : hidden_ns, c.ahead.comm_ns);
    c.gain_ns =
        ps_i64_plus(ps_i64_plus(c.idle_ns, c.copies_ns), ps_i64_plus(c.comm_ns, c.ahead.idle_ns));
    if (rule == PS_RULE_COMM_EXPOSED) {
        c.gain_ns = ps_report_exposed_gain_ns(m);
    }
    return c;
}

/* --- where ---------------------------------------------------------------------------------------------------------------- */

static bool add_claim_spans(const ps_intervals *spans, ps_intervals *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < spans->n; i++) {
        ok = ps_intervals_add(out, spans->at[i].start_ns, spans->at[i].end_ns);
    }
    return ok;
}

/* Causes are activities of the host. */
static bool add_idle_spans(const ps_report_member *m, int first, int last, ps_intervals *out) {
    bool ok = true;
    for (int cause = first; ok && cause <= last; cause++) {
        ok = !ps_idle_is_hosts(cause) || add_claim_spans(&m->facts->idle_spans[cause], out);
        ok = ok &&
             (!leaves_comm_alone(cause) || add_claim_spans(&m->facts->late_comm_spans[cause], out));
    }
    return ok;
}

bool ps_report_claim_spans(const ps_report_member *m, ps_rule_id rule, ps_intervals *out) {
    const ps_stop_rule *stop = ps_report_stop_rule_of(rule);
    if (stop != NULL) {
        return add_idle_spans(m, stop->first, stop->last, out) &&
               add_claim_spans(&m->facts->stops[stop->first].lead_spans, out);
    }
    bool ok = true;
    for (size_t i = 0; ok && rule == PS_RULE_BEFORE_FIRST_WORK && i < m->facts->n_edges; i++) {
        ok = ps_intervals_add(out, m->facts->edges[i].start_ns, m->facts->edges[i].end_ns);
    }
    return rule == PS_RULE_FREE_SHARE       ? add_idle_spans(m, 0, PS_N_ACTIVITIES - 1, out)
           : rule == PS_RULE_EXPOSED_COPIES ? add_claim_spans(&m->facts->copy_spans, out)
                                            : ok;
}
