/* The colours of every picture, fixed by meaning (tests/unit/test_write_theme.c holds them apart): any two that can stand side by
 * side differ clearly, also for people who confuse red and green. */
#ifndef PS_WRITE_THEME_H
#define PS_WRITE_THEME_H

#include <stdbool.h>
#include <stdint.h>

#include "model/chart.h"

typedef struct ps_rgb {
    uint8_t r, g, b;
} ps_rgb;

enum { PS_N_PHASES = 7 }; /* of DualPipeV, ps_op.phase */

/* On light ground, and on a terminal. */
ps_rgb ps_theme_kind(ps_op_kind kind);
ps_rgb ps_theme_phase(int phase); /* 0..6 */

/* The same hues for dark ground. */
ps_rgb ps_theme_kind_dark(ps_op_kind kind);
ps_rgb ps_theme_phase_dark(int phase);

/* What a step's time goes into, where it is drawn as lanes or bars. */
typedef enum ps_lane {
    PS_LANE_COMPUTING,
    PS_LANE_COMMUNICATION,
    PS_LANE_EXPOSED, /* Communication (Not Overlapped) */
    PS_LANE_FREE,
    PS_N_LANES
} ps_lane;
ps_rgb ps_theme_lane(ps_lane lane, bool dark);

/* Muted colours for names of kernels and calls: which one, a hash of the name says. None is like a lane. */
#define PS_N_TINTS 12
ps_rgb ps_theme_tint(int tint, bool dark);

/* What lies around the blocks. `hatch` is the thin pattern of waiting time, `accent` selection and links. */
typedef struct ps_surfaces {
    ps_rgb page, panel, line, ink, quiet, hatch, accent;
} ps_surfaces;

const ps_surfaces *ps_theme_surfaces(bool dark);

const char *ps_phase_name(int phase);      /* "warm-up" */
const char *ps_kind_text(ps_op_kind kind); /* "forward" */
/* The same in legends. */
const char *ps_phase_word(ps_lang lang, int phase);
const char *ps_kind_word(ps_lang lang, ps_op_kind kind);

/* Ink or white, whichever is easier to read on `background`. */
ps_rgb ps_theme_text_on(ps_rgb background);

/* The nearest of the 240 fixed colours of a 256-colour terminal (16..255). */
uint8_t ps_rgb_to_256(ps_rgb colour);

#endif
