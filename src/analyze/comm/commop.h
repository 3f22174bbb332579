/* Communication operators made from the framework's own marks, for profiles collected at a level that has no
 * COMMUNICATION_OP. */
#ifndef PS_ANALYZE_COMMOP_H
#define PS_ANALYZE_COMMOP_H

#include "analyze/comm/p2p.h"
#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"

/* The table COMMUNICATION_OP in the schema the profiler itself writes, in start order, for the rank's database;
 * NULL in *out when the trace has no communication marks. Sends and receives whose message names the peer are
 * appended to `p2p` (initialised by the caller) when it is not NULL. With a step filter, marks whose host side
 * starts in the step. A message may be
 *   {"opName": "HcclSend", "groupName": "...", "dataType": "fp16", "count": "1024", "streamId": "5", ...}
 *   comm:HcclAllReduce,<group>,<dtype>,<count>
 * decided for each mark by itself. The caller owns the table. */
PS_MUST_USE ps_code ps_commop_from_marks(const ps_trace *trace, const ps_rank_facts *facts,
                                         const ps_analysis_opts *opts, ps_table **out,
                                         ps_p2p_list *p2p, ps_diag *diag, ps_err *err);

#endif
