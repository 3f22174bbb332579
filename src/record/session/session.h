/* Recordings of this process, one after the other: start, stop, export; their folder, their writer thread. Behind the
 * functions of record.h (api.c), which translate codes.
 *
 *     IDLE --start--> RECORDING --stop--> IDLE, and what was recorded waits for export or discard
 *
 * Export and discard are about the recording that was stopped last, unless its number is given. The next may begin before: those
 * that were not exported then are when the process ends, in the order in which they were recorded.
 *
 * The folder is made, and files begin, with the first event: a process that records nothing leaves nothing.
 * Steps and the window live here too: session_step.c. */
#ifndef PS_RECORD_SESSION_H
#define PS_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "pipescope/record.h"
#include "record/core/threads.h"
#include "record/ring/config.h"
#include "record/ring/format.h"

int ps_session_warmup(void);
int ps_session_start(void);
int ps_session_stop(void);
int ps_session_export(uint64_t number, const char *dir); /* 0: the last one */
uint64_t ps_session_last(void);
int ps_session_discard(void);
int ps_session_stats(ps_record_stats *out);
int ps_session_directory(char *out, uint32_t size);
int ps_session_metadata(const char *key, const char *json);
int ps_session_name_stream(void *stream, const char *name);
int ps_session_clock_offset(int reference_rank, int64_t at_ns, int64_t offset_ns,
                            int64_t uncertainty_ns, const char *method);

int ps_session_step_begin(int64_t step, void *stream); /* stream: of ps_record_step_begin_on */
int ps_session_step_end(void);
int ps_session_step(void *stream);

/* Once a process: reads the options, prepares the page of ps_recording, fork and exit handlers; begins to record when the
 * option `record` says so. Called by every way in (the functions of record.h, the entry points of mstx and NVTX). */
void ps_process_init(void);

/* Called with the generation of each recording that begins from now on, when its facts are written; for a way in that has facts
 * of its own (NVTX). One at most. */
void ps_session_on_begin(void (*begun)(uint32_t generation));

#endif
