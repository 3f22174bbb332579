/* A run that is shared out to processes which know nothing of one another but a folder: shards run the maps and leave partials there,
 * one run reduces them. Below the folder:
 *
 *   1/rank-000007        what the maps of the first round made of the rank with that place among those of the run
 *   2/left               what the reduce left for all ranks, where a second round reads profiles again
 *   2/left-000007        and of that rank
 *   2/rank-000007        what the maps of the second round made of it
 *
 * Each says what it was made from (run_key.h, rank_files.h). Files appear whole, and one that is there and fits is not made again. */
#ifndef PS_RUN_RUN_SHARDS_H
#define PS_RUN_RUN_SHARDS_H

#include <stdbool.h>

#include "base/err.h"
#include "run/run_session.h"

/* In a shard: the round that is next, with what was left for it of the shard's ranks. */
PS_MUST_USE ps_code ps_shard_begin(ps_session *s, ps_err *err);
/* Runs its maps and writes what they made. */
PS_MUST_USE ps_code ps_shard_map(ps_session *s, ps_err *err);

/* One rank of it: what is there and fits is taken, all else is made and written. What went wrong may go better now. The folder of the round is
 * there. */
PS_MUST_USE ps_code ps_shard_map_rank(ps_session *s, size_t r, ps_err *err);
PS_MUST_USE ps_code ps_shards_make_folder(const ps_session *s, ps_err *err);

/* Of an engine (run_engine.h), where it is reduced: takes the states of all ranks in this round. When nobody has begun with the round, it leaves
 * what the shards need for it, and waits. Fails with the names of those that are missing or foreign. */
PS_MUST_USE ps_code ps_shards_map(ps_engine *e, ps_session *s, bool *waits, ps_err *err);

#endif
