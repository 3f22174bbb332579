/* What is written for one rank: its tables go into its own database, a mirrored copy, or files. It is a value that travels, to the process
 * that holds the rank's files (crew.h), and so does how it went. */
#ifndef PS_RUN_RANK_WRITE_H
#define PS_RUN_RANK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/err.h"
#include "base/fs.h"
#include "run/cluster.h"
#include "run/table_file.h"

typedef struct ps_rank_write {
    const ps_cluster_rank *rank; /* of who writes */
    const char *target; /* database, copy, or folder for files; NULL: there is nothing to write */
    ps_table **tables;
    size_t n_tables;
    ps_file_stamp stamp; /* what the database looked like when it was read */
    bool has_stamp;
    bool is_copy;
    bool many_profilers; /* a rank's number alone names no file */
    ps_export export_type;
    /* How it went. */
    ps_code code;
    ps_err err;
    uint64_t n_cut; /* texts that a workbook could not hold whole */
    ps_arena arena; /* of what was read */
} ps_rank_write;

/* Writes what has a target, whole or not at all, on `n_threads` (0: one per processor); no other may run (run/table_file.h). */
void ps_rank_writes_do(ps_rank_write *writes, size_t n, size_t n_threads);

/* The ps_archive_visit of what is asked. The rank is not in it; what was read owns its tables and is ended with ps_rank_write_fini(). */
void ps_rank_write_archive(ps_archive *a, void *rank_write);
void ps_rank_write_fini(ps_rank_write *write);
/* The ps_archive_visit of how it went. */
void ps_rank_written_archive(ps_archive *a, void *rank_write);

#endif
