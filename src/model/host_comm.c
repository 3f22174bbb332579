#include "model/host_comm.h"

#include "model/comm_kernels.h"

bool ps_is_host_comm(const ps_trace *trace, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n);
    return s->kind[slice] == PS_SLICE_ANNOTATION &&
           tracks[s->track[slice]].kind == PS_TRACK_HOST_THREAD &&
           ps_comm_of_gloo(ps_trace_text(trace, s->name[slice])) != PS_COMM_UNKNOWN;
}

size_t ps_host_comm_count(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (ps_is_launched(s->kind[i]) || s->kind[i] == PS_SLICE_JOB) {
            return 0;
        }
        n += ps_is_host_comm(trace, i);
    }
    return n;
}
