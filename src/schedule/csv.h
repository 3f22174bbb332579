/* Schedules as PyTorch writes them (torch.distributed.pipelining, compute_only or compute_comms): one row per device in
 * order, no header, a cell is one action (action.h), an empty cell an idle time step.
 *
 *   0F0,0F1,,,0B0,0B1
 *   ,1F0,1B0,1F1,1B1
 *
 * Communication and sharding actions are left out: a simulation knows by itself what has to be sent. Files written in
 * late 2024 call the input gradient B and the whole backward BW: a file that holds a BW, or W but no I, is read so. */
#ifndef PS_SCHEDULE_CSV_H
#define PS_SCHEDULE_CSV_H

#include <stddef.h>

#include "base/err.h"
#include "schedule/lists.h"

/* Reads the file into lists; how many devices, microbatches and chunks there are and where they lie follows from it.
 * PS_SYNTAX names row and column of what is no schedule (whether the lists are complete and can run, the simulator
 * checks); PS_UNSUPPORTED for overlapped actions other than a forward with a whole backward. */
PS_MUST_USE ps_code ps_lists_read_csv(ps_lists *out, const char *path, ps_err *err);

/* The same for a text; `name` is shown in messages and titles. */
PS_MUST_USE ps_code ps_lists_parse_csv(ps_lists *out, const char *name, const char *text, size_t n,
                                       ps_err *err);

#endif
