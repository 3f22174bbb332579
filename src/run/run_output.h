/* Puts rank-homed tables where they belong: the rank's own database, a mirrored copy, or files. */
#ifndef PS_RUN_RUN_OUTPUT_H
#define PS_RUN_RUN_OUTPUT_H

#include "run/run.h"

/* The tables of one rank and what its database looked like when it was read. */
typedef struct ps_rank_output {
    const ps_table **tables; /* borrowed */
    size_t n_tables, cap_tables;
    ps_file_stamp stamp;
    bool has_stamp;
} ps_rank_output;

/* Writes the tables of all ranks (outputs[i] belongs to run->ranks[i]). `folder` names copies or files below
 * cluster_analysis_output/; with `in_place` rank databases are changed (or mirrored when opts->out_dir is
 * given). Failures of single ranks go into their reports; the code returned is for failures that stopped
 * everything before the first byte was written. */
PS_MUST_USE ps_code ps_write_rank_outputs(ps_run *run, const ps_cluster *cluster,
                                          const ps_rank_output *outputs, const char *folder,
                                          bool in_place, const ps_run_opts *opts, ps_err *err);

/* What ps_write_rank_outputs finds before its first byte: PS_OK, or its error. */
PS_MUST_USE ps_code ps_check_rank_outputs(ps_run *run, const ps_cluster *cluster,
                                          const ps_rank_output *outputs, const char *folder,
                                          bool in_place, const ps_run_opts *opts, ps_err *err);

#endif
