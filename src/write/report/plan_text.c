#include "write/report/plan_text.h"

#include <stdio.h>

#include "base/json_write.h"
#include "base/num.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"

/* Percent by which layers of equal stages may differ before the plan says so. */
#define SPREAD_SAID 10
/* How much longer the step may be than with all workers of a stage alike. */
#define SLOW_MACHINE_SAID 1.05

static ps_ns_text ns_of(const ps_table *t, const char *column) {
    return ps_ns_text_of(ps_view_int(t, 0, column));
}

static void put_line(ps_buf *out, const ps_table *plan, const char *what, const char *column) {
    if (ps_view_text(plan, 0, column)[0] != '\0') {
        ps_buf_addf(out, "  %-12s %s\n", what, ps_view_text(plan, 0, column));
    }
}

static void put_plan_text_lines(ps_buf *out, const ps_table *plan) {
    if (ps_view_is_null(plan, 0, "num_layer_list")) {
        ps_buf_addf(
            out,
            "No lines to paste: how layers lie on several chunks of a stage is not measured.\n");
        return;
    }
    ps_buf_addf(out, "Lines to paste:\n\n  %-12s --pipeline-model-parallel-layout \"%s\"\n",
                "Megatron-LM", ps_view_text(plan, 0, "pipeline_model_parallel_layout"));
    ps_buf_addf(out, "  %-12s --num-layer-list %s\n", "MindSpeed",
                ps_view_text(plan, 0, "num_layer_list"));
    put_line(out, plan, "PyTorch", "split_points");
}

size_t ps_plan_sentences(const ps_table *plan, char out[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE]) {
    double real = (double)ps_view_int(plan, 0, "step_replayed");
    double alike = (double)ps_view_int(plan, 0, "step_now");
    double gain = ps_view_real(plan, 0, "gain share");
    double spread = ps_view_real(plan, 0, "spread_of_layers");
    size_t n = 0;
    if (gain > 0.05) {
        (void)snprintf(out[n++], PS_PLAN_SENTENCE,
                       "A better split: a step of %s instead of %s, %.1f %% less.",
                       ns_of(plan, "step_planned").text, ns_of(plan, "step_now").text, gain);
    } else {
        (void)snprintf(out[n++], PS_PLAN_SENTENCE, "No split is better: a step of %s.",
                       ns_of(plan, "step_now").text);
    }
    (void)snprintf(
        out[n++], PS_PLAN_SENTENCE,
        "A layer takes %s of a microbatch; the first stage has %s on top, the last one %s.",
        ns_of(plan, "layer").text, ns_of(plan, "first_stage_more").text,
        ns_of(plan, "last_stage_more").text);
    if (real > alike * SLOW_MACHINE_SAID) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            "Mend the slow machine first: the step is %s now, %s with all workers of a stage alike, and "
            "the plan is for those. pipescope whatif tells which machine.",
            ns_of(plan, "step_replayed").text, ns_of(plan, "step_now").text);
    }
    if (spread > SPREAD_SAID) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            "Layers of the stages in between differ by %.0f %%: some machine may be slow, or layers are "
            "not alike. pipescope whatif tells which.",
            spread);
    }
    (void)snprintf(
        out[n++], PS_PLAN_SENTENCE, "%lld splits were simulated%s.",
        (long long)ps_view_int(plan, 0, "splits_simulated"),
        ps_view_int(plan, 0, "all_splits_simulated") != 0
            ? ", all that there are"
            : ": the one whose slowest stage is fastest, then neighbours as long as they are better");
    return n;
}

ps_code ps_write_plan_text(const ps_table *plan, const ps_table *stages, const ps_text_style *style,
                           ps_buf *out, ps_err *err) {
    char sentences[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE];
    size_t n = ps_plan_sentences(plan, sentences);
    for (size_t i = 0; i < n; i++) {
        ps_wrap(out, sentences[i], 0, 0, style->width);
        ps_buf_add_char(out, '\n');
    }
    ps_buf_add_char(out, '\n');
    ps_code code = ps_write_table_text(stages, style, out, err);
    ps_buf_addf(out, "\n");
    put_plan_text_lines(out, plan);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

ps_code ps_write_plan_json(const ps_table *plan, const ps_table *stages, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_key_str(&j, "format", "pipescope-plan");
    ps_json_key_int(&j, "version", 1);
    ps_json_line(&j, 1);
    ps_json_key(&j, "plan");
    ps_json_value(&j);
    ps_code code = ps_write_table_json(plan, out, err);
    ps_json_line(&j, 1);
    ps_json_key(&j, "stages");
    ps_json_value(&j);
    code = code == PS_OK ? ps_write_table_json(stages, out, err) : code;
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
