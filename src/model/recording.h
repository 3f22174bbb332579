/* What pipescope's recorder says of its captures in their metadata (META_DATA collector.*), and reading of what it made
 * itself: one place for all who ask. */
#ifndef PS_MODEL_RECORDING_H
#define PS_MODEL_RECORDING_H

#include <stdbool.h>

#include "model/trace.h"

/* The capture was made by pipescope's recorder (collector.version). The trace needs PS_NEED_META. */
bool ps_trace_is_recording(const ps_trace *trace);
/* The times of its devices are the host's (collector.device_time_source = host): what looks like a device is the processor
 * that ran the program, so nothing was launched and no device ever waited. The trace needs PS_NEED_META. */
bool ps_trace_has_host_times(const ps_trace *trace);

/* How a recording gets communication operators: the end of a sentence. */
#define PS_RECORDING_COMM_HOW                                                                         \
    "how long it took was not recorded: put ranges of the domain communication around it, or record " \
    "NCCL's kernels with --backend cupti --level 1 (docs/recording.md)"
#define PS_RECORDING_COMM_HOW_ZH                                                                              \
    "未录制其耗时：请用 communication 域的 range 标出通信，或用 --backend cupti --level 1 " \
    "录制 NCCL 核函数（docs/recording.md）"

/* Whose times the communication operators of the trace have, when they were made from marks (model/comm_marks.h) as it
 * was read: "host", where the device times of a recording are the host's, else "stream". NULL: they are the profiler's
 * own, or there are none. The trace needs PS_NEED_META. */
const char *ps_trace_comm_from_marks(const ps_trace *trace);

/* The timeline of a rank is made of its profiler's tables, because the file that holds it is not there: metadata with the
 * names of that file and of the others that are not there. What only it tells (the host, launches, copies, marks, when a step ended) is unknown, not absent. */
#define PS_TIMELINE_KEY "pipescope.timeline"
/* Steps of such a rank, and of logs that know nothing but jobs, begin with their first work: nobody says how long before it. */
#define PS_STEP_STARTS_KEY "pipescope.step_starts"
/* ... and end with their last work: nobody says how long behind it. */
#define PS_STEP_ENDS_KEY "pipescope.step_ends"
/* Whoever wrote the file laid its steps out anew, with made-up time between them: how long passes from one to the next is not told. */
#define PS_STEPS_LAID_OUT_KEY "pipescope.steps_laid_out"
/* Argument of a slice that no call launched: the step that its profiler gave it to. */
#define PS_STEP_ARG "stepId"

/* Somebody took events out of the file here and there before it was published: metadata "N of M", the events that are there
 * and the numbers that their profiler gave. Only where arguments were read (PS_NEED_ARGS). */
#define PS_THINNED_KEY "pipescope.thinned"

/* False where no event is known to be missing. The trace needs PS_NEED_META. */
bool ps_trace_thinned(const ps_trace *trace, int64_t *n, int64_t *of);

/* So few events are numbered that nobody can tell whether others are missing: metadata, how many. */
#define PS_FEW_NUMBERS_KEY "pipescope.few_numbers"

/* 0 where it can be told, or nothing is numbered. The trace needs PS_NEED_META. */
int64_t ps_trace_few_numbers(const ps_trace *trace);

/* A fact of side table "facts": which files are not there, and what cannot be told without them. */
#define PS_FACT_MISSING "missing"

/* The files that are missing ("trace_view.json, communication_matrix.json"), NULL when the timeline is the profiler's own. Metadata of the
 * reader: there whatever was needed. */
const char *ps_trace_missing_timeline(const ps_trace *trace);

#endif
