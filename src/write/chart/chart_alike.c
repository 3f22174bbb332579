#include "write/chart/chart_alike.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/runs.h"
#include "base/sort.h"
#include "model/chart_subset.h"
#include "model/table_fold.h"
#include "write/chart/chart_pack.h"

enum { MAX_RUNS = 2, MIN_KINDS = 3 };

/* Where a rank stands: pipelines by number, places in each by stage. */
typedef struct alike_place {
    int32_t pipeline, stage, rank;
    size_t row;               /* in ranks */
    size_t in_pipeline, line; /* its place there; which of the pipelines */
} alike_place;

typedef struct alike_lay {
    const ps_chart *chart;
    alike_place *places;  /* of all ranks, by pipeline */
    size_t *place_of;     /* by row in ranks */
    size_t n_lines, wide; /* pipelines, ranks of the largest of them */
    int64_t *steps;       /* that have a figure or a bubble, ascending */
    size_t n_steps;
} alike_lay;

/* --- who stands where ---------------------------------------------------------------------------------------- */

static size_t keep_different(int64_t *numbers, size_t n) {
    ps_sort(numbers, n, sizeof *numbers, ps_compare_i64);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (k == 0 || numbers[i] != numbers[k - 1]) {
            numbers[k++] = numbers[i];
        }
    }
    return k;
}

/* Of a number that is among them. */
static size_t index_of(const int64_t *numbers, size_t n, int64_t number) {
    const int64_t *at = bsearch(&number, numbers, n, sizeof *numbers, ps_compare_i64);
    return (size_t)(at - numbers);
}

static void place_ranks(alike_lay *lay) {
    static const ps_sort_key BY_PLACE[] = {PS_UP(alike_place, pipeline), PS_UP(alike_place, stage),
                                           PS_UP(alike_place, rank)};
    size_t n = lay->chart->n_ranks;
    for (size_t r = 0; r < n; r++) {
        const ps_chart_rank *rank = &lay->chart->ranks[r];
        lay->places[r] = (alike_place){
            .pipeline = rank->pipeline, .stage = rank->stage, .rank = rank->rank, .row = r};
    }
    ps_sort_by(lay->places, n, sizeof *lay->places, PS_KEYS(BY_PLACE));
    size_t wide = 0;
    for (size_t i = 0; i < n; i++) {
        alike_place *p = &lay->places[i];
        bool is_first = i == 0 || p->pipeline != p[-1].pipeline;
        lay->n_lines += is_first;
        wide = is_first ? 1 : wide + 1;
        lay->wide = wide > lay->wide ? wide : lay->wide;
        p->line = lay->n_lines - 1;
        p->in_pipeline = wide - 1;
        lay->place_of[p->row] = i;
    }
}

static bool lay_out_pipelines(alike_lay *lay, const ps_chart *chart) {
    *lay = (alike_lay){.chart = chart,
                       .places = ps_calloc(chart->n_ranks, sizeof *lay->places),
                       .place_of = ps_calloc(chart->n_ranks, sizeof *lay->place_of),
                       .steps = ps_calloc(chart->n_figures + chart->n_bubbles, sizeof *lay->steps)};
    if (lay->places == NULL || lay->place_of == NULL || lay->steps == NULL) {
        return false;
    }
    place_ranks(lay);
    for (size_t i = 0; i < chart->n_figures; i++) {
        lay->steps[i] = chart->figures[i].step;
    }
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        lay->steps[chart->n_figures + i] = chart->bubbles[i].step;
    }
    lay->n_steps = keep_different(lay->steps, chart->n_figures + chart->n_bubbles);
    return true;
}

static void fini_alike_lay(alike_lay *lay) {
    ps_free(lay->places);
    ps_free(lay->place_of);
    ps_free(lay->steps);
}

/* --- a row a pipeline, with the times of its stages in all steps ------------------------------------------------ */

enum { L_PIPELINE, L_STAGES, L_TIMES /* of each place and step: */ };
enum { OF_BUSY, OF_OTHER, OF_CAUSES, N_TIMES = OF_CAUSES + PS_N_BUBBLE_CAUSES };

static ps_table *new_line_table(const alike_lay *lay) {
    size_t n = L_TIMES + lay->wide * lay->n_steps * N_TIMES;
    ps_table *t = ps_table_new("pipelines", "", NULL, n);
    ps_column *columns = t != NULL ? ps_arena_alloc(&t->arena, n * sizeof *columns) : NULL;
    if (columns == NULL) {
        ps_table_free(t);
        return NULL;
    }
    columns[L_PIPELINE] = (ps_column){.name = "pipeline", .type = PS_COL_INT, .is_member = true};
    columns[L_STAGES] = (ps_column){.name = "stages", .type = PS_COL_TEXT};
    for (size_t c = L_TIMES; c < n; c++) {
        columns[c] = (ps_column){.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS};
    }
    t->columns = columns;
    return t;
}

static bool add_line(const alike_lay *lay, size_t first, ps_table *t) {
    ps_buf stages = {0};
    size_t n = lay->chart->n_ranks;
    for (size_t i = first; i < n && lay->places[i].line == lay->places[first].line; i++) {
        ps_buf_addf(&stages, "%d,", (int)lay->places[i].stage);
    }
    bool ok = ps_table_add_row(t) && ps_buf_ok(&stages) &&
              ps_table_set_text(t, L_STAGES, ps_buf_str(&stages));
    if (ok) {
        ps_table_set_int(t, L_PIPELINE, lay->places[first].pipeline);
    }
    ps_buf_fini(&stages);
    return ok;
}

/* The cell of a time; its row is there. */
static ps_value *cell_of_time(const alike_lay *lay, ps_table *t, uint32_t rank, int64_t step,
                              size_t time) {
    const alike_place *p = &lay->places[lay->place_of[rank]];
    size_t s = index_of(lay->steps, lay->n_steps, step);
    size_t column = L_TIMES + (p->in_pipeline * lay->n_steps + s) * N_TIMES + time;
    return &t->cells[p->line * t->n_columns + column];
}

static ps_table *lines_of(const alike_lay *lay) {
    const ps_chart *chart = lay->chart;
    ps_table *t = new_line_table(lay);
    for (size_t i = 0; t != NULL && i < chart->n_ranks; i++) {
        if (lay->places[i].in_pipeline == 0 && !add_line(lay, i, t)) {
            ps_table_free(t);
            return NULL;
        }
    }
    for (size_t i = 0; t != NULL && i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        const int64_t times[N_TIMES] = {[OF_BUSY] = f->busy_ns, [OF_OTHER] = f->other_ns};
        ps_value *cells = cell_of_time(lay, t, f->rank, f->step, 0);
        for (size_t k = 0; k < N_TIMES; k++) {
            cells[k] = (ps_value){.u.i = times[k]};
        }
    }
    for (size_t i = 0; t != NULL && i < chart->n_bubbles; i++) {
        const ps_bubble *b = &chart->bubbles[i];
        ps_value *cell = cell_of_time(lay, t, b->rank, b->step, OF_CAUSES + b->cause);
        cell->is_null = false;
        cell->u.i += b->end_ns - b->start_ns;
    }
    return t;
}

/* --- what is shown ---------------------------------------------------------------------------------------------- */

/* Pipeline `asked` of a kind is shown for it, else the one in the middle. */
static bool tell_kind(const ps_fold_kinds *kinds, const ps_fold_kind *kind, const ps_table *t,
                      int32_t asked, ps_chart_alike *out) {
    int64_t *members = ps_calloc(kind->n_members, sizeof *members);
    int64_t shown = ps_table_cell(t, kind->row, L_PIPELINE)->u.i;
    for (size_t i = 0; members != NULL && i < kind->n_members; i++) {
        members[i] = ps_table_cell(t, kinds->members[kind->first_member + i], L_PIPELINE)->u.i;
        shown = members[i] == asked ? asked : shown;
    }
    for (size_t i = 0; i < kind->n_members; i++) {
        out->shown_for[kinds->members[kind->first_member + i]] = (int32_t)shown;
    }
    ps_buf text = {0};
    ps_buf_add_runs(&text, members, members != NULL ? kind->n_members : 0, MAX_RUNS);
    const char *copy = members != NULL && ps_buf_ok(&text)
                           ? ps_arena_strndup(&out->arena, ps_buf_str(&text), text.len)
                           : NULL;
    out->pipelines[out->n_shown++] = (ps_alike_pipeline){
        .pipeline = (int32_t)shown, .members = copy, .n = kind->n_members, .within = kind->within};
    ps_buf_fini(&text);
    ps_free(members);
    return copy != NULL;
}

static bool has_pipeline(const ps_fold_kinds *kinds, const ps_fold_kind *kind, const ps_table *t,
                         int32_t pipeline) {
    bool has = false;
    for (size_t i = 0; i < kind->n_members; i++) {
        size_t row = kinds->members[kind->first_member + i];
        has = has || ps_table_cell(t, row, L_PIPELINE)->u.i == pipeline;
    }
    return has;
}

/* So many that a page has few ranks. */
static size_t most_lines(const alike_lay *lay) {
    size_t most = PS_ALIKE_MOST_RANKS / lay->wide;
    return most > MIN_KINDS ? most : MIN_KINDS;
}

static bool tell_kinds(const ps_fold_kinds *kinds, size_t most, const ps_table *t, int32_t asked,
                       ps_chart_alike *out) {
    out->near = kinds->near;
    out->n_pipelines = out->n_left_out = t->n_rows;
    out->pipelines = ps_calloc(kinds->n, sizeof *out->pipelines);
    out->shown_for = ps_calloc(t->n_rows, sizeof *out->shown_for);
    bool ok = out->pipelines != NULL && out->shown_for != NULL;
    for (size_t r = 0; ok && r < t->n_rows; r++) {
        out->shown_for[r] = -1;
    }
    for (size_t k = 0; ok && k < kinds->n; k++) {
        const ps_fold_kind *kind = &kinds->kinds[k];
        if (k < most || has_pipeline(kinds, kind, t, asked)) {
            ok = tell_kind(kinds, kind, t, asked, out);
            out->n_left_out -= kind->n_members;
        }
    }
    return ok;
}

static bool take_shown(const ps_chart *chart, ps_chart_alike *out) {
    bool *kept = ps_calloc(chart->n_ranks, sizeof *kept);
    for (size_t r = 0; kept != NULL && r < chart->n_ranks; r++) {
        for (size_t k = 0; k < out->n_shown; k++) {
            kept[r] = kept[r] || chart->ranks[r].pipeline == out->pipelines[k].pipeline;
        }
    }
    out->chart = kept != NULL ? ps_chart_subset(chart, kept) : NULL;
    ps_free(kept);
    return out->chart != NULL;
}

ps_code ps_chart_alike_find(const ps_chart *chart, int32_t pipeline, ps_chart_alike *out,
                            ps_err *err) {
    *out = (ps_chart_alike){0};
    if (chart->n_ranks <= PS_ALIKE_RANKS || chart->n_figures == 0) {
        return PS_OK;
    }
    alike_lay lay;
    ps_table *t = lay_out_pipelines(&lay, chart) ? lines_of(&lay) : NULL;
    bool ok = t != NULL;
    ps_fold_kinds kinds = ok ? ps_fold_kinds_of(t, most_lines(&lay)) : (ps_fold_kinds){0};
    if (ok && kinds.n > 0) {
        ok = tell_kinds(&kinds, most_lines(&lay), t, pipeline, out) && take_shown(chart, out);
    }
    ps_fold_kinds_fini(&kinds);
    ps_table_free(t);
    fini_alike_lay(&lay);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_chart_alike_fini(ps_chart_alike *alike) {
    ps_chart_free(alike->chart);
    ps_free(alike->pipelines);
    ps_free(alike->shown_for);
    ps_arena_fini(&alike->arena);
    *alike = (ps_chart_alike){0};
}

/* --- as JSON ------------------------------------------------------------------------------------------------------ */

static void put_list(ps_json *j, const int64_t *numbers, size_t n) {
    ps_json_array(j);
    for (size_t i = 0; i < n; i++) {
        ps_json_int(j, numbers[i]);
    }
    ps_json_close(j);
}

static void put_alike_shown(const ps_chart_alike *alike, ps_json *j) {
    ps_json_key_array(j, "shown");
    for (size_t k = 0; k < alike->n_shown; k++) {
        const ps_alike_pipeline *p = &alike->pipelines[k];
        ps_json_array(j);
        ps_json_int(j, p->pipeline);
        ps_json_str(j, p->members);
        ps_json_uint(j, p->n);
        ps_json_numberf(j, "%.4f", p->within);
        ps_json_close(j);
    }
    ps_json_close(j);
}

/* busy[(step * n_lines + line) * n_stages + stage], ns + 1. */
static void sum_busy(const alike_lay *lay, const int64_t *stages, size_t n_stages, int64_t *busy) {
    for (size_t i = 0; i < lay->chart->n_figures; i++) {
        const ps_chart_figure *f = &lay->chart->figures[i];
        const alike_place *p = &lay->places[lay->place_of[f->rank]];
        size_t at =
            (index_of(lay->steps, lay->n_steps, f->step) * lay->n_lines + p->line) * n_stages +
            index_of(stages, n_stages, p->stage);
        busy[at] = f->busy_ns + 1 > busy[at] ? f->busy_ns + 1 : busy[at];
    }
}

ps_code ps_chart_alike_put(const ps_chart_alike *alike, const ps_chart *whole, ps_json *j,
                           ps_err *err) {
    alike_lay lay;
    bool ok = lay_out_pipelines(&lay, whole);
    int64_t *stages = ok ? ps_calloc(whole->n_ranks, sizeof *stages) : NULL;
    int64_t *lines = ok ? ps_calloc(lay.n_lines, sizeof *lines) : NULL;
    ok = stages != NULL && lines != NULL;
    for (size_t i = 0; ok && i < whole->n_ranks; i++) {
        stages[i] = lay.places[i].stage;
        lines[lay.places[i].line] = lay.places[i].pipeline;
    }
    size_t n_stages = ok ? keep_different(stages, whole->n_ranks) : 0;
    size_t n = lay.n_steps * lay.n_lines * n_stages;
    int64_t *busy = ok ? ps_calloc(n, sizeof *busy) : NULL;
    if ((ok = busy != NULL)) {
        sum_busy(&lay, stages, n_stages, busy);
        ps_json_key_object(j, "alike");
        ps_json_key_numberf(j, "near", "%.2f", alike->near);
        ps_json_key_uint(j, "ranks", whole->n_ranks);
        ps_json_key_uint(j, "pipelines", alike->n_pipelines);
        ps_json_key_uint(j, "left_out", alike->n_left_out);
        put_alike_shown(alike, j);
        ps_json_key(j, "steps");
        put_list(j, lay.steps, lay.n_steps);
        ps_json_key(j, "stages");
        put_list(j, stages, n_stages);
        ps_json_key(j, "of");
        put_list(j, lines, lay.n_lines);
        for (size_t i = 0; i < lay.n_lines; i++) {
            lines[i] = alike->shown_for[i];
        }
        ps_json_key(j, "by");
        put_list(j, lines, lay.n_lines);
        ps_json_pack_column(j, "busy", busy, n);
        ps_json_close(j);
    }
    ps_free(busy);
    ps_free(lines);
    ps_free(stages);
    fini_alike_lay(&lay);
    return ok ? PS_OK : ps_fail_nomem(err);
}
