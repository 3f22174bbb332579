/* What the jobs of an executor are, by their names: those that the pipeline schedules of Paddle's static graph executor give,
 * and the ops of model/worker_ops.h.
 *
 *   forward  forward1  forward(chunk1)        F      backward_b  backward_b0            BI
 *   backward  backward0  backward(chunk0)     B      backward_w  backward_w1_reduce     BW
 *   recv_forward  send_backward               RECV, SEND
 *   optimizer  lr  default                    OTHER */
#ifndef PS_ANALYZE_EXECUTOR_JOBS_H
#define PS_ANALYZE_EXECUTOR_JOBS_H

#include <stdbool.h>

#include "model/chart.h"

/* The kind of op that a job of this type is; *chunk is the model chunk that the name tells (a letter counts from a),
 * else -1. False for a name that is none of these: then OTHER. */
bool ps_job_kind(const char *type, ps_op_kind *kind, int *chunk);

#endif
