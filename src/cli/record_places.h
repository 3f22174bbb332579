/* Where the processes of a launch recorded: a program may write to a folder of its own. Each recording leaves a link to its
 * output folder in a private folder, which PS_RECORD_PLACES_VARIABLE names (record/session/session_folder.c makes the links). */
#ifndef PS_CLI_RECORD_PLACES_H
#define PS_CLI_RECORD_PLACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

typedef struct ps_record_places {
    char dir[PATH_MAX]; /* "" there is none: only the output folder is looked at */
    bool is_ours;       /* made by this launch, not by one around it */
} ps_record_places;

/* Makes the folder and names it in the environment; that of an outer launch is used as it is. PS_IO: there is none, and `p` is empty. */
PS_MUST_USE ps_code ps_record_places_open(ps_record_places *p, ps_err *err);

/* *list: the folders that links lead to, in the arena; some may be gone. */
PS_MUST_USE ps_code ps_record_places_list(const ps_record_places *p, ps_arena *arena,
                                          const char ***list, size_t *n, ps_err *err);

/* *list: texts "<pid>: <why>" of recordings of which nothing is on a disk, in the arena. */
PS_MUST_USE ps_code ps_record_places_lost(const ps_record_places *p, ps_arena *arena,
                                          const char ***list, size_t *n, ps_err *err);

/* Whether a process forked while it recorded, and its children did not record. */
bool ps_record_places_any_fork(const ps_record_places *p);

/* Removes the folder, when it is ours. PS_IO: it stays. */
PS_MUST_USE ps_code ps_record_places_close(const ps_record_places *p, ps_err *err);

#endif
