/* Communication: what nothing hides, operators and links that are slower than their like, and who waits for whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/skew.h"
#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_gains.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"

bool ps_report_knows_waits(const ps_report_member *m) {
    return m->facts->comm_waits.n_peers > 0;
}

void ps_report_show_op(ps_report *report, const ps_report_member *m, const ps_comm_op *op,
                       int64_t dur_ns, const char *note) {
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = m->rank,
                                       .step = op->step,
                                       .start_ns = op->start_ns,
                                       .dur_ns = dur_ns,
                                       .name = ps_comm_text(&m->facts->comm, op->name),
                                       .note = note});
}

/* --- exposed --------------------------------------------------------------------------------------------------------- */

/* Waiting in receives is the pipeline's. */
static int64_t comm_exposed_ns(const ps_report_member *m) {
    return m->exposed_ns > m->receive_ns ? m->exposed_ns - m->receive_ns : 0;
}

/* What of that waits for ranks that come later: late-arrival counts it, on the rank that is late. */
static int64_t late_wait_ns(const ps_report_member *m) {
    return m->collective_waits_ns < comm_exposed_ns(m) ? m->collective_waits_ns
                                                       : comm_exposed_ns(m);
}

/* What the rank communicates itself of that. */
static int64_t own_comm_ns(const ps_report_member *m) {
    return comm_exposed_ns(m) - late_wait_ns(m);
}

/* Only tasks tell what of it is no wait. */
int64_t ps_report_awaited_own_ns(const ps_report_member *m) {
    int64_t own_ns = m->facts->awaited_comm_ns - m->facts->awaited_wait_ns;
    return ps_report_knows_waits(m) ? ps_report_per_step(m, own_ns > 0 ? own_ns : 0) : 0;
}

/* What computing of the rank's steps is left to hide of it: in each what no communication lies beside already. Of what the
 * optimiser's step awaits it can hide nothing. */
static int64_t can_hide_ns(const ps_report_member *m) {
    int64_t sum_ns = 0;
    for (size_t i = 0; i < m->facts->n_steps; i++) {
        const ps_overlap *step = &m->facts->steps[i];
        int64_t left_ns = step->computing_ns - ps_overlap_overlapped_ns(step);
        int64_t here_ns = step->exclude_receive_ns < left_ns ? step->exclude_receive_ns : left_ns;
        sum_ns = ps_i64_plus(sum_ns, here_ns > 0 ? here_ns : 0);
    }
    int64_t awaited_ns = ps_report_per_step(m, m->facts->awaited_comm_ns);
    int64_t most_ns = comm_exposed_ns(m) > awaited_ns ? comm_exposed_ns(m) - awaited_ns : 0;
    return ps_report_per_step(m, sum_ns) < most_ns ? ps_report_per_step(m, sum_ns) : most_ns;
}

int64_t ps_report_exposed_gain_ns(const ps_report_member *m) {
    int64_t own_ns = own_comm_ns(m) - ps_report_awaited_own_ns(m);
    own_ns = own_ns > 0 ? own_ns : 0;
    return can_hide_ns(m) < own_ns ? can_hide_ns(m) : own_ns;
}

static void note_times(const ps_report_member *m, const ps_comm_op *op, char *out, size_t size) {
    const ps_lang lang = m->lang;
    const ps_comm_time *row = ps_report_comm_time(m, op);
    const ps_comm_op_waits *tasks = &m->facts->comm_waits.ops[op - m->facts->comm.ops];
    out[0] = '\0';
    if (tasks->has_tasks && ps_report_knows_waits(m)) {
        (void)snprintf(
            out, size,
            PS_SAY(lang, "its tasks transfer for %s, wait for %s", "其任务传输 %s，等待 %s"),
            ps_ns_text_of(tasks->transfer_ns).text, ps_ns_text_of(tasks->wait_ns).text);
    } else if (row != NULL && row->transit >= 0 && row->wait >= 0 && row->idle >= 0) {
        (void)snprintf(out, size,
                       PS_SAY(lang, "transit %.3g ms, wait %.3g ms, idle %.3g ms",
                              "传输 %.3g ms，等待 %.3g ms，空闲 %.3g ms"),
                       row->transit, row->wait, row->idle);
    }
}

/* The longest operators that are not point-to-point. */
static void show_longest(ps_report *report, const ps_report_member *m) {
    const ps_comm_op *top[PS_EVIDENCE_MAX];
    size_t n = 0;
    for (size_t i = 0; i < m->facts->comm.n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[i];
        size_t at = n;
        while (at > 0 && ps_comm_op_ns(op) > ps_comm_op_ns(top[at - 1])) {
            at--;
        }
        if (op->look->is_p2p || at == PS_EVIDENCE_MAX) {
            continue;
        }
        n += n < PS_EVIDENCE_MAX;
        for (size_t k = n - 1; k > at; k--) {
            top[k] = top[k - 1];
        }
        top[at] = op;
    }
    for (size_t i = 0; i < n; i++) {
        char note[128];
        note_times(m, top[i], note, sizeof note);
        ps_report_show_op(report, m, top[i], ps_comm_op_ns(top[i]), note);
    }
}

/* What the profiler says of the rank's collectives: sums over the capture, ms. */
typedef struct comm_split {
    double transit, wait, idle;
} comm_split;

static double at_least_0(double x) {
    return x > 0 && x < 1e12 ? x : 0; /* also NaN */
}

static comm_split split_of(const ps_report_member *m) {
    comm_split s = {0};
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    for (size_t i = 0; t != NULL && i < t->n_times; i++) {
        bool is_total = ps_comm_is_total(ps_comm_tables_text(t, t->times[i].op));
        if (!t->times[i].is_p2p && !is_total) {
            s.transit += at_least_0(t->times[i].transit);
            s.wait += at_least_0(t->times[i].wait);
            s.idle += at_least_0(t->times[i].idle);
        }
    }
    return s;
}

/* How many ranks the same is true of: most of what they communicate alone is waiting for a rank that comes later. Where the captured ranks
 * come at one time, the profiler's word stands alone. */
static const char *waiting_text(const ps_report *report, const ps_report_member *m,
                                char text[160]) {
    const ps_lang lang = report->findings.lang;
    size_t n = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *other = &report->members[i];
        n += late_wait_ns(other) > comm_exposed_ns(other) / 2;
    }
    if (late_wait_ns(m) > comm_exposed_ns(m) / 2) {
        (void)snprintf(text, 160,
                       PS_SAY(lang,
                              "waiting: other ranks come late, as they do for %zu of %zu ranks",
                              "等待：其他 rank 迟到，有 %zu 个（共 %zu 个）rank 如此"),
                       n, report->n_members);
    } else {
        (void)snprintf(text, 160,
                       PS_SAY(lang,
                              "waiting, and no captured rank comes so late: for what is not known",
                              "等待，而已采集的 rank 都没有这么晚：等什么不得而知"));
    }
    return text;
}

/* `out` is "" where the profile has no such table. What to try follows from it: NULL, nothing. */
static const char *say_split(const ps_report *report, const ps_report_member *m, char *out,
                             size_t size) {
    const ps_lang lang = report->findings.lang;
    comm_split s = split_of(m);
    double most = s.transit > s.wait ? s.transit : s.wait;
    most = s.idle > most ? s.idle : most;
    int64_t n = m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
    bool is_idle = most <= s.idle;
    bool is_wait = !is_idle && most <= s.wait;
    char waiting[160];
    const char *where =
        is_idle
            ? PS_SAY(lang, "idle: the tasks of the operators start late or wait for one another",
                     "空闲：算子的任务开始得晚，或互相等待")
        : is_wait ? waiting_text(report, m, waiting)
                  : PS_SAY(lang, "transit: the bandwidth decides", "传输：由带宽决定");
    out[0] = '\0';
    if (most <= 0) {
        return NULL;
    }
    (void)snprintf(
        out, size,
        PS_SAY(lang,
               " By the profiler its collectives are %s in transit, %s waiting, %s idle in a step. "
               "Most of it is %s.",
               "按采集工具的记录，其集合通信每个 step 传输 %s、等待 %s、空闲 %s。主要是%s。"),
        ps_ns_text_of((int64_t)(s.transit * 1e6) / n).text,
        ps_ns_text_of((int64_t)(s.wait * 1e6) / n).text,
        ps_ns_text_of((int64_t)(s.idle * 1e6) / n).text, where);
    return is_idle
               ? PS_SAY(lang,
                        "Look at the launch of the operators (HCCL_OP_EXPANSION_MODE, the host).",
                        "检查算子的下发（HCCL_OP_EXPANSION_MODE、主机）。")
           : is_wait ? PS_SAY(lang, "Look at the ranks that come late, and at what they do before.",
                              "检查迟到的 rank 及其此前的工作。")
                     : PS_SAY(lang, "Look at the links and at the size of messages.",
                              "检查链路与消息大小。");
}

#define LESS_COMM                                                                                  \
    "larger microbatches between gradient reductions, groups inside one machine where they reach " \
    "beyond it, 16-bit gradients where they are wider."
#define LESS_COMM_ZH                                                                               \
    "在梯度规约之间使用更大的 microbatch；超出一台机器的组改在机器内；梯度若更宽则改用 16 位。"

/* Overlapping is the first advice only where there is computing to overlap with, and something else than waiting to overlap. */
static void advise_exposed(ps_report *report, const ps_report_member *m, const char *by_split) {
    const ps_lang lang = report->findings.lang;
    char advice[400];
    if (by_split != NULL) {
        (void)snprintf(advice, sizeof advice,
                       PS_SAY(lang, "%s Make the communication itself less: " LESS_COMM,
                              "%s减少通信本身：" LESS_COMM_ZH),
                       by_split);
        ps_findings_remedy(&report->findings, advice);
        return;
    }
    if (late_wait_ns(m) > comm_exposed_ns(m) / 2) {
        ps_findings_remedy(
            &report->findings,
            PS_SAY(
                lang,
                "Most of it waits for ranks that come later: see to those first, and to what they "
                "do before. What is transferred becomes less by " LESS_COMM,
                "其中大部分在等待更晚到的 rank：先看它们以及它们此前做什么。传输量可这样减少：" LESS_COMM_ZH));
        return;
    }
    if (ps_report_exposed_gain_ns(m) < own_comm_ns(m) / 2) {
        ps_findings_remedy(&report->findings,
                           PS_SAY(lang, "Make the communication itself less: " LESS_COMM,
                                  "减少通信本身：" LESS_COMM_ZH));
        return;
    }
    char by_kind[PS_ADVICE_TEXT];
    const char *remedy = ps_report_overlap_advice(report, m, by_kind, sizeof by_kind);
    if (remedy != NULL) {
        ps_findings_remedy(&report->findings, remedy);
    }
}

/* What cannot be hidden, and why. */
static void say_left(const ps_report_member *m, char out[400]) {
    const ps_lang lang = m->lang;
    int64_t awaited_ns = ps_report_per_step(m, m->facts->awaited_comm_ns);
    int64_t transfer_ns =
        ps_report_knows_waits(m) ? ps_report_per_step(m, m->facts->awaited_transfer_ns) : 0;
    int64_t hidden_ns = can_hide_ns(m);
    size_t n = 0;
    out[0] = '\0';
    if (awaited_ns > 0) {
        char own[64] = "";
        if (transfer_ns > 0) {
            (void)snprintf(own, sizeof own,
                           PS_SAY(lang, " (%s of them transfers)", "（其中传输 %s）"),
                           ps_ns_text_of(transfer_ns).text);
        }
        (void)snprintf(
            out, 400,
            PS_SAY(
                lang,
                " %s of it%s lie behind what the backward computes, and the optimiser's step works with what "
                "they bring: nothing is left that could run beside them, so they are not in the gain.",
                "其中 %s%s位于反向计算之后，而优化器需要其结果：没有可与之并行的工作，因此不计入收益。"),
            ps_ns_text_of(awaited_ns).text, own);
        n = strlen(out);
    }
    if (hidden_ns < own_comm_ns(m) - ps_report_awaited_own_ns(m) &&
        (hidden_ns > 0 || awaited_ns == 0)) {
        (void)snprintf(
            out + n, 400 - n,
            PS_SAY(lang,
                   " Computing is left to hide %s of it at most: the rest has to become less.",
                   "剩余计算最多只能掩盖其中 %s：其余部分必须减少。"),
            ps_ns_text_of(hidden_ns).text);
    }
}

static double exposed_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return m->computing_ns > 0 ? ps_percent(comm_exposed_ns(m), report->step_ns) : 0;
}

static void find_exposed(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_COMM_EXPOSED, exposed_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    bool by_tasks = ps_report_knows_waits(worst);
    char parts[512];
    const char *by_split = NULL;
    if (by_tasks) { /* of all lanes, where the profiler looks at one */
        ps_report_say_waits(report, worst, parts, sizeof parts);
    } else {
        by_split = say_split(report, worst, parts, sizeof parts);
    }
    char receives[96] = "";
    if (worst->receive_ns > 0) {
        (void)snprintf(receives, sizeof receives,
                       PS_SAY(lang, "; receives (%s more) are left to the pipeline",
                              "；接收（另有 %s）留给流水线部分"),
                       ps_ns_text_of(worst->receive_ns).text);
    }
    int64_t waits_ns = late_wait_ns(worst);
    char waits[128] = "";
    if (waits_ns > 0 && !by_tasks) {
        (void)snprintf(
            waits, sizeof waits,
            PS_SAY(
                lang,
                " For %s of it collectives wait for ranks that come later: that is not in the gain.",
                "其中 %s 是集合通信在等待更晚到的 rank：不计入收益。"),
            ps_ns_text_of(waits_ns).text);
    }
    char left[400];
    char step[PS_STEP_TEXT];
    say_left(worst, left);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_COMM_EXPOSED,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = ps_report_exposed_gain_ns(worst),
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(lang,
               "On rank %s the device does nothing but communicate for %s of %s (%.1f %%)%s. "
               "Computing takes %s.%s%s%s",
               "rank %s 的设备有 %s（%s 的 %.1f %%）除通信外无事可做%s。计算用时 %s。%s%s%s"),
        PS_RANK(worst->rank), ps_ns_text_of(comm_exposed_ns(worst)).text,
        ps_report_step_text(report, worst, step), all.value, receives,
        ps_ns_text_of(worst->computing_ns).text, waits, left, parts);
    advise_exposed(report, worst, by_split);
    show_longest(report, worst);
}

/* --- who waits for whom ---------------------------------------------------------------------------------------------------- */

static const ps_report_member *comm_member_of(const ps_report *report, uint32_t index) {
    for (size_t i = 0; i < report->n_members; i++) {
        if (report->members[i].index == index) {
            return &report->members[i];
        }
    }
    return NULL;
}

/* Of the times for which a rank was late those in which it waited itself, by its tasks. */
typedef struct lateness {
    int64_t
        overtaken_ns; /* for one that is not here: that came later still, so nobody waited for this one */
    int64_t doubtful_ns; /* longer than it was late, and its tasks do not say for whom */
    int64_t sure_ns;     /* for nobody that is not here, which its tasks would say */
} lateness;

/* Of each rank ([n_ranks], by index). Waits inside of an operator are short beside. */
static void sum_overtaken(const ps_report *report, const ps_skew *skew, lateness *out) {
    for (size_t i = 0; i < skew->n_collectives; i++) {
        const ps_matched_collective *x = &skew->collectives[i];
        const ps_collective_part *last = &skew->parts[x->last];
        const ps_report_member *m = comm_member_of(report, last->rank);
        const ps_comm_op_waits *w = m != NULL ? &m->facts->comm_waits.ops[last->op] : NULL;
        const ps_report_waited *whom = w != NULL ? ps_report_waited_by(report, m, w->most) : NULL;
        if (m != NULL && ps_report_is_overtaken(report, x, m, last->op)) {
            out[last->rank].overtaken_ns = ps_i64_plus(out[last->rank].overtaken_ns, x->late_ns);
        } else if (whom == NULL && w != NULL && w->wait_ns > x->late_ns) {
            out[last->rank].doubtful_ns = ps_i64_plus(out[last->rank].doubtful_ns, x->late_ns);
        } else if (w != NULL && w->has_tasks && m->facts->comm_waits.n_own_places > 0) {
            out[last->rank].sure_ns = ps_i64_plus(out[last->rank].sure_ns, x->late_ns);
        }
    }
}

/* The rank for which others waited longest in collectives, and how long; `less` is not counted. */
static const ps_report_member *most_late(const ps_report *report, const ps_skew *skew,
                                         const lateness *less, int64_t *late_ns) {
    const ps_report_member *worst = NULL;
    *late_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        int64_t sum = 0;
        for (size_t r = 0; r < skew->n_rows; r++) {
            const ps_skew_row *row = &skew->rows[r];
            sum = ps_i64_plus(
                sum, row->rank == report->members[i].index && !row->is_p2p ? row->late_ns : 0);
        }
        sum -= less[report->members[i].index].overtaken_ns;
        if (sum > *late_ns) {
            *late_ns = sum;
            worst = &report->members[i];
        }
    }
    return worst;
}

PS_COMPARE_POINTERS(latest_first, ps_matched_collective, PS_BY_DOWN(late_ns) PS_BY_PLACE)

/* What is less than a hundredth of `all_ns` shows nothing. */
static void show_collectives(ps_report *report, const ps_skew *skew, const ps_report_member *m,
                             int64_t all_ns) {
    const ps_lang lang = report->findings.lang;
    const ps_matched_collective **own = ps_calloc(skew->n_collectives + 1, sizeof *own);
    size_t n = 0;
    if (own == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < skew->n_collectives; i++) {
        if (skew->parts[skew->collectives[i].last].rank == m->index) {
            own[n++] = &skew->collectives[i];
        }
    }
    qsort(own, n, sizeof *own, latest_first);
    for (size_t i = 0; i < n && own[i]->late_ns >= all_ns / 100; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[skew->parts[own[i]->last].op];
        char note[128];
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "last of %u ranks, %s after the one before; took %s itself",
                              "%u 个 rank 中最后一个，比前一个晚 %s；自身用时 %s"),
                       (unsigned)own[i]->n, ps_ns_text_of(own[i]->late_ns).text,
                       ps_ns_text_of(ps_comm_op_ns(op)).text);
        ps_report_show_op(report, m, op, own[i]->late_ns, note);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t start_ns = m->facts->comm.ops[skew->parts[own[i]->last].op].start_ns;
        ps_findings_span(&report->findings, start_ns - own[i]->late_ns, start_ns);
    }
    ps_free(own);
}

/* Why no gain is told of a rank that comes late; "" where one is. */
static void say_late_doubt(const ps_report *report, int64_t late_ns, const lateness *l,
                           char out[256]) {
    const ps_lang lang = report->findings.lang;
    char partial[PS_PARTIAL_TEXT];
    (void)ps_report_partial_text(report, partial);
    out[0] = '\0';
    if (report->job.is_partial && l->sure_ns < late_ns) {
        (void)snprintf(
            out, 256,
            PS_SAY(lang,
                   "%s: whether all wait for one of the others is not known, so no gain is told.",
                   "%s：是否都在等其他 rank 中的某一个不得而知，因此不给出收益。"),
            partial);
    } else if (report->job.n_ranks == 0 && l->doubtful_ns > late_ns / 2) {
        (void)snprintf(
            out, 256,
            PS_SAY(
                lang,
                " It waits still longer there itself, and its tasks do not say for whom: "
                "one that is not here may come later, so no gain is told.",
                "它自己在那里等得更久，而其任务没有说明在等谁：未采集的 rank 可能更晚，因此不给出收益。"));
    }
}

static void tell_late(ps_report *report, const ps_skew *skew, const ps_report_member *m,
                      int64_t late_ns, const lateness *l) {
    const ps_lang lang = report->findings.lang;
    size_t n_last = 0;
    size_t n = 0;
    for (size_t r = 0; r < skew->n_rows; r++) {
        bool own = skew->rows[r].rank == m->index && !skew->rows[r].is_p2p;
        n_last += own ? skew->rows[r].n_last : 0;
        n += own ? skew->rows[r].n : 0;
    }
    char unmatched[96] = "";
    if (skew->n_unmatched > 0) {
        (void)snprintf(unmatched, sizeof unmatched,
                       PS_SAY(lang,
                              " %zu operators of all ranks are matched with none of another rank.",
                              "所有 rank 中有 %zu 个算子未能与其他 rank 的算子匹配。"),
                       skew->n_unmatched);
    }
    char doubt[256];
    double share = ps_percent(ps_report_per_step(m, late_ns), report->step_ns);
    say_late_doubt(report, late_ns, l, doubt);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_LATE_ARRIVAL,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = doubt[0] != '\0' ? 0 : ps_report_per_step(m, late_ns),
                     .value = share},
        PS_SAY(
            lang,
            "Rank %lld comes last to %zu of its %zu %scollectives; the others wait %s in each step for it%s "
            "(%.1f %%).%s%s",
            "rank %lld 最后到达 %zu 次（共 %zu 个%s集合通信）；其他 rank 每个 step 等它 %s%s（%.1f %%）。%s%s"),
        (long long)m->rank, n_last, n,
        skew->n_unmatched > 0 ? PS_SAY(lang, "matched ", "已匹配的") : "",
        ps_ns_text_of(ps_report_per_step(m, late_ns)).text,
        doubt[0] != '\0' ? "" : PS_SAY(lang, " alone", "（只等它）"), share, unmatched, doubt);
    show_collectives(report, skew, m, late_ns);
}

static void find_late(ps_report *report, const ps_skew *skew) {
    int64_t late_ns = 0;
    lateness *less = ps_calloc(report->in->n_ranks + 1, sizeof *less);
    if (less == NULL) {
        report->findings.failed = true;
        return;
    }
    sum_overtaken(report, skew, less);
    const ps_report_member *m = most_late(report, skew, less, &late_ns);
    double share = m != NULL ? ps_percent(ps_report_per_step(m, late_ns), report->step_ns) : 0;
    if (m != NULL && ps_rule_fires(&report->findings, PS_RULE_LATE_ARRIVAL, share)) {
        tell_late(report, skew, m, late_ns, &less[m->index]);
    }
    ps_free(less);
}

static void find_comm_waiting(ps_report *report) {
    if (report->has_skew) {
        find_late(report, &report->skew);
        ps_report_receives(report, &report->skew);
    }
}

/* --- ranks that differ -------------------------------------------------------------------------------------------------------- */

typedef struct metric {
    const char *what[PS_N_LANGS];
    int64_t (*of)(const ps_report_member *m);
    bool most_is_slow; /* else the rank with the least is the one that others wait for */
    const char *remedy[PS_N_LANGS];
    const char
        *remedy_without_kernels[PS_N_LANGS]; /* where nobody says which ran; NULL: the same */
} metric;

static int64_t computing_of(const ps_report_member *m) {
    return m->computing_ns;
}
static int64_t free_of(const ps_report_member *m) {
    return m->computing_ns > 0 && m->free_ns > m->bubble_ns ? m->free_ns - m->bubble_ns : 0;
}

typedef struct spread {
    const ps_report_member *most, *least;
    int64_t next_ns; /* the most but for one rank */
    int64_t sum_ns, mean_ns;
    double share;
    size_t n;
} spread;

typedef struct stage_spreads {
    spread *of; /* a row for each stage, in the order in which members stand */
    size_t n, cap;
    ps_idmap row_of; /* stage + 1 -> row */
} stage_spreads;

static spread *spread_of_stage(stage_spreads *all, int32_t stage) {
    uint64_t key = (uint64_t)((int64_t)stage + 1);
    uint32_t row = ps_idmap_get(&all->row_of, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)all->n;
        if (!ps_grow(&all->of, &all->cap, all->n + 1, UINT32_MAX - 1, sizeof *all->of) ||
            !ps_idmap_put(&all->row_of, key, row)) {
            return NULL;
        }
        all->of[all->n++] = (spread){0};
    }
    return &all->of[row];
}

static bool add_spreads(const ps_report *report, const metric *x, stage_spreads *all) {
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        spread *s = spread_of_stage(all, m->stage);
        if (s == NULL) {
            return false;
        }
        bool is_most = s->most == NULL || x->of(m) > x->of(s->most);
        int64_t other_ns = is_most ? (s->most != NULL ? x->of(s->most) : 0) : x->of(m);
        s->next_ns = other_ns > s->next_ns ? other_ns : s->next_ns;
        s->most = is_most ? m : s->most;
        s->least = s->least == NULL || x->of(m) < x->of(s->least) ? m : s->least;
        s->sum_ns = ps_i64_plus(s->sum_ns, x->of(m));
        s->n++;
    }
    for (size_t i = 0; i < all->n; i++) {
        spread *s = &all->of[i];
        s->mean_ns = s->sum_ns / (int64_t)s->n;
        s->share = s->n > 1 ? ps_percent(x->of(s->most) - x->of(s->least), s->mean_ns) : 0;
    }
    return true;
}

/* What the figure of the ranks is: free time in a known bubble is not the host's. */
static const char *figure_of(const spread *s, const metric *x, ps_lang lang) {
    bool has_bubble = s->most->bubble_ns > 0 || s->least->bubble_ns > 0;
    return x->of == free_of && has_bubble
               ? PS_SAY(lang, "Free outside of the bubble", "空泡以外的空闲")
               : x->what[lang];
}

static void show_ranks(ps_report *report, const spread *s, const metric *x) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *ends[] = {s->most, s->least};
    for (size_t i = 0; i < 2; i++) {
        ps_findings_evidence(
            &report->findings,
            (ps_evidence){.rank = ends[i]->rank,
                          .step = PS_STEP_OUTSIDE,
                          .start_ns = PS_NO_START,
                          .dur_ns = x->of(ends[i]),
                          .name = figure_of(s, x, lang),
                          .note = i == 0 ? PS_SAY(lang, "most, in a step", "最多（每个 step）")
                                         : PS_SAY(lang, "least, in a step", "最少（每个 step）")});
    }
}

/* Where the rank with the least exposed communication waits in it itself for one that was not captured, and longer than it is behind the
 * rank with the most, that one is to be looked at. */
static bool say_absent(const ps_report *report, const spread *s, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    int64_t behind_ns = comm_exposed_ns(s->most) - comm_exposed_ns(s->least);
    int64_t ns = 0;
    const ps_report_waited *x = ps_report_most_waited(report, s->least, &ns);
    char whom[PS_WAITED_TEXT];
    bool is_named = x != NULL && x->is_absent && ns > behind_ns;
    if (is_named) {
        (void)snprintf(
            out, size,
            PS_SAY(
                lang,
                "See to %s before rank %s: rank %s itself waits %s for it. Its own capture tells why it "
                "comes late.",
                "先看%s，再看 rank %s：rank %s 自己在等它，用时 %s。只有它自己的采集数据能说明为何迟到。"),
            ps_report_waited_text(lang, x, whom), PS_RANK(s->least->rank), PS_RANK(s->least->rank),
            ps_ns_text_of(ns).text);
    } else if (s->least->absent_ns > behind_ns) {
        (void)snprintf(
            out, size,
            PS_SAY(
                lang,
                "See to the ranks that were not captured before rank %s: it waits itself %s for them. "
                "Their own captures tell why they come late.",
                "先看未采集的 rank，再看 rank %s：它自己等它们 %s。只有它们自己的采集数据能说明为何迟到。"),
            PS_RANK(s->least->rank), ps_ns_text_of(s->least->absent_ns).text);
    }
    return is_named || s->least->absent_ns > behind_ns;
}

/* The stage whose ranks differ most, of those that differ enough; a spread without ranks where there is none. */
static spread worst_spread(ps_report *report, const metric *x) {
    spread worst = {0};
    int64_t most_ns = 0;
    stage_spreads all = {0};
    ps_idmap_init(&all.row_of);
    report->findings.failed = !add_spreads(report, x, &all) || report->findings.failed;
    for (size_t i = 0; !report->findings.failed && i < all.n; i++) {
        const spread *s = &all.of[i];
        int64_t ns = x->of(s->most) - x->of(s->least);
        bool fires = ps_rule_fires(&report->findings, PS_RULE_SLOW_RANK, s->share) &&
                     ps_percent(ns, report->step_ns) > 1;
        if (fires && ns > most_ns) {
            worst = *s;
            most_ns = ns;
        }
    }
    ps_free(all.of);
    ps_idmap_fini(&all.row_of);
    return worst;
}

static void find_spread(ps_report *report, const metric *x) {
    const ps_lang lang = report->findings.lang;
    spread worst = worst_spread(report, x);
    if (worst.most == NULL) {
        return;
    }
    const ps_report_member *slow = x->most_is_slow ? worst.most : worst.least;
    char partial[PS_PARTIAL_TEXT];
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_SLOW_RANK,
                     .rank = slow->rank,
                     .stage = slow->stage,
                     .gain_ns = x->most_is_slow && !report->job.is_partial
                                    ? x->of(worst.most) - worst.next_ns
                                    : 0,
                     .value = worst.share,
                     .is_of_computing = x->of == computing_of,
                     .is_assumed = slow->stage < 0},
        PS_SAY(lang,
               "%s differs by %.1f %% over %zu ranks%s: rank %s %s, rank %s %s in a step.%s%s%s%s",
               "%s相差 %.1f %%（%zu 个 rank%s）：每个 step rank %s 为 %s，rank %s 为 %s。%s%s%s%s"),
        figure_of(&worst, x, lang), worst.share, worst.n,
        slow->stage >= 0 ? PS_SAY(lang, " of one stage", "，同一阶段") : "",
        PS_RANK(worst.most->rank), ps_ns_text_of(x->of(worst.most)).text,
        PS_RANK(worst.least->rank), ps_ns_text_of(x->of(worst.least)).text,
        x->most_is_slow || report->job.is_partial
            ? ""
            : PS_SAY(lang, " The one with the least is the one that the others wait for.",
                     "用时最少的 rank 是其他 rank 等待的对象。"),
        slow->stage >= 0
            ? ""
            : PS_SAY(lang, " Their stages are unknown: that they do the same work is assumed.",
                     "其阶段未知：假定它们的工作相同。"),
        ps_report_partial_text(report, partial),
        report->job.is_partial ? PS_OTHERS_UNKNOWN(lang) : "");
    bool any_kernels = slow->facts->n_kernels > 0 || x->remedy_without_kernels[lang] == NULL;
    char absent[256];
    bool is_absent = !x->most_is_slow && say_absent(report, &worst, absent, sizeof absent);
    ps_findings_remedy(&report->findings, is_absent     ? absent
                                          : any_kernels ? x->remedy[lang]
                                                        : x->remedy_without_kernels[lang]);
    show_ranks(report, &worst, x);
}

void ps_report_comm(ps_report *report) {
    static const metric METRICS[] = {
        {{"Computing", "计算"},
         computing_of,
         true,
         {"Unequal work, or a slow chip: compare the kernels of both ranks.",
          "工作不均，或芯片慢：比较两个 rank 的核函数。"},
         {"Unequal work, or a slow machine: which kernels ran is not recorded. Look at the frequency, memory errors "
          "and neighbours of the slow rank, and at its share of the work.",
          "工作不均，或机器慢：没有记录运行了哪些核函数。检查慢 rank 的频率、内存错误与邻近作业，以及其工作量份额。"}},
        {{"Exposed communication", "未掩盖通信"},
         comm_exposed_ns,
         false,
         {"Look at what the rank with the least of it did before its collectives, its host, its kernels and "
          "its share of the work: ranks with more wait there.",
          "看未掩盖通信最少的 rank 在其集合通信之前做什么、其主机、核函数与工作量份额：更多的 rank 是在那里等待。"},
         {NULL}},
        {{"Free", "空闲"},
         free_of,
         true,
         {"The host of the rank with the most of it: what it does while its device is idle.",
          "空闲最多的 rank 的主机：设备空闲时它在做什么。"},
         {NULL}}};
    ps_report_comm_kinds(report);
    find_comm_waiting(report);
    find_exposed(report); /* knows who waits by then */
    ps_report_absent_rank(report);
    for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++) {
        find_spread(report, &METRICS[i]);
    }
    ps_report_network(report);
    ps_report_doubts(report);
}
