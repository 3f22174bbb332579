#include "record/export/external_ids.h"

#include <stddef.h>

#include "base/alloc.h"
#include "record/export/order.h"

bool ps_external_ids_make(ps_external_ids *told, const ps_capture *c) {
    const ps_events *v = ps_capture_events(c);
    *told = (ps_external_ids){.ids = {.n = 0}};
    bool ok = ps_calls_make(&told->external, ps_capture_device(c), PS_REC_CORRELATE);
    if (ok && told->external.n > 0) {
        told->ids.keys = ps_order_keys(v->n);
        for (size_t i = 0; told->ids.keys != NULL && i < v->n; i++) {
            told->ids.keys[told->ids.n++] = (ps_order_key){v->id[i], (uint32_t)i};
        }
        ok = told->ids.keys != NULL && ps_order_sort(&told->ids.keys, told->ids.n);
    }
    return ok;
}

void ps_external_ids_free(ps_external_ids *told) {
    ps_calls_free(&told->external);
    ps_calls_free(&told->ids);
}

bool ps_external_ids_asked(const ps_events *v, size_t event) {
    return (v->id[event] & PS_RANGE_ON_DEVICE) != 0 && v->stream[event] == 0 &&
           v->what[event] != PS_EVENT_MARK;
}

uint32_t ps_external_ids_event(const ps_external_ids *told, const ps_capture *c,
                               uint64_t correlation, uint32_t call) {
    const ps_events *v = ps_capture_events(c);
    const ps_device_rows *d = ps_capture_device(c);
    uint32_t row = ps_calls_find(&told->external, correlation);
    uint32_t event = row != PS_NO_TEXT ? ps_calls_find(&told->ids, d->bytes[row]) : PS_NO_TEXT;
    if (event == PS_NO_TEXT) {
        return event;
    }
    bool ended_elsewhere = v->end_ns[event] != PS_STILL_OPEN && v->end_tid[event] != v->tid[event];
    bool late = ended_elsewhere && call != PS_NO_TEXT && d->start_ns[call] >= v->end_ns[event];
    return late ? PS_NO_TEXT : event;
}
