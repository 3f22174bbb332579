#include "analyze/mfu/flops_matmul.h"

#include <string.h>

#include "base/num.h"

/* A tensor seen as `batch` matrices. */
typedef struct matrix {
    double batch;
    int64_t rows, cols;
    bool is_fractal, is_valid;
} matrix;

static double product_of(const int64_t *dims, uint32_t n) {
    double product = 1;
    for (uint32_t i = 0; i < n; i++) {
        product *= (double)dims[i];
    }
    return product;
}

static matrix matrix_of(const ps_shape *s, bool is_fractal) {
    uint32_t inner = is_fractal ? 4 : 2;
    if (s->n < inner) {
        return (matrix){0};
    }
    const int64_t *d = &s->dims[s->n - inner];
    matrix m = {.batch = product_of(s->dims, s->n - inner),
                .rows = d[0],
                .cols = is_fractal ? 0 : d[1],
                .is_fractal = is_fractal,
                .is_valid = true};
    if (is_fractal) {
        m.is_valid = (double)d[0] * (double)d[3] < (double)PS_MAX_DIM &&
                     (double)d[1] * (double)d[2] < (double)PS_MAX_DIM;
        m.rows = m.is_valid ? d[1] * d[2] : 0;
        m.cols = m.is_valid ? d[0] * d[3] : 0;
    }
    return m;
}

static bool is_fractal_format(const char *formats, size_t index) {
    char format[64];
    return ps_list_item(formats, index, format, sizeof format) && strstr(format, "NZ") != NULL;
}

/* The side of a block is 16, for types of one byte also 32. */
static bool is_padded(int64_t small, int64_t large) {
    return (small + 15) / 16 * 16 == large || (small + 31) / 32 * 32 == large;
}

/* Two statements of one size, of which one or both may be padded. */
static bool same_size(int64_t a, bool a_padded, int64_t b, bool b_padded) {
    return a == b || (a_padded && is_padded(b, a)) || (b_padded && is_padded(a, b));
}

/* b is k x n, or n x k: then *k and *n become the sizes without padding. */
static bool fits_matmul(const matrix *b, int64_t *k, bool k_padded, int64_t *n, bool n_padded) {
    for (int turned = 0; turned < 2; turned++) {
        int64_t rows = turned ? b->cols : b->rows;
        int64_t cols = turned ? b->rows : b->cols;
        if (same_size(*k, k_padded, rows, b->is_fractal) &&
            same_size(*n, n_padded, cols, b->is_fractal)) {
            *k = ps_smaller(*k, rows);
            *n = ps_smaller(*n, cols);
            return true;
        }
    }
    return false;
}

double ps_flops_matmul(const ps_shapes *in, const char *in_formats, const ps_shapes *out,
                       const char *out_formats, bool is_plain) {
    const ps_shape *shapes[] = {ps_shapes_at(in, 0), ps_shapes_at(in, 1), ps_shapes_at(out, 0)};
    bool all_four = is_plain && shapes[0]->n == 4 && shapes[1]->n == 4 && shapes[2]->n == 4;
    matrix a = matrix_of(shapes[0], all_four || is_fractal_format(in_formats, 0));
    matrix b = matrix_of(shapes[1], all_four || is_fractal_format(in_formats, 1));
    matrix c = matrix_of(shapes[2], all_four || is_fractal_format(out_formats, 0));
    if (!a.is_valid || !b.is_valid || !c.is_valid) {
        return 0;
    }
    for (int turned = 0; turned < 2; turned++) {
        int64_t rows = turned ? a.cols : a.rows;
        int64_t k = turned ? a.rows : a.cols;
        int64_t n = c.cols;
        bool is_m = same_size(rows, a.is_fractal, c.rows, c.is_fractal);
        if (is_m && fits_matmul(&b, &k, a.is_fractal, &n, c.is_fractal)) {
            return 2 * c.batch * (double)ps_smaller(rows, c.rows) * (double)n * (double)k;
        }
    }
    /* leading dimensions of A or C folded into the rows of the other */
    int64_t k = a.cols;
    int64_t n = c.cols;
    bool is_folded = a.batch * (double)a.rows == c.batch * (double)c.rows;
    return is_folded && fits_matmul(&b, &k, a.is_fractal, &n, c.is_fractal)
               ? 2 * c.batch * (double)c.rows * (double)n * (double)k
               : 0;
}

/* --- groups ------------------------------------------------------------------------------------------------- */

/* x and y have t rows; w ends in k x n or n x k. */
static double one_group(const ps_shape *x, const ps_shape *w, const ps_shape *y) {
    matrix mx = matrix_of(x, false);
    matrix mw = matrix_of(w, false);
    matrix my = matrix_of(y, false);
    if (!mx.is_valid || !mw.is_valid || !my.is_valid ||
        mx.batch * (double)mx.rows != my.batch * (double)my.rows) {
        return 0;
    }
    int64_t k = mx.cols;
    int64_t n = my.cols;
    return fits_matmul(&mw, &k, false, &n, false)
               ? 2 * my.batch * (double)my.rows * (double)n * (double)k
               : 0;
}

/* x[t,m] and g[t,n], either turned, against y[e,m,n]. */
static double weight_gradient(const ps_shape *x, const ps_shape *g, const ps_shape *y) {
    int64_t m = y->dims[1];
    int64_t n = y->dims[2];
    for (int turned = 0; turned < 4; turned++) {
        int tx = turned & 1;
        int tg = turned >> 1;
        if (x->dims[1 - tx] == m && g->dims[1 - tg] == n && x->dims[tx] == g->dims[tg]) {
            return 2 * (double)x->dims[tx] * (double)m * (double)n;
        }
    }
    return 0;
}

double ps_flops_grouped_matmul(const ps_shapes *in, const ps_shapes *out) {
    const ps_shape *x = ps_shapes_at(in, 0);
    const ps_shape *w = ps_shapes_at(in, 1);
    const ps_shape *y = ps_shapes_at(out, 0);
    if (out->n == 1) {
        return x->n == 2 && w->n == 2 && y->n == 3 ? weight_gradient(x, w, y) : one_group(x, w, y);
    }
    double sum = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        double flops =
            one_group(ps_shapes_at(in, i), ps_shapes_at(in, out->n + i), ps_shapes_at(out, i));
        if (flops <= 0) {
            return 0;
        }
        sum += flops;
    }
    return sum;
}

/* --- of frameworks ------------------------------------------------------------------------------------------- */

double ps_flops_product(const ps_shape *a, const ps_shape *b, bool b_is_transposed) {
    if (a->n < 2 || b->n < 2) {
        return 0;
    }
    int64_t k = b->dims[b->n - (b_is_transposed ? 1 : 2)];
    int64_t n = b->dims[b->n - (b_is_transposed ? 2 : 1)];
    if (a->dims[a->n - 1] != k) {
        return 0;
    }
    double flops = 2 * (double)a->dims[a->n - 2] * (double)k * (double)n;
    uint32_t most = a->n > b->n ? a->n : b->n;
    for (uint32_t i = 3; i <= most; i++) {
        int64_t from_a = i <= a->n ? a->dims[a->n - i] : 1;
        int64_t from_b = i <= b->n ? b->dims[b->n - i] : 1;
        if (from_a != from_b && from_a != 1 && from_b != 1) {
            return 0;
        }
        flops *= (double)(from_a != 1 ? from_a : from_b);
    }
    return flops;
}

/* Of a list of numbers the one of this dimension; -1 when it says nothing of it. */
static int64_t of_dimension(const char *list, uint32_t dimension) {
    int64_t values[PS_SHAPE_DIMS];
    size_t n = ps_list_ints(list, values, PS_SHAPE_DIMS);
    return n == 1 ? values[0] : dimension < n ? values[dimension] : -1;
}

double ps_flops_convolution(const ps_shape *input, const ps_shape *weight, const char *stride,
                            const char *padding, const char *dilation) {
    if (input->n < 3 || input->n != weight->n) {
        return 0;
    }
    double flops = 2 * (double)input->dims[0] * product_of(weight->dims, weight->n);
    for (uint32_t i = 2; i < input->n; i++) {
        int64_t step = of_dimension(stride, i - 2);
        int64_t pad = of_dimension(padding, i - 2);
        int64_t spread = of_dimension(dilation, i - 2);
        int64_t kernel = weight->dims[i];
        bool is_sane = step > 0 && step < INT32_MAX && pad >= 0 && pad < INT32_MAX && spread > 0 &&
                       spread < INT32_MAX && kernel > 0 && kernel < INT32_MAX;
        int64_t room = is_sane ? input->dims[i] + 2 * pad - spread * (kernel - 1) - 1 : -1;
        if (room < 0) {
            return 0;
        }
        flops *= (double)(room / step + 1);
    }
    return flops;
}
