/* Counts and times by name, of one rank or of many: what two captures are compared by. */
#ifndef PS_ANALYZE_NAMED_SUMS_H
#define PS_ANALYZE_NAMED_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "model/trace.h"

/* What a name is the name of; the classes are compared in this order. */
#define PS_SUM_CLASSES(X)                                                                          \
    X(PS_SUM_PART, "part")     /* of computing time: matrix products, attention ... */             \
    X(PS_SUM_MODULE, "module") /* by path: device time of its own operators */                     \
    X(PS_SUM_KERNEL_TYPE, "kernel type")                                                           \
    X(PS_SUM_KERNEL, "kernel")     /* by name and shapes */                                        \
    X(PS_SUM_OPERATOR, "operator") /* as the program called it, the outermost one: device time */  \
    X(PS_SUM_OPERATOR_HOST, "operator, host time")                                                 \
    X(PS_SUM_COMMUNICATION, "communication") /* by type and group */                               \
    X(PS_SUM_COPY, "copy")                                                                         \
    X(PS_SUM_CALL, "call") /* into the driver or runtime */

typedef enum ps_sum_class {
#define X(symbol, text) symbol,
    PS_SUM_CLASSES(X)
#undef X
        PS_N_SUM_CLASSES
} ps_sum_class;

/* The class of that name; PS_N_SUM_CLASSES: there is none. */
ps_sum_class ps_sum_class_of(const char *name);

typedef struct ps_named_sum {
    ps_str name, detail; /* of the pool of the list */
    int64_t n;
    int64_t time_ns; /* on the device; of host time and calls on the host */
    ps_sum_class class_;
} ps_named_sum;

typedef struct ps_named_sums {
    ps_strpool strings;
    ps_named_sum *at;
    size_t n, cap;
    ps_idmap rows; /* (class, name, detail) -> row */
} ps_named_sums;

/* False when memory is out; end with ps_named_sums_fini() in any case. */
bool ps_named_sums_init(ps_named_sums *s);
void ps_named_sums_fini(ps_named_sums *s);

/* The row of a name, added when new; valid until the next call. NULL when memory is out. */
ps_named_sum *ps_named_sums_of(ps_named_sums *s, ps_sum_class class_, const char *name,
                               const char *detail);
/* Adds everything of `other`. False when memory is out. */
bool ps_named_sums_add(ps_named_sums *s, const ps_named_sums *other);

/* What kind of work a kernel does, by its type, or where that is "" by what of its name is its own (kernel_names.h): "attention", "attention backward", "matrix
 * products", "convolution", "embedding", "moving data", "other vector work". Never NULL. */
const char *ps_kernel_part(const char *type, const char *name);

/* What is read is to be added up, not to be added to: its rows are not indexed. */
void ps_named_sums_archive(ps_archive *a, void *sums);

#endif
