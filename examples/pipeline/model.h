/* The model: blocks of a linear layer and a ReLU, and at the end a small output head with the mean squared error. A pipeline
 * cuts it into pieces, each of which keeps what its backwards need for every microbatch.
 *
 * Module calls of the forward pass are ranges of the domain "Module", as a hook around nn.Module.__call__ gives them:
 * Stage / Block / Linear, ReLU and Stage / Head / Linear, MSELoss. */
#ifndef EXAMPLE_MODEL_H
#define EXAMPLE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "compute.h"

enum { MODEL_OUTPUTS = 16 };

typedef struct model_size {
    int n_layers, width; /* of the whole model */
    int rows;            /* of a microbatch */
    int n_microbatches;
    const int *split; /* [pieces] layers of each; NULL: as even as they can be */
} model_size;

/* Between two layers, of one microbatch: place 0 is the input of a piece, place i what layer i - 1 gave. */
typedef struct place {
    float *value; /* [rows, width] */
    float *
        gradient; /* of the value; once the backward is past the ReLU, of what the linear layer gave */
    uint64_t linear, relu; /* operators that made the value */
} place;

typedef struct piece {
    model_size size;
    int first_layer, n_layers;
    bool has_head;
    float **weights, **weight_gradients; /* [n_layers] of [width, width] */
    float *head, *head_gradient;         /* [width, MODEL_OUTPUTS] */
    place *places;                       /* [n_microbatches * (n_layers + 1)] */
    struct head_place {                  /* [n_microbatches], only with the head */
        float *output, *target;          /* [rows, MODEL_OUTPUTS] */
        uint64_t linear, error;          /* operators */
        bool is_done;                    /* its backward was computed */
    } * heads;
    double squares; /* sum of the squared errors of this step */
} piece;

/* Piece `number` of `n_pieces`. Weights depend on the layer alone, not on how the model is cut. */
void piece_init(piece *p, model_size size, int number, int n_pieces);
void piece_fini(piece *p);

/* The first and the last place of a microbatch. A forward finds its input in the value of the first and leaves its output in
 * the value of the last; a backward goes from the gradient of the last to that of the first. */
place *piece_first(const piece *p, int microbatch);
place *piece_last(const piece *p, int microbatch);

/* The data of a microbatch, the same in every step. */
void model_make_input(model_size size, int microbatch, float *input);

void piece_forward(piece *p, compute *c, int microbatch);
/* Gradients of the output head: input and weight. Computed by the backward when it was not before. */
void piece_backward_head(piece *p, compute *c, int microbatch);
void piece_backward_input(piece *p, compute *c, int microbatch);
void piece_backward_weight(piece *p, compute *c, int microbatch);

/* Ends a step: applies the gradients. Returns the mean squared error when the piece has the head, else 0. */
double piece_update(piece *p, double learning_rate);

#endif
