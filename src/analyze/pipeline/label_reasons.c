#include "analyze/pipeline/label_reasons.h"

#include <stdio.h>

#include "analyze/pipeline/host_labels.h"

const char *ps_why_no_labels(const ps_analysis_opts *opts, const ps_rank_labels *labels) {
    const ps_lang lang = opts->lang;
    if (labels->is_merged) {
        return PS_SAY(
            lang,
            "it holds several workers of a job, for its forwards (or backwards) run on "
            "several threads at once, and nothing tells which is whose: give a file for "
            "each rank",
            "其中含作业的多个 worker（前向或反向同时在多个线程上运行），无法区分各属于谁：请为每个 "
            "rank 给出一个文件");
    }
    if (ps_label_rules_given(opts)) {
        return PS_SAY(lang, "no range matches --forward-re or --backward-re",
                      "没有 range 匹配 --forward-re 或 --backward-re");
    }
    return PS_SAY(
        lang,
        "nothing says what is a forward and what a backward: no marks, no labels, no jobs "
        "of a pipeline, no forward-backward flows. A line in the job gives labels "
        "(docs/jobs.md); ranges of the program that name them count with --forward-re and "
        "--backward-re",
        "没有信息说明哪些是前向、哪些是反向：没有打点、标签、流水线 job，也没有前向到反向的连线。在作业中"
        "加一行即可得到标签（docs/jobs.md）；程序中以名称说明的 range 可用 --forward-re 与 "
        "--backward-re 识别");
}

static const char *const NO_PIPELINE[PS_N_LANGS] = {
    "no marks, labels or jobs; there are forward-backward flows, but nothing says that the ranks are "
    "a pipeline",
    "没有打点、标签或 job；有前向到反向的连线，但没有信息说明这些 rank 组成流水线"};
static const char *const WITHOUT_LABELS[PS_N_LANGS] = {
    "give --pp N to chart those flows; a line in the job gives exact labels (docs/jobs.md); serve and "
    "cluster need none",
    "指定 --pp N 即可按连线绘图；在作业中加一行可得到准确标签（docs/jobs.md）；serve 与 cluster "
    "不需要标签"};

ps_code ps_fail_replicas(ps_err *err) {
    return ps_fail_said(
        err, PS_NOTHING,
        "this looks like data-parallel training without a pipeline: every rank runs "
        "DistributedDataParallel.forward, and no stage sends to or receives from another, so there is "
        "nothing to chart; if there is a pipeline, a line in the job labels it (docs/jobs.md)",
        "这看起来是没有流水线的数据并行训练：每个 rank 都运行 DistributedDataParallel.forward，且没有阶段之间的发送或"
        "接收，因此没有可绘制的流水线；若确有流水线，在作业中加一行即可得到标签（docs/jobs.md）");
}

ps_code ps_fail_one_stage(const ps_analysis_opts *opts, bool is_known, ps_err *err) {
    const ps_lang lang = opts->lang;
    if (is_known) {
        return ps_fail(
            err, PS_NOTHING,
            PS_SAY(
                lang,
                "%s: one stage is no pipeline, and there are no marks, labels or jobs, but "
                "forward-backward flows alone (docs/marks.md)",
                "%s：单个阶段不成流水线，且没有打点、标签或 job，只有前向到反向的连线（docs/marks.md）"),
            opts->pp == 1 ? "--pp 1"
                          : PS_SAY(lang, "the metadata says one stage", "元数据说明只有一个阶段"));
    }
    return ps_fail(err, PS_NOTHING, PS_SAY(lang, "%s: %s", "%s：%s"), NO_PIPELINE[lang],
                   WITHOUT_LABELS[lang]);
}

void ps_say_stages_tried(ps_lang lang, ps_err *err) {
    if (err != NULL) {
        char why[sizeof err->msg];
        (void)snprintf(why, sizeof why, "%s", ps_err_text(lang, err));
        (void)ps_fail(err, PS_NOTHING, PS_SAY(lang, "%s: %.200s; %s", "%s：%.200s；%s"),
                      NO_PIPELINE[lang], why, WITHOUT_LABELS[lang]);
    }
}
