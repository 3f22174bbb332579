/* Tables about the whole cluster, of all analyses of a run: into cluster_analysis_output/cluster_analysis.db, or files
 * beside it, by the export type.
 *
 *   ps_plan_cluster_tables      says what goes where (run->written) and looks whether it can
 *   ps_write_cluster_tables     does it */
#ifndef PS_RUN_RUN_CLUSTER_TABLES_H
#define PS_RUN_RUN_CLUSTER_TABLES_H

#include "run/run.h"

/* A table that two analyses made alike is there once. Fails before anything is written: PS_READONLY, or PS_UNSUPPORTED
 * when something else than a database has the name of ours. */
PS_MUST_USE ps_code ps_plan_cluster_tables(ps_run *run, const ps_analysis *const *analyses,
                                           const ps_cluster *cluster, const ps_run_opts *opts,
                                           ps_err *err);

/* The database in one transaction; each file whole or not at all. */
PS_MUST_USE ps_code ps_write_cluster_tables(ps_run *run, const ps_run_opts *opts, ps_err *err);

#endif
