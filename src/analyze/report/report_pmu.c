#include "analyze/report/report_pmu.h"

#include <string.h>

#include "base/num.h"

#define BUSY 0.5 /* of the kernel's time: less busy, no unit bounds it */

/* "aic_mac_ratio" of cores that multiply, "aiv_vec_ratio" of vector cores, "mac_ratio" of chips that have one kind. */
static ps_report_bound bound_of_column(const char *name) {
    static const struct {
        const char *name;
        ps_report_bound bound;
    } UNITS[] = {{"mac_ratio", PS_BOUND_CUBE},     {"vec_ratio", PS_BOUND_VECTOR},
                 {"mte1_ratio", PS_BOUND_MEMORY},  {"mte2_ratio", PS_BOUND_MEMORY},
                 {"mte3_ratio", PS_BOUND_MEMORY},  {"fixpipe_ratio", PS_BOUND_MEMORY},
                 {"scalar_ratio", PS_BOUND_SCALAR}};
    bool has_core = strncmp(name, "aic_", 4) == 0 || strncmp(name, "aiv_", 4) == 0;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (strcmp(has_core ? name + 4 : name, UNITS[i].name) == 0) {
            return UNITS[i].bound;
        }
    }
    return PS_N_REPORT_BOUNDS;
}

static bool may_have_counters(const ps_trace *trace) {
    static const char *const KEYS[] = {"aic_mac_ratio", "aiv_vec_ratio", "mac_ratio", "vec_ratio"};
    bool any = ps_trace_side_table(trace, "TASK_PMU_INFO") != NULL;
    for (size_t i = 0; !any && i < sizeof KEYS / sizeof *KEYS; i++) {
        any = !ps_str_is_none(ps_trace_find_text(trace, KEYS[i]));
    }
    return any;
}

bool ps_bounds_init(ps_bounds *b, const ps_kernel_keys *keys, const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *cores = ps_trace_meta(trace, "ai_core_num");
    *b = (ps_bounds){.keys = keys};
    if (cores == NULL || !ps_parse_i64(cores, strlen(cores), &b->n_cores) || b->n_cores < 0) {
        b->n_cores = 0;
    }
    b->has_states = !ps_str_is_none(ps_trace_find_text(trace, "opState")) ||
                    !ps_str_is_none(ps_trace_find_text(trace, "OP State"));
    if (!may_have_counters(trace)) {
        return true;
    }
    bool ok = ps_pmu_init(&b->pmu, keys, trace);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ok = s->kind[i] != PS_SLICE_KERNEL || ps_pmu_learn(&b->pmu, i);
    }
    for (size_t c = 0; c < b->pmu.n; c++) {
        bool is_number = b->pmu.at[c].type != PS_COL_TEXT;
        b->of[c] = (uint8_t)(is_number ? bound_of_column(b->pmu.at[c].name) : PS_N_REPORT_BOUNDS);
        b->any = b->any || b->of[c] != PS_N_REPORT_BOUNDS;
    }
    return ok;
}

void ps_bounds_fini(ps_bounds *b) {
    if (b->pmu.trace != NULL) {
        ps_pmu_fini(&b->pmu);
    }
}

/* The busiest unit; PS_N_REPORT_BOUNDS: nothing was measured. */
static ps_report_bound bound_of_kernel(ps_bounds *b, uint32_t kernel) {
    char room[PS_ROW_ROOM];
    ps_report_bound best = PS_N_REPORT_BOUNDS;
    double most = 0;
    for (size_t c = 0; c < b->pmu.n; c++) {
        b->cells[c] = (ps_value){.is_null = true};
    }
    ps_pmu_cells(&b->pmu, kernel, b->cells, room);
    for (size_t c = 0; c < b->pmu.n; c++) {
        if (b->of[c] == PS_N_REPORT_BOUNDS || b->cells[c].is_null) {
            continue;
        }
        bool is_int = b->pmu.at[c].type == PS_COL_INT;
        double ratio = is_int ? (double)b->cells[c].u.i : b->cells[c].u.r;
        best = ratio > 0 && best == PS_N_REPORT_BOUNDS ? PS_BOUND_NONE : best;
        if (ratio > most) {
            most = ratio;
            best = ratio >= BUSY ? (ps_report_bound)b->of[c] : PS_BOUND_NONE;
        }
    }
    return best;
}

static int64_t pmu_number_of(const ps_bounds *b, const ps_arg *field) {
    int64_t value = 0;
    if (ps_str_is_none(field->key)) {
        return 0;
    }
    if (field->type == PS_ARG_INT) {
        return field->u.i;
    }
    const char *text = ps_trace_text(b->keys->trace, field->u.s);
    return ps_parse_i64(text, strlen(text), &value) ? value : 0;
}

#define SINGLE_OPERATOR INT64_C(4294967295) /* the model of a kernel that no graph launched */

/* Outside of graphs dynamic is what operators are that need not be compiled for their shapes. */
static void take_state(const ps_bounds *b, const ps_arg *fields, int64_t dur_ns,
                       ps_report_kernel *kind) {
    ps_str state = ps_kernel_text(b->keys, &fields[PS_KERNEL_STATE]);
    int64_t model = pmu_number_of(b, &fields[PS_KERNEL_MODEL]);
    bool in_graph =
        !ps_str_is_none(fields[PS_KERNEL_MODEL].key) && model >= 0 && model < SINGLE_OPERATOR;
    if (in_graph && !ps_str_is_none(state)) {
        bool is_dynamic = strcmp(ps_trace_text(b->keys->trace, state), "dynamic") == 0;
        kind->in_graph_ns = ps_i64_plus(kind->in_graph_ns, dur_ns);
        kind->dynamic_ns = ps_i64_plus(kind->dynamic_ns, is_dynamic ? dur_ns : 0);
        kind->n_dynamic += is_dynamic;
    }
}

void ps_bounds_take(ps_bounds *b, uint32_t kernel, bool on_ai_core, ps_report_kernel *kind) {
    int64_t dur_ns = ps_trace_slices(b->keys->trace)->dur_ns[kernel];
    ps_report_bound bound = b->any ? bound_of_kernel(b, kernel) : PS_N_REPORT_BOUNDS;
    if (bound != PS_N_REPORT_BOUNDS) {
        kind->bound_ns[bound] = ps_i64_plus(kind->bound_ns[bound], dur_ns);
    }
    ps_arg fields[PS_N_KERNEL_FIELDS];
    if (b->n_cores > 0 || b->has_states) {
        ps_kernel_read(b->keys, kernel, fields);
    }
    if (b->has_states) {
        take_state(b, fields, dur_ns, kind);
    }
    if (b->n_cores > 0 && on_ai_core) {
        int64_t blocks = pmu_number_of(b, &fields[PS_KERNEL_BLOCK]);
        kind->few_blocks_ns =
            ps_i64_plus(kind->few_blocks_ns, blocks > 0 && blocks < b->n_cores ? dur_ns : 0);
        kind->n_cores = b->n_cores;
        kind->n_blocks = blocks > kind->n_blocks ? blocks : kind->n_blocks;
    }
}
