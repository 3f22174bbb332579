/* communication.json and communication_matrix.json of an Ascend text export, as side tables with the columns that the
 * tables CommAnalyzerTime, CommAnalyzerBandwidth and CommAnalyzerMatrix of analysis.db have:
 *
 *   communication            one row an operator and step
 *   communication_bandwidth  one row a transport and size of packets; transports that carried nothing have none
 *   communication_matrix     one row a link */
#ifndef PS_READ_ASCEND_COMM_JSON_H
#define PS_READ_ASCEND_COMM_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/trace.h"

/* The text of communication.json, or with `is_matrix` of communication_matrix.json. A place that is malformed ends the
 * reading and is counted under `file`; what was complete stays. What stands under a key of more than 4096 bytes is left out
 * and counted. PS_NOMEM only. */
PS_MUST_USE ps_code ps_ascend_comm_json(const char *file, const char *json, size_t n,
                                        bool is_matrix, ps_builder *b, ps_err *err);

#endif
