/* What of a session goes between the program and the workers of a crew. */
#ifndef PS_RUN_CREW_RANK_H
#define PS_RUN_CREW_RANK_H

#include "run/run_session.h"

/* Appends what the maps of this round that see traces made of the rank. */
PS_MUST_USE ps_code ps_crew_rank_write(const ps_session *s, size_t r, ps_buf *out, ps_err *err);
/* It becomes the rank's. */
PS_MUST_USE ps_code ps_crew_rank_take(ps_session *s, size_t r, const ps_buf *bytes, ps_err *err);

/* Appends what the run counted since the last time, and forgets it. */
PS_MUST_USE ps_code ps_crew_counts_take_and_write(ps_session *s, ps_buf *out, ps_err *err);
/* Adds it to what this run has counted. */
PS_MUST_USE ps_code ps_crew_counts_add(ps_session *s, const ps_buf *bytes, ps_err *err);

#endif
