/* The criterion of the colours: any two that can stand side by side differ by at least 20 (CIE76), for normal vision
 * and for full protanopia, deuteranopia and tritanopia (matrices of Machado, Oliveira and Fernandes 2009, on linear
 * RGB); text on them has a contrast of at least 4.5. On dark ground as on light. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "write/out/theme.h"

static const double VISIONS[4][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779},
     {-0.078411, 0.930809, 0.147602},
     {0.004733, 0.691367, 0.303900}},
};

static double linear(uint8_t v) {
    double c = v / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double lab_f(double t) {
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

static void to_lab(ps_rgb colour, int vision, double lab[3]) {
    static const double TO_XYZ[3][3] = {{0.4124564, 0.3575761, 0.1804375},
                                        {0.2126729, 0.7151522, 0.0721750},
                                        {0.0193339, 0.1191920, 0.9503041}};
    static const double WHITE[3] = {0.95047, 1, 1.08883};
    const double in[3] = {linear(colour.r), linear(colour.g), linear(colour.b)};
    double seen[3];
    double f[3];
    for (int i = 0; i < 3; i++) {
        const double *m = VISIONS[vision][i];
        seen[i] = fmin(1, fmax(0, m[0] * in[0] + m[1] * in[1] + m[2] * in[2]));
    }
    for (int i = 0; i < 3; i++) {
        f[i] = lab_f((TO_XYZ[i][0] * seen[0] + TO_XYZ[i][1] * seen[1] + TO_XYZ[i][2] * seen[2]) /
                     WHITE[i]);
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

static void expect_apart_by(double least, ps_rgb a, ps_rgb b, const char *group, int i, int j) {
    for (int vision = 0; vision < 4; vision++) {
        double x[3];
        double y[3];
        to_lab(a, vision, x);
        to_lab(b, vision, y);
        double d = sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                        (x[2] - y[2]) * (x[2] - y[2]));
        if (d < least) {
            fail_msg("%s %d and %d differ by %.1f only in vision %d", group, i, j, d, vision);
        }
    }
}

static void expect_apart(ps_rgb a, ps_rgb b, const char *group, int i, int j) {
    expect_apart_by(20, a, b, group, i, j);
}

static ps_rgb kind(int i, bool dark) {
    return dark ? ps_theme_kind_dark((ps_op_kind)i) : ps_theme_kind((ps_op_kind)i);
}

static ps_rgb phase(int i, bool dark) {
    return dark ? ps_theme_phase_dark(i) : ps_theme_phase(i);
}

static void test_kinds(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        for (int i = 0; i < PS_N_OP_KINDS; i++) {
            for (int j = 0; j < i; j++) {
                /* SEND and RECV lie in a row of their own. */
                bool transfer_i = i == PS_OP_SEND || i == PS_OP_RECV;
                bool transfer_j = j == PS_OP_SEND || j == PS_OP_RECV;
                if (transfer_i == transfer_j) {
                    expect_apart(kind(i, dark), kind(j, dark), dark ? "dark kinds" : "kinds", i, j);
                }
            }
        }
    }
}

static void test_phases(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        for (int i = 0; i < PS_N_PHASES; i++) {
            for (int j = 0; j < i; j++) {
                expect_apart(phase(i, dark), phase(j, dark), dark ? "dark phases" : "phases", i, j);
            }
        }
    }
}

static void test_lanes(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        for (int i = 0; i < PS_N_LANES; i++) {
            for (int j = 0; j < i; j++) {
                expect_apart(ps_theme_lane((ps_lane)i, dark), ps_theme_lane((ps_lane)j, dark),
                             dark ? "dark lanes" : "lanes", i, j);
            }
        }
    }
}

/* Names are told from one another by their text; from the overlap lanes, and from the ground, by colour. */
static void test_tints(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        const char *group = dark ? "dark tints and lanes" : "tints and lanes";
        const ps_surfaces *s = ps_theme_surfaces(dark);
        for (int i = 0; i < PS_N_TINTS; i++) {
            ps_rgb tint = ps_theme_tint(i, dark);
            for (int j = 0; j < PS_N_LANES; j++) {
                expect_apart(tint, ps_theme_lane((ps_lane)j, dark), group, i, j);
            }
            expect_apart_by(10, tint, s->page, dark ? "dark tints on page" : "tints on page", i, 0);
            expect_apart_by(10, tint, s->panel, dark ? "dark tints on panel" : "tints on panel", i,
                            0);
            for (int j = 0; j < i; j++) {
                double x[3];
                double y[3];
                to_lab(tint, 0, x);
                to_lab(ps_theme_tint(j, dark), 0, y);
                double d = sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                                (x[2] - y[2]) * (x[2] - y[2]));
                assert_true(d >= 20);
            }
        }
    }
}

static double luminance(ps_rgb c) {
    return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

static void expect_legible(ps_rgb ground, const char *group, int i) {
    double a = luminance(ground) + 0.05;
    double b = luminance(ps_theme_text_on(ground)) + 0.05;
    if (fmax(a, b) / fmin(a, b) < 4.5) {
        fail_msg("%s %d: text has a contrast of %.2f only", group, i, fmax(a, b) / fmin(a, b));
    }
}

static double contrast(ps_rgb x, ps_rgb y) {
    double a = luminance(x) + 0.05;
    double b = luminance(y) + 0.05;
    return fmax(a, b) / fmin(a, b);
}

static void test_text(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        for (int i = 0; i < PS_N_OP_KINDS; i++) {
            expect_legible(kind(i, dark), dark ? "dark kinds" : "kinds", i);
        }
        for (int i = 0; i < PS_N_TINTS; i++) {
            expect_legible(ps_theme_tint(i, dark), dark ? "dark tints" : "tints", i);
        }
        for (int i = 0; i < PS_N_PHASES; i++) {
            expect_legible(phase(i, dark), dark ? "dark phases" : "phases", i);
        }
    }
}

/* Text around the blocks; and blocks against the ground they lie on, which the hatch tells from them too. */
static void test_surfaces(void **context) {
    (void)context;
    for (int dark = 0; dark < 2; dark++) {
        const ps_surfaces *s = ps_theme_surfaces(dark);
        const ps_rgb grounds[] = {s->page, s->panel};
        for (int g = 0; g < 2; g++) {
            assert_true(contrast(s->ink, grounds[g]) >= 4.5);
            assert_true(contrast(s->quiet, grounds[g]) >= 4.5);
            assert_true(contrast(s->accent, grounds[g]) >= 4.5);
            for (int i = 0; i < PS_N_OP_KINDS; i++) {
                expect_apart_by(dark ? 20 : 10, kind(i, dark), grounds[g],
                                dark ? "dark kinds on ground" : "kinds on ground", i, g);
            }
        }
    }
}

static void test_256(void **context) {
    (void)context;
    assert_int_equal(ps_rgb_to_256((ps_rgb){0, 0, 0}), 16);
    assert_int_equal(ps_rgb_to_256((ps_rgb){255, 255, 255}), 231);
    assert_int_equal(ps_rgb_to_256((ps_rgb){0, 95, 135}), 24);
    assert_int_equal(ps_rgb_to_256((ps_rgb){128, 128, 128}), 244);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_phases),   cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_text),  cmocka_unit_test(test_surfaces), cmocka_unit_test(test_256),
        cmocka_unit_test(test_tints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
