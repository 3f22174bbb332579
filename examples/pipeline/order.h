/* What each device of the pipeline does in which order: the lists of the published schedules.
 *
 * A device holds one piece of the model (chunk 0), or two: in `interleaved` the model goes round the devices twice, in
 * `dualpipev` it goes down the devices and back. Microbatches are counted from 0 in each chunk. */
#ifndef EXAMPLE_ORDER_H
#define EXAMPLE_ORDER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum op_kind {
    OP_FORWARD,
    OP_BACKWARD, /* gradients of the inputs, then of the weights */
    OP_BACKWARD_INPUT,
    OP_BACKWARD_WEIGHT,
    OP_BACKWARD_HEAD, /* of the output head alone, in front of a backward of the piece that has it */
    OP_PAIR           /* a forward of one chunk and a backward of the other, as one operation */
} op_kind;

typedef struct op {
    op_kind kind;
    int chunk, microbatch;   /* of a pair the forward's */
    int chunk2, microbatch2; /* of a pair the backward's, else -1 */
} op;

typedef struct order {
    op *ops;
    size_t n, capacity;
} order;

typedef enum schedule {
    SCHEDULE_GPIPE,
    SCHEDULE_1F1B,
    SCHEDULE_INTERLEAVED,
    SCHEDULE_ZB_H1,
    SCHEDULE_DUALPIPEV,
    N_SCHEDULES
} schedule;

const char *schedule_name(schedule s);

/* N_SCHEDULES for an unknown name. */
schedule schedule_named(const char *name);

/* Why the schedule cannot run on so many devices with so many microbatches; NULL when it can. */
const char *schedule_objection(schedule s, int devices, int microbatches);

/* Pieces of the model on a device: 1 or 2. */
int schedule_chunks(schedule s);

/* Where a chunk of a device stands in the model: 0 is the first piece. */
int schedule_piece(schedule s, int devices, int device, int chunk);

/* The device that holds a piece, and as which chunk. */
int schedule_device(schedule s, int devices, int piece, int *chunk);

/* The list of one device; free(order.ops) it. */
order schedule_order(schedule s, int devices, int device, int microbatches);

#endif
