/* Worker logs of Paddle's static graph executor: what the reader makes of them (docs/formats/paddle-logs.md), for those
 * who look for logs or use what it adds beside the slices. */
#ifndef PS_READ_PADDLE_H
#define PS_READ_PADDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"
#include "read/reader.h"

extern const ps_reader ps_reader_paddle;

/* Side tables.
 *   runs               run, line, first_step, first_step_said, banner_first, banner_end, steps, jobs
 *   untimed_jobs       type, microbatch, step, seq, line
 *   rejected_records   line, byte, reason; the first PS_PADDLE_REJECTED_ROWS of them */
#define PS_PADDLE_RUNS "runs"
#define PS_PADDLE_UNTIMED "untimed_jobs"
#define PS_PADDLE_REJECTED "rejected_records"
#define PS_PADDLE_REJECTED_ROWS 1000

/* N of a file named workerlog.N (the path may lead through directories), -1 for any other name. */
int64_t ps_paddle_worker_of(const char *path);

/* Reads one log from an open input: for tests and fuzzing; `name` is what oddities call it. */
PS_MUST_USE ps_code ps_paddle_read_log(ps_input *in, const char *name, uint32_t needs,
                                       ps_builder *b, ps_err *err);

/* The same of a profile_record_tmp_file_for_rank_N (paddle_stamps.h). */
PS_MUST_USE ps_code ps_paddle_read_stamps(ps_input *in, const char *name, uint32_t needs,
                                          ps_builder *b, ps_err *err);

#endif
