#include "analyze/rank/kernel_facts.h"

#include "base/alloc.h"

bool ps_kernel_source_init(ps_kernel_source *v, const ps_links *links) {
    static const char *const SHAPES[3] = {"inputShapes", "Input Shapes", "Input Dims"};
    *v = (ps_kernel_source){.links = links, .s = ps_trace_slices(links->trace)};
    for (size_t i = 0; i < 3; i++) {
        v->op_shapes[i] = ps_trace_find_text(links->trace, SHAPES[i]);
    }
    return ps_kernel_keys_init(&v->keys, links->trace);
}

void ps_kernel_source_fini(ps_kernel_source *v) {
    ps_kernel_keys_fini(&v->keys);
}

static ps_str shapes_of_op(const ps_kernel_source *v, uint32_t op) {
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(v->links->trace, op); ps_arg_next(&it, &arg);) {
        bool is_text =
            arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_JSON;
        for (size_t i = 0; is_text && i < 3; i++) {
            if (!ps_str_is_none(v->op_shapes[i]) && ps_str_eq(arg.key, v->op_shapes[i])) {
                return arg.u.s;
            }
        }
    }
    return PS_STR_NONE;
}

void ps_kernel_facts_read(const ps_kernel_source *v, uint32_t slice, ps_kernel_facts *out) {
    ps_kernel_read(&v->keys, slice, out->fields);
    out->type = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_TYPE]);
    out->core = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_CORE]);
    out->shapes = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_IN_SHAPES]);
    uint32_t op = v->links->op[slice];
    if (op != PS_NONE && ps_str_is_none(out->type)) {
        out->type = v->s->name[op];
        out->shapes = ps_str_is_none(out->shapes) ? shapes_of_op(v, op) : out->shapes;
    }
}

ps_slice_kind ps_communication_kind(const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_COMM_OP) {
            return PS_SLICE_COMM_OP;
        }
    }
    return PS_SLICE_COMM_KERNEL;
}
