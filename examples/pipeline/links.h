/* What the processes share: rings for activations and gradients between neighbouring pieces of the model, a gate, and
 * the losses. One file in memory, which every process maps.
 *
 * A ring has one process that sends and one that receives. Who waits sleeps. */
#ifndef EXAMPLE_LINKS_H
#define EXAMPLE_LINKS_H

#include <stdbool.h>

typedef struct links links;

/* Makes it, for the given number of pieces; *fd is to be handed on to links_open. Ends the program when that fails. */
links *links_create(int n_processes, int n_pieces, int n_microbatches, int n_floats, int n_steps,
                    int *fd);
links *links_open(int fd);
void links_close(links *l);

/* Waits until all processes are there. */
void links_gate(links *l);

/* From a piece to the one behind it (activations), or to the one in front of it (gradients): a ring is named by the piece in
 * front. */
typedef enum direction { ACTIVATIONS, GRADIENTS } direction;

/* Sending takes three steps, so that who computes need not wait for who receives. links_queue() copies the floats into the
 * ring. links_next() waits for the next floats of the ring, and is false once it was closed. links_hand_over() makes them
 * visible to the receiver, and waits until they were taken. links_settle() waits until all that was queued was taken. */
void links_queue(links *l, direction d, int front_piece, const float *floats);
bool links_next(links *l, direction d, int front_piece);
void links_hand_over(links *l, direction d, int front_piece);
void links_settle(links *l, direction d, int front_piece);
void links_close_ring(links *l, direction d, int front_piece);

void links_receive(links *l, direction d, int front_piece, float *floats);

double *links_losses(links *l); /* [n_steps] */

#endif
