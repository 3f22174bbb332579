/* Dispatch: does the device wait for the host, and for what; and what copies nothing hides. Idle time inside the pipeline
 * bubble is not the host's. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_claims.h"
#include "base/num.h"

void ps_report_show_event(ps_report *report, const ps_report_member *m, const ps_report_event *e,
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
void ps_report_add_claim(ps_report *report, const ps_report_member *m, ps_rule_id rule) {
    ps_findings *f = &report->findings;
    if (!f->failed && f->n > 0) {
        f->failed = !ps_report_claim_spans(m, rule, &f->all[f->n - 1].spans);
    }
}

enum { COMM_TEXT = 320 };

/* Sentences; "" where nothing is to be said. What the device waits there for other ranks stays without the cause, too. */
static const char *comm_alone_text(ps_lang lang, const ps_report_claim *c, char out[COMM_TEXT]) {
    int64_t in_gain_ns = c->comm_ns - c->ahead.comm_ns;
    out[0] = '\0';
    if (c->late_comm_ns > 0) {
        (void)snprintf(
            out, COMM_TEXT,
            PS_SAY(lang,
                   " For %s more it does nothing but communicate with nothing to compute "
                   "launched yet, which a host in time may hide.",
                   "另有 %s 除通信外无事可做，因为还没有下发可计算的工作；主机及时下发即可掩盖。"),
            ps_ns_text_of(c->late_comm_ns).text);
    }
    if (c->late_comm_ns - in_gain_ns > c->late_comm_ns / 10) {
        size_t n = strlen(out);
        (void)snprintf(
            out + n, COMM_TEXT - n,
            PS_SAY(
                lang,
                " Of that no more than %s is in the gain: for the rest the device waits for other ranks.",
                "其中最多 %s 计入收益：其余时间设备在等待其他 rank。"),
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
static void say_wait(ps_lang lang, const ps_report_wait *w, char *out, size_t size) {
    double length_ns = (double)(w->end_ns - w->start_ns);
    if ((double)w->parts[0].ns >= MOST_OF_WAIT * length_ns) {
        (void)snprintf(out, size, PS_SAY(lang, "host: %s%s%.100s", "主机：%s%s%.100s"),
                       ps_activity_text(lang, (ps_activity)w->parts[0].cause),
                       w->blocking[0] != '\0' ? PS_SAY(lang, ": ", "：") : "", w->blocking);
        return;
    }
    size_t at = (size_t)snprintf(out, size, PS_SAY(lang, "host: ", "主机："));
    for (size_t i = 0; i < PS_REPORT_WAIT_PARTS && at < size; i++) {
        if ((double)w->parts[i].ns < LEAST_OF_WAIT * length_ns) {
            break;
        }
        bool is_named =
            i == 0 && w->blocking[0] != '\0'; /* what fills half is of the largest part */
        at += (size_t)snprintf(
            out + at, size - at, "%s%s %s%s%.80s%s", i > 0 ? PS_SAY(lang, ", ", "、") : "",
            ps_activity_text(lang, (ps_activity)w->parts[i].cause),
            ps_ns_text_of(w->parts[i].ns).text, is_named ? PS_SAY(lang, " (", "（") : "",
            is_named ? w->blocking : "", is_named ? PS_SAY(lang, ")", "）") : "");
    }
}

/* The longest waits for the host that are no bubble; what is less than a hundredth of the time shows nothing. */
static void show_gaps(ps_report *report, const ps_report_member *m, bool before_kernels) {
    const ps_lang lang = report->findings.lang;
    int64_t least_ns = before_kernels ? 0 : m->host_ns / 100;
    for (size_t i = 0; i < m->facts->n_waits; i++) {
        const ps_report_wait *w = &m->facts->waits[i];
        char note[256];
        if (in_bubble(m, w) || w->end_ns - w->start_ns < least_ns ||
            (before_kernels && !w->is_before_kernel)) {
            continue;
        }
        say_wait(lang, w, note, sizeof note);
        char name[192];
        (void)snprintf(name, sizeof name, PS_SAY(lang, "idle %s%.140s", "空闲：%s%.140s"),
                       w->next[0] != '\0' ? PS_SAY(lang, "before ", "位于其前：")
                                          : PS_SAY(lang, "after the last work", "末项工作之后"),
                       w->next);
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
    const ps_lang lang = m->lang;
    static const char *const OTHERS[][PS_N_LANGS] = {
        {"launched work that waited on the device", "已下发但在设备上等待的工作"},
        {"work whose launch is not known", "下发未知的工作"}};
    const ps_report_rank *r = m->facts;
    int64_t n = r->n_steps > 0 ? (int64_t)r->n_steps : 1;
    bool said[PS_N_IDLE_CAUSES] = {false};
    size_t at = (size_t)snprintf(
        out, size, PS_SAY(lang, "All idle time by cause%s: ", "全部空闲时间的原因%s："),
        m->bubble_ns > 0 ? PS_SAY(lang, ", with what lies in the bubble", "（含位于空泡内的部分）")
                         : "");
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
                ps_report_say_ranges(lang, r, names, sizeof names);
            }
            at += (size_t)snprintf(
                out + at, size - at, "%s%s %s%s", k > 0 ? PS_SAY(lang, ", ", "、") : "",
                most < PS_N_ACTIVITIES ? ps_activity_text(lang, (ps_activity)most)
                                       : OTHERS[most - PS_N_ACTIVITIES][lang],
                ps_ns_text_of(ns).text, names);
        }
    }
    if (at < size) {
        (void)snprintf(out + at, size - at, PS_SAY(lang, ".", "。"));
    }
}

/* " Of operators and Python, each without what lies in it: ..." */
static void say_operators(const ps_report_member *m, ps_activity activity, char *out, size_t size) {
    const ps_lang lang = m->lang;
    char operators[800];
    ps_report_say_operators(lang, m->facts, activity, operators, sizeof operators);
    if (operators[0] != '\0') {
        (void)snprintf(out, size,
                       PS_SAY(lang, " Of %s, each without what lies in it: %s.",
                              "%s中各算子自身（不含内部调用）：%s。"),
                       ps_activity_text(lang, activity), operators);
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
static const char *const UNRECORDED_HOST[PS_N_LANGS] = {
    "Look at what the program does between its operators: for most of this time the capture holds nothing of the host. Python "
    "frames (with_stack=True) or ranges of your own (record_function, mstx, NVTX) would show it.",
    "看程序在算子之间做什么：这段时间的大部分，采集数据中没有主机的记录。Python 调用栈（with_stack=True）或自己的 range（record_function、mstx、NVTX）可以显示。"};
static const char *const UNRECORDED_WITH_FRAMES[PS_N_LANGS] = {
    "Look at what the program does between its operators: for most of this time the capture holds nothing of the host, though "
    "Python frames were recorded. Measure without the profiler first; ranges of your own (record_function, mstx, NVTX) would "
    "show what it does.",
    "看程序在算子之间做什么：这段时间的大部分，采集数据中没有主机的记录，尽管记录了 Python 调用栈。请先在不采集时测量；自己的 range（record_function、mstx、NVTX）可以显示它在做什么。"};

/* Most of the time in which nothing was launched nothing was recorded of the host, either: it may have been busy, or have waited. */
static const char *const NOTHING_LAUNCHED[PS_N_LANGS] = {
    "Nothing is launched for the device, and no record says why",
    "没有向设备下发任何工作，也没有记录说明原因"};

static bool is_host_unrecorded(const ps_report_member *m) {
    return ps_report_per_step(m, ps_report_idle_ns(m->facts, PS_ACTIVITY_NONE)) > m->host_ns / 2;
}

enum { EXTRAS_TEXT = 256 };

/* What the profiler recorded of the host beside operators and calls takes the host's time, too. A sentence; "" where it is none. */
static const char *say_extras(ps_lang lang, const ps_report_rank *r, char out[EXTRAS_TEXT]) {
    const char *parts[] = {r->has_frames ? PS_SAY(lang, "Python frames", "Python 调用栈") : NULL,
                           r->has_shapes ? PS_SAY(lang, "shapes of operators", "算子形状") : NULL,
                           r->has_allocations ? PS_SAY(lang, "allocations", "内存申请") : NULL};
    char list[96] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] != NULL) {
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                                   at > 0 ? PS_SAY(lang, ", ", "、") : "", parts[i]);
        }
    }
    out[0] = '\0';
    if (at > 0) {
        (void)snprintf(
            out, EXTRAS_TEXT,
            PS_SAY(lang,
                   " A part of the host's time is the profiler's own, which recorded %s: measure "
                   "without them, too.",
                   "主机时间的一部分是采集工具自身的，它记录了%s：请也在不记录这些的情况下测量。"),
            list);
    }
    return out;
}

/* NULL when it does not fire. */
static const ps_report_member *find_free(ps_report *report) {
    const ps_lang lang = report->findings.lang;
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
        (void)snprintf(
            bubble, sizeof bubble,
            PS_SAY(lang, " (%s of it in the pipeline bubble)", "（其中 %s 在流水线空泡内）"),
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
                     .is_unrecorded = is_unrecorded,
                     .title = is_unrecorded ? NOTHING_LAUNCHED[lang] : NULL},
        PS_SAY(
            lang,
            "On rank %s the device is idle for %s of %s%s; for %s of it (%.1f %% of the step) %s."
            "%s %s%s%s",
            "rank %s 的设备空闲 %s（%s）%s；其中 %s（step 的 %.1f %%）%s。%s%s%s%s"),
        PS_RANK(m->rank), ps_ns_text_of(idle_ns(m)).text, ps_report_step_text(report, m, step),
        bubble, ps_ns_text_of(m->host_ns).text, worst.value,
        is_unrecorded ? PS_SAY(lang, "nothing was launched for it", "没有向它下发任何工作")
                      : PS_SAY(lang, "it waits for the host", "在等待主机"),
        comm_alone_text(lang, &claim, comm), causes, say_extras(lang, m->facts, extras),
        is_unrecorded && report->chart == NULL && report->n_stages > 1
            ? PS_SAY(lang,
                     " A part of it may be bubbles of the pipeline, which are not known here.",
                     "其中一部分可能是流水线空泡，此处无从得知。")
            : "");
    show_gaps(report, m, false);
    ps_report_add_claim(report, m, PS_RULE_FREE_SHARE);
    if (is_unrecorded) {
        ps_findings_remedy(f, m->facts->has_frames ? UNRECORDED_WITH_FRAMES[lang]
                                                   : UNRECORDED_HOST[lang]);
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
    const ps_lang lang = report->findings.lang;
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
    found.is_unrecorded = !is_known;
    if (worst->facts->no_timeline == NULL) {
        say_causes(worst, causes, sizeof causes);
    } else {
        (void)snprintf(causes, sizeof causes,
                       PS_SAY(lang, "No table says what it waited for (no %.200s).",
                              "没有表格说明它在等什么（缺少 %.200s）。"),
                       worst->facts->no_timeline);
    }
    found.title = is_known ? NULL
                           : PS_SAY(lang, "The device is idle, and nothing says for what",
                                    "设备空闲，原因没有记录");
    char step[PS_STEP_TEXT];
    ps_findings_add(&report->findings, found,
                    PS_SAY(lang, "On rank %s the device is idle for %s of %s (%.1f %%)%s. %s",
                           "rank %s 的设备空闲 %s（%s 的 %.1f %%）%s。%s"),
                    PS_RANK(worst->rank), ps_ns_text_of(other_idle_ns(worst)).text,
                    ps_report_step_text(report, worst, step), all.value,
                    is_known ? PS_SAY(lang, " without waiting for the host", "，并非在等待主机")
                             : PS_SAY(lang, "; whether it waited for the host is not known",
                                      "；是否在等待主机不得而知"),
                    causes);
}

/* --- before and after the work of a step --------------------------------------------------------------------------- */

static void show_edge(ps_report *report, const ps_report_member *m, ps_report_event e,
                      const char *name) {
    const ps_lang lang = report->findings.lang;
    e.name = name;
    if (e.dur_ns > ps_i64_plus(m->before_ns, m->after_ns) / 100) {
        char note[96] = "";
        if (ps_report_steps_of(m) > 1) {
            (void)snprintf(note, sizeof note,
                           PS_SAY(lang, "the longest idle stretch there of %lld steps",
                                  "%lld 个 step 中此处最长的一段空闲"),
                           (long long)ps_report_steps_of(m));
        }
        ps_report_show_event(
            report, m, &e,
            note[0] != '\0' ? note
                            : PS_SAY(lang, "the longest idle stretch there", "此处最长的一段空闲"));
    }
}

static int64_t before_copies_ns(const ps_overlap *o) {
    return o->copies_ns[PS_SHARE_BEFORE];
}

/* ", mean of 4 steps, without 862 us of copies before the first work": what the figures are, and what other tables have of it beside. */
static void say_edge_figure(ps_lang lang, const ps_report_member *m, char *out, size_t size) {
    int64_t steps = ps_report_steps_of(m);
    int64_t copied_ns = ps_report_per_step(m, ps_report_sum_ns(m->facts, before_copies_ns));
    int n = steps > 1
                ? snprintf(out, size, PS_SAY(lang, ", mean of %lld steps", "，%lld 个 step 的平均"),
                           (long long)steps)
                : 0;
    if (copied_ns > m->before_ns / 100 && n >= 0 && (size_t)n < size) {
        (void)snprintf(out + n, size - (size_t)n,
                       PS_SAY(lang, ", without %s of copies before the first work",
                              "，不含首项工作之前拷贝的 %s"),
                       ps_ns_text_of(copied_ns).text);
    }
}

/* Idle time at the ends of a step, per step, in which the host was at that. */
static int64_t edges_of_ns(const ps_report_member *m, int activity) {
    const int64_t *ns = m->facts->idle_ns[activity];
    return ps_report_per_step(m, ps_i64_plus(ns[PS_SHARE_BEFORE], ns[PS_SHARE_AFTER]));
}

static bool are_edges_unrecorded(const ps_report_member *m) {
    int64_t told_ns = 0;
    for (int activity = 0; activity < PS_N_ACTIVITIES; activity++) {
        told_ns =
            activity != PS_ACTIVITY_NONE ? ps_i64_plus(told_ns, edges_of_ns(m, activity)) : told_ns;
    }
    return told_ns < ps_report_edges_ns(m) / 2;
}

/* By cause, the most first: at most three, of a twentieth each. */
static void advise_on_edges(ps_report *report, const ps_report_member *m) {
    const ps_lang lang = report->findings.lang;
    char text[PS_ADVICE_TEXT];
    bool said[PS_N_ACTIVITIES] = {false};
    size_t at = 0;
    for (int k = 0; k < 3 && at < sizeof text; k++) {
        int most = -1;
        int64_t most_ns = ps_report_edges_ns(m) / 20;
        for (int cause = 0; cause < PS_N_ACTIVITIES; cause++) {
            int64_t ends_ns = edges_of_ns(m, cause);
            bool is_more = !said[cause] && cause != PS_ACTIVITY_NONE && ends_ns > most_ns;
            most = is_more ? cause : most;
            most_ns = is_more ? ends_ns : most_ns;
        }
        if (most < 0) {
            break;
        }
        said[most] = true;
        at += (size_t)snprintf(
            text + at, sizeof text - at, "%s%s %s",
            k == 0 ? PS_SAY(lang, "Shorten what the host does there: ", "缩短主机在那里的工作：")
                   : PS_SAY(lang, ", ", "、"),
            ps_activity_text(lang, (ps_activity)most), ps_ns_text_of(most_ns).text);
    }
    if (at > 0 && at < sizeof text) {
        (void)snprintf(
            text + at, sizeof text - at,
            PS_SAY(lang, ". In the first step of a capture the profiler's own start may be in it.",
                   "。采集的第一个 step 中可能包含采集工具自身的启动。"));
        ps_findings_remedy(&report->findings, text);
    }
}

static double edges_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return m->computing_ns > 0 ? ps_percent(ps_report_edges_ns(m), report->step_ns) : 0;
}

static void find_edges(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_BEFORE_FIRST_WORK, edges_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    char bubble[80] = "";
    char figure[192] = "";
    char step[PS_STEP_TEXT];
    say_edge_figure(lang, worst, figure, sizeof figure);
    bool ends = !worst->has_no_ends && worst->after_ns > 0;
    if (worst->edge_bubble_ns > 0) {
        (void)snprintf(
            bubble, sizeof bubble,
            PS_SAY(lang, ", without %s in the pipeline bubble", "，不含流水线空泡内的 %s"),
            ps_ns_text_of(worst->edge_bubble_ns).text);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_BEFORE_FIRST_WORK,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = ps_report_claim_of(worst, PS_RULE_BEFORE_FIRST_WORK).gain_ns,
                     .is_unrecorded = are_edges_unrecorded(worst),
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(
            lang,
            "On rank %s the device is idle for %s of %s before its first computing or "
            "communication%s%s%s (%s%.1f %% of the step%s%s).%s",
            "rank %s 的设备在首次计算或通信之前空闲 %s（%s）%s%s%s（%s占 step 的 %.1f %%%s%s）。%s"),
        PS_RANK(worst->rank), ps_ns_text_of(worst->before_ns).text,
        ps_report_step_text(report, worst, step),
        ends ? PS_SAY(lang, ", and for ", "，在最后一次之后空闲 ") : "",
        ends ? ps_ns_text_of(worst->after_ns).text : "",
        ends ? PS_SAY(lang, " after the last", "") : "",
        ends ? PS_SAY(lang, "together ", "合计") : "", all.value, bubble, figure,
        worst->has_no_ends
            ? PS_SAY(lang, " No table says how long it goes on behind its last work.",
                     "没有表格说明末项工作之后还持续多久。")
            : "");
    advise_on_edges(report, worst);
    show_edge(report, worst, worst->facts->before,
              PS_SAY(lang, "before the first work", "首项工作之前"));
    show_edge(report, worst, worst->facts->after,
              PS_SAY(lang, "after the last work", "末项工作之后"));
    ps_report_add_claim(report, worst, PS_RULE_BEFORE_FIRST_WORK);
}

/* --- launches ------------------------------------------------------------------------------------------------------ */

/* Where next to no time is lost for the host nobody waits. */
static double prompt_share(const ps_report *report, const ps_report_member *m, const void *none) {
    return host_share(report, m, none) > 1 ? ps_percent(m->facts->n_unqueued, m->facts->n_launches)
                                           : 0;
}

/* `shown`: the rank whose gaps stand with another finding already. */
static void find_prompt(ps_report *report, const ps_report_member *shown) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_LAUNCH_DELAY, prompt_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    char where[128] = "";
    if (worst == shown) {
        (void)snprintf(
            where, sizeof where,
            PS_SAY(lang, " Where that cost most: the finding \"%s\".", "代价最大之处见发现“%s”。"),
            ps_rule_words_of(ps_rule_of(PS_RULE_FREE_SHARE), lang)->title);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_LAUNCH_DELAY,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(
            lang,
            "On rank %s %lld of %lld kernels (%.1f %%) started within 20 us of the end of their launch; for %lld of "
            "them (%.1f %% of all) nothing ran on the device: it was waiting for them. The median delay of kernels%s is %s, "
            "95 %% have %s or less.%s",
            "rank %s 上有 %lld 个（共 %lld 个，%.1f %%）核函数在其下发结束后 20 us 内开始；其中 %lld 个（占全部的 %.1f %%）开始前设备上没有工作：设备在等它们。核函数%s从下发到开始的延迟中位数为 %s，95 %% 不超过 %s。%s"),
        PS_RANK(worst->rank), (long long)worst->facts->n_prompt,
        (long long)worst->facts->n_launches,
        ps_percent(worst->facts->n_prompt, worst->facts->n_launches),
        (long long)worst->facts->n_unqueued, all.value,
        (int64_t)worst->facts->delays.n > worst->facts->n_launches
            ? PS_SAY(lang, " and communication", "与通信算子")
            : "",
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
    const ps_lang lang = m->lang;
    double n_steps = m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1;
    size_t at = 0;
    for (int k = rule->first; k <= rule->last && at < size; k++) {
        const ps_report_stops *stops = &m->facts->stops[k];
        if (stops->idle_ns > 0) {
            double n = (double)stops->n / n_steps;
            at += (size_t)snprintf(out + at, size - at,
                                   PS_SAY(lang, "%s%s (%.4g range%s in a step, %s)",
                                          "%s%s（每个 step %.4g 次%.0s，%s）"),
                                   at > 0 ? PS_SAY(lang, ", ", "、") : "",
                                   ps_activity_text(lang, (ps_activity)k), n, n == 1 ? "" : "s",
                                   ps_ns_text_of(ps_report_per_step(m, stops->sum_ns)).text);
        }
    }
}

/* A sentence, or "". */
static const char *own_copies_text(ps_lang lang, int64_t ns, char text[96]) {
    text[0] = '\0';
    if (ns > 0) {
        (void)snprintf(text, 96,
                       PS_SAY(lang, " The copies themselves take %s more.", "拷贝本身另需 %s。"),
                       ps_ns_text_of(ns).text);
    }
    return text;
}

enum { UNNAMED_TEXT = 160 };

/* What the host does directly before it nobody recorded: it may prepare it. A sentence, or "" where that is next to nothing. */
static const char *unnamed_text(const ps_report_member *m, const ps_stop_rule *rule,
                                char out[UNNAMED_TEXT]) {
    const ps_lang lang = m->lang;
    const ps_report_stops *stops = &m->facts->stops[rule->first];
    out[0] = '\0';
    if (stops->unnamed_ns > stops->idle_ns / 100) {
        (void)snprintf(
            out, UNNAMED_TEXT,
            PS_SAY(
                lang,
                " Up to %s directly before it, in which no operator is recorded, may belong to it, too: that "
                "is not in the gain.",
                "紧接其前最多有 %s 没有记录到算子，也可能属于它：不计入收益。"),
            ps_ns_text_of(ps_report_per_step(m, stops->unnamed_ns)).text);
    }
    return out;
}

static void show_stops(ps_report *report, const ps_report_member *m, const ps_stop_rule *rule) {
    const ps_lang lang = report->findings.lang;
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
            (void)snprintf(
                note, sizeof note,
                PS_SAY(lang, "the device waits %s for it%s%.200s", "设备为此等待 %s%s%.200s"),
                ps_ns_text_of(idle_ns).text, has_frame ? PS_SAY(lang, ", in ", "，位于 ") : "",
                has_frame ? e->frame : "");
            ps_report_show_event(report, m, &stops->top[i], note);
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
    const ps_lang lang = m->lang;
    const ps_report_stops *outer = &m->facts->stops[PS_ACTIVITY_ONLINE];
    const ps_report_stops *inner = &m->facts->stops[PS_ACTIVITY_COMPILE];
    double n = (double)outer->n / (m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1);
    size_t at = (size_t)snprintf(out, size,
                                 PS_SAY(lang, "%.4g call%s of %.60s (%s in a step)",
                                        "每个 step %.4g 次%.0s %.60s 调用（%s）"),
                                 n, n == 1 ? "" : "s", ps_call_name(outer->top[0].name),
                                 ps_ns_text_of(ps_report_per_step(m, outer->sum_ns)).text);
    if (inner->n_top > 0 && at < size) {
        at += (size_t)snprintf(
            out + at, size - at,
            PS_SAY(lang, ", of which %.60s takes %s (the longest %s)%s",
                   "，其中 %.60s 用时 %s（最长 %s）%s"),
            ps_call_name(inner->top[0].name),
            ps_ns_text_of(ps_report_per_step(m, inner->sum_ns)).text,
            ps_ns_text_of(inner->longest_ns).text,
            is_looked_up(m, rule)
                ? PS_SAY(lang, ": nothing was compiled, the rest prepares and launches",
                         "：没有编译任何东西，其余时间用于准备与下发")
                : "");
    }
}

static const char *const ONLINE[PS_N_LANGS] = {
    "torch_npu.npu.set_compile_mode(jit_compile=False): operators are then taken as they were compiled "
    "before.",
    "torch_npu.npu.set_compile_mode(jit_compile=False)：算子直接使用此前的编译结果。"};
static const char *const LOOKED_UP[PS_N_LANGS] = {
    "jit_compile does not matter here. The time is AscendCL's older way to launch an operator "
    "(aclopCompileAndExecute): a newer CANN and torch_npu launch more operators directly (aclnn). Where "
    "conversions of a format are what it launches (trans_TransData), "
    "torch_npu.npu.config.allow_internal_format=False may do without them.",
    "jit_compile 在此无关。时间花在 AscendCL 较旧的算子下发方式上（aclopCompileAndExecute）：较新的 CANN 与 torch_npu 直接下发更多算子（aclnn）。若下发的是格式转换（trans_TransData），torch_npu.npu.config.allow_internal_format=False 可能免去它们。"};

/* What to try, where the finding knows better than its rule; NULL. `out` holds what is written. */
static const char *remedy_of(const ps_report *report, const ps_stop_rule *rule,
                             const ps_report_member *m, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_report_stops *stops = m->facts->stops;
    if (rule->rule == PS_RULE_HOST_OPTIMIZER) {
        return ps_report_optimiser_remedy(report, m, out, size) ? out : NULL;
    }
    if (rule->rule == PS_RULE_JIT_COMPILE) {
        bool is_online = stops[PS_ACTIVITY_ONLINE].idle_ns > stops[PS_ACTIVITY_COMPILE].idle_ns;
        return is_looked_up(m, rule) ? LOOKED_UP[lang] : is_online ? ONLINE[lang] : NULL;
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
    const ps_lang lang = report->findings.lang;
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
        PS_SAY(
            lang,
            "On rank %s the device waits for the host for %s of each step (%.1f %%) while that is busy "
            "with %s.%s%s%s%s%s%s",
            "rank %s 的设备每个 step 等待主机 %s（%.1f %%），此时主机忙于%s。%s%s%s%s%s%s"),
        PS_RANK(worst->rank), ps_ns_text_of(claim.idle_ns).text, all.value, stops, fetch,
        own_copies_text(lang, claim.copies_ns, copies), comm_alone_text(lang, &claim, comm),
        claim.ahead.text, unnamed_text(worst, rule, unnamed), inside);
    char text[PS_ADVICE_TEXT];
    const char *remedy = remedy_of(report, rule, worst, text, sizeof text);
    if (remedy != NULL) {
        ps_findings_remedy(&report->findings, remedy);
    }
    show_stops(report, worst, rule);
    ps_report_add_claim(report, worst, rule->rule);
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
    const ps_lang lang = report->findings.lang;
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
        PS_SAY(
            lang,
            "On rank %s %s took up to %s, %lld times and %s in all; the device was idle for %s of it in "
            "each step.%s%s",
            "rank %s 上%s最长 %s，共 %lld 次，合计 %s；每个 step 中设备因此空闲 %s。%s%s"),
        PS_RANK(worst->rank), ps_activity_text(lang, (ps_activity)rule->first),
        ps_ns_text_of(longest->dur_ns).text, (long long)stops->n, ps_ns_text_of(stops->sum_ns).text,
        ps_ns_text_of(claim.idle_ns).text, comm_alone_text(lang, &claim, comm), claim.ahead.text);
    show_stops(report, worst, rule);
    ps_report_add_claim(report, worst, rule->rule);
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
    const ps_lang lang = report->findings.lang;
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
        PS_SAY(
            lang,
            "On rank %s the host is in a blocking call for %s of each step in which the device does nothing "
            "but communicate; what it could launch meanwhile comes later.",
            "rank %s 的主机每个 step 有 %s 处于阻塞调用中，而设备此时只在通信；本可提前下发的工作因此推迟。"),
        PS_RANK(worst->rank), ps_ns_text_of(comm_ns(worst)).text);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings,
                       ps_report_comm_wait_advice(report, worst, advice, sizeof advice));
    for (int which = PS_ACTIVITY_COPY; which <= PS_ACTIVITY_SYNC; which++) {
        const ps_report_stops *stops = &worst->facts->stops[which];
        for (size_t i = 0; i < stops->n_top; i++) {
            char note[64];
            (void)snprintf(note, sizeof note, PS_SAY(lang, "communication alone %s", "只有通信 %s"),
                           ps_ns_text_of(stops->top[i].comm_ns).text);
            if (stops->top[i].comm_ns > 0) {
                ps_report_show_event(report, worst, &stops->top[i], note);
            }
        }
    }
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
    ps_report_exposed_copies(report);
}
