/* What the job types of Paddle's static graph executor mean: the names that its pipeline schedules give to their jobs.
 *
 *   forward  forward1  forward(chunk1)        F      backward_b  backward_b0            BI
 *   backward  backward0  backward(chunk0)     B      backward_w  backward_w1_reduce     BW
 *   recv_forward  send_backward               RECV, SEND
 *   optimizer  lr  default                    OTHER */
#ifndef PS_ANALYZE_PADDLE_JOBS_H
#define PS_ANALYZE_PADDLE_JOBS_H

#include <stdbool.h>

#include "model/chart.h"

/* The kind of op that a job of this type is; *chunk is the model chunk that the name tells (a letter counts from a),
 * else -1. False for a name that is none of these: then OTHER. */
bool ps_paddle_job_kind(const char *type, ps_op_kind *kind, int *chunk);

#endif
