/* Sends and receives of one process, recorded. A receive is waited for by who computes. A send is the work of a thread, one
 * for each ring, as it is the work of a stream on a GPU: it begins when those before it are over, and ends when the receiver
 * has taken it. */
#ifndef EXAMPLE_TRANSFERS_H
#define EXAMPLE_TRANSFERS_H

#include <pthread.h>

#include "links.h"

enum { MAX_SENDERS = 4 }; /* two chunks, each with activations and gradients */

typedef struct sender {
    struct transfers *transfers;
    direction direction;
    int front_piece, peer, number;
    pthread_t thread;
} sender;

typedef struct transfers {
    links *l;
    int rank, n_floats;
    sender senders[MAX_SENDERS];
    int n_senders;
} transfers;

void transfers_init(transfers *t, links *l, int rank, int n_floats);
void transfers_fini(transfers *t);

/* The floats are copied; the first send over a ring starts its thread. */
void transfers_send(transfers *t, direction d, int front_piece, int peer, const float *floats);
void transfers_receive(transfers *t, direction d, int front_piece, int peer, float *floats);

/* Waits until all that was sent was received. */
void transfers_settle(transfers *t);

/* Name of the communicator: activations and gradients have one each, so that between two neighbours each keeps its order. */
const char *transfers_group(direction d);

#endif
