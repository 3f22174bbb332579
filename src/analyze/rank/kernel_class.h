/* What kind of computing a kernel does, as a path of up to four names: "Matmul", "Cube". */
#ifndef PS_ANALYZE_KERNEL_CLASS_H
#define PS_ANALYZE_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/rank/links.h"
#include "base/idmap.h"

typedef enum ps_kernel_family {
    PS_FAMILY_PAGED_ATTENTION,
    PS_FAMILY_TENSOR_MOVE,
    PS_FAMILY_FLASH_ATTENTION,
    PS_FAMILY_MATMUL,
    PS_FAMILY_CONV,
    PS_FAMILY_OTHER,
    PS_N_FAMILIES
} ps_kernel_family;

/* Which unit of the chip. Only Ascend profiles say so. */
typedef enum ps_kernel_core {
    PS_CORE_UNKNOWN,
    PS_CORE_CUBE,
    PS_CORE_VECTOR,
    PS_CORE_AICPU,
    PS_N_CORES
} ps_kernel_core;

typedef struct ps_kernel_class {
    uint8_t family, core;
    bool is_backward; /* of attention and convolution */
    bool is_trans;    /* of others: it changes type or layout, and computes nothing */
} ps_kernel_class;

#define PS_CLASS_LEVELS 3
/* Whether a kernel's name is one that cuDNN gives to a function of its own: "ampere_scudnn_128x64_relu_...", "cudnn_infer_...". Nearly
 * all are convolutions, by what launched them or, where nobody says, by the name. */
bool ps_kernel_is_of_cudnn(const char *name);
/* The names from the outside in, those behind the last NULL; static. */
void ps_kernel_class_path(ps_kernel_class c, const char *out[PS_CLASS_LEVELS]);
/* A number below PS_N_CLASSES, in the order in which classes are shown. */
#define PS_N_CLASSES ((size_t)PS_N_FAMILIES * PS_N_CORES * 2)
size_t ps_kernel_class_number(ps_kernel_class c);
ps_kernel_class ps_kernel_class_of_number(size_t number);

typedef struct ps_classifier {
    const ps_links *links;
    ps_kernel_keys keys;
    ps_str mac_keys[4]; /* arguments that say how long the matrix unit worked */
    /* By host slice, for deep nests: family of the nearest known operator around it, and whether it, or one around it, is of
     * the backward pass. */
    ps_idmap families, backward;
    /* What texts say, looked up once: names of operators, names and types of kernels, cores. */
    ps_idmap op_families, op_backward, looks, cores;
} ps_classifier;

/* False when memory is out; end with ps_classifier_fini() in any case. */
bool ps_classifier_init(ps_classifier *c, const ps_links *links);
void ps_classifier_fini(ps_classifier *c);
/* False when memory is out. */
bool ps_classify(ps_classifier *c, uint32_t kernel, ps_kernel_class *out);

#endif
