/* Floating point operations of products of matrices and convolutions, one multiplication and one addition counted as
 * two: C[m,n] = A[m,k] B[k,n] takes 2 m n k (Golub and Van Loan, Matrix Computations, 1.1.15). A bias is not counted.
 *
 * Every function is pure and gives 0 for what it does not know. */
#ifndef PS_ANALYZE_FLOPS_MATMUL_H
#define PS_ANALYZE_FLOPS_MATMUL_H

#include <stdbool.h>

#include "analyze/rank/shapes.h"

/* A kernel of the Ascend MatMul family (MatMul, MatMulV2, MatMulV3, BatchMatMul...): inputs A, B and maybe more, output
 * C. Which of them are transposed is found from the shapes: m and n are those of C, k is the side of A that is not m
 * and the side of B that is not n; where these disagree the answer is 0.
 *
 * A tensor in fractal layout is [..., c1, r1, r0, c0], a matrix of r1 r0 rows and c1 c0 columns, padded to whole blocks
 * (Ascend C documentation, FRACTAL_NZ). It is known by its format, `formats` as "A;B;..."; without one four dimensions
 * of all three are fractal when `is_plain`: the kernel takes two-dimensional matrices only. */
double ps_flops_matmul(const ps_shapes *in, const char *in_formats, const ps_shapes *out,
                       const char *out_formats, bool is_plain);

/* GroupedMatmul: tokens in groups, each with weights of its own; a token meets one weight.
 *   x[t,k] w[e,k,n] or e weights [k,n] -> y[t,n]         2 t n k
 *   x[t,m] g[t,n] -> y[e,m,n] (gradient of the weights)  2 t m n
 *   lists x_i, w_i -> y_i                                sum of 2 m_i n_i k_i */
double ps_flops_grouped_matmul(const ps_shapes *in, const ps_shapes *out);

/* The same as a framework states it: a[..., m, k] b[..., k, n], or b[n, k] when it is transposed; leading dimensions are
 * broadcast. */
double ps_flops_product(const ps_shape *a, const ps_shape *b, bool b_is_transposed);

/* input [N, C, spatial...], weight [K, C/groups, kernel...]: 2 N K C/groups (kernel) (output positions), with output
 * floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 (torch.nn.Conv2d). One number in a list holds for
 * all dimensions. */
double ps_flops_convolution(const ps_shape *input, const ps_shape *weight, const char *stride,
                            const char *padding, const char *dilation);

#endif
