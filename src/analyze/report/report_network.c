/* Links and packets, from what the profile's own communication tables say, and the sizes of messages. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/slow_link_matrix.h"
#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/stats/alike.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

/* --- links ----------------------------------------------------------------------------------------------------------- */

static int64_t ms_to_ns(double ms) {
    return ms > 0 && ms < 1e12 ? (int64_t)(ms * 1e6) : 0;
}

static void show_link(ps_report *report, const ps_slow_link *l) {
    const ps_lang lang = report->findings.lang;
    char name[96];
    char note[128];
    (void)snprintf(name, sizeof name, PS_SAY(lang, "%.32s to rank %s", "%.32s，到 rank %s"),
                   l->transport, PS_RANK(l->destination));
    (void)snprintf(note, sizeof note,
                   PS_SAY(lang, "%.3g GB/s, median of %zu links %.3g GB/s, %.3g MB",
                          "%.3g GB/s，%zu 条链路的中位数 %.3g GB/s，%.3g MB"),
                   l->bandwidth, l->n_alike, l->median, l->size);
    ps_findings_evidence(&report->findings, (ps_evidence){.rank = l->source,
                                                          .step = PS_STEP_OUTSIDE,
                                                          .start_ns = PS_NO_START,
                                                          .dur_ns = ms_to_ns(l->time),
                                                          .name = name,
                                                          .note = note});
}

static void keep_links(ps_report *report, const ps_slow_links *found) {
    for (size_t i = 0; i < found->n && i < PS_REPORT_LINKS_KEPT; i++) {
        const ps_slow_link *l = &found->all[i];
        const char *group = ps_arena_strndup(&report->findings.arena, l->group, strlen(l->group));
        if (group == NULL) {
            report->findings.failed = true;
            return;
        }
        report->slow_links[report->n_slow_links++] =
            (ps_report_slow_link){l->source, l->destination, group};
    }
}

static bool has_group(const ps_report_member *m, const char *key) {
    char own[PS_COMM_KEY_SIZE];
    bool found = false;
    ps_str last = PS_STR_NONE;
    for (size_t i = 0; i < m->facts->comm.n && !found; i++) {
        ps_str group = m->facts->comm.ops[i].look->group;
        if (!ps_str_is_none(group) && !ps_str_eq(group, last)) {
            ps_comm_key(ps_comm_text(&m->facts->comm, group), own, sizeof own);
            found = strcmp(own, key) == 0;
            last = group;
        }
    }
    return found;
}

const ps_report_slow_link *ps_report_slow_link_of(const ps_report *report, int64_t rank) {
    const ps_report_member *m = ps_report_first_of(report, rank);
    for (size_t i = 0; i < report->n_slow_links; i++) {
        const ps_report_slow_link *l = &report->slow_links[i];
        bool is_end = rank == l->source || rank == l->destination;
        if (is_end || (m != NULL && l->group[0] != '\0' && has_group(m, l->group))) {
            return l;
        }
    }
    return NULL;
}

/* Steps of which the rank's tables tell links; 1 where they do not say which. */
static int64_t n_steps_of_links(ps_report *report, const ps_report_member *m) {
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    ps_idmap seen;
    int64_t n = 0;
    ps_idmap_init(&seen);
    for (size_t i = 0; t != NULL && i < t->n_links; i++) {
        uint64_t step = t->links[i].step.id;
        if (ps_idmap_get(&seen, step) == PS_IDMAP_NONE) {
            report->findings.failed = !ps_idmap_put(&seen, step, 0) || report->findings.failed;
            n++;
        }
    }
    ps_idmap_fini(&seen);
    return n > 0 ? n : 1;
}

/* How long the collectives of a group are in transit in a step, by the rank's tables; -1 not known. */
static int64_t transit_in_group_ns(const ps_report_member *m, const char *key) {
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    char own[PS_COMM_KEY_SIZE];
    double sum_ms = 0;
    bool any = false;
    for (size_t i = 0; t != NULL && i < t->n_times; i++) {
        const ps_comm_time *row = &t->times[i];
        ps_comm_key(ps_comm_tables_text(t, row->group), own, sizeof own);
        if (!row->is_p2p && row->transit >= 0 && strcmp(own, key) == 0) {
            sum_ms += row->transit;
            any = true;
        }
    }
    return any ? ms_to_ns(sum_ms) / (m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1) : -1;
}

static bool is_network_text(const ps_report_member *m, ps_str a, const ps_report_member *n,
                            ps_str b) {
    return strcmp(ps_comm_text(&m->facts->comm, a), ps_comm_text(&n->facts->comm, b)) == 0;
}

/* One part of a collective that several ranks took part in, and its operator. */
typedef struct met {
    const ps_report_member *member;
    const ps_comm_op *op;
} met;

static met first_part_of(const ps_report *report, const ps_matched_collective *x) {
    const ps_collective_part *part = &report->skew.parts[x->first];
    PS_PLACE(size_t, at, 0, report->n_members, i, report->members[i].index < part->rank)
    const ps_report_member *m = at < report->n_members ? &report->members[at] : NULL;
    return m != NULL && m->index == part->rank ? (met){m, &m->facts->comm.ops[part->op]}
                                               : (met){NULL, NULL};
}

static bool is_in_group(const met *x, const char *key) {
    char own[PS_COMM_KEY_SIZE];
    ps_comm_key(ps_comm_text(&x->member->facts->comm, x->op->look->group), own, sizeof own);
    return strcmp(own, key) == 0;
}

#define LINK_MEETINGS 64 /* of the link's group that are compared */

/* How much longer the collectives of a link's group take than those of its kind and size in other groups, in a step, by the rank that
 * waits least in each; -1: there is none to compare with. */
static int64_t longer_than_others_ns(const ps_report *report, const char *key) {
    const ps_skew *skew = &report->skew;
    int64_t sum_ns = 0;
    size_t n = 0;
    for (size_t i = 0; report->has_skew && i < skew->n_collectives && n < LINK_MEETINGS; i++) {
        met own = first_part_of(report, &skew->collectives[i]);
        if (own.member == NULL || !is_in_group(&own, key)) {
            continue;
        }
        int64_t others_ns = 0;
        int64_t n_others = 0;
        for (size_t k = 0; k < skew->n_collectives; k++) {
            met other = first_part_of(report, &skew->collectives[k]);
            if (other.member != NULL && other.op->look->size_bytes == own.op->look->size_bytes &&
                is_network_text(own.member, own.op->look->type, other.member,
                                other.op->look->type) &&
                !is_in_group(&other, key)) {
                others_ns = ps_i64_plus(others_ns, skew->collectives[k].shortest_ns);
                n_others++;
            }
        }
        int64_t longer_ns =
            n_others > 0 ? skew->collectives[i].shortest_ns - others_ns / n_others : 0;
        sum_ns = ps_i64_plus(sum_ns, longer_ns > 0 ? longer_ns : 0);
        n += n_others > 0;
    }
    return n > 0 ? sum_ns / (report->n_steps > 0 ? (int64_t)report->n_steps : 1) : -1;
}

/* What the slowest one would save at the median's speed: all links of a collective work at once. No more than the collectives of its
 * group take longer than others; where there are no others, than they are in transit. */
static int64_t gain_of_link(ps_report *report, const ps_report_member *m, const ps_slow_link *l,
                            char bound[192]) {
    const ps_lang lang = report->findings.lang;
    int64_t saved_ns =
        ms_to_ns(l->time * (1 - l->bandwidth / l->median)) / n_steps_of_links(report, m);
    int64_t longer_ns = longer_than_others_ns(report, l->group);
    int64_t transit_ns = transit_in_group_ns(m, l->group);
    bound[0] = '\0';
    if (longer_ns >= 0) {
        (void)snprintf(
            bound, 192,
            PS_SAY(
                lang,
                " From the arrival of their last rank on, the collectives of its group take %s longer in a step "
                "than their like in other groups.",
                "从最后一个 rank 到达起，该组的集合通信每个 step 比其他组的同类多用 %s。"),
            longer_ns > 0 ? ps_ns_text_of(longer_ns).text : "no");
        return longer_ns < saved_ns ? longer_ns : saved_ns;
    }
    if (transit_ns < 0 || transit_ns >= saved_ns) {
        return saved_ns;
    }
    (void)snprintf(
        bound, 192,
        PS_SAY(lang,
               " The collectives of its group are in transit for %s in a step: no more can be won.",
               "该组的集合通信每个 step 传输 %s：最多只能省下这些。"),
        ps_ns_text_of(transit_ns).text);
    return transit_ns;
}

static void say_links(ps_report *report, const ps_slow_links *found) {
    const ps_lang lang = report->findings.lang;
    const ps_slow_link *worst = &found->all[0];
    const ps_report_member *m = ps_report_first_of(report, worst->source);
    m = m != NULL ? m : &report->members[0];
    double share = 100 * worst->bandwidth / worst->median;
    char bound[192];
    int64_t gain_ns = gain_of_link(report, m, worst, bound);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_SLOW_LINK,
                     .rank = worst->source,
                     .stage = m->stage,
                     .gain_ns = gain_ns,
                     .value = share},
        PS_SAY(
            lang,
            "%zu link%s far below the median of the same transport and size; the slowest, %.32s from rank "
            "%lld to rank %s, reaches %.3g of %.3g GB/s.%s",
            "%zu 条链路%.0s远低于相同传输类型与大小的中位数；最慢的一条为 %.32s，rank %lld 到 rank %s，达到 %.3g GB/s（中位数 %.3g GB/s）。%s"),
        found->n, found->n == 1 ? " is" : "s are", worst->transport, (long long)worst->source,
        PS_RANK(worst->destination), worst->bandwidth, worst->median, bound);
    for (size_t i = 0; i < found->n && i < PS_EVIDENCE_MAX; i++) {
        show_link(report, &found->all[i]);
    }
}

/* By the definition of the mode slow_link. */
static void find_links(ps_report *report) {
    void **parts = ps_calloc(report->in->n_ranks + 1, sizeof *parts);
    ps_slow_links found = {0};
    ps_err err = PS_ERR_INIT;
    if (parts == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < report->n_members; i++) {
        parts[report->members[i].index] = report->members[i].facts->part;
    }
    ps_reduce_input in = *report->in;
    in.partials = parts;
    double share = report->findings.thresholds[PS_RULE_SLOW_LINK] / 100;
    if (ps_slow_links_find(&in, share, &found, &err) != PS_OK) {
        report->findings.failed = true;
    } else if (found.n > 0 && report->n_members > 0) {
        say_links(report, &found);
        keep_links(report, &found);
    }
    ps_slow_links_fini(&found);
    ps_free(parts);
}

/* --- packets ----------------------------------------------------------------------------------------------------------- */

#define AS_FAST 0.9 /* of the rate of the larger ones: they lose nothing by their size */

/* GB/s; 0: not known. */
static double rate_of_packets(double mb, double ms) {
    return mb > 0 && ms > 0 ? mb / ms : 0;
}

static double rate_of_large(const ps_report_packets *p) {
    return rate_of_packets(p->all_mb - p->small_mb, p->all_ms - p->small_ms);
}

/* Of small ones that are slower than the larger, as far as is known. */
static double network_share_of(const ps_report_packets *p) {
    double large = rate_of_large(p);
    bool as_fast = large > 0 && rate_of_packets(p->small_mb, p->small_ms) >= AS_FAST * large;
    return p->all_mb > 0 && !as_fast ? 100 * p->small_mb / p->all_mb : 0;
}

#define RISES 0.95 /* of the rate of the next smaller size, and more: as far as rates vary */

/* GB/s; 0: not known, or of so few packets that it tells nothing. */
static double rate_of_class(const ps_report_packets *p, size_t k) {
    return p->class_mb[k] >= p->all_mb / 100 ? rate_of_packets(p->class_mb[k], p->class_ms[k]) : 0;
}

/* Whether larger packets go faster, size for size. */
static bool rises_with_size(const ps_report_packets *p) {
    double last = 0;
    bool rises = true;
    for (size_t k = 0; k < PS_N_PACKET_CLASSES; k++) {
        double rate = rate_of_class(p, k);
        rises = rises && (rate == 0 || rate >= RISES * last);
        last = rate > 0 ? rate : last;
    }
    return rises;
}

enum { RATES_TEXT = 400, RATES_SAID = 6 };

/* " Their rate does not follow from the size: 15.7 GB/s from 1 to 2 MB, 12.7 from 8 to 16, 17.1 from 16 to 32." */
static void say_rates_by_size(ps_lang lang, const ps_report_packets *p, char text[RATES_TEXT]) {
    size_t n_said = 0;
    size_t at = (size_t)snprintf(
        text, RATES_TEXT,
        PS_SAY(lang,
               " The rate does not rise from each size to the next: ", "速率并未随大小逐级上升："));
    for (size_t k = 0; k < PS_N_PACKET_CLASSES && n_said < RATES_SAID && at < RATES_TEXT; k++) {
        double rate = rate_of_class(p, k);
        double from_mb = ldexp(1, (int)k - PS_PACKET_CLASS_OF_1_MB);
        if (rate > 0) {
            at += (size_t)snprintf(
                text + at, RATES_TEXT - at,
                PS_SAY(lang, "%s%.3g GB/s from %.3g to %.3g MB", "%s%.3g GB/s（%.3g 到 %.3g MB）"),
                n_said > 0 ? PS_SAY(lang, ", ", "，") : "", rate, from_mb, 2 * from_mb);
            n_said++;
        }
    }
    if (at < RATES_TEXT) {
        (void)snprintf(text + at, RATES_TEXT - at, PS_SAY(lang, ".", "。"));
    }
}

/* " They go at 10.7 GB/s, larger ones at 17.2 GB/s.", as far as that is known; where the size is not what decides, the rates of sizes. */
static const char *rates_of_packets(ps_lang lang, const ps_report_packets *p,
                                    char text[RATES_TEXT]) {
    double small = rate_of_packets(p->small_mb, p->small_ms);
    double large = rate_of_large(p);
    text[0] = '\0';
    if (small > 0 && large > 0 && rises_with_size(p)) {
        (void)snprintf(text, RATES_TEXT,
                       PS_SAY(lang, " They go at %.3g GB/s, larger ones at %.3g GB/s.",
                              "其速率为 %.3g GB/s，较大的为 %.3g GB/s。"),
                       small, large);
    } else if (small > 0 && large > 0) {
        say_rates_by_size(lang, p, text);
    }
    return text;
}

/* The transport with the largest share of them; NULL: none has any. */
static const ps_report_packets *smallest_packets(const ps_report_member *m) {
    const ps_report_packets *most = NULL;
    for (size_t i = 0; i < m->facts->n_packets; i++) {
        const ps_report_packets *p = &m->facts->packets[i];
        most = network_share_of(p) > (most != NULL ? network_share_of(most) : 0) ? p : most;
    }
    return most;
}

static double small_share(const ps_report *report, const ps_report_member *m, const void *none) {
    const ps_report_packets *most = smallest_packets(m);
    (void)report;
    (void)none;
    return most != NULL ? network_share_of(most) : 0;
}

static void find_packets(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_SMALL_PACKETS, small_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_packets *packets = smallest_packets(worst);
    bool is_rdma = strcmp(packets->transport, "RDMA") == 0;
    char rates[RATES_TEXT];
    ps_findings_add(&report->findings,
                    (ps_finding){.rule = PS_RULE_SMALL_PACKETS,
                                 .rank = worst->rank,
                                 .stage = worst->stage,
                                 .value = all.value,
                                 .n_over = all.n_over},
                    PS_SAY(lang,
                           "On rank %s %.1f %% of %.4g MB over %.32s go in packets below %d MB.%s",
                           "rank %s 上 %.1f %% 的 %.4g MB（%.32s）以小于 %d MB 的包发送。%s"),
                    PS_RANK(worst->rank), all.value, packets->all_mb, packets->transport,
                    is_rdma ? 1 : 16, rates_of_packets(lang, packets, rates));
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings,
                       ps_report_packets_advice(report, worst, advice, sizeof advice));
}

static double retransmitted_ms(const ps_report *report, const ps_report_member *m,
                               const void *none) {
    (void)report;
    (void)none;
    return (double)m->facts->retransmitted.dur_ns / 1e6;
}

static void find_retransmission(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_RETRANSMISSION, retransmitted_ms, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_event *e = &worst->facts->retransmitted;
    int64_t n_steps = worst->facts->n_steps > 0 ? (int64_t)worst->facts->n_steps : 1;
    ps_findings_add(&report->findings,
                    (ps_finding){.rule = PS_RULE_RETRANSMISSION,
                                 .rank = worst->rank,
                                 .stage = worst->stage,
                                 .gain_ns = e->dur_ns / n_steps,
                                 .value = all.value,
                                 .n_over = all.n_over},
                    PS_SAY(lang, "%.120s of rank %s was in transit over RDMA for %s.",
                           "%.120s（rank %s）经 RDMA 传输了 %s。"),
                    e->name, PS_RANK(worst->rank), ps_ns_text_of(e->dur_ns).text);
    bool placed = e->start_ns != PS_NO_TIME;
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = worst->rank,
                                       .step = placed ? e->step : PS_STEP_OUTSIDE,
                                       .start_ns = placed ? e->start_ns : PS_NO_START,
                                       .dur_ns = e->dur_ns,
                                       .name = e->name,
                                       .note = PS_SAY(lang, "in transit", "传输中")});
}

/* --- alignment --------------------------------------------------------------------------------------------------------- */

#define LEAST_BYTES 1000000

static bool is_odd(const ps_report *report, const ps_comm_op *op) {
    double unit = report->findings.thresholds[PS_RULE_BYTE_ALIGNMENT];
    return unit >= 1 && op->look->size_bytes > LEAST_BYTES &&
           fmod((double)op->look->size_bytes, unit) != 0;
}

/* A row of the profile's times, and the name of its operator: the tables write "name@group". */
typedef struct named_time {
    const char *name;
    size_t n; /* of its bytes */
    const ps_comm_time *row;
} named_time;

static named_time named_time_of(const ps_comm_tables *t, size_t i) {
    const char *name = ps_comm_tables_text(t, t->times[i].op);
    return (named_time){name, strcspn(name, "@"), &t->times[i]};
}

static int compare_names_of_times(const named_time *a, const named_time *b) {
    int order = memcmp(a->name, b->name, a->n < b->n ? a->n : b->n);
    return order != 0 ? order : a->n < b->n ? -1 : a->n > b->n;
}

static int by_name_of_time(const void *a, const void *b) {
    const named_time *x = a;
    const named_time *y = b;
    int order = compare_names_of_times(x, y);
    return order != 0 ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Operators bear one name in several groups or steps; their length tells them apart. */
static bool is_time_of(const named_time *x, const named_time *op, double length_ms) {
    return compare_names_of_times(x, op) == 0 &&
           fabs(x->row->elapsed - length_ms) <= length_ms / 100;
}

static named_time name_of_op(const ps_report_member *m, const ps_comm_op *op) {
    const char *name = ps_comm_text(&m->facts->comm, op->name);
    return (named_time){name, strlen(name), NULL};
}

const ps_comm_time *ps_report_comm_time(const ps_report_member *m, const ps_comm_op *op) {
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    named_time name = name_of_op(m, op);
    for (size_t i = 0; t != NULL && i < t->n_times; i++) {
        named_time x = named_time_of(t, i);
        if (is_time_of(&x, &name, (double)ps_comm_op_ns(op) / 1e6)) {
            return x.row;
        }
    }
    return NULL;
}

/* The times of a member, by name, then as in its table. The caller frees it with ps_free(); NULL: memory is out. */
static named_time *times_by_name(const ps_report_member *m, size_t *n) {
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    *n = t != NULL ? t->n_times : 0;
    named_time *all = ps_calloc(*n + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < *n; i++) {
        all[i] = named_time_of(t, i);
    }
    if (all != NULL) {
        ps_sort(all, *n, sizeof *all, by_name_of_time);
    }
    return all;
}

/* ps_report_comm_time() for many operators of one member. */
static const ps_comm_time *time_among(const named_time *all, size_t n, const ps_report_member *m,
                                      const ps_comm_op *op) {
    named_time name = name_of_op(m, op);
    PS_PLACE(size_t, at, 0, n, i, compare_names_of_times(&all[i], &name) < 0)
    while (at < n && compare_names_of_times(&all[at], &name) == 0) {
        if (is_time_of(&all[at], &name, (double)ps_comm_op_ns(op) / 1e6)) {
            return all[at].row;
        }
        at++;
    }
    return NULL;
}

PS_COMPARE_POINTERS(by_likeness, ps_comm_op,
                    PS_BY(look->type.id) PS_BY(look->group.id) PS_BY(look->size_bytes)
                        PS_BY_VALUE(ps_comm_op_ns) PS_BY(slice))

static bool are_alike(const ps_comm_op *x, const ps_comm_op *y) {
    return ps_alike_of((ps_alike_facts){x->look->type.id, x->look->group.id, x->look->size_bytes},
                       (ps_alike_facts){y->look->type.id, y->look->group.id,
                                        y->look->size_bytes}) == PS_ALIKE_SURE;
}

/* Messages of odd size that are alike, over all ranks. */
typedef struct odd_like {
    const char *type, *group;
    int64_t size_bytes;
    int64_t shortest_ns;
    size_t n;
} odd_like;

PS_COMPARE(by_odd_likeness, odd_like,
           PS_BY(size_bytes) PS_BY_TEXT(type) PS_BY_TEXT(group) PS_BY(shortest_ns) PS_BY(n))

typedef struct odd_likes {
    odd_like *all; /* in the order of by_odd_likeness */
    size_t n, cap;
} odd_likes;

static bool is_same_like(const odd_like *x, const odd_like *y) {
    return x->size_bytes == y->size_bytes && strcmp(x->type, y->type) == 0 &&
           strcmp(x->group, y->group) == 0;
}

/* Folds those from `first` on that are one. */
static void fold_odd_likes(odd_likes *likes, size_t first) {
    size_t kept = first;
    if (likes->n == first) {
        return;
    }
    ps_sort(likes->all + first, likes->n - first, sizeof *likes->all, by_odd_likeness);
    for (size_t i = first; i < likes->n; i++) {
        if (kept > first && is_same_like(&likes->all[kept - 1], &likes->all[i])) {
            likes->all[kept - 1].n += likes->all[i].n; /* the shortest comes first */
        } else {
            likes->all[kept++] = likes->all[i];
        }
    }
    likes->n = kept;
}

/* False when memory is out. */
static bool gather_odd_likes(const ps_report *report, odd_likes *likes) {
    for (size_t k = 0; k < report->n_members; k++) {
        const ps_comm_list *comm = &report->members[k].facts->comm;
        size_t first = likes->n;
        for (size_t i = 0; i < comm->n; i++) {
            const ps_comm_op *op = &comm->ops[i];
            if (ps_str_is_none(op->look->group) || !is_odd(report, op)) {
                continue;
            }
            if (!ps_grow(&likes->all, &likes->cap, likes->n + 1, SIZE_MAX / 2,
                         sizeof *likes->all)) {
                return false;
            }
            likes->all[likes->n++] =
                (odd_like){ps_comm_text(comm, op->look->type), ps_comm_text(comm, op->look->group),
                           op->look->size_bytes, ps_comm_op_ns(op), 1};
        }
        fold_odd_likes(likes, first);
    }
    fold_odd_likes(likes, 0);
    return true;
}

/* The shortest one of its like on any rank: who comes last does not wait. Few tell nothing: 0. */
static int64_t shortest_alike(const odd_likes *likes, const ps_report_member *m,
                              const ps_comm_op *op) {
    odd_like own = {ps_comm_text(&m->facts->comm, op->look->type),
                    ps_comm_text(&m->facts->comm, op->look->group), op->look->size_bytes, INT64_MIN,
                    0};
    PS_PLACE(size_t, at, 0, likes->n, i, by_odd_likeness(&likes->all[i], &own) < 0)
    bool is_there = !ps_str_is_none(op->look->group) && at < likes->n;
    return is_there && likes->all[at].n >= PS_LEAST_ALIKE ? likes->all[at].shortest_ns : 0;
}

/* Messages whose size is no multiple, and what of their time is transit: as the profile says, else at most what the
 * shortest one of its like took, for what an operator waits is no message's fault; where that is not known either, nothing. */
typedef struct odd_messages {
    size_t n, n_told;   /* all; those that something is known of */
    int64_t transit_ns; /* in a step */
    bool is_bound;      /* of some it is only said that it is not more */
} odd_messages;

#define MAX_LOOKED_UP 4096 /* operators whose times are looked for in the profile's tables */

static bool add_up_odd(const ps_report *report, const odd_likes *likes, const ps_report_member *m,
                       odd_messages *out) {
    const ps_comm_op **all = ps_calloc(m->facts->comm.n + 1, sizeof *all);
    *out = (odd_messages){0};
    for (size_t i = 0; all != NULL && i < m->facts->comm.n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[i];
        if (op->step != PS_STEP_OUTSIDE && is_odd(report, op)) {
            all[out->n++] = op;
        }
    }
    size_t n_times = 0;
    bool looks_up = out->n > 0 && out->n <= MAX_LOOKED_UP;
    named_time *times = looks_up ? times_by_name(m, &n_times) : NULL;
    ps_sort(all, out->n, sizeof *all, by_likeness);
    int64_t shortest_ns = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (i == 0 || !are_alike(all[i - 1], all[i])) {
            shortest_ns = shortest_alike(likes, m, all[i]);
        }
        const ps_comm_time *row = times != NULL ? time_among(times, n_times, m, all[i]) : NULL;
        bool is_said = row != NULL && row->transit >= 0;
        out->is_bound = out->is_bound || (!is_said && shortest_ns > 0);
        out->n_told += is_said || shortest_ns > 0;
        out->transit_ns =
            ps_i64_plus(out->transit_ns, is_said ? ms_to_ns(row->transit) : shortest_ns);
    }
    if (m->facts->n_steps > 0) {
        out->transit_ns /= (int64_t)m->facts->n_steps;
    }
    bool ok = all != NULL && (times != NULL || !looks_up);
    ps_free(times);
    ps_free(all);
    return ok;
}

/* How much faster aligned ones would be is not known. */
static void find_alignment(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *worst = NULL;
    odd_messages most = {0};
    size_t n_over = 0;
    odd_likes likes = {0};
    report->findings.failed = !gather_odd_likes(report, &likes) || report->findings.failed;
    for (size_t m = 0; m < report->n_members; m++) {
        odd_messages here;
        if (!add_up_odd(report, &likes, &report->members[m], &here)) {
            report->findings.failed = true;
        } else {
            n_over += ps_percent(here.transit_ns, report->step_ns) > 1;
            worst = here.transit_ns > most.transit_ns ? &report->members[m] : worst;
            most = here.transit_ns > most.transit_ns ? here : most;
        }
    }
    ps_free(likes.all);
    if (worst == NULL || ps_percent(most.transit_ns, report->step_ns) <= 1) {
        return;
    }
    const ps_comm_op *largest = NULL;
    for (size_t i = 0; i < worst->facts->comm.n; i++) {
        const ps_comm_op *op = &worst->facts->comm.ops[i];
        bool larger = largest == NULL || op->look->size_bytes > largest->look->size_bytes;
        largest = is_odd(report, op) && larger ? op : largest;
    }
    double unit = report->findings.thresholds[PS_RULE_BYTE_ALIGNMENT];
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_BYTE_ALIGNMENT,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = fmod((double)largest->look->size_bytes, unit),
                     .n_over = n_over},
        PS_SAY(
            lang,
            "On rank %s %zu messages over 1 MB in %zu step%s are no multiple of %.4g bytes; they are in transit for %s%s in a "
            "step.%s",
            "rank %s 上有 %zu 条大于 1 MB 的消息（%zu 个 step%.0s）不是 %.4g 字节的整数倍；每个 step 传输%s%s。%s"),
        PS_RANK(worst->rank), most.n_told, worst->facts->n_steps,
        worst->facts->n_steps == 1 ? "" : "s", unit,
        most.is_bound ? PS_SAY(lang, "at most ", "最多 ") : "", ps_ns_text_of(most.transit_ns).text,
        most.is_bound
            ? PS_SAY(lang,
                     " The profile does not tell transit from waiting: of each kind and size the "
                     "shortest one counts.",
                     "采集数据不区分传输与等待：每种类型与大小取最短者。")
            : "");
    char note[64];
    (void)snprintf(note, sizeof note, PS_SAY(lang, "%lld bytes", "%lld 字节"),
                   (long long)largest->look->size_bytes);
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = worst->rank,
                                       .step = largest->step,
                                       .start_ns = largest->start_ns,
                                       .dur_ns = largest->end_ns - largest->start_ns,
                                       .name = ps_comm_text(&worst->facts->comm, largest->name),
                                       .note = note});
}

void ps_report_network(ps_report *report) {
    find_links(report);
    find_packets(report);
    find_retransmission(report);
    find_alignment(report);
    ps_report_find_contention(report);
}
