/* Places of arguments are those of PyTorch's operator schemas (native_functions.yaml, 2.x) and of flash-attn 2.7. */
#include "analyze/mfu/flops_operator.h"

#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/flops_matmul.h"

typedef enum op_kind {
    OP_PRODUCT,   /* a[.., m, k] b[.., k, n] */
    OP_LINEAR,    /* a[.., m, k] b[n, k] */
    OP_CONVOLVE,  /* input, weight, bias, stride, padding, dilation */
    OP_ATTENTION, /* q, k, v */
    OP_ATTENTION_BACKWARD
} op_kind;

struct ps_operator_form {
    const char *name;
    op_kind kind;
    unsigned first;  /* place of a, input or q; the others follow */
    unsigned causal; /* place of the causal flag; OP_CONVOLVE: of `transposed`, 0 none */
    ps_attention_layout layout;
    int64_t causal_mode; /* the corner from which a causal mask counts */
};

#define BNSD PS_LAYOUT_BNSD
#define BSND PS_LAYOUT_BSND

static const ps_operator_form FORMS[] = {
    {"aten::mm", OP_PRODUCT, 0, 0, 0, 0},
    {"aten::bmm", OP_PRODUCT, 0, 0, 0, 0},
    {"aten::matmul", OP_PRODUCT, 0, 0, 0, 0},
    {"aten::_int_mm", OP_PRODUCT, 0, 0, 0, 0},
    {"aten::_scaled_mm", OP_PRODUCT, 0, 0, 0, 0},
    {"aten::addmm", OP_PRODUCT, 1, 0, 0, 0},
    {"aten::baddbmm", OP_PRODUCT, 1, 0, 0, 0},
    {"aten::_addmm_activation", OP_PRODUCT, 1, 0, 0, 0},
    {"aten::linear", OP_LINEAR, 0, 0, 0, 0},
    {"aten::conv1d", OP_CONVOLVE, 0, 0, 0, 0},
    {"aten::conv2d", OP_CONVOLVE, 0, 0, 0, 0},
    {"aten::conv3d", OP_CONVOLVE, 0, 0, 0, 0},
    {"aten::convolution", OP_CONVOLVE, 0, 6, 0, 0},
    {"aten::_convolution", OP_CONVOLVE, 0, 6, 0, 0},
    {"aten::scaled_dot_product_attention", OP_ATTENTION, 0, 5, BNSD, 2},
    {"aten::_scaled_dot_product_flash_attention", OP_ATTENTION, 0, 4, BNSD, 2},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", OP_ATTENTION, 0, 4, BNSD, 2},
    {"aten::_scaled_dot_product_efficient_attention", OP_ATTENTION, 0, 6, BNSD, 2},
    {"aten::_scaled_dot_product_cudnn_attention", OP_ATTENTION, 0, 6, BNSD, 2},
    {"aten::_flash_attention_forward", OP_ATTENTION, 0, 8, BSND, 3},
    {"flash_attn::_flash_attn_forward", OP_ATTENTION, 0, 5, BSND, 3},
    {"aten::_scaled_dot_product_flash_attention_backward", OP_ATTENTION_BACKWARD, 1, 11, BNSD, 2},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", OP_ATTENTION_BACKWARD, 1, 7,
     BNSD, 2},
    {"aten::_scaled_dot_product_efficient_attention_backward", OP_ATTENTION_BACKWARD, 1, 11, BNSD,
     2},
    {"aten::_scaled_dot_product_cudnn_attention_backward", OP_ATTENTION_BACKWARD, 1, 14, BNSD, 2},
    {"aten::_flash_attention_backward", OP_ATTENTION_BACKWARD, 1, 11, BSND, 3},
    {"flash_attn::_flash_attn_backward", OP_ATTENTION_BACKWARD, 1, 11, BSND, 3},
};

const ps_operator_form *ps_operator_form_at(size_t index) {
    return index < sizeof FORMS / sizeof *FORMS ? &FORMS[index] : NULL;
}

const char *ps_operator_form_name(const ps_operator_form *form) {
    return form->name;
}

const ps_operator_form *ps_operator_form_named(const char *name) {
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        if (strcmp(FORMS[i].name, name) == 0) {
            return &FORMS[i];
        }
    }
    return NULL;
}

ps_marked_attention ps_operator_marked_attention(const ps_operator_form *form) {
    return form->layout != BNSD                  ? PS_MARKED_NONE
           : form->kind == OP_ATTENTION          ? PS_MARKED_FORWARD
           : form->kind == OP_ATTENTION_BACKWARD ? PS_MARKED_BACKWARD
                                                 : PS_MARKED_NONE;
}

static double convolve(const ps_operator_form *form, const ps_operator_call *call,
                       const ps_shapes *in) {
    char transposed[16];
    char stride[128];
    char padding[128];
    char dilation[128];
    bool is_turned = form->causal > 0 &&
                     (!ps_list_item(call->values, form->causal, transposed, sizeof transposed) ||
                      strcmp(transposed, "False") != 0);
    if (is_turned || !ps_list_item(call->values, 3, stride, sizeof stride) ||
        !ps_list_item(call->values, 4, padding, sizeof padding) ||
        !ps_list_item(call->values, 5, dilation, sizeof dilation)) {
        return 0;
    }
    return ps_flops_convolution(ps_shapes_at(in, 0), ps_shapes_at(in, 1), stride, padding,
                                dilation);
}

/* Whether it is causal must be said: there is no shape that tells. */
static bool take_call(const ps_operator_form *form, const ps_operator_call *call,
                      ps_attention *out) {
    char flag[16];
    if (!ps_list_item(call->values, form->causal, flag, sizeof flag)) {
        return false;
    }
    bool is_causal = strcmp(flag, "True") == 0;
    *out = (ps_attention){.layout = form->layout, .sparse_mode = is_causal ? form->causal_mode : 0};
    return is_causal || strcmp(flag, "False") == 0;
}

static double attend(const ps_operator_form *form, const ps_operator_call *call,
                     const ps_shapes *in) {
    ps_attention a;
    bool heads_hidden = false;
    return take_call(form, call, &a) ? ps_flops_attention(&a, in, form->first, &heads_hidden) : 0;
}

double ps_flops_operator(const ps_operator_form *form, const ps_operator_call *call,
                         ps_shapes *scratch, ps_flop_type *type) {
    char first[64];
    char second[64];
    *type = PS_FLOP_UNSAID;
    if (!ps_shapes_parse(call->dims, scratch)) {
        return 0;
    }
    if (ps_list_item(call->types, form->first, first, sizeof first) &&
        ps_list_item(call->types, (size_t)form->first + 1, second, sizeof second)) {
        *type = ps_flop_type_wider(ps_flop_type_of(first), ps_flop_type_of(second));
    }
    const ps_shape *a = ps_shapes_at(scratch, form->first);
    const ps_shape *b = ps_shapes_at(scratch, (size_t)form->first + 1);
    switch (form->kind) {
    case OP_PRODUCT:
        return ps_flops_product(a, b, false);
    case OP_LINEAR:
        return ps_flops_product(a, b, true);
    case OP_CONVOLVE:
        return convolve(form, call, scratch);
    case OP_ATTENTION:
        return attend(form, call, scratch);
    case OP_ATTENTION_BACKWARD:
        return PS_ATTENTION_BACKWARD * attend(form, call, scratch);
    }
    return 0;
}

ps_attention_form ps_operator_attention(const ps_operator_form *form, const ps_operator_call *call,
                                        ps_shapes *scratch) {
    ps_attention a;
    bool attends = form->kind == OP_ATTENTION || form->kind == OP_ATTENTION_BACKWARD;
    if (!attends || !ps_shapes_parse(call->dims, scratch) || !take_call(form, call, &a)) {
        return (ps_attention_form){0};
    }
    return ps_attention_form_of(&a, scratch, form->first, call->types);
}

/* --- bytes ------------------------------------------------------------------------------------------------------ */

static double elements_of(const ps_shape *shape) {
    double n = shape->n > 0 ? 1 : 0;
    for (uint32_t i = 0; i < shape->n; i++) {
        n *= shape->dims[i] > 0 ? (double)shape->dims[i] : 0;
    }
    return n;
}

/* Ascend writes "DT_BF16". */
static double bytes_of_type(const char *types, size_t at) {
    char name[64];
    if (types == NULL || !ps_list_item(types, at, name, sizeof name)) {
        return 0;
    }
    return (double)ps_data_type_bytes(strncmp(name, "DT_", 3) == 0 ? name + 3 : name);
}

double ps_tensors_bytes(const ps_shapes *shapes, size_t first, size_t n, const char *types) {
    double sum = 0;
    for (size_t i = first; i < first + n; i++) {
        double elements = elements_of(ps_shapes_at(shapes, i));
        double width = elements > 0 ? bytes_of_type(types, i) : 1;
        if (width <= 0) {
            return 0;
        }
        sum += elements * width;
    }
    return sum;
}

/* The shape of the result is not recorded: it follows from the operands and the FLOPs. Of a product a[m, k] b[k, n] with
 * f = 2 m k n it is m n = f^2 / 4 a b, and no more with a batch. */
static double result_elements(const ps_operator_form *form, const ps_shapes *in, double flops) {
    const ps_shape *weight = ps_shapes_at(in, (size_t)form->first + 1);
    double a = elements_of(ps_shapes_at(in, form->first));
    double b = elements_of(weight);
    double c = elements_of(ps_shapes_at(in, (size_t)form->first + 2));
    if (a <= 0 || b <= 0) {
        return 0;
    }
    switch (form->kind) {
    case OP_PRODUCT:
    case OP_LINEAR:
        return flops / a / b * flops / 4;
    case OP_CONVOLVE:
        return flops / 2 / b * (double)weight->dims[0];
    case OP_ATTENTION:
        return a;
    case OP_ATTENTION_BACKWARD:
        return a + b + c;
    }
    return 0;
}

double ps_operator_bytes(const ps_operator_form *form, const ps_operator_call *call, double flops,
                         ps_shapes *scratch) {
    bool is_attention = form->kind == OP_ATTENTION || form->kind == OP_ATTENTION_BACKWARD;
    if (flops <= 0 || !ps_shapes_parse(call->dims, scratch)) {
        return 0;
    }
    double result = result_elements(form, scratch, flops) * bytes_of_type(call->types, form->first);
    double in = ps_tensors_bytes(scratch, form->first, is_attention ? 3 : 2, call->types);
    return in > 0 && result > 0 ? in + result : 0;
}

ps_product ps_operator_product(const char *name) {
    static const ps_product PRODUCTS[] = {[OP_PRODUCT] = PS_PRODUCT_MATRICES,
                                          [OP_LINEAR] = PS_PRODUCT_MATRICES,
                                          [OP_CONVOLVE] = PS_PRODUCT_CONVOLUTION,
                                          [OP_ATTENTION] = PS_PRODUCT_ATTENTION,
                                          [OP_ATTENTION_BACKWARD] = PS_PRODUCT_ATTENTION};
    const ps_operator_form *form = ps_operator_form_named(name);
    return form != NULL ? PRODUCTS[form->kind] : PS_PRODUCT_OTHER;
}
