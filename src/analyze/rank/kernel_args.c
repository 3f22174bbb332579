#include "analyze/rank/kernel_args.h"

#include <string.h>

static const char *first_said(const ps_trace *trace, uint32_t slice, const char *const *keys,
                              size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *text = ps_trace_arg_text(trace, slice, keys[i]);
        if (text != NULL && text[0] != '\0' && strcmp(text, "N/A") != 0) {
            return text;
        }
    }
    return NULL;
}

const char *ps_kernel_type(const ps_trace *trace, uint32_t slice) {
    static const char *const KEYS[] = {"opType", "Type", "OP Type"};
    return first_said(trace, slice, KEYS, sizeof KEYS / sizeof *KEYS);
}

const char *const PS_INPUT_SHAPES[PS_N_INPUT_SHAPES] = {"inputShapes", "Input Shapes", "Input Dims",
                                                        "Input dims"};

const char *ps_input_shapes(const ps_trace *trace, uint32_t slice) {
    return first_said(trace, slice, PS_INPUT_SHAPES, PS_N_INPUT_SHAPES);
}

const char *ps_output_shapes(const ps_trace *trace, uint32_t slice) {
    static const char *const KEYS[] = {"outputShapes", "Output Shapes"};
    return first_said(trace, slice, KEYS, sizeof KEYS / sizeof *KEYS);
}

bool ps_has_input_shapes(const ps_trace *trace, uint32_t slice) {
    for (size_t i = 0; i < PS_N_INPUT_SHAPES; i++) {
        if (ps_trace_arg_text(trace, slice, PS_INPUT_SHAPES[i]) != NULL) {
            return true;
        }
    }
    return false;
}

void ps_find_input_shapes(const ps_trace *trace, ps_str out[PS_N_INPUT_SHAPES]) {
    for (size_t i = 0; i < PS_N_INPUT_SHAPES; i++) {
        out[i] = ps_trace_find_text(trace, PS_INPUT_SHAPES[i]);
    }
}

ps_str ps_input_shapes_by(const ps_trace *trace, uint32_t slice,
                          const ps_str args[PS_N_INPUT_SHAPES]) {
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(trace, slice); ps_arg_next(&it, &arg);) {
        bool is_text =
            arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_JSON;
        for (size_t i = 0; is_text && i < PS_N_INPUT_SHAPES; i++) {
            if (!ps_str_is_none(args[i]) && ps_str_eq(arg.key, args[i])) {
                return arg.u.s;
            }
        }
    }
    return PS_STR_NONE;
}

bool ps_core_is_aicpu(const char *core) {
    return core != NULL && (strncmp(core, "AI_CPU", 6) == 0 || strncmp(core, "AICPU", 5) == 0);
}

/* --- fields -------------------------------------------------------------------------------------------------------- */

/* Arguments of kernels, by the name that each format gives them; the better one first. */
static const struct {
    const char *arg;
    ps_kernel_field field;
} NAMES[] = {
    {"blockNum", PS_KERNEL_BLOCK},
    {"Block Dim", PS_KERNEL_BLOCK},
    {"Block Num", PS_KERNEL_BLOCK},
    {"mixBlockNum", PS_KERNEL_MIX_BLOCK},
    {"Mix Block Dim", PS_KERNEL_MIX_BLOCK},
    {"Mix Block Num", PS_KERNEL_MIX_BLOCK},
    {"opType", PS_KERNEL_TYPE},
    {"Type", PS_KERNEL_TYPE},
    {"OP Type", PS_KERNEL_TYPE},
    {"taskType", PS_KERNEL_CORE},
    {"Accelerator Core", PS_KERNEL_CORE},
    {"Task Type", PS_KERNEL_CORE},
    {"inputFormats", PS_KERNEL_IN_FORMATS},
    {"Input Formats", PS_KERNEL_IN_FORMATS},
    {"outputFormats", PS_KERNEL_OUT_FORMATS},
    {"Output Formats", PS_KERNEL_OUT_FORMATS},
    {"inputShapes", PS_KERNEL_IN_SHAPES},
    {"Input Shapes", PS_KERNEL_IN_SHAPES},
    {"outputShapes", PS_KERNEL_OUT_SHAPES},
    {"Output Shapes", PS_KERNEL_OUT_SHAPES},
    {"inputDataTypes", PS_KERNEL_IN_TYPES},
    {"Input Data Types", PS_KERNEL_IN_TYPES},
    {"outputDataTypes", PS_KERNEL_OUT_TYPES},
    {"Output Data Types", PS_KERNEL_OUT_TYPES},
    {"opState", PS_KERNEL_STATE},
    {"OP State", PS_KERNEL_STATE},
    {"modelId", PS_KERNEL_MODEL},
    {"Model Id", PS_KERNEL_MODEL},
    {"contextId", PS_KERNEL_CONTEXT},
    {"Context ID", PS_KERNEL_CONTEXT},
    {"Context Id", PS_KERNEL_CONTEXT},
    {"taskId", PS_KERNEL_TASK},
    {"Task Id", PS_KERNEL_TASK},
    {"task id", PS_KERNEL_TASK},
};
enum { N_NAMES = sizeof NAMES / sizeof *NAMES };

bool ps_kernel_keys_init(ps_kernel_keys *k, const ps_trace *trace) {
    *k = (ps_kernel_keys){.trace = trace};
    ps_idmap_init(&k->fields);
    bool ok = true;
    for (uint32_t i = 0; ok && i < N_NAMES; i++) {
        ps_str key = ps_trace_find_text(trace, NAMES[i].arg);
        ok = ps_str_is_none(key) || ps_idmap_put(&k->fields, key.id, i);
    }
    return ok;
}

void ps_kernel_keys_fini(ps_kernel_keys *k) {
    ps_idmap_fini(&k->fields);
}

bool ps_kernel_is_field(const ps_kernel_keys *k, ps_str key) {
    return ps_idmap_get(&k->fields, key.id) != PS_IDMAP_NONE;
}

void ps_kernel_read(const ps_kernel_keys *k, uint32_t slice, ps_arg out[PS_N_KERNEL_FIELDS]) {
    uint32_t best[PS_N_KERNEL_FIELDS];
    memset(best, 0xFF, sizeof best);
    memset(out, 0, PS_N_KERNEL_FIELDS * sizeof *out);
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(k->trace, slice); ps_arg_next(&it, &arg);) {
        uint32_t i = ps_idmap_get(&k->fields, arg.key.id);
        bool is_said =
            arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_INT;
        if (i != PS_IDMAP_NONE && is_said && i < best[NAMES[i].field]) {
            best[NAMES[i].field] = i;
            out[NAMES[i].field] = arg;
        }
    }
}

ps_str ps_kernel_text(const ps_kernel_keys *k, const ps_arg *field) {
    if (ps_str_is_none(field->key) || field->type == PS_ARG_INT) {
        return PS_STR_NONE;
    }
    const char *text = ps_trace_text(k->trace, field->u.s);
    return text[0] == '\0' || strcmp(text, "N/A") == 0 ? PS_STR_NONE : field->u.s;
}
