#include "model.h"

#include <math.h>
#include <pipescope/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers that depend on their place alone ---------------------------------------------------------------------- */

enum { NOISE_STREAM = 1, HEAD_STREAM = 2, CLASS_STREAM = 16, LAYER_STREAM = 64 };

/* Number `i` of a stream, uniform between -1 and 1. */
static double uniform(uint64_t stream, uint64_t i) {
    uint64_t x = stream * UINT64_C(0x9e3779b97f4a7c15) + i;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static void fill(float *numbers, int n, uint64_t stream, uint64_t first, double scale) {
    for (int i = 0; i < n; i++) {
        numbers[i] = (float)(scale * uniform(stream, first + (uint64_t)i));
    }
}

/* Every row is a noisy example of one of MODEL_OUTPUTS classes. */
void model_make_input(model_size size, int microbatch, float *input) {
    int n = size.rows * size.width;
    fill(input, n, NOISE_STREAM, (uint64_t)microbatch * (uint64_t)n, 0.5);
    for (int i = 0; i < n; i++) {
        int class = i / size.width % MODEL_OUTPUTS;
        input[i] += (float)uniform(CLASS_STREAM + (uint64_t) class, (uint64_t)(i % size.width));
    }
}

/* What the model is to learn: which class that is. */
static void make_target(model_size size, float *target) {
    for (int i = 0; i < size.rows * MODEL_OUTPUTS; i++) {
        target[i] = i % MODEL_OUTPUTS == i / MODEL_OUTPUTS % MODEL_OUTPUTS ? 4 : 0;
    }
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static void *new_array(int n, size_t size) {
    void *array = calloc((size_t)n + 1, size);
    if (array == NULL) {
        fprintf(stderr, "example-pipeline: out of memory\n");
        exit(1);
    }
    return array;
}

static place *place_at(const piece *p, int microbatch, int i) {
    return &p->places[microbatch * (p->n_layers + 1) + i];
}

place *piece_first(const piece *p, int microbatch) {
    return place_at(p, microbatch, 0);
}

place *piece_last(const piece *p, int microbatch) {
    return place_at(p, microbatch, p->n_layers);
}

static void make_weights(piece *p) {
    int width = p->size.width;
    p->weights = new_array(p->n_layers, sizeof *p->weights);
    p->weight_gradients = new_array(p->n_layers, sizeof *p->weight_gradients);
    for (int i = 0; i < p->n_layers; i++) {
        p->weights[i] = new_floats((long)width * width);
        p->weight_gradients[i] = new_floats((long)width * width);
        uint64_t stream = LAYER_STREAM + (uint64_t)(p->first_layer + i);
        fill(p->weights[i], width * width, stream, 0, sqrt(6.0 / width));
    }
    if (p->has_head) {
        p->head = new_floats((long)width * MODEL_OUTPUTS);
        p->head_gradient = new_floats((long)width * MODEL_OUTPUTS);
        fill(p->head, width * MODEL_OUTPUTS, HEAD_STREAM, 0, sqrt(1.0 / width));
    }
}

/* A model in one piece has all layers, however it would be cut. */
static int first_layer_of(const model_size *size, int number, int n_pieces) {
    if (size->split == NULL || n_pieces == 1) {
        return number * size->n_layers / n_pieces;
    }
    int first = 0;
    for (int i = 0; i < number; i++) {
        first += size->split[i];
    }
    return first;
}

void piece_init(piece *p, model_size size, int number, int n_pieces) {
    int first = first_layer_of(&size, number, n_pieces);
    int end = first_layer_of(&size, number + 1, n_pieces);
    *p = (piece){.size = size,
                 .first_layer = first,
                 .n_layers = end - first,
                 .has_head = number == n_pieces - 1};
    make_weights(p);
    long n = (long)size.rows * size.width;
    p->places = new_array(size.n_microbatches * (p->n_layers + 1), sizeof *p->places);
    for (int i = 0; i < size.n_microbatches * (p->n_layers + 1); i++) {
        p->places[i].value = new_floats(n);
        p->places[i].gradient = new_floats(n);
    }
    p->heads = new_array(size.n_microbatches, sizeof *p->heads);
    for (int k = 0; p->has_head && k < size.n_microbatches; k++) {
        p->heads[k].output = new_floats((long)size.rows * MODEL_OUTPUTS);
        p->heads[k].target = new_floats((long)size.rows * MODEL_OUTPUTS);
        make_target(size, p->heads[k].target);
    }
}

void piece_fini(piece *p) {
    for (int i = 0; i < p->n_layers; i++) {
        free(p->weights[i]);
        free(p->weight_gradients[i]);
    }
    for (int i = 0; i < p->size.n_microbatches * (p->n_layers + 1); i++) {
        free(p->places[i].value);
        free(p->places[i].gradient);
    }
    for (int k = 0; k < p->size.n_microbatches; k++) {
        free(p->heads[k].output);
        free(p->heads[k].target);
    }
    free(p->weights);
    free(p->weight_gradients);
    free(p->head);
    free(p->head_gradient);
    free(p->places);
    free(p->heads);
}

/* --- modules ------------------------------------------------------------------------------------------------------- */

/* Calls of modules are on the host only: what they launch has a place on the device of its own. */
static uint64_t enter(const char *module) {
    return ps_record_range_start(ps_record_domain_named("Module"), module, NULL);
}

static void leave(uint64_t call) {
    ps_record_range_end(call);
}

/* --- forward ------------------------------------------------------------------------------------------------------- */

static void forward_block(piece *p, compute *c, int microbatch, int i) {
    int rows = p->size.rows;
    int width = p->size.width;
    const place *in = place_at(p, microbatch, i);
    place *out = place_at(p, microbatch, i + 1);
    uint64_t block = enter("Block");
    uint64_t linear = enter("Linear");
    out->linear = op_product(c, out->value, in->value, p->weights[i], rows, width, width);
    leave(linear);
    uint64_t relu = enter("ReLU");
    out->relu = op_relu(out->value, rows, width);
    leave(relu);
    leave(block);
}

static void forward_head(piece *p, compute *c, int microbatch) {
    int rows = p->size.rows;
    struct head_place *h = &p->heads[microbatch];
    double squares = 0;
    uint64_t head = enter("Head");
    uint64_t linear = enter("Linear");
    h->linear = op_product(c, h->output, piece_last(p, microbatch)->value, p->head, rows,
                           p->size.width, MODEL_OUTPUTS);
    leave(linear);
    uint64_t error = enter("MSELoss");
    h->error = op_squared_error(h->output, h->target, rows, MODEL_OUTPUTS, &squares);
    leave(error);
    leave(head);
    h->is_done = false;
    p->squares += squares;
}

void piece_forward(piece *p, compute *c, int microbatch) {
    uint64_t stage = enter("Stage");
    for (int i = 0; i < p->n_layers; i++) {
        forward_block(p, c, microbatch, i);
    }
    if (p->has_head) {
        forward_head(p, c, microbatch);
    }
    leave(stage);
}

/* --- backward ------------------------------------------------------------------------------------------------------ */

/* Numbers that the mean of a step is taken of. */
static double n_errors(const piece *p) {
    return (double)p->size.rows * MODEL_OUTPUTS * p->size.n_microbatches;
}

void piece_backward_head(piece *p, compute *c, int microbatch) {
    int rows = p->size.rows;
    int width = p->size.width;
    struct head_place *h = &p->heads[microbatch];
    place *last = piece_last(p, microbatch);
    op_squared_error_backward(h->output, h->target, 2 / n_errors(p), rows, MODEL_OUTPUTS, h->error);
    op_product_weight(c, p->head_gradient, last->value, h->output, rows, width, MODEL_OUTPUTS,
                      h->linear);
    op_product_input(c, last->gradient, h->output, p->head, rows, width, MODEL_OUTPUTS, h->linear);
    h->is_done = true;
}

void piece_backward_input(piece *p, compute *c, int microbatch) {
    int rows = p->size.rows;
    int width = p->size.width;
    if (p->has_head && !p->heads[microbatch].is_done) {
        piece_backward_head(p, c, microbatch);
    }
    for (int i = p->n_layers - 1; i >= 0; i--) {
        place *out = place_at(p, microbatch, i + 1);
        op_relu_backward(out->gradient, out->value, rows, width, out->relu);
        op_product_input(c, place_at(p, microbatch, i)->gradient, out->gradient, p->weights[i],
                         rows, width, width, out->linear);
    }
}

void piece_backward_weight(piece *p, compute *c, int microbatch) {
    int rows = p->size.rows;
    int width = p->size.width;
    for (int i = p->n_layers - 1; i >= 0; i--) {
        const place *out = place_at(p, microbatch, i + 1);
        op_product_weight(c, p->weight_gradients[i], place_at(p, microbatch, i)->value,
                          out->gradient, rows, width, width, out->linear);
    }
}

double piece_update(piece *p, double learning_rate) {
    int width = p->size.width;
    for (int i = 0; i < p->n_layers; i++) {
        op_sgd(p->weights[i], p->weight_gradients[i], learning_rate, width, width);
    }
    if (!p->has_head) {
        return 0;
    }
    op_sgd(p->head, p->head_gradient, learning_rate, width, MODEL_OUTPUTS);
    double mean = p->squares / n_errors(p);
    p->squares = 0;
    return mean;
}
