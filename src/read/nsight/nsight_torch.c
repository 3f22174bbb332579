#include "read/nsight/nsight_torch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

typedef struct ps_torch_end {
    int64_t sequence, start_ns;
    uint32_t slice;
    bool is_backward;
} torch_end;

/* --- texts ------------------------------------------------------------------------------------------------------ */

typedef struct field {
    const char *head;
    size_t n;
} field;

#define FIELD(text)                                                                                \
    { text, sizeof text - 1 }
enum { SEQUENCE, OP_ID, SIZES, INPUTS, N_FIELDS };
static const field FIELDS[N_FIELDS] = {FIELD(", seq = "), FIELD(", op_id = "), FIELD(", sizes = "),
                                       FIELD(", input_op_ids = ")};

static size_t field_at(const char *text, size_t n) {
    size_t f = 0;
    while (f < N_FIELDS && (n < FIELDS[f].n || memcmp(text, FIELDS[f].head, FIELDS[f].n) != 0)) {
        f++;
    }
    return f;
}

/* Bytes of a list with its brackets, which may hold others; 0 for none. */
static size_t list_length(const char *text, size_t n) {
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        depth += text[i] == '[';
        if (depth == 0) {
            return 0;
        }
        if (text[i] == ']' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Bytes of the value, 0 when it is none. */
static size_t take_emitted_value(size_t f, const char *text, size_t n, ps_torch_range *out) {
    if (f == SIZES || f == INPUTS) {
        size_t length = list_length(text, n);
        *(f == SIZES ? &out->sizes : &out->inputs) = text;
        *(f == SIZES ? &out->n_sizes : &out->n_inputs) = length;
        return length;
    }
    size_t length = 0;
    while (length < n && text[length] >= '0' && text[length] <= '9') {
        length++;
    }
    int64_t *value = f == SEQUENCE ? &out->sequence : &out->op_id;
    return length > 0 && ps_parse_i64(text, length, value) ? length : 0;
}

bool ps_torch_range_parse(const char *text, size_t n, ps_torch_range *out) {
    *out = (ps_torch_range){.sequence = -1, .op_id = -1};
    size_t at = 0;
    while (at < n && field_at(text + at, n - at) == N_FIELDS) {
        at++;
    }
    out->n_name = at;
    bool is_any = at > 0 && at < n;
    while (is_any && at < n) {
        size_t f = field_at(text + at, n - at);
        if (f == N_FIELDS) {
            return false;
        }
        at += FIELDS[f].n;
        size_t length = take_emitted_value(f, text + at, n - at, out);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return is_any;
}

void ps_torch_range_args(ps_nsight *n, uint32_t slice, const ps_torch_range *range) {
    ps_nsight_arg_int(n, slice, "Record function id", range->op_id, -1);
    ps_nsight_arg_int(n, slice, "Sequence number", range->sequence, -1);
    if (range->n_sizes > 0) {
        ps_arg arg = {.key = ps_nsight_str(n, "Input Dims"), .type = PS_ARG_JSON};
        arg.u.s = ps_builder_str(n->builder, range->sizes, range->n_sizes);
        ps_builder_arg(n->builder, slice, arg);
    }
    if (range->n_inputs > 0) {
        ps_nsight_arg_str(n, slice, "input op ids",
                          ps_builder_str(n->builder, range->inputs, range->n_inputs));
    }
}

/* --- forward and backward --------------------------------------------------------------------------------------- */

/* A node of the graph: "AddmmBackward0", "torch::autograd::CopyBackwards". */
static bool is_backward_node(const char *name) {
    size_t n = strlen(name);
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9') {
        n--;
    }
    n -= n > 0 && name[n - 1] == 's' ? 1 : 0;
    return n > 8 && memcmp(name + n - 8, "Backward", 8) == 0;
}

bool ps_torch_links_add(ps_torch_links *links, const ps_nsight *n, uint32_t slice, int64_t start_ns,
                        int64_t sequence, ps_str name) {
    if (!ps_grow(&links->ends, &links->cap, links->n + 1, PS_NONE, sizeof *links->ends)) {
        return false;
    }
    links->ends[links->n++] =
        (torch_end){.sequence = sequence,
                    .start_ns = start_ns,
                    .slice = slice,
                    .is_backward = is_backward_node(ps_builder_text(n->builder, name))};
    return true;
}

PS_COMPARE(compare_ends, torch_end, PS_BY(sequence) PS_BY(start_ns) PS_BY(slice))

/* Of one number: operators inside of others repeat it, and the outermost begins first. */
static void link_number(const torch_end *e, size_t n, ps_nsight *file, ps_str kind) {
    const torch_end *forward = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!e[i].is_backward) {
            forward = forward == NULL ? &e[i] : forward;
        } else if (forward != NULL) {
            ps_builder_flow_of(file->builder, forward->slice, e[i].slice, kind);
            return;
        }
    }
}

void ps_torch_links_finish(ps_torch_links *links, ps_nsight *n) {
    ps_str kind = ps_nsight_str(n, "fwdbwd");
    ps_sort(links->ends, links->n, sizeof *links->ends, compare_ends);
    for (size_t i = 0, end = 0; i < links->n; i = end) {
        for (end = i; end < links->n && links->ends[end].sequence == links->ends[i].sequence;) {
            end++;
        }
        link_number(links->ends + i, end - i, n, kind);
    }
    ps_free(links->ends);
    *links = (ps_torch_links){0};
}
