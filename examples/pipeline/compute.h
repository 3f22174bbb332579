/* The operators of the training: matrix products on one thread and what stands between them. Each is recorded as an
 * operator with its shapes (ps_record_op_begin), under the name that PyTorch gives it, so that its floating point operations
 * are known, too. An operator of the backward pass names the one of the forward pass whose gradient it computes; a module
 * is then charged with its backward pass, although only forwards run inside of marked modules.
 *
 * Matrices are dense and row by row; numbers of rows are multiples of 4, of columns multiples of 8. */
#ifndef EXAMPLE_COMPUTE_H
#define EXAMPLE_COMPUTE_H

#include <stdint.h>

typedef struct compute {
    double slowness;    /* 1: as it is; 1.5: each product is computed one and a half times */
    double flops_per_s; /* of the device; 0: as fast as the processor */
    float *turned;      /* room for a matrix turned round */
    float *again;       /* where the products go that only cost time */
} compute;

/* `elements`: of the largest matrix. A device of a given speed sleeps for what the processor was faster, so that the devices of
 * several processes do not take the processor from each other. */
void compute_init(compute *c, double slowness, double flops_per_s, int elements);
void compute_fini(compute *c);

/* Memory for n numbers, all 0. Ends the program when there is none. */
float *new_floats(long n);

/* out[m,n] = a[m,k] b[k,n]; returns the number of the operator. */
uint64_t op_product(compute *c, float *out, const float *a, const float *b, int m, int k, int n);

/* Its gradients: of the input a, and, added to what is there, of the weight b. */
void op_product_input(compute *c, float *a_gradient, const float *out_gradient, const float *b,
                      int m, int k, int n, uint64_t forward);
void op_product_weight(compute *c, float *b_gradient, const float *a, const float *out_gradient,
                       int m, int k, int n, uint64_t forward);

/* x = max(x, 0), and its gradient in place, where `y` is what op_relu left. */
uint64_t op_relu(float *x, int rows, int columns);
void op_relu_backward(float *gradient, const float *y, int rows, int columns, uint64_t forward);

/* The sum of squared differences. */
uint64_t op_squared_error(const float *y, const float *target, int rows, int columns, double *sum);
/* Puts its gradient, (y - target) * factor, into the place of y. */
void op_squared_error_backward(float *y, const float *target, double factor, int rows, int columns,
                               uint64_t forward);

/* weight -= rate * gradient; gradient = 0. */
void op_sgd(float *weight, float *gradient, double rate, int rows, int columns);

#endif
