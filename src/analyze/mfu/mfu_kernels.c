/* Which kernels multiply matrices, and the FLOPs of those whose own shapes tell. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/mfu/flops_matmul.h"
#include "analyze/mfu/mfu_parts.h"
#include "analyze/rank/kernel_class.h"
#include "analyze/stats/kernel_names.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "model/comm_kernels.h"
#include "model/kernel_name.h"

#define MAX_KERNELS ((size_t)UINT32_MAX / 2)
#define MAX_WORD 512 /* of a kernel's name; templates are longer, but begin with what they do */

/* --- roles ---------------------------------------------------------------------------------------------------- */

/* A word, but not where `before` precedes it or `after` follows: "convert" is no convolution, fbgemm is a library. */
static bool has_word(const char *name, const char *word, const char *before, const char *after) {
    size_t n_word = strlen(word);
    size_t n_before = strlen(before);
    for (const char *at = strstr(name, word); at != NULL; at = strstr(at + 1, word)) {
        bool is_preceded = n_before > 0 && (size_t)(at - name) >= n_before &&
                           strncmp(at - n_before, before, n_before) == 0;
        bool is_followed = *after != '\0' && strncmp(at + n_word, after, strlen(after)) == 0;
        if (!is_preceded && !is_followed) {
            return true;
        }
    }
    return false;
}

/* Where the words end that say what a kernel does: behind the function, since a template argument may be anything; but some
 * libraries have one function for all, and its argument is the kernel. */
static size_t end_of_words(const char *name) {
    static const char *const WRAPPERS[] = {"Kernel", "Kernel2", "kernel", "device_kernel"};
    size_t n = 0;
    const char *function = ps_comm_function(name, &n);
    for (size_t i = 0; i < sizeof WRAPPERS / sizeof *WRAPPERS; i++) {
        if (n == strlen(WRAPPERS[i]) && memcmp(function, WRAPPERS[i], n) == 0) {
            return strlen(name);
        }
    }
    return n > 0 ? (size_t)(function - name) + n : strlen(name);
}

/* cuDNN writes these in small letters, as a word or behind a number: "dgrad2d", "12wgrad2d"; "Pool3dGrad" is none. */
static bool has_gradient_word(const char *name, size_t n) {
    for (size_t i = 0; i + 5 <= n; i++) {
        bool is_word = memcmp(name + i, "dgrad", 5) == 0 || memcmp(name + i, "wgrad", 5) == 0;
        char before = i > 0 ? name[i - 1] : '_';
        if (is_word && (before < 'a' || before > 'z')) {
            return true;
        }
    }
    return false;
}

/* By the words that libraries put into the names of their kernels: cuBLAS (gemm, gemv, nvjet, xmma), CUTLASS, cuDNN,
 * flash attention, rocBLAS (Cijk), Inductor templates, Ascend's operators. */
static bool is_matrix_name(const char *name) {
    static const char *const WORDS[] = {"gemv",  "matmul", "cutlass",   "xmma",   "nvjet",
                                        "cijk_", "fmha",   "attention", "flash_", "triton_tem"};
    /* They add up what the parts of a product made: cuBLAS, CUTLASS, cuDNN. */
    static const char *const SUMS[] = {"splitkreduce", "reducesplitk", "reduce_wgrad"};
    char lower[MAX_WORD];
    size_t n = 0;
    size_t n_own = 0;
    const char *own = ps_kernel_own_name(name, &n_own);
    size_t end = own == name ? end_of_words(name) : n_own;
    name = own;
    for (; n < end && n + 1 < sizeof lower; n++) {
        lower[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] - 'A' + 'a') : name[n];
    }
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        if (strstr(lower, SUMS[i]) != NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strstr(lower, WORDS[i]) != NULL) {
            return true;
        }
    }
    return has_gradient_word(name, end) || has_word(lower, "gemm", "fb", "") ||
           has_word(lower, "conv", "", "ert");
}

/* "MatMulV3" is "MatMul" with a version. */
static bool is_version_of(const char *type, const char *base) {
    size_t n = strlen(base);
    return strncasecmp(type, base, n) == 0 &&
           (type[n] == '\0' || ((type[n] == 'V' || type[n] == 'v') && type[n + 1] >= '0' &&
                                type[n + 1] <= '9' && type[n + 2] == '\0'));
}

/* Where nothing knows of kernels but what the framework runs, a kernel is called as its operator. */
static ps_kernel_role role_of_operator(const ps_operator_form *form) {
    static const ps_kernel_role ROLES[] = {[PS_MARKED_NONE] = PS_ROLE_MATRIX,
                                           [PS_MARKED_FORWARD] = PS_ROLE_ATTENTION,
                                           [PS_MARKED_BACKWARD] = PS_ROLE_ATTENTION_GRAD};
    return ROLES[ps_operator_marked_attention(form)];
}

static ps_kernel_role role_of_type(const char *type) {
    static const char *const PRODUCTS[] = {"MatMul", "BatchMatMul", "QuantBatchMatmul",
                                           "WeightQuantBatchMatmul", "TransposeBatchMatMul"};
    for (size_t i = 0; i < sizeof PRODUCTS / sizeof *PRODUCTS; i++) {
        if (is_version_of(type, PRODUCTS[i])) {
            return PS_ROLE_MATMUL;
        }
    }
    const ps_operator_form *form = ps_operator_form_named(type);
    return form != NULL                                   ? role_of_operator(form)
           : is_version_of(type, "GroupedMatmul")         ? PS_ROLE_GROUPED
           : strcmp(type, "FlashAttentionScore") == 0     ? PS_ROLE_ATTENTION
           : strcmp(type, "FlashAttentionScoreGrad") == 0 ? PS_ROLE_ATTENTION_GRAD
           : is_matrix_name(type)                         ? PS_ROLE_MATRIX
                                                          : PS_ROLE_NONE;
}

/* --- facts ---------------------------------------------------------------------------------------------------- */

static void find_mfu_kernel_keys(ps_mfu_work *w) {
    /* databases; kernel_details.csv; op_summary.csv */
    static const char *const KEYS[PS_N_FACTS][3] = {
        [PS_FACT_OP_TYPE] = {"opType", "Type", "OP Type"},
        [PS_FACT_IN_SHAPES] = {"inputShapes", "Input Shapes", NULL},
        [PS_FACT_IN_TYPES] = {"inputDataTypes", "Input Data Types", NULL},
        [PS_FACT_IN_FORMATS] = {"inputFormats", "Input Formats", NULL},
        [PS_FACT_OUT_SHAPES] = {"outputShapes", "Output Shapes", NULL},
        [PS_FACT_OUT_TYPES] = {"outputDataTypes", "Output Data Types", NULL},
        [PS_FACT_OUT_FORMATS] = {"outputFormats", "Output Formats", NULL}};
    for (size_t f = 0; f < PS_N_FACTS; f++) {
        for (size_t i = 0; i < 3; i++) {
            w->fact_keys[f][i] =
                KEYS[f][i] != NULL ? ps_trace_find_text(w->trace, KEYS[f][i]) : PS_STR_NONE;
        }
    }
}

static void take_fact(const ps_mfu_work *w, const ps_arg *arg, ps_kernel_facts *facts) {
    if (arg->type != PS_ARG_STR && arg->type != PS_ARG_JSON && arg->type != PS_ARG_NUMBER) {
        return;
    }
    for (size_t f = 0; f < PS_N_FACTS; f++) {
        for (size_t i = 0; i < 3; i++) {
            ps_str key = w->fact_keys[f][i];
            if (!ps_str_is_none(key) && ps_str_eq(key, arg->key) && facts->text[f] == NULL) {
                facts->text[f] = ps_trace_text(w->trace, arg->u.s);
            }
        }
    }
}

ps_kernel_facts ps_mfu_facts(const ps_mfu_work *w, uint32_t slice) {
    ps_kernel_facts facts = {0};
    ps_arg_iter iter = ps_trace_args(w->trace, slice);
    ps_arg arg;
    while (ps_arg_next(&iter, &arg)) {
        take_fact(w, &arg, &facts);
    }
    return facts;
}

ps_flop_type ps_mfu_input_type(const char *types) {
    char first[64];
    char second[64];
    (void)ps_list_item(types, 0, first, sizeof first);
    (void)ps_list_item(types, 1, second, sizeof second);
    return ps_flop_type_wider(ps_flop_type_of(first), ps_flop_type_of(second));
}

int64_t ps_mfu_launch_ns(const ps_mfu_work *w, const ps_matrix_kernel *k) {
    return k->launch != PS_NONE ? w->slices->start_ns[k->launch] : INT64_MIN;
}

bool ps_mfu_in_domain(const ps_mfu_work *w, uint32_t slice, ps_str domain) {
    uint8_t kind = w->slices->kind[slice];
    if (ps_str_is_none(domain) || (kind != PS_SLICE_MARK_HOST && kind != PS_SLICE_INSTANT)) {
        return false;
    }
    if (ps_str_eq(w->slices->category[slice], domain)) {
        return true;
    }
    const char *arg = ps_trace_arg_text(w->trace, slice, "domain");
    return arg != NULL && strcmp(arg, ps_trace_text(w->trace, domain)) == 0;
}

/* --- by launch ------------------------------------------------------------------------------------------------ */

typedef struct launched {
    int64_t start_ns;
    uint32_t track, row;
} launched;

PS_COMPARE(compare_launches, launched, PS_BY(track) PS_BY(start_ns) PS_BY(row))

uint32_t *ps_mfu_by_launch(const ps_mfu_work *w, ps_kernel_role role, size_t *n) {
    launched *list = ps_alloc((w->n + 1) * sizeof *list);
    uint32_t *rows = ps_alloc((w->n + 1) * sizeof *rows);
    *n = 0;
    if (list == NULL || rows == NULL) {
        ps_free(list);
        ps_free(rows);
        return NULL;
    }
    for (size_t i = 0; i < w->n; i++) {
        const ps_matrix_kernel *k = &w->kernels[i];
        if (k->launch != PS_NONE && (role == PS_ROLE_NONE || k->role == role)) {
            list[(*n)++] = (launched){w->slices->start_ns[k->launch], w->slices->track[k->launch],
                                      (uint32_t)i};
        }
    }
    qsort(list, *n, sizeof *list, compare_launches);
    for (size_t i = 0; i < *n; i++) {
        rows[i] = list[i].row;
    }
    ps_free(list);
    return rows;
}

/* --- all kernels ---------------------------------------------------------------------------------------------- */

static void from_own_shapes(ps_mfu_work *w, ps_matrix_kernel *k, const ps_kernel_facts *facts) {
    k->type = ps_mfu_input_type(facts->text[PS_FACT_IN_TYPES]);
    if ((k->role != PS_ROLE_MATMUL && k->role != PS_ROLE_GROUPED) ||
        !ps_shapes_parse(facts->text[PS_FACT_IN_SHAPES], w->in) ||
        !ps_shapes_parse(facts->text[PS_FACT_OUT_SHAPES], w->out)) {
        return;
    }
    k->flops = k->role == PS_ROLE_GROUPED
                   ? ps_flops_grouped_matmul(w->in, w->out)
                   : ps_flops_matmul(w->in, facts->text[PS_FACT_IN_FORMATS], w->out,
                                     facts->text[PS_FACT_OUT_FORMATS],
                                     strncasecmp(facts->text[PS_FACT_OP_TYPE], "MatMul", 6) == 0);
    if (k->flops > 0) {
        k->source = PS_FLOPS_SHAPES;
        k->name = facts->text[PS_FACT_OP_TYPE];
        double in = ps_tensors_bytes(w->in, 0, w->in->n, facts->text[PS_FACT_IN_TYPES]);
        double out = ps_tensors_bytes(w->out, 0, w->out->n, facts->text[PS_FACT_OUT_TYPES]);
        k->bytes = in > 0 && out > 0 ? in + out : 0;
    }
}

/* What names say. */
typedef struct kernel_names {
    ps_idmap roles; /* by name */
    ps_classifier classifier;
} kernel_names;

enum { ROLE_BY_LIBRARY = PS_ROLE_MATRIX + 1 };

static uint32_t look_at_name(const char *name) {
    return is_matrix_name(name)          ? (uint32_t)PS_ROLE_MATRIX
           : ps_kernel_is_of_cudnn(name) ? (uint32_t)ROLE_BY_LIBRARY
                                         : (uint32_t)PS_ROLE_NONE;
}

/* Names repeat: what each means is worked out once. cuDNN's say who wrote the kernel, and what launched it says what it is. False when
 * memory is out. */
static bool role_of_name(const ps_mfu_work *w, kernel_names *known, uint32_t slice,
                         ps_kernel_role *out) {
    ps_str name = w->slices->name[slice];
    uint32_t role = ps_idmap_get(&known->roles, name.id);
    if (role == PS_IDMAP_NONE) {
        char plain[PS_KERNEL_NAME_BYTES];
        role = look_at_name(ps_kernel_name_plain(ps_trace_text(w->trace, name), plain));
        if (!ps_idmap_put(&known->roles, name.id, role)) {
            return false;
        }
    }
    if (role == ROLE_BY_LIBRARY) {
        ps_kernel_class kind = {0};
        if (!ps_classify(&known->classifier, slice, &kind)) {
            return false;
        }
        bool is_product = kind.family == PS_FAMILY_CONV || kind.family == PS_FAMILY_MATMUL ||
                          kind.family == PS_FAMILY_FLASH_ATTENTION;
        role = is_product ? (uint32_t)PS_ROLE_MATRIX : (uint32_t)PS_ROLE_NONE;
    }
    *out = (ps_kernel_role)role;
    return true;
}

static bool take_mfu_kernel(ps_mfu_work *w, kernel_names *names, uint32_t slice) {
    ps_kernel_facts facts = ps_mfu_facts(w, slice);
    const char *type = facts.text[PS_FACT_OP_TYPE];
    ps_matrix_kernel k = {.slice = slice, .type = PS_FLOP_UNSAID};
    if (type != NULL && *type != '\0' && strcmp(type, "N/A") != 0) {
        k.role = role_of_type(type);
    } else if (!role_of_name(w, names, slice, &k.role)) {
        return false;
    }
    if (k.role == PS_ROLE_NONE) {
        return true;
    }
    k.launch = w->links->op[slice] != PS_NONE ? w->links->op[slice] : w->links->call[slice];
    from_own_shapes(w, &k, &facts);
    if (!ps_grow(&w->kernels, &w->cap, w->n + 1, MAX_KERNELS, sizeof *w->kernels)) {
        return false;
    }
    w->kernels[w->n++] = k;
    return true;
}

ps_code ps_mfu_find_kernels(ps_mfu_work *w, ps_err *err) {
    kernel_names names;
    ps_idmap_init(&names.roles);
    find_mfu_kernel_keys(w);
    bool ok = ps_classifier_init(&names.classifier, w->links);
    for (uint32_t i = 0; ok && i < w->slices->n; i++) {
        ok = w->slices->kind[i] != PS_SLICE_KERNEL || take_mfu_kernel(w, &names, i);
    }
    ps_classifier_fini(&names.classifier);
    ps_idmap_fini(&names.roles);
    return ok ? PS_OK : ps_fail_nomem(err);
}
