#include "analyze/rank/kernel_facts.h"

#include "base/alloc.h"

bool ps_kernel_source_init(ps_kernel_source *v, const ps_links *links) {
    *v = (ps_kernel_source){.links = links, .s = ps_trace_slices(links->trace)};
    ps_find_input_shapes(links->trace, v->op_shapes);
    return ps_kernel_keys_init(&v->keys, links->trace);
}

void ps_kernel_source_fini(ps_kernel_source *v) {
    ps_kernel_keys_fini(&v->keys);
}

void ps_kernel_facts_read(const ps_kernel_source *v, uint32_t slice, ps_kernel_facts *out) {
    ps_kernel_read(&v->keys, slice, out->fields);
    out->type = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_TYPE]);
    out->core = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_CORE]);
    out->shapes = ps_kernel_text(&v->keys, &out->fields[PS_KERNEL_IN_SHAPES]);
    uint32_t op = v->links->op[slice];
    if (op != PS_NONE && ps_str_is_none(out->type)) {
        out->type = v->s->name[op];
        out->shapes = ps_str_is_none(out->shapes)
                          ? ps_input_shapes_by(v->links->trace, op, v->op_shapes)
                          : out->shapes;
    }
}

const char *ps_kernel_shapes(const ps_links *links, uint32_t slice) {
    const char *shapes = ps_input_shapes(links->trace, slice);
    uint32_t op = links->op[slice];
    return shapes == NULL && op != PS_NONE ? ps_input_shapes(links->trace, op) : shapes;
}

ps_slice_kind ps_communication_kind(const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_COMM_OP) {
            return PS_SLICE_COMM_OP;
        }
    }
    return PS_SLICE_COMM_KERNEL;
}
