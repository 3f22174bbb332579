#include "write/report/plan_text.h"

#include <stdio.h>
#include <string.h>

#include "base/instead.h"
#include "base/json_write.h"
#include "base/num.h"
#include "model/lacks.h"
#include "schedule/schedule.h"
#include "write/out/json_text.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"

/* Percent by which layers of equal stages may differ before the plan says so. */
#define SPREAD_SAID 10
/* How much longer the step may be than with all workers of a stage alike. */
#define SLOW_MACHINE_SAID 1.05
/* Percent by which the replay may miss the measured step: beyond it what passes between ops decides, and not the ops (whatif.h). */
#define UNEXPLAINED_SAID 20

static ps_ns_text ns_of(const ps_table *t, const char *column) {
    return ps_ns_text_of(ps_view_int(t, 0, column));
}

/* What the plan rests on and does not hold of this job; lines are pasted without the sentences above them, so it stands with them, too. */
typedef struct plan_doubt {
    bool is_slow_machine, is_spread, is_unexplained;
    double explained; /* percent of the measured step */
} plan_doubt;

static plan_doubt doubt_of(const ps_table *plan) {
    plan_doubt d = {.explained = 100};
    double real = (double)ps_view_int(plan, 0, "step_replayed");
    double alike = (double)ps_view_int(plan, 0, "step_now");
    if (!ps_view_is_null(plan, 0, "step_measured")) {
        d.explained = 100 * real / (double)ps_view_int(plan, 0, "step_measured");
    }
    d.is_slow_machine = real > alike * SLOW_MACHINE_SAID;
    d.is_spread = ps_view_real(plan, 0, "spread_of_layers") > SPREAD_SAID;
    d.is_unexplained = d.explained < 100 - UNEXPLAINED_SAID || d.explained > 100 + UNEXPLAINED_SAID;
    return d;
}

void ps_plan_doubt(ps_lang lang, const ps_table *plan, ps_buf *text) {
    plan_doubt d = doubt_of(plan);
    const char *const why[] = {
        d.is_unexplained
            ? PS_SAY(lang, "the replay misses the measured step", "重放与实测 step 不符")
            : NULL,
        d.is_spread ? PS_SAY(lang, "layers of the stages in between differ", "中间各阶段的层不一致")
                    : NULL,
        d.is_slow_machine
            ? PS_SAY(lang, "workers of a stage are not alike", "同阶段的 worker 不一致")
            : NULL,
    };
    for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
        if (why[i] != NULL) {
            ps_buf_addf(text, "%s%s",
                        text->len > 0 ? PS_SAY(lang, ", ", "、")
                                      : PS_SAY(lang, "Before you paste: ", "粘贴之前请注意："),
                        why[i]);
        }
    }
    if (text->len > 0) {
        ps_buf_add_str(text, PS_SAY(lang, " (see above), so a step may take longer than planned.",
                                    "（见上），因此实际 step 可能比计划更长。"));
    }
}

static void put_doubt(ps_buf *out, ps_lang lang, const ps_table *plan, const ps_text_style *style) {
    ps_buf text = {0};
    ps_plan_doubt(lang, plan, &text);
    if (text.len > 0) {
        ps_wrap(out, ps_buf_str(&text), 0, 0, style->width);
        ps_buf_add_str(out, "\n\n");
    }
    ps_buf_fini(&text);
}

static void put_line(ps_buf *out, const ps_table *plan, const char *what, const char *column) {
    if (ps_view_text(plan, 0, column)[0] != '\0') {
        ps_buf_addf(out, "  %-12s %s\n", what, ps_view_text(plan, 0, column));
    }
}

static void put_plan_text_lines(ps_buf *out, const ps_plan_view *view, const ps_text_style *style) {
    const ps_table *plan = view->plan;
    const ps_lang lang = view->lang;
    if (ps_view_int(plan, 0, "keeps_no_limits") != 0) {
        return;
    }
    if (!ps_view_is_null(plan, 0, "plan_of_own_schedule")) {
        ps_buf_addf(out,
                    PS_SAY(lang, "It is plan %lld below: --row %lld shows it in full.\n",
                           "即下面的方案 %lld：--row %lld 显示其全部内容。\n"),
                    (long long)ps_view_int(plan, 0, "plan_of_own_schedule"),
                    (long long)ps_view_int(plan, 0, "plan_of_own_schedule"));
        return;
    }
    if (ps_view_is_null(plan, 0, "num_layer_list")) {
        ps_buf_addf(
            out, "%s\n",
            PS_SAY(lang,
                   "No lines to paste for it: how layers lie on several chunks of a stage is "
                   "not measured.",
                   "没有可粘贴的配置：同一阶段多个 chunk 各含哪些层没有测量。"));
        return;
    }
    put_doubt(out, lang, plan, style);
    ps_buf_addf(out, "%s\n\n  %-12s --pipeline-model-parallel-layout \"%s\"\n",
                PS_SAY(lang, "Lines to paste:", "可粘贴的配置："), "Megatron-LM",
                ps_view_text(plan, 0, "pipeline_model_parallel_layout"));
    ps_buf_addf(out, "  %-12s --num-layer-list %s\n", "MindSpeed",
                ps_view_text(plan, 0, "num_layer_list"));
    put_line(out, plan, "PyTorch", "split_points");
}

size_t ps_plan_sentences(ps_lang lang, const ps_table *plan,
                         char out[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE]) {
    plan_doubt doubt = doubt_of(plan);
    double gain = ps_view_real(plan, 0, "gain share");
    size_t n = 0;
    if (ps_view_int(plan, 0, "keeps_no_limits") != 0) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            PS_SAY(
                lang,
                "Under the schedule that ran no split keeps the memory limit. A step takes %s now.",
                "在原有调度下，没有划分能满足内存上限。当前每个 step %s。"),
            ns_of(plan, "step_now").text);
    } else if (gain > 0.05) {
        (void)snprintf(out[n++], PS_PLAN_SENTENCE,
                       PS_SAY(lang, "A better split: a step of %s, %.1f %% less.",
                              "更好的划分：每个 step %s，减少 %.1f %%。"),
                       ps_instead_of(lang, ps_view_int(plan, 0, "step_planned"),
                                     ps_view_int(plan, 0, "step_now"))
                           .text,
                       gain);
    } else {
        (void)snprintf(out[n++], PS_PLAN_SENTENCE,
                       PS_SAY(lang, "No split of this schedule is better: a step of %s.",
                              "该调度没有更好的划分：每个 step %s。"),
                       ns_of(plan, "step_now").text);
    }
    char of_what[160] = "";
    if (doubt.is_spread) {
        (void)snprintf(of_what, sizeof of_what,
                       PS_SAY(lang, " (median of the stages in between, where it takes %s to %s)",
                              "（中间各阶段的中位数，其单层为 %s 至 %s）"),
                       ns_of(plan, "layer_least").text, ns_of(plan, "layer_most").text);
    }
    (void)snprintf(
        out[n++], PS_PLAN_SENTENCE,
        PS_SAY(
            lang,
            "A layer takes %s of a microbatch%s; the first stage has %s on top, the last one %s.",
            "单层处理一个 microbatch 需要 %s%s；首阶段另有 %s，末阶段另有 %s。"),
        ns_of(plan, "layer").text, of_what, ns_of(plan, "first_stage_more").text,
        ns_of(plan, "last_stage_more").text);
    if (ps_view_int(plan, 0, "chunks_alike") != 0) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE, "%s",
            PS_SAY(
                lang,
                "Layers of a stage are taken to lie evenly on its chunks, also where they are not "
                "whole: no such split can be run as it is.",
                "同一阶段的层按均匀分布在其各 chunk 上计，即使不是整层：这样的划分不能原样运行。"));
    }
    if (doubt.is_unexplained) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            PS_SAY(
                lang,
                "The ops and who waits for whom explain %.0f %% of the measured step of %s: what is planned "
                "is of that part.",
                "算子及其依赖只解释了实测 step 的 %.0f %%（%s）：计划针对的是这一部分。"),
            doubt.explained, ns_of(plan, "step_measured").text);
    }
    if (doubt.is_slow_machine) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            PS_SAY(
                lang,
                "Mend the slow machine first: the step is %s now, %s with all workers of a stage alike, and "
                "the plan is for those. pipescope whatif tells which machine.",
                "请先修复慢机器：当前 step 为 %s，若同阶段 worker 一致则为 %s，计划以后者为准。是哪台机器见 pipescope whatif。"),
            ns_of(plan, "step_replayed").text, ns_of(plan, "step_now").text);
    }
    int64_t n_left_out = ps_view_int(plan, 0, "steps_left_out");
    if (n_left_out > 0) {
        (void)snprintf(out[n++], PS_PLAN_SENTENCE,
                       PS_SAY(lang, "%lld step%s left out: %s.", "%lld 个 step 未计入%.0s：%s。"),
                       (long long)n_left_out, n_left_out == 1 ? " is" : "s are",
                       ps_view_text(plan, 0, "why_left_out"));
    }
    if (doubt.is_spread) {
        (void)snprintf(
            out[n++], PS_PLAN_SENTENCE,
            PS_SAY(
                lang,
                "Layers of the stages in between differ by %.0f %%: some machine may be slow, or layers are "
                "not alike. pipescope whatif tells which.",
                "中间各阶段的单层耗时相差 %.0f %%：可能有慢机器，或各层不相同。是哪台见 pipescope whatif。"),
            ps_view_real(plan, 0, "spread_of_layers"));
    }
    (void)snprintf(
        out[n++], PS_PLAN_SENTENCE,
        PS_SAY(lang, "%lld split%s simulated%s.", "仿真了 %lld 种划分%.0s%s。"),
        (long long)ps_view_int(plan, 0, "splits_simulated"),
        ps_view_int(plan, 0, "splits_simulated") == 1 ? " was" : "s were",
        ps_view_int(plan, 0, "proven") != 0
            ? PS_SAY(lang, ", and under this schedule no other one has a shorter step",
                     "，在该调度下没有其他划分的 step 更短")
            : PS_SAY(lang, ": this is the best that was found, not proven to be the best there is",
                     "：这是找到的最好的，未证明是最优"));
    return n;
}

/* --- schedules ------------------------------------------------------------------------------------------------------- */

/* Columns of the terminal; some only where they tell something. */
enum {
    T_NUMBER,
    T_SCHEDULE,
    T_LAYERS,
    T_STEP,
    T_SHARE,
    T_HELD,
    T_BEATEN,
    T_BYTES,
    T_ACTIVATIONS,
    N_T
};

_Static_assert(N_T == PS_PLAN_COLUMNS, "room for all columns");

static const ps_column SHOWN[N_T] = {
    [T_NUMBER] = {.name = "no.", .type = PS_COL_INT},
    [T_SCHEDULE] = {.name = "schedule", .type = PS_COL_TEXT},
    [T_LAYERS] = {.name = "layers", .type = PS_COL_TEXT},
    [T_STEP] = {.name = "step", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_SHARE] = {.name = "gain", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_HELD] = {.name = "held", .type = PS_COL_INT},
    [T_BEATEN] = {.name = "beaten by", .type = PS_COL_INT},
    [T_BYTES] = {.name = "memory", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [T_ACTIVATIONS] = {.name = "activations", .type = PS_COL_REAL},
};

static void find_shown_columns(const ps_table *all, const ps_table *plan, bool has[N_T]) {
    for (size_t c = 0; c < N_T; c++) {
        has[c] = c < T_BYTES;
    }
    has[T_ACTIVATIONS] = !ps_view_is_null(plan, 0, "max_activations");
    for (size_t r = 0; r < all->n_rows; r++) {
        has[T_BYTES] = has[T_BYTES] || !ps_view_is_null(all, r, "memory");
    }
}

#define LONGEST_LAYERS 20

/* "9,9,8,6"; where that is long "5x4,14x9,5". */
static void put_layers(const char *layers, ps_buf *out) {
    const char *at = strlen(layers) > LONGEST_LAYERS ? layers : "";
    if (*at == '\0') {
        ps_buf_add_str(out, layers);
    }
    while (*at != '\0') {
        size_t n = strcspn(at, ",");
        const char *next = at;
        int times = 0;
        while (strncmp(next, at, n) == 0 && (next[n] == ',' || next[n] == '\0')) {
            times++;
            next += n + (next[n] == ',');
            if (*next == '\0') {
                break;
            }
        }
        ps_buf_addf(out, "%s", at == layers ? "" : ",");
        if (times > 1) {
            ps_buf_addf(out, "%dx", times);
        }
        ps_buf_addf(out, "%.*s", (int)n, at);
        at = next;
    }
}

/* "interleaved x 2", "1f1b (as it ran)", "dualpipe (2 copies)"; of what ran and has no name "as it ran" */
static void name_plan(const ps_table *all, size_t row, char out[96]) {
    const char *schedule = ps_view_text(all, row, "schedule");
    const ps_schedule *known = ps_schedule_find(schedule);
    bool has_chunks = known != NULL && (known->takes & PS_TAKES_CHUNKS) != 0;
    int n = snprintf(out, 64, "%s", schedule);
    if (has_chunks) {
        n += snprintf(out + n, 16, " x %d", (int)ps_view_int(all, row, "chunks"));
    }
    if (schedule[0] == '\0') {
        (void)snprintf(out, 96, "as it ran");
    } else if (ps_view_int(all, row, "number") == 0) {
        (void)snprintf(out + n, 16, " (as it ran)");
    } else if (ps_view_int(all, row, "weights") > 1) {
        (void)snprintf(out + n, 16, " (%d copies)", (int)ps_view_int(all, row, "weights"));
    }
}

/* One cell of the terminal's table. False when memory is out. */
static bool put_shown_cell(ps_table *t, size_t at, size_t column, const ps_table *all, size_t row) {
    static const char *const FROM[N_T] = {
        [T_NUMBER] = "number",          [T_STEP] = "step",        [T_SHARE] = "gain_share",
        [T_HELD] = "layers_held",       [T_BEATEN] = "beaten_by", [T_BYTES] = "memory",
        [T_ACTIVATIONS] = "activations"};
    bool ok = true;
    if (column == T_SCHEDULE) {
        char name[96];
        name_plan(all, row, name);
        ok = ps_table_set_text(t, at, name);
    } else if (column == T_LAYERS) {
        ps_buf layers;
        ps_buf_init(&layers, 0);
        put_layers(ps_view_text(all, row, "layers"), &layers);
        ok = ps_buf_ok(&layers) && ps_table_set_text(t, at, ps_buf_str(&layers));
        ps_buf_fini(&layers);
    } else if (ps_view_is_null(all, row, FROM[column])) {
        return true;
    } else if (SHOWN[column].type == PS_COL_REAL) {
        ps_table_set_real(t, at, ps_view_real(all, row, FROM[column]));
    } else {
        ps_table_set_int(t, at, ps_view_int(all, row, FROM[column]));
    }
    return ok;
}

ps_table *ps_plan_shown(const ps_plan_view *view, ps_column columns[PS_PLAN_COLUMNS]) {
    const ps_table *all = view->schedules;
    bool has[N_T];
    size_t of[N_T];
    size_t n = 0;
    find_shown_columns(all, view->plan, has);
    for (size_t c = 0; c < N_T; c++) {
        if (has[c]) {
            columns[n] = SHOWN[c];
            of[n++] = c;
        }
    }
    ps_table *t = ps_table_new("plan_list", all->title, columns, n);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < all->n_rows; r++) {
        ok = ps_table_add_row(t);
        for (size_t i = 0; ok && i < n; i++) {
            ok = put_shown_cell(t, i, of[i], all, r);
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

static void put_text_block(ps_buf *out, const char *what, const char *text) {
    const char *at = text;
    while (*at != '\0') {
        size_t n = strcspn(at, "\n");
        ps_buf_addf(out, "  %-12s %.*s\n", at == text ? what : "", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

static void put_schedule_lines(ps_buf *out, const ps_plan_view *view, const ps_text_style *style) {
    const ps_table *lines = view->schedule_lines;
    if (lines->n_rows > 0) {
        ps_buf_add_char(out, '\n');
        put_doubt(out, view->lang, view->plan, style);
    }
    ps_buf_add_str(
        out,
        lines->n_rows > 0
            ? PS_SAY(view->lang, "To paste for that plan:\n\n", "该计划可粘贴的配置：\n\n")
            : PS_SAY(
                  view->lang,
                  "\nThere is no line to paste for that plan: no option of a framework for it is "
                  "known.\n",
                  "\n该计划没有可粘贴的配置：未知框架的对应选项。\n"));
    for (size_t r = 0; r < lines->n_rows; r++) {
        put_text_block(out, ps_view_text(lines, r, "framework"), ps_view_text(lines, r, "line"));
    }
}

static bool is_any_proven(const ps_table *t, bool proven) {
    bool any = false;
    for (size_t r = 0; r < t->n_rows; r++) {
        any = any ||
              (!ps_view_is_null(t, r, "proven") && (ps_view_int(t, r, "proven") != 0) == proven);
    }
    return any;
}

/* What the plans were compared with, or why there are none. */
static bool say_basis(const ps_plan_view *view, char out[PS_PLAN_REMARK]) {
    const ps_lang lang = view->lang;
    const char *unnamed = ps_view_text(view->plan, 0, "why_unnamed");
    if (view->schedules == NULL) {
        (void)snprintf(out, PS_PLAN_REMARK,
                       PS_SAY(lang, "Other schedules are not planned: %s.", "未计划其他调度：%s。"),
                       ps_view_text(view->plan, 0, "why_no_schedules"));
    } else if (unnamed[0] != '\0') {
        (void)snprintf(out, PS_PLAN_REMARK,
                       PS_SAY(lang, "Plans are compared with the measured order: %s.",
                              "计划与实测的顺序比较：%s。"),
                       unnamed);
    }
    return view->schedules == NULL || unnamed[0] != '\0';
}

static const char *proof_said(ps_lang lang, const ps_table *schedules) {
    if (!is_any_proven(schedules, false)) {
        return "";
    }
    return is_any_proven(schedules, true)
               ? PS_SAY(
                     lang,
                     "Some splits are the best that were found, not proven to be the best there are "
                     "(--json says which).",
                     "部分划分是找到的最好的，未证明是最优（--json 会说明是哪些）。")
               : PS_SAY(
                     lang,
                     "The splits are the best that were found, not proven to be the best there are.",
                     "这些划分是找到的最好的，未证明是最优。");
}

size_t ps_plan_remarks(const ps_plan_view *view, char out[PS_PLAN_REMARKS][PS_PLAN_REMARK],
                       size_t *n_before) {
    size_t n = say_basis(view, out[0]) ? 1 : 0;
    *n_before = n;
    if (view->schedules == NULL) {
        return n;
    }
    const char *const after[] = {
        PS_SAY(
            view->lang,
            "Layers: of the pieces along the way through the model; x 2: pieces on each stage. Held: "
            "layers x microbatches whose activations the fullest stage keeps. Beaten by: a plan that is "
            "no worse in step, held layers and copies of weights, and better in one. Where all stages had "
            "layers no piece is left without one (--empty-stages lets it).",
            "layers（层数）：模型依次各段的层数；x 2：每个阶段的段数。held（持有）：保有最多的阶段所保有激活的层数 x microbatch "
            "数。beaten by（被优于）：在 step、保有量、权重份数上都不更差且有一项更好的计划。若各阶段原本都有层，则每段至少一层（--empty-stages "
            "允许空段）。"),
        proof_said(view->lang, view->schedules),
        ps_view_text(view->plan, 0, "note"),
    };
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        if (after[i][0] != '\0') {
            (void)snprintf(out[n++], PS_PLAN_REMARK, "%s", after[i]);
        }
    }
    return n;
}

static void put_paragraph(ps_buf *out, const char *text, const ps_text_style *style) {
    if (text[0] != '\0') {
        ps_wrap(out, text, 0, 0, style->width);
        ps_buf_add_char(out, '\n');
    }
}

static ps_code put_plan_list(ps_buf *out, const ps_plan_view *view, const ps_text_style *style,
                             ps_err *err) {
    ps_column columns[PS_PLAN_COLUMNS];
    ps_table *t = ps_plan_shown(view, columns);
    ps_code code = t != NULL ? ps_write_table_text(t, style, out, err) : ps_fail_nomem(err);
    ps_table_free(t);
    ps_buf_add_char(out, '\n');
    return code;
}

static ps_code put_other_schedules(ps_buf *out, const ps_plan_view *view,
                                   const ps_text_style *style, ps_err *err) {
    char remarks[PS_PLAN_REMARKS][PS_PLAN_REMARK];
    size_t n_before;
    size_t n = ps_plan_remarks(view, remarks, &n_before);
    if (n_before > 0) {
        put_paragraph(out, remarks[0], style);
    }
    if (view->schedules == NULL) {
        return PS_OK;
    }
    if (n_before > 0) {
        ps_buf_add_char(out, '\n');
    }
    ps_code code = put_plan_list(out, view, style, err);
    for (size_t i = n_before; i < n; i++) {
        put_paragraph(out, remarks[i], style);
    }
    if (code == PS_OK && view->schedule_stages != NULL) {
        ps_buf_add_char(out, '\n');
        code = ps_write_table_text(view->schedule_stages, style, out, err);
    }
    if (view->schedule_lines != NULL) {
        put_schedule_lines(out, view, style);
    }
    return code;
}

/* A reason stands once, after all schedules that it holds for. */
static void put_left_out(ps_buf *out, const ps_table *t, ps_lang lang, const ps_text_style *style) {
    ps_buf_addf(out, "%s\n\n", PS_SAY(lang, "schedules without a plan", "没有计划的调度"));
    for (size_t r = 0; r < t->n_rows; r++) {
        const char *why = ps_view_text(t, r, "why");
        bool is_said = false;
        for (size_t before = 0; before < r; before++) {
            is_said = is_said || strcmp(ps_view_text(t, before, "why"), why) == 0;
        }
        ps_buf line = {0};
        for (size_t i = r; !is_said && i < t->n_rows; i++) {
            if (strcmp(ps_view_text(t, i, "why"), why) == 0) {
                ps_buf_addf(&line, "%s%s", i == r ? "" : PS_SAY(lang, "; ", "；"),
                            ps_view_text(t, i, "schedule"));
            }
        }
        if (line.len > 0) {
            ps_buf_addf(&line, PS_SAY(lang, ": %s", "：%s"), why);
            ps_buf_add_str(out, "  ");
            ps_wrap(out, ps_buf_str(&line), 2, 4, style->width);
            ps_buf_add_char(out, '\n');
        }
        ps_buf_fini(&line);
    }
}

ps_code ps_write_plan_text(const ps_plan_view *view, const ps_text_style *style, ps_buf *out,
                           ps_err *err) {
    ps_lacks_say(view->lang, view->lacks, "", "\n", out);
    char sentences[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE];
    size_t n = ps_plan_sentences(view->lang, view->plan, sentences);
    for (size_t i = 0; i < n; i++) {
        put_paragraph(out, sentences[i], style);
    }
    ps_buf_add_char(out, '\n');
    ps_code code = ps_write_table_text(view->stages, style, out, err);
    ps_buf_addf(out, "\n");
    if (code == PS_OK && view->memory != NULL) {
        code = ps_write_table_text(view->memory, style, out, err);
        ps_buf_addf(out, "\n");
    }
    put_plan_text_lines(out, view, style);
    ps_buf_addf(out, "\n");
    code = code == PS_OK ? put_other_schedules(out, view, style, err) : code;
    if (code == PS_OK && view->left_out != NULL) {
        ps_buf_add_char(out, '\n');
        put_left_out(out, view->left_out, view->lang, style);
    }
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

static ps_code put_json_table(ps_json *j, const ps_table *t, ps_buf *out, ps_err *err) {
    ps_json_value(j);
    return ps_write_table_json(t, out, err);
}

ps_code ps_write_plan_json(const ps_plan_view *view, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_key_str(&j, "format", "pipescope-plan");
    ps_json_key_int(&j, "version", 1);
    ps_json_lacks(&j, 1, view->lacks);
    ps_json_line(&j, 1);
    ps_json_key(&j, "plan");
    ps_code code = put_json_table(&j, view->plan, out, err);
    ps_json_line(&j, 1);
    ps_json_key(&j, "stages");
    code = code == PS_OK ? put_json_table(&j, view->stages, out, err) : code;
    if (code == PS_OK && view->memory != NULL) {
        ps_json_line(&j, 1);
        ps_json_key(&j, "memory");
        code = put_json_table(&j, view->memory, out, err);
    }
    if (code == PS_OK && view->schedules != NULL) {
        ps_json_line(&j, 1);
        ps_json_key(&j, "schedules");
        code = put_json_table(&j, view->schedules, out, err);
    }
    if (code == PS_OK && view->schedule_stages != NULL) {
        ps_json_line(&j, 1);
        ps_json_key(&j, "schedule_stages");
        code = put_json_table(&j, view->schedule_stages, out, err);
    }
    if (code == PS_OK && view->schedule_lines != NULL) {
        ps_json_line(&j, 1);
        ps_json_key(&j, "schedule_lines");
        code = put_json_table(&j, view->schedule_lines, out, err);
    }
    if (code == PS_OK && view->left_out != NULL) {
        ps_json_line(&j, 1);
        ps_json_key(&j, "left_out");
        code = put_json_table(&j, view->left_out, out, err);
    }
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
