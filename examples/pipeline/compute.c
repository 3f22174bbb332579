#include "compute.h"

#include <errno.h>
#include <math.h>
#include <pipescope/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

float *new_floats(long n) {
    float *numbers = calloc((size_t)n, sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "example-pipeline: out of memory\n");
        exit(1);
    }
    return numbers;
}

void compute_init(compute *c, double slowness, double flops_per_s, int elements) {
    *c = (compute){.slowness = slowness,
                   .flops_per_s = flops_per_s,
                   .turned = new_floats(elements),
                   .again = new_floats(elements)};
}

void compute_fini(compute *c) {
    free(c->turned);
    free(c->again);
}

/* --- recording ---------------------------------------------------------------------------------------------------- */

/* `second`: columns of a second input of `inner` rows, 0 when there is none. */
static void put_shapes(char *out, size_t size, int rows, int inner, int second) {
    int n = snprintf(out, size, "%d,%d", rows, inner);
    if (second > 0) {
        (void)snprintf(out + n, size - (size_t)n, ";%d,%d", inner, second);
    }
}

static uint64_t begin(const char *name, int rows, int inner, int second) {
    char shapes[64];
    put_shapes(shapes, sizeof shapes, rows, inner, second);
    return ps_record_op_begin(name, shapes, PS_RECORD_HOST_STREAM);
}

static uint64_t begin_backward(const char *name, int rows, int inner, int second,
                               uint64_t forward) {
    char shapes[64];
    put_shapes(shapes, sizeof shapes, rows, inner, second);
    return ps_record_op_begin_backward(name, shapes, PS_RECORD_HOST_STREAM, forward);
}

/* --- products ------------------------------------------------------------------------------------------------------ */

typedef float four __attribute__((vector_size(16)));

static four load(const float *at) {
    four value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void add_to(float *at, four value) {
    value += load(at);
    memcpy(at, &value, sizeof value);
}

/* 4 rows and 8 columns of out += a b, in registers. Element (i, q) of a is a[i * a_row + q * a_column]. */
static void tile(float *out, const float *a, int a_row, int a_column, const float *b, int k,
                 int n) {
    four s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
    four s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
    for (int q = 0; q < k; q++, a += a_column, b += n) {
        four b0 = load(b);
        four b1 = load(b + 4);
        s00 += a[0] * b0;
        s01 += a[0] * b1;
        s10 += a[a_row] * b0;
        s11 += a[a_row] * b1;
        s20 += a[2 * a_row] * b0;
        s21 += a[2 * a_row] * b1;
        s30 += a[3 * a_row] * b0;
        s31 += a[3 * a_row] * b1;
    }
    add_to(out, s00);
    add_to(out + 4, s01);
    add_to(out + n, s10);
    add_to(out + n + 4, s11);
    add_to(out + 2 * n, s20);
    add_to(out + 2 * n + 4, s21);
    add_to(out + 3 * n, s30);
    add_to(out + 3 * n + 4, s31);
}

static void multiply(float *out, const float *a, int a_row, int a_column, const float *b, int m,
                     int k, int n) {
    for (int i = 0; i < m; i += 4) {
        for (int j = 0; j < n; j += 8) {
            tile(out + i * n + j, a + i * a_row, a_row, a_column, b + j, k, n);
        }
    }
}

/* Sleeps until `seconds` after `start`. */
static void sleep_until(struct timespec start, double seconds) {
    double ns = (double)start.tv_nsec + seconds * 1e9;
    struct timespec end = {.tv_sec = start.tv_sec + (time_t)(ns / 1e9),
                           .tv_nsec = (long)fmod(ns, 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
}

/* A slow device computes as many rows again as its slowness says; the result stays the same. */
static void product(compute *c, float *out, const float *a, int a_row, int a_column, const float *b,
                    int m, int k, int n) {
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    multiply(out, a, a_row, a_column, b, m, k, n);
    long more = (long)((c->slowness - 1) * m / 4 + 0.5) * 4;
    for (; more > 0; more -= m) {
        multiply(c->again, a, a_row, a_column, b, more < m ? (int)more : m, k, n);
    }
    if (c->flops_per_s > 0) {
        sleep_until(start, c->slowness * 2 * m * k * n / c->flops_per_s);
    }
}

uint64_t op_product(compute *c, float *out, const float *a, const float *b, int m, int k, int n) {
    uint64_t op = begin("aten::mm", m, k, n);
    memset(out, 0, (size_t)m * (size_t)n * sizeof *out);
    product(c, out, a, k, 1, b, m, k, n);
    ps_record_op_end(op);
    return op;
}

void op_product_input(compute *c, float *a_gradient, const float *out_gradient, const float *b,
                      int m, int k, int n, uint64_t forward) {
    uint64_t op = begin_backward("aten::mm", m, n, k, forward);
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < n; j++) {
            c->turned[j * k + i] = b[i * n + j];
        }
    }
    memset(a_gradient, 0, (size_t)m * (size_t)k * sizeof *a_gradient);
    product(c, a_gradient, out_gradient, n, 1, c->turned, m, n, k);
    ps_record_op_end(op);
}

void op_product_weight(compute *c, float *b_gradient, const float *a, const float *out_gradient,
                       int m, int k, int n, uint64_t forward) {
    uint64_t op = begin_backward("aten::mm", k, m, n, forward);
    product(c, b_gradient, a, 1, k, out_gradient, k, m, n);
    ps_record_op_end(op);
}

/* --- the others --------------------------------------------------------------------------------------------------- */

uint64_t op_relu(float *x, int rows, int columns) {
    uint64_t op = begin("aten::relu", rows, columns, 0);
    for (int i = 0; i < rows * columns; i++) {
        x[i] = x[i] > 0 ? x[i] : 0;
    }
    ps_record_op_end(op);
    return op;
}

void op_relu_backward(float *gradient, const float *y, int rows, int columns, uint64_t forward) {
    uint64_t op = begin_backward("aten::threshold_backward", rows, columns, 0, forward);
    for (int i = 0; i < rows * columns; i++) {
        gradient[i] = y[i] > 0 ? gradient[i] : 0;
    }
    ps_record_op_end(op);
}

uint64_t op_squared_error(const float *y, const float *target, int rows, int columns, double *sum) {
    uint64_t op = begin("aten::mse_loss", rows, columns, 0);
    *sum = 0;
    for (int i = 0; i < rows * columns; i++) {
        double difference = (double)y[i] - (double)target[i];
        *sum += difference * difference;
    }
    ps_record_op_end(op);
    return op;
}

void op_squared_error_backward(float *y, const float *target, double factor, int rows, int columns,
                               uint64_t forward) {
    uint64_t op = begin_backward("aten::mse_loss_backward", rows, columns, 0, forward);
    for (int i = 0; i < rows * columns; i++) {
        y[i] = (y[i] - target[i]) * (float)factor;
    }
    ps_record_op_end(op);
}

void op_sgd(float *weight, float *gradient, double rate, int rows, int columns) {
    uint64_t op = begin("aten::add_", rows, columns, 0);
    for (int i = 0; i < rows * columns; i++) {
        weight[i] -= (float)rate * gradient[i];
        gradient[i] = 0;
    }
    ps_record_op_end(op);
}
