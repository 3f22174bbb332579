/* Optimisers that launch hundreds of kernels where a fused twin launches a few. How long the device waits for the host meanwhile is
 * the rule host-optimizer's. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/text.h"

#define MAX_AROUND 64

/* --- optimisers: one rank -------------------------------------------------------------------------------------------- */

enum { STEP_LENGTH = sizeof "Optimizer.step#" - 1 };

static bool is_optimiser(const ps_trace *t, const ps_slices *s, uint32_t slice) {
    return ps_is_host_range(s->kind[slice]) &&
           ps_is_optimizer_step(ps_trace_text(t, s->name[slice]));
}

typedef struct optimiser_run {
    uint32_t slice;
    int64_t n, ns;
    int64_t n_foreach, n_fused; /* of n */
} optimiser_run;

typedef struct optimisers {
    const ps_links *links;
    const ps_slices *s;
    optimiser_run *runs;
    size_t n, cap;
    ps_idmap rows; /* slice -> run */
} optimisers;

static void note_way(const optimisers *o, uint32_t kernel, optimiser_run *run) {
    uint32_t op = o->links->op[kernel];
    const char *name = op != PS_NONE ? ps_trace_text(o->links->trace, o->s->name[op]) : "";
    run->n_foreach += ps_begins_with(name, "aten::_foreach_");
    run->n_fused += ps_begins_with(name, "aten::_fused_");
}

static bool note_kernel(optimisers *o, uint32_t kernel) {
    const ps_trace *t = o->links->trace;
    uint32_t at = o->links->op[kernel] != PS_NONE ? o->links->op[kernel] : o->links->call[kernel];
    for (int around = 0; at != PS_NONE && around < MAX_AROUND && !is_optimiser(t, o->s, at);
         around++) {
        at = o->links->parent[at];
    }
    if (at == PS_NONE || !is_optimiser(t, o->s, at)) {
        return true;
    }
    uint32_t row = ps_idmap_get(&o->rows, at);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)o->n;
        if (!ps_grow(&o->runs, &o->cap, o->n + 1, UINT32_MAX - 1, sizeof *o->runs) ||
            !ps_idmap_put(&o->rows, at, row)) {
            return false;
        }
        o->runs[o->n++] = (optimiser_run){.slice = at};
    }
    o->runs[row].n++;
    note_way(o, kernel, &o->runs[row]);
    o->runs[row].ns = ps_i64_plus(o->runs[row].ns, o->s->dur_ns[kernel]);
    return true;
}

/* The run with the most kernels, the first of several. */
static bool take_most(const optimisers *o, ps_report_rank *r) {
    const optimiser_run *most = NULL;
    for (size_t i = 0; i < o->n; i++) {
        most = most == NULL || o->runs[i].n > most->n ? &o->runs[i] : most;
    }
    if (most == NULL) {
        return true;
    }
    int64_t start = o->s->start_ns[most->slice];
    int64_t dur = o->s->dur_ns[most->slice];
    const char *name = ps_trace_text(o->links->trace, o->s->name[most->slice]);
    r->optimiser =
        (ps_report_optimiser){.name = ps_arena_strndup(&r->arena, name, strnlen(name, 200)),
                              .start_ns = r->origin_ns + start,
                              .dur_ns = dur,
                              .step = ps_step_of(&o->links->steps, start, start + dur),
                              .n_kernels = most->n,
                              .kernels_ns = most->ns,
                              .way = most->n_fused > most->n / 2     ? PS_OPTIMISER_FUSED
                                     : most->n_foreach > most->n / 2 ? PS_OPTIMISER_FOREACH
                                                                     : PS_OPTIMISER_PLAIN};
    return r->optimiser.name != NULL;
}

bool ps_report_gather_optimiser(const ps_links *links, ps_report_rank *r) {
    optimisers o = {.links = links, .s = ps_trace_slices(links->trace)};
    bool ok = true;
    ps_idmap_init(&o.rows);
    for (uint32_t i = 0; ok && i < o.s->n; i++) {
        ok = o.s->kind[i] != PS_SLICE_KERNEL || note_kernel(&o, i);
    }
    ok = ok && take_most(&o, r);
    ps_free(o.runs);
    ps_idmap_fini(&o.rows);
    return ok;
}

/* --- optimisers: the rule ---------------------------------------------------------------------------------------------- */

/* "Optimizer.step#AdamW.step" */
static const char *fused_twin(const char *range, ps_vendor vendor) {
    static const struct {
        const char *name, *ascend, *nvidia;
    } TWINS[] = {
        {"Adadelta", "torch_npu.optim.NpuFusedAdadelta", NULL},
        {"Adagrad", NULL, "torch.optim.Adagrad(foreach=True)"},
        {"Adam", "torch_npu.optim.NpuFusedAdam", "torch.optim.Adam(fused=True)"},
        {"AdamW", "torch_npu.optim.NpuFusedAdamW", "torch.optim.AdamW(fused=True)"},
        {"BertAdam", "torch_npu.optim.NpuFusedBertAdam", NULL},
        {"Lamb", "torch_npu.optim.NpuFusedLamb", NULL},
        {"RMSprop", "torch_npu.optim.NpuFusedRMSprop", "torch.optim.RMSprop(foreach=True)"},
        {"RMSpropTF", "torch_npu.optim.NpuFusedRMSpropTF", NULL},
        {"SGD", "torch_npu.optim.NpuFusedSGD", "torch.optim.SGD(fused=True)"}};
    const char *name = range + STEP_LENGTH;
    size_t n = strcspn(name, ".");
    for (size_t i = 0; i < sizeof TWINS / sizeof *TWINS; i++) {
        if (strlen(TWINS[i].name) == n && memcmp(TWINS[i].name, name, n) == 0 &&
            strcmp(name + n, ".step") == 0) {
            return vendor == PS_VENDOR_ASCEND   ? TWINS[i].ascend
                   : vendor == PS_VENDOR_NVIDIA ? TWINS[i].nvidia
                                                : NULL;
        }
    }
    return NULL;
}

static const char *const WAYS[][PS_N_LANGS] = {
    [PS_OPTIMISER_PLAIN] = {"", ""},
    [PS_OPTIMISER_FOREACH] = {", with foreach operators already", "，已使用 foreach 算子"},
    [PS_OPTIMISER_FUSED] = {", with fused operators already", "，已使用 fused 算子"}};

/* What would launch fewer: nothing that is in use already. */
static const char *fewer_text(ps_lang lang, const ps_report_optimiser *o, ps_vendor vendor,
                              char out[160]) {
    const char *twin = fused_twin(o->name, vendor);
    bool is_foreach = twin != NULL && strstr(twin, "foreach=True") != NULL;
    if (o->way == PS_OPTIMISER_FUSED) {
        return PS_SAY(lang, "What would launch fewer is not known.", "怎样下发更少不得而知。");
    }
    if (twin == NULL || (is_foreach && o->way == PS_OPTIMISER_FOREACH)) {
        twin = o->way == PS_OPTIMISER_FOREACH ? PS_SAY(lang, "A fused optimiser", "融合优化器")
                                              : PS_SAY(lang, "An optimiser with foreach or fused",
                                                       "带 foreach 或 fused 的优化器");
    }
    (void)snprintf(out, 160,
                   PS_SAY(lang, "%s updates all parameters in a few.",
                          "%s只需少数几个核函数即可更新全部参数。"),
                   twin);
    return out;
}

/* Optimisers of torch.optim that CUDA graphs can hold. */
static bool is_capturable(const char *range) {
    static const char *const NAMES[] = {"ASGD",  "Adadelta", "Adam",    "AdamW", "Adamax",
                                        "NAdam", "RAdam",    "RMSprop", "Rprop"};
    const char *name = range + STEP_LENGTH;
    size_t n = strcspn(name, ".");
    bool found = false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        found = found || (strlen(NAMES[i]) == n && memcmp(NAMES[i], name, n) == 0);
    }
    return found;
}

/* What updates parameters in fewer or faster kernels than the way that is in use. */
static const char *better_way(ps_lang lang, const ps_report_optimiser *o, ps_vendor vendor) {
    bool is_plain = o->way == PS_OPTIMISER_PLAIN;
    return o->way == PS_OPTIMISER_FUSED ? PS_SAY(lang, "Fewer parameter groups", "减少参数组")
           : vendor == PS_VENDOR_NVIDIA
               ? is_plain ? PS_SAY(lang, "fused=True or foreach=True where the optimiser has it",
                                   "在优化器支持时设置 fused=True 或 foreach=True")
                          : PS_SAY(lang, "fused=True where the optimiser has it",
                                   "在优化器支持时设置 fused=True")
           : vendor == PS_VENDOR_ASCEND
               ? PS_SAY(lang, "Fused optimisers of torch_npu (NpuFusedAdamW ...)",
                        "使用 torch_npu 的融合优化器（NpuFusedAdamW 等）")
               : PS_SAY(lang, "A fused optimiser", "使用融合优化器");
}

bool ps_report_optimiser_remedy(const ps_report *report, const ps_report_member *m, char *out,
                                size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_report_optimiser *o = &m->facts->optimiser;
    double limit = report->findings.thresholds[PS_RULE_OPTIMISER_LAUNCHES];
    if (o->name == NULL) {
        return false;
    }
    (void)snprintf(
        out, size,
        PS_SAY(lang, "%s%sA step of the optimiser launches %lld kernel%s%s%s.",
               "%s%s优化器一步下发 %lld 个核函数%.0s%s%s。"),
        better_way(lang, o, report->vendor),
        report->vendor == PS_VENDOR_NVIDIA && is_capturable(o->name)
            ? PS_SAY(lang, "; capturable=True with CUDA graphs. ",
                     "；配合 CUDA graph 设置 capturable=True。")
            : ". ",
        (long long)o->n_kernels, o->n_kernels == 1 ? "" : "s", WAYS[o->way][lang],
        (double)o->n_kernels > limit
            ? ""
            : PS_SAY(lang, ": it is not their number that takes the time", "：耗时的不是其数量"));
    return true;
}

static double optimiser_kernels(const ps_report *report, const ps_report_member *m,
                                const void *none) {
    (void)report;
    (void)none;
    return m->facts->optimiser.name != NULL ? (double)m->facts->optimiser.n_kernels : 0;
}

void ps_report_optimiser_launches(ps_report *r) {
    const ps_lang lang = r->findings.lang;
    ps_worst all = ps_report_worst(r, PS_RULE_OPTIMISER_LAUNCHES, optimiser_kernels, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_optimiser *o = &worst->facts->optimiser;
    char than[160];
    ps_findings_add(&r->findings,
                    (ps_finding){.rule = PS_RULE_OPTIMISER_LAUNCHES,
                                 .title = o->way == PS_OPTIMISER_PLAIN
                                              ? NULL
                                              : PS_SAY(lang, "The optimiser launches many kernels",
                                                       "优化器下发大量核函数"),
                                 .rank = worst->rank,
                                 .stage = worst->stage,
                                 .value = all.value,
                                 .n_over = all.n_over},
                    PS_SAY(lang,
                           "On rank %s one %.120s launches %lld kernels of %s on average%s. %s",
                           "rank %s 上一次 %.120s 下发 %lld 个核函数，平均 %s%s。%s"),
                    PS_RANK(worst->rank), o->name, (long long)o->n_kernels,
                    ps_ns_text_of(o->kernels_ns / o->n_kernels).text, WAYS[o->way][lang],
                    fewer_text(lang, o, r->vendor, than));
    if (o->way != PS_OPTIMISER_PLAIN) {
        ps_findings_remedy(
            &r->findings,
            o->way == PS_OPTIMISER_FUSED
                ? PS_SAY(lang,
                         "Fewer parameters: flatten those of a layer into one, or fewer "
                         "parameter groups.",
                         "减少参数个数：把一层的参数展平成一个，或减少参数组。")
                : PS_SAY(lang, "Take the fused one of its kind.", "使用同类的融合版本。"));
    }
    ps_findings_evidence(
        &r->findings,
        (ps_evidence){.rank = worst->rank,
                      .step = o->step,
                      .start_ns = o->start_ns,
                      .dur_ns = o->dur_ns,
                      .name = o->name,
                      .note = PS_SAY(lang, "the one with the most kernels", "核函数最多的一次")});
}
