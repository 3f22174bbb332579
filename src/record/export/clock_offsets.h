/* What a recording knows of the clock of another machine (ps_record_clock_offset): its readings, and one line through them. */
#ifndef PS_RECORD_CLOCK_OFFSETS_H
#define PS_RECORD_CLOCK_OFFSETS_H

#include "base/buf.h"
#include "record/export/capture.h"

typedef struct ps_clock_reading {
    int64_t at_ns;     /* when, in the recording's Unix time */
    int64_t offset_ns; /* that time less the other machine's */
    int64_t uncertainty_ns;
    int64_t reference; /* the rank whose clock it is */
    char method[32];
} ps_clock_reading;

/* By time, each moment once; those against another rank than the last one, and what is no reading, are left out. The caller
 * frees *out. PS_NOMEM only. */
PS_MUST_USE ps_code ps_clock_offsets_read(const ps_capture *c, ps_clock_reading **out, size_t *n,
                                          ps_err *err);

/* The offset at `at_ns`, and how it drifts: within [from, to] the truth lies within the uncertainty. */
typedef struct ps_clock_offset_line {
    int64_t at_ns, from_ns, to_ns;
    int64_t offset_ns, uncertainty_ns;
    double drift_ppm, drift_uncertainty_ppm;
    bool has_drift; /* there are two moments at least a millisecond apart */
} ps_clock_offset_line;

/* n > 0. */
ps_clock_offset_line ps_clock_offsets_fit(const ps_clock_reading *readings, size_t n);

/* META_DATA collector.clock into `out`: the JSON object `clock` of the recording ("" none) with the line as further members;
 * as it is without readings. `machine`: the same number for all processes of this one. PS_NOMEM only. */
PS_MUST_USE ps_code ps_clock_offsets_describe(const ps_capture *c, uint64_t machine,
                                              const char *clock, ps_buf *out, ps_err *err);

#endif
