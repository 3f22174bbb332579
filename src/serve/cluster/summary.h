/* What the Summary page knows of a cluster before anything is drawn: its base information and its parallel sizes. */
#ifndef PS_SERVE_SUMMARY_H
#define PS_SERVE_SUMMARY_H

#include "base/err.h"
#include "model/layout.h"
#include "model/table.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"

/* Sizes that the metadata of the ranks says, and that of the job; 0 not said. dp is worked out of the job's where only that is
 * said. PS_NOMEM only. */
PS_MUST_USE ps_code ps_summary_collected(const ps_modes *m, ps_layout_dims *out,
                                         int64_t *world_size, ps_err *err);

/* The view base_info: name, value, unit. */
ps_table *ps_summary_base_info(const ps_request *q, size_t cluster, const ps_modes *m,
                               const char *step, ps_err *err);

#endif
