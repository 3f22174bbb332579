/* Which stage of the pipeline is each worker? See paddle_pipeline.h. */
#ifndef PS_RUN_PADDLE_STAGE_H
#define PS_RUN_PADDLE_STAGE_H

#include "write/simulated/paddle_json.h"

/* Sets `stage` of every worker, -1 where the jobs do not tell. False when memory is out. */
bool ps_paddle_find_stages(ps_paddle_timeline *t);

#endif
