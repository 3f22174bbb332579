#include "analyze/whatif/whatif_causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/instead.h"
#include "base/num.h"

enum { C_CAUSE, C_HOLDS, C_FIGURE, C_THRESHOLD, C_EVIDENCE, C_REMEDY, N_C };

static const ps_column COLUMNS[N_C] = {
    [C_CAUSE] = {.name = "cause", .type = PS_COL_TEXT},
    [C_HOLDS] = {.name = "holds", .type = PS_COL_TEXT},
    [C_FIGURE] = {.name = "figure", .type = PS_COL_REAL},
    [C_THRESHOLD] = {.name = "threshold", .type = PS_COL_REAL},
    [C_EVIDENCE] = {.name = "evidence", .type = PS_COL_TEXT},
    [C_REMEDY] = {.name = "remedy", .type = PS_COL_TEXT},
};

typedef ps_whatif_cause cause;

static ps_ns_text say(double ns) {
    return ps_ns_text_of((int64_t)llround(ns));
}

static ps_instead_text instead(ps_lang lang, double ns, double before_ns) {
    return ps_instead_of(lang, llround(ns), llround(before_ns));
}

static double share_without(const ps_whatif *w, double step_ns) {
    const ps_whatif_part part = {.without_ns = step_ns};
    return ps_whatif_share(w, &part);
}

/* The slowest worker, and how many of the others that are taken out with it are slow at all: half as much as it is. */
static size_t slowest_worker(const ps_whatif *w, size_t *n_others) {
    size_t slowest = 0;
    for (size_t k = 1; k < w->js->n_workers; k++) {
        bool is_slower = ps_whatif_worker_slowdown(w, k) > ps_whatif_worker_slowdown(w, slowest);
        slowest = is_slower ? k : slowest;
    }
    double most = ps_whatif_worker_slowdown(w, slowest) - 1;
    *n_others = 0;
    for (size_t k = 0; k < w->js->n_workers; k++) {
        bool is_slow = ps_whatif_worker_slowdown(w, k) - 1 >= most / 2;
        *n_others += k != slowest && w->is_worst[k] && is_slow;
    }
    return slowest;
}

static void judge_worker(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    size_t n_others;
    const ps_job_worker *at = &w->js->workers[slowest_worker(w, &n_others)];
    *c = (cause){
        .name = "worker",
        .remedy = PS_SAY(lang, "one machine: look at its frequency, memory errors and neighbours",
                         "单台机器：检查其频率、内存错误与邻近作业"),
        .figure = w->js->n_replicas > 1 ? share_without(w, w->worst_computing_ns) : (double)NAN,
        .step_ns = w->worst.without_ns,
        .rank = at->rank,
        .stage = at->stage};
    char others[64] = "";
    if (n_others > 0) {
        (void)snprintf(others, sizeof others, PS_SAY(lang, " and %zu other%s", "等 %zu 个%.0s"),
                       n_others, n_others == 1 ? "" : "s");
    }
    (void)snprintf(
        c->title, sizeof c->title,
        PS_SAY(lang, "Rank %lld (stage %d, replica %d)%s %s slower than those with the same work",
               "rank %lld（阶段 %d，副本 %d）%s%.0s慢于工作相同的其他 worker"),
        (long long)at->rank, (int)at->stage, (int)at->replica, others,
        n_others == 0 ? "is" : "are");
    (void)snprintf(c->without, sizeof c->without,
                   PS_SAY(lang, "with %s as fast as usual", "%s速度正常时"),
                   n_others == 0 ? PS_SAY(lang, "it", "它") : PS_SAY(lang, "them", "它们"));
    if (w->js->n_replicas < 2) {
        (void)snprintf(c->evidence, sizeof c->evidence,
                       PS_SAY(lang, "one replica: nobody does the same work as the slowest worker",
                              "只有一个副本：没有与最慢 worker 做相同工作的 worker 可比"));
        return;
    }
    (void)snprintf(
        c->evidence, sizeof c->evidence,
        PS_SAY(
            lang,
            "if the slowest %zu of %zu workers (stage %d of replica %d, rank %lld%s) computed "
            "as fast as usual, a step would take %s",
            "若最慢的 %zu 个（共 %zu 个）worker（阶段 %d，副本 %d，rank %lld%s）速度正常，每个 step 需要 %s"),
        w->n_worst, w->js->n_workers, (int)at->stage, (int)at->replica, (long long)at->rank,
        w->n_worst > 1 ? PS_SAY(lang, ", the slowest", "，最慢者") : "",
        instead(lang, w->worst_computing_ns, w->real_ns).text);
}

/* With several replicas the slowest workers are taken out first: what they cost is no fault of their stage's split. With one, a
 * slow worker and a heavy stage look the same. */
static double without_stage(const ps_whatif *w, int32_t stage) {
    return w->js->n_replicas > 1 ? w->beside_worst_ns[stage] : w->stage_computing_ns[stage];
}

static void judge_stage(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    int32_t stage = 0;
    for (int32_t s = 1; s < w->js->n_stages; s++) {
        stage = without_stage(w, s) < without_stage(w, stage) ? s : stage;
    }
    double before = w->js->n_replicas > 1 ? w->worst_computing_ns : w->real_ns;
    double slower = w->real_ns - w->ideal_ns;
    *c = (cause){
        .name = "stage split",
        .remedy = PS_SAY(
            lang,
            "move layers to the other stages, where they still take their time (pipescope plan tells "
            "what a split takes); loss and embedding belong to no layer",
            "把层移到其他阶段，在那里仍需要同样的时间（pipescope plan 给出划分的结果）；损失与 embedding 不属于任何层"),
        .figure = slower > 0 ? (before - without_stage(w, stage)) / slower : (double)NAN,
        .step_ns = w->even_stages_ns,
        .rank = -1,
        .stage = stage};
    (void)snprintf(
        c->title, sizeof c->title,
        PS_SAY(lang, "Stage %d%s computes longer than the others", "阶段 %d%s 的计算比其他阶段久"),
        (int)stage,
        stage == w->js->n_stages - 1 ? PS_SAY(lang, " (the last)", "（最后一个）") : "");
    (void)snprintf(c->without, sizeof c->without,
                   PS_SAY(lang, "with all stages equally fast", "各阶段同样快时"));
    (void)snprintf(
        c->evidence, sizeof c->evidence,
        PS_SAY(lang, "%sif stage %d%s computed as fast as usual, a step would take %s%s",
               "%s若阶段 %d%s 计算速度正常，每个 step 需要 %s%s"),
        w->js->n_replicas > 1 ? PS_SAY(lang, "the slowest workers apart, ", "除去最慢的 worker，")
                              : "",
        (int)stage, stage == w->js->n_stages - 1 ? PS_SAY(lang, " (the last)", "（最后一个）") : "",
        instead(lang, without_stage(w, stage), before).text,
        w->js->n_replicas > 1 ? ""
                              : PS_SAY(lang, "; with one replica a slow machine looks the same",
                                       "；只有一个副本时，慢机器看起来也是如此"));
}

static void judge_links(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    bool has = w->has_kind[PS_WHATIF_FORWARD_COMM] || w->has_kind[PS_WHATIF_BACKWARD_COMM];
    *c = (cause){.name = "links",
                 .remedy = PS_SAY(
                     lang,
                     "look at the links between stages: the matrix of communication, the network",
                     "检查阶段间的链路：通信矩阵、网络"),
                 .figure = has ? share_without(w, w->without_transfers_ns) : (double)NAN,
                 .step_ns = w->without_transfers_ns,
                 .rank = -1,
                 .stage = -1};
    (void)snprintf(
        c->title, sizeof c->title, "%s",
        PS_SAY(lang, "Transfers between stages take longer than usual", "阶段间的传输比平常久"));
    (void)snprintf(c->without, sizeof c->without, "%s",
                   PS_SAY(lang, "with transfers as fast as usual", "传输速度正常时"));
    if (has) {
        (void)snprintf(
            c->evidence, sizeof c->evidence,
            PS_SAY(lang, "if transfers between stages were as fast as usual, a step would take %s",
                   "若阶段间传输速度正常，每个 step 需要 %s"),
            instead(lang, w->without_transfers_ns, w->real_ns).text);
    } else {
        (void)snprintf(
            c->evidence, sizeof c->evidence,
            PS_SAY(lang, "no transfers are recorded as ops", "没有以算子形式记录的传输"));
    }
}

static void judge_lengths(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    *c = (cause){.name = "sequence lengths",
                 .remedy = PS_SAY(lang, "balance microbatches by the squares of their tokens",
                                  "按 token 数的平方均衡 microbatch"),
                 .figure = w->length_correlation,
                 .step_ns = w->alike_ns,
                 .rank = -1,
                 .stage = -1};
    (void)snprintf(
        c->title, sizeof c->title, "%s",
        PS_SAY(lang, "Microbatches are not equally long: what is long forward is long backward",
               "microbatch 长短不一：前向长的反向也长"));
    (void)snprintf(c->without, sizeof c->without, "%s",
                   PS_SAY(lang, "with all microbatches of a step equally long",
                          "一个 step 内的 microbatch 同样长时"));
    (void)snprintf(
        c->evidence, sizeof c->evidence,
        isnan(w->length_correlation)
            ? PS_SAY(lang,
                     "no microbatch has a forward and a backward of its own, or all take the same",
                     "没有同时具备前向与反向的 microbatch，或全部耗时相同")
            : PS_SAY(lang,
                     "correlation of forward and backward of a microbatch, median of the workers",
                     "同一 microbatch 前向与反向时长的相关系数（各 worker 的中位数）"));
}

/* The replay may take longer than the step did: an op waits there for all that it depends on. */
static void put_host_evidence(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    if (w->measured_ns < w->real_ns) {
        (void)snprintf(c->evidence, sizeof c->evidence,
                       PS_SAY(lang, "none seen: a step replayed without them takes %s, measured %s",
                              "未见：不计停顿的重放中每个 step 为 %s，实测 %s"),
                       say(w->real_ns).text, say(w->measured_ns).text);
        return;
    }
    (void)snprintf(
        c->evidence, sizeof c->evidence,
        PS_SAY(lang,
               "%s of a step of %s pass between the end of what an op waits for and its start%s",
               "%s（每个 step %s 中）处于算子所等待者结束与算子开始之间%s"),
        say(w->measured_ns - w->real_ns).text, say(w->measured_ns).text,
        w->js->clocks_apart[0] != '\0'
            ? PS_SAY(lang, ", or between clocks that are apart", "，或处于尚未对齐的时钟之间")
        : w->js->has_unknown_work ? PS_SAY(lang, ", or is work that no op of the chart holds",
                                           "，或是流水线图中没有的工作")
        : w->js->has_comm         ? ""
                          : PS_SAY(lang, "; communication is no op here and may be a part of it",
                                   "；通信在此不是算子，可能是其中一部分"));
}

static void judge_host(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    *c = (cause){.name = "host",
                 .remedy = PS_SAY(
                     lang,
                     "pauses of the host: garbage collection, launches, data; record host threads",
                     "主机停顿：垃圾回收、下发、数据；请录制主机线程"),
                 .figure = w->js->clocks_apart[0] == '\0' && !w->js->has_unknown_work
                               ? w->measured_ns / w->real_ns
                               : (double)NAN,
                 .step_ns = w->real_ns,
                 .rank = -1,
                 .stage = -1};
    (void)snprintf(c->title, sizeof c->title, "%s",
                   PS_SAY(lang, "Ops start later than what they wait for ends",
                          "算子在其所等待者结束之后才开始"));
    (void)snprintf(c->without, sizeof c->without, "%s",
                   PS_SAY(lang, "with every op started at once", "每个算子立即开始时"));
    put_host_evidence(w, c);
}

/* The line of least squares through the steps: its rise over all of them, where it explains half of their variance. */
static void judge_drift(const ps_whatif *w, cause *c) {
    const ps_lang lang = w->lang;
    double n = (double)w->js->n_steps;
    double x = 0;
    double y = 0;
    double xx = 0;
    double yy = 0;
    double xy = 0;
    for (size_t i = 0; i < w->js->n_steps; i++) {
        double at = (double)i;
        double step = (double)w->step_real_ns[i] / 1e9;
        x += at;
        y += step;
        xx += at * at;
        yy += step * step;
        xy += at * step;
    }
    double vx = n * xx - x * x;
    double vy = n * yy - y * y;
    double cov = n * xy - x * y;
    bool explains = n >= 4 && vx > 0 && vy > 0 && cov * cov >= 0.5 * vx * vy;
    double rise = explains ? cov / vx * (n - 1) / (y / n) : 0;
    *c = (cause){.name = "drift",
                 .remedy = PS_SAY(
                     lang,
                     "steps become slower: look at memory, caches, the data loader, temperature",
                     "step 逐渐变慢：检查内存、缓存、数据加载、温度"),
                 .figure = n >= 4 ? rise : (double)NAN,
                 .step_ns = (double)NAN,
                 .rank = -1,
                 .stage = -1};
    (void)snprintf(c->evidence, sizeof c->evidence,
                   n >= 4
                       ? PS_SAY(lang, "change of the step over %zu steps, where a line explains it",
                                "%zu 个 step 内的线性变化")
                       : PS_SAY(lang, "a trend takes 4 steps or more, here %zu",
                                "趋势至少需要 4 个 step，此处为 %zu 个"),
                   w->js->n_steps);
}

/* Why a figure above its threshold is no cause. */
static void say_not_slow(const ps_whatif *w, double threshold, cause *c) {
    const ps_lang lang = w->lang;
    size_t n = strlen(c->evidence);
    (void)snprintf(c->evidence + n, sizeof c->evidence - n,
                   PS_SAY(lang, "; the job is not slow (slowdown %.3f, threshold slow %.2f)",
                          "；但作业并不慢（变慢 %.3f，阈值 slow %.2f）"),
                   w->real_ns / w->ideal_ns, threshold);
}

/* What the remedy gives, which is not what the figure is about. */
static void say_remedied(ps_lang lang, cause *c) {
    size_t n = strlen(c->evidence);
    (void)snprintf(c->evidence + n, sizeof c->evidence - n, PS_SAY(lang, "; %s %s", "；%s %s"),
                   c->without, say(c->step_ns).text);
}

static bool add_cause(ps_table *t, const cause *c) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    if (!isnan(c->figure)) {
        ps_table_set_real(t, C_FIGURE, c->figure);
    }
    ps_table_set_real(t, C_THRESHOLD, c->threshold);
    return ps_table_set_text(t, C_CAUSE, c->name) &&
           ps_table_set_text(t, C_HOLDS,
                             isnan(c->figure) ? "unknown"
                             : c->holds       ? "yes"
                                              : "no") &&
           ps_table_set_text(t, C_EVIDENCE, c->evidence) &&
           ps_table_set_text(t, C_REMEDY, c->remedy);
}

const char *const *ps_whatif_threshold_names(void) {
    static const char *const NAMES[PS_N_WHATIF_THRESHOLDS] = {
#define X(threshold, name, usual) [threshold] = name,
        PS_WHATIF_THRESHOLDS(X)
#undef X
    };
    return NAMES;
}

void ps_whatif_thresholds_default(double out[PS_N_WHATIF_THRESHOLDS]) {
#define X(threshold, name, usual) out[threshold] = usual;
    PS_WHATIF_THRESHOLDS(X)
#undef X
}

/* The order in which causes are named. */
static const struct judge {
    void (*judge)(const ps_whatif *w, cause *c);
    ps_whatif_threshold threshold;
    bool needs_slow_job, says_remedied;
} JUDGES[PS_N_WHATIF_CAUSES] = {
    {judge_worker, PS_WHATIF_WORKER, true, false}, {judge_stage, PS_WHATIF_STAGE, true, true},
    {judge_links, PS_WHATIF_LINKS, true, false},   {judge_lengths, PS_WHATIF_LENGTHS, true, true},
    {judge_host, PS_WHATIF_HOST, false, false},    {judge_drift, PS_WHATIF_DRIFT, false, false}};

static void judge_cause(const ps_whatif *w, const double *thresholds, size_t i, cause *c) {
    JUDGES[i].judge(w, c);
    c->before_ns = JUDGES[i].threshold == PS_WHATIF_HOST ? w->measured_ns : w->real_ns;
    c->threshold = thresholds[JUDGES[i].threshold];
    bool is_slow = w->real_ns / w->ideal_ns > thresholds[PS_WHATIF_SLOW];
    bool counts = is_slow || !JUDGES[i].needs_slow_job;
    bool is_over = c->figure > c->threshold;
    c->holds = counts && is_over;
    if (is_over && !counts) {
        say_not_slow(w, thresholds[PS_WHATIF_SLOW], c);
    } else if (c->holds && JUDGES[i].says_remedied) {
        say_remedied(w->lang, c);
    }
}

void ps_whatif_judge(const ps_whatif *w, const double *thresholds,
                     ps_whatif_cause out[PS_N_WHATIF_CAUSES]) {
    double usual[PS_N_WHATIF_THRESHOLDS];
    ps_whatif_thresholds_default(usual);
    thresholds = thresholds != NULL ? thresholds : usual;
    size_t n = 0;
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t i = 0; i < PS_N_WHATIF_CAUSES; i++) {
            cause c;
            judge_cause(w, thresholds, i, &c);
            if (c.holds == (wanted == 1)) {
                out[n++] = c;
            }
        }
    }
}

ps_table *ps_whatif_causes(const ps_whatif *w, const double *thresholds, ps_err *err) {
    cause causes[PS_N_WHATIF_CAUSES];
    ps_whatif_judge(w, thresholds, causes);
    ps_table *t = ps_table_new("whatif_causes", "what makes the job slower", COLUMNS, N_C);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < PS_N_WHATIF_CAUSES; i++) {
        ok = add_cause(t, &causes[i]);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}
