/* Which files a rank is read from, as far as its place tells: what a cache compares to know that a rank is unchanged. */
#ifndef PS_RUN_RANK_FILES_H
#define PS_RUN_RANK_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "run/cluster.h"

/* Appends a line for the file of the rank and for each of those beside it that its reader may look at: name, size, time of the last
 * change, inode. Equal lines, equal content. All files of a rank's folder count, which are more than are read, but for what pipescope
 * writes there itself. False when they cannot be told: too many, one that cannot be looked at, no memory. */
bool ps_rank_files_add(const ps_cluster_rank *rank, ps_buf *out);

#endif
