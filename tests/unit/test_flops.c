/* Formulas of FLOPs and peaks. The numbers are worked out beside them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/flops_matmul.h"
#include "analyze/mfu/flops_operator.h"
#include "analyze/mfu/mfu_peak.h"

static void expect_flops(double got, double expected) {
    if (got != expected) {
        fail_msg("%.17g, not %.17g", got, expected);
    }
}

/* --- lists ---------------------------------------------------------------------------------------------------- */

static ps_shapes shapes_a;
static ps_shapes shapes_b;

static const ps_shapes *in(const char *text) {
    assert_true(ps_shapes_parse(text, &shapes_a));
    return &shapes_a;
}

static const ps_shapes *out(const char *text) {
    assert_true(ps_shapes_parse(text, &shapes_b));
    return &shapes_b;
}

static void shape_lists(void **state) {
    (void)state;
    const ps_shapes *s = in("\"1024,512;;512, 256;\"");
    assert_int_equal(s->n, 3);
    assert_int_equal(s->list[0].n, 2);
    assert_int_equal(s->list[0].dims[1], 512);
    assert_int_equal(s->list[1].n, 0);
    assert_int_equal(s->list[2].dims[1], 256);
    s = in("[[2, 3], [], [[4], [5, 6]], [7]]");
    assert_int_equal(s->n, 4);
    assert_int_equal(s->list[0].dims[1], 3);
    assert_int_equal(s->list[2].n, 0); /* a list of tensors */
    assert_int_equal(s->list[3].dims[0], 7);
    assert_int_equal(ps_shapes_at(s, 9)->n, 0);
    assert_int_equal(in("[]")->n, 0);
    static const char *const BAD[] = {NULL,
                                      "",
                                      "N/A",
                                      "a,b",
                                      "1,-2",
                                      "1,2,3,4,5,6,7,8,9",
                                      "99999999999999999999",
                                      "[[1, 2]",
                                      "[1, 2]",
                                      "[[1 2]]",
                                      "[[1], \"x\"]"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_false(ps_shapes_parse(BAD[i], &shapes_a));
        assert_int_equal(shapes_a.n, 0);
    }
}

static void items(void **state) {
    (void)state;
    char text[16];
    assert_true(ps_list_item("\"DT_BF16; FLOAT\"", 1, text, sizeof text));
    assert_string_equal(text, "FLOAT");
    assert_false(ps_list_item("DT_BF16;FLOAT", 2, text, sizeof text));
    assert_true(ps_list_item("[\"\", \"[1, 2]\", \"False\"]", 1, text, sizeof text));
    assert_string_equal(text, "[1, 2]");
    assert_true(ps_list_item("[\"\", \"[1, 2]\", \"False\"]", 2, text, sizeof text));
    assert_string_equal(text, "False");
    assert_false(ps_list_item("[\"\", \"x\"]", 0, text, sizeof text));
    assert_false(ps_list_item(NULL, 0, text, sizeof text));
    assert_true(ps_list_item("aaaaaaaaaaaaaaaaaaaaaaaa", 0, text, sizeof text)); /* cut */
    assert_int_equal(strlen(text), 15);
    int64_t values[2];
    assert_int_equal(ps_list_ints("[3, 4]", values, 2), 2);
    assert_int_equal(values[1], 4);
    assert_int_equal(ps_list_ints("[3, 4, 5]", values, 2), 0);
    assert_int_equal(ps_list_ints("[3, x]", values, 2), 0);
    assert_int_equal(ps_list_ints("[3", values, 2), 0);
}

/* --- products ------------------------------------------------------------------------------------------------- */

static double plain(const char *inputs, const char *output) {
    return ps_flops_matmul(in(inputs), "ND;ND", out(output), "ND", true);
}

static double batched(const char *inputs, const char *formats, const char *output,
                      const char *format) {
    return ps_flops_matmul(in(inputs), formats, out(output), format, false);
}

static void products(void **state) {
    (void)state;
    /* 2 x 1024 x 256 x 512 = 268435456 */
    expect_flops(plain("1024,512;512,256", "1024,256"), 268435456);
    expect_flops(plain("512,1024;512,256", "1024,256"), 268435456); /* A turned */
    expect_flops(plain("1024,512;256,512", "1024,256"), 268435456); /* B turned */
    expect_flops(plain("1024,512;1024,256", "512,256"), 268435456); /* A turned, k = 1024 */
    expect_flops(plain("256,256;256,512", "256,512"), 67108864);    /* 2 x 256 x 512 x 256 */
    expect_flops(plain("32,9216;4096,9216;4096", "32,4096"),
                 2415919104); /* bias: 2 x 32 x 4096 x 9216 */
    /* blocks of 16 x 16: A is 64 16 = 1024 rows, 32 16 = 512 columns; C 1024 x 256 */
    expect_flops(plain("32,64,16,16;16,32,16,16", "16,64,16,16"), 268435456);
    /* eight products of 1024 x 512 and 512 x 256 */
    expect_flops(batched("8,1024,512;8,512,256", "ND;ND", "8,1024,256", "ND"), 8 * 268435456.0);
    expect_flops(plain("8,1024,512;512,256", "8,1024,256"), 8 * 268435456.0);
    expect_flops(plain("8,1024,512;512,256", "8192,256"), 8 * 268435456.0); /* folded */
    expect_flops(batched("2,8,1024,512;2,8,512,256", "ND;ND", "2,8,1024,256", "ND"),
                 16 * 268435456.0); /* four dimensions that are no blocks */
    /* only B in blocks; k = 500 is padded to 32 16 = 512 there: 2 x 1024 x 256 x 500 */
    expect_flops(batched("1024,500;16,32,16,16", "ND;FRACTAL_NZ", "1024,256", "ND"), 262144000);
}

static void no_products(void **state) {
    (void)state;
    expect_flops(plain("1024,512;500,256", "1024,256"), 0); /* k differs and nothing is padded */
    expect_flops(plain("1024,512;512,256", "1000,256"), 0);
    expect_flops(plain("1024;512,256", "1024,256"), 0);
    expect_flops(plain("1024,512", "1024,256"), 0);
    expect_flops(plain("0,512;512,256", "0,256"), 0);
}

static void groups(void **state) {
    (void)state;
    /* each of 1024 tokens meets one of eight weights: 2 x 1024 x 512 x 256 */
    expect_flops(ps_flops_grouped_matmul(in("1024,512;8,512,256"), out("1024,256")), 268435456);
    expect_flops(ps_flops_grouped_matmul(in("1024,512;512,256;512,256"), out("1024,256")),
                 268435456);
    /* lists of two: 2 x 10 x 4 x 3 + 2 x 20 x 4 x 3 */
    expect_flops(ps_flops_grouped_matmul(in("10,4;20,4;4,3;4,3"), out("10,3;20,3")), 720);
    /* gradient of eight weights 512 x 256 from 1024 tokens: as much as the forward pass, not eight times that */
    expect_flops(ps_flops_grouped_matmul(in("1024,512;1024,256"), out("8,512,256")), 268435456);
    expect_flops(ps_flops_grouped_matmul(in("512,1024;1024,256"), out("8,512,256")), 268435456);
    expect_flops(ps_flops_grouped_matmul(in("1024,512;8,500,256"), out("1024,256")), 0);
    expect_flops(ps_flops_grouped_matmul(in("10,4;4,3"), out("10,3;20,3")), 0);
}

/* --- attention ------------------------------------------------------------------------------------------------ */

static double attention(const char *marker, const char *inputs, bool *hidden) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_attention a;
    ps_err err = PS_ERR_INIT;
    double flops = -1;
    if (ps_attention_parse(&arena, marker, strlen(marker), &a, &err)) {
        flops = ps_flops_attention(&a, in(inputs), 0, hidden);
    }
    ps_arena_fini(&arena);
    return flops;
}

#define MARKER(layout, mode)                                                                       \
    "{\"input_layout\": \"" layout "\", \"sparse_mode\": " mode                                    \
    ", \"actual_seq_qlen\": [], \"actual_seq_kvlen\": []}"

static void layouts(void **state) {
    (void)state;
    bool hidden = false;
    /* 2 x b 2 x n 16 x 512 x 512 x (64 + 64) = 2147483648 */
    const double full = 2147483648.0;
    expect_flops(attention(MARKER("BNSD", "0"), "2,16,512,64;2,16,512,64;2,16,512,64;;", &hidden),
                 full);
    expect_flops(attention(MARKER("BSND", "0"), "2,512,16,64;2,512,16,64;2,512,16,64", &hidden),
                 full);
    expect_flops(attention(MARKER("BSH", "0"), "2,512,1024;2,512,1024;2,512,1024", &hidden), full);
    expect_flops(attention(MARKER("SBH", "0"), "512,2,1024;512,2,1024;512,2,1024", &hidden), full);
    expect_flops(attention(MARKER("BNSD", "0"), "2,16,512,64;2,4,512,64;2,4,512,64", &hidden),
                 full); /* four heads of keys: every query head still meets one */
    assert_false(hidden);
    expect_flops(attention(MARKER("BSH", "0"), "2,512,1024;2,512,256;2,512,256", &hidden), full);
    assert_true(hidden);
    /* heads of 192, values of 128: 2 x 2 x 16 x 512 x 512 x 320 */
    expect_flops(attention(MARKER("BNSD", "0"), "2,16,512,192;2,16,512,192;2,16,512,128", &hidden),
                 5368709120.0);
    assert_false(hidden);
    expect_flops(attention("{\"is_causal\": true}", "2,16,512,64;2,16,512,64;2,16,512,64", &hidden),
                 full / 2);
    expect_flops(
        attention("{\"is_causal\": false}", "2,16,512,64;2,16,512,64;2,16,512,64", &hidden), full);
}

static void masks(void **state) {
    (void)state;
    /* q = k = 4: 16 pairs, half of them under the diagonal */
    expect_flops(ps_attention_area(4, 4, 0), 16);
    expect_flops(ps_attention_area(4, 4, 1), 16);
    expect_flops(ps_attention_area(4, 4, 2), 8);
    expect_flops(ps_attention_area(4, 4, 3), 8);
    /* q = 8, k = 4 from the upper corner: all but the triangle of the first four rows */
    expect_flops(ps_attention_area(8, 4, 2), 24);
    expect_flops(ps_attention_area(8, 4, 3), 8);
    expect_flops(ps_attention_area(4, 8, 2), 8);
    expect_flops(ps_attention_area(4, 8, 3), 24);
    assert_true(ps_attention_area(4, 4, 4) < 0);
    assert_true(ps_attention_area(4, 4, -1) < 0);
}

static void sequences(void **state) {
    (void)state;
    bool hidden = false;
    static const char SHAPES[] = "1024,16,64;1024,16,64;1024,16,64";
    /* lengths 400 and 624, causal: 2 x 16 x 128 x (400 x 400 + 624 x 624) / 2 = 4096 x 274688 */
    expect_flops(attention("{\"input_layout\": \"TND\", \"sparse_mode\": 3, \"actual_seq_qlen\": "
                           "[400, 1024], \"actual_seq_kvlen\": [400, 1024]}",
                           SHAPES, &hidden),
                 1125122048);
    /* 400 and 500, all: 4096 x (160000 + 250000); the zero is padding */
    expect_flops(attention("{\"input_layout\": \"TND\", \"sparse_mode\": 0, \"actual_seq_qlen\": "
                           "[400, 900, 0], \"actual_seq_kvlen\": [400, 900, 0]}",
                           SHAPES, &hidden),
                 1679360000);
    static const char *const UNKNOWN[] = {
        MARKER("TND", "0"),
        MARKER("BNSD", "0"),
        "{\"input_layout\": \"TND\", \"sparse_mode\": 0, \"actual_seq_qlen\": [4], "
        "\"actual_seq_kvlen\": [4, 5]}",
        "{\"input_layout\": \"TND\", \"sparse_mode\": 0, \"actual_seq_qlen\": [5, 4], "
        "\"actual_seq_kvlen\": [4, 5]}",
        "{\"input_layout\": \"TND\", \"sparse_mode\": 0, \"actual_seq_qlen\": [2048], "
        "\"actual_seq_kvlen\": [1024]}",
        "{\"input_layout\": \"TND\", \"sparse_mode\": 4, \"actual_seq_qlen\": [4], "
        "\"actual_seq_kvlen\": [4]}",
    };
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        expect_flops(attention(UNKNOWN[i], SHAPES, &hidden), 0);
    }
    static const char *const ODD[] = {"not json",
                                      "{}",
                                      "[1]",
                                      MARKER("XYZ", "0"),
                                      MARKER("TND", "\"x\""),
                                      ("{\"input_layout\": \"TND\", \"sparse_mode\": 0, "
                                       "\"actual_seq_qlen\": [-1], \"actual_seq_kvlen\": [1]}")};
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++) {
        expect_flops(attention(ODD[i], SHAPES, &hidden), -1);
    }
}

/* --- operators of frameworks ---------------------------------------------------------------------------------- */

static double operator_flops(const char *name, const char *dims, const char *types,
                             const char *values, ps_flop_type *type) {
    ps_operator_call call = {.dims = dims, .types = types, .values = values};
    for (size_t i = 0; ps_operator_form_at(i) != NULL; i++) {
        const ps_operator_form *form = ps_operator_form_at(i);
        if (strcmp(ps_operator_form_name(form), name) == 0) {
            return ps_flops_operator(form, &call, &shapes_a, type);
        }
    }
    fail_msg("%s is not known", name);
    return 0;
}

static void operators(void **state) {
    (void)state;
    ps_flop_type t;
    expect_flops(operator_flops("aten::mm", "[[4, 8], [8, 2]]", "[\"float\", \"float\"]", NULL, &t),
                 128); /* 2 x 4 x 2 x 8 */
    assert_int_equal(t, PS_FLOP_16BIT);
    expect_flops(operator_flops("aten::addmm", "[[2], [4, 8], [8, 2], [], []]",
                                "[\"float\", \"c10::Float8_e4m3fn\", \"c10::Float8_e5m2\"]", NULL,
                                &t),
                 128);
    assert_int_equal(t, PS_FLOP_FP8);
    expect_flops(operator_flops("aten::bmm", "[[3, 4, 8], [3, 8, 2]]", NULL, NULL, &t), 384);
    assert_int_equal(t, PS_FLOP_UNSAID);
    expect_flops(operator_flops("aten::matmul", "[[5, 1, 4, 8], [3, 8, 2]]", NULL, NULL, &t),
                 1920); /* 15 of them */
    expect_flops(operator_flops("aten::linear", "[[3, 4, 8], [2, 8], [2]]", NULL, NULL, &t), 384);
    expect_flops(operator_flops("aten::mm", "[[4, 8], [7, 2]]", NULL, NULL, &t), 0);
    expect_flops(operator_flops("aten::mm", NULL, NULL, NULL, &t), 0);
    /* 32 x 64 outputs channels at 28 x 28 places ((56 + 2 - 3) / 2 + 1), each over 16 x 3 x 3 inputs:
     * 2 x 32 x 64 x 784 x 144 */
    static const char CONV[] = "[\"\", \"\", \"\", \"[2, 2]\", \"[1]\", \"[1, 1]\", \"False\"]";
    expect_flops(operator_flops("aten::convolution", "[[32, 16, 56, 56], [64, 16, 3, 3], []]", NULL,
                                CONV, &t),
                 462422016);
    expect_flops(operator_flops("aten::convolution", "[[32, 16, 56, 56], [64, 16, 3, 3], []]", NULL,
                                NULL, &t),
                 0);
    expect_flops(operator_flops("aten::conv2d", "[[1, 1, 2, 2], [1, 1, 3, 3], []]", NULL,
                                "[\"\", \"\", \"\", \"[1]\", \"[0]\", \"[1]\"]", &t),
                 0); /* the kernel is larger than the picture */
}

static void attention_operators(void **state) {
    (void)state;
    ps_flop_type t;
    static const char DIMS[] = "[[2, 16, 512, 64], [2, 16, 512, 64], [2, 16, 512, 64], [], []]";
    static const char CAUSAL[] = "[\"\", \"\", \"\", \"0.\", \"True\", \"False\"]";
    static const char NOT_CAUSAL[] = "[\"\", \"\", \"\", \"0.\", \"False\", \"False\"]";
    static const char NAME[] = "aten::_scaled_dot_product_flash_attention";
    expect_flops(operator_flops(NAME, DIMS, NULL, NOT_CAUSAL, &t), 2147483648.0);
    expect_flops(operator_flops(NAME, DIMS, NULL, CAUSAL, &t), 1073741824.0);
    expect_flops(operator_flops(NAME, DIMS, NULL, NULL, &t), 0); /* the mask is not recorded */
    static const char ON_CPU[] = "aten::_scaled_dot_product_flash_attention_for_cpu";
    expect_flops(operator_flops(ON_CPU, DIMS, NULL, CAUSAL, &t), 1073741824.0);
    expect_flops(operator_flops("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                                "[[2, 16, 512, 64], [2, 16, 512, 64], [2, 16, 512, 64], "
                                "[2, 16, 512, 64], [2, 16, 512, 64], [2, 16, 512], [], []]",
                                NULL, "[\"\", \"\", \"\", \"\", \"\", \"\", \"0.\", \"True\"]", &t),
                 2.5 * 1073741824.0);
    expect_flops(operator_flops("aten::_flash_attention_backward",
                                "[[2, 512, 16, 64], [2, 512, 16, 64], [2, 512, 16, 64], "
                                "[2, 512, 16, 64]]",
                                NULL,
                                "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"512\", "
                                "\"512\", \"0.\", \"True\"]",
                                &t),
                 2.5 * 1073741824.0);
}

/* --- bytes ------------------------------------------------------------------------------------------------------ */

static double operator_bytes(const char *name, const char *dims, const char *types, double flops) {
    static ps_shapes scratch;
    ps_operator_call call = {.dims = dims, .types = types};
    for (size_t i = 0; ps_operator_form_at(i) != NULL; i++) {
        if (strcmp(ps_operator_form_name(ps_operator_form_at(i)), name) == 0) {
            return ps_operator_bytes(ps_operator_form_at(i), &call, flops, &scratch);
        }
    }
    return -1;
}

/* Operands and result: [8, 4] x [4, 16] are 32 + 64 + 128 numbers of 2 bytes; of addmm the first tensor is no operand. A
 * convolution of [2, 3, 10, 10] with [5, 3, 1, 1] is 600 + 15 + 1000 of 4. Attention of three [1, 2, 8, 4] writes one more. */
static void bytes_of_operators(void **state) {
    (void)state;
    static const char HALF[] = "[\"c10::Half\", \"c10::Half\", \"c10::Half\"]";
    double product = 2.0 * 8 * 4 * 16;
    assert_true(operator_bytes("aten::mm", "[[8, 4], [4, 16]]", HALF, product) == 2 * 224);
    assert_true(operator_bytes("aten::addmm", "[[16], [8, 4], [4, 16]]", HALF, product) == 2 * 224);
    assert_true(operator_bytes("aten::conv2d", "[[2, 3, 10, 10], [5, 3, 1, 1]]",
                               "[\"float\", \"float\"]", 2.0 * 2 * 5 * 3 * 100) == 4 * 1615);
    assert_true(operator_bytes("aten::_scaled_dot_product_flash_attention",
                               "[[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4]]", HALF,
                               4096) == 2 * 256);
    assert_true(operator_bytes("aten::mm", "[[8, 4], [4, 16]]", "[\"x\", \"x\"]", product) == 0);
    assert_true(operator_bytes("aten::mm", "[[8, 4], [4, 16]]", NULL, product) == 0);
    assert_true(operator_bytes("aten::mm", NULL, HALF, product) == 0);
}

/* --- peaks ---------------------------------------------------------------------------------------------------- */

/* Tenths of TFLOPS. */
static double chip(const char *name) {
    ps_peak p = {0};
    return ps_peak_of_chip(PS_ENGLISH, name, &p) ? round(p.flop_s * 1e-11) : 0;
}

static void chips(void **state) {
    (void)state;
    assert_true(chip("NVIDIA A100-SXM4-80GB") == 3120);
    assert_true(chip("NVIDIA A800-SXM4-80GB") == 3120);
    assert_true(chip("NVIDIA A100 80GB PCIe") == 3120);
    assert_true(chip("NVIDIA H100 80GB HBM3") == 9894);
    assert_true(chip("NVIDIA H100 PCIe") == 7565);
    assert_true(chip("NVIDIA H20") == 1480);
    assert_true(chip("NVIDIA H200") == 9894);
    assert_true(chip("NVIDIA L40S") == 3620);
    assert_true(chip("NVIDIA L4") == 1210);
    assert_true(chip("NVIDIA GeForce RTX 4090") == 1652);
    assert_true(chip("Tesla V100-PCIE-16GB") == 1120);
    assert_true(chip("AMD Instinct MI300X") == 13074);
    assert_true(chip("Ascend910A") == 2560);
    assert_true(chip("Ascend910_9382") == 3760);
    assert_true(chip("Ascend910B3") == 0);
    assert_true(chip("NVIDIA A100-SXM4-40GB MIG 1g.5gb") == 0);
    assert_true(chip("NVIDIA A10G") == 0);
    assert_true(chip("") == 0);
}

static void types(void **state) {
    (void)state;
    static const struct {
        const char *name;
        ps_flop_type type;
    } TYPES[] = {{"DT_BF16", PS_FLOP_16BIT},     {"FLOAT", PS_FLOP_16BIT},
                 {"c10::Half", PS_FLOP_16BIT},   {"c10::BFloat16", PS_FLOP_16BIT},
                 {"INT8", PS_FLOP_INT8},         {"signed char", PS_FLOP_INT8},
                 {"FLOAT8_E4M3FN", PS_FLOP_FP8}, {"c10::Float8_e5m2", PS_FLOP_FP8},
                 {"DOUBLE", PS_FLOP_OTHER},      {"INT4", PS_FLOP_OTHER},
                 {"N/A", PS_FLOP_UNSAID},        {"", PS_FLOP_UNSAID}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        assert_int_equal(ps_flop_type_of(TYPES[i].name), TYPES[i].type);
    }
    assert_int_equal(ps_flop_type_wider(PS_FLOP_INT8, PS_FLOP_16BIT), PS_FLOP_16BIT);
    assert_int_equal(ps_flop_type_wider(PS_FLOP_UNSAID, PS_FLOP_INT8), PS_FLOP_INT8);
    ps_peak p = {.flop_s = 100, .int8_factor = 2};
    assert_true(ps_peak_for(&p, PS_FLOP_16BIT) == 100);
    assert_true(ps_peak_for(&p, PS_FLOP_UNSAID) == 100);
    assert_true(ps_peak_for(&p, PS_FLOP_INT8) == 200);
    assert_true(ps_peak_for(&p, PS_FLOP_FP8) == 0);
    assert_true(ps_peak_for(&p, PS_FLOP_OTHER) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_lists),
        cmocka_unit_test(items),
        cmocka_unit_test(products),
        cmocka_unit_test(no_products),
        cmocka_unit_test(groups),
        cmocka_unit_test(layouts),
        cmocka_unit_test(masks),
        cmocka_unit_test(sequences),
        cmocka_unit_test(operators),
        cmocka_unit_test(attention_operators),
        cmocka_unit_test(bytes_of_operators),
        cmocka_unit_test(chips),
        cmocka_unit_test(types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
