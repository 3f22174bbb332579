/* Copies of a rank by direction and memory, and what of them nothing hides. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/copies.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/sort.h"

/* One device: where only copies ran, and up to where these moments are given away. */
typedef struct copy_lane {
    int64_t device, given_ns;
    ps_intervals alone;
} copy_lane;

typedef struct copy_search {
    const ps_links *links;
    ps_report_rank *out;
    copy_lane *lanes;
    size_t n_lanes;
} copy_search;

/* Overlaps come by device. */
static bool list_lanes(copy_search *x, const ps_overlaps *o) {
    x->lanes = ps_calloc(o->n + 1, sizeof *x->lanes);
    bool ok = x->lanes != NULL;
    for (size_t i = 0; ok && i < o->n; i++) {
        if (i == 0 || o->at[i].device != o->at[i - 1].device) {
            x->lanes[x->n_lanes++] = (copy_lane){.device = o->at[i].device, .given_ns = INT64_MIN};
        }
        const ps_intervals *copies = &o->spans[i].copies;
        for (size_t k = 0; ok && k < copies->n; k++) {
            const ps_interval *span = &copies->at[k];
            ok = ps_intervals_add(&x->lanes[x->n_lanes - 1].alone, span->start_ns, span->end_ns) &&
                 ps_intervals_add(&x->out->copy_spans, x->out->origin_ns + span->start_ns,
                                  x->out->origin_ns + span->end_ns);
        }
    }
    for (size_t i = 0; i < x->n_lanes; i++) {
        ps_intervals_unite(&x->lanes[i].alone);
    }
    ps_report_limit_spans(&x->out->copy_spans);
    return ok;
}

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The kind of a copy; those beyond the room go with what is not known. */
static ps_report_copies *find_kind(ps_report_rank *r, const ps_copy *copy) {
    const char *direction = copy->direction;
    const char *memory = copy->memory;
    for (size_t i = 0; i < r->n_copies; i++) {
        if (is_same(r->copies[i].direction, direction) && is_same(r->copies[i].memory, memory)) {
            return &r->copies[i];
        }
    }
    if (r->n_copies == PS_REPORT_COPIES_KEPT) {
        return &r->copies[PS_REPORT_COPIES_KEPT - 1];
    }
    r->copies[r->n_copies] = (ps_report_copies){.direction = direction, .memory = memory};
    return &r->copies[r->n_copies++];
}

static int64_t take_alone(copy_search *x, int64_t device, int64_t start_ns, int64_t end_ns) {
    for (size_t i = 0; i < x->n_lanes; i++) {
        copy_lane *lane = &x->lanes[i];
        if (lane->device == device) {
            start_ns = start_ns > lane->given_ns ? start_ns : lane->given_ns;
            lane->given_ns = end_ns > lane->given_ns ? end_ns : lane->given_ns;
            return end_ns > start_ns ? ps_intervals_within_ns(&lane->alone, start_ns, end_ns) : 0;
        }
    }
    return 0;
}

static bool take_copy(copy_search *x, const ps_work *work, const ps_copy_keys *keys, uint32_t i) {
    const ps_slices *s = work->s;
    ps_copy copy = ps_copy_read(x->links->trace, keys, i);
    ps_report_copies *kind = find_kind(x->out, &copy);
    int64_t dur = s->dur_ns[i];
    int64_t alone = take_alone(x, ps_work_device(work, i), s->start_ns[i], s->start_ns[i] + dur);
    kind->n++;
    kind->sum_ns = ps_i64_plus(kind->sum_ns, dur);
    kind->alone_ns = ps_i64_plus(kind->alone_ns, alone);
    if (copy.bytes >= 0) {
        kind->sized_bytes = ps_i64_plus(kind->sized_bytes, copy.bytes);
        kind->sized_ns = ps_i64_plus(kind->sized_ns, dur);
    }
    if (kind->longest.name != NULL && alone <= kind->longest.idle_ns) {
        return true;
    }
    const char *name = ps_trace_text(x->links->trace, s->name[i]);
    kind->longest = (ps_report_event){.name = ps_arena_strndup(&x->out->arena, name, strlen(name)),
                                      .start_ns = x->out->origin_ns + s->start_ns[i],
                                      .dur_ns = dur,
                                      .idle_ns = alone,
                                      .step = ps_links_step(x->links, i)};
    kind->longest_bytes = copy.bytes;
    return kind->longest.name != NULL;
}

static const ps_sort_key BY_TIME_ALONE[] = {PS_DOWN(ps_report_copies, alone_ns),
                                            PS_UP(ps_report_copies, longest.start_ns)};

bool ps_report_gather_copies(const ps_links *links, const ps_overlaps *overlaps,
                             ps_report_rank *r) {
    copy_search x = {.links = links, .out = r};
    ps_work work = ps_work_of(links);
    ps_copy_keys keys = ps_copy_keys_of(links->trace);
    bool ok = list_lanes(&x, overlaps);
    for (uint32_t i = 0; ok && i < work.s->n; i++) {
        ok = !ps_is_copy(&work, i) || work.s->dur_ns[i] == 0 || take_copy(&x, &work, &keys, i);
    }
    ps_sort_by(r->copies, r->n_copies, sizeof *r->copies, PS_KEYS(BY_TIME_ALONE));
    for (size_t i = 0; i < x.n_lanes; i++) {
        ps_intervals_fini(&x.lanes[i].alone);
    }
    ps_free(x.lanes);
    return ok;
}

/* --- the finding ----------------------------------------------------------------------------------------------------------- */

/* "H2D from pageable memory 925 ms (12.1 GB at 12.9 GB/s)" */
static size_t say_copies(const ps_report_member *m, const ps_report_copies *c, char *out,
                         size_t size) {
    const ps_lang lang = m->lang;
    const char *direction =
        c->direction != NULL ? c->direction : PS_SAY(lang, "of unknown direction", "方向未知");
    bool to_host = strcmp(direction, "D2H") == 0;
    char memory[32] = "";
    char sizes[80];
    (void)snprintf(sizes, sizeof sizes, "%s", PS_SAY(lang, "sizes unknown", "大小未知"));
    if (c->memory != NULL) {
        (void)snprintf(memory, sizeof memory, PS_SAY(lang, " %s %s memory", "（%.0s%s 内存）"),
                       to_host ? "to" : "from", c->memory);
    }
    if (c->sized_ns > 0) {
        (void)snprintf(sizes, sizeof sizes,
                       PS_SAY(lang, "%.3g MB at %.3g GB/s", "%.3g MB，%.3g GB/s"),
                       (double)ps_report_per_step(m, c->sized_bytes) / 1e6,
                       (double)c->sized_bytes / (double)c->sized_ns);
    }
    double n_steps = m->facts->n_steps > 0 ? (double)m->facts->n_steps : 1;
    int n = snprintf(out, size,
                     PS_SAY(lang, "%s%s %s (%.4g a step, %s)", "%s%s %s（每个 step %.4g 次，%s）"),
                     direction, memory, ps_ns_text_of(ps_report_per_step(m, c->alone_ns)).text,
                     (double)c->n / n_steps, sizes);
    return n > 0 ? (size_t)n : 0;
}

static void show_copies(ps_report *report, const ps_report_member *m) {
    const ps_lang lang = report->findings.lang;
    for (size_t i = 0; i < m->facts->n_copies; i++) {
        const ps_report_copies *c = &m->facts->copies[i];
        char note[96];
        size_t at = (size_t)snprintf(note, sizeof note, PS_SAY(lang, "alone %s", "单独占用 %s"),
                                     ps_ns_text_of(c->longest.idle_ns).text);
        if (c->longest_bytes >= 0 && c->longest.dur_ns > 0) {
            (void)snprintf(note + at, sizeof note - at,
                           PS_SAY(lang, ", %.3g MB at %.3g GB/s", "，%.3g MB，%.3g GB/s"),
                           (double)c->longest_bytes / 1e6,
                           (double)c->longest_bytes / (double)c->longest.dur_ns);
        }
        if (c->longest.idle_ns > 0) {
            ps_report_show_event(report, m, &c->longest, note);
        }
    }
}

static double copies_share(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)none;
    return m->computing_ns > 0 ? ps_percent(m->copies_ns, report->step_ns) : 0;
}

/* Copies that run while the device does nothing else. */
void ps_report_exposed_copies(ps_report *report) {
    const ps_lang lang = report->findings.lang;
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
            at += (size_t)snprintf(kinds + at, sizeof kinds - at, "%s",
                                   at > 0 ? PS_SAY(lang, ", ", "、") : "");
            at += at < sizeof kinds ? say_copies(worst, c, kinds + at, sizeof kinds - at) : 0;
        }
    }
    char hidden[128] = "";
    if (worst->copies_ns > worst->computing_ns) {
        (void)snprintf(
            hidden, sizeof hidden,
            PS_SAY(lang, " Computing could hide %s of it at most: the rest has to become less.",
                   "计算最多能掩盖其中 %s：其余部分必须减少。"),
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
        PS_SAY(
            lang,
            "On rank %s the device does nothing but copy for %s of %s (%.1f %%): %s. What the "
            "link could carry is not in the capture.%s",
            "rank %s 的设备有 %s（%s 的 %.1f %%）只在拷贝：%s。链路能达到多少不在采集数据中。%s"),
        PS_RANK(worst->rank), ps_ns_text_of(worst->copies_ns).text,
        ps_report_step_text(report, worst, step), all.value, kinds, hidden);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&report->findings, ps_report_copies_advice(worst, advice, sizeof advice));
    show_copies(report, worst);
    ps_report_add_claim(report, worst, PS_RULE_EXPOSED_COPIES);
}
