/* Receives that wait for their sends: of one rank for another one, so that the time is that of one rank and no more than its step. What is
 * known of the cause is said: a send that starts late, on one clock; the sender's own waits; else that nobody knows. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/comm/skew.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"

/* Receives of one rank from another one, sums over the steps; both by index. */
typedef struct pair {
    uint32_t sender, receiver;
    int64_t waited_ns;   /* of those that are known */
    int64_t transfer_ns; /* of those: what they take from then on */
    size_t n, n_unknown;
} pair;

PS_COMPARE(by_ranks, pair, PS_BY(sender) PS_BY(receiver))

/* Looked up once for all: there are many receives for each of many ranks. */
typedef struct receiving {
    const ps_report *report;
    const ps_report_member **members; /* [n] by index, NULL: none */
    int64_t *waits_ns;                /* [n] of receives of its own */
    size_t n;
} receiving;

static bool begin_receiving(receiving *r, const ps_report *report, const ps_skew *skew) {
    *r = (receiving){.report = report};
    for (size_t i = 0; i < report->n_members; i++) {
        size_t index = report->members[i].index;
        r->n = index >= r->n ? index + 1 : r->n;
    }
    r->members = ps_calloc(r->n, sizeof(const ps_report_member *));
    r->waits_ns = ps_calloc(r->n, sizeof *r->waits_ns);
    if (r->members == NULL || r->waits_ns == NULL) {
        return false;
    }
    for (size_t i = report->n_members; i-- > 0;) {
        r->members[report->members[i].index] = &report->members[i];
    }
    for (size_t i = 0; i < skew->n_rows; i++) {
        uint32_t rank = skew->rows[i].rank;
        if (skew->rows[i].is_p2p && rank < r->n) {
            r->waits_ns[rank] = ps_i64_plus(r->waits_ns[rank], skew->rows[i].waited_ns);
        }
    }
    return true;
}

static void end_receiving(receiving *r) {
    ps_free(r->members);
    ps_free(r->waits_ns);
}

static const ps_report_member *member_at(const receiving *r, uint32_t index) {
    return index < r->n ? r->members[index] : NULL;
}

static pair pair_of(const ps_report_member *to, const ps_skew_receive *r) {
    const ps_comm_op *op = &to->facts->comm.ops[r->receive_op];
    return (pair){.sender = r->sender,
                  .receiver = r->receiver,
                  .waited_ns = r->waited_ns,
                  .transfer_ns = r->is_known ? op->end_ns - op->start_ns - r->waited_ns : 0,
                  .n = 1,
                  .n_unknown = !r->is_known};
}

/* What a rank waits itself for the sends of others. */
static int64_t own_waits_ns(const receiving *r, const ps_report_member *m) {
    return ps_report_per_step(m, r->waits_ns[m->index]);
}

static double share_of(const receiving *r, const pair *x) {
    const ps_report_member *to = member_at(r, x->receiver);
    return to != NULL ? ps_percent(ps_report_per_step(to, x->waited_ns), r->report->step_ns) : 0;
}

/* Whether the sender waits itself at least half as long for others. */
static bool passes_on(const receiving *r, const pair *x) {
    const ps_report_member *to = member_at(r, x->receiver);
    return own_waits_ns(r, member_at(r, x->sender)) >= ps_report_per_step(to, x->waited_ns) / 2;
}

/* The longer, but first one whose sender waits for nobody. */
static bool is_better(const receiving *r, const pair *x, const pair *y) {
    bool fires = ps_rule_fires(&r->report->findings, PS_RULE_RECEIVE_WAIT, share_of(r, x));
    bool x_begins = fires && !passes_on(r, x);
    bool y_begins = y->n > 0 && !passes_on(r, y);
    return x_begins != y_begins ? x_begins : fires && x->waited_ns > y->waited_ns;
}

/* The pair over the threshold that tells most; false: there is none, or memory is out, which is noted. */
static bool find_pair(const receiving *r, ps_report *report, const ps_skew *skew, pair *out) {
    pair *all = ps_calloc(skew->n_receives + 1, sizeof *all);
    size_t n = 0;
    *out = (pair){0};
    if (all == NULL) {
        report->findings.failed = true;
        return false;
    }
    for (size_t i = 0; i < skew->n_receives; i++) {
        const ps_report_member *to = member_at(r, skew->receives[i].receiver);
        if (to != NULL && member_at(r, skew->receives[i].sender) != NULL) {
            all[n++] = pair_of(to, &skew->receives[i]);
        }
    }
    qsort(all, n, sizeof *all, by_ranks);
    for (size_t i = 0, end = 0; i < n; i = end) {
        pair sum = all[i];
        for (end = i + 1; end < n && by_ranks(&all[i], &all[end]) == 0; end++) {
            sum.waited_ns = ps_i64_plus(sum.waited_ns, all[end].waited_ns);
            sum.transfer_ns = ps_i64_plus(sum.transfer_ns, all[end].transfer_ns);
            sum.n++;
            sum.n_unknown += all[end].n_unknown;
        }
        *out = is_better(r, &sum, out) ? sum : *out;
    }
    ps_free(all);
    return out->n > 0;
}

PS_COMPARE_POINTERS(most_waited, ps_skew_receive, PS_BY_DOWN(waited_ns) PS_BY_PLACE)

static void show_receives(const receiving *by, ps_report *report, const ps_skew *skew,
                          const pair *x) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *to = member_at(by, x->receiver);
    const ps_skew_receive **own = ps_calloc(skew->n_receives + 1, sizeof *own);
    size_t n = 0;
    if (own == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < skew->n_receives; i++) {
        const ps_skew_receive *r = &skew->receives[i];
        if (r->sender == x->sender && r->receiver == x->receiver) {
            own[n++] = r;
        }
    }
    qsort(own, n, sizeof *own, most_waited);
    for (size_t i = 0; i < n && i < PS_EVIDENCE_MAX; i++) {
        char note[96];
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "waits for the send of rank %s", "等待 rank %s 的发送"),
                       PS_RANK(member_at(by, x->sender)->rank));
        if (own[i]->waited_ns > 0 && own[i]->waited_ns >= x->waited_ns / 100) {
            ps_report_show_op(report, to, &to->facts->comm.ops[own[i]->receive_op],
                              own[i]->waited_ns, note);
        }
    }
    ps_free(own);
}

typedef struct stage_text {
    char text[48];
} stage_text;

static stage_text name_rank(const ps_report_member *m) {
    const ps_lang lang = m->lang;
    stage_text out;
    if (m->stage >= 0) {
        (void)snprintf(out.text, sizeof out.text,
                       PS_SAY(lang, "rank %s (stage %d)", "rank %s（阶段 %d）"), PS_RANK(m->rank),
                       (int)m->stage);
    } else {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "rank %s", "rank %s"),
                       PS_RANK(m->rank));
    }
    return out;
}

/* Part of it is the bubble that every schedule has: no gain is told. */
static void tell_receives(const receiving *r, ps_report *report, const ps_skew *skew,
                          const pair *found) {
    const ps_lang lang = report->findings.lang;
    const pair x = *found;
    const ps_report_member *from = member_at(r, x.sender);
    const ps_report_member *to = member_at(r, x.receiver);
    int64_t ns = ps_report_per_step(to, x.waited_ns);
    double share = share_of(r, &x);
    bool is_one_clock = skew->clocks[x.sender].reference == skew->clocks[x.receiver].reference;
    bool is_late_itself = passes_on(r, &x);
    char cause[256];
    char own[128] = "";
    char unknown[128] = "";
    if (is_one_clock) {
        (void)snprintf(
            cause, sizeof cause,
            PS_SAY(lang,
                   ", which start so much later than the receives. From there on these take %s "
                   "more.",
                   "；这些发送比接收晚这么久才开始。此后接收还需 %s。"),
            ps_ns_text_of(ps_report_per_step(to, x.transfer_ns)).text);
    } else {
        (void)snprintf(
            cause, sizeof cause,
            PS_SAY(
                lang,
                ": they take so much longer than the sends. Whether the sends start late or the "
                "link is slow is not known: nothing connects the clocks of the two.",
                "：接收比发送多用这么久。是发送开始得晚还是链路慢不得而知：两者的时钟没有联系。"));
    }
    if (is_late_itself) {
        (void)snprintf(own, sizeof own,
                       PS_SAY(lang, " Rank %s waits itself in receives, for %s in a step.",
                              "rank %s 自己也在接收中等待，每个 step %s。"),
                       PS_RANK(from->rank), ps_ns_text_of(own_waits_ns(r, from)).text);
    }
    if (x.n_unknown > 0) {
        (void)snprintf(unknown, sizeof unknown,
                       PS_SAY(lang, " Of %zu of the %zu receives it is not known who waited.",
                              "有 %zu 个（共 %zu 个）接收不清楚是谁在等。"),
                       x.n_unknown, x.n);
    }
    bool is_pipeline = report->chart != NULL || report->n_stages > 1;
    ps_findings_add(
        &report->findings,
        (ps_finding){
            .rule = PS_RULE_RECEIVE_WAIT, .rank = to->rank, .stage = to->stage, .value = share},
        PS_SAY(lang, "Receives of %s wait %s in each step (%.1f %%) for sends of %s%s%s%s%s",
               "%s的接收每个 step 等待 %s（%.1f %%），等的是 %s的发送%s%s%s%s"),
        name_rank(to).text, ps_ns_text_of(ns).text, share, name_rank(from).text, cause, own,
        unknown,
        is_pipeline ? PS_SAY(lang, " A part of it is the bubble that the schedule has anyway.",
                             "其中一部分是调度本来就有的空泡。")
                    : "");
    char remedy[192];
    (void)snprintf(
        remedy, sizeof remedy,
        !is_one_clock
            ? PS_SAY(lang,
                     "Find out first whether the sends of rank %s are late or the link is slow: a "
                     "recording that measures the clocks tells.",
                     "先弄清 rank %s 的发送是晚了还是链路慢：测量时钟的录制可以说明。")
        : is_late_itself
            ? PS_SAY(lang, "Look further back: for whom rank %s waits in its own receives.",
                     "再往前看：rank %s 在自己的接收中等谁。")
            : PS_SAY(
                  lang,
                  "Look at what rank %s does before its sends: its share of the work, its kernels, its "
                  "host.",
                  "看 rank %s 发送之前做什么：工作量份额、核函数、主机。"),
        PS_RANK(from->rank));
    ps_findings_remedy(&report->findings, remedy);
    show_receives(r, report, skew, &x);
}

void ps_report_receives(ps_report *report, const ps_skew *skew) {
    receiving r;
    pair x;
    if (!begin_receiving(&r, report, skew)) {
        report->findings.failed = true;
    } else if (find_pair(&r, report, skew, &x)) {
        tell_receives(&r, report, skew, &x);
    }
    end_receiving(&r);
}
