/* Kernels of which the profile leaves open whether they compute or communicate. Nothing in their name is known (model/comm_kernels),
 * so they count as computing; what they are asked for is a fact that speaks against it:
 *
 *   called    they are launched inside of an operator or range of a communication library ("c10d::", "deep_ep::", "nccl:")
 *   stream    all of them run on one stream, on which next to nothing but communication runs, and the computing is elsewhere
 *
 * Kernels on streams of their own, or of a size that fills the device, are no doubt by themselves: a persistent matrix product
 * looks the same. Where the profiler has operators of communication of its own (Ascend) there is no doubt either. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/work.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "model/comm_kernels.h"
#include "model/kernel_name.h"

#define FEW 20 /* a twentieth of a stream's work is next to nothing */

/* All kernels of one name. */
typedef struct named {
    ps_str name;
    int64_t n, sum_ns, called_ns;
    uint32_t longest, track;
    bool on_many;
    const char *caller; /* of the last one */
} named;

typedef struct doubts {
    const ps_links *links;
    const ps_trace *trace;
    const ps_slices *s;
    ps_idmap rows; /* id of a name -> row, UINT32_MAX - 1: known */
    named *all;
    size_t n, cap;
    int64_t *comm_ns, *other_ns; /* by track */
    size_t n_tracks;
    int64_t sum_ns, sum_other_ns;
} doubts;

#define KNOWN (UINT32_MAX - 1)

/* The operator or range of a communication library around the launch, or NULL. */
static const char *library_call_around(const doubts *d, uint32_t slice) {
    uint32_t at = d->links->op[slice] != PS_NONE ? d->links->op[slice] : d->links->call[slice];
    for (; at != PS_NONE; at = d->links->parent[at]) {
        const char *name = ps_trace_text(d->trace, d->s->name[at]);
        bool may_be = d->s->kind[at] == PS_SLICE_HOST_OP || d->s->kind[at] == PS_SLICE_ANNOTATION ||
                      d->s->kind[at] == PS_SLICE_MARK_HOST;
        if (may_be && ps_comm_is_library_call(name)) {
            return name;
        }
    }
    return NULL;
}

/* NULL for a kernel that is known, or when memory is out (*ok). */
static named *doubt_row_of(doubts *d, uint32_t slice, bool *ok) {
    ps_str name = d->s->name[slice];
    uint32_t row = ps_idmap_get(&d->rows, name.id);
    if (row == PS_IDMAP_NONE) {
        bool is_known = ps_comm_of_kernel(ps_trace_text(d->trace, name), NULL) != PS_COMM_UNKNOWN;
        row = is_known ? KNOWN : (uint32_t)d->n;
        *ok = ps_idmap_put(&d->rows, name.id, row) &&
              (is_known || ps_grow(&d->all, &d->cap, d->n + 1, KNOWN - 1, sizeof *d->all));
        if (*ok && !is_known) {
            d->all[d->n++] = (named){.name = name, .longest = slice, .track = d->s->track[slice]};
        }
    }
    return *ok && row != KNOWN ? &d->all[row] : NULL;
}

static bool add_doubt_kernel(doubts *d, uint32_t slice) {
    bool ok = true;
    int64_t ns = d->s->dur_ns[slice];
    uint32_t track = d->s->track[slice];
    d->other_ns[track] = ps_i64_plus(d->other_ns[track], ns);
    d->sum_other_ns = ps_i64_plus(d->sum_other_ns, ns);
    named *k = doubt_row_of(d, slice, &ok);
    if (k == NULL) {
        return ok;
    }
    const char *caller = library_call_around(d, slice);
    k->n++;
    k->sum_ns = ps_i64_plus(k->sum_ns, ns);
    k->called_ns = ps_i64_plus(k->called_ns, caller != NULL ? ns : 0);
    k->caller = caller != NULL ? caller : k->caller;
    k->longest = ns > d->s->dur_ns[k->longest] ? slice : k->longest;
    k->on_many = k->on_many || k->track != track;
    return true;
}

static bool look_at_all(doubts *d) {
    for (uint32_t i = 0; i < d->s->n; i++) {
        if (d->s->kind[i] == PS_SLICE_COMM_KERNEL) {
            uint32_t track = d->s->track[i];
            d->comm_ns[track] = ps_i64_plus(d->comm_ns[track], d->s->dur_ns[i]);
            d->sum_ns = ps_i64_plus(d->sum_ns, d->s->dur_ns[i]);
        } else if (d->s->kind[i] == PS_SLICE_KERNEL && !add_doubt_kernel(d, i)) {
            return false;
        }
    }
    d->sum_ns = ps_i64_plus(d->sum_ns, d->sum_other_ns);
    return true;
}

static bool is_on_comm_stream(const doubts *d, const named *k) {
    int64_t comm_ns = d->comm_ns[k->track];
    int64_t others_ns = d->other_ns[k->track] - k->sum_ns;
    int64_t elsewhere_ns = d->sum_other_ns - d->other_ns[k->track];
    return !k->on_many && comm_ns > 0 && others_ns <= (comm_ns + k->sum_ns) / FEW &&
           elsewhere_ns > k->sum_ns;
}

/* The most time first; the last one gives way. */
static void keep_doubt(ps_report_rank *r, ps_report_doubt doubt) {
    size_t at = r->n_doubts;
    while (at > 0 && r->doubts[at - 1].sum_ns < doubt.sum_ns) {
        at--;
    }
    if (at == PS_REPORT_DOUBTS_KEPT) {
        return;
    }
    r->n_doubts += r->n_doubts < PS_REPORT_DOUBTS_KEPT;
    memmove(&r->doubts[at + 1], &r->doubts[at], (r->n_doubts - 1 - at) * sizeof *r->doubts);
    r->doubts[at] = doubt;
}

static bool take_doubts(const doubts *d, ps_report_rank *r) {
    bool ok = true;
    for (size_t i = 0; ok && i < d->n; i++) {
        const named *k = &d->all[i];
        bool is_called = k->called_ns > k->sum_ns / 2;
        if (!is_called && !is_on_comm_stream(d, k)) {
            continue;
        }
        const char *name = ps_trace_text(d->trace, k->name);
        ps_report_doubt doubt = {
            .name = ps_arena_strndup(&r->arena, name, strlen(name)),
            .caller = is_called ? ps_arena_strndup(&r->arena, k->caller, strlen(k->caller)) : "",
            .n = k->n,
            .sum_ns = k->sum_ns,
            .share = ps_percent(k->sum_ns, d->sum_ns),
            .longest_start_ns = r->origin_ns + d->s->start_ns[k->longest],
            .longest_ns = d->s->dur_ns[k->longest],
            .longest_step = ps_links_step(d->links, k->longest)};
        ok = doubt.name != NULL && doubt.caller != NULL;
        keep_doubt(r, doubt);
    }
    return ok;
}

bool ps_report_gather_doubts(const ps_links *links, ps_report_rank *r) {
    doubts d = {.links = links, .trace = links->trace, .s = ps_trace_slices(links->trace)};
    if (ps_work_of_trace(links->trace).communication == PS_SLICE_COMM_OP) {
        return true;
    }
    (void)ps_trace_tracks(links->trace, &d.n_tracks);
    ps_idmap_init(&d.rows);
    d.comm_ns = ps_calloc(d.n_tracks + 1, sizeof *d.comm_ns);
    d.other_ns = ps_calloc(d.n_tracks + 1, sizeof *d.other_ns);
    bool ok = d.comm_ns != NULL && d.other_ns != NULL && look_at_all(&d) && take_doubts(&d, r);
    ps_idmap_fini(&d.rows);
    ps_free(d.comm_ns);
    ps_free(d.other_ns);
    ps_free(d.all);
    return ok;
}

/* --- the finding ------------------------------------------------------------------------------------------------ */

static void show_doubt(ps_report *report, const ps_report_member *m, const ps_report_doubt *d) {
    const ps_lang lang = report->findings.lang;
    char note[160];
    if (d->caller[0] != '\0') {
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "%.1f %% of the device's work; launched in %.80s",
                              "占设备工作的 %.1f %%；由 %.80s 下发"),
                       d->share, d->caller);
    } else {
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "%.1f %% of the device's work; on a stream of communication",
                              "占设备工作的 %.1f %%；位于通信的流上"),
                       d->share);
    }
    ps_findings_evidence(&report->findings, (ps_evidence){.rank = m->rank,
                                                          .step = d->longest_step,
                                                          .start_ns = d->longest_start_ns,
                                                          .dur_ns = d->longest_ns,
                                                          .name = d->name,
                                                          .note = note});
}

static double most_doubtful(const ps_report *report, const ps_report_member *m, const void *none) {
    (void)report;
    (void)none;
    return m->facts->n_doubts > 0 ? m->facts->doubts[0].share : 0;
}

void ps_report_doubts(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_worst all = ps_report_worst(report, PS_RULE_COMM_UNKNOWN, most_doubtful, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_doubt *d = &worst->facts->doubts[0];
    size_t n = 0;
    char plain[PS_KERNEL_NAME_BYTES];
    const char *function = ps_comm_function(ps_kernel_name_plain(d->name, plain), &n);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_COMM_UNKNOWN,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(
            lang,
            "What is this: computing or communication? On rank %s %.120s takes %.1f %% of the device's work. "
            "Nothing is known of its name, so it counts as computing, but %s. To settle it, put the line "
            "\"%.*s communication\" or \"%.*s computing\" into a file for --comm-rules.",
            "这是计算还是通信？rank %s 上 %.120s 占设备工作的 %.1f %%。其名称未知，因此计为计算，但%s。要确定，请在 --comm-rules 的文件中写一行 \"%.*s communication\" 或 \"%.*s computing\"。"),
        PS_RANK(worst->rank), d->name, all.value,
        d->caller[0] != '\0' ? PS_SAY(lang, "a communication library launches it", "是通信库下发的")
                             : PS_SAY(lang, "its stream carries next to nothing but communication",
                                      "其所在的流上几乎只有通信"),
        (int)(n < 80 ? n : 80), function, (int)(n < 80 ? n : 80), function);
    for (size_t i = 0; i < worst->facts->n_doubts; i++) {
        if (ps_rule_fires(&report->findings, PS_RULE_COMM_UNKNOWN, worst->facts->doubts[i].share)) {
            show_doubt(report, worst, &worst->facts->doubts[i]);
        }
    }
}
