/* The inventories of the ranks below a path, and how they are shown. For cmd_info.c and info_json.c. */
#ifndef PS_CLI_INFO_H
#define PS_CLI_INFO_H

#include "base/buf.h"
#include "cli/cli.h"
#include "run/cluster.h"
#include "run/inventory.h"
#include "run/run_memory.h"

typedef struct ps_info_rank {
    const ps_cluster_rank *rank;
    ps_inventory
        *inventory; /* NULL: memory was out; a profile that could not be read is in its err */
} ps_info_rank;

typedef struct ps_info {
    const ps_cluster *cluster;
    ps_info_rank *ranks;
    size_t n;
    size_t n_threads; /* 0: one per processor */
    ps_budget memory;
    int64_t *rank_bytes; /* [n] */
    ps_progress *progress;
    ps_table *lacks; /* what could not be read or looked at (model/lacks.h) */
} ps_info;

static inline bool ps_info_was_read(const ps_info_rank *r) {
    return r->inventory != NULL && r->inventory->err.code == PS_OK;
}

/* What a rank lacks, as sentences; nothing for formats that always hold the same. */
void ps_info_missing(ps_lang lang, const ps_info_rank *r, ps_buf *out);

/* Everything of every rank. An exit status. */
int ps_info_put_json(ps_cli *cli, const ps_info *info);

#endif
