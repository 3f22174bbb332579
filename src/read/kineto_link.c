/* Calls of the driver or runtime and the device slices they launched. One call may launch many (a graph); a device
 * slice has one call, or none when it was issued before the recording began. The External id plays no part: older
 * writers put the correlation id into it when there was no operator. */
#include "base/alloc.h"
#include "read/kineto.h"

#define MAX_LAUNCHED ((size_t)PS_NONE - 1)

void ps_kineto_links_init(ps_kineto_links *l) {
    *l = (ps_kineto_links){0};
    ps_idmap_init(&l->calls);
}

void ps_kineto_links_fini(ps_kineto_links *l) {
    ps_idmap_fini(&l->calls);
    ps_free(l->launched);
    ps_free(l->is_linked);
    ps_kineto_links_init(l);
}

void ps_kineto_links_add(ps_kineto_links *l, const ps_builder *b, uint32_t slice,
                         int64_t correlation) {
    ps_slice_kind kind = ps_builder_slice_kind(b, slice);
    if (correlation <= 0) { /* what the profiler writes where there is none */
        return;
    }
    if (kind == PS_SLICE_CALL) {
        bool is_new = ps_idmap_get(&l->calls, (uint64_t)correlation) == PS_IDMAP_NONE;
        l->failed = l->failed || (is_new && !ps_idmap_put(&l->calls, (uint64_t)correlation, slice));
    } else if (kind >= PS_SLICE_KERNEL) {
        if (!ps_grow(&l->launched, &l->cap_launched, l->n_launched + 1, MAX_LAUNCHED,
                     sizeof *l->launched)) {
            l->failed = true;
            return;
        }
        l->launched[l->n_launched++] = (ps_kineto_launched){slice, correlation};
    }
}

void ps_kineto_links_join(ps_kineto_links *l, ps_builder *b) {
    l->n_slices = ps_builder_n_slices(b);
    l->is_linked = ps_calloc((size_t)l->n_slices / 8 + 1, 1);
    l->failed = l->failed || l->is_linked == NULL;
    for (size_t i = 0; i < l->n_launched && !l->failed; i++) {
        const ps_kineto_launched *d = &l->launched[i];
        uint32_t call = ps_idmap_get(&l->calls, (uint64_t)d->correlation);
        if (call == PS_IDMAP_NONE) {
            ps_diag_add(ps_builder_diag(b), PS_ODD_NO_CALL, "event %lld: correlation %lld",
                        (long long)ps_builder_slices(b)->source_row[d->slice],
                        (long long)d->correlation);
            continue;
        }
        ps_builder_flow_of(b, call, d->slice, l->kind);
        l->is_linked[d->slice / 8] |= (uint8_t)(1u << d->slice % 8);
    }
    ps_idmap_fini(&l->calls);
    ps_free(l->launched);
    l->launched = NULL;
    l->n_launched = 0;
    l->cap_launched = 0;
}

bool ps_kineto_links_has(const ps_kineto_links *l, uint32_t slice) {
    return l->is_linked != NULL && slice < l->n_slices &&
           (l->is_linked[slice / 8] >> slice % 8 & 1) != 0;
}
