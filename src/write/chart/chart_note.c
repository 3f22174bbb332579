/* What a picture of one step of one pipeline does not show: that there are others, and how unlike them the step is. */
#include "write/chart/chart_note.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "model/chart_groups.h"
#include "write/chart/block_text.h"

/* A step that differs by more than this from the median of its pipeline is said to. */
#define UNLIKE_PERCENT 5

/* From the first start to the last end of a pipeline's ops in a step; -1 where it has none. */
static int64_t step_time_of(const ps_chart *chart, const ps_chart_groups *groups, int32_t pipeline,
                            size_t step) {
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
    for (size_t r = 0; r < chart->n_ranks; r++) {
        size_t g = ps_chart_group(groups, r, step);
        for (size_t k = groups->first[g];
             chart->ranks[r].pipeline == pipeline && k < groups->first[g + 1]; k++) {
            const ps_op *op = &chart->ops[groups->order[k]];
            start_ns = op->start_ns < start_ns ? op->start_ns : start_ns;
            end_ns = op->end_ns > end_ns ? op->end_ns : end_ns;
        }
    }
    return end_ns >= start_ns ? end_ns - start_ns : -1;
}

/* How long the step takes that is drawn, where that is unlike the others of its pipeline. */
static void add_unlike_step(ps_buf *out, const ps_chart *chart, const ps_chart_groups *groups,
                            int64_t step, int32_t pipeline) {
    int64_t *times = ps_calloc(groups->n_steps + 1, sizeof *times);
    size_t n = 0;
    int64_t drawn_ns = -1;
    out->failed = out->failed || times == NULL;
    for (size_t s = 0; times != NULL && s < groups->n_steps; s++) {
        int64_t time_ns = step_time_of(chart, groups, pipeline, s);
        if (time_ns >= 0) {
            bool is_drawn = n == 0 || groups->steps[s] == step;
            drawn_ns = is_drawn ? time_ns : drawn_ns;
            times[n++] = time_ns;
        }
    }
    int64_t median_ns = n > 0 ? ps_median_i64(times, n) : 0;
    int64_t apart_ns = drawn_ns > median_ns ? drawn_ns - median_ns : median_ns - drawn_ns;
    if (n > 1 && apart_ns > median_ns / 100 * UNLIKE_PERCENT) {
        ps_buf_addf(out,
                    PS_SAY(chart->lang,
                           "The step drawn takes %s, the median of its pipeline's steps %s.\n",
                           "所绘 step 耗时 %s，其流水线各 step 的中位数为 %s。\n"),
                    ps_ns_text_of(drawn_ns).text, ps_ns_text_of(median_ns).text);
    }
    ps_free(times);
}

void ps_chart_note(const ps_chart *chart, int64_t step, int32_t pipeline, ps_buf *out) {
    ps_chart_groups groups;
    bool ok = ps_chart_groups_init(&groups, chart);
    size_t n_pipelines = 0;
    for (size_t r = 0; r < chart->n_ranks; r++) {
        bool seen = false;
        for (size_t k = 0; k < r && !seen; k++) {
            seen = chart->ranks[k].pipeline == chart->ranks[r].pipeline;
        }
        n_pipelines += !seen;
    }
    if (ok && (groups.n_steps > 1 || n_pipelines > 1)) {
        ps_buf_addf(
            out,
            PS_SAY(
                chart->lang,
                "One of %zu step%s and %zu pipeline%s; pipescope chart PATH --step N --pipeline N draws another.\n",
                "共 %zu 个 step%.0s、%zu 条流水线%.0s；用 pipescope chart PATH --step N --pipeline N 绘制其他。\n"),
            groups.n_steps, groups.n_steps == 1 ? "" : "s", n_pipelines,
            n_pipelines == 1 ? "" : "s");
    }
    ps_code code = ok ? ps_chart_choose(chart, &step, &pipeline, NULL) : PS_NOMEM;
    if (code == PS_OK) {
        add_unlike_step(out, chart, &groups, step, pipeline);
    }
    out->failed = out->failed || code == PS_NOMEM;
    ps_chart_groups_fini(&groups);
}

/* --- which pipeline ---------------------------------------------------------------------------------------------- */

void ps_chart_say_pipeline(const ps_rows *rows, ps_buf *out) {
    const ps_lang lang = rows->chart->lang;
    if (rows->is_longest) {
        ps_buf_addf(out,
                    PS_SAY(lang, "pipeline %d, the longest of %zu",
                           "流水线 %d（%zu 条流水线中最长的一条）"),
                    (int)rows->pipeline, rows->n_pipelines);
    } else {
        ps_buf_addf(out, PS_SAY(lang, "pipeline %d", "流水线 %d"), (int)rows->pipeline);
    }
}

/* --- numbers on blocks ------------------------------------------------------------------------------------------ */

void ps_chart_say_numbers(const ps_chart *chart, const char *before, const char *between,
                          ps_buf *out) {
    const ps_op *later = NULL;
    const ps_op *pair = NULL;
    for (size_t i = 0; i < chart->n_ops && (later == NULL || pair == NULL); i++) {
        const ps_op *op = &chart->ops[i];
        bool is_pair = op->kind == PS_OP_FB && op->chunk >= 0 && op->chunk2 >= 0 &&
                       op->microbatch >= 0 && op->microbatch2 >= 0 && strchr(op->name, '+') != NULL;
        later = later == NULL && ps_op_counts_on(op) ? op : later;
        pair = pair == NULL && is_pair ? op : pair;
    }
    if (later == NULL) {
        return;
    }
    ps_buf_addf(
        out,
        PS_SAY(chart->lang,
               "%sNumbers count on from chunk to chunk: op %s is microbatch %d of chunk %d.",
               "%s编号按 chunk 连续：算子 %s 是 microbatch %d，属于 chunk %d。"),
        before, later->name, (int)later->microbatch, (int)later->chunk);
    if (pair != NULL) {
        ps_block_text text;
        (void)ps_block_text_of(pair, 1, &text);
        ps_buf_addf(
            out,
            PS_SAY(
                chart->lang,
                "%s%s is the forward of microbatch %d (chunk %d) beside the backward of "
                "microbatch %d (chunk %d).",
                "%s%s 是 microbatch %d（chunk %d）的前向与 microbatch %d（chunk %d）的反向重叠。"),
            between, text.text, (int)pair->microbatch, (int)pair->chunk, (int)pair->microbatch2,
            (int)pair->chunk2);
    }
}
