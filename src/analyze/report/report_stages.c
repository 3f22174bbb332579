#include "analyze/report/report_stages.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

typedef ps_report_stage stage;
typedef ps_report_pipes pipes;

static uint64_t stage_key(int32_t rank) {
    return (uint64_t)(int64_t)rank;
}

static uint64_t part_key(int64_t step, int32_t pipeline) {
    return (uint64_t)step << 16 | (uint16_t)pipeline;
}

/* Steps of which something was lost, or that the capture cuts: of whole ones alone a mean says something. */
bool ps_stages_find_parts(pipes *p) {
    const ps_chart *chart = p->made->chart;
    bool ok = true;
    for (size_t i = 0; ok && i < chart->n_figures; i++) {
        const ps_chart_figure *figure = &chart->figures[i];
        uint64_t key = part_key(figure->step, chart->ranks[figure->rank].pipeline);
        if (figure->is_part && ps_idmap_get(&p->part_steps, key) == PS_IDMAP_NONE) {
            ok = ps_idmap_put(&p->part_steps, key, 1);
            p->n_part_steps++;
            p->a_part_step = figure->step;
        }
    }
    return ok;
}

bool ps_stages_is_part(const pipes *p, int64_t step, int32_t pipeline) {
    return ps_idmap_get(&p->part_steps, part_key(step, pipeline)) != PS_IDMAP_NONE;
}

/* PipelineBubble and PipelineWaits have the same rows in the same order. */
bool ps_stages_sum(pipes *p) {
    const ps_table *bubble = ps_result_table(p->made, "PipelineBubble");
    const ps_table *waits = ps_result_table(p->made, "PipelineWaits");
    int32_t first_pipeline = p->made->chart->ranks[0].pipeline;
    for (size_t r = 0; bubble != NULL && r < bubble->n_rows; r++) {
        int32_t rank = (int32_t)ps_column_int(bubble, r, "rank", -1);
        int64_t step = ps_column_int(bubble, r, "step", PS_STEP_OUTSIDE);
        uint32_t at = ps_idmap_get(&p->stage_at, stage_key(rank));
        int32_t pipeline = (int32_t)ps_column_int(bubble, r, "pipeline", first_pipeline);
        bool is_told = ps_column_int(bubble, r, "bubble", -1) >= 0; /* else the chart says why */
        bool is_wanted = p->only_step == NULL || step == *p->only_step;
        if (!is_told || step == PS_STEP_OUTSIDE || !is_wanted ||
            ps_stages_is_part(p, step, pipeline)) {
            continue;
        }
        if (at == PS_IDMAP_NONE) {
            at = (uint32_t)p->n;
            if (!ps_grow(&p->stages, &p->cap, p->n + 1, UINT32_MAX, sizeof *p->stages) ||
                !ps_idmap_put(&p->stage_at, stage_key(rank), at)) {
                return false;
            }
            p->stages[p->n++] =
                (stage){.rank = rank,
                        .stage = (int32_t)ps_column_int(bubble, r, "stage", -1),
                        .pipeline = (int32_t)ps_column_int(bubble, r, "pipeline", 0)};
        }
        stage *s = &p->stages[at];
        s->n_steps++;
        s->busy_ns = ps_i64_plus(s->busy_ns, ps_column_int(bubble, r, "busy", 0));
        s->bubble_ns = ps_i64_plus(s->bubble_ns, ps_column_int(bubble, r, "bubble", 0));
        s->warmup_ns = ps_i64_plus(s->warmup_ns, ps_column_int(bubble, r, "warm-up", 0));
        s->stall_ns = ps_i64_plus(s->stall_ns, ps_column_int(bubble, r, "stall", 0));
        s->cooldown_ns = ps_i64_plus(s->cooldown_ns, ps_column_int(bubble, r, "cool-down", 0));
        if (waits != NULL && r < waits->n_rows) {
            s->for_stages_ns =
                ps_i64_plus(s->for_stages_ns, ps_column_int(waits, r, "for stages", 0));
            s->transfer_ns =
                ps_i64_plus(s->transfer_ns, ps_column_int(waits, r, "for transfer", 0));
            s->other_ns = ps_i64_plus(s->other_ns, ps_column_int(waits, r, "other", 0));
        }
    }
    return true;
}

/* --- the same stage of several pipelines ------------------------------------------------------------------------- */

static int compare_pipeline_finding_numbers(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t distinct(int32_t *numbers, size_t n) {
    size_t kept = 0;
    ps_sort(numbers, n, sizeof *numbers, compare_pipeline_finding_numbers);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || numbers[i] != numbers[kept - 1]) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

/* False when memory is out. */
bool ps_stages_number(pipes *p) {
    p->numbers = ps_calloc(p->n, sizeof *p->numbers);
    p->of_number = ps_calloc(p->n, sizeof *p->of_number);
    if (p->numbers == NULL || p->of_number == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->n; i++) {
        p->numbers[i] = p->stages[i].pipeline;
    }
    p->n_pipelines = distinct(p->numbers, p->n);
    for (size_t i = 0; i < p->n; i++) {
        p->numbers[i] = p->stages[i].stage;
    }
    p->n_numbers = distinct(p->numbers, p->n);
    return true;
}

static int compare_times(const void *a, const void *b, void *context) {
    ps_stage_time_fn *const *of = context;
    const stage *x = *(const stage *const *)a;
    const stage *y = *(const stage *const *)b;
    int64_t tx = ps_stages_mean((*of)(x), x->n_steps);
    int64_t ty = ps_stages_mean((*of)(y), y->n_steps);
    return tx != ty ? (tx < ty ? -1 : 1) : x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

ps_stage_over ps_stages_over(const pipes *p, int32_t number, ps_stage_time_fn *of) {
    ps_stage_over o = {.n = 0};
    for (size_t i = 0; i < p->n; i++) {
        if (p->stages[i].stage == number) {
            p->of_number[o.n++] = &p->stages[i];
        }
    }
    qsort_r(p->of_number, o.n, sizeof *p->of_number, compare_times, &of);
    o.median = p->of_number[(o.n - 1) / 2];
    o.worst = p->of_number[o.n - 1];
    return o;
}

/* "stage 3", and of which pipeline where there are several. */
ps_stage_text ps_stage_name(const pipes *p, const stage *s, bool begins) {
    const ps_lang lang = p->report->findings.lang;
    ps_stage_text out;
    const char *word = begins ? PS_SAY(lang, "Stage", "阶段") : PS_SAY(lang, "stage", "阶段");
    if (p->n_pipelines > 1) {
        (void)snprintf(out.text, sizeof out.text,
                       PS_SAY(lang, "%s %d of pipeline %d", "%s %d（流水线 %d）"), word,
                       (int)s->stage, (int)s->pipeline);
    } else {
        (void)snprintf(out.text, sizeof out.text, "%s %d", word, (int)s->stage);
    }
    return out;
}

/* "4 stages", "4 stages of 16 pipelines" */
ps_stages_text ps_stages_count(const pipes *p) {
    const ps_lang lang = p->report->findings.lang;
    ps_stages_text out;
    int n =
        snprintf(out.text, sizeof out.text, PS_SAY(lang, "%zu stages", "%zu 个阶段"), p->n_numbers);
    if (p->n_pipelines > 1 && n > 0) {
        (void)snprintf(out.text + n, sizeof out.text - (size_t)n,
                       PS_SAY(lang, " of %zu pipelines", "（%zu 条流水线）"), p->n_pipelines);
    }
    return out;
}
