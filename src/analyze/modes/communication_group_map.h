/* The table CommunicationGroupMapping, which other modes write as well. */
#ifndef PS_ANALYZE_COMMUNICATION_GROUP_MAP_H
#define PS_ANALYZE_COMMUNICATION_GROUP_MAP_H

#include "analyze/core/analysis.h"
#include "analyze/derived/comm_roster.h"

PS_MUST_USE ps_code ps_comm_roster_table(const ps_comm_roster *roster, ps_result *result,
                                         ps_err *err);

#endif
