#include "analyze/stats/named_sums.h"

#include <string.h>

#include "analyze/stats/kernel_names.h"
#include "base/alloc.h"
#include "base/num.h"
#include "model/kernel_name.h"

#define MAX_ROWS ((size_t)1 << 26)
#define ID_BITS 30

ps_sum_class ps_sum_class_of(const char *name) {
    static const char *const NAMES[] = {
#define X(symbol, text) text,
        PS_SUM_CLASSES(X)
#undef X
    };
    int class_ = 0;
    while (class_ < PS_N_SUM_CLASSES && strcmp(NAMES[class_], name) != 0) {
        class_++;
    }
    return (ps_sum_class)class_;
}

bool ps_named_sums_init(ps_named_sums *s) {
    *s = (ps_named_sums){0};
    ps_idmap_init(&s->rows);
    return ps_strpool_init(&s->strings);
}

void ps_named_sums_fini(ps_named_sums *s) {
    ps_strpool_fini(&s->strings);
    ps_idmap_fini(&s->rows);
    ps_free(s->at);
    *s = (ps_named_sums){0};
}

ps_named_sum *ps_named_sums_of(ps_named_sums *s, ps_sum_class class_, const char *name,
                               const char *detail) {
    ps_str a = ps_strpool_add(&s->strings, name, strlen(name));
    ps_str b = ps_strpool_add(&s->strings, detail, strlen(detail));
    if (ps_str_is_none(a) || ps_str_is_none(b) || (a.id | b.id) >> ID_BITS != 0) {
        return NULL;
    }
    uint64_t key = (uint64_t)class_ << (2 * ID_BITS) | (uint64_t)a.id << ID_BITS | b.id;
    uint32_t row = ps_idmap_get(&s->rows, key);
    if (row != PS_IDMAP_NONE) {
        return &s->at[row];
    }
    if (!ps_grow(&s->at, &s->cap, s->n + 1, MAX_ROWS, sizeof *s->at) ||
        !ps_idmap_put(&s->rows, key, (uint32_t)s->n)) {
        return NULL;
    }
    s->at[s->n] = (ps_named_sum){.name = a, .detail = b, .class_ = class_};
    return &s->at[s->n++];
}

bool ps_named_sums_add(ps_named_sums *s, const ps_named_sums *other) {
    for (size_t i = 0; i < other->n; i++) {
        const ps_named_sum *from = &other->at[i];
        ps_named_sum *to =
            ps_named_sums_of(s, from->class_, ps_strpool_get(&other->strings, from->name),
                             ps_strpool_get(&other->strings, from->detail));
        if (to == NULL) {
            return false;
        }
        to->n += from->n;
        to->time_ns = ps_i64_plus(to->time_ns, from->time_ns);
    }
    return true;
}

/* --- kinds of work --------------------------------------------------------------------------------------------- */

/* Whether a text holds a word of lower-case letters, in either case. */
static bool named_sum_holds(const char *text, size_t n_text, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= n_text; i++) {
        size_t k = 0;
        while (k < n && (text[i + k] >= 'A' && text[i + k] <= 'Z' ? text[i + k] + 32
                                                                  : text[i + k]) == word[k]) {
            k++;
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

static bool holds_any(const char *text, size_t n, const char *const *words) {
    for (; *words != NULL; words++) {
        if (named_sum_holds(text, n, *words)) {
            return true;
        }
    }
    return false;
}

const char *ps_kernel_part(const char *type, const char *name) {
    static const char *const ATTENTION[] = {"flash", "attention", "fmha", NULL};
    static const char *const BACKWARD[] = {"grad", "bwd", "backward", NULL};
    static const char *const CONVOLUTION[] = {"conv2d", "conv3d", "convolution", "wgrad_",
                                              "dgrad_", "fprop",  "scudnn",      NULL};
    static const char *const MATRIX[] = {"matmul", "gemm",     "gemv",      "cutlass",     "xmma",
                                         "linear", "aten::mm", "aten::bmm", "aten::addmm", NULL};
    static const char *const EMBEDDING[] = {"embedding", NULL};
    static const char *const MOVING[] = {"transpose", "transdata", "tensormove", "concat", "split",
                                         "slice",     "gather",    "scatter",    "sort",   "copy",
                                         "cast",      "pad",       "fill",       "memset", NULL};
    char plain[PS_KERNEL_NAME_BYTES];
    size_t n = strlen(type);
    const char *own = n > 0 ? type : ps_kernel_own_name(ps_kernel_name_plain(name, plain), &n);
    if (holds_any(own, n, ATTENTION)) {
        return holds_any(own, n, BACKWARD) ? "attention backward" : "attention";
    }
    if (holds_any(own, n, CONVOLUTION)) {
        return "convolution";
    }
    if (holds_any(own, n, MATRIX)) {
        return "matrix products";
    }
    if (holds_any(own, n, EMBEDDING)) {
        return "embedding";
    }
    return holds_any(own, n, MOVING) ? "moving data" : "other vector work";
}

static void named_sum_archive(ps_archive *a, void *sum) {
    ps_named_sum *x = sum;
    PS_ARCHIVE(a, x, name, detail, n, time_ns);
    PS_ARCHIVE_BELOW(a, x, class_, PS_N_SUM_CLASSES);
}

void ps_named_sums_archive(ps_archive *a, void *sums) {
    ps_named_sums *x = sums;
    ps_strpool *before = ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE_ARRAY(a, x, at, n, named_sum_archive);
    (void)ps_archive_use_pool(a, before);
}
