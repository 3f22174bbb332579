/* Who runs the maps of a run. Rounds, reduces and what is written are the same whoever it is, and so are the bytes that come of them:
 *
 *   threads   of this process, over all ranks (run.c); where no engine is named
 *   shards    have run those that look at profiles, and left what came of them in a folder (run_shards.h)
 *   a crew    of processes runs those (crew.h) */
#ifndef PS_RUN_RUN_ENGINE_H
#define PS_RUN_RUN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "run/cluster.h"

struct ps_session;
struct ps_inventory;
struct ps_run;
struct ps_rank_write;

typedef struct ps_engine ps_engine;
struct ps_engine {
    /* All maps of this round, of all ranks: what fails is in the rank's report. *waits: the work goes on in another run of the program, and
     * there is nothing to reduce. */
    ps_code (*map)(ps_engine *e, struct ps_session *s, bool *waits, ps_err *err);
    /* Reads an inventory of each rank into out[n_ranks] (run/inventory.h), NULL where memory is out; NULL: on threads. `read` is called for
     * each, from any thread. */
    ps_code (*inventories)(ps_engine *e, const ps_cluster *cluster, size_t n_threads,
                           struct ps_inventory **out, void (*read)(void *context), void *context,
                           ps_err *err);
    /* Writes what is to be written of each rank of the run (run/rank_write.h), and notes there how it went; NULL: this process writes. */
    ps_code (*write_ranks)(ps_engine *e, const struct ps_run *run, struct ps_rank_write *writes,
                           size_t n_threads, ps_err *err);
};

#endif
