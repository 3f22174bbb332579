/* What the host does in several operators, one behind the other, that mean it only together: by the range around them, and by what
 * goes on with it. DistributedDataParallel flattens the model's buffers, broadcasts them, takes them apart and copies them back before
 * the first module runs: the copies are operators like any other, and belong to it since nothing else is launched between.
 *
 * A phase begins with an operator that means this inside of a range of a certain name (INSIDE of host_activity.def), and goes on with
 * the slices beside it, those that lie in the same range, as far as each is one of them, or an operator that goes on with
 * it (BEHIND) and copies within the device if anything, or launches nothing and another one of these comes after it. */
#ifndef PS_ANALYZE_HOST_ACTIVITY_PHASES_H
#define PS_ANALYZE_HOST_ACTIVITY_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/links.h"

typedef struct ps_host_phases {
    const ps_links *links;
    uint8_t
        *of; /* [n_slices] the ps_activity of a slice of a phase, else 0; NULL: there is no phase */
    uint32_t *
        before; /* [n_slices] of a slice of a phase the one before it, PS_NONE for the first; NULL like `of` */
    int64_t *unnamed_ns; /* [n_slices] see ps_host_phase_unnamed_ns(); NULL like `of` */
} ps_host_phases;

/* False when memory is out; end with ps_host_phases_fini() in any case. The links must outlive it. */
bool ps_host_phases_init(ps_host_phases *p, const ps_links *links);
void ps_host_phases_fini(ps_host_phases *p);

/* The ps_activity of the slice as one of a phase; 0 where it is none. Slices inside of it are not asked for. */
static inline uint8_t ps_host_phase_of(const ps_host_phases *p, uint32_t slice) {
    return p->of != NULL ? p->of[slice] : 0;
}
/* When the host began with the slice, or with what lies between it and the one of its phase before it, in which it is, too. */
int64_t ps_host_phase_start_ns(const ps_host_phases *p, uint32_t slice);
/* Of the first slice of a phase: how long the host was in the range around it, and in nothing that was recorded, directly before it; 0 of
 * all others. */
int64_t ps_host_phase_unnamed_ns(const ps_host_phases *p, uint32_t slice);

#endif
