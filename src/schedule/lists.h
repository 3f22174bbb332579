/* The lists of all devices of a pipeline, and where each piece of the model lies: what a schedule says for given
 * parameters, or what a file says (csv.h). The simulator needs nothing else.
 *
 * Ops are numbered over all devices, device after device, each in the order of its list. */
#ifndef PS_SCHEDULE_LISTS_H
#define PS_SCHEDULE_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "schedule/schedule.h"

/* A step of more ops than this is refused: what a plan takes is about 60 bytes an op. */
#define PS_SIM_MAX_OPS ((size_t)1 << 23)

typedef struct ps_lists {
    char name[64];          /* of the schedule or the file, for titles and messages; shortened */
    int32_t n_stages;       /* devices */
    int32_t n_chunks;       /* at most on one device */
    int32_t n_microbatches; /* in each chunk */
    int32_t n_logical;      /* logical stages of all chains */
    int32_t
        chain_length; /* stages 0, chain_length, 2 * chain_length, ... begin a way through the model */
    int32_t *
        logical; /* [n_stages * n_chunks] logical stage of device * n_chunks + chunk, -1 for none */
    ps_sched_op *ops; /* [n_ops] */
    size_t *first;    /* [n_stages + 1] number of a device's first op */
    uint32_t n_ops;
    uint32_t
        *column; /* [n_ops] cell in its device's row of the file, from 0; NULL: not from a file */
} ps_lists;

/* Lists of a schedule. PS_RANGE when the parameters do not fit it or the step is too long, or PS_NOMEM. */
PS_MUST_USE ps_code ps_lists_make(ps_lists *out, const ps_schedule *schedule,
                                  const ps_schedule_params *params, ps_err *err);
void ps_lists_fini(ps_lists *lists);

/* Logical stage of a chunk on a device, -1 when there is none. */
static inline int32_t ps_lists_logical(const ps_lists *lists, int32_t device, int32_t chunk) {
    return lists->logical[device * lists->n_chunks + chunk];
}

/* Which device runs an op. */
int32_t ps_lists_device(const ps_lists *lists, uint32_t op);

/* Room for an op in a message. */
#define PS_OP_TEXT 128

/* The op for messages, always terminated: "device 1, op 4 (F7 of chunk 1)", from a file "row 2, column 5 (3F7)". */
void ps_lists_describe(const ps_lists *lists, uint32_t op, char *out, size_t size);

/* ps_peak_activations of one device. */
size_t ps_lists_peak(const ps_lists *lists, int32_t device);

#endif
