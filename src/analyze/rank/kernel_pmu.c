#include "analyze/rank/kernel_pmu.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Numbers of events and places, said elsewhere. */
static bool is_bookkeeping(const char *key) {
    static const char *const KEYS[] = {
        "connection_id",    "connectionId",     "correlation",
        "External id",      "Ev Idx",           "device",
        "context",          "stream",           "queued",
        "Step Id",          "Batch Id",         "Subtask Id",
        "Physic Stream Id", "Wait Time(us)",    "attrInfo",
        "globalTaskId",     "streamId",         "Record function id",
        "stream id",        "contextId",        "Context Id",
        "Model Id",         "Block Detail",     "graph id",
        "graph node id",    "correlationId",    "globalPid",
        "Python id",        "Python parent id", "priority",
    };
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        if (strcmp(key, KEYS[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_pmu_column(ps_pmu *p, const char *name, ps_col_type type, uint32_t *out) {
    *out = PS_PMU_MAX;
    if (p->n == PS_PMU_MAX) {
        p->n_dropped++;
        return true;
    }
    p->at[p->n] = (ps_pmu_column){name, type};
    *out = (uint32_t)p->n++;
    return true;
}

/* --- rows of a database -------------------------------------------------------------------------------------------------- */

static bool name_row(ps_pmu *p, uint32_t row) {
    const ps_value *name = ps_table_cell(p->table, row, p->c_name);
    const char *text = name->is_null ? "" : name->u.text;
    ps_str id = ps_strpool_add(&p->names, text, strlen(text));
    if (ps_str_is_none(id)) {
        return false;
    }
    uint32_t column = ps_idmap_get(&p->names_at, id.id);
    if (column == PS_IDMAP_NONE) {
        if (!add_pmu_column(p, ps_strpool_get(&p->names, id), PS_COL_REAL, &column) ||
            !ps_idmap_put(&p->names_at, id.id, column)) {
            return false;
        }
    }
    p->column_of[row] = (uint8_t)column;
    return true;
}

/* From the last row to the first, so that each task's rows are chained in their order. */
static bool chain_rows(ps_pmu *p) {
    size_t n = p->table->n_rows;
    p->next = ps_alloc((n + 1) * sizeof *p->next);
    p->column_of = ps_calloc(n + 1, sizeof *p->column_of);
    bool ok = p->next != NULL && p->column_of != NULL;
    for (uint32_t row = 0; ok && row < n; row++) {
        ok = name_row(p, row);
    }
    for (size_t k = n; ok && k > 0; k--) {
        uint32_t row = (uint32_t)(k - 1);
        const ps_value *id = ps_table_cell(p->table, row, p->c_id);
        p->next[row] = PS_NONE;
        if (!id->is_null) {
            uint32_t after = ps_idmap_get(&p->first, (uint64_t)id->u.i);
            p->next[row] = after == PS_IDMAP_NONE ? PS_NONE : after;
            ok = ps_idmap_put(&p->first, (uint64_t)id->u.i, row);
        }
    }
    return ok;
}

bool ps_pmu_init(ps_pmu *p, const ps_kernel_keys *keys, const ps_trace *trace) {
    *p = (ps_pmu){.trace = trace,
                  .keys = keys,
                  .table = ps_trace_side_table(trace, "TASK_PMU_INFO"),
                  .task_key = ps_trace_find_text(trace, "globalTaskId")};
    ps_idmap_init(&p->columns);
    ps_idmap_init(&p->names_at);
    ps_idmap_init(&p->first);
    if (!ps_strpool_init(&p->names)) {
        return false;
    }
    if (p->table != NULL) {
        p->c_id = ps_table_column(p->table, "globalTaskId");
        p->c_name = ps_table_column(p->table, "name");
        p->c_value = ps_table_column(p->table, "value");
        bool whole = p->c_id != SIZE_MAX && p->c_name != SIZE_MAX && p->c_value != SIZE_MAX &&
                     p->table->columns[p->c_id].type == PS_COL_INT &&
                     p->table->columns[p->c_name].type == PS_COL_TEXT &&
                     p->table->columns[p->c_value].type != PS_COL_TEXT &&
                     p->table->n_rows < PS_NONE;
        p->table = whole && !ps_str_is_none(p->task_key) ? p->table : NULL;
    }
    return p->table == NULL || chain_rows(p);
}

void ps_pmu_fini(ps_pmu *p) {
    ps_idmap_fini(&p->columns);
    ps_idmap_fini(&p->names_at);
    ps_idmap_fini(&p->first);
    ps_strpool_fini(&p->names);
    ps_free(p->next);
    ps_free(p->column_of);
    *p = (ps_pmu){0};
}

/* --- arguments ------------------------------------------------------------------------------------------------------------- */

static ps_col_type pmu_type_of(const ps_arg *arg) {
    return arg->type == PS_ARG_INT    ? PS_COL_INT
           : arg->type == PS_ARG_REAL ? PS_COL_REAL
                                      : PS_COL_TEXT;
}

/* Nothing, or "N/A", which stands in columns of numbers, too. */
static bool says_nothing(const ps_pmu *p, const ps_arg *arg) {
    return arg->type == PS_ARG_NULL || arg->type == PS_ARG_TIME ||
           (arg->type == PS_ARG_STR && strcmp(ps_trace_text(p->trace, arg->u.s), "N/A") == 0);
}

bool ps_pmu_learn(ps_pmu *p, uint32_t kernel) {
    ps_arg arg;
    bool ok = true;
    for (ps_arg_iter it = ps_trace_args(p->trace, kernel); ok && ps_arg_next(&it, &arg);) {
        if (says_nothing(p, &arg)) {
            continue;
        }
        uint32_t column = ps_idmap_get(&p->columns, arg.key.id);
        if (column == PS_IDMAP_NONE) {
            const char *name = ps_trace_text(p->trace, arg.key);
            column = PS_PMU_MAX;
            if (!ps_kernel_is_field(p->keys, arg.key) && !is_bookkeeping(name)) {
                ok = add_pmu_column(p, name, pmu_type_of(&arg), &column);
            }
            ok = ok && ps_idmap_put(&p->columns, arg.key.id, column);
        } else if (column < PS_PMU_MAX) {
            ps_col_type *type = &p->at[column].type;
            ps_col_type new = pmu_type_of(&arg);
            bool numbers = *type != PS_COL_TEXT && new != PS_COL_TEXT;
            *type = *type == new ? new : numbers ? PS_COL_REAL : PS_COL_TEXT;
        }
    }
    return ok;
}

void ps_pmu_columns(const ps_pmu *p, ps_column *out) {
    for (size_t i = 0; i < p->n; i++) {
        out[i] = (ps_column){.name = p->at[i].name, .type = p->at[i].type};
    }
}

/* `used` bytes of the room are taken. */
static void set_pmu_arg(const ps_pmu *p, const ps_arg *arg, ps_col_type type, ps_value *cell,
                        char *room, size_t *used) {
    bool is_text =
        arg->type == PS_ARG_STR || arg->type == PS_ARG_NUMBER || arg->type == PS_ARG_JSON;
    bool is_int = arg->type == PS_ARG_INT || arg->type == PS_ARG_BOOL;
    if (is_text) {
        const char *text = ps_trace_text(p->trace, arg->u.s);
        if (type == PS_COL_TEXT && strcmp(text, "N/A") != 0) {
            ps_cell_text_set(cell, text);
        }
    } else if (type == PS_COL_INT && is_int) {
        ps_cell_int_set(cell, arg->u.i);
    } else if (type == PS_COL_REAL && (is_int || arg->type == PS_ARG_REAL)) {
        ps_cell_real_set(cell, is_int ? (double)arg->u.i : arg->u.r);
    } else if (type == PS_COL_TEXT && (is_int || arg->type == PS_ARG_REAL)) {
        int n = is_int ? snprintf(room + *used, PS_ROW_ROOM - *used, "%lld", (long long)arg->u.i)
                       : snprintf(room + *used, PS_ROW_ROOM - *used, "%.10g", arg->u.r);
        if (n > 0 && *used + (size_t)n < PS_ROW_ROOM) {
            ps_cell_text_set(cell, room + *used);
            *used += (size_t)n + 1;
        }
    }
}

static void set_rows(const ps_pmu *p, int64_t task, ps_value *cells) {
    uint32_t row = ps_idmap_get(&p->first, (uint64_t)task);
    for (row = row == PS_IDMAP_NONE ? PS_NONE : row; row != PS_NONE; row = p->next[row]) {
        const ps_value *value = ps_table_cell(p->table, row, p->c_value);
        if (p->column_of[row] < PS_PMU_MAX && !value->is_null) {
            bool is_int = p->table->columns[p->c_value].type == PS_COL_INT;
            ps_cell_real_set(&cells[p->column_of[row]], is_int ? (double)value->u.i : value->u.r);
        }
    }
}

void ps_pmu_cells(const ps_pmu *p, uint32_t kernel, ps_value *cells, char room[PS_ROW_ROOM]) {
    size_t used = 0;
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(p->trace, kernel); ps_arg_next(&it, &arg);) {
        uint32_t column = ps_idmap_get(&p->columns, arg.key.id);
        if (column < PS_PMU_MAX) {
            set_pmu_arg(p, &arg, p->at[column].type, &cells[column], room, &used);
        }
        if (p->table != NULL && arg.type == PS_ARG_INT && ps_str_eq(arg.key, p->task_key)) {
            set_rows(p, arg.u.i, cells);
        }
    }
}
