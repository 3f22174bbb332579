#include "model/recording.h"

#include <string.h>

#include "base/num.h"
#include "model/comm_marks.h"

bool ps_trace_is_recording(const ps_trace *trace) {
    return ps_trace_meta(trace, "collector.version") != NULL;
}

bool ps_trace_has_host_times(const ps_trace *trace) {
    const char *source = ps_trace_meta(trace, "collector.device_time_source");
    return source != NULL && strcmp(source, "host") == 0;
}

const char *ps_trace_comm_from_marks(const ps_trace *trace) {
    return ps_trace_meta(trace, PS_COMM_FROM_MARKS_KEY) == NULL ? NULL
           : ps_trace_has_host_times(trace)                     ? "host"
                                                                : "stream";
}

const char *ps_trace_missing_timeline(const ps_trace *trace) {
    return ps_trace_meta(trace, PS_TIMELINE_KEY);
}

bool ps_trace_thinned(const ps_trace *trace, int64_t *n, int64_t *of) {
    const char *text = ps_trace_meta(trace, PS_THINNED_KEY);
    const char *rest = text != NULL ? strstr(text, " of ") : NULL;
    return rest != NULL && ps_parse_i64(text, (size_t)(rest - text), n) &&
           ps_parse_i64(rest + 4, strlen(rest + 4), of) && *n >= 0 && *of > *n;
}

int64_t ps_trace_few_numbers(const ps_trace *trace) {
    const char *text = ps_trace_meta(trace, PS_FEW_NUMBERS_KEY);
    int64_t n = 0;
    return text != NULL && ps_parse_i64(text, strlen(text), &n) && n > 0 ? n : 0;
}
