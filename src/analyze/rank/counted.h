/* What the sums of a capture by name (analyze/stats/named_sums.h) count a slice as: the name and the detail of its row in each class. Those who add
 * up and those who look for the slices of a row ask here. */
#ifndef PS_ANALYZE_COUNTED_H
#define PS_ANALYZE_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "analyze/stats/named_sums.h"

typedef struct ps_counted {
    const ps_links *links;
    const ps_slices *slices;
    const ps_track *tracks;
    uint32_t
        *outermost; /* [n_slices] of a host slice: the outermost operator around it, or itself */
    uint8_t
        communication; /* the kind of slice that counts: operators, kernels where there are none */
} ps_counted;

/* `links` must outlive it. False when memory is out; end with ps_counted_fini() in any case. */
bool ps_counted_init(ps_counted *c, const ps_links *links);
void ps_counted_fini(ps_counted *c);

#define PS_COUNTED_NAME 512
#define PS_COUNTED_DETAIL 1024

typedef struct ps_counted_as {
    const char *name;   /* of the trace, or in `name_room` */
    const char *detail; /* shapes of a kernel, group of communication; else "" */
    const char *type;   /* of a kernel, "" unknown */
    char name_room[PS_COUNTED_NAME], detail_room[PS_COUNTED_DETAIL];
} ps_counted_as;

/* False: the class counts no such slice. None are counted as PS_SUM_PART and PS_SUM_MODULE, which are no names of slices. */
bool ps_counted_in(const ps_counted *c, uint32_t slice, ps_sum_class class_, ps_counted_as *out);

/* Whether a slice that some class counts is of a step (negative: of any): what the host does by when it began, what the device
 * does by who launched it. */
bool ps_counted_in_step(const ps_counted *c, uint32_t slice, int64_t wanted);

/* What a kernel is counted as by type: its type, where that is not known its name. */
static inline const char *ps_counted_type(const ps_counted_as *kernel) {
    return kernel->type[0] != '\0' ? kernel->type : kernel->name;
}

/* The operator, as the program called it, that launched a slice of the device; NULL: none is known. */
const char *ps_counted_operator(const ps_counted *c, uint32_t slice);

#endif
