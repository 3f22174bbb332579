/* The tables `comm` and `wait`: the communication of all ranks, matched, and who waited for whom. */
#ifndef PS_QUERY_COMM_TABLES_H
#define PS_QUERY_COMM_TABLES_H

#include "analyze/core/analysis.h"

/* Makes both, over all ranks: figures are those of slow_rank (analyze/comm/skew.h). */
extern const ps_analysis ps_sql_comm_analysis;

#endif
