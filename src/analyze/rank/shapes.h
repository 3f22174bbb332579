/* Shapes of tensors as profilers print them, and other lists beside them.
 *
 * Two spellings: `"1024,512;512,256;;"` of the Ascend profilers (quotes may be missing, an empty part is a tensor without
 * dimensions) and `[[1024, 512], [512, 256], []]` of PyTorch. Nothing here allocates. */
#ifndef PS_ANALYZE_SHAPES_H
#define PS_ANALYZE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_SHAPE_DIMS 8
#define PS_MAX_SHAPES 512
#define PS_MAX_DIM ((int64_t)1 << 40) /* longer ones are no tensor */

typedef struct ps_shape {
    uint32_t n; /* dimensions; 0: a scalar, an absent tensor, or a list of tensors */
    int64_t dims[PS_SHAPE_DIMS];
} ps_shape;

typedef struct ps_shapes {
    uint32_t n;
    ps_shape list[PS_MAX_SHAPES];
} ps_shapes;

/* False for NULL, "N/A", what is no list of shapes, and what has more dimensions or tensors than fit; then *out is
 * empty. */
bool ps_shapes_parse(const char *text, ps_shapes *out);

/* The shape at this place, one without dimensions when there is none. */
const ps_shape *ps_shapes_at(const ps_shapes *shapes, size_t index);

/* Item `index` of "A;B;C" or ["A", "B"], blanks and quotes around it left out, cut to `size`. False when there is none;
 * then *out is "". A list inside a list ("[1, 1]") is one item. */
bool ps_list_item(const char *list, size_t index, char *out, size_t size);

/* "[3, 3]" or "(3, 3)" as up to `max` integers; how many there are, 0 when it is anything else. */
size_t ps_list_ints(const char *text, int64_t *out, size_t max);

#endif
