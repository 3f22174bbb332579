/* Dispatch: does the device wait for the host, and for what; and what copies nothing hides. Idle time inside the pipeline
 * bubble is not the host's. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_claims.h"
#include "base/num.h"

static void show_event(ps_report *report, const ps_report_member *m, const ps_report_event *e,
                       const char *note) {
    ps_findings_evidence(&report->findings, (ps_evidence){.rank = m->rank,
                                                          .step = e->step,
                                                          .start_ns = e->start_ns,
                                                          .dur_ns = e->dur_ns,
                                                          .name = e->name,
                                                          .note = note});
}

/* --- free ---------------------------------------------------------------------------------------------------------- */

/* The last finding counts what its rule claims on the rank. */
static void claim_spans(ps_report *report, const ps_report_member *m, ps_rule_id rule) {
    ps_findings *f = &report->findings;
    if (!f->failed && f->n > 0) {
        f->failed = !ps_report_claim_spans(m, rule, &f->all[f->n - 1].spans);
    }
}

enum { COMM_TEXT = 320 };

/* Sentences; "" where nothing is to be said. What the device waits there for other ranks stays without the cause, too. */
static const char *comm_alone_text(const ps_report_claim *c, char out[COMM_TEXT]) {
    int64_t in_gain_ns = c->comm_ns - c->ahead.comm_ns;
    out[0] = '\0';
    if (c->late_comm_ns > 0) {
        (void)snprintf(out, COMM_TEXT,
                       " For %s more it does nothing but communicate with nothing to compute "
                       "launched yet, which a host in time may hide.",
                       ps_ns_text_of(c->late_comm_ns).text);
    }
    if (c->late_comm_ns - in_gain_ns > c->late_comm_ns / 10) {
        size_t n = strlen(out);
        (void)snprintf(
            out + n, COMM_TEXT - n,
            " Of that no more than %s is in the gain: for the rest the device waits for other ranks.",
            ps_ns_text_of(in_gain_ns).text);
    }
    return out;
}

static bool in_bubble(const ps_report_member *m, const ps_report_wait *w) {
    int64_t covered = ps_intervals_within_ns(&m->bubbles, w->start_ns, w->end_ns);
    return covered > (w->end_ns - w->start_ns) / 2;
}

#define MOST_OF_WAIT 0.9
#define LEAST_OF_WAIT 0.05

/* "host: operators and Python: aten::mm" where one thing fills it, else "host: blocking copies 4.32 ms, fetching a batch 3.65 ms" */
static void say_wait(const ps_report_wait *w, char *out, size_t size) {
    double length_ns = (double)(w->end_ns - w->start_ns);
    if ((double)w->parts[0].ns >= MOST_OF_WAIT * length_ns) {
        (void)snprintf(out, size, "host: %s%s%.100s",
                       ps_activity_text((ps_activity)w->parts[0].cause),
                       w->blocking[0] != '\0' ? ": " : "", w->blocking);
        return;
    }
    size_t at = (size_t)snprintf(out, size, "host: ");
    for (size_t i = 0; i < PS_REPORT_WAIT_PARTS && at < size; i++) {
        if ((double)w->parts[i].ns < LEAST_OF_WAIT * length_ns) {
            break;
        }
        bool is_named =
            i == 0 && w->blocking[0] != '\0'; /* what fills half is of the largest part */
        at += (size_t)snprintf(out + at, size - at, "%s%s %s%s%.80s%s", i > 0 ? ", " : "",
                               ps_activity_text((ps_activity)w->parts[i].cause),
                               ps_ns_text_of(w->parts[i].ns).text, is_named ? " (" : "",
                               is_named ? w->blocking : "", is_named ? ")" : "");
    }
}

/* The longest waits for the host that are no bubble; what is less than a hundredth of the time shows nothing. */
static void show_gaps(ps_report *report, const ps_report_member *m, bool before_kernels) {
    int64_t least_ns = before_kernels ? 0 : m->host_ns / 100;
    for (size_t i = 0; i < m->facts->n_waits; i++) {
        const ps_report_wait *w = &m->facts->waits[i];
        char note[256];
        if (in_bubble(m, w) || w->end_ns - w->start_ns < least_ns ||
            (before_kernels && !w->is_before_kernel)) {
            continue;
        }
        say_wait(w, note, sizeof note);
        char name[192];
        (void)snprintf(name, sizeof name, "idle %s%.140s",
                       w->next[0] != '\0' ? "before " : "after the last work", w->next);
        ps_findings_evidence(&report->findings, (ps_evidence){.rank = m->rank,
                                                              .step = w->step,
                                                              .start_ns = w->start_ns,
                                                              .dur_ns = w->end_ns - w->start_ns,
                                                              .name = name,
                                                              .note = note});
    }
}

/* Idle time by cause, the most first; what has none is left out. The parts add up to all of it. */
static void say_causes(const ps_report_member *m, char *out, size_t size) {
    static const char *const OTHERS[] = {"launched work that waited on the device",
                                         "work whose launch is not known"};
    const ps_report_rank *r = m->facts;
    int64_t n = r->n_steps > 0 ? (int64_t)r->n_steps : 1;
    bool said[PS_N_IDLE_CAUSES] = {false};
    size_t at = (size_t)snprintf(out, size, "All idle time by cause%s: ",
                                 m->bubble_ns > 0 ? ", with what lies in the bubble" : "");
    for (int k = 0; k < PS_N_IDLE_CAUSES; k++) {
        int most = -1;
        for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
            bool more = most < 0 || ps_report_idle_ns(r, cause) > ps_report_idle_ns(r, most);
            most = !said[cause] && more ? cause : most;
        }
        int64_t ns = ps_report_idle_ns(r, most) / n;
        said[most] = true;
        if (ns > 0 && at < size) {
            char names[200] = "";
            if (most == PS_ACTIVITY_RANGE) {
                ps_report_say_ranges(r, names, sizeof names);
            }
            at += (size_t)snprintf(out + at, size - at, "%s%s %s%s", k > 0 ? ", " : "",
                                   most < PS_N_ACTIVITIES ? ps_activity_text((ps_activity)most)
                                                          : OTHERS[most - PS_N_ACTIVITIES],
                                   ps_ns_text_of(ns).text, names);
        }
    }
    if (at < size) {
        (void)snprintf(out + at, size - at, ".");
    }
}

/* " Of operators and Python, each without what lies in it: ..." */
static void say_operators(const ps_report_member *m, ps_activity activity, char *out, size_t size) {
    char operators[800];
    ps_report_say_operators(m->facts, activity, operators, sizeof operators);
    if (operators[0] != '\0') {
        (void)snprintf(out, size, " Of %s, each without what lies in it: %s.",
                       ps_activity_text(activity), operators);
    }
}

static int64_t idle_ns(const ps_report_member *m) {
    return ps_i64_plus(ps_i64_plus(m->before_ns, m->free_ns), m->after_ns);
}

/* Shares are of the step of the job, as those of gains. */
static double host_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return ps_percent(m->host_ns, report->step_ns);
}

/* Fewer launches help where launching is what takes the time: that is not known of a host that nobody recorded. */
static const char UNRECORDED_HOST[] =
    "Look at what the program does between its operators: for most of this time the capture holds nothing of the host. Python "
    "frames (with_stack=True) or ranges of your own (record_function, mstx, NVTX) would show it.";
static const char UNRECORDED_WITH_FRAMES[] =
    "Look at what the program does between its operators: for most of this time the capture holds nothing of the host, though "
    "Python frames were recorded. Measure without the profiler first; ranges of your own (record_function, mstx, NVTX) would "
    "show what it does.";

/* Most of the time in which nothing was launched nothing was recorded of the host, either: it may have been busy, or have waited. */
static const char NOTHING_LAUNCHED[] = "Nothing is launched for the device, and no record says why";

static bool is_host_unrecorded(const ps_report_member *m) {
    return ps_report_per_step(m, ps_report_idle_ns(m->facts, PS_ACTIVITY_NONE)) > m->host_ns / 2;
}

enum { EXTRAS_TEXT = 256 };

/* What the profiler recorded of the host beside operators and calls takes the host's time, too. A sentence; "" where it is none. */
static const char *say_extras(const ps_report_rank *r, char out[EXTRAS_TEXT]) {
    const char *parts[] = {r->has_frames ? "Python frames" : NULL,
                           r->has_shapes ? "shapes of operators" : NULL,
                           r->has_allocations ? "allocations" : NULL};
    char list[96] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] != NULL) {
            at +=
                (size_t)snprintf(list + at, sizeof list - at, "%s%s", at > 0 ? ", " : "", parts[i]);
        }
    }
    out[0] = '\0';
    if (at > 0) {
        (void)snprintf(
            out, EXTRAS_TEXT,
            " A part of the host's time is the profiler's own, which recorded %s: measure "
            "without them, too.",
            list);
    }
    return out;
}

/* NULL when it does not fire. */
static const ps_report_member *find_free(ps_report *report) {
    ps_findings *f = &report->findings;
    ps_worst worst = ps_report_worst(report, PS_RULE_FREE_SHARE, host_share, NULL);
    const ps_report_member *m = worst.member;
    if (m == NULL) {
        return NULL;
    }
    char causes[1600];
    say_causes(m, causes, sizeof causes);
    if (ps_report_per_step(m, ps_report_idle_ns(m->facts, PS_ACTIVITY_FRAMEWORK)) >
        m->host_ns / 20) {
        say_operators(m, PS_ACTIVITY_FRAMEWORK, causes + strlen(causes),
                      sizeof causes - strlen(causes));
    }
    char bubble[96] = "";
    int64_t bubble_ns = ps_i64_plus(m->bubble_ns, m->edge_bubble_ns);
    if (bubble_ns > 0) {
        (void)snprintf(bubble, sizeof bubble, " (%s of it in the pipeline bubble)",
                       ps_ns_text_of(bubble_ns).text);
    }
    char comm[COMM_TEXT];
    char extras[EXTRAS_TEXT];
    ps_report_claim claim = ps_report_claim_of(m, PS_RULE_FREE_SHARE);
    char step[PS_STEP_TEXT];
    bool is_unrecorded = is_host_unrecorded(m);
    ps_findings_add(
        f,
        (ps_finding){.rule = PS_RULE_FREE_SHARE,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = claim.gain_ns,
                     .comm_ns = claim.comm_ns,
                     .value = worst.value,
                     .n_over = worst.n_over,
                     .title = is_unrecorded ? NOTHING_LAUNCHED : NULL},
        "On rank %s the device is idle for %s of %s%s; for %s of it (%.1f %% of the step) %s."
        "%s %s%s%s",
        PS_RANK(m->rank), ps_ns_text_of(idle_ns(m)).text, ps_report_step_text(report, m, step),
        bubble, ps_ns_text_of(m->host_ns).text, worst.value,
        is_unrecorded ? "nothing was launched for it" : "it waits for the host",
        comm_alone_text(&claim, comm), causes, say_extras(m->facts, extras),
        is_unrecorded && report->chart == NULL && report->n_stages > 1
            ? " A part of it may be bubbles of the pipeline, which are not known here."
            : "");
    show_gaps(report, m, false);
    claim_spans(report, m, PS_RULE_FREE_SHARE);
    if (is_unrecorded) {
        ps_findings_remedy(f, m->facts->has_frames ? UNRECORDED_WITH_FRAMES : UNRECORDED_HOST);
    } else {
        char advice[PS_ADVICE_TEXT];
        const char *remedy = ps_report_free_advice(report, m, advice, sizeof advice);
        if (remedy != NULL) {
            ps_findings_remedy(f, remedy);
        }
    }
    return m;
}

/* Idle time of which the host is not the cause: nobody knows what it would take to be rid of it. */
static int64_t other_idle_ns(const ps_report_member *m) {
    int64_t known_ns = ps_i64_plus(ps_i64_plus(m->bubble_ns, m->edge_bubble_ns), m->host_ns);
    return m->computing_ns > 0 && idle_ns(m) > known_ns ? idle_ns(m) - known_ns : 0;
}

/* Most of it stands before work whose launch the capture has: else nobody knows that it is not the host's. */
static bool knows_launches(const ps_report_member *m) {
    int64_t unknown_ns = ps_report_per_step(m, ps_report_idle_ns(m->facts, PS_IDLE_UNKNOWN));
    return m->facts->no_timeline == NULL && unknown_ns <= other_idle_ns(m) / 2;
}

static double other_idle_share(const ps_report *report, const ps_report_member *m,
                               const void *none) {
    (void)none;
    return ps_percent(other_idle_ns(m), report->step_ns);
}

static void find_idle(ps_report *report) {
    ps_worst all = ps_report_worst(report, PS_RULE_IDLE_DEVICE, other_idle_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    ps_finding found = {.rule = PS_RULE_IDLE_DEVICE,
                        .rank = worst->rank,
                        .stage = worst->stage,
                        .value = all.value,
                        .n_over = all.n_over};
    char causes[700];
    bool is_known = knows_launches(worst);
    if (worst->facts->no_timeline == NULL) {
        say_causes(worst, causes, sizeof causes);
    } else {
        (void)snprintf(causes, sizeof causes, "No table says what it waited for (no %.200s).",
                       worst->facts->no_timeline);
    }
    found.title = is_known ? NULL : "The device is idle, and nothing says for what";
    char step[PS_STEP_TEXT];
    ps_findings_add(&report->findings, found,
                    "On rank %s the device is idle for %s of %s (%.1f %%)%s. %s",
                    PS_RANK(worst->rank), ps_ns_text_of(other_idle_ns(worst)).text,
                    ps_report_step_text(report, worst, step), all.value,
                    is_known ? " without waiting for the host"
                             : "; whether it waited for the host is not known",
                    causes);
}

/* --- before and after the work of a step --------------------------------------------------------------------------- */

static void show_edge(ps_report *report, const ps_report_member *m, ps_report_event e,
                      const char *name) {
    e.name = name;
    if (e.dur_ns > ps_i64_plus(m->before_ns, m->after_ns) / 100) {
        show_event(report, m, &e, "the longest one");
    }
}

/* By cause, the most first: at most three, of a twentieth each. */
static void advise_on_edges(ps_report *report, const ps_report_member *m) {
    char text[PS_ADVICE_TEXT];
    bool said[PS_N_ACTIVITIES] = {false};
    size_t at = 0;
    for (int k = 0; k < 3 && at < sizeof text; k++) {
        int most = -1;
        int64_t most_ns = ps_report_edges_ns(m) / 20;
        for (int cause = 0; cause < PS_N_ACTIVITIES; cause++) {
            const int64_t *ns = m->facts->idle_ns[cause];
            int64_t ends_ns =
                ps_report_per_step(m, ps_i64_plus(ns[PS_SHARE_BEFORE], ns[PS_SHARE_AFTER]));
            bool is_more = !said[cause] && ends_ns > most_ns;
            most = is_more ? cause : most;
            most_ns = is_more ? ends_ns : most_ns;
        }
        if (most < 0) {
            break;
        }
        said[most] = true;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s",
                               k == 0 ? "Shorten what the host does there: " : ", ",
                               ps_activity_text((ps_activity)most), ps_ns_text_of(most_ns).text);
    }
    if (at > 0 && at < sizeof text) {
        (void)snprintf(text + at, sizeof text - at,
                       ". In the first step of a capture the profiler's own start may be in it.");
        ps_findings_remedy(&report->findings, text);
    }
}

static double edges_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return m->computing_ns > 0 ? ps_percent(ps_report_edges_ns(m), report->step_ns) : 0;
}

static void find_edges(ps_report *report) {
    ps_worst all = ps_report_worst(report, PS_RULE_BEFORE_FIRST_WORK, edges_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    char bubble[80] = "";
    char step[PS_STEP_TEXT];
    bool ends = !worst->has_no_ends && worst->after_ns > 0;
    if (worst->edge_bubble_ns > 0) {
        (void)snprintf(bubble, sizeof bubble, ", without %s in the pipeline bubble",
                       ps_ns_text_of(worst->edge_bubble_ns).text);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_BEFORE_FIRST_WORK,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = ps_report_claim_of(worst, PS_RULE_BEFORE_FIRST_WORK).gain_ns,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s the device is idle for %s of %s before its first computing or "
        "communication%s%s%s (%s%.1f %% of the step%s).%s",
        PS_RANK(worst->rank), ps_ns_text_of(worst->before_ns).text,
        ps_report_step_text(report, worst, step), ends ? ", and for " : "",
        ends ? ps_ns_text_of(worst->after_ns).text : "", ends ? " after the last" : "",
        ends ? "together " : "", all.value, bubble,
        worst->has_no_ends ? " No table says how long it goes on behind its last work." : "");
    advise_on_edges(report, worst);
    show_edge(report, worst, worst->facts->before, "before the first work");
    show_edge(report, worst, worst->facts->after, "after the last work");
    claim_spans(report, worst, PS_RULE_BEFORE_FIRST_WORK);
}

/* --- launches ------------------------------------------------------------------------------------------------------ */

/* Where next to no time is lost for the host nobody waits. */
static double prompt_share(const ps_report *report, const ps_report_member *m, const void *none) {
    return host_share(report, m, none) > 1 ? ps_percent(m->facts->n_unqueued, m->facts->n_launches)
                                           : 0;
}

/* `shown`: the rank whose gaps stand with another finding already. */
static void find_prompt(ps_report *report, const ps_report_member *shown) {
    ps_worst all = ps_report_worst(report, PS_RULE_LAUNCH_DELAY, prompt_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    char where[128] = "";
    if (worst == shown) {
        (void)snprintf(where, sizeof where, " Where that cost most: the finding \"%s\".",
                       ps_rule_of(PS_RULE_FREE_SHARE)->title);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_LAUNCH_DELAY,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s %lld of %lld kernels (%.1f %%) started within 20 us of the end of their launch; for %lld of "
        "them (%.1f %% of all) nothing ran on the device: it was waiting for them. The median delay of kernels%s is %s, "
        "95 %% have %s or less.%s",
        PS_RANK(worst->rank), (long long)worst->facts->n_prompt,
        (long long)worst->facts->n_launches,
        ps_percent(worst->facts->n_prompt, worst->facts->n_launches),
        (long long)worst->facts->n_unqueued, all.value,
        (int64_t)worst->facts->delays.n > worst->facts->n_launches ? " and communication" : "",
        ps_ns_text_of((int64_t)worst->facts->delays.median_ns).text,
        ps_ns_text_of((int64_t)worst->facts->delays.p95_ns).text, where);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings,
                       ps_report_launch_advice(report, worst, advice, sizeof advice));
    if (worst != shown) {
        show_gaps(report, worst, true);
    }
}

/* --- what stops the launches ------------------------------------------------------------------------------------------- */

/* "fetching a batch (2 in a step, 60 ms)" for each, of a step as the figures beside it. */
static void say_stops(const ps_report_member *m, const ps_stop_rule *rule, char *out, size_t size) {
    double n_steps = m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1;
    size_t at = 0;
    for (int k = rule->first; k <= rule->last && at < size; k++) {
        const ps_report_stops *stops = &m->facts->stops[k];
        if (stops->idle_ns > 0) {
            double n = (double)stops->n / n_steps;
            at += (size_t)snprintf(out + at, size - at, "%s%s (%.4g range%s in a step, %s)",
                                   at > 0 ? ", " : "", ps_activity_text((ps_activity)k), n,
                                   n == 1 ? "" : "s",
                                   ps_ns_text_of(ps_report_per_step(m, stops->sum_ns)).text);
        }
    }
}

/* A sentence, or "". */
static const char *own_copies_text(int64_t ns, char text[96]) {
    text[0] = '\0';
    if (ns > 0) {
        (void)snprintf(text, 96, " The copies themselves take %s more.", ps_ns_text_of(ns).text);
    }
    return text;
}

enum { UNNAMED_TEXT = 160 };

/* What the host does directly before it nobody recorded: it may prepare it. A sentence, or "" where that is next to nothing. */
static const char *unnamed_text(const ps_report_member *m, const ps_stop_rule *rule,
                                char out[UNNAMED_TEXT]) {
    const ps_report_stops *stops = &m->facts->stops[rule->first];
    out[0] = '\0';
    if (stops->unnamed_ns > stops->idle_ns / 100) {
        (void)snprintf(
            out, UNNAMED_TEXT,
            " Up to %s directly before it, in which no operator is recorded, may belong to it, too: that "
            "is not in the gain.",
            ps_ns_text_of(ps_report_per_step(m, stops->unnamed_ns)).text);
    }
    return out;
}

static void show_stops(ps_report *report, const ps_report_member *m, const ps_stop_rule *rule) {
    for (int k = rule->first; k <= rule->last; k++) {
        const ps_report_stops *stops = &m->facts->stops[k];
        for (size_t i = 0; i < stops->n_top && stops->idle_ns > 0; i++) {
            char note[256];
            const ps_report_event *e = &stops->top[i];
            if (e->idle_ns == 0) {
                continue;
            }
            bool has_frame = e->frame != NULL && strcmp(e->frame, e->name) != 0;
            /* What lies behind it, up to the next one, counts in the sum and is not of this one. */
            int64_t idle_ns = e->idle_ns < e->dur_ns ? e->idle_ns : e->dur_ns;
            (void)snprintf(note, sizeof note, "the device waits %s for it%s%.200s",
                           ps_ns_text_of(idle_ns).text, has_frame ? ", in " : "",
                           has_frame ? e->frame : "");
            show_event(report, m, &stops->top[i], note);
        }
    }
}

/* A compiler that runs takes longer. */
#define LOOKED_UP_NS 1000000

/* What compiles did nothing but find what was compiled before. */
static bool is_looked_up(const ps_report_member *m, const ps_stop_rule *rule) {
    const ps_report_stops *inner = &m->facts->stops[PS_ACTIVITY_COMPILE];
    return rule->rule == PS_RULE_JIT_COMPILE && m->facts->stops[PS_ACTIVITY_ONLINE].n > 0 &&
           inner->n > 0 && inner->longest_ns < LOOKED_UP_NS;
}

/* Nothing that compiles ran but what such a call does itself. */
static bool compiles_online(const ps_report_member *m, const ps_stop_rule *rule) {
    const ps_report_stops *outer = &m->facts->stops[PS_ACTIVITY_ONLINE];
    const ps_report_stops *inner = &m->facts->stops[PS_ACTIVITY_COMPILE];
    bool is_inside = rule->rule == PS_RULE_JIT_COMPILE && outer->n_top > 0;
    for (size_t i = 0; is_inside && i < inner->n_top; i++) {
        is_inside = ps_is_compiled_inside(inner->top[i].name);
    }
    return is_inside;
}

/* "19 calls of aclopCompileAndExecute (27.6 ms in a step), of which opCompile takes 368 us (the longest 69.8 us): nothing was compiled" */
static void say_online(const ps_report_member *m, const ps_stop_rule *rule, char *out,
                       size_t size) {
    const ps_report_stops *outer = &m->facts->stops[PS_ACTIVITY_ONLINE];
    const ps_report_stops *inner = &m->facts->stops[PS_ACTIVITY_COMPILE];
    double n = (double)outer->n / (m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1);
    size_t at = (size_t)snprintf(out, size, "%.4g call%s of %.60s (%s in a step)", n,
                                 n == 1 ? "" : "s", ps_call_name(outer->top[0].name),
                                 ps_ns_text_of(ps_report_per_step(m, outer->sum_ns)).text);
    if (inner->n_top > 0 && at < size) {
        at += (size_t)snprintf(
            out + at, size - at, ", of which %.60s takes %s (the longest %s)%s",
            ps_call_name(inner->top[0].name),
            ps_ns_text_of(ps_report_per_step(m, inner->sum_ns)).text,
            ps_ns_text_of(inner->longest_ns).text,
            is_looked_up(m, rule) ? ": nothing was compiled, the rest prepares and launches" : "");
    }
}

static const char ONLINE[] =
    "torch_npu.npu.set_compile_mode(jit_compile=False): operators are then taken as they were compiled "
    "before.";
static const char LOOKED_UP[] =
    "jit_compile does not matter here. The time is AscendCL's older way to launch an operator "
    "(aclopCompileAndExecute): a newer CANN and torch_npu launch more operators directly (aclnn). Where "
    "conversions of a format are what it launches (trans_TransData), "
    "torch_npu.npu.config.allow_internal_format=False may do without them.";

/* What to try, where the finding knows better than its rule; NULL. `out` holds what is written. */
static const char *remedy_of(const ps_report *report, const ps_stop_rule *rule,
                             const ps_report_member *m, char *out, size_t size) {
    const ps_report_stops *stops = m->facts->stops;
    if (rule->rule == PS_RULE_HOST_OPTIMIZER) {
        return ps_report_optimiser_remedy(report, m, out, size) ? out : NULL;
    }
    if (rule->rule == PS_RULE_JIT_COMPILE) {
        bool is_online = stops[PS_ACTIVITY_ONLINE].idle_ns > stops[PS_ACTIVITY_COMPILE].idle_ns;
        return is_looked_up(m, rule) ? LOOKED_UP : is_online ? ONLINE : NULL;
    }
    if (rule->rule == PS_RULE_BLOCKING_SYNC) {
        return ps_report_sync_advice(report, m, out, size);
    }
    if (rule->rule == PS_RULE_BLOCKING_COPY) {
        return ps_report_copy_advice(report, m, out, size);
    }
    if (rule->rule == PS_RULE_ALLOCATION) {
        return ps_report_allocation_advice(report, m, out, size);
    }
    return rule->rule == PS_RULE_DATA_LOADING ? ps_report_fetch_remedy(m) : NULL;
}

static double stopped_share(const ps_report *report, const ps_report_member *m, const void *rule) {
    const ps_stop_rule *of = rule;
    return ps_percent(ps_report_claim_of(m, of->rule).idle_ns, report->step_ns);
}

/* The rank whose device lost most. */
static void find_idle_stop(ps_report *report, const ps_stop_rule *rule) {
    ps_worst all = ps_report_worst(report, rule->rule, stopped_share, rule);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    ps_report_claim claim = ps_report_claim_of(worst, rule->rule);
    char stops[400] = "";
    char comm[COMM_TEXT];
    char inside[900] = "";
    if (rule->rule == PS_RULE_HOST_OPTIMIZER) { /* in its operators, or in what is around them */
        say_operators(worst, PS_ACTIVITY_OPTIMIZER, inside, sizeof inside);
    }
    char copies[96];
    char unnamed[UNNAMED_TEXT];
    if (compiles_online(worst, rule)) {
        say_online(worst, rule, stops, sizeof stops);
    } else {
        say_stops(worst, rule, stops, sizeof stops);
    }
    char fetch[500] = "";
    if (rule->rule == PS_RULE_DATA_LOADING) {
        ps_report_say_fetch(worst, fetch, sizeof fetch);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = rule->rule,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = claim.gain_ns,
                     .comm_ns = claim.comm_ns,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s the device waits for the host for %s of each step (%.1f %%) while that is busy "
        "with %s.%s%s%s%s%s%s",
        PS_RANK(worst->rank), ps_ns_text_of(claim.idle_ns).text, all.value, stops, fetch,
        own_copies_text(claim.copies_ns, copies), comm_alone_text(&claim, comm), claim.ahead.text,
        unnamed_text(worst, rule, unnamed), inside);
    char text[PS_ADVICE_TEXT];
    const char *remedy = remedy_of(report, rule, worst, text, sizeof text);
    if (remedy != NULL) {
        ps_findings_remedy(&report->findings, remedy);
    }
    show_stops(report, worst, rule);
    claim_spans(report, worst, rule->rule);
}

static const ps_report_event *longest_stop(const ps_report_member *m, const ps_stop_rule *rule) {
    const ps_report_stops *stops = &m->facts->stops[rule->first];
    const ps_report_event *longest = NULL;
    for (size_t k = 0; k < stops->n_top; k++) {
        bool is_longer = longest == NULL || stops->top[k].dur_ns > longest->dur_ns;
        longest = is_longer ? &stops->top[k] : longest;
    }
    return longest;
}

static double longest_stop_ms(const ps_report *report, const ps_report_member *m,
                              const void *rule) {
    const ps_report_event *longest = longest_stop(m, rule);
    (void)report;
    return longest != NULL ? (double)longest->dur_ns / 1e6 : 0;
}

/* A single range longer than the threshold, in ms. */
static void find_long_stop(ps_report *report, const ps_stop_rule *rule) {
    ps_worst all = ps_report_worst(report, rule->rule, longest_stop_ms, rule);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_event *longest = longest_stop(worst, rule);
    const ps_report_stops *stops = &worst->facts->stops[rule->first];
    char comm[COMM_TEXT];
    ps_report_claim claim = ps_report_claim_of(worst, rule->rule);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = rule->rule,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = claim.gain_ns,
                     .comm_ns = claim.comm_ns,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s %s took up to %s, %lld times and %s in all; the device was idle for %s of it in "
        "each step.%s%s",
        PS_RANK(worst->rank), ps_activity_text((ps_activity)rule->first),
        ps_ns_text_of(longest->dur_ns).text, (long long)stops->n, ps_ns_text_of(stops->sum_ns).text,
        ps_ns_text_of(claim.idle_ns).text, comm_alone_text(&claim, comm), claim.ahead.text);
    show_stops(report, worst, rule);
    claim_spans(report, worst, rule->rule);
}

static int64_t comm_ns(const ps_report_member *m) {
    return ps_report_per_step(m, ps_i64_plus(m->facts->stops[PS_ACTIVITY_COPY].comm_ns,
                                             m->facts->stops[PS_ACTIVITY_SYNC].comm_ns));
}

static double comm_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return ps_percent(comm_ns(m), report->step_ns);
}

/* How much of it is lost is not known: the launches that would have come are not in the trace. */
static void find_comm_stop(ps_report *report) {
    ps_worst all = ps_report_worst(report, PS_RULE_HOST_WAITS_COMM, comm_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_HOST_WAITS_COMM,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s the host is in a blocking call for %s of each step in which the device does nothing "
        "but communicate; what it could launch meanwhile comes later.",
        PS_RANK(worst->rank), ps_ns_text_of(comm_ns(worst)).text);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings,
                       ps_report_comm_wait_advice(report, worst, advice, sizeof advice));
    for (int which = PS_ACTIVITY_COPY; which <= PS_ACTIVITY_SYNC; which++) {
        const ps_report_stops *stops = &worst->facts->stops[which];
        for (size_t i = 0; i < stops->n_top; i++) {
            char note[64];
            (void)snprintf(note, sizeof note, "communication alone %s",
                           ps_ns_text_of(stops->top[i].comm_ns).text);
            if (stops->top[i].comm_ns > 0) {
                show_event(report, worst, &stops->top[i], note);
            }
        }
    }
}

/* --- copies ----------------------------------------------------------------------------------------------------------- */

/* "H2D from pageable memory 925 ms (12.1 GB at 12.9 GB/s)" */
static size_t say_copies(const ps_report_member *m, const ps_report_copies *c, char *out,
                         size_t size) {
    const char *direction = c->direction != NULL ? c->direction : "of unknown direction";
    bool to_host = strcmp(direction, "D2H") == 0;
    char memory[32] = "";
    char sizes[80] = "sizes unknown";
    if (c->memory != NULL) {
        (void)snprintf(memory, sizeof memory, " %s %s memory", to_host ? "to" : "from", c->memory);
    }
    if (c->sized_ns > 0) {
        (void)snprintf(sizes, sizeof sizes, "%.3g MB at %.3g GB/s",
                       (double)ps_report_per_step(m, c->sized_bytes) / 1e6,
                       (double)c->sized_bytes / (double)c->sized_ns);
    }
    double n_steps = m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1;
    int n = snprintf(out, size, "%s%s %s (%.4g a step, %s)", direction, memory,
                     ps_ns_text_of(ps_report_per_step(m, c->alone_ns)).text, (double)c->n / n_steps,
                     sizes);
    return n > 0 ? (size_t)n : 0;
}

static void show_copies(ps_report *report, const ps_report_member *m) {
    for (size_t i = 0; i < m->facts->n_copies; i++) {
        const ps_report_copies *c = &m->facts->copies[i];
        char note[96];
        size_t at =
            (size_t)snprintf(note, sizeof note, "alone %s", ps_ns_text_of(c->longest.idle_ns).text);
        if (c->longest_bytes >= 0 && c->longest.dur_ns > 0) {
            (void)snprintf(note + at, sizeof note - at, ", %.3g MB at %.3g GB/s",
                           (double)c->longest_bytes / 1e6,
                           (double)c->longest_bytes / (double)c->longest.dur_ns);
        }
        if (c->longest.idle_ns > 0) {
            show_event(report, m, &c->longest, note);
        }
    }
}

static double copies_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return m->computing_ns > 0 ? ps_percent(m->copies_ns, report->step_ns) : 0;
}

/* Copies that run while the device does nothing else. */
static void find_copies(ps_report *report) {
    ps_worst all = ps_report_worst(report, PS_RULE_EXPOSED_COPIES, copies_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    char kinds[600] = "";
    size_t at = 0;
    for (size_t i = 0; i < worst->facts->n_copies && at < sizeof kinds; i++) {
        const ps_report_copies *c = &worst->facts->copies[i];
        if (ps_report_per_step(worst, c->alone_ns) > 0) {
            at += (size_t)snprintf(kinds + at, sizeof kinds - at, "%s", at > 0 ? ", " : "");
            at += at < sizeof kinds ? say_copies(worst, c, kinds + at, sizeof kinds - at) : 0;
        }
    }
    char hidden[128] = "";
    if (worst->copies_ns > worst->computing_ns) {
        (void)snprintf(hidden, sizeof hidden,
                       " Computing could hide %s of it at most: the rest has to become less.",
                       ps_ns_text_of(worst->computing_ns).text);
    }
    char step[PS_STEP_TEXT];
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_EXPOSED_COPIES,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = worst->copies_ns,
                     .value = all.value,
                     .n_over = all.n_over},
        "On rank %s the device does nothing but copy for %s of %s (%.1f %%): %s. What the "
        "link could carry is not in the capture.%s",
        PS_RANK(worst->rank), ps_ns_text_of(worst->copies_ns).text,
        ps_report_step_text(report, worst, step), all.value, kinds, hidden);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings, ps_report_copies_advice(worst, advice, sizeof advice));
    show_copies(report, worst);
    claim_spans(report, worst, PS_RULE_EXPOSED_COPIES);
}

/* --- all of it ---------------------------------------------------------------------------------------------------------- */

void ps_report_dispatch(ps_report *report) {
    if (report->has_host_times) {
        return; /* the device is the host: it launches nothing and waits for nobody */
    }
    const ps_report_member *host_bound = find_free(report);
    find_idle(report);
    find_edges(report);
    find_prompt(report, host_bound);
    for (size_t i = 0; ps_report_stop_rule(i) != NULL; i++) {
        if (ps_report_stop_rule(i)->rule != PS_RULE_GC_PAUSE) {
            find_idle_stop(report, ps_report_stop_rule(i));
        }
    }
    find_comm_stop(report);
    find_long_stop(report, ps_report_stop_rule_of(PS_RULE_GC_PAUSE));
    find_copies(report);
}
