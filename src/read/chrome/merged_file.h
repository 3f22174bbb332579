/* A trace-event file in which processes are ranks: merged from the traces of several, by whatever tool. Read once, and cut into
 * one document for each rank, which is then read as any other.
 *
 *   {"ph":"M","name":"process_labels","pid":3,"args":{"labels":"rank 1"}}      {"ph":"M","name":"process_name","pid":7,"args":{"name":"[rank2] python"}}
 *
 * Names may stand behind all events, so that nothing is known of an event until the end: events are noted by where they lie. What was
 * cut stays as long as the list of parts. */
#ifndef PS_READ_MERGED_FILE_H
#define PS_READ_MERGED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/pattern.h"

typedef struct ps_merged_rank {
    int64_t rank;
    const char *title; /* the name of its first process */
    const char *json;  /* an array of events */
    size_t n;
} ps_merged_rank;

typedef struct ps_merged_file {
    ps_merged_rank *ranks; /* by rank */
    size_t n_ranks;
    size_t n_unplaced;    /* processes with events whose name tells no rank */
    const char *unplaced; /* the first of them */
    ps_file_id id;
} ps_merged_file;

/* Whether the beginning or the end of the file names ranks: worth while to be read whole. */
bool ps_merged_file_may_be(const char *path);

/* `rank_from`: its first group is the rank in the names and labels of processes; NULL: where they say "rank N". *out NULL with PS_OK:
 * not two processes tell ranks. PS_SYNTAX: its processes look like workers, and which rank they are is not told; PS_USAGE: rank_from costs
 * too much; PS_RANGE: more than 8 GiB; PS_IO, PS_NOMEM. */
PS_MUST_USE ps_code ps_merged_file_read(const char *path, ps_pattern *rank_from, ps_arena *arena,
                                        const ps_merged_file **out, ps_err *err);

#endif
