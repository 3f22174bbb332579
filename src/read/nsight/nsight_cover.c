/* One walk over the calls of each thread in start order, with the ranges that have begun on a stack. Push/pop ranges
 * nest within a domain only: a range of another domain may end below one that is still open, so the stack is searched
 * from its top. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/order.h"
#include "read/nsight/nsight_cuda.h"

#define MAX_DEPTH 64 /* ranges looked at for one call, from the innermost */

PS_COMPARE(compare_ranges, ps_nsight_range,
           PS_BY(thread) PS_BY(start_ns) PS_BY_DOWN(end_ns) PS_BY(name.id))

/* A call and where it stood. */
typedef struct numbered_call {
    ps_nsight_call call;
    size_t number;
} numbered_call;

PS_COMPARE(compare_calls, numbered_call, PS_BY(call.thread) PS_BY(call.start_ns) PS_BY(number))

static ps_str covering_innermost(const ps_nsight_range *ranges, const size_t *stack, size_t depth,
                                 const ps_nsight_call *call) {
    for (size_t k = 0; k < depth && k < MAX_DEPTH; k++) {
        const ps_nsight_range *r = &ranges[stack[depth - 1 - k]];
        if (r->end_ns >= call->end_ns) {
            return r->name;
        }
    }
    return PS_STR_NONE;
}

static void walk_covering(const ps_nsight_range *ranges, size_t n_ranges,
                          const numbered_call *calls, size_t n_calls, size_t *stack,
                          ps_str *names) {
    size_t depth = 0;
    size_t next = 0;
    for (size_t i = 0; i < n_calls; i++) {
        const ps_nsight_call *c = &calls[i].call;
        while (next < n_ranges &&
               (ranges[next].thread < c->thread ||
                (ranges[next].thread == c->thread && ranges[next].start_ns <= c->start_ns))) {
            const ps_nsight_range *r = &ranges[next];
            while (depth > 0 && (ranges[stack[depth - 1]].thread != r->thread ||
                                 ranges[stack[depth - 1]].end_ns < r->start_ns)) {
                depth--;
            }
            stack[depth++] = next++;
        }
        while (depth > 0 && (ranges[stack[depth - 1]].thread != c->thread ||
                             ranges[stack[depth - 1]].end_ns < c->start_ns)) {
            depth--;
        }
        names[calls[i].number] = covering_innermost(ranges, stack, depth, c);
    }
}

ps_code ps_nsight_cover(ps_nsight_range *ranges, size_t n_ranges, const ps_nsight_call *calls,
                        size_t n_calls, ps_str *names, ps_err *err) {
    if (n_ranges == 0 || n_calls == 0) {
        for (size_t i = 0; i < n_calls; i++) {
            names[i] = PS_STR_NONE;
        }
        return PS_OK;
    }
    numbered_call *sorted = ps_realloc_array(NULL, n_calls, sizeof *sorted);
    size_t *stack = ps_realloc_array(NULL, n_ranges, sizeof *stack);
    bool ok = sorted != NULL && stack != NULL;
    if (ok) {
        for (size_t i = 0; i < n_calls; i++) {
            sorted[i] = (numbered_call){calls[i], i};
        }
        qsort(ranges, n_ranges, sizeof *ranges, compare_ranges);
        qsort(sorted, n_calls, sizeof *sorted, compare_calls);
        walk_covering(ranges, n_ranges, sorted, n_calls, stack, names);
    }
    ps_free(sorted);
    ps_free(stack);
    return ok ? PS_OK : ps_fail_nomem(err);
}
