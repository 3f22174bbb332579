/* In this order: paged attention by its type; copies by their name; what an operator of the framework launched that is
 * known for attention, matrix products or convolution; the same by the kernel's own type and name; the rest by core. */
#include "analyze/rank/kernel_class.h"

#include <string.h>
#include <strings.h>

#include "analyze/stats/kernel_names.h"
#include "analyze/stats/named_sums.h"
#include "base/alloc.h"
#include "model/comm_kernels.h"
#include "model/kernel_name.h"

/* --- names --------------------------------------------------------------------------------------------------------- */

static bool kernel_class_holds(const char *text, const char *word) {
    return text != NULL && strcasestr(text, word) != NULL;
}

static bool holds_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (kernel_class_holds(text, *words)) {
            return true;
        }
    }
    return false;
}

static bool says_backward(const char *text) {
    static const char *const WORDS[] = {"bwd", "backward", "grad", NULL};
    return holds_any(text, WORDS);
}

/* "aten::addmm", "aclnnMm", "AddmmBackward0", "torch::autograd::..::MmBackward0": what stands behind the prefixes. */
static const char *bare(const char *name) {
    const char *colons = strrchr(name, ':');
    name = colons != NULL && colons > name && colons[-1] == ':' ? colons + 1 : name;
    return strncmp(name, "aclnn", 5) == 0 ? name + 5 : name;
}

static bool is_kernel_class_word(const char *name, const char *word) {
    size_t n = strlen(word);
    if (strncasecmp(name, word, n) != 0) {
        return false;
    }
    return name[n] == '\0' || strncasecmp(name + n, "Backward", 8) == 0;
}

/* An engine's range around a whole node of the graph holds sums of gradients, too: it says nothing. */
static ps_kernel_family family_of_op(const char *name) {
    static const char *const ATTENTION[] = {"flash",
                                            "fusion_attention",
                                            "fused_attention",
                                            "scaled_dot_product",
                                            "FusionAttention",
                                            "efficient_attention",
                                            NULL};
    static const char *const PRODUCTS[] = {"addmm", "bmm", "mm", "baddbmm", "linear", NULL};
    if (kernel_class_holds(name, "evaluate_function")) {
        return PS_FAMILY_OTHER;
    }
    if (holds_any(name, ATTENTION)) {
        return PS_FAMILY_FLASH_ATTENTION;
    }
    const char *word = bare(name);
    for (const char *const *w = PRODUCTS; *w != NULL; w++) {
        if (is_kernel_class_word(word, *w)) {
            return PS_FAMILY_MATMUL;
        }
    }
    if (kernel_class_holds(word, "matmul")) {
        return PS_FAMILY_MATMUL;
    }
    bool conv = strncasecmp(word, "conv", 4) == 0 || strncasecmp(word, "_conv", 5) == 0;
    return conv && !kernel_class_holds(word, "convert") ? PS_FAMILY_CONV : PS_FAMILY_OTHER;
}

bool ps_kernel_is_of_cudnn(const char *name) {
    static const char *const OTHERS[] = {"norm", "bn_", "pool", "softmax", NULL};
    size_t n = 0;
    const char *function = ps_comm_function(name, &n);
    const char *at = n > 0 ? strstr(function, "cudnn_") : NULL;
    bool is_own = strncmp(name, "triton_", 7) != 0; /* Inductor's names list operators */
    return is_own && at != NULL && at < function + n && !holds_any(function, OTHERS);
}

static ps_kernel_family family_of_kernel(const char *type, const char *name) {
    if (kernel_class_holds(type, "flashattention")) {
        return PS_FAMILY_FLASH_ATTENTION;
    }
    if (type != NULL && strncasecmp(type, "conv", 4) == 0) {
        return PS_FAMILY_CONV;
    }
    if (kernel_class_holds(type, "matmul")) {
        return PS_FAMILY_MATMUL;
    }
    if (type == NULL && ps_kernel_is_of_cudnn(name)) {
        return PS_FAMILY_CONV;
    }
    const char *part = ps_kernel_part(type != NULL ? type : "", name);
    return strncmp(part, "attention", 9) == 0     ? PS_FAMILY_FLASH_ATTENTION
           : strcmp(part, "convolution") == 0     ? PS_FAMILY_CONV
           : strcmp(part, "matrix products") == 0 ? PS_FAMILY_MATMUL
                                                  : PS_FAMILY_OTHER;
}

/* --- what is around ------------------------------------------------------------------------------------------------- */

bool ps_classifier_init(ps_classifier *c, const ps_links *links) {
    static const char *const MAC[4] = {"aic_mac_time(us)", "aic_mac_ratio", "mac_time(us)",
                                       "mac_ratio"};
    *c = (ps_classifier){.links = links};
    ps_idmap *const maps[] = {&c->families,    &c->backward, &c->op_families,
                              &c->op_backward, &c->looks,    &c->cores};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        ps_idmap_init(maps[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        c->mac_keys[i] = ps_trace_find_text(links->trace, MAC[i]);
    }
    return ps_kernel_keys_init(&c->keys, links->trace);
}

void ps_classifier_fini(ps_classifier *c) {
    ps_kernel_keys_fini(&c->keys);
    ps_idmap *const maps[] = {&c->families,    &c->backward, &c->op_families,
                              &c->op_backward, &c->looks,    &c->cores};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        ps_idmap_fini(maps[i]);
    }
}

/* What is asked of operators: by name, and where nothing around says anything. */
typedef struct question {
    ps_idmap *by_slice, *by_name;
    uint32_t (*of)(const char *name);
    uint32_t unknown;
} question;

/* Nests that are deeper than this remember their answers on the way, so that they cost once. */
#define DEEP 16

static bool ask_name(const question *q, const ps_trace *t, ps_str name, uint32_t *out) {
    *out = ps_idmap_get(q->by_name, name.id);
    if (*out != PS_IDMAP_NONE) {
        return true;
    }
    *out = q->of(ps_trace_text(t, name));
    return ps_idmap_put(q->by_name, name.id, *out);
}

static bool remember(const ps_classifier *c, const question *q, uint32_t from, uint32_t to,
                     uint32_t answer) {
    for (uint32_t k = from; k != PS_NONE; k = k == to ? PS_NONE : c->links->parent[k]) {
        if (ps_idmap_get(q->by_slice, k) == PS_IDMAP_NONE &&
            !ps_idmap_put(q->by_slice, k, answer)) {
            return false;
        }
    }
    return true;
}

/* The answer of a host slice, or of the nearest one around it that gives one. False when memory is out. */
static bool ask_upwards(const ps_classifier *c, const question *q, uint32_t slice, uint32_t *out) {
    const ps_trace *t = c->links->trace;
    const ps_slices *s = ps_trace_slices(t);
    uint32_t at = slice;
    size_t n = 0;
    *out = q->unknown;
    for (; at != PS_NONE; at = c->links->parent[at], n++) {
        uint32_t before = ps_idmap_get(q->by_slice, at);
        if (before != PS_IDMAP_NONE) {
            *out = before;
            break;
        }
        if (s->kind[at] == PS_SLICE_HOST_OP && !ask_name(q, t, s->name[at], out)) {
            return false;
        }
        if (*out != q->unknown) {
            break;
        }
    }
    return n < DEEP || remember(c, q, slice, at, *out);
}

static uint32_t family_number(const char *name) {
    return family_of_op(name);
}

static uint32_t backward_number(const char *name) {
    return kernel_class_holds(name, "backward") || kernel_class_holds(name, "autograd::engine") ? 1
                                                                                                : 0;
}

/* --- cores ----------------------------------------------------------------------------------------------------------- */

/* Cores that do both are told apart by their counters. */
enum { CORE_BOTH = PS_N_CORES };

static uint32_t core_of_text(const char *core) {
    if (kernel_class_holds(core, "AI_CPU") || kernel_class_holds(core, "AICPU")) {
        return PS_CORE_AICPU;
    }
    bool both = kernel_class_holds(core, "AI_CORE") || kernel_class_holds(core, "AICORE") ||
                kernel_class_holds(core, "CUBE") || kernel_class_holds(core, "AIC");
    bool vector = kernel_class_holds(core, "VECTOR") || kernel_class_holds(core, "AIV");
    return both     ? (uint32_t)CORE_BOTH
           : vector ? (uint32_t)PS_CORE_VECTOR
                    : (uint32_t)PS_CORE_UNKNOWN;
}

/* They count as matrix units when their counters say that these worked, or say nothing. */
static ps_kernel_core core_by_counters(const ps_classifier *c, uint32_t kernel) {
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(c->links->trace, kernel); ps_arg_next(&it, &arg);) {
        for (size_t i = 0; i < 4; i++) {
            if (!ps_str_is_none(c->mac_keys[i]) && ps_str_eq(arg.key, c->mac_keys[i])) {
                bool worked = arg.type == PS_ARG_REAL  ? arg.u.r > 0
                              : arg.type == PS_ARG_INT ? arg.u.i > 0
                                                       : true;
                return worked ? PS_CORE_CUBE : PS_CORE_VECTOR;
            }
        }
    }
    return PS_CORE_CUBE;
}

/* The core of the kernel's own entry, else the type of its task ("KERNEL_AIVEC"). False when memory is out. */
static bool find_core(ps_classifier *c, uint32_t kernel, const ps_arg *fields,
                      ps_kernel_core *out) {
    const ps_trace *t = c->links->trace;
    ps_str core = ps_kernel_text(&c->keys, &fields[PS_KERNEL_CORE]);
    core = ps_str_is_none(core) ? ps_trace_slices(t)->category[kernel] : core;
    uint32_t known = ps_idmap_get(&c->cores, core.id);
    if (known == PS_IDMAP_NONE) {
        known = core_of_text(ps_trace_text(t, core));
        if (!ps_idmap_put(&c->cores, core.id, known)) {
            return false;
        }
    }
    *out = known == CORE_BOTH ? core_by_counters(c, kernel) : (ps_kernel_core)known;
    return true;
}

/* --- a kernel --------------------------------------------------------------------------------------------------------- */

static bool is_trans(const char *type, const char *name) {
    static const char *const WORDS[] = {"cast", "transdata", "transpose", NULL};
    size_t n = 0;
    return holds_any(type != NULL ? type : ps_kernel_own_name(name, &n), WORDS);
}

/* What name and type of a kernel say, packed. */
enum {
    LOOK_FAMILY = 7, /* of the kernel itself */
    LOOK_BACKWARD = 8,
    LOOK_TRANS = 16,
    LOOK_SURE = 32 /* whatever launched it */
};

static uint32_t kernel_class_look_at(const char *type, const char *name) {
    if (kernel_class_holds(type, "pagedattention")) {
        return (uint32_t)PS_FAMILY_PAGED_ATTENTION | LOOK_SURE;
    }
    if (strncasecmp(name, "aclnnInplaceCopy", 16) == 0 && kernel_class_holds(name, "tensormove")) {
        return (uint32_t)PS_FAMILY_TENSOR_MOVE | LOOK_SURE;
    }
    return (uint32_t)family_of_kernel(type, name) |
           (says_backward(name) || says_backward(type) ? (uint32_t)LOOK_BACKWARD : 0) |
           (is_trans(type, name) ? (uint32_t)LOOK_TRANS : 0);
}

static bool find_look(ps_classifier *c, uint32_t kernel, const ps_arg *fields, uint32_t *out) {
    const ps_trace *t = c->links->trace;
    ps_str type = ps_kernel_text(&c->keys, &fields[PS_KERNEL_TYPE]);
    ps_str name = ps_trace_slices(t)->name[kernel];
    uint64_t key = (uint64_t)name.id << 32 | type.id;
    *out = ps_idmap_get(&c->looks, key);
    if (*out != PS_IDMAP_NONE) {
        return true;
    }
    char plain[PS_KERNEL_NAME_BYTES];
    *out = kernel_class_look_at(ps_str_is_none(type) ? NULL : ps_trace_text(t, type),
                                ps_kernel_name_plain(ps_trace_text(t, name), plain));
    return ps_idmap_put(&c->looks, key, *out);
}

bool ps_classify(ps_classifier *c, uint32_t kernel, ps_kernel_class *out) {
    ps_arg fields[PS_N_KERNEL_FIELDS];
    ps_kernel_core core = PS_CORE_UNKNOWN;
    uint32_t look = 0;
    ps_kernel_read(&c->keys, kernel, fields);
    *out = (ps_kernel_class){.family = PS_FAMILY_OTHER};
    if (!find_core(c, kernel, fields, &core) || !find_look(c, kernel, fields, &look)) {
        return false;
    }
    out->core = (uint8_t)core;
    out->family = (uint8_t)(look & LOOK_FAMILY);
    uint32_t op = c->links->op[kernel];
    uint32_t backward = (look & LOOK_BACKWARD) != 0 ? 1 : 0;
    if ((look & LOOK_SURE) == 0 && op != PS_NONE) {
        const question families = {&c->families, &c->op_families, family_number, PS_FAMILY_OTHER};
        uint32_t family = PS_FAMILY_OTHER;
        if (!ask_upwards(c, &families, op, &family)) {
            return false;
        }
        out->family = family != PS_FAMILY_OTHER ? (uint8_t)family : out->family;
    }
    bool has_direction = out->family == PS_FAMILY_FLASH_ATTENTION || out->family == PS_FAMILY_CONV;
    const question passes = {&c->backward, &c->op_backward, backward_number, 0};
    if (has_direction && backward == 0 && op != PS_NONE &&
        !ask_upwards(c, &passes, op, &backward)) {
        return false;
    }
    out->is_backward = has_direction && backward != 0;
    out->is_trans =
        out->family == PS_FAMILY_OTHER && out->core != PS_CORE_CUBE && (look & LOOK_TRANS) != 0;
    return true;
}

/* --- paths ------------------------------------------------------------------------------------------------------------ */

void ps_kernel_class_path(ps_kernel_class c, const char *out[PS_CLASS_LEVELS]) {
    static const char *const FAMILIES[PS_N_FAMILIES] = {
        [PS_FAMILY_PAGED_ATTENTION] = "Paged Attention",
        [PS_FAMILY_TENSOR_MOVE] = "SDMA",
        [PS_FAMILY_FLASH_ATTENTION] = "Flash Attention",
        [PS_FAMILY_MATMUL] = "Matmul",
        [PS_FAMILY_CONV] = "Conv",
    };
    static const char *const CORES[PS_N_CORES] = {
        [PS_CORE_CUBE] = "Cube", [PS_CORE_VECTOR] = "Vector", [PS_CORE_AICPU] = "AI CPU"};
    static const char *const OTHERS[PS_N_CORES] = {[PS_CORE_UNKNOWN] = "Other",
                                                   [PS_CORE_CUBE] = "Other Cube",
                                                   [PS_CORE_VECTOR] = "Other Vector",
                                                   [PS_CORE_AICPU] = "AI CPU"};
    size_t n = 0;
    memset(out, 0, PS_CLASS_LEVELS * sizeof *out);
    if (c.family == PS_FAMILY_OTHER) {
        out[n++] = OTHERS[c.core];
        if (c.core == PS_CORE_VECTOR || c.core == PS_CORE_UNKNOWN) {
            out[n] = c.is_trans ? "Trans" : "No Trans";
        }
        return;
    }
    out[n++] = FAMILIES[c.family];
    if (c.family == PS_FAMILY_TENSOR_MOVE) {
        out[n] = "Tensor Move";
        return;
    }
    if (c.family == PS_FAMILY_FLASH_ATTENTION || c.family == PS_FAMILY_CONV) {
        out[n++] = c.is_backward ? "Backward" : "Forward";
    }
    if (c.family != PS_FAMILY_PAGED_ATTENTION && CORES[c.core] != NULL) {
        out[n] = CORES[c.core];
    }
}

size_t ps_kernel_class_number(ps_kernel_class c) {
    bool second = c.family == PS_FAMILY_OTHER ? c.is_trans : c.is_backward;
    if (c.family ==
        PS_FAMILY_OTHER) { /* cores outside, for the children of one core stand together */
        return ((size_t)c.family * PS_N_CORES + c.core) * 2 + (second ? 1 : 0);
    }
    return ((size_t)c.family * 2 + (second ? 1 : 0)) * PS_N_CORES + c.core;
}

ps_kernel_class ps_kernel_class_of_number(size_t number) {
    ps_kernel_class c = {.family = (uint8_t)(number / (2 * PS_N_CORES))};
    size_t rest = number % (2 * PS_N_CORES);
    if (c.family == PS_FAMILY_OTHER) {
        c.core = (uint8_t)(rest / 2);
        c.is_trans = rest % 2 != 0;
    } else {
        c.core = (uint8_t)(rest % PS_N_CORES);
        c.is_backward = rest / PS_N_CORES != 0;
    }
    return c;
}
