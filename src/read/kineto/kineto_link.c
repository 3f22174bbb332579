/* Calls of the driver or runtime and the device slices they launched. One call may launch many (a graph); a device
 * slice has one call, or none when it was issued before the recording began. The External id plays no part: older
 * writers put the correlation id into it when there was no operator.
 *
 * Both sides are sorted by id and merged: at millions of calls much cheaper than a hash table. */
#include "base/alloc.h"
#include "base/order.h"
#include "model/trace_sort.h"
#include "read/kineto/kineto.h"

#define MAX_IDS ((size_t)PS_NONE - 1)

static void ids_fini(ps_kineto_ids *ids) {
    ps_free(ids->ids);
    ps_free(ids->slices);
    *ids = (ps_kineto_ids){0};
}

void ps_kineto_links_fini(ps_kineto_links *l) {
    ids_fini(&l->calls);
    ids_fini(&l->launched);
    ps_free(l->is_linked);
    ps_free(l->joined);
    *l = (ps_kineto_links){0};
}

static bool ids_add(ps_kineto_ids *ids, int64_t id, uint32_t slice) {
    if (!ps_grow(&ids->ids, &ids->cap_ids, ids->n + 1, MAX_IDS, sizeof *ids->ids) ||
        !ps_grow(&ids->slices, &ids->cap_slices, ids->n + 1, MAX_IDS, sizeof *ids->slices)) {
        return false;
    }
    ids->ids[ids->n] = id;
    ids->slices[ids->n++] = slice;
    return true;
}

void ps_kineto_links_add(ps_kineto_links *l, const ps_builder *b, uint32_t slice,
                         int64_t correlation) {
    ps_slice_kind kind = ps_builder_slice_kind(b, slice);
    if (correlation > 0 && (kind == PS_SLICE_CALL || kind >= PS_SLICE_KERNEL)) { /* else none */
        ps_kineto_ids *ids = kind == PS_SLICE_CALL ? &l->calls : &l->launched;
        l->failed = l->failed || !ids_add(ids, correlation, slice);
    }
}

/* Rows in the order of their ids, equal ones as they came; the caller frees it. NULL when memory is out. */
static uint32_t *id_link_order_of(const ps_kineto_ids *ids) {
    uint32_t *order = ps_alloc(ids->n * sizeof *order);
    if (order != NULL && ids->n > 0 && !ps_times_order(ids->ids, ids->n, order)) {
        ps_free(order);
        order = NULL;
    }
    return order;
}

static void merge_id_link(ps_kineto_links *l, ps_builder *b, const uint32_t *calls,
                          const uint32_t *launched) {
    size_t call = 0;
    for (size_t i = 0; i < l->launched.n; i++) {
        int64_t id = l->launched.ids[launched[i]];
        uint32_t slice = l->launched.slices[launched[i]];
        while (call < l->calls.n && l->calls.ids[calls[call]] < id) {
            call++;
        }
        if (call == l->calls.n || l->calls.ids[calls[call]] != id) {
            ps_diag_add(ps_builder_diag(b), PS_ODD_NO_CALL, "event %lld: correlation %lld",
                        (long long)ps_builder_slices(b)->source_row[slice], (long long)id);
            continue;
        }
        ps_builder_flow_of(b, l->calls.slices[calls[call]], slice, l->kind);
        l->is_linked[slice / 8] |= (uint8_t)(1u << slice % 8);
        if (l->n_joined == 0 || l->joined[l->n_joined - 1] != id) {
            l->joined[l->n_joined++] = id;
        }
    }
}

void ps_kineto_links_join(ps_kineto_links *l, ps_builder *b) {
    l->n_slices = ps_builder_n_slices(b);
    l->is_linked = ps_calloc((size_t)l->n_slices / 8 + 1, 1);
    l->joined = ps_alloc(l->launched.n * sizeof *l->joined);
    uint32_t *calls = id_link_order_of(&l->calls);
    uint32_t *launched = id_link_order_of(&l->launched);
    l->failed =
        l->failed || l->is_linked == NULL || l->joined == NULL || calls == NULL || launched == NULL;
    if (!l->failed) {
        merge_id_link(l, b, calls, launched);
    }
    ps_free(calls);
    ps_free(launched);
    ids_fini(&l->calls);
    ids_fini(&l->launched);
}

bool ps_kineto_links_knows(ps_kineto_links *l, uint64_t id) {
    size_t low = 0; /* mostly not far behind the one asked for before */
    size_t high = l->n_joined;
    if (l->cursor < l->n_joined && (uint64_t)l->joined[l->cursor] <= id) {
        low = l->cursor;
        size_t step = 1;
        for (; step < high - low && (uint64_t)l->joined[low + step] < id; step *= 2) {
            low += step;
        }
        high = step < high - low ? low + step : high;
    }
    PS_PLACE(size_t, place, low, high, i, (uint64_t)l->joined[i] < id)
    l->cursor = place;
    return place < l->n_joined && (uint64_t)l->joined[place] == id;
}

bool ps_kineto_links_has(const ps_kineto_links *l, uint32_t slice) {
    return l->is_linked != NULL && slice < l->n_slices &&
           (l->is_linked[slice / 8] >> slice % 8 & 1) != 0;
}
