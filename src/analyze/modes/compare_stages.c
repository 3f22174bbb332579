#include "analyze/modes/compare_stages.h"

#include <math.h>

#include "analyze/modes/capture_facts_stages.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

typedef struct stage_row {
    int64_t stage, now, base, lost;
    double ratio;
} stage_row;

static const ps_column STAGES[] = {
    {.name = "stage", PS_FIELD(stage_row, stage)},
    {.name = "new", PS_FIELD(stage_row, now), .unit = PS_UNIT_NS},
    {.name = "base", PS_FIELD(stage_row, base), .unit = PS_UNIT_NS, .is_beside = true},
    {.name = "lost", PS_FIELD(stage_row, lost), .unit = PS_UNIT_NS, .is_beside = true},
    {.name = "new / base", PS_FIELD(stage_row, ratio)},
};

typedef struct stage_rows {
    stage_row *at;
    size_t n;
} stage_rows;

static int64_t stage_cell(const ps_table *t, size_t row, size_t column) {
    return ps_table_cell(t, row, column)->u.i;
}

/* Of one step, the mean over the ranks of the stage. */
static int64_t stage_time(const ps_table *t, size_t row) {
    return stage_cell(t, row, PS_CG_TIME) / stage_cell(t, row, PS_CG_RANK_STEPS);
}

/* The stages that both know by this kind of work: both tables are in the order of kind and stage. */
static void join_stages(const ps_table *now, const ps_table *base, ps_stage_work work,
                        stage_rows *out) {
    out->n = 0;
    for (size_t a = 0; a < now->n_rows; a++) {
        for (size_t b = 0; b < base->n_rows; b++) {
            bool is_pair = stage_cell(now, a, PS_CG_WORK) == (int64_t)work &&
                           stage_cell(base, b, PS_CG_WORK) == (int64_t)work &&
                           stage_cell(now, a, PS_CG_STAGE) == stage_cell(base, b, PS_CG_STAGE);
            if (is_pair) {
                int64_t times[] = {stage_time(now, a), stage_time(base, b)};
                out->at[out->n++] =
                    (stage_row){.stage = stage_cell(now, a, PS_CG_STAGE),
                                .now = times[0],
                                .base = times[1],
                                .lost = ps_i64_minus(times[0], times[1]),
                                .ratio = times[1] > 0 ? (double)times[0] / (double)times[1] : NAN};
            }
        }
    }
}

/* --- who stands out -------------------------------------------------------------------------------------------------- */

enum { MOST_NAMED = 4 };

/* "Stage 2 lost 31.0 ms in its ops of a step (1.4 times)" */
static void name_stage(ps_lang lang, const stage_row *s, ps_stage_work work, bool is_first,
                       ps_buf *said) {
    ps_ns_text lost = ps_ns_text_of(s->lost);
    if (is_first) {
        ps_buf_addf(said,
                    work == PS_STAGE_OPS
                        ? PS_SAY(lang, "Stage %lld lost %s in its ops of a step (%.3g times)",
                                 "阶段 %lld 的流水线算子在每个 step 中慢 %s（%.3g 倍）")
                        : PS_SAY(lang, "Stage %lld lost %s in its computing of a step (%.3g times)",
                                 "阶段 %lld 的计算在每个 step 中慢 %s（%.3g 倍）"),
                    (long long)s->stage, lost.text, s->ratio);
    } else {
        ps_buf_addf(said, PS_SAY(lang, ", stage %lld %s (%.3g times)", "，阶段 %lld %s（%.3g 倍）"),
                    (long long)s->stage, lost.text, s->ratio);
    }
}

/* Those that lost at least half of what the first one did, where that is at least twice the median of the others and a twentieth of its
 * work. `rows` come by lost time. */
static void say_stages(ps_lang lang, const stage_rows *rows, ps_stage_work work, ps_buf *said) {
    const stage_row *first = &rows->at[0];
    size_t n = 0;
    while (n < rows->n && rows->at[n].lost > 0 &&
           rows->at[n].lost >= first->lost - rows->at[n].lost) {
        n++;
    }
    if (n == 0 || n == rows->n || first->lost < first->base / 20) {
        return;
    }
    int64_t others_ns = rows->at[n + (rows->n - n) / 2].lost;
    if (ps_i64_minus(first->lost, others_ns) < others_ns) {
        return;
    }
    for (size_t i = 0; i < n && i < MOST_NAMED; i++) {
        name_stage(lang, &rows->at[i], work, i == 0, said);
    }
    if (n > MOST_NAMED) {
        ps_buf_addf(said, PS_SAY(lang, " and %zu more", "，另有 %zu 个阶段"), n - MOST_NAMED);
    }
    ps_ns_text others = ps_ns_text_of(others_ns >= 0 ? others_ns : -others_ns);
    ps_buf_add_str(said, rows->n - n == 1
                             ? PS_SAY(lang, "; the other ", "；另一阶段")
                             : PS_SAY(lang, "; the median of the others ", "；其余阶段的中位数"));
    if (others_ns == 0) {
        ps_buf_add_str(said, PS_SAY(lang, "lost nothing.", "没有变慢。"));
    } else {
        ps_buf_addf(said,
                    others_ns > 0 ? PS_SAY(lang, "lost %s.", "慢 %s。")
                                  : PS_SAY(lang, "gained %s.", "快 %s。"),
                    others.text);
    }
}

/* --- the table --------------------------------------------------------------------------------------------------------- */

static void give_stages(const stage_rows *rows, ps_stage_work work, ps_result *out) {
    ps_table *t = ps_table_new("StageCompare",
                               work == PS_STAGE_OPS
                                   ? "stages, time of their ops in a step, mean over the pipelines"
                                   : "stages, computing in a step, mean over their ranks",
                               PS_COLUMNS(STAGES));
    for (size_t i = 0; i < rows->n; i++) {
        ps_table_put(t, &rows->at[i]);
    }
    ps_result_give(out, t);
}

ps_code ps_compare_stages(const ps_result *now, const ps_result *base, ps_lang lang, ps_result *out,
                          ps_buf *said, ps_err *err) {
    static const ps_sort_key BY_LOST[] = {PS_DOWN(stage_row, lost), PS_UP(stage_row, stage)};
    const ps_table *tables[] = {ps_result_table(now, "CaptureStages"),
                                ps_result_table(base, "CaptureStages")};
    if (tables[0] == NULL || tables[1] == NULL) {
        return PS_OK;
    }
    stage_rows rows = {.at = ps_calloc(tables[0]->n_rows + 1, sizeof *rows.at)};
    if (rows.at == NULL) {
        return ps_fail_nomem(err);
    }
    for (ps_stage_work work = 0; rows.n < 2 && work < PS_N_STAGE_WORKS; work++) {
        join_stages(tables[0], tables[1], work, &rows);
        if (rows.n > 1) {
            give_stages(&rows, work, out);
            ps_sort_by(rows.at, rows.n, sizeof *rows.at, PS_KEYS(BY_LOST));
            say_stages(lang, &rows, work, said);
        }
    }
    ps_free(rows.at);
    return ps_result_code(out, err);
}
