/* What pipescope's recorder says of its captures in their metadata (META_DATA collector.*): one place for all who ask. */
#ifndef PS_MODEL_RECORDING_H
#define PS_MODEL_RECORDING_H

#include <stdbool.h>

#include "model/trace.h"

/* The capture was made by pipescope's recorder (collector.version). The trace needs PS_NEED_META. */
bool ps_trace_is_recording(const ps_trace *trace);
/* The times of its devices are the host's (collector.device_time_source = host): what looks like a device is the processor
 * that ran the program, so nothing was launched and no device ever waited. The trace needs PS_NEED_META. */
bool ps_trace_has_host_times(const ps_trace *trace);

/* What makes communication operators out of a recording, which has them as marks: the end of a sentence. */
#define PS_RECORDING_COMM_HOW                                                                        \
    "a recording has marks of domain communication: `pipescope cluster -m mstx2commop -d FOLDER -o " \
    "OUT` makes operators of them; open OUT/cluster_analysis_output/Mstx2Commop"

#endif
