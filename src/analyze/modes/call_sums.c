#include "analyze/modes/call_sums.h"

#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "model/recording.h"

static bool calls_have_categories(const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_CALL && !ps_str_is_none(s->category[i])) {
            return true;
        }
    }
    return false;
}

/* --- where only sums are there ------------------------------------------------------------------------------ */

/* "AscendCL@" of level "acl", as the timeline names calls. */
static const char *layer_of(const char *level) {
    static const char *const LAYERS[][2] = {{"acl", "AscendCL"},
                                            {"model", "Model"},
                                            {"node", "Node"},
                                            {"hccl", "Hccl"},
                                            {"communication", "Communication"},
                                            {"runtime", "Runtime"}};
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++) {
        if (strcmp(LAYERS[i][0], level) == 0) {
            return LAYERS[i][1];
        }
    }
    return level;
}

/* The profiler's sums over the whole capture; "Time" is in us. */
static bool add_call_sum_table(const ps_table *t, ps_value_adder *adder, ps_diag *diag) {
    static const char *const NUMBERS[] = {"Count", "Time", "Min", "Max"};
    size_t name = ps_table_column(t, "API Name");
    size_t level = ps_table_column(t, "Level");
    bool ok = true;
    for (size_t r = 0; ok && r < t->n_rows; r++) {
        bool has_name = name < t->n_columns && t->columns[name].type == PS_COL_TEXT &&
                        level < t->n_columns && t->columns[level].type == PS_COL_TEXT &&
                        !ps_table_cell(t, r, name)->is_null && !ps_table_cell(t, r, level)->is_null;
        ps_summary_values told = {{NULL}, 0, 0, 0, 0};
        if (!has_name || !ps_summary_values_read(t, r, NUMBERS, &told)) {
            ps_diag_add(diag, PS_ODD_TABLE_ROW, "%s row %zu", t->title, r + 1);
            continue;
        }
        const char *layer = layer_of(ps_table_cell(t, r, level)->u.text);
        const char *call = ps_table_cell(t, r, name)->u.text;
        size_t size = strlen(layer) + strlen(call) + 2;
        char *text = ps_arena_alloc(&adder->told_texts, size);
        if (text != NULL) {
            (void)snprintf(text, size, "%s@%s", layer, call);
        }
        told.keys[0] = text;
        ok = text != NULL && ps_value_adder_add_summary(adder, &told);
    }
    return ok;
}

ps_code ps_call_sums_collect(const ps_map_input *in, ps_value_adder *adder, ps_err *err) {
    const ps_slices *s = ps_trace_slices(in->trace);
    int64_t step = in->opts->step_id;
    ps_code code = ps_check_step(in->trace, step, err);
    if (code != PS_OK) {
        return code;
    }
    bool with_category = calls_have_categories(s);
    ps_step_index steps;
    bool ok = ps_step_index_init(&steps, in->trace);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        bool is_wanted = s->kind[i] == PS_SLICE_CALL &&
                         (!with_category || !ps_str_is_none(s->category[i])) &&
                         (step < 0 || ps_step_of(&steps, s->start_ns[i], s->start_ns[i]) == step);
        const ps_str keys[PS_SUM_KEYS] = {s->name[i]};
        ok = !is_wanted || ps_value_adder_add(adder, keys, s->dur_ns[i]);
    }
    ps_step_index_fini(&steps);
    const ps_table *table = ps_trace_missing_timeline(in->trace) != NULL && step < 0
                                ? ps_trace_side_table(in->trace, "api_statistic")
                                : NULL;
    ok = ok && (table == NULL || adder->n > 0 || add_call_sum_table(table, adder, in->diag));
    return ok ? PS_OK : ps_fail_nomem(err);
}
