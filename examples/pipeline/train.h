/* The training loop of one process: its list of operations, step after step, with what is recorded around each. */
#ifndef EXAMPLE_TRAIN_H
#define EXAMPLE_TRAIN_H

#include <stdbool.h>

#include "links.h"
#include "model.h"
#include "order.h"

typedef struct options {
    schedule schedule;
    int pp, n_steps;
    model_size size;
    int n_split;    /* numbers in size.split */
    int slow_stage; /* -1 none */
    double slowness;
    double flops_per_s; /* of a device, 0: as fast as the processor */
    double learning_rate;
    const char *log;    /* file, or NULL */
    const char *output; /* folder to record into, or NULL */
    const char *window; /* "A:B", or NULL */
    bool check;
} options;

int n_pieces(const options *o);

/* What rank `rank` of the pipeline does, from the gate to the end of the recording. Returns the exit status. */
int train(const options *o, int rank, links *l);

/* The same model in one process, without a pipeline and without recording: losses[n_steps]. */
void train_alone(const options *o, double *losses);

#endif
